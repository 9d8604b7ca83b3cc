%% SPDX-License-Identifier: Apache-2.0
%% @doc Work for inviso_open_calls_SUITE, loaded on a stock node: a loop by tail
%% calls, a recursion, and functions that return.
-module(inviso_open_calls_work).

-export([start/1, do/3, flood/2, loop/1, loop/2, help/1, sum/1, pick/2, picks/2, ping/1, pong/1,
         throws/1, twice/2]).

%% Spawns a process, and registers it as `looper'. For each message {do, From, F, Args}, the process
%% calls F and sends the result to From.
start(Name) ->
    Pid = spawn(fun() -> register(Name, self()), work() end),
    wait(Name, Pid).

wait(Name, Pid) ->
    case whereis(Name) of
        Pid -> Pid;
        _ -> timer:sleep(1), wait(Name, Pid)
    end.

work() ->
    receive
        {do, From, F, Args} -> From ! {self(), apply(?MODULE, F, Args)}
    end,
    work().

%% Makes the process with this name call a function, and returns the result.
do(Name, F, Args) ->
    Pid = whereis(Name),
    Pid ! {do, self(), F, Args},
    receive {Pid, Result} -> Result end.

%% On each scheduler, starts a process that calls a function. Waits until all these processes have
%% ended.
flood(F, Args) ->
    Ps = [spawn_opt(?MODULE, F, Args, [monitor, {scheduler, I}])
          || I <- lists:seq(1, erlang:system_info(schedulers))],
    _ = [receive {'DOWN', Ref, _, _, _} -> ok end || {_, Ref} <- Ps],
    ok.

%% Loops by tail calls. The last call returns the size of the process's stack in words.
loop(0) -> stack();
loop(N) -> loop(N - 1).

loop(0, _) -> stack();
loop(N, F) -> _ = ?MODULE:F(N), loop(N - 1, F).

stack() ->
    {stack_size, Words} = process_info(self(), stack_size),
    Words.

help(N) -> N.

ping(0) -> stack();
ping(N) -> pong(N - 1).

pong(0) -> stack();
pong(N) -> ping(N - 1).

sum(0) -> 0;
sum(N) -> N + sum(N - 1).

pick(_, N) -> N.

picks(_, 0) -> ok;
picks(Which, N) -> N = ?MODULE:pick(Which, N), picks(Which, N - 1).

throws(N) -> throw(N).

%% Calls F, a function of this module with one argument, N times. Catches its exceptions.
twice(_, 0) -> ok;
twice(F, N) -> _ = (catch ?MODULE:F(N)), twice(F, N - 1).
