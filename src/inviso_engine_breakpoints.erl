%% SPDX-License-Identifier: Apache-2.0
%% @doc What the VM has on functions for all sessions together.
%%
%% A state is what it is to have on one function. This module finds out which
%% functions there are and makes the VM go from one state to another, with one
%% call for all functions of a module where they are treated alike: to change
%% one takes the VM as long as to change them all.
-module(inviso_engine_breakpoints).

-export([loaded/0, version/1, functions/1, matching/1, marked/1, has/2, is/2,
         left/2, is_taken/2, beside/3, exchange/1, exchange_on_load/2,
         is_foreign_on_load/1, is_ours/1, clean/0]).

-export_type([state/0, fa/0, change/0]).

-type fa() :: {atom(), arity()}.
-type state() :: #{call => {global | local, [tuple()]},
                   meta => [tuple()] | {{module(), term()}, [tuple()]},
                   inviso_engine_counters:kind() => true}.
-type change() :: {module(), fa(), Old :: state(), New :: state()}.

-define(KEYS, [call, meta, call_count, call_time, call_memory]).
%% The tracer of calls is that of the process; this one is of functions.
-define(META, {meta, inviso_engine, 1}).

%% @doc Modules.
-spec loaded() -> [module()].
loaded() ->
    erlang:loaded().

%% @doc Other code has another; `none': there is no code.
-spec version(module()) -> binary() | none.
version(M) ->
    try erlang:get_module_info(M, md5)
    catch error:badarg -> none
    end.

%% @doc All functions of a module, none if it is not loaded.
-spec functions(module()) -> [fa()].
functions(M) -> of_module(M, functions).

%% Those that global patterns are for.
exports(M) -> of_module(M, exports).

%% @doc By module, the functions that {M, F, A} stands for, and whether each is
%% exported.
-spec matching({module() | '_', atom(), arity() | '_'}) ->
          [{module(), [{fa(), boolean()}]}].
matching({'_', _, _}) ->
    [{M, marked(M)} || M <- loaded()];
matching({M, Function, Arity}) ->
    [{M, [Marked || {{F, A}, _} = Marked <- marked(M),
                    Function =:= '_' orelse Function =:= F,
                    Arity =:= '_' orelse Arity =:= A]}].

%% @doc All functions of a module, and whether each is exported.
-spec marked(module()) -> [{fa(), boolean()}].
marked(M) ->
    Exports = maps:from_list([{FA, true} || FA <- exports(M)]),
    [{FA, is_map_key(FA, Exports)} || FA <- functions(M)].

of_module(M, What) ->
    try erlang:get_module_info(M, What)
    catch error:badarg -> []
    end.

%% @doc Whether the VM has what it was told to have: it forgets that with the
%% code, and somebody may have set another pattern.
-spec has(mfa(), state()) -> boolean().
has(_MFA, State) when map_size(State) =:= 0 ->
    true;
has(MFA, #{call := {Kind, MS}}) ->
    erlang:trace_info(MFA, traced) =:= {traced, Kind}
        andalso erlang:trace_info(MFA, match_spec) =:= {match_spec, MS};
has(MFA, State) ->
    [Key | _] = [K || K <- ?KEYS, is_map_key(K, State)],
    is_set(MFA, Key).

%% @doc Whether it has just that.
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

%% @doc What the VM has of a state that it does not have whole.
-spec left(mfa(), state()) -> state().
left(MFA, State) ->
    maps:filter(fun(call, _) -> false;
                   (Key, _) -> is_set(MFA, Key)
                end, State).

%% @doc Whether somebody else has a global pattern beside such a state.
-spec is_taken(mfa(), state()) -> boolean().
is_taken(MFA, State) ->
    his(MFA, State) =:= global.

%% @doc What the VM can have of a new state beside what somebody else has set:
%% no counters beside his global pattern, and nothing that would take his away.
-spec beside(mfa(), state(), state()) -> {ok, state()} | taken.
beside(_MFA, State, State) ->
    {ok, State};
beside(MFA, Old, Wanted) ->
    His = his(MFA, Old),
    New = case His of
              global -> maps:without(inviso_engine_counters:kinds(), Wanted);
              _ -> Wanted
          end,
    case is_refused(His, Old, New)
        orelse lists:any(fun(Key) -> is_set(MFA, Key) end,
                         endangered(Old, New)) of
        true -> taken;
        false -> {ok, New}
    end.

%% New code has our pattern from on_load, which is never a plain one.
his(MFA, State) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    Ours = case State of
               #{call := {Kind, _}} -> Kind;
               _ -> false
           end,
    case How =:= Ours orelse
        inviso_engine_spec:is_ours(erlang:trace_info(MFA, match_spec)) of
        true -> none;
        false -> How
    end.

%% A local pattern of his is no matter of our counters and meta tracing.
is_refused(none, _, _) -> false;
is_refused(global, Old, New) -> Old =/= New;
is_refused(_, Old, New) ->
    maps:get(call, Old, none) =/= maps:get(call, New, none).

%% A global pattern takes away all others. To ask for times stops all
%% schedulers, so nobody looks for one that somebody has set alone.
endangered(Old, #{call := {global, _}}) ->
    [K || K <- [meta, call_count], not is_map_key(K, Old)];
endangered(Old, New) ->
    [K || K <- tl(?KEYS), is_map_key(K, New), not is_map_key(K, Old)].

%% @doc Has the VM make changes. If it refuses one, none of them are made.
-spec exchange([change()]) -> ok | {error, term()}.
exchange(Changes) ->
    Groups = lists:foldl(fun({M, FA, Old, New}, Acc) ->
                                 Key = {M, Old, New},
                                 Acc#{Key => [FA | maps:get(Key, Acc, [])]}
                         end, #{}, Changes),
    in_turn(maps:to_list(Groups), []).

in_turn([{{M, Old, New}, FAs} | Rest], Done) ->
    Specs = case is_whole(M, FAs, is_global(Old) orelse is_global(New)) of
                true -> [{M, '_', '_'}];
                false -> [{M, F, A} || {F, A} <- FAs]
            end,
    case step_by_step(Specs, Old, New) of
        ok ->
            in_turn(Rest, [{Specs, New, Old} | Done]);
        {error, _} = E ->
            _ = [step_by_step(S, From, To) || {S, From, To} <- Done],
            E
    end;
in_turn([], _Done) ->
    ok.

%% What is undone in the middle may not be there.
step_by_step(Specs, Old, New) ->
    case steps([{Spec, Step} || Spec <- Specs, Step <- steps_of(Old, New)]) of
        ok ->
            ok;
        {error, _} = E ->
            _ = [steps([{Spec, Step}]) || Spec <- Specs,
                                          Step <- steps_of(New, Old)],
            E
    end.

is_whole(_M, [_], _) ->
    false;
is_whole(M, FAs, Global) ->
    case functions(M) -- FAs of
        [] -> true;
        Others when Global ->
            exports(M) -- FAs =:= []
                andalso lists:all(fun({F, A}) -> is_untouched({M, F, A}) end,
                                  Others);
        _ -> false
    end.

is_untouched(MFA) ->
    not lists:any(fun(Key) -> is_set(MFA, Key) end,
                  [traced, meta, call_count]).

is_global(#{call := {global, _}}) -> true;
is_global(_) -> false.

%% A pattern that is local takes away one that is global, and the reverse.
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

%% The spec of erlang:trace_pattern/3 forgets tracers, messages, `on_load'.
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

