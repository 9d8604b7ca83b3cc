%% SPDX-License-Identifier: Apache-2.0
%% @doc Changes the flags of a session on a process, on a port, or on many at once.
-module(inviso_engine_tracees).

-export([meant/2, change/4, existing/1, new/1]).

-export_type([meant/0]).

-type kind() :: process | port.
-type change() :: inviso_engine_flags:change().
-type flags() :: inviso_engine_flags:flags().
-type meant() :: pid() | port() | {Existing :: boolean(), New :: boolean()}.
%% A meant() is one tracee, or a pair: whether all existing tracees are meant, and
%% whether all new tracees are meant.

%% @doc Converts the tracees that a request names. Naming ports in a request about
%% processes, or the reverse, is an error.
-spec meant(kind(), term()) -> {ok, meant()} | {error, badarg}.
meant(process, Pid) when is_pid(Pid), node(Pid) =:= node() -> {ok, Pid};
meant(port, Port) when is_port(Port), node(Port) =:= node() -> {ok, Port};
meant(_, all) -> {ok, {true, true}};
meant(_, existing) -> {ok, {true, false}};
meant(_, new) -> {ok, {false, true}};
meant(process, processes) -> {ok, {true, true}};
meant(process, existing_processes) -> {ok, {true, false}};
meant(process, new_processes) -> {ok, {false, true}};
meant(port, ports) -> {ok, {true, true}};
meant(port, existing_ports) -> {ok, {true, false}};
meant(port, new_ports) -> {ok, {false, true}};
meant(_, _) -> {error, badarg}.

%% @doc Returns all existing tracees of a kind except the server's own process.
-spec existing(kind()) -> [pid() | port()].
existing(process) -> processes() -- [self()];
existing(port) -> erlang:ports().

%% @doc Returns the VM's name for new tracees of a kind.
-spec new(kind()) -> new_processes | new_ports.
new(process) -> new_processes;
new(port) -> new_ports.

%% @doc Sets or clears flags. Returns the number of existing tracees that were
%% changed. The server's own process and tracees of other tools are left out.
-spec change(kind() | processes, meant() | [pid()], change(), flags()) ->
          {ok, non_neg_integer(), flags()} |
          {error, badarg | other_tracer | {already_traced, term(), term()} |
                  system_limit}.
change(processes, Pids, Change, F) ->
    inviso_engine_flags:change_all([P || P <- Pids, P =/= self()], Change, F);
change(Kind, {Existing, New}, Change, F) ->
    many(Kind, Existing, New, Change, F);
change(_Kind, Tracee, Change, F) ->
    one(Tracee, Change, F).

%% Changes the flags of one tracee. Before a process answers whether it is alive, it
%% handles all signals that were sent to it earlier, such as links. So the new flags
%% do not trace these signals.
one(Tracee, Change, F) ->
    case (is_port(Tracee) orelse is_process_alive(Tracee))
         andalso inviso_engine_flags:change(Tracee, Change, F) of
        {ok, New} -> {ok, 1, New};
        {error, Reason} when Reason =/= gone -> {error, Reason};
        _ -> {error, badarg}
    end.

%% Changes the flags of many tracees. Begins with the flags of new tracees: otherwise
%% a tracee that starts meanwhile would be missed. If no flag applies to this kind of
%% tracee (for example flags of ports, in a request about processes), nothing changes.
many(Kind, Existing, New, {Slot, How, Bits, Tracer} = Change, F0) ->
    case inviso_engine_flags:for(Kind, Bits) of
        0 ->
            {ok, 0, F0};
        Meant ->
            Changed = case New of
                          true ->
                              inviso_engine_flags:change(
                                new(Kind),
                                {Slot, How, of_new(How, Meant), Tracer}, F0);
                          false ->
                              {ok, F0}
                      end,
            case Changed of
                {ok, F} ->
                    Tracees = [T || Existing, T <- existing(Kind)],
                    counted(inviso_engine_flags:change_all(Tracees, Change, F),
                            Change);
                {error, _} = E ->
                    E
            end
    end.

%% Returns the flags to change on new tracees. A request to clear one flag of new
%% tracees clears all their flags. The same happens in OTP, because there the request
%% removes the tracer of new tracees.
of_new(true, Bits) ->
    Bits;
of_new(false, _) ->
    {ok, All} = inviso_engine_flags:parse([all]),
    All.

counted({ok, N, F}, {Slot, false, _Bits, _Tracer}) ->
    case lists:member(call, inviso_engine_flags:has(Slot, F)) of
        true -> {ok, N, inviso_engine_flags:recount(Slot, F)};
        false -> {ok, N, F}
    end;
counted(Result, _) ->
    Result.
