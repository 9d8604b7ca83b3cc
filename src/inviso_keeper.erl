%% SPDX-License-Identifier: Apache-2.0
%%
%% The keeper of a tracer: one process each.  It opens the tracer and starts
%% its spooler, sees that both the owner and the spooler live, gives the log
%% its clock anchors, and closes.
%%
%% It is nobody's child: when it is killed, the VM tells the library, which
%% closes the tracer; the spooler then sees its port closed and finishes.
-module(inviso_keeper).

-export([start/1, info/1, filter/2, flush/1, flush/2, close/1]).

%% For other keepers.
-export([free/1]).
-export([init/2]).

-define(ANCHOR_MS, 1000).
-define(POLL_MS, 2).
%% The spooler itself gives up on a log that cannot be written after 5 s.
-define(CLOSE_MS, 15000).
-define(START_MS, 10000).
-define(SETTLE_MS, 5000).
%% A spooler that dies is started again, at once at first and then slower.
-define(RESTART_MAX_MS, 5000).

-record(keeper,
        {handle :: pos_integer(),
         owner :: reference(),
         memory :: [string()], % where it is: arguments of the spooler
         more :: [string() | binary()], % its other arguments
         path :: binary(),
         ring_path :: binary(),
         rotated :: boolean(),
         port :: port() | undefined,
         restart_ms = 0 :: non_neg_integer(),
         %% How the last spooler ended, and how many did so in a row.
         ended = {none, 0} :: {none | non_neg_integer(), non_neg_integer()},
         gone = 0 :: non_neg_integer()}). % of which schedulers know

%% The spooler's states and the reasons of losses, by their numbers in
%% c_src/abi/ring.h and c_src/abi/event.h.
spool_states() -> {none, running, stalled, done, failed}.

losses() ->
    [full, too_big, limit, overwritten, unwritten, unfinished, no_ring,
     damaged].

%%---------------------------------------------------------------------------
%% Called by anybody

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

-spec info(pos_integer()) -> inviso_tracer:stats() | {error, closed}.
info(Handle) ->
    call(Handle, info).

%% Nobody's request: the library exchanges it at once.
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

-spec flush(pos_integer()) -> ok | {error, term()}.
flush(Handle) ->
    call(Handle, flush).

