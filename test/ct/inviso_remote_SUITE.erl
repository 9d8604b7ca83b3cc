%% SPDX-License-Identifier: Apache-2.0
%% Sessions on a node without inviso. The tests send the requests that the
%% command sends. After each test the node is as before.
-module(inviso_remote_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([a_session_is_followed_to_its_end/1,
         what_is_followed_is_complete_up_to_the_watermark/1,
         a_session_ends_after_so_many_events/1,
         a_session_ends_after_so_many_bytes/1,
         a_session_ends_when_there_are_too_many_a_second/1,
         a_session_ends_after_its_time/1,
         a_session_ends_on_request/1,
         a_session_ends_when_the_run_queue_is_long/1,
         a_session_ends_when_memory_is_short/1,
         a_session_ends_when_its_own_queue_is_long/1,
         a_session_ends_when_its_log_cannot_be_written/1,
         a_silent_client_ends_its_session/1,
         a_reused_name_does_not_replace_a_dead_client/1,
         a_client_whose_node_died_ends_its_session/1,
         a_detached_session_stays_for_its_time/1,
         a_killed_session_leaves_nothing/1,
         a_killed_guard_ends_its_sessions/1,
         a_killed_worker_has_a_successor/1,
         a_worker_killed_while_closing_leaves_nothing/1,
         workers_end_with_their_session/1,
         stop_works_at_any_step_of_arming/1,
         another_tool_stops_a_session_that_arms/1,
         a_recording_tells_where_its_log_is/1,
         a_recording_is_held/1,
         remove_works_at_any_step_of_arming/1,
         requests_are_answered_while_the_log_is_closed/1,
         a_spooler_that_does_not_get_done_is_given_up/1,
         a_module_that_is_loaded_anew_is_traced_again/1,
         patterns_that_others_set_are_left/1,
         a_flight_recorder_leaves_its_file/1,
         a_dry_run_arms_nothing/1,
         a_refused_close_leaves_the_log/1,
         names_are_unique_and_found/1,
         two_sessions_trace_one_function/1,
         only_files_of_the_session_are_read/1,
         status_tells_of_all/1,
         shorter_terms_are_reported/1,
         too_many_requests_are_refused/1,
         nonsense_is_answered/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, attach/2, ask/2, start/2, start/3,
                            stop/1, follow/1, leave/1, wait_state/2,
                            is_clean/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [a_session_is_followed_to_its_end,
     what_is_followed_is_complete_up_to_the_watermark,
     a_session_ends_after_so_many_events,
     a_session_ends_after_so_many_bytes,
     a_session_ends_when_there_are_too_many_a_second,
     a_session_ends_after_its_time,
     a_session_ends_on_request,
     a_session_ends_when_the_run_queue_is_long,
     a_session_ends_when_memory_is_short,
     a_session_ends_when_its_own_queue_is_long,
     a_session_ends_when_its_log_cannot_be_written,
     a_silent_client_ends_its_session,
     a_reused_name_does_not_replace_a_dead_client,
     a_client_whose_node_died_ends_its_session,
     a_detached_session_stays_for_its_time,
     a_killed_session_leaves_nothing,
     a_killed_guard_ends_its_sessions,
     a_killed_worker_has_a_successor,
     a_worker_killed_while_closing_leaves_nothing,
     workers_end_with_their_session,
     stop_works_at_any_step_of_arming,
     another_tool_stops_a_session_that_arms,
     a_recording_tells_where_its_log_is,
     a_recording_is_held,
     remove_works_at_any_step_of_arming,
     requests_are_answered_while_the_log_is_closed,
     a_spooler_that_does_not_get_done_is_given_up,
     a_module_that_is_loaded_anew_is_traced_again,
     patterns_that_others_set_are_left,
     a_flight_recorder_leaves_its_file,
     a_dry_run_arms_nothing,
     a_refused_close_leaves_the_log,
     names_are_unique_and_found,
     two_sessions_trace_one_function,
     only_files_of_the_session_are_read,
     status_tells_of_all,
     shorter_terms_are_reported,
     too_many_requests_are_refused,
     nonsense_is_answered].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    Node = inviso_test_lib:start_stock_node(remote, Dir),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    ok = erpc:call(maps:get(name, Node), code, ensure_modules_loaded,
                   [[binary_to_atom(M) || M <- modules()]]),
    Before = inviso_test_lib:footprint(Node),
    [{node, Node}, {before, {Before, Node}}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    _ = os:cmd("umount -l " ++ mount_point(Config) ++ " 2>/dev/null"),
    inviso_test_lib:stop_node(?config(node, Config)).

%% --- the log ----------------------------------------------------------------

a_session_is_followed_to_its_end(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, #{state := arming, why := none}} = start(Node, Guard),
    #{state := tracing, matched := #{functions := 1}, ms_left := infinity} =
        wait_state(S, [tracing]),
    ok = ask(S, alive),
    ok = seqs(Node, 200),
    #{state := stopped, why := asked, recorded := Recorded, dropped := 0,
      produced := Recorded} = stop(S),
    {Bytes, #{state := stopped, recorded := Recorded}} = follow(S),
    {ok, [{Name, Size}]} = ask(S, files),
    Size = byte_size(Bytes),
    Bytes = inviso_remote_lib:read(S, Name),
    Lines = merged(Config, Bytes),
    200 = length([L || L <- Lines, string:find(L, "\"call\"") =/= nomatch]),
    ok = ask(S, remove),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

what_is_followed_is_complete_up_to_the_watermark(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    Turn = fun(N, {Offset, Acc}) ->
                   ok = seqs(Node, N),
                   Time = call(Node, erlang, monotonic_time, [nanosecond]),
                   until_watermark(S, Time, Offset, Acc)
           end,
    {_, Parts} =
        lists:foldl(fun(N, {Offset, Acc}) ->
                            {Next, Bytes} = Turn(N, {Offset, []}),
                            All = Acc ++ Bytes,
                            Lines = merged(Config, iolist_to_binary(All)),
                            Calls = N * (N + 1) div 2,
                            Calls = length([L || L <- Lines, string:find(
                                                               L, "\"call\"")
                                                     =/= nomatch]),
                            {Next, All}
                    end, {0, []}, [1, 2, 3, 4, 5]),
    _ = stop(S),
    {Whole, _} = follow(S),
    Begun = iolist_to_binary(Parts),
    Begun = binary:part(Whole, 0, byte_size(Begun)),
    {Whole, _} = inviso_remote_lib:follow(S, 100),
    clean(Config, Guard).

until_watermark(S, Time, Offset, Acc) ->
    {Bytes, Watermark, #{state := tracing}} = ask(S, {follow, Offset, 300}),
    Next = Offset + byte_size(Bytes),
    case is_integer(Watermark) andalso Watermark >= Time of
        true -> {Next, lists:reverse(Acc, [Bytes])};
        false -> until_watermark(S, Time, Next, [Bytes | Acc])
    end.

merged(Config, Bytes) ->
    File = filename:join(?config(dir, Config), "followed.log"),
    ok = file:write_file(File, Bytes),
    Command = filename:join(inviso_test_lib:priv(), "inviso"),
    Out = os:cmd(Command ++ " merge --format json " ++ File ++ " 2>&1"),
    string:lexemes(Out, "\n").

%% --- limits -----------------------------------------------------------------

a_session_ends_after_so_many_events(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{limits => #{events => 100}}),
    wait_state(S, [tracing]),
    ok = seqs(Node, 300),
    #{why := events, text := Text, recorded := N} = wait_state(S, [stopped]),
    has(Text, "limit 100"),
    true = N > 0 andalso N =< 100,
    clean(Config, Guard).

a_session_ends_after_so_many_bytes(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{limits => #{bytes => 20000}}),
    wait_state(S, [tracing]),
    ok = seqs(Node, 3000),
    #{why := bytes, text := Text, lost := #{limit := _}} =
        wait_state(S, [stopped]),
    has(Text, "20000"),
    clean(Config, Guard).

a_session_ends_when_there_are_too_many_a_second(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{limits => #{rate => 1000}}),
    wait_state(S, [tracing]),
    ok = seqs(Node, 20000),
    #{why := rate, text := Text} = wait_state(S, [stopped]),
    has(Text, "1000"),
    clean(Config, Guard).

a_session_ends_after_its_time(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, #{state := arming, ms_left := All}} =
        start(Node, Guard, #{limits => #{ms => 2500}}),
    true = is_integer(All) andalso All =< 2500,
    %% The session may end before its state is read.
    #{ms_left := Left} = wait_state(S, [tracing, stopping, stopped]),
    true = is_integer(Left) andalso Left =< All,
    #{why := time, text := <<"2.5 s passed">>, ms_left := 0} =
        wait_state(S, [stopped]),
    clean(Config, Guard).

a_session_ends_on_request(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{limits => #{ms => 50000, events => 9999}}),
    wait_state(S, [tracing]),
    {error, usage, _} = ask(S, files),
    {error, usage, _} = ask(S, {read, <<"x">>, 0, 1}),
    {ok, []} = ask(S, counters),
    #{why := asked, state := stopped, text := <<>>} = stop(S),
    #{why := asked, state := stopped} = stop(S),
    {ok, []} = ask(S, counters),
    clean(Config, Guard).

a_session_ends_when_the_run_queue_is_long(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{protect => #{run_queue => 20}}),
    wait_state(S, [tracing]),
    {Spinners, _} = eval(Node, "F = fun F() -> F() end,"
                         "[spawn(F) || _ <- lists:seq(1, 40)]."),
    #{why := run_queue, text := Text} = wait_state(S, [stopped]),
    has(Text, "limit 20"),
    _ = eval(Node, "[exit(P, kill) || P <- Ps].", [{'Ps', Spinners}]),
    %% With the limit 0, the session does not end because of a long run queue.
    {ok, S2, _} = start(Node, Guard, #{protect => #{run_queue => 0}}),
    wait_state(S2, [tracing]),
    {Again, _} = eval(Node, "F = fun F() -> F() end,"
                      "[spawn(F) || _ <- lists:seq(1, 40)]."),
    timer:sleep(1500),
    #{state := tracing} = ask(S2, status),
    _ = eval(Node, "[exit(P, kill) || P <- Ps].", [{'Ps', Again}]),
    clean(Config, Guard).

a_session_ends_when_memory_is_short(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{protect => #{memory_percent => 1}}),
    #{why := memory, text := Text} = wait_state(S, [stopped]),
    has(Text, "limit 1 %"),
    clean(Config, Guard).

a_session_ends_when_its_own_queue_is_long(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    #{why := queue, text := Text} = wait_queue(Node, S, 20),
    has(Text, "limit 10000"),
    clean(Config, Guard).

%% Suspends the session, and sends it 20000 messages and the message that starts the next check of
%% its queue. On a busy machine, suspend_process/1 of OTP 25 can fail with internal_error. Then the
%% function tries again.
wait_queue(Node, S, Turns) when Turns > 0 ->
    _ = eval(Node, "try erlang:suspend_process(S) of true ->"
             "S ! tick, [S ! x || _ <- lists:seq(1, 20000)],"
             "erlang:resume_process(S)"
             "catch error:internal_error -> again end.", [{'S', S}]),
    case wait_state(S, [tracing, stopping, stopped]) of
        #{state := tracing} -> wait_queue(Node, S, Turns - 1);
        _ -> wait_state(S, [stopped])
    end.

a_session_ends_when_its_log_cannot_be_written(Config) ->
    Dir = mount_point(Config),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    case os:cmd("mount -t tmpfs -o size=4m none " ++ Dir) of
        "" ->
            {Node, Guard} = attached(Config, #{dirs => [list_to_binary(Dir)]}),
            {ok, S, _} = start(Node, Guard, #{tracer => #{drain_ms => 1}}),
            wait_state(S, [tracing]),
            fill(Node, S),
            #{why := tracer, state := failed, text := Text} =
                wait_state(S, [failed]),
            has(Text, "No space left"),
            clean(Config, Guard);
        _ ->
            {skip, "not root: no file system to fill"}
    end.

fill(Node, S) ->
    ok = seqs(Node, 1000),
    case ask(S, status) of
        #{state := tracing} -> fill(Node, S);
        _ -> ok
    end.

%% --- dead man ---------------------------------------------------------------

a_silent_client_ends_its_session(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{dead_man_ms => 5000}),
    {ok, R, _} = start_or_same(Node, Guard, #{dead_man_ms => 5000,
                                              mode => record}, S),
    %% Requests keep the session alive, even if the machine pauses for some
    %% seconds.
    keep_alive(lists:usort([S, R]), now_ms() + 7000),
    #{state := tracing} = ask(S, status),
    %% If the client sends no requests, the session and the guard end, although the connection
    %% stays.
    is_clean(?config(before, Config)),
    false = call(Node, erlang, is_process_alive, [Guard]).

%% A command has died, and a later command has the same node name, but another creation. The later
%% command does not keep the session of the dead command alive.
a_reused_name_does_not_replace_a_dead_client(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{client => earlier(self()),
                                      dead_man_ms => 500}),
    Says = spawn_link(fun() -> keep_alive([S], infinity) end),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [S]) end),
    unlink(Says),
    exit(Says, kill),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

%% Returns the pid with another creation, like a pid of an earlier run of the
%% node.
earlier(Pid) ->
    Bytes = term_to_binary(Pid),
    Size = byte_size(Bytes) - 4,
    <<Head:Size/binary, Creation:32>> = Bytes,
    Earlier = binary_to_term(<<Head/binary, (Creation bxor 16#100):32>>),
    true = node(Earlier) =:= node(Pid),
    false = Earlier =:= Pid,
    Earlier.

keep_alive(Sessions, Late) ->
    timer:sleep(100),
    _ = [ok = ask(S, alive) || S <- Sessions],
    now_ms() > Late orelse keep_alive(Sessions, Late).

now_ms() -> erlang:monotonic_time(millisecond).

%% Starts a second session. If the node refuses it, returns the first session, S.
start_or_same(Node, Guard, More, S) ->
    case start(Node, Guard, More) of
        {ok, _, _} = Ok -> Ok;
        {error, refused, _} -> {ok, S, #{}}
    end.

a_client_whose_node_died_ends_its_session(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Other = inviso_test_lib:start_stock_node(client, ?config(dir, Config)),
    pong = call(Other, net_adm, ping, [Name]),
    Before = inviso_test_lib:footprint(Node),
    Client = inviso_test_lib:spawn_call(Other, timer, sleep, [infinity]),
    {ok, #{guard := Guard}} = attach(Node, #{client => Client}),
    {ok, S, _} = start(Node, Guard, #{client => Client, dead_man_ms => 8000}),
    #{os_pid := OsPid, name := OtherName} = Other,
    _ = os:cmd("kill -9 " ++ OsPid),
    wait_until(fun() -> not lists:member(OtherName,
                                         call(Node, erlang, nodes, []))
               end),
    %% The session ends 8 seconds (dead_man_ms) after the client's last request,
    %% and not directly after the client's death.
    true = call(Node, erlang, is_process_alive, [S]),
    is_clean({Before, Node}),
    inviso_test_lib:forget_node(Other).

a_detached_session_stays_for_its_time(Config) ->
    {Node, Guard} = attached(Config),
    {error, usage, _} = start(Node, Guard, #{mode => detached}),
    {ok, S, _} = start(Node, Guard, #{mode => detached, dead_man_ms => 100,
                                      hold_ms => 12000,
                                      limits => #{ms => 5000}}),
    {others, [_]} = leave(Guard),
    wait_state(S, [tracing]),
    timer:sleep(400),
    #{state := tracing} = ask(S, status),
    #{state := stopped, why := time} = wait_state(S, [stopped]),
    %% A client attaches again and fetches the log.
    {ok, #{guard := Guard, files := []}} = attach(Node),
    {ok, [_]} = ask(S, files),
    _ = leave(Guard),
    is_clean(?config(before, Config)).

%% A client has fetched only a part of the log. It sends the request `hold', so the session keeps
%% the log until a client attaches again.
a_recording_is_held(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{mode => record, dead_man_ms => 4000,
                                      hold_ms => 15000}),
    {error, usage, _} = ask(S, hold),
    _ = stop(S),
    ok = ask(S, hold),
    {others, [_]} = leave(Guard),
    timer:sleep(6000),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, [_]} = ask(S, files),
    ok = ask(S, hold),
    _ = leave(Guard),
    is_clean(?config(before, Config)).

%% --- killed processes -------------------------------------------------------

a_killed_session_leaves_nothing(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    ok = seqs(Node, 10),
    true = call(Node, erlang, exit, [S, kill]),
    wait_until(fun() -> no_rooms(Node) end),
    {traced, false} = call(Node, erlang, trace_info, [{lists, seq, 2}, traced]),
    %% The killed session is gone, so another session can now have the same name.
    {ok, S2, _} = start(Node, Guard),
    wait_state(S2, [tracing]),
    ok = ask(S2, remove),
    clean(Config, Guard).

no_rooms(#{tmp := Tmp}) ->
    filelib:wildcard(filename:join(Tmp, "inviso-*/{room,live}-*")) =:= [].

a_killed_guard_ends_its_sessions(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    ok = seqs(Node, 10),
    true = call(Node, erlang, exit, [Guard, kill]),
    is_clean(?config(before, Config)).

a_killed_worker_has_a_successor(Config) ->
    {Node, Guard} = attached(Config),
    _ = [begin
             {ok, S, _} = start(Node, Guard),
             wait_state(S, [tracing]),
             ok = seqs(Node, 10),
             Workers = kill_worker(Node, S, N),
             wait_until(fun() -> workers(Node, S) =/= Workers end),
             [] = [F || W <- workers(Node, S),
                        {flags, [_ | _] = F} <-
                            [call(Node, erlang, trace_info, [W, flags])]],
             #{state := stopped} = stop(S),
             {Bytes, _} = follow(S),
             10 = length([L || L <- merged(Config, Bytes),
                               string:find(L, "\"call\"") =/= nomatch]),
             {traced, false} = call(Node, erlang, trace_info,
                                    [{lists, seq, 2}, traced]),
             ok = ask(S, remove)
         end || N <- [1, 2]],
    {ok, Dry, _} = start(Node, Guard, #{dry_run => true}),
    _ = kill_worker(Node, Dry, 2),
    _ = wait_state(Dry, [stopped, failed]),
    clean(Config, Guard).

%% Kills one of the session's two workers: with N = 1 the worker that reads the log, and with N = 2
%% the worker that closes the tracer. Returns the pids of both workers.
kill_worker(Node, S, N) ->
    Workers = workers(Node, S),
    true = call(Node, erlang, exit, [lists:nth(N, Workers), kill]),
    Workers.

workers_end_with_their_session(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    [_, _] = Workers = workers(Node, S),
    ok = ask(S, remove),
    %% When the session ends, its workers end too, although the guard still runs.
    wait_until(fun() -> not lists:any(fun(W) -> call(Node, erlang,
                                                     is_process_alive, [W])
                                      end, Workers)
               end),
    clean(Config, Guard).

workers(Node, S) ->
    {links, Workers} = call(Node, erlang, process_info, [S, links]),
    lists:sort(Workers).

a_worker_killed_while_closing_leaves_nothing(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    [Spooler] = spoolers(Node),
    _ = os:cmd("kill -STOP " ++ Spooler),
    Tag = make_ref(),
    S ! {'$gen_call', {self(), Tag}, stop},
    _ = wait_state(S, [stopping]),
    wait_until(fun() -> closes(Node, lists:nth(2, workers(Node, S))) end),
    [_, Killed] = kill_worker(Node, S, 2),
    %% The worker that replaces the killed worker gets the same request, and gives the same answer.
    wait_until(fun() ->
                       case workers(Node, S) of
                           [_, Killed] -> false;
                           [_, Next] -> closes(Node, Next);
                           _ -> false
                       end
               end),
    _ = os:cmd("kill -CONT " ++ Spooler),
    #{state := stopped} = receive {Tag, Status} -> Status end,
    {ok, [_]} = ask(S, files),
    clean(Config, Guard).

closes(Node, Worker) ->
    {current_stacktrace, Stack} = call(Node, erlang, process_info,
                                       [Worker, current_stacktrace]),
    lists:any(fun({_, F, _, _}) ->
                      lists:prefix("inviso_keeper:", atom_to_list(F))
              end, Stack).

stop_works_at_any_step_of_arming(Config) ->
    {Node, Guard} = attached(Config),
    _ = [begin
             {ok, S, _} = start(Node, Guard, many()),
             timer:sleep(Ms),
             #{state := State, why := asked} = stop(S),
             true = State =:= stopped,
             {_, #{state := stopped}} = follow(S),
             ok = ask(S, remove)
         end || Ms <- [0, 5, 20, 50]],
    clean(Config, Guard).

remove_works_at_any_step_of_arming(Config) ->
    {Node, Guard} = attached(Config),
    _ = [begin
             {ok, S, _} = start(Node, Guard, many()),
             timer:sleep(Ms),
             ok = ask(S, remove)
         end || Ms <- [0, 10, 100]],
    clean(Config, Guard).

many() ->
    #{specs => modules(), procs => [<<"new">>]}.

%% Returns many modules. Those that the node has not loaded are not traced.
modules() ->
    [<<"lists">>, <<"dict">>, <<"maps">>, <<"string">>, <<"orddict">>,
     <<"gb_sets">>, <<"gb_trees">>, <<"sofs">>].

requests_are_answered_while_the_log_is_closed(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    [Spooler] = spoolers(Node),
    _ = os:cmd("kill -STOP " ++ Spooler),
    ok = seqs(Node, 10),
    {_, none, _} = ask(S, {follow, 1000000, 100}),
    Tag = make_ref(),
    S ! {'$gen_call', {self(), Tag}, stop},
    #{state := stopping} = wait_state(S, [stopping]),
    ok = ask(S, alive),
    {_, none, #{state := stopping}} = ask(S, {follow, 1000000, 100}),
    receive {Tag, _} -> error(early) after 100 -> ok end,
    _ = os:cmd("kill -CONT " ++ Spooler),
    #{state := stopped, why := asked} = receive {Tag, Status} -> Status end,
    clean(Config, Guard).

a_spooler_that_does_not_get_done_is_given_up(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    [Spooler] = spoolers(Node),
    _ = os:cmd("kill -STOP " ++ Spooler),
    #{state := failed, why := asked, notes := Notes} =
        inviso_remote_lib:ask(S, stop, 120000),
    has(lists:last(Notes), "inviso_spool does not finish"),
    _ = os:cmd("kill -CONT " ++ Spooler),
    clean(Config, Guard).

spoolers(#{tmp := Tmp}) ->
    [filename:basename(filename:dirname(F))
     || F <- filelib:wildcard("/proc/[0-9]*/cmdline"),
        {ok, Cmd} <- [file:read_file(F)],
        binary:match(Cmd, list_to_binary(Tmp ++ "/inviso-")) =/= nomatch].

%% --- other tools, and modules that are loaded again ------------------------

a_module_that_is_loaded_anew_is_traced_again(Config) ->
    {Node, Guard} = attached(Config),
    ok = loaded(Node, "a(X) -> X. b(X) -> X."),
    {ok, S, _} = start(Node, Guard, #{specs => [<<"inviso_anew">>,
                                                <<"inviso_anew:a(1)">>]}),
    wait_state(S, [tracing]),
    {match_spec, [_, _]} = match_spec(Node, a),
    ok = loaded(Node, "a(X) -> {new, X}. b(X) -> X. c(X) -> X."),
    wait_until(fun() -> noted(S, "are set again") end),
    {match_spec, [_, _]} = match_spec(Node, a),
    {match_spec, [_]} = match_spec(Node, b),
    {match_spec, [_]} = match_spec(Node, c),
    new = element(1, call(Node, inviso_anew, a, [1])),
    _ = call(Node, code, purge, [inviso_anew]),
    true = call(Node, code, delete, [inviso_anew]),
    wait_until(fun() -> noted(S, "are gone") end),
    _ = call(Node, code, purge, [inviso_anew]),
    #{state := stopped} = stop(S),
    clean(Config, Guard).

loaded(Node, Functions) ->
    Forms = [begin
                 {ok, Tokens, _} = erl_scan:string(F ++ "."),
                 {ok, Form} = erl_parse:parse_form(Tokens),
                 Form
             end || F <- ["-module(inviso_anew)", "-compile([export_all, nowarn_export_all])"
                          | [string:trim(T) || T <- string:lexemes(Functions,
                                                                   ".")]]],
    {ok, M, Beam} = compile:forms(Forms),
    _ = call(Node, code, purge, [M]),
    {module, M} = call(Node, code, load_binary, [M, "nowhere", Beam]),
    ok.

match_spec(Node, F) ->
    MFA = {inviso_anew, F, 1},
    case inviso_vm:has_sessions() of
        false -> call(Node, erlang, trace_info, [MFA, match_spec]);
        true -> sessions_match_spec(Node, MFA)
    end.

sessions_match_spec(Node, MFA) ->
    [Session] = [O || {inviso, _} = O <- call(Node, trace, session_info,
                                              [all])],
    call(Node, trace, info, [Session, MFA, match_spec]).

noted(S, Text) ->
    #{notes := Notes} = ask(S, status),
    lists:any(fun(N) -> string:find(N, Text) =/= nomatch end, Notes).

patterns_that_others_set_are_left(Config) ->
    {Node, Guard} = attached(Config),
    case inviso_vm:has_sessions() of
        true ->
            {skip, "on this OTP nobody can"};
        false ->
            {ok, S, _} = start(Node, Guard, #{specs => [<<"lists">>, <<"send">>]}),
            wait_state(S, [tracing]),
            Theirs = [{'_', [], [{message, {caller}}]}],
            1 = call(Node, erlang, trace_pattern, [{lists, module_info, 0},
                                                   Theirs, [local]]),
            2 = call(Node, erlang, trace_pattern, [{lists, seq, '_'}, Theirs,
                                                   [local]]),
            wait_until(fun() -> noted(S, "another tool changed") end),
            #{state := stopped} = stop(S),
            [{match_spec, Theirs} = call(Node, erlang, trace_info,
                                         [{lists, seq, A}, match_spec])
             || A <- [2, 3]],
            {traced, false} = call(Node, erlang, trace_info,
                                   [{lists, last, 1}, traced]),
            {match_spec, true} = call(Node, erlang, trace_info,
                                      [send, match_spec]),
            _ = call(Node, erlang, trace_pattern, [{lists, '_', '_'}, false,
                                                   [local]]),
            clean(Config, Guard)
    end.

%% --- modes ------------------------------------------------------------------

a_flight_recorder_leaves_its_file(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{keep => newest, mode => record}),
    wait_state(S, [tracing]),
    ok = seqs(Node, 50),
    {_, none, _} = ask(S, {follow, 0, 1000}),
    #{state := stopped, recorded := N} = stop(S),
    true = N >= 50,
    {ok, [{Name, _}]} = ask(S, files),
    Lines = merged(Config, inviso_remote_lib:read(S, Name)),
    50 = length([L || L <- Lines, string:find(L, "\"call\"") =/= nomatch]),
    clean(Config, Guard).

a_dry_run_arms_nothing(Config) ->
    {Node, Guard} = attached(Config, #{want => code}),
    {ok, S, #{matched := #{functions := 1}}} =
        start(Node, Guard, #{dry_run => true}),
    {traced, false} = call(Node, erlang, trace_info, [{lists, seq, 2}, traced]),
    _ = ask(S, {follow, 0, 100}),
    #{state := stopped, why := none} = Status = wait_state(S, [stopped]),
    ct:log("~p", [Status]),
    {<<>>, eof, _} = ask(S, {follow, 0, 100}),
    {ok, []} = ask(S, files),
    {call_count, false} = call(Node, erlang, trace_info, [{lists, seq, 2}, call_count]),
    ok = ask(S, remove),
    clean(Config, Guard).

%% When a session is stopped, the engine does not answer in time. The log is complete and can be
%% fetched. A note says that the trace session is still open in the engine. When the session is
%% removed, its trace session is closed.
a_refused_close_leaves_the_log(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            ok = ask(S, remove),
            clean(Config, Guard),
            {skip, "the VM has trace sessions itself"};
        Engine ->
            ok = seqs(Node, 20),
            refused(Config, Node, Guard, S, Engine)
    end.

refused(Config, Node, Guard, S, Engine) ->
    {Name, Value} = inviso_test_lib:hurry(10),
    true = call(Node, os, putenv, [Name, Value]),
    Suspend = "erlang:suspend_process(Engine), Test ! {suspended, self()},"
        "receive after infinity -> ok end.",
    {ok, Tokens, _} = erl_scan:string(Suspend),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Suspender = inviso_test_lib:spawn_call(
                  Node, erl_eval, exprs,
                  [Expressions, [{'Engine', Engine}, {'Test', self()}]]),
    receive {suspended, Suspender} -> ok end,
    #{state := stopped, why := asked, recorded := Recorded,
      produced := Recorded, notes := Notes} = stop(S),
    [_] = [N || N <- Notes, string:find(N, "could not be closed") =/= nomatch],
    true = call(Node, os, unsetenv, [Name]),
    {Bytes, #{state := stopped}} = follow(S),
    {ok, [{File, Size}]} = ask(S, files),
    Size = byte_size(Bytes),
    Bytes = inviso_remote_lib:read(S, File),
    Calls = [L || L <- merged(Config, Bytes),
                  string:find(L, "\"call\"") =/= nomatch],
    20 = length(Calls),
    true = call(Node, erlang, exit, [Suspender, kill]),
    ok = ask(S, remove),
    clean(Config, Guard).

names_are_unique_and_found(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, S, _} = start(Node, Guard, #{name => <<"a.name-1_x">>}),
    wait_state(S, [tracing]),
    {ok, S} = inviso_remote_lib:of_ours(Name, inviso_session, find, [<<"a.name-1_x">>]),
    {error, nothing, Text} = inviso_remote_lib:of_ours(Name, inviso_session, find, [<<"b">>]),
    has(Text, "no session"),
    {error, nothing, _} = inviso_remote_lib:of_ours(Name, inviso_session, find, [x]),
    {error, refused, Taken} = start(Node, Guard, #{name => <<"a.name-1_x">>}),
    has(Taken, "a.name-1_x"),
    has(Taken, "tester@here"),
    ok = ask(S, remove),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [S]) end),
    {error, nothing, _} =
        inviso_remote_lib:of_ours(Name, inviso_session, find, [<<"a.name-1_x">>]),
    clean(Config, Guard).

two_sessions_trace_one_function(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard, #{owner => <<"eve@x">>}),
    wait_state(S, [tracing]),
    {ok, S2, _} = start(Node, Guard),
    wait_state(S2, [tracing]),
    ok = seqs(Node, 10),
    %% Each call makes two events. There may be more than 20 events, because the
    %% node itself also calls the function.
    _ = [true = maps:get(recorded, stop(P)) >= 20 || P <- [S, S2]],
    clean(Config, Guard).

%% Another tool starts to trace before the session has set all of its patterns and flags. So the
%% session is refused.
another_tool_stops_a_session_that_arms(Config) ->
    {Node, Guard} = attached(Config),
    case inviso_remote_lib:has_sessions(Node) of
        true ->
            clean(Config, Guard),
            {skip, "trace sessions do not meet"};
        false ->
            {S, Text} = refused_meanwhile(Node, Guard, 500),
            has(Text, "sofs:no_elements/1"),
            ok = ask(S, remove),
            clean(Config, Guard)
    end.

%% Tries again if the session had set all patterns and flags before the other tool started to trace.
refused_meanwhile(Node, Guard, Tries) when Tries > 0 ->
    {ok, S, #{class := none}} = start(Node, Guard, many()),
    1 = call(Node, erlang, trace_pattern,
             [{sofs, no_elements, 1}, true, [local]]),
    Status = wait_state(S, [failed, tracing]),
    1 = call(Node, erlang, trace_pattern,
             [{sofs, no_elements, 1}, false, [local]]),
    case Status of
        #{state := failed, why := none, class := refused, text := Text,
          log := none} ->
            {S, Text};
        #{state := tracing} ->
            _ = stop(S),
            ok = ask(S, remove),
            refused_meanwhile(Node, Guard, Tries - 1)
    end.

a_recording_tells_where_its_log_is(Config) ->
    {#{name := Name} = Node, Guard} = attached(Config),
    {ok, S, #{log := Log}} = start(Node, Guard, #{mode => record}),
    true = erpc:call(Name, filelib, is_regular, [Log]),
    _ = stop(S),
    #{log := Log} = ask(S, status),
    ok = ask(S, remove),
    clean(Config, Guard).

only_files_of_the_session_are_read(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    _ = stop(S),
    {ok, [{Name, _}]} = ask(S, files),
    {ok, <<_>>} = ask(S, {read, Name, 0, 1}),
    eof = ask(S, {read, Name, 1000000000, 1}),
    _ = [{error, nothing, _} = ask(S, {read, N, 0, 1})
         || N <- [<<"/etc/passwd">>, <<"../inviso_tracer.so">>, <<>>, "x", x,
                  <<"./", Name/binary>>]],
    _ = [{error, usage, _} = ask(S, R)
         || R <- [{read, Name, -1, 1}, {read, Name, 0, 0}, {read, Name, x, 1},
                  {follow, -1, 1}, {follow, 0, 0}, {follow, x, 1}]],
    clean(Config, Guard).

status_tells_of_all(Config) ->
    #{name := Name, os_pid := OsPid} = Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node, #{owner => <<"eve@x">>}),
    {ok, S, _} = start(Node, Guard, #{name => <<"one">>,
                                      procs => [<<"init">>]}),
    wait_state(S, [tracing]),
    #{otp := {Release, _}, os_pid := Pid, sessions := [#{name := <<"one">>}],
      clients := [<<"eve@x">>], others := []} =
        inviso_remote_lib:of_ours(Name, inviso_status, node, []),
    Pid = list_to_integer(OsPid),
    Release = list_to_binary(call(Node, erlang, system_info, [otp_release])),
    Tracer = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    true = call(Node, erlang, register, [a_tracer, Tracer]),
    Tracee = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    1 = call(Node, erlang, trace, [Tracee, true, [send, {tracer, Tracer}]]),
    _ = call(Node, erlang, trace, [new_processes, true,
                                   [procs, {tracer, Tracer}]]),
    _ = call(Node, seq_trace, set_system_tracer, [Tracer]),
    #{others := Others} = inviso_remote_lib:of_ours(Name, inviso_status, node, []),
    ct:log("~p", [Others]),
    [new_processes, processes, seq_trace] =
        lists:usort([K || #{kind := K, tracer := T} <- Others,
                          string:find(T, "a_tracer") =/= nomatch]),
    _ = call(Node, seq_trace, set_system_tracer, [false]),
    _ = call(Node, erlang, trace, [new_processes, false, [all]]),
    true = call(Node, erlang, exit, [Tracer, kill]),
    true = call(Node, erlang, exit, [Tracee, kill]),
    foreign_session(Node),
    _ = stop(S),
    ok = ask(S, remove),
    foreign_patterns(Node),
    clean(Config, Guard).

%% On VMs without sessions, the status shows patterns that have no known owner.
foreign_patterns(#{name := Name} = Node) ->
    case inviso_remote_lib:has_sessions(Node) of
        true ->
            ok;
        false ->
            Told = fun() ->
                           #{others := Others} =
                               inviso_remote_lib:of_ours(Name, inviso_status, node, []),
                           [W || #{kind := patterns, what := W} <- Others]
                   end,
            [] = Told(),
            _ = [1 = call(Node, erlang, trace_pattern,
                          [{lists, F, 2}, true, [local]])
                 || F <- [seq, append, nth, nthtail]],
            [What] = Told(),
            has(What, "lists:append/2"),
            has(What, " and 1 more"),
            _ = call(Node, erlang, trace_pattern, [{lists, '_', '_'}, false,
                                                   [local]]),
            [] = Told()
    end.

foreign_session(#{name := Name} = Node) ->
    case inviso_remote_lib:has_sessions(Node) of
        true ->
            {{Pid, _}, _} =
                eval(Node, "spawn_monitor(fun() ->"
                     " S = trace:session_create(theirs, self(), []),"
                     " trace:process(S, whereis(init), true, [call]),"
                     " receive stop -> S end end)."),
            wait_until(fun() ->
                               #{others := Others} =
                                   inviso_remote_lib:of_ours(Name, inviso_status, node, []),
                               [] =/= [1 || #{tracer := T} <- Others,
                                            string:find(T, "theirs")
                                                =/= nomatch]
                       end),
            true = call(Node, erlang, exit, [Pid, kill]);
        false ->
            ok
    end.

%% --- requests that are changed or refused -----------------------------------

shorter_terms_are_reported(Config) ->
    {Node, Guard} = attached(Config),
    Least = inviso_opts:least_buffer(#{}),
    _ = [begin
             {ok, S, _} = start(Node, Guard, #{tracer => Opts}),
             wait_state(S, [tracing]),
             Told = noted(S, "terms are cut at 512 bytes"),
             ok = ask(S, remove)
         end || {Opts, Told} <- [{#{buffer_bytes => Least}, true},
                                 {#{buffer_bytes => Least,
                                    max_term_bytes => 512}, false},
                                 {#{}, false}]],
    clean(Config, Guard).

%% The number of waiting requests is limited, because each takes memory of the
%% node.
too_many_requests_are_refused(Config) ->
    {Node, Guard} = attached(Config),
    {ok, S, _} = start(Node, Guard),
    wait_state(S, [tracing]),
    [Reader, _] = workers(Node, S),
    %% The worker is suspended until the session has seen all requests.
    _ = eval(Node, "erlang:suspend_process(Reader),"
             "[S ! {'$gen_call', {Test, {flood, N}}, {follow, 0, 1}}"
             " || N <- lists:seq(1, 1000)],"
             "#{state := tracing} = gen_server:call(S, status),"
             "erlang:resume_process(Reader).",
             [{'Reader', Reader}, {'S', S}, {'Test', self()}]),
    Answers = [receive {{flood, N}, A} -> A end || N <- lists:seq(901, 1000)],
    true = lists:all(fun({error, failed, Text}) ->
                             has(Text, "too many requests"), true
                     end, Answers),
    {message_queue_len, Waiting} = call(Node, erlang, process_info,
                                        [Reader, message_queue_len]),
    true = Waiting =< 100,
    %% The requests that were not refused are answered, although the worker is
    %% killed.
    true = call(Node, erlang, exit, [Reader, kill]),
    _ = [receive {{flood, N}, {_, _, #{state := tracing}}} -> ok end
         || N <- lists:seq(1, 20)],
    clean(Config, Guard).

nonsense_is_answered(Config) ->
    {Node, Guard} = attached(Config),
    Bad = [#{name => X} || X <- [x, <<>>, <<"A">>, <<"a/b">>, "abc", <<"ä"/utf8>>,
                                 binary:copy(<<"a">>, 65)]]
        ++ [#{specs => X} || X <- [x, [x], [<<"lists">> | x], [<<255>>], [],
                                   [<<>>], [<<"lists:">>]]]
        ++ [#{procs => X} || X <- [x, [x], [<<"<0.1">>]]]
        ++ [#{limits => X} || X <- [x, #{events => -1}, #{events => x},
                                    #{x => 1}, #{ms => 1 bsl 70}]]
        ++ [#{tracer => X} || X <- [x, #{x => 1}, #{max_depth => x},
                                    #{compress => lz4}, #{limit => #{}},
                                    #{owner => self()}]]
        ++ [#{protect => X} || X <- [x, #{x => 1}, #{memory_percent => 101}]]
        ++ [#{follow => [x]}, #{mode => x}, #{keep => x}, #{owner => x},
            #{client => x}, #{guard => x}, #{guard => self()},
            #{dead_man_ms => 0}, #{dead_man_ms => x}, #{dry_run => x},
            #{hold_ms => -1}, #{unknown => 1}],
    _ = [case start(Node, Guard, B) of
             {error, usage, Text} when is_binary(Text) -> ok;
             Other -> ct:fail({B, Other})
         end || B <- Bad],
    #{name := Name} = Node,
    _ = [{error, usage, _} = inviso_remote_lib:of_ours(Name, inviso_session, start, [X])
         || X <- [x, [], #{}, #{name => <<"a">>}]],
    {error, failed, Gone} = start(Node, call(Node, erlang, whereis, [init])),
    has(Gone, "attach again"),
    {error, nothing, _} = start(Node, Guard, #{specs => [<<"no_such:f/1">>]}),
    {ok, S, _} = start(Node, Guard),
    _ = [{error, usage, _} = ask(S, R) || R <- [x, {x}, {follow}, {read, x}]],
    S ! nonsense,
    S ! {done, x, y},
    S ! {'$gen_call', x, y},
    S ! {'$gen_cast', x},
    S ! arm,
    S ! deadline,
    #{state := tracing} = wait_state(S, [tracing]),
    clean(Config, Guard).

%% --- helpers ----------------------------------------------------------------

attached(Config) ->
    attached(Config, #{}).

attached(Config, More) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} =
        case More of
            #{want := code} -> inviso_remote_lib:ask_attach(Node, More);
            _ -> attach(Node, More)
        end,
    {Node, Guard}.

%% Removes the sessions that still run, and leaves the guard.
clean(Config, Guard) ->
    Node = ?config(node, Config),
    Left = [P || {{user, P}, {session, _, _, _}, _}
                     <- call(Node, ets, tab2list, [inviso_guard])],
    _ = [ask(P, remove) || P <- Left],
    wait_until(fun() -> not lists:any(fun(P) -> call(Node, erlang,
                                                     is_process_alive, [P])
                                      end, Left) end),
    _ = leave(Guard),
    is_clean(?config(before, Config)).

%% Makes N calls of lists:seq/2 in a new process, and waits until the process has ended.
seqs(Node, N) ->
    {_, _} = eval(Node, "{P, R} = spawn_monitor(fun() ->"
                  " F = fun F(0) -> ok; F(I) -> lists:seq(1, I rem 5), F(I - 1)"
                  " end, F(N) end), receive {'DOWN', R, _, _, _} -> ok end.",
                  [{'N', N}]),
    ok.

eval(Node, Text) ->
    eval(Node, Text, []).

eval(Node, Text, Bindings) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    {value, Value, _} = call(Node, erl_eval, exprs, [Expressions, Bindings]),
    {Value, done}.

mount_point(Config) ->
    filename:join(?config(dir, Config), "mnt").

has(Text, Part) ->
    case string:find(Text, Part) of
        nomatch -> ct:fail({Part, not_in, Text});
        _ -> ok
    end.
