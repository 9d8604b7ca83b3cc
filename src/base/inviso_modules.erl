%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds the modules of this node whose names match a pattern.
%%
%% ```
%% Module = atom()                     that module; '_': all loaded modules
%%        | "ModRegexp"                the whole name matches
%%        | {"DirRegexp", "ModRegexp"} the whole name matches, and a part of the
%%                                     directory with the module's file matches
%% '''
%%
%% The second and third form also match modules that are not loaded yet, unless the
%% caller asks for loaded ones only. The third form never matches preloaded and
%% cover compiled modules, because these come from no directory.
-module(inviso_modules).

-export([expand/2, is_string/1]).

-export_type([spec/0]).

-type spec() :: module() | '_' | string() | {string(), string()}.

%% @doc Returns the modules that match, sorted. Returns `error' if the first argument
%% has none of the forms of `Module' above.
-spec expand(term(), loaded | loadable) -> {ok, [module() | '_']} | error.
expand(M, _Which) when is_atom(M) ->
    {ok, [M]};
expand({Dir, Mod}, Which) ->
    matching(Dir, Mod, Which);
expand(Mod, Which) ->
    matching(any, Mod, Which).

matching(Dir, Mod, Which) ->
    try {directory(Dir), whole_name(Mod)} of
        {DirRe, ModRe} ->
            Files = [MF || {M, _} = MF <- files(Which),
                           matches(atom_to_list(M), ModRe)],
            {ok, lists:usort([M || {M, File} <- Files, is_in(File, DirRe)])}
    catch
        throw:bad -> error
    end.

directory(any) -> any;
directory(Re) -> compiled(Re).

whole_name(Re) ->
    _ = compiled(Re),
    compiled("^(?:" ++ Re ++ ")$").

compiled(Re) ->
    case is_string(Re) andalso re:compile(Re, [unicode, dollar_endonly]) of
        {ok, Compiled} -> Compiled;
        _ -> throw(bad)
    end.

matches(Text, Re) ->
    re:run(Text, Re, [{capture, none}]) =:= match.

is_in(_File, any) ->
    true;
is_in(File, DirRe) ->
    is_list(File) andalso File =/= ""
        andalso matches(filename:dirname(File), DirRe).

%% Returns modules with their files. For a loaded module this is the file of the
%% loaded code, even if the code path contains another file, because calls go to
%% the loaded code.
files(loaded) ->
    code:all_loaded();
files(loadable) ->
    Loaded = maps:from_list(code:all_loaded()),
    Found = [{list_to_atom(filename:basename(File, ".beam")),
              filename:join(Dir, File)}
             || Dir <- code:get_path(), is_list(Dir),
                {ok, Files} <- [file:list_dir(Dir)],
                File <- Files, filename:extension(File) =:= ".beam",
                length(filename:basename(File, ".beam")) < 256],
    maps:to_list(maps:merge(maps:from_list(lists:reverse(Found)), Loaded)).

%% @doc Returns true if a term is a string that is not empty. The empty string
%% does not count, because it is the same term as an empty list of nodes.
-spec is_string(term()) -> boolean().
is_string([_ | _] = Text) -> io_lib:char_list(Text);
is_string(_) -> false.
