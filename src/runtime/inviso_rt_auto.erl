%% SPDX-License-Identifier: Apache-2.0
%% @doc Starts a runtime component when its node boots.
%%
%% ```
%%  inviso_sup --start_link_auto--> inviso_rt --spawns--> autostarter
%%       |                              |                 (MFA: sends trace
%%       '-- Mod:autostart(Arg)         '--asks Node-->    requests, ends)
%%           {MFA, Options, Tag}           inviso_c?
%% '''
%%
%% This module must not prevent a node from booting. So code of the user and calls
%% to other nodes run in separate processes with a deadline, and errors are only
%% logged.
-module(inviso_rt_auto).

-export([env/2, plan/2, await/0, find_control/1, ended/2, log/2]).

-export_type([plan/0]).

-type plan() :: {MFA :: none | {module(), atom(), [term()]},
                 Options :: [term()], Tag :: term()}.

-define(CONFIG_MS, 5000).
-define(WAIT_MS, 5000).
-define(CONTROL_MS, 5000).

%% @doc Returns a parameter of the application inviso. If it is not set, returns
%% the parameter of runtime_tools, where old configurations set it.
-spec env(atom(), term()) -> term().
env(Name, Default) ->
    case application:get_env(inviso, Name) of
        {ok, Value} -> Value;
        undefined -> application:get_env(runtime_tools, Name, Default)
    end.

%% @doc Returns the result of `Mod:autostart(Arg)' if it has the right form.
-spec plan(module(), term()) -> {ok, plan()} | none.
plan(Mod, Arg) ->
    case within(?CONFIG_MS, fun() -> Mod:autostart(Arg) end) of
        {ok, {MFA, Options, Tag}} when length(Options) >= 0 ->
            {ok, {mfa(MFA), [O || O <- Options, is_option(O)], Tag}};
        {ok, {_, _, _} = Bad} ->
            log("~tp:autostart/1 answers ~0tp: no list of options",
                [Mod, Bad]);
        {ok, _} ->
            none;
        {error, Why} ->
            log("~tp:autostart/1: ~0tp", [Mod, Why])
    end.

mfa({M, F, Args}) when is_atom(M), is_atom(F), length(Args) >= 0 ->
    {M, F, Args};
mfa(_) ->
    none.

is_option(Option) ->
    inviso_rt_request:is_option(Option)
        orelse log("unknown option ~0tp, ignored", [Option]) =/= none.

within(Ms, Fun) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({done, Fun()}) end),
    receive
        {'DOWN', Ref, process, Pid, {done, Result}} -> {ok, Result};
        {'DOWN', Ref, process, Pid, Reason} -> {error, Reason}
    after Ms ->
            true = exit(Pid, kill),
            true = demonitor(Ref, [flush]),
            {error, {no_answer_within_ms, Ms}}
    end.

%% @doc Waits until the autostarter has ended. Only then does the boot continue,
%% so that the next application is traced from its first call on. The parameter
%% `inviso_autostart_wait' sets the longest wait (ms).
-spec await() -> ok.
await() ->
    Ms = case env(inviso_autostart_wait, ?WAIT_MS) of
             N when is_integer(N), N >= 0 -> N;
             _ -> ?WAIT_MS
         end,
    try
        gen_server:call(inviso_rt, await_autostart, Ms)
    catch
        exit:{timeout, _} ->
            _ = log("not ready after ~b ms, the boot continues", [Ms]),
            ok;
        exit:_ ->
            ok
    end.

%% @doc Looks for the control component on a node, without waiting. The calling
%% process later receives `{control, Node, Pid | undefined}'.
-spec find_control(node()) -> ok.
find_control(Node) ->
    Self = self(),
    _ = spawn(fun() -> Self ! {control, Node, control(Node)} end),
    ok.

control(Node) when Node =:= node() ->
    whereis(inviso_c);
control(Node) ->
    try
        erpc:call(Node, erlang, whereis, [inviso_c], ?CONTROL_MS)
    catch
        _:_ -> undefined
    end.

%% @doc Logs how the autostarter ended, unless it ended normally or was killed.
-spec ended(pid(), term()) -> none.
ended(_Pid, normal) -> none;
ended(_Pid, killed) -> none;
ended(Pid, Reason) -> log("the initiator ~tp ended: ~0tp", [Pid, Reason]).

%% @doc Logs an error.
-spec log(io:format(), [term()]) -> none.
log(Format, Args) ->
    logger:error("inviso, autostart: " ++ Format, Args),
    none.
