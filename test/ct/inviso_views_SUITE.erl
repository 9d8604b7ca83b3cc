%% SPDX-License-Identifier: Apache-2.0
%% Views of requests: what users see of a small shop on three nodes. That trees are
%% the truth is tested with random programs, in inviso_requests_SUITE.
-module(inviso_views_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([tree_of_a_request/1, list_on_a_narrow_terminal/1, example_of_the_seed/1,
         requests_are_compared/1, memory_is_bounded/1, hostile_terms_in_text/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_views_work).
-define(RECORD, inviso_requests_work).

%% A name and a term that could leave their place in each format.
-define(HOSTILE, '</script><b>"; end%%{#lt;}').
-define(TERM, #{<<"</script><script>alert(1)</script>\n\r;end%%">> => ["a\nb;", $", $', ?HOSTILE]}).

all() ->
    [tree_of_a_request, list_on_a_narrow_terminal, example_of_the_seed,
     requests_are_compared, memory_is_bounded, hostile_terms_in_text].

suite() -> [{timetrap, {seconds, 300}}].

init_per_suite(Config0) ->
    case ?LIB:config(Config0, ["inviso", "inviso_spool", "inviso_tracer.so"]) of
        {skip, _} = Skip -> Skip;
        Config -> recorded(Config)
    end.

%% Records five requests.
recorded(Config) ->
    Nodes = [A, B, C] = [inviso_test_lib:start_node(N, ?LIB:dir(Config), ?LIB:node_args())
                         || N <- [a, b, c]],
    [ok = call(N, inviso_tracer, load, [inviso_test_lib:priv()]) || N <- Nodes],
    ok = inviso_test_lib:connect(Nodes),
    Names = [Name || #{name := Name} <- [B, C]],
    ok = call(A, ?WORK, open, [shop, Names]),
    ok = call(B, ?WORK, open, [stock, []]),
    [ok = call(C, ?WORK, open, [N, []]) || N <- [till, journal, ?HOSTILE]],
    Logs = [record(Config, N) || N <- Nodes],
    [{done, Item} = call(A, ?WORK, order, [Label, Item, How])
     || {Label, Item, How} <- [{17, 7, now}, {17, 8, {wait, 50}}, {18, 9, free},
                               {<<"</script>">>, ?TERM, {ask, ?HOSTILE}}]],
    call(A, inviso_requests_seed, run, []),
    ok = call(C, ?WORK, settle, [journal]),
    [{ok, #{dropped := 0}} = call(N, ?RECORD, stop, []) || N <- Nodes],
    [inviso_test_lib:stop_node(N) || N <- Nodes],
    [{logs, Logs} | Config].

record(Config, Node) ->
    Log = ?LIB:name(Config, "x.log"),
    ok = call(Node, ?RECORD, record, [Log]),
    Log.

end_per_suite(_Config) -> ok.

call(Node, M, F, A) ->
    inviso_test_lib:call(Node, M, F, A).

%%---------------------------------------------------------------------------

%% The lines say what happened, where, and in which order.
tree_of_a_request(Config) ->
    Text = view(Config, ["--request", "1", "--width", "80"]),
    Lines = [L || L <- string:split(Text, "\n", all), L =/= ""],
    [] = [L || L <- Lines, string:length(L) > 80],
    ["request 1, label 17, began 2" ++ _, "   #        time   mailbox   handler"
     | Hops] = Lines,
    Client = "<0\\.[0-9]+\\.0> \\(inviso_views_work:-order/3-fun-[0-9]-/[0-9]\\)",
    Process = "(a|b|c)[^ ]* ",
    Time = " +[0-9.]+ (us|ms)",
    Between = " +~[0-9.]+ (us|ms)",
    [like(L, R)
     || {L, R} <- lists:zip(
                    lists:sublist(Hops, 9),
                    ["^   1 \\* " ++ Time ++ "          " ++ Time ++ "  a[^ ]* <0",
                     "^   2 \\* " ++ Time ++ Time ++ Time ++ "  └─a[^ ]* shop {call,",
                     "^   3 \\* " ++ Time ++ Between ++ Time ++ "    ├─b[^ ]* stock {",
                     "^   4 \\* " ++ Time ++ Between ++ Time ++ "    │ └─a[^ ]* shop {#",
                     "^   5   " ++ Time ++ " {24}├─print {taken,7}$",
                     "^   6 \\* " ++ Time ++ Between ++ Time ++ "    ├─c[^ ]* till {",
                     "^   7 \\* " ++ Time ++ Between ++ Time ++ "    │ └─a[^ ]* shop {#",
                     "^   8   " ++ Time ++ Between ++ " {14}├─c[^ ]* journal {sold,7}$",
                     "^   9 \\* " ++ Time ++ Time ++ " {14}└─a[^ ]* <0"])],
    like(lists:nth(10, Hops),
         "^-- 5 processes, 3 nodes, 7 messages, [0-9.]+ (us|ms|s); "
         "\\* critical path, [0-9.]+ (us|ms)$"),
    %% Without a width, lines are whole.
    like(view(Config, ["--request", "1"]),
         "└─" ++ Process ++ "(" ++ Client ++ "|<0\\.[0-9]+\\.0>) {#Ref,{done,7}}\n").

%% Each line fits, and begins with the number that --request takes.
list_on_a_narrow_terminal(Config) ->
    Text = view(Config, ["--requests", "--width", "80"]),
    [] = [L || L <- string:split(Text, "\n", all), string:length(L) > 80],
    {match, Rows} = re:run(Text, "^ +([0-9]+) [0-9:.]{15} +[0-9.]+ [mu]?s +([0-9]+) +([0-9]+)"
                           " +([0-9]+) +([0-9]+) +0 (.*)$",
                           [global, multiline, unicode, {capture, all_but_first, list}]),
    [["1", "5", "3", "7", "0", "17, a" ++ _], ["2", "5", "3", "7", "0", "17, a" ++ _],
     ["3", "4", "3", "5", "0", "18, a" ++ _], ["4", "5", "3", "7", "0", _],
     ["5" | _] | _] = Rows,
    like(Text, "^-- [0-9]+ requests$").

%% The token has no flag `send': nothing is claimed that was not recorded.
example_of_the_seed(Config) ->
    Text = view(Config, ["--request", "5"]),
    like(Text, "^request 5, label 17, "),
    like(Text, "^   1 \\*  .* began$"),
    like(Text, "^   2    .*─print \"\\*\\*\\*\\* Trace Started \\*\\*\\*\\*\"$"),
    like(Text, "^   3 \\*\\? .*(call_server|<0\\.[0-9]+\\.0>[^{]*) \\(orphan: untraced\\) {<0\\.[0-9]+\\.0>,the_message}$"),
    like(Text, "^   4    .*─print \"We are here now\"$"),
    like(Text, "^   5 \\*\\? .* \\(orphan: untraced\\) {ack,{received,the_message}}$"),
    like(Text, "^-- \\? what 2 hop\\(s\\) follow from is not certain or missing$").

%% One request waited, another took another way.
requests_are_compared(Config) ->
    like(view(Config, ["--compare", "1", "2"]),
         "^longer in 2, lines 3 and 3: b[^ ]* stock call take: handler .* and 5[0-9.]+ ms$"),
    Way = view(Config, ["--compare", "1", "3"]),
    like(Way, "^only 1, line 6: c[^ ]* till call pay, and 1 hop\\(s\\) after it$"),
    nomatch = re:run(Way, "^only 3", [multiline]),
    like(Way, "^-- 1 path\\(s\\) that only one request took, "),
    [_, #{<<"only">> := 1, <<"longer">> := _} = Sum] =
        [X || X <- json(Config, ["--compare", "1", "3"]), not is_map_key(<<"longer">>, X)
                  orelse is_map_key(<<"requests">>, X)],
    [1, 3] = maps:get(<<"requests">>, Sum),
    like(view(Config, ["--compare", "1", "1000"]), "there is no request 1000").

%% If a request has too many hops, this is said.
memory_is_bounded(Config) ->
    Dir = ?LIB:dir(Config),
    Node = inviso_test_lib:start_node(d, Dir, ?LIB:node_args()),
    ok = call(Node, inviso_tracer, load, [inviso_test_lib:priv()]),
    Log = record(Config, Node),
    ok = call(Node, ?WORK, open, [stock, []]),
    ok = call(Node, ?WORK, many, [stock, 1000]),
    {ok, _} = call(Node, ?RECORD, stop, []),
    inviso_test_lib:stop_node(Node),
    {_, All, _} = ?LIB:merge([Log], "text", ["--request", "1"]),
    like(All, "^-- [0-9]+ processes, 1 node, 1000 messages, "),
    nomatch = re:run(All, "are not shown"),
    {_, Some, _} = ?LIB:merge([Log], "text", ["--request", "1", "--request-memory", "64k"]),
    like(Some, "^\\*\\*\\* [0-9]+ further events are not shown, because a request has too many$"),
    nomatch = re:run(Some, ", 1000 messages").

%% Terms are printed as terms, on one line.
hostile_terms_in_text(Config) ->
    Text = view(Config, ["--request", "4"]),
    [] = [L || L <- string:split(Text, "\n", all), L =/= "",
               re:run(L, "^(request|   #| *[0-9]+ |--)", [unicode]) =:= nomatch],
    like(Text, "─c[^ ]* '?</script><b>\"; end%%{#lt;}'? {call,").

%%---------------------------------------------------------------------------

view(Config, Args) ->
    {_, Bin, Said} = ?LIB:merge(?config(logs, Config), "text", Args),
    ct:log("~ts~n~ts", [Bin, Said]),
    case Bin of
        <<>> -> Said;
        _ -> unicode:characters_to_list(Bin)
    end.

json(Config, Args) ->
    {_, Bin, _} = ?LIB:merge(?config(logs, Config), "json", Args),
    [inviso_trace_json:decode(L) || L <- binary:split(Bin, <<"\n">>, [global, trim_all])].

like(Text, Regexp) ->
    case re:run(Text, unicode:characters_to_binary(Regexp), [multiline, unicode]) of
        {match, _} -> ok;
        nomatch -> error({no_match, Regexp, Text})
    end.
