%% SPDX-License-Identifier: Apache-2.0
%% @doc The log file merger: what nodes recorded, as one text in the order of
%% time.
%%
%% The work is the command's (`inviso merge --format classic'), which is run as
%% a program beside the VM: its memory and its faults are not ours. One line an
%% entry: node, names of the process, trace message.
-module(inviso_lfm).

-export([merge/2]).

-export_type([file_set/0, log_files/0]).

-type log_files() :: [{trace_log | ti_log, [file:filename()]}].
-type file_set() :: {node(), log_files()} | {node(), [log_files()]}.

%% What is kept of what the command says, to tell why it failed.
-define(MAX_TEXT, 4096).

%% @doc Merges the logs of nodes into a file; how many entries are in it.
%% Names of files are relative to the current directory. The file appears when
%% it is complete.
%%
%% A log that is not there is an error here; damage within one is not, and what
%% is readable around it is merged.
-spec merge([file_set()], file:filename()) ->
          {ok, non_neg_integer()} | {error, term()}.
merge([], OutFile) ->
    case file:write_file(OutFile, <<>>) of
        ok -> {ok, 0};
        {error, Reason} -> {error, {begin_handler, {open, Reason}}}
    end;
merge(FileSets, OutFile) when length(FileSets) > 0 ->
    try
        lists:append([arguments(S) || S <- FileSets])
    of
        Files -> run(["--output=" ++ filename:absname(OutFile) | Files])
    catch
        throw:Reason -> {error, {files, Reason}}
    end;
merge(Other, _OutFile) ->
    {error, {files, {bad_reader_spec, Other}}}.

arguments({Node, [{Kind, _} | _] = Logs})
  when is_atom(Node), is_atom(Kind), length(Logs) > 0 ->
    [argument(Node, Log, path(Log, File))
     || {_, Files} = Log <- Logs, File <- names(Log, Files)];
arguments({Node, [[{_, _} | _] | _] = Sets})
  when is_atom(Node), length(Sets) > 0 ->
    lists:append([arguments({Node, S}) || S <- Sets]);
arguments({Node, []}) when is_atom(Node) ->
    [];
arguments(Other) ->
    throw({bad_reader_spec, Other}).

%% The node is told for the sake of files that do not tell it.
argument(Node, {trace_log, _}, File) ->
    atom_to_list(Node) ++ "=" ++ File;
argument(_Node, {ti_log, _}, File) ->
    "--ti=" ++ File;
argument(_Node, Other, _File) ->
    throw({bad_reader_spec, Other}).

names(_Log, Files) when length(Files) >= 0 -> Files;
names(Log, _) -> throw({bad_reader_spec, Log}).

%% One name where a list of them belongs is a list of characters.
path(Log, File) ->
    try filename:absname(File) of
        Path when is_binary(Path) -> unicode:characters_to_list(Path);
        Path -> Path
    catch
        error:_ -> throw({bad_reader_spec, Log})
    end.

run(Args) ->
    Command = filename:join(inviso_push:priv_dir(), "inviso"),
    All = ["merge", "--format=classic", "--summary=json" | Args],
    try
        open_port({spawn_executable, Command},
                  [{args, All}, {line, ?MAX_TEXT}, exit_status, in,
                   stderr_to_stdout, hide])
    of
        Port -> collect(Port, "", none)
    catch
        error:Reason -> {error, {Command, Reason}}
    end.

%% The last line that is JSON is the summary; the others are for people.
%% Lists, not binaries: what OTP 25 compiles of binary matching does not load
%% on 29.
collect(Port, Text, Count) ->
    receive
        {Port, {data, {_, [${ | _] = Line}}} ->
            collect(Port, Text, entries(Line, Count));
        {Port, {data, {_, Line}}} ->
            collect(Port, cut(Text ++ Line ++ "\n"), Count);
        {Port, {exit_status, Status}}
          when is_integer(Count), Status =:= 0 orelse Status =:= 7 ->
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
