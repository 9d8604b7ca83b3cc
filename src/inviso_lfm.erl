%% SPDX-License-Identifier: Apache-2.0
%% @doc The log file merger: what nodes recorded, as one in the order of time.
%%
%% ```
%% Files = [FileSet | {reader, Mod, Func, FileSet}]
%% FileSet = {Node, LogFiles} | {Node, [LogFiles]}
%% LogFiles = [{trace_log, [Name]} | {ti_log, [Name]}]
%% '''
%%
%% Names are relative to the current directory; the files of one log in any
%% order. A log is one of ours or one that a trace port of OTP's wrote.
%%
%% The work is the command's (`inviso merge'), which runs as a program beside
%% the VM: its memory and its faults are not ours. With an output file it does
%% all of it: one line an entry, the node, the names of the process, the trace
%% message. With functions of the user's it hands them entry by entry, in order
%% and no faster than they take them:
%%
%% ```
%% Begin(HandlerData) -> {ok, HandlerData} | {error, Reason}
%% Work(Node, Entry, PidMappings, HandlerData) ->
%%     {ok, HandlerData} | {error, Reason}
%% End(HandlerData) -> ok | {error, Reason}         what it answers is ignored
%% '''
%%
%% Entry is the trace message as a tracer process would get it, or `{drop, N}'
%% where N are missing; PidMappings are the aliases that its process has at that
%% time. Terms that were cut when they were recorded: see inviso-merge(1), etf.
%% Begin and End need not be functions; then they are left out. They all run in
%% a process that the merger starts, which ends with the caller.
%%
%% == Trace information ==
%%
%% Names come from ti files: of each a zero byte, the length (32 bits, big end
%% first) and one of these terms:
%%
%% ```
%% {Pid, Alias, alias, Now}
%% {Pid | undefined, Alias, unalias, Now}
%% '''
%%
%% An alias holds from its Now on, up to that of an unalias of the same alias
%% and pid, or of `undefined': of whatever pid. Now is that of
%% `erlang:timestamp()'.
%%
%% == Readers of the user's ==
%%
%% `{reader, Mod, Func, {Node, LogFiles}}' has `Mod:Func(Merger, LogFiles)' run
%% as a process of its own, linked to the merger. For each message
%% `{get_next_entry, Merger}' it answers with one of
%%
%% ```
%% Merger ! {next_entry, self(), PidMappings, Timestamp, Term}
%% Merger ! {next_entry, self(), {error, Reason}}      passed over
%% '''
%%
%% and ends by exiting, or when it gets `{stop, Merger}'. Timestamp is that of
%% `erlang:timestamp()' or nanoseconds since the Unix epoch; what has another one
%% (`false') comes at once. {@link inviso_lfm_tpfreader} is a reader.
-module(inviso_lfm).

-export([merge/2, merge/3, merge/4, merge/5, merge/6]).
%% For handlers and formatters of the user's.
-export([outfile_opener/1, outfile_writer/4, outfile_closer/1,
         format_arguments/3, format_argument_string/2]).

-export_type([files/0, file_set/0, log_files/0, work/0]).

-type log_files() :: [{trace_log | ti_log, [file:filename()]}].
-type file_set() :: {node(), log_files()} | {node(), [log_files()]}.
-type files() :: [file_set() | {reader, module(), atom(), file_set()}].
-type data() :: term().
-type 'begin'() :: fun((data()) -> {ok, data()} | {error, term()}).
-type work() :: fun((node(), term(), [term()], data()) ->
                           {ok, data()} | {error, term()}).
-type 'end'() :: fun((data()) -> ok | {error, term()}).
-type result() :: {ok, non_neg_integer()} | {error, term()}.
-type translator() :: fun((term(), term()) -> {ok, string()} | false)
                    | {module(), atom()}.

%% @doc Merges logs into a file; how many entries are in it. The file appears
%% when it is complete.
%%
%% A log that is not there is an error here; damage within one is not, and what
%% is readable around it is merged.
-spec merge(files(), file:filename()) -> result().
merge(Files, OutFile) ->
    case has_readers(Files) of
        false ->
            inviso_lfm_command:merge(Files, OutFile);
        true ->
            merge(Files, fun outfile_opener/1, fun outfile_writer/4,
                  fun outfile_closer/1, OutFile)
    end.

has_readers(Files) when length(Files) >= 0 ->
    lists:any(fun(F) -> is_tuple(F) andalso element(1, F) =:= reader end,
              Files);
has_readers(_) -> false.

%% @doc Calls a function for each entry; or {@link merge/2}, to which the third
%% argument changes nothing.
-spec merge(files(), work(), data()) -> result();
           (files(), file:filename(), term()) -> result().
merge(Files, Work, Data) when is_function(Work) ->
    merge(Files, void, Work, void, Data);
merge(Files, OutFile, _Dbg) ->
    merge(Files, OutFile).

%% @doc {@link merge/3} with a function; the last argument changes nothing.
-spec merge(files(), work(), data(), term()) -> result().
merge(Files, Work, Data, _Dbg) ->
    merge(Files, void, Work, void, Data).

%% @doc Calls functions at the beginning, for each entry and at the end.
-spec merge(files(), 'begin'() | term(), work(), 'end'() | term(), data()) ->
          result().
merge(Files, Begin, Work, End, Data) when is_function(Work, 4) ->
    inviso_lfm_merger:merge(Files, {Begin, Work, End}, Data);
merge(_Files, _Begin, Work, _End, _Data) ->
    {error, {badarg, Work}}.

%% @doc {@link merge/5}; the last argument changes nothing.
-spec merge(files(), 'begin'() | term(), work(), 'end'() | term(), data(),
            term()) -> result().
merge(Files, Begin, Work, End, Data, _Dbg) ->
    merge(Files, Begin, Work, End, Data).

%% @doc A Begin that opens a file, whose name is the handler data.
-spec outfile_opener(file:filename()) ->
          {ok, file:io_device()} | {error, {open, term()}}.
outfile_opener(FileName) ->
    case file:open(FileName, [write, delayed_write]) of
        {ok, Fd} -> {ok, Fd};
        {error, Reason} -> {error, {open, Reason}}
    end.

%% @doc A Work that writes a line.
-spec outfile_writer(node(), term(), [term()], file:io_device()) ->
          {ok, file:io_device()} | {error, term()}.
outfile_writer(Node, Entry, PidMappings, Fd) ->
    Line = io_lib:format("~w ~w ~w~n", [Node, PidMappings, Entry]),
    case file:write(Fd, unicode:characters_to_binary(Line)) of
        ok -> {ok, Fd};
        {error, _} = E -> E
    end.

%% @doc An End that closes the file.
-spec outfile_closer(file:io_device()) -> ok | {error, term()}.
outfile_closer(Fd) ->
    file:close(Fd).

%% @doc Prints arguments as a formatter of the user's may want them: separated by
%% commas, each by the first translator that says `{ok, String}', which gets the
%% argument and FOpts; lists, tuples, maps and binaries that none prints, in
%% their parts.
-spec format_arguments([term()], term(), [translator()]) -> string().
format_arguments(Args, FOpts, Translators) ->
    lists:flatten(lists:join(",", [format(A, FOpts, Translators)
                                   || A <- Args])).

format(Term, FOpts, Translators) ->
    case translate(Term, FOpts, Translators) of
        {ok, String} -> String;
        false -> parts(Term, fun(T) -> format(T, FOpts, Translators) end)
    end.

translate(_Term, _FOpts, []) ->
    false;
translate(Term, FOpts, [T | Ts]) ->
    Said = case T of
               {M, F} -> M:F(Term, FOpts);
               _ -> T(Term, FOpts)
           end,
    case Said of
        {ok, _} = Ok -> Ok;
        _ -> translate(Term, FOpts, Ts)
    end.

parts([], _F) ->
    "[]";
parts(List, F) when is_list(List) ->
    ["[", elements(List, F), "]"];
parts(Tuple, F) when is_tuple(Tuple) ->
    ["{", lists:join(",", [F(E) || E <- tuple_to_list(Tuple)]), "}"];
parts(Map, F) when is_map(Map) ->
    ["#{", lists:join(",", [[F(K), " => ", F(V)]
                            || {K, V} <- lists:sort(maps:to_list(Map))]), "}"];
parts(Binary, F) when is_binary(Binary) ->
    ["<<", lists:join(",", [F(B) || B <- binary_to_list(Binary)]), ">>"];
parts(Term, _F) ->
    io_lib:format("~w", [Term]).

elements([E], F) -> F(E);
elements([E | [_ | _] = Rest], F) -> [F(E), ",", elements(Rest, F)];
elements([E | Tail], F) -> [F(E), "|", F(Tail)].

%% @doc A translator: strings in quotes.
-spec format_argument_string(term(), term()) -> {ok, string()} | false.
format_argument_string([_ | _] = String, _FOpts) ->
    case io_lib:printable_unicode_list(String) of
        true -> {ok, [$", String, $"]};
        false -> false
    end;
format_argument_string(_, _FOpts) ->
    false.
