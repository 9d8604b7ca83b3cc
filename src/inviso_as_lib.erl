%% SPDX-License-Identifier: Apache-2.0
%% @doc Writes what shall start with nodes (see {@link inviso_autostart_conf})
%% from another node. The node must run and have inviso installed: its own
%% parameters say where the file is.
-module(inviso_as_lib).

-export([setup_autostart/7, setup_autostart/8, setup_autostart/9,
         set_repeat/2, inhibit_autostart/1]).

-type step() :: which_config_file | consult | write_file.
-type result() :: ok | {error, {step(), term()} | {badrpc, {step(), term()}}}.

-define(TIMEOUT, 30000).
-define(TAG, inviso_std_ref).

%% @doc Has a node begin to trace the next Repeat times it starts (or always, if
%% that is `always'), as {@link inviso_autostart_server} says.
-spec setup_autostart(node(), non_neg_integer() | always, [inviso:option()],
                      term(), [term()], inviso_case:bindings(),
                      [inviso_case:translation()]) -> result().
setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                Translations) ->
    setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                    Translations, ?TAG).

%% @doc The same, with the tag of the incarnation.
-spec setup_autostart(node(), non_neg_integer() | always, [inviso:option()],
                      term(), [term()], inviso_case:bindings(),
                      [inviso_case:translation()], term()) -> result().
setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                Translations, Tag) ->
    setup_autostart(Node, Repeat, Options, TracerData, CmdFiles, Bindings,
                    Translations, Tag, off).

%% @doc The same, with a debug level of the initiator.
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

%% @doc How often more what is in the file shall start.
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

%% @doc Nothing starts with the node any more.
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
