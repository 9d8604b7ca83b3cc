%% SPDX-License-Identifier: Apache-2.0
%% Scripts of trace sessions with the outcomes of OTP 27 (inviso_sessions_lib):
%% calls of functions, and the effects of match specs.
-module(inviso_trace_functions_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, groups/0,
         init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([meta/1,
         meta_of_two_sessions/1,
         meta_beside_calls/1,
         meta_and_calls_of_one_session/1,
         meta_of_the_vms_functions/1,
         call_count/1,
         call_count_of_many/1,
         call_time/1,
         call_time_of_those_that_are_traced/1,
         call_time_while_the_session_traces/1,
         call_time_of_two_sessions/1,
         call_time_of_processes_of_another_session/1,
         call_time_beside_a_global_pattern/1,
         call_time_of_children/1,
         call_time_after_a_match_spec/1,
         counters_beside_patterns/1,
         patterns_of_code_that_comes/1,
         code_that_comes_is_traced_globally/1,
         counters_of_code_that_comes/1,
         code_that_is_loaded_again/1,
         returning_to/1,
         two_sessions_returning_to/1,
         one_of_two_sessions_returning_to/1,
         returning_to_where_a_spec_matched/1,
         returning_to_from_the_vms_functions/1,
         returning_to_with_and_without_calls/1,
         returning_to_from_unreported_calls/1,
         a_meta_spec_that_silences/1,
         a_spec_that_silences/1,
         a_spec_that_silences_a_child/1,
         a_spec_that_traces/1,
         a_spec_that_traces_another/1,
         a_spec_that_turns_flags_on_and_off/1,
         two_specs_that_turn_flags_on/1,
         a_spec_that_sets_a_token/1,
         a_spec_that_displays/1,
         a_control_word/1,
         specs_of_a_message_may_act/1,
         global_beside_local/1,
         global_beside_counters/1,
         everything_of_a_session_without_tracees/1,
         wildcards/1]).

-define(WORK, inviso_sessions_work).
-define(LATE, inviso_sessions_late).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [{group, otp27}].

groups() ->
    [{otp27, otp27()}].

otp27() ->
    [meta,
     meta_of_two_sessions,
     meta_beside_calls,
     meta_and_calls_of_one_session,
     meta_of_the_vms_functions,
     call_count,
     call_count_of_many,
     call_time,
     call_time_of_those_that_are_traced,
     call_time_while_the_session_traces,
     call_time_of_two_sessions,
     call_time_of_processes_of_another_session,
     call_time_beside_a_global_pattern,
     call_time_of_children,
     call_time_after_a_match_spec,
     counters_beside_patterns,
     patterns_of_code_that_comes,
     code_that_comes_is_traced_globally,
     counters_of_code_that_comes,
     code_that_is_loaded_again,
     returning_to,
     two_sessions_returning_to,
     one_of_two_sessions_returning_to,
     returning_to_where_a_spec_matched,
     returning_to_from_the_vms_functions,
     returning_to_with_and_without_calls,
     returning_to_from_unreported_calls,
     a_meta_spec_that_silences,
     a_spec_that_silences,
     a_spec_that_silences_a_child,
     a_spec_that_traces,
     a_spec_that_traces_another,
     a_spec_that_turns_flags_on_and_off,
     two_specs_that_turn_flags_on,
     a_spec_that_sets_a_token,
     a_spec_that_displays,
     a_control_word,
     specs_of_a_message_may_act,
     global_beside_local,
     global_beside_counters,
     everything_of_a_session_without_tracees,
     wildcards].

init_per_suite(Config) ->
    inviso_sessions_lib:start(Config).

end_per_suite(Config) ->
    inviso_sessions_lib:stop(Config).

init_per_testcase(_Case, Config) ->
    Config.

end_per_testcase(_Case, Config) ->
    inviso_sessions_lib:nothing_left(Config).

same(Case, Config) ->
    inviso_sessions_lib:same(?MODULE, Case, Config).

meta(script) ->
    [{open, a},
     {a, function, [{?WORK, f, 1}, true, [meta]]},
     {a, function, [{?WORK, g, 2}, [{['$1', '_'], [], [{message, '$1'},
                                                       {return_trace}]}],
                    [meta]]},
     {run, [{call, f, [1]}, {call, g, [1, 2]}, {call, h, [3]}, spawn]},
     {a, info, [{?WORK, f, 1}, meta]},
     {a, info, [{?WORK, f, 1}, meta_match_spec]},
     {a, info, [{?WORK, f, 1}, traced]},
     {a, info, [{?WORK, g, 2}, meta_match_spec]},
     {a, info, [{?WORK, g, 2}, all]},
     {info, {?WORK, f, 1}},
     {a, function, [{?WORK, f, 1}, false, [meta]]},
     {run, [{call, f, [2]}, {call, g, [3, 4]}]},
     {a, info, [{?WORK, f, 1}, meta]},
     {a, function, [{?WORK, '_', '_'}, false, [meta]]},
     {run, [{call, g, [5, 6]}]},
     {info, {?WORK, g, 2}}];
meta(Config) ->
    same(?FUNCTION_NAME, Config).

meta_of_two_sessions(script) ->
    [{open, a}, {open, b},
     {a, function, [{?WORK, fact, 1},
                    [{['$1'], [{'>', '$1', 1}], [{return_trace}]}], [meta]]},
     {b, function, [{?WORK, fact, 1},
                    [{['$1'], [{'<', '$1', 3}], [{message, '$1'},
                                                 {exception_trace}]}],
                    [meta]]},
     {run, [{call, fact, [4]}, {call, fact, [x]}]},
     {a, info, [{?WORK, fact, 1}, meta_match_spec]},
     {b, info, [{?WORK, fact, 1}, meta_match_spec]},
     {destroy, a},
     {run, [{call, fact, [2]}]},
     {info, {?WORK, fact, 1}}];
meta_of_two_sessions(Config) ->
    same(?FUNCTION_NAME, Config).

meta_beside_calls(script) ->
    [{open, a}, {open, b}, {open, c},
     {b, process, [tracee, true, [call]]},
     {c, process, [tracee, true, [call, arity]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{return_trace}]}], [meta]]},
     {b, function, [{?WORK, f, 1}, [{['$1'], [], [{message, '$1'},
                                                  {return_trace}]}],
                    [local]]},
     {c, function, [{?WORK, f, 1}, [{[7], [], [{return_trace}]}], [local]]},
     {run, [{call, f, [1]}, {call, f, [7]}, {call, twice, [7]}]},
     {b, info, [{?WORK, f, 1}, all]},
     {b, process, [tracee, false, [call]]},
     {run, [{call, f, [7]}]},
     {c, function, [{?WORK, f, 1}, false, [local]]},
     {run, [{call, f, [7]}]}];
