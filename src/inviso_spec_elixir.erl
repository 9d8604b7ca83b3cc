%% SPDX-License-Identifier: Apache-2.0
%% @doc Elixir's notation, as Erlang's tokens.
-module(inviso_spec_elixir).

-export([tokens/1]).

%% @doc The tokens that mean in Erlang what the text means in Elixir.
-spec tokens(string()) -> {ok, [tuple()]} | {error, term(), iolist()}.
tokens(_Chars) ->
    {error, {1, 1}, "not yet"}.
