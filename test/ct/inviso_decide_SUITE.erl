%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls that the node records when they end: slow calls, and calls that failed.
%% They are compared with a recording of all calls at the same time.
-module(inviso_decide_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([random_trees/1, terms/1, processes_move/1, counts/1, a_recursion/1,
         processes_die/1, a_call_that_hangs/1, secrets/1, without_arguments/1,
         long_arguments/1, a_filter/1, the_bound_on_open_calls/1,
         hidden_calls/1, modules_loaded_later/1, rules_of_several_specs/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(WORK, inviso_decide_work).
-define(TREES, inviso_calls_work).
-define(W, "inviso_decide_work:").

suite() -> [{timetrap, {minutes, 3}}].

all() ->
    [random_trees, terms, processes_move, counts, a_recursion, processes_die,
     a_call_that_hangs, secrets, without_arguments, long_arguments, a_filter,
     the_bound_on_open_calls, hidden_calls, modules_loaded_later,
     rules_of_several_specs].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} ->
            {Owner, Node} = a_node(Base),
            [load(Node, M) || M <- [?WORK, ?TREES]],
            [{base, Base}, {owner, Owner}, {node, Node} | Config];
        {skip, _} = Skip ->
            Skip
    end.

%% Starts one node for all cases. The node is started by a process that lives until the end of the
%% suite.
a_node(Base) ->
    Self = self(),
    Owner = spawn(fun() ->
                          Node = ?NODE:start(Base, #{uid => ?LIB:some_uid()}),
                          Self ! {self(), Node},
                          receive stop -> ?NODE:stop(Node) end
                  end),
    Ref = monitor(process, Owner),
    receive
        {Owner, Node} -> demonitor(Ref, [flush]), {Owner, Node};
        {'DOWN', Ref, _, _, Reason} -> error(Reason)
    end.

end_per_suite(Config) ->
    Ref = monitor(process, ?config(owner, Config)),
    ?config(owner, Config) ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end,
    ?LIB:base_removed(?config(base, Config)).

init_per_testcase(Case, Config) ->
    ok = inviso_test_lib:seed(Case),
    Config.

end_per_testcase(_Case, _Config) ->
    ok.

load(Node, M) ->
    {M, Beam, File} = code:get_object_code(M),
    {module, M} = ?NODE:call(Node, code, load_binary, [M, File, Beam]).

run(Config, Args) ->
    #{cookie := Cookie, uid := Uid} = ?config(node, Config),
    ?LIB:run(#{base => ?config(base, Config), cookie => Cookie, uid => Uid},
             Args).

on_node(Config, [Command | Args]) ->
    run(Config, [Command, "-n", maps:get(name, ?config(node, Config)) | Args]).

call(Config, F, Args) -> ?NODE:call(?config(node, Config), ?WORK, F, Args).

%% Starts all sessions, calls Work, and stops the sessions. Returns {Events, Summary, Log} for each
%% session.
recorded(Config, Sessions0, Work) ->
    Sessions = [{unique(Name), Specs} || {Name, Specs} <- Sessions0],
    [#{status := 0} = on_node(Config, ["record", "--detach", "--for", "5m",
                                       "--events", "0", "--rate", "0",
                                       "--name", Name | Specs])
     || {Name, Specs} <- Sessions],
    _ = Work(),
    [session(Config, Name) || {Name, _} <- Sessions].

unique(Name) ->
    Name ++ integer_to_list(erlang:unique_integer([positive])).

session(Config, Name) ->
    Node = ?config(node, Config),
    #{status := Status, out := Said} =
        on_node(Config, ["stop", Name, "--json"]),
    true = lists:member(Status, [0, 7]),
    [#{<<"produced">> := Produced, <<"recorded">> := Recorded,
       <<"lost">> := 0} = Summary] = ?LIB:json(Said),
    Produced = Recorded,
    #{status := 0} = on_node(Config, ["fetch", "-o", maps:get(home, Node), Name]),
    Log = filename:join(maps:get(home, Node),
                        maps:get(name, Node) ++ "-" ++ Name ++ ".log"),
    #{status := 0, out := Out} = run(Config, ["merge", "--json", Log]),
    {?LIB:json(Out), Summary, Log}.

