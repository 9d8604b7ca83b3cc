%% SPDX-License-Identifier: Apache-2.0
%% A module that scripts of inviso_sessions_play load repeatedly.
-module(inviso_sessions_late).

-export([f/1, g/1]).

f(X) -> [local(X)].

g(X) -> [?MODULE:f(X)].

local(X) -> X.
