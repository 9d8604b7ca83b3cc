%% SPDX-License-Identifier: Apache-2.0
%% @doc Shortens time limits in tests.
%%
%% With an environment variable a test can divide the time limits on its nodes by
%% a number from 1 to 10. The value must have this form, so that it is not set by
%% accident:
%% ```
%%  INVISO_TEST_DEADLINES='only in tests: 1/5'
%% '''
%% Any other value is ignored. The spooler reads the same variable
%% (c_src/base/deadline.h).
-module(inviso_deadline).

-export([ms/1]).

-define(SHORTEST, 10).

%% @doc Returns a time limit in milliseconds: `Ms', divided by the number in
%% INVISO_TEST_DEADLINES if this variable is set.
-spec ms(pos_integer()) -> pos_integer().
ms(Ms) ->
    max(1, Ms div part(os:getenv("INVISO_TEST_DEADLINES", ""))).

part("only in tests: 1/" ++ Text) ->
    case string:to_integer(Text) of
        {N, ""} when N >= 1, N =< ?SHORTEST -> N;
        _ -> 1
    end;
part(_) ->
    1.
