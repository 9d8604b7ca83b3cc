%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends messages. Never suspends the sender, and never opens a connection to
%% another node.
-module(inviso_message).

-export([reply/2, send/2]).

%% @doc Answers a request of `gen_server:call/2,3'. Like {@link send/2}, never
%% suspends the caller.
-spec reply({pid(), term()}, term()) -> ok.
reply({Pid, [alias | Alias] = Tag}, Answer)
  when is_pid(Pid), is_reference(Alias) ->
    send(Alias, {Tag, Answer});
reply({Pid, Tag}, Answer) when is_pid(Pid) ->
    send(Pid, {Tag, Answer});
reply(_, _) ->
    ok.

%% @doc Sends a message. If the buffer of the connection is full, a new process
%% waits in place of the caller. The new process runs none of inviso's code.
-spec send(pid() | reference(), term()) -> ok.
send(To, Message) ->
    case erlang:send(To, Message, [nosuspend, noconnect]) of
        nosuspend ->
            _ = spawn(erlang, send, [To, Message, [noconnect]]),
            ok;
        _ ->
            ok
    end.
