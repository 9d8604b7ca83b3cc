%% SPDX-License-Identifier: Apache-2.0
%% The control component and its nodes: each function with its results and
%% errors, and every transition of state and status with its event. The function
%% names are those in the manual of the original Inviso.
-module(inviso_control_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([start_and_stop/1,
         add_node_and_stop_nodes/1,
         add_nodes_if_ref/1,
         a_lost_control_component/1,
         change_options/1,
         subscribe_and_unsubscribe/1,
         state_and_status_with_their_events/1,
         what_works_while_suspended/1,
         suspend_and_cancel_suspension/1,
         suspend_ends_a_fetch/1,
         get_tracerdata/1,
         state/1,
         a_runtime_component_that_dies/1,
         a_tracer_that_dies/1,
         trace_sessions_that_are_killed/1,
         requests_of_many_nodes/1,
         options_of_patterns/1,
         counters/1,
         what_cannot_be_counted/1, what_the_engine_cannot_do_is_refused/1,
         labels_that_crash_a_vm_are_refused/1,
         a_system_without_distribution/1,
         a_control_component_that_is_ending/1,
         overload_check_by_time/1,
         overload_check_by_message_and_exit/1,
         overload_init_and_remove/1,
         overload_checks_that_are_there/1,
         overload_callbacks_that_crash/1,
         overload_callbacks_that_hang/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_control_probe, [told/1, told/2]).

-define(PROBE, inviso_control_probe).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [start_and_stop,
     add_node_and_stop_nodes,
     add_nodes_if_ref,
     a_lost_control_component,
     change_options,
     subscribe_and_unsubscribe,
     state_and_status_with_their_events,
     what_works_while_suspended,
     suspend_and_cancel_suspension,
     suspend_ends_a_fetch,
     get_tracerdata,
     state,
     a_runtime_component_that_dies,
     a_tracer_that_dies,
     trace_sessions_that_are_killed,
     requests_of_many_nodes,
     options_of_patterns,
     counters,
     what_cannot_be_counted,
     what_the_engine_cannot_do_is_refused,
     labels_that_crash_a_vm_are_refused,
     a_system_without_distribution,
     a_control_component_that_is_ending,
     overload_check_by_time,
     overload_check_by_message_and_exit,
     overload_init_and_remove,
     overload_checks_that_are_there,
     overload_callbacks_that_crash,
     overload_callbacks_that_hang].

init_per_testcase(Case, Config) when Case =:= a_system_without_distribution;
                                     Case =:= a_control_component_that_is_ending ->
    N = inviso_test_lib:start_alone(dir(Case, Config)),
    [{nodes, [N]} | Config];
init_per_testcase(Case, Config) ->
    Dir = dir(Case, Config),
    N1 = inviso_test_lib:shared_node(control1, Dir),
    case lists:member(Case, of_one_node()) of
        true ->
            [{nodes, [N1]} | Config];
        false ->
            N2 = inviso_test_lib:start_stock_node(control2, Dir),
            ok = inviso_test_lib:connect([N1, N2]),
            [{nodes, [N1, N2]} | Config]
    end.

%% The cases that need only the node with the control component.
of_one_node() ->
    [start_and_stop, state_and_status_with_their_events, what_works_while_suspended,
     a_tracer_that_dies, trace_sessions_that_are_killed, options_of_patterns,
     what_cannot_be_counted, what_the_engine_cannot_do_is_refused,
     labels_that_crash_a_vm_are_refused, overload_check_by_time,
     overload_check_by_message_and_exit, overload_init_and_remove,
     overload_checks_that_are_there, overload_callbacks_that_crash,
     overload_callbacks_that_hang].

dir(Case, Config) ->
    filename:join(?config(priv_dir, Config), atom_to_list(Case)).

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || N <- ?config(nodes, Config)],
    ok.

%% --- nodes ------------------------------------------------------------------

%% Tests start/0,1 and stop/0. Without a control component all other functions
%% fail.
start_and_stop(Config) ->
    {N1, Node1} = node_of(Config),
    shutdown = inviso(N1, stop, []),
    {ok, C} = inviso(N1, start, []),
    {error, {already_started, C}} = inviso(N1, start, [[]]),
    {links, []} = call(N1, erlang, process_info, [C, links]),
    shutdown = inviso(N1, stop, []),
    [{error, {error, {unknown_option, O}}} = inviso(N1, start, [[O]])
     || O <- [x, {y, 1}, {subscribe, x}, {unsubscribe, x}, {dependency, -1},
              {dependency, 1 bsl 32}, {dependency, {1, "node"}}, {overload, 0},
              {overload, {x, 1}}]],
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, start, [[{subscribe, Sub}, {unsubscribe, Sub},
                                  {dependency, {infinity, Node1}}, overload]]),
    shutdown = inviso(N1, stop, []),
    [{noproc, {gen_server, call, _}} = exits(N1, F, Args)
     || {F, Args} <- [{add_node, [tag]}, {stop_nodes, []}, {stop_all, []},
                      {subscribe, []}, {unsubscribe, []}, {get_status, []},
                      {change_options, [[]]}, {suspend, [x]},
                      {cancel_suspension, []}, {get_tracerdata, []}]].

%% Tests add_node/1,2, add_nodes/2,3, stop_nodes/0,1 and stop_all/0.
add_node_and_stop_nodes(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, []} = inviso(N1, stop_nodes, []),
    {ok, []} = inviso(N1, get_status, []),
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node, [tag]),
    {ok, [{Node1, {ok, already_added}}]} = inviso(N1, add_node, [tag, []]),
    {ok, [{nowhere@nohost, {error, nodedown}}, {Node2, {ok, new}},
          {Node1, {ok, already_added}}, {Node2, {ok, already_added}}]} =
        inviso(N1, add_nodes, [[nowhere@nohost, Node2, Node1, Node2], tag]),
    {ok, [{Node1, _}, {Node2, _}]} = inviso(N1, get_status, []),
    [{error, {badarg, Bad}} = inviso(N1, add_nodes, [Bad, tag])
     || Bad <- [Node1, ["node"], [Node1 | x]]],
    {error, {badarg, x}} = inviso(N1, add_nodes, [[Node1], tag, x]),
    {error, {unknown_option, {subscribe, _}}} =
        inviso(N1, add_nodes, [[Node1], tag, [{subscribe, self()}]]),
    {error, {badarg, Node1}} = inviso(N1, stop_nodes, [Node1]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}, {Node1, ok}]} =
        inviso(N1, stop_nodes, [[Node1, nowhere@nohost]]),
    {ok, [{Node2, _}]} = inviso(N1, get_status, []),
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node, [tag, [{dependency, 1}]]),
    {ok, [{Node1, ok}, {Node2, ok}]} = inviso(N1, stop_all, []),
    undefined = call(N1, erlang, whereis, [inviso_c]),
    wait_until(fun() -> not call(N2, erlang, module_loaded, [inviso_rt]) end).

