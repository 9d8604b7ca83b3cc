%% SPDX-License-Identifier: Apache-2.0
%% @doc Everything that differs between the OTP releases we run on.
%%
%% Chosen by capability, at run time: the same beams run on OTP 25 to 29.
%%
%% A <em>scope</em> is the part of the VM's tracing that is ours: a trace
%% session, of the VM (module `trace', OTP 27) or, where it has none, of our
%% engine ({@link inviso_trace}). For what the engine can not do yet
%% ({@link way/1}), it is there the VM's one set of flags and patterns, of which
%% this module touches only what is ours: it looks at the tracer of a process
%% before it changes its flags, and refuses a pattern on a function that
%% somebody else traces.
%%
%% The process that opened a scope holds it. The VM destroys a session only when
%% the last process that refers to it is gone, and that may be any process with a
%% copy of the holder's state. So the holder leaves a note with the guard ({@link
%% residue/1}), which closes the scope when the holder is dead.
%%
%% The table of combinations that crash or mislead a VM is {@link
%% known_defects/0}.
-module(inviso_otp).

-export([has_sessions/0,
         has_stack/0,
         way/1,
         scope_open/2,
         scope_open/3,
         scope_watch/1,
         scope_is_gone/1,
         scope_close/2,
         set_flags/4,
         set_flags/5,
         set_flags_each/4,
         set_port_flags/4,
         clear_flags/1,
         set_pattern/5,
         set_meta/5,
         tracer/1,
         count_pattern/3,
         patterns_close/2,
         pattern_state/2,
         has_counter/1,
         counter/3,
         functions/1,
         residue/1,
         forget/1,
         engine/0,
         engine_gone/0,
         infrastructure/0,
         system_processes/0,
         gc_elsewhere/2,
         foreign_pattern/3,
         in_session/1,
         foreign_event/2,
         shared_bif/1,
         foreign_tracer/2,
         foreign_sessions/0,
         session_name/1,
         traced_by/2,
         known_defects/0,
         affected/1]).

-export_type([scope/0, way/0, need/0, tracer/0, kind/0, counter/0, procs/0, pattern/0,
              residue/0]).

-type tracer() :: pid() | {module(), term()}.
-opaque scope() :: {session, term(), tracer()} | {legacy, tracer()}.
-type way() :: shared | alone.
%% Of tracing: beside others, or only where nobody else does.
-type need() :: {flag | port_flag, atom()} | {pattern, pattern()}.
-type kind() :: global | local | meta | counter().
-type counter() :: call_count | call_time | call_memory.
-type procs() :: all | new | existing | pid().
%% The last two are of counters that are set: from zero again, and held.
-type match_spec() :: boolean() | list() | restart | pause.
%% Of messages, which have one match spec for all, where a function would be:
%% `send' or `'receive''.
-type pattern() :: {kind(), mfa_spec(), match_spec()}
                 | {event, send | 'receive', match_spec()}.
-opaque residue() :: [{session, term()} | {scope(), [pattern()]}].
%% Of a session the handle that does not keep it alive.
-type mfa_spec() :: {module() | '_', atom(), arity() | '_'}.

%% @doc Whether this VM has trace sessions. Asked for every process and function
%% there is: the module behind `trace' is a part of the VM.
-spec has_sessions() -> boolean().
has_sessions() ->
    erlang:function_exported(erts_internal, trace_session_create, 3).

%% @doc Whether a match spec can ask for so much of the stack as fits. Older
%% VMs know `process_dump' only, which is as large as the stack is.
-spec has_stack() -> boolean().
has_stack() ->
    Ms = [{'_', [], [{message, {current_stacktrace}}]}],
    case erlang:match_spec_test([], Ms, trace) of
        {ok, _, _, _} -> true;
        {error, _} -> false
    end.

%% @doc How one can trace who needs all of this.
-spec way([need()]) -> way().
way(Needs) ->
    case has_sessions() orelse not lists:any(fun is_lacking/1, Needs) of
        true -> shared;
        false -> alone
    end.

%% What our engine can not do.
is_lacking({port_flag, Flag}) -> is_lacking({flag, Flag});
is_lacking({flag, Flag}) ->
    element(1, inviso_engine_flags:parse([Flag], true)) =:= error;
is_lacking({pattern, {event, Event, MS}}) ->
    inviso_engine_spec:check(MS, Event) =/= ok;
is_lacking({pattern, {_, _, MS}}) ->
    inviso_engine_spec:check(MS, function) =/= ok.

%% @doc Opens a scope. The module of a tracer module must be loaded.
-spec scope_open(atom(), tracer()) -> scope().
scope_open(Name, Tracer) ->
    scope_open(shared, Name, Tracer).

%% @doc The same, for what needs one of the two.
-spec scope_open(way(), atom(), tracer()) -> scope().
scope_open(shared, Name, Tracer) ->
    {session, (sessions()):session_create(Name, Tracer, []), Tracer};
scope_open(alone, _Name, Tracer) ->
    {legacy, Tracer}.

%% The module with OTP's API for sessions.
sessions() ->
    case has_sessions() of
        true -> trace;
        false -> inviso_trace
    end.

%% @doc Closes a scope: no flag of it and none of `Patterns', which are all that
%% were set in it, is set afterwards.
-spec scope_close(scope(), [pattern()]) -> ok.
scope_close({session, Session, _}, _Patterns) ->
    _ = (sessions()):session_destroy(Session) orelse abandoned(),
    ok;
scope_close({legacy, _} = Scope, Patterns) ->
    clear_flags(Scope),
    forget_patterns(Patterns).

%% An engine that was killed has left patterns, which the next takes away.
abandoned() ->
    has_sessions() orelse
        guarded(fun() ->
                        inviso_trace:session_destroy(
                          inviso_trace:session_create(inviso_count, self(), []))
                end).

%% @doc The caller gets a `DOWN' of this when the scope is gone because the
%% engine was killed; `none' where that cannot be.
-spec scope_watch(scope()) -> reference() | none.
scope_watch({session, _, _}) ->
    case has_sessions() of
        true -> none;
        false -> monitor(process, inviso_engine_server)
    end;
scope_watch({legacy, _}) ->
    none.

%% @doc The same for who looks now and then.
-spec scope_is_gone(scope()) -> boolean().
scope_is_gone({session, S, _}) ->
    not has_sessions() andalso
        element(1, guarded(fun() -> inviso_trace:info(S, new, flags) end))
            =:= error;
scope_is_gone({legacy, _}) ->
    false.

%% @doc Sets or clears flags of processes. `Own' are processes never to be
%% traced: our own. The count is that of the processes reached.
-spec set_flags(scope(), boolean(), procs(), [atom()], [pid()]) ->
          {ok, non_neg_integer()} | {error, term()}.
set_flags({session, S, _} = Scope, true, Procs, Flags, Own) ->
    case gc_elsewhere(S, Procs, Flags) of
        false -> do_flags(Scope, true, Procs, Flags, Own);
        {true, P} -> {error, {gc_traced_in_another_session, P}}
    end;
set_flags(Scope, How, Procs, Flags, Own) ->
    do_flags(Scope, How, Procs, Flags, Own).

%% @doc Sets flags of a process, or of those to come, when {@link
%% gc_elsewhere/2} has been asked about all of them at once.
-spec set_flags(scope(), new | pid(), [atom()], [pid()]) ->
          {ok, non_neg_integer()} | {error, term()}.
set_flags({session, {_, Weak}, _} = Scope, Who, Flags, Own) ->
    Gc = has_gc(Flags) andalso affected(gc_two_sessions)
        andalso gc_of_others(Weak, Who) =/= [],
    case Gc of
        false -> do_flags(Scope, true, Who, Flags, Own);
        true -> {error, {gc_traced_in_another_session, Who}}
    end;
set_flags(Scope, Who, Flags, Own) ->
    do_flags(Scope, true, Who, Flags, Own).

%% @doc The same for each of some processes; what is gone, or traced by others
%% where the VM has no sessions, is left out. Our engine is asked once.
-spec set_flags_each(scope(), [pid()], [atom()], [pid()]) ->
          ok | {error, term()}.
set_flags_each({session, S, _} = Scope, Pids, Flags, Own) ->
    case has_sessions() of
        true ->
            set_each(Scope, Pids, Flags, Own);
        false ->
            Mine = [P || P <- Pids, is_local(P), not lists:member(P, Own)],
            case guarded(fun() -> inviso_trace:processes(S, Mine, Flags)
                         end) of
                {ok, _} -> ok;
                {error, _} = E -> E
            end
    end;
set_flags_each(Scope, Pids, Flags, Own) ->
    set_each(Scope, Pids, Flags, Own).

set_each(_, [], _, _) ->
    ok;
set_each(Scope, [Pid | Pids], Flags, Own) ->
    case set_flags(Scope, Pid, Flags, Own) of
        {ok, _} -> set_each(Scope, Pids, Flags, Own);
        {error, _} = E -> E
    end.

do_flags({session, S, _}, How, Pid, Flags, Own) when is_pid(Pid) ->
    case is_local(Pid) andalso not lists:member(Pid, Own) of
        true -> {ok, session_process(S, Pid, How, Flags)};
        false -> {ok, 0}
    end;
do_flags({session, S, _}, How, Procs, Flags, Own) ->
    N = (sessions()):process(S, Procs, How, Flags),
    case Procs of
        new ->
            {ok, N};
        _ ->
            Mine = [session_process(S, P, false, Flags)
                    || P <- Own, is_process_alive(P)],
            {ok, N - lists:sum(Mine)}
    end;
do_flags({legacy, _} = Scope, How, Pid, Flags, Own) when is_pid(Pid) ->
    case is_local(Pid) andalso not lists:member(Pid, Own) of
        true -> {ok, legacy_process(Scope, Pid, How, Flags)};
        false -> {ok, 0}
    end;
do_flags({legacy, _} = Scope, How, new, Flags, _Own) ->
    legacy_new(Scope, How, Flags);
do_flags(Scope, How, existing, Flags, Own) ->
    {ok, lists:sum([legacy_process(Scope, P, How, Flags)
                    || P <- processes() -- Own])};
do_flags(Scope, How, all, Flags, Own) ->
    %% Not erlang:trace(all, ..): see `trace_all' in the table. New processes
    %% first, or those that are born during the walk would be missed.
    case legacy_new(Scope, How, Flags) of
        {ok, _} -> do_flags(Scope, How, existing, Flags, Own);
        {error, _} = E -> E
    end.

session_process(S, Pid, How, Flags) ->
    try
        (sessions()):process(S, Pid, How, Flags)
    catch
        error:badarg -> 0;
        %% By others, where the VM has no sessions.
        error:{already_traced, _, _} -> 0
    end.

legacy_process({legacy, Tracer}, Pid, How, Flags) ->
    case {erlang:trace_info(Pid, tracer), How} of
        {{tracer, []}, true} ->
            legacy_trace(Pid, true, [tracer_flag(Tracer) | Flags]);
        {{tracer, Tracer}, true} ->
            legacy_trace(Pid, true, [tracer_flag(Tracer) | Flags]);
        {{tracer, Tracer}, false} ->
            legacy_trace(Pid, false, Flags);
        {{tracer, []}, false} ->
            1;
        {_DeadOrOfAnother, _} ->
            0
    end.

legacy_new(Scope, How, Flags) ->
    legacy_new(new_processes, Scope, How, Flags).

legacy_new(New, {legacy, Tracer}, How, Flags) ->
    case {erlang:trace_info(New, tracer), How} of
        {{tracer, T}, true} when T =:= []; T =:= Tracer ->
            {ok, legacy_trace(New, true, [tracer_flag(Tracer) | Flags])};
        {{tracer, Tracer}, false} ->
            {ok, legacy_trace(New, false, Flags)};
        {{tracer, []}, false} ->
            {ok, 0};
        {{tracer, _}, false} ->
            {ok, 0};
        {{tracer, Other}, true} ->
            {error, {already_traced, new, Other}}
    end.

%% A process may die or get another tracer between the look and the call.
legacy_trace(Procs, How, Flags) ->
    try
        erlang:trace(Procs, How, Flags)
    catch
        error:badarg -> 0
    end.

tracer_flag({Module, State}) -> {tracer, Module, State};
tracer_flag(Pid) -> {tracer, Pid}.

is_local(Pid) -> node(Pid) =:= node().

%% @doc Sets or clears flags of ports; `new': of those to be opened. The count
%% is that of the ports reached.
-spec set_port_flags(scope(), boolean(), new | port(), [atom()]) ->
          {ok, non_neg_integer()} | {error, term()}.
set_port_flags({session, S, _}, How, Ports, Flags) ->
    try
        {ok, (sessions()):port(S, Ports, How, Flags)}
    catch
        error:badarg -> {ok, 0}
    end;
set_port_flags({legacy, _} = Scope, How, new, Flags) ->
    legacy_new(new_ports, Scope, How, Flags);
set_port_flags({legacy, _} = Scope, How, Port, Flags) ->
    {ok, legacy_process(Scope, Port, How, Flags)}.

%% @doc Clears every flag that the scope set.
-spec clear_flags(scope()) -> ok.
clear_flags({session, S, _}) ->
    _ = (sessions()):process(S, all, false, [all]),
    _ = (sessions()):port(S, all, false, [all]),
    ok;
clear_flags({legacy, _} = Scope) ->
    _ = legacy_new(Scope, false, [all]),
    _ = legacy_new(new_ports, Scope, false, [all]),
    _ = [legacy_process(Scope, P, false, [all]) || P <- erlang:ports()],
    clear_walk(Scope, 5).

%% Children inherit flags (set_on_spawn) during the walk, hence again, until a
%% walk finds none. Were the bound ever met, the tracer's answer `remove' would
%% clear the rest.
clear_walk(_Scope, 0) ->
    ok;
clear_walk({legacy, Tracer} = Scope, Left) ->
    Found = [legacy_process(Scope, P, false, [all])
             || P <- processes(),
                erlang:trace_info(P, tracer) =:= {tracer, Tracer}],
    case Found of
        [] -> ok;
        _ -> clear_walk(Scope, Left - 1)
    end.

%% @doc Sets a match spec on functions, or clears it (`false').
%% `Ours' are the patterns that we have set already. The count is that of the
%% functions matched.
%% Of kind `event', a match spec on messages; all are again let through with
%% `true'.
-spec set_pattern(scope(), kind() | event, mfa_spec() | send | 'receive',
                  match_spec(), [pattern()]) ->
          {ok, non_neg_integer()} | {error, term()}.
set_pattern({session, S, _}, event, send, MS, _Ours) ->
    guarded(fun() -> (sessions()):send(S, MS, []) end);
set_pattern({session, S, _}, event, 'receive', MS, _Ours) ->
    guarded(fun() -> (sessions()):recv(S, MS, []) end);
set_pattern({legacy, _}, event, Event, MS, Ours) ->
    Known = lists:keymember(Event, 2, Ours),
    case erlang:trace_info(Event, match_spec) of
        {match_spec, true} ->
            guarded(fun() -> erlang:trace_pattern(Event, MS, []) end);
        _ when Known ->
            guarded(fun() -> erlang:trace_pattern(Event, MS, []) end);
        _ ->
            {error, {already_traced, Event}}
    end;
set_pattern({session, S, _}, Kind, MFA, MS, _Ours) ->
    guarded(fun() -> (sessions()):function(S, MFA, MS, [Kind]) end);
set_pattern({legacy, Tracer}, Kind, MFA, MS, Ours) ->
    Flag = case {Kind, MS, Tracer} of
               {meta, false, _} -> meta;
               {meta, _, {Module, State}} -> {meta, Module, State};
               {meta, _, _} -> {meta, Tracer};
               _ -> Kind
           end,
    case foreign(Kind, MFA, Ours) of
        false ->
            guarded(fun() -> erlang:trace_pattern(MFA, MS, [Flag]) end);
        {true, Function} ->
            {error, {already_traced, Function}}
    end.

%% @doc Sets match specs on a function that is meta traced, one after the other
%% as one, or clears them. Each says whether what it turns on is for the tracer
%% of `Flags', the scope whose flags the specs' actions change.
-spec set_meta(scope(), scope(), mfa(), [{[tuple()], boolean()}] | false,
               [pattern()]) ->
          {ok, non_neg_integer()} | {error, term()}.
set_meta({session, _, _} = Scope, Flags, MFA, false, Ours) ->
    _ = set_meta_flags(Flags, MFA, none, Ours),
    set_pattern(Scope, meta, MFA, false, Ours);
set_meta(Scope, _Flags, MFA, false, Ours) ->
    set_pattern(Scope, meta, MFA, false, Ours);
set_meta({session, _, _} = Scope, Flags, MFA, Specs, Ours) ->
    {Plain, OnFlags} =
        inviso_meta_spec:split(lists:append([S || {S, _} <- Specs])),
    case set_meta_flags(Flags, MFA, OnFlags, Ours) of
        {ok, _} -> set_pattern(Scope, meta, MFA, Plain, Ours);
        {error, _} = E -> E
    end;
set_meta(Scope, Flags, MFA, Specs, Ours) ->
    MS = [C || {Spec, Aimed} <- Specs,
               C <- case Aimed of
                        true -> inviso_meta_spec:aim(Spec, tracer(Flags));
                        false -> Spec
                    end],
    set_pattern(Scope, meta, MFA, MS, Ours).

%% Only one that is there is cleared: see `bif_two_sessions' in the table.
set_meta_flags({session, S, _} = Flags, MFA, none, Ours) ->
    case guarded(fun() -> (sessions()):info(S, MFA, meta) end) of
        {ok, {meta, Tracer}} when is_tuple(Tracer); is_pid(Tracer) ->
            set_pattern(Flags, meta, MFA, false, Ours);
        _ ->
            {ok, 0}
    end;
set_meta_flags(Flags, MFA, MS, Ours) ->
    set_pattern(Flags, meta, MFA, MS, Ours).

%% @doc The tracer of a scope.
-spec tracer(scope()) -> tracer().
tracer({session, _, Tracer}) -> Tracer;
tracer({legacy, Tracer}) -> Tracer.

%% @doc What {@link set_pattern/5} would count, while we have no scope: the
%% pattern is set where no process is traced, and cleared at once. So a bad
%% match spec is found now and not when tracing begins.
-spec count_pattern(kind(), mfa_spec(), match_spec()) ->
          {ok, non_neg_integer()} | {error, term()}.
count_pattern(Kind, MFA, MS) ->
    Scope = scope_open(inviso_count, self()),
    case set_pattern(Scope, Kind, MFA, MS, []) of
        {ok, _} = Ok ->
            ok = patterns_close(Scope, [{Kind, MFA, MS}]),
            Ok;
        {error, _} = E ->
            ok = patterns_close(Scope, []),
            E
    end.

%% @doc {@link scope_close/2} of a scope that has set no flags: without a walk
%% over the processes.
-spec patterns_close(scope(), [pattern()]) -> ok.
patterns_close({session, _, _} = Scope, _) -> scope_close(Scope, []);
patterns_close({legacy, _}, Patterns) -> forget_patterns(Patterns).

%% Those of a session go with it.
forget_patterns(Patterns) ->
    _ = [guarded(fun() -> forget_pattern(Kind, MFA, MS) end)
         || {Kind, MFA, MS} <- Patterns, MS =/= false],
    ok.

%% Somebody may have set another in its place, which is not ours to clear.
forget_pattern(event, Event, MS) ->
    _ = event_state(Event, MS) =:= set
        andalso erlang:trace_pattern(Event, true, []);
forget_pattern(Kind, MFA, MS) when Kind =:= local; Kind =:= global ->
    States = [{FA, state(Kind, FA, MS)} || FA <- functions(MFA)],
    case [FA || {FA, changed} <- States] of
        [] -> erlang:trace_pattern(MFA, false, [Kind]);
        _ -> [erlang:trace_pattern(FA, false, [Kind]) || {FA, set} <- States]
    end;
forget_pattern(Kind, MFA, _MS) ->
    erlang:trace_pattern(MFA, false, [Kind]).

%% @doc The functions that a pattern is for, as far as they are loaded; one that
%% is named need not be there.
-spec functions(mfa_spec()) -> [mfa()].
functions({M, F, A}) when M =/= '_', F =/= '_', is_integer(A) ->
    [{M, F, A}];
functions({M, F, A}) ->
    [{M1, F1, A1} || {M1, _} <- case M of
                                    '_' -> code:all_loaded();
                                    _ -> [{M, loaded}]
                                end,
                     {F1, A1} <- functions_of(M1),
                     F =:= '_' orelse F =:= F1, A =:= '_' orelse A =:= A1].

%% @doc What has become of a pattern that was set in a scope: nobody's is there
%% any more, or that of somebody else. Of one for more than a function one of
%% these is looked at. A look at `call_time' or `call_memory' would hold up the
%% whole VM.
-spec pattern_state(scope(), pattern()) -> set | gone | changed.
pattern_state(_, {call_time, _, _}) -> set;
pattern_state(_, {call_memory, _, _}) -> set;
pattern_state({session, _, _}, {event, _, _}) -> set;
pattern_state({legacy, _}, {event, Event, MS}) -> event_state(Event, MS);
pattern_state(Scope, {Kind, {M, '_', '_'}, MS}) when M =/= '_' ->
    pattern_state(Scope, {Kind, {M, module_info, 0}, MS});
pattern_state({session, S, _}, {Kind, MFA, _}) ->
    Item = case Kind of
               call_count -> call_count;
               _ -> traced
           end,
    case guarded(fun() -> (sessions()):info(S, MFA, Item) end) of
        {ok, {_, Value}} when Value =/= false, Value =/= undefined ->
            set;
        _ ->
            case not has_sessions() andalso set(MFA, Item) of
                true -> changed;
                false -> gone
            end
    end;
pattern_state({legacy, _}, {Kind, MFA, MS}) ->
    state(Kind, MFA, MS).

event_state(Event, MS) ->
    case erlang:trace_info(Event, match_spec) of
        {match_spec, MS} -> set;
        _ -> changed
    end.

state(Kind, MFA, MS) when Kind =:= local; Kind =:= global ->
    Same = {match_spec, case MS of true -> []; _ -> MS end},
    case erlang:trace_info(MFA, traced) of
        {traced, Kind} ->
            case erlang:trace_info(MFA, match_spec) of
                Same -> set;
                _ -> changed
            end;
        {traced, None} when None =:= false; None =:= undefined -> gone;
        _ -> changed
    end;
state(Kind, MFA, _) ->
    case erlang:trace_info(MFA, Kind) of
        {_, None} when None =:= false; None =:= undefined -> gone;
        _ -> set
    end.

%% @doc Whether the VM has a kind of counter: `call_memory' came with OTP 26.
-spec has_counter(counter()) -> boolean().
%% Clearing it where there is no function changes nothing.
has_counter(Kind) ->
    case guarded(fun() -> erlang:trace_pattern({none, none, 0}, false, [Kind])
                 end) of
        {ok, _} -> true;
        {error, _} -> false
    end.

%% @doc What a counter of a function has counted: calls, and the nanoseconds in
%% them where it is `call_time', or the words where it is `call_memory'.
-spec counter(scope(), counter(), mfa()) ->
          {non_neg_integer(), non_neg_integer() | none}.
counter(Scope, Kind, MFA) ->
    Info = guarded(fun() ->
                           case Scope of
                               {session, S, _} -> (sessions()):info(S, MFA, Kind);
                               {legacy, _} -> erlang:trace_info(MFA, Kind)
                           end
                   end),
    case Info of
        {ok, {call_count, N}} when is_integer(N) ->
            {N, none};
        {ok, {call_time, List}} when is_list(List) ->
            {lists:sum([N || {_, N, _, _} <- List]),
             lists:sum([(S * 1000000 + Us) * 1000 || {_, _, S, Us} <- List])};
        {ok, {call_memory, List}} when is_list(List) ->
            {lists:sum([N || {_, N, _} <- List]),
             lists:sum([Words || {_, _, Words} <- List])};
        _ ->
            {0, none}
    end.

%% @doc What of some scopes, with the patterns set in them, may stay in the VM
%% when the process that holds them is killed.
-spec residue([{scope() | none, [pattern()]}]) -> residue().
residue(Scopes) ->
    [case Scope of
         {session, {_, Weak}, _} -> {session, Weak};
         {legacy, _} -> {Scope, Patterns}
     end || {Scope, Patterns} <- Scopes, Scope =/= none].

%% @doc Clears a residue, as far as that has not been done. On OTP 25 and 26 this
%% waits for the engine.
-spec forget(residue()) -> ok.
forget(Residue) ->
    lists:foreach(fun forget_scope/1, Residue).

forget_scope({session, Weak}) ->
    case guarded(fun() -> (sessions()):session_destroy(Weak) end) of
        {ok, _} -> ok;
        {error, _} -> has_sessions() orelse engine_gone()
    end;
forget_scope({Scope, Patterns}) ->
    scope_close(Scope, Patterns).

%% @doc The process that has the sessions where the VM has none: none or one.
-spec engine() -> [pid()].
engine() ->
    [P || P <- [whereis(inviso_engine_server)], is_pid(P)].

%% @doc Clears what a killed one has left, unless there is another.
-spec engine_gone() -> ok.
engine_gone() ->
    _ = engine() =/= [] orelse abandoned(),
    ok.

guarded(F) ->
    try
        {ok, F()}
    catch
        error:Reason -> {error, Reason}
    end.

%% A function matched by MFA that is traced and not by us.
foreign(Kind, {M, F, A} = MFA, Ours) when is_integer(A), F =/= '_',
                                          M =/= '_' ->
    case is_foreign(Kind, MFA, Ours) of
        true -> {true, MFA};
        false -> false
    end;
foreign(Kind, {M, F, A}, Ours) ->
    Mods = case M of
               '_' -> [Mod || {Mod, _} <- code:all_loaded()];
               _ -> [Mod || Mod <- [M], erlang:module_loaded(Mod)]
           end,
    foreign_in(Mods, Kind, F, A, Ours).

foreign_in([], _Kind, _F, _A, _Ours) ->
    false;
foreign_in([M | Ms], Kind, F, A, Ours) ->
    Hit = [{M, F1, A1}
           || {F1, A1} <- functions_of(M),
              F =:= '_' orelse F =:= F1,
              A =:= '_' orelse A =:= A1,
              is_foreign(Kind, {M, F1, A1}, Ours)],
    case Hit of
        [] -> foreign_in(Ms, Kind, F, A, Ours);
        [MFA | _] -> {true, MFA}
    end.

%% The module may be purged at this moment.
functions_of(M) ->
    try
        M:module_info(functions)
    catch
        error:undef -> []
    end.

is_foreign(meta, MFA, Ours) ->
    set(MFA, meta) andalso not is_ours([meta], MFA, Ours);
is_foreign(Kind, MFA, Ours) when Kind =:= call_count; Kind =:= call_time;
                                 Kind =:= call_memory ->
    %% A counter takes a global pattern away, whoever set it.
    (set(MFA, Kind) andalso not is_ours([Kind], MFA, Ours))
        orelse erlang:trace_info(MFA, traced) =:= {traced, global};
is_foreign(Kind, MFA, Ours) ->
    (set(MFA, traced) andalso not is_ours([global, local], MFA, Ours))
        %% `global' takes a meta pattern away, whoever set it.
        orelse (Kind =:= global andalso set(MFA, meta)).

set(MFA, Item) ->
    case erlang:trace_info(MFA, Item) of
        {_, false} -> false;
        {_, undefined} -> false;
        %% Of a function that has a breakpoint, but not for meta tracing.
        {meta, []} -> false;
        _ -> true
    end.

is_ours(Kinds, {M, F, A}, Ours) ->
    lists:any(fun({K, {PM, PF, PA}, _}) ->
                      lists:member(K, Kinds)
                          andalso (PM =:= '_' orelse PM =:= M)
                          andalso (PF =:= '_' orelse PF =:= F)
                          andalso (PA =:= '_' orelse PA =:= A)
              end, Ours).

%% --- who else traces ---------------------------------------------------------

%% @doc A function matched that has a pattern which one of this kind would
%% change. `any': a pattern of any kind. Where there are sessions nobody is
%% disturbed, but for those who use none.
-spec foreign_pattern(way(), kind() | any, mfa()) -> boolean().
foreign_pattern(_, any, MFA) ->
    not has_sessions() andalso
        lists:any(fun(Item) -> set(MFA, Item) end,
                  [traced, meta, call_count, call_time]);
foreign_pattern(Way, Kind, MFA) ->
    not has_sessions() andalso is_foreign(Kind, MFA, [])
        andalso not (Way =:= shared andalso in_session(MFA)).

%% @doc Whether a function, or which messages, are traced by our engine.
-spec in_session(mfa() | send | 'receive') -> boolean().
in_session(What) ->
    engine() =/= []
        %% The engine is asked for what does not tell by itself: there may be
        %% many functions.
        andalso (is_tuple(What) andalso inviso_engine_breakpoints:is_ours(What)
                 orelse not lists:member(inviso_trace:session_info(What),
                                         [[], undefined])).

%% @doc Whether a function is one of the VM's own that another session traces
%% as well, on a VM that does not keep the two apart.
-spec shared_bif({module(), atom(), arity()}) -> boolean().
shared_bif({M, F, A} = MFA) ->
    has_sessions() andalso erlang:is_builtin(M, F, A)
        andalso affected(bif_two_sessions)
        andalso is_list(trace:session_info(MFA))
        andalso trace:session_info(MFA) =/= [].

%% @doc Whether somebody has set which messages are traced.
-spec foreign_event(way(), send | 'receive') -> boolean().
foreign_event(Way, Event) ->
    MS = not has_sessions() andalso erlang:trace_info(Event, match_spec),
    MS =/= false andalso MS =/= {match_spec, true}
        andalso not (Way =:= shared andalso inviso_engine_spec:is_ours(MS)).

%% The spec of erlang:trace_info/2 forgets modules.
-dialyzer({no_match, [foreign_tracer/2, legacy_tracer/1]}).
%% @doc The tracer and the flags of a process or port, or of those to come. The
%% only tracer there can be, where the VM has no sessions; `none' where it has,
%% and where it is that of our engine, which is shared.
-spec foreign_tracer(way(), pid() | port() | new_processes | new_ports) ->
          none | {tracer(), [atom()]}.
foreign_tracer(Way, Who) ->
    case not has_sessions() andalso erlang:trace_info(Who, tracer) of
        {tracer, {inviso_engine, _}} when Way =:= shared ->
            none;
        {tracer, Tracer} when Tracer =/= [] ->
            case erlang:trace_info(Who, flags) of
                {flags, Flags} when is_list(Flags) -> {Tracer, Flags};
                _ -> none
            end;
        _ -> none
    end.

%% @doc The trace sessions of the VM that are not ours.
-spec foreign_sessions() -> [term()].
foreign_sessions() ->
    [S || S <- sessions_of(all), is_foreign_session(S)].

is_foreign_session({Name, _}) ->
    not lists:member(Name, [legacy, inviso, inviso_count]).

%% @doc Its name, which need not be the only one of that name.
-spec session_name(term()) -> atom().
session_name({Name, _}) -> Name.

%% @doc Who traces a process, or those to come, or ports to come: session
%% (`legacy' is the VM's own), tracer, flags. Others are the {@link
%% foreign_sessions/0}: of each process only they are asked for.
-spec traced_by(pid() | new | new_ports, [term()]) ->
          [{legacy | term(), tracer() | port(), [atom()]}].
traced_by(Who, Others) ->
    legacy_tracer(case Who of
                      new -> new_processes;
                      _ -> Who
                  end)
        ++ [T || Others =/= [], S <- sessions_of(Who),
                 lists:member(S, Others), T <- session_tracer(S, Who)].

legacy_tracer(Who) ->
    case {erlang:trace_info(Who, tracer), erlang:trace_info(Who, flags)} of
        {{tracer, {inviso_engine, _}}, _} ->
            [];
        {{tracer, Tracer}, {flags, Flags}}
          when Tracer =/= [], is_list(Flags) ->
            [{legacy, Tracer, Flags}];
        _ ->
            []
    end.

sessions_of(Who) ->
    Some = has_sessions() orelse engine() =/= [],
    case Some andalso (sessions()):session_info(Who) of
        Sessions when is_list(Sessions) -> Sessions;
        _ -> []
    end.

session_tracer(Session, Who) ->
    try {(sessions()):info(Session, Who, tracer),
         (sessions()):info(Session, Who, flags)} of
        {{tracer, Tracer}, {flags, Flags}}
          when Tracer =/= [], is_list(Flags) ->
            [{Session, Tracer, Flags}];
        _ ->
            []
    catch
        error:badarg -> []
    end.

%% --- who should not be traced ------------------------------------------------

%% @doc The processes that carry what is said between nodes. Whoever watches
%% all messages would, from another node, cause more by looking.
-spec infrastructure() -> [pid()].
infrastructure() ->
    Named = [P || Name <- [net_kernel, net_sup, auth, erl_epmd, rex,
                           ssl_dist_sup, ssl_dist_admin_sup,
                           ssl_dist_connection_sup,
                           global_name_server, global_group],
                  P <- [whereis(Name)], is_pid(P)],
    Controllers = [C || {_, C} <- erlang:system_info(dist_ctrl), is_pid(C)],
    %% The ticker and the acceptors of one, the reader of the other. What they
    %% are linked to upwards are supervisors, silent ones.
    Linked = [P || C <- [whereis(net_kernel) | Controllers], is_pid(C),
                   {links, Ls} <- [process_info(C, links)],
                   P <- Ls, is_pid(P), node(P) =:= node()],
    lists:usort(Named ++ Controllers ++ Linked).

%% @doc Processes that are a part of the VM: they take signals on behalf of
%% others. They were the first to be started, so only the first are looked at.
-spec system_processes() -> [pid()].
system_processes() ->
    [P || N <- lists:seq(0, 31),
          P <- [list_to_pid("<0." ++ integer_to_list(N) ++ ".0>")],
          {initial_call, {M, _, _}} <- [process_info(P, initial_call)],
          lists:member(M, [erts_code_purger, erts_literal_area_collector,
                           erts_dirty_process_signal_handler,
                           erts_trace_cleaner])].

%% --- what crashes or misleads a VM ------------------------------------------

%% @doc Combinations known to crash or mislead a VM: name, the ranges of erts
%% versions that have it (from, up to but not including; `none': no fix is
%% known), and what is done about it.
-spec known_defects() ->
          [{atom(), [{string(), string() | none}], walked | refused | told,
            string()}].
known_defects() ->
    [{trace_all,
      [{"0", "12.3.2.17"}, {"13.0", "13.2.2.8"}, {"14.0", "14.2.4"}],
      walked,
      "erlang:trace(all | existing, ..) beside a dirty scheduler that traces "
      "can crash: done process by process"},
     {gc_two_sessions, [{"15.0", none}], refused,
      "garbage_collection of one process in two sessions: trace_gc() frees "
      "for the first what it sends to the second"},
     {dirty_tracee, [{"0", "13.2"}], told,
      "tracing a process on a dirty scheduler can crash this VM; --procs "
      "reduces the risk"},
     {link_inherits_not, [{"0", "14.0"}], told,
      "link/1 never passes flags on (set_on_link); spawn_link does"},
     {late_receive,
      [{"0", "13.2.2.15"}, {"14.0", "14.2.5.9"}, {"15.0", "15.2.4"}], told,
      "'receive' events come late while the process waits with a time-out or "
      "does not receive at all"},
     {received_queue_len, [{"0", "14.2"}], told,
      "process_info(Pid, message_queue_len) of a process whose 'receive' is "
      "traced can leave its queue in disorder"},
     {bif_two_sessions, [{"15.0", "16.2"}], told,
      "clearing a pattern on a BIF in one session clears it in all"}].

%% @doc Whether this VM has a known defect.
-spec affected(atom()) -> boolean().
affected(Name) ->
    {Name, Ranges, _, _} = lists:keyfind(Name, 1, known_defects()),
    Now = version(erlang:system_info(version)),
    lists:any(fun({From, To}) ->
                      Now >= version(From)
                          andalso (To =:= none orelse Now < version(To))
              end, Ranges).

%% "15.2.7" and "17.0-rc1": numbers, as far as there are any.
version(String) ->
    [N || Part <- string:lexemes(String, ".-"),
          {N, []} <- [string:to_integer(Part)]].

%% @doc Whether somebody else's session may come to trace the garbage collections
%% of a process that we would trace with these flags, and the VM would not survive
%% it: whom that session has. So may two who each have other processes: children
%% get flags from their parents and as new ones, and links pass them on.
-spec gc_elsewhere([pid() | new], [atom()]) -> false | {true, pid() | new}.
gc_elsewhere(Whom, Flags) ->
    gc_elsewhere({none, none}, Whom, Flags).

gc_elsewhere(S, Procs, Flags) ->
    Concerns = has_gc(Flags) orelse passes_on(Flags),
    case Concerns andalso has_sessions() andalso affected(gc_two_sessions) of
        true -> gc_meets(gc_ours(S, each(Procs), Flags), S);
        false -> false
    end.

each(all) -> [new | processes()];
each(existing) -> processes();
each(Procs) when is_list(Procs) -> Procs;
each(Pid) -> [Pid].

gc_ours({none, none}, Whom, Flags) ->
    [{P, Flags} || P <- Whom, has_gc(Flags)];
gc_ours({_, Weak}, Whom, Flags) ->
    [{P, All} || P <- Whom, All <- [Flags ++ flags_of(Weak, P)], has_gc(All)].

gc_meets([], _) ->
    false;
gc_meets(Ours, {_, Weak}) ->
    Theirs = [G || P <- [new | processes()], G <- gc_of_others(Weak, P)],
    Mine = maps:from_list(Ours),
    Parents = lists:any(fun({_, Flags}) -> passes_on(Flags) end, Ours),
    Linked = lists:any(fun({_, Flags}) -> links(Flags) end, Ours),
    case [P || {P, Flags} <- Theirs,
               is_map_key(P, Mine)
                   orelse (is_map_key(new, Mine) andalso passes_on(Flags))
                   orelse (Parents andalso P =:= new)
                   orelse Linked orelse links(Flags)] of
        [] -> false;
        [P | _] -> {true, P}
    end.

gc_of_others(Weak, P) ->
    [{P, Flags} || S <- sessions_of(P), S =/= Weak,
                   Flags <- [flags_of(S, P)], has_gc(Flags)].

has_gc(Flags) ->
    lists:member(garbage_collection, Flags) orelse lists:member(all, Flags).

passes_on(Flags) ->
    links(Flags) orelse lists:member(set_on_spawn, Flags)
        orelse lists:member(set_on_first_spawn, Flags).

links(Flags) ->
    lists:any(fun(F) -> lists:member(F, Flags) end,
              [set_on_link, set_on_first_link, all]).

%% The VM's own session, that of the old functions, has no handle to ask with.
flags_of(Session, P) ->
    Info = guarded(fun() ->
                           case Session of
                               {legacy, default} -> erlang:trace_info(P, flags);
                               _ -> trace:info(Session, P, flags)
                           end
                   end),
    case Info of
        {ok, {flags, Flags}} when is_list(Flags) -> Flags;
        _ -> []
    end.
