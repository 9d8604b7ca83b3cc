%% SPDX-License-Identifier: Apache-2.0
%% @doc Events to a process, which may be on another node: a runtime component,
%% whose handler or collector gets them, or any other, which gets them as they
%% are, with `{drop, N}' where some are missing.
%%
%% The other process' mailbox is bounded from here: after each ?WINDOW events
%% or ?WINDOW_BYTES it is looked how many messages wait there, and more are sent
%% only when those are fewer than ?QUEUE. Meanwhile events wait in the mailbox
%% here, which the tracer's credit bounds. The same is done while a runtime
%% component has no handler (yet), and while the connection is busy, so that it
%% stays usable for others.
%%
%% When the other process dies or its node is lost, there is nothing more to do:
%% the receiver ends, and tracing with it.
-module(inviso_relay).

%% What inviso_receiver calls.
-export([init/1, event/3, rest/1, info/2, close/1]).

-define(WINDOW, 256).
-define(WINDOW_BYTES, 256 * 1024).
-define(QUEUE, 1000).
-define(WAIT_MS, 20).
-define(RETRY_MS, 200).
-define(TIMEOUT, 5000).

-record(relay, {to :: pid(),
                monitor :: reference(),
                %% who gets the events; none: not known (any more)
                target = none :: pid() | none,
                %% may still be sent without looking
                events = 0 :: integer(),
                bytes = 0 :: integer()}).

%% @private
-spec init(pid()) -> {ok, #relay{}}.
init(To) ->
    {ok, #relay{to = To, monitor = monitor(process, To)}}.

%% @private
-spec event(inviso_receiver:event(), non_neg_integer(), #relay{}) ->
          inviso_receiver:result().
event(Event, Bytes, Relay) ->
    case with_room(Relay) of
        #relay{target = Target, events = Es, bytes = Bs} = Relay1 ->
            case erlang:send(Target, Event, [nosuspend, noconnect]) of
                ok ->
                    {ok, Relay1#relay{events = Es - 1, bytes = Bs - Bytes}};
                nosuspend ->
                    again(Event, Bytes, Relay1);
                noconnect ->
                    {stop, {relayer, noconnection}}
            end;
        {stop, _} = Stop ->
            Stop
    end.

again(Event, Bytes, Relay) ->
    case pause(?WAIT_MS, Relay) of
        ok -> event(Event, Bytes, Relay);
        {stop, _} = Stop -> Stop
    end.

%% A pause ends with the process that it waits for.
pause(Ms, #relay{monitor = Monitor}) ->
    receive
        {'DOWN', Monitor, process, _, Reason} -> {stop, {relayer, Reason}}
    after Ms ->
            case inviso_receiver:stopping() of
                true -> {stop, stopped};
                false -> ok
            end
    end.

with_room(#relay{target = none} = Relay) ->
    case target(Relay) of
        none -> after_pause(?RETRY_MS, Relay);
        Target -> with_room(Relay#relay{target = Target, events = 0})
    end;
with_room(#relay{events = Es, bytes = Bs} = Relay) when Es > 0, Bs > 0 ->
    Relay;
with_room(#relay{target = Target} = Relay) ->
    case ask(Target, [Target, message_queue_len]) of
        {message_queue_len, N} when N < ?QUEUE ->
            Relay#relay{events = ?WINDOW, bytes = ?WINDOW_BYTES};
        {message_queue_len, _} ->
            after_pause(?WAIT_MS, Relay);
        _ ->
            after_pause(?WAIT_MS, Relay#relay{target = none})
    end.

after_pause(Ms, Relay) ->
    case pause(Ms, Relay) of
        ok -> with_room(Relay);
        {stop, _} = Stop -> Stop
    end.

%% A runtime component passes nothing on itself.
target(#relay{to = To}) ->
    case ask(To, [To, registered_name]) of
        {registered_name, inviso_rt} ->
            try
                gen_server:call(To, receiver, ?TIMEOUT)
            catch
                exit:_ -> none
            end;
        {error, _} -> none;
        undefined -> none;
        _ -> To
    end.

ask(Pid, Args) ->
    try
        erpc:call(node(Pid), erlang, process_info, Args, ?TIMEOUT)
    catch
        _:Reason -> {error, Reason}
    end.

%% @private
-spec rest(#relay{}) -> inviso_receiver:result().
rest(Relay) ->
    {ok, Relay}.

%% @private
-spec info(term(), #relay{}) -> inviso_receiver:result().
info({'DOWN', Ref, process, _, Reason}, #relay{monitor = Ref}) ->
    {stop, {relayer, Reason}};
info(_, Relay) ->
    {ok, Relay}.

%% @private
-spec close(#relay{}) -> ok.
close(_Relay) ->
    ok.
