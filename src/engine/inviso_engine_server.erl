%% SPDX-License-Identifier: Apache-2.0
%% @doc The server of the trace sessions of OTP 25 and 26.
%%
%% The server is one process, which runs while there is a session. It writes the
%% tables that the callbacks in {@link inviso_engine} read. No other process sets
%% flags and patterns in the VM for sessions. {@link inviso_engine_request} sends
%% requests to the server.
-module(inviso_engine_server).

-export([run/2]).

-record(session, {name :: atom(),
                  slot :: inviso_engine:slot(),
                  %% `undefined': each tracee, and each meta traced function, has a
                  %% tracer of its own.
                  tracer :: inviso_engine_tracer:tracer() | undefined}).

-record(state, {alive :: reference(),
                heir :: reference(), % the monitor of the heir
                caller :: pid(), % the sender of the current request
                sessions = #{} :: #{non_neg_integer() => #session{}},
                tracers = inviso_engine_tracers:new()
                :: inviso_engine_tracers:tracers(),
                %% Free slots. The slot that has been free longest is used first,
                %% because a callback may still be running for the last session of a
                %% slot.
                slots = [{Slot, fresh} || Slot <- lists:seq(0, 31)]
                :: [{inviso_engine:slot(), fresh | used}],
                foreign = inviso_engine_foreign:new()
                :: inviso_engine_foreign:foreign(),
                flags :: inviso_engine_flags:flags(),
                functions :: inviso_engine_functions:functions(),
                messages :: inviso_engine_patterns:messages(),
                lost = inviso_engine_lost:new() :: inviso_engine_lost:told()}).

-define(TAG, '$inviso_engine').
-define(HEIR, inviso_engine_heir).
%% While there is no request, the server checks for losses this often (ms).
-define(LOOK, 5000).
%% At most this many processes get new flags before the server handles its next
%% message.
-define(CHANGED, 16).

%% @doc The function of a new process. The process becomes the server, unless a
%% server is running. In either case `Starter' gets `{'$inviso_engine', Tag,
%% ready}'.
-spec run(pid(), reference()) -> term().
run(Starter, Tag) ->
    try register(?MODULE, self()) of
        true ->
            process_flag(sensitive, true),
            %% With high priority, a request to stop tracing does not wait until
            %% busy traced processes have run.
            process_flag(priority, high),
            %% If the starter dies before it has opened a session, the `DOWN'
            %% message ends this process.
            _ = monitor(process, Starter),
            load(),
            {Alive, Orphaned} = inviso_engine:start(),
            Heir = new_heir(),
            _ = Orphaned andalso clean(),
            State = #state{alive = Alive, heir = Heir, caller = Starter,
                           flags = inviso_engine_flags:new(),
                           functions = inviso_engine_functions:new(),
                           messages = inviso_engine_patterns:new()},
            Starter ! {?TAG, Tag, ready},
            loop(State)
    catch
        %% Another process has become the server first.
        error:badarg -> Starter ! {?TAG, Tag, ready}
    end.

%% Loads all modules of the engine, and the other modules that its requests use,
%% before the first session is opened. If a request loaded a module later, a pattern
%% on all functions would then match more functions than before.
load() ->
    _ = inviso_pushed:is_brought()
        orelse code:ensure_modules_loaded(
                 proplists:get_value(engine, inviso_pushed:rooms(), [])),
    inviso_seq_labels:check([]).

%% Starts the heir, which starts the next server if this server is killed. Without
%% an heir, the sessions' flags and patterns would stay in the VM until a process
%% opens a session.
new_heir() ->
    Server = self(),
    Ref = make_ref(),
    {_, Heir} = spawn_monitor(fun() -> be_heir(Server, Ref) end),
    receive
        {?TAG, Ref, heir} -> Heir;
        {'DOWN', Heir, _, _, _} -> new_heir()
    end.

be_heir(Server, Ref) ->
    process_flag(sensitive, true),
    Monitor = monitor(process, Server),
    _ = register_heir(false),
    Server ! {?TAG, Ref, heir},
    ok = register_heir(true),
    receive
        {'DOWN', Monitor, _, _, normal} -> ok;
        {'DOWN', Monitor, _, _, _} -> inviso_engine_request:info(all)
    end.

%% Registers the heir. While the name is registered, a server is running, or the
%% flags and patterns of a killed server are not cleared yet. The heir of a killed
%% server keeps the name until the next server is ready, and the next server is ready
%% only when the new heir has reported to it. So the new heir must not wait for the
%% name before it reports: it reports first, and takes the name later.
register_heir(Wait) ->
    case whereis(?HEIR) of
        Self when Self =:= self() ->
            ok;
        undefined ->
            try register(?HEIR, self()) of true -> ok
            catch error:badarg -> register_heir(Wait)
            end;
        Before when Wait ->
            Monitor = monitor(process, Before),
            receive {'DOWN', Monitor, _, _, _} -> register_heir(Wait) end;
        _ ->
            later
    end.

%% Clears what sessions of a killed server have left in the VM.
clean() ->
    inviso_engine_breakpoints:clean(),
    inviso_engine_patterns:clean(),
    inviso_engine_flags:clean(),
    inviso_engine:cleaned().

loop(State0) ->
    State = State0#state{lost = inviso_engine_lost:tell(State0#state.lost)},
    receive
        {?TAG, gone, Number} ->
            Began = inviso_engine_lost:now_ms(),
            next(took(gone, Began, close(Number, look(State))));
        {?TAG, changed, _} ->
            loop(changed(State));
        {?TAG, lost, Tracer} ->
            next(tracer_gone(Tracer, State));
        {?TAG, Ref, Caller, Request} ->
            Began = inviso_engine_lost:now_ms(),
            {Answer, New0} = handle(Request, State#state{caller = Caller}),
            New = took(Request, Began, New0),
            case Answer of
                {more, Rest} ->
                    self() ! {?TAG, Ref, Caller, Rest},
                    loop(New);
                _ ->
                    Last = map_size(New#state.sessions) =:= 0,
                    _ = Last andalso unregister(?MODULE),
                    Ref ! {?TAG, Ref, Answer},
                    %% The server's heap still has the new handle. This copy would
                    %% keep the session alive.
                    _ = element(1, Request) =:= open andalso garbage_collect(),
                    next(New)
            end;
        {'DOWN', Heir, _, _, _} when Heir =:= State#state.heir ->
            loop(State#state{heir = new_heir()});
        {'DOWN', Monitor, _, _, _} ->
            next(tracer_gone(Monitor, State));
        _ ->
            loop(State)
    after ?LOOK ->
            loop(State)
    end.

next(#state{sessions = S}) when map_size(S) =:= 0 ->
    ok;
next(State) ->
    loop(State).

took(Request, Began, #state{lost = Told} = State) ->
    State#state{lost = inviso_engine_lost:took(Request, Began, Told)}.

%% Changes the flags of a few processes. If more processes are waiting, the server
%% sends itself a message, so that the requests in its mailbox are handled first.
changed(#state{flags = Flags} = State) ->
    {Pids, New} = inviso_engine_flags:changed(?CHANGED, Flags),
    _ = length(Pids) =:= ?CHANGED andalso (self() ! {?TAG, changed, more}),
    attribute(Pids, State#state{flags = New}).

handle({open, Name, Tracer}, State) ->
    open_session(Name, Tracer, State);
handle({info, Who} = Request, State) when is_pid(Who); is_port(Who) ->
    answer(Request, State);
handle({_, {info, Who, _}} = Request, State) when is_pid(Who); is_port(Who) ->
    answer(Request, State);
handle({_, {Kind, Who, _, _}} = Request, State)
  when Kind =:= process, is_pid(Who); Kind =:= processes;
       Kind =:= port, is_port(Who) ->
    answer(Request, State);
%% Only requests about functions need look/1. It searches for modules that were loaded
%% since the last call, and takes a while if many modules are loaded. So frequent
%% requests, about single processes and ports, skip look/1.
handle(Request, State) ->
    answer(Request, look(State)).

look(#state{functions = Functions} = State) ->
    State#state{functions = inviso_engine_functions:look(Functions)}.

answer({info, all}, State) ->
    {{ok, weak(slots(State), State) ++ [{legacy, default}]}, State};
answer({info, PidPortFuncEvent}, State) ->
    {about(subject(PidPortFuncEvent), State), State};
%% Changes the flags of the first few processes. For the other processes the server
%% sends itself a request, so that the requests in its mailbox, such as the end of a
%% session, are handled first.
answer({Session, {processes, Pids, Flags, Before}}, State)
  when length(Pids) > ?CHANGED ->
    {Few, Rest} = lists:split(?CHANGED, Pids),
    case answer({Session, {processes, Few, Flags, Before}}, State) of
        {{ok, N}, New} -> {{more, {Session, {processes, Rest, Flags, N}}}, New};
        Failed -> Failed
    end;
answer({Session, Request}, State) ->
    case number(Session, State) of
        none ->
            {{error, session}, State};
        Number when Request =:= destroy ->
            {{ok, true}, close(Number, State)};
        Number ->
            #{Number := #session{slot = Slot} = S} = State#state.sessions,
            {Answer, New} = try serve(Request, S, State)
                            catch throw:{error, _} = E -> {E, State}
                            end,
            {Answer, calling(Request, Slot, attribute(named(Request), New))}
    end.

%% Returns the processes whose flags a request may have changed.
named({process, Pid, _, _}) when is_pid(Pid), node(Pid) =:= node() -> [Pid];
named({process, Pid, _, _}) when is_pid(Pid) -> [];
named({process, New, _, _}) when New =:= new; New =:= new_processes -> [];
named({process, _, _, _}) -> processes();
named({processes, Pids, _, _}) -> Pids;
named(_) -> [].

%% After flags of processes have changed, attributes the times of their calls to the
%% sessions that now have the flag `call'. This must be done before the patterns are
%% adapted, because that can remove counters from the VM.
attribute(Pids, #state{functions = Functions} = State) ->
    case inviso_engine_times:changes(Pids) of
        [] ->
            State;
        Changes ->
            New = inviso_engine_functions:attribute(Changes, Functions),
            ok = inviso_engine_times:done(Changes),
            State#state{functions = New}
    end.

%% After a request has changed flags, adapts the patterns: a session's patterns on
%% functions are in the VM only while a process has the session's flag `call', or
%% while the session expects to set it.
calling({process, Pid, false, _}, Slot, #state{flags = Flags} = State)
  when is_pid(Pid) ->
    calling(Slot, State#state{
                    flags = inviso_engine_flags:recount(Slot, Flags)});
calling({Kind, _, _, _}, Slot, State)
  when Kind =:= process; Kind =:= processes ->
    calling(Slot, State);
calling(_, _, State) ->
    State.

calling(Slot, #state{flags = Flags, functions = Functions} = State) ->
    Foreign = [Mark || inviso_engine_foreign:calls(Slot, State#state.foreign),
                       Mark <- [call, foreign]],
    Has = Foreign ++ inviso_engine_flags:has(Slot, Flags),
    State#state{functions = inviso_engine_functions:activate(Slot, Has,
                                                             Functions)}.

number({Name, Number}, #state{sessions = Sessions}) ->
    case Sessions of
        #{Number := #session{name = Name}} -> Number;
        _ -> none
    end;
number(_, _) ->
    none.

%%---------------------------------------------------------------------------
%% Sessions.

open_session(_Name, _Tracer, #state{slots = []} = State) ->
    {{error, system_limit}, State};
open_session(Name, Tracer, #state{slots = [{Slot, Was} | Slots]} = State0) ->
    case take(Tracer, Slot, State0) of
        {ok, TracerNumber, State1} ->
            ok = vacate(Slot, Was),
            Number = inviso_engine:session(Slot, TracerNumber),
            Session = #session{name = Name, slot = Slot, tracer = Tracer},
            Sessions = (State0#state.sessions)#{Number => Session},
            State = State1#state{slots = Slots, sessions = Sessions,
                                 flags = inviso_engine_flags:opened(
                                           Slot, State0#state.flags)},
            renew_messages(State),
            {{ok, {inviso_engine:handle(Number), {Name, Number}}}, State};
        {error, _} = E ->
            {E, State0}
    end.

%% Removes what the slot's last session has left in the table of tracees. A slot
%% that was never used has nothing there.
vacate(_Slot, fresh) -> ok;
vacate(Slot, used) -> vacate(Slot, inviso_engine:vacate(Slot, 0));
vacate(_Slot, 0) -> ok;
vacate(Slot, Next) -> vacate(Slot, inviso_engine:vacate(Slot, Next)).

%% Adds a tracer to a session and returns the tracer's number. 0 means that the
%% session has no tracer, or that the VM itself calls the tracer's module.
take(undefined, _Slot, State) ->
    {ok, 0, State};
take(Tracer, Slot, #state{tracers = Tracers, foreign = Foreign} = State) ->
    case inviso_engine_foreign:is_foreign(Tracer) of
        true ->
            case inviso_engine_foreign:own(Tracer, Slot, Foreign) of
                {ok, New} -> {ok, 0, State#state{foreign = New}};
                {error, _} = E -> E
            end;
        false ->
            case inviso_engine_tracers:take(Tracer, Slot, Tracers) of
                {ok, Number, New} -> {ok, Number, State#state{tracers = New}};
                {error, _} = E -> E
            end
    end.

close(Number, #state{sessions = Sessions} = State0) ->
    case Sessions of
        #{Number := #session{slot = Slot}} ->
            ok = inviso_engine:session(Slot, none),
            State = forget_changed(forget(Slot, State0)),
            Tracers = inviso_engine_tracers:drop(Slot, State#state.tracers),
            _ = map_size(Sessions) > 1 orelse inviso_engine:cleaned(),
            State#state{sessions = maps:remove(Number, Sessions),
                        tracers = Tracers,
                        slots = State#state.slots ++ [{Slot, used}]};
        _ ->
            State0
    end.

%% While the server cleared a session's flags, traced processes can have spawned
%% children, which inherited flags. Clears these flags when the last session is
%% closed.
forget_changed(#state{sessions = Sessions} = State)
  when map_size(Sessions) > 1 ->
    State;
forget_changed(#state{flags = Flags} = State) ->
    case inviso_engine_flags:changed(?CHANGED, Flags) of
        {Pids, New} when length(Pids) =:= ?CHANGED ->
            forget_changed(State#state{flags = New});
        {_, New} ->
            State#state{flags = New}
    end.

%% Clears everything that a session has set. Patterns are cleared before flags, so
%% that calls are not traced while the flags of all processes are cleared.
forget(Slot, State) ->
    #state{functions = Functions, messages = Messages, flags = Flags} = State,
    Others = slots(State) -- [Slot],
    State#state{
      functions = inviso_engine_functions:forget(Slot, Functions),
      messages = inviso_engine_patterns:forget_message(Slot, Others, Messages),
      flags = inviso_engine_flags:forget(Slot, Flags),
      foreign = inviso_engine_foreign:forget(Slot, State#state.foreign)}.

slots(#state{sessions = Sessions}) ->
    [Slot || #session{slot = Slot} <- maps:values(Sessions)].

renew_messages(#state{messages = Messages} = State) ->
    _ = [inviso_engine_patterns:messages(Event, renew,
                                         {Messages, slots(State)})
         || Event <- [send, 'receive']],
    ok.

%% Called when a message says that a tracer has died. As in OTP 27, the flags with
%% this tracer are cleared and the session stays. If the message is late, the number
%% in the message may now belong to another tracer, which is alive.
tracer_gone(Key, #state{tracers = Tracers} = State) ->
    case inviso_engine_tracers:users(Key, Tracers) of
        {Tracer, Number, Slots} ->
            case inviso_engine_tracer:is_alive(Tracer) of
                true ->
                    State;
                false ->
                    lists:foldl(fun(Slot, Acc) ->
                                        forget_tracer(Tracer, Number, Slot, Acc)
                                end, State, Slots)
            end;
        none ->
            State
    end.

forget_tracer(Tracer, Number, Slot, #state{sessions = Sessions} = State) ->
    case [S || #session{slot = L} = S <- maps:values(Sessions), L =:= Slot] of
        [#session{tracer = undefined}] ->
            Tracers = inviso_engine_tracers:drop(Tracer, Slot,
                                                 State#state.tracers),
            forget_flags(Slot, Number, State#state{tracers = Tracers});
        [_] ->
            forget_flags(Slot, 0, State)
    end.

forget_flags(Slot, Number, #state{flags = Flags} = State) ->
    New = inviso_engine_flags:forget(Slot, Number, Flags),
    calling(Slot, attribute(processes(), State#state{flags = New})).

%%---------------------------------------------------------------------------
%% Requests of sessions.

serve({expect_calls, After}, #session{slot = Slot},
      #state{functions = Functions} = State) ->
    {Next, New} = inviso_engine_functions:expect(Slot, After, Functions),
    {{ok, Next}, State#state{functions = New}};
serve({Kind, What, How, FlagList}, S, State)
  when Kind =:= process, is_boolean(How); Kind =:= port, is_boolean(How) ->
    Tracees = valid(inviso_engine_tracees:meant(Kind, What)),
    set_or_clear({Kind, Tracees}, How, FlagList, S, State);
serve({processes, Pids, FlagList, Before}, S, State) ->
    case set_or_clear({processes, Pids}, true, FlagList, S, State) of
        {{ok, N}, New} -> {{ok, Before + N}, New};
        Failed -> Failed
    end;
serve({function, MFA, MS, FlagList}, S, State) ->
    {Tracer, Flags} = choose(meta, FlagList, S, State),
    Kinds = [meta || Flags =/= FlagList] ++ Flags,
    Action = valid(inviso_engine_entry:parse(MFA, MS, Kinds)),
    function(MFA, Action, {Tracer, S}, State);
serve({Message, MS, []}, #session{slot = Slot}, State)
  when Message =:= send; Message =:= 'receive' ->
    message(Message, MS, Slot, State);
serve({info, What, Item}, S, State0) ->
    Functions = inviso_engine_functions:look(What, State0#state.functions),
    State = State0#state{functions = Functions},
    {item(subject(What), Item, S, State), State};
serve(_, _, _) ->
    throw({error, badarg}).

%% Returns the value, or throws the error. Must be called before a request changes
%% anything.
valid(ok) -> ok;
valid({ok, Value}) -> Value;
valid({error, _} = E) -> throw(E).

choose(Tag, FlagList, #session{tracer = Own}, #state{caller = Caller}) ->
    valid(inviso_engine_tracer:choose(Tag, FlagList, {Own, Caller})).

set_or_clear(Tracees, How, FlagList, #session{slot = Slot} = S, State) ->
    {Tracer, Flags} = choose(tracer, FlagList, S, State),
    Bits = valid(inviso_engine_flags:parse(Flags)),
    flags(Tracees, {Slot, How, Bits, 0}, {Tracer, Flags, S}, State).

flags({Kind, Which}, {Slot, false, _, _} = Change, {_, Flags, _}, State0) ->
    Foreign = State0#state.foreign,
    N = inviso_engine_foreign:clear(Kind, Which, {Slot, Flags}, Foreign),
    State = State0#state{
              foreign = inviso_engine_foreign:recount(Slot, Foreign)},
    case flags({Kind, Which}, Change, State) of
        {{error, _}, _} when N > 0 -> {{ok, N}, State};
        {{ok, M}, New} -> {{ok, N + M}, New};
        Answer -> Answer
    end;
flags(Tracees, {Slot, true, _, _} = Change, {Tracer, Flags, S}, State0) ->
    %% If a tracer of the session has died, the flags that were set with this tracer are
    %% cleared first, because a tracee can have only one tracer.
    State = lists:foldl(fun tracer_gone/2, State0,
                        inviso_engine_tracers:used_by(
                          Slot, State0#state.tracers)),
    case inviso_engine_foreign:is_foreign(Tracer) of
        true -> foreign_flags(Tracees, Slot, {Tracer, Flags}, State);
        false -> our_flags(Tracees, Change, {Tracer, S}, State)
    end.

foreign_flags({processes, _}, _Slot, {Tracer, _}, State) ->
    {{error, {not_supported, {processes, Tracer}}}, State};
foreign_flags({Kind, Which}, Slot, {Tracer, Flags} = Change, State) ->
    case inviso_engine_foreign:own(Tracer, Slot, State#state.foreign) of
        {ok, Foreign} ->
            _ = is_tuple(Which)
                orelse inviso_engine_flags:release(Which, State#state.flags),
            %% A session's calls go either to tracer modules that the VM calls, or
            %% to tracers that the engine calls, never to both.
            Answer = case lists:member(call, Flags) andalso
                         has_call(Slot, State#state.flags) of
                         true -> {error, {not_supported, {shared, calls}}};
                         false -> inviso_engine_foreign:change(
                                    Kind, Which, Change, Foreign)
                     end,
            {Answer, State#state{foreign = note_calls(Answer, Change, Foreign)}};
        {error, _} = E ->
            {E, State}
    end.

has_call(Slot, Flags) ->
    lists:member(call, inviso_engine_flags:has(Slot, Flags)).

note_calls({ok, _}, {Tracer, Flags}, Foreign) ->
    inviso_engine_foreign:told_calls(Tracer, Flags, Foreign);
note_calls({error, _}, _, Foreign) ->
    Foreign.

our_flags(Tracees, {Slot, true, Bits, 0}, {Tracer, S}, State0) ->
    case take(Tracer, Slot, State0) of
        {ok, Number, State} ->
            %% If the tracer is dead, this message makes the server clear the new
            %% flags.
            _ = inviso_engine_tracer:is_alive(Tracer)
                orelse (self() ! {?TAG, lost, Number}),
            InProfile = case S#session.tracer of
                            undefined -> Number;
                            _ -> 0
                        end,
            flags(Tracees, {Slot, true, Bits, InProfile}, State);
        {error, _} = E ->
            {E, State0}
    end.

flags({Kind, Which}, Change, State) ->
    case inviso_engine_tracees:change(Kind, Which, Change, State#state.flags) of
        {ok, N, Flags} ->
            {{ok, N}, State#state{flags = Flags}};
        {error, {already_traced, Tracee, By}} = E ->
            case inviso_engine_foreign:slot(Tracee, State#state.foreign) of
                none -> {E, State};
                _ -> {{error, {not_supported, {shared, {Tracee, By}}}}, State}
            end;
        {error, _} = E ->
            {E, State}
    end.

function(MFA, Action, {Tracer, #session{slot = Slot} = S}, State0) ->
    case meta_tracer(Tracer, Action, S, State0) of
        {{ok, Number}, State} ->
            case inviso_engine_functions:set(Slot, MFA, Action,
                                             {Tracer, Number},
                                             State#state.functions) of
                {ok, N, New} -> {{ok, N}, State#state{functions = New}};
                {error, _} = E -> {E, State}
            end;
        {{error, _} = E, State} ->
            {E, State}
    end.

%% Returns the number of a meta tracer. If the session has its own tracer, no number
%% is needed. Otherwise the tracers that the match spec names get numbers, too. If
%% there are too few numbers for all these tracers, no tracer gets a number.
meta_tracer(Tracer, {_, Kinds, MS}, #session{slot = Slot, tracer = undefined},
            State0) ->
    Named = inviso_engine_spec:tracers(MS),
    IsMeta = Kinds =/= global andalso lists:member(meta, Kinds),
    case take_named(Named, Slot, State0) of
        {ok, State} when IsMeta ->
            case take(Tracer, Slot, State) of
                {ok, Number, New} -> {{ok, Number}, New};
                {error, _} = E -> {E, give_back(Named, Slot, State0, State)}
            end;
        {ok, State} ->
            {{ok, 0}, State};
        {system_limit, State} ->
            {{error, system_limit}, give_back(Named, Slot, State0, State)}
    end;
meta_tracer(_, _, _, State) ->
    {{ok, 0}, State}.

%% Gives numbers to tracers, until there are no free numbers (`system_limit'). A
%% tracer that is refused for another reason gets no number, and so no events.
take_named([], _Slot, State) ->
    {ok, State};
take_named([T | Rest], Slot, State) ->
    case take(T, Slot, State) of
        {ok, _, New} -> take_named(Rest, Slot, New);
        {error, system_limit} -> {system_limit, State};
        {error, _} -> take_named(Rest, Slot, State)
    end.

%% After a failed request, frees the numbers of those tracers in `Named' that the
%% session did not use before the request.
give_back(Named, Slot, #state{tracers = Before}, #state{tracers = Now} = State) ->
    New = [T || T <- Named, not inviso_engine_tracers:uses(T, Slot, Before)],
    Drop = fun(T, Acc) -> inviso_engine_tracers:drop(T, Slot, Acc) end,
    State#state{tracers = lists:foldl(Drop, Now, New)}.

message(Event, MS0, Slot, #state{messages = Messages} = State) ->
    MS = normal(MS0),
    ok = valid(inviso_engine_spec:check(MS, Event)),
    New = valid(inviso_engine_patterns:set_message(Event, Slot, MS, slots(State),
                                                   Messages)),
    Flags = inviso_engine_flags:quiet(Event, {Slot, MS =:= false},
                                      State#state.flags),
    Functions = inviso_engine_functions:enabled(Slot, MS, State#state.functions),
    {{ok, 1}, State#state{messages = New, flags = Flags, functions = Functions}}.

normal([]) -> true;
normal(MS) -> MS.

%%---------------------------------------------------------------------------
%% Information about sessions.

subject(new) ->
    {tracee, new_processes};
subject(T) when is_pid(T), node(T) =:= node(); is_port(T), node(T) =:= node();
                T =:= new_processes; T =:= new_ports ->
    {tracee, T};
subject({M, F, A} = MFA) when is_atom(M), is_atom(F), is_integer(A), A >= 0 ->
    {function, MFA};
subject(on_load) ->
    {function, on_load};
subject(Event) when Event =:= send; Event =:= 'receive' ->
    {event, Event};
subject(_) ->
    none.

item({tracee, T}, Item, #session{slot = Slot} = S, State)
  when Item =:= flags; Item =:= tracer ->
    case erlang:trace_info(T, Item) of
        undefined ->
            {ok, undefined};
        InVm ->
            case inviso_engine_foreign:slot(T, State#state.foreign) of
                Slot ->
                    {ok, InVm};
                _ ->
                    Tracer = tracer(Slot, T, S, State),
                    {ok, {Item, about_tracee(Item, Slot, T, Tracer)}}
            end
    end;
item({function, What}, Item, #session{slot = Slot}, State) ->
    function_item(What, Item, Slot, State);
item({event, Event}, match_spec, #session{slot = Slot}, State) ->
    {ok, {match_spec,
          inviso_engine_patterns:messages(Event, Slot,
                                          State#state.messages)}};
item(_, _, _, _) ->
    {error, badarg}.

%% Returns the flags or the tracer of a tracee. If the tracer is dead, the flags are
%% about to be cleared, so they are not shown.
about_tracee(_Item, _Slot, _Tracee, none) ->
    [];
about_tracee(Item, Slot, Tracee, Tracer) ->
    case inviso_engine_tracer:is_alive(Tracer)
         andalso lists:member(Slot, inviso_engine_flags:sessions(Tracee)) of
        true when Item =:= tracer -> Tracer;
        true -> inviso_engine_flags:flags(Slot, Tracee);
        false -> []
    end.

tracer(Slot, Tracee, #session{tracer = undefined}, State) ->
    inviso_engine_tracers:find(inviso_engine_flags:tracer(Slot, Tracee),
                               State#state.tracers);
tracer(_Slot, _Tracee, #session{tracer = Tracer}, _State) ->
    Tracer.

function_item(What, Item, Slot, State) ->
    case inviso_engine_functions:info(Slot, {What, Item},
                                      State#state.functions) of
        badarg -> {error, badarg};
        Answer -> {ok, Answer}
    end.

about({tracee, T}, State) ->
    case erlang:trace_info(T, tracer) of
        undefined -> {ok, undefined};
        {tracer, By} ->
            Slots = inviso_engine_flags:sessions(T),
            case inviso_engine_foreign:slot(T, State#state.foreign) of
                none -> {ok, weak(Slots, State) ++ legacy(By)};
                Slot -> {ok, weak([Slot | Slots], State)}
            end
    end;
about({function, What}, State) ->
    case inviso_engine_functions:sessions(What, State#state.functions) of
        undefined -> {ok, undefined};
        Slots -> {ok, weak(Slots, State)}
    end;
about({event, Event}, State) ->
    Slots = [S || S <- slots(State),
                  inviso_engine_patterns:messages(Event, S,
                                                  State#state.messages)
                      =/= false],
    {ok, weak(Slots, State) ++ [{legacy, default}]};
about(none, _) ->
    {error, badarg}.

%% The type spec of erlang:trace_info/2 does not include tracer modules.
-dialyzer({no_match, legacy/1}).
legacy([]) -> [];
legacy({inviso_engine, 0}) -> [];
legacy({_, _}) -> [{legacy, default}];
legacy(_) -> [{legacy, default}].

%% Returns the handles of sessions, in the order in which the sessions were opened.
%% These handles do not keep the sessions alive.
weak(Slots, #state{sessions = Sessions}) ->
    [{Name, Number}
     || {Number, #session{name = Name, slot = Slot}}
            <- lists:keysort(1, maps:to_list(Sessions)),
        lists:member(Slot, Slots)].
