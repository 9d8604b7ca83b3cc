%% SPDX-License-Identifier: Apache-2.0
%% @doc Helper functions for tools on top of inviso. They have the same names as
%% in the original Inviso.
-module(inviso_rt_lib).

-export([expand_regexp/2, expand_regexp/3, expand_regexp/4, is_tracerdata/1,
         transform/2, debug/3]).

-type regexp() :: string().
-type opts() :: [only_loaded].

%% @doc Returns the modules of this node whose names match a regular expression.
-spec expand_regexp(regexp(), opts()) ->
          [module()] | {error, {badarg, term()}}.
expand_regexp(ModRe, Opts) ->
    here(ModRe, Opts).

%% @doc If the first argument is a list of nodes, returns for each node the
%% modules whose names match the second argument, or `badrpc' for a node without
%% inviso's code. If the first argument is a regular expression, returns the
%% modules of this node whose directory matches the first argument and whose name
%% matches the second.
-spec expand_regexp([node()] | regexp(), regexp(), opts()) ->
          [module() | {node(), [module()] | badrpc | {error, {badarg, term()}}}]
        | {error, {badarg, term()}}.
expand_regexp(X, ModRe, Opts) ->
    case inviso_modules:is_string(X) of
        true -> here({X, ModRe}, Opts);
        false -> on_nodes(X, ModRe, Opts)
    end.

%% @doc Returns for each node the modules whose directory and name match.
-spec expand_regexp([node()], regexp(), regexp(), opts()) ->
          [{node(), [module()] | badrpc | {error, {badarg, term()}}}].
expand_regexp(Nodes, DirRe, ModRe, Opts) ->
    on_nodes(Nodes, {DirRe, ModRe}, Opts).

here(Mods, Opts) ->
    expanded(inviso_modules:expand(Mods, which(Opts)), Mods).

on_nodes(Nodes, Mods, Opts) when length(Nodes) >= 0 ->
    Answers = erpc:multicall(Nodes, inviso_rt, expand,
                             [Mods, which(Opts)], 30000),
    [{Node, case Answer of
                {ok, Expanded} -> expanded(Expanded, Mods);
                _ -> badrpc
            end} || {Node, Answer} <- lists:zip(Nodes, Answers)].

expanded({ok, Modules}, _) -> Modules;
expanded(error, Mods) -> {error, {badarg, Mods}}.

which(Opts) ->
    case lists:member(only_loaded, Opts) of
        true -> loaded;
        false -> loadable
    end.

%% @doc See {@link inviso_tracerdata:is_tracerdata/1}.
-spec is_tracerdata(term()) -> boolean().
is_tracerdata(Term) ->
    inviso_tracerdata:is_tracerdata(Term).

%% @doc See {@link inviso_case:transform/2}.
-spec transform([erl_parse:abstract_expr()], [inviso_case:translation()]) ->
          [erl_parse:abstract_expr()].
transform(Exprs, Translations) ->
    inviso_case:transform(Exprs, Translations).

%% @doc Prints `What' and `Description', unless the level is `off'.
-spec debug(term(), term(), term()) -> ok.
debug(off, _What, _Description) ->
    ok;
debug(_Level, What, Description) ->
    io:format("INVISO DEBUG:~tp, ~tp~n", [What, Description]).
