%% SPDX-License-Identifier: Apache-2.0
%%
%% The keeper is the process of one tracer. It opens the tracer, starts the tracer's
%% spooler and its namer (inviso_names), watches the tracer's owner and the spooler,
%% takes clock anchors for the log, and closes the tracer.
%%
%% The keeper has no supervisor. If the keeper is killed, the VM notifies the NIF
%% library, which closes the tracer. The keeper's port closes with it; the spooler
%% sees this, completes the log and ends.
-module(inviso_keeper).

-export([start/1, all/0, processes/1, info/1, filter/2, keep/3, remember/2,
         flush/1, flush/2, close/1]).

%% For the keeper in inviso_deliver.
-export([free/1]).
-export([init/2]).

-define(ANCHOR_MS, 1000).
-define(POLL_MS, 2).
%% How long to wait for the spooler to flush or to complete the log. The spooler
%% gives up a failed write after 5 s, so this time must be longer.
-define(CLOSE_MS, 15000).
-define(START_MS, 10000).
-define(SETTLE_MS, 5000).
%% When a spooler has died, the next one is started after a delay of at most this
%% time. The first delay is 0, and each further delay is longer.
-define(RESTART_MAX_MS, 5000).
%% NAMED_MS: how long open/2 waits until the registered names are written.
%% FLUSH_NAMES_MS, CLOSE_NAMES_MS: how long flush and close wait until other names are
%% written. This takes some milliseconds, but longer on a busy machine. If it takes
%% longer than this time, the log lacks names, but no events. A flush has a process of
%% its own. But while the keeper closes the tracer, it takes no anchors, and without
%% anchors for EOF_PATIENCE_NS (c_src/spool/loop.c) the spooler takes it for dead.
-define(NAMED_MS, 5).
-define(FLUSH_NAMES_MS, 1000).
-define(CLOSE_NAMES_MS, 100).

-record(keeper,
        {handle :: pos_integer(),
         owner :: reference(),
         memory :: [string()], % the spooler's arguments for the shared memory
         more :: [string() | binary()], % the spooler's other arguments
         path :: binary(),
         ring_path :: binary(),
         rotated :: boolean(),
         names :: pid() | none, % the namer
         port :: port() | undefined,
         restart_ms = 0 :: non_neg_integer(),
         %% Exit status of the last spooler, and how many spoolers in a row had this
         %% status.
         ended = {none, 0} :: {none | non_neg_integer(), non_neg_integer()},
         gone = 0 :: non_neg_integer()}). % how many tracers were retired at the last anchor

%% The spooler's states and the reasons of losses, in the order of their numbers in
%% c_src/abi/ring.h and c_src/abi/event.h.
spool_states() -> {none, running, stalled, done, failed}.

losses() ->
    [full, too_big, limit, overwritten, unwritten, unfinished, no_ring,
     damaged].

%%---------------------------------------------------------------------------
%% Called by any process

-spec start(inviso_opts:parsed()) ->
          {ok, inviso_tracer:tracer()} | {error, term()}.
start(Opts) ->
    Ref = make_ref(),
    {Pid, Mon} = spawn_monitor(?MODULE, init, [{self(), Ref}, Opts]),
    receive
        {Ref, Result} ->
            demonitor(Mon, [flush]),
            Result;
        {'DOWN', Mon, process, Pid, Reason} ->
            {error, Reason}
    end.

%% Returns all keepers of this node, with the paths of their logs. A tracer that
%% delivers its events to a process has no log, so its keeper is listed without a
%% path. A keeper is already in the list when open/2 returns its tracer. The keeper
%% stays in the list until it needs no more code of other modules.
-spec all() -> [{pid(), Log :: binary() | none}].
all() ->
    try inviso_tracer:nif_keepers() of
        Keepers -> [K || {Pid, _} = K <- Keepers, is_process_alive(Pid)]
    catch
        error:_ -> []
    end.

%% Returns the keeper of a tracer, and the processes that belong to the keeper.
-spec processes(pos_integer()) -> [pid()].
processes(Handle) ->
    case keeper(Handle) of
        undefined ->
            [];
        Keeper ->
            Linked = linked(Keeper),
            lists:usort([Keeper | Linked]
                        ++ [P || L <- Linked, P <- linked(L)])
    end.

linked(Pid) ->
    case process_info(Pid, links) of
        {links, Links} -> [P || P <- Links, is_pid(P)];
        undefined -> []
    end.

