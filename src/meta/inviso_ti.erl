%% SPDX-License-Identifier: Apache-2.0
%% @doc Writes trace information (names of processes) into a ti file, or sends it
%% to the meta tracer of another node, which writes it into its own ti file.
%%
%% A record of the file is a zero byte, the length of the term (32 bits,
%% big-endian), and a term in the external format (see {@link inviso_lfm}). Each
%% record is written with one system call. So after a crash at most the last
%% record of the file is incomplete.
%%
%% If ?WINDOW records were sent to another node and not accepted by it yet, further
%% records are not sent, but reported as lost. This limits the memory that records
%% take in the connection and in the mailbox of the other node's meta tracer.
-module(inviso_ti).

-export([open/1, write/2, handle/2, close/1]).

-export_type([ti/0, destination/0]).

-type destination() :: {file, file:filename()} | {relay, node()}.

-record(file, {fd :: file:fd()}).
-record(relay, {to :: pid(), sent = 0 :: non_neg_integer(),
                taken = 0 :: non_neg_integer(), monitor :: reference()}).

-opaque ti() :: #file{} | #relay{}.

-define(WINDOW, 1000).
-define(TIMEOUT, 5000).

%% @doc Opens a destination. Replaces an existing file.
-spec open(destination()) -> {ok, ti()} | {error, term()}.
open({file, File}) ->
    %% Deletes an old file instead of overwriting it, because it may have another
    %% mode or be a link.
    _ = file:delete(File),
    case file:open(File, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            _ = file:change_mode(File, 8#600),
            {ok, #file{fd = Fd}};
        {error, Reason} ->
            {error, {open, [File, Reason]}}
    end;
open({relay, Node}) ->
    try erpc:call(Node, erlang, whereis, [inviso_rt_meta], ?TIMEOUT) of
        Pid when is_pid(Pid), Pid =/= self() ->
            {ok, #relay{to = Pid, monitor = monitor(process, Pid)}};
        _ ->
            {error, {relay, [Node, no_metatracer]}}
    catch
        error:{erpc, noconnection} -> {error, {relay, [Node, nodedown]}};
        error:{erpc, Reason} -> {error, {relay, [Node, Reason]}}
    end.

%% @doc Appends records.
-spec write(ti(), [binary()]) -> {ok, ti()} | {error, term(), ti()}.
write(#file{fd = Fd} = Ti, Records) ->
    Failed = [R || B <- Records, {error, R} <- [file:write(Fd, record(B))]],
    case Failed of
        [] -> {ok, Ti};
        %% If the disk is full, the record is lost, but tracing continues.
        [Reason | _] -> {error, Reason, Ti}
    end;
write(#relay{sent = Sent, taken = Taken} = Ti, [_ | _])
  when Sent - Taken >= ?WINDOW ->
    {error, relay_full, Ti};
write(#relay{to = To, sent = Sent} = Ti, [Record | Rest]) ->
    case erlang:send(To, {inviso_ti, self(), Record},
                     [nosuspend, noconnect]) of
        ok -> write(Ti#relay{sent = Sent + 1}, Rest);
        nosuspend -> {error, relay_full, Ti};
        noconnect -> {error, relay_lost, Ti}
    end;
write(Ti, []) ->
    {ok, Ti}.

record(Bin) -> [<<0, (byte_size(Bin)):32>>, Bin].

%% @doc Handles a message about records. The message says that another node has sent
%% a record, that the other node has accepted a record, or that the other node's
%% meta tracer has died. In the last case later records are lost. Returns `other' if
%% the message is about something else.
-spec handle(term(), ti()) -> {ok, ti()} | {error, term(), ti()} | other.
handle({inviso_ti, From, Record}, Ti) when is_pid(From), is_binary(Record) ->
    _ = erlang:send(From, {inviso_ti_taken, self()}, [nosuspend, noconnect]),
    write(Ti, [Record]);
handle({inviso_ti_taken, To}, #relay{to = To, taken = Taken} = Ti) ->
    {ok, Ti#relay{taken = Taken + 1}};
handle({'DOWN', Ref, process, _, Reason}, #relay{monitor = Ref} = Ti) ->
    {error, {relay_lost, Reason}, Ti};
handle(_, _) ->
    other.

%% @doc Closes a destination.
-spec close(ti()) -> ok.
close(#file{fd = Fd}) ->
    _ = file:close(Fd),
    ok;
close(#relay{monitor = Ref}) ->
    true = demonitor(Ref, [flush]),
    ok.
