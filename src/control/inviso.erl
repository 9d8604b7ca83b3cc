%% SPDX-License-Identifier: Apache-2.0
%% @doc Tracing of many nodes, from the shell or from tools.
%%
%% ```
%% 1> inviso:start().
%% 2> inviso:add_nodes([node(), 'b@host'], mytag).
%% 3> inviso:init_tracing(
%%        [{node(), [{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}]},
%%         {'b@host', [{trace, {file, "b.log"}}, {ti, {file, "b.ti"}}]}]).
%% 4> inviso:tpm_localnames().
%% 5> inviso:tpl(code, which, '_', []).
%% 6> inviso:tf(all, [call, timestamp]).
%% ...
%% 7> inviso:stop_tracing().
%% 8> inviso:fetch_log(['b@host'], ".", "b_").
%% 9> inviso_lfm:merge([{node(), [{trace_log, ["a.log"]}, {ti_log, ["a.ti"]}]},
%%                      {'b@host', [{trace_log, ["b_b.log"]},
%%                                  {ti_log, ["b_b.ti"]}]}], "merged.txt").
%% 10> inviso:clear(), inviso:stop_nodes().
%% '''
%%
%% A function without a list of nodes as argument is for all nodes that were
%% added. Results are `{ok, [{Node, NodeResult}]}', or only `NodeResult' in a
%% system that is not distributed. Every function except start and stop exits with
%% `noproc' if no control component runs.
%%
%% inviso need not be installed on the nodes: add_nodes loads the code on a
%% node, and stop_nodes removes the code (see {@link inviso_push}).
-module(inviso).

-export([start/0, start/1, stop/0,
         add_node/1, add_node/2, add_nodes/2, add_nodes/3,
         add_node_if_ref/1, add_node_if_ref/2,
         add_nodes_if_ref/2, add_nodes_if_ref/3,
         stop_nodes/0, stop_nodes/1, stop_all/0,
         change_options/1, change_options/2,
         subscribe/0, subscribe/1, unsubscribe/0, unsubscribe/1,
         get_status/0, get_status/1, get_tracerdata/0, get_tracerdata/1,
         suspend/1, suspend/2, cancel_suspension/0, cancel_suspension/1,
         init_tracing/1, init_tracing/2, stop_tracing/0, stop_tracing/1,
         clear/0, clear/1, clear/2, flush/0, flush/1,
         tp/1, tp/2, tp/4, tp/5, tp/6, tpl/1, tpl/2, tpl/4, tpl/5, tpl/6,
         ctp/1, ctp/2, ctp/3, ctp/4, ctpl/1, ctpl/2, ctpl/3, ctpl/4,
         ctp_all/0, ctp_all/1, counters/0, counters/1, counters/2,
         tf/1, tf/2, tf/3, ctf/1, ctf/2, ctf/3, ctf_all/0, ctf_all/1,
         init_tpm/4, init_tpm/5, init_tpm/7, init_tpm/8,
         tpm/4, tpm/5, tpm/6, tpm/8, tpm/9,
         tpm_tracer/4, tpm_tracer/5, tpm_tracer/6, tpm_tracer/8, tpm_tracer/9,
         tpm_ms/5, tpm_ms/6, tpm_ms_tracer/5, tpm_ms_tracer/6,
         ctpm_ms/4, ctpm_ms/5, ctpm/3, ctpm/4,
         tpm_localnames/0, tpm_localnames/1,
         ctpm_localnames/0, ctpm_localnames/1,
         tpm_globalnames/0, tpm_globalnames/1,
         ctpm_globalnames/0, ctpm_globalnames/1,
         list_logs/0, list_logs/1, delete_log/0, delete_log/1, delete_log/2,
         fetch_log/2, fetch_log/3, fetch_log/4, state/0, state/1]).

-export_type([node_result/1, result/1, option/0, mod/0, ari/0, match_spec/0,
              pattern/0, pattern_opts/0, counts/0, counted/0, proc_spec/0, flags/0,
              meta_set/0, names_set/0, names_removed/0]).

-type node_result(R) :: inviso_rt_request:answer(R).
-type result(R) :: {ok, [{node(), node_result(R)}]} | node_result(R)
                 | {error, term()}.
%% `dependency': how long, in ms, a runtime component continues to trace without a
%% control component (default: one minute), and the control component's node.
%% `dir': the directory for inviso's files on a node. `overload': the overload
%% protection ({@link inviso_rt_overload}).
-type option() :: {dependency, timeout() | {timeout(), node()}}
                | overload | {overload, term()}
                | {dir, file:filename()}.
