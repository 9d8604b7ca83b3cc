%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads wildcards and groups at the beginning of a spec for calls.
%%
%% ```
%%  shop_*                            modules whose names begin with shop_
%%  shop_*:handle_*/3                 some functions of these modules
%%  Shop.*.add/2  Shop.Cart.add_*     the same in Elixir's notation
%%  app(shop)                         the modules of an application
%%  behaviour(gen_server):init/1      init/1 of all modules with this behaviour
%% '''
%%
%% The scanners for Erlang's and Elixir's notation do not know these forms. So
%% read/1 replaces them by ordinary names, padded with spaces so that positions in
%% the text stay the same.
-module(inviso_spec_group).

-export([read/1, has/2, fits/2, describe/1]).

-export_type([modules/0, functions/0]).

%% A wildcard, as the list of the texts before, between and after its stars.
-type glob() :: {glob, [string()]}.
%% `one': the spec names one module, or one function, without a wildcard.
-type modules() :: one | glob() | {app, atom()} | {behaviour, module()}.
-type functions() :: one | glob().

-define(QUOTED, "'[^']*'").
-define(PART, "[\\p{L}\\p{N}_@*]+").

%% @doc Replaces the wildcards or the group in a text by ordinary names. Returns
%% the new text, and what was replaced. Returns `none' if the text begins with
%% neither a wildcard nor a group.
-spec read(string()) -> none | {string(), modules(), functions()}.
read(Chars) ->
    case group(Chars) of
        none -> wild(Chars);
        {Modules, Length} -> after_group(Chars, Modules, Length)
    end.

group(Chars) ->
    Re = "^(app|behaviou?r)\\s*\\(\\s*(?|'([^']+)'|(:?\\p{L}[\\p{L}\\p{N}_@.]*))"
         "\\s*\\)",
    case match(Chars, Re) of
        [All, "app", Name] -> {{app, name(Name)}, length(All)};
        [All, _, Name] -> {{behaviour, name(Name)}, length(All)};
        none -> none
    end.

name(":" ++ Name) -> list_to_atom(Name);
name([C | _] = Name) when C >= $A, C =< $Z -> elixir_module(Name);
name(Name) -> list_to_atom(Name).

elixir_module("Elixir." ++ _ = Name) -> list_to_atom(Name);
elixir_module(Name) -> list_to_atom("Elixir." ++ Name).

%% The separator after the group (: or .) decides whether the spec is in
%% Erlang's or Elixir's notation.
after_group(Chars, Modules, Length) ->
    Rest = lists:nthtail(Length, Chars),
    case match(Rest, "^\\s*\\.") of
        none -> functions(padded("m", Length), Rest, ":", Modules);
        _ -> functions(padded("M", Length), Rest, "\\.", Modules)
    end.

wild([C | _] = Chars) when C >= $A, C =< $Z ->
    elixir(Chars);
wild("*." ++ _ = Chars) ->
    elixir(Chars);
wild(":" ++ Chars) ->
    case match(Chars, "^" ?PART) of
        [Name] ->
            Rest = lists:nthtail(length(Name), Chars),
            modules(Name, ":m", length(Name) + 1, Rest, "\\.");
        none ->
            none
    end;
wild([$_, C | _] = Chars) when C =:= $:; C =:= $\s ->
    case match(Chars, "^_\\s*:") of
        none -> none;
        _ -> functions("m", tl(Chars), ":", glob("*"))
    end;
wild(Chars) ->
    case match(Chars, "^(?:" ?QUOTED "|" ?PART ")") of
        ["'" ++ _ = Name] ->
            functions(Name, lists:nthtail(length(Name), Chars), ":", one);
        [Name] ->
            Rest = lists:nthtail(length(Name), Chars),
            modules(Name, "m", length(Name), Rest, ":");
        none ->
            none
    end.

%% Reads the name of a module. If the name contains stars, the ordinary name
%% `Stand' replaces it.
modules(Name, Stand, Length, Rest, Separator) ->
    case lists:member($*, Name) of
        true ->
            functions(padded(Stand, Length), Rest, Separator, glob(Name));
        false ->
            Prefix = lists:sublist(Stand, length(Stand) - 1),
            functions(Prefix ++ Name, Rest, Separator, one)
    end.

