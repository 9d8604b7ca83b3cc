%% SPDX-License-Identifier: Apache-2.0
%% @doc The process behind {@link inviso_tool}.
%%
%% ```
%%  inviso_tool --starts--> inviso_c (on c_node) --> inviso_rt on each node
%%       |  '--- watch, beside inviso_c: ends it when the tool is gone
%%       '--spawns--> a trace case, or the history once more for one node
%% '''
%%
%% It keeps the session, its history and what is active; how nodes are doing it
%% asks. What takes time is done by processes of its own, which say at their end
%% how it went.
-module(inviso_tool_server).

-behaviour(gen_server).

-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export([watch/2]).

-define(TAG, inviso_tool).

%% A trace case that is, or is about to be or no more, active.
-record(tc, {phase :: activating | active | deactivating,
             bindings :: inviso_case:bindings()}).

-record(tool, {conf :: inviso_tool_conf:conf(),
               number = 0 :: non_neg_integer(),
               %% the arguments of the tracerdata generator
               session = none :: none | [term(), ...],
               last = none :: none | [term(), ...],
               active = #{} :: #{{atom(), term()} => #tc{}},
               history = inviso_tool_history:new()
                   :: inviso_tool_history:history(),
               %% processes at work: on a trace case, or on a node that gets
               %% what was done so far
               work = #{} :: #{reference() =>
                                   {tc, inviso_tool_history:item(),
                                    none | gen_server:from()}
                                 | {node, node(), Done :: non_neg_integer()}}}).

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

%% Requests come as the user wrote them; below this, lists are lists.
wrong({restore_session, _, Args}) -> wrong_list(Args);
wrong({start_session, Args}) -> wrong_list(Args);
wrong({inviso, _, Args}) -> wrong_list(Args);
wrong({save_history, File}) ->
    case inviso_rt_logs:is_name(File) of
        true -> none;
        false -> {wrong, File}
    end;
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

request({stop, Keep}, _From, T) ->
    Results = [{N, case lists:member(N, Keep) of
                       true -> kept(N, T);
                       false -> on_node(ctp_all, N, [], T)
                   end} || N <- nodes_of(T)],
    {stop, normal, {ok, Results}, T};
request({reconnect_nodes, Which}, _From, T) ->
    {reply, {ok, [{N, reconnect(N, T)} || N <- which(Which, T)]}, T};
request({start_session, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_already_started}, T};
request({start_session, MoreArgs}, _From, T) ->
    {Reply, T1} = start_session(MoreArgs, inviso_tool_history:new(), T),
    {reply, Reply, begun(Reply, T1)};
request({restore_session, _, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_already_started}, T};
request({restore_session, From, MoreArgs}, _From, T) ->
    case history(From, T) of
        {ok, History} ->
            {Reply, T1} = start_session(MoreArgs, History, T),
            {reply, Reply, restored(Reply, T1)};
        {error, _} = E ->
            {reply, E, T}
    end;
request({reset_nodes, _}, _From, #tool{session = S} = T)
  when S =/= none ->
    {reply, {error, session_active}, T};
request({reset_nodes, Which}, _From, T) ->
    {reply, cmd(clear, [which(Which, T), [keep_log_files]], T), T};
request({save_history, File}, _From, #tool{history = History} = T) ->
    Path = filename:absname(File),
    Reply = case inviso_tool_history:size(History) of
                0 -> {error, no_history};
                _ -> case inviso_tool_history:save(Path, History) of
                         ok -> {ok, Path};
                         {error, Why} -> {error, {Path, Why}}
                     end
            end,
    {reply, Reply, T};
request({get_autostart_data, Which, Dependency}, _From, T) ->
    #tool{conf = #{tdg := Tdg}, history = History} = T,
    Nodes = [{N, case options(N, T) of
                     {ok, Options} ->
                         {ok, {[{dependency, Dependency} | Options],
                               {tdg, Tdg}}};
                     {error, _} = E ->
                         E
                 end} || N <- which(Which, T)],
    {reply, {ok, {inviso_tool_history:autostart(History), Nodes}}, T};
request(get_activities, _From, T) ->
    {reply, {ok, activities(T)}, T};
request({get_node_status, Node}, _From, T) ->
    Reply = case lists:member(Node, nodes_of(T)) of
                true -> {ok, status(Node, T)};
                false -> {error, unknown_node}
            end,
    {reply, Reply, T};
request({flush, Which}, _From, T) ->
    {reply, cmd(flush, [which(Which, T)], T), T};
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
    Results = [{N, case on_node(stop_tracing, N, [], T) of
                       {ok, _} -> ok;
                       {error, _} = E -> E
                   end} || N <- nodes_of(T)],
    _ = [gen_server:reply(Waits, {error, no_session})
         || {tc, _, Waits} <- maps:values(T#tool.work), Waits =/= none],
    {reply, {ok, {T#tool.number, Results}},
     T#tool{session = none, active = #{}, work = #{}}};
in_session({atc, Name, Id, Bindings, How}, From, T) ->
    answered(How, From, activate(Name, Id, Bindings, reply_to(How, From), T),
             T);
in_session({rtc, Name, Bindings}, From, T) ->
    answered(sync, From, run(Name, Bindings, From, T), T);
in_session({dtc, Name, Id, How}, From, T) ->
    answered(How, From, deactivate(Name, Id, reply_to(How, From), T), T);
in_session({inviso, Function, Args}, _From, T) ->
    {Reply, T1} = command(Function, Args, T),
    {reply, Reply, T1};
in_session({reactivate, Node}, _From, T) ->
    {Reply, T1} = reactivate(Node, T),
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
        {What, Rest} ->
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

%% @private Where the control component is: it ends with us, also if we are
%% killed.
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

%% The answer of one node, be it in a distributed system or not.
on_node(Function, Node, Args, T) ->
    case cmd(Function, [[Node] | Args], T) of
        {ok, [{Node, Result}]} -> Result;
        Result -> Result
    end.

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

options(Node, #tool{conf = #{optg := {M, F, Args}}}) ->
    try apply(M, F, [Node | Args]) of
        {ok, Options} when length(Options) >= 0 -> {ok, Options};
        Other -> {error, {bad_optg, Other}}
    catch
        Class:Reason -> {error, {bad_optg, {Class, Reason}}}
    end.

reconnect(Node, T) ->
    case {lists:member(Node, nodes_of(T)), status(Node, T)} of
        {false, _} -> {error, unknown_node};
        {true, down} ->
            case add_node(Node, T) of
                {ok, _} -> {ok, status(Node, T)};
                {error, nodedown} -> {error, down};
                {error, _} = E -> E
            end;
        {true, _} -> {error, already_connected}
    end.

kept(Node, T) ->
    case on_node(change_options, Node, [[{dependency, infinity}]], T) of
        ok -> patterns_untouched;
        {error, _} = E -> E
    end.

status(Node, #tool{work = Work} = T) ->
    Again = [N || {node, N, _} <- maps:values(Work), N =:= Node],
    case {Again, on_node(get_status, Node, [], T)} of
        {[_ | _], _} -> reactivating;
        {[], {ok, {State, Status}}} -> {state(State, T), running(Status)};
        {[], {error, _}} -> down
    end.

state(tracing, _) -> tracing;
state(_, #tool{session = none}) -> inactive;
state(_, _) -> trace_failure.

running(running) -> running;
running({suspended, _}) -> suspended.

%% Those for which trace cases and commands are.
tracing(T) ->
    [N || N <- nodes_of(T), status(N, T) =:= {tracing, running}].

%% --- sessions ---------------------------------------------------------------

start_session(MoreArgs, History, T) ->
    Args = inviso_tool_lib:mk_tdg_args(calendar:universal_time(), MoreArgs),
    case tracerdata(nodes_of(T), Args, T) of
        {ok, PerNode} ->
            Number = T#tool.number + 1,
            {{ok, {Number, cmd(init_tracing, [PerNode], T)}},
             T#tool{number = Number, session = Args, last = Args,
                    history = History, active = #{}, work = #{}}};
        {error, _} = E ->
            {E, T}
    end.

tracerdata(Nodes, Args, #tool{conf = #{tdg := {M, F, Own}}}) ->
    try
        {ok, [{N, apply(M, F, inviso_tool_lib:mk_complete_tdg_args(N, Args)
                        ++ Own)} || N <- Nodes]}
    catch
        Class:Reason -> {error, {bad_tdg, {Class, Reason}}}
    end.

begun({ok, _}, #tool{conf = #{initial_tcs := Cases}} = T) ->
    Numbered = lists:zip(lists:seq(1, length(Cases)), Cases),
    lists:foldl(fun({N, {Name, Bindings}}, Acc) ->
                        case activate(Name, {initial, N}, Bindings, none, Acc)
                        of
                            {error, Why} -> warn({Name, Why}), Acc;
                            Acc1 -> Acc1
                        end
                end, T, Numbered);
begun(_, T) ->
    T.

restored({ok, _}, #tool{history = History} = T) ->
    Active = maps:from_list([{Key, #tc{phase = active, bindings = Bs}}
                             || {Key, Bs} <- inviso_tool_history:active(
                                               History)]),
    lists:foldl(fun(N, Acc) -> again(N, 0, Acc) end,
                T#tool{active = Active}, tracing(T));
restored(_, T) ->
    T.

history(last, #tool{history = History}) ->
    case inviso_tool_history:size(History) of
        0 -> {error, no_history};
        _ -> {ok, History}
    end;
history({file, File}, _T) ->
    case io_lib:char_list(File) of
        true -> inviso_tool_history:read(File);
        false -> {error, {bad_filename, File}}
    end.

reinitiate(Nodes, #tool{session = Args} = T) ->
    Checked = [{N, can_join(N, T)} || N <- Nodes],
    Joining = [N || {N, ok} <- Checked],
    case tracerdata(Joining, Args, T) of
        {ok, PerNode} ->
            Answers = [{N, on_node(init_tracing, N, [TD], T)}
                       || {N, TD} <- PerNode],
            T1 = lists:foldl(fun(N, Acc) -> again(N, 0, Acc) end, T,
                             [N || {N, {ok, _}} <- Answers]),
            {{ok, [{N, case C of
                           ok -> proplists:get_value(N, Answers);
                           _ -> C
                       end} || {N, C} <- Checked]}, T1};
        {error, _} = E ->
            {E, T}
    end.

can_join(Node, T) ->
    case {lists:member(Node, nodes_of(T)), status(Node, T)} of
        {false, _} -> {error, unknown_node};
        {true, down} -> {error, down};
        {true, {_, suspended}} -> {error, suspended};
        {true, {trace_failure, running}} -> ok;
        {true, _} -> {error, already_in_session}
    end.

reactivate(Node, T) ->
    case {lists:member(Node, nodes_of(T)), status(Node, T)} of
        {false, _} -> {{error, unknown_node}, T};
        {true, down} -> {{error, not_available}, T};
        {true, reactivating} -> {{error, reactivating}, T};
        {true, {trace_failure, _}} -> {{error, trace_failure}, T};
        {true, {_, running}} -> {{error, already_running}, T};
        {true, {_, suspended}} ->
            case on_node(cancel_suspension, Node, [], T) of
                ok -> {ok, again(Node, 0, T)};
                {error, _} = E -> {E, T}
            end
    end.

%% Does on a node what was done after the first Done of the history, in a
%% process of its own.
again(Node, Done, #tool{history = History} = T) ->
    Control = control(T),
    Items = inviso_tool_history:since(Done, History),
    work({node, Node, Done + length(Items)},
         fun() ->
                 [Why || I <- Items,
                         {error, Why} <- [inviso_tool_history:do(I, Control,
                                                                 [Node])]]
         end, T).

control(#tool{conf = #{c_node := Control}}) -> Control.

work(What, Fun, #tool{work = Work} = T) ->
    {_Pid, Ref} = spawn_monitor(fun() -> exit({done, Fun()}) end),
    T#tool{work = Work#{Ref => What}}.

%% --- trace cases ------------------------------------------------------------

activate(Name, Id, Bindings, From, #tool{active = Active} = T) ->
    case {definition(Name, Bindings, T), maps:find({Name, Id}, Active)} of
        {{error, _} = E, _} -> E;
        {_, {ok, #tc{phase = active}}} -> {error, already_started};
        {_, {ok, #tc{phase = Phase}}} -> {error, Phase};
        {{ok, {_, On, _}}, error} ->
            Tc = #tc{phase = activating, bindings = Bindings},
            start_case({tc, {Name, Id, on}, On, Bindings}, From,
                       T#tool{active = Active#{{Name, Id} => Tc}})
    end.

run(Name, Bindings, From, T) ->
    case definition(Name, Bindings, T) of
        {ok, {_, On, _}} ->
            start_case({tc, {Name, none, run}, On, Bindings}, From, T);
        {error, _} = E ->
            E
    end.

deactivate(Name, Id, From, #tool{active = Active} = T) ->
    #tool{conf = #{cases := Cases}} = T,
    case {maps:find({Name, Id}, Active), maps:find(Name, Cases)} of
        {error, _} -> {error, unknown_id};
        {{ok, #tc{phase = activating}}, _} -> {error, activating};
        {{ok, #tc{phase = deactivating}}, _} -> {error, already_deactivating};
        {{ok, #tc{bindings = Bindings} = Tc}, {ok, {_, _, Off}}}
          when Off =/= none ->
            start_case({tc, {Name, Id, off}, Off, Bindings}, From,
                       T#tool{active = Active#{{Name, Id} =>
                                                   Tc#tc{phase =
                                                             deactivating}}});
        {{ok, _}, _} -> {error, no_deactivation}
    end.

definition(Name, Bindings, #tool{conf = #{cases := Cases}})
  when length(Bindings) >= 0 ->
    case maps:find(Name, Cases) of
        {ok, {Vars, _, _} = Definition} ->
            case [V || V <- Vars, not lists:keymember(V, 1, Bindings)] of
                [] -> {ok, Definition};
                [V | _] -> {error, {missing_variable, V}}
            end;
        error ->
            {error, unknown_tracecase}
    end;
definition(_Name, Bindings, _T) ->
    {error, {badarg, Bindings}}.

start_case(Item, From, T) ->
    {Control, Nodes} = {control(T), tracing(T)},
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
    case inviso_tool_history:size(History) of
        N when N > Done -> again(Node, Done, T);
        _ -> T
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
            %% It may be tried again.
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
                        cancel_suspension -> nodes_of(T);
                        _ -> tracing(T)
                    end,
            Result = cmd(Function, [Nodes | Args], T),
            {Result, case Kept of
                         kept -> add_item({inviso, Function, Args}, T);
                         passing -> T
                     end}
    end;
command(_, Args, T) ->
    {{error, {badarg, Args}}, T}.

add_item(Item, #tool{history = History} = T) ->
    T#tool{history = inviso_tool_history:add(Item, History)}.

%% Those that set something are kept in the history.
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
    Nodes = [N || {node, N, _} <- maps:values(Work)],
    Cases = [{Key, Phase} || {Key, #tc{phase = Phase}} <- maps:to_list(Active),
                             Phase =/= active],
    [{reactivating_nodes, Nodes} || Nodes =/= []]
        ++ [{tracecases, Cases} || Cases =/= []].
