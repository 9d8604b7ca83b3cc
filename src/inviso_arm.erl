%% SPDX-License-Identifier: Apache-2.0
%% @doc Arming: from what the user wrote to patterns and flags, in steps.
%%
%% ```
%%  plan/1 ───► what it matches, or why it can not be      nothing is set
%%  step/3 ─┐
%%    ▲     │   patterns first, then flags, so that        a few ms each
%%    └─────┘   tracing begins when all is set
%%  watch/3     whether the patterns are there still
%%  counters/2  what was counted
%%  disarm/2    all off again, also after half of the steps
%% '''
%%
%% Functions of a data structure: the process that calls them is the session's,
%% which can do other things between two steps.
-module(inviso_arm).

-export([plan/1, way/1, step/3, progress/1, has_begun/1, watch/3, disarm/2,
         patterns/1, counters/2, expect/2]).

-export_type([plan/0, matched/0]).

-type class() :: usage | refused | nothing | failed.
-type matched() :: #{functions := non_neg_integer(),
                     processes := non_neg_integer(),
                     sensitive := non_neg_integer(),
                     notes := [binary()]}.

%% A step ends when it has taken so long.
-define(STEP_US, 8000).
%% Between two looks at the clock.
-define(BATCH, 256).

-define(MAX_NEW_WORDS, 256).

%% How many patterns are told before they are set.
-define(NEXT, 256).

-record(plan, {todo :: [inviso_arm_functions:operation()],
               %% Those that the next step sets, of which patterns/1 tells.
               next = [] :: [inviso_arm_functions:operation()],
               %% The last first.
               set = [] :: [inviso_otp:pattern()],
               done = 0 :: non_neg_integer(),
               total :: non_neg_integer(),
               who :: inviso_arm_procs:who(),
               way :: inviso_otp:way(),
               %% To be looked at next.
               look = [] :: [inviso_otp:pattern()],
               %% none: not begun
               walk = none :: none | [pid() | port()],
               %% How many those were.
               walked_of = 0 :: non_neg_integer()}).

-opaque plan() :: #plan{}.

%% @doc What is to be traced, without setting anything. A module that is not
%% loaded is loaded, if it can be, unless `load' is false. With `returns', calls
%% of which nothing else is said are shown with what they return.
-spec plan(#{specs := [binary()], procs := [binary()],
             follow := [spawned | linked], returns => boolean(),
             load => boolean()}) ->
          {ok, plan(), matched()} | {error, class(), binary()}.
plan(#{specs := Texts, procs := Procs, follow := Follow} = Asked) ->
    try
        ok = few_new_words(Texts ++ Procs),
        Specs = specs(Texts),
        make(case Asked of
                 #{returns := true} -> [inviso_spec:returning(S) || S <- Specs];
                 _ -> Specs
             end, Procs, Follow, maps:get(load, Asked, true))
    catch
        throw:{Class, Text} -> {error, Class, Text}
    end.

specs([]) ->
    throw({usage, <<"nothing to trace is given">>});
specs(Texts) ->
    [case inviso_spec:parse(Text) of
         {ok, Spec} -> Spec;
         {error, Class, Why} -> throw({Class, Why})
     end || Text <- Texts].

%% An atom stays as long as the node, which has room for a million.
few_new_words(Texts) ->
    New = inviso_spec:new_words(Texts),
    New =< ?MAX_NEW_WORDS orelse
        throw({usage, format("what to trace has ~b words that this node does "
                             "not know, and at most ~b are read: each would "
                             "stay there as an atom", [New, ?MAX_NEW_WORDS])}),
    ok.

make(Specs, Procs, Follow, Load) ->
    Calls = [S || #{kind := call} = S <- Specs],
    {Resolved, LoadNotes} = lists:unzip([inviso_arm_functions:resolve(S, Load)
                                         || S <- Calls]),
    Functions = inviso_arm_functions:operations(lists:append(Resolved)),
    Who = inviso_arm_procs:who(Specs, Procs, Follow),
    {Events, NameNotes} = messages(Specs),
    Way = inviso_otp:way([{pattern, P} || {P, _} <- Functions]
                         ++ [{pattern, E} || E <- Events]
                         ++ inviso_arm_procs:needs(Who)),
    ok = undisturbed(Way, Functions, Events, Who),
    Total = lists:sum([N || {_, N} <- Functions]),
    {Count, Sensitive, ProcNotes} = inviso_arm_procs:count(Who),
    Notes = lists:append(LoadNotes) ++ NameNotes ++ ProcNotes ++ notes(Specs, Who)
        ++ [N || inviso_arm_procs:has_calls(Who),
                 N <- inviso_arm_foreign:leftovers(Way)]
        ++ inviso_arm_foreign:shared(Functions),
    {ok, #plan{todo = Functions ++ [{E, 0} || E <- Events], total = Total,
               who = Who, way = Way},
     #{functions => Total, processes => Count, sensitive => Sensitive,
       notes => unique(Notes)}}.

