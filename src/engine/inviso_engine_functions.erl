%% SPDX-License-Identifier: Apache-2.0
%% @doc Stores which patterns and counters each session has set on each function,
%% and sets them in the VM.
%%
%% A session is <em>active</em> while a process has the session's flag `call', or
%% while a match spec of the session may set this flag. It is also active from the time
%% when it expects to set this flag (expect/3) until it has set it for the first time.
%% The VM has the global and local patterns of active sessions only. So the patterns of
%% other sessions cost nothing, and do not keep another tool from tracing the same
%% functions. {@link
%% inviso_engine_compose} makes one pattern for a function from the patterns of all
%% active sessions.
-module(inviso_engine_functions).

-export([new/0, look/1, look/2, set/5, enabled/3, expect/3, activate/3, attribute/2,
         forget/2, info/3, sessions/2]).

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
-type mark() :: call | return_to | silent | foreign | soon | enabling | changing
              | timing.
%% `call', `return_to', `silent': the session has this flag on at least one
%% process. `foreign': the session's calls go to a tracer module other than
%% inviso's, which the VM calls directly. `soon': the session expects to set the flag
%% `call'. `enabling': a match spec of the session
%% may set the flag `call'. `changing': a match spec of the session may change
%% flags of a process, or report the end of a call whose beginning is not
%% reported. `timing': the session has set a counter that counts for each process.

%% One call of expect/3 sets the patterns of about this many functions.
-define(FEW, 8).

%% A session with one of these marks is active.
-define(ACTIVE, [call, soon, enabling]).

-type reason() :: badarg | system_limit | {not_supported, term()} |
                  {already_traced, term()}.

-record(functions,
        {modules = #{} :: #{module() =>
                                {version(), #{fa() => {sessions(), state()}}}},
         marks = #{} :: #{slot() => [mark()]},
         %% True if the results of match specs must contain the caller
         %% (tell_apart/1).
         callers = false :: boolean(),
         warned = [] :: [{slot(), global | counters}],
         on_load = {[], #{}} :: {sessions(), state()},
         %% The loaded modules that the last call of look/1 has seen, while a session
         %% has set something for on_load. If a module is not in this map, or if the
         %% map has another version of it, the module was loaded since that call.
         seen = #{} :: #{module() => version()}}).

-opaque functions() :: #functions{}.

-spec new() -> functions().
new() ->
    #functions{}.

%% @doc Sets or clears patterns and counters of a session. Returns the number of
%% functions that match.
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

%% Notes what the session's match spec may do, and whether the session counts for each
%% process. If the request fails, the caller drops this note.
able(_, {off, _, _}, F) ->
    F;
able(Slot, {_, Kinds, MS}, F) ->
    mark(Slot, [enabling || inviso_engine_spec:enables_calls(MS)]
         ++ [changing || inviso_engine_spec:changes_flags(MS)
                             orelse inviso_engine_spec:withholds(MS)]
         ++ [timing || Kinds =/= global,
                       K <- inviso_engine_counters:by_process(),
                       lists:member(K, Kinds)], F).

able_now(Slot, Before, F) ->
    case is([enabling], Slot, F) =:= is([enabling], Slot, Before) of
        true -> tell_apart(F);
        false -> active(Slot, tell_apart(F))
    end.

mark(_Slot, [], F) ->
    F;
mark(Slot, New, #functions{marks = Marks} = F) ->
    F#functions{marks = Marks#{Slot => lists:usort(New ++ marks(Slot, F))}}.

marks(Slot, #functions{marks = Marks}) ->
    maps:get(Slot, Marks, []).

is(Marks, Slot, F) ->
    lists:any(fun(Mark) -> lists:member(Mark, Marks) end, marks(Slot, F)).

slots(Marks, #functions{marks = Known} = F) ->
    [Slot || Slot <- maps:keys(Known), is(Marks, Slot, F)].

%% @doc Notes that a session has set a match spec for messages. If the match spec
%% may set the flag `call', the session becomes active.
-spec enabled(slot(), inviso_engine_spec:match_spec() | false, functions()) ->
          functions().
enabled(_, false, F) ->
    F;
enabled(Slot, MS, F) ->
    case mark(Slot, [enabling || inviso_engine_spec:enables_calls(MS)], F) of
        F -> F;
        New -> able_now(Slot, F, New)
    end.

