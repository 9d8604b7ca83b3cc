%% SPDX-License-Identifier: Apache-2.0
%% @doc Logs warnings in the log of the node. One kind of warning reports that the
%% engine loses something (`inviso_engine:lost/0' counts four kinds of losses); each
%% kind of loss is logged once while the server lives. The other kind of warning
%% reports, at most once a minute, a request that took long. All sessions of the node
%% wait for such a request, so users should know why they wait.
-module(inviso_engine_lost).

-export([new/0, tell/1, now_ms/0, took/3, warn/2]).

-export_type([told/0]).

-record(told, {kinds = [] :: [profiles | frames | places | notes],
               %% When the last slow request was logged, and how many slow requests
               %% since then were not logged.
               slow = never :: integer() | never,
               untold = 0 :: non_neg_integer()}).
-opaque told() :: #told{}.

-define(SLOW_MS, 1000).
-define(QUIET_MS, 60000).

-spec new() -> told().
new() ->
    #told{}.

%% @doc Logs each kind of loss that has occurred and has not been logged yet.
-spec tell(told()) -> told().
tell(#told{kinds = Kinds} = Told) ->
    {Profiles, Frames, Places, Notes} = inviso_engine:lost(),
    Told#told{kinds = lists:foldl(fun tell/2, Kinds,
                                  [{profiles, Profiles}, {frames, Frames},
                                   {places, Places}, {notes, Notes}])}.

tell({_, 0}, Kinds) ->
    Kinds;
tell({What, _}, Kinds) ->
    case lists:member(What, Kinds) of
        true ->
            Kinds;
        false ->
            warn("~ts", [text(What)]),
            [What | Kinds]
    end.

%% @doc Logs a warning. A new process calls the logger, so that the server waits
%% neither for the logger nor for code that the logger loads.
-spec warn(string(), [term()]) -> ok.
warn(Format, Args) ->
    _ = spawn(logger, warning, ["trace sessions: " ++ Format, Args]),
    ok.

text(profiles) ->
    "no room for more combinations of sessions and flags: some processes do "
    "not inherit flags. Destroy the sessions and create them again";
text(frames) ->
    "traced calls are nested too deeply: some of their returns are missing. "
    "Use return_trace and exception_trace on fewer functions";
text(places) ->
    "some flags of a process, or returns of its calls, are missing: another "
    "thread was changing them at the same time";
text(notes) ->
    "no room to note more counted functions: if the engine is killed, their "
    "counters stay in the VM. Count fewer functions".

%% @doc Returns the present time in milliseconds, for {@link took/3}.
-spec now_ms() -> integer().
now_ms() -> erlang:monotonic_time(millisecond).

%% @doc Logs a request if it took long. Called when the request is done, with the
%% time at which it began.
-spec took(term(), integer(), told()) -> told().
took(Request, Began, Told) ->
    Now = now_ms(),
    case Now - Began > ?SLOW_MS of
        true -> slow(Request, Now - Began, Now, Told);
        false -> Told
    end.

slow(_, _, Now, #told{slow = Last, untold = N} = Told)
  when Last =/= never, Now - Last < ?QUIET_MS ->
    Told#told{untold = N + 1};
slow(Request, Ms, Now, #told{untold = N} = Told) ->
    warn("a request took ~b ms: ~s ~0tP (others since the last warning: ~b)",
         [Ms] ++ request(Request) ++ [10, N]),
    Told#told{slow = Now, untold = 0}.

%% Returns words that describe a request, and the term that the request is about.
request(gone) -> ["end of a session that is held by", no_process];
request({open, Name, _}) -> ["open session", Name];
request({info, What}) -> ["which sessions trace", What];
request({Session, destroy}) -> ["end session", Session];
request({Session, {expect_calls, _}}) -> ["set patterns of", Session];
request({_, {info, What, _}}) -> ["what is set on", What];
request({_, {Kind, What, true, _}}) when Kind =:= process; Kind =:= port ->
    ["set flags of", {Kind, What}];
request({_, {Kind, What, false, _}}) when Kind =:= process; Kind =:= port ->
    ["clear flags of", {Kind, What}];
request({_, {processes, Pids, _, _}}) ->
    ["set flags of some processes:", length(Pids)];
request({_, {Kind, What, _, _}}) -> ["set a pattern on", {Kind, What}];
request({_, {Kind, _, _}}) -> ["set a pattern on", Kind];
request(_) -> ["refuse", unknown_request].
