%% SPDX-License-Identifier: Apache-2.0
%% @doc Foreign tracers: tracer modules other than {@link inviso_tracer}.
%%
%% The VM, and not the engine, calls such a module. The VM has only one tracer for
%% each process, port or function, so no other session can trace a process, port or
%% function that has a foreign tracer. The VM also passes the flags on to children.
%% This module only stores which session a tracer belongs to. A tracer (a module and
%% a state) can belong to one session only, because only the tracer that the VM
%% shows for a process identifies the session.
-module(inviso_engine_foreign).

-export([new/0, is_foreign/1, check/1, own/3, change/4, clear/4, slot/2,
         calls/2, told_calls/3, recount/2, forget/2]).

-export_type([foreign/0]).

-type tracer() :: {module(), term()}.
-type slot() :: inviso_engine:slot().
%% The session of each tracer, and whether the tracer may get calls.
-opaque foreign() :: #{tracer() => {slot(), boolean()}}.

%% The type spec of erlang:trace_info/2 does not include tracer modules.
-dialyzer({[no_match, no_return, no_unused],
           [owned/2, change/4, one/3, one/4, clear_one/3, forget/2]}).

-spec new() -> foreign().
new() ->
    #{}.

%% @doc Returns true if the VM has to call this tracer, and not the engine.
-spec is_foreign(term()) -> boolean().
is_foreign({inviso_tracer, _}) -> false;
is_foreign(Tracer) -> is_tuple(Tracer).

%% @doc Checks that a term is a tracer: the VM must accept it as the tracer of a
%% process that is spawned for this check.
-spec check(tracer()) -> ok | {error, badarg}.
check({Module, State}) ->
    try
        true = erlang:module_loaded(Module),
        {Pid, Ref} = spawn_monitor(fun() -> receive stop -> ok end end),
        try
            %% If another tool traces new processes, the spawned process has that
            %% tool's tracer, which is removed first.
            _ = erlang:trace(Pid, false, [all]),
            _ = erlang:trace(Pid, true, [{tracer, Module, State}]),
            ok
        after
            demonitor(Ref, [flush]),
            exit(Pid, kill)
        end
    catch
        error:_ -> {error, badarg}
    end.

%% @doc Notes that a session uses a tracer. Returns an error if another session uses
%% the tracer.
-spec own(tracer(), slot(), foreign()) ->
          {ok, foreign()} | {error, {not_supported, {shared, tracer()}}}.
