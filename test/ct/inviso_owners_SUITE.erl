%% SPDX-License-Identifier: Apache-2.0
%% An owner of tracing is killed. Its patterns, flags and trace session must be
%% removed, although the VM does not remove them: the tracee makes no event at
%% which the VM could notice the death. And another process has a copy of the
%% owner's state, so the handle of the session is not garbage collected. Each
%% case keeps this copy until it has checked the removal.
-module(inviso_owners_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, groups/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_group/2, end_per_group/2,
         init_per_testcase/2, end_per_testcase/2]).

-export([a_session/1,
         a_session_that_arms/1,
         the_workers_of_a_session/1,
         a_runtime_component/1,
         a_runtime_component_whose_meta_tracer_hangs/1,
         a_meta_tracer/1,
         a_component_that_started_with_its_node/1,
         the_engine/1,
         the_engine_and_its_heir/1,
         the_engine_whose_heir_was_killed_before/1,
         the_keepers/1,
         the_keeper_of_a_delivery/1,
         the_guard/1,
         the_guard_and_its_heir/1,
         the_guard_and_its_users/1,
         the_process_that_clears/1,
         the_owner_of_a_foreign_session/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, leave/1, start/3, wait_state/2, ask/2,
                            is_clean/1, slow/2]).

suite() -> [{timetrap, {seconds, 300}}].

all() -> [{group, guest}, {group, installed}].

groups() ->
    Everywhere = [a_session,
                  a_session_that_arms,
                  the_workers_of_a_session,
                  a_runtime_component,
                  a_runtime_component_whose_meta_tracer_hangs,
                  a_meta_tracer,
                  the_engine,
                  the_engine_and_its_heir,
                  the_engine_whose_heir_was_killed_before,
                  the_keepers,
                  the_keeper_of_a_delivery,
                  the_guard,
                  the_guard_and_its_heir,
                  the_guard_and_its_users,
                  the_process_that_clears],
    [{guest, Everywhere},
     {installed, Everywhere ++ [a_component_that_started_with_its_node,
                                the_owner_of_a_foreign_session]}].

%% The suite's own node is the control component's node.
init_per_suite(Config) ->
    case is_alive() of
        true -> Config;
        false ->
            _ = os:cmd("epmd -daemon"),
            Name = list_to_atom("owners_" ++ os:getpid()),
            {ok, _} = net_kernel:start([Name, longnames]),
            [{net, true} | Config]
    end.

end_per_suite(Config) ->
    _ = ?config(net, Config) =:= undefined orelse net_kernel:stop(),
    ok.

init_per_group(Group, Config) -> [{code, Group} | Config].

end_per_group(_, _) -> ok.

init_per_testcase(Case, Config) ->
    Code = ?config(code, Config),
    Dir = filename:join(?config(priv_dir, Config),
                        lists:concat([Code, "_", Case])),
    #{name := Name} = Node = node_of(Code, Dir),
    true = erlang:set_cookie(Name, call(Node, erlang, get_cookie, [])),
    pong = net_adm:ping(Name),
    Tracee = evaluated(Node, "register(idle_tracee, self()),"
                       "receive after infinity -> ok end.", []),
    wait_until(fun() -> call(Node, erlang, whereis, [idle_tracee]) =:= Tracee
                            andalso
                            call(Node, erlang, process_info, [Tracee, status])
                            =:= {status, waiting}
               end),
    [{node, Node}, {tracee, Tracee}, {dir, Dir},
     {before, {inviso_test_lib:footprint(Node), Node}},
     {untraced, traced(Node, Tracee)} | Config].

node_of(guest, Dir) ->
    inviso_test_lib:start_stock_node(owned, Dir);
node_of(installed, Dir) ->
    Node = inviso_test_lib:start_node(owned, Dir),
    {module, _} = call(Node, code, ensure_loaded, [inviso_push]),
    Node.

end_per_testcase(_Case, Config) ->
    _ = [inviso:stop() || is_pid(whereis(inviso_c))],
    inviso_test_lib:stop_node(?config(node, Config)).

%% --- what is traced ---------------------------------------------------------

%% Returns flags, patterns and sessions. Asking for them makes no event in the
%% tracee.
traced(Node, Tracee) ->
    Whom = [Tracee, new_processes, new_ports],
    Functions = [{lists, seq, 2}, {ordsets, union, 2}],
    {[{W, call(Node, erlang, trace_info, [W, I])}
      || W <- Whom, I <- [flags, tracer]],
     [{F, call(Node, erlang, trace_info, [F, all])} || F <- Functions],
     [{W, sessions(Node, W)} || W <- [all | Whom] ++ Functions]}.

