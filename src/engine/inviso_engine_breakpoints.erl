%% SPDX-License-Identifier: Apache-2.0
%% @doc Changes the patterns and counters that the VM has on functions. All sessions
%% share these.
%%
%% A state is what the VM has on one function: the pattern for calls, the meta
%% pattern and the counters. This module finds functions and changes their states.
%% The VM needs as long to change one function as to change all functions of a
%% module. So one call of `erlang:trace_pattern/3' changes as many functions of a
%% module as possible.
-module(inviso_engine_breakpoints).

-export([version/1, functions/1, matching/1, marked/1, has/2, is/2,
         left/2, is_taken/2, beside/3, exchange/1, exchange_on_load/2,
         is_foreign_on_load/1, is_ours/1, clean/0]).

-export_type([state/0, fa/0, change/0]).

-type fa() :: {atom(), arity()}.
-type state() :: #{call => {global | local, [tuple()]},
                   meta => [tuple()] | {{module(), term()}, [tuple()]},
                   inviso_engine_counters:kind() => true}.
-type change() :: {module(), fa(), Old :: state(), New :: state()}.

-define(KEYS, [call, meta, call_count, call_time, call_memory]).
%% The tracer of meta traced calls: the module inviso_engine with the tracer state
%% 1. As the tracer of a process the engine has the tracer state 0.
-define(META, {meta, inviso_engine, 1}).
%% If a change is about N functions of a module, at most this many times N other
%% functions are examined to find out if one call can change the whole module.
-define(OTHERS, 8).

%% @doc Returns the checksum of a module's code, or `none' if the module is not
%% loaded.
-spec version(module()) -> binary() | none.
version(M) ->
    try erlang:get_module_info(M, md5)
    catch error:badarg -> none
    end.

%% @doc Returns all functions of a module. A module that is not loaded has none.
-spec functions(module()) -> [fa()].
functions(M) -> of_module(M, functions).

%% Returns the exported functions. Only these can have a global pattern.
exports(M) -> of_module(M, exports).

%% @doc Returns the functions that match {M, F, A}, grouped by module. The boolean
%% is true if the function is exported.
-spec matching({module() | '_', atom(), arity() | '_'}) ->
          [{module(), [{fa(), boolean()}]}].
matching({'_', _, _}) ->
    [{M, marked(M)} || M <- erlang:loaded()];
matching({M, Function, Arity}) ->
    [{M, [Marked || {{F, A}, _} = Marked <- marked(M),
                    Function =:= '_' orelse Function =:= F,
                    Arity =:= '_' orelse Arity =:= A]}].

%% @doc Returns all functions of a module, each with true if it is exported.
-spec marked(module()) -> [{fa(), boolean()}].
marked(M) ->
    Exports = maps:from_list([{FA, true} || FA <- exports(M)]),
    [{FA, is_map_key(FA, Exports)} || FA <- functions(M)].

of_module(M, What) ->
    try erlang:get_module_info(M, What)
    catch error:badarg -> []
    end.

%% @doc Returns true if the VM still has `State' on a function. Only one part of the
%% state is checked. Returns false if the module was loaded again, or if another tool
%% has replaced the pattern.
-spec has(mfa(), state()) -> boolean().
has(_MFA, State) when map_size(State) =:= 0 ->
    true;
has(MFA, #{call := Call}) ->
    is(MFA, #{call => Call});
has(MFA, State) ->
    [Key | _] = [K || K <- ?KEYS, is_map_key(K, State)],
    is_set(MFA, Key).

%% @doc Returns true if the VM has every part of a state.
-spec is(mfa(), state()) -> boolean().
is(MFA, State) ->
    lists:all(fun({call, {Kind, MS}}) ->
                      erlang:trace_info(MFA, traced) =:= {traced, Kind}
                          andalso erlang:trace_info(MFA, match_spec)
                          =:= {match_spec, MS};
                 ({meta, MS}) ->
                      erlang:trace_info(MFA, meta_match_spec)
                          =:= {meta_match_spec, MS};
                 ({Counter, true}) ->
                      is_set(MFA, Counter)
              end, maps:to_list(State)).

is_set(MFA, Key) ->
    {Key, Value} = erlang:trace_info(MFA, Key),
    not lists:member(Value, [false, undefined])
        andalso (Key =/= meta orelse Value =/= []).

%% @doc Returns the part of a state that the VM still has after has/2 has returned
%% false. The result never contains the pattern for calls.
-spec left(mfa(), state()) -> state().
left(MFA, State) ->
    maps:filter(fun(call, _) -> false;
                   (Key, _) -> is_set(MFA, Key)
                end, State).

%% @doc Returns true if another tool traces a function globally. `State' is what
%% sessions have on this function.
-spec is_taken(mfa(), state()) -> boolean().
is_taken(MFA, State) ->
    of_other_tool(MFA, State) =:= global.

