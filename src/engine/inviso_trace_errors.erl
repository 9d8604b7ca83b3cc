%% SPDX-License-Identifier: Apache-2.0
%% @doc Explains errors of {@link inviso_trace}. The shell and error reports call
%% format_error/2, in the same way as for OTP's own functions.
-module(inviso_trace_errors).

-export([reason/1, info/1, text/1, format_error/2]).

-define(KINDS, [global, local, meta, call_count, call_time, call_memory]).

%% @doc Returns the error to raise for a reason. `session' means that there is no
%% such session. `other_tracer' means that the session has another tracer on the
%% tracee.
-spec reason(term()) -> term().
reason(session) -> badarg;
reason(other_tracer) -> badarg;
reason(Reason) -> Reason.

%% @doc Returns the third argument of erlang:error/3.
-spec info(term()) -> [{error_info, map()}].
info(Cause) when Cause =:= session; Cause =:= other_tracer ->
    [{error_info, #{module => ?MODULE, cause => Cause}}];
info(_) ->
    [{error_info, #{module => ?MODULE}}].

%% @doc Returns the explanation of an error. Its key is the position of the argument
%% that is wrong, or `general' if the explanation is not about one argument.
-spec format_error(term(), erlang:stacktrace()) ->
          #{pos_integer() | general | reason => unicode:chardata()}.
format_error(badarg, [{_, _, [_ | _] = Args, Info} | _] = Stack) ->
    case cause(Info) of
        session -> #{1 => "not a trace session, or one that is destroyed"};
        other_tracer -> #{2 => "has another tracer in this session"};
        none -> wrong(function(Stack), Args)
    end;
format_error(Reason, _) ->
    case text(Reason) of
        none -> #{};
        Text -> #{general => Text}
    end.

%% @doc Explains an error reason and says what the user can do instead. Returns
%% `none' if the explanation depends on the arguments.
-spec text(term()) -> none | iolist().
text(system_limit) ->
    "no more sessions, tracers, or combinations of flags";
text(timeout) ->
    "the process inviso_engine_server does not answer";
text({already_traced, What}) ->
    print("~tp is traced with erlang:trace_pattern/3", [What]);
text({already_traced, What, By}) ->
    print("~tp is traced with erlang:trace/3 by ~tp, and this release has one "
          "tracer for each", [What, By]);
text({not_supported, What}) ->
    not_supported(What);
text({unsafe_label, _, Text}) ->
    [Text];
text(_) ->
    none.

function([{_, Function, _, _} | _]) -> Function.

cause(Info) ->
    maps:get(cause, proplists:get_value(error_info, Info, #{}), none).

not_supported({shared, What}) ->
    print("OTP ~ts has one tracer for ~tp, and a tracer module in another "
          "session must have it for itself; stop that session, or use OTP 27",
          [otp(), What]);
not_supported({processes, Module}) ->
    print("the tracer module ~tp takes processes one by one only", [Module]);
not_supported({match_spec_clauses, N}) ->
    print("the match specs that sessions have on this make ~b clauses "
          "together, and ~b are possible on OTP ~ts: use fewer clauses or "
          "sessions, or OTP 27", [N, inviso_engine_spec:max_clauses(), otp()]);
not_supported(Expression) ->
    print("OTP ~ts cannot do ~0tp in a match spec: what changes trace flags "
          "(silent, trace, enable_trace, disable_trace) must be an action of "
          "its own in the body, not a part of an expression; OTP 27 can",
          [otp(), Expression]).

otp() -> erlang:system_info(otp_release).

%% Returns the first wrong argument, in the order in which a request checks its
%% arguments.
wrong(process, [_, Procs, How, Flags]) ->
    first([{4, flags(Flags, inviso_engine_flags:names())}, {3, boolean(How)},
           {2, local(Procs)}, {2, "not a process, or a dead one"}]);
wrong(port, [_, Ports, How, Flags]) ->
    first([{4, flags(Flags, inviso_engine_flags:names())}, {3, boolean(How)},
           {2, local(Ports)}, {2, "not a port, or a closed one"}]);
wrong(function, [_, _, MatchSpec, Flags]) ->
    first([{4, kinds(Flags)}, {3, match_spec(MatchSpec, [restart, pause])},
           {4, counters(MatchSpec, Flags)},
           {2, "not a function, or wildcards before names"}]);
wrong(Messages, [_, MatchSpec, Flags])
  when Messages =:= send; Messages =:= recv ->
    first([{3, flags(Flags, [])}, {2, match_spec(MatchSpec, [])},
           {2, "an action that this event does not have"}]);
wrong(info, [_, What, _Item]) ->
    first([{2, local(What)}, {2, tracee(What)},
           {3, "not an item of this"}]);
wrong(session_create, [Name, Tracer, Opts]) ->
    first([{1, ["not an atom" || not is_atom(Name)]},
           {3, flags(Opts, [])}, {2, tracer(Tracer)}]);
wrong(session_destroy, _) ->
    #{1 => "not a trace session, or one that is destroyed"};
wrong(session_info, [What]) ->
    first([{1, local(What)}, {1, "not a process, port, function or event"}]);
wrong(_, _) ->
    #{}.

first([{_, []} | Rest]) -> first(Rest);
first([{Position, Text} | _]) -> #{Position => Text}.

flags(Flags, Known) ->
    case catch length(Flags) of
        N when is_integer(N) ->
            case [F || F <- Flags, not lists:member(F, Known)] of
                [] -> [];
                [F | _] -> print("invalid option in list: ~tp", [F])
            end;
        _ when is_list(Flags) ->
            "not a proper list";
        _ ->
            "not a list"
    end.

kinds(Flags) ->
    case {flags(Flags, ?KINDS), Flags} of
        {[], [_ | _]} ->
            ["global with one of the others"
             || lists:member(global, Flags), lists:usort(Flags) =/= [global]];
        {Wrong, _} ->
            Wrong
    end.

counters([_ | _], Flags) ->
    case Flags =/= [] andalso Flags -- [call_count, call_time, call_memory] of
        [] -> "a match spec is for functions that are traced, not counted";
        _ -> []
    end;
counters(_, _) ->
    [].

boolean(B) when is_boolean(B) -> [];
boolean(_) -> "not a boolean".

match_spec(MatchSpec, Words) when is_atom(MatchSpec) ->
    case is_boolean(MatchSpec) orelse lists:member(MatchSpec, Words) of
        true -> [];
        false -> "not a match spec"
    end;
match_spec(MatchSpec, _) ->
    try inviso_engine_spec:compile(MatchSpec) of
        {ok, _, _, _} -> [];
        {error, [{_, Text} | _]} -> ["invalid match spec: ", Text];
        {error, _} -> "invalid match spec"
    catch
        error:_ -> "not a match spec"
    end.

local(What) when is_pid(What), node(What) =/= node() ->
    "a process of another node";
local(What) when is_port(What), node(What) =/= node() ->
    "a port of another node";
local(_) ->
    [].

tracee(What) when is_pid(What); is_port(What) -> [];
tracee({M, F, A}) when is_atom(M), is_atom(F), is_integer(A) -> [];
tracee(What) ->
    case lists:member(What, [new, new_processes, new_ports, on_load, send,
                             'receive']) of
        true -> [];
        false -> "not a process, port, function or event"
    end.

tracer({Module, _}) when is_atom(Module) ->
    print("the module ~tp is not loaded, or is not a tracer", [Module]);
tracer(Tracer) ->
    case local(Tracer) of
        [] -> "not a process, a port or {Module, State}";
        Text -> Text
    end.

print(Format, Args) ->
    io_lib:format(Format, Args).
