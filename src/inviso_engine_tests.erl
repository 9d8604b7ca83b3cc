%% SPDX-License-Identifier: Apache-2.0
%% @doc Match specs as expressions, which a body can have several of.
%%
%% In a guard what fails makes its clause fail; in a body it is an atom, and the
%% rest goes on ({@link inviso_engine_spec}). Where nothing can fail there is no
%% difference: then a clause may be a boolean in a body, one beside the other,
%% instead of a clause for each combination. What cannot fail: tests of types,
%% comparisons, and what combines the booleans of these, with arguments that need
%% no computing.
-module(inviso_engine_tests).

-export([is_total/1, test/1]).

-define(TYPES, [is_atom, is_binary, is_float, is_function, is_integer, is_list,
                is_map, is_number, is_pid, is_port, is_reference, is_tuple]).
-define(COMPARISONS, ['=:=', '=/=', '==', '/=', '<', '>', '=<', '>=']).
-define(COMBINED, ['and', 'or', 'xor', 'andalso', 'orelse']).

%% @doc Whether clauses are such, with bodies that make a message at most.
-spec is_total([tuple()]) -> boolean().
is_total(MS) ->
    lists:all(fun({_Head, Guards, Body}) ->
                      lists:all(fun is_boolean_of/1, Guards)
                          andalso lists:all(fun is_message/1, Body)
              end, MS).

is_message({message, {caller}}) -> true;
is_message({message, Value}) -> is_term(Value);
is_message(Action) -> not is_tuple(Action).

is_boolean_of(B) when is_boolean(B) ->
    true;
is_boolean_of({'not', A}) ->
    is_boolean_of(A);
is_boolean_of({Type, A}) ->
    lists:member(Type, ?TYPES) andalso is_term(A);
is_boolean_of({Op, A, B}) ->
    case lists:member(Op, ?COMPARISONS) of
        true -> is_term(A) andalso is_term(B);
        false -> are_combined([Op, A, B])
    end;
is_boolean_of(Test) when is_tuple(Test), tuple_size(Test) > 3 ->
    are_combined(tuple_to_list(Test));
is_boolean_of(_) ->
    false.

are_combined([Op | Tests]) ->
    lists:member(Op, ?COMBINED) andalso lists:all(fun is_boolean_of/1, Tests).

is_term({const, _}) -> true;
is_term({self}) -> true;
is_term({T}) when is_tuple(T) -> is_term(tuple_to_list(T));
is_term(T) when is_tuple(T) -> false;
is_term([H | T]) -> is_term(H) andalso is_term(T);
is_term(T) when is_map(T) -> is_term(maps:keys(T) ++ maps:values(T));
is_term(_) -> true.

%% @doc Guards as one expression.
-spec test([term()]) -> term().
test([]) -> true;
test([Guard]) -> Guard;
test(Guards) -> list_to_tuple(['andalso' | Guards]).