%% @doc Returns the part of the state `Wanted' that can replace `Old' without
%% changing what another tool has set on the function. If the other tool has a
%% global pattern, counters are left out. `taken' means that nothing can be set.
-spec beside(mfa(), state(), state()) -> {ok, state()} | taken.
beside(_MFA, State, State) ->
    {ok, State};
beside(MFA, Old, Wanted) ->
    Other = of_other_tool(MFA, Old),
    New = case Other of
              global -> maps:without(inviso_engine_counters:kinds(), Wanted);
              _ -> Wanted
          end,
    case is_refused(Other, Old, New)
        orelse lists:any(fun(Key) -> is_set(MFA, Key) end,
                         endangered(Old, New)) of
        true -> taken;
        false -> {ok, New}
    end.

%% Returns the kind of pattern that another tool has set on a function. `none'
%% or `false' means that no other tool has a pattern. If the module was just loaded,
%% the function may have the pattern that the engine has set for on_load, but `State'
%% may not contain this pattern yet. So the match spec is checked, too: it shows
%% whether the pattern is the engine's.
of_other_tool(MFA, State) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    Set = case State of
              #{call := {Kind, _}} -> Kind;
              _ -> false
          end,
    case How =:= Set orelse
        inviso_engine_spec:is_ours(erlang:trace_info(MFA, match_spec)) of
        true -> none;
        false -> How
    end.

%% Returns true if another tool's pattern prevents the change. If that pattern is
%% local, counters and meta tracing can still change.
is_refused(none, _, _) -> false;
is_refused(global, Old, New) -> Old =/= New;
is_refused(_, Old, New) ->
    maps:get(call, Old, none) =/= maps:get(call, New, none).

