%% SPDX-License-Identifier: Apache-2.0
%% The two parsers of selectors: inviso_spec on nodes, and c_src/match/selector.c in
%% the command. Both must select the same calls and messages.
-module(inviso_selector_SUITE).

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([forms_select_the_same/1, random_selectors_select_the_same/1,
         changed_texts_select_the_same/1, both_refuse_the_same/1,
         only_a_node_knows_groups/1]).

-include_lib("common_test/include/ct.hrl").

-define(GEN, inviso_selector_gen).

all() ->
    [forms_select_the_same, random_selectors_select_the_same,
     changed_texts_select_the_same, both_refuse_the_same,
     only_a_node_knows_groups].

suite() -> [{timetrap, {seconds, 300}}].

init_per_suite(Config) -> Config.

end_per_suite(_Config) -> ok.

init_per_testcase(Case, Config) ->
    ok = inviso_test_lib:seed(Case),
    Dir = filename:dirname(code:which(?MODULE)),
    Probe = filename:join(Dir, "inviso_arm_probe.beam"),
    [{port, open_port({spawn_executable,
                       filename:join(Dir, "selector_oracle")},
                      [{args, [atom_to_list(node()), Probe]},
                       {packet, 4}, binary, exit_status])} | Config].

end_per_testcase(_Case, Config) ->
    port_close(?config(port, Config)).

%% --- cases --------------------------------------------------------------------

forms_select_the_same(Config) ->
    Texts = ["lists", "lists:seq", "lists:seq/2", "lists:seq/_", "lists:seq/any",
             "{lists,seq,2}", "lists:'odd name'/1", "'Odd'", "lists:f()",
             "lists:'when'/1", " lists : seq / 2 ", "lists.", "lists:seq/2.",
             "shop_*", "shop_*:handle_*/3", "*:init/1", "lists:s*", "lists:*/2",
             "_:f/1", "'_':f/1", "lists:_",
             "shop_*:handle_*(_, stop) when 1 < 2",
             "Enum", "Enum.map", "Enum.map/2", "Shop.*", "Shop.*.add/2",
             "Shop.C*.add_*/2", "Shop.*/2", "*.add/2", ":lists.seq/2",
             ":shop_*.f", "Enum.ok?/1", "Enum.map!(_, x)", "Elixir.Enum.map/2",
             "send", "receive", "send(x)", "send(_, x)", "send(name, {a, B})",
             "receive(X) when X > 1", "receive(_, _, {a})",
             "send(%{id: id}) when id > 1", "receive({:a, _})",
             "send:f/1", "procs:f", "'receive':f/1", "app:f", "app",
             "lists:seq/2 [{[1,'_'],[],[]}]", "lists:seq [{'_',[],[]}]",
             "send [{['_',a],[],[]}]", "receive [{['_','_',a],[],[]}]",
             "lists:f(A, A)", "lists:f(A, _A, _A, _, _)",
             "lists:f(\"abc\" ++ T, [a, b] ++ T, [] ++ T)",
             "lists:f(<<1,2>>, <<\"ab\">>, <<>>, <<5:16>>)",
             "lists:f(1 + 2 * 3 - 4, -1, - 1, +1, 2#101, $a, $\\n, 1.5e3)",
             "lists:f(#{a => 1, b := _, \"k\" := [x | _]})",
             "inviso_arm_probe:f(#rec{a = 1, _ = 2})",
             "inviso_arm_probe:f(#rec{})",
             "lists:f(inviso_arm_probe#rec{a = X}) when X > 1",
             "send(inviso_arm_probe#rec{a = X}) when X#rec.b == 1",
             "lists:f(X) when X == inviso_arm_probe#rec{a = 1, b = 2}",
             "lists:f(X) when hd(X) > 1; X == 2",
             "lists:f(X) when erlang:is_list(X), erlang:hd(X) == 1",
             "lists:f(X) when X == {a, [b | X], #{k => X}, \"s\", <<1>>}",
             "lists:f(X, Y) when X + 1 > Y * 2 - 3 div 2, not (X == Y)",
             "lists:f(X) when X band 1 =:= 1 xor (X bor 2 =:= 3)",
             "lists:f(X) when X =:= 'a b' orelse X =:= [] andalso true",
             "lists:f(<0.1.2>, #Ref<0.1.2.3>, #Port<0.5>)",
             "Shop.f(#PID<0.1.2>, %Shop.Cart{id: 1}, [a: 1, b: x], c: x)",
             "Shop.f(nil, true, :\"odd one\", ?a, 'abc', ~c\"x\", <<1, 2>>)",
             "Shop.f(\"\\x{41}\\t\", 0x1f, 0b11, 0o7, 1_000, -1, 1.5)",
             "lists:f(1_0.2_5, 1.5e1_0, 16#f_f, 1_0, 1.2_5e-0_1)",
             "Shop.f(1_0.2_5, 1.5e1_0, 0xf_f, 1_0, 1.2_5e-0_1)",
             "Shop.f(x) when x in [1, :a] and not is_nil(x)",
             "Shop.f(x) when is_struct(x, Shop.Cart) or elem(x, 0) == 1",
             "Shop.f(x) when is_map_key(x, :id) when x == 1",
             "Shop.f(x, y) when rem(x, 2) == 1 && div(x, 2) != y || !(x === y)",
             "lists:f(X) when X > 1 -> return",
             "lists:f/1 -> return;caller", "Enum.map/2 :: return"],
    Different = [D || T <- Texts,
                      D <- [different(T, some_args(), Config)], D =/= same],
    [] = Different,
    [] = [T || T <- Texts, {error, _} <- [on_node(T)]].

