%% SPDX-License-Identifier: Apache-2.0
%% The command traces an application of another project: Debian's RabbitMQ,
%% under load from a client in Python. The log has the calls and messages of the
%% load, the broker continues to work, and nothing of inviso stays on the
%% broker's node.
-module(inviso_rabbitmq_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([calls_and_messages_are_those_of_the_load/1,
         record_counts_what_the_load_did/1, all_of_a_module_under_load/1,
         a_message_is_followed/1, command_is_killed_under_load/1,
         slow_calls_are_readable/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

-import(inviso_command_case, [opts/1]).

-define(BROKER, "/usr/lib/rabbitmq/bin/rabbitmq-server").
-define(PYTHON, "/usr/bin/python3").
-define(PORT, 5672).
-define(MS, 120000).

%% A SPEC for the messages that are published to one queue. It selects calls of the function in
%% ?CALL.
-define(FOLLOWED, "rabbit_channel:do_flow(_, #'basic.publish'{routing_key = "
        "<<\"followed\">>}, #content{payload_fragments_rev = [Body]})").

%% When a client publishes a message, the process that reads the client's connection calls the
%% function in ?CALL. Then the channel of the connection gets the message in ?SEND.
-define(CALL, "rabbit_channel:do_flow/3 [{'_',[],[]}]").
-define(SEND, "send(_, {'$gen_cast', {method, _, _, flow}})").

all() ->
    [calls_and_messages_are_those_of_the_load, record_counts_what_the_load_did,
     all_of_a_module_under_load, a_message_is_followed,
     command_is_killed_under_load, slow_calls_are_readable].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case [What || {What, false} <-
                      [{"rabbitmq-server", filelib:is_file(?BROKER)},
                       {"python3-pika", os:cmd(?PYTHON " -c 'import pika'")
                                            =:= ""}]] of
        [] -> started(Config, ?LIB:base());
        Missing -> {skip, "not installed: " ++ lists:join(", ", Missing)}
    end.

started(_Config, {skip, _} = Skip) ->
    Skip;
started(Config, {ok, Base}) ->
    %% The broker is linked to the process that starts it, and that process must
    %% outlive init_per_suite.
    Self = self(),
    Keeper = spawn(fun() ->
                           Self ! {self(), broker(Base)},
                           receive stop -> ok end
                   end),
    Monitor = monitor(process, Keeper),
    receive
        {Keeper, Node} ->
            demonitor(Monitor, [flush]),
            Started = [{base, Base}, {node, Node}, {keeper, Keeper} | Config],
            %% This first load makes the broker load modules and open files, before the footprint is
            %% taken.
            200 = load(Started, "first", 200),
            [{before, inviso_footprint:of_node(Node)} | Started];
        {'DOWN', Monitor, process, Keeper, Why} ->
            error(Why)
    end.

end_per_suite(Config) ->
    ?NODE:stop(?config(node, Config)),
    ?config(keeper, Config) ! stop,
    ?LIB:base_removed(?config(base, Config)).

broker(Base) ->
    Uid = ?LIB:some_uid(),
    Dir = filename:join(Base, "broker"),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    ok = file:change_mode(Dir, 8#700),
    ok = file:change_owner(Dir, Uid),
    Paths = [{"RABBITMQ_" ++ Name, filename:join(Dir, Name)}
             || Name <- ["MNESIA_BASE", "LOG_BASE", "PID_FILE",
                         "ENABLED_PLUGINS_FILE", "CONFIG_FILE",
                         "ADVANCED_CONFIG_FILE", "GENERATED_CONFIG_DIR",
                         "CONF_ENV_FILE"]],
    %% The VM of the broker runs without a shell, as under a service manager.
    Env = [{"RABBITMQ_NODENAME", "rabbit@localhost"},
           {"RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1"},
           {"RABBITMQ_NODE_PORT", integer_to_list(?PORT)},
           {"RUNNING_UNDER_SYSTEMD", "true"}, {"NOTIFY_SOCKET", false},
           %% If LOGS were set, the broker would write its log to the file that LOGS names.
           {"LOGS", false}],
    %% On a busy machine the broker takes minutes to boot.
    Node = ?NODE:start(Base, #{uid => Uid, program => ?BROKER,
                               env => Env ++ Paths, boot_ms => 300000}),
    Running = fun() -> ?NODE:call(Node, rabbit, is_running, []) end,
    ?LIB:until(Running),
    Node#{name => atom_to_list(?NODE:call(Node, erlang, node, []))}.

%% Publishes a number of messages and consumes them. Returns the number of
%% consumed messages.
load(Config, Queue, Count) ->
    {0, Said} = ended(client("load.py", Config, Queue, Count), <<>>),
    binary_to_integer(string:trim(Said)).

client(Name, Config, Queue, Count) ->
    Script = filename:join(?config(data_dir, Config), Name),
    open_port({spawn_executable, os:find_executable("timeout")},
              [{args, ["-k", "5", "100", ?PYTHON, Script,
                       integer_to_list(?PORT), Queue,
                       integer_to_list(Count)]},
               exit_status, binary, stderr_to_stdout]).

%% Returns what a client prints, up to the end of a line. The client continues to run.
said(Port, Said) ->
    case binary:last(<<0, Said/binary>>) of
        $\n -> Said;
        _ ->
            receive
                {Port, {data, More}} ->
                    said(Port, <<Said/binary, More/binary>>);
                {Port, {exit_status, Status}} ->
                    error({ended, Status, Said})
            end
    end.

ended(Port, Said) ->
    receive
        {Port, {data, More}} -> ended(Port, <<Said/binary, More/binary>>);
        {Port, {exit_status, Status}} -> {Status, Said}
    end.

start(Config, [Command | Args]) ->
    #{name := Name} = ?config(node, Config),
    Cmd = ?LIB:start(opts(Config), [Command, "-n", Name | Args], ?MS),
    ok = ?LIB:until_tracing(opts(Config), Name, Cmd),
    Cmd.

interrupted(Cmd) ->
    ok = ?LIB:signal(Cmd, "INT"),
    ?LIB:wait(Cmd, ?MS).

facts(Text) ->
    #{<<"produced">> := P, <<"recorded">> := R, <<"lost">> := L} = Facts =
        lists:last([inviso_trace_json:decode(Line)
                    || <<"{", _/binary>> = Line <- ?LIB:lines(Text)]),
    P = R + L,
    Facts.

%% Returns the exit status that the command must have: 7 if events were lost.
status_of(#{<<"lost">> := 0}) -> 0;
status_of(#{}) -> 7.

%% Checks that the broker still works and that nothing of inviso is left.
still_works(Config) ->
    true = ?NODE:call(?config(node, Config), rabbit, is_running, []),
    100 = load(Config, "after", 100),
    [] = ?LIB:until_same(fun() -> left(Config) end, ?MS),
    ok.

%% Returns the things that inviso has left behind. A broker loads modules,
%% starts processes and opens files by itself, so only differences with inviso's
%% name count.
left(Config) ->
    Now = inviso_footprint:of_node(?config(node, Config)),
    [D || {What, Gone, New} = D <- inviso_footprint:differences(
                                     ?config(before, Config), Now),
          case What of
              _ when What =:= processes; What =:= ports; What =:= ets;
                     What =:= registered; What =:= persistent_terms;
                     What =:= descriptors; What =:= files; What =:= said;
                     What =:= os_processes; What =:= modules ->
                  nomatch =/= string:find(io_lib:format("~0p", [New]),
                                          "inviso");
              _ ->
                  {Gone, New} =/= {[], []}
          end].

%%---------------------------------------------------------------------------

calls_and_messages_are_those_of_the_load(Config) ->
    N = 1000,
    Cmd = start(Config, ["trace", "--events", "0", "--for", "100s", "--json",
                         ?CALL, ?SEND]),
    N = load(Config, "traced", N),
    #{status := Status, out := Out, err := Err} = interrupted(Cmd),
    #{<<"produced">> := Produced, <<"recorded">> := Recorded} = Facts =
        facts(Err),
    Produced = 2 * N,
    Status = status_of(Facts),
    Events = [Tag || #{<<"tag">> := Tag} <- ?LIB:json(Out)],
    Recorded = length(Events),
    [N = length([T || T <- Events, T =:= Tag])
     || Status =:= 0, Tag <- [<<"call">>, <<"send">>]],
    still_works(Config).

record_counts_what_the_load_did(Config) ->
    N = 3000,
    Cmd = start(Config, ["record", "--for", "100s", "--json", "-o", "o",
                         ?CALL]),
    N = load(Config, "recorded", N),
    #{status := Status, out := Out} = interrupted(Cmd),
    #{<<"produced">> := N, <<"recorded">> := Recorded} = Facts = facts(Out),
    Status = status_of(Facts),
    Logs = filelib:wildcard(filename:join(maps:get(cwd, Cmd), "o/*.log")),
    #{status := Status, out := Merged} =
        ?LIB:run(opts(Config), ["merge", "-f", "json" | Logs]),
    Recorded = length([x || #{<<"tag">> := <<"call">>} <- ?LIB:json(Merged)]),
    #{<<"lost">> := Lost} = Facts,
    #{calls := Recorded, lost := Lost} = inviso_formats:agree(Config, Logs, []),
    still_works(Config).

%% The slow calls of many modules are shown with the names of record fields, in lines of 80 columns.
%% The log that -o writes has the same calls, with the names of processes. If a check fails, its
%% error does not contain the output, because Common Test takes minutes to print megabytes.
slow_calls_are_readable(Config) ->
    Cmd = start(Config, ["trace", "--events", "0", "--for", "100s", "--pretty",
                         "--width", "80", "--print-depth", "2", "-o", "s.log",
                         "rabbit_*:handle_*/3 -> slow(1us)"]),
    N = inviso_test_lib:soak(100, 500),
    N = load(Config, "readable", N),
    #{status := Status, out := Out} = interrupted(Cmd),
    Lost = lost(Out),
    Status = status_of(#{<<"lost">> => Lost}),
    ok = has(Out, ["#'basic.publish'{", "routing_key = <<\"readable\">>",
                   "#ch{", "-> {noreply,"]),
    %% Only lines that cannot be broken may be longer than 80 columns.
    Long = [Line || <<C, _/binary>> = Line <- ?LIB:lines(Out), C =/= $-,
                    string:length(Line) > 80,
                    string:find(Line, "<<") =:= nomatch],
    [] = lists:sublist(Long, 9),
    %% On a busy machine, events may be lost. The log then says how many.
    #{status := Merging, out := Merged} =
        ?LIB:run(opts(Config), ["merge", "--print-depth", "1",
                                filename:join(maps:get(cwd, Cmd), "s.log")]),
    Merging = Status,
    Lost = lost(Merged),
    %% A process that is busy or soon ends may be shown without a name. Other processes have names.
    match = re:run(Merged, "> \\(rabbit_[a-z_]+:[a-z_]+/[0-9]\\) call rabbit_",
                   [{capture, none}]),
    Shown = durations(Out),
    %% Only calls that take 1 us or longer are shown. Each of the N messages causes at least eight
    %% of them, and at least two must be shown. Lost events are added, because a lost event may be
    %% the reason why a call is not shown.
    true = length(Shown) + Lost > 2 * N,
    true = Shown =:= durations(Merged),
    #{ended := Ended} = inviso_formats:agree(Config, [filename:join(maps:get(cwd, Cmd), "s.log")],
                                             []),
    true = Ended =:= length(Shown),
    still_works(Config).

%% Returns how many events were lost, from the last line of a text.
lost(Text) ->
    Last = lists:last(?LIB:lines(Text)),
    case re:run(Last, "^-- .*?([0-9]+) lost", [{capture, [1], list}]) of
        {match, [Lost]} -> list_to_integer(Lost);
        nomatch -> {match, _} = re:run(Last, "^-- [0-9]+ events"), 0
    end.

durations(Text) ->
    {match, Found} = re:run(Text, "\\(~?[0-9.]+ [um]?s\\)\n",
                            [global, {capture, first, binary}]),
    Found.

has(Text, Words) ->
    [] = [W || W <- Words, string:find(Text, W) =:= nomatch],
    ok.

%% Records thousands of calls a second with their results. The counts must add up, and the broker
%% must not lose a message.
all_of_a_module_under_load(Config) ->
    N = 1000,
    Cmd = start(Config, ["record", "--for", "100s", "--json", "-o", "o",
                         "rabbit_channel", "rabbit_reader -> return"]),
    N = load(Config, "all", N),
    #{status := Status, out := Out} = interrupted(Cmd),
    #{<<"produced">> := Produced} = Facts = facts(Out),
    true = Produced > 5 * N,
    Status = status_of(Facts),
    still_works(Config).

%% The broker handles a flood of messages. Meanwhile some messages of one connection are followed:
%% from the connection's socket to the queue, and on to the connection that consumes them. The
%% process that reads the socket receives nothing but data from the socket. Still, each message must
%% be a separate request.
a_message_is_followed(Config) ->
    Self = self(),
    Cmd = start(Config, ["seq", "--for", "100s", "--json", "--requests", "3",
                         "--label", "Body", ?FOLLOWED]),
    Flood = spawn_link(fun() ->
                               Self ! {self(), load(Config, "flood", 3000)}
                       end),
    Follow = client("follow.py", Config, "followed", 300),
    <<"300\n">> = said(Follow, <<>>),
    #{status := 0, out := Out, err := Err} = ?LIB:wait(Cmd, ?MS),
    3000 = receive {Flood, Taken} -> Taken end,
    #{<<"requests">> := 3, <<"stopped">> := <<"3 requests (--requests)">>} =
        facts(Err),
    Events = [E || #{<<"tag">> := <<"seq_trace">>} = E <- ?LIB:json(Out)],
    [1, 2, 3] = lists:usort([R || #{<<"request">> := R} <- Events]),
    Roles = roles(Events, Config),
    true = port_command(Follow, "\n"),
    {0, <<>>} = ended(Follow, <<>>),
    _ = [ok = is_delivery([E || #{<<"request">> := N} = E <- Events,
                                N =:= R],
                          printed(<<"message ", ($0 + R - 1)>>), Roles)
         || R <- [1, 2, 3]],
    still_works(Config).

printed(Term) -> iolist_to_binary(io_lib:format("~w", [Term])).

%% Checks the events of one request: the message with this body goes through the right processes,
%% and no other message is in the request.
is_delivery(Events, Body, Roles) ->
    [<<"<<\"message ", _/binary>>] =
        lists:usort([L || #{<<"label">> := L} <- Events]),
    [{reader, channel}, {channel, queue}, {queue, channel}, {channel, writer}] =
        [{role(F, Roles), role(T, Roles)}
         || #{<<"payload">> := [<<"{'receive',", Info/binary>>],
              <<"from">> := F, <<"to">> := T} <- Events,
            binary:match(Info, Body) =/= nomatch],
    Other = string:trim(printed(<<"message ">>), trailing, ">"),
    [] = [E || #{<<"payload">> := [Info]} = E <- Events,
               binary:match(Info, Other) =/= nomatch,
               binary:match(Info, Body) =:= nomatch],
    ok.

%% Asks the broker which functions the processes in the events run. On a busy machine a process may
%% be shown without a name. But if a name is shown, it must be right.
roles(Events, Config) ->
    Ends = lists:usort([End || #{<<"from">> := F, <<"to">> := T} <- Events,
                               End <- [F, T]]),
    maps:from_list([{Pid, known(Name, Pid, ?config(node, Config))}
                    || #{<<"pid">> := Pid, <<"name">> := Name} <- Ends]).

known(Name, Pid, Node) ->
    Process = ?NODE:call(Node, erlang, list_to_pid, [binary_to_list(Pid)]),
    {M, F, A} = Initial =
        ?NODE:call(Node, proc_lib, translate_initial_call, [Process]),
    Known = [iolist_to_binary(io_lib:format("~s:~s/~b", [M, F, A]))] ++
        [atom_to_binary(Registered)
         || {registered_name, Registered} <-
                [?NODE:call(Node, erlang, process_info,
                            [Process, registered_name])]],
    true = Name =:= null orelse lists:member(Name, Known),
    Initial.

role(#{<<"pid">> := Pid}, Roles) ->
    case Roles of
        #{Pid := {rabbit_reader, init, 3}} -> reader;
        #{Pid := {rabbit_channel, init, 1}} -> channel;
        #{Pid := {rabbit_prequeue, init, 1}} -> queue;
        #{Pid := {rabbit_writer, enter_mainloop, 2}} -> writer
    end.

command_is_killed_under_load(Config) ->
    Self = self(),
    Cmd = start(Config, ["trace", "--events", "0", "--for", "100s",
                         "rabbit_channel"]),
    Load = spawn_link(fun() ->
                              Self ! {self(), load(Config, "killed", 2000)}
                      end),
    ?LIB:until(fun() -> ?LIB:out(Cmd) =/= <<>> end),
    ok = ?LIB:signal(Cmd, "KILL"),
    2000 = receive {Load, Taken} -> Taken end,
    still_works(Config).
