%% SPDX-License-Identifier: Apache-2.0
%% @doc Names and terms with characters that have a special meaning in an output format. In every
%% format, the format's reader must find all events, and every name and term unchanged.
-module(inviso_hostile_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([formats_have_all_names/1, formats_have_all_terms/1, formats_have_all_nodes/1,
         pprof_has_all_names/1, pages_in_a_browser/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_hostile_work).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [formats_have_all_names, formats_have_all_terms, formats_have_all_nodes,
     pprof_has_all_names, pages_in_a_browser].

init_per_suite(Config0) ->
    case ?LIB:config(Config0, ["inviso", "inviso_spool", "inviso_tracer.so"]) of
        {skip, _} = Skip -> Skip;
        Config -> recorded(Config)
    end.

recorded(Config) ->
    Log = ?LIB:name(Config, "hostile.log"),
    Node = inviso_test_lib:start_node(hostile, ?LIB:dir(Config), ?LIB:node_args()),
    ok = inviso_test_lib:call(Node, inviso_tracer, load, [inviso_test_lib:priv()]),
    Small = ?LIB:name(Config, "small.log"),
    {ok, #{dropped := 0}} = inviso_test_lib:call(Node, ?WORK, play, [Log, ?WORK:names()]),
    {ok, #{dropped := 0}} = inviso_test_lib:call(Node, ?WORK, play, [Small, [name]]),
    inviso_test_lib:stop_node(Node),
    %% Common Test would print the facts if they were in Config.
    persistent_term:put(?MODULE, inviso_formats:read(Config, [Log], [])),
    [{log, Log}, {nodes, renamed(Config, Small)} | Config].

%% Makes a copy of the log for each hostile name of a node.
renamed(Config, Log) ->
    Tool = filename:join(filename:dirname(code:which(?MODULE)), "log_rename"),
    Dir = ?LIB:dir(Config),
    [begin
         Copy = filename:join(Dir, integer_to_list(N) ++ ".log"),
         ok = file:write_file(Copy ++ ".name", Name),
         {0, _} = ?LIB:command(Tool, [Log, Copy, Copy ++ ".name"]),
         Copy
     end || {N, {Name, _}} <- lists:enumerate(?WORK:nodes())].

end_per_suite(_Config) ->
    persistent_term:erase(?MODULE).

%% Returns what each format's reader found.
read() ->
    persistent_term:get(?MODULE).

%% JSON contains exactly the functions that were called, and the other formats contain the same
%% functions.
formats_have_all_names(_Config) ->
    Names = ?WORK:names(),
    Functions = lists:usort([{F, F, 1} || N <- Names, F <- [?WORK:function(N)]]),
    Requests = length(Names),
    Calls = 2 * Requests,
    #{functions := Functions, timed := Functions, calls := Calls, ended := Calls,
      requests := Requests, lost := 0} = inviso_formats:agree(read()),
    %% If the text of a process's name has more than 255 bytes, the log does not contain the name.
    Sorted = lists:usort([N || N <- Names, iolist_size(io_lib:format("~w", [N])) =< 255]),
    true = length(Sorted) =:= length(Names) - 3,
    Read = [{F, Found} || {F, #{names := Found}} <- read()],
    ct:log("names of processes: ~p", [[F || {F, _} <- Read]]),
    [] = [{F, Sorted -- Found, Found -- Sorted} || {F, Found} <- Read, Found =/= Sorted],
    true = lists:keymember("json", 1, Read).

%% If Erlang's parser reads the arguments that a format has printed, the result must be the
%% arguments of the calls.
formats_have_all_terms(_Config) ->
    Terms = lists:sort([[T] || N <- ?WORK:names(), Term <- [?WORK:term(N)],
                               T <- [Term, {fail, Term}]]),
    Read = [{F, lists:sort([parsed(T) || T <- Args()])} || {F, #{args := Args}} <- read()],
    ct:log("terms: ~p", [[F || {F, _} <- Read]]),
    [] = [{F, length(Found), lists:sublist(Found -- Terms, 2)} || {F, Found} <- Read,
                                                                  Found =/= Terms],
    [true = lists:keymember(F, 1, Read) || F <- ["json", "text", "etf", "perfetto", "otlp"]].

%% Returns the arguments of a call. In the format ctf, the text is the whole call, {M, F, Args}; in
%% other formats, only the arguments.
parsed(Text) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list([Text, "."])),
    case erl_parse:parse_term(Tokens) of
        {ok, {_, _, Args}} -> Args;
        {ok, Args} -> Args
    end.

%% In every format, all events of all nodes are found, and no file is outside the output.
formats_have_all_nodes(Config) ->
    Logs = ?config(nodes, Config),
    Nodes = lists:usort([Shown || {_, Shown} <- ?WORK:nodes()]),
    Calls = 2 * length(Nodes),
    Profiles = ["folded", "speedscope", "pprof", "callgrind", "svg"],
    Read = [{F, inviso_format_readers:read(F, Config, Logs, [O || By, O <- ["--by", "node"]])}
            || F <- inviso_formats:all(), By <- [lists:member(F, Profiles)]],
    [] = [{F, Key, Found} || {F, Facts} <- Read, Key <- [calls, call_events, ended],
                             #{Key := Found} <- [Facts], Found =/= Calls],
    [] = [{F, Nodes -- Found, Found -- Nodes} || {F, #{nodes := Found}} <- Read, Found =/= Nodes],
    [true = is_map_key(nodes, Facts) || {F, Facts} <- Read, F =:= "json" orelse F =:= "otlp"],
    Top = ?LIB:dir(Config),
    Dir = filename:join([Top, "1", "2", "3"]),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Written = [F || {F, Options} <- [{"ctf", []}, {"parquet", ["--partition", "node,hour"]}],
                    lists:member(F, inviso_formats:all()),
                    {0, _} <- [?LIB:command("inviso", ["merge", "-q", "-f", F,
                                                       "-o", filename:join(Dir, F)
                                                       | Options ++ Logs])]],
    [["1"], ["2"], ["3"], Written] =
        [lists:sort(element(2, file:list_dir(filename:join([Top | Path]))))
         || Path <- [[], ["1"], ["1", "2"], ["1", "2", "3"]]],
    %% DuckDB takes the node from the name of the directory.
    Found = iolist_to_binary(io_lib:format("~b,~b,~b\n", [Calls, length(Nodes), Calls])),
    case inviso_format_readers:duckdb(
           ["SELECT count(*), count(DISTINCT node), count(node) FROM '", Dir,
            "/parquet/calls/**/*.parquet'"]) of
        {skip, _} -> ok;
        Found -> ok
    end.

%% The program pprof shows the names as they were written, and does not treat them as names of C++.
pprof_has_all_names(Config) ->
    Dir = ?LIB:dir(Config),
    Build = filename:join(os:getenv("INVISO_ROOT", "."), "test/build-pprof"),
    case ?LIB:command("/bin/sh", [Build, Dir]) of
        {77, _} -> {skip, "no golang-github-google-pprof-dev"};
        {0, _} -> pprof_has_all_names(Config, Dir)
    end.

pprof_has_all_names(Config, Dir) ->
    File = ?LIB:name(Config, "hostile.pprof"),
    {0, _} = ?LIB:command("inviso", ["merge", "-q", "-f", "pprof", "-o", File,
                                     ?config(log, Config)]),
    {0, Raw} = ?LIB:command("/usr/bin/env", ["HOME=" ++ Dir, filename:join(Dir, "pprof"),
                                             "-raw", File]),
    {match, Places} = re:run(Raw, "^ +[0-9]+: 0x0 M=1 (.*) s=0(?:\\(\\))?$",
                             [global, multiline, {capture, [1], binary}]),
    Named = lists:sort([named(P) || [P] <- Places]),
    Names = lists:sort([{F, F} || N <- ?WORK:names(), F <- [?WORK:function(N)]]),
    {[], []} = {Names -- Named, Named -- Names}.

%% Returns the module and the name of a function that pprof has printed. After the function, pprof
%% prints a file and a line. The file is the module.
named(Place) ->
    {ok, [{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {integer, _, 1},
          {atom, _, M}, {':', _}, {integer, _, 0}], _} =
        erl_scan:string(unicode:characters_to_list(Place)),
    {M, F}.

%% In a browser, the pages show the names as text, and no script in a name runs.
pages_in_a_browser(Config) ->
    case os:find_executable("chromium") of
        false -> {skip, "no chromium"};
        Chromium -> pages_in_a_browser(Config, Chromium)
    end.

pages_in_a_browser(Config, Chromium) ->
    Logs = [?config(log, Config) | ?config(nodes, Config)],
    [begin
         File = ?LIB:name(Config, Name),
         {0, _} = ?LIB:command("inviso", Command ++ ["-q", "-o", File | Logs]),
         Dom = inviso_browser:dom(Config, Chromium, File),
         %% A browser ends a script at the first end tag. So this pattern, which also ends at the
         %% first end tag, matches exactly the scripts.
         Shown = re:replace(Dom, "<script.*?</script>", "", [dotall, global, {return, binary}]),
         {Name, {match, _}} = {Name, re:run(Shown, Ready)},
         {Name, {match, _}} = {Name, re:run(Shown, "'&lt;/title&gt;&lt;b&gt;'")},
         {Name, nomatch} = {Name, re:run(Shown, "<b>'|<!--['@]|<i>")}
     end || {Name, Command, Ready} <- pages(length(?WORK:names()) + length(?WORK:nodes()))].

%% Returns {File, Command, Pattern} for each page. The pattern matches a page whose scripts have
%% run.
pages(Names) ->
    Count = integer_to_list(2 * Names),
    [{"report.html", ["report"], ["<b>", Count, "</b><span>calls</span>"]},
     {"sequence.html", ["merge", "-f", "sequence"], "<h1 id=\"title\">[1-9]"},
     {"flame.svg", ["merge", "-f", "svg"], [" in ", Count, " calls</text>"]}].
