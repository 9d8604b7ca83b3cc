%% SPDX-License-Identifier: Apache-2.0
%% A tracer that times calls (c_src/nif/times.h): what it counts and times,
%% compared with what the calls did.
-module(inviso_times_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, end_per_testcase/2]).
-export([known_durations/1, recursion/1, tail_calls/1, exceptions/1, kills/1,
         open_at_the_end/1, by_process/1, many_threads/1, a_stopped_function/1,
         without_ends/1, only_once/1, after_the_end/1]).
%% functions that are traced
-export([nap/1, down/1, loop/2, thrower/1, outer/1, quick/1, stay/0]).

-import(inviso_test_lib, [wait_until/1]).

-define(TIMES, 7).
-define(BUCKETS, 8).
-define(COUNT, 6).

all() ->
    [known_durations, recursion, tail_calls, exceptions, kills, open_at_the_end,
     by_process, many_threads, a_stopped_function, without_ends, only_once,
     after_the_end].

suite() -> [{timetrap, {seconds, 120}}].

end_per_testcase(_, _) ->
    _ = erlang:trace(all, false, [all]),
    _ = erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    ok.

%%---------------------------------------------------------------------------
%% What is traced

%% Takes at least Us microseconds of wall-clock time. The clock's value is rounded down, so one
%% microsecond is added.
nap(Us) -> busy(erlang:monotonic_time(microsecond) + Us + 1).

busy(Until) ->
    erlang:monotonic_time(microsecond) < Until andalso busy(Until).

down(0) -> 0;
down(N) -> 1 + down(N - 1).

loop(0, Fun) -> Fun();
loop(N, Fun) -> loop(N - 1, Fun).

thrower(What) -> erlang:What(oops).

outer(What) -> {ok, thrower(What)}.

quick(X) -> X.

stay() -> receive go -> ok end.

%%---------------------------------------------------------------------------
%% Helpers

opened(By, Config) -> opened(By, 1000, Config).

opened(By, Limit, Config) ->
    Name = lists:concat(["times", erlang:unique_integer([positive]), ".log"]),
    Path = filename:join(?config(priv_dir, Config), Name),
    {ok, {inviso_tracer, H} = Tracer} = inviso_tracer:open(Path, #{}),
    Processes = erlang:system_info(process_limit),
    true = inviso_tracer:nif_bound(H, Limit, Processes),
    true = inviso_tracer:nif_times(H, By, Processes),
    Tracer.

%% Runs the function in a new process. Calls of the listed functions are timed in it. Returns the
%% process's exit reason.
timed({inviso_tracer, H} = Tracer, Functions, Fun) ->
    0 = inviso_tracer:nif_ends(H, ?MODULE, Functions, all),
    _ = [1 = erlang:trace_pattern({?MODULE, F, A},
                                  [{'_', [], [{exception_trace}]}], [local])
         || {F, A} <- Functions],
    exited(traced(Tracer, Fun)).

traced(Tracer, Fun) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> exit(Fun()) end end),
    To = case Tracer of
             {inviso_tracer, H} -> {tracer, inviso_tracer, H};
             {Process, none} -> {tracer, Process}
         end,
    1 = erlang:trace(Pid, true, [call, arity, To]),
    Pid ! go,
    {Pid, Ref}.

exited({Pid, Ref}) ->
    receive {'DOWN', Ref, process, Pid, Why} -> Why end.

%% Ends the timing. Returns #{Key => #{count, unpaired, min, max, sum, values}}. `values' is the
%% number of call times that are in the buckets of the key's histogram.
ended({inviso_tracer, H} = Tracer) ->
    _ = erlang:trace(all, false, [all]),
    ok = taken(H, 0),
    Notes = notes(H, 0),
    {ok, _} = inviso_tracer:close(Tracer),
    Counts = maps:from_list([{{Of, K}, N} || {?COUNT, [Of, K, N]} <- Notes]),
    maps:from_list(
      [{K, #{count => maps:get({Of, K}, Counts), unpaired => U, min => Min,
             max => Max, sum => Sum,
             values => lists:sum([lists:sum(Ns)
                                  || {?BUCKETS, [O, B, _, Ns]} <- Notes,
                                     O =:= Of, B =:= K])}}
       || {?TIMES, [Of, K, U, Min, Max, Sum]} <- Notes,
          maps:get({Of, K}, Counts) > 0]).

taken(H, At) ->
    case inviso_tracer:nif_times_end(H, At) of
        done -> ok;
        busy -> erlang:yield(), taken(H, At);
        Next -> taken(H, Next)
    end.

