%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends events to a process, which may be on another node. If the process is
%% a runtime component, its handler or collector gets the events. Any other
%% process gets the events as trace messages, and `{drop, N}' in place of N
%% dropped events.
%%
%% The relay bounds the mailbox of the target process: after each ?WINDOW events
%% or ?WINDOW_BYTES the relay reads the length of the target's mailbox, and sends
%% more events only if this length is below ?QUEUE. Until then events wait in the
%% mailbox of the receiver, the process in which the relay runs. The tracer's
%% credit bounds this mailbox. The relay also waits while a target runtime
%% component has no handler, and while the connection is busy.
%%
%% When the target dies or its node is lost, the receiver ends, and tracing ends
%% too.
-module(inviso_relay).

%% Callbacks of inviso_receiver.
-export([init/1, event/3, rest/1, info/2, close/1]).

-define(WINDOW, 256).
-define(WINDOW_BYTES, 256 * 1024).
-define(QUEUE, 1000).
-define(WAIT_MS, 20).
-define(RETRY_MS, 200).
-define(TIMEOUT, 5000).

-record(relay, {to :: pid(),
                monitor :: reference(),
                %% the process that gets the events; none: not looked up yet
                target = none :: pid() | none,
                %% how much may be sent before the target's mailbox is checked
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

%% Waits `Ms' before the next attempt. Returns `stop' if the target process has
%% ended, or if the receiver must end.
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

%% Returns the process that gets the events. For a runtime component, this is the
%% receiver of its handler or collector. Returns `none' if there is no such
%% process at present.
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
