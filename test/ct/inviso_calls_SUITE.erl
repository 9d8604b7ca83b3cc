%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls as data: durations, self times, arguments and results of calls, in
%% JSON and text, live and from recordings; slow calls and calls that failed.
-module(inviso_calls_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([tree/1, check_trees/2]). % these two are called by inviso_decide_SUITE
-export([random_trees/1, slow_calls/1, calls_without_arguments/1,
         failed_calls/1, picks_of_one_spec/1, invalid_picks/1,
         filters_change_no_duration/1, filters_in_the_node/1,
         live_and_recorded/1,
         receivers_on_other_nodes/1, names_of_processes/1,
         names_from_before/1, names_of_spawned_processes/1,
         names_of_unregistered_processes/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(WORK, inviso_calls_work).
-define(ORDER, "inviso_calls_work:order/2").

-define(ORDER_OF_5, "inviso_calls_work:order(N, _) when N rem 5 =:= 0").

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [random_trees, slow_calls, calls_without_arguments, failed_calls,
     picks_of_one_spec, invalid_picks, filters_change_no_duration,
     filters_in_the_node,
     live_and_recorded, receivers_on_other_nodes, names_of_processes,
     names_from_before, names_of_spawned_processes,
     names_of_unregistered_processes].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

init_per_testcase(Case, Config) ->
    ok = inviso_test_lib:seed(Case),
    Config.

end_per_testcase(_Case, _Config) ->
    ok.

a_node(Config) ->
    Node = ?NODE:start(?config(base, Config), #{uid => ?LIB:some_uid()}),
    {?WORK, Beam, File} = code:get_object_code(?WORK),
    {module, ?WORK} = ?NODE:call(Node, code, load_binary,
                                 [?WORK, File, Beam]),
    Node.

%% Starts a node on which the process `shop' of inviso_calls_work takes orders.
a_shop(Config) ->
    Node = a_node(Config),
    _ = ?NODE:call(Node, erlang, spawn, [?WORK, shop, []]),
    Node.

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

run(Config, Node, [Command | Args]) ->
    ?LIB:run(opts(Config, Node),
             [Command, "-n", maps:get(name, Node) | Args]).

merge(Config, Node, Args) ->
    ?LIB:run(opts(Config, Node), ["merge" | Args]).

%% Starts a recording, calls Work, and ends the recording. Returns the path of the log.
recorded(Config, Node, Specs, Work) ->
    Dir = maps:get(home, Node),
    #{status := 0} = run(Config, Node, ["record", "--detach", "--for", "5m",
                                        "--name", "calls" | Specs]),
    ok = Work(),
    #{status := 0} = run(Config, Node, ["fetch", "--stop", "-o", Dir, "calls"]),
    filename:join(Dir, maps:get(name, Node) ++ "-calls.log").

%% --- random trees -----------------------------------------------------------

%% Processes on the node make random trees of calls. The recorded calls are compared with the trees.
random_trees(Config) ->
    Node = a_node(Config),
    Children = [tree(5) || _ <- lists:seq(1, 60)],
    Work = fun() -> ?NODE:call(Node, ?WORK, play, [Children]) end,
    Specs = ["inviso_calls_work:" ++ F ++ "/1 -> return"
             || F <- ["f0", "f1", "f2", "f3"]],
    Log = recorded(Config, Node, ["procs" | Specs], Work),
    #{status := 0, out := Out} = merge(Config, Node, ["--json", Log]),
    Events = ?LIB:json(Out),
    Begun = maps:from_list([{id(E), maps:get(<<"ts">>, E)}
                            || #{<<"tag">> := <<"call">>} = E <- Events]),
    Ended = maps:from_list([{id(E), E} || #{<<"end">> := _, <<"args">> := _} = E
                                              <- Events]),
    lists:foreach(fun(C) -> check(C, 0, Begun, Ended) end, Children),
    true = map_size(Ended) > 100,
    same_in_text(Config, Node, Log, Ended),
    same_in_terms(Config, Node, Log, Ended).

%% Checks recorded calls against the trees that describe them. Each call in Calls must contain
%% `start', the time at which the call began.
check_trees(Trees, Calls) ->
    Ended = maps:from_list([{id(E), E} || E <- Calls]),
    Begun = maps:map(fun(_, E) -> unix_ns(maps:get(<<"start">>, E)) end, Ended),
    lists:foreach(fun(T) -> check(T, 0, Begun, Ended) end, Trees),
    true = map_size(Ended) > 100,
    ok.

tree(Depth) ->
    Id = erlang:unique_integer([positive]),
    Function = lists:nth(rand:uniform(4), [f0, f1, f2, f3]),
    Children = [tree(Depth - 1)
                || Depth > 0, _ <- lists:seq(1, rand:uniform(4) - 1)],
    {Function, {Id, Children, ending(Depth)}}.

ending(Depth) ->
    case rand:uniform(20) of
        1 -> die;
        N when N < 4 -> {raise, error};
        4 -> {raise, throw};
        5 -> {raise, exit};
        6 -> error;
        N when N < 11, Depth > 0 -> {tail, tree(Depth - 1)};
        _ -> ok
    end.

id(#{<<"args">> := [<<"{", Tree/binary>>]}) ->
    {Id, _} = string:to_integer(Tree),
    Id.

%% Checks the call that the tree describes, and the calls inside this call. Returns true if the
%% process continues after the call.
check({Function, {Id, Children, End}}, Depth, Begun, Ended) ->
    case alive(Children, Depth + 1, Begun, Ended) andalso
        tail(End, Depth + 1, Begun, Ended) of
        true ->
            #{Id := E} = Ended,
            #{<<"module">> := <<"inviso_calls_work">>, <<"arity">> := 1,
              <<"function">> := Name, <<"depth">> := Depth,
              <<"ts">> := Ts, <<"duration_ns">> := Ns} = E,
            Name = atom_to_binary(Function),
            %% `ts' was computed from the system clock, and `duration_ns' from the
            %% monotonic clock, so there is a small difference.
            Diff = Ts - maps:get(Id, Begun) - Ns,
            {Id, true} = {Id, abs(Diff) =< 2 + Ns div 50},
            Inner = lists:sum([duration(C, Ended)
                               || C <- Children ++ [T || {tail, T} <- [End]]]),
            {Id, Self} = {Id, Ns - Inner},
            Self = maps:get(<<"self_ns">>, E),
            ended(Id, End, E);
        false ->
            false
    end.

alive(Children, Depth, Begun, Ended) ->
    lists:all(fun(C) -> check(C, Depth, Begun, Ended) end, Children).

tail({tail, Child}, Depth, Begun, Ended) ->
    check(Child, Depth, Begun, Ended);
tail(_, _, _, _) ->
    true.

duration({_, {Id, _, _}}, Ended) ->
    #{Id := #{<<"duration_ns">> := Ns}} = Ended,
    Ns.

ended(Id, End, #{<<"end">> := Said} = E) ->
    Text = integer_to_binary(Id),
    case End of
        ok ->
            Ok = <<"{ok,", Text/binary, "}">>,
            #{<<"return">> := Ok} = E,
            Said =:= <<"return">>;
        error ->
            Error = <<"{error,", Text/binary, "}">>,
            #{<<"return">> := Error} = E,
            Said =:= <<"return">>;
        {raise, Class} ->
            Name = atom_to_binary(Class),
            Reason = <<"{bad,", Text/binary, "}">>,
            #{<<"exception">> := #{<<"class">> := Name,
                                   <<"reason">> := Reason}} = E,
            Said =:= <<"exception">>;
        {tail, _} ->
            true = lists:member(Said, [<<"return">>, <<"exception">>]);
        die ->
            %% If the VM reports the kill as an exception, the call ends with this exception. If
            %% not, the call ends with the process.
            true = lists:member(Said, [<<"exit">>, <<"exception">>]),
            false
    end.

%% The text format shows the same calls as JSON, each with the same duration.
same_in_text(Config, Node, Log, Ended) ->
    #{status := 0, out := Out} =
        merge(Config, Node, ["--min-duration", "0us", Log]),
    {match, Calls} = re:run(Out, "call inviso_calls_work:f.\\({([0-9]+),.*"
                            " \\(~?([0-9.]+) (us|ms|s)\\)\n",
                            [global, {capture, [1, 2, 3], binary}]),
    Texts = maps:from_list([{binary_to_integer(I), rounded(N, U)}
                            || [I, N, U] <- Calls]),
    true = maps:keys(Texts) =:= maps:keys(Ended),
    [true = abs(Ns - maps:get(I, Texts)) =< Ns div 100 + 60
     || {I, #{<<"duration_ns">> := Ns}} <- maps:to_list(Ended)],
    ok.

%% The format etf contains the same calls as JSON, with the same numbers.
same_in_terms(Config, Node, Log, Ended) ->
    File = Log ++ ".etf",
    #{status := 0} = merge(Config, Node, ["-f", "etf", "--min-duration", "0us",
                                          "-o", File, Log]),
    {ok, Bin} = file:read_file(File),
    Entries = [binary_to_term(T) || <<N:32, T:N/binary>> <= Bin],
    Terms = maps:from_list([{Id, Facts}
                            || {_, _, _, _, #{call := {_, _, [Tree]}} = Facts}
                                   <- Entries, Id <- [element(1, Tree)]]),
    true = maps:keys(Terms) =:= maps:keys(Ended),
    [{Ns, Self, Depth, End, Ts}
         = {maps:get(<<"duration_ns">>, E), maps:get(<<"self_ns">>, E),
            maps:get(<<"depth">>, E), binary_to_atom(maps:get(<<"end">>, E)),
            Start + maps:get(<<"ts">>, E) - unix_ns(maps:get(<<"start">>, E))}
     || {Id, #{duration := Ns, self := Self, depth := Depth, 'end' := End,
               certain := true, start := Start}} <- maps:to_list(Terms),
        E <- [maps:get(Id, Ended)], Ts <- [maps:get(<<"ts">>, E)]],
    ok.

unix_ns(Text) ->
    calendar:rfc3339_to_system_time(binary_to_list(Text),
                                    [{unit, nanosecond}]).

rounded(Number, Unit) ->
    Factor = case Unit of
                 <<"us">> -> 1000;
                 <<"ms">> -> 1000000;
                 <<"s">> -> 1000000000
             end,
    round(binary_to_float(Number) * Factor).

%% --- picking calls ------------------------------------------------------------

%% Each slow call is one line. --events counts these lines.
slow_calls(Config) ->
    Node = a_shop(Config),
    [begin
         #{status := 0, out := Out} =
             run(Config, Node, ["trace", "--for", "60s", "--events", "3"
                                | Args]),
         Lines = [L || L <- ?LIB:lines(Out), not is_comment(L)],
         3 = length(Lines),
         [true = shown_ns(L) >= 20000000 || L <- Lines]
     end || Args <- [[?ORDER ++ " -> slow(20ms)"],
                     ["--min-duration", "20ms", ?ORDER],
                     ["inviso_calls_work:'_' -> slow(20ms)"],
                     ["{inviso_calls_work, order, 2} -> slow(20ms)"],
                     ["inviso_calls_work:order(_, {item, _}) -> slow(0.02s)"]]],
    %% No call takes a minute, so the command shows none, and its status is 5.
    #{status := 5, err := Err} =
        run(Config, Node, ["trace", "--for", "1s", ?ORDER ++ " -> slow(1m)"]),
    {match, _} = re:run(Err, "no slow or failed call among [0-9]+ calls in").

%% Returns the duration in the line of a call of order/2, in ns. The regular expression accepts
%% every order, because on a busy machine every order can be slow.
shown_ns(Line) ->
    {match, [N, Unit]} =
        re:run(Line, "> shop call inviso_calls_work:order\\([0-9]+,"
               "{item,[0-9]+}\\) .*\\(([0-9.]+) (us|ms|s)\\)$",
               [{capture, [1, 2], binary}]),
    rounded(N, Unit).

is_comment(Line) ->
    binary:match(Line, [<<"-- ">>, <<"*** ">>]) =/= nomatch.

%% Among 12 successive orders that fail, crash or return {nok, N}, all three kinds occur: between
%% two orders that return {nok, N}, at most 10 orders fail or crash.
failed_calls(Config) ->
    Node = a_shop(Config),
    [begin
         #{status := 0, out := Out} =
             run(Config, Node, ["trace", "--for", "60s", "--events", "12",
                                "--json" | Args]),
         Calls = ?LIB:json(Out),
         12 = length(Calls),
         [true = failed(C) orelse nok(C) || C <- Calls],
         %% If this match fails, the error shows the calls.
         {true, Nok, _} = {lists:any(fun crashed/1, Calls), lists:any(fun nok/1, Calls),
                           Calls}
     end || {Nok, Args} <- [{false, [?ORDER ++ " -> failed"]},
                            {false, ["--failed", ?ORDER]},
                            {true, ["--failed={nok,_}", ?ORDER]}]].

failed(#{<<"end">> := <<"exception">>, <<"args">> := [N, _],
         <<"exception">> := #{<<"class">> := <<"error">>,
                              <<"reason">> := Reason}}) ->
    Reason =:= <<"{bad,", N/binary, "}">>;
failed(#{<<"end">> := <<"return">>, <<"args">> := [N, _],
         <<"return">> := Return}) ->
    Return =:= <<"{error,", N/binary, "}">>.

