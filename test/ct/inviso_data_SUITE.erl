%% SPDX-License-Identifier: Apache-2.0
%% Tests every form of tracerdata, which says where events go, and the functions
%% on log files, with their results and errors.
-module(inviso_data_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([a_file/1, a_file_with_a_filter/1, wrap_sets/1, bad_tracerdata/1,
         a_handler/1, a_handler_that_crashes/1, a_handler_that_is_slow/1,
         a_handler_that_steals/1, a_handler_that_is_not_there/1,
         a_receiver_that_is_killed/1,
         a_runtime_component_that_is_killed/1, events_that_are_too_big/1,
         bytes_that_wait/1,
         a_flood_and_a_handler_that_sleeps/1, a_flood_of_many_kinds/1,
         flags_of_links_and_of_calls/1,
         losses_are_reported_in_place/1,
         flush/1, collector/1, lines_of_the_collector/1,
         a_relay_to_a_node/1, a_relay_to_a_process/1,
         a_relay_to_one_that_does_not_read/1, a_relay_whose_end_dies/1,
         an_ip_port/1, an_ip_port_without_a_client/1, bad_ip_ports/1,
         list_logs/1, delete_log/1, clear/1,
         fetch_log/1, fetch_log_to_another_node/1, a_fetch_that_continues/1,
         a_fetch_from_a_node_that_dies/1, init_tracing_and_a_node_that_dies/1,
         a_caller_that_dies/1, a_system_without_distribution/1]).

-import(inviso_test_lib, [call/4, wait_until/1, wait_until/2]).

-define(PROBE, inviso_data_probe).
-define(CONTROL, inviso_control_probe).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [a_file, a_file_with_a_filter, wrap_sets, bad_tracerdata,
     a_handler, a_handler_that_crashes, a_handler_that_is_slow,
     a_handler_that_steals, a_handler_that_is_not_there,
     a_receiver_that_is_killed,
     a_runtime_component_that_is_killed, events_that_are_too_big,
     bytes_that_wait,
     a_flood_and_a_handler_that_sleeps, a_flood_of_many_kinds,
     flags_of_links_and_of_calls,
     losses_are_reported_in_place,
     flush, collector, lines_of_the_collector,
     a_relay_to_a_node, a_relay_to_a_process,
     a_relay_to_one_that_does_not_read, a_relay_whose_end_dies,
     an_ip_port, an_ip_port_without_a_client, bad_ip_ports,
     list_logs, delete_log, clear,
     fetch_log, fetch_log_to_another_node, a_fetch_that_continues,
     a_fetch_from_a_node_that_dies, init_tracing_and_a_node_that_dies,
     a_caller_that_dies, a_system_without_distribution].

%% Starts a control component on the first of two nodes, adds both nodes, and
%% subscribes a process. For a_system_without_distribution, only starts a node.
init_per_testcase(a_system_without_distribution = Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N = inviso_test_lib:start_alone(Dir),
    ok = ?PROBE:load(N),
    [{nodes, [N]} | Config];
init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N1 = inviso_test_lib:shared_node(data1, Dir),
    N2 = inviso_test_lib:start_stock_node(data2, Dir),
    ok = inviso_test_lib:connect([N1, N2]),
    _ = [?PROBE:load(N) || N <- [N1, N2]],
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, start, [[{subscribe, Sub}]]),
    #{name := Node1} = N1,
    #{name := Node2} = N2,
    {ok, [{Node1, {ok, new}}, {Node2, {ok, new}}]} =
        inviso(N1, add_nodes, [[Node1, Node2], tag]),
    [{nodes, [N1, N2]}, {subscriber, Sub}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || N <- ?config(nodes, Config)],
    ok.

%% --- files ------------------------------------------------------------------

%% Tests {file, Name}, [{trace, LogTD}] and [{trace, LogTD}, {ti, TiTD}].
a_file(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    _ = [begin
             Ok = {ok, [{trace_log, ok} | Ti]},
             {ok, [{Node1, Ok}, {Node2, Ok}]} = inviso(N1, init_tracing, [TD]),
             {ok, [{_, {ok, TD}}, {_, {ok, TD}}]} =
                 inviso(N1, get_tracerdata, []),
             ok = traced_calls(N1, N2, Node2, 3),
             stopped(N1),
             Logs = {ok, [{trace_log, ".", ["a.log"]}
                          | [{ti_log, ".", ["a.ti"]} || Ti =/= []]]},
             {ok, [{Node1, Logs}, {Node2, Logs}]} = inviso(N1, list_logs, [])
         end || {TD, Ti} <- [{{file, "a.log"}, []},
                             {[{trace, {file, "a.log"}}], []},
                             {[{ti, {file, "a.ti"}}, {trace, {file, "a.log"}}],
                              [{ti_log, ok}]}]],
    ok.

%% Tests {file, Name, #{filter => Filter}}: the log contains no event that the
%% filter leaves out, and a wrong filter is refused.
a_file_with_a_filter(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    TD = fun(Filter) -> {file, "a.log", #{filter => Filter}} end,
    {ok, [{Node2, {error, {open, [_, {filter, <<"character 3: ", _/binary>>}]}}}]} =
        inviso(N1, init_tracing, [[Node2], TD("a b")]),
    Spec = [{['_', call, {?PROBE, traced, ['$1']}],
             [{'=:=', {'rem', '$1', 4}, 0}], []}],
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], TD(Spec)]),
    ok = traced_calls(N1, N2, Node2, 10),
    stopped(N1),
    Log = filename:join(maps:get(dir, N2), "a.log"),
    [<<"{inviso_data_probe,traced,[4]}">>, <<"{inviso_data_probe,traced,[8]}">>] =
        [P || #{<<"payload">> := [P]} <- inviso_trace_lib:events(Log)].

%% Tests wrap sets, {file, {Name, wrap, Tail, ...}}: only the newest files stay.
wrap_sets(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Set = fun(TD) ->
                  {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
                      inviso(N1, init_tracing, [[Node2], TD]),
                  ok = traced_calls(N1, N2, Node2, 30000),
                  stopped(N1),
                  {ok, [{Node2, {ok, [{trace_log, ".", Files}]}}]} =
                      inviso(N1, list_logs, [[Node2]]),
                  {ok, [{Node2, {ok, {new, running}}}]} =
                      inviso(N1, clear, [[Node2]]),
                  [] = call(N2, filelib, wildcard, ["w*"]),
                  Files
          end,
    _ = [begin
             Files = Set(TD),
             {TD, true} = {TD, length(Files) =< Most},
             [] = [F || F <- Files, not lists:prefix("w.log.", F)]
         end || {TD, Most} <- [{{file, {"w", wrap, ".log"}}, 8},
                               {{file, {"w", wrap, ".log", 20000}}, 8},
                               {{file, {"w", wrap, ".log", 20000, 3}}, 3},
                               {{file, {"w", wrap, ".log", 0, 2}}, 2},
                               {{file, {"w", wrap, ".log", {time, 20}, 2}}, 2},
                               {{file, {"w", wrap, ".log", 1, 1 bsl 31}},
                                1 bsl 31}]],
    [_, _, _] = Set({file, {"w", wrap, ".log", 20000, 3}}).

%% Tests init_tracing/1,2 with wrong tracerdata, which is refused and changes
%% nothing.
bad_tracerdata(Config) ->
    {N1, Node1, _, Node2} = nodes_of(Config),
    F = fun ?PROBE:tell/2,
    _ = [{TD, {ok, [{Node1, {error, {bad_tracerdata, Bad}}},
                    {Node2, {error, {bad_tracerdata, Bad}}}]}} =
             {TD, inviso(N1, init_tracing, [[Node1, Node2], TD])}
         || {TD, Bad} <- [{x, x}, {{x, y}, {x, y}}, {[], []},
                          {{file, 1}, {file, 1}}, {{file, ""}, {file, ""}},
                          {{file, {"w", wrap}}, {file, {"w", wrap}}},
                          {{relayer, "x"}, {relayer, "x"}},
                          {{fun erlang:self/0, 1}, {fun erlang:self/0, 1}},
                          {[{trace, {F}}], {F}}]],
    _ = [{Wrap, {ok, [{Node1, {error, {trace_port_args, [file, _]}}}]}} =
             {Wrap, inviso(N1, init_tracing, [[Node1], {file, Wrap}])}
         || Wrap <- [{"w", wrap, "", -1}, {"w", wrap, "", 1 bsl 32},
                     {"w", wrap, "", 1, 0}, {"w", wrap, "", x, 1},
                     {"w", wrap, "", {time, 0}, 1},
                     {"w", wrap, "", {time, 1 bsl 32}, 1}]],
    {ok, [{Node1, {error, {open, [_, _]}}}]} =
        inviso(N1, init_tracing, [[Node1], {file, "no/such/dir/a.log"}]),
    {error, {badarg, x}} = inviso(N1, init_tracing, [x]),
    {error, {badarg, x}} = inviso(N1, init_tracing, [x, collector]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, init_tracing, [[{nowhere@nohost, collector}]]),
    %% If the node's working directory was removed, all tracerdata is refused.
    Gone = filename:join(?config(dir, Config), "gone"),
    ok = file:make_dir(Gone),
    {ok, Cwd} = call(N1, file, get_cwd, []),
    ok = call(N1, file, set_cwd, [Gone]),
    ok = file:del_dir(Gone),
    [{ok, [{Node1, {error, {working_directory, enoent}}}]} =
         inviso(N1, init_tracing, [[Node1], TD])
     || TD <- [{file, "a.log"}, {file, "/a.log"}, collector]],
    ok = call(N1, file, set_cwd, [Cwd]),
    {ok, [{Node1, {ok, {new, running}}}, {Node2, {ok, {new, running}}}]} =
        inviso(N1, get_status, []),
    [] = [C || {trace_counts, _, _} = C <- events(Config)].

%% --- handlers ---------------------------------------------------------------

%% Tests {HandlerFun, Data}: the handler gets each event, and the value that it
%% returned for the previous event. When tracing ends, subscribers get the
%% numbers of delivered and lost events.
a_handler(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    Handler = {fun ?PROBE:tell/2, 7},
    Ok = {ok, [{trace_log, ok}]},
    {ok, [{Node1, Ok}, {Node2, Ok}]} = inviso(N1, init_tracing, [Handler]),
    {ok, [{Node1, {ok, Handler}}, _]} = inviso(N1, get_tracerdata, []),
    ok = traced_calls(N1, N2, Node2, 3),
    stopped(N1),
    W = worker(N2),
    Expected = [{6 + I, {trace, W, call, {?PROBE, traced, [I]}}}
                || I <- [1, 2, 3]],
    Expected = told(N2),
    [] = told(N1),
    #{produced := 3, delivered := 3, dropped := 0, waiting := 0, lost := L} =
        counts(Node2, Config),
    0 = maps:size(L),
    %% If tracerdata has a handler and a ti file, the ti file is the only file.
    %% Flags for a timestamp and a scheduler id add elements to the events.
    {ok, [{Node2, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], [{trace, Handler},
                                            {ti, {file, "a.ti"}}]]),
    {ok, _} = inviso(N1, tpl, [[Node2], ?PROBE, traced, 1,
                               [{'_', [], [{return_trace}]}]]),
    {ok, _} = inviso(N1, tf, [[Node2], worker,
                              [call, strict_monotonic_timestamp,
                               scheduler_id]]),
    ok = call(N2, ?PROBE, work, [4, 4]),
    stopped(N1),
    [{7, {trace_ts, W, call, {?PROBE, traced, [4]}, S1, {T1, U1}}},
     {8, {trace_ts, W, return_from, {?PROBE, traced, 1}, ok, S2, {T2, U2}}}] =
        told(N2) -- Expected,
    true = lists:all(fun is_integer/1, [S1, S2, T1, T2, U1, U2]),
    true = T1 =< T2 andalso U1 < U2,
    {ok, [{Node2, {ok, [{ti_log, ".", ["a.ti"]}]}}]} =
        inviso(N1, list_logs, [[Node2]]),
    {ok, _} = inviso(N1, clear, []),
    false = filelib:is_file(filename:join(maps:get(dir, N2), "a.ti")),
    {ok, _} = inviso(N1, stop_all, []).

%% If the handler crashes, its data stays as it was, subscribers get an event,
%% and the trace event is counted as lost.
a_handler_that_crashes(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:crash/2, 0}]),
    ok = traced_calls(N1, N2, Node2, 5),
    stopped(N1),
    [{0, E1}, {1, E2}, {2, E4}, {3, E5}] = told(N2),
    [1, 2, 4, 5] = [I || {trace, _, call, {_, _, [I]}} <- [E1, E2, E4, E5]],
    #{produced := 5, delivered := 4, dropped := 1, lost := #{failed := 1}} =
        counts(Node2, Config),
    [{callback_failed, Node2, {handler, {error, told_to_crash}}}] =
        [E || {callback_failed, _, _} = E <- events(Config)].

%% When tracing ends, the handler gets the events that still wait, but only for a limited time. The
%% rest are counted as lost. Meanwhile no other process is blocked.
a_handler_that_is_slow(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:slow/2, 3}]),
    ok = traced_calls(N1, N2, Node2, 50),
    {ok, _} = inviso(N1, get_status, []),
    stopped(N1),
    50 = length(told(N2)),
    #{produced := 50, delivered := 50, dropped := 0} = counts(Node2, Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2],
                                        {fun ?PROBE:slow/2, 100000}]),
    ok = traced_calls(N1, N2, Node2, 50),
    stopped(N1),
    #{produced := 50, delivered := 0, dropped := 50,
      lost := #{unhandled := 50}} = counts(Node2, Config),
    50 = length(told(N2)).

