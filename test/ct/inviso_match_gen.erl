%% SPDX-License-Identifier: Apache-2.0
%% @doc Random match specs for tracing, and arguments that they often match.
%%
%% No spec crashes a VM, and no spec has a result that depends on the calling
%% process. The module inviso_match_SUITE lists what is left out.
-module(inviso_match_gen).

-export(['case'/1, spec/2, term/1]).

-record(g, {otp :: pos_integer(),
            vars = [] :: [atom()],
            big :: boolean(),           % variables beyond '$24'
            args = true :: boolean(),   % the spec may use '$_'
            pure = false :: boolean(),  % the expression must not be {message, _}
            body = false :: boolean(),
            twice = true :: boolean()}).   % whether to use maps that the VM compiles twice

%% @doc Returns random arguments and a random spec for an OTP release. The seed
%% of `rand' determines them.
-spec 'case'(pos_integer()) -> {[term()], term()}.
'case'(Otp) ->
    Args = [term(3) || _ <- lists:seq(1, rand:uniform(5) - 1)],
    {Args, spec(Otp, Args)}.

%% @doc Returns a spec, which sometimes has an error.
-spec spec(pos_integer(), [term()]) -> term().
spec(Otp, Args) ->
    G = #g{otp = Otp, big = one_in(20)},
    S = [clause(G, Args) || _ <- lists:seq(1, pick([1, 1, 1, 2, 3]))],
    case one_in(25) of
        true -> break(S);
        false -> S
    end.

break(S) ->
    case rand:uniform(8) of
        1 -> S ++ nolist;
        2 -> [];
        3 -> [{a, b} | S];
        4 -> [setelement(1 + rand:uniform(2), hd(S), term(2)) | tl(S)];
        5 -> [setelement(2, hd(S), [true | x]) | tl(S)];
        6 -> term(3);
        7 -> [setelement(1, hd(S), [a | b]) | tl(S)];
        8 -> S ++ [hd(S) | tl(S)]
    end.

%% --- clauses ----------------------------------------------------------------

clause(G0, Args) ->
    {Head, G1} = head(G0, Args),
    Guards = [guard(G1, 3) || _ <- lists:seq(1, pick([0, 0, 1, 1, 2]))],
    G2 = G1#g{body = true},
    Body = [action(G2, 3) || _ <- lists:seq(1, pick([0, 1, 1, 2, 3]))],
    {Head, Guards, Body}.

head(G, Args) ->
    case rand:uniform(20) of
        1 -> {'_', G};
        2 -> whole(G, var(G));
        3 -> into(G#g{args = Args =/= []}, list_to_tuple(Args));
        4 -> {term(2), G#g{args = false}};
        5 when G#g.otp >= 29, Args =/= [] ->
            First = lists:sublist(Args, rand:uniform(length(Args))),
            {P, G1} = pattern_list(G, First),
            {improper(P), G1};
        _ -> pattern_list(G#g{args = Args =/= []}, Args)
    end.

improper([H]) -> [H | '_'];
improper([H | T]) -> [H | improper(T)].

%% Returns a head that binds a variable to the whole list of arguments. Before OTP 27, the VM
%% compiles some maps twice, and then the variable refers to a list that was freed. So a spec with
%% this head must not have such maps.
whole(G, Var) ->
    {Var, G#g{vars = [Var], twice = G#g.otp >= 27}}.

%% Returns a head: a list of patterns, one for each argument. If the list is
%% empty, the spec must not use '$_', because the VM would write out of bounds.
pattern_list(G0, Args) ->
    lists:mapfoldl(fun(T, G) -> pattern(G, T) end, G0, Args).

pattern(G, T) ->
    case rand:uniform(10) of
        N when N =< 3 ->
            V = var(G),
            {V, G#g{vars = lists:usort([V | G#g.vars])}};
        4 -> {'_', G};
        5 -> case one_in(3) of
                 true -> {term(1), G};
                 false -> into(G, T)
             end;
        _ -> into(G, T)
    end.

into(G0, [H | T]) ->
    {H1, G1} = pattern(G0, H),
    {T1, G2} = pattern(G1, T),
    {[H1 | T1], G2};
into(G0, T) when is_tuple(T) ->
    {L, G} = pattern_list(G0, tuple_to_list(T)),
    {list_to_tuple(L), G};
into(G0, M) when is_map(M) ->
    Keep = [P || P <- maps:to_list(M), one_in(2)],
    {L, G} = lists:mapfoldl(fun({K, V}, G1) ->
                                    {V1, G2} = pattern(G1, V),
                                    {{K, V1}, G2}
                            end, G0, Keep),
    Keys = [K || {K, _} <- L],
    case one_in(30) of
        true -> {maps:from_list([{'$1', x} | L]), G};
        false when length(Keys) =:= length(L) -> {maps:from_list(L), G}
    end;
into(G, T) ->
    {T, G}.

var(#g{big = true}) -> pick(['$3', '$24', '$25', '$26', '$100', '$70000']);
var(#g{}) -> pick(['$0', '$1', '$2', '$3', '$7']).

%% --- guards and bodies ------------------------------------------------------

guard(G, D) ->
    case rand:uniform(4) of
        1 -> {pick(['and', 'or', 'andalso', 'orelse', 'andthen']),
              bool(G, D - 1), bool(G, D - 1)};
        2 -> expr(G, D);
        _ -> bool(G, D)
    end.

bool(G, D) ->
    case rand:uniform(9) of
        1 -> pick([true, false, {const, true}]);
        2 -> {'not', expr(G, D - 1)};
        3 -> {pick(['=:=', '==', '=/=', '/=']), expr(G, D - 1),
              expr(G, D - 1)};
        4 -> {pick(['<', '>', '=<', '>=']), expr(G, D - 1), expr(G, D - 1)};
        5 -> {is_type(G), expr(G, D - 1)};
        6 -> list_to_tuple([pick(['and', 'or', 'andalso', 'orelse', 'xor']) |
                            [bool(G, D - 1) || _ <- lists:seq(1, pick([2, 2, 2, 1, 3]))]]);
        7 -> {is_map_key, expr(G, D - 1), expr(G, D - 1)};
        8 -> {is_record, expr(G, D - 1), pick([a, ok, {const, b}]),
              pick([1, 2, 3, -1, 1 bsl 59, (1 bsl 59) - 1, a, 2.0])};
        9 -> {is_seq_trace}
    end.

is_type(G) ->
    known(G, [is_bitstring, is_boolean],
          [is_atom, is_float, is_integer, is_list, is_number, is_pid, is_port,
           is_reference, is_tuple, is_map, is_binary, is_function]).

%% Picks a function from Old or New. The functions in New exist from OTP 26 on. On earlier releases
%% their use is an error, so they are rarely picked there.
known(#g{otp = Otp}, New, Old) ->
    case Otp >= 26 orelse one_in(30) of
        true -> pick(New ++ Old);
        false -> pick(Old)
    end.

action(G, D) ->
    case rand:uniform(12) of
        N when N =< 6 -> {message, expr(G, D)};
        7 -> {return_trace};
        8 -> {exception_trace};
        9 -> {silent, expr(G, 1)};
        10 -> {message, pick([true, false])};
        11 -> {message, effect(G)};
        12 -> expr(G, D)
    end.

%% Returns a call of a match spec function that changes or reads a traced process. In
%% erlang:match_spec_test/3 the call changes nothing, and its result is known.
effect(#g{otp = Otp} = G) ->
    case rand:uniform(13) of
        1 -> {get_tcw};
        2 -> {set_tcw, expr(G, 1)};
        3 -> {set_seq_token, pick([send, 'receive', print, label, serial,
                                   timestamp, monotonic_timestamp, spawn,
                                   nonsense, 1]), expr(G, 1)};
        4 -> {get_seq_token};
        5 -> {caller};
        6 -> {caller_line};
        7 -> {is_binary, {process_dump}};
        8 -> {is_pid, {self}};
        9 when Otp < 27 -> {pick([enable_trace, disable_trace]), flag(G)};
        10 when Otp < 27 -> {trace, flags(G), flags(G)};
        11 -> {set_tcw_fake, expr(G, 1)};
        12 -> {{{message, expr(G, 1)}, {return_trace}, {message, expr(G, 1)}}};
        _ when Otp >= 26 ->
            {is_list, {current_stacktrace, pick([0, 3, 3, 3, -1, a])}};
        _ -> {get_tcw}
    end.

flag(G) ->
    pick([call, 'receive', all, silent, cpu_timestamp, nonsense, expr(G, 1)]).

flags(G) ->
    case one_in(8) of
        true -> term_without_tuple(G);
        false -> [pick([call, send, procs, arity, all])
                  || _ <- lists:seq(1, rand:uniform(3) - 1)] ++
                     pick([[], [], [cpu_timestamp], [1], [x]])
    end.

term_without_tuple(_) -> pick([a, 1, [call | x], "ab", <<>>]).

%% --- expressions ------------------------------------------------------------

expr(G, D) when D =< 0 ->
    leaf(G);
expr(G, D) ->
    case rand:uniform(15) of
        N when N =< 3 -> leaf(G);
        4 -> bool(G, D);
        5 -> [expr(G, D - 1) || _ <- lists:seq(1, rand:uniform(3))];
        6 -> {list_to_tuple([expr(G, D - 1)
                             || _ <- lists:seq(1, rand:uniform(4) - 1)])};
        7 -> map_expr(G#g{pure = true}, D);
        8 -> [expr(G, D - 1) | expr(G, D - 1)];
        9 -> odd(G, D);
        N when N =< 12 -> number(G, D);
        _ -> call(G, D)
    end.

leaf(#g{vars = Vars} = G) ->
    case rand:uniform(8) of
        N when N =< 4, Vars =/= [] -> pick(Vars);
        5 when G#g.args -> '$_';
        6 -> '$$';
        7 -> {const, term(2)};
        _ -> literal()
    end.

literal() ->
    case term(0) of
        {} -> {{}};
        T -> T
    end.

number(G, D) ->
    case rand:uniform(8) of
        1 -> {pick(['+', '-']), expr(G, D - 1)};
        2 -> {pick(['+', '-', '*', '/']), num(G, D - 1), num(G, D - 1)};
        3 -> {pick(['div', 'rem', 'band', 'bor', 'bxor']), num(G, D - 1),
              num(G, D - 1)};
        4 -> {pick(['bsl', 'bsr']), num(G, D - 1),
              pick([0, 1, -1, 5, 62, 63, 64, -64, 100, -70, 1 bsl 31,
                    1 bsl 70, -(1 bsl 70), a, 1.0])};
        5 -> {'bnot', num(G, D - 1)};
        6 -> {known(G, [ceil, floor], [abs, round, trunc, float]),
              num(G, D - 1)};
        7 -> {known(G, [max, min], ['+', '-']), num(G, D - 1), num(G, D - 1)};
        8 when G#g.otp >= 29 -> {is_integer, num(G, D - 1), num(G, D - 1),
                                 num(G, D - 1)};
        8 -> num(G, D - 1)
    end.

num(G, D) ->
    case rand:uniform(4) of
        1 -> expr(G, D);
        _ -> number()
    end.

call(G, D) ->
    E = fun() -> expr(G, D - 1) end,
    case rand:uniform(14) of
        1 -> {element, pick([1, 2, 3, 0, -1, E()]), E()};
        2 -> {hd, E()};
        3 -> {tl, E()};
        4 -> {length, E()};
        5 -> {known(G, [tuple_size], [size, map_size, bit_size, byte_size]), E()};
        6 -> {map_get, pick([a, b, 1, E()]), E()};
        7 -> {node, pick([E(), pick(ids())])};
        8 -> {node};
        9 -> {binary_part, E(), pick([0, 1, 2, -1, E()]),
              pick([0, 1, 2, -1, -2, E()])};
        10 -> {binary_part, E(), {{pick([0, 1, E()]), pick([1, -1, E()])}}};
        11 -> {known(G, [is_function], ['=:=']), E(),
               pick([0, 1, 2, -1, 1 bsl 70, -(1 bsl 70), a])};
        12 when not G#g.pure, G#g.body -> {message, E()};
        13 -> {element, 1, E()};
        _ -> {binary_part, pick([<<"hello">>, <<1, 2, 3:3>>, E()]),
              pick([0, 1, 2]), pick([0, 1, 2, -1])}
    end.

%% Returns a map expression. A map with a computed key has no other key.
map_expr(G, D) ->
    case rand:uniform(4) of
        1 when G#g.twice -> #{expr(G, 1) => expr(G, D - 1)};
        2 -> #{};
        3 when D < 3, G#g.twice -> large_map(G);
        _ -> maps:from_list([{K, expr(G, D - 1)}
                             || K <- [a, b, 1, 2.0, "k", <<"b">>], one_in(2)])
    end.

large_map(G) ->
    maps:from_list([{K, case rand:uniform(30) of
                            1 -> expr(G, 1);
                            _ -> K
                        end} || K <- lists:seq(1, 40)]).

%% Returns a leaf or, rarely, an expression that is not valid in match specs.
odd(G, D) ->
    case one_in(6) of
        false -> leaf(G);
        true -> odd(G, D, rand:uniform(9))
    end.

odd(_, _, 1) -> {nosuch, 1};
odd(_, _, 2) -> {1, 2};
odd(_, _, 3) -> {};
odd(_, _, 4) -> '$17';
odd(G, D, 5) -> {message, expr(G, D - 1)};
odd(_, _, 6) -> {const, 1, 2};
odd(_, _, 7) -> {pick(['and', 'or', 'andalso', 'orelse', message,
                       caller, set_tcw, const])};
odd(G, D, 8) -> {pick([return_trace, exception_trace, process_dump, get_tcw,
                       is_seq_trace, silent, hd, '+']),
                 expr(G, D - 1), expr(G, D - 1), expr(G, D - 1)};
odd(_, _, 9) -> '$'.

%% --- terms ------------------------------------------------------------------

%% @doc Returns a term with at most this many levels.
-spec term(non_neg_integer()) -> term().
term(0) ->
    case rand:uniform(9) of
        N when N =< 3 -> number();
        N when N =< 6 -> pick([a, b, ok, true, false, 'EXIT', undefined, '_x',
                               'A b', '$', []]);
        7 -> pick([<<>>, <<"b">>, <<"hello">>, <<1, 2, 3:3>>, <<255:4>>, {},
                   #{}]);
        8 -> pick(ids());
        9 -> pick([fun lists:seq/2, fun erlang:abs/1, funs(1), "abc", []])
    end;
term(D) ->
    case rand:uniform(6) of
        1 -> [term(D - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)];
        2 -> list_to_tuple([term(D - 1)
                            || _ <- lists:seq(1, rand:uniform(4) - 1)]);
        3 -> map(D);
        4 -> [term(D - 1) | term(D - 1)];
        _ -> term(0)
    end.

map(D) ->
    case one_in(15) of
        true -> maps:from_list([{K, term(0)} || K <- lists:seq(1, 40)]);
        false -> maps:from_list([{K, term(D - 1)}
                                 || K <- [a, b, 1, 2.0, "k", <<"b">>, {a}],
                                    one_in(2)])
    end.

number() ->
    pick([0, 1, 2, 3, -1, -2, 7, 100, 255, 1 bsl 31, -(1 bsl 31), 1 bsl 53,
          (1 bsl 53) + 1, (1 bsl 59) - 1, 1 bsl 59, -(1 bsl 59),
          -(1 bsl 59) - 1, (1 bsl 63) - 1, 1 bsl 63, -(1 bsl 63),
          -(1 bsl 63) - 1, 1 bsl 64, (1 bsl 64) + 1, -(1 bsl 64),
          428654966685883400000, 1 bsl 127, -(1 bsl 200) + 12345,
          (1 bsl 1030), rand:uniform(1 bsl 40), -rand:uniform(1 bsl 70),
          0.0, zero(), 1.0, -1.0, 1.5, -2.5, 0.5, 100.0, 1.0e10,
          9007199254740992.0, 9007199254740994.0, 9.223372036854775e18,
          9.223372036854776e18, 1.8446744073709552e19, 1.0e22, -1.0e22,
          1.7976931348623157e308, -1.7976931348623157e308, 5.0e-324,
          rand:uniform() * 1.0e20]).

%% Returns -0.0. The compiler would turn a literal -0.0 into 0.0.
zero() ->
    <<F/float>> = <<128, 0:56>>,
    F.

funs(X) ->
    fun(Y) -> X + Y end.

ids() ->
    case persistent_term:get(?MODULE, undefined) of
        undefined ->
            L = [self(), list_to_pid("<0.1.0>"), list_to_pid("<0.2.0>"),
                 make_ref(), make_ref(), hd(erlang:ports()),
                 other(88, 103), other(89, 5)],
            persistent_term:put(?MODULE, L),
            L;
        L ->
            L
    end.

%% A pid or port of a node that does not exist.
other(88, N) ->
    binary_to_term(<<131, 88, 119, 9, "other@far", N:32, 0:32, 0:32>>);
other(89, N) ->
    binary_to_term(<<131, 89, 119, 9, "other@far", N:32, 0:32>>).

pick(L) -> lists:nth(rand:uniform(length(L)), L).

one_in(N) -> rand:uniform(N) =:= 1.
