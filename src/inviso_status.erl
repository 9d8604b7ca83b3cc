%% SPDX-License-Identifier: Apache-2.0
%% @doc What is to be known of tracing on a node, for `inviso status'.
-module(inviso_status).

-export([node/0]).

%% @doc
%% <dl>
%% <dt>otp</dt><dd>{Release, Erts}, binaries</dd>
%% <dt>node</dt><dd>the node's name, a binary</dd>
%% <dt>os_pid</dt><dd>an integer</dd>
%% <dt>sessions</dt><dd>the status of each session (control.h, section 5)</dd>
%% <dt>clients</dt><dd>the owners of all who are attached</dd>
%% <dt>others</dt><dd>tracing that is not of sessions of ours, see
%%   {@link other()}</dd>
%% </dl>
-spec node() -> map().
node() ->
    #{otp => {list_to_binary(erlang:system_info(otp_release)),
              list_to_binary(erlang:system_info(version))},
      node => atom_to_binary(erlang:node()),
      os_pid => list_to_integer(os:getpid()),
      sessions => [],
      clients => [],
      others => []}.
