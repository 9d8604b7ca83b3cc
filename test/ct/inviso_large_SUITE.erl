%% SPDX-License-Identifier: Apache-2.0
%% Terms of up to 1 MiB, and binaries of up to 16 MiB: they are recorded whole up
%% to the limit and cut beyond it, events without a free slot are counted, and no
%% event is lost or repeated when the node or the spooler is killed, or the disk
%% is full.
-module(inviso_large_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("kernel/include/file.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2,
         end_per_testcase/2]).
-export([kinds_below_the_limit/1, kinds_above_the_limit/1,
         cut_says_the_truth/1, binaries_below_the_limit/1,
         binaries_above_the_limit/1, every_format_prints_large_terms/1,
         compressed_and_rotated/1, no_free_slot/1, two_large_terms/1,
         flight_recorder/1, many_schedulers/1, memory_of_a_merge/1,
         old_readers_can_read_small_logs/1, refused_with_what_fits/1,
         node_is_killed/1, node_and_spooler_are_killed/1, spooler_is_killed/1,
         disk_fills_and_space_comes_back/1]).
-export([calls/3, calls_on/2]).

-define(LIB, inviso_trace_lib).
-define(NODE, inviso_trace_node).
-define(MIB, 1048576).

all() ->
    [kinds_below_the_limit, kinds_above_the_limit, cut_says_the_truth,
     binaries_below_the_limit, binaries_above_the_limit,
     every_format_prints_large_terms, compressed_and_rotated, no_free_slot,
     two_large_terms, flight_recorder, many_schedulers, memory_of_a_merge,
     old_readers_can_read_small_logs, refused_with_what_fits, node_is_killed,
     node_and_spooler_are_killed, spooler_is_killed,
     disk_fills_and_space_comes_back].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(disk_fills_and_space_comes_back = Case, Config) ->
    case ?LIB:is_root() of
        true -> begin_case(Case, Config);
        false -> {skip, "only root can mount a file system"}
    end;
init_per_testcase(Case, Config) ->
    begin_case(Case, Config).