%% The handler takes messages out of the mailbox of its process. The events in these messages are
%% counted as lost, and tracing can still be stopped.
a_handler_that_steals(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:steal/2, 0}]),
    ok = traced_calls(N1, N2, Node2, 100),
    stopped(N1),
    #{produced := 100, delivered := D, dropped := L, waiting := 0} =
        counts(Node2, Config),
    100 = D + L,
    true = L > 0.

a_handler_that_is_not_there(Config) ->
    {N1, _, _, Node2} = nodes_of(Config),
    {ok, [{Node2, {error, {bad_handler, {?MODULE, nofile}}}}]} =
        inviso(N1, init_tracing, [[Node2], {fun ?MODULE:no_such/2, 0}]),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, [[Node2]]).

%% A delivery consists of two processes, the receiver and the keeper. The test kills the receiver,
%% and then, in a second delivery, the keeper.
a_receiver_that_is_killed(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Handler = {fun ?PROBE:tell/2, 0},
    _ = [begin
             {ok, _} = inviso(N1, init_tracing, [[Node2], Handler]),
             ok = traced_calls(N1, N2, Node2, 10),
             true = call(N2, erlang, exit, [Victim(N2), kill]),
             wait_until(fun() -> inviso(N1, get_status, [[Node2]]) =:=
                                     {ok, [{Node2, {ok, {idle, running}}}]}
                        end),
             [{port_down, Node2, Reason}] =
                 [E || {port_down, _, _} = E <- events(Config)]
                 -- [{port_down, Node2, R} || R <- Before],
             ok = call(N2, ?PROBE, work, [1, 10])
         end || {Victim, Reason, Before} <-
                    [{fun receiver/1, {receiver, killed}, []},
                     {fun keeper/1, {tracer_died, killed},
                      [{receiver, killed}]}]],
    %% After the failure, tracing can be started again.
    {ok, _} = inviso(N1, init_tracing, [[Node2], Handler]),
    stopped(N1).

%% If the runtime component is killed, nothing of inviso stays on the node,
%% whatever the handler does at that moment.
a_runtime_component_that_is_killed(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, [{Node2, ok}]} = inviso(N1, stop_nodes, [[Node2]]),
    wait_until(fun() -> not call(N2, erlang, module_loaded, [inviso_tracer]) end),
    #{modules := [?PROBE]} = Before = inviso_test_lib:footprint(N2),
    _ = [begin
             {ok, [{Node2, {ok, new}}]} =
                 inviso(N1, add_nodes, [[Node2], tag]),
             {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
                 inviso(N1, init_tracing, [[Node2], TD]),
             ok = traced_calls(N1, N2, Node2, 20000),
             Rt = call(N2, erlang, whereis, [inviso_rt]),
             true = call(N2, erlang, exit, [Rt, kill]),
             wait_until(fun() ->
                                inviso_test_lib:left_behind(Before, N2) =:= []
                        end)
         end || TD <- [{fun ?PROBE:slow/2, 100000}, {fun ?PROBE:tell/2, 0},
                       {ip, call(N2, ?PROBE, free_port, [])},
                       {relayer, call(N1, erlang, whereis, [probe])}]],
    ok = call(N2, ?PROBE, work, [1, 10]).

keeper(N) ->
    Rt = call(N, erlang, whereis, [inviso_rt]),
    [Keeper] = [K || {sink, _, #{keeper := K}} <-
                         tuple_to_list(call(N, sys, get_state, [Rt]))],
    Keeper.

receiver(N) ->
    Rt = call(N, erlang, whereis, [inviso_rt]),
    call(N, gen_server, call, [Rt, receiver]).

%% Events are counted as lost if they exceed the limit on copied bytes, or the
%% limit on the size of binaries that an event keeps alive.
events_that_are_too_big(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:tell/2, 0}]),
    {ok, _} = inviso(N1, tpl, [[Node2], ?PROBE, traced, 1, []]),
    {ok, _} = inviso(N1, tf, [[Node2], worker, [call]]),
    Deep = lists:foldl(fun(_, T) -> [T | x] end, [], lists:seq(1, 200)),
    Chain = lists:foldl(fun(_, T) -> {x, T} end, [], lists:seq(1, 1000)),
    Fits = [1 bsl 8000, <<0:800000>>, <<1:3>>, lists:duplicate(1000, a), Chain,
            maps:from_list([{I, I} || I <- lists:seq(1, 100)]),
            fun lists:map/2, make_ref(), 1.5, #{}, {}, []],
    TooBig = [1 bsl 100000, lists:duplicate(100000, a), Deep,
              maps:from_list([{I, I} || I <- lists:seq(1, 100000)])],
    ok = call(N2, ?PROBE, with, [Fits ++ TooBig]),
    ok = call(N2, ?PROBE, with_zeros, [17 * 1024 * 1024]),
    stopped(N1),
    Fits = [T || {_, {trace, _, call, {_, _, [T]}}} <- told(N2)],
    Lost = length(TooBig) + 1,
    #{lost := #{too_big := Lost}} = counts(Node2, Config),
    %% For losses the handler gets {drop, N}. The sum of all N is the number of lost events.
    {drop, N} = lists:foldl(fun({_, {drop, D}}, {drop, Acc}) ->
                                    {drop, D + Acc};
                               (_, Acc) -> Acc
                            end, {drop, 0}, told(N2)),
    N = Lost.

%% The bytes of events that wait for the handler are bounded, so only a few large events fit. Lists
%% count because they are copied, and binaries because events keep them alive.
bytes_that_wait(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    _ = [begin
             ok = call(N2, ?PROBE, close_gate, []),
             {ok, _} = inviso(N1, init_tracing,
                              [[Node2], {fun ?PROBE:gate/2, closed}]),
             {ok, _} = inviso(N1, tpl, [[Node2], ?PROBE, traced, 1, []]),
             {ok, _} = inviso(N1, tf, [[Node2], worker, [call]]),
             ok = call(N2, ?PROBE, with_large, [Kind, 30]),
             %% The credit (permitted bytes of waiting events) was not enough for all large events,
             %% but it is enough for these small events.
             ok = call(N2, ?PROBE, work, [1, 10]),
             ok = call(N2, ?PROBE, open_gate, []),
             stopped(N1),
             #{produced := 40, delivered := Fit, lost := #{full := _}} =
                 counts(Node2, Config)
         end || {Kind, Fit} <- [{list, 17 + 10}, {binary, 16 + 10}]],
    ok.

%% The handler sleeps while thousands of events are made. The receiver's mailbox stays small, so the
%% node's memory hardly grows. Each event is delivered or counted as lost.
a_flood_and_a_handler_that_sleeps(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:slow/2, 5}]),
    {ok, _} = inviso(N1, tpl, [[Node2], ?PROBE, traced, 1, []]),
    {ok, _} = inviso(N1, tf, [[Node2], new, [call]]),
    Receiver = receiver(N2),
    Workers = 8,
    Calls = inviso_test_lib:soak(100000, 1000000),
    Growth = call(N2, ?PROBE, crowd, [Workers, Calls]),
    {message_queue_len, Q} = call(N2, erlang, process_info,
                                  [Receiver, message_queue_len]),
    true = Q =< 10001,
    stopped(N1),
    Total = Workers * Calls,
    #{produced := Total, delivered := D, dropped := L, waiting := 0} =
        counts(Node2, Config),
    Total = D + L,
    ct:pal("~b events, ~b delivered, ~b bytes more", [Total, D, Growth]),
    true = Growth < 32 * 1024 * 1024.

%% Makes events of all kinds in all threads of the VM. So the tracer is called under each lock that
%% the VM may hold during a trace event.
a_flood_of_many_kinds(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:tags/2, #{}}]),
    {ok, _} = inviso(N1, tpl, [[Node2], ?PROBE, '_', '_',
                               [{'_', [], [{exception_trace}]}]]),
    {ok, [{Node2, {ok, [1, _]}}]} =
        inviso(N1, tf, [[Node2],
                        [{worker, [call, return_to, send, 'receive', procs,
                                   running, exiting, garbage_collection,
                                   set_on_spawn, strict_monotonic_timestamp,
                                   scheduler_id]},
                         {new_ports, [ports, send, 'receive', running_ports,
                                      timestamp]}]]),
    ok = call(N2, ?PROBE, everything, [16, 500]),
    {ok, [{Node2, {ok, {tracing, running}}}]} =
        inviso(N1, get_status, [[Node2]]),
    stopped(N1),
    #{produced := P} = counts(Node2, Config),
    true = P > 16 * 500 * 20,
    Missing = [call, return_to, return_from, send, 'receive', spawn, spawned,
               exit, link, unlink, getting_linked, getting_unlinked,
               register, unregister, in, out, open, closed,
               gc_major_start, gc_major_end] -- told(N2),
    [] = Missing.

%% Tests the flags set_on_link, set_on_first_link, arity and silent.
flags_of_links_and_of_calls(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:tell/2, 0}]),
    {ok, [{Node2, {ok, [1]}}]} =
        inviso(N1, tpl, [[Node2], ?PROBE, traced, 1, []]),
    Told = fun(Flags, F, Args) ->
                   Before = length(told(N2)),
                   {ok, [{Node2, {ok, [1]}}]} =
                       inviso(N1, tf, [[Node2], worker, Flags]),
                   ok = call(N2, ?PROBE, F, Args),
                   {ok, [{Node2, {ok, [1]}}]} =
                       inviso(N1, ctf, [[Node2], worker, [all]]),
                   {ok, [{Node2, ok}]} = inviso(N1, flush, [[Node2]]),
                   [{P, What} || {_, {trace, P, call, {?PROBE, traced, What}}}
                                     <- lists:nthtail(Before, told(N2))]
           end,
    W = worker(N2),
    [] = Told([call], linked, [3]),
    [{P1, [1]}] = Told([call, set_on_first_link], linked, [3]),
    [{P2, [1]}, {P3, [2]}, {P4, [3]}] =
        Told([call, set_on_link], linked, [3]),
    false = lists:member(W, [P1, P2, P3, P4]),
    [{W, 1}, {W, 1}] = Told([call, arity], work, [1, 2]),
    [] = Told([call, silent], work, [1, 2]),
    [{W, [1]}, {W, [2]}] = Told([call], work, [1, 2]),
    stopped(N1).

