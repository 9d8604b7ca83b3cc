%% SPDX-License-Identifier: Apache-2.0
%% @doc Where the events of a node go, as a runtime component sees it: into a
%% log, or as messages to a sink.
-module(inviso_output).

-export([open/1, takes_events/1, tracer/1, monitor/1, processes/1, receiver/1, flush/2, check/1,
         close/1]).

-export_type([output/0]).

-opaque output() :: {log, inviso_tracer:tracer()}
                  | {sink, inviso_tracerdata:sink(), inviso_deliver:delivery()}.

%% @doc Opens what tracerdata says. The calling process is the owner.
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

%% @doc Whether there is a place for events: with trace information alone there
%% is a tracer, as a scope has to have one, and what comes to it is dropped.
-spec takes_events(output()) -> boolean().
takes_events({sink, none, _}) -> false;
takes_events(_) -> true.

%% @doc The tracer, for flags and patterns.
-spec tracer(output()) -> inviso_tracer:tracer().
tracer({log, Tracer}) -> Tracer;
tracer({sink, _, Delivery}) -> inviso_deliver:tracer(Delivery).

%% @doc The calling process' monitor, which tells when it ended by itself.
-spec monitor(output()) -> reference().
monitor({log, {_, Handle}}) ->
    erlang:monitor(process, inviso_tracer:nif_keeper(Handle));
monitor({sink, _, Delivery}) ->
    inviso_deliver:monitor(Delivery).

%% @doc Processes that must not be traced.
-spec processes(output()) -> [pid()].
processes({log, {_, Handle}}) ->
    [Pid || Pid <- [inviso_tracer:nif_keeper(Handle)], is_pid(Pid)];
processes({sink, _, Delivery}) ->
    inviso_deliver:processes(Delivery).

%% @doc The process that events of other nodes may be sent to.
-spec receiver(output()) -> pid() | none.
receiver({sink, {handler, _}, Delivery}) -> inviso_deliver:receiver(Delivery);
receiver({sink, collector, Delivery}) -> inviso_deliver:receiver(Delivery);
receiver(_) -> none.

%% @doc Has all that was traced so far written, or taken by the sink: now, or
%% later, and then the request is answered.
-spec flush(output(), {pid(), term()}) -> {now, ok | {error, term()}} | later.
flush({log, Tracer}, _From) ->
    {now, inviso_tracer:flush(Tracer)};
flush({sink, _, Delivery}, From) ->
    ok = inviso_deliver:flush(Delivery, From),
    later.

%% @doc Whether events can still get there. A sink tells by itself.
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

%% @doc Ends it, when all that was traced has got there.
-spec close(output()) -> {ok, term()} | {error, term()}.
close({log, Tracer}) ->
    try
        inviso_tracer:close(Tracer)
    catch
        Class:Reason -> {error, {Class, Reason}}
    end;
close({sink, _, Delivery}) ->
    inviso_deliver:close(Delivery).
