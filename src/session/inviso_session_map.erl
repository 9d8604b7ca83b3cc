%% SPDX-License-Identifier: Apache-2.0
%% @doc Checks the map with which a client starts a session
%% (c_src/abi/control.h, section 4). The map comes from another program.
-module(inviso_session_map).

-export([check/1]).

-export_type([checked/0]).

-type checked() ::
        #{name := binary(), owner := binary(), client := pid(), guard := pid(),
          mode := live | record | detached, keep := oldest | newest,
          specs := [binary()], procs := [binary()],
          follow := [spawned | linked], limits := #{atom() => integer()},
          tracer := map(), protect := map(), dead_man_ms := pos_integer(),
          arm_ms := pos_integer(),
          hold_ms := non_neg_integer(),
          open_calls := non_neg_integer(), dry_run := boolean(),
          seq := inviso_session_seq:asked() | off,
          count := inviso_session_count:asked() | off,
          sample := inviso_session_sample:asked() | off,
          decide := inviso_arm_decide:all(),
          yes := boolean()}.

-include("inviso_options.hrl").

%% @doc Returns the map with defaults for absent keys, or an error text if the
%% map is wrong.
-spec check(term()) -> {ok, checked()} | {error, usage, binary()}.
check(Map) when is_map(Map) ->
    try
        _ = [bad("a session has no ~0tP", [Key, 10])
             || Key <- maps:keys(Map), not lists:keymember(Key, 1, fields())],
        deadline(maps:from_list([{Key, field(Key, Check, Default, Map)}
                                 || {Key, Check, Default} <- fields()]))
    catch
        throw:{usage, Text} -> {error, usage, Text}
    end;
check(_) ->
    {error, usage, <<"the argument of a session must be a map">>}.

fields() ->
    [{name, fun is_name/1, none},
     {owner, fun is_text/1, none},
     {client, fun is_pid/1, none},
     {guard, fun is_own_pid/1, none},
     {mode, one_of([live, record, detached]), none},
     {keep, one_of([oldest, newest]), oldest},
     {specs, list_of(fun is_text/1), none},
     {procs, list_of(fun is_text/1), [<<"all">>]},
     {follow, list_of(one_of([spawned, linked])), []},
     {limits, map_of([{Key, limit(Option)}
                      || {Key, _, _, _} = Option <- ?OPTS_LIMIT]), #{}},
     %% inviso_tracer:open/2 checks the values.
     {tracer, map_of([{Key, fun(_) -> true end}
                      || {Key, _, _, _} <- ?OPTS_TRACER]
                     ++ [{Key, fun(_) -> true end}
                         || {Key, _} <- [?CHOICE_COMPRESS, ?CHOICE_PAYLOAD]]
                     ++ [{filter, fun is_text/1},
                         {redact, list_of(fun is_text/1)}]), #{}},
     {protect, map_of([{Key, number(Option)}
                       || {Key, _, _, _} = Option <- ?OPTS_PROTECT]), #{}},
     {seq, fun is_seq/1, off},
     {count, fun inviso_session_count:is_asked/1, off},
     {sample, fun inviso_session_sample:is_asked/1, off},
     {decide, fun is_decide/1, {{none, false}, none}},
     {dry_run, fun is_boolean/1, false},
     {yes, fun is_boolean/1, false}]
        ++ [{Key, number(Option), default(Key, Default)}
            || {Key, _, _, Default} = Option <- ?OPTS_SESSION].

default(dead_man_ms, Ms) -> inviso_deadline:ms(Ms);
default(_, Value) -> Value.

field(Key, Check, Default, Map) ->
    case Map of
        #{Key := Value} ->
            Check(Value) orelse bad("~w is no ~0tP", [Key, Value, 20]),
            Value;
        _ when Default =:= none ->
            bad("a session needs ~w", [Key]);
        _ ->
            Default
    end.

deadline(#{mode := detached, dry_run := false, limits := Limits} = Map) ->
    case maps:get(ms, Limits, 0) of
        0 -> bad("a detached session needs a deadline (limits.ms)", []);
        _ -> {ok, Map}
    end;
deadline(Map) ->
    {ok, Map}.

%% Returns true for rules of the type inviso_arm_decide:all(): {{MinNs | none,
%% Failed}, ReturnsSpec | none}.
is_decide({{Ns, Failed}, Returns}) ->
    (Ns =:= none orelse is_integer(Ns) andalso Ns >= 0 andalso Ns < 1 bsl 63)
        andalso is_boolean(Failed)
        andalso (Returns =:= none orelse is_text(Returns));
is_decide(_) ->
    false.

is_seq(off) ->
    true;
is_seq(Map) ->
    Count = fun(N) -> is_integer(N) andalso N >= 0 andalso N =< 16#ffffffff end,
    Checks = [{label, fun inviso_session_seq:is_label/1},
              {variable, fun is_text/1},
              {requests, Count},
              {one_in, fun(N) -> Count(N) andalso N > 0 end},
              {calls, list_of(fun is_text/1)},
              {reset, fun is_boolean/1}],
    (map_of(Checks))(Map) andalso is_map_key(label, Map).

number({_Key, Least, Most, _Default}) ->
    fun(N) -> is_integer(N) andalso N >= Least andalso N =< Most end.

%% Returns a fun that checks a limit. The value 0 means no limit.
limit(Option) ->
    In = number(Option),
    fun(N) -> N =:= 0 orelse In(N) end.

one_of(Values) ->
    fun(V) -> lists:member(V, Values) end.

list_of(Check) ->
    fun(L) -> is_list(L) andalso length_of(L) andalso lists:all(Check, L) end.

length_of(L) ->
    try length(L) < 10000
    catch error:badarg -> false
    end.

map_of(Checks) ->
    fun(M) ->
            is_map(M) andalso
                lists:all(fun({K, V}) ->
                                  case lists:keyfind(K, 1, Checks) of
                                      {_, Check} -> Check(V);
                                      false -> false
                                  end
                          end, maps:to_list(M))
    end.

%% Returns true for a valid session name. The characters are restricted because
%% the name becomes part of a file name.
is_name(N) ->
    is_binary(N) andalso byte_size(N) >= 1 andalso byte_size(N) =< 64
        andalso lists:all(fun(C) ->
                                  C >= $a andalso C =< $z
                                      orelse C >= $0 andalso C =< $9
                                      orelse C =:= $_ orelse C =:= $.
                                      orelse C =:= $-
                          end, binary_to_list(N)).

is_text(T) ->
    is_binary(T) andalso byte_size(T) =< 65536
        andalso is_list(unicode:characters_to_list(T)).

is_own_pid(P) -> is_pid(P) andalso node(P) =:= node().

bad(Format, Args) ->
    throw({usage, unicode:characters_to_binary(io_lib:format(Format, Args))}).