%% The handler gets {drop, N} between the events before and after the loss.
losses_are_reported_in_place(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {fun ?PROBE:gate/2, closed}]),
    ok = traced_calls(N1, N2, Node2, 12000),
    ok = call(N2, ?PROBE, open_gate, []),
    {ok, [{Node2, ok}]} = inviso(N1, flush, [[Node2]]),
    ok = call(N2, ?PROBE, work, [12001, 12010]),
    {ok, [{Node2, ok}]} = inviso(N1, flush, [[Node2]]),
    Told = [case E of
                {drop, N} -> {drop, N};
                {trace, _, call, {_, _, [I]}} -> I
            end || E <- told(N2)],
    Expected = lists:seq(1, 10000) ++ [{drop, 2000}]
        ++ lists:seq(12001, 12010),
    Expected = Told,
    wait_until(fun() -> [] =/= [C || {trace_counts, _, C} <- events(Config)]
               end),
    stopped(N1),
    #{produced := 12010, delivered := 10010, lost := #{full := 2000}} =
        counts(Node2, Config).

%% Tests flush/0,1: when flush returns, all earlier events have been handled.
flush(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, [{Node1, {error, {not_tracing, new}}},
          {Node2, {error, {not_tracing, new}}}]} = inviso(N1, flush, []),
    {ok, _} = inviso(N1, init_tracing,
                     [[{Node1, {file, "a.log"}},
                       {Node2, {fun ?PROBE:slow/2, 2}}]]),
    ok = traced_calls(N1, N2, Node2, 100),
    {ok, [{Node1, ok}, {Node2, ok}]} = inviso(N1, flush, []),
    100 = length(told(N2)),
    {error, {badarg, x}} = inviso(N1, flush, [x]),
    {ok, [{x, {error, not_an_added_node}}]} = inviso(N1, flush, [[x]]),
    stopped(N1),
    {ok, [{Node1, {error, {not_tracing, idle}}}]} =
        inviso(N1, flush, [[Node1]]).

