%% SPDX-License-Identifier: Apache-2.0
%% @doc A session of the command: one process on a traced node for each use.
%%
%% ```
%%   start/1 --> arming --> tracing --> stopping --> stopped | failed --> ended
%%                 '-----------+- stop, a limit, overload, -'   remove, the
%%                                the client's silence          client's silence
%% '''
%%
%% A session owns a tracer, a trace session ({@link inviso_tracing}) and a
%% directory of files, its room. It arms in steps, and its workers do long work,
%% so that the session can always answer. c_src/abi/control.h, section 5,
%% specifies requests and answers.
%%
%% A session must always be able to check the node's load. So the session answers with
%% inviso_message:reply/2, which does not suspend the session if the buffer of the
%% connection is full.
%%
%% A session is a user of the guard ({@link inviso_guard}). The guard's table
%% contains the name of each session. If a session is killed, the guard clears and
%% removes what the session has left.
-module(inviso_session).

-behaviour(gen_server).

-export([start/1, find/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([status/0]).

-type status() :: map().
-type failure() :: {error, usage | refused | nothing | failed, binary()}.

%% enum inv_note (c_src/abi/event.h).
-define(NOTE_CLOCK, 5).
-define(TICK_MS, 50).
%% The longest pause between two steps of arming.
-define(PAUSE_MS, 50).
-define(EXPECT_MS, 1000).
%% How often inviso_arm:watch/3 checks the patterns.
-define(WATCH_MS, 1000).
-define(MAX_NOTES, 50).
%% How many requests may wait for a worker at most.
-define(MAX_JOBS, 100).
-define(MAX_CHUNK, 1048576).

-record(session,
        {map :: inviso_session_map:checked(),
         table :: ets:tab(),
         guard :: reference(),
         since :: integer(),
         room = none :: none | file:filename(),
         path = none :: none | file:filename(),
         tracer = none :: none | inviso_tracer:tracer(),
         keepers = [] :: [pid()], % processes that belong to the tracer
         tracing :: inviso_tracing:tracing(),
         plan :: inviso_arm:plan(),
         %% which calls the tracer records when they end
         decide = none :: inviso_arm_decide:decide(),
         %% requests of sequential traces; and the calls that are traced within
         %% these requests, in a separate scope
         seq = none :: none | inviso_session_seq:seq(),
         calls = none :: none | {inviso_arm:plan(), armed | todo,
                                 inviso_tracing:tracing()},
         %% `shut': the client has not allowed the session to arm yet. `waiting':
         %% the same, and the session is ready to arm.
         gate = open :: open | shut | waiting,
         matched :: map(),
         notes :: [binary()],
         %% two workers: `reader' reads files for the client, `closer' closes
         %% the trace session and the log
         reader :: pid(),
         closer :: pid(),
         jobs = [] :: [{reader | closer, term(), fun(() -> term())}],
         state = arming :: arming | tracing | stopping | stopped | failed,
         why = none :: atom(),
         text = <<>> :: binary(),
         class = none :: none | refused | usage | nothing | failed,
         armed = {0, 0} :: {non_neg_integer(), non_neg_integer()},
         %% monotonic time (ms) of the client's last sign of life
         last_word :: integer(),
         suspect = false :: boolean(),
         %% monotonic time (ms) at which the log was opened and last flushed
         opened :: integer(),
         flushed :: integer(),
         limits :: inviso_session_limits:limits(),
         %% true: the time limit has begun
         timed = false :: boolean(),
         overload :: inviso_overload:overload(),
         stats = #{} :: map(),
         sampler = none :: pid() | none,
         %% the process that is the node's system monitor
         monitor = none :: pid() | none,
         %% true: a worker is writing counts into the log
         noting = false :: boolean(),
         files = [] :: [{binary(), non_neg_integer()}],
         counters = [] :: [tuple()],
         expected = none :: none | non_neg_integer(),
         stops = [] :: [{pid(), term()}],
         %% true: the process ends as soon as the log is closed
         leaving = false :: boolean(),
         removes = [] :: [{pid(), term()}]}).