random_selectors_select_the_same(Config) ->
    Counts = [random(Config) || _ <- lists:seq(1, inviso_test_lib:soak(1500, 50000))],
    %% Between 5 % and 50 % of the calls must be selected, so that the test has many calls of both
    %% kinds: calls that are selected, and calls that are not.
    {Yes, All} = {lists:sum([Y || {Y, _} <- Counts]),
                  lists:sum([N || {_, N} <- Counts])},
    ct:pal("~b of ~b calls are selected", [Yes, All]),
    true = Yes > All div 20 andalso Yes < All div 2.

random(Config) ->
    #{erlang := Erlang, elixir := Elixir, args := Args} = ?GEN:'case'(),
    same = different(Erlang, Args, Config),
    _ = [same = different(Elixir, Args, Config) || Elixir =/= none],
    {ok, _, Spec} = on_node(Erlang),
    Answers = [answer(Spec, A) || A <- Args],
    %% The parser recognizes Elixir's syntax of a call by the capital S at the beginning of the
    %% text. But an Elixir text for messages, such as send(x1), is also valid in Erlang's syntax, in
    %% which x1 is an atom and no variable. So Elixir texts for messages are not compared with the
    %% Erlang texts.
    _ = [begin
             {ok, _, Other} = on_node(Elixir),
             {Erlang, Elixir, Answers} =
                 {Erlang, Elixir, [answer(Other, A) || A <- Args]}
         end || Elixir =/= none, hd(Elixir) =:= $S],
    {length([1 || true <- Answers]), length(Answers)}.

