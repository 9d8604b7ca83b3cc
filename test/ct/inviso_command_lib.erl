%% SPDX-License-Identifier: Apache-2.0
%% @doc Runs the command as a user does: as an operating system process with an
%% environment and a deadline. Collects its exit status and output.
-module(inviso_command_lib).

-export([base/0, base_removed/1, some_uid/0, is_root/0, has/1]).
-export([run/2, run/3, start/3, wait/2, ended/1, signal/2, out/1, err/1]).
-export([until_tracing/3, json/1, lines/1, until/1, until/2, until_same/2]).

-export_type([cmd/0, result/0]).

-type cmd() :: #{pid := pid(), os_pid := integer(), out := file:filename(),
                 err := file:filename(), args := [string()],
                 began := integer()}.
-type result() :: #{status := integer(), out := binary(), err := binary(),
                    ms := integer()}.

-define(RUN_MS, 120000).

%% @doc Makes a directory that every user of this machine can reach, with a copy
%% of the command. The path is short enough for a unix socket.
-spec base() -> {ok, file:filename()} | {skip, string()}.
base() ->
    Command = filename:join(priv(), "inviso"),
    case filelib:is_regular(Command) of
        true ->
            Base = string:trim(os:cmd("mktemp -d /tmp/ict.XXXXXXXX")),
            true = filelib:is_dir(Base),
            ok = file:change_mode(Base, 8#711),
            {ok, _} = file:copy(Command, filename:join(Base, "inviso")),
            ok = file:change_mode(filename:join(Base, "inviso"), 8#755),
            {ok, Base};
        false ->
            {skip, Command ++ " is not built"}
    end.

-spec base_removed(file:filename()) -> ok.
base_removed("/tmp/ict." ++ _ = Base) ->
    _ = os:cmd("rm -rf " ++ Base),
    ok.

priv() ->
    case os:getenv("INVISO_PRIV") of
        false ->
            Ebin = filename:dirname(filename:absname(code:which(inviso))),
            filename:join(filename:dirname(Ebin), "priv");
        Dir ->
            Dir
    end.

-spec is_root() -> boolean().
is_root() ->
    os:cmd("id -u") =:= "0\n".

%% @doc Returns the id of a user that has no processes, so that everything of
%% this user on the machine belongs to the test. If the test does not run as
%% root, returns the id of the test's own user.
-spec some_uid() -> integer().
some_uid() ->
    case is_root() andalso has("setpriv") of
        true -> 300000 + rand:uniform(100000);
        false -> list_to_integer(string:trim(os:cmd("id -u")))
    end.

-spec has(string()) -> boolean().
has(Program) ->
    os:find_executable(Program) =/= false.

%% @equiv run(Opts, Args, 120000)
-spec run(map(), [string()]) -> result().
run(Opts, Args) ->
    run(Opts, Args, ?RUN_MS).

%% @doc Runs the command, which must end within Ms milliseconds.
-spec run(map(), [string()], non_neg_integer()) -> result().
run(Opts, Args, Ms) ->
    wait(start(Opts, Args, Ms), Ms).

%% @doc Starts the command, and kills it after Ms milliseconds or when the
%% caller ends.
%%
%% Options: `base', `cookie' (in the environment), `uid', `home', `env', `wrap'
%% (a program and its arguments, which start the command), `cd'.
-spec start(map(), [string()], non_neg_integer()) -> cmd().
start(#{base := Base} = Opts, Args, Ms) ->
    Dir = filename:join(Base, "c" ++ integer_to_list(
                                       erlang:unique_integer([positive]))),
    Uid = maps:get(uid, Opts, none),
    ok = filelib:ensure_dir(filename:join([Dir, "cwd", "x"])),
    [Out, Err, Cwd] = [filename:join(Dir, F) || F <- ["out", "err", "cwd"]],
    _ = [ok = file:change_owner(D, Uid) || Uid =/= none, D <- [Dir, Cwd]],
    Words = signals() ++ maps:get(wrap, Opts, []) ++ as_user(Uid) ++
        [filename:join(Base, "inviso") | Args],
    Env = [{"HOME", maps:get(home, Opts, Cwd)}, {"TMPDIR", false},
           {"XDG_CONFIG_HOME", false}, {"INVISO_COOKIE", false}, {"INVISO_NODE", false},
           {"ERL_EPMD_PORT", false}, {"RELEASE_NODE", false},
           {"RELEASE_COOKIE", false}, {"RELEASE_DISTRIBUTION", false},
           {"TERM", "dumb"}] ++
        [{"INVISO_COOKIE", C} || #{cookie := C} <- [Opts]] ++
        maps:get(env, Opts, []),
    Cd = maps:get(cd, Opts, Cwd),
    Caller = self(),
    Pid = spawn(fun() -> keep(Caller, Words, Env, Cd, Out, Err, Ms) end),
    Ref = monitor(process, Pid),
    receive
        {Pid, OsPid} ->
            demonitor(Ref, [flush]),
            #{pid => Pid, os_pid => OsPid, out => Out, err => Err,
              args => Args, began => now_ms(), cwd => Cwd};
        {'DOWN', Ref, process, Pid, Why} ->
            error({no_command, Why})
    end.

%% Returns a command prefix that resets ignored signals to the default action.
%% Under nohup, for instance, the tests ignore SIGHUP.
signals() ->
    ["/usr/bin/env", "--default-signal=HUP,INT,TERM"].

as_user(Uid) ->
    Id = lists:concat([Uid]),
    case os:find_executable("setpriv") of
        false -> [];
        Setpriv ->
            [Setpriv, "--pdeathsig", "KILL"] ++
                case list_to_integer(string:trim(os:cmd("id -u"))) of
                    Own when Own =:= Uid; Uid =:= none -> [];
                    _ -> ["--reuid", Id, "--regid", Id, "--clear-groups"]
                end
    end.

keep(Caller, Words, Env, Cwd, Out, Err, Ms) ->
    Monitor = monitor(process, Caller),
    Port = open_port({spawn_executable, "/bin/sh"},
                     [{args, ["-c", "o=$0; e=$1; shift; "
                              "exec \"$@\" </dev/null >\"$o\" 2>\"$e\"",
                              Out, Err | Words]},
                      {env, Env}, {cd, Cwd}, exit_status]),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    Caller ! {self(), OsPid},
    receive
        {Port, {exit_status, Status}} ->
            kept(Monitor, {Status, now_ms()});
        {'DOWN', Monitor, process, _, _} ->
            kill(OsPid)
    after Ms ->
            kill(OsPid),
            kept(Monitor, {late, now_ms()})
    end.

kept(Monitor, Result) ->
    receive
        {ask, From, Ref} -> From ! {Ref, Result}, kept(Monitor, Result);
        {'DOWN', Monitor, process, _, _} -> ok
    end.

kill(OsPid) ->
    _ = os:cmd("kill -9 " ++ integer_to_list(OsPid)),
    ok.

%% @doc Waits for the end of the command. Returns its result. The test fails if
%% the command was killed because it took too long.
-spec wait(cmd(), non_neg_integer()) -> result().
wait(#{pid := Pid, began := Began} = Cmd, Ms) ->
    Ref = monitor(process, Pid),
    Pid ! {ask, self(), Ref},
    Result = receive
                 {Ref, R} -> demonitor(Ref, [flush]), R;
                 {'DOWN', Ref, process, Pid, Why} -> error(Why)
             after Ms + 5000 ->
                     {late, now_ms()}
             end,
    case Result of
        {late, _} ->
            error({command_hangs, maps:get(args, Cmd), Ms,
                   iolist_to_binary(cut(out(Cmd))),
                   iolist_to_binary(cut(err(Cmd)))});
        {Status, Ended} ->
            Said = #{status => Status, out => out(Cmd), err => err(Cmd),
                     ms => Ended - Began},
            ct:log("~p: exit status ~p after ~p ms~n~ts~n-- err~n~ts",
                   [maps:get(args, Cmd), Status, Ended - Began,
                    cut(maps:get(out, Said)), cut(maps:get(err, Said))]),
            Said
    end.

cut(<<Head:4000/binary, _/binary>> = Text) ->
    [Head, io_lib:format("...(~b in all)", [byte_size(Text)])];
cut(Text) ->
    Text.

-spec ended(cmd()) -> boolean().
ended(#{os_pid := OsPid}) ->
    not inviso_trace_lib:os_alive(OsPid).

%% @doc Sends a signal ("INT", "KILL", …) to the command, or to the operating
%% system process with this number.
-spec signal(cmd() | integer(), string()) -> ok.
signal(#{os_pid := OsPid}, Signal) ->
    signal(OsPid, Signal);
signal(OsPid, Signal) when OsPid > 1 ->
    "" = os:cmd("kill -" ++ Signal ++ " " ++ integer_to_list(OsPid)),
    ok.

-spec out(cmd()) -> binary().
out(#{out := Out}) -> content(Out).

-spec err(cmd()) -> binary().
err(#{err := Err}) -> content(Err).

content(File) ->
    case file:read_file(File) of
        {ok, Bin} -> Bin;
        {error, enoent} -> <<>>
    end.

%% @doc Runs `inviso status' with the options Opts until it shows that the session of
%% Cmd traces on the node Name. Fails if Cmd ends before. Then runs `inviso status'
%% once more, so that Cmd has time to receive the node's answer that tracing has begun.
%% Without this answer, Cmd would end without a result when it is interrupted.
-spec until_tracing(map(), string(), cmd()) -> ok.
until_tracing(Opts, Name, Cmd) ->
    until(fun() -> traces(Opts, Name, Cmd) end, 120000),
    _ = run(Opts, ["status", "-n", Name, "--json"]),
    ok.

traces(Opts, Name, #{os_pid := OsPid} = Cmd) ->
    Owner = list_to_binary("(os pid " ++ integer_to_list(OsPid) ++ ")"),
    ended(Cmd) andalso error({ended, wait(Cmd, 1000)}),
    #{status := 0, out := Out} = run(Opts, ["status", "-n", Name, "--json"]),
    [#{<<"sessions">> := Sessions}] = json(Out),
    [x || #{<<"state">> := <<"tracing">>, <<"owner">> := Text} <- Sessions,
          binary:match(Text, Owner) =/= nomatch] =/= [].

%% @doc Decodes an output with one JSON object in each line.
-spec json(binary()) -> [map()].
json(Bin) ->
    inviso_trace_json:lines(Bin).

-spec lines(binary()) -> [binary()].
lines(Bin) ->
    binary:split(Bin, <<"\n">>, [global, trim_all]).

%% @equiv until(Fun, 120000)
-spec until(fun(() -> false | T)) -> T.
until(Fun) ->
    until(Fun, 120000).

%% @doc Waits until a function returns something other than `false'.
-spec until(fun(() -> false | T), non_neg_integer()) -> T.
until(Fun, Ms) ->
    until_late(Fun, now_ms() + Ms).

until_late(Fun, Late) ->
    case Fun() of
        false ->
            now_ms() < Late orelse error({not_in_time, Fun}),
            timer:sleep(20),
            until_late(Fun, Late);
        Value ->
            Value
    end.

%% @doc Waits up to Ms milliseconds until the function returns the empty list.
%% Returns the function's last value.
-spec until_same(fun(() -> [T]), non_neg_integer()) -> [T].
until_same(Fun, Ms) ->
    same_late(Fun, now_ms() + Ms).

same_late(Fun, Late) ->
    case Fun() of
        [] -> [];
        Some ->
            case now_ms() < Late of
                true -> timer:sleep(100), same_late(Fun, Late);
                false -> Some
            end
    end.

now_ms() -> erlang:monotonic_time(millisecond).
