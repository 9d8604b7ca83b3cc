%% SPDX-License-Identifier: Apache-2.0
%% Tests of arming, which sets the patterns and flags of a session in steps. A plan is reported
%% before anything is set. Patterns are set before flags. Some processes are never traced. Disarming
%% clears everything. Nothing may be left on the node, which the cases share.
-module(inviso_arm_SUITE).

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([a_plan_counts_what_matches/1,
         nothing_matched_says_why/1,
         modules_that_are_not_loaded_are_loaded/1,
         hidden_exceptions_are_noted/1, names_that_are_near_are_suggested/1,
         an_embedded_node_loads_nothing/1,
         patterns_come_before_flags/1,
         the_vm_has_patterns_before_flags/1,
         a_pattern_that_another_session_has_lost_does_no_harm/1,
         it_can_be_abandoned_at_any_step/1,
         many_processes_take_many_steps/1,
         processes_born_meanwhile_are_not_missed/1,
         only_requested_processes_are_traced/1,
         children_and_linked_are_followed/1,
         ports_are_traced/1,
         other_events_are_traced/1,
         messages_of_the_distribution_are_left_out/1,
         our_own_are_never_traced/1,
         sensitive_processes_are_reported/1,
         counters_count/1,
         counters_of_others_are_not_touched/1,
         what_the_engine_cannot_do_is_refused/1,
         what_to_expect_is_counted/1,
         a_dry_run_changes_no_foreign_pattern/1,
         other_tools_are_named/1,
         leftovers_of_other_tools_are_reported/1,
         two_traces_of_garbage_collections_are_refused/1,
         inherited_traces_of_garbage_collections_are_refused/1,
         defects_of_the_vm_are_reported/1]).

-import(inviso_test_lib, [wait_until/1]).

-define(P, inviso_arm_probe).

all() ->
    [a_plan_counts_what_matches,
     nothing_matched_says_why,
     modules_that_are_not_loaded_are_loaded, hidden_exceptions_are_noted,
     names_that_are_near_are_suggested,
     an_embedded_node_loads_nothing,
     patterns_come_before_flags,
     the_vm_has_patterns_before_flags,
     a_pattern_that_another_session_has_lost_does_no_harm,
     it_can_be_abandoned_at_any_step,
     many_processes_take_many_steps,
     processes_born_meanwhile_are_not_missed,
     only_requested_processes_are_traced,
     children_and_linked_are_followed,
     ports_are_traced,
     other_events_are_traced,
     messages_of_the_distribution_are_left_out,
     our_own_are_never_traced,
     sensitive_processes_are_reported,
     counters_count,
     counters_of_others_are_not_touched,
     what_the_engine_cannot_do_is_refused,
     what_to_expect_is_counted,
     a_dry_run_changes_no_foreign_pattern,
     other_tools_are_named,
     leftovers_of_other_tools_are_reported,
     two_traces_of_garbage_collections_are_refused,
     inherited_traces_of_garbage_collections_are_refused,
     defects_of_the_vm_are_reported].

suite() -> [{timetrap, {seconds, 600}}].

init_per_testcase(_Case, Config) ->
    Dir = proplists:get_value(priv_dir, Config),
    Node = inviso_test_lib:shared_node(arm, Dir),
    true = inviso_test_lib:call(Node, code, add_patha, [ct_dir()]),
    {module, ?P} = inviso_test_lib:call(Node, code, ensure_loaded, [?P]),
    [{node, Node} | Config].

end_per_testcase(_Case, Config) ->
    Node = proplists:get_value(node, Config),
    true = inviso_test_lib:call(Node, code, del_path, [ct_dir()]),
    inviso_test_lib:stop_node(Node).

ct_dir() -> filename:dirname(filename:absname(code:which(?MODULE))).

on(Config, Fun) ->
    #{peer := Peer} = proplists:get_value(node, Config),
    peer:call(Peer, erlang, apply, [Fun, []], 120000).

plan(Specs) -> plan(Specs, []).

plan(Specs, Procs) -> plan(Specs, Procs, []).

plan(Specs, Procs, Follow) ->
    inviso_arm:plan(#{specs => [list_to_binary(S) || S <- Specs],
                      procs => [list_to_binary(P) || P <- Procs],
                      follow => Follow, yes => true}).

arm(Specs, Procs) -> arm(Specs, Procs, [], [self()]).

arm(Specs, Procs, Follow, Own) ->
    ?P:arm([list_to_binary(S) || S <- Specs],
           [list_to_binary(P) || P <- Procs], Follow, Own).

has(Why, Words) ->
    _ = [{Why, W, true} = {Why, W, string:find(Why, W) =/= nomatch}
         || W <- Words],
    ok.

has_sessions() -> inviso_vm:has_sessions().

%% Checks that nothing is traced in the VM: the legacy session has no trace
%% pattern, counter or trace flag, and there is no other session.
clean() ->
    [] = [{M, F, A, T} || {M, _} <- code:all_loaded(),
                          {F, A} <- M:module_info(functions),
                          {all, T} <- [erlang:trace_info({M, F, A}, all)],
                          T =/= false],
    [] = [P || P <- [new_processes, new_ports | processes()]
                   ++ erlang:ports(),
               {flags, [_ | _]} <- [erlang:trace_info(P, flags)]],
    [{match_spec, true} = erlang:trace_info(E, match_spec)
     || E <- [send, 'receive']],
    case has_sessions() of
        true -> [_VmsOwn] = trace:session_info(all);
        false -> ok
    end,
    ok.

flags_of(Tracing, Who) ->
    inviso_test_lib:flags_in(inviso_tracing:scope(Tracing), Who).

traced(Tracing) ->
    [P || P <- processes(), is_list(flags_of(Tracing, P)),
          flags_of(Tracing, P) =/= []].

%% --- the plan, before anything is set ----------------------------------------

