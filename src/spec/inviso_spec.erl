%% SPDX-License-Identifier: Apache-2.0
%% @doc Parses specs. A spec is a line in which a user says what to trace.
%%
%% ```
%%  lists                          every function of the module
%%  lists:'_'                      every exported function of the module
%%  lists:seq   lists:seq/2        one function: all arities, or one arity
%%  ets:lookup(T, hostname) when is_integer(T) -> return;stack
%%  lists:seq/2 [{['_',3],[],[]}]  with a raw match spec
%%  shop:f(#order{})  shop:f(m#order{})   records of the module, or of m
%%  shop_*:handle_*/3   app(shop)         see inviso_spec_group
%%  Enum.map/2   Map.get(_, :foo) :: return          in Elixir's notation
%%  send   send(Msg)   send(To, Msg) when ...
%%  receive   receive(Msg)   receive(From, Msg)   receive(Node, From, Msg)
%%  procs   ports   running   gc
%%  long_gc(50ms)   busy_port           see inviso_spec_system
%% '''
%%
%% inviso has no separate grammar for specs. `erl_scan' and `erl_parse' read the
%% text as the head of a function, `ms_transform' makes a match spec from this
%% head, and the VM checks the match spec. Elixir's notation is first converted to
%% the tokens of Erlang ({@link inviso_spec_elixir}).
-module(inviso_spec).

-export([parse/1, parse/2, new_words/1, returning/1, format_mfa/3]).

-export_type([spec/0, clause/0, action/0, rule/0]).

-type action() :: return | caller | stack.
%% A rule decides at the end of a call whether the call is recorded. The call is
%% recorded if it took at least MinNs nanoseconds (`none': the time does not
%% matter). If `Failed' is true, it is recorded only if it also failed.
-type rule() :: {MinNs :: non_neg_integer() | none, Failed :: boolean()}.
%% A clause is {Head, Guards, Actions}. Other folders of the source add more kinds
%% of actions, as tuples. `{raw, _}' is a clause of a raw match spec, which is
%% used as the user wrote it.
-type clause() :: {'_' | list(), list(), [action() | tuple()]} | {raw, tuple()}.
%% If `modules' is not `one', `module' is '_'. If `functions' is not `one',
%% `function' is '_'.
-type spec() :: #{kind := call, module := module(), function := atom(),
                  arity := arity() | '_', exported := boolean(),
                  modules := inviso_spec_group:modules(),
                  functions := inviso_spec_group:functions(),
                  elixir := boolean(), clauses := [clause()],
                  counters := [count | time], text := binary(),
                  rule => rule(), % the rule of the actions `slow' and `failed'
                  %% variables of the match spec for --label: see parse/2
                  labels => [atom()],
                  records => [module()]} % the modules m in m#rec{}
              | #{kind := send | 'receive', clauses := [clause()],
                  text := binary(), labels => [atom()],
                  records => [module()]}
              | #{kind := procs | ports | running | garbage_collection,
                  text := binary()}
              | #{kind := system, event := inviso_spec_system:event(),
                  at := inviso_spec_system:at(), text := binary()}.

-define(MAX_BYTES, 4096).
-define(REST, "[\\p{L}\\p{N}_@]*").
-define(WORD, "[A-Z]" ?REST "(?:\\.[A-Z]" ?REST ")*|[\\p{L}_]" ?REST).
-define(QUOTED, "'[^']*'|\"[^\"]*\"").
-define(MAX_DEPTH, 64).
-define(MAX_LITERALS, 16).
-define(EXAMPLES, "For example: lists:seq/2, or "
        "'ets:lookup(T, hostname) when is_integer(T) -> return'").

-define(SIMPLE, #{procs => procs, ports => ports, running => running,
                  gc => garbage_collection,
                  garbage_collection => garbage_collection}).

%% Actions of match specs with effects other than on recording. Specs with these
%% actions are refused.
-define(SIDE_EFFECTS, [trace, enable_trace, disable_trace, silent,
                       set_seq_token, set_tcw, display]).

%% @doc Parses one spec. The text of an error says which text was expected at
%% which position.
-spec parse(binary()) -> {ok, spec()} | {error, usage, binary()}.
parse(Text) ->
    parse(Text, []).

