%% SPDX-License-Identifier: Apache-2.0
%%
%% For inviso_tracer_SUITE: the library loaded, used and unloaded in a node.
-module(inviso_trace_load).

-export([use/1, mapped/0, unload/0, upgrade/1]).

use(Log) ->
    Tracer = inviso_trace_lib:open(Log, #{}),
    Pid = worker(Tracer),
    flood(Pid, 1, 10),
    #{recorded := N} = inviso_trace_lib:close(Tracer),
    inviso_trace_lib:stop(Pid),
    N.

worker(Tracer) ->
    inviso_trace_lib:calls({inviso_trace_lib, probe, 1}, true),
    Pid = inviso_trace_lib:worker(),
    1 = inviso_trace_lib:flags(Pid, Tracer, [call]),
    Pid.

flood(Pid, From, To) ->
    ok = inviso_trace_lib:run(Pid, fun() ->
                                           inviso_trace_lib:flood(From, To)
                                   end).

mapped() ->
    {ok, Maps} = file:read_file("/proc/self/maps"),
    binary:match(Maps, <<"inviso_tracer.so">>) =/= nomatch.

unload() ->
    _ = code:delete(inviso_tracer),
    false = code:purge(inviso_tracer),
    inviso_trace_lib:until(fun() -> not mapped() end, 5000),
    ok.

%% New code of the module, and the library again, over a running tracer; the
%% old code is purged while it records.
upgrade(Log) ->
    Tracer = inviso_trace_lib:open(Log, #{}),
    Pid = worker(Tracer),
    flood(Pid, 1, 10),
    Dir = inviso_tracer:dir(),
    {module, _} = code:load_file(inviso_tracer),
    ok = inviso_tracer:load(Dir),
    flood(Pid, 11, 20),
    false = code:purge(inviso_tracer),
    flood(Pid, 21, 30),
    #{produced := 30} = inviso_tracer:info(Tracer),
    Stats = inviso_trace_lib:close(Tracer),
    inviso_trace_lib:stop(Pid),
    Stats.
