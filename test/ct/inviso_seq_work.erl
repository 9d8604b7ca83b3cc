%% SPDX-License-Identifier: Apache-2.0
%% @doc A shop on three nodes, for tests of requests. A checkout sends a message to the
%% process `shop' on another node. The shop then asks the process `stock' on the third
%% node.
-module(inviso_seq_work).

-export([start/1, checkout/2, checkouts/2, order/2, stock/1, keep/1, wire/2]).
-export([late/1, go_on/0, go_on/1, restless/1, quiet/1, deep/2, down/2, again/2, pings/2, ping/2]).
-export([tokens/0, own_tokens/0, asked_with_a_token/0]).

%% @doc Starts the process `shop', `stock' or `echo'.
start(Name) ->
    _ = [begin
             Old = monitor(process, P),
             exit(P, kill),
             receive {'DOWN', Old, process, P, _} -> ok end
         end || P <- [whereis(Name)], is_pid(P)],
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       register(Name, self()),
                                       Self ! {self(), ready},
                                       loop(Name)
                               end),
    receive {Pid, ready} -> demonitor(Ref, [flush]), Pid
    after 10000 -> error(late)
    end.

loop(shop) ->
    receive
        {order, From, Id, Stock} ->
            {stock, Stock} ! {get, self(), Id},
            receive {value, V} -> From ! {done, Id, V} end;
        _ ->
            ok
    end,
    loop(shop);
loop(echo) ->
    receive {ping, From} -> From ! pong; _ -> ok end,
    loop(echo);
loop(stock) ->
    receive {get, From, Id} -> From ! {value, stock(Id)}; _ -> ok end,
    loop(stock).

stock(Id) ->
    seq_trace:print({stock, Id}),
    Id * 2.

%% @doc Makes one checkout. In a checkout, 4 messages are sent and received, and one process prints
%% once. So a checkout makes 9 events.
checkout(Id, {Shop, Stock}) ->
    {shop, Shop} ! {order, self(), Id, Stock},
    receive {done, Id, V} -> V end.

%% @doc Makes one checkout for each id, all at the same time, each in a process of its own.
checkouts(Ids, Nodes) ->
    Ps = [{spawn_monitor(fun() -> exit({done, checkout(Id, Nodes)}) end), Id}
          || Id <- Ids],
    [receive {'DOWN', Ref, process, P, {done, V}} -> V = Id * 2 end
     || {{P, Ref}, Id} <- Ps],
    ok.

