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
%% A plain registered process: it has no place in a supervision tree, because
%% the node it runs on need not know of it. When it ends, in whatever way, the
%% guard takes away what it leaves.
%%
%% State is `new' (no tracerdata), `tracing' or `idle' (was tracing; the
%% tracerdata says where the logs are). Patterns outlive a stop_tracing: they
%% are kept in a list here and set again when tracing begins, so that a node
%% that is not tracing carries no breakpoints.
%%
%% When the control component dies, tracing goes on for the time that the
%% option `dependency' says (default: one minute), in which a new control
%% component may adopt this one. Then it ends, and removes itself.
-module(inviso_rt).

-behaviour(gen_server).

-export([start/4, send_request/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([state/0, status/0]).

-type state() :: new | tracing | idle.
-type status() :: running | {suspended, term()}.
-type request() :: {adopt, pid(), term()}
                 | {init_tracing, term()}
                 | stop_tracing
                 | {patterns, global | local, [tuple()], set | clear}
                 | {flags, boolean(), [{term(), [atom()]}]}
                 | {meta, local_register | remove_local_register}
                 | {clear, [keep_trace_patterns | keep_log_files]}
                 | {list_logs, term()}
                 | {fetch, pid(), term()}
                 | flush | get_status | stop.

%% How long a traced node goes on without a control component. See
%% docs/decisions/0301.
-define(DEPENDENCY, 60000).

-define(FLAGS, [send, 'receive', call, return_to, procs, garbage_collection,
                running, set_on_spawn, set_on_first_spawn, set_on_link,
                set_on_first_link, timestamp, monotonic_timestamp,
                strict_monotonic_timestamp, scheduler_id, arity, silent,
                exiting, running_procs]).

-record(rt, {ctrl :: {pid(), reference()} | alone,
             timer = none :: reference() | none,
             dependency :: non_neg_integer() | infinity,
             tag :: term(),
             guard :: inviso_push:guard(),
             notes :: ets:tab(),
             state = new :: state(),
             status = running :: status(),
             %% and the directory that its names are relative to
             tracerdata = none :: none | {some, term(), file:filename()},
             tracer = none :: none | inviso_otp:tracer(),
             scope = none :: none | inviso_otp:scope(),
             meta = none :: none | pid(),
             meta_patterns = [] :: [inviso_otp:pattern()],
             %% in the order they were set
             patterns = [] :: [inviso_otp:pattern()]}).

%% @doc Starts the runtime component of this node, for a control component.
-spec start(pid(), [term()], term(), inviso_push:guard()) ->
          {ok, pid()} | {error, term()}.
start(Ctrl, Options, Tag, Guard) ->
    gen_server:start({local, ?MODULE}, ?MODULE, {Ctrl, Options, Tag, Guard},
                     []).

%% @doc Sends a request, whose reply `gen_server:receive_response/2' fetches:
%% so a control component asks many nodes at a time.
-spec send_request(pid(), request()) -> gen_server:request_id().
send_request(Pid, Request) ->
    gen_server:send_request(Pid, Request).

%% @private
init({Ctrl, Options, Tag, Guard}) ->
    process_flag(trap_exit, true),
    group_leader(whereis(init), self()),
    case inviso_push:join(Guard, self(), {rt, Ctrl}) of
        {ok, Notes, _Place} ->
            _ = monitor(process, Guard, [{tag, 'GUARD_DOWN'}]),
            {ok, #rt{ctrl = {Ctrl, monitor(process, Ctrl)},
                     dependency = dependency(Options),
                     tag = Tag,
                     guard = Guard,
                     notes = Notes}};
        {error, Class, Text} ->
            {stop, {Class, unicode:characters_to_list(Text)}}
    end.

%% As ever, values that are not understood are passed over.
dependency(Options) ->
    case [V || {dependency, D} <- Options, V <- [dependency_ms(D)],
               V =/= none] of
        [V | _] -> V;
        [] -> ?DEPENDENCY
    end.

dependency_ms({V, _Node}) -> dependency_ms(V);
dependency_ms(infinity) -> infinity;
dependency_ms(V) when is_integer(V), V >= 0 -> V;
dependency_ms(_) -> none.

%% @private
handle_call(Request, From, Rt) ->
    case improper(Request) of
        none -> request(Request, From, Rt);
        {bad, Term} -> {reply, {error, {badarg, Term}}, Rt}
    end.

%% Requests come as the user wrote them; below this, lists are lists.
improper({patterns, _, List, _}) -> improper_list(List);
improper({clear, Opts}) -> improper_list(Opts);
improper({flags, _, List}) ->
    case improper_list(List) of
        none -> first_bad([improper_list(Fs) || {_, Fs} <- List]);
        Bad -> Bad
    end;
improper(_) -> none.

