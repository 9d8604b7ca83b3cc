%% SPDX-License-Identifier: Apache-2.0
%%
%% The namer is a process of a keeper. It writes names of processes into the
%% tracer's log, as notes (c_src/abi/event.h): first the names that are registered
%% when the tracer opens, and later one name for each process that was recorded.
%% It also writes other notes that readers need to print terms: the node's
%% language, and the notes that keep/3 passes to it.
%%
%% If a process does not yield, process_info/2 waits for it. So neither the keeper
%% nor the namer calls process_info/2; the namer's helper process, the asker,
%% does. If a process does not answer in time, the namer kills the asker and
%% starts a new one, which asks the remaining processes.
-module(inviso_names).

-export([start_link/2, await/2, keep/3, remember/2, last/2, stop/1, name_of/1, note/2]).
-export_type([note/0, name/0]).
-export([init/3, ask/2]).

%% At most this many registered names are written when the tracer opens.
-define(MAX_REGISTERED, 10000).
%% At most this many processes are asked for their names in a second.
-define(BUDGET, 1000).
%% How long to wait for the name of one process.
-define(STUCK_MS, 50).
%% The first and the longest pause between two rounds. In a round the namer gets
%% the names of newly recorded processes and writes them.
-define(FIRST_MS, 20).
-define(LONGEST_MS, 50).
%% How many processes each of the two tables of known processes may have.
-define(MAX_KNOWN, 5000).
%% MAX_NOTES: nif_note/2 takes at most this many notes. NOTE_BYTES: about the size
%% of a note.
-define(MAX_NOTES, 256).
-define(NOTE_BYTES, 32).
%% If the ring is full, a note is tried again this many times.
-define(MAX_TRIES, 50).
%% If a process has a larger heap than this, in words, the asker does not read its
%% dictionary. The bound is high, because most of a large heap is usually not in the
%% dictionary: it is the process's state, garbage and free space.
-define(MAX_HEAP, 16000000).
%% After the asker has read the dictionary of a process with a larger heap than
%% this, in words, the asker collects its garbage.
-define(LARGE_HEAP, 30000).
%% The longest label that is written, in bytes of the external term format.
-define(MAX_LABEL, 4096).
%% Names that are written again at the beginning of a file take at most 1/FILE_PART
%% of the file.
-define(FILE_PART, 8).
%% The namer of a flight recorder writes all names again after AGAIN_EVENTS events.
%% It also writes them again some time after it has got a new name. This time is
%% AGAIN_MS at first, and doubles whenever the names are written again.
-define(AGAIN_EVENTS, 100000).
-define(AGAIN_MS, 1000).
-define(STOP_MS, 1000).

%% enum inv_note and enum inv_note_name (c_src/abi/event.h).
-define(NOTE_NAME, 1).
-define(NOTE_ENDS, 2).
-define(NOTE_LANGUAGE, 4).
-define(NAME_REGISTERED, 1).
-define(NAME_LABEL, 2).
-define(NAME_FUNCTION, 3).
-define(NAME_NONE, 4).
-define(NAME_CHILD, 5).

-type note() :: {pos_integer(), [term()]}.
%% The kind of a name (enum inv_note_name), and the name. For NAME_CHILD the name is
%% the kind and name of the process's parent.
-type name() :: {pos_integer(), term()}.
-type known() :: #{pid() | port() => note() | none}.

