%% SPDX-License-Identifier: Apache-2.0
%% @doc A session of the command: one process on a traced node for each use.
%%
%% ```
%%   start/1 --> arming --> tracing --> stopping --> stopped | failed --> gone
%%                 '-----------+- stop, a limit, overload, -'   remove, the
%%                                the client's silence          client's silence
%% '''
%%
%% It owns a tracer, a scope of the VM's tracing and a room of files. Arming
%% goes in steps, and what takes long is done by workers, so that every request
%% is answered at once, or when what it asks for is there. Requests and answers
%% are in c_src/abi/control.h, section 5; answers go through
%% inviso_push:reply/2, since a connection that does not move must not suspend
%% who watches over the node.
%%
%% Sessions are users of the guard, which takes away what a session leaves that
%% is killed, and in whose table they are found by name.
-module(inviso_session).

-behaviour(gen_server).

-export([start/1, find/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([status/0]).

-type status() :: map().
-type failure() :: {error, usage | refused | nothing | failed, binary()}.

-define(TICK_MS, 50).
%% The longest pause between two steps of arming.
-define(PAUSE_MS, 50).
-define(EXPECT_MS, 1000).
-define(STALLED_MS, 2000).
%% Between two looks at the patterns.
-define(WATCH_MS, 1000).
-define(MAX_NOTES, 50).
%% Requests that wait for a worker.
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
         keeper = none :: none | pid(),
         scope = none :: none | inviso_otp:scope(),
         engine = none :: none | reference(),
         plan :: inviso_arm:plan(),
         matched :: map(),
         notes :: [binary()],
         %% what follows the log, and what closes it
         reader :: pid(),
         closer :: pid(),
         jobs = [] :: [{reader | closer, term(), fun(() -> term())}],
         state = arming :: arming | tracing | stopping | stopped | failed,
         why = none :: atom(),
         text = <<>> :: binary(),
         class = none :: none | refused | usage | nothing | failed,
         armed = {0, 0} :: {non_neg_integer(), non_neg_integer()},
         %% monotonic time, ms
         deadline = infinity :: integer() | infinity,
         last_word :: integer(),
         suspect = false :: boolean(),
         %% of the log: when it was opened, and flushed
         opened :: integer(),
         flushed :: integer(),
         overload :: inviso_overload:overload(),
         %% monotonic time, ms, since when the spooler cannot write
         stalled = never :: integer() | never,
         stats = #{} :: map(),
         files = [] :: [{binary(), non_neg_integer()}],
         counters = [] :: [tuple()],
         expected = none :: none | non_neg_integer(),
         stops = [] :: [{pid(), term()}],
         %% to be gone when all is closed, and who waits for that
         leaving = false :: boolean(),
         removes = [] :: [{pid(), term()}]}).

%% @doc Starts a session. It arms after the answer.
-spec start(map()) -> {ok, pid(), status()} | failure().
start(Map) ->
    case inviso_session_map:check(Map) of
        {ok, #{guard := Guard} = Checked} ->
            case whereis(inviso_guard) of
                Guard -> started(Checked);
                _ -> {error, failed, <<"that guard is gone: attach again">>}
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

%% @doc The session of a name, whatever a client gives for one.
-spec find(binary() | term()) -> {ok, pid()} | failure().
find(Name) ->
    case inviso_push:find(Name) of
        {ok, Pid} -> {ok, Pid};
        error -> {error, nothing, text("there is no session ~ts here; "
                                       "`inviso status' lists those there are",
                                       [name(Name)])}
    end.

name(Name) when is_binary(Name) -> Name;
name(Other) -> io_lib:format("~0tP", [Other, 20]).

%% --- the beginning ----------------------------------------------------------

%% @private
init(#{guard := Guard, name := Name, owner := Owner} = Map) ->
    process_flag(trap_exit, true),
    %% It watches over an overloaded node, and does little itself.
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
    %% Only where somebody watches, and it ends soon: a function that calls
    %% itself last would have a stack that grows.
    Asked = (maps:with([specs, procs, follow], Map))#{
              returns => maps:get(mode, Map) =:= live,
              load => not maps:get(dry_run, Map)},
    {Plan, Matched} = plan(Asked),
    ok = claimed(Map, Table, inviso_arm:way(Plan)),
    Now = now_ms(),
    S = #session{map = Map, table = Table, guard = Guard, since = Since,
                 plan = Plan, matched = maps:remove(notes, Matched),
                 notes = maps:get(notes, Matched, []),
                 reader = inviso_worker:start_link(normal),
                 closer = inviso_worker:start_link(high),
                 last_word = Now, opened = Now, flushed = Now,
                 overload = inviso_overload:new(Protect)},
    S1 = timed(watch(opened(Place, S))),
    self() ! arm,
    {ok, S1}.

