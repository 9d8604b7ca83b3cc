%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls functions of the user's for the runtime component, which may not
%% return: in a process beside it, which is the same for all of them as long as
%% they do.
%%
%% Messages and exit signals that this process gets on their behalf go on to the
%% runtime component, as if they had run there.
-module(inviso_rt_callback).

-export([start_link/0, again/1, call/2, contained/1, stop/1]).
-export([init/1]).

-export_type([caller/0, result/0]).

-type caller() :: pid().
-type result() :: {ok, term()} | {crash, term()}.

-define(DEADLINE_MS, 5000).

%% @doc Starts a process for calls of this one.
-spec start_link() -> caller().
start_link() ->
    spawn_link(?MODULE, init, [self()]).

%% @doc The same process, or another one if it is dead.
-spec again(caller()) -> caller().
again(Caller) ->
    case is_process_alive(Caller) of
        true -> Caller;
        false -> start_link()
    end.

%% @doc Calls a function. One that takes longer than 5 s is killed with its
%% process: `{crash, timeout}'.
-spec call(caller(), fun(() -> term())) -> result().
call(Caller, Fun) ->
    Ref = monitor(process, Caller),
    Caller ! {?MODULE, self(), Ref, Fun},
    receive
        {Ref, Result} ->
            true = demonitor(Ref, [flush]),
            Result;
        {'DOWN', Ref, process, _, Reason} ->
            {crash, {died, Reason}}
    after ?DEADLINE_MS ->
            ok = stop(Caller),
            true = demonitor(Ref, [flush]),
            receive {Ref, Result} -> Result
            after 0 -> {crash, timeout}
            end
    end.

%% @doc Ends the process.
-spec stop(caller()) -> ok.
stop(Caller) ->
    Ref = monitor(process, Caller),
    true = unlink(Caller),
    true = exit(Caller, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    receive {'EXIT', Caller, _} -> ok after 0 -> ok end.

%% @private
-spec init(pid()) -> no_return().
init(Owner) ->
    process_flag(trap_exit, true),
    loop(Owner).

loop(Owner) ->
    receive
        {?MODULE, Owner, Ref, Fun} ->
            Owner ! {Ref, contained(Fun)};
        {'EXIT', Owner, Reason} ->
            exit(Reason);
        Other ->
            Owner ! Other
    end,
    loop(Owner).

%% @doc Calls a function here: one that returns.
-spec contained(fun(() -> term())) -> result().
contained(Fun) ->
    try
        {ok, Fun()}
    catch
        Class:Reason -> {crash, {Class, Reason}}
    end.
