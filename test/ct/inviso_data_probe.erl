%% SPDX-License-Identifier: Apache-2.0
%% @doc The code of a user, for the nodes of inviso_data_SUITE: functions to
%% trace, handlers, and readers of the output.
-module(inviso_data_probe).

-export([load/1, start/0, work/2, linked/1, with/1, with_large/2, with_zeros/1, traced/1, run/1,
         crowd/2, everything/2, all_of_it/2]).
-export([tell/2, slow/2, crash/2, steal/2, gate/2, open_gate/0,
         close_gate/0, tags/2]).
-export([device/0, printed/1, client/1, reader/2, free_port/0, hold/1,
         is_held/1]).

%% @doc Loads this module on a node, and starts two processes there: `probe'
%% keeps the reports of handlers in its mailbox, and `worker' is to be traced.
load(Node) ->
    {Mod, Bin, File} = code:get_object_code(?MODULE),
    {module, Mod} = inviso_test_lib:call(Node, code, load_binary,
                                         [Mod, File, Bin]),
    ok = inviso_test_lib:call(Node, ?MODULE, start, []).

start() ->
    true = register(probe, spawn(timer, sleep, [infinity])),
    true = register(worker, spawn(?MODULE, run, [none])),
    ok.

run(_) ->
    receive
        {F, From, Ref} -> F(), From ! {Ref, done}
    end,
    ?MODULE:run(none).

%% @doc Makes the worker call traced/1 with each number from From to To.
work(From, To) ->
    asked(worker, fun() -> calls(From, To) end).

%% @doc Makes the worker spawn N processes, each linked to the worker. Each process calls traced/1
%% and ends before the next one starts.
linked(N) ->
    asked(worker, fun() -> _ = [one_linked(I) || I <- lists:seq(1, N)], ok end).

one_linked(I) ->
    Pid = spawn_link(fun() -> ?MODULE:traced(I) end),
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

%% @doc Makes the worker call traced/1 with each term.
with(Terms) ->
    asked(worker, fun() -> _ = [?MODULE:traced(T) || T <- Terms], ok end).

%% @doc Makes the worker call traced/1 with a binary of Size zeros. The binary is made
%% on this node, because sending it here would take a long time.
with_zeros(Size) ->
    with([<<0:Size/unit:8>>]).

%% @doc Makes the worker call traced/1 with N terms of about a megabyte.
with_large(Kind, N) ->
    with([case Kind of
              list -> lists:duplicate(60000, I);
              binary -> <<I, 0:(8 * 1000000)>>
          end || I <- lists:seq(1, N)]).

asked(Worker, F) ->
    Ref = make_ref(),
    Worker ! {F, self(), Ref},
    receive {Ref, done} -> ok end.

calls(I, To) when I > To -> ok;
calls(I, To) -> ?MODULE:traced(I), calls(I + 1, To).

traced(_) -> ok.

%% @doc Starts Workers processes at once, each of which makes Calls calls. The
%% test traces new processes. Returns the largest growth of the node's memory.
crowd(Workers, Calls) ->
    Watch = spawn_link(fun() -> watch(erlang:memory(total), 0) end),
    Refs = [spawn_monitor(fun() -> calls(1, Calls) end)
            || _ <- lists:seq(1, Workers)],
    _ = [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- Refs],
    Watch ! {stop, self()},
    receive {Watch, Growth} -> Growth end.

watch(Before, Growth) ->
    receive
        {stop, From} -> From ! {self(), Growth}
    after 20 ->
            watch(Before, max(Growth, erlang:memory(total) - Before))
    end.

%% @doc Starts Workers processes, which repeat actions that make events of many
%% kinds.
everything(Workers, Times) ->
    asked(worker,
          fun() ->
                  Refs = [spawn_monitor(?MODULE, all_of_it, [N, Times])
                          || N <- lists:seq(1, Workers)],
                  _ = [receive {'DOWN', R, process, P, normal} -> ok end
                       || {P, R} <- Refs],
                  ok
          end).

