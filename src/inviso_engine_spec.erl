%% SPDX-License-Identifier: Apache-2.0
%% @doc The match specs of several sessions as one of the VM's.
%%
%% The result tells who matched: `{Sessions, Valued, Returns, Exceptions,
%% Value...}', see c_src/engine/verdict.h. The VM takes the first clause that
%% matches; so there is one for each combination of clauses, one from each
%% session or none, in lexical order, and each session gets the first of its
%% own. Guards stay guards, with their rules for errors, and a call puts a frame
%% on the stack only where a session that matches asks for it.
%%
%% A session that is alone with its match spec has its heads as they are. With
%% two, heads become guards on the argument list, `$_', and variables the way to
%% what they are bound to.
-module(inviso_engine_spec).

-export([check/2, compose/1, is_ours/1]).

-export_type([match_spec/0]).

-type match_spec() :: true | [tuple()].

%% More clauses than this are refused: the VM tries one after the other.
-define(CLAUSES_MAX, 256).

%% @doc Whether the VM takes the match spec and the engine can serve it.
-spec check(match_spec() | false, function | send | 'receive') ->
          ok | {error, badarg | {not_supported, term()}}.
check(MS, _) when is_boolean(MS) ->
    ok;
check(MS, What) when is_list(MS) ->
    case erlang:match_spec_test([], MS, trace) of
        {ok, _, _, _} ->
            check_actions([A || {_, _, Body} <- MS, A <- Body], What);
        {error, _} -> {error, badarg}
    end;
check(_, _) ->
    {error, badarg}.

%% What such an action changes is one thing for the whole VM. Most of them the
%% VM refuses where messages are received.
check_actions([Action | Rest], What)
  when is_tuple(Action), tuple_size(Action) > 0 ->
    Name = element(1, Action),
    Elsewhere = [silent, trace, enable_trace, disable_trace, set_seq_token],
    Refused = What =:= 'receive' andalso lists:member(Name, Elsewhere),
    case lists:member(Name, [set_tcw, display | Elsewhere]) of
        false -> check_actions(Rest, What);
        true when Refused -> {error, badarg};
        true -> {error, {not_supported, Action}}
    end;
check_actions([_ | Rest], What) ->
    check_actions(Rest, What);
check_actions([], _) ->
    ok.

%% @doc One match spec for those of these sessions.
-spec compose([{inviso_engine:slot(), match_spec()}]) ->
          {ok, [tuple()]} | {error, {not_supported, term()}}.
compose(Sessions) ->
    {Always, Specs} = lists:partition(fun({_, MS}) -> MS =:= true end,
                                      lists:keysort(1, Sessions)),
    Rest = [chosen(Slot, true, none) || {Slot, _} <- Always],
    case Specs of
        [] ->
            {ok, [{'_', [], body(Rest)}]};
        [{Slot, MS}] ->
            {ok, [{Head, Guards, body([choose(Slot, Body) | Rest])}
                  || {Head, Guards, Body} <- MS]
             ++ [{'_', [], body(Rest)} || Rest =/= []]};
        _ ->
            compose(Specs, Rest)
    end.

