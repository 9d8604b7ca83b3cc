%% SPDX-License-Identifier: Apache-2.0
%% @doc Says what trace sessions had no room for: the log of the node gets a
%% warning, once for each kind while the server lives.
-module(inviso_engine_lost).

-export([new/0, tell/1]).

-export_type([told/0]).

-opaque told() :: [profiles | frames | places | notes].

%% @doc Nothing has been told.
-spec new() -> told().
new() ->
    [].

%% @doc Tells what has not been told.
-spec tell(told()) -> told().
tell(Told) ->
    {Profiles, Frames, Places, Notes} = inviso_engine:lost(),
    lists:foldl(fun tell/2, Told, [{profiles, Profiles}, {frames, Frames},
                                   {places, Places}, {notes, Notes}]).

tell({_, 0}, Told) ->
    Told;
tell({What, _}, Told) ->
    case lists:member(What, Told) of
        true ->
            Told;
        false ->
            %% Whoever is slow to log is not to be waited for.
            _ = spawn(fun() ->
                              logger:warning("trace sessions: ~ts",
                                             [text(What)])
                      end),
            [What | Told]
    end.

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
