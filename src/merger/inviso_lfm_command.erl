%% SPDX-License-Identifier: Apache-2.0
%% @doc Runs the command `inviso merge' as a program beside the VM.
-module(inviso_lfm_command).

-export([merge/2, arguments/1, open/1, next/1, close/1, aside/1]).

-export_type([stream/0, entry/0]).

-record(stream, {port :: port(), bytes = <<>> :: binary()}).

-opaque stream() :: #stream{}.
-type entry() :: {node(), integer(), [term()], term()}.

%% At most this many characters of the command's output are kept, to report why
%% the command failed.
-define(MAX_TEXT, 4096).

%% @doc Merges logs into a file that has a line for each entry.
-spec merge([inviso_lfm:file_set()], file:filename()) ->
          {ok, non_neg_integer()} | {error, term()}.
merge([], OutFile) ->
    case file:write_file(OutFile, <<>>) of
        ok -> {ok, 0};
        {error, Reason} -> {error, {begin_handler, {open, Reason}}}
    end;
merge(FileSets, OutFile) ->
    case {arguments(FileSets), output(OutFile)} of
        {{ok, Files}, {ok, Output}} ->
            run(["--output=" ++ Output, "--format=classic", "--summary=json"
                 | Files]);
        {{ok, _}, error} ->
            {error, {begin_handler, {open, {badarg, OutFile}}}};
        {{error, _} = E, _} ->
            E
    end.

output(OutFile) ->
    try filename:absname(OutFile) of
        Path when is_binary(Path) -> {ok, unicode:characters_to_list(Path)};
        Path -> {ok, Path}
    catch
        error:_ -> error
    end.

%% @doc Returns the command's arguments for the given logs.
-spec arguments([inviso_lfm:file_set()]) ->
          {ok, [string()]} | {error, {files, term()}}.
arguments(FileSets) when length(FileSets) >= 0 ->
    try
        {ok, lists:append([set(S) || S <- FileSets])}
    catch
        throw:Reason -> {error, {files, Reason}}
    end;
arguments(Other) ->
    {error, {files, {bad_reader_spec, Other}}}.

set({Node, [{Kind, _} | _] = Logs})
  when is_atom(Node), is_atom(Kind), length(Logs) > 0 ->
    [argument(Node, Log, path(Log, File))
     || {_, Files} = Log <- Logs, File <- names(Log, Files)];
set({Node, [[{_, _} | _] | _] = Sets}) when is_atom(Node), length(Sets) > 0 ->
    lists:append([set({Node, S}) || S <- Sets]);
set({Node, []}) when is_atom(Node) ->
    [];
set(Other) ->
    throw({bad_reader_spec, Other}).

%% Returns the command's argument for a file. The argument for a log contains
%% the node's name, because some logs do not contain it.
argument(Node, {trace_log, _}, File) ->
    atom_to_list(Node) ++ "=" ++ File;
argument(_Node, {ti_log, _}, File) ->
    "--ti=" ++ File;
argument(_Node, Other, _File) ->
    throw({bad_reader_spec, Other}).

names(_Log, Files) when length(Files) >= 0 -> Files;
names(Log, _) -> throw({bad_reader_spec, Log}).

%% Returns the absolute path of a file. Throws if `File' is not a name: the
%% user may have given a single string, whose elements are characters,
%% instead of a list.
path(Log, File) ->
    try filename:absname(File) of
        Path when is_binary(Path) -> unicode:characters_to_list(Path);
        Path -> Path
    catch
        error:_ -> throw({bad_reader_spec, Log})
    end.

command(Args, Options) ->
    Command = filename:join(inviso_priv:dir(), "inviso"),
    try
        {ok, open_port({spawn_executable, Command},
                       [{args, ["merge" | Args]}, exit_status, hide | Options])}
    catch
        error:Reason -> {error, {Command, Reason}}
    end.

run(Args) ->
    aside(fun() ->
                  case command(Args, [{line, ?MAX_TEXT}, in,
                                      stderr_to_stdout]) of
                      {ok, Port} -> collect(Port, "", none);
                      {error, _} = E -> E
                  end
          end).

