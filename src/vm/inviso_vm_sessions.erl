%% SPDX-License-Identifier: Apache-2.0
%% @doc Implements the behaviour {@link inviso_sessions} with the VM's own trace
%% sessions: OTP's module `trace', from OTP 27 on.
-module(inviso_vm_sessions).

-behaviour(inviso_sessions).

-export([create/2, destroy/1, expect_calls/2, process/4, processes/3, port/4, function/4,
         messages/3, info/3, sessions_of/1, is_ours/1, server_processes/0, watch/0,
         server_gone/0, explain/1]).

%% @private
create(Name, Tracer) ->
    tried(fun() -> trace:session_create(Name, Tracer, []) end).

%% @private
destroy(Session) ->
    case tried(fun() -> trace:session_destroy(Session) end) of
        {ok, _} -> ok;
        {error, _} = E -> E
    end.

%% @private
expect_calls(_, _) ->
    {ok, done}.

%% @private
process(Session, Procs, How, Flags) ->
    tried(fun() -> trace:process(Session, Procs, How, Flags) end).

%% @private
processes(_, [], _) ->
    ok;
processes({_, Handle} = Session, [Pid | Pids], Flags) ->
    case inviso_defects:has_gc_elsewhere(Handle, Pid, Flags) orelse
        process(Session, Pid, true, Flags) of
        true -> {error, {gc_traced_in_another_session, Pid}};
        {error, Reason} when Reason =/= badarg -> {error, Reason};
        _ -> processes(Session, Pids, Flags)
    end.

%% @private
port(Session, Ports, How, Flags) ->
    tried(fun() -> trace:port(Session, Ports, How, Flags) end).

%% @private
function(Session, MFA, MS, Kind) ->
    tried(fun() -> trace:function(Session, MFA, MS, [Kind]) end).

%% @private
messages(Session, send, MS) ->
    tried(fun() -> trace:send(Session, MS, []) end);
messages(Session, 'receive', MS) ->
    tried(fun() -> trace:recv(Session, MS, []) end).

%% @private
info(Session, What, Item) ->
    tried(fun() -> trace:info(Session, What, Item) end).

%% @private
sessions_of(What) ->
    case trace:session_info(What) of
        Sessions when is_list(Sessions) -> Sessions;
        undefined -> []
    end.

%% Returns false, because each trace session of the VM has its own patterns, match
%% specs and tracer.
%% @private
is_ours(_) -> false.

%% @private
server_processes() -> [].

%% @private
watch() -> none.

%% @private
server_gone() -> ok.

%% @private
explain(_) -> none.

tried(F) ->
    try
        {ok, F()}
    catch
        error:Reason -> {error, Reason}
    end.
