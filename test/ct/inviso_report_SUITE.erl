%% SPDX-License-Identifier: Apache-2.0
%% @doc Compares the numbers of `inviso report' with the results of queries with `inviso sql'.
-module(inviso_report_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([what_was_recorded/1, times_of_functions/1, single_calls/1, processes_and_exits/1,
         messages_and_requests/1, text_fits/1, text_has_the_numbers/1,
         most_failures_first/1, options_select/1, a_full_disk_leaves_no_file/1]).
-export([page_has_the_numbers/1, page_loads_nothing/1, pictures_have_all/1,
         page_in_a_browser/1, labels_of_the_timeline/1]).
%% Functions that are traced in a recording.
-export([slow/0, fast/0]).

-define(LIB, inviso_trace_lib).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [what_was_recorded, times_of_functions, single_calls, processes_and_exits,
     messages_and_requests, text_fits, text_has_the_numbers, most_failures_first, options_select,
     a_full_disk_leaves_no_file,
     page_has_the_numbers, page_loads_nothing, pictures_have_all, page_in_a_browser,
     labels_of_the_timeline].

%% Records three nodes. The recording has events of all kinds, names and terms with special
%% characters, and lost events.
init_per_suite(Config0) ->
    Needs = ["inviso", "inviso_spool", "inviso_tracer.so", "inviso_sql"],
    case ?LIB:config(Config0, Needs) of
        {skip, _} = Skip -> Skip;
        Config -> with_sql(Config, ?LIB:command("inviso", ["sql", "--help"]))
    end.

%% If libsqlite3 is missing, `inviso sql --help' fails with status 127 and a text, and the suite is
%% skipped.
with_sql(Config, {0, _}) ->
    Recorded = inviso_exports_SUITE:recorded(Config),
    Reports = [{Input, report(Input)} || Input <- inviso_exports_SUITE:inputs(Recorded),
                                         reads(Input)],
    %% In a fun, because Common Test prints Config for each case, and large terms slowly.
    [{reports, fun() -> Reports end} | Recorded];
with_sql(_, {127, Said}) ->
    {skip, binary_to_list(Said)}.

end_per_suite(_Config) ->
    ok.

reports(Config) ->
    (?config(reports, Config))().

%% `inviso sql' and `inviso report' have no --order.
reads({_, Options}) ->
    not lists:member("--order", Options).

command(Command, Args, {Logs, Options}) ->
    ?LIB:command("inviso", [Command, "-q" | Args] ++ Options
                 ++ [?LIB:text(L) || L <- Logs]).

report(Input) ->
    {Status, Said} = command("report", ["--json"], Input),
    true = lists:member(Status, [0, 7]),
    inviso_trace_json:decode(Said).

%% Returns the rows of a query, each a list of values.
sql(Query, {Logs, Options}) ->
    {_, Said} = ?LIB:command("inviso", ["sql", "-q", "--json" | Options]
                             ++ [?LIB:text(L) || L <- Logs] ++ [Query]),
    [begin
         Row = inviso_trace_json:decode(L),
         [maps:get(<<"c", (integer_to_binary(I))/binary>>, Row)
          || I <- lists:seq(1, maps:size(Row))]
     end || L <- ?LIB:split(Said)].

%% Returns the rows of a table of the report.
rows(Table, Keys, Report) ->
    [[maps:get(K, Row, null) || K <- Keys] || Row <- maps:get(Table, Report)].

%% Compares rows of the report with those of a query, in any order.
same(Table, Keys, Query, Config) ->
    [begin
         Mine = lists:sort(rows(Table, Keys, Report)),
         Other = lists:sort(sql(Query, Input)),
         Mine =:= Other orelse
             error({differ, Table, Input, Mine -- Other, Other -- Mine}),
         length(Mine)
     end || {Input, Report} <- reports(Config)].

%% Compares the numbers in an object of the report with the only row of a query.
same_numbers(Object, Keys, Query, Config) ->
    [begin
         Of = case Object of
                  top -> Report;
                  _ -> maps:get(Object, Report)
              end,
         Mine = [maps:get(K, Of) || K <- Keys],
         case sql(Query, Input) of
             [Mine] -> Mine;
             Other -> error({differ, Object, Input, Mine, Other})
         end
     end || {Input, Report} <- reports(Config)].

some(Numbers) ->
    true = lists:max(lists:flatten(Numbers)) > 0.

%%---------------------------------------------------------------------------

what_was_recorded(Config) ->
    some(same_numbers(top, [<<"events">>], "SELECT count(*) c1 FROM events", Config)),
    some(same_numbers(top, [<<"lost">>],
                      "SELECT coalesce(sum(n), 0) c1 FROM losses WHERE reason <> 'limit'",
                      Config)),
    some(same_numbers(top, [<<"begin_ns">>, <<"duration_ns">>],
                      "SELECT min(first_ts) c1, max(last_ts) - min(first_ts) c2 FROM nodes",
                      Config)),
    some(same(<<"tags">>, [<<"tag">>, <<"node">>, <<"events">>],
              "SELECT tag c1, node c2, count(*) c3 FROM events GROUP BY 1, 2", Config)),
    some(same(<<"losses">>, [<<"node">>, <<"reason">>, <<"lost">>, <<"places">>],
              "SELECT node c1, reason c2, sum(n) c3, count(*) c4 FROM losses GROUP BY 1, 2",
              Config)),
    some(same(<<"nodes">>, [<<"node">>, <<"events">>, <<"lost">>],
              "SELECT node c1, events c2, lost - (SELECT coalesce(sum(n), 0) FROM losses l "
              "WHERE l.node = n.node AND reason = 'limit') c3 FROM nodes n", Config)).

times_of_functions(Config) ->
    some(same_numbers(<<"calls">>, [<<"calls">>, <<"ended">>, <<"failed">>, <<"uncertain">>],
                      "SELECT count(*) c1, count(duration_ns) c2, coalesce(sum(failed IS 1), 0) "
                      "c3, coalesce(sum(certain IS 0), 0) c4 FROM calls", Config)),
    some(same(<<"functions">>,
              [<<"mfa">>, <<"calls">>, <<"ended">>, <<"failed">>, <<"self_ns">>,
               <<"total_ns">>, <<"min_ns">>, <<"max_ns">>],
              "SELECT mfa c1, count(*) c2, count(duration_ns) c3, sum(failed IS 1) c4, "
              "coalesce(sum(self_ns), 0) c5, coalesce(sum(duration_ns), 0) c6, "
              "min(duration_ns) c7, max(duration_ns) c8 FROM calls GROUP BY mfa", Config)),
    [begin
         Mine = maps:from_list([{M, Q} || [M | Q] <- rows(<<"functions">>, Keys, Report)]),
         [[true = near(A, B) || {A, B} <- lists:zip(Q, maps:get(M, Mine))]
          || [M | Q] <- sql(quantiles(), Input)],
         %% The histogram of a function counts each of its calls that ended.
         [Ended = lists:sum([N || [_, _, N] <- maps:get(<<"histogram">>, F, [])])
          || #{<<"ended">> := Ended} = F <- maps:get(<<"functions">>, Report)]
     end || Keys <- [[<<"mfa">>, <<"p50_ns">>, <<"p90_ns">>, <<"p99_ns">>, <<"p999_ns">>]],
            {Input, Report} <- reports(Config)].

quantiles() ->
    Part = fun(Name, N) ->
                   ["min(CASE WHEN 1000 * i >= ", N, " * n THEN duration_ns END) ", Name]
           end,
    lists:flatten(
      ["WITH ranked AS (SELECT mfa, duration_ns, row_number() OVER (PARTITION BY mfa ORDER BY "
       "duration_ns) AS i, count(*) OVER (PARTITION BY mfa) AS n FROM calls WHERE duration_ns "
       "IS NOT NULL) SELECT mfa c1, ", Part("c2", "500"), ", ", Part("c3", "900"), ", ",
       Part("c4", "990"), ", ", Part("c5", "999"), " FROM ranked GROUP BY mfa"]).

near(A, B) ->
    abs(A - B) =< max(1, A * 0.016).

single_calls(Config) ->
    Keys = [<<"id">>, <<"mfa">>, <<"node">>, <<"pid">>, <<"name">>, <<"outcome">>, <<"failed">>,
            <<"duration_ns">>, <<"self_ns">>],
    Columns = "id c1, mfa c2, node c3, pid c4, name c5, outcome c6, failed c7, duration_ns c8, "
        "self_ns c9",
    [begin
         Slowest = [as_sql(R) || R <- rows(<<"slowest">>, Keys, Report)],
         Ids = lists:join(",", [integer_to_list(Id) || [Id | _] <- Slowest]),
         Where = lists:flatten(["SELECT ", Columns, " FROM calls WHERE id IN (", Ids, ")"]),
         Same = lists:sort(Slowest),
         Same = lists:sort(sql(Where, Input)),
         Longest = [lists:nth(8, R) || R <- Slowest],
         Longest = [D || [D] <- sql("SELECT duration_ns c1 FROM calls WHERE duration_ns IS NOT "
                                    "NULL ORDER BY 1 DESC LIMIT 200", Input)],
         Failed = lists:sort([as_sql(R) || R <- rows(<<"failures">>, Keys, Report)]),
         All = lists:sort(sql("SELECT " ++ Columns ++ " FROM calls WHERE failed", Input)),
         true = length(All) =:= length(Failed) andalso All =:= Failed orelse length(All) > 200
     end || {Input, Report} <- reports(Config)],
    {Input, Report} = hd(reports(Config)),
    %% The report cuts long texts to 400 bytes. A cut text must be the beginning of the text that
    %% SQL returns.
    [[Cut, _] | _] = [R || [A, _] = R <- rows(<<"slowest">>, [<<"args">>, <<"id">>], Report),
                           byte_size(A) > 400],
    true = byte_size(Cut) =< 403,
    [begin
         [[Full]] = sql("SELECT args c1 FROM calls WHERE id = " ++ integer_to_list(Id), Input),
         true = starts(A, Full)
     end || [A, Id] <- lists:sublist(rows(<<"slowest">>, [<<"args">>, <<"id">>], Report), 8)].

starts(Same, Same) ->
    true;
starts(Cut, Full) ->
    Prefix = binary:part(Cut, 0, byte_size(Cut) - 3),
    <<"…"/utf8>> = binary:part(Cut, byte_size(Cut), -3),
    binary:longest_common_prefix([Prefix, Full]) =:= byte_size(Prefix).

as_sql(Row) ->
    [case V of
         true -> 1;
         false -> 0;
         _ -> V
     end || V <- Row].

processes_and_exits(Config) ->
    some(same_numbers(<<"processes">>, [<<"processes">>, <<"spawned">>, <<"exited">>],
                      "SELECT count(*) c1, count(spawned_ts) c2, count(exited_ts) c3 "
                      "FROM processes", Config)),
    some(same(<<"kinds">>,
              [<<"node">>, <<"kind">>, <<"processes">>, <<"events">>, <<"calls">>, <<"sent">>,
               <<"received">>, <<"self_ns">>, <<"running_ns">>, <<"gc_ns">>],
              "SELECT node c1, coalesce(name, '(no name)') c2, count(*) c3, sum(events) c4, "
              "sum(calls) c5, sum(sent) c6, sum(received) c7, sum(self_ns) c8, "
              "coalesce(sum(running_ns), 0) c9, coalesce(sum(gc_ns), 0) c10 "
              "FROM processes GROUP BY 1, 2", Config)),
    some(same(<<"busiest">>, [<<"node">>, <<"name">>, <<"events">>, <<"calls">>, <<"sent">>,
                              <<"received">>],
              "SELECT node c1, name c2, events c3, calls c4, sent c5, received c6 "
              "FROM processes ORDER BY events DESC LIMIT 200", Config)),
    some(same_numbers(<<"processes">>, [<<"abnormal">>],
                      "SELECT count(*) c1 FROM abnormal_exits", Config)),
    some(same_numbers(<<"collections">>, [<<"collections">>, <<"major">>, <<"ns">>],
                      "SELECT count(*) c1, coalesce(sum(major), 0) c2, "
                      "coalesce(sum(duration_ns), 0) c3 FROM collections", Config)),
    some(same(<<"longest_collections">>, [<<"duration_ns">>, <<"before_bytes">>,
                                          <<"after_bytes">>],
              "SELECT duration_ns c1, before_bytes c2, after_bytes c3 FROM collections "
              "ORDER BY duration_ns DESC LIMIT 200", Config)).

messages_and_requests(Config) ->
    some(same_numbers(<<"messages">>, [<<"messages">>, <<"received">>, <<"waited">>],
                      "SELECT count(*) c1, count(received_id) c2, count(wait_ns) c3 "
                      "FROM messages", Config)),
    some(same(<<"mailboxes">>, [<<"node">>, <<"process">>, <<"messages">>, <<"received">>,
                                <<"of_requests">>, <<"max_wait_ns">>],
              "SELECT to_node c1, coalesce(to_name, to_pid) c2, count(*) c3, "
              "count(received_id) c4, sum(request IS NOT NULL) c5, max(wait_ns) c6 FROM messages "
              "WHERE coalesce(to_name, to_pid) IS NOT NULL GROUP BY 1, 2", Config)),
    some(same(<<"flow">>, [<<"from_node">>, <<"sender">>, <<"to_node">>, <<"receiver">>,
                           <<"messages">>, <<"of_requests">>, <<"mean_wait_ns">>],
              "SELECT from_node c1, coalesce(from_name, '(no name)') c2, to_node c3, "
              "coalesce(to_name, '(no name)') c4, count(*) c5, sum(request IS NOT NULL) c6, "
              "CAST(avg(wait_ns) AS INTEGER) c7 FROM messages WHERE sent_ts IS NOT NULL "
              "GROUP BY 1, 2, 3, 4", Config)),
    some(same_numbers(<<"requests">>, [<<"requests">>], "SELECT count(*) c1 FROM requests",
                      Config)),
    some(same(<<"slowest_requests">>, [<<"request">>, <<"label">>, <<"node">>, <<"pid">>,
                                       <<"duration_ns">>, <<"events">>, <<"messages">>,
                                       <<"orphans">>],
              "SELECT request c1, label c2, node c3, pid c4, duration_ns c5, events c6, "
              "messages c7, orphans c8 FROM requests ORDER BY duration_ns DESC LIMIT 200",
              Config)).

%%---------------------------------------------------------------------------
%% Text

text(Config, Args) ->
    {_, Bin} = command("report", Args, {?config(logs, Config), []}),
    unicode:characters_to_list(Bin).

%% No line is wider than --width, and no line has characters that a terminal would not show.
text_fits(Config) ->
    [begin
         Lines = string:split(text(Config, ["--width", integer_to_list(Width)]), "\n", all),
         true = length(Lines) > 50,
         [] = [L || L <- Lines, string:length(L) > Width],
         [] = [L || L <- Lines, C <- L, C < $\s orelse C =:= 16#202e]
     end || Width <- [40, 80, 200]],
    [] = [L || L <- string:split(text(Config, []), "\n", all), string:length(L) > 120].

text_has_the_numbers(Config) ->
    {_, Report} = hd(reports(Config)),
    Text = text(Config, ["--width", "0", "--top", "0"]),
    #{<<"calls">> := #{<<"calls">> := Calls, <<"ended">> := Ended, <<"failed">> := Failed},
      <<"recorded">> := Recorded, <<"lost">> := Lost} = Report,
    like(Text, "^3 nodes, .* from 20[0-9-]+ [0-9:.]+$"),
    like(Text, io_lib:format("^~b events recorded, ~b lost ", [Recorded, Lost])),
    like(Text, io_lib:format("^Functions, .*: ~b calls, ~b ended, ~b failed$",
                             [Calls, Ended, Failed])),
    like(Text, io_lib:format("^Failures: ~b of ~b calls$", [Failed, Calls])),
    [like(Text, io_lib:format("^ +~b +~b .* ~s$", [N, F, escape(M)]))
     || [N, F, M] <- rows(<<"functions">>, [<<"calls">>, <<"failed">>, <<"mfa">>], Report)],
    [like(Text, io_lib:format("^ +~b +~s +~s$", [N, Tag, Node]))
     || [N, Tag, Node] <- rows(<<"tags">>, [<<"events">>, <<"tag">>, <<"node">>], Report),
        Node =/= null],
    [like(Text, io_lib:format("^ +~b .* ~b +~b +", [R, M, O]))
     || [R, M, O] <- rows(<<"slowest_requests">>,
                          [<<"request">>, <<"messages">>, <<"orphans">>], Report)],
    %% With --top 1, each table has one row.
    Short = text(Config, ["--top", "1"]),
    like(Short, "^  and [0-9]+ more$"),
    true = length(Short) < length(Text).

%% The table of failures is in the order of the number of failures, although the table of functions
%% has the slow function first.
most_failures_first(Config) ->
    Log = ?LIB:name(Config, "failures.log"),
    Tracer = ?LIB:open(Log, #{}),
    Worker = ?LIB:worker(),
    [?LIB:calls({?MODULE, F, 0}, [{'_', [], [{exception_trace}]}]) || F <- [slow, fast]],
    ?LIB:flags(Worker, Tracer, [call]),
    ?LIB:run(Worker, fun() -> [catch ?MODULE:F() || F <- [slow, fast, fast]] end),
    ?LIB:untrace(Worker),
    ?LIB:stop(Worker),
    #{recorded := 6} = ?LIB:close(Tracer),
    {0, Text} = command("report", [], {[Log], []}),
    like(Text, "^Failures: 3 of 3 calls\n.*\n +2 +2 .*:fast/0 .*\n +1 +1 .*:slow/0 "),
    like(Text, "^Functions, .*\n.*\n.*:slow/0\n.*:fast/0$").

slow() ->
    timer:sleep(20),
    error(slow).

fast() -> error(fast).

escape(Text) ->
    re:replace(Text, "[^a-z_/0-9:]", "\\\\&", [global, {return, list}]).

like(Text, Regexp) ->
    case re:run(Text, unicode:characters_to_binary(Regexp), [multiline, unicode]) of
        {match, _} -> ok;
        nomatch ->
            ct:log("~ts", [Text]),
            error({no_match, lists:flatten(Regexp)})
    end.

%%---------------------------------------------------------------------------

%% The options with which `inviso merge' selects events also work with `inviso report'.
options_select(Config) ->
    Logs = ?config(logs, Config),
    Slow = report({Logs, ["--min-duration", "1us", "--mfa", "inviso_exports_work:outer"]}),
    [[<<"inviso_exports_work:outer/1">>]] = rows(<<"functions">>, [<<"mfa">>], Slow),
    [] = [D || [D] <- rows(<<"slowest">>, [<<"duration_ns">>], Slow), D < 1000],
    #{<<"filtered">> := N} = Slow,
    true = N > 0,
    {7, Said} = ?LIB:command("inviso", ["report", "--mfa", "no:such"
                                        | [?LIB:text(L) || L <- Logs]]),
    like(Said, "nothing matched"),
    {2, Usage} = ?LIB:command("inviso", ["report"]),
    like(Usage, "no LOG is named"),
    {2, _} = ?LIB:command("inviso", ["report", "--top", "-1", "x.log"]),
    {2, _} = ?LIB:command("inviso", ["report", "--width", "39", "x.log"]).

a_full_disk_leaves_no_file(Config) ->
    Dir = ?LIB:dir(Config),
    [begin
         Out = filename:join(Dir, "report.html"),
         Command = io_lib:format("trap '' XFSZ; ulimit -f 4; exec '~ts' report ~s -o '~ts' '~ts'",
                                 [?LIB:product("inviso"), Form, Out,
                                  hd(?config(logs, Config))]),
         {1, Said} = ?LIB:command("/bin/sh", ["-c", lists:flatten(Command)]),
         {match, _} = re:run(Said, "File too large"),
         {ok, []} = file:list_dir(Dir)
     end || Form <- ["--json", "--text --top 0", ""]].

%%---------------------------------------------------------------------------
%% The page

page(Config, {Logs, Options}) ->
    File = ?LIB:name(Config, "report.html"),
    {Status, Said} = ?LIB:command("inviso", ["report", "-q", "-o", File | Options]
                                  ++ [?LIB:text(L) || L <- Logs]),
    true = lists:member(Status, [0, 7]),
    like(Said, "entries: "),
    {ok, #{mode := Mode}} = {ok, file_info(File)},
    8#600 = Mode band 8#777,
    {ok, Page} = file:read_file(File),
    {File, Page}.

file_info(File) ->
    {ok, Info} = file:read_file_info(File, [raw]),
    #{mode => element(8, Info)}.

data(Page) ->
    {match, [Json]} = re:run(Page, "<script id='data' type='application/json'>\n(.*?)</script>",
                             [{capture, all_but_first, binary}, dotall]),
    inviso_trace_json:decode(Json).

%% The page has the same data as --json. It also has a timeline, charts and a profile. Other cases
%% compare --json with the results of SQL.
page_has_the_numbers(Config) ->
    [begin
         {_, Page} = page(Config, Input),
         Report = maps:without([<<"timeline">>, <<"charts">>, <<"profile">>], data(Page))
     end || {Input, Report} <- reports(Config)],
    ok.

%% The page is a single file that loads nothing else. A browser must not interpret terms in the
%% page's data as HTML.
page_loads_nothing(Config) ->
    {_, Page} = page(Config, {?config(logs, Config), []}),
    [1, 1, 2] = [length(binary:matches(Page, T))
                 || T <- [<<"<script id='data'">>, <<"<script>">>, <<"</script>">>]],
    nomatch = re:run(Page, "\\bsrc *=|<link|<img|<iframe|@import|url\\(|innerHTML|eval\\("),
    {match, Links} = re:run(Page, "href *[=:] *(['\"][^'\"]*)",
                            [global, {capture, all_but_first, binary}]),
    [<<_, $#, _/binary>> = L || [L] <- Links],
    {match, Urls} = re:run(Page, "[a-z]+://[^'\" ]*", [global, {capture, all, binary}]),
    [<<"http://www.w3.org/2000/svg">>] = lists:usort(lists:append(Urls)),
    #{<<"slowest_requests">> := Requests} = data(Page),
    %% The page's data contains the term that looks like HTML.
    [_] = [L || #{<<"label">> := L} <- Requests, L =:= <<"<<\"</script>\">>">>].

%% The timeline shows all events. The flame graph shows the whole time of the calls. Each chart
%% shows all hops of its request.
pictures_have_all(Config) ->
    [begin
         {_, Page} = page(Config, Input),
         #{<<"timeline">> := T, <<"charts">> := Charts, <<"profile">> := Profile} = data(Page),
         #{<<"events">> := Events, <<"calls">> := #{<<"failed">> := Failed},
           <<"losses">> := Losses, <<"slowest_requests">> := Requests} = Report,
         #{<<"bins">> := Bins, <<"lanes">> := Lanes, <<"slices">> := Slices,
           <<"shown">> := Shown} = T,
         Sum = fun(N) -> lists:sum([lists:nth(N, B) || B <- Bins]) end,
         {Events, Failed} = {Sum(1), Sum(2)},
         Lost = lists:sum([L || #{<<"lost">> := L} <- Losses]),
         Lost = Sum(3),
         [OfLane = lists:sum(B) || #{<<"events">> := OfLane, <<"bins">> := B} <- Lanes],
         true = 5 * Shown =:= length(Slices),
         folded(Input, Profile),
         [chart(Input, C) || C <- Charts],
         Numbers = lists:sort([N || #{<<"request">> := N} <- Requests]),
         Numbers = lists:sort([N || #{<<"requests">> := [#{<<"number">> := N}]} <- Charts])
     end || {Input, Report} <- reports(Config)].

folded({Logs, Options}, #{<<"ns">> := Ns}) ->
    {_, Folded, _} = ?LIB:merge(Logs, "folded", Options),
    Ns = lists:sum([binary_to_integer(lists:last(binary:split(L, <<" ">>, [global])))
                    || L <- ?LIB:split(Folded)]).

chart({Logs, []}, #{<<"requests">> := [#{<<"number">> := N}], <<"rows">> := Rows,
                    <<"hops">> := Hops}) ->
    {_, Page, _} = ?LIB:merge(Logs, "sequence", ["--request", integer_to_list(N)]),
    #{<<"rows">> := Rows, <<"hops">> := Hops} = data(Page);
chart(_, _) ->
    ok.

%% In a browser, the page shows all sections and reports no error.
page_in_a_browser(Config) ->
    in_chromium(fun(Chromium) -> page_in_a_browser(Config, Chromium) end).

in_chromium(Fun) ->
    case os:find_executable("chromium") of
        false -> {skip, "no chromium"};
        Chromium -> Fun(Chromium)
    end.

page_in_a_browser(Config, Chromium) ->
    {Input, Report} = hd(reports(Config)),
    {File, _} = page(Config, Input),
    Dom = inviso_browser:dom(Config, Chromium, File ++ "#q=inner"),
    like(Dom, "<html [^>]*data-ready=\"yes\""),
    #{<<"events">> := Events, <<"lost">> := Lost, <<"nodes">> := Nodes,
      <<"calls">> := #{<<"calls">> := Calls, <<"failed">> := Failed},
      <<"messages">> := #{<<"messages">> := Messages},
      <<"processes">> := #{<<"processes">> := Processes, <<"abnormal">> := Abnormal}} = Report,
    [like(Dom, ["<b>", commas(N), "</b><span>", Name, "</span>"])
     || {N, Name} <- [{Events, "events"}, {Lost, "lost"}, {length(Nodes), "nodes"},
                      {Calls, "calls"}, {Failed, "failed calls"}, {Messages, "messages"},
                      {Processes, "processes"}, {Abnormal, "abnormal exits"}]],
    [like(Dom, ["<section id=\"", Id, "\""])
     || Id <- ["recorded", "functions", "slowest", "failures", "exits", "processes",
               "mailboxes", "messages", "requests", "flame", "timeline", "collections",
               "about"]],
    %% The first rows of the tables are shown, with the right numbers.
    [like(Dom, ["<td class=\"name\"[^>]*>", escape(Mfa), "</td><td class=\"num\">",
                commas(N), "</td>"])
     || [Mfa, N] <- lists:sublist(rows(<<"functions">>, [<<"mfa">>, <<"calls">>], Report), 5)],
    [like(Dom, [">", Tag, "</td><td class=\"n[a-z]*\"[^>]*>", Node, "</td><td class=\"num\">",
                commas(N), "</td>"])
     || [Tag, Node, N] <- lists:sublist(rows(<<"tags">>, [<<"tag">>, <<"node">>,
                                                          <<"events">>], Report), 5)],
    %% The browser shows a term as text and does not read it as HTML.
    like(Dom, "&lt;/script&gt;"),
    nomatch = re:run(Dom, "<b>&|<b>'"),
    like(Dom, "<span [^>]*id=\"found\"[^>]*>[1-9][0-9,]* of [0-9,]+ bars; "),
    %% If the log has no events, there is still a page.
    {Empty, _} = page(Config, {?config(logs, Config), ["--mfa", "no:such"]}),
    like(inviso_browser:dom(Config, Chromium, Empty), "<html [^>]*data-ready=\"yes\"").

commas(N) ->
    re:replace(integer_to_list(N), "(?<=[0-9])(?=([0-9]{3})+$)", ",", [global, {return, list}]).

%% The timeline begins with the first call, also if the call began before the first event, and ends
%% with the last event. Each time on it is a short number within these limits.
labels_of_the_timeline(Config) ->
    in_chromium(fun(Chromium) ->
                        [labels(Config, Chromium, I) || I <- timelines()],
                        one_event(Config, Chromium),
                        short_times(Config, Chromium)
                end).

%% In failed.log, each call has one event, at its end. In nth.log, each call has two events.
timelines() ->
    Root = os:getenv("INVISO_ROOT", "."),
    [{[filename:join([Root, "test/frozen/3", Log])], []} || Log <- ["failed.log", "nth.log"]].

labels(Config, Chromium, {[Log], _} = Input) ->
    {Span, Begin, Axis, Visible} = drawn(Config, Chromium, Input),
    true = Begin < 0 orelse filename:basename(Log) =/= "failed.log",
    [From, Width] = [ns(L) || L <- string:split(Visible, " + ")],
    true = near(-Begin, -From) andalso near(Span - Begin, Width),
    Times = [ns(L) || L <- Axis],
    true = length(Times) >= 3,
    Times = lists:usort(Times),
    [] = [T || T <- Times, T < Begin orelse T > Span].

%% If there is only one event, the timeline shows 100 ns.
one_event(Config, Chromium) ->
    {[Log], []} = lists:last(timelines()),
    {_, Page} = page(Config, {[Log], []}),
    #{<<"begin_ns">> := Begin} = data(Page),
    To = lists:flatten(io_lib:format("~b.~9..0b", [Begin div 1000000000,
                                                   Begin rem 1000000000 + 1])),
    {0, 0, ["0 ns", "20 ns", "40 ns", "60 ns" | _], "0 ns + 100 ns"} =
        drawn(Config, Chromium, {[Log], ["--to", To]}).

%% The page shows each time as a short number, even if rounding changes the unit of the time.
short_times(Config, Chromium) ->
    {File, Page} = page(Config, hd(timelines())),
    Times = [round(Sign * N * Unit)
             || Unit <- [1, 1000, 1000000, 1000000000], Sign <- [1, -1],
                N <- [1, 9.994, 9.996, 99.94, 99.96, 999, 999.4, 999.6]],
    Show = io_lib:format("<script>document.documentElement.dataset.times = ~w.map(ns).join('|')"
                         "</script>", [Times ++ [0]]),
    ok = file:write_file(File, [Page, Show]),
    Shown = texts("times", inviso_browser:dom(Config, Chromium, File)),
    [true = near(abs(T), abs(ns(S))) andalso T * ns(S) >= 0
     || {T, S} <- lists:zip(Times ++ [0], Shown)].

%% Returns the texts that a script of a test has stored in the document.
texts(Name, Dom) ->
    {match, [Texts]} = re:run(Dom, ["data-", Name, "=\"([^\"]*)\""],
                              [unicode, {capture, all_but_first, list}]),
    string:split(Texts, "|", all).

%% Returns the duration of a report, the time of its first call (or 0 if this time is positive), and
%% the texts with times that a browser draws on the timeline: the labels of the axis, and the
%% visible part of the time. A script that runs before the page's own scripts records the texts.
drawn(Config, Chromium, Input) ->
    {File, Page} = page(Config, Input),
    #{<<"duration_ns">> := Span, <<"timeline">> := #{<<"slices">> := Slices}} = data(Page),
    Record = <<"<script>{const c = CanvasRenderingContext2D.prototype, of = c.fillText, all = [];\n"
               "c.fillText = function(text, ...at) {\n"
               "all.push(text); document.documentElement.dataset.texts = all.join('|');\n"
               "return of.call(this, text, ...at); }; }</script>\n">>,
    [Head, Tail] = binary:split(Page, <<"<script id='data'">>),
    ok = file:write_file(File, [Head, Record, "<script id='data'", Tail]),
    Dom = inviso_browser:dom(Config, Chromium, File),
    Times = [T || T <- texts("texts", Dom),
                  re:run(T, " (ns|µs|ms|s)$", [unicode]) =/= nomatch],
    %% The page may draw the timeline more than once.
    {Axis, [Visible | _]} =
        lists:splitwith(fun(T) -> string:find(T, " + ") =:= nomatch end, Times),
    {Span, lists:min([0 | starts_of(Slices)]), Axis, Visible}.

starts_of([_Lane, _Function, At, _Ns, _Kind | More]) -> [At | starts_of(More)];
starts_of([]) -> [].

%% Returns the ns of a time on the page: at most four digits, and a unit.
ns(Text) ->
    [Number, Unit] = string:split(Text, " "),
    {match, _} = re:run(Number, "^-?([0-9]{1,4}|[0-9][.][0-9]{2}|[0-9]{2}[.][0-9])$"),
    maps:get(Unit, #{"ns" => 1, "µs" => 1000, "ms" => 1000000, "s" => 1000000000})
        * case string:find(Number, ".") of
              nomatch -> list_to_integer(Number);
              _ -> list_to_float(Number)
          end.