%% @doc Whether this, from `erlang:trace_info/2', was composed here.
-spec is_ours({match_spec, term()}) -> boolean().
is_ours({match_spec, [{_, _, [{message, {Result}} | _]} | _]})
  when is_tuple(Result), tuple_size(Result) >= 4 ->
    lists:all(fun is_integer/1, lists:sublist(tuple_to_list(Result), 4));
is_ours({match_spec, _}) ->
    false.

compose(Specs, Rest) ->
    Clauses = lists:foldl(fun({_, MS}, N) -> N * (length(MS) + 1) end, 1,
                          Specs),
    case Clauses of
        _ when Clauses > ?CLAUSES_MAX ->
            {error, {not_supported, {match_spec_clauses, Clauses}}};
        _ ->
            {ok, [{'_', lists:append([G || {G, _} <- Row]),
                   body([C || {_, C} <- Row, C =/= none] ++ Rest)}
                  || Row <- rows(Specs),
                     Rest =/= [] orelse
                         lists:any(fun({_, C}) -> C =/= none end, Row)]}
    end.

%% [[{Guards, what the session gets}]], one inner element for each session.
rows([]) ->
    [[]];
rows([{Slot, MS} | Specs]) ->
    Choices = [as_guards(Slot, Clause) || Clause <- MS] ++ [{[], none}],
    Tails = rows(Specs),
    [[C | Tail] || C <- Choices, Tail <- Tails].

%% {Slot, Value of the message, whether it wants to hear of the end}
chosen(Slot, Value, End) -> {Slot, Value, End}.

choose(Slot, Body) ->
    lists:foldl(fun({message, Value}, {S, _, End}) -> {S, Value, End};
                   ({return_trace}, {S, V, none}) -> {S, V, return};
                   ({exception_trace}, {S, V, _}) -> {S, V, exception};
                   (_, Chosen) -> Chosen
                end, chosen(Slot, true, none), Body).

body(Row0) ->
    Row = lists:keysort(1, Row0),
    Sessions = mask([S || {S, V, _} <- Row, V =/= false]),
    Values = [{S, V} || {S, V, _} <- Row, not is_boolean(V)],
    Returns = mask([S || {S, _, End} <- Row, End =/= none]),
    Exceptions = mask([S || {S, _, exception} <- Row]),
    case Sessions bor Returns of
        0 ->
            [{message, false}];
        _ ->
            [{message, {list_to_tuple([Sessions, mask([S || {S, _} <- Values]),
                                       Returns, Exceptions
                                       | [V || {_, V} <- Values]])}}
             %% Every end is told, so that the engine's account of frames is
             %% right.
             | [{exception_trace} || Returns =/= 0]]
    end.

mask(Slots) ->
    lists:foldl(fun(S, Mask) -> Mask bor (1 bsl S) end, 0, Slots).

%%---------------------------------------------------------------------------
%% Heads as guards.

as_guards(Slot, {Head, Guards, Body}) ->
    {Tests, Vars} = pattern(Head, '$_', {[], #{}}),
    {Slot, Value, End} = choose(Slot, Body),
    {lists:reverse(Tests) ++ [bind(G, Vars) || G <- Guards],
     chosen(Slot, bind(Value, Vars), End)}.

%% Tests, the last first, and what variables are bound to.
pattern('_', _Path, Acc) ->
    Acc;
pattern(P, Path, {Tests, Vars} = Acc) when is_atom(P) ->
    case {is_variable(P), Vars} of
        {true, #{P := Bound}} -> {[{'=:=', Path, Bound} | Tests], Vars};
        {true, _} -> {Tests, Vars#{P => Path}};
        {false, _} -> constant(P, Path, Acc)
    end;
pattern(P, Path, Acc) ->
    case is_ground(P) of
        true -> constant(P, Path, Acc);
        false -> parts(P, Path, Acc)
    end.

parts([H | T], Path, {Tests, Vars}) ->
    Acc = {[{'=/=', Path, []}, {is_list, Path} | Tests], Vars},
    pattern(T, {tl, Path}, pattern(H, {hd, Path}, Acc));
parts(P, Path, {Tests, Vars}) when is_tuple(P) ->
    Acc = {[{'=:=', {size, Path}, tuple_size(P)}, {is_tuple, Path} | Tests],
           Vars},
    {_, Last} = lists:foldl(fun(E, {I, A}) ->
                                    {I + 1, pattern(E, {element, I, Path}, A)}
                            end, {1, Acc}, tuple_to_list(P)),
    Last;
parts(P, Path, {Tests, Vars}) when is_map(P) ->
    maps:fold(fun(K, V, {Ts, Vs}) ->
                      Key = {const, K},
                      pattern(V, {map_get, Key, Path},
                              {[{is_map_key, Key, Path} | Ts], Vs})
              end, {[{is_map, Path} | Tests], Vars}, P).

constant(P, Path, {Tests, Vars}) ->
    {[{'=:=', Path, {const, P}} | Tests], Vars}.

%% What matches itself alone. A map matches larger ones too.
is_ground(P) when is_atom(P) -> P =/= '_' andalso not is_variable(P);
is_ground([H | T]) -> is_ground(H) andalso is_ground(T);
is_ground(P) when is_tuple(P) -> is_ground(tuple_to_list(P));
is_ground(P) -> not is_map(P).

bind({const, _} = C, _Vars) ->
    C;
bind('$$', Vars) ->
    [maps:get(V, Vars) || V <- lists:sort(fun before/2, maps:keys(Vars))];
bind(E, Vars) when is_atom(E) ->
    maps:get(E, Vars, E);
bind([H | T], Vars) ->
    [bind(H, Vars) | bind(T, Vars)];
bind(E, Vars) when is_tuple(E) ->
    list_to_tuple([bind(X, Vars) || X <- tuple_to_list(E)]);
bind(E, Vars) when is_map(E) ->
    maps:from_list([{bind(K, Vars), bind(V, Vars)}
                    || {K, V} <- maps:to_list(E)]);
bind(E, _Vars) ->
    E.

is_variable(Atom) ->
    case atom_to_list(Atom) of
        "$" ++ [_ | _] = Digits ->
            lists:all(fun(C) -> C >= $0 andalso C =< $9 end, tl(Digits));
        _ ->
            false
    end.

before(A, B) ->
    number(A) =< number(B).

number(Variable) ->
    "$" ++ Digits = atom_to_list(Variable),
    list_to_integer(Digits).
