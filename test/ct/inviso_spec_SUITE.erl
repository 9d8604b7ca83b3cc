%% SPDX-License-Identifier: Apache-2.0
%% Tests the specs of users: for each form of spec, the match spec that it gives
%% and the calls of a live process that it selects; for each error, its text.
-module(inviso_spec_SUITE).

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([forms_give_their_match_specs/1,
         elixir_forms_give_the_same/1,
         patterns_catch_what_they_say/1,
         elixir_patterns_catch_what_they_say/1,
         actions_give_what_they_say/1,
         identifiers_are_compared/1,
         the_stack_is_offered_where_it_is_bounded/1,
         messages_have_patterns/1,
         raw_match_specs_are_taken_as_they_are/1,
         what_changes_more_than_a_recording_is_refused/1,
         records_are_those_of_the_module/1,
         errors_say_where_and_what/1,
         hostile_text_is_refused/1,
         atoms_are_made_of_the_text_only/1,
         a_flood_of_new_atoms_is_refused/1,
         processes_are_found_by_their_names/1]).

-define(P, inviso_arm_probe).

all() ->
    [forms_give_their_match_specs,
     elixir_forms_give_the_same,
     patterns_catch_what_they_say,
     elixir_patterns_catch_what_they_say,
     actions_give_what_they_say,
     identifiers_are_compared,
     the_stack_is_offered_where_it_is_bounded,
     messages_have_patterns,
     raw_match_specs_are_taken_as_they_are,
     what_changes_more_than_a_recording_is_refused,
     records_are_those_of_the_module,
     errors_say_where_and_what,
     hostile_text_is_refused,
     atoms_are_made_of_the_text_only,
     a_flood_of_new_atoms_is_refused,
     processes_are_found_by_their_names].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ok = ?P:elixir(),
    Config.

end_per_suite(_Config) ->
    _ = code:delete('Elixir.Inviso.Probe'),
    ok.

init_per_testcase(_Case, Config) -> Config.

end_per_testcase(_Case, _Config) -> ok.

parse(Text) -> inviso_spec:parse(unicode:characters_to_binary(Text)).

parsed(Text) ->
    {ok, Spec} = parse(Text),
    Spec.

words(Text) ->
    {error, usage, Why} = parse(Text),
    Why.

%% --- match specs of specs --------------------------------------------------