meta_beside_calls(Config) ->
    same(?FUNCTION_NAME, Config).

meta_and_calls_of_one_session(script) ->
    [{open, a},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{message, m},
                                               {return_trace}]}], [meta]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{return_trace}]}], [local]]},
     {run, [{call, f, [1]}, {spawn, f, [2]}]},
     {a, info, [{?WORK, f, 1}, all]},
     {a, function, [{?WORK, f, 1}, false, [local]]},
     {run, [{call, f, [3]}]},
     {a, info, [{?WORK, f, 1}, all]}];
meta_and_calls_of_one_session(Config) ->
    same(?FUNCTION_NAME, Config).

meta_of_the_vms_functions(script) ->
    [{open, a}, {open, b},
     {b, process, [tracee, true, [call]]},
     {a, function, [{erlang, unlink, 1}, [{'_', [], [{return_trace}]}],
                    [meta]]},
     {b, function, [{erlang, unlink, 1}, true, [local]]},
     {run, [link]}];
meta_of_the_vms_functions(Config) ->
    same(?FUNCTION_NAME, Config).

call_count(script) ->
    [{open, a}, {open, b},
     {a, function, [{?WORK, f, 1}, true, [call_count]]},
     {run, [{call, f, [1]}, {call, twice, [1]}]},
     {b, function, [{?WORK, f, 1}, true, [call_count]]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {run, [{call, f, [1]}, spawn]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {a, function, [{?WORK, f, 1}, pause, [call_count]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {b, function, [{?WORK, f, 1}, restart, [call_count]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {b, function, [{?WORK, f, 1}, pause, [call_count]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, all]},
     {b, info, [{?WORK, f, 1}, all]},
     {a, function, [{?WORK, f, 1}, restart, [call_count]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {info, {?WORK, f, 1}},
     {a, function, [{?WORK, f, 1}, false, [call_count]]},
     {a, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {info, {?WORK, f, 1}}];
call_count(Config) ->
    same(?FUNCTION_NAME, Config).

call_count_of_many(script) ->
    [{open, a}, {open, b},
     {a, function, [{?WORK, '_', '_'}, true, [call_count]]},
     {b, process, [tracee, true, [call]]},
     {b, function, [{?WORK, fact, 1}, [{[0], [], [{return_trace}]}],
                    [local]]},
     {run, [{call, fact, [9]}, {call, h, [1]}, {call, tail, [99]}]},
     [{a, info, [{?WORK, F, A}, call_count]}
      || {F, A} <- [{fact, 1}, {h, 1}, {local, 1}, {tail, 1}, {g, 2}]],
     {a, function, [{?WORK, '_', '_'}, restart, [call_count]]},
     {run, [{call, fact, [3]}]},
     {a, info, [{?WORK, fact, 1}, call_count]},
     {a, info, [{?WORK, tail, 1}, call_count]},
     {a, function, [{?WORK, fact, '_'}, false, [call_count]]},
     {a, info, [{?WORK, fact, 1}, call_count]},
     {a, info, [{?WORK, tail, 1}, call_count]},
     {b, info, [{?WORK, fact, 1}, traced]}];
call_count_of_many(Config) ->
    same(?FUNCTION_NAME, Config).

call_time(script) ->
    [{open, a}, {open, b}, {process, other},
     {a, function, [{?WORK, f, 1}, true, [call_time]]},
     {a, process, [tracee, true, [call]]},
     {run, [{call, f, [1]}, {call, f, [2]}]},
     {run, other, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_time]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     {b, process, [other, true, [call]]},
     {run, [{call, f, [1]}]},
     {run, other, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_time]},
     {b, info, [{?WORK, f, 1}, call_time]},
     {a, function, [{?WORK, f, 1}, pause, [call_time]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, call_time]},
     {a, function, [{?WORK, f, 1}, restart, [call_time]]},
     {a, info, [{?WORK, f, 1}, call_time]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, all]},
     {b, info, [{?WORK, f, 1}, all]},
     {a, function, [{?WORK, f, 1}, false, [call_time]]},
     {a, info, [{?WORK, f, 1}, call_time]},
     {b, info, [{?WORK, f, 1}, call_time]}];
call_time(Config) ->
    same(?FUNCTION_NAME, Config).

%% The call times of a session are those of processes that it traces or has traced. Two kinds of
%% processes are left out: those that only another session traces, and those that would get the
%% session's flags only by a link.
call_time_of_those_that_are_traced(script) ->
    Times = {b, info, [{?WORK, f, 1}, call_time]},
    [{open, a}, {open, b}, {process, other}, {process, another},
     {b, function, [{?WORK, '_', '_'}, true, [call_time]]},
     {a, process, [other, true, [call]]},
     {a, process, [another, true, [call]]},
     {b, process, [another, true, [call]]},
     {b, process, [tracee, true, [call, set_on_link]]},
     {run, other, [{call, f, [1]}]},
     {run, another, [{call, f, [1]}]},
     {run, [{call, f, [1]}]},
     Times,
     {b, process, [another, false, [call]]},
     {b, process, [tracee, false, [call]]},
     Times,
     {kill, other},
     {kill, another},
     Times,
     {b, process, [tracee, true, [call]]},
     {b, function, [{?WORK, f, 1}, restart, [call_time]]},
     {run, [{spawn_worker, [{call, f, [1]}]}]},
     Times];
call_time_of_those_that_are_traced(Config) ->
    same(?FUNCTION_NAME, Config).

%% Another session traces the calls of the same process all the time. A session's call time includes
%% only the calls that the process makes while the process has the session's flag `call'.
call_time_while_the_session_traces(script) ->
    Times = {b, info, [{?WORK, f, 1}, call_time]},
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     {run, fs(1)},
     {b, process, [tracee, true, [call]]},
     Times,
     {run, fs(2)},
     {b, process, [tracee, false, [all]]},
     {run, fs(4)},
     Times,
     {b, process, [existing, true, [call]]},
     {run, fs(8)},
     {b, function, [{?WORK, f, 1}, pause, [call_time]]},
     {run, fs(16)},
     Times,
     {b, function, [{?WORK, f, 1}, restart, [call_time]]},
     {run, fs(1)},
     {b, process, [all, false, [call]]},
     {run, fs(2)},
     {b, process, [tracee, true, [call]]},
     {run, fs(4)},
     {b, process, [tracee, false, [call]]},
     {run, fs(8)},
     {kill, tracee},
     Times];
call_time_while_the_session_traces(Config) ->
    same(?FUNCTION_NAME, Config).

%% Two sessions have set call_time on a function. At some times one of them traces the calls of a
%% process, and at other times both do.
call_time_of_two_sessions(script) ->
    On = fun(S) -> {S, process, [tracee, true, [call]]} end,
    Off = fun(S) -> {S, process, [tracee, false, [call]]} end,
    Times = [{S, info, [{?WORK, f, 1}, call_time]} || S <- [a, b]],
    [{open, a}, {open, b},
     {a, function, [{?WORK, '_', '_'}, true, [call_time]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     [On(a), {run, fs(1)}, On(b), {run, fs(2)}, Off(a), {run, fs(4)}, Times],
     [Off(b), {run, fs(8)}, On(a), {run, fs(16)}, Off(a), On(b), {run, fs(1)},
      Times],
     [{destroy, a}, {open, a}, Off(b), On(a), {run, fs(2)}, Off(a), Times]];
call_time_of_two_sessions(Config) ->
    same(?FUNCTION_NAME, Config).

%% Session b has set call_time on a function, but traces the calls of no process. Session a traces
%% the calls of three processes. Then session a ends.
call_time_of_processes_of_another_session(script) ->
    Times = {b, info, [{?WORK, f, 1}, call_time]},
    [{open, a}, {open, b}, {process, other}, {process, another},
     {a, process, [tracee, true, [call]]},
     {a, process, [other, true, [call]]},
     {a, process, [another, true, [call]]},
     {b, process, [tracee, true, [send]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     [{run, W, fs(1)} || W <- [tracee, other, another]],
     Times,
     {kill, another},
     {destroy, a},
     Times,
     {b, process, [other, true, [call]]},
     {run, other, fs(2)},
     Times];
call_time_of_processes_of_another_session(Config) ->
    same(?FUNCTION_NAME, Config).

%% On OTP 25 and 26 the VM removes a counter from a function that is traced globally.
call_time_beside_a_global_pattern(script) ->
    Times = {b, info, [{?WORK, f, 1}, call_time]},
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     {run, fs(1)},
     {b, process, [tracee, false, [call]]},
     {run, fs(2)},
     {a, function, [{?WORK, f, 1}, true, [global]]},
     Times,
     {a, function, [{?WORK, f, 1}, false, [global]]},
     {run, fs(4)},
     {b, process, [tracee, true, [call]]},
     {run, fs(8)},
     Times];
call_time_beside_a_global_pattern(Config) ->
    same(?FUNCTION_NAME, Config).

%% Children of a process that two sessions trace get flags of both sessions, by the spawn or by the
%% link.
call_time_of_children(script) ->
    [[{open, S} || S <- [a, b]],
     {a, process, [tracee, true, [call, set_on_spawn]]},
     {b, process, [tracee, true, [call, set_on_spawn]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     {run, [{spawn_worker, fs(1)}]},
     {b, process, [tracee, false, [set_on_spawn]]},
     {b, process, [tracee, true, [set_on_link]]},
     {run, [{spawn_worker, fs(2)}, {spawn_link, fs(4)}]},
     {b, info, [{?WORK, f, 1}, call_time]}];
call_time_of_children(Config) ->
    same(?FUNCTION_NAME, Config).

%% Match specs set and clear the flag `call' of a process that another session traces. On OTP 25 and
%% 26 the request of info/3 ensures that the engine's server has handled the cleared flag.
call_time_after_a_match_spec(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [send]]},
     {b, function, [{?WORK, f, 1}, true, [call_time]]},
     {b, function, [{?WORK, g, 2}, [{[x, '_'], [], [{enable_trace, call}]},
                                    {[y, '_'], [], [{disable_trace, call}]}],
                    [meta]]},
     {run, [{call, g, [x, 1]} | fs(1)]},
     {run, [{call, g, [y, 1]}]},
     {b, info, [tracee, flags]},
     {run, fs(2)},
     {b, info, [{?WORK, f, 1}, call_time]}];
call_time_after_a_match_spec(Config) ->
    same(?FUNCTION_NAME, Config).

fs(N) -> lists:duplicate(N, {call, f, [1]}).

counters_beside_patterns(script) ->
    [{open, a},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, true, [local]]},
     {a, function, [{?WORK, f, 1}, true, [call_count]]},
     {a, function, [{?WORK, f, 1}, true, [call_time]]},
     {a, function, [{?WORK, f, 1}, true, [meta]]},
     {run, [{call, f, [1]}]},
     {a, info, [{?WORK, f, 1}, all]},
     {a, function, [{?WORK, f, 1}, false, [local]]},
     {a, info, [{?WORK, f, 1}, all]},
     {a, function, [{?WORK, g, 2}, true, [local, meta, call_count]]},
     {a, info, [{?WORK, g, 2}, all]},
     {a, function, [{?WORK, g, 2}, true, [global]]},
     {a, info, [{?WORK, g, 2}, all]},
     {a, function, [{?WORK, g, 2}, true, [call_count]]},
     {a, info, [{?WORK, g, 2}, all]}];
counters_beside_patterns(Config) ->
    same(?FUNCTION_NAME, Config).

patterns_of_code_that_comes(script) ->
    [{open, a}, {open, b},
     {load, ?LATE},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, info, [on_load, all]},
     {a, function, [on_load, true, [local]]},
     {a, info, [on_load, all]},
     {b, info, [on_load, all]},
     {info, on_load},
     {run, [{late, f, [1]}]},
     {load, ?LATE},
     {run, [{late, f, [2]}]},
     {b, function, [on_load, [{['$1'], [], [{message, '$1'}]}], [local]]},
     {info, on_load},
     {b, info, [on_load, match_spec]},
     {load, ?LATE},
     {run, [{late, g, [3]}]},
     {a, info, [{?LATE, f, 1}, all]},
     {b, info, [{?LATE, local, 1}, match_spec]},
     {a, function, [on_load, false, [local]]},
     {a, info, [on_load, all]},
     {load, ?LATE},
     {run, [{late, f, [4]}]},
     {a, info, [{?LATE, f, 1}, traced]},
     {destroy, b},
     {load, ?LATE},
     {run, [{late, f, [5]}]}];
patterns_of_code_that_comes(Config) ->
    same(?FUNCTION_NAME, Config).

code_that_comes_is_traced_globally(script) ->
    [{open, a},
     {load, ?LATE},
     {a, process, [tracee, true, [call]]},
     {a, function, [on_load, true, []]},
     {a, info, [on_load, traced]},
     {load, ?LATE},
     {run, [{late, g, [1]}]},
     {a, info, [{?LATE, f, 1}, traced]},
     {a, info, [{?LATE, local, 1}, traced]},
     {a, function, [on_load, false, []]},
     {a, function, [on_load, true, [call_count]]},
     {a, info, [on_load, all]},
     {load, ?LATE},
     {run, [{late, g, [1]}]},
     {a, info, [{?LATE, local, 1}, call_count]},
     {a, function, [on_load, false, [call_count]]},
     {a, function, [on_load, true, [meta]]},
     {a, info, [on_load, all]},
     {load, ?LATE},
     {run, [{late, g, [1]}]},
     {a, info, [{?LATE, local, 1}, meta]},
     {a, info, [{?LATE, local, 1}, traced]},
     {a, function, [on_load, false, [meta]]}];
code_that_comes_is_traced_globally(Config) ->
    same(?FUNCTION_NAME, Config).

%% The functions of a module get counters when the module is loaded. They also get counters by later
%% requests. Each counter counts until it is cleared.
counters_of_code_that_comes(script) ->
    [{open, a},
     {load, ?LATE},
     {a, function, [on_load, true, [call_count]]},
     {load, ?LATE},
     {a, function, [{?LATE, '_', '_'}, true, [call_count, call_time]]},
     {a, function, [{?LATE, g, 1}, true, [call_time]]},
     {a, info, [{?LATE, f, 1}, call_count]},
     {a, info, [{?LATE, g, 1}, call_time]},
     {a, function, [{?LATE, g, 1}, false, [call_count]]},
     {a, info, [{?LATE, g, 1}, call_count]},
     {load, ?LATE},
     {a, info, [{?LATE, g, 1}, call_time]},
     {a, info, [{?LATE, g, 1}, call_count]},
     {a, function, [{?LATE, '_', '_'}, true, [call_count, call_time]]},
     {destroy, a}];
counters_of_code_that_comes(Config) ->
    same(?FUNCTION_NAME, Config).

code_that_is_loaded_again(script) ->
    [{open, a}, {open, b},
     {load, ?LATE},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?LATE, '_', '_'}, true, [local]]},
     {b, function, [{?LATE, f, 1}, true, [call_count]]},
     {b, function, [{?LATE, local, 1}, true, [meta]]},
     {run, [{late, g, [1]}]},
     {load, ?LATE},
     {run, [{late, g, [2]}]},
     {a, info, [{?LATE, f, 1}, all]},
     {b, info, [{?LATE, f, 1}, all]},
     {b, info, [{?LATE, local, 1}, all]},
     {a, function, [{?LATE, g, 1}, true, [global]]},
     {load, ?LATE},
     {run, [{late, g, [3]}]},
     {a, info, [{?LATE, g, 1}, traced]},
     {info, {?LATE, g, 1}},
     {b, function, [{?LATE, g, 1}, true, [local]]},
     {run, [{late, g, [4]}]}];
code_that_is_loaded_again(Config) ->
    same(?FUNCTION_NAME, Config).

%% Returns the ways in which the last function of a chain of calls can end. The last function may
%% fail only if its caller catches the exception. Otherwise the exception would pass through a
%% function that is not traced, and then the VM of OTP 25 reports no `return_to'.
ends(caught) -> [return, fail];
ends(_) -> [return].

returning_to(script) ->
    [{open, a},
     {a, process, [tracee, true, [call, return_to, arity]]},
     {a, function, [{?WORK, inner, 1}, true, [local]]},
     {a, function, [{?WORK, leaf, 1}, true, [local]]},
     [{run, [{call, outer, [[How, Then, End]]}]}
      || How <- [body, tail, caught, external],
         Then <- [body, tail, caught, external],
         End <- ends(How)],
     {a, info, [tracee, flags]},
     {a, process, [tracee, false, [return_to]]},
     {run, [{call, outer, [[body, body, return]]}]}];
returning_to(Config) ->
    same(?FUNCTION_NAME, Config).

two_sessions_returning_to(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, return_to, arity]]},
     {b, process, [tracee, true, [call, return_to, arity]]},
     {a, function, [{?WORK, inner, 1}, true, [local]]},
     {b, function, [{?WORK, leaf, 1}, true, [local]]},
     [{run, [{call, outer, [[How, Then, End]]}]}
      || How <- [body, tail, caught, external],
         Then <- [body, tail, caught, external],
         End <- ends(How)]];
two_sessions_returning_to(Config) ->
    same(?FUNCTION_NAME, Config).

one_of_two_sessions_returning_to(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, return_to, arity]]},
     {b, process, [tracee, true, [call, arity]]},
     {a, function, [{?WORK, inner, 1}, true, [local]]},
     {b, function, [{?WORK, leaf, 1}, true, [local]]},
     {b, function, [{?WORK, outer, 1}, true, [local]]},
     [{run, [{call, outer, [[How, Then, End]]}]}
      || How <- [body, tail, caught],
         Then <- [body, tail, caught],
         End <- ends(How)]];
one_of_two_sessions_returning_to(Config) ->
    same(?FUNCTION_NAME, Config).

returning_to_where_a_spec_matched(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, return_to]]},
     {b, process, [tracee, true, [call, return_to]]},
     {a, function, [{?WORK, fact, 1}, [{[2], [], []}], [local]]},
     {b, function, [{?WORK, fact, 1}, [{[1], [], [{return_trace}]},
                                       {[3], [], [{message, false}]}],
                    [local]]},
     {run, [{call, fact, [4]}, {call, fact, [1]}]},
     {b, function, [{?WORK, fact, 1}, false, [local]]},
     {b, function, [{?WORK, fact, 1}, true, [global]]},
     {run, [{call, fact, [2]}]}];
returning_to_where_a_spec_matched(Config) ->
    same(?FUNCTION_NAME, Config).

returning_to_from_the_vms_functions(script) ->
    [{open, a},
     {a, process, [tracee, true, [call, return_to, arity]]},
     {a, function, [{erlang, unlink, 1}, true, [local]]},
     {run, [link]}];
returning_to_from_the_vms_functions(Config) ->
    same(?FUNCTION_NAME, Config).

%% A call has a `return_to' event only if the flag `call' was set when the
%% function was called.
returning_to_with_and_without_calls(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [return_to]]},
     {b, process, [new, true, [call]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [1]}]},
     {b, process, [new, false, [call]]},
     {b, process, [tracee, true, [call]]},
     {b, function, [{?WORK, f, 1}, [{'_', [], [{disable_trace, call}]}],
                    [local]]},
     {run, [{call, f, [2]}]}];
