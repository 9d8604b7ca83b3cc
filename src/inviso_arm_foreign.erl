%% SPDX-License-Identifier: Apache-2.0
%% @doc Whom we would disturb, where the VM has one tracer for a process and one
%% pattern for a function: nothing is shared, the owner is named.
%%
%% Where there are sessions nobody is disturbed, and none of this finds any.
-module(inviso_arm_foreign).

-export([functions/2, events/2, processes/3, calls/1, leftovers/1, shared/1]).
-export([patterns/0, owner/1]).

-define(MAX_NOTED, 3).

%% Processes that ask side by side, where there are many to be asked. Few: that
%% they begin is an event for whom new processes are traced.
-define(SIDES, 8).
-define(MANY, 1000).

%% @doc Throws `{refused, Text}' when a function has a pattern that one of ours
%% would change.
-spec functions(inviso_otp:way(), [inviso_arm_functions:operation()]) -> ok.
functions(Way, Operations) ->
    _ = [refuse(Kind, {M, F, A})
         || not inviso_otp:has_sessions(),
            {{Kind, {M, F0, A0}, _}, _} <- Operations,
            {F, A} <- meant(M, F0, A0),
            inviso_otp:foreign_pattern(Way, Kind, {M, F, A})],
    ok.

meant(M, '_', '_') -> inviso_arm_functions:functions_of(M);
meant(_, F, A) -> [{F, A}].

-spec refuse(atom(), mfa()) -> no_return().
refuse(Kind, {M, F, A}) ->
    What = case Kind of
               local -> "is traced";
               _ -> "is counted or traced"
           end,
    Who = case any_tracer() of
              none ->
                  io_lib:format("somebody who traces no process now; if it "
                                "was left behind, erlang:trace_pattern("
                                "{~tw,~tw,~b}, false, [local]) clears it",
                                [M, F, A]);
              Tracer ->
                  owner(Tracer)
          end,
    refused("~ts ~ts already, by ~ts. ~ts",
            [inviso_spec:format_mfa(M, F, A), What, Who, one_only()]).

%% @doc The same of messages.
-spec events(inviso_otp:way(), [send | 'receive']) -> ok.
events(Way, Events) ->
    _ = [refused("which messages ~ts traces is set already, by ~ts. ~ts",
                 [E, any_owner(), one_only()])
         || E <- Events, inviso_otp:foreign_event(Way, E)],
    ok.

%% @doc The same of processes and ports that we would trace, when they have a
%% tracer.
-spec processes(inviso_otp:way(),
                [pid() | port() | new_processes | new_ports], [atom()]) -> ok.
processes(Way, Who, Flags) ->
    _ = [refused("~ts already traced, by ~ts. ~ts",
                 [whose(W), owner(Tracer), one_only()])
         || Flags =/= [],
            {W, Tracer} <- found(Way, Who, fun(_) -> true end)],
    ok.

%% @doc Patterns are the VM's, not a tracer's: somebody who traces calls of any
%% process would get what we ask for as well, and we what they do.
-spec calls(inviso_otp:way()) -> ok.
calls(Way) ->
    _ = [refused("calls are traced already, by ~ts. ~ts",
                 [owner(Tracer), one_only()])
         || {_, Tracer} <- found(Way, [new_processes | processes()],
                                 fun(Flags) -> lists:member(call, Flags) end)],
    ok.

%% The first whose tracer is a foreign one, and has flags such as these.
%% A process that is asked answers when it comes to run, in its turn: where many
%% wait to be run, many have to be asked at once.
found(Way, Who, Is) ->
    case not inviso_otp:has_sessions() andalso length(Who) of
        false -> [];
        N when N < ?MANY -> found_among(Who, Way, Is);
        N -> found_in(parts(Who, N div ?SIDES + 1), Way, Is)
    end.

found_among([], _, _) ->
    [];
found_among([W | Ws], Way, Is) ->
    case inviso_otp:foreign_tracer(Way, W) of
        {Tracer, Flags} ->
            case Is(Flags) of
                true -> [{W, Tracer}];
                false -> found_among(Ws, Way, Is)
            end;
        none ->
            found_among(Ws, Way, Is)
    end.

parts([], _) -> [];
parts(Who, N) ->
    {Part, Rest} = lists:split(min(N, length(Who)), Who),
    [Part | parts(Rest, N)].

%% They are linked to this process. Others see of a sensitive process its birth only.
found_in(Parts, Way, Is) ->
    Me = self(),
    Ask = fun(Part) ->
                  spawn_opt(fun() ->
                                    process_flag(sensitive, true),
                                    Me ! {self(), found_among(Part, Way, Is)}
                            end, [link, monitor, {priority, high}])
          end,
    Answers = [receive
                   {Pid, Found} ->
                       _ = unlink(Pid),
                       _ = demonitor(Ref, [flush]),
                       Found;
                   {'DOWN', Ref, process, Pid, Reason} ->
                       exit(Reason)
               end || {Pid, Ref} <- [Ask(Part) || Part <- Parts]],
    lists:sublist(lists:append(Answers), 1).

%% @doc Patterns that nobody's process meets now, ours would. Our engine tells
%% nobody of calls that it has no pattern for.
-spec leftovers(inviso_otp:way()) -> [binary()].
leftovers(shared) ->
    [];
leftovers(alone) ->
    [format("somebody left trace patterns on ~ts: their calls are traced as "
            "well", [some(MFAs)]) || [_ | _] = MFAs <- [traced()]].

%% @doc What has a pattern and by whom it probably is, in words, while we have
%% none; `none' too where patterns belong to sessions.
-spec patterns() -> none | {iolist(), iolist()}.
patterns() ->
    case traced() of
        [] -> none;
        MFAs -> {some(MFAs), any_owner()}
    end.

