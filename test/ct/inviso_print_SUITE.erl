%% SPDX-License-Identifier: Apache-2.0
%% Compares the printer in C with io_lib:format: both must print the same
%% characters for the same term. This suite makes special and random terms, and
%% the program term_print (test/tools) prints them from the external format.
%% Funs of modules with names that are not ASCII are left out, because the VM
%% prints each byte of the name's UTF-8 as a character.
-module(inviso_print_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([atoms/1, floats/1, integers/1, strings/1, binaries/1, containers/1,
         identifiers/1, funs/1, deep/1, random_terms/1, wide_range/1,
         hidden_characters/1, elixir/1, elixir_reads_it_back/1]).
-export([in_peer/1]).

-define(FORMATS, ["~w", "~tw", "~0p", "~0tp"]).

suite() -> [{timetrap, {minutes, 10}}].

all() ->
    [atoms, floats, integers, strings, binaries, containers, identifiers, funs,
     deep, random_terms, wide_range, hidden_characters, elixir,
     elixir_reads_it_back].

init_per_testcase(Case, Config) ->
    ok = inviso_test_lib:seed(Case),
    Config.

end_per_testcase(_Case, _Config) ->
    ok.

%% --- cases -------------------------------------------------------------------

atoms(_Config) ->
    Chars = lists:seq(0, 300) ++ [16#3ff, 16#400, 16#7ff, 16#800, 16#fff,
                                  16#1000, 16#d7ff, 16#e000, 16#fffd, 16#fffe,
                                  16#ffff, 16#10000, 16#1f600, 16#10ffff],
    check([list_to_atom(S) || C <- Chars, S <- [[C], [$a, C], [C, $b, C]]] ++
              [list_to_atom(W) || W <- words()] ++
              ['', list_to_atom(lists:duplicate(255, $x)),
               list_to_atom(lists:duplicate(255, 16#10ffff)),
               list_to_atom(lists:duplicate(255, 1))] ++
              [list_to_atom([hd(pick([Chars])) || _ <- lists:seq(1, 5)])
               || _ <- lists:seq(1, 500)]).

words() ->
    [W ++ E || W <- string:lexemes(
                      "after begin case try cond catch andalso orelse end fun "
                      "if let of receive when bnot not div rem band and bor "
                      "bxor bsl bsr or xor maybe else spec query module "
                      "record callback if", " "),
               E <- ["", "x"]].

floats(_Config) ->
    Special = [0.0, -0.0, 5.0e-324, 1.0e-323, 1.5e-323, 2.2250738585072014e-308,
               2.225073858507201e-308, 1.7976931348623157e308,
               9007199254740991.0, 9007199254740992.0, 9007199254740994.0,
               -9007199254740991.0, 123456789012345680.0, 1.0e21, 1.0e22,
               1.0e23, 4.35, 0.3, 0.1 + 0.2, 1 / 3, 2 / 3, 1.0e15, 1.0e16,
               9.5367431640625e-7, 123456789.0, 1.0e-5, 299792458.0],
    Two = [math:pow(2, E) || E <- lists:seq(-1074, 1023)],
    Around = [F || X <- Two, F <- [neighbour(X, -1), neighbour(X, 1)]],
    Ten = [list_to_float(D ++ "e" ++ integer_to_list(E))
           || E <- lists:seq(-307, 307),
              D <- ["1.0", "1.2", "9.99", "1.23456789", "5.0",
                    "1.2345678901234567"]],
    Bits = [F || _ <- lists:seq(1, inviso_test_lib:soak(10000, 40000)),
                 F <- [random_bits()], F =/= nan],
    Subnormal = [F || _ <- lists:seq(1, 1000),
                      <<F/float>> <- [<<0:12, (rand:uniform(1 bsl 52) - 1):52>>]],
    Decimal = [sign((rand:uniform(pow10(rand:uniform(18))) - 1) /
                    pow10(rand:uniform(18) - 1)) || _ <- lists:seq(1, 20000)],
    check(Special ++ Two ++ Around ++ Ten ++ Bits ++ Subnormal ++ Decimal).

neighbour(X, D) ->
    <<I:64>> = <<X/float>>,
    case <<(max(0, I + D)):64>> of
        <<F/float>> -> F;
        _ -> X
    end.

random_bits() ->
    case <<(rand:uniform(1 bsl 64) - 1):64>> of
        <<F/float>> -> F;
        _ -> nan
    end.

sign(X) -> pick([X, -X]).

pow10(N) -> round(math:pow(10, N)).

integers(_Config) ->
    Edges = [S * (1 bsl B) + D || B <- lists:seq(0, 140), S <- [1, -1],
                                  D <- [-1, 0, 1]],
    Tens = [S * ipow(10, E) + D || E <- lists:seq(0, 60), S <- [1, -1],
                                   D <- [-1, 0, 1]],
    Long = [sign(ipow(10, E) + rand:uniform(1000)) || E <- [255 * 8, 1000, 3000]],
    check(Edges ++ Tens ++ Long ++ [big() || _ <- lists:seq(1, 2000)]).

ipow(_, 0) -> 1;
ipow(B, N) -> B * ipow(B, N - 1).

big() -> sign(rand:uniform(1 bsl rand:uniform(2000))).

strings(_Config) ->
    check([[C] || C <- lists:seq(0, 300)] ++ [[$a, C] || C <- lists:seq(0, 300)] ++
              [[$a, -1], [$a | $b], [$a, $b | c], [$a, $b, []], [$a, 1.0],
               [1114111], [1114112], [16#d800], [16#fffe], [16#ffff], "", "\"\\",
               lists:duplicate(70000, $a), lists:duplicate(70000, 1),
               lists:duplicate(65535, $"), lists:duplicate(65536, $"),
               [$a, 1 bsl 70], [[$a], "bc", ["d", 1]]] ++
              [string() || _ <- lists:seq(1, 3000)]).

string() ->
    Range = pick([127, 256, 300, 16#500, 16#10ffff]),
    [rand:uniform(Range) || _ <- lists:seq(1, rand:uniform(6))].

binaries(_Config) ->
    check([<<C>> || C <- lists:seq(0, 255)] ++
              [<<C/utf8>> || C <- lists:seq(0, 1100)] ++
              [<<"a", C/utf8, "b">> || C <- [16#d7ff, 16#e000, 16#fffd,
                                             16#fffe, 16#10000, 16#10ffff]] ++
              [<<1:N>> || N <- lists:seq(0, 20)] ++
              [<<-1:N>> || N <- lists:seq(1, 40)] ++
              [<<"abc", 0:3>>, <<16#c3>>, <<"a", 16#e2, 16#82>>,
               <<16#d0, 16#a0>>, <<16#d0, 16#a0, 16#ff>>, <<16#c3, 16#a9, 16#ff>>,
               <<16#ed, 16#a0, 16#80>>, <<16#c0, 16#80>>, <<"\"\\\n\e">>,
               binary:copy(<<"x">>, 100000), binary:copy(<<16#e9>>, 1000),
               binary:copy(<<16#e9/utf8>>, 1000)] ++
              [binary() || _ <- lists:seq(1, 5000)]).

binary() ->
    case rand:uniform(4) of
        1 -> rand:bytes(rand:uniform(5) - 1);
        2 -> unicode:characters_to_binary([pick([C, $a, $b])
                                           || C <- lists:filter(fun unicode/1,
                                                                string())]);
        3 -> list_to_binary([rand:uniform(96) + 31 || _ <- lists:seq(1, 8)]);
        4 -> <<(rand:uniform(1 bsl 60)):(rand:uniform(60))>>
    end.

unicode(C) -> C < 16#d800 orelse C > 16#dfff.

containers(_Config) ->
    Atoms = [list_to_atom("k" ++ integer_to_list(I)) || I <- lists:seq(1, 100)],
    check([{}, #{}, [], [[]], [[], a], [a, []], {[]}, [[[]], []], [a | b],
           [a, b | c], [[] | a], [{} | {}], [a | <<>>], [[a | b] | c],
           #{[] => []}, #{#{} => #{}}, #{1 => 2, 1.0 => 3}, {a}, {{}, {}},
           [1 | <<"x">>], #{"ab" => "cd", <<"ab">> => <<"cd">>}] ++
              [list_to_tuple(lists:seq(1, N)) || N <- [1, 2, 15, 16, 255, 256]] ++
              [maps:from_list([{K, I} || {I, K} <- lists:enumerate(
                                                     lists:sublist(Atoms, N))])
               || N <- [1, 2, 5, 31, 32, 33, 64, 100]] ++
              [maps:from_list([{I, []} || I <- lists:seq(1, N)])
               || N <- [1, 31, 32, 33, 1000, 30000]] ++
              [large(), [large(), {large()}], #{large() => large()},
               maps:from_list([{I, large()} || I <- lists:seq(1, 40)]),
               maps:from_list([{#{I => large()}, "a"} || I <- lists:seq(1, 40)])]).

large() ->
    maps:from_list([{term(1), term(2)} || _ <- lists:seq(1, 33 + rand:uniform(20))]).

identifiers(_Config) ->
    Pids = processes() ++ [spawn(fun() -> ok end) || _ <- lists:seq(1, 50)] ++
        [c:pid(0, 12345, 7), c:pid(0, 32767, 8191)],
    check(Pids ++ erlang:ports() ++ [make_ref() || _ <- lists:seq(1, 50)] ++
              [alias(), {self(), [make_ref() | self()]}, node(), foreign(ref)]).

%% The VM prints a pid of a node that it is not connected to as <N.1.2>, where the number N is known
%% only to the VM. The program in C prints <0.1.2>. So such pids are not compared.
foreign(ref) -> binary_to_term(<<131, 106>>).

funs(_Config) ->
    X = rand:uniform(100),
    check([fun lists:map/2, fun 'A b':'c@d'/0, fun 'if':'end'/255, fun ?MODULE:all/0,
           fun(Y) -> X + Y end, fun() -> {X, fun() -> X end} end, fun words/0,
           fun F(0) -> ok; F(N) -> F(N - 1 + X - X) end] ++
              [erlang:make_fun(list_to_atom([$a, C]), list_to_atom([C]), 1)
               || C <- lists:seq(0, 127)]).

deep(_Config) ->
    Nest = fun(F) -> lists:foldl(fun(_, T) -> F(T) end, x, lists:seq(1, 2000)) end,
    check([Nest(fun(T) -> [T] end), Nest(fun(T) -> {T} end),
           Nest(fun(T) -> #{T => 1} end), Nest(fun(T) -> #{1 => T} end),
           Nest(fun(T) -> [1, 2 | {T}] end)]).

random_terms(_Config) ->
    check([term(rand:uniform(6))
           || _ <- lists:seq(1, inviso_test_lib:soak(6000, 20000))]).

term(0) ->
    leaf();
term(Depth) ->
    Terms = fun(Most) -> [term(rand:uniform(Depth) - 1)
                          || _ <- lists:seq(1, rand:uniform(Most + 1) - 1)] end,
    case rand:uniform(12) of
        N when N =< 3 -> list_to_tuple(Terms(5));
        N when N =< 6 -> Terms(5);
        7 -> Terms(3) ++ leaf();
        8 -> maps:from_list([{T, leaf()} || T <- Terms(4)]);
        9 -> maps:from_list([{leaf(), T} || T <- Terms(pick([4, 40]))]);
        10 -> #{term(Depth - 1) => term(Depth - 1)};
        _ -> leaf()
    end.

leaf() ->
    case rand:uniform(14) of
        1 -> rand:uniform(300) - 20;
        2 -> big();
        3 -> case random_bits() of nan -> 1.5; F -> F end;
        4 -> rand:uniform(1000) / 8;
        5 -> pick([a, b, ok, error, 'hello world', 'Elixir.Foo', [], undefined]);
        6 -> list_to_atom(lists:filter(fun unicode/1, string()));
        7 -> string();
        8 -> binary();
        9 -> "a plain string";
        10 -> <<"a plain binary">>;
        11 -> self();
        12 -> pick([make_ref(), fun lists:map/2, fun leaf/0, {}, #{}]);
        13 -> list_to_atom(hd(pick([words()])));
        14 -> [rand:uniform(40) + 60 | pick([[], [1000], [a], b])]
    end.

%% Compares inviso's texts with those of a node that prints all Unicode characters in strings as
%% text (+pc unicode).
wide_range(_Config) ->
    Paths = [P || P <- code:get_path(), not lists:prefix(code:lib_dir(), P)],
    {ok, Peer, _} = peer:start_link(
                      #{connection => inviso_test_lib:connection(),
                        args => ["+pc", "unicode", "-pa",
                                 filename:dirname(code:which(?MODULE)) | Paths]}),
    try
        ok = peer:call(Peer, ?MODULE, in_peer, [rand:uniform(1 bsl 32)], 120000)
    after
        peer:stop(Peer)
    end.

in_peer(Seed) ->
    rand:seed(exsss, Seed),
    unicode = io:printable_range(),
    check([[C] || C <- lists:seq(0, 1100) ++ [16#d7ff, 16#d800, 16#dfff, 16#e000,
                                              16#fffd, 16#fffe, 16#ffff,
                                              16#10000, 16#10ffff, 16#110000]] ++
              [<<C/utf8>> || C <- lists:seq(0, 1100) ++
                                 [16#fffd, 16#fffe, 16#10ffff] ++
                                 hidden()] ++
              [[$a, C, $"] || C <- hidden()] ++
              [string() || _ <- lists:seq(1, 3000)] ++
              [binary() || _ <- lists:seq(1, 3000)] ++
              [term(3) || _ <- lists:seq(1, 3000)], ["wide"]).

%% --- comparing ---------------------------------------------------------------

pick(L) when is_list(L) -> lists:nth(rand:uniform(length(L)), L).

check(Terms) ->
    check(Terms, []).

check(Terms, Args) ->
    Program = filename:join(filename:dirname(code:which(?MODULE)), "term_print"),
    Release = erlang:system_info(otp_release),
    Port = open_port({spawn_executable, Program},
                     [{args, [Release | Args]}, {packet, 4}, binary,
                      exit_status]),
    Bad = try batches(Port, Terms) after port_close(Port) end,
    report(Bad, length(Terms)).

%% Sends up to 100 terms before it reads the answers, and compares the answers.
batches(_Port, []) ->
    [];
batches(Port, Terms) ->
    {Now, Later} = lists:split(min(100, length(Terms)), Terms),
    [port_command(Port, term_to_binary(T)) || T <- Now],
    lists:append([compare(T, answer(Port, T)) || T <- Now]) ++
        batches(Port, Later).

answer(Port, Term) ->
    receive
        {Port, {data, Data}} -> [Text || <<N:32, Text:N/binary>> <= Data];
        {Port, {exit_status, Status}} -> error({printer_died, Status, Term})
    after 30000 ->
            error({printer_hangs, Term})
    end.

compare(Term, Texts) ->
    [{Format, Term, Expected, Text}
     || {Format, Text} <- lists:zip(?FORMATS, Texts),
        Expected <- [expected(Format, Term)],
        Expected =/= Text].

expected(Format, Term) ->
    unicode:characters_to_binary(shown(lists:flatten(
                                         io_lib:format(Format, [Term])))).

%% Replaces characters that a terminal does not show, or that reverse the text
%% beside them. Erlang prints these characters; inviso prints an escape that
%% Erlang reads as the same character.
shown(Chars) ->
    [case is_hidden(C) of
         true -> "\\x{" ++ integer_to_list(C, 16) ++ "}";
         false -> C
     end || C <- Chars].

is_hidden(C) when C < 16#61c -> false;
is_hidden(C) -> lists:member(C, hidden()).

hidden() ->
    [16#61c, 16#180e, 16#feff] ++ lists:seq(16#200b, 16#200f)
        ++ lists:seq(16#2028, 16#202e) ++ lists:seq(16#2060, 16#206f)
        ++ lists:seq(16#fff9, 16#fffb) ++ lists:seq(16#e0000, 16#e007f).

%% Prints the hidden characters, and the character before and after each of
%% them, in every kind of term that contains characters.
hidden_characters(_Config) ->
    Cs = lists:usort([C + D || C <- hidden(), D <- [-1, 0, 1]]),
    check([list_to_atom([$a, C, $b]) || C <- Cs] ++ [[C] || C <- Cs] ++
              [<<$a, C/utf8>> || C <- Cs] ++ [#{C => [$a, C]} || C <- Cs]).

%% --- Elixir's syntax ----------------------------------------------------------

elixir(_Config) ->
    Item = #{'__struct__' => 'Elixir.Shop.Item', name => <<"tea">>, qty => 1},
    Error = #{'__struct__' => 'Elixir.ArgumentError', '__exception__' => true,
              message => <<"no">>},
    Examples =
        [{[nil, true, false, ok, 'hello world', 'Foo', 'a?', 'b@c', ''],
          "[nil, true, false, :ok, :\"hello world\", :Foo, :a?, :b@c, :\"\"]"},
         {['Elixir.Shop.Cart', 'Elixir', 'Elixir.a', 'Elixir.Elixir.A'],
          "[Shop.Cart, :Elixir, :\"Elixir.a\", :\"Elixir.Elixir.A\"]"},
         {#{a => 1, 'b c' => 2}, "%{a: 1, \"b c\": 2}"},
         {#{<<"k">> => 2}, "%{\"k\" => 2}"},
         {#{a => 1, <<"k">> => 2}, "%{:a => 1, \"k\" => 2}"},
         {#{'Elixir.A' => 1}, "%{A => 1}"},
         {#{}, "%{}"},
         {[{a, 1}, {'b?', [{c, []}]}], "[a: 1, b?: [c: []]]"},
         {[{a, 1}, {a, 1, 2}], "[{:a, 1}, {:a, 1, 2}]"},
         {[{a, 1} | b], "[{:a, 1} | :b]"},
         {[{'Elixir.A', 1}], "[{A, 1}]"},
         {"abc\n\"", "~c\"abc\\n\\\"\""},
         {[1000, 97], "[1000, 97]"},
         {[233], "[233]"},
         {<<"gr\x{c3}\x{b6}\x{c3}\x{9f}e #{x}\t">>,
          <<"\"größe \\#{x}\\t\""/utf8>>},
         {<<0, 255>>, "<<0, 255>>"},
         {<<1, 5:3>>, "<<1, 5::size(3)>>"},
         {<<5:3>>, "<<5::size(3)>>"},
         {<<>>, "\"\""},
         {Item, "%Shop.Item{name: \"tea\", qty: 1}"},
         {[{item, Item}], "[item: %Shop.Item{name: \"tea\", qty: 1}]"},
         {Error, "%ArgumentError{message: \"no\"}"},
         {Error#{'__exception__' => 1},
          "%{:__exception__ => 1, :__struct__ => ArgumentError, :message => \"no\"}"},
         {date(2024, 2, 29), "~D[2024-02-29]"},
         {(naive())#{microsecond := {120000, 2}}, "~N[2026-11-25 22:03:04.12]"},
         {clock(), "~T[22:03:04]"},
         {utc(), "~U[2026-11-25 22:03:04.000007Z]"},
         {[range(1, 9, 1), range(9, 1, -2), range(-3, 1, 1), range(3, 1, 1)],
          "[1..9, 9..1//-2, -3..1, 3..1//1]"},
         {(range(1, 2, 1))#{b => 1}, "%Range{b: 1, first: 1, last: 2, step: 1}"},
         {maps:remove(step, range(1, 2, 1)), "%Range{first: 1, last: 2}"},
         {#{'__struct__' => x}, "%{__struct__: :x}"},
         {Item#{1 => 2},
          "%{1 => 2, :__struct__ => Shop.Item, :name => \"tea\", :qty => 1}"},
         {fun lists:map/2, "&:lists.map/2"},
         {fun 'Elixir.String':'upcase!'/1, "&String.upcase!/1"},
         {fun lists:'A b'/2, "&:lists.\"A b\"/2"},
         {c:pid(0, 88, 0), "#PID<0.88.0>"},
         {{1.5, -3, [], {}}, "{1.5, -3, [], {}}"}],
    Texts = in_elixir([T || {T, _} <- Examples]),
    [] = [{T, Text, Expected}
          || {{T, E}, Text} <- lists:zip(Examples, Texts),
             Expected <- [unicode:characters_to_binary(E)],
             %% From OTP 26 on the keys of a map have another order, so maps are not compared there.
             Text =/= Expected,
             not is_map(T) orelse erlang:system_info(otp_release) < "26"],
    [Fun, Ref] = in_elixir([fun() -> ok end, make_ref()]),
    {match, _} = re:run(Fun, "^#Function<[0-9.]+ in :inviso_print_SUITE>$"),
    {match, _} = re:run(Ref, "^#Reference<[0-9.]+>$").

date(Y, M, D) ->
    #{'__struct__' => 'Elixir.Date', calendar => 'Elixir.Calendar.ISO',
      year => Y, month => M, day => D}.

clock() ->
    #{'__struct__' => 'Elixir.Time', calendar => 'Elixir.Calendar.ISO',
      hour => 22, minute => 3, second => 4, microsecond => {0, 0}}.

naive() ->
    maps:merge(date(2026, 11, 25),
               (clock())#{'__struct__' := 'Elixir.NaiveDateTime'}).

utc() ->
    (naive())#{'__struct__' := 'Elixir.DateTime', microsecond := {7, 6},
               utc_offset => 0, std_offset => 0, time_zone => <<"Etc/UTC">>,
               zone_abbr => <<"UTC">>}.

range(First, Last, Step) ->
    #{'__struct__' => 'Elixir.Range', first => First, last => Last,
      step => Step}.

%% Returns Elixir's ranges, dates and times. Most of them have one field with an unusual value.
calendar() ->
    Odd = [0, -1, 7, 29, 60, 1000000, 10000, 1 bsl 70, a, <<"UTC">>, {5, 0},
           {5, 6}, {1000, 3}, {7, 7}, {1, 2, 3}, [], #{}],
    Whole = [date(2026, 2, 28), clock(), naive(), utc(), range(1, 9, 2)],
    Whole ++ [{x, W#{K := O}} || W <- Whole, K <- maps:keys(W), O <- Odd,
                                 K =/= '__struct__']
        ++ [#{range(A, B, S) => [{k, range(B, A, S)} | range(A, A, S)]}
            || A <- [-2, 0, 5], B <- [-1, 7], S <- [-3, 1, 2]].

in_elixir(Terms) ->
    Program = filename:join(filename:dirname(code:which(?MODULE)), "term_print"),
    Port = open_port({spawn_executable, Program},
                     [{args, [erlang:system_info(otp_release), "elixir"]},
                      {packet, 4}, binary, exit_status]),
    try
        [begin
             port_command(Port, term_to_binary(T)),
             [Text] = answer(Port, T),
             Text
         end || T <- Terms]
    after
        port_close(Port)
    end.

%% Elixir evaluates the printed text, and compares the result with the term.
elixir_reads_it_back(Config) ->
    case os:find_executable("elixir") of
        false ->
            {skip, "elixir is not installed"};
        Elixir ->
            Terms = structs() ++ calendar() ++ [T || _ <- lists:seq(1, 8000),
                                       T <- [term(rand:uniform(5))],
                                       is_readable(T)],
            true = length(Terms) > 3000,
            File = filename:join(?config(priv_dir, Config), "terms"),
            Script = filename:join(?config(priv_dir, Config), "read.exs"),
            ok = file:write_file(File, term_to_binary(
                                         lists:zip(Terms, in_elixir(Terms)))),
            ok = file:write_file(Script, reader()),
            Out = os:cmd(lists:concat([Elixir, " ", Script, " ", File,
                                       " 2>&1"])),
            Wanted = "read " ++ integer_to_list(length(Terms)),
            Wanted = string:trim(lists:last(string:lexemes(Out, "\n")))
    end.

structs() ->
    %% The first term has U+0602 before a quote. Elixir reads these two together as one character.
    [{<<"\x{602}"/utf8>>, '\x{110bd}', [{<<"a\x{6dd}"/utf8>>, b}]},
     #{'__struct__' => 'Elixir.Range', first => 1, last => 9, step => 1},
     #{'__struct__' => 'Elixir.ArgumentError', '__exception__' => true,
       message => <<"no">>},
     [{date, #{'__struct__' => 'Elixir.Date', year => 2026, month => 11,
               day => 2, calendar => 'Elixir.Calendar.ISO'}}]].

%% Pids, ports, references and local funs cannot be read back.
is_readable(T) when is_pid(T); is_port(T); is_reference(T) -> false;
is_readable(T) when is_function(T) ->
    erlang:fun_info(T, type) =:= {type, external};
is_readable(T) when is_tuple(T) -> is_readable(tuple_to_list(T));
is_readable(T) when is_map(T) -> is_readable(maps:to_list(T));
is_readable([H | T]) -> is_readable(H) andalso is_readable(T);
is_readable(_) -> true.

reader() ->
    "[file] = System.argv()\n"
        "read = fn text -> {term, _} = Code.eval_string(text); term end\n"
        "pairs = :erlang.binary_to_term(File.read!(file))\n"
        "for some <- Enum.chunk_every(pairs, 100) do\n"
        "  all = \"[\" <> Enum.map_join(some, \", \", &elem(&1, 1)) <> \"]\"\n"
        "  if read.(all) !== Enum.map(some, &elem(&1, 0)) do\n"
        "    for {term, text} <- some, read.(text) !== term, do:\n"
        "      IO.puts(\"#{text} is not #{inspect(term)}\")\n"
        "    System.halt(1)\n"
        "  end\n"
        "end\n"
        "IO.puts(\"read #{length(pairs)}\")\n".

report([], N) ->
    io:format("~w terms are printed alike~n", [N]);
report(Bad, N) ->
    [io:format("~ts~n  expected ~0tp~n  printed  ~0tp~n", [F, E, T])
     || {F, _, E, T} <- lists:sublist(Bad, 20)],
    error({printed_otherwise, length(Bad), of_terms, N}).