begin_case(_Case, Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    Config.

end_per_testcase(_Case, _Config) ->
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    ok.

%%---------------------------------------------------------------------------
%% Limits

%% Records terms that, with the rest of the event, take a little less than 1 MiB.
kinds_below_the_limit(Config) ->
    [] = differ(kinds(?MIB - 200),
                record(Config, #{max_term_bytes => ?MIB, max_depth => 128},
                       kinds(?MIB - 200))).

%% Returns the places at which the lists differ. (A report with the terms
%% themselves would have hundreds of MB.)
differ(Terms, Recorded) when length(Terms) =:= length(Recorded) ->
    [I || {I, T, R} <- lists:zip3(lists:seq(1, length(Terms)), Terms, Recorded),
          T =/= R];
differ(Terms, Recorded) ->
    {length(Terms), length(Recorded)}.

kinds_above_the_limit(Config) ->
    Terms = kinds(?MIB + 1000),
    Log = ?LIB:name(Config, "x.log"),
    Cut = record(Log, #{max_term_bytes => ?MIB, max_depth => 128}, Terms),
    [] = lists:seq(1, length(Terms)) -- differ(Terms, Cut),
    %% In the log, each term takes at most 1 MiB. The rest of the event takes less than 4 KiB.
    [] = [L || #{type := events, n := 1, raw_len := L}
                   <- inviso_trace_log:packets(Log),
               L > ?MIB + 4096],
    [true = Bool || #{<<"tag">> := _} = Item <- ?LIB:items(Log),
                    Bool <- [maps:get(<<"truncated">>, Item, false)]].

%% Returns terms that take about Bytes bytes in a log: an integer 1000 takes
%% three bytes, and a small integer takes one.
kinds(Bytes) ->
    Third = Bytes div 3,
    [lists:duplicate(Third, 1000),
     lists:duplicate(Third, 1000) ++ 1,
     list_to_tuple(lists:duplicate(Third, 1000)),
     maps:from_list([{I, 1} || I <- lists:seq(100000, 99999 + Bytes div 5)]),
     lists:duplicate(Bytes, $x),
     binary:copy(<<"x">>, Bytes),
     lists:duplicate(Bytes div 9, 1.5),
     lists:duplicate(Bytes div 16, <<"0123456789abcde">>),
     lists:duplicate(Bytes div 201, nested(100, [])),
     [{I, "a word", #{key => I}} || I <- lists:duplicate(Bytes div 13, 1)]].

nested(0, Term) -> Term;
nested(N, Term) -> nested(N - 1, [Term]).

%% The terms need about as many bytes as the limit. An event is marked as truncated exactly if a
%% part of its term is missing.
cut_says_the_truth(Config) ->
    Max = 200000,
    Terms = [T || Bytes <- lists:seq(Max - 60, Max + 20, 4), T <- ends(Bytes)],
    Log = ?LIB:name(Config, "x.log"),
    Recorded = record(Log, #{max_term_bytes => Max}, Terms),
    Events = [I || #{<<"tag">> := _} = I <- ?LIB:items(Log)],
    Said = [maps:get(<<"truncated">>, I, false) || I <- Events],
    [] = differ(Said, [T =/= R || {T, R} <- lists:zip(Terms, Recorded)]),
    [false, true] = lists:usort(Said).

ends(Bytes) ->
    [binary:copy(<<"x">>, Bytes), lists:duplicate(Bytes, $x),
     [1000 | lists:duplicate(Bytes - 3, 1)],
     list_to_tuple(lists:duplicate(Bytes, 1))].

binaries_below_the_limit(Config) ->
    Sixteen = binary:copy(<<"b">>, 16 * ?MIB),
    Eight = binary:copy(<<"8">>, 8 * ?MIB),
    Terms = [Sixteen,
             [Eight, {Eight}],
             #{binary => Sixteen, list => lists:duplicate(340000, 1000)},
             lists:duplicate(512, binary:copy(<<"p">>, 32768)),
             small],
    [] = differ(Terms, record(Config, #{max_term_bytes => 16 * ?MIB}, Terms)).

%% The limit of 16 MiB is for the contents of all binaries of a term together. Everything else of
%% the term may take at most 1 MiB.
binaries_above_the_limit(Config) ->
    More = binary:copy(<<"b">>, 16 * ?MIB + 1),
    Eight = binary:copy(<<"8">>, 8 * ?MIB),
    Terms = [More,
             [Eight, {Eight, <<"9">>}],
             [Eight | lists:duplicate(350000, 1000)],
             lists:duplicate(513, binary:copy(<<"p">>, 32768))],
    Log = ?LIB:name(Config, "x.log"),
    Cut = record(Log, #{max_term_bytes => 16 * ?MIB}, Terms),
    [] = lists:seq(1, length(Terms)) -- differ(Terms, Cut),
    [] = [L || #{type := events, raw_len := L} <- inviso_trace_log:packets(Log),
               L > 17 * ?MIB + 4096].

%% Records calls with the terms. Returns the terms that are in the log.
record(Log, Opts, Terms) when is_map(Opts), is_integer(hd(Log)) ->
    Tracer = ?LIB:open(Log, Opts),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    %% Flushing after each term frees the term's large slot (the memory for one large event).
    [begin
         ok = ?LIB:run(Pid, fun() -> ?LIB:probe(T) end),
         ok = inviso_tracer:flush(Tracer)
     end || T <- Terms],
    Stats = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    #{dropped := 0, recorded := N} = Stats,
    N = length(Terms),
    terms(Log);
record(Config, Opts, Terms) ->
    record(?LIB:name(Config, "x.log"), Opts, Terms).

%% Returns the argument of each call probe(Term).
terms(Log) ->
    {_, Bin, _} = ?LIB:merge(Log, "etf"),
    [T || {_, _, _, {trace, _, call, {?LIB, probe, [T]}}, _} <- records(Bin)].

records(<<0:32>>) -> [];
records(<<>>) -> [];
records(<<N:32, Record:N/binary, Rest/binary>>) ->
    [binary_to_term(Record) | records(Rest)].

%% Records two very large events, a binary and a list, between two small events. Prints all four in
%% every format.
every_format_prints_large_terms(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Big = binary:copy(<<"z">>, 16 * ?MIB),
    Terms = [first, Big, lists:duplicate(?MIB - 100, $s), last],
    [] = differ(Terms, record(Log, #{max_term_bytes => 16 * ?MIB}, Terms)),
    [begin
         {0, Bin, _} = ?LIB:merge(Log, Format, More),
         [_, _, _, _ | _] = Lines = binary:split(Bin, <<"\n">>,
                                                 [global, trim_all]),
         {Format, More, true} = {Format, More,
                                 byte_size(Bin) > 16 * ?MIB
                                     orelse More =/= []},
         [true = lists:all(fun(L) -> string:length(L) =< 80 end, Lines)
          || lists:member("--width", More)]
     end || {Format, More} <- [{"text", []}, {"json", []}, {"classic", []},
                               {"text", ["--width", "80"]}]].

compressed_and_rotated(Config) ->
    [begin
         Log = ?LIB:name(Config, "x.log"),
         Terms = kinds(600000) ++ [binary:copy(<<"c">>, 3 * ?MIB)],
         Tracer = ?LIB:open(Log, Opts#{max_term_bytes => 4 * ?MIB,
                                       max_depth => 128}),
         Pid = ?LIB:worker(),
         ?LIB:flags(Pid, Tracer, [call]),
         [begin
              ok = ?LIB:run(Pid, fun() -> ?LIB:probe(T) end),
              ok = inviso_tracer:flush(Tracer)
          end || T <- Terms],
         #{dropped := 0, files := Files} = ?LIB:close(Tracer),
         ?LIB:stop(Pid),
         {Opts, []} = {Opts, differ(Terms, terms(Files))}
     end || Opts <- [#{compress => zstd}, #{rotate => #{bytes => 500000}},
                     #{compress => zstd, rotate => #{bytes => 1}}]].

%%---------------------------------------------------------------------------
%% Losses

%% If there is no slot for a large event, the event counts as lost for the reason `full', and the
%% loss is shown at the right place.
no_free_slot(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{max_term_bytes => 4 * ?MIB, drain_ms => 10000,
                              flush_ms => 0}),
    {ok, #{numbers := #{large_slots := Slots}}} =
        inviso_opts:parse(Log, #{max_term_bytes => 4 * ?MIB}),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    Fat = binary:copy(<<"f">>, 2 * ?MIB),
    ok = ?LIB:run(Pid, fun() -> calls(1, Slots + 5, Fat) end),
    %% All large slots are in use, but the ring still has space for small events.
    ok = ?LIB:run(Pid, fun() -> ?LIB:flood(1001, 1010) end),
    ok = inviso_tracer:flush(Tracer),
    ok = ?LIB:run(Pid, fun() -> calls(2001, 2002, Fat) end),
    Stats = #{lost := #{full := 5}} = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, Slots + 17),
    Numbers = lists:seq(1, Slots) ++ lists:seq(1001, 1010) ++ [2001, 2002],
    Numbers = ?LIB:numbers(Items),
    %% Losses are shown in two places: between the last large event that found a slot and the small
    %% events, and before the first large event after the flush.
    Places = [case I of
                  #{<<"lost">> := _} -> lost;
                  _ -> large(hd(?LIB:numbers([I])), Slots)
              end || I <- Items],
    [before, lost, small, lost, 'after'] = without_repeats(Places).

without_repeats([X, X | Rest]) -> without_repeats([X | Rest]);
without_repeats([X | Rest]) -> [X | without_repeats(Rest)];
without_repeats([]) -> [].

large(I, Slots) when I =< Slots -> before;
large(I, _Slots) when I < 2000 -> small;
large(_I, _Slots) -> 'after'.

%% Calls probe(I, Term) with each number from From to To.
calls(From, To, Term) ->
    lists:foreach(fun(I) -> ?LIB:probe(I, Term) end, lists:seq(From, To)).

%% A slot has space for one term of the largest size, but not for a term and its copy in the result
%% of the match spec.
two_large_terms(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{max_term_bytes => ?MIB}),
    ?LIB:calls({?LIB, probe, '_'}, [{'_', [], [{message, '$_'}]}]),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    [ok = ?LIB:run(Pid, fun() -> ?LIB:probe(I, binary:copy(<<"f">>, N)) end)
     || {I, N} <- [{1, 500000}, {2, 900000}, {3, 10}]],
    Stats = #{lost := #{too_big := 1}} = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 3),
    [1, 3] = ?LIB:numbers(Items).

%% A flight recorder keeps the newest large events. It counts the older ones as overwritten.
flight_recorder(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Opts = #{max_term_bytes => 8 * ?MIB, keep => newest},
    {ok, #{numbers := #{large_slots := Slots}}} = inviso_opts:parse(Log, Opts),
    Tracer = ?LIB:open(Log, Opts),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    Fat = binary:copy(<<"f">>, ?MIB + 100000),
    ok = ?LIB:run(Pid, fun() -> calls(1, 20, Fat) end),
    ok = inviso_tracer:flush(Tracer),
    ok = ?LIB:run(Pid, fun() -> calls(21, 50, Fat) end),
    ok = ?LIB:run(Pid, fun() -> ?LIB:flood(51, 60) end),
    Stats = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 60),
    Numbers = lists:seq(21 - Slots, 20) ++ lists:seq(51 - Slots, 60),
    Numbers = ?LIB:numbers(Items),
    Lost = 50 - 2 * Slots,
    #{lost := #{overwritten := Lost}} = Stats.

%% 64 threads share the large slots, each of which has space for one large event. Each event is
%% recorded or counted as lost.
many_schedulers(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Peer = ?LIB:node_start(#{args => ["+S", "64:64" | ?LIB:node_args()]}),
    Opts = #{max_term_bytes => 16 * ?MIB},
    {_, _} = ?LIB:call(Peer, ?NODE, start, [Log, Opts]),
    ok = ?LIB:call(Peer, ?MODULE, calls_on, [64, 300000]),
    Stats = ?LIB:call(Peer, ?NODE, close, []),
    ?LIB:node_stop(Peer),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 64 * 5),
    true = length(?LIB:numbers(Items)) > 0,
    true = file_size(Log) < 64 * 5 * 300000 + ?MIB.

file_size(Name) ->
    {ok, #file_info{size = Size}} = file:read_file_info(Name),
    Size.

%% Is called on a node that has a tracer. Starts N processes, each of which calls probe(I, Binary)
%% five times.
calls_on(N, Bytes) ->
    {M, S} = persistent_term:get(?NODE),
    Fat = binary:copy(<<"m">>, Bytes),
    Pids = [spawn_monitor(
              fun() ->
                      receive go -> ok end,
                      calls(5 * I + 1, 5 * I + 5, Fat)
              end) || I <- lists:seq(0, N - 1)],
    [1 = erlang:trace(P, true, [call, {tracer, M, S}]) || {P, _} <- Pids],
    [P ! go || {P, _} <- Pids],
    [receive {'DOWN', Ref, process, P, normal} -> ok end || {P, Ref} <- Pids],
    ok.

%%---------------------------------------------------------------------------
%% Reading

%% Each of 20 logs begins with an event of 16 MiB. A merge that read all of them at once would need
%% 320 MiB. In this test, the limit on the memory of the merge is lower.
memory_of_a_merge(Config) ->
    Dir = ?LIB:dir(Config),
    Fat = binary:copy(<<"m">>, 16 * ?MIB),
    Logs = [begin
                Log = filename:join(Dir, integer_to_list(I) ++ ".log"),
                [] = differ([Fat], record(Log, #{max_term_bytes => 16 * ?MIB,
                                                 compress => zstd,
                                                 names => false}, [Fat])),
                Log
            end || I <- lists:seq(1, 20)],
    Merge = ["-c", "ulimit -v 300000 && exec \"$0\" merge -f text \"$@\" "
             "| grep -c call", ?LIB:product("inviso") | Logs],
    {0, <<"20\n">>} = ?LIB:command("/bin/sh", Merge).

%% A log has version 3 only if it may have long packets. Older readers can read all other logs.
old_readers_can_read_small_logs(Config) ->
    [begin
         Log = ?LIB:name(Config, "x.log"),
         _ = ?LIB:close(?LIB:open(Log, Opts)),
         {ok, <<_:8/binary, Version:32/little, _/binary>>} =
             file:read_file(Log)
     end || {Version, Opts} <- [{2, #{}}, {2, #{max_term_bytes => 65536}},
                                {2, #{max_term_bytes => 900 * 1024}},
                                {3, #{max_term_bytes => ?MIB}},
                                {3, #{max_term_bytes => 16 * ?MIB}}]].

%% If the buffer is too small, the error says which sizes fit.
refused_with_what_fits(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Opts = #{max_term_bytes => 16 * ?MIB, buffer_bytes => 20 * ?MIB},
    {error, {bad_option, buffer_bytes, _, _}} = inviso_tracer:open(Log, Opts),
    Least = inviso_opts:least_buffer(Opts),
    {error, {bad_option, buffer_bytes, _, _}} =
        inviso_opts:parse(Log, Opts#{buffer_bytes => Least - 1}),
    Fits = inviso_opts:largest_term(Opts),
    {error, {bad_option, buffer_bytes, _, _}} =
        inviso_opts:parse(Log, Opts#{max_term_bytes => Fits + 4096}),
    [_ = ?LIB:close(?LIB:open(?LIB:name(Config, "x.log"), O))
     || O <- [Opts#{buffer_bytes => Least}, Opts#{max_term_bytes => Fits}]].

%%---------------------------------------------------------------------------
%% Death

-define(FAT, 700000).

node(Log, Opts) ->
    Peer = ?LIB:node_start(#{}),
    {Os, Spooler} = ?LIB:call(Peer, ?NODE, start,
                              [Log, Opts#{max_term_bytes => ?MIB}]),
    {Peer, Os, Spooler}.

%% Calls probe(I, Fat) in the traced process of the node.
call_on(Peer, From, To) ->
    Fat = binary:copy(<<"n">>, ?FAT),
    Run = fun() -> inviso_large_SUITE:calls(From, To, Fat) end,
    Worker = ?LIB:call(Peer, erlang, whereis, [inviso_trace_worker]),
    ok = ?LIB:call(Peer, ?LIB, run, [Worker, Run]).

gone(OsPid) ->
    ?LIB:until(fun() -> not ?LIB:os_alive(OsPid) end).

node_is_killed(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {Peer, Os, Spooler} = node(Log, #{drain_ms => 10000, flush_ms => 0}),
    call_on(Peer, 1, 20),
    ?LIB:kill("KILL", Os),
    [gone(P) || P <- [Os, Spooler]],
    ?LIB:node_stop(Peer),
    Numbers = lists:seq(1, 20),
    Numbers = ?LIB:numbers(?LIB:events(Log)).

%% The file with the rings also contains the slots for large events, so `inviso recover' finds the
%% events in the slots.
node_and_spooler_are_killed(Config) ->
    [begin
         Dir = ?LIB:dir(Config),
         Log = filename:join(Dir, "x.log"),
         Ring = filename:join(Dir, "x.ring"),
         {Peer, Os, Spooler} = node(Log, #{ring => {file, Ring}, keep => Keep}),
         call_on(Peer, 1, 5),
         ?LIB:kill("STOP", Spooler),
         call_on(Peer, 6, 25),
         [?LIB:kill("KILL", P) || P <- [Os, Spooler]],
         [gone(P) || P <- [Os, Spooler]],
         ?LIB:node_stop(Peer),
         {0, _} = ?LIB:command("inviso", ["recover", Ring]),
         Numbers = lists:seq(1, 25),
         {Keep, Numbers} = {Keep, ?LIB:numbers(?LIB:events(Log))}
     end || Keep <- [oldest, newest]].

%% Spoolers are killed while they write large events. No event is repeated, and
%% each missing event is counted.
spooler_is_killed(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{max_term_bytes => ?MIB, drain_ms => 1}),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    Fat = binary:copy(<<"k">>, ?FAT),
    Spooler = fun() ->
                      #{spooler := S} = inviso_tracer:info(Tracer),
                      maps:get(os_pid, S, none)
              end,
    [begin
         Old = ?LIB:until(fun() -> Spooler() =/= none andalso Spooler() end),
         ok = ?LIB:run(Pid, fun() -> calls(8 * I + 1, 8 * I + 8, Fat) end),
         ?LIB:kill("KILL", Old),
         ?LIB:until(fun() -> not lists:member(Spooler(), [none, Old]) end)
     end || I <- lists:seq(0, 3)],
    Stats = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 32),
    Numbers = ?LIB:numbers(Items),
    Numbers = lists:usort(Numbers).

%% A large event for which the disk has no space stays in its slot.
disk_fills_and_space_comes_back(Config) ->
    Dir = ?LIB:dir(Config),
    "" = os:cmd("mount -t tmpfs -o size=3m none " ++ Dir),
    try
        Log = filename:join(Dir, "x.log"),
        Tracer = ?LIB:open(Log, #{max_term_bytes => ?MIB}),
        Pid = ?LIB:worker(),
        ?LIB:flags(Pid, Tracer, [call]),
        Fat = binary:copy(<<"d">>, ?FAT),
        ok = ?LIB:run(Pid, fun() -> calls(1, 10, Fat) end),
        State = fun() ->
                        #{spooler := #{state := S}} = inviso_tracer:info(Tracer),
                        S
                end,
        ?LIB:until(fun() -> State() =:= stalled end),
        "" = os:cmd("mount -o remount,size=64m " ++ Dir),
        ?LIB:until(fun() -> State() =:= running end),
        ok = ?LIB:run(Pid, fun() -> calls(11, 12, Fat) end),
        Stats = ?LIB:close(Tracer),
        ?LIB:stop(Pid),
        Items = ?LIB:items_elsewhere(Log, Config),
        ?LIB:accounted(Stats, Items, 12),
        Numbers = lists:seq(1, 12),
        Numbers = ?LIB:numbers(Items)
    after
        "" = os:cmd("umount -l " ++ Dir)
    end.
