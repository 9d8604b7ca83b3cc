%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends events to a TCP client, in the framing of OTP's trace port driver,
%% so that `dbg:trace_client(ip, {Host, Port})' can read them:
%%
%% ```
%% 0  length in 4 bytes  an event in the external term format
%% 1  number in 4 bytes  how many events were dropped at this point
%% '''
%%
%% One client is served at a time; the next client waits until the connection of
%% the first is closed. While there is no client, events wait in the receiver's
%% mailbox until the credit is used up. Later events are dropped, and the next
%% client gets a record that says how many were dropped.
-module(inviso_ip).

%% Callbacks of inviso_receiver.
-export([init/1, event/3, rest/1, info/2, close/1]).

-export_type([address/0]).

-type address() :: {inet:ip_address() | any, inet:port_number()}.

-record(ip, {listen :: gen_tcp:socket(),
             client = none :: gen_tcp:socket() | none,
             buffer = [] :: iolist(),
             bytes = 0 :: non_neg_integer(),
             events = 0 :: non_neg_integer(),
             %% how many events were lost; the next client gets this number
             lost = 0 :: non_neg_integer()}).

-define(BUFFER, 65536).
-define(ACCEPT_MS, 100).

%% @private
-spec init(address()) -> {ok, #ip{}} | {error, term()}.
init({Address, Port}) ->
    Family = case Address of
                 {_, _, _, _, _, _, _, _} -> [inet6];
                 _ -> []
             end,
    case gen_tcp:listen(Port, Family ++ [{ip, Address}, binary, {packet, raw},
                                         {active, false}, {reuseaddr, true},
                                         {backlog, 1}]) of
        {ok, Listen} -> {ok, #ip{listen = Listen}};
        {error, _} = E -> E
    end.

%% @private
-spec event(inviso_receiver:event(), non_neg_integer(), #ip{}) ->
          inviso_receiver:result().
event({drop, N}, _Bytes, #ip{lost = Lost} = Ip) ->
    {ok, Ip#ip{lost = Lost + N}};
event(Event, _Bytes, Ip) ->
    case with_client(Ip) of
        #ip{client = none} ->
            {stop, no_client};
        #ip{} = Ip1 ->
            Term = term_to_binary(Event),
            sent(buffered([head(0, byte_size(Term)), Term], 1, told(Ip1)))
    end.

sent(#ip{bytes = Bytes} = Ip) when Bytes >= ?BUFFER -> send(Ip);
sent(Ip) -> {ok, Ip}.

told(#ip{lost = 0} = Ip) ->
    Ip;
told(#ip{lost = Lost} = Ip) ->
    buffered(head(1, min(Lost, 16#ffffffff)), 0, Ip#ip{lost = 0}).

head(Op, N) ->
    <<Op, N:32>>.

buffered(Bytes, Events, #ip{buffer = Buffer, bytes = N, events = E} = Ip) ->
    Ip#ip{buffer = [Buffer | Bytes], bytes = N + iolist_size(Bytes),
          events = E + Events}.

%% If there is no client, waits until one connects or the receiver must stop.
with_client(#ip{client = none, listen = Listen} = Ip) ->
    case gen_tcp:accept(Listen, ?ACCEPT_MS) of
        {ok, Client} ->
            _ = inet:setopts(Client, [{active, once}]),
            Ip#ip{client = Client};
        {error, timeout} ->
            case inviso_receiver:stopping() of
                true -> Ip;
                false -> with_client(Ip)
            end;
        {error, _} ->
            Ip
    end;
with_client(Ip) ->
    Ip.

%% Sends the buffered events. Blocks while the buffers of the connection are full
%% because the client does not read.
send(#ip{bytes = 0} = Ip) ->
    {ok, Ip};
send(#ip{client = none} = Ip) ->
    lost(Ip);
send(#ip{client = Client, buffer = Buffer} = Ip) ->
    case gen_tcp:send(Client, Buffer) of
        ok -> {ok, emptied(Ip)};
        {error, _} -> lost(without_client(Ip))
    end.

emptied(Ip) ->
    Ip#ip{buffer = [], bytes = 0, events = 0}.

lost(#ip{events = 0} = Ip) ->
    {ok, emptied(Ip)};
lost(#ip{events = N, lost = Lost} = Ip) ->
    {lost, N, emptied(Ip#ip{lost = Lost + N})}.

without_client(#ip{client = none} = Ip) ->
    Ip;
without_client(#ip{client = Client} = Ip) ->
    ok = gen_tcp:close(Client),
    Ip#ip{client = none}.

%% @private
-spec rest(#ip{}) -> inviso_receiver:result().
rest(#ip{client = none} = Ip) ->
    send(Ip);
rest(#ip{lost = 0} = Ip) ->
    send(Ip);
rest(Ip) ->
    send(told(Ip)).

%% @private A client that sends data is disconnected.
-spec info(term(), #ip{}) -> inviso_receiver:result().
info({tcp, Client, _}, #ip{client = Client} = Ip) ->
    lost(without_client(Ip));
info({tcp_closed, Client}, #ip{client = Client} = Ip) ->
    lost(without_client(Ip));
info({tcp_error, Client, _}, #ip{client = Client} = Ip) ->
    lost(without_client(Ip));
info(_, Ip) ->
    {ok, Ip}.

%% @private
-spec close(#ip{}) -> ok.
close(#ip{listen = Listen} = Ip) ->
    _ = without_client(Ip),
    gen_tcp:close(Listen).
