%% SPDX-License-Identifier: Apache-2.0
%% @doc A worker is a process that runs slow functions for its owner, so that the
%% owner can answer requests in the meantime. It runs one function at a time, in
%% the order of the requests.
%%
%% A worker of kind `own' runs inviso's code and dies with its owner. A worker of
%% kind `user' runs functions of the user. Such a worker may get messages and exit
%% signals that a user's function causes. The worker passes them on to the owner, as
%% if the function had run in the owner.
%%
%% An owner starts its workers before it traces, so that it can exclude them from
%% tracing.
-module(inviso_worker).

-export([start_link/2, again/1, do/3, call/2, contained/1, stop/1]).
-export([init/2]).

-export_type([result/0]).

-type kind() :: own | user.
-type result() :: {ok, term()}
                | {crashed, {error | exit | throw, term(), list()}
                          | {died, term()} | timeout}.

-define(CALL_MS, 5000).

%% @doc Starts a worker of the calling process.
-spec start_link(kind(), normal | high) -> pid().
start_link(Kind, Priority) ->
    spawn_opt(?MODULE, init, [self(), Kind], [link, {priority, Priority}]).

%% @doc Returns `Worker' if it is alive, otherwise a new worker of kind `user'.
-spec again(pid()) -> pid().
again(Worker) ->
    case is_process_alive(Worker) of
        true -> Worker;
        false -> start_link(user, normal)
    end.

%% @doc Asks the worker to call a function. The owner gets `{done, Key, result()}'.
%% If the worker dies, the owner gets only the worker's exit signal.
-spec do(pid(), term(), fun(() -> term())) -> ok.
do(Worker, Key, Fun) ->
    Worker ! {?MODULE, self(), Key, Fun},
    ok.

%% @doc Asks the worker to call a function, and waits for the result. Kills the
%% worker if the function takes longer than 5 s.
-spec call(pid(), fun(() -> term())) -> result().
call(Worker, Fun) ->
    Ref = monitor(process, Worker),
    ok = do(Worker, Ref, Fun),
    receive
        {done, Ref, Result} ->
            true = demonitor(Ref, [flush]),
            Result;
        {'DOWN', Ref, process, _, Reason} ->
            {crashed, {died, Reason}}
    after ?CALL_MS ->
            ok = stop(Worker),
            true = demonitor(Ref, [flush]),
            receive {done, Ref, Result} -> Result
            after 0 -> {crashed, timeout}
            end
    end.

%% @doc Calls a function in the calling process and catches errors.
-spec contained(fun(() -> term())) -> result().
contained(Fun) ->
    try
        {ok, Fun()}
    catch
        Class:Reason:Stack -> {crashed, {Class, Reason, Stack}}
    end.

%% @doc Kills a worker, and waits until it is dead.
-spec stop(pid()) -> ok.
stop(Worker) ->
    Ref = monitor(process, Worker),
    true = unlink(Worker),
    true = exit(Worker, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    receive {'EXIT', Worker, _} -> ok after 0 -> ok end.

%% @private
-spec init(pid(), kind()) -> no_return().
init(Owner, Kind) ->
    group_leader(whereis(init), self()),
    process_flag(trap_exit, Kind =:= user),
    %% A function of the user may hang, so this process may outlive its owner.
    %% stays/1 makes the guard wait for this process.
    ok = case Kind of
             user -> inviso_push:stays(worker);
             own -> ok
         end,
    loop(Owner).

loop(Owner) ->
    receive
        {?MODULE, Owner, Key, Fun} ->
            Owner ! {done, Key, contained(Fun)};
        {'EXIT', Owner, Reason} ->
            exit(Reason);
        Other ->
            Owner ! Other
    end,
    loop(Owner).
