%% SPDX-License-Identifier: Apache-2.0
%% Tests of the tracer alone: options, lifetime, limits, counts. The suite
%% inviso_differential_SUITE compares recorded events with OTP's own, and
%% inviso_failure_SUITE kills processes.
-module(inviso_tracer_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("kernel/include/file.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([bad_options_are_named/1, options_at_their_ends_are_taken/1,
         many_threads_share_the_usual_memory/1,
         calls_are_recorded_once_and_in_order/1,
         closed_tracer_says_so/1, flush_puts_all_in_the_log/1,
         info_counts_while_recording/1, one_run_prints_the_same_in_all/1,
         payload_none_keeps_process_and_function/1,
         payload_none_gives_the_pairs_of_the_seed/1,
         rules_that_do_not_exist_are_refused/1, notes_say_what_was_cut/1,
         system_tracer_records_the_example_of_the_seed/1,
         flags_vanish_after_close/1, meta_vanishes_after_close/1,
         death_of_owner_completes_the_log/1,
         death_of_keeper_completes_the_log/1,
         other_owner_is_watched/1, a_node_full_of_processes_closes_it/1,
         hundred_tracers_leave_nothing/1, sixty_fifth_tracer_is_refused/1,
         close_while_two_schedulers_flood/1, two_tracers_at_once/1,
         library_is_unloaded_and_loaded_again/1,
         purged_under_trace_sessions/1,
         second_load_keeps_tracers/1,
         limit_of_time_holds/1, limit_of_events_holds/1, limit_of_bytes_holds/1, limit_of_none/1,
         limit_of_rate_holds/1, rate_lets_a_burst_through/1,
         events_by_hand_do_no_harm/1, event_too_big_for_a_packet_is_counted/1,
         full_ring_drops_new_events/1, flight_recorder_keeps_the_newest/1,
         flight_recorder_flushes_more_than_once/1,
         log_rotates_by_size/1, log_rotates_by_time/1, log_keeps_a_count/1,
         compressed_log_reads_the_same/1, existing_log_is_an_error/1,
         replace_takes_the_old_log_away/1, files_are_private/1,
         links_are_not_followed/1, ring_in_a_file/1,
         path_in_utf8/1]).

%% Functions that run on a node.
-export([close_when_full/1]).

