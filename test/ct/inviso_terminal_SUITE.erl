%% SPDX-License-Identifier: Apache-2.0
%% The command at a terminal, which `script' of util-linux provides. The test
%% types keys, and checks what the screen shows at the end.
-module(inviso_terminal_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([lines_fit_and_status_is_wiped/1, ctrl_c/1, held_output/1,
         no_colours/1, dumb_terminal/1, traced_text_commands_nothing/1,
         recording_shows_progress/1, errors_leave_a_clean_line/1, arming_shows_progress/1,
         a_slow_node_is_named/1, merge_tells_totals/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(COLUMNS, 60).

all() ->
    [lines_fit_and_status_is_wiped, ctrl_c, held_output,
     no_colours, dumb_terminal, traced_text_commands_nothing,
     recording_shows_progress, errors_leave_a_clean_line,
     arming_shows_progress, a_slow_node_is_named, merge_tells_totals].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case ?LIB:has("script") andalso ?LIB:has("stty") of
        true ->
            case ?LIB:base() of
                {ok, Base} -> [{base, Base} | Config];
                {skip, _} = Skip -> Skip
            end;
        false ->
            {skip, "NO TERMINAL WAS TRIED: there is no `script' of util-linux"}
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

a_node(Config) ->
    Node = ?NODE:start(?config(base, Config), #{}),
    _ = ?NODE:workload(Node, {worker, 5}),
    Node.

terminal(Config, Node, Args) ->
    terminal(Config, Node, Args, []).

terminal(Config, #{cookie := Cookie, home := Home, name := Name},
         [Command | Args], Env) ->
    Words = [filename:join(?config(base, Config), "inviso"), Command, "-n",
             Name | Args],
    Line = io_lib:format("stty cols ~b rows 20; exec ~ts",
                         [?COLUMNS, lists:join($\s, [quoted(W)
                                                     || W <- Words])]),
    open_port({spawn_executable, os:find_executable("script")},
              [{args, ["-qefc", lists:flatten(Line), "/dev/null"]},
               {env, [{"INVISO_COOKIE", Cookie}, {"HOME", Home},
                      {"TERM", "xterm"}, {"NO_COLOR", false},
                      {"SHELL", "/bin/sh"} | Env]},
               {cd, Home}, exit_status, binary]).

quoted(Word) ->
    [$', string:replace(Word, "'", "'\\''", all), $'].

%% Waits until the command has written text that matches a pattern, or has
%% ended. Returns all that it has written.
until_it_says(Port, Pattern, Seen) ->
    case re:run(Seen, Pattern) of
        {match, _} -> Seen;
        nomatch ->
            receive
                {Port, {data, Bin}} ->
                    until_it_says(Port, Pattern, <<Seen/binary, Bin/binary>>);
                {Port, {exit_status, S}} ->
                    error({ended, S, Seen})
            after 60000 ->
                    error({does_not_say, Pattern, Seen})
            end
    end.

ended(Port, Seen) ->
    receive
        {Port, {data, Bin}} -> ended(Port, <<Seen/binary, Bin/binary>>);
        {Port, {exit_status, S}} -> ct:log("~tp", [Seen]), {S, Seen}
    after 60000 ->
            error({does_not_end, Seen})
    end.

%% Returns the lines that a terminal shows for these bytes. The function knows
%% only the control sequences that the command uses: colours, and clearing to
%% the end of the line.
screen(Bytes) ->
    {ok, Csi} = re:compile("\e\\[[0-9;]*([a-zA-Z])"),
    Plain = re:replace(Bytes, "\e\\[[0-9;]*m", "", [global,
                                                    {return, binary}]),
    {match, _} = re:run(Plain, Csi),
    [line(L) || L <- binary:split(Plain, <<"\n">>, [global])].

line(Bytes) ->
    line(unicode:characters_to_list(Bytes), [], []).

%% Returns the line that the terminal shows after the remaining characters. Left is the text to the
%% left of the cursor, reversed. Right is the text to the right of the cursor.
line([], Left, Right) ->
    string:trim(lists:reverse(Left) ++ Right, trailing);
line([$\r | T], Left, Right) ->
    line(T, [], lists:reverse(Left) ++ Right);
line([$\e, $[, $K | T], Left, _Right) ->
    line(T, Left, []);
line([$\e | _] = T, _, _) ->
    error({not_understood, lists:sublist(T, 20)});
line([C | T], Left, []) when C >= $\s ->
    line(T, [C | Left], []);
line([C | T], Left, [_ | Right]) when C >= $\s ->
    line(T, [C | Left], Right).

last_line(Screen) ->
    lists:last([L || L <- Screen, L =/= ""]).

contains(Text, Words) ->
    [error({does_not_contain, W, Text})
     || W <- Words, re:run(Text, W, [unicode]) =:= nomatch],
    ok.

lacks(Text, Words) ->
    [error({contains, W, Text})
     || W <- Words, re:run(Text, W, [unicode]) =/= nomatch],
    ok.

lines_fit_and_status_is_wiped(Config) ->
    Node = a_node(Config),
    Port = terminal(Config, Node, ["trace", "--for", "100s", "--events", "0",
                                   "lists:seq/2"]),
    Status = until_it_says(Port, "events \\| 0 lost \\| [0-9.]+ (s|min) left",
                           <<>>),
    Lines = until_it_says(Port, "(?s)(?>(?:lists:seq.*?){20})", Status),
    true = port_command(Port, <<3>>),
    {0, Seen} = ended(Port, Lines),
    contains(Seen, ["\e\\[[0-9;]+m"]),
    Screen = screen(Seen),
    Events = [L || L <- Screen, string:find(L, "lists:seq") =/= nomatch],
    true = length(Events) > 10,
    [] = [L || L <- Events, string:length(L) > ?COLUMNS],
    [] = [L || L <- Screen, string:find(L, " left") =/= nomatch],
    "-- " ++ _ = last_line(Screen).

ctrl_c(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    Port = terminal(Config, Node, ["trace", "--for", "100s", "--events", "0",
                                   "lists:seq/2"]),
    Seen = until_it_says(Port, "lists:seq", <<>>),
    true = port_command(Port, <<3>>),
    {0, All} = ended(Port, Seen),
    Screen = screen(All),
    "-- " ++ _ = Last = last_line(Screen),
    contains(Last, ["recorded", "interrupted"]),
    [] = inviso_footprint:left(Before, Node, 90000).

%% Types Ctrl-S, which stops the output. When the time limit has passed, types Ctrl-Q. Then the
%% output continues.
held_output(Config) ->
    Node = a_node(Config),
    Port = terminal(Config, Node, ["trace", "--for", "6s", "--events", "0",
                                   "lists:seq/2"]),
    Seen = until_it_says(Port, "lists:seq", <<>>),
    true = port_command(Port, <<19>>),
    timer:sleep(9000),
    true = port_command(Port, <<17>>),
    {0, All} = ended(Port, Seen),
    contains(last_line(screen(All)), ["^-- .* 0 lost"]).

no_colours(Config) ->
    Node = a_node(Config),
    Args = ["trace", "--events", "6", "lists:seq/2"],
    {0, Seen} = ended(terminal(Config, Node, Args, [{"NO_COLOR", "1"}]),
                      <<>>),
    lacks(Seen, ["\e\\[[0-9;]*m"]),
    {0, Asked} = ended(terminal(Config, Node, ["trace", "--color", "always" |
                                               tl(Args)],
                                [{"NO_COLOR", "1"}]), <<>>),
    contains(Asked, ["\e\\[[0-9;]+m"]).

dumb_terminal(Config) ->
    Node = a_node(Config),
    Port = terminal(Config, Node, ["trace", "--events", "6", "lists:seq/2"],
                    [{"TERM", "dumb"}]),
    {0, Seen} = ended(Port, <<>>),
    contains(Seen, ["lists:seq"]),
    lacks(Seen, ["\e"]).

%% The command must not print control characters of traced texts.
traced_text_commands_nothing(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "register('evil\e[2J', self()), L = fun L() ->"
                  " lists:last([\"\e[2J\e]0;x\^G\", <<\"\e[2J\r\">>,"
                  " 'a\e[31m\r\n', {<<155, 50, 74>>, [155, 50, 74]}]),"
                  " lists:last(['\x{9b}2J']), timer:sleep(5), L() end, L()."),
    Port = terminal(Config, Node, ["trace", "--events", "12",
                                   "lists:last/1"]),
    {0, Seen} = ended(Port, <<>>),
    Evil = ["\e", "\^G", "\x{9b}"],
    %% The command's own control sequences only set colours and clear the line.
    Own = re:replace(Seen, "\e\\[([0-9;]*m|K)", "", [global,
                                                     {return, binary}]),
    contains(Own, ["call lists:"]),
    lacks(Own, Evil),
    Plain = terminal(Config, Node, ["trace", "--events", "12", "--json",
                                    "lists:last/1"]),
    {0, Json} = ended(Plain, <<>>),
    lacks(re:replace(Json, "\e\\[([0-9;]*m|K)", "", [global,
                                                     {return, binary}]),
          Evil),
    #{status := 0, out := Piped} =
        ?LIB:run(#{base => ?config(base, Config),
                   cookie => maps:get(cookie, Node)},
                 ["trace", "-n", maps:get(name, Node), "--events", "12",
                  "lists:last/1"]),
    contains(Piped, ["2J"]),
    lacks(Piped, Evil).

recording_shows_progress(Config) ->
    Node = a_node(Config),
    Port = terminal(Config, Node, ["record", "--for", "5s", "-o", "o",
                                   "lists:seq/2"]),
    {0, Seen} = ended(Port, <<>>),
    contains(Seen, ["left"]),
    Screen = screen(Seen),
    [] = [L || L <- Screen, string:find(L, " left") =/= nomatch],
    contains(lists:flatten(lists:join("\n", Screen)),
             ["[0-9]+ events recorded, 0 lost", "inviso merge"]).

errors_leave_a_clean_line(Config) ->
    Node = a_node(Config),
    Port = terminal(Config, Node, ["trace", "no_such_module:f/1"]),
    {5, Seen} = ended(Port, <<>>),
    Screen = [L || L <- screen(<<Seen/binary, "\e[K">>), L =/= ""],
    [] = [L || L <- Screen, string:prefix(L, "inviso trace: ") =:= nomatch].

%% Arming (setting the trace patterns of) many functions takes several steps.
arming_shows_progress(Config) ->
    Node = a_node(Config),
    _ = ?NODE:eval(Node, "[code:ensure_loaded(list_to_atom(filename:rootname("
                   "F))) || A <- [stdlib, kernel, compiler],"
                   " {ok, Fs} <- [file:list_dir(code:lib_dir(A, ebin))],"
                   " F <- Fs, filename:extension(F) =:= \".beam\"]."),
    Mods = [M || {M, File} <- ?NODE:call(Node, code, all_loaded, []),
                 is_list(File), string:find(File, "/stdlib-") =/= nomatch
                     orelse string:find(File, "/compiler-") =/= nomatch],
    Port = terminal(Config, Node,
                    ["trace", "--yes", "--procs", "new", "--events", "0",
                     "--for", "100s" | [atom_to_list(M) || M <- Mods]]),
    Seen = until_it_says(Port, "arming [0-9]+ of [0-9]+ functions", <<>>),
    true = port_command(Port, <<3>>),
    {0, _} = ended(Port, Seen).

a_slow_node_is_named(Config) ->
    #{os_pid := OsPid, name := Name} = Node = a_node(Config),
    ok = ?LIB:signal(OsPid, "STOP"),
    Port = terminal(Config, Node, ["trace", "--timeout", "100s",
                                   "lists:seq/2"]),
    Seen = until_it_says(Port, Name ++ ": waiting for it", <<>>),
    ok = ?LIB:signal(OsPid, "CONT"),
    {0, All} = ended(Port, Seen),
    contains(All, ["lists:seq"]).

merge_tells_totals(Config) ->
    #{home := Home, name := Name} = Node = a_node(Config),
    Record = terminal(Config, Node, ["record", "--for", "100s", "-o", "t",
                                     "lists:seq/2 -> return"]),
    Some = until_it_says(Record, "[1-9][0-9]+ events \\| 0 lost", <<>>),
    true = port_command(Record, <<3>>),
    {0, _} = ended(Record, Some),
    [Log] = filelib:wildcard(filename:join(Home, "t/*.log")),
    Command = filename:join(?config(base, Config), "inviso"),
    Port = open_port({spawn_executable, os:find_executable("script")},
                     [{args, ["-qefc", Command ++ " merge " ++ Log,
                              "/dev/null"]},
                      {env, [{"SHELL", "/bin/sh"}, {"TERM", "xterm"}]},
                      exit_status, binary]),
    {0, Seen} = ended(Port, <<>>),
    contains(last_line(screen(<<Seen/binary, "\e[K">>)),
             ["^-- " ++ Name ++ ": [0-9]+ events, 0 lost: [0-9]+ ",
              "call", "return_from"]).
