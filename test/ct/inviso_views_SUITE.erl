%% SPDX-License-Identifier: Apache-2.0
%% Views of requests: what users see of a small shop on three nodes. inviso_requests_SUITE tests
%% with random programs that the trees are right.
-module(inviso_views_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([tree_of_a_request/1, list_on_a_narrow_terminal/1, example_of_the_seed/1,
         token_without_receive/1, requests_are_compared/1, memory_is_bounded/1,
         hostile_terms_in_text/1,
         filter_selects_hops/1, filter_selects_requests/1]).
-export([mermaid_has_a_row_for_each_message/1, mermaid_parses_it/1,
         shiviz_reads_two_lines_for_each_event/1, page_has_all_hops/1,
         page_in_a_browser/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_views_work).
-define(RECORD, inviso_requests_work).

%% A name and a term that contain characters with a special meaning in the output formats.
-define(HOSTILE, '</script><b>"; end%%{#lt;}').
-define(TERM, #{<<"</script><script>alert(1)</script>\n\r;end%%">> => ["a\nb;", $", $', ?HOSTILE]}).

all() ->
    [tree_of_a_request, list_on_a_narrow_terminal, example_of_the_seed,
     token_without_receive, requests_are_compared, memory_is_bounded, hostile_terms_in_text,
     filter_selects_hops, filter_selects_requests,
     mermaid_has_a_row_for_each_message, mermaid_parses_it,
     shiviz_reads_two_lines_for_each_event, page_has_all_hops, page_in_a_browser].

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

%% The lines of the tree have the right texts, order and indentation.
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
    %% If no width is given, no line is shortened.
    like(view(Config, ["--request", "1"]),
         "└─" ++ Process ++ "(" ++ Client ++ "|<0\\.[0-9]+\\.0>) {#Ref,{done,7}}\n").

%% Each line fits into 80 columns, and begins with the number of a request, which can be given to
%% --request.
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

%% The token does not have the flag `send', so send events are missing. The tree shows only what was
%% recorded.
example_of_the_seed(Config) ->
    Text = view(Config, ["--request", "5"]),
    like(Text, "^request 5, label 17, "),
    like(Text, "^   1 \\*  .* began$"),
    like(Text, "^   2    .*─print \"\\*\\*\\*\\* Trace Started \\*\\*\\*\\*\"$"),
    like(Text, "^   3 \\*\\? .*(call_server|<0\\.[0-9]+\\.0>[^{]*) \\(orphan: untraced\\) "
         "{<0\\.[0-9]+\\.0>,the_message}$"),
    like(Text, "^   4    .*─print \"We are here now\"$"),
    like(Text, "^   5 \\*\\? .* \\(orphan: untraced\\) {ack,{received,the_message}}$"),
    like(Text, "^-- \\? what 2 hop\\(s\\) follow from is not certain or missing$").

%% The token does not have the flag `receive', so the log has no receive events. If an event of the
%% receiver shows that a message has arrived, the tree shows the message at this event. Times that
%% are not known are left out.
token_without_receive(Config) ->
    Dir = ?LIB:dir(Config),
    Node = inviso_test_lib:start_node(d, Dir, ?LIB:node_args()),
    #{name := Name} = Node,
    ok = call(Node, inviso_tracer, load, [inviso_test_lib:priv()]),
    [ok = call(Node, ?WORK, open, [N, [Name, Name]]) || N <- [shop, stock, journal]],
    Log = record(Config, Node),
    {done, 1} = call(Node, ?WORK, order, [5, 1, free, [send, print]]),
    {ok, _} = call(Node, ?RECORD, stop, []),
    inviso_test_lib:stop_node(Node),
    {_, Bin, _} = ?LIB:merge([Log], "text", ["--request", "1"]),
    Text = unicode:characters_to_list(Bin),
    ct:log("~ts", [Text]),
    [like(Text, R)
     || R <- ["^   2 .\\? +[0-9.]+ [mu]s {20}  └─d[^ ]* shop \\(orphan: untraced\\) {call,",
              "^   3 .\\? .*    ├─d[^ ]* stock \\(orphan: untraced\\) {call,",
              "^   4 .\\? .*    │ └─d[^ ]* shop \\(orphan: untraced\\) {#Ref,{ok,take}}$",
              "^   5 .\\? .*    ├─\\(uncertain\\) print {taken,1}$",
              "^   6 .\\? .*    ├─to d[^ ]* journal \\(uncertain\\)"
              " \\(not received\\) {sold,1}$",
              "^-- 3 processes, 1 node, 5 messages, "]].

%% In request 2 a message waited longer than in request 1. Request 3 took another path.
requests_are_compared(Config) ->
    like(view(Config, ["--compare", "1", "2"]),
         "^longer in 2, lines 3 and 3: b[^ ]* stock call take: handler .* and "
         "([5-9][0-9]|[0-9]{3,})[.0-9]* ms$"),
    Way = view(Config, ["--compare", "1", "3"]),
    like(Way, "^only 1, line 6: c[^ ]* till call pay, and 1 hop\\(s\\) after it$"),
    nomatch = re:run(Way, "^only 3", [multiline]),
    like(Way, "^-- 1 path\\(s\\) that only one request took, "),
    [_, #{<<"only">> := 1, <<"longer">> := _} = Sum] =
        [X || X <- json(Config, ["--compare", "1", "3"]), not is_map_key(<<"longer">>, X)
                  orelse is_map_key(<<"requests">>, X)],
    [1, 3] = maps:get(<<"requests">>, Sum),
    like(view(Config, ["--compare", "1", "1000"]), "there is no request 1000").

%% If a request has more hops (messages and prints) than fit into the memory of --request-memory,
%% the output says so.
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

%% Each term is printed in Erlang's syntax, on one line.
hostile_terms_in_text(Config) ->
    Text = view(Config, ["--request", "4"]),
    [] = [L || L <- string:split(Text, "\n", all), L =/= "",
               re:run(L, "^(request|   #| *[0-9]+ |--)", [unicode]) =:= nomatch],
    like(Text, "─c[^ ]* '?</script><b>\"; end%%{#lt;}'? {call,").

%% A filter removes hops (messages and prints) from a tree. If the parent of a remaining hop was
%% removed, the hop gets its nearest remaining ancestor as its parent. Otherwise the remaining hops
%% are unchanged.
filter_selects_hops(Config) ->
    Filters = [{["--filter", "receive({call, _, _})"],
                fun(#{<<"message">> := M}) -> binary:longest_common_prefix([M, <<"{call,">>]) =:= 6;
                   (_) -> false
                end},
               {["--filter", "send(journal, _)"], fun(H) -> is_to(<<"journal">>, H) end},
               {["--filter", "[{[_,seq_trace,{print,_,_,_,_}],[],[]}]"],
                fun(#{<<"kind">> := K}) -> K =:= <<"print">> end}],
    [begin
         {Hops, [_]} = tree(Config, N, []),
         Kept = [H || H <- Hops, Selects(H)],
         {Left, Sum} = tree(Config, N, Args),
         expected(Hops, Kept, Left, Sum)
     end || N <- [1, 2, 3, 4], {Args, Selects} <- Filters],
    Journal = view(Config, ["--request", "1", "--filter", "send(journal, _)"]),
    like(Journal, "^   2   .*  └─c[^ ]* journal \\(5 left out, from a[^ ]* shop\\) {sold,7}$"),
    like(Journal, "^-- 7 hop\\(s\\) are not selected$"),
    %% If a line is not directly below the hop from which it follows, it shows the number of this
    %% hop.
    like(view(Config, ["--request", "1", "--filter", "receive({call, _, _})"]),
         "^   4 \\* .*    └─c[^ ]* till \\(after 3\\) \\(1 left out\\) {call,"),
    {_, Diagram, _} = ?LIB:merge(?config(logs, Config), "mermaid",
                                 ["--request", "1", "--filter", "send(journal, _)"]),
    [<<"sequenceDiagram">>, _, _, _, _, _] = binary:split(Diagram, <<"\n">>, [global, trim]),
    Page = data(page(Config, ["--request", "1", "--filter", "send(journal, _)"])),
    {3, 2} = {length(maps:get(<<"processes">>, Page)), length(maps:get(<<"hops">>, Page))},
    like(view(Config, ["--compare", "1", "3", "--filter", "send(journal, _)"]),
         "^-- 0 path\\(s\\) that only one request took, "),
    %% The filter selects no hop of request 3. So the output says that only request 1 took the path
    %% of the selected hop.
    like(view(Config, ["--compare", "1", "3", "--filter", "send(till, _)"]),
         "^only 1, line 2: c[^ ]* till call pay$").

is_to(Name, #{<<"to">> := #{<<"name">> := Name}}) -> true;
is_to(_, _) -> false.

tree(Config, N, Args) ->
    lists:partition(fun(X) -> is_map_key(<<"hop">>, X) end,
                    json(Config, ["--request", integer_to_list(N) | Args])).

expected(_, [], Left, Sum) ->
    {[], []} = {Left, Sum};
expected([Root | _] = Hops, Kept0, Left, [#{<<"filtered">> := Filtered}]) ->
    Kept = [Root | Kept0 -- [Root]],
    Filtered = length(Hops) - length(Kept),
    By = maps:from_list([{N, H} || #{<<"hop">> := N} = H <- Hops]),
    Numbers = [N || #{<<"hop">> := N} <- Kept],
    Want = [nearest(H, Numbers, By, 0) || H <- Kept],
    Got = [nearest(L, Left) || L <- Left],
    {[], []} = {Want -- Got, Got -- Want}.

%% Returns {Hop without its numbers, ids of its parent, number of removed hops between the two}.
nearest(#{<<"after">> := null} = H, _, _, 0) ->
    {essence(H), none, 0};
nearest(#{<<"after">> := After} = H, Kept, By, Skipped) ->
    Parent = maps:get(After, By),
    case lists:member(After, Kept) of
        true -> {essence(H), ids(Parent), Skipped};
        false -> nearest(H#{<<"after">> := maps:get(<<"after">>, Parent)}, Kept, By, Skipped + 1)
    end.

nearest(#{<<"after">> := null} = H, _) ->
    {essence(H), none, 0};
nearest(#{<<"after">> := After} = H, Left) ->
    [Parent] = [L || #{<<"hop">> := N} = L <- Left, N =:= After],
    {essence(H), ids(Parent), maps:get(<<"skipped">>, H, 0)}.

essence(H) -> maps:without([<<"hop">>, <<"after">>, <<"skipped">>], H).

ids(H) -> maps:with([<<"send_id">>, <<"receive_id">>], H).

%% The list has the requests of which the filter selects at least one event. The lines of these
%% requests are the same as without a filter.
filter_selects_requests(Config) ->
    All = json(Config, ["--requests"]),
    Some = json(Config, ["--requests", "--filter", "send(till, _)"]),
    [1, 2] = [N || #{<<"request">> := N} <- Some],
    [] = Some -- All,
    like(view(Config, ["--requests", "--filter", "send(till, _)"]), "^-- 2 of 5 requests$"),
    #{<<"from">> := #{<<"pid">> := Shop, <<"node">> := Node}} =
        hd([H || #{<<"kind">> := <<"print">>} = H <- element(1, tree(Config, 1, []))]),
    Pid = binary_to_list(<<Node/binary, "=", Shop/binary>>),
    [1, 2, 3, 4] = [N || #{<<"request">> := N} <- json(Config, ["--requests", "--pid", Pid])].

%%---------------------------------------------------------------------------
%% Diagrams

%% Each line is valid in Mermaid's syntax, and no character of a term has a special meaning there.
mermaid_has_a_row_for_each_message(Config) ->
    Safe = "([A-Za-z0-9 _.,@/()\\[\\]-]|#[0-9]+;)*",
    Known = "^(sequenceDiagram|  participant P[0-9]+ as " ++ Safe
        ++ "|  P[0-9]+(->>|-\\)|--\\)|-x)P[0-9]+: " ++ Safe
        ++ "|  Note over P[0-9]+: " ++ Safe ++ ")$",
    Logs = ?config(logs, Config),
    [begin
         {_, Bin, _} = ?LIB:merge(Logs, "mermaid", Args),
         Lines = binary:split(Bin, <<"\n">>, [global, trim_all]),
         [] = [L || L <- Lines, re:run(L, Known) =:= nomatch]
     end || Args <- [[], ["--request", "4"]]],
    {_, One, _} = ?LIB:merge(Logs, "mermaid", ["--request", "1"]),
    {match, Arrows} = re:run(One, "^  P([0-9]+)->>P([0-9]+)", [global, multiline,
                                                             {capture, all_but_first, list}]),
    %% The numbers follow the order of appearance: client, shop, stock, till and journal.
    [["0", "1"], ["1", "2"], ["2", "1"], ["1", "3"], ["3", "1"], ["1", "4"], ["1", "0"]] =
        Arrows,
    like(One, "^  Note over P1: print #123;taken,7#125;$").

%% If the environment variable INVISO_MERMAID names the directory of Mermaid's package (npm install
%% mermaid), Mermaid itself parses the output.
mermaid_parses_it(Config) ->
    case {os:getenv("INVISO_MERMAID"), os:find_executable("node")} of
        {false, _} -> {skip, "INVISO_MERMAID does not name the directory of mermaid"};
        {_, false} -> {skip, "no node"};
        {Dir, Node} -> mermaid_parses_it(Config, Node, Dir)
    end.

mermaid_parses_it(Config, Node, Dir) ->
    Script = ?LIB:name(Config, "parse.mjs"),
    ok = file:write_file(Script,
                         ["import { readFileSync } from 'fs';\n"
                          "import mermaid from '", Dir, "/dist/mermaid.core.mjs';\n"
                          "const text = readFileSync(process.argv[2], 'utf8');\n"
                          "const r = await mermaid.parse(text);\n"
                          "console.log('parsed as ' + r.diagramType);\n"]),
    File = ?LIB:name(Config, "all.mermaid"),
    {_, Bin, _} = ?LIB:merge(?config(logs, Config), "mermaid", []),
    ok = file:write_file(File, Bin),
    like(os:cmd(Node ++ " " ++ Script ++ " " ++ File ++ " 2>&1"), "^parsed as sequence$").

%% The documentation of ShiViz has a default expression for parsing. The first line of the file is
%% this expression. inviso_requests_SUITE checks the vector clocks, with random programs.
shiviz_reads_two_lines_for_each_event(Config) ->
    Documented = "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})",
    {_, Bin, _} = ?LIB:merge(?config(logs, Config), "shiviz", []),
    [First, <<"^=== (?<trace>.*) ===$">> | Lines] =
        binary:split(Bin, <<"\n">>, [global, trim]),
    Documented = binary_to_list(First),
    Executions = [L || <<"=== ", _/binary>> = L <- Lines],
    true = length(Executions) =:= 5,
    %% The expression splits the lines into 60 events of two lines each.
    Events = lists:join("\n", Lines -- Executions),
    {match, Found} = re:run(Events, Documented,
                            [global, {capture, [event, host, clock], binary}]),
    {60, 120} = {length(Found), length(Lines -- Executions)},
    [true = is_map_key(Host, inviso_trace_json:decode(Clock)) || [_, Host, Clock] <- Found].

%% The page is a single file and loads no other. The browser reads no text of the log as HTML.
page_has_all_hops(Config) ->
    Page = page(Config, []),
    Data = data(Page),
    60 = length(maps:get(<<"rows">>, Data)),
    #{<<"requests">> := Requests, <<"left_out">> := 0, <<"lost">> := 0} = Data,
    5 = length(Requests),
    [1, 1] = [length(binary:matches(Page, T)) || T <- [<<"<script id='data'">>, <<"<script>">>]],
    nomatch = re:run(Page, "<script>alert|</script><b>"),
    nomatch = re:run(Page, "(src|href)="),
    [<<"http://www.w3.org/2000/svg">>] =
        lists:usort(lists:append(element(2, re:run(Page, "[a-z]+://[^'\" ]*",
                                                   [global, {capture, all, binary}])))),
    [Text] = [T || #{<<"text">> := T} <- maps:get(<<"hops">>, Data),
                   re:run(T, "order,.*alert") =/= nomatch],
    like(Text, "</script><script>alert\\(1\\)</script>").

page(Config, Args) ->
    {_, Page, _} = ?LIB:merge(?config(logs, Config), "sequence", Args),
    Page.

data(Page) ->
    {match, [Json]} = re:run(Page, "<script id='data' type='application/json'>\n(.*?)</script>",
                             [{capture, all_but_first, binary}, dotall]),
    inviso_trace_json:decode(Json).

%% The page's script draws each hop, and its search finds the right hops.
page_in_a_browser(Config) ->
    case os:find_executable("chromium") of
        false ->
            {skip, "no chromium"};
        Chromium ->
            Drawn = dom(Config, Chromium, page(Config, ["--request", "1"]), "#q=pay"),
            like(Drawn, "<span id=\"count\">2 of 8 hops</span>"),
            like(Drawn, "<h1 id=\"title\">Request 1: 5 processes, 3 nodes, 7 messages, "),
            %% The search finds two hops. The page shows the first of them, which has the class `hit
            %% now'.
            [1, 1, 7] = [length(binary:matches(Drawn, T))
                         || T <- [<<" hit\"">>, <<" hit now\"">>, <<" dim\"">>]],
            Hostile = dom(Config, Chromium, page(Config, []), ""),
            like(Hostile, "request 4, label &lt;&lt;\"&lt;/script&gt;\"&gt;&gt;"),
            nomatch = re:run(Hostile, "<b>")
    end.

%% Returns the document that the browser has after running the page's script.
dom(Config, Chromium, Page, Hash) ->
    File = ?LIB:name(Config, "page.html"),
    ok = file:write_file(File, Page),
    Port = open_port({spawn_executable, "/bin/sh"},
                     [{args, ["-c", "exec \"$0\" \"$@\" 2>/dev/null", Chromium,
                              "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                              "--user-data-dir=" ++ ?LIB:dir(Config),
                              "file://" ++ File ++ Hash]},
                      binary, exit_status, hide]),
    collect(Port, <<>>).

collect(Port, Said) ->
    receive
        {Port, {data, More}} -> collect(Port, <<Said/binary, More/binary>>);
        {Port, {exit_status, 0}} -> Said
    end.

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
    inviso_trace_json:lines(Bin).

like(Text, Regexp) ->
    case re:run(Text, unicode:characters_to_binary(Regexp), [multiline, unicode]) of
        {match, _} -> ok;
        nomatch -> error({no_match, Regexp, Text})
    end.
