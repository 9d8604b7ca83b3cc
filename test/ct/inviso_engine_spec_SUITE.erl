%% SPDX-License-Identifier: Apache-2.0
%% The match specs of several sessions, combined into one: for any arguments of
%% a call, each session gets what erlang:match_spec_test/3 returns for its own
%% spec.
-module(inviso_engine_spec_SUITE).

-export([all/0, suite/0]).

-export([composed_specs_say_what_each_says/1,
         many_sessions_make_few_clauses/1,
         what_may_fail_is_not_taken_out_of_guards/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [composed_specs_say_what_each_says,
     many_sessions_make_few_clauses,
     what_may_fail_is_not_taken_out_of_guards].

composed_specs_say_what_each_says(_Config) ->
    ok = inviso_test_lib:seed(?FUNCTION_NAME),
    Many = inviso_test_lib:soak(2000, 50000),
    _ = [compare(specs(), Args) || _ <- lists:seq(1, Many),
                                   Args <- [args() || _ <- lists:seq(1, 5)]],
    ok.

compare(Sessions, Args) ->
    case inviso_engine_spec:compose(Sessions) of
        {ok, Spec} ->
            Expected = [{Slot, alone(Args, MS)} || {Slot, MS} <- Sessions],
            Got = together(Args, Spec, Sessions),
            Got =:= Expected
                orelse ct:fail({differs, Args, Sessions, Expected, Got});
        {error, {not_supported, {match_spec_clauses, _}}} ->
            ok
    end.

%% Returns {Message, End, Exception}. Message is the result of the match spec.
%% End is true if the session wants an event at the end of the call. Exception is
%% true if the session wants an event for an exception.
alone(_Args, true) ->
    {true, false, false};
alone(Args, MS) ->
    {ok, Message, Flags, []} = erlang:match_spec_test(Args, MS, trace),
    Exception = lists:member(exception_trace, Flags),
    {Message, Exception orelse lists:member(return_trace, Flags), Exception}.

together(Args, Spec, Sessions) ->
    {ok, Result, Flags, []} = erlang:match_spec_test(Args, Spec, trace),
    {Masks, Rest} = masks(Result),
    [_, _, Returns, _] = Masks,
    %% The combined spec asks the VM to report the end of the call only if a
    %% session wants an event at the end.
    true = (Returns =/= 0) =:= (Flags =/= []),
    [{Slot, verdict(Slot, Masks, Rest)} || {Slot, _} <- Sessions].

masks(false) -> {[0, 0, 0, 0], []};
masks(Result) ->
    {[Who | Masks], Rest} = lists:split(4, tuple_to_list(Result)),
    Matching = case Who of
                   _ when is_integer(Who) -> Who;
                   _ -> element(1, Who)
               end,
    {[Matching | Masks], Rest}.

%% Finds the result for one session in the combined result, as c_src/engine/verdict.c does.
verdict(Slot, [Matching, Valued, Returns, Exceptions], Rest) ->
    Before = length([S || S <- lists:seq(0, Slot - 1), is_in(S, Valued)]),
    Count = length([S || S <- lists:seq(0, 31), is_in(S, Valued)]),
    Tests = [V || {S, true, V} <- lists:nthtail(Count, Rest), S =:= Slot],
    Message = case {is_in(Slot, Matching), is_in(Slot, Valued), Tests} of
                  {true, true, _} -> lists:nth(Before + 1, Rest);
                  {true, false, _} -> true;
                  {false, _, [V | _]} -> V;
                  {false, _, []} -> false
              end,
    {Message, is_in(Slot, Returns), is_in(Slot, Exceptions)}.

is_in(Slot, Mask) ->
    Mask band (1 bsl Slot) =/= 0.

specs() ->
    [{Slot, one_of([fun() -> true end, fun spec/0, fun spec/0])}
     || Slot <- lists:sublist([0, 1, 2, 4, 31], rand:uniform(4))].

spec() ->
    [{Head, [G || _ <- lists:seq(1, rand:uniform(3) - 1),
                  G <- [pick(guards(Vars))]],
      pick(bodies(Vars))}
     || _ <- lists:seq(1, rand:uniform(2)),
        {Head, Vars} <- [pick(heads())]].

%% The head [] is not used: with this head and '$_', the VM of OTP 25 crashes.
heads() ->
    [{'_', none}, {['$1', '$2'], both}, {['$2', '$1'], both},
     {[{a, '$1'}, '$2'], both}, {['$1', '$1'], one}, {['$1', '_'], one},
     {[['_' | '$1'], '_'], one}, {[#{k => '$1'}, '$2'], both},
     {[1, '$1'], one}, {'$1', one}, {['$1'], one},
     {['$1', '$1', '$2'], both}].

guards(none) ->
    [true, false, {is_list, '$_'}];
guards(one) ->
    guards(none)
        ++ [{is_atom, '$1'}, {'>', '$1', 1}, {is_atom, {hd, '$1'}},
            {'>', {'+', '$1', 1}, 2}, {'not', {is_list, '$1'}}, '$1',
            {'and', {is_tuple, '$1'}, {is_map, '$1'}}, {'not', '$1'},
            {'orelse', {is_atom, '$1'}, {'=:=', {hd, '$1'}, 1}},
            {'andalso', {is_list, '$1'}, {'=/=', '$1', []}, true},
            {'=:=', '$1', {const, {a, 1}}}, {'==', '$1', {{a, 1}}},
            {'=/=', [], '$$'}];
guards(both) ->
    guards(one)
        ++ [{'=:=', '$1', '$2'}, {'or', {is_atom, '$1'}, {is_atom, '$2'}},
            {'<', {element, 1, '$2'}, '$1'}].

bodies(none) ->
    [[], [{message, false}], [{message, x}], [{message, '$_'}], [true],
     [{return_trace}], [{message, false}, {return_trace}]];
bodies(_) ->
    bodies(none)
        ++ [[{message, '$1'}], [{message, {{x, '$$'}}}],
            [{message, {hd, '$1'}}], [{message, {is_atom, '$1'}}],
            [{message, '$1'}, {exception_trace}], [{message, #{v => '$1'}}],
            [{message, [{{'$1'}} | '$1']}]].

args() ->
    [pick(terms()) || _ <- lists:seq(1, pick([0, 1, 2, 2, 2, 2, 3]))].

terms() ->
    [a, true, 1, 2.5, [], [1], [a | b], {a, 1}, {a, a}, #{k => 1},
     #{k => true, other => []}].

pick(List) -> lists:nth(rand:uniform(length(List)), List).

one_of(Funs) -> (pick(Funs))().

%% The specs of many sessions are combined. If each clause of one spec were combined with each
%% clause of the other specs, there would be too many clauses. So the spec of each session becomes
%% one boolean expression.
many_sessions_make_few_clauses(_Config) ->
    Sessions = [{Slot, [{[Slot, '$1'], [{is_atom, '$1'}], []},
                        {['$1', Slot], [], [{message, '$1'}]}]}
                || Slot <- lists:seq(0, 31)],
    {ok, Spec} = inviso_engine_spec:compose(Sessions),
    true = length(Spec) =< 2,
    compare(Sessions, [7, a]),
    compare(Sessions, [7, 8]),
    compare(Sessions, [x, y]),
    {ok, false, [], []} = erlang:match_spec_test([x, y], Spec, trace),
    ok.

%% A guard that may fail must not be moved into the body of a clause. In a body, {hd, 7} has the
%% value 'EXIT', so {is_atom, {hd, 7}} would be true. In a guard it fails.
what_may_fail_is_not_taken_out_of_guards(_Config) ->
    May = [{['$1', '_'], [{is_atom, {hd, '$1'}}], [{message, '$1'}]}],
    Cannot = [{['$1', '_'], [{is_integer, '$1'}], []}],
    _ = [compare([{0, May}, {1, Cannot}, {2, May}], [A, b])
         || A <- [7, a, [], [a], [7]]],
    ok.
