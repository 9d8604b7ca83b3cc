%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso top' on two nodes, whose processes and calls are known: what it
%% prints with --once, and what it shows on a terminal, which tmux provides.
-module(inviso_top_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1, end_per_testcase/2]).
-export([nodes_and_processes/1, functions/1, messages/1, for_people/1, many_processes/1,
         a_node_is_silent/1, a_node_is_lost/1, usage/1, the_command_is_killed/1,
         screen/1, trace_of_a_row/1, signals/1, stalled_terminal/1, no_terminal/1]).

-import(inviso_command_lib, [run/2, start/3, wait/2, signal/2, until/1, until_tracing/3,
                             json/1]).
-import(inviso_count_lib, [call/4, name/1, one/1, footprints/1, left/2,
                           contains/2]).

-define(WORK, inviso_top_work).
-define(FULL, <<"'full\\e[2J'">>).
-define(NODE, inviso_stock_node).

all() ->
    [nodes_and_processes, functions, messages, for_people, many_processes,
     the_command_is_killed, usage, screen, trace_of_a_row, signals, stalled_terminal,
     no_terminal, a_node_is_silent, a_node_is_lost].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case helper() of
        {ok, File} ->
            begun(File, inviso_count_lib:init([?WORK], Config));
        Skip ->
            Skip
    end.

begun(_, {skip, _} = Skip) ->
    Skip;
