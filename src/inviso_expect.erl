%% SPDX-License-Identifier: Apache-2.0
%% @doc How many events to expect, from calls counted beforehand.
%%
%% Counters of the VM (`call_count') cost a few nanoseconds a call, send nothing
%% and know neither arguments nor processes: what they tell is the most that can
%% come. Where the VM has no sessions they are set only on functions that have
%% no pattern of any kind.
%%
%% They are set by a process of their own, which clears them however the one
%% that asked fares.
-module(inviso_expect).

-export([per_second/2]).

%% For setting the counters, and for reading them.
-define(SPARE_MS, 5000).

%% @doc The most events a second, if patterns like these are set. Takes `Ms'
%% milliseconds.
-spec per_second([inviso_arm_functions:operation()], pos_integer()) ->
          {ok, non_neg_integer()} | {unknown, binary()}.
per_second(Operations, Ms) ->
    Calls = once([{MFA, weight(MS)} || {{local, MFA, MS}, _} <- Operations]),
    case owned(Calls) of
        {true, Text} -> {unknown, Text};
        false when Calls =:= [] -> {ok, 0};
        false -> counted(Calls, Ms)
    end.

%% A function that is counted with its module is not counted twice.
once(Calls) ->
    Whole = maps:from_list([{M, W} || {{M, '_', '_'}, W} <- Calls]),
    More = [M || {{M, F, _}, 2} <- Calls, F =/= '_', is_map_key(M, Whole)],
    All = maps:merge(Whole, maps:from_keys(More, 2)),
    [{{M, '_', '_'}, W} || {M, W} <- maps:to_list(All)]
        ++ [Call || {{M, _, _}, _} = Call <- Calls, not is_map_key(M, Whole)].

%% A call with its return is two events.
weight(true) -> 1;
weight(Clauses) ->
    case [1 || {_, _, Body} <- Clauses,
               lists:member({exception_trace}, Body)
                   orelse lists:member({return_trace}, Body)] of
        [] -> 1;
        _ -> 2
    end.

owned(Calls) ->
    case [MFA || not inviso_otp:has_sessions(), {Which, _} <- Calls,
                 MFA <- meant(Which), inviso_otp:foreign_pattern(alone, any, MFA)] of
        [] ->
            false;
        [{M, F, A} | _] ->
            {true, format("~ts has a trace pattern of somebody, which counting "
                          "would change", [inviso_spec:format_mfa(M, F, A)])}
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
    %% The engine's library is not there where nothing is to be traced.
    Way = case inviso_otp:has_sessions() of
              true -> shared;
              false -> alone
          end,
    Scope = inviso_otp:scope_open(Way, inviso_count, self()),
    Patterns = [{call_count, MFA, true} || {MFA, _} <- Calls],
    Deadline = now_ms() + ?SPARE_MS,
    Outcome = try
                  ok = set(Patterns, Scope, Ref, Deadline),
                  measure(Calls, Ms, Scope, Ref)
              catch
                  throw:Why -> Why
              after
                  inviso_otp:patterns_close(Scope, Patterns)
              end,
    exit(Outcome).

set([], _Scope, _Ref, _Deadline) ->
    ok;
set([{Kind, MFA, MS} | Rest], Scope, Ref, Deadline) ->
    ok = asked_still(Ref, 0),
    _ = now_ms() > Deadline andalso throw(too_many_functions),
    case inviso_otp:set_pattern(Scope, Kind, MFA, MS, []) of
        {ok, _} -> set(Rest, Scope, Ref, Deadline);
        {error, Why} -> throw(Why)
    end.

%% Setting many takes long, so what is counted since begins when all are set.
measure(Calls, Ms, Scope, Ref) ->
    Functions = [{MFA, W} || {Which, W} <- Calls, MFA <- meant(Which)],
    {T0, C0} = {now_us(), total(Functions, Scope)},
    ok = asked_still(Ref, Ms),
    {T1, C1} = {now_us(), total(Functions, Scope)},
    {counted, (C1 - C0) * 1000000 div max(1, T1 - T0)}.

total(Functions, Scope) ->
    lists:sum([W * element(1, inviso_otp:counter(Scope, call_count, MFA))
               || {MFA, W} <- Functions]).

asked_still(Ref, Ms) ->
    receive
        {'DOWN', Ref, process, _, _} -> throw(nobody_asks)
    after Ms -> ok
    end.

meant({M, '_', '_'}) ->
    [{M, F, A} || {F, A} <- inviso_arm_functions:functions_of(M)];
meant(MFA) ->
    [MFA].

now_ms() -> erlang:monotonic_time(millisecond).

now_us() -> erlang:monotonic_time(microsecond).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
