%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds the functions that specs select, and the patterns to set for them.
%%
%% If several specs match a call, the call makes one event. So the clauses of all
%% specs become one match spec. The clauses that match every call are last, because
%% the VM takes only the first clause that matches; the other clauses get the actions
%% of these last clauses too.
-module(inviso_arm_functions).

-export([resolve/2, matching/2, operations/1, match_spec/1]).

-export_type([operation/0, resolved/0]).

%% A pattern to set, and how many of its functions have no earlier pattern.
-type operation() :: {inviso_scope:pattern(), non_neg_integer()}.
-type fa() :: {atom(), arity()}.
-type resolved() :: {module(), whole | [fa()], inviso_spec:spec()}.

-define(MAX_NOTED, 5).

%% @doc Returns the functions whose calls `Spec' selects, grouped by module, and
%% notes for the user. If `Load' is true, loads the module if necessary. If the
%% spec has a group of modules, call {@link inviso_arm_groups:resolve/2} and not
%% this function. Throws `{nothing, Text}' if there are no such functions.
-spec resolve(inviso_spec:spec(), boolean()) -> {[resolved()], [binary()]}.
resolve(#{module := M, function := F, arity := A} = Spec, Load) ->
    Notes = loaded(M, Spec, Load),
    case matching(M, Spec) of
        [] -> {[], []} = no_function(M, F, A, Spec);
        [{_, FAs, _}] = Found -> {Found, Notes ++ private(M, F, FAs)}
    end.

%% @doc Returns those functions of the loaded module `M' whose calls `Spec'
%% selects.
-spec matching(module(), inviso_spec:spec()) -> [resolved()].
matching(M, #{function := '_', functions := one, arity := '_',
              exported := false} = Spec) ->
    case inviso_functions:of_module(M) of
        [] -> [];
        _ -> [{M, whole, Spec}]
    end;
