%% SPDX-License-Identifier: Apache-2.0
%% @doc Nodes as users have them: `erl' of the release with a name and a
%% cookie, no file of ours on the path, and no connection to the test.
%%
%% A node is told what to do through a unix socket, which a process serves that
%% was given on the command line. So it can be asked whatever becomes of the
%% distribution, of the network and of the user that it runs as, and being
%% asked leaves nothing behind: neither modules nor connected nodes.
%%
%% It ends with the process that started it, and with the test's own node.
-module(inviso_stock_node).

-export([start/2, stop/1, call/4, call/5, many/4, eval/2, run/2, said/1]).
-export([workload/2, alive/1]).

-export_type([test_node/0]).

-type test_node() ::
        #{name := string(), cookie := string(), dir := file:filename(),
          tmp := file:filename(), home := file:filename(), uid := integer(),
          os_pid := integer(), keeper := pid(), out := file:filename()}.

%% Only what runs on every release, for it is not compiled.
-define(SERVER,
        "Path = \"~s\", spawn(fun() ->"
        " {ok, L} = gen_tcp:listen(0, [{ifaddr, {local, Path}}, binary,"
        "  {packet, 4}, {active, false}]),"
        " Do = fun({call, M, F, As}) -> apply(M, F, As);"
        "  ({many, M, F, Ls}) -> [catch apply(M, F, As) || As <- Ls];"
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
%% Options: `name' (of any length: with an `@' it is a long one), `cookie',
%% `uid' (root only), `args' and `env' (more of them), `wrap' (a program and
%% arguments that start it).
-spec start(file:filename(), map()) -> test_node().
start(Base, Opts) ->
    Unique = unique(),
    Dir = filename:join(Base, Unique),
    Uid = maps:get(uid, Opts, own_uid()),
    [Cwd, Tmp, Home] = [make_dir(filename:join(Dir, D), Uid)
                        || D <- ["cwd", "tmp", "home"]],
    Sock = filename:join(Cwd, "s"),
    Cookie = maps:get(cookie, Opts, "cookie_" ++ Unique),
    Names = case maps:get(name, Opts, "n") of
                none -> [];
                Given -> name_args(Given, Unique)
            end,
    Out = filename:join(Dir, "out"),
    Args = wrap(Opts) ++ as_user(Uid) ++ [erl(), "-noinput"] ++ Names ++
        ["-setcookie", Cookie, "-eval", io_lib:format(?SERVER, [Sock]) |
         maps:get(args, Opts, [])],
    Env = [{"TMPDIR", Tmp}, {"HOME", Home}, {"XDG_CONFIG_HOME", false} |
           [{Var, false} || Var <- ["ERL_LIBS", "ERL_FLAGS", "ERL_AFLAGS",
                                    "ERL_ZFLAGS", "ERL_EPMD_PORT",
                                    "ERL_CRASH_DUMP"]] ++
               maps:get(env, Opts, [])],
    Caller = self(),
    Keeper = spawn(fun() -> keep(Caller, Args, Env, Cwd, Sock, Out) end),
    Monitor = monitor(process, Keeper),
    receive
        {Keeper, up, OsPid} ->
            demonitor(Monitor, [flush]),
            Node = #{keeper => Keeper, os_pid => OsPid, cookie => Cookie,
                     dir => Dir, tmp => Tmp, home => Home, uid => Uid,
                     out => Out, name => "", cwd => Cwd},
            non_existing = call(Node, code, which, [inviso_rt]),
            %% What a node loads when it is first spoken to is not our doing.
            _ = eval(Node, "length(lists:seq(1, 3))."),
            _ = many(Node, code, ensure_loaded,
                     [[seq_trace], [trace], [timer]]),
            _ = call(Node, inet, gethostbyname, ["localhost"]),
            Node#{name => atom_to_list(call(Node, erlang, node, []))};
        {'DOWN', Monitor, process, Keeper, Reason} ->
            error({no_node, Reason, file:read_file(Out)})
    end.

name_args(Given, Unique) ->
    case string:split(Given, "@") of
        [Short] -> ["-sname", Short ++ "_" ++ Unique];
        [Name, Host] -> ["-name", Name ++ "_" ++ Unique ++ "@" ++ Host]
    end.

wrap(#{wrap := Words}) -> Words;
wrap(_) -> [].

%% A node must not outlive the tests, whatever becomes of them.
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

%% --- the process that has the node ------------------------------------------

keep(Caller, [Program | Args], Env, Cwd, Sock, Out) ->
    Monitor = monitor(process, Caller),
    Port = open_port({spawn_executable, "/bin/sh"},
                     [{args, ["-c", "exec \"$@\" </dev/null >\"$0\" 2>&1",
                              Out, Program | Args]},
                      {env, Env}, {cd, Cwd}, exit_status]),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    Late = erlang:monotonic_time(millisecond) + ?BOOT_MS,
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
            ended(Monitor, Status);
        {stop, From, Ref} ->
            end_it(OsPid),
            From ! {Ref, ok};
        {'DOWN', Monitor, process, _, _} ->
            end_it(OsPid)
    end.

%% Of a node that has ended, or was ended, by itself.
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

%% Stopped or not.
end_it(OsPid) ->
    _ = os:cmd("kill -9 " ++ integer_to_list(OsPid)),
    ok.

%% --- what tests do with it --------------------------------------------------

%% @doc Ends a node at once.
-spec stop(test_node()) -> ok.
stop(#{keeper := Keeper}) ->
    Ref = monitor(process, Keeper),
    Keeper ! {stop, self(), Ref},
    receive
        {Ref, ok} -> demonitor(Ref, [flush]), ok;
        {'DOWN', Ref, process, _, _} -> ok
    end.

%% @doc Whether it is an operating system process still.
-spec alive(test_node()) -> boolean().
alive(#{os_pid := OsPid}) ->
    filelib:is_dir("/proc/" ++ integer_to_list(OsPid)).

%% @doc Calls a function on a node.
-spec call(test_node(), module(), atom(), [term()]) -> term().
call(Node, M, F, Args) ->
    call(Node, M, F, Args, ?CALL_MS).

-spec call(test_node(), module(), atom(), [term()], timeout()) -> term().
call(Node, M, F, Args, Ms) ->
    request(Node, {call, M, F, Args}, Ms).

%% @doc Calls a function with each of these lists of arguments; what fails
%% gives `{''EXIT'', _}'.
-spec many(test_node(), module(), atom(), [[term()]]) -> [term()].
many(Node, M, F, Lists) ->
    request(Node, {many, M, F, Lists}, ?CALL_MS).

%% @doc The value of expressions, as one types them in the shell.
-spec eval(test_node(), string()) -> term().
eval(Node, Text) ->
    request(Node, {eval, exprs(Text)}, ?CALL_MS).

%% @doc Evaluates expressions in a new process.
-spec run(test_node(), string()) -> pid().
run(Node, Text) ->
    request(Node, {run, exprs(Text)}, ?CALL_MS).

%% @doc A process, registered as `Name', that calls `lists:seq(1, N)' again and
%% again, with that pause in milliseconds. N grows by one and never is
%% repeated.
-spec workload(test_node(), {atom(), non_neg_integer()}) -> pid().
workload(Node, {Name, Pause}) ->
    Text = io_lib:format(
             "register(~p, self()), L = fun L(N) -> lists:seq(N, N + 3),"
             " timer:sleep(~b), L(N + 1) end, L(1).", [Name, Pause]),
    run(Node, lists:flatten(Text)).

%% @doc What it printed.
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
