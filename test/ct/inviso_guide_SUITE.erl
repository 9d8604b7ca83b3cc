%% SPDX-License-Identifier: Apache-2.0
%% Runs the examples of the chapters 1 to 10 and 13 of the guide, and the examples
%% in Erlang of the README, on nodes like those of the text. Compares the results
%% with what the text shows. inviso_many_nodes_SUITE runs the examples of chapter 18.
%% The output in the other chapters is not compared.
%%
%% A text contains these blocks:
%%
%%     ```erlang                  input for a node's shell, and its output
%%     (shop1@host)1> 1 + 1.
%%     2
%%     ```
%%     ```console                 commands and their output
%%     $ inviso status -n shop1@host
%%     ```
%%     ```erlang file=NAME        files for the examples' directory
%%     ```text file=NAME
%%
%% Pids, numbers of more than one digit, and N in `N events recorded' may differ.
%% `...' stands for anything. In the text, the nodes run in the directory /srv/shop.
%% inviso is on the code path of shop1, and not on the code path of shop2.
-module(inviso_guide_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([readme/1, overview/1, trace/1, record/1, cases/1, api/1,
         api_in_one_directory/1, autostart/1, trace_cases/1, tool/1,
         meta_tracing/1, meta_tracing_in_one_directory/1,
         trace_sessions/1, releases/1]).
%% These functions are called on the nodes.
-export([shell/0, eval/2]).

-import(inviso_test_lib, [call/4]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [readme, overview, trace, record, cases, api, api_in_one_directory,
     autostart, trace_cases, tool, meta_tracing,
     meta_tracing_in_one_directory, trace_sessions, releases].

init_per_testcase(Case, Config) ->
    case inviso_test_lib:product("inviso") of
        {ok, _} ->
            Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
            N1 = inviso_test_lib:shared_node(guide1, Dir),
            N2 = inviso_test_lib:start_stock_node(guide2, Dir),
            ok = inviso_test_lib:connect([N1, N2]),
            [{nodes, [{"shop1@host", with_shell(N1)},
                      {"shop2@host", with_shell(N2)}]} | Config];
        {skip, _} = Skip ->
            Skip
    end.

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || {_, N} <- ?config(nodes, Config)],
    ok.

readme(Config) ->
    [{_, N1} | _] = ?config(nodes, Config),
    examples("README.md", [{"shop@vm", N1}]).

overview(Config) -> chapter("1-overview.md", Config).

trace(Config) -> chapter("2-trace.md", Config).

record(Config) -> chapter("3-record.md", Config).

cases(Config) -> chapter("4-cases.md", Config).

api(Config) -> chapter("5-api.md", Config).

%% Runs the examples of the chapter on two nodes that have the same working directory, as a reader's
%% nodes may have.
api_in_one_directory(Config) ->
    [{_, N1}, _] = ?config(nodes, Config),
    in_one_directory("5-api.md", Config),
    %% The chapter removes its logs, but not the logs' copies.
    [] = filelib:wildcard(filename:join(dir(N1), "guide?_*.{log,ti}")).

autostart(Config) -> chapter("6-autostart.md", Config).

trace_cases(Config) -> chapter("7-trace-cases.md", Config).

tool(Config) -> chapter("8-tool.md", Config).

meta_tracing(Config) -> chapter("9-meta-tracing.md", Config).

meta_tracing_in_one_directory(Config) ->
    in_one_directory("9-meta-tracing.md", Config).

trace_sessions(Config) -> chapter("10-trace-sessions.md", Config).

releases(Config) -> chapter("13-releases.md", Config).

%% Starts a shell on a node: one process, which evaluates all lines.
with_shell(N) ->
    {Module, Bin, File} = code:get_object_code(?MODULE),
    {module, Module} = call(N, code, load_binary, [Module, File, Bin]),
    %% This process runs a fun without a name, as a user's shell does. So the output shows this
    %% process without a name, as it shows a user's shell.
    N#{shell => inviso_test_lib:spawn_call(N, erlang, apply,
                                           [fun ?MODULE:shell/0, []])}.

shell() ->
    receive
        {From, {Exprs, Bindings}} ->
            From ! {self(), try erl_eval:exprs(Exprs, Bindings) of
                                {value, Value, Next} -> {Value, Next}
                            catch
                                Class:Why -> {{Class, Why}, Bindings}
                            end},
            shell()
    end.

eval(Shell, Line) ->
    Shell ! {self(), Line},
    receive {Shell, Result} -> Result end.

%% --- running a text ---------------------------------------------------------

in_one_directory(Name, Config) ->
    [{_, N1}, {_, N2}] = ?config(nodes, Config),
    ok = call(N2, file, set_cwd, [dir(N1)]),
    chapter(Name, Config).

chapter(Name, Config) ->
    examples(filename:join(["docs", "guide", Name]), ?config(nodes, Config)).

examples(Path, Nodes) ->
    {ok, Text} = file:read_file(filename:join(root(), Path)),
    Blocks = blocks(string:split(unicode:characters_to_list(Text), "\n", all)),
    Steps = lists:append([steps(B) || B <- Blocks]),
    true = Steps =/= [],
    Wrong = lists:append(run(Steps, Nodes, [])),
    _ = [ct:pal("~ts~n-- expected~n~ts~n-- got~n~ts", [What, Expected, Got])
         || {What, Expected, Got} <- Wrong],
    [] = [What || {What, _, _} <- Wrong].

root() ->
    case os:getenv("INVISO_ROOT") of
        false -> filename:dirname(inviso_test_lib:ebin());
        Root -> Root
    end.

run([], _Nodes, _Bindings) ->
    [];