-type start_option() :: option() | {subscribe, pid()} | {unsubscribe, pid()}.
%% See {@link inviso_rt_request}.
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

-type fetched() :: {ok, [{node(), inviso_fetch:result()}]} | {error, term()}.
-type deleted() :: {ok, no_log | [inviso_rt_logs:file_info()]
                        | [{trace_log | ti_log,
                            [inviso_rt_logs:file_info()]}]}.

-define(TIMEOUT, 60000).
-define(COUNTERS, 100).

%% @equiv start([])
-spec start() -> {ok, pid()} | {error, term()}.
start() -> start([]).

%% @doc Starts the control component, without a link. The options are defaults
%% for the options of {@link add_nodes/3}. `{subscribe, Pid}' does the same as
%% {@link subscribe/1}.
-spec start([start_option()]) -> {ok, pid()} | {error, term()}.
start(Options) -> inviso_c:start(Options).

%% @doc Stops the control component. Runtime components continue to trace for the
%% time of their option `dependency', and then end.
-spec stop() -> shutdown.
stop() ->
    try
        call(stop)
    catch
        exit:{noproc, _} -> shutdown
    end.

%% @equiv add_node(Tag, [])
-spec add_node(term()) -> result({ok, term()}).
add_node(Tag) -> add_node(Tag, []).

%% @doc Adds this node.
-spec add_node(term(), [option()]) -> result({ok, term()}).
add_node(Tag, Options) -> add_nodes([node()], Tag, Options).

%% @equiv add_nodes(Nodes, Tag, [])
-spec add_nodes([node()], term()) -> result({ok, term()}).
add_nodes(Nodes, Tag) -> add_nodes(Nodes, Tag, []).

%% @doc Starts a runtime component on each of the nodes. If a node already has a
%% runtime component that has no control component, adopts this runtime component.
%% The tag distinguishes this start from later starts: see {@link
%% add_nodes_if_ref/3}.
-spec add_nodes([node()], term(), [option()]) ->
          result({ok, new | already_added
                    | {adopted, inviso_rt_server:state(),
                       inviso_rt_server:status(), term()}}).
add_nodes(Nodes, Tag, Options) -> add_nodes(Nodes, Tag, Options, any).

add_nodes(Nodes, Tag, Options, Condition) ->
    call({add_nodes, Nodes, Tag, Options, Condition}).

%% @equiv add_node_if_ref(Tag, [])
-spec add_node_if_ref(term()) -> result({ok, term()}).
add_node_if_ref(Tag) -> add_node_if_ref(Tag, []).

%% @doc Like {@link add_nodes_if_ref/3}, for this node.
-spec add_node_if_ref(term(), [option()]) -> result({ok, term()}).
add_node_if_ref(Tag, Options) -> add_nodes_if_ref([node()], Tag, Options).

%% @equiv add_nodes_if_ref(Nodes, Tag, [])
-spec add_nodes_if_ref([node()], term()) -> result({ok, term()}).
add_nodes_if_ref(Nodes, Tag) -> add_nodes_if_ref(Nodes, Tag, []).

%% @doc Like {@link add_nodes/3}, but adopts a runtime component only if its tag
%% is `Tag'. Another tag shows that the runtime component was started again in the
%% meantime. In this case the node's result is `{error, {wrong_reference,
%% OtherTag}}'.
-spec add_nodes_if_ref([node()], term(), [option()]) ->
          result({ok, new | already_added
                    | {adopted, inviso_rt_server:state(),
                       inviso_rt_server:status(), term()}}).
add_nodes_if_ref(Nodes, Tag, Options) ->
    add_nodes(Nodes, Tag, Options, if_ref).

%% @doc Stops the runtime components of all nodes. Of inviso's files, only the
%% logs stay on the nodes.
-spec stop_nodes() -> result(ok).
stop_nodes() -> call({stop_nodes, all}).

%% @doc Stops the runtime components of the nodes `Nodes'.
-spec stop_nodes([node()]) -> result(ok).
stop_nodes(Nodes) -> call({stop_nodes, Nodes}).

%% @doc Does {@link stop_nodes/0}, and then {@link stop/0}.
-spec stop_all() -> result(ok).
stop_all() -> call(stop_all).

%% @doc Changes options on all nodes. Options that `Options' does not contain keep
%% their values.
-spec change_options([option()]) -> result(ok).
change_options(Options) -> call({change_options, all, Options}).

