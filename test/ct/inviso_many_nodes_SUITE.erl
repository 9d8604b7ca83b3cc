%% SPDX-License-Identifier: Apache-2.0
%% @doc Logs of many nodes, as Parquet files that DuckDB queries.
%%
%% One node is recorded, and its log is copied as if other nodes had written it
%% (test/tools/log_copies.c). `make soak' has 100 nodes. With INVISO_EVENTS=N each of
%% them has about N events.
-module(inviso_many_nodes_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([queries/1]).
-export([record/2, call/2, loop/2]).

-define(LIB, inviso_trace_lib).

all() -> [queries].

suite() -> [{timetrap, {hours, 1}}].

init_per_suite(Config) ->
    Npm = filename:join([os:getenv("INVISO_ROOT"), "build", "npm"]),
    case filelib:is_dir(filename:join(Npm, "node_modules/@duckdb")) of
        true -> ?LIB:config([{npm, Npm} | Config],
                            ["inviso", "inviso_spool", "inviso_tracer.so"]);
        false -> {skip, "npm has not installed @duckdb/node-api"}
    end.

end_per_suite(_Config) -> ok.

%%---------------------------------------------------------------------------
%% On the node

%% Records calls and their ends. Returns how many events the log has.
record(Log, Calls) ->
    {ok, {M, S} = Tracer} = inviso_tracer:open(Log, #{}),
    1 = erlang:trace_pattern({?MODULE, call, 2}, [{'_', [], [{exception_trace}]}], [local]),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> loop(Calls, 0) end end),
    1 = erlang:trace(Pid, true, [call, timestamp, {tracer, M, S}]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    {ok, #{recorded := Recorded}} = inviso_tracer:close(Tracer),
    Recorded.

%% After every 20000 calls the process pauses, so that the spooler can keep up and few events are
%% lost.
loop(0, _) -> ok;
loop(N, Sum) ->
    _ = N rem 20000 =:= 0 andalso timer:sleep(20),
    loop(N - 1, ?MODULE:call(Sum rem 1000, {order, N}) + Sum).

call(N, {order, _}) -> N + 1.

%%---------------------------------------------------------------------------

%% In the Parquet files of many nodes, DuckDB counts all events. Its results are the same for each
%% node, because the logs are copies of one log.
queries(Config) ->
    Dir = filename:join(?config(priv_dir, Config), "many"),
    Logs = filename:join(Dir, "logs"),
    Tables = filename:join(Dir, "tables"),
    {Nodes, Events} = sizes(),
    ok = filelib:ensure_dir(filename:join(Logs, "x")),
    Node = inviso_test_lib:start_node(n000, ?LIB:dir(Config), ?LIB:node_args()),
    ok = inviso_test_lib:call(Node, inviso_tracer, load, [inviso_test_lib:priv()]),
    One = ?LIB:name(Config, "one.log"),
    Recorded = inviso_test_lib:call(Node, ?MODULE, record, [One, Events div 2]),
    inviso_test_lib:stop_node(Node),
    true = Recorded > 0,
    {0, _} = ?LIB:command(tool(), [One, Logs, integer_to_list(Nodes)]),
    Count = integer_to_binary(Recorded * Nodes),
    Write = ms(fun() ->
                       {0, _} = ?LIB:command(?LIB:product("inviso"),
                                             ["merge", "-q", "--format", "parquet",
                                              "--partition", "node", "-o", Tables, Logs])
               end),
    Parts = "read_parquet('" ++ filename:join(Tables, "events/**/*.parquet") ++ "')",
    Calls = "read_parquet('" ++ filename:join(Tables, "calls/**/*.parquet") ++ "')",
    Query = ms(fun() ->
                       Count = asked(Config, "SELECT count(*) FROM " ++ Parts)
               end),
    Names = asked(Config, "SELECT count(DISTINCT node) FROM " ++ Parts),
    Nodes = binary_to_integer(Names),
    %% All nodes have the same calls, so each result has one value for all nodes.
    Slowest = ms(fun() ->
                         <<"1,1,1">> =
                             asked(Config, "SELECT count(DISTINCT n), count(DISTINCT longest),"
                                   " count(DISTINCT total) FROM (SELECT node, count(*) n,"
                                   " max(duration_ns) longest, sum(duration_ns) total"
                                   " FROM " ++ Calls ++ " GROUP BY node)")
                 end),
    ct:log("~b nodes, ~b events: logs ~b MB, Parquet ~b MB; written in ~b ms, counted in "
           "~b ms, calls by node in ~b ms",
           [Nodes, Recorded * Nodes, mb(Logs), mb(Tables), Write, Query, Slowest]),
    _ = os:cmd("rm -rf " ++ Dir),
    ok.

sizes() ->
    {Nodes, Events} = inviso_test_lib:soak({5, 2000}, {100, 100000}),
    {Nodes, list_to_integer(os:getenv("INVISO_EVENTS", integer_to_list(Events)))}.

tool() ->
    filename:join(filename:dirname(code:which(?MODULE)), "log_copies").

asked(Config, Sql) ->
    Script = filename:join([os:getenv("INVISO_ROOT"), "test", "cli", "parquet.js"]),
    {0, Out} = ?LIB:command(os:find_executable("node"),
                            [Script, ?config(npm, Config), "--query", Sql]),
    string:trim(Out).

ms(F) ->
    T = erlang:monotonic_time(millisecond),
    _ = F(),
    erlang:monotonic_time(millisecond) - T.

mb(Dir) ->
    filelib:fold_files(Dir, ".*", true, fun(F, N) -> filelib:file_size(F) + N end, 0)
        div 1000000.
