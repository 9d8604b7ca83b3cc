%% SPDX-License-Identifier: Apache-2.0
%% @doc What a runtime component stores about its control component: the process,
%% and how long the runtime component may live without it. The runtime component
%% sends events to the control component, as `{inviso_rt_event, {Pid, {What,
%% Details}}}'.
-module(inviso_rt_control).

-export([dependency/2, new/2, is_needed/1, change/2, attach/3, adopt/4,
         handle/3, tell/2, facts/1]).

-export_type([control/0]).

-record(control, {controller = alone :: alone | {pid(), reference()},
                  tag :: term(),
                  dependency :: timeout(),
                  timer = none :: reference() | none}).

-opaque control() :: #control{}.

%% @doc Reads options that have been checked. Returns how long the runtime
%% component may live without a control component (ms), and the node of the
%% control component.
-spec dependency([term()], timeout()) -> {timeout(), node()}.
dependency(Options, Default) ->
    case [D || {dependency, D} <- Options] of
        [{Time, Node} | _] -> {Time, Node};
        [Time | _] -> {Time, node()};
        [] -> {Default, node()}
    end.

%% @doc Returns the state while no control component is attached.
-spec new(timeout(), term()) -> control().
new(Dependency, Tag) ->
    #control{dependency = Dependency, tag = Tag}.

%% @doc Returns the stored facts.
-spec facts(control()) -> #{control := none | pid(), tag := term(),
                            dependency := timeout()}.
facts(#control{controller = Controller, tag = Tag, dependency = Dependency}) ->
    #{control => case Controller of
                     {Pid, _} -> Pid;
                     alone -> none
                 end,
      tag => Tag, dependency => Dependency}.

%% @doc Returns true if the runtime component must not live without a control
%% component.
-spec is_needed(control()) -> boolean().
is_needed(#control{dependency = Dependency}) -> Dependency =:= 0.

%% @doc Changes the option `dependency'. The new value does not change a timer
%% that is already running.
-spec change([term()], control()) -> control().
change(Options, #control{dependency = Old} = Control) ->
    {New, _Node} = dependency(Options, Old),
    Control#control{dependency = New}.

%% @doc Attaches a control component.
-spec attach(pid(), term(), control()) -> control().
attach(Pid, Tag, #control{controller = {Pid, _}} = Control) ->
    Control#control{tag = Tag};
attach(Pid, Tag, #control{timer = Timer} = Control) ->
    _ = Timer =:= none orelse erlang:cancel_timer(Timer),
    Control#control{controller = {Pid, monitor(process, Pid)}, timer = none,
                    tag = Tag}.

%% @doc Attaches a control component if it may adopt the runtime component, and
%% returns the previous tag. A control component that is already attached may adopt
%% the runtime component again. This is needed if the control component has noticed
%% that the connection was lost, and the runtime component has not.
%% Another control component may adopt the runtime component if the attached control
%% component has ended, even if the message 'DOWN' has not arrived.
-spec adopt(pid(), term(), any | if_ref, control()) ->
          {ok, term(), control()}
        | {error, refused | {wrong_reference, term()}}.
adopt(Pid, Tag, Condition, #control{controller = {Other, Ref}} = Control)
  when Other =/= Pid ->
    case is_ending(Other) andalso not is_needed(Control)
        andalso adopt(Pid, Tag, Condition, Control#control{controller = alone}) of
        false ->
            {error, refused};
        {ok, _, _} = Ok ->
            true = demonitor(Ref, [flush]),
            Ok;
        {error, _} = E ->
            E
    end;
adopt(_Pid, Tag, if_ref, #control{tag = Old}) when Tag =/= Old ->
    {error, {wrong_reference, Old}};
adopt(Pid, Tag, _Condition, #control{tag = Old} = Control) ->
    {ok, Old, attach(Pid, Tag, Control)}.

%% Returns true if a process on this node has ended or is ending. Its 'DOWN' may not
%% have arrived yet.
is_ending(Pid) ->
    node(Pid) =:= node() andalso not is_process_alive(Pid).

%% @doc Handles a message, if it is about the control component. The message may be
%% the result of {@link inviso_rt_auto:find_control/1}. If it contains the pid of a
%% control component, attaches this control component, sends it `Is' (the state and
%% the status), and returns `attached'. Returns `over' if the runtime component has
%% been without a control component for too long. Returns `other' if the message is
%% about something else.
-spec handle(term(), {State :: term(), Status :: term()}, control()) ->
          {ok | attached | over, control()} | other.
handle({'DOWN', Ref, process, Pid, _}, _Is,
       #control{controller = {Pid, Ref}} = Control) ->
    alone(Control#control{controller = alone});
handle({timeout, Timer, running_alone}, _Is,
       #control{timer = Timer} = Control) ->
    {over, Control};
handle({control, _Node, Pid}, Is, #control{controller = alone, tag = Tag} = Control)
  when is_pid(Pid) ->
    ok = inviso_message:reply({Pid, inviso_rt_connect},
                              {node(), self(), Tag, Is}),
    {attached, attach(Pid, Tag, Control)};
handle({control, Node, undefined}, _Is, #control{controller = alone} = Control) ->
    _ = is_needed(Control) andalso
        inviso_rt_auto:log("no control component on ~tp, and it depends on one",
                           [Node]),
    alone(Control);
handle({control, _, _}, _Is, Control) ->
    {ok, Control};
handle(_, _Is, _Control) ->
    other.

alone(#control{dependency = infinity} = Control) ->
    {ok, Control};
alone(#control{dependency = 0} = Control) ->
    {over, Control};
alone(#control{dependency = Ms} = Control) ->
    Timer = erlang:start_timer(Ms, self(), running_alone),
    {ok, Control#control{timer = Timer}}.

%% @doc Sends an event to the control component, which passes the event on to its
%% subscribers ({@link inviso_c}).
-spec tell(tuple(), control()) -> ok.
tell(_Event, #control{controller = alone}) -> ok;
tell(Event, #control{controller = {Pid, _}}) ->
    inviso_message:reply({Pid, inviso_rt_event}, {self(), Event}).
