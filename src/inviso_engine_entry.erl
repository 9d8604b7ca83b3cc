%% SPDX-License-Identifier: Apache-2.0
%% @doc What a session has set on a function: what its calls of function/4 make
%% of it, and what it is told.
-module(inviso_engine_entry).

-export([parse/3, edit/3, keep/4, is_global/1, counts/2, info/3,
         source/1]).

-export_type([entry/0, action/0, kind/0, meta/0]).

-type how() :: on | off | restart | pause.
-type kind() :: local | meta | inviso_engine_counters:kind().
-type action() :: {how(), global | [kind()], inviso_engine_spec:match_spec()}.
%% Who gets meta traced calls; the number is of sessions without a tracer.
-type meta() :: {inviso_engine_tracer:tracer(), inviso_engine:tracer()}.
-type entry() :: #{call => {global | local, inviso_engine_spec:match_spec()},
                   meta => {inviso_engine_spec:match_spec(), meta()},
                   inviso_engine_counters:kind() =>
                       inviso_engine_counters:counter() | true}.

-define(ITEMS, [traced, match_spec, meta, meta_match_spec, call_memory,
                call_time, call_count]).

%% @doc What the arguments of function/4 ask for.
-spec parse(term(), term(), term()) -> {ok, action()} |
          {error, badarg | system_limit | {not_supported, term()}}.
parse(MFA, MS, Flags) ->
    case {is_mfa_spec(MFA), how(MS), kinds(Flags, [], MS)} of
        {true, {How, Spec}, {ok, Kinds}} -> parsed({How, Kinds, Spec});
        _ -> {error, badarg}
    end.

%% Counters have no match spec.
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

%% In this order: a counter asks whether there is something else.
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
%% Whatever there is not can be turned off.
kinds([Kind | Flags], Kinds, MS)
  when Kind =:= call_count; Kind =:= call_time; Kind =:= call_memory ->
    case MS =:= false orelse inviso_engine_counters:exists(Kind) of
        true -> kinds(Flags, [Kind | Kinds], MS);
        false -> error
    end;
kinds(_, _, _) ->
    error.

%% @doc What a session has on a function after such a call, which is what OTP
%% 27's breakpoints make of it. Where it is exported, what the VM has there; of
%% functions that will be, `on_load'.
-spec edit(entry(), {how(), global | [kind()],
                     {inviso_engine_spec:match_spec(), meta()}},
           {Exported :: boolean(), mfa() | on_load,
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

%% @doc Whether its calls are traced globally.
-spec is_global(entry()) -> boolean().
is_global(#{call := {global, _}}) -> true;
is_global(_) -> false.

count(Kind, on, E, on_load, _) ->
    E#{Kind => true};
count(_, _, E, on_load, _) ->
    E;
%% There is no breakpoint of the session yet, and these make none.
count(_, How, E, _, _) when map_size(E) =:= 0, How =/= on ->
    E;
count(Kind, pause, E, MFA, State) when is_map_key(Kind, E) ->
    E#{Kind => inviso_engine_counters:pause(
                 maps:get(Kind, E), {Kind, MFA, is_map_key(Kind, State)})};
count(Kind, _, E, MFA, State) ->
    E#{Kind => inviso_engine_counters:start(
                 Kind, {MFA, is_map_key(Kind, State)})}.

%% @doc What counters are at that the VM is about to forget.
-spec keep(mfa(), inviso_engine_breakpoints:state(),
           inviso_engine_breakpoints:state(), Sessions) -> Sessions
              when Sessions :: [{inviso_engine:slot(), entry()}].
keep(MFA, Old, New, Sessions) ->
    case [K || K <- inviso_engine_counters:kinds(), is_map_key(K, Old),
               not is_map_key(K, New)] of
        [] ->
            Sessions;
        Kinds ->
            [{Slot, lists:foldl(fun(K, Acc) -> keep(K, MFA, Acc) end, E, Kinds)}
             || {Slot, E} <- Sessions]
    end.

keep(Kind, MFA, E) ->
    case E of
        #{Kind := Counter} ->
            E#{Kind => inviso_engine_counters:keep(Counter, {Kind, MFA})};
        _ ->
            E
    end.

%% @doc Whether the VM has to count for it.
-spec counts(inviso_engine_counters:kind(), entry()) -> boolean().
counts(Kind, Entry) ->
    case Entry of
        #{Kind := Counter} -> inviso_engine_counters:is_running(Counter);
        _ -> false
    end.

%% @doc An item of trace:info/3 of what is not empty.
-spec info(term(), entry(),
           on_load | {fun((pid()) -> boolean()), mfa(),
                      inviso_engine_breakpoints:state()}) ->
          {term(), term()} | badarg.
info(all, E, on_load) ->
    {all, [{K, on_load_item(K, E)}
           || K <- [traced, match_spec, meta, meta_match_spec, call_count]]};
info(all, E, Where) ->
    {all, [{K, item(K, E, Where)} || K <- ?ITEMS]};
info(meta, E, Where) when Where =/= on_load, not is_map_key(meta, E) ->
    {meta, []};
info(Item, E, Where) ->
    case lists:member(Item, ?ITEMS) of
        true when Where =:= on_load -> {Item, on_load_item(Item, E)};
        true -> {Item, item(Item, E, Where)};
        false -> badarg
    end.

on_load_item(Item, E) ->
    case item(Item, E, {fun(_) -> true end, {?MODULE, info, 3}, #{}}) of
        {counts, _} -> true;
        Value -> Value
    end.

item(traced, E, _) ->
    case E of
        #{call := {Kind, _}} -> Kind;
        _ -> false
    end;
item(match_spec, #{call := {_, MS}}, _) ->
    source(MS);
item(meta, #{meta := {_, {Tracer, Number}}}, _) ->
    %% The VM gives up a tracer of functions when it is wanted and dead.
    case inviso_engine_tracer:is_alive(Tracer)
        orelse Number =/= 0 andalso not inviso_engine:missed(Number) of
        true -> Tracer;
        false -> []
    end;
item(meta_match_spec, #{meta := {MS, _}}, _) ->
    source(MS);
item(Kind, E, {Wanted, MFA, State}) ->
    case E of
        #{Kind := true} ->
            {counts, true};
        #{Kind := Counter} when Kind =/= meta ->
            inviso_engine_counters:show(
              {Kind, Wanted},
              inviso_engine_counters:value(Counter, Kind,
                                           {MFA, is_map_key(Kind, State)}));
        _ ->
            false
    end.

%% @doc As it was given.
-spec source(inviso_engine_spec:match_spec()) -> [tuple()].
source(true) -> [];
source(MS) -> MS.