%% Tests `collector', which prints on the device `user' of the node.
collector(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    ok = call(N2, ?PROBE, device, []),
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], collector]),
    {ok, [{Node2, {ok, collector}}]} = inviso(N1, get_tracerdata, [[Node2]]),
    ok = traced_calls(N1, N2, Node2, 2),
    {ok, [{Node2, {ok, no_log}}]} = inviso(N1, list_logs, [[Node2]]),
    stopped(N1),
    W = pid_to_list(worker(N2)),
    Printed = call(N2, ?PROBE, printed, [all]),
    %% The collector prints a pid as the traced node does.
    ["(<0." ++ Rest, "(<0." ++ _, ""] = string:split(Printed, "\n", all),
    {_, " call inviso_data_probe:traced(1)"} =
        lists:splitwith(fun(C) -> C =/= $\s end, Rest),
    true = is_list(W).

%% Tests the line that the collector prints for each kind of event.
lines_of_the_collector(_Config) ->
    P = self(),
    MFA = {m, foo, 1},
    T = pid_to_list(P),
    Ts = {1, 2, 3},
    _ = [{E, Line} = {E, unicode:characters_to_list(inviso_collector:line(E))}
         || {E, Line} <-
                [{{trace, P, call, {m, foo, [3]}},
                  "(" ++ T ++ ") call m:foo(3)"},
                 {{trace_ts, P, call, {m, foo, [3, "a"]}, Ts},
                  "(" ++ T ++ ") call m:foo(3,\"a\")"},
                 {{trace, P, call, {m, bar, [3]}, MFA},
                  "(" ++ T ++ ") call m:bar(3) ({m,foo,1})"},
                 {{trace, P, call, MFA}, "(" ++ T ++ ") call m:foo/1"},
                 {{trace_ts, P, return_from, MFA, 7, Ts},
                  "(" ++ T ++ ") returned from m:foo/1 -> 7"},
                 {{trace, P, return_to, MFA},
                  "(" ++ T ++ ") returning to m:foo/1"},
                 {{trace, P, exception_from, {m, crash, 1}, {error, {bad, 3}}},
                  "(" ++ T ++ ") exception_from {m,crash,1} {error,{bad,3}}"},
                 {{trace, P, send, hello, P},
                  "(" ++ T ++ ") " ++ T ++ " ! hello"},
                 {{trace, P, 'receive', hello}, "(" ++ T ++ ") << hello"},
                 {{trace, P, 'receive', {dbg, ok}}, ""},
                 {{trace, P, spawn, P, {m, proc, []}},
                  "(" ++ T ++ ") spawn " ++ T ++ " as m:proc()"},
                 {{trace, P, register, qname}, "(" ++ T ++ ") register qname"},
                 {{trace, P, in, {m, proc, 0}}, "(" ++ T ++ ") in {m,proc,0}"},
                 {{trace, P, exit, normal}, "(" ++ T ++ ") exit normal"},
                 {{drop, 17}, "*** Dropped 17 messages."},
                 {{seq_trace, 5, {send, {0, 1}, P, P, hello}},
                  "SeqTrace [5]: (" ++ T ++ ") " ++ T
                  ++ " ! hello [Serial: {0,1}]"},
                 {{seq_trace, 5, {'receive', {0, 1}, P, P, hello}, Ts},
                  "SeqTrace {1,2,3} [5]: (" ++ T ++ ") << hello "
                  "[Serial: {0,1}, From: " ++ T ++ "]"},
                 {{seq_trace, 5, {print, {0, 1}, P, [], info}},
                  "SeqTrace [5]: -> info [Serial: {0,1}, From: " ++ T
                  ++ "]"}]],
    ok.

%% --- relays -----------------------------------------------------------------