%% What is set on messages already is never looked at for `true'.
messages(Specs) ->
    Kinds = [{Kind, lists:unzip([receivers(S) || S <- Those])}
             || Kind <- [send, 'receive'],
                Those <- [[S || #{kind := K} = S <- Specs, K =:= Kind]],
                Those =/= []],
    {[{event, Kind, inviso_arm_functions:match_spec(all_clauses(Clauses))}
      || {Kind, {Clauses, _}} <- Kinds],
     lists:append([N || {_, {_, Notes}} <- Kinds, N <- Notes])}.

%% The VM shows a match spec the receiver as it was given: a name, {Name, Node}
%% or a pid. gen_server:call/2 and others look a name up and send to the pid. A
%% spec that has a name means all three.
receivers(#{kind := send, clauses := Clauses}) ->
    Names = lists:usort([N || C <- Clauses, N <- receiver(C)]),
    Known = maps:from_list([{N, whereis(N)} || N <- Names]),
    {lists:append([receivers(C, Known) || C <- Clauses]),
     [name_note(N, maps:get(N, Known)) || N <- Names]};
receivers(#{clauses := Clauses}) ->
    {Clauses, []}.

%% A match spec of the user's stays as it is.
receiver({[To, _], _, _}) when is_atom(To) ->
    case atom_to_list(To) of
        "_" -> [];
        "$" ++ _ -> [];
        _ -> [To]
    end;
receiver(_) ->
    [].

receivers({Head, Guards, Actions} = Clause, Known) ->
    case receiver(Clause) of
        [] -> [Clause];
        [Name] ->
            Owner = [P || P <- [maps:get(Name, Known)], P =/= undefined],
            [{[To | tl(Head)], Guards, Actions}
             || To <- [Name, {Name, node()} | Owner]]
    end;
receivers(Raw, _) ->
    [Raw].

name_note(Name, undefined) ->
    format("nothing is registered as ~tw: only messages sent to the name are "
           "seen", [Name]);
name_note(Name, Owner) ->
    format("~tw is ~w: of anything else that takes the name later, only "
           "messages sent to the name are seen", [Name, Owner]).

%% Without a pattern a spec means every message.
all_clauses(Those) ->
    case lists:member([], Those) of
        true -> [];
        false -> lists:append(Those)
    end.

undisturbed(Way, Functions, Events, Who) ->
    ok = inviso_arm_foreign:functions(Way, Functions),
    ok = case inviso_arm_procs:has_calls(Who) of
             false -> ok;
             true -> inviso_arm_foreign:calls(Way)
         end,
    ok = inviso_arm_foreign:events(Way, [E || {event, E, _} <- Events]),
    inviso_arm_procs:undisturbed(Way, Who).

notes(Specs, Who) ->
    Counts = [1 || #{counters := Cs} <- Specs, lists:member(count, Cs)],
    [<<"`count' counts the calls of all processes, whichever are traced">>
     || Counts =/= [], not inviso_arm_procs:is_all(Who)]
        ++ inviso_arm_procs:defects(Who).

unique(Notes) ->
    lists:foldr(fun(N, Acc) -> [N | lists:delete(N, Acc)] end, [], Notes).

