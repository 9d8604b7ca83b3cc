%% SPDX-License-Identifier: Apache-2.0
%% @doc Checks whether patterns that were set are still set.
%%
%% If a module is loaded again, the VM removes its patterns. On a VM without trace
%% sessions, another tool may clear or replace inviso's pattern. A lost pattern is
%% set again, unless another tool has set its own pattern on the function. A note
%% tells the user what has happened.
-module(inviso_arm_watch).

-export([look/3]).

%% How many patterns one call of look/3 checks.
-define(MAX_PATTERNS, 200).

%% @doc Checks at most ?MAX_PATTERNS patterns: the first ones of the given list.
%% If the list is empty, checks the first ones of all patterns. Returns notes for
%% the user, and the patterns for the next call. If the engine does not answer,
%% the check ends, and the next call checks the same patterns.
-spec look([inviso_scope:pattern()], inviso_tracing:tracing(),
           non_neg_integer()) -> {[binary()], [inviso_scope:pattern()]}.
look([], T, Ms) ->
    case inviso_tracing:patterns(T) of
        [] -> {[], []};
        All -> look(All, T, Ms)
    end;
look(Next, T, Ms) ->
    {Some, Rest} = lists:split(min(?MAX_PATTERNS, length(Next)), Next),
    try
        Found = [{state(P, T), P} || P <- Some],
        Gone = lists:usort([M || {gone, {_, {M, _, _}, _}} <- Found]),
        {[again(M, T, Ms) || M <- Gone]
         ++ lists:usort([changed(P) || {changed, P} <- Found]), Rest}
    catch
        throw:no_answer -> {[], Next}
    end.

state(P, T) ->
    case inviso_tracing:state(P, T) of
        unknown -> throw(no_answer);
        State -> State
    end.

%% Sets all patterns of a module again, in their original order, because a later
%% pattern replaces earlier patterns.
again(M, T, Ms) ->
    Patterns = [P || {_, {M0, _, _}, _} = P <- inviso_tracing:patterns(T),
                     M0 =:= M],
    case again_each(Patterns, T, 0) of
        ok ->
            format("the trace patterns of ~tw were gone because it was loaded "
                   "again or another tool cleared them; they are set again. "
                   "Calls of up to ~b ms before that are missing", [M, Ms]);
        {error, nothing} ->
            format("the traced functions of ~tw are gone: another version was "
                   "loaded, or it was unloaded", [M]);
        {error, _} ->
            format("the trace patterns of ~tw are gone because it was loaded "
                   "again or another tool cleared them, and another tool has "
                   "set its own: nothing more of it is recorded", [M])
    end.

again_each([], _, 0) ->
    {error, nothing};
again_each([], _, _) ->
    ok;
again_each([P | Rest], T, Set) ->
    case inviso_tracing:again(P, T) of
        {ok, N} -> again_each(Rest, T, Set + N);
        {error, timeout} -> throw(no_answer);
        {error, _} = E -> E
    end.

changed({_, {M, F, A}, _}) ->
    format("another tool changed the trace pattern of ~ts: its setting decides "
           "what is recorded", [inviso_spec:format_mfa(M, F, A)]).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
