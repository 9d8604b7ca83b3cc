%% SPDX-License-Identifier: Apache-2.0
%% @doc The application: a supervisor, and under it the runtime component where
%% it is to start with the node. See {@link inviso_rt_auto}.
%%
%% Parameters (of `inviso'; the first two also of `runtime_tools', where old
%% configurations have them):
%%
%% ```
%% inviso_autostart_mod    Module       exports autostart/1 (inviso_autostart)
%% inviso_autostart_conf   see inviso_autostart_conf
%% inviso_autostart_wait   ms           how long the boot waits at most until
%%                                      tracing is as it should be (5000)
%% '''
%%
%% Whatever goes wrong is logged, and the node boots.
-module(inviso_app).

-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1]).
-export([init/1]).

%% Closing a log may take that long.
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
    {ok, {#{}, [#{id => inviso_rt,
                  start => {inviso_rt_server, start_link_auto, [Arg]},
                  restart => temporary,
                  shutdown => ?SHUTDOWN_MS}]}}.
