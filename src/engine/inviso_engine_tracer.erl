%% SPDX-License-Identifier: Apache-2.0
%% @doc Checks, chooses and monitors tracers of trace sessions on OTP 25 and 26.
-module(inviso_engine_tracer).

-export([check/1, choose/3, load/2, native/1, monitor/1, is_alive/1]).

-export_type([tracer/0]).

-type tracer() :: pid() | port() | {inviso_tracer, pos_integer()} |
                  {module(), term()}.
%% The VM itself calls tracer modules other than inviso_tracer ({@link
%% inviso_engine_foreign}).

%% @doc Returns the tracer that a term names. A dead tracer is allowed.
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

%% @doc Returns the tracer that is in a list of flags, and the other flags. If
%% the session has a tracer, that tracer is returned and the flags stay as they
%% are. If neither the session nor the flags have a tracer, the caller is the
%% tracer.
-spec choose(tracer | meta, term(), {tracer() | undefined, pid()}) ->
          {ok, {tracer(), term()}} | {error, badarg}.
choose(Tag, Flags, {undefined, Caller}) ->
    choose(Tag, Flags, Caller, []);
choose(_Tag, Flags, {Tracer, _Caller}) ->
    {ok, {Tracer, Flags}}.

choose(Tag, [{Tag, Tracer} | Flags], _, Acc)
  when is_pid(Tracer); is_port(Tracer) ->
    chosen(Tag, Flags, Tracer, Acc);
choose(Tag, [{Tag, Module, State} | Flags], _, Acc) when is_atom(Module) ->
    chosen(Tag, Flags, {Module, State}, Acc);
choose(Tag, [Flag | Flags], Tracer, Acc) when not is_tuple(Flag) ->
    choose(Tag, Flags, Tracer, [Flag | Acc]);
choose(_Tag, [], Tracer, Acc) ->
    {ok, {Tracer, lists:reverse(Acc)}};
choose(_, _, _, _) ->
    {error, badarg}.

chosen(Tag, Flags, Named, Acc) ->
    case check(Named) of
        {ok, Tracer} -> choose(Tag, Flags, Tracer, Acc);
        {error, _} = E -> E
    end.

%% @doc Loads the tracer modules that are in a list of flags. Like OTP, it loads
%% a module by calling it, in the calling process.
-spec load(tracer | meta, term()) -> ok.
load(Tag, [{Tag, Module, State} | Flags]) when is_atom(Module) ->
    _ = erlang:module_loaded(Module)
        orelse Module:enabled(trace_status, self(), State),
    load(Tag, Flags);
load(Tag, [_ | Flags]) ->
    load(Tag, Flags);
load(_, _) ->
    ok.

%% @doc Returns a tracer in the form that the callbacks take.
-spec native(tracer()) -> pid() | port() | {binary(), pos_integer()}.
native({inviso_tracer, Handle}) ->
    {ok, File} = file(),
    {File, Handle};
native(PidOrPort) ->
    PidOrPort.

%% @doc Monitors a tracer that is a process or port. Other tracers need no
%% monitor, because the NIF library sends a message when they take no more events.
-spec monitor(tracer()) -> reference() | none.
monitor(Pid) when is_pid(Pid) -> erlang:monitor(process, Pid);
monitor(Port) when is_port(Port) -> erlang:monitor(port, Port);
monitor(_) -> none.

%% @doc Returns true if a tracer takes events.
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

%% Dialyzer sees only the stub of inviso_tracer:library/0, which the loaded library
%% replaces.
-dialyzer({no_match, [file/0, check/1, native/1]}).
%% Returns the file from which inviso_tracer loaded its library.
-spec file() -> {ok, binary()} | error.
file() ->
    try inviso_tracer:library() of
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
