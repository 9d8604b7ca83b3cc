%% SPDX-License-Identifier: Apache-2.0
%% @doc The API of one node, for trace cases that run there: what {@link inviso}
%% has, without a list of nodes, asked of the runtime component ({@link
%% inviso_rt_server}) of this node.
%%
%% The answer is that of this node: `{error, not_started}' without a runtime
%% component, `{error, {no_response, Reason}}' if it dies.
-module(inviso_rt).

-export([init_tracing/1, tp/1, tp/4, tp/5, tpg/1, tpg/4, tpg/5,
         tpl/1, tpl/4, tpl/5, ctp/1, ctp/3, ctpg/1, ctpg/3, ctpl/1, ctpl/3,
         counters/0, counters/1, tf/1, tf/2, ctf/1, ctf/2,
         init_tpm/4, init_tpm/7, tpm/4, tpm/5, tpm/8,
         tpm_tracer/4, tpm_tracer/5, tpm_tracer/8, tpm_ms/5, tpm_ms_tracer/5,
         ctpm_ms/4, ctpm/3, local_register/0, remove_local_register/0,
         global_register/0, remove_global_register/0, state/0, state/1]).

-export_type([facts/0]).

%% `patterns': how many are kept; `readers': processes that read logs for
%% others.
-type facts() :: #{state := inviso_rt_server:state(),
                   status := inviso_rt_server:status(),
                   tracerdata := term() | no_tracerdata,
                   control := none | pid(), tag := term(),
                   dependency := timeout(),
                   patterns := non_neg_integer(),
                   meta_tracer := none | pid(),
                   readers := [pid()]}.

-type callback() :: inviso_meta_callback:callback().

-define(TIMEOUT, 50000).
-define(COUNTERS, 100).

%% @doc As {@link inviso:init_tracing/1}.
-spec init_tracing(term()) ->
          inviso:node_result({ok, [{trace_log | ti_log, term()}]}).
init_tracing(TracerData) -> local({init_tracing, TracerData}).

%% @doc As {@link inviso:tp/1}.
-spec tp([inviso:pattern()]) -> inviso:node_result(inviso:counts()).
tp(Patterns) -> local({patterns, global, Patterns, set}).

%% @doc As {@link inviso:tp/4}.
-spec tp(inviso:mod(), atom(), inviso:ari(), inviso:match_spec()) ->
          inviso:node_result(inviso:counts()).
tp(M, F, A, MS) -> tp([{M, F, A, MS}]).

%% @doc As {@link inviso:tp/5} with options.
-spec tp(inviso:mod(), atom(), inviso:ari(), inviso:match_spec(),
         inviso:pattern_opts()) -> inviso:node_result(inviso:counts()).
tp(M, F, A, MS, Opts) -> tp([{M, F, A, MS, Opts}]).

%% @equiv tp(Patterns)
-spec tpg([inviso:pattern()]) -> inviso:node_result(inviso:counts()).
tpg(Patterns) -> tp(Patterns).

%% @equiv tp(M, F, A, MS)
-spec tpg(inviso:mod(), atom(), inviso:ari(), inviso:match_spec()) ->
          inviso:node_result(inviso:counts()).
tpg(M, F, A, MS) -> tp(M, F, A, MS).

%% @equiv tp(M, F, A, MS, Opts)
-spec tpg(inviso:mod(), atom(), inviso:ari(), inviso:match_spec(),
          inviso:pattern_opts()) -> inviso:node_result(inviso:counts()).
tpg(M, F, A, MS, Opts) -> tp(M, F, A, MS, Opts).

%% @doc As {@link inviso:tpl/1}.
-spec tpl([inviso:pattern()]) -> inviso:node_result(inviso:counts()).
tpl(Patterns) -> local({patterns, local, Patterns, set}).

%% @doc As {@link inviso:tpl/4}.
-spec tpl(inviso:mod(), atom(), inviso:ari(), inviso:match_spec()) ->
          inviso:node_result(inviso:counts()).
