%% SPDX-License-Identifier: Apache-2.0
%% @doc The private directory on a traced node: NIFs and spooler, where they
%% were brought, and the logs of sessions, each in a room of its own.
%%
%% ```
%%  PARENT/inviso-<32 hex digits>/       0700   the place
%%         inviso_tracer.so              0600
%%         inviso_spool                  0700
%%         inviso_engine.so              0600   where the VM has no sessions
%%         room-<number>/                0700   of one session
%%               NAME.log                0600
%% '''
%%
%% Directories are new and their names cannot be guessed; files are created
%% exclusively and have their mode before a byte is written. What goes wrong is
%% told in words, with the way out: another directory.
-module(inviso_place).

-export([new/1, dir/1, absent/1, put/3, ready/1, remove/1]).
-export([new_room/2, rooms_files/1, remove_room/1]).

-export_type([place/0]).

-opaque place() :: #{dir := file:filename(), left := [file:filename()],
                     ready := boolean()}.

-define(SPOOL_MS, 5000).

%% @doc Makes the directory, in the first of `Dirs' where one can be made;
%% `[]' stands for TMPDIR of the node, /tmp and /var/tmp.
-spec new([file:filename()]) -> {ok, place()} | {error, binary()}.
new([]) ->
    new_in([D || D <- [os:getenv("TMPDIR"), "/tmp", "/var/tmp"],
                 is_list(D), D =/= ""], []);
new(Dirs) ->
    new_in(Dirs, []).

new_in([], Whys) ->
    {error, text("no private directory can be made on this node: ~ts; name "
                 "another one with --remote-dir",
                 [lists:join("; ", lists:reverse(Whys))])};
new_in([Parent | Rest], Whys) ->
    case make_private_dir(Parent) of
        {ok, Dir} ->
            {ok, #{dir => Dir, left => Rest, ready => false}};
        {error, Why} ->
            new_in(Rest, [io_lib:format("~ts: ~ts", [Parent, words(Why)])
                          | Whys])
    end.

%% @doc Its path.
-spec dir(place()) -> file:filename().
dir(#{dir := Dir}) ->
    Dir.

%% @doc The files that are to be brought and are not there yet.
-spec absent(place()) -> [binary()].
absent(#{dir := Dir}) ->
    [Name || {Name, _Mode} <- files(),
             not filelib:is_regular(filename:join(Dir, Name))].

files() ->
    [{<<"inviso_tracer.so">>, 8#600}, {<<"inviso_spool">>, 8#700}]
        ++ [{<<"inviso_engine.so">>, 8#600} || not inviso_otp:has_sessions()].

%% @doc Writes one of the files; one that is there already is left as it is.
-spec put(place(), binary(), binary()) -> ok | {error, usage | failed, binary()}.
put(#{dir := Dir} = Place, Name, Bytes) ->
    case {lists:keyfind(Name, 1, files()), lists:member(Name, absent(Place))} of
        {false, _} ->
            {error, usage, text("there is no file ~0tp to be brought", [Name])};
        {_, false} ->
            ok;
        {{Name, Mode}, true} ->
            write(filename:join(Dir, Name), Mode, Bytes)
    end.

write(Path, Mode, Bytes) ->
    case write_private(Path, Mode, Bytes) of
        ok ->
            ok;
        {error, Why} ->
            _ = file:delete(Path, [raw]),
            {error, failed, text("~ts cannot be written: ~ts; name another "
                                 "directory with --remote-dir",
                                 [Path, words(Why)])}
    end.

write_private(Path, Mode, Bytes) ->
    case file:open(Path, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            Results = [file:change_mode(Path, Mode), file:write(Fd, Bytes),
                       file:close(Fd)],
            case [E || {error, _} = E <- Results] of
                [] -> ok;
                [E | _] -> E
            end;
        {error, _} = E ->
            E
    end.

%% @doc Loads the NIF, and sees whether the spooler can be executed. A
%% directory where nothing can be executed is given up for the next one.
-spec ready(place()) -> {ok, place()} | {error, binary()}.
ready(#{ready := true} = Place) ->
    {ok, Place};
ready(#{dir := Dir} = Place) ->
    case absent(Place) of
        [] ->
            case usable(Dir) of
                ok -> {ok, Place#{ready := true}};
                {error, Why} -> elsewhere(Place, Why)
            end;
        [Name | _] ->
            {error, text("~ts has not been sent", [Name])}
    end.

%% The spooler first: what it says of a directory is plainer.
usable(Dir) ->
    case execute(filename:join(Dir, "inviso_spool")) of
        ok ->
            case inviso_tracer:load(Dir) of
                ok -> ok;
                {error, {load, Text}} -> {error, Text}
            end;
        {error, _} = E ->
            E
    end.

%% By a process of its own: where no program can be started for a while,
%% open_port/2 does not return.
execute(Path) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({result, executed(Path)}) end),
    receive
        {'DOWN', Ref, process, Pid, {result, Result}} ->
            Result;
        {'DOWN', Ref, process, Pid, Why} ->
            {error, io_lib:format("inviso_spool does not start: ~0tp", [Why])}
    after ?SPOOL_MS ->
            demonitor(Ref, [flush]),
            exit(Pid, kill),
            {error, "inviso_spool does not start, or does not end"}
    end.

executed(Path) ->
    try open_port({spawn_executable, Path},
                  [{args, ["--help"]}, exit_status, stderr_to_stdout, {cd, "/"}])
    of
        Port -> exit_status(Port)
    catch
        error:eacces ->
            {error, "nothing can be executed there (is it mounted noexec?)"};
        error:Why ->
            {error, io_lib:format("inviso_spool does not start: ~ts",
                                  [words(Why)])}
    end.

exit_status(Port) ->
    receive
        {Port, {data, _}} ->
            exit_status(Port);
        {Port, {exit_status, 0}} ->
            ok;
        {Port, {exit_status, N}} ->
            {error, io_lib:format("inviso_spool ends with status ~b", [N])}
    end.

elsewhere(#{dir := Dir, left := Left}, Why) ->
    Here = io_lib:format("~ts: ~ts", [filename:dirname(Dir), Why]),
    Files = [{Name, Mode, read(filename:join(Dir, Name))}
             || {Name, Mode} <- files()],
    case new_in(Left, [Here]) of
        {ok, #{dir := New} = Place} ->
            case [E || {Name, Mode, {ok, Bytes}} <- Files,
                       {error, _} = E <- [write_private(
                                            filename:join(New, Name), Mode,
                                            Bytes)]] of
                [] ->
                    _ = remove_dir(Dir),
                    ready(Place);
                _ ->
                    _ = remove_dir(New),
                    {error, no_place(Here)}
            end;
        {error, _} ->
            {error, no_place(Here)}
    end.

no_place(Here) ->
    text("the tracer cannot be used in ~ts; name another directory with "
         "--remote-dir", [Here]).

%% Not file:read_file/1, for which a server would have to find time.
read(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, Fd} ->
            Result = file:read(Fd, 1 bsl 26),
            _ = file:close(Fd),
            Result;
        {error, _} = E ->
            E
    end.

%% @doc Removes the place with all that is in it.
-spec remove(place() | none) -> ok | {error, term()}.
remove(none) -> ok;
remove(#{dir := Dir}) -> remove_dir(Dir).

%% --- rooms ------------------------------------------------------------------

%% @doc A new directory in the place, for one session.
-spec new_room(place(), integer()) ->
          {ok, file:filename()} | {error, binary()}.
new_room(#{dir := Dir}, Number) ->
    Room = filename:join(Dir, "room-" ++ integer_to_list(Number)),
    case file:make_dir(Room) of
        ok ->
            ok = file:change_mode(Room, 8#700),
            {ok, Room};
        {error, Why} ->
            {error, text("~ts cannot be made: ~ts; name another directory "
                         "with --remote-dir", [Room, words(Why)])}
    end.

%% @doc What is in a room: names and sizes.
-spec rooms_files(file:filename()) -> [{binary(), non_neg_integer()}].
rooms_files(Room) ->
    case file:list_dir(Room) of
        {ok, Names} ->
            [{unicode:characters_to_binary(N), Size}
             || N <- lists:sort(Names),
                Size <- [filelib:file_size(filename:join(Room, N))]];
        {error, _} ->
            []
    end.

%% @doc Removes a room and its files.
-spec remove_room(file:filename()) -> ok | {error, term()}.
remove_room(Room) ->
    remove_dir(Room).

%% --- directories ------------------------------------------------------------

make_private_dir(Parent) ->
    Dir = filename:join(filename:absname(Parent), "inviso-" ++ random_name()),
    case file:make_dir(Dir) of
        ok ->
            %% Between the two calls the directory has the rights of the umask;
            %% what somebody put in would be found here.
            case {file:change_mode(Dir, 8#700), file:list_dir_all(Dir)} of
                {ok, {ok, []}} ->
                    {ok, Dir};
                _ ->
                    _ = file:del_dir(Dir),
                    {error, not_private}
            end;
        {error, _} = E ->
            E
    end.

%% Not crypto, which a slim node may lack, and whose loading would stay.
random_name() ->
    {ok, Fd} = file:open("/dev/urandom", [read, raw, binary]),
    {ok, Bytes} = file:read(Fd, 16),
    ok = file:close(Fd),
    lists:flatten([io_lib:format("~2.16.0b", [B])
                   || B <- binary_to_list(Bytes)]).

%% One level of directories, the rooms.
remove_dir(Dir) ->
    Files = case file:list_dir_all(Dir) of
                {ok, Fs} -> [filename:join(Dir, F) || F <- Fs];
                {error, _} -> []
            end,
    _ = [file:delete(F) =:= ok orelse remove_dir_in(F) || F <- Files],
    case file:del_dir(Dir) of
        ok -> ok;
        {error, enoent} -> ok;
        {error, Reason} -> {error, {Dir, Reason}}
    end.

remove_dir_in(Dir) ->
    _ = case file:list_dir_all(Dir) of
            {ok, Fs} -> [file:delete(filename:join(Dir, F)) || F <- Fs];
            {error, _} -> []
        end,
    file:del_dir(Dir).

%% --- words ------------------------------------------------------------------

words(not_private) -> "somebody else wrote into it";
words(Posix) -> file:format_error(Posix).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