-record(names,
        {handle :: pos_integer(),
         %% When names are written again. `newest': if a flight recorder has
         %% overwritten events. `file': if the spooler has begun another file.
         again :: never | newest | {file, non_neg_integer()},
         %% the items of process_info/2 that a process is asked for
         items :: [term()],
         %% A call of write/1 writes at most `most' notes, `batch' notes at a time.
         %% When notes are written again, they have at most `repeat' bytes together.
         batch :: pos_integer(),
         most :: pos_integer(),
         repeat :: pos_integer(),
         asker :: pid(),
         %% The processes that the asker has still to ask, in this order, and the
         %% time at which the asker began to ask the first one.
         asked = [] :: [pid()],
         since = 0 :: integer(),
         todo = [] :: [note()], % notes that are not written yet
         %% Notes that do not belong to a process. When names are written again,
         %% these notes are written again too.
         kept = [] :: [note()],
         tries = 0 :: non_neg_integer(),
         %% Processes that need not be asked again, with their notes. When
         %% `recent' is full, it becomes `earlier', and a new `recent' begins.
         recent = #{} :: known(),
         earlier :: known(),
         budget = ?BUDGET :: integer(),
         filled :: integer(), % when the budget of questions was last increased
         pause = ?FIRST_MS :: pos_integer(),
         next :: integer(), % when the next round is due
         %% callers of last/2 that wait for an answer
         waiting = [] :: [{pid(), reference()}],
         %% A flight recorder: when to write new names, and the number of events
         %% when it last wrote names.
         again_ms = ?AGAIN_MS :: pos_integer(),
         again_at = infinity :: integer() | infinity,
         events = 0 :: non_neg_integer()}).

%%---------------------------------------------------------------------------
%% Called by the keeper

%% Starts the namer of the calling keeper. When the namer has written the registered
%% names, it sends {named, Namer} to the keeper.
-spec start_link(pos_integer(), inviso_opts:numbers()) -> pid().
start_link(Handle, Numbers) ->
    spawn_link(?MODULE, init, [self(), Handle, Numbers]).

%% Waits at most `Ms' milliseconds until the registered names are written.
-spec await(pid() | none, non_neg_integer()) -> ok.
await(none, _Ms) ->
    ok;
await(Namer, Ms) ->
    receive {named, Namer} -> ok after Ms -> ok end.

%% Writes notes, and waits at most `Ms' milliseconds until they are written. When the
%% names are written again, as in each new file of a log, these notes are written
%% again too. Any process may call this.
-spec keep(pid() | none, [note()], non_neg_integer()) -> ok.
keep(none, _, _Ms) ->
    ok;
keep(_, [], _Ms) ->
    ok;
keep(Namer, Notes, Ms) ->
    ask_namer(Namer, fun(Ref) -> {keep, Notes, self(), Ref} end, Ms).

%% Tells the namer about notes that the caller has written into the log. The namer
%% writes them again whenever it writes the names again, as in each new file of a
%% log. NOTE_ENDS is a setting, so the namer stores only the latest note of this kind.
%% Any process may call this function.
-spec remember(pid() | none, [note()]) -> ok.
remember(none, _) ->
    ok;
remember(Namer, Notes) ->
    Namer ! {remember, Notes},
    ok.

%% Writes the names of the processes that were recorded until now, and the names
%% that a flight recorder may have overwritten. Waits until they are written, at
%% most `Ms' milliseconds. Any process may call this.
-spec last(pid() | none, non_neg_integer()) -> ok.
last(none, _Ms) ->
    ok;
last(Namer, Ms) ->
    ask_namer(Namer, fun(Ref) -> {last, self(), Ref} end, Ms).

ask_namer(Namer, Message, Ms) ->
    Ref = monitor(process, Namer),
    Namer ! Message(Ref),
    receive
        {Ref, done} -> ok;
        {'DOWN', Ref, process, _, _} -> ok
    after Ms -> ok
    end,
    demonitor(Ref, [flush]),
    receive {Ref, done} -> ok after 0 -> ok end.

%% Ends the namer and its asker, and waits until both are dead. But if the namer does
%% not end within ?STOP_MS, kills it and does not wait for the asker.
-spec stop(pid() | none) -> ok.
stop(none) ->
    ok;
stop(Namer) ->
    Ref = monitor(process, Namer),
    Namer ! stop,
    receive
        {'DOWN', Ref, process, _, _} -> ok
    after ?STOP_MS ->
            exit(Namer, kill),
            receive {'DOWN', Ref, process, _, _} -> ok end
    end.

%%---------------------------------------------------------------------------
%% The namer

-spec init(pid(), pos_integer(), inviso_opts:numbers()) -> ok.
init(Keeper, Handle, #{packet_bytes := Packet, normal_slots := Slots} = Numbers) ->
    Items = items(),
    Batch = min(?MAX_NOTES, Packet div ?NOTE_BYTES),
    Now = now_ms(),
    Kept = language_notes(),
    Notes = registered_notes(),
    %% A round fills at most an eighth of a ring's packets with notes, and leaves
    %% the others for events.
    Most = Batch * max(1, Slots div 8),
    S = write(#names{handle = Handle,
                     again = again_when(Numbers),
                     items = Items,
                     batch = Batch,
                     most = Most,
                     repeat = repeat(Numbers, Most),
                     asker = new_asker(Items),
                     todo = Kept ++ Notes,
                     kept = Kept,
                     earlier = maps:from_list([{P, Note}
                                               || {_, [P | _]} = Note <- Notes]),
                     filled = Now,
                     next = Now + ?FIRST_MS}),
    Keeper ! {named, self()},
    loop(S).

again_when(#{keep := Keep}) when Keep =/= 0 -> newest;
again_when(#{rotate_bytes := 0, rotate_ns := 0}) -> never;
again_when(_) -> {file, 0}.

repeat(#{rotate_bytes := 0}, Most) -> Most * ?NOTE_BYTES;
repeat(#{rotate_bytes := Bytes}, Most) ->
    min(Most * ?NOTE_BYTES, Bytes div ?FILE_PART).

%% Elixir's kernel is loaded on each node that runs Elixir.
language_notes() ->
    [{?NOTE_LANGUAGE, [elixir]} || erlang:module_loaded('Elixir.Kernel')].

registered_notes() ->
    {Names, _} = split(?MAX_REGISTERED, registered()),
    [note(P, {?NAME_REGISTERED, Name})
     || Name <- Names, P <- [whereis(Name)], P =/= undefined].

%% @doc Returns the note with a name of a process, or `none' if it has no name.
-spec note(pid() | port(), name()) -> note(); (pid() | port(), none) -> none.
note(_, none) -> none;
note(P, {?NAME_CHILD, {Kind, Name}}) -> {?NOTE_NAME, [P, ?NAME_CHILD, Kind, Name]};
note(P, {Kind, Name}) -> {?NOTE_NAME, [P, Kind, Name]}.

loop(#names{asker = Asker} = S) ->
    receive
        {Asker, Pid, Name} ->
            loop(answered(Pid, Name, S));
        {last, From, Ref} ->
            Waiting = [{From, Ref} | S#names.waiting],
            loop(asked_for(S#names{waiting = Waiting}));
        {keep, Notes, From, Ref} ->
            #names{kept = Kept, todo = Todo} = S,
            S1 = write(length(Notes), S#names{kept = Kept ++ Notes,
                                              todo = Notes ++ Todo}),
            From ! {Ref, done},
            loop(S1);
        {remember, Notes} ->
            #names{kept = Kept, todo = Todo} = S,
            loop(S#names{kept = without_ends(Kept) ++ Notes,
                         todo = without_ends(Todo)});
        stop ->
            end_asker(Asker);
        _ -> % a late answer of an asker that was killed
            loop(S)
    after max(0, due(S) - now_ms()) ->
            loop(late(S))
    end.

without_ends(Notes) ->
    [N || {Kind, _} = N <- Notes, Kind =/= ?NOTE_ENDS].

%% Returns the time of the namer's next step. If a message comes earlier, the namer
%% handles the message first.
due(#names{asked = [_ | _], since = Since}) -> Since + ?STUCK_MS;
due(#names{next = Next}) -> Next.

late(#names{asked = [Stuck | Others], asker = Asker, items = Items} = S) ->
    end_asker(Asker),
    ask_all(Others, known(Stuck, none, S#names{asker = new_asker(Items)}));
late(S) ->
    turn(S).

asked_for(#names{asked = []} = S) -> turn(S);
asked_for(S) -> S. % a round is running; done/1 will answer the callers of last/2

%% Begins a round: writes the notes for which the ring had no room before, and
%% then asks newly recorded processes for their names.
turn(S0) ->
    S = write(filled(S0)),
    Longer = S#names{pause = min(?LONGEST_MS, 2 * S#names.pause)},
    case S of
        #names{todo = [], budget = Budget} when Budget > 0 ->
            {New, S1} = unknown(fresh(S), Longer),
            ask_all(New, S1#names{budget = Budget - length(New)});
        _ ->
            done(Longer)
    end.

filled(#names{budget = Budget, filled = Filled} = S) ->
    Now = now_ms(),
    S#names{budget = min(?BUDGET, Budget + (Now - Filled) * ?BUDGET div 1000),
            filled = Now}.

%% Returns processes that were recorded; the namer may know the names of some of them.
%% Returns [] if the tracer is closed or the NIF library is unloaded: in both cases
%% the keeper will end the namer.
fresh(#names{handle = Handle}) ->
    try inviso_tracer:nif_fresh(Handle) of
        closed -> [];
        Pids -> Pids
    catch
        error:_ -> []
    end.

unknown([], S) ->
    {[], S};
unknown([Pid | Pids], #names{recent = Recent, earlier = Earlier} = S) ->
    case Earlier of
        _ when is_map_key(Pid, Recent) ->
            unknown(Pids, S);
        #{Pid := Note} ->
            unknown(Pids, known(Pid, Note, S));
        _ ->
            %% A process can be in the list twice.
            {New, S1} = unknown(Pids, known(Pid, none, S)),
            {[Pid | New], S1}
    end.

known(Pid, Note, #names{recent = Recent} = S)
  when map_size(Recent) < ?MAX_KNOWN; is_map_key(Pid, Recent) ->
    S#names{recent = Recent#{Pid => Note}};
known(Pid, Note, #names{recent = Recent} = S) ->
    S#names{recent = #{Pid => Note}, earlier = Recent}.

ask_all([], S) ->
    done(S#names{asked = []});
ask_all(Pids, #names{asker = Asker} = S) ->
    Asker ! {ask, Pids},
    S#names{asked = Pids, since = now_ms()}.

answered(Pid, Name, #names{asked = [Pid | Others]} = S) ->
    S1 = named(note(Pid, Name), Pid, S),
    case Others of
        [] -> done(S1#names{asked = []});
        _ -> S1#names{asked = Others, since = now_ms()}
    end.

%% Handles the asker's answer. A reader of a live log delays the first event of a
%% process until the log has the process's name, or a note that the process has no
%% name. A flight recorder has no such reader, so the namer of a flight recorder
%% writes no notes about missing names.
named(none, _, #names{again = newest} = S) ->
    S;
named(none, Pid, #names{todo = Todo} = S) ->
    S#names{todo = [{?NOTE_NAME, [Pid, ?NAME_NONE, []]} | Todo]};
named(Note, Pid, #names{again = newest, again_at = At, again_ms = Ms} = S) ->
    %% `infinity' is an atom, and each atom is greater than each number.
    (known(Pid, Note, S))#names{again_at = min(At, now_ms() + Ms)};
named(Note, Pid, #names{again = {file, _}, todo = Todo} = S) ->
    (known(Pid, Note, S))#names{todo = [Note | Todo]};
named(Note, _, #names{todo = Todo} = S) ->
    S#names{todo = [Note | Todo]}.

%% Ends a round. The callers of last/2 wait until all notes are written.
done(#names{waiting = Waiting} = S) ->
    #names{todo = Todo, most = Most} = S1 = again(S),
    case write(most(Waiting, Todo, Most), S1) of
        #names{todo = [_ | _]} = S2 when Waiting =/= [] ->
            S2#names{next = now_ms() + ?FIRST_MS};
        #names{pause = Pause} = S2 ->
            _ = [From ! {Ref, done} || {From, Ref} <- Waiting],
            S2#names{waiting = [], next = now_ms() + Pause}
    end.

most([], _Todo, Most) -> Most;
most(_Waiting, Todo, _Most) -> length(Todo).

%%---------------------------------------------------------------------------
%% Names that are written again

%% If a log has several files, the oldest files may be deleted, and a user may
%% read one file alone. So each file contains the names.
%%
%% The notes of a flight recorder are overwritten, like its events. So the namer
%% of a flight recorder keeps the names, and writes them again before the
%% recorder's memory is read. The memory is also read when the node dies.
%% Therefore the namer writes the names at other times, too, but seldom, because
%% a packet with names takes the place of a packet with events.
again(#names{again = never} = S) ->
    S;
again(#names{again = {file, File}} = S) ->
    case file(S) of
        File -> S;
        Next -> repeated(S#names{again = {file, Next}})
    end;
again(#names{waiting = [], again_at = At, events = Events} = S) ->
    Now = events(S),
    case now_ms() >= At orelse Now >= Events + ?AGAIN_EVENTS of
        true -> flight(Now, S);
        false -> S
    end;
again(S) ->
    flight(events(S), S).

flight(Events, #names{again_ms = Ms} = S) ->
    repeated(S#names{again_ms = 2 * Ms, again_at = infinity, events = Events}).

%% Puts all stored notes into `todo'. If there are too many, the notes of the
%% processes that were recorded first are left out.
repeated(#names{recent = Recent, earlier = Earlier, repeat = Bytes} = S) ->
    {Left, Kept} = fitting(S#names.kept, Bytes, []),
    {Left1, New} = fitting(notes(Recent), Left, Kept),
    {_, All} = fitting(notes(Earlier), Left1, New),
    S#names{todo = All}.

%% Puts notes in front of Acc while they fit into `Left' bytes. Returns how many bytes
%% remain, or 0 if a note did not fit.
fitting([], Left, Acc) ->
    {Left, Acc};
fitting([{_, Terms} = Note | Notes], Left, Acc) ->
    case Left - erlang:external_size(Terms) of
        Less when Less >= 0 -> fitting(Notes, Less, [Note | Acc]);
        _ -> {0, Acc}
    end.

notes(Known) ->
    [Note || {_, {_, _} = Note} <- maps:to_list(Known)].

events(#names{handle = Handle, events = Events}) ->
    try inviso_tracer:nif_info(Handle) of
        closed -> Events;
        Info -> element(1, Info)
    catch
        error:_ -> Events
    end.

%% Returns the number of the file that the spooler writes.
file(#names{handle = Handle, again = {file, File}}) ->
    try inviso_tracer:nif_spool(Handle) of
        closed -> File;
        Spool -> element(5, Spool)
    catch
        error:_ -> File
    end.

%%---------------------------------------------------------------------------
%% Writing

write(#names{most = Most} = S) ->
    write(Most, S).

%% Writes at most `Left' of the notes in `todo'.
write(_, #names{todo = []} = S) ->
    S#names{tries = 0};
write(Left, S) when Left =< 0 ->
    S;
write(Left, #names{handle = Handle, batch = Batch, todo = Todo} = S) ->
    {Notes, _} = split(Batch, Todo),
    try inviso_tracer:nif_note(Handle, Notes) of
        closed -> S#names{todo = []};
        0 -> later(S);
        N ->
            {_, Rest} = split(N, Todo),
            S1 = S#names{todo = Rest, tries = 0},
            case N < length(Notes) of
                true -> S1;
                false -> write(Left - N, S1)
            end
    catch
        error:_ -> S#names{todo = []}
    end.

%% Called if the ring is full. After ?MAX_TRIES tries, drops the first note, because
%% it blocks the other notes.
later(#names{tries = Tries} = S) when Tries < ?MAX_TRIES ->
    S#names{tries = Tries + 1};
later(#names{todo = [_ | Rest]} = S) ->
    S#names{todo = Rest, tries = 0}.

%%---------------------------------------------------------------------------
%% The asker

new_asker(Items) ->
    spawn_link(?MODULE, ask, [self(), Items]).

end_asker(Asker) ->
    Ref = monitor(process, Asker),
    unlink(Asker),
    exit(Asker, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% Sends {Asker, Pid, none | {Kind, Name}} for each process that the namer asks about.
-spec ask(pid(), [term()]) -> no_return().
ask(Namer, Items) ->
    receive
        {ask, Pids} ->
            _ = [Namer ! {self(), Pid, name_of(Pid, Items)} || Pid <- Pids],
            ask(Namer, Items)
    end.

%% Returns the name of a process. Waits until the process answers. Any process may
%% call this.
-spec name_of(pid()) -> name() | none.
name_of(Pid) ->
    name_of(Pid, items()).

name_of(Pid, Items) ->
    case own_name(Pid, Items) of
        not_read -> name_of_parent(Pid, Items);
        Name -> Name
    end.

own_name(Pid, Items) ->
    case name(process_info(Pid, Items)) of
        none -> name_in_dictionary(Pid);
        Name -> Name
    end.

%% Returns a name from the dictionary of a process. Before OTP 26.2 the VM cannot
%% return a single entry: the process itself copies its whole dictionary. This usually
%% takes less time than a garbage collection of the process. Returns `not_read' if
%% the process has a larger heap than MAX_HEAP, because the copy takes memory, too.
name_in_dictionary(Pid) ->
    Single = inviso_vm:has_process_info({dictionary, '$initial_call'}),
    case not Single andalso process_info(Pid, [initial_call, total_heap_size]) of
        [{_, {proc_lib, init_p, _}}, {_, Words}] when Words =< ?MAX_HEAP ->
            Name = case process_info(Pid, dictionary) of
                       {dictionary, D} -> name_among(D);
                       undefined -> none
                   end,
            _ = [garbage_collect() || Words > ?LARGE_HEAP],
            Name;
        [{_, {proc_lib, init_p, _}}, _] ->
            not_read;
        _ ->
            none
    end.

%% A process with a large heap, such as a queue with many messages, gets the name of
%% its parent: this is often a supervisor whose children are all of one kind.
name_of_parent(Pid, Items) ->
    case inviso_vm:has_process_info(parent) andalso process_info(Pid, parent) of
        {parent, Parent} when is_pid(Parent), node(Parent) =:= node() ->
            case own_name(Parent, Items) of
                {Kind, _} = Name when Kind =/= ?NAME_LABEL -> {?NAME_CHILD, Name};
                _ -> none
            end;
        _ ->
            none
    end.

name_among([{'$initial_call', {M, F, A} = Call} | _])
  when is_atom(M), is_atom(F), is_integer(A) ->
    {?NAME_FUNCTION, Call};
name_among([_ | Rest]) ->
    name_among(Rest);
name_among([]) ->
    none.

%% Returns the items for which to ask a process.
items() ->
    [registered_name, initial_call
     | [I || I <- [label, {dictionary, '$initial_call'}],
             inviso_vm:has_process_info(I)]].

name(undefined) -> % the process has ended
    none;
name([{registered_name, Name} | _]) when is_atom(Name) ->
    {?NAME_REGISTERED, Name};
name([_, {initial_call, Call} | More]) ->
    name(More, Call).

%% OTP 25 does not know the items of later releases.
-dialyzer({nowarn_function, name/2}).
name([{label, undefined} | More], Call) ->
    name(More, Call);
name([{label, Label} | More], Call) ->
    case erlang:external_size(Label) =< ?MAX_LABEL of
        true ->
            {?NAME_LABEL, Label};
        false ->
            garbage_collect(),
            name(More, Call)
    end;
name([{{dictionary, _}, {M, F, A} = Call}], _)
  when is_atom(M), is_atom(F), is_integer(A) ->
    {?NAME_FUNCTION, Call};
%% This initial call does not show which function the process runs.
name(_, {proc_lib, init_p, _}) ->
    none;
name(_, {erlang, apply, _}) -> % the process runs a fun
    none;
name(_, Call) ->
    {?NAME_FUNCTION, Call}.

%%---------------------------------------------------------------------------

%% Returns the first N elements of a list, or fewer if it is shorter, and the others.
%% This is not a function of `lists', because a user who traces `lists' must not
%% see this call.
split(0, Rest) -> {[], Rest};
split(_, []) -> {[], []};
split(N, [E | Rest]) ->
    {First, Others} = split(N - 1, Rest),
    {[E | First], Others}.

now_ms() ->
    erlang:monotonic_time(millisecond).