%% @doc Starts a session and returns its status. After that the session arms: it sets
%% patterns and flags in steps.
-spec start(map()) -> {ok, pid(), status()} | failure().
start(Map) ->
    case inviso_session_map:check(Map) of
        {ok, #{guard := Guard} = Checked} ->
            case whereis(inviso_guard) of
                Guard -> started(Checked);
                _ -> {error, failed, <<"its guard has ended: attach again">>}
            end;
        {error, _, _} = E ->
            E
    end.

started(Checked) ->
    case gen_server:start(?MODULE, Checked, []) of
        {ok, Pid} -> {ok, Pid, gen_server:call(Pid, status)};
        {error, {shutdown, {Class, Text}}} -> {error, Class, Text};
        {error, Reason} -> {error, failed, text("~0tP", [Reason, 30])}
    end.

%% @doc Finds a session by its name, which may be any term from a client.
-spec find(binary() | term()) -> {ok, pid()} | failure().
find(Name) ->
    case inviso_push:find(Name) of
        {ok, Pid} -> {ok, Pid};
        error -> {error, nothing, text("there is no session ~ts here; `inviso "
                                       "status' lists the sessions",
                                       [name(Name)])}
    end.

name(Name) when is_binary(Name) -> Name;
name(Other) -> io_lib:format("~0tP", [Other, 20]).

%% --- the beginning ----------------------------------------------------------

%% @private
init(#{guard := Guard, name := Name, owner := Owner} = Map) ->
    process_flag(trap_exit, true),
    %% If the process that starts the session holds a token, the message that
    %% started the session has brought the token here. Remove it.
    _ = seq_trace:set_token([]),
    %% On an overloaded node the session must still be scheduled, so that it
    %% can end the tracing.
    process_flag(priority, high),
    group_leader(whereis(init), self()),
    Since = erlang:system_time(second),
    case inviso_push:join(Guard, self(), {session, Name, Owner, Since}) of
        {ok, Table, Place} ->
            Ref = monitor(process, Guard),
            try
                planned(Map, Table, Ref, Place, Since)
            catch
                throw:{error, Class, Text} -> {stop, {shutdown, {Class, Text}}}
            end;
        {error, Class, Text} ->
            {stop, {shutdown, {Class, Text}}}
    end.

planned(#{protect := Protect} = Map, Table, Guard, Place, Since) ->
    %% If return values are traced, the stack of a tail-recursive function
    %% grows, up to the bound on open calls. So return values are traced only
    %% in live mode, where a user watches and the session ends soon.
    Count = maps:get(count, Map),
    Asked = (maps:with([specs, procs, follow, yes], Map))#{
              returns => maps:get(mode, Map) =:= live andalso
                  (Count =:= off orelse inviso_session_count:needs_ends(Count)),
              count => Count =/= off,
              timed => inviso_session_count:is_timed(Count),
              keys => inviso_session_count:keys(Count),
              dry => maps:get(dry_run, Map)},
    {Main, Within} = inviso_session_seq:plans(Asked, maps:get(seq, Map)),
    {Plan, Matched} = plan(Main, maps:get(sample, Map)),
    {Calls, Others} = calls(Within),
    Now = now_ms(),
    S = #session{map = Map, table = Table, guard = Guard, since = Since,
                 tracing = inviso_tracing:new(Table),
                 plan = Plan, matched = maps:remove(notes, Matched),
                 calls = Calls, gate = gate(Map),
                 notes = maps:get(notes, Matched, []) ++ Others,
                 reader = inviso_worker:start_link(own, normal),
                 closer = inviso_worker:start_link(own, high),
                 last_word = Now, opened = Now, flushed = Now,
                 limits = inviso_session_limits:new(maps:get(limits, Map)),
                 overload = inviso_overload:new(Protect)},
    Modules = inviso_session_count:shown(Map, inviso_arm:modules(Plan)),
    Records = inviso_records:read(Modules),
    S1 = monitoring(sampling(bounded(watch(opened(Place, Records, S))))),
    {ok, begin_arming(Records, S1)}.

%% Writes the definitions of records into the log before the first event, and then
%% arms.
begin_arming(Records, #session{tracer = {inviso_tracer, Handle},
                               map = #{dry_run := false}} = S) ->
    job(closer, records, fun() -> inviso_records:note(Handle, Records) end, S);
begin_arming(_, S) ->
    self() ! arm,
    S.

%% Plans the calls that are traced within requests. They are traced in a
%% separate scope, so that the tracer can distinguish them from events that
%% begin requests.
calls(none) ->
    {none, []};
calls(Asked) ->
    {Plan, #{notes := Notes}} = plan(Asked),
    {{Plan, todo, inviso_tracing:new(none)}, Notes}.

gate(#{seq := off}) -> open;
gate(#{dry_run := true}) -> open;
gate(_) -> shut.

plan(Asked, off) ->
    plan(Asked);
plan(_, _) ->
    {ok, Plan, Matched} = inviso_arm:nothing(),
    {Plan, Matched}.

plan(Asked) ->
    case inviso_arm:plan(Asked) of
        {ok, Plan, Matched} -> {Plan, Matched};
        {error, _, _} = E -> throw(E)
    end.

opened(_Place, Records, #session{map = #{dry_run := true} = Map0} = S) ->
    {Map, More} = inviso_session_redact:resolved(Map0, Records),
    S#session{notes = S#session.notes ++ inviso_session_tracer:announced(Map)
                  ++ More};
opened(Place, Records, #session{map = Map0, table = Table} = S) ->
    {Map, Unread} = inviso_session_redact:resolved(Map0, Records),
    {Tracer, Room, Path, Notes} = inviso_session_tracer:open(Place, Map, Table),
    ok = inviso_session_count:begin_count(maps:get(count, Map), Tracer),
    Now = now_ms(),
    {More, S1} = scopes(Map, S#session{tracer = Tracer}),
    S1#session{room = Room, path = Path,
               keepers = inviso_session_tracer:processes(Tracer),
               opened = Now, flushed = Now,
               notes = S#session.notes ++ Unread ++ Notes ++ More
                   ++ inviso_session_count:memory(maps:get(count, Map))}.

scopes(#{seq := off, open_calls := Open, decide := All} = Map,
       #session{tracer = Tracer, plan = Plan, tracing = T0} = S) ->
    Rules = inviso_arm:rules(Plan),
    Limit = inviso_arm_decide:limit(Open, All, Rules),
    {Notes, T} = bound_scope(Map#{open_calls := Limit}, Tracer, T0),
    {More, Decide} = inviso_arm_decide:open(Tracer, All, Rules),
    {Notes ++ More, S#session{tracing = T, decide = Decide,
                              plan = inviso_arm:decided(Decide, Plan)}};
scopes(#{seq := Asked} = Map, #session{tracer = Tracer, tracing = T0} = S) ->
    {Starts, Seq, T1} = inviso_session_seq:open(Asked, Tracer, T0),
    T2 = tracing(Starts, T1),
    case S#session.calls of
        none ->
            {[], S#session{seq = Seq, tracing = T2}};
        {Plan, todo, C0} ->
            {Notes, C} = bound_scope(Map, Tracer, C0),
            T = inviso_tracing:second(inviso_tracing:scope(C), T2),
            {Notes, S#session{seq = Seq, tracing = T, calls = {Plan, todo, C}}}
    end.

bound_scope(Map, Tracer, T) ->
    inviso_arm_open_calls:bind(Tracer, maps:get(open_calls, Map),
                               tracing(Tracer, T)).

tracing(Tracer, T) ->
    case inviso_tracing:open(Tracer, T) of
        {ok, Open} ->
            Open;
        {error, system_limit} ->
            throw({error, refused, <<"this node has reached its maximum number "
                                     "of trace sessions">>});
        {error, Reason} ->
            throw({error, failed, text("no trace session: ~0tP", [Reason, 30])})
    end.

watch(S) ->
    tick(),
    silence_timer(S#session.map),
    S.

%% Limits how long the session may set patterns. If the session may record or count
%% before it has all patterns, or if it has no patterns, its time limit starts now. (A
%% session of requests has events of requests that began on other nodes. A session
%% that samples stacks has no patterns.)
bounded(#session{tracer = none} = S) ->
    S;
bounded(#session{seq = Seq, plan = Plan, map = #{arm_ms := Ms}, limits = Limits} = S) ->
    case Seq =/= none orelse inviso_arm:has_patterns(Plan)
        orelse inviso_arm:has_counters(Plan) of
        true -> begin_time(S);
        false -> S#session{limits = inviso_session_limits:begin_arming(Ms, Limits)}
    end.

%% Starts the time limit when all patterns of the plan are set, before the first flag
%% is set. Without flags there are no events, so the time that the patterns take is
%% not part of the time limit. Setting flags may take long, too, and the first flags
%% make events before the last ones are set. The NIF library applies the time limit
%% even if the session is not scheduled.
timed(#session{timed = false, plan = Plan} = S) ->
    case inviso_arm:has_patterns(Plan) of
        true -> begin_time(S);
        false -> S
    end;
timed(S) ->
    S.

begin_time(#session{tracer = {inviso_tracer, Handle}, limits = Limits} = S) ->
    _ = inviso_tracer:nif_begin(Handle),
    counting(S#session{limits = inviso_session_limits:begin_time(Limits),
                       timed = true}).

%% Writes the counts into the log regularly. The first note has zero counts: from
%% its time and the time of a later note, a reader computes how long events were
%% counted.
counting(#session{map = #{count := Count, dry_run := false},
                  tracer = Tracer} = S) when Count =/= off ->
    ok = inviso_session_count:note(Count, Tracer),
    note_later(S);
counting(S) ->
    S.

note_later(#session{map = #{count := Count}} = S) ->
    _ = erlang:send_after(inviso_session_count:every_ms(Count), self(), note),
    S.

noted(#session{noting = false, tracer = Tracer, map = #{count := Count}} = S) ->
    job(closer, noted, fun() -> inviso_session_count:note(Count, Tracer) end,
        note_later(S#session{noting = true}));
noted(S) ->
    note_later(S).

sampling(#session{map = #{sample := Asked}, tracer = Tracer} = S) ->
    Ours = [S#session.reader, S#session.closer | S#session.keepers],
    S#session{sampler = inviso_session_sample:start(Asked, Tracer, Ours)}.

%% Starts the process that is the node's system monitor. Like the processes of the
%% tracer, it is never traced.
monitoring(#session{plan = Plan, tracer = Tracer, keepers = Keepers} = S) ->
    Monitor = inviso_session_monitor:start(inviso_arm:monitor(Plan), Tracer),
    S#session{monitor = Monitor,
              keepers = [P || P <- [Monitor], is_pid(P)] ++ Keepers}.

tick() ->
    erlang:send_after(?TICK_MS, self(), tick).

%% Writes a note before the session answers a request of the command. The note has a
%% time by the node's clock. The command knows by its own clock when it sent the
%% request and when it got the answer. The note was written between these two times
%% (INV_NOTE_CLOCK in c_src/abi/event.h), which bounds the difference of the clocks.
%% If the ring has no room for the note, this request gives no bound.
note_clock(#session{tracer = {inviso_tracer, Handle}, map = #{dry_run := false}},
           Terms) ->
    inviso_tracer:nif_note(Handle, [{?NOTE_CLOCK, Terms}]);
note_clock(_, _) ->
    ok.

%% --- requests ---------------------------------------------------------------

%% @private
handle_call(Request, From, S) ->
    request(Request, From, heard(From, S)).

%% If the request is from the client, stores the time: the client is alive. The
%% client is identified by its pid, not by the name of its node, because another
%% command may have the same node name later.
heard({Client, _}, #session{map = #{client := Client}} = S) ->
    S#session{last_word = now_ms(), suspect = false};
heard(_, S) ->
    S.

request(Request, From, #session{seq = Seq} = S) when Seq =/= none ->
    %% A message with a token would make this process part of a request.
    _ = seq_trace:set_token([]),
    requested(Request, From, S);
request(Request, From, S) ->
    requested(Request, From, S).

requested(alive, From, S) ->
    answer(From, ok, S);
requested(status, From, S) ->
    answer(From, status(S), S);
requested({clock, Command, N, Sent, Answered} = Clock, From, S)
  when is_integer(Command), is_integer(N), is_integer(Sent), is_integer(Answered) ->
    _ = note_clock(S, tl(tuple_to_list(Clock))),
    answer(From, status(S), S);
requested({follow, Offset, Max}, From, S)
  when is_integer(Offset), Offset >= 0, is_integer(Max), Max > 0 ->
    follow(From, Offset, min(Max, ?MAX_CHUNK), S);
requested(stop, From, #session{stops = Stops} = S) ->
    case is_over(S) of
        true -> answer(From, status(S), S);
        false -> {noreply, finish(asked, <<>>, S#session{stops = [From | Stops]})}
    end;
requested(files, From, S) ->
    case is_over(S) of
        true -> answer(From, {ok, S#session.files}, S);
        false -> answer(From, not_over(), S)
    end;
requested({read, Name, Offset, Max}, From, #session{files = Files} = S)
  when is_integer(Offset), Offset >= 0, is_integer(Max), Max > 0 ->
    case {is_over(S), lists:keymember(Name, 1, Files)} of
        {true, true} ->
            Path = filename:join(S#session.room, unicode:characters_to_list(Name)),
            Length = min(Max, ?MAX_CHUNK),
            work(reader, {read, From},
                 fun() -> inviso_follow:chunk(Path, Offset, Length) end, S);
        {true, false} ->
            answer(From, {error, nothing,
                          text("the session has no file ~0tP", [Name, 10])}, S);
        {false, _} ->
            answer(From, not_over(), S)
    end;
requested(counters, From, S) ->
    case is_over(S) of
        true -> answer(From, {ok, S#session.counters}, S);
        false -> count(From, S)
    end;
requested(hold, From, S) ->
    case is_over(S) of
        true -> answer(From, ok, held(S));
        false -> answer(From, not_over(), S)
    end;
requested('begin', From, #session{gate = waiting} = S) ->
    self() ! arm,
    answer(From, ok, S#session{gate = open});
requested('begin', From, S) ->
    answer(From, ok, S#session{gate = open});
requested(remove, From, #session{removes = Removes} = S) ->
    leave(asked, <<>>, S#session{removes = [From | Removes]});
requested(Other, From, S) ->
    answer(From, {error, usage, text("unknown request to a session: ~0tP",
                                     [Other, 20])}, S).

%% Makes the session keep its files for `hold_ms', even without its client, as a
%% detached session does. A second request changes nothing.
held(#session{map = #{mode := detached}} = S) ->
    S;
held(#session{map = #{hold_ms := Ms} = Map} = S) ->
    _ = erlang:send_after(Ms, self(), hold),
    S#session{map = Map#{mode := detached}}.

answer(From, Answer, S) ->
    ok = inviso_message:reply(From, Answer),
    {noreply, S}.

not_over() ->
    {error, usage, <<"the session has not stopped yet">>}.

is_over(#session{state = State}) ->
    State =:= stopped orelse State =:= failed.

follow(From, _, _, #session{path = none} = S) ->
    Ms = case is_over(S) of
             true -> 0;
             false -> 100
         end,
    work(reader, {nothing, From}, fun() -> timer:sleep(Ms) end, S);
follow(From, Offset, Max, S) ->
    What = #{path => S#session.path, offset => Offset, max => Max,
             from => source(S), since => S#session.opened,
             flushed => S#session.flushed},
    work(reader, {follow, From}, fun() -> inviso_follow:read(What) end, S).

%% Returns the tracer to flush before the log is read. A flight recorder is not
%% flushed, because a flush would write its rings to the log.
source(#session{state = State}) when State =:= stopped; State =:= failed ->
    closed;
source(#session{state = stopping}) ->
    unknown;
source(#session{map = #{keep := newest}}) ->
    unknown;
source(#session{tracer = {inviso_tracer, Handle}}) ->
    Handle.

count(From, #session{map = #{dry_run := true}} = S) ->
    answer(From, {ok, []}, S);
count(From, #session{tracing = T} = S) ->
    work(closer, {counters, From},
         fun() -> inviso_counters:by_function(T) end, S).

%% Runs a client's request in a worker. Refuses the request if ?MAX_JOBS
%% requests wait already, because each takes memory of the node.
work(Role, {_, From} = Key, Fun, #session{jobs = Jobs} = S) ->
    case length(Jobs) < ?MAX_JOBS of
        true -> {noreply, job(Role, Key, Fun, S)};
        false -> answer(From, {error, failed, <<"too many requests wait">>}, S)
    end.

%% Gives a job to a worker, and stores the job until the job is done. If the
%% worker is killed, the next worker repeats the job.
job(Role, Key, Fun, #session{jobs = Jobs} = S) ->
    ok = inviso_worker:do(worker(Role, S), Key, Fun),
    S#session{jobs = Jobs ++ [{Role, Key, Fun}]}.

worker(reader, #session{reader = Pid}) -> Pid;
worker(closer, #session{closer = Pid}) -> Pid.

%% @private
handle_cast(_, S) ->
    {noreply, S}.

%% @private
handle_info(arm, #session{state = arming, gate = shut} = S) ->
    {noreply, S#session{gate = waiting}};
handle_info(arm, #session{state = arming} = S) ->
    {noreply, arm(S)};
handle_info(tick, S) ->
    case S#session.state of
        State when State =:= arming; State =:= tracing ->
            tick(),
            {noreply, look(S)};
        _ ->
            {noreply, S}
    end;
handle_info(watch, #session{state = tracing} = S) ->
    watch_later(),
    {noreply, watched(watched_calls(S))};
handle_info(note, #session{state = State} = S)
  when State =:= arming; State =:= tracing ->
    {noreply, noted(S)};
handle_info(note, S) ->
    {noreply, S};
handle_info(silence, S) ->
    silence(S);
handle_info(hold, S) ->
    leave(time, <<>>, S);
handle_info({done, Key, Result}, #session{jobs = Jobs} = S) ->
    case lists:keytake(Key, 2, Jobs) of
        {value, _, Rest} -> done(Key, Result, S#session{jobs = Rest});
        false -> {noreply, S}
    end;
handle_info({'EXIT', Pid, _}, #session{reader = Pid} = S) ->
    {noreply, again(reader, S#session{reader = successor(normal, S)})};
handle_info({'EXIT', Pid, _}, #session{closer = Pid} = S) ->
    {noreply, again(closer, S#session{closer = successor(high, S)})};
handle_info({'EXIT', Pid, _}, #session{sampler = Pid} = S) ->
    {noreply, finish(tracer, <<"the process that samples stacks was killed">>,
                     S#session{sampler = none})};
handle_info({'EXIT', Pid, _}, #session{monitor = Pid} = S) ->
    {noreply, finish(tracer, <<"the process that was the system monitor of the "
                               "node was killed">>, S#session{monitor = none})};
handle_info({system_monitor, Pid, {lost, Text}}, #session{monitor = Pid} = S) ->
    {noreply, finish(tracer, Text, S)};
handle_info({system_monitor, Pid, {note, Text}}, #session{monitor = Pid} = S) ->
    {noreply, more_notes([Text], S)};
handle_info({'DOWN', Ref, process, _, _}, #session{guard = Ref} = S) ->
    leave(tracer, <<"the guard of this node was killed">>, S);
handle_info(Message, #session{tracing = T} = S) ->
    {noreply, case inviso_tracing:is_gone(Message, T) of
                  true -> finish(tracer, <<"the trace sessions of this node "
                                           "were killed">>, S);
                  false -> S
              end}.

again(Role, #session{jobs = Jobs} = S) ->
    _ = [ok = inviso_worker:do(worker(Role, S), Key, Fun)
         || {W, Key, Fun} <- Jobs, W =:= Role],
    S.

%% Starts a worker in place of a killed one, and excludes the new worker from
%% tracing, because it may have got the flags for new processes.
successor(Priority, #session{tracing = T, calls = Calls}) ->
    Pid = inviso_worker:start_link(own, Priority),
    ok = inviso_tracing:leave_out(Pid, T),
    _ = [ok = inviso_tracing:leave_out(Pid, C) || {_, _, C} <- [Calls]],
    Pid.

%% @private
terminate(_, #session{state = State} = S) ->
    _ = (State =:= arming orelse State =:= tracing) andalso (closer(S))(),
    ok.

%% --- arming -----------------------------------------------------------------

arm(#session{map = #{dry_run := true}, plan = Plan} = S) ->
    job(closer, expected, fun() -> inviso_arm:expect(Plan, ?EXPECT_MS) end, S);
arm(#session{calls = {Plan, todo, T0}} = S) ->
    case arm_step(Plan, T0, S) of
        {more, _, Next, T} ->
            S#session{calls = {Next, todo, T}};
        {done, Next, T} ->
            self() ! arm,
            S#session{calls = {Next, armed, T}};
        {error, Class, Text, Next, T} ->
            finish({not_armed, Class}, Text,
                   S#session{calls = {Next, todo, T}})
    end;
arm(S0) ->
    #session{plan = Plan, tracing = T0} = S = timed(S0),
    case arm_step(Plan, T0, S) of
        {more, Armed, Next, T} ->
            S#session{plan = Next, tracing = T, armed = Armed};
        {done, Next, T} ->
            monitored(S#session{plan = Next, tracing = T});
        {error, Class, Text, Next, T} ->
            finish({not_armed, Class}, Text,
                   S#session{plan = Next, tracing = T})
    end.

monitored(#session{monitor = Monitor} = S) ->
    case inviso_session_monitor:arm(Monitor) of
        ok ->
            watch_later(),
            S#session{state = tracing};
        {error, Class, Text} ->
            finish({not_armed, Class}, Text, S)
    end.

arm_step(Plan, T, S) ->
    Before = erlang:monotonic_time(microsecond),
    Workers = [S#session.reader, S#session.closer | S#session.keepers],
    Result = inviso_arm:step(Plan, Workers, T),
    %% After a step the session pauses for as long as the step took, but at most
    %% ?PAUSE_MS: a step that took longer may only have waited for other
    %% processes.
    Us = erlang:monotonic_time(microsecond) - Before,
    Ms = min((Us + 500) div 1000, ?PAUSE_MS),
    _ = element(1, Result) =:= more andalso erlang:send_after(Ms, self(), arm),
    Result.

%% Checks the patterns of the plan, and sets missing patterns again. For a session of
%% requests, does this only while requests may begin, because the patterns are not
%% needed afterwards.
watched(#session{plan = Plan0, tracing = T0, seq = Seq} = S) ->
    case inviso_session_seq:is_over(Seq) of
        true ->
            S;
        false ->
            {Notes, Plan, T} = inviso_arm:watch(Plan0, T0, ?WATCH_MS),
            more_notes(Notes, S#session{plan = Plan, tracing = T})
    end.

watched_calls(#session{calls = {Plan0, armed, T0}} = S) ->
    {Notes, Plan, T} = inviso_arm:watch(Plan0, T0, ?WATCH_MS),
    more_notes(Notes, S#session{calls = {Plan, armed, T}});
watched_calls(S) ->
    S.

watch_later() ->
    erlang:send_after(?WATCH_MS, self(), watch).

more_notes(More, #session{notes = Notes} = S) ->
    New = [N || N <- More, not lists:member(N, Notes)],
    S#session{notes = lists:sublist(Notes ++ New,
                                    max(?MAX_NOTES, length(Notes)))}.

%% --- limits -----------------------------------------------------------------

look(S0) ->
    S1 = refreshed(requests(swept(few_open_calls(S0)))),
    {Found, Limits} = inviso_session_limits:check(S1#session.stats,
                                                  S1#session.limits),
    S = S1#session{limits = Limits},
    case Found of
        time ->
            time_is_up(S);
        none ->
            look_around(S);
        {over, Why, Text} ->
            finish(Why, Text, short(<<>>, S))
    end.

%% Checks the load of the node and, for a session of requests, whether its tracer is
%% still the system tracer.
look_around(#session{overload = Overload, seq = Seq, tracing = T} = S) ->
    case {inviso_session_seq:check(Seq, T), inviso_overload:check(Overload)} of
        {none, {ok, Next}} -> S#session{overload = Next};
        {none, {over, Why, Text}} -> finish(Why, Text, S);
        {{over, Why, Text}, _} -> finish(Why, Text, S)
    end.

%% Changes patterns if a process has reached the bound on open calls.
few_open_calls(#session{tracer = none} = S) ->
    S;
few_open_calls(#session{tracer = Tracer, calls = {Plan, Done, T0}} = S) ->
    {Notes, T} = inviso_arm_open_calls:look(Tracer, recorded, T0),
    more_notes(Notes, S#session{calls = {Plan, Done, T}});
few_open_calls(#session{tracer = Tracer, tracing = T0, map = Map} = S) ->
    Count = maps:get(count, Map),
    Calls = case inviso_session_count:is_timed(Count) of
                true -> timed;
                false when Count =:= off -> recorded;
                false -> counted
            end,
    {Notes, T} = inviso_arm_open_calls:look(Tracer, Calls, T0),
    more_notes(Notes, S#session{tracing = T}).

swept(#session{decide = Decide} = S) ->
    S#session{decide = inviso_arm_decide:sweep(Decide)}.

%% Reads how many requests have begun. If no more may begin, changes the patterns that
%% begin requests.
requests(#session{seq = none} = S) ->
    S;
requests(#session{seq = Seq0, tracing = T0} = S) ->
    {Seq, T} = inviso_session_seq:look(Seq0, T0),
    S#session{seq = Seq, tracing = T}.

%% Adds a note if a limit ends the session while it arms: events of patterns and
%% flags that were set late, or not at all, are missing in the recording.
short(Advice, #session{state = arming, plan = Plan} = S) ->
    more_notes([text("a limit was reached before everything was armed: ~ts~ts",
                     [inviso_arm:progress(Plan), Advice])], S);
short(_, S) ->
    S.

%% Ends the session at its time limit, or at the limit of arming. The session has
%% failed if nothing can have been recorded or counted by then.
time_is_up(#session{state = State, plan = Plan, tracing = T, timed = Timed,
                    limits = Limits} = S) ->
    Ms = inviso_session_limits:most_ms(Limits),
    Advice = case Timed of
                 true -> <<". Use a longer --for, or trace fewer processes "
                           "(--procs)">>;
                 false -> <<". Use a longer --for, or trace fewer functions">>
             end,
    case State =/= arming orelse inviso_arm:has_begun(Plan, T) of
        true ->
            finish(time, text("~ts passed", [inviso_session_limits:words(Ms)]), short(Advice, S));
        false ->
            finish({not_armed, time},
                   text("~ts passed before anything was traced: ~ts~ts",
                        [inviso_session_limits:words(Ms), inviso_arm:progress(Plan), Advice]), S)
    end.

%% Updates the tracer's counts, but only while the session arms or traces: a
%% keeper that is closing its tracer answers late.
refreshed(#session{tracer = Tracer, state = State} = S)
  when Tracer =/= none, State =:= arming orelse State =:= tracing ->
    S#session{stats = case inviso_tracer:info(Tracer) of
                          {error, closed} ->
                              (S#session.stats)#{closed => true};
                          Stats ->
                              Stats
                      end};
refreshed(S) ->
    S.

%% --- silence ----------------------------------------------------------------

silence_timer(#{mode := detached}) ->
    ok;
silence_timer(#{dead_man_ms := Ms}) ->
    _ = erlang:send_after(Ms, self(), silence),
    ok.

%% Ends the session if the client is silent at two checks in a row. If the node
%% was stopped (SIGSTOP) for a while, messages of the client may wait in the
%% mailbox. The session handles these before the second check.
silence(#session{map = #{mode := detached}} = S) ->
    {noreply, S};
silence(#session{map = #{dead_man_ms := Ms} = Map, last_word = Word} = S) ->
    case now_ms() - Word of
        Silent when Silent < Ms ->
            _ = erlang:send_after(Ms - Silent, self(), silence),
            {noreply, S};
        _ when not S#session.suspect ->
            _ = erlang:send_after(min(100, Ms), self(), silence),
            {noreply, S#session{suspect = true}};
        Silent ->
            forget_client(Map),
            leave(client_gone, text("no sign of life from the command for ~ts",
                                    [inviso_session_limits:words(Silent)]), S)
    end.

%% Detaches the client from the guard, so that the guard can end without a request
%% from the client.
forget_client(#{guard := Guard, client := Client}) ->
    Guard ! {'$gen_call', {self(), forgotten}, {leave, Client}},
    ok.

%% --- the end ----------------------------------------------------------------

finish(Why, Text, #session{state = State} = S)
  when State =:= arming; State =:= tracing ->
    closing(stopped_for(Why, Text, few_open_calls(S)));
finish(_, _, S) ->
    S.

stopped_for({not_armed, time}, Text, S) ->
    S#session{why = time, text = Text, class = failed};
stopped_for({not_armed, Class}, Text, S) ->
    S#session{why = none, text = Text, class = Class};
stopped_for(Why, Text, S) -> S#session{why = Why, text = Text}.

closing(S) ->
    job(closer, closed, closer(S), S#session{state = stopping}).

%% Returns the function that ends the session's tracing.
closer(#session{tracing = T, tracer = Tracer, seq = Seq, calls = Calls,
                sampler = Sampler, monitor = Monitor, map = #{count := Count}}) ->
    fun() ->
            ok = inviso_session_monitor:stop(Monitor),
            ok = inviso_session_sample:stop(Sampler),
            close(T, Tracer, Seq, Calls, Count)
    end.

%% Ends tracing first, so that no more events come, and then completes the log.
close(T, none, Seq, _, _) ->
    {[], T, Seq, ok, true};
close(T, Tracer, Seq, Calls, Count) ->
    Counters = try inviso_counters:by_function(T) of
                   {ok, Rows} -> Rows;
                   {error, _} -> []
               catch
                   _:_ -> []
               end,
    Without = inviso_tracing:close(T),
    Refused = lists:append([inviso_tracing:refusals(inviso_tracing:close(C))
                            || {_, _, C} <- [Calls]]),
    {Ended, Released} = inviso_session_seq:close(Seq, Without),
    Closed = case Refused of
                 [] when Calls =/= none -> inviso_tracing:second(none, Released);
                 _ -> Released
             end,
    Noted = inviso_session_count:note_all(Count, Tracer),
    {Counters, Closed, Ended, inviso_tracer:close(Tracer), Noted}.

done({follow, From}, {ok, {Bytes, Watermark, Flushed}}, S) ->
    S1 = refreshed(S#session{flushed = max(Flushed, S#session.flushed)}),
    answer(From, {Bytes, Watermark, status(S1)}, S1);
done({nothing, From}, _, S) ->
    Watermark = case is_over(S) of
                    true -> eof;
                    false -> none
                end,
    answer(From, {list_to_binary([]), Watermark, status(S)}, S);
done({read, From}, {ok, Answer}, S) ->
    answer(From, Answer, S);
done({counters, From}, {ok, {ok, Counters}}, S) ->
    answer(From, {ok, Counters}, S);
done({counters, From}, {ok, {error, Reason}}, S) ->
    answer(From, {error, failed, text("~ts", [inviso_scope:explain(Reason)])}, S);
done({_, From}, {crashed, Reason}, S) ->
    answer(From, {error, failed, text("~0tP", [Reason, 30])}, S);
done(noted, _, S) ->
    {noreply, S#session{noting = false}};
done(records, _, S) ->
    self() ! arm,
    {noreply, S};
done(expected, Result, S) ->
    {noreply, closing(expected(Result, S))};
done(closed, Result, S) ->
    over(closed(Result, S));
done(_, _, S) ->
    {noreply, S}.

expected({ok, {ok, N}}, S) ->
    S#session{expected = N};
expected({ok, {unknown, Why}}, #session{notes = Notes} = S) ->
    S#session{notes = Notes ++ [Why]};
expected({crashed, Reason}, S) ->
    S#session{text = text("~0tP", [Reason, 30])}.

closed({ok, {Counters, Closed, Seq, Result, Noted}}, S) ->
    Notes = [text("the trace session could not be closed (~0tP): what it has "
                  "set stays until this session is removed", [Reason, 30])
             || Reason <- inviso_tracing:refusals(Closed)]
        ++ [<<"not all counts could be written to the log">> || not Noted],
    tracer_closed(Result, S#session{counters = Counters, tracing = Closed,
                                    seq = Seq,
                                    tracer = none,
                                    notes = S#session.notes ++ Notes});
closed({crashed, Reason}, S) ->
    S#session{state = failed, text = text("closing: ~0tP", [Reason, 30])}.

tracer_closed(ok, S) ->
    S#session{state = stopped};
tracer_closed({ok, Stats}, S) ->
    S#session{state = ended(S), stats = Stats, files = files(S)};
tracer_closed({error, {Reason, Stats}}, #session{why = Why} = S)
  when is_map(Stats) ->
    Text = text("the log is not complete: ~ts", [inviso_session_tracer:incomplete(Reason)]),
    S1 = S#session{state = failed, stats = Stats, files = files(S)},
    case Why of
        tracer -> S1;
        none -> S1#session{why = tracer, text = Text};
        _ -> S1#session{notes = S#session.notes ++ [Text]}
    end;
tracer_closed({error, _}, #session{notes = Notes} = S) ->
    S#session{state = failed, files = files(S),
              notes = Notes ++ [<<"another process closed the tracer: its "
                                  "counts are not known">>]}.

%% Returns the final state: `failed' if arming failed or the tracer failed.
ended(#session{class = Class}) when Class =/= none -> failed;
ended(#session{why = none, map = #{dry_run := false}}) -> failed;
ended(#session{why = tracer}) -> failed;
ended(_) -> stopped.

files(#session{room = Room}) ->
    inviso_place:rooms_files(Room).

over(#session{table = Table, stops = Stops, map = Map} = S) ->
    phase(Table, done),
    _ = [inviso_message:reply(From, status(S)) || From <- Stops],
    _ = case Map of
            #{mode := detached, hold_ms := Ms} ->
                erlang:send_after(Ms, self(), hold);
            _ ->
                ok
        end,
    S1 = S#session{stops = []},
    case S#session.leaving of
        true -> gone(S1);
        false -> {noreply, S1}
    end.

leave(Why, Text, S0) ->
    S = finish(Why, Text, S0#session{leaving = true}),
    case is_over(S) of
        true -> gone(S);
        false -> {noreply, S}
    end.

%% Writes the session's phase into the guard's table. An error is ignored: after
%% the guard was killed, the table cannot be written until the heir owns it.
phase(Table, Phase) ->
    try
        inviso_push:session(Table, Phase)
    catch
        error:_ -> ok
    end.

gone(#session{table = Table, room = Room, removes = Removes} = S) ->
    phase(Table, leaving),
    _ = Room =:= none orelse inviso_place:remove_room(Room),
    _ = [inviso_message:reply(From, ok) || From <- Removes],
    {stop, shutdown, S}.

%% --- status -----------------------------------------------------------------

-spec status(#session{}) -> status().
status(#session{map = Map, stats = Stats} = S) ->
    Given = maps:with([name, owner, mode, keep, specs, limits], Map),
    maps:merge(
      maps:merge(maps:merge(maps:merge(Given, progress(S)), decided(Stats)),
                 inviso_session_seq:status(S#session.seq)),
      #{since => S#session.since,
        state => S#session.state,
        why => S#session.why,
        text => S#session.text,
        class => class(S),
        log => log(S),
        matched => S#session.matched,
        notes => S#session.notes,
        produced => maps:get(produced, Stats, 0),
        recorded => maps:get(recorded, Stats, 0),
        dropped => maps:get(dropped, Stats, 0),
        filter => maps:get(filter, maps:get(tracer, Map), <<>>),
        filtered => maps:get(filtered, Stats, 0),
        undecided => maps:get(undecided, Stats, 0),
        left_out => maps:get(left_out, Stats, 0),
        redacted => maps:get(redacted, Stats, 0),
        log_bytes => maps:get(log_bytes, Stats, 0),
        lost => maps:get(lost, Stats, #{}),
        ms_left => ms_left(S)}).

decided(#{decided := Decided}) when is_map(Decided) -> #{decided => Decided};
decided(_) -> #{}.

class(#session{state = failed, class = none}) -> failed;
class(#session{class = Class}) -> Class.

%% Returns the path of the log for the user, or `none' in live mode, because the
%% log of a live session is deleted when the session ends.
log(#session{path = Path, map = #{mode := Mode}})
  when Path =/= none, Mode =/= live ->
    unicode:characters_to_binary(Path);
log(_) ->
    none.

progress(#session{state = arming, armed = Armed}) -> #{armed => Armed};
progress(#session{expected = none}) -> #{};
progress(#session{expected = N}) -> #{expected => N}.

ms_left(#session{state = State, limits = Limits})
  when State =:= arming; State =:= tracing ->
    inviso_session_limits:ms_left(Limits);
ms_left(_) ->
    0.

now_ms() ->
    erlang:monotonic_time(millisecond).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
