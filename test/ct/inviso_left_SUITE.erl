%% SPDX-License-Identifier: Apache-2.0
%% Files that a dead node has left on its machine. The next attach of the same
%% user removes library, engine and spooler. Recordings stay, are listed, and
%% can be fetched.
-module(inviso_left_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([node_dies_after_a_detached_recording/1, node_dies_while_attaching/1,
         node_dies_at_any_time/1, the_interface_sweeps_too/1,
         installed_code_sweeps_too/1, each_client_leaves_the_lock/1,
         a_lock_is_given_up_for_another_only/1,
         containers_share_a_directory/1, a_living_node_keeps_its_place/1]).
-export([recording_of_a_dead_node_is_found/1, node_runs_again/1,
         a_node_that_hangs_keeps_what_it_left/1,
         several_recordings_are_left/1, attached_recording_is_copied/1,
         ring_file_is_left/1, only_plain_files_are_recordings/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(SOON_MS, 60000).

all() ->
    [node_dies_after_a_detached_recording, node_dies_while_attaching,
     node_dies_at_any_time, the_interface_sweeps_too,
     installed_code_sweeps_too, each_client_leaves_the_lock,
     a_lock_is_given_up_for_another_only,
     containers_share_a_directory, a_living_node_keeps_its_place,
     recording_of_a_dead_node_is_found, node_runs_again,
     a_node_that_hangs_keeps_what_it_left, several_recordings_are_left,
     attached_recording_is_copied,
     ring_file_is_left, only_plain_files_are_recordings].

suite() -> [{timetrap, {seconds, 900}}].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base}, {uid, ?LIB:some_uid()} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

%% Each case has a directory for the temporary files of all its nodes.
init_per_testcase(Case, Config) ->
    Shared = filename:join(?config(base, Config), Case),
    ok = file:make_dir(Shared),
    ok = file:change_mode(Shared, 8#700),
    ok = file:change_owner(Shared, ?config(uid, Config)),
    [{shared, Shared} | Config].

end_per_testcase(_Case, Config) ->
    _ = [?NODE:stop(N) || {started, N} <- get()],
    Config.

a_node(Config) ->
    a_node(Config, #{}).

a_node(Config, Opts) ->
    Shared = ?config(shared, Config),
    Node = ?NODE:start(?config(base, Config),
                       Opts#{uid => ?config(uid, Config),
                             env => [{"TMPDIR", Shared}]}),
    _ = ?NODE:workload(Node, {worker, 5}),
    Node.

run(Config, #{name := Name} = Node, [Command | Args]) ->
    ?LIB:run(opts(Config, Node), [Command, "-n", Name | Args]).

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid,
      env => [{"TMPDIR", ?config(shared, Config)}]}.

kill(#{os_pid := OsPid}) ->
    ok = ?LIB:signal(OsPid, "KILL"),
    ended(OsPid).

ended(OsPid) ->
    ?LIB:until(fun() -> not inviso_trace_lib:os_alive(OsPid) end, ?SOON_MS).

%% Returns the paths of the library and the spooler in all places of this case. A place is the
%% private directory of a node for inviso's files.
binaries(Config) ->
    in_places(Config, "{inviso_tracer.so,inviso_spool}").

in_places(Config, Pattern) ->
    filelib:wildcard(filename:join([?config(shared, Config), "inviso-*",
                                    Pattern])).

%% Starts another node, which has its own private directory (place), traces it for a moment, and
%% kills it.
another_attaches(Config) ->
    Node = a_node(Config),
    #{status := 0} = run(Config, Node,
                         ["trace", "--events", "3", "lists:seq/2"]),
    kill(Node).

%% Waits until no place has a library or a spooler. The sweep continues after
%% the command has ended.
swept(Config) ->
    [] = ?LIB:until_same(fun() -> binaries(Config) end, ?SOON_MS).

no_sweep_runs(Config) ->
    Running = ["pgrep", "-f", "[-]-sweep=" ++ ?config(shared, Config)],
    ?LIB:until(fun() -> os:cmd(lists:join(" ", Running)) =:= "" end, ?SOON_MS).

%%---------------------------------------------------------------------------

%% A sweep keeps only the finished recording, and the file that says to which VM its place belongs.
node_dies_after_a_detached_recording(Config) ->
    Node = a_node(Config),
    recorded(Config, Node, "box"),
    kill(Node),
    [_, _ | _] = binaries(Config),
    another_attaches(Config),
    swept(Config),
    [Log] = in_places(Config, "room-*/box.log"),
    [_] = in_places(Config, "node"),
    %% If there is no recording, everything is removed.
    ok = file:delete(Log),
    another_attaches(Config),
    [] = ?LIB:until_same(fun() -> in_places(Config, "") end, ?SOON_MS).

recorded(Config, Node, Name) ->
    #{status := 0} = run(Config, Node, ["record", "--detach", "--for", "200ms",
                                        "--name", Name, "lists:seq/2"]),
    ?LIB:until(fun() -> state(Config, Node) =:= [<<"stopped">>] end).

state(Config, Node) ->
    #{status := 0, out := Out} = run(Config, Node, ["status", "--json"]),
    [#{<<"sessions">> := Sessions}] = ?LIB:json(Out),
    [S || #{<<"state">> := S} <- Sessions].

%% For each step of attaching: starts a node, attaches to it up to this step, and kills the node.
%% Then attaches to another node, which sweeps (removes) what is left.
node_dies_while_attaching(Config) ->
    Shared = ?config(shared, Config),
    Dir = ?config(priv_dir, Config),
    {ok, _, _, Products} = inviso_bring:payload(),
    Steps = steps(Products),
    Killed = [killed_at(Step, filename:join(Dir, integer_to_list(I)), Config)
              || {I, Step} <- lists:enumerate(Steps)],
    ct:log("~p", [Killed]),
    true = length([Left || Left <- Killed, length(Left) > 1]) >= 7,
    true = length(binaries(Config)) >= 5,
    Next = stock(filename:join(Dir, "next"), Shared),
    {ok, #{guard := Guard, dir := Own}} = inviso_remote_lib:attach(Next),
    Others = fun() -> [B || B <- binaries(Config),
                            not lists:prefix(unicode:characters_to_list(Own),
                                             B)] end,
    [] = ?LIB:until_same(Others, ?SOON_MS),
    [_, _ | _] = binaries(Config),
    gone = inviso_remote_lib:leave(Guard),
    swept(Config),
    %% Of the private directories (places), only the one with the recording remains.
    [_] = ?LIB:until(fun() -> case in_places(Config, "") of
                                  [_] = One -> One;
                                  _ -> false
                              end
                     end, ?SOON_MS),
    [_] = in_places(Config, "room-*/*.log"),
    inviso_test_lib:stop_node(Next).

%% Returns a list of functions. Each function continues an attach up to a different step.
steps(Products) ->
    Put = fun(N) ->
                  fun(_Node, Guard, Files) ->
                          [ok = inviso_remote_lib:ask(
                                  Guard, {put, F, product(F, Products)})
                           || F <- lists:sublist(Files, N)]
                  end
          end,
    Ready = fun(Node, Guard, Files) ->
                    _ = (Put(length(Files)))(Node, Guard, Files),
                    ok = inviso_remote_lib:ask(Guard, ready)
            end,
    Session = fun(Mode) ->
                      fun(Node, Guard, Files) ->
                              ok = Ready(Node, Guard, Files),
                              {ok, S, _} = inviso_remote_lib:start(
                                             Node, Guard, #{mode => Mode}),
                              S
                      end
              end,
    Armed = fun(Node, Guard, Files) ->
                    S = (Session(live))(Node, Guard, Files),
                    inviso_remote_lib:wait_state(S, [tracing])
            end,
    %% The last four steps end before the node is ready. They come last because a node that becomes
    %% ready removes the private directories of dead nodes, and the test still needs the directories
    %% of these steps.
    [Ready, Session(live), Armed, Session(record),
     fun(_, _, _) -> made end, Put(1), Put(2), Put(3)].

product(File, Products) ->
    [Bytes] = [B || {Name, B} <- Products, list_to_binary(Name) =:= File],
    Bytes.

%% Attaches to a new node, runs Step, and kills the node and its spooler at the same time, as the
%% end of a container would. Returns the files that are left in the node's place.
killed_at(Step, Dir, Config) ->
    #{os_pid := OsPid, name := Name} = Node =
        stock(Dir, ?config(shared, Config)),
    {ok, #{guard := Guard, dir := Place, files := Files}} =
        inviso_remote_lib:ask_attach(Node, #{}),
    {ok, Record} = file:read_file(filename:join(Place, "node")),
    match = re:run(Record, "\\Ainviso-place 1\nnode " ++ atom_to_list(Name) ++
                       "\npid " ++ OsPid ++ "\nstart [1-9]\\d*\n"
                       "boot [-0-9a-f]{36}\npidns [1-9]\\d*\n"
                       "time [1-9]\\d*\n\\z", [{capture, none}]),
    _ = Step(Node, Guard, Files),
    no_sweep_runs(Config),
    Spoolers = os:cmd("pgrep -f " ++ unicode:characters_to_list(Place)
                      ++ "/inviso_spool"),
    Pids = [OsPid | string:lexemes(Spoolers, "\n")],
    %% All processes are stopped first, so that none cleans up while the others
    %% are killed.
    _ = os:cmd(["kill -STOP ", lists:join(" ", tl(Pids))]),
    _ = os:cmd(["kill -9 ", lists:join(" ", Pids)]),
    _ = [ended(list_to_integer(P)) || P <- Pids],
    inviso_test_lib:forget_node(Node),
    {ok, Left} = file:list_dir(Place),
    Left.

stock(Dir, Shared) ->
    Node = inviso_test_lib:start_stock_node(left, Dir),
    in_shared(Node, Shared),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    Node.

%% Kills a node at a random moment within a second after its private directory (place) appears.
node_dies_at_any_time(Config) ->
    Rounds = inviso_test_lib:soak(2, 20),
    _ = [killed_some_time(Config, I) || I <- lists:seq(1, Rounds)],
    ct:log("left by ~b: ~p", [Rounds, binaries(Config)]),
    another_attaches(Config),
    swept(Config).

killed_some_time(Config, I) ->
    #{name := Name} = Node = a_node(Config),
    Before = in_places(Config, ""),
    Args = case I rem 2 of
               0 -> ["trace"];
               1 -> ["record", "--detach"]
           end,
    Cmd = ?LIB:start(opts(Config, Node),
                     Args ++ ["-n", Name, "--for", "60s", "lists:seq/2"],
                     120000),
    ?LIB:until(fun() -> in_places(Config, "") =/= Before end),
    timer:sleep(rand:uniform(900)),
    kill(Node),
    ?NODE:stop(Node),
    #{} = ?LIB:wait(Cmd, ?SOON_MS).

the_interface_sweeps_too(Config) ->
    Node = a_node(Config),
    recorded(Config, Node, "box"),
    kill(Node),
    [_, _ | _] = binaries(Config),
    %% The next node runs as the user of the test. A sweep (the removal of dead nodes' files) does
    %% not touch files of other users, so the dead node's directory gets this user as owner.
    [Place] = in_places(Config, ""),
    "" = os:cmd("chown -R $(id -u) " ++ Place),
    Next = stock(filename:join(?config(priv_dir, Config), "bring"),
                 ?config(shared, Config)),
    {ok, Guard} = inviso_bring:bring(maps:get(name, Next), self(), []),
    gone = inviso_push:leave(Guard, self()),
    swept(Config),
    [_] = in_places(Config, "room-*/box.log"),
    inviso_test_lib:stop_node(Next).

%% A node on which inviso is installed also sweeps: it removes the files of dead nodes. Its own
%% directory has no library and no spooler.
installed_code_sweeps_too(Config) ->
    Dir = ?config(priv_dir, Config),
    First = inviso_test_lib:start_node(first, filename:join(Dir, "first")),
    _ = installed_ready(Config, First, #{}),
    [_] = in_places(Config, ""),
    #{os_pid := OsPid} = First,
    _ = os:cmd("kill -9 " ++ OsPid),
    ended(list_to_integer(OsPid)),
    inviso_test_lib:forget_node(First),
    Next = inviso_test_lib:start_node(next, filename:join(Dir, "second")),
    Guard = installed_ready(Config, Next, #{}),
    ?LIB:until(fun() -> length(in_places(Config, "")) =:= 1 end, ?SOON_MS),
    gone = inviso_remote_lib:leave(Guard),
    [] = ?LIB:until_same(fun() -> in_places(Config, "") end, ?SOON_MS),
    inviso_test_lib:stop_node(Next).

%% inviso is installed on the node. While the node has clients, it holds a lock on the file `node'
%% of its private directory (place). So a node in another container must not remove the directory.
each_client_leaves_the_lock(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "locked"),
    Node = inviso_test_lib:start_node(locked, Dir),
    Clients = [spawn_link(fun() -> receive stop -> ok end end)
               || _ <- [1, 2, 3]],
    [Guard] = lists:usort([begin
                               G = installed_ready(Config, Node,
                                                   #{client => C}),
                               [Record] = in_places(Config, "node"),
                               held = lock_of(Record),
                               swept_from_a_container(Config),
                               [Record] = in_places(Config, "node"),
                               G
                           end || C <- Clients]),
    [Notes] = in_places(Config, "node"),
    {ok, Text} = file:read_file(Notes),
    [_] = [L || L <- string:lexemes(Text, "\n"),
                lists:member(L, [<<"locked">>, <<"nolock">>])],
    _ = [inviso_remote_lib:ask(Guard, {leave, C}) || C <- Clients],
    [] = ?LIB:until_same(fun() -> in_places(Config, "") end, ?SOON_MS),
    inviso_test_lib:stop_node(Node).

a_lock_is_given_up_for_another_only(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "holder"),
    Node = inviso_test_lib:start_node(holder, Dir),
    ok = inviso_test_lib:call(Node, inviso_tracer, load, []),
    Hold = fun(Path) ->
                   inviso_test_lib:call(Node, inviso_tracer, nif_hold,
                                        [unicode:characters_to_binary(Path)])
           end,
    [A, B, Taken] = Files = [filename:join(Dir, F) || F <- ["a", "b", "c"]],
    _ = [ok = file:write_file(F, "") || F <- Files],
    Other = open_port({spawn_executable, os:find_executable("flock")},
                      [{args, [Taken, "cat"]}]),
    ?LIB:until(fun() -> lock_of(Taken) =:= held end),
    States = fun() -> [lock_of(F) || F <- [A, B]] end,
    Says = fun(F) -> element(2, file:read_file(F)) end,
    [free, free] = States(),
    true = Hold(A),
    true = Hold(A),
    [held, free] = States(),
    <<"locked\n">> = Says(A),
    false = Hold(Taken),
    <<"nolock\n">> = Says(Taken),
    false = Hold(filename:join(Dir, "absent")),
    [held, free] = States(),
    true = Hold(B),
    [free, held] = States(),
    true = Hold(""),
    [free, free] = States(),
    true = port_close(Other),
    inviso_test_lib:stop_node(Node).

installed_ready(Config, Node, Args) ->
    in_shared(Node, ?config(shared, Config)),
    {module, _} = inviso_test_lib:call(Node, code, ensure_loaded,
                                       [inviso_tracer]),
    {ok, #{guard := Guard, files := []}} =
        inviso_remote_lib:ask_attach(Node, Args),
    ok = inviso_remote_lib:ask(Guard, ready),
    Guard.

%% The user of the test becomes the owner of the directory, because a node refuses directories of
%% other users.
in_shared(Node, Shared) ->
    "" = os:cmd("chown $(id -u) " ++ Shared),
    true = inviso_test_lib:call(Node, os, putenv, ["TMPDIR", Shared]),
    ok.

lock_of(Record) ->
    case os:cmd("flock -n " ++ Record ++ " echo free || echo held") of
        "free\n" -> free;
        "held\n" -> held
    end.

%% Sweeps from another pid namespace. If the test does not run as root, does
%% nothing.
swept_from_a_container(Config) ->
    Sweep = ["unshare --pid --fork --mount-proc ",
             filename:join(os:getenv("INVISO_PRIV"), "inviso_spool"),
             " --sweep=", ?config(shared, Config), " </dev/null"],
    case ?LIB:is_root() andalso ?LIB:has("unshare") of
        true -> "ready\n" = os:cmd(Sweep);
        false -> ok
    end.

%% A node in a container and a node outside cannot see whether the other is alive, because each
%% container numbers its processes separately. Still, no node may remove the private directory
%% (place) of another live node.
containers_share_a_directory(Config) ->
    case ?LIB:is_root() andalso ?LIB:has("unshare") of
        true -> shared(Config);
        false -> {skip, "NO CONTAINER WAS TRIED: only root can make one"}
    end.

shared(Config) ->
    Unshare = [os:find_executable("unshare"), "--pid", "--fork",
               "--mount-proc", "--kill-child"],
    [Contained, Plain] = [a_node(Config, Opts)
                          || Opts <- [#{wrap => Unshare}, #{}]],
    recorded(Config, Contained, "in"),
    recorded(Config, Plain, "out"),
    Before = binaries(Config),
    true = length(Before) >= 4,
    %% When the command attaches, each node looks for the files of dead nodes, and must find that
    %% the other nodes are alive.
    Other = a_node(Config, #{wrap => Unshare}),
    #{status := 0} = run(Config, Other,
                         ["trace", "--events", "3", "lists:seq/2"]),
    #{status := 0} = run(Config, Plain,
                         ["trace", "--events", "3", "lists:seq/2"]),
    another_attaches(Config),
    no_sweep_runs(Config),
    Before = binaries(Config),
    [kill(N) || N <- [Contained, Plain]],
    %% The node Other runs in a third container. It removes the private directories (places) of the
    %% two killed nodes.
    #{status := 0} = run(Config, Other,
                         ["trace", "--events", "3", "lists:seq/2"]),
    swept(Config),
    [_, _] = in_places(Config, "room-*/*.log").

a_living_node_keeps_its_place(Config) ->
    Node = a_node(Config),
    recorded(Config, Node, "box"),
    Before = binaries(Config),
    [_, _ | _] = Before,
    another_attaches(Config),
    another_attaches(Config),
    no_sweep_runs(Config),
    Before = binaries(Config),
    #{status := 0} = run(Config, Node, ["fetch", "-o", "o", "box"]),
    [] = ?LIB:until_same(fun() -> in_places(Config, "") end, ?SOON_MS).

%% Starts a node with a fixed name, so that a second start has the same name.
named(Config, Name, Cookie) ->
    a_node(Config, #{name => none, args => ["-sname", Name],
                     cookie => Cookie}).

recording(Config, Node, Name) ->
    #{status := 0} = run(Config, Node, ["record", "--keep", "newest",
                                        "--detach", "--for", "10m", "--name",
                                        Name, "lists:seq/2"]),
    ok.

says(Text, Words) ->
    [] = [W || W <- Words, re:run(Text, W) =:= nomatch],
    ok.

%% The node of a flight recorder is killed. The recording is listed, and can be
%% fetched.
recording_of_a_dead_node_is_found(Config) ->
    #{name := Name, os_pid := OsPid} = Node = a_node(Config),
    Opts = opts(Config, Node),
    #{status := 0, out := None} = ?LIB:run(Opts, ["status"]),
    says(None, ["no dead node left a recording"]),
    recording(Config, Node, "box"),
    #{status := 0, out := Alive} = ?LIB:run(Opts, ["status"]),
    says(Alive, ["no dead node left a recording"]),
    kill(Node),
    Log = ?LIB:until(fun() -> case in_places(Config, "room-*/box.log") of
                                  [L] -> L;
                                  [] -> false
                              end
                     end),
    Listed = ["box", Name, "os pid " ++ integer_to_list(OsPid),
              "20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d", Log,
              "inviso fetch -n " ++ Name ++ " box"],
    #{status := 0, out := All} = ?LIB:run(Opts, ["status"]),
    says(All, Listed),
    #{status := 3, out := One} = run(Config, Node, ["status"]),
    says(One, Listed),
    #{status := 3, out := Json} = run(Config, Node, ["status", "--json"]),
    [#{<<"node">> := N, <<"running">> := false, <<"sessions">> := [],
       <<"left">> := [#{<<"name">> := <<"box">>, <<"os_pid">> := OsPid,
                        <<"bytes">> := _, <<"written">> := _,
                        <<"log">> := JsonLog}]}] = ?LIB:json(Json),
    {Name, Log} = {binary_to_list(N), binary_to_list(JsonLog)},
    %% Without TMPDIR in the environment, --remote-dir must name the directory.
    #{status := 0, out := Elsewhere} =
        ?LIB:run(Opts#{env => []}, ["status", "--remote-dir",
                                    ?config(shared, Config)]),
    says(Elsewhere, Listed),
    #{status := 3} = run(Config, Node, ["fetch", "nobox"]),
    Out = filename:join(maps:get(home, Node), "o"),
    #{status := 0, out := Said, err := <<>>} =
        run(Config, Node, ["fetch", "--keep", "-o", Out, "box"]),
    says(Said, [Name ++ " is not running; this recording was left on this "
                "machine by the node of os pid " ++ integer_to_list(OsPid) ++
                ", which died after 20", "inviso merge"]),
    {ok, Bytes} = file:read_file(Log),
    Copy = filename:join(Out, Name ++ "-box.log"),
    {ok, Bytes} = file:read_file(Copy),
    #{status := 0, out := Merged} = ?LIB:run(Opts, ["merge", Copy]),
    says(Merged, ["lists:seq"]),
    %% The first fetch has already made the local copy.
    #{status := 0, out := FetchJson} =
        run(Config, Node, ["fetch", "--json", "-o", Out, "box"]),
    [#{<<"files">> := [_], <<"left">> := #{<<"name">> := <<"box">>}}] =
        ?LIB:json(FetchJson),
    [] = in_places(Config, ""),
    #{status := 3} = run(Config, Node, ["fetch", "-o", Out, "box"]).

node_runs_again(Config) ->
    Name = "again" ++ os:getpid(),
    First = named(Config, Name, "again"),
    recording(Config, First, "box"),
    kill(First),
    Second = named(Config, Name, "again"),
    #{status := 0, out := Out} = run(Config, Second, ["status"]),
    says(Out, ["no sessions", "box .*left by " ++ Name]),
    #{status := 0, out := Json} = run(Config, Second, ["status", "--json"]),
    [#{<<"running">> := true, <<"left">> := [#{}]}] = ?LIB:json(Json),
    %% The recording of the running node is fetched. The recording of the
    %% earlier run is only reported.
    recorded(Config, Second, "box"),
    #{status := 0, err := Err} = run(Config, Second, ["fetch", "box"]),
    says(Err, ["earlier run"]),
    [_] = in_places(Config, "room-*/box.log"),
    #{status := 0, out := Left, err := <<>>} =
        run(Config, Second, ["fetch", "box"]),
    says(Left, [": this recording was left on this machine"]),
    [] = in_places(Config, "room-*/box.log").

%% A first run of the node has left a recording. Then the node runs again, makes a recording of the
%% same name, and is suspended.
a_node_that_hangs_keeps_what_it_left(Config) ->
    Name = "hangs" ++ os:getpid(),
    First = named(Config, Name, "hangs"),
    recording(Config, First, "box"),
    kill(First),
    %% The spooler removes its own file and the library when the log is
    %% complete. So wait until they are gone.
    swept(Config),
    [Place] = in_places(Config, ""),
    [Old] = in_places(Config, "room-*/box.log"),
    #{os_pid := OsPid} = Second = named(Config, Name, "hangs"),
    recorded(Config, Second, "box"),
    [_, _] = in_places(Config, "room-*/box.log"),
    Fetch = ["fetch", "-n", maps:get(name, Second), "-o",
             filename:join(maps:get(home, Second), "o"), "box"],
    #{env := Env} = Opts = opts(Config, Second),
    Spared = ["may still run and have a recording called box", "--place " ++ Place],
    ok = ?LIB:signal(OsPid, "STOP"),
    try
        #{status := 3, out := <<>>, err := Hangs} =
            ?LIB:run(Opts, Fetch ++ ["--timeout", "2s"]),
        says(Hangs, ["does not answer in time" | Spared]),
        true = filelib:is_file(Old),
        #{status := 3, out := Json} =
            run(Config, Second, ["status", "--json", "--timeout", "2s"]),
        [#{<<"running">> := null, <<"left">> := [#{}]}] = ?LIB:json(Json)
    after
        ok = ?LIB:signal(OsPid, "CONT")
    end,
    %% If epmd does not answer, or the node refuses the cookie, the node may be running. So the
    %% recording of the earlier run is not fetched.
    #{status := 3, out := <<>>, err := NoEpmd} =
        ?LIB:run(Opts#{env := [{"ERL_EPMD_PORT", "1"} | Env]}, Fetch),
    says(NoEpmd, ["no epmd" | Spared]),
    #{status := 4, out := <<>>, err := Refused} =
        ?LIB:run(Opts#{cookie := "another"}, Fetch),
    says(Refused, Spared),
    true = filelib:is_file(Old),
    #{status := 0} = ?LIB:run(Opts, Fetch ++ ["--place", Place]),
    false = filelib:is_file(Old),
    [_] = in_places(Config, "room-*/box.log").

several_recordings_are_left(Config) ->
    Name = "several" ++ os:getpid(),
    [Node | _] = [begin
                      N = named(Config, Name, "several"),
                      recording(Config, N, "box"),
                      kill(N),
                      N
                  end || _ <- [1, 2]],
    Places = in_places(Config, ""),
    [_, Second] = Places,
    #{status := 1, err := Err} = run(Config, Node, ["fetch", "box"]),
    says(Err, ["2 recordings" | Places]),
    #{status := 3, out := Out} = run(Config, Node, ["status"]),
    says(Out, ["--place " ++ P ++ " box" || P <- Places]),
    #{status := 0} = run(Config, Node, ["fetch", "--place", Second, "box"]),
    #{status := 5} = run(Config, Node, ["fetch", "--place", Second, "box"]),
    #{status := 0} = run(Config, Node, ["fetch", "box"]),
    [] = in_places(Config, "").

attached_recording_is_copied(Config) ->
    #{name := Name} = Node = a_node(Config),
    Opts = (opts(Config, Node))#{env => []},
    Cmd = ?LIB:start(Opts, ["record", "-n", Name, "--for", "100s", "-o", "o",
                            "--name", "box", "lists:seq/2"], 120000),
    ?LIB:until_tracing(Opts, Name, Cmd),
    kill(Node),
    #{status := 3, err := Err, out := Out} = ?LIB:wait(Cmd, ?SOON_MS),
    Copy = filename:join([maps:get(cwd, Cmd), "o", Name ++ "-box.log"]),
    says(Err, ["died on this machine; its log is in o/" ++ Name]),
    nomatch = binary:match(Out, list_to_binary(?config(shared, Config))),
    #{status := 0, out := Merged} = ?LIB:run(Opts, ["merge", Copy]),
    says(Merged, ["lists:seq"]),
    [] = in_places(Config, "").

%% The node has died, and its place contains a ring file. This file may contain events that are not
%% in the log yet, so the command names `inviso recover'.
ring_file_is_left(Config) ->
    Node = a_node(Config),
    recording(Config, Node, "box"),
    kill(Node),
    %% The spooler removes its own file and the library when the log is
    %% complete. So wait until they are gone.
    swept(Config),
    [Place] = in_places(Config, "room-*"),
    Ring = filename:join(Place, "box.ring"),
    ok = file:write_file(Ring, "x"),
    ok = file:change_owner(Ring, ?config(uid, Config)),
    #{status := 3, out := Out} = run(Config, Node, ["status"]),
    says(Out, ["inviso recover " ++ Ring]),
    #{status := 0, out := Said} = run(Config, Node, ["fetch", "box"]),
    says(Said, ["inviso recover " ++ Ring]),
    true = filelib:is_file(filename:join(Place, "box.log")).

%% A symbolic link is not followed, even if it belongs to the same user.
only_plain_files_are_recordings(Config) ->
    Node = a_node(Config),
    recording(Config, Node, "box"),
    kill(Node),
    %% The spooler removes its own file and the library when the log is
    %% complete. So wait until they are gone.
    swept(Config),
    [Log] = in_places(Config, "room-*/box.log"),
    ok = file:rename(Log, filename:join(?config(shared, Config), "real")),
    ok = file:make_symlink("/etc/passwd", Log),
    #{status := 3, out := <<>>} = run(Config, Node, ["status"]),
    ok = file:delete(Log),
    ok = file:make_link(filename:join(?config(shared, Config), "real"), Log),
    #{status := 3, out := <<>>} = run(Config, Node, ["status"]),
    #{status := 3} = run(Config, Node, ["fetch", "box"]).
