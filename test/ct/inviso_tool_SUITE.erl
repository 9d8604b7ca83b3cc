%% SPDX-License-Identifier: Apache-2.0
%% inviso_tool: sessions with trace cases and a history. Each case names the
%% functions whose results and errors it checks.
-module(inviso_tool_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([start_and_stop/1,
         one_that_is_killed/1,
         configuration/1,
         a_session/1,
         arguments_that_are_wrong/1,
         initial_trace_cases/1,
         trace_cases/1,
         trace_cases_that_fail/1,
         commands/1,
         a_node_that_comes_back/1,
         a_suspended_node/1,
         nodes_that_are_down/1,
         a_node_that_cannot_begin/1,
         an_adopted_node_that_traces/1,
         another_session_begins_afresh/1,
         a_session_ends_what_is_at_work/1,
         what_is_undone_while_a_node_comes_back/1,
         expressions_are_expanded_on_one_node/1,
         nodes_that_are_always_kept/1,
         history/1,
         autostart_data/1,
         a_system_without_distribution/1,
         lib/1]).

%% Functions that nodes call.
-export([tdg/4, tdg_once/3, optg/2]).

-import(inviso_test_lib, [call/4, wait_until/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [start_and_stop,
     one_that_is_killed,
     configuration,
     a_session,
     arguments_that_are_wrong,
     initial_trace_cases,
     trace_cases,
     trace_cases_that_fail,
     commands,
     a_node_that_comes_back,
     a_suspended_node,
     nodes_that_are_down,
     a_node_that_cannot_begin,
     an_adopted_node_that_traces,
     another_session_begins_afresh,
     a_session_ends_what_is_at_work,
     what_is_undone_while_a_node_comes_back,
     expressions_are_expanded_on_one_node,
     nodes_that_are_always_kept,
     history,
     autostart_data,
     a_system_without_distribution,
     lib].

init_per_testcase(a_system_without_distribution = Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N = inviso_test_lib:start_alone(Dir),
    [{nodes, [N]}, {dir, cases(Dir)} | Config];
init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N1 = inviso_test_lib:shared_node(tool1, Dir),
    N2 = inviso_test_lib:start_stock_node(tool2, Dir),
    ok = inviso_test_lib:connect([N1, N2]),
    [{nodes, [N1, N2]}, {dir, cases(Dir)} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || N <- ?config(nodes, Config)],
    ok.

%% Writes four trace cases: the first can be undone, the second cannot, the
%% third fails, and the fourth runs until the test ends it.
cases(Dir) ->
    Cases = filename:join(Dir, "cases"),
    ok = filelib:ensure_dir(filename:join(Cases, "x")),
    _ = [ok = file:write_file(filename:join(Cases, Name), Text)
         || {Name, Text} <-
                [{"calls.on", "inviso:tpl(Nodes, M, F, '_', [])."},
                 {"calls.off", "inviso:ctpl(Nodes, M, F, '_')."},
                 {"flags.on", "inviso:tf(Nodes, all, [call, timestamp])."},
                 {"bad.on", "ok.\nno_such:function(Nodes)."},
                 {"slow.on", "register(slow, self()), receive go -> gone end."},
                 {"cases.def",
                  "{calls, on_off, ['M', 'F'], \"calls.on\", \"calls.off\"}.\n"
                  "{flags, on, [], \"flags.on\"}.\n"
                  "{bad, on, [], \"bad.on\"}.\n"
                  "{slow, on_off, [], \"slow.on\", \"slow.on\"}.\n"
                  "{none, on, [], \"no_such_file\"}.\n"}]],
    Cases.

config(Config) ->
    [{nodes, [Node || #{name := Node} <- ?config(nodes, Config)]},
     {dir, ?config(dir, Config)}, {tc_def_file, "cases.def"}].

start(Config) -> start(Config, []).

start(Config, More) ->
    [N | _] = ?config(nodes, Config),
    {ok, _} = tool(N, start, [More ++ config(Config)]),
    N.

tool(N, F, Args) -> call(N, inviso_tool, F, Args).

names(Config) ->
    [Name || #{name := Name} <- ?config(nodes, Config)].

%% --- cases ------------------------------------------------------------------

%% Tests start/0,1, stop/0,1, get_loopdata/0 and std_options_generator/1.
start_and_stop(Config) ->
    [N1, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    {'EXIT', _} = (catch tool(N1, stop, [])),
    {ok, Pid} = tool(N1, start, []),
    {error, {already_started, Pid}} = tool(N1, start, [[]]),
    {links, []} = call(N1, erlang, process_info, [Pid, links]),
    true = is_tuple(tool(N1, get_loopdata, [])),
    {ok, {inactive, running}} = tool(N1, get_node_status, []),
    {error, unknown_node} = tool(N1, get_node_status, [Node2]),
    {ok, [{Node1, ok}]} = tool(N1, stop, []),
    wait_until(fun() -> {call(N1, erlang, whereis, [inviso_rt]),
                         call(N1, erlang, whereis, [inviso_c])}
                            =:= {undefined, undefined} end),
    {ok, _} = call(N1, inviso, start, []),
    {error, {error, {inviso_control_already_running, Node1}}} =
        tool(N1, start, []),
    shutdown = call(N1, inviso, stop, []),
    {error, {error, {inviso_control_node_error, {badrpc, noconnection}}}} =
        tool(N1, start, [[{c_node, nowhere@nohost}]]),
    %% The argument of stop/1 names a node. The runtime component of this node does not end.
    N1 = start(Config),
    {ok, {1, _}} = tool(N1, start_session, []),
    {ok, [{Node1, ok}, {Node2, patterns_untouched}]} =
        tool(N1, stop, [[Node2]]),
    wait_until(fun() -> call(N1, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    {ok, {tracing, running}} = call(N2, gen_server, call,
                                    [inviso_rt, get_status]),
    [] = call(N1, inviso_tool, std_options_generator, [Node1]).

%% If the tool is killed, the processes that it has started end on every node.
one_that_is_killed(Config) ->
    [N1, N2] = ?config(nodes, Config),
    N3 = #{name := Node3} = inviso_test_lib:start_node(tool3,
                                                       ?config(dir, Config)),
    ok = inviso_test_lib:connect([N1, N2, N3]),
    N1 = start(Config, [{c_node, Node3}]),
    {ok, {1, _}} = tool(N1, start_session, []),
    true = is_pid(call(N3, erlang, whereis, [inviso_c])),
    true = call(N1, erlang, exit, [call(N1, erlang, whereis, [inviso_tool]),
                                   kill]),
    _ = [wait_until(fun() -> call(N, erlang, whereis, [Name]) =:= undefined
                    end)
         || {N, Name} <- [{N3, inviso_c}, {N1, inviso_rt}, {N2, inviso_rt}]],
    %% If the tool's control component is killed, the tool ends too.
    N1 = start(Config, [{c_node, Node3}]),
    true = call(N3, erlang, exit, [call(N3, erlang, whereis, [inviso_c]),
                                   kill]),
    wait_until(fun() -> call(N1, erlang, whereis, [inviso_tool]) =:= undefined
               end),
    inviso_test_lib:stop_node(N3).

%% Tests start/1 with options as arguments and in a file.
configuration(Config) ->
    [N1, _] = ?config(nodes, Config),
    Dir = ?config(dir, Config),
    _ = [{error, {error, {start_up, Why}}} = tool(N1, start, [Args])
         || {Args, Why} <-
                [{[{nodes, x}], {bad_option, {nodes, x}}},
                 {[nonsense], {bad_option, nonsense}},
                 {[{optg, x}], {bad_option, {optg, x}}},
                 {[{config_file, "/no/such"}], {"/no/such", enoent}},
                 {[{tc_def_file, "/no/such"}], {"/no/such", enoent}},
                 {x, {badarg, x}}]],
    Def = filename:join(Dir, "bad.def"),
    ok = file:write_file(Def, "{a, on, x, \"f\"}."),
    {error, {error, {start_up, {bad_tracecase_definition, {a, on, x, "f"}}}}} =
        tool(N1, start, [[{tc_def_file, Def}]]),
    ok = file:write_file(Def, "{a, on, "),
    {error, {error, {start_up, {Def, "1: " ++ _}}}} =
        tool(N1, start, [[{tc_def_file, Def}]]),
    %% An argument overrides a term in the file.
    File = filename:join(Dir, "tool.conf"),
    ok = file:write_file(File, io_lib:format("~p.~n~p.~n",
                                             [{nodes, names(Config)},
                                              {debug, off}])),
    {ok, _} = tool(N1, start, [[{config_file, File}]]),
    {ok, [_, _]} = tool(N1, stop, []),
    ok = call(N1, application, set_env,
              [inviso, inviso_tool_config_file, File]),
    {ok, _} = tool(N1, start, []),
    {ok, [_, _]} = tool(N1, stop, []),
    ok = call(N1, application, unset_env, [inviso, inviso_tool_config_file]),
    %% Definitions may be in the directory of trace cases, or in the current
    %% directory.
    ok = file:write_file(filename:join(dir_of(N1), "here.def"),
                         "{calls, on, ['M', 'F', 'Nodes'], \"calls.on\"}."),
    {ok, _} = tool(N1, start, [[{c_node, undefined}, {dir, Dir},
                                {tc_def_file, "here.def"}]]),
    {ok, {1, {ok, [_]}}} = tool(N1, start_session, []),
    {ok, [{_, {ok, [2]}}]} =
        tool(N1, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {error, already_started} = tool(N1, sync_atc, [calls, 1, []]),
    {ok, [_]} = tool(N1, stop, []),
    true = call(N1, os, putenv, ["inviso_tool_config_file", File]),
    {ok, _} = tool(N1, start, [[{nodes, local_runtime}, {debug, full}]]),
    {ok, [_]} = tool(N1, stop, []).

%% Tests start_session/0,1, stop_session/0, get_session_data/0,
%% get_node_status/0,1, reset_nodes/0,1 and flush/0,1.
a_session(Config) ->
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    _ = [{error, no_session} = tool(N1, F, Args)
         || {F, Args} <- [{stop_session, []}, {get_session_data, []},
                          {reinitiate_session, []}, {atc, [calls, 1, []]},
                          {sync_atc, [calls, 1, []]}, {sync_rtc, [calls, []]},
                          {dtc, [calls, 1]}, {sync_dtc, [calls, 1]},
                          {inviso, [tp, [[]]]}]],
    {error, already_running} = tool(N1, reactivate, []),
    {ok, []} = tool(N1, flush, []),
    {ok, {1, {ok, [{Node1, {ok, [{trace_log, ok}, {ti_log, ok}]}},
                   {Node2, {ok, _}}]}}} = tool(N1, start_session, []),
    {error, session_already_started} = tool(N1, start_session, [[]]),
    {error, session_already_started} = tool(N1, restore_session, []),
    {error, session_active} = tool(N1, reset_nodes, []),
    {ok, {tracing, 1, [{{_, _, _}, {_, _, _}}]}} =
        tool(N1, get_session_data, []),
    {ok, {tracing, running}} = tool(N1, get_node_status, [Node2]),
    {ok, [{Node1, ok}, {Node2, ok}]} = tool(N1, flush, []),
    {ok, [{Node2, ok}]} = tool(N1, flush, [[Node2]]),
    {ok, []} = tool(N1, get_activities, []),
    {ok, {1, [{Node1, ok}, {Node2, ok}]}} = tool(N1, stop_session, []),
    {ok, {not_tracing, 1, [_]}} = tool(N1, get_session_data, []),
    {ok, [{Node2, {ok, {new, running}}}]} = tool(N1, reset_nodes, [[Node2]]),
    {ok, [{Node1, _}, {Node2, _}]} = tool(N1, reset_nodes, []),
    [_, _] = filelib:wildcard(filename:join(dir_of(N1), "tool1_*.{log,ti}")),
    {ok, _} = tool(N1, stop, []),
    %% It is an error if the tracerdata generator does not exist or returns a
    %% wrong term.
    N1 = start(Config, [{tdg, {?MODULE, no_such, [x]}}]),
    {error, {bad_tdg, {error, undef}}} = tool(N1, start_session, []),
    {ok, _} = tool(N1, stop, []),
    N1 = start(Config, [{tdg, {lists, append, []}}]),
    {error, {bad_tdg, _}} = tool(N1, start_session, []),
    {ok, _} = tool(N1, stop, []),
    N1 = start(Config, [{tdg, {inviso_tool_SUITE, tdg, [own]}}]),
    load(N1),
    {ok, {1, {ok, _}}} = tool(N1, start_session, [["more"]]),
    {ok, {tracing, 1, [_, "more", own]}} = tool(N1, get_session_data, []),
    {ok, {1, _}} = tool(N1, stop_session, []),
    [_] = filelib:wildcard(filename:join(dir_of(N1), "more_own.log")).

%% Each wrong argument is answered with an error, and the tool's process does not end.
arguments_that_are_wrong(Config) ->
    N1 = start(Config),
    Pid = call(N1, erlang, whereis, [inviso_tool]),
    Wrong = fun() ->
                    [{error, {badarg, Bad}} = tool(N1, F, [Bad | More])
                     || {F, More} <- [{stop, []}, {reconnect_nodes, []},
                                      {reset_nodes, []}, {flush, []},
                                      {reinitiate_session, []},
                                      {get_autostart_data, [infinity]}],
                        Bad <- [x, {a, b}, [x | y], [1]],
                        {F, Bad} =/= {reconnect_nodes, x}],
                    {ok, [{x, {error, unknown_node}}]} =
                        tool(N1, reconnect_nodes, [x]),
                    [{error, {bad_filename, Bad}} =
                         tool(N1, save_history, [Bad])
                     || Bad <- [x, {a, b}, "a\0b"]],
                    [{error, {badarg, x}} = tool(N1, F, Args ++ [x])
                     || {F, Args} <- [{sync_atc, [calls, 1, []]},
                                      {sync_rtc, [calls, []]},
                                      {sync_dtc, [calls, 1]}]],
                    [{error, {badarg, Bad}} = tool(N1, F, [Bad])
                     || {F, Bad} <- [{stop, all}, {start_session, x},
                                     {start_session, [x | y]},
                                     {restore_session, x}]]
            end,
    _ = Wrong(),
    {ok, _} = tool(N1, start_session, []),
    _ = Wrong(),
    Pid = call(N1, erlang, whereis, [inviso_tool]),
    {ok, _} = tool(N1, stop, []).

tdg(_Node, {{_, _, _}, {_, _, _}}, More, Own) ->
    {file, More ++ "_" ++ atom_to_list(Own) ++ ".log"}.

%% Tests the option {initial_tcs, _}.
initial_trace_cases(Config) ->
    N1 = start(Config, [{initial_tcs, [{calls, [{'M', lists}, {'F', seq}]},
                                       {no_such, []}, {flags, []}]}]),
    {ok, {1, _}} = tool(N1, start_session, []),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    {error, already_started} =
        tool(N1, sync_atc, [calls, {initial, 1}, [{'M', a}, {'F', b}]]),
    [1, 2] = call(N1, lists, seq, [1, 2]),
    true = recorded(N1) > 0,
    {ok, _} = tool(N1, stop, []).

%% Tests atc/3, sync_atc/3,4, dtc/2, sync_dtc/2,3, sync_rtc/2,3 and
%% get_activities/0.
trace_cases(Config) ->
    [_, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    Seq = [{'M', lists}, {'F', seq}],
    {ok, [{Node1, {ok, [2]}}, {Node2, {ok, [2]}}]} =
        tool(N1, sync_atc, [calls, 1, Seq]),
    {error, already_started} = tool(N1, atc, [calls, 1, Seq]),
    ok = tool(N1, atc, [calls, two, [{'M', lists}, {'F', nth}]]),
    {ok, [{Node1, {ok, [_]}}, {Node2, {ok, [_]}}]} =
        tool(N1, sync_rtc, [flags, []]),
    {ok, [_, _]} = tool(N1, sync_rtc, [flags, [], 10000]),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    Before = recorded(N2),
    true = Before > 0,
    {error, unknown_id} = tool(N1, dtc, [calls, 3]),
    {ok, [{Node1, {ok, [2]}}, {Node2, {ok, [2]}}]} =
        tool(N1, sync_dtc, [calls, 1]),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    Before = recorded(N2),
    ok = tool(N1, dtc, [calls, two]),
    wait_until(fun() -> tool(N1, dtc, [calls, two]) =:= {error, unknown_id}
               end),
    %% get_activities/0 names a trace case while it is being activated or deactivated.
    ok = tool(N1, atc, [slow, 1, []]),
    {ok, [{tracecases, [{{slow, 1}, activating}]}]} =
        tool(N1, get_activities, []),
    {error, activating} = tool(N1, sync_atc, [slow, 1, []]),
    {error, activating} = tool(N1, sync_dtc, [slow, 1]),
    go(N1),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    {error, timeout} = tool(N1, sync_dtc, [slow, 1, 100]),
    {error, already_deactivating} = tool(N1, dtc, [slow, 1]),
    {error, deactivating} = tool(N1, atc, [slow, 1, []]),
    go(N1),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    %% If the session ends, a caller that still waits for a trace case gets an answer.
    Self = self(),
    _ = spawn_link(fun() -> Self ! {slow, tool(N1, sync_atc, [slow, 2, [],
                                                              60000])}
                   end),
    wait_until(fun() -> call(N1, erlang, whereis, [slow]) =/= undefined end),
    {ok, {1, _}} = tool(N1, stop_session, []),
    {error, no_session} = receive {slow, R} -> R end,
    {ok, _} = tool(N1, stop, []).

trace_cases_that_fail(Config) ->
    Dir = ?config(dir, Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    _ = [begin
             {error, unknown_tracecase} = tool(N1, F, [no_such | A] ++ [[]]),
             {error, {missing_variable, 'F'}} =
                 tool(N1, F, [calls | A] ++ [[{'M', x}]]),
             {error, {badarg, x}} = tool(N1, F, [calls | A] ++ [x])
         end || {F, A} <- [{atc, [1]}, {sync_atc, [1]}, {sync_rtc, []}]],
    Bad = filename:join(Dir, "bad.on"),
    {error, {faulty_tracecase,
             {Bad, {2, {error, {undef, {no_such, function, 1}}}}}}} =
        tool(N1, sync_atc, [bad, 1, []]),
    %% The trace case that has failed is not active.
    {error, {faulty_tracecase, _}} = tool(N1, sync_atc, [bad, 1, []]),
    {error, unknown_id} = tool(N1, dtc, [bad, 1]),
    None = filename:join(Dir, "no_such_file"),
    {error, {faulty_tracecase, {None, {0, {file, enoent}}}}} =
        tool(N1, sync_rtc, [none, []]),
    ok = tool(N1, atc, [bad, 2, []]),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    {ok, _} = tool(N1, sync_atc, [flags, 1, []]),
    {error, no_deactivation} = tool(N1, dtc, [flags, 1]),
    {error, no_deactivation} = tool(N1, sync_dtc, [flags, 1]),
    {error, timeout} = tool(N1, sync_atc, [slow, 1, [], 100]),
    {error, no_history} = begin
                              {ok, _} = tool(N1, stop, []),
                              N1 = start(Config),
                              tool(N1, save_history, ["x"])
                          end.

%% Tests inviso/2.
commands(Config) ->
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    All = fun(R) -> {ok, [{Node1, R}, {Node2, R}]} end,
    Good = [{tp, [lists, seq, 2, []], {ok, [1]}},
            {tpl, [[{lists, seq, 2, []}]], {ok, [1]}},
            {tpl, ["lists", seq, 2, [], [only_loaded]], {ok, [1]}},
            {ctpl, [lists, seq, 2], {ok, [1]}},
            {ctp, [[{lists, seq, 2}]], {ok, [1]}},
            {ctf_all, [], ok}, {ctp_all, [], ok},
            {tpm_localnames, [], {{ok, 1}, {ok, 1}}},
            {ctpm_localnames, [], {ok, ok}},
            {tpm, [lists, seq, 2, [], void], {ok, 1}},
            {tpm_ms, [lists, seq, 2, n, []], {ok, 1}},
            {ctpm_ms, [lists, seq, 2, n], ok},
            {ctpm, [lists, seq, 2], ok},
            {suspend, [why], ok}],
    _ = [begin
             Is = All(Result),
             {F, Is} = {F, tool(N1, inviso, [F, Args])}
         end || {F, Args, Result} <- Good],
    %% The tool calls tp only on nodes that trace. No node traces now, so the result is empty.
    {ok, []} = tool(N1, inviso, [tp, [lists, seq, 2, []]]),
    {ok, [{Node1, ok}, {Node2, ok}]} = tool(N1, inviso,
                                            [cancel_suspension, []]),
    {ok, [{Node1, {ok, [_]}}, {Node2, {ok, [_]}}]} =
        tool(N1, inviso, [tf, [all, [call]]]),
    _ = [{error, invalid_function_name} = tool(N1, inviso, [F, Args])
         || {F, Args} <- [{stop, []}, {clear, []}, {tp, []}, {tp, [a, b]},
                          {suspend, []}, {nonsense, [1]}]],
    {error, {badarg, x}} = tool(N1, inviso, [tp, x]),
    {ok, _} = tool(N1, stop, []).

%% Tests reconnect_nodes/0,1 and reinitiate_session/0,1. A node is restarted,
%% and the tool repeats the session's commands on this node.
a_node_that_comes_back(Config) ->
    [N1, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {ok, _} = tool(N1, sync_atc, [calls, 2, [{'M', lists}, {'F', nth}]]),
    true = call(N2, erlang, exit, [call(N2, erlang, whereis, [inviso_rt]),
                                   kill]),
    wait_until(fun() -> tool(N1, get_node_status, [Node2]) =:= {ok, down} end),
    {ok, {ok, [{Node1, {error, already_in_session}},
               {Node2, {error, down}}]}} =
        tool(N1, reinitiate_session, []),
    {ok, [{Node1, {ok, [1]}}]} = tool(N1, sync_dtc, [calls, 2]),
    {ok, [{Node1, {ok, [_]}}]} = tool(N1, inviso, [tf, [all, [call]]]),
    {ok, [{Node1, {error, already_connected}},
          {Node2, {ok, {inactive, running}}}]} =
        tool(N1, reconnect_nodes, []),
    {ok, [{nowhere@nohost, {error, unknown_node}}]} =
        tool(N1, reconnect_nodes, [[nowhere@nohost]]),
    {error, already_running} = tool(N1, reactivate, [Node2]),
    {ok, {ok, [{nowhere@nohost, {error, unknown_node}},
               {Node2, {ok, [{trace_log, ok}, {ti_log, ok}]}}]}} =
        tool(N1, reinitiate_session, [[nowhere@nohost, Node2]]),
    wait_until(fun() ->
                       tool(N1, get_node_status, [Node2]) =:=
                           {ok, {tracing, running}}
               end),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    1 = call(N2, lists, nth, [1, [1]]),
    1 = recorded(N2, "lists,seq"),
    0 = recorded(N2, "lists,nth"),
    {ok, _} = tool(N1, stop, []).

%% Tests reactivate/0,1.
a_suspended_node(Config) ->
    [_, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {ok, _} = tool(N1, sync_atc, [flags, 1, []]),
    {error, already_running} = tool(N1, reactivate, []),
    {error, unknown_node} = tool(N1, reactivate, [nowhere@nohost]),
    {ok, [{Node2, ok}]} = call(N1, inviso, suspend, [[Node2], why]),
    {ok, {tracing, suspended}} = tool(N1, get_node_status, [Node2]),
    {ok, {ok, [{Node2, {error, suspended}}]}} =
        tool(N1, reinitiate_session, [[Node2]]),
    {ok, [{Node1, {ok, [2]}}]} =
        tool(N1, sync_atc, [calls, 2, [{'M', ordsets}, {'F', union}]]),
    %% get_activities/0 names a node while it is being reactivated.
    ok = tool(N1, atc, [slow, 1, []]),
    go(N1),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    ok = tool(N1, reactivate, [Node2]),
    {ok, [{reactivating_nodes, [Node2]}]} = tool(N1, get_activities, []),
    {ok, reactivating} = tool(N1, get_node_status, [Node2]),
    {error, reactivating} = tool(N1, reactivate, [Node2]),
    %% A trace case that is activated during the reactivation is also activated on Node2.
    {ok, [{Node1, {ok, [_]}}]} =
        tool(N1, sync_atc, [calls, 3, [{'M', orddict}, {'F', new}]]),
    go(N1),
    wait_until(fun() -> tool(N1, get_node_status, [Node2]) =:=
                            {ok, {tracing, running}} end),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    [] = call(N2, ordsets, union, [[], []]),
    [] = call(N2, orddict, new, []),
    [1, 1, 1] = [recorded(N2, W) || W <- ["lists,seq", "ordsets,union",
                                          "orddict,new"]],
    true = call(N2, erlang, exit, [call(N2, erlang, whereis, [inviso_rt]),
                                   kill]),
    wait_until(fun() -> tool(N1, reactivate, [Node2]) =:=
                            {error, not_available} end),
    {ok, _} = tool(N1, stop, []).

%% A request for all nodes leaves out nodes that are down.
nodes_that_are_down(Config) ->
    [_, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config),
    die(N2),
    wait_until(fun() -> tool(N1, get_node_status, [Node2]) =:= {ok, down} end),
    {ok, {1, {ok, [{Node1, {ok, _}}]}}} = tool(N1, start_session, []),
    {ok, [{Node1, ok}]} = tool(N1, flush, []),
    {ok, {1, [{Node1, ok}]}} = tool(N1, stop_session, []),
    {ok, [{Node1, {ok, {new, running}}}]} = tool(N1, reset_nodes, []),
    die(N1),
    wait_until(fun() -> tool(N1, get_node_status, [Node1]) =:= {ok, down} end),
    {ok, {2, {ok, []}}} = tool(N1, start_session, []),
    {ok, []} = tool(N1, flush, []),
    {ok, {2, []}} = tool(N1, stop_session, []),
    {ok, []} = tool(N1, reset_nodes, []),
    {ok, []} = tool(N1, stop, []).

%% If init_tracing fails on a node, the node gets the status `trace_failure'. reinitiate_session
%% then tries the node again.
a_node_that_cannot_begin(Config) ->
    [Node1, Node2] = names(Config),
    N1 = start(Config, [{tdg, {?MODULE, tdg_once, [Node2]}}]),
    load(N1),
    {ok, {1, {ok, [{Node1, {ok, _}}, {Node2, {error, _}}]}}} =
        tool(N1, start_session, []),
    {ok, {trace_failure, running}} = tool(N1, get_node_status, [Node2]),
    {error, trace_failure} = tool(N1, reactivate, [Node2]),
    true = call(N1, os, putenv, ["TDG_ONCE", "done"]),
    {ok, {ok, [{Node1, {error, already_in_session}}, {Node2, {ok, _}}]}} =
        tool(N1, reinitiate_session, []),
    wait_until(fun() -> tool(N1, get_node_status, [Node2]) =:=
                            {ok, {tracing, running}} end),
    {ok, {1, [{Node1, ok}, {Node2, ok}]}} = tool(N1, stop_session, []),
    {ok, {inactive, running}} = tool(N1, get_node_status, [Node2]),
    {ok, _} = tool(N1, stop, []).

%% Returns a log in a directory that does not exist, until TDG_ONCE is set.
tdg_once(Node, _, Node) ->
    case os:getenv("TDG_ONCE") of
        false -> {file, "/no/such/dir/a.log"};
        _ -> {file, "again.log"}
    end;
tdg_once(_, _, _) ->
    {file, "a.log"}.

%% A node that traces already when the tool adds it joins the session, and keeps its own settings.
an_adopted_node_that_traces(Config) ->
    [_, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config, [{keep_nodes, [Node2]}]),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [flags, 1, []]),
    {ok, [{Node1, ok}, {Node2, patterns_untouched}]} = tool(N1, stop, []),
    N1 = start(Config, [{initial_tcs, [{calls, [{'M', lists}, {'F', seq}]},
                                       {flags, []}]}]),
    {ok, {tracing, running}} = tool(N1, get_node_status, [Node2]),
    {ok, {1, {ok, [{Node1, {ok, _}}]}}} = tool(N1, start_session, []),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    [1, 2] = call(N1, lists, seq, [1, 2]),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    {1, 0} = {recorded(N1, "lists,seq"), recorded(N2, "lists,seq")},
    %% Later requests of the tool go to both nodes.
    {ok, [{Node1, _}, {Node2, _}]} =
        tool(N1, inviso, [tpl, [lists, seq, 2, []]]),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    1 = recorded(N2, "lists,seq"),
    {ok, {1, [{Node1, ok}, {Node2, ok}]}} = tool(N1, stop_session, []),
    {ok, _} = tool(N1, stop, []).

%% The next session does not have the patterns of the session before.
another_session_begins_afresh(Config) ->
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {ok, _} = tool(N1, stop_session, []),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [flags, 1, []]),
    [1, 2] = call(N1, lists, seq, [1, 2]),
    0 = recorded(N1, "lists,seq"),
    {ok, _} = tool(N1, stop, []).

%% If a session ends while a trace case still runs, the trace case ends, too. This is tested for a
%% trace case on the tool's node, and for one on another node.
a_session_ends_what_is_at_work(Config) ->
    [N1, _] = ?config(nodes, Config),
    N3 = #{name := Node3} = inviso_test_lib:start_node(tool3,
                                                       ?config(dir, Config)),
    ok = inviso_test_lib:connect([N1, N3]),
    _ = [begin
             N1 = start(Config, [{c_node, Name}]),
             {ok, _} = tool(N1, start_session, []),
             ok = tool(N1, atc, [slow, 1, []]),
             wait_until(fun() -> is_pid(call(N, erlang, whereis, [slow])) end),
             {ok, _} = tool(N1, stop_session, []),
             wait_until(fun() -> call(N, erlang, whereis, [slow]) =:= undefined
                        end),
             {ok, _} = tool(N1, stop, [])
         end || #{name := Name} = N <- [N1, N3]],
    true = Node3 =/= maps:get(name, N1),
    inviso_test_lib:stop_node(N3).

%% A trace case is undone while a node is being reactivated. After that, the trace case is also
%% undone on this node.
what_is_undone_while_a_node_comes_back(Config) ->
    [_, N2] = ?config(nodes, Config),
    [_, Node2] = names(Config),
    N1 = start(Config),
    {ok, _} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [flags, 1, []]),
    Seq = [{'M', lists}, {'F', seq}],
    {ok, _} = tool(N1, sync_atc, [calls, 1, Seq]),
    ok = tool(N1, atc, [slow, 1, []]),
    go(N1),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    {ok, _} = call(N1, inviso, suspend, [[Node2], why]),
    ok = tool(N1, reactivate, [Node2]),
    %% When the trace case `slow' runs on N1, the trace case `calls' has already
    %% been activated on the reactivated node.
    wait_until(fun() -> is_pid(call(N1, erlang, whereis, [slow])) end),
    {ok, _} = tool(N1, sync_dtc, [calls, 1]),
    go(N1),
    wait_until(fun() -> tool(N1, get_node_status, [Node2]) =:=
                            {ok, {tracing, running}} end),
    [1, 2] = call(N2, lists, seq, [1, 2]),
    0 = recorded(N2, "lists,seq"),
    {ok, _} = tool(N1, stop, []).

%% Tests the option {regexp_node, Node}: regular expressions are expanded on this node only. Only
%% Node1 has modules whose names match. The option may also name a node that is down.
expressions_are_expanded_on_one_node(Config) ->
    [N1, _] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    load(N1),
    Own = "inviso_tool_SUI",
    Count = length([F || {F, _} <- ?MODULE:module_info(functions)]),
    _ = [begin
             N1 = start(Config, [{regexp_node, Node}]),
             {ok, _} = tool(N1, start_session, []),
             {ok, [{Node1, {ok, [Count]}}, {Node2, {ok, [0]}}]} =
                 tool(N1, inviso, [tpl, [Own, '_', '_', [], [only_loaded]]]),
             {ok, [{Node1, {ok, [Count, 2]}}, {Node2, {ok, [0, 2]}}]} =
                 tool(N1, inviso, [ctpl, [[{Own, '_', '_'},
                                           {lists, seq, '_'}]]]),
             {ok, _} = tool(N1, stop, [])
         end || Node <- [Node1, nowhere@nohost]],
    %% Without the option, each node expands regular expressions itself.
    N1 = start(Config, [{regexp_node, undefined}]),
    {ok, _} = tool(N1, start_session, []),
    {ok, [{Node1, {ok, [Count]}}, {Node2, {ok, []}}]} =
        tool(N1, inviso, [tpl, ["inviso_tool_SUI.*", '_', '_', [],
                                [only_loaded]]]),
    {ok, _} = tool(N1, stop, []),
    N1 = start(Config, [{nodes, []}, {regexp_node, nowhere@nohost}]),
    {ok, _} = tool(N1, start_session, []),
    {error, no_available_regexpnode} = tool(N1, inviso, [tp, ["x", y, 1, []]]),
    {ok, []} = tool(N1, stop, []).

%% Tests the option {keep_nodes, _}.
nodes_that_are_always_kept(Config) ->
    [_, N2] = ?config(nodes, Config),
    [Node1, Node2] = names(Config),
    N1 = start(Config, [{keep_nodes, [Node2]}]),
    {ok, _} = tool(N1, start_session, []),
    {ok, [{Node1, ok}, {Node2, patterns_untouched}]} = tool(N1, stop, []),
    wait_until(fun() -> call(N1, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    {ok, {tracing, running}} = call(N2, gen_server, call,
                                    [inviso_rt, get_status]).

%% Tests save_history/1 and restore_session/0,1,2.
history(Config) ->
    [N1, N2] = ?config(nodes, Config),
    Dir = ?config(dir, Config),
    N1 = start(Config),
    {error, no_history} = tool(N1, restore_session, []),
    {ok, _} = tool(N1, start_session, []),
    {error, no_history} = tool(N1, save_history, ["h"]),
    {ok, {1, _}} = tool(N1, stop_session, []),
    %% The last session is restored.
    {ok, {2, {ok, [_, _]}}} = tool(N1, restore_session, []),
    {ok, {2, _}} = tool(N1, stop_session, []),
    {ok, {3, _}} = tool(N1, start_session, []),
    {ok, _} = tool(N1, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {ok, _} = tool(N1, sync_atc, [calls, 2, [{'M', lists}, {'F', nth}]]),
    {ok, _} = tool(N1, sync_dtc, [calls, 2]),
    {ok, _} = tool(N1, inviso, [tf, [all, [call]]]),
    {ok, _} = tool(N1, stop_session, []),
    History = filename:join(?config(dir, Config), "h"),
    {ok, History} = tool(N1, save_history, ["h"]),
    {error, {write_file, enoent}} =
        tool(N1, save_history, ["/no/such/dir/h"]),
    Restored = fun(Number) ->
                       wait_until(fun() -> tool(N1, get_activities, []) =:=
                                               {ok, []} end),
                       {ok, {tracing, Number, _}} =
                           tool(N1, get_session_data, []),
                       [1, 2] = call(N2, lists, seq, [1, 2]),
                       1 = call(N2, lists, nth, [1, [1]]),
                       {1, 0} = {recorded(N2, "lists,seq"),
                                 recorded(N2, "lists,nth")},
                       {error, already_started} =
                           tool(N1, atc, [calls, 1, [{'M', a}, {'F', b}]]),
                       {error, unknown_id} = tool(N1, dtc, [calls, 2]),
                       {ok, {Number, _}} = tool(N1, stop_session, [])
               end,
    {ok, {4, {ok, [_, _]}}} = tool(N1, restore_session, []),
    Restored(4),
    {ok, _} = tool(N1, stop, []),
    load(N1),
    N1 = start(Config, [{tdg, {?MODULE, tdg, [own]}}]),
    {ok, {1, {ok, [_, _]}}} = tool(N1, restore_session, [History, ["m"]]),
    wait_until(fun() -> tool(N1, get_activities, []) =:= {ok, []} end),
    {ok, {1, _}} = tool(N1, stop_session, []),
    {ok, {2, _}} = tool(N1, restore_session, [["m"]]),
    {ok, {2, _}} = tool(N1, stop_session, []),
    {ok, _} = tool(N1, stop, []),
    N1 = start(Config, [{history_dir, "histories"}]),
    {error, {read_file, enoent}} = tool(N1, restore_session, ["h"]),
    {ok, {1, _}} = tool(N1, restore_session, [History]),
    Restored(1),
    {error, {read_file, enoent}} = tool(N1, restore_session, ["/no/such"]),
    {error, {bad_filename, x}} = tool(N1, restore_session, [x, []]),
    Bad = filename:join(Dir, "bad"),
    _ = [begin
             ok = file:write_file(Bad, Text),
             {error, {bad_file, _}} = tool(N1, restore_session, [Bad])
         end || Text <- ["{a, b}.", "{inviso, tp, x}.", "{"]],
    {ok, _} = tool(N1, stop, []).

%% Tests get_autostart_data/1,2. The result leaves out trace cases that were
%% undone, and has the arguments for add_nodes and init_tracing.
autostart_data(Config) ->
    [Node1, Node2] = names(Config),
    N1 = start(Config, [{optg, {?MODULE, optg, [Node1]}},
                        {tdg, {?MODULE, tdg, [own]}}]),
    load(N1),
    {ok, [{Node1, {ok, _}}, {Node2, {error, {bad_optg, none}}}]} =
        tool(N1, reconnect_nodes, []),
    Date = calendar:universal_time(),
    {ok, {[], [{Node1, {ok, {[{dependency, 5}, {dir, "/tmp"}],
                             {tdg, {?MODULE, tdg, [Node1, _, own]}}}}},
               {Node2, {error, {bad_optg, none}}}]}} =
        tool(N1, get_autostart_data, [5]),
    {ok, _} = tool(N1, start_session, [["more"]]),
    Bs = [{'M', lists}, {'F', seq}],
    {ok, _} = tool(N1, sync_atc, [calls, 1, Bs]),
    {ok, _} = tool(N1, sync_atc, [calls, 2, [{'M', lists}, {'F', nth}]]),
    {ok, _} = tool(N1, inviso, [tf, [all, [call]]]),
    {ok, _} = tool(N1, sync_dtc, [calls, 2]),
    {ok, _} = tool(N1, sync_rtc, [flags, []]),
    File = filename:join(?config(dir, Config), "calls.on"),
    Flags = filename:join(?config(dir, Config), "flags.on"),
    Dependency = {dependency, {infinity, Node2}},
    {ok, {[{file, {File, Bs}}, {mfa, {inviso, tf, [all, [call]]}},
           {file, {Flags, []}}],
          [{Node1, {ok, {[Dependency, {dir, "/tmp"}] = Options,
                         {tdg, {M, F, [Node1, Then, "more", own] = Args}}}}}]}}
        = tool(N1, get_autostart_data, [[Node1], Dependency]),
    true = Then >= Date,
    {ok, _} = tool(N1, stop, []),
    wait_until(fun() -> call(N1, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    {ok, _} = call(N1, inviso, start, []),
    {ok, [{Node1, {ok, new}}]} = call(N1, inviso, add_nodes,
                                      [[Node1], tag, Options]),
    {ok, [{Node1, {ok, [{trace_log, ok}]}}]} =
        call(N1, inviso, init_tracing, [[{Node1, apply(M, F, Args)}]]).

optg(Node, Node) -> {ok, [{dir, "/tmp"}]};
optg(_, _) -> none.

a_system_without_distribution(Config) ->
    [N] = ?config(nodes, Config),
    {ok, _} = tool(N, start, [[{nodes, local_runtime}
                               | proplists:delete(nodes, config(Config))]]),
    {ok, {1, {ok, [{trace_log, ok}, {ti_log, ok}]}}} =
        tool(N, start_session, []),
    {ok, {tracing, running}} = tool(N, get_node_status, []),
    {ok, [2]} = tool(N, sync_atc, [calls, 1, [{'M', lists}, {'F', seq}]]),
    {ok, [_]} = tool(N, inviso, [tf, [all, [call]]]),
    [1, 2] = call(N, lists, seq, [1, 2]),
    {error, already_connected} = tool(N, reconnect_nodes, []),
    {ok, {error, already_in_session}} = tool(N, reinitiate_session, []),
    {ok, {[_, _], {ok, {[{dependency, 1}], {tdg, _}}}}} =
        tool(N, get_autostart_data, [1]),
    ok = tool(N, flush, []),
    {ok, {1, [ok]}} = tool(N, stop_session, []),
    {ok, {2, _}} = tool(N, restore_session, []),
    wait_until(fun() -> tool(N, get_activities, []) =:= {ok, []} end),
    ok = call(N, inviso, suspend, [why]),
    ok = tool(N, reactivate, []),
    wait_until(fun() -> tool(N, get_activities, []) =:= {ok, []} end),
    {ok, [2]} = tool(N, sync_dtc, [calls, 1]),
    true = call(N, erlang, exit, [call(N, erlang, whereis, [inviso_rt]), kill]),
    wait_until(fun() -> tool(N, get_node_status, []) =:= {ok, down} end),
    {ok, {2, []}} = tool(N, stop_session, []),
    {ok, {3, []}} = tool(N, start_session, []),
    {ok, {inactive, running}} = tool(N, reconnect_nodes, []),
    {ok, {ok, [{trace_log, ok}, {ti_log, ok}]}} =
        tool(N, reinitiate_session, []),
    ok = tool(N, stop, []).

%% Tests inviso_tool_lib: std_tdg/2, mk_tdg_args/2, mk_complete_tdg_args/2,
%% get_datetime_from_tdg_args/1, inviso_cmd/3 and debug/3.
lib(Config) ->
    [N1, _] = ?config(nodes, Config),
    Time = {{2026, 1, 2}, {3, 4, 5}},
    [{trace, {file, "a@b_2026-1-2_3-4-5.log"}},
     {ti, {file, "a@b_2026-1-2_3-4-5.ti"}}] =
        inviso_tool_lib:std_tdg(a@b, Time),
    Args = inviso_tool_lib:mk_tdg_args(Time, [x]),
    Time = inviso_tool_lib:get_datetime_from_tdg_args(Args),
    [a@b, Time, x] = inviso_tool_lib:mk_complete_tdg_args(a@b, Args),
    Cmd = fun(Node, F) -> call(N1, inviso_tool_lib, inviso_cmd, [Node, F, []])
          end,
    shutdown = Cmd(maps:get(name, N1), stop),
    {error, {badrpc, noconnection}} = Cmd(nowhere@nohost, stop),
    {error, {badrpc, undef}} = Cmd(maps:get(name, N1), no_such),
    {error, {badrpc, {noproc, _}}} = Cmd(maps:get(name, N1), get_status),
    ok = inviso_tool_lib:debug(off, a, b).

%% --- what the cases share ---------------------------------------------------

die(N) ->
    true = call(N, erlang, exit, [call(N, erlang, whereis, [inviso_rt]),
                                  kill]).

load(N) ->
    {Module, Bin, File} = code:get_object_code(?MODULE),
    {module, Module} = call(N, code, load_binary, [Module, File, Bin]),
    ok.

dir_of(#{dir := Dir}) -> Dir.

%% Sends the message `go' to the process `slow', which the slow trace case has started. Then the
%% process ends.
go(N) ->
    wait_until(fun() -> is_pid(call(N, erlang, whereis, [slow])) end),
    go = call(N, erlang, send, [slow, go]),
    wait_until(fun() -> call(N, erlang, whereis, [slow]) =:= undefined end).

recorded(N) -> recorded(N, ",call,").

%% Returns the number of lines that contain a text, in the newest log of a node.
recorded(N, What) ->
    ok = call(N, gen_server, call, [inviso_rt, flush]),
    {ok, [{trace_log, Dir, [File]} | _]} =
        call(N, gen_server, call, [inviso_rt, {list_logs, current}]),
    Out = filename:join(dir_of(N), "merged.txt"),
    Log = filename:join([dir_of(N), Dir, File]),
    {ok, _} = inviso_lfm:merge([{node(), [{trace_log, [Log]}]}], Out),
    {ok, Text} = file:read_file(Out),
    length([L || L <- string:split(Text, "\n", all),
                 string:find(L, What) =/= nomatch]).