improper_list(List) when length(List) >= 0 -> none;
improper_list(Other) -> {bad, Other}.

first_bad(Checks) ->
    case [C || {bad, _} = C <- Checks] of
        [] -> none;
        [Bad | _] -> Bad
    end.

request({adopt, Ctrl, Tag}, _From, #rt{ctrl = alone} = Rt) ->
    Reply = {ok, {adopted, Rt#rt.state, Rt#rt.status, Rt#rt.tag}},
    {reply, Reply, attach(Ctrl, Tag, Rt)};
request({adopt, _Ctrl, _Tag}, _From, Rt) ->
    {reply, {error, refused}, Rt};
request({init_tracing, TracerData}, _From, Rt) ->
    {Reply, Rt1} = init_tracing(TracerData, Rt),
    {reply, Reply, noted(Rt1)};
request(stop_tracing, _From, #rt{state = tracing} = Rt) ->
    {reply, {ok, idle}, noted(stop_tracing(Rt))};
request(stop_tracing, _From, #rt{state = S} = Rt) ->
    {reply, {ok, S}, Rt};
request({patterns, _, _, _}, _From, #rt{status = {suspended, _}} = Rt) ->
    {reply, {error, suspended}, Rt};
request({patterns, Kind, List, How}, _From, Rt) ->
    {Results, Rt1} = lists:mapfoldl(fun(P, Acc) -> pattern(Kind, How, P, Acc)
                                    end, Rt, List),
    {reply, {ok, lists:append(Results)}, noted(Rt1)};
request({flags, How, List}, _From, Rt) ->
    {reply, flags(How, List, Rt), Rt};
request({meta, Request}, _From, Rt) ->
    {Reply, Rt1} = meta(Request, Rt),
    {reply, Reply, noted(Rt1)};
request({clear, Opts}, _From, Rt) ->
    Rt1 = clear(Opts, Rt),
    {reply, {ok, {new, Rt1#rt.status}}, noted(Rt1)};
request({list_logs, Which}, _From, Rt) ->
    {reply, logs(Which, Rt), Rt};
request({fetch, Client, Which}, _From, Rt) ->
    {reply, fetch(Client, Which, Rt), Rt};
request(flush, _From, #rt{state = tracing, tracer = Tracer} = Rt) ->
    {reply, inviso_tracer:flush(Tracer), Rt};
request(flush, _From, #rt{state = S} = Rt) ->
    {reply, {error, {not_tracing, S}}, Rt};
request(get_status, _From, Rt) ->
    {reply, {ok, {Rt#rt.state, Rt#rt.status}}, Rt};
request(stop, _From, Rt) ->
    {stop, normal, {ok, Rt#rt.guard}, finish(Rt)};
request(Other, _From, Rt) ->
    {reply, {error, {unknown_request, Other}}, Rt}.

%% @private
handle_cast(_, Rt) ->
    {noreply, Rt}.

%% @private
handle_info({'DOWN', Ref, process, Ctrl, _}, #rt{ctrl = {Ctrl, Ref}} = Rt) ->
    alone(Rt#rt{ctrl = alone});
handle_info({timeout, Timer, running_alone}, #rt{timer = Timer} = Rt) ->
    {stop, {shutdown, running_alone}, Rt};
handle_info({'GUARD_DOWN', _, process, _, _}, Rt) ->
    %% Without a guard nobody would clean up after us.
    {stop, {shutdown, no_guard}, Rt};
handle_info({'EXIT', Pid, _}, #rt{meta = Pid} = Rt) ->
    {noreply, noted(Rt#rt{meta = none, meta_patterns = []})};
handle_info(_, Rt) ->
    {noreply, Rt}.

%% @private
terminate(_Reason, Rt) ->
    _ = finish(Rt),
    ok.

%% --- control ----------------------------------------------------------------

attach(Ctrl, Tag, #rt{timer = Timer} = Rt) ->
    _ = Timer =:= none orelse erlang:cancel_timer(Timer),
    Rt#rt{ctrl = {Ctrl, monitor(process, Ctrl)}, timer = none, tag = Tag}.

alone(#rt{dependency = infinity} = Rt) ->
    {noreply, Rt};
alone(#rt{dependency = 0} = Rt) ->
    {stop, {shutdown, running_alone}, Rt};
alone(#rt{dependency = Ms} = Rt) ->
    {noreply, Rt#rt{timer = erlang:start_timer(Ms, self(), running_alone)}}.

%% What the guard must clear, should this process be killed.
noted(#rt{notes = Notes} = Rt) ->
    #rt{scope = Scope, patterns = Ps, meta_patterns = Ms} = Rt,
    Residue = case Scope of
                  none -> inviso_otp:residue(none, []);
                  _ -> inviso_otp:residue(Scope, Ms ++ Ps)
              end,
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
    case inviso_tracerdata:parse(TracerData) of
        {ok, #{trace := {Name, Opts}} = Plan} ->
            Path = filename:absname(Name),
            case open_tracer(Path, Opts) of
                {ok, Tracer} ->
                    Rt1 = begin_tracing(Tracer, Rt),
                    {ok, Cwd} = file:get_cwd(),
                    Opened = {some, TracerData, Cwd},
                    init_meta(Plan, Rt1#rt{tracerdata = Opened});
                {error, Reason} ->
                    {{error, {open, [Path, Reason]}}, Rt}
            end;
        {error, _} = E ->
            {E, Rt}
    end.

open_tracer(Path, Opts) ->
    try
        inviso_tracer:open(Path, maps:merge(#{replace => true}, Opts))
    catch
        error:Reason -> {error, Reason}
    end.

begin_tracing(Tracer, #rt{patterns = Patterns} = Rt) ->
    Scope = inviso_otp:scope_open(inviso, Tracer),
    _ = [inviso_otp:set_pattern(Scope, Kind, MFA, MS, Patterns)
         || {Kind, MFA, MS} <- Patterns],
    Rt#rt{state = tracing, tracer = Tracer, scope = Scope}.

init_meta(#{ti := Name}, Rt) ->
    case inviso_rt_meta:start_link(filename:absname(Name)) of
        {ok, Meta} ->
            {{ok, [{trace_log, ok}, {ti_log, ok}]}, Rt#rt{meta = Meta}};
        {error, Reason} ->
            Why = case Reason of
                      {shutdown, R} -> R;
                      _ -> Reason
                  end,
            {{ok, [{trace_log, ok}, {ti_log, {error, Why}}]}, Rt}
    end;
init_meta(_, Rt) ->
    {{ok, [{trace_log, ok}]}, Rt}.

%% First no more events, then what there is into the log.
stop_tracing(#rt{state = tracing, scope = Scope, tracer = Tracer} = Rt) ->
    ok = inviso_otp:scope_close(Scope, Rt#rt.patterns),
    _ = stop_meta(Rt#rt.meta),
    _ = close_tracer(Tracer),
    Rt#rt{state = idle, scope = none, tracer = none, meta = none,
          meta_patterns = []};
stop_tracing(Rt) ->
    Rt.

close_tracer(Tracer) ->
    try
        inviso_tracer:close(Tracer)
    catch
        Class:Reason -> {error, {Class, Reason}}
    end.

stop_meta(none) ->
    ok;
stop_meta(Meta) ->
    try
        inviso_rt_meta:stop(Meta)
    catch
        exit:_ -> ok
    end.

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

%% --- patterns ---------------------------------------------------------------

pattern(Kind, set, {M, F, A, MS}, Rt) ->
    pattern(Kind, set, {M, F, A, MS, []}, Rt);
pattern(Kind, set, {M, F, A, MS, Opts}, Rt) when length(Opts) >= 0 ->
    one_pattern(Kind, {M, F, A, MS}, Opts, Rt);
pattern(Kind, clear, {M, F, A}, Rt) ->
    one_pattern(Kind, {M, F, A, false}, [only_loaded], Rt);
pattern(_Kind, _How, Other, Rt) ->
    {[{error, {bad_trace_args, Other}}], Rt}.

one_pattern(Kind, {M, F, A, MS} = Arg, Opts, Rt)
  when is_atom(M), is_atom(F),
       (is_integer(A) andalso A >= 0 orelse A =:= '_') ->
    MFA = {M, F, A},
    case available(M, Opts) andalso set_pattern(Kind, MFA, MS, Rt) of
        false ->
            {[0], Rt};
        {ok, N} ->
            {[N], Rt#rt{patterns = remember(Kind, MFA, MS, Rt#rt.patterns)}};
        {error, Reason} ->
            {[{error, {bad_trace_args, [Arg, Reason]}}], Rt}
    end;
one_pattern(_Kind, Arg, _Opts, Rt) ->
    {[{error, {bad_trace_args, Arg}}], Rt}.

available('_', _) ->
    true;
available(M, Opts) ->
    lists:member(no_loadcheck, Opts)
        orelse erlang:module_loaded(M)
        orelse (not lists:member(only_loaded, Opts)
                andalso code:ensure_loaded(M) =:= {module, M}).

set_pattern(Kind, MFA, MS, #rt{scope = none}) ->
    inviso_otp:count_pattern(Kind, MFA, MS);
set_pattern(Kind, MFA, MS, #rt{scope = Scope, patterns = Ours}) ->
    inviso_otp:set_pattern(Scope, Kind, MFA, MS, Ours).

%% What is wholly covered by a new pattern is forgotten; what partly is must be
%% set again in the same order.
remember(Kind, MFA, MS, Patterns) ->
    Rest = [P || {K, Old, _} = P <- Patterns,
                 not (covers(MFA, Old)
                      andalso (MS =/= false orelse K =:= Kind))],
    case MS =:= false andalso not lists:any(fun({_, Old, _}) ->
                                                    overlap(MFA, Old)
                                            end, Rest) of
        true -> Rest;
        false -> Rest ++ [{Kind, MFA, MS}]
    end.

covers({M, F, A}, {M1, F1, A1}) ->
    (M =:= '_' orelse M =:= M1) andalso (F =:= '_' orelse F =:= F1)
        andalso (A =:= '_' orelse A =:= A1).

overlap({M, F, A}, {M1, F1, A1}) ->
    alike(M, M1) andalso alike(F, F1) andalso alike(A, A1).

alike('_', _) -> true;
alike(_, '_') -> true;
alike(X, Y) -> X =:= Y.

%% --- process flags ----------------------------------------------------------

flags(true, _, #rt{status = {suspended, _}}) ->
    {error, suspended};
flags(true, _, #rt{scope = none}) ->
    {error, no_tracer};
flags(How, List, Rt) ->
    {ok, [flag(How, Arg, Rt) || Arg <- List]}.

flag(How, {Spec, Flags}, Rt) ->
    case [F || F <- Flags, not lists:member(F, ?FLAGS)] of
        [] ->
            case procs(Spec) of
                {ok, Procs} -> set_flags(How, Procs, Flags, Rt);
                none -> 0;
                {error, _} = E -> E
            end;
        [Bad | _] ->
            {error, {bad_flag, Bad}}
    end;
flag(_How, Other, _Rt) ->
    {error, {bad_process, Other}}.

set_flags(_How, _Procs, _Flags, #rt{scope = none}) ->
    0;
set_flags(How, Procs, Flags, #rt{scope = Scope} = Rt) ->
    {inviso_tracer, Handle} = Rt#rt.tracer,
    Own = [P || P <- [self(), Rt#rt.meta, inviso_tracer:nif_keeper(Handle)
                      | inviso_push:own()],
                is_pid(P)],
    case inviso_otp:set_flags(Scope, How, Procs, Flags, Own) of
        {ok, N} -> N;
        {error, _} = E -> E
    end.

procs(Spec) when Spec =:= all; Spec =:= new; Spec =:= existing ->
    {ok, Spec};
procs(Pid) when is_pid(Pid) ->
    {ok, Pid};
procs(Name) when is_atom(Name) ->
    named(whereis(Name), Name);
procs({local, Name}) when is_atom(Name) ->
    named(whereis(Name), {local, Name});
procs({global, Name}) when is_atom(Name) ->
    named(global:whereis_name(Name), {global, Name});
procs(Other) ->
    {error, {bad_process, [{faulty, Other}, Other]}}.

named(Pid, _) when is_pid(Pid) -> {ok, Pid};
named(Port, _) when is_port(Port) -> none;
named(undefined, Spec) ->
    Name = case Spec of
               {_, N} -> N;
               N -> N
           end,
    {error, {bad_process, [{nonexistent_name, Name}, Spec]}}.

%% --- meta tracing -----------------------------------------------------------

meta(_, #rt{status = {suspended, _}} = Rt) ->
    {{error, suspended}, Rt};
meta(_, #rt{meta = none} = Rt) ->
    {{error, no_metatracer}, Rt};
meta(Request, #rt{meta = Meta} = Rt) ->
    try
        Reply = case Request of
                    local_register ->
                        inviso_rt_meta:local_register(Meta);
                    remove_local_register ->
                        inviso_rt_meta:remove_local_register(Meta)
                end,
        {Reply, Rt#rt{meta_patterns = inviso_rt_meta:patterns(Meta)}}
    catch
        exit:_ -> {{error, no_metatracer}, Rt}
    end.

%% --- logs -------------------------------------------------------------------

logs(current, #rt{tracerdata = none}) ->
    {error, no_tracerdata};
logs(current, #rt{tracerdata = {some, TracerData, Cwd}}) ->
    logs_of(TracerData, Cwd);
logs({tracerdata, []}, _Rt) ->
    {ok, no_log};
logs({tracerdata, TracerData}, _Rt) ->
    logs_of(TracerData, current);
logs({files, Logs}, _Rt) ->
    {ok, Logs}.

logs_of(TracerData, Cwd) ->
    case inviso_tracerdata:logs(TracerData, Cwd) of
        {ok, _} = Ok -> Ok;
        {error, _} -> {error, badarg}
    end.

fetch(_Client, _Which, #rt{state = tracing}) ->
    {error, tracing};
fetch(Client, Which, Rt) ->
    case logs(Which, Rt) of
        {ok, no_log} -> {ok, no_log};
        {ok, Logs} -> {ok, inviso_fetch:start_reader(Client), Logs};
        {error, _} = E -> E
    end.
