%% SPDX-License-Identifier: Apache-2.0
%% Meta tracing: the functions in the manual of the original Inviso, with their
%% results and errors.
-module(inviso_meta_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([init_tpm_and_ctpm/1,
         tpm/1,
         call_and_return_functions/1,
         functions_as_the_manual_said/1,
         tpm_ms_and_ctpm_ms/1,
         tpm_tracer/1,
         tpm_ms_tracer/1,
         tpm_localnames/1,
         tpm_globalnames/1,
         within_the_meta_tracer/1,
         write_ti/1,
         metacast/1,
         public_loop_data/1,
         standard_loop_data/1,
         ti_specifications/1,
         ti_alone/1,
         relay/1,
         functions_that_crash/1,
         side_effects/1,
         suspend/1,
         a_flood_is_bounded/1,
         a_function_that_hangs/1,
         a_meta_tracer_that_dies/1,
         a_meta_tracer_that_dies_leaves_others/1,
         patterns_of_others/1,
         the_module_itself/1]).

%% A test case calls this function on the traced node.
-export([other_session/0]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_meta_probe, [told/1, run/2, run/3]).

-define(P, inviso_meta_probe).
-define(NAMES, {inviso_meta_probe, assoc, 2}).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [init_tpm_and_ctpm,
     tpm,
     call_and_return_functions,
     functions_as_the_manual_said,
     tpm_ms_and_ctpm_ms,
     tpm_tracer,
     tpm_ms_tracer,
     tpm_localnames,
     tpm_globalnames,
     within_the_meta_tracer,
     write_ti,
     metacast,
     public_loop_data,
     standard_loop_data,
     ti_specifications,
     ti_alone,
     relay,
     functions_that_crash,
     side_effects,
     suspend,
     a_flood_is_bounded,
     a_function_that_hangs,
     a_meta_tracer_that_dies,
     a_meta_tracer_that_dies_leaves_others,
     patterns_of_others,
     the_module_itself].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N1 = inviso_test_lib:shared_node(meta1, Dir),
    N2 = [inviso_test_lib:start_stock_node(meta2, Dir) || not lists:member(Case, of_one_node())],
    ok = inviso_test_lib:connect([N1 | N2]),
    [ok = ?P:load(N) || N <- [N1 | N2]],
    [{nodes, [N1 | N2]} | Config].

%% The cases that need only the node with the control component.
of_one_node() ->
    [call_and_return_functions, functions_as_the_manual_said, within_the_meta_tracer,
     public_loop_data, standard_loop_data, ti_alone, functions_that_crash, side_effects,
     a_flood_is_bounded, a_function_that_hangs, a_meta_tracer_that_dies,
     a_meta_tracer_that_dies_leaves_others, patterns_of_others, the_module_itself].

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || N <- ?config(nodes, Config)],
    ok.

%% --- functions that are meta traced -----------------------------------------

init_tpm_and_ctpm(Config) ->
    {N1, Node1, _N2, Node2} = tracing(Config),
    {ok, [{Node1, ok}, {Node2, ok}]} =
        inviso(N1, init_tpm, [?P, assoc, 2, {?P, call}]),
    {ok, [{Node2, {error, already_initiated}}]} =
        inviso(N1, init_tpm, [[Node2], ?P, assoc, 2, void]),
    All = [{?P, init}, {?P, call}, {?P, return}, {?P, remove}],
    {ok, [{Node1, ok}, {Node2, ok}]} =
        inviso(N1, init_tpm, [?P, other, 1 | All]),
    {ok, [{Node1, ok}, {nowhere@nohost, {error, not_an_added_node}}]} =
        inviso(N1, init_tpm, [[Node1, nowhere@nohost], ?P, fails, 1 | All]),
    [{ok, [{Node1, {error, bad_mfa}}]} =
         inviso(N1, init_tpm, [[Node1], M, F, A, void])
     || {M, F, A} <- [{'_', f, 1}, {m, '_', 1}, {m, f, '_'}, {m, f, -1},
                      {"m", f, 1}]],
    [{ok, [{Node1, {error, badarg}}]} =
         inviso(N1, init_tpm, [[Node1], m, f, 1, Bad])
     || Bad <- [call, {?P, "call"}, fun erlang:node/0]],
    [{init, {?P, other, 1}, {{[], []}, []}},
     {init, {?P, fails, 1}, {{[], []}, []}}] = told(N1),
    %% init_tpm only prepares the functions: calls are not traced yet.
    run(N1, [self(), a]),
    {ok, [{Node1, ok}, {Node2, ok}]} = inviso(N1, ctpm, [?P, other, 1]),
    {ok, [{Node1, {error, bad_mfa}}, {Node2, {error, bad_mfa}}]} =
        inviso(N1, ctpm, [?P, other, 1]),
    {ok, [{Node1, ok}]} = inviso(N1, ctpm, [[Node1], ?P, fails, 1]),
    {ok, [{Node2, {error, bad_mfa}}]} =
        inviso(N1, ctpm, [[Node2], ?P, fails, 1]),
    [{remove, {?P, other, 1}, _}, {remove, {?P, fails, 1}, _}] =
        lists:nthtail(2, told(N1)),
    [{init, {?P, other, 1}, _}, {remove, {?P, other, 1}, _}] =
        told(hd(tl(?config(nodes, Config)))),
    %% The function can be prepared again.
    {ok, [{Node1, ok}]} = inviso(N1, init_tpm, [[Node1], ?P, fails, 1 | All]),
    stop(Config).

