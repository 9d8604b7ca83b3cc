%% SPDX-License-Identifier: Apache-2.0
%% The tracing core, which sessions and the runtime component share: the order of patterns, opening
%% and closing of a scope (a trace session with its tracer), and the list of open scopes that the
%% guard reads.
-module(inviso_tracing_SUITE).

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([patterns_are_those_of_the_model/1,
         patterns_outlive_the_scope/1,
         the_guard_knows_of_what_is_open/1,
         counters_stand_in_the_way/1,
         helpers_are_never_traced/1,
         a_full_vm_is_an_error/1,
         the_end_of_the_engine_is_noticed/1,
         an_engine_that_hangs_is_waited_for_once/1,
         scopes_that_were_not_closed_are_closed_later/1]).

-define(SEEDS, 200).
-define(STEPS, 40).

all() ->
    [patterns_are_those_of_the_model,
     patterns_outlive_the_scope,
     the_guard_knows_of_what_is_open,
     counters_stand_in_the_way,
     helpers_are_never_traced,
     a_full_vm_is_an_error,
     the_end_of_the_engine_is_noticed,
     an_engine_that_hangs_is_waited_for_once,
     scopes_that_were_not_closed_are_closed_later].

suite() -> [{timetrap, {seconds, 300}}].

init_per_testcase(patterns_are_those_of_the_model, Config) ->
    Config;
init_per_testcase(Case, Config) ->
    Dir = proplists:get_value(priv_dir, Config),
    Node = inviso_test_lib:start_node(Case, Dir),
    Here = filename:dirname(filename:absname(code:which(?MODULE))),
    true = inviso_test_lib:call(Node, code, add_patha, [Here]),
    {module, _} = inviso_test_lib:call(Node, code, ensure_loaded, [?MODULE]),
    [{node, Node} | Config].

end_per_testcase(_Case, Config) ->
    case proplists:get_value(node, Config) of
        undefined -> ok;
        Node -> inviso_test_lib:stop_node(Node)
    end.

on(Config, Fun) ->
    #{peer := Peer} = proplists:get_value(node, Config),
    peer:call(Peer, erlang, apply, [Fun, []], 120000).

%% --- the order of patterns ---------------------------------------------------

%% Compares inviso_patterns with a simple model: a list of all patterns in the order in which they
%% were set.
patterns_are_those_of_the_model(_Config) ->
    _ = [begin
             _ = rand:seed(exsss, Seed),
             {Seed, ok} = {Seed, play(?STEPS, inviso_patterns:new(), [])}
         end || Seed <- lists:seq(1, ?SEEDS)],
    ok.

play(0, _, _) ->
    ok;
play(N, Ps, Model) ->
    {Kind, What, MS} = Op = operation(),
    Expected = check(Kind, What, MS, Model),
    {Op, Expected} = {Op, inviso_patterns:check(Kind, What, MS, Ps)},
    case Expected of
        ok ->
            Ps1 = inviso_patterns:put(Kind, What, MS, Ps),
            Model1 = remember(Kind, What, MS, Model),
            {Op, Model1} = {Op, inviso_patterns:in_order(Ps1)},
            Counted = lists:usort([K || {K, Old, true} <- Model1,
                                        inviso_patterns:is_counter(K),
                                        overlap(What, Old)]),
            {Op, Counted} = {Op, inviso_patterns:counted(What, Ps1)},
            play(N - 1, Ps1, Model1);
        {error, _} ->
            play(N - 1, Ps, Model)
    end.

operation() ->
    case rand:uniform(10) of
        1 ->
            {event, one_of([send, 'receive']), one_of([true, []])};
        _ ->
            Kind = one_of([global, local, local, call_count, call_time]),
            Specs = case inviso_patterns:is_counter(Kind) of
                        true -> [true, true, false, restart, pause];
                        false -> [true, [{'_', [], []}], false]
                    end,
            {Kind, {one_of([m, n, '_']), one_of([f, g, '_']),
                    one_of([1, 2, '_'])}, one_of(Specs)}
    end.

one_of(List) -> lists:nth(rand:uniform(length(List)), List).

check(Kind, What, MS, Model) when MS =:= restart; MS =:= pause ->
    Counted = lists:foldl(fun({K, Old, true}, Is) when K =:= Kind ->
                                  Is orelse covers(Old, What);
                             ({K, Old, false}, Is) when K =:= Kind ->
                                  Is andalso not overlap(Old, What);
                             (_, Is) ->
                                  Is
                          end, false, Model),
    case Counted of
        true -> ok;
        false -> {error, not_counted}
    end;
