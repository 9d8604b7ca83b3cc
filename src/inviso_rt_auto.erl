%% SPDX-License-Identifier: Apache-2.0
%% @doc How a runtime component starts with its node.
%%
%% ```
%%  inviso_sup --start_link_auto--> inviso_rt --spawns--> autostarter
%%       |                              |                 (MFA: says what to
%%       '-- Mod:autostart(Arg)         '--asks Node-->    trace, and ends)
%%           {MFA, Options, Tag}           inviso_c?
%% '''
%%
%% Nothing here may keep a node from booting: what is not ours to bound runs in
%% a process of its own, with a deadline, and what goes wrong is logged once.
-module(inviso_rt_auto).

-export([plan/1, await/0, find_control/1, ended/2, log/2]).

-export_type([plan/0]).

-type plan() :: {MFA :: none | {module(), atom(), [term()]},
                 Options :: [term()], Tag :: term()}.

-define(CONFIG_MS, 5000).
-define(WAIT_MS, 5000).
-define(CONTROL_MS, 5000).

%% @doc What the module `inviso_autostart_mod' wants, when the application is
%% started with Arg.
-spec plan(term()) -> {ok, plan()} | none.
plan(Arg) ->
    Mod = inviso_autostart_conf:env(inviso_autostart_mod, inviso_autostart),
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
    inviso_c:is_option(Option)
        orelse log("unknown option ~0tp, passed over", [Option]) =/= none.

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

%% @doc Waits until what starts with the node has been started, so that the next
%% application is traced from its first call on; no longer than the parameter
%% `inviso_autostart_wait' says.
-spec await() -> ok.
await() ->
    Ms = case inviso_autostart_conf:env(inviso_autostart_wait, ?WAIT_MS) of
             N when is_integer(N), N >= 0 -> N;
             _ -> ?WAIT_MS
         end,
    try
        gen_server:call(inviso_rt, await_autostart, Ms)
    catch
        exit:{timeout, _} ->
            _ = log("not ready after ~b ms, the boot goes on", [Ms]),
            ok;
        exit:_ ->
            ok
    end.

%% @doc Has the calling process told, as `{control, Node, Pid | undefined}',
%% where the control component is. A node that is not there may take its time.
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

%% @doc Of the autostarter.
-spec ended(pid(), term()) -> none.
ended(_Pid, normal) -> none;
ended(_Pid, killed) -> none;
ended(Pid, Reason) -> log("the initiator ~tp ended: ~0tp", [Pid, Reason]).

%% @doc Logs what went wrong.
-spec log(io:format(), [term()]) -> none.
log(Format, Args) ->
    logger:error("inviso, autostart: " ++ Format, Args),
    none.
