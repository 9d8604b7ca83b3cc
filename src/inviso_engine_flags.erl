%% SPDX-License-Identifier: Apache-2.0
%% @doc Which sessions have set which flags on which processes.
%%
%% A profile is a combination of sessions and their flags; processes with the
%% same have the same number, which the callbacks look up. Here is what the
%% numbers mean; which process has which is known to the library alone, since
%% new processes get theirs there.
%%
%% The VM's flags of a process are what any of its sessions needs, plus `procs'
%% and `set_on_spawn' where children inherit: the engine makes the acquaintance
%% of a process in its event `spawned'.
-module(inviso_engine_flags).

-export([new/0, parse/2, change/3, change_new/2, flags/2, flags_of_new/1,
         sessions/2, sessions_of_new/1, forget/2, clean/0]).

-export_type([flags/0]).

-record(flags, {numbers = #{[] => 0} :: #{key() => inviso_engine:profile()},
                keys = #{0 => []} :: #{inviso_engine:profile() => key()},
                %% Those of processes that nobody's child is.
                new = [] :: key()}).

-opaque flags() :: #flags{}.
-type key() :: [{inviso_engine:slot(), Bits :: pos_integer()}].

%% In the order of enum inv_flag; the last two are not the callbacks' matter.
-define(FLAGS, [call, send, 'receive', procs, running, exiting,
                garbage_collection, silent, arity, timestamp,
                strict_monotonic_timestamp, monotonic_timestamp,
                set_on_spawn, set_on_first_spawn]).
-define(CALLBACKS, 12).
-define(FLAG(Number), (1 bsl (Number))).
-define(ON_SPAWN, ?FLAG(12)).
-define(ON_FIRST_SPAWN, ?FLAG(13)).

%% Flags that we have no emulation for.
-define(MISSING, [return_to, running_procs, running_ports, ports, set_on_link,
                  set_on_first_link, cpu_timestamp]).

-define(TRACER, {inviso_engine, 0}).
-define(PROFILES_MAX, 65536).

%% @doc Nothing is set anywhere.
-spec new() -> flags().
new() ->
    ok = inviso_engine:profile(0, masks([]), 0, 0),
    #flags{}.

%% @doc The bits of a list of flags. What is not there can be turned off.
-spec parse([atom()], boolean()) ->
          {ok, non_neg_integer()} | {error, badarg | {not_supported, atom()}}.
parse(Flags, How) ->
    parse(Flags, How, 0).

parse([all | Flags], false, _) ->
    parse(Flags, false, (1 bsl length(?FLAGS)) - 1);
parse([all | _], true, _) ->
    {error, {not_supported, all}};
parse([Flag | Flags], How, Bits) ->
    case {position(Flag, ?FLAGS, 0), lists:member(Flag, ?MISSING)} of
        {none, false} -> {error, badarg};
        {none, true} when How -> {error, {not_supported, Flag}};
        {none, true} -> parse(Flags, How, Bits);
        {N, _} -> parse(Flags, How, Bits bor ?FLAG(N))
    end;
parse([], _How, Bits) ->
    {ok, Bits};
parse(_, _How, _Bits) ->
    {error, badarg}.

position(X, [X | _], N) -> N;
position(X, [_ | Rest], N) -> position(X, Rest, N + 1);
position(_, [], _) -> none.