plan(Asked) ->
    case inviso_arm:plan(Asked) of
        {ok, Plan, Matched} -> {Plan, Matched};
        {error, _, _} = E -> throw(E)
    end.

claimed(#{dry_run := true}, _, _) ->
    ok;
claimed(_, Table, Way) ->
    case inviso_push:claim(Table, Way) of
        ok -> ok;
        {error, Text} -> throw({error, refused, Text})
    end.

opened(_Place, #session{map = #{dry_run := true}} = S) ->
    S;
opened(none, _S) ->
    throw({error, usage, <<"the command has not attached for tracing">>});
opened(Place, #session{map = #{name := Name} = Map, table = Table} = S) ->
    Live = maps:get(mode, Map) =:= live,
    Room = room(Place, Live),
    ok = inviso_push:room(Table, Room, none),
    Path = filename:join(Room, binary_to_list(Name) ++ ".log"),
    %% Of a recording whose node dies the log is what is left to look at.
    Brought = {inviso_place:dir(Place), Live},
    Opts = tracer_options(Map),
    Tracer = tracer(Path, Opts#{brought => Brought}),
    {inviso_tracer, Handle} = Tracer,
    Keeper = inviso_tracer:nif_keeper(Handle),
    ok = inviso_push:room(Table, Room, Keeper),
    Scope = scope(S#session.plan, Tracer),
    Now = now_ms(),
    noted(S#session{room = Room, path = Path, tracer = Tracer,
                    opened = Now, flushed = Now,
                    keeper = Keeper, scope = Scope,
                    engine = inviso_otp:scope_watch(Scope),
                    notes = S#session.notes ++ short_terms(Opts)}).

scope(Plan, Tracer) ->
    try
        inviso_otp:scope_open(inviso_arm:way(Plan), inviso, Tracer)
    catch
        error:system_limit ->
            throw({error, refused, <<"as many trace sessions are open on this "
                                     "node as it can have">>})
    end.

%% Nobody asked for it.
short_terms(#{max_term_bytes := _}) ->
    [];
short_terms(Opts) ->
    Longest = inviso_opts:longest_term(Opts),
    [text("terms are cut at ~b bytes: the threads of this node share the "
          "buffer, and --buffer makes it larger", [Longest])
     || Longest < inviso_opts:usual_term()].

room(Place, Live) ->
    Number = erlang:unique_integer([positive]),
    Kind = case Live of true -> live; false -> recording end,
    case inviso_place:new_room(Place, Number, Kind) of
        {ok, Room} -> Room;
        {error, Text} -> throw({error, failed, Text})
    end.

tracer_options(#{tracer := Opts, keep := Keep, limits := Limits}) ->
    Limit = maps:filter(fun(_, N) -> N > 0 end, Limits),
    Opts#{keep => Keep, limit => Limit}.

tracer(Path, Opts) ->
    case inviso_tracer:open(Path, Opts) of
        {ok, Tracer} -> Tracer;
        {error, Reason} -> throw(no_tracer(Path, Reason, Opts))
    end.

no_tracer(_, {bad_option, buffer_bytes, Value, _}, Opts) ->
    Least = inviso_opts:least_buffer(Opts),
    {error, usage, text("--buffer ~ts: too small for the threads of this node "
                        "and the longest term, which take ~ts at least",
                        [size(Value, fun floor/1), size(Least, fun ceil/1)])};
no_tracer(_, {filter, Text}, _) ->
    {error, usage, text("--filter: ~ts", [Text])};
no_tracer(_, {bad_option, Name, Value, What}, _) ->
    {error, usage, text("~w ~0tp: it ~ts", [Name, Value, What])};
no_tracer(Path, {log, _, Text}, _) ->
    {error, failed, text("~ts cannot be written: ~ts; name another directory "
                         "with --remote-dir", [Path, Text])};
no_tracer(_, {too_many, N}, _) ->
    {error, refused, text("~b tracers are open on this node, which is all it "
                          "can have", [N])};
no_tracer(_, {ring, Call, Posix}, _) ->
    {error, failed, text("no memory for what is recorded (~ts: ~0tp); a "
                         "smaller --buffer takes less", [Call, Posix])};
no_tracer(_, {spooler, _, Text}, _) ->
    {error, failed, text("the spooler, which writes the log, does not work on "
                         "the node's machine: ~ts", [Text])};
no_tracer(_, {load, Text}, _) ->
    {error, failed, text("~ts", [Text])};
no_tracer(_, Reason, _) ->
    {error, failed, text("the tracer does not open: ~0tp", [Reason])}.

%% As the command takes it: "64k", "3.5M".
size(Bytes, Round) when Bytes >= 1048576 ->
    case Round(Bytes * 10 / 1048576) of
        Tenths when Tenths rem 10 =:= 0 -> io_lib:format("~bM", [Tenths div 10]);
        Tenths -> io_lib:format("~b.~bM", [Tenths div 10, Tenths rem 10])
    end;
size(Bytes, Round) when Bytes >= 1024 ->
    io_lib:format("~bk", [Round(Bytes / 1024)]);
size(Bytes, _) ->
    io_lib:format("~b", [Bytes]).

watch(S) ->
    tick(),
    silence_timer(S#session.map),
    S.

%% From here on, before anything is set: arming may take long, and what is set
%% first is traced meanwhile. The library keeps to it by itself, should the
%% session or those that it asks not come to run.
timed(#session{tracer = {inviso_tracer, Handle},
               map = #{limits := #{ms := Ms}}} = S) when Ms > 0 ->
    _ = inviso_tracer:nif_begin(Handle),
    At = now_ms() + Ms,
    _ = erlang:send_after(At, self(), deadline, [{abs, true}]),
    S#session{deadline = At};
timed(S) ->
    S.

tick() ->
    erlang:send_after(?TICK_MS, self(), tick).

%% --- requests ---------------------------------------------------------------

%% @private
handle_call(Request, From, S) ->
    request(Request, From, heard(From, S)).

%% Only the client's words count. The name of its node does not tell it from
%% another command, which may have that name after it; its pid does.
heard({Client, _}, #session{map = #{client := Client}} = S) ->
    S#session{last_word = now_ms(), suspect = false};
heard(_, S) ->
    S.

request(alive, From, S) ->
    answer(From, ok, S);
request(status, From, S) ->
    answer(From, status(S), S);
request({follow, Offset, Max}, From, S)
  when is_integer(Offset), Offset >= 0, is_integer(Max), Max > 0 ->
    follow(From, Offset, min(Max, ?MAX_CHUNK), S);
request(stop, From, #session{stops = Stops} = S) ->
    case is_over(S) of
        true -> answer(From, status(S), S);
        false -> {noreply, finish(asked, <<>>, S#session{stops = [From | Stops]})}
    end;
request(files, From, S) ->
    case is_over(S) of
        true -> answer(From, {ok, S#session.files}, S);
        false -> answer(From, not_over(), S)
    end;
request({read, Name, Offset, Max}, From, #session{files = Files} = S)
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
request(counters, From, S) ->
    case is_over(S) of
        true -> answer(From, {ok, S#session.counters}, S);
        false -> count(From, S)
    end;
request(hold, From, S) ->
    case is_over(S) of
        true -> answer(From, ok, held(S));
        false -> answer(From, not_over(), S)
    end;
request(remove, From, #session{removes = Removes} = S) ->
    leave(asked, <<>>, S#session{removes = [From | Removes]});
request(Other, From, S) ->
    answer(From, {error, usage, text("a session knows no such request: ~0tP",
                                     [Other, 20])}, S).

%% As if it had been detached; once.
held(#session{map = #{mode := detached}} = S) ->
    S;
held(#session{map = #{hold_ms := Ms} = Map} = S) ->
    _ = erlang:send_after(Ms, self(), hold),
    S#session{map = Map#{mode := detached}}.

answer(From, Answer, S) ->
    ok = inviso_push:reply(From, Answer),
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

%% A flight recorder is not to be emptied by who looks at it.
source(#session{state = State}) when State =:= stopped; State =:= failed ->
    closed;
source(#session{state = stopping}) ->
    unknown;
source(#session{map = #{keep := newest}}) ->
    unknown;
source(#session{tracer = {inviso_tracer, Handle}}) ->
    Handle.

count(From, #session{plan = Plan, scope = Scope} = S) when Scope =/= none ->
    work(closer, {counters, From},
         fun() -> inviso_arm:counters(Plan, Scope) end, S);
count(From, S) ->
    answer(From, {ok, []}, S).

%% Somebody's request. Those that wait are memory of the node.
work(Who, {_, From} = Key, Fun, #session{jobs = Jobs} = S) ->
    case length(Jobs) < ?MAX_JOBS of
        true -> {noreply, job(Who, Key, Fun, S)};
        false -> answer(From, {error, failed, <<"too many requests wait">>}, S)
    end.

%% What is not done yet is known, should the worker be killed.
job(Who, Key, Fun, #session{jobs = Jobs} = S) ->
    ok = inviso_worker:do(worker(Who, S), Key, Fun),
    S#session{jobs = Jobs ++ [{Who, Key, Fun}]}.

worker(reader, #session{reader = Pid}) -> Pid;
worker(closer, #session{closer = Pid}) -> Pid.

%% @private
handle_cast(_, S) ->
    {noreply, S}.

%% @private
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
handle_info(deadline, #session{deadline = At} = S) when is_integer(At) ->
    {noreply, case now_ms() >= At of
                  true -> time_is_up(S);
                  false -> S
              end};
handle_info(watch, #session{state = tracing, plan = Plan0,
                            scope = Scope} = S) ->
    {Notes, Plan} = inviso_arm:watch(Plan0, Scope, ?WATCH_MS),
    watch_later(),
    {noreply, more_notes(Notes, S#session{plan = Plan})};
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
handle_info({'DOWN', Ref, process, _, _}, #session{guard = Ref} = S) ->
    leave(tracer, <<"the guard of this node was killed">>, S);
handle_info({'DOWN', Ref, process, _, _}, #session{engine = Ref} = S) ->
    {noreply, finish(tracer, <<"the trace sessions of this node were killed">>,
                     S)};
handle_info(_, S) ->
    {noreply, S}.

again(Who, #session{jobs = Jobs} = S) ->
    _ = [ok = inviso_worker:do(worker(Who, S), Key, Fun)
         || {W, Key, Fun} <- Jobs, W =:= Who],
    S.

%% A worker that starts while processes to come are traced would be.
successor(Priority, #session{scope = Scope}) ->
    Pid = inviso_worker:start_link(Priority),
    _ = Scope =:= none
        orelse inviso_otp:set_flags(Scope, false, Pid, [all], []),
    Pid.

%% @private
terminate(_, #session{scope = Scope, plan = Plan, tracer = Tracer} = S) ->
    _ = is_over(S) orelse S#session.state =:= stopping
        orelse Scope =:= none orelse close(Plan, Scope, Tracer),
    ok.

%% --- arming -----------------------------------------------------------------

arm(#session{map = #{dry_run := true}, plan = Plan} = S) ->
    job(closer, expected, fun() -> inviso_arm:expect(Plan, ?EXPECT_MS) end, S);
arm(#session{plan = Plan, scope = Scope} = S) ->
    Before = erlang:monotonic_time(microsecond),
    case inviso_arm:step(Plan, Scope, own(S)) of
        {more, Armed, Next} ->
            %% A node must breathe: as long as the step took. But one that
            %% waited for others is not waited for in turn.
            Us = erlang:monotonic_time(microsecond) - Before,
            Ms = min((Us + 500) div 1000, ?PAUSE_MS),
            _ = erlang:send_after(Ms, self(), arm),
            noted(S#session{plan = Next, armed = Armed});
        {done, Next} ->
            watch_later(),
            noted(S#session{plan = Next, state = tracing});
        {error, Class, Text, Next} ->
            finish({not_armed, Class}, Text, noted(S#session{plan = Next}))
    end.

own(#session{reader = Reader, closer = Closer, keeper = Keeper}) ->
    [self(), Reader, Closer, Keeper | inviso_push:own()].

%% For the guard, in case this process is killed.
noted(#session{table = Table, scope = Scope, plan = Plan} = S) ->
    Residue = inviso_otp:residue([{Scope, inviso_arm:patterns(Plan)}]),
    ok = inviso_push:note(Table, Residue),
    S.

watch_later() ->
    erlang:send_after(?WATCH_MS, self(), watch).

%% Each once, and not without end.
more_notes(More, #session{notes = Notes} = S) ->
    New = [N || N <- More, not lists:member(N, Notes)],
    S#session{notes = lists:sublist(Notes ++ New,
                                    max(?MAX_NOTES, length(Notes)))}.

%% --- limits -----------------------------------------------------------------

look(#session{overload = Overload} = S0) ->
    S = stalled(refreshed(S0)),
    case limit(S) of
        time ->
            time_is_up(S);
        none ->
            case inviso_overload:check(Overload) of
                {ok, Next} -> S#session{overload = Next};
                {over, Why, Text} -> finish(Why, Text, S)
            end;
        {over, Why, Text} ->
            finish(Why, Text, short(<<>>, S))
    end.

%% What was set late, or not at all, is missing in what was recorded.
short(Advice, #session{state = arming, plan = Plan} = S) ->
    more_notes([text("a limit was reached before all was armed: ~ts~ts",
                     [inviso_arm:progress(Plan), Advice])], S);
short(_, S) ->
    S.

%% With nothing traced there is nothing to be had of it.
time_is_up(#session{state = State, plan = Plan,
                    map = #{limits := #{ms := Ms}}} = S) ->
    Advice = <<". A longer --for or fewer processes (--procs) let it get done">>,
    case State =/= arming orelse inviso_arm:has_begun(Plan) of
        true ->
            finish(time, text("~ts passed", [seconds(Ms)]), short(Advice, S));
        false ->
            finish({not_armed, time},
                   text("~ts passed before anything was traced: ~ts~ts",
                        [seconds(Ms), inviso_arm:progress(Plan), Advice]), S)
    end.

%% What the keeper says while it closes would come late.
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

%% The spooler tries again, so a moment is no reason.
stalled(#session{stats = #{spooler := #{state := stalled}},
                 stalled = never} = S) ->
    S#session{stalled = now_ms()};
stalled(#session{stats = #{spooler := #{state := stalled}}} = S) ->
    S;
stalled(S) ->
    S#session{stalled = never}.

limit(#session{stats = #{closed := true}}) ->
    {over, tracer, <<"the tracer was closed">>};
limit(#session{stats = #{spooler := #{state := failed} = Spooler}}) ->
    unwritten(Spooler);
limit(#session{stats = #{spooler := #{state := stalled} = Spooler},
               stalled = Since} = S) ->
    case now_ms() - Since > ?STALLED_MS of
        true -> unwritten(Spooler);
        false -> limit(S#session{stats = maps:remove(spooler, S#session.stats)})
    end;
limit(#session{stats = #{limit := ms}}) ->
    time;
limit(#session{stats = #{limit := bytes}, map = #{limits := Limits}}) ->
    #{bytes := Max} = Limits,
    {over, bytes, text("~b bytes recorded, which is the limit", [Max])};
limit(#session{stats = #{limit := Limit, recorded := N},
               map = #{limits := #{events := Max}}})
  when Limit =:= events; Max > 0, N >= Max ->
    {over, events, text("~b events, limit ~b", [N, Max])};
limit(#session{stats = #{rate_reached := true}, map = #{limits := Limits}}) ->
    #{rate := Max} = Limits,
    {over, rate, text("more than ~b events a second", [Max])};
limit(_) ->
    none.

unwritten(Spooler) ->
    {over, tracer, text("the log cannot be written: ~ts",
                        [maps:get(error, Spooler, "?")])}.

%% --- silence ----------------------------------------------------------------

silence_timer(#{mode := detached}) ->
    ok;
silence_timer(#{dead_man_ms := Ms}) ->
    _ = erlang:send_after(Ms, self(), silence),
    ok.

%% A node that was stopped finds time passed, and words waiting: hence twice.
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
            leave(client_gone, text("no word of the command for ~ts",
                                    [seconds(Silent)]), S)
    end.

%% It does not keep the guard either.
forget_client(#{guard := Guard, client := Client}) ->
    Guard ! {'$gen_call', {self(), forgotten}, {leave, Client}},
    ok.

%% --- the end ----------------------------------------------------------------

finish(Why, Text, #session{state = State} = S)
  when State =:= arming; State =:= tracing ->
    closing(stopped_for(Why, Text, S));
finish(_, _, S) ->
    S.

stopped_for({not_armed, time}, Text, S) ->
    S#session{why = time, text = Text, class = failed};
stopped_for({not_armed, Class}, Text, S) ->
    S#session{why = none, text = Text, class = Class};
stopped_for(Why, Text, S) -> S#session{why = Why, text = Text}.

closing(#session{plan = Plan, scope = Scope, tracer = Tracer} = S) ->
    job(closer, closed, fun() -> close(Plan, Scope, Tracer) end,
        S#session{state = stopping}).

%% First no more events, then what there is into the log.
close(_Plan, none, none) ->
    {[], ok};
close(Plan, Scope, Tracer) ->
    Counters = try inviso_arm:counters(Plan, Scope)
               catch _:_ -> []
               end,
    ok = inviso_arm:disarm(Plan, Scope),
    {Counters, inviso_tracer:close(Tracer)}.

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
done({counters, From}, {ok, Counters}, S) ->
    answer(From, {ok, Counters}, S);
done({_, From}, {crashed, Reason}, S) ->
    answer(From, {error, failed, text("~0tP", [Reason, 30])}, S);
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

closed({ok, {Counters, Result}}, #session{table = Table} = S) ->
    ok = inviso_push:note(Table, inviso_otp:residue([])),
    tracer_closed(Result, S#session{counters = Counters, scope = none,
                                    tracer = none});
closed({crashed, Reason}, S) ->
    S#session{state = failed, text = text("closing: ~0tP", [Reason, 30])}.

tracer_closed(ok, S) ->
    S#session{state = stopped};
tracer_closed({ok, Stats}, S) ->
    S#session{state = ended(S), stats = Stats, files = files(S)};
tracer_closed({error, {Reason, Stats}}, #session{why = Why} = S)
  when is_map(Stats) ->
    Text = text("the log is not complete: ~ts", [unfinished(Reason)]),
    S1 = S#session{state = failed, stats = Stats, files = files(S)},
    case Why of
        tracer -> S1;
        none -> S1#session{why = tracer, text = Text};
        _ -> S1#session{notes = S#session.notes ++ [Text]}
    end;
tracer_closed({error, _}, #session{notes = Notes} = S) ->
    S#session{state = failed, files = files(S),
              notes = Notes ++ [<<"the tracer was closed by somebody else: "
                                  "what it counted is not known">>]}.

unfinished({log, _, Text}) -> Text;
unfinished({spooler, _, None}) when None =:= <<>>; None =:= "" ->
    "inviso_spool does not get done with it";
unfinished({spooler, _, Text}) -> Text;
unfinished(Reason) -> io_lib:format("~0tp", [Reason]).

%% What could not be armed has failed too.
ended(#session{class = Class}) when Class =/= none -> failed;
ended(#session{why = none, map = #{dry_run := false}}) -> failed;
ended(#session{why = tracer}) -> failed;
ended(_) -> stopped.

files(#session{room = Room}) ->
    inviso_place:rooms_files(Room).

over(#session{table = Table, stops = Stops, map = Map} = S) ->
    phase(Table, done),
    _ = [inviso_push:reply(From, status(S)) || From <- Stops],
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

%% The guard may have been killed, and its table be on the way.
phase(Table, Phase) ->
    try
        inviso_push:session(Table, Phase)
    catch
        error:_ -> ok
    end.

gone(#session{table = Table, room = Room, removes = Removes} = S) ->
    phase(Table, leaving),
    _ = Room =:= none orelse inviso_place:remove_room(Room),
    _ = [inviso_push:reply(From, ok) || From <- Removes],
    {stop, shutdown, S}.

%% --- status -----------------------------------------------------------------

-spec status(#session{}) -> status().
status(#session{map = Map, stats = Stats} = S) ->
    Given = maps:with([name, owner, mode, keep, specs, limits], Map),
    maps:merge(
      maps:merge(Given, progress(S)),
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
        log_bytes => maps:get(log_bytes, Stats, 0),
        lost => maps:get(lost, Stats, #{}),
        ms_left => ms_left(S)}).

class(#session{state = failed, class = none}) -> failed;
class(#session{class = Class}) -> Class.

%% That of a live session goes with its node.
log(#session{path = Path, map = #{mode := Mode}})
  when Path =/= none, Mode =/= live ->
    unicode:characters_to_binary(Path);
log(_) ->
    none.

progress(#session{state = arming, armed = Armed}) -> #{armed => Armed};
progress(#session{expected = none}) -> #{};
progress(#session{expected = N}) -> #{expected => N}.

ms_left(#session{state = State, deadline = infinity})
  when State =:= arming; State =:= tracing ->
    infinity;
ms_left(#session{state = State, deadline = Deadline})
  when State =:= arming; State =:= tracing ->
    max(0, Deadline - now_ms());
ms_left(_) ->
    0.

seconds(Ms) when Ms rem 1000 =:= 0 -> io_lib:format("~b s", [Ms div 1000]);
seconds(Ms) -> io_lib:format("~b ms", [Ms]).

now_ms() ->
    erlang:monotonic_time(millisecond).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
