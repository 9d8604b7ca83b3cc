%% SPDX-License-Identifier: Apache-2.0
%% @doc Match specs of meta traced functions: some of their actions change what
%% is traced of the calling process.
%%
%% Without sessions those find the tracer by what is in the action: {@link
%% aim/2}. With sessions the flags that they change are those of the session
%% that has the pattern, so that a function gets two patterns: {@link split/1}.
-module(inviso_meta_spec).

-export([normal/1, aim/2, split/1]).

%% @doc A match spec as a list of clauses, none of them left out.
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

%% @doc Adds the tracer to the flags that the first `trace' action of each body
%% sets.
-spec aim([tuple()], inviso_otp:tracer()) -> [tuple()].
aim(Spec, Tracer) ->
    [{H, G, aim_body(Body, Tracer)} || {H, G, Body} <- Spec].

aim_body([{trace, Disable, Enable} | Rest], Tracer) when is_list(Enable) ->
    [{trace, Disable, Enable ++ [flag(Tracer)]} | Rest];
aim_body([{trace, P, Disable, Enable} | Rest], Tracer) when is_list(Enable) ->
    [{trace, P, Disable, Enable ++ [flag(Tracer)]} | Rest];
aim_body([Action | Rest], Tracer) ->
    [Action | aim_body(Rest, Tracer)];
aim_body([], _Tracer) ->
    [].

%% A tuple within a body has two pairs of braces.
flag({Module, State}) -> {{tracer, Module, State}};
flag(Pid) -> {{tracer, Pid}}.

%% @doc The spec without the actions on flags, and a spec that has them alone
%% and sends no message; `none' when there is no such action.
-spec split([tuple()]) -> {[tuple()], [tuple()] | none}.
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
