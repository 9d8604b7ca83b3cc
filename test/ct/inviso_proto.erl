%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads protocol buffers: the fields of a message, in their order.
-module(inviso_proto).

-export([fields/1, one/2, one/3, all/2, protoc/4]).

-export_type([fields/0]).

-type fields() :: [{pos_integer(), non_neg_integer() | binary()}].

%% @doc Returns the fields of a message. The value of a field is a number, or a binary if the field
%% has a length. Fails if the message is invalid.
-spec fields(binary()) -> fields().
fields(<<>>) -> [];
fields(Bin) ->
    {Tag, Rest} = varint(Bin, 0, 0),
    {Value, More} = value(Tag band 7, Rest),
    [{Tag bsr 3, Value} | fields(More)].

value(0, Bin) -> varint(Bin, 0, 0);
value(1, <<N:64/little, Rest/binary>>) -> {N, Rest};
value(2, Bin) ->
    {Len, Rest} = varint(Bin, 0, 0),
    <<Bytes:Len/binary, More/binary>> = Rest,
    {Bytes, More}.

varint(<<1:1, B:7, Rest/binary>>, Shift, N) when Shift < 63 ->
    varint(Rest, Shift + 7, N bor (B bsl Shift));
varint(<<0:1, B:7, Rest/binary>>, Shift, N) ->
    {N bor (B bsl Shift), Rest}.

%% @doc Returns the only value of a field.
-spec one(pos_integer(), fields()) -> non_neg_integer() | binary().
one(Field, Fields) ->
    [Value] = all(Field, Fields),
    Value.

-spec one(pos_integer(), fields(), T) -> non_neg_integer() | binary() | T.
one(Field, Fields, Default) ->
    case all(Field, Fields) of
        [] -> Default;
        [Value] -> Value
    end.

-spec all(pos_integer(), fields()) -> [non_neg_integer() | binary()].
all(Field, Fields) ->
    [V || {F, V} <- Fields, F =:= Field].

%% @doc Decodes a file with protoc, and returns the text. Fails if protoc fails, or if the file has
%% a field that is not in the schema.
-spec protoc(file:filename(), file:filename(), string(), file:filename()) ->
          binary().
protoc(Dir, Proto, Message, File) ->
    Text = File ++ ".txt",
    [] = os:cmd("protoc --decode=" ++ Message ++ " -I '" ++ Dir ++ "' " ++
                    Proto ++ " <'" ++ File ++ "' 2>&1 >'" ++ Text ++ "'"),
    {ok, Bin} = file:read_file(Text),
    %% Unknown fields are printed as numbers.
    nomatch = re:run(Bin, "^ *[0-9]+(:| {)", [multiline]),
    ok = file:delete(Text),
    Bin.
