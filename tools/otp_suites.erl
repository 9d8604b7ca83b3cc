%% SPDX-License-Identifier: Apache-2.0
%%% For tools/otp-suites.sh: some of OTP's suites call erlang:trace/3 and its
%%% like themselves, be it to test them beside sessions or because nobody has
%%% changed them yet. As a parse transform this module turns such calls into
%%% calls of its own functions, which use a session instead: one with the
%%% undocumented tracer `undefined', that behaves as those functions do. Where
%%% the tests are to use erlang:trace/3 itself, they do; but for call_memory,
%%% which can be turned off as in sessions, be it there or not. And:
%%%
%%% - the groups of trace_sessions, most of which OTP has in a comment, are those
%%%   of group_map/0;
%%% - trace_call_time_SUITE:combo/1 is about many kinds of patterns, among them
%%%   call_memory: without that on releases that have not got it.
%%%
%%% As a hook of Common Test it leaves out what could take the VM down.
-module(otp_suites).
-export([parse_transform/2, ungrouped/1, group_map/0, trace/3, trace_pattern/2, trace_pattern/3,
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

%% Prints `SUITE CASE' of those that are in no group.
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
    Has = has_call_memory(),
    erlang:trace_pattern(MFA, MatchSpec,
                         case MatchSpec of
                             false when not Has -> Flags -- [call_memory];
                             _ -> Flags
                         end).

has_call_memory() ->
    list_to_integer(erlang:system_info(otp_release)) >= 26.

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
