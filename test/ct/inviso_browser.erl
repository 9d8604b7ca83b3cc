%% SPDX-License-Identifier: Apache-2.0
%% @doc Opens pages in a headless Chromium.
-module(inviso_browser).

-export([dom/3]).

-define(LIB, inviso_trace_lib).

%% @doc Opens a page in the browser. Returns the page's DOM as HTML, after the scripts have run.
%% Fails if a script of the page reports an error.
-spec dom([tuple()], file:filename(), string()) -> binary().
dom(Config, Chromium, Page) ->
    Command = "exec \"$0\" --headless --no-sandbox --disable-gpu --dump-dom "
        "--enable-logging=stderr \"$@\" 2>\"$LOG\"",
    Log = ?LIB:name(Config, "browser.log"),
    Port = open_port({spawn_executable, "/bin/sh"},
                     [{args, ["-c", Command, Chromium, "--user-data-dir=" ++ ?LIB:dir(Config),
                              "file://" ++ Page]},
                      {env, [{"LOG", Log}]}, binary, exit_status, hide]),
    Dom = collect(Port, <<>>),
    {ok, Said} = file:read_file(Log),
    %% Chromium's own pages write to this log, too. Their lines are skipped.
    nomatch = re:run(Said, "CONSOLE(?!.*source: chrome://).*"),
    nomatch = re:run(Dom, "data-error="),
    Dom.

collect(Port, Said) ->
    receive
        {Port, {data, More}} -> collect(Port, <<Said/binary, More/binary>>);
        {Port, {exit_status, 0}} -> Said
    end.