a_plan_counts_what_matches(Config) ->
    on(Config, fun() ->
        Table = [{["lists:seq/2"], 2 - 1},
                 {["lists:seq"], 2},
                 {["lists:seq", "lists:seq/2 -> return"], 2},
                 {["lists:seq(1, _)", "lists:seq(2, _)"], 1},
                 {["lists"], length(lists:module_info(functions))},
                 {["lists:'_'"], length(lists:module_info(exports))},
                 {["lists", "lists:seq/2 -> count"],
                  length(lists:module_info(functions))},
                 {["lists:seq/2 -> count;time"], 1},
                 {["procs"], 0}],
        _ = [{S, {ok, _, #{functions := N}}} = {S, plan(S)} || {S, N} <- Table],
        {ok, _, #{processes := 1}} = plan(["procs"], ["init"]),
        {ok, _, #{processes := 2}} = plan(["procs"],
                                          ["init", ":init", "code_server"]),
        {ok, _, #{processes := 0}} = plan(["procs"], ["new"]),
        {ok, _, #{processes := Some}} = plan(["procs"]),
        true = Some > 20 andalso Some =< length(processes()),
        clean(),
        %% The plan gives the number of functions for which the VM will set a
        %% pattern.
        _ = [M:module_info() || M <- [ets, erlang, gen_server]],
        {ok, Plan, #{functions := All}} = plan(["'_'"]),
        Tracing = ?P:tracing(),
        Set = [{Pattern, N} || {Pattern, N} <- element(2, Plan)],
        [] = [{Pattern, N, Got}
              || {{Kind, MFA, MS} = Pattern, N} <- Set,
                 {Got, _} <- [inviso_tracing:set(Kind, MFA, MS, Tracing)],
                 Got =/= {ok, N}],
        All = lists:sum([N || {_, N} <- Set]),
        ?P:disarm(Tracing),
        clean()
    end).

nothing_matched_says_why(Config) ->
    on(Config, fun() ->
        ok = ?P:elixir(),
        Table =
            [{["listz:seq/2"], [], ["no module listz", "did you mean lists?"]},
             {["no_such_module"], [], ["no module no_such_module"]},
             {["lists:sek"], [], ["no function sek", "did you mean seq?"]},
             {["lists:seq/5"], [], ["no function seq/5", "seq/2, seq/3"]},
             {["lists:seq(1)"], [], ["no function seq/1", "seq/2, seq/3"]},
             {["'../lists':seq"], [], ["no module"]},
             {["Inviso.Prob.get"], [], ["Inviso.Prob ",
                                        "did you mean Inviso.Probe?"]},
             {["'Inviso.Probe':get"], [], ["'Elixir.Inviso.Probe'"]},
             {["Inviso.Probe.gat"], [], ["did you mean get?"]},
             {["Inviso.Probe.m"], [], ["is a macro"]},
             {["'_':no_such_function/9"], [], ["has a function that matches"]},
             {["procs"], ["nosuch"], ["no process is registered as nosuch"]},
             {["procs"], ["<0.30000.0>"], ["no process <0.30000.0>"]}],
        _ = [begin
                 {Specs, {error, nothing, Why}} = {Specs, plan(Specs, Procs)},
                 has(Why, Words)
             end || {Specs, Procs, Words} <- Table],
        Usage = [{[], [], ["no spec is given"]},
                 {["lists:"], [], ["function is expected"]},
                 {["lists"], ["<9.0.1>"], ["another node"]},
                 {["ports"], ["init"], ["which is a process"]},
                 {["procs"], [port_to_list(hd(erlang:ports()))],
                  ["is a port"]}],
        _ = [begin
                 {Specs, {error, usage, Why}} = {Specs, plan(Specs, Procs)},
                 has(Why, Words)
             end || {Specs, Procs, Words} <- Usage],
        clean()
    end).

modules_that_are_not_loaded_are_loaded(Config) ->
    on(Config, fun() ->
        %% Another case may have loaded it on this node.
        _ = [code:F(sofs) || F <- [purge, delete, purge]],
        false = erlang:module_loaded(sofs),
        {error, nothing, Why} =
            inviso_arm:plan(#{specs => [<<"sofs:set/1">>], procs => [],
                              follow => [], dry => true}),
        has(Why, ["sofs is not loaded", "tracing it loads it"]),
        false = erlang:module_loaded(sofs),
        {ok, _, #{functions := 1, notes := Notes}} = plan(["sofs:set/1"]),
        [_] = [N || N <- Notes,
                    string:find(N, "sofs was not loaded") =/= nomatch],
        true = erlang:module_loaded(sofs),
        {ok, _, #{functions := 1, notes := []}} =
            plan(["sofs:set/1"], ["init"]),
        {error, nothing, None} = plan(["no_such_module:f/1"]),
        has(None, ["no module no_such_module"]),
        {ok, _, #{notes := Private}} = plan(["inviso_arm_probe:hidden"]),
        [_] = [N || N <- Private, string:find(N, "not exported") =/= nomatch],
        ok
    end).

%% A spec may have the action {return_trace} without {exception_trace}. A note then tells the user
%% that exceptions are not recorded. The action `return' of a spec means {exception_trace}, which
%% records returns and exceptions, so there is no note.
hidden_exceptions_are_noted(Config) ->
    on(Config, fun() ->
        Raw = fun(Actions) ->
                      "lists:seq/2 [{'_',[],[{message,true}]},{['_',1],[],["
                          ++ Actions ++ "]}]"
              end,
        {ok, _, #{notes := [Note]}} = plan([Raw("{return_trace}")], ["init"]),
        has(Note, ["lists:seq/2 ", "{return_trace} alone", "{exception_trace}"]),
        [{ok, _, #{notes := []}} = plan([Spec], ["init"])
         || Spec <- [Raw("{return_trace},{exception_trace}"),
                     Raw("{exception_trace}"), Raw(""),
                     "lists:seq/2 -> return"]],
        ok
    end).

names_that_are_near_are_suggested(Config) ->
    on(Config, fun() ->
        _ = [begin
                 {ok, M, Code} = compile:forms([{attribute, 1, module, M}]),
                 {module, M} = code:load_binary(M, "x", Code)
             end || M <- ['Elixir.Code', 'Elixir.Shop.Cart', shop_cart]],
        Why = fun(Spec) ->
                      {error, nothing, Text} = plan([Spec]),
                      binary_to_list(Text)
              end,
        [has(Why(Spec), ["did you mean " ++ Near ++ "?"])
         || {Spec, Near} <- [{"shpo_cart:f/1", "shop_cart"},
                             {"shopcart:f/1", "shop_cart"},
                             {"lists:sqe/2", "seq"},
                             {"Shop.Crat.f/1", "Shop.Cart"},
                             {"Cod.f/1", "Code"}]],
        [nomatch = string:find(Why(Spec), "did you mean")
         || Spec <- ["Nope.f/1", "'Elixir.Nope':f/1", "Shop.f/1",
                     "lists:xyz/1"]],
        ok
    end).

an_embedded_node_loads_nothing(_Config) ->
    {ok, Peer, _} = peer:start_link(#{connection => inviso_test_lib:connection(),
                                      args => ["-mode", "embedded"]}),
    Ebin = inviso_test_lib:ebin(),
    [{module, M} = peer:call(Peer, code, load_abs,
                             [filename:join(Ebin, atom_to_list(M))])
     || M <- [inviso_vm, inviso_scope, inviso_vm_sessions, inviso_defects,
              inviso_other_tools, inviso_near, inviso_spec, inviso_spec_elixir,
              inviso_spec_system, inviso_spec_head, inviso_spec_procs,
              inviso_spec_group, inviso_arm,
              inviso_arm_decide, inviso_arm_foreign, inviso_arm_functions,
              inviso_arm_groups, inviso_arm_system,
              inviso_arm_list, inviso_arm_procs, inviso_arm_starts,
              inviso_functions
              | proplists:get_value(engine, inviso_pushed:rooms(), [])]],
    Plan = fun(Text) -> peer:call(Peer, inviso_arm, plan,
                                  [#{specs => [Text], procs => [],
                                     follow => []}])
           end,
    {error, nothing, Why} = Plan(<<"inviso_c:start">>),
    true = string:find(Why, "no module inviso_c") =/= nomatch,
    %% In embedded mode, the error says whether the module is not loaded or does not exist.
    true = peer:call(Peer, code, add_patha, [Ebin]),
    {error, nothing, Embedded} = Plan(<<"inviso_c:start">>),
    has(Embedded, ["inviso_c is not loaded", "embedded mode",
                   "code:load_file(inviso_c)"]),
    false = peer:call(Peer, erlang, module_loaded, [inviso_c]),
    {ok, _, #{functions := 1}} = Plan(<<"lists:seq/2 -> return">>),
    peer:stop(Peer).

%% --- arming step by step -----------------------------------------------------

patterns_come_before_flags(Config) ->
    on(Config, fun() ->
        {ok, Plan, #{functions := N}} = plan(["'_':init/1", "procs"]),
        Tracing = ?P:tracing(),
        _ = before_flags(inviso_arm:step(Plan, [], Tracing), N, 0),
        [call, procs] = lists:sort(flags_of(Tracing, new_processes)),
        ?P:disarm(Tracing),
        clean()
    end).

before_flags({more, {N, N}, Plan, T}, N, _) ->
    before_flags(inviso_arm:step(Plan, [], T), N, N);
before_flags({more, {Done, N}, Plan, T}, N, Before) when Done >= Before ->
    [] = flags_of(T, new_processes),
    [] = traced(T),
    before_flags(inviso_arm:step(Plan, [], T), N, Done);
before_flags({done, Plan, _}, N, N) ->
    Plan.

%% On OTP 25 and 26, too, the VM has all patterns before the first flag is set, so that setting this
%% flag takes little time.
the_vm_has_patterns_before_flags(Config) ->
    on(Config, fun() ->
        {ok, Plan, _} = plan(["'_':init/1", "lists:seq/2", "gen_server:_/_"]),
        {Next, Tracing} = until_patterns(Plan, ?P:tracing()),
        [] = flags_of(Tracing, new_processes),
        Set = [MFA || {_, {_, _, _} = MFA, _} <- inviso_tracing:patterns(Tracing)],
        true = length(Set) > 20,
        [] = [MFA || MFA <- Set, not has_pattern(MFA)],
        _ = some_steps(Next, Tracing, 1000),
        [] = [MFA || MFA <- Set, not has_pattern(MFA)],
        ?P:disarm(Tracing),
        [] = [MFA || MFA <- Set, has_pattern(MFA)],
        clean()
    end).

%% On OTP 25 and 26, while the patterns of one session are set, the engine finds that the VM has
%% lost the only pattern that another session has in a module.
a_pattern_that_another_session_has_lost_does_no_harm(Config) ->
    case inviso_vm:has_sessions() of
        true -> {skip, "this VM has trace sessions itself"};
        false -> on(Config, fun pattern_lost/0)
    end.

pattern_lost() ->
    Other = inviso_trace:session_create(other, self(), []),
    1 = inviso_trace:process(Other, ?P:worker(), true, [call, return_to]),
    1 = inviso_trace:function(Other, {queue, new, 0}, true, [local]),
    1 = erlang:trace_pattern({queue, new, 0}, false, [local]),
    Engine = whereis(inviso_engine_server),
    {ok, Plan, _} = plan(["gb_sets:new/0"]),
    {_, Last} = some_steps(Plan, ?P:tracing(), 1000),
    Engine = whereis(inviso_engine_server),
    true = has_pattern({gb_sets, new, 0}),
    ?P:disarm(Last),
    true = inviso_trace:session_destroy(Other),
    clean().

until_patterns(Plan, T) ->
    case inviso_arm:has_patterns(Plan) of
        true ->
            {Plan, T};
        false ->
            {more, _, Next, T1} = inviso_arm:step(Plan, [], T),
            until_patterns(Next, T1)
    end.

has_pattern(MFA) ->
    case inviso_vm:has_sessions() of
        true -> trace:session_info(MFA) =/= [];
        false -> erlang:trace_info(MFA, traced) =:= {traced, local}
    end.

it_can_be_abandoned_at_any_step(Config) ->
    on(Config, fun() ->
        Specs = ["'_':init/1 -> return", "lists -> count", "send({a, _})",
                 "receive(_)", "procs", "ports", "lists:seq/2 -> time"],
        {ok, Plan, _} = plan(Specs),
        Steps = abandoned(Plan, 1),
        true = Steps > 2,
        clean()
    end).

%% Arms N steps of the plan, and then disarms. If these steps did not arm everything, tries again
%% with N + 1. Returns the number of steps that arm everything.
abandoned(Plan, N) ->
    Tracing = ?P:tracing(),
    {How, Last} = some_steps(Plan, Tracing, N),
    ?P:disarm(Last),
    ok = clean(),
    case How of
        done -> N;
        more -> abandoned(Plan, N + 1)
    end.

some_steps(_Plan, T, 0) ->
    {more, T};
some_steps(Plan, T, N) ->
    case inviso_arm:step(Plan, [self()], T) of
        {more, _, Next, T1} -> some_steps(Next, T1, N - 1);
        {done, _, Last} -> {done, Last}
    end.

many_processes_take_many_steps(Config) ->
    on(Config, fun() ->
        Many = [?P:worker() || _ <- lists:seq(1, 30000)],
        {ok, Plan, #{processes := N}} = plan(["lists:seq/2"]),
        true = N > 30000,
        Tracing = ?P:tracing(),
        Steps = count_steps(Plan, Tracing, 0),
        true = Steps > 3,
        [[call] = flags_of(Tracing, P) || P <- Many],
        ?P:disarm(Tracing),
        [exit(P, kill) || P <- Many],
        clean()
    end).

count_steps(Plan, T, N) ->
    case inviso_arm:step(Plan, [], T) of
        {more, _, Next, T1} -> count_steps(Next, T1, N + 1);
        {done, _, _} -> N + 1
    end.

processes_born_meanwhile_are_not_missed(Config) ->
    on(Config, fun() ->
        {ok, Plan, _} = plan(["inviso_arm_probe:f/1"]),
        Tracing = ?P:tracing(),
        Born = bearing(Plan, Tracing, []),
        %% Processes that start between two steps are traced, too.
        true = length(Born) > 2,
        [[call] = flags_of(Tracing, P) || P <- Born],
        ?P:disarm(Tracing),
        clean()
    end).

bearing(Plan, T, Born) ->
    New = ?P:worker(),
    case inviso_arm:step(Plan, [], T) of
        {more, _, Next, T1} -> bearing(Next, T1, [New | Born]);
        {done, _, _} -> [New | Born]
    end.

%% --- which processes and events ----------------------------------------------

only_requested_processes_are_traced(Config) ->
    on(Config, fun() ->
        [A, B] = [?P:worker(), ?P:worker()],
        register(some_name, B),
        Check = fun(Procs, Yes, No) ->
                        Tracing = arm(["inviso_arm_probe:f/1"], Procs),
                        New = ?P:worker(),
                        Pids = #{a => A, b => B, new => New},
                        [{W, [call]} = {W, flags_of(Tracing, maps:get(W, Pids))}
                         || W <- Yes],
                        [{W, []} = {W, flags_of(Tracing, maps:get(W, Pids))}
                         || W <- No],
                        [] = flags_of(Tracing, self()),
                        ?P:disarm(Tracing),
                        clean()
                end,
        Check([], [a, b, new], []),
        Check(["all"], [a, b, new], []),
        Check(["existing"], [a, b], [new]),
        Check(["new"], [new], [a, b]),
        Check(["some_name"], [b], [a, new]),
        Check([pid_to_list(A)], [a], [b, new]),
        Check([pid_to_list(A), "some_name"], [a, b], [new]),
        Check([pid_to_list(A), "new"], [a, new], [b]),
        Check(["new", "existing"], [a, b, new], []),
        ok
    end).

children_and_linked_are_followed(Config) ->
    on(Config, fun() ->
        W = ?P:worker(),
        Tracing = arm(["inviso_arm_probe:f/1"], [pid_to_list(W)],
                            [spawned, linked], [self()]),
        [call, set_on_link, set_on_spawn] = lists:sort(flags_of(Tracing, W)),
        x = ?P:call(W, {?P, spawn_and_call}, [x]),
        receive
            {trace, Child, call, {?P, f, [x]}} when Child =/= W -> ok
        after 60000 -> error(no_event)
        end,
        ?P:disarm(Tracing),
        %% Without --spawned the child is not traced.
        Tracing1 = arm(["inviso_arm_probe:f/1"], [pid_to_list(W)]),
        x = ?P:call(W, {?P, spawn_and_call}, [x]),
        receive {trace, _, call, {?P, f, _}} -> error(event) after 100 -> ok end,
        ?P:disarm(Tracing1),
        clean()
    end).

ports_are_traced(Config) ->
    on(Config, fun() ->
        Cat = fun() -> open_port({spawn, "cat"}, [binary]) end,
        Old = Cat(),
        {ok, _, #{processes := N}} = plan(["ports"]),
        N = length(erlang:ports()),
        {ok, _, #{processes := 1}} = plan(["ports"], [port_to_list(Old)]),
        Check = fun(Specs, Procs, Yes, No) ->
                        Tracing = arm(Specs, Procs),
                        New = Cat(),
                        Ports = #{old => Old, new => New},
                        [{W, [_ | _]} = {W, flags_of(Tracing, maps:get(W, Ports))}
                         || W <- Yes],
                        [{W, []} = {W, flags_of(Tracing, maps:get(W, Ports))}
                         || W <- No],
                        ?P:disarm(Tracing),
                        port_close(New),
                        clean()
                end,
        Check(["ports"], [], [old, new], []),
        Check(["ports"], ["new"], [new], [old]),
        Check(["ports"], ["existing"], [old], [new]),
        Check(["ports"], [port_to_list(Old)], [old], [new]),
        Check(["send", "receive"], [port_to_list(Old)], [old], [new]),
        Tracing = arm(["ports"], [port_to_list(Old)]),
        port_close(Old),
        receive {trace, Old, closed, _} -> ok
        after 60000 -> error(no_event)
        end,
        ?P:disarm(Tracing),
        clean()
    end).

other_events_are_traced(Config) ->
    on(Config, fun() ->
        W = ?P:worker(),
        Events = fun(Spec, MF, Args) ->
                         Tracing = arm([Spec], [pid_to_list(W)]),
                         ?P:call(W, MF, Args),
                         Found = ?P:drain(W),
                         ?P:disarm(Tracing),
                         clean(),
                         _ = ?P:drain(W),
                         Found
                 end,
        Me = self(),
        [{send, {W, done, {a, b}}, Me}] =
            Events("send({_, done, _})", {?P, f}, [a, b]),
        [] = Events("send({_, done, b})", {?P, f}, [a, b]),
        [{send, _, Me}] =
            Events("send(To, _) when To =:= " ++ pid_to_list(Me), {?P, f}, [a]),
        [] = Events("send(<0.0.0>, _)", {?P, f}, [a]),
        %% A sender can give the receiver's name, {Name, Node} or its pid. The
        %% spec matches all three forms.
        true = register(receiver_by_name, Me),
        [_] = [M || {send, M, receiver_by_name} <-
                        Events("send(receiver_by_name, hello)", {erlang, send},
                               [receiver_by_name, hello])],
        There = {receiver_by_name, node()},
        [{send, hello, There}] =
            Events("send(receiver_by_name, hello)", {erlang, send},
                   [There, hello]),
        [{send, hello, Me}] =
            Events("send(receiver_by_name, hello)", {erlang, send},
                   [Me, hello]),
        [] = Events("send(receiver_by_name, other)", {erlang, send},
                    [Me, hello]),
        {ok, _, #{notes := [Named]}} = plan(["send(receiver_by_name, _)"],
                                            [pid_to_list(W)]),
        has(Named, ["receiver_by_name is " ++ pid_to_list(Me)]),
        {ok, _, #{notes := [NotThere]}} = plan(["send(no_receiver, _)"],
                                               [pid_to_list(W)]),
        has(NotThere, ["nothing is registered as no_receiver"]),
        {ok, _, #{notes := []}} = plan(["send(To, _) when To =/= no_receiver"],
                                       [pid_to_list(W)]),
        true = unregister(receiver_by_name),
        [{'receive', {call, Me, {?P, f}, [a]}}] =
            Events("receive({call, _, _, [a]})", {?P, f}, [a]),
        [] = Events("receive({call, _, _, [b]})", {?P, f}, [a]),
        [{'receive', _}] =
            Events("receive(" ++ pid_to_list(Me) ++ ", _)", {?P, f}, [a]),
        [{'receive', _}] = Events("receive", {?P, f}, [a]),
        [{register, some_name}] =
            Events("procs", {erlang, register}, [some_name, W]),
        [{in, _}, {out, _} | _] = Events("running", {?P, f}, [a]),
        [{gc_major_start, _}, {gc_major_end, _}] =
            Events("gc", {erlang, garbage_collect}, []),
        ok
    end).

messages_of_the_distribution_are_left_out(Config) ->
    on(Config, fun() ->
        true = is_alive(),
        Out = inviso_vm:infrastructure(),
        [true = lists:member(whereis(N), Out)
         || N <- [net_kernel, rex, auth, erl_epmd]],
        {links, Links} = process_info(whereis(net_kernel), links),
        [] = [P || P <- Links, is_pid(P)] -- Out,
        Tracing = arm(["receive"], []),
        [] = [P || P <- Out, flags_of(Tracing, P) =/= []],
        [] = [P || P <- inviso_vm:system_processes(),
                   flags_of(Tracing, P) =/= []],
        [_ | _] = flags_of(Tracing, whereis(code_server)),
        ?P:disarm(Tracing),
        %% Messages of a system process, such as rex, are traced only if the
        %% user names the process. Calls of system processes are always traced,
        %% because tracing calls causes no further messages.
        Tracing1 = arm(["send"], ["rex"]),
        [send] = flags_of(Tracing1, whereis(rex)),
        ?P:disarm(Tracing1),
        Tracing2 = arm(["lists:seq/2"], []),
        [call] = flags_of(Tracing2, whereis(rex)),
        ?P:disarm(Tracing2),
        [_, _ | _] = inviso_vm:system_processes(),
        clean()
    end).

our_own_are_never_traced(Config) ->
    on(Config, fun() ->
        W = ?P:worker(),
        Tracing = arm(["procs", "send"], ["all", pid_to_list(W)], [],
                            [self(), W]),
        [] = flags_of(Tracing, W),
        [] = flags_of(Tracing, self()),
        ?P:disarm(Tracing),
        clean()
    end).

sensitive_processes_are_reported(Config) ->
    on(Config, fun() ->
        {ok, _, #{sensitive := Before}} = plan(["procs"]),
        Dark = ?P:sensitive(),
        {ok, _, #{sensitive := After, notes := Notes}} = plan(["procs"]),
        1 = After - Before,
        [_] = [N || N <- Notes, string:find(N, "sensitive") =/= nomatch],
        {error, nothing, Why} = plan(["procs"], [pid_to_list(Dark)]),
        has(Why, ["sensitive", pid_to_list(Dark)]),
        {ok, _, #{sensitive := 1, processes := 2}} =
            plan(["procs"], [pid_to_list(Dark), "init"]),
        %% The plan does not wait for a suspended process.
        Busy = spawn(fun() -> (fun F() -> F() end)() end),
        erlang:suspend_process(Busy),
        {ok, _, _} = plan(["procs"], [pid_to_list(Busy)]),
        clean()
    end).

%% --- counters ----------------------------------------------------------------

counters_count(Config) ->
    on(Config, fun() ->
        W = ?P:worker(),
        Run = fun(Specs) ->
                      Tracing = arm(Specs, [pid_to_list(W)]),
                      [?P:call(W, {?P, f}, [N]) || N <- [1, 2, 3]],
                      ?P:call(W, {?P, g}, [1]),
                      [] = [E || {Tag, _} = E <- ?P:drain(W), Tag =/= call],
                      {ok, Counted} = inviso_counters:by_function(Tracing),
                      ?P:disarm(Tracing),
                      clean(),
                      Counted
              end,
        [{?P, f, 1, 3, none}] = Run(["inviso_arm_probe:f/1 -> count"]),
        [{?P, f, 1, 3, none}, {?P, g, 1, 1, none}] =
            Run(["inviso_arm_probe:f -> count", "inviso_arm_probe:g -> count"]),
        [{?P, f, 1, 3, Ns}] = Run(["inviso_arm_probe:f/1 -> time"]),
        true = is_integer(Ns),
        [{?P, f, 1, 3, Ns2}] = Run(["inviso_arm_probe:f/1 -> time;count"]),
        true = is_integer(Ns2),
        [] = Run(["inviso_arm_probe:f/1"]),
        [] = Run(["inviso_arm_probe:f/3 -> count"]),
        Whole = Run(["inviso_arm_probe -> count",
                     "inviso_arm_probe:f/1 -> time"]),
        [{?P, f, 1, 3, _} | _] = Whole,
        true = lists:member({?P, hidden, 1, 1, none}, Whole),
        %% One spec can count calls and also make events.
        Tracing = arm(["inviso_arm_probe:f/1 -> count;return"],
                            [pid_to_list(W)]),
        x = ?P:call(W, {?P, f}, [x]),
        [{call, _}, {return_from, _, _}] = ?P:drain(W),
        {ok, [{?P, f, 1, 1, none}]} =
            inviso_counters:by_function(Tracing),
        ?P:disarm(Tracing),
        {ok, _, #{notes := Notes}} =
            plan(["inviso_arm_probe:f/1 -> count"], [pid_to_list(W)]),
        [_] = [N || N <- Notes, string:find(N, "all processes") =/= nomatch],
        clean()
    end).

%% Two sessions trace the same function, each with a match spec of 20 clauses. The engine sets one
%% match spec for both sessions. This match spec needs a clause for each pair of a clause of the
%% first session and a clause of the second, because any guard may fail. The engine refuses so many
%% clauses.
what_the_engine_cannot_do_is_refused(Config) ->
    on(Config, fun() ->
        Spec = fun(From, To) ->
                       Clauses = [{['$1', '_'], [{'=:=', {hd, '$1'}, I}], []}
                                  || I <- lists:seq(From, To)],
                       lists:flatten(io_lib:format("~w:f/2 ~w", [?P, Clauses]))
               end,
        First = arm([Spec(1, 20)], ["new"]),
        {ok, Second, _} = plan([Spec(101, 120)], ["new"]),
        Tracing = ?P:tracing(),
        case {has_sessions(), until_error(Second, Tracing)} of
            {true, {done, _, _}} ->
                ok;
            {false, {error, refused, Why, _, _}} ->
                has(Why, ["inviso_arm_probe:f/2", "441 clauses", "256",
                          "OTP " ++ erlang:system_info(otp_release),
                          "use fewer clauses"]),
                %% A spec with fewer clauses is accepted.
                {ok, Third, _} = plan([Spec(101, 105)], ["new"]),
                {done, _, _} = until_error(Third, Tracing)
        end,
        ?P:disarm(Tracing),
        ?P:disarm(First),
        clean()
    end).

counters_of_others_are_not_touched(Config) ->
    on(Config, fun() ->
        1 = erlang:trace_pattern({?P, f, 1}, true, [call_count]),
        _ = ?P:f(1),
        Spec = ["inviso_arm_probe:f/1 -> count"],
        case has_sessions() of
            true ->
                {ok, _, _} = plan(Spec),
                Tracing = arm(Spec, []),
                _ = ?P:f(1),
                {ok, [{?P, f, 1, 1, none}]} =
                    inviso_counters:by_function(Tracing),
                ?P:disarm(Tracing),
                {call_count, 2} = erlang:trace_info({?P, f, 1}, call_count);
            false ->
                {error, refused, Why} = plan(Spec),
                has(Why, ["inviso_arm_probe:f/1", "counted"]),
                {ok, _, _} = plan(["inviso_arm_probe:f/2 -> count"]),
                %% A spec that makes events does not change another tool's
                %% counter.
                Tracing = arm(["inviso_arm_probe:f/1"], []),
                ?P:disarm(Tracing),
                {call_count, 1} = erlang:trace_info({?P, f, 1}, call_count)
        end,
        ok
    end).

what_to_expect_is_counted(Config) ->
    on(Config, fun() ->
        Busy = spawn(fun() -> busy() end),
        Expect = fun(Specs) ->
                         {ok, Plan, _} = plan(Specs),
                         E = inviso_arm:expect(Plan, 300),
                         clean(),
                         E
                 end,
        {ok, One} = Expect(["inviso_arm_probe:f/1"]),
        true = One > 10,
        {ok, Two} = Expect(["inviso_arm_probe:f/1 -> return"]),
        true = Two > 20,
        {ok, 0} = Expect(["inviso_arm_probe:f/3"]),
        {ok, 0} = Expect(["inviso_arm_probe:f/1 -> count"]),
        {ok, Whole} = Expect(["inviso_arm_probe",
                              "inviso_arm_probe:f/1 -> return"]),
        true = Whole > 20,
        {unknown, Why} = Expect(["send", "inviso_arm_probe:f/1"]),
        has(Why, ["a second of calls", "send"]),
        {unknown, Why2} = Expect(["procs"]),
        has(Why2, ["procs", "be predicted"]),
        exit(Busy, kill),
        %% If the process that calls expect/2 is killed, the counters that it
        %% has set are removed.
        {ok, Plan, _} = plan(["inviso_arm_probe:f/1"]),
        {Asker, Ref} = spawn_monitor(fun() ->
                                             inviso_arm:expect(Plan, 20000)
                                     end),
        Me = self(),
        wait_until(fun() -> counting(Me) end),
        exit(Asker, kill),
        receive {'DOWN', Ref, process, _, killed} -> ok end,
        wait_until(fun() -> not counting(Me) end),
        clean()
    end).

busy() ->
    _ = ?P:f(1),
    receive after 1 -> busy() end.

counting(_) ->
    case has_sessions() of
        true -> length(trace:session_info(all)) > 1;
        false -> erlang:trace_info({?P, f, 1}, call_count)
                     =/= {call_count, false}
    end.

a_dry_run_changes_no_foreign_pattern(Config) ->
    on(Config, fun() ->
        1 = erlang:trace_pattern({?P, f, 1}, true, [global]),
        {ok, Plan, _} = plan(["inviso_arm_probe:f/2"]),
        {ok, 0} = inviso_arm:expect(Plan, 10),
        Counted = case has_sessions() of
                      true ->
                          {ok, Other, _} = plan(["inviso_arm_probe:f/1"]),
                          inviso_arm:expect(Other, 10);
                      false ->
                          Op = {{local, {?P, f, 1}, true}, 1},
                          inviso_arm_expect:per_second([Op], 10)
                  end,
        case has_sessions() of
            true -> {ok, 0} = Counted;
            false -> {unknown, Why} = Counted,
                     has(Why, ["inviso_arm_probe:f/1"])
        end,
        {traced, global} = erlang:trace_info({?P, f, 1}, traced),
        ok
    end).

%% --- other tools that trace --------------------------------------------------

other_tools_are_named(Config) ->
    on(Config, fun() ->
        {Victim, Tracer} = ?P:foreign_tracer([call]),
        1 = erlang:trace_pattern({?P, f, 1}, true, [local]),
        Cases = [{["inviso_arm_probe:f/1"], []},
                 {["inviso_arm_probe"], []},
                 {["lists:seq/2"], ["init"]},
                 {["procs"], []},
                 {["procs"], ["existing"]},
                 {["procs"], [pid_to_list(Victim)]},
                 {["inviso_arm_probe:f/1 -> time"], ["new"]}],
        case has_sessions() of
            true ->
                [{ok, _, _} = plan(Specs, Procs) || {Specs, Procs} <- Cases],
                Tracing = arm(["inviso_arm_probe:f -> return"], []),
                ?P:call(Victim, {?P, f}, [x]),
                [{call, _}, {return_from, _, _}] = ?P:drain(Victim),
                ?P:disarm(Tracing);
            false ->
                [begin
                     {C, {error, refused, Why}} = {C, plan(Specs, Procs)},
                     has(Why, ["foreign_tool", pid_to_list(Tracer),
                               "has one tracer"])
                 end || {Specs, Procs} = C <- Cases],
                %% The plan succeeds if the other tool traces neither the plan's
                %% processes nor its functions.
                {ok, _, _} = plan(["procs"], ["init"]),
                %% The VM has only one pattern for send, so another tool's
                %% pattern is a conflict.
                1 = erlang:trace_pattern(send, [{['_', a], [], []}], []),
                {error, refused, Why} = plan(["send"], ["init"]),
                has(Why, ["send", "foreign_tool"]),
                {ok, _, _} = plan(["receive"], ["init"]),
                {match_spec, [_]} = erlang:trace_info(send, match_spec)
        end,
        {flags, [call]} = erlang:trace_info(Victim, flags),
        {tracer, Tracer} = erlang:trace_info(Victim, tracer),
        {traced, local} = erlang:trace_info({?P, f, 1}, traced),
        %% A tool that begins to trace after the plan is made keeps its flags
        %% and patterns.
        erlang:trace(Victim, false, [call]),
        erlang:trace_pattern({?P, f, 1}, false, [local]),
        erlang:trace_pattern(send, true, []),
        clean(),
        {ok, Late, _} = plan(["inviso_arm_probe:f/1"]),
        1 = erlang:trace_pattern({?P, f, 1}, true, [local]),
        Late1 = ?P:tracing(),
        case {has_sessions(), until_error(Late, Late1)} of
            {true, {done, _, _}} ->
                ?P:disarm(Late1);
            {false, {error, refused, LateWhy, _, _}} ->
                has(LateWhy, ["inviso_arm_probe:f/1", "another tool"]),
                ?P:disarm(Late1)
        end,
        {traced, local} = erlang:trace_info({?P, f, 1}, traced),
        ok
    end).

leftovers_of_other_tools_are_reported(Config) ->
    on(Config, fun() ->
        1 = erlang:trace_pattern({?P, f, 1}, true, [local]),
        case has_sessions() of
            true ->
                ok;
            false ->
                {error, refused, Why} = plan(["inviso_arm_probe:f/1"]),
                has(Why, ["that traces no process now",
                          "erlang:trace_pattern({inviso_arm_probe,f,1}"])
        end
    end).

two_traces_of_garbage_collections_are_refused(Config) ->
    on(Config, fun() ->
        case has_sessions() andalso inviso_defects:affected(gc_two_sessions) of
            true ->
                W = ?P:worker(),
                S = trace:session_create(theirs, self(), []),
                1 = trace:process(S, W, true, [garbage_collection]),
                {error, refused, Why} = plan(["gc"], [pid_to_list(W)]),
                has(Why, [pid_to_list(W), "crash"]),
                {error, refused, _} = plan(["gc"]),
                {ok, _, _} = plan(["gc"], ["init"]),
                {ok, _, _} = plan(["procs"], [pid_to_list(W)]),
                true = trace:session_destroy(S),
                %% Arming is refused too if the other session begins to trace
                %% after the plan is made.
                {ok, Plan, _} = plan(["gc"], [pid_to_list(W)]),
                S2 = trace:session_create(theirs, self(), []),
                1 = trace:process(S2, W, true, [garbage_collection]),
                Tracing = ?P:tracing(),
                {error, refused, _, _, _} = until_error(Plan, Tracing),
                ?P:disarm(Tracing),
                [garbage_collection] = element(2, trace:info(S2, W, flags)),
                true = trace:session_destroy(S2),
                clean();
            false ->
                ok
        end
    end).

%% A process can get a session's flags by a spawn or a link. So two sessions may later trace the
%% garbage collections of one process, even if they do not when the plan is made.
inherited_traces_of_garbage_collections_are_refused(Config) ->
    on(Config, fun() ->
        case has_sessions() andalso inviso_defects:affected(gc_two_sessions) of
            true ->
                W = ?P:worker(),
                Gc = garbage_collection,
                Beside = fun(Who, Flags, Procs, Follow) ->
                                 beside(trace, Who, [Gc | Flags], Procs, Follow)
                         end,
                ok = Beside(W, [], ["init"], []),
                ok = Beside(W, [], ["new"], []),
                ok = Beside(W, [], ["init"], [spawned]),
                ok = Beside(W, [set_on_spawn], ["init"], [spawned]),
                ok = Beside(new, [], ["init"], []),
                refused = Beside(W, [set_on_spawn], ["new"], []),
                refused = Beside(W, [set_on_first_link], ["new"], []),
                refused = Beside(W, [set_on_link], ["init"], []),
                refused = Beside(W, [], ["init"], [linked]),
                refused = Beside(new, [], ["init"], [spawned]),
                refused = Beside(new, [], ["init"], [linked]),
                %% The legacy session of erlang:trace/3 counts as another
                %% session.
                ok = beside(erlang, W, [Gc], ["init"], []),
                refused = beside(erlang, W, [Gc], [pid_to_list(W)], []),
                refused = beside(erlang, W, [Gc], ["existing"], []),
                refused = beside(erlang, new, [Gc], ["new"], []),
                ok = flag_by_flag(W);
            false ->
                ok
        end
    end).

%% Sets Flags for Who in another session (`trace') or in the legacy session
%% (`erlang'). Then makes a plan with `gc' for Procs, and returns ok or refused.
beside(How, Who, Flags, Procs, Follow) ->
    S = case How of
            trace ->
                New = trace:session_create(theirs, self(), []),
                1 = trace:process(New, Who, true, Flags) + on_new(Who),
                New;
            erlang ->
                1 = erlang:trace(Who, true, Flags) + on_new(Who),
                none
        end,
    Answer = case plan(["gc"], Procs, Follow) of
                 {ok, _, _} -> ok;
                 {error, refused, _} -> refused
             end,
    case How of
        trace -> true = trace:session_destroy(S);
        erlang -> _ = erlang:trace(Who, false, Flags)
    end,
    clean(),
    Answer.

on_new(new) -> 1;
on_new(_) -> 0.

%% The runtime component sets flags in several requests. Whether a request is refused also depends
%% on the flags that were set by earlier requests.
flag_by_flag(W) ->
    S = trace:session_create(theirs, self(), []),
    _ = trace:process(S, new, true, [garbage_collection]),
    T = ?P:tracing(),
    Set = fun(Flags) ->
                  inviso_tracing:flags(true, {processes, W}, Flags, [], T)
          end,
    {ok, 1} = Set([set_on_spawn]),
    {error, {gc_traced_in_another_session, new}} = Set([garbage_collection]),
    {ok, 1} = inviso_tracing:flags(false, {processes, W}, [set_on_spawn], [],
                                   T),
    {ok, 1} = Set([garbage_collection]),
    {error, {gc_traced_in_another_session, new}} = Set([set_on_first_spawn]),
    {error, {gc_traced_in_another_session, new}} = Set([all]),
    {ok, 1} = Set([call]),
    true = trace:session_destroy(S),
    {ok, 1} = Set([set_on_first_spawn]),
    ?P:disarm(T).

until_error(Plan, T) ->
    case inviso_arm:step(Plan, [], T) of
        {more, _, Next, T1} -> until_error(Next, T1);
        Other -> Other
    end.

defects_of_the_vm_are_reported(Config) ->
    on(Config, fun() ->
        Told = fun(Specs, Follow) ->
                       {ok, _, #{notes := Notes}} = plan(Specs, [], Follow),
                       lists:append([binary_to_list(N) || N <- Notes])
               end,
        _ = [{Defect, Expected} =
                 {Defect, string:find(Told(Specs, Follow), Words) =/= nomatch}
             || {Defect, Specs, Follow, Words} <-
                    [{dirty_tracee, ["procs"], [], "dirty scheduler"},
                     {late_receive, ["receive"], [], "come late"},
                     {link_inherits_not, ["procs"], [linked], "set_on_link"}],
                Expected <- [inviso_defects:affected(Defect)]],
        %% If --procs names processes, there is no warning of the defect with
        %% dirty schedulers: the risk is small if few processes are traced.
        {ok, _, #{notes := Few}} = plan(["procs"], ["init"]),
        nomatch = string:find(lists:append([binary_to_list(N) || N <- Few]),
                              "dirty scheduler"),
        case has_sessions() of
            true ->
                S = trace:session_create(theirs, self(), []),
                1 = trace:function(S, {erlang, md5, 1}, true, [local]),
                Shared = inviso_defects:affected(bif_two_sessions),
                Shared = string:find(Told(["erlang:md5/1"], []),
                                     "erlang:md5/1 is traced by another")
                    =/= nomatch,
                nomatch = string:find(Told(["lists:seq/2"], []), "another"),
                true = trace:session_destroy(S);
            false ->
                ok
        end,
        clean()
    end).
