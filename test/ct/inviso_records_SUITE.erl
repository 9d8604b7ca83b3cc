%% SPDX-License-Identifier: Apache-2.0
%% Records with the names of their fields, live and in logs, with the command on
%% real nodes.
-module(inviso_records_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([live_and_in_a_log/1, two_modules/1, without_debug_information/1,
         flight_recorder/1, too_large/1, collections/1, lines/1]).

-define(LIB, inviso_command_lib).
-define(CASE, inviso_command_case).

-import(inviso_command_case, [call/4, opts/1, run/2, name/1, has/2, has_not/2]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [live_and_in_a_log, two_modules, without_debug_information,
     flight_recorder, too_large, collections, lines].

init_per_suite(Config) -> ?CASE:init_suite(Config).

end_per_suite(Config) -> ?CASE:end_suite(Config).

init_per_testcase(Case, Config) -> ?CASE:init(Case, Config).

end_per_testcase(_Case, Config) -> ?CASE:stop(Config).

%% Compiles a module, and loads it on the node. There a process calls f/1 and
%% g/1 of the module again and again.
module(Config, Name, Opts, Text) ->
    ok = ?CASE:module(Config, Name, Opts,
                      [Text, "\nloop() -> f(g(self())), timer:sleep(5), loop().\n"]),
    _ = call(Config, erlang, spawn, [Name, loop, []]),
    ok.

trace(Config, Args) ->
    run(Config, ["trace", "-n", name(Config), "--events", "4" | Args]).

order() ->
    "-record(order, {id, 'Item s' = [], who}).\n"
        "f(#order{} = O) -> {ok, O}.\n"
        "g(P) -> #order{id = 7, who = P}.\n".

live_and_in_a_log(Config) ->
    ok = module(Config, shop_a, [debug_info], order()),
    Log = filename:join(?config(dir, Config), "x.log"),
    Named = "#order{id = 7,'Item s' = [],who = <",
    #{status := 0, out := Live} =
        trace(Config, ["-o", Log, "shop_a:f/1", "shop_a:g/1"]),
    ok = has(Live, ["call shop_a:f(" ++ Named,
                    "return shop_a:f/1 -> {ok," ++ Named]),
    #{status := 0, out := Merged} = run(Config, ["merge", Log]),
    ok = has(Merged, ["call shop_a:f(" ++ Named]),
    #{status := 0, out := Tuples} =
        run(Config, ["merge", "--no-records", Log]),
    ok = has(Tuples, ["call shop_a:f({order,7,[],<"]),
    ok = has_not(Tuples, ["#order"]),
    #{status := 0, out := Json} = run(Config, ["merge", "--json", Log]),
    ok = has(Json, ["\"args\":[\"{order,7,[],<"]),
    ok = has_not(Json, ["#order"]),
    #{status := 0, out := Depth} =
        run(Config, ["merge", "--print-depth", "1", Log]),
    ok = has(Depth, ["call shop_a:f(" ++ Named, "-> {ok,#order{...}}"]).

%% Two modules define the same record name with different fields. In a call, the module of the
%% traced function decides which definition applies. In a message the tuple is printed as a tuple.
two_modules(Config) ->
    ok = module(Config, shop_a, [debug_info],
                "-record(o, {a}). -record(same, {b}).\n"
                "f(X) -> X.\ng(P) -> P ! {#o{}, #same{}}, #o{a = 1}.\n"),
    ok = module(Config, shop_b, [debug_info],
                "-record(o, {z}). -record(same, {b}).\n"
                "f(X) -> X.\ng(P) -> P ! {#o{}, #same{}}, #o{z = 1}.\n"),
    Log = filename:join(?config(dir, Config), "x.log"),
    #{status := 0} = run(Config, ["trace", "-n", name(Config), "--events", "40",
                                  "-o", Log, "shop_*:f/1", "send"]),
    #{out := Out} = run(Config, ["merge", Log]),
    ok = has(Out, ["shop_a:f(#o{a = 1})", "shop_b:f(#o{z = 1})",
                   "send {{o,undefined},#same{b = undefined}} to"]).

without_debug_information(Config) ->
    ok = module(Config, shop_a, [], order()),
    Log = filename:join(?config(dir, Config), "x.log"),
    Source = filename:join(?config(dir, Config), "shop_a.erl"),
    #{status := 0, out := Out} = trace(Config, ["-o", Log, "shop_a:f/1"]),
    ok = has(Out, ["shop_a:f({order,7,[],<"]),
    #{status := 0, out := Given} =
        trace(Config, ["--records", Source, "shop_a:f/1"]),
    ok = has(Given, ["shop_a:f(#order{id = 7,"]),
    #{status := 0, out := Merged} =
        run(Config, ["merge", "--records", Source, Log]),
    ok = has(Merged, ["shop_a:f(#order{id = 7,"]).

