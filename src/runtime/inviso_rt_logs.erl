%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists and deletes the log files and ti files of a runtime component.
-module(inviso_rt_logs).

-export([list/2, delete/2, is_name/1]).

-export_type([which/0, current/0, file_info/0]).

%% current     the logs that were opened last
%% tracerdata  the logs that this tracerdata would open
%% files       {trace_log | ti_log, Directory, Names}, in a list
%% names       names of files
-type which() :: current
               | {tracerdata, term()}
               | {files, term()}
               | {names, [term()]}.

%% Tracerdata, and the directory to which the file names in the tracerdata are
%% relative.
-type current() :: none | {some, term(), file:filename()}.

-type file_info() :: {ok, file:name_all()}
                   | {error, {file:posix() | badarg, term()}}.

%% @doc Returns the files that the first argument selects and that exist. For
%% `{files, List}', returns List without checking whether the files exist.
-spec list(which(), current()) ->
          {ok, inviso_tracerdata:logs() | no_log}
        | {error, no_tracerdata | badarg}.
list(current, none) ->
    {error, no_tracerdata};
list(current, {some, TracerData, Cwd}) ->
    of_tracerdata(TracerData, Cwd);
list({tracerdata, []}, _Current) ->
    {ok, no_log};
list({tracerdata, TracerData}, _Current) ->
    of_tracerdata(TracerData, current);
list({files, Logs}, _Current) ->
    case is_logs(Logs) of
        true -> {ok, Logs};
        false -> {error, badarg}
    end;
list(_, _Current) ->
    {error, badarg}.

of_tracerdata(TracerData, Cwd) ->
    case inviso_tracerdata:logs(TracerData, Cwd) of
        {ok, _} = Ok -> Ok;
        {error, _} -> {error, badarg}
    end.

is_logs(Logs) ->
    is_proper(Logs) andalso lists:all(fun is_log/1, Logs).

is_log({Kind, Dir, Files}) when Kind =:= trace_log; Kind =:= ti_log ->
    is_name(Dir) andalso is_proper(Files)
        andalso lists:all(fun is_name/1, Files);
is_log(_) ->
    false.

is_proper(List) when length(List) >= 0 -> true;
is_proper(_) -> false.

%% @doc Returns true if a term can be the name of a file.
-spec is_name(term()) -> boolean().
is_name(Name) when is_atom(Name) ->
    false;
is_name(Name) ->
    try unicode:characters_to_list(filename:join([Name])) of
        [_ | _] = Text -> not lists:member(0, Text);
        _ -> false
    catch
        error:_ -> false
    end.

%% @doc Deletes files. The result lists the files of each directory in reverse
%% order.
-spec delete(which(), current()) ->
          {ok, no_log | [file_info()] | [{trace_log | ti_log, [file_info()]}]}
        | {error, badarg}.
delete(current, none) ->
    {ok, no_log};
delete({names, Names}, _Current) ->
    {ok, delete_in("", Names)};
delete(Which, Current) ->
    case list(Which, Current) of
        {ok, Logs} when is_list(Logs) ->
            {ok, [{Kind, delete_in(Dir, Files)} || {Kind, Dir, Files} <- Logs]};
        Other ->
            Other
    end.

delete_in(Dir, Files) ->
    lists:reverse([delete_file(Dir, F) || F <- Files]).

delete_file(Dir, Name) ->
    case is_name(Name) andalso file:delete(filename:join([D || D <- [Dir],
                                                               D =/= ""]
                                                         ++ [Name])) of
        ok -> {ok, Name};
        {error, Reason} -> {error, {Reason, Name}};
        false -> {error, {badarg, Name}}
    end.
