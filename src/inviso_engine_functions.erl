%% SPDX-License-Identifier: Apache-2.0
%% @doc Which sessions have set what on which functions.
%%
%% What a session sets is remembered, and is in the VM only while it can matter:
%% a global or local pattern needs a process of that session with flag `call',
%% so most patterns of sessions that wait for something cost nothing and are in
%% nobody's way. What the VM has on a function is composed of what all sessions
%% that matter have set there.
-module(inviso_engine_functions).

-export([new/0, look/1, look/2, set/5, enabled/3, activate/3,
         foreign/3, forget/2, info/4,
         sessions/2]).

-export_type([functions/0]).

-import(inviso_engine_entry, [edit/3, keep/4, is_global/1, counts/2]).

-type slot() :: inviso_engine:slot().
-type meta() :: inviso_engine_entry:meta().
-type mfa_spec() :: {module() | '_', atom(), integer() | '_'} | on_load.
-type entry() :: inviso_engine_entry:entry().
-type sessions() :: [{slot(), entry()}].
-type state() :: inviso_engine_breakpoints:state().
-type fa() :: inviso_engine_breakpoints:fa().
-type version() :: binary() | none.
-type reason() :: badarg | system_limit | {not_supported, term()} |
                  {already_traced, term()}.

-record(functions,
        {modules = #{} :: #{module() =>
                                {version(), #{fa() => {sessions(), state()}}}},
         %% Sessions some process of which has flag `call', or may get it from
         %% a match spec.
         calling = [] :: [slot()],
         enabling = [] :: [slot()],
         %% Those whose match specs change flags of a process in the call, or
         %% tell its end alone.
         changing = [] :: [slot()],
         %% Those with flags `return_to' and `silent'; whether it takes callers
         %% to tell whose an event return_to is.
         returning = [] :: [slot()],
         %% Those whose calls the VM tells a tracer module itself.
         foreign = [] :: [slot()],
         silent = [] :: [slot()],
         callers = false :: boolean(),
         %% Of what the VM cannot do for them they have been told.
         warned = [] :: [{slot(), global | counters}],
         on_load = {[], #{}} :: {sessions(), state()},
         %% While there is something for modules that are loaded: those that
         %% have got it, or were there before.
         seen = #{} :: #{module() => version()}}).

-opaque functions() :: #functions{}.

%% @doc Nothing is set.
-spec new() -> functions().
new() ->
    #functions{}.

%% @doc Sets or clears what a session has on functions. How many functions.
-spec set(slot(), mfa_spec(), inviso_engine_entry:action(), meta(),
          functions()) ->
          {ok, non_neg_integer(), functions()} | {error, reason()}.
set(Slot, Spec, {How, Kinds, MS} = Asked, Meta, F0) ->
    F = able(Slot, Asked, F0),
    Action = {How, Kinds, {MS, Meta}},
    Done = case Spec of
               on_load -> set_on_load(Slot, Action, F);
               _ -> set_on_loaded(Slot, Spec, Action, F)
           end,
    case Done of
        {ok, N, New} when F =/= F0 -> {ok, N, able_now(Slot, F0, New)};
        _ -> Done
    end.

%% What a match spec may do, which is of no matter unless it is accepted.
able(Slot, {on, _, MS}, #functions{enabling = Enabling,
                                   changing = Changing} = F) ->
    Changes = inviso_engine_spec:changes_flags(MS)
        orelse inviso_engine_spec:withholds(MS)
        orelse lists:member(Slot, Changing),
    Enables = inviso_engine_spec:enables_calls(MS)
        orelse lists:member(Slot, Enabling),
    F#functions{enabling = member(Slot, Enables, Enabling),
                changing = member(Slot, Changes, Changing)};
able(_, _, F) ->
    F.

