%% SPDX-License-Identifier: Apache-2.0
%% Events of the system monitor as specs of the commands. The tests provoke an event of
%% each kind on a node. If another tool is the system monitor, or becomes it, inviso
%% never disturbs this tool.
-module(inviso_system_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1, end_per_testcase/2]).
-export([each_kind/1, recorded/1, counted/1, another_tool_has_it/1,
         another_tool_takes_it/1, two_sessions/1, a_burst/1, killed/1,
         the_command_is_killed/1, usage/1]).

-import(inviso_command_lib, [run/2, wait/2, signal/2, until/1, json/1]).
-import(inviso_count_lib, [call/4, name/1, one/1, begun/4, ended/1, final/1,
                           footprints/1, left/2, released/1, contains/2]).

-define(WORK, inviso_system_work).

all() ->
    [each_kind, recorded, counted, another_tool_has_it, another_tool_takes_it,
     two_sessions, a_burst, killed, the_command_is_killed, usage].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case inviso_count_lib:init([?WORK], Config) of
        {skip, _} = Skip -> Skip;
        Started -> [{otp, otp(one(Started))} | Started]
    end.

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

otp(Node) ->
    list_to_integer(call(Node, erlang, system_info, [otp_release])).

opts(Config) -> ?config(opts, Config).

%% Returns true if the node has a single system monitor. From OTP 28 on, each trace session can have
%% a system monitor.
one_for_all(Config) -> ?config(otp, Config) < 28.

traced(Specs, Config) ->
    begun(["trace", "--json", "--events", "0", "--bytes", "0"], [one(Config)], Specs,
          Config).

%% Ends the command with SIGINT. Status 7 means that events were lost.
stopped(Cmd) ->
    ok = signal(Cmd, "INT"),
    #{out := Out, status := Status} = Result = wait(Cmd, 120000),
    true = lists:member(Status, [0, 7]),
    Result#{events => json(Out)}.

