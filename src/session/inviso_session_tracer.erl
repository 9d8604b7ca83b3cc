%% SPDX-License-Identifier: Apache-2.0
%% @doc Opens the tracer of a session in a new directory, with the session's
%% options, and describes errors of opening and closing for the user.
-module(inviso_session_tracer).

-export([open/3, announced/1, processes/1, incomplete/1]).

-type class() :: usage | refused | failed.

%% @doc Opens the tracer for the calling session. Returns the tracer, the session's
%% directory (its room), the path of the log, and notes for the user. Throws `{error,
%% Class, Text}'.
-spec open(none | inviso_place:place(), inviso_session_map:checked(),
           ets:tab()) ->
          {inviso_tracer:tracer(), Room :: file:filename(),
           Path :: file:filename(), Notes :: [binary()]}.
open(none, _, _) ->
    throw({error, usage, <<"the command has not attached for tracing">>});
open(Place, #{name := Name, mode := Mode} = Map, Table) ->
    Room = room(Place, Mode),
    ok = inviso_push:room(Table, Room),
    Path = filename:join(Room, binary_to_list(Name) ++ ".log"),
    %% The second element says whether the log is deleted if the node dies. The log
    %% of a recording stays, because the user has no other copy.
    Brought = {inviso_place:dir(Place), Mode =:= live},
    Opts = options(Map),
    case inviso_tracer:open(Path, Opts#{brought => Brought}) of
        {ok, Tracer} ->
            {Tracer, Room, Path, memory(Opts) ++ short_terms(Opts)};
        {error, Reason} -> throw(no_tracer(Path, Reason, Opts))
    end.

%% @doc For a session that opens no tracer: returns the notes about memory that
%% open/3 would return. Throws `{error, Class, Text}'.
-spec announced(inviso_session_map:checked()) -> [binary()].
announced(Map) ->
    Opts = options(Map),
    try memory(Opts) ++ short_terms(Opts)
    catch
        throw:{bad_option, _, _, _} = Reason ->
            throw(no_tracer("", Reason, Opts))
    end.

room(Place, Mode) ->
    Number = erlang:unique_integer([positive]),
    Kind = case Mode of live -> live; _ -> recording end,
    case inviso_place:new_room(Place, Number, Kind) of
        {ok, Room} -> Room;
        {error, Text} -> throw({error, failed, Text})
    end.

options(#{tracer := Opts, keep := Keep, limits := Limits}) ->
    Limit = maps:filter(fun(_, N) -> N > 0 end, Limits),
    Opts#{keep => Keep, limit => Limit}.

%% If the user has set an option that determines the tracer's memory, returns a
%% note that says how much memory the tracer takes, and for what.
memory(Opts) when is_map_key(max_term_bytes, Opts);
                  is_map_key(buffer_bytes, Opts) ->
    #{normal := {N, Normal}, dirty := {D, Dirty}, large := {L, Large},
      term := Term} = inviso_opts:memory(Opts),
    [text("takes ~ts of memory: a ring of ~ts for each of ~b scheduler~ts, of "
          "~ts for each of ~b dirty ones~ts",
          [size(total(Opts), fun round/1), size(Normal, fun round/1), N,
           ["s" || N > 1], size(Dirty, fun round/1), D,
           [io_lib:format(", and, for terms of up to ~ts, ~b slots of ~ts",
                          [size(Term, fun round/1), L,
                           size(Large, fun round/1)]) || L > 0]])];
memory(_Opts) ->
    [].

%% Returns a note if the length at which terms are cut is less than the default. If
%% the user has set this length, returns no note.
short_terms(#{max_term_bytes := _}) ->
    [];
short_terms(Opts) ->
    Longest = inviso_opts:longest_term(Opts),
    [text("terms are cut at ~b bytes: the threads of this node share the "
          "buffer, and --buffer makes it larger", [Longest])
     || Longest < inviso_opts:usual_term()].

-spec no_tracer(file:filename(), term(), map()) -> {error, class(), binary()}.
no_tracer(_, {bad_option, buffer_bytes, Value, _}, Opts) ->
    Least = inviso_opts:least_buffer(Opts),
    {error, usage, text("--buffer ~ts: too small for the threads of this node "
                        "and the longest term, which need at least ~ts~ts",
                        [size(Value, fun floor/1), size(Least, fun ceil/1),
                         fitting(Opts)])};
no_tracer(_, {redact, Text}, _) ->
    {error, usage, text("--redact: ~ts", [Text])};
no_tracer(_, {filter, Text}, _) ->
    {error, usage, text("--filter: ~ts", [Text])};
no_tracer(_, {bad_option, Name, Value, What}, _) ->
    {error, usage, text("~w ~0tp: it ~ts", [Name, Value, What])};
no_tracer(Path, {log, _, Text}, _) ->
    {error, failed, text("~ts cannot be written: ~ts; name another directory "
                         "with --remote-dir", [Path, Text])};
no_tracer(_, {too_many, N}, _) ->
    {error, refused, text("~b tracers are open on this node, the maximum", [N])};
no_tracer(_, {ring, Call, Posix}, Opts) ->
    {error, failed, text("no memory for the ring (~ts: ~0tp); it needs ~ts, "
                         "and a smaller --buffer~ts needs less",
                         [Call, Posix, size(total(Opts), fun round/1),
                          [" or --max-term"
                           || is_map_key(max_term_bytes, Opts)]])};
no_tracer(_, {spooler, _, Text}, _) ->
    {error, failed, text("the spooler, which writes the log, does not work on "
                         "the node's machine: ~ts", [Text])};
no_tracer(_, {load, Text}, _) ->
    {error, failed, text("~ts", [Text])};
no_tracer(_, Reason, _) ->
    {error, failed, text("the tracer does not open: ~0tp", [Reason])}.

%% Says which --max-term fits into the --buffer of the options.
fitting(#{max_term_bytes := Asked} = Opts) ->
    case inviso_opts:largest_term(Opts) of
        Fits when is_integer(Fits), Fits < Asked ->
            io_lib:format("; a --max-term of ~ts fits",
                          [size(Fits, fun floor/1)]);
        _ ->
            ""
    end;
fitting(_Opts) ->
    "".

total(Opts) ->
    #{normal := {N, Normal}, dirty := {D, Dirty}, large := {L, Large}} =
        inviso_opts:memory(Opts),
    N * Normal + D * Dirty + L * Large.

%% Formats a size as the options of the command expect it: "64k", "3.5M".
size(Bytes, Round) when Bytes >= 1048576 ->
    case Round(Bytes * 10 / 1048576) of
        Tenths when Tenths rem 10 =:= 0 -> io_lib:format("~bM", [Tenths div 10]);
        Tenths -> io_lib:format("~b.~bM", [Tenths div 10, Tenths rem 10])
    end;
size(Bytes, Round) when Bytes >= 1024 ->
    io_lib:format("~bk", [Round(Bytes / 1024)]);
size(Bytes, _) ->
    io_lib:format("~b", [Bytes]).

%% @doc Returns the processes of a tracer, which must not be traced.
-spec processes(inviso_tracer:tracer()) -> [pid()].
processes({inviso_tracer, Handle}) -> inviso_keeper:processes(Handle).

%% @doc Returns a text that says why the log is not complete.
-spec incomplete(term()) -> unicode:chardata().
incomplete({log, _, Text}) -> Text;
incomplete({spooler, _, None}) when None =:= <<>>; None =:= "" ->
    "inviso_spool does not finish it";
incomplete({spooler, _, Text}) -> Text;
incomplete(Reason) -> io_lib:format("~0tp", [Reason]).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
