%% SPDX-License-Identifier: Apache-2.0
%% @doc Computes a session's counter of a function from the one counter of the VM.
%%
%% The VM counts while the counter of at least one session runs. A session's value
%% is the growth of the VM's counter since the session's counter was started, plus
%% what the session counted before the VM's counter was last removed. So a session
%% can restart or pause its counter without effect on other sessions. The counters
%% call_time and call_memory grow only by calls of processes whose times are
%% attributed to the session ({@link inviso_engine_times}).
-module(inviso_engine_counters).

-export([kinds/0, by_process/0, exists/1, start/2, pause/3, keep/3, attribute/3,
         is_running/1, value/3, reading/2, show/2]).

-export_type([kind/0, counter/0, reading/0]).

-type slot() :: inviso_engine:slot().
-type kind() :: call_count | call_time | call_memory.
-type reading() :: non_neg_integer() | #{pid() => {integer(), integer()}}.
%% A reading() is a value of the VM's counter. For `call_count' it is the number of
%% calls. The other kinds have two numbers for each process: the number of calls, and
%% the time of the calls (in microseconds) or the memory that they allocated (in
%% words).
-opaque counter() :: {Runs :: boolean(), Kept :: reading(), Base :: reading()}.

%% @doc Returns all kinds of counters, also call_memory, which OTP 25 does not have.
-spec kinds() -> [kind()].
kinds() ->
    [call_count | by_process()].

%% @doc Returns the kinds of counters that count for each process.
-spec by_process() -> [kind()].
by_process() ->
    [call_time, call_memory].

%% The type spec of erlang:trace_info/2 is not the same in all releases.
-dialyzer({[no_fail_call, no_match, no_return, no_unused],
           [exists/1, release/0, read/2]}).
%% @doc Returns true if this VM has the kind of counter.
-spec exists(kind()) -> boolean().
exists(call_memory) ->
    %% Any loaded function would do. OTP 25 answers, too, although it does not
    %% have the counter. So the release is checked.
    try erlang:trace_info({?MODULE, kinds, 0}, call_memory) of
        {call_memory, _} -> release() >= 26
    catch
        error:_ -> false
    end;
exists(_) ->
    true.

release() ->
    list_to_integer(erlang:system_info(otp_release)).

%% @doc Starts a counter at zero. `InVm' is true if the VM already has this counter
%% on the function.
-spec start(kind(), {mfa(), InVm :: boolean()}) -> counter().
start(Kind, Where) ->
    {true, zero(Kind), reading(Kind, Where)}.

%% @doc Stops a counter of a session. The counter keeps its value.
-spec pause(slot(), counter(), {kind(), mfa(), InVm :: boolean()}) -> counter().
pause(Slot, {true, _, _} = Counter, {Kind, MFA, InVm}) ->
    {false, now(Slot, Counter, reading(Kind, {MFA, InVm})), zero(Kind)};
pause(_, Paused, _) ->
    Paused.

%% @doc Adds the VM's count to the session's counter. Called before the VM's counter
%% is removed.
-spec keep(slot(), counter(), {kind(), mfa()}) -> counter().
keep(Slot, {true, _, _} = Counter, {Kind, MFA}) ->
    {true, now(Slot, Counter, reading(Kind, {MFA, true})), zero(Kind)};
keep(_, Paused, _) ->
    Paused.

%% @doc Changes the set of processes whose calls a counter counts. The counter keeps
%% what it has counted before.
-spec attribute(counter(), inviso_engine_times:moved(), reading()) -> counter().
attribute({true, Kept, Base}, Moved, Reading) ->
    Now = maps:filter(fun(Pid, _) -> is_map_key(Pid, Moved) end, Reading),
    Until = maps:filter(fun(Pid, _) -> map_get(Pid, Moved) end, Now),
    {true, plus(Kept, minus(Until, Base)), maps:merge(Base, Now)}.

%% @doc Returns true if the VM has to count for this counter. The argument is `true'
%% for functions that are not loaded yet.
-spec is_running(counter() | true) -> boolean().
is_running({Runs, _, _}) -> Runs;
is_running(true) -> true.

%% @doc Returns the value that the session sees.
-spec value(slot(), counter(), {kind(), mfa(), InVm :: boolean()}) -> reading().
value(_, {false, Kept, _}, _) ->
    Kept;
value(Slot, Counter, {Kind, MFA, InVm}) ->
    now(Slot, Counter, reading(Kind, {MFA, InVm})).

%% @doc Returns the value in the form of `trace:info/3'.
-spec show(kind(), reading()) -> term().
show(call_count, Count) ->
    Count;
show(call_time, Reading) ->
    [{Pid, Count, Us div 1000000, Us rem 1000000}
     || {Pid, {Count, Us}} <- maps:to_list(Reading)];
show(call_memory, Reading) ->
    [{Pid, Count, Words} || {Pid, {Count, Words}} <- maps:to_list(Reading)].

now(Slot, {true, Kept, Base}, Reading) ->
    plus(Kept, attributed(Slot, minus(Reading, Base))).

attributed(_Slot, Grown) when is_integer(Grown) ->
    Grown;
attributed(Slot, Grown) ->
    maps:filter(fun(Pid, _) -> inviso_engine_times:is_attributed(Slot, Pid) end,
                Grown).

zero(call_count) -> 0;
zero(_) -> #{}.

%% @doc Returns the value of the VM's counter, or zero if the VM does not have it.
-spec reading(kind(), {mfa(), InVm :: boolean()}) -> reading().
reading(Kind, {_, false}) -> zero(Kind);
reading(Kind, {MFA, true}) -> read(Kind, erlang:trace_info(MFA, Kind)).

read(call_count, {_, N}) when is_integer(N) -> N;
read(call_time, {_, [_ | _] = L}) ->
    maps:from_list([{P, {N, S * 1000000 + Us}} || {P, N, S, Us} <- L]);
read(call_memory, {_, [_ | _] = L}) ->
    maps:from_list([{P, {N, Words}} || {P, N, Words} <- L]);
read(Kind, _) ->
    zero(Kind).

plus(A, B) when is_integer(A) -> A + B;
plus(A, B) when map_size(A) =:= 0 -> B;
plus(A, B) ->
    maps:fold(fun(P, {N, X}, Acc) ->
                      {M, Y} = maps:get(P, Acc, {0, 0}),
                      Acc#{P => {N + M, X + Y}}
              end, A, B).

%% Subtracts from the value of each process its base value. A process without new
%% calls is left out, although the time of its earlier calls may have grown.
minus(A, B) when is_integer(A) -> max(0, A - B);
minus(A, B) when map_size(B) =:= 0 -> A;
minus(A, B) ->
    maps:fold(fun(P, {N, X}, Acc) ->
                      case B of
                          #{P := {N, _}} -> Acc;
                          #{P := {M, Y}} when M =< N ->
                              Acc#{P => {N - M, X - Y}};
                          _ -> Acc#{P => {N, X}}
                      end
              end, #{}, A).