%% @doc Which scope is needed for it.
-spec way(plan()) -> inviso_otp:way().
way(#plan{way = Way}) -> Way.

%% --- steps --------------------------------------------------------------------

%% @doc The next step, of a few milliseconds. `Own' are processes that are never
%% traced. After an error, and at any time, {@link disarm/2} clears what was set.
-spec step(plan(), inviso_otp:scope(), [pid()]) ->
          {more, {non_neg_integer(), non_neg_integer()}, plan()}
        | {done, plan()} | {error, class(), binary(), plan()}.
step(Plan, Scope, Own) ->
    Until = now_us() + ?STEP_US,
    case Plan of
        #plan{next = [_ | _]} -> set(Plan, Scope, Until);
        #plan{todo = [_ | _]} -> more(announced(Plan));
        #plan{walk = none} -> begin_walk(Plan, Scope, Own);
        #plan{} -> walk(Plan, Scope, Own, Until)
    end.

%% Whoever clears after a kill knows of a pattern before it is there.
announced(#plan{todo = Todo} = Plan) ->
    {Next, Rest} = lists:split(min(?NEXT, length(Todo)), Todo),
    Plan#plan{next = Next, todo = Rest}.

set(#plan{next = []} = Plan, _Scope, _Until) ->
    more(announced(Plan));
set(#plan{next = [{Pattern, N} | Rest], set = Set} = Plan, Scope, Until) ->
    {Kind, What, MS} = Pattern,
    case inviso_otp:set_pattern(Scope, Kind, What, MS, Set) of
        {ok, _} ->
            Next = Plan#plan{next = Rest, set = [Pattern | Set],
                             done = Plan#plan.done + N},
            case now_us() < Until of
                true -> set(Next, Scope, Until);
                false -> more(Next)
            end;
        {error, Reason} ->
            {Class, Text} = why(What, Reason),
            {error, Class, Text, Plan#plan{next = []}}
    end.

more(#plan{done = Done, total = Total} = Plan) ->
    {more, {Done, Total}, Plan}.

begin_walk(#plan{who = Who} = Plan, Scope, Own) ->
    case inviso_arm_procs:begin_walk(Who, Scope, Own) of
        {ok, Walk} ->
            more(Plan#plan{walk = Walk, walked_of = length(Walk)});
        {error, Reason} ->
            {Class, Text} = why(processes, Reason),
            {error, Class, Text, Plan}
    end.

walk(#plan{walk = []} = Plan, _Scope, _Own, _Until) ->
    {done, Plan};
walk(#plan{walk = Walk, who = Who} = Plan, Scope, Own, Until) ->
    case inviso_arm_procs:walk(Walk, ?BATCH, Who, Scope, Own) of
        {ok, Rest} ->
            Next = Plan#plan{walk = Rest},
            case now_us() < Until of
                true -> walk(Next, Scope, Own, Until);
                false -> more(Next)
            end;
        {error, Reason} ->
            {Class, Text} = why(processes, Reason),
            {error, Class, Text, Plan}
    end.

now_us() -> erlang:monotonic_time(microsecond).

why(_, {already_traced, {M, F, A}}) ->
    {refused, format("~ts has become traced by somebody else",
                     [inviso_spec:format_mfa(M, F, A)])};
why(_, {already_traced, new, Tracer}) ->
    {refused, format("processes to come have become traced, by ~ts",
                     [inviso_arm_foreign:owner(Tracer)])};
why(_, {already_traced, What}) ->
    {refused, format("~tw has become traced by somebody else", [What])};
why(_, {gc_traced_in_another_session, P}) ->
    {refused, inviso_arm_procs:gc_text(P)};
why({M, F, A}, badarg) ->
    {usage, format("the VM does not take the match specification of ~ts",
                   [inviso_spec:format_mfa(M, F, A)])};
why(What, Reason) ->
    {failed, format("~tw: ~tw", [What, Reason])}.

%% @doc How far the steps have come, in words.
-spec progress(plan()) -> binary().
progress(#plan{done = Done, total = Total, walk = none}) ->
    format("~b of ~b functions, and no process", [Done, Total]);
progress(#plan{done = Done, total = Total, walk = Walk, walked_of = Of}) ->
    format("~b of ~b functions, and ~b of ~b processes",
           [Done, Total, Of - length(Walk), Of]).

%% @doc Whether anything can have been recorded or counted.
-spec has_begun(plan()) -> boolean().
has_begun(#plan{walk = none, set = Set}) ->
    lists:any(fun({Kind, _, _}) -> Kind =:= call_count end, Set);
has_begun(#plan{walk = Walk, walked_of = Of, who = Who}) ->
    length(Walk) < Of orelse Of =:= 0 orelse inviso_arm_procs:is_new(Who).

%% @doc Sets patterns again that are gone, and tells what has become of those
%% that were set; to be called each `Ms' milliseconds, and quick.
-spec watch(plan(), inviso_otp:scope(), pos_integer()) -> {[binary()], plan()}.
watch(#plan{look = Next, set = Set} = Plan, Scope, Ms) ->
    {Notes, Rest} = inviso_arm_watch:look(Next, Set, Scope, Ms),
    {Notes, Plan#plan{look = Rest}}.

%% @doc Everything off that is on: flags first, so that nothing is recorded of
%% a function while others are still traced.
-spec disarm(plan(), inviso_otp:scope()) -> ok.
disarm(#plan{set = Set}, Scope) ->
    inviso_otp:scope_close(Scope, Set).

%% @doc The patterns set so far and those that the next step will set, for
%% whoever must clear them if we can not.
-spec patterns(plan()) -> [inviso_otp:pattern()].
patterns(#plan{set = Set, next = Next}) -> [P || {P, _} <- Next] ++ Set.

%% --- counters -----------------------------------------------------------------

%% @doc What `count' and `time' have counted: before {@link disarm/2}.
-spec counters(plan(), inviso_otp:scope()) ->
          [{module(), atom(), arity(), non_neg_integer(),
            non_neg_integer() | none}].
counters(#plan{set = Set}, Scope) ->
    Timed = functions(call_time, Set),
    Counted = functions(call_count, Set),
    Rows = [row(MFA, Timed, Counted, Scope)
            || MFA <- lists:usort(maps:keys(Timed) ++ maps:keys(Counted))],
    lists:sort(fun more_first/2,
               [R || {_, _, _, Calls, _} = R <- Rows, Calls > 0]).

functions(Kind, Set) ->
    maps:from_keys([{M, F1, A1} || {K, {M, F, A}, _} <- Set, K =:= Kind,
                                   {F1, A1} <- meant(M, F, A)], true).

meant(M, '_', '_') -> inviso_arm_functions:functions_of(M);
meant(_, F, A) -> [{F, A}].

row({M, F, A} = MFA, Timed, Counted, Scope) ->
    {Calls, Ns} = case Timed of
                      #{MFA := _} -> inviso_otp:counter(Scope, call_time, MFA);
                      _ -> {0, none}
                  end,
    case Counted of
        #{MFA := _} ->
            {All, none} = inviso_otp:counter(Scope, call_count, MFA),
            {M, F, A, All, Ns};
        _ ->
            {M, F, A, Calls, Ns}
    end.

%% Those with a time before those without.
more_first({_, _, _, C1, none}, {_, _, _, C2, none}) -> C1 >= C2;
more_first({_, _, _, _, N1}, {_, _, _, _, none}) when N1 =/= none -> true;
more_first({_, _, _, _, none}, {_, _, _, _, _}) -> false;
more_first({_, _, _, C1, N1}, {_, _, _, C2, N2}) -> {N1, C1} >= {N2, C2}.

%% @doc How many events a second are to be expected, at most: calls counted for
%% `Ms' milliseconds where that disturbs nobody's patterns. Only calls can be
%% counted without being traced.
-spec expect(plan(), pos_integer()) ->
          {ok, non_neg_integer()} | {unknown, binary()}.
expect(#plan{next = Next, todo = Todo, who = Who}, Ms) ->
    Calls = inviso_expect:per_second(Next ++ Todo, Ms),
    case {inviso_arm_procs:uncounted(Who), Calls} of
        {[], _} ->
            Calls;
        {Flags, {ok, N}} when N > 0 ->
            {unknown, format("up to ~b a second of calls; how many of ~ts "
                             "can not be known beforehand",
                             [N, words(Flags)])};
        {Flags, _} ->
            {unknown, format("how many events of ~ts to expect can not be "
                             "known beforehand", [words(Flags)])}
    end.

words(Flags) ->
    lists:join(", ", [atom_to_list(F) || F <- Flags]).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