returning_to_with_and_without_calls(Config) ->
    same(?FUNCTION_NAME, Config).

returning_to_from_unreported_calls(script) ->
    Spec = fun(Function, Body) ->
                   {a, function, [{?WORK, Function, 1}, [{'_', [], Body}],
                                  [local]]}
           end,
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, return_to]]},
     {b, process, [tracee, true, [call, return_to]]},
     [[Spec(f, [{message, Value} | Ends]),
       {run, [{call, f, [1]}, {call, f, [false]}]}]
      || Value <- [false, {hd, '$_'}],
         Ends <- [[], [{return_trace}], [{exception_trace}],
                  [{silent, false}]]],
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [1]}, {call, f, [false]}]},
     {a, function, [{?WORK, outer, 1}, true, [local]]},
     Spec(inner, [{message, false}, {return_trace}]),
     {run, [{call, outer, [[body, body, return]]},
            {call, outer, [[tail, tail, return]]}]}];
returning_to_from_unreported_calls(Config) ->
    same(?FUNCTION_NAME, Config).

%% If a meta pattern has {silent, true}, this has no effect on processes that the session does not
%% trace.
a_meta_spec_that_silences(script) ->
    [{open, a}, {process, other},
     {a, process, [tracee, true, [send]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{silent, true}]}], [meta]]},
     {run, [{call, f, [1]}, {send, x}]},
     {run, other, [{call, f, [2]}]},
     {a, info, [tracee, flags]},
     {a, info, [other, flags]}];
