%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls for inviso_calls_SUITE, loaded on a stock node: random trees of
%% calls of f0/1 to f3/1, and orders that are slow or fail.
-module(inviso_calls_work).

-export([init/1, f0/1, f1/1, f2/1, f3/1, order/2, play/1, shop/0,
         clerk/0, clerk/1]).

%% A gen_server that ends at once.
init([]) -> ignore.

%% A tree describes a call: {Id, Children, End}, where each child is {Function, Tree}. End says how
%% the call ends: `ok', `error', {raise, Class}, {tail, Child} or `die'.
f0(Tree) -> body(Tree).
f1(Tree) -> body(Tree).
f2(Tree) -> body(Tree).
f3(Tree) -> body(Tree).

body({Id, Children, End}) ->
    [catch ?MODULE:F(Tree) || {F, Tree} <- Children],
    finish(Id, End).

finish(Id, ok) -> {ok, Id};
finish(Id, error) -> {error, Id};
finish(Id, {raise, Class}) -> erlang:raise(Class, {bad, Id}, []);
finish(_Id, {tail, {F, Tree}}) -> ?MODULE:F(Tree);
finish(_Id, die) ->
    Self = self(),
    spawn(fun() -> exit(Self, kill) end),
    receive after infinity -> ok end.

%% Makes the calls of each child in a separate process.
play(Children) ->
    Monitors = [spawn_monitor(fun() -> catch ?MODULE:F(Tree) end)
                || {F, Tree} <- Children],
    [receive {'DOWN', Ref, process, _, _} -> ok end || {_, Ref} <- Monitors],
    ok.

%% An order is slow if its number is divisible by 5, fails if it is divisible by 7, and crashes if
%% it is divisible by 11.
order(N, _Item) when N rem 5 =:= 0 -> timer:sleep(30), {ok, N};
order(N, _Item) when N rem 7 =:= 0 -> {error, N};
order(N, _Item) when N rem 11 =:= 0 -> error({bad, N});
order(N, _Item) when N rem 13 =:= 0 -> {nok, N};
order(N, _Item) -> {ok, N}.

shop() ->
    register(shop, self()),
    shop(1).

%% clerk/0 and clerk/1 take orders like shop/0, but register no name. clerk/1 also sets a label, if
%% the release has labels.
clerk() -> shop(1).

clerk(Label) ->
    _ = (catch proc_lib:set_label(Label)),
    shop(1).

shop(N) ->
    put(orders, N),
    catch ?MODULE:order(N, {item, N}),
    timer:sleep(1),
    shop(N + 1).
