%% SPDX-License-Identifier: Apache-2.0
%%% For tools/otp-suites.sh: some of OTP's suites call erlang:trace/3 and its
%%% like themselves, be it to test them beside sessions or because nobody has
%%% changed them yet. As a parse transform this module turns such calls into
%%% calls of its own functions, which use a session instead: one with the
%%% undocumented tracer `undefined', that behaves as those functions do. Where
%%% the tests are to use erlang:trace/3 itself, they do; but for call_memory,
%%% which can be turned off as in sessions, be it there or not.
%%%
%%% As a hook of Common Test it leaves out what could take the VM down.
-module(otp_suites).
-export([parse_transform/2, trace/3, trace_pattern/2, trace_pattern/3,
         trace_info/2, vm_trace_pattern/3]).
-export([init/2, pre_init_per_testcase/4]).

init(_Id, _Opts) ->
    {ok, none}.

%% OTP-19269: the counters of a function that runs.
pre_init_per_testcase(trace_call_time_SUITE, reset, Config, State) ->
    case erlang:system_info(otp_release) of
        "2" ++ [N] when N < $7 -> {{fail, may_crash}, State};
        _ -> {Config, State}
    end;
pre_init_per_testcase(_Suite, _Case, Config, State) ->
    {Config, State}.

parse_transform(Forms, _Options) ->
    rewrite(Forms, case lists:keyfind(module, 3, Forms) of
                       {_, _, _, trace_sessions} ->
                           #{trace_pattern => vm_trace_pattern};
                       _ ->
                           #{trace => trace, trace_pattern => trace_pattern,
                             trace_info => trace_info}
                   end).

rewrite({call, Anno, {remote, R, {atom, M, erlang}, {atom, N, F}}, Args},
        Instead) when is_map_key(F, Instead) ->
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
    Has = list_to_integer(erlang:system_info(otp_release)) >= 26,
    erlang:trace_pattern(MFA, MatchSpec,
                         case MatchSpec of
                             false when not Has -> Flags -- [call_memory];
                             _ -> Flags
                         end).

%% Whose session is the one to use: most suites are run with OTP's own choice,
%% which may be none.
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
