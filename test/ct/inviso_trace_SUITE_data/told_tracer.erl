%% SPDX-License-Identifier: Apache-2.0
%% See told_tracer.c.
-module(told_tracer).
-export([load/1, enabled/3, trace/5]).
-nifs([enabled/3, trace/5]).

load(Dir) -> erlang:load_nif(filename:join(Dir, "told_tracer"), 0).
enabled(_, _, _) -> erlang:nif_error(not_loaded).
trace(_, _, _, _, _) -> erlang:nif_error(not_loaded).
