%% SPDX-License-Identifier: Apache-2.0
%% Names of processes in logs: which process gets which name, and when the names
%% are written.
-module(inviso_names_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([registered_before/1, registered_later/1, unregistered/1, labels/1,
         receivers/1, many_registered/1, once/1, no_names/1,
         a_full_ring/1, an_asker_that_is_stuck/1, a_process_that_is_stuck/1,
         a_namer_that_is_stuck/1,
         the_keeper_dies/1, nothing_is_left/1,
         each_file_has_names/1, long_labels_do_not_fill_files/1,
         flight_recorder/1, flight_recorder_flushed/1,
         flight_recorder_of_a_dead_node/1]).
%% These functions are run by processes that the cases start.
-export([serve/0, clerk/0, init/1, handle_call/3, handle_cast/2]).
%% A case calls this function on another node.
-export([recorder/1]).

-define(LIB, inviso_trace_lib).

all() ->
    [registered_before, registered_later, unregistered, labels, receivers,
     many_registered, once, no_names, a_full_ring, an_asker_that_is_stuck,
     a_process_that_is_stuck, a_namer_that_is_stuck, the_keeper_dies, nothing_is_left,
     each_file_has_names, long_labels_do_not_fill_files,
     flight_recorder, flight_recorder_flushed, flight_recorder_of_a_dead_node].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(_Case, Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    Config.

end_per_testcase(_Case, _Config) ->
    erlang:trace_pattern({?LIB, probe, '_'}, false, [local]),
    ok.

%% --- what processes run -------------------------------------------------------

serve() ->
    receive
        {From, Ref, Fun} ->
            From ! {Ref, Fun()},
            serve();
        stop ->
            ok
    end.

%% Does what serve/0 does. With two functions, the processes of a test can have different names.
clerk() -> serve().

init([]) -> {ok, none}.

handle_call(Fun, _From, S) -> {reply, Fun(), S}.

handle_cast(_, S) -> {noreply, S}.

run(Pid, Fun) ->
    Ref = make_ref(),
    Pid ! {self(), Ref, Fun},
    receive {Ref, Result} -> Result after 60000 -> error(no_answer) end.

probe(Pid, N) -> ok = run(Pid, fun() -> ?LIB:probe(N) end).

trace(Pid, Tracer, Flags) ->
    1 = ?LIB:flags(Pid, Tracer, Flags).

%% Starts the processes. Each makes one traced call. Returns the name of each process in the log.
names(Config, Opts, Starts) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, Opts),
    Pids = [called(Start, Tracer) || Start <- Starts],
    Stats = ?LIB:close(Tracer),
    _ = [exit(P, kill) || P <- Pids],
    Items = ?LIB:items(Log),
    _ = ?LIB:accounted(Stats, Items, length(Pids)),
    [name(P, Items) || P <- Pids].

called(Start, Tracer) ->
    Pid = Start(),
    trace(Pid, Tracer, [call]),
    probe(Pid, 1),
    Pid.

%% Returns the name of a process in its events. All events must have the same name.
name(Pid, Items) ->
    Text = list_to_binary(pid_to_list(Pid)),
    [Name] = lists:usort(
               [N || #{<<"process">> := #{<<"pid">> := T, <<"name">> := N}}
                         <- Items, T =:= Text]),
    Name.

serving() -> spawn(?MODULE, serve, []).

%% --- which name ---------------------------------------------------------------

%% The process was registered before the tracer was opened. So its name is in the log before all
%% events, and even the first event is shown with the name, also in a live trace.
registered_before(Config) ->
    Pid = serving(),
    true = register('names before', Pid),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    [First | _] = notes(Tracer, Log),
    {_, _} = binary:match(maps:get(body, First), <<"names before">>),
    trace(Pid, Tracer, [call]),
    probe(Pid, 1),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    _ = ?LIB:accounted(Stats, Items, 1),
    <<"'names before'">> = name(Pid, Items),
    exit(Pid, kill).

%% Returns those packets of the log that contain notes.
notes(Tracer, Log) ->
    ok = inviso_tracer:flush(Tracer),
    [P || #{type := events, n := 0} = P <- inviso_trace_log:packets(Log)].

%% The process registers its name after the tracer was opened, and before its
%% first event.
registered_later(Config) ->
    [<<"names_later">>] =
        names(Config, #{},
              [fun() ->
                       Pid = serving(),
                       true = register(names_later, Pid),
                       Pid
               end]).

%% A process that was started with proc_lib has a name on every release, even if it is busy or has a
%% heap of 5 MB. But if the heap is very large, the dictionary is not read on releases before OTP
%% 26.2. Then the process has the name of its parent, if this parent has a name.
unregistered(Config) ->
    Server = fun() -> {ok, P} = gen_server:start(?MODULE, [], []), P end,
    <<"inviso_names_SUITE:init/1">> = called_server(Config, Server, 5),
    Clerk = <<"inviso_names_SUITE:clerk/0">>,
    {Large, Child, Registered} =
        case inviso_vm:has_process_info({dictionary, '$initial_call'}) of
            true -> {Clerk, Clerk, Clerk};
            false -> {null, <<"child of inviso_names_SUITE:serve/0">>,
                      <<"child of names_parent">>}
        end,
    Big = fun() -> proc_lib:spawn_opt(?MODULE, clerk, [], [{min_heap_size, 16000000}]) end,
    Parent = serving(),
    true = register(names_parent, Parent),
    [<<"inviso_names_SUITE:serve/0">>, null, Clerk, Clerk, Large, Child, Registered] =
        names(Config, #{},
              [fun serving/0,
               fun() -> spawn(fun serve/0) end,
               fun() -> proc_lib:spawn(?MODULE, clerk, []) end,
               fun() -> proc_lib:spawn_opt(?MODULE, clerk, [],
                                           [{min_heap_size, 600000}]) end,
               Big,
               fun() -> run(serving(), Big) end,
               fun() -> run(Parent, Big) end]),
    Parent ! stop.

%% On a busy machine some processes do not answer within 50 ms, and then have no name. So the test
%% tries several times.
called_server(Config, Start, Tries) ->
    case called_server(Config, Start) of
        null when Tries > 1 -> called_server(Config, Start, Tries - 1);
        Name -> Name
    end.

called_server(Config, Start) ->
    Pid = Start(),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    trace(Pid, Tracer, [call]),
    ok = gen_server:call(Pid, fun() -> ?LIB:probe(1) end),
    _ = ?LIB:close(Tracer),
    exit(Pid, kill),
    name(Pid, ?LIB:events(Log)).

labels(Config) ->
    case inviso_vm:has_process_info(label) of
        false -> {skip, "this release has no labels"};
        true -> labelled(Config)
    end.

%% A label that is too long is not written. If a process has a registered name,
%% this name is written, and not the label.
labelled(Config) ->
    Labelled = fun(Label) ->
                       Pid = serving(),
                       run(Pid, fun() -> proc_lib:set_label(Label) end),
                       Pid
               end,
    [<<"{user,7}">>, <<"inviso_names_SUITE:serve/0">>, <<"names_labelled">>] =
        names(Config, #{},
              [fun() -> Labelled({user, 7}) end,
               fun() -> Labelled(lists:seq(1000, 9000)) end,
               fun() ->
                       Pid = Labelled(clerk),
                       true = register(names_labelled, Pid),
                       Pid
               end]).

%% Processes and ports that get messages have names, too.
receivers(Config) ->
    [Sender, Receiver] = [serving(), serving()],
    Port = run(Sender, fun() ->
                               P = open_port({spawn, "cat"}, []),
                               true = register(names_port, P),
                               P
                       end),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    trace(Sender, Tracer, [send]),
    run(Sender, fun() ->
                        Port ! {self(), {command, <<>>}},
                        Receiver ! nothing,
                        ok
                end),
    _ = ?LIB:close(Tracer),
    Tos = [N || #{<<"to">> := #{<<"name">> := N}} <- ?LIB:events(Log)],
    true = lists:member(<<"names_port">>, Tos),
    true = lists:member(<<"inviso_names_SUITE:serve/0">>, Tos),
    _ = [exit(P, kill) || P <- [Sender, Receiver]].

%% --- how many ------------------------------------------------------------------

%% The namer (the process that writes names into the log) writes a limited number of names in one
%% round. In this test there are more names.
many_registered(Config) ->
    Pids = [begin
                Pid = serving(),
                true = register(list_to_atom("many_" ++ integer_to_list(N)),
                                Pid),
                Pid
            end || N <- lists:seq(1, 3000)],
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Sample = lists:sublist(Pids, 50) ++ lists:nthtail(2950, Pids),
    _ = [trace(P, Tracer, [call]) || P <- Sample],
    _ = [probe(P, 1) || P <- Sample],
    _ = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    _ = [<<"many_", _/binary>> = name(P, Items) || P <- Sample],
    Bodies = iolist_to_binary(
               [B || #{type := events, n := 0, body := B}
                         <- inviso_trace_log:packets(Log)]),
    3000 = length(binary:matches(Bodies, <<"many_">>)),
    _ = [exit(P, kill) || P <- Pids].

%% Several threads record the same processes in many packets. Each process is named only once in the
%% log.
once(Config) ->
    Pids = [serving() || _ <- lists:seq(1, 20)],
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{packet_bytes => 4096}),
    _ = [trace(P, Tracer, [call]) || P <- Pids],
    Rounds = fun(N) ->
                     _ = [probe(P, N) || P <- Pids],
                     ok
             end,
    ok = Rounds(1),
    ?LIB:until(fun() -> notes_of(Pids, notes(Tracer, Log)) =:= 20 end),
    _ = [Rounds(N) || N <- lists:seq(1, 100)],
    ok = inviso_tracer:flush(Tracer),
    _ = ?LIB:close(Tracer),
    20 = notes_of(Pids, [P || #{type := events, n := 0} = P
                                  <- inviso_trace_log:packets(Log)]),
    _ = [exit(P, kill) || P <- Pids].

%% Returns how often the packets define these processes. A packet defines a process at most once.
notes_of(Pids, Packets) ->
    Defs = [begin
                [_, N, S] = [list_to_integer(X) || X <- string:lexemes(
                                                        pid_to_list(P), "<.>")],
                Id = <<(varint(N))/binary, (varint(S))/binary>>,
                <<2, (byte_size(Id)), Id/binary>>
            end || P <- Pids],
    length([D || #{body := Body, def_len := Len} <- Packets, D <- Defs,
                 binary:match(binary:part(Body, 0, Len), D) =/= nomatch]).

varint(N) when N < 128 -> <<N>>;
varint(N) -> <<1:1, N:7, (varint(N bsr 7))/binary>>.

no_names(Config) ->
    Pid = serving(),
    true = register(names_none, Pid),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{names => false}),
    {_, Handle} = Tracer,
    [_Keeper] = inviso_keeper:processes(Handle),
    trace(Pid, Tracer, [call]),
    probe(Pid, 1),
    [] = notes(Tracer, Log),
    _ = ?LIB:close(Tracer),
    null = name(Pid, ?LIB:events(Log)),
    {error, {bad_option, names, perhaps, "takes true or false"}} =
        inviso_tracer:open(Log, #{names => 'perhaps', replace => true}),
    exit(Pid, kill).

%% While the ring is full, the namer (the process that writes names into the log) keeps the names.
%% It writes them when the ring has space again.
a_full_ring(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Small = inviso_opts:least_buffer(#{packet_bytes => 4096}),
    Tracer = ?LIB:open(Log, #{packet_bytes => 4096, buffer_bytes => Small}),
    #{spooler := #{os_pid := Spooler}} = inviso_tracer:info(Tracer),
    [Flood, Late] = [serving(), serving()],
    trace(Flood, Tracer, [call]),
    ?LIB:kill("STOP", Spooler),
    Full = fun() ->
                   run(Flood, fun() -> ?LIB:flood(1, 2000) end),
                   #{lost := Lost} = inviso_tracer:info(Tracer),
                   maps:get(full, Lost, 0) > 0
           end,
    ?LIB:until(Full),
    ?LIB:kill("CONT", Spooler),
    ok = inviso_tracer:flush(Tracer), % now the ring has space for the probe
    trace(Late, Tracer, [call]),
    probe(Late, 1),
    Both = [Flood, Late],
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    _ = ?LIB:accounted(Stats, Items),
    _ = [<<"inviso_names_SUITE:serve/0">> = name(P, Items) || P <- Both],
    _ = [exit(P, kill) || P <- Both].

%% --- processes that are stuck --------------------------------------------------

namer(Handle) ->
    {links, Links} = process_info(inviso_tracer:nif_keeper(Handle), links),
    [Namer] = [P || P <- Links, is_pid(P)],
    Namer.

%% Returns the process that asks others for their names.
asker(Handle) ->
    {links, Links} = process_info(namer(Handle), links),
    [Asker] = Links -- [inviso_tracer:nif_keeper(Handle)],
    Asker.

%% The asker is the process that asks others for their names. If the asker waits too long for an
%% answer, it is killed. Then only the process that did not answer has no name. In this test no
%% answer comes, because the asker is suspended.
an_asker_that_is_stuck(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {_, Handle} = Tracer = ?LIB:open(Log, #{}),
    [Stuck, Other] = [serving(), serving()],
    First = asker(Handle),
    true = erlang:suspend_process(First),
    trace(Stuck, Tracer, [call]),
    probe(Stuck, 1),
    ?LIB:until(fun() -> not is_process_alive(First) end),
    trace(Other, Tracer, [call]),
    probe(Other, 2),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    _ = ?LIB:accounted(Stats, Items, 2),
    null = name(Stuck, Items),
    <<"inviso_names_SUITE:serve/0">> = name(Other, Items),
    _ = [exit(P, kill) || P <- [Stuck, Other]].

%% A process that blocks its scheduler cannot answer. Then the asker, which waits for the answer, is
%% killed, and other processes still get their names.
a_process_that_is_stuck(Config) ->
    case erlang:system_info(schedulers_online) of
        1 -> {skip, "needs two schedulers"};
        _ -> stuck(Config)
    end.

stuck(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {_, Handle} = Tracer = ?LIB:open(Log, #{}),
    First = asker(Handle),
    %% While a scheduler is blocked, its timers stop. If the namer waits for a timer of this
    %% scheduler, the namer does not notice that no answer comes. So the test tries several times.
    ?LIB:until(fun() ->
                       ok = block(rand:uniform(2), Tracer),
                       asker(Handle) =/= First
               end),
    Other = serving(),
    trace(Other, Tracer, [call]),
    probe(Other, 2),
    _ = ?LIB:close(Tracer),
    <<"inviso_names_SUITE:serve/0">> = name(Other, ?LIB:events(Log)),
    exit(Other, kill).

%% Starts a process on the scheduler. The process makes a traced call, and then compares two equal
%% terms of 2^27 cells. The comparison takes some tenths of a second, and the process does not yield
%% meanwhile.
block(Scheduler, Tracer) ->
    {Pid, Mon} = spawn_opt(?MODULE, serve, [],
                           [monitor, {scheduler, Scheduler}]),
    trace(Pid, Tracer, [call]),
    Pid ! {self(), make_ref(),
           fun() ->
                   ?LIB:probe(1),
                   cells(27) =:= cells(27)
           end},
    Pid ! stop,
    receive {'DOWN', Mon, process, Pid, normal} -> ok end.

%% Returns a term that a traversal sees as 2^N cells. In memory it has only N cells, because its
%% parts are shared.
cells(0) -> [];
cells(N) ->
    Half = cells(N - 1),
    [Half | Half].

%% The namer is the process that writes names into the log. While the namer is suspended, the keeper
%% (the tracer's main process) still takes anchors of the clocks.
a_namer_that_is_stuck(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {_, Handle} = Tracer = ?LIB:open(Log, #{}),
    true = erlang:suspend_process(namer(Handle)),
    Pid = serving(),
    trace(Pid, Tracer, [call]),
    probe(Pid, 1),
    #{produced := 1} = inviso_tracer:info(Tracer),
    Anchors = fun() ->
                      ok = inviso_tracer:flush(Tracer),
                      length([A || #{type := anchors} = A
                                       <- inviso_trace_log:packets(Log)])
              end,
    N = Anchors(),
    ?LIB:until(fun() -> Anchors() > N end),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    _ = ?LIB:accounted(Stats, Items, 1),
    null = name(Pid, Items),
    exit(Pid, kill).

the_keeper_dies(Config) ->
    {_, Handle} = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    [_, _, _] = Pids = inviso_keeper:processes(Handle),
    exit(inviso_tracer:nif_keeper(Handle), kill),
    ?LIB:until(fun() -> not lists:any(fun is_process_alive/1, Pids) end).

nothing_is_left(Config) ->
    {_, Handle} = Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    [_, _, _] = Pids = inviso_keeper:processes(Handle),
    _ = ?LIB:close(Tracer),
    ?LIB:until(fun() -> not lists:any(fun is_process_alive/1, Pids) end),
    {error, {log, enoent, _}} =
        inviso_tracer:open("/no/such/directory/x.log", #{}),
    [] = [P || P <- processes(), {current_function, {inviso_names, _, _}}
                                     <- [process_info(P, current_function)]].

%% --- logs of several files -----------------------------------------------------

%% While the log is rotated, its first files are deleted. The names were written to these files, so
%% they are written again to each new file.
each_file_has_names(Config) ->
    Pid = serving(),
    true = register(names_rotated, Pid),
    Other = serving(),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{rotate => #{bytes => 50000, count => 2},
                              drain_ms => 1, flush_ms => 20}),
    _ = [trace(P, Tracer, [call]) || P <- [Pid, Other]],
    rotated(Pid, Tracer, Log),
    _ = [probe(P, 0) || P <- [Pid, Other]],
    ok = inviso_tracer:flush(Tracer),
    {ok, #{files := Files}} = inviso_tracer:close(Tracer),
    Items = ?LIB:items(lists:last(Files)),
    <<"names_rotated">> = name(Pid, Items),
    <<"inviso_names_SUITE:serve/0">> = name(Other, Items),
    _ = [exit(P, kill) || P <- [Pid, Other]].

rotated(Pid, Tracer, Log) ->
    run(Pid, fun() -> ?LIB:flood(1, 1000) end),
    ok = inviso_tracer:flush(Tracer),
    filelib:is_file(Log ++ ".0") andalso rotated(Pid, Tracer, Log).

%% Together, the names of many processes need more bytes than a file of the log may have. When the
%% log begins a file, the process that writes names must not fill this file with names. Otherwise
%% the log would at once begin the next file, and so on.
long_labels_do_not_fill_files(Config) ->
    case erlang:function_exported(proc_lib, set_label, 1) of
        true -> long_labels(Config);
        false -> {skip, "no labels before OTP 27"}
    end.

long_labels(Config) ->
    Label = lists:duplicate(2000, $x),
    Pids = [spawn(fun() -> apply(proc_lib, set_label, [Label]), serve() end)
            || _ <- lists:seq(1, 50)],
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{rotate => #{bytes => 50000}, drain_ms => 1,
                              flush_ms => 20}),
    _ = [trace(P, Tracer, [call]) || P <- Pids],
    _ = [probe(P, 0) || P <- Pids],
    Files = fun() ->
                    ok = inviso_tracer:flush(Tracer),
                    length(filelib:wildcard(Log ++ ".*"))
            end,
    ?LIB:until(fun() -> Files() > 1 end),
    Many = Files(),
    timer:sleep(1000), % five rounds of the namer
    true = Files() =< Many + 1,
    _ = ?LIB:close(Tracer),
    _ = [exit(P, kill) || P <- Pids].

%% --- flight recorders ----------------------------------------------------------

%% Opens a flight recorder with little memory, and records a process until the ring
%% was overwritten several times.
overwritten(Config) ->
    Pid = serving(),
    true = register(names_flight, Pid),
    Other = serving(),
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{keep => newest, packet_bytes => 8192,
                              buffer_bytes => inviso_opts:least_buffer(
                                                #{packet_bytes => 8192})}),
    _ = [trace(P, Tracer, [call]) || P <- [Pid, Other]],
    _ = [[run(P, fun() -> ?LIB:flood(1, 2000) end) || P <- [Pid, Other]]
         || _ <- lists:seq(1, 20)],
    _ = [probe(P, 0) || P <- [Pid, Other]],
    #{lost := #{overwritten := _}} = inviso_tracer:info(Tracer),
    {Tracer, Log, [Pid, Other]}.

named_flight(Log, [Pid, Other]) ->
    Items = ?LIB:items(Log),
    <<"names_flight">> = name(Pid, Items),
    <<"inviso_names_SUITE:serve/0">> = name(Other, Items),
    Items.

flight_recorder(Config) ->
    {Tracer, Log, Pids} = overwritten(Config),
    Stats = ?LIB:close(Tracer),
    _ = ?LIB:accounted(Stats, named_flight(Log, Pids)),
    _ = [exit(P, kill) || P <- Pids].

flight_recorder_flushed(Config) ->
    {Tracer, Log, Pids} = overwritten(Config),
    ok = inviso_tracer:flush(Tracer),
    Copy = ?LIB:name(Config, "copy.log"),
    {ok, _} = file:copy(Log, Copy),
    _ = named_flight(Copy, Pids),
    _ = ?LIB:close(Tracer),
    _ = [exit(P, kill) || P <- Pids].

%% The names of a flight recorder are written from time to time and not only at its end, because the
%% node may die before the end.
flight_recorder_of_a_dead_node(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Peer = ?LIB:node_start(#{}),
    {OsPid, Pid} = ?LIB:call(Peer, ?MODULE, recorder, [Log]),
    ?LIB:kill("KILL", OsPid),
    ?LIB:until(fun() -> filelib:is_file(Log) andalso
                            inviso_trace_log:totals(Log) =/= false end),
    Text = list_to_binary(Pid),
    [<<"inviso_names_SUITE:clerk/0">>] =
        lists:usort([N || #{<<"process">> := #{<<"pid">> := T, <<"name">> := N}}
                              <- ?LIB:items(Log), T =:= Text]).

%% Returns when the namer has written the name of a process.
recorder(Log) ->
    Owner = spawn(fun() -> receive stop -> ok end end),
    {_, Handle} = Tracer = ?LIB:open(Log, #{keep => newest, owner => Owner}),
    Namer = namer(Handle),
    1 = erlang:trace(Namer, true, [call]),
    1 = erlang:trace_pattern({inviso_tracer, nif_note, 2}, true, []),
    ?LIB:calls({?LIB, probe, '_'}, true),
    Pid = spawn(?MODULE, clerk, []),
    trace(Pid, Tracer, [call]),
    probe(Pid, 1),
    written(Namer, Pid),
    %% When the namer calls the NIF, the VM sends the message about the call before it runs the NIF.
    %% So the function waits until the namer has run the NIF and waits for its next message.
    ?LIB:until(fun() -> process_info(Namer, status) =:= {status, waiting} end),
    {list_to_integer(os:getpid()), pid_to_list(Pid)}.

written(Namer, Pid) ->
    receive
        {trace, Namer, call, {inviso_tracer, nif_note, [_, Notes]}} ->
            case [N || {_, [P | _]} = N <- Notes, P =:= Pid] of
                [_] -> ok;
                [] -> written(Namer, Pid)
            end
    end.
