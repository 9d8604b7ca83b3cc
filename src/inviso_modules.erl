%% SPDX-License-Identifier: Apache-2.0
%% @doc Which modules of this node a pattern names.
%%
%% ```
%% Module = atom()                     that one; '_': all that are loaded
%%        | "ModRegexp"                the whole name matches
%%        | {"DirRegexp", "ModRegexp"} and, somewhere, the directory that it is
%%                                     or would be loaded from
%% '''
%%
%% The second and third form mean modules that can be loaded too, unless only
%% loaded ones are asked for. Those that come from no directory (preloaded and
%% cover compiled ones) are not among those of the third.
-module(inviso_modules).

-export([expand/2, is_string/1]).

-export_type([spec/0]).

-type spec() :: module() | '_' | string() | {string(), string()}.

%% @doc The modules, in order; `error' of what names none in any of the forms.
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

%% Loaded ones come first: they are what code of that name means.
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

%% @doc Whether a term is a string, and not the empty one: that is a list of no
%% nodes.
-spec is_string(term()) -> boolean().
is_string([_ | _] = Text) -> io_lib:char_list(Text);
is_string(_) -> false.
