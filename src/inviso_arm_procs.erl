%% SPDX-License-Identifier: Apache-2.0
%% @doc Which processes and ports are traced, with which flags.
-module(inviso_arm_procs).

-export([who/3, needs/1, undisturbed/2, count/1, is_all/1, is_new/1, has_calls/1,
         uncounted/1, defects/1,
         begin_walk/3, walk/5, gc_text/1]).

-export_type([who/0]).

-type who() :: #{flags := [atom()], port_flags := [atom()],
                 new := boolean(), existing := boolean(),
                 given := [pid() | port()]}.

%% Looking whether processes are sensitive costs a signal to each.
-define(MAX_LOOKED_AT, 1000).
-define(LOOK_MS, 250).
-define(MAX_BYTES, 262144).

%% @doc Whom the user means. Throws `{Class, Text}'.
-spec who([inviso_spec:spec()], [binary()], [spawned | linked]) -> who().
who(Specs, Texts, Follow) ->
    Given = [case inviso_spec_procs:parse(T) of
                 {ok, Who} -> Who;
                 {error, Class, Why} -> throw({Class, Why})
             end || T <- Texts],
    Events = lists:usort(lists:append([flags_of(S) || S <- Specs])),
    Flags = Events -- [ports],
    Who = #{flags => Flags ++ [follow(F) || F <- Follow, Flags =/= []],
            port_flags => [F || F <- Events,
                                lists:member(F, [ports, send, 'receive'])],
            new => Given =:= [] orelse wants(new, Given),
            existing => Given =:= [] orelse wants(existing, Given),
            given => lists:usort([G || G <- Given, not is_atom(G)])},
    ok = has_use(Who),
    Who.

wants(Which, Given) ->
    lists:member(all, Given) orelse lists:member(Which, Given).

flags_of(#{kind := call, clauses := [], counters := Counters}) ->
    [call || lists:member(time, Counters)];
flags_of(#{kind := Kind}) -> [Kind].

follow(spawned) -> set_on_spawn;
follow(linked) -> set_on_link.

has_use(#{flags := Flags, port_flags := PortFlags, given := Given} = Who) ->
    Ports = [P || P <- Given, is_port(P)],
    Pids = [P || P <- Given, is_pid(P)],
    _ = [throw({usage, format("~w is a port: of ports there are only ports, "
                              "send and receive", [P])})
         || PortFlags =:= [], P <- Ports],
    _ = [throw({usage, format("ports are not traced in ~w, which is a "
                              "process: give a port, all or new", [P])})
         || Flags =:= [], PortFlags =/= [], not is_some(Who), Ports =:= [],
            P <- Pids],
    ok.

is_some(#{new := New, existing := Existing}) -> New orelse Existing.

%% @doc Whether processes to come are traced.
-spec is_new(who()) -> boolean().
is_new(#{new := New}) -> New.

%% @doc Whether no process is left out by the user.
-spec is_all(who()) -> boolean().
is_all(#{new := New, existing := Existing}) -> New andalso Existing.

%% @doc Whether processes have the flag that makes patterns matter.
-spec has_calls(who()) -> boolean().
has_calls(#{flags := Flags}) -> lists:member(call, Flags).

%% @doc What of the VM's tracing that takes.
-spec needs(who()) -> [inviso_otp:need()].
needs(#{flags := Flags, port_flags := PortFlags, given := Given} = Who) ->
    [{flag, F} || F <- Flags]
        ++ [{port_flag, F} || F <- PortFlags,
                              all_ports(Who) orelse
                                  lists:any(fun is_port/1, Given)].

%% @doc Which events are not calls.
-spec uncounted(who()) -> [atom()].
uncounted(#{flags := Flags, port_flags := PortFlags}) ->
    lists:usort(Flags ++ PortFlags) -- [call, set_on_spawn, set_on_link].

%% Ports come in with `all' only for their own events.
all_ports(#{port_flags := Flags}) -> lists:member(ports, Flags).

%% --- what can be said before --------------------------------------------------

%% @doc Throws `{refused, Text}' when somebody else would be disturbed, or the
%% VM is known not to survive it.
-spec undisturbed(inviso_otp:way(), who()) -> ok.
undisturbed(Way, #{flags := Flags, new := New, existing := Existing,
                   given := Given} = Who) ->
    ok = inviso_arm_foreign:processes(
           Way, [new_processes || New] ++ [P || Existing, P <- processes()]
           ++ [P || P <- Given, is_pid(P)], Flags),
    ok = inviso_arm_foreign:processes(
           Way, [new_ports || New, all_ports(Who)]
           ++ [P || Existing, all_ports(Who), P <- erlang:ports()]
           ++ [P || P <- Given, is_port(P)],
           maps:get(port_flags, Who)),
    case gc_elsewhere(Who) of
        false -> ok;
        {true, P} -> throw({refused, gc_text(P)})
    end.

gc_elsewhere(#{flags := Flags, new := New, existing := Existing,
               given := Given}) ->
    lists:member(garbage_collection, Flags) andalso
        inviso_otp:gc_elsewhere([new || New]
                                ++ [P || Existing, P <- processes()]
                                ++ [P || P <- Given, is_pid(P)], Flags).

%% @doc Why garbage collections of a process can not be traced.
-spec gc_text(pid() | new) -> binary().
gc_text(P) ->
    Who = case P of
              new -> "processes to come";
              _ -> io_lib:format("~w", [P])
          end,
    format("another trace session traces garbage collections of ~ts: two that "
           "trace those of one process, be it one spawned or linked to later, "
           "would crash this VM (erts ~ts)",
           [Who, erlang:system_info(version)]).

%% @doc How many processes and ports there are to be traced, and how many of
%% those are sensitive: the VM takes their flags and sends nothing.
-spec count(who()) -> {non_neg_integer(), non_neg_integer(), [binary()]}.
count(#{flags := []} = Who) ->
    {length(ports(Who)), 0, []};
count(#{new := New} = Who) ->
    Pids = pids(Who, []),
    {Seen, Sensitive} = sensitive(Pids),
    _ = Pids =/= [] andalso Sensitive =:= length(Pids) andalso not New
        andalso throw({nothing, only_sensitive(Pids)}),
    {length(Pids) + length(ports(Who)), Sensitive,
     sensitive_notes(Sensitive, Seen, length(Pids))}.

only_sensitive([P]) ->
    format("~w is sensitive (process_flag(sensitive, true)): nothing of it "
           "can be traced", [P]);
only_sensitive(_) ->
    <<"all these processes are sensitive (process_flag(sensitive, true)): "
      "nothing of them can be traced">>.

sensitive_notes(0, _, _) ->
    [];
sensitive_notes(N, Seen, All) ->
    Of = case Seen < All of
             true -> io_lib:format(" of the first ~b", [Seen]);
             false -> ""
         end,
    [format("~b~ts ~ts sensitive and can not be traced",
            [N, Of, case N of 1 -> "process is"; _ -> "processes are" end])].

pids(#{existing := Existing, given := Given} = Who, Own) ->
    Given1 = [P || P <- Given, is_pid(P)] -- Own,
    case Existing of
        false ->
            Given1;
        true ->
            Out = maps:from_keys(Own ++ left_out(Who), true),
            All = [P || P <- processes(), not is_map_key(P, Out)],
            All ++ [P || P <- Given1, is_map_key(P, Out)]
    end.

%% Who would cause messages by having its messages watched.
left_out(#{flags := Flags}) ->
    inviso_otp:system_processes() ++
        case lists:member(send, Flags) orelse lists:member('receive', Flags) of
            true -> inviso_otp:infrastructure();
            false -> []
        end.

ports(#{port_flags := []}) ->
    [];
ports(#{existing := Existing, given := Given} = Who) ->
    lists:usort([P || P <- Given, is_port(P)]
                ++ [P || Existing, all_ports(Who), P <- erlang:ports()]).

%% A process that does not answer must not hold us up.
sensitive(Pids) ->
    Me = self(),
    Tag = make_ref(),
    %% A session that traces new processes sees its birth, and no more.
    {Helper, Ref} = spawn_monitor(fun() ->
                                          process_flag(sensitive, true),
                                          look(Pids, 0, 0, Me, Tag)
                                  end),
    Timer = erlang:send_after(?LOOK_MS, Me, {Tag, time}),
    Found = looked(Tag, Ref, {0, 0}),
    _ = erlang:cancel_timer(Timer),
    true = exit(Helper, kill),
    _ = demonitor(Ref, [flush]),
    flush(Tag),
    Found.

looked(Tag, Ref, Found) ->
    receive
        {Tag, time} -> Found;
        {Tag, Seen, N} -> looked(Tag, Ref, {Seen, N});
        {'DOWN', Ref, process, _, _} -> Found
    end.

flush(Tag) ->
    receive
        {Tag, time} -> flush(Tag);
        {Tag, _, _} -> flush(Tag)
    after 0 -> ok
    end.

look([P | Pids], Seen, N, To, Tag) when Seen < ?MAX_LOOKED_AT ->
    Found = case is_sensitive(P) of
                true -> N + 1;
                false -> N
            end,
    _ = To ! {Tag, Seen + 1, Found},
    look(Pids, Seen + 1, Found, To, Tag);
look(_, _, _, _, _) ->
    ok.

%% The VM does not say it, and shows no stack of such a process. Printing the
%% stack of a large one would take long; nearly all have a dictionary.
is_sensitive(P) ->
    case process_info(P, [memory, initial_call]) of
        [{memory, M}, _] when M =< ?MAX_BYTES ->
            process_info(P, backtrace) =:= {backtrace, <<>>};
        [_, {initial_call, {proc_lib, _, _}}] ->
            process_info(P, dictionary) =:= {dictionary, []};
        _ ->
            false
    end.

%% @doc What is known of this VM and concerns what is asked for.
-spec defects(who()) -> [binary()].
defects(Who) ->
    [format("OTP ~ts (erts ~ts): ~ts",
            [erlang:system_info(otp_release), erlang:system_info(version),
             Text])
     || {Name, _, told, Text} <- inviso_otp:known_defects(),
        concerns(Name, Who), inviso_otp:affected(Name)].

%% With --procs the user has done what can be done about it.
concerns(dirty_tracee, #{flags := Flags} = Who) ->
    Flags =/= [] andalso is_some(Who);
concerns(link_inherits_not, #{flags := Flags}) ->
    lists:member(set_on_link, Flags);
concerns(Name, #{flags := Flags}) when Name =:= late_receive;
                                       Name =:= received_queue_len ->
    lists:member('receive', Flags);
concerns(_, _) -> false.

%% --- flags --------------------------------------------------------------------

%% @doc Sets the flags of processes and ports to come; the list is that of those
%% there are, for {@link walk/5}. In this order none is missed.
-spec begin_walk(who(), inviso_otp:scope(), [pid()]) ->
          {ok, [pid() | port()]} | {error, term()}.
begin_walk(Who, Scope, Own) ->
    case gc_elsewhere(Who) of
        false -> begin_undisturbed(Who, Scope, Own);
        {true, P} -> {error, {gc_traced_in_another_session, P}}
    end.

begin_undisturbed(Who, Scope, Own) ->
    case new_processes(Who, Scope, Own) of
        ok ->
            case new_ports(Who, Scope) of
                ok -> {ok, pids_to_walk(Who, Own) ++ ports(Who)};
                {error, _} = E -> E
            end;
        {error, _} = E ->
            E
    end.

pids_to_walk(#{flags := []}, _) -> [];
pids_to_walk(Who, Own) -> pids(Who, Own).

new_processes(#{new := true, flags := [_ | _] = Flags}, Scope, Own) ->
    ignored(inviso_otp:set_flags(Scope, new, Flags, Own));
new_processes(_, _, _) ->
    ok.

new_ports(#{new := true, port_flags := Flags} = Who, Scope) ->
    case all_ports(Who) of
        true -> ignored(inviso_otp:set_port_flags(Scope, true, new, Flags));
        false -> ok
    end;
new_ports(_, _) ->
    ok.

ignored({ok, _}) -> ok;
ignored({error, _} = E) -> E.

%% @doc Sets the flags of the next few of a list: processes together, since
%% each request takes a turn of whom it is made to.
-spec walk([pid() | port()], non_neg_integer(), who(), inviso_otp:scope(),
           [pid()]) -> {ok, [pid() | port()]} | {error, term()}.
walk(Walk, N, Who, Scope, Own) ->
    {Next, Rest} = lists:split(min(N, length(Walk)), Walk),
    {Pids, Ports} = lists:partition(fun is_pid/1, Next),
    case pids_flags(Pids, Who, Scope, Own) of
        ok -> ports_flags(Ports, Rest, Who, Scope);
        {error, _} = E -> E
    end.

pids_flags([], _, _, _) ->
    ok;
pids_flags(Pids, #{flags := Flags}, Scope, Own) ->
    inviso_otp:set_flags_each(Scope, Pids, Flags, Own).

ports_flags([], Rest, _, _) ->
    {ok, Rest};
ports_flags([P | Ports], Rest, #{port_flags := Flags} = Who, Scope) ->
    case inviso_otp:set_port_flags(Scope, true, P, Flags) of
        {ok, _} -> ports_flags(Ports, Rest, Who, Scope);
        {error, _} = E -> E
    end.

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
