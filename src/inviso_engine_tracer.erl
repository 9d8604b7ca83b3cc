%% SPDX-License-Identifier: Apache-2.0
%% @doc Tracers of the trace sessions of OTP 25 and 26.
-module(inviso_engine_tracer).

-export([native/1, monitor/1, is_alive/1, file/0]).

-type tracer() :: pid() | {inviso_tracer, pos_integer()}.

%% @doc As the callbacks take it.
-spec native(tracer()) -> pid() | {binary(), pos_integer()}.
native({inviso_tracer, Handle}) ->
    {ok, File} = file(),
    {File, Handle};
native(Pid) ->
    Pid.

%% @doc A process is watched; others tell when they take no more events.
-spec monitor(tracer()) -> reference() | none.
monitor(Pid) when is_pid(Pid) -> erlang:monitor(process, Pid);
monitor(_) -> none.

%% @doc Whether it takes events.
-spec is_alive(tracer()) -> boolean().
is_alive(Pid) when is_pid(Pid) ->
    is_process_alive(Pid);
is_alive({inviso_tracer, Handle}) ->
    try
        inviso_tracer:enabled(trace_status, Handle, undefined) =:= trace
    catch
        error:_ -> false
    end.

%% What dir/0 says in the source it says only until the library is loaded.
-dialyzer({no_match, file/0}).
%% @doc The library of inviso_tracer, if it is loaded, as it was named then.
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
