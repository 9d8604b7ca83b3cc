%% SPDX-License-Identifier: Apache-2.0
%% @doc The meta tracer: associations of pids with names, into a trace
%% information (ti) file.
%%
%% Meta tracing catches the calls of a function wherever they are made; the
%% trace messages come to this process. For each such function there is a
%% handler for the call and one for the return, which work on loop data common
%% to all (`publ') and say what to append to the ti file. Names of processes
%% are one use of that: erlang:register/2 and erlang:unregister/1.
%%
%% This is the one place where trace messages go to a mailbox. Their rate is
%% that of the calls of the functions chosen here, not that of the trace. Even
%% so: when more than ?MAX_QUEUE messages wait, all meta patterns are taken
%% away, the ti file says no more, and a warning is logged. The process has
%% high priority.
%%
%% On OTP 27+ meta tracing needs a session of its own, because the tracer of a
%% session is fixed and is `inviso_tracer' in that of the runtime component.
%%
%% A record of the file: a zero byte, the length (32 bits, big end first), and
%% a term in the external format, {Pid, Alias, alias, Now} or
%% {Pid | undefined, Alias, unalias, Now}. One write a record: what is in the
%% file after a crash is whole records, but for the last.
-module(inviso_rt_meta).

-behaviour(gen_server).

-export([start_link/1, stop/1, local_register/1, remove_local_register/1,
         patterns/1, suspend/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(MAX_QUEUE, 10000).
-define(TIMEOUT, 30000).

-define(REGISTER, {erlang, register, 2}).
-define(UNREGISTER, {erlang, unregister, 1}).

%% Calls that wait for their return, by caller; the names known to be set.
-type publ() :: #{pending := #{pid() => {pid() | port(), atom(), tuple()}},
                  names := #{atom() => pid() | port()}}.
-type output() :: [term()].
-type event() :: {call, [term()], tuple()}
               | {return_from | exception_from, term(), tuple()}.
-type handler() :: fun((pid(), event(), publ()) -> {publ(), output()}).

-record(state, {file :: file:fd(),
                scope :: inviso_otp:scope(),
                handlers = #{} :: #{mfa() => handler()},
                patterns = [] :: [inviso_otp:pattern()],
                publ :: publ(),
                overloaded = false :: boolean()}).

%% @doc Opens the ti file, replacing an existing one, and starts the tracer.
-spec start_link(file:filename()) -> {ok, pid()} | {error, term()}.
start_link(File) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, File, []).

%% @doc Takes all meta patterns away and closes the file.
-spec stop(pid()) -> ok.
stop(Pid) ->
    gen_server:stop(Pid, normal, ?TIMEOUT).

%% @doc Records the names of processes on this node from now on, beginning with
%% those that are registered already. One result for register, one for
%% unregister.
-spec local_register(pid()) -> {Res, Res}
              when Res :: {ok, 0 | 1} | {error, term()}.
local_register(Pid) ->
    gen_server:call(Pid, local_register, ?TIMEOUT).

%% @doc Ends {@link local_register/1}.
-spec remove_local_register(pid()) -> {ok, ok}.
remove_local_register(Pid) ->
    gen_server:call(Pid, remove_local_register, ?TIMEOUT).

%% @doc The meta patterns that are set.
-spec patterns(pid()) -> [inviso_otp:pattern()].
patterns(Pid) ->
    gen_server:call(Pid, patterns, ?TIMEOUT).

%% @doc Takes all meta patterns away, and forgets what they were for.
-spec suspend(pid()) -> ok.
suspend(Pid) ->
    gen_server:call(Pid, suspend, ?TIMEOUT).

%% @private
init(File) ->
    process_flag(priority, high),
    process_flag(trap_exit, true),
    %% A stale file may have other rights, or be a link.
    _ = file:delete(File),
    case file:open(File, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            _ = file:change_mode(File, 8#600),
            {ok, #state{file = Fd,
                        scope = inviso_otp:scope_open(inviso_meta, self()),
                        publ = #{pending => #{}, names => #{}}}};
        {error, Reason} ->
            %% The answer to a mistake, not a crash to be reported.
            {stop, {shutdown, {open, [File, Reason]}}}
    end.

%% @private
handle_call(local_register, _From, State) ->
    {R1, State1} = add(?REGISTER, [{'_', [], [{exception_trace}]}],
                       fun on_register/3, State),
    {R2, State2} = add(?UNREGISTER, [], fun on_unregister/3, State1),
    %% After the pattern is set, so that no name falls between.
    State3 = case R1 of
                 {ok, 1} -> note_names(State2);
                 _ -> State2
             end,
    {reply, {R1, R2}, State3};
handle_call(remove_local_register, _From, State) ->
    {R1, State1} = remove(?REGISTER, State),
    {R2, State2} = remove(?UNREGISTER, State1),
    {reply, {R1, R2}, State2};
handle_call(suspend, _From, #state{scope = Scope} = State) ->
    Patterns = State#state.patterns,
    _ = [inviso_otp:set_pattern(Scope, meta, MFA, false, Patterns)
         || {meta, MFA, _} <- Patterns],
    {reply, ok, State#state{handlers = #{}, patterns = [],
                            publ = #{pending => #{}, names => #{}}}};
handle_call(patterns, _From, State) ->
    {reply, State#state.patterns, State}.

%% @private
handle_cast(_, State) ->
    {noreply, State}.

%% @private
handle_info({trace_ts, Pid, call, {M, F, Args}, TS}, State) ->
    checked({M, F, length(Args)}, Pid, {call, Args, TS}, State);
handle_info({trace_ts, Pid, call, {M, F, Args}, _Result, TS}, State) ->
    checked({M, F, length(Args)}, Pid, {call, Args, TS}, State);
handle_info({trace_ts, Pid, return_from, MFA, Value, TS}, State) ->
    checked(MFA, Pid, {return_from, Value, TS}, State);
handle_info({trace_ts, Pid, exception_from, MFA, Value, TS}, State) ->
    checked(MFA, Pid, {exception_from, Value, TS}, State);
handle_info({'EXIT', _Parent, Reason}, State) ->
    {stop, Reason, State};
handle_info(_, State) ->
    {noreply, State}.

%% @private
terminate(_Reason, #state{scope = Scope, patterns = Patterns, file = Fd}) ->
    inviso_otp:scope_close(Scope, Patterns),
    _ = file:close(Fd),
    ok.

%% --- functions that are meta traced -----------------------------------------

add(MFA, MS, Handler, State) ->
    #state{scope = Scope, handlers = Handlers, patterns = Patterns} = State,
    case is_map_key(MFA, Handlers) of
        true ->
            {{error, already_initiated}, State};
        false ->
            case inviso_otp:set_pattern(Scope, meta, MFA, MS, Patterns) of
                {ok, 1} ->
                    {{ok, 1},
                     State#state{handlers = Handlers#{MFA => Handler},
                                 patterns = [{meta, MFA, MS} | Patterns]}};
                {ok, 0} ->
                    {{ok, 0}, State};
                {error, badarg} ->
                    {{ok, 0}, State};
                {error, _} = E ->
                    {E, State}
            end
    end.

remove(MFA, State) ->
    #state{scope = Scope, handlers = Handlers, patterns = Patterns} = State,
    case is_map_key(MFA, Handlers) of
        true ->
            _ = inviso_otp:set_pattern(Scope, meta, MFA, false, Patterns),
            {ok, State#state{handlers = maps:remove(MFA, Handlers),
                             patterns = lists:keydelete(MFA, 2, Patterns)}};
        false ->
            {{error, bad_mfa}, State}
    end.

checked(MFA, Pid, Event, State) ->
    {message_queue_len, Len} = process_info(self(), message_queue_len),
    case Len > ?MAX_QUEUE andalso not State#state.overloaded of
        true -> handle(MFA, Pid, Event, overload(State));
        false -> handle(MFA, Pid, Event, State)
    end.

overload(#state{scope = Scope, patterns = Patterns} = State) ->
    _ = [inviso_otp:set_pattern(Scope, meta, MFA, false, Patterns)
         || {meta, MFA, _} <- Patterns],
    logger:warning("inviso: more than ~b meta trace messages wait; "
                   "meta tracing is off, names of processes are no longer "
                   "recorded", [?MAX_QUEUE]),
    State#state{patterns = [], overloaded = true}.

handle(MFA, Pid, Event, #state{handlers = Handlers, publ = Publ} = State) ->
    case Handlers of
        #{MFA := Handler} ->
            {Publ1, Output} = Handler(Pid, Event, Publ),
            write(Output, State#state{publ = Publ1});
        #{} ->
            {noreply, State}
    end.

%% A disk that is full costs the record, not the trace.
write([], State) ->
    {noreply, State};
write(Terms, #state{file = Fd} = State) ->
    _ = [file:write(Fd, record(T)) || T <- Terms],
    {noreply, State}.

record(Term) ->
    Bin = term_to_binary(Term),
    [<<0, (byte_size(Bin)):32>>, Bin].

%% --- names of processes -----------------------------------------------------

note_names(#state{publ = Publ} = State) ->
    Now = erlang:timestamp(),
    Names = [{Name, Pid} || Name <- registered(),
                            Pid <- [whereis(Name)], is_pid(Pid)],
    Records = [{Pid, Name, alias, Now} || {Name, Pid} <- Names],
    {noreply, State1} = write(Records, State),
    State1#state{publ = Publ#{names => maps:from_list(Names)}}.

%% The time is that of the call, but the record is written when the call has
%% returned normally.
on_register(Caller, {call, [Name, Pid], TS}, #{pending := P} = Publ)
  when is_atom(Name), is_pid(Pid) ->
    {Publ#{pending => prune(P#{Caller => {Pid, Name, TS}}, TS)}, []};
on_register(_Caller, {call, _, _}, Publ) ->
    {Publ, []};
on_register(Caller, {return_from, true, _}, #{pending := P} = Publ) ->
    case maps:take(Caller, P) of
        {{Pid, Name, TS}, P1} -> named(Pid, Name, TS, Publ#{pending => P1});
        error -> {Publ, []}
    end;
on_register(Caller, _NotRegistered, #{pending := P} = Publ) ->
    {Publ#{pending => maps:remove(Caller, P)}, []}.

%% A name may have been seen already by note_names/1, while this message waited.
named(Pid, Name, TS, #{names := Names} = Publ) ->
    case Names of
        #{Name := Pid} -> {Publ, []};
        #{} -> {Publ#{names => Names#{Name => Pid}}, [{Pid, Name, alias, TS}]}
    end.

on_unregister(_Caller, {call, [Name], TS}, #{names := Names} = Publ) ->
    {Publ#{names => maps:remove(Name, Names)},
     [{undefined, Name, unalias, TS}]};
on_unregister(_Caller, _, Publ) ->
    {Publ, []}.

%% A caller that was killed within register/2 never returns. There can be as
%% many of those as schedulers at a time, so cleaning now and then is enough.
prune(Pending, _TS) when map_size(Pending) < 1000 ->
    Pending;
prune(Pending, TS) ->
    maps:filter(fun(_, {_, _, Then}) -> timer:now_diff(TS, Then) < 30000000 end,
                Pending).
