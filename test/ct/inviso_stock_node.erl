%% SPDX-License-Identifier: Apache-2.0
%% @doc Nodes as users have them: `erl' of the release with a name and a
%% cookie, without inviso on the path and without a connection to the test.
%%
%% A node gets requests through a unix socket, which a process on the node
%% serves; code on the command line starts this process. So the test can call
%% the node even if its distribution or network is broken. A request leaves
%% neither modules nor connections behind.
%%
%% A node ends when the process that started it ends, or when the test's own node
%% ends.
-module(inviso_stock_node).

-export([start/2, stop/1, call/4, call/5, many/4, zip/5, eval/2, run/2, said/1]).
-export([workload/2, alive/1]).

-export_type([test_node/0]).

-type test_node() ::
        #{name := string(), cookie := string(), dir := file:filename(),
          tmp := file:filename(), home := file:filename(), uid := integer(),
          os_pid := integer(), keeper := pid(), out := file:filename()}.

%% The node evaluates this text, so the text must be valid on every release.
-define(SERVER,
        "Path = \"~s\", spawn(fun() ->"
        " {ok, L} = gen_tcp:listen(0, [{ifaddr, {local, Path}}, binary,"
        "  {packet, 4}, {active, false}]),"
        " Do = fun({call, M, F, As}) -> apply(M, F, As);"
        "  ({many, M, F, Ls}) -> [catch apply(M, F, As) || As <- Ls];"
        "  ({zip, M, F, As, Bs}) -> lists:zipwith(fun M:F/2, As, Bs);"
        "  ({eval, Es}) -> element(2, erl_eval:exprs(Es, []));"
        "  ({run, Es}) -> spawn(fun() -> erl_eval:exprs(Es, []) end) end,"
        " Serve = fun Serve(S) -> case gen_tcp:recv(S, 0) of"
        "  {ok, B} -> R = try {ok, Do(binary_to_term(B))}"
        "   catch C:E -> {C, E} end,"
        "   gen_tcp:send(S, term_to_binary(R)), Serve(S);"
        "  {error, _} -> gen_tcp:close(S) end end,"
        " Accept = fun Accept() -> {ok, S} = gen_tcp:accept(L),"
        "  Serve(S), Accept() end,"
        " Accept() end).").

-define(BOOT_MS, 120000).
-define(CALL_MS, 120000).

%% @doc Starts a node in a new directory under `Base'.
%%
%% Options: `name' (of any length; a name with `@' is a long name), `cookie', `uid' (the user as
%% which the node runs; only for root), `args' and `env' (more arguments and environment variables),
%% `wrap' (a program and its arguments, which start the node), `program' (runs instead of `erl',
%% with the same arguments, and names the node itself), `boot_ms' (how long the node may take to
%% boot).
-spec start(file:filename(), map()) -> test_node().
start(Base, Opts) ->
    Unique = unique(),
    Dir = filename:join(Base, Unique),
    Uid = maps:get(uid, Opts, own_uid()),
    [Cwd, Tmp, Home] = [make_dir(filename:join(Dir, D), Uid)
                        || D <- ["cwd", "tmp", "home"]],
    Sock = filename:join(Cwd, "s"),
    Cookie = maps:get(cookie, Opts, "cookie_" ++ Unique),
    Out = filename:join(Dir, "out"),
    Args = wrap(Opts) ++ as_user(Uid) ++ program(Opts, Unique) ++
        ["-setcookie", Cookie, "-eval", io_lib:format(?SERVER, [Sock]) |
         maps:get(args, Opts, [])],
    Env = [{"TMPDIR", Tmp}, {"HOME", Home}, {"XDG_CONFIG_HOME", false} |
           [{Var, false} || Var <- ["ERL_LIBS", "ERL_FLAGS", "ERL_AFLAGS",
                                    "ERL_EPMD_PORT",
                                    "ERL_CRASH_DUMP"]] ++
               maps:get(env, Opts, [])],
    Caller = self(),
    Late = erlang:monotonic_time(millisecond)
        + maps:get(boot_ms, Opts, ?BOOT_MS),
    Keeper = spawn(fun() -> keep(Caller, Args, Env, Cwd, Sock, Out, Late) end),
    Monitor = monitor(process, Keeper),
    receive
        {Keeper, up, OsPid} ->
            demonitor(Monitor, [flush]),
            Node = #{keeper => Keeper, os_pid => OsPid, cookie => Cookie,
                     dir => Dir, tmp => Tmp, home => Home, uid => Uid,
                     out => Out, name => "", cwd => Cwd},
            non_existing = call(Node, code, which, [inviso_rt]),
            %% These requests make the node load modules, which would otherwise
            %% count as left behind.
            _ = eval(Node, "length(lists:seq(1, 3))."),
            _ = many(Node, code, ensure_loaded,
                     [[seq_trace], [trace], [timer]]),
            _ = call(Node, inet, gethostbyname, ["localhost"]),
            Node#{name => atom_to_list(call(Node, erlang, node, []))};
        {'DOWN', Monitor, process, Keeper, Reason} ->
            error({no_node, Reason, file:read_file(Out)})
    end.

program(#{program := Program}, _) -> [Program];
program(#{name := none}, _) -> [erl(), "-noinput"];
program(Opts, Unique) ->
    [erl(), "-noinput" | name_args(maps:get(name, Opts, "n"), Unique)].

name_args(Given, Unique) ->
    case string:split(Given, "@") of
        [Short] -> ["-sname", Short ++ "_" ++ Unique];
        [Name, Host] -> ["-name", Name ++ "_" ++ Unique ++ "@" ++ Host]
    end.

wrap(#{wrap := Words}) -> Words;
wrap(_) -> [].

%% Returns words to put before a command line, so that it runs as this user. If the test's node ends
%% for any reason, the program is killed.
as_user(Uid) ->
    case os:find_executable("setpriv") of
        false -> [];
        Setpriv ->
            Id = integer_to_list(Uid),
            [Setpriv, "--pdeathsig", "KILL"] ++
                case own_uid() of
                    Uid -> [];
                    _ -> ["--reuid", Id, "--regid", Id, "--clear-groups"]
                end
    end ++ [].

own_uid() ->
    list_to_integer(string:trim(os:cmd("id -u"))).

erl() ->
    filename:join([code:root_dir(), "bin", "erl"]).

unique() ->
    lists:concat([os:getpid(), "x", erlang:unique_integer([positive])]).

make_dir(Dir, Uid) ->
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    ok = file:change_mode(Dir, 8#700),
    ok = file:change_owner(Dir, Uid),
    Dir.

%% --- the keeper: the process that starts and stops the node ----------------

keep(Caller, [Program | Args], Env, Cwd, Sock, Out, Late) ->
    Monitor = monitor(process, Caller),
    Port = open_port({spawn_executable, "/bin/sh"},
                     [{args, ["-c", "exec \"$@\" </dev/null >\"$0\" 2>&1",
                              Out, Program | Args]},
                      {env, Env}, {cd, Cwd}, exit_status]),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    try
        Socket = connect(Sock, Late, Port),
        Caller ! {self(), up, OsPid},
        serve(Monitor, Port, OsPid, Socket)
    catch Class:Reason:Stack ->
            end_it(OsPid),
            erlang:raise(Class, Reason, Stack)
    end.

connect(Sock, Late, Port) ->
    case gen_tcp:connect({local, Sock}, 0,
                         [binary, {packet, 4}, {active, false}]) of
        {ok, Socket} -> Socket;
        {error, Why} ->
            erlang:monotonic_time(millisecond) < Late orelse exit(Why),
            receive {Port, {exit_status, S}} -> exit({exit_status, S})
            after 20 -> connect(Sock, Late, Port)
            end
    end.

serve(Monitor, Port, OsPid, Socket) ->
    receive
        {ask, From, Ref, Request, Ms} ->
            From ! {Ref, ask(Socket, Request, Ms)},
            serve(Monitor, Port, OsPid, Socket);
        {Port, {exit_status, Status}} ->
            _ = is_crash(Status)
                andalso inviso_ct_hook:fault({node_crashed, OsPid, Status}),
            ended(Monitor, Status);
        {stop, From, Ref} ->
            end_it(OsPid),
            From ! {Ref, ok};
        {'DOWN', Monitor, process, _, _} ->
            end_it(OsPid)
    end.

%% Returns true if the node was ended by a signal that no test sends: ILL, ABRT,
%% BUS, FPE or SEGV.
is_crash(Status) ->
    lists:member(Status - 128, [4, 6, 7, 8, 11]).

%% After the node has ended, answers each request with an error, until stop/1 is
%% called.
ended(Monitor, Status) ->
    receive
        {ask, From, Ref, _, _} ->
            From ! {Ref, {error, {node_ended, Status}}},
            ended(Monitor, Status);
        {stop, From, Ref} -> From ! {Ref, ok};
        {'DOWN', Monitor, process, _, _} -> ok
    end.

ask(Socket, Request, Ms) ->
    case gen_tcp:send(Socket, term_to_binary(Request)) of
        ok ->
            case gen_tcp:recv(Socket, 0, Ms) of
                {ok, Answer} -> binary_to_term(Answer);
                {error, Why} -> {error, {no_answer, Why, Request}}
            end;
        {error, Why} -> {error, {no_answer, Why, Request}}
    end.

%% Kills the node's process; SIGKILL also works on a stopped process.
end_it(OsPid) ->
    _ = os:cmd("kill -9 " ++ integer_to_list(OsPid)),
    ok.

%% --- functions for tests ----------------------------------------------------

-spec stop(test_node()) -> ok.
stop(#{keeper := Keeper}) ->
    Ref = monitor(process, Keeper),
    Keeper ! {stop, self(), Ref},
    receive
        {Ref, ok} -> demonitor(Ref, [flush]), ok;
        {'DOWN', Ref, process, _, _} -> ok
    end.

%% @doc Returns true if the node's operating system process exists.
-spec alive(test_node()) -> boolean().
alive(#{os_pid := OsPid}) ->
    filelib:is_dir("/proc/" ++ integer_to_list(OsPid)).

-spec call(test_node(), module(), atom(), [term()]) -> term().
call(Node, M, F, Args) ->
    call(Node, M, F, Args, ?CALL_MS).

-spec call(test_node(), module(), atom(), [term()], timeout()) -> term().
call(Node, M, F, Args, Ms) ->
    request(Node, {call, M, F, Args}, Ms).

%% @doc Calls a function with each list of arguments. A call that fails gives
%% `{''EXIT'', _}'.
-spec many(test_node(), module(), atom(), [[term()]]) -> [term()].
many(Node, M, F, Lists) ->
    request(Node, {many, M, F, Lists}, ?CALL_MS).

