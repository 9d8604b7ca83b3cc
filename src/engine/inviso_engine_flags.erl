%% SPDX-License-Identifier: Apache-2.0
%% @doc Sets the trace flags that sessions request on processes and ports.
%%
%% A profile says which sessions have which flags on a process or port. The NIF
%% library stores the profiles (c_src/engine/profile.h), and gives children the
%% flags that they inherit. This module changes profiles, and sets in the VM the
%% flags that at least one session needs. If children inherit a session's flags,
%% the VM also needs `procs' and `set_on_spawn' or `set_on_link': the NIF library
%% is notified of a new process by the event `spawned', and of a new port by
%% `open'.
%%
%% While a session's pattern for sent messages is `false', the session gets no event
%% from the flag `send', and the VM does not need this flag for the session. The
%% same holds for `receive'. (Ports have no pattern for received messages.) If no
%% session needs flags on new processes or ports, the VM has no such flags, and
%% another tool can trace new processes or ports.
-module(inviso_engine_flags).

-export([new/0, opened/2, names/0, parse/1, for/2, change/3, change_all/3, quiet/3,
         changed/2, flags/2, tracer/2, sessions/1, has/2, recount/2,
         in_vm/0, in_vm/1, forget/2, forget/3, release/2, traced_by/1,
         is_engine/1, is_any_engine/1, clean/0]).

-export_type([flags/0, tracee/0, change/0]).

-type tracee() :: inviso_engine:tracee().
-type kind() :: process | port | new_processes | new_ports.
-type change() :: {inviso_engine:slot(), boolean(), Bits :: non_neg_integer(),
                   inviso_engine:tracer()}.