%% Tests add_node_if_ref/1,2 and add_nodes_if_ref/2,3, which adopt a runtime
%% component only if it was started with the same tag.
add_nodes_if_ref(Config) ->
    {N1, Node1, _, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node_if_ref, [first]),
    {ok, [{Node2, {ok, new}}]} =
        inviso(N1, add_nodes_if_ref, [[Node2], {second, 2}, []]),
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], {file, "a.log"}]),
    {ok, _} = inviso(N1, suspend, [[Node2], why]),
    shutdown = inviso(N1, stop, []),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node2, {error, {wrong_reference, {second, 2}}}}]} =
        inviso(N1, add_nodes_if_ref, [[Node2], other]),
    {ok, [{Node1, {error, {wrong_reference, first}}}]} =
        inviso(N1, add_node_if_ref, [other, []]),
    {ok, []} = inviso(N1, get_status, []),
    {ok, [{Node1, {ok, {adopted, new, running, first}}},
          {Node2, {error, {wrong_reference, {second, 2}}}}]} =
        inviso(N1, add_nodes_if_ref, [[Node1, Node2], first]),
    {ok, [{Node2, {ok, {adopted, tracing, {suspended, why}, {second, 2}}}}]} =
        inviso(N1, add_nodes_if_ref, [[Node2], {second, 2}]),
    shutdown = inviso(N1, stop, []),
    %% add_node adopts a runtime component with any tag, and replaces the tag.
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node1, {ok, {adopted, new, running, first}}}]} =
        inviso(N1, add_node, [third]),
    shutdown = inviso(N1, stop, []),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node1, {ok, {adopted, new, running, third}}}]} =
        inviso(N1, add_node_if_ref, [third]),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, _} = inviso(N1, stop_all, []).

