%% SPDX-License-Identifier: Apache-2.0
%% @doc Passes events to a function of the user, `Fun(Event, Data) -> NewData'.
%%
%% If the function crashes, the data stays as it was before that event. The function
%% also gets the events that other nodes relay to this one ({@link inviso_relay}).
-module(inviso_handler).

%% Callbacks of inviso_receiver.
-export([init/1, event/3, rest/1, info/2, close/1]).

-type state() :: {fun((inviso_receiver:event(), term()) -> term()), term()}.

%% @private
-spec init(state()) -> {ok, state()}.
init(State) ->
    {ok, State}.

%% @private
-spec event(inviso_receiver:event(), non_neg_integer(), state()) ->
          inviso_receiver:result().
event(Event, _Bytes, {Fun, Data} = State) ->
    try
        {ok, {Fun, Fun(Event, Data)}}
    catch
        Class:Reason -> {failed, {Class, Reason}, State}
    end.

%% @private
-spec rest(state()) -> inviso_receiver:result().
rest(State) ->
    {ok, State}.

%% @private
-spec info(term(), state()) -> inviso_receiver:result().
info(Message, State) when is_tuple(Message), tuple_size(Message) > 1 ->
    Kinds = [trace, trace_ts, seq_trace, drop],
    case lists:member(element(1, Message), Kinds) of
        true -> event(Message, 0, State);
        false -> {ok, State}
    end;
info(_Message, State) ->
    {ok, State}.

%% @private
-spec close(state()) -> ok.
close(_State) ->
    ok.