tpm(Config) ->
    {N1, Node1, N2, Node2} = tracing(Config),
    {ok, [{Node1, {error, not_initiated}}, {Node2, {error, not_initiated}}]} =
        inviso(N1, tpm, [?P, assoc, 2, []]),
    %% After init_tpm, tpm can be called repeatedly.
    {ok, _} = inviso(N1, init_tpm, [?P, assoc, 2, {?P, call}]),
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, tpm, [?P, assoc, 2, [{['_', b], [], []}]]),
    run(N1, [self(), a]),
    run(N1, [self(), b]),
    {ok, [{Node1, {ok, 1}}]} = inviso(N1, tpm, [[Node1], ?P, assoc, 2, true]),
    P = run(N1, [self(), c]),
    wait_until(fun() -> length(told(N1)) =:= 2 end),
    Self = self(),
    [{call, _, [Self, b], _, _}, {call, P, [Self, c], {_, _, _}, _}] =
        told(N1),
    %% An invalid match spec changes nothing.
    [{ok, [{Node1, {ok, 0}}]} = inviso(N1, tpm, [[Node1], ?P, assoc, 2, Bad])
     || Bad <- [[{['_', '_'], [{no_such_guard}], []}], [x], false, x]],
    run(N1, [self(), d]),
    wait_until(fun() -> length(told(N1)) =:= 3 end),
    %% The forms of tpm that take callbacks also do the work of init_tpm. So they refuse a function
    %% for which init_tpm was called already.
    {ok, [{Node1, {error, already_initiated}}, {Node2, _}]} =
        inviso(N1, tpm, [?P, assoc, 2, [], {?P, call}]),
    {ok, [{Node2, {ok, 1}}]} =
        inviso(N1, tpm, [[Node2], ?P, other, 1, [], {?P, call}]),
    run(N2, other, [x]),
    wait_until(fun() -> told(N2) =/= [] end),
    [{call, _, [x], _, _}] = told(N2),
    All = [{?P, init}, {?P, call}, {?P, return}, {?P, remove}],
    {ok, [{Node1, {ok, 1}}, {Node2, {error, already_initiated}}]} =
        inviso(N1, tpm, [?P, other, 1, [] | All]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, fails, 1, [] | All]),
    %% A function that does not exist is not initiated.
    {ok, [{Node1, {ok, 0}}, {Node2, {ok, 0}}]} =
        inviso(N1, tpm, [?P, no_such, 2, [] | All]),
    {ok, [{Node1, {error, bad_mfa}}]} =
        inviso(N1, ctpm, [[Node1], ?P, no_such, 2]),
    [{ok, [{Node1, {error, badarg}}]} =
         inviso(N1, tpm, [[Node1], M, F, A, [], void])
     || {M, F, A} <- [{'_', f, 1}, {m, '_', 1}, {m, f, '_'}]],
    {ok, [{Node1, {error, badarg}}]} =
        inviso(N1, tpm, [[Node1], ?P, loop, 2, [], not_a_function]),
    %% A meta tracer exists only while the node traces and has a ti file.
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, {error, no_metatracer}}, {Node2, {error, no_metatracer}}]} =
        inviso(N1, tpm, [?P, assoc, 2, [], void]),
    {ok, _} = inviso(N1, init_tracing, [{file, "b.log"}]),
    {ok, [{Node1, {error, no_metatracer}}, {Node2, {error, no_metatracer}}]} =
        inviso(N1, tpm, [?P, assoc, 2, [], void]),
    {ok, _} = inviso(N1, stop_all, []),
    %% The VM has no meta patterns any more.
    [] = [I || N <- [N1, N2], F <- [assoc, other, fails],
               {meta, I} <- [call(N, erlang, trace_info,
                                  [{?P, F, arity(F)}, meta])],
               I =/= false].

arity(assoc) -> 2;
arity(_) -> 1.

%% For each call and return of a traced function, the meta tracer calls functions of the user.
%% Checks the arguments of the user's functions, and the effects of the terms that they return.
call_and_return_functions(Config) ->
    {N1, Node1} = tracing(Config),
    Functions = [{?P, init}, {?P, call}, {?P, return}, {?P, remove}],
    Traced = [{'_', [], [{exception_trace}]}],
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [?P, assoc, 2, Traced | Functions]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [?P, fails, 1, Traced, void,
                         fun ?P:call/3, fun ?P:return/3, void]),
    P = run(N1, [self(), ref]),
    Q = run(N1, failing, [why]),
    wait_until(fun() -> length(told(N1)) =:= 5 end),
    Self = self(),
    Publ = {{[], []}, []},
    [{init, ?NAMES, Publ},
     {call, P, [Self, ref], TS1, Publ},
     {return_from, P, {assoc, Self, ref}, TS2, Publ},
     {call, Q, [why], TS3, Publ},
     {exception_from, Q, {error, {failed, why}}, TS4, Publ}] = told(N1),
    true = TS1 =< TS2 andalso TS2 =< TS3 andalso TS3 =< TS4,
    {ok, _} = inviso(N1, stop_tracing, []),
    {remove, ?NAMES, Publ} = lists:last(told(N1)),
    Return = {P, {return_from, {assoc, Self, ref}}, alias, TS2},
    Exception = {Q, {exception_from, {error, {failed, why}}}, alias, TS4},
    [{_, {init, assoc}, alias, _}, {P, {called, [Self, ref]}, alias, TS1},
     Return, Return, {Q, {called, [why]}, alias, TS3}, Exception,
     Exception] = ti(N1, "a.ti"),
    stop(Config).

%% In the manual of the original Inviso, call and return functions have fewer arguments: the kind of
%% event and its time are missing. Functions with fewer arguments work, too.
functions_as_the_manual_said(Config) ->
    {N1, Node1} = tracing(Config),
    Call = fun(Pid, [X], Publ) ->
                   {ok, Publ, term_to_binary({Pid, X, alias,
                                              erlang:timestamp()})}
           end,
    Return = fun(Pid, Value, Publ) when element(1, Value) =:= other ->
                     {ok, Publ, term_to_binary({Pid, Value, alias,
                                                erlang:timestamp()})}
             end,
    true = code_of(?MODULE, N1),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [?P, other, 1, [{'_', [], [{return_trace}]}],
                         void, Call, Return, void]),
    P = run(N1, other, [x]),
    {ok, _} = inviso(N1, stop_tracing, []),
    [{P, x, alias, _}, {P, {other, x}, alias, _}] = ti(N1, "a.ti"),
    stop(Config).

code_of(Module, N) ->
    {Module, Bin, File} = code:get_object_code(Module),
    {module, Module} =:= call(N, code, load_binary, [Module, File, Bin]).

