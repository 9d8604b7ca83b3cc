%% SPDX-License-Identifier: Apache-2.0
%% @doc A tracer of the trace sessions of OTP 25 and 26.
-module(inviso_engine_tracer).

-export([check/1, choose/3, load/2, native/1, monitor/1, is_alive/1]).

-export_type([tracer/0]).

-type tracer() :: pid() | port() | {inviso_tracer, pos_integer()} |
                  {module(), term()}.
%% The last are called by the VM ({@link inviso_engine_foreign}).

%% @doc The tracer that is meant, if it is one. That it is dead does not matter.
-spec check(term()) -> {ok, tracer()} | {error, badarg}.
check({erl_tracer, Tracer}) ->
    case is_pid(Tracer) orelse is_port(Tracer) of
        true -> check(Tracer);
        false -> {error, badarg}
    end;
check(Tracer) when is_pid(Tracer), node(Tracer) =:= node() ->
    {ok, Tracer};
check(Tracer) when is_port(Tracer), node(Tracer) =:= node() ->
    {ok, Tracer};
check({inviso_tracer, Handle} = Tracer) when is_integer(Handle) ->
    case file() of
        {ok, _} -> {ok, Tracer};
        error -> {error, badarg}
    end;
check({Module, _} = Tracer) when is_atom(Module) ->
    case inviso_engine_foreign:check(Tracer) of
        ok -> {ok, Tracer};
        {error, _} = E -> E
    end;
check(_) ->
    {error, badarg}.

%% @doc The tracer that a list of flags names, and the other flags. That is for
%% sessions alone that have none of their own; without one it is who asks.
-spec choose(tracer | meta, term(), {tracer() | undefined, pid()}) ->
          {ok, tracer(), term()} | {error, badarg}.
choose(Tag, Flags, {undefined, Caller}) ->
    choose(Tag, Flags, Caller, []);
choose(_Tag, Flags, {Tracer, _Caller}) ->
    {ok, Tracer, Flags}.

choose(Tag, [{Tag, Tracer} | Flags], _, Acc)
  when is_pid(Tracer); is_port(Tracer) ->
    chosen(Tag, Flags, Tracer, Acc);
choose(Tag, [{Tag, Module, State} | Flags], _, Acc) when is_atom(Module) ->
    chosen(Tag, Flags, {Module, State}, Acc);
choose(Tag, [Flag | Flags], Tracer, Acc) when not is_tuple(Flag) ->
    choose(Tag, Flags, Tracer, [Flag | Acc]);
choose(_Tag, [], Tracer, Acc) ->
    {ok, Tracer, lists:reverse(Acc)};
choose(_, _, _, _) ->
    {error, badarg}.

chosen(Tag, Flags, Named, Acc) ->
    case check(Named) of
        {ok, Tracer} -> choose(Tag, Flags, Tracer, Acc);
        {error, _} = E -> E
    end.

%% @doc Loads the tracer modules that a list of flags names, as OTP does, for
%% who asks: by a call.
-spec load(tracer | meta, term()) -> ok.
load(Tag, [{Tag, Module, State} | Flags]) when is_atom(Module) ->
    _ = erlang:module_loaded(Module)
        orelse Module:enabled(trace_status, self(), State),
    load(Tag, Flags);
load(Tag, [_ | Flags]) ->
    load(Tag, Flags);
load(_, _) ->
    ok.

%% @doc As the callbacks take it.
-spec native(tracer()) -> pid() | port() | {binary(), pos_integer()}.
native({inviso_tracer, Handle}) ->
    {ok, File} = file(),
    {File, Handle};
native(PidOrPort) ->
    PidOrPort.

%% @doc A process or port is watched; others tell when they take no more events.
-spec monitor(tracer()) -> reference() | none.
monitor(Pid) when is_pid(Pid) -> erlang:monitor(process, Pid);
monitor(Port) when is_port(Port) -> erlang:monitor(port, Port);
monitor(_) -> none.

%% @doc Whether it takes events.
-spec is_alive(tracer()) -> boolean().
is_alive(Pid) when is_pid(Pid) ->
    is_process_alive(Pid);
is_alive(Port) when is_port(Port) ->
    erlang:port_info(Port, id) =/= undefined;
is_alive({inviso_tracer, Handle}) ->
    try
        inviso_tracer:enabled(trace_status, Handle, undefined) =:= trace
    catch
        error:_ -> false
    end;
is_alive({_, _}) ->
    true.

%% What dir/0 says in the source it says only until the library is loaded.
-dialyzer({no_match, [file/0, check/1, native/1]}).
%% The library of inviso_tracer, if it is loaded, as it was named then.
-spec file() -> {ok, binary()} | error.
file() ->
    try inviso_tracer:dir() of
        undefined ->
            error;
        Dir ->
            Path = filename:join(unicode:characters_to_list(Dir),
                                 "inviso_tracer.so"),
            {ok, unicode:characters_to_binary(Path, unicode,
                                              file:native_name_encoding())}
    catch
        error:_ -> error
    end.
