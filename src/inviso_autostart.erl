%% SPDX-License-Identifier: Apache-2.0
%% @doc What starts with the node, from a file: see {@link
%% inviso_autostart_conf}.
%%
%% Another module can take its place (`inviso_autostart_mod'); it exports
%% `autostart(Arg) -> {MFA, Options, Tag} | term()', with the Arg of the
%% application. Another answer than such a tuple means that nothing starts.
-module(inviso_autostart).

-export([autostart/1, which_config_file/0]).

%% @doc Reads the file and counts this start. No file is no error.
-spec autostart(term()) ->
          {{module(), atom(), [term()]} | false, [term()], term()} | true.
autostart(_Arg) ->
    case inviso_autostart_conf:file() of
        {ok, File} -> from(inviso_autostart_conf:count_down(File));
        no_autostart -> true;
        {error, _} = E -> from(E)
    end.

from({ok, Terms}) ->
    {proplists:get_value(mfa, Terms, false),
     proplists:get_value(options, Terms, []),
     proplists:get_value(tag, Terms, default_tag)};
from(done) ->
    true;
from({error, {_File, enoent}}) ->
    true;
from({error, {File, Why}}) ->
    _ = inviso_rt_auto:log("nothing is started, because of ~tp: ~tp",
                           [File, Why]),
    true.

%% @doc The name of the file.
-spec which_config_file() -> file:filename() | no_autostart | {error, term()}.
which_config_file() ->
    case inviso_autostart_conf:file() of
        {ok, File} -> File;
        Other -> Other
    end.
