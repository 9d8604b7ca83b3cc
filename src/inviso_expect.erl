%% SPDX-License-Identifier: Apache-2.0
%% @doc How many events to expect, counted beforehand.
-module(inviso_expect).

-export([per_second/2]).

-spec per_second([inviso_arm_functions:operation()], pos_integer()) ->
          {ok, non_neg_integer()} | {unknown, binary()}.
per_second(_Todo, _Ms) ->
    {unknown, <<"not yet">>}.
