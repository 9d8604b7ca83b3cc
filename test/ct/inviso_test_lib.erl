%% SPDX-License-Identifier: Apache-2.0
%% @doc Nodes for the suites.
%%
%% The nodes are peers that are controlled over a TCP connection, so that a test can
%% call a node even if its distribution is broken. The nodes are linked to the test
%% case.
-module(inviso_test_lib).

-export([start_node/2, start_node/3, shared_node/2, start_stock_node/2, start_stock_node/3,
         start_alone/1, connection/0, stop_node/1, forget_node/1, call/4, spawn_call/4,
         connect/1, flags_in/2, ebin/0, priv/0, product/1,
         footprint/1, left_behind/2, wait_until/1, wait_until/2, soak/2, seed/1,
         hurry/1]).

-export_type([test_node/0]).

-type test_node() :: #{peer := pid(), name := node(), dir := file:filename(),
                       tmp := file:filename(), os_pid := string(),
                       %% only of a node from shared_node/2: see inviso_node_pool
                       pool => atom() | string(), at_first => map(), known => [pid()]}.

%% @doc Starts a node that has inviso on its path.
-spec start_node(atom() | string(), file:filename()) -> test_node().
start_node(Name, Dir) ->
    start(Name, Dir, ["-pa", ebin()]).

%% @doc Returns a node that has inviso on its path: one that an earlier case of the suite has
%% stopped (inviso_node_pool), or a new one.
-spec shared_node(atom() | string(), file:filename()) -> test_node().
shared_node(Name, Dir) ->
    case inviso_node_pool:take(Name) of
        none ->
            inviso_node_pool:started(Name, start_node(Name, Dir));
        Node ->
            %% The directory of temporary files stays: the library was loaded from there.
            Own = filename:join(Dir, unique(Name)),
            ok = filelib:ensure_dir(filename:join(Own, "x")),
            ok = call(Node, file, set_cwd, [Own]),
            Node#{dir => Own}
    end.

%% @doc Starts a node with arguments that put inviso on its path.
-spec start_node(atom() | string(), file:filename(), [string()]) -> test_node().
start_node(Name, Dir, Args) ->
    start(Name, Dir, Args).

%% @doc Starts a node of the plain release, without inviso.
-spec start_stock_node(atom() | string(), file:filename()) -> test_node().
start_stock_node(Name, Dir) ->
    start_stock_node(Name, Dir, []).

%% @doc Starts a node of the plain release with additional environment variables.
-spec start_stock_node(atom() | string(), file:filename(),
                       [{string(), string()}]) -> test_node().
start_stock_node(Name, Dir, Env) ->
    Node = start(Name, Dir, [], Env),
    non_existing = call(Node, code, which, [inviso_rt]),
    Node.

%% @doc Returns the flags that a scope (a trace session with its tracer) has set on a process or
%% port, or on new processes or ports. Returns `undefined' if the process or port does not exist.
-spec flags_in(inviso_scope:scope(), pid() | port() | atom()) ->
          [atom()] | undefined.
flags_in(Scope, Who) ->
    {Session, _} = Scope,
    case (inviso_scope:implementation()):info(Session, Who, flags) of
        {ok, {flags, Flags}} -> Flags;
        _ -> undefined
    end.

%% @doc Starts a node that is not distributed and has inviso on its path.
-spec start_alone(file:filename()) -> test_node().
start_alone(Dir) ->
    start(none, Dir, ["-pa", ebin()]).

start(Name, Dir, Args) ->
    start(Name, Dir, Args, []).

start(Name, Dir0, Args, Env0) ->
    Unique = unique(Name),
    Dir = filename:join(Dir0, Unique),
    Tmp = filename:join(Dir, "tmp"),
    ok = filelib:ensure_dir(filename:join(Tmp, "x")),
    Env = Env0 ++
        [{"TMPDIR", Tmp}
         | [{Var, ""} || Var <- ["ERL_LIBS", "ERL_FLAGS", "ERL_AFLAGS"]]],
    Opts = #{connection => connection(),
             shutdown => close,
             wait_boot => 120000,
             env => Env,
             %% The module `global' must neither connect nor disconnect nodes.
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

