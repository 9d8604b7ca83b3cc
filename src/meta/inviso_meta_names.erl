%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists the functions that the meta tracer ({@link inviso_rt_meta}) traces
%% to record the names of processes, with their match specs, call functions and
%% return functions.
%%
%% The names that exist when tracing begins are recorded at once
%% (docs/decisions/0302). A trace message about the call that set one of these
%% names may arrive later. Such a message is ignored, because the name is already
%% recorded.
-module(inviso_meta_names).

-export([local/0, global/0, noted/1]).

-export_type([noted/0]).

-type noted() :: {erlang:timestamp(), #{term() => pid()}}.
-type functions() :: {void, term(), term(), void}.

%% @doc Returns what to trace for registered names: the functions register/2 and
%% unregister/1, each with its match spec and the functions to run at a call.
-spec local() -> [{mfa(), list(), fun((noted()) -> functions())}].
local() ->
    [{{erlang, register, 2}, [{'_', [], [{exception_trace}]}],
      fun(Noted) ->
              Return = fun(P, Event, Publ) ->
                               registered(P, Event, Publ, Noted)
                       end,
              {void, fun registering/3, Return, void}
      end},
     {{erlang, unregister, 1}, [],
      fun(_) -> {void, fun unregistering/3, void, void} end}].

%% @doc Returns what to trace for global names: functions of the module global.
-spec global() -> [{mfa(), list(), fun((noted()) -> functions())}].
global() ->
    [{{global, handle_call, 3},
      [{[{register, '_', '_', '_'}, '_', '_'], [], []}],
      fun(Noted) ->
              Call = fun(P, Event, Publ) ->
                             global_register(P, Event, Publ, Noted)
                     end,
              {void, Call, void, void}
      end},
     {{global, delete_global_name, 2}, [],
      fun(_) -> {void, fun global_delete/3, void, void} end}].

%% @doc Returns the current names of this node's processes with the time, and for
%% each name a record for the ti file.
-spec noted(local | global) -> {noted(), [binary()]}.
noted(Kind) ->
    Now = erlang:timestamp(),
    Names = [{Name, Pid} || {Name, Pid} <- names(Kind), is_pid(Pid),
                            node(Pid) =:= node()],
    {{Now, maps:from_list(Names)},
     [alias(Pid, Name, Now) || {Name, Pid} <- Names]}.

names(local) ->
    [{N, whereis(N)} || N <- registered()];
names(global) ->
    [{{global, N}, global:whereis_name(N)} || N <- global:registered_names()].

alias(Pid, Name, TS) -> term_to_binary({Pid, Name, alias, stamp(TS)}).

unalias(Who, Name, TS) -> term_to_binary({Who, Name, unalias, stamp(TS)}).

%% Returns the time of a call. A simulated call (metacast) has the time `void',
%% for which the present time is returned.
stamp(void) -> erlang:timestamp();
stamp(TS) -> TS.

%% Stores a call of register/2. The record for the ti file contains the time of
%% this call, but is written only when the call has returned `true'.
registering(Caller, {call, [Name, Pid], TS}, Publ)
  when is_atom(Name), is_pid(Pid) ->
    Pending = lists:keydelete(Caller, 1, inviso_meta_publ:register(Publ)),
    Entry = {Caller, {Name, Pid}, TS},
    {ok, inviso_meta_publ:register([Entry | Pending], Publ), void};
registering(_Caller, _, Publ) ->
    {ok, Publ, void}.

registered(Caller, Event, Publ, Noted) ->
    Pending = inviso_meta_publ:register(Publ),
    case lists:keytake(Caller, 1, Pending) of
        {value, {_, {Name, Pid}, TS}, Rest} ->
            Output = case Event of
                         {return_from, true, _} -> named(Pid, Name, TS, Noted);
                         _ -> void
                     end,
            {ok, inviso_meta_publ:register(Rest, Publ), Output};
        false ->
            {ok, Publ, void}
    end.

named(Pid, Name, TS, {Since, Names}) ->
    case Names of
        #{Name := Pid} when TS < Since -> void;
        #{} -> alias(Pid, Name, TS)
    end.

unregistering(_Caller, {call, [Name], TS}, Publ) ->
    {ok, Publ, unalias(undefined, Name, TS)};
unregistering(_Caller, _, Publ) ->
    {ok, Publ, void}.

%% Records the name if the process is on this node. Without this check each node
%% would record the name, because the name server of each node handles the call.
global_register(_Server, {call, [{register, Name, Pid, _} | _], TS}, Publ,
                Noted) when is_pid(Pid), node(Pid) =:= node() ->
    {ok, Publ, named(Pid, {global, Name}, TS, Noted)};
global_register(_Server, _, Publ, _Noted) ->
    {ok, Publ, void}.

global_delete(_Server, {call, [Name, Pid], TS}, Publ)
  when is_pid(Pid), node(Pid) =:= node() ->
    {ok, Publ, unalias(Pid, {global, Name}, TS)};
global_delete(_Server, _, Publ) ->
    {ok, Publ, void}.
