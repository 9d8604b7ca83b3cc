%% SPDX-License-Identifier: Apache-2.0
%% For inviso_failure_SUITE: a tracer and a flood in a node that will be
%% killed.
-module(inviso_trace_node).

-export([start/2, flood/2, flood_on/0, info/0, close/0, os_pid/0]).

%% Starts a tracer, and a worker whose calls the tracer records. Another process owns the tracer,
%% because the caller may end when this function returns.
start(Log, Opts) ->
    Owner = spawn(fun() -> receive never -> ok end end),
    Tracer = inviso_trace_lib:open(Log, Opts#{owner => Owner}),
    inviso_trace_lib:calls({inviso_trace_lib, probe, '_'}, true),
    Pid = inviso_trace_lib:worker(),
    1 = inviso_trace_lib:flags(Pid, Tracer, [call]),
    register(inviso_trace_worker, Pid),
    persistent_term:put(?MODULE, Tracer),
    #{spooler := #{os_pid := Spooler}} = info(),
    {list_to_integer(os:getpid()), Spooler}.

flood(From, To) ->
    inviso_trace_lib:run(whereis(inviso_trace_worker),
                         fun() -> inviso_trace_lib:flood(From, To) end).

%% Makes the worker call the traced function again and again, until the node
%% ends.
flood_on() ->
    inviso_trace_worker !
        {run, fun() -> bursts(1) end, self(), none},
    ok.

%% Makes bursts of calls without end. The pauses let the node answer requests,
%% and keep the log small enough to be merged in a short time. In `make soak'
%% there is no pause.
bursts(I) ->
    inviso_trace_lib:flood(I, I + 4999),
    timer:sleep(inviso_test_lib:soak(2, 0)),
    bursts(I + 5000).

info() -> inviso_tracer:info(persistent_term:get(?MODULE)).
close() -> inviso_trace_lib:close(persistent_term:get(?MODULE)).

os_pid() ->
    #{spooler := #{os_pid := Spooler}} = info(),
    Spooler.
