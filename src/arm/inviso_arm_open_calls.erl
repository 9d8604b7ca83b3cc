%% SPDX-License-Identifier: Apache-2.0
%% @doc Bounds the open calls of each process. An open call is a traced call whose
%% end the VM has still to report. For each open call the VM puts a frame on the
%% process's stack. So if a process loops by tail calls, its stack grows as long
%% as the loop runs.
%%
%% ```
%%  the tracer counts ──► a process reaches the bound ──► look/3 sets the pattern
%%  open calls            its calls are left out          of the function again,
%%                                                        without ends
%% '''
%%
%% The tracer ({@link inviso_tracer}) counts in the thread of the traced process.
%% The owner of the tracer calls {@link look/3} many times a second.
-module(inviso_arm_open_calls).

-export([bind/3, look/3]).

%% @doc Sets the bound of a tracer that is open. Must be called before the first
%% pattern is set. 0 means no bound. Returns notes for the user.
-spec bind(inviso_tracer:tracer(), non_neg_integer(),
           inviso_tracing:tracing()) -> {[binary()], inviso_tracing:tracing()}.
bind(_, 0, T) ->
    {[], T};
bind({inviso_tracer, Handle}, Limit, T) ->
    case inviso_tracer:nif_bound(Handle, Limit,
                                 erlang:system_info(process_limit)) of
        true ->
            {[], inviso_tracing:bound(Handle, T)};
        false ->
            {[<<"no memory for counting open calls (--open-calls): the stack "
                "of a process may grow while returns are traced">>], T};
        closed ->
            {[], T}
    end.

%% @doc If a process has reached the bound, the tracer names the function of which the
%% process has the most open calls. Sets the pattern of this function again, so that
%% the VM no longer reports the ends of its calls. Returns notes for the user; `Calls'
%% says what the tracer does with calls. If the engine does not answer, the next call
%% tries again.
-spec look(inviso_tracer:tracer(), recorded | timed | counted,
           inviso_tracing:tracing()) -> {[binary()], inviso_tracing:tracing()}.
look({inviso_tracer, Handle}, Calls, T) ->
    case inviso_tracer:nif_stopped(Handle) of
        [_ | _] = Stopped ->
            lists:foldl(fun(S, Acc) -> stopped(Handle, S, Calls, Acc) end,
                        {[], T}, Stopped);
        _ ->
            {[], T}
    end.

stopped(Handle, {M, F, A, Pid, Open}, Calls, {Notes, T0}) ->
    case inviso_tracing:without_ends({M, F, A}, T0) of
        {{error, timeout}, T} ->
            {Notes, T};
        {_, T} ->
            _ = inviso_tracer:nif_released(Handle, M, F, A),
            {Notes ++ [note({M, F, A}, Calls, Pid, Open)], T}
    end.

note({M, F, A}, Calls, Pid, Open) ->
    text("~ts: ~ts. Reason: ~ts had ~b traced calls that had not returned, and "
         "each takes stack until it returns. A loop by tail calls never returns; "
         "a deep recursion returns late~ts",
         [inviso_spec:format_mfa(M, F, A), what(Calls), process(Pid), Open,
          allows(Calls)]).

allows(recorded) -> ". --open-calls N allows more (0: any number)";
allows(timed) -> ". --open-calls N allows more";
allows(counted) -> "".

what(timed) ->
    "its calls are not timed any more, and are counted as unpaired";
what(counted) ->
    "its results are not counted any more";
what(recorded) ->
    "returns are not recorded any more, so `slow' and `failed' do not see its "
        "calls".

%% Describes a process with its registered name. Does not ask the process, which
%% may be busy and answer late.
process(Pid) ->
    case [Name || Name <- registered(), whereis(Name) =:= Pid] of
        [Name | _] -> io_lib:format("~w (~tw)", [Pid, Name]);
        [] -> io_lib:format("~w", [Pid])
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
