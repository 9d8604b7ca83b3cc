%% SPDX-License-Identifier: Apache-2.0
%% Measures the throughput of a RabbitMQ broker while all functions of the
%% module rabbit_channel are traced, in several ways, and while nothing is
%% traced.
%%
%% In each round every way has a turn, in random order. In each turn the
%% throughput is measured twice: first without tracing, then with it. The turn's
%% share is the second divided by the first, so other work on the machine
%% disturbs both. The table has the median, the lowest and the highest share.
-module(inviso_bench_real).
-export([main/1]).

%% A round begins only if it will probably end within TIME_MS after the start of the program. The
%% program exits with an error after GIVE_UP_MS.
-define(TIME_MS, 270000).
-define(GIVE_UP_MS, 290000).
-define(POLL_MS, 50).

%% rounds: the largest number of rounds. settle_ms: the pause before a measurement, in which the
%% broker collects garbage and loads code. untraced_ms: how long the throughput without tracing is
%% measured. window_ms: how long the throughput with tracing is measured at most. `infinity' sets no
%% bound, because the minimum of an atom and a number is the number.
-define(LONG, #{rounds => 5, settle_ms => 700, untraced_ms => 2000,
                window_ms => infinity}).
-define(SHORT, #{rounds => 1, settle_ms => 100, untraced_ms => 500,
                 window_ms => 1000}).

-record(turn, {untraced, rate, recorded, lost, bytes, growth}).

-spec main([string()]) -> no_return().
main([Form, Out, Command, Plugins, Work]) ->
    Times = case Form of
                "long" -> ?LONG;
                "short" -> ?SHORT
            end,
    {ok, _} = timer:apply_after(?GIVE_UP_MS, erlang, apply,
                                [fun give_up/0, []]),
    try
        measure(Times#{command => Command, work => Work}, Plugins, Out),
        halt(0)
    catch
        Class:Why:Stack ->
            io:format(standard_error, "bench-real: ~p ~p~n~p~n",
                      [Class, Why, Stack]),
            [io:format(standard_error, "~ts:~n~ts~n", [F, tail(Work, F)])
             || F <- ["broker.out", "load.out"]],
            halt(1)
    end.

give_up() ->
    io:format(standard_error, "bench-real: not done in ~b s~n",
              [?GIVE_UP_MS div 1000]),
    halt(1).

tail(Work, File) ->
    os:cmd("tail -n 5 " ++ filename:join(Work, File)).

measure(#{work := Work} = Opts, Plugins, Out) ->
    Began = now_ms(),
    progress("starting the broker", []),
    Broker = inviso_bench_broker:start(Plugins, Work),
    Rounds = rounds(Broker, Opts, Began, now_ms(), 1),
    Untraced = median([T#turn.untraced || Round <- Rounds,
                                          T <- maps:values(Round)]),
    Rows = [row(Way, [maps:get(Way, Round) || Round <- Rounds])
            || Way <- inviso_bench_ways:all()],
    inviso_bench_table:print(Untraced, Rows, length(Rounds)),
    ok = file:write_file(Out, inviso_bench_table:json(Untraced, Rows)).

%% Measures rounds. Begins another round only if enough time is left for a round that takes a
%% quarter longer than the last one.
rounds(Broker, #{rounds := Most} = Opts, Began, RoundBegan, N) ->
    progress("round ~b", [N]),
    Turns = [{Way, turn(Way, Broker, Opts)}
             || Way <- shuffled(inviso_bench_ways:all())],
    Now = now_ms(),
    Next = (Now - Began) + (Now - RoundBegan) * 5 div 4,
    [maps:from_list(Turns) |
     case N < Most andalso Next < ?TIME_MS of
         true -> rounds(Broker, Opts, Began, Now, N + 1);
         false -> []
     end].

turn(Way, Broker, #{settle_ms := Settle, untraced_ms := Ms,
                     window_ms := Most} = Opts) ->
    timer:sleep(Settle),
    Untraced = rate(fun() -> false end, Broker, Ms),
    Before = inviso_bench_broker:resident(Broker),
    Tracing = inviso_bench_ways:start(Way, Broker, Opts),
    %% There is no pause with the process tracer, because its message queue grows all the time.
    _ = [timer:sleep(Settle) || Way =/= process],
    Rate = rate(fun() -> inviso_bench_ways:over(Tracing) end, Broker,
                min(Most, inviso_bench_ways:window_ms(Way))),
    Growth = inviso_bench_broker:growth(Broker, Before),
    %% The load is paused, because a log of gigabytes is fetched faster from a broker without work.
    ok = inviso_bench_broker:pause(Broker),
    {Recorded, Lost, Bytes} = inviso_bench_ways:stop(Tracing),
    ok = inviso_bench_broker:resume(Broker),
    #turn{untraced = Untraced, rate = Rate, recorded = Recorded, lost = Lost,
          bytes = Bytes, growth = Growth}.

%% Returns the number of messages that were consumed per second.
rate(Over, Broker, Ms) ->
    Taken = inviso_bench_broker:taken(Broker),
    Began = now_us(),
    until(Over, now_ms() + Ms),
    (inviso_bench_broker:taken(Broker) - Taken) * 1000000
        / max(1, now_us() - Began).

until(Over, End) ->
    timer:sleep(?POLL_MS),
    case now_ms() < End andalso not Over() of
        true -> until(Over, End);
        false -> ok
    end.

row(Way, Turns) ->
    Shares = [T#turn.rate / max(1, T#turn.untraced) || T <- Turns],
    {Way, #{rate => median([T#turn.rate || T <- Turns]),
            share => median(Shares), lowest => lists:min(Shares),
            highest => lists:max(Shares),
            recorded => median([T#turn.recorded || T <- Turns]),
            lost => median([T#turn.lost || T <- Turns]),
            bytes => median([T#turn.bytes / max(1, T#turn.recorded)
                             || T <- Turns]),
            growth => median([T#turn.growth / 1048576 || T <- Turns])}}.

shuffled(List) ->
    [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- List])].

%% If there is an even number of values, the median is the mean of the two
%% values in the middle.
median(List) ->
    Sorted = lists:sort(List),
    N = length(Sorted),
    (lists:nth((N + 1) div 2, Sorted) + lists:nth(N div 2 + 1, Sorted)) / 2.

now_ms() -> erlang:monotonic_time(millisecond).
now_us() -> erlang:monotonic_time(microsecond).

progress(Format, Args) ->
    io:format(standard_error, "bench-real: " ++ Format ++ "~n", Args).
