%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends requests to the server that provides trace sessions on OTP 25 and 26.
%% If the server is not running, open/3 and info/1 start it.
%%
%% Requests and answers have a tag. The callbacks of the engine recognize the tag, and
%% keep these messages out of traces.
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

%% @doc Returns the sessions that affect a process, port, function or event.
-spec info(term()) -> answer().
info(PidPortFuncEvent) ->
    %% This test comes first: even if the NIF library is loaded already,
    %% inviso_engine:load/0 takes longer than the request itself.
    case whereis(?SERVER) =/= undefined orelse inviso_engine:load() of
        Ok when Ok =:= true; Ok =:= ok ->
            ask_started({info, PidPortFuncEvent}, 5);
        {error, _} = E ->
            E
    end.

%% Sends a request to a running server. The server ends when it has answered a
%% request and has no session. If it has ended just before this request arrives,
%% starts another server and tries again, a few times at most.
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

%% @doc Sends a request to the server and returns its answer. `{error, session}'
%% means that no server is running, so there is no session. The handle's reference
%% is not sent: a copy of it on the server's heap, even as garbage, would keep the
%% session alive.
-spec ask(term()) -> answer().
ask({{Ref, Weak}, Request}) when is_reference(Ref) ->
    ask({Weak, Request});
ask(Request) ->
    case whereis(?SERVER) of
        undefined ->
            {error, session};
        Server ->
            Ref = monitor(process, Server, [{alias, reply_demonitor}]),
            Ms = inviso_deadline:ms(?TIMEOUT),
            Server ! {?TAG, Ref, self(), Request},
            receive
                {?TAG, Ref, Answer} -> Answer;
                {'DOWN', Ref, process, _, _} -> {error, session}
            after Ms ->
                    demonitor(Ref, [flush]),
                    {error, timeout}
            end
    end.
