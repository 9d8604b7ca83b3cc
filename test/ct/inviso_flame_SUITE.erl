%% SPDX-License-Identifier: Apache-2.0
%% The command `inviso flame': samples of stacks, and traced calls.
-module(inviso_flame_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1, end_per_testcase/2]).
-export([busy_process/1, kinds_and_nodes/1, waiting/1, log_has_the_samples/1, files/1,
         calls/1, for_people/1, nothing_runs/1, usage/1, the_command_is_killed/1,
         the_sampler_is_killed/1, a_node_is_killed/1]).

-import(inviso_command_lib, [run/2, start/3, wait/2, signal/2, until/1, until_tracing/3,
                             json/1]).
-import(inviso_count_lib, [call/4, name/1, one/1, footprints/1, left/2, released/1,
                           contains/2]).

-define(WORK, inviso_flame_work).

all() ->
    [busy_process, kinds_and_nodes, waiting, log_has_the_samples, files, calls,
     for_people, nothing_runs, usage, the_command_is_killed, the_sampler_is_killed,
     a_node_is_killed].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) -> inviso_count_lib:init([?WORK], Config).

end_per_suite(Config) -> inviso_count_lib:finish(Config).

end_per_testcase(a_node_is_killed, _) -> ok;
end_per_testcase(_, Config) -> inviso_count_lib:cleaned(Config).

%%---------------------------------------------------------------------------
%% Helpers

flame(Nodes, Args, Config) ->
    Names = lists:append(lists:join(",", [name(N) || N <- Nodes])),
    run(?config(opts, Config), ["flame", "-n", Names | Args]).

begun(Nodes, Args, Config) ->
    Opts = ?config(opts, Config),
    Names = lists:append(lists:join(",", [name(N) || N <- Nodes])),
    Cmd = start(Opts, ["flame", "-n", Names, "--for", "200s" | Args], 240000),
    _ = [until_tracing(Opts, name(N), Cmd) || N <- Nodes],
    Cmd.

ended(Cmd) ->
    ok = signal(Cmd, "INT"),
    wait(Cmd, 120000).

%% Runs Fun while the process Name runs the function What on the node.
with(Node, Name, What, Fun) ->
    Pid = call(Node, ?WORK, start, [Name, What]),
    try Fun()
    after ok = call(Node, ?WORK, stop, [Pid])
    end.

function(F) -> iolist_to_binary([atom_to_list(?WORK), ":", F]).

%% Returns the sums of time and count of all paths that contain all of these frames.
paths(Frames, Objects) ->
    Those = [O || #{<<"path">> := P} = O <- Objects, Frames -- P =:= []],
    {lists:sum([Ns || #{<<"self_ns">> := Ns} <- Those]),
     lists:sum([N || #{<<"count">> := N} <- Those])}.

%%---------------------------------------------------------------------------
%% Samples

%% The node has one busy process, so most of the sampled time must be in the functions of this
%% process. Even on a busy machine, the sum of all times is not much more than the time that passed.
busy_process(Config) ->
    with(one(Config), flame_busy, {busy, []},
         fun() ->
                 #{status := 0, out := Out} =
                     flame([one(Config)], ["--for", "2s", "--json"], Config),
                 Objects = json(Out),
                 {All, Samples} = paths([], Objects),
                 {Busy, _} = paths([function("busy/0")], Objects),
                 {Heavy, _} = paths([function("heavy/1")], Objects),
                 ct:log("~p samples, ~p ns, busy ~p, heavy ~p", [Samples, All, Busy, Heavy]),
                 true = Samples > 10,
                 true = Busy > All * 0.7,
                 true = Heavy > Busy * 0.5,
                 true = All > 500000000
         end).

kinds_and_nodes(Config) ->
    [One, Two] = Nodes = ?config(nodes, Config),
    with(One, flame_here, {busy, []},
         fun() -> with(Two, flame_there, {busy, []},
                       fun() -> kinds_and_nodes(Nodes, Config) end) end).

kinds_and_nodes([One, Two] = Nodes, Config) ->
    Run = fun(By) ->
                  #{status := 0, out := Out} =
                      flame(Nodes, ["--for", "1s", "--json", "--by", By], Config),
                  [P || #{<<"path">> := P} <- json(Out)]
          end,
    Busy = function("busy/0"),
    Kinds = Run("kind"),
    [] = [<<"flame_here">>, <<"flame_there">>]
        -- [Kind || [Kind, B | _] <- Kinds, B =:= Busy],
    [] = [list_to_binary(name(N)) || N <- [One, Two]]
        -- [Node || [Node, B | _] <- Run("node"), B =:= Busy].

%% The profile shows for what a process waits, and for which process.
waiting(Config) ->
    with(one(Config), flame_waiter, {ask, [flame_server]},
         fun() ->
                 #{status := 0, out := Out, err := Err} =
                     flame([one(Config)], ["--for", "3s", "--waiting"], Config),
                 contains(Out, <<"waited  for an answer">>),
                 {match, _} = re:run(Out, "flame_waiter .*> gen_server:call/3 > gen:do_call/4 > "
                                     "\\(waits for flame_server\\)"),
                 contains(Err, <<" Hz; the sampler took ">>),
                 %% A node has more than 32 processes, and nearly all of them wait.
                 {match, _} = re:run(Err, "the stacks stand for [1-9][0-9]* more: "
                                     "in a tick a node asks at most 32 processes of each kind")
         end),
    Server = call(one(Config), erlang, whereis, [flame_server]),
    ok = call(one(Config), ?WORK, stop, [Server]).

%% The log contains the samples of the command, so `inviso merge' makes the same profile from the
%% log.
log_has_the_samples(Config) ->
    Dir = ?config(priv_dir, Config),
    Log = filename:join(Dir, "flame.log"),
    Folded = filename:join(Dir, "flame.folded"),
    with(one(Config), flame_logged, {busy, []},
         fun() ->
                 #{status := 0} = flame([one(Config)], ["--for", "1s", "--log", Log,
                                                        "-o", Folded, "--by", "kind"],
                                        Config)
         end),
    {ok, Text} = file:read_file(Folded),
    contains(Text, <<"flame_logged;">>),
    #{status := 0, out := Text} =
        run(?config(opts, Config), ["merge", "-q", "-f", "folded", "--by", "kind", Log]).

