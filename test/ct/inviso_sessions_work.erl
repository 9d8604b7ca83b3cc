%% SPDX-License-Identifier: Apache-2.0
%% What the traced process of inviso_sessions_play does.
-module(inviso_sessions_work).

-export([f/1, g/2, h/1, fact/1, fail/1, tail/1, twice/1, even/1, odd/1,
         within/1, outer/1, inner/1, leaf/1]).

f(X) -> X.

g(X, Y) -> {X, Y}.

%% A local call and an external one.
h(X) -> {local(X), ?MODULE:f(X)}.

local(X) -> X + 1.

fact(0) -> 1;
fact(N) -> N * fact(N - 1).

fail(X) when is_integer(X) -> X;
fail(X) -> error({not_an_integer, X}).

tail(0) -> done;
tail(N) -> tail(N - 1).

twice(X) -> [f(X), f(X)].

%% What is done within a call.
within(Fun) ->
    [Fun()].

%% Mutual recursion that is no tail call.
even(0) -> true;
even(N) -> not odd(N - 1).

odd(0) -> false;
odd(N) -> not even(N - 1).

%% Chains of calls: each word says how the next function is called, the last
%% what becomes of it.
outer([body | T]) -> [inner(T)];
outer([tail | T]) -> inner(T);
outer([caught | T]) -> [try inner(T) catch error:leaf -> caught end];
outer([external | T]) -> [?MODULE:inner(T)].

inner([body | T]) -> [leaf(T)];
inner([tail | T]) -> leaf(T);
inner([caught | T]) -> [try leaf(T) catch error:leaf -> caught end];
inner([external | T]) -> [?MODULE:leaf(T)].

leaf([return]) -> ok;
leaf([fail]) -> error(leaf).
