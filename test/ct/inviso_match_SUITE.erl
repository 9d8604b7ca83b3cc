%% SPDX-License-Identifier: Apache-2.0
%%
%% Compares inviso's match specs in C with erlang:match_spec_test/3 of this node:
%% for the same arguments and spec, both must give the same result, flags and
%% errors. The program ms_oracle runs specs outside the VM; a NIF runs them on
%% terms of the VM.
%%
%% The following is not compared, because it crashes a VM or only a VM knows the
%% result:
%%
%%   enable_trace, disable_trace, trace   from OTP 27 on the VM crashes
%%   '$_' after a head [] or {}           the VM writes out of bounds
%%   '$1' for all arguments together with maps that the VM compiles twice
%%                                        before OTP 27 the result is freed memory
%%   {self}, {current_stacktrace}, {process_dump}, {display, _}
%%                                        specs may call these functions; only their
%%                                        values are not compared
%%   maps whose expressions for keys have equal values
%%                                        which pair stays depends on the VM
%%   '$N' in {const, _} together with variables from '$25' on
%%                                        the VM renames '$N'
%%
%% INVISO_MATCH_CASES=1000000 sets the number of random cases.
-module(inviso_match_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([heads/1, guards/1, bodies/1, numbers/1, maps/1, equal_keys/1, many_variables/1,
         flags_of_the_process/1, errors/1,
         long_errors/1, releases/1, random_specs/1,
         random_specs_in_the_vm/1]).
-export([chunk/2]).

-define(O, inviso_match_oracle).
%% The number of random cases that a node runs in one remote call.
-define(CHUNK, 1000).

suite() -> [{timetrap, {minutes, 60}}].

all() ->
    [heads, guards, bodies, numbers, maps, equal_keys, many_variables,
     flags_of_the_process, errors, long_errors, releases,
     random_specs, random_specs_in_the_vm].

init_per_suite(Config) ->
    ok = inviso_match_vm:load(),
    Config.

end_per_suite(_Config) ->
    ok.

init_per_testcase(Case, Config) ->
    ok = inviso_test_lib:seed(Case),
    Dir = filename:dirname(code:which(?MODULE)),
    [{oracle, ?O:open(filename:join(Dir, "ms_oracle"))} | Config].

end_per_testcase(_Case, Config) ->
    ?O:close(?config(oracle, Config)).

%% --- cases -------------------------------------------------------------------

heads(Config) ->
    Args = [[], [a], [a, b], [a, a], [{a, b}], [[a, b | c], {a, {b}}],
            [0.0], [1], [1 bsl 70], [<<"x">>, <<1:3>>], [#{a => 1, b => [2]}],
            ["abc"]],
    Heads = ['_', '$1', '$0', '$30', [], ['_'], ['$1'], [a], ['$1', '$2'],
             ['$1', '$1'], [{'$1', '$2'}], {a}, {'$1', '$2'}, {}, [['$1' | '$2'], '_'],
             [['$1', '_' | c], {a, {'$1'}}], [0.0], [1], [1.0], [1 bsl 70],
             [<<"x">>, '$1'], [#{}], [#{a => '$1'}], [#{b => ['$1']}],
             [#{c => 1}], ['$01'], ['$-1'], [["$1"]], ["abc"], ['$100000000']],
    check(Config, [{A, [{H, [], [{message, '$$'}]}]} || A <- Args, H <- Heads]).

guards(Config) ->
    Values = [true, false, 1, 'EXIT', {hd, []}],
    Two = [{Op, A, B} || Op <- ['and', 'or', 'xor', 'andalso', 'orelse',
                                'andthen', '=:=', '==', '<', '>='],
                         A <- Values, B <- Values],
    Three = [{Op, A, B, C} || Op <- ['and', 'or', 'andalso', 'orelse'],
                              A <- Values, B <- Values, C <- Values],
    One = [{Op, A} || Op <- ['not', 'and', 'or', 'andalso', 'orelse',
                             is_atom, is_seq_trace, self],
                      A <- Values],
    Exprs = One ++ Two ++ Three ++ Values,
    check(Config, [{[], [{[], [E], []}]} || E <- Exprs] ++
              [{[], [{[], [], [{message, E}]}]} || E <- Exprs] ++
              [{[], [{[], [E], [{message, first}]}, {'_', [], [{message, second}]}]}
               || E <- Exprs]).

bodies(Config) ->
    Bodies = [[], [{message, a}], [{message, false}], [{message, true}],
              [{message, a}, {message, b}], [{message, {message, a}}],
              [{return_trace}], [{exception_trace}, {return_trace}],
              [{message, {{{message, a}, {message, b}}}}],
              [{message, [{message, a}, {message, b}]}],
              [{message, {{}}}], [{message, {{'$1', {const, {'$1'}}}}}],
              [{message, ['$1' | '$2']}], [{message, '$_'}], [{message, '$$'}],
              [{message, {caller}}], [{message, {caller_line}}],
              [{message, {get_seq_token}}], [{message, {is_seq_trace}}],
              [{message, {silent, true}}], [{message, {display, x}}],
              [{message, {set_tcw, 5}}], [{message, {set_tcw, -1}}],
              [{message, {set_tcw, 1 bsl 32}}], [{message, {get_tcw}}],
              [{message, {set_seq_token, label, 1}}],
              [{message, {set_seq_token, send, true}}],
              [{message, {set_seq_token, nonsense, true}}],
              [{message, {is_binary, {process_dump}}}],
              [{message, {is_pid, {self}}}], [{message, self}],
              [{message, {hd, []}}], [{message, {element, 3, {{a, b}}}}],
              [{hd, []}, {message, done}]],
    check(Config, [{[x, [y]], [{['$1', '$2'], [], B}]} || B <- Bodies]).

numbers(Config) ->
    <<Z/float>> = <<128, 0:56>>,
    Ns = [0, 1, -1, 2, 1 bsl 59, -(1 bsl 59), 1 bsl 63, (1 bsl 63) - 1,
          -(1 bsl 63), 1 bsl 64, -(1 bsl 64), 1 bsl 200, 0.0, Z, 1.0, -1.5,
          9007199254740993, 9007199254740992.0, 1.0e300, a],
    Two = ['+', '-', '*', '/', 'div', 'rem', 'band', 'bor', 'bxor', '<', '=<',
           '==', '=:=', '/=', '=/='],
    One = ['+', '-', abs, round, trunc, float, 'bnot', is_integer, is_number,
           is_float],
    check(Config, [{[A, B], [{['$1', '$2'], [], [{message, {Op, '$1', '$2'}}]}]}
                   || Op <- Two, A <- Ns, B <- Ns] ++
              [{[A], [{['$1'], [], [{message, {Op, '$1'}}]}]}
               || Op <- One, A <- Ns] ++
              [{[A], [{['$1'], [], [{message, {Op, '$1', B}}]}]}
               || Op <- ['bsl', 'bsr'], A <- Ns,
                  B <- [0, 1, -1, 62, 63, 64, 65, 1000, -1000, 1 bsl 40,
                        -(1 bsl 40), 1 bsl 80, -(1 bsl 80), a]]).

maps(Config) ->
    Large = maps:from_list([{K, K} || K <- lists:seq(1, 50)]),
    Maps = [#{}, #{a => 1}, #{a => 1, b => 2}, #{1 => x, 1.0 => y}, Large, a],
    Exprs = [{map_size, '$1'}, {map_get, a, '$1'}, {map_get, 1, '$1'},
             {map_get, 1.0, '$1'}, {is_map_key, b, '$1'}, {is_map, '$1'},
             {'==', '$1', #{a => 1.0}}, {'<', '$1', #{a => 2}},
             #{k => '$1'}, #{'$1' => {{v, '$1'}}}, #{{const, {k}} => {const, {v}}}],
    check(Config, [{[M], [{['$1'], [], [{message, E}]}]} || M <- Maps, E <- Exprs]).

%% Makes texts of maps in which keys are repeated. The command reads the texts as
%% terms, and Erlang evaluates them as expressions. The values must be equal.
equal_keys(_Config) ->
    Maps = [map_text(3, rand:uniform(80)) || _ <- lists:seq(1, 60)],
    Text = ["[", lists:join(",", Maps), "]"],
    Inviso = filename:join(os:getenv("INVISO_PRIV"), "inviso"),
    Out = os:cmd(unicode:characters_to_list(
                   [Inviso, " ms --json \"[{['\\$1'],[],[{message,'\\$1'}]}]\"",
                    " '[", Text, "]'"])),
    #{<<"result">> := Result} =
        inviso_trace_json:decode(list_to_binary(string:trim(Out))),
    true = value(Result) =:= value(Text).

map_text(Depth, N) ->
    Pairs = [[key_text(Depth), " => ", integer_to_list(I)]
             || I <- lists:seq(1, N)],
    ["#{", lists:join(",", Pairs), "}"].

key_text(0) ->
    lists:nth(rand:uniform(6), ["1", "1.0", "a", "2", "[]", "<<1>>"]);
key_text(Depth) ->
    Key = key_text(Depth - 1),
    lists:nth(rand:uniform(4), [Key, ["{", Key, "}"], [$[, Key, $]],
                                map_text(Depth - 1, rand:uniform(3))]).

value(Text) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list([Text, "."])),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {value, Value, _} = erl_eval:exprs(Exprs, []),
    Value.

%% Both ms_oracle and the NIF must compute a result for each case.
many_variables(Config) ->
    Cases = [Case || N <- [255, 256, 257, 415, 1000], Case <- many(N)],
    0 = check(Config, Cases),
    0 = lists:sum([in_the_vm(Case) || Case <- Cases]),
    ok.

%% These actions change flags of the calling process. The program ms_oracle has
%% no calling process, but its results must equal those of the VM. From OTP 27 on
%% these actions may crash the VM.
flags_of_the_process(Config) ->
    Flags = [call, all, x, [], 1],
    Actions = [{Switch, {self}, F} || Switch <- [enable_trace, disable_trace],
                                      F <- Flags] ++
        [{trace, {self}, Off, On} || Off <- [[], [call], [x], x],
                                     On <- [[], [send, call], [1]]],
    Cases = [{[], [{'_', [], [{message, A}]}]} || A <- Actions],
    case ?O:otp() < 27 of
        true -> 0 = check(Config, Cases), ok;
        false -> {skip, "the VM may crash"}
    end.

%% Returns specs with N variables, which are in maps, lists and tuples. The body of a spec uses all
%% variables or only one.
many(N) ->
    Vars = [list_to_atom("$" ++ integer_to_list(I)) || I <- lists:seq(1, N)],
    Values = lists:seq(1, N),
    Map = fun(L) -> maps:from_list(lists:zip(Values, L)) end,
    Last = lists:last(Vars),
    [{[Shape(Values)], [{[Shape(Vars)], [{is_integer, Last}],
                         [{message, Message}]}]}
     || Shape <- [Map, fun list_to_tuple/1, fun(L) -> L end],
        Message <- ['$$', Last, '$1']].

errors(Config) ->
    check(Config, [{[], S} || S <- bad_specs()]).

bad_specs() ->
    [nonsense, [], [a | b], [a], [{'_', []}], [{[a | b], [], []}],
     [{a, [], []}], [{1, [], []}], [{#{}, [], []}], [{[#{'$1' => a}], [], []}],
     [{[#{'_' => a}], [], []}], [{'_', a, []}], [{'_', [], a}],
     [{'_', [true | a], []}], [{'_', [], [true | a]}],
     [{'_', ['$1'], []}], [{'$1', ['$2'], ['$3']}], [{'_', [{}], []}],
     [{'_', [{1, 2}], [{{}, 1}]}], [{'_', [{'$1'}], []}],
     [{'_', [{'_'}], []}], [{'_', [{'$_'}], []}]] ++
        [[{'_', [G], [B]}] || G <- bad_calls(), B <- [true | bad_calls()]] ++
        [[{'_', [], [B]}, {nonsense, [], []}] || B <- bad_calls()].

bad_calls() ->
    [{nosuch}, {nosuch, 1}, {'no such', 1, 2}, {hd}, {is_atom, 1, 2},
     {const}, {const, 1, 2}, {'and'}, {'or'}, {'andalso'}, {'andthen'},
     {'orelse'}, {self, 1}, {message}, {message, 1, 2}, {message, 1},
     {return_trace, 1}, {return_trace}, {exception_trace, 1}, {is_seq_trace, 1},
     {set_seq_token, 1}, {set_seq_token, label, 1}, {get_seq_token, 1},
     {display, 1, 2}, {display, 1}, {process_dump, 1}, {process_dump},
     {enable_trace}, {enable_trace, 1, 2, 3}, {disable_trace}, {trace, 1},
     {trace, 1, 2, 3, 4}, {caller, 1}, {caller}, {caller_line, 1},
     {silent}, {silent, 1}, {set_tcw, 1}, {set_tcw}, {get_tcw, 1},
     {set_tcw_fake, 1}, {current_stacktrace, 1, 2}, {current_stacktrace, a},
     {current_stacktrace, -1}, {tuple_size, 1}, {is_integer, 1, 2, 3}].

%% Compares error texts that contain a term, for terms of each kind, and error texts that are cut
%% because they are too long.
long_errors(Config) ->
    Terms = [1, -5, 1 bsl 80, 1.5, -0.0, a, 'A b', 'a@b', '', [], "text", "a\"b\nc",
             "\t\r", [1, 2], [a | b], <<>>, <<"bin">>, <<"q\"q">>, <<1, 2>>,
             <<5:3>>, <<1, 5:3>>, {}, {a, {b}}, #{}, #{a => 1},
             fun lists:seq/2, list_to_pid("<0.1.2>"), lists:seq(1, 60),
             lists:duplicate(120, $a), list_to_atom(lists:duplicate(120, $b)),
             lists:duplicate(60, [a]), list_to_tuple(lists:duplicate(80, "x"))],
    check_texts(Config, [{[], [{'_', [{self, T}], []}]} || T <- Terms] ++
                    [{[], [{[T | x], [], []}]} || T <- Terms] ++
                    [{[], [{'_', [], [{list_to_atom(lists:duplicate(N, $f)), 1}]}]}
                     || N <- lists:seq(60, 100)]).

%% The results of these expressions differ between OTP releases.
releases(Config) ->
    <<Z/float>> = <<128, 0:56>>,
    Exprs = [{'=:=', 0.0, '$1'}, {'=/=', 0.0, '$1'}, {'==', 0.0, '$1'},
             {abs, '$1'}, {binary_part, <<1, 2, 3:3>>, 0, 1},
             {is_record, {{a, 1}}, a, a}, {is_record, {{a, 1}}, a, 1 bsl 60},
             {float, 428654966685883400000}, {'*', 1.0, 428654966685883400000},
             {ceil, 1.5}, {floor, 1.5}, {is_bitstring, <<1:1>>},
             {is_boolean, true}, {is_function, {const, fun lists:seq/2}, 2},
             {tuple_size, {{a}}}, {max, 1, 1.0}, {min, 1, 1.0},
             {is_integer, 2, 1, 3}, {is_list, {current_stacktrace}}],
    check(Config, [{[Z], [{['$1'], [], [{message, E}]}]} || E <- Exprs] ++
              [{[0.0, Z], [{['$1', '$1'], [], []}]},
               {[Z], [{[0.0], [], []}]},
               {[a, b], [{[a | '_'], [], []}]}]).

%% Compares the results of ms_oracle with those of a VM on another node. A rare defect of OTP 25
%% crashes a VM that runs random specs. This is no defect of inviso, so the test then continues on a
%% new node.
random_specs(_Config) ->
    N = cases(30000),
    Seeds = [rand:uniform(1 bsl 32) || _ <- lists:seq(1, N, ?CHUNK)],
    Results = chunks(Seeds, none),
    Crashes = length([crash || crash <- Results]),
    Skipped = lists:sum([S || S <- Results, S =/= crash]),
    ct:log("~w cases, ~w without an answer, ~w crashes of a VM",
           [N, Skipped, Crashes]),
    true = Skipped * 100 =< N,
    true = Crashes * 10 =< length(Seeds),
    ok.

chunks([], none) ->
    [];
chunks([], Peer) ->
    peer:stop(Peer),
    [];
chunks(Seeds, none) ->
    {ok, Peer, _} = peer:start(#{connection => inviso_test_lib:connection(),
                                 args => ["-pa" | code:get_path()]}),
    chunks(Seeds, Peer);
chunks([Seed | Seeds], Peer) ->
    Dir = filename:dirname(code:which(?MODULE)),
    try peer:call(Peer, ?MODULE, chunk, [Dir, Seed], 300000) of
        {ok, Skipped} -> [Skipped | chunks(Seeds, Peer)];
        {different, Text} -> ct:fail("~ts", [Text])
    catch
        exit:Why ->
            ct:log("seed ~w crashes a VM: ~0tp", [Seed, Why]),
            [crash | chunks(Seeds, none)]
    end.

%% Compares the results of random cases. Returns {ok, N} if ms_oracle has no answer for N cases, and
%% the same results as the VM for the others. Otherwise returns {different, Text}.
chunk(Dir, Seed) ->
    _ = rand:seed(exsss, Seed),
    Oracle = ?O:open(filename:join(Dir, "ms_oracle")),
    Cases = [inviso_match_gen:'case'(?O:otp()) || _ <- lists:seq(1, ?CHUNK)],
    Answers = ?O:ask(Oracle, Cases),
    ?O:close(Oracle),
    compared(lists:zip(Cases, Answers), 0).

compared([], Skipped) ->
    {ok, Skipped};
compared([{Case, Answer} | More], Skipped) ->
    Vm = ?O:vm(Case),
    case ?O:same(Answer, Vm) of
        true -> compared(More, Skipped);
        skip -> compared(More, Skipped + 1);
        false -> {different, different(Case, Answer, Vm)}
    end.

cases(N) ->
    Default = inviso_test_lib:soak(N, 10 * N),
    list_to_integer(os:getenv("INVISO_MATCH_CASES",
                              integer_to_list(Default))).

%% The NIF cannot compute with integers of more than 64 bits, nor with the sizes of bitstrings: the
%% VM's NIF interface does not provide these. So the NIF has no answer for some cases.
random_specs_in_the_vm(_Config) ->
    N = cases(10000),
    %% The test makes each case only when the case before it is done. If a million cases were in the
    %% heap, each garbage collection would take long.
    Skipped = lists:foldl(
                fun(_, Sum) ->
                        Sum + in_the_vm(inviso_match_gen:'case'(?O:otp()))
                end, 0, lists:seq(1, N)),
    ct:log("~w cases, ~w without an answer", [N, Skipped]),
    true = Skipped * 4 =< N,
    ok.

in_the_vm(Case) ->
    case {inviso_match_vm:ask(Case), ?O:vm(Case)} of
        {error, {error, _}} -> 0;
        {Answer, Vm} -> verdict(Case, Answer, Vm)
    end.

%% --- comparing ---------------------------------------------------------------

%% Returns the number of cases without an answer.
check(Config, Cases) ->
    Answers = ?O:ask(?config(oracle, Config), Cases),
    lists:sum([check_one(C, A) || {C, A} <- lists:zip(Cases, Answers)]).

check_one(Case, Answer) ->
    verdict(Case, Answer, ?O:vm(Case)).

verdict(Case, Answer, Vm) ->
    case ?O:same(Answer, Vm) of
        true -> 0;
        skip -> 1;
        false -> ct:fail("~ts", [different(Case, Answer, Vm)])
    end.

different(Case, Answer, Vm) ->
    io_lib:format("~0tp~ninviso ~0tp~nthe VM ~0tp", [Case, Answer, Vm]).

check_texts(Config, Cases) ->
    Answers = ?O:ask(?config(oracle, Config), Cases),
    [case ?O:vm(C) of
         A -> ok;
         Vm -> ct:fail("~0tp~nours ~0tp~nVM's ~0tp", [C, A, Vm])
     end || {C, A} <- lists:zip(Cases, Answers)].
