%% SPDX-License-Identifier: Apache-2.0
%% @doc The scanner of a gauge finds the processes of this node with the longest
%% mailboxes, the most memory and the most reductions.
%%
%% The scanner works in rounds: it lists the processes, and in each tick looks at
%% a slice of the list. This takes at most a hundredth of the time of the node's
%% schedulers. If this time is enough for all processes, the slice is the whole
%% list. Each tick looks at three groups: the processes of its slice; the
%% processes of the last tick's slice, a second time, which shows how many
%% reductions they used in between; and the processes that the last tick reported.
%% So the memory of the scanner does not depend on the number of processes.
%%
%% The scanner does not ask processes for messages, dictionaries, binaries or
%% stacks. To report its memory, a process walks over its mailbox, so the scanner
%% does not ask processes with long mailboxes for their memory.
-module(inviso_gauge_scan).

-export([start_link/2, nothing/0, init/3]).

-export_type([scan/0]).

-type scan() :: #{at := integer() | none, processes := non_neg_integer(),
                  looked := non_neg_integer(), round_ms := non_neg_integer(),
                  cost_ppm := non_neg_integer(),
                  memory := #{atom() => non_neg_integer()}, rows := [map()]}.
%% at: the monotonic time when the last tick was over, in native units
%% processes: the number of processes when they were last listed
%% looked: the number of processes that the last tick looked at
%% round_ms: how long it takes to look at all processes once
%% cost_ppm: the part of the time of all schedulers that the last tick took
%% memory: what erlang:memory/0 returns
%% rows: the processes with the highest figures, as for_client/2 describes them

%% Looking at processes takes at most 1/BUDGET of the time of all schedulers.
-define(BUDGET, 100).
-define(LEAST_SLICE, 20).
-define(MIN_TICK_MS, 50).
-define(MAX_TICK_MS, 1000).
%% LOOK: the first estimate of the time that it takes to look at a process, in ns.
%% MAX_LOOK: the longest time that counts as the cost of a look, in ns. If a look
%% takes longer, the scanner was waiting: a running process answers only when it
%% yields.
-define(LOOK, 8000).
-define(MAX_LOOK, 50000).
%% Listing takes at most 1/LIST_PART of the time: if listing the processes took long,
%% the next list is made later.
-define(LIST_PART, 200).
%% A process with more messages than this is not asked for its memory.
-define(MAX_MAILBOX, 10000).
-define(MAX_TEXT, 200).
%% If a process has used at most this many reductions since it was last asked, its
%% speed counts as 0, because answering the scanner also takes a few reductions.
-define(IDLE, 10).

%% enum inv_note_name (c_src/abi/event.h).
-define(NAME_REGISTERED, 1).
-define(NAME_LABEL, 2).
-define(NAME_CHILD, 5).

