%% SPDX-License-Identifier: Apache-2.0
%% @doc Whose flags a session changes: a process, a port, or many at once.
-module(inviso_engine_tracees).

-export([is_meant/2, change/4]).

-type change() :: inviso_engine_flags:change().
-type flags() :: inviso_engine_flags:flags().

%% @doc Whether that can be meant; of a word {@link change/4} says so.
-spec is_meant(process | port, term()) -> boolean().
is_meant(process, Pid) when is_pid(Pid) -> node(Pid) =:= node();
is_meant(port, Port) when is_port(Port) -> node(Port) =:= node();
is_meant(_, Word) -> is_atom(Word).

%% @doc Sets or clears flags. The number that matched: those that exist, but for
%% the server's own process and those that somebody else traces.
-spec change(process | processes | port, term(), change(), flags()) ->
          {ok, non_neg_integer(), flags()} |
          {error, badarg | other_tracer | {already_traced, term(), term()} | system_limit}.
change(process, Pid, Change, F) when is_pid(Pid), node(Pid) =:= node() ->
    one(Pid, Change, F);
change(port, Port, Change, F) when is_port(Port), node(Port) =:= node() ->
    one(Port, Change, F);
change(processes, Pids, Change, F) ->
    inviso_engine_flags:change_all([P || P <- Pids, P =/= self()], Change, F);
change(Kind, What, Change, F) ->
    case meant(Kind, What) of
        {Existing, New} -> many(kind(Kind), Existing, New, Change, F);
        error -> {error, badarg}
    end.

kind(process) -> processes;
kind(port) -> ports.

%% What was sent to it before, as a link, it is to have had before. (It answers
%% after that.)
one(Tracee, Change, F) ->
    case (is_port(Tracee) orelse is_process_alive(Tracee))
         andalso inviso_engine_flags:change(Tracee, Change, F) of
        {ok, New} -> {ok, 1, New};
        {error, Reason} when Reason =/= gone -> {error, Reason};
        _ -> {error, badarg}
    end.

%% Whether those that exist, and those that will be.
meant(_, all) -> {true, true};
meant(_, existing) -> {true, false};
meant(_, new) -> {false, true};
meant(process, processes) -> {true, true};
meant(process, existing_processes) -> {true, false};
meant(process, new_processes) -> {false, true};
meant(port, ports) -> {true, true};
meant(port, existing_ports) -> {true, false};
meant(port, new_ports) -> {false, true};
meant(_, _) -> error.

%% New ones first, or those born during the walk would be missed. With flags of
%% the other kind alone nothing is meant.
many(Kind, Existing, New, {Slot, How, Bits, Tracer} = Change, F0) ->
    case inviso_engine_flags:for(Kind, Bits) of
        0 ->
            {ok, 0, F0};
        Meant ->
            case new_ones(Kind, New, {Slot, How, of_new(How, Meant), Tracer},
                          F0)
            of
                {ok, F1} ->
                    counted(existing(Kind, Existing, Change, F1), Change);
                {error, _} = E ->
                    E
            end
    end.

%% With any flag of new ones that is turned off OTP forgets their tracer, and so
%% all of their flags.
of_new(true, Bits) ->
    Bits;
of_new(false, _) ->
    {ok, All} = inviso_engine_flags:parse([all], false),
    All.

new_ones(_Kind, false, _Change, F) ->
    {ok, F};
new_ones(processes, true, Change, F) ->
    inviso_engine_flags:change(new_processes, Change, F);
new_ones(ports, true, Change, F) ->
    inviso_engine_flags:change(new_ports, Change, F).

existing(_Kind, false, _Change, F) ->
    {ok, 0, F};
existing(processes, true, Change, F) ->
    inviso_engine_flags:change_all(processes() -- [self()], Change, F);
existing(ports, true, Change, F) ->
    inviso_engine_flags:change_all(erlang:ports(), Change, F).

counted({ok, N, F}, {Slot, false, _Bits, _Tracer}) ->
    case inviso_engine_flags:calls(Slot, F) of
        true -> {ok, N, inviso_engine_flags:recount(Slot, F)};
        false -> {ok, N, F}
    end;
counted(Result, _) ->
    Result.
