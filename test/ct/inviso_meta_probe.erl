%% SPDX-License-Identifier: Apache-2.0
%% @doc Plays the user's code in the suite of meta tracing. Some functions of this
%% module are meta traced. The meta tracer calls other functions of the module,
%% which send their arguments to the process `meta_probe'.
-module(inviso_meta_probe).

-export([load/1, told/1, forget/1, run/2, run/3]).
-export([assoc/2, fails/1, failing/1, other/1, busy/2, loop/2]).
-export([init/4, call/3, return/3, remove/4, slow/3, crash/3, crash/4, odd/3,
         odd/4, ask/3, ask_rt/3, publ_new/1, publ_remove/1, publ_clean/1,
         publ_crash/1, publ_none/0, the_module_itself/1]).

-import(inviso_test_lib, [call/4]).

%% @doc Loads this module on a node, and starts the process `meta_probe' there.
load(Node) ->
    {Mod, Bin, File} = code:get_object_code(?MODULE),
    {module, Mod} = call(Node, code, load_binary, [Mod, File, Bin]),
    forget(Node).

%% @doc Returns the messages of `meta_probe', the oldest first.
told(Node) ->
    Pid = call(Node, erlang, whereis, [meta_probe]),
    {messages, All} = call(Node, erlang, process_info, [Pid, messages]),
    All.

%% @doc Replaces `meta_probe' by a new process with an empty mailbox.
forget(Node) ->
    case call(Node, erlang, whereis, [meta_probe]) of
        undefined -> ok;
        Old -> true = call(Node, erlang, exit, [Old, kill]),
               inviso_test_lib:wait_until(
                 fun() -> call(Node, erlang, whereis, [meta_probe])
                              =:= undefined end)
    end,
    Pid = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    true = call(Node, erlang, register, [meta_probe, Pid]),
    ok.

%% @doc Runs a function of this module in a new process on a node. Returns when
%% the process has ended.
run(Node, F, Args) ->
    Pid = inviso_test_lib:spawn_call(Node, ?MODULE, F, Args),
    inviso_test_lib:wait_until(
      fun() -> not call(Node, erlang, is_process_alive, [Pid]) end),
    Pid.

run(Node, Args) -> run(Node, assoc, Args).

tell(What) ->
    catch meta_probe ! What.

%% --- functions that are meta traced ------------------------------------------

assoc(Pid, Ref) -> {assoc, Pid, Ref}.

fails(Why) ->
    try other(Why) of
        _ -> error({failed, Why})
    catch
        throw:never -> ok
    end.

other(X) -> {other, X}.

%% Catches the error of fails/1, because the VM reports an exception only when
%% it is caught.
failing(Why) ->
    try fails(Why) catch error:_ -> caught end.

busy(0, _Ref) -> ok;
busy(N, Ref) -> assoc(self(), Ref), busy(N - 1, Ref).

%% Calls assoc/2 once and other/1 N times.
loop(Ref, N) ->
    assoc(self(), Ref),
    [other(I) || I <- lists:seq(1, N)],
    timer:sleep(200).

%% --- functions that the meta tracer calls ------------------------------------

init(M, F, A, Publ) ->
    tell({init, {M, F, A}, Publ}),
    {ok, Publ, term_to_binary({self(), {init, F}, alias, erlang:timestamp()})}.

call(Pid, {call, Args, TS}, Publ) ->
    tell({call, Pid, Args, TS, Publ}),
    {ok, Publ, term_to_binary({Pid, {called, Args}, alias, TS})}.

return(Pid, {What, Value, TS}, Publ) ->
    tell({What, Pid, Value, TS, Publ}),
    Alias = term_to_binary({Pid, {What, Value}, alias, TS}),
    {ok, Publ, [Alias, Alias]}.

remove(M, F, A, Publ) ->
    tell({remove, {M, F, A}, Publ}),
    {ok, Publ}.

slow(_Pid, _, Publ) ->
    timer:sleep(2000),
    {ok, Publ, void}.

crash(_, _, _) -> error(told_to).
crash(_, _, _, _) -> error(told_to).

odd(_, _, _) -> odd.
odd(_, _, _, _) -> odd.

%% Runs F, the first argument of the traced call, in the meta tracer.
ask(_Pid, {call, [F, _], _}, Publ) when is_function(F) ->
    tell({answer, F()}),
    {ok, Publ, void}.

%% Sends a request to the runtime component.
ask_rt(_Pid, {call, [_, Request], _}, Publ) ->
    tell({answer, gen_server:call(inviso_rt, Request)}),
    {ok, Publ, void}.

publ_new(X) -> tell({publ_new, X}), {[], X}.

publ_remove(Publ) -> tell({publ_remove, Publ}).

publ_clean(Publ) -> tell({publ_clean, Publ}), {cleaned, Publ}.

publ_crash(_) -> error(told_to).

publ_none() -> no_tuple.

%% --- inviso_rt_meta, on a node where nothing else of inviso runs -------------

the_module_itself(Out) ->
    process_flag(trap_exit, true),
    Scope = inviso_scope:open(probe, self()),
    {error, {open, ["/no/such/ti", enoent]}} =
        inviso_rt_meta:start({file, "/no/such/ti"}, Scope),
    {ok, Pid} = inviso_rt_meta:start({file, Out}, Scope,
                                     {?MODULE, publ_new, [arg]}, void, void),
    {error, {already_started, Pid}} =
        inviso_rt_meta:start({file, Out ++ "2"}, Scope),
    {ok, _, {[], arg}} = inviso_rt_meta:get_state(Pid),
    Call = {?MODULE, call},
    MF = [?MODULE, assoc, 2],
    Do = fun(F, Args) -> apply(inviso_rt_meta, F, [Pid | Args]) end,
    {error, not_initiated} = Do(tpm, MF ++ [[]]),
    {error, not_initiated} = Do(tpm_tracer, MF ++ [[]]),
    ok = Do(init_tpm, MF ++ [Call]),
    {error, already_initiated} = Do(init_tpm, MF ++ [void, Call, void, void]),
    {ok, 1} = Do(tpm, MF ++ [[]]),
    {ok, 1} = Do(tpm_tracer, MF ++ [[]]),
    {error, already_initiated} = Do(tpm, MF ++ [[], Call]),
    {error, already_initiated} = Do(tpm, MF ++ [[], void, Call, void, void]),
    {error, already_initiated} = Do(tpm_tracer, MF ++ [[], Call]),
    {error, already_initiated} =
        Do(tpm_tracer, MF ++ [[], void, Call, void, void]),
    {ok, 1} = Do(tpm_ms, MF ++ [name, []]),
    {ok, 1} = Do(tpm_ms_tracer, MF ++ [name, []]),
    ok = Do(ctpm_ms, MF ++ [name]),
    ok = Do(ctpm, MF),
    {error, bad_mfa} = Do(ctpm, MF),
    {{ok, 1}, {ok, 1}} = Do(local_register, []),
    true = register(me, self()),
    {ok, ok} = Do(remove_local_register, []),
    {{ok, 1}, {ok, 1}} = Do(global_register, []),
    {ok, ok} = Do(remove_global_register, []),
    {ok, 1} = Do(tpm, MF ++ [[], Call]),
    ok = inviso_rt_meta:suspend(Pid),
    {error, bad_mfa} = Do(ctpm, MF),
    ok = inviso_rt_meta:stop(Pid),
    false = is_process_alive(Pid),
    inviso_scope:close(Scope),
    ok.
