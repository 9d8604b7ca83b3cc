%% SPDX-License-Identifier: Apache-2.0
%% Terms of every kind, as arguments of traced calls, are printed from the log
%% as io_lib:format("~w") prints them. Very large terms cost a bounded time and
%% a bounded number of bytes.
-module(inviso_term_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([integers/1, floats/1, atoms/1, lists/1, tuples/1, maps/1, binaries/1,
         identifiers/1, identifiers_of_other_nodes/1, funs/1,
         funs_where_a_packet_ends/1, nested/1,
         random_terms/1, proper_terms/1, text_prints_as_p0/1,
         many_names_in_a_packet/1, fat_events_fit_small_packets/1,
         budget_of_bytes/1, budget_of_depth/1, cut_is_marked/1,
         cut_says_the_truth/1,
         huge_binary/1, huge_list/1, huge_string/1, huge_tuple/1, huge_map/1,
         huge_integer/1, huge_bitstring/1, deep_list/1, deep_tuple/1,
         shared_subterms/1, fun_with_huge_environment/1]).

-define(LIB, inviso_trace_lib).

all() ->
    [integers, floats, atoms, lists, tuples, maps, binaries, identifiers,
     identifiers_of_other_nodes, funs, funs_where_a_packet_ends, nested,
     random_terms, proper_terms,
     text_prints_as_p0,
     many_names_in_a_packet, fat_events_fit_small_packets,
     budget_of_bytes, budget_of_depth, cut_is_marked, cut_says_the_truth,
     huge_binary, huge_list, huge_string, huge_tuple, huge_map, huge_integer,
     huge_bitstring, deep_list, deep_tuple, shared_subterms,
     fun_with_huge_environment].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) ->
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    ok.

%% Records the terms, and checks that each is printed as by io_lib:format("~w"). The limits on sizes
%% are so large that no term is truncated.
same(Config, Terms) ->
    same(Config, wide(), Terms).

