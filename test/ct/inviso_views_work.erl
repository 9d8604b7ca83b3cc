%% SPDX-License-Identifier: Apache-2.0
%% A small shop on three nodes, for inviso_views_SUITE. This module runs on the
%% traced nodes. Most requests take this way: a client orders at the shop (node a).
%% The shop asks the stock (node b) and then the till (node c). Then it tells the
%% journal (node c), and answers the client.
-module(inviso_views_work).

-export([open/2, order/3, order/4, settle/1, many/2]).

%% Starts a server on this node.
open(shop, Others) ->
    serve(shop, fun(M) -> shop(M, Others) end);
open(Name, _) ->
    serve(Name, fun answer/1).

serve(Name, Handle) ->
    Self = self(),
    Pid = spawn(fun() ->
                        true = register(Name, self()),
                        Self ! {self(), ok},
                        loop(Handle)
                end),
    receive {Pid, ok} -> ok end.

loop(Handle) ->
    receive M -> Handle(M) end,
    loop(Handle).

shop({call, From, {order, Item, How}}, [B, C]) ->
    {ok, _} = call({stock, B}, {take, Item, How}),
    seq_trace:print({taken, Item}),
    case How of
        free -> ok;
        {ask, Name} -> {ok, _} = call({Name, C}, {ask, Item});
        _ -> {ok, _} = call({till, C}, {pay, Item})
    end,
    {journal, C} ! {sold, Item},
    reply(From, {done, Item}).

%% Returns when the process has received all messages in its queue.
settle(Name) ->
    {ok, settle} = call(Name, {settle, now}),
    ok.

%% Handles a message to a server other than the shop: stock, till or journal.
answer({call, From, {take, _, {wait, Ms}}}) ->
    receive after Ms -> reply(From, {ok, taken}) end;
answer({call, From, {What, _, _}}) ->
    reply(From, {ok, What});
answer({call, From, {What, _}}) ->
    reply(From, {ok, What});
answer({sold, _}) ->
    ok.

call(To, Request) ->
    Ref = make_ref(),
    To ! {call, {self(), Ref}, Request},
    receive {Ref, Reply} -> Reply end.

reply({Pid, Ref}, Reply) ->
    Pid ! {Ref, Reply},
    ok.

%% Orders an item from the shop, in a sequential trace with this label.
order(Label, Item, How) ->
    order(Label, Item, How, [send, 'receive', print]).

order(Label, Item, How, Flags) ->
    Self = self(),
    {Pid, Mon} =
        spawn_monitor(fun() ->
                              seq_trace:set_token(label, Label),
                              [seq_trace:set_token(F, true) || F <- Flags],
                              Answer = call(shop, {order, Item, How}),
                              seq_trace:set_token([]),
                              Self ! {self(), Answer}
                      end),
    receive
        {Pid, Answer} -> erlang:demonitor(Mon, [flush]), Answer;
        {'DOWN', Mon, _, _, Why} -> error(Why)
    end.

%% Sends N messages to a process, all in one request. Returns when the process has received them.
many(Name, N) ->
    Self = self(),
    Pid = spawn(fun() ->
                        seq_trace:set_token(label, 1),
                        [seq_trace:set_token(F, true) || F <- [send, 'receive']],
                        [Name ! {sold, I} || I <- lists:seq(1, N)],
                        seq_trace:set_token([]),
                        ok = settle(Name),
                        Self ! {self(), ok}
                end),
    receive {Pid, ok} -> ok end.
