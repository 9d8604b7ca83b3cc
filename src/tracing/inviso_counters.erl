%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads the counters of functions, which the VM updates instead of making
%% events.
%%
%% ```
%% call_count     the calls of the function
%% call_time      the calls, and the time in the function
%% call_memory    the calls, and the words that the function allocated (OTP 26
%%                and later)
%% '''
%%
%% `call_count' counts the calls of all processes. The other two counters count
%% only the calls of processes with the flag `call'. A counter is set like a
%% pattern: it starts at zero when it is set, and is removed when the scope is
%% closed.
-module(inviso_counters).

-export([most/2, by_function/1]).

-export_type([value/0, counted/0, row/0]).

%% For `call_count' the number of calls. For `call_time' the number of calls, and the
%% microseconds that they took. For `call_memory' the number of calls, and the words
%% that they allocated.
-type value() :: non_neg_integer() | {non_neg_integer(), non_neg_integer()}.
-type counted() :: {mfa(), inviso_scope:counter(), value()}.
%% Module, function, arity, number of calls, and the nanoseconds in these calls.
%% `none': the time was not counted.
-type row() :: {module(), atom(), arity(), non_neg_integer(),
                non_neg_integer() | none}.

%% @doc Returns what was counted: for each kind of counter at most `Max' functions,
%% the highest count, time or memory first. Functions that were never called are
%% left out. `timeout' means that the engine does not answer.
-spec most(pos_integer(), inviso_tracing:tracing()) ->
          {ok, [counted()]} | {error, timeout}.
most(Max, T) ->
    case read_kinds([call_count, call_time, call_memory], T) of
        {ok, Reads} ->
            {ok, [Counted
                  || {Kind, Read} <- Reads,
                     Counted <- lists:sublist(most_first(Kind, Read), Max)]};
        {error, _} = E ->
            E
    end.

most_first(Kind, Read) ->
    Sorted = lists:sort([{-amount(Amount), -Calls, MFA}
                         || {MFA, {Calls, Amount}} <- Read, Calls > 0]),
    [{MFA, Kind, value(Kind, -Calls, -Amount)}
     || {Amount, Calls, MFA} <- Sorted].

amount(none) -> 0;
amount(N) -> N.

value(call_count, Calls, _) -> Calls;
value(call_time, Calls, Ns) -> {Calls, Ns div 1000};
value(call_memory, Calls, Words) -> {Calls, Words}.

%% @doc Returns for each function the number of calls, and the time in the function.
%% The longest time is first; functions without a time follow. Functions that were
%% never called are left out. `timeout' means that the engine does not answer.
-spec by_function(inviso_tracing:tracing()) -> {ok, [row()]} | {error, timeout}.
by_function(T) ->
    case read_kinds([call_time, call_count], T) of
        {ok, [{_, Timed}, {_, Counted}]} ->
            {ok, rows(maps:from_list(Timed), maps:from_list(Counted))};
        {error, _} = E ->
            E
    end.

rows(Timed, Counted) ->
    Rows = [row(MFA, Timed, Counted)
            || MFA <- maps:keys(maps:merge(Timed, Counted))],
    [R || {_, _, R} <- lists:sort([{-time(Ns), -Calls, R}
                                   || {_, _, _, Calls, Ns} = R <- Rows,
                                      Calls > 0])].

%% Makes the row of a function. If the counter `call_count' was set, the number of
%% calls comes from it, because only this counter counts the calls of all processes.
row({M, F, A} = MFA, Timed, Counted) ->
    {TimedCalls, Ns} = maps:get(MFA, Timed, {0, none}),
    {Calls, none} = maps:get(MFA, Counted, {TimedCalls, none}),
    {M, F, A, Calls, Ns}.

time(none) -> -1;
time(Ns) -> Ns.

%% Reads counters of several kinds. If the engine does not answer a request, sends no
%% further requests, because each of them would wait long.
read_kinds(Kinds, T) ->
    try {ok, [{Kind, read(Kind, T)} || Kind <- Kinds]}
    catch throw:{error, _} = E -> E
    end.

read(Kind, T) ->
    Scope = inviso_tracing:scope(T),
    Functions = lists:usort([MFA || {K, Which, true}
                                        <- inviso_tracing:patterns(T),
                                    K =:= Kind,
                                    MFA <- inviso_functions:of_pattern(Which)]),
    [{MFA, counter(Scope, Kind, MFA)} || MFA <- Functions].

counter(Scope, Kind, MFA) ->
    case inviso_scope:counter(Scope, Kind, MFA) of
        {error, _} = E -> throw(E);
        Value -> Value
    end.
