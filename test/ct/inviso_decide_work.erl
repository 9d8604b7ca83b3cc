%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls for inviso_decide_SUITE, loaded on a stock node.
-module(inviso_decide_work).

-export([take/1, give/1, term/1, terms/1, nap/2, naps/1, down/1, dies/1, die/1,
         rests/1, rest/1, wake/1, hang/0, hangs/0, down_to/2, waits/0, go/2,
         count/1, counted/1, known/1, large_and_none/0, none/0]).

%% Returns its argument.
take(X) -> X.

%% Returns `ok', whatever its argument is.
give(_) -> ok.

%% Calls give/1 with random terms.
terms(Seed) ->
    _ = rand:seed(exsss, {Seed, 2, 3}),
    lists:foreach(fun give_one/1,
                  [term(rand:uniform(4)) || _ <- lists:seq(1, 300)]).

give_one(X) ->
    Given = ?MODULE:give(X),
    {given, Given}.

term(0) ->
    case rand:uniform(16) of
        1 -> rand:uniform(1 bsl 40) - (1 bsl 39);
        2 -> rand:uniform(60);
        3 -> -(1 bsl rand:uniform(600));
        4 -> rand:normal();
        5 -> self();
        6 -> make_ref();
        7 -> atom();
        8 -> <<(rand:uniform(1000)):13>>;
        9 -> binary:copy(<<"ab">>, rand:uniform(100));
        10 -> lists:seq($a, $a + rand:uniform(25));
        11 -> fun ?MODULE:take/1;
        12 -> other_pid();
        13 -> other_ref();
        14 -> hd(erlang:ports());
        15 -> [];
        16 -> {}
    end;
term(Depth) ->
    N = rand:uniform(4),
    Elements = [term(rand:uniform(Depth) - 1) || _ <- lists:seq(1, N)],
    case rand:uniform(4) of
        1 -> list_to_tuple(Elements);
        2 -> maps:from_list([{I, E} || {I, E} <- lists:zip(lists:seq(1, N),
                                                           Elements)]);
        3 -> Elements;
        4 -> Elements ++ atom()
    end.

atom() ->
    lists:nth(rand:uniform(5), [ok, error, 'two words', 'ü', inviso]).

%% Returns a pid of a node to which this node was never connected; other_ref/0 returns a reference
%% of such a node.
other_pid() ->
    binary_to_term(<<131, 88, (other_node())/binary, (rand:uniform(9999)):32,
                     0:32, (rand:uniform(3)):32>>).

other_ref() ->
    binary_to_term(<<131, 90, 3:16, (other_node())/binary,
                     (rand:uniform(3)):32, 7:32, 8:32,
                     (rand:uniform(9999)):32>>).

other_node() ->
    Name = lists:nth(rand:uniform(3), [<<"a@h">>, <<"b@h">>, <<"c@host">>]),
    <<119, (byte_size(Name)), Name/binary>>.

%% Sleeps, so that the call can end on another scheduler.
nap(Who, Ms) ->
    timer:sleep(Ms),
    {Who, Ms}.

%% Starts N processes that call nap/2 at the same time.
naps(N) ->
    in_processes([fun() -> napped(I) end || I <- lists:seq(1, N)]).

napped(I) ->
    [{I, Ms} = ?MODULE:nap(I, Ms) || Ms <- [1 + I rem 5, 0, 2]],
    ok.

%% A function that calls itself, N times.
down(0) -> 0;
down(N) -> 1 + ?MODULE:down(N - 1).

%% Calls itself N times, and then calls the function F.
down_to(0, F) when is_function(F) -> F();
down_to(0, X) -> X;
down_to(N, X) -> 1 + ?MODULE:down_to(N - 1, X).

%% Starts a process that makes two calls, one inside the other. go(Pid, in) returns when the process
%% is in both, and go(Pid, out) when both have ended.
waits() ->
    spawn(fun() ->
                  Wait = fun() ->
                                 told(in) ! in,
                                 put(from, told(out)),
                                 0
                         end,
                  1 = ?MODULE:down_to(1, Wait),
                  get(from) ! out,
                  receive after infinity -> ok end
          end).

told(What) ->
    receive {What, From} -> From end.

go(Pid, What) ->
    Pid ! {What, self()},
    receive What -> ok end.

%% Starts N processes that are killed in a call of die/1. Some releases report this as an exception.
dies(N) ->
    in_processes([fun() -> ?MODULE:die(I) end || I <- lists:seq(1, N)]).

die(_) ->
    Self = self(),
    spawn(fun() -> exit(Self, kill) end),
    receive after infinity -> ok end.

%% Starts N processes that hibernate in a call of rest/1. Such a call never ends, because the VM
%% discards the stack of a process that hibernates.
rests(N) ->
    in_processes([fun() -> ?MODULE:rest(I) end || I <- lists:seq(1, N)]).

rest(I) ->
    self() ! go,
    erlang:hibernate(?MODULE, wake, [I]).

wake(_) -> exit(shutdown).

hang() -> receive go -> ok end.

hangs() -> {went, ?MODULE:hang()}.

%% Makes calls that are fast.
count(0) -> ok;
count(N) ->
    ?MODULE:counted(N),
    count(N - 1).

counted(N) -> N.

%% Makes a call with large arguments, and a call without arguments.
large_and_none() ->
    _ = ?MODULE:take(lists:seq(1, 300)),
    ?MODULE:none().

none() -> ok.

%% A function whose argument contains a secret.
known(#{password := _} = Map) -> {ok, maps:size(Map)}.

in_processes(Funs) ->
    Monitors = [spawn_monitor(F) || F <- Funs],
    [receive {'DOWN', Ref, process, _, _} -> ok end || {_, Ref} <- Monitors],
    ok.
