%% SPDX-License-Identifier: Apache-2.0
%% @doc Bringing our code to a node, and taking it away again.
%%
%% A node that is to be traced needs nothing of ours. From the node of the
%% control component:
%%
%% ```
%%  control node                      traced node
%%  ------------                      -----------
%%  bring/3 -- load inviso_push ----> (loaded)
%%          -- start_guard/4 -------> guard ---- loads the other modules
%%                                      |------- makes a private directory
%%                                      |------- NIF and spooler into it
%%                                      | monitors the bringer, and from
%%                                      v adopt/2 on the runtime component
%% '''
%%
%% The guard is a plain process that outlives whoever it watches, however that
%% one dies, and then undoes everything: patterns that are still set, modules
%% (deleted and purged, so that the NIF is unloaded), files, directory, and at
%% last its own module. Where our code was there already it does only the
%% first. Nothing is left when the guard is gone.
%%
%% The directory is new, mode 0700, and its name cannot be guessed; files in it
%% are created exclusively and are 0600 or 0700 before a byte is written.
-module(inviso_push).

-export([bring/3, report/1, await/3, modules/0, priv_dir/0]).
%% Called on the traced node.
-export([start_guard/4, adopt/2, note/2, guard_init/5]).

-export_type([guard/0]).

-type guard() :: pid().
-type module_binary() :: {module(), binary()}.
-type private_file() :: {file:filename(), 8#600 | 8#700, binary()}.

%% What code:which/1 says of a module that was brought.
-define(MARK, "inviso_pushed").
-define(TIMEOUT, 30000).

%% @doc The modules a traced node needs; this one comes first.
-spec modules() -> [module()].
modules() ->
    [inviso_push, inviso_otp, inviso_tracerdata, inviso_opts, inviso_keeper,
     inviso_tracer, inviso_fetch, inviso_rt_meta, inviso_rt, inviso_near,
     inviso_spec, inviso_spec_elixir, inviso_spec_head, inviso_spec_procs,
     inviso_arm, inviso_arm_foreign, inviso_arm_functions, inviso_arm_procs,
     inviso_expect].

%% @doc Sees to it that a node has our code, and starts a guard there which
%% takes away what was brought when `Owner' dies, unless a runtime component
%% adopts it.
%%
%% `Opts': `{dir, Directory}', where on the node to make the private directory
%% (default: TMPDIR of the node, then /tmp, then /var/tmp).
-spec bring(node(), pid(), [term()]) ->
          {ok, guard(), installed | pushed} | {error, term()}.
bring(Node, Owner, _Opts) when Node =:= node() ->
    {ok, Guard} = start_guard(Owner, [], [], []),
    {ok, Guard, installed};
bring(Node, Owner, Opts) ->
    try
        case remote_code(Node) of
            installed ->
                {ok, Guard} = call(Node, start_guard, [Owner, [], [], []]),
                {ok, Guard, installed};
            absent ->
                push(Node, Owner, Opts);
            {error, _} = E ->
                E
        end
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}};
        error:{exception, Reason, _} -> {error, {badrpc, Reason}};
        exit:{exception, Reason} -> {error, {badrpc, Reason}}
    end.

call(Node, F, Args) ->
    erpc:call(Node, ?MODULE, F, Args, ?TIMEOUT).

%% Code of ours is used where it is exactly ours; other code under our names is
%% not touched, since somebody may be running it.
remote_code(Node) ->
    ok = wait_for_guard(Node, 50),
    case erpc:call(Node, code, is_loaded, [inviso_rt], ?TIMEOUT) of
        {file, ?MARK} ->
            {error, {busy, pushed_code_still_there}};
        {file, File} ->
            Theirs = erpc:call(Node, inviso_rt, module_info, [md5], ?TIMEOUT),
            case inviso_rt:module_info(md5) of
                Theirs -> installed;
                _ -> {error, {other_version, File}}
            end;
        false ->
            code_on_path(Node)
    end.

%% A guard may be at work at this moment; its own module goes last. What stays
%% for longer is of a bringer that died before it had started one.
wait_for_guard(_Node, 0) ->
    ok;
wait_for_guard(Node, Left) ->
    case erpc:call(Node, code, is_loaded, [?MODULE], ?TIMEOUT) of
        {file, ?MARK} -> timer:sleep(100), wait_for_guard(Node, Left - 1);
        _ -> ok
    end.