%% Tests tpm_ms/5,6 and ctpm_ms/4,5. The match spec that was set last is tried
%% first.
tpm_ms_and_ctpm_ms(Config) ->
    {N1, Node1, N2, Node2} = tracing(Config),
    {ok, [{Node1, {error, not_initiated}}, {Node2, {error, not_initiated}}]} =
        inviso(N1, tpm_ms, [?P, other, 1, name, []]),
    {ok, [{Node1, ok}, {Node2, ok}]} =
        inviso(N1, ctpm_ms, [?P, other, 1, name]),
    {ok, _} = inviso(N1, init_tpm, [?P, other, 1, {?P, call}]),
    Says = fun(Match, What) -> [{[Match], [], [{message, What}]}] end,
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, tpm_ms, [?P, other, 1, all, []]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm_ms, [[Node1], ?P, other, 1, {not_a},
                            Says(a, false)]),
    run(N1, other, [a]),
    run(N2, other, [a]),
    run(N1, other, [b]),
    wait_until(fun() -> {length(told(N1)), length(told(N2))} =:= {1, 1} end),
    [{call, _, [b], _, _}] = told(N1),
    %% A match spec with an error is not stored.
    {ok, [{Node1, {ok, 0}}]} =
        inviso(N1, tpm_ms, [[Node1], ?P, other, 1, bad, [{x}]]),
    [all, {not_a}] = names(N1),
    %% If a match spec with an existing name is set again, it becomes the first one that is tried.
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, tpm_ms, [?P, other, 1, all, []]),
    [{not_a}, all] = names(N1),
    run(N1, other, [a]),
    wait_until(fun() -> length(told(N1)) =:= 2 end),
    {ok, [{Node1, ok}]} = inviso(N1, ctpm_ms, [[Node1], ?P, other, 1, all]),
    run(N1, other, [a]),
    run(N1, other, [c]),
    {ok, [{Node1, ok}, {Node2, ok}]} =
        inviso(N1, ctpm_ms, [?P, other, 1, {not_a}]),
    {ok, [{Node1, ok}, _]} = inviso(N1, ctpm_ms, [?P, other, 1, no_such]),
    [] = names(N1),
    2 = length(told(N1)),
    %% After the last named match spec is removed, the function is still initialized. The function
    %% can now have a match spec without a name, and others with names.
    {ok, [{Node1, {ok, 1}}, _]} = inviso(N1, tpm, [?P, other, 1, []]),
    {ok, [{Node1, {ok, 1}}, _]} =
        inviso(N1, tpm_ms, [?P, other, 1, not_a, Says(a, false)]),
    run(N1, other, [a]),
    run(N1, other, [d]),
    wait_until(fun() -> length(told(N1)) =:= 3 end),
    stop(Config).

names(N) ->
    {ok, State, _} = call(N, inviso_rt_meta, get_state, [inviso_rt_meta]),
    Fn = maps:get({?P, other, 1}, functions(State)),
    lists:reverse([Name || {{named, Name}, _} <- element(3, Fn)]).

functions(State) ->
    [Fns] = [E || E <- tuple_to_list(State), is_map(E),
                  is_map_key({?P, other, 1}, E)],
    Fns.

%% Tests tpm_tracer/4,5,6,8,9. Each process that calls the function is traced
%% from this call on.
tpm_tracer(Config) ->
    {N1, Node1, _, Node2} = tracing(Config),
    {ok, _} = inviso(N1, tpl, [?P, other, 1, []]),
    On = [{['_', on], [], [{trace, [], [call, timestamp]}]},
          {['_', off], [], [{trace, [all], []}]}],
    {ok, [{Node1, {error, not_initiated}}, _]} =
        inviso(N1, tpm_tracer, [?P, assoc, 2, On]),
    {ok, _} = inviso(N1, init_tpm, [[Node1], ?P, assoc, 2, {?P, call}]),
    {ok, [{Node1, {ok, 1}}, {Node2, {error, not_initiated}}]} =
        inviso(N1, tpm_tracer, [?P, assoc, 2, On]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm_tracer, [[Node1], ?P, assoc, 2, On]),
    {ok, [{Node2, {ok, 1}}]} =
        inviso(N1, tpm_tracer, [[Node2], ?P, assoc, 2, On, {?P, call}]),
    {ok, [{Node1, {error, already_initiated}}, _]} =
        inviso(N1, tpm_tracer, [?P, assoc, 2, On, {?P, call}]),
    Functions = [void, {?P, call}, void, void],
    {ok, [{Node1, {error, already_initiated}}, _]} =
        inviso(N1, tpm_tracer, [?P, assoc, 2, On | Functions]),
    {ok, [{Node1, {error, badarg}}]} =
        inviso(N1, tpm_tracer, [[Node1], ?P, assoc, '_', On | Functions]),
    P = run(N1, loop, [on, 3]),
    Q = run(N1, loop, [none, 3]),
    %% P and Q both call the function, but the match spec matches only the calls of P.
    wait_until(fun() -> length(told(N1)) =:= 1 end),
    [{call, P, [P, on], _, _}] = told(N1),
    {ok, _} = inviso(N1, stop_tracing, []),
    Lines = merged(N1, Node1),
    3 = length(Lines),
    [true = string:find(L, pid_text(N1, P)) =/= nomatch || L <- Lines],
    [] = [L || L <- Lines, string:find(L, pid_text(N1, Q)) =/= nomatch],
    stop(Config).

tpm_ms_tracer(Config) ->
    {N1, Node1, _, Node2} = tracing(Config),
    {ok, _} = inviso(N1, tpl, [?P, other, 1, []]),
    On = [{['_', on], [], [{trace, [], [call, timestamp]}]}],
    {ok, [{Node1, {error, not_initiated}}, {Node2, {error, not_initiated}}]} =
        inviso(N1, tpm_ms_tracer, [?P, assoc, 2, on, On]),
    {ok, _} = inviso(N1, init_tpm, [?P, assoc, 2, {?P, call}]),
    {ok, _} = inviso(N1, tpm_ms, [?P, assoc, 2, any, []]),
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, tpm_ms_tracer, [?P, assoc, 2, on, On]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm_ms_tracer, [[Node1], ?P, assoc, 2, on, On]),
    {ok, [{Node1, {ok, 0}}]} =
        inviso(N1, tpm_ms_tracer, [[Node1], ?P, assoc, 2, on, [x]]),
    P = run(N1, loop, [on, 2]),
    Q = run(N1, loop, [other, 2]),
    wait_until(fun() -> length(told(N1)) =:= 2 end),
    [{call, P, [P, on], _, _}, {call, Q, [Q, other], _, _}] = told(N1),
    %% Without the match spec, calls no longer set flags.
    {ok, [{Node1, ok}, _]} = inviso(N1, ctpm_ms, [?P, assoc, 2, on]),
    R = run(N1, loop, [on, 2]),
    wait_until(fun() -> length(told(N1)) =:= 3 end),
    {ok, _} = inviso(N1, stop_tracing, []),
    Lines = merged(N1, Node1),
    2 = length([L || L <- Lines, string:find(L, pid_text(N1, P)) =/= nomatch]),
    [] = [L || L <- Lines, X <- [Q, R],
               string:find(L, pid_text(N1, X)) =/= nomatch],
    stop(Config).

%% --- names ------------------------------------------------------------------

