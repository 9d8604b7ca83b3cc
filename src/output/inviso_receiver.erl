%% SPDX-License-Identifier: Apache-2.0
%% @doc The process to which the events of a node are delivered. It passes them
%% to a sink, one after the other.
%%
%% ```
%%  tracee --> trace/5 (NIF) --message--> receiver --> sink: inviso_handler,
%%                 '---------credit----------'         inviso_relay, inviso_ip
%% '''
%%
%% The tracer has a credit of events and bytes, which bounds the mailbox. When the
%% sink has handled an event, the receiver gives its credit back to the tracer.
%% While the sink blocks, the credit is used up, and the tracer drops further
%% events. In place of N dropped events the sink gets the event `{drop, N}'.
%%
%% The receiver belongs to a keeper, {@link inviso_deliver}.
-module(inviso_receiver).

-export([start_link/3, begin_with/3, flush/2, stop/2, stopping/0]).
-export([init/4]).

-export_type([event/0, counts/0, result/0]).

-type event() :: tuple().
%% An event() is a trace message of the form that erlang:trace/3 describes, or
%% `{drop, N}'.

-type counts() :: counters:counters_ref().
%% counts() has three counters: 1: events that were delivered, 2: events on
%% which the handler crashed, 3: events that the sink lost.

%% The result of a callback. `failed': the user's code crashed on the event.
%% `lost': the sink could not pass on this many events, which it had accepted with
%% `ok'. `stop': the sink accepts no more events.
-type result() :: {ok, State :: term()}
                | {failed, term(), State :: term()}
                | {lost, pos_integer(), State :: term()}
                | {stop, term()}.

%% The callbacks of a sink run in the receiver. If the receiver takes too long to
%% stop, it is killed.
-callback init(term()) -> {ok, State :: term()} | {error, term()}.

%% Handles an event. `Bytes' is the event's share of the credit; 0 for `{drop,
%% N}'.
-callback event(event(), Bytes :: non_neg_integer(), State :: term()) ->
    result().

%% Called when the receiver has handled all events that waited.
-callback rest(State :: term()) -> result().

%% Called for a message that is not an event.
-callback info(term(), State :: term()) -> result().

-callback close(State :: term()) -> ok.

%% The least time between two reports that the user's code has failed.
-define(TELL_MS, 1000).
%% How long the receiver waits for the next event before it reports a loss, in
%% ms.
-define(IDLE_MS, 1000).

-record(receiver,
        {keeper :: pid(),
         sink :: module(),
         state :: term(),
         counts :: counts(),
         handle = 0 :: non_neg_integer(),
         %% The receiver gives credit back to the tracer in batches: after this many
         %% events or this many bytes.
         batch = {1, 1} :: {pos_integer(), pos_integer()},
         done = {0, 0} :: {non_neg_integer(), non_neg_integer()},
         received = 0 :: non_neg_integer(),
         until = infinity :: non_neg_integer() | infinity,
         %% the number of dropped events that were reported to the sink
         dropped = 0 :: non_neg_integer(),
         told :: integer()}).

%% @doc Starts a receiver for the calling process. `Sink' is the module of a
%% sink, and `Arg' the argument of the sink's `init/1'.
-spec start_link(module(), term(), counts()) -> {ok, pid()} | {error, term()}.
start_link(Sink, Arg, Counts) ->
    Pid = spawn_opt(?MODULE, init, [self(), Sink, Arg, Counts],
                    [link, {message_queue_data, off_heap},
                     {fullsweep_after, 20}]),
    receive
        {Pid, ok} -> {ok, Pid};
        {Pid, {error, _} = E} -> E;
        {'EXIT', Pid, Reason} -> {error, Reason}
    end.

%% @doc Tells the receiver the handle of its tracer and the tracer's credit.
-spec begin_with(pid(), pos_integer(), {pos_integer(), pos_integer()}) -> ok.
begin_with(Pid, Handle, Credit) ->
    Pid ! {self(), Handle, Credit},
    ok.

%% @doc Makes the receiver answer the request `From' with `ok' when the sink has
%% handled all earlier events.
-spec flush(pid(), {pid(), term()}) -> ok.
flush(Pid, From) ->
    Pid ! {inviso_flush, From},
    ok.

