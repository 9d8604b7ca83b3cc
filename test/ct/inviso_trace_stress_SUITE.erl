%% SPDX-License-Identifier: Apache-2.0
%% Trace sessions under stress: a tracer gets only what its own session wants,
%% and in the end nothing is left.
-module(inviso_trace_stress_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0,
         init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([sessions_come_and_go_in_a_flood/1,
         ten_sessions_over_ten_thousand_processes/1,
         modules_are_loaded_again_under_a_trace/1,
         a_tracer_is_taken_away_before_messages_are_received/1,
         a_tracer_is_closed_before_messages_are_received/1,
         a_tracer_is_spent_before_messages_are_received/1]).

%% Functions that run on the node.
-export([flood/1, ten/0, reload/0, taken_away/0, closed/1, spent/1]).

-import(inviso_test_lib, [wait_until/1]).

-define(WORK, inviso_sessions_work).
-define(LATE, inviso_sessions_late).

suite() -> [{timetrap, {minutes, 10}}].

all() ->
    [sessions_come_and_go_in_a_flood,
     ten_sessions_over_ten_thousand_processes,
     modules_are_loaded_again_under_a_trace,
     a_tracer_is_taken_away_before_messages_are_received,
     a_tracer_is_closed_before_messages_are_received,
     a_tracer_is_spent_before_messages_are_received].

init_per_suite(Config) ->
    inviso_sessions_lib:start(Config).

end_per_suite(Config) ->
    inviso_sessions_lib:stop(Config).

init_per_testcase(_Case, Config) ->
    Config.

end_per_testcase(_Case, Config) ->
    inviso_sessions_lib:nothing_left(Config).

%% A case may take longer than inviso_test_lib:call/4 waits.
run(Config, F, Args) ->
    #{peer := Peer} = ?config(node, Config),
    ok = peer:call(Peer, ?MODULE, F, Args, 500000).

%%---------------------------------------------------------------------------

sessions_come_and_go_in_a_flood(Config) ->
    Seed = erlang:unique_integer([positive]),
    ct:pal("seed ~b", [Seed]),
    run(Config, flood, [Seed]).

%% Four busy processes call functions whose match specs set and clear trace flags at each call.
%% Meanwhile sessions begin and end all the time.
flood(Seed) ->
    rand:seed(exsss, Seed),
    process_flag(priority, high),
    Busy = [spawn_link(fun busy/0) || _ <- lists:seq(1, 4)],
    ok = come_and_go(8, [], Busy),
    %% The trace sessions of OTP 27 and later have no server that could be killed.
    _ = [killed([open(N, Busy) || N <- [1, 2]], Busy)
         || not inviso_sessions_lib:has_sessions()],
    ended(Busy),
    process_flag(priority, normal),
    ok.

busy() ->
    _ = ?WORK:even(20),
    _ = ?WORK:fact(5),
    _ = (catch ?WORK:fact(a)),
    _ = ?WORK:twice(x),
    _ = (catch ?WORK:outer([caught, external, fail])),
    self() ! x,
    receive x -> ok end,
    {Pid, Ref} = spawn_monitor(?WORK, fact, [3]),
    receive {'DOWN', Ref, process, Pid, _} -> busy() end.

%% Kills the engine's server while sessions are open and tracees are busy. Checks that all is
%% cleared.
killed(Open, Busy) ->
    exit(whereis(inviso_engine_server), kill),
    ok = wait_until(fun() ->
                            [{flags, []}]
                                =:= lists:usort([erlang:trace_info(P, flags)
                                                 || P <- Busy])
                    end),
    _ = [begin
             {'EXIT', {badarg, _}} = (catch inviso_trace:process(S, new, true,
                                                                 [call])),
             stopped(Tracer)
         end || {S, Tracer} <- Open],
    %% The next server cannot know whether a session or another tool has set these counters, so the
    %% test clears them.
    _ = erlang:trace_pattern({?WORK, '_', '_'}, false, [call_count]),
    ok.

%% Opens and ends sessions. At most six are open, and each ends in one of the
%% possible ways.
come_and_go(0, Open, _Busy) ->
    lists:foreach(fun close/1, Open);
come_and_go(N, Open, Busy) when length(Open) < 6 ->
    Session = open(N, Busy),
    nothing_waits(),
    case rand:uniform(3) of
        1 -> come_and_go(N - 1, [Session | Open], Busy);
        2 -> come_and_go(N - 1, Open ++ [Session], Busy);
        3 -> close(Session), come_and_go(N - 1, Open, Busy)
    end;
come_and_go(N, [Oldest | Open], Busy) ->
    close(Oldest),
    come_and_go(N, Open, Busy).

%% Some actions of tracees cause requests to the engine's server. However fast the tracees are,
%% fewer than 10 requests may wait.
nothing_waits() ->
    case inviso_sessions_lib:has_sessions() of
        true ->
            ok;
        false ->
            Server = whereis(inviso_engine_server),
            {_, N} = process_info(Server, message_queue_len),
            true = N < 10
    end.

%% Opens session N. Its match specs put N into the messages of calls. No tracer of another session
%% may get such a message.
open(N, Busy) ->
    Tracer = spawn_opt(fun() -> untraced(), sees_only(N) end, keeps_up()),
    S = inviso_trace:session_create(stress, Tracer, []),
    Some = [P || P <- Busy, rand:uniform(2) =:= 1],
    Not = not_wanted([new | Busy]),
    _ = [try_to(process, [S, P, true, Flags -- Not])
         || P <- [new | Some], Flags <- [flags()]],
    _ = [pattern(S, N, F) || F <- [even, odd, fact, f, outer, inner, leaf]],
    {S, Tracer}.

%% If a tracer of OTP 27 or later was traced itself, it got messages faster than it could read them.
%% Its message queue grew to gigabytes, which took minutes to read. With a high priority this does
%% not happen.
keeps_up() ->
    case inviso_sessions_lib:has_sessions() of
        true -> [{priority, high}, {message_queue_data, off_heap}];
        false -> []
    end.

untraced() ->
    process_flag(sensitive, inviso_sessions_lib:has_sessions()).

flags() ->
    [call | [F || F <- [procs, send, 'receive', return_to, set_on_spawn,
                        set_on_first_spawn, set_on_link, arity, silent,
                        timestamp, running, garbage_collection],
                  rand:uniform(3) =:= 1]].

%% Returns [garbage_collection] if a session must not set this flag. On OTP 27 and later the VM
%% crashes if two sessions trace the garbage collections of one process. Whom is a list of processes
%% that get trace flags: `new', and each process that passes its flags on to other processes.
not_wanted(Whom) ->
    [garbage_collection || inviso_defects:gc_elsewhere(Whom, [all]) =/= false].

pattern(S, N, F) ->
    {MS, Flags} =
        case rand:uniform(9) of
            1 -> {spec(N, []), [local]};
            2 -> {spec(N, [{return_trace}]), [local]};
            3 -> {spec(N, [{exception_trace}]), [global]};
            4 -> {spec(N, [{return_trace}]), [meta]};
            5 -> {true, [call_count]};
            6 -> {spec(N, [{silent, rand:uniform(2) =:= 1}]), [local]};
            7 -> {spec(N, [{enable_trace, send}]), [local]};
            8 -> {spec(N, [{disable_trace, send}, {enable_trace, procs}]),
                  [local]};
            9 -> {spec(N, [{trace, [send, procs], ['receive', timestamp]}]),
                  [local]}
        end,
    try_to(function, [S, {?WORK, F, 1}, MS, Flags]).

spec(N, Actions) ->
    [{['$1'], [{'=/=', '$1', 3}], [{message, {{stress, N}}} | Actions]}].

%% Calls a function of inviso_trace. The call may fail because of another
%% session, or because the release does not support the request.
try_to(Function, Args) ->
    try
        apply(inviso_trace, Function, Args)
    catch
        error:{not_supported, _} -> 0
    end.

close({S, Tracer}) ->
    case rand:uniform(3) of
        1 ->
            exit(Tracer, kill),
            inviso_trace:session_destroy(S);
        2 ->
            inviso_trace:session_destroy(S);
        3 ->
            _ = inviso_trace:process(S, existing, false, [all]),
            inviso_trace:session_destroy(S)
    end,
    stopped(Tracer).

stopped(Tracer) ->
    Ref = monitor(process, Tracer),
    Tracer ! {stop, Ref},
    receive
        {'DOWN', Ref, process, Tracer, Reason}
          when Reason =:= stopped; Reason =:= killed; Reason =:= noproc ->
            ok
    end.

%% The tracer of session N exits with an unexpected reason if it gets a call of another session.
sees_only(N) ->
    receive
        {stop, _} -> exit(stopped);
        Call when element(3, Call) =:= call ->
            case element(5, Call) of
                {stress, N} -> sees_only(N);
                _ -> exit({not_of, N, Call})
            end;
        _ ->
            sees_only(N)
    end.

ended(Pids) ->
    _ = [begin unlink(P), exit(P, kill) end || P <- Pids],
    wait_until(fun() -> not lists:any(fun is_process_alive/1, Pids) end).

%%---------------------------------------------------------------------------

%% Session S, from 0 to 9, traces each process whose number is a multiple of S + 1. Its tracer must
%% get exactly the calls that the session's match spec matches.
ten_sessions_over_ten_thousand_processes(Config) ->
    run(Config, ten, []).

ten() ->
    Many = 10000,
    Pids = [spawn_link(fun called/0) || _ <- lists:seq(1, Many)],
    Numbered = lists:zip(lists:seq(1, Many), Pids),
    Sessions = [session(S, Numbered) || S <- lists:seq(0, 9)],
    _ = [P ! {call, N} || {N, P} <- Numbered],
    _ = [P ! {done, self()} || P <- Pids],
    _ = [receive {done, P} -> ok end || P <- Pids],
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    _ = [begin
             Expected = [N || N <- lists:seq(S + 1, Many, S + 1), wanted(S, N)],
             Tracer ! {got, self()},
             receive {got, Tracer, Got} -> Expected = lists:sort(Got) end,
             true = inviso_trace:session_destroy(Session)
         end || {S, Session, Tracer} <- Sessions],
    ended([T || {_, _, T} <- Sessions]),
    ended(Pids).

called() ->
    receive
        {call, N} -> N = ?WORK:f(N), called();
        {done, From} -> From ! {done, self()}, called()
    end.

session(S, Numbered) ->
    Tracer = spawn(fun() -> gather(S, []) end),
    Session = inviso_trace:session_create(ten, Tracer, []),
    1 = inviso_trace:function(Session, {?WORK, f, 1},
                              [{['$1'], guards(S), [{message, {{S, '$1'}}}]}],
                              [local]),
    case S of
        0 ->
            N = inviso_trace:process(Session, existing, true, [call]),
            true = N > length(Numbered);
        _ ->
            _ = [1 = inviso_trace:process(Session, P, true, [call])
                 || {N, P} <- Numbered, N rem (S + 1) =:= 0]
    end,
    {S, Session, Tracer}.

%% A guard of a session from 0 to 3 can fail. So each of these four sessions doubles the number of
%% clauses in the combined match spec. The guards of the other sessions cannot fail, and add no
%% clauses.
guards(S) when S < 4 -> [{'=:=', {'rem', '$1', 3}, S rem 3}];
guards(S) -> [{is_integer, '$1'}, {'>', '$1', S * 500}].

wanted(S, N) when S < 4 -> N rem 3 =:= S rem 3;
wanted(S, N) -> N > S * 500.

gather(S, Got) ->
    receive
        {trace, _, call, {?WORK, f, [N]}, {S, N}} -> gather(S, [N | Got]);
        {got, From} -> From ! {got, self(), Got}, gather(S, Got)
    end.

%%---------------------------------------------------------------------------

modules_are_loaded_again_under_a_trace(Config) ->
    run(Config, reload, []).

reload() ->
    ok = load(),
    process_flag(priority, high),
    Busy = [spawn_link(fun calls_late/0)
            || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    Tracer = spawn_link(fun swallow/0),
    Sessions = [inviso_trace:session_create(S, Tracer, []) || S <- [a, b]],
    _ = [1 = inviso_trace:process(S, P, true, [call])
         || S <- Sessions, P <- Busy],
    _ = [again(Sessions, N) || N <- lists:seq(1, 15)],
    _ = [true = inviso_trace:session_destroy(S) || S <- Sessions],
    ended([Tracer | Busy]).

again([A, B] = Sessions, N) ->
    5 = inviso_trace:function(A, {?LATE, '_', '_'},
                              [{'_', [], [{return_trace}]}], [local]),
    _ = try_to(function, [B, {?LATE, f, 1}, true, [call_count]]),
    1 = inviso_trace:function(B, {?LATE, g, 1}, N rem 2 =:= 0, [local]),
    _ = try_to(function, [B, on_load, N rem 3 =:= 0, [local]]),
    ok = load(),
    {traced, false} = inviso_trace:info(A, {?LATE, f, 1}, traced),
    told(A),
    _ = [_ = inviso_trace:function(S, {?LATE, '_', '_'}, false, [local])
         || S <- Sessions].

%% Checks that calls of the new code are traced when the pattern has been set again.
told(A) ->
    1 = inviso_trace:function(A, {?LATE, f, 1}, true, [local]),
    {traced, local} = inviso_trace:info(A, {?LATE, f, 1}, traced),
    Self = self(),
    Tracer = spawn_link(fun() -> Self ! {told, receive E -> E end} end),
    C = inviso_trace:session_create(c, Tracer, []),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> ?LATE:f(Self) end end),
    1 = inviso_trace:process(C, Pid, true, [call]),
    1 = inviso_trace:function(C, {?LATE, f, 1}, true, [local]),
    Pid ! go,
    receive {told, {trace, Pid, call, {?LATE, f, [Self]}}} -> ok end,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    true = inviso_trace:session_destroy(C).

calls_late() ->
    _ = [[[x]] = ?LATE:g(x) || _ <- lists:seq(1, 20)],
    receive after 1 -> calls_late() end.

%% Waits until no process runs the module's old code, purges it, and loads the module. No process is
%% killed.
load() ->
    ok = wait_until(fun() -> code:soft_purge(?LATE) end),
    {module, ?LATE} = code:load_file(?LATE),
    ok.

%%---------------------------------------------------------------------------

%% A process handles several signals one after the other: a request for its flags, and then
%% messages. The VM of OTP 25 crashes if the process's tracer is removed between these signals.
a_tracer_is_taken_away_before_messages_are_received(Config) ->
    run(Config, taken_away, []).

taken_away() ->
    Tracer = spawn_link(fun swallow/0),
    %% The first session makes the VM load code. So this case first opens and closes a session.
    true = inviso_trace:session_destroy(traced(Tracer, Tracer)),
    Other = inviso_trace:session_create(other, Tracer, []),
    ok = asked(fun(Busy) ->
                       S = traced(Busy, Tracer),
                       fun() -> inviso_trace:session_destroy(S) end
               end),
    true = inviso_trace:session_destroy(Other),
    ended([Tracer]).

%% Another tool traces a process with erlang:trace/3 and inviso's tracer. The tracer is closed after
%% the process has got a request for its flags, and before it gets messages.
a_tracer_is_closed_before_messages_are_received(Config) ->
    run(Config, closed, [log(Config, "closed.log")]).

closed(Log) ->
    {ok, T} = inviso_tracer:open(Log, #{}),
    asked(fun(Busy) ->
                  1 = by_hand(Busy, T),
                  fun() -> {ok, _} = inviso_tracer:close(T) end
          end).

a_tracer_is_spent_before_messages_are_received(Config) ->
    run(Config, spent, [log(Config, "spent.log")]).

spent(Log) ->
    {ok, T} = inviso_tracer:open(Log, #{limit => #{events => 0}}),
    ok = asked(fun(Busy) ->
                       1 = by_hand(Busy, T),
                       fun() ->
                               #{limit_reached := true} = inviso_tracer:info(T)
                       end
               end),
    {ok, _} = inviso_tracer:close(T),
    ok.

log(Config, Name) ->
    filename:join(?config(priv_dir, Config), Name).

by_hand(Pid, {Module, State}) ->
    erlang:trace(Pid, true, ['receive', {tracer, Module, State}]).

%% Runs the scenario with a process that is busy and has not yet handled its signals. The fun Trace
%% makes this process a tracee, and returns a fun that removes the tracer.
asked(Trace) ->
    ok = inviso_busy:load(),
    Old = process_flag(scheduler, 1),
    process_flag(priority, high),
    %% If a process is bound to a scheduler that is not online, it never runs.
    Second = min(2, erlang:system_info(schedulers_online)),
    Busy = spawn_opt(fun receives_later/0, [link, {scheduler, Second}]),
    Away = Trace(Busy),
    Busy ! go,
    pause(),
    Asks = aside(fun() -> erlang:trace_info(Busy, flags) end),
    pause(),
    _ = [Busy ! {message, N} || N <- lists:seq(1, 10)],
    Takes = aside(Away),
    Busy ! stop,
    ok = wait_until(fun() ->
                            not lists:any(fun is_process_alive/1,
                                          [Busy, Asks, Takes])
                    end),
    process_flag(scheduler, Old),
    process_flag(priority, normal),
    ok.

receives_later() ->
    receive go -> ok end,
    ok = inviso_busy:wait(400),
    receive {message, 10} -> ok end,
    receive stop -> ok end.

traced(Tracee, Tracer) ->
    S = inviso_trace:session_create(s, Tracer, []),
    1 = inviso_trace:process(S, Tracee, true, ['receive']),
    S.

aside(F) ->
    spawn_opt(F, [link, {priority, high}, {scheduler, 1}]).

pause() ->
    receive after 20 -> ok end.

%%---------------------------------------------------------------------------

swallow() ->
    receive _ -> swallow() end.