%% @doc Like {@link change_options/1}, on the nodes `Nodes'.
-spec change_options([node()], [option()]) -> result(ok).
change_options(Nodes, Options) -> call({change_options, Nodes, Options}).

%% @doc Subscribes the calling process: see {@link subscribe/1}.
-spec subscribe() -> ok.
subscribe() -> subscribe(self()).

%% @doc Subscribes a process to the events of {@link inviso_c}. A process that
%% subscribes several times gets each event several times.
-spec subscribe(pid()) -> ok | {error, {badarg, term()}}.
subscribe(Pid) -> call({subscribe, Pid}).

%% @doc Cancels one subscription of the calling process, if there is one.
-spec unsubscribe() -> ok.
unsubscribe() -> unsubscribe(self()).

%% @doc Cancels one subscription of a process, if there is one.
-spec unsubscribe(pid()) -> ok.
unsubscribe(Pid) -> call({unsubscribe, Pid}).

%% @doc Suspends all nodes: clears all flags and all meta patterns. Flags and
%% patterns can be set again only after {@link cancel_suspension/0}. Logs stay
%% open.
-spec suspend(term()) -> result(ok).
suspend(Reason) -> ask(all, {suspend, Reason}).

%% @doc Like {@link suspend/1}, on the nodes `Nodes'.
-spec suspend([node()], term()) -> result(ok).
suspend(Nodes, Reason) -> ask(Nodes, {suspend, Reason}).

%% @doc Cancels the suspension of all nodes.
-spec cancel_suspension() -> result(ok).
cancel_suspension() -> ask(all, cancel_suspension).

%% @doc Like {@link cancel_suspension/0}, on the nodes `Nodes'.
-spec cancel_suspension([node()]) -> result(ok).
cancel_suspension(Nodes) -> ask(Nodes, cancel_suspension).

%% @doc Returns for each node the tracerdata with which tracing was last
%% started.
-spec get_tracerdata() -> result({ok, term() | no_tracerdata}).
get_tracerdata() -> ask(all, get_tracerdata).

%% @doc Like {@link get_tracerdata/0}, on the nodes `Nodes'.
-spec get_tracerdata([node()]) -> result({ok, term() | no_tracerdata}).
get_tracerdata(Nodes) -> ask(Nodes, get_tracerdata).

%% @doc Returns the state and the status of each runtime component ({@link
%% inviso_rt_server} describes the values).
-spec get_status() ->
          result({ok, {inviso_rt_server:state(), inviso_rt_server:status()}}).
get_status() -> ask(all, get_status).

%% @doc Like {@link get_status/0}, on the nodes `Nodes'.
-spec get_status([node()]) ->
          result({ok, {inviso_rt_server:state(), inviso_rt_server:status()}}).
get_status(Nodes) -> ask(Nodes, get_status).

%% @doc Starts tracing. The argument is tracerdata ({@link inviso_tracerdata})
%% for all nodes, or a list `[{Node, TracerData}]'.
-spec init_tracing(term()) -> result({ok, [{trace_log | ti_log, term()}]}).
init_tracing(Arg) ->
    case inviso_tracerdata:is_tracerdata(Arg) of
        true -> call({init_tracing, all, Arg});
        false when length(Arg) >= 0 ->
            call({init_tracing, [P || {N, _} = P <- Arg, is_atom(N)]});
        false -> {error, {badarg, Arg}}
    end.

%% @doc Starts tracing on the nodes `Nodes', with the same tracerdata on each.
-spec init_tracing([node()], term()) ->
          result({ok, [{trace_log | ti_log, term()}]}).
init_tracing(Nodes, TracerData) -> call({init_tracing, Nodes, TracerData}).

%% @doc Returns internal data of all runtime components, for debugging.
-spec state() -> result({ok, inviso_rt:facts()}).
state() -> ask(all, state).

%% @doc Like {@link state/0}, on the nodes `Nodes'.
-spec state([node()]) -> result({ok, inviso_rt:facts()}).
state(Nodes) -> ask(Nodes, state).

%% @doc Ends tracing on all nodes. When this function returns, the
%% logs are complete.
-spec stop_tracing() -> result({ok, idle | new}).
stop_tracing() -> ask(all, stop_tracing).

%% @doc Like {@link stop_tracing/0}, on the nodes `Nodes'.
-spec stop_tracing([node()]) -> result({ok, idle | new}).
stop_tracing(Nodes) -> ask(Nodes, stop_tracing).

%% @doc Ends tracing, clears all patterns and deletes the logs, on all nodes.
-spec clear() -> result({ok, {new, inviso_rt_server:status()}}).
clear() -> ask(all, {clear, []}).

%% @doc Like {@link clear/0}, on the nodes `Nodes'.
-spec clear([node()]) -> result({ok, {new, inviso_rt_server:status()}}).
clear(Nodes) -> clear(Nodes, []).

