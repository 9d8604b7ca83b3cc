%% SPDX-License-Identifier: Apache-2.0
%% @doc Describes the tracing on a node, for `inviso status'.
-module(inviso_status).

-export([node/0]).

-export_type([other/0]).

-type other() :: #{kind := session | new_processes | new_ports | processes
                         | patterns | seq_trace | api,
                   tracer := binary(), what := binary()}.
%% Tracing that is not a session of inviso:
%% session         a trace session (OTP 27 and later) that traces no process; `what'
%%                 has its name
%% new_processes   new processes will get a tracer
%% new_ports       new ports will get a tracer
%% processes       processes have this tracer; `what' has their number and flags
%% patterns        functions have a trace pattern that belongs to no session
%%                 (before OTP 27 only); left out while inviso traces here
%% seq_trace       the system tracer of sequential traces
%% api             a runtime component of the Inviso API
%% `tracer' and `what' are texts for the user.

%% How long to wait for the status of a session.
-define(PATIENCE_MS, 1000).
-define(MAX_PROCESSES, 100000).

%% @doc Returns a map:
%% <dl>
%% <dt>otp</dt><dd>{Release, Erts}: binaries</dd>
%% <dt>node</dt><dd>its name, a binary</dd>
%% <dt>os_pid</dt><dd>an integer</dd>
%% <dt>sessions</dt><dd>the status of each session (control.h, section 5); a
%%   session that does not answer has only name, owner, since and text</dd>
%% <dt>clients</dt><dd>[Owner :: binary]: the owners of all clients</dd>
%% <dt>others</dt><dd>[{@link other()}]: other tracing; at most 100000
%%   processes are checked</dd>
%% </dl>
-spec node() -> #{otp := {binary(), binary()}, node := binary(),
                  os_pid := integer(), sessions := [map()],
                  clients := [binary()], others := [other()]}.
node() ->
    #{otp => {list_to_binary(erlang:system_info(otp_release)),
              list_to_binary(erlang:system_info(version))},
      node => atom_to_binary(erlang:node()),
      os_pid => list_to_integer(os:getpid()),
      sessions => sessions(),
      clients => clients(),
      others => others()}.

%% Requests the status of all sessions, and then waits for the answers, so that
%% the sessions work at the same time.
sessions() ->
    Asked = [{S, gen_server:send_request(Pid, status)}
             || {Pid, {session, _, _, _} = S, _} <- inviso_push:users()],
    Until = erlang:monotonic_time(millisecond) + ?PATIENCE_MS,
    [status(S, Id, Until) || {S, Id} <- Asked].

status({session, Name, Owner, Since}, Id, Until) ->
    Left = max(0, Until - erlang:monotonic_time(millisecond)),
    case gen_server:receive_response(Id, Left) of
        {reply, Status} ->
            Status;
        _ ->
            #{name => Name, owner => Owner, since => Since,
              text => <<"does not answer">>}
    end.

clients() ->
    try gen_server:call(inviso_guard, clients, ?PATIENCE_MS) of
        {ok, Owners} -> Owners
    catch
        exit:_ -> []
    end.

%% --- other tools ------------------------------------------------------------

others() ->
    Ours = length(inviso_push:users()) > 0,
    Sessions = inviso_other_tools:sessions(),
    By = fun(Tracee) -> traced_by(Tracee, Sessions, Ours) end,
    Found = to_come(By) ++ walked(By) ++ seq_trace(Ours),
    apis() ++ sessions_of_others(Sessions, Found) ++ [text(F) || F <- Found]
        ++ patterns(Ours).

patterns(true) ->
    [];
patterns(false) ->
    [other(patterns, Tracer, What)
     || {What, Tracer} <- [inviso_arm_foreign:patterns()]].

apis() ->
    [other(api, inviso_push:owner(User), "a runtime component")
     || {_, {rt, _} = User, _} <- inviso_push:users()].

%% Returns the trace sessions that are not in `Found', because they have no
%% tracee.
sessions_of_others(Sessions, Found) ->
    Seen = [Session || {_, Session, _, _} <- Found],
    [other(session, "unknown", io_lib:format("~tw, which traces no process",
                                             [inviso_other_tools:session_name(S)]))
     || S <- Sessions, not lists:member(S, Seen)].

%% Returns the tracers that new processes and ports will have.
to_come(By) ->
    [{Kind, Session, Tracer, flags(Flags)}
     || {Kind, Tracee} <- [{new_processes, new}, {new_ports, new_ports}],
        {Session, Tracer, Flags} <- By(Tracee)].

walked(TracedBy) ->
    All = processes(),
    Some = lists:sublist(All, ?MAX_PROCESSES),
    By = lists:foldl(fun(P, Acc) -> count(TracedBy(P), Acc) end,
                     #{}, Some),
    More = case length(All) of
               N when N > ?MAX_PROCESSES ->
                   io_lib:format(" of the ~b looked at", [?MAX_PROCESSES]);
               _ -> ""
           end,
    [{processes, Session, Tracer,
      io_lib:format("~b process~s~s, ~s", [N, plural(N), More, flags(Flags)])}
     || {{Session, Tracer}, {N, Flags}} <- maps:to_list(By)].

plural(1) -> "";
plural(_) -> "es".

count([], Acc) ->
    Acc;
count([{Session, Tracer, Flags} | Rest], Acc) ->
    {N, Known} = maps:get({Session, Tracer}, Acc, {0, []}),
    count(Rest, Acc#{{Session, Tracer} => {N + 1, lists:usort(Known ++ Flags)}}).

%% Returns the tracing of a process by other tools. While inviso traces on this
%% node, a tracer {inviso_tracer, _} belongs to inviso.
traced_by(Tracee, Sessions, Ours) ->
    [T || {_, Tracer, _} = T <- inviso_other_tools:tracers(Tracee, Sessions),
          not (Ours andalso is_ours(Tracer))].

is_ours({inviso_tracer, _}) -> true;
is_ours(_) -> false.

flags(Flags) ->
    lists:join(" ", [atom_to_list(F) || F <- Flags]).

%% OTP's specs do not say that a system tracer can be a module.
-dialyzer({no_match, seq_trace/1}).
seq_trace(Ours) ->
    case seq_trace:get_system_tracer() of
        false -> [];
        {inviso_tracer, _} when Ours -> [];
        Tracer -> [{seq_trace, legacy, Tracer, "the system tracer"}]
    end.

text({Kind, Session, Tracer, What}) ->
    Whose = case Session of
                legacy -> "";
                _ -> io_lib:format(" (session ~tw)",
                                   [inviso_other_tools:session_name(Session)])
            end,
    other(Kind, [inviso_arm_foreign:owner(Tracer), Whose], What).

other(Kind, Tracer, What) ->
    #{kind => Kind,
      tracer => unicode:characters_to_binary(Tracer),
      what => unicode:characters_to_binary(What)}.