tpm_localnames(Config) ->
    {N1, Node1, N2, Node2} = tracing(Config),
    Sleeper = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    {ok, [{Node1, {{error, bad_mfa}, {error, bad_mfa}}}]} =
        inviso(N1, ctpm_localnames, [[Node1]]),
    {ok, [{Node1, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_localnames, [[Node1]]),
    Again = {{error, already_initiated}, {error, already_initiated}},
    {ok, [{Node1, Again}, {Node2, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_localnames, []),
    true = call(N1, erlang, register, [me, Sleeper]),
    badarg = failure(N1, erlang, register, [me, Sleeper]),
    true = call(N1, erlang, unregister, [me]),
    true = call(N1, erlang, register, [me_too, Sleeper]),
    {ok, [{Node1, {ok, ok}}, {Node2, {ok, ok}}]} =
        inviso(N1, ctpm_localnames, []),
    true = call(N1, erlang, unregister, [me_too]),
    {ok, _} = inviso(N1, stop_tracing, []),
    Ti = ti(N1, "a.ti"),
    Init = call(N1, erlang, whereis, [init]),
    %% `init' was registered before tpm_localnames/1 was called.
    [{Init, init, alias, T0}] = [E || {_, init, _, _} = E <- Ti],
    [{Sleeper, me, alias, T1}, {undefined, me, unalias, T2}] =
        [E || {_, me, _, _} = E <- Ti],
    [{Sleeper, me_too, alias, T3}] = [E || {_, me_too, _, _} = E <- Ti],
    true = T0 =< T1 andalso T1 < T2 andalso T2 < T3,
    [] = [E || {_, me, _, _} = E <- ti(N2, "a.ti")],
    stop(Config).

failure(N, M, F, Args) ->
    try call(N, M, F, Args) of
        Other -> {answered, Other}
    catch
        error:Reason -> Reason
    end.

%% Tests tpm_globalnames/0,1 and ctpm_globalnames/0,1. A global name is written only to the ti file
%% of the node on which its process runs.
tpm_globalnames(Config) ->
    {N1, Node1, N2, Node2} = tracing(Config),
    Old = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    yes = call(N1, global, register_name, [old, Old]),
    {ok, [{Node1, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_globalnames, [[Node1]]),
    Again = {{error, already_initiated}, {error, already_initiated}},
    {ok, [{Node1, Again}, {Node2, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_globalnames, []),
    New = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    yes = call(N1, global, register_name, [{new, 1}, New]),
    _ = call(N1, global, unregister_name, [{new, 1}]),
    wait_until(fun() -> [x || {P, _, unalias, _} <- ti(N1, "a.ti"),
                              P =:= New] =/= [] end),
    {ok, [{Node1, {ok, ok}}, {Node2, {ok, ok}}]} =
        inviso(N1, ctpm_globalnames, []),
    {ok, [{Node2, {{error, bad_mfa}, {error, bad_mfa}}}]} =
        inviso(N1, ctpm_globalnames, [[Node2]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    Ti = ti(N1, "a.ti"),
    [{Old, {global, old}, alias, _}] = [E || {P, _, _, _} = E <- Ti, P =:= Old],
    [{New, {global, {new, 1}}, alias, T1},
     {New, {global, {new, 1}}, unalias, T2}] =
        [E || {P, _, _, _} = E <- Ti, P =:= New],
    true = T1 < T2,
    [] = [E || {_, {global, _}, _, _} = E <- ti(N2, "a.ti")],
    stop(Config).

%% --- called by the user's functions ------------------------------------------

%% Tests get_tracer/0, tpm_ms/5, tpm_ms_tracer/5, ctpm_ms/4 and list_tpm_ms/3,
%% which only the meta tracer may call.
within_the_meta_tracer(Config) ->
    {N1, _Node1} = tracing(Config),
    true = code_of(?MODULE, N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, ask}]),
    Ask = fun(F) ->
                  ok = ?P:forget(N1),
                  run(N1, [F, x]),
                  wait_until(fun() -> told(N1) =/= [] end),
                  [{answer, Answer}] = told(N1),
                  Answer
          end,
    {inviso_tracer, _} = Ask(fun inviso_rt_meta:get_tracer/0),
    Meta = fun(F, Args) ->
                   Ask(fun() -> apply(inviso_rt_meta, F, Args) end)
           end,
    {error, not_initiated} = Meta(tpm_ms, [?P, other, 1, n, []]),
    {error, not_initiated} = Meta(list_tpm_ms, [?P, other, 1]),
    {error, not_initiated} = Meta(tpm_ms_tracer, [?P, other, 1, n, []]),
    ok = Meta(ctpm_ms, [?P, other, 1, n]),
    {ok, _} = inviso(N1, init_tpm, [?P, other, 1, {?P, call}]),
    {ok, []} = Meta(list_tpm_ms, [?P, other, 1]),
    {ok, 1} = Meta(tpm_ms, [?P, other, 1, n, []]),
    {ok, 0} = Meta(tpm_ms, [?P, other, 1, m, x]),
    {ok, 1} = Meta(tpm_ms_tracer, [?P, other, 1, {m}, []]),
    {ok, [{m}, n]} = Meta(list_tpm_ms, [?P, other, 1]),
    ok = ?P:forget(N1),
    run(N1, other, [x]),
    wait_until(fun() -> told(N1) =/= [] end),
    ok = Meta(ctpm_ms, [?P, other, 1, n]),
    ok = Meta(ctpm_ms, [?P, other, 1, {m}]),
    {ok, []} = Meta(list_tpm_ms, [?P, other, 1]),
    ok = ?P:forget(N1),
    run(N1, other, [x]),
    [] = told(N1),
    %% Only the meta tracer is allowed to call these functions.
    [not_in_the_meta_tracer = failure(N1, inviso_rt_meta, F, Args)
     || {F, Args} <- [{get_tracer, []}, {tpm_ms, [?P, other, 1, n, []]},
                      {tpm_ms_tracer, [?P, other, 1, n, []]},
                      {ctpm_ms, [?P, other, 1, n]},
                      {list_tpm_ms, [?P, other, 1]}]],
    stop(Config).

write_ti(Config) ->
    {N1, _Node1, N2, _} = tracing(Config),
    Bin = term_to_binary({self(), x, alias, erlang:timestamp()}),
    ok = call(N1, inviso_rt_meta, write_ti, [Bin]),
    ok = call(N1, inviso_rt_meta, write_ti, [[Bin, Bin]]),
    [ok = call(N1, inviso_rt_meta, write_ti, [Nothing])
     || Nothing <- [[], void, [x], [Bin | x]]],
    {ok, _} = inviso(N1, stop_tracing, []),
    Record = binary_to_term(Bin),
    [Record, Record, Record] = ti(N1, "a.ti"),
    [] = ti(N2, "a.ti"),
    {error, no_metatracer} = call(N1, inviso_rt_meta, write_ti, [Bin]),
    stop(Config).

%% Tests metacast_call/5 and metacast_return_from/6.
metacast(Config) ->
    {N1, Node1, N2, Node2} = tracing(Config),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], void, {?P, call},
                               {?P, return}, void]),
    P = self(),
    ok = call(N1, inviso_rt_meta, metacast_call,
              [[Node1, Node2, nowhere@nohost], P, ?P, assoc, [a, b]]),
    wait_until(fun() -> length(told(N1)) + length(told(N2)) =:= 2 end),
    [{call, P, [a, b], void, _}] = told(N1),
    [{call, P, [a, b], void, _}] = told(N2),
    ok = call(N1, inviso_rt_meta, metacast_return_from,
              [[Node2], P, ?P, assoc, 2, value]),
    wait_until(fun() -> length(told(N2)) =:= 2 end),
    [_, {return_from, P, value, void, _}] = told(N2),
    %% The function m:f is not meta traced, so the call has no effect.
    ok = call(N1, inviso_rt_meta, metacast_call, [[Node1], P, m, f, []]),
    %% A simulated call of register/2 makes the same entry as a real call.
    {ok, _} = inviso(N1, tpm_localnames, []),
    ok = call(N1, inviso_rt_meta, metacast_call,
              [[Node1], P, erlang, register, [alien, P]]),
    ok = call(N1, inviso_rt_meta, metacast_return_from,
              [[Node1], P, erlang, register, 2, true]),
    {ok, _} = inviso(N1, stop_tracing, []),
    [{P, alien, alias, {_, _, _}}] =
        [E || {_, alien, _, _} = E <- ti(N1, "a.ti")],
    stop(Config).

%% --- public loop data -------------------------------------------------------

public_loop_data(Config) ->
    {N1, Node1} = added(Config),
    Spec = {{?P, publ_new, [arg]}, {?P, publ_remove}, {?P, publ_clean}},
    Td = [{trace, {file, "a.log"}}, {ti, {file, "a.ti", Spec}}],
    {ok, [{Node1, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, init_tracing, [Td]),
    {ok, _, {[], arg}} = state(N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, call}]),
    run(N1, [a, b]),
    wait_until(fun() -> length(told(N1)) =:= 2 end),
    [{publ_new, arg}, {call, _, _, _, {[], arg}}] = told(N1),
    %% The meta tracer sends itself the message `clean' each minute.
    clean = call(N1, erlang, send, [inviso_rt_meta, clean]),
    {ok, _, {cleaned, {[], arg}}} = state(N1),
    {publ_clean, {[], arg}} = lists:last(told(N1)),
    {ok, _} = inviso(N1, stop_tracing, []),
    {publ_remove, {cleaned, {[], arg}}} = lists:last(told(N1)),
    %% The loop data (the state that the user's functions make) is no tuple here, so names cannot be
    %% stored in it. The names of processes are still recorded.
    {ok, _} = inviso(N1, init_tracing,
                     [[{trace, {file, "b.log"}},
                       {ti, {file, "b.ti", {{?P, publ_none, []}, void,
                                            void}}}]]),
    clean = call(N1, erlang, send, [inviso_rt_meta, clean]),
    {ok, _} = inviso(N1, tpm_localnames, []),
    P = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    true = call(N1, erlang, register, [named, P]),
    {ok, _, no_tuple} = state(N1),
    {ok, _} = inviso(N1, stop_tracing, []),
    [{P, named, alias, _}] = [E || {_, named, _, _} = E <- ti(N1, "b.ti")],
    stop(Config).

%% Tests init_std_publld/2 and clean_std_publld/1.
standard_loop_data(Config) ->
    {{[], []}, []} = inviso_rt_meta:init_std_publld(2, []),
    {{[], [], []}, global} = inviso_rt_meta:init_std_publld(3, global),
    Now = erlang:timestamp(),
    {M, S, U} = Now,
    Old = {M, S - 31, U},
    New = {M, S - 20, U},
    [{{[{a, New}], [x, {b, void}]}, g}, {[{a, New}], []}] =
        [inviso_rt_meta:clean_std_publld(L)
         || L <- [{{[{a, New}, {b, Old}], [x, {b, void}, {c, Old}]}, g},
                  {[{a, New}], [{d, Old}]}]],
    [Other = inviso_rt_meta:clean_std_publld(Other)
     || Other <- [x, [], #{}, {}, {x, y}]],
    %% While a call of register/2 has not returned, it is in the first list of the loop data (the
    %% meta tracer's state).
    {N1, _} = tracing(Config),
    {ok, _} = inviso(N1, tpm_localnames, []),
    P = self(),
    ok = call(N1, inviso_rt_meta, metacast_call,
              [[maps:get(name, N1)], P, erlang, register, [x, P]]),
    wait_until(fun() ->
                       {ok, _, {{Pending, []}, []}} = state(N1),
                       Pending =:= [{P, {x, P}, void}]
               end),
    stop(Config).

state(N) -> call(N, inviso_rt_meta, get_state, [inviso_rt_meta]).

%% --- trace information ------------------------------------------------------

%% Uses all forms of {ti, _}: first one form for all nodes, and then one for each node.
ti_specifications(Config) ->
    {N1, Node1, N2, Node2} = added(Config),
    Spec = {{inviso_rt_meta, init_std_publld, [3, x]}, void,
            {inviso_rt_meta, clean_std_publld}},
    Trace = {trace, {file, "a.log"}},
    Ok = {ok, [{trace_log, ok}, {ti_log, ok}]},
    {ok, [{Node1, Ok}, {Node2, Ok}]} =
        inviso(N1, init_tracing, [[{ti, {file, "a.ti", Spec}}, Trace]]),
    {ok, _, {{[], [], []}, x}} = state(N2),
    {ok, [{Node2, {ok, [_, {ti_log, ".", ["a.ti"]}]}}]} =
        inviso(N1, list_logs, [[Node2]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node1, Ok}, {Node2, Ok}]} =
        inviso(N1, init_tracing,
               [[{Node1, [Trace, {ti, {file, "b.ti", Spec}}]},
                 {Node2, [Trace, {ti, {file, "b.ti"}}]}]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    [{ok, [{Node1, {error, {bad_ti_td, Bad}}}]} =
         inviso(N1, init_tracing, [[Node1], [Trace, {ti, Bad}]])
     || Bad <- [x, {file, 1}, {file, "a", x}, {relay, "node"},
                {file, "a", {{m, f}, void, void}},
                {file, "a", {{m, f, []}, x, void}},
                {file, "a", {{m, f, []}, void, {m, f, a}}},
                {file, "a", {{m, f, [x | y]}, void, void}}]],
    %% If the ti file cannot be opened, tracing begins without it.
    Dir = filename:join(maps:get(dir, N1), "no/such/a.ti"),
    {ok, [{Node1, {ok, [{trace_log, ok},
                        {ti_log, {error, {open, [Dir, enoent]}}}]}}]} =
        inviso(N1, init_tracing, [[Node1], [Trace, {ti, {file, Dir}}]]),
    {ok, [{Node1, {error, no_metatracer}}]} =
        inviso(N1, tpm_localnames, [[Node1]]),
    {ok, [{Node1, {ok, {tracing, running}}}]} =
        inviso(N1, get_status, [[Node1]]),
    %% If the ti file's name is a symbolic link, the link is replaced by a new file, which only its
    %% owner can read.
    {ok, _} = inviso(N1, stop_tracing, []),
    Ti = filename:join(maps:get(dir, N1), "c.ti"),
    ok = file:make_symlink("victim", Ti),
    {ok, [{Node1, Ok}]} =
        inviso(N1, init_tracing, [[Node1], [Trace, {ti, {file, "c.ti"}}]]),
    {error, enoent} = file:read_file_info(filename:join(maps:get(dir, N1),
                                                        "victim")),
    {ok, Info} = file:read_file_info(Ti),
    8#600 = element(8, Info) band 8#777,
    stop(Config).

%% With {ti, _} but without {trace, _}, calls are meta traced, and no process is traced.
ti_alone(Config) ->
    {N1, Node1} = added(Config),
    Only = fun(TiTD) ->
                   {ok, [{Node1, Answer}]} =
                       inviso(N1, init_tracing, [[Node1], [{ti, TiTD}]]),
                   Answer
           end,
    {ok, [{ti_log, ok}]} = Only({file, "a.ti"}),
    {ok, [{Node1, {ok, {tracing, running}}}]} =
        inviso(N1, get_status, [[Node1]]),
    {ok, [{Node1, {error, no_tracer}}]} =
        inviso(N1, tf, [[Node1], all, [call]]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, assoc, 2, [], {?P, call}]),
    P = run(N1, [self(), a]),
    {ok, [{Node1, ok}]} = inviso(N1, flush, [[Node1]]),
    {ok, [{Node1, {ok, [{ti_log, ".", ["a.ti"]}]}}]} =
        inviso(N1, list_logs, [[Node1]]),
    {ok, [{Node1, {ok, idle}}]} = inviso(N1, stop_tracing, [[Node1]]),
    [{P, {called, [_, a]}, alias, _}] = ti(N1, "a.ti"),
    {ok, [{ti_log, {error, {open, [_, enoent]}}}]} =
        Only({file, "no/such/a.ti"}),
    {ok, [{Node1, {ok, {new, running}}}]} = inviso(N1, clear, [[Node1]]),
    stop(Config).

%% {ti, {relay, Node}}: trace information of one node goes into the ti file of
%% another node.
relay(Config) ->
    {N1, Node1, N2, Node2} = added(Config),
    Trace = {trace, {file, "a.log"}},
    Relay = [Trace, {ti, {relay, Node1}}],
    {ok, [{Node2, {ok, [_, {ti_log, {error, {relay, [Node1,
                                                     no_metatracer]}}}]}}]} =
        inviso(N1, init_tracing, [[Node2], Relay]),
    {ok, _} = inviso(N1, stop_tracing, []),
    {ok, [{Node2, {ok, [_, {ti_log, {error, {relay, [nowhere@nohost,
                                                     nodedown]}}}]}}]} =
        inviso(N1, init_tracing, [[Node2],
                                  [Trace, {ti, {relay, nowhere@nohost}}]]),
    {ok, _} = inviso(N1, stop_tracing, []),
    Sub = subscriber(N1),
    {ok, _} = inviso(N1, init_tracing,
                     [[Node1], [Trace, {ti, {file, "a.ti"}}]]),
    {ok, [{Node2, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, init_tracing, [[Node2], Relay]),
    {ok, [{Node2, {ok, [{trace_log, _, _}]}}]} =
        inviso(N1, list_logs, [[Node2]]),
    {ok, _} = inviso(N1, tpm, [[Node2], ?P, assoc, 2, [], {?P, call}]),
    P = run(N2, [self(), a]),
    wait_until(fun() -> length(ti(N1, "a.ti")) =:= 1 end),
    [{P, {called, [_, a]}, alias, _}] = ti(N1, "a.ti"),
    [] = [Name || Name <- element(2, file:list_dir(maps:get(dir, N2))),
                  filename:extension(Name) =:= ".ti"],
    %% The receiving node takes only a bounded number of entries. Further entries are lost and
    %% counted.
    run(N2, busy, [5000, b]),
    wait_until(fun() -> length(ti(N1, "a.ti")) > 1 end),
    {ok, _} = inviso(N1, stop_tracing, [[Node1]]),
    wait_until(fun() -> [x || {meta_down, N, {ti, _}} <- events(N1, Sub),
                              N =:= Node2] =/= [] end),
    %% The meta tracer continues, and calls the user's functions for later calls.
    run(N2, [self(), c]),
    wait_until(fun() -> [x || {call, _, [_, c], _, _} <- told(N2)] =/= [] end),
    stop(Config).

%% --- trouble ----------------------------------------------------------------

functions_that_crash(Config) ->
    {N1, Node1} = added(Config),
    Sub = subscriber(N1),
    Spec = {{?P, publ_crash, [1]}, {?P, publ_crash}, {?P, publ_crash}},
    {ok, [{Node1, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, init_tracing,
               [[Node1], [{trace, {file, "a.log"}},
                          {ti, {file, "a.ti", Spec}}]]),
    {ok, _, {error, init_publ_ld_func}} = state(N1),
    clean = call(N1, erlang, send, [inviso_rt_meta, clean]),
    {ok, _, {error, init_publ_ld_func}} = state(N1),
    Crash = {?P, crash},
    Traced = [{'_', [], [{return_trace}]}],
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, assoc, 2, Traced, Crash, Crash, Crash,
                         Crash]),
    Odd = {?P, odd},
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, other, 1, Traced, Odd, Odd, Odd, Odd]),
    [begin run(N1, [a, b]), run(N1, other, [a]) end || _ <- [1, 2, 3]],
    {ok, _, {error, init_publ_ld_func}} = state(N1),
    %% The meta tracer does not end when a process that is linked to it ends. A
    %% user's function may have started such a process.
    Meta = call(N1, erlang, whereis, [inviso_rt_meta]),
    true = call(N1, erlang, exit, [Meta, crash]),
    {ok, _, {error, init_publ_ld_func}} = state(N1),
    {ok, [{Node1, ok}]} = inviso(N1, ctpm, [[Node1], ?P, assoc, 2]),
    {ok, [{Node1, ok}]} = inviso(N1, ctpm, [[Node1], ?P, other, 1]),
    {ok, _} = inviso(N1, stop_tracing, [[Node1]]),
    Told = {error, told_to},
    Bad = {bad_return, odd},
    A = {?P, assoc, 2},
    O = {?P, other, 1},
    [{meta_init_publ, {{?P, publ_crash, [1]}, Told}},
     {meta_clean, {{?P, publ_crash}, Told}},
     {meta_init, {A, Told}}, {meta_init, {O, Bad}},
     {meta_call, {A, Told}}, {meta_return, {A, Told}},
     {meta_call, {O, Bad}}, {meta_return, {O, Bad}},
     {meta_remove, {A, Told}}, {meta_remove, {O, Bad}}] =
        [F || {callback_failed, N, F} <- events(N1, Sub), N =:= Node1,
              element(1, F) =/= meta_remove_publ],
    stop(Config).

%% The call function (the user's function that is called for each traced call) sets flags and
%% patterns on the node.
side_effects(Config) ->
    {N1, Node1} = tracing(Config),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, ask_rt}]),
    P = inviso_test_lib:spawn_call(N1, ?P, loop,
                                   [{patterns, local,
                                     [{?P, other, 1, []}], set}, 0]),
    wait_until(fun() -> [{answer, {ok, [1]}}] =:= told(N1) end),
    wait_until(fun() -> not call(N1, erlang, is_process_alive, [P]) end),
    ok = ?P:forget(N1),
    Q = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    run(N1, [x, {flags, true, [{Q, [call]}]}]),
    wait_until(fun() -> [{answer, {ok, [1]}}] =:= told(N1) end),
    %% A call function can even stop tracing.
    ok = ?P:forget(N1),
    run(N1, [x, stop_tracing]),
    wait_until(fun() -> inviso(N1, get_status, [[Node1]])
                            =:= {ok, [{Node1, {ok, {idle, running}}}]} end),
    stop(Config).

%% Suspending ends all meta tracing. The next tracing starts with new loop data (the state that the
%% user's functions make).
suspend(Config) ->
    {N1, Node1, N2, Node2} = added(Config),
    Spec = {{?P, publ_new, [arg]}, {?P, publ_remove}, void},
    {ok, _} = inviso(N1, init_tracing,
                     [[{trace, {file, "a.log"}}, {ti, {file, "a.ti", Spec}}]]),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], void, {?P, call}, void,
                               {?P, remove}]),
    {ok, _} = inviso(N1, tpm_localnames, []),
    ok = ?P:forget(N2),
    {ok, _} = inviso(N1, suspend, [why]),
    Publ = {[], arg},
    [{remove, ?NAMES, Publ}, {publ_remove, Publ}, {publ_new, arg}] = told(N2),
    run(N2, [a, b]),
    Args = [?P, assoc, 2],
    Suspended = {ok, [{Node1, {error, suspended}},
                      {Node2, {error, suspended}}]},
    [Suspended = inviso(N1, F, As)
     || {F, As} <- [{init_tpm, Args ++ [void]}, {tpm, Args ++ [[]]},
                    {tpm, Args ++ [[], void]}, {tpm_tracer, Args ++ [[]]},
                    {tpm_ms, Args ++ [n, []]}, {tpm_ms_tracer,
                                                Args ++ [n, []]},
                    {ctpm_ms, Args ++ [n]}, {ctpm, Args},
                    {tpm_localnames, []}, {ctpm_localnames, []},
                    {tpm_globalnames, []}, {ctpm_globalnames, []}]],
    {ok, _} = inviso(N1, cancel_suspension, []),
    {ok, [{Node1, {error, bad_mfa}}, {Node2, {error, bad_mfa}}]} =
        inviso(N1, ctpm, Args),
    {ok, [{Node1, {{ok, 1}, {ok, 1}}}, {Node2, {{ok, 1}, {ok, 1}}}]} =
        inviso(N1, tpm_localnames, []),
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, tpm, Args ++ [[], {?P, call}]),
    run(N2, [a, c]),
    wait_until(fun() -> length(told(N2)) =:= 4 end),
    {call, _, [a, c], _, Publ} = lists:last(told(N2)),
    stop(Config).

%% If calls are faster than the user's function, some calls are lost and
%% counted, and no mailbox grows without bound.
a_flood_is_bounded(Config) ->
    {N1, Node1} = tracing(Config),
    Sub = subscriber(N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, slow}]),
    _ = [inviso_test_lib:spawn_call(N1, ?P, busy, [1000000, x])
         || _ <- [1, 2]],
    Meta = call(N1, erlang, whereis, [inviso_rt_meta]),
    wait_until(fun() -> queue(N1, Meta) >= 9000 end),
    [begin
         timer:sleep(50),
         true = queue(N1, Meta) =< 10100
     end || _ <- lists:seq(1, 20)],
    wait_until(fun() -> counts(N1, Sub, Node1) =/= [] end),
    [#{produced := P, dropped := D, lost := #{full := D}} | _] =
        counts(N1, Sub, Node1),
    true = P > D,
    %% Requests are answered at once, although the calls in the mailbox take two
    %% seconds each.
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, other, 1, [], void]),
    {ok, [{Node1, {ok, idle}}]} = inviso(N1, stop_tracing, []),
    wait_until(fun() ->
                       #{lost := Lost} = lists:last(counts(N1, Sub, Node1)),
                       is_map_key(unhandled, Lost)
               end),
    stop(Config).

