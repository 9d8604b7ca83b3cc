%% SPDX-License-Identifier: Apache-2.0
%% Sequential tracing: the time of a message with a token under inviso's tracer and
%% under its peers, the cost for messages without a token, and the rate at which logs
%% of two nodes are merged in causal order.
-module(inviso_bench_seq).
-export([rows/2]).
-export([record/3, relay/2]). % on the recorded nodes

-define(MESSAGES, 10000).
-define(ROUNDS, 60).
%% The recorded traces have CHAINS chains of messages, with HOPS messages in each chain. Every
%% LOCAL-th message goes to the other node. Each message makes two events.
-define(CHAINS, 16).
-define(HOPS, 32000).
-define(LOCAL, 8).

%% Rate is a function that merges logs, and returns the number of events per second of CPU time.
%% Returns a list of {Name, Value, Unit, Against, Peer}.
rows(Work, Rate) ->
    message_rows(Work) ++ merge_rows(Work, Rate).

%%---------------------------------------------------------------------------
%% Messages

message_rows(Work) ->
    Sink = spawn(fun sink/0),
    {ok, Tracer} = inviso_tracer:open(filename:join(Work, "seq.log"), #{}),
    Kinds = [{none, false, false}, {empty, {empty_tracer, 1}, true},
             {inviso, Tracer, true}, {process, Sink, true},
             {idle, Tracer, false}],
    Rounds = [[{Kind, messages(T, Token)} || {Kind, T, Token} <- Kinds]
              || _ <- lists:seq(1, ?ROUNDS)],
    exit(Sink, kill),
    {ok, #{dropped := Lost}} = inviso_tracer:close(Tracer),
    Ns = fun(Kind) -> quartile([proplists:get_value(Kind, R) || R <- Rounds]) end,
    [{"message with a token, empty NIF system tracer", Ns(empty), "ns", "no token", Ns(none)},
     {"message with a token, inviso", Ns(inviso), "ns", "empty NIF", Ns(empty)},
     {"message with a token, process", Ns(process), "ns", "empty NIF", Ns(empty)},
     {"message with a token, inviso", Ns(inviso), "ns", "process", Ns(process)},
     {"message without a token, inviso is the system tracer", Ns(idle), "ns",
      "no system tracer", Ns(none)},
     {"events with a token lost meanwhile, inviso", Lost, "events", "nothing", 0}].

sink() -> receive _ -> sink() end.

%% Returns how many nanoseconds a process needs to send itself a message and receive it.
messages(Tracer, Token) ->
    _ = seq_trace:set_system_tracer(Tracer),
    {Pid, Ref} = spawn_monitor(
                   fun() ->
                           _ = Token andalso inviso_seq:label(17),
                           loop(500),
                           T0 = erlang:monotonic_time(nanosecond),
                           loop(?MESSAGES),
                           T1 = erlang:monotonic_time(nanosecond),
                           exit({ns, (T1 - T0) / ?MESSAGES})
                   end),
    Ns = receive {'DOWN', Ref, process, Pid, {ns, X}} -> X end,
    _ = seq_trace:set_system_tracer(false),
    Ns.

loop(0) -> ok;
loop(N) ->
    self() ! {{get, N}, [a, b, <<"hello world">>]},
    receive {{get, N}, _} -> ok end,
    loop(N - 1).

quartile(List) ->
    lists:nth(length(List) div 4 + 1, lists:sort(List)).

%%---------------------------------------------------------------------------
%% Merge

merge_rows(Work, Rate) ->
    Paths = [filename:absname(P) || P <- code:get_path(), filename:basename(P) =/= "."],
    Args = ["-setcookie", "bench", "-pa" | Paths],
    Nodes = [begin
                 {ok, P, Node} = peer:start(#{name => peer:random_name(Name),
                                              connection => standard_io, args => Args}),
                 {P, Node}
             end || Name <- ["inviso_bench_a", "inviso_bench_b"]],
    [{A, NodeA}, {B, NodeB}] = Nodes,
    Logs = [filename:absname(filename:join(Work, Name)) || Name <- ["a.log", "b.log"]],
    [LogA, LogB] = Logs,
    ok = call(B, record, [LogB, NodeA, wait]),
    ok = call(A, record, [LogA, NodeB, start]),
    N = lists:sum([begin
                       P ! {close, self()},
                       receive {closed, #{recorded := R, dropped := 0}} -> R end
                   end || {Peer, _} <- lists:reverse(Nodes),
                          P <- [closer(Peer)]]),
    _ = [peer:stop(P) || {P, _} <- Nodes],
    Of = fun(Order) ->
                 lists:nth(2, lists:sort([Rate(["--format", "text", "--order", Order],
                                               Logs, N)
                                          || _ <- [1, 2, 3]]))
         end,
    ByTime = Of("time"),
    [{"merge sequential traces of two nodes, by cause", Of("cause"), "events/s of CPU",
      "by time", ByTime}].

call(Peer, F, Args) ->
    peer:call(Peer, ?MODULE, F, Args, 120000).

%% Starts a process. When the process gets a message `close', it closes the log of the node Peer.
closer(Peer) ->
    spawn(fun() ->
                  receive
                      {close, From} -> From ! {closed, call(Peer, record, [close, x, x])}
                  end
          end).

%% record(Log, Other, wait) opens a log in a new process, and starts relays. Then the other node
%% calls record(Log, Other, start), which also opens a log and starts relays. It then sends messages
%% through all chains, and returns when all chains have ended. record(close, _, _) closes the log of
%% the node on which it is called.
record(close, _, _) ->
    ?MODULE ! {close, self()},
    receive {closed, Stats} -> Stats end;
record(Log, Other, What) ->
    Self = self(),
    spawn(fun() ->
                  true = register(?MODULE, self()),
                  {ok, Tracer} = inviso_tracer:open(Log, #{buffer_bytes => 128 * 1024 * 1024}),
                  ok = inviso_seq:start(Tracer),
                  Self ! ready,
                  receive
                      {close, From} ->
                          ok = inviso_seq:stop(Tracer),
                          {ok, Stats} = inviso_tracer:close(Tracer),
                          From ! {closed, Stats}
                  end
          end),
    receive ready -> ok end,
    _ = [register(name(I), spawn(?MODULE, relay, [I, Other])) || I <- lists:seq(1, ?CHAINS)],
    case What of
        wait ->
            ok;
        start ->
            pong = net_adm:ping(Other),
            _ = [spawn(fun() ->
                               inviso_seq:label({chain, I}),
                               name(I) ! {hop, ?HOPS, [Self, I], <<"hello world">>}
                       end) || I <- lists:seq(1, ?CHAINS)],
            _ = [receive {done, I} -> ok end || I <- lists:seq(1, ?CHAINS)],
            ok
    end.

name(I) -> list_to_atom("inviso_bench_relay_" ++ integer_to_list(I)).

%% A relay passes messages on, usually to the next relay on this node. If the message's number is a
%% multiple of LOCAL, the message goes to the relay with the same number on the other node.
relay(I, Other) ->
    receive
        {hop, 0, [Starter, Chain], _} ->
            _ = seq_trace:set_token([]),
            Starter ! {done, Chain};
        {hop, N, More, Data} when N rem ?LOCAL =:= 0 ->
            {name(I), Other} ! {hop, N - 1, More, Data};
        {hop, N, More, Data} ->
            name(I rem ?CHAINS + 1) ! {hop, N - 1, More, Data}
    end,
    relay(I, Other).