%% @doc Sends an order to the process `shop' on this node, and waits for the answer.
order(Id, Stock) ->
    {P, Ref} = spawn_monitor(
                 fun() ->
                         shop ! {order, self(), Id, Stock},
                         receive {done, Id, _} -> ok end
                 end),
    receive {'DOWN', Ref, process, P, normal} -> ok end.

%% @doc Makes checkouts one after the other in one process, which is woken only by a port. Messages
%% of ports do not change the token. So the process keeps the token of its last checkout.
wire(Ids, Nodes) ->
    Done = counters:new(1, []),
    Port = open_port({spawn_executable, os:find_executable("cat")},
                     [binary, use_stdio]),
    Pid = spawn(fun() -> wired(Port, Done, Nodes) end),
    true = port_connect(Port, Pid),
    true = unlink(Port),
    [begin
         true = port_command(Port, <<Id>>),
         counted(Done, N)
     end || {N, Id} <- lists:zip(lists:seq(1, length(Ids)), Ids)],
    %% The port also closes when its owner dies, and then port_close/1 fails.
    true = port_close(Port),
    true = exit(Pid, kill),
    ok.

wired(Port, Done, Nodes) ->
    receive
        {Port, {data, <<Id>>}} ->
            V = checkout(Id, Nodes),
            V = 2 * Id,
            counters:add(Done, 1, 1),
            wired(Port, Done, Nodes)
    end.

counted(Done, N) ->
    case counters:get(Done, 1) of
        N -> ok;
        _ -> timer:sleep(1), counted(Done, N)
    end.

%% @doc Starts a process that makes one checkout, and keeps the token until the process gets a
%% message. The process sends no message to the caller, so the caller gets no token.
keep(Nodes) ->
    P = spawn(fun() ->
                      14 = checkout(7, Nodes),
                      register(keeper, self()),
                      receive stop -> ok end
              end),
    kept(P).

kept(P) ->
    case whereis(keeper) of
        P -> P;
        undefined -> timer:sleep(5), kept(P)
    end.

%% @doc Starts a process that makes one checkout. When go_on/1 is called, the process sends one more
%% message of this request. Until then it receives no message, so it keeps its token.
late({Shop, _} = Nodes) ->
    persistent_term:put(?MODULE, waits),
    spawn(fun() ->
                  14 = checkout(7, Nodes),
                  until_on(),
                  {shop, Shop} ! late
          end).

until_on() ->
    case persistent_term:get(?MODULE) of
        on -> ok;
        waits -> timer:sleep(5), until_on()
    end.

go_on(P) ->
    Ref = monitor(process, P),
    go_on(),
    receive {'DOWN', Ref, process, P, _} -> ok end.

go_on() ->
    persistent_term:put(?MODULE, on).

%% @doc Starts the same process as late/1. But between go_on/0 and quiet/1 this process sends a
%% message of its request every 5 ms.
restless({Shop, _} = Nodes) ->
    persistent_term:put(?MODULE, waits),
    spawn(fun() ->
                  14 = checkout(7, Nodes),
                  until_on(),
                  until_quiet(Shop)
          end).

until_quiet(Shop) ->
    case persistent_term:get(?MODULE) of
        on -> {shop, Shop} ! late, timer:sleep(5), until_quiet(Shop);
        quiet -> ok
    end.

quiet(P) ->
    Ref = monitor(process, P),
    persistent_term:put(?MODULE, quiet),
    receive {'DOWN', Ref, process, P, _} -> ok end.

%% @doc Starts a process that calls down/2 N times by tail calls, so that no call ends. Then the
%% process makes a checkout each time that again/2 is called. Returns the process and the size of
%% its stack in words. The process sends the caller no message, so the caller gets no token.
deep(N, Nodes) ->
    persistent_term:put(?MODULE, waits),
    {spawn(fun() -> down(N, Nodes) end), stack()}.

stack() ->
    case persistent_term:get(?MODULE) of
        waits -> timer:sleep(1), stack();
        Words -> Words
    end.

down(0, Nodes) ->
    {stack_size, Words} = process_info(self(), stack_size),
    persistent_term:put(?MODULE, Words),
    each_time(Nodes);
down(N, Nodes) ->
    down(N - 1, Nodes).

each_time(Nodes) ->
    receive {again, Id} -> checkout(Id, Nodes) end,
    each_time(Nodes).

again(P, Id) ->
    P ! {again, Id},
    ok.

%% @doc Makes N rounds, one every 20 ms. In each round, sends 55 messages to the process `echo' on
%% the node, and waits for the answer to each message. A message has an odd serial, and its answer
%% has the next serial.
pings(Node, N) ->
    {P, Ref} = spawn_monitor(fun() -> ping(Node, N) end),
    receive {'DOWN', Ref, process, P, normal} -> ok end.

ping(Node, N) ->
    Began = erlang:monotonic_time(millisecond),
    [begin
         timer:sleep(max(0, Began + 20 * I - erlang:monotonic_time(millisecond))),
         [begin
              {echo, Node} ! {ping, self()},
              receive pong -> ok end
          end || _ <- lists:seq(1, 55)]
     end || I <- lists:seq(0, N - 1)],
    ok.

%% @doc Sends requests to inviso's processes from a process that holds a token.
asked_with_a_token() ->
    {Pid, Ref} = spawn_monitor(
                   fun() ->
                           _ = seq_trace:set_token(label, 1),
                           _ = seq_trace:set_token(send, true),
                           {ok, _} = gen_server:call(inviso_guard, clients),
                           [#{} = gen_server:call(P, status)
                            || {{user, P}, _, _} <- ets:tab2list(inviso_guard)],
                           exit(done)
                   end),
    receive {'DOWN', Ref, process, Pid, done} -> ok end.

%% @doc Returns the processes that hold a token, each with the token's label.
tokens() ->
    [{P, Label} || P <- processes(),
                   {_, {_, Label, _, _, _}}
                       <- [process_info(P, sequential_trace_token)]].

%% @doc Returns the number of inviso's processes, and a list of those that hold a token.
own_tokens() ->
    Rows = ets:tab2list(inviso_guard),
    Own = lists:append([Ps || {own, Ps} <- Rows]) ++ [P || {{user, P}, _, _} <- Rows],
    Links = lists:append([Ls || P <- Own, {links, Ls} <- [process_info(P, links)]]),
    All = lists:usort(Own ++ [P || P <- Links, is_pid(P), node(P) =:= node()]),
    {length(All), [P || {P, _} <- tokens(), lists:member(P, All)]}.