crashed(#{<<"end">> := End}) -> End =:= <<"exception">>.

nok(#{<<"args">> := [N, _], <<"return">> := Return}) ->
    Return =:= <<"{nok,", N/binary, "}">>;
nok(#{<<"exception">> := _}) ->
    false.

%% Calls are paired with their ends even if the arguments are not recorded.
calls_without_arguments(Config) ->
    Node = a_shop(Config),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "2",
                           "--args", "none", ?ORDER ++ " -> slow(20ms)"]),
    [#{<<"arity">> := 2, <<"duration_ns">> := Ns} = Call, _] = ?LIB:json(Out),
    true = Ns >= 20000000,
    [] = maps:keys(maps:with([<<"args">>, <<"return">>], Call)),
    #{status := 0, out := Text} =
        run(Config, Node, ["trace", "--for", "60s", "--events", "2",
                           "--args", "none", ?ORDER]),
    {match, _} = re:run(Text, "call inviso_calls_work:order/2\n"),
    #{status := 0, err := Undecided} =
        run(Config, Node, ["trace", "--for", "60s", "--events", "2",
                           "--args", "none", "--failed={nok,_}", ?ORDER]),
    {match, _} = re:run(Undecided, "--failed could not decide on [0-9]+ ret"),
    #{status := 2, err := Err} =
        run(Config, Node, ["trace", "--args", "some", ?ORDER]),
    {match, _} = re:run(Err, "not one of all and none").

%% The actions of one SPEC do not apply to the events of other SPECs.
picks_of_one_spec(Config) ->
    Node = a_shop(Config),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "80",
                           "--procs", "shop",
                           ?ORDER ++ " -> slow(20ms), caller",
                           "timer:sleep/1 -> return"]),
    Events = ?LIB:json(Out),
    [[Slow | _], [_, _ | _]] =
        [[E || #{<<"function">> := F} = E <- Events, F =:= Name]
         || Name <- [<<"order">>, <<"sleep">>]],
    [true = Ns >= 20000000 || #{<<"function">> := <<"order">>,
                                <<"duration_ns">> := Ns} <- Events],
    #{<<"tag">> := <<"return_from">>,
      <<"result">> := <<"{inviso_calls_work,shop,1}">>} = Slow,
    [<<"call">>, <<"return_from">>] =
        lists:usort([T || #{<<"function">> := <<"sleep">>, <<"tag">> := T}
                              <- Events]).