%% @doc Returns the connection through which tests control peers. Over standard input and
%% output, Erlang code converts each byte to two characters, which takes much CPU time. But a
%% peer with a TCP connection is detached, so the reports of sanitizers, which it writes to
%% standard error, would be lost.
-spec connection() -> standard_io | {inet:ip_address(), 0}.
connection() ->
    case os:getenv("ASAN_OPTIONS") of
        false -> {{127, 0, 0, 1}, 0};
        _ -> standard_io
    end.

unique(Name) ->
    lists:concat([Name, "_", os:getpid(), "_", erlang:unique_integer([positive])]).

%% @doc Stops a node, or gives a shared node back to the pool. Fails if the node has died, unless
%% the test has called stop_node/1 or {@link forget_node/1} before.
-spec stop_node(test_node()) -> ok.
stop_node(#{name := Name, os_pid := OsPid} = Node) ->
    case has_ended(Node) of
        true ->
            ok;
        false ->
            Alive = (catch call(Node, os, getpid, [])),
            case Alive =:= OsPid andalso (catch inviso_node_pool:give(Node)) of
                true -> ok = file:write_file(ended(Node), "");
                _ -> forget_node(Node)
            end,
            Alive =:= OsPid orelse error({node_died, Name, Alive}),
            ok
    end.

%% @doc Marks a node as ended, after the test has killed the node.
-spec forget_node(test_node()) -> ok.
forget_node(#{peer := Peer} = Node) ->
    case has_ended(Node) of
        true ->
            ok;
        false ->
            ok = file:write_file(ended(Node), ""),
            unlink(Peer),
            catch peer:stop(Peer),
            ok
    end.

has_ended(Node) ->
    filelib:is_file(ended(Node)).

%% Returns the path of the file whose existence marks a node as ended. Each process that may stop
%% the node can see this file.
ended(#{dir := Dir}) ->
    filename:join(Dir, "ended").

-spec call(test_node(), module(), atom(), [term()]) -> term().
call(#{peer := Peer}, M, F, Args) ->
    peer:call(Peer, M, F, Args, 120000).

-spec spawn_call(test_node(), module(), atom(), [term()]) -> pid().
spawn_call(#{peer := Peer}, M, F, Args) ->
    peer:call(Peer, erlang, spawn, [M, F, Args], 120000).

-spec connect([test_node()]) -> ok.
connect([_]) ->
    ok;
connect([Node | Rest]) ->
    _ = [pong = call(Node, net_adm, ping, [Name]) || #{name := Name} <- Rest],
    connect(Rest).

-spec ebin() -> file:filename().
ebin() ->
    filename:dirname(filename:absname(code:which(inviso))).

%% @doc Returns the directory of the command, the spooler and the NIF.
-spec priv() -> file:filename().
priv() ->
    filename:join(filename:dirname(ebin()), "priv").

%% @doc Returns the path of a product, or a reason to skip the test.
-spec product(string()) -> {ok, file:filename()} | {skip, string()}.
product(Name) ->
    Path = filename:join(priv(), Name),
    case filelib:is_regular(Path) of
        true -> {ok, Path};
        false -> {skip, Path ++ " is not built"}
    end.

%% @doc Returns the footprint of a node: files, modules, processes and other
%% things that inviso could leave behind. Leaves out modules of the release,
%% which the node loads when it first needs them.
-spec footprint(test_node()) -> #{atom() => term()}.
footprint(#{tmp := Tmp, os_pid := OsPid} = Node) ->
    {ok, Files} = file:list_dir_all(Tmp),
    Loaded = call(Node, code, all_loaded, []),
    Processes = call(Node, erlang, processes, []),
    Each = fun(F, As, B) -> zip(Node, F, As, B) end,
    #{processes => Each(fun erlang:process_info/2, Processes,
                        [registered_name, initial_call, current_function]),
      registered => lists:sort(call(Node, erlang, registered, [])),
      modules => lists:sort([M || {M, File} <- Loaded, not is_stock(File)]),
      old_code => lists:sort(call(Node, lists, filter, [fun erlang:check_old_code/1,
                                                        [M || {M, _} <- Loaded]])),
      ets => lists:sort([Name || {_, Name} <- Each(fun ets:info/2, call(Node, ets, all, []),
                                                   name)]),
      new_flags => call(Node, erlang, trace_info, [new_processes, flags]),
      traced => [P || {P, {flags, [_ | _]}} <- Each(fun erlang:trace_info/2, Processes, flags)],
      functions => Each(fun erlang:trace_info/2,
                        [{code, which, 1}, {code, which, 2},
                         {erlang, register, 2}, {erlang, unregister, 1}], all),
      sessions => sessions(Node),
      mapped => mapped(OsPid),
      os_processes => os_processes(Tmp),
      files => lists:sort(Files)}.

%% Calls F(A, B) on the node for each A of the list As. Returns each A with the value. It is one
%% request for the whole list: tests call footprint/1 repeatedly until nothing is left.
zip(Node, F, As, B) ->
    lists:zip(As, call(Node, lists, zipwith, [F, As, [B || _ <- As]])).

is_stock(preloaded) -> true;
is_stock(File) -> is_list(File) andalso lists:prefix(code:root_dir(), File).

sessions(Node) ->
    try
        call(Node, trace, session_info, [all])
    catch
        error:_ -> none
    end.

%% Returns the libraries of inviso that are mapped into the node.
mapped(OsPid) ->
    case file:read_file("/proc/" ++ OsPid ++ "/maps") of
        {ok, Maps} ->
            [L || L <- binary:split(Maps, <<"\n">>, [global]),
                  binary:match(L, [<<"inviso">>]) =/= nomatch,
                  binary:match(L, [<<"r-x">>, <<"rwx">>]) =/= nomatch];
        {error, _} ->
            unknown
    end.

%% Returns the programs that were started from a private directory of inviso.
os_processes(Tmp) ->
    [Cmd || Pid <- filelib:wildcard("[0-9]*", "/proc"),
            {ok, Cmd} <- [file:read_file("/proc/" ++ Pid ++ "/cmdline")],
            binary:match(Cmd, list_to_binary(Tmp ++ "/inviso-")) =/= nomatch].

%% @doc Returns the things that a node has now and did not have before.
%% Processes that serve the calls of this function do not count.
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

%% @doc Returns the first argument in `make check', and the second argument in
%% `make soak'.
-spec soak(T, T) -> T.
soak(Few, Many) ->
    case os:getenv("INVISO_SOAK", "") of
        "" -> Few;
        _ -> Many
    end.

%% @doc Returns an environment variable for a node. It divides inviso's deadlines on this node by
%% the argument, for tests that wait for the end of a deadline.
-spec hurry(1..10) -> {string(), string()}.
hurry(Times) ->
    {"INVISO_TEST_DEADLINES", "only in tests: 1/" ++ integer_to_list(Times)}.

%% @doc Seeds the random numbers of a test, and prints the seed. To repeat a run,
%% set the environment variable INVISO_SEED to the seed of this run.
-spec seed(term()) -> ok.
seed(Case) ->
    Seed = case os:getenv("INVISO_SEED", "") of
               "" -> erlang:phash2(make_ref());
               Text -> list_to_integer(Text)
           end,
    ct:pal("~w: INVISO_SEED=~b", [Case, Seed]),
    _ = rand:seed(exsss, erlang:phash2({Case, Seed})),
    ok.

%% @equiv wait_until(Fun, 90000)
-spec wait_until(fun(() -> boolean())) -> ok.
wait_until(Fun) ->
    wait_until(Fun, 90000).

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