%% The extension of the file's name selects the format.
files(Config) ->
    Dir = ?config(priv_dir, Config),
    Starts = [{"a.svg", <<"<?xml">>}, {"a.pb.gz", <<16#1f, 16#8b>>},
              {"a.json", <<"{\"$schema\"">>}, {"a.callgrind", <<"# callgrind">>}],
    with(one(Config), flame_files, {busy, []},
         fun() ->
                 [begin
                      File = filename:join(Dir, Name),
                      #{status := 0, out := <<>>} =
                          flame([one(Config)], ["--for", "300ms", "-o", File], Config),
                      {ok, Bytes} = file:read_file(File),
                      Start = binary:part(Bytes, 0, byte_size(Start))
                  end || {Name, Start} <- Starts]
         end).

%%---------------------------------------------------------------------------
%% Calls

%% Each call is counted, under the path that leads to it.
calls(Config) ->
    Nodes = [One, Two] = ?config(nodes, Config),
    Cmd = begun(Nodes, ["--json", atom_to_list(?WORK) ++ ":outer/1",
                        atom_to_list(?WORK) ++ ":inner/1"], Config),
    ok = call(One, ?WORK, calls, [50]),
    ok = call(Two, ?WORK, calls, [20]),
    #{status := 0, out := Out} = ended(Cmd),
    Objects = json(Out),
    Outer = function("outer/1"),
    Inner = function("inner/1"),
    [{[Outer], 70}, {[Outer, Inner], 210}] =
        lists:sort([{P, N} || #{<<"path">> := P, <<"count">> := N} <- Objects]),
    true = lists:all(fun(#{<<"self_ns">> := Ns}) -> Ns > 0 end, Objects).

for_people(Config) ->
    Cmd = begun([one(Config)], [atom_to_list(?WORK)], Config),
    ok = call(one(Config), ?WORK, calls, [50]),
    #{status := 0, out := Out, err := Err} = ended(Cmd),
    {match, _} = re:run(Out, "^ +itself +% +all +% +calls\n"),
    {match, _} = re:run(Out, "% +150  inviso_flame_work:inner/1\n"),
    contains(Err, <<"; stopped: interrupted">>).

nothing_runs(Config) ->
    Cmd = begun([one(Config)], [atom_to_list(?WORK) ++ ":inner/1"], Config),
    ok = signal(Cmd, "INT"),
    #{status := 0} = wait(Cmd, 120000),
    #{status := 5, err := Err} =
        flame([one(Config)], ["--for", "300ms", atom_to_list(?WORK) ++ ":inner/1"], Config),
    contains(Err, <<"no call has ended">>).

usage(Config) ->
    [begin
         #{status := 2, err := Err} = run(?config(opts, Config), ["flame" | Args]),
         contains(Err, Part)
     end || {Args, Part} <- [{[], <<"no node is given">>},
                             {["-n", "a", "--rate", "0"], <<"not from 1 to 1000">>},
                             {["-n", "a", "--rate", "1001"], <<"not from 1 to 1000">>},
                             {["-n", "a", "-f", "json"], <<"speedscope">>},
                             {["-n", "a", "--by", "x"], <<"kind, node, label">>},
                             {["-n", "a", "--waiting", "lists"], <<"leave SPEC out">>},
                             {["-n", "a", "lists -> return"], <<"has an action">>},
                             {["-n", "a", "--json", "-o", "x"], <<"standard output">>},
                             {["-n", "a", "--procs", "x"], <<"needs a SPEC">>}]].

%%---------------------------------------------------------------------------
%% Deaths

the_command_is_killed(Config) ->
    Nodes = ?config(nodes, Config),
    Before = footprints(Nodes),
    Cmd = begun(Nodes, [], Config),
    ok = signal(Cmd, "KILL"),
    released(Nodes),
    _ = [[] = left(F, N) || {F, N} <- lists:zip(Before, Nodes)],
    ok.

the_sampler_is_killed(Config) ->
    Node = one(Config),
    Cmd = begun([Node], ["--waiting"], Config),
    %% The session has two processes with a high priority: the sampler and a worker. The test kills
    %% both, and the session starts a new worker.
    _ = [true = call(Node, erlang, exit, [P, kill]) || P <- helpers(Node)],
    #{status := Status, err := Err} = wait(Cmd, 120000),
    true = Status =/= 0,
    contains(Err, <<"the process that samples stacks was killed">>).

%% Returns the processes of the session that have a high priority.
helpers(Node) ->
    [Session] = [S || {{user, S}, _, _} <- call(Node, ets, tab2list, [inviso_guard])],
    {links, Links} = call(Node, erlang, process_info, [Session, links]),
    [_, _ | _] = [P || P <- Links, is_pid(P),
                       {priority, high} =:= call(Node, erlang, process_info, [P, priority])].

%% The log contains the samples that were taken before the node died.
a_node_is_killed(Config) ->
    [One, #{os_pid := OsPid} = Two] = ?config(nodes, Config),
    Log = filename:join(?config(priv_dir, Config), "dead.log"),
    Pid = call(Two, ?WORK, start, [flame_dead, {busy, []}]),
    true = is_pid(Pid),
    Cmd = begun([Two], ["--log", Log], Config),
    _ = until(fun() -> filelib:file_size(Log) > 4000 end),
    ok = signal(OsPid, "KILL"),
    #{status := 3} = wait(Cmd, 120000),
    #{out := Out} = run(?config(opts, Config), ["merge", "-q", "-f", "folded", Log]),
    contains(Out, function("busy/0")),
    released([One]).