%% @doc Sets (`true') or clears bits of a session on a process.
-spec change(pid(), {inviso_engine:slot(), boolean(), integer()},
             flags()) ->
          {ok, flags()} | {error, gone | {already_traced, pid(), term()} |
                                  system_limit}.
change(Pid, Change, F) ->
    %% Also waits until the process is wholly made, its profile included.
    case erlang:trace_info(Pid, tracer) of
        {tracer, T} when T =:= []; T =:= ?TRACER ->
            exchange(Pid, Change, F, 100);
        undefined ->
            {error, gone};
        {tracer, Other} ->
            {error, {already_traced, Pid, Other}}
    end.

%% A process that spawns may change its own profile meanwhile.
exchange(_Pid, _Change, _F, 0) ->
    {error, system_limit};
exchange(Pid, Change, F0, Left) ->
    From = inviso_engine:profile_of(Pid),
    Key = edit(maps:get(From, F0#flags.keys), Change),
    case number(F0, Key) of
        {error, _} = E ->
            E;
        {To, F} ->
            case inviso_engine:change(Pid, From, To) of
                true ->
                    in_vm(Pid, Key),
                    {ok, F};
                false ->
                    exchange(Pid, Change, F, Left - 1)
            end
    end.

%% The profile is there already: what the VM tells from now on is told right.
in_vm(Pid, Key) ->
    try
        {flags, Have} = erlang:trace_info(Pid, flags),
        Want = vm_flags(Key),
        case Key of
            [] ->
                Have =/= [] andalso erlang:trace(Pid, false, [all]);
            _ ->
                erlang:trace(Pid, true, tracer(Want -- Have)),
                Have -- Want =/= []
                    andalso erlang:trace(Pid, false, Have -- Want)
        end
    catch
        error:_ -> gone
    end.

tracer(Flags) ->
    {Module, State} = ?TRACER,
    [{tracer, Module, State} | Flags].

vm_flags(Key) ->
    Bits = lists:foldl(fun({_, B}, Acc) -> Acc bor B end, 0, Key),
    Spawn = Bits band (?ON_SPAWN bor ?ON_FIRST_SPAWN) =/= 0,
    Plain = [Flag || {Flag, N} <- numbered(), Bits band ?FLAG(N) =/= 0,
                     N =< 6],
    lists:usort(Plain ++ [F || Spawn, F <- [procs, set_on_spawn]]).

numbered() ->
    lists:zip(?FLAGS, lists:seq(0, length(?FLAGS) - 1)).

%% @doc The same for processes that will be.
-spec change_new({inviso_engine:slot(), boolean(), integer()},
                 flags()) ->
          {ok, flags()} | {error, {already_traced, new, term()} |
                                  system_limit}.
change_new(Change, F) ->
    case erlang:trace_info(new_processes, tracer) of
        {tracer, T} when T =:= []; T =:= ?TRACER ->
            set_new(F, edit(F#flags.new, Change));
        {tracer, Other} ->
            {error, {already_traced, new, Other}}
    end.

set_new(F, Key) when Key =:= F#flags.new ->
    {ok, F};
set_new(F0, Key) ->
    case children(F0#flags{new = Key}) of
        {error, _} = E ->
            E;
        F ->
            new_in_vm(Key),
            {ok, F}
    end.

new_in_vm(Key) ->
    {flags, Have} = erlang:trace_info(new_processes, flags),
    Want = [F || Key =/= [], F <- lists:usort([procs | vm_flags(Key)])],
    _ = Want =/= [] andalso erlang:trace(new_processes, true, tracer(Want)),
    _ = Have -- Want =/= []
        andalso erlang:trace(new_processes, false, Have -- Want),
    ok.

%% What children get has changed for all profiles. That may make new ones,
%% which are right from the beginning.
children(F0) ->
    maps:fold(fun(_Number, _Key, {error, _} = E) ->
                      E;
                 (Number, Key, F) ->
                      case number(F, child(Key, F#flags.new)) of
                          {error, _} = E ->
                              E;
                          {Child, F1} ->
                              ok = inviso_engine:child(Number, Child),
                              F1
                      end
              end, F0, F0#flags.keys).

%% @doc The flags of a process in a session.
-spec flags(inviso_engine:slot(), {pid(), flags()}) -> [atom()].
flags(Slot, {Pid, F}) ->
    names(Slot, maps:get(inviso_engine:profile_of(Pid), F#flags.keys)).

%% @doc The flags of processes that will be.
-spec flags_of_new({inviso_engine:slot(), flags()}) -> [atom()].
flags_of_new({Slot, F}) ->
    names(Slot, F#flags.new).

names(Slot, Key) ->
    Bits = proplists:get_value(Slot, Key, 0),
    [Flag || {Flag, N} <- numbered(), Bits band ?FLAG(N) =/= 0].

%% @doc The sessions that trace a process.
-spec sessions(pid(), flags()) -> [inviso_engine:slot()].
sessions(Pid, F) ->
    [S || {S, _} <- maps:get(inviso_engine:profile_of(Pid), F#flags.keys)].

%% @doc The sessions that trace processes that will be.
-spec sessions_of_new(flags()) -> [inviso_engine:slot()].
sessions_of_new(F) ->
    [S || {S, _} <- F#flags.new].

%% @doc Clears all that a session has set.
-spec forget(inviso_engine:slot(), flags()) -> flags().
forget(Slot, F0) ->
    All = {Slot, false, -1},
    F1 = case change_new(All, F0) of
             {ok, F} -> F;
             {error, _} -> F0
         end,
    lists:foldl(fun(Pid, Acc) ->
                        case lists:member(Slot, sessions(Pid, Acc)) of
                            true -> forget(Pid, All, Acc);
                            false -> Acc
                        end
                end, F1, processes()).

forget(Pid, All, F0) ->
    case change(Pid, All, F0) of
        {ok, F} -> F;
        {error, _} -> F0
    end.

%% The VM answers more than the specs of its functions tell: a tracer may be a
%% module.
-dialyzer({[no_match, no_unused], [clean/0, gone/1]}).
%% @doc Clears all that any session has set.
-spec clean() -> ok.
clean() ->
    _ = [gone(P) || P <- [new_processes | processes()],
                    erlang:trace_info(P, tracer) =:= {tracer, ?TRACER}],
    ok.

gone(Pid) ->
    try erlang:trace(Pid, false, [all])
    catch error:badarg -> 0
    end.

edit(Key, {Slot, How, Bits}) ->
    Old = proplists:get_value(Slot, Key, 0),
    New = case How of
              true -> Old bor Bits;
              false -> Old band bnot Bits
          end,
    join(Slot, New, Key).

join(Slot, 0, Key) -> lists:keydelete(Slot, 1, Key);
join(Slot, Bits, Key) -> lists:keystore(Slot, 1, Key, {Slot, Bits}).

%%---------------------------------------------------------------------------
%% Numbers of profiles.

number(F, Key0) ->
    Key = lists:keysort(1, Key0),
    case F#flags.numbers of
        #{Key := Number} -> {Number, F};
        Numbers when map_size(Numbers) =:= ?PROFILES_MAX ->
            {error, system_limit};
        Numbers ->
            Number = map_size(Numbers),
            define(F#flags{numbers = Numbers#{Key => Number},
                           keys = (F#flags.keys)#{Number => Key}},
                   Key, Number)
    end.

%% The number first, its children's after: a child's profile is often that of
%% its parent.
define(F0, Key, Number) ->
    case number(F0, child(Key, F0#flags.new)) of
        {error, _} = E ->
            E;
        {Child, F1} ->
            case number(F1, parent(Key)) of
                {error, _} = E ->
                    E;
                {After, F} ->
                    ok = inviso_engine:profile(Number, masks(Key), Child,
                                               After),
                    {Number, F}
            end
    end.

masks(Key) ->
    list_to_tuple([lists:foldl(fun({Slot, Bits}, Mask) ->
                                       Mask bor (((Bits bsr N) band 1)
                                                 bsl Slot)
                               end, 0, Key)
                   || N <- lists:seq(0, ?CALLBACKS - 1)]).

%% `set_on_first_spawn' goes before `set_on_spawn', and takes both along.
child(Key, New) ->
    lists:foldl(fun({Slot, Bits}, Acc) ->
                        Passed = passed(Bits),
                        join(Slot,
                             Passed bor proplists:get_value(Slot, Acc, 0),
                             Acc)
                end, New, Key).

passed(Bits) when Bits band ?ON_FIRST_SPAWN =/= 0 ->
    Bits band bnot (?ON_FIRST_SPAWN bor ?ON_SPAWN);
passed(Bits) when Bits band ?ON_SPAWN =/= 0 ->
    Bits;
passed(_) ->
    0.

parent(Key) ->
    lists:foldl(fun({Slot, Bits}, Acc)
                      when Bits band ?ON_FIRST_SPAWN =/= 0 ->
                        join(Slot, passed(Bits), Acc);
                   (_, Acc) ->
                        Acc
                end, Key, Key).