%% @doc Calls a function with each pair of arguments: the first argument is from As, and the second
%% is at the same place in Bs. No call may fail. This is much faster than many/4, because the node
%% does not interpret each call.
-spec zip(test_node(), module(), atom(), [term()], [term()]) -> [term()].
zip(Node, M, F, As, Bs) ->
    request(Node, {zip, M, F, As, Bs}, ?CALL_MS).

%% @doc Evaluates expressions, written as in the shell. Returns their value.
-spec eval(test_node(), string()) -> term().
eval(Node, Text) ->
    request(Node, {eval, exprs(Text)}, ?CALL_MS).

%% @doc Evaluates expressions in a new process.
-spec run(test_node(), string()) -> pid().
run(Node, Text) ->
    request(Node, {run, exprs(Text)}, ?CALL_MS).

%% @doc Starts a process, registered as `Name', that calls `lists:seq(N, N + 3)'
%% again and again, with a pause in milliseconds after each call. N starts at 1
%% and grows by one.
-spec workload(test_node(), {atom(), non_neg_integer()}) -> pid().
workload(Node, {Name, Pause}) ->
    Text = io_lib:format(
             "register(~p, self()), L = fun L(N) -> lists:seq(N, N + 3),"
             " timer:sleep(~b), L(N + 1) end, L(1).", [Name, Pause]),
    run(Node, lists:flatten(Text)).

%% @doc Returns the standard output and error of the node.
-spec said(test_node()) -> binary().
said(#{out := Out}) ->
    {ok, Said} = file:read_file(Out),
    Said.

exprs(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    Exprs.

request(#{keeper := Keeper}, Request, Ms) ->
    Ref = monitor(process, Keeper),
    Keeper ! {ask, self(), Ref, Request, Ms},
    receive
        {Ref, Result} ->
            demonitor(Ref, [flush]),
            case Result of
                {ok, Value} -> Value;
                {Class, Reason} when Class =:= throw; Class =:= exit ->
                    error({on_node, Class, Reason});
                {_, Reason} -> error({on_node, Reason})
            end;
        {'DOWN', Ref, process, _, Reason} ->
            error({no_node, Reason})
    end.