%% Tests {relayer, Node}: the handler of the runtime component on Node gets the events. It also gets
%% events that arrive before this runtime component has a handler.
a_relay_to_a_node(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, [{Node2, {error, {not_an_added_node, nowhere@nohost}}}]} =
        inviso(N1, init_tracing, [[Node2], {relayer, nowhere@nohost}]),
    {ok, [{Node1, {error, {bad_tracerdata, {relayer, Rt1}}}}]} =
        inviso(N1, init_tracing, [[Node1], {relayer, Node1}]),
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[{Node2, {relayer, Node1}}]]),
    Rt1 = call(N1, erlang, whereis, [inviso_rt]),
    {ok, [{Node2, {ok, {relayer, Rt1}}}]} =
        inviso(N1, get_tracerdata, [[Node2]]),
    ok = traced_calls(N1, N2, Node2, 3),
    {ok, [{Node1, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node1], [{trace, {fun ?PROBE:tell/2, 0}}]]),
    {ok, [{Node2, ok}]} = inviso(N1, flush, [[Node2]]),
    W = worker(N2),
    Expected = [{I - 1, {trace, W, call, {?PROBE, traced, [I]}}}
                || I <- [1, 2, 3]],
    wait_until(fun() -> told(N1) =:= Expected end),
    %% The runtime component on Node1 now writes a log, so it does not handle relayed events. When
    %% it has a handler again, the handler gets relayed events again.
    {ok, _} = inviso(N1, stop_tracing, [[Node1]]),
    {ok, _} = inviso(N1, init_tracing, [[Node1], {file, "a.log"}]),
    {ok, _} = inviso(N1, stop_tracing, [[Node1]]),
    {ok, _} = inviso(N1, init_tracing, [[Node1], {fun ?PROBE:tell/2, 100}]),
    wait_until(fun() ->
                       ok = call(N2, ?PROBE, work, [9, 9]),
                       [] =/= [I || {I, {trace, _, call, {_, _, [9]}}}
                                        <- told(N1), I >= 100]
               end),
    stopped(N1),
    #{waiting := 0, dropped := 0} = counts(Node2, Config).

%% Tests {relayer, Pid}: any process can be the receiver.
a_relay_to_a_process(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Probe = call(N1, erlang, whereis, [probe]),
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], {relayer, Probe}]),
    ok = traced_calls(N1, N2, Node2, 500),
    {ok, [{Node2, ok}]} = inviso(N1, flush, [[Node2]]),
    W = worker(N2),
    Expected = [{trace, W, call, {?PROBE, traced, [I]}}
                || I <- lists:seq(1, 500)],
    wait_until(fun() -> told(N1) =:= Expected end),
    stopped(N1),
    #{produced := 500, delivered := 500} = counts(Node2, Config).

%% The process that receives relayed events does not read its mailbox. The relay sends this process
%% only as many events as the relay's bound allows.
a_relay_to_one_that_does_not_read(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Probe = call(N1, erlang, whereis, [probe]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {relayer, Probe}]),
    ok = traced_calls(N1, N2, Node2, 30000),
    wait_until(fun() -> length(told(N1)) > 1000 end),
    stopped(N1),
    N = length(told(N1)),
    true = N < 2000,
    #{produced := 30000, delivered := N, dropped := Lost, waiting := 0,
      lost := #{full := _, unhandled := _}} = counts(Node2, Config),
    30000 = N + Lost.

%% Tracing ends if the process that receives the relayed events is killed, if it is dead when
%% tracing begins, or if its node dies.
a_relay_whose_end_dies(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Probe = call(N1, erlang, whereis, [probe]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {relayer, Probe}]),
    ok = traced_calls(N1, N2, Node2, 3),
    true = call(N1, erlang, exit, [Probe, kill]),
    Down = {port_down, Node2, {relayer, killed}},
    wait_until(fun() -> lists:member(Down, events(Config)) end),
    {ok, [{Node2, {ok, {idle, running}}}]} = inviso(N1, get_status, [[Node2]]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {relayer, Probe}]),
    Gone = {port_down, Node2, {relayer, noproc}},
    wait_until(fun() -> lists:member(Gone, events(Config)) end),
    N3 = inviso_test_lib:start_node(data3, ?config(dir, Config)),
    ok = inviso_test_lib:connect([N2, N3]),
    Far = inviso_test_lib:spawn_call(N3, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {relayer, Far}]),
    ok = traced_calls(N1, N2, Node2, 3),
    inviso_test_lib:stop_node(N3),
    Lost = {port_down, Node2, {relayer, noconnection}},
    wait_until(fun() -> lists:member(Lost, events(Config)) end).

%% --- ip ---------------------------------------------------------------------

%% Tests {ip, Port}: dbg:trace_client/3 can read the events, and a second client
%% can connect after the first has ended.
an_ip_port(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Port = call(N2, ?PROBE, free_port, []),
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], {ip, Port}]),
    {ok, [{Node2, {ok, {ip, Port}}}]} = inviso(N1, get_tracerdata, [[Node2]]),
    Client = call(N2, ?PROBE, client, [Port]),
    ok = traced_calls(N1, N2, Node2, 20),
    W = worker(N2),
    Expected = fun(To) -> [{client, {trace, W, call, {?PROBE, traced, [I]}}}
                           || I <- lists:seq(1, To)]
               end,
    wait_until(fun() -> told(N2) =:= Expected(20) end),
    true = call(N2, erlang, exit, [Client, kill]),
    Second = call(N2, ?PROBE, client, [Port]),
    wait_until(fun() ->
                       ok = call(N2, ?PROBE, work, [77, 77]),
                       length(told(N2)) > 20
               end),
    true = is_pid(Second),
    stopped(N1),
    wait_until(fun() -> lists:member({client, end_of_trace}, told(N2)) end),
    #{waiting := 0} = counts(Node2, Config).

%% Tests {ip, {Port, QueueSize}}: up to QueueSize events wait for a client. The
%% client also gets the number of dropped events.
an_ip_port_without_a_client(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Port = call(N2, ?PROBE, free_port, []),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {ip, {Port, 10}}]),
    ok = traced_calls(N1, N2, Node2, 1000),
    Client = call(N2, ?PROBE, client, [Port]),
    wait_until(fun() -> length(told(N2)) >= 10 end),
    wait_until(fun() ->
                       [] =/= [N || {client, {drop, N}} <- told(N2)]
               end),
    Told = told(N2),
    true = is_pid(Client),
    Lost = lists:sum([N || {client, {drop, N}} <- Told]),
    Got = length([E || {client, {trace, _, _, _} = E} <- Told]),
    1000 = Got + Lost,
    true = Got >= 10 andalso Got =< 20,
    {client, {trace, _, call, {_, _, [1]}}} = hd(Told),
    stopped(N1),
    #{produced := 1000, delivered := Got} = counts(Node2, Config),
    %% Stopping does not wait for a client to connect.
    {ok, _} = inviso(N1, init_tracing, [[Node2], {ip, {"127.0.0.1", Port}}]),
    ok = call(N2, ?PROBE, work, [1, 100]),
    {ok, _} = inviso(N1, tf, [[Node2], worker, [call]]),
    ok = call(N2, ?PROBE, work, [1, 100]),
    stopped(N1),
    #{produced := 100, delivered := 0, dropped := 100,
      lost := #{unhandled := 50, full := 50}} = counts(Node2, Config).

bad_ip_ports(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    _ = [{Args, {ok, [{Node2, {error, {trace_port_args, [ip, Args]}}}]}} =
             {Args, inviso(N1, init_tracing, [[Node2], {ip, Args}])}
         || Args <- [0, -1, 65536, {1234, 0}, {1234, x}, {x, 1234},
                     {"nonsense", 1234}, {{1, 2}, 1234}, {any, 0},
                     {any, 1234, 0}, {[x], 1234}]],
    {ok, [{Node2, {error, {bad_tracerdata, {ip, x}}}}]} =
        inviso(N1, init_tracing, [[Node2], {ip, x}]),
    Port = call(N2, ?PROBE, free_port, []),
    Listen = inviso_test_lib:spawn_call(N2, ?PROBE, hold, [Port]),
    wait_until(fun() -> call(N2, ?PROBE, is_held, [Port]) end),
    {ok, [{Node2, {error, {open, [{ip, {loopback, Port, 50}}, eaddrinuse]}}}]} =
        inviso(N1, init_tracing, [[Node2], {ip, Port}]),
    true = call(N2, erlang, exit, [Listen, kill]),
    {ok, [{Node2, {error, {open, [{ip, _}, _]}}}]} =
        inviso(N1, init_tracing, [[Node2], {ip, {{192, 0, 2, 1}, Port}}]),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, [[Node2]]).

