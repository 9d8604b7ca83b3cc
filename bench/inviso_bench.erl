%% SPDX-License-Identifier: Apache-2.0
%% Measures what inviso costs, and in the same run what its peers cost: an empty
%% tracer, OTP's tracers, dbg. Prints a table and writes it as JSON.
%%
%% Times vary between runs. So the rounds of inviso and of its peers alternate,
%% and medians or quartiles of the rounds are compared.
-module(inviso_bench).
-export([main/1]).
-export([json/1]). % for bench/real
-export([f/2, loop/1]). % traced

-define(CALLS, 300000).
%% In each round, each tracer is measured with a few calls, so that other work on the machine
%% affects all tracers alike. The result for a tracer is the lower quartile of its rounds, which
%% other work affects least.
-define(SHORT_CALLS, 20000).
-define(SHORT_ROUNDS, 60).
-define(MERGED, 1000000).

main([Out, Dir, Command]) ->
    ok = empty_tracer:load(Dir),
    ok = inviso_tracer:load(),
    Work = filename:join(Dir, "work-" ++ os:getpid()),
    ok = file:make_dir(Work),
    Rows = try
               call_rows(Work) ++ pair_rows(Work) ++ counted_rows(Work)
                   ++ filter_rows(Work)
                   ++ session_rows(Dir) ++ untraced_rows(Work)
                   ++ flame_rows(Work)
                   ++ seq_rows(Work, Command)
                   ++ cpu_rows(Work) ++ size_rows(Work) ++ flood_rows(Work)
                   ++ merge_rows(Work, Command) ++ lfm_rows(Work)
                   ++ attach_rows(Work, Command) ++ cost_rows(Work, Command)
           after
               [file:delete(F) || F <- filelib:wildcard(Work ++ "/*")],
               file:del_dir(Work)
           end,
    print(Rows),
    ok = file:write_file(Out, json(Rows)),
    halt(0).

%% Returns a row {Name, Value, Unit, Peer's name, Value / peer's value}. The peer is what the value
%% is compared with, for example another tracer. If there is no peer, the last two elements are
%% `none'.
row(Name, Value, Unit) -> {Name, Value, Unit, none, none}.
row(Name, Value, Unit, Against, Peer) ->
    {Name, Value, Unit, Against, Value / max(Peer, 1.0e-9)}.

%%---------------------------------------------------------------------------
%% The time of a traced call in the traced process

f(A, B) -> {A, B}.

loop(0) -> ok;
loop(N) ->
    ?MODULE:f({get, N}, [a, b, <<"hello world">>]),
    loop(N - 1).

call_rows(Work) ->
    progress("call event"),
    Tracers = [{T, start_tracer(T, Work)}
               || T <- [untraced, empty, inviso, count, session, process, file]],
    Rounds = [[{T, traced_calls(Tracer, ?SHORT_CALLS)}
               || {T, {Tracer, _}} <- Tracers]
              || _ <- lists:seq(1, ?SHORT_ROUNDS)],
    Lost = lists:sum([Stop() || {_, {_, Stop}} <- Tracers]),
    Ns = fun(T) -> quartile([proplists:get_value(T, R) || R <- Rounds]) end,
    Empty = Ns(empty),
    [row("call, not traced", Ns(untraced), "ns"),
     row("call, empty NIF tracer", Empty, "ns"),
     row("call, inviso", Ns(inviso), "ns", "empty NIF", Empty),
     row("call, inviso counts it", Ns(count), "ns", "empty NIF", Empty),
     row("call, inviso in a trace session", Ns(session), "ns",
         "call, inviso", Ns(inviso)),
     row("call, process tracer", Ns(process), "ns", "empty NIF", Empty),
     row("call, file port", Ns(file), "ns", "empty NIF", Empty),
     row("events lost meanwhile, inviso", Lost, "events")].

pair_rows(Work) ->
    progress("call and return"),
    inviso_bench_pairs:rows(Work, fun row/5).

%%---------------------------------------------------------------------------
%% Calls that are counted or timed, and not recorded. Their events have no arguments,
%% as with `inviso count' and `inviso hist'.

