%% SPDX-License-Identifier: Apache-2.0
%% Measures the cost of sampling stacks on a node with 10,000 idle processes and one
%% busy process for each scheduler. Compares the work that the busy processes do in
%% intervals with the sampler and in intervals without the sampler.
-module(inviso_bench_flame).
-export([rates/1, work/2, step/1]).

-define(IDLE, 10000).
-define(ROUNDS, 30).
-define(INTERVAL_MS, 200).

%% Returns {Without, With}. Each is a list with one element for each round: how often per second the
%% busy processes completed step/1, without the sampler or with it. A round has four intervals:
%% without the sampler, two with it, and without it. So a change of the machine's speed during a
%% round affects both rates in the same way.
rates(Work) ->
    Idle = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, ?IDLE)],
    Done = counters:new(1, [write_concurrency]),
    Busy = [spawn(?MODULE, work, [Done, 200])
            || _ <- lists:seq(1, erlang:system_info(schedulers_online))],
    Log = filename:join(Work, "flame.log"),
    {ok, Tracer} = inviso_tracer:open(Log, #{}),
    try
        lists:unzip([a_round(Done, Tracer) || _ <- lists:seq(1, ?ROUNDS)])
    after
        _ = inviso_tracer:close(Tracer),
        [exit(P, kill) || P <- Busy ++ Idle]
    end.

a_round(Done, Tracer) ->
    [A, B, C, D] = [rate(Done, T) || T <- [none, Tracer, Tracer, none]],
    {(A + D) / 2, (B + C) / 2}.

rate(Done, Tracer) ->
    Sampler = case Tracer of
                  none -> none;
                  _ -> inviso_session_sample:start(
                         #{hz => 100, waiting => false, most => 32}, Tracer, [])
              end,
    %% In its first tick the sampler lists all processes. In a real run, which is longer, this tick
    %% hardly matters. So the measurement begins after the first tick.
    timer:sleep(50),
    Before = counters:get(Done, 1),
    Begin = erlang:monotonic_time(),
    timer:sleep(?INTERVAL_MS),
    Ran = counters:get(Done, 1) - Before,
    Ns = erlang:convert_time_unit(erlang:monotonic_time() - Begin, native, nanosecond),
    ok = inviso_session_sample:stop(Sampler),
    Ran * 1.0e9 / Ns.

work(Done, N) ->
    _ = step(N),
    counters:add(Done, 1, 1),
    work(Done, N).

step(0) -> [];
step(N) -> [N | step(N - 1)].
