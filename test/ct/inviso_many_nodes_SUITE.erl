%% SPDX-License-Identifier: Apache-2.0
%% @doc Runs the examples of docs/guide/18-many-nodes.md: Parquet files of the logs of
%% 100 nodes, and queries of DuckDB and, in `make soak', of ClickHouse.
%%
%% One node is recorded, and its logs are copied as if 100 nodes had written them in
%% three hours (test/tools/log_copies.c). In the second hour, n042 differs from the
%% other nodes: many of its calls are slow or fail. In the same hour, n017 loses
%% events. With INVISO_EVENTS=N each node has about N events.
%%
%% The page has these blocks. Other blocks are an error.
%%
%%     ```console                commands, each after `$ ', and their output
%%     ```sql                    a statement for both programs
%%     ```sql engine=duckdb      a statement for the named program only
%%
%% After a query comes its result, as a Markdown table. A query without a table
%% repeats the query before it in the SQL of the other program. Both queries must have
%% the same result.
-module(inviso_many_nodes_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([duckdb/1, clickhouse/1]).
-export([record/4]).

-define(LIB, inviso_trace_lib).
-define(PAGE, "docs/guide/18-many-nodes.md").
-define(NODES, 100).
%% How many events each node has in the logs from which the results in ?PAGE were computed.
-define(EVENTS, 1200).
%% ?PAGE must have at least this many queries.
-define(QUERIES, 8).
%% A pattern for the names of columns whose numbers differ between runs.
-define(VARIES, "(^|_)(ms|us|ts)$|^(pid|args|lost|gaps|events|times_median)$").

all() -> [duckdb, clickhouse].

suite() -> [{timetrap, {hours, 1}}].

init_per_suite(Config) ->
    case ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]) of
        {skip, _} = Skip -> Skip;
        Checked -> [{npm, filename:join([root(), "build", "npm"])} | Checked]
    end.

end_per_suite(Config) ->
    _ = os:cmd("rm -rf " ++ filename:join(?config(priv_dir, Config), "many-*")),
    ok.

%%---------------------------------------------------------------------------
%% The cases

duckdb(Config) ->
    case has(Config, "@duckdb/node-api") of
        true -> queries("duckdb", events(inviso_test_lib:soak(?EVENTS, 100000)), Config);
        false -> {skip, "npm has not installed @duckdb/node-api"}
    end.

clickhouse(Config) ->
    case inviso_test_lib:soak(short, long) of
        short -> {skip, "only in make soak"};
        long ->
            case has(Config, "chdb") of
                true -> queries("clickhouse", events(?EVENTS), Config);
                false -> {skip, "npm has not installed chdb"}
            end
    end.

has(Config, Package) ->
    filelib:is_dir(filename:join([?config(npm, Config), "node_modules", Package])).

events(Default) ->
    list_to_integer(os:getenv("INVISO_EVENTS", integer_to_list(Default))).

%% Runs the SQL statements of ?PAGE with one program (DuckDB or ClickHouse), and compares their
%% results with the tables in ?PAGE. Numbers are compared only if the logs have as many events as
%% the logs of ?PAGE had.
queries(Engine, Size, Config) ->
    Examples = examples(),
    Dir = filename:join(?config(priv_dir, Config), "many-" ++ integer_to_list(Size)),
    _ = filelib:is_dir(Dir) orelse made(Dir, Size, Examples, Config),
    Asked = [{Sql, Table} || {sql, For, Sql, Table} <- Examples,
                             lists:member(For, ["both", Engine])],
    Results = asked(Engine, Dir, [Sql || {Sql, _} <- Asked], Config),
    _ = [ct:log("~b ms: ~ts", [Ms, Sql])
         || {{Sql, _}, #{<<"ms">> := Ms}} <- lists:zip(Asked, Results)],
    Shown = [{Sql, Table, [Names | Rows]}
             || {{Sql, Table}, #{<<"names">> := Names, <<"rows">> := Rows}}
                    <- lists:zip(Asked, Results),
                Table =/= none],
    true = length(Shown) >= ?QUERIES,
    Exact = Size =:= ?EVENTS,
    Wrong = [Example || {_, Table, Got} = Example <- Shown, not same(Table, Got, Exact)],
    _ = [ct:pal("~ts~n-- expected~n~ts~n-- got~n~ts", [Sql, markdown(Table), markdown(Got)])
         || {Sql, Table, Got} <- Wrong],
    [] = [Sql || {Sql, _, _} <- Wrong],
    Views = [Sql || {Sql, none} <- Asked],
    copies_are_equal(asked(Engine, Dir, Views ++ [copies()], Config)).

%% Returns a query whose result shows whether all nodes except n042 and n017 have the same calls.
copies() ->
    "SELECT count(*), count(DISTINCT n), count(DISTINCT longest), count(DISTINCT total)"
        " FROM (SELECT node, count(*) AS n, max(duration_ns) AS longest,"
        " sum(duration_ns) AS total FROM calls"
        " WHERE substring(node, 1, 4) NOT IN ('n042', 'n017') GROUP BY node) AS x".

copies_are_equal(Results) ->
    #{<<"rows">> := [[<<"98">>, <<"1">>, <<"1">>, <<"1">>]]} = lists:last(Results),
    ok.

asked(Engine, Dir, Statements, Config) ->
    Script = filename:join([root(), "test", "cli", "queries.js"]),
    {Status, Out} = run(Dir, [os:find_executable("node"), Script, ?config(npm, Config), Engine
                              | Statements]),
    Status =:= 0 orelse error({Engine, Status, Out}),
    Results = inviso_trace_json:lines(Out),
    true = length(Results) =:= length(Statements),
    Results.

%% Runs a program in a directory.
run(Dir, Words) ->
    ?LIB:command("/bin/sh", ["-c", "cd \"$1\" && shift && exec \"$@\"", "sh", Dir | Words]).

%%---------------------------------------------------------------------------
%% The logs

%% Makes the logs of all nodes, and runs the commands of ?PAGE in their directory.
made(Dir, Size, Examples, Config) ->
    Logs = filename:join(Dir, "box"),
    Base = ?LIB:dir(Config),
    ok = filelib:ensure_dir(filename:join(Logs, "x")),
    Node = inviso_test_lib:start_node(none, Base, ?LIB:node_args()),
    ok = inviso_test_lib:call(Node, inviso_tracer, load, [inviso_test_lib:priv()]),
    {ok, Module, Code} = compile:file(filename:join(?config(data_dir, Config), "shop_cart"),
                                      [binary, report]),
    {module, Module} = inviso_test_lib:call(Node, code, load_binary, [Module, "shop_cart", Code]),
    Orders = Size div 12,
    Lost = fun(Name, Buffer, F, Args) ->
                   Log = filename:join(Base, Name ++ ".log"),
                   inviso_test_lib:call(Node, ?MODULE, record, [Log, Buffer, F, Args])
           end,
    0 = Lost("quiet", default, orders, [Orders div 4, well]),
    0 = Lost("busy", default, orders, [Orders, well]),
    0 = Lost("sick", default, orders, [Orders, sick]),
    true = Lost("report", small, report, [100000]) > 0,
    inviso_test_lib:stop_node(Node),
    Tool = filename:join(filename:dirname(code:which(?MODULE)), "log_copies"),
    Last = ?NODES - 1,
    %% Each node has this log twice, at two times of the day. So the second copy needs another name.
    {ok, _} = file:copy(filename:join(Base, "quiet.log"), filename:join(Base, "late.log")),
    _ = [{0, _} = ?LIB:command(Tool, [filename:join(Base, Name ++ ".log"), Logs
                                      | [integer_to_list(N) || N <- [From, To, at(Hour, Minute)]]])
         || {Name, From, To, {Hour, Minute}} <-
                [{"quiet", 0, Last, {8, 15}},
                 {"busy", 0, 41, {9, 15}}, {"sick", 42, 42, {9, 15}},
                 {"busy", 43, Last, {9, 15}}, {"report", 17, 17, {9, 45}},
                 {"late", 0, Last, {10, 15}}]],
    Began = erlang:monotonic_time(millisecond),
    _ = [commands(Dir, Lines) || {console, Lines} <- Examples],
    ct:log("logs of ~b MB, Parquet ~b MB, written in ~b ms",
           [mb(Logs), mb(filename:join(Dir, "tables")),
            erlang:monotonic_time(millisecond) - Began]),
    _ = os:cmd("rm -rf " ++ Base),
    ok.

%% Returns a time of the day in ?PAGE, in seconds since the Unix epoch.
at(Hour, Minute) ->
    Epoch = calendar:datetime_to_gregorian_seconds({{1970, 1, 1}, {0, 0, 0}}),
    calendar:datetime_to_gregorian_seconds({{2026, 11, 27}, {Hour, Minute, 0}}) - Epoch.

%% Runs the function F of shop_cart, and records the calls that F makes, with their ends. Returns
%% how many events were lost. Called on the node.
record(Log, Buffer, F, Args) ->
    {ok, {M, S} = Tracer} = inviso_tracer:open(Log, options(Buffer)),
    Traced = [{add, 2}, {price, 1}, {total, 1}, {pay, 2}, {line, 1}],
    _ = [1 = erlang:trace_pattern({shop_cart, Name, Arity}, [{'_', [], [{exception_trace}]}],
                                  [local])
         || {Name, Arity} <- Traced],
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> apply(shop_cart, F, Args) end end),
    1 = erlang:trace(Pid, true, [call, timestamp, {tracer, M, S}]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    {ok, #{dropped := Dropped}} = inviso_tracer:close(Tracer),
    Dropped.

options(default) ->
    #{};
options(small) ->
    Threads = lists:sum([erlang:system_info(What)
                         || What <- [schedulers, dirty_cpu_schedulers, dirty_io_schedulers]]),
    #{buffer_bytes => 4 * 4096 * Threads}.

mb(Dir) ->
    filelib:fold_files(Dir, ".*", true, fun(F, N) -> filelib:file_size(F) + N end, 0)
        div 1000000.

%%---------------------------------------------------------------------------
%% The page

root() -> os:getenv("INVISO_ROOT").

page() ->
    {ok, Text} = file:read_file(filename:join(root(), ?PAGE)),
    string:split(unicode:characters_to_list(Text), "\n", all).

%% Returns the examples in ?PAGE: {console, Lines} or {sql, Program, Statement, Table}.
examples() ->
    steps(page(), none).

%% Last is the table of the previous query.
steps([], _Last) ->
    [];
steps(["```" ++ Info | Rest], Last) ->
    {Block, [_ | After]} = lists:splitwith(fun(L) -> L =/= "```" end, Rest),
    case Info of
        "console" ->
            [{console, Block} | steps(After, Last)];
        "sql" ++ For ->
            {Found, Next} = table_below(After),
            Table = case Found of
                        none -> Last;
                        _ -> Found
                    end,
            [statement(engine(For), Sql, Table) || Sql <- statements(Block)]
                ++ steps(Next, Table)
    end;