counted_rows(Work) ->
    progress("counts and times"),
    Tracers = [{T, {arity, Spec, Tracer}, Stop}
               || {T, Kind, Spec} <- [{empty, empty, true}, {count, count, true},
                                      {empty_pair, empty, ends()},
                                      {times, times, ends()},
                                      {results, results, ends()},
                                      {empty_value, empty, value()},
                                      {values, values, value()},
                                      {empty_both, empty, value_and_end()},
                                      {by_value, by_value, value_and_end()},
                                      {process, process, ends()}],
                  {Tracer, Stop} <- [start_tracer(Kind, Work)]],
    Rounds = [[{T, traced_calls(Tracer, ?SHORT_CALLS)}
               || {T, Tracer, _} <- Tracers]
              || _ <- lists:seq(1, ?SHORT_ROUNDS)],
    Lost = lists:sum([Stop() || {_, _, Stop} <- Tracers]),
    Ns = fun(T) -> quartile([proplists:get_value(T, R) || R <- Rounds]) end,
    [row("call without arguments, empty NIF", Ns(empty), "ns"),
     row("call without arguments, inviso counts it", Ns(count), "ns",
         "empty NIF", Ns(empty)),
     row("call and return, empty NIF", Ns(empty_pair), "ns"),
     row("call and return, inviso times them", Ns(times), "ns",
         "empty NIF, the pair", Ns(empty_pair)),
     row("call and return, inviso counts by result", Ns(results), "ns",
         "empty NIF, the pair", Ns(empty_pair)),
     row("call with a value, empty NIF", Ns(empty_value), "ns"),
     row("call with a value, inviso adds it to a histogram", Ns(values), "ns",
         "empty NIF, the value", Ns(empty_value)),
     row("call with a value and return, empty NIF", Ns(empty_both), "ns"),
     row("call with a value and return, inviso times them by the value",
         Ns(by_value), "ns", "empty NIF, value and end", Ns(empty_both)),
     row("call and return, process tracer", Ns(process), "ns",
         "empty NIF, the pair", Ns(empty_pair)),
     row("events not timed meanwhile", Lost, "events")].

ends() -> [{'_', [], [{exception_trace}]}].

