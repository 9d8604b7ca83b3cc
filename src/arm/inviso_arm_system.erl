%% SPDX-License-Identifier: Apache-2.0
%% @doc Specs of events that the system monitor reports. Converts them to options
%% of the system monitor, and checks that no other tool uses it.
-module(inviso_arm_system).

-export([options/1, events/1, check/1, refusal/1, notes/2]).

%% @doc Returns the options of the system monitor for these specs. If several specs
%% name one event, the smallest threshold applies.
-spec options([inviso_spec:spec()]) -> [inviso_system_monitor:option()].
options(Specs) ->
    Least = lists:foldl(fun(#{kind := system, event := Event, at := At}, Map) ->
                                Map#{Event => min(At, maps:get(Event, Map, At))};
                           (_, Map) ->
                                Map
                        end, #{}, Specs),
    [option(Event, At) || {Event, At} <- lists:sort(maps:to_list(Least))].

option(Event, none) -> Event;
option(large_heap, Bytes) ->
    Word = erlang:system_info(wordsize),
    {large_heap, (Bytes + Word - 1) div Word};
%% After a report, the VM reports a process again only after its mailbox was as short
%% as half of the threshold.
option(long_message_queue, N) -> {long_message_queue, {N div 2, N}};
option(Event, Ms) -> {Event, Ms}.

%% @doc Returns the names of the events that these options request.
-spec events([inviso_system_monitor:option()]) -> [atom()].
events(Options) -> [name(O) || O <- Options].

%% @doc Throws `{Class, Text}' if this VM cannot report one of the events, or if
%% another process is the system monitor.
-spec check([inviso_system_monitor:option()]) -> ok.
check([]) ->
    ok;
check(Options) ->
    _ = [throw({usage, format("~w is available from OTP 27 on; this node has OTP ~ts",
                              [Event, erlang:system_info(otp_release)])})
         || Event <- events(Options),
            not inviso_system_monitor:supports(Event)],
    case inviso_system_monitor:owner() of
        none -> ok;
        Owner -> throw({refused, refusal(Owner)})
    end.

%% @doc Returns a text that says that the system monitor belongs to another process, and
%% what the user can do.
-spec refusal(pid() | port()) -> binary().
refusal(Owner) ->
    Otp = erlang:system_info(otp_release),
    case inviso_session_of(Owner) of
        none ->
            format("this node has a system monitor already: ~ts. OTP ~ts has one "
                   "for each node, and inviso does not replace that of another "
                   "tool. Stop that tool, or leave this spec out; "
                   "erlang:system_monitor(undefined) on the node also removes it",
                   [inviso_arm_foreign:owner(Owner), Otp]);
        Session ->
            format("~ts has the system monitor of this node already, and OTP ~ts "
                   "has one for each node. Stop that session first, see `inviso "
                   "status'", [Session, Otp])
    end.

%% Returns the inviso session whose process is the system monitor, or none. This
%% process is linked to its session.
inviso_session_of(Owner) when is_pid(Owner), node(Owner) =:= node() ->
    Links = case process_info(Owner, links) of
                {links, Ls} -> Ls;
                undefined -> []
            end,
    case [User || {Pid, User, _} <- inviso_push:users(), lists:member(Pid, Links)] of
        [User | _] -> inviso_push:owner(User);
        [] -> none
    end;
inviso_session_of(_) ->
    none.

%% @doc Returns notes for the user. `All' is true if all processes are traced.
-spec notes([inviso_system_monitor:option()], boolean()) -> [binary()].
notes(Options, false) when Options =/= [] ->
    [format("~ts: reported for all processes, whichever are traced; --filter "
            "selects some",
            [lists:join(", ", [atom_to_list(E) || E <- events(Options)])])];
notes(_, _) ->
    [].

name({Event, _}) -> Event;
name(Event) -> Event.

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
