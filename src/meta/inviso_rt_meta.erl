%% SPDX-License-Identifier: Apache-2.0
%% @doc The meta tracer is a process. When a traced function is called, the meta
%% tracer runs functions of the user. It also writes the names of processes into
%% the trace information (ti).
%%
%% Meta tracing traces the calls of a function by all processes. The meta tracer
%% receives the trace messages. For each traced function the user gives four
%% functions, each as `{Module, Function}', a fun, or `void':
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
%% Output is a binary or a list of binaries, each a record of the ti file (see
%% {@link inviso_lfm}). Other terms are ignored. PublLD is the public loop data,
%% which all functions share ({@link inviso_meta_publ}). The tracerdata names
%% three functions for the loop data, `{InitMFA, RemoveMF, CleanMF}': InitMFA
%% makes it, RemoveMF removes it (`M:F(PublLD)'), and CleanMF cleans it each
%% minute (`M:F(PublLD) -> NewPublLD'). ReturnFunc is called only if the match
%% spec has the action `{return_trace}' or `{exception_trace}'.
%%
%% The manual of the original Inviso has other arguments: `CallFunc(Pid, Args,
%% PublLD)' and `ReturnFunc(Pid, Value, PublLD)'. If a user's function has no
%% clause for `{call, Args, TS}' and the like, it is called with the arguments of
%% that manual.
%%
%% The user's functions run in this process. If a user's function crashes or returns
%% a wrong term, the loop data stays as it was, and the subscribers of the control
%% component get an event, such as `{callback_failed, Node, {meta_call, {MFA,
%% Reason}}}'. They get one event at most for each user's function of each meta
%% traced function.
%%
%% A function may have one match spec without a name (tpm) and any number of
%% named match specs (tpm_ms). The VM tries the latest match spec first.
%%
%% On OTP 27 and later, meta tracing has a separate trace session, because a
%% session has only one tracer. If an action of a match spec changes flags
%% (`trace', `silent', ...), these are flags of the runtime component's session.
%%
%% Each traced call is a message in the mailbox of this process. {@link
%% inviso_meta_feed} bounds the mailbox: it drops and counts calls beyond its
%% credit. The subscribers then get `{meta_counts, Node, Counts}', at most once a
%% second.
-module(inviso_rt_meta).

-behaviour(gen_server).

%% Functions that the runtime component calls.
-export([start_link/3, start/2, start/5, stop/1, suspend/1, send_request/4]).
%% Requests to the meta tracer, which is the first argument.
-export([init_tpm/5, init_tpm/8, tpm/5, tpm/6, tpm/9,
         tpm_tracer/5, tpm_tracer/6, tpm_tracer/9, tpm_ms/6, tpm_ms_tracer/6,
         ctpm_ms/5, ctpm/4, local_register/1, remove_local_register/1,
         global_register/1, remove_global_register/1, get_state/1]).
%% Functions that a user's functions may call.
-export([get_tracer/0, tpm_ms/5, tpm_ms_tracer/5, ctpm_ms/4, list_tpm_ms/3,
         write_ti/1, metacast_call/5, metacast_return_from/6,
         init_std_publld/2, clean_std_publld/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([request/0, spec/0]).

-define(TIMEOUT, 30000).
-define(START_MS, 10000).
-define(STOP_MS, 5000).
-define(WRITE_MS, 5000).
-define(CLEAN_MS, 60000).
-define(TICK_MS, 1000).
-define(LOOK_MS, 100).
-define(BEHIND_US, 500000).

-type callback() :: inviso_meta_callback:callback().
-type request() :: inviso_meta_state:request().
-type spec() :: inviso_meta_state:spec().

-record(meta, {starter :: pid(),
               state :: inviso_meta_state:state(),
               scope :: inviso_scope:scope(),
               feed :: inviso_meta_feed:feed(),
               lost = 0 :: non_neg_integer(),
               %% monotonic time (ms) of the last search for urgent messages
               looked :: integer()}).

%% --- start and stop ---------------------------------------------------------

%% @equiv start_link(Ti, Spec, Flags)
-spec start(inviso_ti:destination(), inviso_scope:scope()) ->
          {ok, pid()} | {error, term()}.
start(Ti, Flags) ->
    start_link(Ti, none, Flags).

%% @equiv start_link(Ti, {Init, Remove, Clean}, Flags)
-spec start(inviso_ti:destination(), inviso_scope:scope(),
            {module(), atom(), [term()]}, void | {module(), atom()},
            void | {module(), atom()}) -> {ok, pid()} | {error, term()}.
start(Ti, Flags, Init, Remove, Clean) ->
    start_link(Ti, {Init, Remove, Clean}, Flags).

%% @doc Opens the trace information and starts the meta tracer of this node, for a
%% runtime component. `Flags' is the scope in which the runtime component traces. The
%% meta tracer opens another scope, and sends it to the calling process as
%% `{inviso_rt_meta, Pid, {scope, Scope}}'. If the meta tracer is killed, the calling
%% process must close this second scope. Each later event of the meta tracer is sent
%% as `{inviso_rt_meta, Pid, {event, Event}}'.
-spec start_link(inviso_ti:destination(), none | spec(), inviso_scope:scope()) ->
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

%% @doc Makes the meta tracer clear all meta patterns, run the remove functions,
%% close the trace information and end. If this takes longer than 5 s, the meta
%% tracer is killed. The caller must then close the meta tracer's scope.
-spec stop(pid()) -> ok | killed.
stop(Pid) ->
    Ref = monitor(process, Pid),
    true = unlink(Pid),
    receive {'EXIT', Pid, _} -> ok after 0 -> ok end,
    Pid ! {stop, self()},
    await(Pid, Ref, Ref).

%% @doc Makes the meta tracer clear all meta patterns, run the remove functions, and
%% make new public loop data ({@link inviso_meta_publ}). If this takes longer than 5
%% s, the meta tracer is killed.
-spec suspend(pid()) -> ok | killed.
suspend(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! {suspend, self(), Ref},
    await(Pid, Ref, Ref).

%% Waits until the meta tracer is done. The meta tracer runs user functions, which
%% may send requests to this process. These requests are refused, because otherwise
%% the two processes would wait for each other.
await(Pid, Monitor, Ref) ->
    receive
        {Ref, ok} ->
            true = demonitor(Monitor, [flush]),
            ok;
        {'DOWN', Monitor, process, Pid, normal} ->
            ok;
        {'DOWN', Monitor, process, Pid, _} ->
            killed;
        {'$gen_call', {Pid, _} = From, _} ->
            ok = gen_server:reply(From, {error, suspended}),
            await(Pid, Monitor, Ref)
    after ?STOP_MS ->
            true = exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> killed end
    end.

%% @doc Sends a request and does not wait for the reply. The caller gets the reply
%% with `gen_server:check_response/3'.
-spec send_request(pid(), term(), term(), gen_server:request_id_collection()) ->
          gen_server:request_id_collection().
send_request(Pid, Request, Label, Sent) ->
    gen_server:send_request(Pid, Request, Label, Sent).

%% --- requests ---------------------------------------------------------------

call(Pid, Request) -> gen_server:call(Pid, Request, ?TIMEOUT).

%% @doc Prepares a function: stores its callbacks, so that {@link tpm/5} and
%% {@link tpm_ms/6} can set its match specs.
-spec init_tpm(pid(), module(), atom(), arity(), callback()) ->
          ok | {error, term()}.
init_tpm(Pid, M, F, A, CallFunc) ->
    init_tpm(Pid, M, F, A, void, CallFunc, void, void).

%% @doc Like {@link init_tpm/5}, with all four callbacks.
-spec init_tpm(pid(), module(), atom(), arity(), callback(), callback(),
               callback(), callback()) -> ok | {error, term()}.
init_tpm(Pid, M, F, A, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    call(Pid, {init_tpm, {M, F, A},
               {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Sets the match spec of a prepared function.
-spec tpm(pid(), module(), atom(), arity(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS) ->
    call(Pid, {tpm, {M, F, A}, MS, keep}).

%% @doc Prepares a function and sets its match spec.
-spec tpm(pid(), module(), atom(), arity(), list(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS, CallFunc) ->
    tpm(Pid, M, F, A, MS, void, CallFunc, void, void).

%% @doc Like {@link tpm/6}, with all four callbacks.
-spec tpm(pid(), module(), atom(), arity(), list(), callback(), callback(),
          callback(), callback()) -> {ok, 0 | 1} | {error, term()}.
tpm(Pid, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    call(Pid, {tpm, {M, F, A}, MS,
               {InitFunc, CallFunc, ReturnFunc, RemoveFunc}}).

%% @doc Does the same as {@link tpm/5}. With both functions, actions of the match
%% spec change flags in the session of the runtime component.
-spec tpm_tracer(pid(), module(), atom(), arity(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS) ->
    tpm(Pid, M, F, A, MS).

%% @doc Equal to {@link tpm/6}.
-spec tpm_tracer(pid(), module(), atom(), arity(), list(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS, CallFunc) ->
    tpm(Pid, M, F, A, MS, CallFunc).

%% @doc Equal to {@link tpm/9}.
-spec tpm_tracer(pid(), module(), atom(), arity(), list(), callback(),
                 callback(), callback(), callback()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_tracer(Pid, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc) ->
    tpm(Pid, M, F, A, MS, InitFunc, CallFunc, ReturnFunc, RemoveFunc).

%% @doc Adds or replaces one of the named match specs of a function.
-spec tpm_ms(pid(), module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms(Pid, M, F, A, Name, MS) ->
    call(Pid, {tpm_ms, {M, F, A}, Name, MS}).

%% @doc Equal to {@link tpm_ms/6}.
-spec tpm_ms_tracer(pid(), module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms_tracer(Pid, M, F, A, Name, MS) ->
    tpm_ms(Pid, M, F, A, Name, MS).

%% @doc Removes a named match spec. The function stays prepared.
-spec ctpm_ms(pid(), module(), atom(), arity(), term()) -> ok.
ctpm_ms(Pid, M, F, A, Name) ->
    call(Pid, {ctpm_ms, {M, F, A}, Name}).

%% @doc Ends meta tracing of a function.
-spec ctpm(pid(), module(), atom(), arity()) -> ok | {error, bad_mfa}.
ctpm(Pid, M, F, A) ->
    call(Pid, {ctpm, {M, F, A}}).

%% @doc Records the current registered names of processes, and names that are
%% registered later. Returns two results: of tracing register/2, and of tracing
%% unregister/1.
-spec local_register(pid()) -> {Res, Res}
              when Res :: {ok, 0 | 1} | {error, term()}.
local_register(Pid) -> call(Pid, local_register).

%% @doc Stops recording registered names.
-spec remove_local_register(pid()) -> {Res, Res}
              when Res :: ok | {error, bad_mfa}.
remove_local_register(Pid) -> call(Pid, remove_local_register).

%% @doc Records the global names of this node's processes, as `{global, Name}'.
-spec global_register(pid()) -> {Res, Res}
              when Res :: {ok, 0 | 1} | {error, term()}.
global_register(Pid) -> call(Pid, global_register).

%% @doc Stops recording global names.
-spec remove_global_register(pid()) -> {Res, Res}
              when Res :: ok | {error, bad_mfa}.
remove_global_register(Pid) -> call(Pid, remove_global_register).

%% @doc Returns the state of the meta tracer and the public loop data ({@link
%% inviso_meta_publ}), for debugging and tests.
-spec get_state(pid() | atom()) -> {ok, term(), term()}.
get_state(Pid) -> call(Pid, get_state).

%% --- for functions of the user ----------------------------------------------

%% @doc Returns the tracer of the runtime component: a process, or a tracer
%% module and its state. Only user functions that the meta tracer runs can call
%% this function, `tpm_ms/5', `tpm_ms_tracer/5', `ctpm_ms/4' and
%% `list_tpm_ms/3'.
-spec get_tracer() -> inviso_scope:tracer().
get_tracer() ->
    inviso_meta_state:within(fun(S) -> {inviso_meta_state:tracer(S), S} end).

%% @doc Like `inviso:tpm_ms/5', on this node.
-spec tpm_ms(module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms(M, F, A, Name, MS) ->
    within({tpm_ms, {M, F, A}, Name, MS}).

%% @doc Like `inviso:tpm_ms_tracer/5', on this node.
-spec tpm_ms_tracer(module(), atom(), arity(), term(), list()) ->
          {ok, 0 | 1} | {error, term()}.
tpm_ms_tracer(M, F, A, Name, MS) ->
    tpm_ms(M, F, A, Name, MS).

%% @doc Like `inviso:ctpm_ms/4', on this node.
-spec ctpm_ms(module(), atom(), arity(), term()) -> ok.
ctpm_ms(M, F, A, Name) ->
    within({ctpm_ms, {M, F, A}, Name}).

%% @doc Returns the names of a function's match specs. The latest match spec is
%% the first.
-spec list_tpm_ms(module(), atom(), arity()) ->
          {ok, [term()]} | {error, not_initiated}.
list_tpm_ms(M, F, A) ->
    inviso_meta_state:within(
      fun(S) -> {inviso_meta_state:names({M, F, A}, S), S} end).

within(Request) ->
    inviso_meta_state:within(fun(S) -> inviso_meta_state:do(Request, S) end).

%% @doc Appends records to the trace information of this node. Any process can
%% call this function.
-spec write_ti(binary() | [binary()]) -> ok | {error, no_metatracer | timeout}.
write_ti(Output) ->
    case whereis(?MODULE) =:= self() of
        true ->
            inviso_meta_state:within(
              fun(S) -> {ok, inviso_meta_state:write(Output, S)} end);
        false ->
            try
                gen_server:call(?MODULE, {write_ti, Output}, ?WRITE_MS)
            catch
                exit:{timeout, _} -> {error, timeout};
                exit:_ -> {error, no_metatracer}
            end
    end.

%% @doc Makes the meta tracers of `Nodes' act as if the process `Pid' had called a
%% function there. The user's functions get `void' as the time of the call.
-spec metacast_call([node()], pid(), module(), atom(), [term()]) -> ok.
metacast_call(Nodes, Pid, M, F, Args) ->
    metacast(Nodes, {metacast, {M, F, length(Args)}, Pid, {call, Args, void}}).

%% @doc Makes the meta tracers of `Nodes' act as if a function had returned `Value'
%% there in the process `Pid'. The user's functions get `void' as the time of the
%% return.
-spec metacast_return_from([node()], pid(), module(), atom(), arity(),
                           term()) -> ok.
metacast_return_from(Nodes, Pid, M, F, A, Value) ->
    metacast(Nodes, {metacast, {M, F, A}, Pid, {return_from, Value, void}}).

metacast(Nodes, Message) ->
    %% The calling process may be the meta tracer, and a busy connection must not
    %% suspend the meta tracer.
    _ = [erlang:send({?MODULE, N}, Message, [nosuspend, noconnect])
         || N <- Nodes],
    ok.

%% @doc Returns new loop data of the standard form: see {@link
%% inviso_meta_publ}.
-spec init_std_publld(pos_integer(), term()) -> {tuple(), term()}.
init_std_publld(Size, Global) -> inviso_meta_publ:new(Size, Global).

%% @doc Removes entries older than 30 s from loop data of the standard form.
-spec clean_std_publld(term()) -> term().
clean_std_publld(Publ) -> inviso_meta_publ:clean(Publ).

%% --- the process ------------------------------------------------------------

%% @private
init({Starter, Ti0, Spec, Flags}) ->
    ok = inviso_push:stays(worker),
    process_flag(priority, high),
    process_flag(trap_exit, true),
    case opened(Ti0) of
        {ok, Ti, Feed} ->
            Tracer = inviso_meta_feed:tracer(Feed),
            Scope = inviso_scope:open(inviso_meta, Tracer),
            Starter ! {?MODULE, self(), {scope, Scope}},
            _ = erlang:send_after(?CLEAN_MS, self(), clean),
            _ = erlang:send_after(?TICK_MS, self(), tick),
            State = inviso_meta_state:new(Starter, Ti, Scope, Flags, Spec),
            {ok, #meta{starter = Starter, state = State, scope = Scope,
                       feed = Feed,
                       looked = erlang:monotonic_time(millisecond)}};
        {error, Reason} ->
            %% With `shutdown' no crash report is logged. The caller gets the
            %% error.
            {stop, {shutdown, Reason}}
    end.

opened(Ti0) ->
    case inviso_ti:open(Ti0) of
        {ok, Ti} ->
            case inviso_meta_feed:open() of
                {ok, Feed} -> {ok, Ti, Feed};
                {error, _} = E -> E
            end;
        {error, _} = E ->
            E
    end.

%% @private
handle_call(get_state, _From, #meta{state = State} = Meta) ->
    {reply, {ok, State, inviso_meta_state:publ(State)}, Meta};
handle_call({write_ti, Output}, _From, #meta{state = State} = Meta) ->
    {reply, ok, Meta#meta{state = inviso_meta_state:write(Output, State)}};
handle_call(Request, _From, #meta{state = State} = Meta) ->
    {Reply, State1} = inviso_meta_state:do(Request, State),
    {reply, Reply, Meta#meta{state = State1}}.

%% @private
handle_cast(_, Meta) ->
    {noreply, Meta}.

%% @private
handle_info({inviso_event, Bytes, _, Message}, #meta{feed = Feed} = Meta) ->
    ok = inviso_meta_feed:taken(Feed, Bytes),
    called(Message, Meta);
handle_info({metacast, MFA, Pid, Event}, Meta) ->
    {noreply, happened(MFA, Pid, Event, Meta)};
handle_info({suspend, From, Ref}, #meta{state = State} = Meta) ->
    State1 = inviso_meta_state:suspend(State),
    From ! {Ref, ok},
    {noreply, Meta#meta{state = State1}};
handle_info({stop, _From}, Meta) ->
    {stop, normal, Meta};
handle_info(clean, #meta{state = State} = Meta) ->
    _ = erlang:send_after(?CLEAN_MS, self(), clean),
    {noreply, Meta#meta{state = inviso_meta_state:clean(State)}};
handle_info(tick, Meta) ->
    _ = erlang:send_after(?TICK_MS, self(), tick),
    {noreply, told_lost(Meta)};
handle_info({'EXIT', Starter, Reason}, #meta{starter = Starter} = Meta) ->
    {stop, Reason, Meta};
handle_info({'EXIT', _, _}, Meta) ->
    %% A user function has linked this process to another process. The exit
    %% signal of that process is ignored.
    {noreply, Meta};
handle_info(Message, #meta{state = State} = Meta) ->
    case inviso_ti:handle(Message, inviso_meta_state:ti(State)) of
        other ->
            {noreply, Meta};
        Result ->
            State1 = inviso_meta_state:written(Result, State),
            {noreply, Meta#meta{state = State1}}
    end.

%% @private
terminate(_Reason, #meta{state = State, scope = Scope, feed = Feed} = Meta) ->
    State1 = inviso_meta_state:finish(State),
    ok = told_rest(Meta#meta{state = State1}),
    ok = inviso_scope:close(Scope),
    ok = inviso_ti:close(inviso_meta_state:ti(State1)),
    inviso_meta_feed:close(Feed).

called({trace_ts, Pid, call, {M, F, Args}, TS}, Meta) ->
    urgent(TS, happened({M, F, length(Args)}, Pid, {call, Args, TS}, Meta));
called({trace_ts, Pid, call, {M, F, Args}, _Result, TS}, Meta) ->
    urgent(TS, happened({M, F, length(Args)}, Pid, {call, Args, TS}, Meta));
called({trace_ts, Pid, What, MFA, Value, TS}, Meta)
  when What =:= return_from; What =:= exception_from ->
    urgent(TS, happened(MFA, Pid, {What, Value, TS}, Meta));
called(_, Meta) ->
    {noreply, Meta}.

happened(MFA, Pid, Event, #meta{state = State} = Meta) ->
    Meta#meta{state = inviso_meta_state:happened(MFA, Pid, Event, State)}.

%% If the meta tracer handles events more than ?BEHIND_US late, handles an urgent
%% message (a request, a stop, a tick) before the events that arrived earlier.
urgent(TS, #meta{looked = Looked} = Meta) ->
    Now = erlang:monotonic_time(millisecond),
    case Now - Looked > ?LOOK_MS andalso
        timer:now_diff(erlang:timestamp(), TS) > ?BEHIND_US of
        true -> look(Meta#meta{looked = Now});
        false -> {noreply, Meta}
    end.

look(Meta) ->
    receive
        {'EXIT', _, _} = Message -> handle_info(Message, Meta);
        {stop, _} = Message -> handle_info(Message, Meta);
        {suspend, _, _} = Message -> handle_info(Message, Meta);
        tick -> handle_info(tick, Meta);
        {'$gen_call', From, Request} ->
            {reply, Reply, Meta1} = handle_call(Request, From, Meta),
            ok = gen_server:reply(From, Reply),
            {noreply, Meta1}
    after 0 ->
            {noreply, Meta}
    end.

%% --- lost calls -------------------------------------------------------------

told_lost(#meta{state = State, feed = Feed, lost = Lost} = Meta) ->
    case inviso_meta_feed:counts(Feed) of
        #{dropped := Lost} ->
            Meta;
        #{dropped := New} = Counts ->
            _ = inviso_meta_state:tell({meta_counts, Counts}, State),
            Meta#meta{lost = New}
    end.

%% Reports the final counts. Events that are still in the mailbox count as lost.
told_rest(#meta{state = State, feed = Feed} = Meta) ->
    case rest(0) of
        0 ->
            _ = told_lost(Meta),
            ok;
        N ->
            #{dropped := Dropped, lost := Lost} = Counts =
                inviso_meta_feed:counts(Feed),
            All = Counts#{dropped := Dropped + N,
                          lost := Lost#{unhandled => N}},
            _ = inviso_meta_state:tell({meta_counts, All}, State),
            ok
    end.

rest(N) ->
    receive {inviso_event, _, _, _} -> rest(N + 1) after 0 -> N end.
