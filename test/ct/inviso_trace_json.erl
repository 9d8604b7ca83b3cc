%% SPDX-License-Identifier: Apache-2.0
%% Reads one line of `inviso merge --format json'.
%% Invalid JSON is an error, and so is a repeated key.
%%
%% Tests read hundreds of thousands of lines. Each function matches the rest of
%% the text in its head and ends with a call, so that the compiler keeps one
%% match context and makes no sub-binaries. Text is the whole line, At an offset
%% in it, and Open a stack of the arrays and objects that have begun.
-module(inviso_trace_json).

-export([decode/1, lines/1]).

-type json() :: #{binary() => json()} | [json()] | binary() | number()
              | true | false | null.

-define(IS_SPACE(C), C =:= $\s; C =:= $\t; C =:= $\n; C =:= $\r).
-define(IS_DIGIT(C), C >= $0, C =< $9).

%% The initial heap of a process that decodes lines has at most this size, which is 400 MB.
-define(HEAP_WORDS, 50000000).

%% Reads all lines of a text. Growing the heap takes several times as long as reading, so the
%% process starts with a large heap.
-spec lines(binary()) -> [json()].
lines(Text) ->
    Words = process_flag(min_heap_size, min(byte_size(Text), ?HEAP_WORDS)),
    try [decode(Line) || Line <- binary:split(Text, <<"\n">>, [global, trim_all])]
    after process_flag(min_heap_size, Words)
    end.

-spec decode(binary()) -> json().
decode(Text) ->
    value(Text, Text, 0, []).

value(<<$", Rest/bits>>, Text, At, Open) ->
    string(Rest, Text, At + 1, 0, Open);
value(<<${, Rest/bits>>, Text, At, Open) ->
    first_key(Rest, Text, At + 1, Open);
value(<<$[, Rest/bits>>, Text, At, Open) ->
    first_value(Rest, Text, At + 1, Open);
value(<<C, _/bits>> = Rest, Text, At, Open) when ?IS_DIGIT(C); C =:= $- ->
    number(Rest, Text, At, 0, Open);
value(<<"true", Rest/bits>>, Text, At, Open) ->
    next(Rest, Text, At + 4, true, Open);
value(<<"false", Rest/bits>>, Text, At, Open) ->
    next(Rest, Text, At + 5, false, Open);
value(<<"null", Rest/bits>>, Text, At, Open) ->
    next(Rest, Text, At + 4, null, Open);
value(<<C, Rest/bits>>, Text, At, Open) when ?IS_SPACE(C) ->
    value(Rest, Text, At + 1, Open).

first_key(<<$}, Rest/bits>>, Text, At, Open) ->
    next(Rest, Text, At + 1, #{}, Open);
first_key(<<C, Rest/bits>>, Text, At, Open) when ?IS_SPACE(C) ->
    first_key(Rest, Text, At + 1, Open);
first_key(Rest, Text, At, Open) ->
    key(Rest, Text, At, [{object, []} | Open]).

key(<<$", Rest/bits>>, Text, At, Open) ->
    string(Rest, Text, At + 1, 0, Open);
key(<<C, Rest/bits>>, Text, At, Open) when ?IS_SPACE(C) ->
    key(Rest, Text, At + 1, Open).

first_value(<<$], Rest/bits>>, Text, At, Open) ->
    next(Rest, Text, At + 1, [], Open);
first_value(<<C, Rest/bits>>, Text, At, Open) when ?IS_SPACE(C) ->
    first_value(Rest, Text, At + 1, Open);
first_value(Rest, Text, At, Open) ->
    value(Rest, Text, At, [{array, []} | Open]).

%% Continues after a value.
next(<<C, Rest/bits>>, Text, At, Value, Open) when ?IS_SPACE(C) ->
    next(Rest, Text, At + 1, Value, Open);
next(<<$,, Rest/bits>>, Text, At, Value, [{array, Values} | Open]) ->
    value(Rest, Text, At + 1, [{array, [Value | Values]} | Open]);
next(<<$], Rest/bits>>, Text, At, Value, [{array, Values} | Open]) ->
    next(Rest, Text, At + 1, lists:reverse(Values, [Value]), Open);
next(<<$:, Rest/bits>>, Text, At, Key, [{object, Pairs} | Open]) ->
    value(Rest, Text, At + 1, [{Key, Pairs} | Open]);
next(<<$,, Rest/bits>>, Text, At, Value, [{Key, Pairs} | Open])
  when is_binary(Key) ->
    key(Rest, Text, At + 1, [{object, [{Key, Value} | Pairs]} | Open]);
next(<<$}, Rest/bits>>, Text, At, Value, [{Key, Pairs} | Open])
  when is_binary(Key) ->
    next(Rest, Text, At + 1, object([{Key, Value} | Pairs]), Open);
next(<<>>, _Text, _At, Value, []) ->
    Value.

object(Pairs) ->
    Map = maps:from_list(Pairs),
    true = map_size(Map) =:= length(Pairs),
    Map.

%% Most strings contain no escape sequence, and are copied in one step. Size is the number of bytes
%% of the string so far.
string(<<$", Rest/bits>>, Text, At, Size, Open) ->
    next(Rest, Text, At + Size + 1, binary_part(Text, At, Size), Open);
string(<<C, Rest/bits>>, Text, At, Size, Open)
  when C >= 32, C < 127, C =/= $\\ ->
    string(Rest, Text, At, Size + 1, Open);
string(<<_/bits>>, Text, At, Size, Open) ->
    <<_:At/binary, Plain:Size/binary, Rest/binary>> = Text,
    {String, Left} = special(Rest, [Plain]),
    next(Left, Text, byte_size(Text) - byte_size(Left), String, Open).

%% Reads the rest of a string one character at a time.
special(<<"\"", Rest/binary>>, Acc) ->
    {iolist_to_binary(lists:reverse(Acc)), Rest};
special(<<"\\u", Hex:4/binary, Rest/binary>>, Acc) ->
    unicode(binary_to_integer(Hex, 16), Rest, Acc);
special(<<"\\", C, Rest/binary>>, Acc) ->
    special(Rest, [escaped(C) | Acc]);
special(<<C/utf8, Rest/binary>>, Acc) when C >= 32 ->
    special(Rest, [<<C/utf8>> | Acc]).

unicode(High, <<"\\u", Hex:4/binary, Rest/binary>>, Acc)
  when High >= 16#d800, High =< 16#dbff ->
    Low = binary_to_integer(Hex, 16),
    <<C/utf16>> = <<High:16, Low:16>>,
    special(Rest, [<<C/utf8>> | Acc]);
unicode(C, Rest, Acc) ->
    special(Rest, [<<C/utf8>> | Acc]).

escaped($b) -> $\b;
escaped($f) -> $\f;
escaped($n) -> $\n;
escaped($r) -> $\r;
escaped($t) -> $\t;
escaped(C) when C =:= $"; C =:= $\\; C =:= $/ -> C.

number(<<C, Rest/bits>>, Text, At, Size, Open)
  when ?IS_DIGIT(C); C =:= $.; C =:= $e; C =:= $E; C =:= $-; C =:= $+ ->
    number(Rest, Text, At, Size + 1, Open);
number(Rest, Text, At, Size, Open) ->
    next(Rest, Text, At + Size, to_number(binary_part(Text, At, Size)), Open).

to_number(Digits) ->
    try binary_to_integer(Digits)
    catch error:badarg -> not_whole(Digits)
    end.

not_whole(Digits) ->
    {match, _} = re:run(Digits, "^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"),
    binary_to_float(Digits).