check(Kind, What, MS, Model) ->
    case [Old || MS =/= false, {K, Old, Ms} <- Model, Ms =/= false,
                 excludes(Kind, K), overlap(What, Old)] of
        [] -> ok;
        [Old | _] -> {error, {already_traced, Old}}
    end.

excludes(global, K) -> inviso_patterns:is_counter(K);
excludes(K, global) -> inviso_patterns:is_counter(K);
excludes(_, _) -> false.

remember(_, _, MS, Model) when MS =:= restart; MS =:= pause ->
    Model;
remember(Kind, What, MS, Model) ->
    Rest = [P || {K, Old, _} = P <- Model,
                 not (covers(What, Old)
                      andalso (K =:= Kind
                               orelse MS =/= false andalso is_same(Kind, K)))],
    Partly = lists:any(fun({K, Old, _}) ->
                               is_same(K, Kind) andalso overlap(What, Old)
                       end, Rest),
    Rest ++ [{Kind, What, MS} || MS =/= false orelse Partly].

is_same(Kind, Kind) -> true;
is_same(Kind, K) -> lists:sort([Kind, K]) =:= [global, local].

covers({M, F, A}, {M1, F1, A1}) ->
    lists:all(fun({X, Y}) -> X =:= '_' orelse X =:= Y end,
              [{M, M1}, {F, F1}, {A, A1}]);
covers(X, Y) ->
    X =:= Y.

overlap({M, F, A}, {M1, F1, A1}) ->
    lists:all(fun({X, Y}) -> lists:member('_', [X, Y]) orelse X =:= Y end,
              [{M, M1}, {F, F1}, {A, A1}]);
overlap(X, Y) ->
    X =:= Y.

%% --- the scope ---------------------------------------------------------------

%% If two patterns overlap, the later pattern applies. The patterns are set again in the next trace
%% session (scope), and the later pattern still applies.
patterns_outlive_the_scope(Config) ->
    on(Config, fun() ->
        T0 = inviso_tracing:new(none),
        {{ok, N}, T1} = inviso_tracing:set(local, {lists, '_', '_'}, true, T0),
        true = N > 10,
        false = inviso_tracing:is_open(T1),
        {{error, badarg}, T1} =
            inviso_tracing:set(local, {lists, seq, 2}, [nonsense], T1),
        {{ok, 1}, T2} = inviso_tracing:set(local, {lists, seq, 2}, false, T1),
        [] = traced([{lists, seq, 2}, {lists, seq, 3}]),
        Closed = lists:foldl(fun(_, T) ->
                                     {ok, Open} = inviso_tracing:open(self(), T),
                                     true = inviso_tracing:is_open(Open),
                                     [{lists, seq, 3}] = set_in(Open),
                                     [] = set_in(inviso_tracing:close(Open)),
                                     inviso_tracing:close(Open)
                             end, T2, [first, second]),
        2 = length(inviso_tracing:patterns(Closed)),
        {ok, Last} = inviso_tracing:open(self(), Closed),
        Cleared = inviso_tracing:clear_patterns(Last),
        [] = set_in(Cleared),
        [] = inviso_tracing:patterns(Cleared),
        false = inviso_tracing:is_open(inviso_tracing:close(Cleared)),
        ok
    end).

set_in(T) ->
    case inviso_tracing:scope(T) of
        none ->
            traced([{lists, seq, 2}, {lists, seq, 3}]);
        _ ->
            [MFA || MFA <- [{lists, seq, 2}, {lists, seq, 3}],
                    inviso_tracing:state({local, MFA, true}, T) =:= set]
    end.

traced(MFAs) ->
    [MFA || MFA <- MFAs,
            not lists:member(erlang:trace_info(MFA, traced),
                             [{traced, false}, {traced, undefined}])].

