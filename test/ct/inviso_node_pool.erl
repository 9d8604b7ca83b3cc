%% SPDX-License-Identifier: Apache-2.0
%% @doc Nodes with inviso on their path that several cases of a suite use, one after the other.
%%
%% The start of such a node takes CPU time, and loading inviso's modules takes even more. So
%% inviso_test_lib:stop_node/1 gives the node to this pool, and the next call of
%% inviso_test_lib:shared_node/2 with the same name takes it. A node goes into the pool only if
%% nothing is left of the case: no process, table, trace flag, file or setting that the node did not
%% have when it was started. Otherwise the node is stopped. Inviso's modules and library stay
%% loaded, as on the node of a user who traces again. Connections to other nodes are closed.
-module(inviso_node_pool).

-export([take/1, started/2, give/1]).

%% How long a case's processes may take to end before the node is stopped, in milliseconds.
-define(ENDING_MS, 500).

%% @doc Returns a node from the pool that was started with this name, and links the caller to it; or
%% returns `none'.
-spec take(atom() | string()) -> inviso_test_lib:test_node() | none.
take(Name) ->
    case request({take, Name}) of
        none ->
            none;
        #{peer := Peer, name := NodeName} = Node ->
            case is_process_alive(Peer) of
                true ->
                    link(Peer),
                    Node;
                false ->
                    error({node_died_in_the_pool, NodeName})
            end
    end.

%% @doc Notes what a new node has. The caller must have started the node.
-spec started(atom() | string(), inviso_test_lib:test_node()) -> inviso_test_lib:test_node().
started(Name, Node) ->
    %% This starts a program of OTP, which stays.
    _ = inviso_test_lib:call(Node, inet, gethostbyname, ["localhost"]),
    Node#{pool => Name, at_first => state(Node),
          known => inviso_test_lib:call(Node, erlang, processes, [])}.

%% @doc Puts a node into the pool. Returns false, and does nothing, if the node is not one of the
%% pool, or has something that it did not have at first.
-spec give(inviso_test_lib:test_node()) -> boolean().
give(#{at_first := First, known := Known, peer := Peer} = Node) ->
    clear(Node, Known),
    case is_as(First, Node, erlang:monotonic_time(millisecond) + ?ENDING_MS) of
        true ->
            ok = request({give, Node}),
            unlink(Peer),
            true;
        false ->
            false
    end;
give(_) ->
    false.

%% Removes what the case may have left: components of inviso, and processes and modules of
%% the suites.
clear(Node, Known) ->
    Call = fun(M, F, Args) -> inviso_test_lib:call(Node, M, F, Args) end,
    _ = [catch Call(M, F, [])
         || {Name, M, F} <- [{inviso_tool, inviso_tool, stop}, {inviso_c, inviso, stop_all},
                             {inviso_c, inviso, stop}],
            Call(erlang, whereis, [Name]) =/= undefined],
    New = Call(erlang, processes, []) -- Known,
    Calls = Call(lists, zipwith, [fun erlang:process_info/2, New, [initial_call || _ <- New]]),
    Killed = [{P, MFA} || {P, {_, {M, _, _} = MFA}} <- lists:zip(New, Calls), is_of_a_suite(M)],
    _ = [Call(erlang, exit, [P, kill]) || {P, _} <- Killed],
    ct:log("killed on ~p: ~p", [maps:get(name, Node), Killed]),
    _ = [Call(code, F, [M]) || {M, File} <- Call(code, all_loaded, []),
                               is_list(File), not lists:prefix(code:root_dir(), File),
                               is_of_a_suite(M),
                               F <- [purge, delete, purge]],
    ok.

%% Returns true for a module that is not inviso's. If the initial call of a new process has such a
%% module, the process was usually spawned by a suite. It can also be a connection to another node,
%% or a fun that inviso has spawned; these processes are killed, too.
is_of_a_suite(proc_lib) -> false;
is_of_a_suite(M) -> not filelib:is_file(filename:join(inviso_test_lib:ebin(),
                                                      atom_to_list(M) ++ ".beam")).

is_as(First, Node, Late) ->
    case state(Node) of
        First ->
            true;
        Now ->
            case erlang:monotonic_time(millisecond) < Late of
                true ->
                    timer:sleep(20),
                    is_as(First, Node, Late);
                false ->
                    ct:log("~p is stopped, because it has changed: ~p",
                           [maps:get(name, Node), changes(First, Now)]),
                    false
            end
    end.

changes(First, Now) ->
    [case maps:get(K, First) of
         Was when is_list(Was) -> {K, V -- Was, Was -- V};
         Was -> {K, V, Was}
     end || {K, V} <- maps:to_list(Now), V =/= maps:get(K, First)].

state(Node) ->
    Call = fun(M, F, Args) -> inviso_test_lib:call(Node, M, F, Args) end,
    maps:merge(
      maps:with([registered, new_flags, traced, functions, sessions, os_processes, files, ets],
                inviso_test_lib:footprint(Node)),
      #{processes => length(Call(erlang, processes, [])),
        ports => length(Call(erlang, ports, [])),
        applications => lists:sort([A || {A, _, _} <- Call(application, which_applications, [])]),
        settings => [Call(application, get_all_env, [A]) || A <- [inviso, kernel]],
        environment => lists:sort(Call(os, getenv, [])),
        persistent_terms => lists:sort([K || {K, _} <- Call(persistent_term, get, []),
                                             not is_of_logger(K)]),
        system_tracer => Call(seq_trace, get_system_tracer, []),
        system_monitor => Call(erlang, system_monitor, []),
        logger => Call(logger, get_config, []),
        code_path => Call(code, get_path, [])}).

%% The logger stores the log levels of modules when they first log something.
is_of_logger({logger_config, _}) -> true;
is_of_logger(_) -> false.

%% --- the process that holds the nodes --------------------------------------------

%% The process ends with the test's own node, and with it its nodes.
request(Request) ->
    Pool = case whereis(?MODULE) of
               undefined -> spawned();
               Pid -> Pid
           end,
    Ref = monitor(process, Pool),
    Pool ! {self(), Ref, Request},
    receive
        {Ref, Answer} -> demonitor(Ref, [flush]), Answer;
        {'DOWN', Ref, process, _, Why} -> error({pool, Why})
    end.

spawned() ->
    Pid = spawn(fun() -> loop([]) end),
    true = register(?MODULE, Pid),
    Pid.

loop(Nodes) ->
    receive
        {From, Ref, {give, #{peer := Peer} = Node}} ->
            link(Peer),
            From ! {Ref, ok},
            loop([Node | Nodes]);
        {From, Ref, {take, Name}} ->
            case [N || #{pool := P} = N <- Nodes, P =:= Name] of
                [] ->
                    From ! {Ref, none},
                    loop(Nodes);
                [#{peer := Peer} = Node | _] ->
                    unlink(Peer),
                    From ! {Ref, Node},
                    loop(lists:delete(Node, Nodes))
            end
    end.
