%% SPDX-License-Identifier: Apache-2.0
%% Sessions on a node that has nothing of ours, driven as the command does it.
-module(inviso_remote_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([a_session_is_followed_to_its_end/1]).

-import(inviso_test_lib, [call/4]).
-import(inviso_remote_lib, [attach/1, ask/2, start/3, stop/1, follow/1,
                            wait_state/2, is_clean/1]).

suite() -> [{timetrap, {seconds, 60}}].

all() ->
    [a_session_is_followed_to_its_end].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    Node = inviso_test_lib:start_stock_node(remote, Dir),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    Before = inviso_test_lib:footprint(Node),
    [{node, Node}, {before, {Before, Node}} | Config].

end_per_testcase(_Case, Config) ->
    inviso_test_lib:stop_node(?config(node, Config)).

a_session_is_followed_to_its_end(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, S, #{state := arming, why := none}} =
        start(Node, Guard, #{limits => #{events => 100}}),
    #{state := tracing, matched := #{functions := 1}} =
        wait_state(S, [tracing]),
    ok = ask(S, alive),
    [1, 2, 3] = call(Node, lists, seq, [1, 3]),
    _ = [call(Node, lists, seq, [1, N]) || N <- lists:seq(1, 200)],
    {Bytes, #{state := stopped, why := events, recorded := Recorded}} =
        follow(S),
    true = Recorded > 0 andalso Recorded =< 100,
    ct:log("~b events in ~b bytes", [Recorded, byte_size(Bytes)]),
    {ok, [{Name, Size}]} = ask(S, files),
    Size = byte_size(Bytes),
    Bytes = inviso_remote_lib:read(S, Name),
    ok = ask(S, remove),
    gone = inviso_remote_lib:leave(Guard),
    is_clean(?config(before, Config)).