%% The guard's table has a list of the owner's open scopes (trace sessions with their tracers). The
%% list is right even if another process closes a scope.
the_guard_knows_of_what_is_open(Config) ->
    on(Config, fun() ->
        Table = ets:new(guard, [public]),
        Me = self(),
        Known = fun() -> [{P, length(R)} || {{residue, P}, R}
                                                <- ets:tab2list(Table)] end,
        {ok, T1} = inviso_tracing:open(Me, inviso_tracing:new(Table)),
        [{Me, 1}] = Known(),
        Second = inviso_scope:open(inviso_meta, Me),
        T2 = inviso_tracing:second(Second, T1),
        [{Me, 2}] = Known(),
        T3 = inviso_tracing:forget_second(T2),
        [{Me, 1}] = Known(),
        %% forget_second/1 has closed the second scope, so setting a pattern in it fails.
        {error, _} = inviso_scope:set_pattern(Second, local, {lists, seq, 2},
                                            true),
        {Pid, Ref} = spawn_monitor(fun() ->
                                           exit(inviso_tracing:close(T3))
                                   end),
        T4 = receive {'DOWN', Ref, process, Pid, Closed} -> Closed end,
        [{Me, 0}] = Known(),
        false = inviso_tracing:is_open(T4),
        {ok, T5} = inviso_tracing:open(Me, T4),
        [{Me, 1}] = Known(),
        _ = inviso_tracing:close(T5),
        ok
    end).

counters_stand_in_the_way(Config) ->
    on(Config, fun() ->
        F = {?MODULE, module_info, 0},
        Set = fun(Kind, MS, T) -> inviso_tracing:set(Kind, F, MS, T) end,
        T0 = inviso_tracing:new(none),
        {{error, no_tracer}, _} = Set(call_count, pause, T0),
        {ok, T1} = inviso_tracing:open(self(), T0),
        {{error, not_counted}, _} = Set(call_count, pause, T1),
        {{ok, 1}, T2} = Set(call_count, true, T1),
        {{error, {already_traced, F}}, _} = Set(global, true, T2),
        _ = [?MODULE:module_info() || _ <- [1, 2, 3]],
        {ok, [{F, call_count, 3}]} = inviso_counters:most(10, T2),
        {ok, [{?MODULE, module_info, 0, 3, none}]} =
            inviso_counters:by_function(T2),
        {{ok, 1}, T2} = Set(call_count, restart, T2),
        {ok, []} = inviso_counters:most(10, T2),
        [call_count] = inviso_tracing:counted({?MODULE, '_', '_'}, T2),
        _ = inviso_tracing:close(T2),
        ok
    end).

helpers_are_never_traced(Config) ->
    on(Config, fun() ->
        [Other, Helper] = [spawn(fun() -> receive after infinity -> ok end end)
                           || _ <- [1, 2]],
        {ok, T} = inviso_tracing:open(self(), inviso_tracing:new(none)),
        {ok, N} = inviso_tracing:flags(true, {processes, existing}, [procs],
                                       [Helper], T),
        true = N > 10,
        [procs] = flags_of(Other, T),
        [] = flags_of(Helper, T),
        [] = flags_of(self(), T),
        {ok, 0} = inviso_tracing:flags(true, {processes, Helper}, [procs],
                                       [Helper], T),
        ok = inviso_tracing:flag_each([Other, Helper], [send], [Helper], T),
        [procs, send] = lists:sort(flags_of(Other, T)),
        [] = flags_of(Helper, T),
        {ok, 1} = inviso_tracing:flags(true, {processes, Helper}, [procs], [],
                                       T),
        ok = inviso_tracing:leave_out(Helper, T),
        [] = flags_of(Helper, T),
        ok = inviso_tracing:clear_flags(T),
        [] = flags_of(Other, T),
        _ = inviso_tracing:close(T),
        ok
    end).

flags_of(Pid, T) ->
    inviso_test_lib:flags_in(inviso_tracing:scope(T), Pid).

%% On VMs with trace sessions there is no engine that a test could kill.
the_end_of_the_engine_is_noticed(Config) ->
    on(Config, fun() ->
        {ok, T} = inviso_tracing:open(self(), inviso_tracing:new(none)),
        {{ok, 1}, T1} = inviso_tracing:set(local, {lists, seq, 2}, true, T),
        false = inviso_tracing:is_gone({'DOWN', make_ref(), process, self(),
                                        killed}, T1),
        case inviso_vm:has_sessions() of
            true ->
                ok;
            false ->
                true = exit(whereis(inviso_engine_server), kill),
                Message = receive {'DOWN', _, _, _, _} = Down -> Down end,
                true = inviso_tracing:is_gone(Message, T1)
        end,
        Closed = inviso_tracing:close(T1),
        [] = traced([{lists, seq, 2}]),
        {ok, Again} = inviso_tracing:open(self(), Closed),
        set = inviso_tracing:state({local, {lists, seq, 2}, true}, Again),
        _ = inviso_tracing:close(Again),
        [] = traced([{lists, seq, 2}]),
        ok
    end).