%% If a text has a typing error, either both parsers refuse it, or both select
%% the same arguments.
changed_texts_select_the_same(Config) ->
    Cases = [begin
                 #{erlang := Erlang, elixir := Elixir, args := Args} =
                     ?GEN:'case'(),
                 Text = ?GEN:mutated(case Elixir of
                                         none -> Erlang;
                                         _ -> lists:nth(rand:uniform(2),
                                                        [Erlang, Elixir])
                                     end),
                 {Text, Args}
             end || _ <- lists:seq(1, inviso_test_lib:soak(1500, 50000))],
    %% Some kinds of texts are left out, because the parsers may treat them differently. Texts with
    %% a record: the record is found by the name of the module, and the change may be in this name.
    %% Texts that select messages: such a text can be invalid in one notation and valid in the
    %% other. Texts with numbers such as 1.2_5, or with integer(X) for is_integer(X): Erlang
    %% accepts these.
    %% On releases whose scanner refuses 1.5rem, also numbers with an operator directly after them.
    Left = "rec|send|[0-9]_|is_[,;]" ++
        case erl_scan:string("1.5rem 2") of
            {ok, _, _} -> "";
            {error, _, _} ->
                "|[0-9](rem|div|band|bor|bxor|bsl|bsr|and|andalso|or|orelse|xor|when)"
        end,
    [] = [D || {T, Args} <- Cases, re:run(T, Left) =:= nomatch,
               D <- [different(T, Args, Config)], D =/= same].

both_refuse_the_same(Config) ->
    Texts = ["", "1:f()", "lists:f(", "lists:f(A", "lists:f(A) A",
             "lists:f(A) when", "lists:f(A) when B", "lists:f(A) when A == 1 == 2",
             "lists:f(A) when (A", "lists:f(A = 1)", "lists:f(g(1))",
             "lists:f(#{A := 1})", "lists:f([A | b] ++ c)", "lists:f/300",
             "lists:f/x", "lists:f/1(A)", "lists:f/1 when true", "lists/1",
             "lists:f(<<A:8>>)", "lists:f(X) when X ++ [] == []",
             "lists:f(X) when [1] ++ a < [2]", "lists:f(X) when [1] -- [1] == []",
             "Shop.f(x) when [1] ++ [2] == [1, 2]", "Shop.f(x) when x -- [1] == []",
             "Shop.f(x) when [1] -- [1] == []",
             "lists:f(X) when _ == X", "lists:f(#nosuch{})",
             "inviso_arm_probe:f(#nosuch{})", "inviso_arm_probe:f(#rec{d = 1})",
             "inviso_arm_probe:f(X) when X#rec.d == 1",
             "inviso_arm_probe:f(X) when is_record(X, nosuch)",
             "send()", "send(A, B, C)", "receive(A, B, C, D)",
             "send x", "send when true", "lists:f(X) -> nosuch",
             "lists:f(X) -> ", "send(x) -> return", "lists:f/1 -> slow",
             "Shop.f(%{x => 1})", "Shop.f(\"#{x}\")", "Shop.f(x = 1)",
             "Shop.f(<<x>>)", "Shop.f(\"abc", "Shop.f(x) when y > 1",
             "Shop.f(a: 1, 2", "lists:f(X) when lists:member(X, [])",
             "lists:f(X) when nosuch(X)", "lists:seq/2 [{[1],[],[]}]",
             "lists:f(1_)", "lists:f(1.2_)", "lists:f(1__2)",
             "lists:f(1.2e1_)", "Shop.f(0x1_)", "Shop.f(0x_1)", "Shop.f(0b1__1)",
             "Shop.f(1.2_)", "Shop.f(1.2e1_)", "lists:seq/2 []",
             "lists:seq/2 [a]", "lists f", "lists:"],
    [] = [{T, on_node(T), in_command(T, Config)}
          || T <- Texts,
             {error, error} =/= {element(1, on_node(T)),
                                 element(1, in_command(T, Config))}],
    ok.

only_a_node_knows_groups(Config) ->
    [begin
         {ok, _, _} = on_node(T),
         {error, Why} = in_command(T, Config),
         true = string:find(Why, "use a wildcard") =/= nomatch
     end || T <- ["app(shop)", "app(shop):f/1", "behaviour(gen_server):init/1",
                  "behavior(GenServer).init/1"]].

%% --- comparing ----------------------------------------------------------------

