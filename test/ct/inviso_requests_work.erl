%% SPDX-License-Identifier: Apache-2.0
%% Random programs whose causality is known, for inviso_requests_SUITE. This
%% module runs on the traced nodes.
%%
%% A program is a list of actions. A message contains the actions of its receiver. Each message and
%% each print has an id {id,N}. Each process writes into a table which message with a token it
%% received last. This table is the truth with which traces are compared, and nothing in it depends
%% on sequential tracing.
-module(inviso_requests_work).

-export([program/3, actions/1]).
%% Called on the traced nodes.
-export([record/1, stop/0, hire/1, start/4, settle/1, done/0, truth/0, child/2]).

-define(TABLE, ?MODULE).
-define(CALL_MS, 30).

%%---------------------------------------------------------------------------
%% Programs

%% Returns a program of about Size actions. Nodes are the names of the nodes,
%% each with workers w1 to wN. Ids are unique in this node.
program(Size, Nodes, Workers) ->
    put(spawns, 8),
    Program = several(Size, transient, {Nodes, Workers}),
    erase(spawns),
    Program.

several(Size, Kind, World) ->
    N = rand:uniform(3),
    lists:append([some((Size - N) div N, Kind, World) || _ <- lists:seq(1, N)]).

%% Returns a list of one action, or the empty list.
some(Size, Kind, World) ->
    case rand:uniform(10) of
        1 ->
            [{print, id()}];
        2 ->
            [{wait, rand:uniform(3) - 1}];
        _ when Size < 1 ->
            [{print, id()}];
        N when N < 6 ->
            [{send, to(World), id(), several(Size, permanent, World)}];
        N when N < 8 ->
            [{call, to(World), id(), several(Size, permanent, World), id()}];
        _ ->
            start_process(Size, Kind, World)
    end.

start_process(Size, Kind, {Nodes, _} = World) ->
    Actions = several(Size, transient, World),
    %% The number of spawns is limited: a spawn on the same node multiplies the parent's serial by
    %% 16, and a serial has 60 bits.
    Left = get(spawns),
    Node = case pick([here | Nodes]) of
               here when Left =:= 0 -> pick(Nodes);
               Other -> Other
           end,
    put(spawns, max(0, Left - 1)),
    case {rand:uniform(4), Kind} of
        {1, permanent} when Left > 0 ->
            [{spawn_link, Node, Actions ++ [{exit, id()}]}];
        {2, permanent} ->
            [{spawn_request, Node, Actions}];
        {3, _} when Left > 0 ->
            [{spawn_monitor, Node, Actions}];
        {_, _} when Left > 0 ->
            [{spawn, Node, Actions}];
        _ ->
            [{print, id()}]
    end.

to({Nodes, Workers}) ->
    Name = worker(rand:uniform(Workers)),
    {pick([pid, name]), pick(Nodes), Name}.

pick(List) ->
    lists:nth(rand:uniform(length(List)), List).

id() ->
    {id, erlang:unique_integer([positive])}.

worker(I) ->
    list_to_atom("w" ++ integer_to_list(I)).

%% Returns how much a program adds to the sum of done/0 of all nodes.
actions(Program) ->
    lists:sum([1 + more(A) || A <- Program]).

more({send, _, _, Actions}) -> actions(Actions);
more({call, _, _, Actions, _}) -> actions(Actions);
more({spawn_request, _, Actions}) -> 1 + actions(Actions);
more({Spawn, _, Actions}) when is_atom(Spawn) -> actions(Actions);
more({exit, _}) -> 1;
more(_) -> 0.

%%---------------------------------------------------------------------------
%% On a node: recording

