%% SPDX-License-Identifier: Apache-2.0
%% What the logs contain after a node, a spooler or a disk has failed. The
%% failures are real: processes are killed and stopped, and a file system is
%% full. Calls are numbered, so that the tests find missing and repeated calls.
-module(inviso_failure_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("kernel/include/file.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([node_is_killed/1, node_with_brought_files_is_killed/1,
         flight_recorder_is_killed/1,
         node_is_killed_while_it_rotates/1,
         node_and_spooler_are_killed/1, node_is_killed_as_pid_1/1,
         node_halts/1, node_halts_with_a_stopped_spooler/1,
         spooler_is_killed/1, spooler_is_killed_at_the_end/1,
         spooler_is_terminated/1,
         spooler_is_stopped_for_a_while/1, close_with_a_stopped_spooler/1,
         spooler_is_not_there/1,
         disk_fills_and_space_comes_back/1, disk_stays_full/1,
         ring_does_not_fit_the_disk/1,
         log_directory_is_missing/1, log_directory_is_not_writable/1,
         ordinary_user_traces/1, node_is_not_dumpable/1]).

-define(LIB, inviso_trace_lib).
-define(NODE, inviso_trace_node).
-define(NOBODY, 65534).

all() ->
    [node_is_killed, node_with_brought_files_is_killed,
     flight_recorder_is_killed, node_is_killed_while_it_rotates,
     node_and_spooler_are_killed, node_is_killed_as_pid_1,
     node_halts, node_halts_with_a_stopped_spooler,
     spooler_is_killed, spooler_is_killed_at_the_end, spooler_is_terminated,
     spooler_is_stopped_for_a_while, close_with_a_stopped_spooler,
     spooler_is_not_there,
     disk_fills_and_space_comes_back, disk_stays_full,
     ring_does_not_fit_the_disk,
     log_directory_is_missing, log_directory_is_not_writable,
     ordinary_user_traces, node_is_not_dumpable].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(Case, Config) ->
    Root = [node_is_killed_as_pid_1, disk_fills_and_space_comes_back,
            disk_stays_full, ring_does_not_fit_the_disk,
            log_directory_is_not_writable, ordinary_user_traces,
            node_is_not_dumpable],
    case lists:member(Case, Root) andalso not ?LIB:is_root() of
        true -> {skip, "only root can set this up"};
        false -> ?LIB:calls({?LIB, probe, '_'}, true), Config
    end.

%% A failed case may leave stopped spoolers. They are continued here, because this node might not
%% halt with a stopped spooler.
end_per_testcase(_Case, _Config) ->
    Mine = "--pid\0" ++ os:getpid() ++ "\0",
    [?LIB:kill("CONT", P) || P <- processes_with(Mine)],
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    ok.

%%---------------------------------------------------------------------------
%% Nodes that die