matching(M, #{arity := A, exported := Exported} = Spec) ->
    All = case Exported of
              true -> exports_of(M);
              false -> inviso_functions:of_module(M)
          end,
    case [FA || {F1, A1} = FA <- All, A =:= '_' orelse A =:= A1,
                fits(F1, Spec)] of
        [] -> [];
        FAs -> [{M, FAs, Spec}]
    end.

fits(F, #{function := F}) -> true;
fits(_, #{function := '_', functions := one}) -> true;
fits(_, #{functions := one}) -> false;
fits(F, #{functions := Glob}) -> inviso_spec_group:fits(Glob, F).

%% Returns the exported functions of a module, or none if the module is being
%% purged.
exports_of(M) ->
    try
        lists:usort(M:module_info(exports))
    catch
        error:undef -> []
    end.

%% --- modules ------------------------------------------------------------------

%% Loads a module if necessary, and returns notes for the user. The module stays
%% loaded after tracing: it is the node's own code, and the first call of one of
%% its functions would load it too.
loaded(M, Spec, Load) ->
    case erlang:module_loaded(M) of
        true -> [];
        false when Load -> load(M, Spec);
        false -> not_loaded(M, Spec, "tracing it loads it")
    end.

load(M, Spec) ->
    Name = module_text(M, Spec),
    case is_plain(M) andalso code:ensure_loaded(M) of
        {module, M} ->
            [format("module ~ts was not loaded: it is now, and stays so",
                    [Name])];
        {error, embedded} ->
            not_loaded(M, Spec, "the node runs in embedded mode, where only "
                       "code:load_file(" ++ quoted(M) ++ ") loads it");
        {error, Why} when Why =/= nofile ->
            nothing("module ~ts cannot be loaded: ~0tP", [Name, Why, 20]);
        _ ->
            no_module(M, Spec)
    end.

-spec not_loaded(module(), term(), string()) -> no_return().
not_loaded(M, Spec, But) ->
    case is_plain(M) andalso
        code:where_is_file(atom_to_list(M) ++ ".beam") of
        Path when is_list(Path) ->
            nothing("module ~ts is not loaded: nothing has called it yet, and "
                    "~ts", [module_text(M, Spec), But]);
        _ ->
            no_module(M, Spec)
    end.

-spec no_module(module(), term()) -> no_return().
no_module(M, Spec) ->
    nothing("there is no module ~ts on this node~ts",
            [module_text(M, Spec), near_module(M, Spec)]).

quoted(M) -> lists:flatten(io_lib:format("~tw", [M])).

%% Returns true if a module's name has no slash. With a slash the name would be a
%% path.
is_plain(M) -> not lists:member($/, atom_to_list(M)).

near_module(M, Spec) ->
    Loaded = [atom_to_list(L) || {L, _} <- code:all_loaded()],
    Near = near_names(atom_to_list(M), Loaded),
    inviso_near:did_you_mean([shown(N, Spec) || N <- Near]).

%% Returns names that resemble a module's name. The prefix "Elixir." is not
%% compared, because all Elixir modules have it.
near_names("Elixir." ++ Name, Loaded) ->
    ["Elixir." ++ N
     || N <- inviso_near:names(Name, [L || "Elixir." ++ L <- Loaded])];
near_names(Name, Loaded) ->
    case lists:member("Elixir." ++ Name, Loaded) of
        true -> ["Elixir." ++ Name];
        false -> inviso_near:names(Name, Loaded)
    end.

shown("Elixir." ++ Name, #{elixir := true}) -> Name;
shown("Elixir." ++ _ = Name, _) -> "'" ++ Name ++ "'";
shown(Name, _) -> Name.

module_text(M, Spec) -> shown(atom_to_list(M), Spec).

%% --- functions ------------------------------------------------------------------

-spec no_function(module(), atom(), arity() | '_', inviso_spec:spec()) ->
          no_return().
no_function(M, F, A, Spec) ->
    All = inviso_functions:of_module(M),
    Name = module_text(M, Spec),
    case lists:usort([A1 || {F1, A1} <- All, F1 =:= F]) of
        [] when F =:= '_' ->
            nothing("module ~ts has no function that matches ~ts",
                    [Name, maps:get(text, Spec)]);
        [] ->
            Names = lists:usort([atom_to_list(F1) || {F1, _} <- All]),
            nothing("module ~ts has no function ~ts~ts",
                    [Name, F, instead(atom_to_list(F), Names)]);
        Arities ->
            nothing("~ts has no function ~ts; there is ~ts",
                    [Name, fa_text(F, A),
                     lists:join(", ", [fa_text(F, N) || N <- Arities])])
    end.

instead(F, Names) ->
    case lists:member("MACRO-" ++ F, Names) of
        true -> ": it is a macro, of which nothing is left when code runs";
        false -> inviso_near:did_you_mean(inviso_near:names(F, Names))
    end.

fa_text(F, '_') -> io_lib:format("~ts", [F]);
fa_text(F, A) -> io_lib:format("~ts/~b", [F, A]).

private(_M, '_', _FAs) ->
    [];
private(M, _, FAs) ->
    [format("~ts is not exported: it is called from within its module only",
            [inviso_spec:format_mfa(M, F, A)])
     || {F, A} <- lists:sublist(FAs -- exports_of(M), ?MAX_NOTED)].

%% --- patterns --------------------------------------------------------------------

%% @doc Returns the patterns to set for the resolved functions, in the order in
%% which they must be set.
-spec operations([resolved()]) -> [operation()].
operations(Resolved) ->
    ByModule = lists:foldl(fun({M, Which, Spec}, Acc) ->
                                   maps:update_with(
                                     M, fun(L) -> L ++ [{Which, Spec}] end,
                                     [{Which, Spec}], Acc)
                           end, #{}, Resolved),
    lists:append([module_operations(M, Entries)
                  || {M, Entries} <- lists:sort(maps:to_list(ByModule))]).

module_operations(M, Entries) ->
    Events = [E || {_, #{clauses := [_ | _]}} = E <- Entries],
    Counters = [{Kind, [E || {_, #{counters := Cs}} = E <- Entries,
                             lists:member(C, Cs)]}
                || {C, Kind} <- [{count, call_count}, {time, call_time}]],
    Ops = kind_operations(local, M, Events)
        ++ lists:append([kind_operations(K, M, Es) || {K, Es} <- Counters]),
    weighed(Ops).

kind_operations(Kind, M, Entries) ->
    Wholes = [Spec || {whole, Spec} <- Entries],
    Some = [{maps:from_list([{FA, true} || FA <- FAs]), Spec}
            || {FAs, Spec} <- Entries, is_list(FAs)],
    Base = [{Kind, {M, '_', '_'}, ms(Kind, Wholes)} || Wholes =/= []],
    Names = lists:usort(lists:append([maps:keys(FAs) || {FAs, _} <- Some])),
    Base ++ [{Kind, {M, F, A}, MS}
             || {F, A} = FA <- Names,
                MS <- [ms(Kind, covering(FA, Entries, Some))],
                Base =/= [{Kind, {M, '_', '_'}, MS}]].

%% Returns the specs that match a function, in the order in which they were given.
covering(FA, Entries, Some) ->
    [Spec || {Which, Spec} <- Entries,
             Which =:= whole orelse
                 lists:any(fun({FAs, S}) ->
                                   S =:= Spec andalso is_map_key(FA, FAs)
                           end, Some)].

ms(local, Specs) -> match_spec([C || #{clauses := Cs} <- Specs, C <- Cs]);
ms(_Counter, _Specs) -> true.

%% Adds to each pattern the number of its functions. A function with several
%% patterns is counted only for the first pattern.
weighed(Ops) ->
    {Weighed, _} =
        lists:mapfoldl(fun({_, Which, _} = Op, Seen) ->
                               New = [MFA || MFA <- inviso_functions:of_pattern(
                                                      Which),
                                             not is_map_key(MFA, Seen)],
                               {{Op, length(New)},
                                maps:merge(Seen, maps:from_keys(New, true))}
                       end, #{}, Ops),
    Weighed.

%% @doc Combines clauses into one match spec.
-spec match_spec([inviso_spec:clause()]) -> true | [tuple()].
match_spec(Clauses) ->
    Always = [Actions || {'_', [], Actions} <- Clauses],
    All = lists:usort(lists:append(Always)),
    Some = [clause(C, All) || C <- Clauses, not is_always(C)],
    case {Some, Always} of
        {[], [_ | _]} when All =:= [] -> true;
        {[], []} -> true;
        {_, []} -> Some;
        {_, _} -> Some ++ [{'_', [], body(All)}]
    end.

is_always({'_', [], _}) -> true;
is_always(_) -> false.

clause({raw, Clause}, _) -> Clause;
clause({Head, Guards, Actions}, All) ->
    {Head, Guards, body(lists:usort(Actions ++ All))}.

%% Returns the body of a clause with these actions. An event can carry only one
%% extra term, so several terms become a tuple.
body([{start, _, _, _} = Start]) ->
    inviso_arm_starts:body(Start);
body([{value, _} = Value]) ->
    inviso_arm_values:body(Value);
body([return, {value, _} = Value]) ->
    inviso_arm_values:body(Value) ++ [{exception_trace}];
body(Actions) ->
    Extra = case [A || A <- Actions, A =/= return] of
                [] -> [];
                [A] -> [{message, extra(A)}];
                As -> [{message, {list_to_tuple([extra(A) || A <- As])}}]
            end,
    Extra ++ [{exception_trace} || lists:member(return, Actions)].

extra(caller) -> {caller};
extra(stack) -> {current_stacktrace}.

-spec nothing(string(), [term()]) -> no_return().
nothing(Format, Args) ->
    throw({nothing, format(Format, Args)}).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
