%% SPDX-License-Identifier: Apache-2.0
%% @doc An entry is what one session has set on one function. Requests of
%% `trace:function/4' edit it, and requests of `trace:info/3' show it.
-module(inviso_engine_entry).

-export([parse/3, edit/3, keep/4, attribute/4, is_global/1, counts/2, info/3,
         source/1]).

-export_type([entry/0, action/0, kind/0, meta/0]).

-type slot() :: inviso_engine:slot().
-type how() :: on | off | restart | pause.
-type kind() :: local | meta | inviso_engine_counters:kind().
-type action() :: {how(), global | [kind()], inviso_engine_spec:match_spec()}.
%% The tracer that gets meta traced calls, and its number. The number is 0 if the
%% tracer is the session's own.
-type meta() :: {inviso_engine_tracer:tracer(), inviso_engine:tracer()}.
-type entry() :: #{call => {global | local, inviso_engine_spec:match_spec()},
                   meta => {inviso_engine_spec:match_spec(), meta()},
                   inviso_engine_counters:kind() =>
                       inviso_engine_counters:counter() | true}.

-define(ITEMS, [traced, match_spec, meta, meta_match_spec, call_memory,
                call_time, call_count]).

%% @doc Checks the arguments of `trace:function/4'.
-spec parse(term(), term(), term()) -> {ok, action()} |
          {error, badarg | system_limit | {not_supported, term()}
                  | inviso_seq_labels:unsafe()}.
parse(MFA, MS, Flags) ->
    case {is_mfa_spec(MFA), how(MS), kinds(Flags, [], MS)} of
        {true, {How, Spec}, {ok, Kinds}} -> parsed({How, Kinds, Spec});
        _ -> {error, badarg}
    end.

%% Checks the match spec. Counters cannot have a match spec.
parsed({_, _, true} = Action) ->
    {ok, Action};
parsed({on, Kinds, MS} = Action) ->
    case Kinds =:= global orelse lists:member(local, Kinds)
        orelse lists:member(meta, Kinds) of
        true ->
            case inviso_engine_spec:check(MS, function) of
                ok -> {ok, Action};
                {error, _} = E -> E
            end;
        false ->
            {error, badarg}
    end.

is_mfa_spec(on_load) -> true;
is_mfa_spec({M, F, A}) when is_atom(M), is_atom(F) ->
    (A =:= '_' orelse is_integer(A))
        andalso (M =/= '_' orelse F =:= '_')
        andalso (F =/= '_' orelse A =:= '_');
is_mfa_spec(_) -> false.

how(true) -> {on, true};
how([]) -> {on, true};
how(false) -> {off, true};
how(restart) -> {restart, true};
how(pause) -> {pause, true};
how(MS) when is_list(MS) -> {on, MS};
how(_) -> none.

%% Returns the kinds in the order in which edit/3 sets them. Counters are last,
%% because `pause' and `restart' of a counter do nothing while the entry is empty.
kinds([], [], _) ->
    {ok, global};
kinds([], Kinds, _) ->
    {ok, [K || K <- [local, meta | inviso_engine_counters:kinds()],
               lists:member(K, Kinds)]};
kinds([global | Flags], [], _) ->
    case lists:all(fun(Flag) -> Flag =:= global end, Flags) of
        true -> {ok, global};
        false -> error
    end;
kinds([Kind | Flags], Kinds, MS) when Kind =:= local; Kind =:= meta ->
    kinds(Flags, [Kind | Kinds], MS);
%% A counter that this VM does not have can be turned off, but not on.
kinds([Kind | Flags], Kinds, MS)
  when Kind =:= call_count; Kind =:= call_time; Kind =:= call_memory ->
    case MS =:= false orelse inviso_engine_counters:exists(Kind) of
        true -> kinds(Flags, [Kind | Kinds], MS);
        false -> error
    end;
kinds(_, _, _) ->
    error.

%% @doc Edits an entry as `trace:function/4' of OTP 27 does. The result depends on
%% whether the function is exported, and on the function's state in the VM. The slot
%% is the session's. `on_load' means functions of modules that will be loaded.
-spec edit(entry(), {how(), global | [kind()],
                     {inviso_engine_spec:match_spec(), meta()}},
           {Exported :: boolean(), {slot(), mfa()} | on_load,
            inviso_engine_breakpoints:state()}) -> entry().
edit(#{call := {global, _}} = E, {off, global, _}, _) ->
    maps:remove(call, E);
edit(E, {off, global, _}, _) ->
    E;
edit(E, {off, Kinds, _}, _) ->
    maps:without([case K of local -> call; _ -> K end || K <- Kinds,
                  K =/= local orelse not is_global(E)], E);
edit(_, {_, global, {MS, _}}, {true, _, _}) ->
    #{call => {global, MS}};
edit(_, {_, global, _}, {false, _, _}) ->
    #{};
edit(E0, {How, Kinds, {MS, Tracer}}, {_, Where, State}) ->
    E = case is_global(E0) of
            true -> maps:remove(call, E0);
            false -> E0
        end,
    lists:foldl(fun(local, Acc) -> Acc#{call => {local, MS}};
                   (meta, Acc) -> Acc#{meta => {MS, Tracer}};
                   (Counter, Acc) -> count(Counter, How, Acc, Where, State)
                end, E, Kinds).

%% @doc Returns true if the session traces the function globally.
-spec is_global(entry()) -> boolean().
is_global(#{call := {global, _}}) -> true;
is_global(_) -> false.

count(Kind, on, E, on_load, _) ->
    E#{Kind => true};
count(_, _, E, on_load, _) ->
    E;
%% An empty entry has no counters that `pause' or `restart' could change.
count(_, How, E, _, _) when map_size(E) =:= 0, How =/= on ->
    E;
count(Kind, pause, E, {Slot, MFA}, State) when is_map_key(Kind, E) ->
    E#{Kind => inviso_engine_counters:pause(
                 Slot, maps:get(Kind, E),
                 {Kind, MFA, is_map_key(Kind, State)})};
