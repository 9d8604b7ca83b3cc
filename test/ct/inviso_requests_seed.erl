%% SPDX-License-Identifier: Apache-2.0
%% The example in the documentation of the module seq_trace, "Example of Use".
-module(inviso_requests_seed).

-export([run/0]).

run() ->
    Server = spawn(fun server/0),
    true = register(call_server, Server),
    Self = self(),
    Client = spawn(fun() -> client(port, Self) end),
    Client ! {port, message},
    receive {Client, done} -> ok end.

client(Port, From) ->
    receive
        {Port, _Message} ->
            seq_trace:set_token(label, 17),
            seq_trace:set_token('receive', true),
            seq_trace:set_token(print, true),
            seq_trace:print(17, "**** Trace Started ****"),
            call_server ! {self(), the_message},
            client(Port, From);
        {ack, _Ack} ->
            seq_trace:set_token([]),
            From ! {self(), done}
    end.

server() ->
    receive
        {PortController, Message} ->
            Ack = {received, Message},
            seq_trace:print(17, "We are here now"),
            PortController ! {ack, Ack}
    end.