%% Returns the events that describe a whole call: how the call ended, and how long it took.
ended(Events) ->
    [E || #{<<"end">> := _, <<"duration_ns">> := _} = E <- Events].

decided(#{<<"decided">> := Decided}) -> Decided.

%% --- the same calls ------------------------------------------------------------

%% In the first session the node records all calls. In the other two sessions it records only calls
%% that are slow or failed, when they have ended. The recorded calls must have the same arguments
%% and results as in the first session, and each left-out call must be counted.
random_trees(Config) ->
    Trees = [inviso_calls_SUITE:tree(5) || _ <- lists:seq(1, 50)],
    Play = fun() ->
                   ok = ?NODE:call(?config(node, Config), ?TREES, play, [Trees])
           end,
    Functions = ["inviso_calls_work:f" ++ N ++ "/1" || N <- ["0", "1", "2", "3"]],
    Specs = fun(Rule) -> ["procs" | [F ++ " -> " ++ Rule || F <- Functions]] end,
    [{All, _, _}, {Whole, WholeSum, _}, {Failed, FailedSum, _}] =
        recorded(Config, [{"all", Specs("return")}, {"whole", Specs("slow(0us)")},
                          {"failed", Specs("failed")}], Play),
    [_ | _] = Expected = lists:sort([what(E) || E <- ended(All)]),
    Expected = lists:sort([what(E) || E <- ended(Whole)]),
    Bad = [What || {_, _, End, _} = What <- Expected, is_failure(End)],
    Bad = lists:sort([what(E) || E <- ended(Failed)]),
    %% The node records no event when a call begins. The event of the call's end contains the
    %% function and the arguments.
    [] = [E || #{<<"tag">> := <<"call">>} = E <- Whole ++ Failed],
    #{<<"forgotten">> := 0, <<"unkept">> := 0, <<"open">> := 0} =
        decided(WholeSum),
    Forgotten = length(Expected) - length(Bad),
    #{<<"forgotten">> := Forgotten} = decided(FailedSum),
    ok = inviso_calls_SUITE:check_trees(Trees, ended(Whole)).

%% Returns what must be the same in all recordings of a call: the call, and how it ended.
what(#{<<"function">> := F, <<"args">> := A, <<"end">> := End, <<"depth">> := D} = E) ->
    {{F, A}, D, {End, maps:get(<<"return">>, E, none),
                 maps:get(<<"exception">>, E, none), maps:get(<<"payload">>, E)},
     maps:get(<<"pid">>, E)}.

is_failure({<<"exception">>, _, _, _}) -> true;
is_failure({<<"exit">>, _, _, _}) -> true;
is_failure({<<"return">>, <<"{error,", _/binary>>, _, _}) -> true;
is_failure(_) -> false.

%% The node stores the arguments of a call until it ends. Terms of all kinds must be the same as in
%% a recording that does not store them first.
terms(Config) ->
    Seed = rand:uniform(1 bsl 30),
    ct:log("seed ~b", [Seed]),
    Spec = ?W "give/1",
    [{All, _, AllLog}, {Whole, _, WholeLog}] =
        recorded(Config, [{"all", [Spec ++ " -> return, caller"]},
                          {"whole", [Spec ++ " -> slow(0us), caller"]}],
                 fun() -> ok = call(Config, terms, [Seed]) end),
    Args = [A || #{<<"args">> := A, <<"end">> := _} <- All],
    300 = length(Args),
    Args = [A || #{<<"args">> := A} <- Whole],
    [<<"{inviso_decide_work,give_one,1}">>]
        = lists:usort([R || #{<<"result">> := R} <- Whole]),
    [_ | _] = Terms = as_terms(Config, AllLog),
    Terms = as_terms(Config, WholeLog).

%% Returns the recorded calls as Erlang terms. The pids in these terms contain the names of their
%% nodes.
as_terms(Config, Log) ->
    File = Log ++ ".etf",
    #{status := 0} = run(Config, ["merge", "-f", "etf", "--min-duration", "0us",
                                  "-o", File, Log]),
    {ok, Bin} = file:read_file(File),
    [Call || <<N:32, T:N/binary>> <= Bin,
             {_, _, _, _, #{call := Call}} <- [binary_to_term(T)]].

%% A call can begin on one scheduler and end on another.
processes_move(Config) ->
    [{Whole, Sum, _}] =
        recorded(Config, [{"whole", [?W "nap/2 -> slow(0us)"]}],
                 fun() -> ok = call(Config, naps, [300]) end),
    Ended = ended(Whole),
    900 = length(Ended),
    [] = [E || #{<<"args">> := [I, Ms], <<"return">> := R} = E <- Ended,
               R =/= <<"{", I/binary, ",", Ms/binary, "}">>],
    [] = [E || #{<<"args">> := [_, Ms], <<"duration_ns">> := Ns} = E <- Ended,
               Ns < (binary_to_integer(Ms) * 1000000)],
    #{<<"forgotten">> := 0, <<"open">> := 0} = decided(Sum).

%% --- what is counted -----------------------------------------------------------

%% A call that is not slow is only counted, so it takes no space in the log.
counts(Config) ->
    [{[], Sum, Log}] =
        recorded(Config, [{"fast", [?W "counted/1 -> slow(10s)"]}],
                 fun() -> ok = call(Config, count, [50000]) end),
    #{<<"forgotten">> := 50000, <<"unkept">> := 0, <<"unended">> := 0,
      <<"open">> := 0, <<"without_args">> := 0} = decided(Sum),
    #{<<"produced">> := 0} = Sum,
    true = filelib:file_size(Log) < 20000.

a_recursion(Config) ->
    [{Whole, Sum, _}] =
        recorded(Config, [{"whole", [?W "down/1 -> slow(0us)"]}],
                 fun() -> 500 = call(Config, down, [500]) end),
    Ended = ended(Whole),
    Expected = [{500 - N, N} || N <- lists:seq(0, 500)],
    Expected = [{D, binary_to_integer(A)} || #{<<"args">> := [A], <<"depth">> := D}
                                                <- Ended],
    Total = lists:sum([S || #{<<"self_ns">> := S} <- Ended]),
    #{<<"duration_ns">> := Total} = lists:last(Ended),
    #{<<"open">> := 0} = decided(Sum).

%% If a process dies in a call, the call is counted under `unended' soon afterwards. If the session
%% also records exits, the call is recorded with the exit.
processes_die(Config) ->
    [{[], Sum, _}] =
        recorded(Config, [{"dead", [?W "rest/1 -> slow(10s)"]}],
                 fun() ->
                         ok = call(Config, rests, [100]),
                         ?LIB:until(fun() -> 100 =:= counted(Config, unended) end)
                 end),
    #{<<"unended">> := 100, <<"open">> := 0} = decided(Sum),
    [{Exits, ExitSum, _}] =
        recorded(Config, [{"exits", ["procs", ?W "rest/1 -> failed"]}],
                 fun() -> ok = call(Config, rests, [100]) end),
    All = lists:seq(1, 100),
    All = lists:sort([binary_to_integer(A)
                      || #{<<"args">> := [A], <<"end">> := <<"exit">>} <- Exits]),
    #{<<"unended">> := 0, <<"open">> := 0} = decided(ExitSum),
    %% Some releases report the kill of a process as an exception of its calls.
    [{Killed, KillSum, _}] =
        recorded(Config, [{"killed", [?W "die/1 -> failed"]}],
                 fun() ->
                         ok = call(Config, dies, [100]),
                         ?LIB:until(fun() -> 0 =:= counted(Config, open) end)
                 end),
    #{<<"unended">> := Unended, <<"forgotten">> := 0} = decided(KillSum),
    true = lists:member({length(Killed), Unended}, [{100, 0}, {0, 100}]),
    [] = [E || #{<<"end">> := End} = E <- Killed, End =/= <<"exception">>].

%% Returns a count of the calls with the rule slow or failed, from the status of their session. Only
%% one session on the node has such a rule. On a busy machine a session may not answer in time. Then
%% the status has no counts of the session, so this function asks again.
counted(Config, Key) ->
    ?LIB:until(fun() ->
                       #{status := 0, out := Out} = on_node(Config, ["status", "--json"]),
                       [#{<<"sessions">> := Sessions}] = ?LIB:json(Out),
                       case [D || #{<<"decided">> := D} <- Sessions] of
                           [] -> false;
                           [D | _] -> maps:get(atom_to_binary(Key), D)
                       end
               end).

%% A call of a function without the rule slow or failed does not count as open.
a_call_that_hangs(Config) ->
    Node = ?config(node, Config),
    [{[#{<<"function">> := <<"hangs">>}], Sum, _}] =
        recorded(Config, [{"hangs", [?W "hang/0 -> slow(1ms)",
                                     ?W "hangs/0 -> return"]}],
                 fun() ->
                         Pid = ?NODE:call(Node, erlang, spawn,
                                          [?WORK, hangs, []]),
                         ?LIB:until(fun() -> waits(Node, Pid) end)
                 end),
    #{<<"open">> := 1, <<"unended">> := 0} = decided(Sum).

waits(Node, Pid) ->
    {status, waiting} =:= ?NODE:call(Node, erlang, process_info, [Pid, status]).

%% --- arguments -----------------------------------------------------------------

%% The arguments that the node stores until the call ends are already redacted.
secrets(Config) ->
    [{Whole, #{<<"redacted">> := 1}, Log}] =
        recorded(Config, [{"secret", [?W "known/1 -> slow(0us)"]}],
                 fun() ->
                         {ok, 2} = call(Config, known,
                                        [#{password => s3cr3t, a => 1}])
                 end),
    [#{<<"args">> := [Map], <<"redacted">> := true}] = Whole,
    nomatch = binary:match(Map, <<"s3cr3t">>),
    {ok, Bytes} = file:read_file(Log),
    nomatch = binary:match(Bytes, <<"s3cr3t">>),
    %% Calls that were recorded when they ended are also redacted by rules of `inviso merge'.
    [{_, _, Open}] =
        recorded(Config, [{"open", ["--redact", "none", ?W "known/1 -> slow(0us)"]}],
                 fun() ->
                         {ok, 1} = call(Config, known, [#{password => s3cr3t}])
                 end),
    [{_, _} = binary:match(Out, <<"s3cr3t">>)
     || Out <- merged(Config, ["--redact", "none", Open])],
    [nomatch = binary:match(Out, <<"s3cr3t">>)
     || Out <- merged(Config, ["--redact", "password", Open])].

merged(Config, Args) ->
    [Out || Format <- ["text", "json"],
            #{status := 0, out := Out} <- [run(Config, ["merge", "-f", Format
                                                        | Args])]].

%% A returned {error, _} is a failure, even if the session does not record return values.
without_arguments(Config) ->
    [{Whole, Sum, _}] =
        recorded(Config, [{"light", ["--args", "none", ?W "take/1 -> failed"]}],
                 fun() ->
                         [call(Config, take, [X])
                          || X <- [ok, error, {error, 1}, {ok, error}]]
                 end),
    [#{<<"arity">> := 1, <<"duration_ns">> := _} = E, _] = Whole,
    [] = maps:keys(maps:with([<<"args">>, <<"return">>], E)),
    #{<<"forgotten">> := 2} = decided(Sum).

%% Long arguments need several blocks of memory. They are cut at the same limit as in a recording of
%% all calls.
long_arguments(Config) ->
    %% A call with large arguments is followed by a call without arguments in the same thread. The
    %% second call must not be counted under `without_args' (no memory for the arguments).
    [{Empty, EmptySum, _}] =
        recorded(Config, [{"empty", [?W "take/1 -> slow(0us)",
                                     ?W "none/0 -> slow(0us)"]}],
                 fun() -> ok = call(Config, large_and_none, []) end),
    [[_], []] = [A || #{<<"args">> := A} <- Empty],
    #{<<"without_args">> := 0} = decided(EmptySum),
    Terms = [lists:seq(1, N) || N <- [10, 100, 1000, 100000]]
        ++ [lists:duplicate(5000, ok), binary:copy(<<"x">>, 3000)],
    Take = fun() -> [call(Config, take, [T]) || T <- Terms] end,
    Specs = fun(Rule) -> ["--max-term", "64k", ?W "take/1 -> " ++ Rule] end,
    [{All, _, _}, {Whole, Sum, _}] =
        recorded(Config, [{"all", Specs("return")}, {"whole", Specs("slow(0us)")}],
                 Take),
    #{<<"without_args">> := 0} = decided(Sum),
    Long = fun(Events) ->
                   [{A, maps:get(<<"truncated">>, E, false)}
                    || #{<<"args">> := A, <<"end">> := _} = E <- Events]
           end,
    {[Cut], Expected} = lists:partition(fun({_, Is}) -> Is end, Long(All)),
    5 = length(Expected),
    {[Other], Expected} = lists:partition(fun({_, Is}) -> Is end, Long(Whole)),
    %% The size of a term in the log includes the definitions of its atoms, unless the packet
    %% already has the definitions. This can differ between the two recordings. So the terms may be
    %% cut at different places, and only their sizes are compared.
    [true = byte_size(A) > 60000 || {[A], true} <- [Cut, Other]],
    ok.

%% --- together with others --------------------------------------------------------

a_filter(Config) ->
    [{Whole, Sum, _}] =
        recorded(Config,
                 [{"some", ["--filter", ?W "counted(N) when N rem 10 =:= 0",
                            ?W "counted/1 -> slow(0us)"]}],
                 fun() -> ok = call(Config, count, [100]) end),
    [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]
        = [binary_to_integer(A) || #{<<"args">> := [A]} <- Whole],
    #{<<"forgotten">> := 0} = decided(Sum),
    %% If the filter leaves out the exit of a process, the process's open calls are counted under
    %% `unended'.
    [{[], ExitSum, _}] =
        recorded(Config,
                 [{"exits", ["procs", "--filter", ?W "rest(N) when N =< 40",
                             ?W "rest/1 -> failed"]}],
                 fun() -> ok = call(Config, rests, [100]) end),
    #{<<"unended">> := 40, <<"open">> := 0, <<"forgotten">> := 0} =
        decided(ExitSum).

%% One process reaches the bound on open calls. Open calls of the same function in other processes
%% are then not recorded. When they end, they no longer count as open.
the_bound_on_open_calls(Config) ->
    Node = ?config(node, Config),
    [{_, Sum, _}] =
        recorded(Config, [{"bound", ["--open-calls", "100",
                                     ?W "down_to/2 -> slow(0us)"]}],
                 fun() ->
                         Pid = call(Config, waits, []),
                         ok = call(Config, go, [Pid, in]),
                         200 = call(Config, down_to, [200, 0]),
                         ok = call(Config, go, [Pid, out]),
                         true = ?NODE:call(Node, erlang, is_process_alive,
                                           [Pid])
                 end),
    #{<<"open">> := 0, <<"unended">> := 0, <<"unkept">> := Unkept} =
        decided(Sum),
    %% Unkept counts the 2 calls of the process that waits, and the calls of the process that
    %% reached the bound of 100.
    true = Unkept >= 2 + 100.

%% A match spec can suppress the event of a call and still ask for its end. This end must not be
%% taken for the end of another call. In the first test all clauses of the spec ask for ends, in the
%% second test only some of them.
hidden_calls(Config) ->
    [hidden_calls(Config, More) || More <- ["", "{[99], [], []}, "]],
    ok.

hidden_calls(Config, More) ->
    Spec = "{inviso_decide_work,down,1} [" ++ More ++
        "{['$1'],[{'=:=',{'rem','$1',2},1}],[{message,false},{return_trace}]}]",
    [{Whole, Sum, _}] =
        recorded(Config, [{"hidden", [Spec, ?W "down/1 -> slow(0us)"]}],
                 fun() -> 50 = call(Config, down, [50]) end),
    Expected = [{50 - N, integer_to_binary(N)} || N <- lists:seq(0, 50, 2)],
    Expected = [{D, A} || #{<<"args">> := [A], <<"depth">> := D,
                            <<"return">> := R} <- ended(Whole), A =:= R],
    #{<<"open">> := 0, <<"unkept">> := 0, <<"forgotten">> := 0} = decided(Sum).

%% The rules also apply to functions of modules that are loaded after the session has begun.
modules_loaded_later(Config) ->
    Node = ?config(node, Config),
    Call = fun(F) -> ?NODE:call(Node, decide_late, F, []) end,
    Load = fun(M) ->
                   {module, M} = ?NODE:call(Node, code, load_binary,
                                            [M, "x.erl", module(M)])
           end,
    _ = Load(decide_early),
    [{Whole, Sum, _}] =
        recorded(Config, [{"late", ["decide_*:f*/0 -> failed"]}],
                 fun() ->
                         _ = Load(decide_late),
                         ?LIB:until(fun() ->
                                            %% The rules may come into force between the
                                            %% calls. Once f1 is forgotten, they hold for
                                            %% f2, too.
                                            ok = Call(f1),
                                            {error, nok} = Call(f2),
                                            counted(Config, forgotten) > 0
                                    end)
                 end),
    [_ | _] = Whole,
    [<<"f2">>] = lists:usort([F || #{<<"function">> := F} <- Whole]),
    #{<<"forgotten">> := N} = decided(Sum),
    true = N > 0.

module(M) ->
    Forms = [{attribute, 1, module, M},
             {attribute, 1, export, [{f1, 0}, {f2, 0}]},
             {function, 1, f1, 0, [{clause, 1, [], [], [{atom, 1, ok}]}]},
             {function, 1, f2, 0,
              [{clause, 1, [], [], [{tuple, 1, [{atom, 1, error},
                                                {atom, 1, nok}]}]}]}],
    {ok, _, Beam} = compile:forms(Forms),
    Beam.

%% A rule applies to the functions of its SPEC. A call is recorded if it matches the rules of at
%% least one SPEC. If one SPEC has several rules, the call must match all of them.
rules_of_several_specs(Config) ->
    Work = fun() ->
                   [call(Config, take, [X]) || X <- [ok, error]],
                   {1, 20} = call(Config, nap, [1, 20]),
                   {error, 20} = call(Config, nap, [error, 20]),
                   {error, 0} = call(Config, nap, [error, 0]),
                   ok = call(Config, count, [3])
           end,
    Specs = [?W "nap/2 -> slow(10ms), failed", ?W "take/1 -> failed",
             ?W "take/1 -> slow(60m)", ?W "counted/1 -> return"],
    [{Events, Sum, _}] = recorded(Config, [{"rules", Specs}], Work),
    [[<<"error">>], [<<"error">>, <<"20">>]]
        = [A || #{<<"args">> := A, <<"function">> := F} <- Events,
                F =/= <<"counted">>],
    6 = length([E || #{<<"function">> := <<"counted">>} = E <- Events]),
    #{<<"forgotten">> := 3} = decided(Sum).
