%% SPDX-License-Identifier: Apache-2.0
%% @doc Sessions on top of {@link inviso}: tracing of a set of nodes, with trace
%% cases that are activated and deactivated while it goes on, and a history of
%% all that, which is done again on nodes that come back.
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
%% What it can be told when it starts is in {@link inviso_tool_conf}; trace
%% cases are files of {@link inviso_case}, in which `Nodes' is the list of the
%% nodes that trace at that moment. Each runs in a process of its own, where the
%% control component is. It is not linked to who starts it; when it ends, so do
%% control component and runtime components.
%%
%% How a node is doing is asked when somebody wants to know it:
%%
%% ```
%% {tracing | inactive | trace_failure, running | suspended}
%%                         trace_failure: tracing could not begin there
%% reactivating            what was done is done there again
%% down
%% '''
%%
%% Answers for many nodes have the nodes that were asked: those that are down do
%% not begin, end or get anything, and are not in them. In a system that is not
%% distributed the answer of the one node stands for the list.
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

%% @doc Ends all of it, but for what some nodes do: they go on by themselves.
-spec stop(nodes()) -> {ok, per_node()} | term().
stop(KeepNodes) -> call({stop, KeepNodes}).

%% @doc Adds the nodes that are down once more.
-spec reconnect_nodes() -> {ok, per_node()} | term().
reconnect_nodes() -> call({reconnect_nodes, all}).

%% @doc Adds some. They are `inactive' then, or what they were when they are
%% adopted.
-spec reconnect_nodes(node() | nodes()) -> {ok, per_node()} | term().
reconnect_nodes(Node) when is_atom(Node) -> reconnect_nodes([Node]);
reconnect_nodes(Nodes) -> call({reconnect_nodes, Nodes}).

%% @equiv start_session([])
-spec start_session() -> {ok, {pos_integer(), term()}} | {error, term()}.
start_session() -> start_session([]).

%% @doc Begins to trace on all nodes that do not yet, with further arguments for
%% the tracerdata generator, and activates the initial trace cases there. Nodes
%% that were adopted while they traced are in the session as they are.
-spec start_session([term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
start_session(MoreArgs) -> call({start_session, MoreArgs}).

%% @doc Lets all nodes that do not trace join the session.
-spec reinitiate_session() -> {ok, term()} | {error, term()}.
reinitiate_session() -> call({reinitiate_session, all}).

%% @doc Lets some nodes join the session, and does there what was done in it. The
%% answer is `{ok, R}', with R as {@link inviso:init_tracing/1} gives it.
-spec reinitiate_session(nodes()) -> {ok, term()} | {error, term()}.
reinitiate_session(Nodes) -> call({reinitiate_session, Nodes}).

%% @doc A new session like the last one.
-spec restore_session() -> {ok, {pos_integer(), term()}} | {error, term()}.
restore_session() -> call({restore_session, last, []}).

%% @doc A new session like one that was saved, or like the last one but with
%% other arguments for the generator.
-spec restore_session(file:filename() | [term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
restore_session([C | _] = File) when is_integer(C) ->
    restore_session(File, []);
restore_session(MoreArgs) ->
    call({restore_session, last, MoreArgs}).

%% @doc A new session like one that was saved.
-spec restore_session(file:filename(), [term()]) ->
          {ok, {pos_integer(), term()}} | {error, term()}.
restore_session(File, MoreArgs) ->
    call({restore_session, {file, File}, MoreArgs}).

%% @doc Ends tracing. What was done stays known until the next session begins.
-spec stop_session() ->
          {ok, {pos_integer(), per_node() | [term()]}} | {error, no_session}.
stop_session() -> call(stop_session).

%% @doc Clears all nodes, but for their logs.
-spec reset_nodes() -> term().
reset_nodes() -> call({reset_nodes, all}).

%% @doc Clears some.
-spec reset_nodes(nodes()) -> term().
reset_nodes(Nodes) -> call({reset_nodes, Nodes}).

%% @doc Begins to activate a trace case. The id tells one activation of it from
%% another.
-spec atc(atom(), term(), bindings()) -> ok | {error, term()}.
atc(Case, Id, Bindings) -> call({atc, Case, Id, Bindings, async}).

%% @equiv sync_atc(Case, Id, Bindings, 10000)
-spec sync_atc(atom(), term(), bindings()) -> term() | {error, term()}.
sync_atc(Case, Id, Bindings) -> sync_atc(Case, Id, Bindings, ?CASE_MS).

%% @doc Activates a trace case, and answers the value of its last expression.
-spec sync_atc(atom(), term(), bindings(), timeout()) ->
          term() | {error, term()}.
sync_atc(Case, Id, Bindings, Timeout) ->
    sync_call({atc, Case, Id, Bindings, sync}, Timeout).

%% @equiv sync_rtc(Case, Bindings, 10000)
-spec sync_rtc(atom(), bindings()) -> term() | {error, term()}.
sync_rtc(Case, Bindings) -> sync_rtc(Case, Bindings, ?CASE_MS).

%% @doc Runs a trace case, which is not active after that.
-spec sync_rtc(atom(), bindings(), timeout()) -> term() | {error, term()}.
sync_rtc(Case, Bindings, Timeout) -> sync_call({rtc, Case, Bindings}, Timeout).

%% @doc Begins to deactivate a trace case, with the values that it got.
-spec dtc(atom(), term()) -> ok | {error, term()}.
dtc(Case, Id) -> call({dtc, Case, Id, async}).

%% @equiv sync_dtc(Case, Id, 10000)
-spec sync_dtc(atom(), term()) -> term() | {error, term()}.
sync_dtc(Case, Id) -> sync_dtc(Case, Id, ?CASE_MS).

%% @doc Deactivates a trace case.
-spec sync_dtc(atom(), term(), timeout()) -> term() | {error, term()}.
sync_dtc(Case, Id, Timeout) -> sync_call({dtc, Case, Id, sync}, Timeout).

%% @doc Calls a function of {@link inviso}, without its list of nodes, for all
%% nodes that trace.
-spec inviso(atom(), [term()]) -> term() | {error, term()}.
inviso(Function, Args) -> call({inviso, Function, Args}).

%% @doc {@link reactivate/1} of this node.
-spec reactivate() -> ok | {error, term()}.
reactivate() -> reactivate(node()).

%% @doc Lets a suspended node go on, in a session or not: if it traces, what was
%% done in the session is done there again.
-spec reactivate(node()) -> ok | {error, term()}.
reactivate(Node) -> call({reactivate, Node}).

%% @doc Writes down what was done and not undone, for {@link restore_session/1}.
%% Relative names are relative to the directory of histories.
-spec save_history(file:filename()) ->
          {ok, file:filename()} | {error, term()}.
save_history(File) -> call({save_history, File}).

%% @doc {@link get_autostart_data/2} of all nodes.
-spec get_autostart_data(term()) -> {ok, term()} | {error, term()}.
get_autostart_data(Dependency) -> call({get_autostart_data, all, Dependency}).

%% @doc What an autostart needs in order to do what was done and not undone: the
%% files of trace cases and calls, and for each node its options and its
%% tracerdata generator with all arguments. The dependency is an option of
%% {@link inviso:add_nodes/3}, `{dependency, How}' or just `How'.
-spec get_autostart_data(nodes(), term()) -> {ok, term()} | {error, term()}.
get_autostart_data(Nodes, Dependency) ->
    call({get_autostart_data, Nodes, Dependency}).

%% @doc What is going on at this moment.
-spec get_activities() -> {ok, [{reactivating_nodes | tracecases, list()}]}.
get_activities() -> call(get_activities).

%% @doc {@link get_node_status/1} of this node.
-spec get_node_status() -> {ok, term()} | {error, unknown_node}.
get_node_status() -> get_node_status(node()).

%% @doc How a node is doing.
-spec get_node_status(node()) -> {ok, term()} | {error, unknown_node}.
get_node_status(Node) -> call({get_node_status, Node}).

%% @doc The session or the last one, and the arguments of its tracerdata
%% generator, but for the node.
-spec get_session_data() ->
          {ok, {tracing | not_tracing, pos_integer(), [term()]}}
        | {error, no_session}.
get_session_data() -> call(get_session_data).

%% @doc Sees to it that all that was traced is in the logs, on nodes that are in
%% the session.
-spec flush() -> term().
flush() -> call({flush, all}).

%% @doc The same of some nodes.
-spec flush(nodes()) -> term().
flush(Nodes) -> call({flush, Nodes}).

%% @doc For debugging.
-spec get_loopdata() -> term().
get_loopdata() -> sys:get_state(?MODULE).

%% @doc The options of a node, when nothing is said: none.
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