%% A control component cannot adopt a runtime component that has another control
%% component. A runtime component that has lost its control component can be
%% adopted, and keeps its option `dependency'.
a_lost_control_component(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, C} = inviso(N1, start, [[{dependency, 10000}]]),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    N3 = inviso_test_lib:start_node(control3, dir(third, Config)),
    ok = inviso_test_lib:connect([N3, N2]),
    {ok, _} = inviso(N3, start, []),
    {ok, [{Node2, {error, refused}}]} =
        inviso(N3, add_nodes, [[Node2], tag, [{dependency, 100000}]]),
    {ok, [{Node2, {error, refused}}]} =
        inviso(N3, add_nodes_if_ref, [[Node2], other]),
    true = call(N1, erlang, exit, [C, kill]),
    wait_until(fun() ->
                       {ok, [{Node2, R}]} =
                           inviso(N3, add_nodes, [[Node2], tag,
                                                  [{dependency, 100000}]]),
                       R =:= {ok, {adopted, new, running, tag}}
               end),
    shutdown = inviso(N3, stop, []),
    wait_until(fun() -> call(N2, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    inviso_test_lib:stop_node(N3).

change_options(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, C} = inviso(N1, start, []),
    {ok, []} = inviso(N1, change_options, [[{dependency, 0}]]),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag]),
    {ok, [{Node1, ok}, {Node2, ok}]} =
        inviso(N1, change_options, [[{dependency, infinity}]]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}, {Node2, ok}]} =
        inviso(N1, change_options, [[nowhere@nohost, Node2],
                                    [{dependency, {0, node()}}]]),
    [{error, {unknown_option, O}} = inviso(N1, change_options, [[O]])
     || O <- [x, {dependency, x}, {overload, x}, {overload, {{a, b}, 1, c, d}},
              {overload, {{a, b}, 1, void, {a, b}}}, {overload, -1}]],
    {error, {badarg, x}} = inviso(N1, change_options, [x]),
    {error, {badarg, x}} = inviso(N1, change_options, [x, []]),
    true = call(N1, erlang, exit, [C, kill]),
    wait_until(fun() -> call(N2, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    true = is_pid(call(N1, erlang, whereis, [inviso_rt])).

%% --- events -----------------------------------------------------------------

subscribe_and_unsubscribe(Config) ->
    {N1, Node1, _, Node2} = nodes_of(Config),
    {ok, C} = inviso(N1, start, []),
    %% The calling process on the node subscribes, and ends when the call
    %% returns.
    ok = inviso(N1, subscribe, []),
    ok = inviso(N1, unsubscribe, []),
    {error, {badarg, x}} = inviso(N1, subscribe, [x]),
    ok = inviso(N1, unsubscribe, [x]),
    Once = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    Twice = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    Dead = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    [ok = inviso(N1, subscribe, [P])
     || P <- [Once, Twice, Twice, Dead, Twice]],
    ok = inviso(N1, unsubscribe, [Twice]),
    true = call(N1, erlang, exit, [Dead, kill]),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], {my, tag}]),
    One = {connected, Node1, {{my, tag}, {new, running}}},
    Two = {connected, Node2, {{my, tag}, {new, running}}},
    [One, Two] = events(N1, Once),
    [One, One, Two, Two] = events(N1, Twice),
    [{inviso_event, C, {{_, _, _}, {_, _, _}}, _} | _] = told(N1, Once),
    ok = inviso(N1, unsubscribe, [Twice]),
    {ok, _} = inviso(N1, stop_nodes, [[Node2]]),
    Gone = {disconnected, Node2, void},
    [One, Two, Gone] = events(N1, Once),
    [One, One, Two, Two, Gone] = events(N1, Twice),
    ok = inviso(N1, unsubscribe, [Twice]),
    {ok, _} = inviso(N1, stop_all, []),
    [One, Two, Gone, {disconnected, Node1, void}] = events(N1, Once),
    [One, One, Two, Two, Gone] = events(N1, Twice).

%% Each step is a call with its result, the status after the call, and the
%% events that subscribers get.
state_and_status_with_their_events(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    ok = inviso(N1, subscribe, [Sub]),
    TD = {file, "a.log"},
    BadTi = [{trace, {file, "a.log"}}, {ti, {file, "no/such/dir/a.ti"}}],
    Pattern = [{lists, seq, 2, []}],
    R = {suspended, r},
    Log = {ok, [{trace_log, ok}]},
    Steps =
        [{add_node, [tag], {ok, new}, {new, running},
          [{connected, {tag, {new, running}}}]},
         {stop_tracing, [], {ok, new}, {new, running}, []},
         {tp, [Pattern], {ok, [1]}, {new, running}, []},
         {tpl, [[{lists, seq, 2, restart}]],
          {ok, [{error, {bad_trace_args, [{lists, seq, 2, restart}, badarg]}}]},
          {new, running}, []},
         {clear, [], {ok, {new, running}}, {new, running}, []},
         {suspend, [r], ok, {new, R}, [{state_change, {new, R}}]},
         {init_tracing, [TD], {error, suspended}, {new, R}, []},
         {cancel_suspension, [], ok, {new, running},
          [{state_change, {new, running}}]},
         {init_tracing, [TD], Log, {tracing, running},
          [{state_change, {tracing, running}}]},
         {init_tracing, [TD], {error, already_initiated}, {tracing, running},
          []},
         {suspend, [r], ok, {tracing, R}, [{state_change, {tracing, R}}]},
         {suspend, [other], ok, {tracing, R}, []},
         {cancel_suspension, [], ok, {tracing, running},
          [{state_change, {tracing, running}}]},
         {cancel_suspension, [], ok, {tracing, running},
          [{state_change, {tracing, running}}]},
         {stop_tracing, [], {ok, idle}, {idle, running},
          [{state_change, {idle, running}}]},
         {stop_tracing, [], {ok, idle}, {idle, running}, []},
         {tpl, [Pattern], {ok, [1]}, {idle, running}, []},
         {init_tracing, [TD], Log, {tracing, running},
          [{state_change, {tracing, running}}]},
         {suspend, [r], ok, {tracing, R}, [{state_change, {tracing, R}}]},
         {stop_tracing, [], {ok, idle}, {idle, R},
          [{state_change, {idle, R}}]},
         {clear, [], {ok, {new, R}}, {new, R}, [{state_change, {new, R}}]},
         {cancel_suspension, [], ok, {new, running},
          [{state_change, {new, running}}]},
         {init_tracing, [BadTi],
          {ok, [{trace_log, ok},
                {ti_log, {error, {open, [filename:join(dir_of(N1),
                                                       "no/such/dir/a.ti"),
                                         enoent]}}}]},
          {tracing, running}, [{state_change, {tracing, running}}]},
         {clear, [], {ok, {new, running}}, {new, running},
          [{state_change, {new, running}}]}],
    _ = lists:foldl(
          fun({F, Args, Answer, Status, Events}, Seen) ->
                  {ok, [{Node1, Got}]} = inviso(N1, F, Args),
                  {F, Args, Answer} = {F, Args, Got},
                  {ok, [{Node1, {ok, Status}}]} = inviso(N1, get_status, []),
                  All = Seen ++ [{What, Node1, X} || {What, X} <- Events],
                  {F, Args, All} = {F, Args, events(N1, Sub)},
                  All
          end, [], Steps),
    {ok, _} = inviso(N1, stop_all, []).

what_works_while_suspended(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    {ok, [{Node1, ok}]} = inviso(N1, suspend, [why]),
    P = {lists, seq, 2},
    Refused = [{tp, [[]]}, {tpl, [lists, seq, 2, []]}, {ctp, [[P]]},
               {ctpl, [[P]]}, {tf, [all, [call]]}, {tpm_localnames, []},
               {ctpm_localnames, []}, {init_tracing, [{file, "b"}]}],
    _ = [{F, {ok, [{Node1, {error, suspended}}]}} = {F, inviso(N1, F, Args)}
         || {F, Args} <- Refused],
    {ok, [{Node1, {ok, [N]}}]} = inviso(N1, ctf, [all, [call]]),
    true = is_integer(N),
    {ok, [{Node1, ok}]} = inviso(N1, ctf_all, []),
    {ok, [{Node1, ok}]} = inviso(N1, ctp_all, []),
    {ok, [{Node1, ok}]} = inviso(N1, flush, []),
    {ok, [{Node1, {ok, [_, _]}}]} = inviso(N1, list_logs, []),
    {ok, [{Node1, {ok, idle}}]} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, {complete, _}}]} = inviso(N1, fetch_log, [".", "p_"]),
    {ok, [{Node1, {ok, {new, {suspended, why}}}}]} = inviso(N1, clear, []),
    {ok, _} = inviso(N1, stop_all, []).

%% Tests suspend/1,2 and cancel_suspension/0,1. Suspending a node clears its trace flags and meta
%% patterns. Other patterns and the logs stay.
suspend_and_cancel_suspension(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, []} = inviso(N1, suspend, [x]),
    {ok, []} = inviso(N1, cancel_suspension, []),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag]),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    {ok, _} = inviso(N1, tpm_localnames, []),
    {ok, _} = inviso(N1, tpl, [ordsets, union, 2, []]),
    {ok, _} = inviso(N1, tf, [all, [call]]),
    _ = call(N2, ordsets, union, [[], []]),
    {error, {badarg, x}} = inviso(N1, suspend, [x, why]),
    {error, {badarg, x}} = inviso(N1, cancel_suspension, [x]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}, {Node2, ok}]} =
        inviso(N1, suspend, [[nowhere@nohost, Node2], why]),
    {ok, [{Node1, {ok, {tracing, running}}},
          {Node2, {ok, {tracing, {suspended, why}}}}]} =
        inviso(N1, get_status, []),
    _ = call(N2, ordsets, union, [[], [1]]),
    {ok, [{Node2, ok}]} = inviso(N1, cancel_suspension, [[Node2]]),
    %% The node traces again, but the suspension has cleared its flags and meta patterns, so they
    %% must be set again.
    _ = call(N2, ordsets, union, [[], [2]]),
    {ok, [{Node2, {{ok, 1}, {ok, 1}}}]} = inviso(N1, tpm_localnames, [[Node2]]),
    {ok, _} = inviso(N1, tf, [[Node2], all, [call]]),
    _ = call(N2, ordsets, union, [[], [3]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    Lines = merged(N1, Config, filename:join(dir_of(N2), "a.log")),
    ["[[],[]]", "[[],[3]]"] = [args(L) || L <- Lines],
    {ok, [{Node1, ok}, {Node2, ok}]} = inviso(N1, suspend, [x]),
    {ok, [{Node1, ok}, {Node2, ok}]} = inviso(N1, cancel_suspension, []),
    {ok, _} = inviso(N1, stop_all, []).

%% Suspending a node stops the process that reads its log files; the fetch
%% returns `incomplete'.
suspend_ends_a_fetch(Config) ->
    {N1, _, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    %% A process that reads the named pipe waits forever.
    Pipe = filename:join(dir_of(N2), "pipe"),
    "" = os:cmd("mkfifo " ++ Pipe),
    Spec = [{Node2, [{trace_log, dir_of(N2), ["pipe"]}]}],
    Self = self(),
    _ = spawn_link(fun() ->
                           Self ! {fetched, inviso(N1, fetch_log,
                                                   [Spec, ".", "p_"])}
                   end),
    wait_until(fun() -> readers(N2) =/= [] end),
    {ok, [{Node2, ok}]} = inviso(N1, suspend, [why]),
    {ok, [{Node2, {incomplete, [{trace_log, [{error, _}]},
                                {ti_log, []}]}}]} =
        receive {fetched, Result} -> Result end,
    [] = readers(N2),
    {ok, _} = inviso(N1, stop_all, []).

readers(N) ->
    [P || P <- call(N, erlang, processes, []),
          {initial_call, {_, F, 1}} <-
              [call(N, erlang, process_info, [P, initial_call])],
          lists:suffix("reader_init", atom_to_list(F))].

get_tracerdata(Config) ->
    {N1, Node1, _, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag]),
    {ok, [{Node1, {ok, no_tracerdata}}, {Node2, {ok, no_tracerdata}}]} =
        inviso(N1, get_tracerdata, []),
    TD = [{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}],
    {ok, _} = inviso(N1, init_tracing, [[Node1], TD]),
    {ok, [{Node1, {ok, TD}}]} = inviso(N1, get_tracerdata, [[Node1]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, {ok, TD}}, {Node2, {ok, no_tracerdata}}]} =
        inviso(N1, get_tracerdata, []),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, get_tracerdata, [[nowhere@nohost]]),
    {error, {badarg, x}} = inviso(N1, get_tracerdata, [x]),
    {ok, _} = inviso(N1, clear, []),
    {ok, [{Node1, {ok, no_tracerdata}}, _]} = inviso(N1, get_tracerdata, []),
    {ok, _} = inviso(N1, stop_all, []).

