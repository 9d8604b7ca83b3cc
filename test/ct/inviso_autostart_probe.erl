%% SPDX-License-Identifier: Apache-2.0
%% @doc Code for inviso_autostart_SUITE: an application that is traced from its
%% first call, and callbacks of autostart.
-module(inviso_autostart_probe).

-export([start/2, stop/1, first/1]).
-export([autostart/1, conf/1, tracerdata/1, forever/0, said/1, tail/1,
         status/0]).

start(_Type, _Args) ->
    booted = first(booted),
    {ok, spawn_link(timer, sleep, [infinity])}.

stop(_) -> ok.

first(X) -> X.

%% Returns the value that the test has stored. If the value is `crash' or
%% `hang', crashes or hangs instead.
autostart(Arg) -> answer(autostart, Arg).

conf(Node) -> answer(conf, Node).

tracerdata(Arg) -> {file, Arg}.

answer(What, Arg) ->
    case application:get_env(kernel, {?MODULE, What}) of
        {ok, crash} -> error({crash, Arg});
        {ok, hang} -> timer:sleep(infinity);
        {ok, Answer} -> Answer
    end.

forever() ->
    true = register(forever, self()),
    timer:sleep(infinity).

said(X) ->
    application:set_env(kernel, {?MODULE, said}, X).

tail(Args) -> tl(Args).

%% Returns {State, timer} if a timer of the runtime component runs, and {State,
%% none} if not. Returns `undefined' if there is no runtime component.
status() ->
    case whereis(inviso_rt) of
        undefined ->
            undefined;
        Rt ->
            {ok, {State, running}} = gen_server:call(Rt, get_status),
            Left = [L || R <- tuple_to_list(sys:get_state(Rt)),
                         is_tuple(R), T <- tuple_to_list(R),
                         is_reference(T), L <- [erlang:read_timer(T)],
                         is_integer(L)],
            {State, case Left of [] -> none; _ -> timer end}
    end.
