%% SPDX-License-Identifier: Apache-2.0
%% @doc Estimates how many events to expect, by counting calls before tracing.
%%
%% The VM's counters (`call_count') cost a few nanoseconds for each call and send
%% nothing. They cannot be limited to some arguments or processes, so the result
%% is an upper limit. If the VM has trace sessions, the counters are set in a
%% session. Other VMs (OTP 25 and 26) need the engine for sessions, and the
%% engine's library must not be loaded while nothing is traced. So there the
%% counters are set without the engine, and only on functions that have no
%% pattern.
%%
%% A separate process sets the counters, and clears them even if the caller dies.
-module(inviso_arm_expect).

-export([per_second/2]).

%% The time limit for setting the counters.
-define(SPARE_MS, 5000).

%% @doc Returns an upper limit of the events that these patterns make in a second.
%% Counts for `Ms' milliseconds.
-spec per_second([inviso_arm_functions:operation()], pos_integer()) ->
          {ok, non_neg_integer()} | {unknown, binary()}.
per_second(Operations, Ms) ->
    Calls = once([{MFA, weight(MS)} || {{local, MFA, MS}, _} <- Operations]),
    case owned(Calls) of
        {true, Text} -> {unknown, Text};
        false when Calls =:= [] -> {ok, 0};
        false -> counted(Calls, Ms)
    end.

%% Removes functions whose module is in the list as a whole, so that no call is
%% counted twice. Returns the remaining patterns.
once(Calls) ->
    Whole = maps:from_list([{M, W} || {{M, '_', '_'}, W} <- Calls]),
    More = [M || {{M, F, _}, 2} <- Calls, F =/= '_', is_map_key(M, Whole)],
    All = maps:merge(Whole, maps:from_keys(More, 2)),
    [{{M, '_', '_'}, W} || {M, W} <- maps:to_list(All)]
        ++ [Call || {{M, _, _}, _} = Call <- Calls, not is_map_key(M, Whole)].

%% Returns how many events a call makes: two if the end of the call is traced too.
weight(true) -> 1;
weight(Clauses) ->
    case [1 || {_, _, Body} <- Clauses,
               lists:member({exception_trace}, Body)
                   orelse lists:member({return_trace}, Body)] of
        [] -> 1;
        _ -> 2
    end.

owned(Calls) ->
    case [MFA || not inviso_vm:has_sessions(), {Which, _} <- Calls,
                 MFA <- inviso_functions:of_pattern(Which),
                 inviso_other_tools:has_pattern(MFA)] of
        [] ->
            false;
        [{M, F, A} | _] ->
            {true, format("~ts has a trace pattern of another tool, which "
                          "counting would change", [inviso_spec:format_mfa(M, F, A)])}
    end.

-dialyzer({no_return, counted/2}).
counted(Calls, Ms) ->
    Asker = self(),
    {Pid, Ref} = spawn_monitor(fun() -> count(Calls, Ms, Asker) end),
    receive
        {'DOWN', Ref, process, Pid, {counted, N}} ->
            {ok, N};
        {'DOWN', Ref, process, Pid, Why} ->
            {unknown, format("calls could not be counted: ~tp", [Why])}
    end.

-spec count([{tuple(), pos_integer()}], pos_integer(), pid()) -> no_return().
count(Calls, Ms, Asker) ->
    ok = inviso_push:stays(worker),
    Ref = monitor(process, Asker),
    Scope = open(inviso_vm:has_sessions()),
    Which = [W || {W, _} <- Calls],
    Deadline = now_ms() + ?SPARE_MS,
    Outcome = try
                  ok = set(Which, Scope, Ref, Deadline),
                  measure(Calls, Ms, Scope, Ref)
              catch
                  throw:Why -> Why
              after
                  close(Scope, Which)
              end,
    exit(Outcome).

open(true) -> inviso_scope:open(inviso_count, self());
open(false) -> none.

close(none, Which) ->
    _ = [erlang:trace_pattern(W, false, [call_count]) || W <- Which],
    ok;
close(Scope, _Which) ->
    inviso_scope:close(Scope).

set_counter(none, Which) ->
    {ok, erlang:trace_pattern(Which, true, [call_count])};
set_counter(Scope, Which) ->
    inviso_scope:set_pattern(Scope, call_count, Which, true).

counter(none, MFA) ->
    case erlang:trace_info(MFA, call_count) of
        {call_count, N} when is_integer(N) -> N;
        _ -> 0
    end;
counter(Scope, MFA) ->
    case inviso_scope:counter(Scope, call_count, MFA) of
        {error, Why} -> throw(Why);
        {N, none} -> N
    end.

set([], _Scope, _Ref, _Deadline) ->
    ok;
set([Which | Rest], Scope, Ref, Deadline) ->
    ok = asked_still(Ref, 0),
    _ = now_ms() > Deadline andalso throw(too_many_functions),
    case set_counter(Scope, Which) of
        {ok, _} -> set(Rest, Scope, Ref, Deadline);
        {error, Why} -> throw(Why)
    end.

%% Counts for `Ms' milliseconds. All counters are set already, because setting many
%% counters takes long.
measure(Calls, Ms, Scope, Ref) ->
    Functions = [{MFA, W} || {Which, W} <- Calls,
                             MFA <- inviso_functions:of_pattern(Which)],
    {T0, C0} = {now_us(), total(Functions, Scope)},
    ok = asked_still(Ref, Ms),
    {T1, C1} = {now_us(), total(Functions, Scope)},
    {counted, (C1 - C0) * 1000000 div max(1, T1 - T0)}.

total(Functions, Scope) ->
    lists:sum([W * counter(Scope, MFA) || {MFA, W} <- Functions]).

asked_still(Ref, Ms) ->
    receive
        {'DOWN', Ref, process, _, _} -> throw(nobody_asks)
    after Ms -> ok
    end.

now_ms() -> erlang:monotonic_time(millisecond).

now_us() -> erlang:monotonic_time(microsecond).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