node(Log, Opts) ->
    node(Log, Opts, #{}).

node(Log, Opts, PeerOpts) ->
    Peer = ?LIB:node_start(PeerOpts),
    {Os, Spooler} = ?LIB:call(Peer, ?NODE, start, [Log, Opts]),
    {Peer, Os, Spooler}.

gone(OsPid) ->
    ?LIB:until(fun() -> not ?LIB:os_alive(OsPid) end).

%% Checks that the log ended for the reason Why, and that its last totals agree with its events and
%% losses. Returns {Numbers, Lost}: the argument I of each recorded call probe(I), and the losses.
ended(Log, Logs, Why) ->
    Items = ?LIB:items(Logs),
    Numbers = ?LIB:numbers(Items),
    Numbers = lists:usort(Numbers),
    R = length(Numbers),
    Lost = lists:sum(maps:values(?LIB:lost(Items))),
    ct:pal("~p recorded, ~p lost", [R, ?LIB:lost(Items)]),
    case inviso_trace_log:totals(Log) of
        #{why := Why, produced := P, recorded := R, dropped := D} ->
            P = R + lists:sum(D),
            Lost = lists:sum(D);
        Packed ->
            Packed = #{why => Why}
    end,
    {Numbers, ?LIB:lost(Items)}.

%% Checks that at most one event is missing: the event that a thread was writing when the node was
%% killed. If the spooler was too slow, events may also be lost for the reason `full'.
whole(Numbers, Lost, AtLeast) ->
    case maps:keys(Lost) -- [unfinished] of
        [] -> Numbers = lists:seq(1, length(Numbers));
        [full] -> 1 = hd(Numbers)
    end,
    true = maps:get(unfinished, Lost, 0) =< 1,
    true = length(Numbers) >= AtLeast.

flood_and_kill(Peer, Os) ->
    flood_and_kill(Peer, Os, fun() -> true end).

%% Floods the node with events, and kills it when thousands of events are
%% recorded and Ready returns true.
flood_and_kill(Peer, Os, Ready) ->
    ok = ?LIB:call(Peer, ?NODE, flood_on, []),
    Recorded = fun() ->
                       #{recorded := N} = ?LIB:call(Peer, ?NODE, info, []),
                       N
               end,
    ?LIB:until(fun() -> Recorded() > 10000 end),
    ?LIB:until(Ready),
    Committed = Recorded(),
    ?LIB:kill("KILL", Os),
    gone(Os),
    Committed.

node_is_killed(Config) ->
    [begin
         Log = ?LIB:name(Config, "x.log"),
         {Peer, Os, Spooler} = node(Log, Opts),
         Committed = flood_and_kill(Peer, Os),
         gone(Spooler),
         {Numbers, Lost} = ended(Log, Log, vm),
         whole(Numbers, Lost, Committed)
     end || Opts <- [#{}, #{flush_ms => 0, drain_ms => 1000},
                     #{compress => zstd}]].

%% The node is dead, so it cannot remove the pushed files. The spooler removes them.
node_with_brought_files_is_killed(Config) ->
    [begin
         Dir = filename:join(?LIB:dir(Config), "brought"),
         Log = filename:join([Dir, "room", "x.log"]),
         ok = filelib:ensure_dir(Log),
         [ok = file:write_file(filename:join(Dir, F), "x")
          || F <- ["inviso_tracer.so", "inviso_spool"]],
         {Peer, Os, Spooler} = node(Log, #{brought => {Dir, WithLog}}),
         flood_and_kill(Peer, Os),
         gone(Spooler),
         case WithLog of
             true -> {error, enoent} = file:list_dir(Dir);
             false -> {ok, ["room"]} = file:list_dir(Dir),
                      {_, _} = ended(Log, Log, vm)
         end
     end || WithLog <- [true, false]].

flight_recorder_is_killed(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {Peer, Os, Spooler} = node(Log, #{keep => newest}),
    Committed = flood_and_kill(Peer, Os),
    gone(Spooler),
    {Numbers, Lost} = ended(Log, Log, vm),
    [] = maps:keys(Lost) -- [unfinished, overwritten],
    true = lists:last(Numbers) >= Committed.

node_is_killed_while_it_rotates(Config) ->
    Dir = ?LIB:dir(Config),
    Log = filename:join(Dir, "x.log"),
    {Peer, Os, Spooler} = node(Log, #{rotate => #{bytes => 50000},
                                      drain_ms => 1, packet_bytes => 8192}),
    Committed = flood_and_kill(Peer, Os,
                               fun() -> filelib:is_file(Log ++ ".3") end),
    gone(Spooler),
    {ok, Names} = file:list_dir(Dir),
    Files = [Log ++ "." ++ integer_to_list(I)
             || I <- lists:seq(0, length(Names) - 1)],
    true = length(Files) > 3,
    {Numbers, Lost} = ended(lists:last(Files), Files, vm),
    whole(Numbers, Lost, Committed).

%% The ring is in a file. The spooler is stopped before it is killed, so that
%% many events are still in the ring.
node_and_spooler_are_killed(Config) ->
    Dir = ?LIB:dir(Config),
    Log = filename:join(Dir, "x.log"),
    Ring = filename:join(Dir, "x.ring"),
    {Peer, Os, Spooler} = node(Log, #{ring => {file, Ring}}),
    ?LIB:call(Peer, ?NODE, flood, [1, 20000]),
    timer:sleep(50),
    ?LIB:kill("STOP", Spooler),
    ?LIB:call(Peer, ?NODE, flood, [20001, 50000]),
    ?LIB:kill("KILL", Os),
    ?LIB:kill("KILL", Spooler),
    [gone(P) || P <- [Os, Spooler]],
    ?LIB:node_stop(Peer),
    recover([Ring], Ring, Log, 50000).

recover(Args, Ring, Log, N) ->
    {0, Said} = ?LIB:command("inviso", ["recover" | Args]),
    ct:pal("~ts", [Said]),
    {Numbers, Lost} = ended(Log, Log, recovered),
    0 = map_size(Lost),
    Numbers = lists:seq(1, N),
    %% A second `inviso recover' finds no further events.
    case filelib:is_file(Ring) of
        true -> {0, _} = ?LIB:command("inviso", ["recover" | Args]);
        false -> ok
    end,
    {Numbers, Lost} = ended(Log, Log, recovered).

%% When PID 1 ends, all processes in its pid namespace end, also the spooler.
node_is_killed_as_pid_1(Config) ->
    Dir = ?LIB:dir(Config),
    Log = filename:join(Dir, "x.log"),
    Ring = filename:join(Dir, "x.ring"),
    Unshare = ["--pid", "--fork", "--mount-proc", "--kill-child",
               os:find_executable("erl")],
    Tag = "t" ++ os:getpid() ++ "_" ++
        integer_to_list(erlang:system_time()) ++ "_",
    {Peer, 1, _} =
        node(Log, #{ring => {file, Ring}, drain_ms => 10000, flush_ms => 0},
             %% With a TCP connection the node would be detached, and so a child of PID 1.
             #{connection => standard_io,
               exec => {os:find_executable("unshare"), Unshare},
               args => ?LIB:node_args() ++ ["-inviso_tag", Tag]}),
    ?LIB:call(Peer, ?NODE, flood, [1, 30000]),
    [Os] = [P || P <- processes_with(Tag), is_pid_1(P)],
    ?LIB:kill("KILL", Os),
    gone(Os),
    ?LIB:until(fun() -> processes_with(Tag) =:= [] end),
    ?LIB:node_stop(Peer),
    true = filelib:is_file(Ring),
    %% Outside of its namespace the node's pid has no meaning, so --force is
    %% needed.
    {1, _} = ?LIB:command("inviso", ["recover", Ring]),
    recover(["--force", Ring], Ring, Log, 30000).

