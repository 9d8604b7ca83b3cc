%% SPDX-License-Identifier: Apache-2.0
%% Tests the functions of inviso_seq, except those for ports, which inviso_seq_SUITE
%% tests in its cases for the section "Ports" of the documentation of seq_trace.
-module(inviso_seq_api_SUITE).

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).
-export([start_and_stop/1, another_system_tracer_stays/1, label_1/1, label_2/1,
         restore_1/1]).

-import(inviso_seq_lib, [token/2, run/3]).

-define(LIB, inviso_trace_lib).
-define(ALL, [send, 'receive', print]).

suite() -> [{timetrap, {seconds, 300}}].

all() ->
    [start_and_stop, another_system_tracer_stays, label_1, label_2, restore_1].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

end_per_testcase(_Case, _Config) ->
    _ = seq_trace:set_system_tracer(false),
    ok.

%%---------------------------------------------------------------------------

start_and_stop(Config) ->
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    ok = inviso_seq:stop(Tracer),
    ok = inviso_seq:start(Tracer),
    Tracer = seq_trace:get_system_tracer(),
    ok = inviso_seq:start(Tracer),
    %% start/1 and stop/1 do not change the token of a process.
    token(17, [print]),
    ok = inviso_seq:stop(Tracer),
    {label, 17} = seq_trace:get_token(label),
    _ = seq_trace:set_token([]),
    false = seq_trace:get_system_tracer(),
    ok = inviso_seq:stop(Tracer),
    ok = inviso_seq:start(Tracer),
    _ = ?LIB:close(Tracer),
    {error, closed} = inviso_seq:start(Tracer),
    ok = inviso_seq:stop(Tracer),
    false = seq_trace:get_system_tracer(),
    {'EXIT', {function_clause, _}} = (catch inviso_seq:start(self())),
    ok.

another_system_tracer_stays(Config) ->
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    Second = ?LIB:open(?LIB:name(Config, "y.log"), #{}),
    Self = self(),
    false = seq_trace:set_system_tracer(Self),
    {error, {system_tracer, Self}} = inviso_seq:start(Tracer),
    {error, {system_tracer, Self}} = inviso_seq:stop(Tracer),
    Self = seq_trace:set_system_tracer(false),
    ok = inviso_seq:start(Second),
    {error, {system_tracer, Second}} = inviso_seq:start(Tracer),
    {error, {system_tracer, Second}} = inviso_seq:stop(Tracer),
    Second = seq_trace:get_system_tracer(),
    ok = inviso_seq:stop(Second),
    %% A system tracer that has died does not prevent start/1.
    {Pid, Ref} = spawn_monitor(fun() -> receive stop -> ok end end),
    false = seq_trace:set_system_tracer(Pid),
    Pid ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end,
    ok = inviso_seq:start(Tracer),
    _ = [?LIB:close(T) || T <- [Tracer, Second]],
    ok.

label_1(Config) ->
    run(Config, fun() ->
                        None = inviso_seq:label(#{order => 17}),
                        _ = [{F, true} = seq_trace:get_token(F) || F <- ?ALL],
                        seq_trace:print(outer),
                        Outer = inviso_seq:label(inner),
                        seq_trace:print(inner),
                        ok = inviso_seq:restore(Outer),
                        {label, #{order := 17}} = seq_trace:get_token(label),
                        ok = inviso_seq:restore(None),
                        [] = seq_trace:get_token()
                end,
        fun(P) -> [{#{order => 17}, {print, {0, 1}, P, [], outer}},
                   {inner, {print, {0, 2}, P, [], inner}}]
        end).

label_2(Config) ->
    run(Config, fun() ->
                        value = inviso_seq:label(a, fun() -> seq_trace:print(x), value end),
                        [] = seq_trace:get_token(),
                        thrown = (catch inviso_seq:label(b, fun() -> throw(thrown) end)),
                        [] = seq_trace:get_token()
                end,
        fun(P) -> [{a, {print, {0, 1}, P, [], x}}] end).

%% After restore/1, no serial is used a second time. A message that a process sends after restore/1
%% follows from the message that the process received before label/1.
restore_1(Config) ->
    run(Config, fun() ->
                        token(17, ?ALL),
                        self() ! message,
                        receive message -> ok end,
                        Saved = inviso_seq:label(18),
                        _ = [seq_trace:print(N) || N <- [1, 2, 3]],
                        ok = inviso_seq:restore(Saved),
                        seq_trace:print(restored)
                end,
        fun(P) -> [{17, {send, {0, 1}, P, P, message}},
                   {17, {'receive', {0, 1}, P, P, message}},
                   {18, {print, {1, 2}, P, [], 1}},
                   {18, {print, {1, 3}, P, [], 2}},
                   {18, {print, {1, 4}, P, [], 3}},
                   {17, {print, {1, 5}, P, [], restored}}]
        end).
