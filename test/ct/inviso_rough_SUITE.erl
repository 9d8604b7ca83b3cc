%% SPDX-License-Identifier: Apache-2.0
%% The command and its recordings under difficult conditions: floods, limits,
%% overload, very large terms, readers that do not read, interrupted fetches.
%% The tests make the events themselves, so they know how many there are.
-module(inviso_rough_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([events_hold_in_a_flood/1, millions_of_events/1, events_are_lost/1,
         rate_ends_it/1, overload_ends_it/1, commands_at_once/1, huge_terms/1,
         thousands_of_threads/1,
         all_messages/1, sensitive_process/1, output_is_not_read_for_a_while/1,
         node_is_stopped_for_a_while/1,
         record_of_three_nodes/1, flight_recorder/1, detached/1,
         detached_and_removed/1, fetch_is_interrupted/1,
         record_cannot_fetch/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

%% A spec for calls of lists:last/1, which no other process makes. It asks for no returns.
-define(CALLS, "lists:last/1 [{'_',[],[]}]").

all() ->
    [events_hold_in_a_flood, millions_of_events, events_are_lost,
     rate_ends_it, overload_ends_it, commands_at_once, huge_terms, thousands_of_threads,
     all_messages, sensitive_process, output_is_not_read_for_a_while,
     node_is_stopped_for_a_while,
     record_of_three_nodes, flight_recorder, detached,
     detached_and_removed, fetch_is_interrupted,
     record_cannot_fetch].

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
    ?NODE:start(?config(base, Config),
                maps:merge(#{uid => ?LIB:some_uid()}, Opts)).

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

run(Config, Node, Args) ->
    ?LIB:run(opts(Config, Node), with_name(Node, Args), 120000).

start(Config, Node, Args) ->
    ?LIB:start(opts(Config, Node), with_name(Node, Args), 550000).

with_name(#{name := Name}, [Command | Args]) ->
    [Command, "-n", Name | Args].

%% Makes calls as fast as possible, without end.
flood(Node) ->
    ?NODE:run(Node, "Ls = lists:duplicate(1000, [1]), F = fun F() ->"
              " lists:foreach(fun lists:last/1, Ls), F() end, F().").

%% Makes Thousands * 1000 calls.
burst(Node, Thousands) ->
    ?NODE:eval(Node, "Ls = lists:duplicate(1000, [1]), lists:foreach(fun(_) ->"
               " lists:foreach(fun lists:last/1, Ls) end, lists:seq(1, " ++
                   integer_to_list(Thousands) ++ ")).").

%% Returns the number of events in the JSON. Other objects may say how many events came after the
%% limit; these are not counted.
shown(Json) ->
    {Lost, Events} = lists:partition(fun(J) -> is_map_key(<<"lost">>, J) end,
                                     ?LIB:json(Json)),
    [] = [J || #{<<"reason">> := Why} = J <- Lost, Why =/= <<"limit">>],
    length(Events).

%% Returns the last JSON object of an output.
last_json(Text) ->
    lists:last([inviso_trace_json:decode(L)
                || <<"{", _/binary>> = L <- ?LIB:lines(Text)]).

status(Config, Node) ->
    #{status := 0, out := Out} = run(Config, Node, ["status", "--json"]),
    last_json(Out).

until_tracing(Config, #{name := Name} = Node, Cmd) ->
    ?LIB:until_tracing(opts(Config, Node), Name, Cmd).

balanced(#{<<"produced">> := P, <<"recorded">> := R, <<"lost">> := L,
           <<"reasons">> := Why, <<"after_limit">> := A} = Facts) ->
    P = R + L + A,
    L = lists:sum(maps:values(Why)),
    Facts.

says(Text, Pattern) ->
    {match, _} = re:run(Text, Pattern, [caseless]),
    ok.

%%---------------------------------------------------------------------------
%% Floods

%% In a flood of calls, `trace' shows as many events as --events says, and the log of `record' has
%% at most this many events.
events_hold_in_a_flood(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    Flood = flood(Node),
    #{status := 0, out := Out, err := Err} =
        run(Config, Node, ["trace", "--events", "1000", "--json", ?CALLS]),
    1000 = shown(Out),
    #{<<"shown">> := 1000, <<"recorded">> := Shown} = last_json(Err),
    true = Shown =< 10000,
    #{status := 0, out := Summary} =
        run(Config, Node, ["record", "--events", "100k", "--json", "-o", "o",
                           ?CALLS]),
    #{<<"recorded">> := N} = last_json(Summary),
    %% The log can have fewer events than the limit, because each thread takes parts of the limit in
    %% advance, and some threads have not used up their last part when the limit is reached.
    true = N =< 100000 andalso N > 99000,
    true = ?NODE:call(Node, erlang, exit, [Flood, kill]),
    [] = inviso_footprint:left(Before, Node, 90000).

%% After a trace of millions of events, the node uses no more memory than before. Each event is
%% recorded or counted as lost. `make soak' makes ten million events.
millions_of_events(Config) ->
    Thousands = inviso_test_lib:soak(1000, 10000),
    Node = a_node(Config),
    _ = burst(Node, 1),
    Memory = ?NODE:call(Node, erlang, memory, [total]),
    Cmd = start(Config, Node, ["record", "--for", "500s", "--bytes", "2G",
                               "--json", "-o", "o", ?CALLS]),
    until_tracing(Config, Node, Cmd),
    Tracing = ?NODE:call(Node, erlang, memory, [total]),
    Burst = ?NODE:run(Node, "Ls = lists:duplicate(1000, [1]),"
                      "lists:foreach(fun(_) -> lists:foreach("
                      "fun lists:last/1, Ls) end, lists:seq(1, " ++
                          integer_to_list(Thousands) ++ "))."),
    Peak = peak(Node, Burst, Cmd, 0),
    ct:comment("~b KiB more than before it began, ~b than before",
               [(Peak - Tracing) div 1024, (Peak - Memory) div 1024]),
    true = Peak - Tracing < 4 * 1024 * 1024,
    true = Peak - Memory < 16 * 1024 * 1024,
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := Status, out := Out} = ?LIB:wait(Cmd, 200000),
    #{<<"produced">> := P, <<"lost">> := Lost} = balanced(last_json(Out)),
    P = 1000 * Thousands,
    Status = case Lost of 0 -> 0; _ -> 7 end.

peak(Node, Burst, Cmd, Peak) ->
    More = max(Peak, ?NODE:call(Node, erlang, memory, [total])),
    ?LIB:ended(Cmd) andalso error({ended, ?LIB:wait(Cmd, 1000)}),
    case ?NODE:call(Node, erlang, is_process_alive, [Burst]) of
        false -> More;
        true -> timer:sleep(50), peak(Node, Burst, Cmd, More)
    end.

%% The spooler is paused by SIGSTOP until the rings are full. An event takes about 20 bytes.
events_are_lost(Config) ->
    Node = a_node(Config),
    {Buffer, Thousands} = inviso_test_lib:soak({"4M", 300}, {"16M", 1500}),
    Made = 1000 * Thousands,
    [begin
         Cmd = start(Config, Node, Args ++ ["--for", "200s", "--events", "0",
                                            "--buffer", Buffer, "--json",
                                            ?CALLS]),
         until_tracing(Config, Node, Cmd),
         [Spooler] = spoolers(Node),
         ok = ?LIB:signal(Spooler, "STOP"),
         _ = burst(Node, Thousands),
         ok = ?LIB:signal(Spooler, "CONT"),
         ok = ?LIB:signal(Cmd, "INT"),
         #{status := 7, out := Out, err := Err} = ?LIB:wait(Cmd, 100000),
         Facts = case hd(Args) of "trace" -> Err; _ -> Out end,
         #{<<"produced">> := Made, <<"lost">> := Lost} =
             balanced(last_json(Facts)),
         true = Lost > 0,
         %% The output of `inviso trace' has each loss at its place among the events.
         [Lost = lists:sum([N || #{<<"lost">> := N, <<"reason">> := _} <-
                                     ?LIB:json(Out)])
          || hd(Args) =:= "trace"]
     end || Args <- [["trace"], ["record", "-o", "o"]]].

spoolers(#{os_pid := OsPid}) ->
    Children = string:lexemes(os:cmd("ps -eo pid=,ppid=,comm="), "\n"),
    Facts = [string:lexemes(C, " ") || C <- Children],
    Top = integer_to_list(OsPid),
    Setups = [P || [P, Parent | _] <- Facts, Parent =:= Top],
    [list_to_integer(P) || [P, Parent, "inviso_spool" ++ _ | _] <- Facts,
                           lists:member(Parent, [Top | Setups])].

%%---------------------------------------------------------------------------
%% Protections

rate_ends_it(Config) ->
    Node = a_node(Config),
    Flood = flood(Node),
    #{status := 6, out := Out} =
        run(Config, Node, ["trace", "--events", "0", "--rate", "1000",
                           ?CALLS]),
    says(Out, "stopped: .*(rate|events (a|within a) second)"),
    true = ?NODE:call(Node, erlang, exit, [Flood, kill]).

overload_ends_it(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    Busy = ?NODE:eval(Node, "[spawn(fun() -> F = fun F() -> F() end, F() end)"
                      " || _ <- lists:seq(1, 50)]."),
    #{status := 6, out := Queue} =
        run(Config, Node, ["trace", "--for", "60s", "--max-run-queue", "3",
                           ?CALLS]),
    says(Queue, "run queue [0-9]+"),
    _ = ?NODE:many(Node, erlang, exit, [[P, kill] || P <- Busy]),
    #{status := 6, out := Memory} =
        run(Config, Node, ["trace", "--for", "60s", "--max-memory", "1",
                           ?CALLS]),
    says(Memory, "memory"),
    #{status := 6, out := Recorded} =
        run(Config, Node, ["record", "--for", "60s", "--max-memory", "1",
                           "-o", "o", ?CALLS]),
    says(Recorded, "memory"),
    [] = inviso_footprint:left(Before, Node, 90000).

%% Commands that start at the same time have different node names.
commands_at_once(Config) ->
    Node = a_node(Config),
    Cmds = [start(Config, Node, ["status", "--json"]) || _ <- lists:seq(1, 8)],
    [#{status := 0} = ?LIB:wait(C, 100000) || C <- Cmds],
    ok.

%%---------------------------------------------------------------------------
%% Difficult tracees

%% A process calls a function again and again with a huge argument, for instance of 100 MB. A slow
%% machine needs seconds to build the argument, so the trace begins after that.
huge_terms(Config) ->
    Node = a_node(Config),
    [begin
         Pid = ?NODE:run(Node, "T = " ++ Term ++ ", register(ready, self()),"
                         " L = fun L() ->"
                         " lists:last([T]), timer:sleep(100), L() end, L()."),
         ?LIB:until(fun() -> ?NODE:call(Node, erlang, whereis, [ready]) =:= Pid end),
         Result = run(Config, Node, ["trace", "--events", "6",
                                     "--json", "lists:last/1"]),
         true = ?NODE:call(Node, erlang, exit, [Pid, kill]),
         ?LIB:until(fun() -> ?NODE:call(Node, erlang, whereis, [ready])
                                 =:= undefined end),
         {Term, #{status := 0, out := Out, ms := Ms}} = {Term, Result},
         6 = length(?LIB:json(Out)),
         {Term, true} = {Term, byte_size(Out) < 200000},
         says(Out, "\"truncated\":"),
         ct:log("~s: ~b ms", [Term, Ms])
     end || Term <- ["lists:seq(1, 6000000)", "binary:copy(<<0>>, 100000000)",
                     "maps:from_keys(lists:seq(1, 500000), x)",
                     "lists:foldl(fun(_, A) -> [A] end, [],"
                     " lists:seq(1, 3000000))",
                     "list_to_tuple(lists:seq(1, 3000000))"]].

%% The last packet of the log is larger than the part of the log that the command gets with one
%% request.
thousands_of_threads(Config) ->
    Node = a_node(Config, #{args => ["+S", "1024:2", "+SDcpu", "1024:2",
                                     "+SDio", "1024"]}),
    Flood = flood(Node),
    #{status := 0, out := Out, err := Err} =
        run(Config, Node, ["trace", "--events", "10", "--json", ?CALLS]),
    10 = shown(Out),
    nomatch = re:run(Err, "damaged"),
    true = ?NODE:call(Node, erlang, exit, [Flood, kill]).

%% A trace of all messages has no messages of inviso's own processes.
all_messages(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "register(chatty, self()), L = fun L() ->"
                  " self() ! x, receive x -> ok end, timer:sleep(20), L() end,"
                  " L()."),
    #{status := 0, out := Out, err := Err} =
        run(Config, Node, ["trace", "--for", "100s", "--events", "600",
                           "--json", "send", "receive"]),
    #{<<"lost">> := 0} = last_json(Err),
    Own = list_to_binary(
            ?NODE:eval(Node, "pid_to_list(whereis(chatty)).")),
    Events = ?LIB:json(Out),
    {Its, Others} = lists:partition(fun(#{<<"pid">> := P}) -> P =:= Own end,
                                    Events),
    ct:comment("~b of ~b are of the workload", [length(Its), length(Events)]),
    true = length(Its) > 50,
    true = length(Others) < length(Its) + 300.

sensitive_process(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "process_flag(sensitive, true),"
                  " register(secret, self()), L = fun L() ->"
                  " lists:last([hidden]), timer:sleep(10), L() end, L()."),
    ?LIB:until(fun() -> ?NODE:call(Node, erlang, whereis, [secret]) =/=
                            undefined end),
    #{status := 5, out := Out, err := Err} =
        run(Config, Node, ["trace", "--for", "3s", "lists:last/1"]),
    nomatch = binary:match(Out, <<"hidden">>),
    says(Err, "sensitive"),
    #{status := 5, err := Only} =
        run(Config, Node, ["trace", "--for", "1s", "--procs", "secret",
                           "lists:last/1"]),
    says(Only, "sensitive").

%% The reader of the command's output pauses for longer than the node's tick time. The connection to
%% the node stays, and all events are printed when the reader continues.
output_is_not_read_for_a_while(Config) ->
    Node = a_node(Config, #{args => ["-kernel", "net_ticktime", "4"]}),
    _ = ?NODE:workload(Node, {worker, 1}),
    Pipe = ["/bin/sh", "-c", "\"$@\" | { sleep 15; cat; }", "sh"],
    #{out := Out, err := Err} =
        ?LIB:run((opts(Config, Node))#{wrap => Pipe},
                 ["trace", "-n", maps:get(name, Node), "--events", "3000",
                  "--for", "60s", "--json", "lists:seq/2"], 120000),
    3000 = length([E || #{<<"tag">> := _} = E <- ?LIB:json(Out)]),
    #{<<"shown">> := 3000, <<"lost">> := 0} = last_json(Err).

%% SIGSTOP pauses the node for 2 seconds, which is shorter than every deadline.
node_is_stopped_for_a_while(Config) ->
    #{os_pid := OsPid} = Node = a_node(Config),
    _ = ?NODE:workload(Node, {worker, 5}),
    Cmd = start(Config, Node, ["trace", "--events", "0", "--for", "100s",
                               "lists:seq/2"]),
    ?LIB:until(fun() -> ?LIB:out(Cmd) =/= <<>> end),
    ok = ?LIB:signal(OsPid, "STOP"),
    timer:sleep(2000),
    Size = byte_size(?LIB:out(Cmd)),
    ok = ?LIB:signal(OsPid, "CONT"),
    ?LIB:until(fun() -> byte_size(?LIB:out(Cmd)) > Size + 1000 end),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 60000).

%%---------------------------------------------------------------------------
%% Recordings

%% Each event of three nodes is in a log, or is counted as lost.
record_of_three_nodes(Config) ->
    Cookie = "three" ++ os:getpid(),
    Uid = ?LIB:some_uid(),
    [A | _] = Nodes = [a_node(Config, #{cookie => Cookie, uid => Uid})
                       || _ <- [1, 2, 3]],
    Prints = [{N, inviso_footprint:of_node(N)} || N <- Nodes],
    Names = lists:join(",", [maps:get(name, N) || N <- Nodes]),
    Cmd = ?LIB:start(opts(Config, A),
                     ["record", "-n", Names, "--for", "200s", "--json", "-o",
                      "o", ?CALLS], 240000),
    [until_tracing(Config, N, Cmd) || N <- Nodes],
    [?NODE:run(N, "register(burst, self()), Ls = lists:duplicate(1000, [1]),"
               " lists:foreach(fun(_) -> lists:foreach(fun lists:last/1, Ls)"
               " end, lists:seq(1, 300)).") || N <- Nodes],
    [burst(N, 200) || N <- Nodes],
    [?LIB:until(fun() -> ?NODE:call(N, erlang, whereis, [burst]) =:= undefined
                end) || N <- Nodes],
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := Status, out := Out} = ?LIB:wait(Cmd, 100000),
    #{<<"nodes">> := 3, <<"produced">> := 1500000, <<"lost">> := Lost,
      <<"recorded">> := Recorded} = balanced(last_json(Out)),
    Status = case Lost of 0 -> 0; _ -> 7 end,
    Logs = filelib:wildcard(filename:join(maps:get(cwd, Cmd), "o/*.log")),
    3 = length(Logs),
    Timeline = filename:join(maps:get(cwd, Cmd), "all"),
    #{status := Status} =
        ?LIB:run(opts(Config, A), ["merge", "-f", "json", "-o", Timeline |
                                   Logs], 120000),
    {Recorded, Lost} = count_lines(Timeline),
    [[] = ?LIB:until_same(
             fun() ->
                     Now = inviso_footprint:of_node(N),
                     %% Processes of the operating system are not compared,
                     %% because all three nodes run as the same user.
                     [D || {What, _, _} = D <-
                               inviso_footprint:differences(Before, Now),
                           What =/= os_processes]
             end, 90000) || {N, Before} <- Prints].

%% Counts the events and the reported losses in the output of a merge. Checks
%% that the events are in the order of their times.
count_lines(File) ->
    {ok, Fd} = file:open(File, [read, raw, binary, {read_ahead, 1 bsl 20}]),
    Counts = count_lines(Fd, file:read_line(Fd), 0, 0, 0),
    ok = file:close(Fd),
    Counts.

count_lines(_Fd, eof, _Last, Events, Lost) ->
    {Events, Lost};
count_lines(Fd, {ok, <<"{\"ts\":", Rest/binary>>}, Last, Events, Lost) ->
    [Time | _] = binary:split(Rest, <<",">>),
    Ts = binary_to_integer(Time),
    true = Ts >= Last,
    count_lines(Fd, file:read_line(Fd), Ts, Events + 1, Lost);
count_lines(Fd, {ok, Line}, Last, Events, Lost) ->
    #{<<"lost">> := N} = inviso_trace_json:decode(string:trim(Line)),
    count_lines(Fd, file:read_line(Fd), Last, Events, Lost + N).

%% The log has the last calls, and the first calls were overwritten. The node has only one
%% scheduler, because each scheduler keeps its newest events in its own ring.
flight_recorder(Config) ->
    Node = a_node(Config, #{args => ["+S", "1:1"]}),
    Cmd = start(Config, Node, ["record", "--keep", "newest", "--for", "200s",
                               "--buffer", "4M", "--json", "-o", "o",
                               "lists:seq/2 [{'_',[],[]}]"]),
    until_tracing(Config, Node, Cmd),
    Text = "lists:foldl(fun(N, _) -> lists:seq(N, N) end, 0,"
           " lists:seq(1, 300000)).",
    _ = ?NODE:eval(Node, Text),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 7, out := Out} = ?LIB:wait(Cmd, 60000),
    #{<<"recorded">> := R, <<"lost">> := L} = balanced(last_json(Out)),
    true = R > 1000 andalso L > 1000,
    [Log] = filelib:wildcard(filename:join(maps:get(cwd, Cmd), "o/*.log")),
    #{status := 7, out := Merged} =
        ?LIB:run(opts(Config, Node), ["merge", "-f", "json", Log]),
    _ = [says(Merged, io_lib:format("{lists,seq,\\[~b,~b\\]}", [N, N]))
         || N <- [299001, 299500, 300000]],
    nomatch = binary:match(Merged, <<"{lists,seq,[1,1]}">>).

detached(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    #{status := 2} = run(Config, Node, ["record", "--detach", ?CALLS]),
    #{status := 0, out := Started} =
        run(Config, Node, ["record", "--detach", "--for", "250s", "--name",
                           "night", ?CALLS]),
    says(Started, "night"),
    %% A second recording cannot have the name of a running recording.
    #{status := Taken, err := Why} =
        run(Config, Node, ["record", "--detach", "--for", "10s", "--name",
                           "night", "lists:append/2"]),
    true = Taken =/= 0,
    says(Why, "night"),
    burst(Node, 100),
    %% A session that is not detached would end in this pause, because it gets no request.
    timer:sleep(13000),
    burst(Node, 100),
    ?LIB:until(fun() -> recorded(Config, Node) =:= 200000 end),
    %% `inviso fetch' refuses a recording that still runs.
    #{status := Running} = run(Config, Node, ["fetch", "night"]),
    true = Running =/= 0,
    #{status := 0} = run(Config, Node, ["stop", "night"]),
    #{<<"sessions">> := [#{<<"state">> := <<"stopped">>}]} =
        status(Config, Node),
    #{status := 5} = run(Config, Node, ["stop", "nothing"]),
    #{status := 5} = run(Config, Node, ["fetch", "nothing"]),
    Fetch = start(Config, Node, ["fetch", "night", "-o", "o"]),
    #{status := 0} = ?LIB:wait(Fetch, 60000),
    [Log] = filelib:wildcard(filename:join(maps:get(cwd, Fetch), "o/*.log")),
    {ok, Info} = file:read_file_info(Log),
    8#600 = element(8, Info) band 8#777,
    [] = inviso_footprint:left(Before, Node, 90000),
    #{status := 5} = run(Config, Node, ["fetch", "night"]),
    #{status := 0, out := Merged} =
        ?LIB:run(opts(Config, Node), ["merge", "-f", "json", Log], 60000),
    200000 = length(?LIB:lines(Merged)).

recorded(Config, Node) ->
    #{<<"sessions">> := [#{<<"recorded">> := N, <<"state">> := <<"tracing">>}]}
        = status(Config, Node),
    N.

detached_and_removed(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    #{status := 0} =
        run(Config, Node, ["record", "--detach", "--for", "250s", "--name",
                           "x", ?CALLS]),
    #{status := 0} = run(Config, Node, ["stop", "--remove", "x"]),
    [] = inviso_footprint:left(Before, Node, 90000),
    %% A recording that reaches its time limit stops tracing and leaves its log on the node.
    #{status := 0} =
        run(Config, Node, ["record", "--detach", "--for", "3s", "--name",
                           "y", ?CALLS]),
    ?LIB:until(fun() ->
                       #{<<"sessions">> := [#{<<"state">> := S}]} =
                           status(Config, Node),
                       S =:= <<"stopped">>
               end),
    #{patterns := [], traced := []} = inviso_footprint:of_node(Node),
    #{status := 0} = run(Config, Node, ["fetch", "y", "-o", "o"]),
    [] = inviso_footprint:left(Before, Node, 90000).

%% The first fetch is interrupted by a limit on the size of files. A kill or a full disk has the
%% same effect. The next fetch continues where the first fetch ended.
fetch_is_interrupted(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    #{status := 0} =
        run(Config, Node, ["record", "--detach", "--for", "250s", "--bytes",
                           "2G", "--name", "big", ?CALLS]),
    Thousands = inviso_test_lib:soak(1000, 5000),
    burst(Node, Thousands),
    #{status := Stopped} = run(Config, Node, ["stop", "big"]),
    true = lists:member(Stopped, [0, 7]),
    Dir = filename:join(?config(base, Config), "big"),
    ok = file:make_dir(Dir),
    ok = file:change_owner(Dir, maps:get(uid, Node)),
    Limit = ["/bin/sh", "-c", "ulimit -f 10000; exec \"$@\"", "sh"],
    #{status := Ended} =
        ?LIB:run((opts(Config, Node))#{wrap => Limit},
                 ["fetch", "-n", maps:get(name, Node), "big", "-o", Dir]),
    true = Ended =/= 0,
    {Name, Size} = part(Dir),
    true = Size >= 1000000,
    #{status := Status} = run(Config, Node, ["fetch", "big", "-o", Dir]),
    true = lists:member(Status, [0, 7]),
    Log = filename:rootname(Name),
    true = filelib:file_size(Log) >= Size,
    false = filelib:is_file(Name),
    [] = inviso_footprint:left(Before, Node, 90000),
    Timeline = filename:join(Dir, "all"),
    #{status := Status} =
        ?LIB:run(opts(Config, Node), ["merge", "-f", "json", "-o", Timeline,
                                      Log], 120000),
    {Events, Lost} = count_lines(Timeline),
    Events + Lost =:= 1000 * Thousands orelse error({Events, Lost}).

%% If a log does not fit on the command's disk, the log stays on the node.
record_cannot_fetch(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    Dir = filename:join(?config(base, Config), "small"),
    ok = file:make_dir(Dir),
    ok = file:change_owner(Dir, maps:get(uid, Node)),
    Limit = ["/bin/sh", "-c", "ulimit -f 1000; exec \"$@\"", "sh"],
    Cmd = ?LIB:start((opts(Config, Node))#{wrap => Limit},
                     ["record", "-n", maps:get(name, Node), "--name", "much",
                      "--for", "200s", "-o", Dir, ?CALLS], 250000),
    until_tracing(Config, Node, Cmd),
    _ = burst(Node, 200),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 1, err := Err} = ?LIB:wait(Cmd, 100000),
    says(Err, "stay on the nodes .*inviso fetch -n .* much -o "),
    %% In this pause the session gets no request. A running session would end, but this session has
    %% stopped, so it stays.
    timer:sleep(12000),
    #{status := Status} = run(Config, Node, ["fetch", "much", "-o", Dir]),
    true = lists:member(Status, [0, 7]),
    [_] = filelib:wildcard(filename:join(Dir, "*.log")),
    %% `inviso record' refuses to start if the file for the log exists already.
    #{status := 1, err := There} =
        run(Config, Node, ["record", "--name", "much", "--for", "200s", "-o",
                           Dir, ?CALLS]),
    says(There, "exists already: use another --name"),
    [] = inviso_footprint:left(Before, Node, 90000).

part(Dir) ->
    [Name] = filelib:wildcard(filename:join(Dir, "*.part")),
    {Name, filelib:file_size(Name)}.