%% @doc Parses one spec, which must contain the variables `Labels'. In the result,
%% the key `labels' contains the variables of the match spec ('$1', ...) for
%% `Labels'.
-spec parse(binary(), [atom()]) -> {ok, spec()} | {error, usage, binary()}.
parse(Text, _) when byte_size(Text) > ?MAX_BYTES ->
    {error, usage, format("a spec has at most ~b bytes, this one ~b",
                          [?MAX_BYTES, byte_size(Text)])};
parse(Text, Labels) ->
    case unicode:characters_to_list(Text) of
        Chars when is_list(Chars) ->
            parse_chars(string:trim(Chars), {Text, Labels});
        _ ->
            {error, usage, <<"the spec is not UTF-8">>}
    end.

%% @doc Returns how many atoms these texts would add to the node's atom table:
%% words, variables and quoted names that are not atoms yet.
-spec new_words([binary()]) -> non_neg_integer().
new_words(Texts) ->
    Words = lists:append([words(T) || T <- Texts]),
    length([W || W <- lists:usort(Words), not is_known(W)]).

words(Text) ->
    case unicode:characters_to_list(Text) of
        Chars when is_list(Chars) ->
            all(Chars, ?WORD) ++ [lists:droplast(tl(Q))
                                  || Q <- all(Chars, ?QUOTED)];
        _ ->
            []
    end.

all(Chars, Re) ->
    case re:run(Chars, Re, [global, unicode, ucp, {capture, first, list}]) of
        {match, Found} -> lists:append(Found);
        nomatch -> []
    end.

%% Returns true if a word is an atom already. The name of an Elixir module is one
%% word, and its atom begins with "Elixir.".
is_known([C | _] = Word) when C >= $A, C =< $Z ->
    is_atom_here(Word) orelse is_atom_here("Elixir." ++ Word);
is_known(Word) ->
    is_atom_here(Word).

is_atom_here(Word) ->
    try
        _ = list_to_existing_atom(Word),
        true
    catch
        error:_ -> false
    end.

%% @doc Returns the spec with the action `return' added, if it traces calls and has
%% no action.
-spec returning(spec()) -> spec().
returning(#{kind := call, counters := [], clauses := Clauses} = Spec) ->
    Spec#{clauses := [case Clause of
                          {Head, Guards, []} -> {Head, Guards, [return]};
                          _ -> Clause
                      end || Clause <- Clauses]};
returning(Spec) ->
    Spec.

parse_chars([], _Text) ->
    {error, usage, format("no spec is given. " ?EXAMPLES, [])};
