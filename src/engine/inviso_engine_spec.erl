%% SPDX-License-Identifier: Apache-2.0
%% @doc Combines the match specs of several sessions into one for the VM.
%%
%% When the VM runs the combined match spec, the result says which sessions match:
%% `{Sessions, Valued, Returns, Exceptions, Value...}' (c_src/engine/verdict.h).
%% The VM takes the first clause that matches. So each combination of clauses, at
%% most one of each session, becomes one combined clause. The combined clauses are
%% in lexicographic order, so that each session gets the first of its own clauses
%% that matches. Guards are not moved into bodies, because a guard that fails must
%% make its clause fail. The VM puts a frame on the stack of the calling process only
%% if a session that matches needs the end of the call.
%%
%% If only one session has a match spec, the heads of that match spec stay as they
%% are. If several sessions have match specs, heads become guards on the argument
%% list, `$_', and a variable of a head becomes an expression that reads the argument
%% list. But if all heads are lists of the same length, all clauses get the same head:
%% a list of this length, whose elements are variables. A match spec in which nothing
%% can fail makes no clauses: its guards become tests in the result.
%%
%% The VM runs the actions `display', `set_tcw' and `set_seq_token'. Actions that
%% change a session's flags (`silent', `trace', `enable_trace', `disable_trace')
%% become parts of the result, and the NIF library runs them. For such an action
%% the VM only sets the flags that the NIF library may need.
-module(inviso_engine_spec).

-export([check/2, compile/1, compose/1, compose/2, enables_calls/1,
         changes_flags/1, withholds/1, tracers/1, is_ours/1, max_clauses/0]).

-export_type([match_spec/0]).

-type match_spec() :: true | [tuple()].