record(Path) ->
    Self = self(),
    Pid = spawn(fun() ->
                        register(inviso_requests_recorder, self()),
                        {ok, Tracer} = inviso_tracer:open(Path, #{}),
                        false = seq_trace:set_system_tracer(Tracer),
                        Self ! {self(), ok},
                        receive
                            {stop, From} ->
                                Tracer = seq_trace:set_system_tracer(false),
                                From ! {self(), inviso_tracer:close(Tracer)}
                        end
                end),
    receive {Pid, ok} -> ok end.

stop() ->
    Pid = whereis(inviso_requests_recorder),
    Pid ! {stop, self()},
    receive {Pid, Answer} -> Answer end.

%%---------------------------------------------------------------------------
%% On a node: workers

%% Replaces the workers by new processes. The VM's counters for serials start at 0 in a new process.
hire(N) ->
    Self = self(),
    Pid = spawn(fun() -> boss(Self, N) end),
    receive {Pid, ok} -> ok end.

boss(From, N) ->
    case ets:whereis(?TABLE) of
        undefined -> keep_table();
        _ -> ok
    end,
    lists:foreach(fun(I) -> replace(worker(I)) end, lists:seq(1, N)),
    From ! {self(), ok}.

keep_table() ->
    Self = self(),
    Keeper = spawn(fun() ->
                           ets:new(?TABLE, [public, named_table]),
                           ets:insert(?TABLE, {done, 0}),
                           Self ! {self(), ok},
                           timer:sleep(infinity)
                   end),
    receive {Keeper, ok} -> ok end.

replace(Name) ->
    case whereis(Name) of
        undefined ->
            ok;
        Old ->
            Ref = monitor(process, Old),
            exit(Old, kill),
            receive {'DOWN', Ref, _, _, _} -> ok end
    end,
    Self = self(),
    Pid = spawn(fun() ->
                        true = register(Name, self()),
                        Self ! {self(), ok},
                        process_flag(trap_exit, true),
                        loop()
                end),
    receive {Pid, ok} -> ok end.

%% Starts the request: in a worker, or in a new process if the first argument is `new'.
start(new, Label, Flags, Actions) ->
    spawn(fun() -> begin_request(Label, Flags, Actions) end),
    ok;
start(Worker, Label, Flags, Actions) ->
    Worker ! {start, Label, Flags, Actions},
    ok.

begin_request(Label, Flags, Actions) ->
    seq_trace:set_token(label, Label),
    [seq_trace:set_token(F, true) || F <- Flags],
    put(last, root),
    act(Actions),
    seq_trace:set_token([]).

%% Returns when each worker has taken all its messages from its queue.
settle(N) ->
    [begin
         Ref = make_ref(),
         worker(I) ! {settle, self(), Ref},
         receive Ref -> ok end
     end || I <- lists:seq(1, N)],
    ok.

done() ->
    ets:lookup_element(?TABLE, done, 2).

%% Returns what the processes themselves have noted: pairs {Event, Cause}. Event and Cause have the
%% form {Kind, Id}.
truth() ->
    ets:tab2list(?TABLE) -- [{done, done()}].

loop() ->
    receive
        {run, Id, Actions} ->
            received(Id),
            act(Actions);
        {call, Id, Alias, Actions, Reply} ->
            received(Id),
            act(Actions),
            follows(send, Reply),
            Alias ! {reply, Reply};
        {reply, Id} ->
            received(Id);
        {'EXIT', _, {x, Id}} ->
            received(Id),
            count();
        {spawn_reply, Ref, ok, _} ->
            put(last, erase(Ref)),
            count();
        {start, Label, Flags, Actions} ->
            begin_request(Label, Flags, Actions);
        {settle, From, Ref} ->
            From ! Ref;
        {'DOWN', _, _, _, _} ->
            ok
    end,
    loop().

child(Last, Actions) ->
    put(last, Last),
    act(Actions).

act(Actions) ->
    lists:foreach(fun(A) -> act1(A), count() end, Actions).

act1({print, Id}) ->
    follows(print, Id),
    seq_trace:print(Id);
act1({wait, Ms}) ->
    receive nothing -> ok after Ms -> ok end;
act1({send, To, Id, Actions}) ->
    follows(send, Id),
    address(To) ! {run, Id, Actions};
act1({call, To, Id, Actions, Reply}) ->
    Alias = alias([reply]),
    follows(send, Id),
    address(To) ! {call, Id, Alias, Actions, Reply},
    receive
        {reply, Reply} -> received(Reply)
    after ?CALL_MS ->
            unalias(Alias)
    end;
act1({spawn_request, here, Actions}) ->
    act1({spawn_request, node(), Actions});
act1({spawn_request, Node, Actions}) ->
    Last = get(last),
    put(spawn_request(Node, ?MODULE, child, [Last, Actions]), Last);
act1({Spawn, here, Actions}) ->
    erlang:Spawn(?MODULE, child, [get(last), Actions]);
act1({spawn_monitor, Node, Actions}) ->
    erlang:spawn_monitor(Node, ?MODULE, child, [get(last), Actions]);
act1({Spawn, Node, Actions}) ->
    erlang:Spawn(Node, ?MODULE, child, [get(last), Actions]);
act1({exit, Id}) ->
    follows(send, Id),
    count(),
    exit({x, Id}).

address({pid, Node, Name}) when Node =:= node() -> whereis(Name);
address({_, Node, Name}) when Node =:= node() -> Name;
address({_, Node, Name}) -> {Name, Node}.

follows(Kind, Id) ->
    ets:insert(?TABLE, {{Kind, Id}, get(last)}).

received(Id) ->
    ets:insert(?TABLE, {{'receive', Id}, {send, Id}}),
    put(last, {'receive', Id}).

count() ->
    ets:update_counter(?TABLE, done, 1).
