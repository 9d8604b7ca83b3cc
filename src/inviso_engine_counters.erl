%% SPDX-License-Identifier: Apache-2.0
%% @doc A session's counters of a function, over the VM's one.
%%
%% The VM counts as long as any session does; what a session sees is that minus
%% what was there when it began, plus what it had before the VM's counter was
%% taken away. So no session's restart or pause is seen by another.
-module(inviso_engine_counters).

-export([kinds/0, exists/1, start/2, pause/2, keep/2, is_running/1, value/3,
         show/2]).

-export_type([kind/0, counter/0, reading/0]).

-type kind() :: call_count | call_time | call_memory.
-type reading() :: non_neg_integer() | #{pid() => {integer(), integer()}}.
%% Of the VM's: calls; or for each process, calls and what they took.
-opaque counter() :: {Runs :: boolean(), Kept :: reading(), Base :: reading()}.

%% @doc Those that the VM of some release has.
-spec kinds() -> [kind()].
kinds() ->
    [call_count, call_time, call_memory].

%% The spec of erlang:trace_info/2 is that of its release.
-dialyzer({[no_fail_call, no_match, no_return, no_unused],
           [exists/1, release/0, read/2]}).
%% @doc Whether this VM has it.
-spec exists(kind()) -> boolean().
exists(call_memory) ->
    %% Asked of a function that is there and that nobody traces for memory.
    try erlang:trace_info({?MODULE, kinds, 0}, call_memory) of
        {call_memory, _} -> release() >= 26
    catch
        error:_ -> false
    end;
exists(_) ->
    true.

release() ->
    list_to_integer(erlang:system_info(otp_release)).

%% @doc From zero; InVm: whether the VM counts already.
-spec start(kind(), {mfa(), InVm :: boolean()}) -> counter().
start(Kind, Where) ->
    {true, zero(Kind), reading(Kind, Where)}.

%% @doc What was counted stays.
-spec pause(counter(), {kind(), mfa(), InVm :: boolean()}) -> counter().
pause({true, _, _} = Counter, {Kind, MFA, InVm}) ->
    {false, now(Counter, reading(Kind, {MFA, InVm})), zero(Kind)};
pause(Paused, _) ->
    Paused.

%% @doc The VM's counter is about to go.
-spec keep(counter(), {kind(), mfa()}) -> counter().
keep({true, _, _} = Counter, {Kind, MFA}) ->
    {true, now(Counter, reading(Kind, {MFA, true})), zero(Kind)};
keep(Paused, _) ->
    Paused.

%% @doc Whether the VM has to count for it. (`true' is a counter that functions
%% yet to be loaded will have.)
-spec is_running(counter() | true) -> boolean().
is_running({Runs, _, _}) -> Runs;
is_running(true) -> true.

%% @doc What the session is told.
-spec value(counter(), kind(), {mfa(), InVm :: boolean()}) -> reading().
value({false, Kept, _}, _Kind, _) -> Kept;
value(Counter, Kind, Where) -> now(Counter, reading(Kind, Where)).

%% @doc As `trace:info/3' has it, for the processes that Wanted says.
-spec show({kind(), fun((pid()) -> boolean())}, reading()) -> term().
show({call_count, _}, Count) ->
    Count;
show({call_time, Wanted}, Reading) ->
    [{Pid, Count, Us div 1000000, Us rem 1000000}
     || {Pid, {Count, Us}} <- maps:to_list(Reading), Wanted(Pid)];
show({call_memory, Wanted}, Reading) ->
    [{Pid, Count, Words}
     || {Pid, {Count, Words}} <- maps:to_list(Reading), Wanted(Pid)].

now({true, Kept, Base}, Reading) ->
    plus(Kept, minus(Reading, Base)).

zero(call_count) -> 0;
zero(_) -> #{}.

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

%% A process that has called nothing since is not told, whatever the calls from
%% before still took.
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
