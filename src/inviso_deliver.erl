%% SPDX-License-Identifier: Apache-2.0
%% @doc Events as messages: the keeper of a tracer that delivers, and of the
%% process it delivers to ({@link inviso_receiver}).
%%
%% The keeper answers whatever the receiver is doing, counts, and ends the two
%% of them: when it is told to, when its owner dies, and when the receiver does.
%%
%% What it tells its owner:
%%
%% ```
%% {inviso_deliver, {trace_counts, Counts}}         events were lost: at most
%%                                                  once a second; and when it
%%                                                  ends without being told to
%% {inviso_deliver, {callback_failed, {handler, Reason}}}
%% '''
%%
%% Of the counts `produced = delivered + dropped + waiting' is true at any time,
%% and nothing is waiting at the end. `lost' has what was dropped by reason:
%%
%% ```
%% full       the receiver had as much as it may have (?EVENTS, ?BYTES)
%% too_big    more than ?EVENT_BYTES besides its binaries, or than ?BYTES
%% failed     the handler crashed on it
%% gone       the receiver was dead; `unhandled' was in its mailbox then, or
%%            was not handled within ?CLOSE_MS of the end
%% unsent     a connection was lost before it was sent
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

%% What may wait in the receiver's mailbox.
-define(EVENTS, 10000).
-define(BYTES, 16 * 1024 * 1024).
-define(EVENT_BYTES, 1024 * 1024).

-define(TICK_MS, 1000).
%% For what is waiting at the end.
-define(CLOSE_MS, 5000).
-define(TIMEOUT, 30000).

-record(keeper,
        {owner :: pid(),
         monitor :: reference(),
         receiver :: pid(),
         handle :: pos_integer(),
         events :: pos_integer(), % its credit
         counts :: inviso_receiver:counts(),
         told = 0 :: non_neg_integer()}).

%% @doc Starts a delivery to a sink, at most so many events at a time. The
%% calling process is the owner.
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

%% The sink does nothing before its end would be noticed.
begin_with(Keeper) ->
    Monitor = erlang:monitor(process, Keeper),
    case call(Keeper, begin_with) of
        {ok, Parts} ->
            {ok, Parts#{monitor => Monitor}};
        {error, _} = E ->
            true = demonitor(Monitor, [flush]),
            E
    end.

%% @doc The tracer, for flags and patterns.
-spec tracer(delivery()) -> inviso_tracer:tracer().
tracer(#{tracer := Tracer}) -> Tracer.

%% @doc The owner's monitor, which tells when it has ended and why.
-spec monitor(delivery()) -> reference().
monitor(#{monitor := Monitor}) -> Monitor.

%% @doc The processes that must not be traced.
-spec processes(delivery()) -> [pid()].
processes(#{keeper := Keeper, receiver := Receiver}) -> [Keeper, Receiver].

%% @doc The process that events are delivered to.
-spec receiver(delivery()) -> pid().
receiver(#{receiver := Receiver}) -> Receiver.

%% @doc Has a request answered with `ok' when the sink has all that was
%% delivered so far.
-spec flush(delivery(), {pid(), term()}) -> ok.
flush(#{receiver := Receiver}, From) ->
    inviso_receiver:flush(Receiver, From).

%% @doc No more events; those that wait are given to the sink, for as long as
%% ?CLOSE_MS.
-spec close(delivery()) -> {ok, counts()} | {error, closed}.
close(#{keeper := Keeper}) ->
    Result = call(Keeper, close),
    ok = forget_counts(),
    Result.

%% These are the last.
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
init({Sink, Arg, Events, Owner}) ->
    process_flag(trap_exit, true),
    group_leader(whereis(init), self()),
    ok = inviso_push:keeps(),
    Counts = counters:new(3, []),
    Max = case Events of default -> ?EVENTS; _ -> Events end,
    case inviso_receiver:start_link(Sink, Arg, Counts) of
        {ok, Receiver} ->
            case inviso_tracer:nif_deliver(Receiver, Max, ?BYTES,
                                           ?EVENT_BYTES) of
                {ok, Handle} ->
                    {ok, #keeper{owner = Owner,
                                 monitor = erlang:monitor(process, Owner),
                                 receiver = Receiver, handle = Handle,
                                 events = Max, counts = Counts}};
                {error, Errno} ->
                    true = exit(Receiver, kill),
                    {stop, {shutdown, {tracer, Errno}}}
            end;
        {error, Reason} ->
            %% It is said to the user, not to the node's log.
            {stop, {shutdown, Reason}}
    end.

%% @private
handle_call(begin_with, _From, K) ->
    #keeper{receiver = Receiver, handle = Handle, events = Max} = K,
    ok = inviso_receiver:begin_with(Receiver, Handle, {Max, ?BYTES}),
    _ = erlang:send_after(?TICK_MS, self(), tick),
    {reply, {ok, #{keeper => self(), receiver => Receiver,
                   tracer => {inviso_tracer, Handle}}}, K};
handle_call(close, _From, K) ->
    {stop, normal, {ok, finish(?CLOSE_MS, K)}, K}.

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

%% First no more events, then as much as there is time for.
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

%% What is neither delivered nor dropped is waiting, or will never be handled.
counts(Rest, #keeper{handle = Handle, counts = Counters}) ->
    [Delivered, Failed, Unsent] = [counters:get(Counters, I)
                                   || I <- [1, 2, 3]],
    {Produced, {Full, TooBig, Gone, NoThread}} =
        inviso_tracer:nif_counts(Handle),
    Known = Full + TooBig + Gone + NoThread + Failed + Unsent,
    %% The receiver goes on while we count.
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