%% @doc Makes the receiver end as soon as `Sent' events have arrived since its
%% start and the sink has handled them.
-spec stop(pid(), non_neg_integer()) -> ok.
stop(Pid, Sent) ->
    Pid ! {inviso_stop, Sent},
    ok.

%% @doc Returns true if the receiver must end. A sink that waits calls this
%% function now and then, and stops waiting when the result is true.
-spec stopping() -> boolean().
stopping() ->
    receive
        {inviso_stop, _} = Stop -> self() ! Stop, true
    after 0 ->
            false
    end.

%% @private
-spec init(pid(), module(), term(), counts()) -> ok.
init(Keeper, Sink, Arg, Counts) ->
    group_leader(whereis(init), self()),
    case Sink:init(Arg) of
        {ok, State} ->
            Keeper ! {self(), ok},
            Told = erlang:monotonic_time(millisecond) - ?TELL_MS,
            R = #receiver{keeper = Keeper, sink = Sink, state = State,
                          counts = Counts, told = Told},
            receive
                {Keeper, Handle, {Events, Bytes}} ->
                    loop(R#receiver{handle = Handle,
                                    batch = {max(1, Events div 8),
                                             max(1, Bytes div 8)}})
            end;
        {error, _} = E ->
            unlink(Keeper),
            Keeper ! {self(), E},
            ok
    end.

loop(#receiver{received = N, until = Until} = R) when N >= Until ->
    #receiver{sink = Sink, state = State} = rest(lost(dropped(R), R)),
    Sink:close(State);
loop(R) ->
    receive
        Message -> loop(message(Message, R))
    after 0 ->
            idle(rest(credit(R)))
    end.

idle(R) ->
    receive
        Message -> loop(message(Message, R))
    after ?IDLE_MS ->
            loop(rest(lost(dropped(R), R)))
    end.

message({inviso_event, Bytes, Dropped, Event}, R) ->
    R1 = event(Event, Bytes, lost(Dropped, R)),
    #receiver{received = N, done = {Es, Bs}, batch = {MaxEs, MaxBs}} = R1,
    R2 = R1#receiver{received = N + 1, done = {Es + 1, Bs + Bytes}},
    case Es + 1 >= MaxEs orelse Bs + Bytes >= MaxBs of
        true -> credit(R2);
        false -> R2
    end;
message({inviso_flush, From}, R) ->
    R1 = rest(lost(dropped(R), R)),
    ok = inviso_message:reply(From, ok),
    R1;
message({inviso_stop, Sent}, R) ->
    R#receiver{until = Sent};
message(Message, #receiver{sink = Sink, state = State} = R) ->
    result(Sink:info(Message, State), R).

event(Event, Bytes, #receiver{sink = Sink, state = State} = R) ->
    Result = Sink:event(Event, Bytes, State),
    ok = count(Result, Bytes, R),
    result(Result, R).

count(_, 0, _) -> ok; % {drop, N}: the tracer counts dropped events
count({failed, _, _}, _, #receiver{counts = C}) -> counters:add(C, 2, 1);
count({stop, _}, _, _) -> ok;
count(_, _, #receiver{counts = C}) -> counters:add(C, 1, 1).

rest(#receiver{sink = Sink, state = State} = R) ->
    result(Sink:rest(State), R).

result({ok, State}, R) ->
    R#receiver{state = State};
result({lost, N, State}, #receiver{counts = Counts} = R) ->
    ok = counters:sub(Counts, 1, N),
    ok = counters:add(Counts, 3, N),
    R#receiver{state = State};
result({failed, Reason, State}, #receiver{keeper = Keeper, told = Told} = R) ->
    case erlang:monotonic_time(millisecond) of
        Now when Now - Told >= ?TELL_MS ->
            Keeper ! {failed, Reason},
            R#receiver{state = State, told = Now};
        _ ->
            R#receiver{state = State}
    end;
result({stop, Reason}, _R) ->
    exit({shutdown, Reason}).

%% If the tracer has dropped more events since the last message, passes `{drop,
%% N}' to the sink. The threads of the VM count concurrently, so the count in a
%% message may be lower than in an earlier message.
lost(Dropped, #receiver{dropped = Known} = R) when Dropped > Known ->
    event({drop, Dropped - Known}, 0, R#receiver{dropped = Dropped});
lost(_, R) ->
    R.

dropped(#receiver{handle = Handle, dropped = Known}) ->
    case inviso_tracer:nif_counts(Handle) of
        {_, {Full, TooBig, Gone, _}} -> Full + TooBig + Gone;
        closed -> Known
    end.

credit(#receiver{done = {0, _}} = R) ->
    R;
credit(#receiver{handle = Handle, done = {Events, Bytes}} = R) ->
    _ = inviso_tracer:nif_credit(Handle, Events, Bytes),
    R#receiver{done = {0, 0}}.
