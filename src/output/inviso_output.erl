%% SPDX-License-Identifier: Apache-2.0
%% @doc An output is the destination of a runtime component's events: a log or a
%% sink. A sink is a module that handles the events.
-module(inviso_output).

-export([open/1, takes_events/1, tracer/1, monitor/1, processes/1, receiver/1, flush/2, check/1,
         close/1]).

-export_type([output/0]).

-opaque output() :: {log, inviso_tracer:tracer()}
                  | {sink, inviso_tracerdata:sink(), inviso_deliver:delivery()}.

%% @doc Opens the output that a plan (parsed tracerdata) names. The calling
%% process is the owner.
-spec open(inviso_tracerdata:plan()) -> {ok, output()} | {error, term()}.
open(#{sink := {relayer, Pid} = Sink}) when Pid =:= self() ->
    {error, {bad_tracerdata, Sink}};
open(#{sink := none = Sink}) ->
    Drop = fun(_Event, Data) -> Data end,
    start(Sink, inviso_handler, {Drop, none}, default);
open(#{sink := {handler, {Fun, _} = Handler} = Sink}) ->
    {module, Module} = erlang:fun_info(Fun, module),
    case code:ensure_loaded(Module) of
        {module, _} -> start(Sink, inviso_handler, Handler, default);
        {error, Why} -> {error, {bad_handler, {Module, Why}}}
    end;
open(#{sink := collector = Sink}) ->
    start(Sink, inviso_handler, {fun inviso_collector:print/2, user}, default);
open(#{sink := {relayer, Pid} = Sink}) ->
    start(Sink, inviso_relay, Pid, default);
open(#{sink := {ip, {Address, Port, Queue}} = Sink}) ->
    start(Sink, inviso_ip, {Address, Port}, Queue);
open(#{trace := {Name, Opts}}) ->
    Path = filename:absname(Name),
    case open_log(Path, Opts) of
        {ok, Tracer} -> {ok, {log, Tracer}};
        {error, Reason} -> {error, {open, [Path, Reason]}}
    end.

open_log(Path, Opts) ->
    try
        inviso_tracer:open(Path, maps:merge(#{replace => true}, Opts))
    catch
        error:Reason -> {error, Reason}
    end.

start(Sink, Module, Arg, Events) ->
    case inviso_deliver:start(Module, Arg, Events) of
        {ok, Delivery} -> {ok, {sink, Sink, Delivery}};
        {error, Reason} -> {error, {open, [Sink, Reason]}}
    end.

%% @doc Returns true if the output takes events, and false if only trace information
%% is written. In the second case there is still a tracer, because a scope needs a
%% tracer, but this tracer drops all events.
-spec takes_events(output()) -> boolean().
takes_events({sink, none, _}) -> false;
takes_events(_) -> true.

%% @doc Returns the tracer for setting flags and patterns.
-spec tracer(output()) -> inviso_tracer:tracer().
tracer({log, Tracer}) -> Tracer;
tracer({sink, _, Delivery}) -> inviso_deliver:tracer(Delivery).

%% @doc Returns a monitor reference. The owner gets the `DOWN' message of this
%% monitor when the output ends without close/1.
-spec monitor(output()) -> reference().
monitor({log, {_, Handle}}) ->
    erlang:monitor(process, inviso_tracer:nif_keeper(Handle));
monitor({sink, _, Delivery}) ->
    inviso_deliver:monitor(Delivery).

%% @doc Returns the processes that must not be traced.
-spec processes(output()) -> [pid()].
processes({log, {_, Handle}}) ->
    inviso_keeper:processes(Handle);
processes({sink, _, Delivery}) ->
    inviso_deliver:processes(Delivery).

%% @doc Returns the process to which other nodes may send events.
-spec receiver(output()) -> pid() | none.
receiver({sink, {handler, _}, Delivery}) -> inviso_deliver:receiver(Delivery);
receiver({sink, collector, Delivery}) -> inviso_deliver:receiver(Delivery);
receiver(_) -> none.

%% @doc Ensures that all earlier events are in the log, or were handled by the sink.
%% For a log, waits until they are written and returns `{now, Result}'. For a sink,
%% returns `later' at once; the receiver answers the request `From' when the sink
%% has handled the events.
-spec flush(output(), {pid(), term()}) -> {now, ok | {error, term()}} | later.
flush({log, Tracer}, _From) ->
    {now, inviso_tracer:flush(Tracer)};
flush({sink, _, Delivery}, From) ->
    ok = inviso_deliver:flush(Delivery, From),
    later.

%% @doc Returns `{down, Reason}' if the log can no longer be written. For a sink
%% there is nothing to check, because the monitor reports the sink's end.
-spec check(output()) -> ok | {down, term()}.
check({log, Tracer}) ->
    case inviso_tracer:info(Tracer) of
        #{spooler := #{state := failed} = Spooler} ->
            {down, {spooler, maps:get(error, Spooler, <<>>)}};
        {error, closed} ->
            {down, closed};
        _ ->
            ok
    end;
check({sink, _, _}) ->
    ok.

%% @doc Closes the output after all events have reached the log or the sink.
-spec close(output()) -> {ok, term()} | {error, term()}.
close({log, Tracer}) ->
    try
        inviso_tracer:close(Tracer)
    catch
        Class:Reason -> {error, {Class, Reason}}
    end;
close({sink, _, Delivery}) ->
    inviso_deliver:close(Delivery).