begun(File, Config) ->
    Copy = filename:join(?config(base, Config), "inviso_top"),
    {ok, _} = file:copy(File, Copy),
    ok = file:change_mode(Copy, 8#755),
    _ = [call(N, ?WORK, stand_out, []) || N <- ?config(nodes, Config)],
    Config.

%% If ncurses is missing, the helper program inviso_top was not built, or does not run.
helper() ->
    Ebin = filename:dirname(filename:absname(code:which(inviso))),
    Priv = os:getenv("INVISO_PRIV", filename:join(filename:dirname(Ebin), "priv")),
    File = filename:join(Priv, "inviso_top"),
    case filelib:is_regular(File) andalso os:cmd("'" ++ File ++ "' --version") of
        "inviso " ++ _ -> {ok, File};
        Why -> {skip, lists:flatten(io_lib:format("inviso_top: ~tp", [Why]))}
    end.

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(a_node_is_lost, _) -> ok;
end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

%%---------------------------------------------------------------------------
%% Helpers

names(Config) -> names_of(?config(nodes, Config)).

names_of(Nodes) -> lists:append(lists:join(",", [name(N) || N <- Nodes])).

once(Args, Config) ->
    Out = run(?config(opts, Config),
              ["top", "-n", names(Config), "--once", "--json" | Args]),
    #{status := 0, out := Json} = Out,
    json(Json).

of_type(Type, Objects) ->
    [O || #{<<"type">> := T} = O <- Objects, T =:= Type].

processes(Name, Objects) ->
    [O || #{<<"name">> := N} = O <- of_type(<<"process">>, Objects), N =:= Name].

binary(#{name := Name}) -> list_to_binary(Name).

%%---------------------------------------------------------------------------
%% For scripts

nodes_and_processes(Config) ->
    Nodes = ?config(nodes, Config),
    [One, Two] = footprints(Nodes),
    Objects = once(["--every", "600ms", "--for", "2s"], Config),
    Measured = of_type(<<"node">>, Objects),
    [] = [binary(N) || N <- Nodes] -- [Name || #{<<"node">> := Name} <- Measured],
    _ = [is_node(O) || O <- Measured],
    [is_process(Name, Key, Least, 2, Objects)
     || {Name, Key, Least}
            <- [{<<"'naïve 東京'"/utf8>>, <<"memory">>, 10000000},
                {<<"'full\\e[2J'">>, <<"mailbox">>, 20000},
                {<<"busy">>, <<"reductions_per_s">>, 1000}]],
    %% The command does not ask for the memory of a process with a long message queue.
    [null, null] = [M || #{<<"memory">> := M}
                             <- processes(<<"'full\\e[2J'">>, Objects)],
    [] = of_type(<<"function">>, Objects),
    [] = left(One, hd(Nodes)),
    [] = left(Two, lists:last(Nodes)).

is_node(#{<<"processes">> := N, <<"listed">> := Listed, <<"looked_at">> := Looked,
          <<"memory">> := #{<<"total">> := Total, <<"processes">> := Part},
          <<"uptime_ms">> := Up, <<"run_queue">> := Queue, <<"cost_ppm">> := _,
          <<"reductions_per_s">> := Reds}) ->
    true = Total > Part andalso Part > 10000000,
    true = Up > 0 andalso Queue >= 0 andalso Reds > 1000,
    %% There are few processes, so the node measures each of them in each interval.
    true = Looked >= Listed - 5 andalso abs(N - Listed) < 20.

is_process(Name, Key, Least, Nodes, Objects) ->
    Found = processes(Name, Objects),
    Nodes = length(Found),
    _ = [is_number(V) andalso V >= Least orelse error({Name, Key, V})
         || #{Key := V} <- Found],
    ok.

%% The output has the counts and quantiles of the calls on both nodes together. Only calls that
%% match the spec's condition are counted.
functions(Config) ->
    Opts = ?config(opts, Config),
    Cmd = start(Opts, ["top", "-n", names(Config), "--once", "--json", "--every",
                       "500ms", "--for", "200s", "inviso_top_work:pay(N) when N > 10",
                       "inviso_top_work:calls/1"], 240000),
    _ = [until_tracing(Opts, name(N), Cmd)
         || N <- ?config(nodes, Config)],
    _ = [ok = call(N, ?WORK, calls, [1010]) || N <- ?config(nodes, Config)],
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    Objects = json(Out),
    [#{<<"count">> := 2000, <<"unpaired">> := 0, <<"min">> := Min, <<"p50">> := P50,
       <<"p99">> := P99, <<"max">> := Max, <<"sum">> := Sum}]
        = [O || #{<<"key">> := <<"inviso_top_work:pay/1">>} = O <- Objects],
    true = 0 < Min andalso Min =< P50 andalso P50 =< P99 andalso P99 =< Max,
    true = Sum >= 2000 * Min andalso Sum =< 2000 * Max,
    [#{<<"count">> := 2}]
        = [O || #{<<"key">> := <<"inviso_top_work:calls/1">>} = O <- Objects],
    2 = length(of_type(<<"node">>, Objects)).

messages(Config) ->
    Opts = ?config(opts, Config),
    One = one(Config),
    Cmd = start(Opts, ["top", "-n", name(One), "--once", "--json", "--for", "200s",
                       "--messages", "--sort", "messages"], 240000),
    _ = until_tracing(Opts, name(One), Cmd),
    ok = call(One, ?WORK, send, [sink, 50000]),
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    Objects = json(Out),
    [#{<<"name">> := <<"sink">>, <<"messages_per_s">> := Most} | _]
        = of_type(<<"process">>, Objects),
    [#{<<"messages_per_s">> := All}] = of_type(<<"node">>, Objects),
    true = Most > 0 andalso All >= Most.

for_people(Config) ->
    #{status := 0, out := Out} =
        run(?config(opts, Config),
            ["top", "-n", names(Config), "--once", "--every", "600ms", "--sort",
             "mailbox", "--top", "4", "inviso_top_work:pay/1"]),
    contains(Out, <<"mailbox">>),
    contains(Out, <<"'full\\e[2J'">>),
    contains(Out, <<"20.0k       -">>),
    contains(Out, <<"no call yet">>),
    contains(Out, <<"-- measured for 600 ms; ">>),
    nomatch = binary:match(Out, <<"inviso_guard">>),
    nomatch = binary:match(Out, <<"\e">>),
    #{status := 0, out := Short} =
        run(?config(opts, Config),
            ["top", "-n", names(Config), "--once", "--quiet", "--every", "600ms"]),
    nomatch = binary:match(Short, <<"-- measured">>),
    contains(Short, <<"busy">>).

%% There are more processes than the node may measure in one interval. Still, the process with the
%% longest message queue is found. The output says how many processes were measured.
many_processes(Config) ->
    One = one(Config),
    Ps = call(One, ?WORK, crowd, [inviso_test_lib:soak(8000, 100000)]),
    try
        Objects = examined(["6s", "20s", "60s"], Config),
        [#{<<"listed">> := Listed, <<"looked_at">> := Looked}]
            = of_type(<<"node">>, Objects),
        true = Listed > 8000 andalso Looked < Listed,
        is_process(?FULL, <<"mailbox">>, 20000, 1, Objects)
    after
        call(One, ?WORK, leave, [Ps])
    end.

%% Runs the command for the first of the given times. If the output does not have the process with
%% the full mailbox, tries the next, longer time: a node with much other work examines fewer
%% processes in a second.
examined([For | More], Config) ->
    Cmd = start(?config(opts, Config),
                ["top", "-n", name(one(Config)), "--once", "--json", "--every", "200ms",
                 "--for", For], 120000),
    #{status := 0, out := Out} = wait(Cmd, 120000),
    Objects = json(Out),
    case processes(?FULL, Objects) of
        [] when More =/= [] -> examined(More, Config);
        _ -> Objects
    end.

%%---------------------------------------------------------------------------
%% What goes wrong

usage(Config) ->
    Opts = ?config(opts, Config),
    Name = name(one(Config)),
    _ = [begin
             #{status := 2, err := Err} = run(Opts, ["top", "-n", Name | Args]),
             contains(Err, Says)
         end || {Args, Says}
                    <- [{["--json"], <<"need --once">>},
                        {["--once", "--every", "1ms"], <<"200ms to 1m">>},
                        {["--once", "--sort", "size"], <<"not one of">>},
                        {["--once", "--sort", "messages"], <<"needs --messages">>},
                        {["--once", "--sort", "p99"], <<"SPEC">>},
                        {["--once", "--procs", "all"], <<"--procs needs">>},
                        {["--once", "a:b/1 -> return"], <<"an action">>},
                        {[], <<"no terminal">>}]],
    #{status := 5} = run(Opts, ["top", "-n", Name, "--once", "no_such_module:f/1"]),
    #{status := 3} = run(Opts, ["top", "-n", "nobody", "--once"]).

%% If the command is killed by kill -9, nothing stays on the nodes.
the_command_is_killed(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    Cmd = #{os_pid := Pid} =
        start(?config(opts, Config),
              ["top", "-n", names(Config), "--once", "--for", "200s", "--messages",
               "inviso_top_work:pay/1"], 240000),
    _ = [until_tracing(?config(opts, Config), name(N), Cmd)
         || N <- Nodes],
    "" = os:cmd(io_lib:format("kill -9 ~b", [Pid])),
    _ = wait(Cmd, 60000),
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)].

%% Each node has two sessions and a gauge. A node that does not answer is reported once, and once
%% more when the command no longer waits for it.
a_node_is_silent(Config) ->
    [One, #{os_pid := OsPid} = Two] = ?config(nodes, Config),
    Cmd = start(?config(opts, Config),
                ["top", "-n", names(Config), "--once", "--for", "200s", "--timeout", "20s",
                 "--messages", "inviso_top_work:pay/1"], 240000),
    _ = [until_tracing(?config(opts, Config), name(N), Cmd) || N <- [One, Two]],
    %% On a busy machine, the node may already have been silent for a while.
    Before = length(notes_of(Two, inviso_command_lib:err(Cmd))),
    ok = signal(OsPid, "STOP"),
    try
        until(fun() -> binary:match(inviso_command_lib:err(Cmd), <<"no longer waits">>) =/= nomatch
              end),
        ok = signal(Cmd, "INT"),
        #{status := 3, err := Err} = wait(Cmd, 120000),
        ["no answer for 2 s", Last] = lists:nthtail(Before, notes_of(Two, Err)),
        true = has(Last, "no longer waits")
    after
        ok = signal(OsPid, "CONT")
    end.

%% Returns the notes about a node.
notes_of(Node, Err) ->
    Prefix = "inviso top: " ++ name(Node) ++ ": ",
    [string:prefix(L, Prefix) || L <- string:split(unicode:characters_to_list(Err), "\n", all),
                                 string:prefix(L, Prefix) =/= nomatch].

%% A node with two sessions is reported once.
a_node_is_lost(Config) ->
    [_, #{os_pid := OsPid} = Two] = ?config(nodes, Config),
    Cmd = start(?config(opts, Config),
                ["top", "-n", names(Config), "--once", "--json", "--for", "200s",
                 "--messages", "inviso_top_work:pay/1"], 240000),
    _ = [until_tracing(?config(opts, Config), name(N), Cmd)
         || N <- ?config(nodes, Config)],
    ok = signal(OsPid, "KILL"),
    until(fun() -> binary:match(inviso_command_lib:err(Cmd),
                                list_to_binary(name(Two))) =/= nomatch
          end),
    ok = signal(Cmd, "INT"),
    #{status := 3, out := Out, err := Err} = wait(Cmd, 120000),
    [_] = notes_of(Two, Err),
    Objects = of_type(<<"node">>, json(Out)),
    [#{<<"node">> := Lost}] = [O || #{<<"error">> := _} = O <- Objects],
    Lost = binary(Two),
    [_] = [O || O <- Objects, not is_map_key(<<"error">>, O)],
    inviso_count_lib:released([one(Config)]).

%%---------------------------------------------------------------------------
%% The screen, in a terminal of tmux

%% Runs the command in a new terminal, and returns when the screen shows a pattern. When the command
%% has ended, the terminal prints its exit status, and whether the modes of the terminal are the
%% same as before.
terminal(Args, Pattern, Config) ->
    os:find_executable("tmux") =/= false
        orelse throw({skip, "NO TERMINAL WAS TRIED: there is no tmux"}),
    Dir = string:trim(os:cmd("mktemp -d /tmp/ict.XXXXXXXX")),
    Pid = filename:join(Dir, "pid"),
    #{cookie := Cookie, base := Base} = ?config(opts, Config),
    Line = io_lib:format(
             "env -u LC_ALL -u LANG HOME=~ts INVISO_COOKIE=~ts sh -c "
             "'B=$(stty -g); sh -c \"echo \\$\\$ >~ts; exec ~ts top -n ~ts ~ts\"; "
             "S=$?; [ \"$B\" = \"$(stty -g)\" ] && M=same || M=other; "
             "echo ended: $S modes: $M; sleep 1000'",
             [Dir, Cookie, Pid, filename:join(Base, "inviso"), names(Config),
              lists:join($\s, Args)]),
    T = #{socket => filename:join(Dir, "s"), dir => Dir, pid => Pid},
    "" = tmux(T, ["-f /dev/null -u new-session -d -x 80 -y 24 -s t ", quoted(Line)]),
    try
        shows(T, Pattern),
        T
    catch
        C:R:Stack ->
            closed(T),
            erlang:raise(C, R, Stack)
    end.

quoted(Text) ->
    [$', string:replace(Text, "'", "'\\''", all), $'].

tmux(#{socket := Socket}, Args) ->
    os:cmd(lists:flatten(["tmux -S ", Socket, " ", Args])).

closed(#{dir := Dir} = T) ->
    _ = tmux(T, "kill-server"),
    _ = os:cmd("rm -rf " ++ Dir),
    ok.

keys(T, Keys) ->
    "" = tmux(T, ["send-keys -t t ", Keys]),
    ok.

has(Line, Pattern) -> re:run(Line, Pattern, [unicode]) =/= nomatch.

%% Returns the lines of the screen.
lines(T) ->
    string:split(tmux(T, "capture-pane -p -t t"), "\n", all).

%% Waits until the screen shows a pattern.
shows(T, Pattern) -> shows_all(T, [Pattern]).

%% Waits until the screen shows all patterns and has the same lines twice in a row, so that it is
%% not being drawn. Returns its lines.
shows_all(T, Patterns) ->
    until(fun() ->
                  Lines = lines(T),
                  Same = put(screen, Lines) =:= Lines,
                  Same andalso lists:all(fun(P) ->
                                                 lists:any(fun(L) -> has(L, P) end, Lines)
                                         end, Patterns)
                      andalso Lines
          end).

%% Waits until the terminal has printed a line. The line may have moved off the screen because of
%% events that were printed later.
printed(T, Pattern) ->
    until(fun() ->
                  Text = tmux(T, "capture-pane -p -S - -t t"),
                  lists:any(fun(L) -> has(L, Pattern) end,
                            string:split(Text, "\n", all))
          end).

%% Waits until the first row of the table matches.
first_row(T, Pattern) ->
    until(fun() ->
                  case table(lines(T)) of
                      [_, First | _] -> has(First, Pattern);
                      _ -> false
                  end
          end).

%% Returns the lines of the table, with the line of its titles first.
table(Lines) ->
    lists:dropwhile(fun(L) -> not has(L, "^pid .*reds/s") end, Lines).

%% Checks that the terminal is as before the command: not on the alternate screen, with a visible
%% cursor, and in the same modes.
restored(T, Status) ->
    _ = shows(T, lists:flatten(io_lib:format("^ended: ~b modes: same", [Status]))),
    "0 1" = string:trim(tmux(T, "display -p -t t '#{alternate_on} #{cursor_flag}'")),
    ok.

in_terminal(Args, Pattern, Fun, Config) ->
    T = terminal(Args, Pattern, Config),
    try
        Fun(T)
    catch
        error:R:Stack ->
            erlang:raise(error, {R, {screen, lines(T)}}, Stack)
    after
        closed(T)
    end.

screen(Config) ->
    in_terminal(["--every", "300ms"], "busy", fun rows_and_keys/1, Config).

rows_and_keys(T) ->
    %% The process with the most work comes first. No line is longer than the screen is wide.
    true = first_row(T, "busy .*inviso_top_wor"),
    Lines = shows_all(T, ["^<.*busy .*inviso_top_wor", "^q quit"]),
    [] = [L || L <- Lines, string:length(L) > 80],
    %% Keys sort the table by message queue and by memory. Control characters in names are escaped.
    ok = keys(T, "b"),
    true = first_row(T, "full\\\\e\\[2J.* 20.0k +- "),
    ok = keys(T, "m"),
    true = first_row(T, "naïve 東京"),
    %% The terminal gets three other sizes. Until the command draws again, tmux shows a part of the
    %% old screen.
    "" = tmux(T, "resize-window -t t -x 120 -y 12"),
    Wide = shows_all(T, ["current function", "^q quit"]),
    [_ | _] = [L || L <- Wide, string:length(L) > 80],
    "" = tmux(T, "resize-window -t t -x 40 -y 10"),
    _ = until(fun() ->
                      Now = [L || L <- lines(T), L =/= ""],
                      length(Now) =:= 10 andalso has(lists:last(Now), "^q quit")
                          andalso lists:all(fun(L) -> string:length(L) =< 40 end, Now)
              end),
    "" = tmux(T, "resize-window -t t -x 80 -y 24"),
    _ = shows(T, "Tab table"),
    %% A frozen screen does not change.
    ok = keys(T, "f"),
    Frozen = shows_all(T, ["FROZEN", "^one", "^two", "[*]memory"]),
    [Uptime] = [L || L <- Frozen, has(L, "^one")],
    ok = keys(T, "'?'"),
    _ = shows(T, "choose a row"),
    ok = keys(T, "'?'"),
    Still = shows_all(T, ["[*]memory", "^one"]),
    [Uptime] = [L || L <- Still, has(L, "^one")],
    ok = keys(T, "f"),
    _ = until(fun() -> [L || L <- lines(T), L =:= Uptime] =:= [] end),
    ok = keys(T, "q"),
    restored(T, 0).

%% The key Enter traces the chosen function. When the trace has ended, the screen appears again.
trace_of_a_row(Config) ->
    One = one(Config),
    in_terminal(
      ["--every", "300ms", "inviso_top_work:pay/1"], "no call yet",
      fun(T) ->
              ok = call(One, ?WORK, calls, [10]),
              _ = shows(T, "^inviso_top_work:pay/1 "),
              ok = keys(T, "Enter"),
              _ = shows(T, "^[$] inviso trace .*inviso_top_work:pay/1"),
              _ = until(fun() ->
                                ok = call(One, ?WORK, calls, [1]),
                                string:find(lines(T), "inviso_top_work:pay(1)") =/= nomatch
                        end),
              ok = keys(T, "C-c"),
              _ = shows(T, "press Enter to return"),
              ok = keys(T, "Enter"),
              _ = shows(T, "^inviso_top_work:pay/1 "),
              ok = keys(T, "C-c"),
              restored(T, 0)
      end, Config).

%% A signal ends the command in the same way as a key does. It also does so while a trace runs. If
%% the command is killed with kill -9, the nodes remove everything themselves.
signals(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    _ = [in_terminal(["--every", "300ms", "inviso_top_work:pay/1"], "no call yet",
                     fun(T) -> killed(T, Signal), restored(T, 0) end, Config)
         || Signal <- ["TERM", "INT", "HUP"]],
    in_terminal(["--every", "300ms"], "busy",
                fun(T) ->
                        ok = keys(T, "Enter"),
                        true = printed(T, "^[$] inviso trace .*send receive"),
                        killed(T, "TERM"),
                        restored(T, 0)
                end, Config),
    in_terminal(["--every", "300ms"], "busy", fun(T) -> killed(T, "KILL") end, Config),
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)].

killed(#{pid := File}, Signal) ->
    {ok, Pid} = file:read_file(File),
    "" = os:cmd(io_lib:format("kill -~s ~s", [Signal, string:trim(Pid)])),
    ok.

%% tmux is stopped, so that the terminal takes only a part of the screen, or nothing. A signal still
%% ends the command, which restores the modes of the terminal. Nothing stays on the nodes.
stalled_terminal(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    _ = [in_terminal(["--every", "200ms", "inviso_top_work:pay/1"], "no call yet",
                     fun(T) -> stalled(T, Room, Signal) end, Config)
         || {Room, Signal} <- [{500, "TERM"}, {0, "HUP"}]],
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)].

stalled(#{pid := File} = T, Room, Signal) ->
    {ok, Pid} = file:read_file(File),
    [Server, Tty] = string:lexemes(tmux(T, "display -p -t t '#{pid} #{pane_tty}'"), " \n"),
    try
        "" = os:cmd("kill -STOP " ++ Server),
        Size = filled(Tty, 1000000),
        "" = os:cmd("kill -CONT " ++ Server),
        _ = shows(T, "no call yet"),
        "" = os:cmd("kill -STOP " ++ Server),
        _ = filled(Tty, Size - Room),
        %% The command draws some more screens, or tries to.
        timer:sleep(inviso_test_lib:soak(2000, 20000)),
        killed(T, Signal),
        until(fun() -> not filelib:is_dir("/proc/" ++ string:trim(binary_to_list(Pid))) end)
    after
        os:cmd("kill -CONT " ++ Server)
    end,
    %% If the last control sequence was not written completely, it ends in this line.
    _ = shows(T, " 0 modes: same").

%% Writes zero bytes, which terminals ignore, until the terminal takes no more. The kernel moves
%% bytes from one buffer to another, so there may be more space a moment later.
filled(Tty, Most) ->
    Said = os:cmd(lists:flatten(io_lib:format("dd if=/dev/zero bs=1 count=~b of=~ts "
                                              "oflag=nonblock,noctty", [Most, Tty]))),
    {match, [N]} = re:run(Said, "^([0-9]+) bytes", [multiline, {capture, all_but_first, list}]),
    case list_to_integer(N) of
        0 -> 0;
        Most -> Most;
        Some -> timer:sleep(200), Some + filled(Tty, Most - Some)
    end.

%% If ncurses does not know the terminal, the command prints an error and does not draw.
no_terminal(Config) ->
    #{cookie := Cookie, base := Base} = ?config(opts, Config),
    os:find_executable("script") =/= false
        orelse throw({skip, "there is no `script' of util-linux"}),
    Out = os:cmd(lists:flatten(
                   ["INVISO_COOKIE=", Cookie, " TERM=no-such script -qefc '",
                    filename:join(Base, "inviso"), " top -n ", name(one(Config)),
                    "' /dev/null; echo status $?"])),
    {match, _} = re:run(Out, "not known to ncurses"),
    {match, _} = re:run(Out, "status 2").
