%% SPDX-License-Identifier: Apache-2.0
%% For inviso_tracer_SUITE: the library is loaded, used and unloaded in a node.
-module(inviso_trace_load).

-export([use/1, mapped/0, unload/0, upgrade/1, session/1]).

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
    inviso_trace_lib:until(fun() -> not mapped() end),
    ok.

%% While a tracer records, loads the module's code again, loads the library again, and purges the
%% old code. Between the two loads a signal can make the worker run. Then the VM clears the worker's
%% trace flags, so this function sets them again.
upgrade(Log) ->
    Tracer = inviso_trace_lib:open(Log, #{}),
    Pid = worker(Tracer),
    flood(Pid, 1, 10),
    Dir = inviso_tracer:dir(),
    {module, _} = code:load_file(inviso_tracer),
    ok = inviso_tracer:load(Dir),
    1 = inviso_trace_lib:flags(Pid, Tracer, [call]),
    flood(Pid, 11, 20),
    false = code:purge(inviso_tracer),
    flood(Pid, 21, 30),
    #{produced := 30} = inviso_tracer:info(Tracer),
    Stats = inviso_trace_lib:close(Tracer),
    inviso_trace_lib:stop(Pid),
    Stats.

%% A trace session uses a tracer, and the tracer's module is purged. After that, the session gets no
%% events, and the node does not crash. At the end the node has no library of inviso loaded.
session(Log) ->
    Tracer = inviso_trace_lib:open(Log, #{}),
    S = inviso_trace:session_create(load, Tracer, []),
    Busy = [spawn(fun() -> inviso_trace_lib:flood_forever(1) end)
            || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    1 = inviso_trace:function(S, {inviso_trace_lib, probe, 1}, true, [local]),
    _ = [1 = inviso_trace:process(S, P, true, [call]) || P <- Busy],
    inviso_trace_lib:until(fun() -> recorded(Tracer) > 1000 end),
    _ = code:delete(inviso_tracer),
    _ = code:purge(inviso_tracer),
    inviso_trace_lib:until(
      fun() ->
              [] =:= [P || P <- Busy, {flags, [_ | _]}
                                          <- [inviso_trace:info(S, P, flags)]]
      end),
    _ = [exit(P, kill) || P <- Busy],
    true = inviso_trace:session_destroy(S),
    case erlang:function_exported(erts_internal, trace_session_create, 3) of
        true -> ok;
        false -> unload_engine()
    end,
    %% As long as the session's handle exists, the libraries of engine and tracer stay loaded. So
    %% this process first collects the handle as garbage.
    erlang:garbage_collect(),
    inviso_trace_lib:until(fun() -> not mapped() end),
    ok.

recorded(Tracer) ->
    #{recorded := N} = inviso_tracer:info(Tracer),
    N.

unload_engine() ->
    inviso_trace_lib:until(fun() -> whereis(inviso_engine_server) =:= undefined
                           end),
    _ = code:delete(inviso_engine),
    _ = code:purge(inviso_engine),
    ok.
