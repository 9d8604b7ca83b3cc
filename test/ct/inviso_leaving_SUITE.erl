%% SPDX-License-Identifier: Apache-2.0
%% What is ours on a node ends in any order: whoever is slow finds the code that
%% it needs, and nothing stays.
-module(inviso_leaving_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([who_counts_beforehand_is_late/1,
         a_meta_tracer_is_late/1,
         a_meta_tracer_that_hangs_is_killed/1,
         a_fetch_ends_with_its_component/1,
         a_fetch_is_killed_after_its_component/1,
         the_heir_of_the_engine_is_late/1,
         an_engine_that_nobody_asks_ends/1,
         a_keeper_that_nobody_asked_for_ends/1,
         who_comes_waits_for_who_leaves/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, leave/1, start/3, wait_state/2,
                            is_clean/1, slow/2, slow_in/2, waits_for/3]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [who_counts_beforehand_is_late,
     a_meta_tracer_is_late,
     a_meta_tracer_that_hangs_is_killed,
     a_fetch_ends_with_its_component,
     a_fetch_is_killed_after_its_component,
     the_heir_of_the_engine_is_late,
     an_engine_that_nobody_asks_ends,
     a_keeper_that_nobody_asked_for_ends,
     who_comes_waits_for_who_leaves].

%% The suite is the control component's node.
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

%% A guard waits for who is slow, who then ends well.
is_awaited(Config, Guard, {Slow, Pid}) ->
    Node = ?config(node, Config),
    ok = waits_for(Node, Guard, Pid),
    ok = kill(Node, [Slow]),
    is_clean(?config(before, Config)).

%% --- sessions ---------------------------------------------------------------

%% Its counters are nobody's any more, whom the VM would take them from.
who_counts_beforehand_is_late(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Found = slow_in(Node, {inviso_expect, asked_still, 2}),
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
    case call(Node, inviso_otp, engine, []) of
        [] ->
            {skip, "the VM has trace sessions"};
        [Engine] ->
            [Heir] = [P || {{stays, P}, engine} <- call(Node, ets, tab2list,
                                                        [inviso_guard])],
            Slow = slow(Node, Heir),
            ok = kill(Node, [Engine, S]),
            gone = leave(Guard),
            is_awaited(Config, Guard, {Slow, Heir})
    end.

%% Who wanted a session was killed before it could say so.
an_engine_that_nobody_asks_ends(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    case call(Node, inviso_otp, has_sessions, []) of
        true ->
            {skip, "the VM has trace sessions"};
        false ->
            ok = call(Node, inviso_engine, load, []),
            Dead = inviso_test_lib:spawn_call(Node, erlang, self, []),
            _ = inviso_test_lib:spawn_call(Node, inviso_engine_server, run,
                                           [Dead, make_ref()]),
            gone = leave(Guard),
            is_clean(?config(before, Config))
    end.

a_keeper_that_nobody_asked_for_ends(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Path = filename:join(?config(dir, Config), "nobodys.log"),
    {ok, Opts} = inviso_opts:parse(Path, #{}),
    Owner = call(Node, erlang, whereis, [init]),
    Dead = inviso_test_lib:spawn_call(Node, erlang, self, []),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Dead]) end),
    _ = inviso_test_lib:spawn_call(Node, inviso_keeper, init,
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

%% In a function of the user's, say.
a_meta_tracer_that_hangs_is_killed(Config) ->
    {Node, Rt, Guard, Meta} = meta_tracing(Config),
    Slow = slow(Node, Meta),
    ok = kill(Node, [Rt]),
    ok = waits_for(Node, Guard, Meta),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Meta]) end),
    ok = kill(Node, [Slow]),
    is_clean(?config(before, Config)).

%% Of a file that cannot be read to its end.
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

%% --- those who come ---------------------------------------------------------

%% A busy machine takes its time to forget what was there.
who_comes_waits_for_who_leaves(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Leaves = inviso_test_lib:spawn_call(Node, timer, sleep, [7000]),
    true = call(Node, erlang, register, [inviso_loading, Leaves]),
    {ok, _} = inviso:start(),
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], leaving),
    {ok, [{Name, ok}]} = inviso:stop_nodes([Name]),
    is_clean(?config(before, Config)).
