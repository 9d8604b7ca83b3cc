%% SPDX-License-Identifier: Apache-2.0
%% @doc Which sessions have set which flags on which processes and ports.
%%
%% Who has what is known to the library alone (c_src/engine/profile.h), since
%% new processes get their flags there. Here is what the VM is told: the flags
%% that any session needs, plus `procs' and the VM's own `set_on_spawn' and
%% `set_on_link' where flags are passed on: the engine makes the acquaintance of
%% a process in its event `spawned', of a port in its event `open'.
%%
%% What a session does not need is not told: its flag `send' while its pattern
%% of sent messages is `false', `receive' likewise. (What ports receive knows no
%% pattern.) Flags of new ones that no session needs are not told at all, and
%% leave those to others who want to trace them.
-module(inviso_engine_flags).

-export([new/0, opened/2, parse/2, for/2, change/3, change_all/3, quiet/3,
         changed/2, flags/2, tracer/2, sessions/1, calls/2, returns/2, silent/2,
         called/2, recount/2, in_vm/0, in_vm/1, forget/2, forget/3, release/2,
         is_engine/1, clean/0]).

-export_type([flags/0, tracee/0, change/0]).

-type tracee() :: inviso_engine:tracee().
-type kind() :: process | port | new_processes | new_ports.
-type change() :: {inviso_engine:slot(), boolean(), Bits :: non_neg_integer(),
                   inviso_engine:tracer()}.

-record(flags, {%% Sessions that may have set `call' somewhere.
                calls = 0 :: inviso_engine:sessions(),
                returns = 0 :: inviso_engine:sessions(), % and `return_to'
                silent = 0 :: inviso_engine:sessions(), % and `silent'
                %% Sessions whose pattern is `false'.
                send = 0 :: inviso_engine:sessions(),
                'receive' = 0 :: inviso_engine:sessions(),
                wants = #{} :: #{{kind(), inviso_engine:profile()} =>
                                     [atom()]}}).
-opaque flags() :: #flags{}.

%% In the order of enum inv_flag.
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

%% Those that the VM is told, by what they are set on.
-define(OF_PROCESSES, [call, send, 'receive', procs, running, exiting,
                       garbage_collection, return_to, running_procs,
                       scheduler_id, timestamp]).
-define(OF_PORTS, [send, 'receive', running_ports, ports, scheduler_id,
                   timestamp]).

%% All that a process of ours may have there.
-define(IN_VM, [set_on_spawn, set_on_link | ?OF_PROCESSES]).

%% Those that OTP counts as flags of both.
-define(OF_BOTH, [send, 'receive', silent, timestamp,
                  strict_monotonic_timestamp, monotonic_timestamp,
                  scheduler_id]).

-define(TRACER, {inviso_engine, 0}).

%% @doc Nothing is set anywhere.
-spec new() -> flags().
new() ->
    #flags{}.

%% @doc The bits of a list of flags. What is not there can be turned off.
-spec parse([atom()], boolean()) ->
          {ok, non_neg_integer()} | {error, badarg}.
parse(Flags, How) ->
    parse(Flags, How, 0).

parse([all | Flags], How, Bits) ->
    parse(?FLAGS ++ Flags, How, Bits);
parse([Flag | Flags], How, Bits) ->
    case position(Flag, ?FLAGS, 0) of
        none -> {error, badarg};
        N -> parse(Flags, How, Bits bor ?BIT(N))
    end;
parse([], _How, Bits) ->
    {ok, Bits};
parse(_, _How, _Bits) ->
    {error, badarg}.

position(X, [X | _], N) -> N;
position(X, [_ | Rest], N) -> position(X, Rest, N + 1);
position(_, [], _) -> none.

bits(Flags) ->
    lists:sum([?BIT(position(F, ?FLAGS, 0)) || F <- Flags]).

%% @doc Those of the bits that OTP takes for flags of processes or of ports.
-spec for(processes | ports, non_neg_integer()) -> non_neg_integer().
for(ports, Bits) ->
    Bits band bits([ports, running_ports | ?OF_BOTH]);
for(processes, Bits) ->
    Bits band bnot bits([ports, running_ports]).

