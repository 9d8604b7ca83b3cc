%% SPDX-License-Identifier: Apache-2.0
%% @doc A process that does for another one what may take time, one thing after
%% the other. It is made before anything is traced, so that it can be left out.
-module(inviso_worker).

-export([start_link/1, do/3]).
-export([init/1]).

%% @doc Starts a worker of the calling process.
-spec start_link(normal | high) -> pid().
start_link(Priority) ->
    spawn_opt(?MODULE, init, [self()], [link, {priority, Priority}]).

%% @doc Has something done. The owner gets `{done, Key, {ok, Result}}', or
%% `{done, Key, {crashed, Reason}}'.
-spec do(pid(), term(), fun(() -> term())) -> ok.
do(Worker, Key, Fun) ->
    Worker ! {do, Key, Fun},
    ok.

%% @private
-spec init(pid()) -> no_return().
init(Owner) ->
    group_leader(whereis(init), self()),
    loop(Owner).

loop(Owner) ->
    receive
        {do, Key, Fun} ->
            Owner ! {done, Key, result(Fun)},
            loop(Owner);
        _ ->
            loop(Owner)
    end.

result(Fun) ->
    try
        {ok, Fun()}
    catch
        Class:Reason:Stack -> {crashed, {Class, Reason, Stack}}
    end.