own(Tracer, Slot, Foreign) ->
    case Foreign of
        #{Tracer := {Slot, _}} -> {ok, Foreign};
        #{Tracer := _} -> {error, {not_supported, {shared, Tracer}}};
        _ -> {ok, Foreign#{Tracer => {Slot, false}}}
    end.

%% @doc Sets flags whose events go to a session's foreign tracer. Existing tracees
%% with another tracer are left out. If new tracees have another tracer, this is an
%% error.
-spec change(process | port, inviso_engine_tracees:meant(), {tracer(), [atom()]},
             foreign()) ->
          {ok, non_neg_integer()} |
          {error, badarg | other_tracer | {not_supported, term()} |
                  {already_traced, term(), term()}}.
change(Kind, {Existing, New}, {Tracer, Flags} = Change, Foreign) ->
    case New andalso one(inviso_engine_tracees:new(Kind), Change, Foreign) of
        {error, _} = E -> E;
        _ when Existing -> set(existing(Kind), Tracer, Flags);
        _ -> {ok, 0}
    end;
change(_Kind, Tracee, Change, Foreign) ->
    one(Tracee, Change, Foreign).

one(Tracee, Change, Foreign) ->
    one(Tracee, Change, inviso_engine_flags:traced_by(Tracee), Foreign).

one(_Tracee, _Change, undefined, _Foreign) ->
    {error, badarg};
one(Tracee, {Tracer, Flags}, By, _Foreign) when By =:= []; By =:= Tracer ->
    set(Tracee, Tracer, Flags);
one(Tracee, {Tracer, _}, By, Foreign) ->
    case {Foreign, inviso_engine_flags:is_engine(By)} of
        {_, true} -> {error, {not_supported, {shared, Tracee}}};
        {#{Tracer := {Slot, _}, By := {Slot, _}}, _} -> {error, other_tracer};
        {#{By := _}, _} -> {error, {not_supported, {shared, Tracee}}};
        _ -> {error, {already_traced, Tracee, By}}
    end.

%% Returns the atom that means all existing tracees in erlang:trace/3. With this atom
%% the VM leaves out tracees with another tracer.
existing(process) -> existing_processes;
existing(port) -> existing_ports.

set(What, {Module, State}, Flags) ->
    try {ok, erlang:trace(What, true, [{tracer, Module, State} | Flags])}
    catch error:badarg -> {error, badarg}
    end.

%% @doc Clears flags of tracees that have a foreign tracer of the session. Returns
%% the number of these tracees, without new processes and ports.
-spec clear(process | port, inviso_engine_tracees:meant(), {slot(), [atom()]},
            foreign()) -> non_neg_integer().
clear(Kind, Which, {Slot, Flags}, Foreign) ->
    case uses(Slot, Foreign) of
        true ->
            lists:sum([clear_one(T, Flags, is_atom(T))
                       || T <- tracees(Kind, Which),
                          slot(T, Foreign) =:= Slot]);
        false ->
            0
    end.

tracees(Kind, {Existing, New}) ->
    [inviso_engine_tracees:new(Kind) || New]
        ++ [T || Existing, T <- inviso_engine_tracees:existing(Kind)];
tracees(_, Tracee) ->
    [Tracee].

clear_one(Tracee, Flags, IsNew) ->
    try erlang:trace(Tracee, false, Flags) of
        _ when IsNew -> 0;
        N -> N
    catch
        error:badarg -> 0
    end.

%% @doc If a foreign tracer traces the tracee, returns the session of this tracer.
%% Otherwise returns `none'.
-spec slot(inviso_engine:tracee(), foreign()) -> slot() | none.
slot(_Tracee, Foreign) when map_size(Foreign) =:= 0 ->
    none;
slot(Tracee, Foreign) ->
    case maps:get(inviso_engine_flags:traced_by(Tracee), Foreign, none) of
        {Slot, _} -> Slot;
        none -> none
    end.

%% @doc Returns true if a foreign tracer of the session may get calls.
-spec calls(slot(), foreign()) -> boolean().
calls(Slot, Foreign) ->
    lists:member({Slot, true}, maps:values(Foreign)).

%% @doc Notes that a tracer may get calls, if the flag `call' was set.
-spec told_calls(tracer(), [atom()], foreign()) -> foreign().
told_calls(Tracer, Flags, Foreign) ->
    #{Tracer := {Slot, Calls}} = Foreign,
    Foreign#{Tracer := {Slot, Calls orelse lists:member(call, Flags)}}.

%% @doc Must be called after flags were cleared: finds out whether a foreign tracer of
%% the session may still get calls, for calls/2.
-spec recount(slot(), foreign()) -> foreign().
recount(Slot, Foreign) ->
    Has = calls(Slot, Foreign)
        andalso lists:any(fun(T) ->
                                  slot(T, Foreign) =:= Slot andalso has_call(T)
                          end, owned(Slot, Foreign)),
    maps:map(fun(_Tracer, {S, true}) when S =:= Slot -> {S, Has};
                (_Tracer, Value) -> Value
             end, Foreign).

uses(Slot, Foreign) ->
    lists:keymember(Slot, 1, maps:values(Foreign)).

has_call(Tracee) ->
    case erlang:trace_info(Tracee, flags) of
        {flags, Flags} -> lists:member(call, Flags);
        undefined -> false
    end.

owned(Slot, Foreign) ->
    case uses(Slot, Foreign) of
        true -> [new_processes, new_ports] ++ processes() ++ erlang:ports();
        false -> []
    end.

%% @doc Clears all flags of a session's foreign tracers, and removes these tracers
%% from the state.
-spec forget(slot(), foreign()) -> foreign().
forget(Slot, Foreign) ->
    _ = [clear_one(T, [all], true)
         || T <- owned(Slot, Foreign), slot(T, Foreign) =:= Slot],
    maps:filter(fun(_Tracer, {S, _}) -> S =/= Slot end, Foreign).
