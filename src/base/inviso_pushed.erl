%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists the modules that a client sends to a node on which inviso is not
%% installed. The build combines many modules into each of them
%% (tools/combine.escript).
-module(inviso_pushed).

-export([is_brought/0, combined/0, rooms/0, dir/0, list/0]).

%% @doc Returns true if a client has sent the running code to this node, and false
%% if the code is installed.
-spec is_brought() -> boolean().
is_brought() ->
    code:is_loaded(?MODULE) =:= {file, "inviso_pushed"}.

%% @doc Returns the names of the modules that are sent to nodes.
-spec combined() -> [module()].
combined() ->
    maps:get(combined, made()).

%% @doc Returns the modules that the build has combined, grouped by folder of the
%% source.
-spec rooms() -> [{Room :: atom(), [module()]}].
rooms() ->
    maps:get(rooms, made()).

%% Reads the list of modules. If the file is missing, inviso's code cannot be sent
%% to a node.
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
