%% SPDX-License-Identifier: Apache-2.0
%% Nodes that the command cannot find through their name and epmd: without epmd,
%% on IPv6, behind ports that are forwarded, behind a name with many addresses.
-module(inviso_reach_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([port_instead_of_epmd/1, record_without_epmd/1, only_ipv6/1,
         two_forwards/1, no_way_to_the_node/1, release/1, service/1,
         service_without_epmd/1]).

-import(inviso_forward, [free_port/0]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).
-define(SPACE, inviso_net_space).
-define(HOSTS, inviso_two_hosts).
-define(FORWARD, inviso_forward).

all() ->
    [port_instead_of_epmd, record_without_epmd, only_ipv6, two_forwards,
     no_way_to_the_node, release, service, service_without_epmd].

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

colon(Host, Port) ->
    Host ++ ":" ++ integer_to_list(Port).

%% Runs Test in a network name space. If this machine cannot have one, skips the case.
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

%% In the name space no epmd runs, so the user must give the node's port.
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
    %% If a node is on this machine, the user can leave out the host.
    [Short, _] = string:split(Name, "@"),
    ok = traces(Opts, Node, ["-n", colon(Short, 9101)]),
    %% -n names two nodes, each with its port.
    Other = a_node(Config, #{name => "o@127.0.0.1", wrap => ?SPACE:on(Space),
                             cookie => maps:get(cookie, Node),
                             args => without_epmd(9102)}),
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["status", "-n", colon(Name, 9101) ++ "," ++
                            colon(maps:get(name, Other), 9102)]),
    [_, _] = ?LIB:lines(Out).

%% `inviso record' prints the next command for the user. This command must have the port, too.
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
    ok = traces(Opts, Node, ["--dns", "::1"]),
    ok = traces(Opts, Node, ["--dns", Short ++ "@[::1]:" ++ Port]),
    fails(Opts, ["-n", Name, "--at", "127.0.0.1:" ++ Port], ["127.0.0.1"]).

dist_port(Node) ->
    ?NODE:eval(Node, "{ok, L} = erl_epmd:names({0,0,0,0,0,0,0,1}),"
               " {_, P} = hd(L), integer_to_list(P).").

%% --- forwarded ports --------------------------------------------------------

%% The node is behind two forwarded ports, as with `kubectl port-forward' through
%% a tunnel. This machine cannot reach the host in the node's name.
two_forwards(Config) ->
    case ?FORWARD:why_not() of
        none -> forwards(Config);
        Why -> {skip, "NO FORWARDED PORT WAS TRIED: " ++ Why}
    end.

forwards(Config) ->
    [Port, First, Second] = [free_port() || _ <- [1, 2, 3]],
    Node = a_node(Config, #{name => "n@10.99.1.2",
                            args => without_epmd(Port)}),
    #{name := Name} = Node,
    Unknown = a_node(Config, #{name => "u@no-such-host.invalid",
                               cookie => maps:get(cookie, Node),
                               args => without_epmd(Second)}),
    Last = free_port(),
    _ = ?FORWARD:start(First, Port),
    _ = ?FORWARD:start(Last, First),
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

%% --- the environment of a release --------------------------------------------

release(Config) ->
    #{name := Name, cookie := Cookie} = Node = a_node(Config, #{}),
    Env = fun(Set) ->
                  (maps:remove(cookie, opts(Config, Node)))#{env => Set}
          end,
    [Short, _] = string:split(Name, "@"),
    [ok = traces(Env([{"RELEASE_NODE", N}, {"RELEASE_COOKIE", Cookie},
                      {"RELEASE_DISTRIBUTION", "sname"}]), Node, [])
     || N <- [Name, Short]],
    #{status := 4, err := Err} =
        ?LIB:run(Env([{"RELEASE_NODE", Name}, {"RELEASE_COOKIE", "wrong"}]),
                 ["trace", "lists:seq/2"]),
    {match, _} = re:run(Err, "using the node of RELEASE_NODE, " ++ Name),
    {match, _} = re:run(Err, "another cookie"),
    {match, _} = re:run(Err, "cookie of RELEASE_COOKIE was used").

%% --- a name with several addresses -------------------------------------------

%% Returns words to put before a command line, so that it runs with another /etc/hosts.
with_hosts(Config, Lines) ->
    File = filename:join(?config(base, Config),
                         "hosts" ++ integer_to_list(
                                      erlang:unique_integer([positive]))),
    {ok, Host} = inet:gethostname(),
    ok = file:write_file(File, [[L, "\n"] || L <- ["127.0.0.1 " ++ Host | Lines]]),
    [os:find_executable("unshare"), "--mount", "sh", "-c",
     "mount --bind \"$0\" /etc/hosts && exec \"$@\"", File].

%% A DNS name has the addresses of two hosts, on each of which a node runs, as in a headless service
%% of Kubernetes.
service(Config) ->
    case ?HOSTS:why_not() of
        none ->
            Hosts = ?HOSTS:start(),
            try pods(Config, Hosts)
            after ?HOSTS:stop(Hosts)
            end;
        Why ->
            {skip, "NO NAME WITH TWO ADDRESSES WAS TRIED: " ++ Why}
    end.

