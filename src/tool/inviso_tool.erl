%% SPDX-License-Identifier: Apache-2.0
%% @doc A tool for sessions, built on {@link inviso}. A session traces a set of
%% nodes. During a session, trace cases can be activated and deactivated. The
%% history of the session contains all activations and commands. When a node that
%% was down is connected again, the tool repeats the history there.
%%
%% ```
%% 1> inviso_tool:start([{nodes, [a@host, b@host]}, {dir, "cases"},
%%                       {tc_def_file, "cases.def"}]).
%% 2> inviso_tool:start_session().
%% 3> inviso_tool:sync_atc(calls, 1, [{'Module', shop}]).
%% ...
%% 4> inviso_tool:sync_dtc(calls, 1).
%% 5> inviso_tool:stop_session().
%% 6> inviso_tool:stop().
%% '''
%%
%% {@link inviso_tool_conf} describes the start options. Trace cases are files of
%% {@link inviso_case}. When a trace case runs, its variable `Nodes' contains the
%% nodes that trace at this time. Each trace case runs in a separate process on
%% the control component's node. The tool is not linked to its starter. When the
%% tool ends, control component and runtime components end too.
%%
%% The tool asks nodes for their states. A node has one of these states:
%%
%% ```
%% {tracing | inactive | trace_failure, running | suspended}
%%                         trace_failure: tracing could not begin there
%% reactivating            the history is being repeated there
%% down
%% '''
%%
%% The tool sends no requests to nodes that are down, and its answers do not
%% contain these nodes. In a system that is not distributed, an answer is the
%% result of the only node instead of a list.
-module(inviso_tool).

-export([start/0, start/1, stop/0, stop/1, reconnect_nodes/0,
         reconnect_nodes/1, start_session/0, start_session/1,
         reinitiate_session/0, reinitiate_session/1, restore_session/0,
         restore_session/1, restore_session/2, stop_session/0, reset_nodes/0,
         reset_nodes/1, atc/3, sync_atc/3, sync_atc/4, sync_rtc/2, sync_rtc/3,
         dtc/2, sync_dtc/2, sync_dtc/3, inviso/2, reactivate/0, reactivate/1,
         save_history/1, get_autostart_data/1, get_autostart_data/2,
         get_activities/0, get_node_status/0, get_node_status/1,
         get_session_data/0, flush/0, flush/1, get_loopdata/0,
         std_options_generator/1]).

-type nodes() :: [node()].
-type per_node() :: [{node(), term()}].
-type bindings() :: inviso_case:bindings().

-define(TIMEOUT, 120000).
-define(CASE_MS, 10000).

%% @equiv start([])
-spec start() -> {ok, pid()} | {error, term()}.
start() -> start([]).

%% @doc Starts the control component, and runtime components on the nodes.
-spec start([{atom(), term()}]) ->
          {ok, pid()} | {error, {already_started, pid()} | {error, term()}}.
start(Config) ->
    gen_server:start({local, ?MODULE}, inviso_tool_server, Config, []).

%% @equiv stop([])
-spec stop() -> {ok, per_node()} | term().
stop() -> stop([]).

%% @doc Ends the tool, the control component and the runtime components. The
%% runtime components of the given nodes continue.
-spec stop(nodes()) -> {ok, per_node()} | term().
stop(KeepNodes) -> call({stop, KeepNodes}).

%% @doc Connects again to all nodes that are down.
-spec reconnect_nodes() -> {ok, per_node()} | term().
reconnect_nodes() -> call({reconnect_nodes, all}).

%% @doc Connects again to these nodes. If the runtime component of a node still
%% runs, the tool adopts it, and the node keeps its state. Otherwise the node
%% becomes `inactive'.
-spec reconnect_nodes(node() | nodes()) -> {ok, per_node()} | term().
reconnect_nodes(Node) when is_atom(Node) -> reconnect_nodes([Node]);
reconnect_nodes(Nodes) -> call({reconnect_nodes, Nodes}).

%% @equiv start_session([])
-spec start_session() -> {ok, {pos_integer(), term()}} | {error, term()}.
start_session() -> start_session([]).