tpl(M, F, A, MS) -> tpl([{M, F, A, MS}]).

%% @doc As {@link inviso:tpl/5} with options.
-spec tpl(inviso:mod(), atom(), inviso:ari(), inviso:match_spec(),
          inviso:pattern_opts()) -> inviso:node_result(inviso:counts()).
tpl(M, F, A, MS, Opts) -> tpl([{M, F, A, MS, Opts}]).

%% @doc As {@link inviso:ctp/1}.
-spec ctp([{inviso:mod(), atom(), inviso:ari()}]) ->
          inviso:node_result(inviso:counts()).
ctp(Patterns) -> local({patterns, global, Patterns, clear}).

%% @doc As {@link inviso:ctp/3}.
-spec ctp(inviso:mod(), atom(), inviso:ari()) ->
          inviso:node_result(inviso:counts()).
ctp(M, F, A) -> ctp([{M, F, A}]).

%% @equiv ctp(Patterns)
-spec ctpg([{inviso:mod(), atom(), inviso:ari()}]) ->
          inviso:node_result(inviso:counts()).
ctpg(Patterns) -> ctp(Patterns).

%% @equiv ctp(M, F, A)
-spec ctpg(inviso:mod(), atom(), inviso:ari()) ->
          inviso:node_result(inviso:counts()).
ctpg(M, F, A) -> ctp(M, F, A).

%% @doc As {@link inviso:ctpl/1}.
-spec ctpl([{inviso:mod(), atom(), inviso:ari()}]) ->
          inviso:node_result(inviso:counts()).
ctpl(Patterns) -> local({patterns, local, Patterns, clear}).

%% @doc As {@link inviso:ctpl/3}.
-spec ctpl(inviso:mod(), atom(), inviso:ari()) ->
          inviso:node_result(inviso:counts()).
ctpl(M, F, A) -> ctpl([{M, F, A}]).

%% @doc As {@link inviso:counters/0}.
-spec counters() -> inviso:node_result(inviso:counted()).
counters() -> counters(?COUNTERS).

%% @doc At most so many of each kind.
-spec counters(pos_integer()) -> inviso:node_result(inviso:counted()).
counters(Max) -> local({counters, Max}).

%% @doc Sets process flags, several at a time.
-spec tf([{inviso:proc_spec(), inviso:flags()}]) ->
          inviso:node_result(inviso:counts()).
tf(List) -> local({flags, true, List}).

%% @doc Sets process flags.
-spec tf(inviso:proc_spec(), inviso:flags()) ->
          inviso:node_result(inviso:counts()).
tf(Procs, Flags) -> tf([{Procs, Flags}]).

%% @doc Clears process flags, several at a time.
-spec ctf([{inviso:proc_spec(), inviso:flags()}]) ->
          inviso:node_result(inviso:counts()).
ctf(List) -> local({flags, false, List}).

%% @doc Clears process flags.
-spec ctf(inviso:proc_spec(), inviso:flags()) ->
          inviso:node_result(inviso:counts()).
ctf(Procs, Flags) -> ctf([{Procs, Flags}]).

%% @doc As {@link inviso:init_tpm/4}.
-spec init_tpm(module(), atom(), arity(), callback()) ->
          inviso:node_result(ok).
init_tpm(M, F, A, CallFunc) ->
    init_tpm(M, F, A, void, CallFunc, void, void).

%% @doc As {@link inviso:init_tpm/7}.
-spec init_tpm(module(), atom(), arity(), callback(), callback(), callback(),
               callback()) -> inviso:node_result(ok).