code_on_path(Node) ->
    Beam = "inviso_rt.beam",
    case erpc:call(Node, code, where_is_file, [Beam], ?TIMEOUT) of
        non_existing ->
            absent;
        Path ->
            Ours = inviso_rt:module_info(md5),
            case erpc:call(Node, beam_lib, md5, [Path], ?TIMEOUT) of
                {ok, {inviso_rt, Ours}} -> installed;
                _ -> absent
            end
    end.

push(Node, Owner, Opts) ->
    case payload() of
        {ok, [{?MODULE, Self} | Others], Files} ->
            Load = [?MODULE, ?MARK, Self],
            {module, ?MODULE} =
                erpc:call(Node, code, load_binary, Load, ?TIMEOUT),
            Dirs = [Dir || {dir, Dir} <- Opts],
            case call(Node, start_guard, [Owner, Others, Files, Dirs]) of
                {ok, Guard} -> {ok, Guard, pushed};
                {error, _} = E -> E
            end;
        {error, _} = E ->
            E
    end.

payload() ->
    Mods = [{M, code:get_object_code(M)} || M <- modules()],
    Priv = priv_dir(),
    Files = [{Name, Mode, file:read_file(filename:join(Priv, Name))}
             || {Name, Mode} <- [{"inviso_tracer.so", 8#600},
                                 {"inviso_spool", 8#700}]],
    NoCode = [M || {M, error} <- Mods],
    NoFile = [{filename:join(Priv, N), R} || {N, _, {error, R}} <- Files],
    case {NoCode, NoFile} of
        {[], []} ->
            {ok, [{M, Bin} || {M, {M, Bin, _}} <- Mods],
             [{N, Mode, Bin} || {N, Mode, {ok, Bin}} <- Files]};
        _ ->
            {error, {incomplete_installation, NoCode ++ NoFile}}
    end.

%% @doc Where NIF, spooler and command are. Our own tree has ebin/ and priv/
%% beside each other, whatever its name is.
-spec priv_dir() -> file:filename().
priv_dir() ->
    case code:priv_dir(inviso) of
        {error, bad_name} ->
            {_, _, Beam} = code:get_object_code(?MODULE),
            Ebin = filename:dirname(filename:absname(Beam)),
            filename:join(filename:dirname(Ebin), "priv");
        Dir ->
            Dir
    end.

%% --- on the traced node -----------------------------------------------------

%% @private Starts a guard, which loads `Modules' and writes `Files', and
%% returns when that is done.
-spec start_guard(pid(), [module_binary()], [private_file()],
                  [file:filename()]) -> {ok, guard()} | {error, term()}.
start_guard(Owner, Modules, Files, Dirs) ->
    Ref = make_ref(),
    Args = [{self(), Ref}, Owner, Modules, Files, Dirs],
    {Guard, Monitor} = spawn_monitor(?MODULE, guard_init, Args),
    receive
        {Ref, ready} ->
            erlang:demonitor(Monitor, [flush]),
            {ok, Guard};
        {Ref, {error, _} = E} ->
            erlang:demonitor(Monitor, [flush]),
            E;
        {'DOWN', Monitor, process, Guard, Reason} ->
            {error, Reason}
    end.

%% @private The runtime component takes a guard over: it is watched from now
%% on instead of who started the guard. The table is for {@link note/2}.
-spec adopt(guard(), pid()) -> {ok, ets:tid()} | {error, term()}.
adopt(Guard, Pid) ->
    Ref = monitor(process, Guard),
    Guard ! {adopt, Ref, self(), Pid},
    receive
        {Ref, Table} ->
            erlang:demonitor(Ref, [flush]),
            {ok, Table};
        {'DOWN', Ref, process, Guard, Reason} ->
            {error, Reason}
    end.

%% @doc Waits until a guard has undone everything and is gone. Its runtime
%% component must be on its way out.
-spec await(guard(), reference(), timeout()) -> ok | {error, term()}.
await(Guard, Report, Timeout) ->
    Monitor = monitor(process, Guard),
    receive
        {'DOWN', Monitor, process, Guard, _} ->
            receive {Report, Result} -> Result after 0 -> ok end
    after Timeout ->
            erlang:demonitor(Monitor, [flush]),
            {error, {not_removed, Guard}}
    end.

%% @doc Asks a guard for a word, to the caller, on how its work at the end went.
-spec report(guard()) -> reference().
report(Guard) ->
    Ref = make_ref(),
    Guard ! {report, Ref, self()},
    Ref.

%% @private What of ours is set in the VM at this moment, should we be killed.
-spec note(ets:tid(), inviso_otp:residue()) -> ok.
note(Table, Residue) ->
    true = ets:insert(Table, {residue, Residue}),
    ok.

%% @private
-spec guard_init({pid(), reference()}, pid(), [module_binary()],
                 [private_file()], [file:filename()]) -> boolean().
guard_init({Starter, Ref}, Owner, Modules, Files, Dirs) ->
    %% No business of the group leader of whoever started us.
    group_leader(whereis(init), self()),
    Monitor = monitor(process, Owner),
    Table = ets:new(inviso_guard, [public]),
    Names = [M || {M, _} <- Modules],
    case unpack(Modules, Files, Dirs) of
        {ok, Dir} ->
            Starter ! {Ref, ready},
            guard(Monitor, Table, Names, Dir, []);
        {error, _} = E ->
            %% The starter runs this module: purging it would kill the starter.
            Gone = monitor(process, Starter),
            Starter ! {Ref, E},
            receive {'DOWN', Gone, process, _, _} -> leave(Names) end
    end.

guard(Monitor, Table, Names, Dir, Report) ->
    receive
        {adopt, Ref, From, Pid} ->
            erlang:demonitor(Monitor, [flush]),
            New = monitor(process, Pid),
            From ! {Ref, Table},
            guard(New, Table, Names, Dir, Report);
        {report, Ref, Pid} ->
            guard(Monitor, Table, Names, Dir, [{Pid, Ref} | Report]);
        {'DOWN', Monitor, process, _, _} ->
            Result = undo(Table, Dir),
            _ = [Pid ! {Ref, Result} || {Pid, Ref} <- Report],
            leave(Names);
        _ ->
            guard(Monitor, Table, Names, Dir, Report)
    end.

undo(Table, Dir) ->
    _ = [inviso_otp:forget(Residue)
         || {residue, Residue} <- ets:lookup(Table, residue)],
    remove_dir(Dir).

%% Our own module goes last. code:purge/1 is a tail call, after which this
%% process runs none of our code: it is not killed by the purge.
leave([]) ->
    true;
leave(Names) ->
    lists:foreach(fun unload/1, lists:reverse(Names)),
    _ = code:purge(?MODULE),
    _ = code:delete(?MODULE),
    code:purge(?MODULE).

unload(M) ->
    _ = code:purge(M),
    _ = code:delete(M),
    code:purge(M).

unpack([], [], _) ->
    {ok, none};
unpack(Modules, Files, Dirs) ->
    case load_all(Modules) of
        ok -> place(Files, dirs(Dirs), no_directory);
        {error, _} = E -> E
    end.

load_all([]) ->
    ok;
load_all([{M, Bin} | Rest]) ->
    case code:load_binary(M, ?MARK, Bin) of
        {module, M} -> load_all(Rest);
        {error, Reason} -> {error, {load, M, Reason}}
    end.

dirs([_ | _] = Dirs) ->
    Dirs;
dirs([]) ->
    [D || D <- [os:getenv("TMPDIR"), "/tmp", "/var/tmp"], is_list(D), D =/= ""].

%% A directory may be full, not ours to write, or mounted noexec: the next one.
place(_Files, [], Reason) ->
    {error, Reason};
place(Files, [Parent | Rest], _) ->
    case make_private_dir(Parent) of
        {ok, Dir} ->
            case write_all(Dir, Files) of
                ok ->
                    {ok, Dir};
                {error, Reason} ->
                    _ = remove_dir(Dir),
                    place(Files, Rest, Reason)
            end;
        {error, Reason} ->
            place(Files, Rest, {Parent, Reason})
    end.

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

write_all(Dir, Files) ->
    case [E || {Name, Mode, Bin} <- Files,
               E <- [write_private(filename:join(Dir, Name), Mode, Bin)],
               E =/= ok] of
        [] -> inviso_tracer:load(Dir);
        [Error | _] -> Error
    end.

write_private(Name, Mode, Bin) ->
    case file:open(Name, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            Results = [file:change_mode(Name, Mode), file:write(Fd, Bin),
                       file:close(Fd)],
            case [E || {error, _} = E <- Results] of
                [] -> ok;
                [{error, Reason} | _] -> {error, {Name, Reason}}
            end;
        {error, Reason} ->
            {error, {Name, Reason}}
    end.

remove_dir(none) ->
    ok;
remove_dir(Dir) ->
    Files = case file:list_dir_all(Dir) of
                {ok, Fs} -> Fs;
                {error, _} -> []
            end,
    _ = [file:delete(filename:join(Dir, F)) || F <- Files],
    case file:del_dir(Dir) of
        ok -> ok;
        {error, enoent} -> ok;
        {error, Reason} -> {error, {Dir, Reason}}
    end.
