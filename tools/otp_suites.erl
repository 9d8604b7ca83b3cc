%% SPDX-License-Identifier: Apache-2.0
%%% Adapts OTP's suites to the sessions of inviso, for tools/otp-suites.sh.
%%%
%%% Some suites call erlang:trace/3 and similar functions. As a parse transform this
%%% module replaces these calls by calls of its own functions, which use a session
%%% with the undocumented tracer `undefined'. Such a session behaves like
%%% erlang:trace/3. In modes that test erlang:trace/3 itself, this module's functions
%%% call erlang:trace/3. On releases without call_memory they then ignore the request to
%%% turn off call_memory, as sessions do.
%%%
%%% The parse transform makes two more changes. It replaces
%%% trace_sessions:group_map/0, in which most groups are commented out. And it
%%% removes call_memory from trace_call_time_SUITE:combo/1 on releases without it.
%%%
%%% In seq_trace_SUITE a process that becomes the system tracer gets its events from a
%%% log: the system tracer is a tracer of inviso, and another process reads its log
%%% again and again, and sends the process the new events. A port becomes the system
%%% tracer itself.
%%%
%%% As a hook of Common Test this module skips cases that could crash the VM.
-module(otp_suites).
-export([parse_transform/2, ungrouped/1, group_map/0, trace/3, trace_pattern/2, trace_pattern/3,
         trace_info/2, vm_trace_pattern/3]).
-export([set_system_tracer/1, get_system_tracer/0]).
-export([init/2, pre_init_per_testcase/4]).

init(_Id, _Opts) ->
    {ok, none}.

%% This case resets the counters of a function while the function runs, which can
%% crash the VM (OTP-19269).
pre_init_per_testcase(trace_call_time_SUITE, reset, Config, State) ->
    case erlang:system_info(otp_release) of
        "2" ++ [N] when N < $7 -> {{fail, may_crash}, State};
        _ -> {Config, State}
    end;
pre_init_per_testcase(_Suite, _Case, Config, State) ->
    {Config, State}.

%% Prints `SUITE CASE' for each case that is in no group.
ungrouped(Dir) ->
    [io:format("~s ~s~n", [Suite, Case])
     || File <- filelib:wildcard(filename:join(Dir, "*_SUITE.beam")),
        Suite <- [list_to_atom(filename:basename(File, ".beam"))],
        Case <- Suite:all(), is_atom(Case)],
    ok.

group_map() ->
    #{legacy => [],
      legacy_pre_session => [pre_session],
      legacy_post_session => [post_session],
      legacy_pre_post => [pre_session, post_session],
      plain => [dynamic_session],
      dynamic_pre_session => [pre_session, dynamic_session],
      dynamic_post_session => [post_session, dynamic_session],
      dynamic_pre_post => [pre_session, post_session, dynamic_session]}.

parse_transform(Forms, _Options) ->
    {_, _, _, Module} = lists:keyfind(module, 3, Forms),
    [rewrite(instead(Module, Form), functions(Module)) || Form <- Forms].

functions(trace_sessions) ->
    #{trace_pattern => vm_trace_pattern};
functions(seq_trace_SUITE) ->
    #{set_system_tracer => set_system_tracer,
      get_system_tracer => get_system_tracer};
functions(_) ->
    #{trace => trace, trace_pattern => trace_pattern, trace_info => trace_info}.

instead(trace_sessions, {function, A, group_map, 0, _}) ->
    Call = {call, A, {remote, A, {atom, A, ?MODULE}, {atom, A, group_map}}, []},
    {function, A, group_map, 0, [{clause, A, [], [], [Call]}]};
instead(trace_call_time_SUITE,
        {function, A, combo, 1, [{clause, B, Head, When, Body}]}) ->
    {function, A, combo, 1,
     [{clause, B, Head, When, [E || E <- Body, has_call_memory()
                                        orelse not names(call_memory, E)]}]};
instead(_, Form) ->
    Form.

names(Atom, {atom, _, Atom}) -> true;
names(Atom, Form) when is_tuple(Form) -> names(Atom, tuple_to_list(Form));
names(Atom, [Head | Tail]) -> names(Atom, Head) orelse names(Atom, Tail);
names(_, _) -> false.

rewrite({call, Anno, {remote, R, {atom, M, Of}, {atom, N, F}}, Args},
        Instead) when is_map_key(F, Instead), Of =:= erlang orelse Of =:= seq_trace ->
    Name = {atom, N, map_get(F, Instead)},
    {call, Anno, {remote, R, {atom, M, ?MODULE}, Name}, rewrite(Args, Instead)};
rewrite(Form, Instead) when is_tuple(Form) ->
    list_to_tuple(rewrite(tuple_to_list(Form), Instead));
rewrite([Head | Tail], Instead) ->
    [rewrite(Head, Instead) | rewrite(Tail, Instead)];