%% Returns the sessions that trace a process or function. On VMs without sessions, if What is `all',
%% returns the engine's server, which runs while a session exists.
sessions(Node, What) ->
    case call(Node, erlang, function_exported,
              [erts_internal, trace_session_create, 3]) of
        true -> call(Node, trace, session_info, [What]);
        false when What =:= all ->
            call(Node, erlang, whereis, [inviso_engine_server]);
        false -> none
    end.

is_traced(Config) -> not is_untraced(Config).

is_untraced(Config) ->
    traced(?config(node, Config), ?config(tracee, Config))
        =:= ?config(untraced, Config).

goes(Config) ->
    Since = erlang:monotonic_time(millisecond),
    try
        wait_until(fun() -> is_untraced(Config) end, 30000),
        ct:log("gone after ~b ms at most",
               [erlang:monotonic_time(millisecond) - Since])
    catch
        error:timeout ->
            ct:fail({traced, traced(?config(node, Config),
                                    ?config(tracee, Config))})
    end.

wait_until(Fun, Ms) -> inviso_test_lib:wait_until(Fun, Ms).

%% --- a process that has a copy of the state ---------------------------------

evaluated(Node, Text, Bindings) ->
    inviso_test_lib:spawn_call(Node, erl_eval, exprs,
                               [inviso_guard:expressions(Text), Bindings]).

%% Starts a process that copies the state of the process Pid, and keeps the copy until the test asks
%% for it.
holder(Node, Pid) ->
    Holder = evaluated(Node, "State = sys:get_state(Pid), Test ! {self(), has},"
                       "receive give -> Test ! {self(), State} end.",
                       [{'Pid', Pid}, {'Test', self()}]),
    receive {Holder, has} -> Holder after 60000 -> error(no_copy) end.

given_back(Holders) ->
    _ = [begin
             H ! give,
             receive {H, State} when is_tuple(State) -> ok
             after 60000 -> error(no_copy)
             end
         end || H <- Holders],
    ok.

kill(Node, Pids) ->
    _ = [true = call(Node, erlang, exit, [P, kill]) || P <- Pids],
    ok.

%% Kills processes at the same moment, so that no process notices the death of another.
kill_at_once(Node, Pids) ->
    Killer = evaluated(Node, "process_flag(priority, max),"
                       "[erlang:suspend_process(P) || P <- Pids],"
                       "[exit(P, kill) || P <- Pids],"
                       "Test ! {self(), killed}.",
                       [{'Pids', Pids}, {'Test', self()}]),
    receive {Killer, killed} -> ok after 60000 -> error(not_killed) end.

named(Node, Name) ->
    Pid = call(Node, erlang, whereis, [Name]),
    true = is_pid(Pid),
    Pid.

%% Checks that no code and no process of inviso is left on the node. Before this check, the copies
%% of states that holder/2 keeps must have been given back.
is_left(Config) ->
    Node = ?config(node, Config),
    case ?config(code, Config) of
        guest ->
            is_clean(?config(before, Config));
        installed ->
            wait_until(fun() ->
                               [] =:= [N || N <- [inviso_guard, inviso_rt,
                                                  inviso_engine_server,
                                                  inviso_loading],
                                            undefined =/= call(Node, erlang,
                                                               whereis, [N])]
                       end)
    end.

%% --- sessions ---------------------------------------------------------------

session(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Session = session(Guard, [<<"lists:seq/2">>], Config),
    #{state := tracing} = wait_state(Session, [tracing, failed, stopped]),
    true = is_traced(Config),
    {Guard, Session}.

session(Guard, Specs, Config) ->
    {ok, Session, _} = start(?config(node, Config), Guard,
                             #{procs => [<<"idle_tracee">>], specs => Specs}),
    Session.

a_session(Config) ->
    Node = ?config(node, Config),
    {Guard, Session} = session(Config),
    Copy = holder(Node, Session),
    ok = kill(Node, [Session]),
    ok = goes(Config),
    ok = given_back([Copy]),
    gone = leave(Guard),
    is_left(Config).

a_session_that_arms(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Session = session(Guard, [<<"lists">>, <<"ordsets">>, <<"gb_trees">>],
                      Config),
    Copy = holder(Node, Session),
    ok = kill(Node, [Session]),
    ok = goes(Config),
    ok = given_back([Copy]),
    gone = leave(Guard),
    is_left(Config).

%% If the workers of a session are killed, the session starts others. If the
%% session is killed, its workers end too.
the_workers_of_a_session(Config) ->
    Node = ?config(node, Config),
    {Guard, Session} = session(Config),
    Copy = holder(Node, Session),
    Workers = fun() ->
                      {links, Links} = call(Node, erlang, process_info,
                                            [Session, links]),
                      Links
              end,
    [_, _] = First = Workers(),
    ok = kill(Node, First),
    wait_until(fun() -> length(Workers() -- First) =:= 2 end),
    #{state := tracing} = ask(Session, status),
    true = is_traced(Config),
    Next = holder(Node, Session),
    ok = kill(Node, [Session | Workers()]),
    ok = goes(Config),
    ok = given_back([Copy, Next]),
    gone = leave(Guard),
    is_left(Config).

%% --- runtime components -----------------------------------------------------

component(Config) ->
    component({file, filename:join(?config(dir, Config), "a.log")}, Config).

component(Trace, Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Ti = filename:join(?config(dir, Config), "a.ti"),
    {ok, _} = inviso:start(),
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], owned),
    {ok, [{Name, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso:init_tracing([Name], [{trace, Trace}, {ti, {file, Ti}}]),
    {ok, [{Name, {ok, [1]}}]} = inviso:tpl([Name], lists, seq, 2, []),
    {ok, [{Name, {ok, 1}}]} =
        inviso:tpm([Name], ordsets, union, 2, [], void, {erlang, hd}, void,
                   void),
    {ok, [{Name, {ok, [1]}}]} =
        inviso:tf([Name], ?config(tracee, Config), [call, send]),
    true = is_traced(Config),
    named(Node, inviso_rt).

%% The runtime component is killed while another client still needs the guard, which keeps inviso's
%% code on the node.
a_runtime_component(Config) ->
    Node = ?config(node, Config),
    Rt = component(Config),
    {ok, #{guard := Guard}} = attach(Node),
    Copies = [holder(Node, P) || P <- [Rt, named(Node, inviso_rt_meta)]],
    ok = kill(Node, [Rt]),
    ok = goes(Config),
    ok = given_back(Copies),
    gone = leave(Guard),
    is_left(Config).

%% The meta tracer is suspended, as if a user's function did not return.
a_runtime_component_whose_meta_tracer_hangs(Config) ->
    Node = ?config(node, Config),
    Rt = component(Config),
    {ok, #{guard := Guard}} = attach(Node),
    Meta = named(Node, inviso_rt_meta),
    Copies = [holder(Node, P) || P <- [Rt, Meta]],
    Slow = slow(Node, Meta),
    ok = kill(Node, [Rt]),
    ok = goes(Config),
    true = call(Node, erlang, is_process_alive, [Meta]),
    ok = kill(Node, [Slow]),
    ok = given_back(Copies),
    gone = leave(Guard),
    is_left(Config).

%% The runtime component continues without the meta tracer.
a_meta_tracer(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Rt = component(Config),
    Meta = named(Node, inviso_rt_meta),
    Copies = [holder(Node, P) || P <- [Rt, Meta]],
    ok = kill(Node, [Meta]),
    Is = fun() -> {_, Functions, Sessions} =
                      traced(Node, ?config(tracee, Config)),
                  {Functions, Sessions}
         end,
    {_, Were, WereSessions} = ?config(untraced, Config),
    MFA = {ordsets, union, 2},
    wait_until(fun() ->
                       {Functions, Sessions} = Is(),
                       lists:keyfind(MFA, 1, Functions)
                           =:= lists:keyfind(MFA, 1, Were)
                           andalso lists:keyfind(MFA, 1, Sessions)
                           =:= lists:keyfind(MFA, 1, WereSessions)
               end, 30000),
    {ok, [{Name, {ok, {tracing, running}}}]} = inviso:get_status([Name]),
    true = is_traced(Config),
    {ok, [{Name, {ok, idle}}]} = inviso:stop_tracing([Name]),
    true = is_untraced(Config),
    ok = given_back(Copies),
    {ok, [{Name, ok}]} = inviso:stop_nodes([Name]),
    is_left(Config).

a_component_that_started_with_its_node(Config) ->
    Node = ?config(node, Config),
    Dir = ?config(dir, Config),
    Case = filename:join(Dir, "case.txt"),
    ok = file:write_file(Case, "inviso_rt:tpl(lists, seq, 2, []).\n"
                         "inviso_rt:tf(idle_tracee, [call]).\n"),
    Conf = filename:join(Dir, "c.config"),
    Params = [{tracerdata, {file, filename:join(Dir, "a.log")}},
              {cmdfiles, [Case]}],
    Terms = [{repeat, 1}, {mfa, {inviso_autostart_server, init, [Params]}}],
    ok = file:write_file(Conf, [io_lib:format("~tp.~n", [T]) || T <- Terms]),
    ok = call(Node, application, load, [inviso]),
    ok = call(Node, application, set_env,
              [inviso, inviso_autostart_conf, Conf]),
    ok = call(Node, application, start, [inviso]),
    wait_until(fun() -> is_traced(Config) end),
    Rt = named(Node, inviso_rt),
    Copy = holder(Node, Rt),
    ok = kill(Node, [Rt]),
    ok = goes(Config),
    ok = given_back([Copy]),
    ok = call(Node, application, stop, [inviso]),
    is_left(Config).

%% --- the engine -------------------------------------------------------------

both(Config) ->
    Node = ?config(node, Config),
    Rt = component(Config),
    {Guard, Session} = session(Config),
    {Guard, Session, Rt, [holder(Node, P) || P <- [Rt, Session]]}.

the_engine(Config) ->
    engine(Config, fun(Engine, _Heir) -> kill(?config(node, Config), [Engine])
                   end).

%% Sessions and runtime components clear what the killed engine has left.
the_engine_and_its_heir(Config) ->
    engine(Config, fun(Engine, Heir) ->
                           kill_at_once(?config(node, Config), [Engine, Heir])
                   end).

the_engine_whose_heir_was_killed_before(Config) ->
    Node = ?config(node, Config),
    engine(Config, fun(Engine, Heir) ->
                           ok = kill(Node, [Heir]),
                           wait_until(fun() -> [] =/= heirs(Node) -- [Heir]
                                      end),
                           kill(Node, [Engine])
                   end).

engine(Config, Kill) ->
    Node = ?config(node, Config),
    {Guard, Session, _, Copies} = both(Config),
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            {skip, "the VM has trace sessions"};
        Engine ->
            [Heir] = heirs(Node),
            Kill(Engine, Heir),
            ok = goes(Config),
            #{state := failed} = wait_state(Session, [failed, stopped]),
            wait_until(fun() -> inviso:get_status([maps:get(name, Node)])
                                    =:= {ok, [{maps:get(name, Node),
                                               {ok, {idle, running}}}]}
                       end),
            ok = given_back(Copies),
            ok = ask(Session, remove),
            {ok, _} = inviso:stop_nodes([maps:get(name, Node)]),
            gone = leave(Guard),
            is_left(Config)
    end.

heirs(Node) ->
    [P || P <- [call(Node, erlang, whereis, [inviso_engine_heir])], is_pid(P)].

%% --- keepers ----------------------------------------------------------------

the_keepers(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    {Guard, Session, _, Copies} = both(Config),
    [_, _ | _] = Keepers =
        [P || {P, _} <- call(Node, inviso_tracer, nif_keepers, [])],
    ok = kill(Node, Keepers),
    ok = goes(Config),
    #{state := failed, why := tracer} = wait_state(Session, [failed, stopped]),
    {ok, [{Name, {ok, {idle, running}}}]} = inviso:get_status([Name]),
    ok = given_back(Copies),
    ok = ask(Session, remove),
    {ok, _} = inviso:stop_nodes([Name]),
    gone = leave(Guard),
    is_left(Config).

%% A delivery, which sends events as messages, has two processes. This case kills the keeper, and
%% the next case the receiver.
the_keeper_of_a_delivery(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Rt = component(collector, Config),
    Copy = holder(Node, Rt),
    [Keeper] = [K || {sink, _, #{keeper := K}}
                         <- tuple_to_list(call(Node, sys, get_state, [Rt]))],
    ok = kill(Node, [Keeper]),
    ok = goes(Config),
    {ok, [{Name, {ok, {idle, running}}}]} = inviso:get_status([Name]),
    ok = given_back([Copy]),
    {ok, _} = inviso:stop_nodes([Name]),
    is_left(Config).

%% --- the guard --------------------------------------------------------------

the_guard(Config) ->
    Node = ?config(node, Config),
    {Guard, _, _, Copies} = both(Config),
    ok = kill(Node, [Guard]),
    ok = goes(Config),
    ok = given_back(Copies),
    is_left(Config).

%% When the guard and its heir (the process that would replace it) are killed, the session and the
%% runtime component end by themselves and remove their files. The next client removes the code.
the_guard_and_its_heir(Config) ->
    Node = ?config(node, Config),
    {Guard, Session, Rt, Copies} = both(Config),
    {monitors, Monitors} = call(Node, erlang, process_info, [Guard, monitors]),
    [Heir] = [P || {process, P} <- Monitors, P =/= Session, P =/= Rt,
                   P =:= proplists:get_value(heir, call(Node, ets, info,
                                                        [inviso_guard]))],
    [{_, Room}] = call(Node, ets, lookup, [inviso_guard, {room, Session}]),
    true = filelib:is_dir(Room),
    Ends = [{P, monitor(process, P)} || P <- [Session, Rt]],
    ok = kill_at_once(Node, [Guard, Heir]),
    ok = goes(Config),
    [shutdown, {shutdown, no_guard}] =
        [receive {'DOWN', Ref, process, P, Why} -> Why end || {P, Ref} <- Ends],
    false = filelib:is_dir(Room),
    ok = given_back(Copies),
    {ok, #{guard := Next}} = attach(Node),
    gone = leave(Next),
    wait_until(fun() -> not call(Node, erlang, module_loaded, [inviso_tracer])
                            orelse ?config(code, Config) =:= installed
               end).

%% Guard, session and runtime component are killed. The guard's heir, which replaces the guard,
%% removes their patterns, flags and sessions.
the_guard_and_its_users(Config) ->
    Node = ?config(node, Config),
    {Guard, Session, Rt, Copies} = both(Config),
    ok = kill_at_once(Node, [Guard, Session, Rt]),
    ok = goes(Config),
    ok = given_back(Copies),
    is_left(Config).

%% A process clears what a dead session has set. This process is killed while the engine is
%% suspended. Another process completes the work.
the_process_that_clears(Config) ->
    Node = ?config(node, Config),
    {Guard, Session} = session(Config),
    Copy = holder(Node, Session),
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            {skip, "the VM has trace sessions, and clears by itself"};
        Engine ->
            Slow = slow(Node, Engine),
            Monitors = fun() ->
                               {monitors, Ms} =
                                   call(Node, erlang, process_info,
                                        [Guard, monitors]),
                               [P || {process, P} <- Ms, node(P) =:= node(Guard)]
                       end,
            Before = Monitors(),
            ok = kill(Node, [Session]),
            Cleared = fun(Not) ->
                              Is = fun() -> [P || P <- Monitors(),
                                                  not lists:member(P, Not)]
                                   end,
                              wait_until(fun() -> Is() =/= [] end),
                              hd(Is())
                      end,
            First = Cleared(Before),
            ok = kill(Node, [First]),
            Second = Cleared([First | Before]),
            %% The guard answers requests meanwhile.
            {ok, [_]} = ask(Guard, clients),
            true = is_traced(Config),
            ok = kill(Node, [Slow]),
            ok = goes(Config),
            wait_until(fun() -> not call(Node, erlang, is_process_alive,
                                         [Second])
                       end),
            ok = given_back([Copy]),
            gone = leave(Guard),
            is_left(Config)
    end.

%% --- others -----------------------------------------------------------------

%% A trace session that is not inviso's stays when its owner is killed: by OTP's
%% rule, it exists as long as a process has its handle.
the_owner_of_a_foreign_session(Config) ->
    Node = ?config(node, Config),
    {Guard, Session} = session(Config),
    Copy = holder(Node, Session),
    Open = "S = inviso_trace:session_create(mine, Tracer, []),"
        "1 = inviso_trace:function(S, {ordsets, union, 2}, true, [local]),"
        "1 = inviso_trace:process(S, Tracee, true, [call]),"
        "Holder ! {session, S}, Test ! {self(), open},"
        "receive after infinity -> S end.",
    Hold = "receive {session, S} ->"
        "    Test ! {self(), has},"
        "    receive give -> Test ! {self(), S} end "
        "end.",
    Holder = evaluated(Node, Hold, [{'Test', self()}]),
    Tracer = evaluated(Node, "receive after infinity -> ok end.", []),
    Owner = evaluated(Node, Open,
                      [{'Tracee', ?config(tracee, Config)}, {'Tracer', Tracer},
                       {'Holder', Holder}, {'Test', self()}]),
    receive {Owner, open} -> ok end,
    receive {Holder, has} -> ok end,
    ok = kill(Node, [Owner, Session]),
    Mine = fun(S) -> call(Node, inviso_trace, info,
                          [S, {ordsets, union, 2}, traced])
           end,
    Inviso = fun() -> [N || {N, _} <- call(Node, inviso_trace, session_info,
                                           [all]), N =:= inviso] end,
    wait_until(fun() -> Inviso() =:= [] end, 30000),
    [{mine, _} = Weak] = [S || {mine, _} = S <- call(Node, inviso_trace,
                                                     session_info, [all])],
    {traced, local} = Mine(Weak),
    ok = given_back([Copy]),
    Holder ! give,
    receive {Holder, {_, Weak}} -> ok end,
    wait_until(fun() -> is_untraced(Config) end),
    ok = kill(Node, [Tracer]),
    gone = leave(Guard),
    is_left(Config).