counts(N, Sub, Node) ->
    [C || {meta_counts, Who, C} <- events(N, Sub), Who =:= Node].

%% A function of the user, which the meta tracer calls, never returns.
a_function_that_hangs(Config) ->
    {N1, Node1} = tracing(Config),
    true = code_of(?MODULE, N1),
    Sub = subscriber(N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, ask}]),
    run(N1, [fun() -> timer:sleep(infinity) end, x]),
    %% The runtime component answers other requests meanwhile.
    {ok, [{Node1, {ok, {tracing, running}}}]} = inviso(N1, get_status, []),
    {ok, [{Node1, {ok, idle}}]} = inviso(N1, stop_tracing, []),
    undefined = call(N1, erlang, whereis, [inviso_rt_meta]),
    {ok, _} = inviso(N1, init_tracing,
                     [[{trace, {file, "b.log"}}, {ti, {file, "b.ti"}}]]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [?P, assoc, 2, [], {?P, ask}]),
    run(N1, [fun() -> timer:sleep(infinity) end, x]),
    {ok, [{Node1, ok}]} = inviso(N1, suspend, [why]),
    wait_until(fun() -> [x || {meta_down, N, {died, killed}}
                                  <- events(N1, Sub), N =:= Node1] =/= [] end),
    stop(Config).

