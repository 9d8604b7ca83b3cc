%% SPDX-License-Identifier: Apache-2.0
%% @doc Two hosts and a router between them, made of network name spaces of this
%% machine. The connection can be cut.
%%
%% ```
%%   a 10.77.1.2 ---- 10.77.1.1 router 10.77.2.1 ---- 10.77.2.2 b
%% '''
%%
%% When the router forwards nothing, neither host gets an error: packets do not
%% arrive. The name spaces have no names. They exist as long as the processes in
%% them, which end with the caller of {@link start/0}.
-module(inviso_two_hosts).

-export([why_not/0, start/0, stop/1, on/2, address/1, cut/1, restore/1]).

-export_type([hosts/0]).

-type hosts() :: #{a | b | r := inviso_net_space:space()}.

%% @doc If this machine cannot have such hosts, returns the reason. Otherwise returns `none'.
-spec why_not() -> none | string().
why_not() ->
    case inviso_net_space:why_not() of
        none ->
            case os:cmd("unshare -n ip link add v0 type veth peer name v1 "
                        "2>&1") of
                "" -> none;
                Why -> "no pairs of virtual interfaces here: " ++ Why
            end;
        Why ->
            Why
    end.

-spec start() -> hosts().
start() ->
    Hosts = maps:from_list([{H, inviso_net_space:start([])}
                            || H <- [a, b, r]]),
    #{a := A, b := B, r := R} = Hosts,
    link(A, "va", R),
    link(B, "vb", R),
    _ = [begin
             in(H, "ip link set lo up"),
             in(H, "ip addr add 10.77.~b.2/24 dev v0", [N]),
             in(H, "ip link set v0 up"),
             in(H, "ip route add default via 10.77.~b.1", [N]),
             in(R, "ip addr add 10.77.~b.1/24 dev ~s", [N, V]),
             in(R, "ip link set ~s up", [V])
         end || {H, N, V} <- [{A, 1, "va"}, {B, 2, "vb"}]],
    restore(Hosts),
    Hosts.

link(Host, Name, Router) ->
    [Pid, RouterPid] = [inviso_net_space:os_pid(S) || S <- [Host, Router]],
    "" = os:cmd(lists:flatten(
                  io_lib:format("ip link add v0 netns ~b type veth peer "
                                "name ~s netns ~b", [Pid, Name, RouterPid]))),
    ok.

%% @doc Ends all processes on the hosts, including epmd.
-spec stop(hosts()) -> ok.
stop(Hosts) ->
    lists:foreach(fun inviso_net_space:stop/1, maps:values(Hosts)).

%% @doc Returns words to put before a command line, so that it runs on a host.
-spec on(a | b, hosts()) -> [string()].
on(Host, Hosts) ->
    inviso_net_space:on(maps:get(Host, Hosts)).

-spec address(a | b) -> string().
address(a) -> "10.77.1.2";
address(b) -> "10.77.2.2".

%% @doc Interrupts the connection: the router forwards nothing until restore/1 is called.
-spec cut(hosts()) -> ok.
cut(#{r := R}) -> forward(R, 0).

-spec restore(hosts()) -> ok.
restore(#{r := R}) -> forward(R, 1).

forward(R, N) ->
    in(R, "sh -c 'echo ~b >/proc/sys/net/ipv4/ip_forward'", [N]).

in(Space, Text) -> in(Space, Text, []).

in(Space, Text, Args) ->
    inviso_net_space:in(Space, lists:flatten(io_lib:format(Text, Args))).
