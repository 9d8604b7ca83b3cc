%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso hist': times of calls on two nodes, compared with what the work
%% did, and with a recording. inviso_times_SUITE tests the tracer alone.
-module(inviso_hist_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).
-export([like_a_recording/1, ends_of_all_kinds/1, threads/1, conditions/1, collections/1,
         schedulings/1,
         processes/1, nodes/1, keys_beyond_the_bound/1, memory/1, a_deep_recursion/1,
         values/1, values_of_messages/1, no_values/1, a_log_of_values/1,
         keys_that_are_values/1, keys_of_open_calls/1, keys_of_values/1,
         values_beyond_the_bound/1, secrets_in_keys/1, every/1,
         a_log/1, for_people/1, two_commands/1, nothing/1, usage/1,
         the_command_is_killed/1, a_node_is_killed/1]).

-import(inviso_command_lib, [run/2, wait/2, signal/2, until/1, json/1]).
-import(inviso_count_lib, [call/4, name/1, one/1, begun/4, ended/1, summary/1,
                           final/1, partly/1, footprints/1, left/2, released/1,
                           contains/2]).

-define(WORK, inviso_hist_work).
%% INV_TALLY_KEYS of c_src/vm/tally.h
-define(KEYS, 4096).
-define(QUANTILES, [{<<"p50">>, 0.5}, {<<"p90">>, 0.9}, {<<"p99">>, 0.99},
                    {<<"p999">>, 0.999}]).

all() ->
    [like_a_recording, ends_of_all_kinds, threads, conditions, collections,
     schedulings, processes, nodes,
     keys_beyond_the_bound, memory, a_deep_recursion, values, values_of_messages,
     no_values, a_log_of_values, keys_that_are_values, keys_of_open_calls,
     keys_of_values, values_beyond_the_bound, secrets_in_keys, every, a_log,
     for_people, two_commands, nothing, usage, the_command_is_killed, a_node_is_killed].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) -> inviso_count_lib:init([?WORK], Config).

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

%%---------------------------------------------------------------------------
%% Helpers

work(What) -> atom_to_list(?WORK) ++ ":" ++ What.

key(What) -> list_to_binary(work(What)).

begun(Nodes, Args, Config) -> begun(["hist", "--json"], Nodes, Args, Config).

of_function(What, Objects) -> maps:get(key(What), final(Objects)).

%%---------------------------------------------------------------------------
%% What is timed

%% The quantiles differ by at most 2 % from those of a recording of the same calls.
like_a_recording(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "recording"),
    Recording = begun(["record"], [one(Config)],
                      ["-o", Dir, work("nap/1 -> return")], Config),
    Cmd = begun([one(Config)], [work("nap/1")], Config),
    Us = [20 + 3 * I || I <- lists:seq(1, 1000)],
    ok = call(one(Config), ?WORK, naps, [Us]),
    {Objects, #{<<"counted">> := 1000, <<"unpaired">> := 0}} = ended(Cmd),
    ok = signal(Recording, "INT"),
    #{status := 0} = wait(Recording, 120000),
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "-q", "--json", Dir]),
    Recorded = lists:sort([D || #{<<"tag">> := <<"return_from">>,
                                  <<"duration_ns">> := D} <- json(Out)]),
    1000 = length(Recorded),
    #{<<"count">> := 1000, <<"unpaired">> := 0, <<"min">> := Min,
      <<"max">> := Max, <<"sum">> := Sum} = H = of_function("nap/1", Objects),
    _ = [like(Q, maps:get(K, H), Recorded) || {K, Q} <- ?QUANTILES],
    true = Min >= 23 * 1000,
    true = Max >= 3020 * 1000,
    true = Sum >= 1000 * lists:sum(Us) andalso Sum =< 1000 * Max.

%% The end of a call is reported first to one tracer and then to the other. If the machine pauses in
%% between, the two durations of the call differ. So a quantile may be the duration of a call that
%% is up to 3 positions away in the sorted list.
like(Q, Value, Recorded) ->
    Rank = ceil(Q * length(Recorded)),
    Low = lists:nth(max(1, Rank - 3), Recorded) * 0.98 - 2000,
    High = lists:nth(min(length(Recorded), Rank + 3), Recorded) * 1.02 + 2000,
    _ = (Value >= Low andalso (Value =< High orelse Q > 0.99))
        orelse error({Q, Low, Value, High}),
    ok.

