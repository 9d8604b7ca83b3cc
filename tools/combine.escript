#!/usr/bin/env escript
%%% Combines the modules that traced nodes need into a few:
%%%
%%%   escript tools/combine.escript EBIN DIRECTORY SOURCE...
%%%
%%% EBIN has the modules of SOURCE... (src/ROOM/MODULE.erl), with debug
%%% information. DIRECTORY gets, for tools/erlc25:
%%%
%%%   GROUP.abstr   a combined module, in the abstract format
%%%   modules       for inviso_pushed:rooms/0 and inviso_pushed:combined/0: a map
%%%
%%% For each module that is unloaded, the VM asks every process about it, twice.
%%% With 100,000 processes this takes half a second. So a few modules are pushed to
%%% nodes, each with the functions of many modules (docs/decisions/0513).
%%%
%%% The modules that are combined into one are a group. A group has the name of one
%%% of its modules, its leader. The leader's functions keep their names. Function f
%%% of another module inviso_x becomes 'inviso_x:f', so that stack traces are easy
%%% to read. Only functions that can be called are taken: the exported functions of
%%% leaders, those in GROUPS below, and all that these call.
%%%
%%% Calls of a module that is combined become calls of its group. Names of such
%%% modules are replaced too, where they certainly mean the module, as in the
%%% arguments of spawn/3. Any other mention of such a module is an error.
-mode(compile).

%% The groups. Each entry lists functions of other modules that are called from
%% outside (abi/control.h, section 2).
-define(GROUPS, [{inviso_tracer, [{inviso_push, attach, 1},
                                  {inviso_session, start, 1},
                                  {inviso_session, find, 1},
                                  {inviso_status, node, 0},
                                  {inviso_gauge, start, 1}]},
                 {inviso_rt, []},
                 {inviso_rt_meta, []}]).
