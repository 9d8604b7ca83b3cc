%% SPDX-License-Identifier: Apache-2.0
%% @doc Arms a session: converts what the user wrote to patterns and flags, and sets
%% them in steps.
%%
%% ```
%%  plan/1 ───► what the specs match, or an error          nothing is set
%%  step/3 ─┐
%%    ▲     │   patterns first, then flags, so that        a few ms each
%%    └─────┘   tracing begins when all is set
%%  watch/3     sets patterns again that were lost, and sets patterns on modules
%%              that were loaded later
%% '''
%% `inviso_tracing:close/1' clears everything, also after only some of the steps.
%%
%% The session's process calls these functions and stores their state, a plan(),
%% so it can do other work between two steps.
-module(inviso_arm).

-export([plan/1, nothing/0, modules/1, step/3, has_patterns/1, has_counters/1,
         progress/1, has_begun/2, watch/3, expect/2, rules/1, decided/2, monitor/1]).

-export_type([plan/0, matched/0]).

-type class() :: usage | refused | nothing | failed.
-type matched() :: #{functions := non_neg_integer(),
                     %% lines that list the functions, for a dry run
                     list => [binary()],
                     processes := non_neg_integer(),
                     sensitive := non_neg_integer(),
                     %% how many kinds of events the system monitor is to report
                     system => non_neg_integer(),
                     idle := non_neg_integer(),
                     notes := [binary()]}.

%% The time after which a step of arming ends, in µs.
-define(STEP_US, 8000).
%% A step sets the flags of this many processes and ports at a time, and then checks
%% whether the time of the step is over.
-define(BATCH, 256).

-define(MAX_NEW_WORDS, 256).
%% To trace more functions than this, the user has to agree (--yes).
-define(MAX_FUNCTIONS, 10000).
%% One call of watch/3 sets at most this many patterns of modules that were loaded
%% later.
-define(MAX_LATER, 200).

-record(plan, {todo :: [inviso_arm_functions:operation()],
               done = 0 :: non_neg_integer(),
               total :: non_neg_integer(),
               %% what {@link inviso_tracing:expect_calls/2} has returned: `done'
               %% if the VM has all patterns, or if no calls are traced
               expects = done :: first | {'after', module()} | done,
               %% modules whose record definitions the specs use
               records = [] :: [module()],
               tracees :: inviso_arm_procs:tracees(),
               %% the patterns that the next calls of watch/3 check
               look = [] :: [inviso_scope:pattern()],
               %% `wild': the specs of calls, if at least one of them has a
               %% wildcard or a group; `searched': the modules that were searched
               %% for functions of these specs; `later': patterns, not yet set, of
               %% modules that were loaded later
               wild = [] :: [inviso_spec:spec()],
               yes = false :: boolean(),
               searched :: undefined | inviso_arm_groups:snapshot(),
               %% rules that decide at the end of a call whether it is recorded,
               %% and the tracer that applies them
               rules = [] :: [inviso_arm_decide:told()],
               decide = none :: inviso_arm_decide:decide(),
               %% what the system monitor is to report
               monitor = [] :: [inviso_system_monitor:option()],
               later = [] :: [inviso_arm_functions:operation()],
               %% processes and ports whose flags are still to be set; `none': no
               %% flags have been set yet
               walk = none :: none | [pid() | port()],
               %% the length of `walk' before the first of these flags was set
               walked_of = 0 :: non_neg_integer()}).

-opaque plan() :: #plan{}.

