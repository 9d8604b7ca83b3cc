%% SPDX-License-Identifier: Apache-2.0
%% @doc Merges logs and calls the user's functions for the entries ({@link
%% inviso_lfm}).
%%
%% ```
%%  inviso merge ---port---> merger ---> Begin, Work, ..., Work, End
%% '''
%%
%% or, if at least one of the readers is the user's,
%%
%% ```
%%  inviso merge ---port---> inviso_lfm_tpfreader --.
%%  ...                    Mod:Func, a user's reader --> merger ---> Begin, ...
%% '''
%%
%% The merger stores the next entry of each reader. When it handles an entry, it
%% requests the next entry from the same reader.
-module(inviso_lfm_merger).

-export([merge/3]).

-type handlers() :: {Begin :: term(), inviso_lfm:work(), End :: term()}.
%% The next entry of a source, as a tuple: time (ns), number of the source, node,
%% entry, aliases of the process, source.
-type head() :: {integer(), non_neg_integer(), node(), term(), [term()],
                 source()}.
-type source() :: {command, inviso_lfm_command:stream()}
                | {reader, pid(), node()}.

%% How long to wait for a reader's answer, in ms. After this time merge/3 stops all
%% readers and returns an error.
-define(READER_MS, 300000).
-define(STOP_MS, 1000).

%% @doc Merges logs. The functions Begin, Work and End run in one separate
%% process.
-spec merge(inviso_lfm:files(), handlers(), term()) ->
          {ok, non_neg_integer()} | {error, term()}.
merge(Files, Handlers, Data) ->
    case sources(Files) of
        {ok, Sources} ->
            inviso_lfm_command:aside(fun() -> run(Sources, Handlers, Data)
                                     end);
        {error, _} = E ->
            E
    end.

sources(Files) when length(Files) >= 0 ->
    Sets = [F || F <- Files, not is_reader(F)],
    case {inviso_lfm_command:arguments(Sets), Files -- Sets} of
        {{ok, []}, []} -> {ok, []};
        {{ok, Arguments}, []} -> {ok, {command, Arguments}};
        {{ok, _}, _} -> readers(Files, []);
        {{error, _} = E, _} -> E
    end;
sources(Other) ->
    inviso_lfm_command:arguments(Other).

is_reader(File) -> is_tuple(File) andalso element(1, File) =:= reader.

%% Returns the reader for each element of the list. If an element does not name a
%% reader of the user, its reader is inviso_lfm_tpfreader.
readers([], Readers) ->
    {ok, lists:reverse(Readers)};
readers([{reader, M, Func, {Node, Logs}} | Rest], Readers)
  when is_atom(M), is_atom(Func), is_atom(Node) ->
    readers(Rest, [{Node, M, Func, Logs} | Readers]);
readers([{Node, Logs} | Rest], Readers) ->
    readers(Rest, [{Node, inviso_lfm_tpfreader, init, Logs} | Readers]);
readers([Bad | _], _) ->
    {error, {files, {bad_reader_spec, Bad}}}.

run(Sources, {Begin, Work, End}, Data) ->
    process_flag(trap_exit, true),
    case begun(Begin, Data) of
        {ok, Data1} ->
            {Result, Data2} = opened(Sources, Work, Data1),
            _ = is_function(End, 1) andalso contained(End, [Data2]),
            Result;
        {error, Reason} ->
            {error, {begin_handler, Reason}}
    end.

begun(Begin, Data) when is_function(Begin, 1) ->
    contained(Begin, [Data]);
begun(_, Data) ->
    {ok, Data}.

opened({command, Arguments}, Work, Data) ->
    case inviso_lfm_command:open(Arguments) of
        {ok, Stream} -> merged([{command, Stream}], Work, Data);
        {error, _} = E -> {E, Data}
    end;
opened(Readers, Work, Data) ->
    Pids = [{reader, start_reader(M, F, Logs), Node}
            || {Node, M, F, Logs} <- Readers],
    Merged = merged(Pids, Work, Data),
    _ = [stop_reader(Pid) || {reader, Pid, _} <- Pids],
    Merged.

merged(Sources, Work, Data) ->
    _ = [ask(S) || S <- Sources],
    Numbered = lists:zip(lists:seq(1, length(Sources)), Sources),
    case heads(Numbered, []) of
        {ok, Heads} -> loop(Heads, Work, Data, 0);
        {error, _} = E -> {E, Data}
    end.

heads([], Heads) ->
    {ok, Heads};
heads([{Number, Source} | Rest], Heads) ->
    case next(Number, Source, Heads) of
        {ok, Heads1} -> heads(Rest, Heads1);
        {error, _} = E -> E
    end.

%% Calls the function Work for each entry. The first argument contains the next
%% entry of each source, ordered by time.
-spec loop([head()], inviso_lfm:work(), term(), non_neg_integer()) ->
          {{ok, non_neg_integer()} | {error, term()}, term()}.
loop([], _Work, Data, N) ->
    {{ok, N}, Data};
loop([{_, Number, Node, Entry, Mappings, Source} | Rest], Work, Data, N) ->
    ask(Source),
    case contained(Work, [Node, Entry, Mappings, Data]) of
        {ok, Data1} ->
            case next(Number, Source, Rest) of
                {ok, Heads} -> loop(Heads, Work, Data1, N + 1);
                {error, _} = E -> {E, Data1}
            end;
        {error, Reason} ->
            {{error, {writing_output_file, Reason}}, Data}
    end.

%% --- sources ----------------------------------------------------------------

ask({reader, Pid, _}) -> Pid ! {get_next_entry, self()};
ask({command, _}) -> ok.

next(Number, {command, Stream}, Heads) ->
    case inviso_lfm_command:next(Stream) of
        {ok, {Node, Time, Mappings, Entry}, Stream1} ->
            Head = {Time, Number, Node, Entry, Mappings, {command, Stream1}},
            {ok, insert(Head, Heads)};
        done ->
            {ok, Heads};
        {error, _} = E ->
            E
    end;
next(Number, {reader, Pid, Node} = Source, Heads) ->
    receive
        {next_entry, Pid, Mappings, Timestamp, Entry} ->
            Head = {time(Timestamp), Number, Node, Entry, Mappings, Source},
            {ok, insert(Head, Heads)};
        {next_entry, Pid, {error, {merge, _, _} = Reason}} ->
            {error, Reason};
        {next_entry, Pid, {error, _}} ->
            ask(Source),
            next(Number, Source, Heads);
        {'EXIT', Pid, _} ->
            {ok, Heads}
    after ?READER_MS ->
            {error, {files, {reader_timeout, Node}}}
    end.

insert(Head, []) -> [Head];
insert({Time, Number, _, _, _, _} = Head, [{T, N, _, _, _, _} = H | Rest])
  when {T, N} < {Time, Number} ->
    [H | insert(Head, Rest)];
insert(Head, Heads) -> [Head | Heads].

%% Returns a time in ns. An entry without a time gets the lowest time, so that
%% it is the next entry.
time({Mega, Sec, Micro})
  when is_integer(Mega), is_integer(Sec), is_integer(Micro) ->
    ((Mega * 1000000 + Sec) * 1000000 + Micro) * 1000;
time(Ns) when is_integer(Ns) -> Ns;
time(_) -> -(1 bsl 64).

start_reader(M, F, Logs) ->
    spawn_link(M, F, [self(), Logs]).

stop_reader(Pid) ->
    Pid ! {stop, self()},
    %% The exit signal of a reader that has ended was received in next/3.
    Ms = case is_process_alive(Pid) of
             true -> ?STOP_MS;
             false -> 0
         end,
    receive
        {'EXIT', Pid, _} -> ok
    after Ms ->
            exit(Pid, kill)
    end.

contained(Fun, Args) ->
    try apply(Fun, Args) of
        {ok, _} = Ok -> Ok;
        {error, _} = E -> E;
        Other -> {error, {bad_return, Other}}
    catch
        Class:Reason -> {error, {Class, Reason}}
    end.
