%% SPDX-License-Identifier: Apache-2.0
%% Functions to be traced, and helpers that show which calls a spec matches.
-module(inviso_arm_probe).

%% A test reads the definition of the record `rec' in this module's debug
%% information.
-compile(debug_info).

-export([tracing/0, f/1, f/2, f/3, g/1, spawn_and_call/1, 'odd name'/1,
         caught/3, armed/4, arm/3, arm/4, disarm/1, worker/0, call/3,
         idle/0, sensitive/0, foreign_tracer/1, drain/1, elixir/0]).

-record(rec, {a, b = none :: term(), c}).

f(X) -> X.

f(X, Y) -> {X, Y}.

f(X, Y, Z) -> {X, Y, Z}.

g(X) ->
    Y = hidden(X),
    {#rec{a = X}, Y}.

hidden(X) -> [X].

'odd name'(X) -> X.

spawn_and_call(X) ->
    Me = self(),
    spawn(fun() -> Me ! {self(), f(X)} end),
    receive {_, Value} -> Value end.

%% @doc Arms the specs Texts for a new process, which then calls M:F with each
%% list of arguments. Returns a list of events for each call.
caught(Texts, {M, F}, ArgLists) ->
    Worker = worker(),
    Pid = list_to_binary(pid_to_list(Worker)),
    T = arm(Texts, [Pid], [self()]),
    Events = [begin
                  call(Worker, {M, F}, Args),
                  drain(Worker)
              end || Args <- ArgLists],
    disarm(T),
    exit(Worker, kill),
    Events.

%% @doc Arms the specs, runs Fun, and disarms. Returns the events of the process
%% Worker.
armed(Texts, Procs, Worker, Fun) ->
    T = arm(Texts, Procs, [self()]),
    _ = Fun(),
    Events = drain(Worker),
    disarm(T),
    Events.

arm(Texts, Procs, Own) -> arm(Texts, Procs, [], Own).

arm(Texts, Procs, Follow, Own) ->
    {ok, Plan, _} = inviso_arm:plan(#{specs => Texts, procs => Procs,
                                      follow => Follow, yes => true}),
    steps(Plan, Own, tracing()).

tracing() ->
    {ok, T} = inviso_tracing:open(self(), inviso_tracing:new(none)),
    T.

steps(Plan, Own, T) ->
    case inviso_arm:step(Plan, Own, T) of
        {more, {Done, Total}, Next, T1} when Done =< Total ->
            steps(Next, Own, T1);
        {done, _, Last} -> Last
    end.

disarm(T) ->
    Closed = inviso_tracing:close(T),
    false = inviso_tracing:is_open(Closed),
    ok.

worker() ->
    spawn(fun idle/0).

idle() ->
    receive
        {call, From, {M, F}, Args} ->
            Value = try apply(M, F, Args) catch C:R -> {C, R} end,
            From ! {self(), done, Value},
            idle();
        _ ->
            idle()
    end.

call(Worker, MF, Args) ->
    Worker ! {call, self(), MF, Args},
    receive {Worker, done, Value} -> Value end.

sensitive() ->
    Pid = spawn(fun() -> process_flag(sensitive, true), idle() end),
    ok = wait(fun() ->
                      process_info(Pid, current_function)
                          =:= {current_function, {?MODULE, idle, 0}}
              end),
    Pid.

wait(F) ->
    case F() of
        true -> ok;
        false -> timer:sleep(5), wait(F)
    end.

%% @doc Starts another tool's tracer, which traces a process of its own with
%% erlang:trace/3.
foreign_tracer(Flags) ->
    Victim = worker(),
    Tracer = spawn(fun idle/0),
    true = register(foreign_tool, Tracer),
    1 = erlang:trace(Victim, true, [{tracer, Tracer} | Flags]),
    {Victim, Tracer}.

%% @doc Returns the trace events of Worker that the caller has received.
drain(Worker) ->
    Ref = erlang:trace_delivered(Worker),
    receive {trace_delivered, Worker, Ref} -> ok end,
    timer:sleep(20),
    collect(Worker).

%% Skips calls of the worker's own loop.
collect(Worker) ->
    receive
        {trace, Worker, call, {?MODULE, idle, _}} -> collect(Worker);
        {trace, Worker, call, {?MODULE, idle, _}, _} -> collect(Worker);
        {trace, Worker, Tag, A} -> [{Tag, A} | collect(Worker)];
        {trace, Worker, Tag, A, B} -> [{Tag, A, B} | collect(Worker)]
    after 0 -> []
    end.

%% @doc Compiles a module with names like those that Elixir's compiler makes.
elixir() ->
    A = erl_anno:new(1),
    X = {var, A, 'X'},
    Y = {var, A, 'Y'},
    Forms = [{attribute, A, module, 'Elixir.Inviso.Probe'},
             {attribute, A, export, [{get, 2}, {'ok?', 1}, {'MACRO-m', 1}]},
             {function, A, get, 2,
              [{clause, A, [X, Y], [], [{tuple, A, [X, Y]}]}]},
             {function, A, 'ok?', 1, [{clause, A, [X], [], [X]}]},
             {function, A, 'MACRO-m', 1, [{clause, A, [X], [], [X]}]}],
    {ok, M, Beam} = compile:forms(Forms, []),
    {module, M} = code:load_binary(M, "elixir_probe", Beam),
    ok.
