%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds the modules of specs with wildcards and groups, when tracing begins and
%% when modules are loaded later.
%%
%% A group contains only loaded modules. inviso loads no further module of a group,
%% because loading a module runs code of the application. inviso's own modules are
%% left out. The modules of kernel and stdlib are also left out, because tracing them
%% can slow down every process; but if the user agrees (--yes), they are traced.
-module(inviso_arm_groups).

-export([resolve/2, is_group/1, is_wild/1, snapshot/0, changed/1, later/3]).

-export_type([snapshot/0]).

%% The loaded modules, each with the checksum of its code.
-opaque snapshot() :: #{module() => binary()}.

-define(OWN, "inviso").

%% @doc Returns true if a spec names several modules by a wildcard or a group.
-spec is_group(inviso_spec:spec()) -> boolean().
is_group(#{kind := call, modules := Modules, module := M}) ->
    Modules =/= one orelse M =:= '_';
is_group(_) ->
    false.

%% @doc Returns true if a spec has a wildcard or a group. Such a spec can also
%% select functions of code that is loaded later.
-spec is_wild(inviso_spec:spec()) -> boolean().
is_wild(#{kind := call, functions := Functions} = Spec) ->
    Functions =/= one orelse is_group(Spec);
is_wild(_) ->
    false.

%% @doc Returns the functions that a spec with a group selects, grouped by module, and
%% notes for the user. With `Yes', no modules of OTP are left out. Throws
%% `{Class, Text}' if there are no such functions.
-spec resolve(inviso_spec:spec(), boolean()) ->
          {[inviso_arm_functions:resolved()], [binary()]}.
resolve(Spec, Yes) ->
    ok = known(Spec),
    Modules = lists:sort([M || {M, _} <- code:all_loaded(), has(M, Spec)]),
    Found = [R || M <- Modules, R <- inviso_arm_functions:matching(M, Spec)],
    {Out, In} = lists:partition(fun({M, _, _}) ->
                                        not Yes andalso is_otp(M)
                                end, Found),
    case {In, Out} of
        {[], []} -> nothing(Spec, Modules);
        {[], _} -> throw({usage, only_otp(Spec, Out)});
        _ -> {In, left_out(Spec, Out) ++ not_loaded(Spec)}
    end.

has(M, #{modules := one, module := '_'}) -> not is_own(M);
has(M, #{modules := Group}) ->
    inviso_spec_group:has(Group, M) andalso not is_own(M).

%% Returns true for a module of inviso, whose name begins with "inviso". The modules
%% that a client sends to a node have such names, too.
is_own(M) -> lists:prefix(?OWN, atom_to_list(M)).

%% Returns true for modules of kernel and stdlib, and for modules that are part of
%% the VM.
is_otp(M) ->
    is_in(kernel, M) orelse is_in(stdlib, M)
        orelse lists:member(M, erlang:pre_loaded()).

is_in(App, M) ->
    case application:get_key(App, modules) of
        {ok, Modules} -> lists:member(M, Modules);
        undefined -> false
    end.

known(#{modules := {app, App}}) ->
    case application:get_key(App, modules) of
        {ok, _} -> ok;
        undefined ->
            Apps = [atom_to_list(A)
                    || {A, _, _} <- application:loaded_applications()],
            Near = inviso_near:names(atom_to_list(App), Apps),
            throw({nothing, format("application ~tw is not loaded on this node~ts",
                                   [App, inviso_near:did_you_mean(Near)])})
    end;
known(_) ->
    ok.

-spec nothing(inviso_spec:spec(), [module()]) -> no_return().
nothing(Spec, []) ->
    throw({nothing, format("~ts selects no loaded module", [group(Spec)])});
nothing(Spec, Modules) ->
    throw({nothing, format("none of the ~b module~ts of ~ts has a function that "
                           "matches ~ts",
                           [length(Modules), plural(Modules), group(Spec),
                            maps:get(text, Spec)])}).

only_otp(Spec, Out) ->
    format("~ts selects only modules of kernel, stdlib and the VM (~ts): they "
           "need --yes, because tracing them can slow down every process",
           [group(Spec), names(Out)]).

left_out(_, []) ->
    [];
left_out(Spec, Out) ->
    [format("~ts also selects ~b module~ts of kernel, stdlib and the VM, which "
            "~ts left out (--yes traces them): ~ts",
            [group(Spec), length(Out), plural(Out), are(Out), names(Out)])].

not_loaded(#{modules := {app, App}}) ->
    {ok, Modules} = application:get_key(App, modules),
    case [M || M <- Modules, not erlang:module_loaded(M)] of
        [] -> [];
        Missing ->
            [format("~b module~ts of app(~tw) ~ts not loaded: ~ts traced when "
                    "~ts loaded",
                    [length(Missing), plural(Missing), App, are(Missing),
                     they(Missing), they(Missing)])]
    end;
not_loaded(_) ->
    [].

names(Resolved) ->
    Some = [io_lib:format("~tw", [M]) || {M, _, _} <- lists:sublist(Resolved, 5)],
    lists:join(", ", Some) ++ ["..." || length(Resolved) > 5].

group(#{modules := one}) -> "_";
group(#{modules := Group}) -> inviso_spec_group:describe(Group).

plural([_]) -> "";
plural(_) -> "s".

are([_]) -> "is";
are(_) -> "are".

they([_]) -> "it is";
they(_) -> "they are".

%% --- modules that are loaded later ----------------------------------------------

%% @doc Returns the modules that are loaded now, each with the checksum of its
%% code. {@link changed/1} compares checksums to find modules that were loaded again.
-spec snapshot() -> snapshot().
snapshot() ->
    maps:from_list([{M, checksum(M)} || {M, _} <- code:all_loaded()]).

checksum(M) ->
    try erlang:get_module_info(M, md5)
    catch
        %% The module is being purged, so it has no checksum.
        error:badarg -> <<>>
    end.

%% @doc Returns the modules whose code was loaded since a snapshot, and a new
%% snapshot.
-spec changed(snapshot()) -> {[module()], snapshot()}.
changed(Before) ->
    Now = snapshot(),
    {[M || {M, Sum} <- lists:sort(maps:to_list(Now)), Sum =/= <<>>,
           maps:get(M, Before, none) =/= Sum],
     Now}.

%% @doc Returns the functions that specs select in `Modules', which were loaded later.
%% Modules that no wildcard or group selects are ignored. Pass specs without a
%% wildcard, too: a function gets one pattern, made of all specs that select it.
-spec later([inviso_spec:spec()], [module()], boolean()) ->
          [inviso_arm_functions:resolved()].
later(Specs, Modules, Yes) ->
    [R || M <- Modules,
          lists:any(fun(S) -> is_wild(S) andalso selects(S, M, Yes) end, Specs),
          S <- Specs, selects(S, M, Yes),
          R <- inviso_arm_functions:matching(M, S)].

selects(#{modules := one, module := M}, M, _) -> true;
selects(Spec, M, Yes) ->
    is_group(Spec) andalso has(M, Spec) andalso (Yes orelse not is_otp(M)).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
