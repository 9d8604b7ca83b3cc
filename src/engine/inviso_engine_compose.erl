%% SPDX-License-Identifier: Apache-2.0
%% @doc Composes the patterns of all sessions for a function into the one pattern
%% that the VM gets.
-module(inviso_engine_compose).

-export([state/4]).

-export_type([about/0, cache/0]).

-import(inviso_engine_entry, [counts/2, source/1]).

-type slot() :: inviso_engine:slot().
-type state() :: inviso_engine_breakpoints:state().
-type about() :: {Active :: [slot()], Foreign :: [slot()],
                  Callers :: boolean()}.
%% In about(), `Active' are the sessions that may get calls. `Foreign' are the
%% sessions whose calls go to a tracer module other than inviso's; the VM calls such
%% a module directly. `Callers' is true if the results of match specs must contain
%% the caller.
-type cache() :: #{term() => state()}.

%% @doc Composes the state of a function: the pattern and counters that the VM gets.
%% Many functions have the same combination of patterns. So the cache stores what was
%% composed for each combination.
-spec state(mfa() | on_load, [{slot(), inviso_engine_entry:entry()}], about(),
            Cache) ->
          {state(), Cache} | {error, system_limit | {not_supported, term()}}
              when Cache :: cache().
state(Where, Sessions, {Active, Foreign, Callers}, Cache) ->
    Calls = [{Slot, Kind, MS} || {Slot, #{call := {Kind, MS}}} <- Sessions,
                                 lists:member(Slot, Active)],
    Metas = [{Slot, MS, by_number(Meta)}
             || {Slot, #{meta := {MS, Meta}}} <- Sessions],
    Counters = [K || K <- inviso_engine_counters:kinds(),
                     not is_global_alone(Calls, Metas),
                     lists:any(fun({_, E}) -> counts(K, E) end, Sessions)],
    Key = {{Calls, [Slot || {Slot, _, _} <- Calls,
                            lists:member(Slot, Foreign)]},
           Metas, Counters, Callers, can_be_plain(Where, Calls)},
    case Cache of
        #{Key := State} ->
            {State, Cache};
        _ ->
            case compose(Key) of
                {error, _} = E -> E;
                State -> {State, Cache#{Key => State}}
            end
    end.

%% Returns the number of a tracer. If the tracer is a module other than inviso's,
%% returns the tracer itself, because the VM calls this module directly.
by_number({Tracer, Number}) ->
    case inviso_engine_foreign:is_foreign(Tracer) of
        true -> Tracer;
        false -> Number
    end.

%% Returns true if no match spec is needed: every session wants all calls, and the
%% NIF library has space to note these sessions.
can_be_plain(on_load, _) -> false;
can_be_plain(_, []) -> false;
can_be_plain({M, F, A}, Calls) ->
    lists:all(fun({_, _, MS}) -> MS =:= true end, Calls)
        andalso inviso_engine:room(M, F, A).

compose({{[{_, Kind, MS}], [_]}, [], [], _, _}) ->
    #{call => {Kind, source(MS)}};
compose({{[{_, local, MS}], [_]}, Metas, Counters, Callers, Plain}) ->
    case compose({{[], []}, Metas, Counters, Callers, Plain}) of
        {error, _} = E -> E;
        State -> State#{call => {local, source(MS)}}
    end;
compose({{_, [_ | _]}, _, _, _, _}) ->
    {error, {not_supported, {shared, calls}}};
compose({{Calls, []}, Metas, Counters, Callers, Plain}) ->
    Others = maps:from_list([{K, true} || K <- Counters]),
    Global = is_global_alone(Calls, Metas),
    case {calls(Calls, Global, Callers, Plain), Metas} of
        {{error, _} = E, _} ->
            E;
        {Call, []} ->
            maps:merge(Call, Others);
        {Call, _} ->
            case meta(Metas) of
                {ok, MS} -> maps:merge(Call#{meta => MS}, Others);
                {error, _} = E -> E
            end
    end.

%% Composes the match spec for meta tracing. All sessions must have the same tracer,
%% because an event can carry the number of one tracer only.
meta([{_, MS, {_, _} = Tracer}]) ->
    {ok, {Tracer, source(MS)}};
meta(Metas) ->
    case lists:usort([Number || {_, _, Number} <- Metas, Number =/= 0]) of
        Numbers when length(Numbers) > 1; is_tuple(hd(Numbers)) ->
            {error, {not_supported, {shared, meta}}};
        Numbers ->
            inviso_engine_spec:compose([{Slot, MS} || {Slot, MS, _} <- Metas],
                                       {meta, lists:sum(Numbers)})
    end.

%% Returns true if the VM gets a global pattern and nothing else. In the VM a
%% function with a global pattern can have no other pattern and no counters. So
%% counters stop while sessions trace the function only globally.
%%
%% If another session traces the function locally or with `meta', the global pattern
%% becomes a local one. The session with the global pattern then gets local and
%% external calls, but no calls in which the function calls itself.
is_global_alone(Calls, Metas) ->
    Metas =:= [] andalso Calls =/= []
        andalso lists:all(fun({_, Kind, _}) -> Kind =:= global end, Calls).

calls([], _, _, _) ->
    #{};
calls([{_, Kind, _} | _] = Calls, Global, Callers, Plain) ->
    Beside = [Slot || {Slot, global, _} <- Calls, not Global],
    Asked = Callers andalso not Global,
    case Plain andalso not Asked andalso Beside =:= [] of
        true ->
            #{call => {Kind, []}};
        false ->
            Specs = [{Slot, MS} || {Slot, _, MS} <- Calls],
            case inviso_engine_spec:compose(Specs, {calls, Asked, Beside}) of
                {ok, MS} when Global -> #{call => {global, MS}};
                {ok, MS} -> #{call => {local, MS}};
                {error, _} = E -> E
            end
    end.
