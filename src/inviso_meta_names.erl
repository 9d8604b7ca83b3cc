%% SPDX-License-Identifier: Apache-2.0
%% @doc The functions that give names to processes, to be meta traced: match
%% specs, and call and return functions of {@link inviso_rt_meta}.
%%
%% What is noted first are the names that there are already (see
%% docs/decisions/0302): a call that set one of them may still wait to be seen,
%% and is then passed over.
-module(inviso_meta_names).

-export([local/0, global/0, noted/1]).

-export_type([noted/0]).

-type noted() :: {erlang:timestamp(), #{term() => pid()}}.
-type functions() :: {void, term(), term(), void}.

%% @doc register/2 and unregister/1: function, match spec, functions.
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

%% @doc What the server of global names does when one is set or goes.
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

%% @doc The names that processes of this node have at this moment, and the
%% records that say so.
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

%% Of a simulated call it is not known.
stamp(void) -> erlang:timestamp();
stamp(TS) -> TS.

%% The time is that of the call, but the record is written when the call has
%% returned normally.
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

%% Every node's server hears of it; the process is of one.
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