%% @doc Plans what is to be traced, and sets nothing. If `dry' is true, the result
%% lists the functions, and no module is loaded. If `dry' is false, each module that
%% a spec names is loaded, if possible. With `returns', specs of calls without an
%% action get the action `return'. `yes' means that the user agrees to trace many
%% functions, and modules of OTP. `count' means that events are only counted, so
%% the VM need not pass arguments. `timed' means that calls are timed, so specs of
%% events that have no duration are refused. `keys' is what match specs must report
%% of an event: the calling function, or the values of expressions.
%%
%% With `start', the events of the specs begin requests of sequential traces. In this
%% case it is no error if a spec matches nothing, because requests that begin on other
%% nodes also reach this node. The user gets a note, and `idle' in the result says how
%% many specs match nothing. With `start => calls' the specs trace calls in processes
%% that hold a token.
-spec plan(#{specs := [binary()], procs := [binary()],
             follow := [spawned | linked], returns => boolean(),
             dry => boolean(), yes => boolean(), count => boolean(),
             timed => boolean(),
             keys => none | caller | result | reason | {value, [binary()]},
             start => inviso_arm_starts:start() | calls}) ->
          {ok, plan(), matched()} | {error, class(), binary()}.
plan(#{specs := Texts, procs := Procs, follow := Follow} = Asked) ->
    try
        Keys = maps:get(keys, Asked, none),
        ok = few_new_words(Texts ++ Procs ++ exprs(Keys)),
        Specs = specs(Texts, maps:get(start, Asked, none)),
        ok = durations(Specs, maps:get(timed, Asked, false)),
        ok = ends(Specs, Keys),
        make(case Asked of
                 #{keys := caller} -> [with_caller(S) || S <- Specs];
                 #{keys := {value, Exprs}} ->
                     inviso_arm_values:specs(Specs, Exprs,
                                             maps:get(returns, Asked, false));
                 #{returns := true} -> [inviso_spec:returning(S) || S <- Specs];
                 _ -> Specs
             end, Procs, Follow, maps:merge(#{dry => false, yes => false},
                                            Asked))
    catch
        throw:{Class, Text} -> {error, Class, Text}
    end.

exprs({value, Exprs}) -> Exprs;
exprs(_) -> [].

%% @doc Returns a plan that sets nothing, for a session that samples stacks.
-spec nothing() -> {ok, plan(), matched()}.
nothing() ->
    {ok, #plan{todo = [], total = 0, walk = [],
               tracees = #{flags => [], port_flags => [], new => false,
                           existing => false, given => []}},
     #{functions => 0, processes => 0, sensitive => 0, idle => 0,
       notes => []}}.

specs([], _) ->
    throw({usage, <<"no spec is given">>});
specs(Texts, Start) ->
    Labels = inviso_arm_starts:variables(Start),
    [case inviso_spec:parse(Text, Labels) of
         {ok, Spec} -> for_requests(Spec, Start);
         {error, Class, Why} -> throw({Class, Why})
     end || Text <- Texts].

