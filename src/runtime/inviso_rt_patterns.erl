%% SPDX-License-Identifier: Apache-2.0
%% @doc Translates the trace patterns of the API for {@link inviso_tracing}:
%% finds the modules that a pattern names, and applies its options.
-module(inviso_rt_patterns).

-export([request/4]).

-type kind() :: global | local.
-type result() :: non_neg_integer() | {error, {bad_trace_args, term()}}.

%% @doc Sets or clears one pattern of the API. Returns a result for each module
%% that the pattern names.
-spec request(kind(), set | clear, term(), inviso_tracing:tracing()) ->
          {[result()], inviso_tracing:tracing()}.
request(Kind, set, {M, F, A, MS}, T) ->
    request(Kind, set, {M, F, A, MS, []}, T);
request(Kind, set, {M, F, A, MS, Opts}, T) when length(Opts) >= 0 ->
    Arg = {M, F, A, MS},
    case kinds(Kind, Opts) of
        {error, Reason} ->
            {[bad(Arg, Reason)], T};
        Kinds ->
            Set = fun(One, Acc) -> set(Kinds, One, Opts, Acc) end,
            modules(Arg, Opts, Set, T)
    end;
request(Kind, clear, {M, F, A}, T) ->
    Clear = fun(One, Acc) -> clear(Kind, One, Acc) end,
    modules({M, F, A, false}, [only_loaded], Clear, T);
request(_Kind, _How, Other, T) ->
    {[{error, {bad_trace_args, Other}}], T}.

%% Returns the kinds of trace pattern that the options select. Refuses unknown
%% options: if a misspelt `only_loaded' were ignored, modules would be loaded.
kinds(Kind, Opts) ->
    Counters = lists:usort([O || O <- Opts, inviso_patterns:is_counter(O)]),
    case {[O || O <- Opts, not is_option(O)],
          [C || C <- Counters, not inviso_vm:has_counter(C)]} of
        {[Option | _], _} -> {error, {unknown_option, Option}};
        {[], [Counter | _]} -> {error, {not_supported, Counter}};
        {[], []} when Counters =:= [] -> [Kind];
        {[], []} when Kind =:= local -> Counters;
        {[], []} -> {error, {not_global, hd(Counters)}}
    end.

is_option(Option) ->
    lists:member(Option, [only_loaded, no_loadcheck])
        orelse inviso_patterns:is_counter(Option).

bad(Arg, Reason) ->
    {error, {bad_trace_args, [Arg, Reason]}}.

modules({M, F, A, MS} = Arg, Opts, Fun, T)
  when is_atom(F), (is_integer(A) andalso A >= 0 orelse A =:= '_') ->
    Which = case lists:member(only_loaded, Opts) of
                true -> loaded;
                false -> loadable
            end,
    case inviso_modules:expand(M, Which) of
        {ok, Mods} ->
            lists:mapfoldl(fun(Mod, Acc) -> Fun({Mod, F, A, MS}, Acc) end,
                           T, Mods);
        error ->
            {[{error, {bad_trace_args, Arg}}], T}
    end;
modules(Arg, _Opts, _Fun, T) ->
    {[{error, {bad_trace_args, Arg}}], T}.

set([Kind | More], {M, F, A, MS} = Arg, Opts, T) ->
    case available(M, Opts) andalso try_set(Kind, {M, F, A}, MS, T) of
        false -> {0, T};
        {{ok, N}, T1} when More =:= [] -> {N, T1};
        {{ok, _}, T1} -> set(More, Arg, Opts, T1);
        {{error, Reason}, _} -> {bad(Arg, Reason), T}
    end.

%% Clears a pattern. Also clears the counters of its functions, because inviso
%% stores them as separate patterns.
clear(Kind, {M, F, A, false} = Arg, T) ->
    {Result, T1} = set([Kind], Arg, [only_loaded], T),
    Counters = [C || Kind =:= local,
                     C <- inviso_tracing:counted({M, F, A}, T1)],
    {Result, lists:foldl(fun(C, Acc) ->
                                 {_, Next} = try_set(C, {M, F, A}, false, Acc),
                                 Next
                         end, T1, Counters)}.

available('_', _) ->
    true;
available(M, Opts) ->
    lists:member(no_loadcheck, Opts)
        orelse erlang:module_loaded(M)
        orelse (not lists:member(only_loaded, Opts)
                andalso code:ensure_loaded(M) =:= {module, M}).

%% Sets a pattern. `MS' can always be a boolean. For a counter, such as
%% `call_count', it can also be `restart' or `pause'. For other kinds of patterns
%% it can also be a list of clauses. Other terms are refused: the VM would accept
%% some of them and set patterns that inviso would not clear.
try_set(Kind, MFA, MS, T) ->
    Counts = inviso_patterns:is_counter(Kind),
    case is_boolean(MS) orelse is_list(MS) andalso not Counts
        orelse Counts andalso lists:member(MS, [restart, pause]) of
        true -> inviso_tracing:set(Kind, MFA, MS, T);
        false -> {{error, badarg}, T}
    end.