%% Tests inviso:state/0,1 and inviso_rt:state/0,1.
state(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    Rt = fun(Args) -> call(N1, inviso_rt, state, Args) end,
    {error, not_started} = Rt([]),
    {error, not_started} = Rt([Node2]),
    {error, nodedown} = Rt([nowhere@nohost]),
    {ok, Ctrl} = inviso(N1, start, []),
    {ok, []} = inviso(N1, state, []),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag, [{dependency, 9}]]),
    New = {ok, #{state => new, status => running, tracerdata => no_tracerdata,
                 control => Ctrl, tag => tag, dependency => 9, patterns => 0,
                 meta_tracer => none, readers => []}},
    {ok, [{Node1, New}, {Node2, New}]} = inviso(N1, state, []),
    New = Rt([]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {file, "a.log"}]),
    {ok, _} = inviso(N1, tpl, [[Node2], lists, seq, 2, []]),
    {ok, _} = inviso(N1, suspend, [[Node2], why]),
    {ok, [{Node2, {ok, #{state := tracing, status := {suspended, why},
                         tracerdata := {file, "a.log"}, patterns := 1}} = Is},
          {nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, state, [[Node2, nowhere@nohost]]),
    Is = Rt([Node2]),
    Is = Rt([call(N2, erlang, whereis, [inviso_rt])]),
    {ok, _} = inviso(N1, stop_all, []).

%% --- failures ---------------------------------------------------------------

a_runtime_component_that_dies(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag]),
    ok = inviso(N1, subscribe, [Sub]),
    %% The control component has monitored the runtime component before it sends this request. So
    %% the monitor knows the reason of the exit, and the event does not have the reason noproc.
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, [[Node2]]),
    true = call(N2, erlang, exit, [call(N2, erlang, whereis, [inviso_rt]),
                                   kill]),
    wait_until(fun() -> events(N1, Sub) =/= [] end),
    [{disconnected, Node2, killed}] = events(N1, Sub),
    {ok, [{Node1, {ok, {new, running}}},
          {Node2, {error, not_an_added_node}}]} =
        inviso(N1, get_status, [[Node1, Node2]]),
    {ok, [{Node2, {ok, new}}]} = inviso(N1, add_nodes, [[Node2], tag]),
    %% The node itself ends, not only the runtime component.
    inviso_test_lib:stop_node(N2),
    wait_until(fun() -> lists:member({disconnected, Node2, noconnection},
                                     events(N1, Sub)) end),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

