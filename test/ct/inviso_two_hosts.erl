%% SPDX-License-Identifier: Apache-2.0
%% @doc Two hosts and a router between them, which can be cut: network name
%% spaces of this machine.
%%
%% ```
%%   a 10.77.1.2 ---- 10.77.1.1 router 10.77.2.1 ---- 10.77.2.2 b
%% '''
%%
%% When the router forwards nothing, neither host is told anything: packets
%% just do not arrive. The name spaces have no names, live as long as the
%% processes in them, and end with the caller of {@link start/0}.
-module(inviso_two_hosts).

-export([why_not/0, start/0, stop/1, on/2, address/1, cut/1, mend/1]).

-export_type([hosts/0]).

-type hosts() :: #{a := pos_integer(), b := pos_integer(), r := pos_integer(),
                   ports := [port()]}.

%% @doc A reason why there can be no such hosts here, or `none'.
-spec why_not() -> none | string().
why_not() ->
    Missing = [P || P <- ["ip", "unshare", "nsenter", "setpriv"],
                    not inviso_command_lib:has(P)],
    case {inviso_command_lib:is_root(), Missing} of
        {false, _} -> "only root can make network name spaces";
        {true, [_ | _]} -> "not installed: " ++ lists:join(", ", Missing);
        {true, []} ->
            case os:cmd("unshare -n ip link add v0 type veth peer name v1 "
                        "2>&1") of
                "" -> none;
                Why -> "no pairs of virtual interfaces here: " ++ Why
            end
    end.

-spec start() -> hosts().
start() ->
    Started = [{H, holder()} || H <- [a, b, r]],
    Hosts = maps:from_list([{H, Pid} || {H, {_, Pid}} <- Started]),
    #{a := A, b := B, r := R} = Hosts,
    cmd("ip link add v0 netns ~b type veth peer name va netns ~b", [A, R]),
    cmd("ip link add v0 netns ~b type veth peer name vb netns ~b", [B, R]),
    _ = [begin
             in(H, "ip link set lo up"),
             in(H, "ip addr add 10.77.~b.2/24 dev v0", [N]),
             in(H, "ip link set v0 up"),
             in(H, "ip route add default via 10.77.~b.1", [N]),
             in(R, "ip addr add 10.77.~b.1/24 dev ~s", [N, V]),
             in(R, "ip link set ~s up", [V])
         end || {H, N, V} <- [{A, 1, "va"}, {B, 2, "vb"}]],
    Made = Hosts#{ports => [P || {_, {P, _}} <- Started]},
    mend(Made),
    Made.

%% It ends with the caller, as its standard input does.
holder() ->
    Port = open_port({spawn_executable, os:find_executable("unshare")},
                     [{args, ["-n", "sh", "-c", "echo up; exec cat"]},
                      exit_status, binary]),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    receive {Port, {data, <<"up\n">>}} -> {Port, Pid}
    after 60000 -> error(no_name_space)
    end.

%% @doc Ends all that runs on the hosts, epmd too.
-spec stop(hosts()) -> ok.
stop(#{ports := Ports} = Hosts) ->
    Spaces = [space(maps:get(H, Hosts)) || H <- [a, b, r]],
    _ = [os:cmd("kill -9 " ++ P)
         || "/proc/" ++ P <- filelib:wildcard("/proc/[0-9]*"),
            lists:member(space(list_to_integer(P)), Spaces)],
    _ = [catch port_close(Port) || Port <- Ports],
    ok.

space(Pid) ->
    case file:read_link_all("/proc/" ++ integer_to_list(Pid) ++ "/ns/net") of
        {ok, Name} -> Name;
        {error, _} -> Pid
    end.

%% @doc The words that run a program on a host.
-spec on(a | b, hosts()) -> [string()].
on(Host, Hosts) ->
    [os:find_executable("nsenter"), "-t",
     integer_to_list(maps:get(Host, Hosts)), "-n", "--"].

-spec address(a | b) -> string().
address(a) -> "10.77.1.2";
address(b) -> "10.77.2.2".

%% @doc From now on nothing gets through.
-spec cut(hosts()) -> ok.
cut(#{r := R}) -> forward(R, 0).

-spec mend(hosts()) -> ok.
mend(#{r := R}) -> forward(R, 1).

forward(R, N) ->
    in(R, "sh -c 'echo ~b >/proc/sys/net/ipv4/ip_forward'", [N]).

in(Pid, Text) -> in(Pid, Text, []).

in(Pid, Text, Args) ->
    cmd("nsenter -t ~b -n -- " ++ Text, [Pid | Args]).

cmd(Text, Args) ->
    "" = os:cmd(lists:flatten(io_lib:format(Text, Args))),
    ok.
