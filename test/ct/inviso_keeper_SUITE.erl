%% SPDX-License-Identifier: Apache-2.0
%% The keeper of a tracer (the process that starts the spooler and takes clock anchors) when other
%% parts fail: spoolers die at bad moments, shared memory is overwritten, libraries disappear.
-module(inviso_keeper_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([spooler_restarted_during_open_is_watched/1,
         spooler_that_cannot_start_says_why/1,
         trouble_at_open_is_over_at_close/1,
         spooler_killed_while_waking_is_replaced/1,
         log_away_for_a_while_loses_nothing/1,
         dropped_events_do_not_use_up_a_limit/1,
         scribbled_ring_does_not_hurt_the_node/1,
         looks_are_bounded/1,
         ring_named_like_the_log_is_refused/1,
         memory_has_a_cap/1,
         flush_ends_with_the_keeper/1,
         clock_that_jumps_is_followed/1,
         dead_keeper_holds_up_no_other_tracer/1,
         delivery_without_an_owner_ends/1,
         light_spawn_has_no_arguments/1]).
-export([keepers_while_held/1]).

-define(LIB, inviso_trace_lib).

all() ->
    [spooler_restarted_during_open_is_watched,
     spooler_that_cannot_start_says_why,
     trouble_at_open_is_over_at_close,
     spooler_killed_while_waking_is_replaced,
     log_away_for_a_while_loses_nothing,
     dropped_events_do_not_use_up_a_limit,
     scribbled_ring_does_not_hurt_the_node,
     looks_are_bounded,
     ring_named_like_the_log_is_refused,
     memory_has_a_cap,
     flush_ends_with_the_keeper,
     clock_that_jumps_is_followed,
     dead_keeper_holds_up_no_other_tracer,
     delivery_without_an_owner_ends,
     light_spawn_has_no_arguments].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(_Case, Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    Config.

end_per_testcase(_Case, _Config) ->
    erlang:trace_pattern({?LIB, probe, '_'}, false, [local]),
    ok.

worker(Tracer, Flags) ->
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, Flags),
    Pid.

flood(Pid, From, To) ->
    ok = ?LIB:run(Pid, fun() -> ?LIB:flood(From, To) end).

spooler(Tracer) ->
    #{spooler := #{os_pid := Pid, starts := N}} = inviso_tracer:info(Tracer),
    {Pid, N}.

kill_spooler(Tracer) ->
    {Pid, N} = spooler(Tracer),
    true = Pid > 0,
    ?LIB:kill("KILL", Pid),
    ?LIB:until(fun() -> element(2, spooler(Tracer)) > N end).

%% The node loads the library from a directory whose program inviso_spool fails when it is started
%% for the first time.
spooler_restarted_during_open_is_watched(Config) ->
    Dir = ?LIB:dir(Config),
    Priv = filename:join(Dir, "priv"),
    ok = file:make_dir(Priv),
    [{ok, _} = file:copy(?LIB:product(F), filename:join(Priv, T))
     || {F, T} <- [{"inviso_tracer.so", "inviso_tracer.so"},
                   {"inviso_spool", "real_spool"}]],
    Fail = filename:join(Dir, "fail"),
    Wrapper = filename:join(Priv, "inviso_spool"),
    ok = file:write_file(Fail, ""),
    ok = file:write_file(Wrapper,
                         ["#!/bin/sh\nif rm ", Fail, " 2>/dev/null; then "
                          "exit 1; fi\nexec ", Priv, "/real_spool \"$@\"\n"]),
    [ok = file:change_mode(filename:join(Priv, F), 8#755)
     || F <- ["real_spool", "inviso_spool"]],
    Peer = ?LIB:node_start(#{}, false),
    Log = filename:join(Dir, "x.log"),
    %% The path "priv" is relative to the node's working directory.
    ok = ?LIB:call(Peer, file, set_cwd, [Dir]),
    ok = ?LIB:call(Peer, inviso_tracer, load, ["priv"]),
    true = list_to_binary(Priv) =:= ?LIB:call(Peer, inviso_tracer, dir, []),
    Owner = ?LIB:call(Peer, erlang, whereis, [init]),
    {ok, Tracer} = ?LIB:call(Peer, inviso_tracer, open,
                             [Log, #{owner => Owner}]),
    false = filelib:is_file(Fail),
    Info = fun() -> #{spooler := S} =
                        ?LIB:call(Peer, inviso_tracer, info, [Tracer]), S end,
    #{os_pid := First, starts := N} = Info(),
    ?LIB:kill("KILL", First),
    ?LIB:until(fun() -> maps:get(starts, Info()) > N end),
    {ok, #{spooler := #{state := done}}} =
        ?LIB:call(Peer, inviso_tracer, close, [Tracer]),
    ?LIB:node_stop(Peer).

%% If a spooler cannot start, it usually reports the reason in the shared memory. These spoolers
%% cannot map the shared memory, so their exit status tells the reason.
spooler_that_cannot_start_says_why(Config) ->
    Dir = ?LIB:dir(Config),
    Priv = filename:join(Dir, "priv"),
    ok = file:make_dir(Priv),
    {ok, _} = file:copy(?LIB:product("inviso_tracer.so"),
                        filename:join(Priv, "inviso_tracer.so")),
    {ok, _} = file:copy(?LIB:product("inviso_spool"),
                        filename:join(Priv, "real_spool")),
    ok = file:change_mode(filename:join(Priv, "real_spool"), 8#755),
    Peer = ?LIB:node_start(#{}, false),
    ok = ?LIB:call(Peer, inviso_tracer, load, [Priv]),
    Owner = ?LIB:call(Peer, erlang, whereis, [init]),
    Real = filename:join(Priv, "real_spool"),
    [begin
         Wrapper = filename:join(Priv, "inviso_spool"),
         ok = file:write_file(Wrapper, ["#!/bin/sh\n", Script]),
         ok = file:change_mode(Wrapper, 8#755),
         {error, {spooler, none, Text}} =
             ?LIB:call(Peer, inviso_tracer, open,
                       [filename:join(Dir, "x.log"), #{owner => Owner}]),
         {_, true} = {Text, string:find(Text, Words) =/= nomatch}
     end || {Script, Words} <-
                [{"exit 11", "flock(2) is denied"},
                 %% Descriptor 99999 does not exist, as if /proc were missing.
                 {["exec ", Real, " --pid 1 --fd 99999"], "needs /proc"}]],
    ?LIB:node_stop(Peer).

%% The keeper gives up if four starts of the spooler in a row fail. Here three starts fail when the
%% tracer is opened, and two when it is closed. A successful start is between them, so the keeper
%% does not give up.
trouble_at_open_is_over_at_close(Config) ->
    Dir = ?LIB:dir(Config),
    Priv = filename:join(Dir, "priv"),
    ok = file:make_dir(Priv),
    [{ok, _} = file:copy(?LIB:product(F), filename:join(Priv, T))
     || {F, T} <- [{"inviso_tracer.so", "inviso_tracer.so"},
                   {"inviso_spool", "real_spool"}]],
    Wrapper = filename:join(Priv, "inviso_spool"),
    Fail = filename:join(Dir, "fail."),
    ok = file:write_file(Wrapper,
                         ["#!/bin/sh\nfor f in ", Fail, "*; do\n"
                          "rm $f 2>/dev/null && exit 13\ndone\n"
                          "exec ", Priv, "/real_spool \"$@\"\n"]),
    [ok = file:change_mode(filename:join(Priv, F), 8#755)
     || F <- ["real_spool", "inviso_spool"]],
    Failures = fun() -> length(filelib:wildcard(Fail ++ "*")) end,
    Fails = fun(N) -> [ok = file:write_file(Fail ++ integer_to_list(I), "")
                       || I <- lists:seq(1, N)] end,
    Peer = ?LIB:node_start(#{}, false),
    ok = ?LIB:call(Peer, inviso_tracer, load, [Priv]),
    Owner = ?LIB:call(Peer, erlang, whereis, [init]),
    Fails(3),
    {ok, Tracer} = ?LIB:call(Peer, inviso_tracer, open,
                             [filename:join(Dir, "x.log"), #{owner => Owner}]),
    0 = Failures(),
    #{spooler := #{os_pid := Spooler}} =
        ?LIB:call(Peer, inviso_tracer, info, [Tracer]),
    Fails(5),
    ?LIB:kill("KILL", Spooler),
    ?LIB:until(fun() -> Failures() =< 2 end),
    {ok, #{spooler := #{state := done}}} =
        ?LIB:call(Peer, inviso_tracer, close, [Tracer]),
    ?LIB:node_stop(Peer).

%% If the pipe is broken when the keeper wakes the spooler, the port closes
%% without an exit status. The keeper must start a new spooler in this case, too.
spooler_killed_while_waking_is_replaced(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer, [call]),
    Flusher = spawn_link(fun() -> flush_forever(Tracer) end),
    [begin
         flood(Pid, N * 100 + 1, N * 100 + 100),
         kill_spooler(Tracer)
     end || N <- lists:seq(0, 7)],
    unlink(Flusher),
    exit(Flusher, kill),
    ok = inviso_tracer:flush(Tracer),
    ?LIB:accounted(?LIB:close(Tracer), ?LIB:events(Log), 800),
    ?LIB:stop(Pid).

flush_forever(Tracer) ->
    _ = inviso_tracer:flush(Tracer),
    flush_forever(Tracer).

log_away_for_a_while_loses_nothing(Config) ->
    Dir = filename:join(?LIB:dir(Config), "logs"),
    Away = Dir ++ ".away",
    ok = file:make_dir(Dir),
    Log = filename:join(Dir, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 1000),
    ok = inviso_tracer:flush(Tracer),
    ok = file:rename(Dir, Away),
    kill_spooler(Tracer),
    flood(Pid, 1001, 1100),
    ok = file:rename(Away, Dir),
    flood(Pid, 1101, 1200),
    ?LIB:accounted(?LIB:close(Tracer), ?LIB:events(Log), 1200),
    ?LIB:stop(Pid).

dropped_events_do_not_use_up_a_limit(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Threads = erlang:system_info(schedulers) +
        erlang:system_info(dirty_cpu_schedulers) +
        erlang:system_info(dirty_io_schedulers),
    Tracer = ?LIB:open(Log, #{limit => #{events => 20000},
                              packet_bytes => 4096,
                              buffer_bytes => Threads * 4 * 4096}),
    Pid = worker(Tracer, [call]),
    {Spooler, _} = spooler(Tracer),
    ?LIB:kill("STOP", Spooler),
    flood(Pid, 1, 30000),
    #{limit_reached := false, lost := #{full := Full}} =
        inviso_tracer:info(Tracer),
    true = Full > 20000,
    ?LIB:kill("CONT", Spooler),
    ok = inviso_tracer:flush(Tracer),
    flood(Pid, 30001, 30100),
    #{produced := 30100, lost := Lost} = ?LIB:close(Tracer),
    [full] = maps:keys(Lost),
    ?LIB:stop(Pid).

%% The control page of a ring file is overwritten, except its magic number.
scribbled_ring_does_not_hurt_the_node(Config) ->
    Dir = ?LIB:dir(Config),
    Ring = filename:join(Dir, "x.ring"),
    Peer = ?LIB:node_start(#{}),
    Owner = ?LIB:call(Peer, erlang, whereis, [init]),
    ok = ?LIB:call(Peer, inviso_tracer, load,
                   [filename:dirname(?LIB:product("inviso_spool"))]),
    {ok, Tracer} = ?LIB:call(Peer, inviso_tracer, open,
                             [filename:join(Dir, "x.log"),
                              #{ring => {file, Ring}, owner => Owner}]),
    {ok, Fd} = file:open(Ring, [read, write, raw, binary]),
    ok = file:pwrite(Fd, 8, binary:copy(<<255>>, 120)),
    ok = file:close(Fd),
    #{produced := 0} = ?LIB:call(Peer, inviso_tracer, info, [Tracer]),
    pong = ?LIB:call(Peer, erlang, apply, [fun erlang:hd/1, [[pong]]]),
    ?LIB:node_stop(Peer).

%% Of a list below the depth limit, only the number of elements is recorded. To find this number,
%% the tracer looks at no more than a fixed number of elements for each event. So the number of
%% elements is shown only for the first few of the 500 lists.
looks_are_bounded(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{max_depth => 3, max_term_bytes => 8192}),
    Long = [a | lists:seq(1, 3000)],
    Pid = worker(Tracer, [call]),
    ok = ?LIB:run(Pid, fun() ->
                               ?LIB:probe(lists:duplicate(500, Long)), ok
                       end),
    ?LIB:close(Tracer),
    [Line] = [L || L <- ?LIB:lines(Log, "classic"),
                   nomatch =/= binary:match(L, <<"probe">>)],
    {match, Counted} = re:run(Line, "more|\\((\\d+)",
                              [global, {capture, [1], list}]),
    Sum = lists:sum([list_to_integer(N) || [N] <- Counted, N =/= ""]),
    true = Sum > 3000,
    true = Sum =< 2 * 8192,
    ?LIB:stop(Pid).

ring_named_like_the_log_is_refused(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    [{error, {bad_option, ring, {file, Ring}, _}} =
         inviso_tracer:open(Log, #{ring => {file, Ring}, replace => true})
     || Ring <- [Log, Log ++ ".0", Log ++ ".17"]],
    ?LIB:close(?LIB:open(Log, #{ring => {file, Log ++ ".ring"}})).

flush_ends_with_the_keeper(Config) ->
    Tracer = ?LIB:open(filename:join(?LIB:dir(Config), "x.log"), #{}),
    {_, Handle} = Tracer,
    {Spooler, _} = spooler(Tracer),
    ?LIB:kill("STOP", Spooler),
    Before = inviso_keeper:processes(Handle),
    {_, Asks} = spawn_monitor(fun() -> exit(inviso_tracer:flush(Tracer)) end),
    Pids = fun() -> inviso_keeper:processes(Handle) -- Before end,
    ?LIB:until(fun() -> Pids() =/= [] end),
    [Flushes] = Pids(),
    true = erlang:suspend_process(Flushes),
    ?LIB:kill("CONT", Spooler),
    _ = ?LIB:close(Tracer),
    receive {'DOWN', Asks, process, _, Why} -> {error, closed} = Why end,
    ?LIB:until(fun() -> not is_process_alive(Flushes) end).

memory_has_a_cap(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {error, {ring, _, enomem}} =
        inviso_tracer:open(Log, #{buffer_bytes => 1 bsl 39}),
    false = filelib:is_file(Log),
    ?LIB:close(?LIB:open(Log, #{})).

%% Moves the wall clock of a node an hour forwards or backwards. The node uses single time warp:
%% when its time offset is finalised, the offset changes by an hour. After the keeper's next clock
%% anchor, the log has the new time, and its events are in order.
clock_that_jumps_is_followed(Config) ->
    preloaded(Config, "clock_shift",
              fun(Preload) ->
                      [jump(Config, Preload, Hours * 3600) || Hours <- [1, -1]]
              end).

%% Compiles the C source Name into a library that a node can preload, and calls
%% Fun with the library's path.
preloaded(Config, Name, Fun) ->
    Source = filename:join(?config(data_dir, Config), Name ++ ".c"),
    case {os:find_executable("cc"), filelib:is_regular(Source)} of
        {false, _} ->
            {skip, "no C compiler"};
        {_, false} ->
            {skip, "no " ++ Source};
        {Cc, true} ->
            %% Colons separate the paths in LD_PRELOAD, so the library's path
            %% must not contain a colon.
            Tmp = os:getenv("TMPDIR", "/tmp"),
            Preload = filename:join(Tmp, Name ++ os:getpid() ++ ".so"),
            {0, <<>>} = ?LIB:command(Cc, ["-D_GNU_SOURCE", "-shared", "-fPIC",
                                          "-o", Preload, Source]),
            try Fun(Preload) after file:delete(Preload) end,
            ok
    end.

preload(Preload, Env) ->
    Before = os:getenv("LD_PRELOAD", ""),
    [{"LD_PRELOAD", Before ++ ":" ++ Preload} | Env].

jump(Config, Preload, Seconds) ->
    Shift = ?LIB:name(Config, "shift"),
    ok = file:write_file(Shift, <<0:64>>),
    Peer = ?LIB:node_start(#{args => ["+C", "single_time_warp" |
                                      ?LIB:node_args()],
                             env => preload(Preload, [{"CLOCK_SHIFT", Shift}])}),
    Log = ?LIB:name(Config, "x.log"),
    Call = fun(M, F, A) -> ?LIB:call(Peer, M, F, A) end,
    Now = fun() -> Call(erlang, system_time, [nanosecond]) end,
    Opened = Call(erlang, monotonic_time, [nanosecond]),
    {ok, Tracer} = Call(inviso_tracer, open,
                        [Log, #{owner => Call(erlang, whereis, [init])}]),
    true = Call(?LIB, calls, [{?LIB, probe, 1}, true]),
    Pid = Call(?LIB, worker, []),
    1 = Call(?LIB, flags, [Pid, Tracer, [call]]),
    Flood = fun(First, Last) ->
                    From = Now(),
                    ok = Call(?LIB, run,
                              [Pid, fun() -> ?LIB:flood(First, Last) end]),
                    {From, Now()}
            end,
    {EarlyFrom, EarlyTo} = Flood(1, 10),
    Old = Call(erlang, time_offset, [nanosecond]),
    ok = file:write_file(Shift, <<(Seconds * 1000000000):64/native>>),
    preliminary = Call(erlang, system_flag, [time_offset, finalize]),
    New = Call(erlang, time_offset, [nanosecond]),
    Moved = New - Old,
    {true, Moved} = {abs(Moved - Seconds * 1000000000) =< 2000000000, Moved},
    ?LIB:until(fun() -> anchored(Log, New) end),
    {LateFrom, LateTo} = Flood(11, 20),
    {ok, Stats} = Call(inviso_tracer, close, [Tracer]),
    Slack = ?LIB:slack(Call(erlang, monotonic_time, [nanosecond]) - Opened),
    ?LIB:node_stop(Peer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 20),
    Numbers = lists:seq(1, 20),
    Numbers = ?LIB:numbers(Items),
    {Early, Late} = lists:split(10, [T || #{<<"ts">> := T} <- Items]),
    ok = ?LIB:between(EarlyFrom - Slack, Early, EarlyTo + Slack),
    ok = ?LIB:between(LateFrom - Slack, Late, LateTo + Slack),
    [true = Ts =:= lists:sort(Ts) || Ts <- [Early, Late]].

%% The keeper is killed while a thread hangs in the keeper's tracer. While inviso's NIF library
%% waits for the thread, it still answers requests about other tracers.
dead_keeper_holds_up_no_other_tracer(Config) ->
    preloaded(Config, "held_thread", fun(Preload) -> hold(Config, Preload) end).

hold(Config, Preload) ->
    Held = ?LIB:name(Config, "held"),
    Peer = ?LIB:node_start(#{args => ["+S", "4:4" | ?LIB:node_args()],
                             env => preload(Preload, [{"HELD_THREAD", Held}])}),
    try
        [] = ?LIB:call(Peer, ?MODULE, keepers_while_held, [Held])
    after
        _ = file:delete(Held),
        ?LIB:node_stop(Peer)
    end.

%% Two schedulers are blocked in this test. So each process of the test is bound to one of the other
%% schedulers. No process waits for a timer or a port, because that may need a blocked scheduler.
keepers_while_held(Held) ->
    Driver = self(),
    Keeper = spawn_opt(fun() -> Driver ! {tracer, opened(Held ++ ".log")},
                                receive after infinity -> ok end
                       end, [{scheduler, 1}]),
    {Module, State} = receive {tracer, T} -> T end,
    true = ?LIB:calls({?LIB, probe, 1}, true),
    Tracee = spawn_opt(fun() -> receive Probe -> Probe() end end,
                       [{scheduler, 2}]),
    1 = erlang:trace(Tracee, true, [call, {tracer, Module, State}]),
    Probe = fun() -> ok = file:write_file(Held, <<>>, [raw]), ?LIB:probe(1) end,
    {Pid, Ref} =
        spawn_opt(fun() ->
                          Tracee ! Probe,
                          ok = await_file(Held ++ ".event"),
                          exit(Keeper, kill),
                          ok = await_file(Held ++ ".wait"),
                          Keepers = inviso_tracer:nif_keepers(),
                          ok = file:delete(Held, [raw]),
                          exit(Keepers)
                  end, [monitor, {scheduler, 4}]),
    receive {'DOWN', Ref, process, Pid, Keepers} -> Keepers end.

opened(Path) ->
    {ok, #{numbers := Numbers}} = inviso_opts:parse(Path, #{}),
    Texts = {list_to_binary(Path), <<>>, <<"nonode@nohost">>, <<"25">>, <<"13">>,
             <<>>},
    {ok, Handle, _} = inviso_tracer:nif_open(Texts, Numbers),
    {inviso_tracer, Handle}.

await_file(Name) ->
    case file:read_file_info(Name, [raw]) of
        {ok, _} -> ok;
        {error, enoent} -> await_file(Name)
    end.


%% Returns true if the log contains an anchor with this time offset. The spooler may still write the
%% log, so the log may be incomplete.
anchored(Log, Offset) ->
    try inviso_trace_log:packets(Log) of
        Packets ->
            lists:member(Offset,
                         [O || #{type := anchors, body := Body} <- Packets,
                               <<_:128, O:64/little-signed, _:64>> <= Body])
    catch
        error:_ -> false
    end.

light_spawn_has_no_arguments(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{payload => none}),
    Pid = worker(Tracer, [procs, set_on_spawn]),
    ok = ?LIB:run(Pid, fun() ->
                               spawn(lists, reverse, [[secret]]),
                               spawn(lists, many, lists:duplicate(300, secret)),
                               ok
                       end),
    ?LIB:until(fun() -> maps:get(produced, inviso_tracer:info(Tracer)) >= 6
               end),
    ?LIB:close(Tracer),
    Lines = ?LIB:lines(Log, "classic"),
    [_, _ | _] = [L || L <- Lines,
                       nomatch =/= binary:match(L, <<"{lists,reverse,1}">>)],
    [] = [L || L <- Lines, nomatch =:= binary:match(L, <<"many">>),
               nomatch =/= binary:match(L, <<"secret">>)],
    %% The reason for which the process exits contains the arguments, so only the lines of spawns
    %% are checked.
    [_, _] = Many = [L || L <- Lines, match =:= re:run(L, "spawn.*lists,many",
                                                       [{capture, none}])],
    nomatch = binary:match(iolist_to_binary(Many), <<"secret">>),
    ?LIB:stop(Pid).

%% A delivery sends events as messages. Its owner dies before the delivery has received its first
%% message. It may even die before the delivery has opened the tracer.
delivery_without_an_owner_ends(_Config) ->
    ok = inviso_tracer:load(),
    Start = fun(Owner) ->
                    Sink = {fun(_, Data) -> Data end, none},
                    gen_server:start(inviso_deliver,
                                     {inviso_handler, Sink, default, Owner}, [])
            end,
    Owner = spawn(timer, sleep, [infinity]),
    {ok, Keeper} = Start(Owner),
    {links, [Receiver]} = process_info(Keeper, links),
    Refs = [monitor(process, P) || P <- [Keeper, Receiver]],
    true = lists:keymember(Keeper, 1, inviso_tracer:nif_keepers()),
    true = exit(Owner, kill),
    _ = [receive {'DOWN', R, process, _, _} -> ok end || R <- Refs],
    ?LIB:until(fun() -> not lists:keymember(Keeper, 1,
                                            inviso_tracer:nif_keepers()) end),
    {error, {shutdown, no_owner}} = Start(Owner).
