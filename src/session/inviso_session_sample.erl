%% SPDX-License-Identifier: Apache-2.0
%% @doc Samples stacks, in a session of `inviso flame'.
%%
%% The sampler is a process of the session. At each tick it finds processes that
%% run, asks some of them for their stacks, and writes the stacks into the log
%% as notes (INV_NOTE_SAMPLE in c_src/abi/event.h).
%%
%% At each tick the sampler examines the processes that ran lately, and a part of
%% the other processes. Examining takes at most 1/200 of the time of the
%% node's schedulers. The VM says how many processes run or are ready to run. The
%% product of this number and the time since the last tick is the time that the
%% samples of the tick share. The share of a process that ran lately depends on the
%% reductions that it has used since the last tick. The share of another process
%% depends on the probability that it is found. So the sum of all samples is the time
%% in which processes ran or were ready to run.
%%
%% A process answers when it yields. If a process runs only for short times, it
%% often answers when it waits again; the flag LATE marks such samples. The status
%% that a process answers does not show whether it ran before, because the
%% question itself can make the process run.
-module(inviso_session_sample).

-export([is_asked/1, start/3, stop/1, init/3]).

-export_type([asked/0]).

-type asked() :: #{hz := pos_integer(), waiting := boolean(),
                   most := pos_integer()}.
%% most: how many processes are asked for their stacks in a tick, at most. This
%% bound applies separately to each of three kinds of processes: those that are found
%% running, those that ran lately, and those that wait.

%% enum inv_note, inv_sample_flag (c_src/abi/event.h).
-define(NOTE_SAMPLE, 14).
-define(NOTE_SAMPLING, 15).
-define(CUT, 1).
-define(COLLECTS, 2).
-define(LATE, 4).
-define(WAITS, 8).
-define(ON, 16).

%% Examining processes takes at most 1/BUDGET of the time of all schedulers.
-define(BUDGET, 200).
-define(LEAST_SLICE, 20).
%% ACTIVE_NS: a process that ran is examined in each tick for this time afterwards.
%% MAX_ACTIVE: at most this many processes are examined for this reason.
-define(ACTIVE_NS, 1000000000).
-define(MAX_ACTIVE, 500).
%% When a round is over (each process was examined once), the processes are listed
%% again, but at the earliest this long after the last listing.
-define(LIST_NS, 100000000).
%% Listing all processes takes at most 1/LIST_PART of the time.
-define(LIST_PART, 300).
-define(STATS_NS, 1000000000).
%% The time between two ticks counts as at most this many periods. A longer time
%% means that the node or its machine was stopped.
-define(MAX_PERIODS, 50).
%% The sampler remembers for at most this many processes that it has written their
%% names.
-define(MAX_NAMED, 20000).
%% The most notes that nif_note/2 takes.
-define(MAX_NOTES, 256).
%% A stack with fewer frames than this was not cut by the VM.
-define(DEPTH, 8).
%% The first estimate of the reductions that a process uses in a nanosecond.
-define(SPEED, 0.01).
%% If a process used fewer reductions than this since the last tick, it did not run:
%% it only answered the sampler.
-define(IDLE, 100).
%% The highest costs that are counted, in ns: of examining a process, of asking a
%% process for its stack, and of writing the notes of a tick. If more time passes,
%% the sampler was waiting, and other threads used the CPU.
-define(MAX_LOOK, 1000).
-define(ASK, 20000).
-define(MAX_WRITE, 300000).
-define(STOP_MS, 3000).

-record(sampler,
        {handle :: pos_integer(),
         waiting :: boolean(),
         most :: pos_integer(),
         hz :: pos_integer(),
         period :: pos_integer(), % between two ticks; all times are in ns
         budget :: pos_integer(),
         ours :: #{pid() => true},
         began :: integer(),
         last :: integer(), % time of the last tick
         next :: integer(),
         noted :: integer(), % when the figures were last written to the log
         %% all processes, and those that are still to be examined in this round
         all = [] :: [pid()],
         rest = [] :: [pid()],
         n = 0 :: non_neg_integer(),
         listed = 0 :: integer(),
         list_cost = 0 :: non_neg_integer(),
         slice = 100 :: pos_integer(),
         look = 200 :: non_neg_integer(), % cost of examining a process, ns
         due = 0 :: number(), % time in which processes ran, not yet in samples
         %% processes that ran lately: when the process ran, its reductions, how many
         %% processes it represents, and the stack that it had when it was found
         active = #{} :: #{pid() => {integer(), non_neg_integer() | none,
                                     number(), list() | none}},
         speed = ?SPEED :: float(), % reductions in a nanosecond
         named = #{} :: #{pid() => true},
         %% figures
         ticks = 0, processes = 0, found = 0, stacks = 0, late = 0, cut = 0,
         gone = 0, lost = 0, cost = 0}).

%% @doc Returns true for a valid value of the key `sample' of a session's map.
-spec is_asked(term()) -> boolean().
is_asked(off) ->
    true;