a_meta_tracer_that_dies(Config) ->
    {N1, Node1} = tracing(Config),
    true = code_of(?MODULE, N1),
    Sub = subscriber(N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, ask}]),
    Meta = call(N1, erlang, whereis, [inviso_rt_meta]),
    %% The meta tracer dies during a request.
    run(N1, [fun() -> timer:sleep(1000), exit(self(), kill) end, x]),
    {ok, [{Node1, {error, no_metatracer}}]} =
        inviso(N1, tpm, [[Node1], ?P, other, 1, [], void]),
    false = call(N1, erlang, is_process_alive, [Meta]),
    wait_until(fun() -> [x || {meta_down, _, {died, killed}}
                                  <- events(N1, Sub)] =/= [] end),
    {ok, [{Node1, {error, no_metatracer}}]} =
        inviso(N1, ctpm, [[Node1], ?P, assoc, 2]),
    {ok, [{Node1, {ok, {tracing, running}}}]} = inviso(N1, get_status, []),
    run(N1, [x, x]),
    wait_until(fun() -> call(N1, erlang, trace_info, [?NAMES, meta])
                            =:= {meta, false} end),
    stop(Config).

%% If the meta tracer is killed, meta tracing of another session continues.
a_meta_tracer_that_dies_leaves_others(Config) ->
    {N1, _} = tracing(Config),
    true = code_of(?MODULE, N1),
    Other = inviso_test_lib:spawn_call(N1, ?MODULE, other_session, []),
    wait_until(fun() -> is_meta_traced(N1) end),
    Sub = subscriber(N1),
    {ok, _} = inviso(N1, tpm, [?P, assoc, 2, [], {?P, call}]),
    run(N1, [a, b]),
    wait_until(fun() -> queue(N1, Other) =:= 1 end),
    true = call(N1, erlang, exit, [call(N1, erlang, whereis, [inviso_rt_meta]),
                                   kill]),
    wait_until(fun() -> [x || {meta_down, _, {died, killed}}
                                  <- events(N1, Sub)] =/= [] end),
    run(N1, [a, b]),
    wait_until(fun() -> queue(N1, Other) =:= 2 end),
    {ok, _} = inviso(N1, stop_tracing, []),
    run(N1, [a, b]),
    wait_until(fun() -> queue(N1, Other) =:= 3 end),
    stop(Config).

