%% SPDX-License-Identifier: Apache-2.0
%% @doc Writes the autostart files of nodes ({@link inviso_autostart_conf}) from
%% another node. Each node must be running and have inviso installed, because
%% parameters of the application inviso on that node set the location of the file.
-module(inviso_as_lib).

-export([setup_autostart/7, setup_autostart/8, setup_autostart/9,
         set_repeat/2, inhibit_autostart/1]).

-type step() :: which_config_file | consult | write_file.
-type result() :: ok | {error, {step(), term()} | {badrpc, {step(), term()}}}.

-define(TIMEOUT, 30000).
-define(TAG, inviso_std_ref).

%% @doc Makes a node trace at its next `Repeat' starts (`always': at every
%% start). {@link inviso_autostart_server} describes the parameters.
-spec setup_autostart(node(), non_neg_integer() | always, [inviso:option()],
                      term(), [term()], inviso_case:bindings(),
                      [inviso_case:translation()]) -> result().
setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                Translations) ->
    setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                    Translations, ?TAG).

%% @doc Like {@link setup_autostart/7}, with the tag of the runtime component.
-spec setup_autostart(node(), non_neg_integer() | always, [inviso:option()],
                      term(), [term()], inviso_case:bindings(),
                      [inviso_case:translation()], term()) -> result().
setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                Translations, Tag) ->
    setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                    Translations, Tag, off).

%% @doc Like {@link setup_autostart/8}, with a debug level for
%% {@link inviso_autostart_server}.
-spec setup_autostart(node(), non_neg_integer() | always, [inviso:option()],
                      term(), [term()], inviso_case:bindings(),
                      [inviso_case:translation()], term(), term()) ->
          result().
setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                Translations, Tag, Debug) ->
    Params = [{tracerdata, TracerData}, {cmdfiles, CmdFiles},
              {bindings, Bindings}, {translations, Translations},
              {debug, Debug}],
    Terms = [{repeat, Repeat} || Repeat =/= always]
        ++ [{mfa, {inviso_autostart_server, init, [Params]}},
            {options, Options}, {tag, Tag}],
    with_file(Node, fun(File) -> write(Node, File, Terms) end).

%% @doc Sets how many of a node's next starts are traced.
-spec set_repeat(node(), non_neg_integer()) -> result().
set_repeat(Node, N) ->
    with_file(Node, fun(File) -> set_repeat(Node, File, N) end).

set_repeat(Node, File, N) ->
    case on(Node, consult, inviso_autostart_conf, read, [File]) of
        {ok, {ok, Terms}} ->
            Rest = lists:keydelete(repeat, 1, Terms),
            write(Node, File, [{repeat, N} | Rest]);
        {ok, {error, Why}} ->
            {error, {consult, Why}};
        {error, _} = E ->
            E
    end.

%% @doc Cancels the autostart of a node.
-spec inhibit_autostart(node()) -> result().
inhibit_autostart(Node) ->
    set_repeat(Node, 0).

with_file(Node, Fun) ->
    case on(Node, which_config_file, inviso_autostart, which_config_file, []) of
        {ok, [_ | _] = File} -> Fun(File);
        {ok, {error, Why}} -> {error, {which_config_file, Why}};
        {ok, Other} -> {error, {which_config_file, Other}};
        {error, _} = E -> E
    end.

write(Node, File, Terms) ->
    case on(Node, write_file, inviso_autostart_conf, write, [File, Terms]) of
        {ok, ok} -> ok;
        {ok, {error, Why}} -> {error, {write_file, Why}};
        {error, _} = E -> E
    end.

on(Node, Step, M, F, Args) ->
    try
        {ok, erpc:call(Node, M, F, Args, ?TIMEOUT)}
    catch
        error:{erpc, Why} -> {error, {badrpc, {Step, Why}}};
        error:{exception, Why, _} -> {error, {badrpc, {Step, Why}}};
        exit:{exception, Why} -> {error, {badrpc, {Step, Why}}}
    end.