%% --- logs -------------------------------------------------------------------

list_logs(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, [{Node1, {error, no_tracerdata}}, {Node2, {error, no_tracerdata}}]} =
        inviso(N1, list_logs, []),
    TD = [{trace, {file, "a.log"}}, {ti, {file, "sub/a.ti"}}],
    ok = call(N2, file, make_dir, ["sub"]),
    {ok, _} = inviso(N1, init_tracing, [[{Node2, TD}]]),
    Both = {ok, [{trace_log, ".", ["a.log"]}, {ti_log, "sub", ["a.ti"]}]},
    None = {ok, [{trace_log, ".", []}, {ti_log, "sub", []}]},
    {ok, [{Node1, {error, no_tracerdata}}, {Node2, Both}]} =
        inviso(N1, list_logs, []),
    {ok, [{Node2, Both}]} = inviso(N1, list_logs, [[Node2]]),
    {ok, [{Node1, None}, {Node2, Both}]} =
        inviso(N1, list_logs, [[{Node1, TD}, {Node2, TD}]]),
    %% If tracerdata has no node name, it is for the node of the control component.
    {ok, [{Node1, None}]} = inviso(N1, list_logs, [TD]),
    {ok, [{Node1, {ok, [{trace_log, ".", []}]}}]} =
        inviso(N1, list_logs, [{file, "a.log"}]),
    [{ok, [{Node1, {ok, no_log}}]} = inviso(N1, list_logs, [Without])
     || Without <- [[], collector, {ip, 4711}, {fun ?PROBE:tell/2, 0},
                    [{Node1, collector}], [{Node1, []}]]],
    %% Invalid tracerdata and invalid lists of nodes are errors.
    {ok, [{Node1, {error, badarg}}, {Node2, {error, badarg}}]} =
        inviso(N1, list_logs, [[{Node1, x}, {Node2, {file, 1}}]]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, list_logs, [[nowhere@nohost]]),
    [{error, {badarg, Bad}} = inviso(N1, list_logs, [Bad])
     || Bad <- [x, "a.log", [1], [Node1 | x], {Node1, TD}]],
    ok.

