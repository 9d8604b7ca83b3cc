%% SPDX-License-Identifier: Apache-2.0
%% @doc Work with known counts, which inviso_count_SUITE runs on its nodes.
-module(inviso_count_work).

-export([calls/2, loop/1, f/1, down/1, g/2, many/1, drain/1, ping/2]).

%% @doc Calls in each of N processes f/1 M times. Returns when all are done.
calls(N, M) ->
    Done = [spawn_monitor(fun() -> ?MODULE:loop(M) end)
            || _ <- lists:seq(1, N)],
    _ = [receive {'DOWN', Ref, process, _, normal} -> ok end
         || {_, Ref} <- Done],
    [Pid || {Pid, _} <- Done].

loop(0) -> ok;
loop(M) ->
    _ = ?MODULE:f(M),
    loop(M - 1).

f(X) -> {ok, X}.

%% @doc Body recursion: N + 1 calls.
down(0) -> 0;
down(N) -> 1 + down(N - 1).

g(a, X) -> X;
g(_, _) -> other.

%% @doc Starts N processes, each of which calls f/1 once.
many(N) ->
    _ = calls(N, 1),
    ok.

%% @doc Sends N messages to a process, which receives them all.
ping(Name, N) ->
    Self = self(),
    Pid = spawn(fun() -> receive go -> ok end, drain(N), Self ! done end),
    true = register(Name, Pid),
    Pid ! go,
    _ = [Pid ! {ping, I} || I <- lists:seq(1, N)],
    receive done -> ok end.

drain(0) -> ok;
drain(N) -> receive {ping, _} -> drain(N - 1) end.
