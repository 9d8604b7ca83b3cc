%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso count': counts inside two nodes, compared with what the work
%% did, and with a recording.
-module(inviso_count_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).
-export([functions/1, conditions/1, messages/1, processes/1, nodes/1,
         keys_beyond_the_bound/1, like_a_recording/1, every/1,
         every_for_people/1, a_log/1, for_people/1, two_commands/1, nothing/1, usage/1,
         the_command_is_killed/1, a_session_is_killed/1, a_node_is_killed/1]).

-import(inviso_command_lib, [run/2, start/3, wait/2, signal/2, until/1,
                             until_tracing/3, json/1]).

-define(NODE, inviso_stock_node).
-define(WORK, inviso_count_work).
%% INV_TALLY_KEYS of c_src/vm/tally.h
-define(KEYS, 4096).

all() ->
    [functions, conditions, messages, processes, nodes, keys_beyond_the_bound,
     like_a_recording, every, every_for_people, a_log, for_people,
     two_commands, nothing, usage, the_command_is_killed,
     a_session_is_killed, a_node_is_killed].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case inviso_command_lib:base() of
        {ok, Base} ->
            Cookie = "count",
            {Holder, Nodes} = started(Base, Cookie),
            {Work, Beam, File} = code:get_object_code(?WORK),
            _ = [{module, Work} = call(N, code, load_binary, [Work, File, Beam])
                 || N <- Nodes],
            [{holder, Holder}, {base, Base}, {opts, #{base => Base, cookie => Cookie}},
             {nodes, Nodes} | Config];
        {skip, _} = Skip ->
            Skip
    end.

%% Starts the nodes in a process that lives as long as the suite.
started(Base, Cookie) ->
    Self = self(),
    Start = fun(N) -> ?NODE:start(Base, #{name => N, cookie => Cookie,
                                          env => [inviso_test_lib:hurry(5)]})
            end,
    Holder = spawn(fun() ->
                           Self ! {self(), [Start(N) || N <- ["one", "two"]]},
                           receive stop -> ok end
                   end),
    receive {Holder, Nodes} -> {Holder, Nodes} end.

end_per_suite(Config) ->
    _ = [?NODE:stop(N) || N <- ?config(nodes, Config)],
    ?config(holder, Config) ! stop,
    inviso_command_lib:base_removed(?config(base, Config)).

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) ->
    %% Nothing is left, whatever happened.
    released(?config(nodes, Config)).

%%---------------------------------------------------------------------------
%% Helpers

call(Node, M, F, Args) -> ?NODE:call(Node, M, F, Args).

name(#{name := Name}) -> Name.

one(Config) -> hd(?config(nodes, Config)).

work(What) -> atom_to_list(?WORK) ++ ":" ++ What.

begun(Nodes, Args, Config) ->
    begun(["count", "--json"], Nodes, Args, Config).

begun(Command, Nodes, Args, Config) ->
    Names = lists:append(lists:join(",", [name(N) || N <- Nodes])),
    Opts = ?config(opts, Config),
    Cmd = start(Opts, Command ++ ["-n", Names, "--for", "200s" | Args], 240000),
    _ = [until_tracing(Opts, name(N), Cmd) || N <- Nodes],
    Cmd.

%% Ends the command as a user does.
ended(Cmd) ->
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out, err := Err} = wait(Cmd, 120000),
    {json(Out), summary(Err)}.

summary(Err) ->
    [Line] = [L || <<"{", _/binary>> = L <- inviso_command_lib:lines(Err)],
    inviso_trace_json:decode(Line).

%% Returns the final counts, by key.
counts(Objects) ->
    maps:from_list([{K, N} || #{<<"key">> := K, <<"count">> := N,
                                <<"final">> := true} <- Objects]).

key(What) -> list_to_binary(work(What)).

released(Nodes) ->
    _ = [until(fun() ->
                       call(N, erlang, whereis, [inviso_guard]) =:= undefined
               end) || N <- Nodes],
    ok.

%% Returns what is on the nodes before. An earlier command's code may linger.
footprints(Nodes) ->
    _ = [until(fun() ->
                       call(N, erlang, whereis, [inviso_loading]) =:= undefined
                           andalso not call(N, erlang, module_loaded,
                                            [inviso_tracer])
               end) || N <- Nodes],
    [inviso_footprint:of_node(N) || N <- Nodes].

left(Before, Node) ->
    inviso_command_lib:until_same(
      fun() ->
              Now = inviso_footprint:of_node(Node),
              [D || {_, _, New} = D <- inviso_footprint:differences(Before, Now),
                    New =/= []]
      end, 60000).