a_meta_spec_that_silences(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_silences(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, send]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{[quiet], [], [{silent, true}]},
                     {[loud], [], [{silent, false}]},
                     {[neither], [], [{silent, neither}]},
                     {'_', [], [{return_trace}]}], [local]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [1]}, {call, f, [quiet]}, {call, f, [2]}, {send, x},
            {call, f, [neither]}, {call, f, [loud]}, {call, f, [3]}]},
     {run, [{call, f, [quiet]}]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]},
     {run, [{call, f, [4]}]},
     {a, process, [tracee, false, [silent]]},
     {run, [{call, f, [5]}]}];
a_spec_that_silences(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_silences_a_child(script) ->
    [{open, a},
     {a, process, [tracee, true, [call, set_on_spawn]]},
     {a, function, [{?WORK, f, 1},
                    [{[quiet], [], [{silent, true}]},
                     {[loud], [], [{silent, false}]},
                     {'_', [], []}], [local]]},
     {run, [{call, f, [1]}, {call, f, [quiet]},
            {spawn_worker, [{call, f, [2]}, {call, f, [loud]},
                            {call, f, [3]}]},
            {call, f, [4]}, {call, f, [loud]}, {call, f, [5]}]}];
a_spec_that_silences_a_child(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_traces(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{[send], [], [{trace, [], [send]}]},
                     {[no_send], [], [{trace, [send], []}]},
                     {[exchange], [], [{trace, [send], ['receive', arity]}]},
                     {[other], [], [{trace, '$_', [], [send]}]},
                     {[all], [], [{trace, [all], [call]}]},
                     {'_', [], []}], [local]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     [{run, [{call, f, [W]}, {send, W}, {call, f, [x]}]}
      || W <- [send, no_send, send, exchange, all]],
     {a, info, [tracee, flags]},
     {a, info, [tracee, tracer]},
     {b, info, [tracee, flags]}];
a_spec_that_traces(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_traces_another(script) ->
    [{open, a}, {process, other},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, g, 2},
                    [{['$1', on], [], [{trace, '$1', [], [call, send]}]},
                     {['$1', off], [], [{trace, '$1', [send], []}]}],
                    [local]]},
     {a, function, [{?WORK, f, 1}, true, [local]]},
     {run, other, [{call, f, [1]}, {send, x}]},
     {run, [{call, g, [other, on]}]},
     {a, info, [other, flags]},
     {a, info, [other, tracer]},
     {run, other, [{call, f, [2]}, {send, y}]},
     {run, [{call, g, [other, off]}]},
     {a, info, [other, flags]},
     {run, other, [{call, f, [3]}, {send, z}]},
     {run, [{call, g, [nobody, on]}]}];
