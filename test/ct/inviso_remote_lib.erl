%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends requests to a node's guard (which keeps inviso's code loaded) and sessions, as the
%% command does (c_src/abi/control.h). The calling process is the client.
-module(inviso_remote_lib).

-include("inviso_options.hrl").

-export([attach/1, attach/2, ask_attach/2, leave/1, args/1]).
-export([of_ours/4, has_sessions/1]).
-export([ask/2, ask/3, start/2, start/3, session/2, stop/1, remove/1]).
-export([follow/1, follow/2, read/2, wait_state/2, is_clean/1]).
-export([slow/2, slow_in/2, waits_for/3]).

-import(inviso_test_lib, [call/4, wait_until/1]).

%% @doc Attaches the calling process, and sends the code and files for tracing.
attach(Node) ->
    attach(Node, #{}).

attach(Node, More) ->
    {ok, #{guard := Guard, files := Files}} = Ok = ask_attach(Node, More),
    {ok, _, _, Products} = payload(),
    _ = [ok = ask(Guard, {put, Name, Bytes})
         || Name <- Files, {N, Bytes} <- Products, list_to_binary(N) =:= Name],
    ok = ask(Guard, ready),
    Ok.

%% @doc Sends only the first request of attaching. The map More adds or replaces arguments of the
%% request. Returns the answer.
ask_attach(#{name := Name} = Node, More) ->
    {ok, _, Modules, _} = payload(),
    Bindings = [{'Args', maps:merge(args(self()), More)}, {'Mods', Modules}],
    case erpc:call(Name, erl_eval, exprs, [inviso_push:loader(), Bindings]) of
        {value, {error, again, _}, _} ->
            timer:sleep(20),
            ask_attach(Node, More);
        {value, Value, _} ->
            Value
    end.

args(Client) ->
    {ok, Build, _, _} = payload(),
    #{protocol => ?CONTROL_PROTOCOL, build => Build,
      client => Client, owner => <<"tester@here (os pid 1)">>,
      want => tracer, dirs => []}.

leave(Guard) ->
    ask(Guard, {leave, self()}).

%% Reading the payload and computing its checksum takes a while, so it is done once.
payload() ->
    case persistent_term:get(?MODULE, none) of
        none ->
            {ok, _, _, _} = Payload = inviso_bring:payload(),
            persistent_term:put(?MODULE, Payload),
            Payload;
        Payload ->
            Payload
    end.

%% @doc Calls a function of inviso's code, as the command does. In pushed code,
%% this function is in the module inviso_tracer.
of_ours(Node, M, F, Args) ->
    case erpc:call(Node, code, is_loaded, [inviso_tracer]) of
        {file, "inviso_pushed"} ->
            Name = list_to_atom(atom_to_list(M) ++ ":" ++ atom_to_list(F)),
            erpc:call(Node, inviso_tracer, Name, Args);
        _ ->
            erpc:call(Node, M, F, Args)
    end.

has_sessions(Node) ->
    call(Node, erlang, function_exported,
         [erts_internal, trace_session_create, 3]).

%% @doc Sends a request as the command does.
ask(Pid, Request) ->
    ask(Pid, Request, 120000).

ask(Pid, Request, Ms) ->
    Tag = erlang:unique_integer([positive]),
    Pid ! {'$gen_call', {self(), Tag}, Request},
    receive {Tag, Answer} -> Answer after Ms -> no_answer end.

%% @doc Starts a session that traces lists:seq/2 in all processes. The map More
%% adds or replaces options of the session.
start(Node, Guard) ->
    start(Node, Guard, #{}).

start(#{name := Name}, Guard, More) ->
    of_ours(Name, inviso_session, start, [session(Guard, More)]).

session(Guard, More) ->
    Name = "s" ++ integer_to_list(erlang:unique_integer([positive])),
    maps:merge(#{name => list_to_binary(Name),
                 owner => <<"tester@here (os pid 1)">>,
                 client => self(), guard => Guard, mode => live,
                 specs => [<<"lists:seq/2">>], procs => [<<"all">>],
                 follow => [], limits => #{}, dead_man_ms => 600000}, More).

stop(Session) -> ask(Session, stop).

remove(Session) -> ask(Session, remove).

%% @doc Reads a session's log until its end has been written. Returns the whole
%% log.
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

read(Session, Name) ->
    read(Session, Name, 0, []).

read(Session, Name, Offset, Acc) ->
    case ask(Session, {read, Name, Offset, 1000}) of
        {ok, Bytes} ->
            read(Session, Name, Offset + byte_size(Bytes), [Bytes | Acc]);
        eof ->
            iolist_to_binary(lists:reverse(Acc))
    end.

%% @doc Waits until the session has one of the states. Returns its status.
wait_state(Session, States) ->
    #{state := State} = Status = ask(Session, status),
    case lists:member(State, States) of
        true -> Status;
        false -> timer:sleep(10), wait_state(Session, States)
    end.

%% @doc Waits until everything that is on a node is also in Before, an earlier footprint of the
%% node.
is_clean({Before, Node}) ->
    try
        wait_until(fun() ->
                           inviso_test_lib:left_behind(Before, Node) =:= []
                   end)
    catch
        error:timeout ->
            ct:fail({left_behind, inviso_test_lib:left_behind(Before, Node)})
    end,
    false = call(Node, code, is_loaded, [inviso_tracer]),
    ok.

%% @doc Suspends a process on a node. Returns the process that suspended it;
%% when that process dies, the suspended process continues.
slow(Node, Pid) ->
    Suspend = "erlang:suspend_process(Pid), receive after infinity -> ok end.",
    Slow = evaluated(Node, Suspend, [{'Pid', Pid}]),
    wait_until(fun() -> call(Node, erlang, process_info, [Pid, status])
                            =:= {status, suspended} end),
    Slow.

%% @doc Suspends the next process that executes a given function. Returns a fun
%% that waits until a process is suspended.
slow_in(Node, {M, F, A}) ->
    MFA = {inviso_tracer, list_to_atom(lists:concat([M, ":", F])), A},
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

%% @doc Waits until a guard monitors a process.
waits_for(Node, Guard, Pid) ->
    wait_until(fun() ->
                       {monitors, Ms} = call(Node, erlang, process_info,
                                             [Guard, monitors]),
                       lists:member({process, Pid}, Ms)
               end).
