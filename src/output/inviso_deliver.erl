%% SPDX-License-Identifier: Apache-2.0
%% @doc The keeper of a tracer that delivers events as messages. The keeper also
%% starts and ends the receiver: the process that gets the messages ({@link
%% inviso_receiver}).
%%
%% The keeper counts events, and answers requests even while the receiver is busy.
%% It closes the tracer and ends the receiver when the owner calls close/1, when
%% the owner dies, or when the receiver dies.
%%
%% The keeper sends its owner these messages:
%%
%% ```
%% {inviso_deliver, {trace_counts, Counts}}         at most once a second, if
%%                                                  events were lost; and when
%%                                                  the keeper ends without
%%                                                  close/1
%% {inviso_deliver, {callback_failed, {handler, Reason}}}
%% '''
%%
%% At any time `produced = delivered + dropped + waiting'; at the end `waiting'
%% is 0. `lost' contains the dropped events by reason:
%%
%% ```
%% full       the credit was used up (?EVENTS, ?BYTES)
%% too_big    the event was larger than ?EVENT_BYTES without its binaries, or
%%            larger than ?BYTES with them
%% failed     the handler crashed on the event
%% gone       the receiver was dead
%% unhandled  the event was in the receiver's mailbox when the receiver died, or
%%            the sink did not handle it within ?CLOSE_MS after tracing ended
%% unsent     a connection was lost before the event was sent
%% '''
-module(inviso_deliver).

-behaviour(gen_server).

-export([start/3, tracer/1, monitor/1, processes/1, receiver/1, flush/2,
         close/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-export_type([delivery/0, counts/0]).

-type delivery() :: #{keeper := pid(), monitor := reference(),
                      receiver := pid(), tracer := inviso_tracer:tracer()}.
-type counts() :: #{produced := non_neg_integer(),
                    delivered := non_neg_integer(),
                    dropped := non_neg_integer(),
                    waiting := non_neg_integer(),
                    lost := #{atom() => pos_integer()}}.

%% The credit: how many events and bytes may wait in the receiver's mailbox.
%% EVENT_BYTES: the largest event, without its binaries.
-define(EVENTS, 10000).
-define(BYTES, 16 * 1024 * 1024).
-define(EVENT_BYTES, 1024 * 1024).

-define(TICK_MS, 1000).
%% How long the receiver may handle waiting events after tracing has ended.
-define(CLOSE_MS, 5000).
-define(TIMEOUT, 30000).

-record(keeper,
        {owner :: pid(),
         monitor :: reference(),
         receiver :: pid(),
         handle :: pos_integer(),
         %% the credit: how many events may be in the receiver's mailbox
         events :: pos_integer(),
         counts :: inviso_receiver:counts(),
         told = 0 :: non_neg_integer()}).

%% @doc Starts the delivery of events to a sink (a module with callbacks), with a
%% credit of `Events' events. The calling process is the owner.
-spec start(module(), term(), pos_integer() | default) ->
          {ok, delivery()} | {error, term()}.
start(Sink, Arg, Events) ->
    case inviso_tracer:load() of
        ok ->
            case gen_server:start(?MODULE, {Sink, Arg, Events, self()},
                                  [{timeout, ?TIMEOUT}]) of
                {ok, Keeper} -> begin_with(Keeper);
                {error, {shutdown, Reason}} -> {error, Reason};
                {error, _} = E -> E
            end;
        {error, _} = E ->
            E
    end.

%% Makes the receiver pass events to the sink. The owner monitors the keeper before
%% that, so that the owner always notices the keeper's end.
begin_with(Keeper) ->
    Monitor = erlang:monitor(process, Keeper),
    case call(Keeper, begin_with) of
        {ok, Parts} ->
            {ok, Parts#{monitor => Monitor}};
        {error, _} = E ->
            true = demonitor(Monitor, [flush]),
            E
    end.

%% @doc Returns the tracer for setting flags and patterns.
-spec tracer(delivery()) -> inviso_tracer:tracer().
tracer(#{tracer := Tracer}) -> Tracer.

%% @doc Returns the owner's monitor of the keeper. The `DOWN' message says why
%% the keeper has ended.
-spec monitor(delivery()) -> reference().
monitor(#{monitor := Monitor}) -> Monitor.

%% @doc Returns the processes that must not be traced.
-spec processes(delivery()) -> [pid()].
processes(#{keeper := Keeper, receiver := Receiver}) -> [Keeper, Receiver].

%% @doc Returns the process to which events are delivered.
-spec receiver(delivery()) -> pid().
receiver(#{receiver := Receiver}) -> Receiver.

%% @doc Makes the receiver answer `From' when the sink has handled all earlier
%% events: see {@link inviso_receiver:flush/2}.
-spec flush(delivery(), {pid(), term()}) -> ok.
flush(#{receiver := Receiver}, From) ->
    inviso_receiver:flush(Receiver, From).

%% @doc Ends the delivery. Before that the sink handles the waiting events, for at
%% most ?CLOSE_MS.
-spec close(delivery()) -> {ok, counts()} | {error, closed}.
close(#{keeper := Keeper}) ->
    Result = call(Keeper, close),
    ok = forget_counts(),
    Result.

%% Removes messages with earlier counts from the caller's mailbox, because the
%% result of close/1 contains the final counts.
forget_counts() ->
    receive
        {inviso_deliver, {trace_counts, _}} -> forget_counts()
    after 0 ->
            ok
    end.

call(Keeper, Request) ->
    try
        gen_server:call(Keeper, Request, ?TIMEOUT)
    catch
        exit:_ -> {error, closed}
    end.

%% @private
init({_, _, _, Owner} = Args) ->
    process_flag(trap_exit, true),
    group_leader(whereis(init), self()),
    %% The owner may die before the NIF library has noted that this process is a
    %% keeper. The guard must not remove the code before this process ends, even in
    %% this case.
    ok = inviso_push:stays(worker),
    case is_process_alive(Owner) of
        true -> opened(Args);
        false -> {stop, {shutdown, no_owner}}
    end.

opened({Sink, Arg, Events, Owner}) ->
    Counts = counters:new(3, []),
    Max = case Events of default -> ?EVENTS; _ -> Events end,
    case inviso_receiver:start_link(Sink, Arg, Counts) of
        {ok, Receiver} ->
            case inviso_tracer:nif_deliver(Receiver, Max, ?BYTES,
                                           ?EVENT_BYTES) of
                {ok, Handle} ->
                    begun(#keeper{owner = Owner,
                                  monitor = erlang:monitor(process, Owner),
                                  receiver = Receiver, handle = Handle,
                                  events = Max, counts = Counts});
                {error, Errno} ->
                    true = exit(Receiver, kill),
                    {stop, {shutdown, {tracer, Errno}}}
            end;
        {error, Reason} ->
            %% With `shutdown' no crash report is logged. The user gets the error.
            {stop, {shutdown, Reason}}
    end.

%% If the owner has died meanwhile, ends this process. In this case the code of
%% other modules may already be removed. So this process calls no other module: the
%% NIF library closes the tracer when this process ends.
begun(#keeper{owner = Owner} = K) ->
    case is_process_alive(Owner) of
        true -> {ok, K};
        false -> {stop, {shutdown, no_owner}}
    end.

%% @private
handle_call(begin_with, _From, K) ->
    #keeper{receiver = Receiver, handle = Handle, events = Max} = K,
    ok = inviso_receiver:begin_with(Receiver, Handle, {Max, ?BYTES}),
    _ = erlang:send_after(?TICK_MS, self(), tick),
    {reply, {ok, #{keeper => self(), receiver => Receiver,
                   tracer => {inviso_tracer, Handle}}}, K};
handle_call(close, _From, K) ->
    {stop, normal, {ok, finish(inviso_deadline:ms(?CLOSE_MS), K)}, K}.

%% @private
handle_cast(_, K) ->
    {noreply, K}.

%% @private
handle_info(tick, #keeper{told = Told} = K) ->
    _ = erlang:send_after(?TICK_MS, self(), tick),
    case counts(waiting, K) of
        #{dropped := Told} ->
            {noreply, K};
        #{dropped := Dropped} = Counts ->
            ok = tell({trace_counts, Counts}, K),
            {noreply, K#keeper{told = Dropped}}
    end;
handle_info({failed, Reason}, K) ->
    ok = tell({callback_failed, {handler, Reason}}, K),
    {noreply, K};
handle_info({'DOWN', Ref, process, _, _}, #keeper{monitor = Ref} = K) ->
    _ = finish(0, K),
    {stop, normal, K};
handle_info({'EXIT', Pid, Reason}, #keeper{receiver = Pid} = K) ->
    ok = tell({trace_counts, finish(0, K)}, K),
    {stop, {shutdown, why(Reason)}, K};
handle_info(_, K) ->
    {noreply, K}.

why({shutdown, Reason}) -> Reason;
why(Reason) -> {receiver, Reason}.

tell(Event, #keeper{owner = Owner}) ->
    Owner ! {inviso_deliver, Event},
    ok.

%% Ends tracing. Then waits until the receiver has handled the events that were
%% sent, at most `Ms' milliseconds.
finish(Ms, #keeper{receiver = Receiver, handle = Handle} = K) ->
    _ = inviso_tracer:nif_retire(Handle),
    ok = await_quiet(Handle),
    {Produced, Dropped} = inviso_tracer:nif_counts(Handle),
    Sent = Produced - lists:sum(tuple_to_list(Dropped)),
    Monitor = erlang:monitor(process, Receiver),
    ok = inviso_receiver:stop(Receiver, Sent),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    after Ms ->
            true = exit(Receiver, kill),
            receive {'DOWN', Monitor, process, _, _} -> ok end
    end,
    Counts = counts(unhandled, K),
    ok = inviso_keeper:free(Handle),
    Counts.

await_quiet(Handle) ->
    case inviso_tracer:nif_quiet(Handle) of
        false -> timer:sleep(1), await_quiet(Handle);
        _ -> ok
    end.

%% Returns the counts. `Rest' says how to count the events that are neither
%% delivered nor dropped: as `waiting' or, at the end, as `unhandled'.
counts(Rest, #keeper{handle = Handle, counts = Counters}) ->
    [Delivered, Failed, Unsent] = [counters:get(Counters, I)
                                   || I <- [1, 2, 3]],
    {Produced, {Full, TooBig, Gone, NoThread}} =
        inviso_tracer:nif_counts(Handle),
    Known = Full + TooBig + Gone + NoThread + Failed + Unsent,
    %% The receiver may count more events during this function, so the difference
    %% may be negative.
    Left = max(0, Produced - Known - Delivered),
    Unhandled = case Rest of unhandled -> Left; waiting -> 0 end,
    Lost = [{full, Full}, {too_big, TooBig}, {gone, Gone},
            {no_thread, NoThread}, {failed, Failed}, {unsent, Unsent},
            {unhandled, Unhandled}],
    #{produced => Produced,
      delivered => Delivered,
      dropped => Known + Unhandled,
      waiting => Left - Unhandled,
      lost => maps:from_list([L || {_, N} = L <- Lost, N > 0])}.