-record(flags, {%% For each of these three flags: the sessions that may have it
                %% on at least one tracee.
                calls = 0 :: inviso_engine:sessions(),
                returns = 0 :: inviso_engine:sessions(),
                silent = 0 :: inviso_engine:sessions(),
                %% Sessions whose pattern for sent or received messages is `false'.
                quiet = #{send => 0, 'receive' => 0}
                :: #{send | 'receive' => inviso_engine:sessions()},
                %% The flags that the VM needs for a profile.
                wants = #{} :: #{{kind(), inviso_engine:profile()} =>
                                     [atom()]}}).
-opaque flags() :: #flags{}.

%% The order is that of enum inv_flag (c_src/engine/flag.h).
-define(FLAGS, [call, send, 'receive', procs, running, exiting,
                garbage_collection, return_to, running_procs, running_ports,
                ports, scheduler_id, silent, arity, timestamp,
                strict_monotonic_timestamp, monotonic_timestamp,
                set_on_spawn, set_on_first_spawn, set_on_link,
                set_on_first_link]).
-define(BIT(Number), (1 bsl (Number))).
-define(ALL, (?BIT(length(?FLAGS)) - 1)).
-define(CALL, ?BIT(0)).
-define(RETURN_TO, ?BIT(7)).
-define(SILENT, ?BIT(12)).

%% The flags that are set in the VM if a session needs them. `timestamp' is one of
%% these flags: another tool may have requested CPU timestamps, and without the flag
%% the VM does not show this to the callback.
-define(OF_PROCESSES, [call, send, 'receive', procs, running, exiting,
                       garbage_collection, return_to, running_procs,
                       scheduler_id, timestamp]).
-define(OF_PORTS, [send, 'receive', running_ports, ports, scheduler_id,
                   timestamp]).

%% All flags that a process may have in the VM for sessions.
-define(IN_VM, [set_on_spawn, set_on_link | ?OF_PROCESSES]).

%% The flags that in OTP both processes and ports can have.
-define(OF_BOTH, [send, 'receive', silent, timestamp,
                  strict_monotonic_timestamp, monotonic_timestamp,
                  scheduler_id]).

-define(TRACER, {inviso_engine, 0}).

-spec new() -> flags().
new() ->
    #flags{}.

%% @doc Returns the names of all flags, and `all'.
-spec names() -> [atom()].
names() ->
    [all | ?FLAGS].

%% @doc Converts a list of flags to bits.
-spec parse([atom()]) -> {ok, non_neg_integer()} | {error, badarg}.
parse(Flags) ->
    parse(Flags, 0).

parse([all | Flags], Bits) ->
    parse(Flags, Bits bor ?ALL);
parse([Flag | Flags], Bits) ->
    case position(Flag, ?FLAGS, 0) of
        none -> {error, badarg};
        N -> parse(Flags, Bits bor ?BIT(N))
    end;
parse([], Bits) ->
    {ok, Bits};
parse(_, _Bits) ->
    {error, badarg}.

position(X, [X | _], N) -> N;
position(X, [_ | Rest], N) -> position(X, Rest, N + 1);
position(_, [], _) -> none.

bits(Flags) ->
    lists:sum([?BIT(position(F, ?FLAGS, 0)) || F <- Flags]).

%% @doc Returns those flags of `Bits' that a process, or a port, can have in OTP.
-spec for(process | port, non_neg_integer()) -> non_neg_integer().
for(port, Bits) ->
    Bits band bits([ports, running_ports | ?OF_BOTH]);
for(process, Bits) ->
    Bits band bnot bits([ports, running_ports]).

%% @doc Sets or clears flags of a session on one tracee.
-spec change(tracee(), change(), flags()) ->
          {ok, flags()} | {error, gone | other_tracer |
                                  {already_traced, tracee(), term()} |
                                  system_limit}.
change(Pid, Change, F) when is_pid(Pid) ->
    case is_ours(Pid, F) orelse is_free(Pid) of
        true -> change_process(Pid, Change, F);
        {error, _} = E -> E
    end;
change(Tracee, Change, F) ->
    case erlang:trace_info(Tracee, flags) of
        {flags, Have} ->
            From = inviso_engine:profile_of(Tracee),
            case traced_by_other(Tracee, Have, From, F) of
                {true, Other} -> {error, {already_traced, Tracee, Other}};
                false -> change(Tracee, Have, From, Change, F)
            end;
        undefined ->
            {error, gone}
    end.

change(Tracee, Have, From, Change, F0) ->
    case edit(Tracee, From, Change) of
        {error, _} = E ->
            E;
        To ->
            {Want, F} = want(Tracee, To, F0),
            in_vm(Tracee, Have, Want),
            {ok, note(Change, F)}
    end.

%% Changes the flags of one process, without reading its present flags from the VM.
%% The reason: if the process is busy, the server would have to wait for it. If the
%% process waits for a message, the VM would schedule it, and a trace could show this.
%% If the process has a tracer other than the engine, the VM changes nothing.
change_process(Pid, {_, How, _, _} = Change, F0) ->
    case edit(Pid, inviso_engine:profile_of(Pid), Change) of
        {error, _} = E ->
            E;
        To ->
            {Want, F} = want(Pid, To, F0),
            Done = case How of
                       true -> has_in_vm(Pid, Want, []);
                       false -> has_in_vm(Pid, [], not_needed(Pid, Want))
                   end,
            case Done orelse is_process_alive(Pid) of
                true -> {ok, note(Change, F)};
                false -> {error, gone}
            end
    end.

%% Returns true if sessions need flags on the process in the VM.
is_ours(Pid, F) ->
    {Want, _} = want(Pid, inviso_engine:profile_of(Pid), F),
    Want =/= [] orelse inviso_engine:expected(Pid) =/= 0.

%% Returns true if no other tool traces the process. The check is a request to
%% clear all flags with inviso's tracer, which the VM refuses if the process has
%% another tracer. The request also removes the flags of a dead tracer. If the
%% process is just being spawned, the request waits until the process has its
%% profile.
is_free(Pid) ->
    case has_in_vm(Pid, [], [all]) of
        true ->
            true;
        false ->
            case traced_by(Pid) of
                undefined -> {error, gone};
                Other -> {error, {already_traced, Pid, Other}}
            end
    end.

%% Returns true if the session already has a tracer on the tracee, and this tracer is
%% not the one that the change names. Returns false for `new_processes' and
%% `new_ports', because the tracer of new tracees may change.
has_other(Tracee, From, {Slot, true, _Bits, Tracer})
  when From =/= 0, not is_atom(Tracee) ->
    not lists:member(inviso_engine:tracer_of(From, Slot), [0, Tracer]);
has_other(_, _, _) ->
    false.

%% Returns `{true, Tracer}' if another tool traces the tracee. If a session needs
%% flags in the VM on the tracee, the engine has set the tracee's flags. If no
%% session needs flags, another tool may have set them.
traced_by_other(_Tracee, [], _Profile, _F) ->
    false;
traced_by_other(Tracee, _Have, Profile, F) ->
    case want(Tracee, Profile, F) of
        {[], _} ->
            T = traced_by(Tracee),
            T =/= [] andalso T =/= ?TRACER andalso {true, T};
        _ ->
            false
    end.

%% @doc Returns the tracer that the VM has for a tracee, or `undefined' if the
%% tracee is dead.
-spec traced_by(tracee()) -> term().
traced_by(Tracee) ->
    case erlang:trace_info(Tracee, tracer) of
        {tracer, T} -> T;
        undefined -> undefined
    end.

%% Returns the profile of the tracee after the change.
edit(Tracee, From, Change) ->
    case has_other(Tracee, From, Change) orelse edit(Tracee, Change) of
        true -> {error, other_tracer};
        full -> {error, system_limit};
        To -> To
    end.

edit(Tracee, {Slot, true, Bits, Tracer}) ->
    inviso_engine:edit(Tracee, Slot, 0, Bits, Tracer);
edit(Tracee, {Slot, false, Bits, Tracer}) ->
    inviso_engine:edit(Tracee, Slot, Bits, 0, Tracer).

note({Slot, true, Bits, _}, F) ->
    F#flags{calls = F#flags.calls bor noted(?CALL, Bits, Slot),
            returns = F#flags.returns bor noted(?RETURN_TO, Bits, Slot),
            silent = F#flags.silent bor noted(?SILENT, Bits, Slot)};
note(_, F) ->
    F.

noted(Flag, Bits, Slot) when Bits band Flag =/= 0 -> ?BIT(Slot);
noted(_, _, _) -> 0.

%% @doc Changes flags of many tracees and returns their number. Dead tracees, and
%% those that another tool traces, are left out.
-spec change_all([tracee()], change(), flags()) ->
          {ok, non_neg_integer(), flags()} | {error, system_limit}.
change_all(Tracees, Change, F) ->
    change_all(Tracees, Change, F, 0).

change_all([Tracee | Tracees], Change, F, N) ->
    case change(Tracee, Change, F) of
        {ok, New} -> change_all(Tracees, Change, New, N + 1);
        {error, system_limit} = E -> E;
        {error, _} -> change_all(Tracees, Change, F, N)
    end;
change_all([], _Change, F, N) ->
    {ok, N, F}.

%%---------------------------------------------------------------------------
%% Flags in the VM.

%% Sets the VM's flags. For new tracees, also sets the profile that the NIF
%% library uses for tracees that are not in its table.
%%
%% While the VM has no flags for new tracees, it makes no events about new
%% tracees. The NIF library treats each tracee that is not in its table as new. So
%% all existing tracees are added to the table before the events about new tracees
%% stop, and again after these events have started.
in_vm(New, Have, Want) when New =:= new_processes; New =:= new_ports ->
    Unknown = case Want of
                  [] -> inviso_engine:profile_of(New);
                  _ -> 0
              end,
    _ = Unknown =/= 0 andalso settle(New, Unknown),
    set_in_vm(New, Have, Want),
    _ = inviso_engine:unknown(New) =/= Unknown andalso settle(New, Unknown),
    ok;
in_vm(Tracee, Have, Want) ->
    set_in_vm(Tracee, Have, Want).

settle(New, Unknown) ->
    lists:foreach(fun inviso_engine:know/1, existing(New)),
    ok = inviso_engine:unknown(New, Unknown).

existing(new_processes) -> processes();
existing(new_ports) -> erlang:ports().

%% Sets and clears the VM's flags. The tracee has its new profile already, so the
%% VM's next events go to the right sessions.
set_in_vm(Tracee, Have, Want) ->
    On = Want -- Have,
    %% If one flag of `new_processes' or `new_ports' is cleared, the VM clears all
    %% flags. So these flags are cleared only if no session needs any of them.
    Off = [Flag || Flag <- Have -- Want, Want =:= [] orelse not is_atom(Tracee)],
    try
        _ = On =/= [] andalso erlang:trace(Tracee, true, tracer(On)),
        Off =/= [] andalso erlang:trace(Tracee, false, Off)
    catch
        error:_ -> gone
    end.

tracer(Flags) ->
    {Module, State} = ?TRACER,
    [{tracer, Module, State} | Flags].

%% @doc Returns the flags that the VM needs on a process if a session has the flags
%% `Bits' on the process.
-spec in_vm(non_neg_integer()) -> [atom()].
in_vm(Bits) ->
    wanted(?OF_PROCESSES, fun(Flag) -> Bits band bits([Flag]) =/= 0 end).

%% @doc Returns all flags that the VM may need on a process for a session.
-spec in_vm() -> [atom()].
in_vm() ->
    ?OF_PROCESSES.

%% Returns the flags that the VM needs for a profile. They are computed once for
%% each profile.
want(_Tracee, 0, F) ->
    {[], F};
want(Tracee, Profile, #flags{wants = Wants} = F) ->
    Key = {kind(Tracee), Profile},
    case Wants of
        #{Key := Want} ->
            {Want, F};
        _ ->
            Want = find_want(element(1, Key), Profile, F),
            {Want, F#flags{wants = Wants#{Key => Want}}}
    end.

kind(Pid) when is_pid(Pid) -> process;
kind(Port) when is_port(Port) -> port;
kind(New) -> New.

%% Computes the flags that the VM needs. If new tracees have flags, the VM must make
%% events about new tracees, so it needs `procs' or `ports'.
find_want(new_processes, Profile, F) ->
    and_birth(procs, needed(?OF_PROCESSES, Profile, F));
find_want(new_ports, Profile, F) ->
    and_birth(ports, needed(?OF_PORTS, Profile, F));
find_want(port, Profile, F) ->
    needed(?OF_PORTS, Profile, F);
find_want(process, Profile, F) ->
    needed(?OF_PROCESSES, Profile, F).

and_birth(_Flag, []) -> [];
and_birth(Flag, Needed) -> lists:usort([Flag | Needed]).

needed(Flags, Profile, F) ->
    Sessions = sessions_by_flag(Profile),
    wanted(Flags, fun(Flag) ->
                          proplists:get_value(Flag, Sessions)
                              band bnot quiet_for(Flag, Flags, F) =/= 0
                  end).

wanted(Flags, Is) ->
    Plain = [Flag || Flag <- Flags, Is(Flag)],
    Passing = [VM || lists:member(procs, Flags), {Flag, VM} <- passing(),
                     Is(Flag)],
    lists:usort(lists:append([Plain | Passing])).

%% Returns the flags that the VM needs so that a session's flags are inherited. If a
%% session's flags are inherited by links, even spawned children without a link get
%% flags in the VM. Otherwise the first events after a link would be missed.
passing() ->
    Spawn = [procs, set_on_spawn],
    [{set_on_spawn, Spawn}, {set_on_first_spawn, Spawn},
     {set_on_link, [set_on_link | Spawn]},
     {set_on_first_link, [set_on_link | Spawn]}].

quiet_for('receive', ?OF_PORTS, _) -> 0;
quiet_for(Flag, _, #flags{quiet = Quiet}) -> maps:get(Flag, Quiet, 0).

sessions_by_flag(Profile) ->
    lists:zip(?FLAGS ++ [used_up], tuple_to_list(inviso_engine:masks(Profile))).

%% @doc Prepares the slot of a new session. The new session's patterns for messages
%% are `true'.
-spec opened(inviso_engine:slot(), flags()) -> flags().
opened(Slot, #flags{quiet = Quiet} = F) ->
    quiet(maps:map(fun(_, Sessions) -> set_bit(Slot, false, Sessions) end, Quiet),
          F).

quiet(#{send := Send, 'receive' := Receive} = Quiet, F) ->
    ok = inviso_engine:quiet(Send, Receive),
    F#flags{quiet = Quiet, wants = #{}}.

%% @doc Notes whether a session's pattern for messages is `false', and sets the VM's
%% flags accordingly.
-spec quiet(send | 'receive', {inviso_engine:slot(), boolean()}, flags()) ->
          flags().
quiet(Event, {Slot, Is}, #flags{quiet = Quiet} = F) ->
    Sessions = set_bit(Slot, Is, maps:get(Event, Quiet)),
    case Quiet#{Event := Sessions} of
        Quiet -> F;
        New -> renew_all(having(?BIT(Slot), [Event]), quiet(New, F))
    end.

set_bit(Slot, true, Sessions) -> Sessions bor ?BIT(Slot);
set_bit(Slot, false, Sessions) -> Sessions band bnot ?BIT(Slot).

%% @doc Sets the VM's flags of at most `Max' processes whose profile a callback has
%% changed, and returns these processes. If they are `Max' processes, more may be
%% waiting.
-spec changed(pos_integer(), flags()) -> {[pid()], flags()}.
changed(Max, F) ->
    Pids = inviso_engine:changed(Max),
    {Pids, lists:foldl(fun renew/2, F, Pids)}.

renew(Tracee, F) ->
    renew(Tracee, inviso_engine:profile_of(Tracee), F).

renew_all(Tracees, F0) ->
    lists:foldl(fun({T, Profile}, F) -> renew(T, Profile, F) end, F0, Tracees).

-dialyzer({no_match, renew/3}).
renew(Pid, Profile, F) when is_pid(Pid) ->
    {Want, New} = want(Pid, Profile, F),
    _ = has_in_vm(Pid, Want, not_needed(Pid, Want)),
    New;
renew(Tracee, Profile, F) ->
    case erlang:trace_info(Tracee, flags) of
        {flags, Have} ->
            {Want, New} = want(Tracee, Profile, F),
            _ = (Have =:= [] orelse traced_by(Tracee) =:= ?TRACER)
                andalso in_vm(Tracee, Have, Want),
            New;
        undefined ->
            F
    end.

%% Returns the flags to clear in the VM. If a process may get flags by a link (see
%% inviso_engine:expected/1), it has flags in the VM before the link, so none of its
%% flags is cleared.
not_needed(Pid, Want) ->
    case inviso_engine:expected(Pid) of
        0 -> ?IN_VM -- Want;
        _ -> []
    end.

%% Sets, then clears flags of a process in the VM. Returns false if the process is
%% dead or another tool traces it.
has_in_vm(Pid, On, Off) ->
    try
        _ = On =/= [] andalso erlang:trace(Pid, true, tracer(On)),
        _ = (Off =/= [] orelse On =:= [])
            andalso erlang:trace(Pid, false, tracer(Off)),
        true
    catch
        error:badarg -> false
    end.

%%---------------------------------------------------------------------------
%% Queries.

%% @doc Returns the flags that a session has on a tracee.
-spec flags(inviso_engine:slot(), tracee()) -> [atom()].
flags(Slot, Tracee) ->
    [Flag || {Flag, Mask} <- sessions_of(Tracee), Flag =/= used_up,
             Mask band ?BIT(Slot) =/= 0].

%% @doc Returns the number of the tracer that a session has on a tracee. 0 means the
%% session's own tracer, or none.
-spec tracer(inviso_engine:slot(), tracee()) -> inviso_engine:tracer().
tracer(Slot, Tracee) ->
    inviso_engine:tracer_of(inviso_engine:profile_of(Tracee), Slot).

%% @doc Returns the sessions that have flags on a tracee.
-spec sessions(tracee()) -> [inviso_engine:slot()].
sessions(Tracee) ->
    Mask = lists:foldl(fun({_, M}, Acc) -> M bor Acc end, 0,
                       sessions_of(Tracee)),
    [Slot || Slot <- lists:seq(0, 31), Mask band ?BIT(Slot) =/= 0].

sessions_of(Tracee) ->
    sessions_by_flag(inviso_engine:profile_of(Tracee)).

%% @doc Returns true if a tracer that the VM shows is the engine.
-spec is_engine(term()) -> boolean().
is_engine(Tracer) -> Tracer =:= ?TRACER.

%% @doc Returns true if a tracer is the engine of an installed inviso, or the
%% engine in code that a client has sent to the node. On a node that has both
%% engines, one server serves both. The names are not atoms here, because the
%% build would replace the first name (tools/combine.escript).
-spec is_any_engine(term()) -> boolean().
is_any_engine({Module, 0}) when is_atom(Module) ->
    lists:member(atom_to_list(Module), ["inviso_engine", "inviso_tracer"]);
is_any_engine(_) ->
    false.

%% @doc Clears the flags that a tracee has in the VM and that no session needs at
%% present.
-spec release(tracee(), flags()) -> ok.
release(Tracee, F) ->
    _ = renew(Tracee, F),
    ok.

%% @doc Returns which of the flags `call', `return_to' and `silent' a session may
%% have on at least one tracee.
-spec has(inviso_engine:slot(), flags()) -> [call | return_to | silent].
has(Slot, #flags{calls = Calls, returns = Returns, silent = Silent}) ->
    [Flag || {Flag, Sessions} <- [{call, Calls}, {return_to, Returns},
                                  {silent, Silent}],
             Sessions band ?BIT(Slot) =/= 0].

%% @doc Must be called after flags were cleared: finds out which flags the session
%% still has on at least one tracee, for has/2.
-spec recount(inviso_engine:slot(), flags()) -> flags().
recount(Slot, F) ->
    Has = fun(Flag, Sessions) ->
                  Still = Sessions band ?BIT(Slot) =/= 0
                      andalso having(?BIT(Slot), [Flag]) =/= [],
                  set_bit(Slot, Still, Sessions)
          end,
    F#flags{calls = Has(call, F#flags.calls),
            returns = Has(return_to, F#flags.returns),
            silent = Has(silent, F#flags.silent)}.

%% Returns the tracees on which one of these sessions has one of these flags, with
%% their profiles.
having(Slots, Flags) ->
    {Found, _} = lists:foldl(
                   fun(T, {Acc, Known0}) ->
                           P = inviso_engine:profile_of(T),
                           Known = know(P, Slots, Flags, Known0),
                           case Known of
                               #{P := true} -> {[{T, P} | Acc], Known};
                               #{P := false} -> {Acc, Known}
                           end
                   end, {[], #{0 => false}},
                   [new_processes, new_ports] ++ processes()
                   ++ erlang:ports()),
    Found.

know(Profile, _, _, Known) when is_map_key(Profile, Known) ->
    Known;
know(Profile, Slots, Flags, Known) ->
    Any = lists:any(fun({Flag, Mask}) ->
                            Mask band Slots =/= 0
                                andalso lists:member(Flag, Flags)
                    end, sessions_by_flag(Profile)),
    Known#{Profile => Any}.

%%---------------------------------------------------------------------------
%% The end of a session.

%% @doc Clears all flags of a session.
-spec forget(inviso_engine:slot(), flags()) -> flags().
forget(Slot, F0) ->
    F = forget_all(Slot, fun(_Profile) -> true end, F0, 100),
    F#flags{calls = set_bit(Slot, false, F#flags.calls),
            returns = set_bit(Slot, false, F#flags.returns),
            silent = set_bit(Slot, false, F#flags.silent)}.

%% @doc Clears the flags of a session on the tracees on which the session has this
%% tracer. 0 is the session's own tracer.
-spec forget(inviso_engine:slot(), inviso_engine:tracer(), flags()) ->
          flags().
forget(Slot, Tracer, F) ->
    Has = fun(Profile) ->
                  inviso_engine:tracer_of(Profile, Slot) =:= Tracer
          end,
    recount(Slot, forget_all(Slot, Has, F, 100)).

%% Clears flags in rounds, because children may inherit flags meanwhile. Stops when
%% no tracee has flags of the session, or after `Left' rounds.
forget_all(_Slot, _Has, F, 0) ->
    F;
forget_all(Slot, Has, F, Left) ->
    case [T || {T, Profile} <- having(?BIT(Slot), ?FLAGS ++ [used_up]),
                Has(Profile)] ++ expecting(Slot) of
        [] ->
            F;
        Tracees ->
            %% `full' means that there is no room for the new profile. The next
            %% round tries again.
            New = [{T, P} || T <- Tracees,
                             P <- [inviso_engine:edit(T, Slot, ?ALL, 0, 0)],
                             P =/= full],
            forget_all(Slot, Has, renew_all(New, F), Left - 1)
    end.

%% Returns the processes that may get flags of a session by a link.
expecting(Slot) ->
    [P || P <- processes(), inviso_engine:expected(P) band ?BIT(Slot) =/= 0].

%% The type specs of `erlang:trace/3' and `erlang:trace_info/2' do not include
%% tracer modules.
-dialyzer({[no_match, no_unused], [clean/0, gone/1]}).
%% @doc Clears all flags in the VM that sessions of a killed server have left.
-spec clean() -> ok.
clean() ->
    _ = [gone(T) || T <- [new_processes, new_ports | erlang:ports()],
                    traced_by(T) =:= ?TRACER],
    clean([], 10).

%% Clears the flags of processes, and repeats this for new processes, because
%% children may inherit flags meanwhile.
clean(Done, Left) ->
    Now = processes(),
    case Now -- Done of
        [] ->
            ok;
        New ->
            _ = [has_in_vm(P, [], ?IN_VM) || P <- New],
            _ = Left > 1 andalso clean(Now, Left - 1),
            ok
    end.

gone(Tracee) ->
    try erlang:trace(Tracee, false, [all])
    catch error:badarg -> 0
    end.
