%% SPDX-License-Identifier: Apache-2.0
%% @doc What the suites need to work with nodes of their own.
%%
%% Nodes are peers controlled over standard input and output, so that they can
%% be told what to do whatever becomes of the distribution between them. They
%% are linked to the test case.
-module(inviso_test_lib).

-export([start_node/2, start_node/3, start_stock_node/2, start_alone/1,
         stop_node/1, call/4, spawn_call/4,
         connect/1, ebin/0, priv/0, product/1,
         footprint/1, left_behind/2, wait_until/1, wait_until/2]).

-export_type([test_node/0]).

-type test_node() :: #{peer := pid(), name := node(), dir := file:filename(),
                       tmp := file:filename(), os_pid := string()}.

%% @doc A node that has our code on its path.
-spec start_node(atom() | string(), file:filename()) -> test_node().
start_node(Name, Dir) ->
    start(Name, Dir, ["-pa", ebin()]).

%% @doc A node with these arguments, which have to bring our code.
-spec start_node(atom() | string(), file:filename(), [string()]) -> test_node().
start_node(Name, Dir, Args) ->
    start(Name, Dir, Args).

%% @doc A node of the plain release, with nothing of ours anywhere.
-spec start_stock_node(atom() | string(), file:filename()) -> test_node().
start_stock_node(Name, Dir) ->
    Node = start(Name, Dir, []),
    non_existing = call(Node, code, which, [inviso_rt]),
    Node.

%% @doc A node that is not distributed and has our code on its path.
-spec start_alone(file:filename()) -> test_node().
start_alone(Dir) ->
    start(none, Dir, ["-pa", ebin()]).

