%% SPDX-License-Identifier: Apache-2.0
%% The command leaves nodes as they were, however it ends: by itself, by a
%% signal, by a cut connection, or while the node is stopped.
%% The first cases make by hand whatever inviso could leave on a node (residues),
%% and check that inviso_footprint finds it.
-module(inviso_cleanup_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([every_residue_is_seen/1, looking_leaves_nothing/1]).
-export([ends_by_itself/1, ends_by_itself_every_kind/1,
         as_root_to_an_ordinary_user/1, refused/1, nothing_matches/1,
         status_is_asked/1,
         interrupted_while_tracing/1, interrupted_while_arming/1,
         interrupted_twice/1, terminated/1, output_is_not_read/1,
         killed_while_tracing/1, killed_while_arming/1, killed_at_any_time/1,
         stopped_for_too_long/1, network_is_cut/1, node_is_stopped/1,
         node_dies_without_files/1, record_ends/1,
         record_is_interrupted/1, record_is_killed/1, two_leave/1,
         guard_is_killed_meanwhile/1,
         node_disconnects/1, spooler_is_killed/1,
         interrupted_while_connecting/1, output_is_full/1,
         output_is_no_directory/1, disk_of_the_node_fills/1,
         embedded_node/1, directory_of_the_node_is_gone/1,
         many_processes/1, modules_are_loaded_anew/1, one_of_two_dies/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

%% How long the tests wait until the node is clean: DEAD_MAN_MS if the client does not end properly,
%% because the node may then clean up only when it has not heard from the client for 10 s; SOON_MS
%% otherwise. Both times are much longer than needed, because machines may be slow.
-define(DEAD_MAN_MS, 120000).
-define(SOON_MS, 90000).

all() ->
    [every_residue_is_seen, looking_leaves_nothing,
     ends_by_itself, ends_by_itself_every_kind, as_root_to_an_ordinary_user,
     refused, nothing_matches, status_is_asked,
     interrupted_while_tracing, interrupted_while_arming, interrupted_twice,
     terminated, output_is_not_read,
     killed_while_tracing, killed_while_arming, killed_at_any_time,
     stopped_for_too_long, network_is_cut, node_is_stopped,
     node_dies_without_files,
     record_ends, record_is_interrupted, record_is_killed, two_leave,
     guard_is_killed_meanwhile,
     node_disconnects, spooler_is_killed, interrupted_while_connecting,
     output_is_full, output_is_no_directory, disk_of_the_node_fills,
     embedded_node, directory_of_the_node_is_gone, many_processes,
     modules_are_loaded_anew, one_of_two_dies].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

a_node(Config) ->
    a_node(Config, #{}).

a_node(Config, Opts) ->
    ?NODE:start(?config(base, Config), Opts#{uid => ?LIB:some_uid()}).

%% Returns options with which a session ends after five seconds without a request from its client.
%% By default it ends after ten seconds (the dead man's time).
in_a_hurry() ->
    #{env => [inviso_test_lib:hurry(2)]}.

command(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

%% Starts a node with processes that work. Returns the node and its footprint.
busy(Config) ->
    busy(Config, #{}).

busy(Config, Opts) ->
    Node = a_node(Config, Opts),
    _ = ?NODE:workload(Node, {worker, 5}),
    {Node, inviso_footprint:of_node(Node)}.

clean(Before, Node, Ms) ->
    case inviso_footprint:left(Before, Node, Ms) of
        [] ->
            ct:log("loaded of the release: ~p",
                   [inviso_footprint:loaded(Before, Node)]);
        Left ->
            error({left_behind, Left, ?NODE:said(Node)})
    end.

%% Returns {Do, Key, Undo} for each residue: Do makes the residue, Key is the
%% part of the footprint that shows the residue, and Undo removes it.
residues(#{tmp := Tmp}) ->
    [{"erlang:trace(whereis(rex), true,"
      "             [call, {tracer, whereis(logger)}]).", traced,
      "erlang:trace(whereis(rex), false, [all])."},
     {"erlang:trace(new_processes, true, [call, {tracer, whereis(logger)}]).",
      traced, "erlang:trace(new_processes, false, [all])."},
     {"erlang:trace_pattern({lists, seq, 2}, true, [local]).", patterns,
      "erlang:trace_pattern({lists, seq, 2}, false, [local])."},
     {"erlang:trace_pattern({lists, reverse, 2}, true, [global]).", patterns,
      "erlang:trace_pattern({lists, reverse, 2}, false, [global])."},
     {"erlang:trace_pattern({lists, seq, 2}, true,"
      "                     [{meta, whereis(logger)}]).",
      patterns, "erlang:trace_pattern({lists, seq, 2}, false, [meta])."},
     {"erlang:trace_pattern({lists, seq, 2}, true, [call_count]).", patterns,
      "erlang:trace_pattern({lists, seq, 2}, false, [call_count])."},
     {"erlang:trace_pattern({lists, seq, 2}, true, [call_time]).", patterns,
      "erlang:trace_pattern({lists, seq, 2}, false, [call_time])."},
     {"erlang:trace_pattern(send, [{['_', a], [], []}], []).", messages,
      "erlang:trace_pattern(send, true, [])."},
     {"erlang:trace_pattern('receive', [{['_', '_', a], [], []}], []).",
      messages, "erlang:trace_pattern('receive', true, [])."},
     {"register(x, spawn(fun() -> receive stop -> ok end end)).", processes,
      "x ! stop."},
     {"P = open_port({spawn, \"cat\"}, []), register(x, P),"
      " port_connect(P, whereis(init)), unlink(P).", os_processes,
      "exit(whereis(x), kill)."},
     {"ets:new(x, [named_table, public, {heir, whereis(init), x}]),"
      " ets:give_away(x, whereis(init), x).", ets, none},
     {"persistent_term:put(x, 1).", persistent_terms,
      "persistent_term:erase(x)."},
     {"application:set_env(kernel, x, 1).", kernel_env,
      "application:unset_env(kernel, x)."},
     {"os:putenv(\"X\", \"1\").", env, "os:unsetenv(\"X\")."},
     {"logger:set_primary_config(level, debug).", logger,
      "logger:set_primary_config(level, notice)."},
     {"code:add_path(\"/\").", code_path, "code:del_path(\"/\")."},
     {"seq_trace:set_system_tracer(whereis(init)).", system_tracer,
      "seq_trace:set_system_tracer(false)."},
     {"io:put_chars(standard_error, \"x\").", said, none},
     {"file:write_file(\"x\", \"\").", files, "file:delete(\"x\")."},
     {"file:make_dir(\"" ++ Tmp ++ "/x\").", files,
      "file:del_dir(\"" ++ Tmp ++ "/x\")."}].

every_residue_is_seen(Config) ->
    Node = a_node(Config),
    _ = lists:foldl(fun(R, Before) -> residue(Node, R, Before) end,
                    inviso_footprint:of_node(Node), residues(Node)),
    code_residue(Node),
    file_residue(Node),
    connection_residue(Node),
    session_residue(Node),
    library_residue(Node).

%% Makes the residue (a thing that inviso could leave on the node), checks that the node's footprint
%% shows it, and removes it.
residue(Node, {Do, Key, Undo}, Before) ->
    _ = ?NODE:eval(Node, Do),
    found(Before, Node, Key),
    ct:log("~s: ~p", [Do, Key]),
    case Undo of
        none ->
            inviso_footprint:of_node(Node);
        _ ->
            _ = ?NODE:eval(Node, Undo),
            [] = inviso_footprint:left(Before, Node, ?SOON_MS),
            Before
    end.

found(Before, Node, Key) ->
    Seen = fun() ->
                   Now = inviso_footprint:of_node(Node),
                   Left = inviso_footprint:differences(Before, Now),
                   [Key || not lists:keymember(Key, 1, Left)]
           end,
    [] = ?LIB:until_same(Seen, ?SOON_MS).

code_residue(Node) ->
    {ok, inviso_x, Beam} =
        compile:forms([{attribute, 1, module, inviso_x}], []),
    Before = inviso_footprint:of_node(Node),
    Load = [inviso_x, "inviso_pushed", Beam],
    {module, _} = ?NODE:call(Node, code, load_binary, Load),
    found(Before, Node, modules),
    true = ?NODE:call(Node, code, delete, [inviso_x]),
    found(Before, Node, old_code),
    _ = ?NODE:call(Node, code, purge, [inviso_x]),
    [] = inviso_footprint:left(Before, Node, ?SOON_MS).

%% Checks that the node's footprint (what is on the node and its machine) shows a file in a
%% directory that all users share.
file_residue(#{uid := Uid} = Node) when Uid >= 300000 ->
    Before = inviso_footprint:of_node(Node),
    Dir = "/var/tmp/inviso-" ++ integer_to_list(Uid),
    ok = ?NODE:call(Node, file, make_dir, [Dir]),
    found(Before, Node, files),
    ok = ?NODE:call(Node, file, del_dir, [Dir]),
    [] = inviso_footprint:left(Before, Node, ?SOON_MS);
file_residue(_) ->
    ok.

connection_residue(#{name := Name, cookie := Cookie} = Node) ->
    Before = inviso_footprint:of_node(Node),
    Atom = list_to_atom(Name),
    true = erlang:set_cookie(Atom, list_to_atom(Cookie)),
    true = net_kernel:hidden_connect_node(Atom),
    found(Before, Node, hidden_nodes),
    true = erlang:disconnect_node(Atom),
    [] = inviso_footprint:left(Before, Node, ?SOON_MS).

session_residue(Node) ->
    Before = inviso_footprint:of_node(Node),
    case maps:get(sessions, Before) of
        none ->
            ok;
        _ ->
            _ = ?NODE:run(Node, "register(x, self()), S = trace:session_create("
                          "x, self(), []), receive stop -> "
                          "trace:session_destroy(S) end."),
            found(Before, Node, sessions),
            _ = ?NODE:eval(Node, "x ! stop."),
            [] = inviso_footprint:left(Before, Node, ?SOON_MS)
    end.

%% Checks that the node's footprint (what is on the node) shows a library that stays mapped in the
%% VM.
library_residue(Node) ->
    Before = inviso_footprint:of_node(Node),
    _ = ?NODE:call(Node, code, ensure_loaded, [crypto]),
    found(Before, Node, mapped).

looking_leaves_nothing(Config) ->
    {Node, Before} = busy(Config),
    [[] = inviso_footprint:left(Before, Node, ?SOON_MS) || _ <- [1, 2, 3]],
    [] = inviso_footprint:loaded(Before, Node),
    ok.

ends_by_itself(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    #{status := 0, out := Out} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    true = length(?LIB:lines(Out)) >= 10,
    clean(Before, Node, ?SOON_MS),
    <<>> = ?NODE:said(Node),
    %% A second trace leaves nothing either. Its status is 5 if no event
    %% occurred in the short time.
    #{status := Again} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--for", "3s", "lists:seq/2"]),
    true = lists:member(Again, [0, 5]),
    clean(Before, Node, ?SOON_MS).

%% Traces all kinds of events of all processes, and counts calls.
ends_by_itself_every_kind(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    [begin
         #{status := Status, err := Err} =
             ?LIB:run(command(Config, Node),
                      ["trace", "-n", Name, "--for", "700ms" | Args]),
         %% On a slow machine the 700 ms may end before all patterns and flags are set.
         true = lists:member(Status, [0, 5, 7])
             orelse binary:match(Err, <<"before everything was armed">>) =/= nomatch,
         clean(Before, Node, ?SOON_MS)
     end || Args <- [["send"], ["receive"], ["send", "receive"], ["procs"],
                     ["ports"], ["running"], ["gc"],
                     ["send(_, {a, _})", "receive({b, _})"],
                     ["lists:seq/2 -> count"], ["lists:seq/2 -> time"],
                     ["lists:seq/2 -> return;caller", "procs"],
                     ["--procs", "worker", "--spawned", "lists"],
                     ["--procs", "worker", "--linked", "lists"],
                     ["--procs", "new", "lists:seq/2"],
                     ["--dry-run", "lists:seq/2"]]].

as_root_to_an_ordinary_user(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    #{status := 0} =
        ?LIB:run(maps:remove(uid, command(Config, Node)),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    clean(Before, Node, ?SOON_MS).

%% If another tool traces, the command changes neither the other tool's tracing
%% nor anything else on the node.
refused(Config) ->
    {#{name := Name} = Node, _} = busy(Config),
    1 = ?NODE:eval(Node, "erlang:trace(whereis(worker), true,"
                   " [call, {tracer, whereis(logger)}])."),
    1 = ?NODE:eval(Node, "erlang:trace_pattern({lists, seq, 2}, [{'_',[{'=:=',"
                   "1,2}],[]}], [local])."),
    Before = inviso_footprint:of_node(Node),
    true = is_map_key(patterns, Before),
    [_] = maps:get(patterns, Before),
    #{status := Status} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    case maps:get(sessions, Before) of
        none -> 4 = Status;
        _ -> 0 = Status
    end,
    clean(Before, Node, ?SOON_MS).

nothing_matches(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    #{status := 5} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "no_such_module:f/1"]),
    clean(Before, Node, ?SOON_MS),
    #{status := 2} =
        ?LIB:run(command(Config, Node), ["trace", "-n", Name, "lists:seq("]),
    clean(Before, Node, ?SOON_MS).

status_is_asked(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    #{status := 0} = ?LIB:run(command(Config, Node), ["status", "-n", Name]),
    clean(Before, Node, ?SOON_MS).

%% Starts a trace of up to 150 s, and waits for its first event.
tracing(Config, Node) ->
    tracing(Config, Node, command(Config, Node)).

tracing(_Config, #{name := Name}, Opts) ->
    Cmd = ?LIB:start(Opts, ["trace", "-n", Name, "--events", "0", "--for",
                            "150s", "lists:seq/2"], 170000),
    ?LIB:until(fun() -> shows(Cmd) end),
    Cmd.

shows(Cmd) ->
    ?LIB:ended(Cmd) andalso error({ended, ?LIB:wait(Cmd, 1000)}),
    binary:match(?LIB:out(Cmd), <<"lists:seq">>) =/= nomatch.

%% Starts a trace of many functions, and waits until inviso's code is on the node. At this time the
%% session sets the patterns, or soon will.
arming(Config, #{name := Name} = Node) ->
    Mods = [M || M <- ?NODE:call(Node, erlang, loaded, []),
                 stdlib(Node, M)],
    Cmd = ?LIB:start(command(Config, Node),
                     ["trace", "-n", Name, "--procs", "worker", "--events",
                      "0", "--for", "150s" |
                      [atom_to_list(M) || M <- Mods]], 170000),
    ?LIB:until(fun() ->
                       ?LIB:ended(Cmd) andalso
                           error({ended, ?LIB:wait(Cmd, 1000)}),
                       ?NODE:call(Node, code, is_loaded, [inviso_tracer])
                           =/= false
               end),
    Cmd.

stdlib(Node, M) ->
    File = ?NODE:call(Node, code, which, [M]),
    is_list(File) andalso string:find(File, "/stdlib-") =/= nomatch.

interrupted_while_tracing(Config) ->
    interrupted(Config, "INT").

terminated(Config) ->
    interrupted(Config, "TERM"),
    interrupted(Config, "HUP").

interrupted(Config, Signal) ->
    {Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(Cmd, Signal),
    #{status := 0, out := Out} = ?LIB:wait(Cmd, ?SOON_MS),
    {_, _} = binary:match(Out, <<"-- ">>),
    clean(Before, Node, ?SOON_MS).

interrupted_while_arming(Config) ->
    {Node, Before} = busy(Config),
    Cmd = arming(Config, Node),
    ok = ?LIB:signal(Cmd, "INT"),
    #{} = ?LIB:wait(Cmd, ?SOON_MS),
    clean(Before, Node, ?SOON_MS).

%% The second signal ends the command at once, and the node cleans up some time
%% later.
interrupted_twice(Config) ->
    {Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(Cmd, "INT"),
    _ = catch ?LIB:signal(Cmd, "INT"),
    #{} = ?LIB:wait(Cmd, ?SOON_MS),
    clean(Before, Node, ?DEAD_MAN_MS).

%% The program that reads the output, `head', reads one line and ends.
output_is_not_read(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    Pipe = ["/bin/sh", "-c", "\"$@\" | head -n 1", "sh"],
    #{status := 0, out := Out, err := Err} =
        ?LIB:run((command(Config, Node))#{wrap => Pipe},
                 ["trace", "-n", Name, "--events", "0", "-q", "lists:seq/2"]),
    [_] = ?LIB:lines(Out),
    nomatch = binary:match(Err, <<"ipe">>),
    clean(Before, Node, ?SOON_MS).

killed_while_tracing(Config) ->
    {Node, Before} = busy(Config, in_a_hurry()),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(Cmd, "KILL"),
    clean(Before, Node, ?DEAD_MAN_MS).

killed_while_arming(Config) ->
    {Node, Before} = busy(Config, in_a_hurry()),
    Cmd = arming(Config, Node),
    ok = ?LIB:signal(Cmd, "KILL"),
    clean(Before, Node, ?DEAD_MAN_MS).

%% Kills the command after various delays in ms. After the shortest delay, the command has not sent
%% a byte yet; after the longest delay, the node traces.
killed_at_any_time(Config) ->
    Delays = inviso_test_lib:soak([0, 40, 80, 130, 230],
                                  [0, 20, 40, 60, 80, 100, 130, 170, 230, 300]),
    Nodes = [{Ms, busy(Config, in_a_hurry())} || Ms <- Delays],
    [begin
         Cmd = ?LIB:start(command(Config, Node),
                          ["trace", "-n", Name, "--events", "0",
                           "lists:seq/2"], 60000),
         timer:sleep(Ms),
         ok = ?LIB:signal(Cmd, "KILL")
     end || {Ms, {#{name := Name} = Node, _}} <- Nodes],
    [clean(Before, Node, ?DEAD_MAN_MS) || {_, {Node, Before}} <- Nodes].

%% The command is stopped, as by Ctrl-Z, for longer than its session lives without requests (the
%% dead man's time). The node ends the session, and the command reports this when it continues.
stopped_for_too_long(Config) ->
    {Node, Before} = busy(Config, in_a_hurry()),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(Cmd, "STOP"),
    clean_but_connected(Before, Node, ?DEAD_MAN_MS),
    ok = ?LIB:signal(Cmd, "CONT"),
    #{status := Status, err := Err} = ?LIB:wait(Cmd, ?DEAD_MAN_MS),
    true = Status =/= 0,
    true = Err =/= <<>>,
    clean(Before, Node, ?SOON_MS).

network_is_cut(Config) ->
    case inviso_two_hosts:why_not() of
        none -> network_is_cut_between_hosts(Config);
        Why -> {skip, "NO NETWORK WAS CUT: " ++ Why}
    end.

network_is_cut_between_hosts(Config) ->
    Hosts = inviso_two_hosts:start(),
    try
        Node = a_node(Config, #{name => "n@" ++ inviso_two_hosts:address(a),
                                wrap => inviso_two_hosts:on(a, Hosts)}),
        _ = ?NODE:workload(Node, {worker, 5}),
        Before = inviso_footprint:of_node(Node),
        On = (command(Config, Node))#{wrap => inviso_two_hosts:on(b, Hosts)},
        Cmd = tracing(Config, Node, On),
        [_ | _] = inviso_footprint:differences(
                    Before, inviso_footprint:of_node(Node)),
        inviso_two_hosts:cut(Hosts),
        %% The command does not notice for a minute or more that the connection
        %% is cut.
        clean_but_connected(Before, Node, ?DEAD_MAN_MS),
        #{status := 3, err := Err} = ?LIB:wait(Cmd, ?DEAD_MAN_MS),
        {_, _} = binary:match(Err, list_to_binary(maps:get(name, Node))),
        inviso_two_hosts:restore(Hosts),
        #{status := 0} =
            ?LIB:run(On, ["trace", "-n", maps:get(name, Node), "--events",
                          "3", "lists:seq/2"])
    after
        inviso_two_hosts:stop(Hosts)
    end.

%% Compares the footprints, but leaves out what the VM keeps for a connection
%% that it believes to be open.
clean_but_connected(Before, Node, Ms) ->
    Left = fun() ->
                   Now = inviso_footprint:of_node(Node),
                   [D || {What, Gone, New} = D <-
                             inviso_footprint:differences(Before, Now),
                         not of_connection(What, Gone, New)]
           end,
    [] = ?LIB:until_same(Left, Ms).

of_connection(hidden_nodes, [], [_]) -> true;
of_connection(nodes, [], [_]) -> true;
of_connection(descriptors, [], ["socket"]) -> true;
of_connection(ports, [], [{_, {name, "tcp_inet"}}]) -> true;
of_connection(processes, [], [{_, Info}]) ->
    {initial_call, {inet_tcp_dist, do_accept, 7}} =:=
        lists:keyfind(initial_call, 1, Info)
        orelse {initial_call, {dist_util, con_loop, 2}} =:=
        lists:keyfind(initial_call, 1, Info);
of_connection(_, _, _) -> false.

node_is_stopped(Config) ->
    {#{os_pid := OsPid} = Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(OsPid, "STOP"),
    #{status := 3, err := Err} = ?LIB:wait(Cmd, 120000),
    {_, _} = binary:match(Err, list_to_binary(maps:get(name, Node))),
    ok = ?LIB:signal(OsPid, "CONT"),
    clean(Before, Node, ?DEAD_MAN_MS).

node_dies_without_files(Config) ->
    {#{os_pid := OsPid, tmp := Tmp, name := Name} = Node, _} = busy(Config),
    Cmd = tracing(Config, Node),
    ok = ?LIB:signal(OsPid, "KILL"),
    #{status := 3, err := Err} = ?LIB:wait(Cmd, ?DEAD_MAN_MS),
    {_, _} = binary:match(Err, list_to_binary(Name)),
    %% No process and no file of inviso is left on the machine.
    ?LIB:until(fun() -> running_from(Tmp) =:= [] end),
    [] = ?LIB:until_same(fun() -> element(2, file:list_dir_all(Tmp)) end,
                         ?SOON_MS).

running_from(Dir) ->
    [P || "/proc/" ++ P <- filelib:wildcard("/proc/[0-9]*"),
          {ok, Exe} <- [file:read_link_all("/proc/" ++ P ++ "/exe")],
          string:find(Exe, Dir) =/= nomatch].

record_ends(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    #{status := 0} =
        ?LIB:run(command(Config, Node),
                 ["record", "-n", Name, "--for", "3s", "-o", "out",
                  "lists:seq/2"]),
    clean(Before, Node, ?SOON_MS).

recording(Config, #{name := Name} = Node) ->
    Cmd = ?LIB:start(command(Config, Node),
                     ["record", "-n", Name, "--for", "150s", "-o", "out",
                      "lists:seq/2"], 170000),
    ok = ?LIB:until_tracing(command(Config, Node), Name, Cmd),
    Cmd.

record_is_interrupted(Config) ->
    {Node, Before} = busy(Config),
    Cmd = recording(Config, Node),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, ?SOON_MS),
    [_] = filelib:wildcard(filename:join(maps:get(cwd, Cmd), "out/*.log")),
    clean(Before, Node, ?SOON_MS).

record_is_killed(Config) ->
    {Node, Before} = busy(Config, in_a_hurry()),
    Cmd = recording(Config, Node),
    ok = ?LIB:signal(Cmd, "KILL"),
    clean(Before, Node, ?DEAD_MAN_MS).

%% Two clients trace the node. The code stays until both have left.
two_leave(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    First = ?LIB:start(command(Config, Node),
                       ["trace", "-n", Name, "--for", "300s", "--events", "0",
                        "lists:seq/2"], 300000),
    ?LIB:until(fun() -> shows(First) end),
    #{status := Short} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--for", "3s", "lists:append/2"]),
    true = lists:member(Short, [0, 5]),
    N = byte_size(?LIB:out(First)),
    ?LIB:until(fun() -> byte_size(?LIB:out(First)) > N end),
    ok = ?LIB:signal(First, "INT"),
    #{status := 0} = ?LIB:wait(First, ?SOON_MS),
    clean(Before, Node, ?SOON_MS).

%% The guard is killed while the command's request to leave is in the guard's mailbox. The command
%% must wait until the guard's heir (the process that replaces the guard) has cleaned up. If the
%% guard handles the request too early, the test tries again on a new node.
guard_is_killed_meanwhile(Config) ->
    {Node, Before, Cmd} = guard_killed_while_left(Config, 5),
    timer:sleep(1000),
    false = ?LIB:ended(Cmd),
    heir_runs = ?NODE:eval(Node, "kills_guard ! heir_runs."),
    #{status := 0} = ?LIB:wait(Cmd, ?SOON_MS),
    false = ?NODE:call(Node, code, is_loaded, [inviso_guard]),
    false = ?NODE:call(Node, code, is_loaded, [inviso_tracer]),
    clean(Before, Node, ?SOON_MS).

%% Returns a node, the node's footprint, and the command, which waits for the guard's heir. The heir
%% is suspended until the process kills_guard gets the message heir_runs.
guard_killed_while_left(Config, Turns) ->
    {Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    _ = ?NODE:run(Node,
                  "process_flag(priority, max),"
                  "register(kills_guard, self()),"
                  "Guard = whereis(inviso_guard),"
                  "erlang:suspend_process(ets:info(inviso_guard, heir)),"
                  "Leaves = fun(Ms) ->"
                  "    [P || {'$gen_call', _, {leave, P}} <- Ms,"
                  "          node(P) =/= node()] =/= [] end,"
                  %% Kills the guard when the command's request to leave is in the guard's mailbox,
                  %% before the guard reads the request. If there are only other messages, the guard
                  %% runs for a moment to read them.
                  "Kill = fun Kill() ->"
                  "    {messages, Ms} = process_info(Guard, messages),"
                  "    case Ms =/= [] andalso Leaves(Ms) of"
                  "        true -> exit(Guard, kill);"
                  "        false when Ms =:= [] -> erlang:yield(), Kill();"
                  "        false -> erlang:resume_process(Guard),"
                  "                 erlang:yield(),"
                  "                 erlang:suspend_process(Guard),"
                  "                 Kill()"
                  "    end end,"
                  "erlang:suspend_process(Guard), Kill(),"
                  "receive heir_runs -> ok end."),
    ok = ?LIB:signal(Cmd, "INT"),
    ?LIB:until(fun() -> ?NODE:call(Node, erlang, whereis, [inviso_guard])
                            =:= undefined end),
    %% If the guard has ended by itself, the process kills_guard crashes, because it finds no guard
    %% to kill.
    Killer = fun() ->
                     ?NODE:eval(Node, "case whereis(kills_guard) of"
                                " undefined -> crashed;"
                                " P -> process_info(P, status) end.")
             end,
    ?LIB:until(fun() -> lists:member(Killer(), [crashed, {status, waiting}])
               end),
    case Killer() of
        crashed when Turns > 1 ->
            #{status := 0} = ?LIB:wait(Cmd, ?SOON_MS),
            guard_killed_while_left(Config, Turns - 1);
        {status, waiting} ->
            {Node, Before, Cmd}
    end.

node_disconnects(Config) ->
    {Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    [true] = ?NODE:eval(Node, "[erlang:disconnect_node(N) ||"
                        " N <- nodes(hidden)]."),
    #{status := 3, err := Err} = ?LIB:wait(Cmd, ?DEAD_MAN_MS),
    {_, _} = binary:match(Err, list_to_binary(maps:get(name, Node))),
    clean(Before, Node, ?DEAD_MAN_MS).

spooler_is_killed(Config) ->
    {#{tmp := Tmp} = Node, Before} = busy(Config),
    Cmd = tracing(Config, Node),
    [Spooler] = running_from(Tmp),
    ok = ?LIB:signal(list_to_integer(Spooler), "KILL"),
    %% Either the spooler is restarted, or the command reports that the session
    %% has ended.
    timer:sleep(2000),
    _ = catch ?LIB:signal(Cmd, "INT"),
    #{err := Err, out := Out} = ?LIB:wait(Cmd, ?SOON_MS),
    {_, _} = binary:match(<<Out/binary, Err/binary>>, <<"recorded">>),
    clean(Before, Node, ?DEAD_MAN_MS).

%% An interrupted command does not wait for a node that does not answer.
interrupted_while_connecting(Config) ->
    {#{os_pid := OsPid, name := Name} = Node, Before} = busy(Config),
    ok = ?LIB:signal(OsPid, "STOP"),
    Cmd = ?LIB:start(command(Config, Node),
                     ["trace", "-n", Name, "--timeout", "100s",
                      "lists:seq/2"], 120000),
    timer:sleep(1000),
    false = ?LIB:ended(Cmd),
    ok = ?LIB:signal(Cmd, "INT"),
    #{} = ?LIB:wait(Cmd, ?SOON_MS),
    ok = ?LIB:signal(OsPid, "CONT"),
    clean(Before, Node, ?DEAD_MAN_MS).

output_is_full(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    Full = ["/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"],
    #{status := 1, err := Err} =
        ?LIB:run((command(Config, Node))#{wrap => Full},
                 ["trace", "-n", Name, "--events", "0", "--for", "50s",
                  "lists:seq/2"]),
    {_, _} = binary:match(Err, <<"No space">>),
    clean(Before, Node, ?SOON_MS).

%% The command finds the error before it contacts a node, so the error is the
%% same for a node that does not exist.
output_is_no_directory(Config) ->
    {#{name := Name} = Node, Before} = busy(Config),
    [begin
         #{status := Status, err := Err} =
             ?LIB:run(command(Config, Node),
                      ["record", "-n", Names, "--for", "50s", "-o",
                       "/dev/null/x", "lists:seq/2"]),
         true = Status =/= 0 andalso Status =/= 3,
         {_, _} = binary:match(Err, <<"/dev/null/x">>),
         nomatch = binary:match(Err, <<"no_such_node">>)
     end || Names <- [Name, "no_such_node@localhost"]],
    clean(Before, Node, ?SOON_MS).

disk_of_the_node_fills(Config) ->
    case ?LIB:is_root() of
        true -> disk_fills(Config);
        false -> {skip, "NO DISK WAS FILLED: only root can mount one"}
    end.

disk_fills(Config) ->
    {#{name := Name, dir := Dir, uid := Uid} = Node, Before} = busy(Config),
    Disk = filename:join(Dir, "disk"),
    ok = file:make_dir(Disk),
    "" = os:cmd(io_lib:format("mount -t tmpfs -o uid=~b,size=3m tmpfs ~s",
                              [Uid, Disk])),
    try
        _ = ?NODE:run(Node, "register(flood, self()), Ls = lists:duplicate("
                      "1000, [1]), F = fun F() -> lists:foreach("
                      "fun lists:last/1, Ls), timer:sleep(3), F() end, F()."),
        [begin
             #{status := Status, out := Out, err := Err} =
                 ?LIB:run(command(Config, Node), Args),
             true = lists:member(Status, [1, 7]),
             {match, _} = re:run([Out, Err], "no space|disk|[1-9][0-9]* lost",
                                 [caseless])
         end || Args <- [["trace", "-n", Name, "--remote-dir", Disk,
                          "--events", "0", "--for", "15s", "-q",
                          "lists:last/1"],
                         ["record", "-n", Name, "--remote-dir", Disk, "-o",
                          "o", "--for", "15s", "lists:last/1"]]],
        true = ?NODE:eval(Node, "exit(whereis(flood), kill)."),
        [] = ?LIB:until_same(fun() -> element(2, file:list_dir_all(Disk))
                             end, ?SOON_MS)
    after
        os:cmd("umount -l " ++ Disk),
        file:del_dir(Disk)
    end,
    clean(Before, Node, ?SOON_MS).

%% A node in embedded mode loads no module by itself.
embedded_node(Config) ->
    #{name := Name} = Node = a_node(Config, #{args => ["-mode", "embedded"]}),
    _ = ?NODE:workload(Node, {worker, 5}),
    Before = inviso_footprint:of_node(Node),
    #{status := 0} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    clean(Before, Node, ?SOON_MS).

directory_of_the_node_is_gone(Config) ->
    #{name := Name, tmp := Tmp} = Node = a_node(Config),
    _ = ?NODE:workload(Node, {worker, 5}),
    ok = file:del_dir(Tmp),
    Before = inviso_footprint:of_node(Node),
    #{status := 0} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    clean(Before, Node, ?SOON_MS).

many_processes(Config) ->
    {#{name := Name} = Node, Before0} = busy(Config),
    Many = inviso_test_lib:soak(5000, 100000),
    _ = ?NODE:eval(Node, "[spawn(fun() -> receive stop -> ok end end)"
                   " || _ <- lists:seq(1, " ++ integer_to_list(Many) ++ ")]."),
    Count = length(maps:get(processes, Before0)) + Many,
    Before = inviso_footprint:of_node(Node),
    true = length(maps:get(processes, Before)) >= Count,
    #{status := 0} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "lists:seq/2"]),
    #{traced := [], patterns := []} = inviso_footprint:of_node(Node),
    %% The status is 5 if no process has sent a message.
    #{status := Sent} =
        ?LIB:run(command(Config, Node),
                 ["trace", "-n", Name, "--events", "10", "send"]),
    true = lists:member(Sent, [0, 5]),
    Left = fun() ->
                   Now = inviso_footprint:of_node(Node),
                   [D || D <- inviso_footprint:differences(Before, Now),
                         not warns_of_time(D)]
           end,
    [] = ?LIB:until_same(Left, ?SOON_MS).

%% Returns true if the difference is only a warning that a request took long. On a slow machine this
%% warning is no error.
warns_of_time({said, _, New}) ->
    nomatch =/= binary:match(New, <<"a request took">>);
warns_of_time(_) ->
    false.

%% The traced module is reloaded twice during the trace.
modules_are_loaded_anew(Config) ->
    {Node, _} = busy(Config),
    _ = ?NODE:call(Node, code, ensure_loaded, [msacc]),
    Before = inviso_footprint:of_node(Node),
    Cmd = ?LIB:start(command(Config, Node),
                     ["trace", "-n", maps:get(name, Node), "--events", "0",
                      "--for", "100s", "msacc", "lists:seq/2"], 120000),
    ?LIB:until(fun() -> shows(Cmd) end),
    [begin
         _ = ?NODE:call(Node, code, purge, [msacc]),
         {module, msacc} = ?NODE:call(Node, code, load_file, [msacc])
     end || _ <- [1, 2]],
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, ?SOON_MS),
    _ = ?NODE:call(Node, code, purge, [msacc]),
    clean(Before, Node, ?SOON_MS).

%% If one of two nodes dies, the recording of the other node is still fetched.
one_of_two_dies(Config) ->
    Cookie = "two" ++ os:getpid(),
    [A, B] = [a_node(Config, #{cookie => Cookie}) || _ <- [1, 2]],
    [?NODE:workload(N, {worker, 5}) || N <- [A, B]],
    Before = inviso_footprint:of_node(A),
    Opts = command(Config, A),
    Names = maps:get(name, A) ++ "," ++ maps:get(name, B),
    Cmd = ?LIB:start(Opts, ["record", "-n", Names, "--for", "200s", "-o", "o",
                            "lists:seq/2"], 240000),
    [?LIB:until_tracing(Opts, maps:get(name, N), Cmd) || N <- [A, B]],
    Named = fun() -> length(binary:matches(?LIB:err(Cmd),
                                           list_to_binary(maps:get(name, B))))
            end,
    Told = Named(),
    ok = ?LIB:signal(maps:get(os_pid, B), "KILL"),
    ?LIB:until(fun() -> Named() > Told end),
    false = ?LIB:ended(Cmd),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 3} = ?LIB:wait(Cmd, 100000),
    [_] = filelib:wildcard(filename:join(maps:get(cwd, Cmd), "o/*.log")),
    clean(Before, A, ?SOON_MS).
