%% SPDX-License-Identifier: Apache-2.0
%% @doc The command's side of c_src/abi/control.h, in Erlang: what the suites
%% need to work with the guard and with sessions of a node as the command does.
%%
%% The client is the process that calls.
-module(inviso_remote_lib).

-export([attach/1, attach/2, ask_attach/2, leave/1, args/1]).
-export([ask/2, ask/3, start/2, start/3, session/2, stop/1, remove/1]).
-export([follow/1, follow/2, read/2, wait_state/2, is_clean/1]).
-export([slow/2, slow_in/2, waits_for/3]).

-import(inviso_test_lib, [call/4, wait_until/1]).

%% @doc Attaches the calling process, with all that tracing needs.
attach(Node) ->
    attach(Node, #{}).

attach(Node, More) ->
    {ok, #{guard := Guard, files := Files}} = Ok = ask_attach(Node, More),
    {ok, _, Products} = inviso_bring:payload(),
    _ = [ok = ask(Guard, {put, Name, Bytes})
         || Name <- Files, {N, Bytes} <- Products, list_to_binary(N) =:= Name],
    ok = ask(Guard, ready),
    Ok.

%% @doc The first request alone, with arguments changed.
ask_attach(#{name := Name} = Node, More) ->
    {ok, Modules, _} = inviso_bring:payload(),
    Bindings = [{'Args', maps:merge(args(self()), More)}, {'Mods', Modules}],
    case erpc:call(Name, erl_eval, exprs, [inviso_push:loader(), Bindings]) of
        {value, {error, again, _}, _} ->
            timer:sleep(20),
            ask_attach(Node, More);
        {value, Value, _} ->
            Value
    end.

args(Client) ->
    {ok, Modules, Files} = inviso_bring:payload(),
    #{protocol => 1, build => inviso_push:build(Modules, Files),
      client => Client, owner => <<"tester@here (os pid 1)">>,
      want => tracer, dirs => []}.

leave(Guard) ->
    ask(Guard, {leave, self()}).

%% @doc A request, as the command makes it.
ask(Pid, Request) ->
    ask(Pid, Request, 60000).

ask(Pid, Request, Ms) ->
    Tag = erlang:unique_integer([positive]),
    Pid ! {'$gen_call', {self(), Tag}, Request},
    receive {Tag, Answer} -> Answer after Ms -> no_answer end.

%% @doc A session of lists:seq/2 in new processes, or what More says.
start(Node, Guard) ->
    start(Node, Guard, #{}).

start(#{name := Name}, Guard, More) ->
    erpc:call(Name, inviso_session, start, [session(Guard, More)]).

session(Guard, More) ->
    Name = "s" ++ integer_to_list(erlang:unique_integer([positive])),
    maps:merge(#{name => list_to_binary(Name),
                 owner => <<"tester@here (os pid 1)">>,
                 client => self(), guard => Guard, mode => live,
                 specs => [<<"lists:seq/2">>], procs => [<<"all">>],
                 follow => [], limits => #{}, dead_man_ms => 60000}, More).

stop(Session) -> ask(Session, stop).

remove(Session) -> ask(Session, remove).

%% @doc All of a log, until its end.
follow(Session) ->
    follow(Session, 65536).

follow(Session, Max) ->
    follow(Session, Max, 0, []).

follow(Session, Max, Offset, Acc) ->
    case ask(Session, {follow, Offset, Max}) of
        {Bytes, eof, Status} ->
            {iolist_to_binary(lists:reverse(Acc, [Bytes])), Status};
        {Bytes, Watermark, _} when is_integer(Watermark); Watermark =:= none ->
            follow(Session, Max, Offset + byte_size(Bytes), [Bytes | Acc])
    end.

%% @doc All of a file.
read(Session, Name) ->
    read(Session, Name, 0, []).

read(Session, Name, Offset, Acc) ->
    case ask(Session, {read, Name, Offset, 1000}) of
        {ok, Bytes} ->
            read(Session, Name, Offset + byte_size(Bytes), [Bytes | Acc]);
        eof ->
            iolist_to_binary(lists:reverse(Acc))
    end.

%% @doc Waits until a session is in one of some states: its status.
wait_state(Session, States) ->
    #{state := State} = Status = ask(Session, status),
    case lists:member(State, States) of
        true -> Status;
        false -> timer:sleep(10), wait_state(Session, States)
    end.

%% @doc Whether a node is as it was: waits for it.
is_clean({Before, Node}) ->
    try
        wait_until(fun() ->
                           inviso_test_lib:left_behind(Before, Node) =:= []
                   end)
    catch
        error:timeout ->
            ct:fail({left_behind, inviso_test_lib:left_behind(Before, Node)})
    end,
    false = call(Node, code, is_loaded, [inviso_push]),
    ok.

%% @doc A process of a node does not run while that lives which this is.
slow(Node, Pid) ->
    Suspend = "erlang:suspend_process(Pid), receive after infinity -> ok end.",
    Slow = evaluated(Node, Suspend, [{'Pid', Pid}]),
    wait_until(fun() -> call(Node, erlang, process_info, [Pid, status])
                            =:= {status, suspended} end),
    Slow.

%% @doc The same for the next process that is found to be in a function: the
%% answer comes from a function.
slow_in(Node, {_, _, _} = MFA) ->
    Look = "process_flag(priority, max),"
        "Look = fun Look() ->"
        "    case [P || P <- processes(), {current_function, MFA} =:="
        "                   process_info(P, current_function)] of"
        "        [P | _] -> P;"
        "        [] -> receive after 1 -> Look() end"
        "    end end,"
        "Pid = Look(),"
        "erlang:suspend_process(Pid),"
        "put(pid, Pid),"
        "receive after infinity -> ok end.",
    Slow = evaluated(Node, Look, [{'MFA', MFA}]),
    fun() ->
            Pid = fun() -> {_, D} = call(Node, erlang, process_info,
                                         [Slow, dictionary]),
                           proplists:get_value(pid, D)
                  end,
            wait_until(fun() -> Pid() =/= undefined end),
            {Slow, Pid()}
    end.

evaluated(Node, Text, Bindings) ->
    inviso_test_lib:spawn_call(Node, erl_eval, exprs,
                               [inviso_guard:expressions(Text), Bindings]).

%% @doc Waits until a guard waits for a process.
waits_for(Node, Guard, Pid) ->
    wait_until(fun() ->
                       {monitors, Ms} = call(Node, erlang, process_info,
                                             [Guard, monitors]),
                       lists:member({process, Pid}, Ms)
               end).
