%% SPDX-License-Identifier: Apache-2.0
%% @doc Cases get a node again only if nothing is left on it.
-module(inviso_node_pool_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0]).
-export([a_node_is_shared/1, what_is_left_ends_the_node/1, a_dead_node_is_no_node_to_share/1]).

-import(inviso_test_lib, [call/4, shared_node/2, spawn_call/4, stop_node/1, wait_until/1]).

suite() -> [{timetrap, {minutes, 5}}].

all() -> [a_node_is_shared, what_is_left_ends_the_node, a_dead_node_is_no_node_to_share].

a_node_is_shared(Config) ->
    #{os_pid := OsPid, dir := Dir} = N = shared_node(?FUNCTION_NAME, ?config(priv_dir, Config)),
    Sleeper = spawn_call(N, timer, sleep, [infinity]),
    stop_node(N),
    stop_node(N), % does nothing
    #{os_pid := OsPid, dir := Other} = Again =
        shared_node(?FUNCTION_NAME, ?config(priv_dir, Config)),
    false = Dir =:= Other,
    {ok, Other} = call(Again, file, get_cwd, []),
    false = call(Again, erlang, is_process_alive, [Sleeper]),
    %% Another name is another node, and this one is taken.
    #{os_pid := Third} = Next = shared_node(?FUNCTION_NAME, ?config(priv_dir, Config)),
    false = Third =:= OsPid,
    stop_node(Again),
    stop_node(Next).

what_is_left_ends_the_node(Config) ->
    Init = fun(N) -> call(N, erlang, whereis, [init]) end,
    _ = [begin
             #{os_pid := OsPid} = N = shared_node(?FUNCTION_NAME, ?config(priv_dir, Config)),
             _ = Leave(N),
             stop_node(N),
             {What, ok} = {What, wait_until(fun() -> not runs(OsPid) end)}
         end
         || {What, Leave} <-
                [{process, fun(N) -> call(N, proc_lib, spawn, [timer, sleep, [infinity]]) end},
                 {table, fun(N) -> call(N, ets, new, [left, [{heir, Init(N), left}]]) end},
                 {variable, fun(N) -> call(N, os, putenv, ["INVISO_LEFT", "1"]) end},
                 {file, fun(#{tmp := Tmp}) ->
                                ok = file:write_file(filename:join(Tmp, "left"), "")
                        end},
                 {tracer, fun(N) -> call(N, seq_trace, set_system_tracer, [Init(N)]) end}]].

%% The case after the death of a node fails, so that the death is seen.
a_dead_node_is_no_node_to_share(Config) ->
    #{os_pid := OsPid, name := Name} = N = shared_node(?FUNCTION_NAME, ?config(priv_dir, Config)),
    stop_node(N),
    true = runs(OsPid),
    "" = os:cmd("kill -9 " ++ OsPid),
    #{peer := Peer} = N,
    wait_until(fun() -> not is_process_alive(Peer) end),
    {'EXIT', {{node_died_in_the_pool, Name}, _}} =
        (catch shared_node(?FUNCTION_NAME, ?config(priv_dir, Config))),
    ok.

runs(OsPid) -> filelib:is_dir("/proc/" ++ OsPid).
