%% SPDX-License-Identifier: Apache-2.0
%% @doc Counts events, and measures the times of calls, in a session (c_src/nif/tally.h,
%% times.h).
%%
%% The session's tracer counts events and records none. Regularly, and at the end,
%% a worker of the session reads the counts and histograms, and writes them as
%% notes into the log, where the client reads them. A note contains all that was
%% counted for a key since the beginning. So if the ring has no room for a note,
%% nothing is lost: the next note of the same key contains the same counts and
%% later ones. The notes at the end have all keys.
-module(inviso_session_count).

-export([is_asked/1, needs_ends/1, is_timed/1, keys/1, shown/2, memory/1, begin_count/2,
         every_ms/1, note/2, note_all/2]).

-export_type([asked/0]).

-type asked() :: #{'of' := events | times | values,
                   by := function | process | caller | value | result | reason,
                   expr => binary(),
                   key => binary(),
                   every_ms := pos_integer()}.
%% of: what is counted or measured; `times': how long calls take, from beginning to
%%     end; `values': the values of the expression `expr'
%% expr: with `of := values', the expression
%% key: with `by := value', the expression whose values are the keys
%% by: the keys; `result': results of calls; `reason': exit reasons of processes
%% every_ms: the time between two notes of the counts

%% The memory that the tables of a thread take, in KiB, rounded up. COUNT: counts
%% (c_src/vm/tally.h). TIMES: histograms, of times or of values (c_src/vm/times.h).
%% VALUES: keys that are values (c_src/vm/values.h).
-define(COUNT_KIB, 330).
-define(TIMES_KIB, 3500).
-define(VALUES_KIB, 769).
%% INV_NOTE_MEASURE in c_src/abi/event.h
-define(NOTE_MEASURE, 16).
%% How long note_all/2 waits for room in the log, and the pause between two tries.
-define(PATIENCE_MS, 5000).
-define(PAUSE_MS, 5).

%% @doc Returns true for a valid value of the key `count' of a session's map.
-spec is_asked(term()) -> boolean().
is_asked(off) ->
    true;
is_asked(#{by := value, key := Key} = Map) when is_binary(Key) ->
    is_asked(maps:remove(key, Map#{by := function}));
is_asked(#{'of' := values, expr := Expr} = Map) when is_binary(Expr) ->
    is_asked(maps:remove(expr, Map#{'of' := times}));
is_asked(#{'of' := Of, by := By, every_ms := Ms} = Map) ->
    map_size(Map) =:= 3 andalso lists:member(Of, [events, times])
        andalso (lists:member(By, [function, process]) orelse
                 (Of =:= events andalso lists:member(By, [caller, result, reason])))
        andalso is_integer(Ms) andalso Ms >= 50 andalso Ms =< 3600000;
is_asked(_) ->
    false.

%% @doc Returns true if the VM must report the ends of calls.
-spec needs_ends(asked() | off) -> boolean().
needs_ends(#{'of' := times}) -> true;
needs_ends(#{by := result}) -> true;
needs_ends(_) -> false.

%% @doc Returns true if calls are timed.
-spec is_timed(asked() | off) -> boolean().
is_timed(#{'of' := times}) -> true;
is_timed(_) -> false.

%% @doc Returns what the match specs must report of an event besides the event
%% itself.
-spec keys(asked() | off) -> none | caller | result | reason | {value, [binary()]}.
keys(#{by := By}) when By =:= caller; By =:= result; By =:= reason -> By;
keys(#{} = Asked) ->
    case [maps:get(K, Asked) || K <- [expr, key], is_map_key(K, Asked)] of
        [] -> none;
        Exprs -> {value, Exprs}
    end;
keys(off) ->
    none.

%% @doc Returns the modules whose records the session can show. For counts and
%% histograms by function, process or caller the result is [], because they show no
%% terms.
-spec shown(map(), [module()]) -> [module()].
shown(#{count := #{by := By}}, _)
  when By =:= function; By =:= process; By =:= caller -> [];
shown(_, Modules) -> Modules.

%% @doc Returns a note about the memory that counting takes.
-spec memory(asked() | off) -> [binary()].
memory(off) ->
    [];
memory(#{'of' := Of, by := By}) ->
    Threads = lists:sum([erlang:system_info(What)
                         || What <- [schedulers, dirty_cpu_schedulers,
                                     dirty_io_schedulers]]) + 1,
    Values = case lists:member(By, [value, result, reason]) of
                 true -> ?VALUES_KIB;
                 false -> 0
             end,
    {KiB, More} = case Of of
                      events ->
                          {?COUNT_KIB + Values, ""};
                      values ->
                          {?COUNT_KIB + Values + ?TIMES_KIB, ""};
                      times ->
                          %% The keys of open calls are in a separate table.
                          Open = case By of value -> ?COUNT_KIB; _ -> 0 end,
                          {?COUNT_KIB + Open + Values + ?TIMES_KIB,
                           ", and 64 bytes to 16 KiB for each process with open "
                           "calls"}
                  end,
    [unicode:characters_to_binary(
       io_lib:format("at most ~b MiB of memory for the keys of ~b threads~ts",
                     [(Threads * KiB + 1023) div 1024, Threads - 1, More]))].

%% @doc Makes the tracer count. Throws `{error, Class, Text}'.
-spec begin_count(asked() | off, inviso_tracer:tracer()) -> ok.
begin_count(off, _) ->
    ok;
