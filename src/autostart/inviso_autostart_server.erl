%% SPDX-License-Identifier: Apache-2.0
%% @doc The standard autostarter: starts tracing when a node starts, and runs
%% trace cases. The term `mfa' in the file of {@link inviso_autostart_conf}
%% names it:
%%
%% ```
%% {mfa, {inviso_autostart_server, init, [Parameters]}}.
%%
%% {tracerdata, TracerData | {mfa, {M, F, Args}}}   mfa: M:F returns it
%% {cmdfiles, [Spec]}
%% {bindings, [{Variable, Value}]}                  for all trace cases
%% {translations, Translations}                     see inviso_case
%% {debug, off | Level}                             prints each step
%%
%% Spec = Item | [Item]           the items of a list run one after the other
%% Item = "File"                  a trace case
%%      | {inviso, F, Args}       a call, to be translated as in a trace case
%%      | {M, F, Args}            a call
%%      | {Item, Bindings}        for this Item, Bindings override `bindings'
%% '''
%%
%% All Specs run at the same time. Trace cases call functions of {@link
%% inviso_rt}, or other functions that `translations' translates into them. An
%% error is logged with file and line. It ends only the Spec in which it occurs.
-module(inviso_autostart_server).

-export([init/1]).

%% @doc Starts tracing, runs the trace cases, and waits until all trace cases
%% have ended.
-spec init([{atom(), term()}]) -> ok.
init(Params) ->
    case init_tracing(param(tracerdata, Params, none)) of
        none -> ok;
        ok -> run(param(cmdfiles, Params, []), Params)
    end.

param(Name, Params, Default) ->
    proplists:get_value(Name, Params, Default).

init_tracing(none) ->
    none;
init_tracing({mfa, {M, F, Args}}) ->
    init_tracing(apply(M, F, Args));
init_tracing(TracerData) ->
    case inviso_rt:init_tracing(TracerData) of
        {ok, Results} ->
            _ = [inviso_rt_auto:log("~tp: ~tp", [Log, Why])
                 || {Log, {error, Why}} <- Results],
            ok;
        {error, _} = E ->
            exit({inviso, E})
    end.

%% Runs each Spec in a separate process. These processes are linked to the calling
%% process, so they end if the calling process is killed.
run(Specs, Params) ->
    Runners = [spawn_monitor_link(fun() -> items(items_of(S), Params) end)
               || S <- Specs],
    _ = [receive {'DOWN', Ref, process, _, _} -> ok end || Ref <- Runners],
    ok.

spawn_monitor_link(Fun) ->
    {_Pid, Ref} = spawn_opt(Fun, [link, monitor]),
    Ref.

items_of([C | _] = File) when is_integer(C) -> [File];
items_of(Items) when is_list(Items) -> Items;
items_of(Item) -> [Item].

items([], _Params) ->
    ok;
items([Item | Rest], Params) ->
    Result = item(Item, [], Params),
    ok = inviso_rt_lib:debug(param(debug, Params, off), Item, Result),
    case Result of
        {error, {_, _, _} = Why} ->
            _ = inviso_rt_auto:log("~ts", [inviso_case:format_error(Why)]),
            ok;
        {error, Why} ->
            _ = inviso_rt_auto:log("~0tp: ~0tp", [Item, Why]),
            ok;
        _ ->
            items(Rest, Params)
    end.

item({Item, Bindings}, Local, Params) when is_list(Bindings) ->
    item(Item, Bindings ++ Local, Params);
item({inviso, F, Args}, Local, Params)
  when is_atom(F), length(Args) >= 0 ->
    Call = inviso_case:of_call({inviso, F, Args}, translations(Params)),
    inviso_case:run(Call, bindings(Local, Params));
item({M, F, Args}, _Local, _Params)
  when is_atom(M), is_atom(F), length(Args) >= 0 ->
    try
        {ok, apply(M, F, Args)}
    catch
        Class:Reason -> {error, {Class, Reason}}
    end;
item([_ | _] = File, Local, Params) ->
    inviso_case:run(File, bindings(Local, Params), translations(Params));
item(_, _, _) ->
    {error, no_trace_case_and_no_call}.

translations(Params) ->
    param(translations, Params, []).

%% Returns the bindings of an Item: its own bindings (`Local') and the bindings for
%% all trace cases. If both have a value for a variable, the Item's value is used.
bindings(Local, Params) ->
    lists:ukeysort(1, Local ++ param(bindings, Params, [])).
