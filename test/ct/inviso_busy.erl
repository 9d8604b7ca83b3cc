%% SPDX-License-Identifier: Apache-2.0
%% @doc A NIF that blocks its process, so that the process handles no Erlang
%% signal.
-module(inviso_busy).

-export([load/0, wait/1]).

-spec load() -> ok | {error, term()}.
load() ->
    Dir = filename:dirname(code:which(?MODULE)),
    case erlang:load_nif(filename:join(Dir, ?MODULE_STRING), 0) of
        {error, {reload, _}} -> ok;
        Loaded -> Loaded
    end.

%% @doc Blocks the scheduler for a number of milliseconds, fewer than 1000.
-spec wait(non_neg_integer()) -> ok.
wait(_Ms) ->
    erlang:nif_error(not_loaded).