init_tpm(M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta({init_tpm, {M, F, A}, {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc As {@link inviso:tpm/4}.
-spec tpm(module(), atom(), arity(), inviso:match_spec()) ->
          inviso:node_result(inviso:meta_set()).
tpm(M, F, A, MS) -> meta({tpm, {M, F, A}, MS, keep, false}).

%% @doc As {@link inviso:tpm/5} with a function.
-spec tpm(module(), atom(), arity(), inviso:match_spec(), callback()) ->
          inviso:node_result(inviso:meta_set()).
tpm(M, F, A, MS, CallFunc) -> tpm(M, F, A, MS, void, CallFunc, void, void).

%% @doc As {@link inviso:tpm/8}.
-spec tpm(module(), atom(), arity(), inviso:match_spec(), callback(),
          callback(), callback(), callback()) ->
          inviso:node_result(inviso:meta_set()).
tpm(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta({tpm, {M, F, A}, MS, {InitFunc, CallFunc, ReturnFunc, RemoveFunc},
          false}).

%% @doc As {@link inviso:tpm_tracer/4}.
-spec tpm_tracer(module(), atom(), arity(), inviso:match_spec()) ->
          inviso:node_result(inviso:meta_set()).
tpm_tracer(M, F, A, MS) -> meta({tpm, {M, F, A}, MS, keep, true}).

%% @doc As {@link inviso:tpm_tracer/5} with a function.
-spec tpm_tracer(module(), atom(), arity(), inviso:match_spec(), callback()) ->
          inviso:node_result(inviso:meta_set()).
tpm_tracer(M, F, A, MS, CallFunc) ->
    tpm_tracer(M, F, A, MS, void, CallFunc, void, void).

%% @doc As {@link inviso:tpm_tracer/8}.
-spec tpm_tracer(module(), atom(), arity(), inviso:match_spec(), callback(),
                 callback(), callback(), callback()) ->
          inviso:node_result(inviso:meta_set()).
tpm_tracer(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta({tpm, {M, F, A}, MS, {InitFunc, CallFunc, ReturnFunc, RemoveFunc},
          true}).

%% @doc As {@link inviso:tpm_ms/5}.
-spec tpm_ms(module(), atom(), arity(), term(), inviso:match_spec()) ->
          inviso:node_result(inviso:meta_set()).
tpm_ms(M, F, A, Name, MS) -> meta({tpm_ms, {M, F, A}, Name, MS, false}).

%% @doc As {@link inviso:tpm_ms_tracer/5}.
-spec tpm_ms_tracer(module(), atom(), arity(), term(), inviso:match_spec()) ->
          inviso:node_result(inviso:meta_set()).
tpm_ms_tracer(M, F, A, Name, MS) -> meta({tpm_ms, {M, F, A}, Name, MS, true}).

%% @doc As {@link inviso:ctpm_ms/4}.
-spec ctpm_ms(module(), atom(), arity(), term()) -> inviso:node_result(ok).
ctpm_ms(M, F, A, Name) -> meta({ctpm_ms, {M, F, A}, Name}).

%% @doc As {@link inviso:ctpm/3}.
-spec ctpm(module(), atom(), arity()) -> inviso:node_result(ok).
ctpm(M, F, A) -> meta({ctpm, {M, F, A}}).

%% @doc As {@link inviso:tpm_localnames/0}.
-spec local_register() -> inviso:node_result(inviso:names_set()).
local_register() -> meta(local_register).

%% @doc As {@link inviso:ctpm_localnames/0}.
-spec remove_local_register() -> inviso:node_result(inviso:names_removed()).
remove_local_register() -> meta(remove_local_register).

%% @doc As {@link inviso:tpm_globalnames/0}.
-spec global_register() -> inviso:node_result(inviso:names_set()).
global_register() -> meta(global_register).

%% @doc As {@link inviso:ctpm_globalnames/0}.
-spec remove_global_register() -> inviso:node_result(inviso:names_removed()).
remove_global_register() -> meta(remove_global_register).

%% @doc What the runtime component of this node does and knows, for debugging.
%% There may be more in later versions.
-spec state() -> inviso:node_result({ok, facts()}).
state() -> local(state).

%% @doc The same of a node, or of the runtime component that a process is.
-spec state(node() | pid()) -> inviso:node_result({ok, facts()}).
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
