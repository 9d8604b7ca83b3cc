%% SPDX-License-Identifier: Apache-2.0
%% @doc Translates heads of functions, as erl_parse returns them, into match specs.
%%
%% If match specs do not have a construct, this module refuses it with a clear
%% text. `ms_transform' would crash, or report an error about a fun, although the
%% user wrote none.
-module(inviso_spec_head).

-export([check/1, check_guard/1, match_spec/3]).

-define(MAX_BITS, 65536).

%% @doc Checks that a match spec can contain the patterns in a list of arguments,
%% which is in the abstract format. Returns the number of arguments and their
%% patterns, or throws `{usage, Where, What}'.
-spec check(term()) -> {non_neg_integer(), term()}.
check(List) ->
    Checked = pattern(List),
    {count(Checked), Checked}.

%% @doc Throws `{usage, Where, What}' if a guard contains the variable _, or an operator
%% of Erlang's guards that match specs do not have. (If all operands are constants,
%% `ms_transform' computes the result of such an operator. The command does not.)
-spec check_guard(term()) -> ok.
check_guard({var, A, '_'}) -> fail(A, "a guard cannot have _", []);
check_guard({op, A, Op, _, _}) when Op =:= '++'; Op =:= '--' ->
    fail(A, "match specs do not have ~ts", [Op]);
check_guard(T) when is_tuple(T) -> check_guard(tuple_to_list(T));
check_guard([H | T]) ->
    ok = check_guard(H),
    check_guard(T);
check_guard(_) -> ok.

count({nil, _}) -> 0;
count({cons, _, _, T}) -> 1 + count(T);
count(Other) ->
    fail(element(2, Other), "arguments are separated by commas", []).

pattern({nil, _} = P) -> P;
pattern({cons, A, H, T}) -> {cons, A, pattern(H), pattern(T)};
pattern({tuple, A, Ps}) -> {tuple, A, [pattern(P) || P <- Ps]};
pattern({Simple, _, _} = P) when Simple =:= atom; Simple =:= integer;
                                 Simple =:= float; Simple =:= char;
                                 Simple =:= string; Simple =:= var ->
    P;
pattern({map, A, Fields}) ->
    {map, A, [map_field(F) || F <- Fields]};
pattern({record, A, Name, Fields}) ->
    {record, A, Name, [record_field(F) || F <- Fields]};
pattern({bin, A, Elements}) ->
    {bin, A, [bin_element(E) || E <- Elements]};
pattern({match, A, _, _}) ->
    fail(A, "a match specification has no `=' in its patterns: give the "
         "pattern alone, and use parts of it in the guard", []);
pattern({op, A, '++', Left, Right}) ->
    case pattern(Left) of
        {string, _, _} = S -> {op, A, '++', S, pattern(Right)};
        {nil, _} -> pattern(Right);
        {cons, _, _, _} = C -> append(C, pattern(Right));
        _ -> fail(A, "only a literal can be on the left of ++", [])
    end;
pattern({op, A, _, _, _} = P) -> number(A, P);
pattern({op, A, _, _} = P) -> number(A, P);
pattern(Other) ->
    fail(element(2, Other), "a pattern is expected here; what is to be "
         "computed can be in a guard: f(X) when X > 2 * 3", []).

append({nil, _}, Right) -> Right;
append({cons, A, H, T}, Right) -> {cons, A, H, append(T, Right)};
append({string, A, S}, Right) -> {op, A, '++', {string, A, S}, Right};
append(Other, _) ->
    fail(element(2, Other), "only a list that ends can be on the left of ++",
         []).

number(A, P) ->
    case is_small(P) andalso erl_eval:partial_eval(P) of
        {Type, _, _} = Value when Type =:= integer; Type =:= float;
                                  Type =:= char -> Value;
        {op, _, Sign, {_, _, _}} = Value when Sign =:= '-'; Sign =:= '+' ->
            Value;
        _ -> fail(A, "a pattern is expected here, not something to be computed", [])
    end.

%% Returns true if the result of an expression cannot be large. It can be large if
%% the expression contains operators such as `bsl'.
is_small({op, _, Op, X, Y}) when Op =:= '+'; Op =:= '-'; Op =:= '*' ->
    is_small(X) andalso is_small(Y);
is_small({op, _, Op, X}) when Op =:= '-'; Op =:= '+' -> is_small(X);
is_small({Type, _, _}) ->
    Type =:= integer orelse Type =:= float orelse Type =:= char;
is_small(_) -> false.

%% Checks a field of a map. In a pattern, `=>' is taken as `:='.
map_field({Type, A, Key, Value}) when Type =:= map_field_exact;
                                      Type =:= map_field_assoc ->
    _ = has_variable(Key) andalso
        fail(A, "a key of a map cannot be a variable", []),
    {map_field_exact, A, pattern(Key), pattern(Value)};
map_field(Other) ->
    fail(element(2, Other), "a map pattern is #{key := Pattern}", []).

record_field({record_field, A, Name, Value}) ->
    {record_field, A, Name, pattern(Value)};
record_field(Other) ->
    fail(element(2, Other), "a record pattern is #record{field = Pattern}", []).

bin_element({bin_element, A, Value, Size, Types}) ->
    _ = has_variable(Value) andalso no_segments(A),
    _ = is_size(Size) orelse no_segments(A),
    {bin_element, A, pattern(Value), Size, Types}.

is_size(default) -> true;
is_size({integer, _, N}) -> N =< ?MAX_BITS;
is_size(_) -> false.

-spec no_segments(term()) -> no_return().
no_segments(A) ->
    fail(A, "a match specification cannot take a binary apart: give it "
         "whole, <<\"abc\">>, or ask in a guard: f(B) when byte_size(B) > 4, "
         "binary_part(B, 0, 3) =:= <<\"abc\">>", []).

