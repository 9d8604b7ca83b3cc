%% SPDX-License-Identifier: Apache-2.0
%% @doc Counting, and timing calls, in a session (c_src/nif/tally.h, times.h).
%%
%% The session's tracer counts events and records none. Regularly, and at the end, a
%% worker of the session reads the counts and histograms and notes them in the log,
%% from which the client learns them. A note has what was counted since the beginning,
%% so a note that finds no room is made good by the next one of the same key. The notes
%% at the end have all keys.
-module(inviso_session_count).

-export([is_asked/1, needs_ends/1, is_timed/1, keys/1, shown/2, memory/1, begin_count/2,
         every_ms/1, note/2, note_all/2]).

-export_type([asked/0]).

-type asked() :: #{'of' := events | times | values,
                   by := function | process | caller | value | result | reason,
                   expr => binary(),
                   key => binary(),
                   every_ms := pos_integer()}.
%% of: `times' are those of calls, from the beginning to the end; `values' are those of
%%     the expression
%% expr: with `of := values', the expression
%% key: with `by := value', the expression whose values are the keys
%% by: `result' is that of calls, `reason' that of exits of processes
%% every_ms: how often the counts are noted

%% What the tables of a thread take (vm/tally.h, vm/times.h), rounded up.
-define(COUNT_KIB, 330).
-define(TIMES_KIB, 3500).
%% vm/values.h
-define(VALUES_KIB, 769).
%% INV_NOTE_MEASURE in c_src/abi/event.h
-define(NOTE_MEASURE, 16).
%% How long note_all/1 waits for room in the log, and the pause between two tries.
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

%% @doc Returns what the match specs must say of an event.
-spec keys(asked() | off) -> none | caller | result | reason | {value, [binary()]}.
keys(#{by := By}) when By =:= caller; By =:= result; By =:= reason -> By;
keys(#{} = Asked) ->
    case [maps:get(K, Asked) || K <- [expr, key], is_map_key(K, Asked)] of
        [] -> none;
        Exprs -> {value, Exprs}
    end;
keys(off) ->
    none.

%% @doc Returns those of the modules whose records the session can show. Counts and
%% histograms by function or process show no term.
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
                          %% The keys of open calls are a table of their own.
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

%% @doc Returns how often the counts are noted.
-spec every_ms(asked() | off) -> pos_integer() | infinity.
every_ms(off) -> infinity;
every_ms(#{every_ms := Ms}) -> Ms.

%% @doc Notes the counts that have changed, as far as there is room.
-spec note(asked(), inviso_tracer:tracer()) -> ok.
note(Asked, {_, Handle}) ->
    Now = now_ms(),
    _ = written(Handle, measure(Asked), Now),
    _ = noted(Handle, false, Now),
    ok.

%% The note is repeated, because there may be no room for it.
measure(#{'of' := values, expr := Expr}) -> [{?NOTE_MEASURE, [Expr]}];
measure(_) -> [].

%% @doc Notes all counts; calls that are still open have no end. Returns false if there
%% was no room for some of them. When it is called, no event may follow.
-spec note_all(asked() | off, inviso_tracer:tracer()) -> boolean().
note_all(off, _) ->
    true;
note_all(Asked, {_, Handle}) ->
    Until = now_ms() + ?PATIENCE_MS,
    _ = is_timed(Asked) andalso ended(Handle, 0, Until),
    _ = written(Handle, measure(Asked), Until),
    noted(Handle, true, Until).

%% A callback that is still running is waited for. No process is in one for long.
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
