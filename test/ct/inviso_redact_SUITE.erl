%% SPDX-License-Identifier: Apache-2.0
%% Redaction in the tracer: which values a rule hides, what is recorded in their
%% place, and that neither the files nor the spooler's memory contain the hidden
%% values.
-module(inviso_redact_SUITE).

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([random_terms/1, offline_is_the_same/1, every_size/1, shapes_have_no_data/1,
         arguments_and_results/1, results_of_match_specs/1, stacks/1,
         stacks_in_terms/1, exceptions_of_callers/1,
         looks_are_limited/1, records/1, long_keys/1, http_headers/1,
         spawned_functions/1, calls_through_others/1,
         identities_stay/1, messages_of_seq_trace/1, labels/1,
         filters_see_the_values/1, etf_has_tuples/1, nothing_is_anywhere/1,
         mistakes/1, nothing_without_rules/1, many_schedulers/1]).
%% Called on another node.
-export([plant/2]).

-define(LIB, inviso_trace_lib).
-define(SECRET, "hunter2-4711").

all() ->
    [random_terms, offline_is_the_same, every_size, shapes_have_no_data,
     arguments_and_results, results_of_match_specs, stacks, stacks_in_terms,
     exceptions_of_callers, looks_are_limited,
     records, long_keys, http_headers, spawned_functions, calls_through_others,
     identities_stay,
     messages_of_seq_trace, labels, filters_see_the_values, etf_has_tuples,
     nothing_is_anywhere, mistakes, nothing_without_rules, many_schedulers].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

%% --- helpers ------------------------------------------------------------------