%% Opens a scope (a trace session with its tracer) with a meta pattern, and keeps the scope open.
other_session() ->
    Scope = inviso_scope:open(other, self()),
    {ok, 1} = inviso_scope:set_pattern(Scope, meta, ?NAMES, []),
    ok = timer:sleep(infinity),
    inviso_scope:close(Scope).

is_meta_traced(N) ->
    Implementation = call(N, inviso_scope, implementation, []),
    Sessions = call(N, Implementation, sessions_of, [?NAMES]),
    lists:keymember(other, 1, Sessions).

%% The meta tracing of another tool does not change.
patterns_of_others(Config) ->
    {N1, Node1} = tracing(Config),
    Other = inviso_test_lib:spawn_call(N1, timer, sleep, [infinity]),
    1 = call(N1, erlang, trace_pattern, [?NAMES, [], [{meta, Other}]]),
    Expected = case call(N1, inviso_vm, has_sessions, []) of
                   true -> {ok, 1};
                   false -> {error, {already_traced, ?NAMES}}
               end,
    {ok, [{Node1, Expected}]} =
        inviso(N1, tpm, [[Node1], ?P, assoc, 2, [], {?P, call}]),
    {ok, [{Node1, {ok, 1}}]} =
        inviso(N1, tpm, [[Node1], ?P, other, 1, [], {?P, call}]),
    run(N1, [a, b]),
    wait_until(fun() -> queue(N1, Other) =:= 1 end),
    {ok, _} = inviso(N1, suspend, [x]),
    {ok, _} = inviso(N1, stop_tracing, []),
    run(N1, [a, b]),
    wait_until(fun() -> queue(N1, Other) =:= 2 end),
    stop(Config).

