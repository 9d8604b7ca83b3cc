%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso count': counts inside two nodes, compared with what the work
%% did, and with a recording.
-module(inviso_count_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).
-export([functions/1, conditions/1, messages/1, processes/1, kinds/1, callers/1,
         values/1, values_of_each_type/1, secrets/1, results/1,
         results_of_a_recursion/1, reasons/1, nodes/1,
         keys_beyond_the_bound/1, like_a_recording/1, every/1,
         every_for_people/1, a_log/1, for_people/1, two_commands/1, nothing/1, usage/1,
         the_command_is_killed/1, a_session_is_killed/1, a_node_is_killed/1]).

-import(inviso_command_lib, [run/2, wait/2, signal/2, until/1, json/1]).
-import(inviso_count_lib, [call/4, name/1, one/1, begun/4, ended/1, summary/1,
                           final/1, partly/1, footprints/1, left/2, released/1,
                           contains/2]).

-define(WORK, inviso_count_work).
%% INV_TALLY_KEYS of c_src/vm/tally.h
-define(KEYS, 4096).

all() ->
    [functions, conditions, messages, processes, kinds, callers, values,
     values_of_each_type, secrets, results, results_of_a_recursion, reasons, nodes,
     keys_beyond_the_bound,
     like_a_recording, every, every_for_people, a_log, for_people,
     two_commands, nothing, usage, the_command_is_killed,
     a_session_is_killed, a_node_is_killed].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) -> inviso_count_lib:init([?WORK], Config).

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

%%---------------------------------------------------------------------------
%% Helpers

work(What) -> atom_to_list(?WORK) ++ ":" ++ What.

begun(Nodes, Args, Config) ->
    begun(["count", "--json"], Nodes, Args, Config).

