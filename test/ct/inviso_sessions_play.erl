%% SPDX-License-Identifier: Apache-2.0
%% @doc Plays a script of trace sessions and a traced process. Returns what each
%% session's tracer got.
%%
%% A script is a list of steps:
%%
%%   {open, Session}, {open, Session, port | undefined}
%%                      opens a session; its tracer is a process, a port, or
%%                      undefined
%%   {tracer, Name}     starts a tracer process, for sessions without a tracer
%%   {process, Name}    starts another process that does work
%%   {port, Name}       opens a port, owned by the tracee, that echoes its input
%%   {Session, Function, Args}   calls a function of inviso_trace with the
%%                      session's handle and Args
%%   {explain, Session, Function, Args}  does the same, and explains an error
%%   {run, Work}, {run, Name, Work}      the tracee, or the process Name, does Work
%%   {load, Module}     loads a module again
%%   {kill, Name}       kills a process
%%   {destroy, Session}, {info, What}    calls session_destroy/1 or session_info/1
%%   {until, Session, Tag}   waits for an event Tag of the session
%%   {only, Tags}       leaves events with other tags out of the outcome
%%
%% In arguments `tracee' stands for the traced process, the name of a process
%% for that process, and `{port, Name}', `{session, Name}' and `{tracer, Name}'
%% for the thing with that name. Work is a list of actions: `{call, F, Args}' of
%% inviso_sessions_work, `{send, Msg}' (the process sends Msg to itself), and others.
%%
%% The outcome consists of the answers, and of the events of each tracer, in
%% order for each tracee. The outcome is the same in each run: processes and
%% ports are numbered as they appear, timestamps are replaced by their kind, and
%% repeated scheduling events of a process are left out.
-module(inviso_sessions_play).

-export([play/1]).

-define(WORK, inviso_sessions_work).

-spec play([term()]) -> {[term()], [{term(), [term()]}]}.
play(Script) ->
    {module, _} = code:ensure_loaded(?WORK),
    Tracee = spawn(fun tracee/0),
    put(names, #{Tracee => tracee, self() => player}),
    {Answers, State} = lists:mapfoldl(fun step/2,
                                      #{tracee => Tracee, player => self()},
                                      lists:flatten(Script)),
    Tracers = [{Name, Pid}
               || {{collector, Name}, Pid} <- lists:sort(maps:to_list(State))],
    settle(),
    Got = [{Name, collected(Pid)} || {Name, Pid} <- Tracers]
        ++ [{player, M} || M <- [own()], M =/= []],
    _ = [catch inviso_trace:session_destroy(H)
         || {{session, _}, H} <- maps:to_list(State)],
    _ = [exit(P, kill) || P <- maps:values(State), is_pid(P),
                          P =/= self()],
    _ = [catch port_close(P) || {{port, _}, P} <- maps:to_list(State)],
    Only = maps:get(only, State, all),
    {[normal(A) || A <- Answers],
     [{Name, normal_events(Events, Only)} || {Name, Events} <- Got]}.

note(Pid, Name) ->
    put(names, (get(names))#{Pid => Name}).

step({open, Session}, State) ->
    step({open, Session, process}, State);
step({open, Session, Kind}, State0) ->
    {Tracer, State} = tracer(Kind, Session, State0),
    try inviso_trace:session_create(Session, Tracer, []) of
        Handle -> {ok, State#{{session, Session} => Handle}}
    catch
        error:Reason -> {{error, Reason}, State}
    end;
step({tracer, Name}, State0) ->
    {_, State} = tracer(process, Name, State0),
    {ok, State};
step({process, Name}, State) ->
    Pid = spawn(fun tracee/0),
    note(Pid, Name),
    {ok, State#{Name => Pid}};
step({port, Name}, #{tracee := Tracee} = State) ->
    Port = open_port({spawn, "cat"}, [binary, stream]),
    true = port_connect(Port, Tracee),
    unlink(Port),
    note(Port, {port, Name}),
    {ok, State#{{port, Name} => Port}};
step({load, Module}, State) ->
    true = code:soft_purge(Module),
    _ = code:delete(Module),
    true = code:soft_purge(Module),
    {module, Module} = code:load_file(Module),
    {ok, State};
step({only, Tags}, State) ->
    {ok, State#{only => Tags}};
step({until, Session, Tag}, State) ->
    #{{collector, Session} := Pid} = State,
    {until(fun() -> [M || M <- collected(Pid), element(3, M) =:= Tag]
                        =/= [] end, 60000), State};
step({run, Work}, State) ->
    step({run, tracee, Work}, State);
step({run, Name, Work}, State) ->
    #{Name := Pid} = State,
    Ref = monitor(process, Pid),
    Pid ! {work, self(), bind(Work, State)},
    receive
        {worked, Result} -> demonitor(Ref, [flush]), {Result, State};
        {'DOWN', Ref, process, _, _} -> {died, State}
    after 60000 ->
            error({still_working, Work})
    end;
step({info, What}, State) ->
    {answer(fun() ->
                    case inviso_trace:session_info(bind(What, State)) of
                        undefined -> undefined;
                        Sessions -> lists:sort([Name || {Name, _} <- Sessions])
                    end
            end), State};
step({kill, What}, State) ->
    Pid = bind(What, State),
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, _, _} -> {ok, State} end;
step({explain, Session, Function, Args}, State) ->
    {explained(fun() -> ask(Session, Function, Args, State) end), State};
step({destroy, Session}, State) ->
    settle(),
    {answer(fun() -> ask(Session, session_destroy, [], State) end), State};
step({Session, Function, [Many | _] = Args}, State)
  when Many =:= all; Many =:= existing; Many =:= processes; Many =:= ports;
       Many =:= existing_processes; Many =:= existing_ports ->
    case answer(fun() -> ask(Session, Function, Args, State) end) of
        N when is_integer(N), N > 0 -> {many, State};
        Other -> {Other, State}
    end;
step({Session, Function, Args}, State) ->
    {answer(fun() -> ask(Session, Function, Args, State) end), State}.

%% Calls a function of inviso_trace. The first argument is the handle of the session. If the session
%% is `none', the call has no such argument.
ask(none, Function, Args, State) ->
    apply(inviso_trace, Function, bind(Args, State));
