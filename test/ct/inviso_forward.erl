%% SPDX-License-Identifier: Apache-2.0
%% @doc Forwarded ports, as of `ssh -L' and `kubectl port-forward'.
-module(inviso_forward).

-export([why_not/0, start/2, free_port/0]).

%% @doc Returns a reason why this machine cannot forward ports, or `none'.
-spec why_not() -> none | string().
why_not() ->
    case inviso_command_lib:has("socat") of
        true -> none;
        false -> "no socat"
    end.

%% @doc Starts a program that forwards the port From to the port To. The program
%% is killed when the VM of the test ends.
-spec start(inet:port_number(), inet:port_number()) -> port().
start(From, To) ->
    Port = open_port({spawn_executable, os:find_executable("setpriv")},
                     [{args, ["--pdeathsig", "KILL",
                              os:find_executable("socat"), "-d", "-d",
                              "TCP-LISTEN:" ++ integer_to_list(From) ++
                                  ",bind=127.0.0.1,fork,reuseaddr",
                              "TCP:127.0.0.1:" ++ integer_to_list(To)]},
                      stderr_to_stdout, {line, 1000}]),
    listening(Port),
    Port.

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

%% @doc Returns a port at which no process listens.
-spec free_port() -> inet:port_number().
free_port() ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    gen_tcp:close(L),
    Port.
