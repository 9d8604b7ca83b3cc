%% SPDX-License-Identifier: Apache-2.0
%% @doc Reports what other tools trace with `erlang:trace/3' and
%% `erlang:trace_pattern/3', and, if the VM has trace sessions, in other sessions
%% than inviso's.
%%
%% Before OTP 27 the VM has one tracer for a process and one pattern for a function,
%% so inviso could disturb another tool. A VM with trace sessions keeps tools apart.
%% On such a VM `has_pattern', `in_the_way', `event' and `tracer' report nothing.
-module(inviso_other_tools).

-export([has_pattern/1, has_pattern/2, in_the_way/2, in_session/1, event/1,
         tracer/1, sessions/0, session_name/1, tracers/2]).

-type tracee() :: pid() | port() | new_processes | new_ports.

%% @doc Returns true if a function has a pattern of any kind that inviso could
%% disturb.
-spec has_pattern(mfa()) -> boolean().
has_pattern(MFA) ->
    lists:any(fun(Item) -> has_pattern(Item, MFA) end,
              [traced, meta, call_count, call_time]).

%% @doc Same as has_pattern/1, but checks only one item of `erlang:trace_info/2'.
-spec has_pattern(traced | meta | inviso_scope:counter(), mfa()) -> boolean().
has_pattern(Item, MFA) ->
    not inviso_vm:has_sessions() andalso
        case erlang:trace_info(MFA, Item) of
            {_, false} -> false;
            {_, undefined} -> false;
            %% The function has a breakpoint, but not for meta tracing.
            {meta, []} -> false;
            _ -> true
        end.

%% @doc Returns true if another tool has a pattern or counter on a function, and
%% setting a pattern or counter of the kind `Kind' would change it.
-spec in_the_way(local | inviso_scope:counter(), mfa()) -> boolean().
in_the_way(Kind, MFA) ->
    excludes(Kind, MFA) andalso not in_session(MFA).

excludes(local, MFA) ->
    has_pattern(traced, MFA);
excludes(Counter, MFA) ->
    %% Setting a counter would remove a global pattern.
    has_pattern(Counter, MFA)
        orelse (has_pattern(traced, MFA) andalso
                erlang:trace_info(MFA, traced) =:= {traced, global}).

%% @doc Returns true if the pattern of a function was set by a session of the
%% engine.
-spec in_session(mfa()) -> boolean().
in_session(MFA) ->
    (inviso_scope:implementation()):is_ours(MFA).

%% @doc Returns true if another tool has set the match spec that selects sent or
%% received messages.
-spec event(send | 'receive') -> boolean().
event(Event) ->
    MS = not inviso_vm:has_sessions() andalso
        erlang:trace_info(Event, match_spec),
    MS =/= false andalso MS =/= {match_spec, true}
        andalso not (inviso_scope:implementation()):is_ours(MS).

%% @doc Returns the tracer that another tool has set on a tracee, with the tracee's
%% flags. Returns `none' if no other tool has set a tracer. Also returns `none' if
%% the VM has trace sessions, because inviso cannot disturb other tools on such a
%% VM. A tracee is a process, a port, all new processes, or all new ports.
-spec tracer(tracee()) -> none | {inviso_scope:tracer(), [atom()]}.
tracer(Who) ->
    case not inviso_vm:has_sessions() andalso not is_plain(Who)
        andalso set_tracer(Who) of
        {_, _} = Found -> Found;
        _ -> none
    end.

%% Returns true if a process has no trace flags. Calls process_info/2, which answers
%% at once if the process waits and has no pending signals. `erlang:trace_info/2'
%% would always send the process a signal, so the process would have to run.
is_plain(Pid) when is_pid(Pid) -> process_info(Pid, trace) =:= {trace, 0};
is_plain(_) -> false.

%% The type spec of erlang:trace_info/2 does not include tracer modules.
-dialyzer({no_match, [set_tracer/1]}).
%% Returns the tracer that was set with erlang:trace/3.
set_tracer(Who) ->
    case erlang:trace_info(Who, tracer) of
        {tracer, Tracer} when Tracer =/= [] ->
            Ours = (inviso_scope:implementation()):is_ours({tracer, Tracer}),
            case not Ours andalso erlang:trace_info(Who, flags) of
                {flags, Flags} when is_list(Flags) -> {Tracer, Flags};
                _ -> none
            end;
        _ ->
            none
    end.

%% @doc Returns the trace sessions that are not inviso's.
-spec sessions() -> [inviso_scope:handle()].
sessions() ->
    [S || {Name, _} = S <- (inviso_scope:implementation()):sessions_of(all),
          not lists:member(Name, [legacy, inviso, inviso_count])].

%% @doc Returns the name of a session. Several sessions may have the same name.
-spec session_name(inviso_scope:handle()) -> atom().
session_name({Name, _}) -> Name.

%% @doc Returns the sessions that trace a process, all new processes, or all new
%% ports, each with its tracer and its flags. `legacy' stands for tracing with
%% `erlang:trace/3'. `Others' is the result of {@link sessions/0}, so inviso's
%% own sessions are left out.
-spec tracers(pid() | new | new_ports, [inviso_scope:handle()]) ->
          [{legacy | inviso_scope:handle(), inviso_scope:tracer() | port(),
            [atom()]}].
tracers(Who, Others) ->
    Tracee = case Who of
                 new -> new_processes;
                 _ -> Who
             end,
    [{legacy, Tracer, Flags} || {Tracer, Flags} <- [set_tracer(Tracee)]]
        ++ [{S, Tracer, Flags}
            || Others =/= [],
               S <- (inviso_scope:implementation()):sessions_of(Who),
               lists:member(S, Others),
               {Tracer, Flags} <- [session_tracer(S, Who)]].

session_tracer(Session, Who) ->
    Sessions = inviso_scope:implementation(),
    case {Sessions:info(Session, Who, tracer), Sessions:info(Session, Who, flags)} of
        {{ok, {tracer, Tracer}}, {ok, {flags, Flags}}}
          when Tracer =/= [], is_list(Flags) ->
            {Tracer, Flags};
        _ ->
            none
    end.