-spec info(pos_integer()) -> inviso_tracer:stats() | {error, closed}.
info(Handle) ->
    call(Handle, info).

%% Replaces the filter. The calling process does this itself, through the NIF
%% library, so it does not wait for the keeper.
-spec filter(pos_integer(), inviso_opts:filter()) ->
          ok | {error, closed | {filter, binary()}}.
filter(Handle, Filter) ->
    Otp = list_to_integer(erlang:system_info(otp_release)),
    Name = atom_to_binary(node()),
    Creation = inviso_opts:creation(),
    try inviso_tracer:nif_filter(Handle, Filter, node(), Name, Creation, Otp) of
        ok -> ok;
        closed -> {error, closed};
        {error, Text} -> {error, {filter, Text}}
    catch
        error:not_loaded -> {error, closed}
    end.

%% Writes notes into the log, and waits at most `Ms' milliseconds until they are
%% written.
-spec keep(pos_integer(), [inviso_names:note()], non_neg_integer()) -> ok.
keep(Handle, Notes, Ms) ->
    case call(Handle, namer) of
        Namer when is_pid(Namer) -> inviso_names:keep(Namer, Notes, Ms);
        _ -> ok
    end.

%% Stores notes that the caller has written already. When the names of processes are
%% written again, as in each new file of a log, these notes are written again too.
-spec remember(pos_integer(), [inviso_names:note()]) -> ok.
remember(Handle, Notes) ->
    case keeper(Handle) of
        undefined -> ok;
        Pid -> Pid ! {remember, Notes}, ok
    end.

-spec flush(pos_integer()) -> ok | {error, term()}.
flush(Handle) ->
    call(Handle, flush).

%% Starts a flush, and waits at most `Ms' milliseconds until the flush is done. Only
%% the calling process waits; the keeper does not.
-spec flush(pos_integer(), non_neg_integer()) -> ok | {error, term()}.
flush(Handle, Ms) ->
    try inviso_tracer:nif_flush(Handle) of
        closed ->
            {error, closed};
        Number ->
            Keeper = keeper(Handle),
            _ = is_pid(Keeper) andalso (Keeper ! wake),
            await_flush(Handle, Number, deadline(Ms))
    catch
        error:_ -> {error, closed}
    end.

-spec close(pos_integer()) -> {ok, inviso_tracer:stats()} | {error, term()}.
close(Handle) ->
    call(Handle, close).

call(Handle, Request) ->
    case keeper(Handle) of
        undefined ->
            {error, closed};
        Pid ->
            Mon = monitor(process, Pid),
            Pid ! {Request, self(), Mon},
            receive
                {Mon, Result} ->
                    demonitor(Mon, [flush]),
                    Result;
                {'DOWN', Mon, process, Pid, _} ->
                    {error, closed}
            end
    end.

keeper(Handle) ->
    try inviso_tracer:nif_keeper(Handle)
    catch error:not_loaded -> undefined
    end.

%%---------------------------------------------------------------------------
%% The process

