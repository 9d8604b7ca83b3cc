%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso seq': requests of three nodes, as they happen.
-module(inviso_seq_live_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([requests_of_three_nodes/1, limit_of_requests/1, a_sample/1, kept_tokens/1,
         kept_tokens_of_a_sample/1,
         a_message_begins/1, a_message_to_another_node/1,
         calls_within_requests/1, marks_stay_inside/1, a_variable_names_requests/1,
         labels_in_views/1, printed_when_over/1,
         ends_in_spite_of_events/1, an_endless_request/1, calls_without_an_end/1,
         another_system_tracer_is_refused/1, system_tracer_is_replaced/1,
         two_commands_do_not_share/1,
         tokens_that_are_left/1, our_processes_have_no_token/1,
         nothing_matches/1, usage/1,
         the_command_is_killed/1, a_session_is_killed/1, a_node_is_killed/1,
         a_recording/1, a_detached_recording/1]).

-import(inviso_command_lib, [run/2, start/3, wait/2, signal/2, until/1, until/2,
                             until_tracing/3, json/1]).

-define(NODE, inviso_stock_node).
-define(WORK, inviso_seq_work).

all() ->
    [requests_of_three_nodes, limit_of_requests, a_sample, kept_tokens,
     kept_tokens_of_a_sample, a_message_begins, a_message_to_another_node, calls_within_requests,
     marks_stay_inside, a_variable_names_requests, labels_in_views, printed_when_over,
     ends_in_spite_of_events, an_endless_request, calls_without_an_end,
     another_system_tracer_is_refused, system_tracer_is_replaced,
     two_commands_do_not_share, tokens_that_are_left,
     our_processes_have_no_token, nothing_matches, usage,
     the_command_is_killed, a_session_is_killed, a_recording,
     a_detached_recording, a_node_is_killed].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case inviso_command_lib:base() of
        {ok, Base} ->
            Cookie = "seq_live",
            {Holder, Nodes} = started(Base, Cookie),
            {Work, Beam, File} = code:get_object_code(?WORK),
            _ = [{module, Work} = call(N, code, load_binary, [Work, File, Beam])
                 || N <- Nodes],
            Names = [list_to_atom(maps:get(name, N)) || N <- Nodes],
            _ = [pong = call(A, net_adm, ping, [B]) || A <- Nodes, B <- Names],
            [{holder, Holder}, {base, Base}, {opts, #{base => Base, cookie => Cookie}},
             {nodes, Nodes}, {names, Names} | Config];
        {skip, _} = Skip ->
            Skip
    end.

%% Starts the nodes in a process that lives as long as the suite.
started(Base, Cookie) ->
    Self = self(),
    Holder = spawn(fun() ->
                           Self ! {self(), start_nodes(Base, Cookie)},
                           receive stop -> ok end
                   end),
    receive {Holder, Nodes} -> {Holder, Nodes} end.

start_nodes(Base, Cookie) ->
    [?NODE:start(Base, #{name => N, cookie => Cookie,
                         env => [inviso_test_lib:hurry(5)]})
     || N <- ["web", "shop", "stock"]].

end_per_suite(Config) ->
    _ = [?NODE:stop(N) || N <- ?config(nodes, Config)],
    ?config(holder, Config) ! stop,
    inviso_command_lib:base_removed(?config(base, Config)).

init_per_testcase(_, Config) ->
    [_, Shop, Stock] = ?config(nodes, Config),
    _ = call(Shop, ?WORK, start, [shop]),
    _ = call(Stock, ?WORK, start, [stock]),
    Config.

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) ->
    %% Waits until the command has released all nodes, even if the case has failed.
    released(Config, ?config(nodes, Config)).

%%---------------------------------------------------------------------------
%% Helpers

call(Node, M, F, Args) -> ?NODE:call(Node, M, F, Args).

names(Config) ->
    lists:append(lists:join(",", [maps:get(name, N)
                                  || N <- ?config(nodes, Config)])).

%% Returns the two nodes to which a checkout sends messages from the first node.
others(Config) ->
    [_, Shop, Stock] = ?config(names, Config),
    {Shop, Stock}.

