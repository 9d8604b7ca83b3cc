%% SPDX-License-Identifier: Apache-2.0
%% @doc Public loop data of the meta tracer: the state that its call and return
%% functions get and return.
%%
%% The loop data may be any term. The standard form is `{Lists, Global}', or Lists
%% alone. Lists is a tuple of lists, one for each function. The elements of these
%% lists are tuples. The last element of each tuple is the time of a call, as
%% erlang:timestamp/0 returns it. The first list contains the calls of register/2
%% that have not returned yet.
-module(inviso_meta_publ).

-export([new/2, is_standard/1, clean/1, register/1, register/2]).

-type now() :: {non_neg_integer(), non_neg_integer(), non_neg_integer()}.
-type pending() :: {pid(), {atom(), pid()}, now()}.

%% The age at which the entry of a call is removed, in µs. A call of this age is
%% assumed never to return.
-define(OLD_US, 30000000).

%% @doc Returns new loop data with `Size' empty lists.
-spec new(pos_integer(), term()) -> {tuple(), term()}.
new(Size, Global) -> {erlang:make_tuple(Size, []), Global}.

%% @doc Returns true if the loop data has a list for the calls of register/2, as
%% the standard form has.
-spec is_standard(term()) -> boolean().
is_standard({Lists, _}) when is_tuple(Lists) -> is_standard_lists(Lists);
is_standard(Lists) -> is_standard_lists(Lists).

is_standard_lists(Lists) when tuple_size(Lists) > 0 ->
    is_list(element(1, Lists));
is_standard_lists(_) ->
    false.

%% @doc Drops entries older than 30 s. Entries without a time stay.
-spec clean(term()) -> term().
clean({Lists, Global}) when is_tuple(Lists) ->
    {clean_lists(Lists), Global};
clean(Lists) when is_tuple(Lists) ->
    clean_lists(Lists);
clean(Publ) ->
    Publ.

clean_lists(Lists) ->
    Now = erlang:timestamp(),
    list_to_tuple([clean_list(L, Now) || L <- tuple_to_list(Lists)]).

clean_list(List, Now) when length(List) >= 0 ->
    [E || E <- List, not is_old(E, Now)];
clean_list(Other, _Now) ->
    Other.

is_old(Entry, Now) when tuple_size(Entry) > 0 ->
    case element(tuple_size(Entry), Entry) of
        {M, S, U} = Then when is_integer(M), is_integer(S), is_integer(U) ->
            timer:now_diff(Now, Then) > ?OLD_US;
        _ ->
            false
    end;
is_old(_, _) ->
    false.

%% @doc Returns the list of pending calls of `erlang:register/2'.
-spec register(term()) -> [pending()].
register({Lists, _}) when is_tuple(Lists) -> element(1, Lists);
register(Lists) -> element(1, Lists).

%% @doc Replaces the list of pending calls of `erlang:register/2'.
-spec register([pending()], term()) -> term().
register(List, {Lists, Global}) when is_tuple(Lists) ->
    {setelement(1, Lists, List), Global};
register(List, Lists) ->
    setelement(1, Lists, List).