%% Reads the command's output. Lines that begin with { are JSON, and the last of
%% them is the summary; other lines are messages. The lines are read as lists: if
%% OTP 25 has compiled a module that matches binaries, OTP 29 cannot load the
%% module.
collect(Port, Text, Count) ->
    receive
        {Port, {data, {_, [${ | _] = Line}}} ->
            collect(Port, Text, entries(Line, Count));
        {Port, {data, {_, Line}}} ->
            collect(Port, cut(Text ++ Line ++ "\n"), Count);
        {Port, {exit_status, Status}}
          when is_integer(Count), Status =:= 0 orelse Status =:= 5
               orelse Status =:= 7 ->
            {ok, Count};
        {Port, {exit_status, Status}} ->
            {error, {merge, Status, string:trim(Text)}}
    end.

cut(Text) -> lists:nthtail(max(0, length(Text) - ?MAX_TEXT), Text).

entries(Line, Default) ->
    Options = [{capture, all_but_first, binary}],
    case re:run(Line, <<"\"entries\":([0-9]+)">>, Options) of
        {match, [Digits]} -> binary_to_integer(Digits);
        nomatch -> Default
    end.

%% --- entry by entry ----------------------------------------------------------

%% @doc Starts to merge logs. The calling process gets the entries; at most about
%% two megabytes of them wait in its mailbox.
-spec open([string()]) -> {ok, stream()} | {error, term()}.
open(Arguments) ->
    case command(["--format=etf", "--paced", "--quiet" | Arguments],
                 [stream, binary]) of
        {ok, Port} ->
            {ok, #stream{port = Port}};
        {error, _} = E ->
            E
    end.

%% Makes the command send the next chunk of entries.
more(Port) ->
    try
        true = port_command(Port, "m")
    catch
        error:badarg -> true
    end.

%% @doc Returns the next entry.
-spec next(stream()) -> {ok, entry(), stream()} | done | {error, term()}.
next(#stream{port = Port, bytes = Bytes} = Stream) ->
    case erlang:decode_packet(4, Bytes, []) of
        {ok, <<>>, Rest} ->
            more(Port),
            next(Stream#stream{bytes = Rest});
        {ok, Record, Rest} ->
            case binary_to_term(Record) of
                {Node, Time, Names, Term, _Facts} ->
                    {ok, {Node, Time, Names, Term}, Stream#stream{bytes = Rest}};
                <<>> ->
                    ok = close(Stream),
                    done;
                Text ->
                    ok = close(Stream),
                    {error, {merge, 1, unicode:characters_to_list(Text)}}
            end;
        {more, _} ->
            receive
                {Port, {data, More}} ->
                    next(Stream#stream{bytes = joined(Bytes, More)});
                {Port, {exit_status, Status}} ->
                    {error, {merge, Status, ""}};
                {'EXIT', Port, Reason} ->
                    {error, {merge, Reason, ""}}
            end
    end.

joined(<<>>, More) -> More;
joined(Bytes, More) -> iolist_to_binary([Bytes, More]).

%% @doc Closes the stream, whether it has ended or not.
-spec close(stream()) -> ok.
close(#stream{port = Port}) ->
    try port_close(Port) of
        true -> ok
    catch
        error:badarg -> ok
    end,
    flush(Port).

flush(Port) ->
    receive
        {Port, _} -> flush(Port);
        {'EXIT', Port, _} -> flush(Port)
    after 0 -> ok
    end.

%% @doc Runs a function in a separate process, and returns its result. The
%% process ends when the caller ends. No message stays in the caller's mailbox.
-spec aside(fun(() -> R)) -> R | {error, term()}.
aside(Fun) ->
    Caller = self(),
    {_, Ref} = spawn_monitor(fun() -> watched(Caller), exit({done, Fun()}) end),
    receive
        {'DOWN', Ref, process, _, {done, Result}} -> Result;
        {'DOWN', Ref, process, _, Reason} -> {error, Reason}
    end.

watched(Caller) ->
    Worker = self(),
    spawn(fun() ->
                  Ref = monitor(process, Caller),
                  Done = monitor(process, Worker),
                  receive
                      {'DOWN', Ref, process, _, _} -> exit(Worker, kill);
                      {'DOWN', Done, process, _, _} -> ok
                  end
          end).