%% Returns the parts that the change would overwrite, but that are not in `Old'. The
%% engine has not set these parts; so if the VM has one of them, another tool has set
%% it.
%%
%% A global pattern overwrites all other parts. But for a global pattern the result
%% has no call_time and no call_memory: the caller reads each part, and reading these
%% two stops all schedulers. So another tool can lose its call_time or call_memory
%% unnoticed.
endangered(Old, #{call := {global, _}}) ->
    [K || K <- [meta, call_count], not is_map_key(K, Old)];
endangered(Old, New) ->
    [K || K <- tl(?KEYS), is_map_key(K, New), not is_map_key(K, Old)].

%% @doc Changes the states of functions in the VM. If the VM refuses one change, all
%% changes are undone.
-spec exchange([change()]) -> ok | {error, term()}.
exchange(Changes) ->
    Groups = lists:foldl(fun({M, FA, Old, New}, Acc) ->
                                 Key = {M, Old, New},
                                 Acc#{Key => [FA | maps:get(Key, Acc, [])]}
                         end, #{}, Changes),
    in_turn(maps:to_list(Groups), []).

in_turn([{{M, Old, New}, FAs} = Group | Rest], Done) ->
    case step_by_step({M, FAs}, Old, New) of
        ok ->
            in_turn(Rest, [Group | Done]);
        {error, _} = E ->
            _ = [step_by_step({DoneM, DoneFAs}, To, From)
                 || {{DoneM, From, To}, DoneFAs} <- Done],
            E
    end;
in_turn([], _Done) ->
    ok.

%% If a step fails, undoes the steps that were done. Tries to undo each step alone:
%% undoing a step that was not done fails, and the other steps must still be undone.
step_by_step(Which, Old, New) ->
    case steps([{Spec, Step} || Spec <- specs(Which, Old, New),
                                Step <- steps_of(Old, New)]) of
        ok ->
            ok;
        {error, _} = E ->
            _ = [steps([{Spec, Step}]) || Spec <- specs(Which, New, Old),
                                          Step <- steps_of(New, Old)],
            E
    end.

%% Returns arguments for `erlang:trace_pattern/3' that together select the functions
%% `FAs' of a module. There are as few arguments as possible, because each call takes
%% long. They also select other functions if the change leaves these as they are.
specs(on_load, _, _) ->
    [on_load];
specs({M, FAs}, Old, New) ->
    case is_whole(M, FAs, Old, New) of
        true -> [{M, '_', '_'}];
        false -> by_name(M, FAs)
    end.

%% Returns one argument for each name of which all arities are selected, and one for
%% each other function. A function can have the name '_', which as an argument means
%% all names.
by_name(M, FAs) ->
    {Selected, All} = {arities(FAs), arities(functions(M))},
    IsEvery = fun({'_', _}) -> false;
                 ({F, _}) -> N = maps:get(F, Selected),
                             N > 1 andalso N =:= maps:get(F, All, 0)
              end,
    {Every, Some} = lists:partition(IsEvery, FAs),
    [{M, F, '_'} || F <- lists:usort([F || {F, _} <- Every])]
        ++ [{M, F, A} || {F, A} <- Some].

arities(FAs) ->
    lists:foldl(fun({F, _}, N) -> N#{F => maps:get(F, N, 0) + 1} end, #{}, FAs).

is_whole(_M, [_], _, _) ->
    false;
is_whole(M, FAs, Old, New) ->
    case functions(M) -- FAs of
        [] -> true;
        Others -> length(Others) =< ?OTHERS * length(FAs)
                      andalso spares(M, FAs, Old, New)
                      andalso lists:all(fun({F, A}) -> is_untouched({M, F, A}) end,
                                        Others)
    end.

%% Returns true if the change can be made for a whole module, and leaves functions as
%% they are that are not in `FAs' and have nothing set. A global pattern is set on
%% exported functions only. Clearing changes only functions that have what is cleared;
%% but another tool can have call_time or call_memory, which is_untouched/1 does not
%% see.
spares(M, FAs, _, #{call := {global, _}}) ->
    exports(M) -- FAs =:= [];
spares(_, _, Old, New) when map_size(New) =:= 0 ->
    not is_map_key(call_time, Old) andalso not is_map_key(call_memory, Old);
spares(_, _, _, _) ->
    false.

%% Of call_time and call_memory this function sees only those of sessions, because the
%% VM stops all schedulers to read them.
is_untouched(MFA) ->
    not lists:any(fun(Key) -> is_set(MFA, Key) end, [traced, meta, call_count])
        andalso map_size(inviso_engine_counted:left(MFA)) =:= 0.

%% Returns the steps from one state to another. A new pattern replaces the old one,
%% even if one is global and the other local. So no step has to clear the old
%% pattern.
steps_of(Old, #{call := {global, MS}} = New) ->
    [{MS, [global]} || Old =/= New];
steps_of(Old, New) ->
    [clear(Key, maps:get(Key, Old))
     || Key <- ?KEYS, is_map_key(Key, Old), not is_map_key(Key, New)]
        ++ [put_on(Key, Value)
            || Key <- ?KEYS, #{Key := Value} <- [New],
               maps:get(Key, Old, none) =/= Value].

put_on(call, {Kind, MS}) -> {MS, [Kind]};
put_on(meta, {{Module, State}, MS}) -> {MS, [{meta, Module, State}]};
put_on(meta, MS) -> {MS, [?META]};
put_on(Counter, true) -> {true, [Counter]}.

clear(call, {Kind, _}) -> {false, [Kind]};
clear(Key, _) -> {false, [Key]}.

%% The type spec of erlang:trace_pattern/3 lacks some arguments that are allowed:
%% tracers, `send', `receive' and `on_load'.
-dialyzer({[no_fail_call, no_return, no_match, no_unused],
           [steps/1, clean_on_load/1, is_ours_on_load/0, clean/1, is_meta_ours/1]}).
steps([{Spec, {MS, How}} | Rest]) ->
    try erlang:trace_pattern(Spec, MS, How) of
        _ -> steps(Rest)
    catch
        error:Reason -> {error, Reason}
    end;
steps([]) ->
    ok.

%% @doc Changes the state that functions get when their module is loaded.
-spec exchange_on_load(state(), state()) -> ok | {error, term()}.
exchange_on_load(Old, New) ->
    step_by_step(on_load, Old, New).

-dialyzer({no_fail_call, is_foreign_on_load/1}).
%% @doc Returns true if another tool has set a pattern or counter for on_load, that is,
%% for functions of modules that will be loaded. `Old' is what sessions have set for
%% on_load.
-spec is_foreign_on_load(state()) -> boolean().
is_foreign_on_load(Old) ->
    map_size(Old) =:= 0
        andalso erlang:trace_info(on_load, all) =/= {all, false}.

%% @doc Clears the patterns and counters that sessions of a killed server have set
%% on functions.
-spec clean() -> ok.
clean() ->
    OnLoad = inviso_engine_counted:left(on_load),
    %% on_load is cleared first, so that modules that are loaded meanwhile get
    %% nothing.
    clean_on_load(maps:keys(OnLoad)),
    Modules = erlang:loaded(),
    _ = [clean({M, F, A}) || M <- Modules, {F, A} <- functions(M)],
    _ = [clean_counters(M, OnLoad) || M <- Modules],
    ok.

clean_on_load(Counters) ->
    case [K || K <- [local, meta], is_ours_on_load()] ++ Counters of
        [] -> 0;
        Kinds -> erlang:trace_pattern(on_load, false, Kinds)
    end.

%% Returns true if the VM's patterns for on_load are the engine's. The engine sets
%% no such pattern while another tool has set one. So if one pattern for on_load is
%% the engine's, all of them are.
is_ours_on_load() ->
    is_meta_ours(on_load)
        orelse inviso_engine_spec:is_ours(erlang:trace_info(on_load,
                                                            match_spec)).

%% Clears the counters of a module's functions. If a module was loaded after the
%% killed server's last check, there are no notes about the module's functions. The
%% functions then have the counters that were set for on_load. Clearing a counter
%% that a function does not have does no harm.
clean_counters(M, OnLoad) ->
    Given = case inviso_engine_counted:is_seen(M) of
                true -> #{};
                false -> OnLoad
            end,
    exchange([{M, FA, Left, #{}}
              || {F, A} = FA <- functions(M),
                 Left <- [maps:merge(inviso_engine_counted:left({M, F, A}),
                                     Given)],
                 map_size(Left) > 0]).

clean({M, F, A} = MFA) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    _ = is_ours(MFA) andalso erlang:trace_pattern(MFA, false, [How]),
    _ = inviso_engine:plain(M, F, A, none),
    is_meta_ours(MFA) andalso erlang:trace_pattern(MFA, false, [meta]).

is_meta_ours(Where) ->
    erlang:trace_info(Where, meta) =:= {meta, {inviso_engine, 1}}.

%% @doc Returns true if the pattern for calls that the VM has on a function is the
%% engine's.
-spec is_ours(mfa()) -> boolean().
is_ours(MFA) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    (How =:= local orelse How =:= global)
        andalso is_ours(MFA, erlang:trace_info(MFA, match_spec)).

is_ours({M, F, A}, {match_spec, []}) -> inviso_engine:is_plain(M, F, A);
is_ours(_, MS) -> inviso_engine_spec:is_ours(MS).
