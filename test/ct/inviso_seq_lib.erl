%% SPDX-License-Identifier: Apache-2.0
%% @doc Runs functions in processes with tokens, and returns the events that inviso's
%% tracer, as the system tracer, has recorded.
-module(inviso_seq_lib).

-export([token/2, run/3, traced/2, entries/1, causes/1, json/1]).

-define(LIB, inviso_trace_lib).

token(Label, Flags) ->
    _ = seq_trace:set_token([]),
    _ = seq_trace:set_token(label, Label),
    _ = [seq_trace:set_token(F, true) || F <- Flags],
    ok.

%% Runs a function in a new process, and compares the recorded events with the expected ones.
%% Returns the pid of the process.
run(Config, Fun, Expected) ->
    {Pid, Events} = traced(Config, fun() -> _ = Fun(), self() end),
    Want = [{seq_trace, Label, Info} || {Label, Info} <- Expected(Pid)],
    Want = Events,
    Pid.

traced(Config, Fun) ->
    Log = filename:join(?LIB:dir(Config), "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    ok = inviso_seq:start(Tracer),
    {Pid, Ref} = spawn_monitor(fun() -> exit({returned, Fun()}) end),
    Result = receive {'DOWN', Ref, process, Pid, Reason} -> Reason end,
    ok = inviso_seq:stop(Tracer),
    #{dropped := 0} = ?LIB:close(Tracer),
    put(log, Log),
    {returned, Value} = Result,
    {Value, entries(Log)}.

%% Returns the events of a log, in the form in which a tracer process would get them.
entries(Log) ->
    Self = self(),
    Ref = make_ref(),
    Work = fun(_, Entry, _, N) -> Self ! {Ref, Entry}, {ok, N} end,
    {ok, N} = inviso_lfm:merge([{node(), [{trace_log, [Log]}]}], Work, none),
    [receive {Ref, Entry} -> Entry end || _ <- lists:seq(1, N)].

%% Returns the events of the log that this process's last call of traced/2 made, with their causes.
causes(_Config) ->
    json([get(log)]).

json(Logs) ->
    {0, Bin, _} = ?LIB:merge(Logs, "json"),
    [E || L <- binary:split(Bin, <<"\n">>, [global, trim_all]),
          #{<<"tag">> := <<"seq_trace">>} = E <- [inviso_trace_json:decode(L)]].
