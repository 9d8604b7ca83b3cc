%% SPDX-License-Identifier: Apache-2.0
%% @doc The trace patterns of a runtime component: those it was asked for, in
%% the order in which they were set.
%%
%% They outlive the scope (see docs/decisions/0303): without one a pattern is
%% only tried, and set when there is one. A function has one pattern for its
%% events, and one of each kind of counter ({@link inviso_rt_counters}).
-module(inviso_rt_patterns).

-export([request/5, set_all/2, clear_all/2]).

-type kind() :: global | local.
-type patterns() :: [inviso_otp:pattern()].
-type scope() :: none | inviso_otp:scope().
-type result() :: non_neg_integer() | {error, {bad_trace_args, term()}}.

%% @doc Sets or clears what one element of a list of the API says. A result for
%% each module that it names.
-spec request(kind(), set | clear, term(), scope(), patterns()) ->
          {[result()], patterns()}.
request(Kind, set, {M, F, A, MS}, Scope, Ps) ->
    request(Kind, set, {M, F, A, MS, []}, Scope, Ps);
request(Kind, set, {M, F, A, MS, Opts}, Scope, Ps) when length(Opts) >= 0 ->
    Arg = {M, F, A, MS},
    case kinds(Kind, Opts) of
        {error, Reason} ->
            {[bad(Arg, Reason)], Ps};
        Kinds ->
            Set = fun(One, Acc) -> set(Kinds, One, Opts, Scope, Acc) end,
            modules(Arg, Opts, Set, Ps)
    end;
request(Kind, clear, {M, F, A}, Scope, Ps) ->
    Clear = fun(One, Acc) -> clear(Kind, One, Scope, Acc) end,
    modules({M, F, A, false}, [only_loaded], Clear, Ps);
request(_Kind, _How, Other, _Scope, Ps) ->
    {[{error, {bad_trace_args, Other}}], Ps}.

%% A misspelt option would load modules.
kinds(Kind, Opts) ->
    Counters = inviso_rt_counters:kinds(Opts),
    case {[O || O <- Opts, not is_option(O)],
          [C || C <- Counters, not inviso_otp:has_counter(C)]} of
        {[Option | _], _} -> {error, {unknown_option, Option}};
        {[], [Counter | _]} -> {error, {not_supported, Counter}};
        {[], []} when Counters =:= [] -> [Kind];
        {[], []} when Kind =:= local -> Counters;
        {[], []} -> {error, {not_global, hd(Counters)}}
    end.

is_option(Option) ->
    lists:member(Option, [only_loaded, no_loadcheck])
        orelse inviso_rt_counters:is_kind(Option).

bad(Arg, Reason) ->
    {error, {bad_trace_args, [Arg, Reason]}}.

modules({M, F, A, MS} = Arg, Opts, Fun, Ps)
  when is_atom(F), (is_integer(A) andalso A >= 0 orelse A =:= '_') ->
    Which = case lists:member(only_loaded, Opts) of
                true -> loaded;
                false -> loadable
            end,
    case inviso_modules:expand(M, Which) of
        {ok, Mods} ->
            lists:mapfoldl(fun(Mod, Acc) -> Fun({Mod, F, A, MS}, Acc) end,
                           Ps, Mods);
        error ->
            {[{error, {bad_trace_args, Arg}}], Ps}
    end;
modules(Arg, _Opts, _Fun, Ps) ->
    {[{error, {bad_trace_args, Arg}}], Ps}.

set([Kind | More], {M, F, A, MS} = Arg, Opts, Scope, Ps) ->
    MFA = {M, F, A},
    case available(M, Opts) andalso try_set(Kind, MFA, MS, Scope, Ps) of
        false ->
            {0, Ps};
        {ok, N} ->
            Ps1 = remember(Kind, MFA, MS, Ps),
            case More of
                [] -> {N, Ps1};
                _ -> set(More, Arg, Opts, Scope, Ps1)
            end;
        {error, Reason} ->
            {bad(Arg, Reason), Ps}
    end.

%% Counters too, which have a pattern of their own to be cleared by.
clear(Kind, {M, F, A, false} = Arg, Scope, Ps) ->
    {Result, Ps1} = set([Kind], Arg, [only_loaded], Scope, Ps),
    Counted = [{K, meet({M, F, A}, Old)}
               || Kind =:= local, {K, Old, true} <- Ps1,
                  inviso_rt_counters:is_kind(K), overlap({M, F, A}, Old)],
    {Result, lists:foldl(fun({K, MFA}, Acc) ->
                                 _ = try_set(K, MFA, false, Scope, Acc),
                                 remember(K, MFA, false, Acc)
                         end, Ps1, Counted)}.

