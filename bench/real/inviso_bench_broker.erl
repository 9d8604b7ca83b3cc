%% SPDX-License-Identifier: Apache-2.0
%% A RabbitMQ broker and its load, each in a separate node. The script
%% bench/real/run chooses the directories, and the ports of the broker, which are in
%% the environment.
-module(inviso_bench_broker).
-export([start/2, call/4, taken/1, pause/1, resume/1, growth/2, resident/1]).

-export_type([broker/0]).

-define(SERVER, "/usr/lib/rabbitmq/bin/rabbitmq-server").
-define(BOOT_MS, 60000).
-define(CALL_MS, 60000).
%% How many queues there are, and how many messages circulate in each queue. These are enough to
%% keep the broker busy. With more messages the state of a channel would be larger, because the
%% state contains all messages that are not acknowledged.
-define(QUEUES, 4).
-define(CIRCULATING, 10).

-type broker() :: #{node := node(), load := node(), os_pid := integer(),
                    ports := [port()], load_pid := integer()}.

%% Starts RabbitMQ, and a node whose clients give RabbitMQ work, the load. Both end when the calling
%% process ends.
-spec start(file:filename(), file:filename()) -> broker().
start(Plugins, Work) ->
    Unique = os:getpid(),
    [Node, Load] = [list_to_atom(Name ++ Unique ++ "@localhost")
                    || Name <- ["rabbit", "load"]],
    Port = os:getenv("BENCH_BROKER_PORT"),
    Files = [{"RABBITMQ_" ++ Name, filename:join(Work, Name)}
             || Name <- ["MNESIA_BASE", "LOG_BASE", "PID_FILE",
                         "ENABLED_PLUGINS_FILE", "CONFIG_FILE",
                         "ADVANCED_CONFIG_FILE", "GENERATED_CONFIG_DIR",
                         "CONF_ENV_FILE"]],
    %% The broker is started in the same way as by a service manager: the VM runs without a shell.
    %% The variable LOGS is removed from the environment: RabbitMQ would log to the file in LOGS.
    BrokerPort = program(Work, "broker.out", [?SERVER],
                         [{"RABBITMQ_NODENAME", atom_to_list(Node)},
                          {"RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1"},
                          {"RABBITMQ_NODE_PORT", Port},
                          {"RABBITMQ_DIST_PORT", os:getenv("BENCH_DIST_PORT")},
                          {"RUNNING_UNDER_SYSTEMD", "true"},
                          {"NOTIFY_SOCKET", false}, {"LOGS", false} | Files]),
    LoadPort = program(Work, "load.out",
                       [os:find_executable("erl"), "-noinput", "-hidden",
                        "-sname", atom_to_list(Load),
                        "-pa", filename:dirname(code:which(?MODULE))],
                       [{"ERL_LIBS", Plugins}]),
    [OsPid, LoadPid] = [element(2, erlang:port_info(P, os_pid))
                        || P <- [BrokerPort, LoadPort]],
    Broker = #{node => Node, load => Load, os_pid => OsPid,
               load_pid => LoadPid, ports => [BrokerPort, LoadPort]},
    until(Broker, fun() -> rpc:call(Node, rabbit, is_running, []) end),
    until(Broker, fun() -> net_adm:ping(Load) =:= pong end),
    ok = call(Load, inviso_bench_load, start,
              [list_to_integer(Port), ?QUEUES, ?CIRCULATING]),
    until(Broker, fun() -> taken(Broker) > 0 end),
    Broker.

%% Starts a program. When this node ends, the kernel kills the program.
program(Work, Out, Words, Env) ->
    open_port({spawn_executable, os:find_executable("setpriv")},
              [{args, ["--pdeathsig", "KILL", "/bin/sh", "-c",
                       "exec \"$@\" </dev/null >\"$0\" 2>&1",
                       filename:join(Work, Out) | Words]},
               {env, Env}, {cd, Work}, exit_status, hide]).

until(Broker, Is) ->
    until(Broker, Is, erlang:monotonic_time(millisecond) + ?BOOT_MS).

until(#{ports := Ports} = Broker, Is, Late) ->
    receive
        {Port, {exit_status, Status}} ->
            error({ended_at_start, lists:member(Port, Ports), Status})
    after 100 ->
            case Is() of
                true -> ok;
                _ ->
                    erlang:monotonic_time(millisecond) < Late
                        orelse error(the_broker_does_not_start),
                    until(Broker, Is, Late)
            end
    end.

-spec call(node(), module(), atom(), [term()]) -> term().
call(Node, M, F, Args) ->
    case rpc:call(Node, M, F, Args, ?CALL_MS) of
        {badrpc, Why} -> error({Node, M, F, Why});
        Result -> Result
    end.

%% Returns how many messages the load has consumed since its start.
-spec taken(broker()) -> non_neg_integer().
taken(#{load := Load}) ->
    call(Load, inviso_bench_load, taken, []).

%% Stops the load's node by SIGSTOP, so that the broker has no work.
-spec pause(broker()) -> ok.
pause(Broker) -> signal("STOP", Broker).

-spec resume(broker()) -> ok.
resume(Broker) -> signal("CONT", Broker).

signal(Signal, #{load_pid := OsPid}) ->
    [] = os:cmd(lists:concat(["kill -", Signal, " ", OsPid])),
    ok.

%% Returns the broker's resident memory in bytes. Also resets the broker's peak memory to this size.
-spec resident(broker()) -> non_neg_integer().
resident(#{os_pid := OsPid} = Broker) ->
    ok = file:write_file(proc(OsPid, "clear_refs"), "5"),
    kib(Broker, "VmRSS").

%% Returns by how many bytes the broker's peak memory exceeds an earlier size.
-spec growth(broker(), non_neg_integer()) -> non_neg_integer().
growth(Broker, Before) ->
    max(0, kib(Broker, "VmHWM") - Before).

kib(#{os_pid := OsPid}, Field) ->
    {ok, Status} = file:read_file(proc(OsPid, "status")),
    {match, [Kib]} = re:run(Status, Field ++ ":\\s+(\\d+) kB",
                            [{capture, all_but_first, binary}]),
    binary_to_integer(Kib) * 1024.

proc(OsPid, Name) ->
    lists:concat(["/proc/", OsPid, "/", Name]).