notes(H, At) ->
    {Notes, Next} = inviso_tracer:nif_tallied(H, At, true),
    true = length(Notes) =< 256,
    case Next of
        done -> Notes;
        _ -> Notes ++ notes(H, Next)
    end.

of_function(F, A, Results) -> maps:get({?MODULE, F, A}, Results).

%%---------------------------------------------------------------------------

known_durations(Config) ->
    Tracer = opened(function, Config),
    Us = lists:seq(100, 2000, 100),
    ok = timed(Tracer, [{nap, 1}], fun() -> _ = [nap(N) || N <- Us], ok end),
    #{count := 20, unpaired := 0, min := Min, max := Max, sum := Sum,
      values := 20} = of_function(nap, 1, ended(Tracer)),
    %% A process may wait longer than the requested time, but not less.
    true = Min >= 100 * 1000,
    true = Max >= 2000 * 1000,
    true = Sum >= 1000 * lists:sum(Us),
    true = Sum =< 20 * Max.

%% Each call is timed, and the time of an outer call includes its inner calls.
recursion(Config) ->
    Tracer = opened(function, Config),
    500 = timed(Tracer, [{down, 1}], fun() -> down(500) end),
    #{count := 501, unpaired := 0, values := 501, max := Max, min := Min} =
        of_function(down, 1, ended(Tracer)),
    true = Max > Min.

%% loop/2 calls itself by tail calls, so all its calls return at the same time.
tail_calls(Config) ->
    Tracer = opened(function, Config),
    ok = timed(Tracer, [{loop, 2}, {nap, 1}],
               fun() -> loop(9, fun() -> nap(3000), ok end) end),
    Results = ended(Tracer),
    #{count := 10, unpaired := 0, values := 10, min := Min} =
        of_function(loop, 2, Results),
    #{count := 1, unpaired := 0} = of_function(nap, 1, Results),
    true = Min >= 3000 * 1000.

%% An exception ends all calls that it passes.
exceptions(Config) ->
    Tracer = opened(function, Config),
    ok = timed(Tracer, [{outer, 1}, {thrower, 1}, {quick, 1}],
               fun() ->
                       _ = [catch outer(W) || W <- [error, throw, exit],
                                              _ <- lists:seq(1, 7)],
                       quick(ok)
               end),
    Results = ended(Tracer),
    [#{count := 21, unpaired := 0, values := 21} =
         of_function(F, 1, Results) || F <- [outer, thrower]],
    #{count := 1, unpaired := 0} = of_function(quick, 1, Results).

%% 30 processes are killed during their calls. The VM may report the end of such a call, as an
%% exception. It must report the same ends to inviso's tracer as to a process that is the tracer.
kills(Config) ->
    Tracer = opened(function, Config),
    ok = timed(Tracer, [{stay, 0}, {loop, 2}], fun() -> ok end),
    _ = [killed_in_calls(Tracer) || _ <- lists:seq(1, 30)],
    Results = ended(Tracer),
    Self = self(),
    Ends = killed_in_calls({Self, none}),
    [begin
         Count = 30 * Calls,
         Timed = 30 * length([1 || {exception_from, G} <- Ends, G =:= F]),
         Unpaired = Count - Timed,
         #{count := Count, unpaired := Unpaired, values := Timed} =
             of_function(F, A, Results)
     end || {F, A, Calls} <- [{stay, 0, 1}, {loop, 2, 3}]].

%% Kills a process during its calls. If the caller of this function is the tracer, returns the ends
%% of calls that it received.
killed_in_calls(Tracer) ->
    {Pid, _} = P = traced(Tracer, fun() -> loop(2, fun stay/0) end),
    wait_until(fun() -> is_in_stay(Pid) end),
    exit(Pid, kill),
    killed = exited(P),
    Ref = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Ref} -> told(Pid) end.

told(Pid) ->
    receive
        {trace, Pid, exception_from, {_, F, _}, {exit, killed}} ->
            [{exception_from, F} | told(Pid)];
        {trace, Pid, call, _} ->
            told(Pid)
    after 0 ->
        []
    end.

is_in_stay(Pid) ->
    process_info(Pid, current_function) =:= {current_function, {?MODULE, stay, 0}}.

open_at_the_end(Config) ->
    Tracer = opened(function, Config),
    42 = timed(Tracer, [{stay, 0}, {quick, 1}], fun() -> quick(42) end),
    {Pid, Ref} = traced(Tracer, fun stay/0),
    wait_until(fun() -> is_in_stay(Pid) end),
    Results = ended(Tracer),
    Pid ! go,
    ok = exited({Pid, Ref}),
    #{count := 1, unpaired := 1} = of_function(stay, 0, Results),
    #{count := 1, unpaired := 0} = of_function(quick, 1, Results).