init({Caller, Ref}, Opts) ->
    process_flag(trap_exit, true),
    case is_process_alive(Caller) andalso open(Caller, Opts) of
        false ->
            ok;
        {ok, K} ->
            %% The tracer's time limit begins now, because the caller could not trace
            %% before it had the tracer.
            _ = inviso_tracer:nif_begin(K#keeper.handle),
            Caller ! {Ref, {ok, {inviso_tracer, K#keeper.handle}}},
            _ = loop(K),
            end_flushes();
        {error, _} = Error ->
            Caller ! {Ref, Error}
    end.

%% Opens the tracer. After the caller's death another process may search for
%% keepers, and remove inviso's code if it finds none. If the caller is still
%% alive when the tracer is open, a later search finds this keeper. If the caller
%% is dead, the search may be over, and the code of other modules may be removed.
%% So in this case the keeper calls no other module: it ends, and the NIF library
%% closes the tracer.
open(Caller, #{path := Path, ring_path := RingPath, redact := Redact,
               numbers := Numbers} = Opts) ->
    Texts = {Path, RingPath, atom_to_binary(node()),
             list_to_binary(erlang:system_info(otp_release)),
             list_to_binary(erlang:system_info(version)), Redact},
    case inviso_tracer:nif_open(Texts, Numbers) of
        {ok, Handle, Fd} ->
            case is_process_alive(Caller) of
                true ->
                    begun(Handle, Fd, Opts);
                false ->
                    _ = remove_ring(RingPath),
                    false
            end;
        {error, {redact, _}} = Error ->
            Error;
        {error, {<<"tracers">>, _}} ->
            {error, {too_many, 64}};
        {error, {Call, Errno}} ->
            {error, {ring, binary_to_list(Call), posix(Errno)}}
    end.

begun(Handle, Fd, #{path := Path, ring_path := RingPath, owner := Owner,
                    brought := Brought, filter := Filter,
                    names := Names, numbers := Numbers}) ->
    ok = inviso_tracer:nif_anchor(Handle),
    erlang:send_after(?ANCHOR_MS, self(), anchor),
    #{rotate_bytes := Bytes, rotate_ns := Ns} = Numbers,
    K = #keeper{handle = Handle,
                owner = monitor(process, Owner),
                memory = ["--pid", os:getpid(), "--fd", integer_to_list(Fd)],
                more = brought(Brought),
                names = case Names of
                            true -> inviso_names:start_link(Handle, Numbers);
                            false -> none
                        end,
                path = Path, ring_path = RingPath,
                rotated = Bytes + Ns > 0},
    case filter(Handle, Filter) of
        ok -> started(start_spooler(K));
        {error, Reason} -> abandon(K, Reason)
    end.

brought(none) -> [];
brought({Dir, false}) -> ["--brought", Dir];
brought({Dir, true}) -> ["--brought", Dir, "--brought-log"].

started({error, _} = Error) ->
    Error;
started(K) ->
    case await_spooler(K, fun(State) -> State =/= none end,
                       deadline(?START_MS)) of
        {ok, K1} ->
            case spool(K1) of
                #{state := failed} = Spool ->
                    abandon(K1, failure(Spool));
                _ ->
                    ok = inviso_names:await(K1#keeper.names, ?NAMED_MS),
                    {ok, K1}
            end;
        {{error, Reason}, K1} ->
            abandon(K1, Reason)
    end.

failure(#{posix := Posix, error := Text}) ->
    {log, Posix, Text}.

%% Closes a tracer after a step of opening it has failed.
abandon(K, Reason) ->
    ok = inviso_names:stop(K#keeper.names),
    retire(K, closed),
    stop_spooler(K),
    free(K#keeper.handle),
    remove_ring(K#keeper.ring_path),
    {error, Reason}.

loop(K = #keeper{handle = Handle, owner = Owner, port = Port}) ->
    receive
        anchor ->
            case anchor(Handle) of
                {ok, Gone} -> loop(ticked(Gone, K));
                closed -> closed
            end;
        {info, From, Ref} ->
            From ! {Ref, stats(K)},
            loop(K);
        {namer, From, Ref} ->
            From ! {Ref, K#keeper.names},
            loop(K);
        {remember, Notes} ->
            ok = inviso_names:remember(K#keeper.names, Notes),
            loop(K);
        {flush, From, Ref} ->
            _ = flush_log(K, From, Ref),
            loop(K);
        wake ->
            wake(K),
            loop(K);
        {close, From, Ref} ->
            Result = finish(K, closed),
            From ! {Ref, Result},
            answer_all(Result);
        {'DOWN', Owner, process, _, _} ->
            finish(K, owner_died);
        {Port, {exit_status, _}} ->
            loop(restart_later(K#keeper{port = undefined}));
        {'EXIT', Port, _} -> % wake/1 found the port dead: no exit_status follows
            loop(restart_later(K#keeper{port = undefined}));
        restart_spooler when Port =:= undefined ->
            loop(restart(K));
        _ ->
            loop(K)
    end.

%% Ends the processes that flush_log/3 has started. The callers of flush/1 monitor
%% the keeper, so they notice its end.
end_flushes() ->
    {links, Links} = process_info(self(), links),
    _ = [exit(P, shutdown) || P <- Links, is_pid(P)],
    ok.

%% Answers all other processes that have called close/1 for this tracer.
answer_all(Result) ->
    receive
        {close, From, Ref} ->
            From ! {Ref, Result},
            answer_all(Result)
    after 0 -> ok
    end.

%% Takes a clock anchor: writes the present times of several clocks. Returns `closed'
%% if the tracer is closed. An unloaded NIF library has closed its tracers, so the
%% result is `closed' in this case too.
anchor(Handle) ->
    try {inviso_tracer:nif_anchor(Handle), inviso_tracer:nif_gone()} of
        {ok, Gone} ->
            erlang:send_after(?ANCHOR_MS, self(), anchor),
            {ok, Gone};
        {closed, _} ->
            closed
    catch
        error:_ -> closed
    end.

%% Called each second. If tracers were retired since the last call, runs a process
%% on each scheduler (settle/1), so that the VM can remove these tracers safely. A
%% tracer that has reached a limit counts as retired.
ticked(Gone, K = #keeper{restart_ms = Ms}) ->
    _ = Gone =:= K#keeper.gone orelse settle(0),
    K#keeper{restart_ms = max(0, Ms - 100), gone = Gone}.

%%---------------------------------------------------------------------------
%% The spooler

start_spooler(K) ->
    try K#keeper{port = open_spooler(K)}
    catch
        error:Posix ->
            ok = inviso_names:stop(K#keeper.names),
            retire(K, closed),
            free(K#keeper.handle),
            remove_ring(K#keeper.ring_path),
            {error, {load, lists:flatten(
                             io_lib:format("~ts: ~p", [spooler(), Posix]))}}
    end.

restart_later(K = #keeper{restart_ms = Ms}) ->
    erlang:send_after(Ms, self(), restart_spooler),
    K#keeper{restart_ms = min(?RESTART_MAX_MS, 2 * Ms + 50)}.

restart(K) ->
    try K#keeper{port = open_spooler(K)}
    catch error:_ -> restart_later(K)
    end.

spooler() ->
    filename:join(inviso_tracer:dir(), "inviso_spool").

open_spooler(#keeper{handle = Handle, memory = Memory, more = More}) ->
    case inviso_tracer:nif_offer(Handle) of
        false ->
            open_spooler(Memory ++ More);
        Name ->
            spawn(fun() -> give(Handle, deadline(?START_MS)) end),
            open_spooler(["--socket", Name | More])
    end;
open_spooler(Args) ->
    open_port({spawn_executable, spooler()},
              [{args, Args}, exit_status, binary, use_stdio, {cd, "/"}]).

%% Gives the shared memory to the spooler through the socket. If another program
%% connects to the socket first, that program is refused, and this function waits
%% again. Errors are caught, because inviso's code may be removed meanwhile.
give(Handle, Deadline) ->
    try inviso_tracer:nif_give(Handle) of
        false -> erlang:monotonic_time(millisecond) < Deadline
                     andalso give(Handle, Deadline);
        _ -> false
    catch
        error:_ -> false
    end.

spool(#keeper{handle = Handle}) ->
    {State, OsPid, Done, First, Last, Bytes, Starts, Errno, Text} =
        inviso_tracer:nif_spool(Handle),
    #{state => spool_state(State), os_pid => OsPid,
      flush_done => Done, first => First, last => Last, bytes => Bytes,
      starts => Starts, posix => posix(Errno), error => Text}.

spool_state(Number) ->
    element(Number + 1, spool_states()).

%% Returns the name of an errno that opening or writing a file can cause. The names
%% are listed here, because libc's table of them is not available on every node to
%% which a client sends this module.
posix(0) -> undefined;
posix(Errno) -> maps:get(Errno, posix_names(), Errno).

posix_names() ->
    #{1 => eperm, 2 => enoent, 5 => eio, 12 => enomem, 13 => eacces,
      16 => ebusy, 17 => eexist, 20 => enotdir, 21 => eisdir, 22 => einval,
      23 => enfile, 24 => emfile, 27 => efbig, 28 => enospc, 30 => erofs,
      36 => enametoolong, 40 => eloop, 122 => edquot}.

%% Waits until `Fun' returns true for the spooler's state. If the spooler dies
%% meanwhile, starts another one. Returns {ok | {error, Reason}, K}.
await_spooler(K, Fun, Deadline) ->
    #{state := State} = Spool = spool(K),
    Late = erlang:monotonic_time(millisecond) > Deadline orelse hopeless(K),
    case Fun(State) of
        true -> {ok, K#keeper{ended = {none, 0}}};
        false when Late -> {{error, {spooler, State, text(Spool, K)}}, K};
        false -> await_spooler(await_more(K), Fun, Deadline)
    end.

%% Returns true if four spoolers in a row failed because the machine denied the same
%% operation. Such a denial is permanent. Other errors, such as a lack of memory,
%% may be temporary.
hopeless(#keeper{ended = {Status, N}}) ->
    N >= 4 andalso lists:member(Status, [10, 11, 13]).

%% Returns the reason of the spooler's failure. A spooler writes the reason into the
%% shared memory. If the spooler never had this memory, its exit status shows the
%% reason.
text(#{state := none, error := <<>>}, #keeper{ended = {Status, _}}) ->
    words(Status);
text(#{error := Text}, _K) ->
    Text.

words(none) ->
    <<"it does not start in time: the machine is overloaded, or has stopped "
      "it">>;
words(10) ->
    <<"it cannot open the shared memory: it needs /proc, with the node's own "
      "processes in it">>;
words(11) ->
    <<"it cannot lock the shared memory: flock(2) is denied; allow it in the "
      "node's seccomp or security profile">>;
words(12) ->
    <<"another spooler has the shared memory">>;
words(13) ->
    <<"it cannot map the shared memory">>;
words(Status) when Status > 128 ->
    iolist_to_binary(io_lib:format("it was killed by signal ~b",
                                   [Status - 128]));
words(Status) ->
    iolist_to_binary(io_lib:format("it ended with exit status ~b", [Status])).

await_more(K = #keeper{port = Port, ended = {Before, N}}) ->
    receive
        {Port, {exit_status, Status}} ->
            Again = case Status of
                        Before -> N + 1;
                        _ -> 1
                    end,
            restart_later(K#keeper{port = undefined, ended = {Status, Again}});
        {'EXIT', Port, _} ->
            restart_later(K#keeper{port = undefined});
        restart_spooler when Port =:= undefined ->
            restart(K)
    after ?POLL_MS ->
            K
    end.

%% Wakes the spooler by a byte on its port. If the last byte is still in the port's
%% queue, sends none, because `halt' waits until this queue is empty.
wake(#keeper{port = Port}) ->
    case is_port(Port) andalso erlang:port_info(Port, queue_size) of
        {queue_size, 0} ->
            try erlang:port_command(Port, <<0>>, [nosuspend])
            catch error:badarg -> false
            end;
        _ ->
            false
    end.

stop_spooler(#keeper{port = Port}) when is_port(Port) ->
    try port_close(Port) catch error:badarg -> true end;
stop_spooler(_K) ->
    true.

deadline(Ms) ->
    erlang:monotonic_time(millisecond) + Ms.

%%---------------------------------------------------------------------------
%% Flush

%% Starts a flush. A new process waits for names and for the spooler, so that the
%% keeper can handle other messages.
flush_log(#keeper{handle = Handle, names = Names} = K, From, Ref) ->
    wake(K),
    Ms = inviso_deadline:ms(?CLOSE_MS),
    NamesMs = inviso_deadline:ms(?FLUSH_NAMES_MS),
    spawn_link(fun() ->
                       ok = inviso_names:last(Names, NamesMs),
                       From ! {Ref, flush(Handle, Ms)}
               end).

await_flush(Handle, Number, Deadline) ->
    case inviso_tracer:nif_spool(Handle) of
        closed ->
            {error, closed};
        Spool when element(3, Spool) >= Number ->
            ok;
        Spool ->
            case erlang:monotonic_time(millisecond) > Deadline of
                true -> {error, {spooler, spool_state(element(1, Spool)),
                                  element(9, Spool)}};
                false ->
                    timer:sleep(?POLL_MS),
                    await_flush(Handle, Number, Deadline)
            end
    end.

%%---------------------------------------------------------------------------
%% Closing

finish(K = #keeper{names = Names}, Why) ->
    wake(K), % wake the spooler, so that the rings have room for names
    ok = inviso_names:last(Names, ?CLOSE_NAMES_MS),
    ok = inviso_names:stop(Names),
    retire(K, Why),
    K1 = case K#keeper.port of
             undefined -> restart(K);
             _ -> wake(K), K
         end,
    {Result, K2} = await_spooler(K1, fun(State) ->
                                             State =:= done
                                                 orelse State =:= failed
                                     end, deadline(inviso_deadline:ms(?CLOSE_MS))),
    Spool = spool(K2),
    Stats = stats(K2),
    stop_spooler(K2),
    free(K2#keeper.handle),
    case {Result, Spool} of
        {ok, #{state := done}} ->
            remove_ring(K2#keeper.ring_path),
            {ok, Stats};
        {ok, #{state := failed}} ->
            {error, {failure(Spool), Stats}};
        {{error, Reason}, _} ->
            {error, {Reason, Stats}}
    end.

retire(K = #keeper{handle = Handle}, Why) ->
    inviso_tracer:nif_retire(Handle),
    await_quiet(Handle),
    inviso_tracer:nif_anchor(Handle),
    inviso_tracer:nif_end(Handle, Why),
    K.

await_quiet(Handle) ->
    case inviso_tracer:nif_quiet(Handle) of
        false -> timer:sleep(1), await_quiet(Handle);
        _ -> ok
    end.

%% Frees a tracer that is retired and that no thread uses. The VM removes the tracer
%% from a process when the process runs again. This is safe only on settled
%% schedulers, so settles the schedulers first (settle/1).
-spec free(pos_integer()) -> ok.
free(Handle) ->
    _ = inviso_tracer:nif_gone() > 0 andalso settle(?SETTLE_MS),
    _ = inviso_tracer:nif_free(Handle),
    ok.

%% Settles the schedulers: starts a process on each. After a scheduler has run
%% this process, the VM can remove retired tracers there without a crash
%% (c_src/nif/retire.h). Waits at most `Ms' milliseconds for these processes,
%% because a busy scheduler may run its process late.
-dialyzer({nowarn_function, [settle/1, settle_on/1, await_down/2]}).
settle(Ms) ->
    Until = deadline(Ms),
    Settling = [Process
                || N <- up_to(erlang:system_info(schedulers_online)),
                   Process <- settle_on(N)],
    [await_down(Mon, Until) || {_, Mon} <- Settling].

%% Starts the process on scheduler `N'. The option `scheduler' is undocumented. If
%% the VM has no room for another process, this scheduler is settled when the next
%% tracer is retired. When the process runs late, the code may be removed already,
%% so errors are caught.
settle_on(N) ->
    Here = fun() -> try inviso_tracer:nif_settle() catch error:_ -> gone end end,
    try
        [spawn_opt(Here, [monitor, {priority, high}, {scheduler, N}])]
    catch
        error:system_limit -> []
    end.

%% Returns the numbers from N to 1. This is not lists:seq/2, because a user who
%% traces lists:seq/2 must not see this call.
up_to(0) -> [];
up_to(N) -> [N | up_to(N - 1)].

await_down(Mon, Until) ->
    receive
        {'DOWN', Mon, process, _, _} -> ok
    after max(0, Until - erlang:monotonic_time(millisecond)) ->
            demonitor(Mon, [flush])
    end.

%% Removes the file of the rings: the log contains everything that is in this file.
%% The spooler would remove the file only after the death of the node, but the file
%% must be gone when close/1 returns.
remove_ring(<<>>) -> ok;
remove_ring(Path) -> file:delete(Path).

stats(K = #keeper{handle = Handle}) ->
    {Produced, Recorded, Dropped, RingBytes, Limit, RateReached, Filtered,
     Undecided, LeftOut, Redacted, Decided} =
        inviso_tracer:nif_info(Handle),
    Lost = lists:zip(losses(), tuple_to_list(Dropped)),
    Spool = spool(K),
    #{produced => Produced,
      recorded => Recorded,
      dropped => lists:sum(tuple_to_list(Dropped)),
      lost => maps:from_list([L || {_, N} = L <- Lost, N > 0]),
      filtered => Filtered,
      undecided => Undecided,
      left_out => LeftOut,
      decided => decided(Decided),
      redacted => Redacted,
      limit_reached => Limit =/= none,
      limit => Limit,
      rate_reached => RateReached,
      ring_bytes => RingBytes,
      log_bytes => maps:get(bytes, Spool),
      files => files(K, Spool),
      spooler => spooler_stats(Spool)}.

decided(none) ->
    none;
decided({Forgotten, Unkept, Unended, Open, WithoutArgs}) ->
    #{forgotten => Forgotten, unkept => Unkept, unended => Unended,
      open => Open, without_args => WithoutArgs}.

spooler_stats(#{state := State, os_pid := OsPid, starts := Starts,
                posix := Posix, error := Text}) ->
    Stats = #{state => State, os_pid => OsPid, starts => Starts},
    case Posix of
        undefined -> Stats;
        _ -> Stats#{error => Text}
    end.

files(#keeper{path = Path, rotated = false}, _Spool) ->
    [name(Path)];
files(#keeper{path = Path}, #{first := First, last := Last}) ->
    [name(<<Path/binary, ".", (integer_to_binary(N))/binary>>)
     || N <- lists:seq(First, Last)].

name(Path) ->
    case unicode:characters_to_list(Path, file:native_name_encoding()) of
        Name when is_list(Name) -> Name;
        _ -> Path
    end.