count(Kind, _, E, {_, MFA}, State) ->
    E#{Kind => inviso_engine_counters:start(
                 Kind, {MFA, is_map_key(Kind, State)})}.

%% @doc Returns the entries of a function. A counter that is in the state `Old', but
%% not in `New', is about to be removed from the VM. So its value is added to the
%% entries first.
-spec keep(mfa(), inviso_engine_breakpoints:state(),
           inviso_engine_breakpoints:state(), Sessions) -> Sessions
              when Sessions :: [{slot(), entry()}].
keep(MFA, Old, New, Sessions) ->
    case [K || K <- inviso_engine_counters:kinds(), is_map_key(K, Old),
               not is_map_key(K, New)] of
        [] ->
            Sessions;
        Kinds ->
            [{Slot, lists:foldl(fun(K, Acc) -> keep_one(K, MFA, Slot, Acc) end,
                                E, Kinds)}
             || {Slot, E} <- Sessions]
    end.

keep_one(Kind, MFA, Slot, E) ->
    case E of
        #{Kind := Counter} ->
            E#{Kind => inviso_engine_counters:keep(Slot, Counter, {Kind, MFA})};
        _ ->
            E
    end.

%% @doc Returns the entries of a function, after times of processes were attributed
%% to other sessions. Reads a counter of the VM only if a session that has got or lost
%% such times uses this counter.
-spec attribute(mfa(), inviso_engine_breakpoints:state(),
                #{slot() => inviso_engine_times:moved()}, Sessions) -> Sessions
              when Sessions :: [{slot(), entry()}].
attribute(MFA, State, Moved, Sessions) ->
    lists:foldl(fun(Kind, Acc) -> attribute_one(Kind, MFA, Moved, Acc) end,
                Sessions, [K || K <- inviso_engine_counters:by_process(),
                                is_map_key(K, State)]).

attribute_one(Kind, MFA, Moved, Sessions) ->
    case [Slot || {Slot, E} <- Sessions, is_map_key(Slot, Moved), counts(Kind, E)] of
        [] ->
            Sessions;
        Slots ->
            Reading = inviso_engine_counters:reading(Kind, {MFA, true}),
            [case lists:member(Slot, Slots) of
                 true -> {Slot, attributed(Kind, maps:get(Slot, Moved), Reading, E)};
                 false -> Session
             end || {Slot, E} = Session <- Sessions]
    end.

attributed(Kind, Moved, Reading, E) ->
    E#{Kind := inviso_engine_counters:attribute(maps:get(Kind, E), Moved,
                                                Reading)}.

%% @doc Returns true if the VM has to count for this entry.
-spec counts(inviso_engine_counters:kind(), entry()) -> boolean().
counts(Kind, Entry) ->
    case Entry of
        #{Kind := Counter} -> inviso_engine_counters:is_running(Counter);
        _ -> false
    end.

%% @doc Returns an item of `trace:info/3'. The entry must not be empty.
-spec info(term(), entry(),
           on_load | {slot(), mfa(), inviso_engine_breakpoints:state()}) ->
          {term(), term()} | badarg.
info(all, E, on_load) ->
    {all, [{K, item(K, E, on_load)}
           || K <- [traced, match_spec, meta, meta_match_spec, call_count]]};
info(all, E, Where) ->
    {all, [{K, item(K, E, Where)} || K <- ?ITEMS]};
info(meta, E, Where) when Where =/= on_load, not is_map_key(meta, E) ->
    {meta, []};
info(Item, E, Where) ->
    case lists:member(Item, ?ITEMS) of
        true -> {Item, item(Item, E, Where)};
        false -> badarg
    end.


item(traced, E, _) ->
    case E of
        #{call := {Kind, _}} -> Kind;
        _ -> false
    end;
item(match_spec, #{call := {_, MS}}, _) ->
    source(MS);
item(meta, #{meta := {_, {Tracer, Number}}}, _) ->
    %% As in OTP 27, a dead meta tracer is shown until the first call that would
    %% have been sent to this tracer.
    case inviso_engine_tracer:is_alive(Tracer)
        orelse Number =/= 0 andalso not inviso_engine:missed(Number) of
        true -> Tracer;
        false -> []
    end;
item(meta_match_spec, #{meta := {MS, _}}, _) ->
    source(MS);
item(Kind, E, Where) ->
    case E of
        #{Kind := true} ->
            true;
        #{Kind := Counter} when Kind =/= meta ->
            {Slot, MFA, State} = Where,
            inviso_engine_counters:show(
              Kind, inviso_engine_counters:value(
                      Slot, Counter, {Kind, MFA, is_map_key(Kind, State)}));
        _ ->
            false
    end.

%% @doc Returns a match spec in the form in which `erlang:trace_info/2' shows it.
-spec source(inviso_engine_spec:match_spec()) -> [tuple()].
source(true) -> [];
source(MS) -> MS.
