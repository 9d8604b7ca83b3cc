%% SPDX-License-Identifier: Apache-2.0
%% @doc Warnings in the log of the node: what trace sessions had no room for, once
%% for each kind while the server lives, and requests that took long, once a
%% minute. All that trace on the node wait for the server, so somebody should
%% know why.
-module(inviso_engine_lost).

-export([new/0, tell/1, now_ms/0, took/3]).

-export_type([told/0]).

-record(told, {kinds = [] :: [profiles | frames | places | notes],
               %% When a slow request was told of, and how many were not since.
               slow = never :: integer() | never,
               untold = 0 :: non_neg_integer()}).
-opaque told() :: #told{}.

-define(SLOW_MS, 1000).
-define(QUIET_MS, 60000).

%% @doc Nothing has been told.
-spec new() -> told().
new() ->
    #told{}.

%% @doc Tells what has not been told.
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

%% The server waits neither for the log nor for code that it needs.
warn(Format, Args) ->
    _ = spawn(logger, warning, ["trace sessions: " ++ Format, Args]),
    ok.

text(profiles) ->
    "no room for more combinations of sessions and flags: some processes do "
        "not get the flags that are passed on to them. Destroy the sessions "
        "and create them anew";
text(frames) ->
    "calls whose ends are traced are nested too deep: some of their ends are "
        "not told. Use return_trace and exception_trace on fewer functions";
text(places) ->
    "some flags could not be set on a process, nor ends of its calls told, "
        "while another thread did so";
text(notes) ->
    "no room to note more functions that are counted: should the engine be "
        "killed, their counters stay in the VM. Count fewer functions".

%% @doc The time for {@link took/3}.
-spec now_ms() -> integer().
now_ms() -> erlang:monotonic_time(millisecond).

%% @doc A request that was begun then is done.
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

%% In words, and of what.
request(gone) -> ["end of a session that is held by", no_process];
request({open, Name, _}) -> ["open session", Name];
request({info, What}) -> ["which sessions trace", What];
request({Session, destroy}) -> ["end session", Session];
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
