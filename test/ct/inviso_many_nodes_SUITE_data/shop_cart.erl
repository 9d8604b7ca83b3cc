%% SPDX-License-Identifier: Apache-2.0
%% What inviso_many_nodes_SUITE records: a process that handles orders, and a report.
-module(shop_cart).

-export([orders/2, report/1]).
-export([add/2, price/1, total/1, pay/2]).
-export([line/1]).

%% If How is `sick', each twentieth order is slow, and each fifth is not paid. The first slow orders
%% are slower than any pause of the machine. After every 1000 orders the process pauses, so that the
%% spooler can keep up and no events are lost.
orders(Count, How) ->
    _ = [begin
             _ = N rem 1000 =:= 0 andalso timer:sleep(10),
             _ = put(slow, slow(N, How)),
             _ = put(unpaid, How =:= sick andalso N rem 5 =:= 0),
             order(N)
         end || N <- lists:seq(1, Count)],
    ok.

slow(N, sick) when N =< 60, N rem 20 =:= 0 -> 50;
slow(N, sick) when N rem 20 =:= 0 -> 2;
slow(_, _) -> 0.

order(N) ->
    Cart = ?MODULE:add([{tea, 2, 2.5}], {jam, N}),
    ?MODULE:pay(N, ?MODULE:total(Cart)).

add(Cart, {Item, N}) ->
    Price = ?MODULE:price({Item, N}),
    [{Item, N rem 3 + 1, Price} | Cart].

price(_) ->
    wait(5),
    3.25.

total(Cart) ->
    wait(2),
    lists:sum([N * Price || {_, N, Price} <- Cart]).

pay(N, _Sum) ->
    wait(2),
    case get(unpaid) of
        true -> {error, timeout};
        false when N rem 25 =:= 0 -> {error, declined};
        false -> {ok, N}
    end.

%% If the order is slow, sleeps. The time is the number of milliseconds that slow/2 returned for the
%% order, multiplied by Times.
wait(Times) ->
    case get(slow) of
        0 -> ok;
        Ms -> timer:sleep(Times * Ms)
    end.

%% Calls a function as fast as possible.
report(Lines) ->
    lists:foreach(fun ?MODULE:line/1, lists:seq(1, Lines)).

line(N) -> N.
