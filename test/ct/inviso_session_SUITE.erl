%% SPDX-License-Identifier: Apache-2.0
%% Runs the example in the documentation of the original Inviso, call by call, on a
%% node with inviso and a node without inviso. Then tests how the API starts,
%% adopts and ends runtime components.
-module(inviso_session_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([the_session_of_the_document/1,
         nothing_stays_on_the_remote_node/1,
         names_are_recorded_while_they_are_valid/1,
         a_fetch_leaves_the_owner_nothing_but_files/1,
         a_node_without_control_ends_at_once/1,
         a_node_without_control_can_be_adopted/1,
         a_killed_runtime_component_leaves_nothing/1,
         a_second_control_is_refused/1,
         patterns_outlive_stop_tracing_but_not_clear/1,
         settings_of_others_are_not_touched/1,
         what_crashes_a_vm_is_refused/1,
         a_wrap_set_is_listed_fetched_and_cleared/1,
         wrong_arguments_are_answered/1,
         local_patterns_block_no_others/1,
         no_argument_ends_a_component/1,
         a_ti_file_that_does_not_open_is_no_crash/1,
         logs_are_found_from_another_directory/1,
         wrong_arguments_of_merge_and_fetch_are_reported/1,
         a_system_without_distribution_answers_plainly/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [the_session_of_the_document,
     nothing_stays_on_the_remote_node,
     names_are_recorded_while_they_are_valid,
     a_fetch_leaves_the_owner_nothing_but_files,
     a_node_without_control_ends_at_once,
     a_node_without_control_can_be_adopted,
     a_killed_runtime_component_leaves_nothing,
     a_second_control_is_refused,
     patterns_outlive_stop_tracing_but_not_clear,
     settings_of_others_are_not_touched,
     what_crashes_a_vm_is_refused,
     a_wrap_set_is_listed_fetched_and_cleared,
     wrong_arguments_are_answered,
     local_patterns_block_no_others,
     no_argument_ends_a_component,
     a_ti_file_that_does_not_open_is_no_crash,
     logs_are_found_from_another_directory,
     wrong_arguments_of_merge_and_fetch_are_reported,
     a_system_without_distribution_answers_plainly].

init_per_testcase(Case, Config) ->
    Needed = [inviso_test_lib:product(P)
              || P <- ["inviso", "inviso_tracer.so", "inviso_spool"]],
    case [S || {skip, _} = S <- Needed] of
        [Skip | _] -> Skip;
        [] -> with_nodes(Case, Config)
    end.

with_nodes(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N1 = inviso_test_lib:shared_node(node1, Dir),
    N2 = inviso_test_lib:start_stock_node(node2, Dir),
    ok = inviso_test_lib:connect([N1, N2]),
    [{n1, N1}, {n2, N2} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N)
         || Key <- [n1, n2], N <- [proplists:get_value(Key, Config)],
            N =/= undefined],
    ok.

%% --- the example ------------------------------------------------------------

the_session_of_the_document(Config) ->
    {N1, #{name := Node1}, #{name := Node2}} = nodes_of(Config),
    Both = [Node1, Node2],
    ok = call(N1, application, start, [runtime_tools]),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node1, {ok, new}}, {Node2, {ok, new}}]} =
        inviso(N1, add_nodes, [Both, mytag]),
    {ok, [{Node1, {ok, [{trace_log, ok}, {ti_log, ok}]}},
          {Node2, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, init_tracing, [tracerdata(Both)]),
    {ok, [{Node1, {{ok, 1}, {ok, 1}}}, {Node2, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_localnames, [Both]),
    {ok, [{Node1, {ok, [2]}}, {Node2, {ok, [2]}}]} =
        inviso(N1, tpl, [Both, code, which, '_', []]),
    {ok, [{Node1, {ok, [Procs1]}}, {Node2, {ok, [Procs2]}}]} =
        inviso(N1, tf, [all, [call, timestamp]]),
    true = Procs1 > 10 andalso Procs2 > 10,
    non_existing = call(N1, code, which, [ordset]),
    {ok, [{Node1, {ok, idle}}, {Node2, {ok, idle}}]} =
        inviso(N1, stop_tracing, []),
    {ok, [{Node2, {complete,
                   [{trace_log, [{ok, "aprefix_tracefile_node2.log"}]},
                    {ti_log, [{ok, "aprefix_trace_node2.ti"}]}]}}]} =
        inviso(N1, fetch_log, [[Node2], ".", "aprefix_"]),
    {ok, [{Node1, {ok, [{trace_log, ".", ["tracefile_node1.log"]},
                        {ti_log, ".", ["trace_node1.ti"]}]}}]} =
        inviso(N1, list_logs, [[Node1]]),
    merged(Config, Both),
    {ok, [{Node1, {ok, {new, running}}}, {Node2, {ok, {new, running}}}]} =
        inviso(N1, clear, []),
    {ok, [{Node2, ok}, {Node1, ok}]} = inviso(N1, stop_nodes, []),
    shutdown = inviso(N1, stop, []).

%% Checks that the merged file has the call code:which(ordset) of the first node.
merged(Config, [Node1, Node2]) ->
    #{dir := Dir} = N1 = ?config(n1, Config),
    Sets = [{Node1, [{trace_log, ["tracefile_node1.log"]},
                     {ti_log, ["trace_node1.ti"]}]},
            {Node2, [{trace_log, ["aprefix_tracefile_node2.log"]},
                     {ti_log, ["aprefix_trace_node2.ti"]}]}],
    {ok, Count} = call(N1, inviso_lfm, merge, [Sets, "theoutfile.txt"]),
    Lines = lines(filename:join(Dir, "theoutfile.txt")),
    ct:log("~b entries:~n~ts", [Count, lists:join("\n", Lines)]),
    Count = length(Lines),
    [_ | _] = [L || L <- Lines,
                    string:prefix(L, atom_to_list(Node1)) =/= nomatch,
                    string:find(L, "call,{code,which,[ordset]},") =/= nomatch].

%% --- after the example ------------------------------------------------------

nothing_stays_on_the_remote_node(Config) ->
    {N1, #{name := Node1}, #{name := Node2, dir := Dir2} = N2} =
        nodes_of(Config),
    warm_up(N1, N2),
    Before = inviso_test_lib:footprint(N2),
    {ok, _} = inviso(N1, start, []),
    traced(N1, [Node1, Node2]),
    During = inviso_test_lib:footprint(N2),
    true = During =/= Before,
    [_] = maps:get(files, During),
    [_ | _] = maps:get(mapped, During),
    [_ | _] = maps:get(os_processes, During),
    private(N2),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, _} = inviso(N1, clear, []),
    {ok, [{Node2, ok}, {Node1, ok}]} = inviso(N1, stop_nodes, []),
    same(Before, N2),
    {ok, ["tmp"]} = file:list_dir(Dir2).

%% Only the node's user has access to the directory and the files.
private(#{tmp := Tmp}) ->
    [Dir] = filelib:wildcard(filename:join(Tmp, "inviso-*")),
    8#700 = mode(Dir),
    8#600 = mode(filename:join(Dir, "inviso_tracer.so")),
    8#700 = mode(filename:join(Dir, "inviso_spool")).

mode(Path) ->
    {ok, Info} = file:read_file_info(Path),
    element(8, Info) band 8#777.

names_are_recorded_while_they_are_valid(Config) ->
    {#{dir := Dir1} = N1, _, #{name := Node2, dir := Dir2} = N2} =
        nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], [{trace, {file, "a.log"}},
                                                  {ti, {file, "a.ti"}}]]),
    Old = call(N2, erlang, whereis, [kernel_sup]),
    {ok, [{Node2, {{ok, 1}, {ok, 1}}}]} = inviso(N1, tpm_localnames, []),
    {ok, [{Node2, {{error, already_initiated}, {error, already_initiated}}}]} =
        inviso(N1, tpm_localnames, []),
    {ok, [{Node2, {ok, [1]}}]} = inviso(N1, tpl, [lists, seq, 2, []]),
    {ok, [{Node2, {ok, [_]}}]} = inviso(N1, tf, [new, [call, timestamp]]),
    Pid = inviso_test_lib:spawn_call(N2, timer, sleep, [infinity]),
    true = call(N2, erlang, register, [a_name, Pid]),
    true = call(N2, erlang, unregister, [a_name]),
    {'EXIT', _} = (catch call(N2, erlang, register, [kernel_sup, Pid])),
    caller(N2),
    {ok, [{Node2, {ok, ok}}]} = inviso(N1, ctpm_localnames, []),
    {ok, [{Node2, {{error, bad_mfa}, {error, bad_mfa}}}]} =
        inviso(N1, ctpm_localnames, []),
    true = call(N2, erlang, register, [late_name, Pid]),
    {ok, _} = inviso(N1, stop_tracing, []),
    Records = ti_records(filename:join(Dir2, "a.ti")),
    true = lists:member({Old, kernel_sup, alias}, Records),
    [{Pid, a_name, alias}, {undefined, a_name, unalias}] =
        [R || {_, a_name, _} = R <- Records],
    false = lists:keymember(late_name, 2, Records),
    1 = length([R || {_, kernel_sup, _} = R <- Records]),
    {ok, _} = inviso(N1, fetch_log, [".", "p_"]),
    Sets = [{Node2, [{trace_log, ["p_a.log"]}, {ti_log, ["p_a.ti"]}]}],
    {ok, 2} = call(N1, inviso_lfm, merge, [Sets, "out.txt"]),
    [Before, After] = lines(filename:join(Dir1, "out.txt")),
    [Node2Text, "[]" | _] = string:lexemes(Before, " "),
    [Node2Text, "[caller]" | _] = string:lexemes(After, " "),
    Node2Text = atom_to_list(Node2),
    {ok, _} = inviso(N1, stop_nodes, []).

%% Runs a process on the node. The process makes calls before it registers a name, while it has the
%% name, and after it has unregistered the name.
caller(N2) ->
    Code = "lists:seq(1, 2), timer:sleep(20), register(caller, self()), "
        "timer:sleep(20), lists:seq(1, 3), unregister(caller).",
    {ok, Tokens, _} = erl_scan:string(Code),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    Pid = inviso_test_lib:spawn_call(N2, erl_eval, exprs, [Exprs, []]),
    wait_until(fun() -> not call(N2, erlang, is_process_alive, [Pid]) end).

a_fetch_leaves_the_owner_nothing_but_files(Config) ->
    {#{dir := Dir1} = N1, _, #{name := Node2, dir := Dir2} = N2} =
        nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, [{Node2, {error, no_tracerdata}}]} =
        inviso(N1, fetch_log, [[Node2], ".", "p_"]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], [{trace, {file, "a.log"}},
                                                  {ti, {file, "a.ti"}}]]),
    {ok, [{Node2, {error, tracing}}]} =
        inviso(N1, fetch_log, [[Node2], ".", "p_"]),
    {ok, _} = inviso(N1, tpl, [lists, seq, 2, []]),
    {ok, _} = inviso(N1, tf, [all, [call]]),
    _ = [call(N2, lists, seq, [1, I]) || I <- lists:seq(1, 100)],
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node2, {complete, [{trace_log, [{ok, "p_a.log"}]},
                              {ti_log, [{ok, "p_a.ti"}]}]}}]} =
        inviso(N1, fetch_log, [".", "p_"]),
    {ok, Bytes} = file:read_file(filename:join(Dir2, "a.log")),
    {ok, Bytes} = file:read_file(filename:join(Dir1, "p_a.log")),
    8#600 = mode(filename:join(Dir1, "p_a.log")),
    %% Fetches a file of more than one chunk, and a file that does not exist.
    Big = binary:copy(<<"0123456789">>, 50000),
    ok = file:write_file(filename:join(Dir2, "big"), Big),
    Spec = [{Node2, [{trace_log, ".", ["big", "absent"]}]}],
    {ok, [{Node2, {incomplete,
                   [{trace_log, [{ok, "q_big"},
                                 {error, {remote_open, "./absent"}}]},
                    {ti_log, []}]}}]} =
        inviso(N1, fetch_log, [Spec, ".", "q_"]),
    {ok, Big} = file:read_file(filename:join(Dir1, "q_big")),
    {ok, _} = inviso(N1, stop_nodes, []),
    {ok, [{Node2, {error, not_an_added_node}}]} =
        inviso(N1, fetch_log, [[Node2], ".", "p_"]),
    true = filelib:is_regular(filename:join(Dir2, "a.log")).

