%% SPDX-License-Identifier: Apache-2.0
%% The log file merger: each function with its results and errors. The function
%% names are those in the manual of the original Inviso.
-module(inviso_lfm_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([merge_2/1,
         merge_with_functions/1,
         functions_that_fail/1,
         entries_are_what_a_tracer_gets/1,
         what_was_cut/1,
         aliases_hold_in_their_time/1,
         two_nodes_in_order/1,
         losses_are_entries/1,
         several_sets_of_one_node/1,
         readers_of_the_users/1,
         readers_that_fail/1,
         tpfreader/1,
         wrap_sets_are_sorted/1,
         default_functions/1,
         format_arguments/1,
         a_slow_function_holds_the_merger_back/1,
         a_caller_that_dies/1]).
-export([read/2, read_errors/2, crash/2, tell/4]).

-import(inviso_test_lib, [wait_until/1]).

-define(T(N), {1700, 0, N}).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [merge_2,
     merge_with_functions,
     functions_that_fail,
     entries_are_what_a_tracer_gets,
     what_was_cut,
     aliases_hold_in_their_time,
     two_nodes_in_order,
     losses_are_entries,
     several_sets_of_one_node,
     readers_of_the_users,
     readers_that_fail,
     tpfreader,
     wrap_sets_are_sorted,
     default_functions,
     format_arguments,
     a_slow_function_holds_the_merger_back,
     a_caller_that_dies].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    {ok, Old} = file:get_cwd(),
    ok = file:set_cwd(Dir),
    [{dir, Dir}, {old, Old} | Config].

end_per_testcase(_Case, Config) ->
    ok = file:set_cwd(?config(old, Config)).

%% Tests merge/2, and merge/3 whose output is a file.
merge_2(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1), call(P, 2)]),
    ti_file("a.ti", [{P, {name, "x"}, alias, ?T(0)}]),
    Set = {node(), [{trace_log, ["a.log"]}, {ti_log, ["a.ti"]}]},
    {ok, 2} = inviso_lfm:merge([Set], "out.txt"),
    Line = fun(N) -> line(node(), [{name, "x"}], call(P, N)) end,
    Lines = [Line(1), Line(2)],
    Lines = lines("out.txt"),
    {ok, 2} = inviso_lfm:merge([Set], "other.txt", debug),
    Lines = lines("other.txt"),
    {ok, 0} = inviso_lfm:merge([], "empty.txt"),
    [] = lines("empty.txt"),
    {error, {begin_handler, {open, enoent}}} =
        inviso_lfm:merge([], "no/such/out.txt"),
    {error, {merge, 1, Text}} = inviso_lfm:merge([Set], "no/such/out.txt"),
    true = string:find(Text, "No such file") =/= nomatch,
    {error, {merge, 1, _}} =
        inviso_lfm:merge([{node(), [{trace_log, ["none"]}]}], "out.txt"),
    %% A missing ti file is an error, too.
    {error, {merge, 1, _}} =
        inviso_lfm:merge([{node(), [{trace_log, ["a.log"]},
                                    {ti_log, ["none"]}]}], "out.txt"),
    [{error, {files, {bad_reader_spec, Bad}}} =
         inviso_lfm:merge(Files, "out.txt")
     || {Files, Bad} <- [{[x], x}, {x, x}, {[{"node", []}], {"node", []}},
                         {[{n, [{x, ["a"]}]}], {x, ["a"]}},
                         {[{n, [{trace_log, x}]}], {trace_log, x}}]],
    %% A merge that fails leaves an existing file unchanged.
    Lines = lines("out.txt"),
    %% A merge leaves no message in the caller's mailbox, even if the caller traps exits.
    _ = process_flag(trap_exit, true),
    {ok, 2} = inviso_lfm:merge([Set], "out.txt"),
    {messages, []} = process_info(self(), messages).