%% What a session gets if a clause of the combined match spec matches.
-record(chosen, {slot :: inviso_engine:slot(),
                 spec = false :: boolean(), % true: the session has a match spec
                 %% the value that {message, Value} has set
                 value = true :: term(),
                 ends = none :: none | return | exception,
                 before = [] :: [term()],   % the VM's actions before the message
                 later = [] :: [term()],    % the VM's actions after the message
                 %% actions that the NIF library carries out, not the VM
                 actions = [] :: [term()],
                 %% The expression that is true if the session matches. With `none'
                 %% the session matches whenever the clause matches.
                 test = none :: term()}).

%% More clauses than this are refused, because the VM tries the clauses one by one.
-define(CLAUSES_MAX, 256).

%% The guards whose value is always true or false: they cannot fail.
-define(TYPES, [is_atom, is_binary, is_float, is_function, is_integer, is_list,
                is_map, is_number, is_pid, is_port, is_reference, is_tuple]).
-define(COMPARISONS, ['=:=', '=/=', '==', '/=', '<', '>', '=<', '>=']).
-define(COMBINED, ['and', 'or', 'xor', 'andalso', 'orelse']).

-define(VM_ACTIONS, [set_seq_token, set_tcw, display]).
-define(FLAG_ACTIONS, [silent, trace, enable_trace, disable_trace]).

%% @doc Checks that the VM accepts a match spec, and that it can be combined with
%% others.
-spec check(match_spec() | false, function | send | 'receive') ->
          ok | {error, badarg | system_limit | {not_supported, term()}
                       | inviso_seq_labels:unsafe()}.
check(MS, _) when is_boolean(MS) ->
    ok;
check(MS, What) when length(MS) >= 0 ->
    case compile(MS) of
        {ok, _, _, _} ->
            case mentions(forbidden(What), [[Guards, Body]
                                            || {_, Guards, Body} <- MS]) of
                true -> {error, badarg};
                false -> check_actions(MS)
            end;
        {error, Errors} ->
            case [x || {error, "Excessive nesting" ++ _} <- Errors] of
                [] -> {error, badarg};
                _ -> {error, system_limit}
            end
    end;
check(_, _) ->
    {error, badarg}.

%% @doc Returns how many clauses the combined match spec for one function, or for
%% messages, may have.
-spec max_clauses() -> pos_integer().
max_clauses() -> ?CLAUSES_MAX.

%% @doc Lets the VM compile a match spec. The actions do not run, because each
%% clause gets the guard `false'.
-spec compile([term()]) -> term().
compile(MS) ->
    erlang:match_spec_test([], [never(Clause) || Clause <- MS], trace).

never({Head, Guards, Body}) when is_list(Guards) ->
    {Head, [false | Guards], Body};
never(Wrong) ->
    Wrong.

%% Returns the functions and actions that the VM refuses in match specs of this
%% kind.
forbidden(function) ->
    [];
forbidden(send) ->
    [caller, caller_line];
forbidden('receive') ->
    [caller, caller_line, is_seq_trace, get_seq_token, set_seq_token,
     process_dump, current_stacktrace | ?FLAG_ACTIONS].

check_actions(MS) ->
    try [choose(0, Body) || Body <- bodies(MS)] of
        _ -> inviso_seq_labels:check(MS)
    catch
        throw:{not_supported, _} = Reason -> {error, Reason}
    end.

%% @doc Combines the match specs of sessions for messages.
-spec compose([{inviso_engine:slot(), match_spec()}]) ->
          {ok, [tuple()]} | {error, system_limit | {not_supported, term()}}.
compose(Sessions) ->
    compose(Sessions, messages).

%% @doc Combines the match specs of sessions for messages, for calls or for meta
%% traced calls.
%%
%% For calls the result includes the calling function, if `Callers' is true or if
%% `Global' is not empty. `Global' are the sessions with a global pattern on a function
%% that is traced locally. For meta traced calls the result includes the number of the
%% tracer. `system_limit' means that the guards that replace heads are nested too
%% deeply for the VM.
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

%% @doc Returns true if a match spec may set the flag `call' of a process.
-spec enables_calls(match_spec()) -> boolean().
enables_calls(MS) ->
    mentions([enable_trace, trace], bodies(MS)).

%% @doc Returns true if a match spec may change flags of a process.
-spec changes_flags(match_spec()) -> boolean().
changes_flags(MS) ->
    mentions(?FLAG_ACTIONS, bodies(MS)).

%% @doc Returns true if a match spec may report the end of a call whose beginning is
%% not reported.
-spec withholds(match_spec()) -> boolean().
withholds(MS) ->
    lists:any(fun(Body) ->
                      lists:any(fun({message, Value}) -> may_be_false(Value);
                                   (_) -> false
                                end, Body)
                          andalso (lists:member({return_trace}, Body)
                                   orelse lists:member({exception_trace}, Body))
              end, bodies(MS)).

bodies(true) -> [];
bodies(MS) -> [Body || {_, _, Body} <- MS].

may_be_false({const, Value}) -> Value =:= false;
may_be_false({F}) -> is_atom(F) andalso not lists:member(F, [caller, self]);
may_be_false(Value) when is_tuple(Value) -> true;
may_be_false(Value) when is_atom(Value) -> Value =/= true;
may_be_false(_) -> false.

%% @doc Returns the tracers that a match spec names.
-spec tracers(match_spec()) -> [pid() | port()].
tracers(MS) ->
    lists:usort(named(bodies(MS))).

named({tracer, T}) when is_pid(T); is_port(T) -> [T];
named([H | T]) -> named(H) ++ named(T);
named(E) when is_tuple(E) -> named(tuple_to_list(E));
named(_) -> [].

%% @doc Returns true if a match spec, as erlang:trace_info/2 shows it, was made by
%% compose/2.
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

%% Combines several match specs. If all heads are lists of the same length, a list of
%% this length, whose elements are variables, replaces them. The head '_' also matches
%% calls with other numbers of arguments, so there are further clauses for '_'. (The
%% head [] is not used: if a clause has this head and '$_', the VM of OTP 25 crashes.)
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

%% Combines match specs under one head. The sessions of `Rest' have no match spec
%% and get all calls.
combine(_Head, [], [], _About) ->
    {ok, []};
combine(Head, Specs0, Rest, About) ->
    {Total, Specs} = lists:partition(fun({_, MS}) -> is_total(MS) end, Specs0),
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
    C#chosen{test = expression(Guards)}.

%% Makes one clause. If no session is certain to match, a guard requires that at
%% least one test is true.
clause(Head, {Row, Rest, Tests}, About) ->
    Guards = lists:append([G || {G, _} <- Row]),
    case [C || {_, C} <- Row, C =/= none] ++ Rest of
        [] -> {Head, Guards ++ [any([T || #chosen{test = T} <- Tests])],
               body(Tests, About)};
        Chosen -> {Head, Guards, body(Chosen ++ Tests, About)}
    end.

any([Test]) -> Test;
any(Tests) -> list_to_tuple(['orelse' | Tests]).

%% Returns all combinations of clauses. A combination is a list with {Guards,
%% #chosen{} | none} for each session.
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

%% Removes from an expression the actions that the NIF library runs, and puts
%% `true' in their places. This is possible only where an action is certain to
%% run.
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

%% Translates an action to an expression whose value c_src/engine/action.h reads.
actions({silent, Value}, Slot) -> [{{Slot, Value}}];
actions({enable_trace, Flag}, Slot) -> [change(Slot, [], [], [Flag])];
actions({enable_trace, P, Flag}, Slot) -> [change(Slot, P, [], [Flag])];
actions({disable_trace, Flag}, Slot) -> [change(Slot, [], [Flag], [])];
actions({disable_trace, P, Flag}, Slot) -> [change(Slot, P, [Flag], [])];
actions({trace, Off, On}, Slot) -> [change(Slot, [], Off, On)];
actions({trace, P, Off, On}, Slot) -> [change(Slot, P, Off, On)];
actions(Other, _Slot) -> throw({not_supported, Other}).

change(Slot, Process, Off, On) ->
    case {bits(Off), bits(On)} of
        {Clear, Set} when is_integer(Clear), is_integer(Set) ->
            {{Slot, Process, Clear, Set}};
        _ ->
            {{Slot, Process, Off, On}}
    end.

%% Returns the flags as bits. Returns 0 if a flag is unknown: in this case the VM
%% changes no flag either. `when_it_runs' means that the flags are known only when
%% the match spec runs.
bits({const, Flags}) ->
    bits(Flags);
bits(Flags) when is_list(Flags) ->
    case lists:all(fun is_constant/1, Flags) of
        true ->
            case inviso_engine_flags:parse(Flags) of
                {ok, Bits} -> Bits;
                {error, badarg} -> 0
            end;
        false ->
            when_it_runs
    end;
bits(_Flags) ->
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
                    %% exception_trace also replaces return_trace, because the
                    %% shadow stack needs every end of these calls.
                    | [{exception_trace} || Returns =/= 0]]
           end
        ++ [A || #chosen{later = Later} <- Row, A <- Later].

%% Returns what the result of the match spec contains besides the masks: {Specs,
%% Caller, Tracer}. Caller is the function that made the call. Tracer is the
%% number of the tracer of a meta traced call. Specs are, for a call, the sessions
%% with a global pattern and, for a message, the sessions with a match spec
%% (c_src/engine/verdict.h).
more(Row, {calls, Callers, Global}) ->
    case [S || #chosen{slot = S} <- Row, lists:member(S, Global)] of
        [] when not Callers -> {[], [], 0};
        Slots -> {Slots, {caller}, 0}
    end;
more(_, {meta, Tracer}) ->
    {[], [], Tracer};
%% A session with a match spec for messages gets no message events of a silent
%% process. A session without a match spec gets them.
more(Row, messages) ->
    {[S || #chosen{slot = S, spec = true} <- Row], [], 0}.

%% Returns the flags that the VM has to set for an action.
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

%% Returns the tests of a head. If the common head is a list of variables, each
%% element is tested by its variable.
head(Head, [_ | _] = Vars) when is_list(Head) ->
    lists:foldl(fun({P, Path}, Acc) -> pattern(P, Path, Acc) end, {[], #{}},
                lists:zip(Head, Vars));
head(Head, _) ->
    pattern(Head, '$_', {[], #{}}).

%% Adds the tests of a pattern, in reverse order, and the expressions for its
%% variables. `Path' is the expression for the value that the pattern matches.
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

%% Returns true if a pattern matches only a term that is equal to the pattern. This
%% is false for a map, which matches larger maps too.
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

%%---------------------------------------------------------------------------
%% Match specs in which nothing can fail.
%%
%% If an expression fails in a guard, the clause fails. If an expression fails in a
%% body, its value becomes an atom and evaluation continues. If no expression can
%% fail, guards can be computed in the body, so a boolean expression in the body can
%% replace the clause. Then fewer combinations of clauses are needed. Type tests,
%% comparisons and combinations of these cannot fail if their arguments need no
%% computation.

%% Returns true if no guard can fail and bodies have no action except `message'.
is_total(MS) ->
    lists:all(fun({_Head, Guards, Body}) ->
                      lists:all(fun is_boolean_of/1, Guards)
                          andalso lists:all(fun is_message/1, Body)
              end, MS).

is_message({message, {caller}}) -> true;
is_message({message, Value}) -> is_term(Value);
is_message(Action) -> not is_tuple(Action).

is_boolean_of(B) when is_boolean(B) ->
    true;
is_boolean_of({'not', A}) ->
    is_boolean_of(A);
is_boolean_of({Type, A}) ->
    lists:member(Type, ?TYPES) andalso is_term(A);
is_boolean_of({Op, A, B}) ->
    case lists:member(Op, ?COMPARISONS) of
        true -> is_term(A) andalso is_term(B);
        false -> are_combined([Op, A, B])
    end;
is_boolean_of(Test) when is_tuple(Test), tuple_size(Test) > 3 ->
    are_combined(tuple_to_list(Test));
is_boolean_of(_) ->
    false.

are_combined([Op | Tests]) ->
    lists:member(Op, ?COMBINED) andalso lists:all(fun is_boolean_of/1, Tests).

is_term({const, _}) -> true;
is_term({self}) -> true;
is_term({T}) when is_tuple(T) -> is_term(tuple_to_list(T));
is_term(T) when is_tuple(T) -> false;
is_term([H | T]) -> is_term(H) andalso is_term(T);
is_term(T) when is_map(T) -> is_term(maps:keys(T) ++ maps:values(T));
is_term(_) -> true.

expression([]) -> true;
expression([Guard]) -> Guard;
expression(Guards) -> list_to_tuple(['andalso' | Guards]).