able_now(_Slot, #functions{enabling = Same}, #functions{enabling = Same} = F) ->
    tell_apart(F);
able_now(Slot, _, F) ->
    active(Slot, tell_apart(F)).

%% @doc A session has a match spec for messages, which may begin the tracing of
%% calls.
-spec enabled(slot(), inviso_engine_spec:match_spec() | false, functions()) ->
          functions().
enabled(_, false, F) ->
    F;
enabled(Slot, MS, #functions{enabling = Enabling} = F) ->
    case inviso_engine_spec:enables_calls(MS)
        andalso not lists:member(Slot, Enabling) of
        true ->
            New = F#functions{enabling = member(Slot, true, Enabling)},
            active(Slot, tell_apart(New));
        false ->
            F
    end.

%% Whether what the session has set matters has changed.
active(Slot, #functions{modules = Modules} = F0) ->
    Changes = [{M, FA, Old, Sessions}
               || {M, {_, Fs}} <- maps:to_list(Modules),
                  {FA, {Sessions, Old}} <- maps:to_list(Fs),
                  lists:keymember(Slot, 1, Sessions)],
    F = carry_on(Changes, F0),
    {OnLoad, _} = F#functions.on_load,
    case set_on_load_to(OnLoad, F) of
        {ok, New} ->
            New;
        {error, Reason} ->
            warn("modules that are loaded are not traced: ~0p", [Reason]),
            F
    end.

%% @doc Whether the session has processes with flags `call', `return_to' and
%% `silent', now.
-spec activate(slot(), {boolean(), boolean(), boolean()}, functions()) ->
          functions().
activate(Slot, {Calls, Returns, Silent} = Has, F) ->
    case {lists:member(Slot, F#functions.calling),
          lists:member(Slot, F#functions.returning),
          lists:member(Slot, F#functions.silent)} of
        {Calls, Returns, Silent} -> F;
        _ -> activated(Slot, Has, look(F))
    end.

activated(Slot, {Calls, Returns, Silent}, F0) ->
    F = F0#functions{
          returning = member(Slot, Returns, F0#functions.returning),
          silent = member(Slot, Silent, F0#functions.silent)},
    case F#functions{calling = member(Slot, Calls, F#functions.calling)} of
        F -> tell_apart(F);
        New -> active(Slot, New)
    end.

%% @doc Whether the VM tells the session's calls to a tracer module itself: then
%% it has the session's own patterns.
-spec foreign(slot(), boolean(), functions()) -> functions().
foreign(Slot, Is, #functions{foreign = Old} = F0) ->
    case member(Slot, Is, Old) of
        Old -> F0;
        New -> active(Slot, F0#functions{foreign = New})
    end.

member(Slot, true, Slots) -> lists:usort([Slot | Slots]);
member(Slot, false, Slots) -> Slots -- [Slot].

%% @doc Clears all that a session has set.
-spec forget(slot(), functions()) -> functions().
forget(Slot, F0) ->
    F1 = F0#functions{calling = F0#functions.calling -- [Slot],
                      enabling = F0#functions.enabling -- [Slot],
                      changing = F0#functions.changing -- [Slot],
                      returning = F0#functions.returning -- [Slot],
                      foreign = F0#functions.foreign -- [Slot],
                      silent = F0#functions.silent -- [Slot],
                      warned = [W || {S, _} = W <- F0#functions.warned,
                                     S =/= Slot]},
    {OnLoad, _} = F1#functions.on_load,
    F = case set_on_load_to(lists:keydelete(Slot, 1, OnLoad), F1) of
            {ok, F2} -> since(F1, F2);
            {error, _} -> F1
        end,
    carry_on([{M, FA, Old, lists:keydelete(Slot, 1, Sessions)}
              || {M, {_, Fs}} <- maps:to_list(F#functions.modules),
                 {FA, {Sessions, Old}} <- maps:to_list(Fs),
                 lists:keymember(Slot, 1, Sessions)], F).

%% What was loaded before the VM was told has what it had for such.
since(#functions{on_load = Same}, #functions{on_load = Same} = F) ->
    F;
since(#functions{on_load = Old, seen = Seen}, #functions{on_load = New} = F0) ->
    F = look(F0#functions{on_load = Old, seen = Seen}),
    watch(F#functions{on_load = New}).

%% Whose an event return_to is, is not certain where several sessions trace
%% local calls, or where calls of a silent process are not told.
tell_apart(#functions{modules = Modules, enabling = Enabling,
                      changing = Changing, callers = Old} = F0) ->
    Calls = lists:usort(
              [{Slot, Kind}
               || {_, {_, Fs}} <- maps:to_list(Modules),
                  {Sessions, #{call := {local, _}}} <- maps:values(Fs),
                  {Slot, #{call := {Kind, _}}} <- Sessions,
                  is_active(Slot, F0)]),
    Local = [Slot || {Slot, local} <- Calls],
    Callers = (length(Calls) > 1
               orelse F0#functions.silent ++ Enabling ++ Changing =/= [])
        andalso F0#functions.returning ++ Enabling =/= [],
    ok = inviso_engine:calls(lists:sum([1 bsl Slot || Slot <- Local]),
                             Callers),
    case Callers of
        Old ->
            F0;
        _ ->
            F = F0#functions{callers = Callers},
            carry_on([{M, FA, State, Sessions}
                      || {M, {_, Fs}} <- maps:to_list(Modules),
                         {FA, {Sessions, #{call := {local, _}} = State}}
                             <- maps:to_list(Fs)], F)
    end.

%%---------------------------------------------------------------------------
%% Functions that are there.

set_on_loaded(Slot, Spec, {_, Kinds, _} = Action, F) ->
    Found = inviso_engine_breakpoints:matching(Spec),
    case plan(Found, Slot, Action, {F, #{}, []}) of
        {error, _} = E ->
            E;
        {ok, Changes} ->
            case exchange(Changes, F) of
                {ok, New} -> {ok, count(Found, Kinds), New};
                {error, _} = E -> E
            end
    end.

%% How many functions that is.
count(Found, Kinds) ->
    length([x || {_, Marked} <- Found, {_, Exported} <- Marked,
                 Exported orelse Kinds =/= global]).

plan([{M, Marked} | Rest], Slot, Action, {F, Cache0, Acc0}) ->
    case plan(Marked, M, Slot, Action, {F, Cache0, Acc0}) of
        {error, _} = E -> E;
        {Cache, Acc} -> plan(Rest, Slot, Action, {F, Cache, Acc})
    end;
plan([], _, _, {_, _, Acc}) ->
    {ok, Acc}.

plan([{{Name, A} = FA, Exported} | Rest], M, Slot, Action, {F, Cache, Acc}) ->
    MFA = {M, Name, A},
    {Sessions0, Old} = Known = found(MFA, F),
    Entry0 = entry(Slot, Sessions0),
    Rests = rests(Known),
    case edit(Entry0, Action, {Exported, MFA, Old}) of
        Entry0 when not Rests ->
            plan(Rest, M, Slot, Action, {F, Cache, Acc});
        Entry ->
            Sessions = with(Slot, Entry, Sessions0),
            case allowed(MFA, Old, Sessions, Slot, {F, Cache}) of
                {error, _} when Entry =:= Entry0 ->
                    plan(Rest, M, Slot, Action, {F, Cache, Acc});
                {error, _} = E ->
                    E;
                {_, New, NewCache} ->
                    Change = {M, FA, Old, New, keep(MFA, Old, New, Sessions)},
                    plan(Rest, M, Slot, Action, {F, NewCache, [Change | Acc]})
            end
    end;
plan([], _, _, _, {_, Cache, Acc}) ->
    {Cache, Acc}.

%% What is refused is refused now, even if it does not matter yet.
allowed(MFA, Old, Sessions, Slot, {F, Cache0}) ->
    Active = F#functions{calling = [Slot | F#functions.calling]},
    case fit(MFA, Old, Sessions, {Slot, Active, Cache0}) of
        {error, _} = E -> E;
        {_, _, Cache} -> fit(MFA, Old, Sessions, {Slot, F, Cache})
    end.

%% What the VM can have beside what somebody else traces: for all sessions, or
%% without what others than this one have not had either.
fit(MFA, Old, Sessions, {Slot, F, Cache0}) ->
    case state(MFA, Sessions, F, Cache0) of
        {error, _} = E ->
            E;
        {State, Cache} ->
            case inviso_engine_breakpoints:beside(MFA, Old, State) of
                {ok, New} -> {all, New, Cache};
                taken -> fit_less(MFA, Old, Sessions, {Slot, F, Cache})
            end
    end.

fit_less(MFA, Old, Sessions, {Slot, _, _} = About) ->
    Had = maps:keys(Old),
    case [{S, case S of
                  Slot -> E;
                  _ -> maps:with(Had, E)
              end} || {S, E} <- Sessions] of
        Sessions ->
            {error, {already_traced, MFA}};
        Less ->
            case fit(MFA, Old, Less, About) of
                {_, New, Cache} -> {less, New, Cache};
                {error, _} = E -> E
            end
    end.

%% The VM is told, then it is written down; if it refuses, nothing has changed.
exchange(Changes, F) ->
    ToDo = [{M, FA, Old, New} || {M, FA, Old, New, _} <- Changes, Old =/= New],
    Noted = [{M, FA, inviso_engine:plain(M, Name, A, wanting(Sessions, F))}
             || {M, {Name, A} = FA, _, New, Sessions} <- Changes,
                is_plain(New)],
    Counted = inviso_engine_counted:expect([{{M, Name, A}, Old, New}
                                            || {M, {Name, A}, Old, New, _}
                                                   <- Changes]),
    case inviso_engine_breakpoints:exchange(ToDo) of
        ok ->
            ok = inviso_engine_counted:met(Counted),
            _ = [inviso_engine:plain(M, Name, A, none)
                 || {M, {Name, A}, Old, New} <- ToDo,
                    is_plain(Old), not is_plain(New)],
            {ok, tell_apart(lists:foldl(fun remember/2, warn_all(Changes, F),
                                        Changes))};
        {error, _} = E ->
            ok = inviso_engine_counted:undo(Counted),
            _ = [inviso_engine:plain(M, Name, A, Before)
                 || {M, {Name, A}, Before} <- Noted],
            E
    end.

is_plain(#{call := {_, []}}) -> true;
is_plain(_) -> false.

%% The VM calls the tracers of others itself.
wanting(Sessions, #functions{foreign = Foreign} = F) ->
    lists:sum([1 bsl Slot || {Slot, #{call := _}} <- Sessions,
                             is_active(Slot, F),
                             not lists:member(Slot, Foreign)]).

remember({M, FA, _, New, Sessions}, #functions{modules = Modules} = F) ->
    {Version, Fs0} = case Modules of
                         #{M := Known} -> Known;
                         _ -> {inviso_engine_breakpoints:version(M), #{}}
                     end,
    Fs = case Sessions of
             [] -> maps:remove(FA, Fs0);
             _ -> Fs0#{FA => {Sessions, New}}
         end,
    F#functions{modules = case map_size(Fs) of
                              0 -> maps:remove(M, Modules);
                              _ -> Modules#{M => {Version, Fs}}
                          end}.

%% What is known of a function whose code is still the same.
found(MFA, F) ->
    still(MFA, known(MFA, F)).

known({M, F, A}, #functions{modules = Modules}) ->
    case Modules of
        #{M := {_, #{{F, A} := Known}}} -> Known;
        _ -> {[], #{}}
    end.

%% What the VM has forgotten with the code is over, and so is what somebody else
%% has replaced. But counters rest beside what he traces globally.
still({M, F, A} = MFA, {Sessions, State} = Known) ->
    case inviso_engine_breakpoints:has(MFA, State) of
        true ->
            Known;
        false ->
            _ = is_plain(State) andalso inviso_engine:plain(M, F, A, none),
            Left = inviso_engine_breakpoints:left(MFA, State),
            ok = inviso_engine_counted:set(MFA, Left),
            Kinds = case inviso_engine_breakpoints:is_taken(MFA, Left) of
                        true -> inviso_engine_counters:kinds();
                        false -> maps:keys(Left)
                    end,
            {[{Slot, Entry} || {Slot, E} <- keep(MFA, State, Left, Sessions),
                               Entry <- [maps:with(Kinds, E)],
                               map_size(Entry) > 0], Left}
    end.

is_counted(State) ->
    lists:any(fun(Kind) -> is_map_key(Kind, State) end,
              inviso_engine_counters:kinds()).

%% Whether a counter of a session does not count.
rests({Sessions, State}) ->
    lists:any(fun(Kind) ->
                      not is_map_key(Kind, State)
                          andalso lists:any(fun({_, E}) -> counts(Kind, E) end,
                                            Sessions)
              end, inviso_engine_counters:kinds()).

entry(Slot, Sessions) ->
    case lists:keyfind(Slot, 1, Sessions) of
        {_, Entry} -> Entry;
        false -> #{}
    end.

with(Slot, Entry, Sessions) when map_size(Entry) =:= 0 ->
    lists:keydelete(Slot, 1, Sessions);
with(Slot, Entry, Sessions) ->
    lists:ukeysort(1, [{Slot, Entry} | lists:keydelete(Slot, 1, Sessions)]).

%% Functions have other sessions, or sessions that matter now. What cannot be
%% done, since somebody else traces the function or the match specs are too many
%% together, is left out and said.
carry_on(Changes, F) ->
    {_, Doable} = lists:foldl(fun(Change, Acc) -> doable(Change, F, Acc) end,
                              {#{}, []}, Changes),
    case exchange(Doable, F) of
        {ok, New} -> New;
        {error, _} -> lists:foldl(fun carry_on_alone/2, F, Doable)
    end.

%% What the VM refuses it does not have, and who has gone has nothing there.
carry_on_alone({M, {Name, A} = FA, Old, _, Sessions} = Change, F) ->
    case exchange([Change], F) of
        {ok, New} ->
            New;
        {error, Reason} ->
            not_traced({M, Name, A}, Reason),
            remember({M, FA, Old, Old, Sessions}, F)
    end.

doable({M, {Name, A} = FA, Old0, Sessions}, F, {Cache, Acc}) ->
    MFA = {M, Name, A},
    {Left, Old} = still(MFA, {Sessions, Old0}),
    case fit(MFA, Old, Left, {none, F, Cache}) of
        {error, Reason} ->
            not_traced(MFA, Reason),
            {Cache, [{M, FA, Old, Old, Left} | Acc]};
        {All, New, NewCache} ->
            _ = All =:= less andalso not_traced(MFA, {already_traced, MFA}),
            {NewCache, [{M, FA, Old, New, keep(MFA, Old, New, Left)} | Acc]}
    end.

not_traced({M, F, A}, {already_traced, _}) ->
    warn("~p:~p/~p is not traced: somebody else traces it", [M, F, A]);
not_traced({M, F, A}, Reason) ->
    warn("~p:~p/~p is not traced: ~0p", [M, F, A, Reason]).

%% Once for each session.
warn_all(Changes, #functions{warned = Warned} = F) ->
    New = lists:usort(
            [W || {_, _, _, State, Sessions} <- Changes,
                  {Slot, E} <- Sessions,
                  W <- disturbed(State, {Slot, E}, F)]) -- Warned,
    _ = [warn_once(W) || W <- New],
    F#functions{warned = New ++ Warned}.

disturbed(#{call := {local, _}}, {Slot, #{call := {global, _}}}, F) ->
    [{Slot, global} || is_active(Slot, F)];
disturbed(State, {Slot, _} = Session, _F) ->
    [{Slot, counters} || rests({[Session], State})].

warn_once({_, global}) ->
    warn("a function that is traced globally is traced otherwise in another "
         "session: its local calls are told, too", []);
warn_once({_, counters}) ->
    warn("a function that is counted is traced globally by another session, or "
         "by somebody else: it is not counted meanwhile", []).

warn(Format, Args) ->
    logger:warning("trace sessions: " ++ Format, Args).

%%---------------------------------------------------------------------------
%% What the VM is to have for all sessions.

is_active(Slot, #functions{calling = C, enabling = E}) ->
    lists:member(Slot, C) orelse lists:member(Slot, E).

state(Where, Sessions, #functions{calling = C, enabling = E} = F, Cache) ->
    inviso_engine_compose:state(Where, Sessions,
                                {C ++ E, F#functions.foreign,
                                 F#functions.callers}, Cache).

%%---------------------------------------------------------------------------
%% Functions that will be.

set_on_load(Slot, Action, #functions{on_load = {Sessions, State}} = F) ->
    case inviso_engine_breakpoints:is_foreign_on_load(State) of
        true ->
            {error, {already_traced, on_load}};
        false ->
            Entry = edit(entry(Slot, Sessions), Action, {true, on_load, State}),
            case set_on_load_to(with(Slot, Entry, Sessions), F) of
                {ok, New} -> {ok, 0, New};
                {error, _} = E -> E
            end
    end.

set_on_load_to(Sessions, #functions{on_load = {_, Old}} = F) ->
    case state(on_load, Sessions, F, #{}) of
        {error, _} = E ->
            E;
        {New, _} ->
            _ = is_counted(New) andalso not is_counted(Old) andalso
                inviso_engine_counted:see(inviso_engine_breakpoints:loaded()),
            Counted = inviso_engine_counted:expect([{on_load, Old, New}]),
            case inviso_engine_breakpoints:exchange_on_load(Old, New) of
                ok ->
                    ok = inviso_engine_counted:met(Counted),
                    {ok, watch(F#functions{on_load = {Sessions, New}})};
                {error, _} = E ->
                    ok = inviso_engine_counted:undo(Counted),
                    E
            end
    end.

watch(#functions{on_load = {[], _}} = F) ->
    F#functions{seen = #{}};
watch(#functions{seen = Seen} = F) when map_size(Seen) > 0 ->
    F;
watch(F) ->
    F#functions{seen = versions()}.

versions() ->
    maps:from_list([{M, inviso_engine_breakpoints:version(M)}
                    || M <- inviso_engine_breakpoints:loaded()]).

%% @doc Before anything else: what has been loaded since has lost what was set,
%% and has what the VM gives to modules that it loads.
-spec look(functions()) -> functions().
look(#functions{modules = Modules, on_load = {OnLoad, State}} = F0) ->
    Gone = [M || {M, {Version, _}} <- maps:to_list(Modules),
                 inviso_engine_breakpoints:version(M) =/= Version],
    F = lists:foldl(fun gone/2, F0, Gone),
    case OnLoad of
        [] ->
            F;
        _ ->
            Now = versions(),
            New = [M || {M, Version} <- maps:to_list(Now),
                        maps:get(M, F#functions.seen, none) =/= Version
                            orelse is_anew(M, F)],
            Told = lists:foldl(fun loaded/2, F#functions{seen = Now}, New),
            _ = is_counted(State) andalso inviso_engine_counted:see(New),
            Told
    end.

%% Code that had what is known of the module.
gone(M, #functions{modules = Modules} = F) ->
    case Modules of
        #{M := {_, Fs}} ->
            _ = [begin
                     _ = inviso_engine:plain(M, Name, A, none),
                     inviso_engine_counted:set({M, Name, A}, #{})
                 end || {Name, A} <- maps:keys(Fs)],
            F#functions{modules = maps:remove(M, Modules)};
        _ ->
            F
    end.

%% The same code, but it has what the VM gives to modules that it loads.
is_anew(_M, #functions{on_load = {_, State}}) when map_size(State) =:= 0 ->
    false;
is_anew(M, #functions{modules = Modules, on_load = {_, State}}) ->
    Known = case Modules of
                #{M := {_, #{{module_info, 0} := {_, S}}}} -> S;
                _ -> #{}
            end,
    MFA = {M, module_info, 0},
    %% A session may have set more there since.
    Known =/= State
        andalso inviso_engine_breakpoints:is(MFA, State)
        andalso not (maps:with(maps:keys(State), Known) =:= State
                     andalso inviso_engine_breakpoints:is(MFA, Known)).

loaded(M, #functions{on_load = {OnLoad, State}} = F0) ->
    F = gone(M, F0),
    Changes = [{M, FA, in_vm(State, Exported), Sessions}
               || {FA, Exported} <- inviso_engine_breakpoints:marked(M),
                  Sessions <- [on_loaded(OnLoad, Exported, {M, FA})],
                  Sessions =/= []],
    carry_on(Changes, F).

in_vm(#{call := {global, _}}, false) -> #{};
in_vm(State, _) -> State.

on_loaded(OnLoad, Exported, Where) ->
    [{Slot, begun(Entry, Where)} || {Slot, Entry} <- OnLoad,
                                    Exported orelse not is_global(Entry)].

begun(Entry, {M, {F, A}}) ->
    maps:map(fun(Kind, true) ->
                     inviso_engine_counters:start(Kind, {{M, F, A}, false});
                (_, Value) ->
                     Value
             end, Entry).

%% @doc Before a function's counters are told: those that have rested count
%% again if nobody else traces it globally any more.
-spec look(term(), functions()) -> functions().
look({M, Name, A} = MFA, F) ->
    {Sessions, Old} = Known = known(MFA, F),
    {_, Left} = Still = still(MFA, Known),
    case Still =/= Known orelse
        rests(Still) andalso
        not inviso_engine_breakpoints:is_taken(MFA, Left) of
        true -> carry_on([{M, {Name, A}, Old, Sessions}], F);
        false -> F
    end;
look(_, F) ->
    F.

%%---------------------------------------------------------------------------
%% What sessions are told.

%% @doc An item of trace:info/3; the last but one tests for processes with flag
%% `call' in the session.
-spec info(slot(), {mfa() | on_load, term()}, fun((pid()) -> boolean()),
           functions()) ->
          {atom(), term()} | badarg.
info(Slot, {What, Item}, Wanted, F) ->
    about(What, Item, Slot, Wanted, F).

about(on_load, Item, Slot, _, #functions{on_load = {Sessions, _}}) ->
    case entry(Slot, Sessions) of
        E when map_size(E) =:= 0 -> {Item, false};
        E -> inviso_engine_entry:info(Item, E, on_load)
    end;
about({M, Name, A} = MFA, Item, Slot, Wanted, F) ->
    case lists:member({Name, A}, inviso_engine_breakpoints:functions(M)) of
        false ->
            {Item, undefined};
        true ->
            {Sessions, State} = found(MFA, F),
            case entry(Slot, Sessions) of
                E when map_size(E) =:= 0 ->
                    {Item, false};
                E ->
                    inviso_engine_entry:info(Item, E, {Wanted, MFA, State})
            end
    end.

%% @doc The sessions that have set something on a function; `undefined': there
%% is no such function.
-spec sessions(mfa() | on_load, functions()) -> undefined | [slot()].
sessions(on_load, #functions{on_load = {Sessions, _}}) ->
    [Slot || {Slot, _} <- Sessions];
sessions({M, Name, A} = MFA, F) ->
    case lists:member({Name, A}, inviso_engine_breakpoints:functions(M)) of
        false ->
            undefined;
        true ->
            {Sessions, _} = found(MFA, F),
            [Slot || {Slot, _} <- Sessions]
    end.
