%% SPDX-License-Identifier: Apache-2.0
%% @doc The state of the meta tracer: the functions that are meta traced, with
%% their match specs and user functions; the public loop data; and the trace
%% information. {@link inviso_rt_meta} is the process that has this state and
%% handles the messages.
-module(inviso_meta_state).

-export([new/5, do/2, happened/4, within/1, tracer/1, names/2, publ/1,
         suspend/1, finish/1, clean/1, write/2, written/2, ti/1, tell/2]).

%% The key of the state in the process dictionary, while a user function runs.
-define(STATE, '$inviso_meta').

-export_type([state/0, request/0, functions/0, spec/0]).

-type callback() :: inviso_meta_callback:callback().
-type functions() :: {callback(), callback(), callback(), callback()}.
-type arg() :: term().
-type request() ::
        {init_tpm, {arg(), arg(), arg()}, functions()}
      | {tpm, {arg(), arg(), arg()}, arg(), keep | functions()}
      | {tpm_ms, {arg(), arg(), arg()}, arg(), arg()}
      | {ctpm_ms, {arg(), arg(), arg()}, arg()}
      | {ctpm, {arg(), arg(), arg()}}
      | local_register | remove_local_register
      | global_register | remove_global_register.
%% The three functions that make, remove and clean the public loop data.
-type spec() :: {{module(), atom(), [term()]},
                 void | {module(), atom()}, void | {module(), atom()}}.
-type event() :: {call, [term()], erlang:timestamp() | void}
               | {return_from | exception_from, term(),
                  erlang:timestamp() | void}.

%% A meta traced function. The head of `specs' is the latest match spec.
%% `builtin' is true for the functions that inviso itself traces to record names
%% (inviso_meta_names).
-record(fn, {functions :: functions(),
             specs = [] :: [{unnamed | {named, term()}, [tuple()]}],
             builtin = false :: boolean()}).