%% Calls end by returns, exceptions and tail calls, also in a recursion. Some processes are killed
%% in a call, and the VM may report this end or not. Other calls are still open at the end.
ends_of_all_kinds(Config) ->
    One = one(Config),
    Cmd = begun([One], [work(F) || F <- ["down/1", "tail/2", "oops/1", "outer/1",
                                         "stay/0"]], Config),
    300 = call(One, ?WORK, deep, [300]),
    _ = call(One, ?WORK, tail, [9, 3000]),
    ok = call(One, ?WORK, throws, [7]),
    Stay = call(One, ?WORK, held, [12]),
    {Killed, Open} = lists:split(8, Stay),
    ok = killed(One, Killed),
    {Objects, #{<<"counted">> := 365}} = ended(Cmd),
    ok = killed(One, Open),
    #{<<"count">> := 301, <<"unpaired">> := 0, <<"min">> := Least,
      <<"max">> := Most} = of_function("down/1", Objects),
    true = Least < Most,
    #{<<"count">> := 10, <<"unpaired">> := 0, <<"min">> := Min} =
        of_function("tail/2", Objects),
    true = Min >= 3000 * 1000,
    [#{<<"count">> := 21, <<"unpaired">> := 0} = of_function(F, Objects)
     || F <- ["outer/1", "oops/1"]],
    #{<<"count">> := 12, <<"unpaired">> := Unpaired} =
        of_function("stay/0", Objects),
    true = Unpaired >= 4 andalso Unpaired =< 12.

killed(Node, Ps) ->
    _ = [true = call(Node, erlang, exit, [P, kill]) || P <- Ps],
    _ = [until(fun() -> not call(Node, erlang, is_process_alive, [P]) end)
         || P <- Ps],
    ok.

%% Processes move from thread to thread during their calls. Each call is counted
%% once.
threads(Config) ->
    Cmd = begun([one(Config)], [work("quick/1")], Config),
    _ = call(one(Config), ?WORK, calls, [40, 500]),
    {Objects, #{<<"counted">> := 20000, <<"others">> := 0, <<"unnoted">> := 0,
                <<"not_counted">> := 0, <<"complete">> := true}} = ended(Cmd),
    #{<<"count">> := 20000, <<"unpaired">> := 0, <<"kind">> := <<"function">>} =
        H = of_function("quick/1", Objects),
    ok = in_order(H).