%% In a flight recorder, events overwrite the notes that contain the record definitions. So the
%% session writes these notes again and again.
flight_recorder(Config) ->
    ok = module(Config, shop_a, [debug_info],
                [order(), "flood(0) -> ok;\nflood(N) -> f(g(N)), flood(N - 1).\n"
                 "floods(N) ->\n"
                 "  Ps = [spawn_opt(?MODULE, flood, [N], [monitor, {scheduler, I}])\n"
                 "    || I <- lists:seq(1, erlang:system_info(schedulers))],\n"
                 "  _ = [receive {'DOWN', R, _, _, _} -> ok end || {_, R} <- Ps].\n"]),
    Log = filename:join(?config(dir, Config), "box.log"),
    Cmd = ?LIB:start(opts(Config),
                     ["record", "-n", name(Config), "--keep", "newest",
                      "--max-term", "256", "--buffer", "1M", "--for", "100s",
                      "--events", "0", "--rate", "0", "-o", Log, "shop_a:f/1"],
                     60000),
    ok = ?LIB:until_tracing(opts(Config), name(Config), Cmd),
    %% A process on each scheduler makes more calls than the scheduler's ring
    %% holds.
    _ = call(Config, shop_a, floods, [100000]),
    _ = ?LIB:signal(Cmd, "INT"),
    #{out := _} = ?LIB:wait(Cmd, 60000),
    #{out := Out} = run(Config, ["merge", Log]),
    ok = has(Out, ["*** ", "overwritten", "shop_a:f(#order{id = 7,"]),
    ok = has_not(Out, ["shop_a:f({order"]).

%% If a module's file is too large, the record definitions in it are not read. Tracing begins
%% anyway.
too_large(Config) ->
    ok = module(Config, shop_a, [debug_info], order()),
    Dir = ?config(dir, Config),
    {ok, File} = file:open(filename:join(Dir, "shop_a.beam"), [append, raw]),
    ok = file:write(File, binary:copy(<<0>>, 2 * 1048576)),
    ok = file:close(File),
    #{status := 0, out := Out} = trace(Config, ["shop_a:f/1"]),
    ok = has(Out, ["shop_a:f({order,7,[],<"]).

%% --- how lines look -----------------------------------------------------------

%% A garbage collection makes two events, which the text format shows as one line.
collections(Config) ->
    ok = module(Config, shop_a, [], "f(P) -> true = garbage_collect(P).\n"
                "g(P) -> _ = lists:seq(1, 1000), P.\n"),
    Log = filename:join(?config(dir, Config), "x.log"),
    #{status := 0, out := Out} =
        run(Config, ["trace", "-n", name(Config), "--events", "40", "-o", Log,
                     "gc"]),
    Line = <<"gc (major|minor), [0-9.]+ .?s, [0-9.]+ → [0-9.]+ .?i?B$"/utf8>>,
    {match, Lines} = re:run(Out, Line, [global, multiline, unicode]),
    true = length(Lines) > 10,
    #{out := Json} = run(Config, ["merge", "--json", Log]),
    Items = ?LIB:json(Json),
    Ends = [I || #{<<"tag">> := T} = I <- Items,
                 string:find(T, "_end") =/= nomatch],
    true = length(Ends) >= length(Lines),
    Timed = [D || #{<<"duration_ns">> := D} <- Ends],
    true = length(Timed) >= length(Lines),
    [] = [D || D <- Timed, D =< 0],
    [_ | _] = [I || #{<<"tag">> := <<"gc_major_start">>} = I <- Items].

%% If lines were cut, a note at the end of the output says so. With --pretty, no line is cut.
lines(Config) ->
    ok = module(Config, shop_a, [debug_info], order()),
    Cut = ["--width", "45", "shop_a:f/1"],
    #{status := 0, out := Out, err := Err} = trace(Config, Cut),
    ok = has(Out, [<<"…\n"/utf8>>]),
    ok = has(Err, ["cut at", "--wrap", "--pretty"]),
    #{status := 0, err := Quiet} = trace(Config, ["-q" | Cut]),
    ok = has_not(Quiet, ["were cut"]),
    #{status := 0, out := Wrapped, err := None} = trace(Config, ["--wrap" | Cut]),
    ok = has_not(None, ["were cut"]),
    ok = has_not(Wrapped, [<<"…"/utf8>>]),
    #{status := 0, out := Pretty, err := None2} =
        trace(Config, ["--pretty" | Cut]),
    ok = has_not(None2, ["were cut"]),
    ok = has(Pretty, ["_a:f(\n          #order{\n            id = 7,\n"
                      "            'Item s' = [],\n            who = <"]).