%% Returns a map from keys to final counts.
counts(Objects) ->
    maps:map(fun(_, #{<<"count">> := N}) -> N end, final(Objects)).

key(What) -> list_to_binary(work(What)).

%%---------------------------------------------------------------------------
%% What is counted

%% Many processes call functions on all schedulers, and one function calls itself. The counts must
%% be exact.
functions(Config) ->
    Cmd = begun([one(Config)], [work("f/1"), work("down/1"), work("g/2")],
                Config),
    _ = call(one(Config), ?WORK, calls, [40, 2500]),
    5000 = call(one(Config), ?WORK, down, [5000]),
    {Objects, #{<<"counted">> := All, <<"others">> := 0, <<"unnoted">> := 0,
                <<"not_counted">> := 0, <<"complete">> := true}} = ended(Cmd),
    #{} = Counts = counts(Objects),
    [{100000, 5001}] = [{maps:get(key("f/1"), Counts),
                         maps:get(key("down/1"), Counts)}],
    105001 = All,
    2 = map_size(Counts),
    [<<"function">>] = lists:usort([K || #{<<"kind">> := K} <- Objects]).

%% The match spec decides which calls are counted.
conditions(Config) ->
    Cmd = begun([one(Config)], [work("f(X) when X > 90"), work("g(a, _)")],
                Config),
    _ = call(one(Config), ?WORK, calls, [3, 100]),
    _ = [call(one(Config), ?WORK, g, [A, 1]) || A <- [a, b, a, c]],
    {Objects, _} = ended(Cmd),
    Counts = counts(Objects),
    30 = maps:get(key("f/1"), Counts),
    2 = maps:get(key("g/2"), Counts).

messages(Config) ->
    Cmd = begun([one(Config)], ["send(_, {ping, _})", "receive({ping, _})",
                                work("drain/1")], Config),
    ok = call(one(Config), ?WORK, ping, [count_ping, 1000]),
    {Objects, _} = ended(Cmd),
    #{<<"send">> := 1000, <<"'receive'">> := 1000} = Counts = counts(Objects),
    1001 = maps:get(key("drain/1"), Counts).

%% With --by process, each process has a count. A registered process is shown by
%% its name.
processes(Config) ->
    Cmd = begun([one(Config)], ["--by", "process", work("f/1"),
                                "receive({ping, _})"], Config),
    Pids = call(one(Config), ?WORK, calls, [7, 300]),
    ok = call(one(Config), ?WORK, ping, [count_named, 500]),
    {Objects, _} = ended(Cmd),
    Counts = counts(Objects),
    8 = map_size(Counts),
    [300] = lists:usort([maps:get(list_to_binary(pid_text(P)), Counts)
                         || P <- Pids]),
    Node = list_to_binary(name(one(Config))),
    [#{<<"node">> := Node}] = [O || #{<<"count">> := 500} = O <- Objects].

%% Returns the text of a pid as the process's own node prints it.
pid_text(Pid) ->
    "<" ++ Rest = pid_to_list(Pid),
    "<0" ++ lists:dropwhile(fun(C) -> C =/= $. end, Rest).

%% With --by kind, processes of all nodes that run the same function are counted as one kind.
%% Processes with the same registered name are another kind.
kinds(Config) ->
    Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--by", "kind", "--every", "100ms", "receive({ping, _})"],
                Config),
    Ps = [{N, call(N, ?WORK, served, [count_kind, 30, 20])} || N <- Nodes],
    Serve = key("serve/2"),
    %% The name of a process arrives in the log after its first count. So the test waits until the
    %% table shows the name.
    _ = until(fun() ->
                      [1 || #{<<"key">> := K, <<"count">> := 1160} <- partly(Cmd),
                            K =:= Serve] =/= []
              end),
    {Objects, #{<<"counted">> := 1200}} = ended(Cmd),
    _ = [true = call(N, erlang, exit, [P, kill]) || {N, Each} <- Ps, P <- Each],
    #{Serve := #{<<"count">> := 1160, <<"processes">> := 58,
                 <<"kind">> := <<"kind">>} = O,
      <<"count_kind">> := #{<<"count">> := 40, <<"processes">> := 2}} =
        final(Objects),
    false = is_map_key(<<"node">>, O).

%% asks/1 calls f/1 in a list comprehension. The compiler makes the list comprehension a separate
%% function, which is the caller.
callers(Config) ->
    Cmd = begun([one(Config)], ["--by", "caller", work("f/1")], Config),
    _ = [call(one(Config), ?WORK, asks, [N]) || N <- [5, 10]],
    _ = [told = call(one(Config), ?WORK, tells, [N]) || N <- lists:seq(1, 7)],
    {Objects, #{<<"counted">> := 22}} = ended(Cmd),
    Tells = key("tells/1"),
    #{Tells := #{<<"count">> := 7, <<"kind">> := <<"caller">>}} = Final =
        final(Objects),
    [{Asks, #{<<"count">> := 15}}] = maps:to_list(maps:remove(Tells, Final)),
    contains(Asks, <<"asks/1">>).

%% With --by EXPRESSION, each value of the expression has a count. The counts must equal those from
%% a recording of the same calls.
values(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "values"),
    Recording = begun(["record"], [one(Config)], ["-o", Dir, work("f/1")], Config),
    Cmd = begun([one(Config)], ["--by", "{A1 rem 7, A1 > 100}", work("f/1")], Config),
    Sent = begun([one(Config)], ["--by", "element(2, A2)", "send(_, {ping, _})"],
                 Config),
    _ = call(one(Config), ?WORK, calls, [5, 300]),
    ok = call(one(Config), ?WORK, ping, [count_values, 20]),
    {Objects, #{<<"counted">> := 1500, <<"others">> := 0}} = ended(Cmd),
    [<<"value">>] = lists:usort([K || #{<<"kind">> := K} <- Objects]),
    {Messages, #{<<"counted">> := 20}} = ended(Sent),
    [{<<"1">>, 1} | _] = Pings = lists:sort(maps:to_list(counts(Messages))),
    20 = length(Pings),
    ok = signal(Recording, "INT"),
    #{status := 0} = wait(Recording, 120000),
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "--format", "json", Dir]),
    Values = [{A rem 7, A > 100} || #{<<"tag">> := <<"call">>, <<"args">> := [Arg]}
                                        <- json(Out), A <- [binary_to_integer(Arg)]],
    1500 = length(Values),
    Expected = lists:foldl(fun(V, Acc) ->
                                   maps:update_with(printed(V), fun(N) -> N + 1 end,
                                                    1, Acc)
                           end, #{}, Values),
    Expected = counts(Objects).

printed(Term) -> unicode:characters_to_binary(io_lib:format("~0p", [Term])).

%% Values that are too large for a key are cut. If the expression fails, the call is counted under
%% the key `failed'.
values_of_each_type(Config) ->
    Whole = [1, -5, 1 bsl 59, ok, true, false, undefined, 1.5, <<>>, <<"abc">>, "abc", [],
             [1 | 2], {}, {a, [b, {c}]}, #{}, #{k => [1.5, -7], {a} => <<1, 2>>}],
    Cut = [binary:copy(<<"a">>, 200), lists:seq(1, 100), 1 bsl 100,
           list_to_tuple(lists:seq(1, 100)), {a, maps:from_keys(lists:seq(1, 40), b)}],
    Calls = fun(By) ->
                    Cmd = begun([one(Config)], ["--by", By, work("g/2")], Config),
                    _ = [call(one(Config), ?WORK, g, [a, V])
                         || V <- Whole ++ Cut ++ Whole],
                    {Objects, #{<<"others">> := 0}} = ended(Cmd),
                    final(Objects)
            end,
    Final = Calls("A2"),
    Keys = [printed(V) || V <- Whole],
    [] = [{K, maps:get(K, Final, none)}
          || K <- Keys, not is_map_key(K, Final)
                 orelse maps:get(<<"count">>, maps:get(K, Final)) =/= 2],
    %% Two of the five cut values have the same key, `...': nothing is left of the integer and the
    %% tuple.
    [_, _, _, _] = Rest = maps:to_list(maps:without(Keys, Final)),
    _ = [contains(K, <<"...">>) || {K, _} <- Rest],
    5 = lists:sum([N || {_, #{<<"count">> := N}} <- Rest]),
    #{<<"failed">> := #{<<"kind">> := <<"failed">>, <<"count">> := Failed}} = Lists =
        Calls("hd(A2)"),
    #{<<"1">> := #{<<"count">> := 3}, <<"97">> := #{<<"count">> := 2}} = Lists,
    Failed = 2 * length(Whole) + length(Cut) - 5.

%% With --by EXPRESSION, the expression's value is printed and in the log. In this value, passwords
%% and other values of well-known keys are redacted. But if the expression selects the password
%% itself, such as map_get(password, A2), the password is shown.
secrets(Config) ->
    Log = filename:join(?config(priv_dir, Config), "secrets.log"),
    Secret = <<"hunter2-of-the-count">>,
    Other = <<"another-", Secret/binary>>,
    Values = [V || P <- [Secret, Other],
                   V <- [#{password => P, id => 7}, {token, P}, [{"passwd", P}, {b, 1}],
                         [authorization | P], {a, [#{<<"Cookie">> => {x, P}}]}]],
    Cmd = begun([one(Config)], ["--by", "A2", "-o", Log, work("g/2")], Config),
    _ = [call(one(Config), ?WORK, g, [a, V]) || V <- Values],
    {Objects, #{<<"counted">> := 10}} = ended(Cmd),
    Final = final(Objects),
    [2, 2, 2, 2, 2] = [N || #{<<"count">> := N} <- maps:values(Final)],
    #{<<"{token,'$redacted'}">> := _, <<"[authorization|'$redacted']">> := _} = Final,
    {ok, Bytes} = file:read_file(Log),
    _ = [nomatch = binary:match(B, Secret)
         || B <- [Bytes | [iolist_to_binary(maps:keys(Final))]]],
    Asked = begun([one(Config)], ["--by", "map_get(password, A2)", work("g/2")], Config),
    _ = call(one(Config), ?WORK, g, [a, hd(Values)]),
    {Objects2, _} = ended(Asked),
    [Key] = maps:keys(final(Objects2)),
    contains(Key, Secret).

%% Calls are counted when they end, under their result or exception. The counts must equal those
%% from a recording of the same calls.
results(Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    Dir = filename:join(?config(priv_dir, Config), "results"),
    Recording = begun(["record"], Nodes, ["-o", Dir, work("ends/1") ++ " -> return"],
                      Config),
    Cmd = begun(Nodes, ["--by", "result", work("ends/1")], Config),
    _ = call(One, ?WORK, end_all, [300]),
    _ = call(Two, ?WORK, end_all, [211]),
    {Objects, #{<<"counted">> := 511, <<"others">> := 0}} = ended(Cmd),
    ok = signal(Recording, "INT"),
    #{status := 0} = wait(Recording, 120000),
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "--format", "json", Dir]),
    Expected = lists:foldl(fun({_, _} = Key, Acc) ->
                                   maps:update_with(Key, fun(N) -> N + 1 end, 1, Acc)
                           end, #{}, [E || Event <- json(Out), E <- ended_with(Event)]),
    511 = lists:sum(maps:values(Expected)),
    8 = map_size(Expected),
    [] = maps:to_list(Expected) -- [{{Kind, Key}, N}
                                    || #{<<"kind">> := Kind, <<"key">> := Key,
                                         <<"count">> := N} <- maps:values(final(Objects))].

ended_with(#{<<"end">> := <<"return">>, <<"return">> := R}) ->
    [{<<"value">>, printed(parsed(R))}];
ended_with(#{<<"end">> := <<"exception">>,
             <<"exception">> := #{<<"class">> := Class, <<"reason">> := Reason}}) ->
    [{<<"exception">>, printed({binary_to_atom(Class), parsed(Reason)})}];
ended_with(_) ->
    [].

%% Parses a term that the JSON contains as text, in the form of ~w.
parsed(Text) ->
    {ok, Tokens, _} = erl_scan:string(binary_to_list(Text) ++ "."),
    {ok, Term} = erl_parse:parse_term(Tokens),
    Term.

%% A deep recursion reaches the bound on open calls. From then on, the results of the function are
%% not counted, and the process continues.
results_of_a_recursion(Config) ->
    Cmd = begun(["count"], [one(Config)], ["--by", "result", work("down/1")], Config),
    5000 = call(one(Config), ?WORK, down, [5000]),
    ok = signal(Cmd, "INT"),
    #{err := Err} = wait(Cmd, 120000),
    contains(Err, <<"down/1: its results are not counted any more">>).

%% Exits are counted by their reason, and other events of processes are not counted.
reasons(Config) ->
    Cmd = begun([one(Config)], ["--by", "reason", "procs"], Config),
    ok = call(one(Config), ?WORK, exits, [[{shutdown, 1}, {shutdown, 1}, kill, 17, "x"]]),
    {Objects, _} = ended(Cmd),
    Final = counts(Objects),
    #{<<"{shutdown,1}">> := 2, <<"killed">> := 1, <<"17">> := 1, <<"\"x\"">> := 1} = Final,
    [<<"value">>] = lists:usort([K || #{<<"kind">> := K} <- Objects]).

%% The counts of several nodes are added up. With --by node they are shown for each node.
nodes(Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    Run = fun(Args) ->
                  Cmd = begun(Nodes, Args ++ [work("f/1"), work("down/1")],
                              Config),
                  _ = call(One, ?WORK, calls, [2, 100]),
                  _ = call(Two, ?WORK, calls, [5, 100]),
                  _ = call(Two, ?WORK, down, [9]),
                  {Objects, #{<<"counted">> := 710}} = ended(Cmd),
                  lists:sort([{K, maps:get(<<"node">>, O, none), N}
                              || #{<<"key">> := K, <<"count">> := N} = O
                                     <- Objects])
          end,
    [N1, N2] = [list_to_binary(name(N)) || N <- Nodes],
    {F, D} = {key("f/1"), key("down/1")},
    [{D, none, 10}, {F, none, 700}] = Run([]),
    [{D, N2, 10}, {F, N1, 200}, {F, N2, 500}] = Run(["--by", "function,node"]),
    Expected = lists:sort([{N1, N1, 200}, {N2, N2, 510}]),
    Expected = Run(["--by", "node"]).

%% When a thread has counts for as many keys as the bound allows, it counts events with other keys
%% as `others'. No event is missing in the sum.
keys_beyond_the_bound(Config) ->
    Threads = call(one(Config), erlang, system_info, [schedulers]),
    N = (?KEYS + 500) * Threads,
    Cmd = begun([one(Config)], ["--by", "process", work("f/1")], Config),
    _ = [ok = call(one(Config), ?WORK, many, [1000])
         || _ <- lists:seq(1, N div 1000 + 1)],
    Calls = (N div 1000 + 1) * 1000,
    {Objects, #{<<"counted">> := Calls, <<"others">> := Others,
                <<"unnoted">> := 0}} = ended(Cmd),
    true = Others > 0,
    Keyed = length([1 || #{<<"kind">> := <<"process">>, <<"count">> := 1}
                             <- Objects]),
    Calls = Keyed + Others,
    [Others] = [C || #{<<"kind">> := <<"others">>, <<"count">> := C} <- Objects].

%% The counts of functions and messages equal those from a recording of the same events.
like_a_recording(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "recording"),
    Specs = [work("f/1"), work("down/1"), "send(_, {ping, _})"],
    Recording = begun(["record"], [one(Config)], ["-o", Dir | Specs], Config),
    Cmd = begun([one(Config)], Specs, Config),
    _ = call(one(Config), ?WORK, calls, [11, 700]),
    _ = call(one(Config), ?WORK, down, [333]),
    ok = call(one(Config), ?WORK, ping, [count_both, 450]),
    {Objects, _} = ended(Cmd),
    ok = signal(Recording, "INT"),
    #{status := 0} = wait(Recording, 120000),
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "-q", "--json", Dir]),
    Recorded = lists:foldl(fun(E, Acc) ->
                                   maps:update_with(recorded_key(E),
                                                    fun(N) -> N + 1 end, 1, Acc)
                           end, #{}, json(Out)),
    Recorded = counts(Objects),
    7700 = maps:get(key("f/1"), Recorded).

recorded_key(#{<<"tag">> := <<"call">>, <<"module">> := M, <<"function">> := F,
               <<"arity">> := A}) ->
    iolist_to_binary([M, ":", F, "/", integer_to_binary(A)]);
recorded_key(#{<<"tag">> := Tag}) ->
    Tag.

%%---------------------------------------------------------------------------
%% Output

%% The command prints the first results after the node has counted for one period. Results before
%% the end are marked as not final, and the last results as final.
every(Config) ->
    Cmd = begun([one(Config)], ["--every", "100ms", work("f/1")], Config),
    _ = call(one(Config), ?WORK, calls, [2, 50]),
    _ = until(fun() ->
                      [1 || #{<<"count">> := 100} <- partly(Cmd)] =/= []
              end),
    _ = call(one(Config), ?WORK, calls, [1, 50]),
    {Objects, _} = ended(Cmd),
    true = [1 || #{<<"final">> := false, <<"count">> := 100} <- Objects] =/= [],
    [150] = [N || #{<<"final">> := true, <<"count">> := N} <- Objects],
    #{<<"final">> := true} = lists:last(Objects),
    [First | _] = Times = [Ms || #{<<"ms">> := Ms} <- Objects],
    true = First >= 100,
    true = length(Times) =:= length(Objects),
    %% If the command ends right after a periodic result, the final result may have the same time.
    Before = lists:droplast(Times),
    {Before, _} = {lists:usort(Before), Times},
    true = lists:last(Times) >= lists:last(Before).

%% With --every, the tables say for how long the nodes have counted, even if there was no event.
every_for_people(Config) ->
    Cmd = begun(["count"], [one(Config)], ["--every", "100ms", work("f/1")],
                Config),
    _ = until(fun() -> out_has(Cmd, "-- 0 events counted in [0-9]+ ms so far\n")
              end),
    _ = call(one(Config), ?WORK, calls, [1, 300]),
    _ = until(fun() -> out_has(Cmd, "-- 300 events counted in .* so far\n") end),
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    contains(Out, <<"         count   per second   share  key\n">>),
    contains(Out, <<"; stopped: interrupted">>),
    %% A table says how long the node has counted, so it is printed only after
    %% the first period.
    {match, [[First] | _]} =
        re:run(Out, "counted( in [1-9][0-9][0-9]+ ms)? so far",
               [global, {capture, [1], binary}]),
    contains(First, <<" in ">>).

out_has(Cmd, Text) ->
    re:run(inviso_command_lib:out(Cmd), Text, [{capture, none}]) =:= match.

%% The log contains the counts, and `inviso merge' shows them.
a_log(Config) ->
    Log = filename:join(?config(priv_dir, Config), "counts.log"),
    Cmd = begun([one(Config)], ["-o", Log, work("f/1")], Config),
    _ = call(one(Config), ?WORK, calls, [4, 25]),
    {Objects, _} = ended(Cmd),
    Counts = counts(Objects),
    #{status := 0, out := Json} =
        run(?config(opts, Config), ["merge", "-q", "--json", Log]),
    Counts = counts(json(Json)),
    #{status := 0, out := Text} = run(?config(opts, Config), ["merge", "-q", Log]),
    contains(Text, <<"100 ">>),
    contains(Text, key("f/1")).

for_people(Config) ->
    Cmd = begun(["count"], [one(Config)],
                ["--top", "1", work("f/1"), work("down/1")], Config),
    _ = call(one(Config), ?WORK, calls, [1, 300]),
    100 = call(one(Config), ?WORK, down, [100]),
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    contains(Out, <<"74.8%  ", (key("f/1"))/binary>>),
    nomatch = binary:match(Out, key("down/1")),
    contains(Out, <<"and 1 more (--top 0 shows all)">>),
    contains(Out, <<"-- 401 events counted">>),
    contains(Out, <<"stopped: interrupted">>).

%% Two commands count on the same node at the same time. Each has its own counts.
two_commands(Config) ->
    First = begun([one(Config)], [work("f/1")], Config),
    _ = call(one(Config), ?WORK, calls, [1, 10]),
    Second = begun([one(Config)], ["--by", "process", work("f/1")], Config),
    _ = call(one(Config), ?WORK, calls, [1, 7]),
    {A, _} = ended(First),
    _ = call(one(Config), ?WORK, calls, [1, 5]),
    {B, _} = ended(Second),
    [17] = maps:values(counts(A)),
    [5, 7] = lists:sort(maps:values(counts(B))).

nothing(Config) ->
    Opts = ?config(opts, Config),
    Name = name(one(Config)),
    #{status := 5, err := None} =
        run(Opts, ["count", "-n", Name, "inviso_no_such_module:f/1"]),
    contains(None, <<"no module inviso_no_such_module">>),
    #{status := 5, err := Err, out := Out} =
        run(Opts, ["count", "-n", Name, "--for", "1200ms", work("f/1")]),
    contains(Err, <<"no event">>),
    contains(Out, <<"-- 0 events counted in 1.2 s; stopped: 1.2 s passed">>).

usage(Config) ->
    Bad = [{["--by", "label", "lists:seq/2"], <<"label is not supported yet">>},
           {["--by", "result", "procs"], <<"procs has no result">>},
           {["--by", "reason", "lists:seq/2"], <<"lists:seq/2 has no reason">>},
           {["--by", "A1", "procs"], <<"only calls, send and receive">>},
           {["--by", "A1", "lists:seq/2 [{'_',[],[]}]"], <<"write a pattern">>},
           {["--by", "foo(A1)", "lists:seq/2"], <<"foo/1">>},
           {["--by", "A1 + X", "lists:seq/2"], <<"X is no argument">>},
           {["--by", "caller", "send"], <<"send: only calls have a caller">>},
           {["--by", "caller", "lists:seq/2 [{'_',[],[]}]"],
            <<"a match spec cannot be counted by caller">>},
           {["--by", "colour", "lists:seq/2"], <<"--by colour">>},
           {["--by", "function,process", "lists:seq/2"], <<"--by">>},
           {["lists:seq/2 -> return"], <<"has an action">>},
           {["lists:seq/2 :: return"], <<"has an action">>},
           {["lists:seq($\", '->') -> return"], <<"has an action">>},
           {["--every", "1ms", "lists:seq/2"], <<"--every 1ms">>},
           {["--top", "x", "lists:seq/2"], <<"--top x">>},
           {[], <<"no SPEC">>}],
    _ = [begin
             #{status := 2, err := Err} =
                 run(?config(opts, Config),
                     ["count", "-n", name(one(Config)) | Args]),
             contains(Err, Text)
         end || {Args, Text} <- Bad],
    %% This spec has no action: the marks are in a string.
    #{status := 5, err := None} =
        run(?config(opts, Config), ["count", "-n", name(one(Config)), "--for", "100ms",
                                    "lists:member(\"a::b->c\", _)"]),
    contains(None, <<"no event">>).

%%---------------------------------------------------------------------------
%% A command, a session or a node is killed. end_per_testcase checks that the nodes are released.

the_command_is_killed(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    Cmds = [begun(Nodes, Args, Config)
            || Args <- [[work("f/1"), "receive({ping, _})"],
                        ["--by", "result", work("f/1"), work("serve/2")],
                        ["--by", "reason", "procs"],
                        ["--by", "A1", work("f/1")]]],
    %% These processes are in calls of serve/2 when the command is killed.
    Servers = [call(one(Config), erlang, spawn, [?WORK, serve, [self(), 1]])
               || _ <- lists:seq(1, 20)],
    _ = call(one(Config), ?WORK, calls, [2, 10]),
    _ = [ok = signal(Cmd, "KILL") || Cmd <- Cmds],
    released(Nodes),
    _ = [begin
             true = call(one(Config), erlang, exit, [P, kill]),
             _ = until(fun() -> not call(one(Config), erlang, is_process_alive, [P]) end)
         end || P <- Servers],
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)],
    ok.

a_session_is_killed(Config) ->
    _ = [a_session_is_killed(By, Config)
         || By <- [[], ["--by", "node"], ["--by", "result"]]],
    ok.

a_session_is_killed(By, Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, By ++ ["--every", "100ms", work("down/1")], Config),
    _ = [call(N, ?WORK, down, [19]) || N <- Nodes],
    _ = until(fun() ->
                      Now = maps:from_list([{K, N} || #{<<"key">> := K, <<"count">> := N}
                                                          <- partly(Cmd)]),
                      40 =< lists:sum(maps:values(Now))
              end),
    [Session] = [P || {{user, P}, _, _} <- call(Two, ets, tab2list,
                                                [inviso_guard])],
    true = call(Two, erlang, exit, [Session, kill]),
    _ = call(One, ?WORK, calls, [1, 5]),
    _ = signal(Cmd, "INT"),
    %% The command prints the counts that it had when it was interrupted.
    #{status := Status, out := Out, err := Err} = wait(Cmd, 120000),
    true = Status =/= 0,
    #{<<"complete">> := false} = summary(Err),
    true = lists:sum(maps:values(counts(json(Out)))) >= 40.

a_node_is_killed(Config) ->
    [_, #{os_pid := OsPid}] = Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--every", "100ms", work("f/1")], Config),
    _ = [call(N, ?WORK, calls, [1, 20]) || N <- Nodes],
    _ = until(fun() -> [1 || #{<<"count">> := 40} <- partly(Cmd)] =/= [] end),
    ok = signal(OsPid, "KILL"),
    %% The kernel of a killed node resets the connection if the node had not read all data.
    _ = until(fun() ->
                      binary:match(inviso_command_lib:err(Cmd),
                                   [<<"closed the connection">>,
                                    <<"the connection was lost">>]) =/= nomatch
              end),
    %% The command continues with the other node.
    ok = signal(Cmd, "INT"),
    #{status := 3, out := Out, err := Err} = wait(Cmd, 120000),
    #{<<"complete">> := false} = summary(Err),
    [40] = maps:values(counts(json(Out))),
    released([one(Config)]).
