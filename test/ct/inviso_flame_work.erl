%% SPDX-License-Identifier: Apache-2.0
%% @doc Work for inviso_flame_SUITE.
-module(inviso_flame_work).

-behaviour(gen_server).

-export([start/2, stop/1, busy/0, turn/1, heavy/1, light/1, calls/1, outer/1, inner/1,
         ask/1]).
-export([init/1, handle_call/3, handle_cast/2]).

%% @doc Starts a process that runs a function. Registers the process as Name.
start(Name, {F, Args}) ->
    Pid = spawn(fun() -> apply(?MODULE, F, Args) end),
    true = register(Name, Pid),
    Pid.

stop(Pid) ->
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% @doc Works for ever; heavy/1 takes most of the time.
busy() ->
    _ = turn(1),
    busy().

turn(N) ->
    X = heavy(3000),
    Y = light(30),
    X + Y + N.

heavy(0) -> 0;
heavy(N) -> 1 + heavy(N - 1).

light(0) -> 0;
light(N) -> 1 + light(N - 1).

%% @doc Calls outer/1 N times in a process of its own, and waits for its end.
calls(N) ->
    {Pid, Ref} = spawn_monitor(fun() -> [?MODULE:outer(3) || _ <- lists:seq(1, N)] end),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end.

outer(N) ->
    Sum = lists:sum([?MODULE:inner(I) || I <- lists:seq(1, N)]),
    Sum + 1.

inner(I) -> I * 2.

%% @doc Waits for the answer of a server that never answers.
ask(Server) ->
    case whereis(Server) of
        undefined -> {ok, _} = gen_server:start({local, Server}, ?MODULE, [], []);
        _ -> ok
    end,
    gen_server:call(Server, never, infinity).

init([]) -> {ok, none}.

handle_call(never, _, S) -> {noreply, S}.

handle_cast(_, S) -> {noreply, S}.
