%% SPDX-License-Identifier: Apache-2.0
%% @doc Work that inviso_hist_SUITE times on its nodes.
-module(inviso_hist_work).

-export([take/1, takes/2, sends/1, calls_any/1, any/1, kinds/3, kind/2, holds/1,
         hold/1]).
-export([naps/1, nap/1, calls/2, loop/1, quick/1, many/1, deep/1, down/1,
         tail/2, oops/1, outer/1, throws/1, held/1, stay/0,
         collects/1, waits/2,
         crowd/1, crowded/2, member/0]).

%% @doc Calls nap/1 with each of these times, in a new process.
naps(Us) -> alone(fun() -> [?MODULE:nap(N) || N <- Us], ok end).

%% @doc Takes at least Us microseconds. The clock's value is rounded down, so 1 is added.
nap(Us) -> busy(erlang:monotonic_time(microsecond) + Us + 1).

busy(Until) ->
    erlang:monotonic_time(microsecond) < Until andalso busy(Until).

%% @doc Starts N processes, each of which calls quick/1 M times. The processes pause between calls,
%% so that they may move to another thread.
calls(N, M) ->
    Ps = [spawn_monitor(fun() -> ?MODULE:loop(M) end) || _ <- lists:seq(1, N)],
    _ = [receive {'DOWN', Ref, process, _, normal} -> ok end || {_, Ref} <- Ps],
    [Pid || {Pid, _} <- Ps].

loop(0) -> ok;
loop(M) ->
    _ = ?MODULE:quick(fun() -> erlang:yield(), M end),
    loop(M - 1).

quick(F) -> {ok, F()}.

%% @doc Starts N processes, each of which calls quick/1 once.
many(N) ->
    _ = calls(N, 1),
    ok.

%% @doc Makes N + 1 calls by body recursion. All of them are open at the deepest call.
deep(N) -> alone(fun() -> ?MODULE:down(N) end).

down(0) -> 0;
down(N) -> 1 + down(N - 1).

%% @doc Makes N + 1 calls by tail recursion. The VM reports the ends of all of them when the last
%% one returns.
tail(0, Us) -> nap(Us);
tail(N, Us) -> tail(N - 1, Us).

%% @doc Makes N calls for each class of exceptions. The exception passes through two functions,
%% oops/1 and outer/1.
throws(N) ->
    alone(fun() ->
                  _ = [catch ?MODULE:outer(W) || W <- [error, throw, exit],
                                                 _ <- lists:seq(1, N)],
                  ok
          end).

outer(What) -> {ok, ?MODULE:oops(What)}.

oops(What) -> erlang:What(oops).

%% @doc Starts N processes that wait in a call of stay/0.
held(N) ->
    Ps = [spawn(fun() -> ?MODULE:stay() end) || _ <- lists:seq(1, N)],
    _ = [in_stay(P) || P <- Ps],
    Ps.

in_stay(P) ->
    process_info(P, current_function) =:= {current_function, {?MODULE, stay, 0}}
        orelse begin erlang:yield(), in_stay(P) end.

stay() -> receive go -> ok end.

%% @doc Starts a process that collects all its garbage N times. Returns the process.
collects(N) ->
    Pid = spawn(fun() ->
                        receive {go, From} -> ok end,
                        _ = [erlang:garbage_collect() || _ <- lists:seq(1, N)],
                        From ! {self(), done},
                        receive stop -> ok end
                end),
    Pid ! {go, self()},
    receive {Pid, done} -> Pid end.

%% @doc Starts N processes for crowded/2. Returns the process to which they are linked.
crowd(N) ->
    Self = self(),
    Owner = spawn(fun() ->
                          Ps = [spawn_opt(?MODULE, member, [], [link])
                                || _ <- lists:seq(1, N)],
                          Self ! {self(), ready},
                          owner(Ps)
                  end),
    receive {Owner, ready} -> Owner end.

owner(Ps) ->
    receive
        {call, From, M} ->
            _ = [P ! {call, self(), M} || P <- Ps],
            _ = [receive {P, done} -> ok end || P <- Ps],
            From ! {self(), done},
            owner(Ps)
    end.

%% @doc Each process of the crowd calls quick/1 M times.
crowded(Owner, M) ->
    Owner ! {call, self(), M},
    receive {Owner, done} -> ok end.

member() ->
    receive {call, From, M} ->
            ok = calls(M),
            From ! {self(), done},
            ?MODULE:member()
    end.

calls(0) -> ok;
calls(M) ->
    _ = ?MODULE:quick(fun() -> M end),
    calls(M - 1).

%% @doc Waits N times in a process, each time at least Ms milliseconds.
waits(N, Ms) ->
    alone(fun() ->
                  _ = [receive after Ms -> ok end || _ <- lists:seq(1, N)],
                  self()
          end).

alone(Fun) ->
    {_, Ref} = spawn_monitor(fun() -> exit({result, Fun()}) end),
    receive {'DOWN', Ref, process, _, {result, R}} -> R end.

%% @doc Calls takes/2 with a binary of each of these sizes.
take(Sizes) ->
    alone(fun() -> [?MODULE:takes(N rem 3, binary:copy(<<0>>, N)) || N <- Sizes],
                   ok end).

takes(_, _) -> ok.

%% @doc Sends a list of each of these lengths to a registered process.
sends(Lengths) ->
    alone(fun() ->
                  true = register(inviso_hist_sink, self()),
                  [inviso_hist_sink ! lists:duplicate(N, x) || N <- Lengths],
                  ok
          end).

%% @doc Calls any/1 with each of these terms.
calls_any(Terms) ->
    alone(fun() -> [?MODULE:any(T) || T <- Terms], ok end).

any(_) -> ok.

%% @doc Starts N processes, each of which calls kind/2 M times with each of these terms. Each call
%% yields, so that the process may move to another thread during the call.
kinds(N, M, Terms) ->
    Ps = [spawn_monitor(fun() ->
                                [?MODULE:kind(T, fun erlang:yield/0)
                                 || _ <- lists:seq(1, M), T <- Terms]
                        end) || _ <- lists:seq(1, N)],
    _ = [receive {'DOWN', Ref, process, _, normal} -> ok end || {_, Ref} <- Ps],
    ok.

kind(_, F) -> {ok, F()}.

%% @doc Starts a process for each of these terms. Each process waits in a call of hold/1.
holds(Terms) ->
    Ps = [spawn(fun() -> ?MODULE:hold(T) end) || T <- Terms],
    _ = [in_hold(P) || P <- Ps],
    Ps.

in_hold(P) ->
    process_info(P, current_function) =:= {current_function, {?MODULE, hold, 1}}
        orelse begin erlang:yield(), in_hold(P) end.

hold(_) -> receive go -> ok end.