queue(N, Pid) ->
    {message_queue_len, Len} =
        call(N, erlang, process_info, [Pid, message_queue_len]),
    Len.

%% --- the module inviso_rt_meta ----------------------------------------------

%% Calls functions of inviso_rt_meta directly: start/2,5, stop/1, suspend/1,
%% get_state/1, and the requests to the meta tracer (init_tpm, tpm, tpm_tracer,
%% tpm_ms, tpm_ms_tracer, ctpm_ms, ctpm, and those for names of processes).
the_module_itself(Config) ->
    [N1 | _] = ?config(nodes, Config),
    Out = filename:join(maps:get(dir, N1), "own.ti"),
    ok = call(N1, ?P, the_module_itself, [Out]),
    [{_, me, alias, _}] = [E || {_, me, _, _} = E <- ti(N1, "own.ti")].

%% --- what the cases have in common ------------------------------------------

%% Starts tracing on the nodes of the case, with ti files.
tracing(Config) ->
    Nodes = added(Config),
    Ok = {ok, [{trace_log, ok}, {ti_log, ok}]},
    {ok, Started} = inviso(element(1, Nodes), init_tracing,
                           [[{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}]]),
    Started = [{Name, Ok} || #{name := Name} <- ?config(nodes, Config)],
    Nodes.

%% Returns {N1, Node1, N2, Node2}, or {N1, Node1} if the case needs one node.
added(Config) ->
    [N1 | _] = Nodes = ?config(nodes, Config),
    Names = [Name || #{name := Name} <- Nodes],
    {ok, _} = inviso(N1, start, []),
    {ok, Added} = inviso(N1, add_nodes, [Names, tag]),
    Added = [{Name, {ok, new}} || Name <- Names],
    list_to_tuple(lists:append([[N, Name] || #{name := Name} = N <- Nodes])).

stop(Config) ->
    [N1 | _] = ?config(nodes, Config),
    {ok, _} = inviso(N1, stop_all, []).

inviso(N, F, Args) -> call(N, inviso, F, Args).

subscriber(N) ->
    Pid = inviso_test_lib:spawn_call(N, timer, sleep, [infinity]),
    ok = inviso(N, subscribe, [Pid]),
    Pid.

events(N, Sub) ->
    {messages, All} = call(N, erlang, process_info, [Sub, messages]),
    [E || {inviso_event, _, _, E} <- All].

%% Returns the records of a ti file.
ti(#{dir := Dir}, Name) ->
    {ok, Bin} = file:read_file(filename:join(Dir, Name)),
    records(Bin).

records(<<0, Len:32, Term:Len/binary, Rest/binary>>) ->
    [binary_to_term(Term) | records(Rest)];
records(<<>>) -> [].

merged(#{dir := Dir} = N, Node) ->
    {ok, _} = call(N, inviso_lfm, merge,
                   [[{Node, [{trace_log, ["a.log"]}, {ti_log, ["a.ti"]}]}],
                    "merged.txt"]),
    {ok, Bin} = file:read_file(filename:join(Dir, "merged.txt")),
    [unicode:characters_to_list(L)
     || L <- binary:split(Bin, <<"\n">>, [global, trim])].

pid_text(N, Pid) -> call(N, erlang, pid_to_list, [Pid]).