%% Some 20 ms for 20000 functions.
traced() ->
    case inviso_otp:has_sessions() of
        true -> [];
        false -> [{M, F, A} || {M, _} <- code:all_loaded(),
                               {F, A} <- inviso_arm_functions:functions_of(M),
                               is_traced({M, F, A})]
    end.

%% That of a session which ends just now is gone when we have asked.
is_traced(MFA) ->
    has_pattern(MFA) andalso not inviso_otp:in_session(MFA)
        andalso has_pattern(MFA).

has_pattern(MFA) ->
    {traced, Kind} = erlang:trace_info(MFA, traced),
    Kind =:= local orelse Kind =:= global.

some(MFAs) ->
    Some = [inviso_spec:format_mfa(M, F, A)
            || {M, F, A} <- lists:sublist(MFAs, ?MAX_NOTED)],
    More = case length(MFAs) of
               N when N > ?MAX_NOTED ->
                   io_lib:format(" and ~b more", [N - ?MAX_NOTED]);
               _ -> ""
           end,
    [lists:join(", ", Some), More].

%% @doc Functions of which another session loses its trace when ours ends.
-spec shared([inviso_arm_functions:operation()]) -> [binary()].
shared(Operations) ->
    [format("~ts is traced by another session too, and this VM (erts ~ts) "
            "stops both when one of them ends",
            [inviso_spec:format_mfa(M, F, A), erlang:system_info(version)])
     || inviso_otp:has_sessions(), {{_, {M, F0, A0}, _}, _} <- Operations,
        {F, A} <- meant(M, F0, A0), inviso_otp:shared_bif({M, F, A})].

whose(new_processes) -> "processes to come are";
whose(new_ports) -> "ports to come are";
whose(Pid) when is_pid(Pid) -> [who(Pid), " is"];
whose(Port) -> io_lib:format("~w is", [Port]).

any_owner() ->
    case any_tracer() of
        none -> "somebody who traces no process now";
        Tracer -> owner(Tracer)
    end.

%% One that is in nobody's sessions, if there is one.
any_tracer() ->
    All = [new_processes, new_ports | processes()],
    case first_tracer(shared, All) of
        none -> first_tracer(alone, All);
        Tracer -> Tracer
    end.

first_tracer(_, []) ->
    none;
first_tracer(Way, [W | Ws]) ->
    case inviso_otp:foreign_tracer(Way, W) of
        {Tracer, _} -> Tracer;
        none -> first_tracer(Way, Ws)
    end.

%% @doc A tracer, in words.
-spec owner(term()) -> iolist().
owner({inviso_tracer, _}) -> "another session of inviso";
owner({inviso_engine, _}) -> "other sessions of inviso";
owner({Module, _}) -> io_lib:format("the tracer module ~tw", [Module]);
owner(Port) when is_port(Port) -> io_lib:format("the trace port ~w", [Port]);
owner(Pid) when is_pid(Pid) -> ["process ", who(Pid)];
owner(Other) -> io_lib:format("~tw", [Other]).

who(Pid) ->
    Info = process_info(Pid, [registered_name, initial_call,
                              current_function]),
    io_lib:format("~w~ts", [Pid, about(Info)]).

about([{registered_name, Name} | _]) when is_atom(Name) ->
    io_lib:format(" (~tw)", [Name]);
about([_, {initial_call, Initial}, {current_function, Current}]) ->
    {M, F, A} = case {Initial, Current} of
                    {{erlang, apply, 2}, {_, _, _} = C} -> C;
                    {{proc_lib, _, _}, {_, _, _} = C} -> C;
                    {I, _} -> I
                end,
    [" (", inviso_spec:format_mfa(M, F, A), ")"];
about(_) ->
    "".

one_only() ->
    io_lib:format("OTP ~ts has room for one tracer, and nothing of others is "
                  "touched: ask them to stop", [otp()]).

otp() -> erlang:system_info(otp_release).

-spec refused(string(), [term()]) -> no_return().
refused(Format, Args) ->
    throw({refused, format(Format, Args)}).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