run([{file, Name, Lines} | Rest], [{_, N} | _] = Nodes, Bindings) ->
    Path = filename:join(dir(N), Name),
    ok = filelib:ensure_dir(Path),
    ok = file:write_file(Path, unicode:characters_to_binary(
                                 real(lists:join("\n", Lines), Nodes))),
    [[] | run(Rest, Nodes, Bindings)];
run([{command, Line, Expected} | Rest], [{_, N} | _] = Nodes, Bindings) ->
    Got = os:cmd("cd " ++ dir(N) ++ "; PATH=" ++ inviso_test_lib:priv()
                 ++ ":$PATH; INVISO_COOKIE=" ++
                     atom_to_list(erlang:get_cookie())
                 ++ "; export INVISO_COOKIE; { " ++ real(Line, Nodes)
                 ++ "; } 2>err || cat err"),
    [compared(Line, Expected, Got, Nodes) | run(Rest, Nodes, Bindings)];
run([{shell, Name, Line, Expected} | Rest], Nodes, Bindings) ->
    {_, N} = lists:keyfind(Name, 1, Nodes),
    {ok, Tokens, _} = erl_scan:string(real(Line, Nodes)),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {Value, Next} = call(N, ?MODULE, eval, [maps:get(shell, N),
                                            {Exprs, Bindings}]),
    Got = io_lib:format("~tp", [Value]),
    [compared(Line, Expected, lists:flatten(Got), Nodes)
     | run(Rest, Nodes, Next)].

dir(#{dir := Dir}) -> Dir.

%% Replaces the names that nodes have in the guide by their real names.
real(Text, Nodes) ->
    lists:foldl(fun({Name, #{name := Node}}, Acc) ->
                        replaced(Acc, Name, atom_to_list(Node))
                end, lists:flatten(Text), Nodes).

unreal(Text, Nodes) ->
    lists:foldl(fun({Name, #{name := Node}}, Acc) ->
                        Real = atom_to_list(Node),
                        replaced(replaced(Acc, "'" ++ Real ++ "'", Name),
                                 Real, Name)
                end, Text, Nodes).

replaced(Text, From, To) ->
    lists:flatten(string:replace(Text, From, To, all)).

%% If the guide shows no result for an expression, any result is right.
compared(_What, [], _Got, _Nodes) ->
    [];
compared(What, Lines, Got, [{_, N} | _] = Nodes) ->
    Shown = lists:flatten(lists:join("\n", Lines)),
    Expected = replaced(Shown, "/srv/shop", dir(N)),
    Pattern = replaced(quoted(plain(Expected)), "\\.\\.\\.", ".*"),
    case re:run(plain(unreal(Got, Nodes)), "^" ++ Pattern ++ "$",
                [{capture, none}, unicode, dotall]) of
        match -> [];
        nomatch -> [{What, Expected, Got}]
    end.

%% Replaces what may differ between runs, and removes white space.
plain(Text) ->
    lists:foldl(fun({Re, To}, Acc) ->
                        re:replace(Acc, Re, To,
                                   [global, unicode, {return, list}])
                end, Text,
                %% {ok,[N]} with a number N may be printed as a string.
                [{"{ok,(\"[^\"]\"|\"\\\\[^\"]\"|\\[[0-9]+\\])}", "{ok,[N]}"},
                 {"[0-9]+ events? recorded", "N events recorded"},
                 {", [0-9]+ came after the limit", ""},
                 {"-- +[0-9]+ {2,}", "-- N "},
                 {"[0-9.]+ [KM]?i?B in", "N in"}, {"erts [0-9.]+", "erts N"},
                 {"<[0-9]+\\.[0-9]+\\.[0-9]+>", "PID"},
                 {"[0-9]{2,}(\\.[0-9]+)?", "N"},
                 {"[0-9]\\.[0-9]+ ([um]?s)", "N \\1"},
                 {"\\s+", ""}]).

quoted(Text) ->
    re:replace(Text, "[][\\\\.^$*+?(){}|]", "\\\\&",
               [global, unicode, {return, list}]).

%% --- reading a text ---------------------------------------------------------

%% Returns the code blocks of the Markdown text, as {Info, Lines}.
blocks([]) ->
    [];
blocks(["```" ++ Info | Rest]) ->
    {Block, [_ | After]} = lists:splitwith(fun(L) -> L =/= "```" end, Rest),
    [{string:trim(Info), Block} | blocks(After)];
blocks([_ | Rest]) ->
    blocks(Rest).

steps({Info, Lines}) ->
    case {string:split(Info, "file="), Info} of
        {[_, Name], _} -> [{file, Name, Lines}];
        {_, "console"} -> commands(Lines);
        {_, "erlang"} -> expressions(Lines);
        _ -> []
    end.

commands([]) ->
    [];
commands(["$ " ++ Line | Rest]) ->
    {Said, Next} = lists:splitwith(fun(L) -> not lists:prefix("$ ", L) end,
                                   Rest),
    [{command, Line, Said} | commands(Next)].

expressions([]) ->
    [];
expressions(["" | Rest]) ->
    expressions(Rest);
expressions([Line | Rest]) ->
    {match, [Name, First]} = re:run(Line, "^\\(([^)]*)\\)[0-9]+> (.*)$",
                                    [{capture, all_but_first, list}, unicode]),
    {Expr, After} = expression(First, Rest),
    {Said, Next} = lists:splitwith(fun(L) -> not lists:prefix("(", L) end,
                                   After),
    [{shell, Name, Expr, [L || L <- Said, L =/= ""]} | expressions(Next)].

%% Returns an expression and the lines after it. An expression ends with a full
%% stop at the end of a line.
expression(Line, Rest) ->
    case {lists:suffix(".", Line), Rest} of
        {true, _} ->
            {Line, Rest};
        {false, [More | After]} ->
            expression(Line ++ "\n" ++ More, After)
    end.
