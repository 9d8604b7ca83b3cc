%% SPDX-License-Identifier: Apache-2.0
%% @doc Prepares specs for counts by the value of an expression, and for histograms of
%% the values of an expression.
%%
%% A clause of such a spec has the action `{value, Exprs}'. The clause's match
%% spec reports the values in a tuple: if it reported the value `false' alone, the
%% VM would make no event.
-module(inviso_arm_values).

-export([specs/3, body/1]).

%% @doc Returns the specs with the action `{value, Exprs}'. If `Returns' is true, the
%% VM also reports the ends of calls. Throws `{usage, Text}' if an expression is
%% wrong, or if events of a spec have no arguments.
-spec specs([inviso_spec:spec()], [binary()], boolean()) -> [inviso_spec:spec()].
specs(Specs, Texts, Returns) ->
    Actions = [{value, [expr(T) || T <- Texts]} | [return || Returns]],
    [spec(S, Actions) || S <- Specs].

expr(Text) ->
    case inviso_spec_expr:parse(Text) of
        {ok, Expr} -> Expr;
        {error, Why} -> throw({usage, <<"the expression ", Why/binary>>})
    end.

spec(#{clauses := Clauses, text := Text} = Spec, Actions) ->
    _ = maps:get(counters, Spec, []) =:= [] orelse no_actions(Text),
    Spec#{clauses := [clause(C, Actions, Text) || C <- any(Clauses)]};
spec(#{text := Text}, _) ->
    throw({usage, format("~ts: only calls, send and receive have arguments",
                         [Text])}).

%% A spec for messages without a pattern selects every message.
any([]) -> [{'_', [], []}];
any(Clauses) -> Clauses.

clause({Head, Guards, []}, Actions, _) -> {Head, Guards, Actions};
clause(_, _, Text) -> no_actions(Text).

-spec no_actions(binary()) -> no_return().
no_actions(Text) ->
    throw({usage, format("~ts: an expression cannot be combined with actions and "
                         "match specs; write a pattern of arguments", [Text])}).

%% @doc Returns the body of a match spec for the action `{value, Exprs}'.
-spec body({value, [term()]}) -> [term()].
body({value, Exprs}) -> [{message, {list_to_tuple(Exprs)}}].

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
