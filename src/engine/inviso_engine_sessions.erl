%% SPDX-License-Identifier: Apache-2.0
%% @doc Implements the behaviour {@link inviso_sessions} with the sessions of the
%% engine. The rest of inviso calls the engine only through this module.
-module(inviso_engine_sessions).

-behaviour(inviso_sessions).

-export([create/2, destroy/1, expect_calls/2, process/4, processes/3, port/4, function/4,
         messages/3, info/3, sessions_of/1, is_ours/1, server_processes/0, watch/0,
         server_gone/0, explain/1]).

%% @private
create(Name, Tracer) ->
    answer(inviso_engine_request:open(Name, Tracer, [])).

%% @private
destroy(Session) ->
    case inviso_engine_request:ask({Session, destroy}) of
        {ok, true} -> ok;
        {error, session} -> server_gone();
        {error, _} = E -> E
    end.

%% @private
expect_calls(Session, After) ->
    ask({Session, {expect_calls, After}}).

%% @private
process(Session, Procs, How, Flags) ->
    ask({Session, {process, Procs, How, Flags}}).

%% @private
processes(Session, Pids, Flags) ->
    case ask({Session, {processes, Pids, Flags, 0}}) of
        {ok, _} -> ok;
        {error, _} = E -> E
    end.

%% @private
port(Session, Ports, How, Flags) ->
    ask({Session, {port, Ports, How, Flags}}).

%% @private
function(Session, MFA, MS, Kind) ->
    ask({Session, {function, MFA, MS, [Kind]}}).

%% @private
messages(Session, Event, MS) ->
    ask({Session, {Event, MS, []}}).

%% @private
info(Session, What, Item) ->
    ask({Session, {info, What, Item}}).

%% @private
sessions_of(What) ->
    case is_running() andalso inviso_engine_request:info(What) of
        {ok, Sessions} when is_list(Sessions) -> Sessions;
        _ -> []
    end.

%% @private
is_ours({tracer, Tracer}) ->
    inviso_engine_flags:is_any_engine(Tracer);
is_ours({match_spec, _} = MS) ->
    inviso_engine_spec:is_ours(MS);
is_ours(MFA) ->
    %% There may be many functions, so the server is asked only if the pattern does
    %% not show that a session has set it.
    is_running()
        andalso (inviso_engine_breakpoints:is_ours(MFA)
                 orelse sessions_of(MFA) =/= []).

is_running() ->
    whereis(inviso_engine_server) =/= undefined.

%% Returns the server and its heir. If the server is killed, the heir starts the
%% next server.
%% @private
server_processes() ->
    [P || Name <- [inviso_engine_server, inviso_engine_heir],
          P <- [whereis(Name)], is_pid(P)].

%% @private
watch() ->
    monitor(process, inviso_engine_server).

%% Starts the next server, which first clears the flags and patterns that the last
%% server has left.
%% @private
server_gone() ->
    _ = case is_running() orelse create(inviso_count, self()) of
            {ok, Session} -> inviso_engine_request:ask({Session, destroy});
            _ -> ok
        end,
    ok.

%% @private
explain(Reason) -> inviso_trace_errors:text(Reason).

ask(Request) ->
    answer(inviso_engine_request:ask(Request)).

answer({error, Reason}) -> {error, inviso_trace_errors:reason(Reason)};
answer(Answer) -> Answer.