invalid_picks(Config) ->
    Node = a_node(Config),
    [begin
         #{status := 2, err := Err} = run(Config, Node, Args),
         {match, _} = re:run(Err, Says)
     end || {Args, Says} <-
                [{["trace", ?ORDER ++ " -> slow"], "write slow\\(TIME\\)"},
                 {["trace", ?ORDER ++ " -> slow(10x)"], "such as 500us"},
                 {["trace", "--min-duration", "-1s", ?ORDER], "not a time"},
                 {["trace", "--failed={", ?ORDER], "not a pattern"},
                 {["trace", "--min-duration", "1s", ?ORDER ++ " -> caller"],
                  "add the action return"},
                 {["trace", "send -> failed"], "send has none"}]].

%% Durations do not depend on the events that a filter leaves out.
filters_change_no_duration(Config) ->
    Node = a_shop(Config),
    Log = recorded(Config, Node, [?ORDER ++ " -> return"],
                   fun() -> more_orders(60, Node) end),
    Durations = fun(Args) ->
                        #{status := 0, out := Out} =
                            merge(Config, Node, ["--json" | Args] ++ [Log]),
                        [{Ts, Ns, A} || #{<<"ts">> := Ts, <<"args">> := A,
                                          <<"duration_ns">> := Ns}
                                            <- ?LIB:json(Out)]
                end,
    [_ | _] = All = Durations([]),
    All = Durations(["--tag", "return_from,exception_from"]),
    [_ | _] = Returns = Durations(["--tag", "return_from"]),
    [] = Returns -- All,
    [_ | _] = Slow = Durations(["--min-duration", "20ms"]),
    Slow = [S || {_, Ns, _} = S <- All, Ns >= 20000000],
    [_ | _] = Some = Durations(["--filter", "[{[_,return_from,_,{error,_}],"
                                "[],[]}]"]),
    [] = Some -- All,
    %% A filter that selects calls also selects the ends of these calls.
    [_ | _] = Fifth = Durations(["--filter", ?ORDER_OF_5]),
    Fifth = [D || {_, _, [N, _]} = D <- All,
                  binary_to_integer(N) rem 5 =:= 0].

