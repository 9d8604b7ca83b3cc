%% SPDX-License-Identifier: Apache-2.0
%% @doc Counters of functions, which patterns set that have as options
%%
%% ```
%% call_count     how often it was called
%% call_time      the same, and the time in it
%% call_memory    the same, and the words that it allocated (OTP 26 and later)
%% '''
%%
%% They send no event, and are the VM's. `call_count' counts in all processes,
%% the others in those with the flag `call'. They begin when tracing does and
%% are gone when it ends; meanwhile they can be held and begun again.
-module(inviso_rt_counters).

-export([is_kind/1, kinds/1, read/3]).

-export_type([value/0, counted/0]).

%% Calls; and microseconds, or words.
-type value() :: non_neg_integer() | {non_neg_integer(), non_neg_integer()}.
-type counted() :: {mfa(), inviso_otp:counter(), value()}.

%% @doc Whether a term is one of the options above.
-spec is_kind(term()) -> boolean().
is_kind(Kind) ->
    lists:member(Kind, [call_count, call_time, call_memory]).

%% @doc Those among the options of a pattern.
-spec kinds([term()]) -> [inviso_otp:counter()].
kinds(Opts) ->
    lists:usort([O || O <- Opts, is_kind(O)]).

%% @doc What was counted, of each kind the functions with the most, the most
%% first; not those that were never called.
-spec read(pos_integer(), inviso_otp:scope(), [inviso_otp:pattern()]) ->
          [counted()].
read(Max, Scope, Patterns) ->
    lists:append([of_kind(Kind, Max, Scope,
                          [MFA || {K, MFA, true} <- Patterns, K =:= Kind])
                  || Kind <- [call_count, call_time, call_memory]]).

of_kind(_Kind, _Max, _Scope, []) ->
    [];
of_kind(Kind, Max, Scope, Which) ->
    Functions = lists:usort(lists:append([inviso_otp:functions(W)
                                          || W <- Which])),
    Counted = [{weight(Value), MFA, Value}
               || MFA <- Functions,
                  {Calls, Amount} <- [inviso_otp:counter(Scope, Kind, MFA)],
                  Calls > 0,
                  Value <- [value(Kind, Calls, Amount)]],
    Most = lists:sublist(lists:reverse(lists:sort(Counted)), Max),
    [{MFA, Kind, Value} || {_, MFA, Value} <- Most].

value(call_count, Calls, _) -> Calls;
value(call_time, Calls, Ns) -> {Calls, Ns div 1000};
value(call_memory, Calls, Words) -> {Calls, Words}.

weight({Calls, Amount}) -> {Amount, Calls};
weight(Calls) -> Calls.
