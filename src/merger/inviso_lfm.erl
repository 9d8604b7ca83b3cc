%% SPDX-License-Identifier: Apache-2.0
%% @doc The log file merger: merges the logs of nodes into one sequence of
%% entries, ordered by time.
%%
%% ```
%% Files = [FileSet | {reader, Mod, Func, FileSet}]
%% FileSet = {Node, LogFiles} | {Node, [LogFiles]}
%% LogFiles = [{trace_log, [Name]} | {ti_log, [Name]}]
%% '''
%%
%% File names are relative to the current directory. The files of a log may be
%% listed in any order. A log is a log of inviso, or a file that a trace port of
%% OTP wrote.
%%
%% The command `inviso merge', a program beside the VM, merges the logs. So its
%% use of memory, or a crash, does not affect the VM. With an output file, the
%% command writes a line for each entry: the node, the names of the process, and
%% the trace message. If the user passes functions, these get the entries in
%% order, and the command waits while they run:
%%
%% ```
%% Begin(HandlerData) -> {ok, HandlerData} | {error, Reason}
%% Work(Node, Entry, PidMappings, HandlerData) ->
%%     {ok, HandlerData} | {error, Reason}
%% End(HandlerData) -> ok | {error, Reason}         the result is ignored
%% '''
%%
%% Entry is the trace message in the form that a tracer process would get, or
%% `{drop, N}' where N messages are missing. PidMappings are the aliases of the
%% traced process at the time of the entry. inviso-merge(1), under etf, describes
%% terms that were cut when they were recorded. If Begin or End is not a function,
%% it is not called. The functions run in a process that the merger starts. This
%% process ends when the caller ends.
%%
%% == Trace information ==
%%
%% Names of processes come from ti files (trace information files). A record of
%% such a file is a zero byte, the length (32 bits, big-endian) and one of these
%% terms in the external format:
%%
%% ```
%% {Pid, Alias, alias, Now}
%% {Pid | undefined, Alias, unalias, Now}
%% '''
%%
%% A process has an alias from the time Now of its `alias' record until the time
%% Now of an `unalias' record with the same alias and pid. An `unalias' record
%% with `undefined' ends the alias for any pid. Now is a time in the form of
%% `erlang:timestamp()'.
%%
%% == Readers of the user ==
%%
%% With `{reader, Mod, Func, {Node, LogFiles}}' the merger spawns a linked
%% process that runs `Mod:Func(Merger, LogFiles)'. The process answers each
%% message `{get_next_entry, Merger}' with one of
%%
%% ```
%% Merger ! {next_entry, self(), PidMappings, Timestamp, Term}
%% Merger ! {next_entry, self(), {error, Reason}}      (this entry is skipped)
%% '''
%%
%% The process exits when it has no more entries, or when it gets `{stop,
%% Merger}'. Timestamp is a time in the form of `erlang:timestamp()', or in
%% nanoseconds since the Unix epoch. If Timestamp is another term (such as
%% `false'), the entry is not sorted: the merger takes it as the next entry.
%% {@link inviso_lfm_tpfreader} is a reader.
-module(inviso_lfm).

-export([merge/2, merge/3, merge/4, merge/5, merge/6]).
%% Functions for handlers and formatters that users write.
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

%% @doc Merges logs into a file. Returns the number of entries. The file gets its
%% name only when it is complete.
%%
%% A missing log is an error. Damage within a log is not an error: all readable
%% entries are merged.
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

%% @doc Calls a function for each entry. If the second argument is a file name,
%% does the same as {@link merge/2}, and the third argument has no effect.
-spec merge(files(), work(), data()) -> result();
           (files(), file:filename(), term()) -> result().
merge(Files, Work, Data) when is_function(Work) ->
    merge(Files, void, Work, void, Data);
merge(Files, OutFile, _Dbg) ->
    merge(Files, OutFile).

%% @doc Calls a function for each entry. The last argument has no effect.
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

%% @doc Equal to {@link merge/5}. The last argument has no effect.
-spec merge(files(), 'begin'() | term(), work(), 'end'() | term(), data(),
            term()) -> result().
merge(Files, Begin, Work, End, Data, _Dbg) ->
    merge(Files, Begin, Work, End, Data).

%% @doc A Begin function that opens a file. The handler data is the
%% name of the file.
-spec outfile_opener(file:filename()) ->
          {ok, file:io_device()} | {error, {open, term()}}.
outfile_opener(FileName) ->
    case file:open(FileName, [write, delayed_write]) of
        {ok, Fd} -> {ok, Fd};
        {error, Reason} -> {error, {open, Reason}}
    end.

%% @doc A Work function that writes an entry as a line.
-spec outfile_writer(node(), term(), [term()], file:io_device()) ->
          {ok, file:io_device()} | {error, term()}.
outfile_writer(Node, Entry, PidMappings, Fd) ->
    Line = io_lib:format("~w ~w ~w~n", [Node, PidMappings, Entry]),
    case file:write(Fd, unicode:characters_to_binary(Line)) of
        ok -> {ok, Fd};
        {error, _} = E -> E
    end.

%% @doc An End function that closes the file.
-spec outfile_closer(file:io_device()) -> ok | {error, term()}.
outfile_closer(Fd) ->
    file:close(Fd).

%% @doc Prints arguments separated by commas, for formatters. A translator is a
%% function that gets an argument and FOpts. It returns `{ok, String}' if the
%% argument is to be printed as String, and otherwise `false'. The translators
%% are called in order until one returns a string. If all return `false' for a
%% list, tuple, map or binary, the elements of this term are printed in the same
%% way.
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

%% @doc A translator for {@link format_arguments/3}: prints a string in double
%% quotes. Returns `false' for other terms.
-spec format_argument_string(term(), term()) -> {ok, string()} | false.
format_argument_string([_ | _] = String, _FOpts) ->
    case io_lib:printable_unicode_list(String) of
        true -> {ok, [$", String, $"]};
        false -> false
    end;
format_argument_string(_, _FOpts) ->
    false.