ask(Session, Function, Args, State) ->
    case State of
        #{{session, Session} := Handle} ->
            apply(inviso_trace, Function, [Handle | bind(Args, State)]);
        _ ->
            no_session
    end.

tracer(undefined, _Name, State) ->
    {undefined, State};
tracer(process, Name, State) ->
    Pid = spawn(fun() -> collect([]) end),
    note(Pid, {tracer, Name}),
    {Pid, State#{{collector, Name} => Pid, {tracer, Name} => Pid}};
tracer(port, Name, State) ->
    Self = self(),
    Pid = spawn(fun() ->
                        Port = open_port({spawn, "cat"}, [binary, {packet, 4}]),
                        Self ! {opened, Port},
                        collect([])
                end),
    Port = receive {opened, P} -> P end,
    note(Port, {tracer, Name}),
    {Port, State#{{collector, Name} => Pid, {tracer, Name} => Port}}.

bind(X, State) when is_map_key(X, State) -> maps:get(X, State);
bind([H | T], State) -> [bind(H, State) | bind(T, State)];
bind(T, State) when is_tuple(T) ->
    list_to_tuple(bind(tuple_to_list(T), State));
bind(X, _) -> X.

answer(Fun) ->
    try Fun() of
        {flags, Flags} when is_list(Flags) -> {flags, lists:sort(Flags)};
        {all, Items} when is_list(Items) ->
            {all, lists:sort([times(I) || I <- Items])};
        Answer -> times(Answer)
    catch
        error:Reason -> {error, Reason}
    end.

times({call_time, Times}) when is_list(Times) ->
    {call_time, lists:sort([{Pid, Count, is_integer(S) and is_integer(Us)}
                            || {Pid, Count, S, Us} <- Times])};
times(Other) ->
    Other.

%% Returns the answer of the call. If the call fails, the result also says which arguments
%% format_error/2 explains as wrong (1 is the first argument).
explained(Fun) ->
    try
        {answer, Fun()}
    catch
        error:Reason:Stack ->
            [{_, F, Args, Info} | _] = Stack,
            Said = case lists:keyfind(error_info, 1, Info) of
                       {_, #{module := M}} -> M:format_error(Reason, Stack);
                       false -> #{}
                   end,
            {error, Reason, F, length(Args), lists:sort(maps:keys(Said))}
    end.

%% Waits until all events so far have been delivered to their tracers.
settle() ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok after 60000 -> error(timeout) end.

collect(Got) ->
    receive
        {collected, From} ->
            From ! {collected, self(), lists:reverse(Got)},
            collect(Got);
        {Port, {data, Data}} when is_port(Port) ->
            collect([binary_to_term(Data) | Got]);
        M ->
            collect([M | Got])
    end.

collected(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! {collected, self()},
    receive
        {collected, Pid, Messages} -> demonitor(Ref, [flush]), Messages;
        {'DOWN', Ref, process, Pid, _} -> none
    end.

%% Returns the trace events in the mailbox of the calling process.
own() ->
    receive
        M when element(1, M) =:= trace; element(1, M) =:= trace_ts ->
            [M | own()]
    after 0 -> []
    end.

until(Fun, Left) ->
    case Fun() of
        true -> ok;
        false when Left > 0 -> timer:sleep(20), until(Fun, Left - 20);
        false -> timeout
    end.

%%---------------------------------------------------------------------------
%% The traced process

tracee() ->
    receive
        {work, From, Work} ->
            Result = [work(W) || W <- Work],
            From ! {worked, Result},
            tracee()
    end.

work({call, F, Args}) ->
    try
        apply(?WORK, F, Args)
    catch
        Class:Reason -> {Class, Reason}
    end;
work({send, Msg}) ->
    self() ! Msg,
    receive Msg -> ok end;
work(spawn) ->
    {Pid, Ref} = spawn_monitor(?WORK, f, [child]),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end;
work({spawn, F, Args}) ->
    {Pid, Ref} = spawn_monitor(?WORK, F, Args),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end;
work({spawn_worker, Work}) ->
    {Pid, Ref} = spawn_monitor(fun() -> [work(W) || W <- Work] end),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end;
work({register, Name}) ->
    register(Name, self()),
    unregister(Name);
work(link) ->
    Pid = spawn_link(fun() -> receive stop -> ok end end),
    unlink(Pid),
    Ref = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end;
work(dead_letter) ->
    {Pid, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    Pid ! letter,
    ok;
work({trace, Session, Function, Args}) ->
    answer(fun() -> apply(inviso_trace, Function, [Session | Args]) end);
work({link, Pid}) ->
    true = link(Pid);
work({unlink, Pid}) ->
    true = unlink(Pid);
work({spawn_link, Work}) ->
    Self = self(),
    {Pid, Ref} = spawn_opt(fun() -> [work(W) || W <- Work], unlink(Self) end,
                           [link, monitor]),
    receive {'DOWN', Ref, process, Pid, _} -> ok end;
work({spawn_then_link, Work}) ->
    Self = self(),
    Pid = spawn(fun() ->
                        receive linked -> [work(W) || W <- Work] end,
                        unlink(Self)
                end),
    link(Pid),
    Ref = monitor(process, Pid),
    Pid ! linked,
    receive {'DOWN', Ref, process, Pid, _} -> ok end;
work({echo, Port, Data}) ->
    true = port_command(Port, Data),
    receive {Port, {data, Data}} -> ok end;
work({close, Port}) ->
    Port ! {self(), close},
    receive {Port, closed} -> ok end;
work(port) ->
    Port = open_port({spawn, "cat"}, [binary]),
    [work({echo, Port, <<"x">>}), work({close, Port})];
work({seq_token, Clear}) ->
    Label = case seq_trace:get_token() of
                [] -> [];
                _ -> seq_trace:get_token(label)
            end,
    _ = Clear andalso seq_trace:set_token([]),
    Label;
work({tcw, Word}) ->
    erlang:system_flag(trace_control_word, Word);
work({late, F, Args}) ->
    apply(inviso_sessions_late, F, Args);
work({pause, Ms}) ->
    receive after Ms -> ok end;
work(gc) ->
    erlang:garbage_collect(),
    ok.

%%---------------------------------------------------------------------------
%% Making outcomes equal on every run

normal_events(none, _Only) ->
    none;
normal_events(Events, Only) ->
    Kept = [E || E <- Events, Only =:= all orelse lists:member(tag(E), Only)],
    Tracees = unique([element(2, E) || E <- Kept]),
    {Known, New} = lists:partition(fun(T) -> is_map_key(T, get(names)) end,
                                   Tracees),
    [normal(E)
     || Tracee <- lists:keysort(2, [{T, maps:get(T, get(names))} || T <- Known])
            ++ [{T, new} || T <- New],
        E <- once([E || E <- Kept, element(2, E) =:= element(1, Tracee)], [])].

tag(Event) -> element(3, Event).

unique([H | T]) -> [H | unique([X || X <- T, X =/= H])];
unique([]) -> [].

%% How often a process is scheduled depends on chance. So all its `in' events
%% are replaced by one event, and so are all its `out' events.
once([{trace, Who, Tag, _} | Rest], Seen) when Tag =:= in; Tag =:= out ->
    once(Rest, [{Who, Tag} | Seen]);
once([Event | Rest], Seen) ->
    [Event | once(Rest, Seen)];
once([], Seen) ->
    [{trace, Who, scheduled, Tag} || {Who, Tag} <- lists:usort(Seen)].

normal(T) when is_tuple(T), element(1, T) =:= trace_ts ->
    [trace_ts | Event] = lists:droplast(tuple_to_list(T)),
    list_to_tuple([trace_ts | normal(Event)]
                  ++ [stamp(element(tuple_size(T), T))]);
normal({trace, Pid, Gc, Info})
  when Gc =:= gc_minor_start; Gc =:= gc_minor_end; Gc =:= gc_major_start;
       Gc =:= gc_major_end ->
    {trace, normal(Pid), Gc, is_list(Info)};
normal({Ref, {Name, _}}) when is_reference(Ref), is_atom(Name) ->
    {session, Name};
normal(T) when is_tuple(T) ->
    list_to_tuple(normal(tuple_to_list(T)));
normal([H | T]) ->
    [normal(H) | normal(T)];
normal(Pid) when is_pid(Pid) ->
    name(process, Pid);
normal(Port) when is_port(Port) ->
    name(port, Port);
normal(Ref) when is_reference(Ref) ->
    reference;
normal(Fun) when is_function(Fun) ->
    function;
normal(Map) when is_map(Map) ->
    maps:from_list(normal(maps:to_list(Map)));
normal(X) ->
    X.

name(Kind, Id) ->
    case get(names) of
        #{Id := Name} ->
            Name;
        Names ->
            Name = {Kind, map_size(Names)},
            note(Id, Name),
            Name
    end.

stamp({Mega, Sec, Micro})
  when is_integer(Mega), is_integer(Sec), is_integer(Micro) -> timestamp;
stamp({Time, Unique}) when is_integer(Time), is_integer(Unique) ->
    strict_monotonic;
stamp(Time) when is_integer(Time) -> monotonic;
stamp(Other) -> {no_timestamp, Other}.
