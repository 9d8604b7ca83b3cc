%% SPDX-License-Identifier: Apache-2.0
%% `inviso record' asks its nodes for the time, so `inviso merge' can compare their
%% clocks although no message connects them.
-module(inviso_clocks_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([nodes_without_messages/1, two_commands/1, one_node/1, ctrl_c_at_once/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(HOURS, 7200000000000).

suite() -> [{timetrap, {minutes, 5}}].

all() -> [nodes_without_messages, two_commands, one_node, ctrl_c_at_once].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

init_per_testcase(Case, Config) ->
    Base = ?config(base, Config),
    A = ?NODE:start(Base, #{name => "a"}),
    Cookie = maps:get(cookie, A),
    Nodes = [A, ?NODE:start(Base, #{name => "b", cookie => Cookie})],
    Dir = filename:join(Base, atom_to_list(Case)),
    ok = filelib:ensure_path(Dir),
    Opts = #{base => Base, cookie => Cookie, cd => Dir},
    [{nodes, Nodes}, {opts, Opts}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    [ct:log("~ts", [?NODE:said(N)]) || N <- ?config(nodes, Config)],
    [?NODE:stop(N) || N <- ?config(nodes, Config)].

%% Records calls on the nodes, and returns the logs in the order of the names.
record(Config, Name, Nodes, Args) ->
    Names = lists:join(",", [maps:get(name, N) || N <- Nodes]),
    Cmd = ?LIB:start(?config(opts, Config),
                     ["record", "-n", lists:flatten(Names), "-o", Name,
                      "--name", Name, "lists:seq/2" | Args], 100000),
    [?LIB:until_tracing(?config(opts, Config), maps:get(name, N), Cmd) || N <- Nodes],
    [[1, 2] = ?NODE:call(N, lists, seq, [1, 2]) || N <- Nodes],
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000),
    Logs = lists:sort(filelib:wildcard(
                        filename:join([?config(dir, Config), Name, "*.log"]))),
    {N, N} = {length(Nodes), length(Logs)},
    Logs.

%% Returns a log whose clock is ahead by two hours, and runs 100 ppm too fast.
warped(Log) ->
    Out = Log ++ ".warped",
    Tool = filename:join(filename:dirname(code:which(?MODULE)), "log_warp"),
    Said = os:cmd(lists:join(" ", [Tool, Log, Out, integer_to_list(?HOURS), "100", "100",
                                   "0", "0"])),
    [_ | _] = Said,
    Out.

%% Returns what merge says of the clocks, and the events.
clocks(Config, Logs) ->
    File = filename:join(?config(dir, Config), "out.json"),
    #{status := 0, out := Said} =
        ?LIB:run(?config(opts, Config),
                 ["merge", "--format", "json", "--order", "cause", "-o", File,
                  "--summary", "json", "-q" | Logs]),
    {ok, Out} = file:read_file(File),
    ok = file:delete(File),
    [Summary] = ?LIB:json(Said),
    {maps:get(<<"clocks">>, Summary, none), ?LIB:json(Out)}.

nodes_without_messages(Config) ->
    [A, B] = Logs = record(Config, "plain", ?config(nodes, Config), []),
    %% Both nodes have the clock of this machine.
    {#{<<"nodes">> := [_, Same]}, Events} = clocks(Config, Logs),
    ct:log("~p", [Same]),
    true = is_inside(Same, 0),
    [] = [E || #{<<"moved_ns">> := _} = E <- Events],
    {#{<<"nodes">> := [_, Ahead]}, _} = clocks(Config, [A, warped(B)]),
    %% The clock of the first node is behind.
    true = is_inside(Ahead, -?HOURS),
    {#{<<"nodes">> := [_, Behind]}, Corrected} = clocks(Config, [warped(A), B]),
    true = is_inside(Behind, ?HOURS),
    [true = abs(Moved - ?HOURS) < 10000000000
     || #{<<"moved_ns">> := Moved} <- Corrected],
    true = length([E || #{<<"moved_ns">> := _} = E <- Corrected]) > 0.

%% The true offset is within the interval, but for the drift of a minute.
is_inside(#{<<"windows">> := [_ | _] = Windows}, Truth) ->
    Drift = 60000000000 div 10000,
    lists:all(fun(#{<<"low_ns">> := Low, <<"high_ns">> := High}) ->
                      is_integer(Low) andalso is_integer(High) andalso Low =< High
                          andalso Low =< Truth + Drift andalso Truth - Drift =< High
              end, Windows).

%% Two commands that each record one node do not connect the nodes' clocks.
two_commands(Config) ->
    [A, B] = ?config(nodes, Config),
    [LogA] = record(Config, "first", [A], []),
    [LogB] = record(Config, "second", [B], []),
    {#{<<"nodes">> := []}, _} = clocks(Config, [LogA, warped(LogB)]).

%% A recording of one node has no notes.
one_node(Config) ->
    [A | _] = ?config(nodes, Config),
    [Log] = record(Config, "single", [A], []),
    {none, [_ | _]} = clocks(Config, [Log]).

%% A signal that comes while the command asks for the time ends the recording.
ctrl_c_at_once(Config) ->
    [ended_at_once(Config, N) || N <- lists:seq(1, 5)],
    ok.

ended_at_once(Config, N) ->
    Names = lists:join(",", [maps:get(name, Node) || Node <- ?config(nodes, Config)]),
    Name = "early" ++ integer_to_list(N),
    Cmd = ?LIB:start(?config(opts, Config),
                     ["record", "-n", lists:flatten(Names), "-o", Name, "--for", "20s",
                      "lists:seq/2"], 100000),
    armed(Cmd),
    #{status := 0, out := Out} = ?LIB:wait(Cmd, 100000),
    {match, _} = re:run(Out, "events recorded"),
    nomatch = re:run(Out, "20 s passed").

%% Sends the signal within the milliseconds for which the command asks for the
%% time. A shell does so sooner than this node.
armed(#{os_pid := Pid, err := File}) ->
    "" = os:cmd(io_lib:format("until grep -q 'Ctrl-C ends it' ~ts 2>/dev/null; do "
                              "kill -0 ~b || exit; done; kill -INT ~b",
                              [File, Pid, Pid])).
