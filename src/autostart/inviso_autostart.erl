%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads the configuration file ({@link inviso_autostart_conf}). The file says
%% whether tracing starts when the node boots, and which function starts it.
%%
%% The parameter `inviso_autostart_mod' can name another module instead of this
%% one. Such a module exports `autostart(Arg) -> {MFA, Options, Tag} | term()',
%% where Arg is the argument of the application's start. If the function returns a
%% term other than {MFA, Options, Tag}, nothing starts.
-module(inviso_autostart).

-export([autostart/1, which_config_file/0]).

%% @doc Reads the configuration file, and decrements the number of starts in it. A
%% missing file is not an error.
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

%% @doc Returns the name of the configuration file.
-spec which_config_file() -> file:filename() | no_autostart | {error, term()}.
which_config_file() ->
    case inviso_autostart_conf:file() of
        {ok, File} -> File;
        Other -> Other
    end.