%% If the tracer dies, subscribers get the event port_down.
a_tracer_that_dies(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    {ok, _} = inviso(N1, tf, [all, [call]]),
    ok = inviso(N1, subscribe, [Sub]),
    true = call(N1, erlang, exit, [keeper(N1), kill]),
    wait_until(fun() -> events(N1, Sub) =:=
                            [{port_down, Node1, {tracer_died, killed}},
                             {state_change, Node1, {idle, running}}]
               end),
    {ok, [{Node1, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [{file, "b.log"}]),
    {ok, _} = inviso(N1, stop_all, []).

%% On OTP 25 and 26 the process inviso_engine_server provides trace sessions. If
%% it is killed, tracing ends, and can be started again.
trace_sessions_that_are_killed(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    {ok, [{Node1, {ok, [1]}}]} = inviso(N1, tpl, [lists, seq, 2, true]),
    ok = inviso(N1, subscribe, [Sub]),
    case call(N1, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            ok;
        Engine ->
            true = call(N1, erlang, exit, [Engine, kill]),
            wait_until(fun() -> events(N1, Sub) =:=
                                    [{port_down, Node1, trace_sessions_killed},
                                     {state_change, Node1, {idle, running}}]
                       end),
            {ok, _} = inviso(N1, init_tracing, [{file, "b.log"}]),
            {ok, _} = inviso(N1, tf, [new, [call]]),
            {traced, local} = call(N1, erlang, trace_info,
                                   [{lists, seq, 2}, traced])
    end,
    {ok, _} = inviso(N1, stop_all, []).

keeper(N) ->
    Rt = call(N, erlang, whereis, [inviso_rt]),
    [Handle] = [H || {log, {inviso_tracer, H}} <- tuple_to_list(
                                             call(N, sys, get_state, [Rt]))],
    call(N, inviso_tracer, nif_keeper, [Handle]).

%% If a node does not answer, its entry in the result is an error; the entries
%% of other nodes are not affected.
requests_of_many_nodes(Config) ->
    {N1, Node1, N2, Node2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2, Node1], tag]),
    Rt = call(N2, erlang, whereis, [inviso_rt]),
    ok = call(N2, sys, suspend, [Rt]),
    Self = self(),
    _ = spawn_link(fun() ->
                           Self ! {answer, inviso(N1, get_status, [])}
                   end),
    wait_until(fun() -> queue(N2, Rt) > 0 end),
    true = call(N2, erlang, exit, [Rt, kill]),
    {ok, [{Node2, {error, {no_response, killed}}},
          {Node1, {ok, {new, running}}}]} =
        receive {answer, Answer} -> Answer end,
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

queue(N, Pid) ->
    {message_queue_len, Length} = call(N, erlang, process_info,
                                       [Pid, message_queue_len]),
    Length.

%% By default a pattern loads its module. The option only_loaded leaves out
%% modules that are not loaded, and no_loadcheck omits the check whether the
%% module can be loaded.
options_of_patterns(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    Set = fun(F, M, Opts) ->
                  {ok, [{Node1, {ok, [R]}}]} =
                      inviso(N1, F, [M, module_info, 1, [], Opts]),
                  R
          end,
    Loaded = fun(M) -> call(N1, erlang, module_loaded, [M]) end,
    [begin
         false = Loaded(M),
         0 = Set(F, M, [only_loaded]),
         0 = Set(F, M, [no_loadcheck]),
         0 = Set(F, M, [only_loaded, no_loadcheck]),
         false = Loaded(M),
         {error, {bad_trace_args, [{M, module_info, 1, []},
                                   {unknown_option, onlyloaded}]}} =
             Set(F, M, [onlyloaded]),
         {error, {bad_trace_args, [_, {unknown_option, {local, x}}]}} =
             Set(F, M, [only_loaded, {local, x}]),
         {error, {bad_trace_args, {M, module_info, 1, [],
                                  only_loaded}}} =
             Set(F, M, only_loaded),
         false = Loaded(M),
         1 = Set(F, M, []),
         true = Loaded(M),
         1 = Set(F, M, [only_loaded]),
         1 = Set(F, M, [no_loadcheck])
     end || {F, M} <- [{tp, pool}, {tpl, win32reg}]],
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

%% Tests tpl with call_count, call_time and call_memory, and counters/0,1,2.
counters(Config) ->
    {N1, Node1, _, Node2} = nodes_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node1, Node2], tag]),
    %% Counters that are set before tracing begins count from the beginning of
    %% tracing.
    Local = {?PROBE, traced_local, 1},
    Other = {?PROBE, other, 2},
    1 = tpl(N1, Local, true, [call_count]),
    Sizes = [call_memory || has_call_memory(N1)],
    1 = tpl(N1, Other, true, [call_time, call_count | Sizes]),
    {ok, [{Node1, {error, {not_tracing, new}}},
          {Node2, {error, {not_tracing, new}}}]} = inviso(N1, counters, []),
    {ok, _} = inviso(N1, init_tracing, [[Node1], {file, "a.log"}]),
    {ok, _} = inviso(N1, tf, [all, [call]]),
    [] = counted(N1),
    _ = [call(N1, ?PROBE, traced, [x]) || _ <- [1, 2, 3]],
    _ = [call(N1, ?PROBE, other, [x, y]) || _ <- [1, 2]],
    [{Local, call_count, 3}, {Other, call_count, 2},
     {Other, call_time, {2, Us}} | Memory] = counted(N1),
    true = Us >= 0,
    Sizes = [K || {M, K, {2, Words}} <- Memory, M =:= Other, Words > 0],
    {ok, [{Node1, {ok, [{Local, call_count, 3}, {Other, call_time, _} | _]}}]} =
        inviso(N1, counters, [[Node1], 1]),
    {ok, [{Node1, {error, {badarg, 0}}}]} = inviso(N1, counters, [[Node1], 0]),
    {ok, [{nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, counters, [[nowhere@nohost]]),
    {ok, [_, _ | _]} = call(N1, inviso_rt, counters, []),
    {ok, [_, {Other, call_time, _} | _]} = call(N1, inviso_rt, counters, [1]),
    %% A counter is paused, and restarted from zero.
    1 = tpl(N1, Local, pause, [call_count]),
    _ = call(N1, ?PROBE, traced, [x]),
    3 = count(N1, Local),
    1 = tpl(N1, Local, restart, [call_count]),
    0 = count(N1, Local),
    _ = call(N1, ?PROBE, traced, [x]),
    1 = count(N1, Local),
    %% While the node is suspended, its counters continue to count, but counters cannot be changed.
    {ok, _} = inviso(N1, suspend, [[Node1], why]),
    {error, suspended} = tpl(N1, Local, restart, [call_count]),
    _ = call(N1, ?PROBE, traced, [x]),
    2 = count(N1, Local),
    {ok, _} = inviso(N1, cancel_suspension, []),
    %% Counters make no events, and are independent of the pattern for events.
    1 = tpl(N1, Local, [], []),
    _ = call(N1, ?PROBE, traced, [x]),
    1 = tpl(N1, Local, false, []),
    3 = count(N1, Local),
    %% Stopping removes the counters' values: when tracing begins again, each counter is 0.
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, {error, {not_tracing, idle}}}]} =
        inviso(N1, counters, [[Node1]]),
    {ok, _} = inviso(N1, init_tracing, [[Node1], {file, "b.log"}]),
    [] = counted(N1),
    _ = call(N1, ?PROBE, traced, [x]),
    [{Local, call_count, 1}] = counted(N1),
    %% Counters on a whole module can be cleared for one function, and for all
    %% functions.
    N = tpl(N1, {?PROBE, '_', '_'}, true, [call_count]),
    true = N > 10,
    1 = tpl(N1, Local, false, [call_count]),
    _ = [call(N1, ?PROBE, traced, [x]) || _ <- [1, 2]],
    0 = count(N1, Local),
    2 = count(N1, {?PROBE, traced, 1}),
    {ok, [{Node1, {ok, [_]}}]} =
        inviso(N1, ctpl, [[Node1], ?PROBE, '_', '_']),
    _ = call(N1, ?PROBE, traced, [x]),
    [] = counted(N1),
    1 = tpl(N1, Local, true, [call_count]),
    {ok, _} = inviso(N1, ctp_all, []),
    _ = call(N1, ?PROBE, traced, [x]),
    [] = counted(N1),
    {call_count, false} = call(N1, erlang, trace_info, [Local, call_count]),
    1 = tpl(N1, Local, true, [call_count]),
    {ok, _} = inviso(N1, stop_all, []),
    {call_count, false} = call(N1, erlang, trace_info, [Local, call_count]).

