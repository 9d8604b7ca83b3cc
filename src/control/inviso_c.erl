%% SPDX-License-Identifier: Apache-2.0
%% @doc The control component: sends requests to the runtime components of the
%% nodes that were added.
%%
%% The control component and each runtime component monitor each other. The
%% control component is not linked to its starter. It sends a request to many
%% nodes at once, and then waits for all answers together, for at most
%% ?NODE_TIMEOUT. Separate processes fetch logs and add nodes, because each of
%% these tasks may take long.
%%
%% Subscribers get these messages about events of nodes:
%%
%% ```
%% {inviso_event, ControlPid, erlang:localtime(), Event}
%% Event = {connected, Node, {Tag, {State, Status}}}
%%       | {disconnected, Node, void | Reason}   void: stop_nodes was called
%%       | {state_change, Node, {State, Status}}
%%       | {port_down, Node, Reason}             the log cannot be written
%%       | {callback_failed, Node, {What, Reason}}  a user function failed
%%       | {meta_counts, Node, Counts}         lost calls, see inviso_rt_meta
%%       | {meta_down, Node, Reason}             meta tracing fails, see below
%%       | {trace_counts, Node, Counts}        see inviso_deliver
%%       | {trace_session_not_closed, Node, Reason}  the engine does not answer;
%%                                               OTP 25 and 26 only
%% '''
%%
%% Reasons of `meta_down': `{ti, Reason}', trace information cannot be written;
%% `{died, Reason}', the meta tracer has died.
%%
%% In a system that is not distributed, Node is `local_runtime'. If a subscriber
%% dies, its subscriptions are removed.
%%
%% The results are in the order of the request's list of nodes. In a request for
%% all nodes, they are in the order in which the nodes were added, except that
%% stop_nodes returns the reverse order.
-module(inviso_c).

-behaviour(gen_server).

