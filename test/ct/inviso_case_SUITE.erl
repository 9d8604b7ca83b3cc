%% SPDX-License-Identifier: Apache-2.0
%% Trace cases: what a file may contain, how its calls are translated, and the
%% errors of wrong files. The last cases run `inviso case' on nodes.
-module(inviso_case_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([expressions_and_their_value/1,
         variables_are_bound_in_order/1,
         translations/1,
         translation_reaches_every_call/1,
         arguments_that_cannot_be_translated/1,
         a_variable_that_translation_removes/1,
         what_cannot_be_read/1,
         what_cannot_be_run/1,
         nothing_is_run_of_a_wrong_file/1,
         one_call/1,
         command_runs_and_undoes/1,
         command_follows_a_trace/1]).
%% In the tests of translations, calls are replaced by calls of these functions.
-export([said/1, swap/1, none/1, plus_one/1, tpl/4]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [expressions_and_their_value,
     variables_are_bound_in_order,
     translations,
     translation_reaches_every_call,
     arguments_that_cannot_be_translated,
     a_variable_that_translation_removes,
     what_cannot_be_read,
     what_cannot_be_run,
     nothing_is_run_of_a_wrong_file,
     one_call,
     command_runs_and_undoes,
     command_follows_a_trace].

init_per_testcase(Case, Config)
  when Case =:= command_runs_and_undoes; Case =:= command_follows_a_trace ->
    case inviso_command_lib:base() of
        {ok, Base} ->
            Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
            ok = filelib:ensure_dir(filename:join(Dir, "x")),
            Nodes = [inviso_test_lib:start_stock_node(Name, Dir)
                     || Name <- [case1, case2]],
            Cookie = atom_to_list(erlang:get_cookie()),
            [{nodes, Nodes}, {dir, Dir},
             {command, #{base => Base, cookie => Cookie, cd => Dir}} | Config];
        {skip, _} = Skip ->
            Skip
    end;
init_per_testcase(Case, Config) ->
    erase(said),
    [{file, filename:join(?config(priv_dir, Config),
                          atom_to_list(Case) ++ ".txt")} | Config].

end_per_testcase(Case, Config) ->
    _ = [inviso_command_lib:base_removed(Base)
         || {command, #{base := Base}} <- Config,
            Case =:= command_runs_and_undoes
                orelse Case =:= command_follows_a_trace],
    _ = [inviso_test_lib:stop_node(N) || N <- proplists:get_value(nodes, Config,
                                                                  [])],
    ok.

%% Tests inviso_case:run/3, read/1 and comment/1.
expressions_and_their_value(Config) ->
    {ok, 7, []} = run(Config, "3 + 4.", []),
    {ok, ok, []} = run(Config, "", []),
    {ok, [{a, <<"b">>}, 2.5, "str"], []} =
        run(Config, "% words\n[{a, <<\"b\">>}, 2.5,\n \"str\"].\n", []),
    {ok, [2, 4], [{'L', [1, 2]}]} =
        run(Config, "L = [1, 2], [X * 2 || X <- L].", []),
    {ok, #{a := 3}, _} = run(Config, "F = fun(X) -> X + 1 end. #{a => F(2)}.",
                             []),
    {ok, caught, []} = run(Config, "try error(x) catch _:_ -> caught end.", []),
    {ok, [233, 8364], []} = run(Config, <<"\"\\x{e9}€\"."/utf8>>, []),
    {ok, "\x{e9}", []} = run(Config, <<"\"", 16#e9, "\".">>, []),
    {ok, Case} = read(Config, "%%% What of\tit. %\nok."),
    "What of\tit." = inviso_case:comment(Case),
    {ok, None} = read(Config, "ok. % not at the beginning"),
    "" = inviso_case:comment(None).

%% Tests inviso_case:variables/1 and run/2.
variables_are_bound_in_order(Config) ->
    {ok, Case} = read(Config, "B = A + 1.\nC = lists:seq(A, Z).\n[Y || Y <- C]."),
    ['A', 'Z'] = inviso_case:variables(Case),
    {ok, [1, 2], [{'A', 1}, {'B', 2}, {'C', [1, 2]}, {'Z', 2}]} =
        inviso_case:run(Case, [{'A', 1}, {'Z', 2}]),
    %% If the caller gives a variable a value, the variable is bound:
    %% expressions match against the value, and the result's bindings contain
    %% it.
    {error, {_, 1, {error, {badmatch, 2}}}} =
        inviso_case:run(Case, [{'A', 1}, {'Z', 2}, {'B', 3}]),
    {ok, _, [_, _, _, {'More', x}, _]} =
        inviso_case:run(Case, [{'A', 1}, {'Z', 2}, {'More', x}]).

%% Tests all forms of translations, and inviso_case:transform/2.
translations(Config) ->
    Said = fun(Text, Ts) ->
                   {ok, Value, _} = inviso_case:run(file(Config, Text),
                                                    [{'X', 1}], Ts),
                   Value
           end,
    Me = ?MODULE,
    [1, 2, 3] = Said("a:b(nodes, 1, 2, 3).",
                     [{{a, b, 4}, {Me, said, {?MODULE, swap}}},
                      {{a, b, 3}, {no, such, x}}]),
    [1] = Said("a:b(a, [[1]]).",
               [{{a, b, 2}, {lists, append, {erlang, tl}}},
                {{lists, append, 1}, {no, such, x}},
                {{other, b, 2}, {no, such, x}}]),
    1 = Said("c(X).", [{{c, 1}, {erlang, abs, keep}}]),
    2 = Said("abs(-2).", [{{abs, 2}, {no, such, x}}]),
    2 = Said("abs(-2).", []),
    %% If two translations match, the first in the list is used.
    1 = Said("c(X).", [{{c, 1}, {erlang, abs, x}}, {{c, 1}, {no, such, x}}]).

said(X) -> X.

%% Used by a translation: gets the arguments of the call that is replaced, and returns the arguments
%% of the new call. The new call has one argument, a list of all old arguments except the first.
swap(Args) ->
    [lists:foldr(fun(A, Tail) -> {cons, 0, A, Tail} end, {nil, 0}, tl(Args))].

translation_reaches_every_call(Config) ->
    Text = "G = fun(Y) -> a(Y) end,"
        "try a(1) of 2 -> a(2) catch _:_ -> a(0) after a(9) end,"
        "case a(1) of 2 when abs(1) =:= 1 -> ok end,"
        "[a(3), #{k => a(4)}, {a(5)}, <<(a(6))>>,"
        " [a(Z) || Z <- [a(7)]], << <<(a(Z))>> || Z <- [1] >>,"
        " receive x -> no after 0 -> a(8) end, begin a(a(9)) end,"
        " if true -> a(10) end, G(11), a(1) + a(1), catch a(12),"
        " (fun H(0) -> a(0); H(N) -> H(N - 1) end)(3)].",
    {ok, [4, #{k := 5}, {6}, <<7>>, [9], <<2>>, 9, 11, 11, 12, 4, 13, 1], _} =
        inviso_case:run(file(Config, Text), [],
                        [{{a, 1}, {?MODULE, plus_one, x}},
                         {{?MODULE, plus_one, 1}, {no, such, x}}]).

plus_one(X) -> X + 1.

%% A call whose arguments cannot be translated is unchanged.
arguments_that_cannot_be_translated(Config) ->
    Ts = fun(TM, TF) -> [{{lists, reverse, 1}, {erlang, length, {TM, TF}}}] end,
    Reverse = fun(Translations) ->
                      {ok, V, _} = inviso_case:run(
                                     file(Config, "lists:reverse([1, 2])."), [],
                                     Translations),
                      V
              end,
    2 = Reverse(Ts(lists, reverse)),
    [2, 1] = Reverse(Ts(no_such, function)),
    [2, 1] = Reverse(Ts(?MODULE, none)).

none(_) -> no_list.

%% If a translation removes a variable, the variable needs no value.
a_variable_that_translation_removes(Config) ->
    Text = "inviso:tpl(Nodes, lists, F, '_', MS).",
    File = file(Config, Text),
    {ok, Whole} = inviso_case:read(File),
    ['F', 'MS', 'Nodes'] = inviso_case:variables(Whole),
    Ts = [{{inviso, tpl, 5}, {?MODULE, tpl, {erlang, tl}}}],
    {ok, Local} = inviso_case:read(File, Ts),
    ['F', 'MS'] = inviso_case:variables(Local),
    {ok, {lists, seq, '_', []}, _} =
        inviso_case:run(Local, [{'F', seq}, {'MS', []}]).

tpl(M, F, A, MS) -> {M, F, A, MS}.

what_cannot_be_read(Config) ->
    _ = [begin
             {error, {_, Line, _} = Why} = read(Config, Text),
             Told = inviso_case:format_error(Why),
             {Text, true} = {Text, string:find(Told, Words) =/= nomatch}
         end || {Line, Text, Words} <-
                    [{2, "ok.\nfoo(,).\nok.", "txt:2: syntax error before: ','"},
                     {3, "ok.\n\n\"x.", "txt:3: unterminated string"},
                     {3, "ok.\n1 +\n2\n", "txt:3: the last expression has no"},
                     {1, "f(X) -> X.", "txt:1: syntax error before: '->'"}]],
    {error, {"/no/such", 0, {file, enoent}} = None} =
        inviso_case:read("/no/such"),
    "/no/such: no such file or directory" = inviso_case:format_error(None),
    {error, None} = inviso_case:run("/no/such", [], []).

what_cannot_be_run(Config) ->
    _ = [begin
             {error, {_, Line, _} = Why} = run(Config, Text, [{'A', 1}]),
             Told = inviso_case:format_error(Why),
             {Text, true} = {Text, string:find(Told, Words) =/= nomatch}
         end || {Line, Text, Words} <-
                    [{2, "A.\nB.", "txt:2: variable B has no value"},
                     {2, "ok.\nlocal(1).", "txt:2: there is no function local/1 here"},
                     {3, "X = 1,\nY = X,\nlists:nth(Y + 5, []).",
                      "txt:3: error: "},
                     {2, "X = 1,\nno_such:function(X).",
                      "txt:2: there is no function no_such:function/1"},
                     {2, "ok.\nthrow(ball).", "txt:2: throw: ball"},
                     {2, "ok.\nexit(why).", "txt:2: exit: why"},
                     {1, "A = 2.", "txt:1: error: {badmatch,2}"}]].

%% Syntax errors and unbound variables of a file are found before its first expression is run.
nothing_is_run_of_a_wrong_file(Config) ->
    Begin = "erlang:put(said, yes).\n",
    {error, {_, 2, _}} = run(Config, Begin ++ "foo(.", []),
    {error, {_, 2, {unbound, 'X'}}} = run(Config, Begin ++ "X.", []),
    undefined = get(said),
    %% The effects of expressions that have run are not undone.
    {error, {_, 2, {error, x}}} = run(Config, Begin ++ "error(x).", []),
    yes = get(said).

%% Tests inviso_case:of_call/2.
one_call(_Config) ->
    Ts = [{{inviso, tpl, 5}, {?MODULE, tpl, {erlang, tl}}}],
    Args = [nodes, lists, seq, 2, [{'_', [], [{return_trace}]}]],
    {ok, {lists, seq, 2, [{'_', [], [{return_trace}]}]}, []} =
        inviso_case:run(inviso_case:of_call({inviso, tpl, Args}, Ts), []),
    {error, {"no:such/0", 0, {error, {undef, {no, such, 0}}}} = Why} =
        inviso_case:run(inviso_case:of_call({no, such, []}, []), []),
    "no:such/0: there is no function no:such/0" = inviso_case:format_error(Why).

%% --- the command ------------------------------------------------------------

%% Tests `inviso case run' and `undo' with recordings on two nodes. Nothing
%% stays on the nodes.
command_runs_and_undoes(Config) ->
    [N1, N2] = ?config(nodes, Config),
    On = nodes_of(Config),
    write(Config, "calls.case",
          "# What a function is called with.\n"
          "record\n--detach\n--for ${TIME:-10m}\n"
          "$MODULE:${FUNCTION:-_}/_ -> return\n"),
    {2, _, Lacks} = inviso(Config, ["case", "run", "calls.case" | On]),
    true = has(Lacks, "MODULE needs a value"),
    {0, Said, _} = inviso(Config, ["case", "run", "calls.case", "MODULE=lists",
                                   "FUNCTION=seq" | On]),
    true = has(Said, "calls: recording for 10 min"),
    true = has(Said, "inviso fetch"),
    _ = [[1, 2] = inviso_test_lib:call(N, lists, seq, [1, 2])
         || N <- [N1, N2]],
    %% The trace case is run again while it is active. This is refused, because
    %% the name of its session is in use.
    {4, _, Taken} = inviso(Config, ["case", "run", "calls.case", "MODULE=lists"
                                    | On]),
    true = has(Taken, "calls"),
    {0, Undone, _} = inviso(Config, ["case", "undo", "calls.case" | On]),
    [_, _] = [x || L <- string:split(Undone, "\n", all), has(L, "recorded")],
    {0, _, _} = inviso(Config, ["fetch", "-o", "got", "calls" | On]),
    _ = [begin
             {0, Merged, _} = inviso(Config, ["merge", Log]),
             true = has(Merged, "call lists:seq(1,2)"),
             true = has(Merged, "-> [1,2]")
         end || Log <- filelib:wildcard(filename:join(?config(dir, Config),
                                                      "got/*.log"))],
    %% The trace case can be run again, and undone with --remove.
    {0, _, _} = inviso(Config, ["case", "run", "calls.case", "MODULE=lists"
                                | On]),
    {0, _, _} = inviso(Config, ["case", "undo", "calls", "--remove" | On]),
    {5, _, _} = inviso(Config, ["case", "undo", "calls" | On]),
    _ = [begin
             inviso_test_lib:wait_until(
               fun() -> not inviso_test_lib:call(N, erlang, module_loaded,
                                                 [inviso_session]) end),
             {ok, []} = file:list_dir(Tmp)
         end || #{tmp := Tmp} = N <- [N1, N2]].

%% The trace case has the command `trace', so running it prints events. Options on the command line
%% override options in the file.
command_follows_a_trace(Config) ->
    [N1, _] = ?config(nodes, Config),
    write(Config, "seq.case", "trace\n--events 1000\n--for 30s\n"
          "lists:seq(From, $TO)"),
    {ok, Tokens, _} = erl_scan:string("F = fun F() -> lists:seq(1, 3), "
                                      "timer:sleep(20), F() end, F()."),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    _ = inviso_test_lib:spawn_call(N1, erl_eval, exprs, [Exprs, []]),
    {0, Out, _} = inviso(Config, ["case", "run", "seq.case", "--events", "2",
                                  "TO=3" | nodes_of(Config)]),
    true = has(Out, "call lists:seq(1,3)"),
    true = has(Out, "stopped: 2 events").

nodes_of(Config) ->
    lists:append([["-n", atom_to_list(Node)]
                  || #{name := Node} <- ?config(nodes, Config)]).

write(Config, Name, Text) ->
    ok = file:write_file(filename:join(?config(dir, Config), Name), Text).

inviso(Config, Args) ->
    #{status := Status, out := Out, err := Err} =
        inviso_command_lib:run(?config(command, Config), Args),
    {Status, unicode:characters_to_list(Out), unicode:characters_to_list(Err)}.

has(Text, Words) -> string:find(Text, Words) =/= nomatch.

%% --- helpers ----------------------------------------------------------------

file(Config, Text) ->
    File = ?config(file, Config),
    ok = file:write_file(File, Text),
    File.

read(Config, Text) -> inviso_case:read(file(Config, Text)).

run(Config, Text, Bindings) -> inviso_case:run(file(Config, Text), Bindings, []).