-record(state, {starter :: pid(),
                ti :: inviso_ti:ti(),
                ti_failed = false :: boolean(),
                scope :: inviso_scope:scope(),
                %% the scope of the runtime component
                flags :: inviso_scope:scope(),
                functions = #{} :: #{mfa() => #fn{}},
                spec :: spec(),
                publ = void :: term(),
                %% separate loop data for inviso_meta_names, used if the public
                %% loop data does not have the standard form
                names = void :: term(),
                %% the failures that were reported; each failure is reported only
                %% once
                failed = #{} :: #{term() => true}}).

-opaque state() :: #state{}.

%% @doc Makes the public loop data, and returns a new state. The meta tracer
%% reports events to the process `Starter'.
-spec new(pid(), inviso_ti:ti(), inviso_scope:scope(), inviso_scope:scope(),
          spec()) -> state().
new(Starter, Ti, Scope, Flags, Spec) ->
    init_publ(#state{starter = Starter, ti = Ti, scope = Scope, flags = Flags,
                     spec = Spec}).

%% @doc Returns the tracer of the runtime component.
-spec tracer(state()) -> inviso_scope:tracer().
tracer(#state{flags = Flags}) -> inviso_scope:tracer(Flags).

%% @doc Returns the public loop data.
-spec publ(state()) -> term().
publ(#state{publ = Publ}) -> Publ.

%% @doc Returns the destination of trace information: a ti file or another node.
-spec ti(state()) -> inviso_ti:ti().
ti(#state{ti = Ti}) -> Ti.

%% @doc Returns the names of a function's match specs. The latest match spec is
%% the first.
-spec names(mfa(), state()) -> {ok, [term()]} | {error, not_initiated}.
names(MFA, #state{functions = Fns}) ->
    case Fns of
        #{MFA := #fn{specs = Specs}} ->
            {ok, [Name || {{named, Name}, _} <- Specs]};
        #{} ->
            {error, not_initiated}
    end.

%% @doc Applies F to the state in the process dictionary, and stores the new state
%% there. The API functions that a user function may call use this, because the
%% state is in the process dictionary while a user function runs.
-spec within(fun((state()) -> {Result, state()})) -> Result.
within(F) ->
    case get(?STATE) of
        #state{} = State ->
            {Result, State1} = F(State),
            _ = put(?STATE, State1),
            Result;
        undefined ->
            error(not_in_the_meta_tracer)
    end.

%% @doc Sends an event to the runtime component, which passes it on to the
%% subscribers.
-spec tell(tuple(), state()) -> state().
tell(Event, #state{starter = Starter} = State) ->
    Starter ! {inviso_rt_meta, self(), {event, Event}},
    State.

%% @doc Ends all meta tracing, and makes new loop data.
-spec suspend(state()) -> state().
suspend(State) -> init_publ(finish(State)).

%% @doc Ends all meta tracing, and removes the loop data.
-spec finish(state()) -> state().
finish(State) -> remove_publ(remove_all(State)).

%% --- functions that are meta traced -----------------------------------------

%% @doc Handles a request.
-spec do(request(), state()) -> {term(), state()}.
do({init_tpm, MFA, Functions}, State) ->
    case is_mfa(MFA) of
        true -> init_fn(MFA, Functions, State);
        false -> {{error, bad_mfa}, State}
    end;
do({tpm, MFA, MS, Functions}, State) ->
    case {is_mfa(MFA), Functions, is_known(MFA, State)} of
        {false, _, _} -> {{error, badarg}, State};
        {_, keep, false} -> {{error, not_initiated}, State};
        {_, keep, true} -> add_spec(MFA, unnamed, MS, State);
        _ -> begin_fn(MFA, MS, Functions, State)
    end;
do({tpm_ms, MFA, Name, MS}, State) ->
    case is_known(MFA, State) of
        true -> add_spec(MFA, {named, Name}, MS, State);
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

%% Prepares a function and sets its match spec. If the match spec cannot be set,
%% removes the function again.
begin_fn(MFA, MS, Functions, State) ->
    case init_fn(MFA, Functions, State) of
        {ok, State1} ->
            case add_spec(MFA, unnamed, MS, State1) of
                {{ok, 1}, _} = Done -> Done;
                {Not, State2} -> {Not, remove_fn(MFA, State2)}
            end;
        Error ->
            Error
    end.

add_spec({M, _, _} = MFA, Name, MS, #state{functions = Fns} = State) ->
    #{MFA := #fn{specs = Specs} = Fn} = Fns,
    case inviso_meta_spec:normal(MS) of
        {ok, Clauses} ->
            New = [{Name, Clauses} | lists:keydelete(Name, 1, Specs)],
            _ = code:ensure_loaded(M),
            case set(MFA, New, State) of
                {ok, N} when N > 0 ->
                    {{ok, N}, changed(MFA, Fn#fn{specs = New}, State)};
                Not ->
                    %% Sets the previous match specs again. They are in two
                    %% patterns of the function, one for events and one for
                    %% flags, and the failed attempt may have replaced one.
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

set(MFA, [], #state{scope = Scope, flags = Flags}) ->
    inviso_meta_spec:set(Scope, Flags, MFA, false);
set(MFA, Specs, #state{scope = Scope, flags = Flags}) ->
    inviso_meta_spec:set(Scope, Flags, MFA,
                         [Clause || {_, Clauses} <- Specs, Clause <- Clauses]).

changed(MFA, Fn, #state{functions = Fns} = State) ->
    State#state{functions = Fns#{MFA => Fn}}.

remove_fn({M, F, A} = MFA, #state{functions = Fns} = State) ->
    {#fn{functions = {_, _, _, Remove}, specs = Specs}, Rest} =
        maps:take(MFA, Fns),
    _ = Specs =:= [] orelse set(MFA, [], State),
    State1 = State#state{functions = Rest},
    #state{publ = Publ, failed = Failed} = State1,
    State2 = case run(meta_remove, MFA, Remove, [M, F, A, Publ], State1) of
                 {{ok, New}, S} -> S#state{publ = New};
                 {none, S} -> S;
                 {Other, S} -> bad_return(meta_remove, MFA, Other, S)
             end,
    %% Forget the function's failures, so that they are reported again if the
    %% function is prepared again.
    Told = maps:filter(fun({_, Which}, _) -> Which =/= MFA end, Failed),
    State2#state{failed = Told}.

remove_all(#state{functions = Fns} = State) ->
    lists:foldl(fun remove_fn/2, State, maps:keys(Fns)).

%% --- names of processes -----------------------------------------------------

%% Sets the patterns that record new names, and then records the current names. In
%% this order no name is missed.
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
    do({tpm, MFA, MS, Nothing}, State).

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

%% --- functions of the user --------------------------------------------------

%% @doc Handles the call or the return of a meta traced function.
-spec happened(mfa(), pid(), event(), state()) -> state().
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
            %% The pattern was removed while the message waited in the mailbox.
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

%% Runs a user function. Returns `none' if the function is `void' or crashes.
run(_What, _MFA, void, _Args, State) ->
    {none, State};
run(What, MFA, Fun, Args, State) ->
    _ = put(?STATE, State),
    Outcome = inviso_meta_callback:call(Fun, Args),
    State1 = erase(?STATE),
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

%% @doc Removes old entries from all loop data.
-spec clean(state()) -> state().
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

%% @doc Appends records to the trace information; ignores other terms.
-spec write(term(), state()) -> state().
write(Record, State) when is_binary(Record) ->
    write([Record], State);
write(Records, #state{ti = Ti} = State) when length(Records) > 0 ->
    case lists:all(fun is_binary/1, Records) of
        true -> written(inviso_ti:write(Ti, Records), State);
        false -> State
    end;
write(_None, State) ->
    State.

%% @doc Handles the result of a write. A loss of records is reported once.
-spec written({ok, inviso_ti:ti()} | {error, term(), inviso_ti:ti()},
              state()) -> state().
written({ok, Ti}, State) ->
    State#state{ti = Ti};
written({error, _, Ti}, #state{ti_failed = true} = State) ->
    State#state{ti = Ti};
written({error, Reason, Ti}, State) ->
    tell({meta_down, {ti, Reason}}, State#state{ti = Ti, ti_failed = true}).
