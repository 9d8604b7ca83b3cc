%% SPDX-License-Identifier: Apache-2.0
%% @doc A tracer of the trace sessions of OTP 25 and 26.
-module(inviso_engine_tracer).

-export([check/1, native/1, monitor/1, is_alive/1]).

-export_type([tracer/0]).

-type tracer() :: pid() | port() | {inviso_tracer, pos_integer()}.

%% @doc Whether it is one. That it is dead does not matter.
-spec check(term()) -> ok | {error, badarg | {not_supported, term()}}.
check(Tracer) when is_pid(Tracer), node(Tracer) =:= node() ->
    ok;
check(Tracer) when is_port(Tracer), node(Tracer) =:= node() ->
    ok;
check({inviso_tracer, Handle}) when is_integer(Handle) ->
    case file() of
        {ok, _} -> ok;
        error -> {error, badarg}
    end;
check({Module, _}) when is_atom(Module) ->
    {error, {not_supported, {tracer, Module}}};
check(_) ->
    {error, badarg}.

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
    end.

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