in_order(#{<<"min">> := Min, <<"max">> := Max} = H) ->
    Values = [Min] ++ [maps:get(K, H) || {K, _} <- ?QUANTILES] ++ [Max],
    true = Values =:= lists:sort(Values),
    ok.

conditions(Config) ->
    Cmd = begun([one(Config)], [work("nap(Us) when Us > 500")], Config),
    ok = call(one(Config), ?WORK, naps, [[1, 600, 2, 700, 3]]),
    {Objects, #{<<"counted">> := 2}} = ended(Cmd),
    #{<<"count">> := 2, <<"unpaired">> := 0, <<"min">> := Min} =
        of_function("nap/1", Objects),
    true = Min >= 600 * 1000.

%% Garbage collections are timed. In this case there are at least 50 major ones.
collections(Config) ->
    Cmd = begun([one(Config)], ["--procs", "new", "gc", work("quick/1")], Config),
    _ = call(one(Config), ?WORK, collects, [50]),
    {Objects, #{<<"unpaired">> := 0}} = ended(Cmd),
    #{<<"gc_major">> := #{<<"count">> := N, <<"kind">> := <<"event">>,
                          <<"min">> := Min} = O} = final(Objects),
    true = N >= 50,
    true = Min > 0,
    ok = in_order(O).

%% With `running', the command measures how long processes run, and how long they wait until they
%% run again.
schedulings(Config) ->
    Cmd = begun([one(Config)], ["--procs", "new", "running"], Config),
    _ = call(one(Config), ?WORK, waits, [60, 5]),
    {Objects, _} = ended(Cmd),
    #{<<"running">> := #{<<"count">> := Ran},
      <<"waiting">> := #{<<"count">> := Waited, <<"max">> := Max} = W} =
        final(Objects),
    true = Ran >= 60 andalso Waited >= 60 andalso Max >= 5000000,
    ok = in_order(W),
    By = begun([one(Config)], ["--procs", "new", "--by", "process", "running"],
               Config),
    %% Other new processes of the node may run as often, so the process is found by its pid.
    Waiter = call(one(Config), ?WORK, waits, [60, 5]),
    {Each, _} = ended(By),
    [Key] = [K || K <- maps:keys(final(Each)),
                  call(one(Config), erlang, list_to_pid, [binary_to_list(K)])
                      =:= Waiter],
    #{Key := #{<<"kind">> := <<"process">>, <<"count">> := N,
               <<"p50">> := P50}} = final(Each),
    true = N >= 60 andalso N =< 70 andalso P50 >= 4900000.

processes(Config) ->
    Cmd = begun([one(Config)], ["--by", "process", work("quick/1")], Config),
    _ = call(one(Config), ?WORK, calls, [7, 30]),
    {Objects, _} = ended(Cmd),
    7 = map_size(final(Objects)),
    [{<<"process">>, 30, 0}] =
        lists:usort([{K, N, U} || #{<<"kind">> := K, <<"count">> := N,
                                    <<"unpaired">> := U} <- Objects]).

%% The histograms of several nodes are added up. With --by node they are shown for each node.
nodes(Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    Run = fun(Args) ->
                  Cmd = begun(Nodes, Args ++ [work("nap/1"), work("down/1")],
                              Config),
                  ok = call(One, ?WORK, naps, [[100, 100]]),
                  ok = call(Two, ?WORK, naps, [[4000, 100, 4000]]),
                  9 = call(Two, ?WORK, deep, [9]),
                  {Objects, #{<<"counted">> := 15}} = ended(Cmd),
                  Objects
          end,
    Rows = fun(Objects) ->
                   lists:sort([{K, maps:get(<<"node">>, O, none), N}
                               || #{<<"key">> := K, <<"count">> := N} = O
                                      <- Objects])
           end,
    [N1, N2] = [list_to_binary(name(N)) || N <- Nodes],
    {F, D} = {key("nap/1"), key("down/1")},
    Sums = Run([]),
    [{D, none, 10}, {F, none, 5}] = Rows(Sums),
    #{<<"min">> := Min, <<"p50">> := P50, <<"max">> := Max} =
        of_function("nap/1", Sums),
    true = Min < 4000000 andalso P50 < 4000000 andalso Max >= 4000000,
    [{D, N2, 10}, {F, N1, 2}, {F, N2, 3}] =
        Rows(Run(["--by", "function,node"])),
    Each = Run(["--by", "node"]),
    [{N1, N1, 2}, {N2, N2, 13}] = Rows(Each),
    #{N2 := #{<<"p50">> := Low, <<"max">> := High, <<"unpaired">> := 0}} =
        final(Each),
    true = Low < 1000000 andalso High >= 4000000.

%% When a thread has histograms for as many keys as the bound allows, it adds calls with other keys
%% to the histogram of `others'. No call is missing in the sum.
keys_beyond_the_bound(Config) ->
    Threads = call(one(Config), erlang, system_info, [schedulers]),
    Rounds = (?KEYS + 500) * Threads div 1000 + 1,
    Cmd = begun([one(Config)], ["--by", "process", work("quick/1")], Config),
    _ = [ok = call(one(Config), ?WORK, many, [1000])
         || _ <- lists:seq(1, Rounds)],
    Calls = Rounds * 1000,
    {Objects, #{<<"counted">> := Calls, <<"others">> := Others,
                <<"unnoted">> := 0}} = ended(Cmd),
    #{<<"others">> := #{<<"count">> := Others, <<"unpaired">> := 0} = O} =
        final(Objects),
    true = Others > 0,
    ok = in_order(O),
    Calls = Others + length([1 || #{<<"kind">> := <<"process">>,
                                    <<"count">> := 1} <- Objects]).

%% The node has many threads, processes and calls, and uses no more memory than the session
%% announced. In each thread, memory grows with the number of processes that make calls there, and
%% not with the number of calls.
memory(Config) ->
    {Threads, Processes, Calls} = inviso_test_lib:soak({4, 2000, 40},
                                                       {64, 100000, 100}),
    Node = inviso_stock_node:start(
             ?config(base, Config),
             #{name => "many", cookie => "count",
               args => ["+S", integer_to_list(Threads), "+P", "262144"]}),
    try
        {?WORK, Beam, File} = code:get_object_code(?WORK),
        {module, ?WORK} = call(Node, code, load_binary, [?WORK, File, Beam]),
        remembered(Node, Processes, Calls, Config)
    after
        inviso_stock_node:stop(Node)
    end.