all_of_it(_, 0) ->
    ok;
all_of_it(N, Times) ->
    Name = list_to_atom("w" ++ integer_to_list(N)),
    true = register(Name, self()),
    Self = self(),
    {Child, Ref} = spawn_monitor(fun() -> link(Self), unlink(Self),
                                          Self ! hello, ?MODULE:traced(N),
                                          exit(done)
                                 end),
    receive hello -> ok end,
    receive {'DOWN', Ref, process, Child, _} -> ok end,
    Name ! lists:seq(1, 10),
    receive [_ | _] -> ok end,
    _ = (catch ?MODULE:traced({error, N})),
    Port = open_port({spawn_driver, "ram_file_drv"}, []),
    true = port_close(Port),
    true = erlang:garbage_collect(),
    true = erlang:yield(),
    receive never -> ok after 0 -> ok end,
    true = unregister(Name),
    ?MODULE:all_of_it(N, Times - 1).

%% --- handlers ---------------------------------------------------------------

tell(Event, N) ->
    probe ! {N, Event},
    N + 1.

slow(Event, Ms) ->
    timer:sleep(Ms),
    probe ! Event,
    Ms.

crash({trace, _, call, {_, _, [3]}}, _) -> error(told_to_crash);
crash(Event, N) -> tell(Event, N).

%% A handler that reports each tag once, at the first event with the tag, and
%% sleeps at every hundredth event of a tag.
tags({drop, _}, Tags) -> Tags;
tags(Event, Tags) ->
    Tag = element(3, Event),
    case Tags of
        #{Tag := N} ->
            N rem 100 =:= 0 andalso timer:sleep(1),
            Tags#{Tag := N + 1};
        _ ->
            probe ! Tag,
            Tags#{Tag => 1}
    end.

%% A handler that lets no event through until the gate is open.
gate(Event, closed) ->
    case persistent_term:get(?MODULE, closed) of
        closed -> timer:sleep(5), gate(Event, closed);
        open -> gate(Event, open)
    end;
gate(Event, open) ->
    probe ! Event,
    open.

open_gate() -> persistent_term:put(?MODULE, open).

close_gate() -> persistent_term:put(?MODULE, closed).

%% A handler that takes a message out of the mailbox of its process. Handlers must not do this.
steal(Event, N) ->
    receive _ -> ok after 0 -> ok end,
    tell(Event, N).

%% --- readers ----------------------------------------------------------------

%% @doc Registers an output device as `user'.
device() ->
    case whereis(user) of
        undefined -> ok;
        _ -> unregister(user)
    end,
    Pid = spawn(fun() -> device([]) end),
    true = register(user, Pid),
    ok.

device(Text) ->
    receive
        {io_request, From, As, {put_chars, unicode, Chars}} ->
            From ! {io_reply, As, ok},
            device([Text | Chars]);
        {io_request, From, As, {put_chars, unicode, M, F, A}} ->
            From ! {io_reply, As, ok},
            device([Text | apply(M, F, A)]);
        {printed, From} ->
            From ! {self(), unicode:characters_to_list(Text)},
            device(Text)
    end.

%% @doc Returns the text that the device has got so far.
printed(_) ->
    user ! {printed, self()},
    Pid = whereis(user),
    receive {Pid, Text} -> Text end.

%% @doc Starts dbg's own client, which reports to `probe'.
client(Port) ->
    dbg:trace_client(ip, Port, {fun ?MODULE:reader/2, client}).

reader(Event, Name) ->
    probe ! {Name, Event},
    Name.

free_port() ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    ok = gen_tcp:close(L),
    Port.

hold(Port) ->
    {ok, _} = gen_tcp:listen(Port, [{ip, {127, 0, 0, 1}}]),
    timer:sleep(infinity).

is_held(Port) ->
    case gen_tcp:listen(Port, [{ip, {127, 0, 0, 1}}]) of
        {ok, L} -> ok = gen_tcp:close(L), false;
        {error, eaddrinuse} -> true
    end.