-record(scanner,
        {gauge :: pid(),
         top :: pos_integer(),
         tick :: pos_integer(), % ns
         budget :: pos_integer(), % ns in each tick
         look = ?LOOK :: pos_integer(), % cost of a look, ns
         %% the processes of this round that were not looked at yet
         rest = [] :: [pid()],
         n = 0 :: non_neg_integer(), % length of the list of all processes
         listed = none :: integer() | none, % time of the last listing, ns
         list_cost = 0 :: non_neg_integer(), % how long the listing took, ns
         slice = 0 :: non_neg_integer(), % number of processes in a slice
         %% the reductions of the processes of the last tick, and the time (ns)
         %% at which each process was asked
         before = #{} :: #{pid() => {non_neg_integer(), integer()}},
         hot = [] :: [pid()], % processes that the last tick reported
         names = #{} :: #{pid() => {binary(), atom()}}}).

-record(row, {pid :: pid(), mailbox :: non_neg_integer(),
              memory :: non_neg_integer() | none,
              speed :: non_neg_integer() | none, % reductions in a second
              reductions :: non_neg_integer(),
              at :: integer()}). % time of the question, ns

%% @doc Starts a scanner for the calling process, which gets `{Scanner, scan()}'
%% after each tick. A scan contains the first `Top' processes in each of three
%% orders: by mailbox, memory and reductions.
-spec start_link(pos_integer(), pos_integer()) -> pid().
start_link(Top, Ms) ->
    spawn_opt(?MODULE, init, [self(), Top, Ms], [link, {priority, high}]).

%% @doc Returns the result before the first tick.
-spec nothing() -> scan().
nothing() ->
    #{at => none, processes => 0, looked => 0, round_ms => 0, cost_ppm => 0,
      memory => #{}, rows => []}.

%% @private
-spec init(pid(), pos_integer(), pos_integer()) -> no_return().
init(Gauge, Top, Ms) ->
    process_flag(sensitive, true),
    ok = inviso_push:stays(worker),
    Tick = 1000000 * max(?MIN_TICK_MS, min(?MAX_TICK_MS, Ms div 3)),
    Schedulers = erlang:system_info(schedulers_online),
    loop(#scanner{gauge = Gauge, top = Top, tick = Tick,
                  budget = Tick * Schedulers div ?BUDGET}).

loop(#scanner{tick = Tick} = S0) ->
    Began = now_ns(),
    {Interval, S} = tick(Began, S0),
    %% After each tick there is a pause of at least a quarter of the tick's
    %% period.
    Pause = max(Tick div 4, Began + Interval - now_ns()),
    receive after (Pause + 999999) div 1000000 -> ok end,
    loop(S).

tick(Began, S0) ->
    Memory = maps:from_list(erlang:memory()),
    {Listing, Listed} = listed(S0),
    {Part, S1} = part(Listed),
    #scanner{before = Before, hot = Hot} = S1,
    Fresh = maps:from_keys(Part, new),
    Again = [P || P <- maps:keys(Before), not is_map_key(P, Fresh)],
    %% The processes of the last slice were asked for their memory in the last tick.
    %% Of these, only the processes that the last tick reported are asked again.
    Whole = maps:merge(Fresh, maps:from_keys(Hot, hot)),
    {Rows, Looked, Left, Cost} =
        looked(Again ++ Part, Began + S1#scanner.tick, Whole, S1),
    Now = now_ns(),
    Top = top(Rows, S1#scanner.top),
    Kept = maps:merge(Whole, maps:from_keys([R#row.pid || R <- Top], hot)),
    After = maps:from_list([{P, {Reds, At}}
                            || #row{pid = P, reductions = Reds, at = At} <- Rows,
                               is_map_key(P, Kept)]),
    {Described, S2} = described(Top, S1),
    S3 = S2#scanner{before = After, hot = [R#row.pid || R <- Top],
                    rest = Left ++ S2#scanner.rest,
                    slice = length(Part),
                    look = cost_of_look(Looked, Cost, S2)},
    Spent = Listing + Cost + min(now_ns() - Now, ?MAX_LOOK * (1 + length(Top))),
    Interval = interval(Spent, S3),
    S3#scanner.gauge
        ! {self(), scan(Memory, Described, Looked, Spent, Interval, S3)},
    {Interval, S3}.

%% If a tick took more time than its budget, the next tick begins later.
interval(Spent, #scanner{tick = Tick, budget = Budget}) ->
    max(Tick, Tick * Spent div Budget).

scan(Memory, Rows, Looked, Spent, Interval, S) ->
    #scanner{n = N, slice = Slice} = S,
    Schedulers = erlang:system_info(schedulers_online),
    #{at => erlang:monotonic_time(), processes => N, looked => Looked,
      round_ms => N * Interval div max(1, Slice) div 1000000,
      cost_ppm => Spent * 1000000 div (Interval * Schedulers), memory => Memory,
      rows => Rows}.

cost_of_look(0, _, #scanner{look = Look}) -> Look;
cost_of_look(N, Cost, #scanner{look = Look}) -> max(1, (3 * Look + Cost div N) div 4).

%% --- which processes are looked at ----------------------------------------------

%% If the round is over, lists the processes again, but not more often than
%% LIST_PART allows. Returns how long listing took, in ns.
listed(#scanner{rest = [_ | _]} = S) ->
    {0, S};
listed(#scanner{listed = At, list_cost = Cost} = S) ->
    Before = now_ns(),
    case At =:= none orelse Before - At >= ?LIST_PART * Cost of
        true ->
            Ours = [self(), S#scanner.gauge],
            All = [P || P <- processes(), not lists:member(P, Ours)],
            Took = now_ns() - Before,
            {Took, S#scanner{rest = All, n = length(All), listed = Before,
                             list_cost = Took}};
        false ->
            {0, S}
    end.

%% Takes the next slice. Its processes are looked at in this tick and again in the
%% next one, so the slice has half of the processes that a tick can look at. But
%% if a tick can look at all processes, all are in the slice.
part(#scanner{rest = Rest, n = N, look = Look, budget = Budget} = S) ->
    Looks = Budget div Look,
    Slice = case Looks >= N of
                true -> N;
                false -> max(?LEAST_SLICE, Looks div 2)
            end,
    {Part, Left} = taken(Slice, Rest, []),
    {Part, S#scanner{rest = Left}}.

taken(0, Rest, Acc) -> {Acc, Rest};
taken(_, [], Acc) -> {Acc, []};
taken(N, [P | Rest], Acc) -> taken(N - 1, Rest, [P | Acc]).

%% --- looking --------------------------------------------------------------------

%% Looks at processes until the time `Until'. Returns the rows of these processes,
%% their number, the processes that were not looked at, and the cost in ns.
looked(Ps, Until, Whole, S) ->
    looked(Ps, Until, Whole, S, [], 0, 0).

looked([], _, _, _, Rows, N, Cost) ->
    {Rows, N, [], Cost};
looked([P | Rest], Until, Whole, S, Rows, N, Cost) ->
    Now = now_ns(),
    case Now < Until of
        true ->
            More = row(P, Now, is_map_key(P, Whole), S, Rows),
            Took = min(?MAX_LOOK, now_ns() - Now),
            looked(Rest, Until, Whole, S, More, N + 1, Cost + Took);
        false ->
            {Rows, N, [P | Rest], Cost}
    end.

row(P, Now, Whole, #scanner{before = Before}, Rows) ->
    case process_info(P, [message_queue_len, reductions]) of
        undefined ->
            Rows;
        [{_, Mailbox}, {_, Reductions}] ->
            [#row{pid = P, mailbox = Mailbox, reductions = Reductions, at = Now,
                  memory = memory(P, Mailbox, Whole),
                  speed = speed(Reductions, Now, maps:get(P, Before, none))}
             | Rows]
    end.

memory(_, Mailbox, Whole) when Mailbox > ?MAX_MAILBOX; not Whole ->
    none;
memory(P, _, _) ->
    case process_info(P, memory) of
        {memory, Bytes} -> Bytes;
        undefined -> none
    end.

speed(_, _, none) ->
    none;
speed(Reductions, _, {Before, _}) when Reductions - Before =< ?IDLE ->
    0;
speed(Reductions, Now, {Before, At}) ->
    (Reductions - Before) * 1000000000 div max(1, Now - At).

%% Returns the first `Top' rows in each of three orders: by mailbox, by memory, and
%% by reductions in a second.
top(Rows, Top) ->
    maps:values(maps:from_list(
                  [{R#row.pid, R}
                   || At <- [#row.mailbox, #row.memory, #row.speed],
                      R <- best(At, Rows, Top)])).

best(At, Rows, Top) ->
    Sorted = lists:sort([{-V, R} || R <- Rows, V <- [element(At, R)],
                                    is_integer(V), V > 0]),
    [R || {_, R} <- lists:sublist(Sorted, Top)].

%% --- describing -----------------------------------------------------------------

%% Adds to each row the process's name, status and current function. Names are
%% kept from tick to tick: a process that was also in the last tick's rows is not
%% asked for its name again.
described(Rows, #scanner{names = Known} = S) ->
    Names = maps:from_list([{P, name(P, Known)} || #row{pid = P} <- Rows]),
    {[for_client(R, maps:get(R#row.pid, Names)) || R <- Rows],
     S#scanner{names = Names}}.

for_client(#row{pid = P, mailbox = Mailbox, memory = Memory, speed = Speed,
                reductions = Reductions}, {Name, Kind}) ->
    {Status, Current} = doing(process_info(P, [status, current_function])),
    #{pid => list_to_binary(pid_to_list(P)), name => Name, kind => Kind,
      mailbox => Mailbox, memory => Memory, speed => Speed,
      reductions => Reductions, status => Status, current => Current}.

doing([{_, Status}, {_, {M, F, A}}]) -> {Status, mfa(M, F, A)};
doing([{_, Status}, _]) -> {Status, <<>>};
doing(undefined) -> {exited, <<>>}.

name(P, Known) ->
    case Known of
        #{P := Name} -> Name;
        _ -> named(inviso_names:name_of(P))
    end.

named(none) -> {<<>>, none};
named({?NAME_REGISTERED, Name}) -> {text("~tw", [Name]), registered};
named({?NAME_LABEL, Label}) -> {text("~0tP", [Label, 20]), label};
named({?NAME_CHILD, Parent}) ->
    {Text, _} = named(Parent),
    {<<"child of ", Text/binary>>, function};
named({_, {M, F, A}}) -> {mfa(M, F, A), function}.

mfa(M, F, A) ->
    text("~tw:~tw/~b", [M, F, A]).

text(Format, Args) ->
    unicode:characters_to_binary(
      string:slice(io_lib:format(Format, Args), 0, ?MAX_TEXT)).

now_ns() ->
    erlang:monotonic_time(nanosecond).