%% @doc Like {@link clear/1}, but keeps the patterns or the logs if the options
%% say so.
-spec clear([node()], [keep_trace_patterns | keep_log_files]) ->
          result({ok, {new, inviso_rt_server:status()}}).
clear(Nodes, Options) -> ask(Nodes, {clear, Options}).

%% @doc Waits until all events that were recorded before this call are in the
%% logs.
-spec flush() -> result(ok).
flush() -> ask(all, flush).

%% @doc Like {@link flush/0}, on the nodes `Nodes'.
-spec flush([node()]) -> result(ok).
flush(Nodes) -> ask(Nodes, flush).

%% @doc Sets patterns for global calls (calls with a module name), on all nodes.
-spec tp([pattern()]) -> result(counts()).
tp(Patterns) -> set(global, all, Patterns).

%% @doc Like {@link tp/1}, on the nodes `Nodes'.
-spec tp([node()], [pattern()]) -> result(counts()).
tp(Nodes, Patterns) -> set(global, Nodes, Patterns).

%% @doc Sets one global pattern on all nodes.
-spec tp(mod(), atom(), ari(), match_spec()) -> result(counts()).
tp(M, F, A, MS) -> set(global, all, [{M, F, A, MS}]).

%% @doc Sets one global pattern. The arguments are `(Nodes, M, F, A, MS)', or `(M, F,
%% A, MS, Opts)' for all nodes.
-spec tp([node()], mod(), atom(), ari(), match_spec()) -> result(counts());
        (mod(), atom(), ari(), match_spec(), pattern_opts()) ->
          result(counts()).
tp(Nodes, M, F, A, MS) -> set_5(global, Nodes, M, F, A, MS).

%% @doc Sets one global pattern with options, on the nodes `Nodes'.
-spec tp([node()], mod(), atom(), ari(), match_spec(), pattern_opts()) ->
          result(counts()).
tp(Nodes, M, F, A, MS, Opts) -> set(global, Nodes, [{M, F, A, MS, Opts}]).

%% @doc Sets patterns for all calls, including local calls, on all nodes.
-spec tpl([pattern()]) -> result(counts()).
tpl(Patterns) -> set(local, all, Patterns).

%% @doc Like {@link tpl/1}, on the nodes `Nodes'.
-spec tpl([node()], [pattern()]) -> result(counts()).
tpl(Nodes, Patterns) -> set(local, Nodes, Patterns).

%% @doc Sets one local pattern on all nodes.
-spec tpl(mod(), atom(), ari(), match_spec()) -> result(counts()).
tpl(M, F, A, MS) -> set(local, all, [{M, F, A, MS}]).

%% @doc Sets one local pattern. The arguments are `(Nodes, M, F, A, MS)', or `(M, F,
%% A, MS, Opts)' for all nodes.
-spec tpl([node()], mod(), atom(), ari(), match_spec()) -> result(counts());
         (mod(), atom(), ari(), match_spec(), pattern_opts()) ->
          result(counts()).
tpl(Nodes, M, F, A, MS) -> set_5(local, Nodes, M, F, A, MS).

%% @doc Sets one local pattern with options, on the nodes `Nodes'.
-spec tpl([node()], mod(), atom(), ari(), match_spec(), pattern_opts()) ->
          result(counts()).
tpl(Nodes, M, F, A, MS, Opts) -> set(local, Nodes, [{M, F, A, MS, Opts}]).

%% @doc Clears global patterns on all nodes.
-spec ctp([{mod(), atom(), ari()}]) -> result(counts()).
ctp(Patterns) -> unset(global, all, Patterns).

%% @doc Like {@link ctp/1}, on the nodes `Nodes'.
-spec ctp([node()], [{mod(), atom(), ari()}]) -> result(counts()).
ctp(Nodes, Patterns) -> unset(global, Nodes, Patterns).

%% @doc Clears one global pattern on all nodes.
-spec ctp(mod(), atom(), ari()) -> result(counts()).
ctp(M, F, A) -> unset(global, all, [{M, F, A}]).

%% @doc Clears one global pattern, on the nodes `Nodes'.
-spec ctp([node()], mod(), atom(), ari()) -> result(counts()).
ctp(Nodes, M, F, A) -> unset(global, Nodes, [{M, F, A}]).

%% @doc Clears local patterns on all nodes.
-spec ctpl([{mod(), atom(), ari()}]) -> result(counts()).
ctpl(Patterns) -> unset(local, all, Patterns).

%% @doc Like {@link ctpl/1}, on the nodes `Nodes'.
-spec ctpl([node()], [{mod(), atom(), ari()}]) -> result(counts()).
ctpl(Nodes, Patterns) -> unset(local, Nodes, Patterns).

