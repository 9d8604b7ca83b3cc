%% SPDX-License-Identifier: Apache-2.0
%% @doc The place: inviso's private directory on a traced node. It contains NIFs
%% and spooler, if a client has sent them, and the logs of sessions. Each session
%% has a room, which is a directory in the place.
%%
%% ```
%%  PARENT/inviso-<32 hex digits>/       0700   the place
%%         node                          0600   the record: the VM of the place
%%         inviso_tracer.so              0600
%%         inviso_spool                  0700
%%         room-<number>/                0700   for one recording
%%               NAME.log                0600
%%         live-<number>/                0700   for one `inviso trace'
%%               NAME.log                0600
%% '''
%%
%% When the VM dies, no process of the VM can remove the place. So when another VM
%% makes a place, the spooler of that VM sweeps: it removes each place whose record
%% shows that the place's VM is dead. It keeps only the logs of recordings
%% (c_src/spool/place.h).
%%
%% All directories are newly made, and their names cannot be guessed. A file is
%% created only if it does not exist, and gets its mode before the first byte is
%% written. The text of an error says the cause, and that the user can name another
%% directory.
-module(inviso_place).

-include_lib("kernel/include/file.hrl").

-export([new/1, dir/1, absent/1, put/3, ready/1, installed/1, remove/1]).
-export([new_room/3, rooms_files/1, remove_room/1]).

-export_type([place/0]).

-opaque place() :: #{dir := file:filename(), left := [file:filename()],
                     ready := boolean()}.

-define(SPOOL_MS, 5000).
-define(RECORD, "node").
%% At most this many bytes are read from a file in /proc. For some of these
%% files the kernel refuses to read megabytes at once.
-define(PROC_BYTES, 4096).
%% The line that the spooler prints before it sweeps.
-define(STARTED, <<"ready\n">>).

%% @doc Makes the place in the first directory of `Dirs' in which this is
%% possible. `[]' means TMPDIR of the node, /tmp and /var/tmp.
-spec new([file:filename()]) -> {ok, place()} | {error, binary()}.
new([]) ->
    new_in(usual_dirs(), []);
new(Dirs) ->
    new_in(Dirs, []).

usual_dirs() ->
    [D || D <- [os:getenv("TMPDIR"), "/tmp", "/var/tmp"],
          is_list(D), D =/= ""].

new_in([], Whys) ->
    {error, text("no private directory can be made on this node: ~ts; name "
                 "another one with --remote-dir",
                 [lists:join("; ", lists:reverse(Whys))])};
new_in([Parent | Rest], Whys) ->
    case recorded(make_private_dir(Parent)) of
        {ok, Dir} ->
            {ok, #{dir => Dir, left => Rest, ready => false}};
        {error, Why} ->
            new_in(Rest, [io_lib:format("~ts: ~ts", [Parent, words(Why)])
                          | Whys])
    end.

%% @doc Returns the path of the place.
-spec dir(place()) -> file:filename().
dir(#{dir := Dir}) ->
    Dir.

%% @doc Returns the files that the client must send because they are not in the
%% place yet.
-spec absent(place()) -> [binary()].
absent(#{dir := Dir}) ->
    [Name || {Name, _Mode} <- files(),
             not filelib:is_regular(filename:join(Dir, Name))].

files() ->
    [{<<"inviso_tracer.so">>, 8#600}, {<<"inviso_spool">>, 8#700}].

%% @doc Writes a file from the client into the place, unless the place contains the
%% file already.
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

%% @doc Loads the NIF, and checks that the spooler can be executed. If the directory
%% forbids this, for example because it is mounted noexec, tries the next directory.
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

%% Tries the spooler before the NIF, because the spooler's error text shows more
%% clearly what is wrong with the directory.
usable(Dir) ->
    case execute(filename:join(Dir, "inviso_spool"), Dir) of
        ok ->
            case inviso_tracer:load(Dir) of
                ok -> hold(Dir);
                {error, {load, Text}} -> {error, Text}
            end;
        {error, _} = E ->
            E
    end.

%% @doc Does the same as ready/1 on a node where inviso is installed, with the
%% installed files.
-spec installed(place()) -> place().
installed(#{ready := true} = Place) ->
    Place;
installed(#{dir := Dir} = Place) ->
    _ = execute(filename:join(inviso_tracer:dir(), "inviso_spool"), Dir),
    ok = hold(Dir),
    Place#{ready := true}.

%% Locks the record until the VM ends. A spooler that sweeps takes a lock as a sign
%% that the VM is alive. If the record cannot be locked, a sweep removes the place only
%% if other facts prove that the VM is dead.
hold(Dir) ->
    _ = inviso_tracer:nif_hold(unicode:characters_to_binary(
                                 filename:join(Dir, ?RECORD), unicode,
                                 file:native_name_encoding())),
    ok.

%% Starts the spooler. The spooler reports that it has started, then sweeps the
%% directories in which places are made. The caller does not wait until the sweep is
%% done.
%%
%% A separate process starts the spooler, because open_port/2 does not return while
%% the system cannot start a program.
execute(Path, Dir) ->
    Parents = lists:usort([filename:absname(D)
                           || D <- [filename:dirname(Dir) | usual_dirs()]]),
    Args = ["--sweep=" ++ P || P <- Parents],
    {Pid, Ref} = spawn_monitor(fun() -> exit({result, executed(Path, Args)})
                               end),
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

executed(Path, Args) ->
    try open_port({spawn_executable, Path},
                  [{args, Args}, exit_status, stderr_to_stdout, binary,
                   {cd, "/"}])
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
        {Port, {data, ?STARTED}} ->
            ok;
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

%% Reads a file, in raw mode: file:read_file/1 would wait for the file server.
read(Path) ->
    read(Path, 1 bsl 26).

read(Path, Max) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, Fd} ->
            Result = file:read(Fd, Max),
            _ = file:close(Fd),
            Result;
        {error, _} = E ->
            E
    end.

%% @doc Removes the place with all that is in it.
-spec remove(place() | none) -> ok | {error, term()}.
remove(none) ->
    ok;
remove(#{dir := Dir}) ->
    Result = remove_dir(Dir),
    %% Releases the lock on the record. The call fails if the NIF library is not
    %% loaded, but in this case there is no lock.
    _ = catch inviso_tracer:nif_hold(<<>>),
    Result.

%% --- rooms ------------------------------------------------------------------

%% @doc Makes a directory in the place for one session. When the node dies, the log
%% of a recording is kept, and the log of `inviso trace' is removed.
-spec new_room(place(), integer(), recording | live) ->
          {ok, file:filename()} | {error, binary()}.
new_room(#{dir := Dir}, Number, Kind) ->
    Prefix = case Kind of
                 recording -> "room-";
                 live -> "live-"
             end,
    Room = filename:join(Dir, Prefix ++ integer_to_list(Number)),
    case file:make_dir(Room) of
        ok ->
            ok = file:change_mode(Room, 8#700),
            {ok, Room};
        {error, Why} ->
            {error, text("~ts cannot be made: ~ts; name another directory "
                         "with --remote-dir", [Room, words(Why)])}
    end.

%% @doc Returns the names and sizes of the files in a room.
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

%% Makes a place in `Parent'. The VM loads the NIF library by its path. A user who
%% can rename directories in `Parent' could make the VM load another library. So
%% `Parent' is refused if users other than root and the VM's user can rename its
%% directories.
make_private_dir(Parent) ->
    case file:read_file_info(Parent, [raw]) of
        {ok, Info} ->
            case {others_rename(Info), owners_rename(Info)} of
                {false, false} -> make_dir_in(Parent);
                {false, Why} -> {error, Why};
                {Why, _} -> {error, Why}
            end;
        {error, _} = E ->
            E
    end.

%% Returns which other users can rename files in the directory: `all', `group' or
%% none (false). The group's rights in the mode also include rights that an access
%% list gives to other users.
others_rename(#file_info{mode = Mode}) when Mode band 8#1000 =/= 0 -> false;
others_rename(#file_info{mode = Mode}) when Mode band 8#0002 =/= 0 -> all;
others_rename(#file_info{mode = Mode}) when Mode band 8#0020 =/= 0 -> group;
others_rename(_) -> false.

%% Returns `{owner, Uid}' if the owner of the directory is neither root nor the user
%% of this VM. The sticky bit does not restrict the owner.
owners_rename(#file_info{uid = 0}) -> false;
owners_rename(#file_info{uid = Uid}) -> Uid =/= own_uid() andalso {owner, Uid}.

own_uid() ->
    case read("/proc/self/status", ?PROC_BYTES) of
        {ok, Status} ->
            [_, Uids] = binary:split(Status, <<"\nUid:">>),
            [_, Effective | _] = string:lexemes(Uids, "\t "),
            binary_to_integer(Effective);
        _ ->
            unknown
    end.

make_dir_in(Parent) ->
    Dir = filename:join(filename:absname(Parent), "inviso-" ++ random_name()),
    case file:make_dir(Dir) of
        ok ->
            %% Between make_dir and change_mode the directory has the rights of the
            %% umask. If another user has made a file in the directory meanwhile, the
            %% directory is not empty, and it is not used.
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

%% Writes the record before any other file, because a place without a record belongs
%% to no node.
recorded({ok, Dir}) ->
    case write_private(filename:join(Dir, ?RECORD), 8#600, record()) of
        ok ->
            {ok, Dir};
        {error, _} = E ->
            _ = remove_dir(Dir),
            E
    end;
recorded({error, _} = E) ->
    E.

%% Returns the contents of the record. The time is the last line, so a record with a
%% time is complete.
record() ->
    iolist_to_binary(
      ["inviso-place 1\n",
       [[Key, $\s, Value, $\n]
        || {Key, Value} <- [{"node", utf8([C || C <- atom_to_list(node()),
                                                C >= $\s])},
                            {"pid", os:getpid()},
                            {"start", start_time()},
                            {"boot", boot_id()},
                            {"pidns", pid_namespace()},
                            {"time", integer_to_list(
                                       os:system_time(second))}]]]).

%% Returns field 22 of /proc/self/stat. The second field, in parentheses, may
%% contain any character.
start_time() ->
    case read("/proc/self/stat", ?PROC_BYTES) of
        {ok, Stat} ->
            After = lists:last(string:lexemes(binary_to_list(Stat), ")")),
            lists:nth(20, string:lexemes(After, " "));
        _ ->
            "0"
    end.

boot_id() ->
    case read("/proc/sys/kernel/random/boot_id", ?PROC_BYTES) of
        {ok, Id} -> string:trim(Id);
        _ -> ""
    end.

pid_namespace() ->
    case file:read_file_info("/proc/self/ns/pid", [raw]) of
        {ok, #file_info{inode = Inode}} -> integer_to_list(Inode);
        {error, _} -> "0"
    end.

%% Returns 32 random hex digits. Does not use the module crypto: some nodes do not
%% have it, and on other nodes it would stay loaded after inviso has left.
random_name() ->
    {ok, Fd} = file:open("/dev/urandom", [read, raw, binary]),
    {ok, Bytes} = file:read(Fd, 16),
    ok = file:close(Fd),
    lists:flatten([io_lib:format("~2.16.0b", [B])
                   || B <- binary_to_list(Bytes)]).

%% Removes a directory and its rooms. The record is deleted last: if the VM dies
%% meanwhile, the record shows which VM the remaining files belong to.
remove_dir(Dir) ->
    Files = case file:list_dir_all(Dir) of
                {ok, Fs} ->
                    {Record, Rest} = lists:partition(
                                       fun(F) -> F =:= ?RECORD end, Fs),
                    [filename:join(Dir, F) || F <- Rest ++ Record];
                {error, _} ->
                    []
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

words(not_private) -> "another user wrote into it";
words(all) -> "every user can rename what is in it, because it is writable by "
              "all and has no sticky bit (chmod +t)";
words(group) -> "its group can rename what is in it, because the group can "
                "write to it and it has no sticky bit (chmod g-w)";
words({owner, Uid}) ->
    io_lib:format("user ~b can rename what is in it, because it belongs to "
                  "that user and not to root or the user of the node", [Uid]);
words(Posix) -> file:format_error(Posix).

text(Format, Args) ->
    utf8(io_lib:format(Format, Args)).

utf8(Text) ->
    unicode:characters_to_binary(Text).