with_tag(Tag, Events) -> [E || #{<<"tag">> := T} = E <- Events, T =:= Tag].

%% Repeats the work until the command has printed an event with the tag.
provoke(Tag, Cmd, Work) ->
    Text = <<"\"tag\":\"", Tag/binary, "\"">>,
    until(fun() ->
                  Work(),
                  binary:match(inviso_command_lib:out(Cmd), Text) =/= nomatch
          end).

%%---------------------------------------------------------------------------

each_kind(Config) ->
    [One, #{os_pid := OsPid} = Two] = ?config(nodes, Config),
    Queue = ["long_message_queue(500)" || ?config(otp, Config) >= 27],
    Cmd = traced(["long_gc(1ms)", "long_schedule(1ms)", "large_heap(1mb)",
                  "busy_port", "busy_dist_port" | Queue], Config),
    Work = fun(F, Args) -> fun() -> _ = call(One, ?WORK, F, Args) end end,
    provoke(<<"long_gc">>, Cmd, Work(collects, [2000000])),
    provoke(<<"large_heap">>, Cmd, Work(collects, [2000000])),
    provoke(<<"long_schedule">>, Cmd, Work(runs_long, [2000000])),
    provoke(<<"busy_port">>, Cmd, Work(is_busy, [])),
    pong = call(One, net_adm, ping, [list_to_atom(name(Two))]),
    ok = signal(OsPid, "STOP"),
    try
        provoke(<<"busy_dist_port">>, Cmd, Work(is_busy_to, [list_to_atom(name(Two))]))
    after
        signal(OsPid, "CONT")
    end,
    _ = [provoke(<<"long_message_queue">>, Cmd, Work(is_flooded, [1000]))
         || Queue =/= []],
    #{events := Events} = stopped(Cmd),
    Payloads = fun(Tag) -> [P || #{<<"payload">> := [P]} <- with_tag(Tag, Events)] end,
    _ = [contains(P, <<"{timeout,">>) || Tag <- [<<"long_gc">>, <<"long_schedule">>],
                                         P <- Payloads(Tag)],
    _ = [contains(P, <<"heap_block_size">>) || Tag <- [<<"long_gc">>, <<"large_heap">>],
                                               P <- Payloads(Tag)],
    _ = [contains(P, <<"#Port<">>) || Tag <- [<<"busy_port">>, <<"busy_dist_port">>],
                                      P <- Payloads(Tag)],
    [] = lists:usort(Payloads(<<"long_message_queue">>)) -- [<<"true">>, <<"false">>],
    %% No reported time is below the threshold of 1 ms.
    [] = [P || P <- Payloads(<<"long_gc">>), timeout(P) < 1].

timeout(Payload) ->
    {match, [Ms]} = re:run(Payload, "timeout,([0-9]+)",
                           [{capture, all_but_first, list}]),
    list_to_integer(Ms).

%% Events of the system monitor are recorded together with calls, and are printed in the formats of
%% `inviso merge'. Filters apply to them in the node and in `inviso merge'.
recorded(Config) ->
    Name = name(one(Config)),
    Dir = filename:join(?config(base, Config), "recorded"),
    Cmd = begun(["record", "-o", Dir], [one(Config)],
                ["--filter", "[{[_,large_heap|_],[],[]},{[_,long_gc|_],[],[]}]",
                 "large_heap(1mb)", "long_gc(1ms)", "busy_port",
                 atom_to_list(?WORK) ++ ":collects/1"], Config),
    _ = until(fun() ->
                      _ = call(one(Config), ?WORK, collects, [2000000]),
                      _ = call(one(Config), ?WORK, is_busy, []),
                      #{status := 0, out := Out} =
                          run(opts(Config), ["status", "-n", Name, "--json"]),
                      [#{<<"sessions">> := [#{<<"recorded">> := N}]}] = json(Out),
                      N >= 4
              end),
    ok = signal(Cmd, "INT"),
    #{status := Status} = wait(Cmd, 120000),
    true = lists:member(Status, [0, 7]),
    [Log] = filelib:wildcard(filename:join(Dir, "*.log")),
    Merge = fun(Args) ->
                    #{status := 0, out := Out} =
                        run(opts(Config), ["merge" | Args] ++ [Log]),
                    Out
            end,
    Events = json(Merge(["--format", "json"])),
    [<<"large_heap">> | _] = Tags = lists:usort([T || #{<<"tag">> := T} <- Events]),
    [] = Tags -- [<<"large_heap">>, <<"long_gc">>],
    Heaps = with_tag(<<"large_heap">>, Events),
    [Heaps = json(Merge(["--format", "json" | Args]))
     || Args <- [["--filter", "large_heap"], ["--tag", "large_heap"]]],
    Text = Merge(["--tag", "large_heap"]),
    {match, _} = re:run(Text, "> (\\S+ )?large_heap heap [0-9.]+ [MG]iB\n"),
    #{status := 0, err := Totals} = run(opts(Config), ["merge", "--totals", Log]),
    contains(Totals, <<" large_heap">>),
    true = byte_size(Merge(["--format", "perfetto"])) > 0,
    ok.

counted(Config) ->
    Cmd = begun(["count", "--json"], [one(Config)], ["large_heap(1mb)", "busy_port"],
                Config),
    _ = [call(one(Config), ?WORK, collects, [1000000]) || _ <- lists:seq(1, 3)],
    {Objects, _} = ended(Cmd),
    #{<<"large_heap">> := #{<<"count">> := N, <<"kind">> := <<"event">>}} = final(Objects),
    true = N >= 3.

%% Another tool is the system monitor already. It stays the system monitor. If a node has only one
%% system monitor, the error message names the process of the tool.
another_tool_has_it(Config) ->
    {Tool, Set} = call(one(Config), ?WORK, holds, []),
    #{status := Status, err := Err} =
        run(opts(Config), ["trace", "-n", name(one(Config)), "--for", "100ms",
                           "long_gc"]),
    Set = call(one(Config), erlang, system_monitor, []),
    true = call(one(Config), erlang, exit, [Tool, kill]),
    case one_for_all(Config) of
        true ->
            4 = Status,
            contains(Err, <<"(another_tool)">>),
            contains(Err, <<"a system monitor already">>);
        false ->
            5 = Status % there was no event
    end.

another_tool_takes_it(Config) ->
    case one_for_all(Config) of
        true -> taken(Config);
        false -> {comment, "each session has its own"}
    end.

%% Another tool becomes the system monitor during the session. The session ends, and the tool stays
%% the system monitor.
taken(Config) ->
    Cmd = traced(["busy_port"], Config),
    {Tool, Set} = call(one(Config), ?WORK, holds, []),
    #{status := 1, err := Err} = wait(Cmd, 120000),
    contains(Err, <<"replaced this session's system monitor">>),
    contains(Err, <<"(another_tool)">>),
    Set = call(one(Config), erlang, system_monitor, []),
    true = call(one(Config), erlang, exit, [Tool, kill]),
    %% The session also notices if a tool only removes the system monitor.
    inviso_count_lib:released([one(Config)]),
    Removed = traced(["busy_port"], Config),
    {_, _} = call(one(Config), erlang, system_monitor, [undefined]),
    #{status := 1, err := Why} = wait(Removed, 120000),
    contains(Why, <<"removed this session's system monitor">>).

two_sessions(Config) ->
    Cmd = traced(["busy_port"], Config),
    #{status := Status, err := Err} =
        run(opts(Config), ["trace", "-n", name(one(Config)), "--for", "100ms",
                           "long_gc"]),
    case one_for_all(Config) of
        true ->
            4 = Status,
            contains(Err, <<"(session trace-">>);
        false ->
            5 = Status % there was no event
    end,
    #{status := 0} = stopped(Cmd).

%% 30000 reports come at the same time. The session's process cannot handle so many at once. So it
%% stops the reports, records those that wait, and starts the reports again.
a_burst(Config) ->
    case one_for_all(Config) of
        true -> burst(Config);
        false -> {comment, "the process has no name that a test can find"}
    end.

burst(Config) ->
    Node = one(Config),
    Cmd = traced(["busy_port"], Config),
    {Monitor, Options} = call(Node, erlang, system_monitor, []),
    N = 30000,
    true = call(Node, ?WORK, reports, [Monitor, N]) >= N,
    _ = until(fun() ->
                      call(Node, erlang, process_info, [Monitor, message_queue_len])
                          =:= {message_queue_len, 0} andalso
                          call(Node, erlang, system_monitor, []) =:= {Monitor, Options}
              end),
    #{err := Err, events := Events} = stopped(Cmd),
    contains(Err, <<"the system monitor was off 1 time, for">>),
    [#{<<"produced">> := N, <<"recorded">> := Recorded, <<"lost">> := Lost}] =
        [S || #{<<"produced">> := _} = S <- json_lines(Err)],
    N = Recorded + Lost,
    Recorded = length([E || #{<<"tag">> := <<"busy_port">>} = E <- Events]).

json_lines(Err) ->
    [inviso_trace_json:decode(L) || <<"{", _/binary>> = L <-
                                        inviso_command_lib:lines(Err)].

%% If the process that is the system monitor is killed, the VM removes the system monitor. The
%% session notices this.
killed(Config) ->
    case one_for_all(Config) of
        true ->
            Cmd = traced(["busy_port"], Config),
            {Monitor, _} = call(one(Config), erlang, system_monitor, []),
            true = call(one(Config), erlang, exit, [Monitor, kill]),
            #{status := 1, err := Err} = wait(Cmd, 120000),
            contains(Err, <<"was killed">>);
        false ->
            {comment, "the process has no name that a test can find"}
    end.

the_command_is_killed(Config) ->
    Before = footprints([one(Config)]),
    Cmd = traced(["busy_port", "large_heap(1mb)"], Config),
    ok = signal(Cmd, "KILL"),
    released([one(Config)]),
    [] = left(hd(Before), one(Config)),
    undefined = call(one(Config), erlang, system_monitor, []).

usage(Config) ->
    Old = [{["long_message_queue"], <<"OTP 27">>} || ?config(otp, Config) < 27],
    _ = [begin
             #{status := 2, err := Err} =
                 run(opts(Config), Command ++ ["-n", name(one(Config)) | Args]),
             contains(Err, Text)
         end || {Command, Cases} <-
                    [{["trace"],
                      [{["long_gc(1us)"], <<"long_gc(100ms)">>},
                       {["long_gc -> return"], <<"long_gc has none">>},
                       {["busy_port(1)"], <<"busy_port has no threshold">>},
                       {["large_heap(0)"], <<"above 0">>} | Old]},
                     {["hist"], [{["long_gc"], <<"has no duration">>}]},
                     {["seq"], [{["long_gc"], <<"begins a request">>}]}],
                {Args, Text} <- Cases],
    ok.