rewrite(Other, _Instead) ->
    Other.

trace(PidPortSpec, How, Flags) ->
    case whose() of
        suite -> trace_sessions:erlang_trace(PidPortSpec, How, Flags);
        nobody -> erlang:trace(PidPortSpec, How, Flags);
        ours -> trace:process(session(), PidPortSpec, How, Flags)
    end.

trace_pattern(MFA, MatchSpec) ->
    trace_pattern(MFA, MatchSpec, []).

trace_pattern(MFA, MatchSpec, Flags) ->
    case whose() of
        suite -> trace_sessions:erlang_trace_pattern(MFA, MatchSpec, Flags);
        nobody -> vm_trace_pattern(MFA, MatchSpec, Flags);
        ours -> trace:function(session(), MFA, MatchSpec, Flags)
    end.

trace_info(What, Item) ->
    case whose() of
        suite -> trace_sessions:erlang_trace_info(What, Item);
        nobody -> erlang:trace_info(What, Item);
        ours -> trace:info(session(), What, Item)
    end.

vm_trace_pattern(MFA, MatchSpec, Flags) ->
    Has = has_call_memory(),
    erlang:trace_pattern(MFA, MatchSpec,
                         case MatchSpec of
                             false when not Has -> Flags -- [call_memory];
                             _ -> Flags
                         end).

has_call_memory() ->
    list_to_integer(erlang:system_info(otp_release)) >= 26.

%% Returns which session is used. In groups of the module trace_sessions this is
%% that module's session (`suite'), or none (`nobody'). Other calls use the session
%% of this module (`ours').
whose() ->
    case ets:whereis(trace_sessions) =/= undefined of
        true -> case ets:member(trace_sessions, dynamic_session) of
                    true -> suite;
                    false -> nobody
                end;
        false -> ours
    end.

session() ->
    case persistent_term:get(?MODULE, none) of
        none ->
            Session = trace:session_create(?MODULE, undefined, []),
            persistent_term:put(?MODULE, Session),
            Session;
        Session ->
            Session
    end.

%%---------------------------------------------------------------------------
%% The system tracer of seq_trace_SUITE

set_system_tracer(New) ->
    Old = get_system_tracer(),
    case persistent_term:get({?MODULE, seq}, none) of
        none -> ok;
        {_, _, Reader} -> end_reader(Reader)
    end,
    _ = case New of
            _ when is_pid(New) -> begin_reader(New);
            _ -> seq_trace:set_system_tracer(New)
        end,
    Old.

get_system_tracer() ->
    case {seq_trace:get_system_tracer(), persistent_term:get({?MODULE, seq}, none)} of
        {Tracer, {Tracer, Pid, _}} -> Pid;
        {Other, _} -> Other
    end.

begin_reader(Pid) ->
    Ref = make_ref(),
    Self = self(),
    Reader = spawn(fun() -> reader(Pid, Self, Ref) end),
    Monitor = monitor(process, Reader),
    receive
        {Ref, ready} -> demonitor(Monitor, [flush]);
        {'DOWN', Monitor, _, _, Reason} -> error({reader, Reason})
    end.

end_reader(Reader) ->
    Monitor = monitor(process, Reader),
    Reader ! stop,
    receive {'DOWN', Monitor, _, _, _} -> ok end.

%% Opens the tracer, and sends its events to Pid. The reader ends, and closes the
%% tracer, when Pid ends.
reader(Pid, Starter, Ref) ->
    [code:add_patha(Ebin) || Ebin <- [os:getenv("OTP_SUITES_EBIN")], Ebin =/= false],
    Log = filename:join(filename:dirname(code:which(?MODULE)),
                        lists:concat(["seq-", os:getpid(), "-",
                                      erlang:unique_integer([positive]), ".log"])),
    monitor(process, Pid),
    {ok, Tracer} = inviso_tracer:open(Log, #{}),
    ok = inviso_seq:start(Tracer),
    persistent_term:put({?MODULE, seq}, {Tracer, Pid, self()}),
    Starter ! {Ref, ready},
    read(Pid, Tracer, Log, 0).

read(Pid, Tracer, Log, Sent) ->
    receive
        _ ->
            ok = inviso_seq:stop(Tracer),
            persistent_term:erase({?MODULE, seq}),
            {ok, #{dropped := 0}} = inviso_tracer:close(Tracer),
            send(Pid, Log, Sent)
    after 20 ->
            ok = inviso_tracer:flush(Tracer),
            read(Pid, Tracer, Log, send(Pid, Log, Sent))
    end.

send(Pid, Log, Sent) ->
    {ok, N} = inviso_lfm:merge([{node(), [{trace_log, [Log]}]}],
                               fun(_, Entry, _, I) ->
                                       _ = I < Sent orelse (Pid ! Entry),
                                       {ok, I + 1}
                               end, 0),
    max(N, Sent).
