%% SPDX-License-Identifier: Apache-2.0
%% @doc The trace patterns of a runtime component: those it was asked for, in
%% the order in which they were set.
%%
%% They outlive the scope (see docs/decisions/0303): without one a pattern is
%% only tried, and set when there is one.
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
    modules(Kind, {M, F, A, MS}, [], Scope, Ps);
request(Kind, set, {M, F, A, MS, Opts}, Scope, Ps) when length(Opts) >= 0 ->
    Arg = {M, F, A, MS},
    case [O || O <- Opts, not is_option(O)] of
        [] -> modules(Kind, Arg, Opts, Scope, Ps);
        [O | _] -> {[bad(Arg, {unknown_option, O})], Ps}
    end;
request(Kind, clear, {M, F, A}, Scope, Ps) ->
    modules(Kind, {M, F, A, false}, [only_loaded], Scope, Ps);
request(_Kind, _How, Other, _Scope, Ps) ->
    {[{error, {bad_trace_args, Other}}], Ps}.

%% Misspelt, it would load modules.
is_option(Option) ->
    lists:member(Option, [only_loaded, no_loadcheck]).

bad(Arg, Reason) ->
    {error, {bad_trace_args, [Arg, Reason]}}.

modules(Kind, {M, F, A, MS} = Arg, Opts, Scope, Ps)
  when is_atom(F), (is_integer(A) andalso A >= 0 orelse A =:= '_') ->
    Which = case lists:member(only_loaded, Opts) of
                true -> loaded;
                false -> loadable
            end,
    case inviso_modules:expand(M, Which) of
        {ok, Mods} ->
            lists:mapfoldl(fun(Mod, Acc) ->
                                   one(Kind, {Mod, F, A, MS}, Opts, Scope, Acc)
                           end, Ps, Mods);
        error ->
            {[{error, {bad_trace_args, Arg}}], Ps}
    end;
modules(_Kind, Arg, _Opts, _Scope, Ps) ->
    {[{error, {bad_trace_args, Arg}}], Ps}.

%% What else the VM takes, such as `restart', is of its counters.
one(_Kind, {_, _, _, MS} = Arg, _Opts, _Scope, Ps)
  when not is_list(MS), not is_boolean(MS) ->
    {bad(Arg, badarg), Ps};
one(Kind, {M, F, A, MS} = Arg, Opts, Scope, Ps) ->
    MFA = {M, F, A},
    case available(M, Opts) andalso set(Kind, MFA, MS, Scope, Ps) of
        false ->
            {0, Ps};
        {ok, N} ->
            {N, remember(Kind, MFA, MS, Ps)};
        {error, Reason} ->
            {bad(Arg, Reason), Ps}
    end.

available('_', _) ->
    true;
available(M, Opts) ->
    lists:member(no_loadcheck, Opts)
        orelse erlang:module_loaded(M)
        orelse (not lists:member(only_loaded, Opts)
                andalso code:ensure_loaded(M) =:= {module, M}).

set(Kind, MFA, MS, none, _Ps) ->
    inviso_otp:count_pattern(Kind, MFA, MS);
set(Kind, MFA, MS, Scope, Ps) ->
    inviso_otp:set_pattern(Scope, Kind, MFA, MS, Ps).

%% What is wholly covered by a new pattern is forgotten; what partly is must be
%% set again in the same order.
remember(Kind, MFA, MS, Patterns) ->
    Rest = [P || {K, Old, _} = P <- Patterns,
                 not (covers(MFA, Old)
                      andalso (MS =/= false orelse K =:= Kind))],
    case MS =:= false andalso not lists:any(fun({_, Old, _}) ->
                                                    overlap(MFA, Old)
                                            end, Rest) of
        true -> Rest;
        false -> Rest ++ [{Kind, MFA, MS}]
    end.

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