parse_chars(Chars, {Binary, _} = Text) ->
    case inviso_spec_system:read(Chars) of
        none ->
            parse_functions(Chars, Text);
        {ok, Event, At} ->
            {ok, #{kind => system, event => Event, at => At, text => Binary}};
        {error, Column, Why} ->
            {error, usage, report(Chars, {1, Column}, Why, "")}
    end.

parse_functions(Chars, Text) ->
    case inviso_spec_group:read(Chars) of
        none ->
            parse_names(Chars, Text);
        {Names, Modules, Functions} ->
            attempt(fun() -> grouped(Names, Modules, Functions, Text) end,
                    Chars)
    end.

grouped([C | _] = Names, Modules, Functions, Text) ->
    Scope = case Modules of
                one -> one;
                _ -> group
            end,
    Spec = case C =:= $: orelse C >= $A andalso C =< $Z of
               true -> elixir(Names, Text, Scope);
               false -> erlang(Names, Text, Scope)
           end,
    in_functions(Functions, in_modules(Modules, Spec)).

in_modules(one, Spec) -> Spec;
in_modules(Modules, Spec) -> Spec#{module := '_', modules := Modules}.

in_functions(one, Spec) -> Spec;
in_functions(Functions, Spec) ->
    Spec#{function := '_', functions := Functions}.

parse_names([C | _] = Chars, Text) when C =:= $:; C >= $A, C =< $Z ->
    attempt(fun() -> elixir(Chars, Text, one) end, Chars);
parse_names(Chars, Text) ->
    case attempt(fun() -> erlang(Chars, Text, one) end, Chars) of
        {ok, _} = Ok -> Ok;
        {error, usage, _} = E -> or_elixir(Chars, Text, E)
    end.

%% Called if a spec is wrong in Erlang's notation. If the spec is for messages,
%% tries Elixir's notation. In a spec for calls, the form of the module's name
%% already shows the notation.
or_elixir(Chars, Text, Error) ->
    case is_message(Chars) andalso
        attempt(fun() -> elixir(Chars, Text, one) end, Chars) of
        {ok, _} = Ok -> Ok;
        _ -> Error
    end.

is_message(Chars) ->
    lists:prefix("send", Chars) orelse lists:prefix("receive", Chars).

attempt(Fun, Chars) ->
    try
        {ok, Fun()}
    catch
        throw:{usage, Where, What} ->
            {error, usage, report(Chars, Where, What, "")};
        throw:{syntax, Where, What} ->
            {error, usage, report(Chars, Where, What, examples(Chars))}
    end.

elixir(Chars, Text, Scope) ->
    case inviso_spec_elixir:tokens(Chars) of
        {ok, Tokens} -> spec(Tokens, elixir, Text, Scope);
        {error, Where, What} -> fail(Where, "~ts", [What])
    end.

erlang(Chars, Text, Scope) ->
    case erl_scan:string(spaced(Chars), {1, 1}, [text]) of
        {ok, Tokens, _} -> spec(Tokens, erlang, Text, Scope);
        {error, {Where, Module, What}, _} ->
            syntax(Where, "~ts", [Module:format_error(What)])
    end.

%% Puts a space between number and unit in the action slow(50ms): from OTP 29 on,
%% erl_scan refuses a number before a letter. The actions are after the last arrow
%% and have no quotes.
spaced(Chars) ->
    case re:run(Chars, "(?:->|::)[^\"']*$", [unicode, {capture, first, list}]) of
        {match, [Actions]} ->
            Before = lists:sublist(Chars, length(Chars) - length(Actions)),
            Before ++ re:replace(Actions,
                                 "(slow\\s*\\(\\s*[0-9.]+)([a-z]+\\s*\\))",
                                 "\\1 \\2", [unicode, global, {return, list}]);
        nomatch ->
            Chars
    end.

%% --- the parts of a spec ----------------------------------------------------

%% Facts about the whole spec. The functions below pass this record to each other.
-record(ctx, {notation :: erlang | elixir,
              %% the atoms that literals/1 has put in place of terms, each with
              %% its term
              literals :: [{atom(), term()}],
              %% the modules m in m#rec{}
              records :: #{atom() => module()},
              %% whether the spec names one module or a group
              scope :: one | group,
              %% the variables whose values are shown as labels of requests
              labels :: [atom()]}).

spec(Tokens0, Notation, {Text, Labels}, Scope) ->
    {Tokens1, Literals} = literals(without_dot(Tokens0)),
    {Tokens2, Records} = records(Tokens1, [], #{}),
    {Tokens, Actions, Rule} = split_actions(Tokens2),
    Spec = target(Tokens, Actions,
                  #ctx{notation = Notation, literals = Literals,
                       records = Records, scope = Scope, labels = Labels}),
    _ = Labels =:= [] orelse is_map_key(labels, Spec) orelse
        fail({1, 1}, "there is no variable ~ts, which --label names",
             [hd(missing(Labels, Tokens) ++ Labels)]),
    Named = maps:from_list([{records, lists:usort(maps:values(Records))}
                            || Records =/= #{}]),
    maps:merge(Spec#{text => Text, elixir => Notation =:= elixir},
               maps:merge(Named, Rule)).

%% Removes the module m from m#rec, because Erlang's syntax does not have this
%% form. Returns the modules separately.
records([{atom, At, M}, {'#', _} = Hash, {atom, _, Rec} = Name | Rest], Acc,
        Map) ->
    case Map of
        #{Rec := Other} when Other =/= M ->
            fail(At, "#~tw is the record of ~tw and of ~tw: only one of them "
                 "can be in a spec", [Rec, Other, M]);
        _ ->
            records(Rest, [Name, Hash | Acc], Map#{Rec => M})
    end;
records([Token | Rest], Acc, Map) ->
    records(Rest, [Token | Acc], Map);
records([], Acc, Map) ->
    {lists:reverse(Acc), Map}.

without_dot(Tokens) ->
    case lists:reverse(Tokens) of
        [{dot, _} | Rest] -> lists:reverse(Rest);
        _ -> Tokens
    end.

target([{'receive', At} | Rest], Actions, Ctx) ->
    message('receive', At, Rest, Actions, Ctx);
target([{atom, At, 'receive'} | [{'(', _} | _] = Rest], Actions, Ctx) ->
    message('receive', At, Rest, Actions, Ctx);
target([{atom, At, send} | [{T, _} | _] = Rest], Actions, Ctx)
  when T =:= '('; T =:= '['; T =:= 'when' ->
    message(send, At, Rest, Actions, Ctx);
target([{atom, At, send}], Actions, Ctx) ->
    message(send, At, [], Actions, Ctx);
target([{atom, At, Word}], Actions, _Ctx)
  when is_map_key(Word, ?SIMPLE) ->
    no_actions(At, Word, Actions),
    #{kind => maps:get(Word, ?SIMPLE)};
target([{'{', _}, {atom, _, M}, {',', _}, F, {',', _}, A, {'}', _} | Rest],
       Actions, Ctx) ->
    call(M, name(F), Rest, Actions, Ctx, arity(A));
target([{atom, _, M}], Actions, _Ctx) ->
    function(M, '_', '_', false, [], Actions);
target([{atom, _, _}, {':', _}, _, {'/', At}], _Actions, _Ctx) ->
    syntax(At, "an arity is expected after the /", []);
target([{atom, _, M}, {':', _}, F, {'/', _}, A | Rest], Actions, Ctx) ->
    call(M, name(F), Rest, Actions, Ctx, arity(A));
target([{atom, _, M}, {':', _}, F | Rest], Actions, Ctx) ->
    call(M, name(F), Rest, Actions, Ctx, '_');
target([{atom, _, M}, {'/', At} | _], _Actions, _Ctx) ->
    syntax(At, "a module and a function are expected, module:function/arity; "
         "~ts is a module alone", [text(M)]);
target([{atom, _, M}, {'(', At} | _], _Actions, _Ctx) ->
    syntax(At, "the module is missing: module:~ts(...)", [text(M)]);
target([{atom, _, _}, {':', At}], _Actions, _Ctx) ->
    syntax(At, "a function is expected after the module", []);
target([{'[', At} | _], _Actions, _Ctx) ->
    syntax(At, "a match spec comes after its function: "
         "lists:seq/2 [{['_',3],[],[]}]", []);
target([{atom, _, _}, Token | _], _Actions, _Ctx) ->
    syntax(at(Token), "~ts is not expected after the module; "
         "a : and a function are", [shown(Token)]);
target([Token | _], _Actions, _Ctx) ->
    syntax(at(Token), "a module is expected, or send, receive, procs, ports, "
         "running, gc, long_gc, and not ~ts", [shown(Token)]);
target([], _Actions, _Ctx) ->
    syntax({1, 1}, "a module, a function or a kind of event is missing before "
                   "the actions", []).

%% Returns the name of a function. The wildcard is written '_' or _.
name({atom, _, F}) -> F;
name({var, _, '_'}) -> '_';
name({var, At, V}) ->
    syntax(At, "a function is expected; ~ts is a variable (a name with a "
         "capital letter needs quotes)", [V]);
name({T, At}) when T =/= dot ->
    case erl_scan:reserved_word(T) of
        true -> syntax(At, "~ts is a reserved word: write it '~ts'", [T, T]);
        false -> syntax(At, "a function is expected and not ~ts", [T])
    end;
name(Token) ->
    syntax(at(Token), "a function is expected and not ~ts", [shown(Token)]).

arity({integer, _, A}) when A =< 255 -> A;
arity({atom, _, A}) when A =:= '_'; A =:= any -> '_';
arity({var, _, A}) when A =:= '_'; A =:= any -> '_';
arity(Token) ->
    syntax(at(Token), "an arity is expected, a number up to 255 or '_', and "
         "not ~ts", [shown(Token)]).

call(M, F, [], Actions, _Ctx, A) ->
    function(M, F, A, F =:= '_', [], Actions);
call(M, F, [{'[', At} | _] = Tokens, Actions, Ctx, A) ->
    Raw = raw(call, Tokens, Ctx),
    no_actions_with_raw(At, Actions),
    _ = [fail(At, "the match spec has ~b arguments, the function ~b",
              [length(Head), A])
         || {raw, {Head, _, _}} <- Raw, is_list(Head), A =/= '_',
            length(Head) =/= A],
    vm_accepts(At, Raw),
    function(M, F, A, false, Raw, []);
call(_, '_', [{'(', At} | _], _Actions, _Ctx, _A) ->
    fail(At, "a pattern of arguments needs one function", []);
call(M, F, [{'(', At} | _] = Tokens, Actions, Ctx, '_') ->
    {Count, Clauses0, Named} = head(Tokens, records_of(M, Ctx), Ctx),
    Clauses = case Named of
                  #{} when map_size(Named) > 0 -> Clauses0;
                  _ -> plain(Clauses0)
              end,
    filtered_counters(At, Clauses, Actions),
    maps:merge(function(M, F, Count, false, Clauses, Actions), Named);
call(_, _, [{'(', At} | _], _Actions, _Ctx, _A) ->
    fail(At, "either an arity or arguments, not both", []);
call(_, _, [{'when', At} | _], _Actions, _Ctx, _A) ->
    fail(At, "a guard needs arguments: lists:seq(A, B) when A < B", []);
call(_, _, [Token | _], _Actions, _Ctx, _A) ->
    syntax(at(Token), "~ts is not expected here; /arity, (arguments), "
         "-> actions or the end is", [shown(Token)]).

function(M, F, A, Exported, Clauses0, Actions) ->
    {Counters, Events} = lists:partition(
                           fun(Act) -> Act =:= count orelse Act =:= time end,
                           Actions),
    Clauses = case {Clauses0, Counters, Events} of
                  {[], [_ | _], []} -> [];
                  {[], _, _} -> [{'_', [], Events}];
                  {[{'_', [], _}], [_ | _], []} -> [];
                  {[{raw, _} | _], _, _} -> Clauses0;
                  _ -> [{H, G, Events} || {H, G, _} <- Clauses0]
              end,
    #{kind => call, module => M, function => F, arity => A,
      exported => Exported, modules => one, functions => one,
      clauses => Clauses, counters => Counters}.

%% Checks that a spec with counters has no match spec: a counter counts all calls,
%% so a match spec would have no effect.
filtered_counters(_At, [{'_', [], _}], _Actions) ->
    ok;
filtered_counters(At, _Clauses, Actions) ->
    _ = [fail(At, "~ts counts every call of the function, whatever its "
              "arguments: write the function with its arity instead of "
              "arguments", [C])
         || C <- Actions, C =:= count orelse C =:= time],
    ok.

message(Kind, At, Rest, Actions, Ctx) ->
    no_actions(At, Kind, Actions),
    {Clauses, Named} =
              case Rest of
                  [] -> {[], #{}};
                  [{'[', _} | _] -> {raw(Kind, Rest, Ctx), #{}};
                  [{'(', _} | _] -> message_head(Kind, At, Rest, Ctx);
                  [Token | _] ->
                      fail(at(Token), "~ts is not expected after ~ts; "
                           "a pattern is, ~ts", [shown(Token), Kind,
                                                 message_example(Kind)])
              end,
    vm_accepts(At, Clauses),
    Named#{kind => Kind, clauses => Clauses}.

%% Parses the arguments of send and receive. In the VM's match specs the arguments
%% are the lists [To, Msg] for send and [Node, From, Msg] for receive.
message_head(Kind, At, Tokens, Ctx) ->
    {N, Clauses, Named} = head(Tokens, none, Ctx),
    Full = case Kind of
               send -> 2;
               'receive' -> 3
           end,
    _ = (N >= 1 andalso N =< Full) orelse
        fail(At, "~ts takes a pattern of the message, ~ts",
             [Kind, message_example(Kind)]),
    {[{lists:duplicate(Full - N, '_') ++ Head, Guards, []}
      || {Head, Guards, _} <- Clauses], Named}.

message_example(send) -> "send(Msg) or send(To, Msg)";
message_example('receive') ->
    "receive(Msg), receive(From, Msg) or receive(Node, From, Msg)".

no_actions(_At, _Word, []) ->
    ok;
no_actions(At, Word, [Action | _]) ->
    fail(At, "~ts is an action of function calls; ~ts has none",
         [Action, Word]).

no_actions_with_raw(_At, []) ->
    ok;
no_actions_with_raw(At, [Action | _]) ->
    fail(At, "a match spec has its actions in it, so ~ts cannot follow it",
         [Action]).

%% --- actions ----------------------------------------------------------------

split_actions(Tokens) ->
    {Before, After} = at_arrow(Tokens, 0, []),
    All = actions(After),
    Slow = [Ns || {slow, Ns} <- All],
    Failed = lists:member(failed, All),
    case lists:usort([A || A <- All, is_atom(A), A =/= failed]) of
        Actions when Slow =:= [], not Failed ->
            {Before, Actions, #{}};
        Actions ->
            Rule = {lists:last([none | Slow]), Failed},
            {Before, lists:umerge([return], Actions), #{rule => Rule}}
    end.

at_arrow([{Arrow, At} | Rest], 0, Acc) when Arrow =:= '->'; Arrow =:= '::' ->
    {lists:reverse(Acc), {At, Rest}};
at_arrow([{T, _} = Token | Rest], Depth, Acc) ->
    at_arrow(Rest, Depth + nesting(T), [Token | Acc]);
at_arrow([Token | Rest], Depth, Acc) ->
    at_arrow(Rest, Depth, [Token | Acc]);
at_arrow([], _Depth, Acc) ->
    {lists:reverse(Acc), none}.

nesting(T) when T =:= '('; T =:= '['; T =:= '{'; T =:= '<<' -> 1;
nesting(T) when T =:= ')'; T =:= ']'; T =:= '}'; T =:= '>>' -> -1;
nesting(_) -> 0.

actions(none) -> [];
actions({At, []}) -> fail(At, "an action is expected after the arrow: "
                          ++ action_names(), []);
actions({_, Tokens}) -> action_list(Tokens).

action_list([Token | Rest]) ->
    {Action, After} = action(Token, Rest),
    [Action | more_actions(After)].

more_actions([]) ->
    [];
more_actions([{Sep, _} | Rest]) when Rest =/= [], Sep =:= ',' orelse
                                     Sep =:= ';' ->
    action_list(Rest);
more_actions([Token | _]) ->
    fail(at(Token), "; and another action, or the end, is expected and not "
         "~ts", [shown(Token)]).

action({Word, At, slow}, Rest) when Word =:= atom; Word =:= var ->
    slow(At, Rest);
action({Word, _At, failed}, Rest) when Word =:= atom; Word =:= var ->
    {failed, Rest};
action(Token, Rest) ->
    {action(Token), Rest}.

slow(_At, [{'(', _}, {Number, _, N}, {Word, _, Unit}, {')', _} | Rest])
  when Number =:= integer orelse Number =:= float,
       Word =:= atom orelse Word =:= var,
       Unit =:= us orelse Unit =:= ms orelse Unit =:= s orelse Unit =:= m
       orelse Unit =:= min ->
    {{slow, trunc(N * nanoseconds(Unit))}, Rest};
slow(_At, [{'(', _}, {Number, _, N}, {')', _} | Rest])
  when Number =:= integer; Number =:= float ->
    {{slow, trunc(N * nanoseconds(s))}, Rest};
slow(At, _) ->
    fail(At, "slow needs a time: slow(50ms), slow(500us) or slow(2s)", []).

nanoseconds(us) -> 1000;
nanoseconds(ms) -> 1000000;
nanoseconds(s) -> 1000000000;
nanoseconds(_) -> 60000000000.

action({atom, At, stack}) ->
    case inviso_vm:has_stack() of
        true -> stack;
        false ->
            fail(At, "stack is not available on OTP ~ts, whose VM can only "
                     "report the whole stack, however large; `caller' shows "
                     "the calling function", [erlang:system_info(otp_release)])
    end;
action({atom, _, A}) when A =:= return; A =:= caller; A =:= count;
                          A =:= time ->
    A;
action({var, At, V}) ->
    %% In Erlang's notation a word such as `return' is an atom, in Elixir's notation
    %% a variable.
    case atom_to_list(V) of
        [C | _] when C >= $a, C =< $z -> action({atom, At, V});
        _ -> no_action({var, At, V})
    end;
action(Token) ->
    no_action(Token).

-spec no_action(tuple()) -> no_return().
no_action(Token) ->
    fail(at(Token), "~ts is not an action; the actions are " ++ action_names(),
         [shown(Token)]).

action_names() -> "return, slow(50ms), failed, caller, stack, count, time".

%% --- arguments and guards ----------------------------------------------------

%% Parses "(Args) when Guard" to clauses of a match spec. Returns the number of
%% arguments, the clauses, and the variables whose values label requests (--label).
head([{'(', At} | Rest], Records, Ctx) ->
    {Args, Close, Guard} = arguments(Rest, [{'(', At}], []),
    _ = case Guard of
            [] -> ok;
            [{'when', When}] -> fail(When, "a guard is expected", []);
            [{'when', _} | _] -> ok;
            [Token | _] ->
                fail(at(Token), "~ts is not expected after the arguments; "
                     "when, -> or the end is", [shown(Token)])
        end,
    End = Close,
    Fun = [{'fun', At}, {'(', At}, {'[', At}] ++ Args
        ++ [{']', Close}, {')', Close}] ++ Guard
        ++ [{'->', End}] ++ result(End, Args, Ctx)
        ++ [{'end', End}, {dot, End}],
    {'fun', _, {clauses, [{clause, A, [Patterns], Parsed, Body}]}} =
        expression(Fun),
    {Count, Checked} = inviso_spec_head:check(Patterns),
    Guards = guards(Parsed, Ctx),
    ok = inviso_spec_head:check_guard(Guards),
    _ = Count > 255 andalso fail(At, "a function has at most 255 arguments", []),
    Clause = {clause, A, [Checked], Guards, Body},
    Ms = inviso_spec_head:match_spec(Clause, Records,
                                     Ctx#ctx.records),
    Put = put_literals(Ms, Ctx),
    _ = deep(Put, ?MAX_DEPTH) andalso fail(At, "nested too deeply", []),
    Clauses = [{H, G, []} || {H, G, _} <- Put],
    vm_accepts(At, Clauses),
    {Count, Clauses, maps:from_list([{labels, V} || {_, _, [V]} <- Put,
                                                    V =/= true])}.

%% If the arguments contain all variables that the option --label names, the
%% result of the clause is the list of these variables.
result(End, Args, #ctx{labels = [_ | _] = Labels}) ->
    case missing(Labels, Args) of
        [] -> [{'[', End} | list(End, Labels)];
        _ -> [{atom, End, true}]
    end;
result(End, _, _) ->
    [{atom, End, true}].

missing(Labels, Tokens) -> Labels -- [V || {var, _, V} <- Tokens].

list(End, [V]) -> [{var, End, V}, {']', End}];
list(End, [V | Rest]) -> [{var, End, V}, {',', End} | list(End, Rest)].

guards(Guards, #ctx{notation = elixir}) -> inviso_spec_elixir:guard(Guards);
guards(Guards, #ctx{notation = erlang}) -> Guards.

%% Splits the tokens at the parenthesis that closes the arguments. Returns the
%% arguments, the place of this parenthesis, and the tokens after it.
arguments([{')', At} | Rest], [{'(', _}], Acc) ->
    {lists:reverse(Acc), At, Rest};
arguments([{T, At} = Token | Rest], Open, Acc) ->
    case nesting(T) of
        1 -> arguments(Rest, [Token | Open], [Token | Acc]);
        0 -> arguments(Rest, Open, [Token | Acc]);
        -1 ->
            [{Opened, _} | Outer] = Open,
            _ = closes(T, Opened) orelse
                fail(At, "~ts does not close the ~ts before it", [T, Opened]),
            arguments(Rest, Outer, [Token | Acc])
    end;
arguments([Token | Rest], Open, Acc) ->
    arguments(Rest, Open, [Token | Acc]);
arguments([], [{Opened, At} | _], _Acc) ->
    fail(At, "this ~ts is never closed", [Opened]).

closes(')', '(') -> true;
closes(']', '[') -> true;
closes('}', '{') -> true;
closes('>>', '<<') -> true;
closes(_, _) -> false.

expression(Tokens) ->
    case erl_parse:parse_exprs(Tokens) of
        {ok, [Expr]} ->
            Expr;
        {ok, [_, Second | _]} ->
            fail(erl_anno:location(element(2, Second)),
                 "the end is expected here", []);
        {error, {Where, Module, What}} ->
            syntax(Where, "~ts", [Module:format_error(What)])
    end.

%% Simplifies the match spec if all arguments are different variables: for example,
%% `lists:seq(A, B)' selects the same calls as `lists:seq/2'.
plain([{Head, [], Actions}]) when is_list(Head) ->
    Named = [V || V <- Head, V =/= '_'],
    case lists:all(fun is_variable/1, Named)
        andalso length(lists:usort(Named)) =:= length(Named) of
        true -> [{'_', [], Actions}];
        false -> [{Head, [], Actions}]
    end;
plain(Clauses) ->
    Clauses.

is_variable(V) when is_atom(V) ->
    case atom_to_list(V) of
        [$$, D | _] -> D >= $0 andalso D =< $9;
        _ -> false
    end;
is_variable(_) -> false.

records_of(_, #ctx{scope = group}) -> none;
records_of(M, _) -> {module, M}.

%% --- raw match specs ---------------------------------------------------------

raw(Kind, [{'[', At} | _] = Tokens, Ctx) ->
    Expr = expression(Tokens ++ [{dot, at(lists:last(Tokens))}]),
    Ms = try
             erl_parse:normalise(Expr)
         catch
             error:_ ->
                 fail(At, "a match spec is a term: [{Head, Guards, Body}], "
                      "with '$1' for variables", [])
         end,
    Put = put_literals(Ms, Ctx),
    _ = deep(Put, ?MAX_DEPTH) andalso fail(At, "nested too deeply", []),
    _ = [raw_clause(Kind, At, C) || C <- proper(At, Put)],
    [{raw, C} || C <- Put].

proper(_At, [_ | _] = List) when length(List) > 0 -> List;
proper(At, _) -> fail(At, "a match spec is a list of {Head, Guards, Body}", []).

raw_clause(Kind, At, {Head, Guards, Body})
  when Head =:= '_' orelse length(Head) >= 0,
       length(Guards) >= 0, length(Body) >= 0 ->
    Full = #{send => 2, 'receive' => 3},
    _ = case Full of
            #{Kind := N} when is_list(Head), length(Head) =/= N ->
                fail(At, "the VM matches ~ts on a list of ~b", [Kind, N]);
            _ ->
                ok
        end,
    _ = [fail(At, "{~ts, ...} changes more than what is recorded, which a "
              "session must not", [F])
         || F <- functions(Body), lists:member(F, ?SIDE_EFFECTS)],
    _ = [fail(At, "{~ts} is not available for messages", [F])
         || Kind =/= call, F <- functions(Body), F =/= message, F =/= self],
    ok;
raw_clause(_Kind, At, _) ->
    fail(At, "each clause of a match spec is {Head, Guards, Body}: "
         "[{['_',3],[],[]}]", []).

%% Returns all atoms that are in a place where a match spec may have the name of a
%% function.
functions([H | T]) -> functions(H) ++ functions(T);
functions({const, _}) -> [];
functions({F}) when is_tuple(F) -> functions(tuple_to_list(F));
functions(T) when is_tuple(T), tuple_size(T) > 0 ->
    [F | Args] = tuple_to_list(T),
    [F || is_atom(F)] ++ functions(Args);
functions(M) when is_map(M) -> functions(maps:values(M));
functions(_) -> [].

%% --- checks by the VM --------------------------------------------------------

vm_accepts(_At, []) ->
    ok;
vm_accepts(At, Clauses) ->
    Ms = [case C of
              %% With the guard `false' the VM does not run the body.
              {raw, {H, G, B}} when is_list(G) -> {H, [false | G], B};
              {raw, Raw} -> Raw;
              {H, G, _} -> {H, G, []}
          end || C <- Clauses],
    try erlang:match_spec_test([], Ms, trace) of
        {error, Errors} ->
            fail(At, "the VM does not accept this match spec: ~ts",
                 [lists:join(", ", [string:trim(E, trailing, ". ")
                                    || {error, E} <- Errors])]);
        _ ->
            ok
    catch
        error:_ ->
            fail(At, "the VM does not accept this match spec", [])
    end.

deep(_, 0) -> true;
deep([H | T], N) -> deep(H, N - 1) orelse deep(T, N);
deep(T, N) when is_tuple(T) ->
    lists:any(fun(E) -> deep(E, N - 1) end, tuple_to_list(T));
deep(M, N) when is_map(M) ->
    lists:any(fun(E) -> deep(E, N - 1) end, maps:values(M));
deep(_, _) -> false.

%% --- identifiers -------------------------------------------------------------

%% Replaces <0.1.2>, #Ref<0.1.2.3> and #Port<0.5>, which are not tokens of Erlang,
%% by atoms of a fixed set. When the match spec is built, the terms replace these
%% atoms.
literals(Tokens) ->
    literals(Tokens, 1, [], []).

literals([], _, Acc, Map) ->
    {lists:reverse(Acc), Map};
literals([{'#', At}, {var, _, Kind}, {'<', _} | Rest] = All, N, Acc, Map)
  when Kind =:= 'Ref'; Kind =:= 'Port'; Kind =:= 'PID' ->
    Prefix = case Kind of
                 'PID' -> "";
                 _ -> [$# | atom_to_list(Kind)]
             end,
    case bracketed(Rest, []) of
        {Digits, Rest1} ->
            literal(Prefix, Digits, At, Rest1, N, Acc, Map);
        none ->
            literals(tl(All), N, [hd(All) | Acc], Map)
    end;
literals([{'<', At} | Rest], N, Acc, Map) ->
    case bracketed(Rest, []) of
        {Digits, Rest1} ->
            literal("", Digits, At, Rest1, N, Acc, Map);
        none ->
            literals(Rest, N, [{'<', At} | Acc], Map)
    end;
literals([{literal, At, Prefix, Digits} | Rest], N, Acc, Map) ->
    literal(Prefix, Digits, At, Rest, N, Acc, Map);
literals([Token | Rest], N, Acc, Map) ->
    literals(Rest, N, [Token | Acc], Map).

literal(_, _, At, _, N, _, _) when N > ?MAX_LITERALS ->
    fail(At, "more than ~b pids, references and ports", [?MAX_LITERALS]);
literal(Prefix, Digits, At, Rest, N, Acc, Map) ->
    Written = lists:append([Prefix, "<", Digits, ">"]),
    Term = try
               case Prefix of
                   "" -> list_to_pid(Written);
                   "#Ref" -> list_to_ref(Written);
                   "#Port" -> list_to_port(Written)
               end
           catch
               error:badarg ->
                   fail(At, "~ts is unknown on this node", [Written])
           end,
    Atom = list_to_atom("<literal " ++ integer_to_list(N) ++ ">"),
    literals(Rest, N + 1, [{atom, At, Atom} | Acc], [{Atom, Term} | Map]).

%% Collects the text of numbers and dots up to the token ">".
bracketed([{'>', _} | Rest], [_, _ | _] = Acc) ->
    Digits = lists:append(lists:reverse(Acc)),
    {Digits, Rest};
bracketed([{T, Anno, _} | Rest], Acc) when T =:= integer; T =:= float ->
    bracketed(Rest, [erl_anno:text(Anno) | Acc]);
bracketed([{'.', _} | Rest], Acc) ->
    bracketed(Rest, ["." | Acc]);
bracketed([{'>', _} | Rest], [Text]) ->
    %% The scanner reads the 0.5 in #Port<0.5> as a float.
    case lists:member($., Text) of
        true -> {Text, Rest};
        false -> none
    end;
bracketed(_, _) ->
    none.

put_literals(Term, #ctx{literals = []}) -> Term;
put_literals(Term, #ctx{literals = Literals}) ->
    put_literal(Term, maps:from_list(Literals)).

put_literal(A, Map) when is_map_key(A, Map) -> maps:get(A, Map);
put_literal([H | T], Map) -> [put_literal(H, Map) | put_literal(T, Map)];
put_literal(T, Map) when is_tuple(T) ->
    list_to_tuple(put_literal(tuple_to_list(T), Map));
put_literal(M, Map) when is_map(M) ->
    maps:from_list(put_literal(maps:to_list(M), Map));
put_literal(Other, _) -> Other.

%% --- errors ------------------------------------------------------------------

-spec syntax(term(), string(), [term()]) -> no_return().
syntax(Where, Format, Args) ->
    throw({syntax, Where, io_lib:format(Format, Args)}).

-spec fail(term(), string(), [term()]) -> no_return().
fail(Where, Format, Args) ->
    throw({usage, Where, io_lib:format(Format, Args)}).

at(Token) -> element(2, Token).

shown({atom, _, A}) -> io_lib:format("~tw", [A]);
shown({T, _, V}) when T =:= var -> atom_to_list(V);
shown({_, _, V}) -> io_lib:format("~tp", [V]);
shown({dot, _}) -> ".";
shown({T, _}) -> atom_to_list(T).

text(M) -> io_lib:format("~tw", [M]).

examples([C | _]) when C >= $A, C =< $Z ->
    ". For example: Enum.map/2, or 'Map.get(_, :foo) -> return'";
examples(_) ->
    ". " ?EXAMPLES.

report(Chars, Where, What, Example) ->
    format("`~ts', character ~ts: ~ts~ts",
           [shortened(Chars), column(Where), What, Example]).

shortened(Chars) ->
    case length(Chars) > 60 of
        true -> lists:sublist(Chars, 57) ++ "...";
        false -> Chars
    end.

column(Where) ->
    case erl_anno:is_anno(Where) andalso erl_anno:location(Where) of
        {1, Column} -> integer_to_list(Column);
        {Line, Column} -> io_lib:format("~b of line ~b", [Column, Line]);
        _ -> "1"
    end.

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).

%% @doc Formats a function in the syntax of its language.
-spec format_mfa(module(), atom(), arity() | '_') -> iolist().
format_mfa(M, F, A) ->
    Arity = case A of
                '_' -> "";
                _ -> io_lib:format("/~b", [A])
            end,
    case atom_to_list(M) of
        "Elixir." ++ Name -> io_lib:format("~ts.~ts~ts", [Name, F, Arity]);
        _ -> io_lib:format("~tw:~tw~ts", [M, F, Arity])
    end.
