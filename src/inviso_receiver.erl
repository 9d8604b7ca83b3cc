%% SPDX-License-Identifier: Apache-2.0
%% @doc The process that a node's events are delivered to, one after the other,
%% and that does with them what a sink says.
%%
%% ```
%%  tracee --> trace/5 (NIF) --message--> receiver --> sink: inviso_handler,
%%                 '---------credit----------'         inviso_relay, inviso_ip
%% '''
%%
%% Its mailbox holds no more than what the tracer has credit for: so many events
%% and bytes, given back as the sink has done with them. A sink may take its
%% time. What comes meanwhile is dropped by the tracer, and the sink is told, in
%% place, as the event `{drop, N}'.
%%
%% It belongs to a keeper, {@link inviso_deliver}.
-module(inviso_receiver).

-export([start_link/3, begin_with/3, flush/2, stop/2, stopping/0]).
-export([init/4]).

-export_type([event/0, counts/0, result/0]).

-type event() :: tuple().
%% A trace message as the VM documents it, or `{drop, N}'.

-type counts() :: counters:counters_ref().
%% 1: delivered, 2: failed, 3: lost on the way, by the sink

%% Failed: the user's code crashed on the event.  Lost: of what was taken with
%% `ok' before, or is now, so many got nowhere.  Stop: for good.
-type result() :: {ok, State :: term()}
                | {failed, term(), State :: term()}
                | {lost, pos_integer(), State :: term()}
                | {stop, term()}.

%% Called in this process, which may be killed when it takes too long to stop.
-callback init(term()) -> {ok, State :: term()} | {error, term()}.

%% An event, and what it weighs: 0 of `{drop, N}'.
-callback event(event(), Bytes :: non_neg_integer(), State :: term()) ->
    result().

%% Nothing more is waiting.
-callback rest(State :: term()) -> result().

%% Any other message.
-callback info(term(), State :: term()) -> result().

-callback close(State :: term()) -> ok.

%% A failure of a user's code is told, but not as often as events come.
-define(TELL_MS, 1000).
%% How long a loss may be untold that no event comes after.
-define(IDLE_MS, 1000).

-record(receiver,
        {keeper :: pid(),
         sink :: module(),
         state :: term(),
         counts :: counts(),
         handle = 0 :: non_neg_integer(),
         %% what is given back at a time
         batch = {1, 1} :: {pos_integer(), pos_integer()},
         done = {0, 0} :: {non_neg_integer(), non_neg_integer()},
         received = 0 :: non_neg_integer(),
         until = infinity :: non_neg_integer() | infinity,
         %% of which the sink knows
         dropped = 0 :: non_neg_integer(),
         told :: integer()}).

%% @doc Starts one for the calling process, with a sink: its module, and what
%% its `init/1' takes.
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

%% @doc Tells it the tracer, and the credit that this has.
-spec begin_with(pid(), pos_integer(), {pos_integer(), pos_integer()}) -> ok.
begin_with(Pid, Handle, Credit) ->
    Pid ! {self(), Handle, Credit},
    ok.

%% @doc Answers a request with `ok' when the sink has all that came before.
-spec flush(pid(), {pid(), term()}) -> ok.
flush(Pid, From) ->
    Pid ! {inviso_flush, From},
    ok.

%% @doc Ends when so many events have come in all, and the sink has them.
-spec stop(pid(), non_neg_integer()) -> ok.
stop(Pid, Sent) ->
    Pid ! {inviso_stop, Sent},
    ok.

%% @doc For a sink that waits: whether it had better not.
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
    ok = inviso_push:reply(From, ok),
    R1;
message({inviso_stop, Sent}, R) ->
    R#receiver{until = Sent};
message(Message, #receiver{sink = Sink, state = State} = R) ->
    result(Sink:info(Message, State), R).

event(Event, Bytes, #receiver{sink = Sink, state = State} = R) ->
    Result = Sink:event(Event, Bytes, State),
    ok = count(Result, Bytes, R),
    result(Result, R).

count(_, 0, _) -> ok; % of a loss
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

%% Threads count side by side: a message may say less than one before it.
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
