%% SPDX-License-Identifier: Apache-2.0
%% @doc The process behind {@link inviso_tool}.
%%
%% ```
%%  inviso_tool --starts--> inviso_c (on c_node) --> inviso_rt on each node
%%       |  '--- watch, on c_node: ends inviso_c when the tool has ended
%%       '--spawns--> a trace case, or repeats the history on one node
%% '''
%%
%% The process stores the session, the session's history, the active trace cases,
%% and the nodes on which tracing could not begin. It does not store the status of
%% nodes, but asks the nodes. Spawned processes do long work, and return their
%% results as exit reasons. When the session ends, these processes are killed.
-module(inviso_tool_server).

-behaviour(gen_server).

-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export([watch/2]).

-define(TAG, inviso_tool).

%% A trace case that is active, or is being activated or deactivated.
-record(tc, {phase :: activating | active | deactivating,
             bindings :: inviso_case:bindings()}).

-record(tool, {conf :: inviso_tool_conf:conf(),
               number = 0 :: non_neg_integer(),
               %% the arguments of the tracerdata generator, without the node:
               %% `session' are those of the current session, `last' those of the
               %% latest session
               session = none :: none | [term(), ...],
               last = none :: none | [term(), ...],
               %% nodes on which tracing could not begin in this session
               failed = [] :: [node()],
               active = #{} :: #{{atom(), term()} => #tc{}},
               history = inviso_tool_history:new()
                   :: inviso_tool_history:history(),
               work = #{} :: #{reference() => {pid(), work()}}}).

%% The work of a spawned process. `tc': it runs a trace case. `node': it repeats
%% the history on a node.
-type work() :: {tc, inviso_tool_history:item(), none | gen_server:from()}
              | {node, node(), inviso_tool_history:done()}.

