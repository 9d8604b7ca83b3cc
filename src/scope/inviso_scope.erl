%% SPDX-License-Identifier: Apache-2.0
%% @doc A scope is a trace session together with the tracer that gets its events.
%%
%% ```
%%  inviso_tracing ──► inviso_scope ──► inviso_vm_sessions        from OTP 27 on
%%                                  or  the module of src/engine  before OTP 27
%% '''
%%
%% The process that opened a scope is its owner. When the owner dies, the VM
%% destroys the session only if no other process has a copy of the session's
%% handle. So the owner stores the session's handle in the guard's table ({@link
%% residue/2}), and the guard destroys the session when the owner is dead.
-module(inviso_scope).

-export([open/2,
         close/1,
         watch/1,
         tracer/1,
         expect_calls/2,
         set_flags/4,
         set_flags/5,
         set_flags_each/4,
         set_port_flags/4,
         clear_flags/1,
         set_pattern/4,
         is_meta/2,
         count_pattern/3,
         pattern_state/2,
         counter/3,
         residue/2,
         forget/1,
         explain/1,
         engine_processes/0,
         engine_gone/0,
         implementation/0]).

-export_type([scope/0, session/0, handle/0, tracer/0, kind/0, counter/0,
              procs/0, mfa_spec/0, match_spec/0, pattern/0, residue/0]).

-opaque scope() :: {session(), tracer()}.
-opaque residue() :: [handle() | {system_tracer, tracer()}].
-type session() :: inviso_sessions:session().
-type handle() :: inviso_sessions:handle().
-type tracer() :: inviso_sessions:tracer().
-type kind() :: inviso_sessions:kind().
-type counter() :: inviso_sessions:counter().
-type procs() :: inviso_sessions:procs().
-type mfa_spec() :: inviso_sessions:mfa_spec().
-type match_spec() :: inviso_sessions:match_spec().
%% For a pattern for messages, the kind is `event', and `send' or `receive' replaces
%% the function. There is one match spec for all sent messages, and one for all
%% received messages.
-type pattern() :: {kind(), mfa_spec(), match_spec()}
                 | {event, send | 'receive', match_spec()}.
-type count() :: inviso_sessions:count().

%% --- the implementation of sessions ------------------------------------------

%% @private
-spec implementation() -> module().
implementation() ->
    case inviso_vm:has_sessions() of
        true -> inviso_vm_sessions;
        %% Outside src/engine only this line names a module of that folder. So
        %% on a VM with trace sessions, inviso works without the folder.
        false -> inviso_engine_sessions
    end.

%% --- scopes ------------------------------------------------------------------

%% @doc Opens a scope. If the tracer is a module, this module must be loaded
%% already. Raises the error `system_limit' if the VM can have no more sessions.
-spec open(atom(), tracer()) -> scope().
open(Name, Tracer) ->
    case (implementation()):create(Name, Tracer) of
        {ok, Session} -> {Session, Tracer};
        {error, Reason} -> error(Reason)
    end.

%% @doc Closes a scope, and clears its flags and patterns. If the result is an error,
%% the flags and patterns are still set.
-spec close(scope()) -> ok | {error, term()}.
close({Session, _}) -> (implementation()):destroy(Session).

%% @doc Monitors the engine. If the engine is killed, the scope ends, and the
%% caller gets a `DOWN' message with the returned reference. Returns `none' if the
%% VM has trace sessions.
-spec watch(scope()) -> reference() | none.
watch(_) -> (implementation()):watch().

%% @doc Returns the tracer of a scope.
-spec tracer(scope()) -> tracer().
tracer({_, Tracer}) -> Tracer.

%% @doc Returns what remains in the VM if the owner of these scopes and of the system
%% tracer `System' is killed.
-spec residue([scope() | none], tracer() | none) -> residue().
residue(Scopes, System) ->
    [Handle || {{_, Handle}, _} <- Scopes]
        ++ [{system_tracer, System} || System =/= none].

%% @doc Clears what a dead owner has left in the VM ({@link residue/2}). On OTP 25 and
%% 26 this waits for the engine.
-spec forget(residue()) -> ok.
forget(Residue) ->
    lists:foreach(fun({system_tracer, Tracer}) ->
                          _ = inviso_seq:stop(Tracer);
                     (Handle) ->
                          case (implementation()):destroy(Handle) of
                              ok -> ok;
                              {error, _} -> engine_gone()
                          end
                  end, Residue).

%% @doc Explains in words why this OTP release cannot do what was requested, and
%% what the user can do instead. Returns `none' if the reason is not known.
-spec explain(term()) -> none | iolist().
explain({unsafe_label, _, Text}) -> [Text];
explain(Reason) -> (implementation()):explain(Reason).