%% Reads the name of an Elixir module, with wildcards. Each part of the name
%% begins with a capital letter or a star. But a star in front of an arity or of
%% arguments is the name of a function.
elixir(Chars) ->
    {First, Rest0} = part(Chars),
    {Name, Rest} = parts(First, Rest0),
    case lists:member($*, Name) of
        true ->
            Glob = glob(atom_to_list(elixir_module(Name))),
            functions(padded("M", length(Name)), Rest, "\\.", Glob);
        false ->
            functions(Name, Rest, "\\.", one)
    end.

parts(Name, [$., C | _] = [_ | Chars] = All)
  when C >= $A, C =< $Z; C =:= $* ->
    {Part, Rest} = part(Chars),
    case C =:= $* andalso begins_args(string:trim(Rest, leading)) of
        true -> {Name, All};
        false -> parts(Name ++ "." ++ Part, Rest)
    end;
parts(Name, Rest) ->
    {Name, Rest}.

part(Chars) ->
    lists:splitwith(fun(C) -> is_name(C) orelse C =:= $* end, Chars).

is_name(C) ->
    C >= $a andalso C =< $z orelse C >= $A andalso C =< $Z
        orelse C >= $0 andalso C =< $9 orelse C =:= $_.

begins_args([C | _]) -> C =:= $/ orelse C =:= $(;
begins_args([]) -> false.

%% Reads the function after the separator, if there is one.
functions(Begin, Rest, Separator, Modules) ->
    case match(Rest, "^(\\s*" ++ Separator ++ "\\s*)([\\p{L}\\p{N}_@*?!]+)") of
        [All, Before, Function] ->
            case lists:member($*, Function) of
                true ->
                    {Begin ++ Before ++ padded("f", length(Function))
                     ++ lists:nthtail(length(All), Rest),
                     Modules, glob(Function)};
                false ->
                    found(Begin ++ Rest, Modules)
            end;
        none ->
            found(Begin ++ Rest, Modules)
    end.

glob(Text) -> {glob, string:split(Text, "*", all)}.

found(_, one) -> none;
found(Text, Modules) -> {Text, Modules, one}.

padded(Name, Length) ->
    Name ++ lists:duplicate(Length - length(Name), $\s).

%% Returns the whole match and the groups.
match(Chars, Re) ->
    case re:run(Chars, Re, [unicode, ucp, {capture, all, list}]) of
        {match, Found} -> Found;
        nomatch -> none
    end.

%% --- the modules of a group --------------------------------------------------

%% @doc Returns true if a loaded module is part of a group.
-spec has(modules(), module()) -> boolean().
has({glob, Glob}, M) -> is_like(Glob, atom_to_list(M));
has({app, App}, M) ->
    case application:get_key(App, modules) of
        {ok, Modules} -> lists:member(M, Modules);
        undefined -> false
    end;
has({behaviour, B}, M) ->
    try erlang:get_module_info(M, attributes) of
        Attributes ->
            lists:any(fun({Key, Names}) ->
                              (Key =:= behaviour orelse Key =:= behavior)
                                  andalso is_list(Names)
                                  andalso lists:member(B, Names)
                      end, Attributes)
    catch
        %% The module is being purged, so it has no attributes.
        error:badarg -> false
    end.

%% @doc Returns true if a wildcard matches the name of a function.
-spec fits(functions(), atom()) -> boolean().
fits({glob, Glob}, F) -> is_like(Glob, atom_to_list(F)).

%% Returns true if a name matches a wildcard. A star stands for any number of
%% characters, including none.
is_like([Begin | Texts], Name) ->
    case lists:prefix(Begin, Name) of
        true -> are_in(Texts, lists:nthtail(length(Begin), Name));
        false -> false
    end.

are_in([], Name) -> Name =:= [];
are_in([End], Name) -> lists:suffix(End, Name);
are_in([Text | Texts], Name) ->
    case string:split(Name, Text) of
        [_, Rest] -> are_in(Texts, Rest);
        [_] when Text =:= "" -> are_in(Texts, Name);
        [_] -> false
    end.

%% @doc Describes a group for the user.
-spec describe(modules()) -> iolist().
describe({glob, Texts}) ->
    case lists:append(lists:join("*", Texts)) of
        "Elixir." ++ Text -> Text;
        Text -> Text
    end;
describe({app, App}) -> io_lib:format("app(~tw)", [App]);
describe({behaviour, B}) ->
    case atom_to_list(B) of
        "Elixir." ++ Name -> io_lib:format("behaviour(~ts)", [Name]);
        _ -> io_lib:format("behaviour(~tw)", [B])
    end.
