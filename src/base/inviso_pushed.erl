%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists the modules that are brought to nodes. The build combines many modules
%% into each of these (tools/combine.escript).
-module(inviso_pushed).

-export([is_brought/0, combined/0, rooms/0, dir/0, list/0]).

%% @doc Returns true if the running code was brought, and false if it is installed.
-spec is_brought() -> boolean().
is_brought() ->
    code:is_loaded(?MODULE) =:= {file, "inviso_pushed"}.

%% @doc Returns the names of the combined modules.
-spec combined() -> [module()].
combined() ->
    maps:get(combined, made()).

%% @doc Returns the modules that were combined, by room.
-spec rooms() -> [{Room :: atom(), [module()]}].
rooms() ->
    maps:get(rooms, made()).

%% Reads the list of modules. Without this file inviso cannot be brought to a node.
made() ->
    case file:consult(list()) of
        {ok, [Made]} -> Made;
        {error, _} -> #{combined => [], rooms => []}
    end.

%% @doc Returns the directory of the combined modules and their list.
-spec dir() -> file:filename().
dir() ->
    filename:join(inviso_priv:dir(), "pushed").

%% @doc Returns the file that lists the modules.
-spec list() -> file:filename().
list() ->
    filename:join(dir(), "modules").