contains(Text, Part) ->
    _ = binary:match(Text, Part) =/= nomatch orelse error({missing, Part, Text}),
    ok.

%%---------------------------------------------------------------------------
%% What is counted

%% Many processes on all schedulers, and recursion. The counts are exact.
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

%% The match spec decides what is counted.
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

%% A count for each process. A registered process has its name.
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

%% As its own node prints the pid.
pid_text(Pid) ->
    "<" ++ Rest = pid_to_list(Pid),
    "<0" ++ lists:dropwhile(fun(C) -> C =/= $. end, Rest).

%% Counts of several nodes are added up, unless the user wants to see each.
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

%% Beyond the bound, events are counted as others: nothing is lost.
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

%% A recording of the same events has as many.
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

%% Results before the end are marked as such. The first comes when a period has
%% passed on the node, and the final ones are the last.
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
    true = length(Times) =:= length(Objects) andalso
        Times =:= lists:usort(Times).

%% A table says how long was counted, also if there was no event.
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
    %% The first table comes after a period on the node.
    {match, [[First] | _]} =
        re:run(Out, "counted( in [1-9][0-9][0-9]+ ms)? so far",
               [global, {capture, [1], binary}]),
    contains(First, <<" in ">>).

out_has(Cmd, Text) ->
    re:run(inviso_command_lib:out(Cmd), Text, [{capture, none}]) =:= match.

%% The complete lines that the command has printed so far.
partly(Cmd) ->
    Out = inviso_command_lib:out(Cmd),
    case binary:matches(Out, <<"\n">>) of
        [] -> [];
        Ends -> json(binary:part(Out, 0, element(1, lists:last(Ends)) + 1))
    end.

%% The log has the counts, and `inviso merge' shows them.
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

%% Each command has counts of its own.
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
    Bad = [{["--by", "caller", "lists:seq/2"], <<"caller is not supported yet">>},
           {["--by", "colour", "lists:seq/2"], <<"--by colour">>},
           {["--by", "function,process", "lists:seq/2"], <<"--by">>},
           {["lists:seq/2 -> return"], <<"has an action">>},
           {["--every", "1ms", "lists:seq/2"], <<"--every 1ms">>},
           {["--top", "x", "lists:seq/2"], <<"--top x">>},
           {[], <<"no SPEC">>}],
    _ = [begin
             #{status := 2, err := Err} =
                 run(?config(opts, Config),
                     ["count", "-n", name(one(Config)) | Args]),
             contains(Err, Text)
         end || {Args, Text} <- Bad],
    ok.

%%---------------------------------------------------------------------------
%% Deaths. end_per_testcase checks that the nodes are released.

the_command_is_killed(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    Cmd = begun(Nodes, [work("f/1"), "receive({ping, _})"], Config),
    _ = call(one(Config), ?WORK, calls, [2, 10]),
    ok = signal(Cmd, "KILL"),
    released(Nodes),
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)],
    ok.

a_session_is_killed(Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--every", "100ms", work("f/1")], Config),
    _ = [call(N, ?WORK, calls, [1, 20]) || N <- Nodes],
    _ = until(fun() -> [1 || #{<<"count">> := 40} <- partly(Cmd)] =/= [] end),
    [Session] = [P || {{user, P}, _, _} <- call(Two, ets, tab2list,
                                                [inviso_guard])],
    true = call(Two, erlang, exit, [Session, kill]),
    _ = call(One, ?WORK, calls, [1, 5]),
    _ = signal(Cmd, "INT"),
    %% What was counted up to then is printed.
    #{status := Status, out := Out, err := Err} = wait(Cmd, 120000),
    true = Status =/= 0,
    #{<<"complete">> := false} = summary(Err),
    [N] = maps:values(counts(json(Out))),
    true = N >= 40.

a_node_is_killed(Config) ->
    [_, #{os_pid := OsPid}] = Nodes = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--every", "100ms", work("f/1")], Config),
    _ = [call(N, ?WORK, calls, [1, 20]) || N <- Nodes],
    _ = until(fun() -> [1 || #{<<"count">> := 40} <- partly(Cmd)] =/= [] end),
    ok = signal(OsPid, "KILL"),
    _ = until(fun() ->
                      binary:match(inviso_command_lib:err(Cmd),
                                   <<"closed the connection">>) =/= nomatch
              end),
    %% The command goes on with the other node.
    ok = signal(Cmd, "INT"),
    #{status := 3, out := Out, err := Err} = wait(Cmd, 120000),
    #{<<"complete">> := false} = summary(Err),
    [40] = maps:values(counts(json(Out))),
    released([one(Config)]).
