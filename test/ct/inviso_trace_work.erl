%% SPDX-License-Identifier: Apache-2.0
%% Workloads for inviso_differential_SUITE. Each runs in a traced process, does
%% the same every time, and gives names (roles) to its processes and ports, so
%% that the events of two runs can be compared.
-module(inviso_trace_work).

-export([calls/1, arguments/1, messages/1, timeouts/1, processes/1, linked/1,
         names/1, scheduled/1, exiting/1, minor/1, collections/1, max_heap/1,
         ports/1, linked_ports/1, sequence/1, spawn_many/1]).
-export([plain/1, nested/2, tail/1, crash/1, thrower/1, echo/0, child/1]).
-export([role/2]).


role(Name, Id) ->
    ets:insert(inviso_trace_roles, {Id, Name}),
    Id.

%% Makes calls of all kinds: local calls, external calls, tail calls, and calls
%% that return, raise an error or throw.
calls(_) ->
    2 = ?MODULE:plain(1),
    7 = ?MODULE:nested(3, 4),
    done = ?MODULE:tail(3),
    {'EXIT', _} = (catch ?MODULE:crash({bad, [1, 2.5, <<"x">>]})),
    thrown = (catch ?MODULE:thrower(thrown)),
    2 = apply(?MODULE, plain, [1]),
    [2, 3] = lists:map(fun ?MODULE:plain/1, [1, 2]),
    ok.

plain(N) -> N + 1.
nested(A, B) -> R = plain(A) + plain(B), R - 2.
tail(0) -> done;
tail(N) -> tail(N - 1).
crash(Why) -> erlang:error(Why).
thrower(X) -> throw(X).

arguments(_) ->
    [plain_any(T)
     || T <- [a, 'A b', [], "text", [1 | 2], {}, {1, {2}}, 1 bsl 70, -1,
              1.0e22, -0.0, <<>>, <<"bin">>, <<1:3>>, #{}, #{a => 1},
              self(), make_ref(), fun lists:map/2]],
    ok.

plain_any(T) -> ?MODULE:child(T).
child(_) -> ok.

echo() ->
    receive
        {From, X} -> From ! {self(), X}, echo();
        stop -> ok
    end.

%% Sends messages to a process, a registered name, a name on this node, a port, a dead process and a
%% name that no process has.
messages(#{peer := Peer}) ->
    Peer ! {self(), [hello, <<"world">>, 1.5]},
    receive {Peer, _} -> ok end,
    inviso_trace_peer ! {self(), 2},
    receive {Peer, 2} -> ok end,
    {inviso_trace_peer, node()} ! {self(), 3},
    receive {Peer, 3} -> ok end,
    self() ! to_myself,
    receive to_myself -> ok end,
    Dead = role(dead, spawn(fun() -> ok end)),
    Ref = monitor(process, Dead),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    Dead ! anybody_there,
    erlang:send(Peer, {self(), 4}, [noconnect]),
    receive {Peer, 4} -> ok end,
    ok.

timeouts(_) ->
    receive nothing -> ok after 1 -> ok end,
    receive nothing -> ok after 0 -> ok end,
    ok.

processes(#{peer := Peer}) ->
    Self = self(),
    A = role(a, spawn(?MODULE, child, [1])),
    gone(A),
    B = role(b, spawn(fun() -> receive stop -> exit({my, reason}) end end)),
    B ! stop,
    gone(B),
    process_flag(trap_exit, true),
    C = role(c, spawn_link(fun() -> receive stop -> ok end end)),
    unlink(C),
    link(C),
    C ! stop,
    receive {'EXIT', C, normal} -> ok end,
    {D, Ref} = spawn_monitor(fun() -> link(Self), receive stop -> ok end end),
    role(d, D),
    D ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end,
    receive {'EXIT', D, normal} -> ok end,
    link(Peer),
    unlink(Peer),
    process_flag(trap_exit, false),
    ok.

gone(Pid) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, _, _, _} -> ok end.

linked(_) ->
    A = role(a, spawn_link(fun() -> receive stop -> ok end end)),
    A ! stop,
    gone(A),
    ok.

names(_) ->
    register(inviso_trace_name, self()),
    unregister(inviso_trace_name),
    register('inviso trace \x{3bb}', self()),
    unregister('inviso trace \x{3bb}'),
    ok.

%% Waits for messages that a timer sends. They come after 30 ms, when the process already waits.
scheduled(#{peer := Peer}) ->
    [receive {slow, I} -> ok end
     || I <- [1, 2, 3],
        is_reference(erlang:send_after(30, self(), {slow, I}))],
    erlang:yield(),
    _ = Peer,
    ok.

%% A process owns a table that is so large that the process's exit takes several time slices.
exiting(_) ->
    A = role(a, spawn(fun() ->
                              T = ets:new(t, []),
                              [ets:insert(T, {I, I})
                               || I <- lists:seq(1, 150000)],
                              exit(bye)
                      end)),
    gone(A),
    ok.

collections(_) ->
    erlang:garbage_collect(),
    erlang:garbage_collect(self(), [{type, minor}]),
    ok.

minor(_) ->
    A = role(a, spawn(fun() -> length(grow(5000, [])) end)),
    gone(A),
    ok.

grow(0, Acc) -> Acc;
grow(N, Acc) -> grow(N - 1, [{N, N} | Acc]).

max_heap(_) ->
    Max = #{size => 20000, kill => true, error_logger => false},
    A = role(a, spawn_opt(fun() -> length(grow(100000, [])) end,
                          [{max_heap_size, Max}])),
    gone(A),
    ok.

ports(_) ->
    P = role(port, open_port({spawn_executable, "/bin/cat"}, [binary])),
    true = port_command(P, <<"hello">>),
    receive {P, {data, <<"hello">>}} -> ok end,
    P ! {self(), {command, ["wor", <<"ld">>]}},
    receive {P, {data, <<"world">>}} -> ok end,
    true = port_command(P, binary:copy(<<"long">>, 50)),
    data(P, 200),
    P ! {self(), {connect, self()}},
    receive {P, connected} -> ok end,
    true = port_connect(P, self()),
    unlink(P),
    link(P),
    register(inviso_trace_port, P),
    inviso_trace_port ! {self(), {command, <<"named">>}},
    receive {P, {data, <<"named">>}} -> ok end,
    unregister(inviso_trace_port),
    P ! {self(), close},
    receive {P, closed} -> ok end,
    ok.

data(_P, 0) -> ok;
data(P, N) -> receive {P, {data, D}} -> data(P, N - byte_size(D)) end.

linked_ports(_) ->
    process_flag(trap_exit, true),
    P = role(port, open_port({spawn_executable, "/bin/sleep"},
                             [{args, ["60"]}])),
    true = port_close(P),
    receive {'EXIT', P, normal} -> ok end,
    process_flag(trap_exit, false),
    ok.

%% Makes a sequential trace of messages between the worker and its peer.
sequence(#{peer := Peer} = Roles) ->
    seq_trace:set_token(label, {my, label}),
    seq_trace:set_token(send, true),
    seq_trace:set_token('receive', true),
    seq_trace:set_token(print, true),
    [seq_trace:set_token(Flag, true) || #{flag := Flag} <- [Roles]],
    seq_trace:print("note"),
    Peer ! {self(), [1, 2]},
    receive {Peer, _} -> ok end,
    seq_trace:print(#{a => <<1>>}),
    seq_trace:set_token([]),
    ok.

spawn_many(_) ->
    [gone(role(N, spawn(?MODULE, plain, [N]))) || N <- lists:seq(1, 20)],
    ok.
