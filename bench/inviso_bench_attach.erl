%% SPDX-License-Identifier: Apache-2.0
%%
%% How long it takes to attach to three nodes of the plain release, see one call
%% of a function, and let go of them: with the command, and with `dbg' from a
%% node that is started for it, as one would do by hand.
-module(inviso_bench_attach).
-export([rows/2]).
-export([by_dbg/1]). % in an erl of its own

-define(ROUNDS, 7).
-define(WAIT, 30000).
%% Before each round: what the one before has left nodes to do is done.
-define(REST, 300).
%% The exit status of the command when a limit kept events out.
-define(LOST, 7).

%% {Name, Milliseconds, Against, Milliseconds of that}, or why there are none.
-spec rows(file:filename(), file:filename()) ->
          {ok, [{string(), number(), string() | none, number()}]} |
          {error, string()}.
rows(Work, Command) ->
    Home = filename:join(Work, "home"),
    ok = file:make_dir(Home),
    cookie(filename:join(Home, ".erlang.cookie")),
    Nodes = [start_node(N, Home) || N <- ["one", "two", "three"]],
    Names = [Name || {Name, _} <- Nodes],
    try
        {0, _, _} = dbg_round(Names, Home), % what is loaded at first use
        case command_round(Command, Names, Home) of
            {Status, _, _} when Status =:= 0; Status =:= ?LOST ->
                {ok, measured(Command, Names, Home)};
            {Status, _, Said} ->
                {error, lists:flatten(io_lib:format("exit ~p: ~ts",
                                                    [Status, Said]))}
        end
    after
        [stop_node(Port) || {_, Port} <- Nodes],
        file:delete(filename:join(Home, ".erlang.cookie")),
        file:del_dir(Home)
    end.

measured(Command, Names, Home) ->
    Rounds = [begin
                  {Status, Ours, _} = command_round(Command, Names, Home),
                  true = Status =:= 0 orelse Status =:= ?LOST,
                  {0, Theirs, Said} = dbg_round(Names, Home),
                  {Ours, Theirs, binary_to_integer(string:trim(Said)) / 1000}
              end || _ <- lists:seq(1, ?ROUNDS)],
    [Ours, Theirs, Inside] = [median([element(I, R) || R <- Rounds])
                              || I <- [1, 2, 3]],
    What = "attach to 3 nodes, trace a call, detach",
    Dbg = "dbg in an erl of its own",
    [{What, Ours, Dbg, Theirs},
     {"the same, dbg in an erl of its own", Theirs, none, 0},
     {"the same, dbg once its erl has started", Inside, Dbg, Theirs}].

median(List) ->
    lists:nth(length(List) div 2 + 1, lists:sort(List)).

command_round(Command, Names, Home) ->
    Nodes = lists:append([["-n", Name] || Name <- Names]),
    run(Command, ["trace"] ++ Nodes ++ ["--events", "1", "lists:seq/2"], Home).

dbg_round(Names, Home) ->
    Call = io_lib:format("~s:by_dbg(~w).",
                         [?MODULE, [list_to_atom(N) || N <- Names]]),
    run(os:find_executable("erl"),
        ["-sname", name("dbg"), "-noshell", "-pa", here(),
         "-eval", lists:flatten(Call)], Home).

%% {Exit status, milliseconds, what it said}
run(Program, Args, Home) ->
    timer:sleep(?REST),
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
%% Nodes of the plain release, which do a little

name(What) ->
    lists:concat(["bench_", What, "_", os:getpid()]).

start_node(What, Home) ->
    Eval = "spawn(fun Work() -> lists:seq(1, 3), timer:sleep(1), Work() end),"
        "io:format(\"~s~n\", [node()]), io:get_line(''), halt().",
    Port = open_port({spawn_executable, os:find_executable("erl")},
                     [{args, ["-sname", name(What), "-noshell",
                              "-eval", Eval]},
                      {env, env(Home)}, {line, 256}, hide]),
    receive
        {Port, {data, {eol, Name}}} -> {Name, Port}
    after ?WAIT ->
            error({no_node, What})
    end.

%% Its input ends.
stop_node(Port) ->
    port_close(Port).

%%---------------------------------------------------------------------------
%% What one would type, and how long it took from there

-spec by_dbg([node()]) -> no_return().
by_dbg(Nodes) ->
    T0 = erlang:monotonic_time(microsecond),
    Self = self(),
    {ok, _} = dbg:tracer(process, {fun(Event, _) -> Self ! Event end, none}),
    [{ok, _} = dbg:n(Node) || Node <- Nodes],
    {ok, _} = dbg:p(all, [c]),
    {ok, _} = dbg:tpl(lists, seq, 2, []),
    seen(Nodes),
    %% From some release on it is stop/0 that takes the patterns away.
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