begin_count(#{'of' := Of, by := By}, {_, Handle}) ->
    Began = case Of of
                events when By =:= reason ->
                    inviso_tracer:nif_tally(Handle, result);
                events ->
                    inviso_tracer:nif_tally(Handle, By);
                values ->
                    inviso_tracer:nif_times(Handle, By, value);
                times ->
                    Processes = erlang:system_info(process_limit),
                    inviso_tracer:nif_times(Handle, By, Processes)
            end,
    case Began of
        true -> ok;
        false -> throw({error, failed, <<"no memory for the counts">>});
        closed -> throw({error, failed, <<"the tracer was closed">>})
    end.

%% @doc Returns the time between two notes of the counts, in milliseconds.
-spec every_ms(asked() | off) -> pos_integer() | infinity.
every_ms(off) -> infinity;
every_ms(#{every_ms := Ms}) -> Ms.

%% @doc Writes into the log the counts that have changed, as far as the ring has
%% room.
-spec note(asked(), inviso_tracer:tracer()) -> ok.
note(Asked, {_, Handle}) ->
    Now = now_ms(),
    _ = written(Handle, measure(Asked), Now),
    _ = noted(Handle, false, Now),
    ok.

%% Returns the note that says what is measured. The ring may have no room for this
%% note, so the note is written again each time that counts are written.
measure(#{'of' := values, expr := Expr}) -> [{?NOTE_MEASURE, [Expr]}];
measure(_) -> [].

%% @doc Writes all counts into the log. Calls that are still open count as calls
%% without an end. Returns false if the ring had no room for some of the counts.
%% Must be called after the last event.
-spec note_all(asked() | off, inviso_tracer:tracer()) -> boolean().
note_all(off, _) ->
    true;
note_all(Asked, {_, Handle}) ->
    Until = now_ms() + ?PATIENCE_MS,
    _ = is_timed(Asked) andalso ended(Handle, 0, Until),
    _ = written(Handle, measure(Asked), Until),
    noted(Handle, true, Until).

%% Ends the timing of calls. If a thread is still running a callback of the tracer,
%% waits for it; a callback does not run for long.
ended(Handle, At, Until) ->
    case inviso_tracer:nif_times_end(Handle, At) of
        Next when is_integer(Next) ->
            ended(Handle, Next, Until);
        busy ->
            _ = timer:sleep(?PAUSE_MS),
            now_ms() < Until andalso ended(Handle, At, Until);
        _ ->
            true
    end.

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
