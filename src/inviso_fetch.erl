%% SPDX-License-Identifier: Apache-2.0
%% @doc Fetching log files over distribution.
%%
%% On the node that has the files, a reader of low priority, which the runtime
%% component starts; where they go, whoever called {@link fetch/5}, which asks
%% for one chunk after the other: never more than one chunk is under way, so
%% that the distribution channel stays usable for others.
%%
%% Reader and fetching process monitor each other. A fetch that is cancelled
%% removes what it has received.
-module(inviso_fetch).

-export([start_reader/1, fetch/5]).
-export([reader_init/1]).

-export_type([logs/0, result/0]).

-type logs() :: [{trace_log | ti_log, file:filename(), [file:filename()]}].
-type file_result() :: {ok, file:filename()} | {error, term()}.
-type result() :: {complete | incomplete,
                   [{trace_log | ti_log, [file_result()]}]}
                | {complete, no_log}
                | {error, term()}.

-define(CHUNK, 65536).
-define(TIMEOUT, 60000).

%% @doc Starts a reader for a process, which may be on another node.
-spec start_reader(pid()) -> pid().
start_reader(Client) ->
    spawn_opt(?MODULE, reader_init, [Client], [{priority, low}]).

%% @private
-spec reader_init(pid()) -> ok.
reader_init(Client) ->
    group_leader(whereis(init), self()),
    reader(Client, monitor(process, Client), none).

reader(Client, Monitor, Fd) ->
    receive
        {open, Client, Ref, Name} ->
            close(Fd),
            case file:open(Name, [read, raw, binary]) of
                {ok, New} ->
                    Client ! {Ref, ok},
                    reader(Client, Monitor, New);
                {error, _} = E ->
                    Client ! {Ref, E},
                    reader(Client, Monitor, none)
            end;
        {next, Client, Ref} ->
            Client ! {Ref, file:read(Fd, ?CHUNK)},
            reader(Client, Monitor, Fd);
        {done, Client} ->
            close(Fd);
        {'DOWN', Monitor, process, _, _} ->
            close(Fd)
    end.

close(none) -> ok;
close(Fd) -> ok = file:close(Fd).

%% @doc Fetches files into a directory of this node, each under its own name
%% with a prefix. An existing file is replaced. A message `Cancel' to the
%% calling process ends the fetch: then nothing of it stays.
%%
%% The trace information comes first: it is small, and without it the names in
%% an incomplete log are lost.
-spec fetch(pid(), logs(), file:filename(), string(), reference()) ->
          result() | cancelled.
fetch(_Reader, [], _Dir, _Prefix, _Cancel) ->
    {complete, no_log};
fetch(Reader, Logs, Dir, Prefix, Cancel) ->
    Monitor = monitor(process, Reader),
    Work = [{Kind, filename:join(From, F), Prefix ++ filename:basename(F)}
            || {Kind, From, Files} <- Logs, F <- Files],
    Ordered = [W || {ti_log, _, _} = W <- Work] ++
        [W || {trace_log, _, _} = W <- Work],
    Result = files(Ordered, {Reader, Monitor, Cancel}, Dir, []),
    Reader ! {done, self()},
    erlang:demonitor(Monitor, [flush]),
    case Result of
        {cancelled, Done} ->
            _ = [file:delete(filename:join(Dir, N)) || {_, {ok, N}} <- Done],
            cancelled;
        {How, Done} ->
            {How, [{Kind, [R || {K, R} <- Done, K =:= Kind]}
                   || Kind <- [trace_log, ti_log],
                      lists:keymember(Kind, 1, Logs)]}
    end.

files([], _Peer, _Dir, Done) ->
    How = case [E || {_, {error, _} = E} <- Done] of
              [] -> complete;
              _ -> incomplete
          end,
    {How, lists:reverse(Done)};
files([{Kind, From, Name} | Rest], Peer, Dir, Done) ->
    case ask(open, [From], Peer) of
        ok ->
            case copy(filename:join(Dir, Name), Name, Peer) of
                cancelled ->
                    {cancelled, Done};
                {stop, Error} ->
                    {incomplete, lists:reverse(Done, [{Kind, Error}])};
                Result ->
                    files(Rest, Peer, Dir, [{Kind, Result} | Done])
            end;
        cancelled ->
            {cancelled, Done};
        _ ->
            Error = {error, {remote_open, From}},
            {incomplete, lists:reverse(Done, [{Kind, Error}])}
    end.

copy(Path, Name, Peer) ->
    _ = file:delete(Path),
    case file:open(Path, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            _ = file:change_mode(Path, 8#600),
            Result = chunks(Fd, Name, Peer),
            _ = file:close(Fd),
            Result =:= cancelled andalso file:delete(Path),
            Result;
        {error, Reason} ->
            {error, {file_open, {Reason, Name}}}
    end.

chunks(Fd, Name, Peer) ->
    case ask(next, [], Peer) of
        {ok, Data} ->
            case file:write(Fd, Data) of
                ok -> chunks(Fd, Name, Peer);
                {error, Reason} -> {error, {file_write, {Reason, Name}}}
            end;
        eof ->
            {ok, Name};
        cancelled ->
            cancelled;
        {error, Reason} ->
            {error, {truncated, {Reason, Name}}};
        gone ->
            {stop, {error, {truncated, Name}}}
    end.

ask(What, Args, {Reader, Monitor, Cancel}) ->
    Ref = make_ref(),
    Reader ! list_to_tuple([What, self(), Ref | Args]),
    receive
        {Ref, Reply} -> Reply;
        Cancel -> cancelled;
        {'DOWN', Monitor, process, _, _} -> gone
    after ?TIMEOUT ->
            gone
    end.
