%% SPDX-License-Identifier: Apache-2.0
%% Sequential traces that pass through a C node: the section "Distribution" of the
%% document of seq_trace. The C node is test/tools/cnode_server.c.
-module(inviso_cnode_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
%% on the nodes
-export([run/1]).
-export([distribution_through_a_relay/1, a_loop_of_its_own/1,
         without_token/1, two_requests_do_not_mix/1,
         begins_in_the_c_node/1, labels_have_28_bits/1, an_exit_signal/1,
         a_killed_node_leaves_a_log/1, events_are_kept_in_memory/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_requests_work).
-define(ALL, [send, 'receive', print]).

all() ->
    [distribution_through_a_relay, a_loop_of_its_own, without_token,
     two_requests_do_not_mix, begins_in_the_c_node, labels_have_28_bits,
     an_exit_signal, a_killed_node_leaves_a_log, events_are_kept_in_memory].

suite() -> [{timetrap, {seconds, 300}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so", tool()]).

end_per_suite(_Config) -> ok.

tool() ->
    filename:join(filename:dirname(filename:absname(code:which(?MODULE))),
                  "cnode_server").

%%---------------------------------------------------------------------------

%% A process on a node sends a message to the C node, which sends a message to a
%% process on another node. Each send event has its receive event.
distribution_through_a_relay(Config) ->
    relayed(Config, {0, 0}).

%% The same test, but cnode_server receives messages with a function of ei instead of one of
%% inviso_cnode.
a_loop_of_its_own(Config) ->
    relayed(Config, {0, 1}).

relayed(Config, How) ->
    World = start(Config, How),
    {relayed, {order, 7}} =
        traced(World, 17, fun(C) ->
                                  C ! {relay, 2, sink, {order, 7}},
                                  C ! {work, self(), 21},
                                  receive {done, 42} -> ok end
                          end),
    Events = stop(World),
    [<<"17">>] = lists:usort([L || #{<<"label">> := L} <- Events]),
    [1] = lists:usort([R || #{<<"request">> := R} <- Events]),
    certain(Events),
    %% Two messages went from node a to the C node c, one from c to a, and one from c to b.
    [{a, c}, {a, c}, {c, a}, {c, b}] =
        lists:sort([{node_of(S, World), node_of(R, World)}
                    || {S, R} <- messages(Events)]),
    [Print] = of_kind(print, Events),
    {c, {match, _}} = {node_of(Print, World),
                       re:run(payload(Print), "\\[\\],{working,21}}$")},
    %% The cause of the print is the receive event of the message {work,_,_}.
    #{<<"cause">> := Cause, <<"certain">> := true} = Print,
    [Work] = [E || #{<<"id">> := Id} = E <- Events, Id =:= Cause],
    {match, _} = re:run(payload(Work), "^{'receive',.*{work,<"),
    %% The C node counts serials as an Erlang process does.
    [{1, 2}, {2, 3}, {2, 4}] =
        [serial(E) || E <- Events, c =:= node_of(E, World),
                      kind(E) =/= 'receive'].

%% After the C node has received a message without a token, it sends messages without a token.
without_token(Config) ->
    World = #{c := C} = start(Config, {0, 0}),
    {relayed, one} =
        traced(World, 3, fun(_) -> C ! {relay, 2, sink, one} end),
    call(World, a, fun() -> C ! {work, self(), 1}, receive {done, 2} -> ok end end),
    call(World, a, fun() -> C ! {relay, 2, sink, two} end),
    {relayed, two} = sunk(World),
    Events = stop(World),
    %% The messages without a token are not recorded.
    [a, b, c, c] = lists:sort([node_of(E, World) || E <- Events]),
    certain(Events).

%% Two peers send requests, and the C node answers them in the opposite order.
two_requests_do_not_mix(Config) ->
    World = #{c := C} = start(Config, {0, 0}),
    Ask = fun(Label, N) ->
                  fun() ->
                          token(Label),
                          C ! {keep, self(), N},
                          receive {kept, N} -> ok end
                  end
          end,
    Asking = [spawn_call(World, a, Ask(100, 1)), spawn_call(World, b, Ask(200, 2))],
    %% Waits until the C node has recorded both requests. The C node handles messages one after the
    %% other, so it has stored both tokens when it gets the next message.
    inviso_test_lib:wait_until(
      fun() -> length(of_kind('receive', events(World, [log(World, c)]))) =:= 2 end),
    call(World, a, fun() -> C ! {answer, 1} end),
    call(World, a, fun() -> C ! {answer, 2} end),
    [receive {Pid, ok} -> ok end || Pid <- Asking],
    Events = stop(World),
    certain(Events),
    [{<<"100">>, a, c}, {<<"100">>, c, a}, {<<"200">>, b, c}, {<<"200">>, c, b}] =
        lists:sort([{Label, node_of(S, World), node_of(R, World)}
                    || {#{<<"label">> := Label} = S, R} <- messages(Events)]),
    2 = length(lists:usort([R || #{<<"request">> := R} <- Events])).

begins_in_the_c_node(Config) ->
    World = #{c := C} = start(Config, {0, 0}),
    call(World, a, fun() ->
                           C ! {start, self(), 5},
                           receive {started, 5} -> ok end,
                           [] =/= seq_trace:get_token() orelse error(no_token)
                   end),
    [Send, Receive] = Events = stop(World),
    certain(Events),
    {c, a} = {node_of(Send, World), node_of(Receive, World)},
    #{<<"label">> := <<"5">>, <<"cause">> := null} = Send,
    {0, 1} = serial(Send).

%% The VM sends a C node only labels that are integers of 28 bits.
labels_have_28_bits(Config) ->
    World = #{c := C} = start(Config, {0, 0}),
    Labels = [-(1 bsl 27), -1, 0, (1 bsl 27) - 1],
    Others = [-(1 bsl 27) - 1, 1 bsl 27, order, {shop, 1}],
    [call(World, a, fun() ->
                            token(Label),
                            C ! {work, self(), 1},
                            receive {done, 2} -> ok end
                    end) || Label <- Labels ++ Others],
    Events = stop(World),
    Seen = [L || #{<<"label">> := L} = E <- Events, c =:= node_of(E, World),
                 kind(E) =:= 'receive'],
    Seen = [integer_to_binary(L) || L <- Labels].

%% The exit signal of a linked process also has a token.
an_exit_signal(Config) ->
    World = #{c := C} = start(Config, {0, 0}),
    call(World, a, fun() ->
                           C ! {pid, self()},
                           Pid = receive {pid, P} -> P end,
                           {_, Ref} = spawn_monitor(fun() ->
                                                            link(Pid),
                                                            token(9),
                                                            exit(bye)
                                                    end),
                           receive {'DOWN', Ref, _, _, bye} -> ok end,
                           %% The exit signal arrives before this message, because signals of one
                           %% process stay in order.
                           C ! {pid, self()},
                           receive {pid, Pid} -> ok end
                   end),
    Events = stop(World),
    [{S, R}] = messages(Events),
    #{<<"signal">> := <<"exit">>} = R,
    {a, c} = {node_of(S, World), node_of(R, World)},
    {match, _} = re:run(payload(R), "{'EXIT',<[0-9.]+>,bye}}$").

a_killed_node_leaves_a_log(Config) ->
    World = #{os_pid := Pid, port := Port} = start(Config, {0, 0}),
    [{relayed, N} = traced(World, N, fun(C) -> C ! {relay, 2, sink, N} end)
     || N <- lists:seq(1, 100)],
    ?LIB:kill("KILL", Pid),
    receive {Port, {exit_status, _}} -> ok end,
    {Events, Said} = recorded(World),
    200 = length([E || E <- Events, c =:= node_of(E, World)]),
    certain(Events),
    400 = length(Events),
    ct:log("~ts", [Said]).

%% If the C node buffers events, its log is smaller. The log is complete when the C node has ended.
events_are_kept_in_memory(Config) ->
    Sizes = [begin
                 World = start(Config, {Buffer, 0}),
                 [{relayed, N} = traced(World, N, fun(C) -> C ! {relay, 2, sink, N} end)
                  || N <- lists:seq(1, 20)],
                 call(World, a, fun() -> burst(maps:get(c, World)) end),
                 Events = stop(World),
                 certain(Events),
                 580 = length(Events),
                 filelib:file_size(log(World, c))
             end || Buffer <- [0, 32768]],
    [Unbuffered, Buffered] = Sizes,
    ct:log("~p bytes", [Sizes]),
    true = Buffered < Unbuffered div 2.

burst(C) ->
    token(1000),
    Work = lists:seq(1, 100),
    [C ! {work, self(), N} || N <- Work],
    [receive {done, M} when M =:= 2 * N -> ok end || N <- Work],
    ok.

%%---------------------------------------------------------------------------
%% The nodes a and b, and the C node c

start(Config, {Buffer, Own}) ->
    Nodes = [A, B] = [inviso_test_lib:start_node(N, ?LIB:dir(Config), ?LIB:node_args())
                      || N <- [cnode_a, cnode_b]],
    [load(N) || N <- Nodes],
    ok = inviso_test_lib:connect(Nodes),
    Logs = [?LIB:name(Config, N ++ ".log") || N <- ["a", "b", "c"]],
    [ok = inviso_test_lib:call(N, ?WORK, record, [L])
     || {N, L} <- lists:zip(Nodes, lists:droplast(Logs))],
    #{name := NameA} = A,
    #{name := NameB} = B,
    [_, Host] = string:lexemes(atom_to_list(NameA), "@"),
    Name = lists:concat(["c_", os:getpid(), "_",
                         erlang:unique_integer([positive]), "@", Host]),
    Port = open_port({spawn_executable, tool()},
                     [{args, [Name, atom_to_list(erlang:get_cookie()),
                              lists:last(Logs), integer_to_list(Buffer),
                              integer_to_list(Own)
                              | [atom_to_list(N) || N <- [NameA, NameB]]]},
                      {line, 1000}, exit_status, binary, stderr_to_stdout]),
    receive {Port, {data, {eol, <<"ready">>}}} -> ok;
            {Port, Other} -> error({cnode_server, Other})
    end,
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    World = #{a => A, b => B, c => {any, list_to_atom(Name)}, port => Port,
              os_pid => Pid, logs => Logs,
              names => #{NameA => a, NameB => b, list_to_atom(Name) => c}},
    ok = sink(World),
    World.

load(Node) ->
    ok = inviso_test_lib:call(Node, inviso_tracer, load, [inviso_test_lib:priv()]).

%% Starts the process `sink' on node b. When sunk/1 asks this process, it waits for a message
%% {relayed, _}, and passes the message to sunk/1.
sink(#{b := B}) ->
    Loop = fun Next() ->
                   receive
                       {next, From, Ref} ->
                           receive {relayed, _} = M -> ok end,
                           seq_trace:set_token([]),
                           From ! {Ref, M},
                           Next()
                   end
           end,
    inviso_test_lib:spawn_call(B, erlang, apply,
                               [fun() -> register(sink, self()), Loop() end, []]),
    inviso_test_lib:wait_until(
      fun() -> is_pid(inviso_test_lib:call(B, erlang, whereis, [sink])) end).

%% Waits for the next message of the sink, and returns it.
sunk(#{b := B}) ->
    inviso_test_lib:call(B, erlang, apply,
                         [fun() ->
                                  Ref = make_ref(),
                                  sink ! {next, self(), Ref},
                                  receive {Ref, M} -> M end
                          end, []]).

%% Runs Fun on node a, in a process that has a token. Returns the message that the sink then
%% receives.
traced(#{c := C} = World, Label, Fun) ->
    call(World, a, fun() -> token(Label), Fun(C) end),
    sunk(World).

token(Label) ->
    seq_trace:set_token(label, Label),
    [seq_trace:set_token(Flag, true) || Flag <- ?ALL].

%% Runs Fun in a new process on the node, so that only this process gets a token.
call(World, Where, Fun) ->
    Pid = spawn_call(World, Where, Fun),
    receive {Pid, ok} -> ok after 60000 -> error(timeout) end.

spawn_call(World, Where, Fun) ->
    Self = self(),
    Node = maps:get(Where, World),
    spawn_link(fun() ->
                       ok = inviso_test_lib:call(Node, ?MODULE, run, [Fun]),
                       Self ! {self(), ok}
               end).

%% Is called on a node: runs Fun in a new process, and waits for its end.
run(Fun) ->
    {Pid, Ref} = spawn_monitor(Fun),
    receive {'DOWN', Ref, process, Pid, normal} -> ok;
            {'DOWN', Ref, process, Pid, Why} -> {failed, Why}
    end.

stop(#{a := A, c := C, port := Port} = World) ->
    inviso_test_lib:call(A, erlang, send, [C, {stop}]),
    receive {Port, {exit_status, 0}} -> ok;
            {Port, Other} -> error({cnode_server, Other})
    end,
    {Events, _} = recorded(World),
    Events.

%% Ends the tracing of both nodes, and returns the events of all logs.
recorded(#{a := A, b := B, logs := Logs} = World) ->
    [begin
         {ok, #{dropped := 0}} = inviso_test_lib:call(N, ?WORK, stop, []),
         inviso_test_lib:stop_node(N)
     end || N <- [A, B]],
    merged(World, Logs).

events(World, Logs) ->
    element(1, merged(World, Logs)).

log(#{logs := Logs}, c) -> lists:last(Logs).

merged(_World, Logs) ->
    {_, Bin, Said} = ?LIB:merge(Logs, "json"),
    Lines = binary:split(Bin, <<"\n">>, [global, trim_all]),
    Items = [inviso_trace_json:decode(L) || L <- Lines],
    {[E || #{<<"tag">> := <<"seq_trace">>} = E <- Items], Said}.

%%---------------------------------------------------------------------------
%% Events

payload(#{<<"payload">> := [Payload]}) -> Payload.

kind(E) ->
    {match, [Kind]} = re:run(payload(E), "^{'?([a-z]+)'?,",
                             [{capture, all_but_first, binary}]),
    binary_to_atom(Kind).

of_kind(Kind, Events) ->
    [E || E <- Events, kind(E) =:= Kind].

serial(E) ->
    {match, Serial} = re:run(payload(E), "^{[^,]*,{([0-9]+),([0-9]+)}",
                             [{capture, all_but_first, list}]),
    list_to_tuple([list_to_integer(N) || N <- Serial]).

node_of(#{<<"node">> := Node}, #{names := Names}) ->
    maps:get(binary_to_atom(Node), Names).

%% Returns {Send event, Receive event} for each message. The two events have the same label and the
%% same serial. Fails if an event has no partner.
messages(Events) ->
    Key = fun(#{<<"label">> := L} = E) -> {L, serial(E)} end,
    Sent = maps:from_list([{Key(E), E} || E <- of_kind(send, Events)]),
    Received = of_kind('receive', Events),
    {N, N} = {map_size(Sent), length(Received)},
    [{maps:get(Key(E), Sent), E} || E <- Received].

%% Checks that the merge knows the cause of each event for certain (the first event of a request has
%% no cause), and that the cause of a receive event is the send event with the same serial.
certain(Events) ->
    [] = [E || #{<<"orphan">> := _} = E <- Events],
    [] = [E || #{<<"certain">> := false} = E <- Events],
    Sends = maps:from_list([{Id, E} || #{<<"id">> := Id} = E <- of_kind(send, Events)]),
    [true = serial(E) =:= serial(maps:get(Cause, Sends))
     || #{<<"cause">> := Cause} = E <- of_kind('receive', Events)],
    ok.
