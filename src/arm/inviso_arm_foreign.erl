%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds other tools that inviso would disturb. On a VM without trace
%% sessions a process has one tracer and a function has one pattern. If another
%% tool uses the tracer or pattern that inviso needs, inviso refuses to trace,
%% and the error says which tool this is.
%%
%% On a VM with trace sessions no other tool is disturbed, and only shared/1 finds
%% anything.
-module(inviso_arm_foreign).

-export([functions/1, events/1, processes/2, calls/0, shared/1]).
-export([patterns/0, owner/1]).

-define(MAX_NOTED, 3).

%% How many helpers query processes in parallel if there are many processes. The
%% number is small, because the start of each helper is an event for a tool that
%% traces new processes.
-define(SIDES, 8).
-define(MANY, 1000).

%% @doc Throws `{refused, Text}' if inviso's pattern for a function would change a
%% pattern of another tool.
-spec functions([inviso_arm_functions:operation()]) -> ok.
functions(Operations) ->
    _ = [refuse(Kind, {M, F, A})
         || not inviso_vm:has_sessions(),
            {{Kind, {_, _, _} = Which, _}, _} <- Operations,
            {M, F, A} <- inviso_functions:of_pattern(Which),
            inviso_other_tools:in_the_way(Kind, {M, F, A})],
    ok.

-spec refuse(atom(), mfa()) -> no_return().
refuse(Kind, {M, F, A}) ->
    What = case Kind of
               local -> "is traced";
               _ -> "is counted or traced"
           end,
    Owner = case any_tracer() of
                none ->
                    io_lib:format("a tool that traces no process now; if the "
                                  "pattern was left behind, erlang:trace_pattern("
                                  "{~tw,~tw,~b}, false, [local]) clears it",
                                  [M, F, A]);
                Tracer ->
                    owner(Tracer)
            end,
    refused("~ts ~ts already, by ~ts. ~ts",
            [inviso_spec:format_mfa(M, F, A), What, Owner, one_only()]).

%% @doc Throws `{refused, Text}' if another tool has set a pattern for these
%% messages.
-spec events([send | 'receive']) -> ok.
events(Events) ->
    _ = [refused("the pattern for ~ts is already set, by ~ts. ~ts",
                 [E, any_owner(), one_only()])
         || E <- Events, inviso_other_tools:event(E)],
    ok.

%% @doc Throws `{refused, Text}' if another tool traces one of these processes and
%% ports.
-spec processes([pid() | port() | new_processes | new_ports], [atom()]) -> ok.
processes(Tracees, Flags) ->
    _ = [refused("~ts already traced, by ~ts. ~ts",
                 [subject(W), owner(Tracer), one_only()])
         || Flags =/= [],
            {W, Tracer} <- found(Tracees, fun(_) -> true end)],
    ok.

%% @doc Throws `{refused, Text}' if another tool traces the calls of a process.
%% Patterns belong to the VM and not to a tracer. So the other tool would also get
%% events of inviso's patterns, and inviso would get events of the other tool's
%% patterns.
-spec calls() -> ok.
calls() ->
    _ = [refused("calls are traced already, by ~ts. ~ts",
                 [owner(Tracer), one_only()])
         || {_, Tracer} <- found([new_processes | processes()],
                                 fun(Flags) -> lists:member(call, Flags) end)],
    ok.

