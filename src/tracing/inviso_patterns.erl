%% SPDX-License-Identifier: Apache-2.0
%% @doc Stores the trace patterns that are set, or are to be set, in their order.
%%
%% A pattern is for one function, for several functions, or for messages (kind
%% `event'). A function can have one pattern that makes events, which is global or
%% local, and one for each kind of counter. If two patterns that make events, or
%% two patterns for the same kind of counter, are for the same function, the later
%% one replaces the earlier one on this function. So when patterns are set again,
%% they are set in their original order.
%%
%% Each module has a separate map with its patterns, because there may be
%% thousands of patterns, and nearly all of them name a module.
-module(inviso_patterns).

-export([new/0, in_order/1, put/4, check/4, of_function/2, counted/2,
         is_counter/1]).

-export_type([patterns/0, what/0, kind/0, match_spec/0]).

-type what() :: {module() | '_', atom(), arity() | '_'} | send | 'receive'.
-type kind() :: inviso_scope:kind() | event.
%% See {@link inviso_sessions}.
-type match_spec() :: boolean() | list() | restart | pause.
-opaque patterns() :: #{module() | '_' | send | 'receive' => of_module()}.
%% The integer gives the order in which the patterns were set: each new pattern has a
%% larger integer.
-type of_module() :: #{{kind(), what()} => {integer(), match_spec()}}.

%% @doc Returns the state without patterns.
-spec new() -> patterns().
new() -> #{}.

%% @doc Returns the patterns in the order in which they were set.
-spec in_order(patterns()) -> [inviso_scope:pattern()].
in_order(Ps) -> sorted(maps:values(Ps)).

sorted(Maps) ->
    [P || {_, P} <- lists:sort([{N, {Kind, What, MS}}
                                || Of <- Maps, {{Kind, What}, {N, MS}}
                                                   <- maps:to_list(Of)])].

%% @doc Returns true if a term is a kind of counter.
-spec is_counter(term()) -> boolean().
is_counter(Kind) ->
    lists:member(Kind, [call_count, call_time, call_memory]).

%% @doc Adds a pattern that has been set. Removes an older pattern if the new pattern
%% replaces it on all functions of the older pattern. A pattern with the match spec
%% `false' clears older patterns. Such a pattern is stored only if it clears an older
%% pattern on some, but not all, functions of the older pattern.
-spec put(kind(), what(), match_spec(), patterns()) -> patterns().
put(_, _, MS, Ps) when MS =:= restart; MS =:= pause ->
    Ps;
put(Kind, What, MS, Ps) ->
    Replaced = case MS of
                   false -> [Kind];
                   _ -> alike(Kind)
               end,
    Rest = without(Replaced, What, key(What), Ps),
    case MS =/= false orelse [] =/= overlapping(alike(Kind), What, Rest) of
        true ->
            Of = maps:get(key(What), Rest, #{}),
            New = {erlang:unique_integer([monotonic]), MS},
            Rest#{key(What) => Of#{{Kind, What} => New}};
        false ->
            Rest
    end.

without(Kinds, What, '_', Ps) ->
    maps:map(fun(_, Of) -> uncovered(Kinds, What, Of) end, Ps);
without(Kinds, What, Key, Ps) when is_map_key(Key, Ps) ->
    Ps#{Key := uncovered(Kinds, What, maps:get(Key, Ps))};
without(_, _, _, Ps) ->
    Ps.

uncovered(Kinds, {M, F, A} = What, Of) when M =:= '_'; F =:= '_'; A =:= '_' ->
    maps:filter(fun({K, Old}, _) ->
                        not (lists:member(K, Kinds) andalso covers(What, Old))
                end, Of);
uncovered(Kinds, What, Of) ->
    maps:without([{K, What} || K <- Kinds], Of).

%% @doc Returns `ok' if the VM can have a pattern in addition to the stored ones.
%% A function can have a global pattern or counters, not both. `pause' and
%% `restart' are refused for counters that are not set, because the VM would set
%% these counters.
-spec check(kind(), what(), match_spec(), patterns()) ->
          ok | {error, {already_traced, what()} | not_counted}.
check(Kind, What, MS, Ps) when MS =:= restart; MS =:= pause ->
    Counted = lists:foldl(fun({_, Old, true}, Is) ->
                                  Is orelse covers(Old, What);
                             ({_, _, false}, _) ->
                                  false
                          end, false, overlapping([Kind], What, Ps)),
    case Counted of
        true -> ok;
        false -> {error, not_counted}
    end;
check(Kind, What, MS, Ps) ->
    case [Old || MS =/= false,
                 {_, Old, Set} <- overlapping(excluded_by(Kind), What, Ps),
                 Set =/= false] of
        [] -> ok;
        [Old | _] -> {error, {already_traced, Old}}
    end.

%% @doc Returns the pattern for events that a function has, or `none'.
-spec of_function(mfa(), patterns()) ->
          none | {global | local, match_spec()}.
of_function(MFA, Ps) ->
    case lists:reverse(overlapping([global, local], MFA, Ps)) of
        [{Kind, _, MS} | _] when MS =/= false -> {Kind, MS};
        _ -> none
    end.

%% @doc Returns the kinds of counters that are set on functions of a pattern.
-spec counted(what(), patterns()) -> [inviso_scope:counter()].
counted(What, Ps) ->
    lists:usort([K || {K, _, true} <- overlapping(excluded_by(global), What,
                                                  Ps)]).

alike(Kind) when Kind =:= global; Kind =:= local -> [global, local];
alike(Kind) -> [Kind].

excluded_by(global) -> [call_count, call_time, call_memory];
excluded_by(Kind) -> [global || is_counter(Kind)].

overlapping([], _, _) ->
    [];
overlapping(Kinds, What, Ps) ->
    [P || {K, Old, _} = P <- near(What, Ps), lists:member(K, Kinds),
          overlap(What, Old)].

near({'_', _, _}, Ps) -> in_order(Ps);
near(What, Ps) -> sorted([maps:get(K, Ps, #{}) || K <- [key(What), '_']]).

key({M, _, _}) -> M;
key(Event) -> Event.

covers({M, F, A}, {M1, F1, A1}) ->
    (M =:= '_' orelse M =:= M1) andalso (F =:= '_' orelse F =:= F1)
        andalso (A =:= '_' orelse A =:= A1);
covers(Event, Other) ->
    Event =:= Other.

overlap({M, F, A}, {M1, F1, A1}) ->
    meets(M, M1) andalso meets(F, F1) andalso meets(A, A1);
overlap(Event, Other) ->
    Event =:= Other.

meets('_', _) -> true;
meets(_, '_') -> true;
meets(X, Y) -> X =:= Y.
