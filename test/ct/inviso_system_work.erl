%% SPDX-License-Identifier: Apache-2.0
%% @doc Work for the nodes of inviso_system_SUITE. The work makes the VM report
%% events to the system monitor.
-module(inviso_system_work).

-export([collects/1, runs_long/1, is_busy/0, is_busy_to/1, is_flooded/1, reports/2, holds/0]).

%% @doc Runs a garbage collection in a process that has a list of N elements.
collects(N) ->
    in_process(fun() ->
                       List = lists:seq(1, N),
                       true = garbage_collect(),
                       length(List)
               end).

%% @doc Sends a list of N elements, which copies the list. The scheduler cannot run another process
%% during the copying.
runs_long(N) ->
    in_process(fun() ->
                       List = lists:seq(1, N),
                       self() ! List,
                       receive [_ | _] -> length(List) end
               end).

%% @doc Writes to a port whose program reads nothing, until the port is busy.
is_busy() ->
    in_process(fun() ->
                       Port = open_port({spawn, "sleep 20"}, [binary]),
                       Writer = spawn_link(fun() -> written(Port) end),
                       true = port_connect(Port, Writer),
                       until_suspended(Writer),
                       exit(Writer, kill)
               end).

written(Port) ->
    receive after 1 -> ok end,
    true = port_command(Port, binary:copy(<<"a">>, 100000)),
    written(Port).

%% @doc Sends messages to a node that does not read them, until the connection's buffer is full.
is_busy_to(Node) ->
    in_process(fun() ->
                       Data = binary:copy(<<"a">>, 1000000),
                       Sender = spawn_link(fun() -> sent({none, Node}, Data) end),
                       until_suspended(Sender),
                       exit(Sender, kill)
               end).

sent(To, Data) ->
    To ! Data,
    sent(To, Data).

%% Waits until the process has the status `suspended', which it has while it waits for a busy port.
until_suspended(Pid) ->
    _ = process_flag(trap_exit, true),
    case process_info(Pid, status) of
        {status, suspended} -> ok;
        {status, _} -> receive after 1 -> until_suspended(Pid) end
    end.

%% @doc Sends N messages to a process that does not receive them.
is_flooded(N) ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    _ = [Pid ! I || I <- lists:seq(1, N)],
    {message_queue_len, N} = process_info(Pid, message_queue_len),
    Pid ! stop,
    ok.

%% @doc Suspends the process Monitor, and sends it N reports of a system monitor. Returns how many
%% messages the suspended process has in its queue. Then the process continues.
reports(Monitor, N) ->
    true = erlang:suspend_process(Monitor),
    _ = [Monitor ! {monitor, self(), busy_port, none} || _ <- lists:seq(1, N)],
    {message_queue_len, Waiting} = process_info(Monitor, message_queue_len),
    true = erlang:resume_process(Monitor),
    Waiting.

in_process(Fun) ->
    {_, Ref} = spawn_monitor(Fun),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% @doc Starts a process that becomes the system monitor of the node, like that of another tool.
%% Returns the process, and the settings of the system monitor.
holds() ->
    Self = self(),
    Pid = spawn(fun() ->
                        true = register(another_tool, self()),
                        _ = erlang:system_monitor(self(), [busy_port]),
                        Self ! {self(), erlang:system_monitor()},
                        receive stop -> ok end
                end),
    receive {Pid, Set} -> {Pid, Set} end.