a_spec_that_traces_another(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_turns_flags_on_and_off(script) ->
    [{open, a}, {open, b}, {process, other},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{[on], [], [{enable_trace, send}]},
                     {[off], [], [{disable_trace, send}]},
                     {[wrong], [], [{enable_trace, no_flag}]},
                     {[end_of_it], [], [{disable_trace, call}]}], [local]]},
     {a, function, [{?WORK, g, 2},
                    [{['$1', on], [], [{enable_trace, '$1', call}]},
                     {['$1', off], [], [{disable_trace, '$1', call}]}],
                    [local]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [on]}, {send, x}, {call, f, [off]}, {send, y},
            {call, f, [wrong]}]},
     {run, [{call, g, [other, on]}]},
     {run, other, [{call, f, [on]}, {send, x}]},
     {a, info, [other, flags]},
     {b, info, [other, flags]},
     {run, [{call, g, [other, off]}, {call, f, [end_of_it]}, {call, f, [on]}]},
     {a, info, [other, flags]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]}];
a_spec_that_turns_flags_on_and_off(Config) ->
    same(?FUNCTION_NAME, Config).

two_specs_that_turn_flags_on(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{[1], [], [{enable_trace, send}]},
                                    {[3], [], [{disable_trace, send}]}],
                    [local]]},
     {b, function, [{?WORK, f, 1}, [{[2], [], [{enable_trace, 'receive'}]},
                                    {[3], [], [{trace, ['receive'], [send]}]}],
                    [local]]},
     [[{run, [{call, f, [N]}, {send, N}]}, {a, info, [tracee, flags]},
       {b, info, [tracee, flags]}] || N <- [1, 2, 3]]];
