%% SPDX-License-Identifier: Apache-2.0
%% @doc Checks the run queue, the memory and the caller's message queue, to find
%% out whether the load of the VM or the machine is so high that tracing must
%% stop.
%%
%% Tracing stops only if several checks in a row find the run queue or the memory
%% above its limit, because every node is busy at times. By default the run queue
%% may have 64 entries for each scheduler, or four times its length at the start if
%% that is more. This is far more than a busy node usually has. By default the
%% memory of the machine, or of the container, may be 95 % used.
-module(inviso_overload).

-export([new/1, check/1, memory_percent/0]).

-export_type([overload/0, protect/0, why/0]).

-type protect() :: #{run_queue => non_neg_integer(),
                     memory_percent => 0..100}.
-type why() :: run_queue | memory | queue.
-opaque overload() ::
    #{run_queue := non_neg_integer(), memory := 0..100,
      %% checks in a row that found run queue or memory above its limit
      busy := non_neg_integer(), full := non_neg_integer(),
      %% monotonic time, ms, of the next check of the memory
      look := integer()}.

-include("inviso_options.hrl").

-define(PER_SCHEDULER, 64).
-define(TIMES_START, 4).
-define(QUEUE, 10000).
%% Tracing stops if the run queue exceeds its limit in BUSY checks in a row, or
%% the memory in FULL checks in a row.
-define(BUSY, 10).
-define(FULL, 2).
-define(MEMORY_MS, 500).

%% @doc Returns the state for check/1 with these limits. The limit 0 means no limit.
-spec new(protect()) -> overload().
new(Protect) ->
    {_, _, _, MemoryPercent} = ?OPT_MEMORY_PERCENT,
    Default = max(?PER_SCHEDULER * erlang:system_info(schedulers_online),
                  ?TIMES_START * run_queue()),
    #{run_queue => maps:get(run_queue, Protect, Default),
      memory => maps:get(memory_percent, Protect, MemoryPercent),
      busy => 0, full => 0,
      look => erlang:monotonic_time(millisecond)}.

%% @doc Checks the run queue, the memory, and the message queue of the calling
%% process. Should be called about twenty times a second.
-spec check(overload()) -> {ok, overload()} | {over, why(), binary()}.
check(O) ->
    lists:foldl(fun(Look, {ok, Acc}) -> Look(Acc);
                   (_, Over) -> Over
                end, {ok, O}, [fun queue/1, fun busy/1, fun memory/1]).

queue(O) ->
    case process_info(self(), message_queue_len) of
        {_, N} when N > ?QUEUE ->
            over(queue, "~b messages wait for the session, limit ~b",
                 [N, ?QUEUE]);
        _ ->
            {ok, O}
    end.

busy(#{run_queue := 0} = O) ->
    {ok, O};
busy(#{run_queue := Limit, busy := Times} = O) ->
    case run_queue() of
        N when N =< Limit -> {ok, O#{busy := 0}};
        _ when Times + 1 < ?BUSY -> {ok, O#{busy := Times + 1}};
        N -> over(run_queue, "run queue ~b, limit ~b", [N, Limit])
    end.

run_queue() ->
    erlang:statistics(total_run_queue_lengths_all).

memory(#{memory := 0} = O) ->
    {ok, O};
memory(#{memory := Limit, full := Times, look := Look} = O) ->
    Now = erlang:monotonic_time(millisecond),
    Next = O#{look := Now + ?MEMORY_MS},
    case Times =:= 0 andalso Now < Look
        orelse memory_percent() of
        true -> {ok, O};
        unknown -> {ok, Next};
        {N, _} when N =< Limit -> {ok, Next#{full := 0}};
        _ when Times + 1 < ?FULL -> {ok, Next#{full := Times + 1}};
        {N, Whose} -> over(memory, "memory of the ~s ~b % used, limit ~b %",
                           [Whose, N, Limit])
    end.

over(Why, Format, Args) ->
    {over, Why, unicode:characters_to_binary(io_lib:format(Format, Args))}.

%% @doc Returns the percentage of the machine's memory that is used, or of the
%% container's memory if this percentage is higher.
-spec memory_percent() -> {0..100, machine | container} | unknown.
memory_percent() ->
    case {machine(), container()} of
        {unknown, unknown} -> unknown;
        {unknown, C} -> {C, container};
        {M, unknown} -> {M, machine};
        {M, C} when C > M -> {C, container};
        {M, _} -> {M, machine}
    end.

machine() ->
    Fields = fields("/proc/meminfo"),
    case Fields of
        #{<<"MemTotal:">> := Total, <<"MemAvailable:">> := Free}
          when Total > 0 ->
            100 - 100 * Free div Total;
        _ ->
            unknown
    end.

%% Returns how many percent of the container's memory limit are used, from control
%% groups of version 2. Inactive file cache counts as free, because the kernel can
%% take it back.
container() ->
    try
        [Group | _] = [G || Line <- lines("/proc/self/cgroup"),
                            G <- [string:prefix(Line, "0::")], G =/= nomatch],
        within(["/sys/fs/cgroup" | Group], "/memory.current", "/memory.max",
               <<"inactive_file">>)
    catch
        error:_ -> unknown
    end.

within(Dir, Used, Limit, Cache) ->
    [Max | _] = lines([Dir | Limit]),
    case is_number_text(Max) of
        true ->
            [Now | _] = lines([Dir | Used]),
            Stat = fields([Dir | "/memory.stat"]),
            Busy = binary_to_integer(Now) - maps:get(Cache, Stat, 0),
            max(0, min(100, 100 * Busy div binary_to_integer(Max)));
        false -> % "max": no limit
            unknown
    end.

fields(File) ->
    maps:from_list([{Key, binary_to_integer(N)}
                    || Line <- lines(File),
                       [Key, N | _] <- [binary:split(Line, <<" ">>,
                                                     [global, trim_all])],
                       is_number_text(N)]).

is_number_text(N) ->
    lists:all(fun(C) -> C >= $0 andalso C =< $9 end, binary_to_list(N)).

%% Reads a file in raw mode: the request does not go through the file server, a
%% process that may be scheduled late.
lines(File) ->
    case file:open(unicode:characters_to_list(File), [read, raw, binary]) of
        {ok, Fd} ->
            Read = file:read(Fd, 16384),
            _ = file:close(Fd),
            case Read of
                {ok, Bytes} -> binary:split(Bytes, <<"\n">>, [global, trim]);
                _ -> []
            end;
        {error, _} ->
            []
    end.
