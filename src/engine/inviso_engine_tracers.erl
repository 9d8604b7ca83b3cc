%% SPDX-License-Identifier: Apache-2.0
%% @doc Stores the tracers that sessions use, and gives each a number.
%%
%% A tracer has the same number in all sessions that use it, and callbacks find the
%% tracer by this number. A freed number is used again only after all other numbers
%% have been used.
-module(inviso_engine_tracers).

-export([new/0, take/3, uses/3, drop/2, drop/3, users/2, find/2, used_by/2]).

-export_type([tracers/0]).

-type tracer() :: inviso_engine_tracer:tracer().
-record(used, {number :: inviso_engine:tracer(),
               monitor :: reference() | none,
               slots :: [inviso_engine:slot(), ...]}).
-record(tracers, {used = #{} :: #{tracer() => #used{}},
                  fresh = 1 :: pos_integer(),
                  free = queue:new()
                  :: queue:queue(inviso_engine:tracer())}).
-opaque tracers() :: #tracers{}.

-define(TRACERS_MAX, 4096).

-spec new() -> tracers().
new() ->
    #tracers{}.

%% @doc Adds a tracer to the tracers of a session, and returns the tracer's number.
-spec take(tracer(), inviso_engine:slot(), tracers()) ->
          {ok, inviso_engine:tracer(), tracers()} |
          {error, badarg | system_limit}.
take(Tracer, Slot, #tracers{used = Used} = T) ->
    case Used of
        #{Tracer := #used{number = Number, slots = Slots} = U} ->
            New = U#used{slots = lists:umerge([Slot], Slots)},
            {ok, Number, T#tracers{used = Used#{Tracer := New}}};
        _ ->
            case free(T) of
                {Number, New} -> open(Tracer, Slot, Number, New);
                none -> {error, system_limit}
            end
    end.

%% @doc Returns true if a session uses a tracer.
-spec uses(tracer(), inviso_engine:slot(), tracers()) -> boolean().
uses(Tracer, Slot, #tracers{used = Used}) ->
    case Used of
        #{Tracer := #used{slots = Slots}} -> lists:member(Slot, Slots);
        _ -> false
    end.

free(#tracers{fresh = Number} = T) when Number < ?TRACERS_MAX ->
    {Number, T#tracers{fresh = Number + 1}};
free(#tracers{free = Free0} = T) ->
    case queue:out(Free0) of
        {{value, Number}, Free} -> {Number, T#tracers{free = Free}};
        {empty, _} -> none
    end.

open(Tracer, Slot, Number, #tracers{used = Used} = T) ->
    try inviso_engine:tracer(Number, inviso_engine_tracer:native(Tracer)) of
        ok ->
            U = #used{number = Number, slots = [Slot],
                      monitor = inviso_engine_tracer:monitor(Tracer)},
            {ok, Number, T#tracers{used = Used#{Tracer => U}}}
    catch
        %% The tracer's module was just unloaded, or is of another version.
        error:_ -> {error, badarg}
    end.

%% @doc Removes all tracers of a session.
-spec drop(inviso_engine:slot(), tracers()) -> tracers().
drop(Slot, #tracers{used = Used} = T) ->
    maps:fold(fun(Tracer, _, Acc) -> drop(Tracer, Slot, Acc) end, T, Used).

%% @doc Removes one tracer of a session.
-spec drop(tracer(), inviso_engine:slot(), tracers()) -> tracers().
drop(Tracer, Slot, #tracers{used = Used, free = Free} = T) ->
    case Used of
        #{Tracer := #used{slots = [Slot], number = Number} = U} ->
            _ = is_reference(U#used.monitor)
                andalso demonitor(U#used.monitor, [flush]),
            ok = inviso_engine:tracer(Number, none),
            T#tracers{used = maps:remove(Tracer, Used),
                      free = queue:in(Number, Free)};
        #{Tracer := #used{slots = Slots} = U} ->
            New = U#used{slots = lists:delete(Slot, Slots)},
            T#tracers{used = Used#{Tracer := New}};
        _ ->
            T
    end.

%% @doc Returns the tracer with this number.
-spec find(inviso_engine:tracer(), tracers()) -> tracer() | none.
find(Number, Tracers) ->
    case users(Number, Tracers) of
        {Tracer, _, _} -> Tracer;
        none -> none
    end.

%% @doc Returns the numbers of the tracers that a session uses.
-spec used_by(inviso_engine:slot(), tracers()) -> [inviso_engine:tracer()].
used_by(Slot, #tracers{used = Used}) ->
    [N || #used{number = N, slots = Slots} <- maps:values(Used),
          lists:member(Slot, Slots)].

%% @doc Returns the tracer that has this monitor or number, its number, and the
%% slots of its sessions.
-spec users(reference() | inviso_engine:tracer(), tracers()) ->
          {tracer(), inviso_engine:tracer(), [inviso_engine:slot()]} | none.
users(Key, #tracers{used = Used}) ->
    case [{Tracer, N, Slots}
          || {Tracer, #used{number = N, monitor = M, slots = Slots}}
                 <- maps:to_list(Used),
             Key =:= N orelse Key =:= M] of
        [Found] -> Found;
        [] -> none
    end.
