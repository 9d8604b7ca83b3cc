%% SPDX-License-Identifier: Apache-2.0
%% @doc The application. Its supervisor starts a runtime component if the
%% configuration requests this: see {@link inviso_rt_auto}.
%%
%% Parameters of the application `inviso'. The first two may also be
%% parameters of `runtime_tools', as in old configurations:
%%
%% ```
%% inviso_autostart_mod    Module       exports autostart/1 (inviso_autostart)
%% inviso_autostart_conf   see inviso_autostart_conf
%% inviso_autostart_wait   ms           how long the boot waits at most until
%%                                      tracing has begun (5000)
%% '''
%%
%% Errors are logged and do not prevent the node from booting.
-module(inviso_app).

-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1]).
-export([init/1]).

%% How long the runtime component may take to end. It may have to close a log.
-define(SHUTDOWN_MS, 16000).

%% @private
start(_Type, Arg) ->
    {ok, Supervisor} = supervisor:start_link({local, inviso_sup}, ?MODULE, Arg),
    ok = inviso_rt_auto:await(),
    {ok, Supervisor}.

%% @private
stop(_) ->
    ok.

%% @private
init(Arg) ->
    Mod = inviso_rt_auto:env(inviso_autostart_mod, inviso_autostart),
    {ok, {#{}, [#{id => inviso_rt,
                  start => {inviso_rt_server, start_link_auto, [Mod, Arg]},
                  restart => temporary,
                  shutdown => ?SHUTDOWN_MS}]}}.
