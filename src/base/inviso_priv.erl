%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds the directory in which the libraries, the spooler and the command are
%% installed.
-module(inviso_priv).

-export([dir/0]).

%% @doc Returns the directory priv of the application `inviso'. If the code path
%% has no such application, returns the directory priv beside this module's ebin/.
%% So inviso also runs from a source tree, whatever the name of its directory.
-spec dir() -> file:filename().
dir() ->
    case code:priv_dir(inviso) of
        {error, bad_name} ->
            Beam = code:which(?MODULE),
            Ebin = filename:dirname(filename:absname(Beam)),
            filename:join(filename:dirname(Ebin), "priv");
        Dir ->
            Dir
    end.