-define(LIB, inviso_trace_lib).
-define(SMALL, #{packet_bytes => 4096, buffer_bytes => small()}).

all() ->
    [bad_options_are_named, options_at_their_ends_are_taken,
     many_threads_share_the_usual_memory,
     calls_are_recorded_once_and_in_order,
     closed_tracer_says_so, flush_puts_all_in_the_log,
     info_counts_while_recording, one_run_prints_the_same_in_all,
     payload_none_keeps_process_and_function,
     payload_none_gives_the_pairs_of_the_seed,
     rules_that_do_not_exist_are_refused, notes_say_what_was_cut,
     system_tracer_records_the_example_of_the_seed,
     flags_vanish_after_close, meta_vanishes_after_close,
     death_of_owner_completes_the_log, death_of_keeper_completes_the_log,
     other_owner_is_watched, a_node_full_of_processes_closes_it,
     hundred_tracers_leave_nothing, sixty_fifth_tracer_is_refused,
     close_while_two_schedulers_flood, two_tracers_at_once,
     library_is_unloaded_and_loaded_again, purged_under_trace_sessions,
     second_load_keeps_tracers,
     limit_of_time_holds, limit_of_events_holds, limit_of_bytes_holds, limit_of_none,
     limit_of_rate_holds, rate_lets_a_burst_through,
     events_by_hand_do_no_harm, event_too_big_for_a_packet_is_counted,
     full_ring_drops_new_events, flight_recorder_keeps_the_newest,
     flight_recorder_flushes_more_than_once,
     log_rotates_by_size, log_rotates_by_time, log_keeps_a_count,
     compressed_log_reads_the_same, existing_log_is_an_error,
     replace_takes_the_old_log_away, files_are_private,
     links_are_not_followed, ring_in_a_file, path_in_utf8].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(_Case, Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    Config.

end_per_testcase(_Case, _Config) ->
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    ok.

%% Returns the smallest permitted size of the rings' memory.
small() ->
    Threads = erlang:system_info(schedulers) +
        erlang:system_info(dirty_cpu_schedulers) +
        erlang:system_info(dirty_io_schedulers),
    4 * Threads * 4096.

worker(Tracer, Flags) ->
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, Flags),
    Pid.

flood(Pid, From, To) ->
    ok = ?LIB:run(Pid, fun() -> ?LIB:flood(From, To) end).

%%---------------------------------------------------------------------------
%% Options

bad_options_are_named(Config) ->
    Path = ?LIB:name(Config, "x.log"),
    [check_bad(Path, Name, Value) || {Name, Value} <- bad_options()],
    {error, {bad_option, opts, [], _}} = inviso_tracer:open(Path, []),
    [{error, {bad_option, path, Bad, _}} = inviso_tracer:open(Bad, #{})
     || Bad <- [42, {a}, "a" ++ [0], lists:duplicate(4090, $x)]],
    [{error, {bad_option, _, _, "takes a file name"}} =
         inviso_tracer:open(P, O)
     || {P, O} <- [{"", #{}}, {<<>>, #{}}, {'', #{}}, {[[]], #{}},
                   {Path, #{ring => {file, ""}}}]],
    false = filelib:is_file(Path).

check_bad(Path, Name, Value) ->
    {error, {bad_option, Name, Value, What}} =
        inviso_tracer:open(Path, #{Name => Value}),
    true = length(What) > 5,
    true = io_lib:printable_unicode_list(What).

bad_options() ->
    [{keep, all}, {keep, "oldest"},
     {buffer_bytes, 0}, {buffer_bytes, small() - 1}, {buffer_bytes, 1 bsl 41},
     {buffer_bytes, 1.0e7},
     {packet_bytes, 4095}, {packet_bytes, 5000}, {packet_bytes, 524289},
     {packet_bytes, 1 bsl 20}, {packet_bytes, many},
     {ring, file}, {ring, {file, 17}}, {ring, {memory, "x"}},
     {payload, some}, {payload, true},
     {max_term_bytes, 15}, {max_term_bytes, 1 bsl 24 + 1},
     {max_term_bytes, -1},
     {max_depth, 0}, {max_depth, 129}, {max_depth, infinity},
     {compress, gzip}, {compress, true},
     {rotate, 5}, {rotate, #{bytes => 0}}, {rotate, #{size => 100}},
     {rotate, [{bytes, 100}]}, {rotate, #{count => 3}},
     {limit, 5}, {limit, #{events => -1}}, {limit, #{calls => 1}},
     {limit, #{rate => 0}}, {limit, #{rate => 1 bsl 32}},
     {limit, #{rate => 1.5}}, {limit, #{ms => 0}}, {limit, #{ms => 1 bsl 32}},
     {ms, 5}, {events, 5}, {rate, 5}, {bytes, 5}, {count, 5},
     {drain_ms, 0}, {drain_ms, 10001}, {flush_ms, -1}, {flush_ms, 3600001},
     {replace, yes}, {replace, 1},
     {owner, me}, {owner, make_ref()},
     {buffer_byte, 5}, {unknown, 1}].

options_at_their_ends_are_taken(Config) ->
    [begin
         Path = ?LIB:name(Config, "x.log"),
         Tracer = ?LIB:open(Path, Opts),
         Pid = worker(Tracer, [call]),
         flood(Pid, 1, 10),
         Stats = ?LIB:close(Tracer),
         [Log | _] = Logs = maps:get(files, Stats),
         true = is_list(Log),
         {_, Items, _} = {Opts, ?LIB:items(Logs), Log},
         ?LIB:accounted(Stats, Items, 10),
         ?LIB:stop(Pid)
     end || Opts <- good_options()].

%% If a node has many threads, packets are smaller than the default. With the default size, four
%% packets for each thread would take 768 MiB.
many_threads_share_the_usual_memory(_Config) ->
    Args = ["+S", "1024:1", "+SDcpu", "1024:1", "+SDio", "1024",
            "-pa", filename:dirname(code:which(inviso_opts))],
    {ok, Peer, _} = peer:start_link(#{connection => inviso_test_lib:connection(), args => Args,
                                wait_boot => 120000}),
    Numbers = fun(Opts) ->
                      {ok, #{numbers := N}} =
                          ?LIB:call(Peer, inviso_opts, parse, ["x.log", Opts]),
                      N
              end,
    Bytes = fun(#{normal_slots := N, dirty_slots := D, packet_bytes := P,
                  large_slots := L, large_bytes := B}) ->
                    (1024 * N + 2048 * D) * P + L * B
            end,
    true = Bytes(Numbers(#{})) =< 128 bsl 20,
    true = Bytes(Numbers(#{buffer_bytes => 64 bsl 20})) =< 64 bsl 20,
    #{max_term_bytes := 8192, packet_bytes := 65536} =
        Numbers(#{max_term_bytes => 8192}),
    [true = Bytes(Numbers(#{max_term_bytes => Term})) =< 128 bsl 20
     || Term <- [8193, 65536, 1 bsl 20, 1 bsl 20 + 1, 1 bsl 24]],
    peer:stop(Peer).

good_options() ->
    [#{}, #{keep => newest}, ?SMALL,
     #{packet_bytes => 524288, max_term_bytes => 65536},
     #{max_term_bytes => 1 bsl 24}, #{max_term_bytes => 1 bsl 20},
     #{packet_bytes => 4096, max_term_bytes => 513, keep => newest},
     #{packet_bytes => 4096, max_term_bytes => 16},
     #{packet_bytes => 4096, max_term_bytes => 512, max_depth => 1},
     #{max_depth => 128}, #{compress => zstd},
     #{rotate => #{}}, #{rotate => #{bytes => 1 bsl 50, count => 1}},
     #{rotate => #{bytes => 1}}, #{rotate => #{ms => 1}},
     #{rotate => #{bytes => 1 bsl 50, ms => 1 bsl 40, count => 1000000}},
     #{limit => #{}}, #{limit => #{events => 1 bsl 62, bytes => 1 bsl 63}},
     #{limit => #{ms => 1 bsl 32 - 1}}, #{limit => #{rate => 10}},
     #{limit => #{rate => 1 bsl 32 - 1}},
     #{drain_ms => 1, flush_ms => 1}, #{drain_ms => 10000, flush_ms => 0},
     #{flush_ms => 3600000}, #{replace => true}, #{owner => self()}].

%%---------------------------------------------------------------------------
%% Recording

calls_are_recorded_once_and_in_order(Config) ->
    Log = ?LIB:name(Config, "calls.log"),
    Opened = erlang:system_time(nanosecond),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer, [call]),
    From = erlang:system_time(nanosecond),
    flood(Pid, 1, 50000),
    To = erlang:system_time(nanosecond),
    Stats = #{files := [Log]} = ?LIB:close(Tracer),
    Slack = ?LIB:slack(erlang:system_time(nanosecond) - Opened),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 50000),
    Numbers = lists:seq(1, 50000),
    Numbers = ?LIB:numbers(Items),
    Who = ?LIB:w(Pid),
    Node = atom_to_binary(node()),
    [{Who, Node}] = lists:usort([{P, N} || #{<<"pid">> := P,
                                             <<"node">> := N} <- Items]),
    Times = [T || #{<<"ts">> := T} <- Items],
    Times = lists:sort(Times),
    ok = ?LIB:between(From - Slack, Times, To + Slack),
    #{why := closed, produced := 50000, recorded := 50000} =
        inviso_trace_log:totals(Log),
    50000 = lists:sum([N || #{type := events, n := N}
                                <- inviso_trace_log:packets(Log)]),
    ?LIB:stop(Pid).

closed_tracer_says_so(Config) ->
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    #{produced := 0} = ?LIB:close(Tracer),
    {error, closed} = inviso_tracer:info(Tracer),
    {error, closed} = inviso_tracer:flush(Tracer),
    {error, closed} = inviso_tracer:close(Tracer),
    {error, closed} = inviso_tracer:info({inviso_tracer, 17}),
    {error, closed} = inviso_tracer:info({inviso_tracer, 0}),
    {error, closed} = inviso_tracer:info({inviso_tracer, -1}),
    {error, closed} = inviso_tracer:info({inviso_tracer, 1 bsl 80}),
    {error, closed} = inviso_tracer:info({inviso_tracer, not_a_number}),
    remove = inviso_tracer:enabled(trace_status, element(2, Tracer), self()),
    discard = inviso_tracer:enabled(call, element(2, Tracer), self()),
    remove = inviso_tracer:enabled(trace_status, {a, b}, self()).

flush_puts_all_in_the_log(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{flush_ms => 0, drain_ms => 10000}),
    Pid = worker(Tracer, [call]),
    [begin
         flood(Pid, I, I),
         ok = inviso_tracer:flush(Tracer),
         Numbers = lists:seq(1, I),
         Numbers = ?LIB:numbers(?LIB:events(Log))
     end || I <- lists:seq(1, 10)],
    ?LIB:accounted(?LIB:close(Tracer), ?LIB:events(Log), 10),
    ?LIB:stop(Pid).

info_counts_while_recording(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    #{produced := 0, recorded := 0, dropped := 0, lost := None, files := [Log],
      limit_reached := false, ring_bytes := Bytes,
      spooler := #{state := running, os_pid := OsPid, starts := 1}} =
        ?LIB:balanced(inviso_tracer:info(Tracer)),
    0 = map_size(None),
    true = Bytes > 1 bsl 20,
    true = ?LIB:os_alive(OsPid),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 1000),
    #{produced := 1000, recorded := 1000} =
        ?LIB:balanced(inviso_tracer:info(Tracer)),
    #{log_bytes := LogBytes, files := [Log]} = ?LIB:close(Tracer),
    LogBytes = filelib:file_size(Log),
    ?LIB:until(fun() -> not ?LIB:os_alive(OsPid) end),
    ?LIB:stop(Pid).

%% The formats json, classic and text print the same number of events.
one_run_prints_the_same_in_all(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer, [call, send, procs, timestamp]),
    flood(Pid, 1, 100),
    #{recorded := N} = ?LIB:close(Tracer),
    N = length(?LIB:lines(Log, "json")),
    N = length(?LIB:lines(Log, "classic")),
    Text = [L || L <- ?LIB:lines(Log, "text"),
                 binary:match(L, ?LIB:w(Pid)) =/= nomatch],
    N = length(Text),
    ?LIB:stop(Pid).

path_in_utf8(Config) ->
    Log = ?LIB:name(Config, "k" ++ [16#f6, 16#20ac] ++ "n.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 5),
    #{files := [Log]} = ?LIB:close(Tracer),
    true = filelib:is_regular(Log),
    ?LIB:stop(Pid).

%%---------------------------------------------------------------------------
%% Option payload => none

payload_none_keeps_process_and_function(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    ?LIB:calls({?LIB, probe, '_'}, [{'_', [], [{return_trace}]}]),
    Tracer = ?LIB:open(Log, #{payload => none}),
    Self = self(),
    Pid = worker(Tracer, [call, send, 'receive']),
    ok = ?LIB:run(Pid, fun() ->
                               ok = ?LIB:probe(secret, secret),
                               Self ! secret,
                               ok
                       end),
    receive secret -> ok end,
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items),
    {_, Bin, _} = ?LIB:merge(Log, "classic"),
    nomatch = binary:match(Bin, <<"secret">>),
    {ok, Raw} = file:read_file(Log),
    nomatch = binary:match(Raw, <<"secret">>),
    [Call] = tagged(<<"call">>, Items),
    [<<"{inviso_trace_lib,probe,2}">>] = maps:get(<<"payload">>, Call),
    [Return] = tagged(<<"return_from">>, Items),
    [<<"{inviso_trace_lib,probe,2}">>] = maps:get(<<"payload">>, Return),
    To = ?LIB:w(self()),
    [[_, To], [_, To]] = [P || #{<<"payload">> := P}
                                   <- tagged(<<"send">>, Items)],
    [_] = tagged(<<"receive">>, Items),
    0 = length([I || #{<<"truncated">> := true} = I <- Items]),
    ?LIB:stop(Pid).

tagged(Tag, Items) ->
    [I || #{<<"tag">> := T} = I <- Items, T =:= Tag].

%% The documentation of erl_tracer has an example session ("Erl Tracer Module Example"). It prints
%% the sender and receiver of each message that new processes and ports send. This test runs the
%% session with a process as the tracer, and with inviso's tracer and the option `payload => none'.
payload_none_gives_the_pairs_of_the_seed(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Peer = ?LIB:node_start(#{}),
    Theirs = ?LIB:call(Peer, inviso_trace_pairs, by_process, []),
    Ours = ?LIB:call(Peer, inviso_trace_pairs, by_tracer, [Log]),
    ?LIB:node_stop(Peer),
    ct:pal("~p", [Theirs]),
    true = length(Theirs) >= 2,
    Theirs = Ours.

%% Each bit of the last argument stands for one of the tracer's rules. A bit without a rule is
%% refused.
rules_that_do_not_exist_are_refused(Config) ->
    {_, Handle} = Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    Processes = erlang:system_info(process_limit),
    true = inviso_tracer:nif_bound(Handle, 1000, Processes),
    true = inviso_tracer:nif_decide(Handle, Processes, 1 bsl 20, {none, false},
                                    [{1000, false}, {none, true}]),
    0 = inviso_tracer:nif_rules(Handle, ?MODULE, [{all, 0}], 2#11),
    {'EXIT', {badarg, _}} =
        (catch inviso_tracer:nif_rules(Handle, ?MODULE, [{all, 0}], 2#101)),
    _ = ?LIB:close(Tracer),
    ok.

%% If a term of a note is truncated, the head of the note says so, as the head of an event does.
notes_say_what_was_cut(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {_, Handle} = Tracer = ?LIB:open(Log, #{max_term_bytes => 64}),
    Notes = [{77, [Term]} || Term <- [1, binary:copy(<<0>>, 1000), 2]],
    3 = inviso_tracer:nif_note(Handle, Notes),
    #{produced := 0, recorded := 0} = ?LIB:close(Tracer),
    [Body] = [B || #{type := events, def_len := 0, body := B}
                       <- inviso_trace_log:packets(Log)],
    <<4, 16#1e, _, 77, 1, Len, 16#5e, _, 77, Rest/binary>> = Body,
    <<_:(Len - 3)/binary, 4, 16#1e, _, 77, 2>> = Rest,
    {0, <<>>, _} = ?LIB:merge(Log, "json").

%%---------------------------------------------------------------------------
%% The example in the documentation of seq_trace, "Example of Use": four events,
%% with their serials.

system_tracer_records_the_example_of_the_seed(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    false = seq_trace:set_system_tracer(Tracer),
    Server = spawn(fun seq_server/0),
    register(call_server, Server),
    Client = spawn(fun() -> seq_client(self()) end),
    Self = self(),
    Client ! {Self, {port, message}},
    receive {Client, done} -> ok end,
    Tracer = seq_trace:set_system_tracer(false),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 4),
    C = ?LIB:w(Client),
    S = ?LIB:w(Server),
    Expected =
        [{C, {print, {0, 1}, Client, [], "**** Trace Started ****"}},
         {S, {'receive', {0, 2}, Client, Server, {Client, the_message}}},
         {S, {print, {2, 3}, Server, [], "We are here now"}},
         {C, {'receive', {2, 4}, Server, Client,
              {ack, {received, the_message}}}}],
    Want = [{P, [?LIB:w(T)], <<"17">>, <<"seq_trace">>} || {P, T} <- Expected],
    Want = [{P, X, L, T} || #{<<"pid">> := P, <<"payload">> := X,
                              <<"label">> := L, <<"tag">> := T} <- Items],
    Lines = [?LIB:w({seq_trace, 17, T}) || {_, T} <- Expected],
    Lines = [lists:last(binary:split(L, <<"] ">>))
             || L <- ?LIB:lines(Log, "classic")].

seq_client(Me) ->
    receive
        {From, {port, message}} ->
            seq_trace:set_token(label, 17),
            seq_trace:set_token('receive', true),
            seq_trace:set_token(print, true),
            seq_trace:print(17, "**** Trace Started ****"),
            call_server ! {Me, the_message},
            receive
                {ack, _Ack} ->
                    seq_trace:set_token([]),
                    From ! {Me, done}
            end
    end.

seq_server() ->
    receive
        {Client, Message} ->
            Ack = {received, Message},
            seq_trace:print(17, "We are here now"),
            Client ! {ack, Ack}
    end.

%%---------------------------------------------------------------------------
%% The end of a tracer

flags_vanish_after_close(Config) ->
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    Pid = worker(Tracer, [call, procs, send]),
    Tracer = trace_info(Pid, tracer),
    flood(Pid, 1, 10),
    ?LIB:close(Tracer),
    flood(Pid, 11, 20),
    {Pid, []} = {Pid, trace_info(Pid, tracer)},
    [] = trace_info(Pid, flags),
    %% The process has no tracer now, so another tracer can trace it.
    Log = ?LIB:name(Config, "y.log"),
    Other = ?LIB:open(Log, #{}),
    1 = ?LIB:flags(Pid, Other, [call]),
    flood(Pid, 21, 30),
    ?LIB:accounted(?LIB:close(Other), ?LIB:events(Log), 10),
    ?LIB:stop(Pid).

trace_info(Pid, Item) ->
    {Item, Value} = erlang:trace_info(Pid, Item),
    Value.

meta_vanishes_after_close(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {M, S} = Tracer = ?LIB:open(Log, #{}),
    1 = erlang:trace_pattern({?LIB, probe, 1}, true, [{meta, M, S}]),
    ?LIB:flood(1, 10),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 10),
    Numbers = lists:seq(1, 10),
    Numbers = ?LIB:numbers(Items),
    ?LIB:flood(11, 20),
    [] = trace_info({?LIB, probe, 1}, meta),
    erlang:trace_pattern({?LIB, probe, 1}, false, [meta]).

death_of_owner_completes_the_log(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Self = self(),
    {Owner, Mon} =
        spawn_monitor(fun() ->
                              Self ! ?LIB:open(Log, #{flush_ms => 0}),
                              receive never -> ok end
                      end),
    Tracer = receive {inviso_tracer, _} = T -> T end,
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 5000),
    #{spooler := #{os_pid := OsPid}} = inviso_tracer:info(Tracer),
    exit(Owner, kill),
    receive {'DOWN', Mon, _, _, killed} -> ok end,
    ?LIB:until(fun() -> not ?LIB:os_alive(OsPid) end),
    ?LIB:until(fun() -> inviso_tracer:info(Tracer) =:= {error, closed} end),
    flood(Pid, 5001, 5010),
    [] = trace_info(Pid, tracer),
    complete(Log, owner, 5000),
    ?LIB:stop(Pid).

a_node_full_of_processes_closes_it(Config) ->
    Dir = ?config(priv_dir, Config),
    Node = inviso_test_lib:start_node(
             full, Dir, ["+P", "1024", "-pa", filename:dirname(
                                                code:which(inviso_tracer)),
                         "-pa", filename:dirname(code:which(?MODULE))]),
    {ok, #{produced := 1, recorded := 1, spooler := #{state := done}}} =
        inviso_test_lib:call(Node, ?MODULE, close_when_full,
                             [?LIB:name(Config, "x.log")]),
    inviso_test_lib:stop_node(Node).

close_when_full(Log) ->
    {ok, {Module, State} = Tracer} = inviso_tracer:open(Log, #{}),
    Pid = spawn_link(fun() -> receive never -> ok end end),
    1 = erlang:trace(Pid, true, ['receive', {tracer, Module, State}]),
    Pid ! hello,
    {flags, ['receive']} = erlang:trace_info(Pid, flags),
    Full = full([]),
    Stats = inviso_tracer:close(Tracer),
    _ = [exit(P, kill) || P <- Full],
    Stats.

full(Full) ->
    try spawn(fun() -> receive never -> ok end end) of
        P -> full([P | Full])
    catch
        error:system_limit -> Full
    end.

complete(Log, Why, N) ->
    #{why := Why, produced := N, recorded := N} =
        inviso_trace_log:totals(Log),
    Numbers = lists:seq(1, N),
    Numbers = ?LIB:numbers(?LIB:events(Log)).

death_of_keeper_completes_the_log(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{flush_ms => 0}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 5000),
    #{spooler := #{os_pid := OsPid}} = inviso_tracer:info(Tracer),
    Keeper = inviso_tracer:nif_keeper(element(2, Tracer)),
    exit(Keeper, kill),
    ?LIB:until(fun() -> not ?LIB:os_alive(OsPid) end),
    {error, closed} = inviso_tracer:info(Tracer),
    {error, closed} = inviso_tracer:close(Tracer),
    flood(Pid, 5001, 5010),
    [] = trace_info(Pid, tracer),
    complete(Log, owner, 5000),
    ?LIB:stop(Pid).

other_owner_is_watched(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Owner = ?LIB:worker(),
    {Opener, Mon} =
        spawn_monitor(fun() ->
                              exit({opened, ?LIB:open(Log, #{owner => Owner})})
                      end),
    Tracer = receive {'DOWN', Mon, _, Opener, {opened, T}} -> T end,
    timer:sleep(50),
    #{produced := 0} = inviso_tracer:info(Tracer),
    ?LIB:stop(Owner),
    ?LIB:until(fun() -> inviso_tracer:info(Tracer) =:= {error, closed} end),
    ?LIB:until(fun() -> inviso_trace_log:totals(Log) =/= false end),
    complete(Log, owner, 0).

%%---------------------------------------------------------------------------
%% Many tracers

hundred_tracers_leave_nothing(Config) ->
    Dir = ?LIB:dir(Config),
    Pid = ?LIB:worker(),
    open_and_close(Dir, Pid, 1, 20),
    _ = resources(), % the first call makes atoms
    Before = resources(),
    open_and_close(Dir, Pid, 21, 120),
    ct:pal("before ~p~nafter ~p", [Before, resources()]),
    %% The VM may free resources of closed tracers some time later.
    ?LIB:until(fun() -> grown(Before, resources()) =:= [] end),
    ?LIB:stop(Pid).

grown(Before, After) ->
    [{K, V, maps:get(K, After)} || {K, V} <- maps:to_list(Before),
                                   maps:get(K, After) > V + growth(K)].

open_and_close(_Dir, _Pid, N, To) when N > To -> ok;
open_and_close(Dir, Pid, N, To) ->
    Log = filename:join(Dir, integer_to_list(N) ++ ".log"),
    Tracer = ?LIB:open(Log, ?SMALL),
    1 = ?LIB:flags(Pid, Tracer, [call]),
    flood(Pid, 1, 10),
    #{recorded := 10} = ?LIB:close(Tracer),
    open_and_close(Dir, Pid, N + 1, To).

resources() ->
    erlang:garbage_collect(),
    {ok, Fds} = file:list_dir("/proc/self/fd"),
    {ok, Maps} = file:read_file("/proc/self/maps"),
    #{fds => length(Fds),
      maps => length(binary:matches(Maps, <<"inviso">>)),
      ports => length(erlang:ports()),
      processes => length(erlang:processes()),
      atoms => erlang:system_info(atom_count),
      memory => erlang:memory(system)}.

growth(atoms) -> 5;
growth(memory) -> 512 * 1024;
growth(_) -> 0.

sixty_fifth_tracer_is_refused(Config) ->
    Dir = ?LIB:dir(Config),
    Name = fun(N) -> filename:join(Dir, integer_to_list(N) ++ ".log") end,
    Tracers = [?LIB:open(Name(N), ?SMALL) || N <- lists:seq(1, 64)],
    {error, Reason} = inviso_tracer:open(Name(65), ?SMALL),
    ct:pal("~p", [Reason]),
    {too_many, 64} = Reason,
    false = filelib:is_file(Name(65)),
    #{produced := 0} = ?LIB:close(hd(Tracers)),
    Again = ?LIB:open(Name(66), ?SMALL),
    [Pid, Quiet] = [worker(T, [call]) || T <- [Again, hd(tl(Tracers))]],
    flood(Pid, 1, 100),
    #{produced := 100} = ?LIB:close(Again),
    [#{produced := 0} = ?LIB:close(T) || T <- tl(Tracers)],
    [?LIB:stop(P) || P <- [Pid, Quiet]].

close_while_two_schedulers_flood(Config) ->
    Dir = ?LIB:dir(Config),
    [close_in_flood(filename:join(Dir, integer_to_list(N) ++ ".log"), N)
     || N <- lists:seq(1, inviso_test_lib:soak(5, 40))].

close_in_flood(Log, N) ->
    Tracer = ?LIB:open(Log, #{}),
    Pids = [spawn(fun() -> receive go -> ?LIB:flood_forever(1) end end)
            || _ <- [1, 2]],
    [1 = ?LIB:flags(P, Tracer, [call]) || P <- Pids],
    [P ! go || P <- Pids],
    ?LIB:until(fun() -> maps:get(produced, inviso_tracer:info(Tracer)) > 0
               end),
    timer:sleep(N rem 7),
    Stats = ?LIB:close(Tracer),
    [exit(P, kill) || P <- Pids],
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items),
    true = maps:get(produced, Stats) > 0,
    [begin
         Who = ?LIB:w(P),
         Numbers = ?LIB:numbers([I || #{<<"pid">> := W} = I <- Items,
                                      W =:= Who]),
         consecutive(Numbers, maps:get(dropped, Stats))
     end || P <- Pids].

%% Checks that the calls of a process were recorded without gaps from the first on. If events were
%% lost, only checks that the recorded calls are in order.
consecutive(Numbers, 0) ->
    Numbers = lists:seq(1, length(Numbers));
consecutive(Numbers, _) ->
    Numbers = lists:usort(Numbers).

two_tracers_at_once(Config) ->
    Logs = [LogA, LogB] = [?LIB:name(Config, N) || N <- ["a.log", "b.log"]],
    Tracers = [?LIB:open(L, #{}) || L <- Logs],
    Pids = [worker(T, [call]) || T <- Tracers],
    Refs = [monitor(process, P) || P <- Pids],
    [P ! {run, fun() -> ?LIB:flood(From, From + 19999) end, self(), R}
     || {P, R, From} <- lists:zip3(Pids, Refs, [1, 100001])],
    [receive {R, ok} -> ok end || R <- Refs],
    Stats = [?LIB:close(T) || T <- Tracers],
    [?LIB:accounted(S, ?LIB:items(L), 20000)
     || {S, L} <- lists:zip(Stats, Logs)],
    A = lists:seq(1, 20000),
    A = ?LIB:numbers(?LIB:events(LogA)),
    B = lists:seq(100001, 120000),
    B = ?LIB:numbers(?LIB:events(LogB)),
    %% The merged events of both logs are in the order of their times.
    Both = ?LIB:events(Logs),
    Times = [T || #{<<"ts">> := T} <- Both],
    Times = lists:sort(Times),
    40000 = length(Times),
    [?LIB:stop(P) || P <- Pids].

%%---------------------------------------------------------------------------
%% The library

library_is_unloaded_and_loaded_again(Config) ->
    Dir = ?LIB:dir(Config),
    Peer = ?LIB:node_start(#{}),
    [begin
         Log = filename:join(Dir, integer_to_list(N) ++ ".log"),
         10 = ?LIB:call(Peer, inviso_trace_load, use, [Log]),
         true = ?LIB:call(Peer, inviso_trace_load, mapped, []),
         ok = ?LIB:call(Peer, inviso_trace_load, unload, []),
         false = ?LIB:call(Peer, inviso_trace_load, mapped, []),
         10 = length(?LIB:events(Log))
     end || N <- lists:seq(1, 5)],
    ?LIB:node_stop(Peer).

second_load_keeps_tracers(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Peer = ?LIB:node_start(#{}),
    #{produced := 30, recorded := 30} = Stats =
        ?LIB:call(Peer, inviso_trace_load, upgrade, [Log]),
    ?LIB:accounted(Stats, ?LIB:events(Log), 30),
    ?LIB:node_stop(Peer).

%% The node has more schedulers than the machine has processors. So the kernel can interrupt a
%% scheduler in the middle of an event.
purged_under_trace_sessions(Config) ->
    Dir = ?LIB:dir(Config),
    Peer = ?LIB:node_start(#{args => ["+S", "4:4" | ?LIB:node_args()]}),
    [begin
         Log = filename:join(Dir, integer_to_list(N) ++ ".log"),
         ok = ?LIB:call(Peer, inviso_trace_load, session, [Log]),
         ?LIB:until(fun() -> filelib:file_size(Log) > 1000 end)
     end || N <- lists:seq(1, inviso_test_lib:soak(2, 5))],
    ?LIB:node_stop(Peer).

%%---------------------------------------------------------------------------
%% Limits

threads() ->
    erlang:system_info(schedulers) +
        erlang:system_info(dirty_cpu_schedulers) +
        erlang:system_info(dirty_io_schedulers).

%% No recorded event is later than the time limit, counted from the opening of the tracer. When the
%% limit is reached, the trace flags are cleared.
limit_of_time_holds(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Before = now_ns(),
    Tracer = ?LIB:open(Log, #{limit => #{ms => 1000}}),
    #{limit_reached := false, limit := none} = inviso_tracer:info(Tracer),
    Opened = now_ns(),
    Pid = spawn(fun() -> receive go -> flood_slowly() end end),
    1 = ?LIB:flags(Pid, Tracer, [call]),
    Pid ! go,
    ok = inviso_test_lib:wait_until(fun() -> trace_info(Pid, tracer) =:= [] end),
    exit(Pid, kill),
    Stats = #{limit_reached := true, limit := ms, lost := Lost} =
        ?LIB:close(Tracer),
    true = maps:get(limit, Lost) > 0,
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items),
    Slack = ?LIB:slack(now_ns() - Before),
    [] = [T || #{<<"ts">> := T, <<"tag">> := _} <- Items,
               T > Opened + 1000000000 + Slack].

limit_of_events_holds(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{limit => #{events => 1000}}),
    Pids = [worker(Tracer, [call]) || _ <- [1, 2, 3, 4]],
    [flood(P, 1, 1000) || P <- Pids],
    #{limit_reached := true, limit := events} = inviso_tracer:info(Tracer),
    flood(hd(Pids), 1001, 1100),
    ok = inviso_test_lib:wait_until(
           fun() -> trace_info(hd(Pids), tracer) =:= [] end),
    Stats = #{recorded := N, lost := Lost} = ?LIB:close(Tracer),
    true = N =< 1000,
    true = N >= 1000 - 32 * threads(),
    true = maps:get(limit, Lost) > 0,
    [limit] = maps:keys(Lost),
    ?LIB:accounted(Stats, ?LIB:items(Log)),
    [?LIB:stop(P) || P <- Pids].

limit_of_bytes_holds(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{limit => #{bytes => 200000}}),
    Pid = worker(Tracer, [call]),
    Payload = binary:copy(<<"x">>, 1000),
    ok = ?LIB:run(Pid, fun() ->
                               [?LIB:probe(I, Payload)
                                || I <- lists:seq(1, 1000)],
                               ok
                       end),
    Stats = #{recorded := N, limit_reached := true, limit := bytes} =
        ?LIB:close(Tracer),
    Bytes = lists:sum([L - D || #{type := events, raw_len := L, def_len := D}
                                    <- inviso_trace_log:packets(Log)]),
    ct:pal("~p events, ~p bytes", [N, Bytes]),
    true = Bytes =< 200000 + 1100 * threads(),
    true = Bytes >= 200000 - 8192 * threads(),
    ?LIB:accounted(Stats, ?LIB:items(Log)),
    ?LIB:stop(Pid).

limit_of_none(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{limit => #{events => 0}}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 10),
    Stats = #{recorded := 0} = ?LIB:close(Tracer),
    ?LIB:accounted(Stats, ?LIB:items(Log)),
    ?LIB:stop(Pid).

%% Four processes make far more events than the rate of 1000 events per second allows. Each thread
%% takes some of these events in advance (a lease). In each second, the log has at most as many
%% events as the rate, plus the unused events of leases. In the second before an event is refused,
%% the log has at least as many events as the rate, minus the unused events of leases. The clocks of
%% threads and log differ by at most the result of slack/1.
limit_of_rate_holds(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Opened = now_ns(),
    Tracer = ?LIB:open(Log, #{limit => #{rate => 1000}}),
    Pids = [spawn(fun() -> receive go -> flood_slowly() end end)
            || _ <- [1, 2, 3, 4]],
    [1 = ?LIB:flags(P, Tracer, [call]) || P <- Pids],
    [P ! go || P <- Pids],
    Spans = refusals(Tracer, 30),
    #{rate_reached := true, limit_reached := false} =
        inviso_tracer:info(Tracer),
    [exit(P, kill) || P <- Pids],
    Stats = #{recorded := N, lost := Lost, rate_reached := true} =
        ?LIB:close(Tracer),
    Slack = ?LIB:slack(now_ns() - Opened),
    [limit] = maps:keys(Lost),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items),
    Times = [T || #{<<"ts">> := T, <<"tag">> := _} <- Items],
    Busiest = busiest(Times),
    Least = lists:min([length([T || T <- Times, T >= From - 1010000000 - Slack,
                                    T =< To + Slack])
                       || {From, To} <- Spans]),
    ct:pal("~p recorded of ~p, busiest second ~p, least before a refusal ~p",
           [N, maps:get(produced, Stats), Busiest, Least]),
    Rest = 32 * erlang:system_info(schedulers),
    true = Busiest =< 1000 + Rest,
    true = Least >= 1000 - Rest.

now_ns() -> erlang:system_time(nanosecond).

%% Returns N intervals of time in each of which an event was refused. A thread may count a refused
%% event later, in the next interval. So an interval counts only if more events were counted in it
%% than there are threads.
refusals(_Tracer, 0) -> [];
refusals(Tracer, N) ->
    From = now_ns(),
    Before = refused(Tracer),
    timer:sleep(100),
    More = refused(Tracer) - Before,
    case More > erlang:system_info(schedulers) of
        true -> [{From, now_ns()} | refusals(Tracer, N - 1)];
        false -> refusals(Tracer, N)
    end.

refused(Tracer) ->
    #{lost := Lost} = inviso_tracer:info(Tracer),
    maps:get(limit, Lost, 0).

%% Makes calls without end. The pauses let other processes run.
flood_slowly() ->
    ?LIB:flood(1, 200),
    timer:sleep(1),
    flood_slowly().

%% Returns the largest number of events within a second. The clock of the log may run 1 % slower
%% than that of the threads, and the anchors are not exact. So 0.98 s of the log are taken as a
%% second.
busiest(Times) ->
    Indexed = lists:zip(lists:seq(1, length(Times)), Times),
    busiest(Indexed, Indexed, 0).

busiest([{_, To} | _] = Times, [{_, From} | Rest], Most)
  when To - From >= 980000000 ->
    busiest(Times, Rest, Most);
busiest([{Last, _} | Times], [{First, _} | _] = From, Most) ->
    busiest(Times, From, max(Most, Last - First + 1));
busiest([], _From, Most) ->
    Most.

%% The rate allows 1000 events per second. A burst of 1000 events within a second is recorded
%% completely. If the machine was too slow, the test is repeated. One thread makes all calls, so
%% that no other thread has taken a part of the 1000 events in advance.
rate_lets_a_burst_through(Config) ->
    rate_lets_a_burst_through(Config, 20).

rate_lets_a_burst_through(Config, Turns) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{limit => #{rate => 1000, events => 1500}}),
    Pid = bound_worker(),
    1 = ?LIB:flags(Pid, Tracer, [call]),
    Start = erlang:monotonic_time(millisecond),
    bound_flood(Pid, 1, 900),
    #{recorded := 900, rate_reached := false} =
        ?LIB:balanced(inviso_tracer:info(Tracer)),
    bound_flood(Pid, 901, 3000),
    Above = ?LIB:balanced(inviso_tracer:info(Tracer)),
    case erlang:monotonic_time(millisecond) - Start < 990 of
        true ->
            burst(Log, Tracer, Pid, Above);
        false when Turns > 1 ->
            ?LIB:close(Tracer),
            ?LIB:stop(Pid),
            rate_lets_a_burst_through(Config, Turns - 1)
    end.

burst(Log, Tracer, Pid, Above) ->
    #{recorded := 1000, rate_reached := true, limit_reached := false} = Above,
    timer:sleep(1100),
    %% The limit of 1500 recorded events does not include events that the rate refused.
    bound_flood(Pid, 3001, 5000),
    Stats = #{recorded := 1500, limit_reached := true} = ?LIB:close(Tracer),
    ?LIB:accounted(Stats, ?LIB:items(Log)),
    ?LIB:stop(Pid).

%%---------------------------------------------------------------------------
%% Events that the VM does not make

%% Any process can call the callback trace/5. The callback refuses a tag that is not an atom,
%% because no reader could use it. It records all other values as they are.
events_by_hand_do_no_harm(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = {M, S} = ?LIB:open(Log, #{}),
    [{'EXIT', {badarg, _}} = (catch M:trace(Tag, S, self(), x, #{}))
     || Tag <- [17, 1.5, {call}, [], "call", <<"call">>, self(), make_ref(),
                #{}, fun() -> call end]],
    [ok = M:trace(Tag, S, Tracee, Term, Opts)
     || Tag <- [call, no_tag_of_the_vm], Tracee <- [self(), 17],
        Term <- [{?LIB, probe, [1]}, {}, [a | b]],
        Opts <- [#{}, [], #{extra => x, match_spec_result => y},
                 #{timestamp => 5, scheduler_id => none}]],
    ok = M:trace({}, S + 64, self(), x, #{}),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 2 * 2 * 3 * 4),
    [<<"call">>, <<"no_tag_of_the_vm">>] =
        lists:usort([T || #{<<"tag">> := T} <- Items]).

%% A term may exceed its limit by the bytes that mark its end, and a name takes up to 1020 bytes. So
%% an empty packet of 4096 bytes has no space for three terms of the largest size. The event of this
%% test has three such terms, although an event of the VM has at most two terms.
event_too_big_for_a_packet_is_counted(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {M, S} = Tracer = ?LIB:open(Log, #{packet_bytes => 4096}),
    Pid = worker(Tracer, [call]),
    Big = [[binary:copy(<<"x">>, 480),
            list_to_atom([I | lists:duplicate(254, 16#1f600)])]
           || I <- "abc"],
    [Payload, Extra, Result] = Big,
    [begin
         flood(Pid, I, I),
         ok = M:trace(send, S, self(), Payload,
                      #{extra => Extra, match_spec_result => Result})
     end || I <- lists:seq(1, 5)],
    Stats = ?LIB:close(Tracer),
    #{recorded := 5, lost := #{too_big := 5} = Lost} = Stats,
    [too_big] = maps:keys(Lost),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 10),
    [1, 2, 3, 4, 5] = ?LIB:numbers(Items),
    ?LIB:stop(Pid).

%%---------------------------------------------------------------------------
%% Full rings

full_ring_drops_new_events(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, ?SMALL),
    #{spooler := #{os_pid := OsPid}} = inviso_tracer:info(Tracer),
    Pid = worker(Tracer, [call]),
    ?LIB:kill("STOP", OsPid),
    ?LIB:until(fun() -> ?LIB:os_state(OsPid) =:= $T end),
    flood(Pid, 1, 20000),
    #{produced := 20000, dropped := Dropped, lost := #{full := Dropped}} =
        ?LIB:balanced(inviso_tracer:info(Tracer)),
    true = Dropped > 10000,
    ?LIB:kill("CONT", OsPid),
    Stats = #{recorded := N, dropped := Dropped} = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 20000),
    %% When a ring is full, new events are dropped, and the first event stays. The process makes
    %% nearly all events on one scheduler, and so in one ring.
    Numbers = ?LIB:numbers(Items),
    N = length(lists:usort(Numbers)),
    1 = hd(Numbers),
    ?LIB:stop(Pid).

%% Starts a process that stays on one scheduler, so that it uses one ring.
bound_worker() ->
    Self = self(),
    Pid = spawn_opt(fun() -> bound_work(Self) end, [{scheduler, 1}]),
    Pid.

bound_work(To) ->
    receive
        {flood, A, B} -> ?LIB:flood(A, B), To ! {self(), done}, bound_work(To);
        stop -> ok
    end.

bound_flood(Pid, A, B) ->
    Pid ! {flood, A, B},
    receive {Pid, done} -> ok end.

flight_recorder_keeps_the_newest(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, maps:merge(?SMALL, #{keep => newest})),
    Pid = bound_worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    bound_flood(Pid, 1, 50000),
    Stats = #{recorded := N, lost := #{overwritten := Lost}} =
        ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 50000),
    true = N > 100,
    Newest = lists:seq(Lost + 1, 50000),
    Newest = ?LIB:numbers(Items),
    ?LIB:stop(Pid).

flight_recorder_flushes_more_than_once(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, maps:merge(?SMALL, #{keep => newest})),
    Pid = bound_worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    bound_flood(Pid, 1, 50),
    ok = inviso_tracer:flush(Tracer),
    First = lists:seq(1, 50),
    First = ?LIB:numbers(?LIB:events(Log)),
    bound_flood(Pid, 51, 20000),
    ok = inviso_tracer:flush(Tracer),
    Between = ?LIB:numbers(?LIB:items(Log)),
    First = lists:sublist(Between, 50),
    20000 = lists:last(Between),
    bound_flood(Pid, 20001, 20020),
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:items(Log),
    ?LIB:accounted(Stats, Items, 20020),
    Last = lists:seq(20001, 20020),
    Last = lists:nthtail(length(?LIB:numbers(Items)) - 20,
                         ?LIB:numbers(Items)),
    ?LIB:stop(Pid).

%%---------------------------------------------------------------------------
%% Files

log_rotates_by_size(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{rotate => #{bytes => 100000}, drain_ms => 1,
                              packet_bytes => 8192}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 50000),
    Stats = #{files := Files} = ?LIB:close(Tracer),
    ct:pal("~p", [[{filename:basename(F), filelib:file_size(F)}
                   || F <- Files]]),
    true = length(Files) >= 4,
    Names = [Log ++ "." ++ integer_to_list(I)
             || I <- lists:seq(0, length(Files) - 1)],
    Names = Files,
    false = filelib:is_file(Log),
    [true = filelib:is_regular(F) || F <- Files],
    [true = filelib:file_size(F) < 200000 || F <- Files],
    Sorted = ?LIB:events(Files),
    ?LIB:accounted(Stats, Sorted, 50000),
    Numbers = lists:seq(1, 50000),
    Numbers = ?LIB:numbers(Sorted),
    %% The order of the files' names does not matter.
    Sorted = ?LIB:events(lists:reverse(Files)),
    [#{why := rotated} = inviso_trace_log:totals(F)
     || F <- lists:droplast(Files)],
    #{why := closed} = inviso_trace_log:totals(lists:last(Files)),
    ?LIB:stop(Pid).

log_rotates_by_time(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{rotate => #{ms => 200}, flush_ms => 20}),
    Pid = worker(Tracer, [call]),
    Start = erlang:monotonic_time(millisecond),
    N = flood_files(Log, Pid, 1),
    Stats = #{files := Files} = ?LIB:close(Tracer),
    Took = erlang:monotonic_time(millisecond) - Start,
    true = length(Files) >= 4 andalso length(Files) =< Took div 200 + 2,
    Items = ?LIB:events(Files),
    ?LIB:accounted(Stats, Items, N),
    Numbers = lists:seq(1, N),
    Numbers = ?LIB:numbers(Items),
    ?LIB:stop(Pid).

%% Makes calls until there is a fourth file. Returns the number of calls.
flood_files(Log, Pid, I) ->
    flood(Pid, I, I),
    timer:sleep(50),
    case filelib:is_file(Log ++ ".3") of
        true -> I;
        false -> flood_files(Log, Pid, I + 1)
    end.

log_keeps_a_count(Config) ->
    Dir = ?LIB:dir(Config),
    Log = filename:join(Dir, "x.log"),
    Tracer = ?LIB:open(Log, #{rotate => #{bytes => 50000, count => 3},
                              drain_ms => 1, packet_bytes => 8192}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 50000),
    #{produced := 50000, recorded := 50000, files := Files} =
        ?LIB:close(Tracer),
    true = length(Files) =< 3,
    {ok, Names} = file:list_dir(Dir),
    Sorted = lists:sort([filename:join(Dir, N) || N <- Names]),
    Sorted = lists:sort(Files),
    Numbers = ?LIB:numbers(?LIB:events(Files)),
    Newest = lists:seq(50001 - length(Numbers), 50000),
    Newest = Numbers,
    ?LIB:stop(Pid).

compressed_log_reads_the_same(Config) ->
    Logs = [?LIB:name(Config, "x.log"), ?LIB:name(Config, "y.log")],
    [Plain, Packed] =
        [begin
             Tracer = ?LIB:open(Log, #{compress => How}),
             Pid = worker(Tracer, [call]),
             flood(Pid, 1, 20000),
             Stats = #{files := [Log]} = ?LIB:close(Tracer),
             Items = ?LIB:events(Log),
             ?LIB:accounted(Stats, Items, 20000),
             ?LIB:stop(Pid),
             ?LIB:numbers(Items)
         end || {Log, How} <- lists:zip(Logs, [none, zstd])],
    Plain = Packed,
    Packets = inviso_trace_log:packets(lists:last(Logs)),
    [zstd] = lists:usort([C || #{type := events, codec := C, raw_len := L}
                                   <- Packets, L > 1000]),
    [PlainSize, PackedSize] = [filelib:file_size(L) || L <- Logs],
    true = PackedSize < PlainSize div 2.

existing_log_is_an_error(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    ok = file:write_file(Log, "mine"),
    {error, {log, eexist, Text}} = inviso_tracer:open(Log, #{}),
    ct:pal("~s", [Text]),
    {ok, <<"mine">>} = file:read_file(Log),
    %% If a file has the name that a rotated log would have, this file is not overwritten either.
    Old = Log ++ ".0",
    ok = file:write_file(Old, "mine"),
    {error, {log, _, _}} =
        inviso_tracer:open(Log, #{rotate => #{bytes => 1000}}),
    {ok, <<"mine">>} = file:read_file(Old).

replace_takes_the_old_log_away(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    ok = file:write_file(Log, binary:copy(<<"mine">>, 100000)),
    Tracer = ?LIB:open(Log, #{replace => true}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 10),
    ?LIB:accounted(?LIB:close(Tracer), ?LIB:events(Log), 10),
    true = filelib:file_size(Log) < 100000,
    ?LIB:stop(Pid).

mode(File) ->
    {ok, #file_info{mode = Mode}} = file:read_link_info(File),
    Mode band 8#7777.

files_are_private(Config) ->
    Ring = ?LIB:name(Config, "x.ring"),
    Log = ?LIB:name(Config, "x.log"),
    Old = os:cmd("umask"),
    Tracer = ?LIB:open(Log, #{ring => {file, Ring},
                              rotate => #{bytes => 20000}}),
    8#600 = mode(Ring),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 10000),
    #{files := Files} = ?LIB:close(Tracer),
    true = length(Files) > 1,
    [8#600 = mode(F) || F <- Files],
    Old = os:cmd("umask"),
    ?LIB:stop(Pid).

links_are_not_followed(Config) ->
    Dir = ?LIB:dir(Config),
    Victim = filename:join(Dir, "victim"),
    Link = filename:join(Dir, "link"),
    Dangling = filename:join(Dir, "dangling"),
    ok = file:write_file(Victim, "mine"),
    ok = file:make_symlink(Victim, Link),
    ok = file:make_symlink(filename:join(Dir, "nothing"), Dangling),
    [begin
         {error, {log, _, _}} = inviso_tracer:open(L, #{}),
         {error, {ring, _, _}} =
             inviso_tracer:open(filename:join(Dir, "y.log"),
                                #{ring => {file, L}})
     end || L <- [Link, Dangling, Victim]],
    {ok, <<"mine">>} = file:read_file(Victim),
    %% The option `replace' removes the symbolic link, and not the file to which it points.
    case inviso_tracer:open(Link, #{replace => true}) of
        {ok, Tracer} ->
            ?LIB:close(Tracer),
            {ok, #file_info{type = regular}} = file:read_link_info(Link);
        {error, {log, _, _}} ->
            ok
    end,
    {ok, <<"mine">>} = file:read_file(Victim),
    false = filelib:is_file(filename:join(Dir, "nothing")),
    false = filelib:is_file(filename:join(Dir, "y.log")).

ring_in_a_file(Config) ->
    Dir = ?LIB:dir(Config),
    Ring = filename:join(Dir, "x.ring"),
    Log = filename:join(Dir, "x.log"),
    Tracer = ?LIB:open(Log, #{ring => {file, Ring}}),
    #{ring_bytes := Bytes} = inviso_tracer:info(Tracer),
    {ok, #file_info{size = Bytes}} = file:read_file_info(Ring),
    {error, {ring, _, _}} =
        inviso_tracer:open(filename:join(Dir, "y.log"),
                           #{ring => {file, Ring}}),
    Pid = worker(Tracer, [call]),
    flood(Pid, 1, 20000),
    ?LIB:accounted(?LIB:close(Tracer), ?LIB:events(Log), 20000),
    false = filelib:is_file(Ring),
    ["x.log"] = element(2, file:list_dir(Dir)),
    ?LIB:stop(Pid).
