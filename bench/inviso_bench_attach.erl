%% SPDX-License-Identifier: Apache-2.0
%% The time to attach to three nodes without inviso, get one event of a call,
%% and detach: with the command, with the command and TLS distribution, and with
%% `dbg' in a node that is started for this.
-module(inviso_bench_attach).
-export([rows/2]).
-export([by_dbg/1]). % called in a node that each round starts
-export([with_home/2, start_node/5, stop_node/1, os_pid/1, run/3]). % for inviso_bench_cost

-define(ROUNDS, 7).
-define(WAIT, 30000).
%% A traced node calls lists:seq/2 again and again, with pauses of this many milliseconds.
-define(PAUSE, 1).
%% Before each round the nodes get this many milliseconds to complete the work of the last round.
-define(REST, 300).
%% The exit status of the command if events beyond the limit of events were lost.
-define(LOST, 7).

%% Returns rows {Name, Milliseconds, Peer's name, Milliseconds of the peer}. If the command fails,
%% returns why.
-spec rows(file:filename(), file:filename()) ->
          {ok, [{string(), number(), string() | none, number()}]} |
          {error, string()}.
rows(Work, Command) ->
    with_home(Work, fun(Home) -> rows_at(Home, Command) end).

%% Runs a function with a new home directory, in which there is a file with a cookie.
-spec with_home(file:filename(), fun((file:filename()) -> Result)) -> Result.
with_home(Work, Do) ->
    Home = filename:join(Work, "home"),
    ok = file:make_dir(Home),
    Cookie = filename:join(Home, ".erlang.cookie"),
    cookie(Cookie),
    try
        Do(Home)
    after
        file:del_dir_r(Home)
    end.

rows_at(Home, Command) ->
    Plain = start_nodes("plain", [], Home),
    Tls = tls_nodes(Home),
    try
        {0, _, _} = dbg_round(Plain, Home), % makes the nodes load modules
        case [Bad || {Cluster, Args} <- [{Plain, []} | Tls],
                     {Status, _, _} = Bad <- [command_round(Command, Cluster,
                                                            Args, Home)],
                     Status =/= 0, Status =/= ?LOST] of
            [] ->
                {ok, measured(Command, Plain, Tls, Home)};
            [{Status, _, Said} | _] ->
                {error, lists:flatten(io_lib:format("exit ~p: ~ts",
                                                    [Status, Said]))}
        end
    after
        [stop_node(Port) || {Cluster, _} <- [{Plain, []} | Tls],
                            {_, Port} <- Cluster]
    end.

start_nodes(What, Args, Home) ->
    [start_node(What ++ N, Args, "", ?PAUSE, Home)
     || N <- ["1", "2", "3"]].

%% Returns [{Nodes, Options of the command}], or [] if this machine cannot make
%% a certificate or has no TLS distribution.
tls_nodes(Home) ->
    {ok, Host} = inet:gethostname(),
    [Cert, Key] = [filename:join(Home, F) || F <- ["cert.pem", "key.pem"]],
    _ = os:cmd("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
               " -nodes -days 2 -subj /CN=bench -addext subjectAltName=DNS:"
               ++ hd(string:lexemes(Host, ".")) ++ " -keyout " ++ Key ++ " -out " ++ Cert),
    case {filelib:is_regular(Cert), code:which(inet_tls_dist)} of
        {false, _} -> [];
        {_, non_existing} -> [];
        _ ->
            Args = ["-proto_dist", "inet_tls", "-ssl_dist_opt",
                    "server_certfile", Cert, "server_keyfile", Key],
            [{start_nodes("tls", Args, Home), ["--tls-ca", Cert]}]
    end.

%% Each round measures three things: dbg, the command without TLS, and the command with TLS. So
%% other work on the machine affects all three in the same way.
measured(Command, Plain, Tls, Home) ->
    Rounds = [begin
                  Times = [command_ms(Command, Nodes, Args, Home)
                           || {Nodes, Args} <- [{Plain, []} | Tls]],
                  {0, Theirs, Said} = dbg_round(Plain, Home),
                  [Theirs, binary_to_integer(string:trim(Said)) / 1000 | Times]
              end || _ <- lists:seq(1, ?ROUNDS)],
    [Theirs, Inside, Ours | InTls] =
        [median([lists:nth(I, R) || R <- Rounds])
         || I <- lists:seq(1, length(hd(Rounds)))],
    What = "attach to 3 nodes, trace a call, detach",
    Dbg = "dbg in an erl of its own",
    [{What, Ours, Dbg, Theirs}] ++
        [{"the same, TLS distribution", Ms, "without TLS", Ours}
         || Ms <- InTls] ++
        [{"the same, dbg in an erl of its own", Theirs, none, 0},
         {"the same, dbg once its erl has started", Inside, Dbg, Theirs}].

command_ms(Command, Nodes, Args, Home) ->
    {Status, Ms, _} = command_round(Command, Nodes, Args, Home),
    true = Status =:= 0 orelse Status =:= ?LOST,
    Ms.

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).

command_round(Command, Nodes, Args, Home) ->
    timer:sleep(?REST),
    Named = lists:append([["-n", Name] || {Name, _} <- Nodes]),
    run(Command, ["trace"] ++ Named ++ Args ++
            ["--events", "1", "lists:seq/2"], Home).

dbg_round(Nodes, Home) ->
    timer:sleep(?REST),
    Call = io_lib:format("~s:by_dbg(~w).",
                         [?MODULE, [list_to_atom(N) || {N, _} <- Nodes]]),
    run(os:find_executable("erl"),
        ["-sname", name("dbg"), "-noshell", "-pa", here(),
         "-eval", lists:flatten(Call)], Home).

%% Returns {Exit status, milliseconds, output}.
-spec run(file:filename(), [string()], file:filename()) ->
          {integer() | timeout, number(), binary()}.
run(Program, Args, Home) ->
    T0 = erlang:monotonic_time(microsecond),
    Port = open_port({spawn_executable, Program},
                     [{args, Args}, {env, env(Home)}, binary, exit_status,
                      stderr_to_stdout, hide]),
    {Status, Said} = ended(Port, <<>>),
    {Status, (erlang:monotonic_time(microsecond) - T0) / 1000, Said}.

ended(Port, Said) ->
    receive
        {Port, {data, Data}} -> ended(Port, <<Said/binary, Data/binary>>);
        {Port, {exit_status, Status}} -> {Status, Said}
    after ?WAIT ->
            {os_pid, Pid} = erlang:port_info(Port, os_pid),
            os:cmd("kill -KILL " ++ integer_to_list(Pid)),
            {timeout, Said}
    end.

env(Home) ->
    [{"HOME", Home} | [{Name, false} || Name <- ["ERL_LIBS", "ERL_FLAGS",
                                                 "ERL_AFLAGS", "ERL_ZFLAGS",
                                                 "INVISO_COOKIE"]]].

here() ->
    filename:dirname(filename:absname(code:which(?MODULE))).

cookie(File) ->
    {ok, Random} = file:open("/dev/urandom", [read, raw, binary]),
    {ok, Bytes} = file:read(Random, 16),
    ok = file:close(Random),
    ok = file:write_file(File, binary:encode_hex(Bytes)),
    ok = file:change_mode(File, 8#400).

%%---------------------------------------------------------------------------
%% Nodes without inviso, which call lists:seq/2 again and again

name(What) ->
    lists:concat(["bench_", What, "_", os:getpid()]).

%% Starts a node. Args are further arguments of erl. Before is a text that the node evaluates first:
%% expressions, each with a comma after it. Then the node calls lists:seq/2 again and again, and
%% waits Pause milliseconds after each call.
-spec start_node(string(), [string()], string(), pos_integer(),
                 file:filename()) -> {string(), port()}.
start_node(What, Args, Before, Pause, Home) ->
    Eval = Before ++ "spawn(fun Work() -> lists:seq(1, 3), timer:sleep("
        ++ integer_to_list(Pause) ++ "), Work() end),"
        "io:format(\"~s~n\", [node()]), io:get_line(''), halt().",
    Port = open_port({spawn_executable, os:find_executable("erl")},
                     [{args, Args ++ ["-sname", name(What), "-noshell",
                                      "-eval", Eval]},
                      {env, env(Home)}, {line, 256}, hide]),
    receive
        {Port, {data, {eol, Name}}} -> {Name, Port}
    after ?WAIT ->
            error({no_node, What})
    end.

-spec os_pid(port()) -> integer().
os_pid(Port) ->
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    OsPid.

%% Closes the input of a node, which ends the node.
-spec stop_node(port()) -> true.
stop_node(Port) ->
    port_close(Port).

%%---------------------------------------------------------------------------
%% Attaching with dbg

%% Traces a call on each node with dbg, as a user would. Prints the duration in microseconds.
-spec by_dbg([node()]) -> no_return().
by_dbg(Nodes) ->
    T0 = erlang:monotonic_time(microsecond),
    Self = self(),
    {ok, _} = dbg:tracer(process, {fun(Event, _) -> Self ! Event end, none}),
    [{ok, _} = dbg:n(Node) || Node <- Nodes],
    {ok, _} = dbg:p(all, [c]),
    {ok, _} = dbg:tpl(lists, seq, 2, []),
    seen(Nodes),
    %% In newer releases dbg:stop/0 also clears the trace patterns. In older releases
    %% dbg:stop_clear/0 does this.
    _ = [dbg:stop_clear() || erlang:function_exported(dbg, stop_clear, 0)],
    _ = [dbg:stop()
         || not erlang:function_exported(dbg, stop_clear, 0)],
    io:format("~w~n", [erlang:monotonic_time(microsecond) - T0]),
    halt(0).

seen(Nodes) ->
    receive
        {trace, Pid, call, {lists, seq, _}} ->
            case lists:member(node(Pid), Nodes) of
                true -> ok;
                false -> seen(Nodes)
            end
    after ?WAIT ->
            halt(1)
    end.
