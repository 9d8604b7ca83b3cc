%% SPDX-License-Identifier: Apache-2.0
%% @doc Makes the recording of inviso_hostile_SUITE, on a separate node. Each text of texts/0 is the
%% name of a module, of its function and of a process. The terms of a call, of a message and of a
%% request contain the text, too.
-module(inviso_hostile_work).

-export([names/0, nodes/0, function/1, term/1, play/2]).

%% Texts that have a special meaning in an output format, or in a program that reads it.
texts() ->
    ["", " ", "'", "\"", "\\", "\\\"", "a'b\"c\\", "</script>", "</title><b>", "<!--", "-->",
     "]]>", "<![CDATA[", "&amp;&#0;", "a\0b", "\0", "\n", "a\r\nb", "\t\b\f\v\e[1m", "\x7f\x85",
     "\x{e9}", "\x{2028}\x{2029}", "\x{202e}txt", "\x{feff}", "\x{fffd}", "\x{1f600}",
     "\x{10ffff}", "e\x{301}", "a;b c", "a 12", ";", "=1+1", "+1", "@x", "-1", "a,b", "%s%n",
     "${x}`x`$(x)", "{\"tag\":1}", "\",\"lost\":7,\"", "#lt;", "end", "x\n  P0->>P1: y",
     "===", "x {\"h\":1}", "fn=(1) x", "calls=1 0", "'); DROP TABLE _calls; --", "../../x",
     "a/b", "a:b/1", "m:f(_)", "%0a", "\\x{3B}", "\\u0000", "true", "null", "undefinedx"].

%% @doc The hostile names.
-spec names() -> [atom()].
names() ->
    [list_to_atom(T) || T <- texts() ++ [lists:duplicate(255, C) || C <- [$x, $", 0, 16#10ffff]]].

%% @doc Returns {Name, Shown} for each hostile name of a node. Name is the bytes in the head of a
%% log, and Shown is how every output shows the name. After the @, the name of a real node can have
%% such characters, as with `-name a@../x' on OTP 25. In a damaged log the name can be any bytes.
-spec nodes() -> [{binary(), binary()}].
nodes() ->
    [{<<Sent:N/binary, Bad/binary>>, <<Sent:N/binary, Shown/binary>>}
     || {Sent, Bad, Shown} <- [{T, <<>>, <<>>} || T <- node_texts()] ++
            [{<<"a@">>, Bad, unicode:characters_to_binary(Shown)} || {Bad, Shown} <- unshown()]
            %% An atom has at most 255 characters.
            ++ [{binary:copy(<<"y">>, 255), binary:copy(<<"y">>, 60000), <<>>},
                {<<>>, <<>>, <<"unknown">>}],
        N <- [byte_size(Sent)]].

node_texts() ->
    [<<" ">>, <<".">>, <<"..">>, <<"/">>, <<"../../../x@../../../y">>, <<"/tmp/x@h">>,
     <<"a@</script><i>">>, <<"a@</title><i>">>, <<"<!--@h">>, <<"a'b\"c\\@h">>, <<"null">>,
     <<"a@'); DROP TABLE _nodes; --">>, <<"%2e%2e%2f@%">>, <<"n {\"h\":1}">>, <<"a;b 12@h">>,
     <<"a,b=c@h">>, <<"$(x)`x`@h">>, <<"__HIVE_DEFAULT_PARTITION__">>, <<"#@;:">>,
     binary:copy(<<"x">>, 255), binary:copy(<<"\x{10ffff}"/utf8>>, 255)].

%% Bytes that are not valid UTF-8, and characters that could control a terminal or do not show.
unshown() ->
    [{<<"1\0">>, "1\x{fffd}"}, {<<"2\n  P0->>P1: y">>, "2\x{fffd}  P0->>P1: y"},
     {<<"3\e[1m">>, "3\x{fffd}[1m"}, {<<"4", 16#ff, 16#c0, 16#80>>, "4\x{fffd}\x{fffd}\x{fffd}"},
     {<<"5\x{202e}"/utf8>>, "5\x{fffd}"}].

%% @doc Returns the name of a function and of its module, for a hostile name. In the code of a
%% module, an atom has at most 255 bytes, so longer names are shortened.
-spec function(atom()) -> atom().
function(Name) ->
    case byte_size(atom_to_binary(Name)) =< 255 of
        true -> Name;
        false -> list_to_atom(lists:sublist(atom_to_list(Name), 63))
    end.

%% @doc Returns a term that contains the name in several forms. Each call and message for this name
%% contains the term.
-spec term(atom()) -> term().
term(Name) ->
    Text = atom_to_list(Name),
    Utf8 = atom_to_binary(Name),
    {Name, Text, Utf8, <<16#ff, 16#c0, 16#80, Utf8/binary, 16#ed, 16#a0, 16#80, 16#f5>>,
     #{Name => [Name | Name], Utf8 => {}}, [0, 255 | Utf8]}.

%% @doc Records what played/2 does with each name. Returns the counts of the tracer.
-spec play(file:filename(), [atom()]) -> {ok, map()}.
play(Log, Names) ->
    %% No term is cut.
    {ok, {Module, State} = Tracer} = inviso_tracer:open(Log, #{max_term_bytes => 1 bsl 17}),
    false = seq_trace:set_system_tracer(Tracer),
    [begin
         played(N, {tracer, Module, State}),
         ok = inviso_tracer:flush(Tracer)
     end || N <- Names],
    Tracer = seq_trace:set_system_tracer(false),
    inviso_tracer:close(Tracer).

%% A process registers the name, calls the function twice, and asks a server in a sequential trace.
played(Name, Tracer) ->
    Function = function(Name),
    load(Function),
    1 = erlang:trace_pattern({Function, Function, 1}, [{'_', [], [{exception_trace}]}], [local]),
    Server = spawn(fun() -> receive {From, Term} -> From ! {answer, Term} end end),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> work(Name, Function, Server) end end),
    1 = erlang:trace(Pid, true, [call, procs, send, 'receive', timestamp, Tracer]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, Why} -> normal = Why end.

work(Name, F, Server) ->
    true = register(Name, self()),
    Term = term(Name),
    Term = F:F(Term),
    Term = try F:F({fail, Term})
           catch error:Reason -> Reason
           end,
    seq_trace:set_token(label, {label, Name}),
    [seq_trace:set_token(Flag, true) || Flag <- [send, 'receive', print]],
    seq_trace:print(Term),
    Server ! {self(), Term},
    receive {answer, Term} -> ok end,
    seq_trace:set_token([]).

%% Loads Name:Name(X), which returns X, or fails with the error X if X is {fail, _}. The compiler
%% refuses some names of modules, so the module gets its name after the compiler's check.
load(Name) ->
    Forms = [{attribute, 1, module, any},
             {attribute, 1, export, [{Name, 1}]},
             {function, 1, Name, 1,
              [{clause, 1, [{tuple, 1, [{atom, 1, fail}, {var, 1, 'X'}]}], [],
                [{call, 1, {remote, 1, {atom, 1, erlang}, {atom, 1, error}}, [{var, 1, 'X'}]}]},
               {clause, 1, [{var, 1, 'X'}], [], [{var, 1, 'X'}]}]}],
    {ok, any, Core} = compile:forms(Forms, [to_core]),
    Named = cerl:update_c_module(Core, cerl:c_atom(Name), cerl:module_exports(Core),
                                 cerl:module_attrs(Core), cerl:module_defs(Core)),
    {ok, Name, Code} = compile:forms(Named, [from_core]),
    {module, Name} = code:load_binary(Name, "hostile.beam", Code).