two_specs_that_turn_flags_on(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_sets_a_token(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{[label], [], [{message, {set_seq_token, label, 17}}]},
                     {[send], [], [{set_seq_token, send, true}]},
                     {[token], [], [{message, {is_seq_trace}}]}], [local]]},
     {b, function, [{?WORK, f, 1}, [{'_', [], [{message, {is_seq_trace}}]}],
                    [local]]},
     {run, [{seq_token, false}, {call, f, [token]}, {call, f, [label]},
            {seq_token, false}, {call, f, [token]}, {call, f, [send]},
            {seq_token, true}, {call, f, [token]}]}];
a_spec_that_sets_a_token(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_displays(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{['$1'], [],
                                     [{display, '$1'},
                                      {message, {display, {{x}}}}]}],
                    [local]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [shown]}]}];
a_spec_that_displays(Config) ->
    same(?FUNCTION_NAME, Config).

a_control_word(script) ->
    [{open, a}, {open, b},
     {run, [{tcw, 3}]},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{['$1'], [{'=:=', {get_tcw}, '$1'}],
                      [{message, {get_tcw}}]},
                     {[{set, '$1'}], [], [{message, {set_tcw, '$1'}}]},
                     {'_', [], [{message, no}]}], [local]]},
     {run, [{call, f, [3]}, {call, f, [4]}, {call, f, [{set, 4}]},
            {call, f, [4]}, {tcw, 0}, {call, f, [0]}]},
     {b, function, [{?WORK, f, 1}, [{'_', [], [{message, {get_tcw}}]}],
                    [local]]},
     {run, [{call, f, [0]}, {call, f, [9]}]}];