available('_', _) ->
    true;
available(M, Opts) ->
    lists:member(no_loadcheck, Opts)
        orelse erlang:module_loaded(M)
        orelse (not lists:member(only_loaded, Opts)
                andalso code:ensure_loaded(M) =:= {module, M}).

%% Of what else the VM takes, much would be set without being known here.
try_set(Kind, MFA, MS, Scope, Ps) ->
    Counts = inviso_rt_counters:is_kind(Kind),
    case {is_boolean(MS), is_list(MS)} of
        {true, _} -> exclusive(Kind, MFA, MS, Scope, Ps);
        {_, true} when not Counts -> exclusive(Kind, MFA, MS, Scope, Ps);
        _ when Counts, MS =:= restart; Counts, MS =:= pause ->
            held(Kind, MFA, MS, Scope, Ps);
        _ -> {error, badarg}
    end.

%% The VM has for a function either a global pattern or counters.
exclusive(Kind, MFA, MS, Scope, Ps) ->
    case [Old || MS =/= false, {K, Old, Ms} <- Ps, Ms =/= false,
                 excludes(Kind, K), overlap(MFA, Old)] of
        [Old | _] -> {error, {already_traced, Old}};
        [] when Scope =:= none -> inviso_otp:count_pattern(Kind, MFA, MS);
        [] -> inviso_otp:set_pattern(Scope, Kind, MFA, MS, Ps)
    end.

excludes(global, K) -> inviso_rt_counters:is_kind(K);
excludes(K, global) -> inviso_rt_counters:is_kind(K);
excludes(_, _) -> false.

%% Only counters that are there: others would be set by it.
held(_Kind, _MFA, _MS, none, _Ps) ->
    {error, no_tracer};
held(Kind, MFA, MS, Scope, Ps) ->
    Counted = lists:foldl(fun({K, Old, true}, Is) when K =:= Kind ->
                                  Is orelse covers(Old, MFA);
                             ({K, Old, false}, Is) when K =:= Kind ->
                                  Is andalso not overlap(Old, MFA);
                             (_, Is) ->
                                  Is
                          end, false, Ps),
    case Counted of
        true -> inviso_otp:set_pattern(Scope, Kind, MFA, MS, Ps);
        false -> {error, not_counted}
    end.

%% What is wholly covered by a new pattern is forgotten; what partly is must be
%% set again in the same order.
remember(_Kind, _MFA, MS, Patterns) when MS =:= restart; MS =:= pause ->
    Patterns;
remember(Kind, MFA, MS, Patterns) ->
    Rest = [P || {K, Old, _} = P <- Patterns,
                 not (covers(MFA, Old) andalso replaces(Kind, MS, K))],
    case MS =:= false andalso not lists:any(fun({K, Old, _}) ->
                                                    is_same(K, Kind) andalso
                                                        overlap(MFA, Old)
                                            end, Rest) of
        true -> Rest;
        false -> Rest ++ [{Kind, MFA, MS}]
    end.

replaces(Kind, _, Kind) -> true;
replaces(Kind, MS, K) -> MS =/= false andalso is_same(Kind, K).

%% Of a function's events there is one pattern, be it global or local.
is_same(Kind, Kind) -> true;
is_same(Kind, K) ->
    not inviso_rt_counters:is_kind(Kind)
        andalso not inviso_rt_counters:is_kind(K).

meet({M, F, A}, {M1, F1, A1}) ->
    {meet(M, M1), meet(F, F1), meet(A, A1)};
meet('_', X) -> X;
meet(X, _) -> X.

covers({M, F, A}, {M1, F1, A1}) ->
    (M =:= '_' orelse M =:= M1) andalso (F =:= '_' orelse F =:= F1)
        andalso (A =:= '_' orelse A =:= A1).

overlap({M, F, A}, {M1, F1, A1}) ->
    alike(M, M1) andalso alike(F, F1) andalso alike(A, A1).

alike('_', _) -> true;
alike(_, '_') -> true;
alike(X, Y) -> X =:= Y.

%% @doc Sets all of them in a new scope.
-spec set_all(inviso_otp:scope(), patterns()) -> ok.
set_all(Scope, Patterns) ->
    _ = [inviso_otp:set_pattern(Scope, Kind, MFA, MS, Patterns)
         || {Kind, MFA, MS} <- Patterns],
    ok.

%% @doc Clears all of them.
-spec clear_all(scope(), patterns()) -> ok.
clear_all(none, _Patterns) ->
    ok;
clear_all(Scope, Patterns) ->
    _ = [inviso_otp:set_pattern(Scope, Kind, MFA, false, Patterns)
         || {Kind, MFA, _} <- lists:reverse(Patterns)],
    ok.
