%% SPDX-License-Identifier: Apache-2.0
%% Load for a RabbitMQ broker, made with RabbitMQ's own Erlang client. Runs in a
%% node of its own.
%%
%% Each connection has a queue, in which a fixed number of small messages
%% circulates: the connection acknowledges each delivered message and publishes
%% it again. So the broker always has work, and queues do not grow.
-module(inviso_bench_load).
-export([start/3, taken/0]).

-include_lib("amqp_client/include/amqp_client.hrl").

-define(MESSAGE, <<"a small message of 30 bytes...">>).

%% Connects to the broker on this port of this machine. The connections circulate messages until the
%% node ends.
-spec start(inet:port_number(), pos_integer(), pos_integer()) -> ok.
start(Port, Connections, Circulating) ->
    {ok, _} = application:ensure_all_started(amqp_client),
    Taken = counters:new(1, [write_concurrency]),
    persistent_term:put(?MODULE, Taken),
    %% Each connection gets a process of its own, because the caller, a process of rpc, may end.
    _ = [spawn(fun() -> connection(Port, Circulating, Taken) end)
         || _ <- lists:seq(1, Connections)],
    ok.

%% Returns how many messages the broker has delivered since the start.
-spec taken() -> non_neg_integer().
taken() ->
    counters:get(persistent_term:get(?MODULE), 1).

%% Publisher and consumer have different connections, as RabbitMQ's manual recommends: the broker
%% may slow down a connection that publishes.
connection(Port, Circulating, Taken) ->
    %% If a connection ends, there is less load for the broker. So this node ends too.
    process_flag(trap_exit, true),
    [From, To] = [channel(Port), channel(Port)],
    #'queue.declare_ok'{queue = Queue} =
        amqp_channel:call(From, #'queue.declare'{exclusive = true}),
    #'basic.qos_ok'{} =
        amqp_channel:call(From, #'basic.qos'{prefetch_count = Circulating}),
    #'basic.consume_ok'{} =
        amqp_channel:subscribe(From, #'basic.consume'{queue = Queue}, self()),
    Publish = #'basic.publish'{routing_key = Queue},
    _ = [publish(To, Publish) || _ <- lists:seq(1, Circulating)],
    circulate(From, To, Publish, Taken).

channel(Port) ->
    {ok, Connection} = amqp_connection:start(
                         #amqp_params_network{host = "127.0.0.1", port = Port}),
    true = link(Connection),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    true = link(Channel),
    Channel.

circulate(From, To, Publish, Taken) ->
    receive
        {#'basic.deliver'{delivery_tag = Tag}, _} ->
            ok = counters:add(Taken, 1, 1),
            ok = amqp_channel:cast(From, #'basic.ack'{delivery_tag = Tag}),
            publish(To, Publish),
            circulate(From, To, Publish, Taken);
        #'basic.consume_ok'{} ->
            circulate(From, To, Publish, Taken);
        {'EXIT', _, Why} ->
            logger:error("a connection of the load ended: ~0p", [Why]),
            halt(1)
    end.

publish(To, Publish) ->
    ok = amqp_channel:cast(To, Publish, #amqp_msg{payload = ?MESSAGE}).