forms_give_their_match_specs(_Config) ->
    All = [{'_', [], []}],
    Table =
        [{"lists", '_', '_', All},
         {" lists ", '_', '_', All},
         {"lists.", '_', '_', All},
         {"lists:seq", seq, '_', All},
         {"lists:seq/2", seq, 2, All},
         {"lists:seq/_", seq, '_', All},
         {"lists:seq/'_'", seq, '_', All},
         {"{lists,seq,2}", seq, 2, All},
         {"lists:'odd name'/1", 'odd name', 1, All},
         {"lists:'when'/1", 'when', 1, All},
         {"lists:f()", f, 0, All},
         {"lists:f(_, _)", f, 2, All},
         {"lists:f(A, B)", f, 2, All},
         {"lists:f(A, A)", f, 2, [{['$1', '$1'], [], []}]},
         {"lists:f(a, 'B c', \"de\", $f, 1.5, -1, 16#ff, 1 + 2)", f, 8,
          [{[a, 'B c', "de", $f, 1.5, -1, 255, 3], [], []}]},
         {"lists:f([H|T], {x,_,H})", f, 2,
          [{[['$1' | '$2'], {x, '_', '$1'}], [], []}]},
         {"lists:f(\"abc\" ++ T, [a,b] ++ T)", f, 2,
          [{["abc" ++ '$1', [a, b | '$1']], [], []}]},
         {"lists:f(<<>>, <<1,2>>, <<\"abc\">>, <<5:16>>)", f, 4,
          [{[<<>>, <<1, 2>>, <<"abc">>, <<0, 5>>], [], []}]},
         {"lists:f(<<\"h\x{e9}\"/utf8>>)", f, 1,
          [{[<<104, 195, 169>>], [], []}]},
         {"lists:f(#{a := T, c := #{d := T}})", f, 1,
          [{[#{a => '$1', c => #{d => '$1'}}], [], []}]},
         {"lists:f(#{a => 1, \"k\" => _})", f, 1,
          [{[#{a => 1, "k" => '_'}], [], []}]},
         {"lists:f(X) when X > 1, X < 9", f, 1,
          [{['$1'], [{'>', '$1', 1}, {'<', '$1', 9}], []}]},
         {"lists:f(X) when X > 8; X < 2", f, 1,
          [{['$1'], [{'>', '$1', 8}], []}, {['$1'], [{'<', '$1', 2}], []}]},
         {"lists:f(X) when is_list(X) andalso length(X) > 2 orelse X =:= []", f,
          1, [{['$1'], [{'orelse', {'andalso', {is_list, '$1'},
                                    {'>', {length, '$1'}, 2}},
                         {'=:=', '$1', []}}], []}]},
         {"lists:f(X) when X == {a, <<\"b\">>, #{}}", f, 1,
          [{['$1'], [{'==', '$1', {{a, <<"b">>, #{}}}}], []}]},
         {"lists:f(X) when byte_size(X) > 3 -> return", f, 1,
          [{['$1'], [{'>', {byte_size, '$1'}, 3}], [return]}]},
         {"lists:f/1 -> return", f, 1, [{'_', [], [return]}]},
         {"lists:f/1 :: return", f, 1, [{'_', [], [return]}]},
         {"lists:f/1 -> return;caller", f, 1, [{'_', [], [caller, return]}]},
         {"lists:f/1 -> return , caller", f, 1, [{'_', [], [caller, return]}]},
         {"lists:f(_) -> count", f, 1, []},
         {"lists:f/1 -> count;time", f, 1, []},
         {"lists:f/1 -> count;return", f, 1, [{'_', [], [return]}]}],
    _ = [{Text, Fun, Arity, Clauses} =
             {Text, maps:get(function, S), maps:get(arity, S),
              maps:get(clauses, S)}
         || {Text, Fun, Arity, Clauses} <- Table, S <- [parsed(Text)]],
    #{exported := false} = parsed("lists"),
    #{exported := true} = parsed("lists:'_'"),
    #{exported := true} = parsed("lists:_"),
    #{counters := [count, time]} = parsed("lists:f/1 -> time;count"),
    _ = [#{kind := Kind} = parsed(Text)
         || {Text, Kind} <- [{"send", send}, {"receive", 'receive'},
                             {"procs", procs}, {"ports", ports},
                             {"running", running}, {"gc", garbage_collection},
                             {"garbage_collection", garbage_collection}]],
    %% A module may have the name of an event kind.
    _ = [#{kind := call} = parsed(Text)
         || Text <- ["send:f", "ports:'_'", "gc:f(X) when X > 1",
                     "'receive':f/1"]],
    ok.

elixir_forms_give_the_same(_Config) ->
    Same =
        [{"Enum", "'Elixir.Enum'"},
         {"Enum._", "'Elixir.Enum':_"},
         {"Enum.map/2", "'Elixir.Enum':map/2"},
         {"Enum.map/any", "'Elixir.Enum':map"},
         {"Elixir.Enum.map", "'Elixir.Enum':map"},
         {"Foo.Bar.baz!/1", "'Elixir.Foo.Bar':'baz!'/1"},
         {"Foo.ok?(x)", "'Elixir.Foo':'ok?'(X)"},
         {":lists.seq/2", "lists:seq/2"},
         {":lists", "lists"},
         {"Map.get(_, :foo)", "'Elixir.Map':get(_, foo)"},
         {"Map.get/2 :: return;caller", "'Elixir.Map':get/2 -> return;caller"},
         {"Map.get(_, n) -> slow(50ms)", "'Elixir.Map':get(_, N) -> slow(50ms)"},
         {"Map.get/2 :: slow(1.5s);failed, caller",
          "'Elixir.Map':get/2 -> slow(1.5s);failed, caller"},
         {"M.f(0x1e, 1.5e3)", "'Elixir.M':f(30, 1.5e3)"},
         {"M.f(nil, true, :\"a b\", Foo.Bar, ?a, 1_000, 0xff, -1)",
          "'Elixir.M':f(nil, true, 'a b', 'Elixir.Foo.Bar', $a, 1000, 255, -1)"},
         {"M.f(\"bin\", 'list', ~c\"list\", <<1, 2>>, \"h\x{e9}\\n\")",
          "'Elixir.M':f(<<\"bin\">>, \"list\", \"list\", <<1,2>>, "
          "<<104,195,169,10>>)"},
         {"M.f(%{a: x, \"k\" => x})", "'Elixir.M':f(#{a := X, <<\"k\">> := X})"},
         {"M.f(%Foo{a: 1}, %Foo{})",
          "'Elixir.M':f(#{'__struct__' := 'Elixir.Foo', a := 1}, "
          "#{'__struct__' := 'Elixir.Foo'})"},
         {"M.f([a: 1, b: {:x, y}], z: y)",
          "'Elixir.M':f([{a,1},{b,{x,Y}}], [{z,Y}])"},
         {"M.f({:ok, a: 1}, [h | t])", "'Elixir.M':f({ok,[{a,1}]}, [H|T])"},
         {"M.f([1, x: [y: 2]])", "'Elixir.M':f([1,{x,[{y,2}]}])"},
         {"M.f(a, b) when is_map(a) and b in [:x, :y] -> return",
          "'Elixir.M':f(A, B) when is_map(A) andalso (B =:= x orelse B =:= y)"
          " -> return"},
         {"M.f(a) when a != 1 when a === 2 or a !== 3 and a <= 4",
          "'Elixir.M':f(A) when A /= 1; "
          "A =:= 2 orelse A =/= 3 andalso A =< 4"},
         {"M.f(t) when elem(t, 1) == 3 and not is_nil(t)",
          "'Elixir.M':f(T) when element(2, T) == 3 andalso not (T =:= nil)"},
         {"M.f(t) when is_map_key(t, :a) and rem(div(hd(t), 2), 3) == 0",
          "'Elixir.M':f(T) when is_map_key(a, T) andalso "
          "(hd(T) div 2) rem 3 == 0"},
         {"M.f(x) when :erlang.map_get(:a, x) == 1",
          "'Elixir.M':f(X) when erlang:map_get(a, X) == 1"}],
    _ = [{E, M} = {E, maps:without([text, elixir], parsed(E))}
         || {E, Erl} <- Same,
            M <- [maps:without([text, elixir], parsed(Erl))]],
    Messages = [{"send({:tag, _})", "send({tag, _})"},
                {"send(to, %{a: to})", "send(To, #{a := To})"},
                {"receive({:reply, x}) when x > 1",
                 "receive({reply, X}) when X > 1"}],
    _ = [C = maps:get(clauses, parsed(E))
         || {E, Erl} <- Messages, C <- [maps:get(clauses, parsed(Erl))]],
    %% Erlang's is_map_key(Key, Map) has its arguments in another order than
    %% Elixir's is_map_key(Map, Key).
    #{clauses := [{_, [{is_map_key, a, '$1'}], _}]} =
        parsed("lists:f(X) when is_map_key(a, X)"),
    ok.

%% --- calls that match ------------------------------------------------------

patterns_catch_what_they_say(_Config) ->
    Pid = self(),
    Table =
        [{"f/1", [[a], [1]], []},
         {"f(a)", [[a]], [[b], ["a"]]},
         {"f(_, _)", [[a, b]], []},
         {"f(A, A)", [[x, x], [[1], [1]]], [[x, y], [1, 1.0]]},
         {"f({ok, X}, X)", [[{ok, 1}, 1]], [[{ok, 1}, 2], [{error, 1}, 1]]},
         {"f([H|T])", [[[a]], ["abc"]], [[[]], [a]]},
         {"f([a|_])", [[[a, b]], [[a | b]]], [[[b]]]},
         {"f(\"abc\" ++ T)", [["abc"], ["abcd"]], [["ab"], ["xabc"]]},
         {"f(<<\"abc\">>)", [[<<"abc">>]], [[<<"abcd">>], ["abc"]]},
         {"f(#{a := 1})", [[#{a => 1}], [#{a => 1, b => 2}]],
          [[#{a => 2}], [#{b => 1}], [a]]},
         {"f(#{a := T, c := #{d := T}})",
          [[#{a => 1, c => #{d => 1}}]],
          [[#{a => 1, c => #{d => 2}}], [#{a => 1, c => 1}]]},
         {"f(#rec{a = 1})", [[{rec, 1, 2, 3}]],
          [[{rec, 2, 2, 3}], [{rec, 1, 2}], [{other, 1, 2, 3}]]},
         {"f(X) when is_record(X, rec)", [[{rec, 1, 2, 3}]], [[{rec, 1}]]},
         {"f(X) when X#rec.b > 1", [[{rec, 1, 2, 3}]], [[{rec, 1, 1, 3}], [x]]},
         {"f(X) when X > 8; X < 2", [[9], [1]], [[2], [5]]},
         {"f(X) when X > 2, X < 8", [[5]], [[1], [9]]},
         {"f(X) when byte_size(X) > 2, binary_part(X, 0, 2) =:= <<\"ab\">>",
          [[<<"abc">>]], [[<<"ab">>], [<<"xbc">>]]},
         {"f(X) when hd(X) =:= 1", [[[1]]], [[[2]], [a]]},
         {"f(X) when node(X) =:= node()", [[Pid]], [[a]]},
         {"f(1.0)", [[1.0]], [[1]]},
         {"f(_, X) when length(X) > 1", [[a, [1, 2]]], [[a, [1]], [a, b]]}],
    _ = [check(Text, f, Yes, No)
         || {Text, Yes, No} <- Table],
    %% A spec that is only a module selects all functions of the module. If the
    %% function is '_', the spec selects the exported functions.
    [[{call, {?P, g, [1]}}, {call, {?P, hidden, [1]}}]] =
        ?P:caught([<<"inviso_arm_probe">>], {?P, g}, [[1]]),
    [[{call, {?P, g, [1]}}]] =
        ?P:caught([<<"inviso_arm_probe:'_'">>], {?P, g}, [[1]]),
    [[{call, {?P, hidden, [1]}}]] =
        ?P:caught([<<"inviso_arm_probe:hidden">>], {?P, g}, [[1]]),
    [[], [{call, _}], []] = caught_arities("inviso_arm_probe:f/2"),
    [[{call, _}], [{call, _}], [{call, _}]] =
        caught_arities("inviso_arm_probe:f"),
    [[{call, {?P, 'odd name', [1]}}]] =
        ?P:caught([<<"inviso_arm_probe:'odd name'/1">>], {?P, 'odd name'},
                  [[1]]),
    ok.

caught_arities(Text) ->
    ?P:caught([list_to_binary(Text)], {?P, f}, [[1], [1, 2], [1, 2, 3]]).

check(Text, F, Yes, No) ->
    Spec = unicode:characters_to_binary(["inviso_arm_probe:", Text]),
    Events = ?P:caught([Spec], {?P, F}, Yes ++ No),
    {YesEvents, NoEvents} = lists:split(length(Yes), Events),
    {Text, Expected} = {Text, YesEvents},
    Expected = [[{call, {?P, F, Args}}] || Args <- Yes],
    {Text, []} = {Text, lists:append(NoEvents)},
    ok.

elixir_patterns_catch_what_they_say(_Config) ->
    M = 'Elixir.Inviso.Probe',
    Table =
        [{"Inviso.Probe.get/2", [[1, 2]], []},
         {"Inviso.Probe.get(_, :foo)", [[a, foo]], [[a, bar]]},
         {"Inviso.Probe.get(%{a: x}, x)", [[#{a => 1}, 1]], [[#{a => 1}, 2]]},
         {"Inviso.Probe.get(\"key\", _)", [[<<"key">>, 1]], [["key", 1]]},
         {"Inviso.Probe.get(%Range{first: 1}, nil)",
          [[#{'__struct__' => 'Elixir.Range', first => 1}, nil]],
          [[#{first => 1}, nil]]},
         {"Inviso.Probe.get(k, v) when k in [:a, :b] and elem(v, 0) == 1",
          [[b, {1}]], [[c, {1}], [a, {2}]]},
         {"Inviso.Probe.get([a: 1], _)", [[[{a, 1}], 0]], [[[a, 1], 0]]}],
    _ = [begin
             Events = ?P:caught([list_to_binary(Text)], {M, get}, Yes ++ No),
             {Text, E} = {Text, Events},
             E = [[{call, {M, get, A}}] || A <- Yes] ++ [[] || _ <- No]
         end || {Text, Yes, No} <- Table],
    [[{call, {M, 'ok?', [1]}}]] =
        ?P:caught([<<"Inviso.Probe.ok?/1">>], {M, 'ok?'}, [[1]]),
    ok.

actions_give_what_they_say(_Config) ->
    [[{call, {?P, f, [a]}}, {return_from, {?P, f, 1}, a}]] =
        ?P:caught([<<"inviso_arm_probe:f/1 -> return">>], {?P, f}, [[a]]),
    [[{call, {lists, nth, [5, []]}}, {exception_from, {lists, nth, 2}, {error, _}}
      | _]] =
        ?P:caught([<<"lists:nth(5, _) -> return">>], {lists, nth}, [[5, []]]),
    [[{call, {?P, hidden, [a]}, {?P, g, 1}}]] =
        ?P:caught([<<"inviso_arm_probe:hidden -> caller">>], {?P, g}, [[a]]),
    %% If several specs match a call, the call makes only one event, with the
    %% actions of these specs.
    Both = [<<"inviso_arm_probe:f(a)">>, <<"inviso_arm_probe -> return">>,
            <<"inviso_arm_probe:f/1 -> caller">>],
    [[{call, {?P, f, [a]}, {?P, idle, 0}}, {return_from, _, a}],
     [{call, {?P, f, [b]}, {?P, idle, 0}}, {return_from, _, b}]] =
        ?P:caught(Both, {?P, f}, [[a], [b]]),
    [[{call, {?P, g, _}}, {call, {?P, hidden, _}}, {return_from, _, _},
      {return_from, _, _}]] = ?P:caught(Both, {?P, g}, [[a]]),
    %% The first spec has an action. A call that matches only the second spec
    %% does not get this action.
    Two = [<<"inviso_arm_probe:f(a) -> return">>, <<"inviso_arm_probe:f(b)">>],
    [[_, {return_from, _, _}], [_], []] =
        ?P:caught(Two, {?P, f}, [[a], [b], [c]]),
    ok.

identifiers_are_compared(_Config) ->
    Pid = self(),
    Ref = make_ref(),
    [Port | _] = erlang:ports(),
    Other = spawn(fun() -> ok end),
    OtherPort = lists:last(erlang:ports()),
    true = Port =/= OtherPort,
    _ = [begin
             Text = io_lib:format(Format, [Term]),
             [[{call, _}], []] =
                 ?P:caught([iolist_to_binary(Text)], {?P, f},
                           [[Term], [Another]])
         end || {Term, Another} <- [{Pid, Other}, {Ref, make_ref()},
                                    {Port, OtherPort}],
                Format <- ["inviso_arm_probe:f(~w)",
                           "inviso_arm_probe:f(X) when X =:= ~w",
                           "{inviso_arm_probe,f,1} [{[~w],[],[]}]"]],
    "<" ++ Digits = pid_to_list(Pid),
    [[{call, _}], []] =
        ?P:caught([list_to_binary(":inviso_arm_probe.f(#PID<" ++ Digits ++ ")")],
                  {?P, f}, [[Pid], [Other]]),
    ok.

the_stack_is_offered_where_it_is_bounded(_Config) ->
    Text = "inviso_arm_probe:hidden/1 -> stack",
    case list_to_integer(erlang:system_info(otp_release)) >= 26 of
        false ->
            has(words(Text), ["OTP 25", "whole stack", "caller",
                              "character 30"]);
        true ->
            [[{call, {?P, hidden, [1]}, [{?P, g, 1, _} | _]}]] =
                ?P:caught([list_to_binary(Text)], {?P, g}, [[1]]),
            [[{call, {?P, hidden, [1]}, {{?P, g, 1}, [{?P, g, 1, _} | _]}}]] =
                ?P:caught([list_to_binary(Text ++ ";caller")], {?P, g}, [[1]])
    end,
    ok.

messages_have_patterns(_Config) ->
    Table = [{"send", []}, {"receive", []},
             {"send(a)", [{['_', a], [], []}]},
             {"send(To, {T, _}) when T =:= To",
              [{['$1', {'$2', '_'}], [{'=:=', '$2', '$1'}], []}]},
             {"receive({reply, _})", [{['_', '_', {reply, '_'}], [], []}]},
             {"receive(From, From)", [{['_', '$1', '$1'], [], []}]},
             {"receive(N, _, M) when N =/= node(), is_map(M)",
              [{['$1', '_', '$2'], [{'=/=', '$1', {node}}, {is_map, '$2'}],
                []}]},
             {"'receive'({reply, _})", [{['_', '_', {reply, '_'}], [], []}]},
             {"receive [{['_', '_', a], [], []}]",
              [{raw, {['_', '_', a], [], []}}]}],
    _ = [{T, C} = {T, maps:get(clauses, parsed(T))} || {T, C} <- Table],
    has(words("send(a, b, c)"), ["send(To, Msg)"]),
    has(words("receive()"), ["receive(Node, From, Msg)"]),
    has(words("receive -> return"), ["return is an action of function calls"]),
    has(words("gc -> count"), ["count is an action of function calls"]),
    has(words("send [{[a], [], []}]"), ["list of 2"]),
    has(words("receive [{['_', '_', a], [], [{caller}]}]"), ["{caller}"]),
    has(words("send when true"), ["send(Msg)"]),
    ok.

raw_match_specs_are_taken_as_they_are(_Config) ->
    _ = [#{clauses := [{raw, {['_', 3], [], [{return_trace}]}}], arity := 2} =
             parsed(Text)
         || Text <- ["{lists,seq,2} [{['_',3],[],[{return_trace}]}]",
                     "lists:seq/2 [{['_',3],[],[{return_trace}]}]"]],
    [[{call, _, hello}, {return_from, _, _}], []] =
        ?P:caught([<<"inviso_arm_probe:f/2 [{['$1','$1'],[],"
                     "[{message,hello},{return_trace}]}]">>], {?P, f},
                  [[a, a], [a, b]]),
    has(words("lists:seq/2 [{['_'],[],[]}]"), ["1 arguments, the function 2"]),
    has(words("lists:seq/2 [a]"), ["{Head, Guards, Body}"]),
    has(words("lists:seq/2 []"), ["{Head, Guards, Body}"]),
    has(words("lists:seq/2 [{'_',[],[]}|a]"), ["{Head, Guards, Body}"]),
    has(words("lists:seq/2 [{'_',[]}]"), ["{Head, Guards, Body}"]),
    has(words("lists:seq/2 [{X,[],[]}]"), ["'$1' for variables"]),
    has(words("lists:seq/2 [{'_',[{foo}],[]}]"),
        ["the VM does not accept", "foo/0"]),
    has(words("lists:seq/2 [{'_',[],[]}] -> return"),
        ["has its actions in it"]),
    ok.

what_changes_more_than_a_recording_is_refused(_Config) ->
    _ = [has(words("lists:seq/2 [{'_',[],[" ++ Action ++ "]}]"),
             [Name, "changes more"])
         || {Name, Action} <-
                [{"trace", "{trace,[],[call]}"},
                 {"enable_trace", "{enable_trace,procs}"},
                 {"disable_trace", "{message,{disable_trace,procs}}"},
                 {"silent", "{silent,true}"},
                 {"set_seq_token", "{set_seq_token,label,1}"},
                 {"set_tcw", "[{{a,{set_tcw,1}}}]"},
                 {"display", "{display,a}"}]],
    {flags, []} = erlang:trace_info(self(), flags),
    %% Within {const, _} a term that looks like an action is allowed.
    #{kind := call} = parsed("lists:seq/2 [{'_',[],[{message,{const,{trace}}}]}]"),
    ok.

records_are_those_of_the_module(_Config) ->
    #{clauses := [{[Info], [], []}]} = parsed("file:f(#file_info{size = 3})"),
    [file_info, 3, '_', '_' | _] = tuple_to_list(Info),
    has(words("file:f(#nosuch{a = 3})"),
        ["file has no record nosuch", "file_info"]),
    has(words("file:f(#file_info{nosuch = 3})"), ["nosuch", "file_info"]),
    has(words("'Elixir.Inviso.Probe':get(#rec{}, _)"),
        ["debug_info", "{rec,_,...}"]),
    has(words("send(#rec{a = 1})"), ["tuple", "{rec,_,...}"]),
    ok.

%% --- errors ----------------------------------------------------------------

errors_say_where_and_what(_Config) ->
    Table =
        [{"", ["no spec is given", "For example"]},
         {"lists:", ["character 6", "function is expected"]},
         {"lists:seq/", ["character 10", "arity is expected"]},
         {"lists/2", ["character 6", "module:function/arity"]},
         {"seq(1, 2)", ["character 4", "module is missing"]},
         {"lists seq", ["character 7", "seq is not expected"]},
         {"lists:Seq", ["character 7", "variable"]},
         {"lists:if", ["character 7", "reserved word", "'if'"]},
         {"lists:seq/300", ["up to 255"]},
         {"lists:seq/x", ["arity is expected"]},
         {"lists:seq/2(a)", ["not both"]},
         {"lists:seq/2 when true", ["guard needs arguments"]},
         {"lists:_(a)", ["needs one function"]},
         {"lists:seq/2 foo", ["character 13", "foo is not expected"]},
         {"lists:seq(1", ["character 10", "never closed"]},
         {"lists:seq(1}", ["} does not close the ("]},
         {"lists:seq(a], [b)", ["] does not close the ("]},
         {"lists:seq(a b)", ["character 13", "before: b"]},
         {"lists:seq(1,)", ["syntax error before"]},
         {"lists:seq(\"a)", ["unterminated string"]},
         {"lists:seq(a) b", ["character 14", "b is not expected"]},
         {"lists:seq(a) when", ["a guard is expected"]},
         {"lists:seq(a) when X > 1", ["variable X", "not in the arguments"]},
         {"lists:seq(a) when foo(a)", ["foo/1"]},
         {"lists:seq(a) when lists:max(a)", ["lists:max/1"]},
         {"lists:seq(X) when X = 1", ["="]},
         {"lists:seq(X = 1)", ["no `=' in its patterns"]},
         {"lists:seq(self())", ["pattern is expected"]},
         {"lists:seq(fun() -> a end)", ["pattern is expected"]},
         {"lists:seq([X || X <- a])", ["pattern is expected"]},
         {"lists:seq(X + 1)", ["not something to be computed"]},
         {"lists:seq(1 bsl 100000)", ["not something to be computed"]},
         {"lists:seq(T ++ \"abc\")", ["left of ++"]},
         {"lists:seq(#{K := 1})", ["key of a map"]},
         {"lists:seq('$1')", ["$1"]},
         {"lists:seq(<<A:8>>)", ["take a binary apart", "byte_size"]},
         {"lists:seq(<<\"a\", _/binary>>)", ["take a binary apart"]},
         {"lists:seq(<<0:99999999999>>)", ["take a binary apart"]},
         {"lists:seq(<0.1>)", ["<0.1> is unknown"]},
         {"lists:seq(<99999.1.2>)", ["<99999.1.2> is unknown"]},
         {"lists:seq -> ", ["action is expected", "return, slow(50ms), failed, caller"]},
         {"lists:seq -> foo", ["character 14", "foo is not an action"]},
         {"lists:seq -> return return", ["character 21"]},
         {"lists:seq -> return;", ["expected"]},
         {"-> return", ["missing before the actions"]},
         {"lists:seq(1, _) -> count", ["counts every call", "arity"]},
         {"lists:seq(A) when A > 1 -> time", ["counts every call"]},
         {"[{'_',[],[]}]", ["comes after its function"]},
         {"lists:seq(1,\n  b c)", ["character 5 of line 2"]},
         {"Enum.map(", ["never closed", "Enum"]},
         {"Enum.", ["function is expected", "Enum.map/2"]},
         {"Enum.map(\"a\" <> b)", ["take a binary apart"]},
         {"Enum.map(<<a::8>>)", ["take a binary apart"]},
         {"Enum.map(\"a#{b}\")", ["#{}"]},
         {"Enum.map(^x)", ["character 10", "^ is not expected"]},
         {"Enum.map(%foo{})", ["character 10"]},
         {"Enum.map(x) when x in y", ["written out"]},
         {"Enum.map(x) -> foo", ["foo is not an action"]},
         {"Enum.map(\"abc)", ["never closed"]},
         {"Enum a: 1", ["a: is not expected"]}],
    _ = [has({Text, words(Text)}, Words) || {Text, Words} <- Table],
    {error, usage, <<"the spec is not UTF-8">>} =
        inviso_spec:parse(<<"lists:", 255>>),
    ok.

has({Text, Why}, Words) ->
    _ = [{Text, Why, W, true} =
             {Text, Why, W, string:find(Why, W) =/= nomatch} || W <- Words],
    ok;
has(Why, Words) -> has({"", Why}, Words).

hostile_text_is_refused(_Config) ->
    Deep = fun(Open, Close) ->
                   ["lists:f(", lists:duplicate(1000, Open), "a",
                    lists:duplicate(1000, Close), ")"]
           end,
    has(words(lists:duplicate(1 bsl 20, $a)), ["at most 4096 bytes"]),
    has(words(Deep("[", "]")), ["nested too deeply"]),
    has(words(Deep("{", "}")), ["nested too deeply"]),
    has(words(["lists:f(X) when ", lists:duplicate(900, "not "), "X"]),
        ["nested too deeply"]),
    has(words(["lists:f/1 [{'_',[],[", lists:duplicate(1000, "["),
               lists:duplicate(1000, "]"), "]}]"]), ["nested too deeply"]),
    has(words(["lists:f(", lists:join(",", lists:duplicate(300, "a")), ")"]),
        ["at most 255"]),
    has(words(["lists:f(", lists:join(",", lists:duplicate(20, "<0.1.2>")),
               ")"]), ["more than 16 pids"]),
    has(words(["lists:", lists:duplicate(300, $a)]), [""]),
    has(words([":", lists:duplicate(300, $a)]), ["too long for an atom"]),
    %% For every text the parser returns a result or an error, and does not crash.
    _ = rand:seed(exsss, {1, 2, 3}),
    _ = [case inviso_spec:parse(garbage()) of
             {ok, #{}} -> ok;
             {error, usage, Why} when is_binary(Why) -> ok
         end || _ <- lists:seq(1, 3000)],
    ok.

%% Makes random texts of characters and words that specs consist of.
garbage() ->
    Parts = ["lists", ":", "seq", "(", ")", "[", "]", "{", "}", ",", "|", "/",
             "2", "->", "return", "::", ";", "when", "X", "_", "#", "rec", "=",
             ":=", "=>", "%{", "<<", ">>", "\"", "'", "a", "<0.1.2>", "#Ref",
             "<", ">", ".", "send", "receive", " ", "\n", "Enum", "nil", "in",
             "a: ", "++", "-", "1.5", "$", "?", "\\", "~c", "fun", "end",
             [16#e9], [0]],
    N = rand:uniform(14),
    unicode:characters_to_binary(
      [lists:nth(rand:uniform(length(Parts)), Parts)
       || _ <- lists:seq(1, N)]).

atoms_are_made_of_the_text_only(_Config) ->
    _ = words("lists:f(<0.1.2>) -> nosuchaction"),
    Before = erlang:system_info(atom_count),
    _ = [words(io_lib:format("lists:f(~b, <0.1.2>, a", [N]))
         || N <- lists:seq(1, 100)],
    _ = [{error, nothing, _} =
             inviso_spec_procs:parse(iolist_to_binary(
                                       io_lib:format("nosuch_~b", [N])))
         || N <- lists:seq(1, 100)],
    true = erlang:system_info(atom_count) - Before < 20,
    ok.

a_flood_of_new_atoms_is_refused(_Config) ->
    Plan = fun(Specs, Procs) ->
                   inviso_arm:plan(#{specs => Specs, procs => Procs,
                                     follow => []})
           end,
    Flood = fun(Before, After) ->
                    [iolist_to_binary(
                       io_lib:format("~tsq~b_~b~ts", [Before, I, J, After]))
                     || I <- lists:seq(1, 100), J <- lists:seq(1, 10)]
            end,
    {error, usage, _} = Plan([<<"lists:f(new_1)">>, <<"x y z">>], []),
    Before = erlang:system_info(atom_count),
    _ = [has(element(3, {error, usage, _} = Plan(Specs, Procs)),
             ["at most 256"])
         || {Specs, Procs} <- [{Flood("lists:", "/1"), []},
                               {Flood("Enum.", "(x)"), []},
                               {Flood("Enum.Q", ".map/2"), []},
                               {Flood("lists:f('1 2 ", "')"), []},
                               {[iolist_to_binary(
                                   ["lists:f(", lists:join(",", Flood("", "")),
                                    ")"])], []},
                               {[<<"lists:seq/2">>], Flood("'", "'")},
                               {[<<"lists:seq/2">>], Flood("{global,", "}")}]],
    true = erlang:system_info(atom_count) - Before < 20,
    %% The names in these specs exist as atoms, so they do not count towards the
    %% limit on new atoms.
    {ok, _, _} = Plan(lists:duplicate(300, <<"lists:seq(A, B) when A < B">>)
                      ++ lists:duplicate(300, <<"'lists':'seq'/2">>), []),
    ok.

%% --- processes ---------------------------------------------------------------

processes_are_found_by_their_names(_Config) ->
    Init = whereis(init),
    [Port | _] = erlang:ports(),
    Me = self(),
    Names = ['inviso probe', 'Elixir.Inviso.Name', 'inviso_name@x'],
    _ = [register(N, spawn_link(?P, idle, [])) || N <- Names],
    yes = global:register_name({inviso, 1}, Me),
    "<" ++ Digits = pid_to_list(Me),
    Table = [{"all", all}, {" new ", new}, {"existing", existing},
             {"init", Init}, {"'init'", Init}, {":init", Init},
             {pid_to_list(Me), Me}, {"#PID<" ++ Digits, Me},
             {lists:droplast(Digits), Me},
             {port_to_list(Port), Port},
             {"'inviso probe'", whereis('inviso probe')},
             {"inviso probe", whereis('inviso probe')},
             {"Inviso.Name", whereis('Elixir.Inviso.Name')},
             {"Elixir.Inviso.Name", whereis('Elixir.Inviso.Name')},
             {"inviso_name@x", whereis(inviso_name@x)},
             {"{global, {inviso, 1}}", Me}],
    _ = [{T, {ok, W}} = {T, inviso_spec_procs:parse(list_to_binary(T))}
         || {T, W} <- Table],
    Errors = [{"", usage, "empty"},
              {"initt", nothing, "did you mean init?"},
              {"no_such_name_at_all", nothing, "no process is registered"},
              {"<0.1.2", usage, "<0.1.2>"},
              {"<0.999999.0>", nothing, "no process <0.999999.0>"},
              {"<9.1.2>", usage, "another node"},
              {"#Port<0.999999>", nothing, "no port"},
              {"'abc", usage, "closing quote"},
              {"{global, nosuch}", nothing, "no process"},
              {"{via, a, b}", usage, "{global,Name}"}],
    _ = [begin
             {T, Class, true} = {T, C, string:find(Why, W) =/= nomatch}
         end || {T, Class, W} <- Errors,
                {error, C, Why} <- [inviso_spec_procs:parse(
                                      list_to_binary(T))]],
    {error, usage, _} =
        inviso_spec_procs:parse(binary:copy(<<"a">>, 1 bsl 20)),
    global:unregister_name({inviso, 1}),
    [begin unlink(whereis(N)), exit(whereis(N), kill) end || N <- Names],
    ok.
