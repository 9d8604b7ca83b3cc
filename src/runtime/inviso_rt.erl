%% SPDX-License-Identifier: Apache-2.0
%% @doc The API for trace cases that run on a traced node. The functions are the
%% same as in {@link inviso}, but without the argument for a list of nodes. They
%% send requests to this node's runtime component ({@link inviso_rt_server}).
%%
%% Each function returns only this node's result. The result is `{error,
%% not_started}' if the node has no runtime component, and `{error,
%% {no_response, Reason}}' if the runtime component dies.
-module(inviso_rt).

-export([init_tracing/1, tp/1, tp/4, tp/5, tpg/1, tpg/4, tpg/5,
         tpl/1, tpl/4, tpl/5, ctp/1, ctp/3, ctpg/1, ctpg/3, ctpl/1, ctpl/3,
         counters/0, counters/1, tf/1, tf/2, ctf/1, ctf/2,
         init_tpm/4, init_tpm/7, tpm/4, tpm/5, tpm/8,
         tpm_tracer/4, tpm_tracer/5, tpm_tracer/8, tpm_ms/5, tpm_ms_tracer/5,
         ctpm_ms/4, ctpm/3, local_register/0, remove_local_register/0,
         global_register/0, remove_global_register/0, state/0, state/1]).
%% Another node that has sent inviso's code to this node calls only these functions of
%% the code.
-export([start/4, expand/2, fetch/5]).

-export_type([facts/0]).

%% `patterns': the number of stored patterns, which are set while the node traces;
%% `readers': the processes that read logs for clients.
-type facts() :: #{state := inviso_rt_server:state(),
                   status := inviso_rt_server:status(),
                   tracerdata := term() | no_tracerdata,
                   control := none | pid(), tag := term(),
                   dependency := timeout(),
                   patterns := non_neg_integer(),
                   meta_tracer := none | pid(),
                   readers := [pid()]}.

-type answer(R) :: inviso_rt_request:answer(R).
-type match_spec() :: inviso_rt_request:match_spec().
-type mod() :: inviso_rt_request:mod().
-type ari() :: inviso_rt_request:ari().
-type pattern() :: inviso_rt_request:pattern().
-type pattern_opts() :: inviso_rt_request:pattern_opts().
-type counts() :: inviso_rt_request:counts().
-type counted() :: inviso_rt_request:counted().
-type flags() :: inviso_rt_request:flags().
-type proc_spec() :: inviso_rt_request:proc_spec().
-type callback() :: inviso_rt_request:callback().
-type meta_set() :: inviso_rt_request:meta_set().
-type names_set() :: inviso_rt_request:names_set().
-type names_removed() :: inviso_rt_request:names_removed().

-define(TIMEOUT, 50000).
-define(COUNTERS, 100).

%% @doc Like {@link inviso:init_tracing/1}, on this node.
-spec init_tracing(term()) ->
          answer({ok, [{trace_log | ti_log, term()}]}).
init_tracing(TracerData) -> local({init_tracing, TracerData}).

%% @doc Like {@link inviso:tp/1}, on this node.
-spec tp([pattern()]) -> answer(counts()).
tp(Patterns) -> local({patterns, global, Patterns, set}).

%% @doc Like {@link inviso:tp/4}, on this node.
-spec tp(mod(), atom(), ari(), match_spec()) ->
          answer(counts()).
tp(M, F, A, MS) -> tp([{M, F, A, MS}]).

%% @doc Like {@link inviso:tp/5} with options, on this node.
-spec tp(mod(), atom(), ari(), match_spec(),
         pattern_opts()) -> answer(counts()).
tp(M, F, A, MS, Opts) -> tp([{M, F, A, MS, Opts}]).

%% @equiv tp(Patterns)
-spec tpg([pattern()]) -> answer(counts()).
tpg(Patterns) -> tp(Patterns).

%% @equiv tp(M, F, A, MS)
-spec tpg(mod(), atom(), ari(), match_spec()) ->
          answer(counts()).
tpg(M, F, A, MS) -> tp(M, F, A, MS).

%% @equiv tp(M, F, A, MS, Opts)
-spec tpg(mod(), atom(), ari(), match_spec(),
          pattern_opts()) -> answer(counts()).
tpg(M, F, A, MS, Opts) -> tp(M, F, A, MS, Opts).