%% @doc Clears one local pattern on all nodes.
-spec ctpl(mod(), atom(), ari()) -> result(counts()).
ctpl(M, F, A) -> unset(local, all, [{M, F, A}]).

%% @doc Clears one local pattern, on the nodes `Nodes'.
-spec ctpl([node()], mod(), atom(), ari()) -> result(counts()).
ctpl(Nodes, M, F, A) -> unset(local, Nodes, [{M, F, A}]).

%% @doc Clears all global and local patterns on all nodes. Meta patterns stay.
-spec ctp_all() -> result(ok).
ctp_all() -> ask(all, clear_patterns).

%% @doc Like {@link ctp_all/0}, on the nodes `Nodes'.
-spec ctp_all([node()]) -> result(ok).
ctp_all(Nodes) -> ask(Nodes, clear_patterns).

%% @doc Returns what patterns with `call_count', `call_time' or `call_memory'
%% have counted since tracing began, on all nodes. For each kind of counter it
%% returns the 100 functions with the highest counts, in descending order.
-spec counters() -> result(counted()).
counters() -> ask(all, {counters, ?COUNTERS}).

%% @doc Like {@link counters/0}, on the nodes `Nodes'.
-spec counters([node()]) -> result(counted()).
counters(Nodes) -> ask(Nodes, {counters, ?COUNTERS}).

%% @doc Like {@link counters/1}, with at most `Max' functions for each kind of
%% counter.
-spec counters([node()], pos_integer()) -> result(counted()).
counters(Nodes, Max) -> ask(Nodes, {counters, Max}).

%% Sets one pattern. The five arguments after `Kind' are either a list of nodes
%% and a pattern of four elements, or a pattern and its options. If `X1' is a
%% string, it is a regular expression for modules and not a list of nodes.
set_5(Kind, X1, X2, X3, X4, X5) ->
    case is_list(X1) andalso not inviso_modules:is_string(X1) of
        true -> set(Kind, X1, [{X2, X3, X4, X5}]);
        false -> set(Kind, all, [{X1, X2, X3, X4, X5}])
    end.

set(Kind, Nodes, Patterns) -> ask(Nodes, {patterns, Kind, Patterns, set}).

unset(Kind, Nodes, Patterns) -> ask(Nodes, {patterns, Kind, Patterns, clear}).

%% @doc Sets process flags. The list contains either flags that are set on all
%% nodes, or one tuple for each node. A tuple `{Node, Flags, false}' clears the
%% flags on this node.
-spec tf([{proc_spec(), flags()}]
         | [{node(), [{proc_spec(), flags()}]}]
         | [{node(), [{proc_spec(), flags()}], boolean()}]) ->
          result(counts()).
tf([]) ->
    {ok, []};
tf(List) when length(List) >= 0 ->
    case lists:all(fun is_node_flags/1, List) of
        true -> call({ask_each, [node_flags(E) || E <- List]});
        false -> ask(all, {flags, true, List})
    end;
tf(Other) ->
    {error, {badarg, Other}}.

%% Returns true for an element `{Node, List}' or `{Node, List, boolean()}'. In
%% `{ProcSpec, Flags}' the second element is a list of atoms; in `{Node, List}'
%% it is a list of tuples.
is_node_flags({Node, [{_, _} | _]}) -> is_atom(Node);
is_node_flags({Node, List, How}) ->
    is_atom(Node) andalso is_list(List) andalso is_boolean(How);
is_node_flags(_) -> false.

node_flags({Node, List}) -> {Node, {flags, true, List}};
node_flags({Node, List, How}) -> {Node, {flags, How, List}}.

%% @doc `tf(Nodes, List)' sets the flags in `List' on the nodes `Nodes'.
%% `tf(Procs, Flags)' sets flags of the processes `Procs' on all nodes.
-spec tf([node()], [{proc_spec(), flags()}]) -> result(counts());
        (proc_spec(), flags()) -> result(counts()).
tf(Nodes, List) when is_list(Nodes) -> ask(Nodes, {flags, true, List});
tf(Procs, Flags) -> ask(all, {flags, true, [{Procs, Flags}]}).

%% @doc Sets flags of the processes `Procs', on the nodes `Nodes'.
-spec tf([node()], proc_spec(), flags()) -> result(counts()).
tf(Nodes, Procs, Flags) -> ask(Nodes, {flags, true, [{Procs, Flags}]}).

%% @doc Clears process flags on all nodes.
-spec ctf([{proc_spec(), flags()}]) -> result(counts()).
ctf(List) -> ask(all, {flags, false, List}).

