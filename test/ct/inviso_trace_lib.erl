%% SPDX-License-Identifier: Apache-2.0
%% Common code of the tracer's suites: opening and reading logs, making traced
%% calls, starting and killing nodes.
-module(inviso_trace_lib).

-export([dir/1, name/2, config/2, product/1, command/2]).
-export([open/2, close/1, flags/3, flags/4, untrace/1, calls/2]).
-export([split/1]).
-export([merge/2, merge/3, events/1, items/1, items_elsewhere/2, lines/2]).
-export([balanced/1, accounted/2, accounted/3, lost/1, numbers/1]).
-export([slack/1, between/3]).
-export([probe/1, probe/2, flood/2, flood_forever/1, worker/0, run/2, stop/1]).
-export([w/1, text/1, until/1, until/2, os_state/1, kill/2, os_alive/1]).
-export([node_start/1, node_start/2, node_args/0, node_stop/1, call/4]).
-export([is_root/0, readable_by_all/0]).

%% Returns a new directory for a test case, in Common Test's own directory.
dir(Config) ->
    Dir = filename:join(proplists:get_value(priv_dir, Config),
                        "t" ++ integer_to_list(
                                 erlang:unique_integer([positive]))),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Dir.

name(Config, Name) ->
    filename:join(dir(Config), Name).

%% For init_per_suite: skips the suite if a product that it needs is not built. Otherwise loads the
%% library.
config(Config, Needs) ->
    Missing = [N || N <- Needs, not filelib:is_regular(product(N))],
    case Missing of
        [] -> Config;
        _ -> {skip, text(io_lib:format("not built: ~p", [Missing]))}
    end.

product(Name) ->
    filename:join(priv(), Name).

priv() ->
    case os:getenv("INVISO_PRIV") of
        false ->
            Ebin = filename:dirname(code:which(inviso_tracer)),
            filename:join(filename:dirname(filename:absname(Ebin)), "priv");
        Dir ->
            Dir
    end.

%%---------------------------------------------------------------------------
%% Tracing

open(Path, Opts) ->
    ok = inviso_tracer:load(priv()),
    {ok, Tracer} = inviso_tracer:open(Path, Opts),
    Tracer.

%% Closes a tracer. Returns its counts, and checks that they add up.
close(Tracer) ->
    {ok, Stats} = inviso_tracer:close(Tracer),
    balanced(Stats).

%% Sets trace flags of a process with erlang:trace/3, so that its events go to this tracer.
flags(Pid, Tracer, Flags) ->
    flags(Pid, Tracer, Flags, true).

flags(Pid, {Module, State}, Flags, How) ->
    erlang:trace(Pid, How, [{tracer, Module, State} | Flags]);
flags(Pid, Tracer, Flags, How) when is_pid(Tracer) ->
    erlang:trace(Pid, How, [{tracer, Tracer} | Flags]).

untrace(Pid) ->
    try erlang:trace(Pid, false, [all])
    catch error:badarg -> 0
    end.

%% Sets a local pattern on functions, which must exist.
calls(Mfa, MatchSpec) ->
    _ = code:ensure_loaded(element(1, Mfa)),
    N = erlang:trace_pattern(Mfa, MatchSpec, [local]),
    true = N > 0.

%%---------------------------------------------------------------------------
%% Reading back

%% Runs inviso merge. Returns its exit status and output.
merge(Logs, Format) ->
    merge(Logs, Format, []).

merge(Log, Format, More) when is_binary(Log) ->
    merge([Log], Format, More);
merge([C | _] = Log, Format, More) when is_integer(C) ->
    merge([Log], Format, More);
merge(Logs, Format, More) ->
    Out = text([hd(Logs), ".", Format, ".",
                integer_to_list(erlang:unique_integer([positive]))]),
    Args = ["merge", "--format", Format, "-o", Out | More] ++
        [text(L) || L <- Logs],
    {Status, Said} = command("inviso", Args),
    Bin = case file:read_file(Out) of
              {ok, B} -> B;
              {error, Why} -> error({merge, Why, Status, Said})
          end,
    ok = file:delete(Out),
    {Status, Bin, Said}.

%% Runs a program to its end. The program is the name of a product, or a path.
command(Program, Args) ->
    Path = filename:join(priv(), Program),
    Port = open_port({spawn_executable, Path},
                     [{args, Args}, exit_status, binary, use_stdio,
                      stderr_to_stdout, hide]),
    output(Port, []).

