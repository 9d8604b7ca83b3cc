%% SPDX-License-Identifier: Apache-2.0
%% @doc The bound on open calls: while returns are traced, the stack of a process
%% does not grow without end.
-module(inviso_open_calls_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([a_tail_loop/1, a_tail_loop_picked/1, a_deep_recursion/1,
         only_the_function_that_loops/1, two_functions_that_loop/1,
         a_recording/1, a_flight_recorder/1,
         clauses_with_and_without_returns/1,
         exceptions_are_ends/1, another_limit/1, no_limit/1,
         another_session/1, processes_come_and_go/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(WORK, inviso_open_calls_work).
-define(W, "inviso_open_calls_work:").
%% The largest stack space of an open call in words, on any release.
-define(FRAME, 8).

suite() -> [{timetrap, {minutes, 2}}].

all() ->
    [a_tail_loop, a_tail_loop_picked, a_deep_recursion,
     only_the_function_that_loops, two_functions_that_loop, a_recording,
     a_flight_recorder, clauses_with_and_without_returns, exceptions_are_ends, another_limit,
     no_limit, another_session, processes_come_and_go].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

a_node(Config) ->
    Node = ?NODE:start(?config(base, Config), #{uid => ?LIB:some_uid()}),
    {?WORK, Beam, File} = code:get_object_code(?WORK),
    {module, ?WORK} = ?NODE:call(Node, code, load_binary,
                                 [?WORK, File, Beam]),
    _ = ?NODE:call(Node, ?WORK, start, [looper]),
    Node.

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

run(Config, Node, [Command | Args]) ->
    ?LIB:run(opts(Config, Node),
             [Command, "-n", maps:get(name, Node) | Args]).

%% Starts a trace, calls Work, and ends the trace. Returns {Result of the command, Result of Work}.
traced(Config, Node, Args, Work) ->
    traced_as(Config, Node, ["--json" | Args], Work).

traced_as(Config, Node, Args, Work) ->
    Name = maps:get(name, Node),
    Opts = opts(Config, Node),
    Cmd = ?LIB:start(Opts, ["trace", "-n", Name, "--for", "2m",
                            "--events", "0", "--bytes", "1G" | Args], 180000),
    ok = ?LIB:until_tracing(Opts, Name, Cmd),
    Done = Work(),
    ok = ?LIB:signal(Cmd, "INT"),
    {?LIB:wait(Cmd, 60000), Done}.

%% Makes the process `looper' on the node call a function. Returns the result.
do(Node, F, Args) ->
    ?NODE:call(Node, ?WORK, do, [looper, F, Args]).

%% Returns the notes on functions whose returns are not recorded any more.
notes(Result) ->
    #{<<"nodes">> := [#{<<"notes">> := Notes}]} = summary(Result),
    stopped(Notes).

stopped(Texts) ->
    [T || T <- Texts, binary:match(T, <<"returns are not recorded any more">>)
                          =/= nomatch].

%% Returns the summary, which is a JSON object on standard error.
summary(#{err := Err, status := Status}) ->
    case [inviso_trace_json:decode(L) || <<"{", _/binary>> = L
                                             <- ?LIB:lines(Err)] of
        [Summary] -> Summary;
        _ -> error({no_summary, Status, Err})
    end.

%% Returns the ends of calls of a function in an output. Decodes no other lines,
%% because there may be a million.
ends(#{out := Out}, F) ->
    Ends = [inviso_trace_json:decode(L)
            || L <- ?LIB:lines(Out),
               binary:match(L, <<"\"end\":">>) =/= nomatch],
    [E || #{<<"function">> := F1} = E <- Ends, F1 =:= F].

%% --- a loop -----------------------------------------------------------------

%% When a loop by tail calls has reached the bound on open calls, the stack of its process does not
%% grow any more. A note names the function and the process. Later calls of the process that
%% are not recorded are counted.
a_tail_loop(Config) ->
    N = 1000000,
    Node = a_node(Config),
    {Result, Words} = traced(Config, Node, [?W "loop/1 -> return"],
                             fun() -> do(Node, loop, [N]) end),
    true = Words < 1100 * ?FRAME,
    [Note] = notes(Result),
    {match, _} = re:run(Note, ?W "loop/1: .* \\(looper\\) had 1000 traced calls"),
    #{<<"left_out">> := Left, <<"recorded">> := Recorded,
      <<"lost">> := Lost} = summary(Result),
    %% Each call is recorded, lost, or left out because of the bound. The ends of calls that were
    %% open when the bound was reached are not recorded.
    true = Left > 0,
    Ended = Left + Recorded + Lost - N - 1,
    true = Ended >= 0 andalso Ended =< 1000,
    true = Recorded > 1000,
    [] = ends(Result, <<"loop">>).

a_tail_loop_picked(Config) ->
    Node = a_node(Config),
    {#{err := Err}, Words} =
        traced_as(Config, Node, [?W "loop/1 -> slow(1ms)"],
                  fun() -> do(Node, loop, [1000000]) end),
    true = Words < 1100 * ?FRAME,
    [_] = stopped(?LIB:lines(Err)).

a_deep_recursion(Config) ->
    Node = a_node(Config),
    Work = fun() ->
                   12502500 = do(Node, sum, [5000]),
                   ?LIB:until(fun() -> released(Config, Node) =/= [] end),
                   3 = do(Node, sum, [2])
           end,
    {Result, 3} = traced(Config, Node, [?W "sum/1 -> return"], Work),
    [Note] = notes(Result),
    {match, _} = re:run(Note, ?W "sum/1: "),
    [] = ends(Result, <<"sum">>),
    %% The last calls were made after the bound was reached, so they are recorded without their
    %% ends.
    Last = inviso_trace_json:decode(lists:last(?LIB:lines(maps:get(out,
                                                                   Result)))),
    #{<<"tag">> := <<"call">>, <<"args">> := [<<"0">>]} = Last.

%% Returns the notes on functions whose returns are not recorded any more, from the status of the
%% sessions.
released(Config, Node) ->
    #{status := 0, out := Out} = run(Config, Node, ["status", "--json"]),
    [#{<<"sessions">> := Sessions}] = ?LIB:json(Out),
    lists:append([stopped(Notes) || #{<<"notes">> := Notes} <- Sessions]).

%% --- several functions --------------------------------------------------------

%% loop/2 reaches the bound, but the returns of help/1 are still recorded.
only_the_function_that_loops(Config) ->
    Node = a_node(Config),
    {Result, _} = traced(Config, Node,
                         [?W "loop/2 -> return", ?W "help/1 -> return"],
                         fun() -> loop_and_help(Config, Node) end),
    [Note] = notes(Result),
    {match, _} = re:run(Note, ?W "loop/2: "),
    check_ends(Result).

loop_and_help(Config, Node) ->
    true = until_released(Config, Node, 1, loop, [3000, help]),
    Words = do(Node, loop, [20000, help]),
    true = Words < 1100 * ?FRAME,
    Words.

%% The calls of loop/2 have no ends, and each end of help/1 belongs to its own
%% call.
check_ends(Result) ->
    [] = ends(Result, <<"loop">>),
    Ends = ends(Result, <<"help">>),
    [] = [E || #{<<"args">> := [A], <<"return">> := R} = E <- Ends, A =/= R],
    true = length(Ends) >= 20000,
    #{<<"args">> := [<<"1">>], <<"depth">> := Depth} = lists:last(Ends),
    %% The calls of loop/2 have no ends. Later calls must not be shown as calls inside loop/2.
    true = Depth < 20000.

two_functions_that_loop(Config) ->
    Node = a_node(Config),
    Work = fun() -> until_released(Config, Node, 2, ping, [4000]) end,
    {Result, true} = traced(Config, Node,
                            [?W "ping/1 -> return", ?W "pong/1 -> return"],
                            Work),
    [_, _] = notes(Result).

%% Calls the function in the process `looper' again and again, until there are notes on N functions.
until_released(Config, Node, N, F, Args) ->
    ?LIB:until(fun() ->
                       Words = do(Node, F, Args),
                       true = Words < N * 1100 * ?FRAME,
                       length(released(Config, Node)) >= N
               end).

%% --- a recording ----------------------------------------------------------------

a_recording(Config) ->
    Node = a_node(Config),
    Dir = maps:get(home, Node),
    #{status := 0} = run(Config, Node,
                         ["record", "--detach", "--for", "5m", "--name", "box",
                          ?W "loop/2 -> return", ?W "help/1 -> return"]),
    _ = loop_and_help(Config, Node),
    #{status := 0} = run(Config, Node, ["fetch", "--stop", "-o", Dir, "box"]),
    Log = filename:join(Dir, maps:get(name, Node) ++ "-box.log"),
    #{status := 0} = Merged =
        ?LIB:run(opts(Config, Node), ["merge", "--json", Log]),
    check_ends(Merged).

%% In the log, calls whose ends are recorded have a mark, and a note says that the log has these
%% marks. In a flight recorder this note may be overwritten. Even then, no call may be shown inside
%% a call whose end is not recorded.
a_flight_recorder(Config) ->
    Node = a_node(Config),
    Log = filename:join(maps:get(home, Node), "box"),
    Opts = opts(Config, Node),
    Cmd = ?LIB:start(Opts, ["record", "-n", maps:get(name, Node), "--keep",
                            "newest", "--buffer", "1M", "--for", "2m",
                            "--events", "0", "--rate", "0", "-o", Log,
                            ?W "pick(a, _) -> return; caller",
                            ?W "pick/2 -> caller"], 180000),
    ok = ?LIB:until_tracing(Opts, maps:get(name, Node), Cmd),
    ok = ?NODE:call(Node, ?WORK, flood, [picks, [b, 100000]]),
    [ok = do(Node, picks, [Which, 50]) || Which <- [b, a]],
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 7, out := Out} = ?LIB:wait(Cmd, 60000),
    {_, _} = binary:match(Out, <<"overwritten">>),
    Merged = ?LIB:run(Opts, ["merge", "--json", Log]),
    [0] = lists:usort([D || #{<<"depth">> := D} <- ends(Merged, <<"pick">>)]).

%% --- what is counted ------------------------------------------------------------

%% The returns of pick/2 are traced only for certain arguments. Calls with other arguments do not
%% count as open calls. A mark in the events tells the two kinds of calls apart. The output does not
%% show this mark.
clauses_with_and_without_returns(Config) ->
    Node = a_node(Config),
    Work = fun() ->
                   [ok = do(Node, picks, [Which, 1100]) || Which <- [b, a]]
           end,
    {Result, _} = traced(Config, Node, [?W "pick(a, _) -> return; caller",
                                        ?W "pick/2 -> caller"], Work),
    [] = notes(Result),
    #{<<"left_out">> := 0} = summary(Result),
    Out = maps:get(out, Result),
    nomatch = binary:match(Out, <<"inviso_ends">>),
    Ends = ends(Result, <<"pick">>),
    1100 = length(Ends),
    [<<"a">>] = lists:usort([A || #{<<"args">> := [A, _]} <- Ends]).

exceptions_are_ends(Config) ->
    Node = a_node(Config),
    {Result, ok} = traced(Config, Node, [?W "throws/1 -> return"],
                          fun() -> do(Node, twice, [throws, 3000]) end),
    [] = notes(Result),
    3000 = length(ends(Result, <<"throws">>)).

another_limit(Config) ->
    Node = a_node(Config),
    {Result, Words} = traced(Config, Node, ["--open-calls", "100",
                                            ?W "loop/1 -> return"],
                             fun() -> do(Node, loop, [10000]) end),
    true = Words < 110 * ?FRAME,
    [Note] = notes(Result),
    {match, _} = re:run(Note, "had 100 traced calls").

no_limit(Config) ->
    Node = a_node(Config),
    {Result, Words} = traced(Config, Node, ["--open-calls", "0",
                                            ?W "loop/1 -> return"],
                             fun() -> do(Node, loop, [10000]) end),
    true = Words > 3 * 10000,
    [] = notes(Result),
    10001 = length(ends(Result, <<"loop">>)).

%% --- others ---------------------------------------------------------------------

%% Two sessions trace the process: the session `other' traces help/1, and the command of traced/4
%% traces loop/2. `other' records each call of help/1, or counts it as left out. Before OTP 27 this
%% count can be too high, because it also includes calls of loop/2.
another_session(Config) ->
    N = 20000,
    Node = a_node(Config),
    #{status := 0} = run(Config, Node, ["record", "--detach", "--for", "5m",
                                        "--name", "other", ?W "help/1"]),
    {Result, Words} = traced(Config, Node, [?W "loop/2 -> return"],
                             fun() -> do(Node, loop, [N, help]) end),
    true = Words < 1100 * ?FRAME,
    [_] = notes(Result),
    #{status := 0, out := Out} = run(Config, Node, ["stop", "other", "--json"]),
    [#{<<"recorded">> := Recorded, <<"lost">> := 0, <<"left_out">> := Left,
       <<"notes">> := Notes}] = ?LIB:json(Out),
    true = Recorded + Left >= N,
    [] = stopped(Notes).

%% If a process reaches the bound and ends, its entry in the table of processes is used for another
%% process. The calls of this other process are recorded as usual.
processes_come_and_go(Config) ->
    Node = a_node(Config),
    Work = fun() ->
                   _ = [do(Node, loop, [10000]) || _ <- lists:seq(1, 3)],
                   [?NODE:call(Node, ?WORK, help, [I]) || I <- lists:seq(1, 50)]
           end,
    {Result, _} = traced(Config, Node,
                         [?W "loop/1 -> return", ?W "help/1 -> return"], Work),
    [_] = notes(Result),
    50 = length(ends(Result, <<"help">>)).
