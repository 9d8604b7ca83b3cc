%% SPDX-License-Identifier: Apache-2.0
%% @doc The runtime component: one on each node that is traced.
%%
%% ```
%%  inviso_c ..monitors.. inviso_rt ----owns---> tracer (NIF, spooler)
%%  (control)                |  '------owns----> trace session (inviso_tracing)
%%                           |--links--> inviso_rt_meta   while tracing with ti
%%                           '..watched by.. guard (inviso_guard)
%% '''
%%
%% The process is registered as `inviso_rt'. It is in no supervision tree, unless
%% the node started it at boot ({@link inviso_rt_auto}). When the process has
%% ended or was killed, the guard clears everything that the process has left in
%% the VM.
%%
%% The state is one of
%%   `new'       there is no tracerdata
%%   `tracing'   events go to the destination in the tracerdata
%%   `idle'      tracing has stopped; the tracerdata still names the logs
%%
%% When tracing stops, {@link inviso_tracing} clears the patterns in the VM, and
%% stores them until tracing begins again. So a node that does not trace has no
%% breakpoints (the VM's marks in code of traced functions).
%%
%% The status is `running' or `{suspended, Reason}'. Suspending clears all flags
%% and all meta patterns, and ends fetches. Other patterns and the logs stay.
%% While the status is `suspended', requests to set flags, patterns or meta
%% patterns return `{error, suspended}'.
%%
%% When the control component ({@link inviso_rt_control}) dies, the runtime
%% component continues to trace for the time of the option `dependency' (default:
%% one minute). If no other control component adopts the runtime component in this
%% time, the runtime component ends.
%%
%% {@link inviso_rt_request} describes the requests to this process.
-module(inviso_rt_server).

-behaviour(gen_server).

-export([start/4, start_link_auto/2]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2,
         terminate/2]).

-export_type([state/0, status/0]).

-type state() :: new | tracing | idle.
-type status() :: running | {suspended, term()}.

-define(NAME, inviso_rt).

%% How long the runtime component continues to trace without a control component,
%% in ms. Afterwards it ends. See docs/decisions/0301.
-define(DEPENDENCY, 60000).

%% The time between two checks that the log can still be written, in ms.
-define(WATCH_MS, 1000).

%% How long the start of a runtime component may take while its node boots, in ms.
-define(AUTO_MS, 10000).

-record(rt, {control :: inviso_rt_control:control(),
             %% `auto': the autostarter. Before it runs, this is the function to
             %% start; then it is the pid. `booting': the callers that wait for the
             %% autostarter's end
             auto = none :: none | {module(), atom(), [term()]} | pid(),
             booting = [] :: [gen_server:from()],
             guard :: inviso_push:guard(),
             state = new :: state(),
             status = running :: status(),
             %% the tracerdata, and the directory to which its file names are
             %% relative
             tracerdata = none :: inviso_rt_logs:current(),
             output = none :: none | inviso_output:output(),
             %% the monitor of the keeper
             keeper = none :: none | reference(),
             overload :: inviso_rt_overload:overload(),
             load_timer = none :: none | reference(),
             %% processes that read logs for clients, and their monitors
             readers = #{} :: #{reference() => pid()},
             tracing :: inviso_tracing:tracing(),
             meta = none :: none | pid(),
             %% requests that the meta tracer has not answered yet, with their
             %% callers
             asked = gen_server:reqids_new()
                 :: gen_server:request_id_collection()}).

%% @doc Starts the runtime component of this node, for a control component.
-spec start(pid(), [term()], term(), inviso_push:guard()) ->
          {ok, pid()} | {error, term()}.
start(Ctrl, Options, Tag, Guard) ->
    gen_server:start({local, ?NAME}, ?MODULE, {Ctrl, Options, Tag, Guard},
                     []).

%% @doc Called when the node boots. If the configuration says so, starts the runtime
%% component, linked to the caller ({@link inviso_rt_auto}). `Mod' is the module
%% that reads the configuration. `Arg' is the start argument of the application.
-spec start_link_auto(module(), term()) -> {ok, pid()} | ignore.
start_link_auto(Mod, Arg) ->
    case inviso_rt_auto:plan(Mod, Arg) of
        {ok, Plan} ->
            case gen_server:start_link({local, ?NAME}, ?MODULE,
                                       {auto, Plan}, [{timeout, ?AUTO_MS}]) of
                {ok, Pid} ->
                    {ok, Pid};
                {error, Why} ->
                    _ = inviso_rt_auto:log("no runtime component: ~0tp", [Why]),
                    ignore
            end;
        none ->
            ignore
    end.

%% @private
init({auto, {MFA, Options, Tag}}) ->
    {Time, Node} = inviso_rt_control:dependency(Options, infinity),
    case inviso_bring:bring(node(), self(), []) of
        {ok, Guard} ->
            case join(Guard, self(), Options,
                      inviso_rt_control:new(Time, Tag)) of
                {ok, Rt, Failures} ->
                    _ = [inviso_rt_auto:log("~0tp", [F]) || F <- Failures],
                    {ok, Rt#rt{auto = MFA}, {continue, {autostart, Node}}};
                Stop ->
                    Stop
            end;
        {error, Reason} ->
            {stop, Reason}
    end;
init({Ctrl, Options, Tag, Guard}) ->
    {Time, _Node} = inviso_rt_control:dependency(Options, ?DEPENDENCY),
    Control = inviso_rt_control:attach(Ctrl, Tag,
                                       inviso_rt_control:new(Time, Tag)),
    case join(Guard, Ctrl, Options, Control) of
        {ok, Rt, Failures} -> {ok, failed(Failures, Rt)};
        Stop -> Stop
    end.

join(Guard, Client, Options, Control) ->
    process_flag(trap_exit, true),
    group_leader(whereis(init), self()),
    case inviso_push:join(Guard, self(), {rt, Client}) of
        {ok, Notes, _Place} ->
            _ = monitor(process, Guard, [{tag, 'GUARD_DOWN'}]),
            {Overload, Failures} = overload(Options),
            Rt = #rt{control = Control, overload = Overload, guard = Guard,
                     tracing = inviso_tracing:new(Notes)},
            {ok, Rt, Failures};
        {error, Class, Text} ->
            {stop, {Class, unicode:characters_to_list(Text)}}
    end.

overload(Options) ->
    case inviso_rt_overload:new(Options) of
        none -> inviso_rt_overload:new([overload]);
        New -> New
    end.

%% @private
%% Looks for the control component on `Node'. If the runtime component may trace
%% without a control component, the autostarter starts at once.
handle_continue({autostart, Node}, #rt{control = Control} = Rt) ->
    ok = inviso_rt_auto:find_control(Node),
    case inviso_rt_control:is_needed(Control) of
        true -> {noreply, Rt};
        false -> {noreply, autostart(Rt)}
    end.

%% @private
handle_call(Request, From, Rt) ->
    case inviso_rt_request:improper(Request) of
        none -> request(Request, From, Rt);
        {bad, Term} -> {reply, {error, {badarg, Term}}, Rt}
    end.

request({adopt, Ctrl, Tag, Condition}, _From, Rt) ->
    #rt{state = State, status = Status, control = Control} = Rt,
    case inviso_rt_control:adopt(Ctrl, Tag, Condition, Control) of
        {ok, Old, New} ->
            {reply, {ok, {adopted, State, Status, Old}}, Rt#rt{control = New}};
        {error, _} = E ->
            {reply, E, Rt}
    end;
request({change_options, Options}, _From, Rt) ->
    {reply, ok, change_options(Options, Rt)};
request({suspend, Reason}, _From, Rt) ->
    {reply, ok, suspend(Reason, Rt)};
request(cancel_suspension, _From, Rt) ->
    Rt1 = changed(Rt#rt{status = running}),
    {reply, ok, load_check_in(0, Rt1)};
request({init_tracing, TracerData}, _From, Rt) ->
    {Reply, Rt1} = init_tracing(TracerData, Rt),
    {reply, Reply, Rt1};
request(stop_tracing, _From, #rt{state = tracing} = Rt) ->
    {reply, {ok, idle}, changed(stop_tracing(Rt))};
request(stop_tracing, _From, #rt{state = S} = Rt) ->
    {reply, {ok, S}, Rt};
request({patterns, _, _, _}, _From, #rt{status = {suspended, _}} = Rt) ->
    {reply, {error, suspended}, Rt};
request({patterns, Kind, List, How}, _From, #rt{tracing = T} = Rt) ->
    {Results, T1} =
        lists:mapfoldl(fun(P, Acc) ->
                               inviso_rt_patterns:request(Kind, How, P, Acc)
                       end, T, List),
    {reply, {ok, lists:append(Results)}, Rt#rt{tracing = T1}};
request({counters, Max}, _From, #rt{state = tracing, tracing = T} = Rt) ->
    {reply, inviso_counters:most(Max, T), Rt};
request({counters, _}, _From, #rt{state = S} = Rt) ->
    {reply, {error, {not_tracing, S}}, Rt};
request(clear_patterns, _From, #rt{tracing = T} = Rt) ->
    {reply, ok, Rt#rt{tracing = inviso_tracing:clear_patterns(T)}};
request({flags, How, List}, _From, Rt) ->
    {reply, flags(How, List, Rt), Rt};
request(clear_flags, _From, #rt{tracing = T} = Rt) ->
    {reply, inviso_tracing:clear_flags(T), Rt};
request({meta, _}, _From, #rt{status = {suspended, _}} = Rt) ->
    {reply, {error, suspended}, Rt};
request({meta, _}, _From, #rt{meta = none} = Rt) ->
    {reply, {error, no_metatracer}, Rt};
request({meta, Request}, From, #rt{meta = Meta, asked = Asked} = Rt) ->
    {noreply, Rt#rt{asked = inviso_rt_meta:send_request(Meta, Request, From,
                                                        Asked)}};
request({clear, Opts}, _From, Rt) ->
    Rt1 = clear(Opts, Rt),
    Rt2 = case Rt#rt.state of
              new -> Rt1;
              _ -> changed(Rt1)
          end,
    {reply, {ok, {new, Rt2#rt.status}}, Rt2};
request({list_logs, Which}, _From, Rt) ->
    {reply, inviso_rt_logs:list(Which, Rt#rt.tracerdata), Rt};
request({delete_log, _}, _From, #rt{state = tracing} = Rt) ->
    {reply, {error, tracing}, Rt};
request({delete_log, Which}, _From, Rt) ->
    {reply, inviso_rt_logs:delete(Which, Rt#rt.tracerdata), Rt};
request({fetch, Client, Which}, _From, Rt) ->
    {Reply, Rt1} = fetch(Client, Which, Rt),
    {reply, Reply, Rt1};
request(flush, From, #rt{state = tracing, output = Output} = Rt) ->
    case inviso_output:flush(Output, From) of
        {now, Reply} -> {reply, Reply, Rt};
        later -> {noreply, Rt}
    end;
request(flush, _From, #rt{state = S} = Rt) ->
    {reply, {error, {not_tracing, S}}, Rt};
request(await_autostart, _From, #rt{auto = none} = Rt) ->
    {reply, ok, Rt};
request(await_autostart, From, #rt{booting = Callers} = Rt) ->
    {noreply, Rt#rt{booting = [From | Callers]}};
request(receiver, _From, #rt{output = none} = Rt) ->
    {reply, none, Rt};
request(receiver, _From, #rt{output = Output} = Rt) ->
    {reply, inviso_output:receiver(Output), Rt};
request(get_status, _From, Rt) ->
    {reply, {ok, {Rt#rt.state, Rt#rt.status}}, Rt};
request(state, _From, #rt{tracerdata = Known, tracing = T} = Rt) ->
    Facts = inviso_rt_control:facts(Rt#rt.control),
    {reply, {ok, Facts#{state => Rt#rt.state, status => Rt#rt.status,
                        tracerdata => case Known of
                                          {some, TD, _} -> TD;
                                          none -> no_tracerdata
                                      end,
                        patterns => length(inviso_tracing:patterns(T)),
                        meta_tracer => Rt#rt.meta,
                        readers => maps:values(Rt#rt.readers)}}, Rt};
request(get_tracerdata, _From, #rt{tracerdata = {some, TD, _}} = Rt) ->
    {reply, {ok, TD}, Rt};
request(get_tracerdata, _From, Rt) ->
    {reply, {ok, no_tracerdata}, Rt};
request(stop, _From, Rt) ->
    {stop, normal, {ok, Rt#rt.guard}, stop_tracing(Rt)};
request(Other, _From, Rt) ->
    {reply, {error, {unknown_request, Other}}, Rt}.

%% @private
handle_cast(_, Rt) ->
    {noreply, Rt}.

%% @private
handle_info(Message, #rt{control = Control} = Rt) ->
    Is = {Rt#rt.state, Rt#rt.status},
    case inviso_rt_control:handle(Message, Is, Control) of
        {ok, New} -> {noreply, Rt#rt{control = New}};
        {attached, New} -> {noreply, autostart(Rt#rt{control = New})};
        {over, New} -> {stop, {shutdown, running_alone}, Rt#rt{control = New}};
        other -> happened(Message, Rt)
    end.

happened({'EXIT', Pid, Reason}, #rt{auto = Pid} = Rt) ->
    {noreply, autostarted(Rt#rt{auto = inviso_rt_auto:ended(Pid, Reason)})};
happened({'GUARD_DOWN', _, process, _, _}, Rt) ->
    %% The guard has ended. Only a guard clears the settings that this process leaves
    %% in the VM when it is killed, so this process does not continue without a guard.
    {stop, {shutdown, no_guard}, Rt};
happened({'EXIT', Pid, Reason}, #rt{meta = Pid} = Rt) ->
    Rt1 = left(killed, Rt),
    {noreply, event({meta_down, {died, Reason}}, Rt1#rt{meta = none})};
happened({inviso_rt_meta, Pid, What}, Rt) ->
    {noreply, from_meta(Pid, What, Rt)};
happened({'DOWN', Ref, process, _, Reason}, #rt{keeper = Ref} = Rt) ->
    Why = case Reason of
              {shutdown, Said} -> Said;
              _ -> {tracer_died, Reason}
          end,
    {noreply, port_down(Why, Rt)};
happened({'DOWN', Ref, process, _, _}, #rt{readers = Readers} = Rt)
  when is_map_key(Ref, Readers) ->
    {noreply, Rt#rt{readers = maps:remove(Ref, Readers)}};
happened({timeout, Timer, load_check}, #rt{load_timer = Timer} = Rt) ->
    Rt1 = load_check(timeout, Rt#rt{load_timer = none}),
    Next = inviso_rt_overload:interval(Rt1#rt.overload),
    {noreply, load_check_in(Next, Rt1)};
happened({timeout, _, load_check}, Rt) ->
    {noreply, Rt};
happened({inviso_deliver, Event}, Rt) ->
    {noreply, event(Event, Rt)};
happened({watch, Output}, #rt{output = Output} = Rt) ->
    {noreply, watch(Rt)};
happened({watch, _}, Rt) ->
    {noreply, Rt};
happened({'EXIT', Pid, Reason}, Rt) ->
    {noreply, load_check({'EXIT', Pid, Reason}, Rt)};
happened(Message, #rt{tracing = T, asked = Asked} = Rt) ->
    Gone = inviso_tracing:is_gone(Message, T),
    case Gone orelse gen_server:check_response(Message, Asked, true) of
        true ->
            {noreply, port_down(trace_sessions_killed, Rt)};
        {{reply, Reply}, From, Rest} ->
            gen_server:reply(From, Reply),
            {noreply, Rt#rt{asked = Rest}};
        {{error, _}, From, Rest} ->
            gen_server:reply(From, {error, no_metatracer}),
            {noreply, Rt#rt{asked = Rest}};
        _ ->
            {noreply, unknown(Message, Rt)}
    end.

unknown(Message, #rt{state = tracing, status = running} = Rt) ->
    load_check({msg, Message}, Rt);
unknown(_, Rt) ->
    Rt.

%% @private
terminate(_Reason, Rt) ->
    Rt1 = stop_tracing(Rt),
    ok = end_fetches(Rt1),
    _ = failed(inviso_rt_overload:remove(Rt1#rt.overload), Rt1),
    ok.

%% --- autostart --------------------------------------------------------------

%% Starts the autostarter. The autostarter is a process that sends requests to this
%% runtime component when the node boots; these requests start tracing.
autostart(#rt{auto = {M, F, Args}} = Rt) ->
    Rt#rt{auto = spawn_link(M, F, Args)};
autostart(Rt) ->
    autostarted(Rt).

autostarted(#rt{auto = none, booting = Callers} = Rt) ->
    _ = [gen_server:reply(Caller, ok) || Caller <- Callers],
    Rt#rt{booting = []};
autostarted(Rt) ->
    Rt.

stop_auto(#rt{auto = Pid}) when is_pid(Pid) -> exit(Pid, kill);
stop_auto(_) -> true.

%% --- options and events -----------------------------------------------------

change_options(Options, #rt{overload = Old, control = Control} = Rt) ->
    Rt1 = Rt#rt{control = inviso_rt_control:change(Options, Control)},
    case lists:any(fun inviso_rt_overload:is_option/1, Options) of
        true ->
            Rt2 = failed(inviso_rt_overload:remove(Old), Rt1),
            {New, Failures} = overload(Options),
            load_check_in(0, failed(Failures, Rt2#rt{overload = New}));
        false ->
            Rt1
    end.

event(Event, #rt{control = Control} = Rt) ->
    ok = inviso_rt_control:tell(Event, Control),
    Rt.

changed(#rt{state = State, status = Status} = Rt) ->
    event({state_change, {State, Status}}, Rt).

failed(Failures, Rt) ->
    lists:foldl(fun(F, Acc) -> event({callback_failed, F}, Acc) end, Rt,
                Failures).

%% --- tracing on and off -----------------------------------------------------

init_tracing(_, #rt{status = {suspended, _}} = Rt) ->
    {{error, suspended}, Rt};
init_tracing(_, #rt{state = tracing} = Rt) ->
    {{error, already_initiated}, Rt};
init_tracing(TracerData, Rt) ->
    %% File names are relative to the working directory. If that directory was
    %% deleted, file:get_cwd/0 fails.
    case {inviso_tracerdata:parse(TracerData), file:get_cwd()} of
        {{ok, Plan}, {ok, Cwd}} ->
            case inviso_output:open(Plan) of
                {ok, Output} ->
                    Opened = Rt#rt{tracerdata = {some, TracerData, Cwd}},
                    begin_tracing(Plan, Output, Opened, Rt);
                {error, _} = E ->
                    {E, Rt}
            end;
        {{error, _} = E, _} ->
            {E, Rt};
        {_, {error, Reason}} ->
            {{error, {working_directory, Reason}}, Rt}
    end.

%% Starts tracing into an output. Returns an error if the VM has its maximum
%% number of trace sessions.
begin_tracing(Plan, Output, Opened, Rt) ->
    case inviso_tracing:open(inviso_output:tracer(Output), Rt#rt.tracing) of
        {ok, T} ->
            watch_later(Output),
            Traces = Opened#rt{state = tracing, output = Output, tracing = T,
                               keeper = inviso_output:monitor(Output)},
            {Reply, Rt1} = init_meta(Plan, Traces),
            {Reply, load_check_in(0, changed(Rt1))};
        {error, _} = E ->
            _ = inviso_output:close(Output),
            {E, Rt}
    end.

watch_later(Output) ->
    erlang:send_after(?WATCH_MS, self(), {watch, Output}).

%% Checks whether the output still takes events. This is necessary because no
%% message reports that a log can no longer be written.
watch(#rt{output = Output} = Rt) ->
    case inviso_output:check(Output) of
        {down, Reason} ->
            port_down(Reason, Rt);
        ok ->
            watch_later(Output),
            Rt
    end.

port_down(Reason, Rt) ->
    changed(stop_tracing(event({port_down, Reason}, Rt))).

init_meta(#{ti := {Destination, Spec}}, #rt{tracing = T} = Rt) ->
    Scope = inviso_tracing:scope(T),
    case inviso_rt_meta:start_link(absolute(Destination), Spec, Scope) of
        {ok, Meta} ->
            {{ok, opened(Rt) ++ [{ti_log, ok}]}, Rt#rt{meta = Meta}};
        {error, Reason} ->
            {{ok, opened(Rt) ++ [{ti_log, {error, Reason}}]}, Rt}
    end;
init_meta(_, Rt) ->
    {{ok, opened(Rt)}, Rt}.

opened(#rt{output = Output}) ->
    [{trace_log, ok} || inviso_output:takes_events(Output)].

absolute({file, Name}) -> {file, filename:absname(Name)};
absolute(Other) -> Other.

%% Ends tracing first, so that no more events come, and then completes the log.
stop_tracing(#rt{state = tracing, tracing = T, output = Output} = Rt) ->
    true = stop_auto(Rt),
    true = demonitor(Rt#rt.keeper, [flush]),
    Closed = inviso_tracing:close(T),
    Rt1 = stop_meta(refused(T, Rt#rt{tracing = Closed})),
    Rt2 = closed(inviso_output:close(Output), Rt1),
    Rt2#rt{state = idle, output = none, keeper = none};
stop_tracing(Rt) ->
    Rt.

refused(Before, #rt{tracing = T} = Rt) ->
    case {inviso_tracing:refusals(T), inviso_tracing:refusals(Before)} of
        {Same, Same} -> Rt;
        {[Reason | _], _} -> event({trace_session_not_closed, Reason}, Rt)
    end.

%% If events were delivered to a process, reports their counts to the control
%% component. For a log this is not necessary: the log contains its counts.
closed({ok, #{delivered := _} = Counts}, Rt) ->
    event({trace_counts, Counts}, Rt);
closed(_, Rt) ->
    Rt.

stop_meta(#rt{meta = none} = Rt) ->
    Rt;
stop_meta(#rt{meta = Meta} = Rt) ->
    #rt{tracing = T} = Rt1 = left(inviso_rt_meta:stop(Meta), Rt),
    Rt1#rt{meta = none, tracing = inviso_tracing:second(none, T)}.

%% Clears what the scope of a killed meta tracer has left in the VM.
left(ok, Rt) ->
    Rt;
left(killed, #rt{tracing = T} = Rt) ->
    Rt#rt{tracing = inviso_tracing:forget_second(T)}.

clear(Opts, Rt0) ->
    Rt = stop_tracing(Rt0),
    T = case lists:member(keep_trace_patterns, Opts) of
            true -> Rt#rt.tracing;
            false -> inviso_tracing:clear_patterns(Rt#rt.tracing)
        end,
    case {lists:member(keep_log_files, Opts), Rt#rt.tracerdata} of
        {false, {some, TD, Cwd}} -> inviso_tracerdata:remove(TD, Cwd);
        _ -> ok
    end,
    Rt#rt{state = new, tracerdata = none, tracing = T}.

%% --- suspension and overload ------------------------------------------------

suspend(_Reason, #rt{status = {suspended, _}} = Rt) ->
    Rt;
suspend(Reason, #rt{tracing = T} = Rt) ->
    true = stop_auto(Rt),
    ok = inviso_tracing:clear_flags(T),
    Rt1 = suspend_meta(Rt),
    ok = end_fetches(Rt1),
    changed(Rt1#rt{status = {suspended, Reason}}).

suspend_meta(#rt{meta = none} = Rt) ->
    Rt;
suspend_meta(#rt{meta = Meta} = Rt) ->
    left(inviso_rt_meta:suspend(Meta), Rt).

%% Schedules the next overload check, and cancels the one that is already
%% scheduled.
load_check_in(Ms, #rt{state = tracing, status = running, load_timer = Old,
                      overload = Overload} = Rt) when is_integer(Ms) ->
    _ = Old =:= none orelse erlang:cancel_timer(Old),
    Timer = case inviso_rt_overload:interval(Overload) of
                Interval when is_integer(Interval) ->
                    erlang:start_timer(Ms, self(), load_check);
                _ ->
                    none
            end,
    Rt#rt{load_timer = Timer};
load_check_in(_Ms, Rt) ->
    Rt.

load_check(timeout, #rt{state = State, status = Status} = Rt)
  when State =/= tracing; Status =/= running ->
    Rt;
load_check(Trigger, #rt{overload = Overload} = Rt) ->
    case inviso_rt_overload:check(Trigger, Overload) of
        {ok, Next} ->
            Rt#rt{overload = Next};
        {suspend, Reason, Next} ->
            suspend(Reason, Rt#rt{overload = Next});
        {failed, Failure, Next} ->
            failed([Failure], Rt#rt{overload = Next})
    end.

%% --- process flags ----------------------------------------------------------

flags(true, _, #rt{status = {suspended, _}}) ->
    {error, suspended};
flags(true, _, #rt{output = none}) ->
    {error, no_tracer};
flags(How, List, #rt{output = Output} = Rt) ->
    case How andalso not inviso_output:takes_events(Output) of
        true -> {error, no_tracer};
        false -> {ok, [flag(How, Arg, Rt) || Arg <- List]}
    end.

flag(How, {Spec, Flags}, #rt{tracing = T} = Rt) ->
    inviso_rt_procs:set(How, Spec, Flags, workers(Rt), T);
flag(_How, Other, _Rt) ->
    {error, {bad_process, Other}}.

workers(#rt{output = none}) ->
    [];
workers(#rt{output = Output, meta = Meta, overload = Overload}) ->
    [Meta | inviso_output:processes(Output)]
        ++ inviso_rt_overload:processes(Overload).

%% --- meta tracing -----------------------------------------------------------

%% Handles a message of the meta tracer. The meta tracer runs functions of the
%% user, which may send requests to this process and wait. So this process waits
%% for the meta tracer only to suspend or end it.
from_meta(Meta, {scope, Scope}, #rt{meta = Meta} = Rt) ->
    Rt#rt{tracing = inviso_tracing:second(Scope, Rt#rt.tracing)};
%% An event is reported even if its meta tracer has already ended.
from_meta(_, {event, Event}, Rt) ->
    event(Event, Rt);
from_meta(_, _, Rt) ->
    Rt.

%% --- logs -------------------------------------------------------------------

fetch(_Client, _Which, #rt{state = tracing} = Rt) ->
    {{error, tracing}, Rt};
fetch(Client, Which, #rt{readers = Readers} = Rt) ->
    case inviso_rt_logs:list(Which, Rt#rt.tracerdata) of
        {ok, no_log} ->
            {{ok, no_log}, Rt};
        {ok, Logs} ->
            Reader = inviso_fetch:start_reader(Client),
            Ref = monitor(process, Reader),
            {{ok, Reader, Logs}, Rt#rt{readers = Readers#{Ref => Reader}}};
        {error, _} = E ->
            {E, Rt}
    end.

end_fetches(#rt{readers = Readers}) ->
    _ = [exit(Reader, kill) || Reader <- maps:values(Readers)],
    ok.
