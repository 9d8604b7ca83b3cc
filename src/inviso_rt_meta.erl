%% SPDX-License-Identifier: Apache-2.0
%% @doc The meta tracer: associations of pids with names, into trace information
%% (ti), and whatever else is to happen when a function is called.
%%
%% Meta tracing catches the calls of a function wherever they are made; the
%% trace messages come to this process. For each such function there are
%% functions of the user's, each `{Module, Function}', a fun, or `void':
%%
%% ```
%% InitFunc(M, F, Arity, PublLD) -> {ok, NewPublLD, Output}   at init_tpm
%% CallFunc(Pid, {call, Args, TS}, PublLD) -> {ok, NewPublLD, Output}
%% ReturnFunc(Pid, {return_from, Value, TS}
%%               | {exception_from, {Class, Value}, TS}, PublLD) ->
%%     {ok, NewPublLD, Output}
%% RemoveFunc(M, F, Arity, PublLD) -> {ok, NewPublLD}         at ctpm, suspend,
%% '''                                                         and at the end
%%
%% Output is a binary or a list of them, each a record of the ti file (see
%% {@link inviso_lfm}); anything else is none. PublLD, the public loop data, is
%% common to all functions (see {@link inviso_meta_publ}); `{InitMFA, RemoveMF,
%% CleanMF}' in the tracerdata says how it is made, `M:F(PublLD)' how it is
%% removed, and `M:F(PublLD) -> NewPublLD' how it is cleaned, each minute. A
%% return function gets something if the match spec says `{return_trace}' or
%% `{exception_trace}'.
%%
%% The original's manual had `CallFunc(Pid, Args, PublLD)' and
%% `ReturnFunc(Pid, Value, PublLD)'. A function that has no clause for what is
%% above is called like that.
%%
%% Functions run in this process. One that crashes, or answers something else,
%% changes nothing, and the subscribers of the control component are told, once
%% for each function that is meta traced:
%% `{callback_failed, Node, {meta_call, {MFA, Reason}}}'.
%%
%% The match specs of a function are either one without a name (tpm) or any
%% number of named ones (tpm_ms), or both; the last one set is tried first.
%%
%% On OTP 27+ meta tracing has a session of its own, because the tracer of a
%% session is fixed. A match spec's actions on flags (`trace', `silent', ...)
%% are those of the session of the runtime component.
%%
%% Calls are messages in the mailbox of this process, which is bounded by {@link
%% inviso_meta_feed}. Those that are lost because it does not keep up are counted,
%% and the subscribers are told, at most once a second:
%% `{meta_counts, Node, Counts}'.
-module(inviso_rt_meta).

-behaviour(gen_server).

%% For the runtime component.
-export([start_link/3, start/2, start/5, stop/1, suspend/1, send_request/4]).
%% Requests; the first argument is the meta tracer.
-export([init_tpm/5, init_tpm/8, tpm/5, tpm/6, tpm/9,
         tpm_tracer/5, tpm_tracer/6, tpm_tracer/9, tpm_ms/6, tpm_ms_tracer/6,
         ctpm_ms/5, ctpm/4, local_register/1, remove_local_register/1,
         global_register/1, remove_global_register/1, get_state/1]).
%% For functions of the user's.
-export([get_tracer/0, tpm_ms/5, tpm_ms_tracer/5, ctpm_ms/4, list_tpm_ms/3,
         write_ti/1, metacast_call/5, metacast_return_from/6,
         init_std_publld/2, clean_std_publld/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([request/0, functions/0, spec/0]).

-define(TIMEOUT, 30000).
-define(START_MS, 10000).
-define(STOP_MS, 5000).
-define(CLEAN_MS, 60000).
-define(TICK_MS, 1000).
-define(LOOK_MS, 100).
-define(BEHIND_US, 500000).

-type callback() :: inviso_meta_callback:callback().
-type functions() :: {callback(), callback(), callback(), callback()}.
-type arg() :: term().
-type request() ::
        {init_tpm, {arg(), arg(), arg()}, functions()}
      | {tpm, {arg(), arg(), arg()}, arg(), keep | functions(), boolean()}
      | {tpm_ms, {arg(), arg(), arg()}, arg(), arg(), boolean()}
      | {ctpm_ms, {arg(), arg(), arg()}, arg()}
      | {ctpm, {arg(), arg(), arg()}}
      | local_register | remove_local_register
      | global_register | remove_global_register.
%% How public loop data is made, removed and cleaned.
-type spec() :: {{module(), atom(), [term()]},
                 void | {module(), atom()}, void | {module(), atom()}}.

%% A function that is meta traced: its match specs, the last one first, and
%% whether what they turn on is for the tracer of the runtime component.
-record(fn, {functions :: functions(),
             specs = [] :: [{unnamed | {named, term()}, [tuple()], boolean()}],
             builtin = false :: boolean()}).

-record(state, {starter :: pid(),
                ti :: inviso_ti:ti(),
                ti_failed = false :: boolean(),
                scope :: inviso_otp:scope(),
                %% of the runtime component
                flags :: inviso_otp:scope(),
                feed :: inviso_meta_feed:feed(),
                lost = 0 :: non_neg_integer(),
                looked :: integer(),
                functions = #{} :: #{mfa() => #fn{}},
                spec :: spec(),
                publ = void :: term(),
                %% for names, where public loop data has no place for them
                names = void :: term(),
                %% failures that were told
                failed = #{} :: #{term() => true}}).

%% --- start and stop ---------------------------------------------------------

%% @equiv start_link(Ti, Spec, Flags)
-spec start(inviso_ti:destination(), inviso_otp:scope()) ->
          {ok, pid()} | {error, term()}.
start(Ti, Flags) ->
    start_link(Ti, none, Flags).

%% @equiv start_link(Ti, {Init, Remove, Clean}, Flags)
-spec start(inviso_ti:destination(), inviso_otp:scope(),
            {module(), atom(), [term()]}, void | {module(), atom()},
            void | {module(), atom()}) -> {ok, pid()} | {error, term()}.
start(Ti, Flags, Init, Remove, Clean) ->
    start_link(Ti, {Init, Remove, Clean}, Flags).

%% @doc Opens the trace information and starts the meta tracer of this node, for
%% a runtime component that traces in the scope given. The calling process gets
%% `{inviso_rt_meta, Pid, {patterns, [Pattern]} | {event, Event}}'.
-spec start_link(inviso_ti:destination(), none | spec(), inviso_otp:scope()) ->
          {ok, pid()} | {error, term()}.
start_link(Ti, none, Flags) ->
    Standard = {{?MODULE, init_std_publld, [2, []]}, void,
                {?MODULE, clean_std_publld}},
    start_link(Ti, Standard, Flags);
start_link(Ti, Spec, Flags) ->
    case gen_server:start_link({local, ?MODULE}, ?MODULE,
                               {self(), Ti, Spec, Flags},
                               [{timeout, ?START_MS}]) of
        {error, {shutdown, Reason}} -> {error, Reason};
        Other -> Other
    end.

%% @doc Takes all meta patterns away, removes what functions have set up, and
%% closes the file. A meta tracer that does not come to it within 5 s is killed;
%% then patterns may be left.
-spec stop(pid()) -> ok | killed.
stop(Pid) ->
    Ref = monitor(process, Pid),
    true = unlink(Pid),
    receive {'EXIT', Pid, _} -> ok after 0 -> ok end,
    Pid ! {stop, self()},
    await(Pid, Ref, Ref).

%% @doc Takes all meta patterns away, forgets what they were for and what is in
%% the public loop data. As {@link stop/1}, one that does not come to it is
%% killed.
-spec suspend(pid()) -> ok | killed.
suspend(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! {suspend, self(), Ref},
    await(Pid, Ref, Ref).

%% A function of the user's may be waiting for the very process that waits here.
await(Pid, Monitor, Ref) ->
    receive
        {Ref, ok} ->
            true = demonitor(Monitor, [flush]),
            ok;
        {'DOWN', Monitor, process, Pid, _} ->
            ok;
        {'$gen_call', {Pid, _} = From, _} ->
            ok = gen_server:reply(From, {error, suspended}),
            await(Pid, Monitor, Ref)
    after ?STOP_MS ->
            true = exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> killed end
    end.

%% @doc Sends a request, whose reply `gen_server:receive_response/2' or
%% `check_response/3' fetches.
-spec send_request(pid(), term(), term(), gen_server:request_id_collection()) ->
          gen_server:request_id_collection().
send_request(Pid, Request, Label, Sent) ->
    gen_server:send_request(Pid, Request, Label, Sent).

%% --- requests ---------------------------------------------------------------

call(Pid, Request) -> gen_server:call(Pid, Request, ?TIMEOUT).

%% @doc Prepares a function for {@link tpm/5} and {@link tpm_ms/6}.
-spec init_tpm(pid(), module(), atom(), arity(), callback()) ->
          ok | {error, term()}.
init_tpm(Pid, M, F, A, CallFunc) ->
    init_tpm(Pid, M, F, A, void, CallFunc, void, void).

%% @doc The same with all four functions.
-spec init_tpm(pid(), module(), atom(), arity(), callback(), callback(),
               callback(), callback()) -> ok | {error, term()}.
init_tpm(Pid, M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    call(Pid, {init_tpm, {M, F, A},
               {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Sets the match spec of a function that is prepared.
-spec tpm(pid(), module(), atom(), arity(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS) ->
    call(Pid, {tpm, {M, F, A}, MS, keep, false}).

%% @doc Prepares a function and sets its match spec.
-spec tpm(pid(), module(), atom(), arity(), list(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS, CallFunc) ->
    tpm(Pid, M, F, A, MS, void, CallFunc, void, void).

%% @doc The same with all four functions.
-spec tpm(pid(), module(), atom(), arity(), list(), callback(), callback(),
          callback(), callback()) -> {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    call(Pid, {tpm, {M, F, A}, MS,
               {InitFunc, CallFunc, ReturnFunc, RemoveFunc}, false}).

%% @doc {@link tpm/5}; what its `trace' actions turn on is for the tracer of the
%% runtime component.
-spec tpm_tracer(pid(), module(), atom(), arity(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS) ->
    call(Pid, {tpm, {M, F, A}, MS, keep, true}).

%% @doc {@link tpm/6}, likewise.
-spec tpm_tracer(pid(), module(), atom(), arity(), list(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS, CallFunc) ->
    tpm_tracer(Pid, M, F, A, MS, void, CallFunc, void, void).

%% @doc {@link tpm/9}, likewise.
-spec tpm_tracer(pid(), module(), atom(), arity(), list(), callback(),
                 callback(), callback(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    call(Pid, {tpm, {M, F, A}, MS,
               {InitFunc, CallFunc, ReturnFunc, RemoveFunc}, true}).

%% @doc Adds or replaces one of the named match specs of a function.
-spec tpm_ms(pid(), module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms(Pid, M, F, A, Name, MS) ->
    call(Pid, {tpm_ms, {M, F, A}, Name, MS, false}).

%% @doc {@link tpm_ms/6}; what its `trace' actions turn on is for the tracer of
%% the runtime component.
-spec tpm_ms_tracer(pid(), module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms_tracer(Pid, M, F, A, Name, MS) ->
    call(Pid, {tpm_ms, {M, F, A}, Name, MS, true}).

%% @doc Removes a named match spec. The function stays prepared.
-spec ctpm_ms(pid(), module(), atom(), arity(), term()) -> ok.
ctpm_ms(Pid, M, F, A, Name) ->
    call(Pid, {ctpm_ms, {M, F, A}, Name}).

%% @doc Ends meta tracing of a function.
-spec ctpm(pid(), module(), atom(), arity()) -> ok | {error, bad_mfa}.
ctpm(Pid, M, F, A) ->
    call(Pid, {ctpm, {M, F, A}}).

%% @doc Records the registered names of processes from now on, beginning with
%% those that there are. One result for register, one for unregister.
-spec local_register(pid()) -> {Res, Res}
              when Res :: {ok, 0 | 1} | {error, term()}.
local_register(Pid) -> call(Pid, local_register).

%% @doc Ends {@link local_register/1}.
-spec remove_local_register(pid()) -> {Res, Res}
              when Res :: ok | {error, bad_mfa}.
remove_local_register(Pid) -> call(Pid, remove_local_register).

%% @doc Records the global names of processes of this node, `{global, Name}'.
-spec global_register(pid()) -> {Res, Res}
              when Res :: {ok, 0 | 1} | {error, term()}.
global_register(Pid) -> call(Pid, global_register).

%% @doc Ends {@link global_register/1}.
-spec remove_global_register(pid()) -> {Res, Res}
              when Res :: ok | {error, bad_mfa}.
remove_global_register(Pid) -> call(Pid, remove_global_register).

%% @doc What the meta tracer keeps, for debugging and tests: its own data, and
%% the public loop data.
-spec get_state(pid() | atom()) -> {ok, term(), term()}.
get_state(Pid) -> call(Pid, get_state).

%% --- for functions of the user's --------------------------------------------

%% @doc The tracer that the runtime component has: a process, or a tracer module
%% and its state. This and the next four can be called by functions of the
%% user's that the meta tracer runs, and by nobody else.
-spec get_tracer() -> inviso_otp:tracer().
get_tracer() -> within(fun(S) -> {inviso_otp:tracer(S#state.flags), S} end).

%% @doc As `inviso:tpm_ms/5', on this node.
-spec tpm_ms(module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms(M, F, A, Name, MS) ->
    within(fun(S) -> do({tpm_ms, {M, F, A}, Name, MS, false}, S) end).

%% @doc As `inviso:tpm_ms_tracer/5', on this node.
-spec tpm_ms_tracer(module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms_tracer(M, F, A, Name, MS) ->
    within(fun(S) -> do({tpm_ms, {M, F, A}, Name, MS, true}, S) end).

%% @doc As `inviso:ctpm_ms/4', on this node.
-spec ctpm_ms(module(), atom(), arity(), term()) -> ok.
ctpm_ms(M, F, A, Name) ->
    within(fun(S) -> do({ctpm_ms, {M, F, A}, Name}, S) end).

%% @doc The names of the match specs of a function, the last one set first.
-spec list_tpm_ms(module(), atom(), arity()) ->
          {ok, [term()]} | {error, not_initiated}.
list_tpm_ms(M, F, A) ->
    within(fun(#state{functions = Fns} = S) ->
                   case Fns of
                       #{{M, F, A} := #fn{specs = Specs}} ->
                           {{ok, [Name || {{named, Name}, _, _} <- Specs]}, S};
                       #{} ->
                           {{error, not_initiated}, S}
                   end
           end).

%% The state is where such a function finds it, while it runs.
within(F) ->
    case get(?MODULE) of
        #state{} = State ->
            {Result, State1} = F(State),
            _ = put(?MODULE, State1),
            Result;
        undefined ->
            error(not_in_the_meta_tracer)
    end.

%% @doc Appends records to the trace information of this node, soon.
-spec write_ti(binary() | [binary()]) -> ok | {error, no_metatracer}.
write_ti(Output) ->
    cast(?MODULE, {write_ti, Output}).

%% @doc Has the meta tracers of some nodes do what they would if a process had
%% called a function there. The time is `void'.
-spec metacast_call([node()], pid(), module(), atom(), [term()]) -> ok.
metacast_call(Nodes, Pid, M, F, Args) ->
    metacast(Nodes, {metacast, {M, F, length(Args)}, Pid, {call, Args, void}}).

%% @doc The same for a function that returned.
-spec metacast_return_from([node()], pid(), module(), atom(), arity(),
                           term()) -> ok.
metacast_return_from(Nodes, Pid, M, F, A, Value) ->
    metacast(Nodes, {metacast, {M, F, A}, Pid, {return_from, Value, void}}).

metacast(Nodes, Message) ->
    _ = [cast({?MODULE, N}, Message) || N <- Nodes],
    ok.

%% A connection that is full must not suspend who runs the user's functions.
cast(To, Message) ->
    try erlang:send(To, Message, [nosuspend, noconnect]) of
        _ -> ok
    catch
        error:badarg -> {error, no_metatracer}
    end.

%% @doc Public loop data of the standard form: see {@link inviso_meta_publ}.
-spec init_std_publld(pos_integer(), term()) -> {tuple(), term()}.
init_std_publld(Size, Global) -> inviso_meta_publ:new(Size, Global).

%% @doc Drops what is older than 30 s from loop data of the standard form.
-spec clean_std_publld(term()) -> term().
clean_std_publld(Publ) -> inviso_meta_publ:clean(Publ).

%% --- the process ------------------------------------------------------------

%% @private
init({Starter, Ti0, Spec, Flags}) ->
    process_flag(priority, high),
    process_flag(trap_exit, true),
    case inviso_ti:open(Ti0) of
        {ok, Ti} ->
            case inviso_meta_feed:open() of
                {ok, Feed} ->
                    Scope = inviso_otp:scope_open(
                              inviso_meta, inviso_meta_feed:tracer(Feed)),
                    _ = erlang:send_after(?CLEAN_MS, self(), clean),
                    _ = erlang:send_after(?TICK_MS, self(), tick),
                    Now = erlang:monotonic_time(millisecond),
                    {ok, init_publ(#state{starter = Starter, ti = Ti,
                                          looked = Now,
                                          scope = Scope, feed = Feed,
                                          flags = Flags, spec = Spec})};
                {error, Reason} ->
                    {stop, {shutdown, Reason}}
            end;
        {error, Reason} ->
            %% The answer to a mistake, not a crash to be reported.
            {stop, {shutdown, Reason}}
    end.

%% @private
handle_call(get_state, _From, #state{publ = Publ} = State) ->
    {reply, {ok, State, Publ}, State};
handle_call(Request, _From, State) ->
    {Reply, State1} = do(Request, State),
    {reply, Reply, State1}.

%% @private
handle_cast(_, State) ->
    {noreply, State}.

%% @private
handle_info({inviso_event, Bytes, _, Message}, #state{feed = Feed} = State) ->
    ok = inviso_meta_feed:taken(Feed, Bytes),
    urgent(element(tuple_size(Message), Message), traced(Message, State));
handle_info({metacast, MFA, Pid, Event}, State) ->
    {noreply, happened(MFA, Pid, Event, State)};
handle_info({write_ti, Output}, State) ->
    {noreply, write(Output, State)};
handle_info({inviso_ti, From, Record} = Message, #state{ti = Ti} = State)
  when is_pid(From), is_binary(Record) ->
    {noreply, written(inviso_ti:relayed(Ti, Message), State)};
handle_info({suspend, From, Ref}, State) ->
    State1 = init_publ(remove_publ(remove_all(State))),
    From ! {Ref, ok},
    {noreply, State1};
handle_info({stop, _From}, State) ->
    {stop, normal, State};
handle_info(clean, State) ->
    _ = erlang:send_after(?CLEAN_MS, self(), clean),
    {noreply, clean(State)};
handle_info(tick, State) ->
    _ = erlang:send_after(?TICK_MS, self(), tick),
    {noreply, told_lost(State)};
handle_info({'EXIT', _Linked, Reason}, State) ->
    {stop, Reason, State};
handle_info(Message, #state{ti = Ti} = State) ->
    case inviso_ti:taken(Ti, Message) of
        other -> {noreply, State};
        Taken -> {noreply, written(Taken, State)}
    end.

%% @private
terminate(_Reason, State0) ->
    State = remove_publ(remove_all(State0)),
    #state{scope = Scope, ti = Ti, feed = Feed} = told_rest(State),
    ok = inviso_otp:patterns_close(Scope, []),
    ok = inviso_ti:close(Ti),
    inviso_meta_feed:close(Feed).

%% The runtime component, which tells the subscribers.
tell(Event, #state{starter = Starter} = State) ->
    Starter ! {?MODULE, self(), {event, Event}},
    State.

%% And at the end what is still in the mailbox.
told_rest(#state{feed = Feed} = State) ->
    case rest(0) of
        0 ->
            told_lost(State);
        N ->
            #{dropped := Dropped, lost := Lost} = Counts =
                inviso_meta_feed:counts(Feed),
            tell({meta_counts, Counts#{dropped := Dropped + N,
                                       lost := Lost#{unhandled => N}}}, State)
    end.

rest(N) ->
    receive {inviso_event, _, _, _} -> rest(N + 1) after 0 -> N end.

told_lost(#state{feed = Feed, lost = Lost} = State) ->
    case inviso_meta_feed:counts(Feed) of
        #{dropped := Lost} -> State;
        #{dropped := New} = Counts ->
            tell({meta_counts, Counts}, State#state{lost = New})
    end.

%% What must not wait until a mailbox full of calls has been worked off. When
%% there is no such, everything is done in the order in which it came.
urgent(TS, #state{looked = Looked} = State) ->
    Now = erlang:monotonic_time(millisecond),
    case Now - Looked > ?LOOK_MS andalso
        timer:now_diff(erlang:timestamp(), TS) > ?BEHIND_US of
        true -> look(State#state{looked = Now});
        false -> {noreply, State}
    end.

look(State) ->
    receive
        {'EXIT', _, _} = Message -> handle_info(Message, State);
        {stop, _} = Message -> handle_info(Message, State);
        {suspend, _, _} = Message -> handle_info(Message, State);
        tick -> handle_info(tick, State);
        {'$gen_call', From, Request} ->
            {reply, Reply, State1} = handle_call(Request, From, State),
            ok = gen_server:reply(From, Reply),
            {noreply, State1}
    after 0 ->
            {noreply, State}
    end.

traced({trace_ts, Pid, call, {M, F, Args}, TS}, State) ->
    happened({M, F, length(Args)}, Pid, {call, Args, TS}, State);
traced({trace_ts, Pid, call, {M, F, Args}, _Result, TS}, State) ->
    happened({M, F, length(Args)}, Pid, {call, Args, TS}, State);
traced({trace_ts, Pid, What, MFA, Value, TS}, State)
  when What =:= return_from; What =:= exception_from ->
    happened(MFA, Pid, {What, Value, TS}, State);
traced(_, State) ->
    State.

%% --- functions that are meta traced -----------------------------------------

do({init_tpm, MFA, Functions}, State) ->
    case is_mfa(MFA) of
        true -> init_fn(MFA, Functions, State);
        false -> {{error, bad_mfa}, State}
    end;
do({tpm, MFA, MS, Functions, Aimed}, State) ->
    case {is_mfa(MFA), Functions, is_known(MFA, State)} of
        {false, _, _} -> {{error, badarg}, State};
        {_, keep, false} -> {{error, not_initiated}, State};
        {_, keep, true} -> add_spec(MFA, unnamed, MS, Aimed, State);
        _ -> begin_fn(MFA, MS, Functions, Aimed, State)
    end;
do({tpm_ms, MFA, Name, MS, Aimed}, State) ->
    case is_known(MFA, State) of
        true -> add_spec(MFA, {named, Name}, MS, Aimed, State);
        false -> {{error, not_initiated}, State}
    end;
do({ctpm_ms, MFA, Name}, State) ->
    case is_known(MFA, State) of
        true -> {ok, remove_spec(MFA, {named, Name}, State)};
        false -> {ok, State}
    end;
do({ctpm, MFA}, State) ->
    case is_known(MFA, State) of
        true -> {ok, remove_fn(MFA, State)};
        false -> {{error, bad_mfa}, State}
    end;
do(local_register, State) ->
    add_names(local, inviso_meta_names:local(), State);
do(global_register, State) ->
    add_names(global, inviso_meta_names:global(), State);
do(remove_local_register, State) ->
    remove_names(inviso_meta_names:local(), State);
do(remove_global_register, State) ->
    remove_names(inviso_meta_names:global(), State);
do(Other, State) ->
    {{error, {unknown_request, Other}}, State}.

is_mfa({M, F, A}) ->
    is_atom(M) andalso M =/= '_' andalso is_atom(F) andalso F =/= '_'
        andalso is_integer(A) andalso A >= 0 andalso A < 256;
is_mfa(_) -> false.

are_functions({Init, Call, Return, Remove}) ->
    lists:all(fun({F, Arity}) -> inviso_meta_callback:is_callback(F, Arity) end,
              [{Init, 4}, {Call, 3}, {Return, 3}, {Remove, 4}]);
are_functions(_) -> false.

is_known(MFA, #state{functions = Fns}) -> is_map_key(MFA, Fns).

init_fn(MFA, Functions, State) ->
    case {is_known(MFA, State), are_functions(Functions)} of
        {true, _} ->
            {{error, already_initiated}, State};
        {false, false} ->
            {{error, badarg}, State};
        {false, true} ->
            Fns = State#state.functions,
            New = Fns#{MFA => #fn{functions = Functions}},
            {ok, begun(MFA, Functions, State#state{functions = New})}
    end.

begun({M, F, A} = MFA, {Init, _, _, _}, #state{publ = Publ} = State) ->
    output(run(meta_init, MFA, Init, [M, F, A, Publ], State)).

%% What cannot be traced is not left prepared.
begin_fn(MFA, MS, Functions, Aimed, State) ->
    case init_fn(MFA, Functions, State) of
        {ok, State1} ->
            case add_spec(MFA, unnamed, MS, Aimed, State1) of
                {{ok, 1}, _} = Done -> Done;
                {Not, State2} -> {Not, remove_fn(MFA, State2)}
            end;
        Error ->
            Error
    end.

add_spec({M, _, _} = MFA, Name, MS, Aimed, #state{functions = Fns} = State) ->
    #{MFA := #fn{specs = Specs} = Fn} = Fns,
    case inviso_meta_spec:normal(MS) of
        {ok, Clauses} ->
            New = [{Name, Clauses, Aimed} | lists:keydelete(Name, 1, Specs)],
            _ = code:ensure_loaded(M),
            case set(MFA, New, State) of
                {ok, N} when N > 0 ->
                    {{ok, N}, changed(MFA, Fn#fn{specs = New}, State)};
                Not ->
                    %% What a part of it may have replaced.
                    _ = set(MFA, Specs, State),
                    {not_set(Not), State}
            end;
        error ->
            {{ok, 0}, State}
    end.

not_set({error, badarg}) -> {ok, 0};
not_set(Other) -> Other.

remove_spec(MFA, Name, #state{functions = Fns} = State) ->
    #{MFA := #fn{specs = Specs} = Fn} = Fns,
    case lists:keydelete(Name, 1, Specs) of
        Specs ->
            State;
        Rest ->
            _ = set(MFA, Rest, State),
            changed(MFA, Fn#fn{specs = Rest}, State)
    end.

set(MFA, [], #state{scope = Scope, flags = Flags} = State) ->
    inviso_otp:set_meta(Scope, Flags, MFA, false, patterns(State));
set(MFA, Specs, #state{scope = Scope, flags = Flags} = State) ->
    inviso_otp:set_meta(Scope, Flags, MFA,
                        [{Clauses, Aimed} || {_, Clauses, Aimed} <- Specs],
                        patterns(State)).

changed(MFA, Fn, #state{functions = Fns} = State) ->
    patterns_changed(State#state{functions = Fns#{MFA => Fn}}).

patterns(#state{functions = Fns}) ->
    [{meta, MFA, []} || {MFA, #fn{specs = [_ | _]}} <- maps:to_list(Fns)].

patterns_changed(#state{starter = Starter} = State) ->
    Starter ! {?MODULE, self(), {patterns, patterns(State)}},
    State.

remove_fn({M, F, A} = MFA, #state{functions = Fns} = State) ->
    {#fn{functions = {_, _, _, Remove}, specs = Specs}, Rest} =
        maps:take(MFA, Fns),
    _ = Specs =:= [] orelse set(MFA, [], State),
    State1 = patterns_changed(State#state{functions = Rest}),
    #state{publ = Publ, failed = Failed} = State1,
    State2 = case run(meta_remove, MFA, Remove, [M, F, A, Publ], State1) of
                 {{ok, New}, S} -> S#state{publ = New};
                 {none, S} -> S;
                 {Other, S} -> bad_return(meta_remove, MFA, Other, S)
             end,
    %% It may be prepared again, and fail again.
    Told = maps:filter(fun({_, Which}, _) -> Which =/= MFA end, Failed),
    State2#state{failed = Told}.

remove_all(#state{functions = Fns} = State) ->
    lists:foldl(fun remove_fn/2, State, maps:keys(Fns)).

%% --- names of processes -----------------------------------------------------

%% The names that there are, after the patterns are set, so that none falls
%% between.
add_names(Kind, Functions, State) ->
    {Results, State1} =
        lists:mapfoldl(fun add_name_function/2, State, Functions),
    case [MFA || {{ok, 1}, {MFA, _, _}} <- lists:zip(Results, Functions)] of
        [] ->
            {list_to_tuple(Results), State1};
        Set ->
            {Noted, Records} = inviso_meta_names:noted(Kind),
            State2 = lists:foldl(
                       fun({MFA, _, Make}, S) ->
                               with_names(lists:member(MFA, Set), MFA,
                                          Make(Noted), S)
                       end, State1, Functions),
            {list_to_tuple(Results), write(Records, State2)}
    end.

add_name_function({MFA, MS, _}, State) ->
    Nothing = {void, void, void, void},
    do({tpm, MFA, MS, Nothing, false}, State).

with_names(true, MFA, Functions, #state{functions = Fns} = State) ->
    #{MFA := Fn} = Fns,
    State#state{functions = Fns#{MFA => Fn#fn{functions = Functions,
                                              builtin = true}}};
with_names(false, _MFA, _Functions, State) ->
    State.

remove_names(Functions, State) ->
    {Results, State1} =
        lists:mapfoldl(fun({MFA, _, _}, S) -> do({ctpm, MFA}, S) end,
                       State, Functions),
    {list_to_tuple(Results), State1}.

%% --- functions of the user's ------------------------------------------------

happened(MFA, Pid, Event, #state{functions = Fns} = State) ->
    case Fns of
        #{MFA := #fn{functions = {_, Call, Return, _}, builtin = Builtin}} ->
            case Event of
                {call, _, _} ->
                    happened(meta_call, MFA, Call, Builtin, Pid, Event, State);
                _ ->
                    happened(meta_return, MFA, Return, Builtin, Pid, Event,
                             State)
            end;
        #{} ->
            %% Taken off while it waited.
            State
    end.

happened(What, MFA, Fun, Builtin, Pid, Event, State) ->
    #state{publ = Publ, names = Names} = State,
    case Builtin andalso not inviso_meta_publ:is_standard(Publ) of
        true ->
            S = output(run(What, MFA, Fun, [Pid, Event, Names],
                           State#state{publ = Names})),
            S#state{publ = Publ, names = S#state.publ};
        false ->
            output(run(What, MFA, Fun, [Pid, Event, Publ], State))
    end.

output({none, State}) ->
    State;
output({{ok, Publ, Output}, State}) ->
    write(Output, State#state{publ = Publ});
output({{bad, What, MFA, Other}, State}) ->
    bad_return(What, MFA, Other, State).

%% Runs a function; `none' if there is none, or if it crashed.
run(_What, _MFA, void, _Args, State) ->
    {none, State};
run(What, MFA, Fun, Args, State) ->
    _ = put(?MODULE, State),
    Outcome = inviso_meta_callback:call(Fun, Args),
    State1 = erase(?MODULE),
    case Outcome of
        {ok, {ok, _} = Ok} when What =:= meta_remove -> {Ok, State1};
        {ok, {ok, _, _} = Ok} when What =/= meta_remove -> {Ok, State1};
        {ok, Other} when What =:= meta_remove -> {Other, State1};
        {ok, Other} -> {{bad, What, MFA, Other}, State1};
        {crash, Why} -> {none, failed(What, MFA, Why, State1)}
    end.

bad_return(What, MFA, Other, State) ->
    failed(What, MFA, {bad_return, Other}, State).

failed(What, MFA, Why, #state{failed = Failed} = State) ->
    case Failed of
        #{{What, MFA} := true} ->
            State;
        #{} ->
            tell({callback_failed, {What, {MFA, Why}}},
                 State#state{failed = Failed#{{What, MFA} => true}})
    end.

%% --- public loop data -------------------------------------------------------

init_publ(#state{spec = {{M, F, Args} = Init, _, _}} = State) ->
    case inviso_meta_callback:call({M, F}, Args) of
        {ok, Publ} ->
            State#state{publ = Publ, names = inviso_meta_publ:new(1, [])};
        {crash, Why} ->
            failed(meta_init_publ, Init, Why,
                   State#state{publ = {error, init_publ_ld_func}})
    end.

remove_publ(#state{spec = {_, void, _}} = State) ->
    State;
remove_publ(#state{spec = {_, Remove, _}, publ = Publ} = State) ->
    case inviso_meta_callback:call(Remove, [Publ]) of
        {ok, _} -> State;
        {crash, Why} -> failed(meta_remove_publ, Remove, Why, State)
    end.

clean(#state{names = Names} = State) ->
    clean_publ(State#state{names = inviso_meta_publ:clean(Names)}).

clean_publ(#state{spec = {_, _, void}} = State) ->
    State;
clean_publ(#state{spec = {_, _, Clean}, publ = Publ} = State) ->
    case inviso_meta_callback:call(Clean, [Publ]) of
        {ok, New} -> State#state{publ = New};
        {crash, Why} -> failed(meta_clean, Clean, Why, State)
    end.

%% --- trace information ------------------------------------------------------

write(Record, State) when is_binary(Record) ->
    write([Record], State);
write(Records, #state{ti = Ti} = State) when length(Records) > 0 ->
    case lists:all(fun is_binary/1, Records) of
        true -> written(inviso_ti:write(Ti, Records), State);
        false -> State
    end;
write(_None, State) ->
    State.

%% That records are lost is told, once.
written({ok, Ti}, State) ->
    State#state{ti = Ti};
written({error, _, Ti}, #state{ti_failed = true} = State) ->
    State#state{ti = Ti};
written({error, Reason, Ti}, State) ->
    tell({meta_down, {ti, Reason}}, State#state{ti = Ti, ti_failed = true}).