%% The same, done by the calling process, for so many milliseconds.
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
    ok = inviso_push:keeps(),
    %% If it is dead, the guard may have looked for keepers before.
    case is_process_alive(Caller) andalso open(Opts) of
        false ->
            ok;
        {ok, K} ->
            %% Until here the caller could not trace.
            _ = inviso_tracer:nif_begin(K#keeper.handle),
            Caller ! {Ref, {ok, {inviso_tracer, K#keeper.handle}}},
            _ = loop(K),
            end_flushes();
        {error, _} = Error ->
            Caller ! {Ref, Error}
    end.

open(#{path := Path, ring_path := RingPath, owner := Owner,
       brought := Brought, filter := Filter,
       numbers := Numbers}) ->
    Texts = {Path, RingPath, atom_to_binary(node()),
             list_to_binary(erlang:system_info(otp_release)),
             list_to_binary(erlang:system_info(version))},
    case inviso_tracer:nif_open(Texts, Numbers) of
        {ok, Handle, Fd} ->
            ok = inviso_tracer:nif_anchor(Handle),
            erlang:send_after(?ANCHOR_MS, self(), anchor),
            #{rotate_bytes := Bytes, rotate_ns := Ns} = Numbers,
            K = #keeper{handle = Handle,
                        owner = monitor(process, Owner),
                        memory = ["--pid", os:getpid(), "--fd",
                                  integer_to_list(Fd)],
                        more = brought(Brought),
                        path = Path, ring_path = RingPath,
                        rotated = Bytes + Ns > 0},
            case filter(Handle, Filter) of
                ok -> started(start_spooler(K));
                {error, Reason} -> abandon(K, Reason)
            end;
        {error, {<<"tracers">>, _}} ->
            {error, {too_many, 64}};
        {error, {Call, Errno}} ->
            {error, {ring, binary_to_list(Call), posix(Errno)}}
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
                #{state := failed} = Spool -> abandon(K1, failure(Spool));
                _ -> {ok, K1}
            end;
        {{error, Reason}, K1} ->
            abandon(K1, Reason)
    end.

failure(#{posix := Posix, error := Text}) ->
    {log, Posix, Text}.

%% A tracer that never ran.
abandon(K, Reason) ->
    retire(K, closed),
    stop_spooler(K),
    free(K#keeper.handle),
    remove_ring(K),
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
        {flush, From, Ref} ->
            flush_log(K, From, Ref),
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
        {'EXIT', Port, _} -> % found dead by wake/1: there is no exit_status
            loop(restart_later(K#keeper{port = undefined}));
        restart_spooler when Port =:= undefined ->
            loop(restart(K));
        _ ->
            loop(K)
    end.

%% Who has asked for one sees that we are gone.
end_flushes() ->
    {links, Links} = process_info(self(), links),
    _ = [exit(P, shutdown) || P <- Links, is_pid(P)],
    ok.

%% Whoever else wanted it closed meanwhile.
answer_all(Result) ->
    receive
        {close, From, Ref} ->
            From ! {Ref, Result},
            answer_all(Result)
    after 0 -> ok
    end.

%% The library closes its tracers when it is unloaded.
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

%% A limit that is reached makes a tracer go, too.
ticked(Gone, K = #keeper{restart_ms = Ms}) ->
    _ = Gone =:= K#keeper.gone orelse settle(0),
    K#keeper{restart_ms = max(0, Ms - 100), gone = Gone}.

%%---------------------------------------------------------------------------
%% The spooler

start_spooler(K) ->
    try K#keeper{port = open_spooler(K)}
    catch
        error:Posix ->
            retire(K, closed),
            free(K#keeper.handle),
            remove_ring(K),
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

%% Somebody else may come first, and is sent away. Our code may go meanwhile.
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

%% The errno of what opening and writing files meets; libc's own table is not
%% to be had where this may be loaded.
posix(0) -> undefined;
posix(Errno) -> maps:get(Errno, posix_names(), Errno).

posix_names() ->
    #{1 => eperm, 2 => enoent, 5 => eio, 12 => enomem, 13 => eacces,
      16 => ebusy, 17 => eexist, 20 => enotdir, 21 => eisdir, 22 => einval,
      23 => enfile, 24 => emfile, 27 => efbig, 28 => enospc, 30 => erofs,
      36 => enametoolong, 40 => eloop, 122 => edquot}.

%% Waits until Fun is true of the spooler's state, and starts it again when it
%% dies meanwhile: {ok | {error, Reason}, K}.
await_spooler(K, Fun, Deadline) ->
    #{state := State} = Spool = spool(K),
    Late = erlang:monotonic_time(millisecond) > Deadline orelse hopeless(K),
    case Fun(State) of
        true -> {ok, K#keeper{ended = {none, 0}}};
        false when Late -> {{error, {spooler, State, text(Spool, K)}}, K};
        false -> await_spooler(await_more(K), Fun, Deadline)
    end.

%% What the machine denies it does not allow a moment later; to run out of
%% something may be over.
hopeless(#keeper{ended = {Status, N}}) ->
    N >= 4 andalso lists:member(Status, [10, 11, 13]).

%% One that never had the memory to put its reason into tells by its exit
%% status.
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

%% Any byte ends the spooler's wait.  One that does not read must not make a
%% queue in the port: `halt' would wait for it.
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

%% Its own process, so that the keeper goes on keeping.
flush_log(K = #keeper{handle = Handle}, From, Ref) ->
    case inviso_tracer:nif_flush(Handle) of
        closed ->
            From ! {Ref, {error, closed}};
        Number ->
            wake(K),
            Until = deadline(?CLOSE_MS),
            spawn_link(fun() ->
                               From ! {Ref, await_flush(Handle, Number, Until)}
                       end)
    end.

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

finish(K, Why) ->
    retire(K, Why),
    K1 = case K#keeper.port of
             undefined -> restart(K);
             _ -> wake(K), K
         end,
    {Result, K2} = await_spooler(K1, fun(State) ->
                                             State =:= done
                                                 orelse State =:= failed
                                     end, deadline(?CLOSE_MS)),
    Spool = spool(K2),
    Stats = stats(K2),
    stop_spooler(K2),
    free(K2#keeper.handle),
    case {Result, Spool} of
        {ok, #{state := done}} ->
            remove_ring(K2),
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

%% Of a tracer that is retired and quiet; who finds it closed finds the
%% schedulers settled.
-spec free(pos_integer()) -> ok.
free(Handle) ->
    _ = inviso_tracer:nif_gone() > 0 andalso settle(?SETTLE_MS),
    _ = inviso_tracer:nif_free(Handle),
    ok.

%% A process for each scheduler, which can be late where one does not come to
%% run it, and is awaited for so long.  See c_src/nif/gone.h.
-dialyzer({nowarn_function, [settle/1, settle_on/1, await_down/2]}).
settle(Ms) ->
    Until = deadline(Ms),
    Settling = [Process
                || N <- up_to(erlang:system_info(schedulers_online)),
                   Process <- settle_on(N)],
    [await_down(Mon, Until) || {_, Mon} <- Settling].

%% The option is undocumented. Where there is no room for another process, the
%% scheduler is settled when the next tracer goes. One that is late may find our
%% code gone.
settle_on(N) ->
    Here = fun() -> try inviso_tracer:nif_settle() catch error:_ -> gone end end,
    try
        [spawn_opt(Here, [monitor, {priority, high}, {scheduler, N}])]
    catch
        error:system_limit -> []
    end.

%% Whoever traces lists:seq/2 is not to see it called.
up_to(0) -> [];
up_to(N) -> [N | up_to(N - 1)].

await_down(Mon, Until) ->
    receive
        {'DOWN', Mon, process, _, _} -> ok
    after max(0, Until - erlang:monotonic_time(millisecond)) ->
            demonitor(Mon, [flush])
    end.

%% All of it is in the log: the ring's file has done its work.  The spooler
%% removes it too, when the node is gone; here it is gone when close returns.
remove_ring(#keeper{ring_path = <<>>}) -> ok;
remove_ring(#keeper{ring_path = Path}) -> file:delete(Path).

stats(K = #keeper{handle = Handle}) ->
    {Produced, Recorded, Dropped, RingBytes, Limit, RateReached, Filtered,
     Undecided} =
        inviso_tracer:nif_info(Handle),
    Lost = lists:zip(losses(), tuple_to_list(Dropped)),
    Spool = spool(K),
    #{produced => Produced,
      recorded => Recorded,
      dropped => lists:sum(tuple_to_list(Dropped)),
      lost => maps:from_list([L || {_, N} = L <- Lost, N > 0]),
      filtered => Filtered,
      undecided => Undecided,
      limit_reached => Limit =/= none,
      limit => Limit,
      rate_reached => RateReached,
      ring_bytes => RingBytes,
      log_bytes => maps:get(bytes, Spool),
      files => files(K, Spool),
      spooler => spooler_stats(Spool)}.

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