%% If the engine hangs, an operation on many functions waits for one request only, until it times
%% out after 6 s. It does not wait for a request for each function.
an_engine_that_hangs_is_waited_for_once(Config) ->
    with_engine(Config, fun an_engine_hangs/0).

with_engine(Config, Fun) ->
    case on(Config, fun inviso_vm:has_sessions/0) of
        true ->
            {skip, "the VM has trace sessions"};
        false ->
            {Name, Value} = inviso_test_lib:hurry(10),
            on(Config, fun() -> true = os:putenv(Name, Value), Fun() end)
    end.

an_engine_hangs() ->
    Patterns = [{Kind, {?MODULE, F, 0}, true}
                || Kind <- [call_count, call_time, local],
                   F <- [all, suite, module_info]],
    {ok, T0} = inviso_tracing:open(self(), inviso_tracing:new(none)),
    T = lists:foldl(fun({Kind, MFA, MS}, Acc0) ->
                            {{ok, 1}, Acc} =
                                inviso_tracing:set(Kind, MFA, MS, Acc0),
                            Acc
                    end, T0, Patterns),
    {ok, []} = inviso_counters:by_function(T),
    {[], []} = inviso_arm_watch:look([], T, 1000),
    Server = whereis(inviso_engine_server),
    true = erlang:suspend_process(Server),
    Asked = fun() ->
                    {message_queue_len, N} =
                        process_info(Server, message_queue_len),
                    N
            end,
    {error, timeout} = inviso_counters:by_function(T),
    1 = Asked(),
    {error, timeout} = inviso_counters:most(10, T),
    2 = Asked(),
    {[], [_ | _] = Next} = inviso_arm_watch:look([], T, 1000),
    3 = Asked(),
    true = erlang:resume_process(Server),
    {[], []} = inviso_arm_watch:look(Next, T, 1000),
    _ = inviso_tracing:close(T),
    ok.

%% If a scope could not be closed, it is closed when the next scope is opened. So the number of open
%% scopes does not grow.
scopes_that_were_not_closed_are_closed_later(Config) ->
    with_engine(Config, fun scopes_are_closed_later/0).

scopes_are_closed_later() ->
    Table = ets:new(guard, [public]),
    Residue = fun() -> [{_, R}] = ets:tab2list(Table), length(R) end,
    {ok, T1} = inviso_tracing:open(self(), inviso_tracing:new(Table)),
    Server = whereis(inviso_engine_server),
    true = erlang:suspend_process(Server),
    T2 = inviso_tracing:close(T1),
    true = erlang:resume_process(Server),
    {[timeout], 1} = {inviso_tracing:refusals(T2), Residue()},
    {ok, T3} = inviso_tracing:open(self(), T2),
    {[], 1} = {inviso_tracing:refusals(T3), Residue()},
    T4 = inviso_tracing:close(T3),
    {[], 0} = {inviso_tracing:refusals(T4), Residue()},
    ok.

%% Before OTP 27 the number of sessions is limited. If no further session can be
%% opened, setting a pattern fails with an error.
a_full_vm_is_an_error(Config) ->
    case on(Config, fun() -> code:ensure_loaded(trace) end) of
        {module, _} -> {skip, "the VM has no limit of sessions"};
        {error, _} -> full_vm(Config)
    end.

full_vm(Config) ->
    Try = fun() ->
                  T = inviso_tracing:new(none),
                  Open = scopes(1000),
                  {Full, _} = inviso_tracing:set(local, {lists, seq, 2}, true, T),
                  [ok = inviso_scope:close(Scope) || Scope <- Open],
                  {Free, _} = inviso_tracing:set(local, {lists, seq, 2}, true, T),
                  {Full, Free}
          end,
    {{error, system_limit}, {ok, 1}} = on(Config, Try).

scopes(0) ->
    [];
scopes(N) ->
    try inviso_scope:open(full, self()) of
        Scope -> [Scope | scopes(N - 1)]
    catch
        error:system_limit -> []
    end.
