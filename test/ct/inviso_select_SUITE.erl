%% SPDX-License-Identifier: Apache-2.0
%% Tests how users select calls and messages on real nodes: by wildcards, by groups, and
%% by records of other modules. The same selectors work live and with logs. Also tests
%% small conveniences of the command.
-module(inviso_select_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([groups_are_listed/1, otp_and_many_functions_need_yes/1,
         code_that_is_loaded_later_is_traced/1,
         slow_calls_of_groups/1, records_of_other_modules/1,
         one_grammar_live_and_offline/1, receivers_by_name/1,
         a_log_beside_the_screen/1, unreachable_nodes_are_skipped/1,
         nodes_of_the_environment/1]).

-define(LIB, inviso_command_lib).
-define(CASE, inviso_command_case).

-import(inviso_command_case, [call/4, opts/1, name/1, has/2]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [groups_are_listed, otp_and_many_functions_need_yes,
     code_that_is_loaded_later_is_traced, slow_calls_of_groups,
     records_of_other_modules, one_grammar_live_and_offline,
     receivers_by_name, a_log_beside_the_screen,
     unreachable_nodes_are_skipped, nodes_of_the_environment].

init_per_suite(Config) -> ?CASE:init_suite(Config).

end_per_suite(Config) -> ?CASE:end_suite(Config).

init_per_testcase(Case, Config) -> ?CASE:init(Case, Config).

end_per_testcase(_Case, Config) -> ?CASE:stop(Config).

%% --- a shop -------------------------------------------------------------------

%% Starts an application `shop' with two modules.
shop(Config) ->
    ok = module(Config, shop_cart,
                "-behaviour(gen_server).\n"
                "-record(order, {id, qty = 1, who}).\n"
                "init(X) -> {ok, X}.\n"
                "handle_call(X, _, S) -> {reply, X, S}.\n"
                "handle_cast(_, S) -> {noreply, S}.\n"
                "add(#order{id = Id}) -> Id.\n"),
    ok = module(Config, shop_ship,
                "handle_call(_, _, _) -> {error, late}.\n"
                "ship(X) -> X.\n"),
    App = {application, shop, [{vsn, "1"}, {registered, []},
                               {modules, [shop_cart, shop_ship, shop_late]},
                               {applications, [kernel, stdlib]}]},
    ok = call(Config, application, load, [App]).

module(Config, Name, Text) -> ?CASE:module(Config, Name, [debug_info], Text).

run(Config, [Command | Args]) ->
    ?CASE:run(Config, [Command, "-n", name(Config) | Args]).

%% --- wildcards and groups -----------------------------------------------------

groups_are_listed(Config) ->
    ok = shop(Config),
    Dry = fun(Specs) -> run(Config, ["trace", "--dry-run" | Specs]) end,
    #{status := 0, out := Out, err := Err} =
        Dry(["shop_*:handle_*/3", "app(shop)",
             "behaviour(gen_server):handle_call/3", "shop_cart:handle_*"]),
    %% The numbers include module_info/0 and module_info/1 of both modules.
    ok = has(Out, ["10 functions,",
                   "shop_*:handle_*/3: 2 modules, 2 functions\n"
                   "    shop_cart: handle_call/3\n"
                   "    shop_ship: handle_call/3\n",
                   "app(shop): 2 modules, 10 functions",
                   "behaviour(gen_server):handle_call/3: 1 module, 1 function",
                   "shop_cart:handle_*: 1 module, 2 functions\n"
                   "    shop_cart: handle_call/3, handle_cast/2\n"]),
    ok = has(Err, ["1 module of app(shop) is not loaded",
                   "modules of kernel, stdlib and the VM, which are left out"]),
    #{status := 0, out := Json} = Dry(["--json", "shop_*:add/1"]),
    [#{<<"functions">> := 1,
       <<"list">> := [<<"shop_*:add/1: 1 module, 1 function">>,
                      <<"  shop_cart: add/1">>]}] = ?LIB:json(Json),
    [begin
         #{status := Status, err := Why} = Dry([Spec]),
         {Spec, ok} = {Spec, has(Why, [Words])}
     end || {Spec, Status, Words} <-
                [{"shap_*", 5, "shap_* selects no loaded module"},
                 {"shop_*:nosuch*", 5, "none of the 2 modules of shop_*"},
                 {"shop_cart:nosuch*", 5, "no function that matches"},
                 {"app(shp)", 5, "did you mean shop?"},
                 {"behaviour(nosuch)", 5, "selects no loaded module"},
                 {"shop_*:add(#order{})", 2, "write module#order{}"}]].

otp_and_many_functions_need_yes(Config) ->
    #{status := 2, err := Only} = run(Config, ["trace", "lists*:seq/2"]),
    ok = has(Only, ["lists* selects only modules of kernel, stdlib", "--yes"]),
    #{status := 2} = run(Config, ["trace", "app(stdlib)"]),
    #{status := 0, out := One} =
        run(Config, ["trace", "--dry-run", "--yes", "lists*:seq/2"]),
    ok = has(One, ["1 function,"]),
    %% The module shop_many has 9999 functions and two module_info functions: shop_* selects 10 001
    %% functions.
    ok = module(Config, shop_many,
                [["f", integer_to_list(N), "() -> ok.\n"]
                 || N <- lists:seq(1, 9999)]),
    #{status := 2, err := Many} = run(Config, ["trace", "shop_*"]),
    ok = has(Many, ["select 10001 functions; more than 10000 need --yes",
                    "--dry-run lists them"]),
    #{status := 0, out := Listed, err := Note} =
        run(Config, ["trace", "--dry-run", "shop_*"]),
    ok = has(Listed, ["shop_*: 1 module, 10001 functions"]),
    ok = has(Note, ["more than 10000 need --yes"]),
    ok = traced_with_yes(Config, 1).

%% Traces the functions for some seconds. If the node has not set all patterns in this time,
%% repeats it with more time. The exit status 5 means that there was no event.
traced_with_yes(Config, Seconds) when Seconds < 200 ->
    For = integer_to_list(Seconds) ++ "s",
    case run(Config, ["trace", "--yes", "--for", For, "shop_*"]) of
        #{status := 5} -> ok;
        #{err := Err} ->
            ok = has(Err, ["passed before anything was traced"]),
            traced_with_yes(Config, 6 * Seconds)
    end.

%% The trace includes modules that are loaded while it runs, and new functions of modules that are
%% loaded again.
code_that_is_loaded_later_is_traced(Config) ->
    ok = shop(Config),
    Cmd = ?LIB:start(opts(Config), ["trace", "-n", name(Config), "--for", "2m",
                                    "shop_*:handle_*", "app(shop):ship*"],
                     120000),
    ok = ?LIB:until_tracing(opts(Config), name(Config), Cmd),
    ok = module(Config, shop_late, "handle_late(X) -> X.\nother(X) -> X.\n"
                "ship_late(X) -> X.\n"),
    ok = module(Config, shop_other, "ship_other(X) -> X.\n"),
    ok = module(Config, shop_ship, "handle_call(_, _, _) -> ok.\n"
                "handle_new(X) -> X.\n"),
    Noted = fun(Words) ->
                    ?LIB:until(fun() -> string:find(?LIB:err(Cmd), Words)
                                            =/= nomatch
                               end)
            end,
    true = Noted("shop_late was loaded: 2 functions of it are traced"),
    true = Noted("shop_ship was loaded: 1 function of it is traced"),
    true = Noted("the trace patterns of shop_ship were gone"),
    _ = [call(Config, M, F, [Arg])
         || {M, F, Arg} <- [{shop_late, handle_late, 1}, {shop_late, other, 2},
                            {shop_late, ship_late, 3}, {shop_other, ship_other, 4},
                            {shop_ship, handle_new, 5}]],
    call(Config, shop_ship, handle_call, [6, 6, 6]),
    ?LIB:until(fun() -> string:find(?LIB:out(Cmd), "handle_call(6") =/= nomatch
               end),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0, out := Out, err := Err} = ?LIB:wait(Cmd, 30000),
    ok = has(Out, ["shop_late:handle_late(1)", "shop_late:ship_late(3)",
                   "shop_ship:handle_new(5)"]),
    [nomatch = string:find(Out, W) || W <- ["other(2)", "ship_other(4)"]],
    nomatch = string:find(Err, "shop_other").

%% The rules `failed' and `slow' apply to all functions that the group selects.
slow_calls_of_groups(Config) ->
    ok = shop(Config),
    [begin
         Cmd = ?LIB:start(opts(Config), ["trace", "-n", name(Config), "--events",
                                         "1", "--for", "2m" | Specs], 120000),
         ok = ?LIB:until_tracing(opts(Config), name(Config), Cmd),
         call(Config, shop_cart, handle_call, [x, y, z]),
         call(Config, shop_ship, handle_call, [1, 2, 3]),
         #{status := 0, out := Out} = ?LIB:wait(Cmd, 60000),
         {Specs, ok} = {Specs, has(Out, ["call shop_ship:handle_call(1,2,3) -> "
                                         "{error,late}"])},
         {Specs, nomatch} = {Specs, string:find(Out, "shop_cart")}
     end || Specs <- [["shop_*:handle_*/3 -> failed"],
                      ["app(shop):handle_call/3 -> failed;slow(0us)"],
                      ["app(shop) -> failed"]]],
    #{status := 2, err := Why} =
        run(Config, ["trace", "app(shop) -> failed", "lists:seq/2"]),
    ok = has(Why, ["without another SPEC"]).

%% --- records ------------------------------------------------------------------

records_of_other_modules(Config) ->
    ok = shop(Config),
    Order = fun(Id) -> {order, Id, 1, x} end,
    Traced =
        fun(Args) ->
                Cmd = ?LIB:start(opts(Config), ["trace", "-n", name(Config),
                                                "--events", "2", "--for", "2m"
                                                | Args], 120000),
                ok = ?LIB:until_tracing(opts(Config), name(Config), Cmd),
                _ = [call(Config, shop_ship, ship, [Order(I)]) || I <- [1, 2, 3]],
                _ = [call(Config, shop_ship, ship, [Order(I)]) || I <- [7, 7]],
                #{status := 0, out := Out} = ?LIB:wait(Cmd, 60000),
                ok = has(Out, ["shop_ship:ship(#order{id = 7,qty = 1,who = x})"]),
                nomatch = string:find(Out, "id = 2,")
        end,
    %% The record is not defined in the traced module. The node reads the definition from the module
    %% that the spec names.
    Traced(["shop_ship:ship(shop_cart#order{id = 7})"]),
    Traced(["shop_ship:ship(X) when shop_cart#order.id == 2, X#order.id == 7"]),
    Beam = filename:join(?config(dir, Config), "shop_cart.beam"),
    Traced(["--filter", "shop_ship:ship(#order{id = 7})", "--records", Beam,
            "shop_ship"]),
    #{status := 2, err := Why} =
        run(Config, ["trace", "--filter", "shop_ship:ship(#order{})", "x"]),
    ok = has(Why, ["the fields of #order{} are not known here",
                   "--records FILE"]),
    #{status := 2, err := NoBeam} =
        run(Config, ["trace", "--records", "/nosuch.hrl", "--filter", "x", "x"]),
    ok = has(NoBeam, ["/nosuch.hrl"]).

%% --- the same selectors, live and offline -------------------------------------

one_grammar_live_and_offline(Config) ->
    ok = shop(Config),
    Work = fun() ->
                   _ = [call(Config, shop_ship, ship, [X])
                        || X <- [1, 5, {order, 7, 1, x}, #{id => 7}, "abc"]],
                   _ = call(Config, shop_cart, handle_call, [a, b, c]),
                   _ = call(Config, shop_cart, handle_cast, [a, b]),
                   ok
           end,
    All = recorded(Config, "all", ["shop_*"], Work),
    [begin
         Live = recorded(Config, "one", [Spec], Work),
         Offline = ["--filter", Spec, All],
         Calls = calls(Config, [Live]),
         {Spec, N, Calls} = {Spec, length(Calls), calls(Config, Offline)}
     end || {Spec, N} <- [{"shop_ship:ship(N) when N > 3, is_integer(N); N == 1", 2},
                          {"shop_ship:ship(\"a\" ++ _)", 1},
                          {":shop_ship.ship(%{id: id}) when id in [7]", 1},
                          {"shop_*:handle_*(a, b, _)", 1},
                          {"shop_cart:handle_*", 2},
                          {"_:handle_cast/2", 1},
                          {"shop_ship:ship [{[{order,'$1','_','_'}],"
                           "[{'>','$1',6}],[]}]", 1}]],
    %% A filter with a wildcard is applied in the node.
    Filtered = ["shop_*", "--filter", "*_cart:handle_*(a, b, _)"],
    [_] = calls(Config, [recorded(Config, "one", Filtered, Work)]),
    #{status := 2, err := Refused} =
        run(Config, ["trace", "--records",
                     filename:join(?config(dir, Config), "shop_cart.erl")
                     | Filtered]),
    ok = has(Refused, ["cannot have a wildcard if --records is given"]),
    Hrl = filename:join(?config(dir, Config), "order.hrl"),
    ok = file:write_file(Hrl, "-record(order, {id, qty = 1 :: integer(), who}).\n"),
    [[_] = calls(Config, ["--filter", "shop_ship:ship(#order{id = 7})",
                          "--records", File, All])
     || File <- [Hrl, filename:join(?config(dir, Config), "shop_cart.beam"),
                 filename:join(?config(dir, Config), "shop_cart.erl")]],
    %% `inviso merge' accepts the directory of a recording.
    #{status := 0, out := Out} =
        ?LIB:run(opts(Config), ["merge", filename:dirname(All), "--filter",
                                "shop_*:ship/1"]),
    ok = has(Out, ["shop_ship:ship(5)"]),
    #{status := 1, err := Empty} =
        ?LIB:run(opts(Config), ["merge", ?config(dir, Config)]),
    ok = has(Empty, ["no *.log"]).

%% Records while Work runs. Returns the path of the log, which is the only file in its directory.
recorded(Config, Name, Specs, Work) ->
    Dir = filename:join(maps:get(home, ?config(node, Config)),
                        Name ++ integer_to_list(erlang:unique_integer([positive]))),
    #{status := 0} = run(Config, ["record", "--detach", "--for", "5m",
                                  "--name", Name | Specs]),
    ok = Work(),
    #{status := 0} = run(Config, ["fetch", "--stop", "-o", Dir, Name]),
    filename:join(Dir, name(Config) ++ "-" ++ Name ++ ".log").

%% Returns the calls that `inviso merge' shows, as {Function, Arguments}.
calls(Config, Args) ->
    #{out := Out} = ?LIB:run(opts(Config), ["merge", "--json" | Args]),
    [{F, A} || #{<<"tag">> := <<"call">>, <<"function">> := F, <<"args">> := A}
                   <- ?LIB:json(Out)].

%% A selector with a registered name selects the messages that are sent to the name. It also selects
%% those sent to the pid, if the log says which pid has the name.
receivers_by_name(Config) ->
    ok = shop(Config),
    Echo = call(Config, erlang, spawn, [timer, sleep, [infinity]]),
    Work = fun() ->
                   true = call(Config, erlang, register, [shop_echo, Echo]),
                   _ = [call(Config, erlang, send, [To, {ship, N}])
                        || {N, To} <- [{1, shop_echo}, {2, Echo}, {3, init},
                                       {4, {shop_echo,
                                            list_to_atom(name(Config))}}]],
                   ok
           end,
    Log = recorded(Config, "names", ["send", "procs"], Work),
    Sent = fun(Spec) ->
                   #{out := Out} = ?LIB:run(opts(Config), ["merge", "--json",
                                                           "--filter", Spec, Log]),
                   lists:sort([P || #{<<"payload">> := [P | _]} <- ?LIB:json(Out)])
           end,
    [<<"{ship,1}">>, <<"{ship,2}">>, <<"{ship,4}">>] =
        Sent("send(shop_echo, {ship, _})"),
    [<<"{ship,2}">>] = Sent("send(shop_echo, {ship, N}) when N rem 2 == 0, N < 4"),
    [<<"{ship,3}">>] = Sent("send(_, {ship, 3})"),
    [<<"shop_echo">>] =
        Sent("[{[_,register,'$1'],[{'==','$1',shop_echo}],[]}]").

%% --- conveniences -------------------------------------------------------------

a_log_beside_the_screen(Config) ->
    ok = shop(Config),
    Dir = maps:get(home, ?config(node, Config)),
    Log = filename:join(Dir, "beside.log"),
    Cmd = ?LIB:start(opts(Config), ["trace", "-n", name(Config), "-o", Log,
                                    "--events", "2", "--for", "2m",
                                    "shop_ship:ship/1 -> caller"], 120000),
    ok = ?LIB:until_tracing(opts(Config), name(Config), Cmd),
    _ = [call(Config, shop_ship, ship, [N]) || N <- [1, 2]],
    #{status := 0, out := Shown} = ?LIB:wait(Cmd, 60000),
    #{status := 0, out := Merged, err := <<>>} =
        ?LIB:run(opts(Config), ["merge", Log]),
    [ok = has(T, ["shop_ship:ship(1)", "shop_ship:ship(2)"])
     || T <- [Shown, Merged]],
    ok = has(Merged, ["2 events recorded, 0 lost"]),
    {ok, Info} = file:read_file_info(Log),
    8#600 = element(8, Info) band 8#777,
    #{status := 1, err := Why} = run(Config, ["trace", "-o", Log, "shop_ship"]),
    ok = has(Why, ["beside.log", "remove it, or give another name"]).

unreachable_nodes_are_skipped(Config) ->
    ok = shop(Config),
    [Alive | _] = string:split(name(Config), "@"),
    None = Alive ++ "none@" ++ lists:last(string:split(name(Config), "@")),
    #{status := 3} = run(Config, ["trace", "-n", None, "--dry-run", "shop_ship"]),
    #{status := 0, out := Out, err := Err} =
        run(Config, ["trace", "-n", None, "--skip-unreachable", "--dry-run",
                     "shop_ship"]),
    ok = has(Out, [name(Config)]),
    ok = has(Err, [None ++ ": skipped: "]),
    #{status := 3} =
        ?LIB:run(opts(Config), ["trace", "-n", None, "--skip-unreachable",
                                "--dry-run", "shop_ship"]).

nodes_of_the_environment(Config) ->
    ok = shop(Config),
    Env = fun(Value) -> (opts(Config))#{env => [{"INVISO_NODE", Value}]} end,
    #{status := 0, out := Out} =
        ?LIB:run(Env(name(Config)), ["trace", "--dry-run", "shop_ship"]),
    ok = has(Out, [name(Config)]),
    #{status := 0} =
        ?LIB:run(Env("nosuch@nosuch"), ["trace", "-n", name(Config), "--dry-run",
                                        "shop_ship"]),
    #{status := 2, err := Err} =
        ?LIB:run(Env("a@b@c"), ["trace", "--dry-run", "shop_ship"]),
    ok = has(Err, ["INVISO_NODE: "]).
