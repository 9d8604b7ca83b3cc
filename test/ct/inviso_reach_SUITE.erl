%% SPDX-License-Identifier: Apache-2.0
%% Nodes that the command cannot find through their name and epmd: without epmd,
%% on IPv6, behind ports that are forwarded.
-module(inviso_reach_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([port_instead_of_epmd/1, record_without_epmd/1, only_ipv6/1,
         two_forwards/1, no_way_to_the_node/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(SPACE, inviso_net_space).

all() ->
    [port_instead_of_epmd, record_without_epmd, only_ipv6, two_forwards,
     no_way_to_the_node].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

%% --- helpers ----------------------------------------------------------------

a_node(Config, Opts) ->
    Node = ?NODE:start(?config(base, Config),
                       maps:merge(#{uid => ?LIB:some_uid()}, Opts)),
    _ = ?NODE:workload(Node, {worker, 20}),
    Node.

without_epmd(Port) ->
    ["-start_epmd", "false", "-erl_epmd_port", integer_to_list(Port)].

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

%% Runs `inviso trace' with the options Target, and checks that nothing of inviso
%% is left on the node.
traces(Opts, Node, Target) ->
    Before = inviso_footprint:of_node(Node),
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["trace" | Target] ++
                     ["--events", "4", "--json", "lists:seq/2"]),
    #{name := Name} = Node,
    Bin = list_to_binary(Name),
    [#{<<"node">> := Bin} | _] = Events = ?LIB:json(Out),
    4 = length(Events),
    [] = inviso_footprint:left(Before, Node, 90000),
    ok.

fails(Opts, Target, Words) ->
    #{status := 3, out := <<>>, err := Err} =
        ?LIB:run(Opts, ["status", "--timeout", "20s" | Target]),
    _ = [{match, _} = re:run(Err, Word) || Word <- Words],
    ok.

free_port() ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    gen_tcp:close(L),
    Port.

colon(Host, Port) ->
    Host ++ ":" ++ integer_to_list(Port).

%% Runs Test in a network name space, or skips it.
in_space(Commands, Test) ->
    case ?SPACE:why_not() of
        none ->
            Space = ?SPACE:start(Commands),
            try Test(Space)
            after ?SPACE:stop(Space)
            end;
        Why ->
            {skip, "NO OTHER NETWORK WAS TRIED: " ++ Why}
    end.

%% --- without epmd -----------------------------------------------------------

%% The name space has no epmd.
port_instead_of_epmd(Config) ->
    in_space(["ip link set lo up"], fun(S) -> no_epmd(Config, S) end).

no_epmd(Config, Space) ->
    Node = a_node(Config, #{name => "n@127.0.0.1", wrap => ?SPACE:on(Space),
                            args => without_epmd(9101)}),
    #{name := Name} = Node,
    Opts = (opts(Config, Node))#{wrap => ?SPACE:on(Space)},
    fails(Opts, ["-n", Name], ["no epmd", "-n " ++ Name ++ ":PORT"]),
    ok = traces(Opts, Node, ["-n", colon(Name, 9101)]),
    ok = traces(Opts, Node, ["-n", Name, "--at", "localhost:9101"]),
    %% A node of this machine needs no host.
    [Short, _] = string:split(Name, "@"),
    ok = traces(Opts, Node, ["-n", colon(Short, 9101)]),
    %% Two nodes, each with a port.
    Other = a_node(Config, #{name => "o@127.0.0.1", wrap => ?SPACE:on(Space),
                             cookie => maps:get(cookie, Node),
                             args => without_epmd(9102)}),
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["status", "-n", colon(Name, 9101) ++ "," ++
                            colon(maps:get(name, Other), 9102)]),
    [_, _] = ?LIB:lines(Out).

%% The command that a recording prints for the next step has the port, too.
record_without_epmd(Config) ->
    Port = free_port(),
    #{name := Name} = Node = a_node(Config, #{name => "n@127.0.0.1",
                                              args => without_epmd(Port)}),
    Opts = opts(Config, Node),
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["record", "-n", colon(Name, Port), "--for", "60s",
                        "--detach", "--name", "far", "lists:seq/2"]),
    {match, [Next]} = re:run(Out, "next: inviso (fetch .*)",
                             [{capture, [1], list}]),
    ["fetch", "-n", Target, "far"] = string:lexemes(Next, " "),
    Target = colon(Name, Port),
    #{status := 0, out := Stopped} =
        ?LIB:run(Opts, ["stop", "-n", Name, "--at", colon("localhost", Port),
                        "far"]),
    {match, _} = re:run(Stopped, "next: inviso fetch -n " ++ Name ++
                            " --at " ++ colon("localhost", Port) ++ " far"),
    #{status := 0} =
        ?LIB:run(Opts, ["fetch", "-n", Target, "far", "-o", "o"]).

%% --- IPv6 -------------------------------------------------------------------

%% The name space has no IPv4 address.
only_ipv6(Config) ->
    in_space(["ip link set lo up", "ip addr del 127.0.0.1/8 dev lo"],
             fun(S) -> six(Config, S) end).

six(Config, Space) ->
    Node = a_node(Config, #{name => "n@::1", wrap => ?SPACE:on(Space),
                            args => ["-proto_dist", "inet6_tcp"]}),
    #{name := Name} = Node,
    Opts = (opts(Config, Node))#{wrap => ?SPACE:on(Space)},
    ok = traces(Opts, Node, ["-n", Name]),
    [Short, Host] = string:split(Name, "@"),
    ok = traces(Opts, Node, ["-n", Short]),
    Port = dist_port(Node),
    ok = traces(Opts, Node, ["-n", Short ++ "@[" ++ Host ++ "]:" ++ Port]),
    ok = traces(Opts, Node, ["-n", Name, "--at", "[::1]:" ++ Port]),
    fails(Opts, ["-n", Name, "--at", "127.0.0.1:" ++ Port], ["127.0.0.1"]).

dist_port(Node) ->
    ?NODE:eval(Node, "{ok, L} = erl_epmd:names({0,0,0,0,0,0,0,1}),"
               " {_, P} = hd(L), integer_to_list(P).").

%% --- forwarded ports --------------------------------------------------------

%% The node is behind two forwarded ports, as with `kubectl port-forward' through
%% a tunnel. This machine cannot reach the host in the node's name.
two_forwards(Config) ->
    case ?LIB:has("socat") of
        false -> {skip, "NO FORWARDED PORT WAS TRIED: no socat"};
        true -> forwards(Config)
    end.

forwards(Config) ->
    [Port, First, Second] = [free_port() || _ <- [1, 2, 3]],
    Node = a_node(Config, #{name => "n@10.99.1.2",
                            args => without_epmd(Port)}),
    #{name := Name} = Node,
    Unknown = a_node(Config, #{name => "u@no-such-host.invalid",
                               cookie => maps:get(cookie, Node),
                               args => without_epmd(Second)}),
    Forwards = [forward(First, Port), forward(free_port(), First)],
    {_, Last} = lists:last(Forwards),
    Opts = opts(Config, Node),
    At = ["--at", colon("localhost", Last)],
    ok = traces(Opts, Node, ["-n", Name | At]),
    fails(Opts, ["-n", "other@10.99.1.2" | At],
          [Name, "--at " ++ colon("localhost", Last)]),
    #{name := UnknownName} = Unknown,
    fails(Opts, ["-n", UnknownName], ["no host", "--at HOST:PORT"]),
    ok = traces(opts(Config, Unknown), Unknown,
                ["-n", UnknownName, "--at", colon("127.0.0.1", Second)]),
    ?NODE:stop(Node),
    fails(Opts, ["-n", Name | At], ["forward does not reach the node"]).

%% Starts a program that forwards a port. The program is killed when the VM of
%% the test ends.
forward(From, To) ->
    Port = open_port({spawn_executable, os:find_executable("setpriv")},
                     [{args, ["--pdeathsig", "KILL",
                              os:find_executable("socat"), "-d", "-d",
                              "TCP-LISTEN:" ++ integer_to_list(From) ++
                                  ",bind=127.0.0.1,fork,reuseaddr",
                              colon("TCP:127.0.0.1", To)]},
                      stderr_to_stdout, {line, 1000}]),
    listening(Port),
    {Port, From}.

listening(Port) ->
    receive
        {Port, {data, {_, Line}}} ->
            case string:find(Line, "listening on") of
                nomatch -> listening(Port);
                _ -> ok
            end
    after 60000 ->
            error(no_forward)
    end.

%% --- errors -----------------------------------------------------------------

no_way_to_the_node(Config) ->
    #{name := Name} = Node = a_node(Config, #{}),
    Opts = opts(Config, Node),
    Free = free_port(),
    fails(Opts, ["-n", colon(Name, Free)],
          ["nothing listens on .* port " ++ integer_to_list(Free)]),
    fails(Opts, ["-n", colon(Name, 4369)], ["port 4369 is epmd's"]),
    fails(Opts, ["-n", Name, "--at", colon("no-such-host.invalid", 1)],
          ["no host 'no-such-host.invalid'"]).
