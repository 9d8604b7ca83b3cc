%% SPDX-License-Identifier: Apache-2.0
%% The cost of a call that trace sessions trace: one session compared with
%% erlang:trace/3, and the cost of each further session.
%%
%% The tracer of each session that traces the call gets a message. The cost of this
%% message is not part of the engine's cost. So sending_tracer, a tracer that is a
%% NIF, is measured too: it sends the same number of messages without the engine.
%% The difference is the cost of the engine.
%%
%% In each round all setups are measured, in random order. For a time, the lower
%% quartile of the rounds is reported. A difference of two times is computed in
%% each round, and the median of the rounds is reported.
-module(inviso_bench_sessions).
-export([rows/2]).
-export([f/2, g/1]). % traced

-define(CALLS, 5000).
-define(ROUNDS, 80).
-define(SPEC, [{['$1', '_'], [{is_tuple, '$1'}], []}]).
%% A match spec that matches no call.
-define(OTHER, [{['$1', '_'], [{is_atom, '$1'}], []}]).

f(A, B) -> {A, B}.
g(X) -> X.

loop(0) -> ok;
loop(N) ->
    ?MODULE:f({get, N}, [a, b, <<"hello world">>]),
    loop(N - 1).

%% Returns rows for the table. Row is inviso_bench:row/5, which makes one row.
rows(Dir, Row) ->
    _ = sending_tracer:load(Dir),
    Setups = [{plain, true}, {plain, ?SPEC},
              {wanted, 1, true}, {wanted, 1, ?SPEC}]
        ++ [{wanted, N, true} || N <- [2, 4, 8]]
        ++ [{unwanted, N} || N <- [1, 3, 7]]
        ++ [{wanted, N, ?OTHER} || N <- [1, 2, 4, 8]]
        ++ [{sent, N} || N <- [1, 2, 4, 8]],
    Rounds = [[{S, once(S)} || S <- shuffled(Setups)]
              || _ <- lists:seq(1, ?ROUNDS)],
    Ns = fun(S) ->
                 quartile([proplists:get_value(S, R) || R <- Rounds])
         end,
    More = fun(A, B) ->
                   median([proplists:get_value(A, R) - proplists:get_value(B, R)
                           || R <- Rounds])
           end,
    One = {wanted, 1, true},
    [Row("call, one session", Ns(One), "ns",
         "erlang:trace/3", Ns({plain, true})),
     Row("call with a match spec, one session", Ns({wanted, 1, ?SPEC}), "ns",
         "erlang:trace/3", Ns({plain, ?SPEC}))]
        ++ [Row(name("each of ~b more sessions that do not want it", N),
                More({unwanted, N}, One) / N, "ns", "60 ns", 60)
            || N <- [1, 3, 7]]
        ++ [Row(name("each of ~b more whose match spec does not match", N - 1),
                More({wanted, N, ?OTHER}, {wanted, 1, ?OTHER}) / (N - 1),
                "ns", "60 ns", 60)
            || N <- [2, 4, 8]]
        ++ [Row(name("each of ~b more that want it, without its message",
                     N - 1),
                (More({wanted, N, true}, One)
                 - More({sent, N}, {sent, 1})) / (N - 1), "ns", "60 ns", 60)
            || N <- [2, 4, 8]].

shuffled(List) ->
    [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- List])].

name(Format, N) -> lists:flatten(io_lib:format(Format, [N])).

once(Setup) ->
    Self = self(),
    Pid = spawn_link(fun() ->
                             receive go -> ok end,
                             loop(100),
                             T0 = erlang:monotonic_time(nanosecond),
                             loop(?CALLS),
                             T1 = erlang:monotonic_time(nanosecond),
                             Self ! {self(), (T1 - T0) / ?CALLS},
                             receive stop -> ok end
                     end),
    End = begin_tracing(Setup, Pid),
    Pid ! go,
    Ns = receive {Pid, X} -> X end,
    End(),
    unlink(Pid),
    Pid ! stop,
    Ns.

begin_tracing({plain, Spec}, Pid) ->
    Sink = sink(),
    1 = erlang:trace_pattern({?MODULE, f, 2}, Spec, [local]),
    1 = erlang:trace(Pid, true, [call, {tracer, Sink}]),
    fun() ->
            erlang:trace(Pid, false, [all]),
            erlang:trace_pattern({?MODULE, f, 2}, false, [local]),
            end_sink(Sink)
    end;
begin_tracing({sent, N}, Pid) ->
    Sinks = [sink() || _ <- lists:seq(1, N)],
    1 = erlang:trace_pattern({?MODULE, f, 2}, true, [local]),
    1 = erlang:trace(Pid, true, [call, {tracer, sending_tracer, Sinks}]),
    fun() ->
            erlang:trace(Pid, false, [all]),
            erlang:trace_pattern({?MODULE, f, 2}, false, [local]),
            [end_sink(Sink) || Sink <- Sinks]
    end;
begin_tracing({wanted, N, Spec}, Pid) ->
    both([session(Pid, {f, 2}, Spec) || _ <- lists:seq(1, N)]);
begin_tracing({unwanted, N}, Pid) ->
    both([session(Pid, {f, 2}, true)
          | [session(Pid, {g, 1}, true) || _ <- lists:seq(1, N)]]).

both(Ends) ->
    fun() -> [End() || End <- Ends] end.

session(Pid, {F, A}, Spec) ->
    Sink = sink(),
    S = inviso_trace:session_create(bench, Sink, []),
    1 = inviso_trace:function(S, {?MODULE, F, A}, Spec, [local]),
    1 = inviso_trace:process(S, Pid, true, [call]),
    fun() ->
            true = inviso_trace:session_destroy(S),
            end_sink(Sink)
    end.

%% Returns a suspended process for the messages of a tracer. Because it never runs, it takes no CPU
%% time, and does not compete with senders for the lock of its message queue.
sink() ->
    Sink = spawn(fun() -> receive never -> ok end end),
    true = erlang:suspend_process(Sink),
    Sink.

%% Waits until the process has ended, so that its messages are freed before the
%% next measurement.
end_sink(Sink) ->
    Ref = monitor(process, Sink),
    exit(Sink, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

quartile(List) ->
    lists:nth(length(List) div 4 + 1, lists:sort(List)).

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).
