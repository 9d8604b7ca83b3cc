%% SPDX-License-Identifier: Apache-2.0
%% @doc Trace sessions: OTP's module `trace', on every release.
%%
%% Its functions, arguments, messages and errors are those that OTP 27
%% documents. On 27 and later this is OTP's module; before that, the sessions
%% are ours ({@link inviso_engine_server}), and {@link install/0} makes them
%% available as `trace' too.
%%
%% What our sessions cannot do is refused with an error of its own,
%% `{not_supported, What}': an action that changes flags (`silent', `trace',
%% `enable_trace', `disable_trace') within another expression of a match spec,
%% match specs of several sessions for one function with too many clauses
%% together, and a tracer module that is not {@link inviso_tracer} where it would
%% have to share what it traces with another session (`{shared, What}'). What
%% somebody traces with `erlang:trace/3' and `erlang:trace_pattern/3' stays his:
%% `{already_traced, Pid, Tracer}', `{already_traced, What}'; among all processes,
%% such are left out. There are 32 sessions at most (`system_limit').
%%
%% A function that one session traces globally, and another locally or with
%% `meta', is traced locally: the first gets all calls but those that the function
%% makes of itself. Counters rest while another session traces their function
%% globally, or somebody else does. With several sessions that trace local
%% calls, an event `return_to' after recursion through functions that nobody
%% traces may be told to a session too many. `{set_tcw, _}' changes the one trace
%% control word of the VM. The times of a process are those since its session
%% asked, whichever session's flag `call' it had.
%%
%% What the VM does not tell our sessions is what a process, linked to by one
%% with `set_on_link', does before it has the flags there (its own children
%% have them from the beginning), and which events only `running_procs' asks for:
%% sessions with `running' get them too while another has that flag set on the
%% same process.
-module(inviso_trace).

-export([session_create/3, session_destroy/1, session_info/1,
         process/4, processes/3, port/4, function/4, send/3, recv/3, info/3,
         delivered/2, install/0]).

-export_type([session/0, match_spec/0]).

-type session() :: inviso_engine_request:session() | term().
%% A handle; while somebody has it, the session lives. The handles that
%% {@link session_info/1} returns do not keep it alive.
-type match_spec() :: [{[term()] | '_' | atom(), [term()], [term()]}].

%% Raised here, so that the error is this function's; inviso_trace_errors
%% explains it.
-define(RAISE(Why, Args),
        erlang:error(inviso_trace_errors:reason(Why), Args,
                     inviso_trace_errors:info(Why))).
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

%% @doc Destroys a session with all that it has set. `false': somebody has done
%% so before.
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

%% May have been a session's handle; others are known while it lives.
was({Ref, {Name, Number}}) ->
    is_reference(Ref) andalso is_atom(Name) andalso is_integer(Number);
was(_) ->
    false.

%% @doc The sessions that affect a process, a port, a function, an event.
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

%% @doc Turns trace flags of processes on or off. The count of processes.
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

%% @doc Turns them on for each of some processes of this node; those that are
%% gone, or that somebody else traces, are left out. It is OTP's no more than
%% ours where the tracer is a module of others: `{not_supported, _}'.
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

%% @doc Turns trace flags of ports on or off. The count of ports.
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

%% @doc Turns tracing of calls of functions on or off. The count of functions.
-spec function(session(), {module(), atom(), arity() | '_'} | on_load,
               match_spec() | boolean() | restart | pause, [atom()]) ->
          non_neg_integer().
function(Session, MFA, MatchSpec, Flags) ->
    case native() of
        true ->
            trace:function(Session, MFA, MatchSpec, Flags);
        false ->
            ok = inviso_engine_tracer:load(meta, Flags),
            ?ENGINE({Session, {function, MFA, MatchSpec, Flags}},
                    [Session, MFA, MatchSpec, Flags])
    end.

%% @doc Which sent messages are traced.
-spec send(session(), match_spec() | boolean(), []) -> non_neg_integer().
send(Session, MatchSpec, Flags) ->
    case native() of
        true -> trace:send(Session, MatchSpec, Flags);
        false -> ?ENGINE({Session, {send, MatchSpec, Flags}},
                         [Session, MatchSpec, Flags])
    end.

%% @doc Which received messages are traced.
-spec recv(session(), match_spec() | boolean(), []) -> non_neg_integer().
recv(Session, MatchSpec, Flags) ->
    case native() of
        true -> trace:recv(Session, MatchSpec, Flags);
        false -> ?ENGINE({Session, {'receive', MatchSpec, Flags}},
                         [Session, MatchSpec, Flags])
    end.

%% @doc What is set in a session.
-spec info(session(), pid() | port() | new | new_processes | new_ports |
                      mfa() | on_load | send | 'receive', atom()) ->
          undefined | {atom(), term()}.
info(Session, PidPortFuncEvent, Item) ->
    case native() of
        true -> trace:info(Session, PidPortFuncEvent, Item);
        false -> ?ENGINE({Session, {info, PidPortFuncEvent, Item}},
                         [Session, PidPortFuncEvent, Item])
    end.

%% @doc The caller gets `{trace_delivered, Tracee, Ref}' when all events of the
%% process (or of `all') up to now are with their tracers.
-spec delivered(session(), pid() | all) -> reference().
delivered(Session, Tracee) ->
    case native() of
        true ->
            trace:delivered(Session, Tracee);
        false ->
            %% OTP does not look at the session either.
            erlang:trace_delivered(Tracee)
    end.

%% @doc Makes this module available under OTP's name, where OTP has none. What
%% was loaded as `trace' before and is not ours stays: `{error, Why}'.
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

%% The spec of beam_lib:all_chunks/1 has another module in its answer.
-dialyzer({[no_match, no_return, no_unused], [install_as/1, renamed/2]}).
%% The name of a module is the first of its atoms.
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

%% The chunk: the number of atoms, then the length and the name of each.
renamed({"AtU8", Atoms}, Name) ->
    {Count, Rest} = split_binary(Atoms, 4),
    Old = atom_to_binary(?MODULE),
    {_, Others} = split_binary(Rest, 1 + byte_size(Old)),
    New = atom_to_binary(Name),
    {"AtU8", iolist_to_binary([Count, byte_size(New), New, Others])};
renamed(Chunk, _Name) ->
    Chunk.

%% Whether the VM has sessions of its own.
native() ->
    erlang:function_exported(erts_internal, trace_session_create, 3).
