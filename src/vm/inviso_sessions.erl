%% SPDX-License-Identifier: Apache-2.0
%% @doc The behaviour of modules that provide trace sessions: {@link
%% inviso_vm_sessions}, and `inviso_engine_sessions' on OTP 25 and 26. {@link
%% inviso_scope} chooses one of them.
%%
%% The callbacks return `{error, Reason}' and never raise an error.
-module(inviso_sessions).

-export_type([session/0, handle/0, tracer/0, kind/0, counter/0, procs/0,
              mfa_spec/0, match_spec/0, count/0]).

-type session() :: {term(), handle()}.
%% The first element of a session() keeps the session alive.
-type handle() :: {atom(), term()}.
-type tracer() :: pid() | {module(), term()}.
-type kind() :: global | local | meta | counter().
-type counter() :: call_count | call_time | call_memory.
-type procs() :: all | new | existing | pid().
%% `restart' and `pause' are for counters that are set: `restart' sets a counter to
%% zero and starts it, `pause' stops it.
-type match_spec() :: boolean() | list() | restart | pause.
-type mfa_spec() :: {module() | '_', atom(), arity() | '_'}.
-type count() :: {ok, non_neg_integer()} | {error, term()}.

-callback create(atom(), tracer()) -> {ok, session()} | {error, term()}.

%% Ends a session and clears what it has set, even if the session's process was
%% killed. Also returns `ok' if the session has ended already.
-callback destroy(session() | handle()) -> ok | {error, term()}.

%% Says that the session will soon set the flag `call'. If patterns are in the VM only
%% while a process has this flag, sets some of them in the VM now, so that setting the
%% flag takes little time. The first argument `After' is `first'. If the result is not
%% `done', the caller must call again with the result.
-callback expect_calls(session(), first | {'after', module()}) ->
    {ok, done | {'after', module()}} | {error, term()}.

-callback process(session(), procs(), boolean(), [atom()]) -> count().

%% Sets flags on some processes of this node. The caller must have called {@link
%% inviso_defects:gc_elsewhere/2} for these processes. Dead processes are left out.
-callback processes(session(), [pid()], [atom()]) -> ok | {error, term()}.

-callback port(session(), all | new | port(), boolean(), [atom()]) -> count().

-callback function(session(), mfa_spec(), match_spec(), kind()) -> count().

-callback messages(session(), send | 'receive', match_spec()) -> count().

%% Returns an item of `trace:info/3'.
-callback info(session() | handle(), pid() | port() | mfa() | atom(), atom()) ->
    {ok, undefined | {atom(), term()}} | {error, term()}.

%% Returns the sessions that affect a process, port or function. For `all' it
%% returns all sessions.
-callback sessions_of(pid() | port() | mfa() | atom()) -> [handle()].

%% Takes a function, a match spec that erlang:trace_info/2 shows, or a tracer.
%% Returns true if a session, and not another tool, has set the function's pattern,
%% this match spec or this tracer. Only VMs without trace sessions need this check,
%% because there all tools share these settings.
-callback is_ours(mfa() | {match_spec, term()} | {tracer, term()}) -> boolean().

%% Returns the processes that provide the sessions. They must end before inviso's
%% code can be removed.
-callback server_processes() -> [pid()].

%% Monitors the process that provides the sessions. If this process dies, its
%% sessions end, and the caller gets a `DOWN' message with the returned reference.
%% `none' means that there is no such process: the VM itself provides the sessions.
-callback watch() -> reference() | none.

%% Clears the flags and patterns that the process which watch/0 monitors left in
%% the VM when it was killed. Does nothing if another such process is running.
-callback server_gone() -> ok.

%% Explains an error reason and says what the user can do instead. Returns
%% `none' if the reason is not known.
-callback explain(term()) -> none | iolist().