%% Returns a match spec that puts the length of the second argument into the event, as `inviso hist
%% --of length(A2)' does.
value() -> [{['_', '$1'], [], [{message, {{{length, '$1'}}}}]}].

value_and_end() -> [{Head, Guards, Body ++ [{exception_trace}]}
                    || {Head, Guards, Body} <- value()].

%%---------------------------------------------------------------------------
%% The time of a call with a condition: once in the function's match spec, which
%% the VM evaluates, and once in the tracer's filter

filter_rows(Work) ->
    progress("filter in the node"),
    Yes = {'>', '$1', 0},
    No = {'<', '$1', 0},
    Tracers = [{Kind, of_spec(Kind, Work)}
               || Kind <- [all, {vm, Yes}, {ours, Yes}, {vm, No}, {ours, No}]],
    Rounds = [[{T, traced_calls(Tracer, ?SHORT_CALLS)}
               || {T, {Tracer, _}} <- Tracers]
              || _ <- lists:seq(1, ?SHORT_ROUNDS)],
    [Stop() || {_, {_, Stop}} <- Tracers],
    Ns = fun(T) -> quartile([proplists:get_value(T, R) || R <- Rounds]) end,
    [row("call, inviso, a filter that it matches", Ns({ours, Yes}), "ns",
         "a match spec of the VM's", Ns({vm, Yes})),
     row("call, inviso, a filter that leaves it out", Ns({ours, No}), "ns",
         "a match spec of the VM's", Ns({vm, No})),
     row("call, inviso, no filter", Ns(all), "ns",
         "left out by a filter", Ns({ours, No}))].

of_spec(all, Work) ->
    start_tracer({inviso, #{}, "all.log"}, Work);
of_spec({vm, Guard}, Work) ->
    Spec = [{[{get, '$1'}, '_'], [Guard, {is_integer, '$1'}], []}],
    {Tracer, Stop} = start_tracer({inviso, #{}, log(vm, Guard)}, Work),
    {{spec, Spec, Tracer}, Stop};
of_spec({ours, Guard}, Work) ->
    Spec = [{['_', call, {?MODULE, f, [{get, '$1'}, '_']}],
             [Guard, {is_integer, '$1'}], []}],
    start_tracer({inviso, #{filter => Spec}, log(ours, Guard)}, Work).

log(Kind, {Operator, _, _}) ->
    lists:concat([Kind, Operator, ".log"]).

%% Opens a tracer that counts or times calls. The function Begin tells the tracer what to count. If
%% Ends is true, the tracer pairs calls with their ends.
aggregating(Name, Work, Ends, Begin) ->
    {ok, {M, S} = T} = inviso_tracer:open(filename:join(Work, Name), #{replace => true}),
    Processes = erlang:system_info(process_limit),
    true = not Ends orelse inviso_tracer:nif_bound(S, 1000, Processes),
    _ = Ends andalso inviso_tracer:nif_ends(S, ?MODULE, [{f, 2}], all),
    true = Begin(S, Processes),
    {{tracer, M, S}, fun() ->
                             {ok, #{dropped := D}} = inviso_tracer:close(T),
                             D
                     end}.

%% Returns {Nanoseconds per call, number of events lost}.
timed_calls(Kind, Work, N) ->
    {Tracer, Stop} = start_tracer(Kind, Work),
    Ns = traced_calls(Tracer, N),
    {Ns, Stop()}.

traced_calls(Tracer, N) ->
    Self = self(),
    Pid = spawn_link(fun() ->
                             receive go -> ok end,
                             loop(1000),
                             T0 = erlang:monotonic_time(nanosecond),
                             loop(N),
                             T1 = erlang:monotonic_time(nanosecond),
                             Self ! {self(), (T1 - T0) / N},
                             receive stop -> ok end
                     end),
    arm(Pid, Tracer),
    Pid ! go,
    Ns = receive {Pid, X} -> X end,
    disarm(Pid, Tracer),
    unlink(Pid),
    Pid ! stop,
    Ns.

arm(_Pid, none) -> ok;
arm(Pid, {session, S}) ->
    1 = inviso_trace:function(S, {?MODULE, f, 2}, true, [local]),
    1 = inviso_trace:process(S, Pid, true, [call]);
arm(Pid, {spec, Spec, Tracer}) ->
    erlang:trace_pattern({?MODULE, f, 2}, Spec, [local]),
    1 = erlang:trace(Pid, true, [call, Tracer]);
arm(Pid, {arity, Spec, Tracer}) ->
    erlang:trace_pattern({?MODULE, f, 2}, Spec, [local]),
    1 = erlang:trace(Pid, true, [call, arity, Tracer]);
arm(Pid, Tracer) ->
    arm(Pid, {spec, true, Tracer}).

disarm(_Pid, none) -> ok;
disarm(Pid, {session, S}) ->
    1 = inviso_trace:process(S, Pid, false, [all]),
    1 = inviso_trace:function(S, {?MODULE, f, 2}, false, [local]);
disarm(Pid, _Tracer) ->
    erlang:trace(Pid, false, [all]),
    erlang:trace_pattern({?MODULE, f, 2}, false, [local]).

start_tracer(untraced, _Work) ->
    {none, fun() -> 0 end};
start_tracer(empty, _Work) ->
    {{tracer, empty_tracer, 1}, fun() -> 0 end};
start_tracer(process, _Work) ->
    Pid = spawn(fun sink/0),
    {{tracer, Pid}, fun() -> exit(Pid, kill), 0 end};
start_tracer(file, Work) ->
    File = filename:join(Work, "port.trace"),
    Port = (dbg:trace_port(file, File))(),
    {{tracer, Port}, fun() -> flush_port(Port), 0 end};
start_tracer(inviso, Work) ->
    start_tracer({inviso, #{}}, Work);
start_tracer(count, Work) ->
    File = filename:join(Work, "count.log"),
    {ok, {M, S} = T} = inviso_tracer:open(File, #{replace => true}),
    true = inviso_tracer:nif_tally(S, function),
    {{tracer, M, S}, fun() ->
                             {ok, #{dropped := D}} = inviso_tracer:close(T),
                             D
                     end};
start_tracer(times, Work) ->
    aggregating("times.log", Work, true,
                fun(S, Processes) -> inviso_tracer:nif_times(S, function, Processes) end);
start_tracer(by_value, Work) ->
    aggregating("by_value.log", Work, true,
                fun(S, Processes) -> inviso_tracer:nif_times(S, value, Processes) end);
start_tracer(results, Work) ->
    aggregating("results.log", Work, true,
                fun(S, _) -> inviso_tracer:nif_tally(S, result) end);
start_tracer(values, Work) ->
    aggregating("values.log", Work, false,
                fun(S, _) -> inviso_tracer:nif_times(S, function, value) end);
start_tracer(session, Work) ->
    File = filename:join(Work, "session.log"),
    {ok, T} = inviso_tracer:open(File, #{replace => true}),
    Session = inviso_trace:session_create(bench, T, []),
    {{session, Session}, fun() ->
                                 true = inviso_trace:session_destroy(Session),
                                 {ok, #{dropped := D}} = inviso_tracer:close(T),
                                 D
                         end};
start_tracer({inviso, Opts}, Work) ->
    start_tracer({inviso, Opts, "inviso.log"}, Work);
start_tracer({inviso, Opts, Name}, Work) ->
    File = filename:join(Work, Name),
    {ok, {M, S} = T} = inviso_tracer:open(File, Opts#{replace => true}),
    {{tracer, M, S}, fun() ->
                             {ok, #{dropped := D}} = inviso_tracer:close(T),
                             D
                     end}.

sink() -> receive _ -> sink() end.

flush_port(Port) ->
    erlang:port_control(Port, $f, ""),
    port_close(Port).

session_rows(Dir) ->
    progress("trace sessions"),
    inviso_bench_sessions:rows(Dir, fun row/5).

%%---------------------------------------------------------------------------
%% The cost for processes that are not traced, while another process is traced

untraced_rows(Work) ->
    progress("processes not traced"),
    {Tracer, Stop} = start_tracer(inviso, Work),
    Pid = spawn(fun() -> receive stop -> ok end end),
    Rounds = [begin
                  Without = timed_work(),
                  arm(Pid, Tracer),
                  With = timed_work(),
                  disarm(Pid, Tracer),
                  {Without, With}
              end || _ <- lists:seq(1, ?SHORT_ROUNDS)],
    Pid ! stop,
    Stop(),
    {Without, With} = lists:unzip(Rounds),
    [row("work of others while one is traced", quartile(With), "ns",
         "none traced", quartile(Without))].

seq_rows(Work, Merger) ->
    progress("sequential tracing"),
    Rate = fun(Options, Logs, N) -> merge_rate(Merger, Options, Logs, N) end,
    [case Against of
         "nothing" -> row(Name, Value, Unit);
         _ -> row(Name, Value, Unit, Against, Peer)
     end || {Name, Value, Unit, Against, Peer} <- inviso_bench_seq:rows(Work, Rate)].

timed_work() ->
    Self = self(),
    N = 20000,
    Pid = spawn_link(fun() ->
                             T0 = erlang:monotonic_time(nanosecond),
                             work(N, []),
                             T1 = erlang:monotonic_time(nanosecond),
                             Self ! {self(), (T1 - T0) / N}
                     end),
    receive {Pid, Ns} -> Ns end.

work(0, Acc) -> Acc;
work(N, Acc) ->
    L = lists:reverse(lists:seq(1, 10), Acc),
    self() ! {N, L},
    receive {N, _} -> ok end,
    work(N - 1, [N rem 7]).

%%---------------------------------------------------------------------------
%% How much work a busy node does while the stacks of its processes are sampled

flame_rows(Work) ->
    progress("stacks"),
    {Without, With} = inviso_bench_flame:rates(Work),
    Plain = median(Without),
    %% Rates are compared within a round, because the machine's speed changes.
    Ratio = median([Y / X || {X, Y} <- lists:zip(Without, With)]),
    [row("busy schedulers, 10,000 processes", Plain, "/s"),
     row("the same, stacks sampled at 100 Hz", Ratio * Plain, "/s", "not sampled",
         Plain)].

%%---------------------------------------------------------------------------
%% CPU of the node and the spooler together

cpu_rows(Work) ->
    progress("CPU of the whole machine"),
    Rounds = [{cpu_ns(untraced, Work), cpu_ns(inviso, Work),
               cpu_ns({inviso, #{compress => zstd}}, Work),
               cpu_ns(file, Work)}
              || _ <- lists:seq(1, 5)],
    Net = fun(I) -> median([element(I, R) - element(1, R) || R <- Rounds]) end,
    [row("CPU an event, file port", Net(4), "ns"),
     row("CPU an event, inviso", Net(2), "ns", "file port", Net(4)),
     row("CPU an event, inviso with zstd", Net(3), "ns", "file port", Net(4))].

%% Returns the CPU time (user and system) per call, in nanoseconds, of all processes of the
%% benchmark.
cpu_ns(Kind, Work) ->
    N = 2 * ?CALLS,
    C0 = cpu_ticks(),
    timed_calls(Kind, Work, N),
    (cpu_ticks() - C0) * 10000000 / N.

%% Returns the CPU time of the node, of erl_child_setup, and of their children that have ended, such
%% as the spoolers.
cpu_ticks() ->
    lists:sum([ticks(Pid) || Pid <- [os:getpid() | children(os:getpid())]]).

children(Pid) ->
    Path = "/proc/" ++ Pid ++ "/task/" ++ Pid ++ "/children",
    case file:read_file(Path) of
        {ok, Bin} -> string:lexemes(binary_to_list(Bin), " \n");
        _ -> []
    end.

ticks(Pid) ->
    case file:read_file("/proc/" ++ Pid ++ "/stat") of
        {ok, Bin} ->
            [_, After] = string:split(Bin, ") ", trailing),
            Fields = string:lexemes(After, " "),
            lists:sum([binary_to_integer(F)
                       || F <- lists:sublist(Fields, 12, 4)]);
        _ -> 0
    end.

%%---------------------------------------------------------------------------
%% Bytes in the log for each event, with varied payloads

size_rows(Work) ->
    progress("bytes of varied events"),
    N = 100000,
    File = sized(file, "port.trace", Work, N),
    Plain = sized(inviso, "inviso.log", Work, N),
    Zstd = sized({inviso, #{compress => zstd}}, "inviso.log", Work, N),
    [row("log bytes an event, file port", File, "bytes"),
     row("log bytes an event, inviso", Plain, "bytes", "file port", File),
     row("log bytes an event, inviso with zstd", Zstd, "bytes", "file port",
         File)].

sized(Kind, Name, Work, N) ->
    {Tracer, Stop} = start_tracer(Kind, Work),
    run_varied(Tracer, N),
    0 = Stop(),
    timer:sleep(100),
    filelib:file_size(filename:join(Work, Name)) / N.

run_calls(Tracer, N) ->
    run_traced(Tracer, fun() -> loop(N) end).

run_varied(Tracer, N) ->
    run_traced(Tracer, fun() -> rand:seed(exsss, {1, 2, 3}), varied(N) end).

run_traced(Tracer, Fun) ->
    Self = self(),
    Pid = spawn_link(fun() ->
                             receive go -> ok end,
                             Fun(),
                             Self ! {self(), done},
                             receive stop -> ok end
                     end),
    arm(Pid, Tracer),
    Pid ! go,
    receive {Pid, done} -> ok end,
    disarm(Pid, Tracer),
    unlink(Pid),
    Pid ! stop.

varied(0) -> ok;
varied(N) ->
    ?MODULE:f({request, N}, payload(rand:uniform(8), N)),
    varied(N - 1).

payload(1, N) -> {ok, N, self()};
payload(2, N) -> [{id, N}, {name, <<"user", (integer_to_binary(N))/binary>>}];
payload(3, N) -> #{key => N, status => active, tags => [red, green]};
payload(4, _) -> {'$gen_call', {self(), make_ref()}, get_state};
payload(5, N) -> "a string of some length " ++ integer_to_list(N);
payload(6, N) -> {error, {timeout, N * 1.5}};
payload(7, N) -> lists:seq(N, N + 5);
payload(8, _) -> <<"GET /index.html HTTP/1.1">>.

%%---------------------------------------------------------------------------
%% Memory in a flood

flood_rows(Work) ->
    progress("flood of 10 M events"),
    {ok, {M, S} = T} = inviso_tracer:open(filename:join(Work, "inviso.log"),
                                          #{replace => true,
                                            rotate => #{bytes => 67108864,
                                                        count => 2}}),
    Before = rss(),
    #{ring_bytes := Rings} = inviso_tracer:info(T),
    Self = self(),
    Pids = [spawn_link(fun() ->
                               receive go -> ok end,
                               loop(5000000),
                               Self ! {self(), done},
                               receive stop -> ok end
                       end) || _ <- [1, 2]],
    [arm(P, {tracer, M, S}) || P <- Pids],
    [P ! go || P <- Pids],
    Peak = watch(Pids, Before),
    [begin unlink(P), P ! stop end || P <- Pids],
    erlang:trace_pattern({?MODULE, f, 2}, false, [local]),
    {ok, #{produced := Produced, recorded := Recorded, dropped := Dropped}} =
        inviso_tracer:close(T),
    Produced = Recorded + Dropped,
    [row("memory growth in a flood of 10 M events", (Peak - Before) / 1048576,
         "MiB", "rings", Rings / 1048576),
     row("flood: events recorded", Recorded, "events", "offered", Produced)].

%% Samples this node's resident memory until each of the processes has sent `done'. Returns the
%% largest value. The value includes the memory of the rings, which is resident from the start.
watch([], Peak) -> Peak;
watch([Pid | Rest], Peak) ->
    receive {Pid, done} -> watch(Rest, max(Peak, rss()))
    after 50 -> watch([Pid | Rest], max(Peak, rss()))
    end.

