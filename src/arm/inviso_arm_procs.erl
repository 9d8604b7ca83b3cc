%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds the processes and ports to trace, and sets their flags.
-module(inviso_arm_procs).

-export([tracees/3, by_arity/1, undisturbed/1, count/1, is_all/1, is_new/1, has_calls/1,
         uncounted/1, defects/1,
         begin_walk/3, walk/5, gc_text/1]).

-export_type([tracees/0]).

-type tracees() :: #{flags := [atom()], port_flags := [atom()],
                     new := boolean(), existing := boolean(),
                     given := [pid() | port()]}.

%% At most MAX_LOOKED_AT processes are asked whether they are sensitive, for at
%% most LOOK_MS. The number of processes has a bound, because each question is a
%% signal that the process has to handle.
-define(MAX_LOOKED_AT, 1000).
-define(LOOK_MS, 250).
-define(MAX_BYTES, 262144).

%% @doc Returns which processes and ports the user means. Throws `{Class,
%% Text}'.
-spec tracees([inviso_spec:spec()], [binary()], [spawned | linked]) -> tracees().
tracees(Specs, Texts, Follow) ->
    Given = [case inviso_spec_procs:parse(T) of
                 {ok, Tracee} -> Tracee;
                 {error, Class, Why} -> throw({Class, Why})
             end || T <- Texts],
    Events = lists:usort(lists:append([flags_of(S) || S <- Specs])),
    Flags = Events -- [ports],
    Tracees = #{flags => Flags ++ [follow(F) || F <- Follow, Flags =/= []],
                port_flags => [F || F <- Events,
                                    lists:member(F, [ports, send, 'receive'])],
                new => Given =:= [] orelse wants(new, Given),
                existing => Given =:= [] orelse wants(existing, Given),
                given => lists:usort([G || G <- Given, not is_atom(G)])},
    ok = has_use(Tracees),
    Tracees.

%% @doc Returns the tracees with the flag `arity': events of calls then have the
%% number of arguments instead of the arguments.
-spec by_arity(tracees()) -> tracees().
by_arity(#{flags := Flags} = Tracees) ->
    Tracees#{flags := Flags ++ [arity || lists:member(call, Flags)]}.

wants(Which, Given) ->
    lists:member(all, Given) orelse lists:member(Which, Given).

flags_of(#{kind := call, clauses := [], counters := Counters}) ->
    [call || lists:member(time, Counters)];
flags_of(#{kind := system}) -> [];
flags_of(#{kind := Kind}) -> [Kind].

follow(spawned) -> set_on_spawn;
follow(linked) -> set_on_link.

has_use(#{flags := Flags, port_flags := PortFlags, given := Given} = Tracees) ->
    Ports = [P || P <- Given, is_port(P)],
    Pids = [P || P <- Given, is_pid(P)],
    _ = [throw({usage, format("~w is a port: of ports there are only ports, "
                              "send and receive", [P])})
         || PortFlags =:= [], P <- Ports],
    _ = [throw({usage, format("ports are not traced in ~w, which is a "
                              "process: give a port, all or new", [P])})
         || Flags =:= [], PortFlags =/= [], not is_some(Tracees), Ports =:= [],
            P <- Pids],
    ok.

is_some(#{new := New, existing := Existing}) -> New orelse Existing.

%% @doc Returns true if new processes are traced.
-spec is_new(tracees()) -> boolean().
is_new(#{new := New}) -> New.

%% @doc Returns true if all processes, existing and new, are traced.
-spec is_all(tracees()) -> boolean().
is_all(#{new := New, existing := Existing}) -> New andalso Existing.

%% @doc Returns true if processes get the flag `call', without which patterns have
%% no effect.
-spec has_calls(tracees()) -> boolean().
has_calls(#{flags := Flags}) -> lists:member(call, Flags).

%% @doc Returns the flags whose events are not calls.
-spec uncounted(tracees()) -> [atom()].
uncounted(#{flags := Flags, port_flags := PortFlags}) ->
    lists:usort(Flags ++ PortFlags)
        -- [call, arity, set_on_spawn, set_on_link].

%% Returns true if `all' includes ports, that is, if events of ports are traced.
all_ports(#{port_flags := Flags}) -> lists:member(ports, Flags).

%% --- checks before tracing ----------------------------------------------------

%% @doc Throws `{refused, Text}' if another tool would be disturbed, or if this
%% tracing is known to crash this VM.
-spec undisturbed(tracees()) -> ok.
undisturbed(#{flags := Flags, new := New, existing := Existing,
              given := Given} = Tracees) ->
    ok = inviso_arm_foreign:processes(
           [new_processes || New] ++ [P || Existing, P <- processes()]
           ++ [P || P <- Given, is_pid(P)], Flags),
    ok = inviso_arm_foreign:processes(
           [new_ports || New, all_ports(Tracees)]
           ++ [P || Existing, all_ports(Tracees), P <- erlang:ports()]
           ++ [P || P <- Given, is_port(P)],
           maps:get(port_flags, Tracees)),
    case gc_elsewhere(Tracees) of
        false -> ok;
        {true, P} -> throw({refused, gc_text(P)})
    end.

gc_elsewhere(#{flags := Flags, new := New, existing := Existing,
               given := Given}) ->
    lists:member(garbage_collection, Flags) andalso
        inviso_defects:gc_elsewhere([new || New]
                                ++ [P || Existing, P <- processes()]
                                ++ [P || P <- Given, is_pid(P)], Flags).

%% @doc Says why garbage collections of a process cannot be traced.
-spec gc_text(pid() | new) -> binary().
gc_text(P) ->
    Tracee = case P of
                 new -> "new processes";
                 _ -> io_lib:format("~w", [P])
             end,
    format("another trace session traces garbage collections of ~ts: if two "
           "sessions trace those of one process, also of one that is spawned "
           "or linked to later, this VM crashes (erts ~ts)",
           [Tracee, erlang:system_info(version)]).

%% @doc Returns how many processes and ports are to be traced, how many of the
%% processes are sensitive, and notes for the user. A sensitive process can have
%% flags, but the VM makes no events about this process.
-spec count(tracees()) -> {non_neg_integer(), non_neg_integer(), [binary()]}.
count(#{flags := []} = Tracees) ->
    {length(ports(Tracees)), 0, []};
count(#{new := New} = Tracees) ->
    Pids = pids(Tracees, []),
    {Seen, Sensitive} = sensitive(Pids),
    _ = Pids =/= [] andalso Sensitive =:= length(Pids) andalso not New
        andalso throw({nothing, only_sensitive(Pids)}),
    {length(Pids) + length(ports(Tracees)), Sensitive,
     sensitive_notes(Sensitive, Seen, length(Pids))}.

only_sensitive([P]) ->
    format("~w is sensitive (process_flag(sensitive, true)): it cannot be "
           "traced", [P]);
only_sensitive(_) ->
    <<"all these processes are sensitive (process_flag(sensitive, true)): "
      "they cannot be traced">>.

sensitive_notes(0, _, _) ->
    [];
sensitive_notes(N, Seen, All) ->
    Of = case Seen < All of
             true -> io_lib:format(" of the first ~b", [Seen]);
             false -> ""
         end,
    [format("~b~ts ~ts sensitive and cannot be traced",
            [N, Of, case N of 1 -> "process is"; _ -> "processes are" end])].

pids(#{existing := Existing, given := Given} = Tracees, Own) ->
    Given1 = [P || P <- Given, is_pid(P)] -- Own,
    case Existing of
        false ->
            Given1;
        true ->
            Out = maps:from_keys(Own ++ left_out(Tracees), true),
            All = [P || P <- processes(), not is_map_key(P, Out)],
            All ++ [P || P <- Given1, is_map_key(P, Out)]
    end.

%% Returns processes that are left out unless the user has named them. These are
%% processes of the VM. If messages are traced, they are also the processes that
%% carry messages between nodes, because tracing these would cause more messages.
left_out(#{flags := Flags}) ->
    inviso_vm:system_processes() ++
        case lists:member(send, Flags) orelse lists:member('receive', Flags) of
            true -> inviso_vm:infrastructure();
            false -> []
        end.

ports(#{port_flags := []}) ->
    [];
ports(#{existing := Existing, given := Given} = Tracees) ->
    lists:usort([P || P <- Given, is_port(P)]
                ++ [P || Existing, all_ports(Tracees), P <- erlang:ports()]).

%% Returns how many processes have answered, and how many of these are sensitive.
%% Stops after a time limit, so that a process that does not answer cannot delay the
%% caller.
sensitive(Pids) ->
    Counts = counters:new(2, []),
    Look = fun() ->
                   %% The helper is sensitive, so that a session that traces new
                   %% processes sees only the helper's start.
                   process_flag(sensitive, true),
                   [look(P, Counts)
                    || P <- lists:sublist(Pids, ?MAX_LOOKED_AT)]
           end,
    {Helper, Ref} = spawn_monitor(Look),
    receive
        {'DOWN', Ref, process, _, _} -> ok
    after ?LOOK_MS ->
            true = exit(Helper, kill),
            demonitor(Ref, [flush])
    end,
    {counters:get(Counts, 1), counters:get(Counts, 2)}.

look(P, Counts) ->
    _ = is_sensitive(P) andalso counters:add(Counts, 2, 1),
    counters:add(Counts, 1, 1).

%% Returns true if a process seems to be sensitive. The VM has no function for this,
%% but it shows neither stack nor dictionary of a sensitive process. Printing the
%% stack of a large process takes long. So for a large process the dictionary is
%% read: a process of proc_lib always has one.
is_sensitive(P) ->
    case process_info(P, [memory, initial_call]) of
        [{memory, M}, _] when M =< ?MAX_BYTES ->
            process_info(P, backtrace) =:= {backtrace, <<>>};
        [_, {initial_call, {proc_lib, _, _}}] ->
            process_info(P, dictionary) =:= {dictionary, []};
        _ ->
            false
    end.

%% @doc Returns notes on known defects of this VM that concern this tracing.
-spec defects(tracees()) -> [binary()].
defects(Tracees) ->
    [format("OTP ~ts (erts ~ts): ~ts",
            [erlang:system_info(otp_release), erlang:system_info(version),
             Text])
     || {Name, _, told, Text} <- inviso_defects:known(),
        concerns(Name, Tracees), inviso_defects:affected(Name)].

%% Returns true if a defect concerns this tracing. For dirty_tracee the note
%% recommends --procs, so there is no note if the user has given --procs.
concerns(dirty_tracee, #{flags := Flags} = Tracees) ->
    Flags =/= [] andalso is_some(Tracees);
concerns(link_inherits_not, #{flags := Flags}) ->
    lists:member(set_on_link, Flags);
concerns(Name, #{flags := Flags}) when Name =:= late_receive;
                                       Name =:= received_queue_len ->
    lists:member('receive', Flags);
concerns(_, _) -> false.

%% --- flags --------------------------------------------------------------------

%% @doc Sets the flags of new processes and new ports, and then returns the existing
%% processes and ports for {@link walk/5}. Because of this order, a process that
%% starts meanwhile is traced: it is either a new process or in the result.
-spec begin_walk(tracees(), inviso_tracing:tracing(), [pid()]) ->
          {ok, [pid() | port()]} | {error, term()}.
begin_walk(Tracees, T, Workers) ->
    case gc_elsewhere(Tracees) of
        false ->
            case {new_processes(Tracees, T, Workers), new_ports(Tracees, T)} of
                {ok, ok} -> {ok, to_walk(Tracees, T, Workers)};
                {{error, _} = E, _} -> E;
                {ok, {error, _} = E} -> E
            end;
        {true, P} ->
            {error, {gc_traced_in_another_session, P}}
    end.

to_walk(#{flags := []} = Tracees, _, _) -> ports(Tracees);
to_walk(Tracees, T, Workers) ->
    pids(Tracees, inviso_tracing:own(Workers, T)) ++ ports(Tracees).

new_processes(#{new := true, flags := [_ | _] = Flags}, T, Workers) ->
    inviso_tracing:flag_each(new, Flags, Workers, T);
new_processes(_, _, _) ->
    ok.

new_ports(#{new := New, port_flags := Flags} = Tracees, T) ->
    ports_flags([new || New, all_ports(Tracees)], Flags, T).

ports_flags([], _, _) ->
    ok;
ports_flags([P | Ports], Flags, T) ->
    case inviso_tracing:flags(true, {ports, P}, Flags, [], T) of
        {ok, _} -> ports_flags(Ports, Flags, T);
        {error, _} = E -> E
    end.

%% @doc Sets the flags of the first `N' processes and ports of a list, and returns
%% the others. One request sets the flags of all `N' processes, because the engine's
%% server handles requests one by one.
-spec walk([pid() | port()], non_neg_integer(), tracees(),
           inviso_tracing:tracing(), [pid()]) ->
          {ok, [pid() | port()]} | {error, term()}.
walk(Walk, N, #{flags := Flags, port_flags := PortFlags}, T, Workers) ->
    {Next, Rest} = lists:split(min(N, length(Walk)), Walk),
    {Pids, Ports} = lists:partition(fun is_pid/1, Next),
    case {pids_flags(Pids, Flags, Workers, T),
          ports_flags(Ports, PortFlags, T)} of
        {ok, ok} -> {ok, Rest};
        {{error, _} = E, _} -> E;
        {ok, {error, _} = E} -> E
    end.

pids_flags([], _, _, _) -> ok;
pids_flags(Pids, Flags, Workers, T) ->
    inviso_tracing:flag_each(Pids, Flags, Workers, T).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
