%% SPDX-License-Identifier: Apache-2.0
%% `inviso record' asks its nodes for the time, so `inviso merge' can compare their
%% clocks even if the nodes send each other no messages.
-module(inviso_clocks_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([a_clock_of_its_own/1, nodes_without_messages/1, two_commands/1, one_node/1,
         ctrl_c_at_once/1]).
%% on a node
-export([began/0]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(HOURS, 7200000000000).

suite() -> [{timetrap, {minutes, 5}}].

all() -> [a_clock_of_its_own, nodes_without_messages, two_commands, one_node, ctrl_c_at_once].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

init_per_testcase(Case, Config) ->
    Base = ?config(base, Config),
    A = ?NODE:start(Base, #{name => "a"}),
    Cookie = maps:get(cookie, A),
    Nodes = [A, ?NODE:start(Base, #{name => "b", cookie => Cookie})],
    Dir = filename:join(Base, atom_to_list(Case)),
    ok = filelib:ensure_path(Dir),
    Opts = #{base => Base, cookie => Cookie, cd => Dir},
    [{nodes, Nodes}, {opts, Opts}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    [ct:log("~ts", [?NODE:said(N)]) || N <- ?config(nodes, Config)],
    [?NODE:stop(N) || N <- ?config(nodes, Config)].

%% Records the nodes while each makes a call. Returns the logs, in the order of the nodes' names.
record(Config, Name, Nodes, Args) ->
    Names = lists:join(",", [maps:get(name, N) || N <- Nodes]),
    Cmd = ?LIB:start(?config(opts, Config),
                     ["record", "-n", lists:flatten(Names), "-o", Name,
                      "--name", Name, "lists:seq/2" | Args], 100000),
    [?LIB:until_tracing(?config(opts, Config), maps:get(name, N), Cmd) || N <- Nodes],
    [[1, 2] = ?NODE:call(N, lists, seq, [1, 2]) || N <- Nodes],
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000),
    Logs = lists:sort(filelib:wildcard(
                        filename:join([?config(dir, Config), Name, "*.log"]))),
    {N, N} = {length(Nodes), length(Logs)},
    Logs.

%% Returns a copy of the log, as if the node's clock were two hours ahead and ran 100 ppm too fast.
warped(Log) ->
    Out = Log ++ ".warped",
    Tool = filename:join(filename:dirname(code:which(?MODULE)), "log_warp"),
    Said = os:cmd(lists:join(" ", [Tool, Log, Out, integer_to_list(?HOURS), "100", "100",
                                   "0", "0"])),
    [_ | _] = Said,
    Out.

%% Merges the logs. Returns the clocks from the summary, and the events.
clocks(Config, Logs) ->
    File = filename:join(?config(dir, Config), "out.json"),
    #{status := 0, out := Said} =
        ?LIB:run(?config(opts, Config),
                 ["merge", "--format", "json", "--order", "cause", "-o", File,
                  "--summary", "json", "-q" | Logs]),
    {ok, Out} = file:read_file(File),
    ok = file:delete(File),
    [Summary] = ?LIB:json(Said),
    {maps:get(<<"clocks">>, Summary, none), ?LIB:json(Out)}.

nodes_without_messages(Config) ->
    [A, B] = Logs = record(Config, "plain", ?config(nodes, Config), []),
    %% Both nodes run on this machine, so their clocks agree.
    {#{<<"nodes">> := [_, Same]}, Events} = clocks(Config, Logs),
    ct:log("~p", [Same]),
    true = is_inside(Same, 0),
    [] = [E || #{<<"moved_ns">> := _} = E <- Events],
    {#{<<"nodes">> := [_, Ahead]}, _} = clocks(Config, [A, warped(B)]),
    %% warped/1 has set the second node's clock ahead by ?HOURS, so the first node's clock is behind
    %% it by ?HOURS.
    true = is_inside(Ahead, -?HOURS),
    {#{<<"nodes">> := [_, Behind]}, Corrected} = clocks(Config, [warped(A), B]),
    true = is_inside(Behind, ?HOURS),
    [true = abs(Moved - ?HOURS) < 10000000000
     || #{<<"moved_ns">> := Moved} <- Corrected],
    true = length([E || #{<<"moved_ns">> := _} = E <- Corrected]) > 0.

%% Two nodes exchange messages. With libfaketime, the clock of one node is two hours ahead and runs
%% 100 ppm too fast. Merge reports an interval of the clocks' offset for each window of time. The
%% true offset must be in each interval. If at least 50 round trips are near the middle of a window,
%% the interval of this window must be at most twice as wide as the shortest of them is long. No
%% event may be earlier than its cause.
a_clock_of_its_own(Config) ->
    case filelib:wildcard("/usr/lib/*/faketime/libfaketimeMT.so.1") of
        [Lib | _] -> a_clock_of_its_own(Config, Lib);
        [] -> {skip, "the package faketime is not installed"}
    end.

a_clock_of_its_own(Config, Lib) ->
    [A | _] = ?config(nodes, Config),
    Start = erlang:system_time(nanosecond),
    Fast = ?NODE:start(?config(base, Config),
                       #{name => "fast", cookie => maps:get(cookie, A),
                         env => [{"LD_PRELOAD", Lib},
                                 {"FAKETIME", "+7200s x1.0001"}]}),
    try
        Logs = pinged(Config, [A, Fast]),
        {#{<<"moved_most_ns">> := Moved,
           <<"nodes">> := [_, #{<<"steps">> := 0, <<"windows">> := Windows}]}, Events} =
            clocks(Config, Logs),
        none_is_early(Events),
        %% After the clocks are corrected, an effect can still be earlier than its cause. The merge
        %% then moves the event, by at most the width of the intervals.
        true = Moved =< lists:max([H - L || #{<<"low_ns">> := L, <<"high_ns">> := H}
                                                <- Windows]),
        Trips = trips(raw(Config, Logs)),
        Began = ?NODE:call(Fast, ?MODULE, began, []),
        Ahead = fun(At) -> ahead(Start + ?HOURS, Began, At) end,
        ct:log("~p round trips, ~p", [length(Trips), [{W, Ahead(maps:get(<<"at">>, W))}
                                                      || W <- Windows]]),
        true = length(Windows) >= 3,
        [begin
             {Low, High} = Ahead(At),
             true = L =< -Low andalso -High =< H
         end || #{<<"at">> := At, <<"low_ns">> := L, <<"high_ns">> := H} <- Windows],
        %% The offset may drift by 500 ppm in each direction. NearNs is 1000 times the shortest
        %% round trip. So within NearNs of a window's middle, the offset drifts by at most half the
        %% shortest round trip. Therefore the window's interval is at most twice as wide as the
        %% shortest round trip is long.
        NearNs = 1000 * lists:min([Ns || {_, Ns} <- Trips]),
        Narrow = [{H - L, Smallest}
                  || #{<<"at">> := At, <<"low_ns">> := L, <<"high_ns">> := H} <- Windows,
                     Near <- [[Ns || {T, Ns} <- Trips, abs(T - At) < NearNs]],
                     length(Near) >= 50, Smallest <- [lists:min(Near)]],
        [] = [Wide || {Width, Smallest} = Wide <- Narrow, Width > 2 * Smallest],
        {comment, io_lib:format("~b of ~b windows with 50 messages near their middle",
                                [length(Narrow), length(Windows)])}
    after
        ct:log("~ts", [?NODE:said(Fast)]),
        ?NODE:stop(Fast)
    end.

%% Records a request that goes to the second node and back 110 times, which takes 2.2 s. Returns the
%% logs.
pinged(Config, [A, B] = Nodes) ->
    {Work, Beam, File} = code:get_object_code(inviso_seq_work),
    {?MODULE, Own, Here} = code:get_object_code(?MODULE),
    [{module, M} = ?NODE:call(N, code, load_binary, [M, F, Bin])
     || N <- Nodes, {M, F, Bin} <- [{Work, File, Beam}, {?MODULE, Here, Own}]],
    [Names, B1] = [lists:append(lists:join(",", [maps:get(name, N) || N <- L]))
                   || L <- [Nodes, [B]]],
    _ = ?NODE:call(B, Work, start, [echo]),
    pong = ?NODE:call(A, net_adm, ping, [list_to_atom(B1)]),
    Cmd = ?LIB:start(?config(opts, Config),
                     ["record", "--seq", "-n", Names, "-o", "pings", "--events", "10M",
                      "--for", "100s", "--requests", "1", "inviso_seq_work:ping/2"], 100000),
    [?LIB:until_tracing(?config(opts, Config), maps:get(name, N), Cmd) || N <- Nodes],
    ok = ?NODE:call(A, Work, pings, [list_to_atom(B1), 110]),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000),
    [_, _] = [L || N <- Nodes,
                   L <- filelib:wildcard(filename:join([?config(dir, Config), "pings",
                                                        maps:get(name, N) ++ "*.log"]))].

%% Returns the events with the times of the nodes that recorded them, without correction.
raw(Config, Logs) ->
    #{status := 0, out := Out} =
        ?LIB:run(?config(opts, Config), ["merge", "--json", "--order", "time", "-q" | Logs]),
    ?LIB:json(Out).

%% Returns {Time, Duration} for each round trip. Time is the second node's time when it received the
%% message. Duration is the time from sending to the answer, without the time that the second node
%% needed.
trips(Events) ->
    Times = maps:from_list(
              [{{Kind, binary_to_integer(Serial)}, Ts}
               || #{<<"tag">> := <<"seq_trace">>, <<"ts">> := Ts,
                    <<"payload">> := [Info | _]} <- Events,
                  {match, [Kind, Serial]}
                      <- [re:run(Info, "^{'?([a-z]+)'?,{[0-9]+,([0-9]+)}",
                                 [{capture, all_but_first, binary}])]]),
    [{There, (maps:get({<<"receive">>, Cur + 1}, Times) - Ts)
      - (maps:get({<<"send">>, Cur + 1}, Times) - There)}
     || {{<<"send">>, Cur}, Ts} <- maps:to_list(Times), Cur rem 2 =:= 1,
        There <- [maps:get({<<"receive">>, Cur}, Times)]].

none_is_early(Events) ->
    Times = maps:from_list([{I, Ts} || #{<<"id">> := I, <<"ts">> := Ts} <- Events]),
    [] = [E || #{<<"cause">> := C, <<"ts">> := Ts} = E <- Events, C =/= null,
               maps:get(C, Times) > Ts].

%% Returns the system time at which this node started.
began() ->
    erlang:convert_time_unit(erlang:system_info(start_time) + erlang:time_offset(),
                             native, nanosecond).

%% Returns the least and the greatest possible offset of the fast clock, in ns, when this clock
%% shows the time At. Start and Began are times of the fast clock, too: libfaketime set the clock
%% ahead after Start and before Began. On a busy machine Start and Began can be a second apart,
%% because a shell starts before the VM.
ahead(Start, Began, At) ->
    Drift = fun(Ns) -> Ns * 100 div 1000100 end,
    {?HOURS + Drift(At - Began), ?HOURS + Drift(At - Start)}.

%% Returns true if the true offset is in every interval. The intervals are widened by the offset's
%% drift within a minute.
is_inside(#{<<"windows">> := [_ | _] = Windows}, Truth) ->
    Drift = 60000000000 div 10000,
    lists:all(fun(#{<<"low_ns">> := Low, <<"high_ns">> := High}) ->
                      is_integer(Low) andalso is_integer(High) andalso Low =< High
                          andalso Low =< Truth + Drift andalso Truth - Drift =< High
              end, Windows).

%% Two commands record one node each. No command has compared the clocks of the two nodes, so merge
%% reports no offset.
two_commands(Config) ->
    [A, B] = ?config(nodes, Config),
    [LogA] = record(Config, "first", [A], []),
    [LogB] = record(Config, "second", [B], []),
    {#{<<"nodes">> := []}, _} = clocks(Config, [LogA, warped(LogB)]).

%% If a recording has only one node, the command writes no notes about clocks.
one_node(Config) ->
    [A | _] = ?config(nodes, Config),
    [Log] = record(Config, "single", [A], []),
    {none, [_ | _]} = clocks(Config, [Log]).

%% While the command asks the nodes for their time, it gets SIGINT. This must end the recording.
ctrl_c_at_once(Config) ->
    [ended_at_once(Config, N) || N <- lists:seq(1, 5)],
    ok.

ended_at_once(Config, N) ->
    Names = lists:join(",", [maps:get(name, Node) || Node <- ?config(nodes, Config)]),
    Name = "early" ++ integer_to_list(N),
    Cmd = ?LIB:start(?config(opts, Config),
                     ["record", "-n", lists:flatten(Names), "-o", Name, "--for", "20s",
                      "lists:seq/2"], 100000),
    armed(Cmd),
    #{status := 0, out := Out} = ?LIB:wait(Cmd, 100000),
    {match, _} = re:run(Out, "events recorded"),
    nomatch = re:run(Out, "20 s passed").

%% Sends SIGINT as soon as the command asks the nodes for their time. A shell sends the signal,
%% because asking takes only some milliseconds, and this node would react too late.
armed(#{os_pid := Pid, err := File}) ->
    "" = os:cmd(io_lib:format("until grep -q 'Ctrl-C ends it' ~ts 2>/dev/null; do "
                              "kill -0 ~b || exit; done; kill -INT ~b",
                              [File, Pid, Pid])).