rss() ->
    {ok, Bin} = file:read_file("/proc/self/status"),
    {match, [Kb]} = re:run(Bin, "VmRSS:\\s+(\\d+) kB",
                           [{capture, all_but_first, list}]),
    list_to_integer(Kb) * 1024.

%%---------------------------------------------------------------------------
%% Merge to text

merge_rows(Work, Merger) ->
    progress("merge to text"),
    {OursCalls, DbgCalls} = merge_rates(fun run_calls/2, Work, Merger),
    Json = calls_rate(["--format", "json"], Work, Merger),
    Timeline = calls_rate(["--format", "perfetto"], Work, Merger),
    Spans = calls_rate(["--format", "otlp-proto"], Work, Merger),
    %% The filter selects one event in a thousand, so most of the work is reading and matching.
    Filter = calls_rate(["--filter", "_:_({get,N}, _) when N rem 1000 == 7"],
                        Work, Merger),
    Parquet = tables_rate("parquet", Work, Merger),
    Sqlite = tables_rate("sqlite", Work, Merger),
    {Ours, Dbg} = merge_rates(fun run_varied/2, Work, Merger),
    Unit = "events/s of CPU",
    [row("merge to text, calls, dbg's formatting", DbgCalls, Unit),
     row("merge to text, calls, inviso", OursCalls, Unit, "dbg", DbgCalls),
     row("merge to JSON, calls, inviso", Json, Unit, "to text", OursCalls),
     row("merge to Perfetto, calls, inviso", Timeline, Unit, "to text", OursCalls),
     row("merge to Parquet, calls, inviso", Parquet, Unit, "to text", OursCalls),
     row("merge to SQLite, calls, inviso", Sqlite, Unit, "to text", OursCalls),
     row("merge to OTLP, calls, inviso", Spans, Unit, "to text", OursCalls),
     row("merge --filter, 1 call in 1000, inviso", Filter, Unit,
         "all of them", OursCalls),
     row("merge to text, varied, dbg's formatting", Dbg, Unit),
     row("merge to text, varied, inviso", Ours, Unit, "dbg", Dbg)].