start(Name, Dir0, Args) ->
    Unique = lists:concat([Name, "_", os:getpid(), "_",
                           erlang:unique_integer([positive])]),
    Dir = filename:join(Dir0, Unique),
    Tmp = filename:join(Dir, "tmp"),
    ok = filelib:ensure_dir(filename:join(Tmp, "x")),
    Env = [{"TMPDIR", Tmp}
           | [{Var, ""} || Var <- ["ERL_LIBS", "ERL_FLAGS", "ERL_AFLAGS",
                                   "ERL_ZFLAGS"]]],
    Opts = #{connection => standard_io,
             shutdown => close,
             wait_boot => 120000,
             env => Env,
             %% What `global' does when nodes come and go is not our matter.
             args => ["-connect_all", "false" | Args]},
    Named = case Name of
                none -> Opts;
                _ -> Opts#{name => Unique}
            end,
    {Peer, Node} = case peer:start_link(Named) of
                       {ok, P} -> {P, peer:call(P, erlang, node, [], 120000)};
                       {ok, P, N} -> {P, N}
                   end,
    ok = peer:call(Peer, file, set_cwd, [Dir], 120000),
    #{peer => Peer, name => Node, dir => Dir, tmp => Tmp,
      os_pid => peer:call(Peer, os, getpid, [], 120000)}.

%% @doc Stops a node.
-spec stop_node(test_node()) -> ok.
stop_node(#{peer := Peer}) ->
    unlink(Peer),
    catch peer:stop(Peer),
    ok.

%% @doc Calls a function on a node.
-spec call(test_node(), module(), atom(), [term()]) -> term().
call(#{peer := Peer}, M, F, Args) ->
    peer:call(Peer, M, F, Args, 120000).

%% @doc Starts a process on a node.
-spec spawn_call(test_node(), module(), atom(), [term()]) -> pid().
spawn_call(#{peer := Peer}, M, F, Args) ->
    peer:call(Peer, erlang, spawn, [M, F, Args], 120000).

%% @doc Connects nodes with each other.
-spec connect([test_node()]) -> ok.
connect([_]) ->
    ok;
connect([Node | Rest]) ->
    _ = [pong = call(Node, net_adm, ping, [Name]) || #{name := Name} <- Rest],
    connect(Rest).

%% @doc Where our beams are.
-spec ebin() -> file:filename().
ebin() ->
    filename:dirname(filename:absname(code:which(inviso))).

%% @doc Where the command, the spooler and the NIF are.
-spec priv() -> file:filename().
priv() ->
    filename:join(filename:dirname(ebin()), "priv").

%% @doc The path of a product, or a reason to skip the test.
-spec product(string()) -> {ok, file:filename()} | {skip, string()}.
product(Name) ->
    Path = filename:join(priv(), Name),
    case filelib:is_regular(Path) of
        true -> {ok, Path};
        false -> {skip, Path ++ " is not built"}
    end.

%% @doc What of a node could carry traces of us. Modules of the release itself,
%% which it loads when it first needs them, do not count.
-spec footprint(test_node()) -> #{atom() => term()}.
footprint(#{tmp := Tmp, os_pid := OsPid} = Node) ->
    {ok, Files} = file:list_dir_all(Tmp),
    Loaded = call(Node, code, all_loaded, []),
    #{processes => [{P, call(Node, erlang, process_info,
                             [P, [registered_name, initial_call,
                                  current_function]])}
                    || P <- call(Node, erlang, processes, [])],
      registered => lists:sort(call(Node, erlang, registered, [])),
      modules => lists:sort([M || {M, File} <- Loaded, not is_stock(File)]),
      old_code => lists:sort([M || {M, _} <- Loaded, call(
                                   Node, erlang, check_old_code, [M])]),
      ets => lists:sort([table(Node, T) || T <- call(Node, ets, all, [])]),
      new_flags => call(Node, erlang, trace_info, [new_processes, flags]),
      traced => [P || P <- call(Node, erlang, processes, []),
                      {flags, [_ | _]} <- [call(Node, erlang, trace_info,
                                                [P, flags])]],
      functions => [call(Node, erlang, trace_info, [MFA, all])
                    || MFA <- [{code, which, 1}, {code, which, 2},
                               {erlang, register, 2}, {erlang, unregister, 1}]],
      sessions => sessions(Node),
      mapped => mapped(OsPid),
      os_processes => os_processes(Tmp),
      files => lists:sort(Files)}.

%% A table may go while we look.
table(Node, Table) ->
    try
        call(Node, ets, info, [Table, name])
    catch
        error:badarg -> undefined
    end.

is_stock(preloaded) -> true;
is_stock(File) -> is_list(File) andalso lists:prefix(code:root_dir(), File).

sessions(Node) ->
    try
        call(Node, trace, session_info, [all])
    catch
        error:_ -> none
    end.

%% Libraries of ours in the memory of the node.
mapped(OsPid) ->
    case file:read_file("/proc/" ++ OsPid ++ "/maps") of
        {ok, Maps} ->
            [L || L <- binary:split(Maps, <<"\n">>, [global]),
                  binary:match(L, [<<"inviso">>]) =/= nomatch,
                  binary:match(L, [<<"r-x">>, <<"rwx">>]) =/= nomatch];
        {error, _} ->
            unknown
    end.

%% Programs that were started from a directory of ours.
os_processes(Tmp) ->
    [Cmd || Pid <- filelib:wildcard("[0-9]*", "/proc"),
            {ok, Cmd} <- [file:read_file("/proc/" ++ Pid ++ "/cmdline")],
            binary:match(Cmd, list_to_binary(Tmp ++ "/inviso-")) =/= nomatch].

%% @doc What a node has now that it had not then, but for processes that serve
%% the very calls which ask for it.
-spec left_behind(#{atom() => term()}, test_node()) -> [tuple()].
left_behind(Before, Node) ->
    After = footprint(Node),
    Known = [P || {P, _} <- maps:get(processes, Before)],
    New = [{processes, Left}
           || Left <- [[PI || {P, Info} = PI <- maps:get(processes, After),
                              is_list(Info), not lists:member(P, Known),
                              not is_worker(Info)]],
              Left =/= []],
    New ++ [{K, V, maps:get(K, Before)}
            || {K, V} <- maps:to_list(After), K =/= processes,
               V =/= maps:get(K, Before)].

is_worker(Info) ->
    {_, Current} = lists:keyfind(current_function, 1, Info),
    Current =:= {erlang, process_info, 2}.

%% @equiv wait_until(Fun, 90000)
-spec wait_until(fun(() -> boolean())) -> ok.
wait_until(Fun) ->
    wait_until(Fun, 90000).

%% @doc Waits until something has become true.
-spec wait_until(fun(() -> boolean()), non_neg_integer()) -> ok.
wait_until(Fun, Ms) ->
    wait_late(Fun, erlang:monotonic_time(millisecond) + Ms).

wait_late(Fun, Late) ->
    case Fun() of
        true ->
            ok;
        false ->
            erlang:monotonic_time(millisecond) < Late orelse error(timeout),
            timer:sleep(20),
            wait_late(Fun, Late)
    end.
