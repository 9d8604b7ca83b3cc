%% SPDX-License-Identifier: Apache-2.0
%% @doc Work with known counts, which inviso_count_SUITE runs on its nodes.
-module(inviso_count_work).

-export([end_all/1, ends/1, exits/1]).
-export([calls/2, loop/1, f/1, down/1, g/2, many/1, drain/1, ping/2,
         served/3, serve/2, asks/1, tells/1]).

%% @doc Starts N processes, each of which calls f/1 M times. Returns when all have ended.
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

%% @doc asks/1 and tells/1 call f/1.
asks(N) -> {asked, [?MODULE:f(I) || I <- lists:seq(1, N)]}.

tells(X) ->
    {ok, _} = ?MODULE:f(X),
    told.

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

%% @doc Starts N processes that run serve/2, and sends M messages to each. The first process gets a
%% registered name. Returns the processes.
served(Name, N, M) ->
    Ps = [spawn(?MODULE, serve, [self(), M]) || _ <- lists:seq(1, N)],
    true = register(Name, hd(Ps)),
    _ = [P ! {ping, I} || P <- Ps, I <- lists:seq(1, M)],
    _ = [receive {P, done} -> ok end || P <- Ps],
    Ps.

serve(From, M) ->
    ok = drain(M),
    From ! {self(), done},
    receive stop -> ok end.

drain(0) -> ok;
drain(N) -> receive {ping, _} -> drain(N - 1) end.

%% @doc Calls ends/1 N times in a new process.
end_all(N) ->
    {_, Ref} = spawn_monitor(fun() -> _ = [catch ?MODULE:ends(I) || I <- lists:seq(1, N)],
                                      ok end),
    receive {'DOWN', Ref, process, _, normal} -> ok end.

ends(N) ->
    case N rem 7 of
        0 -> ok;
        1 -> {error, {timeout, N rem 2}};
        2 -> error(badarg);
        3 -> throw({declined, "no"});
        4 -> [<<"a">>, 1.5];
        _ -> {ok, #{rest => N rem 7 div 6}}
    end.

%% @doc Starts processes that exit for these reasons, one after the other.
exits(Reasons) ->
    _ = [begin
             {Pid, Ref} = spawn_monitor(fun() -> receive after infinity -> ok end end),
             true = exit(Pid, Reason),
             receive {'DOWN', Ref, process, _, _} -> ok end
         end || Reason <- Reasons],
    ok.