-export([start/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

%% How long to wait for the answers of nodes, in ms. This is less than the timeout
%% of API calls (60 s).
-define(NODE_TIMEOUT, 50000).

-record(node, {name :: node(), rt :: pid(), ref :: reference()}).

-record(state, {distributed :: boolean(),
                options :: [term()],
                %% subscribers, in the order in which they subscribed
                subscribers = [] :: [{pid(), reference()}],
                nodes = [] :: [#node{}]}).

%% @doc Starts the control component of this node.
-spec start([term()]) -> {ok, pid()} | {error, term()}.
start(Options) ->
    gen_server:start({local, ?MODULE}, ?MODULE, Options, []).

%% @private
init(Options) ->
    process_flag(trap_exit, true),
    case check_options(Options, fun is_start_option/1) of
        ok ->
            State = #state{distributed = is_alive(),
                           options = [O || O <- Options, is_option(O)]},
            Pids = [Pid || {subscribe, Pid} <- Options],
            {ok, lists:foldl(fun subscribe/2, State, Pids)};
        {error, _} = E ->
            {stop, E}
    end.

%% @private
handle_call({add_nodes, Nodes, Tag, Opts, Condition}, _From, State) ->
    case {node_list(Nodes), check_options(Opts, fun is_option/1)} of
        {true, ok} ->
            All = merge_options(Opts, State#state.options),
            {Results, State1} = add_nodes(Nodes, {Tag, All, Condition}, State),
            {reply, shape({ok, Results}, State1), State1};
        {false, _} ->
            {reply, {error, {badarg, Nodes}}, State};
        {_, {error, _} = E} ->
            {reply, E, State}
    end;
handle_call({init_tracing, PerNode}, _From, State) ->
    {reply, shape({ok, init_tracing(PerNode, State)}, State), State};
handle_call({init_tracing, Nodes, TracerData}, _From, State) ->
    Init = fun(Ns) -> init_tracing([{N, TracerData} || N <- Ns], State) end,
    {reply, on_nodes(Nodes, State, Init), State};
handle_call({ask, Nodes, Request}, _From, State) ->
    {reply, on_nodes(Nodes, State, fun(Ns) -> ask(Ns, Request, State) end),
     State};
handle_call({ask_each, Requests}, _From, State) ->
    %% The result is a list even in a system that is not distributed.
    {reply, {ok, ask_each(Requests, State)}, State};
handle_call({change_options, Nodes, Opts}, _From, State) ->
    Reply = case check_options(Opts, fun is_option/1) of
                ok ->
                    Request = {change_options, Opts},
                    on_nodes(Nodes, State,
                             fun(Ns) -> ask(Ns, Request, State) end);
                {error, _} = E ->
                    E
            end,
    {reply, Reply, State};
handle_call({subscribe, Pid}, _From, State) when is_pid(Pid) ->
    {reply, ok, subscribe(Pid, State)};
handle_call({subscribe, Other}, _From, State) ->
    {reply, {error, {badarg, Other}}, State};
handle_call({unsubscribe, Pid}, _From, State) ->
    {reply, ok, unsubscribe(Pid, State)};
handle_call({list_logs, Specs}, _From, State) ->
    Given = inviso_logs:specs(Specs, names(State)),
    {reply, of_logs(list_logs, Given, State), State};
handle_call({delete_log, Specs}, _From, State) ->
    Given = inviso_logs:delete_specs(Specs, names(State)),
    {reply, of_logs(delete_log, Given, State), State};
handle_call({fetch_log, _, _, _, _}, _From,
            #state{distributed = false} = State) ->
    {reply, {error, not_distributed}, State};
handle_call({fetch_log, To, Specs, Dir, Prefix}, From, State) ->
    case {inviso_logs:specs(Specs, names(State)),
          inviso_logs:fetch_args(To, Dir, Prefix)} of
        {{ok, Pairs}, {ok, Text}} ->
            Sources = [{N, rt(N, State), Which} || {N, Which} <- Pairs],
            _ = spawn(inviso_logs, fetch, [From, Sources, To, Dir, Text]),
            {noreply, State};
        {{error, _} = E, _} ->
            {reply, E, State};
        {_, {error, _} = E} ->
            {reply, E, State}
    end;
handle_call({stop_nodes, Nodes}, _From, State) ->
    {Reply, State1} = stop_nodes(Nodes, State),
    {reply, Reply, State1};
handle_call(stop_all, _From, State) ->
    {Reply, State1} = stop_nodes(all, State),
    {stop, shutdown, Reply, State1};
handle_call(stop, _From, State) ->
    {stop, shutdown, shutdown, State}.

%% @private
handle_cast(_, State) ->
    {noreply, State}.

%% @private
handle_info({'DOWN', Ref, process, Pid, Reason}, State) ->
    #state{nodes = Nodes, subscribers = Subscribers} = State,
    case lists:keytake(Ref, #node.ref, Nodes) of
        {value, #node{name = Name}, Rest} ->
            State1 = State#state{nodes = Rest},
            {noreply, tell(disconnected, Name, Reason, State1)};
        false ->
            Left = lists:delete({Pid, Ref}, Subscribers),
            {noreply, State#state{subscribers = Left}}
    end;
handle_info({inviso_rt_event, {Rt, {What, Details}}}, State) ->
    case lists:keyfind(Rt, #node.rt, State#state.nodes) of
        #node{name = Name} -> {noreply, tell(What, Name, Details, State)};
        false -> {noreply, State}
    end;
handle_info({inviso_rt_connect, {Name, Rt, Tag, Is}}, State) ->
    {noreply, connected(Name, Rt, Tag, Is, State)};
handle_info(_, State) ->
    {noreply, State}.

%% @private
terminate(_Reason, _State) ->
    ok.

%% --- subscribers ------------------------------------------------------------

subscribe(Pid, #state{subscribers = Subscribers} = State) ->
    New = {Pid, monitor(process, Pid)},
    State#state{subscribers = Subscribers ++ [New]}.

unsubscribe(Pid, #state{subscribers = Subscribers} = State) ->
    case lists:keytake(Pid, 1, Subscribers) of
        {value, {_, Ref}, Rest} ->
            true = demonitor(Ref, [flush]),
            State#state{subscribers = Rest};
        false ->
            State
    end.

tell(What, Name, Details, #state{subscribers = Subscribers} = State) ->
    Who = case State#state.distributed of
              true -> Name;
              false -> local_runtime
          end,
    Message = {inviso_event, self(), erlang:localtime(), {What, Who, Details}},
    ok = lists:foreach(fun({Pid, _}) -> inviso_message:send(Pid, Message) end,
                       Subscribers),
    State.

%% --- nodes ------------------------------------------------------------------

%% Adds nodes. A separate process adds each node, so that a node that does not
%% answer does not delay the other nodes.
add_nodes(Nodes, How, State) ->
    New = lists:usort([N || N <- Nodes, rt(N, State) =:= none]),
    Ctrl = self(),
    Workers = [{N, spawn_monitor(fun() -> exit({rt, start_rt(N, Ctrl, How)})
                                 end)} || N <- New],
    Deadline = deadline(),
    Started = maps:from_list([{N, started(W, Deadline)} || {N, W} <- Workers]),
    lists:mapfoldl(fun(N, S) -> add_node(N, Started, How, S) end,
                   State, Nodes).

started({Pid, Ref}, Deadline) ->
    Left = max(0, Deadline - erlang:monotonic_time(millisecond)),
    receive
        {'DOWN', Ref, process, Pid, {rt, Result}} -> Result;
        {'DOWN', Ref, process, Pid, Reason} -> {error, {no_response, Reason}}
    after Left ->
            true = exit(Pid, kill),
            true = demonitor(Ref, [flush]),
            {error, {no_response, timeout}}
    end.

add_node(Name, Started, {Tag, _, _}, State) ->
    case rt(Name, State) of
        none ->
            case maps:get(Name, Started) of
                {ok, Pid, Result} ->
                    State1 = add_rt(Name, Pid, State),
                    Is = case Result of
                             new -> {new, running};
                             {adopted, S, Status, _} -> {S, Status}
                         end,
                    {{Name, {ok, Result}},
                     tell(connected, Name, {Tag, Is}, State1)};
                {error, _} = E ->
                    {{Name, E}, State}
            end;
        _ ->
            {{Name, {ok, already_added}}, State}
    end.

add_rt(Name, Pid, #state{nodes = Nodes} = State) ->
    Node = #node{name = Name, rt = Pid, ref = monitor(process, Pid)},
    State#state{nodes = Nodes ++ [Node]}.

%% Adds a runtime component that was started when its node booted, and has
%% connected to this control component.
connected(Name, Rt, Tag, Is, State) ->
    case rt(Name, State) of
        Rt -> State;
        none -> tell(connected, Name, {Tag, Is}, add_rt(Name, Rt, State));
        _Old -> connected(Name, Rt, Tag, Is,
                          tell(disconnected, Name, noconnection,
                               remove_rt(Name, State)))
    end.

start_rt(Name, Ctrl, {Tag, Opts, Condition}) ->
    try erpc:call(Name, erlang, whereis, [inviso_rt], ?NODE_TIMEOUT) of
        undefined -> new_rt(Name, Ctrl, Tag, Opts);
        Pid -> adopt_rt(Pid, {adopt, Ctrl, Tag, Condition})
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}}
    end.

new_rt(Name, Ctrl, Tag, Opts) ->
    case inviso_bring:bring(Name, Ctrl, Opts) of
        {ok, Guard} ->
            case started_rt(Name, [Ctrl, Opts, Tag, Guard]) of
                {ok, _, _} = Ok -> Ok;
                {error, _} = E ->
                    _ = inviso_push:leave(Guard, Ctrl),
                    E
            end;
        {error, _} = E ->
            E
    end.

started_rt(Name, Args) ->
    try erpc:call(Name, inviso_rt, start, Args, ?NODE_TIMEOUT) of
        {ok, Pid} -> {ok, Pid, new};
        {error, _} = E -> E
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}};
        error:{exception, Reason, _} -> {error, {badrpc, Reason}}
    end.

adopt_rt(Pid, Request) ->
    case answer(inviso_rt_request:send(Pid, Request), deadline()) of
        {ok, Adopted} -> {ok, Pid, Adopted};
        {error, _} = E -> E
    end.

stop_nodes(Nodes, State) ->
    List = case Nodes of all -> names(State); _ -> Nodes end,
    case node_list(List) of
        true ->
            Results = lists:reverse(stop_each(List, State)),
            State1 = lists:foldl(fun stopped/2, State, Results),
            {shape({ok, [{N, plain(R)} || {N, R} <- Results]}, State), State1};
        false ->
            {{error, {badarg, Nodes}}, State}
    end.

stop_each(Nodes, State) ->
    [{N, case Answer of
             {ok, Guard} -> {stopped, leave(Guard, rt(N, State))};
             {error, _} = E -> E
         end} || {N, Answer} <- ask(Nodes, stop, State)].

plain({stopped, Result}) -> Result;
plain({error, _} = E) -> E.

%% Removes a node whose runtime component has stopped. A runtime component that
%% did not answer is removed later, when its monitor's `DOWN' message arrives.
stopped({Name, {stopped, _}}, State) ->
    tell(disconnected, Name, void, remove_rt(Name, State));
stopped(_, State) ->
    State.

%% Removes a runtime component from the users of the guard, the process that keeps
%% inviso's code on the node. If it was the last user, waits until the guard has
%% ended.
leave(Guard, Rt) ->
    Report = inviso_push:report(Guard),
    case inviso_push:leave(Guard, Rt) of
        {others, _} -> ok;
        _ -> inviso_push:await(Guard, Report, ?NODE_TIMEOUT)
    end.

remove_rt(Name, #state{nodes = Nodes} = State) ->
    case lists:keytake(Name, #node.name, Nodes) of
        {value, #node{ref = Ref}, Rest} ->
            erlang:demonitor(Ref, [flush]),
            State#state{nodes = Rest};
        false ->
            State
    end.

names(#state{nodes = Nodes}) ->
    [N || #node{name = N} <- Nodes].

rt(Name, #state{nodes = Nodes}) ->
    case lists:keyfind(Name, #node.name, Nodes) of
        #node{rt = Pid} -> Pid;
        false -> none
    end.

node_list(Nodes) when length(Nodes) >= 0 -> lists:all(fun is_atom/1, Nodes);
node_list(_) -> false.

%% --- requests ---------------------------------------------------------------

on_nodes(all, State, F) ->
    shape({ok, F(names(State))}, State);
on_nodes(Nodes, State, F) ->
    case node_list(Nodes) of
        true -> shape({ok, F(Nodes)}, State);
        false -> {error, {badarg, Nodes}}
    end.

ask(Nodes, Request, State) ->
    ask_each([{N, Request} || N <- Nodes], State).

init_tracing(PerNode, State) ->
    Find = fun(Node) -> rt(Node, State) end,
    ask_each([{N, case inviso_tracerdata:relayers(TD, Find) of
                      {ok, Known} -> {init_tracing, Known};
                      {error, _} = E -> E
                  end} || {N, TD} <- PerNode], State).

ask_each(Requests, State) ->
    Sent = [{N, send(rt(N, State), Request)} || {N, Request} <- Requests],
    Deadline = deadline(),
    [{N, await(S, Deadline)} || {N, S} <- Sent].

send(none, _Request) -> {error, not_an_added_node};
send(_Pid, {error, _} = E) -> E;
send(Pid, Request) -> {sent, inviso_rt_request:send(Pid, Request)}.

await({sent, Id}, Deadline) -> answer(Id, Deadline);
await({error, _} = E, _Deadline) -> E.

%% Returns one deadline for all nodes together. So if several nodes do not answer,
%% the control component waits no longer than for one node.
deadline() -> erlang:monotonic_time(millisecond) + ?NODE_TIMEOUT.

answer(Id, Deadline) ->
    case gen_server:receive_response(Id, {abs, Deadline}) of
        {reply, Reply} -> Reply;
        timeout -> {error, {no_response, timeout}};
        {error, {Reason, _}} -> {error, {no_response, Reason}}
    end.

of_logs(What, {ok, Pairs}, State) ->
    Requests = [{N, {What, Which}} || {N, Which} <- Pairs],
    shape({ok, ask_each(Requests, State)}, State);
of_logs(_What, {error, _} = E, _State) ->
    E.

%% Returns the reply in the form that the user gets. A system that is not
%% distributed has only one node: the user gets the result of this node, and no list.
shape(Reply, #state{distributed = true}) -> Reply;
shape({ok, [{_, Result}]}, _) -> Result;
shape({ok, []}, _) -> {error, not_an_added_node};
shape(Reply, _) -> Reply.

%% --- options ----------------------------------------------------------------

check_options(Options, IsOption) when length(Options) >= 0 ->
    case [O || O <- Options, not IsOption(O)] of
        [] -> ok;
        [O | _] -> {error, {unknown_option, O}}
    end;
check_options(Options, _IsOption) ->
    {error, {badarg, Options}}.

%% `{unsubscribe, Pid}' is accepted and has no effect at the start.
is_start_option({subscribe, Pid}) -> is_pid(Pid);
is_start_option({unsubscribe, Pid}) -> is_pid(Pid);
is_start_option(Option) -> is_option(Option).

is_option(Option) -> inviso_rt_request:is_option(Option).

%% Adds the defaults of options that the request does not contain. If an option
%% is given twice, the first value is used.
merge_options(Options, Defaults) ->
    Names = [option_name(O) || O <- Options],
    Options ++ [D || D <- Defaults, not lists:member(option_name(D), Names)].

option_name(Option) when is_tuple(Option) -> element(1, Option);
option_name(Option) -> Option.
