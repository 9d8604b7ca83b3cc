%% SPDX-License-Identifier: Apache-2.0
%% @doc Common code of suites that run the command on a stock node: starts a node and makes a
%% directory for each case, loads modules on the node, and checks outputs. Config has `base', `node'
%% and `dir'.
-module(inviso_command_case).

-include_lib("common_test/include/ct.hrl").

-export([init_suite/1, end_suite/1, init/2, stop/1]).
-export([call/4, module/4, opts/1, run/2, name/1, file/2, has/2, has_not/2]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

%% @doc For init_per_suite/1.
-spec init_suite([tuple()]) -> [tuple()] | {skip, string()}.
init_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

%% @doc For end_per_suite/1.
-spec end_suite([tuple()]) -> ok.
end_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

%% @doc Starts the case's node, and makes a directory that the node can read.
-spec init(atom(), [tuple()]) -> [tuple()].
init(Case, Config) ->
    Node = ?NODE:start(?config(base, Config), #{uid => ?LIB:some_uid()}),
    Dir = filename:join(?config(base, Config), atom_to_list(Case)),
    ok = filelib:ensure_path(Dir),
    ok = file:change_mode(Dir, 8#777),
    [{node, Node}, {dir, Dir} | Config].

%% @doc Stops the case's node.
-spec stop([tuple()]) -> term().
stop(Config) ->
    ?NODE:stop(?config(node, Config)).

%% @doc Calls a function on the node.
-spec call([tuple()], module(), atom(), [term()]) -> term().
call(Config, M, F, Args) -> ?NODE:call(?config(node, Config), M, F, Args).

%% @doc Compiles a module, which exports all its functions, and loads it on the node.
%% If it is loaded already, the new code replaces the old.
-spec module([tuple()], module(), [compile:option()], iodata()) -> ok.
module(Config, Name, Opts, Text) ->
    Dir = ?config(dir, Config),
    File = filename:join(Dir, atom_to_list(Name)),
    ok = file:write_file(File ++ ".erl",
                         ["-module(", atom_to_list(Name), ").\n"
                          "-compile(export_all).\n", Text]),
    {ok, Name} = compile:file(File, [nowarn_export_all, {outdir, Dir} | Opts]),
    ok = file:change_mode(File ++ ".beam", 8#644),
    true = call(Config, code, add_patha, [Dir]),
    _ = call(Config, code, purge, [Name]),
    {module, Name} = call(Config, code, load_file, [Name]),
    ok.

%% @doc Returns the options with which inviso_command_lib runs the command.
-spec opts([tuple()]) -> map().
opts(Config) ->
    #{cookie := Cookie, uid := Uid} = ?config(node, Config),
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

%% @doc Runs the command.
-spec run([tuple()], [string()]) -> inviso_command_lib:result().
run(Config, Args) -> ?LIB:run(opts(Config), Args).

%% @doc Returns the name of the node.
-spec name([tuple()]) -> string().
name(Config) -> maps:get(name, ?config(node, Config)).

%% @doc Returns the path of a file in the case's directory.
-spec file([tuple()], string()) -> file:filename().
file(Config, Name) -> filename:join(?config(dir, Config), Name).

%% @doc Checks that the text contains all these words.
-spec has(unicode:chardata(), [unicode:chardata()]) -> ok.
has(Text, Words) ->
    [] = [{W, Text} || W <- Words, string:find(Text, W) =:= nomatch],
    ok.

%% @doc Checks that the text contains none of these words.
-spec has_not(unicode:chardata(), [unicode:chardata()]) -> ok.
has_not(Text, Words) ->
    [] = [{W, Text} || W <- Words, string:find(Text, W) =/= nomatch],
    ok.