what_cannot_be_counted(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    F = {?PROBE, traced, 1},
    Why = fun(MFA, MS, Opts) ->
                  {error, {bad_trace_args, [_, Reason]}} =
                      tpl(N1, MFA, MS, Opts),
                  Reason
          end,
    badarg = Why(F, [], [call_count]),
    badarg = Why(F, restart, []),
    no_tracer = Why(F, restart, [call_count]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    not_counted = Why(F, restart, [call_count]),
    not_counted = Why(F, pause, [call_time]),
    1 = tpl(N1, F, true, [call_count]),
    not_counted = Why(F, pause, [call_time]),
    not_counted = Why({?PROBE, '_', '_'}, pause, [call_count]),
    case has_call_memory(N1) of
        true -> not_counted = Why(F, pause, [call_memory]);
        false -> {not_supported, call_memory} = Why(F, true, [call_memory])
    end,
    %% In the VM a function cannot have both counters and a global pattern.
    Global = fun(MS, Opts) ->
                     {M, Fun, A} = F,
                     {ok, [{Node1, {ok, [R]}}]} =
                         inviso(N1, tp, [M, Fun, A, MS, Opts]),
                     R
             end,
    {error, {bad_trace_args, [_, {not_global, call_count}]}} =
        Global(true, [call_count]),
    {error, {bad_trace_args, [_, {already_traced, F}]}} = Global([], []),
    1 = tpl(N1, F, false, [call_count]),
    1 = Global([], []),
    {already_traced, F} = Why({?PROBE, '_', '_'}, true, [call_count]),
    {ok, _} = inviso(N1, ctp_all, []),
    %% On a VM without sessions another tool's counter is a conflict.
    Own = {?PROBE, other, 2},
    1 = call(N1, erlang, trace_pattern, [Own, true, [call_count]]),
    _ = call(N1, ?PROBE, other, [x, y]),
    case call(N1, inviso_vm, has_sessions, []) of
        true -> 1 = tpl(N1, Own, true, [call_count]);
        false -> {already_traced, Own} = Why(Own, true, [call_count])
    end,
    1 = tpl(N1, F, true, [call_count]),
    {ok, _} = inviso(N1, ctpl, ['_', '_', '_']),
    [] = counted(N1),
    {ok, _} = inviso(N1, stop_all, []),
    {call_count, 1} = call(N1, erlang, trace_info, [Own, call_count]).

%% On OTP 25 and 26 the engine refuses {silent, false} within an expression,
%% before and during tracing.
what_the_engine_cannot_do_is_refused(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    F = {?PROBE, traced_local, 1},
    ok = within_an_expression(N1, F),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    ok = within_an_expression(N1, F),
    1 = tpl(N1, F, [{'_', [], [{silent, false}]}], []),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

within_an_expression(N, MFA) ->
    Expression = {'andalso', true, {silent, false}},
    case {tpl(N, MFA, [{'_', [], [Expression]}], []),
          call(N, inviso_vm, has_sessions, [])} of
        {1, true} ->
            1 = tpl(N, MFA, false, []),
            ok;
        {{error, {bad_trace_args, [_, {not_supported, Expression}]}}, false} ->
            ok
    end.

%% A label of a match spec is an atom or a small integer. With other labels the VM
%% could crash, so they are refused, also before tracing begins.
labels_that_crash_a_vm_are_refused(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    F = {?PROBE, traced_local, 1},
    ok = compound_labels(N1, F),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    ok = compound_labels(N1, F),
    1 = tpl(N1, F, [{'_', [], [{set_seq_token, label, shop}]}], []),
    1 = tpl(N1, F, [{'_', [], [{set_seq_token, label, 17}]}], []),
    Label = {{shop, '$1'}},
    {ok, [{Node1, {error, {unsafe_label, Label, _}}}]} =
        inviso(N1, tpm, [?PROBE, traced_local, 1,
                         [{['$1'], [], [{set_seq_token, label, Label}]}],
                         {?PROBE, nothing}]),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

compound_labels(N, MFA) ->
    _ = [{error, {bad_trace_args, [_, {unsafe_label, Label, _}]}} =
             tpl(N, MFA, [{['$1'], [], [{message, {set_seq_token, label, Label}}]}],
                 [])
         || Label <- ['$1', {{shop, '$1'}}, {{shop, 1}}, [shop], 1 bsl 64]],
    ok.

%% Sets a pattern on the node of the control component. Returns how many
%% functions have got the pattern, or the error.
tpl(#{name := Node} = N, {M, F, A}, MS, Opts) ->
    case inviso(N, tpl, [[Node], M, F, A, MS, Opts]) of
        {ok, [{Node, {ok, [Result]}}]} -> Result;
        {ok, [{Node, {error, _} = E}]} -> E
    end.

counted(#{name := Node} = N) ->
    {ok, [{Node, {ok, Counted}}]} = inviso(N, counters, [[Node]]),
    Counted.

count(N, MFA) ->
    lists:sum([Count || {F, call_count, Count} <- counted(N), F =:= MFA]).

has_call_memory(N) ->
    list_to_integer(call(N, erlang, system_info, [otp_release])) >= 26.

%% On a node without distribution the functions need no node name, and their
%% results contain none.
a_system_without_distribution(Config) ->
    [N] = ?config(nodes, Config),
    {ok, C} = inviso(N, start, []),
    Sub = inviso_test_lib:spawn_call(N, timer, sleep, [infinity]),
    ok = inviso(N, subscribe, [Sub]),
    _ = [{F, {error, not_an_added_node}} = {F, inviso(N, F, Args)}
         || {F, Args} <- [{get_status, []}, {get_tracerdata, []},
                          {stop_nodes, []}, {change_options, [[]]},
                          {suspend, [x]}, {cancel_suspension, []},
                          {ctp_all, []}, {ctf_all, []}]],
    {ok, new} = inviso(N, add_node_if_ref, [tag]),
    {ok, already_added} = inviso(N, add_node, [tag]),
    {ok, {new, running}} = inviso(N, get_status, []),
    {ok, no_tracerdata} = inviso(N, get_tracerdata, []),
    ok = inviso(N, change_options, [[{dependency, infinity}]]),
    {error, {unknown_option, x}} = inviso(N, change_options, [[x]]),
    {ok, [{trace_log, ok}]} = inviso(N, init_tracing, [{file, "a.log"}]),
    ok = inviso(N, suspend, [x]),
    {error, suspended} = inviso(N, tp, [lists, seq, 2, []]),
    ok = inviso(N, cancel_suspension, []),
    ok = inviso(N, ctp_all, []),
    ok = inviso(N, ctf_all, []),
    {ok, {file, "a.log"}} = inviso(N, get_tracerdata, []),
    {ok, idle} = inviso(N, stop_tracing, []),
    true = call(N, erlang, exit, [C, kill]),
    wait_until(fun() -> call(N, erlang, whereis, [inviso_c]) =:= undefined
               end),
    {ok, _} = inviso(N, start, []),
    {error, {wrong_reference, tag}} = inviso(N, add_node_if_ref, [other]),
    {ok, {adopted, idle, running, tag}} = inviso(N, add_node, [other]),
    ok = inviso(N, stop_all, []),
    [{connected, local_runtime, {tag, {new, running}}},
     {state_change, local_runtime, {tracing, running}} | _] = events(N, Sub).

%% A process that ends loses its name before the processes that monitor it get 'DOWN'. With many
%% monitors, there is a long time between these two events. In this time, too, a new control
%% component may adopt the runtime component.
a_control_component_that_is_ending(Config) ->
    [N] = ?config(nodes, Config),
    {ok, C} = inviso(N, start, []),
    _ = inviso_test_lib:spawn_call(N, erl_eval, exprs, expressions(
          "_ = [monitor(process, C) || _ <- lists:seq(1, 500000)],"
          "register(monitors, self()), timer:sleep(infinity).", C)),
    wait_until(fun() -> call(N, erlang, whereis, [monitors]) =/= undefined end),
    {ok, new} = inviso(N, add_node, [tag, [{dependency, infinity}]]),
    {value, Results, _} = call(N, erl_eval, exprs, expressions(
          "true = exit(C, kill),"
          "W = fun W() -> whereis(inviso_c) =:= undefined orelse W() end, true = W(),"
          "{ok, _} = inviso:start(),"
          "[inviso:add_node_if_ref(other), inviso:add_node(other)].", C)),
    [{error, {wrong_reference, tag}}, {ok, {adopted, new, running, tag}}] = Results,
    ok = inviso(N, stop_all, []).

%% Returns the arguments of erl_eval:exprs/2.
expressions(Text, C) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    [Exprs, [{'C', C}]].

%% --- overload ---------------------------------------------------------------

%% The overload check is called at once when tracing begins, and then
%% periodically. It is not called while the node does not trace or is suspended.
overload_check_by_time(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    ok = inviso(N1, subscribe, [Sub]),
    {ok, [{Node1, {ok, new}}]} =
        inviso(N1, add_node, [tag, [{overload, {{?PROBE, check}, 50}}]]),
    timer:sleep(200),
    [] = told(N1),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    wait_until(fun() -> length(told(N1)) >= 3 end),
    [{check, {timeout, void}}] = lists:usort(told(N1)),
    ?PROBE:answer(N1, {check, {new, other_data}}),
    wait_until(fun() -> lists:last(told(N1)) =:=
                            {check, {timeout, other_data}} end),
    ?PROBE:answer(N1, {check, ignore}),
    {ok, _} = inviso(N1, tf, [all, [call]]),
    ?PROBE:answer(N1, {check, {suspend, too_much}}),
    wait_until(fun() -> status(N1) =:= {tracing, {suspended, too_much}} end),
    {state_change, Node1, {tracing, {suspended, too_much}}} =
        lists:last(events(N1, Sub)),
    ?PROBE:answer(N1, {check, ok}),
    ?PROBE:forget(N1),
    timer:sleep(200),
    [] = told(N1),
    {ok, _} = inviso(N1, cancel_suspension, []),
    wait_until(fun() -> length(told(N1)) >= 2 end),
    {ok, _} = inviso(N1, stop_tracing, []),
    ?PROBE:forget(N1),
    timer:sleep(200),
    [] = told(N1),
    %% If the interval is infinity, no timer calls the check.
    {ok, [{Node1, ok}]} =
        inviso(N1, change_options,
               [[{overload, {{?PROBE, check}, infinity}}]]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    timer:sleep(200),
    [] = told(N1),
    %% `overload' without a value removes the check.
    {ok, [{Node1, ok}]} = inviso(N1, change_options, [[overload]]),
    _ = call(N1, erlang, send, [inviso_rt, hello]),
    {ok, _} = inviso(N1, stop_all, []),
    [] = told(N1).

overload_check_by_message_and_exit(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, [[{overload, {{?PROBE, check}, infinity}}]]),
    {ok, _} = inviso(N1, add_node, [tag]),
    Rt = call(N1, erlang, whereis, [inviso_rt]),
    %% Messages reach the check only while the node traces and is not suspended.
    _ = call(N1, erlang, send, [Rt, early]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    _ = call(N1, erlang, send, [Rt, {alarm, 1}]),
    wait_until(fun() -> told(N1) =:= [{check, {msg, {{alarm, 1}, void}}}] end),
    %% Exit signals reach the check even while nothing is traced.
    {ok, _} = inviso(N1, stop_tracing, []),
    ?PROBE:forget(N1),
    ?PROBE:answer(N1, {check, {suspend, exited}}),
    Peer = inviso_test_lib:spawn_call(N1, erlang, apply,
                                      [fun erlang:'exit'/2, [Rt, a_reason]]),
    wait_until(fun() -> told(N1) =:=
                            [{check, {'EXIT', {Peer, a_reason, void}}}] end),
    wait_until(fun() -> status(N1) =:= {idle, {suspended, exited}} end),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

%% Init is called when the runtime component starts or the option `overload' changes. Remove is
%% called when the runtime component ends or the option changes. stop_tracing calls neither Init nor
%% Remove.
overload_init_and_remove(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    Option = fun(Arg) ->
                     {overload, {{?PROBE, check}, infinity,
                                 {?PROBE, begin_load, [Arg]},
                                 {?PROBE, end_load, [Arg]}}}
             end,
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag, [Option(one)]]),
    Begin1 = {begin_load, one},
    [Begin1] = told(N1),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    _ = call(N1, erlang, send, [inviso_rt, hello]),
    Check = {check, {msg, {hello, {data, one}}}},
    wait_until(fun() -> told(N1) =:= [Begin1, Check] end),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, ok}]} = inviso(N1, change_options, [[{dependency, 1}]]),
    [Begin1, Check] = told(N1),
    %% One process runs Init, Remove and the check. It passes each message that
    %% it receives to the check.
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    _ = call(N1, erlang, send, [caller(N1), hello]),
    wait_until(fun() -> told(N1) =:= [Begin1, Check, Check] end),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, ok}]} = inviso(N1, change_options, [[Option(two)]]),
    End1 = {end_load, {{data, one}, one}},
    [Begin1, Check, Check, End1, {begin_load, two}] = told(N1),
    {ok, _} = inviso(N1, stop_nodes, []),
    {end_load, {{data, two}, two}} = lists:last(told(N1)),
    {ok, _} = inviso(N1, stop_all, []).

%% Returns the process that runs Init, Remove and the check. It is linked to the
%% runtime component.
caller(N) ->
    Rt = call(N, erlang, whereis, [inviso_rt]),
    {links, Links} = call(N, erlang, process_info, [Rt, links]),
    [Pid] = [P || P <- Links, is_pid(P),
                  {current_function, {inviso_worker, _, _}} <-
                      [call(N, erlang, process_info, [P, current_function])]],
    Pid.

%% Tests the default check, and the check in inviso_rt_overload.
overload_checks_that_are_there(Config) ->
    {N1, Node1} = node_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag, [{overload, 100}]]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    Rt = call(N1, erlang, whereis, [inviso_rt]),
    timer:sleep(300),
    {tracing, running} = status(N1),
    flood(N1, Rt, 50),
    {ok, _} = inviso(N1, cancel_suspension, []),
    {ok, [{Node1, ok}]} =
        inviso(N1, change_options,
               [[{overload, {{inviso_rt_overload, look}, 50,
                             {inviso_rt_overload, watch,
                              [#{memory_percent => 1}]}, void}}]]),
    wait_until(fun() ->
                       case status(N1) of
                           {tracing, {suspended, {memory, Text}}} ->
                               is_binary(Text);
                           _ -> false
                       end
               end),
    _ = ?PROBE:load(N1),
    Busy = [inviso_test_lib:spawn_call(N1, ?PROBE, busy, [])
            || _ <- lists:seq(1, 40)],
    {ok, [{Node1, ok}]} =
        inviso(N1, change_options,
               [[{overload, {{inviso_rt_overload, look}, 50,
                             {inviso_rt_overload, watch,
                              [#{memory_percent => 0, run_queue => 1}]},
                             void}}]]),
    {ok, _} = inviso(N1, cancel_suspension, []),
    wait_until(fun() ->
                       case status(N1) of
                           {tracing, {suspended, {run_queue, Text}}} ->
                               is_binary(Text);
                           _ -> false
                       end
               end),
    _ = [call(N1, erlang, exit, [P, kill]) || P <- Busy],
    %% The check in inviso_rt_overload crashes if the option has no Init.
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    ok = inviso(N1, subscribe, [Sub]),
    {ok, [{Node1, ok}]} =
        inviso(N1, change_options,
               [[{overload, {{inviso_rt_overload, look}, 50}}]]),
    {ok, _} = inviso(N1, cancel_suspension, []),
    wait_until(fun() -> failures(N1, Sub) =/= [] end),
    [{overload_check, {error, _}}] = failures(N1, Sub),
    {tracing, running} = status(N1),
    {ok, _} = inviso(N1, stop_all, []).

%% Suspends the process of the runtime component with sys:suspend/1, until a check is due, and sends
%% it 1500 messages. The check must find the messages and suspend tracing. Newer releases stop the
%% timers of a suspended process, so the check may come too late. In this case, flood/3 tries again,
%% at most Times times.
flood(_N, _Rt, 0) ->
    ct:fail(not_suspended);
flood(N, Rt, Times) ->
    Code = "sys:suspend(Rt), timer:sleep(150),"
        "[Rt ! x || _ <- lists:seq(1, 1500)], sys:resume(Rt).",
    {ok, Tokens, _} = erl_scan:string(Code),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    _ = call(N, erl_eval, exprs, [Exprs, [{'Rt', Rt}]]),
    case status(N) of
        {tracing, {suspended, rt_max_queue_len}} -> ok;
        {tracing, running} -> flood(N, Rt, Times - 1)
    end.

%% If Init, Remove or the check crashes, the runtime component continues, and
%% subscribers get an event.
overload_callbacks_that_crash(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    ok = inviso(N1, subscribe, [Sub]),
    ?PROBE:answer(N1, {begin_load, crash}),
    ?PROBE:answer(N1, {end_load, crash}),
    ?PROBE:answer(N1, {check, crash}),
    Option = {overload, {fun ?PROBE:check/1, 50, {?PROBE, begin_load, [x]},
                         {?PROBE, end_load, [x]}}},
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node, [tag, [Option]]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    Crash = {error, told_to_crash},
    wait_until(fun() -> failures(N1, Sub) =:= [{overload_init, Crash},
                                               {overload_check, Crash}] end),
    %% A check that crashed is not called again.
    timer:sleep(200),
    [{begin_load, x}, {check, {timeout, void}}] = told(N1),
    ?PROBE:answer(N1, {begin_load, nonsense}),
    ?PROBE:answer(N1, {check, nonsense}),
    {ok, [{Node1, ok}]} = inviso(N1, change_options, [[Option]]),
    wait_until(fun() ->
                       lists:nthtail(2, failures(N1, Sub)) =:=
                           [{overload_remove, Crash},
                            {overload_init, {bad_return, nonsense}},
                            {overload_check, {bad_return, nonsense}}]
               end),
    {tracing, running} = status(N1),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

%% If Init, Remove or the check hangs, it is killed. The runtime component
%% answers requests meanwhile, and the next overload option works.
overload_callbacks_that_hang(Config) ->
    {N1, Node1} = node_of(Config),
    _ = ?PROBE:load(N1),
    {ok, _} = inviso(N1, start, []),
    Sub = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    ok = inviso(N1, subscribe, [Sub]),
    _ = [?PROBE:answer(N1, {F, hang}) || F <- [begin_load, check, end_load]],
    Option = {overload, {{?PROBE, check}, 50, {?PROBE, begin_load, [x]},
                         {?PROBE, end_load, [x]}}},
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node, [tag, [Option]]),
    [{overload_init, timeout}] = failures(N1, Sub),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    wait_until(fun() -> lists:member({check, {timeout, void}}, told(N1)) end),
    {tracing, running} = status(N1),
    [_, {overload_check, timeout}] = failures(N1, Sub),
    %% A check that hung is not called again.
    timer:sleep(200),
    [{begin_load, x}, {check, {timeout, void}}] = told(N1),
    ?PROBE:answer(N1, {begin_load, {ok, data}}),
    ?PROBE:answer(N1, {check, {suspend, enough}}),
    {ok, [{Node1, ok}]} = inviso(N1, change_options, [[Option]]),
    wait_until(fun() -> status(N1) =:= {tracing, {suspended, enough}} end),
    [_, _, {overload_remove, timeout}] = failures(N1, Sub),
    ?PROBE:answer(N1, {end_load, ok}),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []),
    {end_load, {data, x}} = lists:last(told(N1)).

failures(N, Sub) ->
    [F || {callback_failed, _, F} <- events(N, Sub)].

%% --- helpers ----------------------------------------------------------------

nodes_of(Config) ->
    [#{name := Node1} = N1, #{name := Node2} = N2] = ?config(nodes, Config),
    {N1, Node1, N2, Node2}.

node_of(Config) ->
    [#{name := Node} = N] = ?config(nodes, Config),
    {N, Node}.

dir_of(#{dir := Dir}) -> Dir.

inviso(Node, F, Args) ->
    call(Node, inviso, F, Args).

exits(Node, F, Args) ->
    try inviso(Node, F, Args) of
        Other -> {answered, Other}
    catch
        exit:Reason -> Reason
    end.

%% Returns the events that a subscriber has got. The call of unsubscribe waits
%% until all events that the control component has sent have arrived.
events(N, Sub) ->
    case call(N, erlang, whereis, [inviso_c]) of
        undefined -> ok;
        _ -> inviso(N, unsubscribe, [nobody])
    end,
    [E || {inviso_event, _, _, E} <- told(N, Sub)].

status(#{name := Node} = N) ->
    {ok, [{Node, {ok, Status}}]} = inviso(N, get_status, [[Node]]),
    Status.

merged(#{dir := Dir, name := Node} = N, _Config, Log) ->
    Out = filename:join(Dir, "merged.txt"),
    {ok, _} = call(N, inviso_lfm, merge, [[{Node, [{trace_log, [Log]}]}], Out]),
    {ok, Bin} = file:read_file(Out),
    [unicode:characters_to_list(L)
     || L <- binary:split(Bin, <<"\n">>, [global, trim])].

%% Returns the arguments of a call, as text.
args(Line) ->
    {match, [Args]} = re:run(Line, "union,(\\[.*\\])}",
                             [{capture, all_but_first, list}]),
    Args.
