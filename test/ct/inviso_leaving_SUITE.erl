%% SPDX-License-Identifier: Apache-2.0
%% inviso's processes on a node may end in any order. A slow process keeps the
%% code that it needs until it ends. In the end nothing of inviso stays.
-module(inviso_leaving_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([a_counting_process_is_late/1,
         a_meta_tracer_is_late/1,
         a_meta_tracer_that_hangs_is_killed/1,
         a_users_function_that_hangs_is_killed/1,
         a_fetch_ends_with_its_component/1,
         a_fetch_is_killed_after_its_component/1,
         the_heir_of_the_engine_is_late/1,
         an_unused_engine_ends/1,
         an_unused_keeper_ends/1,
         a_keeper_that_opens_is_late/1,
         attaching_waits_for_cleaning_up/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, leave/1, start/3, wait_state/2,
                            is_clean/1, slow/2, slow_in/2, waits_for/3]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [a_counting_process_is_late,
     a_meta_tracer_is_late,
     a_meta_tracer_that_hangs_is_killed,
     a_users_function_that_hangs_is_killed,
     a_fetch_ends_with_its_component,
     a_fetch_is_killed_after_its_component,
     the_heir_of_the_engine_is_late,
     an_unused_engine_ends,
     an_unused_keeper_ends,
     a_keeper_that_opens_is_late,
     attaching_waits_for_cleaning_up].

%% The control component runs on the node of the suite itself, so this node must be distributed.
init_per_suite(Config) ->
    case is_alive() of
        true -> Config;
        false ->
            _ = os:cmd("epmd -daemon"),
            Name = list_to_atom("leaving_" ++ os:getpid()),
            {ok, _} = net_kernel:start([Name, longnames]),
            [{net, true} | Config]
    end.

end_per_suite(Config) ->
    _ = ?config(net, Config) =:= undefined orelse net_kernel:stop(),
    ok.

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    #{name := Name} = Node = inviso_test_lib:start_stock_node(left, Dir),
    true = erlang:set_cookie(Name, call(Node, erlang, get_cookie, [])),
    pong = net_adm:ping(Name),
    Before = inviso_test_lib:footprint(Node),
    [{node, Node}, {before, {Before, Node}}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso:stop() || is_pid(whereis(inviso_c))],
    inviso_test_lib:stop_node(?config(node, Config)).

kill(Node, Pids) ->
    _ = [true = call(Node, erlang, exit, [P, kill]) || P <- Pids],
    ok.

%% Checks that the guard, which removes inviso's code at the end, waits for Pid, which the process
%% Slow has suspended. When Slow is killed, Pid continues and ends, and the node is clean.
is_awaited(Config, Guard, {Slow, Pid}) ->
    Node = ?config(node, Config),
    ok = waits_for(Node, Guard, Pid),
    ok = kill(Node, [Slow]),
    is_clean(?config(before, Config)).

%% --- sessions ---------------------------------------------------------------

%% For a dry run, a process counts calls with counters of the VM. The VM does not remove the
%% counters when the process ends, so the guard must wait until the process has removed them.
a_counting_process_is_late(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Found = slow_in(Node, {inviso_arm_expect, asked_still, 2}),
    {ok, S, _} = start(Node, Guard, #{dry_run => true}),
    Slow = Found(),
    ok = kill(Node, [S]),
    gone = leave(Guard),
    is_awaited(Config, Guard, Slow),
    {call_count, false} = call(Node, erlang, trace_info,
                               [{lists, seq, 2}, call_count]).

the_heir_of_the_engine_is_late(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, S, _} = start(Node, Guard, #{}),
    #{state := tracing} = wait_state(S, [tracing, failed]),
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            {skip, "the VM has trace sessions"};
        Engine ->
            Heir = call(Node, erlang, whereis, [inviso_engine_heir]),
            Slow = slow(Node, Heir),
            ok = kill(Node, [Engine, S]),
            gone = leave(Guard),
            is_awaited(Config, Guard, {Slow, Heir})
    end.

%% The process that requested a session of the engine was killed before it got the answer. So no
%% process uses the engine, and the engine must end.
an_unused_engine_ends(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    case inviso_remote_lib:has_sessions(Node) of
        true ->
            {skip, "the VM has trace sessions"};
        false ->
            ok = call(Node, inviso_tracer, load, []),
            Dead = inviso_test_lib:spawn_call(Node, erlang, self, []),
            _ = inviso_test_lib:spawn_call(
                    Node, inviso_tracer, 'inviso_engine_server:run',
                    [Dead, make_ref()]),
            gone = leave(Guard),
            is_clean(?config(before, Config))
    end.

%% The session is killed while its keeper, the process that opens its tracer, waits for the spooler
%% to start. The guard must wait for this keeper.
a_keeper_that_opens_is_late(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    {ok, #{guard := Guard, dir := Dir}} = attach(Node),
    Start = delay_spooler(Dir),
    Starter = spawn(fun() -> start(Node, Guard, #{}) end),
    wait_until(fun() -> call(Node, inviso_tracer, nif_keepers, []) =/= [] end),
    [{Keeper, _}] = call(Node, inviso_tracer, nif_keepers, []),
    [Session] = [P || {{user, P}, {session, _, _, _}, _}
                          <- call(Node, ets, tab2list, [inviso_guard])],
    ok = kill(Node, [Session]),
    gone = leave(Guard),
    ok = waits_for(Node, Guard, Keeper),
    [_] = filelib:wildcard(filename:join(binary_to_list(Dir), "live-*")),
    true = exit(Starter, kill),
    ok = Start(),
    is_clean(?config(before, Config)),
    {ok, []} = file:list_dir(Tmp).

%% Replaces the spooler in Dir by a script, which starts the spooler only after
%% the returned function is called.
delay_spooler(Dir) ->
    Spool = filename:join(Dir, "inviso_spool"),
    Real = filename:join(Dir, "real_spool"),
    Go = filename:join(Dir, "go"),
    ok = file:rename(Spool, Real),
    ok = file:write_file(Spool, ["#!/bin/sh\nuntil [ -e ", Go, " ]; do sleep"
                                 " 0.1; done\nexec ", Real, " \"$@\"\n"]),
    ok = file:change_mode(Spool, 8#700),
    fun() -> file:write_file(Go, <<>>) end.

an_unused_keeper_ends(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Path = filename:join(?config(dir, Config), "nobodys.log"),
    {ok, Opts} = inviso_opts:parse(Path, #{}),
    Owner = call(Node, erlang, whereis, [init]),
    Dead = inviso_test_lib:spawn_call(Node, erlang, self, []),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Dead]) end),
    _ = inviso_test_lib:spawn_call(Node, inviso_tracer, 'inviso_keeper:init',
                                   [{Dead, make_ref()},
                                    Opts#{owner := Owner}]),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    false = filelib:is_file(Path).

%% --- runtime components -----------------------------------------------------

component(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    {ok, _} = inviso:start(),
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], leaving),
    {Node, Name, call(Node, erlang, whereis, [inviso_rt]),
     call(Node, erlang, whereis, [inviso_guard])}.

meta_tracing(Config) ->
    {Node, Name, Rt, Guard} = component(Config),
    Ti = filename:join(?config(dir, Config), "a.ti"),
    {ok, [{Name, {ok, [{ti_log, ok}]}}]} =
        inviso:init_tracing([Name], [{ti, {file, Ti}}]),
    {ok, [{Name, {ok, 1}}]} =
        inviso:tpm([Name], lists, seq, 2, [], void, {erlang, hd}, void, void),
    {Node, Rt, Guard, call(Node, erlang, whereis, [inviso_rt_meta])}.

a_meta_tracer_is_late(Config) ->
    {Node, Rt, Guard, Meta} = meta_tracing(Config),
    Slow = slow(Node, Meta),
    ok = kill(Node, [Rt]),
    is_awaited(Config, Guard, {Slow, Meta}).

%% The meta tracer hangs, as in a function of the user that does not return. The guard waits for a
%% while and then kills it.
a_meta_tracer_that_hangs_is_killed(Config) ->
    {Node, Rt, Guard, Meta} = meta_tracing(Config),
    Slow = slow(Node, Meta),
    ok = kill(Node, [Rt]),
    ok = waits_for(Node, Guard, Meta),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Meta]) end),
    ok = kill(Node, [Slow]),
    is_clean(?config(before, Config)).

a_users_function_that_hangs_is_killed(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    {ok, hangs, Beam} =
        compile:forms([{attribute, 1, module, hangs},
                       {attribute, 1, export, [{check, 1}]},
                       {function, 1, check, 1,
                        [{clause, 1, [{var, 1, '_'}], [],
                          [{'receive', 1, [], {atom, 1, infinity},
                            [{atom, 1, ok}]}]}]}]),
    {module, hangs} = call(Node, code, load_binary, [hangs, "hangs", Beam]),
    {ok, _} = inviso:start(),
    Option = {overload, {{hangs, check}, 50}},
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], leaving, [Option]),
    {ok, _} = inviso:init_tracing([Name], [{trace, {file, "a.log"}}]),
    Rt = call(Node, erlang, whereis, [inviso_rt]),
    Guard = call(Node, erlang, whereis, [inviso_guard]),
    wait_until(fun() -> hanging(Node) =/= [] end),
    [Worker] = hanging(Node),
    ok = kill(Node, [Rt]),
    ok = waits_for(Node, Guard, Worker),
    wait_until(fun() -> hanging(Node) =:= [] end),
    true = call(Node, code, delete, [hangs]),
    false = call(Node, code, purge, [hangs]),
    wait_until(fun() -> call(Node, erlang, whereis, [inviso_guard])
                            =:= undefined end),
    ok = call(Node, file, delete, ["a.log"]),
    is_clean(?config(before, Config)).

hanging(Node) ->
    [P || P <- call(Node, erlang, processes, []),
          {current_function, {hangs, check, 1}} <-
              [call(Node, erlang, process_info, [P, current_function])]].

%% Starts to fetch a pipe. Reading the pipe never ends.
fetching(Config) ->
    {Node, Name, Rt, Guard} = component(Config),
    #{dir := Dir} = Node,
    "" = os:cmd("mkfifo " ++ filename:join(Dir, "pipe")),
    Spec = [{Name, [{trace_log, Dir, ["pipe"]}]}],
    {ok, Reader, _} =
        gen_server:call(Rt, {fetch, self(), element(2, hd(which(Spec)))}),
    Reader ! {open, self(), make_ref(), filename:join(Dir, "pipe")},
    {Node, Name, Rt, Guard, Reader}.

which(Specs) ->
    {ok, Which} = inviso_logs:specs(Specs, []),
    Which.

a_fetch_ends_with_its_component(Config) ->
    {Node, Name, _, _, Reader} = fetching(Config),
    {ok, [{Name, ok}]} = inviso:stop_nodes([Name]),
    false = call(Node, erlang, is_process_alive, [Reader]),
    is_clean(?config(before, Config)).

a_fetch_is_killed_after_its_component(Config) ->
    {Node, _, Rt, Guard, Reader} = fetching(Config),
    ok = kill(Node, [Rt]),
    ok = waits_for(Node, Guard, Reader),
    is_clean(?config(before, Config)).

%% --- clients that attach ----------------------------------------------------

%% A client that attaches must wait until the code of the earlier client is removed. On a busy
%% machine this takes some time; here it takes 7 s.
attaching_waits_for_cleaning_up(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Leaves = inviso_test_lib:spawn_call(Node, timer, sleep, [7000]),
    true = call(Node, erlang, register, [inviso_loading, Leaves]),
    {ok, _} = inviso:start(),
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], leaving),
    {ok, [{Name, ok}]} = inviso:stop_nodes([Name]),
    is_clean(?config(before, Config)).