begin_seq(Config, Args) ->
    begin_seq(Config, ["seq", "--json"], Args).

begin_seq(Config, Command, Args) ->
    Opts = ?config(opts, Config),
    Cmd = start(Opts, Command ++ ["-n", names(Config), "--for", "100s" | Args],
                120000),
    _ = [until_tracing(Opts, maps:get(name, N), Cmd)
         || N <- ?config(nodes, Config)],
    Cmd.

ended(Cmd) ->
    #{status := Status, out := Out, err := Err} = wait(Cmd, 120000),
    {Status, json(Out), Err}.

checkouts(Config, Ids) ->
    [Web | _] = ?config(nodes, Config),
    ok = call(Web, ?WORK, checkouts, [Ids, others(Config)]).

%% Returns the footprint of each node before a test. First waits until the code of an earlier
%% command is no longer loaded.
footprints(Config) ->
    _ = [until(fun() ->
                       call(N, erlang, whereis, [inviso_loading]) =:= undefined
                           andalso not call(N, erlang, module_loaded,
                                            [inviso_tracer])
               end) || N <- ?config(nodes, Config)],
    [inviso_footprint:of_node(N) || N <- ?config(nodes, Config)].

%% Returns the things on a node that were not there before. Things that have disappeared since then
%% do not count, such as processes that connected the nodes.
left(Before, Node) ->
    inviso_command_lib:until_same(
      fun() ->
              Now = inviso_footprint:of_node(Node),
              [D || {_, _, New} = D <- inviso_footprint:differences(Before, Now),
                    New =/= []]
      end, 60000).

%% Returns the summary, the last line of standard error.
summary(Err) ->
    [Line] = [L || <<"{", _/binary>> = L <- inviso_command_lib:lines(Err)],
    inviso_trace_json:decode(Line).