%% Rooms that have their own group. A module of another room is put into the first
%% group that needs it.
-define(OWN, #{meta => inviso_rt_meta}).
%% A module that the VM calls as a tracer, and its group. In the combined code the
%% VM calls the group, and not the module. The group has the module's NIFs under
%% their new names (c_src/pushed/library.c). Callbacks that the group's leader has,
%% too, are not taken.
-define(TRACER, {inviso_engine, inviso_tracer}).
%% Modules that run only where inviso is installed. Calls of these modules are not
%% changed.
-define(INSTALLED_ROOMS, [control, autostart, tool, merger]).
-define(INSTALLED, [inviso_bring, inviso_rt_auto]).
%% Modules whose names are used as values. Modules with a behaviour of inviso are
%% used in this way too. In a call Module:f(...) with an unknown Module, the
%% combined code compares Module with these names at run time.
-define(VALUES, [inviso_handler, inviso_relay, inviso_ip]).
%% Names of modules that are also names of processes, tables or messages. Such a
%% name is not changed unless it certainly means the module.
-define(NAMES, [inviso_guard, inviso_engine_server, inviso_deliver, inviso_ti,
                inviso_rt_overload]).

-record(mod, {name, room, file, exports, nifs, behaviours, funs}).
%% Where a piece of code is: in which function of which module. The field `place' is
%% none while references are collected; later it maps each module to its group.
-record(at, {mod, function, place = none}).

main([Ebin, Out | Sources]) ->
    Mods = maps:from_list([{M#mod.name, M}
                           || S <- Sources, M <- [module(Ebin, S)]]),
    put(mods, Mods),
    {Place, Used} = placed(),
    stop_if_failed(),
    All = [{G, group(G, Place, Used)} || {G, _} <- groups()],
    stop_if_failed(),
    _ = [write(filename:join(Out, atom_to_list(G) ++ ".abstr"),
               [io_lib:format("~w.~n", [Form]) || Form <- Forms])
         || {G, Forms} <- All],
    From = lists:usort([M || {M, _, _} <- maps:keys(Used)]),
    Rooms = lists:usort([(mod(M))#mod.room || M <- From]),
    Made = #{combined => [G || {G, _} <- groups()],
             rooms => [{R, [M || M <- From, (mod(M))#mod.room =:= R]}
                       || R <- Rooms]},
    write(filename:join(Out, "modules"), io_lib:format("~p.~n", [Made])).

write(File, Text) ->
    ok = file:write_file(File, unicode:characters_to_binary(Text)).

failed(Format, Args) ->
    Text = lists:flatten(io_lib:format(Format, Args)),
    put(failures, lists:usort([Text | failures()])).

failures() ->
    case get(failures) of
        undefined -> [];
        List -> List
    end.

stop_if_failed() ->
    _ = [io:format(standard_error, "combine: ~ts~n", [F]) || F <- failures()],
    failures() =:= [] orelse halt(1).

%% --- modules ----------------------------------------------------------------

module(Ebin, Source) ->
    Beam = filename:join(Ebin, filename:basename(Source, ".erl") ++ ".beam"),
    {ok, {Name, [{abstract_code, {raw_abstract_v1, Raw}}]}} =
        beam_lib:chunks(Beam, [abstract_code]),
    Forms = erl_expand_records:module(Raw, []),
    Lost = [K || {attribute, _, K, _} <- Forms, K =:= compile orelse K =:= on_load],
    _ = [failed("~ts: its attribute ~s would be lost", [Source, K]) || K <- Lost],
    #mod{name = Name,
         room = list_to_atom(filename:basename(filename:dirname(Source))),
         file = Source,
         exports = values(export, Forms),
         nifs = values(nifs, Forms),
         behaviours = values(behaviour, Forms),
         funs = maps:from_list([{{F, A}, Form}
                                || {function, _, F, A, _} = Form <- Forms])}.

values(Key, Forms) ->
    lists:append([if is_list(V) -> V; true -> [V] end
                  || {attribute, _, K, V} <- Forms, K =:= Key]).

mod(Name) ->
    maps:get(Name, get(mods), none).

%% Returns true if the module belongs to a room whose modules are combined.
is_ours(Name) ->
    case mod(Name) of
        none -> false;
        #mod{room = Room} -> not lists:member(Room, ?INSTALLED_ROOMS)
                                 andalso not lists:member(Name, ?INSTALLED)
    end.

is_value(Name) ->
    lists:member(Name, ?VALUES)
        orelse is_ours(Name)
        andalso lists:any(fun is_ours/1, (mod(Name))#mod.behaviours).

is_leader(Name) ->
    lists:keymember(Name, 1, groups()).

groups() ->
    ?GROUPS.

%% Returns the NIFs that a group gets from another module.
tracer_nifs(Group) ->
    {M, To} = ?TRACER,
    case {mod(M), To} of
        {#mod{nifs = Nifs}, Group} ->
            [{M, F, A} || {F, A} <- Nifs -- (mod(Group))#mod.nifs];
        _ ->
            []
    end.

%% --- which functions, and where they go ---------------------------------------

%% Returns {#{Module => Group}, #{{M, F, A} => exported | local}}.
placed() ->
    lists:foldl(fun({Group, More}, {Place, Used}) ->
                        #mod{exports = Exports, nifs = Nifs} = mod(Group),
                        Roots = [{Group, F, A} || {F, A} <- Exports ++ Nifs],
                        reach([{R, exported} || R <- Roots ++ More]
                              ++ [{R, local} || R <- tracer_nifs(Group)], Group,
                              Place#{Group => Group}, Used)
                end, {#{}, #{}}, groups()).

reach([], _Group, Place, Used) ->
    {Place, Used};
reach([{{M, _, _} = MFA, How} | Rest], Group, Place, Used) ->
    case Used of
        #{MFA := exported} ->
            reach(Rest, Group, Place, Used);
        #{MFA := local} ->
            reach(Rest, Group, Place, Used#{MFA := How});
        _ ->
            Room = (mod(M))#mod.room,
            To = maps:get(M, Place, maps:get(Room, ?OWN, Group)),
            reach(references(MFA) ++ Rest, Group, Place#{M => To},
                  Used#{MFA => How})
    end.

%% Returns [{MFA, exported | local}].
references({M, F, A} = MFA) ->
    #mod{funs = Funs, file = File} = mod(M),
    case {get(MFA), Funs} of
        {undefined, #{{F, A} := Form}} ->
            put(references, []),
            _ = walk(Form, #at{mod = M, function = {F, A}}),
            References = lists:usort(get(references)),
            put(MFA, References),
            References;
        {undefined, _} ->
            failed("~ts: there is no function ~s/~b", [File, F, A]),
            [];
        {Known, _} ->
            Known
    end.

refer(MFA, How, #at{place = none}) ->
    put(references, [{MFA, How} | get(references)]);
refer(_MFA, _How, _At) ->
    ok.

%% --- a group ------------------------------------------------------------------

group(Group, Place, Used) ->
    Its = lists:sort([MFA || {M, _, _} = MFA <- maps:keys(Used),
                             maps:get(M, Place) =:= Group]),
    Members = lists:usort([M || {M, _, _} <- Its]),
    Wanted = maps:from_list([{To, true} || {M, _, _} = From <- maps:keys(Used),
                                           maps:get(M, Place) =/= Group,
                                           {To, _} <- references(From)]),
    Exported = [{name(MFA), A}
                || {_, _, A} = MFA <- Its,
                   maps:get(MFA, Used) =:= exported
                       orelse maps:is_key(MFA, Wanted)],
    Servers = [M || M <- Members, M =/= Group,
                    lists:member(gen_server, (mod(M))#mod.behaviours)],
    {Callbacks, Dispatch} = dispatch(Group, Servers),
    [{attribute, 1, file, {atom_to_list(Group) ++ ".erl", 1}},
     {attribute, 1, module, Group},
     {attribute, 1, export, lists:usort(Exported ++ Callbacks)}]
        ++ [{attribute, 1, nifs, Nifs}
            || Nifs <- [(mod(Group))#mod.nifs
                        ++ [{name(MFA), A}
                            || {_, _, A} = MFA <- tracer_nifs(Group)]],
               Nifs =/= []]
        ++ lists:append([functions(M, Its, Place) || M <- Members])
        ++ Dispatch.

functions(M, Its, Place) ->
    #mod{file = File, funs = Funs} = mod(M),
    [{attribute, 1, file, {File, 1}}
     | [begin
            {function, Anno, F, A, Clauses} = maps:get({F, A}, Funs),
            At = #at{mod = M, function = {F, A}, place = Place},
            {function, Anno, name({M, F, A}), A, walk(Clauses, At)}
        end || {M1, F, A} <- Its, M1 =:= M]].

%% Returns the name of a function in its group.
name({M, F, _}) ->
    case is_leader(M) of
        true -> F;
        false -> list_to_atom(atom_to_list(M) ++ ":" ++ atom_to_list(F))
    end.

%% --- gen_servers ----------------------------------------------------------------

%% The group becomes the callback module of several gen_servers. The argument of
%% init/1 names the module whose server a process is. init/1 puts this name into the
%% process dictionary, where the other callbacks find it.
-define(CALLBACKS, [{init, 1}, {handle_call, 3}, {handle_cast, 2},
                    {handle_info, 2}, {handle_continue, 2}, {terminate, 2},
                    {code_change, 3}, {format_status, 1}, {format_status, 2}]).

dispatch(_Group, []) ->
    {[], []};
dispatch(Group, Servers) ->
    Callbacks = [C || C <- ?CALLBACKS,
                      lists:any(fun(M) -> has_callback(M, C) end, Servers)],
    _ = [failed("~s: its ~s/~b is in the way of ~s's", [Group, F, A, S])
         || {F, A} <- Callbacks, maps:is_key({F, A}, (mod(Group))#mod.funs),
            S <- Servers],
    {Callbacks, [form(callback(C, Servers)) || C <- Callbacks]}.

has_callback(M, C) ->
    lists:member(C, (mod(M))#mod.exports).

callback({init, 1}, Servers) ->
    ["init({Module, Arg}) -> put('$inviso_server', Module), case Module of ",
     lists:join("; ", [io_lib:format("~w -> ~w(Arg)", [M, name({M, init, 1})])
                       || M <- Servers]), " end."];
callback({F, A} = C, Servers) ->
    Vars = lists:join(", ", ["V" ++ integer_to_list(N)
                             || N <- lists:seq(1, A)]),
    Missing = [M || M <- Servers, not has_callback(M, C)],
    [io_lib:format("~w(~s) -> case get('$inviso_server') of ", [F, Vars]),
     lists:join("; ", [io_lib:format("~w -> ~w(~s)", [M, name({M, F, A}), Vars])
                       || M <- Servers, has_callback(M, C)]
                ++ ["_ -> " ++ Default || Missing =/= [],
                                          Default <- missing(C)]),
     " end."].

%% Returns the code for a callback that a module does not have. The code does what
%% gen_server does without this callback. A callback that gen_server requires gets no
%% code, so that a call of it fails.
missing({terminate, 2}) -> ["_ = {V1, V2}, ok"];
missing({code_change, 3}) -> ["_ = {V1, V3}, {ok, V2}"];
missing({handle_info, 2}) -> ["_ = V1, {noreply, V2}"];
missing(_) -> [].

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

%% --- code -----------------------------------------------------------------------

%% Walks through code. It collects the functions that the code refers to, and
%% returns the code for the group.
walk({call, Anno, {atom, _, F} = Name, Args}, At) ->
    local_call(Anno, F, Name, Args, At);
walk({call, Anno, {remote, _, {atom, _, M}, {atom, _, F}}, Args}, At) ->
    remote_call(Anno, M, F, Args, At);
walk({call, Anno, {remote, _, Module, {atom, _, _} = F}, Args}, At) ->
    unknown_call(Anno, Module, F, Args, At);
walk({'fun', Anno, {function, F, A}}, #at{mod = M} = At) ->
    case maps:is_key({F, A}, (mod(M))#mod.funs) of
        true ->
            refer({M, F, A}, local, At),
            {'fun', Anno, {function, name({M, F, A}), A}};
        false ->
            {'fun', Anno, {function, {atom, Anno, erlang}, {atom, Anno, F},
                           {integer, Anno, A}}}
    end;
walk({'fun', Anno, {function, {atom, _, M}, {atom, _, F}, {integer, _, A}}}, At) ->
    {M1, F1} = external({M, F, A}, At),
    {'fun', Anno, {function, {atom, Anno, M1}, {atom, Anno, F1},
                   {integer, Anno, A}}};
%% The field `module' of error_info, in a stack trace: this module explains the error.
%% The name is not changed. If the module is not found, the error gets a plain text.
walk({map_field_assoc, _, {atom, _, module}, {atom, _, _}} = Field, _At) ->
    Field;
%% A term that names a function.
walk({tuple, Anno, [{atom, _, M}, {atom, _, F}, {integer, _, A}]} = Tuple, At) ->
    case is_ours(M) andalso maps:is_key({F, A}, (mod(M))#mod.funs) of
        true ->
            {M1, F1} = external({M, F, A}, At),
            {tuple, Anno, [{atom, Anno, M1}, {atom, Anno, F1},
                           {integer, Anno, A}]};
        false ->
            {tuple, Anno, walk(element(3, Tuple), At)}
    end;
%% A tuple that begins with the name of its own module, usually a message with the name
%% as its tag. The name is not changed. But if the next element names a function of the
%% module, the tuple could mean this function; mentioned/2 then reports the name.
walk({tuple, Anno, [{atom, _, M} = Tag, Next | Rest]}, #at{mod = M} = At) ->
    case Next of
        {atom, _, F} -> has_function(M, F) andalso mentioned(M, At);
        _ -> ok
    end,
    {tuple, Anno, [Tag | walk([Next | Rest], At)]};
walk({atom, Anno, Atom} = E, At) ->
    case ?TRACER of
        {Atom, _} ->
            {atom, Anno, group_of(Atom, At)};
        _ ->
            mentioned(Atom, At),
            E
    end;
walk({Kind, _, _} = E, _At) when Kind =:= string; Kind =:= integer;
                                 Kind =:= char; Kind =:= float; Kind =:= var ->
    E;
walk({bin_element, Anno, Value, Size, Types}, At) ->
    {bin_element, Anno, walk(Value, At), walk(Size, At), Types};
walk({clauses, Clauses}, At) ->
    {clauses, walk(Clauses, At)};
walk({function, Anno, F, A, Clauses}, At) ->
    {function, Anno, F, A, walk(Clauses, At)};
walk(Tuple, At) when is_tuple(Tuple), is_atom(element(1, Tuple)) ->
    [Kind, Anno | Rest] = tuple_to_list(Tuple),
    list_to_tuple([Kind, Anno | [walk(E, At) || E <- Rest]]);
walk(List, At) when is_list(List) ->
    [walk(E, At) || E <- List];
walk(Atom, _At) when is_atom(Atom) -> % of an operator, the name of a fun
    Atom.

local_call(Anno, F, Name, Args, #at{mod = M} = At) ->
    A = length(Args),
    case maps:is_key({F, A}, (mod(M))#mod.funs) of
        true ->
            refer({M, F, A}, local, At),
            {call, Anno, {atom, Anno, name({M, F, A})}, walk(Args, At)};
        false ->
            %% The group may have a function of this name, so the call of a BIF gets the
            %% module erlang.
            case erl_internal:bif(F, A) of
                true -> remote_call(Anno, erlang, F, Args, At);
                false -> {call, Anno, Name, walk(Args, At)}
            end
    end.

remote_call(Anno, M, F, Args, At) ->
    A = length(Args),
    case is_ours(M) of
        true ->
            {call, Anno, callee(Anno, {M, F, A}, At), walk(Args, At)};
        false ->
            {call, Anno, {remote, Anno, {atom, Anno, M}, {atom, Anno, F}},
             arguments(M, F, Args, At)}
    end.

%% A call with the module's own name, such as ?MODULE:loop(), remains a remote call.
callee(Anno, {M, _, _} = MFA, #at{mod = M} = At) ->
    {M1, F1} = external(MFA, At),
    {remote, Anno, {atom, Anno, M1}, {atom, Anno, F1}};
callee(Anno, {M, _, _} = MFA, #at{mod = Here, place = Place} = At) ->
    refer(MFA, local, At),
    case Place =:= none orelse maps:get(M, Place) =:= maps:get(Here, Place) of
        true ->
            {atom, Anno, name(MFA)};
        false ->
            {remote, Anno, {atom, Anno, maps:get(M, Place)},
             {atom, Anno, name(MFA)}}
    end.

%% Returns {Module, Function} for calls from outside of the group.
external({M, F, _} = MFA, #at{place = Place} = At) ->
    case is_ours(M) of
        true when Place =:= none ->
            refer(MFA, exported, At),
            {M, F};
        true ->
            {maps:get(M, Place), name(MFA)};
        false ->
            {M, F}
    end.

unknown_call(Anno, Module, {atom, _, F} = Name, Args, At) ->
    A = length(Args),
    Among = [{M, F, A} || M <- lists:sort(maps:keys(get(mods))), is_value(M),
                          lists:member({F, A}, (mod(M))#mod.exports)],
    Other = {var, Anno, list_to_atom("_Module" ++ integer_to_list(
                                                    erlang:phash2(Anno)))},
    Call = fun(Callee) -> {call, Anno, Callee, walk(Args, At)} end,
    case Among of
        [] ->
            {call, Anno, {remote, Anno, walk(Module, At), Name},
             walk(Args, At)};
        _ ->
            {'case', Anno, walk(Module, At),
             [{clause, Anno, [{atom, Anno, M}], [],
               [Call(callee(Anno, MFA, At))]} || {M, _, _} = MFA <- Among]
             ++ [{clause, Anno, [Other], [], [Call({remote, Anno, Other, Name})]}]}
    end.

%% --- names of modules -------------------------------------------------------------

%% Changes the arguments of a call of OTP where they name a module. `takes' says
%% which arguments these are, beginning with the Nth: for example module, function
%% and list of arguments, or module, function and arity.
arguments(M, F, Args, At) ->
    case takes(M, F, length(Args)) of
        {mfa, N} -> applied(N, Args, At);
        {arity, N} -> named(N, Args, At);
        {server, N} -> served(N, Args, At);
        {module, N} -> replaced(N, Args, At);
        none -> walk(Args, At)
    end.

takes(erlang, F, 3) when F =:= spawn; F =:= spawn_link; F =:= spawn_monitor;
                         F =:= apply -> {mfa, 1};
takes(erlang, spawn_opt, 4) -> {mfa, 1};
takes(erlang, F, 4) when F =:= spawn; F =:= spawn_link;
                         F =:= spawn_monitor -> {mfa, 2};
takes(erlang, spawn_opt, 5) -> {mfa, 2};
takes(proc_lib, F, 3) when F =:= spawn; F =:= spawn_link; F =:= start;
                           F =:= start_link -> {mfa, 1};
takes(proc_lib, F, 4) when F =:= spawn_opt; F =:= start;
                           F =:= start_link -> {mfa, 1};
takes(erlang, function_exported, 3) -> {arity, 1};
takes(gen_server, F, 3) when F =:= start; F =:= start_link;
                             F =:= start_monitor -> {server, 1};
takes(gen_server, F, 4) when F =:= start; F =:= start_link;
                             F =:= start_monitor -> {server, 2};
takes(code, F, 1) when F =:= is_loaded; F =:= which; F =:= ensure_loaded
                       -> {module, 1};
takes(erlang, get_module_info, _) -> {module, 1};
takes(_, _, _) -> none.

applied(N, Args, At) ->
    {Before, [Module, F, List | Rest]} = lists:split(N - 1, Args),
    [Module1, F1] =
        case {Module, F, arity(List)} of
            {{atom, Anno, M}, {atom, _, Name}, Arity} ->
                case is_ours(M) andalso arities(M, Name, Arity) of
                    false ->
                        [Module, F];
                    [] ->
                        failed("~s: ~s:~s is not exported",
                               [where(At), M, Name]),
                        [Module, F];
                    Arities ->
                        All = [external({M, Name, A}, At) || A <- Arities],
                        {M1, Name1} = hd(All),
                        [{atom, Anno, M1}, {atom, Anno, Name1}]
                end;
            _ ->
                walk([Module, F], At)
        end,
    walk(Before, At) ++ [Module1, F1] ++ walk([List | Rest], At).

arity({nil, _}) -> 0;
arity({cons, _, _, Tail}) ->
    case arity(Tail) of
        unknown -> unknown;
        N -> N + 1
    end;
arity(_) -> unknown.

arities(M, F, Arity) ->
    [A || {F1, A} <- (mod(M))#mod.exports, F1 =:= F,
          Arity =:= unknown orelse A =:= Arity].

named(N, Args, At) ->
    case lists:nthtail(N - 1, Args) of
        [{atom, A1, M}, {atom, A2, F}, {integer, _, A} = Arity | Rest] ->
            {M1, F1} = external({M, F, A}, At),
            walk(lists:sublist(Args, N - 1), At)
                ++ [{atom, A1, M1}, {atom, A2, F1}, Arity | walk(Rest, At)];
        _ ->
            walk(Args, At)
    end.

served(N, Args, At) ->
    case lists:split(N - 1, Args) of
        {Before, [{atom, Anno, M} | [Arg | Rest]]} ->
            case is_ours(M) andalso not is_leader(M) of
                true ->
                    _ = [refer({M, F, A}, local, At)
                         || {F, A} = C <- ?CALLBACKS, has_callback(M, C)],
                    walk(Before, At)
                        ++ [{atom, Anno, group_of(M, At)},
                            {tuple, Anno, [{atom, Anno, M}, walk(Arg, At)]}
                            | walk(Rest, At)];
                false ->
                    walk(Args, At)
            end;
        _ ->
            walk(Args, At)
    end.

replaced(N, Args, At) ->
    case lists:split(N - 1, Args) of
        {Before, [{atom, Anno, M} | Rest]} ->
            walk(Before, At) ++ [{atom, Anno, group_of(M, At)}
                                 | walk(Rest, At)];
        _ ->
            walk(Args, At)
    end.

group_of(M, #at{place = none}) -> M;
group_of(M, #at{place = Place}) -> maps:get(M, Place, M).

has_function(M, F) ->
    lists:keymember(F, 1, maps:keys((mod(M))#mod.funs)).

mentioned(Atom, At) ->
    case is_ours(Atom) andalso not is_leader(Atom)
        andalso not lists:member(Atom, ?NAMES)
        andalso not is_value(Atom) of
        true -> failed("~ts mentions ~s: as what?", [where(At), Atom]);
        false -> ok
    end.

where(#at{mod = M, function = {F, A}}) ->
    io_lib:format("~ts: ~s/~b", [(mod(M))#mod.file, F, A]).
