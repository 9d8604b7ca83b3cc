%% SPDX-License-Identifier: Apache-2.0
%% @doc Work that inviso_top_SUITE looks at on its nodes.
-module(inviso_top_work).

-export([stand_out/0, calls/1, pay/1, large/1, full/1, busy/0, send/2, sink/0]).
-export([crowd/1, leave/1]).

%% @doc Starts processes with much memory, a long message queue or much work. They live as long as
%% the node. Returns the process `sink', to which send/2 can send messages.
-spec stand_out() -> pid().
stand_out() ->
    Large = spawn(?MODULE, large, [none]),
    register('naïve 東京', Large),
    Full = spawn(?MODULE, full, [none]),
    register('full\e[2J', Full),
    _ = [Full ! N || N <- lists:seq(1, 20000)],
    register(busy, spawn(?MODULE, busy, [])),
    Sink = spawn(?MODULE, sink, []),
    register(sink, Sink),
    Sink.

%% This process has more memory than any other.
large(none) -> large(lists:seq(1, 2000000));
large(List) -> receive stop -> List end.

full(none) -> receive never -> ok end.

busy() ->
    _ = lists:sum(lists:seq(1, 1000)),
    receive stop -> ok after 1 -> busy() end.

sink() ->
    receive {From, done} -> From ! {self(), done}; _ -> ok end,
    sink().

%% @doc Sends N messages to a process. Returns when the process has received all of them.
-spec send(atom(), pos_integer()) -> ok.
send(To, N) ->
    _ = [To ! M || M <- lists:seq(1, N)],
    Pid = whereis(To),
    To ! {self(), done},
    receive {Pid, done} -> ok end.

%% @doc Calls pay/1 N times.
-spec calls(non_neg_integer()) -> ok.
calls(N) ->
    _ = [?MODULE:pay(M) || M <- lists:seq(1, N)],
    ok.

pay(N) -> {paid, N}.

%% @doc Starts N processes that wait.
-spec crowd(pos_integer()) -> [pid()].
crowd(N) -> [spawn(?MODULE, full, [none]) || _ <- lists:seq(1, N)].

-spec leave([pid()]) -> ok.
leave(Ps) ->
    _ = [exit(P, kill) || P <- Ps],
    ok.