seq_of(Err) ->
    [maps:get(<<"seq">>, N, #{}) || N <- maps:get(<<"nodes">>, summary(Err))].

begun(Err) -> lists:sum([B || #{<<"begun">> := B} <- seq_of(Err)]).

%% Returns the events of each request.
requests(Events) ->
    maps:values(lists:foldl(fun(#{<<"request">> := R} = E, Acc) ->
                                    Acc#{R => maps:get(R, Acc, []) ++ [E]};
                               (_, Acc) -> Acc
                            end, #{}, Events)).

released(Config, Nodes) ->
    _ = Config,
    _ = [until(fun() ->
                       call(N, seq_trace, get_system_tracer, []) =:= false
                           andalso call(N, erlang, whereis, [inviso_guard])
                           =:= undefined
               end) || N <- Nodes],
    ok.

contains(Text, Part) ->
    _ = binary:match(Text, iolist_to_binary(Part)) =/= nomatch orelse error({missing, Part, Text}),
    ok.

%% Checks that the request is a checkout: it has nine events in causal order.
is_checkout(Config, Request) ->
    [Web, Shop, Stock] = [atom_to_binary(N) || N <- ?config(names, Config)],
    [{Web, <<"send">>}, {Shop, <<"'receive'">>}, {Shop, <<"send">>},
     {Stock, <<"'receive'">>}, {Stock, <<"print">>}, {Stock, <<"send">>},
     {Shop, <<"'receive'">>}, {Shop, <<"send">>}, {Web, <<"'receive'">>}] =
        [{N, What} || #{<<"node">> := N} = E <- Request, What <- [what(E)]],
    [null | Causes] = [C || #{<<"cause">> := C} <- Request],
    Ids = [I || #{<<"id">> := I} <- Request],
    [] = lists:usort(Causes) -- Ids,
    [] = [E || #{<<"orphan">> := _} = E <- Request],
    ok.

what(#{<<"payload">> := [Info | _]}) ->
    [_, What | _] = re:split(Info, "[{,]"),
    What.

%%---------------------------------------------------------------------------

requests_of_three_nodes(Config) ->
    Before = footprints(Config),
    Cmd = begin_seq(Config, ["--requests", "2", work("checkout/2")]),
    _ = [{inviso_tracer, _} = call(N, seq_trace, get_system_tracer, [])
         || N <- ?config(nodes, Config)],
    checkouts(Config, [1]),
    checkouts(Config, [2]),
    {0, Events, Err} = ended(Cmd),
    [A, B] = Requests = requests(Events),
    _ = [ok = is_checkout(Config, R) || R <- Requests],
    %% All requests have the same label, which inviso has chosen.
    [Label] = lists:usort([L || #{<<"label">> := L} <- A ++ B]),
    true = binary_to_integer(Label) >= 16#7000000,
    [<<"1">>, <<"2">>] = [hd(maps:get(<<"args">>, C))
                          || #{<<"tag">> := <<"call">>} = C <- Events],
    2 = begun(Err),
    #{<<"requests">> := 2, <<"stopped">> := Why} = summary(Err),
    contains(Why, <<"2 requests">>),
    _ = [[] = left(F, N)
         || {F, N} <- lists:zip(Before, ?config(nodes, Config))],
    ok.

work(Text) -> atom_to_list(?WORK) ++ ":" ++ Text.

%% Although 100 requests begin at the same time, only three are shown: the limit of --requests.
limit_of_requests(Config) ->
    Cmd = begin_seq(Config, ["--requests", "3", work("checkout/2")]),
    checkouts(Config, lists:seq(1, 100)),
    {0, Events, Err} = ended(Cmd),
    3 = length(Requests = requests(Events)),
    _ = [ok = is_checkout(Config, R) || R <- Requests],
    3 = begun(Err).

%% About one in four requests is sampled, and only the sampled requests are shown.
a_sample(Config) ->
    Cmd = begin_seq(Config, ["--requests", "0", "--sample", "1/4",
                             work("checkout/2")]),
    checkouts(Config, lists:seq(1, 200)),
    ok = signal(Cmd, "INT"),
    {0, Events, Err} = ended(Cmd),
    N = begun(Err),
    true = N > 0 andalso N < 200,
    N = length(Requests = requests(Events)),
    _ = [ok = is_checkout(Config, R) || R <- Requests].

%% The process is woken only by a port, so it keeps its token from one checkout to the next. Still,
%% each checkout is a request of its own, and checkouts beyond the limit belong to no request.
kept_tokens(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["--requests", "3", "--label", "Id",
                             work("checkout(Id, _)")]),
    ok = call(Web, ?WORK, wire, [lists:seq(1, 200), others(Config)]),
    {0, Events, Err} = ended(Cmd),
    3 = begun(Err),
    3 = length(Requests = requests(Events)),
    _ = [ok = is_checkout(Config, R) || R <- Requests],
    [[<<"1">>], [<<"2">>], [<<"3">>]] =
        [lists:usort([L || #{<<"label">> := L} <- R]) || R <- Requests].

%% The checkouts that are not sampled belong to no request, although the process keeps its token.
kept_tokens_of_a_sample(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["--requests", "0", "--sample", "1/4",
                             work("checkout/2")]),
    ok = call(Web, ?WORK, wire, [lists:seq(1, 100), others(Config)]),
    ok = signal(Cmd, "INT"),
    {0, Events, Err} = ended(Cmd),
    N = begun(Err),
    true = N > 0 andalso N < 100,
    N = length(Requests = requests(Events)),
    _ = [ok = is_checkout(Config, R) || R <- Requests].

a_message_begins(Config) ->
    [_, Shop, _] = ?config(nodes, Config),
    {_, Stock} = others(Config),
    Cmd = begin_seq(Config, ["--requests", "1", "--label", "Id",
                             "send(shop, {order, _, Id, _})"]),
    ok = call(Shop, ?WORK, order, [5, Stock]),
    {0, Events, Err} = ended(Cmd),
    [Request] = requests(Events),
    [<<"5">>] = lists:usort([L || #{<<"label">> := L} <- Request]),
    [<<"send">>, <<"'receive'">>, <<"send">>, <<"'receive'">>, <<"print">> | _] =
        [what(E) || E <- Request],
    9 = length(Request),
    1 = begun(Err).

%% The message matches the SPEC, but goes to another node. Such a message does not begin a request.
%% The summary counts it as `remote'.
a_message_to_another_node(Config) ->
    Cmd = begin_seq(Config, ["--requests", "1", "send({order, _, _, _})"]),
    checkouts(Config, [1]),
    {5, Events, Err} = ended(Cmd),
    [] = requests(Events),
    [1] = [R || #{<<"remote">> := R} <- seq_of(Err), R > 0].

calls_within_requests(Config) ->
    [_, _, Stock] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["--requests", "1", "--calls", work("stock/1"),
                             work("checkout/2")]),
    84 = call(Stock, ?WORK, stock, [42]),
    checkouts(Config, [6]),
    84 = call(Stock, ?WORK, stock, [42]),
    {0, Events, _} = ended(Cmd),
    [Request] = requests(Events),
    ok = is_checkout(Config, Request),
    [[<<"6">>]] = [A || #{<<"tag">> := <<"call">>, <<"function">> := <<"stock">>,
                          <<"args">> := A} <- Events],
    [<<"12">>] = [R || #{<<"tag">> := <<"return_from">>,
                         <<"function">> := <<"stock">>,
                         <<"return">> := R} <- Events].

%% inviso's match specs add values to events, and some events only say that a request has ended. No
%% output shows these values or events.
marks_stay_inside(Config) ->
    [Web | _] = ?config(nodes, Config),
    Base = filename:join(?config(priv_dir, Config), "marks"),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "2", "--label", "Id", "-o", Base ++ ".log",
                                      "--calls", work("stock/1"), work("checkout(Id, _)")]),
    ok = call(Web, ?WORK, wire, [lists:seq(1, 20), others(Config)]),
    #{status := 0, out := Text} = wait(Cmd, 120000),
    2 = length(binary:matches(Text, <<" call ", (list_to_binary(work("checkout(")))/binary>>)),
    Logs = filelib:wildcard(Base ++ "*.log"),
    Seen = [Text | [merged(Config, Logs, Args)
                    || Args <- [["-f", F] || F <- ["text", "json", "classic", "etf"]]
                           ++ [["--json", "--filter", work("checkout(_, _)")]]]],
    [nomatch = binary:match(S, <<"$inviso">>) || S <- Seen],
    %% No output shows the value of inviso's match spec, and --filter still
    %% selects the event.
    Selected = json(lists:last(Seen)),
    true = length(Selected) >= 2,
    [<<"checkout">>] = lists:usort([F || #{<<"function">> := F} <- Selected]).

merged(Config, Logs, Args) ->
    #{status := 0, out := Out} = run(?config(opts, Config), ["merge", "-q" | Args] ++ Logs),
    Out.

a_variable_names_requests(Config) ->
    Cmd = begin_seq(Config, ["--requests", "1", "--label", "Order",
                             work("checkout(Order, _) when Order > 8")]),
    checkouts(Config, [8]),
    checkouts(Config, [9]),
    {0, Events, _} = ended(Cmd),
    [Request] = requests(Events),
    [<<"9">>] = lists:usort([L || #{<<"label">> := L} <- Request]),
    [<<"9">>] = [hd(A) || #{<<"tag">> := <<"call">>, <<"args">> := A} <- Events].

%% A label of two variables is shown in the tree, and in the views of `inviso merge'.
labels_in_views(Config) ->
    Opts = ?config(opts, Config),
    Dir = filename:join(?config(priv_dir, Config), "labels"),
    Args = ["--requests", "1", "--label", "Stock", "--label", "Order",
            work("checkout(Order, {_, Stock})")],
    {_, Stock} = others(Config),
    Label = iolist_to_binary(io_lib:format("~tw, 9", [Stock])),
    Cmd = begin_seq(Config, ["seq"], ["-o", Dir ++ ".log" | Args]),
    checkouts(Config, [9]),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    contains(Out, [<<"request 1, label ">>, Label, <<", began">>]),
    Merge = fun(View) ->
                    #{status := 0, out := Text} =
                        run(Opts, ["merge", "-q" | View] ++ filelib:wildcard(Dir ++ "*.log")),
                    Text
            end,
    contains(Merge(["--request", "1"]), [<<"request 1, label ">>, Label]),
    contains(Merge(["--requests"]), [<<" ">>, Label, <<", ">>]),
    [Label] = [L || #{<<"label">> := L} <- json(Merge(["--requests", "--json"]))],
    [Label] = lists:usort([L || #{<<"label">> := L, <<"request">> := 1}
                                    <- json(Merge(["--json"]))]),
    contains(Merge(["--request", "1", "--format", "sequence"]),
             [<<"\"label\":\"">>, Label]).

%% A tree is printed while the command runs. If the request of the tree has events after that, the
%% command counts these events.
printed_when_over(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "2", "--idle", "500ms",
                                      work("checkout/2")]),
    Late = call(Web, ?WORK, late, [others(Config)]),
    Trees = fun(Text) ->
                    [N || <<"request ", N, ", label", _/binary>>
                              <- inviso_command_lib:lines(Text)]
            end,
    until(fun() -> Trees(inviso_command_lib:out(Cmd)) =:= "1" end),
    ok = call(Web, ?WORK, go_on, [Late]),
    checkouts(Config, [2]),
    #{status := 0, out := Out, err := Err} = wait(Cmd, 120000),
    "12" = Trees(Out),
    contains(Out, <<"3 processes, 3 nodes, 4 messages">>),
    contains(Err, <<"2 event(s) came later">>),
    contains(Out, <<"-- 2 requests;">>).

%% The command ends although a request whose tree is already printed still makes events.
ends_in_spite_of_events(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "2", "--idle", "500ms",
                                      work("checkout/2")]),
    Restless = call(Web, ?WORK, restless, [others(Config)]),
    until(fun() ->
                  binary:match(inviso_command_lib:out(Cmd), <<"request 1, ">>) =/= nomatch
          end),
    ok = call(Web, ?WORK, go_on, []),
    checkouts(Config, [2]),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    contains(Out, <<"stopped: 2 requests (--requests)">>),
    ok = call(Web, ?WORK, quiet, [Restless]).

%% A request that does not end counts as over after 5000 events, and its tree is printed.
an_endless_request(Config) ->
    [Web, Shop | _] = ?config(nodes, Config),
    _ = call(Shop, ?WORK, start, [echo]),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "1", work("ping/2")]),
    {Name, _} = others(Config),
    Pings = call(Web, erlang, spawn, [?WORK, ping, [Name, 2000]]),
    #{status := 0, out := Out, err := Err} = wait(Cmd, 120000),
    contains(Err, <<"a request has had 5000 events, and counts as over">>),
    contains(Out, <<"stopped: 1 request (--requests)">>),
    true = call(Web, erlang, exit, [Pings, kill]).

%% A process calls a traced function by tail calls. Until a call ends, the VM keeps a frame for it
%% on the process's stack. When there are 1000 frames, the patterns stop asking for the ends of
%% calls. Then the process can begin requests again.
calls_without_an_end(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "2", "--idle", "500ms",
                                      work("down/2"), work("checkout/2")]),
    {Deep, Words} = call(Web, ?WORK, deep, [20000, others(Config)]),
    true = Words < 20000,
    %% The request that began with down/2 sent no message, so it is not shown.
    until(fun() ->
                  ok = call(Web, ?WORK, again, [Deep, 5]),
                  binary:match(inviso_command_lib:out(Cmd), <<"request 1, ">>) =/= nomatch
          end),
    #{status := 0, out := Out, err := Err} = wait(Cmd, 120000),
    contains(Out, <<"3 processes, 3 nodes, 4 messages">>),
    contains(Err, <<"further request(s) began">>),
    true = call(Web, erlang, exit, [Deep, kill]).

another_system_tracer_is_refused(Config) ->
    [Web, Shop, Stock] = ?config(nodes, Config),
    Init = call(Shop, erlang, whereis, [init]),
    false = call(Shop, seq_trace, set_system_tracer, [Init]),
    #{status := 4, err := Err} =
        run(?config(opts, Config), ["seq", "-n", names(Config), work("checkout/2")]),
    contains(Err, list_to_binary(maps:get(name, Shop) ++ ": this node has a "
                                 "system tracer")),
    contains(Err, <<"(init)">>),
    Init = call(Shop, seq_trace, set_system_tracer, [false]),
    _ = [false = call(N, seq_trace, get_system_tracer, []) || N <- [Web, Stock]].

%% Another tool replaces the system tracer of one node. The trace ends and says why, because events
%% would be missing from then on. The tool's tracer stays.
system_tracer_is_replaced(Config) ->
    [_, Shop, _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "0", work("checkout/2")]),
    Init = call(Shop, erlang, whereis, [init]),
    {inviso_tracer, _} = call(Shop, seq_trace, set_system_tracer, [Init]),
    #{status := 1, out := Out} = wait(Cmd, 120000),
    Init = call(Shop, seq_trace, set_system_tracer, [false]),
    contains(Out, [list_to_binary(maps:get(name, Shop)), <<": failed: another tool has "
                   "replaced this session's system tracer by process">>]).

two_commands_do_not_share(Config) ->
    Cmd = begin_seq(Config, ["--requests", "1", work("checkout/2")]),
    #{status := 4, err := Err} =
        run(?config(opts, Config), ["seq", "-n", names(Config), work("checkout/2")]),
    contains(Err, <<"another session of inviso">>),
    checkouts(Config, [1]),
    {0, Events, _} = ended(Cmd),
    [_] = requests(Events).

%% A process keeps its token until it receives a message without a token.
tokens_that_are_left(Config) ->
    [Web | _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["seq"], ["--requests", "1", work("checkout/2")]),
    Keeper = call(Web, ?WORK, keep, [others(Config)]),
    #{status := 0, err := Err} = wait(Cmd, 120000),
    contains(Err, <<"1 process(es) still hold a token">>),
    [{Keeper, Old}] = call(Web, ?WORK, tokens, []),
    %% This process still has a token. The next command is not disturbed by the token, and shows no
    %% event of the process.
    Next = begin_seq(Config, ["--requests", "1", "--reset-all-tokens",
                              work("checkout/2")]),
    [{Keeper, Old}] = call(Web, ?WORK, tokens, []),
    checkouts(Config, [3]),
    {0, Events, _} = ended(Next),
    [Request] = requests(Events),
    ok = is_checkout(Config, Request),
    [] = call(Web, ?WORK, tokens, []),
    true = call(Web, erlang, exit, [Keeper, kill]).

our_processes_have_no_token(Config) ->
    Cmd = begin_seq(Config, ["--requests", "0", "--calls", work("stock/1"),
                             work("checkout/2"), "send({order, _, _, _})"]),
    checkouts(Config, lists:seq(1, 20)),
    _ = [begin
             ok = call(N, ?WORK, asked_with_a_token, []),
             {Own, Held} = call(N, ?WORK, own_tokens, []),
             true = Own >= 4,
             [] = Held
         end || N <- ?config(nodes, Config)],
    ok = signal(Cmd, "INT"),
    {_, _, _} = ended(Cmd).

nothing_matches(Config) ->
    #{status := 5, err := Err} =
        run(?config(opts, Config),
            ["seq", "-n", names(Config), "inviso_no_such_module:f/1"]),
    contains(Err, <<"no module inviso_no_such_module">>).

usage(Config) ->
    Many = lists:append([["--label", "A" ++ integer_to_list(N)] || N <- lists:seq(1, 62)]),
    Bad = [{["procs"], 2, <<"only a call or `send'">>},
           {["lists:seq/2 [{'_',[],[]}]"], 2, <<"a match spec cannot begin">>},
           {["lists:seq/2 -> return"], 2, <<"has no action">>},
           {["--label", "Z", "lists:seq(A, _)"], 2, <<"no variable Z">>},
           {["--calls", "send", "lists:seq/2"], 2, <<"a function is expected">>},
           {["--sample", "2/3", "lists:seq/2"], 2, <<"such as 1/100">>},
           {["--label", "Z", "lists:seq(A, _)" | Many], 2, <<"at most 62 variables">>},
           {["--filter", "procs", "lists:seq/2"], 2, <<"use `inviso merge --filter'">>},
           {["--raw-label", "1G", "lists:seq/2"], 2, <<"--raw-label">>},
           {[], 2, <<"no SPEC">>}],
    _ = [begin
             #{status := Status, err := Err} =
                 run(?config(opts, Config), ["seq", "-n", names(Config) | Args]),
             contains(Err, Text)
         end || {Args, Status, Text} <- Bad],
    #{status := 0, out := Help} = run(?config(opts, Config), ["seq", "--help"]),
    contains(Help, <<"--label=VARIABLE">>),
    nomatch = binary:match(Help, <<"--filter=SPEC">>),
    ok.

%%---------------------------------------------------------------------------
%% The command or a node dies. end_per_testcase checks that the nodes are released.

the_command_is_killed(Config) ->
    Before = footprints(Config),
    Cmd = begin_seq(Config, ["--requests", "0", work("checkout/2")]),
    checkouts(Config, [1]),
    ok = signal(Cmd, "KILL"),
    released(Config, ?config(nodes, Config)),
    _ = [[] = left(F, N)
         || {F, N} <- lists:zip(Before, ?config(nodes, Config))],
    checkouts(Config, [2]),
    ok.

a_session_is_killed(Config) ->
    [_, Shop, _] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["--requests", "0", work("checkout/2")]),
    [Session] = [P || {{user, P}, _, _} <- call(Shop, ets, tab2list,
                                                [inviso_guard])],
    true = call(Shop, erlang, exit, [Session, kill]),
    until(fun() -> call(Shop, seq_trace, get_system_tracer, []) =:= false end),
    %% The command continues with the other nodes until it gets SIGINT.
    ok = signal(Cmd, "INT"),
    {Status, _, _} = ended(Cmd),
    true = Status =/= 0.

a_recording(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "recording"),
    Cmd = begin_seq(Config, ["record", "--seq"],
                    ["-o", Dir, "--requests", "2", work("checkout/2")]),
    _ = [checkouts(Config, [I]) || I <- lists:seq(1, 5)],
    ok = signal(Cmd, "INT"),
    #{status := 0} = wait(Cmd, 120000),
    2 = length(Requests = merged(Config, Dir)),
    _ = [ok = is_checkout(Config, R) || R <- Requests].

merged(Config, Dir) ->
    #{status := 0, out := Out} =
        run(?config(opts, Config), ["merge", "-q", "--json", Dir]),
    requests(json(Out)).

a_detached_recording(Config) ->
    Opts = ?config(opts, Config),
    Dir = filename:join(?config(priv_dir, Config), "detached"),
    #{status := 0} =
        run(Opts, ["record", "--seq", "--detach", "--keep", "newest", "--name",
                   "seqd", "-n", names(Config), "--for", "10m", "--requests", "1",
                   work("checkout/2")]),
    _ = [{inviso_tracer, _} = call(N, seq_trace, get_system_tracer, [])
         || N <- ?config(nodes, Config)],
    _ = [checkouts(Config, [I]) || I <- [1, 2, 3]],
    #{status := 0} = run(Opts, ["stop", "-n", names(Config), "seqd"]),
    #{status := 0} = run(Opts, ["fetch", "-n", names(Config), "-o", Dir, "seqd"]),
    [Request] = merged(Config, Dir),
    ok = is_checkout(Config, Request).

a_node_is_killed(Config) ->
    [Web, #{os_pid := OsPid}, Stock] = ?config(nodes, Config),
    Cmd = begin_seq(Config, ["--requests", "0", work("checkout/2")]),
    checkouts(Config, [1]),
    ok = signal(OsPid, "KILL"),
    until(fun() -> re:run(inviso_command_lib:err(Cmd), "the connection") =/= nomatch end),
    ok = signal(Cmd, "INT"),
    {3, _, _} = ended(Cmd),
    released(Config, [Web, Stock]).
