%% SPDX-License-Identifier: Apache-2.0
%% @doc Translates Elixir's notation of calls, patterns and guards to tokens of
%% Erlang.
%%
%% It translates what a function head can contain: aliases, atoms, strings,
%% charlists, maps, structs, keywords, variables, and the operators and functions
%% of guards. There are two passes. The first pass converts characters to tokens,
%% and translates names and operators. The second pass translates keywords (`a:
%% 1'). It is separate because no token marks the end of a keyword's value.
-module(inviso_spec_elixir).

-export([tokens/1, guard/1]).

-type place() :: {pos_integer(), pos_integer()}.

%% @doc Translates a text in Elixir's syntax into Erlang tokens. Pids,
%% references and ports become `{literal, Place, Prefix, Digits}'.
-spec tokens(string()) -> {ok, [tuple()]} | {error, place(), iolist()}.
tokens(Chars) ->
    try
        {ok, keywords(scan(Chars, {1, 1}, []), [], [])}
    catch
        throw:{elixir, Where, What} -> {error, Where, What}
    end.

%% --- characters to tokens -----------------------------------------------------

scan([], _At, Acc) ->
    lists:reverse(Acc);
scan([$\n | Cs], {L, _}, Acc) ->
    scan(Cs, {L + 1, 1}, Acc);
scan([C | Cs], At, Acc) when C =:= $\s; C =:= $\t; C =:= $\r ->
    scan(Cs, right(At, 1), Acc);
scan([C | _] = Cs, At, Acc) when C >= $A, C =< $Z ->
    {Name, Rest} = module(Cs),
    Module = list_to_atom("Elixir." ++ Name),
    scan(Rest, right(At, length(Cs) - length(Rest)), [{atom, At, Module} | Acc]);
scan([C | _] = Cs, At, Acc) when C >= $a, C =< $z; C =:= $_ ->
    word(Cs, At, Acc);
scan([C | _] = Cs, At, Acc) when C >= $0, C =< $9 ->
    number(Cs, At, Acc);
scan([$:, $" | Cs], At, Acc) ->
    {Text, Rest} = quoted(Cs, $", At),
    next([$: | Cs], Rest, 1, At, [{atom, At, to_atom(Text, At)} | Acc]);
scan([$:, C | _] = [_ | Cs], At, Acc)
  when C >= $a, C =< $z; C >= $A, C =< $Z; C =:= $_ ->
    {Name, Rest} = name(Cs),
    next(Cs, Rest, 1, At, [{atom, At, to_atom(Name, At)} | Acc]);
scan([$" | Cs], At, Acc) ->
    {Text, Rest} = quoted(Cs, $", At),
    case Rest of
        [$:, S | _] when S =:= $\s ->
            next(Cs, tl(Rest), 1, At, [{key, At, to_atom(Text, At)} | Acc]);
        _ ->
            next(Cs, Rest, 1, At, lists:reverse(string(Text, At)) ++ Acc)
    end;
scan([$~, $c, $" | Cs], At, Acc) ->
    {Text, Rest} = quoted(Cs, $", At),
    next(Cs, Rest, 3, At, [{string, At, Text} | Acc]);
scan([$' | Cs], At, Acc) ->
    {Text, Rest} = quoted(Cs, $', At),
    next(Cs, Rest, 1, At, [{string, At, Text} | Acc]);
scan([$?, $\\, C | Cs], At, Acc) ->
    scan(Cs, right(At, 3), [{char, At, escaped(C)} | Acc]);
scan([$?, C | Cs], At, Acc) ->
    scan(Cs, right(At, 2), [{char, At, C} | Acc]);
scan([$%, ${ | Cs], At, Acc) ->
    scan(Cs, right(At, 2), [{map, At} | Acc]);
scan([$%, C | _] = [_ | Cs], At, Acc) when C >= $A, C =< $Z ->
    {Name, Rest} = module(Cs),
    case Rest of
        [${ | Rest1] ->
            Struct = list_to_atom("Elixir." ++ Name),
            next(Cs, Rest1, 1, At, [{struct, At, Struct} | Acc]);
        _ ->
            fail(At, "a struct is written %~ts{}", [Name])
    end;
scan([$# | _] = Cs, At, Acc) ->
    identifier(Cs, At, Acc);
scan([$<, $<, $> | _], At, _Acc) ->
    no_segments(At);
scan([$<, $< | Cs], At, Acc) ->
    bytes(Cs, At, Acc);
scan(Cs, At, Acc) ->
    operator(Cs, At, Acc).

%% Continues to scan at `Rest', a tail of `Cs'. The place `At' is `Before'
%% characters before the beginning of `Cs'.
next(Cs, Rest, Before, At, Acc) ->
    scan(Rest, right(At, Before + length(Cs) - length(Rest)), Acc).

right({L, C}, N) -> {L, C + N}.

%% Reads a module name such as Foo.Bar. A dot that is not followed by a capital
%% letter is not part of the name.
module(Cs) ->
    {First, Rest} = name(Cs),
    {Name, Rest1} = module(First, Rest),
    case Name of
        "Elixir." ++ Bare -> {Bare, Rest1};
        _ -> {Name, Rest1}
    end.

module(Acc, [$., C | _] = [_ | Cs]) when C >= $A, C =< $Z ->
    {Part, Rest} = name(Cs),
    module(Acc ++ "." ++ Part, Rest);
module(Acc, Rest) ->
    {Acc, Rest}.

name(Cs) ->
    {Name, Rest} = lists:splitwith(fun is_name/1, Cs),
    case Rest of
        [C, D | _] when (C =:= $? orelse C =:= $!), D =/= $= ->
            {Name ++ [C], tl(Rest)};
        [C] when C =:= $?; C =:= $! ->
            {Name ++ [C], []};
        _ ->
            {Name, Rest}
    end.

is_name(C) ->
    C >= $a andalso C =< $z orelse C >= $A andalso C =< $Z
        orelse C >= $0 andalso C =< $9 orelse C =:= $_ orelse C =:= $@.

word(Cs, At, Acc) ->
    {Name, Rest} = name(Cs),
    Token = case {Name, Rest, Acc} of
                {_, [$:, S | _], _} when S =:= $\s; S =:= $\n -> key;
                {_, _, [{':', _} | _]} -> atom;
                {"receive", _, []} -> 'receive';
                {"send", _, []} -> atom;
                {"nil", _, _} -> atom;
                {"true", _, _} -> atom;
                {"false", _, _} -> atom;
                {"when", _, _} -> 'when';
                {"and", _, _} -> 'andalso';
                {"or", _, _} -> 'orelse';
                {"not", _, _} -> 'not';
                %% `in' becomes `--', which has the same precedence. guard/1
                %% converts it later.
                {"in", _, _} -> '--';
                {_, [$( | _], _} -> atom;
                _ -> var
            end,
    case Token of
        key ->
            next(Cs, tl(Rest), 0, At, [{key, At, to_atom(Name, At)} | Acc]);
        _ when Token =:= atom; Token =:= var ->
            next(Cs, Rest, 0, At, [{Token, At, to_atom(Name, At)} | Acc]);
        'when' ->
            next(Cs, Rest, 0, At, [again(Token, At, Acc) | Acc]);
        _ ->
            next(Cs, Rest, 0, At, [{Token, At} | Acc])
    end.

%% Returns the token for `when'. A second `when' begins an alternative guard.
again('when', At, Acc) ->
    case lists:keymember('when', 1, Acc) of
        true -> {';', At};
        false -> {'when', At}
    end.

to_atom(Name, At) ->
    try
        list_to_atom(Name)
    catch
        error:_ -> fail(At, "this is too long for an atom", [])
    end.

number([$0, B | Cs], At, Acc) when B =:= $x; B =:= $b; B =:= $o ->
    Base = maps:get(B, #{$x => 16, $b => 2, $o => 8}),
    {Digits, Rest} = digits(Cs),
    next(Cs, Rest, 2, At, [{integer, At, integer(Digits, Base, At)} | Acc]);
number(Cs, At, Acc) ->
    {Whole, Rest} = decimal(Cs),
    case Rest of
        [$., D | _] when D >= $0, D =< $9 ->
            {Part, Rest1} = decimal(tl(Rest)),
            {Exponent, Rest2} = exponent(Rest1),
            Float = float(Whole ++ "." ++ Part ++ Exponent, At),
            next(Cs, Rest2, 0, At, [{float, At, Float} | Acc]);
        _ ->
            next(Cs, Rest, 0, At, [{integer, At, integer(Whole, 10, At)} | Acc])
    end.

%% Removes underscores between two digits. An underscore at another place stays
%% and causes an error later.
digits(Cs) ->
    {Digits, Rest} = lists:splitwith(fun is_name/1, Cs),
    {re:replace(Digits, "(?<=[^_])_(?=[^_])", "", [global, {return, list}]),
     Rest}.

%% Reads a decimal number. Letters after the number are a separate token: the unit
%% in slow(50ms).
decimal(Cs) ->
    decimal(Cs, []).

decimal([C | Cs], Acc) when C >= $0, C =< $9 -> decimal(Cs, [C | Acc]);
decimal([$_, C | Cs], [_ | _] = Acc) when C >= $0, C =< $9 ->
    decimal(Cs, [C | Acc]);
decimal(Cs, Acc) -> {lists:reverse(Acc), Cs}.

exponent([$e, S | Cs]) when S =:= $-; S =:= $+ ->
    {Digits, Rest} = decimal(Cs),
    {[$e, S | Digits], Rest};
exponent([$e | Cs]) ->
    {Digits, Rest} = decimal(Cs),
    {[$e | Digits], Rest};
exponent(Cs) ->
    {"", Cs}.

integer(Digits, Base, At) ->
    try
        list_to_integer(Digits, Base)
    catch
        error:_ -> fail(At, "~ts is not a number", [Digits])
    end.

float(Text, At) ->
    try
        list_to_float(Text)
    catch
        error:_ -> fail(At, "~ts is not a number", [Text])
    end.

quoted(Cs, Quote, At) ->
    quoted(Cs, Quote, At, []).

quoted([Quote | Cs], Quote, _At, Acc) -> {lists:reverse(Acc), Cs};
quoted([$#, ${ | _], _, At, _) ->
    fail(At, "there is nothing to put into #{} here: write it out", []);
quoted([$\\, $x, ${ | Cs], Quote, At, Acc) ->
    {Digits, Rest} = lists:splitwith(fun(C) -> C =/= $} end, Cs),
    case integer(Digits, 16, At) of
        Char when Char =< 16#10ffff, Rest =/= [] ->
            quoted(tl(Rest), Quote, At, [Char | Acc]);
        _ ->
            fail(At, "this \\x{} is not a character", [])
    end;
quoted([$\\, $x, A, B | Cs], Quote, At, Acc) ->
    quoted(Cs, Quote, At, [integer([A, B], 16, At) | Acc]);
quoted([$\\, C | Cs], Quote, At, Acc) ->
    quoted(Cs, Quote, At, [escaped(C) | Acc]);
quoted([C | Cs], Quote, At, Acc) -> quoted(Cs, Quote, At, [C | Acc]);
quoted([], Quote, At, _) -> fail(At, "this ~ts is never closed", [[Quote]]).

escaped($n) -> $\n;
escaped($t) -> $\t;
escaped($r) -> $\r;
escaped($s) -> $\s;
escaped($e) -> $\e;
escaped($0) -> 0;
escaped(C) -> C.

%% Returns the tokens of an Elixir string: in Erlang, a binary with the text in
%% UTF-8.
string(Text, At) ->
    Bytes = binary_to_list(unicode:characters_to_binary(Text)),
    [{'<<', At}, {string, At, Bytes}, {'>>', At}].

identifier(Cs, At, Acc) ->
    Re = "^#(PID|Reference|Ref|Port)<([0-9]+(?:\\.[0-9]+)+)>",
    case re:run(Cs, Re, [{capture, all, list}, unicode]) of
        {match, [All, Kind, Digits]} ->
            Prefix = case Kind of
                         "PID" -> "";
                         "Port" -> "#Port";
                         _ -> "#Ref"
                     end,
            scan(lists:nthtail(length(All), Cs), right(At, length(All)),
                 [{literal, At, Prefix, Digits} | Acc]);
        nomatch ->
            fail(At, "#PID<0.1.2>, #Reference<0.1.2.3> and #Port<0.5> begin "
                 "with # and nothing else does", [])
    end.

bytes(Cs, At, Acc) ->
    case re:run(Cs, "^([0-9, ]*)>>", [{capture, all, list}, unicode]) of
        {match, [All, Numbers]} ->
            Parts = string:lexemes(Numbers, ", "),
            Bytes = [{integer, At, integer(P, 10, At)} || P <- Parts],
            Tokens = [{'<<', At}] ++ lists:join({',', At}, Bytes)
                ++ [{'>>', At}],
            scan(lists:nthtail(length(All), Cs), right(At, 2 + length(All)),
                 lists:reverse(Tokens) ++ Acc);
        nomatch ->
            no_segments(At)
    end.

-spec no_segments(place()) -> no_return().
no_segments(At) ->
    fail(At, "a match specification cannot take a binary apart: give it "
         "whole, \"abc\" or <<1, 2>>, or ask in a guard: when byte_size(b) > 4",
         []).

operator(Cs, At, Acc) ->
    Known = [{"--", no_lists}, {"=<", no_lists},
             {"!==", '=/='}, {"===", '=:='}, {"::", '::'}, {"->", '->'},
             {"=>", '=>'}, {"==", '=='}, {"!=", '/='}, {"<=", '=<'},
             {">=", '>='}, {"++", '++'}, {"&&", 'andalso'}, {"||", 'orelse'},
             {"<>", no_segments}, {"(", '('}, {")", ')'}, {"[", '['},
             {"]", ']'}, {"{", '{'}, {"}", '}'}, {",", ','}, {";", ';'},
             {"|", '|'}, {"<", '<'}, {">", '>'}, {"+", '+'}, {"-", '-'},
             {"*", '*'}, {"/", '/'}, {"=", '='}, {".", ':'}, {"!", 'not'}],
    case [{length(S), T} || {S, T} <- Known, lists:prefix(S, Cs)] of
        [{_, no_segments} | _] ->
            no_segments(At);
        [{_, no_lists} | _] ->
            fail(At, "a match specification does not have this operator", []);
        [{N, T} | _] ->
            scan(lists:nthtail(N, Cs), right(At, N), [{T, At} | Acc]);
        [] ->
            fail(At, "~ts is not expected here", [[hd(Cs)]])
    end.

%% --- keywords -------------------------------------------------------------------

%% Translates keywords. `Stack' contains the open brackets, each with a mark that
%% says whether the value of a keyword comes next.
keywords([{map, At} | Ts], Stack, Acc) ->
    keywords(Ts, [{map, none} | Stack], [{'{', At}, {'#', At} | Acc]);
keywords([{struct, At, Struct} | Ts], Stack, Acc) ->
    Field = [{atom, At, Struct}, {':=', At}, {atom, At, '__struct__'},
             {'{', At}, {'#', At}],
    Comma = case Ts of
                [{'}', _} | _] -> [];
                _ -> [{',', At}]
            end,
    keywords(Ts, [{map, none} | Stack], Comma ++ Field ++ Acc);
keywords([{Open, _} = T | Ts], Stack, Acc)
  when Open =:= '('; Open =:= '['; Open =:= '{' ->
    keywords(Ts, [{Open, none} | Stack], [T | Acc]);
keywords([{key, At, K} | Ts], [{map, S} | Stack], Acc) ->
    keywords(Ts, [{map, S} | Stack], [{':=', At}, {atom, At, K} | Acc]);
keywords([{key, At, K} | Ts], [{Open, none} | Stack], Acc)
  when Open =/= '[' ->
    Begun = [{',', At}, {atom, At, K}, {'{', At}, {'[', At}],
    keywords(Ts, [{Open, listed} | Stack], Begun ++ Acc);
keywords([{key, At, K} | Ts], [{Open, S} | Stack], Acc) ->
    Begun = [{',', At}, {atom, At, K}, {'{', At}],
    Next = case S of
               none -> value;
               listed -> listed
           end,
    keywords(Ts, [{Open, Next} | Stack], Begun ++ Acc);
keywords([{key, At, K} | _], [], _Acc) ->
    fail(At, "~ts: is not expected here", [K]);
keywords([{',', At} = T | Ts], [{Open, value} | Stack], Acc) ->
    keywords(Ts, [{Open, none} | Stack], [T, {'}', At} | Acc]);
keywords([{',', At} = T | Ts], [{Open, listed} | Stack], Acc) ->
    keywords(Ts, [{Open, listed} | Stack], [T, {'}', At} | Acc]);
keywords([{Close, At} = T | Ts], [{_, S} | Stack], Acc)
  when Close =:= ')'; Close =:= ']'; Close =:= '}' ->
    End = case S of
              none -> [];
              value -> [{'}', At}];
              listed -> [{']', At}, {'}', At}]
          end,
    keywords(Ts, Stack, [T | End ++ Acc]);
keywords([T | Ts], Stack, Acc) ->
    keywords(Ts, Stack, [T | Acc]);
keywords([], _Stack, Acc) ->
    lists:reverse(Acc).

%% --- guards ---------------------------------------------------------------------

%% @doc Translates Elixir's functions in a parsed guard to Erlang's.
-spec guard(term()) -> term().
guard({call, A, {atom, _, is_nil}, [X]}) ->
    {op, A, '=:=', guard(X), {atom, A, nil}};
guard({call, A, {atom, F, elem}, [T, {integer, I, N}]}) ->
    {call, A, {atom, F, element}, [{integer, I, N + 1}, guard(T)]};
guard({call, A, {atom, F, elem}, [T, N]}) ->
    {call, A, {atom, F, element},
     [{op, A, '+', guard(N), {integer, A, 1}}, guard(T)]};
guard({call, A, {atom, F, is_map_key}, [Map, Key]}) ->
    {call, A, {atom, F, is_map_key}, [guard(Key), guard(Map)]};
guard({call, A, {atom, _, Op}, [X, Y]}) when Op =:= 'div'; Op =:= 'rem' ->
    {op, A, Op, guard(X), guard(Y)};
guard({call, A, {atom, _, is_struct}, [X, Struct]}) ->
    Map = guard(X),
    {op, A, 'andalso', {call, A, {atom, A, is_map}, [Map]},
     {op, A, '=:=', {call, A, {atom, A, map_get},
                     [{atom, A, '__struct__'}, Map]}, Struct}};
guard({op, A, '--', X, List}) ->
    member(A, guard(X), List);
guard(T) when is_tuple(T) -> list_to_tuple(guard(tuple_to_list(T)));
guard([H | T]) -> [guard(H) | guard(T)];
guard(Other) -> Other.

member(A, X, {cons, _, H, {nil, _}}) ->
    {op, A, '=:=', X, guard(H)};
member(A, X, {cons, _, H, T}) ->
    {op, A, 'orelse', {op, A, '=:=', X, guard(H)}, member(A, X, T)};
member(A, _, {nil, _}) ->
    {atom, A, false};
member(A, _, _) ->
    throw({usage, A, "`in' needs a list that is written out"}).

-spec fail(place(), string(), [term()]) -> no_return().
fail(Where, Format, Args) ->
    throw({elixir, Where, io_lib:format(Format, Args)}).
