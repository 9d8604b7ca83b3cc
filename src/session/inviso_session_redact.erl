%% SPDX-License-Identifier: Apache-2.0
%% @doc Prepares rules of redaction that name a record. The record's definition is
%% in the debug information of the modules that a session traces. The NIF library
%% reads the other rules (c_src/match/redact.h).
-module(inviso_session_redact).

-export([resolved/2]).

%% @doc Returns the session's map with changed rules. Numbers replace the names of
%% fields: "#user.password" becomes "#'user'/4.3" if the record user is a tuple of
%% four elements and password is the third of them. The definitions of all records
%% are added to the rules, because a rule for a key also redacts the fields with
%% the key's name. Also returns notes for the user. If a definition is not found,
%% throws `{error, Class, Text}'.
-spec resolved(map(), inviso_records:records()) -> {map(), [binary()]}.
resolved(#{tracer := #{redact := Rules} = Opts} = Map, Records) ->
    Definitions = inviso_records:definitions(Records),
    Resolved = [rule(R, Definitions) || R <- Rules] ++ definitions(Definitions),
    {Map#{tracer := Opts#{redact := Resolved}},
     lists:append([unread(inviso_records:unread(Records))
                   || Rules =/= [], lists:last(Rules) =/= <<"none">>])
         ++ lists:append([unknown(R) || R <- Rules])};
resolved(Map, _) ->
    {Map, []}.

unread(0) ->
    [];
unread(N) ->
    [unicode:characters_to_binary(
       io_lib:format("the records of ~b module~ts could not be read in time: "
                     "fields with well-known names are redacted only in maps "
                     "and pairs there; trace fewer modules, or write rules "
                     "such as #user/4.3", [N, ["s" || N > 1]]))].

%% Returns a note for the user if a rule names a function that the node does not
%% have: the rule redacts nothing, and may be misspelt.
unknown(Rule) ->
    case re:run(Rule, "^\\s*(?|'([^'*]+)'|([^\\s',:/(){}#*]+?))\\s*[:.]"
                "\\s*(?|'([^'*]+)'|([^\\s',:./(){}#*-]+))\\s*([/(].*|->.*|)$",
                [{capture, all_but_first, binary}, dotall, unicode]) of
        {match, [Module, Function, What]} ->
            [unicode:characters_to_binary(
               io_lib:format("--redact ~ts: this node has no function ~ts:~ts",
                             [Rule, Module, Function]))
             || is_function_rule(Rule, What),
                not exists(Module, Function)];
        nomatch ->
            []
    end.

%% A rule can name a key or a function. The name of a key can contain a dot, but
%% no colon, so a rule with a colon names a function.
is_function_rule(Rule, <<>>) -> binary:match(Rule, <<":">>) =/= nomatch;
is_function_rule(_, _) -> true.

%% Returns true if the function may exist. A module that is not loaded yet may have
%% any function.
exists(Module, Function) ->
    lists:any(fun(M) -> has(M, Function) end,
              [Module, <<"Elixir.", Module/binary>>]).

has(Module, Function) ->
    try
        M = binary_to_existing_atom(Module),
        case erlang:module_loaded(M) of
            true -> lists:any(fun({F, _}) -> atom_to_binary(F) =:= Function end,
                              M:module_info(functions));
            false -> code:which(M) =/= non_existing
        end
    catch
        error:badarg -> is_file(Module)
    end.

%% Returns true if the module has a file. Called if the module's name is not yet an
%% atom, because the module was never loaded.
is_file(Module) ->
    code:where_is_file(unicode:characters_to_list(Module) ++ ".beam")
        =/= non_existing.

%% Returns one rule for each name of a record, with all definitions of records with
%% this name: "#'user'('id','password')".
definitions(Records) ->
    ByName = lists:foldr(fun({Name, Fields}, Acc) ->
                                 Acc#{Name => [Fields | maps:get(Name, Acc, [])]}
                         end, #{}, Records),
    [unicode:characters_to_binary(
       ["#'", quotes(Name, "*"), "'", [definition(F) || F <- Definitions]])
     || {Name, Definitions} <- maps:to_list(ByName)].

definition(Fields) ->
    ["(", lists:join(",", [["'", quotes(F, "_"), "'"] || F <- Fields]), ")"].

%% In a rule, a quoted name cannot contain a quote. In the name of a record, a star
%% replaces the quote. In the name of a field, the character _ replaces the quote,
%% because comparisons of keys ignore this character.
quotes(Name, Instead) ->
    case string:replace(atom_to_binary(Name), "'", Instead, all) of
        [<<>>] -> Instead;
        Text -> Text
    end.

rule(Rule, Records) ->
    case re:run(Rule, "^#\\s*('[^']*'|[^\\s'./{}]+)\\s*([.{])(.*)$",
                [{capture, all_but_first, binary}, dotall, unicode]) of
        {match, [Name, _, Rest]} ->
            Fields = [unquoted(F)
                      || F <- re:split(Rest, "[\\s,{}]+", [trim, unicode]),
                         F =/= <<>>],
            record(Rule, unquoted(Name), Fields, Records);
        nomatch ->
            Rule
    end.

unquoted(Text) ->
    string:trim(Text, both, "'").

record(Rule, Name, Redacted, Records) ->
    %% Compares texts, not atoms: `Name' is from the rule, and may be no atom on
    %% this node.
    case [Fields || {Record, Fields} <- Records,
                    atom_to_binary(Record) =:= Name] of
        [] ->
            fail(Rule, "no module that is traced here has a record ~ts in its "
                 "debug information; give its definition with --records, or "
                 "write the third of its four elements as #~ts/4.3",
                 [Name, Name]);
        Definitions ->
            Numbers = [numbers(Rule, Name, Redacted, D) || D <- Definitions],
            %% A version of the record that is loaded later can have another
            %% number of fields.
            Later = unicode:characters_to_binary(["#'", Name, "'/2-16777215"]),
            iolist_to_binary(lists:join(",", lists:append(Numbers) ++ [Later]))
    end.

numbers(Rule, Name, Redacted, Fields) ->
    Texts = [atom_to_binary(F) || F <- Fields],
    _ = [fail(Rule, "the record has no field ~ts; it has ~ts",
              [R, lists:join(", ", Texts)])
         || R <- Redacted, not lists:member(R, Texts)],
    [unicode:characters_to_binary(
       ["#'", Name, "'/", integer_to_list(length(Fields) + 1), ".",
        integer_to_list(N)])
     || {N, F} <- lists:zip(lists:seq(2, length(Fields) + 1), Texts),
        lists:member(F, Redacted)].

-spec fail(binary(), string(), [term()]) -> no_return().
fail(Rule, Format, Args) ->
    throw({error, usage, unicode:characters_to_binary(
                           io_lib:format("--redact ~ts: " ++ Format,
                                         [Rule | Args]))}).