by_process(Config) ->
    Tracer = opened(process, Config),
    done = timed(Tracer, [{quick, 1}, {nap, 1}, {stay, 0}],
                 fun() -> quick(1), quick(2), nap(500), done end),
    {Pid, _} = P = traced(Tracer, fun() -> quick(1), stay() end),
    wait_until(fun() -> is_in_stay(Pid) end),
    Results = ended(Tracer),
    exit(Pid, kill),
    killed = exited(P),
    2 = map_size(Results),
    #{count := 2, unpaired := 1, values := 1} = maps:get(Pid, Results),
    [#{count := 3, unpaired := 0, values := 3, max := Max}] =
        maps:values(maps:remove(Pid, Results)),
    true = Max >= 500 * 1000.

%% Processes move from thread to thread during their calls.
many_threads(Config) ->
    Tracer = opened(function, Config),
    ok = timed(Tracer, [{quick, 1}, {down, 1}, {loop, 2}], fun() -> quick(ok) end),
    Ps = [traced(Tracer,
                 fun() ->
                         _ = [loop(3, fun() -> erlang:yield(), down(5) end)
                              || _ <- lists:seq(1, 200)],
                         ok
                 end) || _ <- lists:seq(1, 20)],
    [ok] = lists:usort([exited(P) || P <- Ps]),
    Results = ended(Tracer),
    #{count := 16000, unpaired := 0, values := 16000} =
        of_function(loop, 2, Results),
    #{count := 24000, unpaired := 0, values := 24000} =
        of_function(down, 1, Results).

%% A loop by tail calls reaches the bound of 50 open calls. Its first 50 calls are counted, and its
%% other calls are left out. Calls of other functions are timed.
a_stopped_function(Config) ->
    {_, H} = Tracer = opened(function, 50, Config),
    ok = timed(Tracer, [{loop, 2}, {quick, 1}],
               fun() -> loop(1000, fun() -> ok end), quick(ok) end),
    [{?MODULE, loop, 2, _, 50}] = inviso_tracer:nif_stopped(H),
    1 = erlang:trace_pattern({?MODULE, loop, 2}, true, [local]),
    ok = inviso_tracer:nif_released(H, ?MODULE, loop, 2),
    {_, _} = P = traced(Tracer, fun() -> loop(9, fun() -> quick(ok) end) end),
    ok = exited(P),
    Results = ended(Tracer),
    %% The 50 calls of the first loop were not timed. For the 10 calls of the second loop, the VM
    %% reports no ends.
    #{count := 60, unpaired := 60, values := 0} = of_function(loop, 2, Results),
    #{count := 1, unpaired := 0, values := 1} = of_function(quick, 1, Results).

%% A call counts as unpaired if the VM does not report its end.
without_ends(Config) ->
    {M, H} = Tracer = opened(function, Config),
    1 = erlang:trace_pattern({?MODULE, quick, 1}, true, [local]),
    Ends = fun() -> quick(1), quick(2) end,
    2 = exited(traced(Tracer, Ends)),
    1 = erlang:trace(self(), true, [call, arity, {tracer, M, H}]),
    3 = ?MODULE:quick(3),
    #{count := 3, unpaired := 3, values := 0} =
        of_function(quick, 1, ended(Tracer)).

only_once(Config) ->
    {_, H} = Tracer = opened(function, Config),
    false = inviso_tracer:nif_times(H, function, 1000),
    false = inviso_tracer:nif_tally(H, function),
    [{'EXIT', {badarg, _}} = catch inviso_tracer:nif_times(H, By, N)
     || {By, N} <- [{caller, 1000}, {function, -1}]],
    {ok, _} = inviso_tracer:close(Tracer),
    closed = inviso_tracer:nif_times(H, function, 1000),
    closed = inviso_tracer:nif_times_end(H, 0).

%% Events after the end of the timing are counted as lost.
after_the_end(Config) ->
    {_, H} = Tracer = opened(function, Config),
    1 = timed(Tracer, [{quick, 1}], fun() -> quick(1) end),
    ok = taken(H, 0),
    7 = exited(traced(Tracer, fun() -> quick(7) end)),
    _ = erlang:trace(all, false, [all]),
    [{_, [_, _, 1]}] = [N || {?COUNT, [1, _, _]} = N <- notes(H, 0)],
    {ok, #{produced := 2, recorded := 0, dropped := 2, lost := #{limit := 2}}} =
        inviso_tracer:close(Tracer).
