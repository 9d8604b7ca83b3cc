%% SPDX-License-Identifier: Apache-2.0
%% @doc What the VM is to have on a function for all sessions together.
-module(inviso_engine_compose).

-export([state/4]).

-export_type([about/0, cache/0]).

-import(inviso_engine_entry, [counts/2, source/1]).

-type slot() :: inviso_engine:slot().
-type state() :: inviso_engine_breakpoints:state().
-type about() :: {Active :: [slot()], Foreign :: [slot()],
                  Callers :: boolean()}.
%% The sessions whose patterns for calls matter; those whose calls the VM tells a
%% tracer module itself; whether match specs have to tell who calls.
-type cache() :: #{term() => state()}.

%% @doc Composes it, once for each of the few combinations that many functions
%% have.
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

%% The VM calls some tracers itself.
by_number({Tracer, Number}) ->
    case inviso_engine_foreign:is_foreign(Tracer) of
        true -> Tracer;
        false -> Number
    end.

%% Where each of the sessions wants all calls, whose they are can be noted.
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

%% An event, and the end of a call, can carry the number of one tracer.
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

%% A global pattern has a function to itself in the VM. Counters give way to it:
%% what it tells is to be exact, and they go on where they were. Beside what is
%% local or meta traced it becomes local, and its session is told of all calls,
%% but those that a function makes of itself: the VM does not know how they are
%% made.
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
