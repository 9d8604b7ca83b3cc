%% SPDX-License-Identifier: Apache-2.0
%% @doc Plays random scripts of trace sessions ({@link inviso_sessions_gen}) on
%% this release and on a release whose VM has sessions. If the outcomes of a
%% script differ, shrinks the script (tools/fuzz-sessions.sh).
-module(inviso_sessions_fuzz).

-export([main/0, serve/0, play/1]).

-define(MOST, 10).

%% @doc Plays random scripts on both VMs. Exits with 1 if at least one outcome differs. The first
%% two arguments are commands that start a VM, which runs serve/0. The third argument is the number
%% of seconds for which scripts are played, and the fourth is the first seed.
-spec main() -> no_return().
main() ->
    [Here, There, Secs, Seed] = init:get_plain_arguments(),
    Counts = run(list_to_integer(Seed), {start(Here), start(There)}, #{},
                 deadline(list_to_integer(Secs))),
    io:format("~p~n", [Counts]),
    halt(case Counts of #{differs := _} -> 1; _ -> 0 end).

deadline(Secs) ->
    erlang:monotonic_time(second) + Secs.

run(Seed, Vms0, Counts0, Deadline) ->
    {What, Vms1} = judge(inviso_sessions_gen:script(Seed), Vms0),
    {Outcome, Vms} = case What of
                         {differs, How} -> look_again(Seed, How, Vms1);
                         _ -> {What, Vms1}
                     end,
    Counts = maps:update_with(Outcome, fun(N) -> N + 1 end, 1, Counts0),
    case Counts of
        #{differs := ?MOST} ->
            Counts#{stopped_at => Seed};
        _ ->
            case erlang:monotonic_time(second) >= Deadline of
                true -> Counts#{last => Seed};
                false -> run(Seed + 1, Vms, Counts, Deadline)
            end
    end.

look_again(Seed, How0, Vms0) ->
    Script0 = inviso_sessions_gen:script(Seed),
    case judge(Script0, Vms0) of
        {{differs, How1}, Vms1} ->
            {Script, How, Vms} = shrink(Script0, How1, Vms1),
            io:format("~nseed ~p, made small:~n~p~n~s", [Seed, Script, How]),
            {differs, Vms};
        {_, Vms} ->
            io:format("~nonce: seed ~p~n~s", [Seed, How0]),
            {once, Vms}
    end.

judge(Script, {Here, There}) ->
    {Ours, Here1} = ask(Here, Script),
    {Theirs, There1} = ask(There, Script),
    {verdict(Ours, Theirs), {Here1, There1}}.

verdict(Same, Same) -> same;
verdict(_, There) when element(1, There) =:= failed -> no_script;
verdict(_, crashed) -> vm_crashed;
%% The engine's tables are limited, and the VM's own sessions have no such limit. So a script does
%% not count if the engine answers `not_supported'.
verdict({Answers, _, _} = Ours, Theirs) ->
    case [W || {error, {not_supported, W}} <- Answers] of
        [] -> {differs, unlike(Ours, Theirs)};
        _ -> not_supported
    end;
verdict(Ours, Theirs) -> {differs, unlike(Ours, Theirs)}.

unlike({Answers1, Events1, Left}, {Answers2, Events2, _}) ->
    [[io_lib:format("answer: ~p~n    not ~p~n", [A, B])
      || {A, B} <- lists:zip(Answers1, Answers2), A =/= B],
     [io_lib:format("~p:~n~p~n    not~n~p~n", [Tracer, A, B])
      || {{Tracer, A}, {_, B}} <- lists:zip(Events1, Events2), A =/= B],
     [io_lib:format("left: ~p~n", [Left]) || Left =/= []]];
unlike(Here, There) ->
    io_lib:format("~p~n    not~n~p~n", [Here, There]).

%% Makes the script smaller as long as the outcomes differ. Returns the smallest script, and the
%% difference.
shrink(Script, How, Vms) ->
    try_each(smaller(Script), Script, How, Vms).

try_each([], Script, How, Vms) ->
    {Script, How, Vms};
try_each([Smaller | Rest], Script, How, Vms) ->
    case surely(Smaller, Vms) of
        {{differs, Less}, Vms1} -> shrink(Smaller, Less, Vms1);
        {_, Vms1} -> try_each(Rest, Script, How, Vms1)
    end.

%% Plays a script, and plays it again if the two VMs have different outcomes. A difference counts
%% only if it occurs both times.
surely(Script, Vms) ->
    case judge(Script, Vms) of
        {{differs, _}, Vms1} -> judge(Script, Vms1);
        Other -> Other
    end.

smaller(Script) ->
    [Before ++ After || {Before, _, After} <- each(Script)]
        ++ [Before ++ [Step] ++ After || {Before, Old, After} <- each(Script),
                                         Step <- smaller_step(Old)].

smaller_step({run, Work}) ->
    [{run, W} || W <- smaller_work(Work), W =/= []];
smaller_step({run, Who, Work}) ->
    [{run, Who, W} || W <- smaller_work(Work), W =/= []];
smaller_step({S, process, [Who, How, Flags]}) ->
    [{S, process, [Who, How, Fewer]} || Fewer <- without(Flags)];
smaller_step({S, F, [Spec | Flags]})
  when is_list(Spec), F =:= send orelse F =:= recv ->
    [{S, F, [true | Flags]}]
        ++ [{S, F, [Smaller | Flags]} || Smaller <- smaller_spec(Spec)];
smaller_step({S, function, [Mfa, Spec, Flags]}) when is_list(Spec) ->
    [{S, function, [Mfa, true, Flags]}]
        ++ [{S, function, [Mfa, Smaller, Flags]}
            || Smaller <- smaller_spec(Spec)];
smaller_step(_) ->
    [].

smaller_spec(Spec) ->
    [Fewer || Fewer <- without(Spec), Fewer =/= []]
        ++ [Before ++ [Clause] ++ After
            || {Before, {H, G, B}, After} <- each(Spec),
               Clause <- [{H, G1, B} || G1 <- without(G)]
                   ++ [{H, G, B1} || B1 <- without(B)]
                   ++ [{'_', [], B} || H =/= '_']].

smaller_work(Work) ->
    without(Work)
        ++ [Before ++ Inner ++ After
            || {Before, {K, Inner}, After} <- each(Work),
               K =:= spawn_worker orelse K =:= spawn_link]
        ++ [Before ++ [{K, Smaller}] ++ After
            || {Before, {K, Inner}, After} <- each(Work),
               K =:= spawn_worker orelse K =:= spawn_link,
               Smaller <- smaller_work(Inner)].

without(List) ->
    [Before ++ After || {Before, _, After} <- each(List)].

each(List) ->
    [begin
         {Before, [X | After]} = lists:split(N, List),
         {Before, X, After}
     end || N <- lists:seq(0, length(List) - 1)].

%%---------------------------------------------------------------------------
%% The two VMs

start(Command) ->
    {Command, open_port({spawn, Command},
                        [{packet, 4}, binary, nouse_stdio, exit_status])}.

ask({Command, Port}, Script) ->
    port_command(Port, term_to_binary(Script)),
    receive
        {Port, {data, Data}} ->
            case binary_to_term(Data) of
                {_, _, []} = Played -> {Played, {Command, Port}};
                Spoilt -> port_close(Port), {Spoilt, start(Command)}
            end;
        {Port, {exit_status, _}} -> {crashed, start(Command)}
    after 120000 ->
            port_close(Port),
            {hangs, start(Command)}
    end.

%% @doc Plays the scripts that are requested on the input, until the input ends.
-spec serve() -> no_return().
serve() ->
    ok = logger:set_primary_config(level, none),
    Port = open_port({fd, 3, 4}, [{packet, 4}, binary, eof]),
    serve(Port).

serve(Port) ->
    receive
        {Port, {data, Data}} ->
            Played = play(binary_to_term(Data)),
            port_command(Port, term_to_binary(Played)),
            serve(Port);
        {Port, eof} ->
            halt()
    end.

%% @doc Plays a script. Returns its outcome, and what its trace sessions have left in the VM.
-spec play([tuple()]) -> {[term()], [term()], [term()]} | {failed, string()}.
play(Script) ->
    {Pid, Ref} = spawn_monitor(
                   fun() -> exit({played, inviso_sessions_play:play(Script)})
                   end),
    receive
        {'DOWN', Ref, process, Pid, {played, {Answers, Events}}} ->
            {Answers, Events, left(1000)};
        {'DOWN', Ref, process, Pid, Reason} ->
            %% The reason is returned as text, because the other release may be
            %% unable to read the term.
            {failed, lists:flatten(io_lib:format("~p", [Reason]))}
    after 60000 ->
            exit(Pid, kill),
            {failed, "hangs"}
    end.

left(Tries) ->
    case inviso_sessions_lib:left() of
        [] -> [];
        Left when Tries =:= 0 -> Left;
        _ -> timer:sleep(10), left(Tries - 1)
    end.