%% @doc Returns the processes of the engine, or [] if it is not running. The
%% processes end some time after the last session is closed.
-spec engine_processes() -> [pid()].
engine_processes() -> (implementation()):server_processes().

%% @doc Clears the flags and patterns that a killed engine has left in the VM,
%% unless another engine is running.
-spec engine_gone() -> ok.
engine_gone() -> (implementation()):server_gone().

%% --- flags -------------------------------------------------------------------

%% @doc Sets or clears flags of processes. The processes in `Own' are never traced.
%% Returns the number of processes that were changed.
-spec set_flags(scope(), boolean(), procs(), [atom()], [pid()]) -> count().
set_flags({{_, Handle}, _} = Scope, true, Procs, Flags, Own) ->
    case inviso_defects:gc_elsewhere(Handle, Procs, Flags) of
        false -> do_flags(Scope, true, Procs, Flags, Own);
        {true, P} -> {error, {gc_traced_in_another_session, P}}
    end;
set_flags(Scope, false, Procs, Flags, Own) ->
    do_flags(Scope, false, Procs, Flags, Own).

%% @doc Sets flags of a process or of all new processes. The caller must have called
%% {@link inviso_defects:gc_elsewhere/2} for these processes; before several calls of
%% set_flags/4, one call of gc_elsewhere/2 for all their processes is enough.
-spec set_flags(scope(), new | pid(), [atom()], [pid()]) -> count().
set_flags({{_, Handle}, _} = Scope, Who, Flags, Own) ->
    case inviso_defects:has_gc_elsewhere(Handle, Who, Flags) of
        false -> do_flags(Scope, true, Who, Flags, Own);
        true -> {error, {gc_traced_in_another_session, Who}}
    end.

%% @doc Sets flags of each process of a list. The caller must have called {@link
%% inviso_defects:gc_elsewhere/2} for these processes. Dead processes are left
%% out. On a VM without trace sessions, processes that another tool traces are
%% left out too.
-spec set_flags_each(scope(), [pid()], [atom()], [pid()]) ->
          ok | {error, term()}.
set_flags_each({Session, _}, Pids, Flags, Own) ->
    Mine = [P || P <- Pids, is_mine(P, Own)],
    (implementation()):processes(Session, Mine, Flags).

do_flags({Session, _}, How, Pid, Flags, Own) when is_pid(Pid) ->
    case is_mine(Pid, Own) of
        true -> one(Session, Pid, How, Flags);
        false -> {ok, 0}
    end;
do_flags({Session, _}, How, Procs, Flags, Own) ->
    case (implementation()):process(Session, Procs, How, Flags) of
        {ok, N} when Procs =/= new ->
            Taken = [Count || P <- Own, is_process_alive(P),
                              {ok, Count} <- [one(Session, P, false, Flags)]],
            {ok, N - lists:sum(Taken)};
        Result ->
            Result
    end.

is_mine(Pid, Own) ->
    node(Pid) =:= node() andalso not lists:member(Pid, Own).

one(Session, Pid, How, Flags) ->
    left_out((implementation()):process(Session, Pid, How, Flags)).

%% If a process is dead or another tool traces it, replaces the error by `{ok, 0}': no
%% process was changed.
left_out({error, badarg}) -> {ok, 0};
left_out({error, {already_traced, _, _}}) -> {ok, 0};
left_out(Result) -> Result.

%% @doc Sets or clears flags of a port or, with `new', of ports opened later.
%% Returns the number of ports that were changed.
-spec set_port_flags(scope(), boolean(), new | port(), [atom()]) -> count().
set_port_flags({Session, _}, How, Ports, Flags) ->
    case (implementation()):port(Session, Ports, How, Flags) of
        {error, badarg} -> {ok, 0};
        Result -> Result
    end.

%% @doc Clears every flag that the scope set.
-spec clear_flags(scope()) -> ok.
clear_flags({Session, _}) ->
    _ = (implementation()):process(Session, all, false, [all]),
    _ = (implementation()):port(Session, all, false, [all]),
    ok.

%% @doc Says that the flag `call' will soon be set. Sets some patterns in the VM now, if
%% they would otherwise be set together with the first flag. The first argument
%% `After' is `first'. If the result is not `done', the caller must call again with the
%% result.
-spec expect_calls(scope(), first | {'after', module()}) ->
          {ok, done | {'after', module()}} | {error, term()}.
