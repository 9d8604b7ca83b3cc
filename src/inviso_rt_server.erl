%% SPDX-License-Identifier: Apache-2.0
%% @doc The runtime component: one on each node that is traced.
%%
%% ```
%%  inviso_c ..monitors.. inviso_rt ----owns---> tracer (NIF, spooler)
%%  (control)                |  '------holds---> trace session (OTP 27+)
%%                           |--links--> inviso_rt_meta   while tracing with ti
%%                           '..watched by.. guard (inviso_guard)
%% '''
%%
%% A plain process, registered as `inviso_rt'. It has no place in a supervision
%% tree, because the node it runs on need not know of it. When it ends, in
%% whatever way, the guard takes away what it leaves.
%%
%% State is `new' (no tracerdata), `tracing' or `idle' (was tracing; the
%% tracerdata says where the logs are). Patterns outlive a stop_tracing: they
%% are kept in a list here and set again when tracing begins, so that a node
%% that is not tracing carries no breakpoints.
%%
%% Status is `running' or `{suspended, Reason}'. Suspending takes off all flags
%% and all meta patterns, and ends what is being fetched; patterns and logs
%% stay. Nothing can then be begun until somebody cancels the suspension.
%%
%% When the control component ({@link inviso_rt_control}) dies, tracing goes on
%% for the time that the option `dependency' says (default: one minute), in
%% which a new control component may adopt this one. Then it ends, and removes
%% itself.
%%
%% What can be asked of it is in {@link inviso_rt_request}.
-module(inviso_rt_server).

-behaviour(gen_server).

-export([start/4, start_link_auto/1]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2,
         terminate/2]).

-export_type([state/0, status/0]).

-type state() :: new | tracing | idle.
-type status() :: running | {suspended, term()}.

-define(NAME, inviso_rt).

%% How long a traced node goes on without a control component. See
%% docs/decisions/0301.
-define(DEPENDENCY, 60000).

%% How often it is seen to that what is recorded reaches the log.
-define(WATCH_MS, 1000).

%% What a runtime component that starts with the node may take to be there.
-define(AUTO_MS, 10000).

-record(rt, {control :: inviso_rt_control:control(),
             %% what starts with the node: to be called, or at work; and who
             %% waits for it
             auto = none :: none | {module(), atom(), [term()]} | pid(),
             booting = [] :: [gen_server:from()],
             guard :: inviso_push:guard(),
             notes :: ets:tab(),
             state = new :: state(),
             status = running :: status(),
             %% and the directory that its names are relative to
             tracerdata = none :: inviso_rt_logs:current(),
             output = none :: none | inviso_output:output(),
             %% its monitor
             keeper = none :: none | reference(),
             overload :: inviso_rt_overload:overload(),
             load_timer = none :: none | reference(),
             %% processes that read logs for others, and their monitors
             readers = #{} :: #{reference() => pid()},
             scope = none :: none | inviso_otp:scope(),
             meta = none :: none | pid(),
             %% what the meta tracer was asked, and for whom
             asked = gen_server:reqids_new()
                 :: gen_server:request_id_collection(),
             %% its own
             meta_scope = none :: none | inviso_otp:scope(),
             %% in the order they were set
             patterns = [] :: [inviso_otp:pattern()]}).

%% @doc Starts the runtime component of this node, for a control component.
-spec start(pid(), [term()], term(), inviso_push:guard()) ->
          {ok, pid()} | {error, term()}.
start(Ctrl, Options, Tag, Guard) ->
    gen_server:start({local, ?NAME}, ?MODULE, {Ctrl, Options, Tag, Guard},
                     []).

%% @doc Starts it with the node, linked, if the configuration says so: see {@link
%% inviso_rt_auto}. `Arg' is that of the application's start.
-spec start_link_auto(term()) -> {ok, pid()} | ignore.
start_link_auto(Arg) ->
    case inviso_rt_auto:plan(Arg) of
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
                     notes = Notes},
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
%% What may go on without a control component does not wait until one is found.
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
    {reply, ok, noted(suspend(Reason, Rt))};
