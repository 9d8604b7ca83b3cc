%% SPDX-License-Identifier: Apache-2.0
%% @doc This process of a session is the system monitor of the node. It records the
%% long garbage collections, large heaps and similar events that the VM reports.
%%
%% A report becomes an event of the session's tracer, with the same limits, filter
%% and count of losses as other events. Its time is the time at which this process
%% records it.
%%
%% The VM sends reports without waiting, so this process bounds its own mailbox.
%% If more than ?MAX_WAITING reports wait, the process clears the system monitor,
%% records the reports that wait, and sets the system monitor again after
%% ?PAUSE_MS. The VM reports nothing in between; a note says how long this took.
%% If the process uses too much memory, the VM kills it, and clears the system
%% monitor.
-module(inviso_session_monitor).

-export([start/2, arm/1, stop/1, init/3]).

-export_type([news/0]).

%% What the process sends to its session. `lost': this process is no longer the
%% system monitor. `note': a note for the user.
-type news() :: {lost | note, binary()}.

-define(MAX_WAITING, 10000).
%% The process reads the length of its mailbox after this many reports.
-define(MEASURE, 256).
-define(PAUSE_MS, 100).
-define(CHECK_MS, 50).
-define(ANSWER_MS, 5000).
%% The most memory that the process may use, in words. 10000 reports take less
%% than a quarter of it.
-define(MAX_HEAP, 8388608).

