%% SPDX-License-Identifier: Apache-2.0
%% Trace sessions: random scripts (inviso_sessions_gen), whose outcome on OTP
%% 27 is in the data directory. `make fuzz T=sessions' plays more of them.
-module(inviso_trace_random_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).

-export([random_scripts/1]).

-export([record/0]).

-define(SEEDS, lists:seq(1, 100)).

suite() -> [{timetrap, {seconds, 600}}].

all() -> [random_scripts].

init_per_suite(Config) ->
    inviso_sessions_lib:start(Config).

end_per_suite(Config) ->
    inviso_sessions_lib:stop(Config).

end_per_testcase(_Case, Config) ->
    inviso_sessions_lib:nothing_left(Config).

random_scripts(Config) ->
    {ok, Recorded} = file:consult(filename:join(?config(data_dir, Config),
                                                "otp27.terms")),
    ?assertEqual(?SEEDS, [Seed || {Seed, _, _} <- Recorded]),
    ?assertEqual([], [Seed || {Seed, Hash, Expected} <- Recorded,
                              not same(Seed, Hash, Expected,
                                       ?config(node, Config))]).

same(Seed, Hash, Expected, Node) ->
    Script = inviso_sessions_gen:script(Seed),
    Hash =:= erlang:phash2(Script)
        orelse ct:fail("the scripts are others now: tools/record-sessions.sh"),
    case inviso_test_lib:call(Node, inviso_sessions_play, play, [Script]) of
        Expected ->
            true;
        Played ->
            ct:pal("seed ~p:~n~p~nOTP 27:~n~p~nhere:~n~p~n"
                   "made small by: tools/fuzz-sessions.sh 0 ~p",
                   [Seed, Script, Expected, Played, Seed]),
            false
    end.

%% @doc Plays the scripts on this VM, which must have trace sessions itself. Writes
%% the outcomes to a file (tools/record-sessions.sh).
-spec record() -> ok.
record() ->
    true = inviso_sessions_lib:has_sessions(),
    Text = [io_lib:format("~0p.~n", [recorded(Seed)]) || Seed <- ?SEEDS],
    ok = file:write_file(?MODULE_STRING ".terms", Text).

recorded(Seed) ->
    Script = inviso_sessions_gen:script(Seed),
    {Seed, erlang:phash2(Script), inviso_sessions_play:play(Script)}.