processes_with(Tag) ->
    [list_to_integer(filename:basename(P))
     || P <- filelib:wildcard("/proc/[0-9]*"),
        {ok, Line} <- [file:read_file(filename:join(P, "cmdline"))],
        binary:match(Line, list_to_binary(Tag)) =/= nomatch].

is_pid_1(Pid) ->
    case file:read_file("/proc/" ++ integer_to_list(Pid) ++ "/status") of
        {ok, Status} -> re:run(Status, "NSpid:.*\\s1\n") =/= nomatch;
        {error, _} -> false
    end.

node_halts(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {Peer, Os, Spooler} = node(Log, #{flush_ms => 0}),
    ?LIB:call(Peer, ?NODE, flood, [1, 20000]),
    peer:cast(Peer, erlang, halt, []),
    [gone(P) || P <- [Os, Spooler]],
    {Numbers, _} = ended(Log, Log, vm),
    Numbers = lists:seq(1, 20000).

%% The spooler is a port program of the node. A stopped spooler does not read its input, but the
%% node must halt nevertheless.
node_halts_with_a_stopped_spooler(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {Peer, Os, Spooler} = node(Log, #{}),
    ?LIB:kill("STOP", Spooler),
    ?LIB:call(Peer, ?NODE, flood, [1, 20000]),
    peer:cast(Peer, erlang, halt, []),
    gone(Os),
    ?LIB:kill("CONT", Spooler),
    gone(Spooler),
    {Numbers, _} = ended(Log, Log, vm),
    Numbers = lists:seq(1, 20000).

%%---------------------------------------------------------------------------
%% Spoolers that die

worker(Tracer) ->
    Pid = ?LIB:worker(),
    1 = ?LIB:flags(Pid, Tracer, [call]),
    Pid.

%% Runs Fun while the process Pid calls probe(1) to probe(1000 * N), with pauses.
beside(Pid, N, Fun) ->
    Ref = monitor(process, Pid),
    Pid ! {run, fun() ->
                        [begin
                             ?LIB:flood(1000 * I + 1, 1000 * I + 1000),
                             timer:sleep(5)
                         end || I <- lists:seq(0, N - 1)],
                        ok
                end, self(), Ref},
    Fun(),
    receive {Ref, ok} -> demonitor(Ref, [flush]), ok end.

spooler(Tracer) ->
    ?LIB:until(fun() ->
                       #{spooler := #{os_pid := P, state := S}} =
                           inviso_tracer:info(Tracer),
                       P > 0 andalso S =:= running andalso ?LIB:os_alive(P)
                           andalso P
               end).

once_each(Stats, Log, N) ->
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, N),
    Numbers = ?LIB:numbers(Items),
    Numbers = lists:usort(Numbers),
    case Stats of
        #{dropped := 0} -> Numbers = lists:seq(1, N);
        #{lost := Lost} -> [full] = maps:keys(Lost)
    end.

kill_often(Config, Opts, Signal) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, Opts),
    Pid = worker(Tracer),
    beside(Pid, 120, fun() ->
                             [begin
                                  P = spooler(Tracer),
                                  timer:sleep(30 + 7 * I),
                                  ?LIB:kill(Signal, P),
                                  gone(P)
                              end || I <- lists:seq(1, 5)]
                     end),
    Stats = #{spooler := #{starts := Starts}} = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    true = Starts >= 6,
    once_each(Stats, Log, 120000),
    Log.

%% Kills the spooler just before the tracer is closed.
spooler_is_killed_at_the_end(Config) ->
    [begin
         Log = ?LIB:name(Config, "x.log"),
         Tracer = ?LIB:open(Log, #{drain_ms => 1000, flush_ms => 0}),
         Pid = worker(Tracer),
         ok = ?LIB:run(Pid, fun() -> ?LIB:flood(1, 1000) end),
         ?LIB:kill("KILL", spooler(Tracer)),
         [timer:sleep(Ms) || Ms > 0],
         Stats = ?LIB:close(Tracer),
         ?LIB:stop(Pid),
         once_each(Stats, Log, 1000)
     end || Ms <- [0, 0, 0, 1, 1, 2, 5, 20]].

spooler_is_killed(Config) ->
    [kill_often(Config, Opts, "KILL")
     || Opts <- [#{}, #{drain_ms => 1, packet_bytes => 4096},
                 #{compress => zstd, drain_ms => 1}]].

%% A spooler that gets SIGTERM drains the ring, marks the end of its part of the
%% log, and ends. The next spooler continues.
spooler_is_terminated(Config) ->
    Log = kill_often(Config, #{}, "TERM"),
    Ends = [Why || #{type := totals, seq := Why}
                       <- inviso_trace_log:packets(Log)],
    ct:pal("~p", [Ends]),
    [5, 5, 5, 5, 5, 1] = Ends.

spooler_is_stopped_for_a_while(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer),
    Spooler = spooler(Tracer),
    beside(Pid, 150, fun() ->
                             ?LIB:kill("STOP", Spooler),
                             timer:sleep(2000),
                             ?LIB:kill("CONT", Spooler)
                     end),
    Stats = #{spooler := #{starts := 1}} = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    once_each(Stats, Log, 150000).

%% The tracer waits for a stopped spooler only until a deadline. When the
%% spooler continues, it completes the log.
close_with_a_stopped_spooler(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer),
    Spooler = spooler(Tracer),
    ?LIB:kill("STOP", Spooler),
    ok = ?LIB:run(Pid, fun() -> ?LIB:flood(1, 20000) end),
    {Name, Value} = inviso_test_lib:hurry(5),
    true = os:putenv(Name, Value),
    {error, {Reason, Stats}} = inviso_tracer:close(Tracer),
    true = os:unsetenv(Name),
    ct:pal("~p", [Reason]),
    #{produced := 20000} = ?LIB:balanced(Stats),
    {error, closed} = inviso_tracer:info(Tracer),
    ?LIB:kill("CONT", Spooler),
    gone(Spooler),
    {Numbers, _} = ended(Log, Log, closed),
    Numbers = lists:seq(1, 20000),
    ?LIB:stop(Pid).

%% The directory of the library has no program inviso_spool.
spooler_is_not_there(Config) ->
    Dir = ?LIB:dir(Config),
    Peer = ?LIB:node_start(#{}, false),
    {ok, _} = file:copy(?LIB:product("inviso_tracer.so"),
                        filename:join(Dir, "inviso_tracer.so")),
    ok = ?LIB:call(Peer, inviso_tracer, load, [Dir]),
    Log = filename:join(Dir, "x.log"),
    {error, {load, Text}} = ?LIB:call(Peer, inviso_tracer, open, [Log, #{}]),
    true = string:find(Text, "inviso_spool") =/= nomatch,
    false = filelib:is_file(Log),
    ?LIB:node_stop(Peer).

%% Mounts a file system with a size of Kilobytes, and runs Fun with its
%% directory.
on_disk(Config, Kilobytes, Fun) ->
    Dir = ?LIB:dir(Config),
    Size = "size=" ++ integer_to_list(Kilobytes) ++ "k",
    case os:cmd("mount -t tmpfs -o " ++ Size ++ " none " ++ Dir) of
        "" ->
            try Fun(Dir)
            after "" = os:cmd("umount -l " ++ Dir)
            end;
        Said ->
            {skip, "mount: " ++ Said}
    end.

fill(Pid, From, To) ->
    Fat = binary:copy(<<"x">>, 200),
    ok = ?LIB:run(Pid, fun() ->
                               [?LIB:probe(I, Fat)
                                || I <- lists:seq(From, To)],
                               ok
                       end).

stalled(Tracer) ->
    #{spooler := Spooler} =
        ?LIB:until(fun() ->
                           case inviso_tracer:info(Tracer) of
                               #{spooler := #{state := stalled}} = I -> I;
                               _ -> false
                           end
                   end),
    #{error := Text} = Spooler,
    ct:pal("~ts", [Text]),
    true = byte_size(Text) > 5.

disk_fills_and_space_comes_back(Config) ->
    on_disk(Config, 512, fun(Dir) ->
        Log = filename:join(Dir, "x.log"),
        Tracer = ?LIB:open(Log, #{}),
        Pid = worker(Tracer),
        fill(Pid, 1, 10000),
        stalled(Tracer),
        fill(Pid, 10001, 12000),
        "" = os:cmd("mount -o remount,size=64m " ++ Dir),
        ?LIB:until(fun() ->
                           #{spooler := #{state := S}} =
                               inviso_tracer:info(Tracer),
                           S =:= running
                   end),
        fill(Pid, 12001, 13000),
        Stats = #{spooler := Last} = ?LIB:close(Tracer),
        false = is_map_key(error, Last),
        ?LIB:stop(Pid),
        once_each(Stats, Log, 13000)
    end).

disk_stays_full(Config) ->
    on_disk(Config, 512, fun(Dir) ->
        Log = filename:join(Dir, "x.log"),
        Tracer = ?LIB:open(Log, #{}),
        Pid = worker(Tracer),
        fill(Pid, 1, 10000),
        stalled(Tracer),
        Stats = #{lost := Lost, spooler := #{error := _}} =
            ?LIB:close(Tracer),
        ?LIB:stop(Pid),
        true = maps:get(unwritten, Lost) > 0,
        [] = maps:keys(Lost) -- [unwritten, full],
        Items = ?LIB:items_elsewhere(Log, Config),
        ?LIB:accounted(Stats, Items, 10000),
        #{why := closed, produced := 10000} = inviso_trace_log:totals(Log)
    end).

%% All blocks of the ring file are allocated when the file is created, so that
%% later accesses cannot raise SIGBUS.
ring_does_not_fit_the_disk(Config) ->
    on_disk(Config, 512, fun(Dir) ->
        Ring = filename:join(Dir, "x.ring"),
        Log = ?LIB:name(Config, "x.log"),
        {error, {ring, "fallocate", enospc}} =
            inviso_tracer:open(Log, #{ring => {file, Ring}}),
        false = filelib:is_file(Ring),
        false = filelib:is_file(Log)
    end).

log_directory_is_missing(Config) ->
    Log = filename:join([?LIB:dir(Config), "missing", "x.log"]),
    ok = inviso_tracer:load(filename:dirname(?LIB:product("inviso"))),
    {error, {log, enoent, Text}} = inviso_tracer:open(Log, #{}),
    ct:pal("~ts", [Text]),
    {error, {log, _, _}} = inviso_tracer:open("/dev/null/x.log", #{}),
    Dir = ?LIB:dir(Config),
    {error, {log, _, _}} = inviso_tracer:open(Dir, #{}),
    {error, {log, _, _}} = inviso_tracer:open(Dir, #{replace => true}),
    true = filelib:is_dir(Dir).

%%---------------------------------------------------------------------------
%% Users

%% Starts a node as an ordinary user. Returns false if that user cannot read the
%% build.
unprivileged_node() ->
    unprivileged_node([os:find_executable("erl")]).

unprivileged_node(Command) ->
    Setpriv = ["--reuid=65534", "--regid=65534", "--clear-groups"],
    ?LIB:readable_by_all() andalso
        ?LIB:node_start(#{exec => {os:find_executable("setpriv"),
                                   Setpriv ++ Command}}).

log_directory_is_not_writable(Config) ->
    case unprivileged_node() of
        false ->
            {skip, "an ordinary user cannot read the tree"};
        Peer ->
            Dir = ?LIB:dir(Config),
            ok = file:change_mode(Dir, 8#755),
            Log = filename:join(Dir, "x.log"),
            {error, {log, eacces, Text}} =
                ?LIB:call(Peer, inviso_tracer, open, [Log, #{}]),
            ct:pal("~ts", [Text]),
            {ok, []} = file:list_dir(Dir),
            ?LIB:node_stop(Peer)
    end.

%% An ordinary user can trace, and all files belong to this user.
ordinary_user_traces(Config) ->
    case unprivileged_node() of
        false -> {skip, "an ordinary user cannot read the tree"};
        Peer -> ordinary_user(Config, Peer, ?NOBODY)
    end.

%% If a user may execute a program, but not read it, the kernel denies the user
%% access to /proc/<pid>/fd of the program.
node_is_not_dumpable(Config) ->
    Bin = filename:join(?LIB:dir(Config), "bin"),
    ok = file:make_dir(Bin),
    Root = code:root_dir(),
    Erts = filename:join([Root, "erts-" ++ erlang:system_info(version),
                          "bin"]),
    [begin
         {ok, _} = file:copy(filename:join(Erts, F), filename:join(Bin, F)),
         ok = file:change_mode(filename:join(Bin, F), Mode)
     end || {F, Mode} <- [{"beam.smp", 8#711}, {"erlexec", 8#755},
                          {"erl_child_setup", 8#755},
                          {"inet_gethost", 8#755}]],
    Command = [os:find_executable("env"), "ROOTDIR=" ++ Root,
               "BINDIR=" ++ Bin, "EMU=beam", "PROGNAME=erl",
               filename:join(Bin, "erlexec")],
    case unprivileged_node(Command) of
        false -> {skip, "an ordinary user cannot read the tree"};
        Peer -> ordinary_user(Config, Peer, 0)
    end.

%% Traces as an ordinary user. ProcOwner is the expected owner of the files in
%% /proc/<pid>: root if the process is not dumpable.
ordinary_user(Config, Peer, ProcOwner) ->
    Dir = ?LIB:dir(Config),
    ok = file:change_owner(Dir, ?NOBODY, ?NOBODY),
    Log = filename:join(Dir, "x.log"),
    {Os, Spooler} = ?LIB:call(Peer, ?NODE, start, [Log, #{}]),
    {ok, #file_info{uid = ProcOwner}} =
        file:read_file_info("/proc/" ++ integer_to_list(Os) ++ "/mem"),
    {ok, #file_info{uid = ?NOBODY, mode = Mode}} = file:read_file_info(Log),
    8#600 = Mode band 8#777,
    ?LIB:call(Peer, ?NODE, flood, [1, 1000]),
    %% The next spooler also gets the descriptor of the shared memory.
    ?LIB:kill("KILL", Spooler),
    gone(Spooler),
    Next = ?LIB:until(fun() ->
                              P = ?LIB:call(Peer, ?NODE, os_pid, []),
                              P =/= Spooler andalso P > 0 andalso P
                      end),
    ?LIB:call(Peer, ?NODE, flood, [1001, 2000]),
    Stats = ?LIB:call(Peer, ?NODE, close, []),
    gone(Next),
    ?LIB:accounted(Stats, ?LIB:events(Log), 2000),
    ?LIB:node_stop(Peer).
