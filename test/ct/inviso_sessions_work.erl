%% SPDX-License-Identifier: Apache-2.0
%% The functions that the traced process of inviso_sessions_play calls.
-module(inviso_sessions_work).

-export([f/1, g/2, h/1, fact/1, fail/1, tail/1, twice/1, even/1, odd/1,
         within/1, outer/1, inner/1, leaf/1]).

f(X) -> X.

g(X, Y) -> {X, Y}.

h(X) -> {local(X), ?MODULE:f(X)}.

local(X) -> X + 1.

fact(0) -> 1;
fact(N) -> N * fact(N - 1).

fail(X) when is_integer(X) -> X;
fail(X) -> error({not_an_integer, X}).

tail(0) -> done;
tail(N) -> tail(N - 1).

twice(X) -> [f(X), f(X)].

within(Fun) ->
    [Fun()].

even(0) -> true;
even(N) -> not odd(N - 1).

odd(0) -> false;
odd(N) -> not even(N - 1).

%% Makes a chain of calls. Each word says how a function calls the next one, and
%% the last word says what the last function does.
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
