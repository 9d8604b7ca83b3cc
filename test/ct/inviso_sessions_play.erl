%% SPDX-License-Identifier: Apache-2.0
%% @doc Plays a script of trace sessions and a traced process, and tells what
%% each session's tracer got.
%%
%% A script is a list of steps: `{open, Session}', `{Session, Function, Args}'
%% (a function of inviso_trace with the session before its arguments), `{run,
%% Work}', `{destroy, Session}', `{info, What}'. `tracee' stands for the traced
%% process, `{tracer, Session}' for a tracer. Work is done by the traced process,
%% one thing after the other: `{call, F, Args}' of inviso_sessions_work, `{send,
%% Msg}' to itself, ....
%%
%% What comes back is the same on each run: processes are numbered as they
%% appear, timestamps are replaced by their kind.
-module(inviso_sessions_play).

-export([play/1]).

-define(WORK, inviso_sessions_work).

-spec play([term()]) -> {[term()], [{atom(), [term()]}]}.
play(Script) ->
    {module, _} = code:ensure_loaded(?WORK),
    Tracee = spawn(fun tracee/0),
    {Answers, State} = lists:mapfoldl(fun step/2, #{tracee => Tracee}, Script),
    Open = [{S, Pid} || {{tracer, S}, Pid} <- lists:sort(maps:to_list(State))],
    settle(),
    Got = [{S, collected(Pid)} || {S, Pid} <- Open],
    _ = [catch inviso_trace:session_destroy(H)
         || {{session, _}, H} <- maps:to_list(State)],
    exit(Tracee, kill),
    put(pids, #{Tracee => tracee}),
    _ = [note(P, {tracer, S}) || {S, P} <- Open],
    note(self(), player),
    {[normal(A) || A <- Answers], [{S, normal(M)} || {S, M} <- Got]}.

note(Pid, Name) ->
    put(pids, (get(pids))#{Pid => Name}).

step({open, Session}, State) ->
    Tracer = spawn(fun() -> collect([]) end),
    Handle = inviso_trace:session_create(Session, Tracer, []),
    {ok, State#{{session, Session} => Handle, {tracer, Session} => Tracer}};
step({destroy, Session}, State) ->
    #{{session, Session} := Handle} = State,
    settle(),
    {answer(fun() -> inviso_trace:session_destroy(Handle) end), State};
step({run, Work}, #{tracee := Tracee} = State) ->
    Ref = monitor(process, Tracee),
    Tracee ! {work, self(), bind(Work, State)},
    receive
        {worked, Result} -> demonitor(Ref, [flush]), {Result, State};
        {'DOWN', Ref, process, _, _} -> {died, State}
    after 30000 ->
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
step({Session, Function, Args}, State) ->
    #{{session, Session} := Handle} = State,
    Bound = [Handle | [bind(A, State) || A <- Args]],
    {answer(fun() -> apply(inviso_trace, Function, Bound) end), State}.

bind(X, State) when is_map_key(X, State) -> maps:get(X, State);
bind([H | T], State) -> [bind(H, State) | bind(T, State)];
bind(T, State) when is_tuple(T) ->
    list_to_tuple(bind(tuple_to_list(T), State));
bind(X, _) -> X.

answer(Fun) ->
    try Fun() of
        {flags, Flags} when is_list(Flags) -> {flags, lists:sort(Flags)};
        {all, Items} when is_list(Items) -> {all, lists:sort(Items)};
        Answer -> Answer
    catch
        error:Reason -> {error, Reason}
    end.

%% Everything up to now is with its tracer.
settle() ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok after 30000 -> error(timeout) end.

collect(Got) ->
    receive
        {collected, From} ->
            From ! {collected, self(), lists:reverse(Got)},
            collect(Got);
        M -> collect([M | Got])
    end.

collected(Pid) ->
    Pid ! {collected, self()},
    receive
        {collected, Pid, Messages} -> Messages
    after 1000 -> none
    end.

%%---------------------------------------------------------------------------
%% The traced process.

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
    apply(inviso_trace, Function, [Session | Args]);
work(gc) ->
    erlang:garbage_collect(),
    ok.

%%---------------------------------------------------------------------------
%% The same on every run.

normal(T) when is_tuple(T), element(1, T) =:= trace_ts ->
    [trace_ts | Event] = lists:droplast(tuple_to_list(T)),
    list_to_tuple([trace_ts | normal(Event)]
                  ++ [stamp(element(tuple_size(T), T))]);
normal({trace, Pid, Gc, Info})
  when Gc =:= gc_minor_start; Gc =:= gc_minor_end; Gc =:= gc_major_start;
       Gc =:= gc_major_end ->
    {trace, normal(Pid), Gc, is_list(Info)};
normal(T) when is_tuple(T) ->
    list_to_tuple(normal(tuple_to_list(T)));
normal([H | T]) ->
    [normal(H) | normal(T)];
normal(Pid) when is_pid(Pid) ->
    case get(pids) of
        #{Pid := Name} -> Name;
        Pids ->
            Name = {process, map_size(Pids)},
            note(Pid, Name),
            Name
    end;
normal(Ref) when is_reference(Ref) ->
    reference;
normal(Fun) when is_function(Fun) ->
    function;
normal(Map) when is_map(Map) ->
    maps:from_list(normal(maps:to_list(Map)));
normal(X) ->
    X.

stamp({Mega, Sec, Micro})
  when is_integer(Mega), is_integer(Sec), is_integer(Micro) -> timestamp;
stamp({Time, Unique}) when is_integer(Time), is_integer(Unique) ->
    strict_monotonic;
stamp(Time) when is_integer(Time) -> monotonic;
stamp(Other) -> {no_timestamp, Other}.