expect_calls({Session, _}, After) ->
    (implementation()):expect_calls(Session, After).

%% --- patterns ----------------------------------------------------------------

%% @doc Sets a pattern on functions; `false' as match spec clears the pattern. Returns
%% the number of functions that `mfa_spec()' matches. With kind `event', sets the
%% match spec for messages; `true' means all messages. A match spec that sets a label
%% is refused if the label could crash the VM ({@link inviso_seq_labels}).
-spec set_pattern(scope(), kind() | event, mfa_spec() | send | 'receive',
                  match_spec()) -> count().
set_pattern({Session, _}, Kind, What, MS) ->
    case inviso_seq_labels:check(MS) of
        ok when Kind =:= event ->
            (implementation()):messages(Session, What, MS);
        ok ->
            (implementation()):function(Session, What, MS, Kind);
        {error, _} = E ->
            E
    end.

%% @doc Returns true if the scope has a pattern of kind `meta' on a function.
-spec is_meta(scope(), mfa()) -> boolean().
is_meta({Session, _}, MFA) ->
    case (implementation()):info(Session, MFA, meta) of
        {ok, {meta, Tracer}} -> is_tuple(Tracer) orelse is_pid(Tracer);
        _ -> false
    end.

%% @doc Checks a pattern while no scope is open, and returns what {@link
%% set_pattern/4} would return. The pattern is set in a scope that traces no
%% process, and cleared at once. So a bad match spec is found now and not when
%% tracing begins.
-spec count_pattern(kind(), mfa_spec(), match_spec()) -> count().
count_pattern(Kind, MFA, MS) ->
    try open(inviso_count, self()) of
        Scope ->
            Result = set_pattern(Scope, Kind, MFA, MS),
            case close(Scope) of
                ok -> Result;
                {error, _} = E -> E
            end
    catch
        error:Reason -> {error, Reason}
    end.

%% @doc Returns the state of a pattern that was set in a scope. `gone' means that
%% the function has no pattern, for example because the module was loaded again.
%% `changed' means that another tool has replaced the pattern. `unknown' means that
%% the engine does not answer.
%%
%% If the pattern is for all functions of a module, only `module_info/0' is checked.
%% Counters of kind `call_time' and `call_memory' are reported as set, because
%% reading them would stop the whole VM for a moment.
-spec pattern_state(scope(), pattern()) -> set | gone | changed | unknown.
pattern_state(_, {call_time, _, _}) -> set;
pattern_state(_, {call_memory, _, _}) -> set;
pattern_state(_, {event, _, _}) -> set;
pattern_state(Scope, {Kind, {M, '_', '_'}, MS}) when M =/= '_' ->
    pattern_state(Scope, {Kind, {M, module_info, 0}, MS});
pattern_state({Session, _}, {Kind, MFA, _}) ->
    Item = case Kind of
               call_count -> call_count;
               _ -> traced
           end,
    case (implementation()):info(Session, MFA, Item) of
        {ok, {_, Value}} when Value =/= false, Value =/= undefined ->
            set;
        {error, timeout} ->
            unknown;
        _ ->
            case inviso_other_tools:has_pattern(Item, MFA) of
                true -> changed;
                false -> gone
            end
    end.

%% @doc Returns what a counter of a function has counted: the number of calls and
%% a second value. For `call_time' the second value is the nanoseconds spent in the
%% calls, for `call_memory' the words allocated in the calls, for `call_count' `none'.
%% `timeout' means that the engine does not answer. After a timeout the caller should
%% read no other counters, because each reading would wait as long.
-spec counter(scope(), counter(), mfa()) ->
          {non_neg_integer(), non_neg_integer() | none} | {error, timeout}.
counter({Session, _}, Kind, MFA) ->
    case (implementation()):info(Session, MFA, Kind) of
        {ok, {call_count, N}} when is_integer(N) ->
            {N, none};
        {ok, {call_time, List}} when is_list(List) ->
            {lists:sum([N || {_, N, _, _} <- List]),
             lists:sum([(S * 1000000 + Us) * 1000 || {_, _, S, Us} <- List])};
        {ok, {call_memory, List}} when is_list(List) ->
            {lists:sum([N || {_, N, _} <- List]),
             lists:sum([Words || {_, _, Words} <- List])};
        {error, timeout} = E ->
            E;
        _ ->
            {0, none}
    end.