%% Merges the log of run_calls/2 into tables. Each run writes new files.
tables_rate(Format, Work, Merger) ->
    Log = filename:join(Work, "inviso.log"),
    Out = filename:join(Work, "merged." ++ Format),
    median([begin
                _ = file:del_dir_r(Out),
                merge_rate(Merger, ["--format", Format, "-o", Out], [Log],
                           ?MERGED)
            end || _ <- [1, 2, 3]]).

%% Merges the log of run_calls/2 to /dev/null with these options.
calls_rate(Options, Work, Merger) ->
    Log = filename:join(Work, "inviso.log"),
    median([merge_rate(Merger, Options, [Log], ?MERGED)
            || _ <- [1, 2, 3]]).

merge_rates(Run, Work, Merger) ->
    N = ?MERGED,
    Log = filename:join(Work, "inviso.log"),
    {Tracer, Stop} = start_tracer({inviso, #{buffer_bytes => 134217728}}, Work),
    Run(Tracer, N),
    0 = Stop(),
    Ours = median([merge_rate(Merger, [], [Log], N) || _ <- [1, 2, 3]]),
    Port = filename:join(Work, "port.trace"),
    Small = 50000,
    {PortTracer, PortStop} = start_tracer(file, Work),
    Run(PortTracer, Small),
    0 = PortStop(),
    timer:sleep(100),
    {Ours, median([dbg_rate(Port, Small, Work) || _ <- [1, 2, 3]])}.

%% Returns the number of merged events per second of CPU time. The CPU time is the sum of the times
%% of the merge and of this node. The output goes to /dev/null, because writing 400 MB of JSON to a
%% file would take the file system more time than the merge takes.
merge_rate(Merger, Options, Logs, N) ->
    T0 = cpu_ticks(),
    P = open_port({spawn_executable, Merger},
                  [{args, ["merge", "-o", "/dev/null"] ++ Options ++ Logs},
                   exit_status, stderr_to_stdout]),
    0 = exit_status(P),
    N * 100 / max(1, cpu_ticks() - T0).

exit_status(P) ->
    receive
        {P, {data, _}} -> exit_status(P);
        {P, {exit_status, S}} -> S
    end.

dbg_rate(File, N, Work) ->
    {ok, Fd} = file:open(filename:join(Work, "dbg.txt"),
                         [write, delayed_write]),
    T0 = cpu_ticks(),
    Pid = dbg:trace_client(file, File, {fun dbg:dhandler/2, Fd}),
    Mon = monitor(process, Pid),
    receive {'DOWN', Mon, _, _, _} -> ok end,
    Rate = N * 100 / max(1, cpu_ticks() - T0),
    file:close(Fd),
    Rate.

%%---------------------------------------------------------------------------
%% How many events per second inviso_lfm:merge/2 merges from the logs and ti files of two nodes

%% The original Inviso merged this many events per second in its best run, with OTP R15 on a quiet
%% machine, for two nodes with 200 000 calls each. The number is a constant, because current
%% releases of OTP do not contain the original Inviso.
-define(ORIGINAL_MERGE, 34000).

lfm_rows(Work) ->
    progress("inviso_lfm:merge/2"),
    N = 400000,
    Nodes = [lfm_node(Work, Node, N) || Node <- ['a@host', 'b@host']],
    Files = [F || {F, _} <- Nodes],
    Ports = [P || {_, P} <- Nodes],
    Out = filename:join(Work, "lfm.txt"),
    Rate = fun(Merge) -> median([lfm_rate(Merge, N) || _ <- [1, 2, 3]]) end,
    Each = fun(_, _, _, Count) -> {ok, Count + 1} end,
    row_of_original("two nodes merged, logs, inviso_lfm:merge/2",
                    Rate(fun() -> inviso_lfm:merge(Files, Out) end))
        ++ row_of_original("two nodes merged, trace port files",
                           Rate(fun() -> inviso_lfm:merge(Ports, Out) end))
        ++ [row("the same with a function for each event",
                Rate(fun() -> inviso_lfm:merge(Ports, Each, 0) end),
                "events/s of CPU", "the original, 121 k/s (a constant)",
                121000)].

row_of_original(Name, Rate) ->
    [row(Name, Rate, "events/s of CPU", "the original, 34 k/s (a constant)",
         ?ORIGINAL_MERGE)].

%% Records half of the N events in a log of inviso and the other half in a file of a trace port.
%% Returns two arguments for inviso_lfm:merge/2, one with the log and one with the file. Each
%% argument also has a ti file with the names of the traced processes.
lfm_node(Work, Node, N) ->
    Name = atom_to_list(Node),
    Log = filename:join(Work, "inviso.log"),
    Port = filename:join(Work, "port.trace"),
    Pid = lfm_events({inviso, #{buffer_bytes => 134217728}}, Work, N div 2),
    ok = file:rename(Log, filename:join(Work, Name ++ ".log")),
    PortPid = lfm_events(file, Work, N div 2),
    ok = file:rename(Port, filename:join(Work, Name ++ ".port")),
    Ti = filename:join(Work, Name ++ ".ti"),
    ok = file:write_file(Ti, [alias_record(P) || P <- [Pid, PortPid]]),
    [Logs, Ports] = [{Node, [{trace_log, [filename:join(Work, Name ++ Ext)]},
                             {ti_log, [Ti]}]} || Ext <- [".log", ".port"]],
    {Logs, Ports}.

lfm_events(Kind, Work, N) ->
    {Tracer, Stop} = start_tracer(Kind, Work),
    Self = self(),
    Pid = spawn_link(fun() -> receive go -> ok end, loop(N),
                              Self ! {self(), done} end),
    arm(Pid, Tracer),
    1 = erlang:trace(Pid, true, [timestamp, Tracer]),
    Pid ! go,
    receive {Pid, done} -> ok end,
    0 = Stop(),
    timer:sleep(100),
    Pid.

alias_record(Pid) ->
    Bin = term_to_binary({Pid, a_name, alias, {1, 0, 0}}),
    [<<0, (byte_size(Bin)):32>>, Bin].

lfm_rate(Merge, N) ->
    T0 = cpu_ticks(),
    {ok, N} = Merge(),
    N * 100 / max(1, cpu_ticks() - T0).

%%---------------------------------------------------------------------------
%% Attaching to nodes, and leaving them

attach_rows(Work, Command) ->
    progress("attaching to three nodes"),
    case inviso_bench_attach:rows(Work, Command) of
        {ok, Rows} ->
            [case Against of
                 none -> row(Name, Ms, "ms");
                 _ -> row(Name, Ms, "ms", Against, Peer)
             end || {Name, Ms, Against, Peer} <- Rows];
        {error, Why} ->
            progress(["no figure of attaching: ", Why]),
            []
    end.

%% These values are not compared with another tracer. The peer of a row is the upper bound of its
%% value, so the ratio must be at most 1.
cost_rows(Work, Command) ->
    progress("what attaching costs a node"),
    [case Bar of
         none -> row(Name, Value, Unit);
         _ -> row(Name, Value, Unit, "its bar", Bar)
     end || {Name, Value, Unit, Bar} <- inviso_bench_cost:rows(Work, Command)].

%%---------------------------------------------------------------------------

quartile(List) ->
    lists:nth(length(List) div 4 + 1, lists:sort(List)).

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).

progress(What) ->
    io:format(standard_error, "bench: ~s~n", [What]).

print(Rows) ->
    io:format("~-42s ~14s ~-9s ~8s  ~s~n",
              ["what", "value", "unit", "ratio", "against"]),
    [io:format("~-42s ~14s ~-9s ~8s  ~s~n",
               [Name, number(Value), Unit, ratio(Ratio), against(Against)])
     || {Name, Value, Unit, Against, Ratio} <- Rows].

number(V) when is_integer(V) -> integer_to_list(V);
number(V) when V >= 1000 -> integer_to_list(round(V));
number(V) -> io_lib:format("~.1f", [V]).

ratio(none) -> "";
ratio(R) -> io_lib:format("~.3f", [R * 1.0]).

against(none) -> "";
against(A) -> A.

json(Rows) ->
    ["[\n", lists:join(",\n", [json_row(R) || R <- Rows]), "\n]\n"].

json_row({Name, Value, Unit, Against, Ratio}) ->
    io_lib:format("{\"name\":\"~s\",\"value\":~s,\"unit\":\"~s\","
                  "\"against\":~s,\"ratio\":~s}",
                  [Name, json_number(Value), Unit,
                   case Against of none -> "null"; _ -> [$", Against, $"] end,
                   json_number(Ratio)]).

json_number(none) -> "null";
json_number(V) when is_integer(V) -> integer_to_list(V);
json_number(V) -> io_lib:format("~.6f", [V]).
