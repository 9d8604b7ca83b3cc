%% SPDX-License-Identifier: Apache-2.0
%% @doc The trace sessions of OTP 25 and 26: who they are, what they have set.
%%
%% One process, which is there while there is a session. It writes what the
%% callbacks in {@link inviso_engine} read, and is the only one that calls
%% `erlang:trace/3' and `erlang:trace_pattern/3' for them. Who asks it is
%% {@link inviso_engine_request}.
-module(inviso_engine_server).

-export([run/2]).

-record(session, {name :: atom(),
                  slot :: inviso_engine:slot(),
                  %% `undefined': each tracee, each function has one.
                  tracer :: inviso_engine_tracer:tracer() | undefined}).

-record(state, {alive :: reference(),
                heir :: reference(), % its monitor
                caller :: pid(), % who asks now
                sessions = #{} :: #{non_neg_integer() => #session{}},
                tracers = inviso_engine_tracers:new()
                :: inviso_engine_tracers:tracers(),
                %% The one that was in use longest ago first.
                slots = [{Slot, fresh} || Slot <- lists:seq(0, 31)]
                :: [{inviso_engine:slot(), fresh | used}],
                foreign = inviso_engine_foreign:new()
                :: inviso_engine_foreign:foreign(),
                flags :: inviso_engine_flags:flags(),
                functions :: inviso_engine_functions:functions(),
                messages :: inviso_engine_patterns:messages(),
                lost = inviso_engine_lost:new() :: inviso_engine_lost:told()}).

-define(TAG, '$inviso_engine').
-define(LOOK, 5000).
%% How many processes a batch changes before the next request has its turn.
-define(CHANGED, 16).

%% @doc To be spawned: is the server, unless there is one. Whoever waits for it
%% gets `{'$inviso_engine', Tag, ready}' in either case.
-spec run(pid(), reference()) -> term().
run(Starter, Tag) ->
    try register(?MODULE, self()) of
        true ->
            process_flag(sensitive, true),
            %% Who wants to turn tracing off shall not wait for the traced.
            process_flag(priority, high),
            %% Who dies before having opened a session: nobody else would end us.
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
        %% Somebody else started it.
        error:badarg -> Starter ! {?TAG, Tag, ready}
    end.

%% All code of sessions, before the first is opened: what a request loaded, a
%% pattern for all modules would count from the next request on.
load() ->
    _ = code:ensure_modules_loaded(inviso_push:engine_modules()),
    ok.

%% If the server is killed, another has to clean up, which nobody may ask for.
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
    ok = inviso_push:stays(engine),
    Monitor = monitor(process, Server),
    Server ! {?TAG, Ref, heir},
    receive
        {'DOWN', Monitor, _, _, normal} -> ok;
        {'DOWN', Monitor, _, _, _} -> inviso_engine_request:info(all)
    end.

%% Takes away what a server that was killed has left.
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
                    %% A session's handle shall not be kept by us.
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

%% Requests that have come meanwhile are before the rest.
changed(#state{flags = Flags} = State) ->
    {More, New} = inviso_engine_flags:changed(?CHANGED, Flags),
    _ = More andalso (self() ! {?TAG, changed, more}),
    State#state{flags = New}.

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
%% That takes a while where there are many modules; of processes there are more.
handle(Request, State) ->
    answer(Request, look(State)).

look(#state{functions = Functions} = State) ->
    State#state{functions = inviso_engine_functions:look(Functions)}.

answer({info, PidPortFuncEvent}, State) ->
    {about(PidPortFuncEvent, State), State};
%% The first few; the rest is another request, behind those that have come
%% meanwhile, as a session's end.
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
            {Answer, New} = serve(Request, Slot, S, State),
            {Answer, calling(Request, Slot, New)}
    end.

%% Patterns on functions wait for a process with flag `call'.
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
    Foreign = inviso_engine_foreign:calls(Slot, State#state.foreign),
    Has = {Foreign orelse inviso_engine_flags:calls(Slot, Flags),
           inviso_engine_flags:returns(Slot, Flags),
           inviso_engine_flags:silent(Slot, Flags)},
    Told = inviso_engine_functions:foreign(Slot, Foreign, Functions),
    State#state{functions = inviso_engine_functions:activate(Slot, Has, Told)}.

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

%% Which processes had flags of the slot's last session is no matter of this one.
vacate(_Slot, fresh) -> ok;
vacate(Slot, used) -> vacate(Slot, inviso_engine:vacate(Slot, 0));
vacate(_Slot, 0) -> ok;
vacate(Slot, Next) -> vacate(Slot, inviso_engine:vacate(Slot, Next)).

%% The number of a session's tracer, 0 if it has none.
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

%% Children that were born meanwhile of a process that had flags.
forget_changed(#state{sessions = Sessions} = State)
  when map_size(Sessions) > 1 ->
    State;
forget_changed(#state{flags = Flags} = State) ->
    case inviso_engine_flags:changed(?CHANGED, Flags) of
        {true, New} -> forget_changed(State#state{flags = New});
        {false, New} -> State#state{flags = New}
    end.

%% Patterns before flags: a function that nobody wants is to cost nothing
%% while processes are gone through.
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

%% As the VM does: the flags go, the session stays. What is told of a tracer's
%% number may come late, when it is another's.
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
    calling(Slot, State#state{flags = inviso_engine_flags:forget(Slot, Number,
                                                                 Flags)}).

%%---------------------------------------------------------------------------
%% What a session asks for.

serve({Kind, What, How, FlagList}, _Slot, S, State)
  when Kind =:= process, is_boolean(How); Kind =:= port, is_boolean(How) ->
    case inviso_engine_tracees:is_meant(Kind, What) of
        true -> set_or_clear({Kind, What}, How, FlagList, S, State);
        false -> {{error, badarg}, State}
    end;
serve({processes, Pids, FlagList, Before}, _Slot, S, State) ->
    case set_or_clear({processes, Pids}, true, FlagList, S, State) of
        {{ok, N}, New} -> {{ok, Before + N}, New};
        Failed -> Failed
    end;
serve({function, MFA, MS, FlagList}, _Slot, S, State) ->
    Own = {S#session.tracer, State#state.caller},
    case inviso_engine_tracer:choose(meta, FlagList, Own) of
        {ok, Tracer, Flags} ->
            Kinds = [meta || Flags =/= FlagList] ++ Flags,
            case inviso_engine_entry:parse(MFA, MS, Kinds) of
                {ok, Action} -> function(MFA, Action, {Tracer, S}, State);
                {error, _} = E -> {E, State}
            end;
        {error, _} = E ->
            {E, State}
    end;
serve({Message, MS, []}, Slot, _S, State)
  when Message =:= send; Message =:= 'receive' ->
    message(Message, MS, Slot, State);
serve({info, What, Item}, Slot, S, State0) ->
    Functions = inviso_engine_functions:look(What, State0#state.functions),
    State = State0#state{functions = Functions},
    {item(What, Item, Slot, S, State), State};
serve(_, _, _, State) ->
    {{error, badarg}, State}.

set_or_clear(Tracees, How, FlagList, #session{slot = Slot} = S, State) ->
    Own = {S#session.tracer, State#state.caller},
    case inviso_engine_tracer:choose(tracer, FlagList, Own) of
        {ok, Tracer, Flags} ->
            case inviso_engine_flags:parse(Flags, How) of
                {ok, Bits} ->
                    flags(Tracees, {Slot, How, Bits, 0}, {Tracer, Flags, S},
                          State);
                {error, _} = E ->
                    {E, State}
            end;
        {error, _} = E ->
            {E, State}
    end.

flags({Kind, What}, {Slot, false, _, _} = Change, {_, Flags, _}, State0) ->
    Foreign = State0#state.foreign,
    N = inviso_engine_foreign:clear(Kind, What, {Slot, Flags}, Foreign),
    State = State0#state{
              foreign = inviso_engine_foreign:recount(Slot, Foreign)},
    case flags({Kind, What}, Change, State) of
        {{error, _}, _} when N > 0 -> {{ok, N}, State};
        {{ok, M}, New} -> {{ok, N + M}, New};
        Answer -> Answer
    end;
flags(Tracees, {Slot, true, _, _} = Change, {Tracer, Flags, S}, State0) ->
    %% Those of a dead one are gone, and nobody's.
    State = lists:foldl(fun tracer_gone/2, State0,
                        inviso_engine_tracers:used_by(
                          Slot, State0#state.tracers)),
    case inviso_engine_foreign:is_foreign(Tracer) of
        true -> foreign_flags(Tracees, Slot, {Tracer, Flags}, State);
        false -> our_flags(Tracees, Change, {Tracer, S}, State)
    end.

foreign_flags({processes, _}, _Slot, {Tracer, _}, State) ->
    {{error, {not_supported, {processes, Tracer}}}, State};
foreign_flags({Kind, What}, Slot, {Tracer, Flags} = Change, State) ->
    case inviso_engine_foreign:own(Tracer, Slot, State#state.foreign) of
        {ok, Foreign} ->
            _ = is_atom(What)
                orelse inviso_engine_flags:release(What, State#state.flags),
            %% Its patterns can be for those of the VM or for ours.
            Answer = case lists:member(call, Flags)
                          andalso inviso_engine_flags:calls(Slot,
                                                            State#state.flags)
                     of
                         true -> {error, {not_supported, {shared, What}}};
                         false -> inviso_engine_foreign:change(
                                    Kind, What, Change, Foreign)
                     end,
            {Answer, State#state{foreign = told(Answer, Change, Foreign)}};
        {error, _} = E ->
            {E, State}
    end.

told({ok, _}, {Tracer, Flags}, Foreign) ->
    inviso_engine_foreign:told_calls(Tracer, Flags, Foreign);
told({error, _}, _, Foreign) ->
    Foreign.

our_flags(Tracees, {Slot, true, Bits, 0}, {Tracer, S}, State0) ->
    case take(Tracer, Slot, State0) of
        {ok, Number, State} ->
            %% Of one that is dead they go again.
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

flags({Kind, What}, Change, State) ->
    case inviso_engine_tracees:change(Kind, What, Change, State#state.flags) of
        {ok, N, Flags} ->
            {{ok, N}, State#state{flags = Flags}};
        {error, {already_traced, What, By}} = E ->
            case inviso_engine_foreign:slot(What, State#state.foreign) of
                none -> {E, State};
                _ -> {{error, {not_supported, {shared, {What, By}}}}, State}
            end;
        {error, _} = E ->
            {E, State}
    end.

function(MFA, Action, {Tracer, #session{slot = Slot} = S}, State0) ->
    case meta_tracer(Tracer, Action, S, State0) of
        {ok, Number, State} ->
            case inviso_engine_functions:set(Slot, MFA, Action,
                                             {Tracer, Number},
                                             State#state.functions) of
                {ok, N, New} -> {{ok, N}, State#state{functions = New}};
                {error, _} = E -> {E, State}
            end;
        {error, _} = E ->
            {E, State0}
    end.

%% And the tracers that its match specs name get numbers.
meta_tracer(Tracer, {_, Kinds, MS}, #session{slot = Slot, tracer = undefined},
            State0) ->
    State = lists:foldl(fun(T, Acc) ->
                                case take(T, Slot, Acc) of
                                    {ok, _, New} -> New;
                                    {error, _} -> Acc
                                end
                        end, State0, inviso_engine_spec:tracers(MS)),
    case Kinds =/= global andalso lists:member(meta, Kinds) of
        true -> take(Tracer, Slot, State);
        false -> {ok, 0, State}
    end;
meta_tracer(_, _, _, State) ->
    {ok, 0, State}.

message(Event, MS0, Slot, #state{messages = Messages} = State) ->
    MS = normal(MS0),
    case inviso_engine_spec:check(MS, Event) of
        ok ->
            case inviso_engine_patterns:set_message(Event, Slot, MS,
                                                    slots(State), Messages)
            of
                {ok, New} ->
                    Flags = inviso_engine_flags:quiet(Event, {Slot, MS =:= false},
                                                      State#state.flags),
                    Functions = inviso_engine_functions:enabled(
                                  Slot, MS, State#state.functions),
                    {{ok, 1}, State#state{messages = New, flags = Flags,
                                          functions = Functions}};
                {error, _} = E ->
                    {E, State}
            end;
        {error, _} = E ->
            {E, State}
    end.

normal([]) -> true;
normal(MS) -> MS.

%%---------------------------------------------------------------------------
%% What a session is told.

item(new, Item, Slot, S, State) ->
    item(new_processes, Item, Slot, S, State);
item(T, Item, Slot, S, State)
  when is_pid(T), node(T) =:= node(); is_port(T), node(T) =:= node();
       T =:= new_processes; T =:= new_ports ->
    case erlang:trace_info(T, flags) of
        undefined when Item =:= flags; Item =:= tracer -> {ok, undefined};
        _ when Item =:= flags; Item =:= tracer ->
            case inviso_engine_foreign:slot(T, State#state.foreign) of
                Slot ->
                    {ok, erlang:trace_info(T, Item)};
                _ ->
                    Tracer = tracer(Slot, T, S, State),
                    {ok, {Item, about_tracee(Item, Slot, T, Tracer)}}
            end;
        _ -> {error, badarg}
    end;
item({M, F, A} = MFA, Item, Slot, _S, State)
  when is_atom(M), is_atom(F), is_integer(A), A >= 0 ->
    function_item(MFA, Item, Slot, State);
item(on_load, Item, Slot, _S, State) ->
    function_item(on_load, Item, Slot, State);
item(Event, match_spec, Slot, _S, State)
  when Event =:= send; Event =:= 'receive' ->
    {ok, {match_spec,
          inviso_engine_patterns:messages(Event, Slot,
                                          State#state.messages)}};
item(_, _, _, _, _) ->
    {error, badarg}.

%% Those of a tracer that died are as good as gone.
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

%% Of times the session is told for those alone that it has, or had, flag
%% `call' on.
function_item(What, Item, Slot, State) ->
    Calls = fun(Pid) -> inviso_engine_flags:called(Slot, Pid) end,
    case inviso_engine_functions:info(Slot, {What, Item}, Calls,
                                      State#state.functions) of
        badarg -> {error, badarg};
        Answer -> {ok, Answer}
    end.

%% The sessions that affect something.
about(all, State) ->
    {ok, weak(slots(State), State) ++ [{legacy, default}]};
about(new, State) ->
    about(new_processes, State);
about(T, State)
  when is_pid(T), node(T) =:= node(); is_port(T), node(T) =:= node();
       T =:= new_processes; T =:= new_ports ->
    case erlang:trace_info(T, tracer) of
        undefined -> {ok, undefined};
        {tracer, By} ->
            Slots = inviso_engine_flags:sessions(T),
            case inviso_engine_foreign:slot(T, State#state.foreign) of
                none -> {ok, weak(Slots, State) ++ legacy(By)};
                Slot -> {ok, weak([Slot | Slots], State)}
            end
    end;
about({M, F, A} = MFA, State)
  when is_atom(M), is_atom(F), is_integer(A), A >= 0 ->
    about_function(MFA, State);
about(on_load, State) ->
    about_function(on_load, State);
about(Event, State) when Event =:= send; Event =:= 'receive' ->
    Slots = [S || S <- slots(State),
                  inviso_engine_patterns:messages(Event, S,
                                                  State#state.messages)
                      =/= false],
    {ok, weak(Slots, State) ++ [{legacy, default}]};
about(_, _) ->
    {error, badarg}.

about_function(What, State) ->
    case inviso_engine_functions:sessions(What, State#state.functions) of
        undefined -> {ok, undefined};
        Slots -> {ok, weak(Slots, State)}
    end.

%% The spec of erlang:trace_info/2 forgets modules.
-dialyzer({no_match, legacy/1}).
legacy([]) -> [];
legacy({inviso_engine, _}) -> [];
legacy({_, _}) -> [{legacy, default}];
legacy(_) -> [{legacy, default}].

%% In the order in which they were opened.
weak(Slots, #state{sessions = Sessions}) ->
    [{Name, Number}
     || {Number, #session{name = Name, slot = Slot}}
            <- lists:keysort(1, maps:to_list(Sessions)),
        lists:member(Slot, Slots)].
