%% SPDX-License-Identifier: Apache-2.0
%% @doc The match specs of several sessions as one of the VM's.
%%
%% The result tells who matched: `{Sessions, Valued, Returns, Exceptions,
%% Value...}', see c_src/engine/verdict.h. The VM takes the first clause that
%% matches; so there is one for each combination of clauses, one from each
%% session or none, in lexical order, and each session gets the first of its
%% own. Guards stay guards, with their rules for errors, and a call puts a frame
%% on the stack only where a session that matches asks for it.
%%
%% A session that is alone with its match spec has its heads as they are. With
%% two, heads become guards on the argument list, `$_', and variables the way to
%% what they are bound to; or, where all are lists of one length, there is one
%% head of as many variables. Specs in which nothing can fail are tests in the
%% result ({@link inviso_engine_tests}), and make no clauses.
%%
%% Of what a body does, the VM does what is the VM's (`display', `set_tcw',
%% `set_seq_token'); what changes a session's flags (`silent', `trace',
%% `enable_trace', `disable_trace') is in the result, for the engine to do. The
%% VM only turns on what it may be asked for then.
-module(inviso_engine_spec).

-export([check/2, compile/1, compose/1, compose/2, enables_calls/1,
         changes_flags/1,
         withholds/1, tracers/1, is_ours/1]).

-export_type([match_spec/0]).

-type match_spec() :: true | [tuple()].

-record(chosen, {slot :: inviso_engine:slot(),
                 spec = false :: boolean(),
                 value = true :: term(),    % of the message
                 ends = none :: none | return | exception,
                 before = [] :: [term()],   % what the VM does,
                 later = [] :: [term()],    % before the message and after it
                 actions = [] :: [term()],  % what the engine does
                 test = none :: term()}).   % what it comes to, not a guard's

%% More clauses than this are refused: the VM tries one after the other.
-define(CLAUSES_MAX, 256).

-define(VM_ACTIONS, [set_seq_token, set_tcw, display]).
-define(FLAG_ACTIONS, [silent, trace, enable_trace, disable_trace]).

%% @doc Whether the VM takes the match spec and the engine can serve it.
-spec check(match_spec() | false, function | send | 'receive') ->
          ok | {error, badarg | system_limit | {not_supported, term()}}.
check(MS, _) when is_boolean(MS) ->
    ok;
check(MS, What) when length(MS) >= 0 ->
    case compile(MS) of
        {ok, _, _, _} ->
            case mentions(forbidden(What), [[Guards, Body]
                                            || {_, Guards, Body} <- MS]) of
                true -> {error, badarg};
                false -> check_actions([Body || {_, _, Body} <- MS])
            end;
        {error, Errors} ->
            case [x || {error, "Excessive nesting" ++ _} <- Errors] of
                [] -> {error, badarg};
                _ -> {error, system_limit}
            end
    end;
check(_, _) ->
    {error, badarg}.

%% @doc What the VM says of a match spec, without doing what its bodies say.
-spec compile([term()]) -> term().
compile(MS) ->
    erlang:match_spec_test([], [never(Clause) || Clause <- MS], trace).

never({Head, Guards, Body}) when is_list(Guards) ->
    {Head, [false | Guards], Body};
never(Wrong) ->
    Wrong.

%% What the VM has no match specs with.
forbidden(function) ->
    [];
forbidden(send) ->
    [caller, caller_line];
forbidden('receive') ->
    [caller, caller_line, is_seq_trace, get_seq_token, set_seq_token,
     process_dump, current_stacktrace | ?FLAG_ACTIONS].

check_actions(Bodies) ->
    try [choose(0, Body) || Body <- Bodies] of
        _ -> ok
    catch
        throw:{not_supported, _} = Reason -> {error, Reason}
    end.

%% @doc One match spec of messages for those of these sessions.
-spec compose([{inviso_engine:slot(), match_spec()}]) ->
          {ok, [tuple()]} | {error, system_limit | {not_supported, term()}}.
compose(Sessions) ->
    compose(Sessions, messages).

%% @doc One match spec of functions. Its result has who calls if that is wanted,
%% or if there are sessions whose pattern is global beside others; of what is meta
%% traced, the tracer of a session that has none. What heads have become may be
%% nested too deeply for the VM.
-spec compose([{inviso_engine:slot(), match_spec()}],
              messages | {calls, Callers :: boolean(), Global :: [inviso_engine:slot()]} |
              {meta, inviso_engine:tracer()}) ->
          {ok, [tuple()]} | {error, system_limit | {not_supported, term()}}.
compose(Sessions, About) ->
    case composed(Sessions, About) of
        {ok, MS} ->
            case compile(MS) of
                {error, _} -> {error, system_limit};
                _ -> {ok, MS}
            end;
        {error, _} = E ->
            E
    end.

composed(Sessions, About) ->
    {Always, Specs} = lists:partition(fun({_, MS}) -> MS =:= true end,
                                      lists:keysort(1, Sessions)),
    Rest = [#chosen{slot = Slot} || {Slot, _} <- Always],
    case Specs of
        [] ->
            {ok, [{'_', [], body(Rest, About)}]};
        [{Slot, MS}] ->
            {ok, [{Head, Guards, body([choose(Slot, Body) | Rest], About)}
                  || {Head, Guards, Body} <- MS]
             ++ [{'_', [], body(Rest, About)} || Rest =/= []]};
        _ ->
            combine(Specs, Rest, About)
    end.

%% @doc Whether a process may get flag `call' from it.
-spec enables_calls(match_spec()) -> boolean().
enables_calls(true) ->
    false;
enables_calls(MS) ->
    mentions([enable_trace, trace], [Body || {_, _, Body} <- MS]).

%% @doc Whether it changes flags of a process, or whether it is silent.
-spec changes_flags(match_spec()) -> boolean().
changes_flags(true) ->
    false;
changes_flags(MS) ->
    mentions(?FLAG_ACTIONS, [Body || {_, _, Body} <- MS]).

%% @doc Whether it may match a call without telling it, and tell its end.
-spec withholds(match_spec()) -> boolean().
withholds(true) ->
    false;
withholds(MS) ->
    lists:any(fun({_, _, Body}) ->
                      lists:any(fun({message, Value}) -> may_be_false(Value);
                                   (_) -> false
                                end, Body)
                          andalso (lists:member({return_trace}, Body)
                                   orelse lists:member({exception_trace}, Body))
              end, MS).

may_be_false({const, Value}) -> Value =:= false;
may_be_false({F}) -> is_atom(F) andalso not lists:member(F, [caller, self]);
may_be_false(Value) when is_tuple(Value) -> true;
may_be_false(Value) when is_atom(Value) -> Value =/= true;
may_be_false(_) -> false.

%% @doc The tracers that it names, for a session that has none.
-spec tracers(match_spec()) -> [pid() | port()].
tracers(true) ->
    [];
tracers(MS) ->
    lists:usort(named([Body || {_, _, Body} <- MS])).

named({tracer, T}) when is_pid(T); is_port(T) -> [T];
named([H | T]) -> named(H) ++ named(T);
named(E) when is_tuple(E) -> named(tuple_to_list(E));
named(_) -> [].

%% @doc Whether this, from `erlang:trace_info/2', was composed here.
-spec is_ours({match_spec, term()}) -> boolean().
is_ours({match_spec, [{_, _, Body} | _]}) when is_list(Body) ->
    lists:any(fun({message, {Result}})
                    when is_tuple(Result), tuple_size(Result) >= 4 ->
                      lists:all(fun is_integer/1,
                                lists:sublist(tuple_to_list(Result), 2, 3));
                 (_) ->
                      false
              end, Body);
is_ours({match_spec, _}) ->
    false.

%% Where all heads are lists of as many elements, they become one of as many
%% variables. What it does not match may match a head that is '_'. (With the
%% head [] the VM of OTP 25 crashes at '$_'.)
combine(Specs, Rest, About) ->
    case lengths(Specs) of
        [N] when is_integer(N), N > 0 ->
            Vars = [variable(I) || I <- lists:seq(1, N)],
            Others = [{Slot, Any} || {Slot, MS} <- Specs,
                                     Any <- [[C || {'_', _, _} = C <- MS]],
                                     Any =/= []],
            both(combine(Vars, Specs, Rest, About),
                 combine('_', Others, Rest, About));
        _ ->
            combine('_', Specs, Rest, About)
    end.

lengths(Specs) ->
    lists:usort([length_of(Head) || {_, MS} <- Specs, {Head, _, _} <- MS,
                                    Head =/= '_']).

length_of(Head) when is_list(Head) -> length(Head);
length_of(_) -> none.

variable(I) -> list_to_atom("$" ++ integer_to_list(I)).

both({ok, A}, {ok, B}) -> {ok, A ++ B};
both({error, _} = E, _) -> E;
both(_, {error, _} = E) -> E.

%% Those that can be tested beside each other make no clauses.
combine(_Head, [], [], _About) ->
    {ok, []};
combine(Head, Specs0, Rest, About) ->
    {Total, Specs} = lists:partition(fun({_, MS}) ->
                                             inviso_engine_tests:is_total(MS)
                                     end, Specs0),
    Clauses = lists:foldl(fun({_, MS}, N) -> N * (length(MS) + 1) end, 1,
                          Specs),
    case Clauses of
        _ when Clauses > ?CLAUSES_MAX ->
            {error, {not_supported, {match_spec_clauses, Clauses}}};
        _ ->
            Tests = [test(Slot, Clause, Head)
                     || {Slot, MS} <- Total, Clause <- MS],
            {ok, [clause(Head, {Row, Rest, Tests}, About)
                  || Row <- rows(Specs, Head),
                     Rest =/= [] orelse Tests =/= []
                         orelse lists:any(fun({_, C}) -> C =/= none end, Row)]}
    end.

test(Slot, Clause, Head) ->
    {Guards, C} = as_guards(Slot, Clause, Head),
    C#chosen{test = inviso_engine_tests:test(Guards)}.

%% If it is the tests alone that say who matches, one of them must.
clause(Head, {Row, Rest, Tests}, About) ->
    Guards = lists:append([G || {G, _} <- Row]),
    case [C || {_, C} <- Row, C =/= none] ++ Rest of
        [] -> {Head, Guards ++ [any([T || #chosen{test = T} <- Tests])],
               body(Tests, About)};
        Chosen -> {Head, Guards, body(Chosen ++ Tests, About)}
    end.

any([Test]) -> Test;
any(Tests) -> list_to_tuple(['orelse' | Tests]).

%% [[{Guards, what the session gets}]], one inner element for each session.
rows([], _Head) ->
    [[]];
rows([{Slot, MS} | Specs], Head) ->
    Choices = [as_guards(Slot, Clause, Head) || Clause <- MS] ++ [{[], none}],
    Tails = rows(Specs, Head),
    [[C | Tail] || C <- Choices, Tail <- Tails].

choose(Slot, Body) ->
    lists:foldl(fun action/2, #chosen{slot = Slot, spec = true}, Body).

action({message, Value}, C) ->
    {Plain, Actions} = hoist(Value, C#chosen.slot),
    C#chosen{value = Plain, before = C#chosen.before ++ C#chosen.later,
             later = [], actions = C#chosen.actions ++ Actions};
action({return_trace}, #chosen{ends = none} = C) ->
    C#chosen{ends = return};
action({return_trace}, C) ->
    C;
action({exception_trace}, C) ->
    C#chosen{ends = exception};
action(Action, C) ->
    case is_action(Action, ?VM_ACTIONS) of
        true ->
            C#chosen{later = C#chosen.later ++ [Action]};
        false ->
            {_, Actions} = hoist(Action, C#chosen.slot),
            C#chosen{actions = C#chosen.actions ++ Actions}
    end.

is_action(A, Names) when is_tuple(A), tuple_size(A) > 0 ->
    lists:member(element(1, A), Names);
is_action(_, _) ->
    false.

%% The value of what the engine does is that it was done. An action that is not
%% certain to be done is not supported.
hoist([H | T], Slot) ->
    {Head, Actions} = hoist(H, Slot),
    {Tail, More} = hoist(T, Slot),
    {[Head | Tail], Actions ++ More};
hoist({E}, Slot) when is_tuple(E) ->
    {Elements, Actions} = hoist(tuple_to_list(E), Slot),
    {{list_to_tuple(Elements)}, Actions};
hoist(E, Slot) ->
    case {is_action(E, ?FLAG_ACTIONS), mentions(?FLAG_ACTIONS, E)} of
        {true, _} -> {true, actions(E, Slot)};
        {false, false} -> {E, []};
        {false, true} -> throw({not_supported, E})
    end.

%% Expressions of the VM's that make what c_src/engine/action.h takes.
actions({silent, Value}, Slot) -> [{{Slot, Value}}];
actions({enable_trace, Flag}, Slot) -> [change(Slot, [], [], [Flag])];
actions({enable_trace, P, Flag}, Slot) -> [change(Slot, P, [], [Flag])];
actions({disable_trace, Flag}, Slot) -> [change(Slot, [], [Flag], [])];
actions({disable_trace, P, Flag}, Slot) -> [change(Slot, P, [Flag], [])];
actions({trace, Off, On}, Slot) -> [change(Slot, [], Off, On)];
actions({trace, P, Off, On}, Slot) -> [change(Slot, P, Off, On)];
actions(Other, _Slot) -> throw({not_supported, Other}).

change(Slot, Process, Off, On) ->
    case {bits(Off, false), bits(On, true)} of
        {Clear, Set} when is_integer(Clear), is_integer(Set) ->
            {{Slot, Process, Clear, Set}};
        _ ->
            {{Slot, Process, Off, On}}
    end.

%% None are, if the VM does not know one of them.
bits({const, Flags}, How) ->
    bits(Flags, How);
bits(Flags, How) when is_list(Flags) ->
    case lists:all(fun is_constant/1, Flags) of
        true ->
            case inviso_engine_flags:parse(Flags, How) of
                {ok, Bits} -> Bits;
                {error, badarg} -> 0
            end;
        false ->
            when_it_runs
    end;
bits(_Flags, _How) ->
    when_it_runs.

is_constant(Flag) ->
    is_atom(Flag) andalso not is_variable(Flag)
        andalso not lists:member(Flag, ['$_', '$$', '_']).

mentions(Names, [H | T]) ->
    mentions(Names, H) orelse mentions(Names, T);
mentions(_Names, {const, _}) ->
    false;
mentions(Names, {Tuple}) when is_tuple(Tuple) ->
    mentions(Names, tuple_to_list(Tuple));
mentions(Names, E) when is_tuple(E) ->
    is_action(E, Names)
        orelse lists:any(fun(X) -> mentions(Names, X) end, tuple_to_list(E));
mentions(_Names, _) ->
    false.

body(Row0, About) ->
    {Sure, Tested} = lists:partition(fun(#chosen{test = T}) -> T =:= none end,
                                     Row0),
    Row = lists:keysort(#chosen.slot, Sure),
    Sessions = mask([S || #chosen{slot = S, value = V} <- Row, V =/= false]),
    Values = [{S, V} || #chosen{slot = S, value = V} <- Row,
                        not is_boolean(V)],
    Returns = mask([S || #chosen{slot = S, ends = E} <- Row, E =/= none]),
    Exceptions = mask([S || #chosen{slot = S, ends = exception} <- Row]),
    Actions = lists:append([A || #chosen{actions = A} <- Row]),
    Who = case more(Row0, About) of
              {[], [], 0} when Actions =:= [] ->
                  Sessions;
              {Specs, Caller, Tracer} ->
                  {{Sessions, mask(Specs), Caller, Actions, Tracer}}
          end,
    [A || #chosen{before = Before} <- Row, A <- Before]
        ++ [turn_on(P, Flags) || {{_, P, _, On}} <- Actions,
                                 Flags <- [vm_flags(On)], Flags =/= []]
        ++ case {Sessions bor Returns, Actions, Tested} of
               {0, [], []} ->
                   [{message, false}];
               _ ->
                   [{message,
                     {list_to_tuple([Who, mask([S || {S, _} <- Values]),
                                     Returns, Exceptions
                                     | [V || {_, V} <- Values]
                                     ++ [{{S, T, V}}
                                         || #chosen{slot = S, test = T,
                                                    value = V} <- Tested]])}}
                    %% Every end is told, so that the engine's account of
                    %% frames is right.
                    | [{exception_trace} || Returns =/= 0]]
           end
        ++ [A || #chosen{later = Later} <- Row, A <- Later].

%% {Specs, Caller, Tracer}, see c_src/engine/verdict.h
more(Row, {calls, Callers, Global}) ->
    case [S || #chosen{slot = S} <- Row, lists:member(S, Global)] of
        [] when not Callers -> {[], [], 0};
        Slots -> {Slots, {caller}, 0}
    end;
more(_, {meta, Tracer}) ->
    {[], [], Tracer};
%% A process that is silent is so with messages for which there is a spec.
more(Row, messages) ->
    {[S || #chosen{slot = S, spec = true} <- Row], [], 0}.

%% What the VM has to turn on.
vm_flags(Bits) when is_integer(Bits) -> inviso_engine_flags:in_vm(Bits);
vm_flags(_) -> inviso_engine_flags:in_vm().

turn_on([], Flags) -> {trace, [], [{{tracer, inviso_engine, 0}} | Flags]};
turn_on(P, Flags) -> {trace, P, [], [{{tracer, inviso_engine, 0}} | Flags]}.

mask(Slots) ->
    lists:foldl(fun(S, Mask) -> Mask bor (1 bsl S) end, 0, Slots).

%%---------------------------------------------------------------------------
%% Heads as guards.

as_guards(Slot, {Head, Guards, Body}, Common) ->
    {Tests, Vars} = head(Head, Common),
    #chosen{value = Value, before = Before, later = Later,
            actions = Actions} = C = choose(Slot, Body),
    {lists:reverse(Tests) ++ [bind(G, Vars) || G <- Guards],
     C#chosen{value = bind(Value, Vars), before = bind(Before, Vars),
              later = bind(Later, Vars), actions = bind(Actions, Vars)}}.

%% The elements of a list have variables already.
head(Head, [_ | _] = Vars) when is_list(Head) ->
    lists:foldl(fun({P, Path}, Acc) -> pattern(P, Path, Acc) end, {[], #{}},
                lists:zip(Head, Vars));
head(Head, _) ->
    pattern(Head, '$_', {[], #{}}).

%% Tests, the last first, and what variables are bound to.
pattern('_', _Path, Acc) ->
    Acc;
pattern(P, Path, {Tests, Vars} = Acc) when is_atom(P) ->
    case {is_variable(P), Vars} of
        {true, #{P := Bound}} -> {[{'=:=', Path, Bound} | Tests], Vars};
        {true, _} -> {Tests, Vars#{P => Path}};
        {false, _} -> constant(P, Path, Acc)
    end;
pattern(P, Path, Acc) ->
    case is_ground(P) of
        true -> constant(P, Path, Acc);
        false -> parts(P, Path, Acc)
    end.

parts([H | T], Path, {Tests, Vars}) ->
    Acc = {[{'=/=', Path, []}, {is_list, Path} | Tests], Vars},
    pattern(T, {tl, Path}, pattern(H, {hd, Path}, Acc));
parts(P, Path, {Tests, Vars}) when is_tuple(P) ->
    Acc = {[{'=:=', {size, Path}, tuple_size(P)}, {is_tuple, Path} | Tests],
           Vars},
    {_, Last} = lists:foldl(fun(E, {I, A}) ->
                                    {I + 1, pattern(E, {element, I, Path}, A)}
                            end, {1, Acc}, tuple_to_list(P)),
    Last;
parts(P, Path, {Tests, Vars}) when is_map(P) ->
    maps:fold(fun(K, V, {Ts, Vs}) ->
                      Key = {const, K},
                      pattern(V, {map_get, Key, Path},
                              {[{is_map_key, Key, Path} | Ts], Vs})
              end, {[{is_map, Path} | Tests], Vars}, P).

constant(P, Path, {Tests, Vars}) ->
    {[{'=:=', Path, {const, P}} | Tests], Vars}.

%% What matches itself alone. A map matches larger ones too.
is_ground(P) when is_atom(P) -> P =/= '_' andalso not is_variable(P);
is_ground([H | T]) -> is_ground(H) andalso is_ground(T);
is_ground(P) when is_tuple(P) -> is_ground(tuple_to_list(P));
is_ground(P) -> not is_map(P).

bind({const, _} = C, _Vars) ->
    C;
bind('$$', Vars) ->
    [maps:get(V, Vars) || V <- lists:sort(fun before/2, maps:keys(Vars))];
bind(E, Vars) when is_atom(E) ->
    maps:get(E, Vars, E);
bind([H | T], Vars) ->
    [bind(H, Vars) | bind(T, Vars)];
bind(E, Vars) when is_tuple(E) ->
    list_to_tuple([bind(X, Vars) || X <- tuple_to_list(E)]);
bind(E, Vars) when is_map(E) ->
    maps:from_list([{bind(K, Vars), bind(V, Vars)}
                    || {K, V} <- maps:to_list(E)]);
bind(E, _Vars) ->
    E.

is_variable(Atom) ->
    case atom_to_list(Atom) of
        "$" ++ [_ | _] = Digits ->
            lists:all(fun(C) -> C >= $0 andalso C =< $9 end, tl(Digits));
        _ ->
            false
    end.

before(A, B) ->
    number(A) =< number(B).

number(Variable) ->
    "$" ++ Digits = atom_to_list(Variable),
    list_to_integer(Digits).
