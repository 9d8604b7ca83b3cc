%%% A parse transform for compilers of OTP 29 and later (tools/erlc25). They compile
%%% min/2 and max/2 to instructions that OTP 25 does not have, so this transform
%%% replaces these functions by lists:min/1 and lists:max/1.
-module(otp25).
-export([parse_transform/2]).

parse_transform(Forms, _Options) ->
    rewrite(Forms).

rewrite({call, Anno, {atom, A, Name}, [X, Y]}) when Name =:= min; Name =:= max ->
    call(Anno, A, Name, X, Y);
rewrite({call, Anno, {remote, _, {atom, _, erlang}, {atom, A, Name}}, [X, Y]})
  when Name =:= min; Name =:= max ->
    call(Anno, A, Name, X, Y);
rewrite(Form) when is_tuple(Form) ->
    list_to_tuple(rewrite(tuple_to_list(Form)));
rewrite([Head | Tail]) ->
    [rewrite(Head) | rewrite(Tail)];
rewrite(Other) ->
    Other.

call(Anno, A, Name, X, Y) ->
    List = {cons, Anno, rewrite(X), {cons, Anno, rewrite(Y), {nil, Anno}}},
    {call, Anno, {remote, A, {atom, A, lists}, {atom, A, Name}}, [List]}.
