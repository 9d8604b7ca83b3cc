%% SPDX-License-Identifier: Apache-2.0
%% Redaction with the command on real nodes: live, in recordings, and when a log is
%% merged.
-module(inviso_redact_live_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([well_known_keys/1, fields/1, records/1, functions_and_shapes/1, recordings/1,
         servers/1, merged/1, notes/1, mistakes/1]).

-define(LIB, inviso_command_lib).
-define(CASE, inviso_command_case).
-define(SECRET, "hunter2-4711").

-import(inviso_command_case, [call/4, run/2, name/1, file/2, has/2]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [well_known_keys, fields, records, functions_and_shapes, recordings, servers,
     merged, notes, mistakes].

init_per_suite(Config) -> ?CASE:init_suite(Config).

end_per_suite(Config) -> ?CASE:end_suite(Config).

init_per_testcase(Case, Config) ->
    NewConfig = ?CASE:init(Case, Config),
    ok = shop(NewConfig),
    NewConfig.

end_per_testcase(_Case, Config) -> ?CASE:stop(Config).

%% Loads a module on the node, and starts a process that calls its login/2 again and again.
shop(Config) ->
    ok = ?CASE:module(
            Config, redact_shop, [debug_info],
            "-record(user, {name, password, age = 7}).\n"
            "loop() -> _ = login(#user{name = bob, password = \"" ?SECRET "\"},"
            " [{password, <<\"" ?SECRET "\">>}, {shown, 'shown-4711'}]),\n"
            "  _ = head(#{\"Set-Cookie\" => <<\"" ?SECRET "\">>}),\n"
            "  timer:sleep(5), loop().\n"
            "login(U, _) -> {ok, U#user.password}.\nhead(H) -> H.\n"),
    _ = call(Config, erlang, spawn, [redact_shop, loop, []]),
    ok.

%% Returns the output and the messages of a trace of ten events.
trace(Config, Args) ->
    #{status := 0, out := Out, err := Err} =
        run(Config, ["trace", "-n", name(Config), "--events", "10", "--width",
                     "0" | Args]),
    {Out, Err}.

%% Fails if the text contains the secret, as text or as a list of numbers.
has_no_secret(Text) ->
    Numbers = lists:join(",", [integer_to_list(C) || C <- ?SECRET]),
    [] = [{W, Text} || W <- [?SECRET, lists:flatten(Numbers)],
                       string:find(Text, W) =/= nomatch],
    ok.

well_known_keys(Config) ->
    {Out, _} = trace(Config, ["redact_shop:head/1"]),
    ok = has_no_secret(Out),
    ok = has(Out, ["#{\"Set-Cookie\" => <redacted:binary>}"]),
    ok = has(Out, ["values were redacted (--redact none shows them)"]),
    {Json, Summary} = trace(Config, ["--json", "redact_shop:head/1"]),
    ok = has_no_secret(Json),
    [true = maps:get(<<"redacted">>, E) || E <- ?LIB:json(Json)],
    ok = has(Summary, ["\"redacted\":"]),
    {Shown, _} = trace(Config, ["--redact", "none", "redact_shop:head/1"]),
    ok = has(Shown, [?SECRET]),
    nomatch = string:find(Shown, "redacted"),
    {Other, _} = trace(Config, ["--redact", "none,shown",
                                "redact_shop:login/2"]),
    ok = has(Other, [?SECRET, "{shown,<redacted:atom>}"]).

%% A rule for a key also applies to a record field with this name. This is also true for a field
%% that a new version of the module has added.
fields(Config) ->
    Args = ["--redact", "redact_shop:login/2 -> -", "redact_shop:login/2"],
    {Out, _} = trace(Config, Args),
    ok = has_no_secret(Out),
    ok = has(Out, ["#user{name = bob,password = <redacted:list>"]),
    {Wild, _} = trace(Config, ["--redact", "*ge" | Args]),
    ok = has(Wild, ["age = <redacted:integer>"]),
    {Shown, _} = trace(Config, ["--redact", "none", "redact_shop:login/2"]),
    ok = has(Shown, [?SECRET, "age = 7"]),
    Log = file(Config, "fields.log"),
    #{status := 0} =
        run(Config, ["record", "-n", name(Config), "-o", Log, "--events", "20",
                     "--redact", "none", "redact_shop:login/2"]),
    #{status := 0, out := Merged} =
        run(Config, ["merge", "--redact", "default", Log]),
    ok = has_no_secret(Merged),
    ok = has(Merged, ["password = <redacted:list>"]).

%% A rule for the arguments of init/1 also applies to the functions with which a server is started.
servers(Config) ->
    Dir = ?config(dir, Config),
    File = filename:join(Dir, "redact_server"),
    ok = file:write_file(
           File ++ ".erl",
           "-module(redact_server).\n-behaviour(gen_server).\n"
           "-export([loop/0, init/1, handle_call/3, handle_cast/2]).\n"
           "loop() -> {ok, P} = gen_server:start(redact_server,"
           " \"" ?SECRET "\", []), gen_server:stop(P),"
           " timer:sleep(5), loop().\n"
           "init(S) -> {ok, length(S)}.\n"
           "handle_call(_, _, S) -> {reply, ok, S}.\n"
           "handle_cast(_, S) -> {noreply, S}.\n"),
    {ok, _} = compile:file(File, [{outdir, Dir}]),
    ok = file:change_mode(File ++ ".beam", 8#644),
    _ = call(Config, erlang, spawn, [redact_server, loop, []]),
    Traced = ["--events", "300", "redact_server", "gen_server", "gen",
              "proc_lib", "procs"],
    {Shown, _} = trace(Config, Traced),
    true = length(string:split(Shown, ?SECRET, all)) > 10,
    {Out, _} = trace(Config, ["--redact", "redact_server:init(-)" | Traced]),
    ok = has_no_secret(Out),
    ok = has(Out, ["redact_server:init(<redacted:list>)", "gen:init_it(",
                   "proc_lib:init_p("]).

records(Config) ->
    {Out, _} = trace(Config, ["--redact", "#user.password",
                              "--redact", "redact_shop:login/2 -> -",
                              "redact_shop:login/2"]),
    ok = has_no_secret(Out),
    ok = has(Out, ["password = <redacted:list>", "name = bob", "shown-4711"]),
    Hrl = file(Config, "user.hrl"),
    ok = file:write_file(Hrl, "-record(user, {name, password, age}).\n"),
    {ByFile, _} = trace(Config, ["--records", Hrl, "--redact",
                                 "#user{name, password}",
                                 "--redact", "redact_shop:login/2 -> -",
                                 "redact_shop:login/2"]),
    ok = has_no_secret(ByFile),
    ok = has(ByFile, ["name = <redacted:atom>", "password = <redacted:list>"]).

functions_and_shapes(Config) ->
    {Out, _} = trace(Config, ["--redact", "redact_*:login(-, _) -> -",
                              "redact_shop:login/2"]),
    ok = has_no_secret(Out),
    ok = has(Out, ["login(<redacted:tuple>,[{password,<redacted:binary>}",
                   "-> <redacted:tuple>"]),
    {All, _} = trace(Config, ["--redact", "all", "redact_shop"]),
    ok = has_no_secret(All),
    %% Searches for "shown-4711", because a time can also contain the digits 4711.
    nomatch = string:find(All, "shown-4711"),
    ok = has_no_secret(All),
    ok = has(All, ["redact_shop:login(", "{shown,<redacted:atom>}"]).

%% No file may contain the secret: neither a file on the node nor a file of the command. This must
%% be true while the recording runs, and afterwards.
recordings(Config) ->
    Rules = ["--redact", "#user.password", "--redact",
             "redact_shop:login/2 -> -"],
    [begin
         Log = file(Config, Name),
         #{status := 0, err := Err, out := Out} =
             run(Config, ["record", "-n", name(Config), "-o", Log, "--events",
                          "100"] ++ More ++ Rules
                     ++ ["redact_shop:login/2 -> return"]),
         ok = has([Out, Err], ["values were redacted"]),
         nomatch = binary:match(files(Log), <<?SECRET>>),
         ok = merged_hides(Config, Log, [])
     end || {Name, More} <- [{"a.log", []}, {"b.log", ["--compress"]},
                             {"c.log", ["--keep", "newest"]}]].

%% Returns the contents of all files of a recording.
files(Dir) ->
    {ok, [_ | _] = Names} = file:list_dir(Dir),
    iolist_to_binary([element(2, {ok, _} = file:read_file(filename:join(Dir, N)))
                      || N <- Names]).

merged_hides(Config, Log, More) ->
    [begin
         #{status := 0, out := Out} =
             run(Config, ["merge", "--format", Format, Log | More]),
         ok = has_no_secret(Out),
         ok = has(Out, ["redacted", "shown-4711"])
     end || Format <- ["text", "json", "classic", "etf"]],
    ok.

%% A log is recorded without rules, and redacted when it is merged.
merged(Config) ->
    Log = file(Config, "plain.log"),
    #{status := 0} =
        run(Config, ["record", "-n", name(Config), "-o", Log, "--events", "100",
                     "--redact", "none", "redact_shop -> return"]),
    true = binary:match(files(Log), <<?SECRET>>) =/= nomatch,
    Hrl = file(Config, "user.hrl"),
    ok = file:write_file(Hrl, "-record(user, {name, password, age}).\n"),
    ok = merged_hides(Config, Log,
                      ["--records", Hrl, "--redact", "default,#user.password",
                       "--redact", "redact_shop:login/2 -> -"]),
    #{status := 0, out := Out} =
        run(Config, ["merge", "--redact", "all", Log]),
    %% Searches for "shown-4711", because a time can also contain the digits 4711.
    nomatch = string:find(Out, "shown-4711"),
    ok = has_no_secret(Out),
    ok = has(Out, ["login(", "<redacted:list>"]),
    %% A filter sees a mark, such as <redacted:binary>, in the place of the value. A mark is equal
    %% to no value.
    Filter = "redact_shop:head(#{\"Set-Cookie\" := <<\"" ?SECRET "\">>})",
    #{status := 0} = run(Config, ["merge", "--filter", Filter, Log]),
    #{status := 5, err := Said} =
        run(Config, ["merge", "--redact", "default", "--filter", Filter, Log]),
    ok = has(Said, ["could not decide"]).

%% A rule for a function that the node does not have redacts nothing, and the command says so.
notes(Config) ->
    Said = fun(Rules) ->
                   #{status := 0, err := Err, out := Out} =
                       run(Config, ["trace", "-n", name(Config), "--dry-run",
                                    "--redact", Rules, "redact_shop:head/1"]),
                   string:find([Out, Err], "has no function") =/= nomatch
           end,
    [{true, R} = {Said(R), R}
     || R <- ["redact_shop:logni(_, -)", "redact_shap:login/2", "No.Such.f(-)",
              "redact_shop:logni", "'redact_shop':'logni' -> -"]],
    [{false, R} = {Said(R), R}
     || R <- ["redact_shop:login(_, -)", "redact_shop:login", "*:login/2",
              "lists:seq/2 -> -", "a.key,'x:y',*tok*,none,all"]],
    ok.

mistakes(Config) ->
    [begin
         #{status := Status, err := Err} =
             run(Config, ["trace", "-n", name(Config)] ++ Args
                     ++ ["redact_shop"]),
         {Status, _} = {2, Err},
         ok = has(Err, [Words])
     end || {Args, Words} <-
                [{["--redact", "m:f(x)"], "--redact: m:f(x): an argument is"},
                 {["--redact", "a,"], "a rule is expected after the comma"},
                 {["--redact", "#user.passwort"],
                  "the record has no field passwort; it has name, password, "
                  "age"},
                 {["--dry-run", "--redact", "#user.passwort"],
                  "the record has no field passwort"},
                 {["--redact", "#nobody.x"],
                  "no module that is traced here has a record nobody"}]].