with_caller(#{kind := call, clauses := Clauses, counters := []} = Spec) ->
    Spec#{clauses := [with_caller(C, Spec) || C <- Clauses]};
with_caller(#{text := Text}) ->
    throw({usage, format("~ts: only calls have a caller", [Text])}).

with_caller({Head, Guards, []}, _) ->
    {Head, Guards, [caller]};
with_caller(_, #{text := Text}) ->
    throw({usage, format("~ts: a match spec cannot be counted by caller; write "
                         "a pattern of arguments", [Text])}).

ends(Specs, result) ->
    _ = [throw({usage, format("~ts has no result: calls have, such as shop:order/2",
                              [Text])})
         || #{text := Text} = Spec <- Specs, maps:get(kind, Spec) =/= call],
    ok;
ends(Specs, reason) ->
    _ = [throw({usage, format("~ts has no reason: exits of processes have; the "
                              "spec is procs", [Text])})
         || #{text := Text} = Spec <- Specs, maps:get(kind, Spec) =/= procs],
    ok;
ends(_, _) ->
    ok.

durations(Specs, true) ->
    _ = [throw({usage, format("~ts has no duration: calls have, such as "
                              "shop:order/2, and gc, and running~ts",
                              [Text, instead(Kind)])})
         || #{kind := Kind, text := Text} <- Specs,
            not lists:member(Kind, [call, garbage_collection, running])],
    _ = length(Specs) > 1 andalso
        [throw({usage, <<"the times of `running' are measured alone: leave the "
                         "other specs out">>}) || #{kind := running} <- Specs],
    ok;
durations(_, false) ->
    ok.

%% Returns a hint for the error text: the command that answers a similar question.
instead(Kind) when Kind =:= send; Kind =:= 'receive' ->
    ". `inviso count' counts messages; `inviso seq' shows how long those of a "
        "request wait";
instead(system) ->
    ". `inviso trace' shows each event, with its time; `inviso count' counts them";
instead(_) ->
    ". `inviso count' counts such events".

for_requests(Spec, none) -> Spec;
for_requests(Spec, calls) -> inviso_arm_starts:in_request(Spec);
for_requests(Spec, Start) -> inviso_arm_starts:of_spec(Spec, Start).

%% Checks that the texts do not add too many atoms. An atom is never removed from
%% the node, which has room for about a million.
few_new_words(Texts) ->
    New = inviso_spec:new_words(Texts),
    New =< ?MAX_NEW_WORDS orelse
        throw({usage, format("the specs have ~b words that are not atoms on "
                             "this node yet; at most ~b are allowed, because "
                             "each stays there as an atom",
                             [New, ?MAX_NEW_WORDS])}),
    ok.

make(Given, Procs, Follow, #{dry := Dry, yes := Yes} = Asked) ->
    All = [S || #{kind := call} = S <- Given],
    {Wild, Searched} = wild(All),
    Found = [{S, resolve(S, Asked)} || S <- All],
    {Calls, Results} = lists:unzip([F || {_, {R, _}} = F <- Found, R =/= nothing]),
    {Resolved, LoadNotes} = lists:unzip(Results),
    Missing = [{S, Note} || {S, {nothing, Note}} <- Found],
    Specs = [S || S <- Given, not lists:keymember(S, 1, Missing)],
    Functions = inviso_arm_functions:operations(lists:append(Resolved)),
    Tracees = counted(Asked, inviso_arm_procs:tracees(Specs, Procs, Follow)),
    {Events, NameNotes} = messages(Specs),
    Total = lists:sum([N || {_, N} <- Functions]),
    ManyNotes = many(Total, Dry, Yes),
    ok = undisturbed(Functions, Events, Tracees),
    Monitor = inviso_arm_system:options(Specs),
    ok = inviso_arm_system:check(Monitor),
    {Count, Sensitive, ProcNotes} = inviso_arm_procs:count(Tracees),
    Notes = [Note || {_, Note} <- Missing]
        ++ lists:append(LoadNotes) ++ ManyNotes ++ NameNotes ++ ProcNotes
        ++ inviso_arm_system:notes(Monitor, inviso_arm_procs:is_all(Tracees))
        ++ notes(Specs, Tracees) ++ inviso_arm_foreign:shared(Functions),
    List = [{list, inviso_arm_list:lines(lists:zip(Calls, Resolved))} || Dry],
    {ok, #plan{expects = expects(Functions, Tracees),
               todo = Functions ++ [{E, 0} || E <- Events], total = Total,
               records = lists:append([maps:get(records, S, []) || S <- Specs]),
               tracees = Tracees, monitor = Monitor, wild = Wild, yes = Yes, searched = Searched,
               rules = inviso_arm_decide:rules(lists:append(Resolved))},
     maps:merge(maps:from_list(List),
                #{functions => Total, processes => Count,
                  sensitive => Sensitive, idle => length(Missing),
                  system => length(Monitor), notes => unique(Notes)})}.

expects([_ | _], Tracees) ->
    case inviso_arm_procs:has_calls(Tracees) of
        true -> first;
        false -> done
    end;
expects([], _) ->
    done.

counted(#{count := true}, Tracees) -> inviso_arm_procs:by_arity(Tracees);
counted(_, Tracees) -> Tracees.

wild(Calls) ->
    case lists:any(fun inviso_arm_groups:is_wild/1, Calls) of
        true -> {Calls, inviso_arm_groups:snapshot()};
        false -> {[], undefined}
    end.

resolve(Spec, #{dry := Dry, yes := Yes} = Asked) ->
    try
        resolve(Spec, not Dry, Yes)
    catch
        throw:{nothing, Text} when is_map_key(start, Asked) -> {nothing, Text}
    end.

resolve(Spec, Load, Yes) ->
    case inviso_arm_groups:is_group(Spec) of
        true -> inviso_arm_groups:resolve(Spec, Yes);
        false -> inviso_arm_functions:resolve(Spec, Load)
    end.

%% If there are too many functions, throws an error or, in a dry run, returns a
%% note.
many(Total, Dry, false) when Total > ?MAX_FUNCTIONS ->
    Text = format("the specs select ~b functions; more than ~b need --yes~ts",
                  [Total, ?MAX_FUNCTIONS,
                   ["; --dry-run lists them" || not Dry]]),
    _ = Dry orelse throw({usage, Text}),
    [Text];
many(_, _, _) ->
    [].

%% Returns the match specs for messages, and notes for the user. The VM has one
%% match spec for all sent messages and one for all received messages. So all specs
%% for sent messages are combined into one match spec, and all specs for received
%% messages are combined into one match spec, too.
messages(Specs) ->
    Kinds = [{Kind, lists:unzip([receivers(S) || S <- Those])}
             || Kind <- [send, 'receive'],
                Those <- [[S || #{kind := K} = S <- Specs, K =:= Kind]],
                Those =/= []],
    {[{event, Kind, inviso_arm_functions:match_spec(all_clauses(Clauses))}
      || {Kind, {Clauses, _}} <- Kinds],
     lists:append([N || {_, {_, Notes}} <- Kinds, N <- Notes])}.

%% Converts the clauses of a spec whose receiver is a name. The VM passes the
%% receiver to a match spec in the form that the sender used: a name, {Name, Node}
%% or a pid. (gen_server:call/2 and similar functions look up the name and send to
%% the pid.) So a clause with a name becomes three clauses, one for each form.
receivers(#{kind := send, clauses := Clauses}) ->
    Names = lists:usort([N || C <- Clauses, N <- receiver(C)]),
    Known = maps:from_list([{N, whereis(N)} || N <- Names]),
    {lists:append([receivers(C, Known) || C <- Clauses]),
     [name_note(N, maps:get(N, Known)) || N <- Names]};
receivers(#{clauses := Clauses}) ->
    {Clauses, []}.

%% If the receiver in a clause is a name, returns a list with this name, otherwise
%% an empty list. The list is empty for a clause of a raw match spec, too, so that
%% this clause stays unchanged.
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

%% Joins the clauses of several specs for messages. A spec without clauses
%% selects every message. If at least one spec has no clauses, the result has
%% none either.
all_clauses(Those) ->
    case lists:member([], Those) of
        true -> [];
        false -> lists:append(Those)
    end.

undisturbed(Functions, Events, Tracees) ->
    ok = inviso_arm_foreign:functions(Functions),
    ok = case inviso_arm_procs:has_calls(Tracees) of
             false -> ok;
             true -> inviso_arm_foreign:calls()
         end,
    ok = inviso_arm_foreign:events([E || {event, E, _} <- Events]),
    inviso_arm_procs:undisturbed(Tracees).

notes(Specs, Tracees) ->
    Counts = [1 || #{counters := Cs} <- Specs, lists:member(count, Cs)],
    [<<"`count' counts the calls of all processes, whichever are traced">>
     || Counts =/= [], not inviso_arm_procs:is_all(Tracees)]
        ++ [format("~ts: {return_trace} alone records no exceptions: a call "
                   "that ends with an exception looks as if it had not ended. "
                   "{exception_trace} records both", [Text])
            || #{kind := call, clauses := Clauses, text := Text} <- Specs,
               lists:any(fun hides_exceptions/1, Clauses)]
        ++ inviso_arm_procs:defects(Tracees).

hides_exceptions({raw, {_, _, Body}}) ->
    lists:member({return_trace}, Body)
        andalso not lists:member({exception_trace}, Body);
hides_exceptions(_) ->
    false.

unique(Notes) ->
    lists:foldr(fun(N, Acc) -> [N | lists:delete(N, Acc)] end, [], Notes).

%% @doc Returns the modules whose calls are traced, or whose records the specs name.
-spec modules(plan()) -> [module()].
modules(#plan{todo = Todo, records = Records}) ->
    lists:usort([M || {{_, {M, _, _}, _}, _} <- Todo] ++ Records).

%% @doc Returns the rules of the plan's functions. A rule decides at the end of a call
%% whether the call is recorded.
-spec rules(plan()) -> [inviso_arm_decide:told()].
rules(#plan{rules = Rules}) -> Rules.

%% @doc Returns what the system monitor of the node is to report.
-spec monitor(plan()) -> [inviso_system_monitor:option()].
monitor(#plan{monitor = Options}) -> Options.

%% @doc Stores in the plan that the tracer has these rules. When modules are
%% loaded later, their functions get the rules too.
-spec decided(inviso_arm_decide:decide(), plan()) -> plan().
decided(Decide, Plan) -> Plan#plan{decide = Decide, rules = []}.

%% --- steps --------------------------------------------------------------------

%% @doc Makes the next step, which takes a few milliseconds. The session's workers
%% are never traced. Closing the tracing, after an error or at any other time,
%% clears all patterns and flags that were set.
-spec step(plan(), [pid()], inviso_tracing:tracing()) ->
          {more, {non_neg_integer(), non_neg_integer()}, plan(),
           inviso_tracing:tracing()}
        | {done, plan(), inviso_tracing:tracing()}
        | {error, class(), binary(), plan(), inviso_tracing:tracing()}.
step(Plan, Workers, T) ->
    step(Plan, Workers, T, now_us() + ?STEP_US).

step(#plan{todo = [], walk = []} = Plan, _, T, _) ->
    {done, Plan, T};
step(Plan, Workers, T, Until) ->
    case next(Plan, Workers, T) of
        {ok, #plan{done = Done, total = Total} = Next, T1} ->
            case now_us() < Until andalso phase(Next) =:= phase(Plan) of
                true -> step(Next, Workers, T1, Until);
                false -> {more, {Done, Total}, Next, T1}
            end;
        {error, What, Reason} ->
            {Class, Text} = why(What, Reason),
            {error, Class, Text, Plan, T}
    end.

phase(#plan{todo = [_ | _]}) -> patterns;
phase(#plan{expects = After}) when After =/= done -> patterns;
phase(#plan{walk = none}) -> new_processes;
phase(_) -> processes.

next(#plan{todo = [{{Kind, What, MS}, N} | Rest], done = Done} = Plan, _, T) ->
    case inviso_tracing:set(Kind, What, MS, T) of
        {{ok, _}, T1} -> {ok, Plan#plan{todo = Rest, done = Done + N}, T1};
        {{error, Reason}, _} -> {error, What, Reason}
    end;
next(#plan{expects = After} = Plan, _, T) when After =/= done ->
    case inviso_tracing:expect_calls(After, T) of
        {ok, Next} -> {ok, Plan#plan{expects = Next}, T};
        {error, Reason} -> {error, patterns, Reason}
    end;
next(#plan{walk = none, tracees = Tracees} = Plan, Workers, T) ->
    case inviso_arm_procs:begin_walk(Tracees, T, Workers) of
        {ok, Walk} ->
            {ok, Plan#plan{walk = Walk, walked_of = length(Walk)}, T};
        {error, Reason} ->
            {error, processes, Reason}
    end;
next(#plan{walk = Walk, tracees = Tracees} = Plan, Workers, T) ->
    case inviso_arm_procs:walk(Walk, ?BATCH, Tracees, T, Workers) of
        {ok, Rest} -> {ok, Plan#plan{walk = Rest}, T};
        {error, Reason} -> {error, processes, Reason}
    end.

now_us() -> erlang:monotonic_time(microsecond).

why(_, {already_traced, {M, F, A}}) ->
    {refused, format("~ts is now traced by another tool",
                     [inviso_spec:format_mfa(M, F, A)])};
why(_, {already_traced, new, Tracer}) ->
    {refused, format("new processes are now traced by ~ts",
                     [inviso_arm_foreign:owner(Tracer)])};
why(_, {already_traced, What}) ->
    {refused, format("~tw is now traced by another tool", [What])};
why(_, {gc_traced_in_another_session, P}) ->
    {refused, inviso_arm_procs:gc_text(P)};
why(patterns, badarg) ->
    {failed, <<"the trace sessions of this node were killed">>};
why(What, badarg) when What =/= processes ->
    {usage, format("the VM does not accept the match specification of ~ts",
                   [pattern_text(What)])};
why(What, Reason) ->
    case inviso_scope:explain(Reason) of
        none ->
            {failed, format("~tw: ~tw", [What, Reason])};
        Text ->
            {refused, format("~ts: ~ts", [pattern_text(What), Text])}
    end.

pattern_text({M, F, A}) -> inviso_spec:format_mfa(M, F, A);
pattern_text(What) -> atom_to_list(What).

%% @doc Returns true if all patterns are set. No flag is set before that, and the next
%% step may set flags.
-spec has_patterns(plan()) -> boolean().
has_patterns(#plan{todo = Todo, expects = After}) ->
    Todo =:= [] andalso After =:= done.

%% @doc Returns true if some patterns count calls. Such a pattern counts as soon as it
%% is set, without any flag.
-spec has_counters(plan()) -> boolean().
has_counters(#plan{todo = Todo}) ->
    lists:any(fun({Pattern, _}) -> element(1, Pattern) =:= call_count end, Todo).

%% @doc Returns in words how much has been set.
-spec progress(plan()) -> binary().
progress(#plan{done = Done, total = Total, walk = none}) ->
    format("~b of ~b functions, and no process", [Done, Total]);
progress(#plan{done = Done, total = Total, walk = Walk, walked_of = Of}) ->
    format("~b of ~b functions, and ~b of ~b processes",
           [Done, Total, Of - length(Walk), Of]).

%% @doc Returns true if at least one event or call may already have been recorded
%% or counted.
-spec has_begun(plan(), inviso_tracing:tracing()) -> boolean().
has_begun(#plan{walk = none}, T) ->
    lists:keymember(call_count, 1, inviso_tracing:patterns(T));
has_begun(#plan{walk = Walk, walked_of = Of, tracees = Tracees}, _) ->
    length(Walk) < Of orelse Of =:= 0 orelse inviso_arm_procs:is_new(Tracees).

%% @doc Sets lost patterns again. If modules were loaded since the last call, also
%% sets patterns on the functions of these modules that a wildcard selects. Returns
%% notes about all patterns that it has set. Must be called every `Ms' milliseconds;
%% each call is quick.
-spec watch(plan(), inviso_tracing:tracing(), pos_integer()) ->
          {[binary()], plan(), inviso_tracing:tracing()}.
watch(#plan{look = Next} = Plan, T0, Ms) ->
    {Notes, Rest} = inviso_arm_watch:look(Next, T0, Ms),
    {New, Plan1} = search(Plan#plan{look = Rest}, T0),
    {More, Plan2, T} = set_later(Plan1, T0),
    {Notes ++ New ++ More, Plan2, T}.

search(#plan{wild = [_ | _] = Specs, later = []} = Plan, T) ->
    {Modules, Searched} = inviso_arm_groups:changed(Plan#plan.searched),
    Resolved = inviso_arm_groups:later(Specs, Modules, Plan#plan.yes),
    Known = maps:from_keys([{Kind, What}
                            || Resolved =/= [],
                               {Kind, What, _} <- inviso_tracing:patterns(T)],
                           true),
    New = [Op || {{Kind, What, _}, _} = Op
                     <- inviso_arm_functions:operations(Resolved),
                 not is_map_key({Kind, What}, Known)],
    ok = inviso_arm_decide:tell(inviso_arm_decide:rules(Resolved),
                                Plan#plan.decide),
    allowed(New, Plan#plan{searched = Searched});
search(Plan, _) ->
    {[], Plan}.

allowed([], Plan) ->
    {[], Plan};
allowed(New, #plan{total = Total, yes = Yes} = Plan) ->
    Sum = Total + lists:sum([N || {_, N} <- New]),
    try
        _ = not Yes andalso Sum > ?MAX_FUNCTIONS andalso
            throw({usage, <<"more than 10000 functions need --yes">>}),
        ok = inviso_arm_foreign:functions(New),
        {[format("~ts was loaded: ~b function~ts of it ~ts traced from now on",
                 [M, N, plural(N), is_or_are(N)])
          || {M, N} <- by_module(New)],
         Plan#plan{later = New, total = Sum}}
    catch
        throw:{_, Why} ->
            {[format("~ts was loaded, and is not traced: ~ts", [M, Why])
              || {M, _} <- by_module(New)],
             Plan}
    end.

by_module(Operations) ->
    maps:to_list(lists:foldl(
                   fun({{_, {M, _, _}, _}, N}, Acc) ->
                           Acc#{M => N + maps:get(M, Acc, 0)}
                   end, #{}, Operations)).

plural(1) -> "";
plural(_) -> "s".

is_or_are(1) -> "is";
is_or_are(_) -> "are".

%% Sets patterns of modules that were loaded later. If a function no longer
%% exists, its pattern is dropped without a note.
set_later(#plan{later = Later} = Plan, T0) ->
    {Now, Rest} = lists:split(min(?MAX_LATER, length(Later)), Later),
    {Notes, T} =
        lists:foldl(fun({{Kind, What, MS}, _}, {Acc, T1}) ->
                            case inviso_tracing:set(Kind, What, MS, T1) of
                                {{ok, _}, T2} -> {Acc, T2};
                                {{error, Reason}, T2} ->
                                    {_, Text} = why(What, Reason),
                                    {[Text | Acc], T2}
                            end
                    end, {[], T0}, Now),
    {lists:reverse(Notes), Plan#plan{later = Rest}, T}.

%% --- beforehand ---------------------------------------------------------------

%% @doc Returns an upper limit of the events to expect in a second. Counts calls
%% for `Ms' milliseconds, unless this would disturb patterns of other tools.
%% Returns `unknown' if the plan also has events other than calls, because only
%% calls can be counted without being traced.
-spec expect(plan(), pos_integer()) ->
          {ok, non_neg_integer()} | {unknown, binary()}.
expect(#plan{todo = Todo, tracees = Tracees, monitor = Monitor}, Ms) ->
    Calls = inviso_arm_expect:per_second(Todo, Ms),
    Uncounted = inviso_arm_procs:uncounted(Tracees)
        ++ inviso_arm_system:events(Monitor),
    case {Uncounted, Calls} of
        {[], _} ->
            Calls;
        {Flags, {ok, N}} when N > 0 ->
            {unknown, format("up to ~b a second of calls; how many of ~ts "
                             "cannot be predicted",
                             [N, words(Flags)])};
        {Flags, _} ->
            {unknown, format("the number of events of ~ts cannot be "
                             "predicted", [words(Flags)])}
    end.

words(Flags) ->
    lists:join(", ", [atom_to_list(F) || F <- Flags]).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