%% @doc Starts tracing on all nodes that do not trace yet, and activates the
%% initial trace cases on these nodes. `MoreArgs' are arguments for the
%% tracerdata generator ({@link inviso_tool_lib}).
%% Nodes that traced already when the tool connected to them join the session
%% unchanged.
-spec start_session([term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
start_session(MoreArgs) -> call({start_session, MoreArgs}).

%% @doc Does the same as {@link reinitiate_session/1}, for all nodes that do not
%% trace.
-spec reinitiate_session() -> {ok, term()} | {error, term()}.
reinitiate_session() -> call({reinitiate_session, all}).

%% @doc Makes these nodes join the session, and repeats the history of the
%% session on them. Returns `{ok, R}', where R is a result of {@link
%% inviso:init_tracing/1}.
-spec reinitiate_session(nodes()) -> {ok, term()} | {error, term()}.
reinitiate_session(Nodes) -> call({reinitiate_session, Nodes}).

%% @doc Starts a session with the history of the last session.
-spec restore_session() -> {ok, {pos_integer(), term()}} | {error, term()}.
restore_session() -> call({restore_session, last, []}).

%% @doc If the argument is a file name, starts a session with the history in this
%% file. Otherwise the argument is a list of arguments for the tracerdata
%% generator, and the session starts with the history of the last session.
-spec restore_session(file:filename() | [term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
restore_session([C | _] = File) when is_integer(C) ->
    restore_session(File, []);
restore_session(MoreArgs) ->
    call({restore_session, last, MoreArgs}).

%% @doc Starts a session with the history in a file, and with additional
%% arguments for the tracerdata generator.
-spec restore_session(file:filename(), [term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
restore_session(File, MoreArgs) ->
    call({restore_session, {file, File}, MoreArgs}).

%% @doc Ends tracing. The history is kept until the next session begins.
-spec stop_session() ->
          {ok, {pos_integer(), per_node() | [term()]}} | {error, no_session}.
stop_session() -> call(stop_session).

%% @doc Ends tracing and clears all patterns, on all nodes. Logs stay.
-spec reset_nodes() -> term().
reset_nodes() -> call({reset_nodes, all}).

%% @doc Like {@link reset_nodes/0}, on the nodes `Nodes'.
-spec reset_nodes(nodes()) -> term().
reset_nodes(Nodes) -> call({reset_nodes, Nodes}).

%% @doc Activates a trace case, and returns before the trace case has run. `Id'
%% distinguishes several activations of the same trace case.
-spec atc(atom(), term(), bindings()) -> ok | {error, term()}.
atc(Case, Id, Bindings) -> call({atc, Case, Id, Bindings, async}).

%% @equiv sync_atc(Case, Id, Bindings, 10000)
-spec sync_atc(atom(), term(), bindings()) -> term() | {error, term()}.
sync_atc(Case, Id, Bindings) -> sync_atc(Case, Id, Bindings, ?CASE_MS).

%% @doc Activates a trace case. Returns the value of its last expression.
-spec sync_atc(atom(), term(), bindings(), timeout()) ->
          term() | {error, term()}.
sync_atc(Case, Id, Bindings, Timeout) ->
    sync_call({atc, Case, Id, Bindings, sync}, Timeout).

%% @equiv sync_rtc(Case, Bindings, 10000)
-spec sync_rtc(atom(), bindings()) -> term() | {error, term()}.
sync_rtc(Case, Bindings) -> sync_rtc(Case, Bindings, ?CASE_MS).

%% @doc Runs a trace case without making it active.
-spec sync_rtc(atom(), bindings(), timeout()) -> term() | {error, term()}.
sync_rtc(Case, Bindings, Timeout) -> sync_call({rtc, Case, Bindings}, Timeout).

%% @doc Deactivates a trace case, and returns before this is done. The variables
%% of the trace case have the same values as at its activation.
-spec dtc(atom(), term()) -> ok | {error, term()}.
dtc(Case, Id) -> call({dtc, Case, Id, async}).

%% @equiv sync_dtc(Case, Id, 10000)
-spec sync_dtc(atom(), term()) -> term() | {error, term()}.
sync_dtc(Case, Id) -> sync_dtc(Case, Id, ?CASE_MS).

%% @doc Deactivates a trace case.
-spec sync_dtc(atom(), term(), timeout()) -> term() | {error, term()}.
sync_dtc(Case, Id, Timeout) -> sync_call({dtc, Case, Id, sync}, Timeout).

%% @doc Calls a function of {@link inviso} for all nodes that trace. `Args' does
%% not contain the list of nodes.
-spec inviso(atom(), [term()]) -> term() | {error, term()}.
inviso(Function, Args) -> call({inviso, Function, Args}).

%% @doc Like {@link reactivate/1}, for this node.
-spec reactivate() -> ok | {error, term()}.
reactivate() -> reactivate(node()).

%% @doc Cancels the suspension of a node. If the node traces, the history of the
%% session is repeated on it.
-spec reactivate(node()) -> ok | {error, term()}.
reactivate(Node) -> call({reactivate, Node}).

%% @doc Saves the history for {@link restore_session/1}, without trace cases that
%% were deactivated. A relative file name is relative to the option `history_dir'.
-spec save_history(file:filename()) ->
          {ok, file:filename()} | {error, term()}.
save_history(File) -> call({save_history, File}).

%% @doc Like {@link get_autostart_data/2}, for all nodes.
-spec get_autostart_data(term()) -> {ok, term()} | {error, term()}.
get_autostart_data(Dependency) -> call({get_autostart_data, all, Dependency}).

%% @doc Returns the data with which an autostart can repeat the history. For all
%% nodes: the files of active trace cases, and the calls. For each node: its
%% options, and its tracerdata generator with all arguments. `Dependency' is the
%% option `{dependency, How}' of {@link inviso:add_nodes/3}, or only `How'.
-spec get_autostart_data(nodes(), term()) -> {ok, term()} | {error, term()}.
get_autostart_data(Nodes, Dependency) ->
    call({get_autostart_data, Nodes, Dependency}).

%% @doc Returns the nodes that are being reactivated, and the trace cases that
%% are being activated or deactivated.
-spec get_activities() -> {ok, [{reactivating_nodes | tracecases, list()}]}.
get_activities() -> call(get_activities).

%% @doc Like {@link get_node_status/1}, for this node.
-spec get_node_status() -> {ok, term()} | {error, unknown_node}.
get_node_status() -> get_node_status(node()).

%% @doc Returns the status of a node.
-spec get_node_status(node()) -> {ok, term()} | {error, unknown_node}.
get_node_status(Node) -> call({get_node_status, Node}).

%% @doc Returns the number of the current or last session, and the arguments of
%% its tracerdata generator except the node.
-spec get_session_data() ->
          {ok, {tracing | not_tracing, pos_integer(), [term()]}}
        | {error, no_session}.
get_session_data() -> call(get_session_data).

%% @doc Waits until all events that were recorded before this call are in the
%% logs, on the nodes of the session.
-spec flush() -> term().
flush() -> call({flush, all}).

%% @doc Like {@link flush/0}, on the nodes `Nodes'.
-spec flush(nodes()) -> term().
flush(Nodes) -> call({flush, Nodes}).

%% @doc Returns the state of the tool's process, for debugging.
-spec get_loopdata() -> term().
get_loopdata() -> sys:get_state(?MODULE).

%% @doc Returns the default options of a node, an empty list.
-spec std_options_generator(node()) -> [inviso:option()].
std_options_generator(_Node) -> [].

call(Request) ->
    gen_server:call(?MODULE, Request, ?TIMEOUT).

sync_call(Request, Timeout)
  when Timeout =:= infinity; is_integer(Timeout), Timeout >= 0 ->
    try
        gen_server:call(?MODULE, Request, Timeout)
    catch
        exit:{timeout, _} -> {error, timeout}
    end;
sync_call(_Request, Timeout) ->
    {error, {badarg, Timeout}}.
