%% SPDX-License-Identifier: Apache-2.0
%% @doc Random selectors of calls and messages, and arguments that they often match.
%%
%% A selector is made as a tree, which is printed in Erlang's and in Elixir's
%% notation. So both texts must select the same calls.
-module(inviso_selector_gen).

-export(['case'/0, mutated/1]).

-record(g, {vars = [] :: [{pos_integer(), term()}],
            records = false :: boolean()}).

-define(RECORD, [a, b, c]).

%% @doc Returns the texts of one selector, and lists of arguments. The seed of `rand'
%% determines them. Elixir's text is `none' if the selector has a record.
-spec 'case'() -> #{erlang := string(), elixir := none | string(),
                    args := [[term()]]}.
'case'() ->
    Kind = pick([call, call, call, call, send, 'receive']),
    Most = case Kind of
               call -> 3;
               send -> 2;
               'receive' -> 3
           end,
    Least = case Kind of
                call -> 0;
                _ -> 1
            end,
    N = Least + rand:uniform(Most - Least + 1) - 1,
    {Patterns, G} = lists:mapfoldl(fun(_, Acc) -> pattern(3, Acc) end,
                                   #g{records = Kind =:= call
                                                  andalso one_in(4)},
                                   lists:seq(1, N)),
    Guards = [[guard(2, G) || _ <- lists:seq(1, pick([1, 1, 2]))]
              || _ <- lists:seq(1, pick([0, 0, 1, 1, 2]))],
    Pad = case Kind of
              call -> 0;
              _ -> Most - N
          end,
    Args = [[term(1) || _ <- lists:seq(1, Pad)]
            ++ [value(P, Bound) || P <- Patterns]
            || _ <- lists:seq(1, 6),
               Bound <- [[{V, maybe_other(T)} || {V, T} <- G#g.vars]]],
    HasRecord = has_record(Patterns) orelse has_record(Guards),
    #{erlang => text(erlang, Kind, Patterns, Guards),
      elixir => case HasRecord of
                    true -> none;
                    false -> text(elixir, Kind, Patterns, Guards)
                end,
      args => [other(A) || A <- Args]}.

%% --- trees --------------------------------------------------------------------

pattern(0, G) ->
    leaf(G);
pattern(N, G) ->
    case rand:uniform(14) of
        1 -> several(fun(Ps) -> {list, Ps, nil} end, N, G);
        2 ->
            {Tail, G1} = leaf_list(G),
            several(fun(Ps) -> {list, Ps, Tail} end, 1, 2, N, G1);
        3 -> several(fun(Ps) -> {tuple, Ps} end, N, G);
        4 ->
            {P, G1} = pattern(N - 1, G),
            {{map, [{pick([k, 1, "key"]), P}]}, G1};
        5 ->
            {T, G1} = leaf_list(G),
            {{append, pick(["a", "bc"]), T}, G1};
        6 when G#g.records ->
            {P, G1} = pattern(N - 1, G),
            {{record, [{pick(?RECORD), P}]}, G1};
        _ -> leaf(G)
    end.

several(Make, N, G) -> several(Make, 0, 3, N, G).

several(Make, Least, Most, N, G) ->
    {Ps, G1} = lists:mapfoldl(fun(_, Acc) -> pattern(N - 1, Acc) end, G,
                              lists:seq(1, Least - 1
                                        + rand:uniform(Most - Least + 1))),
    {Make(Ps), G1}.

leaf(G) ->
    case rand:uniform(6) of
        1 -> {any, G};
        2 -> {constant(), G};
        3 when G#g.vars =/= [] ->
            {V, _} = pick(G#g.vars),
            {{var, V}, G};
        _ ->
            variable(term(2), G)
    end.

%% Returns the pattern for the tail of a list: a variable that is bound to a list.
leaf_list(G) -> variable(pick(["", "abc", [x, 1]]), G).

variable(Value, #g{vars = Vars} = G) ->
    V = length(Vars) + 1,
    {{var, V}, G#g{vars = [{V, Value} | Vars]}}.

constant() ->
    case rand:uniform(8) of
        1 -> {int, pick([0, 1, 2, -1, 255, 1 bsl 40])};
        2 -> {atom, pick([a, b, ok, true, nil, 'Odd one', 'it\'s'])};
        3 -> {float, pick([1.5, -2.25, 1.0])};
        4 -> {binary, pick(["", "abc", "a\"b", "x\ny"])};
        5 -> {chars, pick(["abc", "a'b"])};
        6 -> {char, pick("az\n")};
        7 -> {sum, rand:uniform(5), pick(['+', '-', '*']), rand:uniform(5)};
        8 -> {module, pick(["Shop", "Shop.Cart"])}
    end.

guard(0, G) ->
    comparison(G);
guard(N, G) ->
    case rand:uniform(8) of
        1 -> {'andalso', guard(N - 1, G), guard(N - 1, G)};
        2 -> {'orelse', guard(N - 1, G), guard(N - 1, G)};
        3 -> {'not', guard(N - 1, G)};
        4 -> {test, pick([is_list, is_atom, is_integer, is_map, is_tuple,
                          is_binary, is_number]), expression(1, G)};
        5 when G#g.vars =/= [] ->
            {in, expression(0, G), [constant(), expression(0, G)]};
        6 when G#g.vars =/= [], G#g.records ->
            {V, _} = pick(G#g.vars),
            pick([{is_record, {var, V}},
                  {'==', {field, {var, V}, pick(?RECORD)}, expression(0, G)}]);
        _ -> comparison(G)
    end.

comparison(G) ->
    {pick(['==', '/=', '=:=', '=/=', '<', '>', '=<', '>=']),
     expression(2, G), expression(1, G)}.

expression(0, #g{vars = []}) ->
    constant();
expression(0, G) ->
    case one_in(3) of
        true -> constant();
        false ->
            {V, _} = pick(G#g.vars),
            {var, V}
    end;
expression(N, G) ->
    case rand:uniform(9) of
        1 -> {pick(['+', '-', '*']), expression(N - 1, G), expression(N - 1, G)};
        2 -> {call, pick([hd, tl, length, map_size, abs, byte_size]),
              expression(N - 1, G)};
        3 -> {element, pick([1, 2]), expression(N - 1, G)};
        4 -> {tuple, [expression(N - 1, G) || _ <- [1, 2]]};
        5 -> {list, [expression(N - 1, G)], nil};
        6 -> {pick(['div', 'rem']), expression(N - 1, G), expression(N - 1, G)};
        _ -> expression(0, G)
    end.

has_record(T) when is_tuple(T), tuple_size(T) > 0 ->
    lists:member(element(1, T), [record, is_record, field])
        orelse has_record(tuple_to_list(T));
has_record([H | T]) -> has_record(H) orelse has_record(T);
has_record(_) -> false.

%% --- values -------------------------------------------------------------------

%% Returns a term that the pattern matches.
value(any, _) -> term(1);
value({var, V}, Bound) -> proplists:get_value(V, Bound);
value({list, Ps, nil}, B) -> [value(P, B) || P <- Ps];
value({list, Ps, Tail}, B) -> [value(P, B) || P <- Ps] ++ value(Tail, B);
value({append, S, Tail}, B) -> S ++ value(Tail, B);
value({tuple, Ps}, B) -> list_to_tuple([value(P, B) || P <- Ps]);
value({map, Pairs}, B) ->
    maps:from_list([{z, 1} | [{key(K), value(P, B)} || {K, P} <- Pairs]]);
value({record, Fields}, B) ->
    list_to_tuple([rec | [case lists:keyfind(F, 1, Fields) of
                              {_, P} -> value(P, B);
                              false -> term(0)
                          end || F <- ?RECORD]]);
value({int, I}, _) -> I;
value({atom, A}, _) -> A;
value({float, F}, _) -> F;
value({binary, S}, _) -> list_to_binary(S);
value({chars, S}, _) -> S;
value({char, C}, _) -> C;
value({sum, X, Op, Y}, _) -> erlang:Op(X, Y);
value({module, M}, _) -> list_to_atom("Elixir." ++ M).

key(K) when is_list(K) -> list_to_binary(K);
key(K) -> K.

term(0) -> pick([1, 2, a, b, nil, 1.5, <<"abc">>, "abc", [], {}, #{}, 255, ok]);
term(N) ->
    case rand:uniform(5) of
        1 -> [term(N - 1), term(N - 1)];
        2 -> {term(N - 1), term(N - 1)};
        3 -> #{k => term(N - 1)};
        4 -> pick([{rec, 1, 2, term(N - 1)}, {rec, 1}]);
        _ -> term(0)
    end.

maybe_other(T) ->
    case one_in(4) of
        true when is_list(T) -> pick([[], "abc", [1, 2]]);
        true -> term(1);
        false -> T
    end.

other(Args) ->
    case rand:uniform(8) of
        1 -> Args ++ [x];
        2 -> [term(1) || _ <- Args];
        _ -> Args
    end.

%% --- texts --------------------------------------------------------------------

text(L, Kind, Patterns, Guards) ->
    lists:flatten([target(L, Kind), "(", comma([print(L, P) || P <- Patterns]),
                   ")", guards(L, Guards)]).

target(_, send) -> "send";
target(_, 'receive') -> "receive";
target(erlang, call) -> "inviso_arm_probe:f";
target(elixir, call) -> "Shop.Cart.add".

guards(_, []) -> "";
guards(erlang, Alternatives) ->
    [" when ", lists:join("; ", [comma([print(erlang, G) || G <- All])
                                 || All <- Alternatives])];
guards(elixir, Alternatives) ->
    [[" when ", lists:join(" and ", ["(" ++ print(elixir, G) ++ ")" || G <- All])]
     || All <- Alternatives].

comma(Texts) -> lists:join(", ", Texts).

print(L, T) -> lists:flatten(p(L, T)).

p(_, any) -> "_";
p(erlang, {var, V}) -> ["X", integer_to_list(V)];
p(elixir, {var, V}) -> ["x", integer_to_list(V)];
p(_, {int, I}) -> integer_to_list(I);
p(_, {float, F}) -> io_lib:format("~w", [F]);
p(erlang, {atom, A}) -> io_lib:format("~w", [A]);
p(elixir, {atom, A}) when A =:= true; A =:= nil -> atom_to_list(A);
p(elixir, {atom, A}) ->
    Text = atom_to_list(A),
    case lists:all(fun(C) -> C >= $a andalso C =< $z end, Text) of
        true -> [":", Text];
        false -> [":\"", Text, "\""]
    end;
p(erlang, {binary, S}) -> ["<<", escaped($", S), ">>"];
p(elixir, {binary, S}) -> escaped($", S);
p(erlang, {chars, S}) -> escaped($", S);
p(elixir, {chars, S}) -> escaped($', S);
p(erlang, {char, $\n}) -> "$\\n";
p(erlang, {char, C}) -> ["$", C];
p(elixir, {char, $\n}) -> "?\\n";
p(elixir, {char, C}) -> ["?", C];
p(_, {sum, X, Op, Y}) ->
    io_lib:format("(~w ~s ~w)", [X, Op, Y]);
p(erlang, {module, M}) -> ["'Elixir.", M, "'"];
p(elixir, {module, M}) -> M;
p(L, {list, Ps, nil}) -> ["[", comma([p(L, P) || P <- Ps]), "]"];
p(L, {list, Ps, Tail}) ->
    ["[", comma([p(L, P) || P <- Ps]), " | ", p(L, Tail), "]"];
p(L, {append, S, Tail}) -> [p(L, {chars, S}), " ++ ", p(L, Tail)];
p(L, {tuple, Ps}) -> ["{", comma([p(L, P) || P <- Ps]), "}"];
p(erlang, {map, Pairs}) ->
    ["#{", comma([[case K of
                       _ when is_list(K) -> ["<<\"", K, "\">>"];
                       _ -> io_lib:format("~w", [K])
                   end, " := ", p(erlang, P)] || {K, P} <- Pairs]), "}"];
p(elixir, {map, Pairs}) ->
    ["%{", comma([case K of
                      _ when is_list(K) -> ["\"", K, "\" => ", p(elixir, P)];
                      _ when is_atom(K) -> [atom_to_list(K), ": ", p(elixir, P)];
                      _ -> [integer_to_list(K), " => ", p(elixir, P)]
                  end || {K, P} <- Pairs]), "}"];
p(erlang, {record, Fields}) ->
    [record(), "{", comma([[atom_to_list(F), " = ", p(erlang, P)]
                           || {F, P} <- Fields]), "}"];
p(erlang, {field, V, F}) -> [p(erlang, V), "#rec.", atom_to_list(F)];
p(erlang, {is_record, V}) -> ["is_record(", p(erlang, V), ", rec)"];
p(L, {test, F, X}) -> [atom_to_list(F), "(", p(L, X), ")"];
p(L, {call, F, X}) -> [atom_to_list(F), "(", p(L, X), ")"];
p(erlang, {element, N, X}) -> ["element(", integer_to_list(N), ", ", p(erlang, X), ")"];
p(elixir, {element, N, X}) -> ["elem(", p(elixir, X), ", ", integer_to_list(N - 1), ")"];
p(erlang, {in, X, List}) ->
    ["(", lists:join(" orelse ", [[p(erlang, X), " =:= (", p(erlang, Y), ")"]
                                  || Y <- List]), ")"];
p(elixir, {in, X, List}) ->
    ["(", p(elixir, X), " in [", comma([p(elixir, Y) || Y <- List]), "])"];
p(L, {'not', G}) -> ["not (", p(L, G), ")"];
p(elixir, {Op, X, Y}) when Op =:= 'div'; Op =:= 'rem' ->
    [atom_to_list(Op), "(", p(elixir, X), ", ", p(elixir, Y), ")"];
p(L, {Op, X, Y}) ->
    ["(", p(L, X), " ", operator(L, Op), " ", p(L, Y), ")"].

record() -> pick(["#rec", "inviso_arm_probe#rec"]).

operator(elixir, 'andalso') -> pick(["and", "&&"]);
operator(elixir, 'orelse') -> pick(["or", "||"]);
operator(elixir, '=:=') -> "===";
operator(elixir, '=/=') -> "!==";
operator(elixir, '/=') -> "!=";
operator(elixir, '=<') -> "<=";
operator(_, Op) -> atom_to_list(Op).

escaped(Quote, S) ->
    [Quote, [case C of
                 Quote -> [$\\, C];
                 $\n -> "\\n";
                 _ -> C
             end || C <- S], Quote].

%% @doc Returns a text with a random change: a character or a word is removed,
%% repeated or inserted.
-spec mutated(string()) -> string().
mutated(Text) ->
    {A, B} = lists:split(rand:uniform(length(Text) + 1) - 1, Text),
    case rand:uniform(4) of
        1 when B =/= [] -> A ++ tl(B);
        2 when B =/= [] -> A ++ [hd(B) | B];
        3 -> A ++ lists:sublist(B, 3, length(B));
        _ -> A ++ pick(["(", ")", ",", "[", "]", "}", " when ", "'", "\"",
                        "X", " ", "1", "=", "#", ":", ";", "_", "->", "|"]) ++ B
    end.

pick(List) -> lists:nth(rand:uniform(length(List)), List).

one_in(N) -> rand:uniform(N) =:= 1.