output(Port, Acc) ->
    receive
        {Port, {data, Data}} -> output(Port, [Acc, Data]);
        {Port, {exit_status, Status}} -> {Status, iolist_to_binary(Acc)}
    end.

%% Returns the JSON objects that `inviso merge' prints for a log.
items(Log) ->
    {Status, Bin, Said} = merge(Log, "json"),
    Items = inviso_trace_json:lines(Bin),
    %% Status 7 means that events were lost. Events that were refused because of a limit do not
    %% count as lost.
    case {Status, maps:remove(limit, lost(Items))} of
        {0, L} when L =:= #{} -> Items;
        {7, L} when L =/= #{} -> Items;
        _ -> error({merge, Status, Said, lost(Items)})
    end.

%% Returns what items/1 returns for the log. The directory of the log has no space for output, so
%% the function reads a copy in another directory.
items_elsewhere(Log, Config) ->
    Copy = name(Config, "copy"),
    {ok, _} = file:copy(Log, Copy),
    items(Copy).

%% Returns the events of a log, which must have no losses.
events(Log) ->
    Items = items(Log),
    case lost(Items) of
        Lost when Lost =:= #{} -> Items;
        Lost -> error({lost, Lost})
    end.

lines(Log, Format) ->
    {0, Bin, _} = merge(Log, Format),
    split(Bin).

split(Bin) ->
    binary:split(Bin, <<"\n">>, [global, trim_all]).

%%---------------------------------------------------------------------------
%% Counts

balanced(#{produced := P, recorded := R, dropped := D, lost := L} = Stats) ->
    {P, D} = {R + D, lists:sum(maps:values(L))},
    Stats.

%% Checks that the result of closing the tracer and the output of `inviso merge' have the same
%% counts.
accounted(Stats, Items) ->
    #{recorded := Recorded, lost := Lost} = balanced(Stats),
    Events = length([I || I <- Items, is_map_key(<<"tag">>, I)]),
    Printed = lost(Items),
    case {Recorded, maps:filter(fun(_, N) -> N > 0 end, Lost)} of
        {Events, Printed} -> Stats;
        Said -> error({unaccounted, Said, {Events, Printed}})
    end.

%% Checks what accounted/2 checks. Also checks that Made events were produced.
accounted(Stats, Items, Made) ->
    #{produced := Produced} = accounted(Stats, Items),
    case Produced of
        Made -> Stats;
        _ -> error({produced, Produced, made, Made})
    end.

%% Returns the losses in the output of `inviso merge', by reason.
lost(Items) ->
    lists:foldl(fun(#{<<"lost">> := N, <<"reason">> := R}, Acc) ->
                        Reason = binary_to_atom(R),
                        Acc#{Reason => maps:get(Reason, Acc, 0) + N};
                   (_, Acc) -> Acc
                end, #{}, Items).

%% Returns the argument I of each recorded call probe(I), in the order of the log.
numbers(Items) ->
    [number(P) || #{<<"tag">> := <<"call">>, <<"payload">> := [P]} <- Items].

number(Payload) ->
    Prefix = <<"{inviso_trace_lib,probe,[">>,
    Size = byte_size(Prefix),
    <<Prefix:Size/binary, Rest/binary>> = Payload,
    [Number | _] = binary:split(Rest, [<<",">>, <<"]">>]),
    binary_to_integer(Number).

%%---------------------------------------------------------------------------
%% Times

%% Returns the largest possible difference, in ns, between a printed time and Erlang's system time.
%% The tracer was open for `Open' ns.
%%
%% The times in a log are those of CLOCK_MONOTONIC. The anchors of the log have the times of both
%% clocks: one anchor is made when the tracer opens, one when it closes, and others between. Between
%% two anchors Erlang's clock may run 1 % faster or slower. Reading both clocks takes some time, for
%% which 1 ms is added.
slack(Open) ->
    Open div 100 + 1000000.

%% Checks that all times are from `From' to `To'.
between(From, Times, To) ->
    case {lists:min(Times), lists:max(Times)} of
        {First, Last} when From =< First, Last =< To -> ok;
        {First, Last} -> error({not_between, From, To, {First, Last}})
    end.

%%---------------------------------------------------------------------------
%% Processes to trace

probe(_I) -> ok.
probe(_I, _Payload) -> ok.

