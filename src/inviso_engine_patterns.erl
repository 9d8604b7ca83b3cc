%% SPDX-License-Identifier: Apache-2.0
%% @doc Which sessions have set which patterns on functions and messages.
%%
%% The VM of OTP 25 and 26 has one pattern for a function, global or local, one
%% for sending and one for receiving; each is composed of what the sessions have
%% set ({@link inviso_engine_spec}).
-module(inviso_engine_patterns).

-export([new/0, set/4, forget/2, find/2, clean/0, set_message/5, forget_message/3,
         messages/3]).

-export_type([functions/0, messages/0, kind/0, match_spec/0]).

-type kind() :: global | local.
-type match_spec() :: inviso_engine_spec:match_spec().
-type sessions() :: [{inviso_engine:slot(), match_spec()}].
-opaque functions() :: #{mfa() => {kind(), sessions()}}.
-opaque messages() :: #{send | 'receive' =>
                            [{inviso_engine:slot(), match_spec() | false}]}.
-type reason() :: badarg | {not_supported, term()} | {already_traced, term()}.
-type functions_spec() :: {module() | '_', atom(), arity() | '_'}.

%% @doc Nothing is set.
-spec new() -> {functions(), messages()}.
new() ->
    {#{}, #{}}.

%% @doc Sets a session's pattern, or clears it (`false'). All or nothing.
-spec set(inviso_engine:slot(), kind(), {functions_spec(),
                                         match_spec() | false},
          functions()) ->
          {ok, non_neg_integer(), functions()} | {error, reason()}.
set(Slot, Kind, {Spec, MS}, Functions) ->
    case plan(expand(Kind, Spec), {Slot, Kind, MS}, Functions, []) of
        {error, _} = E -> E;
        {ok, Changes} -> carry_out(Spec, Changes, Functions)
    end.

%% @doc Clears all that a session has set.
-spec forget(inviso_engine:slot(), functions()) -> functions().
forget(Slot, Functions) ->
    maps:fold(fun(MFA, {Kind, Sessions}, Acc) ->
                      case lists:keymember(Slot, 1, Sessions) of
                          true -> forget(Slot, Kind, MFA, Acc);
                          false -> Acc
                      end
              end, Functions, Functions).

forget(Slot, Kind, MFA, Functions) ->
    case set(Slot, Kind, {MFA, false}, Functions) of
        {ok, _, New} -> New;
        {error, _} -> maps:remove(MFA, Functions)
    end.