%% Tests merge/3,4,5,6 with functions.
merge_with_functions(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1), call(P, 2)]),
    Set = {node(), [{trace_log, ["a.log"]}]},
    Work = fun(Node, Entry, Names, Acc) ->
                   {ok, [{Node, Names, Entry} | Acc]}
           end,
    Collect = fun(Node, Entry, Names, Acc) ->
                      P ! {Node, Names, Entry},
                      {ok, Acc + 1}
              end,
    Is = fun() ->
                 [{_, [], E1}, {_, [], E2}] = received(),
                 [E1, E2] = [call(P, 1), call(P, 2)]
         end,
    {ok, 2} = inviso_lfm:merge([Set], Collect, 0),
    Is(),
    {ok, 2} = inviso_lfm:merge([Set], Collect, 0, debug),
    Is(),
    {ok, 2} = inviso_lfm:merge([Set], void, Collect, void, 0),
    Is(),
    Begin = fun(x) -> {ok, []} end,
    End = fun(Acc) -> P ! {all, lists:reverse(Acc)}, what_it_says end,
    {ok, 2} = inviso_lfm:merge([Set], Begin, Work, End, x),
    [{all, [{N, [], C1}, {N, [], C2}]}] = received(),
    [N, C1, C2] = [node(), call(P, 1), call(P, 2)],
    {ok, 2} = inviso_lfm:merge([Set], Begin, Work, End, x, debug),
    [_] = received(),
    {ok, 0} = inviso_lfm:merge([], Begin, Work, End, x),
    [{all, []}] = received(),
    {error, {badarg, not_a_function}} =
        inviso_lfm:merge([Set], void, not_a_function, void, x),
    {error, {files, {bad_reader_spec, x}}} = inviso_lfm:merge([x], Work, []),
    {error, {merge, 1, "open " ++ _}} =
        inviso_lfm:merge([{node(), [{trace_log, ["none"]}]}], Work, []).

functions_that_fail(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, N) || N <- lists:seq(1, 100)]),
    Files = [{node(), [{trace_log, ["a.log"]}]}],
    Work = fun(_, _, _, N) -> {ok, N + 1} end,
    End = fun(N) -> P ! {ended, N} end,
    [{error, {begin_handler, Reason}} =
         inviso_lfm:merge(Files, Begin, Work, End, 0)
     || {Begin, Reason} <- [{fun(_) -> {error, why} end, why},
                            {fun(_) -> exit(why) end, {exit, why}},
                            {fun(_) -> odd end, {bad_return, odd}}]],
    [] = received(),
    At = fun(Do) -> fun(_, _, _, 50) -> Do();
                       (_, _, _, N) -> {ok, N + 1} end end,
    [begin
         {error, {writing_output_file, Reason}} =
             inviso_lfm:merge(Files, void, At(Do), End, 0),
         [{ended, 50}] = received()
     end || {Do, Reason} <- [{fun() -> {error, why} end, why},
                             {fun() -> error(why) end, {error, why}},
                             {fun() -> throw(why) end, {throw, why}},
                             {fun() -> odd end, {bad_return, odd}}]],
    %% A failure of the end function does not change the result.
    {ok, 100} = inviso_lfm:merge(Files, void, Work, fun(_) -> error(x) end, 0).

