%% SPDX-License-Identifier: Apache-2.0
%% Reads one line of `inviso merge --format json'.
%% Invalid JSON is an error, and so is a repeated key.
-module(inviso_trace_json).

-export([decode/1]).

-type json() :: #{binary() => json()} | [json()] | binary() | number()
              | true | false | null.

-spec decode(binary()) -> json().
decode(Text) ->
    case value(skip(Text)) of
        {Value, Rest} ->
            <<>> = skip(Rest),
            Value
    end.

skip(<<C, Rest/binary>>) when C =:= $\s; C =:= $\t; C =:= $\n; C =:= $\r ->
    skip(Rest);
skip(Rest) ->
    Rest.

value(<<"{", Rest/binary>>) -> object(skip(Rest), #{});
value(<<"[", Rest/binary>>) -> array(skip(Rest), []);
value(<<"\"", Rest/binary>>) -> string(Rest);
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<"null", Rest/binary>>) -> {null, Rest};
value(Text) -> number(Text).

object(<<"}", Rest/binary>>, Map) when map_size(Map) =:= 0 ->
    {Map, Rest};
object(<<"\"", Rest/binary>>, Map) ->
    {Key, AfterKey} = string(Rest),
    false = is_map_key(Key, Map),
    <<":", AfterColon/binary>> = skip(AfterKey),
    {Value, AfterValue} = value(skip(AfterColon)),
    Map1 = Map#{Key => Value},
    case skip(AfterValue) of
        <<"}", End/binary>> -> {Map1, End};
        <<",", More/binary>> -> object(skip(More), Map1)
    end.

array(<<"]", Rest/binary>>, []) ->
    {[], Rest};
array(Text, Acc) ->
    {Value, AfterValue} = value(Text),
    case skip(AfterValue) of
        <<"]", End/binary>> -> {lists:reverse(Acc, [Value]), End};
        <<",", More/binary>> -> array(skip(More), [Value | Acc])
    end.

%% The text up to the first escape is copied at once. Most strings have no
%% escape.
string(Text) ->
    Plain = plain(Text, 0),
    case Text of
        <<String:Plain/binary, "\"", Rest/binary>> -> {String, Rest};
        <<Head:Plain/binary, Rest/binary>> -> string(Rest, [Head])
    end.

plain(<<C, Rest/binary>>, N) when C >= 32, C < 127, C =/= $", C =/= $\\ ->
    plain(Rest, N + 1);
plain(_, N) ->
    N.

string(Text, Acc) ->
    case Text of
        <<"\"", Rest/binary>> ->
            {iolist_to_binary(lists:reverse(Acc)), Rest};
        <<"\\u", Hex:4/binary, Rest/binary>> ->
            unicode(binary_to_integer(Hex, 16), Rest, Acc);
        <<"\\", C, Rest/binary>> ->
            string(Rest, [escaped(C) | Acc]);
        <<C/utf8, Rest/binary>> when C >= 32 ->
            string(Rest, [<<C/utf8>> | Acc])
    end.

unicode(High, <<"\\u", Hex:4/binary, Rest/binary>>, Acc)
  when High >= 16#d800, High =< 16#dbff ->
    Low = binary_to_integer(Hex, 16),
    <<C/utf16>> = <<High:16, Low:16>>,
    string(Rest, [<<C/utf8>> | Acc]);
unicode(C, Rest, Acc) ->
    string(Rest, [<<C/utf8>> | Acc]).

escaped($b) -> $\b;
escaped($f) -> $\f;
escaped($n) -> $\n;
escaped($r) -> $\r;
escaped($t) -> $\t;
escaped(C) when C =:= $"; C =:= $\\; C =:= $/ -> C.

number(<<"-", Text/binary>>) ->
    {Number, Rest} = unsigned(Text),
    {-Number, Rest};
number(Text) ->
    unsigned(Text).

unsigned(Text) ->
    case digits(Text, 0) of
        Int when Int > 0 ->
            case Text of
                <<_:Int/binary, C, _/binary>> when C =:= $.; C =:= $e; C =:= $E ->
                    not_whole(Text);
                <<Number:Int/binary, Rest/binary>> ->
                    {binary_to_integer(Number), Rest}
            end
    end.

digits(<<C, Rest/binary>>, N) when C >= $0, C =< $9 -> digits(Rest, N + 1);
digits(_, N) -> N.

not_whole(Text) ->
    {match, [{0, Len}]} =
        re:run(Text, "^[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?",
               [{capture, first}]),
    <<Number:Len/binary, Rest/binary>> = Text,
    {binary_to_float(Number), Rest}.