%% --- dead man ---------------------------------------------------------------

a_node_without_control_ends_at_once(Config) ->
    {N1, _, #{name := Node2, dir := Dir2} = N2} = nodes_of(Config),
    warm_up(N1, N2),
    Before = inviso_test_lib:footprint(N2),
    {ok, _} = inviso(N1, start, [[{dependency, 0}]]),
    traced(N1, [Node2]),
    %% The control node is stopped, as by a crash. For the traced node, a broken network looks the
    %% same.
    inviso_test_lib:forget_node(N1),
    wait_until(fun() -> maps:get(files, inviso_test_lib:footprint(N2)) =:= []
               end),
    same(Before, N2),
    true = filelib:is_regular(filename:join(Dir2, "tracefile_node2.log")).

a_node_without_control_can_be_adopted(Config) ->
    {N1, #{name := Node1}, #{name := Node2} = N2} = nodes_of(Config),
    {ok, C} = inviso(N1, start, [[{dependency, 6000}]]),
    {ok, _} = inviso(N1, add_nodes, [[Node2], first]),
    true = call(N1, erlang, exit, [C, kill]),
    wait_until(fun() -> call(N1, erlang, whereis, [inviso_c]) =:= undefined
               end),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node2, {ok, {adopted, new, running, first}}}]} =
        inviso(N1, add_nodes, [[Node2], second]),
    timer:sleep(7000),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, []),
    shutdown = inviso(N1, stop, []),
    wait_until(fun() -> call(N2, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    wait_until(fun() -> not call(N2, erlang, module_loaded, [inviso_tracer])
               end),
    {ok, _} = inviso(N1, start, []),
    {ok, [{Node1, {ok, new}}, {Node2, {ok, new}}]} =
        inviso(N1, add_nodes, [[Node1, Node2], third]),
    {ok, [{Node2, ok}, {Node1, ok}]} = inviso(N1, stop_all, []).

a_killed_runtime_component_leaves_nothing(Config) ->
    {N1, _, #{name := Node2} = N2} = nodes_of(Config),
    warm_up(N1, N2),
    Before = inviso_test_lib:footprint(N2),
    {ok, _} = inviso(N1, start, []),
    traced(N1, [Node2]),
    Rt = call(N2, erlang, whereis, [inviso_rt]),
    true = call(N2, erlang, exit, [Rt, kill]),
    wait_until(fun() -> inviso(N1, get_status, []) =:= {ok, []} end),
    wait_until(fun() -> maps:get(modules, inviso_test_lib:footprint(N2)) =:= []
               end),
    same(Before, N2).

a_second_control_is_refused(Config) ->
    {N1, #{name := Node1}, #{name := Node2}} = nodes_of(Config),
    {ok, C} = inviso(N1, start, []),
    {error, {already_started, C}} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, [{Node2, {ok, already_added}}]} =
        inviso(N1, add_nodes, [[Node2], tag]),
    N3 = inviso_test_lib:start_node(node3, ?config(priv_dir, Config)),
    ok = inviso_test_lib:connect([N3, ?config(n2, Config)]),
    {ok, _} = inviso(N3, start, []),
    {ok, [{Node2, {error, refused}}, {Node1, {ok, new}}]} =
        inviso(N3, add_nodes, [[Node2, Node1], tag]),
    {ok, [{Node1, ok}]} = inviso(N3, stop_all, []),
    inviso_test_lib:stop_node(N3),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, []).

%% --- patterns and flags -----------------------------------------------------

patterns_outlive_stop_tracing_but_not_clear(Config) ->
    {N1, _, #{name := Node2} = N2} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, [{Node2, {ok, [2]}}]} = inviso(N1, tpl, [ordsets, union, '_', []]),
    {ok, [{Node2, {error, no_tracer}}]} = inviso(N1, tf, [all, [call]]),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, get_status, []),
    false = is_traced(N2, {ordsets, union, 2}),
    2 = calls(N1, N2, Node2, "a.log"),
    false = is_traced(N2, {ordsets, union, 2}),
    2 = calls(N1, N2, Node2, "b.log"),
    {ok, [{Node2, {ok, [1]}}]} = inviso(N1, ctpl, [ordsets, union, 2]),
    0 = calls(N1, N2, Node2, "c.log"),
    {ok, [{Node2, {ok, [2]}}]} = inviso(N1, ctpl, [ordsets, union, '_']),
    {ok, [{Node2, {ok, [1]}}]} = inviso(N1, tpl, [ordsets, union, 2, []]),
    {ok, [{Node2, {ok, {new, running}}}]} = inviso(N1, clear, []),
    0 = calls(N1, N2, Node2, "d.log"),
    {ok, _} = inviso(N1, stop_nodes, []).

is_traced(N, MFA) ->
    {traced, false} =/= call(N, erlang, trace_info, [MFA, traced]).

%% Makes two calls in a traced process. Returns the number of recorded events.
calls(N1, N2, Node2, Log) ->
    {ok, [{Node2, {ok, [{trace_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], {file, Log}]),
    {ok, [{Node2, {ok, [_]}}]} = inviso(N1, tf, [[Node2], new, [call]]),
    _ = [call(N2, ordsets, union, [[], []]) || _ <- [1, 2]],
    {ok, [{Node2, ok}]} = inviso(N1, flush, []),
    %% Only the tracer knows the number of recorded events. The runtime component has the tracer in
    %% its state.
    Rt = call(N2, erlang, whereis, [inviso_rt]),
    State = tuple_to_list(call(N2, sys, get_state, [Rt])),
    [Tracer] = [T || {log, T} <- State],
    #{recorded := N} = call(N2, inviso_tracer, info, [Tracer]),
    {ok, [{Node2, {ok, idle}}]} = inviso(N1, stop_tracing, []),
    N.

settings_of_others_are_not_touched(Config) ->
    {N1, _, #{name := Node2} = N2} = nodes_of(Config),
    Tracer = inviso_test_lib:spawn_call(N2, timer, sleep, [infinity]),
    Tracee = inviso_test_lib:spawn_call(N2, timer, sleep, [infinity]),
    1 = call(N2, erlang, trace, [Tracee, true, [send, {tracer, Tracer}]]),
    1 = call(N2, erlang, trace_pattern, [{lists, seq, 2}, [], [local]]),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, _} = inviso(N1, init_tracing, [[Node2], {file, "a.log"}]),
    {ok, [{Node2, {ok, [Result]}}]} = inviso(N1, tpl, [lists, '_', '_', []]),
    {ok, [{Node2, {ok, [_]}}]} = inviso(N1, tf, [all, [call, procs]]),
    case call(N2, erlang, system_info, [otp_release]) of
        Release when Release >= "27" ->
            true = is_integer(Result);
        _ ->
            {error, {bad_trace_args,
                     [{lists, '_', '_', []},
                      {already_traced, {lists, seq, 2}}]}} = Result
    end,
    untouched(N2, Tracee, Tracer),
    {ok, _} = inviso(N1, stop_tracing, []),
    untouched(N2, Tracee, Tracer),
    {ok, _} = inviso(N1, stop_nodes, []),
    untouched(N2, Tracee, Tracer).

untouched(N2, Tracee, Tracer) ->
    {flags, [send]} = call(N2, erlang, trace_info, [Tracee, flags]),
    {tracer, Tracer} = call(N2, erlang, trace_info, [Tracee, tracer]),
    {traced, local} = call(N2, erlang, trace_info, [{lists, seq, 2}, traced]).

%% On VMs with trace sessions, tracing `garbage_collection' of one process in two sessions can crash
%% the VM. So inviso refuses it.
what_crashes_a_vm_is_refused(Config) ->
    {N1, _, #{name := Node2} = N2} = nodes_of(Config),
    %% The code runs in a process that traces itself in its own session, until the node ends.
    Code = "S = trace:session_create(other, self(), []),"
        "trace:process(S, self(), true, [garbage_collection]),"
        "register(other, self()), receive stop -> S end.",
    {ok, Tokens, _} = erl_scan:string(Code),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    case call(N1, inviso_defects, affected, [gc_two_sessions]) of
        false ->
            {skip, "this VM does not have it"};
        true ->
            Pid = inviso_test_lib:spawn_call(N2, erl_eval, exprs, [Exprs, []]),
            wait_until(fun() -> call(N2, erlang, whereis, [other]) =:= Pid end),
            {ok, _} = inviso(N1, start, []),
            {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
            {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
            Refused = {gc_traced_in_another_session, Pid},
            {ok, [{Node2, {ok, [{error, Refused}]}}]} =
                inviso(N1, tf, [all, [garbage_collection]]),
            {ok, [{Node2, {ok, [1]}}]} =
                inviso(N1, tf, [init, [garbage_collection]]),
            {ok, [{Node2, {ok, [N]}}]} = inviso(N1, tf, [all, [call]]),
            true = N > 10,
            {ok, _} = inviso(N1, stop_nodes, [])
    end.

a_wrap_set_is_listed_fetched_and_cleared(Config) ->
    {#{dir := Dir1} = N1, _, #{name := Node2, dir := Dir2} = N2} =
        nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, [{Node2, {error, {trace_port_args, _}}}]} =
        inviso(N1, init_tracing, [{file, {"w", wrap, ".log", none}}]),
    {ok, _} = inviso(N1, init_tracing, [{file, {"w", wrap, ".log", 2000, 3}}]),
    {ok, [{Node2, {ok, [_]}}]} = inviso(N1, tpl, [lists, reverse, 1, []]),
    {ok, _} = inviso(N1, tf, [new, [call]]),
    _ = [begin
             _ = call(N2, lists, reverse, [lists:seq(1, 100)]),
             I rem 10 =:= 0 andalso inviso(N1, flush, [])
         end || I <- lists:seq(1, 100)],
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node2, {ok, [{trace_log, ".", Files}]}}]} =
        inviso(N1, list_logs, []),
    true = length(Files) > 1 andalso length(Files) =< 3,
    {ok, [{Node2, {complete, [{trace_log, Fetched}, {ti_log, []}]}}]} =
        inviso(N1, fetch_log, [".", "p_"]),
    Fetched = [{ok, "p_" ++ F} || F <- Files],
    Sets = [{Node2, [{trace_log, [F || {ok, F} <- Fetched]}]}],
    {ok, Count} = call(N1, inviso_lfm, merge, [Sets, "out.txt"]),
    true = Count > 1,
    Count = length(lines(filename:join(Dir1, "out.txt"))),
    {ok, _} = inviso(N1, clear, []),
    {ok, ["tmp"]} = file:list_dir(Dir2),
    {ok, _} = inviso(N1, stop_nodes, []).

%% --- answers ----------------------------------------------------------------

wrong_arguments_are_answered(Config) ->
    {N1, #{name := Node1}, _} = nodes_of(Config),
    shutdown = inviso(N1, stop, []),
    {error, {error, {unknown_option, x}}} = inviso(N1, start, [[x]]),
    {'EXIT', {noproc, _}} = catch_exit(fun() -> inviso(N1, get_status, []) end),
    {ok, _} = inviso(N1, start, []),
    {ok, []} = inviso(N1, get_status, []),
    {ok, []} = inviso(N1, stop_nodes, []),
    {error, {badarg, x}} = inviso(N1, add_nodes, [x, tag]),
    {error, {unknown_option, {y, 1}}} =
        inviso(N1, add_nodes, [[Node1], tag, [{y, 1}]]),
    {ok, [{'nobody@nowhere', {error, nodedown}}]} =
        inviso(N1, add_nodes, [['nobody@nowhere'], tag]),
    {ok, [{Node1, {ok, new}}]} = inviso(N1, add_node, [tag]),
    {ok, [{Node1, {ok, {new, running}}}, {b, {error, not_an_added_node}}]} =
        inviso(N1, get_status, [[Node1, b]]),
    {ok, [{Node1, {error, no_metatracer}}]} = inviso(N1, tpm_localnames, []),
    {ok, [{Node1, {error, no_tracerdata}}]} = inviso(N1, list_logs, []),
    {ok, [{Node1, {ok, no_log}}]} = inviso(N1, list_logs, [[{Node1, []}]]),
    {ok, [{Node1, {error, {not_tracing, new}}}]} = inviso(N1, flush, []),
    {error, {badarg, 17}} = inviso(N1, init_tracing, [17]),
    {ok, [{Node1, {error, {bad_tracerdata, nonsense}}}]} =
        inviso(N1, init_tracing, [[Node1], nonsense]),
    {ok, [{Node1, {error, {bad_ti_td, nonsense}}}]} =
        inviso(N1, init_tracing, [[{trace, {file, "a"}}, {ti, nonsense}]]),
    {ok, [{Node1, {error, {open, _}}}]} =
        inviso(N1, init_tracing, [{file, "no/such/directory/a"}]),
    {ok, [{Node1, {ok, [{trace_log, ok},
                        {ti_log, {error, {open, [_, enoent]}}}]}}]} =
        inviso(N1, init_tracing, [[{trace, {file, "a"}},
                                   {ti, {file, "no/such/directory/a"}}]]),
    {ok, [{Node1, {error, already_initiated}}]} =
        inviso(N1, init_tracing, [{file, "a"}]),
    {ok, [{Node1, {ok, [{error, {bad_flag, nonsense}}]}}]} =
        inviso(N1, tf, [all, [nonsense]]),
    {ok, [{Node1, {ok, [{error, {bad_process, [{nonexistent_name, nobody},
                                               nobody]}}]}}]} =
        inviso(N1, tf, [nobody, [call]]),
    {ok, [{Node1, {ok, [1, 0]}}]} =
        inviso(N1, tf, [[{init, [call]},
                         {rpc:call(node(), erlang, self, []), [call]}]]),
    {ok, [{Node1, {ok, [0, 0]}}]} =
        inviso(N1, tp, [[{no_such_module, '_', '_', []},
                         {lists, no_such_function, '_', []}]]),
    {ok, [{Node1, {ok, [{error, {bad_trace_args,
                                 [{lists, seq, 2, [nonsense]}, badarg]}},
                        {error, {bad_trace_args, {a, b}}}]}}]} =
        inviso(N1, tp, [[{lists, seq, 2, [nonsense]}, {a, b}]]),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

catch_exit(F) ->
    try F() catch exit:Reason -> {'EXIT', Reason} end.

local_patterns_block_no_others(Config) ->
    {N1, #{name := Node1}, _} = nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    {ok, [{Node1, {ok, [2]}}]} = inviso(N1, tpl, [code, which, '_', []]),
    {ok, [{Node1, {ok, [1]}}]} = inviso(N1, tp, [code, which, '_', []]),
    {ok, [{Node1, {ok, [1]}}]} = inviso(N1, tpl, [erlang, register, 2, []]),
    {ok, [{Node1, {{ok, 1}, {ok, 1}}}]} = inviso(N1, tpm_localnames, []),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

no_argument_ends_a_component(Config) ->
    {#{dir := Dir1} = N1, #{name := Node1}, _} = nodes_of(Config),
    {error, {error, {badarg, [x | y]}}} = inviso(N1, start, [[x | y]]),
    {ok, C} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, _} = inviso(N1, init_tracing, [{file, "a.log"}]),
    Rt = call(N1, erlang, whereis, [inviso_rt]),
    TD = {file, "a.log"},
    OnNode = [{tpl, [foo]}, {tp, [foo]}, {ctp, [foo]}, {ctf, [foo]},
              {tp, [[{a, b, 1, []} | x]]},
              {tf, [[Node1], foo]},
              {tf, [[Node1], [{all, [call]} | x]]},
              {clear, [[Node1], foo]},
              {clear, [[Node1], [keep_log_files | x]]}],
    _ = [{F, {ok, [{Node1, {error, {badarg, Bad}}}]}} =
             {F, begin Bad = lists:last(Args), inviso(N1, F, Args) end}
         || {F, Args} <- OnNode],
    Improper = [call | x],
    {ok, [{Node1, {error, {badarg, Improper}}}]} =
        inviso(N1, tf, [[Node1], [{all, Improper}]]),
    {ok, [{Node1, {error, {badarg, Improper}}}]} =
        inviso(N1, ctf, [all, Improper]),
    {ok, [{Node1, {ok, [{error, {bad_trace_args, {a, b, 1, [], [x | y]}}}]}}]} =
        inviso(N1, tp, [a, b, 1, [], [x | y]]),
    {ok, [{Node1, {error, badarg}}]} =
        inviso(N1, list_logs, [[{Node1, [{trace, TD} | z]}]]),
    AtControl = [{list_logs, [[{Node1, TD} | z]]},
                 {fetch_log, [[{Node1, TD} | z], Dir1, "p_"]},
                 {get_status, [[Node1 | z]]},
                 {init_tracing, [[{Node1, TD} | z]]},
                 {tf, [[{all, [call]} | z]]}],
    _ = [{F, {error, {badarg, Bad}}} =
             {F, begin Bad = hd(Args), inviso(N1, F, Args) end}
         || {F, Args} <- AtControl],
    {error, {badarg, [x | y]}} = inviso(N1, add_nodes, [[Node1], tag, [x | y]]),
    {C, Rt} = {call(N1, erlang, whereis, [inviso_c]),
               call(N1, erlang, whereis, [inviso_rt])},
    {ok, [{Node1, {ok, {tracing, running}}}]} = inviso(N1, get_status, []),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []).

a_ti_file_that_does_not_open_is_no_crash(Config) ->
    {#{dir := Dir1} = N1, #{name := Node1}, _} = nodes_of(Config),
    Log = filename:join(Dir1, "reports"),
    ok = call(N1, logger, add_handler, [reports, logger_std_h,
                                        #{config => #{file => Log}}]),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_node, [tag]),
    {ok, [{Node1, {ok, [{trace_log, ok},
                        {ti_log, {error, {open, [_, enoent]}}}]}}]} =
        inviso(N1, init_tracing, [[{trace, {file, "a"}},
                                   {ti, {file, "no/such/directory/a"}}]]),
    {ok, [{Node1, ok}]} = inviso(N1, stop_all, []),
    %% If a process has died after its answer, the logger may still have to write the crash report.
    timer:sleep(500),
    ok = call(N1, logger_std_h, filesync, [reports]),
    {ok, <<>>} = file:read_file(Log).

logs_are_found_from_another_directory(Config) ->
    {#{dir := Dir1} = N1, _, #{name := Node2, dir := Dir2, tmp := Tmp2} = N2} =
        nodes_of(Config),
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    ok = call(N2, file, set_cwd, [Tmp2]),
    {ok, [{Node2, {ok, [{trace_log, Dir2, ["a.log"]},
                        {ti_log, Dir2, ["a.ti"]}]}}]} =
        inviso(N1, list_logs, []),
    {ok, [{Node2, {complete, [{trace_log, [{ok, "p_a.log"}]},
                              {ti_log, [{ok, "p_a.ti"}]}]}}]} =
        inviso(N1, fetch_log, [Dir1, "p_"]),
    {ok, _} = inviso(N1, clear, []),
    {ok, ["tmp"]} = file:list_dir(Dir2),
    {ok, _} = inviso(N1, stop_nodes, []).

wrong_arguments_of_merge_and_fetch_are_reported(Config) ->
    {N1, _, #{name := Node2}} = nodes_of(Config),
    _ = [{error, {files, {bad_reader_spec, Bad}}} =
             call(N1, inviso_lfm, merge, [Sets, "out.txt"])
         || {Bad, Sets} <-
                [{{trace_log, "a.log"}, [{Node2, [{trace_log, "a.log"}]}]},
                 {{ti_log, "a.ti"}, [{Node2, [[{ti_log, "a.ti"}]]}]},
                 {{trace_log, a}, [{Node2, [{trace_log, a}]}]},
                 {[x | y], [x | y]},
                 {x, x}]],
    {ok, _} = inviso(N1, start, []),
    {ok, _} = inviso(N1, add_nodes, [[Node2], tag]),
    {ok, _} = inviso(N1, init_tracing, [[{trace, {file, "a.log"}},
                                         {ti, {file, "a.ti"}}]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node2, {incomplete, [{trace_log, [{error, {file_open, _}}]},
                                {ti_log, [{error, {file_open, _}}]}]}}]} =
        inviso(N1, fetch_log, ["no/such/directory", "p_"]),
    {ok, _} = inviso(N1, stop_nodes, []).

a_system_without_distribution_answers_plainly(Config) ->
    N1 = inviso_test_lib:start_alone(?config(priv_dir, Config)),
    {ok, _} = inviso(N1, start, []),
    {error, not_an_added_node} = inviso(N1, stop_nodes, []),
    {ok, new} = inviso(N1, add_node, [tag]),
    {ok, [{trace_log, ok}]} = inviso(N1, init_tracing, [{file, "a.log"}]),
    {ok, [2]} = inviso(N1, tpl, [code, which, '_', []]),
    {ok, [_]} = inviso(N1, tf, [all, [call]]),
    {ok, idle} = inviso(N1, stop_tracing, []),
    {ok, [{trace_log, ".", ["a.log"]}]} = inviso(N1, list_logs, []),
    {error, not_distributed} = inviso(N1, fetch_log, [".", "p_"]),
    {ok, {new, running}} = inviso(N1, clear, []),
    ok = inviso(N1, stop_nodes, []),
    shutdown = inviso(N1, stop, []),
    inviso_test_lib:stop_node(N1).

%% --- helpers ----------------------------------------------------------------

nodes_of(Config) ->
    #{name := _} = N1 = ?config(n1, Config),
    {N1, N1, ?config(n2, Config)}.

inviso(Node, F, Args) ->
    call(Node, inviso, F, Args).

tracerdata(Nodes) ->
    [{N, [{trace, {file, "tracefile_" ++ short(N) ++ ".log"}},
          {ti, {file, "trace_" ++ short(N) ++ ".ti"}}]} || N <- Nodes].

short(Node) ->
    hd(string:lexemes(atom_to_list(Node), "_@")).

traced(N1, Nodes) ->
    {ok, _} = inviso(N1, add_nodes, [Nodes, tag]),
    {ok, _} = inviso(N1, init_tracing, [tracerdata(Nodes)]),
    {ok, _} = inviso(N1, tpm_localnames, []),
    {ok, _} = inviso(N1, tpl, [code, which, '_', []]),
    {ok, _} = inviso(N1, tf, [all, [call, timestamp]]),
    ok.

%% During the first remote call, the node starts processes of Erlang/OTP.
warm_up(N1, #{name := Node2}) ->
    2 = call(N1, erpc, call, [Node2, erlang, '+', [1, 1]]),
    ok.

same(Before, N2) ->
    %% The processes that served the last remote call may not have ended yet.
    try
        wait_until(fun() -> inviso_test_lib:left_behind(Before, N2) =:= [] end)
    catch
        error:timeout ->
            ct:fail({left_behind, inviso_test_lib:left_behind(Before, N2)})
    end.

lines(File) ->
    {ok, Bin} = file:read_file(File),
    [unicode:characters_to_list(L)
     || L <- binary:split(Bin, <<"\n">>, [global, trim])].

ti_records(File) ->
    {ok, Bin} = file:read_file(File),
    [{Pid, Name, How} || {Pid, Name, How, {_, _, _}} <- ti_terms(Bin)].

ti_terms(<<>>) ->
    [];
ti_terms(Bin) ->
    0 = binary:first(Bin),
    Len = binary:decode_unsigned(binary:part(Bin, 1, 4)),
    Rest = binary:part(Bin, 5 + Len, byte_size(Bin) - 5 - Len),
    [binary_to_term(binary:part(Bin, 5, Len)) | ti_terms(Rest)].