request(cancel_suspension, _From, Rt) ->
    Rt1 = changed(Rt#rt{status = running}),
    {reply, ok, load_check_in(0, Rt1)};
request({init_tracing, TracerData}, _From, Rt) ->
    {Reply, Rt1} = init_tracing(TracerData, Rt),
    {reply, Reply, noted(Rt1)};
request(stop_tracing, _From, #rt{state = tracing} = Rt) ->
    {reply, {ok, idle}, noted(changed(stop_tracing(Rt)))};
request(stop_tracing, _From, #rt{state = S} = Rt) ->
    {reply, {ok, S}, Rt};
request({patterns, _, _, _}, _From, #rt{status = {suspended, _}} = Rt) ->
    {reply, {error, suspended}, Rt};
request({patterns, Kind, List, How}, _From, #rt{scope = Scope} = Rt) ->
    {Results, Ps} =
        lists:mapfoldl(fun(P, Acc) ->
                               inviso_rt_patterns:request(Kind, How, P, Scope,
                                                          Acc)
                       end, Rt#rt.patterns, List),
    {reply, {ok, lists:append(Results)}, noted(Rt#rt{patterns = Ps})};
request({counters, _}, _From, #rt{scope = none, state = S} = Rt) ->
    {reply, {error, {not_tracing, S}}, Rt};
request({counters, Max}, _From, #rt{scope = Scope, patterns = Ps} = Rt) ->
    {reply, {ok, inviso_rt_counters:read(Max, Scope, Ps)}, Rt};
request(clear_patterns, _From, #rt{scope = Scope, patterns = Ps} = Rt) ->
    ok = inviso_rt_patterns:clear_all(Scope, Ps),
    {reply, ok, noted(Rt#rt{patterns = []})};
request({flags, How, List}, _From, Rt) ->
    {reply, flags(How, List, Rt), Rt};
request(clear_flags, _From, #rt{scope = Scope} = Rt) ->
    ok = clear_flags(Scope),
    {reply, ok, Rt};
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
    {reply, {ok, {new, Rt2#rt.status}}, noted(Rt2)};
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
request(state, _From, #rt{tracerdata = Known, patterns = Ps} = Rt) ->
    Facts = inviso_rt_control:facts(Rt#rt.control),
    {reply, {ok, Facts#{state => Rt#rt.state, status => Rt#rt.status,
                        tracerdata => case Known of
                                          {some, TD, _} -> TD;
                                          none -> no_tracerdata
                                      end,
                        patterns => length(Ps), meta_tracer => Rt#rt.meta,
                        readers => maps:values(Rt#rt.readers)}}, Rt};
request(get_tracerdata, _From, #rt{tracerdata = {some, TD, _}} = Rt) ->
    {reply, {ok, TD}, Rt};
request(get_tracerdata, _From, Rt) ->
    {reply, {ok, no_tracerdata}, Rt};
request(stop, _From, Rt) ->
    {stop, normal, {ok, Rt#rt.guard}, finish(Rt)};
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
    %% Without a guard nobody would clean up after us.
    {stop, {shutdown, no_guard}, Rt};
happened({'EXIT', Pid, Reason}, #rt{meta = Pid} = Rt) ->
    ok = left(killed, Rt),
    Rt1 = noted(Rt#rt{meta = none, meta_scope = none}),
    {noreply, event({meta_down, {died, Reason}}, Rt1)};
happened({inviso_rt_meta, Pid, What}, Rt) ->
    {noreply, from_meta(Pid, What, Rt)};
happened({'DOWN', Ref, process, _, Reason}, #rt{keeper = Ref} = Rt) ->
    Why = case Reason of
              {shutdown, Said} -> Said;
              _ -> {tracer_died, Reason}
          end,
    {noreply, noted(port_down(Why, Rt))};
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
    {noreply, noted(watch(Rt))};
happened({watch, _}, Rt) ->
    {noreply, Rt};
happened({'EXIT', Pid, Reason}, Rt) ->
    {noreply, load_check({'EXIT', Pid, Reason}, Rt)};
happened(Message, #rt{asked = Asked} = Rt) ->
    case gen_server:check_response(Message, Asked, true) of
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
    Rt1 = finish(Rt),
    ok = end_fetches(Rt1),
    _ = failed(inviso_rt_overload:remove(Rt1#rt.overload), Rt1),
    ok.

%% --- autostart --------------------------------------------------------------

%% Calls what says what to trace from the start of the node on.
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

%% What the guard must clear if this process is killed. Then the meta tracer
%% ends too, but a function of the user's may keep it from that.
noted(#rt{notes = Notes, scope = Scope, meta_scope = Meta} = Rt) ->
    Residue = inviso_otp:residue([{Scope, Rt#rt.patterns}, {Meta, []}]),
    ok = inviso_push:note(Notes, Residue),
    Rt.

finish(Rt) ->
    noted((stop_tracing(Rt))#rt{patterns = []}).

%% --- tracing on and off -----------------------------------------------------

init_tracing(_, #rt{status = {suspended, _}} = Rt) ->
    {{error, suspended}, Rt};
init_tracing(_, #rt{state = tracing} = Rt) ->
    {{error, already_initiated}, Rt};
init_tracing(TracerData, Rt) ->
    %% Names are relative to it; it may have been deleted.
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

%% There may be as many trace sessions as there can be.
begin_tracing(Plan, Output, Opened, Rt) ->
    try inviso_otp:scope_open(inviso, inviso_output:tracer(Output)) of
        Scope ->
            Noted = noted(Opened#rt{scope = Scope}),
            {Reply, Rt1} = init_meta(Plan, traces(Scope, Output, Noted)),
            {Reply, load_check_in(0, changed(Rt1))}
    catch
        error:Reason ->
            _ = inviso_output:close(Output),
            {{error, Reason}, Rt}
    end.

traces(Scope, Output, #rt{patterns = Patterns} = Rt) ->
    ok = inviso_rt_patterns:set_all(Scope, Patterns),
    _ = erlang:send_after(?WATCH_MS, self(), {watch, Output}),
    Keeper = inviso_output:monitor(Output),
    Rt#rt{state = tracing, output = Output, scope = Scope, keeper = Keeper}.

%% A log does not say by itself that it can be written no more.
watch(#rt{output = Output, scope = Scope} = Rt) ->
    case {inviso_output:check(Output), inviso_otp:scope_is_gone(Scope)} of
        {{down, Reason}, _} ->
            port_down(Reason, Rt);
        {ok, true} ->
            port_down(trace_sessions_killed, Rt);
        {ok, false} ->
            _ = erlang:send_after(?WATCH_MS, self(), {watch, Output}),
            Rt
    end.

port_down(Reason, Rt) ->
    changed(stop_tracing(event({port_down, Reason}, Rt))).

init_meta(#{ti := {Destination, Spec}}, #rt{scope = Scope} = Rt) ->
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

%% First no more events, then what there is into the log.
stop_tracing(#rt{state = tracing, scope = Scope, output = Output} = Rt) ->
    true = stop_auto(Rt),
    true = demonitor(Rt#rt.keeper, [flush]),
    ok = inviso_otp:scope_close(Scope, Rt#rt.patterns),
    ok = stop_meta(Rt),
    Rt1 = closed(inviso_output:close(Output), Rt),
    Rt1#rt{state = idle, scope = none, output = none, meta = none,
           meta_scope = none, keeper = none};
stop_tracing(Rt) ->
    Rt.

%% A log says by itself what is not in it.
closed({ok, #{delivered := _} = Counts}, Rt) ->
    event({trace_counts, Counts}, Rt);
closed(_, Rt) ->
    Rt.

stop_meta(#rt{meta = none}) -> ok;
stop_meta(#rt{meta = Meta} = Rt) -> left(inviso_rt_meta:stop(Meta), Rt).

%% One that was killed leaves its scope.
left(ok, _) ->
    ok;
left(killed, #rt{meta_scope = Scope}) ->
    inviso_otp:forget(inviso_otp:residue([{Scope, []}])).

clear(Opts, Rt0) ->
    Rt = stop_tracing(Rt0),
    Patterns = case lists:member(keep_trace_patterns, Opts) of
                   true ->
                       Rt#rt.patterns;
                   false ->
                       []
               end,
    case {lists:member(keep_log_files, Opts), Rt#rt.tracerdata} of
        {false, {some, TD, Cwd}} -> inviso_tracerdata:remove(TD, Cwd);
        _ -> ok
    end,
    Rt#rt{state = new, tracerdata = none, patterns = Patterns}.

%% --- suspension and overload ------------------------------------------------

suspend(_Reason, #rt{status = {suspended, _}} = Rt) ->
    Rt;
suspend(Reason, #rt{scope = Scope} = Rt) ->
    true = stop_auto(Rt),
    ok = clear_flags(Scope),
    Rt1 = suspend_meta(Rt),
    ok = end_fetches(Rt1),
    changed(Rt1#rt{status = {suspended, Reason}}).

clear_flags(none) -> ok;
clear_flags(Scope) -> inviso_otp:clear_flags(Scope).

suspend_meta(#rt{meta = none} = Rt) ->
    Rt;
suspend_meta(#rt{meta = Meta} = Rt) ->
    ok = left(inviso_rt_meta:suspend(Meta), Rt),
    Rt.

%% Only one check at a time is due.
load_check_in(Ms, #rt{state = tracing, status = running,
                      load_timer = none} = Rt) when is_integer(Ms) ->
    case inviso_rt_overload:interval(Rt#rt.overload) of
        Interval when is_integer(Interval) ->
            Timer = erlang:start_timer(Ms, self(), load_check),
            Rt#rt{load_timer = Timer};
        _ ->
            Rt
    end;
load_check_in(Ms, #rt{load_timer = Timer} = Rt)
  when is_integer(Ms), Timer =/= none ->
    _ = erlang:cancel_timer(Timer),
    load_check_in(Ms, Rt#rt{load_timer = none});
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
            noted(suspend(Reason, Rt#rt{overload = Next}));
        {failed, Failure, Next} ->
            failed([Failure], Rt#rt{overload = Next})
    end.

%% --- process flags ----------------------------------------------------------

flags(true, _, #rt{status = {suspended, _}}) ->
    {error, suspended};
flags(true, _, #rt{scope = none}) ->
    {error, no_tracer};
flags(How, List, #rt{output = Output} = Rt) ->
    case How andalso not inviso_output:takes_events(Output) of
        true -> {error, no_tracer};
        false -> {ok, [flag(How, Arg, Rt) || Arg <- List]}
    end.

flag(How, {Spec, Flags}, #rt{scope = Scope} = Rt) ->
    inviso_rt_procs:set(How, Scope, own(Rt), Spec, Flags);
flag(_How, Other, _Rt) ->
    {error, {bad_process, Other}}.

own(#rt{output = none}) ->
    [];
own(#rt{output = Output, meta = Meta, overload = Overload}) ->
    [P || P <- [self(), Meta
                | inviso_output:processes(Output) ++ inviso_push:own()
                      ++ inviso_rt_overload:processes(Overload)],
          is_pid(P)].

%% --- meta tracing -----------------------------------------------------------

%% A function that the meta tracer runs may ask this process for something, so
%% this process never waits for it but to end it.
from_meta(Meta, {scope, Scope}, #rt{meta = Meta} = Rt) ->
    noted(Rt#rt{meta_scope = Scope});
%% Also the last words of one that was told to end.
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
