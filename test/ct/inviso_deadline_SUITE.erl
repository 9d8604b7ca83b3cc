%% SPDX-License-Identifier: Apache-2.0
%% The environment variable INVISO_TEST_DEADLINES shortens deadlines only if its
%% value is exactly `only in tests: 1/N'.
-module(inviso_deadline_SUITE).

-export([all/0, end_per_testcase/2]).
-export([a_test_may_shorten_deadlines/1, other_values_change_nothing/1,
         a_session_ends_sooner/1]).

-define(NAME, "INVISO_TEST_DEADLINES").

all() ->
    [a_test_may_shorten_deadlines, other_values_change_nothing,
     a_session_ends_sooner].

end_per_testcase(_Case, _Config) ->
    os:unsetenv(?NAME).

with(Value) ->
    true = os:putenv(?NAME, Value),
    inviso_deadline:ms(6000).

a_test_may_shorten_deadlines(_Config) ->
    [6000, 1200, 600] = [with(element(2, inviso_test_lib:hurry(N)))
                         || N <- [1, 5, 10]],
    1 = inviso_deadline:ms(1).

other_values_change_nothing(_Config) ->
    6000 = inviso_deadline:ms(6000),
    [6000 = with(V)
     || V <- ["", "5", "1/5", "only in tests: 1/", "only in tests: 1/0",
              "only in tests: 1/11", "only in tests: 1/-5",
              "only in tests: 1/5 ", "Only in tests: 1/5"]].

%% A session ends if its client sends no request for the dead man's time. INVISO_TEST_DEADLINES
%% also shortens the default of this time.
a_session_ends_sooner(_Config) ->
    10000 = dead_man_ms(),
    600 = with("only in tests: 1/10"),
    1000 = dead_man_ms().

dead_man_ms() ->
    Map = inviso_remote_lib:session(self(), #{}),
    {ok, #{dead_man_ms := Ms}} =
        inviso_session_map:check(maps:remove(dead_man_ms, Map)),
    Ms.
