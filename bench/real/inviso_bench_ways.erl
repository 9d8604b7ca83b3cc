%% SPDX-License-Identifier: Apache-2.0
%% The ways to trace the broker that are compared.
-module(inviso_bench_ways).
-export([all/0, name/1, bar/1, window_ms/1, start/3, over/1, stop/1]).

-export_type([way/0, tracing/0]).

-define(MODULE_TRACED, "rabbit_channel").
-define(WINDOW_MS, 3000).
%% A process tracer is measured for a shorter time, because its message queue grows by up to a
%% gigabyte per second.
-define(SHORT_WINDOW_MS, 2000).
-define(MOST_MEMORY, 2 bsl 30).
-define(READY_MS, 60000).
-define(STOP_MS, 60000).
-define(CHUNK, 4 bsl 20).

-type way() :: {inviso, string(), [string()]} | file | process.
-opaque tracing() :: map().

-spec all() -> [way()].
all() ->
    [{inviso, "whole terms", [?MODULE_TRACED]},
     {inviso, "--max-term 16", ["--max-term", "16", ?MODULE_TRACED]},
     {inviso, "--args none", ["--args", "none", ?MODULE_TRACED]},
     {inviso, "-> return, whole terms", [?MODULE_TRACED " -> return"]},
     {inviso, "-> slow(1ms)", [?MODULE_TRACED " -> slow(1ms)"]},
     file, process].

-spec name(way()) -> string().
name({inviso, Name, _}) -> "inviso, " ++ Name;
name(file) -> "dbg, file port";
name(process) -> "process tracer, counts only".

%% Returns the goal: the throughput with tracing, as a share of the throughput without tracing.
-spec bar(way()) -> number() | none.
bar({inviso, "whole terms", _}) -> 0.35;
bar({inviso, "--args none", _}) -> 0.65;
bar(_) -> none.

-spec window_ms(way()) -> pos_integer().
window_ms(process) -> ?SHORT_WINDOW_MS;
window_ms(_) -> ?WINDOW_MS.

%% Begins to trace the broker in one of the ways. Returns when the broker is traced.
-spec start(way(), inviso_bench_broker:broker(), map()) -> tracing().
start({inviso, _, Args} = Way, #{node := Node},
      #{command := Command, work := Work}) ->
    Out = filename:join(Work, "logs"),
    Name = atom_to_list(Node),
    Port = open_port({spawn_executable, Command},
                     [{args, ["record", "-n", Name, "--json", "--bytes", "0",
                              "--for", "100s", "-o", Out | Args]},
                      binary, exit_status, stderr_to_stdout, hide]),
    Status = Command ++ " status --json -n " ++ Name,
    until_tracing(Port, Status, erlang:monotonic_time(millisecond) + ?READY_MS),
    #{way => Way, port => Port, logs => Out};
start(file, #{node := Node}, #{work := Work}) ->
    File = filename:join(Work, "port.trace"),
    guest(Node),
    ok = inviso_bench_broker:call(Node, inviso_bench_guest, file_begin,
                                  [rabbit_channel, File]),
    #{way => file, node => Node, file => File};
start(process, #{node := Node}, _) ->
    guest(Node),
    ok = inviso_bench_broker:call(Node, inviso_bench_guest, count_begin,
                                  [rabbit_channel, ?MOST_MEMORY]),
    #{way => process, node => Node}.

guest(Node) ->
    {M, Beam, File} = code:get_object_code(inviso_bench_guest),
    {module, M} = inviso_bench_broker:call(Node, code, load_binary,
                                           [M, File, Beam]).

until_tracing(Port, Status, Late) ->
    receive
        {Port, {data, Said}} -> error({not_tracing, Said});
        {Port, {exit_status, Code}} -> error({not_tracing, Code})
    after 0 ->
            case string:find(os:cmd(Status), "\"state\":\"tracing\"") of
                nomatch ->
                    erlang:monotonic_time(millisecond) < Late
                        orelse error(inviso_does_not_begin),
                    until_tracing(Port, Status, Late);
                _ -> ok
            end
    end.

%% Returns true if the tracing ended by itself, because the broker's memory grew too much.
-spec over(tracing()) -> boolean().
over(#{way := process, node := Node}) ->
    inviso_bench_broker:call(Node, inviso_bench_guest, count_ended, []);
over(_) ->
    false.

%% Ends tracing and removes its files. Returns the numbers of events that were
%% recorded and lost, and the bytes of the log.
-spec stop(tracing()) -> {non_neg_integer(), non_neg_integer(),
                          non_neg_integer()}.
stop(#{way := {inviso, _, _}, port := Port, logs := Logs}) ->
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    [] = os:cmd("kill -INT " ++ integer_to_list(OsPid)),
    Said = said(Port, <<>>),
    [Recorded, Lost] = [field(Said, F) || F <- ["recorded", "lost"]],
    Bytes = lists:sum([filelib:file_size(F)
                       || F <- filelib:wildcard(Logs ++ "/*")]),
    ok = file:del_dir_r(Logs),
    {Recorded, Lost, Bytes};
stop(#{way := file, node := Node, file := File}) ->
    ok = inviso_bench_broker:call(Node, inviso_bench_guest, file_end, []),
    Bytes = settled(File, -1),
    Events = events(File),
    ok = file:delete(File),
    {Events, 0, Bytes};
stop(#{way := process, node := Node}) ->
    {inviso_bench_broker:call(Node, inviso_bench_guest, count_end, []), 0, 0}.

%% status 7: events were lost
said(Port, Said) ->
    receive
        {Port, {data, More}} -> said(Port, <<Said/binary, More/binary>>);
        {Port, {exit_status, Status}} when Status =:= 0; Status =:= 7 -> Said;
        {Port, {exit_status, Status}} -> error({inviso_failed, Status, Said})
    after ?STOP_MS ->
            error({inviso_does_not_end, Said})
    end.

%% The last JSON object that the command prints has the sums over all nodes.
field(Said, Field) ->
    Last = lists:last(binary:split(Said, <<"\n">>, [global, trim_all])),
    {match, [Number]} = re:run(Last, ["\"", Field, "\":(\\d+)"],
                               [{capture, all_but_first, binary}]),
    binary_to_integer(Number).

%% Waits until the size of the file no longer changes, and returns the size. The driver of the trace
%% port may write for some time after `dbg' has ended.
settled(File, Before) ->
    case filelib:file_size(File) of
        Before -> Before;
        Size -> timer:sleep(200), settled(File, Size)
    end.

%% Counts the events of a trace port's file. Each event is the byte 0, four bytes
%% with the size of a term, and the term.
events(File) ->
    {ok, Fd} = file:open(File, [read, raw, binary]),
    Count = events(Fd, <<>>, 0),
    ok = file:close(Fd),
    Count.

events(Fd, <<0, Size:32, Rest/binary>>, Count) when byte_size(Rest) >= Size ->
    <<_:Size/binary, More/binary>> = Rest,
    events(Fd, More, Count + 1);
events(Fd, Bytes, Count) ->
    case file:read(Fd, ?CHUNK) of
        {ok, More} -> events(Fd, <<Bytes/binary, More/binary>>, Count);
        eof -> Count
    end.
