%% SPDX-License-Identifier: Apache-2.0
%% @doc Tracer modules that are not ours.
%%
%% The VM gets such a tracer as it is, with all flags, and calls it: so the
%% session must be alone on what it traces, and the VM itself knows what has
%% which flags, children included. Here is only whose tracer it is. A tracer
%% (module and state) belongs to one session, or it could not be told whose
%% process it traces.
-module(inviso_engine_foreign).

-export([new/0, is_foreign/1, check/1, own/3, change/4, clear/4, slot/2,
         calls/2, told_calls/3, recount/2, forget/2]).

-export_type([foreign/0]).

-type tracer() :: {module(), term()}.
-type slot() :: inviso_engine:slot().
%% And whether it may be told of calls.
-opaque foreign() :: #{tracer() => {slot(), boolean()}}.

%% The spec of erlang:trace_info/2 forgets modules.
-dialyzer({[no_match, no_return, no_unused],
           [owned/2, traced_by/1, change/4, one/4, some/5, clear_one/3,
            forget/2]}).

%% @doc No session has one.
-spec new() -> foreign().
new() ->
    #{}.

%% @doc Whether the VM has to call this tracer itself.
-spec is_foreign(term()) -> boolean().
is_foreign({inviso_tracer, _}) -> false;
is_foreign(Tracer) -> is_tuple(Tracer).

%% @doc Whether it is a tracer, as the VM says. A process that nobody traces
%% does for that: no flag is set.
-spec check(tracer()) -> ok | {error, badarg}.
check({Module, State}) ->
    try
        true = erlang:module_loaded(Module),
        {Pid, Ref} = spawn_monitor(fun() -> receive stop -> ok end end),
        try
            %% New processes may be traced.
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

%% @doc A session uses it.
-spec own(tracer(), slot(), foreign()) ->
          {ok, foreign()} | {error, {not_supported, {shared, tracer()}}}.
own(Tracer, Slot, Foreign) ->
    case Foreign of
        #{Tracer := {Slot, _}} -> {ok, Foreign};
        #{Tracer := _} -> {error, {not_supported, {shared, Tracer}}};
        _ -> {ok, Foreign#{Tracer => {Slot, false}}}
    end.

%% @doc Sets flags, for what the session has its tracer. Among many, those that
%% others trace are left out.
-spec change(process | port, term(), {tracer(), [atom()]}, foreign()) ->
          {ok, non_neg_integer()} |
          {error, badarg | other_tracer | {not_supported, term()} |
                  {already_traced, term(), term()}}.
change(process, Pid, Change, Foreign) when is_pid(Pid), node(Pid) =:= node() ->
    one(Pid, Change, traced_by(Pid), Foreign);
change(port, Port, Change, Foreign)
  when is_port(Port), node(Port) =:= node() ->
    one(Port, Change, traced_by(Port), Foreign);
change(Kind, What, Change, Foreign) ->
    case meant(Kind, What) of
        error -> {error, badarg};
        {VM, New} -> some(VM, New, Change, traced_by(New), Foreign)
    end.

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

%% Those that will be must be nobody's; of those that are the VM leaves out
%% what is traced already.
some(VM, none, {Tracer, Flags}, _, _Foreign) ->
    set(VM, Tracer, Flags);
some(VM, New, Change, By, Foreign) ->
    case one(New, Change, By, Foreign) of
        {ok, _} when VM =:= New -> {ok, 0};
        {ok, _} -> set(VM, element(1, Change), element(2, Change));
        {error, _} = E -> E
    end.

set(What, {Module, State}, Flags) ->
    try {ok, erlang:trace(What, true, [{tracer, Module, State} | Flags])}
    catch error:badarg -> {error, badarg}
    end.

%% In the VM's words; and what those that will be are called, if they are meant.
meant(Kind, all) -> {element(of_kind(Kind), {processes, ports}), new(Kind)};
meant(Kind, existing) ->
    {element(of_kind(Kind), {existing_processes, existing_ports}), none};
meant(Kind, new) -> {new(Kind), new(Kind)};
meant(process, processes) -> meant(process, all);
meant(process, existing_processes) -> meant(process, existing);
meant(process, new_processes) -> meant(process, new);
meant(port, ports) -> meant(port, all);
meant(port, existing_ports) -> meant(port, existing);
meant(port, new_ports) -> meant(port, new);
meant(_, _) -> error.

of_kind(process) -> 1;
of_kind(port) -> 2.

new(process) -> new_processes;
new(port) -> new_ports.

%% @doc Clears flags where a session has a tracer of its own. How many have
%% had one.
-spec clear(process | port, term(), {slot(), [atom()]}, foreign()) ->
          non_neg_integer().
clear(Kind, What, {Slot, Flags}, Foreign) ->
    case uses(Slot, Foreign) of
        true ->
            lists:sum([clear_one(T, Flags, is_atom(T))
                       || T <- tracees(Kind, What),
                          slot(T, Foreign) =:= Slot]);
        false ->
            0
    end.

tracees(_, T) when is_pid(T); is_port(T) ->
    [T];
tracees(Kind, What) ->
    case {Kind, meant(Kind, What)} of
        {_, error} -> [];
        {_, {New, New}} -> [New];
        {_, {_, none}} -> existing(Kind);
        {_, {_, New}} -> [New | existing(Kind)]
    end.

existing(process) -> processes();
existing(port) -> erlang:ports().

clear_one(Tracee, Flags, IsNew) ->
    try erlang:trace(Tracee, false, Flags) of
        _ when IsNew -> 0;
        N -> N
    catch
        error:badarg -> 0
    end.

%% @doc The session whose tracer the VM calls for this one.
-spec slot(inviso_engine:tracee(), foreign()) -> slot() | none.
slot(_Tracee, Foreign) when map_size(Foreign) =:= 0 ->
    none;
slot(Tracee, Foreign) ->
    case maps:get(traced_by(Tracee), Foreign, none) of
        {Slot, _} -> Slot;
        none -> none
    end.

traced_by(none) ->
    [];
traced_by(Tracee) ->
    case erlang:trace_info(Tracee, tracer) of
        {tracer, Tracer} -> Tracer;
        undefined -> undefined
    end.

%% @doc Whether a tracer of the session may be told of calls.
-spec calls(slot(), foreign()) -> boolean().
calls(Slot, Foreign) ->
    lists:member({Slot, true}, maps:values(Foreign)).

%% @doc The tracer is, if the flags say so.
-spec told_calls(tracer(), [atom()], foreign()) -> foreign().
told_calls(Tracer, Flags, Foreign) ->
    #{Tracer := {Slot, Calls}} = Foreign,
    Foreign#{Tracer := {Slot, Calls orelse lists:member(call, Flags)}}.

%% @doc Finds that out anew, after `call' has been cleared.
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

%% @doc Clears all that a session has set.
-spec forget(slot(), foreign()) -> foreign().
forget(Slot, Foreign) ->
    _ = [clear_one(T, [all], true)
         || T <- owned(Slot, Foreign), slot(T, Foreign) =:= Slot],
    maps:filter(fun(_Tracer, {S, _}) -> S =/= Slot end, Foreign).
