%% SPDX-License-Identifier: Apache-2.0
%% Tracing with inviso's peers, in the broker's node: `dbg' with a file port,
%% and a process that only counts.
-module(inviso_bench_guest).
-export([file_begin/2, file_end/0, count_begin/2, count_ended/0, count_end/0]).

-define(WATCH_MS, 10).

-spec file_begin(module(), file:filename()) -> ok.
file_begin(Module, File) ->
    {ok, _} = dbg:tracer(port, dbg:trace_port(file, File)),
    {ok, _} = dbg:p(all, [c]),
    {ok, _} = dbg:tpl(Module, []),
    ok.

-spec file_end() -> ok.
file_end() ->
    %% In newer releases dbg:stop/0 also clears the trace patterns. In older releases
    %% dbg:stop_clear/0 does this.
    case erlang:function_exported(dbg, stop_clear, 0) of
        true -> dbg:stop_clear();
        false -> dbg:stop()
    end.

%% Traces all calls of a module. A process counts the events. The counting process is slower than
%% the traced processes, so its message queue grows by gigabytes. If the node's memory grows by more
%% than Most bytes, another process ends the tracing.
-spec count_begin(module(), pos_integer()) -> ok.
count_begin(Module, Most) ->
    Counted = counters:new(1, []),
    Tracer = spawn(fun() -> count(Counted) end),
    Self = self(),
    Watch = spawn(fun() ->
                          process_flag(priority, max),
                          register(?MODULE, self()),
                          Self ! {self(), ready},
                          watch(Module, Tracer, Counted,
                                erlang:memory(total) + Most)
                  end),
    receive {Watch, ready} -> ok end,
    _ = erlang:trace(all, true, [call, {tracer, Tracer}]),
    _ = erlang:trace_pattern({Module, '_', '_'}, true, [local]),
    ok.

%% Returns true if tracing has ended because the node's memory has grown too much.
-spec count_ended() -> boolean().
count_ended() ->
    ask(is_ended).

%% Ends the tracing. Returns the number of events.
-spec count_end() -> non_neg_integer().
count_end() ->
    ask(stop).

ask(What) ->
    ?MODULE ! {self(), What},
    receive {?MODULE, Answer} -> Answer end.

count(Counted) ->
    receive _ -> counters:add(Counted, 1, 1) end,
    count(Counted).

watch(Module, Tracer, Counted, Limit) ->
    receive
        {From, is_ended} ->
            From ! {?MODULE, false},
            watch(Module, Tracer, Counted, Limit);
        {From, stop} ->
            Events = ended(Module, Tracer, Counted),
            unregister(?MODULE),
            From ! {?MODULE, Events}
    after ?WATCH_MS ->
            case erlang:memory(total) > Limit of
                true -> over(ended(Module, Tracer, Counted));
                false -> watch(Module, Tracer, Counted, Limit)
            end
    end.

over(Events) ->
    receive
        {From, is_ended} ->
            From ! {?MODULE, true},
            over(Events);
        {From, stop} ->
            unregister(?MODULE),
            From ! {?MODULE, Events}
    end.

%% Ends the tracing. Returns the number of events: those that the process has received, and those in
%% its message queue.
ended(Module, Tracer, Counted) ->
    _ = erlang:trace(all, false, [call]),
    _ = erlang:trace_pattern({Module, '_', '_'}, false, [local]),
    {message_queue_len, Waiting} = process_info(Tracer, message_queue_len),
    Ref = monitor(process, Tracer),
    exit(Tracer, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    counters:get(Counted, 1) + Waiting.
