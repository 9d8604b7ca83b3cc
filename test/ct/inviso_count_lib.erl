%% SPDX-License-Identifier: Apache-2.0
%% @doc What the suites of `inviso count' and `inviso hist' have in common: two nodes,
%% and a command that counts on them until it is interrupted.
-module(inviso_count_lib).

-export([init/2, finish/1, cleaned/1]).
-export([call/4, name/1, one/1, begun/4, ended/1, summary/1, final/1, partly/1,
         footprints/1, left/2, released/1, contains/2]).

-import(inviso_command_lib, [start/3, wait/2, signal/2, until/1, until_tracing/3,
                             json/1]).

-define(NODE, inviso_stock_node).

%% @doc For init_per_suite: starts the nodes, and loads the modules on them.
init(Modules, Config) ->
    case inviso_command_lib:base() of
        {ok, Base} ->
            Cookie = "count",
            {Holder, Nodes} = started(Base, Cookie),
            _ = [{module, M} = call(N, code, load_binary, [M, File, Beam])
                 || M <- Modules,
                    {_, Beam, File} <- [code:get_object_code(M)], N <- Nodes],
            [{holder, Holder}, {base, Base}, {opts, #{base => Base, cookie => Cookie}},
             {nodes, Nodes} | Config];
        {skip, _} = Skip ->
            Skip
    end.

%% Starts the nodes in a process that lives as long as the suite.
started(Base, Cookie) ->
    Self = self(),
    Start = fun(N) -> ?NODE:start(Base, #{name => N, cookie => Cookie,
                                          env => [inviso_test_lib:hurry(5)]})
            end,
    Holder = spawn(fun() ->
                           Self ! {self(), [Start(N) || N <- ["one", "two"]]},
                           receive stop -> ok end
                   end),
    receive {Holder, Nodes} -> {Holder, Nodes} end.

finish(Config) ->
    _ = [?NODE:stop(N) || N <- proplists:get_value(nodes, Config)],
    proplists:get_value(holder, Config) ! stop,
    inviso_command_lib:base_removed(proplists:get_value(base, Config)).

%% @doc Call this in end_per_testcase. Waits until nothing of inviso is left on the nodes, whatever
%% the case did.
cleaned(Config) ->
    released(proplists:get_value(nodes, Config)).

call(Node, M, F, Args) -> ?NODE:call(Node, M, F, Args).

name(#{name := Name}) -> Name.

one(Config) -> hd(proplists:get_value(nodes, Config)).

%% @doc Starts a command. Returns when all nodes count.
begun(Command, Nodes, Args, Config) ->
    Names = lists:append(lists:join(",", [name(N) || N <- Nodes])),
    Opts = proplists:get_value(opts, Config),
    Cmd = start(Opts, Command ++ ["-n", Names, "--for", "200s" | Args], 240000),
    _ = [until_tracing(Opts, name(N), Cmd) || N <- Nodes],
    Cmd.

%% @doc Ends the command with SIGINT, as a user does. Returns the JSON objects that it has printed,
%% and its summary.
ended(Cmd) ->
    ok = signal(Cmd, "INT"),
    #{status := 0, out := Out, err := Err} = wait(Cmd, 120000),
    {json(Out), summary(Err)}.

summary(Err) ->
    [Line] = [L || <<"{", _/binary>> = L <- inviso_command_lib:lines(Err)],
    inviso_trace_json:decode(Line).

%% @doc Returns a map from keys to the objects that are marked as final.
final(Objects) ->
    maps:from_list([{K, O} || #{<<"key">> := K, <<"final">> := true} = O <- Objects]).

%% @doc Returns the objects of all whole lines that the command has printed so far.
partly(Cmd) ->
    Out = inviso_command_lib:out(Cmd),
    case binary:matches(Out, <<"\n">>) of
        [] -> [];
        Ends -> json(binary:part(Out, 0, element(1, lists:last(Ends)) + 1))
    end.

released(Nodes) ->
    _ = [until(fun() ->
                       call(N, erlang, whereis, [inviso_guard]) =:= undefined
               end) || N <- Nodes],
    ok.

%% @doc Waits until the code of earlier commands is unloaded. Then returns the footprints of the
%% nodes.
footprints(Nodes) ->
    _ = [until(fun() ->
                       call(N, erlang, whereis, [inviso_loading]) =:= undefined
                           andalso not call(N, erlang, module_loaded,
                                            [inviso_tracer])
               end) || N <- Nodes],
    [inviso_footprint:of_node(N) || N <- Nodes].

%% @doc Returns the things on the node that were not in its footprint Before. Waits up to a minute
%% until there are none.
left(Before, Node) ->
    inviso_command_lib:until_same(
      fun() ->
              Now = inviso_footprint:of_node(Node),
              [D || {_, _, New} = D <- inviso_footprint:differences(Before, Now),
                    New =/= []]
      end, 60000).

contains(Text, Part) ->
    _ = binary:match(Text, Part) =/= nomatch orelse error({missing, Part, Text}),
    ok.