%% @private
init(Config) ->
    process_flag(trap_exit, true),
    case inviso_tool_conf:read(Config) of
        {ok, #{c_node := Control} = Conf} ->
            T = #tool{conf = Conf},
            case cmd(start, [], T) of
                {ok, Pid} ->
                    _ = monitor(process, Pid, [{tag, 'CONTROL_DOWN'}]),
                    _ = spawn(Control, ?MODULE, watch, [self(), Pid]),
                    _ = add(nodes_of(T), T),
                    {ok, T};
                {error, {already_started, _}} ->
                    {stop, {error, {inviso_control_already_running, Control}}};
                {error, Why} ->
                    {stop, {error, {inviso_control_node_error, Why}}}
            end;
        {error, Why} ->
            {stop, {error, {start_up, Why}}}
    end.

%% @private
handle_call(Request, From, T) ->
    case wrong(Request) of
        none -> request(Request, From, T);
        {wrong, Term} -> {reply, {error, {badarg, Term}}, T}
    end.

%% Checks the terms of the user in a request: lists must be proper lists.
wrong({restore_session, _, Args}) -> wrong_list(Args);
wrong({start_session, Args}) -> wrong_list(Args);
wrong({inviso, _, Args}) -> wrong_list(Args);
wrong({get_autostart_data, Which, _}) -> wrong_nodes(Which);
wrong({stop, all}) -> {wrong, all};
wrong({What, Which})
  when What =:= stop; What =:= reconnect_nodes; What =:= reset_nodes;
       What =:= reinitiate_session; What =:= flush ->
    wrong_nodes(Which);
wrong(_) -> none.

wrong_list(List) when length(List) >= 0 -> none;
wrong_list(Other) -> {wrong, Other}.

wrong_nodes(all) -> none;
wrong_nodes(Nodes) ->
    case wrong_list(Nodes) =:= none andalso lists:all(fun is_atom/1, Nodes) of
        true -> none;
        false -> {wrong, Nodes}
    end.

request({stop, Keep}, _From, #tool{conf = #{keep_nodes := Always}} = T) ->
    Nodes = up(T),
    Kept = [{N, kept(N, T)} || N <- Nodes, lists:member(N, Keep ++ Always)],
    %% Stops the other runtime components now. Otherwise they would continue to run
    %% for some time after the end of this process.
    Stopped = answers(stop_nodes, [N || N <- Nodes,
                                        not lists:keymember(N, 1, Kept)],
                      [], T),
    Results = [lists:keyfind(N, 1, Kept ++ Stopped) || N <- Nodes],
    {stop, normal, shape(Results, {error, down}, T), T};
request({reconnect_nodes, Which}, _From, T) ->
    {Results, T1} = lists:mapfoldl(fun reconnect/2, T, which(Which, T)),
    {reply, shape(Results, {error, down}, T1), T1};
request({start_session, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_already_started}, T};
request({start_session, MoreArgs}, _From, T) ->
    case start_session(MoreArgs, inviso_tool_history:new(), T) of
        {Reply, Nodes, T1} -> {reply, Reply, begun(Nodes, T1)};
        {error, _} = E -> {reply, E, T}
    end;
request({restore_session, _, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_already_started}, T};
request({restore_session, From, MoreArgs}, _From, T) ->
    case history(From, T) of
        {ok, History} ->
            case start_session(MoreArgs, History, T) of
                {Reply, Nodes, T1} -> {reply, Reply, restored(Nodes, T1)};
                {error, _} = E -> {reply, E, T}
            end;
        {error, _} = E ->
            {reply, E, T}
    end;
request({reset_nodes, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_active}, T};
request({reset_nodes, Which}, _From, T) ->
    Nodes = case Which of
                all -> up(T);
                _ -> Which
            end,
    {reply, cmd(clear, [Nodes, [keep_log_files]], T), T};
request({save_history, File}, _From, #tool{history = History} = T) ->
    Reply = case {inviso_rt_logs:is_name(File),
                  inviso_tool_history:items(History)} of
                {false, _} -> {error, {bad_filename, File}};
                {true, []} -> {error, no_history};
                {true, _} -> saved(in_history_dir(File, T), History)
            end,
    {reply, Reply, T};
request({get_autostart_data, Which, Dependency}, _From, T) ->
    Nodes = [{N, autostart_data(N, Dependency, T)} || N <- which(Which, T)],
    Data = inviso_tool_history:autostart(T#tool.history),
    {reply, {ok, {Data, case {is_alone(T), Nodes} of
                            {true, [{_, Result}]} -> Result;
                            _ -> Nodes
                        end}}, T};
request(get_activities, _From, T) ->
    {reply, {ok, activities(T)}, T};
request({get_node_status, Node}, _From, T) ->
    Reply = case status(Node, T) of
                unknown -> {error, unknown_node};
                Status -> {ok, Status}
            end,
    {reply, Reply, T};
request({flush, all}, _From, T) ->
    {reply, case joined(T) of
                [] -> shape([], {error, not_tracing}, T);
                Nodes -> cmd(flush, [Nodes], T)
            end, T};
request({flush, Nodes}, _From, T) ->
    {reply, cmd(flush, [Nodes], T), T};
request({reactivate, Node}, _From, T) ->
    {Reply, T1} = reactivate(Node, T),
    {reply, Reply, T1};
request(get_session_data, _From, #tool{last = none} = T) ->
    {reply, {error, no_session}, T};
request(get_session_data, _From, #tool{session = none} = T) ->
    {reply, {ok, {not_tracing, T#tool.number, T#tool.last}}, T};
request(get_session_data, _From, #tool{session = Args} = T) ->
    {reply, {ok, {tracing, T#tool.number, Args}}, T};
request(_, _From, #tool{session = none} = T) ->
    {reply, {error, no_session}, T};
request(Request, From, T) ->
    in_session(Request, From, T).

in_session({reinitiate_session, Which}, _From, T) ->
    {Reply, T1} = reinitiate(which(Which, T), T),
    {reply, Reply, T1};
in_session(stop_session, _From, T) ->
    Nodes = joined(T),
    _ = [end_work(Ref, Pid, Work)
         || {Ref, {Pid, Work}} <- maps:to_list(T#tool.work)],
    Results = [{N, case Answer of
                       {ok, _} -> ok;
                       {error, _} = E -> E
                   end} || {N, Answer} <- answers(stop_tracing, Nodes, [], T)],
    {reply, {ok, {T#tool.number, case is_alone(T) of
                                     true -> [R || {_, R} <- Results];
                                     false -> Results
                                 end}},
     T#tool{session = none, failed = [], active = #{}, work = #{}}};
in_session({atc, Name, Id, Bindings, How}, From, T) ->
    answered(How, From, activate(Name, Id, Bindings, reply_to(How, From),
                                 tracing(T), T), T);
in_session({rtc, Name, Bindings}, From, T) ->
    answered(sync, From, run(Name, Bindings, From, T), T);
in_session({dtc, Name, Id, How}, From, T) ->
    answered(How, From, deactivate(Name, Id, reply_to(How, From), T), T);
in_session({inviso, Function, Args}, _From, T) ->
    {Reply, T1} = command(Function, Args, T),
    {reply, Reply, T1}.

reply_to(sync, From) -> From;
reply_to(async, _From) -> none.

answered(_How, _From, {error, _} = E, T) -> {reply, E, T};
answered(sync, _From, T, _) -> {noreply, T};
answered(async, _From, T, _) -> {reply, ok, T}.

%% @private
handle_cast(_, T) ->
    {noreply, T}.

%% @private
handle_info({'CONTROL_DOWN', _, process, _, Why}, T) ->
    {stop, {shutdown, {control_component, Why}}, T};
handle_info({'DOWN', Ref, process, _, Reason}, #tool{work = Work} = T) ->
    case maps:take(Ref, Work) of
        {{_, What}, Rest} ->
            Result = case Reason of
                         {done, R} -> R;
                         _ -> {error, {badrpc, Reason}}
                     end,
            {noreply, done(What, Result, T#tool{work = Rest})};
        error ->
            {noreply, T}
    end;
handle_info(_, T) ->
    {noreply, T}.

%% @private
terminate(_Reason, T) ->
    _ = cmd(stop, [], T),
    ok.

%% @private Runs on the control component's node. Ends the control component
%% when the tool's process ends, even if that process is killed.
-spec watch(pid(), pid()) -> ok.
watch(Tool, Ctrl) ->
    group_leader(whereis(init), self()),
    ToolRef = monitor(process, Tool),
    CtrlRef = monitor(process, Ctrl),
    receive
        {'DOWN', CtrlRef, process, Ctrl, _} ->
            ok;
        {'DOWN', ToolRef, process, Tool, _} ->
            try
                _ = gen_server:call(Ctrl, stop),
                ok
            catch
                exit:_ -> ok
            end
    end.

%% --- nodes ------------------------------------------------------------------

cmd(Function, Args, #tool{conf = #{c_node := Control, debug := Level}}) ->
    Result = inviso_tool_lib:inviso_cmd(Control, Function, Args),
    ok = inviso_tool_lib:debug(Level, {Function, Args}, Result),
    Result.

%% Returns the answers of nodes as a list of {Node, Answer}, even if the system is
%% not distributed.
answers(_Function, [], _Args, _T) ->
    [];
answers(Function, Nodes, Args, T) ->
    case {is_alone(T), cmd(Function, [Nodes | Args], T)} of
        {true, Result} -> [{N, Result} || N <- Nodes];
        {false, {ok, Results}} -> Results;
        {false, {error, _} = E} -> [{N, E} || N <- Nodes]
    end.

on_node(Function, Node, Args, T) ->
    [{Node, Result}] = answers(Function, [Node], Args, T),
    Result.

%% Returns the results in the form that the user gets. In a system that is not
%% distributed, returns the only result, or `None' if there is no result.
shape(Results, None, T) ->
    case {is_alone(T), Results} of
        {false, _} -> {ok, Results};
        {true, [{_, Result} | _]} -> Result;
        {true, []} -> None
    end.

is_alone(T) -> control(T) =:= nonode@nohost.

nodes_of(#tool{conf = #{nodes := Nodes}}) -> Nodes.

which(all, T) -> nodes_of(T);
which(Nodes, _T) -> Nodes.

add(Nodes, T) ->
    [{N, add_node(N, T)} || N <- Nodes].

add_node(Node, T) ->
    case options(Node, T) of
        {ok, Options} ->
            on_node(add_nodes, Node, [?TAG, [{dependency, 0} | Options]], T);
        {error, _} = E ->
            E
    end.

%% Returns the options of a node, except `dependency', which the tool sets.
options(Node, #tool{conf = #{optg := {M, F, Args}}}) ->
    try apply(M, F, [Node | Args]) of
        {ok, Options} when length(Options) >= 0 ->
            {ok, lists:keydelete(dependency, 1, Options)};
        Options when length(Options) >= 0 ->
            {ok, lists:keydelete(dependency, 1, Options)};
        Other ->
            {error, {bad_optg, Other}}
    catch
        Class:Reason -> {error, {bad_optg, {Class, Reason}}}
    end.

%% Connects again to a node that is down. If a spawned process still works for
%% this node, kills that process first.
reconnect(Node, T) ->
    case status(Node, T) of
        unknown ->
            {{Node, {error, unknown_node}}, T};
        down ->
            T1 = without_work(Node, T),
            case add_node(Node, T1) of
                {ok, _} ->
                    T2 = T1#tool{failed = lists:delete(Node, T1#tool.failed)},
                    {{Node, {ok, status(Node, T2)}}, T2};
                {error, nodedown} ->
                    {{Node, {error, down}}, T1};
                {error, _} = E ->
                    {{Node, E}, T1}
            end;
        _ ->
            {{Node, {error, already_connected}}, T}
    end.

kept(Node, T) ->
    case on_node(change_options, Node, [[{dependency, infinity}]], T) of
        ok -> patterns_untouched;
        {error, _} = E -> E
    end.

status(Node, T) ->
    case lists:member(Node, nodes_of(T)) of
        true ->
            [{Node, Status}] = statuses([Node], T),
            Status;
        false ->
            unknown
    end.

statuses(Nodes, T) ->
    [{N, status(N, Answer, T)}
     || {N, Answer} <- answers(get_status, Nodes, [], T)].

status(_Node, {error, _}, _T) ->
    down;
status(Node, {ok, {State, {suspended, _}}}, T) ->
    {state(Node, State, T), suspended};
status(Node, {ok, {State, running}}, T) ->
    case [N || {_, {node, N, _}} <- maps:values(T#tool.work), N =:= Node] of
        [] -> {state(Node, State, T), running};
        _ -> reactivating
    end.

state(_Node, tracing, _T) -> tracing;
state(Node, _, #tool{failed = Failed}) ->
    case lists:member(Node, Failed) of
        true -> trace_failure;
        false -> inactive
    end.

%% Returns all nodes that are not down, in the order of the configuration. The
%% results of tracing/1 and joined/1 have the same order.
up(T) ->
    [N || {N, Status} <- statuses(nodes_of(T), T), Status =/= down].

%% Returns the nodes on which trace cases and commands run.
tracing(T) ->
    [N || {N, {tracing, running}} <- statuses(nodes_of(T), T)].

joined(T) ->
    [N || {N, Status} <- statuses(nodes_of(T), T), is_joined(Status)].

is_joined({State, _}) -> State =/= inactive;
is_joined(Status) -> Status =:= reactivating.

%% --- sessions ---------------------------------------------------------------

%% Starts tracing on the inactive nodes. Returns the answer, the nodes on which
%% tracing has started, and the state. After an error, no session has started.
start_session(MoreArgs, History, T) ->
    #tool{conf = #{tdg := {_, _, Own}}} = T,
    Args = inviso_tool_lib:mk_tdg_args(calendar:universal_time(),
                                       MoreArgs ++ Own),
    Idle = [N || {N, {inactive, running}} <- statuses(nodes_of(T), T)],
    case initiated(Idle, Args, T) of
        {ok, Results, Nodes, T1} ->
            Number = T#tool.number + 1,
            {{ok, {Number, shape(Results, [], T)}}, Nodes,
             T1#tool{number = Number, session = Args, last = Args,
                     history = History, active = #{}, work = #{}}};
        {error, _} = E ->
            E
    end.

%% Clears the patterns of earlier sessions, and then starts tracing.
initiated(Nodes, Args, T) ->
    case tracerdata(Nodes, Args, T) of
        {ok, PerNode} ->
            Cleared = answers(ctp_all, Nodes, [], T),
            Begun = init_tracing([P || {N, _} = P <- PerNode,
                                       {M, ok} <- Cleared, M =:= N], T),
            Results = [{N, case R of
                               ok -> proplists:get_value(N, Begun);
                               {error, _} -> R
                           end} || {N, R} <- Cleared],
            Failed = [N || {N, {error, Why}} <- Results,
                           Why =/= already_initiated],
            {ok, Results, [N || {N, {ok, _}} <- Results],
             T#tool{failed = Failed ++ (T#tool.failed -- Nodes)}};
        {error, _} = E ->
            E
    end.

init_tracing([], _T) ->
    [];
init_tracing(PerNode, T) ->
    case {is_alone(T), cmd(init_tracing, [PerNode], T)} of
        {true, Result} -> [{N, Result} || {N, _} <- PerNode];
        {false, {ok, Results}} -> Results;
        {false, {error, _} = E} -> [{N, E} || {N, _} <- PerNode]
    end.

tracerdata(Nodes, Args, #tool{conf = #{tdg := {M, F, _}}}) ->
    try
        {ok, [{N, apply(M, F, inviso_tool_lib:mk_complete_tdg_args(N, Args))}
              || N <- Nodes]}
    catch
        Class:Reason -> {error, {bad_tdg, {Class, Reason}}}
    end.

%% Activates the initial trace cases on the nodes that start tracing now, but not on
%% nodes that traced before, where trace cases are active already. The initial trace
%% cases are activated even if `Nodes' is empty, so that the history contains them
%% for nodes that join later.
begun(Nodes, #tool{conf = #{initial_tcs := Cases}} = T) ->
    Numbered = lists:zip(lists:seq(1, length(Cases)), Cases),
    lists:foldl(fun({N, {Name, Bindings}}, Acc) ->
                        begin_case(Name, {initial, N}, Bindings, Nodes, Acc);
                   ({_, Other}, Acc) ->
                        warn({bad_initial_tc, Other}),
                        Acc
                end, T, Numbered).

begin_case(Name, Id, Bindings, Nodes, T) ->
    case activate(Name, Id, Bindings, none, Nodes, T) of
        {error, Why} -> warn({Name, Why}), T;
        T1 -> T1
    end.

restored(Nodes, #tool{history = History} = T) ->
    Active = maps:from_list([{Key, #tc{phase = active, bindings = Bs}}
                             || {Key, Bs} <- inviso_tool_history:active(
                                               History)]),
    lists:foldl(fun again/2, T#tool{active = Active}, Nodes).

history(last, #tool{last = none}) ->
    {error, no_history};
history(last, #tool{history = History}) ->
    {ok, History};
history({file, File}, T) ->
    case inviso_rt_logs:is_name(File) of
        true -> inviso_tool_history:read(in_history_dir(File, T));
        false -> {error, {bad_filename, File}}
    end.

in_history_dir(File, #tool{conf = #{history_dir := Dir}}) ->
    filename:absname(File, Dir).

saved(Path, History) ->
    case inviso_tool_history:save(Path, History) of
        ok -> {ok, Path};
        {error, Why} -> {error, {write_file, Why}}
    end.

%% Returns the autostart data of a node. Before the first session, the data contain
%% the arguments that the tracerdata generator would get if a session started now.
autostart_data(Node, Dependency, T) ->
    #tool{conf = #{tdg := {M, F, Own}}, last = Last} = T,
    Args = case Last of
               none -> inviso_tool_lib:mk_tdg_args(calendar:universal_time(),
                                                   Own);
               _ -> Last
           end,
    Option = case Dependency of
                 {dependency, _} -> Dependency;
                 _ -> {dependency, Dependency}
             end,
    case options(Node, T) of
        {ok, Options} ->
            Complete = inviso_tool_lib:mk_complete_tdg_args(Node, Args),
            {ok, {[Option | Options], {tdg, {M, F, Complete}}}};
        {error, _} = E ->
            E
    end.

reinitiate(Nodes, #tool{session = Args} = T) ->
    Checked = [{N, can_join(N, T)} || N <- Nodes],
    case initiated([N || {N, ok} <- Checked], Args, T) of
        {ok, Results, Joined, T1} ->
            All = [{N, case C of
                           ok -> proplists:get_value(N, Results);
                           _ -> C
                       end} || {N, C} <- Checked],
            {{ok, shape(All, [], T)}, lists:foldl(fun again/2, T1, Joined)};
        {error, _} = E ->
            {E, T}
    end.

can_join(Node, T) ->
    case status(Node, T) of
        unknown -> {error, unknown_node};
        down -> {error, down};
        {_, suspended} -> {error, suspended};
        {State, running} when State =/= tracing -> ok;
        _ -> {error, already_in_session}
    end.

reactivate(Node, T) ->
    case status(Node, T) of
        unknown -> {{error, unknown_node}, T};
        down -> {{error, not_available}, T};
        reactivating -> {{error, reactivating}, T};
        {trace_failure, _} -> {{error, trace_failure}, T};
        {_, running} -> {{error, already_running}, T};
        {State, suspended} ->
            case on_node(cancel_suspension, Node, [], T) of
                ok when State =:= tracing, T#tool.session =/= none ->
                    {ok, again(Node, without_work(Node, T))};
                ok ->
                    {ok, T};
                {error, _} = E ->
                    {E, T}
            end
    end.

%% Repeats the history on a node in a separate process. again/3 repeats only the
%% items after the position `Done'.
again(Node, T) ->
    again(Node, inviso_tool_history:nothing_done(), T).

again(Node, Done, #tool{history = History} = T) ->
    Control = control(T),
    {Items, Done1} = inviso_tool_history:since(Done, History),
    work({node, Node, Done1},
         fun() ->
                 [Why || I <- Items,
                         {error, Why} <- [inviso_tool_history:do(I, Control,
                                                                 [Node])]]
         end, T).

control(#tool{conf = #{c_node := Control}}) -> Control.

work(What, Fun, #tool{work = Work} = T) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({done, Fun()}) end),
    T#tool{work = Work#{Ref => {Pid, What}}}.

end_work(Ref, Pid, What) ->
    true = demonitor(Ref, [flush]),
    true = exit(Pid, kill),
    case What of
        {tc, _, From} when From =/= none ->
            gen_server:reply(From, {error, no_session});
        _ ->
            ok
    end.

without_work(Node, #tool{work = Work} = T) ->
    Left = maps:filter(fun(Ref, {Pid, {node, N, _} = What}) when N =:= Node ->
                               ok = end_work(Ref, Pid, What),
                               false;
                          (_, _) ->
                               true
                       end, Work),
    T#tool{work = Left}.

%% --- trace cases ------------------------------------------------------------

activate(Name, Id, Bindings, From, Nodes, #tool{active = Active} = T) ->
    case {maps:find({Name, Id}, Active), definition(Name, Bindings, T)} of
        {{ok, #tc{phase = active}}, _} -> {error, already_started};
        {{ok, #tc{phase = Phase}}, _} -> {error, Phase};
        {error, {error, _} = E} -> E;
        {error, {ok, {_, On, _}}} ->
            Tc = #tc{phase = activating, bindings = Bindings},
            start_case({tc, {Name, Id, on}, On, Bindings}, From, Nodes,
                       T#tool{active = Active#{{Name, Id} => Tc}})
    end.

run(Name, Bindings, From, T) ->
    case definition(Name, Bindings, T) of
        {ok, {_, On, _}} ->
            start_case({tc, {Name, none, run}, On, Bindings}, From, tracing(T),
                       T);
        {error, _} = E ->
            E
    end.

deactivate(Name, Id, From, #tool{active = Active} = T) ->
    #tool{conf = #{cases := Cases}} = T,
    case {maps:find({Name, Id}, Active), maps:find(Name, Cases)} of
        {error, _} -> {error, unknown_id};
        {{ok, #tc{phase = activating}}, _} -> {error, activating};
        {{ok, #tc{phase = deactivating}}, _} -> {error, already_deactivating};
        {{ok, _}, error} -> {error, unknown_tracecase};
        {{ok, _}, {ok, {_, _, none}}} -> {error, no_deactivation};
        {{ok, #tc{bindings = Bindings} = Tc}, {ok, {_, _, Off}}} ->
            start_case({tc, {Name, Id, off}, Off, Bindings}, From, tracing(T),
                       T#tool{active = Active#{{Name, Id} =>
                                                   Tc#tc{phase =
                                                             deactivating}}})
    end.

%% Finds the definition of a trace case, and checks that `Bindings' contains all
%% its variables except `Nodes', which the tool binds.
definition(Name, Bindings, #tool{conf = #{cases := Cases}})
  when length(Bindings) >= 0 ->
    case maps:find(Name, Cases) of
        {ok, {Vars, _, _} = Definition} ->
            case [V || V <- Vars, V =/= 'Nodes',
                       not lists:keymember(V, 1, Bindings)] of
                [] -> {ok, Definition};
                [V | _] -> {error, {missing_variable, V}}
            end;
        error ->
            {error, unknown_tracecase}
    end;
definition(_Name, Bindings, _T) ->
    {error, {badarg, Bindings}}.

start_case(Item, From, Nodes, T) ->
    Control = control(T),
    work({tc, Item, From},
         fun() -> inviso_tool_history:do(Item, Control, Nodes) end, T).

done({tc, Item, From}, Result, T) ->
    _ = case {From, Result} of
            {none, {ok, _}} -> ok;
            {none, {error, Why}} -> warn({Item, Why});
            {_, {ok, Value}} -> gen_server:reply(From, Value);
            {_, {error, _} = E} -> gen_server:reply(From, E)
        end,
    case_done(Item, Result, T);
done({node, Node, Done}, Failures, #tool{history = History} = T) ->
    _ = [warn({Node, F}) || F <- lists:flatten([Failures])],
    case inviso_tool_history:is_more(Done, History) of
        true -> again(Node, Done, T);
        false -> T
    end.

case_done({tc, {Name, Id, How}, _, _} = Item, Result, T) ->
    #tool{active = Active, history = History} = T,
    Key = {Name, Id},
    case {How, Result} of
        {run, {ok, _}} ->
            T#tool{history = inviso_tool_history:add(Item, History)};
        {run, _} ->
            T;
        {on, {ok, _}} ->
            Tc = maps:get(Key, Active),
            T#tool{active = Active#{Key := Tc#tc{phase = active}},
                   history = inviso_tool_history:add(Item, History)};
        {on, _} ->
            T#tool{active = maps:remove(Key, Active)};
        {off, {ok, _}} ->
            T#tool{active = maps:remove(Key, Active),
                   history = inviso_tool_history:add(Item, History)};
        {off, _} ->
            %% The deactivation has failed. The trace case stays active, so that
            %% the user can try again to deactivate it.
            Tc = maps:get(Key, Active),
            T#tool{active = Active#{Key := Tc#tc{phase = active}}}
    end.

warn(What) ->
    logger:warning("inviso_tool: ~0tp", [What]).

%% --- commands ---------------------------------------------------------------

command(Function, Args, T) when length(Args) >= 0 ->
    case is_command(Function, length(Args)) of
        no ->
            {{error, invalid_function_name}, T};
        Kept ->
            Nodes = case Function of
                        cancel_suspension -> up(T);
                        _ -> tracing(T)
                    end,
            Result = case expanded(Function, Args, Nodes, T) of
                         {ok, Expanded} -> cmd(Function, [Nodes | Expanded], T);
                         {error, _} = E -> E
                     end,
            {Result, case {Kept, Result} of
                         {passing, _} -> T;
                         {kept, {error, {badrpc, _}}} -> T;
                         {kept, {error, no_available_regexpnode}} -> T;
                         {kept, _} -> add_item({inviso, Function, Args}, T)
                     end}
    end;
command(_, Args, T) ->
    {{error, {badarg, Args}}, T}.

add_item(Item, #tool{history = History} = T) ->
    T#tool{history = inviso_tool_history:add(Item, History)}.

%% If the option `regexp_node' names a node, that node expands the regular
%% expressions for modules in patterns, for all nodes. Otherwise each node expands
%% them itself.
expanded(Function, Args, Nodes, #tool{conf = #{regexp_node := Node}})
  when Node =/= none, (Function =:= tp orelse Function =:= tpl
                       orelse Function =:= ctp orelse Function =:= ctpl) ->
    Patterns = case Args of
                   [List] when length(List) >= 0 -> List;
                   [List] -> [List];
                   _ -> [list_to_tuple(Args)]
               end,
    case [P || P <- Patterns, is_regexp(P)] of
        [] -> {ok, Args};
        _ -> at_one_of([Node | Nodes], Patterns)
    end;
expanded(_Function, Args, _Nodes, _T) ->
    {ok, Args}.

is_regexp(Pattern) ->
    is_tuple(Pattern) andalso tuple_size(Pattern) > 0
        andalso not is_atom(element(1, Pattern)).

at_one_of([], _Patterns) ->
    {error, no_available_regexpnode};
at_one_of([Node | Rest], Patterns) ->
    Expanded = [inviso_tool_lib:expand_pattern(Node, P) || P <- Patterns],
    case lists:member(badrpc, Expanded) of
        true -> at_one_of(Rest, Patterns);
        false -> {ok, [lists:append(Expanded)]}
    end.

%% Returns `kept' for a command that is added to the history, `passing' for a
%% command that is not added, and `no' for a function that is not a command.
is_command(suspend, 1) -> passing;
is_command(cancel_suspension, 0) -> passing;
is_command(Function, Arity) ->
    case lists:member(Arity, arities(Function)) of
        true -> kept;
        false -> no
    end.

arities(F) when F =:= tp; F =:= tpl -> [1, 4, 5];
arities(F) when F =:= ctp; F =:= ctpl -> [1, 3];
arities(F) when F =:= tf; F =:= ctf -> [1, 2];
arities(F) when F =:= ctf_all; F =:= ctp_all -> [0];
arities(init_tpm) -> [4, 7];
arities(F) when F =:= tpm; F =:= tpm_tracer -> [4, 5, 8];
arities(F) when F =:= tpm_ms; F =:= tpm_ms_tracer -> [5];
arities(ctpm_ms) -> [4];
arities(ctpm) -> [3];
arities(F) when F =:= tpm_localnames; F =:= ctpm_localnames;
                F =:= tpm_globalnames; F =:= ctpm_globalnames -> [0];
arities(_) -> [].

activities(#tool{active = Active, work = Work}) ->
    Nodes = [N || {_, {node, N, _}} <- maps:values(Work)],
    Cases = [{Key, Phase} || {Key, #tc{phase = Phase}} <- maps:to_list(Active),
                             Phase =/= active],
    [{reactivating_nodes, Nodes} || Nodes =/= []]
        ++ [{tracecases, Cases} || Cases =/= []].