%% @doc Like {@link inviso:tpl/1}, on this node.
-spec tpl([pattern()]) -> answer(counts()).
tpl(Patterns) -> local({patterns, local, Patterns, set}).

%% @doc Like {@link inviso:tpl/4}, on this node.
-spec tpl(mod(), atom(), ari(), match_spec()) ->
          answer(counts()).
tpl(M, F, A, MS) -> tpl([{M, F, A, MS}]).

%% @doc Like {@link inviso:tpl/5} with options, on this node.
-spec tpl(mod(), atom(), ari(), match_spec(),
          pattern_opts()) -> answer(counts()).
tpl(M, F, A, MS, Opts) -> tpl([{M, F, A, MS, Opts}]).

%% @doc Like {@link inviso:ctp/1}, on this node.
-spec ctp([{mod(), atom(), ari()}]) ->
          answer(counts()).
ctp(Patterns) -> local({patterns, global, Patterns, clear}).

%% @doc Like {@link inviso:ctp/3}, on this node.
-spec ctp(mod(), atom(), ari()) ->
          answer(counts()).
ctp(M, F, A) -> ctp([{M, F, A}]).

%% @equiv ctp(Patterns)
-spec ctpg([{mod(), atom(), ari()}]) ->
          answer(counts()).
ctpg(Patterns) -> ctp(Patterns).

%% @equiv ctp(M, F, A)
-spec ctpg(mod(), atom(), ari()) ->
          answer(counts()).
ctpg(M, F, A) -> ctp(M, F, A).

%% @doc Like {@link inviso:ctpl/1}, on this node.
-spec ctpl([{mod(), atom(), ari()}]) ->
          answer(counts()).
ctpl(Patterns) -> local({patterns, local, Patterns, clear}).

%% @doc Like {@link inviso:ctpl/3}, on this node.
-spec ctpl(mod(), atom(), ari()) ->
          answer(counts()).
ctpl(M, F, A) -> ctpl([{M, F, A}]).

%% @doc Like {@link inviso:counters/0}, on this node.
-spec counters() -> answer(counted()).
counters() -> counters(?COUNTERS).

