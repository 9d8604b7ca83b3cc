%% SPDX-License-Identifier: Apache-2.0
%% The cost for a node when clients attach and leave: CPU time and duration on a
%% node with 100,000 idle processes, and growth of memory after 200 clients.
%% Each figure has an upper bound, its bar.
-module(inviso_bench_cost).
-export([rows/2]).

-define(PROCESSES, "100000").
-define(ROUNDS, 3).
-define(ATTACHES, 200).
%% A node has completed its work if in a second it uses at most this much more
%% CPU time than its own load needs, and has unloaded inviso's library.
-define(MORE_MS, 20).
-define(OWN_S, 3).
-define(DONE_WAIT_S, 60).
%% The unit in which the kernel counts CPU time.
-define(TICK_MS, 10).

%% Returns {Name, Value, Unit, Bar}.
-spec rows(file:filename(), file:filename()) ->
          [{string(), number(), string(), number() | none}].
rows(Work, Command) ->
    inviso_bench_attach:with_home(
      Work, fun(Home) -> large(Command, Home) ++ repeated(Command, Home) end).

large(Command, Home) ->
    Idle = "[spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, "
        ++ ?PROCESSES ++ ")],",
    %% A node that makes a call each millisecond uses between 33 and 220 ms of
    %% CPU time a second for this.
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
                    %% The first clients make the node allocate memory that
                    %% later clients use again.
                    _ = [attach(Command, Home, Name) || _ <- lists:seq(1, 5)],
                    Before = resident_kb(OsPid),
                    _ = [attach(Command, Home, Name)
                         || _ <- lists:seq(1, ?ATTACHES)],
                    [{"attach 200 times, growth of the node",
                      (resident_kb(OsPid) - Before) / 1024, "MiB", 10}]
            end).

%% The node waits Pause milliseconds between two calls.
on_node(What, Args, Before, Pause, Home, Do) ->
    {Name, Port} = inviso_bench_attach:start_node(What, Args, Before, Pause,
                                                  Home),
    try
        Do(Name, inviso_bench_attach:os_pid(Port))
    after
        inviso_bench_attach:stop_node(Port)
    end.

%% Attaches, traces one call and leaves. Returns the milliseconds that this
%% took.
attach(Command, Home, Name) ->
    {Status, Ms, Said} =
        inviso_bench_attach:run(Command, ["trace", "-n", Name, "--events", "1",
                                          "lists:seq/2"], Home),
    %% status 7: events beyond the limit were lost
    lists:member(Status, [0, 7]) orelse error({Status, Said}),
    Ms.

%% Returns the CPU time that the node's own load needs in a second.
own_ms(OsPid) ->
    Before = cpu_ms(OsPid),
    timer:sleep(?OWN_S * 1000),
    (cpu_ms(OsPid) - Before) / ?OWN_S.

%% Returns the CPU time of the node, without its own load, until it has
%% completed its work. Unloading continues after the command has ended.
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

%% Returns true if inviso's library, and so inviso's code, is still loaded.
has_code(OsPid) ->
    Maps = os:cmd("cat /proc/" ++ integer_to_list(OsPid) ++ "/maps"),
    string:find(Maps, "inviso_tracer.so") =/= nomatch.

%% Skips the program's name, in parentheses, because it may contain spaces.
cpu_ms(OsPid) ->
    [_, Rest] = string:split(read(OsPid, "stat"), ")", trailing),
    Fields = string:lexemes(Rest, " "),
    [User, System] = [binary_to_integer(lists:nth(I, Fields)) || I <- [12, 13]],
    (User + System) * ?TICK_MS.

resident_kb(OsPid) ->
    {match, [Kb]} = re:run(read(OsPid, "status"), "VmRSS:\\s+([0-9]+)",
                           [{capture, all_but_first, binary}]),
    binary_to_integer(Kb).

%% The kernel reports no size for these files, so they are read to their end.
read(OsPid, Name) ->
    {ok, File} = file:open(["/proc/", integer_to_list(OsPid), "/", Name],
                           [read, raw, binary]),
    {ok, Bytes} = file:read(File, 8192),
    ok = file:close(File),
    Bytes.

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).
