%% SPDX-License-Identifier: Apache-2.0
%% @doc The command, the spooler or the node is killed while calls are open. The node
%% stores the arguments of these calls, because it decides whether to record a call
%% only when the call ends.
-module(inviso_decide_kill_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1, end_per_testcase/2]).
-export([the_command_is_killed/1, a_spooler_is_killed/1, a_node_is_killed/1]).

-import(inviso_count_lib, [call/4, one/1, begun/4, summary/1, footprints/1, left/2,
                           released/1]).
-import(inviso_command_lib, [signal/2, wait/2, until/1, json/1]).

-define(WORK, inviso_decide_work).
-define(SPECS, ["inviso_decide_work:counted/1 -> slow(0us)",
                "inviso_decide_work:hang/0 -> slow(0us)",
                "inviso_decide_work:rest/1 -> failed"]).

suite() -> [{timetrap, {minutes, 5}}].

all() -> [the_command_is_killed, a_spooler_is_killed, a_node_is_killed].

init_per_suite(Config) -> inviso_count_lib:init([?WORK], Config).

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

%% When the command is killed, the open calls can still return, and nothing of inviso stays on the
%% node.
the_command_is_killed(Config) ->
    Node = one(Config),
    Before = footprints([Node]),
    Cmd = begun(["trace", "--json"], [Node], ?SPECS, Config),
    Open = hanging(Node, 10),
    ok = call(Node, ?WORK, count, [20]),
    ok = signal(Cmd, "KILL"),
    released([Node]),
    returned(Node, Open),
    [[]] = [left(F, Node) || F <- Before].

%% When the spooler is killed, another one continues. Each call is recorded once, including the
%% calls that began before the spooler was killed.
a_spooler_is_killed(Config) ->
    Node = one(Config),
    Cmd = begun(["trace", "--json"], [Node], ?SPECS, Config),
    Open = hanging(Node, 10),
    ok = call(Node, ?WORK, count, [20]),
    until(fun() -> length(calls(Cmd)) =:= 20 end),
    [Spooler] = spoolers(Node),
    ok = signal(Spooler, "KILL"),
    ok = call(Node, ?WORK, count, [20]),
    returned(Node, Open),
    until(fun() -> length(calls(Cmd)) >= 50 end),
    [Next] = spoolers(Node),
    true = Next =/= Spooler,
    ok = signal(Cmd, "INT"),
    #{status := 0, err := Err} = wait(Cmd, 120000),
    #{<<"produced">> := 50, <<"recorded">> := 50, <<"lost">> := 0} = summary(Err),
    Counted = lists:sort(lists:seq(1, 20) ++ lists:seq(1, 20)),
    Counted = lists:sort([binary_to_integer(A) || {<<"counted">>, [A]} <- calls(Cmd)]),
    10 = length([F || {<<"hang">> = F, []} <- calls(Cmd)]).

%% The command prints the calls that ended before the node was killed, and says that
%% the trace is not complete.
a_node_is_killed(Config) ->
    #{os_pid := OsPid} = Node = one(Config),
    Cmd = begun(["trace", "--json"], [Node], ?SPECS, Config),
    _ = hanging(Node, 10),
    ok = call(Node, ?WORK, count, [20]),
    until(fun() -> length(calls(Cmd)) =:= 20 end),
    ok = signal(OsPid, "KILL"),
    #{status := 3, err := Err} = wait(Cmd, 120000),
    #{<<"unknown">> := 1, <<"shown">> := 20, <<"stopped">> := <<"lost: ", _/binary>>}
        = summary(Err),
    Numbers = [integer_to_binary(N) || N <- lists:seq(20, 1, -1)],
    Numbers = [A || {<<"counted">>, [A]} <- calls(Cmd)],
    20 = length(calls(Cmd)).

%% Starts processes that are in the call of hang/0.
hanging(Node, N) ->
    Pids = [call(Node, erlang, spawn, [?WORK, hangs, []]) || _ <- lists:seq(1, N)],
    until(fun() -> lists:all(fun(P) -> waits(Node, P) end, Pids) end),
    Pids.

waits(Node, Pid) ->
    {current_function, {?WORK, hang, 0}} =:=
        call(Node, erlang, process_info, [Pid, current_function]).

%% Lets the calls of hang/0 return.
returned(Node, Pids) ->
    _ = [call(Node, erlang, send, [P, go]) || P <- Pids],
    until(fun() -> not lists:any(fun(P) -> call(Node, erlang, is_process_alive, [P]) end,
                                 Pids) end).

spoolers(Node) ->
    #{os_processes := Ps} = inviso_footprint:of_node(Node),
    [P || {P, "inviso_spool"} <- Ps].

%% Returns the calls that the command has printed.
calls(Cmd) ->
    [{F, Args} || #{<<"function">> := F, <<"args">> := Args, <<"duration_ns">> := _}
                      <- json(whole_lines(inviso_command_lib:out(Cmd)))].

whole_lines(Bin) ->
    case binary:matches(Bin, <<"\n">>) of
        [] -> <<>>;
        Ends -> binary:part(Bin, 0, element(1, lists:last(Ends)) + 1)
    end.
