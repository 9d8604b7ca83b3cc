%% SPDX-License-Identifier: Apache-2.0
%% @doc Trace sessions: OTP's module `trace', on every release.
%%
%% This module has the functions, arguments, messages and errors that OTP 27
%% documents for `trace'. On OTP 27 and later it calls OTP's module. On OTP 25 and
%% 26 the engine provides the sessions ({@link inviso_engine_server}), and {@link
%% install/0} makes this module available under the name `trace' too.
%%
%% The engine refuses what it cannot do, with the error `{not_supported, What}'.
%% There are three cases. An action that changes flags (`silent', `trace',
%% `enable_trace', `disable_trace') is within another expression of a match spec. The
%% match specs of several sessions for one function have too many clauses together.
%% A tracer module, other than {@link inviso_tracer}, would have to share a process,
%% port or function with another session (`{shared, What}').
%%
%% On every release a match spec is refused if it sets a label that could crash the
%% VM ({@link inviso_seq_labels}), with the error `{unsafe_label, Label, Text}'.
%%
%% What another tool traces with `erlang:trace/3' and `erlang:trace_pattern/3' stays
%% as it is: a session gets the error `{already_traced, Pid, Tracer}' or
%% `{already_traced, What}'. If a session asks for all processes, the processes that
%% another tool traces are left out. There are at most 32 sessions (`system_limit').
%%
%% If one session traces a function globally, and another locally or with `meta',
%% the function is traced locally. Then the first session gets local and external
%% calls, but no calls in which the function calls itself. Counters of a function do
%% not count while another session, or another tool, traces the function globally.
%%
%% If several sessions trace local calls, a session may get one superfluous event
%% `return_to' after recursion through functions that are not traced. `{set_tcw, _}'
%% changes the one trace control word of the VM. If a match spec or a link sets a
%% session's flag `call' on a process that another session has traced, the session's
%% `call_time' and `call_memory' may contain earlier calls of this process.
%%
%% The engine has two more limits. If a process with `set_on_link' links to another
%% process, the session misses what the linked process does before it has flags in
%% the VM. (Children have flags from their start.) While another session has
%% `running_procs' set on a process, a session with `running' on this process also
%% gets the events that only `running_procs' should make.
-module(inviso_trace).

-export([session_create/3, session_destroy/1, session_info/1,
         process/4, processes/3, port/4, function/4, send/3, recv/3, info/3,
         delivered/2, install/0]).

-export_type([session/0, match_spec/0]).

-type session() :: inviso_engine_request:session() | term().
%% A session() is the handle of a session. The session lives as long as at least one
%% process has this handle. The handles that {@link session_info/1} returns do not keep the
%% session alive.
-type match_spec() :: [{[term()] | '_' | atom(), [term()], [term()]}].

%% Raises an error. This is a macro, so that the error comes from the function that
%% the user called. inviso_trace_errors explains the error.
-define(RAISE(Why, Args),
        erlang:error(inviso_trace_errors:reason(Why), Args,
                     inviso_trace_errors:info(Why))).
-define(SAFE(MatchSpec, Args),
        case inviso_seq_labels:check(MatchSpec) of
            ok -> ok;
            {error, Unsafe} -> ?RAISE(Unsafe, Args)
        end).
-define(ENGINE(Request, Args),
        case inviso_engine_request:ask(Request) of
            {ok, Result} -> Result;
            {error, Reason} -> ?RAISE(Reason, Args)
        end).

%% @doc Creates a session whose events go to Tracer.
-spec session_create(atom(), pid() | port() | {module(), term()}, []) ->
          session().
session_create(Name, Tracer, Opts) ->
    case native() of
        true ->
            trace:session_create(Name, Tracer, Opts);
        false ->
            case inviso_engine_request:open(Name, Tracer, Opts) of
                {ok, Session} -> Session;
                {error, Reason} -> ?RAISE(Reason, [Name, Tracer, Opts])
            end
    end.

%% @doc Destroys a session with all that it has set. Returns false if the session
%% was destroyed before.
-spec session_destroy(session()) -> boolean().
session_destroy(Session) ->
    case native() of
        true ->
            trace:session_destroy(Session);
        false ->
            case inviso_engine_request:ask({Session, destroy}) of
                {ok, true} ->
                    true;
                {error, Reason} ->
                    case Reason =:= session andalso was(Session) of
                        true -> false;
                        false -> ?RAISE(Reason, [Session])
                    end
            end
    end.

%% Returns true if a term may be the handle of a destroyed session. A handle without
%% a reference is not recognized: the engine knows it only while the session lives.
was({Ref, {Name, Number}}) ->
    is_reference(Ref) andalso is_atom(Name) andalso is_integer(Number);
was(_) ->
    false.

%% @doc Returns the sessions that affect a process, a port, a function or an event.
-spec session_info(all | pid() | port() | new | new_processes | new_ports |
                   mfa() | on_load | send | 'receive') ->
          undefined | [session()].
session_info(PidPortFuncEvent) ->
    case native() of
        true ->
            trace:session_info(PidPortFuncEvent);
        false ->
            case inviso_engine_request:info(PidPortFuncEvent) of
                {ok, Sessions} -> Sessions;
                {error, Reason} -> ?RAISE(Reason, [PidPortFuncEvent])
            end
    end.

%% @doc Turns trace flags of processes on or off. Returns the number of processes
%% that match.
-spec process(session(), pid() | all | existing | new, boolean(), [atom()]) ->
          non_neg_integer().
process(Session, Procs, How, Flags) ->
    case native() of
        true ->
            trace:process(Session, Procs, How, Flags);
        false ->
            ok = inviso_engine_tracer:load(tracer, Flags),
            ?ENGINE({Session, {process, Procs, How, Flags}},
                    [Session, Procs, How, Flags])
    end.

%% @doc Turns trace flags on for each process of a list. Dead processes, and
%% processes that another tool traces, are left out. OTP's module has no such
%% function. The engine refuses a tracer module other than {@link inviso_tracer}:
%% `{not_supported, _}'.
-spec processes(session(), [pid()], [atom()]) -> non_neg_integer().
processes(Session, Pids, Flags) ->
    case {are_local(Pids), native()} of
        {false, _} ->
            ?RAISE(badarg, [Session, Pids, Flags]);
        {true, true} ->
            lists:sum([try trace:process(Session, Pid, true, Flags)
                       catch error:badarg -> 0
                       end || Pid <- Pids]);
        {true, false} ->
            ok = inviso_engine_tracer:load(tracer, Flags),
            ?ENGINE({Session, {processes, Pids, Flags, 0}},
                    [Session, Pids, Flags])
    end.

are_local([Pid | Pids]) when is_pid(Pid), node(Pid) =:= node() ->
    are_local(Pids);
are_local(Rest) ->
    Rest =:= [].

%% @doc Turns trace flags of ports on or off. Returns the number of ports that
%% match.
-spec port(session(), port() | all | existing | new, boolean(), [atom()]) ->
          non_neg_integer().
port(Session, Ports, How, Flags) ->
    case native() of
        true ->
            trace:port(Session, Ports, How, Flags);
        false ->
            ok = inviso_engine_tracer:load(tracer, Flags),
            ?ENGINE({Session, {port, Ports, How, Flags}},
                    [Session, Ports, How, Flags])
    end.

%% @doc Turns tracing of function calls on or off. Returns the number of functions
%% that match.
-spec function(session(), {module(), atom(), arity() | '_'} | on_load,
               match_spec() | boolean() | restart | pause, [atom()]) ->
          non_neg_integer().
function(Session, MFA, MatchSpec, Flags) ->
    case native() of
        true ->
            ok = ?SAFE(MatchSpec, [Session, MFA, MatchSpec, Flags]),
            trace:function(Session, MFA, MatchSpec, Flags);
        false ->
            ok = inviso_engine_tracer:load(meta, Flags),
            ?ENGINE({Session, {function, MFA, MatchSpec, Flags}},
                    [Session, MFA, MatchSpec, Flags])
    end.

%% @doc Sets which sent messages are traced.
-spec send(session(), match_spec() | boolean(), []) -> non_neg_integer().
send(Session, MatchSpec, Flags) ->
    case native() of
        true ->
            ok = ?SAFE(MatchSpec, [Session, MatchSpec, Flags]),
            trace:send(Session, MatchSpec, Flags);
        false ->
            ?ENGINE({Session, {send, MatchSpec, Flags}},
                    [Session, MatchSpec, Flags])
    end.

%% @doc Sets which received messages are traced.
-spec recv(session(), match_spec() | boolean(), []) -> non_neg_integer().
recv(Session, MatchSpec, Flags) ->
    case native() of
        true -> trace:recv(Session, MatchSpec, Flags);
        false -> ?ENGINE({Session, {'receive', MatchSpec, Flags}},
                         [Session, MatchSpec, Flags])
    end.

%% @doc Returns what a session has set on a process, port, function or event.
-spec info(session(), pid() | port() | new | new_processes | new_ports |
                      mfa() | on_load | send | 'receive', atom()) ->
          undefined | {atom(), term()}.
info(Session, PidPortFuncEvent, Item) ->
    case native() of
        true -> trace:info(Session, PidPortFuncEvent, Item);
        false -> ?ENGINE({Session, {info, PidPortFuncEvent, Item}},
                         [Session, PidPortFuncEvent, Item])
    end.

%% @doc Sends the caller `{trace_delivered, Tracee, Ref}' when all events that the
%% process (with `all': all processes) made before this call have reached their
%% tracers.
-spec delivered(session(), pid() | all) -> reference().
delivered(Session, Tracee) ->
    case native() of
        true ->
            trace:delivered(Session, Tracee);
        false ->
            %% As in OTP's function, the session has no effect on the result.
            erlang:trace_delivered(Tracee)
    end.

%% @doc Makes this module available under OTP's name on a release that has no
%% module `trace'. Returns `{error, Why}' if another module of that name is loaded;
%% that module stays.
-spec install() -> ok | {error, {already_loaded, file:filename()}}.
install() ->
    case native() orelse is_installed() of
        true -> ok;
        false ->
            case code:which(trace) of
                non_existing -> install_as(trace);
                Where -> {error, {already_loaded, Where}}
            end
    end.

is_installed() ->
    erlang:function_exported(trace, install, 0).

%% The type spec of beam_lib:all_chunks/1 has a wrong module name in the result.
-dialyzer({[no_match, no_return, no_unused], [install_as/1, renamed/2]}).
%% Loads this module under another name. The first atom of a module's code is the
%% module's name.
install_as(Name) ->
    {?MODULE, Beam, _} = code:get_object_code(?MODULE),
    {ok, ?MODULE, Chunks} = beam_lib:all_chunks(Beam),
    {ok, Renamed} =
        beam_lib:build_module([renamed(Chunk, Name)
                               || {Id, _} = Chunk <- Chunks,
                                  not lists:member(Id, ["Dbgi", "Docs"])]),
    {module, Name} = code:load_binary(Name, atom_to_list(Name) ++ ".beam",
                                      Renamed),
    ok.

%% Replaces the first atom. The chunk has the number of atoms, then the length and
%% the text of each atom.
renamed({"AtU8", Atoms}, Name) ->
    {Count, Rest} = split_binary(Atoms, 4),
    Old = atom_to_binary(?MODULE),
    {_, Others} = split_binary(Rest, 1 + byte_size(Old)),
    New = atom_to_binary(Name),
    {"AtU8", iolist_to_binary([Count, byte_size(New), New, Others])};
renamed(Chunk, _Name) ->
    Chunk.

%% Returns true if the VM has trace sessions.
native() ->
    erlang:function_exported(erts_internal, trace_session_create, 3).
