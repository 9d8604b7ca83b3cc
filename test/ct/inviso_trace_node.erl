%% SPDX-License-Identifier: Apache-2.0
%%
%% For inviso_failure_SUITE: a tracer and a flood in a node that is going to be
%% killed.
-module(inviso_trace_node).

-export([start/2, flood/2, flood_on/0, info/0, close/0, os_pid/0]).

%% Who calls may be gone when the call is over, so another owns the tracer.
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

%% For as long as it lives.
flood_on() ->
    inviso_trace_worker !
        {run, fun() -> inviso_trace_lib:flood_forever(1) end, self(), none},
    ok.

info() -> inviso_tracer:info(persistent_term:get(?MODULE)).
close() -> inviso_trace_lib:close(persistent_term:get(?MODULE)).

os_pid() ->
    #{spooler := #{os_pid := Spooler}} = info(),
    Spooler.