%% Calls probe/1 with each number from From to To.
flood(I, To) when I > To -> ok;
flood(I, To) ->
    ?MODULE:probe(I),
    flood(I + 1, To).

flood_forever(I) ->
    ?MODULE:probe(I),
    flood_forever(I + 1).

%% Starts a process that runs the funs that run/2 sends to it, until stop/1. When this function
%% returns, the process has run, and waits for work. For a process that has not run yet, the VM
%% reports one of two current functions.
worker() ->
    Pid = spawn(fun work/0),
    ok = run(Pid, fun() -> ok end),
    idle(Pid).

idle(Pid) ->
    case process_info(Pid, [status, current_function]) of
        [{status, waiting}, {current_function, {?MODULE, work, 0}}] ->
            Pid;
        _ ->
            erlang:yield(),
            idle(Pid)
    end.

work() ->
    receive
        {run, Fun, From, Ref} ->
            From ! {Ref, Fun()},
            work();
        stop ->
            ok
    end.

run(Pid, Fun) ->
    Ref = monitor(process, Pid),
    Pid ! {run, Fun, self(), Ref},
    receive
        {Ref, Result} -> demonitor(Ref, [flush]), Result;
        {'DOWN', Ref, process, Pid, Reason} -> error({worker, Reason})
    end.

stop(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

%%---------------------------------------------------------------------------
%% Helpers for texts and waiting

w(Term) ->
    unicode:characters_to_binary(io_lib:format("~w", [Term])).

text(Chars) ->
    unicode:characters_to_list(Chars).

until(Fun) ->
    until(Fun, 90000).

until(Fun, Ms) ->
    until_late(Fun, erlang:monotonic_time(millisecond) + Ms).

until_late(Fun, Deadline) ->
    case Fun() of
        false ->
            case erlang:monotonic_time(millisecond) > Deadline of
                true -> error({not_in_time, erlang:fun_info(Fun, name)});
                false -> timer:sleep(5), until_late(Fun, Deadline)
            end;
        Result ->
            Result
    end.

%% Returns the state letter from /proc/<pid>/stat, or $X if the process does not exist.
os_state(Pid) ->
    case file:read_file("/proc/" ++ integer_to_list(Pid) ++ "/stat") of
        {ok, Stat} ->
            [_, <<" ", State, _/binary>>] = binary:split(Stat, <<")">>),
            State;
        {error, _} ->
            $X
    end.

%% Returns false if all threads of the process have ended. When a VM is killed, its first thread can
%% be a zombie (Z) while others still end and have its files open.
os_alive(Pid) ->
    case os_state(Pid) of
        $X -> false;
        $Z -> length(threads(Pid)) > 1;
        _ -> true
    end.

threads(Pid) ->
    filelib:wildcard("/proc/" ++ integer_to_list(Pid) ++ "/task/*").

kill(Signal, Pid) when is_integer(Pid), Pid > 1 ->
    {Status, Said} = command("/bin/kill", ["-" ++ Signal,
                                           integer_to_list(Pid)]),
    {0, _} = {Status, Said},
    ok.

%%---------------------------------------------------------------------------
%% Nodes

%% Starts a node that is not distributed. Opts are options of peer:start/1.
node_start(Opts) ->
    node_start(Opts, true).

node_start(Opts, Load) ->
    Default = #{connection => inviso_test_lib:connection(), wait_boot => 120000},
    {ok, Peer, _} = peer:start(node_opts(maps:merge(Default, Opts))),
    [ok = call(Peer, inviso_tracer, load, [priv()]) || Load],
    Peer.

%% The timeout of 120 s is long enough for a busy machine.
call(Peer, M, F, Args) ->
    peer:call(Peer, M, F, Args, 120000).

node_opts(#{args := _} = Opts) -> Opts;
node_opts(Opts) -> Opts#{args => node_args()}.

node_args() ->
    ["-pa", filename:absname(filename:dirname(code:which(inviso_tracer))),
     "-pa", filename:absname(filename:dirname(code:which(?MODULE)))].

node_stop(Peer) ->
    try peer:stop(Peer)
    catch exit:_ -> ok
    end.

is_root() ->
    os:cmd("id -u") =:= "0\n".

%% Returns true if an ordinary user can run the products.
readable_by_all() ->
    os:cmd("setpriv --reuid=65534 --regid=65534 --clear-groups test -x '" ++
               product("inviso_spool") ++ "' && echo yes") =:= "yes\n".