a_control_word(Config) ->
    same(?FUNCTION_NAME, Config).

specs_of_a_message_may_act(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [send]]},
     {b, process, [tracee, true, [send]]},
     {a, send, [[{['_', quiet], [], [{silent, true}]},
                 {['_', more], [], [{enable_trace, 'receive'}]},
                 {['_', loud], [], [{silent, false}]},
                 {['_', off], [], [{trace, [send], []}]},
                 {'_', [], []}], []]},
     {run, [{send, M} || M <- [x, more, y, quiet, loud, off, z]]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]}];
specs_of_a_message_may_act(Config) ->
    same(?FUNCTION_NAME, Config).

%% One session has a global pattern, and the other a local pattern. Both get calls that come from
%% other modules. Only the session with the local pattern gets calls that come from the module
%% itself.
global_beside_local(script) ->
    [{open, a}, {open, b}, {load, ?LATE},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?LATE, f, 1}, true, [global]]},
     {b, function, [{?LATE, f, 1}, true, [local]]},
     {run, [{late, f, [1]}]},
     {a, info, [{?LATE, f, 1}, traced]},
     {b, info, [{?LATE, f, 1}, traced]},
     {info, {?LATE, f, 1}},
     {b, function, [{?LATE, f, 1}, false, [local]]},
     {run, [{late, f, [2]}, {late, g, [3]}]},
     {a, info, [{?LATE, f, 1}, traced]},
     {b, function, [{?LATE, local, 1}, true, [local]]},
     {run, [{late, g, [4]}]}];