some_args() ->
    [[], [1], [a], [x], ["abc"], [[1, 2]], [#{id => 2}], [{rec, 1, 2, 3}],
     [{rec, 1, 2, 2}], [1, 2], [name, {a, 1}], [a, a], [a, b], [1, 2, 3],
     [node, self(), {a}], ["abcx", "abx", "x"], [#{a => 1, b => 2, "k" => [x]}],
     [nil, true, 'odd one', $a, "abc", "x", <<1, 2>>], [7, -1, -1, 1, 5, $a, 10, 1500.0],
     [10.25, 1.5e10, 255, 10, 0.125],
     [a, 1, 1, 2, 3], [a, 1, 2, 2, 3], [[a, b | "x"], 1], [2]].

%% Compares the node's parser with the command's parser. Returns `same', or the text with both
%% results.
different(Text, Args, Config) ->
    Node = on_node(Text),
    Command = in_command(Text, Config),
    case {Node, Command} of
        {{error, _}, {error, _}} -> same;
        {{ok, What, Spec1}, {ok, What, Spec2}} ->
            case [A || A <- Args, answer(Spec1, A) =/= answer(Spec2, A)] of
                [] -> same;
                Differ -> {Text, Node, Command, Differ}
            end;
        _ -> {Text, Node, Command}
    end.

answer(Spec, Args) ->
    case erlang:match_spec_test(Args, Spec, trace) of
        {ok, Result, _, []} -> Result =/= false;
        {error, Why} -> {error, Why}
    end.

%% Returns the result of the node's parser in the form that the command's parser returns.
on_node(Text) ->
    case inviso_spec:parse(unicode:characters_to_binary(Text)) of
        {ok, #{kind := call} = Spec} ->
            #{module := M, modules := Modules, function := F,
              functions := Functions, arity := A, clauses := Clauses} = Spec,
            case Modules of
                {Group, _} when Group =/= glob -> ok;
                _ -> ok
            end,
            {ok, {call, {name(Modules, M), name(Functions, F), A}},
             match_spec(A, Clauses)};
        {ok, #{kind := Kind, clauses := Clauses}} ->
            {ok, Kind, match_spec('_', Clauses)};
        {ok, #{kind := Kind}} ->
            {error, Kind};
        {error, usage, Why} ->
            {error, Why}
    end.

name(one, Name) -> Name;
name({glob, ["", ""]}, _) -> '_';
name({glob, Texts}, _) -> {wild, lists:append(lists:join("*", Texts))};
name(Group, _) -> Group.

match_spec(A, []) -> match_spec(A, [{'_', [], []}]);
match_spec(A, Clauses) -> [clause(A, C) || C <- Clauses].

clause(A, {'_', Guards, _}) when is_integer(A) ->
    {lists:duplicate(A, '_'), Guards, []};
clause(_, {raw, Clause}) -> Clause;
clause(_, {Head, Guards, _}) -> {Head, Guards, []}.

in_command(Text, Config) ->
    Port = ?config(port, Config),
    port_command(Port, unicode:characters_to_binary(Text)),
    receive
        {Port, {data, Bin}} -> result(binary_to_term(Bin));
        {Port, {exit_status, S}} -> exit({oracle_died, S, Text})
    after 60000 -> exit({oracle_silent, Text})
    end.

result({ok, 0, {M, F, A}, {WildM, WildF}, Spec}) ->
    {ok, {call, {wild(WildM, M), wild(WildF, F), arity(A)}}, without(Spec)};
result({ok, 1, _, _, Spec}) -> {ok, send, Spec};
result({ok, 2, _, _, Spec}) -> {ok, 'receive', Spec};
result({error, Why}) -> {error, Why}.

wild(true, '*') -> '_';
wild(true, Name) -> {wild, atom_to_list(Name)};
wild(false, Name) -> Name.

arity(-1) -> '_';
arity(A) -> A.

%% Removes the actions of the clauses, because the results of on_node/1 have none.
without(Spec) -> [{H, G, []} || {H, G, _} <- Spec].