pods(Config, Hosts) ->
    [A, B] = [?HOSTS:address(H) || H <- [a, b]],
    Shop1 = pod(Config, Hosts, a, "shop@" ++ A),
    Shop2 = pod(Config, Hosts, b, "shop@" ++ B),
    Opts = (opts(Config, Shop1))#{
             wrap => ?HOSTS:on(a, Hosts) ++
                 with_hosts(Config, [A ++ " shop.test", B ++ " shop.test",
                                     A ++ " half.test", "10.77.1.1 half.test"])},
    Names = ["shop@" ++ A, "shop@" ++ B],
    Names = named(Opts, ["--dns", "shop.test"]),
    ok = traces_all(Opts, [Shop1, Shop2], ["--dns", "shop.test"]),
    next_is_the_same(Opts, Names),
    %% The name `half.test' has two addresses. At one of them no epmd runs. The node at the other
    %% address is still found.
    #{status := 3, out := Half, err := Err} =
        ?LIB:run(Opts, ["status", "--dns", "half.test"]),
    {match, _} = re:run(Half, "^shop@" ++ A ++ ": OTP"),
    {match, _} = re:run(Err, "10.77.1.1: no epmd .*--dns half.test:PORT"),
    %% Each host gets a second node. The name of the node on host b has a host name after the @, and
    %% not an address.
    _ = pod(Config, Hosts, a, "tool@" ++ A),
    _ = pod(Config, Hosts, b, "tool@b.shop.test"),
    All = lists:sort(["tool@" ++ A, "tool@b.shop.test" | Names]),
    All = named(Opts, ["--dns", "shop.test"]),
    Names = named(Opts, ["--dns", "shop@shop.test"]),
    %% If several options name the same node, the command uses it only once.
    All = named(Opts, ["-n", "shop@" ++ A, "--dns", "shop.test",
                       "--dns", "tool@shop.test", "--dns", A]),
    %% Several pods have nodes of the same name.
    _ = [pod(Config, Hosts, H, "same@127.0.0.1") || H <- [a, b]],
    #{status := 1, out := Same, err := Twice} =
        ?LIB:run(Opts, ["status", "--dns", "same@shop.test"]),
    [_] = ?LIB:lines(Same),
    {match, _} = re:run(Twice, "same@127.0.0.1: nodes at " ++ A ++ " and " ++
                            B ++ " have this name"),
    fails(Opts, ["--dns", "nosuch@shop.test"],
          [A ++ ": there is no node 'nosuch'", B ++ ": there is no node"]),
    fails(Opts, ["--dns", "nosuch.test"], ["no host 'nosuch.test'"]).

%% Starts a node on a host. The node starts faster because its /etc/hosts has this machine's name.
pod(Config, Hosts, Host, Name) ->
    a_node(Config, #{name => none, cookie => "pods", args => ["-name", Name],
                     wrap => ?HOSTS:on(Host, Hosts) ++
                         with_hosts(Config, [])}).

%% Returns the names of the nodes that these options lead to.
named(Opts, Target) ->
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["status", "--json" | Target]),
    lists:sort([binary_to_list(Name)
                || #{<<"node">> := Name} <- ?LIB:json(Out)]).

traces_all(Opts, Nodes, Target) ->
    Before = [inviso_footprint:of_node(N) || N <- Nodes],
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["trace" | Target] ++
                     ["--events", "40", "--json", "lists:seq/2"]),
    Names = lists:usort([list_to_binary(N) || #{name := N} <- Nodes]),
    Names = lists:usort([N || #{<<"node">> := N} <- ?LIB:json(Out)]),
    _ = [[] = inviso_footprint:left(B, N, 90000)
         || {B, N} <- lists:zip(Before, Nodes)],
    ok.

%% `inviso record' prints the next command for the user. This command must find the same nodes.
next_is_the_same(Opts, Names) ->
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["record", "--dns", "shop@shop.test", "--for", "60s",
                        "--detach", "--name", "far", "lists:seq/2"]),
    {match, [Next]} = re:run(Out, "next: inviso (fetch .*)",
                             [{capture, [1], list}]),
    ["fetch", "--dns", "shop@shop.test", "far"] = string:lexemes(Next, " "),
    #{status := 0, cwd := Dir} = run_in(Opts, string:lexemes(Next, " ") ++
                                            ["--stop", "-o", "o"]),
    Logs = [N ++ "-far.log" || N <- Names],
    {ok, Files} = file:list_dir(filename:join(Dir, "o")),
    Logs = lists:sort(Files).

run_in(Opts, Args) ->
    #{cwd := Dir} = Command = ?LIB:start(Opts, Args, 120000),
    (?LIB:wait(Command, 120000))#{cwd => Dir}.

%% The nodes listen on the same port of different addresses, and there is no epmd.
service_without_epmd(Config) ->
    in_space(["ip link set lo up"], fun(S) -> same_ports(Config, S) end).

same_ports(Config, Space) ->
    Addresses = ["127.0.0.2", "127.0.0.3"],
    Start = fun(Address) ->
                    {ok, Ip} = inet:parse_address(Address),
                    If = lists:flatten(io_lib:format("~w", [Ip])),
                    a_node(Config, #{name => none, cookie => "ports",
                                     wrap => ?SPACE:on(Space),
                                     args => ["-name", "n@" ++ Address,
                                              "-kernel",
                                              "inet_dist_use_interface", If |
                                              without_epmd(9101)]})
            end,
    [First, _] = Nodes = [Start(Address) || Address <- Addresses],
    Opts = (opts(Config, First))#{
             wrap => ?SPACE:on(Space) ++
                 with_hosts(Config, [Address ++ " shop.test"
                                     || Address <- Addresses])},
    ok = traces_all(Opts, Nodes, ["--dns", "shop.test:9101"]),
    ok = traces_all(Opts, Nodes, ["--dns", "n@shop.test:9101"]),
    fails(Opts, ["--dns", "m@shop.test:9101"],
          ["m@127.0.0.2: the node calls itself n@127.0.0.2"]),
    fails(Opts, ["--dns", "shop.test:9102"],
          ["127.0.0.3:9102: nothing listens"]).
