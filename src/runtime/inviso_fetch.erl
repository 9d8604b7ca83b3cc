%% SPDX-License-Identifier: Apache-2.0
%% @doc Fetches log files over distribution.
%%
%% On the node that has the files, the runtime component starts a reader of low
%% priority. On the target node a worker of {@link inviso_logs} asks for one chunk
%% after the other. The worker asks for a chunk only when it has the previous chunk, so
%% that other messages between the nodes do not wait behind chunks.
%%
%% Reader and worker monitor each other. If a fetch is cancelled, the worker
%% removes the files that it has received. If a fetch is interrupted, the worker
%% returns `truncated' and keeps the received part of the file. The next fetch
%% continues after this part, if the file still begins with the same bytes (the
%% reader compares checksums).
-module(inviso_fetch).

-include_lib("kernel/include/file.hrl").

-export([start_reader/1, worker/5]).
-export([reader_init/1]).

-export_type([result/0]).

-type file_result() :: {ok, file:filename()} | {error, term()}.
-type result() :: {complete | incomplete,
                   [{trace_log | ti_log, [file_result()]}]}
                | {complete, no_log}
                | {error, term()}.

-define(CHUNK, 65536).
-define(TIMEOUT, 60000).
%% How long to wait for the runtime component, which may be closing a log.
-define(NODE_TIMEOUT, 50000).

%% @doc Starts a process that reads files for `Client', which may be on another node.
-spec start_reader(pid()) -> pid().
start_reader(Client) ->
    spawn_opt(?MODULE, reader_init, [Client], [{priority, low}]).

%% @private
-spec reader_init(pid()) -> ok.
reader_init(Client) ->
    group_leader(whereis(init), self()),
    ok = inviso_push:stays(worker),
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
        {after_same, Client, Ref, Size, Sum} ->
            Client ! {Ref, after_same(Fd, Size, Sum)},
            reader(Client, Monitor, Fd);
        {next, Client, Ref} ->
            Client ! {Ref, file:read(Fd, ?CHUNK)},
            reader(Client, Monitor, Fd);
        {done, Client} ->
            close(Fd);
        {'DOWN', Monitor, process, _, _} ->
            close(Fd)
    end.

%% Returns true if the first `Size' bytes of the file have the checksum `Sum'. In
%% this case the target node has these bytes already, and reading continues after
%% them. Otherwise returns false, and reading starts at the beginning.
after_same(Fd, Size, Sum) ->
    case sum(Fd, Size, erlang:md5_init()) of
        {ok, Sum} ->
            true;
        _ ->
            {ok, 0} = file:position(Fd, bof),
            false
    end.

sum(_Fd, 0, Context) ->
    {ok, erlang:md5_final(Context)};
sum(Fd, Size, Context) ->
    case file:read(Fd, min(Size, ?CHUNK)) of
        {ok, Data} ->
            sum(Fd, Size - byte_size(Data), erlang:md5_update(Context, Data));
        Other ->
            Other
    end.

close(none) -> ok;
close(Fd) -> ok = file:close(Fd).

%% @doc The function of a worker process: fetches files from a runtime
%% component and exits with `{fetched, Result}'.
-spec worker(pid(), inviso_rt_logs:which(), file:name_all(), string(),
             reference()) -> no_return().
worker(Rt, Which, Dir, Prefix, Cancel) ->
    Id = inviso_rt_request:send(Rt, {fetch, self(), Which}),
    Result = case gen_server:receive_response(Id, ?NODE_TIMEOUT) of
                 {reply, {ok, no_log}} -> {complete, no_log};
                 {reply, {ok, Reader, Logs}} ->
                     fetch(Reader, Logs, Dir, Prefix, Cancel);
                 {reply, {error, _} = E} -> E;
                 timeout -> {error, {no_response, timeout}};
                 {error, {Reason, _}} -> {error, {no_response, Reason}}
             end,
    exit({fetched, Result}).

%% Fetches files into a directory of this node, under their own names with a
%% prefix. If the local file exists, destination/2 decides whether the fetch
%% appends to it or replaces it. A message `Cancel' ends the fetch and removes the
%% fetched files.
%%
%% Fetches the ti files before the logs. The ti files are small, and without
%% them an incomplete log has no names of processes.
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
                   || Kind <- [trace_log, ti_log]]}
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
        gone ->
            Error = {error, {truncated, Name}},
            {incomplete, lists:reverse(Done, [{Kind, Error}])};
        {error, _} ->
            Error = {error, {remote_open, From}},
            {incomplete, lists:reverse(Done, [{Kind, Error}])}
    end.

copy(Path, Name, Peer) ->
    case destination(Path, Peer) of
        {ok, Fd} ->
            Result = chunks(Fd, Name, Peer),
            _ = file:close(Fd),
            Result =:= cancelled andalso file:delete(Path),
            Result;
        {error, Reason} ->
            {error, {file_open, {Reason, Name}}};
        Other ->
            stopped(Other, Name)
    end.

stopped(gone, Name) -> {stop, {error, {truncated, Name}}};
stopped(cancelled, _Name) -> cancelled.

%% Opens the local file. If the remote file begins with the contents of the
%% local file, the fetch appends to the local file. Otherwise it replaces the
%% local file.
destination(Path, Peer) ->
    case existing(Path) of
        {ok, Fd, Size, Sum} ->
            case ask(after_same, [Size, Sum], Peer) of
                true ->
                    {ok, Fd};
                Other ->
                    ok = file:close(Fd),
                    case Other of
                        false -> created(Path);
                        _ -> Other
                    end
            end;
        none ->
            created(Path)
    end.

existing(Path) ->
    case file:read_link_info(Path) of
        {ok, #file_info{type = regular, size = Size}} when Size > 0 ->
            summed(file:open(Path, [read, write, raw, binary]), Size);
        _ ->
            none
    end.

summed({ok, Fd}, Size) ->
    case sum(Fd, Size, erlang:md5_init()) of
        {ok, Sum} ->
            {ok, Fd, Size, Sum};
        _ ->
            ok = file:close(Fd),
            none
    end;
summed({error, _}, _Size) ->
    none.

created(Path) ->
    _ = file:delete(Path),
    case file:open(Path, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            _ = file:change_mode(Path, 8#600),
            {ok, Fd};
        {error, _} = E ->
            E
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
        {error, Reason} ->
            {error, {truncated, {Reason, Name}}};
        Other ->
            stopped(Other, Name)
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
