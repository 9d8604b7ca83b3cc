%% SPDX-License-Identifier: Apache-2.0
%% The cost for a node when clients attach and leave: CPU time and duration on a
%% node with 100,000 idle processes, and growth of memory after 200 clients.
%% Each figure has an upper bound, its bar.
-module(inviso_bench_cost).
-export([rows/2]).

-define(PROCESSES, "100000").
-define(ROUNDS, 3).
-define(ATTACHES, 200).
%% A node has completed its work when it has unloaded inviso's library and is idle again. A node is
%% idle if in one second it uses at most MORE_MS milliseconds of CPU time more than its own load
%% needs. Its own load is measured for OWN_S seconds.
-define(MORE_MS, 20).
-define(OWN_S, 3).
-define(DONE_WAIT_S, 60).
%% The unit of the kernel's CPU times, in milliseconds.
-define(TICK_MS, 10).

%% Returns a list of {Name, Value, Unit, Upper bound}.
-spec rows(file:filename(), file:filename()) ->
          [{string(), number(), string(), number() | none}].
rows(Work, Command) ->
    inviso_bench_attach:with_home(
      Work, fun(Home) -> large(Command, Home) ++ repeated(Command, Home) end).

large(Command, Home) ->
    Idle = "[spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, "
        ++ ?PROCESSES ++ ")],",
    %% The node's own load is one call every 100 ms. With one call each millisecond the CPU time of
    %% the load would vary between 33 and 220 ms per second, too much for this measurement.
    on_node("large", ["+P", "262144"], Idle, 100, Home,
            fun(Name, OsPid) -> large_rows(Command, Home, Name, OsPid) end).

large_rows(Command, Home, Name, OsPid) ->
    timer:sleep(1000),
    Own = own_ms(OsPid),
    _ = attach(Command, Home, Name), % makes the node load modules
    done(OsPid, Own),
    Rounds = [begin
                  Cpu = cpu_of(fun() -> attach(Command, Home, Name) end,
                               OsPid, Own),
                  First = attach(Command, Home, Name),
                  Again = attach(Command, Home, Name),
                  done(OsPid, Own),
                  {Cpu, First, Again}
              end || _ <- lists:seq(1, ?ROUNDS)],
    [Cpu, First, Again] = [median([element(I, R) || R <- Rounds])
                           || I <- [1, 2, 3]],
    [{"attach to and leave 100,000 processes, CPU of the node", Cpu, "ms", 1500},
     {"the same, until the command ends", First, "ms", none},
     {"attach to them again at once", Again, "ms", 1.5 * First + 500}].

repeated(Command, Home) ->
    on_node("small", [], "", 1, Home,
            fun(Name, OsPid) ->
                    %% The first clients make the node allocate memory, which later clients use
                    %% again.
                    _ = [attach(Command, Home, Name) || _ <- lists:seq(1, 5)],
                    Before = resident_kb(OsPid),
                    _ = [attach(Command, Home, Name)
                         || _ <- lists:seq(1, ?ATTACHES)],
                    [{"attach 200 times, growth of the node",
                      (resident_kb(OsPid) - Before) / 1024, "MiB", 10}]
            end).

%% Runs Do with a node that calls lists:seq/2 again and again, with pauses of Pause milliseconds.
on_node(What, Args, Before, Pause, Home, Do) ->
    {Name, Port} = inviso_bench_attach:start_node(What, Args, Before, Pause,
                                                  Home),
    try
        Do(Name, inviso_bench_attach:os_pid(Port))
    after
        inviso_bench_attach:stop_node(Port)
    end.

%% Runs the command: it attaches to the node, traces one call and detaches. Returns the duration in
%% milliseconds.
attach(Command, Home, Name) ->
    {Status, Ms, Said} =
        inviso_bench_attach:run(Command, ["trace", "-n", Name, "--events", "1",
                                          "lists:seq/2"], Home),
    %% status 7: events beyond the limit were lost
    lists:member(Status, [0, 7]) orelse error({Status, Said}),
    Ms.

%% Returns the milliseconds of CPU time that the node's own load needs per second.
own_ms(OsPid) ->
    Before = cpu_ms(OsPid),
    timer:sleep(?OWN_S * 1000),
    (cpu_ms(OsPid) - Before) / ?OWN_S.

%% Runs Do, and waits until the node has completed its work, because unloading continues after the
%% command has ended. Returns the CPU time of the node minus the CPU time of its own load.
cpu_of(Do, OsPid, Own) ->
    Before = cpu_ms(OsPid),
    T0 = erlang:monotonic_time(millisecond),
    _ = Do(),
    done(OsPid, Own),
    Took = erlang:monotonic_time(millisecond) - T0,
    max(0, cpu_ms(OsPid) - Before - Own * Took / 1000).

done(OsPid, Own) ->
    done(OsPid, Own, cpu_ms(OsPid), ?DONE_WAIT_S).

done(_OsPid, _Own, _Before, 0) ->
    ok;
done(OsPid, Own, Before, Left) ->
    timer:sleep(1000),
    Now = cpu_ms(OsPid),
    case Now - Before =< Own + ?MORE_MS andalso not has_code(OsPid) of
        true -> ok;
        false -> done(OsPid, Own, Now, Left - 1)
    end.

%% Returns true if inviso's library is still loaded. The library stays loaded as long as
%% inviso's code is loaded.
has_code(OsPid) ->
    Maps = os:cmd("cat /proc/" ++ integer_to_list(OsPid) ++ "/maps"),
    string:find(Maps, "inviso_tracer.so") =/= nomatch.

%% In /proc/<pid>/stat the program's name is in parentheses and may contain spaces. So the fields
%% are counted from the last parenthesis on.
cpu_ms(OsPid) ->
    [_, Rest] = string:split(read(OsPid, "stat"), ")", trailing),
    Fields = string:lexemes(Rest, " "),
    [User, System] = [binary_to_integer(lists:nth(I, Fields)) || I <- [12, 13]],
    (User + System) * ?TICK_MS.

resident_kb(OsPid) ->
    {match, [Kb]} = re:run(read(OsPid, "status"), "VmRSS:\\s+([0-9]+)",
                           [{capture, all_but_first, binary}]),
    binary_to_integer(Kb).

%% The kernel reports size 0 for files in /proc, so file:read_file/1 is not used.
read(OsPid, Name) ->
    {ok, File} = file:open(["/proc/", integer_to_list(OsPid), "/", Name],
                           [read, raw, binary]),
    {ok, Bytes} = file:read(File, 8192),
    ok = file:close(File),
    Bytes.

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).