%% If a filter in the node leaves out calls, it also leaves out the ends of
%% these calls, and no other ends.
filters_in_the_node(Config) ->
    Node = a_shop(Config),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "40",
                           "--filter", ?ORDER_OF_5, ?ORDER ++ " -> return"]),
    Events = ?LIB:json(Out),
    40 = length(Events),
    [true = binary_to_integer(N) rem 5 =:= 0
     || #{<<"args">> := [N, _]} <- Events],
    [] = [E || #{<<"tag">> := <<"return_from">>} = E <- tl(Events),
               not is_map_key(<<"duration_ns">>, E)],
    true = length([E || #{<<"duration_ns">> := _} = E <- Events]) >= 19,
    %% A filter that selects only the event return_from selects the returns, although it leaves out
    %% the calls.
    #{status := 0, out := Errors} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "3",
                           "--filter",
                           "[{[_,return_from,_,{error,_}],[],[]}]",
                           ?ORDER ++ " -> return"]),
    [#{<<"return">> := <<"{error,", _/binary>>},
     #{<<"return">> := <<"{error,", _/binary>>},
     #{<<"return">> := <<"{error,", _/binary>>}] = ?LIB:json(Errors).

%% A live trace and a recording run at the same time. If the live trace and the recording both have
%% the beginning and the end of a call, the call must be the same in both.
live_and_recorded(Config) ->
    Node = a_shop(Config),
    Self = self(),
    Live = fun() ->
                   #{status := 0, out := Out} =
                       run(Config, Node, ["trace", "--json", "--for", "60s",
                                          "--events", "10",
                                          ?ORDER ++ " -> slow(20ms)"]),
                   Self ! {live, Out},
                   ok
           end,
    Log = recorded(Config, Node, [?ORDER ++ " -> return"], Live),
    LiveOut = receive {live, O} -> O end,
    #{status := 0, out := Out} =
        merge(Config, Node, ["--json", "--min-duration", "20ms", Log]),
    [_ | _] = Seen = sleepy(LiveOut),
    [] = Seen -- sleepy(Out).

%% Returns the numbers of the orders that sleep. Other orders are left out: on a busy machine they
%% can be slow, but the trace and the recording may measure this differently.
sleepy(Out) ->
    [N || #{<<"args">> := [A, _]} <- ?LIB:json(Out),
          N <- [binary_to_integer(A)], N rem 5 =:= 0].

%% Waits until the shop has taken N more orders.
more_orders(N, Node) ->
    Until = orders(Node) + N,
    _ = ?LIB:until(fun() -> orders(Node) >= Until end),
    ok.

orders(Node) ->
    Shop = ?NODE:call(Node, erlang, whereis, [shop]),
    {dictionary, Words} = ?NODE:call(Node, erlang, process_info,
                                     [Shop, dictionary]),
    proplists:get_value(orders, Words, 0).

%% --- processes ---------------------------------------------------------------

%% A process of another node is shown with the pid and the name that it has on
%% its own node.
receivers_on_other_nodes(Config) ->
    [A, B] = [a_node(Config), a_node(Config)],
    There = list_to_atom(maps:get(name, B)),
    ok = ?NODE:eval(B, "register(till, spawn(fun F() -> receive _ -> F() end"
                    " end)), ok."),
    Till = ?NODE:eval(B, "pid_to_list(whereis(till))."),
    true = ?NODE:call(A, erlang, set_cookie,
                      [There, list_to_atom(maps:get(cookie, B))]),
    pong = ?NODE:call(A, net_adm, ping, [There]),
    _ = ?NODE:run(A, lists:flatten(io_lib:format(
                       "T = rpc:call(~0p, erlang, whereis, [till]),"
                       " register(asker, self()),"
                       " (fun F() -> T ! {pay, 5}, {till, ~0p} ! pay,"
                       " timer:sleep(5), F() end)().", [There, There]))),
    #{status := 0, out := Out} =
        run(Config, A, ["trace", "--json", "--for", "60s", "--events", "2",
                        "--procs", "asker", "send({pay, _})", "send(pay)"]),
    Tos = lists:usort([To || #{<<"to">> := To} <- ?LIB:json(Out)]),
    Name = list_to_binary(maps:get(name, B)),
    TillPid = list_to_binary(Till),
    true = lists:member(#{<<"pid">> => TillPid, <<"node">> => Name,
                          <<"name">> => null}, Tos),
    #{status := 0, out := Text} =
        run(Config, A, ["trace", "--for", "60s", "--events", "1", "--procs",
                        "asker", "send({pay, _})"]),
    {match, _} = re:run(Text, ["send {pay,5} to ", Name, " ", TillPid, "\n"]).

%% A trace shows the names that processes registered before it began.
names_from_before(Config) ->
    Node = a_node(Config),
    ok = ?NODE:eval(Node, "register(till, spawn(fun F() -> receive _ -> F() end"
                    " end)), ok."),
    _ = ?NODE:run(Node, "register('the clerk', self()), T = whereis(till),"
                  " (fun F() -> T ! pay, timer:sleep(5), F() end)()."),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "1",
                           "send(pay)"]),
    [#{<<"process">> := #{<<"name">> := <<"'the clerk'">>},
       <<"to">> := #{<<"name">> := <<"till">>}}] = ?LIB:json(Out),
    #{status := 0, out := Text} =
        run(Config, Node, ["trace", "--for", "60s", "--events", "1",
                           "send(pay)"]),
    {match, _} = re:run(Text, "> 'the clerk' send pay to <.*> till\n").

names_of_processes(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "(fun F() -> P = spawn(fun() -> register(cook, self()),"
                  " lists:seq(1, 3), timer:sleep(20) end), M = monitor(process,"
                  " P), receive {'DOWN', M, _, _, _} -> F() end end)()."),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events", "40",
                           "procs", "lists:seq/2"]),
    Names = [N || #{<<"tag">> := <<"call">>, <<"process">> := #{<<"name">> := N}}
                      <- ?LIB:json(Out)],
    true = lists:member(<<"cook">>, Names).