delete_log(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    Dir2 = maps:get(dir, N2),
    {ok, [{Node1, {ok, no_log}}, {Node2, {ok, no_log}}]} =
        inviso(N1, delete_log, []),
    TD = [{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}],
    Make = fun() ->
                   {ok, _} = inviso(N1, init_tracing, [[Node2], TD]),
                   {ok, [{Node2, {error, tracing}}]} =
                       inviso(N1, delete_log, [[Node2]]),
                   stopped(N1)
           end,
    Deleted = {ok, [{trace_log, [{ok, "a.log"}]}, {ti_log, [{ok, "a.ti"}]}]},
    Nothing = {ok, [{trace_log, []}, {ti_log, []}]},
    Make(),
    {ok, [{Node1, {ok, no_log}}, {Node2, Deleted}]} =
        inviso(N1, delete_log, []),
    {ok, [{Node2, Nothing}]} = inviso(N1, delete_log, [[Node2]]),
    Make(),
    {ok, [{Node1, Nothing}, {Node2, Deleted}]} = inviso(N1, delete_log, [TD]),
    Make(),
    {ok, [{Node2, Deleted}]} = inviso(N1, delete_log, [[{Node2, TD}]]),
    Make(),
    {ok, [{Node2, Deleted}]} = inviso(N1, delete_log, [[Node2], TD]),
    Make(),
    {ok, [{Node2, {ok, Listed}}]} = inviso(N1, list_logs, [[Node2]]),
    {ok, [{Node2, Deleted}]} = inviso(N1, delete_log, [[{Node2, Listed}]]),
    Make(),
    %% Files can be named for all nodes, for a list of nodes, or for each node.
    {ok, [{Node1, {ok, [{error, {enoent, "a.log"}}]}},
          {Node2, {ok, [{ok, "a.log"}]}}]} =
        inviso(N1, delete_log, [["a.log"]]),
    {ok, [{Node2, {ok, [{error, {enoent, "no"}}, {ok, "a.ti"}]}}]} =
        inviso(N1, delete_log, [[Node2], ["a.ti", "no"]]),
    {ok, [{Node2, {ok, [{error, {badarg, "a\0b"}},
                        {error, {badarg, [$a | b]}},
                        {error, {eperm, Dir2}}]}}]} =
        inviso(N1, delete_log, [[{Node2, [Dir2, [$a | b], "a\0b"]}]]),
    {ok, [{Node2, {error, badarg}}]} = inviso(N1, delete_log, [[Node2], x]),
    {ok, [{x, {error, not_an_added_node}}]} = inviso(N1, delete_log, [[x]]),
    {ok, []} = inviso(N1, delete_log, [[], TD]),
    {ok, []} = inviso(N1, delete_log, [[]]),
    {error, {badarg, _}} = inviso(N1, delete_log, [x, TD]),
    {error, {badarg, _}} = inviso(N1, delete_log, [["x"], TD]),
    {error, {badarg, _}} = inviso(N1, delete_log, [x]),
    {error, {badarg, _}} = inviso(N1, delete_log, [[1]]).

clear(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    New = {ok, {new, running}},
    {ok, [{Node1, New}, {Node2, New}]} = inviso(N1, clear, []),
    Make = fun() ->
                   {ok, _} = inviso(N1, init_tracing, [[Node2],
                                                       {file, "a.log"}]),
                   ok = traced_calls(N1, N2, Node2, 3)
           end,
    There = fun() -> filelib:is_file(filename:join(maps:get(dir, N2), "a.log"))
            end,
    Patterns = fun() ->
                       {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
                           inviso(N1, init_tracing,
                                  [[Node2], {fun ?PROBE:tell/2, 0}]),
                       {ok, _} = inviso(N1, tf, [[Node2], worker, [call]]),
                       ok = call(N2, ?PROBE, work, [1, 1]),
                       stopped(N1),
                       maps:get(produced, counts(Node2, Config))
               end,
    Make(),
    {ok, [{Node2, New}]} = inviso(N1, clear, [[Node2]]),
    false = There(),
    {ok, [{Node2, {ok, no_tracerdata}}]} = inviso(N1, get_tracerdata,
                                                  [[Node2]]),
    0 = Patterns(),
    Make(),
    {ok, [{Node2, New}]} = inviso(N1, clear, [[Node2], [keep_log_files]]),
    true = There(),
    0 = Patterns(),
    Make(),
    {ok, [{Node2, New}]} = inviso(N1, clear, [[Node2], [keep_trace_patterns]]),
    false = There(),
    1 = Patterns(),
    Make(),
    {ok, [{Node2, New}]} = inviso(N1, clear, [[Node2], [keep_trace_patterns,
                                                        keep_log_files]]),
    true = There(),
    1 = Patterns(),
    %% With a misspelt option nothing is removed.
    Make(),
    {ok, [{Node2, {error, {badarg, keep_log_file}}}]} =
        inviso(N1, clear, [[Node2], [keep_log_file]]),
    {ok, [{Node2, {error, {badarg, x}}}]} = inviso(N1, clear, [[Node2], x]),
    {ok, [{Node2, {ok, {tracing, running}}}]} =
        inviso(N1, get_status, [[Node2]]),
    {error, {badarg, x}} = inviso(N1, clear, [x]),
    {ok, [{Node1, New}, {Node2, New}]} = inviso(N1, clear, []),
    false = There().

fetch_log(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, [{Node1, {error, no_tracerdata}}, {Node2, {error, no_tracerdata}}]} =
        inviso(N1, fetch_log, [".", "p_"]),
    TD = [{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}],
    {ok, _} = inviso(N1, init_tracing, [[{Node2, TD}, {Node1, collector}]]),
    ok = traced_calls(N1, N2, Node2, 30000),
    {ok, [{Node1, {error, tracing}}, {Node2, {error, tracing}}]} =
        inviso(N1, fetch_log, [".", "p_"]),
    stopped(N1),
    Got = fun(Prefix) ->
                  {complete, [{trace_log, [{ok, Prefix ++ "a.log"}]},
                              {ti_log, [{ok, Prefix ++ "a.ti"}]}]}
          end,
    Complete = Got("p_"),
    {ok, [{Node1, {complete, no_log}}, {Node2, Complete}]} =
        inviso(N1, fetch_log, [".", "p_"]),
    true = same(N2, "a.log", N1, "p_a.log"),
    true = same(N2, "a.ti", N1, "p_a.ti"),
    {ok, [{Node2, {ok, Listed}}]} = inviso(N1, list_logs, [[Node2]]),
    Q = Got("q_"),
    _ = [begin
             {ok, [{Node2, Q}]} = inviso(N1, fetch_log, [Specs, ".", "q_"]),
             true = same(N2, "a.log", N1, "q_a.log")
         end || Specs <- [[Node2], [{Node2, TD}], [{Node2, Listed}]]],
    {ok, [{Node2, {complete, [{trace_log, []},
                              {ti_log, [{ok, "ti_a.ti"}]}]}}]} =
        inviso(N1, fetch_log, [[{Node2, [{ti_log, ".", ["a.ti"]}]}], ".",
                               "ti_"]),
    %% A file that the request lists must exist, and so must the local directory. A file that
    %% tracerdata names may be missing.
    {ok, [{Node2, {complete, [{trace_log, []}, {ti_log, []}]}}]} =
        inviso(N1, fetch_log, [[{Node2, {file, "no.log"}}], ".", "p_"]),
    {ok, [{Node2, {incomplete,
                   [{trace_log, [{error, {remote_open, "./no.log"}}]},
                    {ti_log, []}]}}]} =
        inviso(N1, fetch_log, [[{Node2, [{trace_log, ".",
                                          ["no.log", "a.log"]}]}], ".", "p_"]),
    {ok, [{Node2, {incomplete,
                   [{trace_log, [{error, {file_open, {enoent, "p_a.log"}}}]},
                    {ti_log, [{error, {file_open, {enoent, "p_a.ti"}}}]}]}}]} =
        inviso(N1, fetch_log, [[Node2], "no/such/dir", "p_"]),
    %% The control component's own node, an unknown node and invalid tracerdata
    %% are errors.
    {ok, [{Node1, {error, own_node}}, {nowhere@nohost,
                                       {error, not_an_added_node}},
          {Node2, {error, badarg}}]} =
        inviso(N1, fetch_log, [[{Node1, TD}, nowhere@nohost, {Node2, x}], ".",
                               "p_"]),
    [{ok, [{Node2, {error, badarg}}]} =
         inviso(N1, fetch_log, [[{Node2, Bad}], ".", "p_"])
     || Bad <- [[{trace_log, ".", x}], [{trace_log, 1, []}],
                [{trace_log, ".", ["a", b]}], [{trace_log, ".", []}, x],
                [{trace_log, ".", ["a" | b]}], [{trace_log, ".", []} | x]]],
    [{error, {badarg, Bad}} = inviso(N1, fetch_log, Args)
     || {Args, Bad} <- [{[x, "p_"], x}, {[".", 1], 1}, {["a\0b", "p_"], "a\0b"},
                        {[1, ".", "p_"], 1}, {[[1], ".", "p_"], [1]},
                        {["", "p_"], ""}, {[".", ["p", x]], ["p", x]},
                        {[".", [16#110000]], [16#110000]}]],
    ok.

%% Tests fetch_log/3,4 with a node to fetch to.
fetch_log_to_another_node(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[{Node1, {file, "a.log"}},
                                         {Node2, {file, "b.log"}}]]),
    stopped(N1),
    Got = fun(Name) ->
                  {complete, [{trace_log, [{ok, Name}]}, {ti_log, []}]}
          end,
    A = Got("p_a.log"),
    B = Got("p_b.log"),
    {ok, [{Node1, A}, {Node2, B}]} = inviso(N1, fetch_log, [Node2, ".", "p_"]),
    true = same(N1, "a.log", N2, "p_a.log"),
    true = same(N2, "b.log", N2, "p_b.log"),
    [] = call(N1, filelib, wildcard, ["p_*"]),
    Q = Got("q_a.log"),
    {ok, [{Node1, Q}]} = inviso(N1, fetch_log, [Node2, [Node1], ".", "q_"]),
    true = same(N1, "a.log", N2, "q_a.log"),
    {ok, [{Node2, {error, own_node}}, {Node1, A}]} =
        inviso(N1, fetch_log, [Node2, [{Node2, {file, "b.log"}},
                                       {Node1, {file, "a.log"}}], ".", "p_"]),
    {error, nodedown} = inviso(N1, fetch_log, [nowhere@nohost, ".", "p_"]),
    N3 = inviso_test_lib:start_stock_node(data3, ?config(dir, Config)),
    #{name := Node3} = N3,
    ok = inviso_test_lib:connect([N1, N3]),
    {error, {not_an_added_node, Node3}} =
        inviso(N1, fetch_log, [Node3, ".", "p_"]),
    inviso_test_lib:stop_node(N3).

%% An interrupted transfer is reported. The next call continues where the
%% transfer stopped.
a_fetch_that_continues(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    Here = filename:join(maps:get(dir, N1), "p_big.log"),
    Big = endless(N2),
    Spec = [{Node2, [{trace_log, ".", ["big.log"]}]}],
    Self = self(),
    _ = spawn_link(fun() ->
                           Self ! {fetched, inviso(N1, fetch_log,
                                                   [Spec, ".", "p_"])}
                   end),
    wait_until(fun() -> filelib:file_size(Here) > 0 end, 60000),
    {ok, [{Node2, ok}]} = inviso(N1, suspend, [[Node2], stop_it]),
    {ok, [{Node2, {incomplete,
                   [{trace_log, [{error, {truncated, "p_big.log"}}]},
                    {ti_log, []}]}}]} =
        receive {fetched, Answer} -> Answer end,
    {ok, _} = inviso(N1, cancel_suspension, [[Node2]]),
    true = filelib:file_size(Here) > 0,
    %% A finite file replaces the endless one. The local copy has the first bytes of the new file,
    %% so the fetch can continue and complete the copy.
    Bytes = << <<I:32>> || I <- lists:seq(1, 500000) >>,
    ok = file:write_file(Big, Bytes),
    ok = file:write_file(Here, binary:part(Bytes, 0, 1234567)),
    %% The second link keeps the old inode in use. So if the fetch made a new file, it would have
    %% another inode number.
    ok = file:make_link(Here, Here ++ ".begun"),
    Inode = inode(Here),
    Whole = {ok, [{Node2, {complete, [{trace_log, [{ok, "p_big.log"}]},
                                      {ti_log, []}]}}]},
    Whole = inviso(N1, fetch_log, [Spec, ".", "p_"]),
    true = same(N2, "big.log", N1, "p_big.log"),
    Inode = inode(Here),
    Whole = inviso(N1, fetch_log, [Spec, ".", "p_"]),
    true = same(N2, "big.log", N1, "p_big.log"),
    Inode = inode(Here),
    %% A local file with other contents is replaced, and so is anything that is
    %% not a file.
    ok = file:write_file(Here, "something else"),
    Whole = inviso(N1, fetch_log, [Spec, ".", "p_"]),
    true = same(N2, "big.log", N1, "p_big.log"),
    ok = file:write_file(Big, "shorter"),
    Whole = inviso(N1, fetch_log, [Spec, ".", "p_"]),
    true = same(N2, "big.log", N1, "p_big.log"),
    Elsewhere = Here ++ ".elsewhere",
    ok = file:write_file(Elsewhere, "short"),
    ok = file:delete(Here),
    ok = file:make_symlink(Elsewhere, Here),
    Whole = inviso(N1, fetch_log, [Spec, ".", "p_"]),
    {ok, <<"short">>} = file:read_file(Elsewhere).

%% If a node dies during the transfer, its entry in the result is an error, and
%% the entries of other nodes are complete.
a_fetch_from_a_node_that_dies(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, init_tracing, [[Node1], {file, "a.log"}]),
    stopped(N1),
    _ = endless(N2),
    Self = self(),
    Spec = [{Node2, [{trace_log, ".", ["big.log"]},
                     {ti_log, ".", ["no.ti"]}]}, Node1],
    Only = [{Node2, [{trace_log, ".", ["big.log"]}]}, Node1],
    {ok, [{Node2, {incomplete, [{trace_log, []},
                                {ti_log, [{error, {remote_open, _}}]}]}},
          {Node1, {complete, _}}]} = inviso(N1, fetch_log, [Spec, ".", "q_"]),
    _ = spawn_link(fun() ->
                           Self ! {fetched, inviso(N1, fetch_log,
                                                   [Only, ".", "p_"])}
                   end),
    Here = filename:join(maps:get(dir, N1), "p_big.log"),
    wait_until(fun() -> filelib:file_size(Here) > 0 end, 60000),
    inviso_test_lib:stop_node(N2),
    {ok, [{Node2, {incomplete,
                   [{trace_log, [{error, {truncated, "p_big.log"}}]},
                    {ti_log, []}]}},
          {Node1, {complete, [{trace_log, [{ok, "p_a.log"}]},
                              {ti_log, []}]}}]} =
        receive {fetched, Answer} -> Answer end,
    true = filelib:file_size(Here) > 0.

%% If a node dies during init_tracing, its entry in the result is an error, and
%% the entries of other nodes are not affected.
init_tracing_and_a_node_that_dies(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    Rt = call(N2, erlang, whereis, [inviso_rt]),
    ok = call(N2, sys, suspend, [Rt]),
    Self = self(),
    _ = spawn_link(fun() ->
                           Self ! {init, inviso(N1, init_tracing, [collector])}
                   end),
    wait_until(fun() -> {message_queue_len, 1} =:=
                            call(N2, erlang, process_info,
                                 [Rt, message_queue_len])
               end),
    inviso_test_lib:stop_node(N2),
    {ok, [{Node1, {ok, [{trace_log, ok}]}},
          {Node2, {error, {no_response, noconnection}}}]} =
        receive {init, Answer} -> Answer end,
    {ok, [{Node1, {ok, idle}}]} = inviso(N1, stop_tracing, []).

%% If the process that fetches dies, its partial file is removed.
a_caller_that_dies(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    _ = endless(N2),
    Spec = [{Node2, [{trace_log, ".", ["big.log"]}]}],
    Caller = inviso_test_lib:spawn_call(N1, inviso, fetch_log,
                                        [Spec, ".", "p_"]),
    Here = filename:join(maps:get(dir, N1), "p_big.log"),
    wait_until(fun() -> filelib:file_size(Here) > 0 end, 60000),
    true = call(N1, erlang, exit, [Caller, kill]),
    wait_until(fun() -> not filelib:is_file(Here) end, 60000).

%% On a node without distribution the functions need no node name, and their
%% results contain none.
a_system_without_distribution(Config) ->
    [N] = ?config(nodes, Config),
    Sub = inviso_test_lib:spawn_call(N, timer, sleep, [infinity]),
    {ok, _} = inviso(N, start, [[{subscribe, Sub}]]),
    {ok, new} = inviso(N, add_node, [tag]),
    {ok, [{trace_log, ok}]} = inviso(N, init_tracing, [{fun ?PROBE:tell/2, 0}]),
    {ok, [1]} = inviso(N, tpl, [?PROBE, traced, 1, []]),
    {ok, [1]} = inviso(N, tf, [worker, [call]]),
    ok = call(N, ?PROBE, work, [1, 3]),
    ok = inviso(N, flush, []),
    [{0, _}, {1, _}, {2, _}] = told(N),
    {ok, no_log} = inviso(N, list_logs, []),
    {ok, idle} = inviso(N, stop_tracing, []),
    [#{produced := 3, delivered := 3}] =
        [C || {inviso_event, _, _, {trace_counts, local_runtime, C}}
                  <- ?CONTROL:told(N, Sub)],
    {ok, [{trace_log, ok}]} = inviso(N, init_tracing, [{file, "a.log"}]),
    {error, tracing} = inviso(N, delete_log, []),
    {ok, idle} = inviso(N, stop_tracing, []),
    {ok, [{trace_log, ".", ["a.log"]}]} = inviso(N, list_logs, []),
    {error, not_distributed} = inviso(N, fetch_log, [".", "p_"]),
    {ok, [{trace_log, [{ok, "a.log"}]}]} = inviso(N, delete_log, []),
    {ok, [{error, {enoent, "a.log"}}]} = inviso(N, delete_log, [["a.log"]]),
    {ok, {new, running}} = inviso(N, clear, []),
    ok = inviso(N, stop_all, []).

%% --- helpers ----------------------------------------------------------------

inviso(N, F, Args) -> call(N, inviso, F, Args).

nodes_of(Config) ->
    [#{name := Name1} = N1, #{name := Name2} = N2] = ?config(nodes, Config),
    {N1, Name1, N2, Name2}.

told(N) -> ?CONTROL:told(N).

%% Returns the events that the subscriber has got, without node and time.
events(Config) ->
    [N1 | _] = ?config(nodes, Config),
    Sub = ?config(subscriber, Config),
    [E || {inviso_event, _, _, E} <- ?CONTROL:told(N1, Sub)].

%% Returns the numbers of events that a node reported last. Checks that they add up.
counts(Node, Config) ->
    #{produced := P, delivered := D, dropped := L, waiting := W, lost := Lost}
        = Counts = lists:last([C || {trace_counts, N, C} <- events(Config),
                                    N =:= Node]),
    {P, L} = {D + L + W, lists:sum(maps:values(Lost))},
    Counts.

worker(N) -> call(N, erlang, whereis, [worker]).

%% Traces the worker, which then calls the traced function Calls times.
traced_calls(N1, N2, Node2, Calls) ->
    {ok, [{Node2, {ok, [1]}}]} =
        inviso(N1, tpl, [[Node2], ?PROBE, traced, 1, []]),
    {ok, [{Node2, {ok, [1]}}]} = inviso(N1, tf, [[Node2], worker, [call]]),
    call(N2, ?PROBE, work, [1, Calls]).

stopped(N1) ->
    {ok, _} = inviso(N1, stop_tracing, []).

same(NA, A, NB, B) ->
    file:read_file(filename:join(maps:get(dir, NA), A))
        =:= file:read_file(filename:join(maps:get(dir, NB), B)).

%% Makes a log whose transfer takes longer than any test.
endless(N) ->
    Big = filename:join(maps:get(dir, N), "big.log"),
    {ok, Fd} = file:open(Big, [write, raw]),
    {ok, _} = file:position(Fd, 1 bsl 36),
    ok = file:truncate(Fd),
    ok = file:close(Fd),
    Big.

inode(Path) ->
    {ok, Info} = file:read_file_info(Path),
    element(12, Info).
