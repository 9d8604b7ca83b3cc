%% SPDX-License-Identifier: Apache-2.0
%% @doc The private directory on a traced node: NIFs and spooler, where they
%% were brought, and the logs of sessions, each in a room of its own.
%%
%% ```
%%  PARENT/inviso-<32 hex digits>/       0700   the place
%%         node                          0600   the record: whose place it is
%%         inviso_tracer.so              0600
%%         inviso_spool                  0700
%%         inviso_engine.so              0600   where the VM has no sessions
%%         room-<number>/                0700   of one recording
%%               NAME.log                0600
%%         live-<number>/                0700   of one `inviso trace'
%%               NAME.log                0600
%% '''
%%
%% When the VM dies nobody is left to remove the place. The record tells others
%% that, and the spooler of the next place sweeps those of the dead: it keeps
%% recordings (c_src/spool/place.h).
%%
%% Directories are new and their names cannot be guessed; files are created
%% exclusively and have their mode before a byte is written. What goes wrong is
%% told in words, with the way out: another directory.
-module(inviso_place).

-include_lib("kernel/include/file.hrl").

-export([new/1, dir/1, absent/1, put/3, ready/1, installed/1, remove/1]).
-export([new_room/3, rooms_files/1, remove_room/1]).

-export_type([place/0]).

-opaque place() :: #{dir := file:filename(), left := [file:filename()],
                     ready := boolean()}.

-define(SPOOL_MS, 5000).
-define(RECORD, "node").
%% The kernel refuses a read of megabytes from files there.
-define(PROC_BYTES, 4096).
%% What the spooler says before it sweeps.
-define(STARTED, <<"ready\n">>).

%% @doc Makes the directory, in the first of `Dirs' where one can be made;
%% `[]' stands for TMPDIR of the node, /tmp and /var/tmp.
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
    case execute(filename:join(Dir, "inviso_spool"), Dir) of
        ok ->
            case inviso_tracer:load(Dir) of
                ok -> hold(Dir);
                {error, {load, Text}} -> {error, Text}
            end;
        {error, _} = E ->
            E
    end.

%% @doc The same where the code is installed, and nothing was brought.
-spec installed(place()) -> place().
installed(#{ready := true} = Place) ->
    Place;
installed(#{dir := Dir} = Place) ->
    _ = execute(filename:join(inviso_tracer:dir(), "inviso_spool"), Dir),
    ok = hold(Dir),
    Place#{ready := true}.

%% It stays locked until the VM ends. Where that cannot be, others leave the
%% place alone when in doubt.
hold(Dir) ->
    _ = inviso_tracer:nif_hold(unicode:characters_to_binary(
                                 filename:join(Dir, ?RECORD), unicode,
                                 file:native_name_encoding())),
    ok.

%% The spooler says that it has started, then sweeps the directories where
%% places are made, for which nobody waits.
%%
%% By a process of its own: where no program can be started for a while,
%% open_port/2 does not return.
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

%% Not file:read_file/1, for which a server would have to find time.
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
    %% Without the library there is no lock.
    _ = catch inviso_tracer:nif_hold(<<>>),
    Result.

%% --- rooms ------------------------------------------------------------------

%% @doc A new directory in the place, for one session. The log of a recording
%% is kept when the node dies, that of `inviso trace' is not.
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

%% The VM loads the library by its path: no other user may be able to rename
%% what is in the parent. Root can do so anywhere.
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

%% An access list for other users shows as the group's rights.
others_rename(#file_info{mode = Mode}) when Mode band 8#1000 =/= 0 -> false;
others_rename(#file_info{mode = Mode}) when Mode band 8#0002 =/= 0 -> all;
others_rename(#file_info{mode = Mode}) when Mode band 8#0020 =/= 0 -> group;
others_rename(_) -> false.

%% The sticky bit does not bind the owner of the directory.
owners_rename(#file_info{uid = 0}) -> false;
owners_rename(#file_info{uid = Uid}) -> Uid =/= own_uid() andalso {owner, Uid}.

%% The effective one.
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

%% Written first: a place without a record belongs to no node.
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

%% The time is last: then the record is complete.
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

%% Field 22 of /proc/self/stat; the second, in parentheses, may have anything
%% in it.
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

%% Not crypto, which a slim node may lack, and whose loading would stay.
random_name() ->
    {ok, Fd} = file:open("/dev/urandom", [read, raw, binary]),
    {ok, Bytes} = file:read(Fd, 16),
    ok = file:close(Fd),
    lists:flatten([io_lib:format("~2.16.0b", [B])
                   || B <- binary_to_list(Bytes)]).

%% One level of directories, the rooms. The record goes last: if the VM dies
%% meanwhile, it tells whose the rest is.
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

words(not_private) -> "somebody else wrote into it";
words(all) -> "every user can rename what is in it, for it is writable by all "
              "and has no sticky bit (chmod +t)";
words(group) -> "its group can rename what is in it, for the group can write "
                "to it and it has no sticky bit (chmod g-w)";
words({owner, Uid}) ->
    io_lib:format("user ~b can rename what is in it, for it belongs to that "
                  "user and not to root or the user of the node", [Uid]);
words(Posix) -> file:format_error(Posix).

text(Format, Args) ->
    utf8(io_lib:format(Format, Args)).

utf8(Text) ->
    unicode:characters_to_binary(Text).