%% @doc Returns at most `Max' counters of each kind.
-spec counters(pos_integer()) -> answer(counted()).
counters(Max) -> local({counters, Max}).

%% @doc Sets process flags. Each pair in the list names processes and their flags.
-spec tf([{proc_spec(), flags()}]) ->
          answer(counts()).
tf(List) -> local({flags, true, List}).

%% @doc Sets process flags.
-spec tf(proc_spec(), flags()) ->
          answer(counts()).
tf(Procs, Flags) -> tf([{Procs, Flags}]).

%% @doc Clears process flags. Each pair in the list names processes and their flags.
-spec ctf([{proc_spec(), flags()}]) ->
          answer(counts()).
ctf(List) -> local({flags, false, List}).

%% @doc Clears process flags.
-spec ctf(proc_spec(), flags()) ->
          answer(counts()).
ctf(Procs, Flags) -> ctf([{Procs, Flags}]).

%% @doc Like {@link inviso:init_tpm/4}, on this node.
-spec init_tpm(module(), atom(), arity(), callback()) ->
          answer(ok).
init_tpm(M, F, A, CallFunc) ->
    init_tpm(M, F, A, void, CallFunc, void, void).

%% @doc Like {@link inviso:init_tpm/7}, on this node.
-spec init_tpm(module(), atom(), arity(), callback(), callback(), callback(),
               callback()) -> answer(ok).
init_tpm(M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta({init_tpm, {M, F, A}, {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Like {@link inviso:tpm/4}, on this node.
-spec tpm(module(), atom(), arity(), match_spec()) ->
          answer(meta_set()).
tpm(M, F, A, MS) -> meta({tpm, {M, F, A}, MS, keep}).

%% @doc Like {@link inviso:tpm/5} with a call function, on this node.
-spec tpm(module(), atom(), arity(), match_spec(), callback()) ->
          answer(meta_set()).
tpm(M, F, A, MS, CallFunc) -> tpm(M, F, A, MS, void, CallFunc, void, void).

%% @doc Like {@link inviso:tpm/8}, on this node.
-spec tpm(module(), atom(), arity(), match_spec(), callback(),
          callback(), callback(), callback()) ->
          answer(meta_set()).
tpm(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta({tpm, {M, F, A}, MS, {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Like {@link inviso:tpm_tracer/4}, on this node.
-spec tpm_tracer(module(), atom(), arity(), match_spec()) ->
          answer(meta_set()).
tpm_tracer(M, F, A, MS) -> tpm(M, F, A, MS).

%% @doc Like {@link inviso:tpm_tracer/5} with a call function, on this node.
-spec tpm_tracer(module(), atom(), arity(), match_spec(), callback()) ->
          answer(meta_set()).
tpm_tracer(M, F, A, MS, CallFunc) ->
    tpm(M, F, A, MS, CallFunc).

%% @doc Like {@link inviso:tpm_tracer/8}, on this node.
-spec tpm_tracer(module(), atom(), arity(), match_spec(), callback(),
                 callback(), callback(), callback()) ->
          answer(meta_set()).
tpm_tracer(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc).

%% @doc Like {@link inviso:tpm_ms/5}, on this node.
-spec tpm_ms(module(), atom(), arity(), term(), match_spec()) ->
          answer(meta_set()).
tpm_ms(M, F, A, Name, MS) -> meta({tpm_ms, {M, F, A}, Name, MS}).

%% @doc Like {@link inviso:tpm_ms_tracer/5}, on this node.
-spec tpm_ms_tracer(module(), atom(), arity(), term(), match_spec()) ->
          answer(meta_set()).
tpm_ms_tracer(M, F, A, Name, MS) -> tpm_ms(M, F, A, Name, MS).

%% @doc Like {@link inviso:ctpm_ms/4}, on this node.
-spec ctpm_ms(module(), atom(), arity(), term()) -> answer(ok).
ctpm_ms(M, F, A, Name) -> meta({ctpm_ms, {M, F, A}, Name}).

%% @doc Like {@link inviso:ctpm/3}, on this node.
-spec ctpm(module(), atom(), arity()) -> answer(ok).
ctpm(M, F, A) -> meta({ctpm, {M, F, A}}).

%% @doc Like {@link inviso:tpm_localnames/0}, on this node.
-spec local_register() -> answer(names_set()).
local_register() -> meta(local_register).

%% @doc Like {@link inviso:ctpm_localnames/0}, on this node.
-spec remove_local_register() -> answer(names_removed()).
remove_local_register() -> meta(remove_local_register).

%% @doc Like {@link inviso:tpm_globalnames/0}, on this node.
-spec global_register() -> answer(names_set()).
global_register() -> meta(global_register).

%% @doc Like {@link inviso:ctpm_globalnames/0}, on this node.
-spec remove_global_register() -> answer(names_removed()).
remove_global_register() -> meta(remove_global_register).

%% @doc Returns the state of the runtime component of this node, for debugging.
%% Later versions may add keys.
-spec state() -> answer({ok, facts()}).
state() -> local(state).

%% @doc Returns the state of the runtime component of a node, or of the runtime
%% component with a pid.
-spec state(node() | pid()) -> answer({ok, facts()}).
state(Node) when is_atom(Node) -> asked({?MODULE, Node}, state);
state(Pid) when is_pid(Pid) -> asked(Pid, state).

meta(Request) -> local({meta, Request}).

local(Request) -> asked(?MODULE, Request).

asked(Server, Request) ->
    try
        gen_server:call(Server, Request, ?TIMEOUT)
    catch
        exit:{noproc, _} -> {error, not_started};
        exit:{{nodedown, _}, _} -> {error, nodedown};
        exit:{Reason, {gen_server, call, _}} -> {error, {no_response, Reason}}
    end.

%% --- for other nodes ---------------------------------------------------------

%% @doc See {@link inviso_rt_server:start/4}.
-spec start(pid(), [term()], term(), inviso_push:guard()) ->
          {ok, pid()} | {error, term()}.
start(Ctrl, Options, Tag, Guard) ->
    inviso_rt_server:start(Ctrl, Options, Tag, Guard).

%% @doc See {@link inviso_modules:expand/2}.
-spec expand(inviso_modules:spec(), loaded | loadable) ->
          {ok, [module() | '_']} | error.
expand(Spec, Which) ->
    inviso_modules:expand(Spec, Which).

%% @doc See {@link inviso_fetch:worker/5}.
-spec fetch(pid(), inviso_rt_logs:which(), file:name_all(), string(),
            reference()) -> no_return().
fetch(Rt, Which, Dir, Prefix, Cancel) ->
    inviso_fetch:worker(Rt, Which, Dir, Prefix, Cancel).
