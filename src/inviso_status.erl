%% SPDX-License-Identifier: Apache-2.0
%% @doc What is to be known of tracing on a node, for `inviso status'.
-module(inviso_status).

-export([node/0]).

-export_type([other/0]).

-type other() :: #{kind := session | new_processes | new_ports | processes
                         | patterns | seq_trace | api,
                   tracer := binary(), what := binary()}.
%% Tracing that is not a session of ours:
%% session         a trace session of OTP (27 and later) by its name
%% new_processes   processes to come have a tracer
%% new_ports       ports to come
%% processes       processes that have this tracer, their number, their flags
%% patterns        functions that have a trace pattern, where those are nobody's
%%                 (before OTP 27); not told while a session of ours has some
%% seq_trace       the system tracer of sequential traces
%% api             a runtime component of the Inviso API
%% tracer and what are words for people.

%% For the status of a session.
-define(PATIENCE_MS, 1000).
-define(MAX_PROCESSES, 100000).

%% @doc
%% <dl>
%% <dt>otp</dt><dd>{Release, Erts}: binaries</dd>
%% <dt>node</dt><dd>its name, a binary</dd>
%% <dt>os_pid</dt><dd>an integer</dd>
%% <dt>sessions</dt><dd>the status of each session (control.h, section 5); of
%%   one that does not answer only name, owner, since and text</dd>
%% <dt>clients</dt><dd>[Owner :: binary]: all who are attached</dd>
%% <dt>others</dt><dd>[{@link other()}]: a walk over at most 100000
%%   processes</dd>
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

%% All are asked before the first answer is awaited.
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

%% --- others -----------------------------------------------------------------

others() ->
    Ours = length(inviso_push:users()) > 0,
    Sessions = inviso_otp:foreign_sessions(),
    By = fun(Who) -> traced_by(Who, Sessions, Ours) end,
    Found = to_come(By) ++ walked(By) ++ seq_trace(),
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

%% Sessions that have no process of their own yet.
sessions_of_others(Sessions, Found) ->
    Seen = [Session || {_, Session, _, _} <- Found],
    [other(session, "unknown", io_lib:format("~tw, which traces no process",
                                             [inviso_otp:session_name(S)]))
     || S <- Sessions, not lists:member(S, Seen)].

%% {Kind, Session, Tracer, What}
to_come(By) ->
    [{Kind, Session, Tracer, flags(Flags)}
     || {Kind, Who} <- [{new_processes, new}, {new_ports, new_ports}],
        {Session, Tracer, Flags} <- By(Who)].

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

%% Where we trace, a tracer of this kind is ours.
traced_by(Who, Sessions, Ours) ->
    [T || {_, Tracer, _} = T <- inviso_otp:traced_by(Who, Sessions),
          not (Ours andalso is_ours(Tracer))].

is_ours({inviso_tracer, _}) -> true;
is_ours(_) -> false.

flags(Flags) ->
    lists:join(" ", [atom_to_list(F) || F <- Flags]).

seq_trace() ->
    case seq_trace:get_system_tracer() of
        false -> [];
        Tracer -> [{seq_trace, legacy, Tracer, "the system tracer"}]
    end.

text({Kind, Session, Tracer, What}) ->
    Whose = case Session of
                legacy -> "";
                _ -> io_lib:format(" (session ~tw)",
                                   [inviso_otp:session_name(Session)])
            end,
    other(Kind, [inviso_arm_foreign:owner(Tracer), Whose], What).

other(Kind, Tracer, What) ->
    #{kind => Kind,
      tracer => unicode:characters_to_binary(Tracer),
      what => unicode:characters_to_binary(What)}.
