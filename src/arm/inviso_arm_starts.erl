%% SPDX-License-Identifier: Apache-2.0
%% @doc Specs whose events begin requests of sequential traces.
%%
%% A clause of such a spec has the action `{start, Kind, Label, Variables}'. The
%% clause's match spec sets the token of the process, and reports the token that
%% the process held before the event (c_src/nif/starts.h).
%%
%% A label in a match spec must be an atom or a small integer. With any other term
%% the VM can crash or hang, because it does not copy the term.
-module(inviso_arm_starts).

-export([variables/1, of_spec/2, body/1, over/1, in_request/1]).

-export_type([start/0, action/0]).

-type start() :: #{label := 0..16#7ffffff, variable := binary() | none,
                   _ => _}.
-type action() :: {start, call | send, Label :: non_neg_integer(),
                   Variables :: [atom()]}.

-define(MAX_VARIABLE, 200).

%% @doc Returns the variables whose values are shown as labels of requests (option
%% --label), for inviso_spec:parse/2.
-spec variables(start() | none | calls) -> [atom()].
variables(#{variable := Names}) when is_binary(Names) ->
    case unicode:characters_to_list(Names) of
        Chars when is_list(Chars) ->
            [variable(string:trim(N)) || N <- string:split(Chars, ",", all)];
        _ ->
            no_variable()
    end;
variables(_) ->
    [].

variable([_ | _] = Name) when length(Name) =< ?MAX_VARIABLE ->
    list_to_atom(Name);
variable(_) ->
    no_variable().

-spec no_variable() -> no_return().
no_variable() ->
    throw({usage, <<"--label is no name of a variable">>}).

%% @doc Returns the spec with the action that begins a request. Throws
%% `{usage, Text}' if events of this kind cannot begin a request.
-spec of_spec(inviso_spec:spec(), start()) -> inviso_spec:spec().
of_spec(#{kind := Kind, clauses := Clauses, text := Text} = Spec,
        #{label := Label}) when Kind =:= call; Kind =:= send ->
    Start = {start, Kind, Label, maps:get(labels, Spec, [])},
    _ = maps:get(counters, Spec, []) =:= [] orelse no_action(Text),
    Spec#{clauses := [started(C, Start, Text) || C <- any(Clauses)]};
of_spec(#{text := Text}, _) ->
    throw({usage, format("`~ts': only a call or `send' begins a request, for "
                         "example 'shop:checkout(Order, _)' or "
                         "'send(shop_queue, {order, Id, _})'", [Text])}).

%% A spec for messages without a pattern selects every message.
any([]) -> [{'_', [], []}];
any(Clauses) -> Clauses.

started({raw, _}, _, Text) ->
    throw({usage, format("`~ts': a match spec cannot begin a request; write "
                         "a pattern of arguments", [Text])});
started({Head, Guards, []}, Start, _) ->
    {Head, Guards, [Start]};
started(_, _, Text) ->
    no_action(Text).

-spec no_action(binary()) -> no_return().
no_action(Text) ->
    throw({usage, format("`~ts': a call that begins a request has no action; "
                         "--calls shows calls and returns within requests",
                         [Text])}).

%% @doc Returns the body of a match spec for the action `start'. The action `message'
%% comes first, so that it reports the token from before the event. The body for a
%% call also makes the VM report the end of the call: after this end, another call in
%% the same process begins another request. Flags for timestamps are not set: the
%% tracer reads its own clock.
-spec body(action()) -> [term()].
body({start, Kind, Label, Variables}) ->
    Value = ['$inviso_seq', {get_seq_token} | Variables],
    [{message, {list_to_tuple(Value)}}]
        ++ [{exception_trace} || Kind =:= call]
        ++ [{set_seq_token, label, Label} | flags(true)].

flags(On) ->
    [{set_seq_token, Flag, On} || Flag <- [send, 'receive', print]].

%% @doc Converts the match spec of a call. The new match spec is set when no more
%% requests are to begin. It clears the flags of a token that the process still
%% holds, so that later events of the process do not become part of its last
%% request.
-spec over(inviso_patterns:match_spec()) -> inviso_patterns:match_spec().
over(MS) when is_list(MS) ->
    [{Head, Guards ++ guard(), [{message, '$inviso_seq_over'} | flags(false)]}
     || {Head, Guards, _} <- MS];
over(_) ->
    false.

%% @doc Restricts a spec to processes that hold a token. Throws `{usage, Text}' if
%% the spec is not of calls.
-spec in_request(inviso_spec:spec()) -> inviso_spec:spec().
in_request(#{kind := call, clauses := Clauses, counters := []} = Spec) ->
    Spec#{clauses := [held(C) || C <- Clauses]};
in_request(#{text := Text}) ->
    throw({usage, format("--calls `~ts': a function is expected, without the "
                         "actions count and time", [Text])}).

held({raw, {Head, Guards, Body}}) -> {raw, {Head, Guards ++ guard(), Body}};
held({Head, Guards, Actions}) -> {Head, Guards ++ guard(), Actions}.

guard() -> [{is_seq_trace}].

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