%% @doc The same for functions that will be.
-spec exchange_on_load(state(), state()) -> ok | {error, term()}.
exchange_on_load(Old, New) ->
    step_by_step([on_load], Old, New).

-dialyzer({no_fail_call, is_foreign_on_load/1}).
%% @doc Whether somebody else has set something there.
-spec is_foreign_on_load(state()) -> boolean().
is_foreign_on_load(Old) ->
    map_size(Old) =:= 0
        andalso erlang:trace_info(on_load, all) =/= {all, false}.

%% @doc Clears what any session has set; for who does not know what.
-spec clean() -> ok.
clean() ->
    OnLoad = inviso_engine_counted:left(on_load),
    %% First, or what is loaded meanwhile would have it.
    clean_on_load(maps:keys(OnLoad)),
    Modules = loaded(),
    _ = [clean({M, F, A}) || M <- Modules, {F, A} <- functions(M)],
    _ = [clean_counters(M, OnLoad) || M <- Modules],
    ok.

clean_on_load(Counters) ->
    case [K || K <- [local, meta], is_ours_on_load()] ++ Counters of
        [] -> 0;
        Kinds -> erlang:trace_pattern(on_load, false, Kinds)
    end.

%% It is all ours, or nothing.
is_ours_on_load() ->
    is_meta_ours(on_load)
        orelse inviso_engine_spec:is_ours(erlang:trace_info(on_load,
                                                            match_spec)).

%% To clear what is not there is no harm. What has been loaded since the server
%% looked has counters that it has not noted.
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

%% @doc Whether the pattern for calls that the VM has on a function was set
%% here.
-spec is_ours(mfa()) -> boolean().
is_ours(MFA) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    (How =:= local orelse How =:= global)
        andalso is_ours(MFA, erlang:trace_info(MFA, match_spec)).

is_ours({M, F, A}, {match_spec, []}) -> inviso_engine:is_plain(M, F, A);
is_ours(_, MS) -> inviso_engine_spec:is_ours(MS).