steps([_ | Rest], Last) ->
    steps(Rest, Last).

statements(Block) ->
    Text = lists:flatten(lists:join("\n", Block)),
    [Sql || Part <- string:split(Text, ";", all), (Sql = string:trim(Part)) =/= ""].

%% Each statement other than `CREATE VIEW' is a query, and has a table.
statement(Engine, "CREATE VIEW " ++ _ = Sql, _Table) -> {sql, Engine, Sql, none};
statement(Engine, Sql, [_ | _] = Table) -> {sql, Engine, Sql, Table}.

engine("") ->
    "both";
engine(" engine=" ++ Engine) when Engine =:= "duckdb"; Engine =:= "clickhouse" ->
    Engine.

%% Returns the rows of the table that follows a block of code.
table_below(["", "|" ++ _ = Names, "|" ++ _ | Rest]) ->
    {Rows, Next} = lists:splitwith(fun(L) -> lists:prefix("|", L) end, Rest),
    {[cells(L) || L <- [Names | Rows]], Next};
table_below(Lines) ->
    {none, Lines}.

cells(Line) ->
    [unicode:characters_to_binary(string:trim(C))
     || C <- string:split(string:trim(Line, both, "|"), "|", all)].

%% Compares a result with the table in ?PAGE. If Exact is false, the logs have more or fewer events
%% than the logs of ?PAGE had, so numbers may differ.
same([Names | Rows], [Names | Others], Exact) when length(Rows) =:= length(Others) ->
    lists:all(fun({Name, Cell, Other}) -> same(Name, Cell, Other, Exact) end,
              lists:append([lists:zip3(Names, Row, Other)
                            || {Row, Other} <- lists:zip(Rows, Others)]));
same(_, _, _) ->
    false.

same(Name, Cell, Other, Exact) ->
    case {re:run(Name, ?VARIES, [{capture, none}]), Exact} of
        {match, true} ->
            plain(Cell, "[0-9.]+") =:= plain(Other, "[0-9.]+") andalso
                near(Name, number(Cell), number(Other));
        {match, false} -> plain(Cell, "[0-9.]+") =:= plain(Other, "[0-9.]+");
        {nomatch, true} -> Cell =:= Other;
        {nomatch, false} -> plain(Cell, "^[0-9.]+$") =:= plain(Other, "^[0-9.]+$")
    end.

%% Long times come from calls that sleep, so they are about the same in all runs.
near(Name, Shown, Got) when is_number(Shown), is_number(Got), Shown >= 100 ->
    re:run(Name, "_[mu]s$", [{capture, none}]) =:= nomatch orelse
        (Got >= Shown / 2 andalso Got =< Shown * 2);
near(_, _, _) ->
    true.

number(Cell) ->
    case {string:to_float(Cell), string:to_integer(Cell)} of
        {{F, <<>>}, _} -> F;
        {_, {I, <<>>}} -> I;
        _ -> none
    end.

plain(Cell, Pattern) ->
    re:replace(Cell, Pattern, "N", [global, {return, binary}]).

markdown(Table) ->
    Widths = [lists:max([string:length(C) || C <- Column]) || Column <- columns(Table)],
    [Names | Rows] = [["|", [[" ", string:pad(C, W), " |"] || {C, W} <- lists:zip(Row, Widths)],
                       "\n"]
                      || Row <- Table],
    [Names, "|", [[lists:duplicate(W + 2, $-), "|"] || W <- Widths], "\n", Rows].

columns([[] | _]) -> [];
columns(Rows) -> [[C || [C | _] <- Rows] | columns([tl(R) || R <- Rows])].

%% Runs the commands of a block, and compares their output. The counts of events may differ.
commands(_Dir, []) ->
    ok;
commands(Dir, ["$ " ++ Line | Rest]) ->
    {Said, Next} = lists:splitwith(fun(L) -> not lists:prefix("$ ", L) end, Rest),
    {Status, Out} = run(Dir, ["/bin/sh", "-c", "PATH=" ++ inviso_test_lib:priv() ++ ":$PATH; "
                              ++ Line]),
    %% Status 7: events were lost.
    {Line, true} = {Line, lists:member(Status, [0, 7])},
    Expected = without_counts(lists:join("\n", Said)),
    {Line, Expected} = {Line, without_counts(Out)},
    commands(Dir, Next).

without_counts(Text) ->
    re:replace(string:trim(unicode:characters_to_binary(Text)),
               "[0-9]+(?= (entries|events|lost|full))", "N", [global, {return, binary}]).
