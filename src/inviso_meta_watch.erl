%% SPDX-License-Identifier: Apache-2.0
%% @doc Watches the mailbox of the meta tracer, which the VM fills, and not
%% slower when it is full. When too many messages wait, be it because functions
%% are called too often or because a function of the user's takes its time, the
%% meta patterns are taken off by this process: the meta tracer may be the one
%% that cannot. See docs/decisions/0305.
%%
%% When the meta tracer dies it takes off what that has left.
-module(inviso_meta_watch).

-export([start_link/3, patterns/2, stop/1]).
-export([init/3]).

-define(PERIOD_MS, 20).
-define(MAX_QUEUE, 10000).
-define(STOP_MS, 5000).

%% @doc Starts the watcher of the calling process. Which patterns are set it is
%% told by {@link patterns/2}; the scopes are those of the patterns and of the
%% flags that they change.
-spec start_link(inviso_otp:scope(), inviso_otp:scope(), atom()) -> pid().
start_link(Scope, Flags, Name) ->
    Pid = spawn_opt(?MODULE, init, [self(), Scope, Flags],
                    [link, {priority, high}]),
    _ = try register(Name, Pid) catch error:badarg -> false end,
    Pid.

%% @doc Tells which patterns are set now.
-spec patterns(pid(), [inviso_otp:pattern()]) -> ok.
patterns(Watcher, Patterns) ->
    Watcher ! {patterns, Patterns},
    ok.

%% @doc Ends it.
-spec stop(pid()) -> ok.
stop(Watcher) ->
    Ref = monitor(process, Watcher),
    Watcher ! stop,
    receive
        {'DOWN', Ref, process, _, _} -> ok
    after ?STOP_MS ->
            true = exit(Watcher, kill),
            ok
    end.

%% @private
-spec init(pid(), inviso_otp:scope(), inviso_otp:scope()) -> no_return().
init(Meta, Scope, Flags) ->
    process_flag(trap_exit, true),
    group_leader(whereis(init), self()),
    loop(Meta, {Scope, Flags}, []).

loop(Meta, Scopes, Patterns) ->
    Wait = case Patterns of [] -> infinity; _ -> ?PERIOD_MS end,
    receive
        {patterns, New} -> loop(Meta, Scopes, New);
        stop -> ok;
        {'EXIT', Meta, _} -> clear(Scopes, Patterns);
        _ -> loop(Meta, Scopes, Patterns)
    after Wait ->
            loop(Meta, Scopes, look(Meta, Scopes, Patterns))
    end.

look(Meta, Scopes, Patterns) ->
    case process_info(Meta, message_queue_len) of
        {_, Waiting} when Waiting > ?MAX_QUEUE ->
            ok = clear(Scopes, Patterns),
            Meta ! {overload, Waiting},
            [];
        _ ->
            Patterns
    end.

clear({Scope, Flags}, Patterns) ->
    _ = [inviso_otp:set_meta(Scope, Flags, MFA, false, Patterns)
         || {meta, MFA, _} <- Patterns],
    ok.
