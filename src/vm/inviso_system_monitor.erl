%% SPDX-License-Identifier: Apache-2.0
%% @doc The system monitor of this node: the process to which the VM reports long
%% garbage collections, large heaps and similar events.
%%
%% Before OTP 28 a node has one system monitor (`erlang:system_monitor/2'). inviso
%% sets a system monitor only if the node has none, and clears it only if it is
%% still inviso's. From OTP 28 on each trace session has its own system monitor
%% (`trace:system/3').
%%
%% The process that is to get the reports calls these functions. When this process
%% dies, the VM clears the system monitor that it has set.
-module(inviso_system_monitor).

-export([owner/0, supports/1, set/1, state/1, clear/1]).

-export_type([monitor/0, option/0]).

-type option() :: {long_gc | long_schedule | large_heap, pos_integer()}
                | busy_port | busy_dist_port
                | {long_message_queue, {non_neg_integer(), pos_integer()}}.
-opaque monitor() :: node | {session, term()}.

%% @doc Returns the process or port that is the node's system monitor. Returns `none'
%% if the node has no system monitor, or if the VM can have several system monitors
%% at the same time.
-spec owner() -> pid() | port() | none.
owner() ->
    case not has_sessions() andalso erlang:system_monitor() of
        {Owner, _} -> Owner;
        _ -> none
    end.

%% @doc Returns true if the VM reports this event.
-spec supports(atom()) -> boolean().
supports(long_message_queue) ->
    %% This event and trace sessions came with the same release, OTP 27. The only
    %% direct test would be to set a system monitor.
    inviso_vm:has_sessions();
supports(_) ->
    true.

%% @doc Makes the calling process a system monitor. Events of the calling process are
%% not reported.
-spec set([option()]) -> {ok, monitor()} | {error, {taken, pid() | port()} | term()}.
set(Options) ->
    case has_sessions() of
        true -> set_in_session(Options);
        false -> set_of_node(Options)
    end.

set_of_node(Options) ->
    case owner() of
        none ->
            try erlang:system_monitor(self(), Options) of
                undefined ->
                    {ok, node};
                {Owner, Had} ->
                    %% Another process has just become the system monitor: make it
                    %% the system monitor again.
                    _ = erlang:system_monitor(Owner, Had),
                    {error, {taken, Owner}}
            catch
                error:Reason -> {error, Reason}
            end;
        Owner ->
            {error, {taken, Owner}}
    end.

%% OTP 25 does not have the functions of `trace' that are called here.
-dialyzer({no_missing_calls, [set_in_session/1, clear/1]}).
set_in_session(Options) ->
    try trace:session_create(inviso, self(), []) of
        Session ->
            _ = [ok = trace:system(Session, Event, Value)
                 || Option <- Options, {Event, Value} <- [option(Option)]],
            {ok, {session, Session}}
    catch
        error:Reason -> {error, Reason}
    end.

option(Event) when is_atom(Event) -> {Event, true};
option({_, _} = Option) -> Option.

%% @doc Returns `ours' if the calling process still gets the reports. Returns
%% `{taken, Other}' if another process or port gets them, and `none' if no
%% process gets them.
-spec state(monitor()) -> ours | none | {taken, pid() | port()}.
state({session, _}) ->
    ours;
state(node) ->
    Me = self(),
    case erlang:system_monitor() of
        {Me, _} -> ours;
        {Other, _} -> {taken, Other};
        undefined -> none
    end.

%% @doc Ends the reports to the calling process. Does not change the system monitor
%% of another process.
-spec clear(monitor()) -> ok.
clear({session, Session}) ->
    _ = trace:session_destroy(Session),
    ok;
clear(node) ->
    _ = state(node) =:= ours andalso erlang:system_monitor(undefined),
    ok.

has_sessions() ->
    inviso_vm:has_sessions() andalso
        {module, trace} =:= code:ensure_loaded(trace) andalso
        erlang:function_exported(trace, system, 3).
