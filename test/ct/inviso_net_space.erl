%% SPDX-License-Identifier: Apache-2.0
%% @doc Network name spaces of this machine, each with its own loopback
%% interface, addresses and ports. A name space has no name. It exists as long
%% as the processes in it.
-module(inviso_net_space).

-export([why_not/0, start/1, stop/1, on/1, os_pid/1, in/2]).

-export_type([space/0]).

-type space() :: {port(), pos_integer()}.

%% @doc If this machine cannot have name spaces, returns the reason. Otherwise returns `none'.
-spec why_not() -> none | string().
why_not() ->
    Missing = [P || P <- ["ip", "unshare", "nsenter", "setpriv"],
                    not inviso_command_lib:has(P)],
    case {inviso_command_lib:is_root(), Missing} of
        {false, _} -> "only root can make network name spaces";
        {true, [_ | _]} -> "not installed: " ++ lists:join(", ", Missing);
        {true, []} -> none
    end.

%% @doc Makes a name space, and runs commands in it. The commands must print nothing. A program
%% keeps the name space alive. The program reads its standard input, and ends when the caller
%% ends.
-spec start([string()]) -> space().
start(Commands) ->
    Port = open_port({spawn_executable, os:find_executable("unshare")},
                     [{args, ["-n", "sh", "-c", "echo up; exec cat"]},
                      exit_status, binary]),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    receive {Port, {data, <<"up\n">>}} -> ok
    after 60000 -> error(no_name_space)
    end,
    Space = {Port, Pid},
    _ = [in(Space, Command) || Command <- Commands],
    Space.

%% @doc Ends all processes in a name space, also epmd.
-spec stop(space()) -> ok.
stop({Port, Pid}) ->
    Name = name(Pid),
    _ = [os:cmd("kill -9 " ++ P)
         || "/proc/" ++ P <- filelib:wildcard("/proc/[0-9]*"),
            name(list_to_integer(P)) =:= Name],
    _ = (catch port_close(Port)),
    ok.

name(Pid) ->
    case file:read_link_all("/proc/" ++ integer_to_list(Pid) ++ "/ns/net") of
        {ok, Name} -> Name;
        {error, _} -> Pid
    end.

%% @doc Returns words to put before a command line, so that it runs in a name space.
-spec on(space()) -> [string()].
on({_, Pid}) ->
    [os:find_executable("nsenter"), "-t", integer_to_list(Pid), "-n", "--"].

-spec os_pid(space()) -> pos_integer().
os_pid({_, Pid}) -> Pid.

%% @doc Runs a command in a name space. The command must print nothing.
-spec in(space(), string()) -> ok.
in({_, Pid}, Command) ->
    "" = os:cmd("nsenter -t " ++ integer_to_list(Pid) ++ " -n -- " ++ Command),
    ok.