%% A process that has not registered a name is shown with the name of the function that it was
%% spawned to run.
names_of_spawned_processes(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "(fun F() ->"
                  " {ok, E} = gen_event:start(), gen_event:stop(E),"
                  " ignore = gen_server:start(inviso_calls_work, [], []),"
                  " ignore = gen_server:start({local, clerk},"
                  " inviso_calls_work, [], []),"
                  " proc_lib:spawn(lists, last, [[a]]),"
                  " proc_lib:spawn(fun() -> ok end), spawn(fun() -> ok end),"
                  " spawn(lists, max, [[a]]), timer:sleep(20), F() end)()."),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events",
                           "120", "procs", "lists:max/1 -> slow(60m)"]),
    %% The event `spawned' names a function, but is not a call of it.
    true = lists:member(<<"max">>,
                        [F || #{<<"tag">> := <<"spawned">>,
                                <<"function">> := F} <- ?LIB:json(Out)]),
    Names = lists:usort([N || #{<<"process">> := #{<<"name">> := N}}
                                  <- ?LIB:json(Out), is_binary(N)]),
    [_ | _] = [N || <<"#Fun<erl_eval", _/binary>> = N <- Names],
    [] = [<<"clerk">>, <<"gen_event:init/1">>, <<"inviso_calls_work:init/1">>,
          <<"lists:last/1">>, <<"lists:max/1">>] -- Names.

%% If a process was started before the trace, its label or the function that it runs is shown as its
%% name. In a live trace, the first events may be shown without this name. In a recording, all
%% events are shown with the name.
names_of_unregistered_processes(Config) ->
    Node = a_node(Config),
    _ = ?NODE:call(Node, erlang, spawn, [?WORK, clerk, []]),
    _ = ?NODE:call(Node, erlang, spawn, [?WORK, clerk, [{clerk, 2}]]),
    Label = case ?NODE:call(Node, erlang, function_exported,
                            [proc_lib, set_label, 1]) of
                true -> <<"{clerk,2}">>;
                false -> <<"inviso_calls_work:clerk/1">>
            end,
    Expected = lists:sort([Label, <<"inviso_calls_work:clerk/0">>]),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--json", "--for", "60s", "--events",
                           "500", "inviso_calls_work:order/2"]),
    Expected = lists:delete(null, names(?LIB:json(Out))),
    Log = recorded(Config, Node, ["inviso_calls_work:order/2"],
                   fun() -> timer:sleep(300) end),
    #{status := 0, out := All} = merge(Config, Node, ["--json", Log]),
    Expected = names(?LIB:json(All)),
    #{status := 0, out := Text} = merge(Config, Node, [Log]),
    {match, _} = re:run(Text, "> \\(inviso_calls_work:clerk/0\\) call ").

names(Events) ->
    lists:usort([N || #{<<"tag">> := <<"call">>,
                        <<"process">> := #{<<"name">> := N}} <- Events]).
