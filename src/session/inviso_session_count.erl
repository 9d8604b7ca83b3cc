%% SPDX-License-Identifier: Apache-2.0
%% @doc Counting, in a session (c_src/nif/tally.h).
%%
%% The session's tracer counts events and records none. Regularly, and at the end, a
%% worker of the session reads the counts and notes them in the log, from which the
%% client learns them. A note has what was counted since the beginning, so a note
%% that finds no room is made good by the next one of the same key. The notes at the
%% end have all keys.
-module(inviso_session_count).

-export([is_asked/1, begin_count/2, every_ms/1, note/1, note_all/1]).

-export_type([asked/0]).

-type asked() :: #{by := function | process, every_ms := pos_integer()}.
%% every_ms: how often the counts are noted

%% How long note_all/1 waits for room in the log, and the pause between two tries.
-define(PATIENCE_MS, 5000).
-define(PAUSE_MS, 5).

%% @doc Returns true for a valid value of the key `count' of a session's map.
-spec is_asked(term()) -> boolean().
is_asked(off) ->
    true;
is_asked(#{by := By, every_ms := Ms} = Map) ->
    map_size(Map) =:= 2 andalso lists:member(By, [function, process])
        andalso is_integer(Ms) andalso Ms >= 50 andalso Ms =< 3600000;
is_asked(_) ->
    false.

%% @doc Makes the tracer count. Throws `{error, Class, Text}'.
-spec begin_count(asked() | off, inviso_tracer:tracer()) -> ok.
begin_count(off, _) ->
    ok;
begin_count(#{by := By}, {_, Handle}) ->
    case inviso_tracer:nif_tally(Handle, By) of
        true -> ok;
        false -> throw({error, failed, <<"no memory for the counts">>});
        closed -> throw({error, failed, <<"the tracer was closed">>})
    end.

%% @doc Returns how often the counts are noted.
-spec every_ms(asked() | off) -> pos_integer() | infinity.
every_ms(off) -> infinity;
every_ms(#{every_ms := Ms}) -> Ms.

%% @doc Notes the counts that have changed, as far as there is room.
-spec note(inviso_tracer:tracer()) -> ok.
note({_, Handle}) ->
    _ = noted(Handle, false, now_ms()),
    ok.

%% @doc Notes all counts. Returns false if there was no room for some of them. When
%% it is called, no event may follow.
-spec note_all(inviso_tracer:tracer()) -> boolean().
note_all({_, Handle}) ->
    noted(Handle, true, now_ms() + ?PATIENCE_MS).

noted(Handle, All, Until) ->
    noted(Handle, 0, All, Until).

noted(_, done, _, _) ->
    true;
noted(Handle, At, All, Until) ->
    case inviso_tracer:nif_tallied(Handle, At, All) of
        {Notes, Next} ->
            written(Handle, Notes, Until) andalso
                noted(Handle, Next, All, Until);
        closed ->
            false
    end.

written(_, [], _) ->
    true;
written(Handle, Notes, Until) ->
    case inviso_tracer:nif_note(Handle, Notes) of
        closed ->
            false;
        N ->
            Rest = lists:nthtail(N, Notes),
            case Rest =:= [] orelse now_ms() >= Until of
                true ->
                    Rest =:= [];
                false ->
                    timer:sleep(?PAUSE_MS),
                    written(Handle, Rest, Until)
            end
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).