%% Calls the tracer for each event, as the VM does. Returns {Counts, Objects}: the tracer's counts,
%% and the objects that `inviso merge' prints.
recorded(Config, Opts, Events) ->
    recorded_in(?LIB:name(Config, "x.log"), Opts, Events).

recorded_in(Log, Opts, Events) ->
    Result = logged(Log, Opts, Events),
    absent([?SECRET], file_bytes(Log)),
    Result.

logged(Log, Opts, Events) ->
    {M, S} = Tracer = ?LIB:open(Log, Opts#{replace => true}),
    [ok = M:trace(Tag, S, Who, Term, More) || {Tag, Who, Term, More} <- Events],
    Stats = ?LIB:close(Tracer),
    {Stats, ?LIB:events(Log)}.

sent(Terms) ->
    [{send, self(), T, #{extra => self()}} || T <- Terms].

called(M, F, Args) ->
    {call, self(), {M, F, Args}, #{}}.

ended(Tag, M, F, Arity, Value) ->
    {Tag, self(), {M, F, Arity}, #{extra => Value}}.

payload(#{<<"payload">> := Payload}) -> Payload.

first(Event) -> hd(payload(Event)).

file_bytes(Name) ->
    {ok, Bin} = file:read_file(Name),
    Bin.

absent(Secrets, Bin) ->
    [nomatch = binary:match(Bin, Text)
     || Secret <- Secrets,
        Text <- [unicode:characters_to_binary(Secret),
                 %% the text as ~w prints it: the code points of its characters
                 iolist_to_binary(lists:join(",", [integer_to_list(C)
                                                   || C <- Secret]))]],
    ok.

present(Secret, Bin) ->
    true = binary:match(Bin, list_to_binary(Secret)) =/= nomatch.

%% --- keys ---------------------------------------------------------------------

%% The terms are random, with secrets under random keys at any depth. All secrets must be redacted.
%% Everything else must be printed as without redaction.
random_terms(Config) ->
    ok = inviso_test_lib:seed(?FUNCTION_NAME),
    Terms = [term(rand:uniform(5)) || _ <- lists:seq(1, 1500)],
    Opts = #{max_term_bytes => 65536 div 2, packet_bytes => 262144,
             redact => [password, <<"*token*">>, "set-cookie"]},
    {#{redacted := N}, Events} = recorded(Config, Opts, sent(Terms)),
    Expected = [expected(model(T)) || T <- Terms],
    Whole = [X || {E, _, _} = X <- lists:zip3(Events, Expected, Terms),
                  not is_map_key(<<"truncated">>, E)],
    true = length(Whole) > length(Events) * 9 div 10,
    [same(Text, first(E), Term) || {E, Text, Term} <- Whole],
    Marks = [{E, marks(first(E))} || E <- Events],
    {N, _} = {lists:sum([M || {_, M} <- Marks]), marks},
    true = N > 500,
    [{Is, _} = {maps:get(<<"redacted">>, E, false), E}
     || {E, M} <- Marks, Is <- [M > 0]],
    ok.

marks(Text) -> length(binary:matches(Text, <<"<redacted:">>)).

same(Text, Text, _) ->
    ok;
same(Expected, Got, Term) ->
    N = binary:longest_common_prefix([Expected, Got]),
    From = max(0, N - 60),
    error({differ, string:slice(Expected, From, 160),
           string:slice(Got, From, 160), Term}).

term(0) ->
    leaf();
term(Depth) ->
    case rand:uniform(9) of
        9 -> [1, one_of(secret_keys()) | one_of(improper())];
        1 -> [term(Depth - 1) || _ <- lists:seq(1, rand:uniform(5) - 1)];
        2 -> list_to_tuple([term(Depth - 1)
                            || _ <- lists:seq(1, rand:uniform(5) - 1)]);
        3 -> maps:from_list([pair(Depth) || _ <- lists:seq(1, rand:uniform(5))]);
        4 -> [pair(Depth) || _ <- lists:seq(1, rand:uniform(3))];
        5 -> pair(Depth);
        6 -> [term(Depth - 1) | pair(Depth)];
        7 -> maps:from_list([pair(1) || _ <- lists:seq(1, 40)]);
        8 -> leaf()
    end.

%% Returns a random pair. In some pairs the key is the name of a secret, and the value is or
%% contains a secret.
pair(Depth) ->
    case rand:uniform(3) of
        1 -> {one_of(secret_keys()), one_of(secrets())};
        2 -> {one_of(secret_keys()), [one_of(secrets()), term(Depth - 1)]};
        3 -> {key(Depth), term(Depth - 1)}
    end.

key(Depth) ->
    case rand:uniform(4) of
        1 -> rand:uniform(1000);
        2 -> one_of([a, b, user, 'pass', <<"passwords">>, "tok", 'é', <<>>]);
        3 -> "key" ++ integer_to_list(rand:uniform(1000));
        4 -> list_to_tuple([k, rand:uniform(1000), Depth])
    end.

secret_keys() ->
    [password, 'PassWord', <<"PASSWORD">>, "password", "Set-Cookie",
     <<"set_cookie">>, setcookie, token, my_token, <<"x-token-é"/utf8>>,
     'токен_token', "tokens"].

secrets() ->
    [?SECRET, list_to_binary(?SECRET), list_to_atom(?SECRET), ?SECRET ++ "é",
     #{a => ?SECRET}, {?SECRET, 1}, [list_to_binary(?SECRET)], self(), 1.5,
     [[?SECRET | <<?SECRET>>]], 471147114711, 1 bsl 100, <<5:3>>,
     fun ?MODULE:all/0, make_ref(), [], {}].

%% Returns the secrets that can be the tail of an improper list: those that are not lists.
improper() ->
    [S || S <- secrets(), not is_list(S)].

leaf() ->
    one_of([1, -7, 1 bsl 80, 2.5, ok, 'an atom', "text", <<"bytes">>, [], {},
            #{}, self(), [1, 2, 300], "", <<1:1>>]).

one_of(List) ->
    lists:nth(rand:uniform(length(List)), List).

%% Returns the term that should be recorded in place of this term.
model(Map) when is_map(Map) ->
    maps:from_list([{model(K), value(K, V)} || {K, V} <- maps:to_list(Map)]);
model({K, V}) ->
    {model(K), value(K, V)};
model(Tuple) when is_tuple(Tuple) ->
    list_to_tuple([model(E) || E <- tuple_to_list(Tuple)]);
model([H | T]) ->
    [model(H) | model_tail(H, T)];
model(Other) ->
    Other.

%% If Key is the name of a secret, the tracer also redacts Value in an improper list [Key | Value].
model_tail(_, [H | T]) -> [model(H) | model_tail(H, T)];
model_tail(_, []) -> [];
model_tail(K, Other) -> value(K, Other).

value(K, V) ->
    case is_secret(K) of
        true -> mark(V);
        false -> model(V)
    end.

is_secret(K) when is_atom(K) -> is_secret_text(atom_to_list(K));
is_secret(K) when is_binary(K) ->
    is_secret_text(unicode:characters_to_list(K));
is_secret(K) -> io_lib:char_list(K) andalso is_secret_text(K).

is_secret_text(Text) ->
    case [string:lowercase([C]) || C <- Text, C =/= $-, C =/= $_] of
        [] -> false;
        Parts ->
            Plain = lists:append(Parts),
            Plain =:= "password" orelse Plain =:= "setcookie"
                orelse string:find(Plain, "token") =/= nomatch
    end.

mark(V) -> binary_to_atom(<<"<redacted:", (type(V))/binary, ">">>).

type(V) when is_atom(V) -> <<"atom">>;
type(V) when is_bitstring(V) -> <<"binary">>;
type(V) when is_integer(V) -> <<"integer">>;
type(V) when is_float(V) -> <<"float">>;
type(V) when is_list(V) -> <<"list">>;
type(V) when is_tuple(V) -> <<"tuple">>;
type(V) when is_map(V) -> <<"map">>;
type(V) when is_pid(V) -> <<"pid">>;
type(V) when is_reference(V) -> <<"reference">>;
type(V) when is_function(V) -> <<"fun">>.

%% Returns the expected text. In the model a mark is an atom, so ~w prints quotes around it. The
%% function removes these quotes.
expected(Model) ->
    Text = unicode:characters_to_binary(?LIB:w(Model)),
    iolist_to_binary(re:replace(Text, "'(<redacted:[a-z]+>)'", "\\1",
                                [global])).

%% A log is recorded without redaction. Then `inviso merge --redact' must print the same as for a
%% log in which the node has redacted values by the same rules.
offline_is_the_same(Config) ->
    ok = inviso_test_lib:seed(?FUNCTION_NAME),
    Stack = [{shop, login, [bob, ?SECRET], [{file, "s.erl"}]}, {m, f, 1, []}],
    Events = sent([term(rand:uniform(5)) || _ <- lists:seq(1, 300)])
        ++ [called(shop, login, [bob, ?SECRET]),
            called(shop, login, [?SECRET, [1, 2]]),
            called(m, f, [1, {token, ?SECRET} | lists:seq(1, 20)]),
            called(m, f, []),
            ended(return_from, shop, login, 2, ?SECRET),
            ended(exception_from, shop, login, 2, {error, {badmatch, ?SECRET}}),
            ended(exception_from, shop, login, 2, {error, badarg}),
            {exit, self(), {{badmatch, ?SECRET}, Stack}, #{}},
            {exit, self(), {function_clause, Stack}, #{}},
            {exit, self(), {token, ?SECRET}, #{}},
            ended(exception_from, web, page, 1, {error, {badmatch, ?SECRET}}),
            {spawn, self(), self(), #{extra => {shop, login, [1, ?SECRET]}}},
            {seq_trace, #{token => ?SECRET},
             {send, {1, 2}, self(), self(), {token, ?SECRET}}, #{}},
            {call, self(), {shop, login, [1, 2]},
             #{match_spec_result => {x, ?SECRET}}},
            {strange_tag, self(), {token, ?SECRET}, #{}},
            {register, self(), token, #{}},
            {link, self(), self(), #{}},
            {send, self(), ok, #{extra => {a_name, node()}}}]
        ++ sent(reports({badmatch, ?SECRET}, Stack)
                ++ reports(x, [{m, f, 1, []}])),
    Large = #{max_term_bytes => 32768, packet_bytes => 262144},
    Plain = ?LIB:name(Config, "plain.log"),
    {M, S} = T = ?LIB:open(Plain, Large),
    [ok = M:trace(Tag, S, Who, Term, More) || {Tag, Who, Term, More} <- Events],
    _ = ?LIB:close(T),
    [begin
         {#{redacted := N}, Live} = logged(?LIB:name(Config, "live.log"),
                                           Large#{redact => Rules}, Events),
         {0, Bin, Said} = ?LIB:merge(Plain, "json", ["--redact", Rules]),
         Offline = [inviso_trace_json:decode(L)
                    || L <- binary:split(Bin, <<"\n">>, [global, trim_all])],
         [alike(A, B) || {A, B} <- lists:zip(Live, Offline),
                         not is_map_key(<<"truncated">>, A),
                         not is_map_key(<<"truncated">>, B)],
         true = N > 100,
         present("value(s) were redacted", Said)
     end || Rules <- ["*token*,password,set-cookie,shop:login(_, -)",
                      "*token*,#k/3.2,shop:login/2", "all"]].

alike(A, B) ->
    Keys = [<<"tag">>, <<"payload">>, <<"label">>, <<"result">>, <<"args">>,
            <<"redacted">>],
    case {maps:with(Keys, A), maps:with(Keys, B)} of
        {Same, Same} -> ok;
        {#{<<"payload">> := Live}, #{<<"payload">> := Offline}}
          when Live =/= Offline ->
            [same(X, Y, A) || {X, Y} <- lists:zip(Live, Offline)];
        {Live, Offline} ->
            error({differ, Live, Offline})
    end.

%% The limits are so small that terms are cut: inside a key, inside a value, and between the two.
every_size(Config) ->
    Secret = list_to_binary(?SECRET),
    Terms = [#{<<"some_token_key">> => Secret, filler => <<"a long value">>},
             [{password, ?SECRET}, {filler, [x, y]}, {"a token", Secret}],
             {user, ?SECRET, [{password, [?SECRET | Secret]}, filler]},
             [[<<"xx">>, "yy" | {token, Secret}] | {password, Secret}],
             lists:duplicate(40, {token, ?SECRET})],
    [begin
         Opts = #{max_term_bytes => Max, max_depth => Depth,
                  redact => "password,*token*,#user/3.2"},
         {_, Events} = recorded(Config, Opts, sent(Terms)),
         {5, _, _} = {length(Events), Max, Depth},
         {5, _, _} = {length(element(2, recorded(Config,
                                                 Opts#{redact => all},
                                                 sent(Terms)))),
                      Max, Depth}
     end || Max <- lists:seq(16, 90, inviso_test_lib:soak(7, 3)), Depth <- [1, 2, 3, 32]].

%% --- all ----------------------------------------------------------------------

shapes_have_no_data(Config) ->
    Place = [{file, "x.erl"}, {line, 7}],
    Shapes =
        [{?SECRET, <<"<redacted:list>">>},
         {[1, 2, 300], <<"<redacted:list>">>},
         {[1 | 2], <<"<redacted:list>">>},
         {[], <<"[]">>},
         {[[], <<>>, ?SECRET],
          <<"[[],<redacted:binary>,<redacted:list>]">>},
         {[<<"a">> | <<"b">>], <<"[<redacted:binary>|<redacted:binary>]">>},
         {{ok, {user, bob, 17}},
          <<"{ok,{user,<redacted:atom>,<redacted:integer>}}">>},
         {{1, a}, <<"{<redacted:integer>,<redacted:atom>}">>},
         {{}, <<"{}">>},
         {#{}, <<"#{}">>},
         {#{name => bob, 1 => 2.5},
          <<"#{<redacted:integer> => <redacted:float>,"
            "name => <redacted:atom>}">>},
         {#{"a" => x, <<"b">> => y},
          <<"#{<redacted:list> => <redacted:atom>,"
            "<redacted:binary> => <redacted:atom>}">>},
         {{badarg, [{m, f, [?SECRET], Place}, {m, g, 1, Place}]},
          <<"{badarg,[{m,f,[<redacted:list>],[{file,<redacted:list>},"
            "{line,<redacted:integer>}]},{m,g,1,[{file,<redacted:list>},"
            "{line,<redacted:integer>}]}]}">>},
         {{bob, jim, 17, []},
          <<"{bob,<redacted:atom>,<redacted:integer>,[]}">>},
         {1 bsl 200, <<"<redacted:integer>">>},
         {<<1:1>>, <<"<redacted:binary>">>}],
    {_, Events} = recorded(Config, #{redact => all},
                           sent([T || {T, _} <- Shapes])),
    [{Text, _} = {first(E), T} || {E, {T, Text}} <- lists:zip(Events, Shapes)],
    %% Pids, funs, references and ports are no data, so `all' does not redact
    %% them.
    Ids = [self(), fun lists:map/2, make_ref(), hd(erlang:ports())],
    {#{redacted := 0}, Same} = recorded(Config, #{redact => all}, sent(Ids)),
    [{Text, _} = {first(E), Id}
     || {E, Id} <- lists:zip(Same, Ids),
        Text <- [?LIB:w(Id)]],
    {_, [Call, Return, Message]} =
        recorded(Config, #{redact => all},
                 [called(m, f, [?SECRET, {a, b}]),
                  ended(return_from, m, f, 2, {ok, ?SECRET}),
                  {call, self(), {m, g, [1]},
                   #{match_spec_result => {x, ?SECRET}}}]),
    [<<"<redacted:list>">>, <<"{a,<redacted:atom>}">>] =
        maps:get(<<"args">>, Call),
    <<"{ok,<redacted:list>}">> = maps:get(<<"return">>, Return),
    true = maps:get(<<"redacted">>, Return),
    <<"{x,<redacted:list>}">> = maps:get(<<"result">>, Message).

%% A match spec can put a redacted value into its result, as `--label P' does for
%% f(#{token := P}).
results_of_match_specs(Config) ->
    Secrets = [list_to_binary(?SECRET), ?SECRET, {?SECRET}, #{a => ?SECRET}, 1.5],
    Calls = [{call, self(), {m, f, [#{token => S}, 7]},
              #{match_spec_result => R}}
             || S <- Secrets,
                R <- [S, [S, 7], {seen, [{1, S}], 7}, {x, [x, {S}]},
                      #{x => S, y => 7}]],
    {_, Events} = recorded(Config, #{redact => token}, Calls),
    ok = shown_results(Events),
    %% The call has more redacted values than the tracer can compare with the result. So the tracer
    %% redacts the whole result: a tag or a pid in it could be one of these values, too.
    Pairs = [{token, <<I>>} || I <- lists:seq(1, 20)],
    Many = [{call, self(), {m, f, [[{token, S} | Pairs]]}, #{match_spec_result => R}}
            || S <- [list_to_binary(?SECRET), ?SECRET, list_to_atom(?SECRET), self(), 8],
               R <- [S, {S, 7}, [x, {y, S}], #{S => y}]],
    {_, Whole} = recorded(Config, #{redact => token}, Many),
    ok = only_marks(Whole),
    Log = ?LIB:name(Config, "plain.log"),
    {_, _} = logged(Log, #{}, Calls ++ Many),
    {0, Out, _} = ?LIB:merge(Log, "json", ["--redact", "token"]),
    absent([?SECRET], Out),
    Offline = [inviso_trace_json:decode(L)
               || L <- binary:split(Out, <<"\n">>, [global, trim_all])],
    {Few, Hidden} = lists:split(length(Calls), [E || #{<<"result">> := _} = E <- Offline]),
    ok = shown_results(Few),
    ok = only_marks(Hidden).

only_marks(Events) ->
    20 = length(Events),
    [match = re:run(maps:get(<<"result">>, E), "^<redacted:[a-z]+>$", [{capture, none}])
     || E <- Events],
    ok.

shown_results(Events) ->
    25 = length(Events),
    [begin
         nomatch = binary:match(R, <<"1.5">>),
         match = re:run(R, "redacted:(binary|list|tuple|map|float)",
                        [{capture, none}])
     end || #{<<"result">> := R} <- Events],
    10 = length([R || #{<<"result">> := R} <- Events,
                      binary:match(R, <<",7">>) =/= nomatch]),
    ok.

%% --- functions ----------------------------------------------------------------

arguments_and_results(Config) ->
    Rules = "shop:login(_, -), shop:get/1, shop:key() -> -, other:f",
    {_, Events} =
        recorded(Config, #{redact => Rules},
                 [called(shop, login, [bob, ?SECRET]),
                  ended(return_from, shop, login, 2, {ok, 1}),
                  called(shop, login, [bob, a, b]),
                  ended(exception_from, shop, login, 2,
                        {error, {badmatch, ?SECRET}}),
                  called(shop, get, [?SECRET]),
                  ended(return_from, shop, get, 1, ?SECRET),
                  ended(exception_from, shop, get, 1, {exit, ?SECRET}),
                  called(shop, key, []),
                  ended(return_from, shop, key, 0, ?SECRET),
                  called(other, f, [?SECRET, ?SECRET]),
                  {call, self(), {shop, login, [bob, ?SECRET]},
                   #{match_spec_result => [?SECRET]}}]),
    [[<<"{shop,login,[bob,<redacted:list>]}">>],
     [<<"{shop,login,2}">>, <<"{ok,1}">>],
     [<<"{shop,login,[bob,a,b]}">>],
     [<<"{shop,login,2}">>, <<"{error,{badmatch,<redacted:list>}}">>],
     [<<"{shop,get,[<redacted:list>]}">>],
     [<<"{shop,get,1}">>, <<"<redacted:list>">>],
     [<<"{shop,get,1}">>, <<"{exit,<redacted:list>}">>],
     [<<"{shop,key,[]}">>],
     [<<"{shop,key,0}">>, <<"<redacted:list>">>],
     [<<"{other,f,[<redacted:list>,<redacted:list>]}">>],
     [<<"{shop,login,[bob,<redacted:list>]}">>]] =
        [payload(E) || E <- Events],
    <<"[<redacted:list>]">> = maps:get(<<"result">>, lists:last(Events)),
    %% The call has more arguments than the tracer collects at once.
    Many = lists:seq(100, 130),
    {_, [Call]} = recorded(Config, #{redact => "m:f(" ++ lists:append(
                                       lists:duplicate(30, "_,")) ++ "-)"},
                           [called(m, f, Many)]),
    Args = [integer_to_binary(N) || N <- lists:seq(100, 129)]
        ++ [<<"<redacted:integer>">>],
    Args = maps:get(<<"args">>, Call).

%% If no clause of a function matches a call, the stack trace contains the arguments of the call.
%% The reason before the stack trace, such as {badmatch, Value}, often contains another value of the
%% function.
stacks(Config) ->
    Stack = [{shop, login, [bob, ?SECRET], [{file, "s.erl"}]}, {m, f, 1, []}],
    Deep = [{m, f, 1, []}, {shop, login, 2, []}],
    {_, Events} =
        recorded(Config, #{redact => "shop:login(_, -)"},
                 [{exit, self(), {function_clause, Stack}, #{}},
                  {exit, self(), {{badmatch, ?SECRET}, Deep}, #{}},
                  {'receive', self(),
                   {'EXIT', self(), {{badmatch, ?SECRET}, Deep}}, #{}},
                  {exit, self(), {shown, ?SECRET}, #{}},
                  {exit, self(), normal, #{}}]),
    [<<"{function_clause,[{shop,login,[<redacted:atom>,<redacted:list>],"
       "[{file,<redacted:list>}]},{m,<redacted:atom>,<redacted:integer>,[]}]}">>,
     <<"{{badmatch,<redacted:list>},[{m,<redacted:atom>,<redacted:integer>,[]},"
       "{shop,<redacted:atom>,<redacted:integer>,[]}]}">>,
     _,
     <<"{shown,<redacted:list>}">>,
     <<"normal">>] = [first(E) || E <- Events].

%% The test puts the reason and the stack trace at several places in a term, not only into a pair.
%% If the function of the rule is not in the stack trace, nothing is redacted.
stacks_in_terms(Config) ->
    Shown = fun(Stack) ->
                    {_, Events} =
                        logged(?LIB:name(Config, "x.log"),
                               #{redact => "shop:login(_, -)"},
                               sent(reports({badmatch, ?SECRET}, Stack))),
                    [first(E) || E <- Events]
            end,
    Ruled = Shown([{m, f, 1, []}, {shop, login, 2, []}]),
    Text = <<"[{m,f,1,[]},{shop,login,2,[]}]">>,
    R = <<"{badmatch,<redacted:list>}">>,
    Expected = [<<"{error,", R/binary, ",", Text/binary, "}">>,
                <<"#{reason => ", R/binary, ",stacktrace => ", Text/binary, "}">>,
                <<"[error,", R/binary, ",", Text/binary, "]">>,
                <<"[{kind,<redacted:atom>},{reason,", R/binary, "},{stack,",
                  Text/binary, "}]">>,
                <<"[{error_info,{exit,", R/binary, ",", Text/binary, "}},{a,1}]">>,
                <<"{stack,", Text/binary, "}">>],
    [{E, _} = {G, E} || {E, G} <- lists:zip(Expected, Ruled)],
    [false = nomatch =/= binary:match(G, <<"redacted">>)
     || G <- Shown([{m, f, 1, []}])].

reports(Reason, Stack) ->
    [{error, Reason, Stack}, #{reason => Reason, stacktrace => Stack},
     [error, Reason, Stack],
     [{kind, error}, {reason, Reason}, {stack, Stack}],
     [{error_info, {exit, Reason, Stack}}, {a, 1}],
     {stack, Stack}].

%% An exception of shop:login/2, which has a rule, passes through its caller web:page/1, which has
%% no rule. In the caller's event the value is redacted, too.
exceptions_of_callers(Config) ->
    {_, Events} = recorded(Config, #{redact => "shop:login(_, -)"},
                           [ended(exception_from, web, page, 1,
                                  {error, {badmatch, ?SECRET}}),
                            ended(exception_from, web, page, 1, {error, badarg})]),
    [[_, <<"{error,{badmatch,<redacted:list>}}">>],
     [_, <<"{error,badarg}">>]] = [payload(E) || E <- Events].

%% For each term, rules look at a limited number of cells. The limit also counts cells below the
%% depth limit, and lists that look like arguments of a function with a rule. All parts beyond the
%% limit are redacted.
looks_are_limited(Config) ->
    Args = lists:duplicate(255, x),
    Pairs = lists:duplicate(500, {1, lists:duplicate(16, {a, f, Args})}),
    Keys = lists:duplicate(500, {lists:seq(200, 440), 1}),
    [begin
         {#{redacted := N}, [Event]} =
             recorded(Config, #{redact => Rule, max_depth => 2,
                                max_term_bytes => 4096}, sent([Term])),
         {true, _} = {N > 0, N},
         true = maps:get(<<"truncated">>, Event)
     end || {Rule, Term} <- [{<<"zz:f(_,-)">>, Pairs}, {<<"zz">>, Keys}]].

records(Config) ->
    Rules = [{record, user, [name, password, age], [password]},
             "#order/3.3", default],
    {_, Events} = recorded(Config, #{redact => Rules},
                           sent([{user, bob, ?SECRET, 17}, {user, a, b},
                                 [{order, 1, ?SECRET}],
                                 #{k => {user, 1, [?SECRET], 2}}])),
    [<<"{user,bob,<redacted:list>,17}">>,
     <<"{user,<redacted:atom>,<redacted:atom>}">>,
     <<"[{order,1,<redacted:list>}]">>,
     <<"#{k => {user,1,<redacted:list>,2}}">>] = [first(E) || E <- Events].

%% A rule also hides the values of keys that are as long as the longest atoms.
long_keys(Config) ->
    Keys = [lists:duplicate(N, $k) || N <- [250, 251, 252, 255]]
        ++ [lists:duplicate(127, 233)],
    Events = sent([{K, ?SECRET} || K <- Keys] ++ [{[8364 | hd(Keys)], ?SECRET}]),
    {_, Live} = recorded(Config, #{redact => "*"}, Events),
    [true = maps:get(<<"redacted">>, E) || E <- Live],
    Plain = ?LIB:name(Config, "long.log"),
    _ = logged(Plain, #{}, Events),
    {0, Bin, _} = ?LIB:merge(Plain, "json", ["--redact", "*"]),
    absent([?SECRET], Bin).

%% Tests HTTP headers in the form in which erlang:decode_packet/3 returns them.
%% Sockets with {packet, http} return the same form.
http_headers(Config) ->
    Packet = <<"Authorization: ", ?SECRET, "\r\nX-Api-Key: ", ?SECRET,
               "\r\nHost: shown-4711\r\n\r\n">>,
    {ok, Known, Rest} = erlang:decode_packet(httph_bin, Packet, []),
    {ok, Other, Last} = erlang:decode_packet(httph, Rest, []),
    {ok, Host, _} = erlang:decode_packet(httph_bin, Last, []),
    Events = sent([Known, Other, Host]),
    {#{redacted := 2}, [_, _, Shown]} =
        recorded(Config, #{redact => default}, Events),
    nomatch = binary:match(first(Shown), <<"redacted">>),
    Plain = ?LIB:name(Config, "http.log"),
    _ = logged(Plain, #{}, Events),
    {0, Bin, _} = ?LIB:merge(Plain, "json", ["--redact", "default"]),
    absent([?SECRET], Bin).

spawned_functions(Config) ->
    {_, Events} =
        recorded(Config, #{redact => "shop:start(-)"},
                 [{spawn, self(), self(), #{extra => {shop, start, [?SECRET]}}},
                  {spawned, self(), self(),
                   #{extra => {shop, start, [?SECRET]}}}]),
    [<<"{shop,start,[<redacted:list>]}">> = lists:last(payload(E))
     || E <- Events].

%% Functions such as erlang:apply/3 get, as arguments, another function and its arguments. A rule
%% for the other function applies to these arguments.
calls_through_others(Config) ->
    Start = [shop, start, [?SECRET]],
    Init = [gen_server, self(), self(), shop, #{a => ?SECRET}, []],
    Named = [gen_server, self(), self(), {local, x}, shop, {?SECRET, 1}, []],
    Events = [{call, self(), MFA, #{}}
              || MFA <- [{erlang, apply, Start}, {proc_lib, init_p, [self(), [] | Start]},
                         {gen, init_it, Init}, {gen, init_it, Named},
                         {proc_lib, init_p, [self(), [], gen, init_it, Init]},
                         {gen_server, start, [shop, ?SECRET, []]},
                         {gen_server, start_link, [{local, x}, shop, ?SECRET, []]},
                         {m, f, [[{shop, start, [?SECRET]} | tail]]},
                         {m, f, [{later, shop, start, [?SECRET], 5, infinity}]}]]
        ++ [{spawn, self(), self(),
             #{extra => {proc_lib, init_p, [self(), [] | Start]}}}],
    Others = [{call, self(), MFA, #{}}
              || MFA <- [{erlang, apply, [shop, other, ["shown"]]},
                         {erlang, apply, [shop, start, ["shown", 2]]},
                         {gen_server, start, [other, "shown", []]},
                         {m, f, [{shop, init, 1}, {shop, start, 1}]}]],
    Rules = "shop:start(-), shop:init(-)",
    N = length(Events),
    {#{redacted := N}, Live} = recorded(Config, #{redact => Rules}, Events ++ Others),
    Plain = ?LIB:name(Config, "through.log"),
    _ = logged(Plain, #{}, Events ++ Others),
    {0, Bin, _} = ?LIB:merge(Plain, "json", ["--redact", Rules]),
    Merged = [inviso_trace_json:decode(L)
              || L <- binary:split(Bin, <<"\n">>, [global, trim_all])],
    Payloads = [payload(E) || E <- Live],
    Payloads = [payload(E) || E <- Merged],
    absent([?SECRET], Bin),
    Marked = [I =< N || I <- lists:seq(1, N + length(Others))],
    Marked = [maps:get(<<"redacted">>, E, false) || E <- Live],
    %% The spawn event does not tell how many arguments the function has. So all arguments are
    %% redacted.
    #{<<"process">> := #{<<"name">> := null}} = lists:last(Live),
    <<"{erlang,apply,[shop,start,<redacted:list>]}">> = first(hd(Live)),
    <<"{gen,init_it,[gen_server,", _/binary>> = Shown = first(lists:nth(3, Live)),
    {match, _} = re:run(Shown, "shop,<redacted:map>,\\[\\]\\]}$").

%% --- what is not redacted -----------------------------------------------------

identities_stay(Config) ->
    Port = hd(erlang:ports()),
    Events = [{send, self(), ok, #{extra => a_name}},
              {send, self(), ok, #{extra => {a_name, node()}}},
              {register, self(), a_name, #{}},
              {link, self(), self(), #{}},
              {getting_linked, self(), Port, #{}},
              {spawn, self(), self(), #{extra => {m, f, []}}},
              {gc_minor_start, self(), [{heap_size, 5}], #{}},
              {in, self(), {m, f, 1}, #{}},
              {return_to, self(), {m, f, 1}, #{}}],
    {_, Plain} = recorded(Config, #{}, Events),
    {#{redacted := 2}, All} = recorded(Config, #{redact => all}, Events),
    [_, _ | Same] = [payload(E) || E <- Plain],
    [[<<"<redacted:atom>">>, To1], [_, To2] | Same] = [payload(E) || E <- All],
    {<<"a_name">>, To2} = {To1, hd(tl(payload(lists:nth(2, Plain))))}.

messages_of_seq_trace(Config) ->
    Event = {seq_trace, #{token => ?SECRET},
             {send, {1, 2}, self(), self(), #{token => ?SECRET, a => 1}}, #{}},
    {_, [E]} = recorded(Config, #{redact => token}, [Event]),
    <<"#{token => <redacted:list>}">> = maps:get(<<"label">>, E),
    Me = list_to_binary(pid_to_list(self())),
    Text = <<"{send,{1,2},", Me/binary, ",", Me/binary,
             ",#{a => 1,token => <redacted:list>}}">>,
    [Text] = payload(E),
    {_, [All]} = recorded(Config, #{redact => all}, [Event]),
    AllText = <<"{send,{1,2},", Me/binary, ",", Me/binary,
                ",#{a => <redacted:integer>,token => <redacted:list>}}">>,
    [AllText] = payload(All).

%% The label of a process is its name in the log. It is redacted, too.
labels(Config) ->
    Log = ?LIB:name(Config, "labels.log"),
    Note = {1, [self(), 2, #{token => ?SECRET, a => 1}]},
    [begin
         {M, H} = T = ?LIB:open(Log, #{redact => Rules, names => false,
                                       replace => true}),
         1 = inviso_tracer:nif_note(H, [Note]),
         ok = M:trace(send, H, self(), ok, #{extra => self()}),
         _ = ?LIB:close(T),
         absent([?SECRET], file_bytes(Log)),
         [#{<<"process">> := #{<<"name">> := Name}}] = ?LIB:events(Log)
     end || {Rules, Name} <- [{token, <<"#{a => 1,token => <redacted:list>}">>},
                              {all, null}]].

%% --- filters, formats ---------------------------------------------------------

%% A filter in the node compares the value itself. A filter of `inviso merge' sees only the mark,
%% and a mark equals no constant.
filters_see_the_values(Config) ->
    Filter = "[{[_,send,{token,\"" ++ ?SECRET ++ "\"},_],[],[]}]",
    Log = ?LIB:name(Config, "x.log"),
    {#{recorded := 1, filtered := 1}, [E]} =
        recorded_in(Log, #{redact => token, filter => Filter},
                 sent([{token, ?SECRET}, {token, "another"}])),
    <<"{token,<redacted:list>}">> = first(E),
    {Status, <<>>, Said} = ?LIB:merge(Log, "json", ["--filter", Filter]),
    {5, _} = {Status, Said},
    present("could not decide on 1 event", Said).

etf_has_tuples(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {_, _} = recorded_in(Log, #{redact => all},
                         sent([#{<<"a">> => 1, <<"b">> => 2, "c" => x, d => y}])),
    {0, <<Size:32, Bytes:Size/binary, _/binary>>, _} = ?LIB:merge(Log, "etf"),
    {_, _, _, {trace, _, send, Term, _}, _} = binary_to_term(Bytes),
    4 = map_size(Term),
    #{d := {'$redacted', atom}} = Term,
    [binary, binary, list] =
        lists:sort([Type || {'$redacted', Type, _} <- maps:keys(Term)]),
    {0, Classic, _} = ?LIB:merge(Log, "classic"),
    present("d => <redacted:atom>", Classic).

%% --- on a node ----------------------------------------------------------------

%% The node has its rings in a file. The secret must not be in this file, in the spooler's memory,
%% or in the log. This is tested with and without compression, and also after the node was killed.
nothing_is_anywhere(Config) ->
    [anywhere(Config, Compress, Death)
     || Compress <- [none, zstd], Death <- [close, kill]].

anywhere(Config, Compress, Death) ->
    Dir = ?LIB:name(Config, lists:concat(["any_", Compress, "_", Death])),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Log = filename:join(Dir, "x.log"),
    Ring = filename:join(Dir, "x.ring"),
    Peer = ?LIB:node_start(#{}),
    {Tracer, Spooler} =
        ?LIB:call(Peer, ?MODULE, plant,
                  [Log, #{ring => {file, Ring}, compress => Compress,
                          buffer_bytes => 8388608, packet_bytes => 16384,
                          redact => "token,shop:login/2"}]),
    absent([?SECRET], file_bytes(Ring)),
    present("shown-4711", file_bytes(Ring)),
    Memory = memory(Spooler),
    absent([?SECRET], Memory),
    present("shown-4711", Memory),
    case Death of
        close ->
            {ok, _} = ?LIB:call(Peer, inviso_tracer, close, [Tracer]);
        kill ->
            Os = ?LIB:call(Peer, os, getpid, []),
            ?LIB:kill("KILL", list_to_integer(Os))
    end,
    true = ?LIB:until(fun() -> not ?LIB:os_alive(Spooler) end),
    ?LIB:node_stop(Peer),
    {ok, Files} = file:list_dir(Dir),
    [absent([?SECRET], file_bytes(filename:join(Dir, F))) || F <- Files],
    [begin
         {_, Bin, _} = ?LIB:merge(Log, Format),
         absent([?SECRET], Bin),
         present("shown-4711", Bin)
     end || Format <- ["text", "json", "classic", "etf"]].

%% Records secrets of all kinds in many events. Returns the tracer and the OS
%% process of its spooler.
plant(Log, Opts) ->
    Owner = spawn(fun() -> receive stop -> ok end end),
    {M, S} = Tracer = ?LIB:open(Log, Opts#{owner => Owner}),
    Secret = <<?SECRET>>,
    [begin
         Term = #{token => Secret, n => N, shown => 'shown-4711',
                  l => [{"Token", ?SECRET}, {token, binary_to_atom(Secret)}]},
         ok = M:trace(send, S, Owner, Term, #{extra => Owner}),
         ok = M:trace(call, S, Owner, {shop, login, [N, Secret]}, #{}),
         ok = M:trace(return_from, S, Owner, {shop, login, 2},
                      #{extra => Secret}),
         ok = M:trace(exit, S, Owner,
                      {{badmatch, Secret}, [{shop, login, [N, Secret], []}]},
                      #{})
     end || N <- lists:seq(1, 2000)],
    ok = inviso_tracer:flush(Tracer),
    #{spooler := #{os_pid := Pid}, redacted := Marks} =
        inviso_tracer:info(Tracer),
    true = Marks >= 2000 * 8,
    {Tracer, Pid}.

%% Returns those parts of an OS process's memory that can be read.
memory(Pid) ->
    Proc = "/proc/" ++ integer_to_list(Pid),
    {ok, Maps} = file:read_file(Proc ++ "/maps"),
    {ok, Fd} = file:open(Proc ++ "/mem", [read, raw, binary]),
    Parts = [region(Fd, L) || L <- binary:split(Maps, <<"\n">>, [global, trim])],
    ok = file:close(Fd),
    iolist_to_binary(Parts).

region(Fd, Line) ->
    [Range, <<Read, _/binary>> | _] = binary:split(Line, <<" ">>, [global]),
    [From, To] = [binary_to_integer(A, 16)
                  || A <- binary:split(Range, <<"-">>)],
    case Read =:= $r andalso From < 1 bsl 63
        andalso file:pread(Fd, From, To - From) of
        {ok, Bytes} -> Bytes;
        _ -> <<>>
    end.

%% Many threads look up atoms in the tracer's table of keys at the same time.
many_schedulers(Config) ->
    Log = ?LIB:name(Config, "many.log"),
    {M, S} = Tracer = ?LIB:open(Log, #{redact => "*token*"}),
    Keys = [list_to_atom(lists:concat([K, N]))
            || N <- lists:seq(1, 1500), K <- [token, other]],
    Work = fun() ->
                   [ok = M:trace(send, S, self(),
                                 maps:from_list([{K, ?SECRET}
                                                 || K <- Keys, is_token(K)]),
                                 #{extra => self()})
                    || _ <- [1, 2, 3]],
                   [ok = M:trace(send, S, self(), {K, 1}, #{extra => self()})
                    || K <- Keys]
           end,
    Pids = [spawn_monitor(Work)
            || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    [receive {'DOWN', Ref, process, _, Why} -> normal = Why end
     || {_, Ref} <- Pids],
    Stats = ?LIB:close(Tracer),
    absent([?SECRET], file_bytes(Log)),
    #{dropped := 0} = Stats,
    Pairs = [first(E) || E <- ?LIB:events(Log), binary:first(first(E)) =:= ${],
    [true = is_token_text(P) =:= (binary:match(P, <<"redacted">>) =/= nomatch)
     || P <- Pairs],
    true = length(Pairs) =:= length(Pids) * length(Keys).

is_token(K) -> is_token_text(atom_to_binary(K)).
is_token_text(T) -> binary:match(T, <<"token">>) =/= nomatch.

%% --- options ------------------------------------------------------------------

mistakes(Config) ->
    Log = ?LIB:name(Config, "bad.log"),
    Open = fun(Rules) -> inviso_tracer:open(Log, #{redact => Rules}) end,
    {error, {redact, <<"m:f(x): an argument is - (redacted) or _">>}} =
        Open("m:f(x)"),
    {error, {redact, <<"#user.password: ", _/binary>>}} =
        Open(["#user.password"]),
    [{error, {bad_option, redact, _, _}} = Open(Bad)
     || Bad <- [17, [17.0], {a, b}, [{record, user, [a], [b]}], [{a, b}],
                <<255, 255>>, lists:duplicate(530000, $x)]],
    false = filelib:is_file(Log).

nothing_without_rules(Config) ->
    Terms = [{password, ?SECRET}, #{token => ?SECRET}],
    Log = ?LIB:name(Config, "plain.log"),
    [begin
         {M, S} = Tracer = ?LIB:open(Log, Opts#{replace => true}),
         [ok = M:trace(Tag, S, Who, Term, More)
          || {Tag, Who, Term, More} <- sent(Terms)],
         #{redacted := 0} = ?LIB:close(Tracer),
         present(?SECRET, file_bytes(Log)),
         [error = maps:find(<<"redacted">>, E) || E <- ?LIB:events(Log)]
     end || Opts <- [#{}, #{redact => none}, #{redact => []},
                     #{redact => "default,none"}]].