-record(monitor,
        {session :: pid(),
         handle :: pos_integer(),
         options :: [inviso_system_monitor:option()],
         %% the system monitor; `none': not set yet, or cleared
         set = none :: none | inviso_system_monitor:monitor(),
         %% monotonic time (ms) at which the system monitor was set
         since = 0 :: integer(),
         %% monotonic time (ms) at which the current pause began
         paused = none :: none | integer(),
         pauses = 0 :: non_neg_integer(),
         paused_ms = 0 :: non_neg_integer()}).

%% @doc Starts the process, linked to the calling session. {@link arm/1} makes the
%% process the system monitor.
-spec start([inviso_system_monitor:option()], inviso_tracer:tracer() | none) ->
          pid() | none.
start(Options, Tracer) when Options =:= []; Tracer =:= none ->
    none;
start(Options, {_, Handle}) ->
    spawn_opt(?MODULE, init, [self(), Handle, Options],
              [link, {priority, high},
               {max_heap_size, #{size => ?MAX_HEAP, kill => true,
                                 error_logger => false}}]).

%% @doc Makes the process the system monitor. Must be called after the session has set
%% its patterns and flags.
-spec arm(pid() | none) -> ok | {error, refused | failed, binary()}.
arm(none) ->
    ok;
arm(Pid) ->
    case ask(Pid, arm) of
        {ok, ok} ->
            ok;
        {ok, {error, {taken, Owner}}} ->
            {error, refused, inviso_arm_system:refusal(Owner)};
        {ok, {error, Reason}} ->
            {error, failed, text("no system monitor: ~0tP", [Reason, 20])};
        gone ->
            {error, failed, <<"the process for the system monitor was killed">>}
    end.

%% @doc Clears the system monitor if `Pid' still is the system monitor, records the
%% reports that wait, and ends the process `Pid'. Any process may call this.
-spec stop(pid() | none) -> ok.
stop(none) ->
    ok;
stop(Pid) ->
    _ = ask(Pid, stop),
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

ask(Pid, What) ->
    Ref = monitor(process, Pid),
    Pid ! {What, self(), Ref},
    receive
        {Ref, Answer} ->
            demonitor(Ref, [flush]),
            {ok, Answer};
        {'DOWN', Ref, process, _, _} ->
            gone
    after ?ANSWER_MS ->
            demonitor(Ref, [flush]),
            gone
    end.

%% --- the process ----------------------------------------------------------------

%% @private
-spec init(pid(), pos_integer(), [inviso_system_monitor:option()]) -> ok.
init(Session, Handle, Options) ->
    _ = seq_trace:set_token([]),
    loop(0, #monitor{session = Session, handle = Handle, options = Options}).

loop(?MEASURE, S) ->
    {message_queue_len, N} = process_info(self(), message_queue_len),
    loop(0, case N > ?MAX_WAITING of
                true -> recorded(paused(S));
                false -> S
            end);
loop(N, S) ->
    receive
        {monitor, Pid, Event, Info} ->
            ok = record(Pid, Event, Info, S),
            loop(N + 1, S);
        check ->
            loop(N, checked(S));
        {arm, From, Ref} ->
            {Answer, Armed} = set(S),
            From ! {Ref, Answer},
            check_later(?CHECK_MS),
            loop(N, Armed);
        {stop, From, Ref} ->
            _ = S#monitor.set =:= none orelse inviso_system_monitor:clear(S#monitor.set),
            ok = note_pauses(recorded(S)),
            From ! {Ref, ok},
            ok;
        _ ->
            loop(N, S)
    end.

%% Records a report, unless the report is about this process. Leaves out a report
%% whose duration is longer than the time since the system monitor was set. The
%% reason: if a garbage collection began before the system monitor was set, the VM (at
%% least erts 13.1.5) does not know when the collection began, and reports a wrong
%% duration.
record(Pid, _, _, _) when Pid =:= self() ->
    ok;
record(Pid, Event, [{timeout, Ms} | _] = Info, #monitor{since = Since} = S) ->
    case Ms > now_ms() - Since of
        true -> ok;
        false -> offer(Pid, Event, Info, S)
    end;
record(Pid, Event, Info, S) ->
    offer(Pid, Event, Info, S).

offer(Pid, Event, Info, #monitor{handle = Handle}) ->
    try
        _ = inviso_tracer:trace(Event, Handle, Pid, Info, #{}),
        ok
    catch
        error:_ -> ok
    end.

%% Records the reports in the mailbox. The system monitor has been cleared, so the
%% VM sends no new reports.
recorded(S) ->
    receive
        {monitor, Pid, Event, Info} ->
            ok = record(Pid, Event, Info, S),
            recorded(S)
    after 0 -> S
    end.

set(#monitor{options = Options} = S) ->
    Since = now_ms(),
    case inviso_system_monitor:set(Options) of
        {ok, Set} -> {ok, S#monitor{set = Set, since = Since}};
        {error, _} = E -> {E, S}
    end.

paused(#monitor{set = none} = S) ->
    S;
paused(#monitor{set = Set, pauses = N} = S) ->
    ok = inviso_system_monitor:clear(Set),
    S#monitor{set = none, paused = now_ms(), pauses = N + 1}.

%% Handles the message `check', which check_later/1 sends to this process.
checked(#monitor{set = none, paused = none} = S) ->
    S;
checked(#monitor{set = none, paused = Since, paused_ms = Ms} = S) ->
    case now_ms() - Since of
        Paused when Paused < ?PAUSE_MS ->
            check_later(?CHECK_MS),
            S;
        Paused ->
            again(set(S#monitor{paused = none, paused_ms = Ms + Paused}))
    end;
checked(#monitor{set = Set} = S) ->
    case inviso_system_monitor:state(Set) of
        ours ->
            check_later(?CHECK_MS),
            S;
        none ->
            lost(<<"another tool has removed this session's system monitor">>, S);
        {taken, Other} ->
            lost(taken(Other), S)
    end.

again({ok, S}) ->
    check_later(?CHECK_MS),
    S;
again({{error, {taken, Other}}, S}) ->
    lost(taken(Other), S);
again({{error, Reason}, S}) ->
    lost(text("no system monitor: ~0tP", [Reason, 20]), S).

taken(Other) ->
    text("another tool has replaced this session's system monitor: it is now ~ts",
         [inviso_arm_foreign:owner(Other)]).

lost(Text, #monitor{session = Session} = S) ->
    _ = tell(Session, {lost, Text}),
    S#monitor{set = none, paused = none}.

note_pauses(#monitor{pauses = 0}) ->
    ok;
note_pauses(#monitor{pauses = N, paused = Since, session = Session} = S) ->
    Ms = S#monitor.paused_ms + case Since of
                                   none -> 0;
                                   _ -> now_ms() - Since
                               end,
    tell(Session, {note, text("the system monitor was off ~b time~ts, for ~b ms in "
                              "all, because more than ~b reports waited: what "
                              "happened then was not reported",
                              [N, [$s || N > 1], Ms, ?MAX_WAITING])}).

tell(Session, News) ->
    Session ! {system_monitor, self(), News},
    ok.

check_later(Ms) ->
    _ = erlang:send_after(Ms, self(), check),
    ok.

now_ms() ->
    erlang:monotonic_time(millisecond).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
