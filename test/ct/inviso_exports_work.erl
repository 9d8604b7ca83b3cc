%% SPDX-License-Identifier: Apache-2.0
%% @doc Makes the recordings of inviso_exports_SUITE, on separate nodes: events of all kinds, with
%% names and terms that have characters with a special meaning in output formats.
-module(inviso_exports_work).

-export([open/2, hostile/0, record/2, play/1, stop/0]).
-export([outer/1, inner/1, fails/1, silent/1, tail/1, flooded/1, handled/1]).

-define(HOSTILE, 'a"\\\0<b>&\'${}\n\x{e9}\x{202e}').

%% @doc The registered name of a process on each node. It has characters with a meaning in output
%% formats.
-spec hostile() -> atom().
hostile() -> ?HOSTILE.

%% @doc Starts a server. When it gets {call, From, Request}, it asks each server in Next in the same
%% way, and then answers.
-spec open(atom(), [{atom(), node()}]) -> ok.
open(Name, Next) ->
    Self = self(),
    Pid = spawn(fun() ->
                        true = register(Name, self()),
                        Self ! {self(), ok},
                        serve(Next)
                end),
    receive {Pid, ok} -> ok end.

serve(Next) ->
    receive
        {call, {Pid, Ref}, Request} ->
            [ask(To, Request) || To <- Next],
            Pid ! {Ref, {done, Request}}
    end,
    serve(Next).

ask(To, Request) ->
    Ref = make_ref(),
    To ! {call, {self(), Ref}, Request},
    receive {Ref, {done, Request}} -> ok end.

%% @doc Opens a tracer that records sequential traces. play/1 uses the same tracer.
-spec record(file:filename(), map()) -> ok.
record(Log, Opts) ->
    Self = self(),
    Pid = spawn(fun() ->
                        true = register(?MODULE, self()),
                        {ok, Tracer} = inviso_tracer:open(Log, Opts),
                        false = seq_trace:set_system_tracer(Tracer),
                        Self ! {self(), ok},
                        recorder(Tracer)
                end),
    receive {Pid, ok} -> ok end.

recorder(Tracer) ->
    receive
        {tracer, From} ->
            From ! {self(), Tracer},
            recorder(Tracer);
        {stop, From} ->
            Tracer = seq_trace:set_system_tracer(false),
            From ! {self(), inviso_tracer:close(Tracer)}
    end.

-spec stop() -> {ok, map()}.
stop() ->
    Pid = whereis(?MODULE),
    Pid ! {stop, self()},
    receive {Pid, Answer} -> Answer end.

%% @doc Makes events of all kinds, and sends requests to the servers.
-spec play({term(), [{atom(), node()}]}) -> ok | {error, term()}.
play(Ask) ->
    Recorder = whereis(?MODULE),
    Recorder ! {tracer, self()},
    Tracer = receive {Recorder, T} -> T end,
    {Pid, Ref} = spawn_monitor(fun() -> play(Tracer, Ask) end),
    receive
        {'DOWN', Ref, process, Pid, normal} -> ok;
        {'DOWN', Ref, process, Pid, Why} -> {error, Why}
    end.

play(Tracer, Ask) ->
    {Module, State} = Tracer,
    Self = self(),
    Worker = spawn_link(fun() -> receive go -> work(Self, Ask) end end),
    [erlang:trace_pattern({?MODULE, F, 1}, Spec, [local])
     || {F, Spec} <- [{outer, [{'_', [], [{exception_trace}]}]},
                      {inner, [{'_', [], [{return_trace}, {message, {caller}}]}]},
                      {fails, [{'_', [], [{exception_trace}]}]},
                      {tail, [{'_', [], [{exception_trace}]}]},
                      {flooded, [{'_', [], [{return_trace}]}]},
                      {handled, [{'_', [], [{return_trace}]}]},
                      {silent, true}]],
    erlang:trace(Worker, true,
                 [call, procs, ports, send, 'receive', running, garbage_collection,
                  scheduler_id, strict_monotonic_timestamp, set_on_spawn,
                  {tracer, Module, State}]),
    erlang:trace(new_ports, true, [ports, {tracer, Module, State}]),
    Worker ! go,
    receive done -> ok end,
    erlang:trace(new_ports, false, [ports]),
    flood(Tracer),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    ok.

work(Boss, Ask) ->
    true = register(?HOSTILE, self()),
    [outer(T) || T <- terms()],
    catch fails(7),
    tail(5),
    silent(1),
    outer(2),
    {Child, Ref} = spawn_monitor(fun() -> outer(3), fails(child) end),
    receive {'DOWN', Ref, process, Child, _} -> ok end,
    _ = os:cmd("true"),
    ok = handled(Ask),
    request(Ask, fun() -> outer(4) end),
    erlang:garbage_collect(),
    timer:sleep(1),
    true = unregister(?HOSTILE),
    Boss ! done.

%% A call during which a request is sent and answered.
handled(Ask) ->
    request(Ask, fun() -> none end),
    ok.

request({Label, To}, Between) ->
    seq_trace:set_token(label, Label),
    [seq_trace:set_token(F, true) || F <- [send, 'receive', print]],
    seq_trace:print({asks, To}),
    Between(),
    [ask(P, ?HOSTILE) || P <- To],
    seq_trace:set_token([]).

terms() ->
    [1, <<"\0\xff\xfe</script>\"">>, "string\0\"\\", [$a, 0, 255], [1, 2 | 3], 1.5,
     #{?HOSTILE => <<"x">>, 1 => [#{}]}, self(), make_ref(), fun inner/1, {}, [],
     1 bsl 200, lists:duplicate(5000, $x), list_to_atom(lists:duplicate(255, 955)),
     binary:copy(<<"\"">>, 3000), <<5:3>>].

outer(X) ->
    {ok, inner(X)}.

inner(X) ->
    silent(X),
    X.

fails(X) ->
    inner(X),
    error({bad, ?HOSTILE, X}).

silent(_) ->
    ok.

tail(0) -> inner(0);
tail(N) -> tail(N - 1).

flooded(N) -> N.

%% Floods the ring while the spooler is suspended, so that events are lost.
flood(Tracer) ->
    {Module, State} = Tracer,
    #{spooler := #{os_pid := OsPid}} = inviso_tracer:info(Tracer),
    Self = self(),
    Worker = spawn(fun() ->
                           receive go -> ok end,
                           [?MODULE:flooded(N) || N <- lists:seq(1, 3000)],
                           Self ! flooded,
                           receive go -> ok end,
                           [?MODULE:flooded(N) || N <- lists:seq(1, 10)],
                           Self ! flooded
                   end),
    erlang:trace(Worker, true, [call, {tracer, Module, State}]),
    signal("STOP", OsPid),
    Worker ! go,
    receive flooded -> ok end,
    signal("CONT", OsPid),
    ok = inviso_tracer:flush(Tracer),
    Worker ! go,
    receive flooded -> ok end.

signal(Name, OsPid) ->
    [] = os:cmd(lists:flatten(io_lib:format("kill -~s ~s", [Name, pid_text(OsPid)]))).

pid_text(Pid) when is_integer(Pid) -> integer_to_list(Pid);
pid_text(Pid) -> Pid.
