%% SPDX-License-Identifier: Apache-2.0
%% @doc Requests to the server of the trace sessions of OTP 25 and 26, which is
%% started where there is none.
%%
%% Requests and answers are tagged so that nobody sees them in a trace.
-module(inviso_engine_request).

-export([ask/1, open/3, info/1]).

-export_type([weak/0, session/0]).

-type weak() :: {atom(), non_neg_integer()}.
-type session() :: {reference(), weak()} | weak().
-type answer() :: {ok, term()} | {error, term()}.

-define(SERVER, inviso_engine_server).
-define(TAG, '$inviso_engine').
-define(TIMEOUT, 60000).

%% @doc Opens a session.
-spec open(atom(), term(), []) -> answer().
open(Name, Named, []) when is_atom(Name) ->
    case Named =:= undefined orelse inviso_engine_tracer:check(Named) of
        true ->
            open(Name, undefined);
        {ok, Tracer} ->
            open(Name, Tracer);
        {error, _} = E ->
            E
    end;
open(_, _, _) ->
    {error, badarg}.

open(Name, Tracer) ->
    case inviso_engine:load() of
        ok -> ask_started({open, Name, Tracer}, 5);
        {error, _} = E -> E
    end.

%% @doc The sessions that affect something; there may be none at all.
-spec info(term()) -> answer().
info(PidPortFuncEvent) ->
    %% To find that it is loaded takes longer than the answer.
    case whereis(?SERVER) =/= undefined orelse inviso_engine:load() of
        Ok when Ok =:= true; Ok =:= ok ->
            ask_started({info, PidPortFuncEvent}, 5);
        {error, _} = E ->
            E
    end.

%% The server ends when it has answered and has no session, maybe just now.
ask_started(_Request, 0) ->
    {error, system_limit};
ask_started(Request, Left) ->
    start(),
    case ask(Request) of
        {error, session} -> ask_started(Request, Left - 1);
        Answer -> Answer
    end.

start() ->
    Self = self(),
    Tag = make_ref(),
    case whereis(?SERVER) of
        undefined ->
            {Pid, Monitor} = spawn_monitor(?SERVER, run, [Self, Tag]),
            receive
                {?TAG, Tag, ready} -> demonitor(Monitor, [flush]);
                {'DOWN', Monitor, process, Pid, _} -> true
            end;
        _ ->
            true
    end.

%% @doc Asks the server; without one there is no session. It is not to hold a
%% handle, not even in its garbage.
-spec ask(term()) -> answer().
ask({{Ref, Weak}, Request}) when is_reference(Ref) ->
    ask({Weak, Request});
ask(Request) ->
    case whereis(?SERVER) of
        undefined ->
            {error, session};
        Server ->
            Ref = monitor(process, Server, [{alias, reply_demonitor}]),
            Server ! {?TAG, Ref, self(), Request},
            receive
                {?TAG, Ref, Answer} -> Answer;
                {'DOWN', Ref, process, _, _} -> {error, session}
            after ?TIMEOUT ->
                    demonitor(Ref, [flush]),
                    {error, timeout}
            end
    end.