is_asked(#{hz := Hz, waiting := Waiting, most := Most} = Map) ->
    map_size(Map) =:= 3 andalso is_integer(Hz) andalso Hz >= 1
        andalso Hz =< 1000 andalso is_boolean(Waiting)
        andalso is_integer(Most) andalso Most >= 1 andalso Most =< 200;
is_asked(_) ->
    false.

%% @doc Starts the sampler of the calling session, linked to the session. The
%% sampler samples neither the session nor the processes `Ours'.
-spec start(asked() | off, inviso_tracer:tracer() | none, [pid()]) ->
          pid() | none.
start(Asked, Tracer, _) when Asked =:= off; Tracer =:= none ->
    none;
start(Asked, {_, Handle}, Ours) ->
    spawn_opt(?MODULE, init, [Asked, Handle, [self() | Ours]],
              [link, {priority, high}]).

%% @doc Makes the sampler write its figures into the log and end. Any process may
%% call this function.
-spec stop(pid() | none) -> ok.
stop(none) ->
    ok;
stop(Sampler) ->
    Ref = monitor(process, Sampler),
    Sampler ! stop,
    receive
        {'DOWN', Ref, process, _, _} -> ok
    after ?STOP_MS ->
            exit(Sampler, kill),
            receive {'DOWN', Ref, process, _, _} -> ok end
    end.

%% @private
-spec init(asked(), pos_integer(), [pid()]) -> ok.
init(#{hz := Hz, waiting := Waiting, most := Most}, Handle, Ours) ->
    Now = now_ns(),
    Period = 1000000000 div Hz,
    Schedulers = erlang:system_info(schedulers_online),
    S = #sampler{handle = Handle, waiting = Waiting, most = Most, hz = Hz,
                 period = Period, budget = Period * Schedulers div ?BUDGET,
                 ours = maps:from_keys([self() | Ours ++ handlers()], true),
                 began = Now, last = Now, next = Now + Period, noted = Now},
    loop(noted(listed(S))).

%% Returns the processes of the VM that answer for processes on dirty schedulers.
handlers() ->
    [P || P <- lists:sublist(processes(), 20),
          process_info(P, initial_call)
              =:= {initial_call, {erts_dirty_process_signal_handler, start, 0}}].

loop(#sampler{next = Next} = S) ->
    receive
        stop ->
            _ = noted(S),
            ok
    after max(0, (Next - now_ns() + 999999) div 1000000) ->
            loop(scheduled(tick(now_ns(), S)))
    end.

%% Missed ticks are left out: the next tick is at least a quarter of a period
%% from now.
scheduled(#sampler{next = Next, period = Period} = S) ->
    S#sampler{next = max(Next + Period, now_ns() + Period div 4)}.

tick(Now, #sampler{last = Last, period = Period} = S0) ->
    Passed = min(Now - Last, ?MAX_PERIODS * Period),
    Tasks = tasks(),
    S1 = S0#sampler{last = Now, ticks = S0#sampler.ticks + 1,
                    due = S0#sampler.due + Tasks * Passed},
    S2 = case S1#sampler.waiting orelse Tasks > 0 of
             true -> sample(Now, Passed, S1);
             false -> S1
         end,
    case Now - S2#sampler.noted >= ?STATS_NS of
        true -> noted(S2);
        false -> S2
    end.

%% Returns how many processes and ports run, or are ready to run, beside this one.
tasks() ->
    max(0, erlang:statistics(total_active_tasks_all) - 1).

%% --- looking ------------------------------------------------------------------

%% A process that runs answers only when it yields. So processes that ran lately
%% are asked only once, for status and stack together. Other processes are asked
%% only for their status, which costs little if they wait.
sample(Now, Passed, S0) ->
    #sampler{active = Active, most = Most, waiting = Waits} = S1 = listed(S0),
    {Part, S2} = part(S1),
    Looked = [{P, status(P)} || P <- Part, not is_map_key(P, Active),
                                not is_map_key(P, S1#sampler.ours)],
    Others = max(0, S2#sampler.n - map_size(Active)),
    Weight = Others / max(1, length(Looked)),
    Running = [{P, Status, Weight} || {P, Status} <- Looked, runs(Status)],
    Waiting = [{P, Status, Weight} || Waits, {P, Status} <- Looked,
                                      Status =:= waiting],
    S3 = looked(length(Looked), Running =:= [], now_ns() - Now, S2),
    Known = [{P, known, 1} || P <- maps:keys(Active)],
    All = [Running, Known, Waiting],
    [R, K, W] = [some(List, Most) || List <- All],
    List = [{P, found, Share} || {P, _, Share} <- R] ++ K ++ W,
    S4 = left_out(lists:sum([length(L) || L <- All]) - length(List), S3),
    asked(List, Now, Passed, S4#sampler{active = active(Running, Now, Active)}).

%% Counts processes that were found, but are not asked in this tick.
left_out(N, #sampler{found = Found} = S) ->
    S#sampler{found = Found + N}.

status(P) ->
    case process_info(P, status) of
        {status, Status} -> Status;
        undefined -> dead
    end.

runs(Status) ->
    Status =:= running orelse Status =:= runnable
        orelse Status =:= garbage_collecting.

active(Running, Now, Active0) ->
    Active = case map_size(Active0) > ?MAX_ACTIVE of
                 true -> #{};
                 false -> Active0
             end,
    maps:filter(fun(_, {At, _, _, _}) -> Now - At < ?ACTIVE_NS end,
                lists:foldl(fun({P, _, W}, Acc) ->
                                    Acc#{P => {Now, none, W, none}}
                            end, Active, Running)).

%% Returns the processes to examine in this tick. In a round each process is
%% examined once.
part(#sampler{slice = Slice, rest = Rest, all = All, n = N} = S) ->
    case taken(min(Slice, N), Rest, []) of
        {0, Part, Left} ->
            {Part, S#sampler{rest = Left}};
        {More, Part, []} ->
            {_, Whole, Left} = taken(More, All, Part),
            {Whole, S#sampler{rest = Left}}
    end.

taken(0, Rest, Acc) -> {0, Acc, Rest};
taken(N, [], Acc) -> {N, Acc, []};
taken(N, [P | Rest], Acc) -> taken(N - 1, Rest, [P | Acc]).

%% If the round is over, lists the processes again, but not too often.
listed(#sampler{rest = [_ | _]} = S) ->
    S;
listed(#sampler{listed = At, list_cost = Cost, all = All} = S) ->
    Before = now_ns(),
    case All =:= []
        orelse Before - At >= max(?LIST_NS, ?LIST_PART * Cost) of
        true ->
            New = processes(),
            N = length(New) - map_size(S#sampler.ours),
            After = now_ns(),
            S#sampler{all = New, rest = New, n = max(1, N), listed = After,
                      list_cost = After - Before,
                      cost = S#sampler.cost + After - Before,
                      processes = max(N, S#sampler.processes)};
        false ->
            S#sampler{rest = All}
    end.

%% If the sampler did not have to wait for an answer, measures how long it takes
%% to examine a process. Then adapts how many processes are examined.
looked(0, _, _, S) ->
    S;
looked(N, true, Took, #sampler{look = Look} = S) ->
    spent(N, S#sampler{look = (7 * Look + min(Took div N, ?MAX_LOOK)) div 8});
looked(N, false, _, S) ->
    spent(N, S).

spent(N, #sampler{look = Look, budget = Budget, cost = Cost} = S) ->
    S#sampler{cost = Cost + N * Look,
              slice = max(?LEAST_SLICE,
                          min(S#sampler.n, Budget div max(1, Look)))}.

%% Chooses at most Most elements of the list, each with the same probability.
%% Increases their weights, because the chosen elements represent the whole list.
some(List, Most) ->
    case length(List) of
        N when N =< Most ->
            List;
        N ->
            {Before, After} = lists:split(rand:uniform(N) - 1, List),
            [{P, Status, W * N / Most}
             || {P, Status, W} <- lists:sublist(After ++ Before, Most)]
    end.

%% --- asking -------------------------------------------------------------------

%% Asks processes until the time of the tick is over. The processes that have
%% answered by then represent all processes of the list.
asked([], _, _, S) ->
    S;
asked(List, Now, Passed, S0) ->
    Length = length(List),
    {N, Answers, S1} = ask_all(List, Now + S0#sampler.period, 0, [], S0),
    More = Length / N,
    {Due, S2} = share(Answers, left_out(Length - N, S1)),
    {Notes, S3} = lists:foldl(
                    fun({P, waiting, W, Trace}, Acc) ->
                            note(P, waiting, Passed * More * W, Trace, Acc);
                       ({P, State, Ns, Trace}, Acc) ->
                            note(P, State, Due * Ns, Trace, Acc)
                    end, {[], S2}, lists:reverse(Answers)),
    Before = now_ns(),
    S4 = written(lists:reverse(Notes), S3),
    S4#sampler{cost = S4#sampler.cost + min(now_ns() - Before, ?MAX_WRITE)}.

%% Divides the time in which processes have run, and which no sample contains yet,
%% among the samples of processes that ran. Returns the factor by which the time of
%% each sample is multiplied.
share(Answers, #sampler{due = Due, speed = Speed} = S) ->
    case lists:sum([Ns || {_, State, Ns, _} <- Answers, State =/= waiting]) of
        Sum when Sum > 0, Due > 0 ->
            Factor = Due / Sum,
            %% The times in the answers were computed from reductions, by Speed.
            %% Adapt Speed, so that the sum of the next such times is closer to the
            %% time that passed.
            Next = (7 * Speed + Speed / Factor) / 8,
            {Factor, S#sampler{due = 0, speed = min(1.0, max(1.0e-5, Next))}};
        _ ->
            {0, S}
    end.

ask_all([], _, N, Answers, S) ->
    {N, Answers, S};
ask_all([{P, Status, Weight} | Rest], Until, N, Answers, S) ->
    Before = now_ns(),
    Info = process_info(P, [status, reductions, current_stacktrace]),
    After = now_ns(),
    S1 = S#sampler{cost = S#sampler.cost + min(After - Before, ?ASK)},
    {All, S2} = answer(P, Status, Weight, Before, Info, Answers, S1),
    case After < Until of
        true -> ask_all(Rest, Until, N + 1, All, S2);
        false -> {N + 1, All, S2}
    end.

%% Only the second answer of a process shows whether it ran: a process that ran since
%% the first answer has used more than ?IDLE reductions. Answering can make a process
%% run too, but uses fewer. A process that has exited since the first answer did run.
answer(P, known, _, _, undefined, Answers, #sampler{active = Active} = S) ->
    Gone = S#sampler{active = maps:remove(P, Active), gone = S#sampler.gone + 1},
    case Active of
        #{P := {_, _, Weight, Trace}} when is_list(Trace) ->
            {[{P, runs, Weight * S#sampler.period / 2, Trace} | Answers], Gone};
        _ ->
            {Answers, Gone}
    end;
answer(_, _, _, _, undefined, Answers, #sampler{gone = Gone} = S) ->
    {Answers, S#sampler{gone = Gone + 1}};
answer(P, found, Weight, Now, [_, {_, R}, {_, Trace}], Answers,
       #sampler{active = Active} = S) ->
    {Answers, S#sampler{active = Active#{P => {Now, R, Weight, Trace}}}};
answer(P, known, Asked, Now, [{_, State}, {_, R}, {_, Trace}], Answers,
       #sampler{active = Active, speed = Speed} = S) ->
    case Active of
        #{P := {_, Before, Weight, _}} when is_integer(Before),
                                            R - Before > ?IDLE ->
            Ns = Asked * Weight * (R - Before) / Speed,
            {[{P, ran(State), Ns, Trace} | Answers],
             S#sampler{active = Active#{P := {Now, R, 1, none}}}};
        #{P := {At, _, _, _}} ->
            {Answers, S#sampler{active = Active#{P := {At, R, 1, none}}}};
        _ ->
            {Answers, S}
    end;
answer(P, waiting, Weight, _, [_, _, {_, Trace}], Answers, S) ->
    {[{P, waiting, Weight, Trace} | Answers], S}.

ran(waiting) -> late;
ran(garbage_collecting) -> collects;
ran(_) -> runs.

note(P, State, Ns, Trace, {Notes, S}) ->
    Stack = [{M, F, A} || {M, F, A, _} <- Trace, is_integer(A)],
    On = on(State, P, Stack),
    Cut = is_cut(Stack),
    Flags = flag(?CUT, Cut) + flag(?COLLECTS, State =:= collects)
        + flag(?LATE, State =:= late) + flag(?WAITS, State =:= waiting)
        + flag(?ON, On =/= []),
    Note = {?NOTE_SAMPLE, [P, Flags, round(Ns), length(Stack)
                           | lists:reverse(Stack, On)]},
    {Names, Named} = names([P | [O || O <- On, is_pid(O), node(O) =:= node()]],
                           S#sampler.named),
    {[Note | Names ++ Notes],
     counted(State, Cut, S#sampler{named = Named})}.

counted(State, Cut, #sampler{stacks = N, late = Late, cut = C, found = F} = S) ->
    S#sampler{stacks = N + 1, found = F + 1, late = Late + one(State =:= late),
              cut = C + one(Cut)}.

one(true) -> 1;
one(false) -> 0.

flag(Flag, true) -> Flag;
flag(_, false) -> 0.

%% Returns true if the VM has cut the stack. A whole stack ends with the function
%% with which the process began.
is_cut(Stack) ->
    length(Stack) >= ?DEPTH andalso
        case lists:last(Stack) of
            {proc_lib, F, _} -> F =/= init_p andalso F =/= init_p_do_apply
                                    andalso F =/= wake_up;
            _ -> true
        end.

%% Returns a list with the process for which the process P waits, or [] if this
%% process is unknown. While P calls another process (gen:call), P monitors the other
%% process.
on(waiting, P, [{gen, do_call, _} | _]) ->
    case process_info(P, monitors) of
        {monitors, [{process, Other}]} -> [Other];
        _ -> []
    end;
on(_, _, _) ->
    [].

names([], Named) ->
    {[], Named};
names([P | Rest], Named0) ->
    Named = case map_size(Named0) > ?MAX_NAMED of
                true -> #{};
                false -> Named0
            end,
    case is_map_key(P, Named) of
        true ->
            names(Rest, Named);
        false ->
            {Notes, Next} = names(Rest, Named#{P => true}),
            case inviso_names:name_of(P) of
                none -> {Notes, Next};
                Name -> {[inviso_names:note(P, Name) | Notes], Next}
            end
    end.

%% --- writing ------------------------------------------------------------------

%% Writes notes into the log. Notes for which the ring has no room are lost, and
%% counted.
written([], S) ->
    S;
written(Notes, #sampler{handle = Handle} = S) ->
    {Now, Later} = lists:split(min(?MAX_NOTES, length(Notes)), Notes),
    case inviso_tracer:nif_note(Handle, Now) of
        closed ->
            S;
        N when N < length(Now) ->
            Lost = [x || {?NOTE_SAMPLE, _} <- lists:nthtail(N, Notes)],
            S#sampler{lost = S#sampler.lost + length(Lost)};
        _ ->
            written(Later, S)
    end.

noted(#sampler{began = Began, last = Last} = S) ->
    Figures = [Last - Began, S#sampler.ticks, S#sampler.hz,
               S#sampler.processes, S#sampler.found, S#sampler.stacks,
               S#sampler.late, S#sampler.cut, S#sampler.gone,
               S#sampler.lost, S#sampler.cost],
    _ = inviso_tracer:nif_note(S#sampler.handle, [{?NOTE_SAMPLING, Figures}]),
    S#sampler{noted = now_ns()}.

now_ns() ->
    erlang:monotonic_time(nanosecond).