%% @doc `ctf(Nodes, List)' clears the flags in `List' on the nodes `Nodes'.
%% `ctf(Procs, Flags)' clears flags of the processes `Procs' on all nodes.
-spec ctf([node()], [{proc_spec(), flags()}]) -> result(counts());
         (proc_spec(), flags()) -> result(counts()).
ctf(Nodes, List) when is_list(Nodes) -> ask(Nodes, {flags, false, List});
ctf(Procs, Flags) -> ask(all, {flags, false, [{Procs, Flags}]}).

%% @doc Clears flags of the processes `Procs', on the nodes `Nodes'.
-spec ctf([node()], proc_spec(), flags()) -> result(counts()).
ctf(Nodes, Procs, Flags) -> ask(Nodes, {flags, false, [{Procs, Flags}]}).

%% @doc Clears all flags that inviso has set, on all nodes.
-spec ctf_all() -> result(ok).
ctf_all() -> ask(all, clear_flags).

%% @doc Like {@link ctf_all/0}, on the nodes `Nodes'.
-spec ctf_all([node()]) -> result(ok).
ctf_all(Nodes) -> ask(Nodes, clear_flags).

%% @doc Prepares a function for meta tracing, on all nodes: stores its callbacks.
%% Meta tracing is only possible if the tracerdata contains `ti'. {@link
%% inviso_rt_meta} describes `CallFunc' and the three other callbacks.
-spec init_tpm(module(), atom(), arity(), callback()) -> result(ok).
init_tpm(M, F, A, CallFunc) ->
    init_tpm(all, M, F, A, void, CallFunc, void, void).

%% @doc Like {@link init_tpm/4}, on the nodes `Nodes'.
-spec init_tpm([node()], module(), atom(), arity(), callback()) -> result(ok).
init_tpm(Nodes, M, F, A, CallFunc) ->
    init_tpm(Nodes, M, F, A, void, CallFunc, void, void).

%% @doc Like {@link init_tpm/4}, with all four callbacks.
-spec init_tpm(module(), atom(), arity(), callback(), callback(), callback(),
               callback()) -> result(ok).
