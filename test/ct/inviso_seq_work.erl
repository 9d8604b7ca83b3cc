%% SPDX-License-Identifier: Apache-2.0
%% @doc A shop on three nodes, for tests of requests: a checkout sends a message to the
%% shop, which asks the stock, on two other nodes.
-module(inviso_seq_work).

-export([start/1, checkout/2, checkouts/2, order/2, stock/1, keep/1, wire/2]).
-export([late/1, go_on/1, pings/2, ping/2]).
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

%% @doc A request: 4 messages, 1 print, 9 events.
checkout(Id, {Shop, Stock}) ->
    {shop, Shop} ! {order, self(), Id, Stock},
    receive {done, Id, V} -> V end.

%% @doc Makes checkouts at the same time, each in a process of its own.
checkouts(Ids, Nodes) ->
    Ps = [{spawn_monitor(fun() -> exit({done, checkout(Id, Nodes)}) end), Id}
          || Id <- Ids],
    [receive {'DOWN', Ref, process, P, {done, V}} -> V = Id * 2 end
     || {{P, Ref}, Id} <- Ps],
    ok.

%% @doc Sends the order on the shop's own node.
order(Id, Stock) ->
    {P, Ref} = spawn_monitor(
                 fun() ->
                         shop ! {order, self(), Id, Stock},
                         receive {done, Id, _} -> ok end
                 end),
    receive {'DOWN', Ref, process, P, normal} -> ok end.

%% @doc Makes checkouts one after the other, all in one process that is woken only by
%% a port. Messages of ports change no token, so it keeps the token of a checkout.
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
    true = exit(Pid, kill),
    true = port_close(Port),
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

%% @doc Starts a process that makes one checkout, and keeps the token until it gets a
%% message. The caller gets no message from it, and so no token.
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

%% @doc Starts a process that makes one checkout, and sends a message of this request
%% when go_on/1 is called. It keeps its token, because it takes no message meanwhile.
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
    persistent_term:put(?MODULE, on),
    receive {'DOWN', Ref, process, P, _} -> ok end.

%% @doc Sends messages to a process `echo' on the node, 55 every 20 ms, N times, and
%% each when the one before is answered. In the token's request a message has an odd
%% serial, and its answer the next one.
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

%% @doc Asks inviso's processes for something in a process that holds a token.
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

%% @doc The processes that hold a token, with its label.
tokens() ->
    [{P, Label} || P <- processes(),
                   {_, {_, Label, _, _, _}}
                       <- [process_info(P, sequential_trace_token)]].

%% @doc inviso's processes, and those of them that hold a token.
own_tokens() ->
    Rows = ets:tab2list(inviso_guard),
    Own = lists:append([Ps || {own, Ps} <- Rows]) ++ [P || {{user, P}, _, _} <- Rows],
    Links = lists:append([Ls || P <- Own, {links, Ls} <- [process_info(P, links)]]),
    All = lists:usort(Own ++ [P || P <- Links, is_pid(P), node(P) =:= node()]),
    {length(All), [P || {P, _} <- tokens(), lists:member(P, All)]}.