%% The merger returns terms of all kinds as the tracer got them.
entries_are_what_a_tracer_gets(_Config) ->
    To = spawn(fun() -> receive stop -> ok end end),
    Terms = terms(),
    {ok, Tracer} = inviso_tracer:open("own.log", #{max_term_bytes => 8192}),
    {M, S} = Tracer,
    Me = self(),
    Sender = spawn(fun() -> receive go -> ok end, [To ! T || T <- Terms],
                            Me ! sent end),
    1 = erlang:trace(Sender, true, [send, timestamp, {tracer, M, S}]),
    Sender ! go,
    receive sent -> ok end,
    {ok, _} = inviso_tracer:close(Tracer),
    {ok, _} = inviso_lfm:merge([{node(), [{trace_log, ["own.log"]}]}],
                               fun ?MODULE:tell/4, self()),
    Got = [{Msg, To1} || {_, {trace_ts, P, send, Msg, To1, {_, _, _}}, []}
                             <- received(), P =:= Sender, To1 =:= To],
    Pairs = lists:zip(Terms, Got),
    [] = [{T, G} || {T, {G, _}} <- Pairs, T =/= G],
    exit(To, kill).

terms() ->
    Port = hd(erlang:ports()),
    [a, 'Ünïcode 原子', '', 0, 255, 256, -1, -256, 1 bsl 31, -(1 bsl 31) - 1,
     1 bsl 62, -(1 bsl 62), 1 bsl 64, -(1 bsl 64), 1 bsl 2000, -(1 bsl 2000),
     1.5, -0.0, 1.0e300, <<>>, <<1, 2, 3>>, <<"text">>, <<5:3>>, <<1, 5:3>>,
     [], "", "string", [1, 2 | 3], [a | b], [[]], [[], []], [1, a, "x", [b]],
     lists:seq(0, 300), lists:duplicate(300, x), {}, {a}, {{}, {{}}},
     list_to_tuple(lists:seq(1, 300)), #{}, #{a => 1}, #{#{} => [#{}]},
     maps:from_list([{N, {N}} || N <- lists:seq(1, 40)]),
     self(), whereis(kernel_sup), Port, make_ref(), erlang:alias(),
     [self(), {make_ref(), "s", 1.0}, <<7:7>>],
     lists:foldl(fun(_, T) -> {T} end, x, lists:seq(1, 20)),
     lists:foldl(fun(_, T) -> [T] end, x, lists:seq(1, 20))].

%% Tests how the merger shows terms that were cut, and funs.
what_was_cut(_Config) ->
    To = spawn(fun() -> receive stop -> ok end end),
    Deep = lists:foldl(fun(_, T) -> {T} end, x, lists:seq(1, 20)),
    Terms = [Deep, lists:duplicate(1000, x),
             list_to_tuple(lists:duplicate(1000, x)),
             binary:copy(<<"x">>, 1000),
             maps:from_list([{N, atom} || N <- lists:seq(1, 500)]),
             fun() -> To end, fun lists:map/2],
    {ok, Tracer} = inviso_tracer:open("own.log", #{max_term_bytes => 200,
                                                   max_depth => 10}),
    {M, S} = Tracer,
    Me = self(),
    Sender = spawn(fun() -> receive go -> ok end, [To ! T || T <- Terms],
                            Me ! sent end),
    1 = erlang:trace(Sender, true, [send, timestamp, {tracer, M, S}]),
    Sender ! go,
    receive sent -> ok end,
    {ok, _} = inviso_tracer:close(Tracer),
    {ok, _} = inviso_lfm:merge([{node(), [{trace_log, ["own.log"]}]}],
                               fun ?MODULE:tell/4, self()),
    [D, L, T, B, Map, F, <<"fun lists:map/2">>] =
        [Msg || {_, {trace_ts, _, send, Msg, To1, _}, []} <- received(),
                To1 =:= To],
    true = holds_hole(D),
    ['...' | Xs] = lists:reverse(L),
    [x] = lists:usort(Xs),
    ['...' | Ys] = lists:reverse(tuple_to_list(T)),
    [x] = lists:usort(Ys),
    true = is_binary(B) andalso byte_size(B) < 1000,
    #{'...' := '...'} = Map,
    true = is_binary(F) andalso string:prefix(F, "#Fun<") =/= nomatch,
    exit(To, kill).

holds_hole({T}) -> holds_hole(T);
holds_hole(T) -> T =:= '...'.