global_beside_local(Config) ->
    same(?FUNCTION_NAME, Config).

global_beside_counters(script) ->
    [{open, a}, {open, b}, {load, ?LATE},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?LATE, f, 1}, [{'_', [], [{return_trace}]}], [global]]},
     {b, function, [{?LATE, f, 1}, true, [call_count]]},
     {run, [{late, f, [1]}]},
     {a, info, [{?LATE, f, 1}, all]},
     {b, info, [{?LATE, f, 1}, all]},
     {b, function, [{?LATE, f, 1}, true, [meta]]},
     {run, [{late, f, [2]}]},
     {b, function, [{?LATE, f, 1}, false, [meta]]},
     {b, function, [{?LATE, f, 1}, false, [call_count]]},
     {run, [{late, g, [3]}]}];
global_beside_counters(Config) ->
    case inviso_sessions_lib:has_sessions() of
        true -> same(?FUNCTION_NAME, Config);
        false -> {skip, "before OTP 27 counters give way"}
    end.

%% A session that traces no process sets patterns on all functions.
everything_of_a_session_without_tracees(script) ->
    [{open, a}, {open, b}, {load, ?LATE},
     {a, function, [{?WORK, '_', '_'}, true, [local]]},
     {a, function, [{?LATE, '_', '_'}, true, [local]]},
     {a, function, [{?LATE, f, 1}, true, [global]]},
     {b, process, [tracee, true, [call]]},
     {b, function, [{?WORK, f, 1}, true, [global]]},
     {b, function, [{?LATE, f, 1}, true, [local]]},
     {run, [{call, f, [1]}, {late, g, [1]}]},
     {a, info, [{?LATE, f, 1}, traced]},
     {a, info, [{?LATE, g, 1}, traced]},
     {info, {?WORK, f, 1}},
     {b, process, [tracee, false, [call]]},
     {b, function, [{?LATE, f, 1}, false, [local]]},
     {b, function, [{?WORK, f, 1}, false, [global]]},
     {a, process, [tracee, true, [call]]},
     {run, [{call, f, [2]}, {late, g, [2]}]}];
everything_of_a_session_without_tracees(Config) ->
    same(?FUNCTION_NAME, Config).

wildcards(script) ->
    [{open, a},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, '_', '_'}, [{['$1'], [], [{message, '$1'}]}],
                    [local]]},
     {a, function, [{?WORK, g, '_'}, true, [local]]},
     {a, function, [{?WORK, local, 1}, false, [local]]},
     {run, [{call, g, [1, 2]}, {call, h, [3]}]},
     {a, info, [{?WORK, g, 2}, match_spec]},
     {a, info, [{?WORK, h, 1}, match_spec]},
     {a, info, [{?WORK, local, 1}, traced]},
     {a, function, [{?WORK, none, '_'}, true, [local]]},
     {a, function, [{?WORK, f, 9}, true, [local]]}];
wildcards(Config) ->
    same(?FUNCTION_NAME, Config).