has_variable({var, _, _}) -> true;
has_variable(T) when is_tuple(T) -> has_variable(tuple_to_list(T));
has_variable([H | T]) -> has_variable(H) orelse has_variable(T);
has_variable(_) -> false.

%% @doc Returns the match spec of a clause. The definitions of records come from
%% the abstract code of modules: for a record in `Named', from the module that the
%% user gave for it; for any other record, from `Module'.
-spec match_spec(term(), {module, module()} | none, #{atom() => module()}) ->
          [tuple()].
match_spec(Clause, Module, Named) ->
    Records = records(Clause, Module, Named),
    At = element(2, Clause),
    Fun = {'fun', At, {clauses, [Clause]}},
    Call = {call, At, {remote, At, {atom, At, dbg}, {atom, At, fun2ms}}, [Fun]},
    Function = {function, At, f, 0, [{clause, At, [], [], [Call]}]},
    Before = get(),
    try ms_transform:parse_transform(Records ++ [Function], []) of
        {error, [{_, [{Place, ms_transform, Why} | _]} | _], _} ->
            fail(Place, "~ts", [explain(Why)]);
        {warning, Forms, _} -> value(Forms);
        Forms -> value(Forms)
    catch
        Class:_ when Class =/= throw ->
            fail(At, "this cannot be translated into a match specification", [])
    after
        %% ms_transform leaves entries in the process dictionary if it fails.
        _ = [erase(K) || {K, _} <- get(), not lists:keymember(K, 1, Before)]
    end.

value(Forms) ->
    {function, At, f, 0, [{clause, _, [], [], [Expr]}]} = lists:last(Forms),
    try
        {value, Ms, _} = erl_eval:expr(Expr, []),
        Ms
    catch
        error:{unbound, V} ->
            fail(At, "the variable ~ts of the guard is not in the arguments",
                 [V]);
        error:{unbound_var, V} ->
            fail(At, "the variable ~ts of the guard is not in the arguments",
                 [V]);
        error:_ ->
            fail(At, "this cannot be translated into a match specification", [])
    end.

records(Clause, Module, Named) ->
    Places = lists:foldr(fun({Name, At}, Acc) -> Acc#{Name => At} end, #{},
                         record_names(Clause)),
    Of = maps:fold(fun(Name, At, Acc) ->
                           M = module_of(Name, At, Module, Named),
                           Acc#{M => [{Name, At} | maps:get(M, Acc, [])]}
                   end, #{}, Places),
    lists:append([definitions(lists:sort(Names), M)
                  || {M, Names} <- maps:to_list(Of)]).

module_of(Name, _, _, Named) when is_map_key(Name, Named) ->
    maps:get(Name, Named);
module_of(_, _, {module, M}, _) ->
    M;
module_of(Name, At, none, _) ->
    fail(At, "a record is known by a module: write module#~tw{}, or a tuple, "
         "{~tw,_,...}", [Name, Name]).

record_names({record, A, Name, Fields}) when is_atom(Name) ->
    [{Name, A} | record_names(Fields)];
record_names({record_field, A, Value, Name, _}) when is_atom(Name) ->
    [{Name, A} | record_names(Value)];
record_names({record_index, A, Name, _}) -> [{Name, A}];
record_names({call, A, {atom, _, is_record}, [X, {atom, _, Name}]}) ->
    [{Name, A} | record_names(X)];
record_names(T) when is_tuple(T) -> record_names(tuple_to_list(T));
record_names([H | T]) -> record_names(H) ++ record_names(T);
record_names(_) -> [].

definitions([{First, At} | _] = Names, M) ->
    case abstract_code(M) of
        {ok, Forms} ->
            Known = [N || {attribute, _, record, {N, _}} <- Forms],
            _ = [fail(A, "the module ~tw has no record ~tw~ts",
                      [M, N, known(Known)])
                 || {N, A} <- Names, not lists:member(N, Known)],
            [F || {attribute, _, record, {N, _}} = F <- Forms,
                  lists:keymember(N, 1, Names)];
        none ->
            fail(At, "the definition of #~tw{} is not available: this node has "
                     "no beam file of ~tw with debug_info. Write it as a "
                     "tuple, "
                 "{~tw,_,...}", [First, M, First])
    end.

known([]) -> "";
known(Names) ->
    io_lib:format("; it has ~ts",
                  [lists:join(", ", [io_lib:format("~tw", [N])
                                     || N <- lists:sublist(Names, 20)])]).

abstract_code(M) ->
    try
        {_, Beam, _} = code:get_object_code(M),
        {ok, {_, [{abstract_code, {_, Forms}}]}} =
            beam_lib:chunks(Beam, [abstract_code]),
        {ok, Forms}
    catch
        error:_ -> none
    end.

%% Converts the error texts of ms_transform, which are about funs and fun2ms. (The
%% error codes are not documented.)
explain(Why) ->
    Said = lists:flatten(ms_transform:format_error(Why)),
    Words = [{"fun containing the ", "the "},
             {"fun with ", ""}, {"fun head", "this"}, {"fun guard", "the guard"},
             {"translated into match_spec",
              "done by a match specification"},
             {"local function call", "call of the function"},
             {"in match_spec heads", "of match specifications"}],
    lists:foldl(fun({From, To}, Acc) ->
                        string:replace(Acc, From, To)
                end, Said, Words).

-spec fail(term(), string(), [term()]) -> no_return().
fail(Where, Format, Args) ->
    throw({usage, Where, io_lib:format(Format, Args)}).