%% Searches for a tracee that another tool traces, and for whose flags `Is' returns
%% true. Returns [{Tracee, Tracer}] for the first such tracee, or []. A process
%% answers only when it is scheduled. So if there are many processes, several helper
%% processes ask them in parallel.
found(Tracees, Is) ->
    case not inviso_vm:has_sessions() andalso length(Tracees) of
        false -> [];
        N when N < ?MANY -> found_among(Tracees, Is);
        N -> found_in(parts(Tracees, N div ?SIDES + 1), Is)
    end.

found_among([], _) ->
    [];
found_among([W | Ws], Is) ->
    case inviso_other_tools:tracer(W) of
        {Tracer, Flags} ->
            case Is(Flags) of
                true -> [{W, Tracer}];
                false -> found_among(Ws, Is)
            end;
        none ->
            found_among(Ws, Is)
    end.

parts([], _) -> [];
parts(Tracees, N) ->
    {Part, Rest} = lists:split(min(N, length(Tracees)), Tracees),
    [Part | parts(Rest, N)].

%% Starts a helper process for each part of the tracees. The helpers are
%% sensitive, so that other tools see only their start.
found_in(Parts, Is) ->
    Me = self(),
    Ask = fun(Part) ->
                  spawn_opt(fun() ->
                                    process_flag(sensitive, true),
                                    Me ! {self(), found_among(Part, Is)}
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

%% @doc Returns in words which functions have a pattern, and which tool has probably
%% set it. Must be called while inviso has set no pattern. Returns `none' on a VM
%% with trace sessions.
-spec patterns() -> none | {iolist(), iolist()}.
patterns() ->
    case traced() of
        [] -> none;
        MFAs -> {some(MFAs), any_owner()}
    end.

%% Returns the functions that have a pattern. This takes about 20 ms for 20000
%% functions.
traced() ->
    case inviso_vm:has_sessions() of
        true -> [];
        false -> [{M, F, A} || {M, _} <- code:all_loaded(),
                               {F, A} <- inviso_functions:of_module(M),
                               is_traced({M, F, A})]
    end.

%% Returns true if another tool has a pattern on a function. Reads the pattern twice: if
%% a session of inviso that is just ending clears its pattern after the first reading,
%% in_session/1 returns false, but the second reading finds no pattern.
is_traced(MFA) ->
    has_pattern(MFA) andalso not inviso_other_tools:in_session(MFA)
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

%% @doc Returns a note for each function that another session also traces, if this
%% VM has a defect: when one of the two sessions ends, the VM stops the tracing of
%% the function in both.
-spec shared([inviso_arm_functions:operation()]) -> [binary()].
shared(Operations) ->
    [format("~ts is traced by another session too, and this VM (erts ~ts) "
            "stops both when one of them ends",
            [inviso_spec:format_mfa(M, F, A), erlang:system_info(version)])
     || inviso_vm:has_sessions(), {{_, {_, _, _} = Which, _}, _} <- Operations,
        {M, F, A} <- inviso_functions:of_pattern(Which),
        inviso_defects:shared_bif({M, F, A})].

subject(new_processes) -> "new processes are";
subject(new_ports) -> "new ports are";
subject(Pid) when is_pid(Pid) -> [process(Pid), " is"];
subject(Port) -> io_lib:format("~w is", [Port]).

any_owner() ->
    case any_tracer() of
        none -> "a tool that traces no process now";
        Tracer -> owner(Tracer)
    end.

any_tracer() ->
    first_tracer([new_processes, new_ports | processes()]).

first_tracer([]) ->
    none;
first_tracer([W | Ws]) ->
    case inviso_other_tools:tracer(W) of
        {Tracer, _} -> Tracer;
        none -> first_tracer(Ws)
    end.

%% @doc Describes a tracer in words.
-spec owner(term()) -> iolist().
owner({inviso_tracer, _}) -> "another session of inviso";
owner({Module, _}) -> io_lib:format("the tracer module ~tw", [Module]);
owner(Port) when is_port(Port) -> io_lib:format("the trace port ~w", [Port]);
owner(Pid) when is_pid(Pid) -> ["process ", process(Pid)];
owner(Other) -> io_lib:format("~tw", [Other]).

process(Pid) ->
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
    io_lib:format("OTP ~ts has one tracer, and inviso does not replace that of "
                  "another tool: stop the other tool first", [otp()]).

otp() -> erlang:system_info(otp_release).

-spec refused(string(), [term()]) -> no_return().
refused(Format, Args) ->
    throw({refused, format(Format, Args)}).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