%% @doc Sets (`true') or clears bits of a session on one.
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
            case somebody_elses(Tracee, Have, From, F) of
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

%% A process is not asked what it has: one that is busy would be waited for, and
%% one that is not be scheduled in, which may show in a trace. The VM changes
%% nothing of one that has another tracer than the one that is named.
change_process(Pid, {_, How, _, _} = Change, F0) ->
    case edit(Pid, inviso_engine:profile_of(Pid), Change) of
        {error, _} = E ->
            E;
        To ->
            {Want, F} = want(Pid, To, F0),
            Told = case How of
                       true -> has_in_vm(Pid, Want, []);
                       false -> has_in_vm(Pid, [], not_needed(Pid, Want))
                   end,
            case Told orelse is_process_alive(Pid) of
                true -> {ok, note(Change, F)};
                false -> {error, gone}
            end
    end.

%% Whether the VM has been told any flags.
is_ours(Pid, F) ->
    {Told, _} = want(Pid, inviso_engine:profile_of(Pid), F),
    Told =/= [] orelse inviso_engine:expected(Pid) =/= 0.

%% What we need not have there is taken away; that of a tracer that is dead is,
%% too. One that is being made is waited for, until it has its profile.
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

%% A session has one tracer for each. For new ones it is exchanged.
has_other(Tracee, From, {Slot, true, _Bits, Tracer})
  when From =/= 0, not is_atom(Tracee) ->
    not lists:member(inviso_engine:tracer_of(From, Slot), [0, Tracer]);
has_other(_, _, _) ->
    false.

%% Flags in the VM are ours where we have told it any.
somebody_elses(_Tracee, [], _Profile, _F) ->
    false;
somebody_elses(Tracee, _Have, Profile, F) ->
    case want(Tracee, Profile, F) of
        {[], _} ->
            T = traced_by(Tracee),
            T =/= [] andalso T =/= ?TRACER andalso {true, T};
        _ ->
            false
    end.

traced_by(Tracee) ->
    case erlang:trace_info(Tracee, tracer) of
        {tracer, T} -> T;
        undefined -> undefined
    end.

%% The profile that it makes.
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

%% @doc The same for many: those that are gone, or that somebody else traces,
%% are left out. How many are not.
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
%% What the VM has.

%% New ones that the VM does not tell of are those that have no place in the
%% library's table. So all others have one, before they are told of no more, and
%% after they are again.
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

%% The profile is there already: what the VM tells from now on is told right.
set_in_vm(Tracee, Have, Want) ->
    try
        case {Want -- Have, Have -- Want} of
            {[], []} -> ok;
            {[], _} when Want =:= [] -> erlang:trace(Tracee, false, [all]);
            {New, []} -> erlang:trace(Tracee, true, tracer(New));
            %% When one flag of new ones goes, the VM forgets all of them: it
            %% keeps those that nobody needs, until nobody needs any.
            {New, _} when is_atom(Tracee) ->
                erlang:trace(Tracee, true, tracer(New));
            {[], Old} -> erlang:trace(Tracee, false, Old);
            {New, Old} -> erlang:trace(Tracee, true, tracer(New)),
                          erlang:trace(Tracee, false, Old)
        end
    catch
        error:_ -> gone
    end.

tracer(Flags) ->
    {Module, State} = ?TRACER,
    [{tracer, Module, State} | Flags].

%% @doc Those that the VM is told of a process with these.
-spec in_vm(non_neg_integer()) -> [atom()].
in_vm(Bits) ->
    wanted(?OF_PROCESSES, fun(Flag) -> Bits band bits([Flag]) =/= 0 end).

%% @doc All that it may be told.
-spec in_vm() -> [atom()].
in_vm() ->
    ?OF_PROCESSES.

%% Found out once for each profile.
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

%% New ones must tell that they are there, if they have anything to tell.
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

%% Children of one that passes flags on by links are got to know, too: what they
%% do right after a link would be missed otherwise.
passing() ->
    Spawn = [procs, set_on_spawn],
    [{set_on_spawn, Spawn}, {set_on_first_spawn, Spawn},
     {set_on_link, [set_on_link | Spawn]},
     {set_on_first_link, [set_on_link | Spawn]}].

quiet_for(send, _, #flags{send = Quiet}) -> Quiet;
quiet_for('receive', ?OF_PROCESSES, #flags{'receive' = Quiet}) -> Quiet;
quiet_for(_, _, _) -> 0.

sessions_by_flag(Profile) ->
    lists:zip(?FLAGS ++ [used_up], tuple_to_list(inviso_engine:masks(Profile))).

%% @doc A session begins: its patterns of messages are `true', it has no flags.
-spec opened(inviso_engine:slot(), flags()) -> flags().
opened(Slot, F) ->
    told(F#flags{send = set_bit(Slot, false, F#flags.send),
                 'receive' = set_bit(Slot, false, F#flags.'receive')}).

told(F) ->
    ok = inviso_engine:quiet(F#flags.send, F#flags.'receive'),
    F#flags{wants = #{}}.

%% @doc Whether a session's pattern of messages is `false'.
-spec quiet(send | 'receive', {inviso_engine:slot(), boolean()}, flags()) ->
          flags().
quiet(Event, {Slot, Quiet}, F) ->
    N = element_of(Event),
    Old = element(N, F),
    case set_bit(Slot, Quiet, Old) of
        Old ->
            F;
        Sessions ->
            New = told(setelement(N, F, Sessions)),
            renew_all(having(?BIT(Slot), [Event]), New)
    end.

element_of(send) -> #flags.send;
element_of('receive') -> #flags.'receive'.

set_bit(Slot, true, Sessions) -> Sessions bor ?BIT(Slot);
set_bit(Slot, false, Sessions) -> Sessions band bnot ?BIT(Slot).

%% @doc The library has changed flags: the VM is told of so many at most. Whether
%% there may be more.
-spec changed(pos_integer(), flags()) -> {boolean(), flags()}.
changed(Max, F) ->
    Pids = inviso_engine:changed(Max),
    {length(Pids) =:= Max, lists:foldl(fun renew/2, F, Pids)}.

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

%% What it may need later it has already, and keeps.
not_needed(Pid, Want) ->
    case inviso_engine:expected(Pid) of
        0 -> ?IN_VM -- Want;
        _ -> []
    end.

%% Whether it is there, and nobody else's.
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
%% What is set.

%% @doc The flags that a session has set on one.
-spec flags(inviso_engine:slot(), tracee()) -> [atom()].
flags(Slot, Tracee) ->
    [Flag || {Flag, Mask} <- sessions_of(Tracee), Flag =/= used_up,
             Mask band ?BIT(Slot) =/= 0].

%% @doc The tracer that a session has for one, 0: its own, or none.
-spec tracer(inviso_engine:slot(), tracee()) -> inviso_engine:tracer().
tracer(Slot, Tracee) ->
    inviso_engine:tracer_of(inviso_engine:profile_of(Tracee), Slot).

%% @doc The sessions that have set any.
-spec sessions(tracee()) -> [inviso_engine:slot()].
sessions(Tracee) ->
    Mask = lists:foldl(fun({_, M}, Acc) -> M bor Acc end, 0,
                       sessions_of(Tracee)),
    [Slot || Slot <- lists:seq(0, 31), Mask band ?BIT(Slot) =/= 0].

sessions_of(Tracee) ->
    sessions_by_flag(inviso_engine:profile_of(Tracee)).

%% @doc Whether that is our tracer.
-spec is_engine(term()) -> boolean().
is_engine(Tracer) -> Tracer =:= ?TRACER.

%% @doc Takes from one in the VM what no session needs just now.
-spec release(tracee(), flags()) -> ok.
release(Tracee, F) ->
    _ = renew(Tracee, F),
    ok.

%% @doc Whether any may have a session's flag `call'.
-spec calls(inviso_engine:slot(), flags()) -> boolean().
calls(Slot, #flags{calls = Calls}) ->
    Calls band ?BIT(Slot) =/= 0.

%% @doc Whether any may have its flag `return_to'.
-spec returns(inviso_engine:slot(), flags()) -> boolean().
returns(Slot, #flags{returns = Returns}) ->
    Returns band ?BIT(Slot) =/= 0.

%% @doc Whether any may have its flag `silent'.
-spec silent(inviso_engine:slot(), flags()) -> boolean().
silent(Slot, #flags{silent = Silent}) ->
    Silent band ?BIT(Slot) =/= 0.

%% @doc Whether a process has or had its flag `call'. Of one who has died that
%% may be known no more: then it had.
-spec called(inviso_engine:slot(), pid()) -> boolean().
called(Slot, Pid) ->
    case inviso_engine:called(Pid) of
        unknown -> not is_process_alive(Pid);
        Sessions -> Sessions band ?BIT(Slot) =/= 0
    end.

%% @doc Finds that out anew, after flags have been cleared on many.
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

%% All on which one of these sessions has set one of these flags.
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
%% The end.

%% @doc Clears all that a session has set.
-spec forget(inviso_engine:slot(), flags()) -> flags().
forget(Slot, F0) ->
    F = forget_all(Slot, fun(_Profile) -> true end, F0, 100),
    F#flags{calls = set_bit(Slot, false, F#flags.calls),
            returns = set_bit(Slot, false, F#flags.returns),
            silent = set_bit(Slot, false, F#flags.silent)}.

%% @doc Clears what it has set where it has that tracer; 0: its own.
-spec forget(inviso_engine:slot(), inviso_engine:tracer(), flags()) ->
          flags().
forget(Slot, Tracer, F) ->
    Has = fun(Profile) ->
                  inviso_engine:tracer_of(Profile, Slot) =:= Tracer
          end,
    recount(Slot, forget_all(Slot, Has, F, 100)).

%% Until nobody is found: while some are gone through, others pass it on.
forget_all(_Slot, _Has, F, 0) ->
    F;
forget_all(Slot, Has, F, Left) ->
    case [T || {T, Profile} <- having(?BIT(Slot), ?FLAGS ++ [used_up]),
                Has(Profile)] ++ expecting(Slot) of
        [] ->
            F;
        Tracees ->
            %% A dead one's profile is of no interest.
            New = [{T, P} || T <- Tracees,
                             P <- [inviso_engine:edit(T, Slot, ?ALL, 0, 0)],
                             P =/= full],
            forget_all(Slot, Has, renew_all(New, F), Left - 1)
    end.

%% Those that it may get interested in.
expecting(Slot) ->
    [P || P <- processes(), inviso_engine:expected(P) band ?BIT(Slot) =/= 0].

%% The VM answers more than the specs of its functions tell: a tracer may be a
%% module.
-dialyzer({[no_match, no_unused], [clean/0, gone/1]}).
%% @doc Clears all that any session has set.
-spec clean() -> ok.
clean() ->
    _ = [gone(T) || T <- [new_processes, new_ports | erlang:ports()],
                    traced_by(T) =:= ?TRACER],
    clean([], 10).

%% While some are gone through, others pass it on.
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
