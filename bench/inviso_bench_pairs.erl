%% SPDX-License-Identifier: Apache-2.0
%% The time of a traced call and its return in the traced process: once with
%% both events recorded, and once with a rule that picks slow calls. No call is
%% slow enough for this rule, so nothing is recorded.
-module(inviso_bench_pairs).
-export([rows/2]).
-export([f/2, loop/3]). % traced

%% Each round has few calls, and the result is the lower quartile of the rounds, as in inviso_bench.
%% With large arguments there are fewer calls, so that the ring does not become full.
-define(CALLS, 20000).
-define(FEW_CALLS, 1000).
-define(ROUNDS, 40).
-define(BYTES, 67108864).

f(A, B) -> {A, B}.

loop(0, _, _) -> ok;
loop(N, A, B) ->
    ?MODULE:f({get, A}, B),
    loop(N - 1, A, B).

%% Row is inviso_bench:row/5, which makes a row of the table.
-spec rows(file:filename(),
           fun((string(), number(), string(), string(), number()) -> tuple())) ->
          [tuple()].
rows(Work, Row) ->
    rows(Work, Row, "call + return", ?CALLS, [a, b, <<"hello world">>])
        ++ rows(Work, Row, "the same, arguments of 1 KiB", ?FEW_CALLS, large()).

%% Returns a term that takes about 1 KiB in the log.
large() ->
    [{I, ok, <<"a name">>, [I, I + 1, I + 2], self()}
     || I <- lists:seq(1000, 1040)].

rows(Work, Row, Name, Calls, Args) ->
    Tracers = [{T, tracer(T, Work)} || T <- [empty, record, slow]],
    Rounds = [[{T, pairs(State, Calls, Args)} || {T, {State, _}} <- Tracers]
              || _ <- lists:seq(1, ?ROUNDS)],
    _ = [Stop() || {_, {_, Stop}} <- Tracers],
    Ns = fun(T) -> quartile([proplists:get_value(T, R) || R <- Rounds]) end,
    Empty = Ns(empty),
    [Row(Name ++ ", empty NIF tracer", Empty, "ns", "empty NIF", Empty),
     Row(Name ++ ", inviso records both", Ns(record), "ns", "empty NIF", Empty),
     Row(Name ++ ", inviso, slow that never triggers", Ns(slow), "ns",
         "empty NIF", Empty)].

tracer(empty, _) ->
    {{empty_tracer, 1}, fun() -> ok end};
tracer(Kind, Work) ->
    File = filename:join(Work, atom_to_list(Kind) ++ "-pairs.log"),
    {ok, {M, H} = T} = inviso_tracer:open(File, #{replace => true}),
    ok = kind(Kind, H),
    {{M, H}, fun() -> {ok, _} = inviso_tracer:close(T) end}.

kind(record, _) ->
    ok;
kind(slow, H) ->
    Processes = erlang:system_info(process_limit),
    true = inviso_tracer:nif_bound(H, 1000, Processes),
    true = inviso_tracer:nif_decide(H, Processes, ?BYTES, {none, false},
                                    [{3600000000000, false}]),
    0 = inviso_tracer:nif_rules(H, ?MODULE, [{f, 2}], 1),
    0 = inviso_tracer:nif_ends(H, ?MODULE, [{f, 2}], all),
    ok.

pairs({M, S}, Calls, Args) ->
    Self = self(),
    Pid = spawn_link(fun() ->
                             receive go -> ok end,
                             loop(?FEW_CALLS, 1, Args),
                             T0 = erlang:monotonic_time(nanosecond),
                             loop(Calls, 1, Args),
                             T1 = erlang:monotonic_time(nanosecond),
                             Self ! {self(), (T1 - T0) / Calls},
                             receive stop -> ok end
                     end),
    _ = erlang:trace_pattern({?MODULE, f, 2}, [{'_', [], [{exception_trace}]}],
                             [local]),
    1 = erlang:trace(Pid, true, [call, {tracer, M, S}]),
    Pid ! go,
    Ns = receive {Pid, X} -> X end,
    _ = erlang:trace(Pid, false, [all]),
    _ = erlang:trace_pattern({?MODULE, f, 2}, false, [local]),
    unlink(Pid),
    Pid ! stop,
    Ns.

quartile(List) ->
    lists:nth(length(List) div 4 + 1, lists:sort(List)).
