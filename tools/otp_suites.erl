%% SPDX-License-Identifier: Apache-2.0
%%% For tools/otp-suites.sh: some of OTP's suites call erlang:trace/3 and its
%%% like themselves, be it to test them beside sessions or because nobody has
%%% changed them yet. As a parse transform this module turns such calls into
%%% calls of its own functions, which use a session instead: one with the
%%% undocumented tracer `undefined', that behaves as those functions do.
%%%
%%% As a hook of Common Test it leaves out what could take the VM down.
-module(otp_suites).
-export([parse_transform/2, trace/3, trace_pattern/2, trace_pattern/3,
         trace_info/2]).
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
    case lists:keyfind(module, 3, Forms) of
        {_, _, _, trace_sessions} -> Forms;
        _ -> rewrite(Forms)
    end.

rewrite({call, Anno, {remote, R, {atom, M, erlang}, {atom, _, F} = Name}, Args})
  when F =:= trace; F =:= trace_pattern; F =:= trace_info ->
    {call, Anno, {remote, R, {atom, M, ?MODULE}, Name}, rewrite(Args)};
rewrite(Form) when is_tuple(Form) ->
    list_to_tuple(rewrite(tuple_to_list(Form)));
rewrite([Head | Tail]) ->
    [rewrite(Head) | rewrite(Tail)];
rewrite(Other) ->
    Other.

trace(PidPortSpec, How, Flags) ->
    case common() of
        true -> trace_sessions:erlang_trace(PidPortSpec, How, Flags);
        false -> trace:process(session(), PidPortSpec, How, Flags)
    end.

trace_pattern(MFA, MatchSpec) ->
    trace_pattern(MFA, MatchSpec, []).

trace_pattern(MFA, MatchSpec, Flags) ->
    case common() of
        true -> trace_sessions:erlang_trace_pattern(MFA, MatchSpec, Flags);
        false -> trace:function(session(), MFA, MatchSpec, Flags)
    end.

trace_info(What, Item) ->
    case common() of
        true -> trace_sessions:erlang_trace_info(What, Item);
        false -> trace:info(session(), What, Item)
    end.

%% Most suites are run with OTP's own choice of sessions.
common() ->
    ets:whereis(trace_sessions) =/= undefined.

session() ->
    case persistent_term:get(?MODULE, none) of
        none ->
            Session = trace:session_create(?MODULE, undefined, []),
            persistent_term:put(?MODULE, Session),
            Session;
        Session ->
            Session
    end.
