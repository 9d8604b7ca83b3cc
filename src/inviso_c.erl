%% SPDX-License-Identifier: Apache-2.0
%% @doc The control component: knows the runtime components that were added,
%% and passes requests on to them.
%%
%% It monitors each runtime component, and each monitors it. It is not linked
%% to who starts it. Requests for many nodes go out at once and are awaited
%% together. Nothing a runtime component does can block it for longer than
%% ?NODE_TIMEOUT; fetching, which may take long, has processes of its own.
%%
%% Answers are in the order of the list of nodes; for all nodes, in that in
%% which they were added; in the reverse of it for stop_nodes.
-module(inviso_c).

-behaviour(gen_server).

-export([start/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

%% Below the minute that a call of the API waits.
-define(NODE_TIMEOUT, 50000).

-record(node, {name :: node(), rt :: pid(), ref :: reference()}).

-record(state, {distributed :: boolean(),
                options :: [term()],
                nodes = [] :: [#node{}]}).

%% @doc Starts the control component of this node.
-spec start([term()]) -> {ok, pid()} | {error, term()}.
start(Options) ->
    gen_server:start({local, ?MODULE}, ?MODULE, Options, []).

%% @private
init(Options) ->
    process_flag(trap_exit, true),
    case check_options(Options) of
        ok ->
            {ok, #state{distributed = is_alive(), options = Options}};
        {error, _} = E ->
            {stop, E}
    end.

%% @private
handle_call({add_nodes, Nodes, Tag, Opts}, _From, State) ->
    case {node_list(Nodes), check_options(Opts)} of
        {true, ok} ->
            All = merge_options(Opts, State#state.options),
            {Results, State1} =
                lists:mapfoldl(fun(N, S) -> add_node(N, Tag, All, S) end,
                               State, Nodes),
            {reply, shape({ok, Results}, State1), State1};
        {false, _} ->
            {reply, {error, {badarg, Nodes}}, State};
        {_, {error, _} = E} ->
            {reply, E, State}
    end;
handle_call({init_tracing, PerNode}, _From, State) ->
    Requests = [{N, {init_tracing, TD}} || {N, TD} <- PerNode],
    {reply, shape({ok, ask_each(Requests, State)}, State), State};
handle_call({init_tracing_all, TracerData}, _From, State) ->
    Requests = [{N, {init_tracing, TracerData}} || N <- names(State)],
    {reply, shape({ok, ask_each(Requests, State)}, State), State};
handle_call({ask, Nodes, Request}, _From, State) ->
    {reply, on_nodes(Nodes, State, fun(Ns) -> ask(Ns, Request, State) end),
     State};
handle_call({ask_each, Requests}, _From, State) ->
    %% Lists per node are answered as lists, distributed or not.
    {reply, {ok, ask_each(Requests, State)}, State};
handle_call({list_logs, Specs}, _From, State) ->
    case log_specs(Specs, State) of
        {ok, Pairs} ->
            Requests = [{N, {list_logs, Which}} || {N, Which} <- Pairs],
            {reply, shape({ok, ask_each(Requests, State)}, State), State};
        {error, _} = E ->
            {reply, E, State}
    end;
handle_call({fetch_log, _, _, _}, _From, #state{distributed = false} = State) ->
    {reply, {error, not_distributed}, State};
handle_call({fetch_log, Specs, Dir, Prefix}, From, State) ->
    case log_specs(Specs, State) of
        {ok, Pairs} ->
            Targets = [{N, fetch_from(N, Which, State), Which}
                       || {N, Which} <- Pairs],
            _ = spawn(fun() -> fetch(From, Targets, Dir, Prefix) end),
            {noreply, State};
        {error, _} = E ->
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
handle_info({'DOWN', Ref, process, _, _}, #state{nodes = Nodes} = State) ->
    {noreply, State#state{nodes = lists:keydelete(Ref, #node.ref, Nodes)}};
handle_info(_, State) ->
    {noreply, State}.

%% @private
terminate(_Reason, _State) ->
    ok.

%% --- nodes ------------------------------------------------------------------

add_node(Name, Tag, Opts, State) ->
    case rt(Name, State) of
        none ->
            case start_rt(Name, Tag, Opts) of
                {ok, Pid, Result} ->
                    {{Name, {ok, Result}}, add_rt(Name, Pid, State)};
                {error, _} = E ->
                    {{Name, E}, State}
            end;
        _ ->
            {{Name, {ok, already_added}}, State}
    end.

add_rt(Name, Pid, #state{nodes = Nodes} = State) ->
    Node = #node{name = Name, rt = Pid, ref = monitor(process, Pid)},
    State#state{nodes = Nodes ++ [Node]}.

start_rt(Name, Tag, Opts) ->
    try erpc:call(Name, erlang, whereis, [inviso_rt], ?NODE_TIMEOUT) of
        undefined -> new_rt(Name, Tag, Opts);
        Pid -> adopt_rt(Pid, Tag)
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}}
    end.

new_rt(Name, Tag, Opts) ->
    case inviso_bring:bring(Name, self(), Opts) of
        {ok, Guard} ->
            Args = [self(), Opts, Tag, Guard],
            case started_rt(Name, Args) of
                {ok, _, _} = Ok -> Ok;
                {error, _} = E ->
                    _ = inviso_push:leave(Guard, self()),
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

adopt_rt(Pid, Tag) ->
    Request = inviso_rt:send_request(Pid, {adopt, self(), Tag}),
    case answer(Request) of
        {ok, Adopted} -> {ok, Pid, Adopted};
        {error, _} = E -> E
    end.

stop_nodes(Nodes, State) ->
    Stop = fun(Ns) -> lists:reverse([{N, stop_node(N, State)} || N <- Ns]) end,
    case on_nodes(Nodes, State, Stop) of
        {error, _} = E when Nodes =/= all ->
            {E, State};
        Reply ->
            Gone = if Nodes =:= all -> names(State); true -> Nodes end,
            {Reply, lists:foldl(fun remove_rt/2, State, Gone)}
    end.

stop_node(Name, State) ->
    case rt(Name, State) of
        none ->
            {error, not_an_added_node};
        Pid ->
            case answer(inviso_rt:send_request(Pid, stop)) of
                {ok, Guard} ->
                    leave(Guard, Pid);
                {error, _} = E ->
                    E
            end
    end.

%% A guard stays for others.
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

ask_each(Requests, State) ->
    Sent = [{N, send(rt(N, State), Request)} || {N, Request} <- Requests],
    [{N, await(S)} || {N, S} <- Sent].

send(none, _Request) -> {error, not_an_added_node};
send(Pid, Request) -> {sent, inviso_rt:send_request(Pid, Request)}.

await({sent, Id}) -> answer(Id);
await({error, _} = E) -> E.

answer(Id) ->
    case gen_server:receive_response(Id, ?NODE_TIMEOUT) of
        {reply, Reply} -> Reply;
        timeout -> {error, {no_response, timeout}};
        {error, {Reason, _}} -> {error, {no_response, Reason}}
    end.

%% In a system that is not distributed there is one node, whose name nobody
%% wants to see.
shape(Reply, #state{distributed = true}) -> Reply;
shape({ok, [{_, Result}]}, _) -> Result;
shape({ok, []}, _) -> {error, not_an_added_node};
shape(Reply, _) -> Reply.

%% --- logs -------------------------------------------------------------------

%% Which log of which node: what the runtime component had open last, what
%% given tracerdata would open there, or given files.
log_specs(all, State) ->
    {ok, [{N, current} || N <- names(State)]};
log_specs(Specs, _State) when length(Specs) >= 0 ->
    case inviso_tracerdata:is_tracerdata(Specs) of
        true ->
            {ok, [{node(), {tracerdata, Specs}}]};
        false ->
            Pairs = [log_spec(S) || S <- Specs],
            case lists:member(bad, Pairs) of
                true -> {error, {badarg, Specs}};
                false -> {ok, Pairs}
            end
    end;
log_specs(Specs, _State) ->
    {error, {badarg, Specs}}.

log_spec(Node) when is_atom(Node) ->
    {Node, current};
log_spec({Node, [{Kind, _, _} | _] = Logs})
  when is_atom(Node), length(Logs) > 0,
       Kind =:= trace_log orelse Kind =:= ti_log ->
    {Node, {files, Logs}};
log_spec({Node, TracerData}) when is_atom(Node) ->
    {Node, {tracerdata, TracerData}};
log_spec(_) ->
    bad.

%% One process for the request, which watches over the caller, and one for each
%% node.
fetch({Caller, _} = From, Targets, Dir, Prefix) ->
    Monitor = monitor(process, Caller),
    Cancel = make_ref(),
    Workers = [fetch_worker(T, Dir, Prefix, Cancel) || T <- Targets],
    gen_server:reply(From, {ok, collect(Workers, Monitor, Cancel)}).

fetch_worker({Node, Rt, Which}, Dir, Prefix, Cancel) ->
    {Pid, Ref} = spawn_monitor(
                   fun() ->
                           exit({fetched,
                                 fetch_node(Rt, Which, Dir, Prefix, Cancel)})
                   end),
    {Node, Pid, Ref}.

%% Own files given by name are here already.
fetch_from(Node, Which, _State) when Node =:= node(), Which =/= current ->
    {error, own_node};
fetch_from(Node, _Which, State) ->
    case rt(Node, State) of
        none -> {error, not_an_added_node};
        Pid -> Pid
    end.

fetch_node({error, _} = E, _Which, _Dir, _Prefix, _Cancel) ->
    E;
fetch_node(Rt, Which, Dir, Prefix, Cancel) ->
    case answer(inviso_rt:send_request(Rt, {fetch, self(), Which})) of
        {ok, no_log} ->
            {complete, no_log};
        {ok, Reader, Logs} ->
            inviso_fetch:fetch(Reader, Logs, Dir, Prefix, Cancel);
        {error, _} = E ->
            E
    end.

collect([], _Monitor, _Cancel) ->
    [];
collect([{Node, _Pid, Ref} | Rest] = Workers, Monitor, Cancel) ->
    receive
        {'DOWN', Ref, process, _, {fetched, Result}} ->
            [{Node, Result} | collect(Rest, Monitor, Cancel)];
        {'DOWN', Ref, process, _, Reason} ->
            [{Node, {error, {no_response, Reason}}}
             | collect(Rest, Monitor, Cancel)];
        {'DOWN', Monitor, process, _, _} ->
            _ = [Pid ! Cancel || {_, Pid, _} <- Workers],
            collect(Workers, Monitor, Cancel)
    end.

%% --- options ----------------------------------------------------------------

check_options(Options) when length(Options) >= 0 ->
    case [O || O <- Options, not is_option(O)] of
        [] -> ok;
        [O | _] -> {error, {unknown_option, O}}
    end;
check_options(Options) ->
    {error, {badarg, Options}}.

is_option({dependency, _}) -> true;
is_option({dir, Dir}) -> is_list(Dir);
is_option(_) -> false.

%% Of two with the same name the first counts.
merge_options(Options, Defaults) ->
    Options ++ [D || D <- Defaults,
                     not lists:keymember(element(1, D), 1, Options)].
