%% SPDX-License-Identifier: Apache-2.0
%% For inviso_tracer_SUITE: the example session in the documentation of erl_tracer,
%% whose tracer prints the sender and the receiver of each message. The session
%% runs on a node where nothing else happens. Processes are identified by their
%% registered names, and new processes by a number.
-module(inviso_trace_pairs).

-export([by_process/0, by_tracer/1]).

%% Returns the pairs {Sender, Receiver} that a process gets as the tracer.
by_process() ->
    session(self()),
    named([{S, R} || {trace, S, Tag, _, R} <- messages(),
                     Tag =:= send]).

messages() ->
    receive M -> [M | messages()] after 0 -> [] end.

by_tracer(Log) ->
    Tracer = inviso_trace_lib:open(Log, #{payload => none}),
    session(Tracer),
    inviso_trace_lib:close(Tracer),
    named([{pid(S), pid(R)}
           || #{<<"tag">> := <<"send">>, <<"pid">> := S,
                <<"payload">> := [_, R]} <- inviso_trace_lib:events(Log)]).

%% Returns the process, port or registered name that a text of the log names.
pid(<<"<", _/binary>> = Text) -> list_to_pid(binary_to_list(Text));
pid(<<"#Port", _/binary>> = Text) -> list_to_port(binary_to_list(Text));
pid(Text) -> binary_to_atom(Text).

session(Tracer) ->
    inviso_trace_lib:flags(new, Tracer, [send]),
    {ok, D} = file:open("/dev/null", [write]),
    ok = file:write(D, "x"),
    ok = file:close(D),
    Mon = monitor(process, D),
    receive {'DOWN', Mon, _, _, _} -> ok end,
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    erlang:trace(all, false, [all]).

named(Pairs) ->
    New = lists:usort([P || {A, B} <- Pairs, P <- [A, B],
                            registered_name(P) =:= []]),
    [{name(A, New), name(B, New)} || {A, B} <- Pairs].

name(P, New) ->
    case registered_name(P) of
        [] when is_pid(P) -> {new, index(P, New)};
        [] -> port;
        Name -> Name
    end.

index(P, [P | _]) -> 1;
index(P, [_ | Rest]) -> 1 + index(P, Rest).

registered_name(P) when P =:= self() -> me;
registered_name(P) when is_atom(P) -> P;
registered_name(P) when is_pid(P) ->
    case process_info(P, registered_name) of
        {registered_name, Name} -> Name;
        _ -> []
    end;
registered_name(_) -> [].
