%% SPDX-License-Identifier: Apache-2.0
%% @doc Rules of redaction that name a record: its definition is in the debug
%% information of the modules that a session traces. The library reads the other
%% rules (c_src/match/redact.h).
-module(inviso_session_redact).

-export([resolved/2]).

%% @doc Returns the map of the session with numbers instead of names of fields:
%% "#user.password" becomes "#'user'/4.3". If a definition is not found, throws the
%% error of the session.
-spec resolved(map(), [module()]) -> map().
resolved(#{tracer := #{redact := Rules} = Opts} = Map, Modules) ->
    Map#{tracer := Opts#{redact := [rule(R, Modules) || R <- Rules]}};
resolved(Map, _) ->
    Map.

rule(Rule, Modules) ->
    case re:run(Rule, "^#\\s*('[^']*'|[^\\s'./{}]+)\\s*([.{])(.*)$",
                [{capture, all_but_first, binary}, dotall, unicode]) of
        {match, [Name, _, Rest]} ->
            Fields = [unquoted(F)
                      || F <- re:split(Rest, "[\\s,{}]+", [trim, unicode]),
                         F =/= <<>>],
            record(Rule, unquoted(Name), Fields, Modules);
        nomatch ->
            Rule
    end.

unquoted(Text) ->
    string:trim(Text, both, "'").

record(Rule, Name, Redacted, Modules) ->
    case definitions(Name, Modules) of
        [] ->
            fail(Rule, "no module that is traced here has a record ~ts in its "
                 "debug information; give its definition with --records, or "
                 "write the third of its four elements as #~ts/4.3",
                 [Name, Name]);
        Definitions ->
            Numbers = [numbers(Rule, Name, Redacted, D) || D <- Definitions],
            iolist_to_binary(lists:join(",", lists:append(Numbers)))
    end.

%% A name may become an atom of this node only when the files are read.
definitions(Name, Modules) ->
    [Fields || {Record, Fields} <- inviso_records:definitions(Modules),
               atom_to_binary(Record) =:= Name].

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
