%% SPDX-License-Identifier: Apache-2.0
%% @doc Decides when a session ends by itself: at its limits of events, bytes,
%% rate and time, and when its log cannot be written. The NIF library applies the
%% limits exactly; this module finds out that a limit is reached.
-module(inviso_session_limits).

-export([new/1, begin_arming/2, begin_time/1, check/2, most_ms/1, ms_left/1,
         words/1]).

-export_type([limits/0]).

-record(limits, {max :: #{atom() => integer()},
                 %% when the time limit, or the limit of arming, is reached: monotonic
                 %% time, ms
                 deadline = infinity :: integer() | infinity,
                 %% how long the session may set patterns: a time in ms
                 arm_ms = 0 :: non_neg_integer(),
                 %% monotonic time (ms) since which the spooler cannot write
                 stalled = never :: integer() | never}).

-opaque limits() :: #limits{}.

%% The spooler repeats a failed write. The session ends if all writes fail for
%% this time.
-define(STALLED_MS, 2000).

%% @doc Converts a map with the keys `events', `bytes', `rate' (events a second)
%% and `ms' (a time). A key that is absent or has the value 0 sets no limit.
-spec new(#{atom() => integer()}) -> limits().
new(Max) ->
    #limits{max = Max}.

%% @doc Limits how long the session may set patterns: to `ArmMs' milliseconds, or to
%% the time limit `ms' if that is longer. Has no effect if there is no time limit.
-spec begin_arming(pos_integer(), limits()) -> limits().
begin_arming(ArmMs, #limits{max = #{ms := Ms}} = L) when Ms > 0 ->
    Most = max(ArmMs, Ms),
    L#limits{deadline = now_ms() + Most, arm_ms = Most};
begin_arming(_, L) ->
    L.

%% @doc Starts the clock of the time limit `ms'.
-spec begin_time(limits()) -> limits().
begin_time(#limits{max = #{ms := Ms}} = L) when Ms > 0 ->
    L#limits{deadline = now_ms() + Ms, arm_ms = 0};
begin_time(L) ->
    L.

%% @doc Returns the time limit that applies now, in milliseconds: that of arming, or
%% `ms'.
-spec most_ms(limits()) -> non_neg_integer().
most_ms(#limits{arm_ms = 0, max = Max}) -> maps:get(ms, Max, 0);
most_ms(#limits{arm_ms = Ms}) -> Ms.

%% @doc Returns how many milliseconds are left of the time limit. Before the clock of
%% the time limit starts, all of it is left.
-spec ms_left(limits()) -> non_neg_integer() | infinity.
ms_left(#limits{deadline = infinity}) -> infinity;
ms_left(#limits{arm_ms = 0} = L) -> until_deadline(L);
ms_left(#limits{max = #{ms := Ms}}) -> Ms.

until_deadline(#limits{deadline = infinity}) -> infinity;
until_deadline(#limits{deadline = At}) -> max(0, At - now_ms()).

%% @doc Returns why the session has to end, or `none' if it need not end. `Stats'
%% is the result of inviso_tracer:info/1, and has the key `closed' if the tracer
%% is closed.
-spec check(map(), limits()) ->
          {none | time | {over, atom(), binary()}, limits()}.
check(Stats, L) ->
    Next = L#limits{stalled = stalled(Stats, L)},
    {first([log(Stats, Next), time(Stats, Next), counted(Stats, Next)]), Next}.

first([none | Rest]) -> first(Rest);
first([Found | _]) -> Found;
first([]) -> none.

stalled(#{spooler := #{state := stalled}}, #limits{stalled = never}) ->
    now_ms();
stalled(#{spooler := #{state := stalled}}, #limits{stalled = Since}) ->
    Since;
stalled(_, _) ->
    never.

log(#{closed := true}, _) ->
    {over, tracer, <<"the tracer was closed">>};
log(#{spooler := #{state := failed} = Spooler}, _) ->
    unwritten(Spooler);
log(#{spooler := #{state := stalled} = Spooler}, #limits{stalled = Since}) ->
    case now_ms() - Since > ?STALLED_MS of
        true -> unwritten(Spooler);
        false -> none
    end;
log(_, _) ->
    none.

unwritten(Spooler) ->
    over(tracer, "the log cannot be written: ~ts",
         [maps:get(error, Spooler, "?")]).

time(#{limit := ms}, _) -> time;
time(_, L) ->
    case until_deadline(L) of
        0 -> time;
        _ -> none
    end.

counted(#{limit := bytes}, #limits{max = #{bytes := Max}}) ->
    over(bytes, "~ts of log, which is the limit", [bytes(Max)]);
counted(#{limit := Limit, recorded := N}, #limits{max = #{events := Max}})
  when Limit =:= events; Max > 0, N >= Max ->
    over(events, "~b events, limit ~b", [N, Max]);
counted(#{rate_reached := true}, #limits{max = #{rate := Max}}) ->
    over(rate, "more than ~b events a second", [Max]);
counted(_, _) ->
    none.

bytes(Bytes) when Bytes rem (1 bsl 20) =:= 0 ->
    io_lib:format("~b MiB", [Bytes bsr 20]);
bytes(Bytes) when Bytes rem (1 bsl 10) =:= 0 ->
    io_lib:format("~b KiB", [Bytes bsr 10]);
bytes(Bytes) ->
    io_lib:format("~b bytes", [Bytes]).

over(Why, Format, Args) ->
    {over, Why, unicode:characters_to_binary(io_lib:format(Format, Args))}.

%% @doc Returns a time, given in milliseconds, in words: "1.5 s".
-spec words(non_neg_integer()) -> iolist().
words(Ms) when Ms rem 1000 =:= 0 -> io_lib:format("~b s", [Ms div 1000]);
words(Ms) when Ms > 1000, Ms rem 100 =:= 0 ->
    io_lib:format("~b.~b s", [Ms div 1000, Ms rem 1000 div 100]);
words(Ms) -> io_lib:format("~b ms", [Ms]).

now_ms() ->
    erlang:monotonic_time(millisecond).