%% @doc What is set on a function; `undefined': there is no such function.
-spec find(mfa(), functions()) -> undefined | none | {kind(), sessions()}.
find(MFA, Functions) ->
    case {erlang:trace_info(MFA, traced), Functions} of
        {{traced, undefined}, _} -> undefined;
        {{traced, Kind}, #{MFA := {Kind, _} = Entry}} -> Entry;
        _ -> none
    end.

%% The spec of erlang:trace_pattern/3 forgets messages.
-dialyzer({no_fail_call, clean/0}).
%% @doc Clears all that any session has set; for who does not know what.
-spec clean() -> ok.
clean() ->
    _ = [erlang:trace_pattern(MFA, false, [How])
         || M <- erlang:loaded(), {F, A} <- functions(local, M),
            MFA <- [{M, F, A}],
            {traced, How} <- [erlang:trace_info(MFA, traced)],
            is_atom(How), is_boolean(How) =:= false, How =/= undefined,
            inviso_engine_spec:is_ours(erlang:trace_info(MFA, match_spec))],
    _ = [erlang:trace_pattern(Event, true, [])
         || Event <- [send, 'receive'],
            inviso_engine_spec:is_ours(erlang:trace_info(Event, match_spec))],
    ok.

%% All functions that a pattern is for, of those that are loaded.
expand(Kind, {'_', '_', '_'}) ->
    lists:append([expand(Kind, {M, '_', '_'}) || M <- erlang:loaded()]);
expand(Kind, {M, '_', '_'}) ->
    [{M, F, A} || {F, A} <- functions(Kind, M)];
expand(Kind, {M, F, '_'}) ->
    [{M, F, A} || {F1, A} <- functions(Kind, M), F1 =:= F];
expand(Kind, {M, F, A}) ->
    [{M, F, A} || lists:member({F, A}, functions(Kind, M))].

functions(Kind, M) ->
    case erlang:module_loaded(M) of
        true when Kind =:= global -> erlang:get_module_info(M, exports);
        true -> erlang:get_module_info(M, functions);
        false -> []
    end.

%% [{MFA, what it has, what it shall have}]
plan([MFA | Rest], {_, Kind, _} = Change, Functions, Acc) ->
    case current(Kind, MFA, Functions) of
        foreign ->
            {error, {already_traced, MFA}};
        Old ->
            case edit(Old, Change) of
                conflict -> {error, {not_supported, {global_and_local, MFA}}};
                New -> plan(Rest, Change, Functions, [{MFA, Old, New} | Acc])
            end
    end;
plan([], _, _, Acc) ->
    {ok, Acc}.

%% The VM forgets patterns with the code that they were on.
current(Kind, MFA, Functions) ->
    case {traced(Kind, MFA), Functions} of
        {{K, Alone}, #{MFA := {K, _} = Entry}} when K =/= false, Alone ->
            Entry;
        {{false, true}, _} ->
            none;
        _ ->
            foreign
    end.

%% How, and whether by us at most: a global pattern takes away all others.
traced(global, MFA) ->
    {all, All} = erlang:trace_info(MFA, all),
    case All of
        false -> {false, true};
        undefined -> {false, true};
        _ -> {proplists:get_value(traced, All),
              lists:all(fun(Key) -> proplists:get_value(Key, All, false)
                                        =:= false
                        end, [meta, call_count, call_time, call_memory])}
    end;
traced(local, MFA) ->
    {traced, How} = erlang:trace_info(MFA, traced),
    {How, true}.

edit(none, {_, _, false}) -> none;
edit(none, {Slot, Kind, MS}) -> {Kind, [{Slot, MS}]};
edit({Kind, [{Slot, _}]}, {Slot, Kind, false}) -> none;
edit({Kind, Sessions}, {Slot, Kind, false}) ->
    {Kind, lists:keydelete(Slot, 1, Sessions)};
edit({Kind, Sessions}, {Slot, Kind, MS}) ->
    {Kind, lists:keystore(Slot, 1, Sessions, {Slot, MS})};
edit({_, _} = Other, {_, _, false}) -> Other;
edit({_, [{Slot, _}]}, {Slot, Kind, MS}) -> {Kind, [{Slot, MS}]};
edit({_, _}, _) -> conflict.

%% One call of the VM where all functions have and get the same: it takes as
%% long for one function as for all of a module.
carry_out(Spec, Changes, Functions) ->
    case lists:usort([{Old, New} || {_, Old, New} <- Changes]) of
        [] ->
            {ok, 0, Functions};
        [{Old, Old}] ->
            {ok, length(Changes), Functions};
        [_] ->
            carry_out([{Spec, Old, New} || {_, Old, New} <- [hd(Changes)]],
                      Changes, length(Changes), Functions);
        _ ->
            carry_out(Changes, Changes, length(Changes), Functions)
    end.

carry_out([{Spec, Old, New} | Rest], Changes, Count, Functions) ->
    case in_vm(Spec, Old, New) of
        ok -> carry_out(Rest, Changes, Count, Functions);
        {error, _} = E -> E
    end;
carry_out([], Changes, Count, Functions) ->
    {ok, Count, lists:foldl(fun({MFA, _, none}, Acc) -> maps:remove(MFA, Acc);
                               ({MFA, _, New}, Acc) -> Acc#{MFA => New}
                            end, Functions, Changes)}.

in_vm(_Spec, Same, Same) ->
    ok;
in_vm(Spec, {Kind, _}, none) ->
    _ = erlang:trace_pattern(Spec, false, [Kind]),
    ok;
in_vm(Spec, _, {Kind, Sessions}) ->
    case inviso_engine_spec:compose(Sessions) of
        {ok, MS} ->
            try erlang:trace_pattern(Spec, MS, [Kind]) of
                _ -> ok
            catch
                error:Reason -> {error, Reason}
            end;
        {error, _} = E ->
            E
    end.

%%---------------------------------------------------------------------------
%% Messages. A session that has said nothing gets all of them.

%% @doc Sets a session's pattern; Slots are all sessions.
-spec set_message(send | 'receive', inviso_engine:slot(),
                  match_spec() | false, [inviso_engine:slot()], messages()) ->
          {ok, messages()} | {error, reason()}.
set_message(Event, Slot, MS, Slots, Messages) ->
    Old = maps:get(Event, Messages, []),
    New = case MS of
              true -> lists:keydelete(Slot, 1, Old);
              _ -> lists:keystore(Slot, 1, Old, {Slot, MS})
          end,
    case {Old, erlang:trace_info(Event, match_spec)} of
        {[], {match_spec, M}} when M =/= true ->
            {error, {already_traced, Event}};
        _ ->
            case message_in_vm(Event, New, Slots) of
                ok -> {ok, Messages#{Event => New}};
                {error, _} = E -> E
            end
    end.

%% @doc Clears what a session has set; Slots are the sessions without it.
-spec forget_message(inviso_engine:slot(), [inviso_engine:slot()],
                     messages()) -> messages().
forget_message(Slot, Slots, Messages) ->
    maps:map(fun(_, []) ->
                     [];
                (Event, Old) ->
                     New = lists:keydelete(Slot, 1, Old),
                     _ = message_in_vm(Event, New, Slots),
                     New
             end, Messages).

%% @doc What a session has set; with `renew', Slots have changed.
-spec messages(send | 'receive', inviso_engine:slot() | renew,
               messages() | {messages(), [inviso_engine:slot()]}) ->
          match_spec() | false | ok.
messages(Event, renew, {Messages, Slots}) ->
    case maps:get(Event, Messages, []) of
        [] -> ok;
        Set -> _ = message_in_vm(Event, Set, Slots), ok
    end;
messages(Event, Slot, Messages) ->
    proplists:get_value(Slot, maps:get(Event, Messages, []), true).

message_in_vm(Event, [], _) ->
    _ = erlang:trace_pattern(Event, true, []),
    ok;
message_in_vm(Event, Set, Slots) ->
    All = [{S, MS} || S <- Slots, MS <- [proplists:get_value(S, Set, true)],
                      MS =/= false],
    case inviso_engine_spec:compose(All) of
        {ok, MS} ->
            try erlang:trace_pattern(Event, MS, []) of
                _ -> ok
            catch
                error:Reason -> {error, Reason}
            end;
        {error, _} = E ->
            E
    end.
