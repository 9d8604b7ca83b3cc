%% SPDX-License-Identifier: Apache-2.0
%% @doc For a dry run, lists the functions that specs select.
-module(inviso_arm_list).

-export([lines/1]).

%% The list shows at most MAX_MODULES modules of a spec, and MAX_FUNCTIONS
%% functions of a module.
-define(MAX_MODULES, 100).
-define(MAX_FUNCTIONS, 50).

%% @doc Returns lines of text. For each spec there is a line that says how many modules
%% and functions the spec selects, and then a line for each module with its functions.
-spec lines([{inviso_spec:spec(), [inviso_arm_functions:resolved()]}]) ->
          [binary()].
lines(Specs) ->
    [format("~ts", [L]) || {Spec, Found} <- Specs, L <- spec(Spec, Found)].

spec(#{text := Text}, Found) ->
    Modules = [{M, functions(M, Which)} || {M, Which, _} <- Found],
    All = lists:sum([length(FAs) || {_, FAs} <- Modules]),
    [[string:trim(Text), ": ", count(length(Modules), "module"), ", ",
      count(All, "function")]
     | some(?MAX_MODULES, [module(M, FAs) || {M, FAs} <- Modules], "module")].

functions(M, whole) -> inviso_functions:of_module(M);
functions(_, FAs) -> FAs.

module(M, FAs) ->
    Name = case atom_to_list(M) of
               "Elixir." ++ Elixir -> Elixir;
               _ -> io_lib:format("~tw", [M])
           end,
    {Made, Written} = lists:partition(fun is_made/1, FAs),
    Shown = [io_lib:format("~tw/~b", [F, A])
             || {F, A} <- lists:sublist(Written, ?MAX_FUNCTIONS)],
    More = length(Written) - length(Shown),
    ["  ", Name, ": ",
     lists:join(", ", Shown
                ++ [[integer_to_list(More), " more"] || More > 0]
                ++ [[count(length(Made), "function"), " of the compiler"]
                    || Made =/= []])].

%% Returns true for a function that the compiler has made from a fun or a list
%% comprehension.
is_made({F, _}) -> lists:prefix("-", atom_to_list(F)).

some(Max, Lines, _) when length(Lines) =< Max ->
    Lines;
some(Max, Lines, What) ->
    lists:sublist(Lines, Max)
        ++ [["  and ", count(length(Lines) - Max, What), " more"]].

count(1, What) -> ["1 ", What];
count(N, What) -> [integer_to_list(N), " ", What, "s"].

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
