%% SPDX-License-Identifier: Apache-2.0
%% @doc What a process does that nobody gets a word in with.
-module(inviso_busy).

-export([load/0, wait/1]).

%% @doc Loads the library that is beside this module.
-spec load() -> ok | {error, term()}.
load() ->
    Dir = filename:dirname(code:which(?MODULE)),
    case erlang:load_nif(filename:join(Dir, ?MODULE_STRING), 0) of
        {error, {reload, _}} -> ok;
        Loaded -> Loaded
    end.

%% @doc Waits so many ms, fewer than 1000; its scheduler does nothing else, and
%% no signal is looked at.
-spec wait(non_neg_integer()) -> ok.
wait(_Ms) ->
    erlang:nif_error(not_loaded).