%% Composes the patterns of a session's functions again, after the session has
%% become active or inactive.
active(Slot, #functions{modules = Modules} = F0) ->
    Changes = [{M, FA, Old, Sessions}
               || {M, {_, Fs}} <- maps:to_list(Modules),
                  {FA, {Sessions, Old}} <- maps:to_list(Fs),
                  lists:keymember(Slot, 1, Sessions)],
    on_load_again(carry_on(Changes, F0)).

%% Composes the pattern for on_load again.
on_load_again(#functions{on_load = {OnLoad, _}} = F) ->
    case set_on_load_to(OnLoad, F) of
        {ok, New} ->
            New;
        {error, Reason} ->
            warn("modules that are loaded are not traced: ~0p", [Reason]),
            F
    end.

%% @doc Makes a session active until it has set the flag `call' for the first time.
%% After that, activate/3 decides. Sets in the VM the patterns of the next few modules
%% after the module `After'; with `first', those of the first modules. Returns the last
%% of these modules, or `done' if all patterns are set. The reason: it takes long to
%% set many patterns in the VM. If the session became active with its first flag, the
%% request for this flag would set all patterns, and other requests would wait for it.
-spec expect(slot(), first | {'after', module()}, functions()) ->
          {done | {'after', module()}, functions()}.
expect(Slot, After, #functions{modules = Modules} = F0) ->
    F = mark(Slot, [soon], F0),
    Left = [M || M <- lists:sort(maps:keys(Modules)),
                 After =:= first orelse {'after', M} > After],
    few(Left, Slot, ?FEW, F).

few([M | Left], Slot, N, #functions{modules = Modules} = F) when N > 0 ->
    %% Setting the patterns of other modules may have removed this module: the VM had
    %% lost its patterns.
    {_, Fs} = maps:get(M, Modules, {none, #{}}),
    Changes = [{M, FA, Old, Sessions}
               || {FA, {Sessions, Old}} <- maps:to_list(Fs),
                  lists:keymember(Slot, 1, Sessions)],
    New = carry_on(Changes, F),
    case Left of
        [] -> few([], Slot, N, New);
        _ when N > length(Changes) -> few(Left, Slot, N - length(Changes), New);
        _ -> {{'after', M}, New}
    end;
few([], _, _, F) ->
    {done, on_load_again(tell_apart(F))}.

%% @doc Stores `Has': those of the flags `call', `return_to' and `silent' that the
%% session has on at least one process. `Has' also contains the atom `foreign' if
%% the session's calls go to a tracer module other than inviso's. The VM calls
%% such a module directly, without the engine.
-spec activate(slot(), [call | return_to | silent | foreign], functions()) ->
          functions().
activate(Slot, Has, F0) ->
    Old = marks(Slot, F0),
    Kept = [enabling, changing, timing]
        ++ [soon || not lists:member(call, Has)],
    case lists:usort(Has ++ [M || M <- Old, lists:member(M, Kept)]) of
        Old ->
            F0;
        New ->
            #functions{marks = Marks} = F1 = look(F0),
            F = F1#functions{marks = Marks#{Slot => New}},
            case is_active(Slot, F) =:= is_active(Slot, F0)
                andalso lists:member(foreign, Old) =:= lists:member(foreign, New) of
                true -> tell_apart(F);
                false -> active(Slot, F)
            end
    end.

%% @doc Changes to which sessions the times of processes' calls are attributed.
-spec attribute([inviso_engine_times:change()], functions()) -> functions().
attribute(Changes, F) ->
    case inviso_engine_times:of_sessions(slots([timing], F), Changes) of
        Moved when map_size(Moved) =:= 0 -> F;
        Moved -> attribute_all(Moved, look(F))
    end.

attribute_all(Moved, #functions{modules = Modules} = F) ->
    Of = fun(M) ->
                 fun({Name, A}, {Sessions, State}) ->
                         {inviso_engine_entry:attribute({M, Name, A}, State,
                                                        Moved, Sessions),
                          State}
                 end
         end,
    F#functions{modules = maps:map(fun(M, {Version, Fs}) ->
                                           {Version, maps:map(Of(M), Fs)}
                                   end, Modules)}.

%% @doc Clears all patterns and counters of a session.
-spec forget(slot(), functions()) -> functions().
forget(Slot, F0) ->
    F1 = F0#functions{marks = maps:remove(Slot, F0#functions.marks),
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

%% Called after the setting for on_load has changed, with the state before and after
%% the change. Modules that were loaded since the last call of look/1, but before the
%% change, have got the old setting from the VM. So look/1 first stores the entries of
%% their functions with the old setting.
since(#functions{on_load = Same}, #functions{on_load = Same} = F) ->
    F;
since(#functions{on_load = Old, seen = Seen}, #functions{on_load = New} = F0) ->
    F = look(F0#functions{on_load = Old, seen = Seen}),
    watch(F#functions{on_load = New}).

%% Tells the NIF library which sessions trace local calls. Decides whether the results
%% of match specs must contain the caller (the function that makes the call).
%%
%% The caller is needed if it is uncertain to which session an event `return_to'
%% belongs. The session is uncertain if several sessions trace local calls, or if some
%% calls are not reported, for example the calls of a silent process.
tell_apart(#functions{modules = Modules, callers = Old} = F0) ->
    Calls = lists:usort(
              [{Slot, Kind}
               || {_, {_, Fs}} <- maps:to_list(Modules),
                  {Sessions, #{call := {local, _}}} <- maps:values(Fs),
                  {Slot, #{call := {Kind, _}}} <- Sessions,
                  is_active(Slot, F0)]),
    Local = [Slot || {Slot, local} <- Calls],
    Callers = (length(Calls) > 1
               orelse slots([silent, enabling, changing], F0) =/= [])
        andalso slots([return_to, enabling], F0) =/= [],
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
%% Functions of loaded modules.

set_on_loaded(Slot, Spec, {_, Kinds, _} = Action, F) ->
    Found = inviso_engine_breakpoints:matching(Spec),
    Plan = fun(One, Acc) -> plan(One, Slot, Action, F, Acc) end,
    try lists:foldl(Plan, {#{}, []}, [{{M, Name, A}, Exported}
                                      || {M, Marked} <- Found,
                                         {{Name, A}, Exported} <- Marked]) of
        {_, Changes} ->
            Tell = lists:any(fun(Change) -> is_about_local(Change, F) end, Changes),
            case change(Changes, F) of
                {ok, New} when Tell -> {ok, count(Found, Kinds), tell_apart(New)};
                {ok, New} -> {ok, count(Found, Kinds), New};
                {error, _} = E -> E
            end
    catch
        throw:{error, _} = E -> E
    end.

%% Returns true if the VM traces a function locally after the change, or if it did so
%% the last time that the state of the function was stored. Other changes do not
%% concern tell_apart/1. So a request for a function that the VM does not trace does
%% not look through all functions.
is_about_local({M, {Name, A}, _, New, _}, F) ->
    {_, Stored} = known({M, Name, A}, F),
    is_local(New) orelse is_local(Stored).

is_local(#{call := {local, _}}) -> true;
is_local(_) -> false.

%% Returns the number of functions that match. As in OTP, for a global pattern only
%% exported functions count.
count(Found, Kinds) ->
    length([x || {_, Marked} <- Found, {_, Exported} <- Marked,
                 Exported orelse Kinds =/= global]).

plan({{M, Name, A} = MFA, Exported}, Slot, Action, F, {Cache, Changes}) ->
    {Sessions0, Old} = Known = found(MFA, F),
    Entry0 = entry(Slot, Sessions0),
    Rests = rests(Known),
    case edit(Entry0, Action, {Exported, {Slot, MFA}, Old}) of
        Entry0 when not Rests ->
            {Cache, Changes};
        Entry ->
            Sessions = with(Slot, Entry, Sessions0),
            case allowed(MFA, Old, Sessions, Slot, {F, Cache}) of
                {error, _} when Entry =:= Entry0 ->
                    {Cache, Changes};
                {error, _} = E ->
                    throw(E);
                {_, New, NewCache} ->
                    {NewCache, [{M, {Name, A}, Old, New,
                                 keep(MFA, Old, New, Sessions)} | Changes]}
            end
    end.

%% Returns the state for a function. The first call of fit/4 treats the session as
%% active, even if it is not. So a pattern that the VM cannot have is refused now,
%% and not when the session becomes active.
allowed(MFA, Old, Sessions, Slot, {F, Cache0}) ->
    case fit(MFA, Old, Sessions, {Slot, mark(Slot, [call], F), Cache0}) of
        {error, _} = E -> E;
        {_, _, Cache} = Active ->
            case is_active(Slot, F) of
                true -> Active;
                false -> fit(MFA, Old, Sessions, {Slot, F, Cache})
            end
    end.

%% Returns the state that a function can have, even if another tool has a pattern on
%% the function. `all': the state contains everything that the sessions have set.
%% `less': the state contains everything that the session in `Slot' has set, but of the
%% settings of other sessions only those that the VM has already.
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

%% Makes changes, and adapts what depends on all functions (tell_apart/1).
exchange(Changes, F) ->
    case change(Changes, F) of
        {ok, New} -> {ok, tell_apart(New)};
        {error, _} = E -> E
    end.

%% Makes changes in the VM, then stores them. If the VM refuses a change, nothing
%% changes in the VM and in the stored entries.
change(Changes, F) ->
    ToDo = [{M, FA, Old, New} || {M, FA, Old, New, _} <- Changes, Old =/= New],
    Noted = [{M, FA, inviso_engine:plain(M, Name, A, wanting(Sessions, F))}
             || {M, {Name, A} = FA, _, New, Sessions} <- Changes,
                is_plain(New)],
    Counters = [{{M, Name, A}, Old, New} || {M, {Name, A}, Old, New, _} <- Changes],
    case inviso_engine_counted:during(
           Counters, fun() -> inviso_engine_breakpoints:exchange(ToDo) end) of
        ok ->
            _ = [inviso_engine:plain(M, Name, A, none)
                 || {M, {Name, A}, Old, New} <- ToDo,
                    is_plain(Old), not is_plain(New)],
            {ok, lists:foldl(fun remember/2, warn_all(Changes, F), Changes)};
        {error, _} = E ->
            _ = [inviso_engine:plain(M, Name, A, Before)
                 || {M, {Name, A}, Before} <- Noted],
            E
    end.

is_plain(#{call := {_, []}}) -> true;
is_plain(_) -> false.

%% Returns the mask of the active sessions that have a pattern for calls and no
%% foreign tracer.
wanting(Sessions, F) ->
    lists:sum([1 bsl Slot || {Slot, #{call := _}} <- Sessions,
                             is_active(Slot, F), not is([foreign], Slot, F)]).

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

%% Returns the sessions' entries for a function and its state in the VM, without the
%% parts that the VM has lost.
found(MFA, F) ->
    still(MFA, known(MFA, F)).

known({M, F, A}, #functions{modules = Modules}) ->
    case Modules of
        #{M := {_, #{{F, A} := Known}}} -> Known;
        _ -> {[], #{}}
    end.

%% Removes the parts of a function's state that the VM has lost, because the module
%% was loaded again or because another tool has replaced the pattern. If the other
%% tool traces the function globally, the sessions keep their counters, but the VM
%% does not count as long as that tool traces the function.
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

%% Returns true if a counter of a session is running but the VM does not count.
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

%% Changes the patterns and counters that the VM has on functions, after the entries
%% of sessions or the set of active sessions have changed. If another tool traces a
%% function, or if the combined match spec has too many clauses, the change of this
%% function is left out and logged.
carry_on(Changes, F) ->
    {_, Doable} = lists:foldl(fun(Change, Acc) -> doable(Change, F, Acc) end,
                              {#{}, []}, Changes),
    case exchange(Doable, F) of
        {ok, New} -> New;
        {error, _} -> lists:foldl(fun carry_on_alone/2, F, Doable)
    end.

%% Makes one change alone. If the VM refuses the change, the VM keeps the old state,
%% and only the sessions' entries are stored.
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
    warn("~p:~p/~p is not traced: another tool traces it", [M, F, A]);
not_traced({M, F, A}, Reason) ->
    warn("~p:~p/~p is not traced: ~0p", [M, F, A, Reason]).

%% Logs what the VM cannot do for a session. Each warning is logged once for each
%% session.
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
    warn("a function is traced globally in one session and locally in another: "
         "the first also gets local calls", []);
warn_once({_, counters}) ->
    warn("a function that is counted is also traced globally by another "
         "session or tool: its calls are not counted meanwhile", []).

warn(Format, Args) ->
    inviso_engine_lost:warn(Format, Args).

%%---------------------------------------------------------------------------
%% The state that a function must have in the VM.

is_active(Slot, F) ->
    is(?ACTIVE, Slot, F).

state(Where, Sessions, F, Cache) ->
    inviso_engine_compose:state(Where, Sessions,
                                {slots(?ACTIVE, F),
                                 slots([foreign], F),
                                 F#functions.callers}, Cache).

%%---------------------------------------------------------------------------
%% Functions of modules that will be loaded.

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
                inviso_engine_counted:see(erlang:loaded()),
            Exchange = fun() ->
                               inviso_engine_breakpoints:exchange_on_load(Old, New)
                       end,
            case inviso_engine_counted:during([{on_load, Old, New}], Exchange) of
                ok -> {ok, watch(F#functions{on_load = {Sessions, New}})};
                {error, _} = E -> E
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
                    || M <- erlang:loaded()]).

%% @doc Finds the modules that were loaded since the last call. When the VM loads
%% a module, it clears what sessions had set on the module's functions, and sets
%% what sessions have set for on_load. This function changes the stored entries in
%% the same way.
-spec look(functions()) -> functions().
look(#functions{modules = Modules, on_load = {OnLoad, State}} = F0) ->
    Gone = [M || {M, {Version, _}} <- maps:to_list(Modules),
                 inviso_engine_breakpoints:version(M) =/= Version],
    F = case Gone of
            [] -> F0;
            _ -> tell_apart(lists:foldl(fun gone/2, F0, Gone))
        end,
    case OnLoad of
        [] ->
            F;
        _ ->
            Now = versions(),
            New = [M || {M, Version} <- maps:to_list(Now),
                        maps:get(M, F#functions.seen, none) =/= Version
                            orelse is_anew(M, F)],
            Set = lists:foldl(fun loaded/2, F#functions{seen = Now}, New),
            _ = is_counted(State) andalso inviso_engine_counted:see(New),
            Set
    end.

%% Removes what is stored for a module whose code was replaced.
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

%% Returns true if a module was loaded again with the same code. Then the module's
%% functions have the patterns that were set for on_load, and no longer the patterns
%% that are stored for these functions.
is_anew(_M, #functions{on_load = {_, State}}) when map_size(State) =:= 0 ->
    false;
is_anew(M, #functions{modules = Modules, on_load = {_, State}}) ->
    Known = case Modules of
                #{M := {_, #{{module_info, 0} := {_, S}}}} -> S;
                _ -> #{}
            end,
    MFA = {M, module_info, 0},
    %% Sessions may have set more on this function after the module was loaded. Then
    %% the stored state includes the state of on_load, and the VM has the whole
    %% stored state. In this case the module was not loaded again.
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

%% @doc Must be called before a function's counters are read. The VM stops counting
%% while another tool has a global pattern on the function. If this pattern has been
%% cleared, makes the VM count again.
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
%% Information about functions.

%% @doc Returns an item of `trace:info/3'.
-spec info(slot(), {mfa() | on_load, term()}, functions()) ->
          {atom(), term()} | badarg.
info(Slot, {What, Item}, F) ->
    case about(What, F) of
        undefined ->
            {Item, undefined};
        {Sessions, State} ->
            case entry(Slot, Sessions) of
                E when map_size(E) =:= 0 ->
                    {Item, false};
                E when What =:= on_load ->
                    inviso_engine_entry:info(Item, E, on_load);
                E ->
                    inviso_engine_entry:info(Item, E, {Slot, What, State})
            end
    end.

%% @doc Returns the sessions that have set something on a function, or `undefined'
%% if there is no such function.
-spec sessions(mfa() | on_load, functions()) -> undefined | [slot()].
sessions(What, F) ->
    case about(What, F) of
        undefined -> undefined;
        {Sessions, _} -> [Slot || {Slot, _} <- Sessions]
    end.

about(on_load, #functions{on_load = OnLoad}) ->
    OnLoad;
about({M, Name, A} = MFA, F) ->
    case lists:member({Name, A}, inviso_engine_breakpoints:functions(M)) of
        true -> found(MFA, F);
        false -> undefined
    end.