init_tpm(M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    init_tpm(all, M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc).

%% @doc Like {@link init_tpm/7}, on the nodes `Nodes'.
-spec init_tpm([node()] | all, module(), atom(), arity(), callback(),
               callback(), callback(), callback()) -> result(ok).
init_tpm(Nodes, M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    meta(Nodes, {init_tpm, {M, F, A},
                 {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Sets the match spec of a prepared function, on all nodes: calls of the
%% function are meta traced from now on. Returns `{ok, 0}' if the function does
%% not exist or the match spec is invalid.
-spec tpm(module(), atom(), arity(), match_spec()) -> result(meta_set()).
tpm(M, F, A, MS) -> tpm_keep(all, M, F, A, MS).

%% @doc `tpm(Nodes, M, F, A, MS)' is like {@link tpm/4}, on the nodes `Nodes'.
%% `tpm(M, F, A, MS, CallFunc)' prepares a function and sets its match spec, on
%% all nodes.
-spec tpm([node()], module(), atom(), arity(), match_spec()) ->
          result(meta_set());
         (module(), atom(), arity(), match_spec(), callback()) ->
          result(meta_set()).
tpm(Nodes, M, F, A, MS) when is_list(Nodes) ->
    tpm_keep(Nodes, M, F, A, MS);
tpm(M, F, A, MS, CallFunc) ->
    tpm_init(all, M, F, A, MS, {void, CallFunc, void, void}).

%% @doc Prepares a function and sets its match spec, on the nodes `Nodes'.
-spec tpm([node()], module(), atom(), arity(), match_spec(), callback()) ->
          result(meta_set()).
tpm(Nodes, M, F, A, MS, CallFunc) ->
    tpm_init(Nodes, M, F, A, MS, {void, CallFunc, void, void}).

%% @doc Like {@link tpm/6}, with all four callbacks, on all nodes.
-spec tpm(module(), atom(), arity(), match_spec(), callback(), callback(),
          callback(), callback()) -> result(meta_set()).
tpm(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm_init(all, M, F, A, MS,
             {InitFunc, CallFunc, ReturnFunc, RemoveFunc}).

%% @doc Like {@link tpm/8}, on the nodes `Nodes'.
-spec tpm([node()], module(), atom(), arity(), match_spec(), callback(),
          callback(), callback(), callback()) -> result(meta_set()).
tpm(Nodes, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm_init(Nodes, M, F, A, MS,
             {InitFunc, CallFunc, ReturnFunc, RemoveFunc}).

%% @doc Equal to {@link tpm/4}. If the match spec sets flags with `{trace,
%% Disable, Enable}', the events go to the node's log, as with {@link tf/1}. In
%% the original Inviso the match spec had to name a trace port.
-spec tpm_tracer(module(), atom(), arity(), match_spec()) ->
          result(meta_set()).
tpm_tracer(M, F, A, MS) -> tpm(M, F, A, MS).

%% @doc Equal to {@link tpm/5}.
-spec tpm_tracer([node()], module(), atom(), arity(), match_spec()) ->
          result(meta_set());
                (module(), atom(), arity(), match_spec(), callback()) ->
          result(meta_set()).
tpm_tracer(NodesOrM, MOrF, FOrA, AOrMS, MSOrCallFunc) ->
    tpm(NodesOrM, MOrF, FOrA, AOrMS, MSOrCallFunc).

%% @doc Equal to {@link tpm/6}.
-spec tpm_tracer([node()], module(), atom(), arity(), match_spec(),
                 callback()) -> result(meta_set()).
tpm_tracer(Nodes, M, F, A, MS, CallFunc) ->
    tpm(Nodes, M, F, A, MS, CallFunc).

%% @doc Equal to {@link tpm/8}.
-spec tpm_tracer(module(), atom(), arity(), match_spec(), callback(),
                 callback(), callback(), callback()) -> result(meta_set()).
tpm_tracer(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm(M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc).

%% @doc Equal to {@link tpm/9}.
-spec tpm_tracer([node()], module(), atom(), arity(), match_spec(), callback(),
                 callback(), callback(), callback()) -> result(meta_set()).
tpm_tracer(Nodes, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm(Nodes, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc).

tpm_keep(Nodes, M, F, A, MS) ->
    meta(Nodes, {tpm, {M, F, A}, MS, keep}).

tpm_init(Nodes, M, F, A, MS, Functions) ->
    meta(Nodes, {tpm, {M, F, A}, MS, Functions}).

%% @doc Adds a named match spec to a prepared function, or replaces the match
%% spec of this name, on all nodes. The VM tries the latest match spec first.
-spec tpm_ms(module(), atom(), arity(), term(), match_spec()) ->
          result(meta_set()).
tpm_ms(M, F, A, Name, MS) -> tpm_ms(all, M, F, A, Name, MS).

%% @doc Like {@link tpm_ms/5}, on the nodes `Nodes'.
-spec tpm_ms([node()] | all, module(), atom(), arity(), term(),
             match_spec()) -> result(meta_set()).
tpm_ms(Nodes, M, F, A, Name, MS) ->
    meta(Nodes, {tpm_ms, {M, F, A}, Name, MS}).

%% @doc Equal to {@link tpm_ms/5}: see {@link tpm_tracer/4}.
-spec tpm_ms_tracer(module(), atom(), arity(), term(), match_spec()) ->
          result(meta_set()).
tpm_ms_tracer(M, F, A, Name, MS) -> tpm_ms_tracer(all, M, F, A, Name, MS).

%% @doc Like {@link tpm_ms_tracer/5}, on the nodes `Nodes'.
-spec tpm_ms_tracer([node()] | all, module(), atom(), arity(), term(),
                    match_spec()) -> result(meta_set()).
tpm_ms_tracer(Nodes, M, F, A, Name, MS) ->
    tpm_ms(Nodes, M, F, A, Name, MS).

%% @doc Removes a named match spec, on all nodes. The function stays prepared.
-spec ctpm_ms(module(), atom(), arity(), term()) -> result(ok).
ctpm_ms(M, F, A, Name) -> ctpm_ms(all, M, F, A, Name).

%% @doc Like {@link ctpm_ms/4}, on the nodes `Nodes'.
-spec ctpm_ms([node()] | all, module(), atom(), arity(), term()) -> result(ok).
ctpm_ms(Nodes, M, F, A, Name) -> meta(Nodes, {ctpm_ms, {M, F, A}, Name}).

%% @doc Ends meta tracing of a function, on all nodes.
-spec ctpm(module(), atom(), arity()) -> result(ok).
ctpm(M, F, A) -> ctpm(all, M, F, A).

%% @doc Like {@link ctpm/3}, on the nodes `Nodes'.
-spec ctpm([node()] | all, module(), atom(), arity()) -> result(ok).
ctpm(Nodes, M, F, A) -> meta(Nodes, {ctpm, {M, F, A}}).

%% @doc Records the registered names of processes, on all nodes. Returns two
%% results for each node: of tracing register/2, and of tracing unregister/1.
-spec tpm_localnames() -> result(names_set()).
tpm_localnames() -> meta(all, local_register).

%% @doc Like {@link tpm_localnames/0}, on the nodes `Nodes'.
-spec tpm_localnames([node()]) -> result(names_set()).
tpm_localnames(Nodes) -> meta(Nodes, local_register).

%% @doc Stops recording registered names, on all nodes.
-spec ctpm_localnames() -> result(names_removed()).
ctpm_localnames() -> meta(all, remove_local_register).

%% @doc Like {@link ctpm_localnames/0}, on the nodes `Nodes'.
-spec ctpm_localnames([node()]) -> result(names_removed()).
ctpm_localnames(Nodes) -> meta(Nodes, remove_local_register).

%% @doc Records the global names of processes as `{global, Name}', on all nodes.
%% Each name is recorded only on the node on which its process runs.
-spec tpm_globalnames() -> result(names_set()).
tpm_globalnames() -> meta(all, global_register).

%% @doc Like {@link tpm_globalnames/0}, on the nodes `Nodes'.
-spec tpm_globalnames([node()]) -> result(names_set()).
tpm_globalnames(Nodes) -> meta(Nodes, global_register).

%% @doc Stops recording global names, on all nodes.
-spec ctpm_globalnames() -> result(names_removed()).
ctpm_globalnames() -> meta(all, remove_global_register).

%% @doc Like {@link ctpm_globalnames/0}, on the nodes `Nodes'.
-spec ctpm_globalnames([node()]) -> result(names_removed()).
ctpm_globalnames(Nodes) -> meta(Nodes, remove_global_register).

meta(Nodes, Request) -> ask(Nodes, {meta, Request}).

%% @doc Returns the names of the latest log files of all nodes.
-spec list_logs() ->
          result({ok, inviso_tracerdata:logs()} | {ok, no_log}).
list_logs() -> call({list_logs, all}).

%% @doc Returns the names of log files. In a list, `Node' means the latest logs of
%% the node, and `{Node, TracerData}' means the logs that the tracerdata names on
%% that node. If the argument itself is tracerdata, the result has the logs that the
%% tracerdata names on this node.
-spec list_logs([node() | {node(), term()}] | term()) ->
          result({ok, inviso_tracerdata:logs()} | {ok, no_log}).
list_logs(Specs) -> call({list_logs, Specs}).

%% @doc Deletes the logs of all nodes.
-spec delete_log() -> result(deleted()).
delete_log() -> call({delete_log, all}).

%% @doc Deletes logs. If the argument is tracerdata, deletes the logs that it
%% names, on all nodes. If the argument is a list of files, deletes these files on
%% all nodes. If the argument is a list of nodes, each with or without tracerdata,
%% deletes the logs of these nodes. Not allowed while tracing.
-spec delete_log(term() | [file:name_all()] | [node() | {node(), term()}]) ->
          result(deleted()).
delete_log(What) -> call({delete_log, [What]}).

%% @doc Like {@link delete_log/1}, on the nodes `Nodes'.
-spec delete_log([node()], term() | [file:name_all()]) -> result(deleted()).
delete_log(Nodes, What) -> call({delete_log, {Nodes, What}}).

%% @doc Fetches the logs of all nodes into a directory of this node. The name of
%% each fetched file begins with `Prefix'.
-spec fetch_log(file:name_all(), string()) -> fetched().
fetch_log(Dir, Prefix) -> fetch(node(), all, Dir, Prefix).

%% @doc If the first argument is a node, fetches the logs of all nodes to that
%% node. If it is a list, fetches the logs of the nodes in the list to this node.
%% In the list, `{Node, TracerData}' means the logs that the tracerdata names on
%% the node, and `{Node, Logs}' means files in the form that {@link list_logs/0}
%% returns.
-spec fetch_log([node() | {node(), term()}] | node(), file:name_all(),
                string()) -> fetched().
fetch_log(To, Dir, Prefix) when is_atom(To) -> fetch(To, all, Dir, Prefix);
fetch_log(Specs, Dir, Prefix) -> fetch(node(), Specs, Dir, Prefix).

%% @doc Fetches logs to the node `To', which must have been added or have inviso's
%% code.
-spec fetch_log(node(), [node() | {node(), term()}], file:name_all(),
                string()) -> fetched().
fetch_log(To, Specs, Dir, Prefix) -> fetch(To, Specs, Dir, Prefix).

fetch(To, Specs, Dir, Prefix) ->
    gen_server:call(inviso_c, {fetch_log, To, Specs, Dir, Prefix}, infinity).

ask(Nodes, Request) -> call({ask, Nodes, Request}).

call(Request) -> gen_server:call(inviso_c, Request, ?TIMEOUT).