remembered(#{os_pid := OsPid} = Node, Processes, Calls, Config) ->
    Crowd = call(Node, ?WORK, crowd, [Processes]),
    %% The processes make calls before the trace, too, so that the VM already has the memory that
    %% they need.
    ok = call(Node, ?WORK, crowded, [Crowd, Calls]),
    Before = resident(OsPid, Node),
    %% Many of the processes are ready to run at the same time, so the run queue is long. The limit
    %% on its length is turned off.
    Cmd = begun([Node], ["--by", "process", "--max-run-queue", "0",
                         work("quick/1")], Config),
    ok = call(Node, ?WORK, crowded, [Crowd, Calls div 2]),
    Half = resident(OsPid, Node),
    ok = call(Node, ?WORK, crowded, [Crowd, Calls div 2]),
    All = resident(OsPid, Node),
    {Objects, #{<<"counted">> := N, <<"nodes">> := [#{<<"notes">> := Notes}]}} =
        ended(Cmd),
    N = Processes * (Calls div 2) * 2,
    N = lists:sum([C || #{<<"count">> := C} <- Objects]),
    [MiB] = [list_to_integer(M)
             || T <- Notes,
                {match, [M]} <- [re:run(T, "^at most ([0-9]+) MiB of memory for "
                                        "the keys", [{capture, [1], list}])]],
    Announced = MiB * 1024 + Processes * 64 div 1024,
    ct:log("before ~b KiB, half ~b, all ~b, announced ~b",
           [Before, Half, All, Announced]),
    %% The session announces the memory of its counts. The rest is the rings, at
    %% most 128 MiB, and inviso's code.
    true = All - Before =< Announced + (128 + 64) * 1024.

%% Returns the resident memory of the node in KiB, without the memory that the VM has allocated for
%% processes, ETS tables and so on.
resident(OsPid, Node) ->
    {ok, Status} = file:read_file(lists:concat(["/proc/", OsPid, "/status"])),
    {match, [KiB]} = re:run(Status, "VmRSS:\\s+([0-9]+) kB",
                            [{capture, [1], list}]),
    list_to_integer(KiB) - call(Node, erlang, memory, [total]) div 1024.

%% A process reaches the bound on open calls. The function is then counted without times, and a note
%% says this.
a_deep_recursion(Config) ->
    Cmd = begun([one(Config)], [work("down/1"), work("nap/1")], Config),
    5000 = call(one(Config), ?WORK, deep, [5000]),
    ok = call(one(Config), ?WORK, naps, [[100]]),
    {Objects, #{<<"nodes">> := [#{<<"notes">> := Notes}]}} = ended(Cmd),
    #{<<"count">> := N, <<"unpaired">> := Unpaired} =
        of_function("down/1", Objects),
    true = N >= 1000 andalso N =< 5001 andalso Unpaired =< N,
    #{<<"count">> := 1, <<"unpaired">> := 0} = of_function("nap/1", Objects),
    [_] = [T || T <- Notes,
                binary:match(T, <<"inviso_hist_work:down/1: ">>) =/= nomatch,
                binary:match(T, <<"not timed any more">>) =/= nomatch].

%%---------------------------------------------------------------------------
%% Output

every(Config) ->
    Cmd = begun([one(Config)], ["--every", "100ms", work("nap/1")], Config),
    ok = call(one(Config), ?WORK, naps, [[200, 200]]),
    _ = until(fun() ->
                      [1 || #{<<"count">> := 2, <<"p99">> := P}
                                <- partly(Cmd), P >= 190000] =/= []
              end),
    ok = call(one(Config), ?WORK, naps, [[200]]),
    {Objects, _} = ended(Cmd),
    true = [1 || #{<<"final">> := false, <<"count">> := 2} <- Objects] =/= [],
    #{<<"count">> := 3, <<"final">> := true} = lists:last(Objects).

%% The log contains the histograms, and `inviso merge' shows them.
a_log(Config) ->
    Log = filename:join(?config(priv_dir, Config), "times.log"),
    Cmd = begun([one(Config)], ["-o", Log, work("nap/1"), work("down/1")],
                Config),
    ok = call(one(Config), ?WORK, naps, [[100, 200, 300]]),
    5 = call(one(Config), ?WORK, deep, [5]),
    {Objects, _} = ended(Cmd),
    #{status := 0, out := Json} =
        run(?config(opts, Config), ["merge", "-q", "--json", Log]),
    Ours = final(Objects),
    2 = map_size(Ours),
    Theirs = final(json(Json)),
    _ = [begin
             #{K := O} = Theirs,
             V = maps:get(I, Ours1),
             V = maps:get(I, O)
         end || {K, Ours1} <- maps:to_list(Ours),
                I <- [<<"count">>, <<"unpaired">>, <<"min">>, <<"p50">>,
                      <<"p90">>, <<"p99">>, <<"p999">>, <<"max">>, <<"sum">>]],
    #{status := 0, out := Text} =
        run(?config(opts, Config), ["merge", "-q", Log]),
    contains(Text, key("nap/1")),
    contains(Text, <<"######">>).

for_people(Config) ->
    Cmd = begun(["hist"], [one(Config)],
                ["--sort", "count", "--top", "1", "--draw", "1",
                 work("nap/1"), work("down/1")], Config),
    ok = call(one(Config), ?WORK, naps, [[100, 5000]]),
    100 = call(one(Config), ?WORK, deep, [100]),
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    contains(Out, <<"    count     p50     p90     p99    p999     max  key\n"
                    "      101 ">>),
    nomatch = binary:match(Out, key("nap/1")),
    contains(Out, <<"and 1 more (--top 0 shows all)">>),
    contains(Out, <<(key("down/1"))/binary, ": min ">>),
    contains(Out, <<"-- 103 events counted">>),
    contains(Out, <<"stopped: interrupted">>),
    _ = [true = byte_size(L) =< 80 || L <- binary:split(Out, <<"\n">>, [global])],
    %% The lines of the histogram contain all 101 calls.
    {match, Lines} = re:run(Out, "^ +[0-9.]+ [nmu]?s +[0-9.]+ [nmu]?s +([0-9]+) ",
                            [multiline, global, {capture, [1], list}]),
    101 = lists:sum([list_to_integer(N) || [N] <- Lines]).

%% Two commands on one node have separate histograms.
two_commands(Config) ->
    First = begun([one(Config)], [work("nap/1")], Config),
    ok = call(one(Config), ?WORK, naps, [[100]]),
    Second = begun([one(Config)], ["--by", "process", work("nap/1")], Config),
    Count = begun(["count", "--json"], [one(Config)], [work("nap/1")], Config),
    ok = call(one(Config), ?WORK, naps, [[100, 200]]),
    {A, _} = ended(First),
    {B, _} = ended(Second),
    {C, _} = ended(Count),
    [3, 2, 2] = [N || Os <- [A, B, C],
                      #{<<"count">> := N} <- maps:values(final(Os))],
    [false] = [is_map_key(<<"p50">>, O) || O <- C].

nothing(Config) ->
    Opts = ?config(opts, Config),
    Name = name(one(Config)),
    #{status := 5, err := None} =
        run(Opts, ["hist", "-n", Name, "inviso_no_such_module:f/1"]),
    contains(None, <<"no module inviso_no_such_module">>),
    #{status := 5, err := Err, out := Out} =
        run(Opts, ["hist", "-n", Name, "--for", "300ms", work("nap/1")]),
    contains(Err, <<"no event">>),
    contains(Out, <<"-- 0 events counted in 300 ms; stopped: 300 ms passed">>).

usage(Config) ->
    Bad = [{["--by", "colour", "lists:seq/2"], <<"--by colour">>},
           {["--sort", "p98", "lists:seq/2"], <<"--sort p98">>},
           {["--open-calls", "0", "lists:seq/2"], <<"--open-calls 0">>},
           {["--draw", "x", "lists:seq/2"], <<"--draw x">>},
           {["lists:seq/2 -> return"], <<"has an action">>},
           {["send"], <<"send has no duration">>},
           {["--of", "A0", "lists:seq/2"], <<"A0 is no argument">>},
           {["--of", "A1", "--open-calls", "9", "lists:seq/2"], <<"--open-calls is">>},
           {["--of", "A1", "gc"], <<"gc: only calls, send and receive">>},
           {["--of", "A1", "lists:seq/2 -> return"], <<"has an action">>},
           {["--by", "A1 + A0", "lists:seq/2"], <<"A0 is no argument">>},
           {["--by", "A1", "gc"], <<"gc: only calls, send and receive">>},
           {["--by", "A1", "send"], <<"send has no duration">>},
           {["--by", "result", "lists:seq/2"], <<"only `inviso count'">>},
           {["lists:seq/2", "procs"], <<"procs has no duration">>},
           {["lists:seq/2", "running"], <<"measured alone">>},
           {[], <<"no SPEC">>}],
    _ = [begin
             #{status := 2, err := Err} =
                 run(?config(opts, Config),
                     ["hist", "-n", name(one(Config)) | Args]),
             contains(Err, Text)
         end || {Args, Text} <- Bad],
    ok.

%%---------------------------------------------------------------------------
%% Values of expressions

%% The least and the greatest value and the sum are exact. The quantiles differ by at most 2 % from
%% those of a recording of the same calls.
values(Config) ->
    Nodes = ?config(nodes, Config),
    Dir = filename:join(?config(priv_dir, Config), "values"),
    Recording = begun(["record"], Nodes, ["-o", Dir, work("takes/2")], Config),
    Cmd = begun(Nodes, ["--of", "byte_size(A2) + A1", work("takes/2")], Config),
    Sizes = [7 * I rem 1009 || I <- lists:seq(1, 500)],
    _ = [ok = call(N, ?WORK, take, [Sizes]) || N <- Nodes],
    {Objects, #{<<"counted">> := 1000, <<"unpaired">> := 0}} = ended(Cmd),
    ok = signal(Recording, "INT"),
    #{status := 0} = wait(Recording, 120000),
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "-q", "--json", Dir]),
    Recorded = lists:sort([taken(Args) || #{<<"tag">> := <<"call">>,
                                           <<"args">> := Args} <- json(Out)]),
    1000 = length(Recorded),
    {Min, Max, Sum} = {hd(Recorded), lists:last(Recorded), lists:sum(Recorded)},
    #{<<"count">> := 1000, <<"of">> := <<"byte_size(A2) + A1">>,
      <<"min">> := Min, <<"max">> := Max, <<"sum">> := Sum} = H =
        of_function("takes/2", Objects),
    _ = [true = abs(maps:get(K, H) - quantile(Q, Recorded))
            =< 1 + quantile(Q, Recorded) * 0.02 || {K, Q} <- ?QUANTILES].

quantile(Q, Sorted) -> lists:nth(ceil(Q * length(Sorted)), Sorted).

taken([N, Binary]) ->
    {ok, Tokens, _} = erl_scan:string(binary_to_list(Binary) ++ "."),
    {ok, Bytes} = erl_parse:parse_term(Tokens),
    binary_to_integer(N) + byte_size(Bytes).

%% The values of messages can be measured, too. Here each process has its own histogram.
values_of_messages(Config) ->
    Cmd = begun([one(Config)], ["--by", "process", "--of", "length(A2)",
                                "send(inviso_hist_sink, _)"], Config),
    ok = call(one(Config), ?WORK, sends, [[0, 1, 2, 30, 400]]),
    {Objects, #{<<"counted">> := 5}} = ended(Cmd),
    [#{<<"count">> := 5, <<"kind">> := <<"process">>, <<"min">> := 0,
       <<"max">> := 400, <<"sum">> := 433}] =
        [O || #{<<"count">> := N} = O <- maps:values(final(Objects)), N > 0].

%% Only an integer from 0 to 2^63 - 1 counts as a value. If the sum of the values is larger than
%% 2^63 - 1, the command shows 2^63 - 1 as the sum.
no_values(Config) ->
    Cmd = begun([one(Config)], ["--of", "A1", work("any/1")], Config),
    Most = 1 bsl 63 - 1,
    ok = call(one(Config), ?WORK, calls_any,
              [[-1, Most + 1, 1 bsl 64, 1.0, false, {}, Most, Most, 3]]),
    {Objects, #{<<"counted">> := 9, <<"unpaired">> := 6}} = ended(Cmd),
    #{<<"count">> := 9, <<"unpaired">> := 6, <<"min">> := 3, <<"max">> := Most,
      <<"sum">> := Most} = of_function("any/1", Objects),
    Fails = begun([one(Config)], ["--of", "hd(A1)", work("any/1")], Config),
    ok = call(one(Config), ?WORK, calls_any, [[[5], []]]),
    {Objects2, #{<<"counted">> := 2, <<"unpaired">> := 1}} = ended(Fails),
    #{<<"min">> := 5, <<"max">> := 5} = of_function("any/1", Objects2).

%% The log contains the values and their expression. `inviso merge' does not add values to times,
%% even if both are from the same node.
a_log_of_values(Config) ->
    Dir = ?config(priv_dir, Config),
    Of = filename:join(Dir, "values.log"),
    Times = filename:join(Dir, "times-beside.log"),
    Node = one(Config),
    Cmd = begun(["hist"], [Node], ["--of", "A1", "-o", Of, work("any/1")], Config),
    Timed = begun(["hist"], [Node], ["-o", Times, work("any/1")], Config),
    ok = call(Node, ?WORK, calls_any, [[1, 2, 100000000, {}]]),
    ok = signal(Cmd, "INT"),
    ok = signal(Timed, "INT"),
    #{status := 0, out := Text} = wait(Cmd, 120000),
    #{status := 0} = wait(Timed, 120000),
    Key = key("any/1"),
    Row = <<"100M  ", Key/binary, ", A1 (1 without a value)\n">>,
    contains(Text, Row),
    contains(Text, <<Key/binary, ", A1: min 1, mean 33.3M, max 100M, sum 100M\n">>),
    contains(Text, <<"\n        ...\n">>),
    contains(Text, <<"-- 4 events counted">>),
    contains(Text, <<"; for 1 of them the expression has no integer from 0 on">>),
    #{status := 0, out := Merged} =
        run(?config(opts, Config), ["merge", "-q", Of, Times]),
    contains(Merged, Row),
    #{status := 0, out := Json} =
        run(?config(opts, Config), ["merge", "-q", "--json", Of, Times]),
    [{0, false}, {1, true}] =
        lists:sort([{Unpaired, is_map_key(<<"of">>, O)}
                    || #{<<"key">> := K, <<"count">> := 4,
                         <<"unpaired">> := Unpaired} = O <- json(Json),
                       K =:= Key]).

%%---------------------------------------------------------------------------
%% Values as keys

%% The time of a call is counted under the value that the expression had at the beginning of the
%% call, even if the call ends in another thread. Keys of all sizes are in the log, too.
keys_that_are_values(Config) ->
    Log = filename:join(?config(priv_dir, Config), "keys.log"),
    Cmd = begun([one(Config)], ["--by", "{A1, A1}", "-o", Log, work("kind/2")],
                Config),
    Long = binary:copy(<<"long">>, 8),
    Terms = [a, 7, 1.5, Long, {order, Long}, [a | Long], #{type => Long}],
    ok = call(one(Config), ?WORK, kinds, [40, 50, Terms]),
    {Objects, #{<<"counted">> := All, <<"unpaired">> := 0, <<"others">> := 0}} =
        ended(Cmd),
    All = 40 * 50 * length(Terms),
    Keys = lists:sort([printed({T, T}) || T <- Terms]),
    Ours = final(Objects),
    Keys = lists:sort(maps:keys(Ours)),
    _ = [begin
             #{<<"count">> := 2000, <<"unpaired">> := 0, <<"kind">> := <<"value">>} = O,
             ok = in_order(O)
         end || O <- maps:values(Ours)],
    #{status := 0, out := Json} =
        run(?config(opts, Config), ["merge", "-q", "--json", Log]),
    Theirs = final(json(Json)),
    _ = [true = maps:get(I, O) =:= maps:get(I, maps:get(K, Theirs))
         || {K, O} <- maps:to_list(Ours), I <- [<<"count">>, <<"p99">>, <<"sum">>]].

printed(Term) -> iolist_to_binary(io_lib:format("~0p", [Term])).

%% Each open call of a process has its own key. This is tested in a recursion, after exceptions,
%% after kills, and with an expression that fails.
keys_of_open_calls(Config) ->
    One = one(Config),
    Cmd = begun([One], ["--by", "A1 rem 3", work("down/1")], Config),
    299 = call(One, ?WORK, deep, [299]),
    {Objects, #{<<"counted">> := 300, <<"unpaired">> := 0}} = ended(Cmd),
    [100, 100, 100] = [N || K <- [<<"0">>, <<"1">>, <<"2">>],
                            #{<<"count">> := N} <- [maps:get(K, final(Objects))]],
    %% The longest call is down(299), and 299 rem 3 is 2.
    [Zero, One3, Two] = [maps:get(<<"max">>, maps:get(K, final(Objects)))
                         || K <- [<<"0">>, <<"1">>, <<"2">>]],
    true = Two >= One3 andalso One3 >= Zero,
    Throws = begun([One], ["--by", "A1", work("outer/1"), work("oops/1")], Config),
    ok = call(One, ?WORK, throws, [5]),
    {Thrown, #{<<"unpaired">> := 0}} = ended(Throws),
    #{<<"error">> := 10, <<"throw">> := 10, <<"exit">> := 10} =
        maps:map(fun(_, #{<<"count">> := N}) -> N end, final(Thrown)),
    Killed = begun([One], ["--by", "{A1, 'in'}", work("hold/1")], Config),
    Ps = call(One, ?WORK, holds, [[left, right, left]]),
    ok = killed(One, tl(Ps)),
    {Held, _} = ended(Killed),
    ok = killed(One, [hd(Ps)]),
    #{<<"{left,in}">> := #{<<"count">> := Left, <<"unpaired">> := Unpaired}} =
        final(Held),
    true = Left =:= 2 andalso Unpaired >= 1,
    Fails = begun([One], ["--by", "hd(A1)", work("any/1")], Config),
    ok = call(One, ?WORK, calls_any, [[[5], [], [5], x]]),
    {Failed, #{<<"counted">> := 4}} = ended(Fails),
    [{<<"failed">>, 2}, {<<"value">>, 2}] =
        lists:sort([{K, N} || #{<<"kind">> := K, <<"count">> := N}
                                  <- maps:values(final(Failed))]).

%% Each value of A1 has a histogram of the values of byte_size(A2).
keys_of_values(Config) ->
    Cmd = begun([one(Config)], ["--of", "byte_size(A2)", "--by", "A1",
                                work("takes/2")], Config),
    Sizes = lists:seq(1, 90),
    ok = call(one(Config), ?WORK, take, [Sizes]),
    {Objects, #{<<"counted">> := 90, <<"unpaired">> := 0}} = ended(Cmd),
    _ = [begin
             Of = [S || S <- Sizes, S rem 3 =:= K],
             {Min, Max, Sum} = {hd(Of), lists:last(Of), lists:sum(Of)},
             #{<<"count">> := 30, <<"min">> := Min, <<"max">> := Max,
               <<"sum">> := Sum, <<"of">> := <<"byte_size(A2)">>} =
                 maps:get(integer_to_binary(K), final(Objects))
         end || K <- [0, 1, 2]],
    Sent = begun([one(Config)], ["--of", "length(A2)", "--by", "{sent, hd(A2)}",
                                 "send(inviso_hist_sink, _)"], Config),
    ok = call(one(Config), ?WORK, sends, [[1, 2, 30]]),
    {Messages, #{<<"counted">> := 3}} = ended(Sent),
    #{<<"{sent,x}">> := #{<<"count">> := 3, <<"sum">> := 33}} = final(Messages).

%% When a thread has histograms for as many keys as the bound allows, it adds calls with other keys
%% to the histogram of `others'. No call is missing in the sum.
values_beyond_the_bound(Config) ->
    Cmd = begun([one(Config)], ["--by", "A1", work("any/1")], Config),
    Threads = call(one(Config), erlang, system_info, [schedulers]),
    Calls = (?KEYS + 500) * Threads,
    ok = call(one(Config), ?WORK, calls_any, [lists:seq(1, Calls)]),
    {Objects, #{<<"counted">> := Calls, <<"others">> := Others, <<"unnoted">> := 0}} =
        ended(Cmd),
    #{<<"others">> := #{<<"count">> := Others, <<"unpaired">> := 0} = O} =
        final(Objects),
    true = Others > 0,
    ok = in_order(O),
    Calls = Others + length([1 || #{<<"kind">> := <<"value">>, <<"count">> := 1}
                                      <- Objects]).

%% The key of a histogram may contain a secret: the value of a well-known name, such as token. The
%% secret is redacted.
secrets_in_keys(Config) ->
    Log = filename:join(?config(priv_dir, Config), "secrets.log"),
    Secret = <<"hunter2-of-the-hist">>,
    Cmd = begun([one(Config)], ["--by", "A1", "-o", Log, work("any/1")], Config),
    ok = call(one(Config), ?WORK, calls_any, [[{token, Secret}]]),
    {Objects, #{<<"counted">> := 1}} = ended(Cmd),
    [<<"{token,'$redacted'}">>] = maps:keys(final(Objects)),
    {ok, Bytes} = file:read_file(Log),
    nomatch = binary:match(Bytes, Secret).

%%---------------------------------------------------------------------------
%% A command or a node is killed. end_per_testcase checks that the nodes are released.

the_command_is_killed(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    Cmds = [begun(Nodes, Args, Config)
            || Args <- [[work("quick/1")],
                        ["--by", "{A1, A1}", work("quick/1")],
                        ["--of", "length(A2)", "send(_, _)"]]],
    _ = call(one(Config), ?WORK, calls, [2, 10]),
    _ = [ok = signal(Cmd, "KILL") || Cmd <- Cmds],
    released(Nodes),
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)],
    ok.

a_node_is_killed(Config) ->
    [_, #{os_pid := OsPid}] = Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--every", "100ms", work("nap/1")], Config),
    _ = [ok = call(N, ?WORK, naps, [[300, 300]]) || N <- Nodes],
    _ = until(fun() -> [1 || #{<<"count">> := 4} <- partly(Cmd)] =/= [] end),
    ok = signal(OsPid, "KILL"),
    %% The kernel of a killed node resets the connection if the node had not read all data.
    _ = until(fun() ->
                      binary:match(inviso_command_lib:err(Cmd),
                                   [<<"closed the connection">>,
                                    <<"the connection was lost">>]) =/= nomatch
              end),
    ok = signal(Cmd, "INT"),
    #{status := 3, out := Out, err := Err} = wait(Cmd, 120000),
    #{<<"complete">> := false} = summary(Err),
    [#{<<"count">> := 4, <<"p50">> := P50}] = maps:values(final(json(Out))),
    true = P50 >= 290000,
    released([one(Config)]).
