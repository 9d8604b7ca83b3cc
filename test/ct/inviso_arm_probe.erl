%% SPDX-License-Identifier: Apache-2.0
%% Functions to be traced, and what is needed to see what a spec catches.
-module(inviso_arm_probe).

%% Its record is looked up.
-compile(debug_info).

-export([scope/1, f/1, f/2, f/3, g/1, spawn_and_call/1, 'odd name'/1,
         caught/3, armed/4, arm/3, arm/4, disarm/2, worker/0, call/3,
         idle/0, sensitive/0, foreign_tracer/1, drain/1, elixir/0]).

-record(rec, {a, b = none :: term(), c}).

f(X) -> X.

f(X, Y) -> {X, Y}.

f(X, Y, Z) -> {X, Y, Z}.

%% Calls a function that is not exported.
g(X) ->
    Y = hidden(X),
    {#rec{a = X}, Y}.

hidden(X) -> [X].

'odd name'(X) -> X.

spawn_and_call(X) ->
    Me = self(),
    spawn(fun() -> Me ! {self(), f(X)} end),
    receive {_, Value} -> Value end.

%% @doc Arms for a process that then calls F of M with each of some lists of
%% arguments; the events of each call.
caught(Texts, {M, F}, ArgLists) ->
    Worker = worker(),
    Pid = list_to_binary(pid_to_list(Worker)),
    {Plan, Scope} = arm(Texts, [Pid], [self()]),
    Events = [begin
                  call(Worker, {M, F}, Args),
                  drain(Worker)
              end || Args <- ArgLists],
    disarm(Plan, Scope),
    exit(Worker, kill),
    Events.

%% @doc Arms, does something, disarms: the events of a process.
armed(Texts, Procs, Worker, Fun) ->
    {Plan, Scope} = arm(Texts, Procs, [self()]),
    _ = Fun(),
    Events = drain(Worker),
    disarm(Plan, Scope),
    Events.

arm(Texts, Procs, Own) -> arm(Texts, Procs, [], Own).

arm(Texts, Procs, Follow, Own) ->
    {ok, Plan, _} = inviso_arm:plan(#{specs => Texts, procs => Procs,
                                      follow => Follow}),
    Scope = scope(Plan),
    {steps(Plan, Scope, Own), Scope}.

scope(Plan) ->
    inviso_otp:scope_open(inviso_arm:way(Plan), inviso_probe, self()).

steps(Plan, Scope, Own) ->
    case inviso_arm:step(Plan, Scope, Own) of
        {more, {Done, Total}, Next} when Done =< Total ->
            steps(Next, Scope, Own);
        {done, Last} -> Last
    end.

disarm(Plan, Scope) ->
    ok = inviso_arm:disarm(Plan, Scope).

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

%% @doc Somebody else's tracer, of a process of theirs, by erlang:trace/3.
foreign_tracer(Flags) ->
    Victim = worker(),
    Tracer = spawn(fun idle/0),
    true = register(foreign_tool, Tracer),
    1 = erlang:trace(Victim, true, [{tracer, Tracer} | Flags]),
    {Victim, Tracer}.

%% @doc What has been sent to us as events of a process.
drain(Worker) ->
    Ref = erlang:trace_delivered(Worker),
    receive {trace_delivered, Worker, Ref} -> ok end,
    timer:sleep(20),
    collect(Worker).

%% The worker's own loop is no matter.
collect(Worker) ->
    receive
        {trace, Worker, call, {?MODULE, idle, _}} -> collect(Worker);
        {trace, Worker, call, {?MODULE, idle, _}, _} -> collect(Worker);
        {trace, Worker, Tag, A} -> [{Tag, A} | collect(Worker)];
        {trace, Worker, Tag, A, B} -> [{Tag, A, B} | collect(Worker)]
    after 0 -> []
    end.

%% @doc A module as Elixir's compiler names it.
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