%% Tests alias and unalias entries of a pid and of `undefined', in a merge with
%% functions and in a merge to a file.
aliases_hold_in_their_time(_Config) ->
    P = self(),
    Q = whereis(kernel_sup),
    Ref = make_ref(),
    ti_file("a.ti", [{P, one, alias, ?T(10)}, {Q, shared, alias, ?T(10)},
                     {P, {two, Ref, "x"}, alias, ?T(20)},
                     {P, shared, alias, ?T(20)},
                     {P, one, unalias, ?T(30)},
                     {undefined, shared, unalias, ?T(40)},
                     {P, {two, Ref, "x"}, unalias, ?T(50)},
                     {P, one, alias, ?T(60)}]),
    trace_file("a.log", [call(X, N) || N <- [5, 15, 25, 35, 45, 55, 65],
                                       X <- [P, Q]]),
    Two = {two, Ref, "x"},
    Expected = [{P, 5, []}, {Q, 5, []}, {P, 15, [one]}, {Q, 15, [shared]},
                {P, 25, [one, Two, shared]}, {Q, 25, [shared]},
                {P, 35, [Two, shared]}, {Q, 35, [shared]},
                {P, 45, [Two]}, {Q, 45, []}, {P, 55, []}, {Q, 55, []},
                {P, 65, [one]}, {Q, 65, []}],
    Files = [{node(), [{trace_log, ["a.log"]}, {ti_log, ["a.ti"]}]}],
    {ok, 14} = inviso_lfm:merge(Files, fun ?MODULE:tell/4, self()),
    Expected = [{X, N, Names}
                || {_, {trace_ts, X, call, {m, f, [N]}, _}, Names}
                       <- received()],
    {ok, 14} = inviso_lfm:merge(Files, "out.txt"),
    Lines = [line(node(), Names, call(X, N)) || {X, N, Names} <- Expected],
    Lines = lines("out.txt").

two_nodes_in_order(_Config) ->
    P = self(),
    Other = other_pid(),
    trace_file("a.log", [call(P, N) || N <- [1, 4, 5, 8]]),
    trace_file("b.log", [call(Other, N) || N <- [2, 3, 6, 7]]),
    ti_file("a.ti", [{P, a_name, alias, ?T(0)}]),
    ti_file("b.ti", [{Other, {global, b_name}, alias, ?T(0)}]),
    Files = [{node(), [{trace_log, ["a.log"]}, {ti_log, ["a.ti"]}]},
             {'other@host', [{trace_log, ["b.log"]}, {ti_log, ["b.ti"]}]}],
    {ok, 8} = inviso_lfm:merge(Files, fun ?MODULE:tell/4, self()),
    Got = [{Node, N, Names}
           || {Node, {trace_ts, _, call, {m, f, [N]}, _}, Names}
                  <- received()],
    A = [{node(), N, [a_name]} || N <- [1, 4, 5, 8]],
    B = [{'other@host', N, [{global, b_name}]} || N <- [2, 3, 6, 7]],
    Got = lists:keysort(2, A ++ B),
    {ok, 8} = inviso_lfm:merge(Files, "out.txt"),
    8 = length(lines("out.txt")).

%% Returns the pid <0.88.0> of other@host.
other_pid() ->
    Node = <<"other@host">>,
    binary_to_term(<<131, 88, 119, (byte_size(Node)), Node/binary,
                     88:32, 0:32, 1:32>>).

losses_are_entries(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1)]),
    {ok, Fd} = file:open("a.log", [append, raw, binary]),
    ok = file:write(Fd, <<1, 17:32>>),
    ok = file:close(Fd),
    Files = [{node(), [{trace_log, ["a.log"]}]}],
    {ok, 2} = inviso_lfm:merge(Files, fun ?MODULE:tell/4, self()),
    [{_, {trace_ts, _, _, _, _}, []}, {N, {drop, 17}, []}] = received(),
    N = node(),
    {ok, 2} = inviso_lfm:merge(Files, "out.txt").

%% The original Inviso hung if the files had several sets of the same node.
several_sets_of_one_node(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1), call(P, 3)]),
    trace_file("b.log", [call(P, 2), call(P, 4)]),
    Files = [{node(), [[{trace_log, ["a.log"]}], [{trace_log, ["b.log"]}]]}],
    {ok, 4} = inviso_lfm:merge(Files, fun ?MODULE:tell/4, self()),
    4 = length(received()),
    {ok, 4} = inviso_lfm:merge(Files, "out.txt"),
    [{reader, inviso_lfm_tpfreader, init, Set}] =
        [{reader, inviso_lfm_tpfreader, init, F} || F <- Files],
    {ok, 4} = inviso_lfm:merge([{reader, inviso_lfm_tpfreader, init, Set}],
                               "out2.txt"),
    4 = length(lines("out2.txt")).

%% --- readers that users provide ----------------------------------------------

%% A reader process such as a user may provide. It returns all entries with their times.
read(Merger, [{trace_log, Entries}]) ->
    case Entries of
        [{Time, Term} | Rest] ->
            receive
                {get_next_entry, Merger} ->
                    Merger ! {next_entry, self(), [of_reader], Time, Term},
                    read(Merger, [{trace_log, Rest}]);
                {stop, Merger} ->
                    stopped
            end;
        [] ->
            done
    end.

%% A reader that returns an error before each entry. At the end it crashes.
read_errors(Merger, [{trace_log, Entries}]) ->
    [receive
         {get_next_entry, Merger} ->
             Merger ! {next_entry, self(), {error, damaged}},
             receive
                 {get_next_entry, Merger} ->
                     Merger ! {next_entry, self(), [], Time, Term}
             end
     end || {Time, Term} <- Entries],
    exit(crash).

crash(_Merger, _Logs) -> exit(crash).

readers_of_the_users(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, N) || N <- [2, 4]]),
    Own = {own@host, [{trace_log, [{?T(1), first}, {?T(3), second},
                                   {false, at_once}, {?T(5), last}]}]},
    Ns = {ns@host, [{trace_log, [{1700000000 * 1000000000 + 2500, between}]}]},
    Files = [{node(), [{trace_log, ["a.log"]}]},
             {reader, ?MODULE, read, Own}, {reader, ?MODULE, read_errors, Ns}],
    {ok, 7} = inviso_lfm:merge(Files, fun ?MODULE:tell/4, self()),
    C2 = call(P, 2),
    C4 = call(P, 4),
    N = node(),
    [{own@host, first, [of_reader]}, {N, C2, []}, {ns@host, between, []},
     {own@host, second, _}, {own@host, at_once, _}, {N, C4, []},
     {own@host, last, _}] = received(),
    %% merge/2 writes the entries of readers to a file.
    {ok, 7} = inviso_lfm:merge(Files, "out.txt"),
    ["own@host [of_reader] first" | Rest] = lines("out.txt"),
    6 = length(Rest).

readers_that_fail(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1)]),
    Set = {node(), [{trace_log, ["a.log"]}]},
    %% If a reader crashes, the merge continues without it.
    {ok, 1} = inviso_lfm:merge([Set, {reader, ?MODULE, crash, Set}],
                               fun ?MODULE:tell/4, self()),
    {ok, 1} = inviso_lfm:merge([Set, {reader, no_such_module, init, Set}],
                               fun ?MODULE:tell/4, self()),
    {error, {files, {bad_reader_spec, _}}} =
        inviso_lfm:merge([{reader, "m", init, Set}], fun ?MODULE:tell/4,
                         self()),
    {error, {files, {bad_reader_spec, _}}} =
        inviso_lfm:merge([{reader, ?MODULE, read, x}], fun ?MODULE:tell/4,
                         self()),
    %% If the work function fails, the readers end.
    Own = {own@host, [{trace_log, [{?T(N), N} || N <- lists:seq(1, 10)]}]},
    Me = self(),
    Before = length(processes()),
    {error, {writing_output_file, enough}} =
        inviso_lfm:merge([{reader, ?MODULE, read, Own}],
                         fun(_, _, _, _) -> {error, enough} end, Me),
    wait_until(fun() -> length(processes()) =< Before end).

%% Tests inviso_lfm_tpfreader:init/2. The test sends the requests that the merger would send.
tpfreader(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, 1), call(P, 2)]),
    Logs = [{trace_log, ["a.log"]}],
    R = spawn_link(inviso_lfm_tpfreader, init, [self(), Logs]),
    Ask = fun(Pid) ->
                  Pid ! {get_next_entry, self()},
                  receive M when element(2, M) =:= Pid -> M end
          end,
    _ = process_flag(trap_exit, true),
    C1 = call(P, 1),
    {next_entry, R, [], _, C1} = Ask(R),
    {next_entry, R, [], _, _} = Ask(R),
    {'EXIT', R, normal} = Ask(R),
    Q = spawn_link(inviso_lfm_tpfreader, init, [self(), [Logs]]),
    {next_entry, Q, [], _, C1} = Ask(Q),
    Q ! {stop, self()},
    receive {'EXIT', Q, normal} -> ok end,
    E = spawn_link(inviso_lfm_tpfreader, init,
                   [self(), [{trace_log, ["none"]}]]),
    {next_entry, E, {error, {merge, 1, _}}} = Ask(E),
    B = spawn_link(inviso_lfm_tpfreader, init, [self(), x]),
    {next_entry, B, {error, _}} = Ask(B),
    {error, {merge, 1, _}} =
        inviso_lfm:merge([{reader, inviso_lfm_tpfreader, init,
                           {node(), [{trace_log, ["none"]}]}}],
                         fun ?MODULE:tell/4, self()).

%% Tests handle_logfile_sort_wrapset/1.
wrap_sets_are_sorted(_Config) ->
    Sort = fun inviso_lfm_tpfreader:handle_logfile_sort_wrapset/1,
    ["w2", "w3", "w0"] = Sort(["w0", "w3", "w2"]),
    ["w0.log", "w1.log", "w2.log"] = Sort(["w2.log", "w0.log", "w1.log"]),
    ["w1.log", "w11.log"] = Sort(["w11.log", "w1.log"]),
    ["w10.log", "w0.log"] = Sort(["w0.log", "w10.log"]),
    Ten = ["f1" ++ integer_to_list(N) ++ ".log"
           || N <- lists:seq(8, 12) ++ lists:seq(0, 6)],
    Ten = Sort(lists:sort(Ten)),
    ["a5b5", "a6b5"] = Sort(["a6b5", "a5b5"]),
    [] = Sort([]),
    ["only"] = Sort(["only"]),
    ["x", "y"] = Sort(["x", "y"]),
    [{trace_log, ["a"]}] = Sort([{trace_log, ["a"]}]),
    %% A merge reads the files of a wrap set in the order that handle_logfile_sort_wrapset/1
    %% returns.
    P = self(),
    trace_file("w2", [call(P, 1)]),
    trace_file("w0", [call(P, 2)]),
    {ok, 2} = inviso_lfm:merge([{node(), [{trace_log, ["w0", "w2"]}]}],
                               "out.txt"),
    [L1, L2] = lines("out.txt"),
    [L1, L2] = [line(node(), [], call(P, N)) || N <- [1, 2]].

%% --- default functions -------------------------------------------------------

%% Tests outfile_opener/1, outfile_writer/4 and outfile_closer/1.
default_functions(_Config) ->
    {error, {open, enoent}} = inviso_lfm:outfile_opener("no/such/file"),
    {ok, Fd} = inviso_lfm:outfile_opener("out.txt"),
    {ok, Fd} = inviso_lfm:outfile_writer(n@h, {x, "y"}, [a, 'Ü'], Fd),
    ok = inviso_lfm:outfile_closer(Fd),
    ["n@h [a,'Ü'] {x,[121]}"] = lines("out.txt"),
    P = self(),
    trace_file("a.log", [call(P, 1)]),
    Files = [{node(), [{trace_log, ["a.log"]}]}],
    {ok, 1} = inviso_lfm:merge(Files, fun inviso_lfm:outfile_opener/1,
                               fun inviso_lfm:outfile_writer/4,
                               fun inviso_lfm:outfile_closer/1, "one.txt"),
    {ok, 1} = inviso_lfm:merge(Files, "two.txt"),
    {ok, Same} = file:read_file("one.txt"),
    {ok, Same} = file:read_file("two.txt"),
    {error, {begin_handler, {open, enoent}}} =
        inviso_lfm:merge(Files, fun inviso_lfm:outfile_opener/1,
                         fun inviso_lfm:outfile_writer/4, void, "no/such").

%% Tests format_arguments/3 and format_argument_string/2.
format_arguments(_Config) ->
    {ok, [$", "abc", $"]} = inviso_lfm:format_argument_string("abc", x),
    [false = inviso_lfm:format_argument_string(X, x)
     || X <- [[], [1, 2], a, [a | b], "a" ++ [-1]]],
    Strings = [{inviso_lfm, format_argument_string}],
    "" = inviso_lfm:format_arguments([], x, Strings),
    "1,\"two\",{three,\"four\"},[5,\"six\"|seven],[],{}" =
        inviso_lfm:format_arguments([1, "two", {three, "four"},
                                     [5, "six" | seven], [], {}], x, Strings),
    "#{a => \"b\"},<<1,2>>" =
        inviso_lfm:format_arguments([#{a => "b"}, <<1, 2>>], x, Strings),
    Two = [fun(N, Opts) when is_integer(N) -> {ok, [Opts | integer_to_list(N)]};
              (_, _) -> false end | Strings],
    "N1,[N2,\"a\"],a" =
        inviso_lfm:format_arguments([1, [2, "a"], a], $N, Two).

%% --- a merger under load -----------------------------------------------------

%% While the work function is slow, only a bounded number of entries wait for it.
a_slow_function_holds_the_merger_back(_Config) ->
    P = self(),
    Entry = call(P, lists:duplicate(1000, $x)),
    trace_file("a.log", lists:duplicate(20000, Entry)),
    true = filelib:file_size("a.log") > 20000000,
    Work = fun(_, _, _, {N, Most}) ->
                   Most1 = case N rem 2000 of
                               0 -> max(Most, waiting(20));
                               _ -> Most
                           end,
                   {ok, {N + 1, Most1}}
           end,
    End = fun(Result) -> P ! Result end,
    {ok, 20000} =
        inviso_lfm:merge([{node(), [{trace_log, ["a.log"]}]}], void, Work, End,
                         {0, 0}),
    [{20000, Most}] = received(),
    ct:log("~b bytes waited at most", [Most]),
    true = Most > 0 andalso Most < 4000000.

%% Returns how many bytes of entries are in the mailbox. First waits, so that the merger can send as
%% many entries as its bound allows. If no entry has arrived, waits again.
waiting(Times) ->
    timer:sleep(50),
    {messages, Messages} = process_info(self(), messages),
    case lists:sum([byte_size(B) || {_, {data, B}} <- Messages]) of
        0 when Times > 0 -> waiting(Times - 1);
        Bytes -> Bytes
    end.

a_caller_that_dies(_Config) ->
    P = self(),
    trace_file("a.log", [call(P, N) || N <- lists:seq(1, 1000)]),
    Work = fun(_, _, _, _) -> P ! {worker, self()}, timer:sleep(infinity) end,
    Caller = spawn(fun() ->
                           inviso_lfm:merge([{node(),
                                              [{trace_log, ["a.log"]}]}],
                                            Work, x)
                   end),
    Worker = receive {worker, W} -> W end,
    true = exit(Caller, kill),
    wait_until(fun() -> not is_process_alive(Worker) end).

%% --- helpers -----------------------------------------------------------------

call(Pid, N) -> {trace_ts, Pid, call, {m, f, [N]}, ?T(number(N))}.

number(N) when is_integer(N) -> N;
number(_) -> 0.

trace_file(Name, Terms) -> records(Name, Terms).

ti_file(Name, Terms) -> records(Name, Terms).

records(Name, Terms) ->
    ok = file:write_file(Name, [begin
                                    B = term_to_binary(T),
                                    [<<0, (byte_size(B)):32>>, B]
                                end || T <- Terms]).

lines(Name) ->
    {ok, Bin} = file:read_file(Name),
    [unicode:characters_to_list(L)
     || L <- binary:split(Bin, <<"\n">>, [global, trim])].

line(Node, Names, Entry) ->
    lists:flatten(io_lib:format("~w ~w ~w", [Node, Names, Entry])).

%% A work function that sends each entry to the process in the handler data.
tell(Node, Entry, Names, To) ->
    To ! {Node, Entry, Names},
    {ok, To}.

received() ->
    receive M -> [M | received()] after 0 -> [] end.
