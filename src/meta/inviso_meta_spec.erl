%% SPDX-License-Identifier: Apache-2.0
%% @doc Match specs of meta traced functions.
%%
%% Some actions of a match spec change flags of the calling process. The VM
%% changes the flags that the process has in the session of the pattern. The flags to
%% change are those of the runtime component's session. But the events of meta
%% tracing must go to another session, that of the meta tracer. So {@link set/4} sets
%% two patterns on a function, one in each session.
-module(inviso_meta_spec).

-export([normal/1, set/4]).

%% @doc Returns a match spec as a list of clauses. `true' and `[]' become a
%% clause that matches every call.
-spec normal(term()) -> {ok, [tuple()]} | error.
normal(true) -> normal([]);
normal([]) -> {ok, [{'_', [], []}]};
normal(List) when length(List) > 0 ->
    case lists:all(fun is_clause/1, List) of
        true -> {ok, List};
        false -> error
    end;
normal(_) -> error.

is_clause({_, _, Body}) when length(Body) >= 0 -> true;
is_clause(_) -> false.

%% @doc Sets or clears the match spec of a function in `Scope'. The actions of
%% the match spec change flags in the scope `Flags'.
-spec set(inviso_scope:scope(), inviso_scope:scope(), mfa(), [tuple()] | false) ->
          {ok, non_neg_integer()} | {error, term()}.
set(Scope, Flags, MFA, false) ->
    _ = set_flags(Flags, MFA, none),
    inviso_scope:set_pattern(Scope, meta, MFA, false);
set(Scope, Flags, MFA, Spec) ->
    {Plain, OnFlags} = split(Spec),
    case set_flags(Flags, MFA, OnFlags) of
        {ok, _} -> inviso_scope:set_pattern(Scope, meta, MFA, Plain);
        {error, _} = E -> E
    end.

%% Sets the pattern that changes flags. `none' clears the pattern, but only if
%% it is set, because clearing can affect other sessions (`bif_two_sessions'
%% in inviso_defects).
set_flags(Flags, MFA, none) ->
    case inviso_scope:is_meta(Flags, MFA) of
        true -> inviso_scope:set_pattern(Flags, meta, MFA, false);
        false -> {ok, 0}
    end;
set_flags(Flags, MFA, MS) ->
    inviso_scope:set_pattern(Flags, meta, MFA, MS).

%% Splits a match spec in two. The first one has no actions that change flags. The
%% second one has only such actions and makes no events. The second one is `none'
%% if there are no such actions.
split(Spec) ->
    Parts = [{C, lists:partition(fun is_flag_action/1, Body)}
             || {_, _, Body} = C <- Spec],
    Plain = [{H, G, Rest} || {{H, G, _}, {_, Rest}} <- Parts],
    case lists:all(fun({_, {Actions, _}}) -> Actions =:= [] end, Parts) of
        true -> {Plain, none};
        false -> {Plain, [{H, G, Actions ++ [{message, false}]}
                          || {{H, G, _}, {Actions, _}} <- Parts]}
    end.

is_flag_action(Action) when tuple_size(Action) > 0 ->
    lists:member(element(1, Action),
                 [trace, enable_trace, disable_trace, silent]);
is_flag_action(_) ->
    false.
