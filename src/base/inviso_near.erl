%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds names in a list that resemble a misspelt name.
-module(inviso_near).

-export([names/2, did_you_mean/1]).

-define(MOST, 3).
-define(LONGEST, 64).

%% @doc Returns those names of `All' that need the fewest changes to become
%% `Name'. Returns an empty list if all names need too many changes.
-spec names(string(), [string()]) -> [string()].
names(Name, All) when length(Name) =< ?LONGEST ->
    Low = string:lowercase(Name),
    %% A name of fewer than 6 letters may differ in one letter only: if two of four
    %% letters could differ, nearly every short word would match.
    Most = case length(Name) of
               L when L < 6 -> 1;
               _ -> 2
           end,
    Near = [{D, N} || N <- All, N =/= Name,
                      abs(length(N) - length(Name)) =< Most,
                      D <- [slips(Low, string:lowercase(N))], D =< Most],
    Nearest = lists:min([D || {D, _} <- Near] ++ [Most]),
    lists:sublist(lists:usort([N || {D, N} <- Near, D =:= Nearest]), ?MOST);
names(_, _) ->
    [].

%% @doc Returns text with these names, to append to an error message.
-spec did_you_mean([string()]) -> string().
did_you_mean([]) -> "";
did_you_mean(Names) -> "; did you mean " ++ lists:append(
                                              lists:join(" or ", Names)) ++ "?".

%% Returns the number of changes that turn `A' into `B'. Two exchanged
%% neighbours count as one change.
slips(A, B) ->
    case swapped(A, B) of
        true -> 1;
        false -> distance(A, B)
    end.

swapped([X, Y | Rest], [Y, X | Rest]) -> true;
swapped([X | A], [X | B]) -> swapped(A, B);
swapped(_, _) -> false.

distance(A, B) ->
    First = lists:seq(0, length(B)),
    lists:last(element(2, lists:foldl(fun(C, {I, Row}) ->
                                              {I + 1, row(C, B, Row, I)}
                                      end, {1, First}, A))).

row(C, B, [Corner | Above], I) ->
    row(C, B, Corner, Above, I, [I]).

row(_, [], _, [], _, Acc) ->
    lists:reverse(Acc);
row(C, [X | B], Corner, [Up | Above], Left, Acc) ->
    Cost = case C of
               X -> Corner;
               _ -> Corner + 1
           end,
    D = lists:min([Cost, Up + 1, Left + 1]),
    row(C, B, Up, Above, D, [D | Acc]).