same(Config, Opts, Terms) ->
    Items = record(Config, Opts, Terms),
    [] = [{T, P, W} || {T, #{<<"payload">> := [P]}} <- lists:zip(Terms, Items),
                       W <- [wanted(T)], P =/= W],
    [] = [I || #{<<"truncated">> := _} = I <- Items],
    length(Items).

wanted(Term) ->
    ?LIB:w({?LIB, probe, [Term]}).

wide() ->
    #{packet_bytes => 524288, max_term_bytes => 65536, max_depth => 128}.

record(Config, Opts, Terms) ->
    {Items, _} = record_stats(Config, Opts, Terms),
    Items.

record_stats(Config, Opts, Terms) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, Opts),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    probe(Pid, Tracer, Terms),
    Stats = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, length(Terms)),
    {Items, [P || #{type := events} = P <- inviso_trace_log:packets(Log)]}.

%% Records in parts of 500 terms. After each part the tracer is flushed, so that a slow spooler
%% loses no event.
probe(Pid, Tracer, Terms) when length(Terms) > 500 ->
    {Part, Rest} = lists:split(500, Terms),
    probe(Pid, Tracer, Part),
    ok = inviso_tracer:flush(Tracer),
    probe(Pid, Tracer, Rest);
probe(Pid, _Tracer, Terms) ->
    ok = ?LIB:run(Pid, fun() -> lists:foreach(fun ?LIB:probe/1, Terms) end).

%%---------------------------------------------------------------------------
%% Kinds of terms

integers(Config) ->
    Powers = [1 bsl N || N <- lists:seq(0, 300)] ++
        [1 bsl N || N <- [511, 512, 513, 2039, 2040, 2041, 2047, 2048, 2049,
                          8191, 8192, 16000, 32000]],
    same(Config, lists:usort([S * (P + D) || P <- Powers, S <- [1, -1],
                                             D <- [-1, 0, 1]])).

floats(Config) ->
    Special = [0.0, -0.0, 1.0, -1.5, 0.1, 1.0e22, 1.0e23, 1.0e-5, 123456.789,
               5.0e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
               4.35, 9007199254740993.0, 1.0e16, 1.0e15, 0.001, 0.0001,
               3.141592653589793],
    Random = [F || <<F/float>> <- [rand:bytes(8)
                                   || _ <- lists:seq(1, 2000)]],
    same(Config, Special ++ Random).

atoms(Config) ->
    Utf8 = [list_to_atom(L)
            || L <- ["", " ", "a b", "A", "_a", "a@b", "a.b", "'", "\\", "\n",
                     [0], [127], [128], [16#e9], [16#df, $a], [16#3bb],
                     [$a, 16#3bb], [16#1f600], "receive", "after", "maybe",
                     "else", "true", "nil", "Elixir.Enum", "1a", "a-b",
                     lists:duplicate(255, $x),
                     lists:duplicate(255, 16#e9),
                     lists:duplicate(255, 16#3bb),
                     lists:duplicate(255, 16#1f600)]],
    Words = [list_to_atom(W)
             || W <- ["and", "andalso", "band", "begin", "bnot", "bor", "bsl",
                      "bsr", "bxor", "case", "catch", "cond", "div", "end",
                      "fun", "if", "let", "not", "of", "or", "orelse", "rem",
                      "try", "when", "xor"]],
    same(Config, Utf8 ++ Words ++ Utf8).

lists(Config) ->
    same(Config,
         [[], [[]], [[], []], [a | b], [1 | 2], [1, 2 | 3], [[] | []],
          [$a | "b"], "string", [0], [255], [256], [255, 256], [-1],
          lists:seq(0, 255), lists:seq(1, 15), lists:seq(1, 16),
          lists:seq(1, 17), lists:duplicate(5000, $x),
          lists:duplicate(100, $x) ++ tail, lists:duplicate(100, $x) ++ [300],
          lists:duplicate(100, $x) ++ [a], [a | "string"], [[a | b] | c],
          [[[[]]], [[]]], [1.0, 2], ["a", "b" | "c"]]).

tuples(Config) ->
    same(Config, [{}, {{}}, {a}, {1, {2, {3}}}] ++
             [list_to_tuple(lists:seq(1, N)) || N <- [14, 15, 16, 17, 255, 256,
                                                      1000]]).

maps(Config) ->
    same(Config, [#{}, #{a => b}, #{#{} => #{}}, #{1 => a, 1.0 => b},
                  #{"k" => "v", <<"k">> => <<"v">>, {k} => {v}, k => v}] ++
             [maps:from_list([{I, I * I} || I <- lists:seq(1, N)])
              || N <- [31, 32, 33, 100, 1000]] ++
             [maps:from_list([{list_to_atom("k" ++ integer_to_list(I)), I}
                              || I <- lists:seq(1, N)])
              || N <- [5, 31, 32, 33, 100]]).

binaries(Config) ->
    Bytes = rand:bytes(1000),
    <<_:3, Unaligned:100/binary, Rest/bitstring>> = Bytes,
    <<_:8, Sub:50/binary, _/binary>> = Bytes,
    <<_:5, Bits:77/bitstring, _/bitstring>> = Bytes,
    same(Config, [<<>>, <<0>>, <<255>>, Bytes, Unaligned, Rest, Sub, Bits,
                  <<"printable">>, <<"k\x{f6}nig"/utf8>>, <<1:1>>, <<0:7>>,
                  <<"abc", 1:2>>, binary:copy(<<"x">>, 31),
                  binary:copy(<<"x">>, 32), binary:copy(<<"x">>, 64),
                  binary:copy(<<"x">>, 65)] ++
             [<<0:N>> || N <- lists:seq(1, 70)]).

identifiers(Config) ->
    Port = hd(erlang:ports()),
    Alias = erlang:alias(),
    erlang:unalias(Alias),
    Refs = [make_ref(), Alias, monitor(process, self()),
            atomics:new(1, []), ets:new(t, [])],
    Many = [spawn(fun() -> ok end) || _ <- lists:seq(1, 300)],
    same(Config, [self(), whereis(init), Port, {self(), self()}] ++ Refs ++
             erlang:ports() ++ Many ++ Many).

%% The terms are built in the external term format, so the nodes need not exist.
identifiers_of_other_nodes(Config) ->
    Nodes = ['a@b', 'other@host.example.org', list_to_atom([16#3bb, $@, $h]),
             list_to_atom(lists:duplicate(200, $n) ++ "@h")],
    Terms = [external(Kind, N, Creation)
             || Kind <- [pid, port, v4_port, ref], N <- Nodes,
                Creation <- [1, 4, 16#12345678]],
    %% At the first repetition the packet already contains the nodes' names.
    same(Config, Terms ++ Terms ++ [Terms]).

external(Kind, Node, Creation) ->
    <<131, Name/binary>> = term_to_binary(Node),
    binary_to_term(<<131, (external(Kind, Name, <<Creation:32>>, [])
                          )/binary>>).

external(pid, Node, Creation, _) ->
    <<88, Node/binary, 77:32, 3:32, Creation/binary>>;
external(port, Node, Creation, _) ->
    <<89, Node/binary, 12345:32, Creation/binary>>;
external(v4_port, Node, Creation, _) ->
    <<120, Node/binary, 12345678901:64, Creation/binary>>;
external(ref, Node, Creation, _) ->
    <<90, 3:16, Node/binary, Creation/binary, 17:32, 4000000000:32, 5:32>>.

funs(Config) ->
    A = {1, self()},
    {ok, Tokens, _} = erl_scan:string("fun(X) -> X end."),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {value, Interpreted, _} = erl_eval:exprs(Exprs, []),
    same(Config, [fun lists:map/2, fun ?MODULE:all/0, fun() -> A end,
                  fun(X) -> X end, fun wanted/1, Interpreted,
                  fun 'Odd Module':'a fun'/3, fun erlang:'+'/2,
                  fun 'k\x{f6}nig':'gr\x{fc}n'/255,
                  fun '\x{3bb}':'\x{3bb}x'/1, fun '':''/0]).

funs_where_a_packet_ends(Config) ->
    [300 = same(Config, #{packet_bytes => 4096, max_term_bytes => 512},
                [{lists:duplicate(N rem 97, $x), fun Name:Name/1}
                 || N <- lists:seq(1, 300)])
     || Name <- [list_to_atom(lists:duplicate(100, Ch)) || Ch <- [$x, 16#f6]]].

nested(Config) ->
    same(Config, [nest(fun(T) -> [T] end, 120), nest(fun(T) -> {T} end, 120),
                  nest(fun(T) -> #{T => T} end, 8),
                  nest(fun(T) -> #{a => T} end, 120),
                  nest(fun(T) -> [a, {T, b} | c] end, 60)]).

nest(Wrap, N) -> lists:foldl(fun(_, T) -> Wrap(T) end, x, lists:seq(1, N)).

%%---------------------------------------------------------------------------
%% Random terms

random_terms(Config) ->
    ok = inviso_test_lib:seed(?FUNCTION_NAME),
    Many = inviso_test_lib:soak(3000, 30000),
    Many = same(Config, [term(30) || _ <- lists:seq(1, Many)]).

term(Size) when Size < 2 -> leaf();
term(Size) ->
    case rand:uniform(8) of
        1 -> list_to_tuple(terms(Size));
        2 -> terms(Size);
        3 -> improper(terms(Size), leaf());
        4 -> maps:from_list([{term(Size div 4), term(Size div 4)}
                             || _ <- lists:seq(1, rand:uniform(4))]);
        5 -> maps:from_list([{leaf(), leaf()}
                             || _ <- lists:seq(1, 30 + rand:uniform(10))]);
        6 -> [term(Size div 2) | terms(Size div 2)];
        _ -> leaf()
    end.

terms(Size) ->
    N = rand:uniform(5) - 1,
    [term(Size div (N + 1)) || _ <- lists:seq(1, N)].

improper([], _) -> [];
improper([H], T) -> [H | T];
improper([H | R], T) -> [H | improper(R, T)].

leaf() ->
    case rand:uniform(14) of
        1 -> rand:uniform(300) - 20;
        2 -> rand:uniform(1 bsl 62) - (1 bsl 61);
        3 -> (rand:uniform(1 bsl 62) bsl rand:uniform(400)) * sign();
        4 -> rand:uniform();
        5 -> case rand:bytes(8) of <<F/float>> -> F; _ -> 0.5 end;
        6 -> pick([a, ok, 'B', [], true, undefined, 'x y', list_to_atom(
                                                             [16#3bb])]);
        7 -> rand:bytes(rand:uniform(60) - 1);
        8 -> Bits = rand:uniform(99), <<B:Bits/bitstring, _/bitstring>> =
                 rand:bytes(13), B;
        9 -> [rand:uniform(256) - 1 || _ <- lists:seq(1, rand:uniform(40))];
        10 -> self();
        11 -> make_ref();
        12 -> external(pick([pid, port, ref]), pick(['x@y', 'z@w']), 7);
        13 -> pick([fun lists:map/2, fun leaf/0, #{}, {}]);
        14 -> <<"text">>
    end.

sign() -> pick([1, -1]).

pick(List) -> lists:nth(rand:uniform(length(List)), List).

proper_terms(Config) ->
    case code:ensure_loaded(proper) of
        {module, proper} ->
            Terms = [begin
                         {ok, T} = apply(proper_gen, pick,
                                         [apply(proper_types, any, []),
                                          1 + I rem 40]),
                         T
                     end || I <- lists:seq(1, 1500)],
            1500 = same(Config, Terms);
        {error, _} ->
            {skip, "PropEr is not installed"}
    end.

%%---------------------------------------------------------------------------
%% The text format, which prints terms as ~0p does

text_prints_as_p0(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = ?LIB:worker(),
    ?LIB:flags(Pid, Tracer, [call]),
    Terms = ["string", <<"binary">>, [1, 2, 3], 'an atom', #{a => "x"}, 1.5,
             {"a", <<0, 1>>}, self(), [$a | b]],
    probe(Pid, Tracer, Terms),
    ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Text = ?LIB:lines(Log, "text"),
    [true = lists:any(fun(L) -> binary:match(L, P0) =/= nomatch end, Text)
     || T <- Terms,
        P0 <- [unicode:characters_to_binary(
                 io_lib:format("probe(~0p)", [T]))]].

%%---------------------------------------------------------------------------
%% Packets

%% Records more names than fit into the dictionary of one small packet.
many_names_in_a_packet(Config) ->
    Atoms = [list_to_atom("inviso_term_" ++ integer_to_list(I))
             || I <- lists:seq(1, 3000)],
    Pids = [spawn(fun() -> ok end) || _ <- lists:seq(1, 1000)],
    Items = record(Config, #{packet_bytes => 4096},
                   Atoms ++ Pids ++ Atoms),
    Wanted = [wanted(T) || T <- Atoms ++ Pids ++ Atoms],
    Wanted = [P || #{<<"payload">> := [P]} <- Items],
    ok.

%% An event with the largest permitted terms fits into the smallest packet. A term takes at most an
%% eighth of a packet. The names of the term's atoms are also in the packet, and may take more than
%% an eighth.
fat_events_fit_small_packets(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{packet_bytes => 4096, max_term_bytes => 512}),
    Pid = ?LIB:worker(),
    ?LIB:calls({?LIB, probe, '_'},
               [{'_', [], [{message, '$_'}, {return_trace}]}]),
    ?LIB:flags(Pid, Tracer, [call]),
    Fat = binary:copy(<<"x">>, 5000),
    Names = [list_to_atom(lists:duplicate(250, 16#1f600) ++
                              integer_to_list(I)) || I <- lists:seq(1, 60)],
    ok = ?LIB:run(Pid, fun() -> lists:foreach(fun ?LIB:probe/1,
                                              [1, Fat, Names, hd(Names),
                                               [Fat | Names], 2])
                       end),
    ?LIB:calls({?LIB, probe, '_'}, true),
    Stats = ?LIB:close(Tracer),
    ?LIB:accounted(Stats, ?LIB:events(Log), 12),
    ?LIB:stop(Pid).

%%---------------------------------------------------------------------------
%% Budgets

cut(Config, Opts, Term) ->
    {[Item], Packets} = record_stats(Config, Opts, [Term]),
    #{<<"truncated">> := true, <<"payload">> := [Text]} = Item,
    %% Packets that contain only notes have no events.
    {Text, lists:sum([L || #{n := N, raw_len := L} <- Packets, N > 0])}.

cut_is_marked(Config) ->
    Fat = binary:copy(<<"x">>, 10000),
    Terms = [small, Fat, {small, 1}, [Fat, a], "small", lists:seq(1, 10000),
             #{a => Fat}],
    Items = record(Config, #{}, Terms),
    [false, true, false, true, false, true, true] =
        [maps:get(<<"truncated">>, I, false) || I <- Items],
    %% The recorded part of a truncated binary or list is its beginning.
    [begin
         Whole = wanted(T),
         Common = binary:longest_common_prefix([P, Whole]),
         true = Common > 1000
     end || {T, #{<<"truncated">> := true, <<"payload">> := [P]}}
                <- lists:zip(Terms, Items)].

%% The limit is 80 bytes, and the terms have about this size. A term is marked as truncated if, and
%% only if, a part of it is missing.
cut_says_the_truth(Config) ->
    Terms = [T || N <- lists:seq(30, 120),
                  T <- [binary:copy(<<"x">>, N), lists:duplicate(N, $x),
                        lists:seq(1000, 1000 + N), <<0:N, 0:1>>,
                        lists:duplicate(N, $x) ++ tail,
                        lists:duplicate(N, $x) ++ [a],
                        {N, lists:duplicate(N, $x)},
                        list_to_tuple(lists:duplicate(N, a)),
                        maps:from_list([{I, I} || I <- lists:seq(1, N)])]],
    Items = record(Config, #{max_term_bytes => 80}, Terms),
    [] = [{T, I} || {T, #{<<"payload">> := [P]} = I} <- lists:zip(Terms, Items),
                    (P =/= wanted(T)) =/=
                        maps:get(<<"truncated">>, I, false)
                        orelse binary:match(P, <<"(0 more)">>) =/= nomatch].

budget_of_bytes(Config) ->
    [begin
         {_, Bytes} = cut(Config, #{max_term_bytes => Max}, T),
         {Max, true} = {Max, Bytes =< Max + 400}
     end || Max <- [64, 256, 1024, 4096, 8192],
            T <- [binary:copy(<<"x">>, 20000), lists:seq(1, 20000),
                  lists:duplicate(20000, $x),
                  list_to_tuple(lists:seq(1, 20000)),
                  maps:from_list([{I, I} || I <- lists:seq(1, 20000)]),
                  [self() | lists:duplicate(20000, {a, b})]]].

budget_of_depth(Config) ->
    Term = [[[[[[deep]]]]]],
    {Text, _} = cut(Config, #{max_depth => 4}, Term),
    nomatch = binary:match(Text, <<"deep">>),
    [#{<<"payload">> := [Whole]} = Item] =
        record(Config, #{max_depth => 8}, [Term]),
    Whole = wanted(Term),
    false = is_map_key(<<"truncated">>, Item),
    %% With three levels the tuple {a} is complete: the event and the list of
    %% arguments take two levels, and the tuple takes one.
    [#{<<"payload">> := [Small]}] = record(Config, #{max_depth => 3}, [{a}]),
    Small = wanted({a}).

%% Traces nine calls with this term. Returns the shortest time of a call in microseconds, the bytes
%% in the log, and the printed terms.
cost(Config, Term) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Pid = ?LIB:worker(),
    %% The traced process makes the term itself, so that the term is not copied to it.
    ok = ?LIB:run(Pid, fun() -> put(term, Term()), ok end),
    ?LIB:flags(Pid, Tracer, [call]),
    Least = ?LIB:run(Pid, fun() ->
                                  T = get(term),
                                  lists:min([took(T) || _ <- lists:seq(1, 9)])
                          end),
    Stats = ?LIB:close(Tracer),
    ?LIB:stop(Pid),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items, 9),
    Bytes = lists:sum([L || #{type := events, raw_len := L}
                                <- inviso_trace_log:packets(Log)]),
    {Least, Bytes, [P || #{<<"payload">> := [P],
                           <<"truncated">> := true} <- Items]}.

took(Term) ->
    {Us, ok} = timer:tc(fun() ->
                                [?LIB:probe(Term) || _ <- [1]],
                                ok
                        end),
    Us.

%% Tracing the huge term takes about as many bytes as tracing the large term, and at most about ten
%% times as long. Both are measured in the same run.
bounded(Config, Large, Huge) ->
    {LargeUs, LargeBytes, LargeTexts} = cost(Config, Large),
    {HugeUs, HugeBytes, HugeTexts} = cost(Config, Huge),
    ct:pal("large: ~p us, ~p bytes; huge: ~p us, ~p bytes",
           [LargeUs, LargeBytes, HugeUs, HugeBytes]),
    9 = length(LargeTexts),
    9 = length(HugeTexts),
    true = HugeBytes =< LargeBytes + 1000,
    true = HugeBytes =< 9 * 5000,
    true = HugeUs =< 10 * LargeUs + 200.

huge_binary(Config) ->
    bounded(Config, fun() -> binary:copy(<<"x">>, 10000) end,
            fun() -> binary:copy(<<"x">>, 100000000) end).

huge_list(Config) ->
    bounded(Config, fun() -> lists:seq(1, 10000) end,
            fun() -> lists:seq(1, 1000000) end).

huge_string(Config) ->
    bounded(Config, fun() -> lists:duplicate(10000, $x) end,
            fun() -> lists:duplicate(3000000, $x) end).

huge_tuple(Config) ->
    bounded(Config, fun() -> erlang:make_tuple(10000, x) end,
            fun() -> erlang:make_tuple(1000000, x) end).

huge_map(Config) ->
    Make = fun(N) -> fun() -> maps:from_keys(lists:seq(1, N), x) end end,
    bounded(Config, Make(10000), Make(300000)).

huge_integer(Config) ->
    bounded(Config, fun() -> 1 bsl 80000 end, fun() -> 1 bsl 4000000 end).

%% If a bitstring's size is not a multiple of 8 bits, a NIF can only read a copy
%% of the whole bitstring. So the recorded bytes are bounded, but not the time.
huge_bitstring(Config) ->
    {_, Bytes, Texts} = cost(Config, fun() -> <<0:80000003>> end),
    9 = length(Texts),
    true = Bytes =< 9 * 5000.

deep_list(Config) ->
    Make = fun(N) -> fun() -> nest(fun(T) -> [T] end, N) end end,
    bounded(Config, Make(1000), Make(1000000)).

deep_tuple(Config) ->
    Make = fun(N) -> fun() -> nest(fun(T) -> {a, T} end, N) end end,
    bounded(Config, Make(1000), Make(1000000)).

%% The subterms are shared. Without sharing the term would have 2^40 leaves.
shared_subterms(Config) ->
    Make = fun(N) -> fun() -> nest(fun(T) -> [T | T] end, N) end end,
    bounded(Config, Make(14), Make(40)).

fun_with_huge_environment(Config) ->
    Env = fun(N) -> fun() -> L = lists:seq(1, N), fun() -> L end end end,
    {SmallUs, SmallBytes, []} = cost(Config, Env(10)),
    {HugeUs, HugeBytes, []} = cost(Config, Env(1000000)),
    true = HugeUs =< 10 * SmallUs + 200,
    true = abs(HugeBytes - SmallBytes) < 500.
