%% SPDX-License-Identifier: Apache-2.0
%% Trace sessions: each session's tracer gets the messages that OTP 27's own
%% module `trace' sends.
%%
%% Each case of the group otp27 is a script (inviso_sessions_lib). More scripts
%% are in inviso_trace_functions_SUITE and inviso_trace_tracees_SUITE.
-module(inviso_trace_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, groups/0,
         init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([example_of_the_documentation/1,
         handle_is_garbage_collected/1,
         not_supported_is_said/1,
         unsafe_labels_are_refused/1,
         what_is_refused_leaves_nothing/1,
         wrong_arguments_are_explained/1,
         a_list_of_processes_is_refused/1,
         others_do_not_wait_for_many_processes/1,
         a_tracer_module_of_others/1,
         others_are_respected/1,
         times_outlive_the_tracer/1,
         a_message_begins_the_tracing_of_calls/1,
         a_tracer_of_sessions_alone_goes_at_once/1,
         a_killed_server/1,
         a_server_killed_while_it_cleans_up/1,
         counters_give_way_to_global_patterns/1,
         counters_rest_beside_others/1,
         named_tracers_have_a_limit/1,
         foreign_patterns_block_no_session/1,
         few_calls_change_many_functions/1,
         one_call_for_a_module_changes_no_other_function/1,
         a_lost_pattern_gets_no_returns/1,
         what_others_replace_is_over/1,
         a_bit_that_is_used_again/1,
         processes_of_an_earlier_session/1,
         ends_that_another_tool_traces/1,
         no_room_is_logged/1,
         flags_that_no_event_needs/1,
         a_dead_process_with_a_used_index/1,
         no_match_spec_where_all_want_all/1,
         sessions_come_and_go/1,
         counts_of_everything_from_the_first_use/1,
         no_code_is_loaded_by_requests/1]).

-export([one_session/1,
         two_specs_on_one_function_and_process/1,
         specs_that_fail_in_guards/1,
         one_with_a_spec_and_one_without/1,
         a_spec_that_wants_no_message/1,
         the_caller/1,
         ends_of_calls/1,
         ends_of_recursive_calls/1,
         ends_of_deep_calls/1,
         a_session_that_ends_within_a_call/1,
         three_sessions/1,
         local_calls/1,
         global_calls/1,
         functions_of_the_vm/1,
         messages/1,
         patterns_of_messages/1,
         processes/1,
         timestamps/1,
         arity/1,
         silent/1,
         children/1,
         new_processes/1,
         garbage_collection/1,
         what_is_set/1,
         arguments_that_are_wrong/1,
         a_tracer_that_dies/1,
         a_process_that_traces_itself/1]).

%% Functions that run on the node.
-export([few_calls/0, one_call/0, lost_pattern/0,
         example/0, forgotten/0, is_gone/1, not_supported/0, explained/0,
         unsafe_labels/0,
         refused/0, traced_before/0,
         lists_refused/0, in_between/0,
         foreign/1, others/0, killed/0, killed_at_its_end/0, give_way/0,
         used_again/0, foreign_ends/0, not_needed/0, dead_and_alive/0,
         outlived/0, begun/0, alone/1,
         all_want_all/1, rest/0, named_tracers/0, block/0, replaced/0,
         come_and_go/0, counts/0,
         requests/0,
         no_room/0, log/2]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_sessions_lib, [has_sessions/0]).

-define(WORK, inviso_sessions_work).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [{group, otp27} | own()].

groups() ->
    [{otp27, otp27()}].

otp27() ->
    [one_session,
     two_specs_on_one_function_and_process,
     specs_that_fail_in_guards,
     one_with_a_spec_and_one_without,
     a_spec_that_wants_no_message,
     the_caller,
     ends_of_calls,
     ends_of_recursive_calls,
     ends_of_deep_calls,
     a_session_that_ends_within_a_call,
     three_sessions,
     local_calls,
     global_calls,
     functions_of_the_vm,
     messages,
     patterns_of_messages,
     processes,
     timestamps,
     arity,
     silent,
     children,
     new_processes,
     garbage_collection,
     what_is_set,
     arguments_that_are_wrong,
     a_tracer_that_dies,
     a_process_that_traces_itself].

own() ->
    [example_of_the_documentation,
     handle_is_garbage_collected,
     not_supported_is_said,
     unsafe_labels_are_refused,
     what_is_refused_leaves_nothing,
     wrong_arguments_are_explained,
     a_list_of_processes_is_refused,
     others_do_not_wait_for_many_processes,
     a_tracer_module_of_others,
     others_are_respected,
     times_outlive_the_tracer,
     a_message_begins_the_tracing_of_calls,
     a_tracer_of_sessions_alone_goes_at_once,
     a_killed_server,
     a_server_killed_while_it_cleans_up,
     counters_give_way_to_global_patterns,
     counters_rest_beside_others,
     named_tracers_have_a_limit,
     foreign_patterns_block_no_session,
     few_calls_change_many_functions,
     one_call_for_a_module_changes_no_other_function,
     a_lost_pattern_gets_no_returns,
     what_others_replace_is_over,
     a_bit_that_is_used_again,
     processes_of_an_earlier_session,
     ends_that_another_tool_traces,
     no_room_is_logged,
     flags_that_no_event_needs,
     a_dead_process_with_a_used_index,
     no_match_spec_where_all_want_all,
     sessions_come_and_go,
     counts_of_everything_from_the_first_use,
     no_code_is_loaded_by_requests].

init_per_suite(Config) ->
    inviso_sessions_lib:start(Config).

end_per_suite(Config) ->
    inviso_sessions_lib:stop(Config).

init_per_testcase(_Case, Config) ->
    Config.

end_per_testcase(_Case, Config) ->
    inviso_sessions_lib:nothing_left(Config).

%% --- scripts whose outcomes must be those of OTP 27 --------------------------

same(Case, Config) ->
    inviso_sessions_lib:same(?MODULE, Case, Config).

one_session(script) ->
    [{open, a},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [], []]},
     {run, [{call, f, [1]}, {call, g, [1, 2]}, {call, h, [3]}]},
     {a, process, [tracee, false, [call]]},
     {run, [{call, f, [2]}]}];
one_session(Config) ->
    same(?FUNCTION_NAME, Config).

two_specs_on_one_function_and_process(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{[1], [], [{message, one}]},
                     {['$1'], [{'>', '$1', 10}],
                      [{message, {{big, '$1'}}}, {return_trace}]}], []]},
     {b, function, [{?WORK, f, 1},
                    [{['$1'], [{is_integer, '$1'}], []},
                     {[{x, '$1', '$1'}], [], [{message, '$$'}]},
                     {[#{key => '$2'}], [], [{message, '$_'},
                                             {return_trace}]}], []]},
     {run, [{call, f, [1]}, {call, f, [2]}, {call, f, [11]},
            {call, f, [{x, 1, 1}]}, {call, f, [{x, 1, 2}]},
            {call, f, [#{key => v, more => 1}]}, {call, f, [a]}]}];
two_specs_on_one_function_and_process(Config) ->
    same(?FUNCTION_NAME, Config).

specs_that_fail_in_guards(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{['$1'], [{'>', {'+', '$1', 1}, 3}],
                      [{message, {'+', '$1', 1}}]},
                     {['$1'], [{is_atom, {hd, '$1'}}],
                      [{message, {hd, '$1'}}]},
                     {['$1'], [{'or', {is_atom, '$1'}, {is_tuple, '$1'}}],
                      [{message, {element, 2, '$1'}}]}], []]},
     {b, function, [{?WORK, f, 1},
                    [{['$1'], [{'=:=', {'rem', '$1', 2}, 0}],
                      [{message, even}]},
                     {[['_' | '$1']], [], [{message, '$1'}]},
                     {'_', [], []}], []]},
     {run, [{call, f, [1]}, {call, f, [2]}, {call, f, [3]}, {call, f, [4]},
            {call, f, [[a]]}, {call, f, [[1, 2 | 3]]}, {call, f, [x]},
            {call, f, [{x}]}, {call, f, [{x, y}]}, {call, f, [[]]}]}];
specs_that_fail_in_guards(Config) ->
    same(?FUNCTION_NAME, Config).

one_with_a_spec_and_one_without(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, g, 2},
                    [{['$1', '$1'], [], [{message, same}]},
                     {['_', '$2'], [], [{message, '$2'}, {return_trace}]}],
                    []]},
     {b, function, [{?WORK, g, 2}, true, []]},
     {run, [{call, g, [1, 1]}, {call, g, [1, 2]}]},
     {b, function, [{?WORK, g, 2}, false, []]},
     {run, [{call, g, [3, 4]}]}];
one_with_a_spec_and_one_without(Config) ->
    same(?FUNCTION_NAME, Config).

a_spec_that_wants_no_message(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1},
                    [{'_', [], [{message, false}, {return_trace}]}], []]},
     {b, function, [{?WORK, f, 1},
                    [{['$1'], [], [{message, {'>', '$1', 5}}]}], []]},
     {run, [{call, f, [1]}, {call, f, [9]}]}];
a_spec_that_wants_no_message(Config) ->
    same(?FUNCTION_NAME, Config).

the_caller(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{message, {caller}}]}],
                    [local]]},
     {b, function, [{?WORK, f, 1}, [{['$1'], [], [{message, {{'$1'}}}]}],
                    [local]]},
     {run, [{call, twice, [7]}]}];
the_caller(Config) ->
    same(?FUNCTION_NAME, Config).

ends_of_calls(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, fail, 1}, [{'_', [], [{return_trace}]}], [local]]},
     {b, function, [{?WORK, fail, 1}, [{[x], [], [{exception_trace}]},
                                       {'_', [], []}], [local]]},
     {run, [{call, fail, [1]}, {call, fail, [x]}, {call, fail, [y]},
            {call, fail, [2]}]}];
ends_of_calls(Config) ->
    same(?FUNCTION_NAME, Config).

ends_of_recursive_calls(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, fact, 1},
                    [{['$1'], [{'=:=', {'rem', '$1', 2}, 0}],
                      [{return_trace}]}], [local]]},
     {b, function, [{?WORK, fact, 1},
                    [{[3], [], [{return_trace}, {message, three}]},
                     {[0], [], [{exception_trace}]}], [local]]},
     {run, [{call, fact, [5]}, {call, fact, [4]}]}];
ends_of_recursive_calls(Config) ->
    same(?FUNCTION_NAME, Config).

ends_of_deep_calls(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, arity]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, even, 1}, [{'_', [], [{return_trace}]}],
                    [local]]},
     {b, function, [{?WORK, odd, 1}, [{'_', [], [{exception_trace}]}],
                    [local]]},
     {run, [{call, even, [40]}]}];
ends_of_deep_calls(Config) ->
    same(?FUNCTION_NAME, Config).

a_session_that_ends_within_a_call(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{return_trace}]}], [local]]},
     {b, function, [{?WORK, f, 1}, true, [local]]},
     {run, [{call, f, [1]}]},
     {destroy, a}, {destroy, a},
     {run, [{call, f, [2]}]},
     {open, c},
     {c, function, [{?WORK, f, 1}, [{'_', [], [{message, c}]}], [local]]},
     {run, [{call, f, [3]}]},
     {c, process, [tracee, true, [call]]},
     {run, [{call, f, [4]}]},
     {destroy, b},
     {run, [{call, f, [5]}]}];
a_session_that_ends_within_a_call(Config) ->
    same(?FUNCTION_NAME, Config).

three_sessions(script) ->
    [{open, a}, {open, b}, {open, c},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call, timestamp]]},
     {c, process, [tracee, true, [call, arity]]},
     {a, function, [{?WORK, g, 2}, [{[1, '_'], [], [{message, a1}]},
                                    {['_', 1], [], [{message, a2}]}],
                    [local]]},
     {b, function, [{?WORK, g, 2}, [{['_', 1], [], [{message, b1}]},
                                    {[1, '_'], [], [{return_trace}]}],
                    [local]]},
     {c, function, [{?WORK, g, 2}, [{['$1', '$1'], [],
                                     [{message, '$1'}]}], [local]]},
     {run, [{call, g, [X, Y]} || X <- [0, 1, 2], Y <- [0, 1, 2]]}];
three_sessions(Config) ->
    same(?FUNCTION_NAME, Config).

local_calls(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, '_', '_'}, true, [local]]},
     {b, function, [{?WORK, local, 1}, [{['$1'], [], [{message, '$1'},
                                                      {return_trace}]}],
                    [local]]},
     {run, [{call, h, [1]}, {call, tail, [2]}]},
     {a, function, [{?WORK, h, '_'}, false, [local]]},
     {run, [{call, h, [1]}]},
     {a, function, [{?WORK, '_', '_'}, false, [local]]},
     {run, [{call, h, [1]}]}];
local_calls(Config) ->
    same(?FUNCTION_NAME, Config).

global_calls(script) ->
    [{open, a},
     {a, process, [tracee, true, [call]]},
     {a, function, [{?WORK, '_', '_'}, true, [global]]},
     {run, [{call, h, [1]}, {call, twice, [1]}, {call, tail, [3]}]},
     {a, function, [{?WORK, f, 1}, true, [local]]},
     {a, info, [{?WORK, f, 1}, traced]},
     {a, info, [{?WORK, h, 1}, traced]},
     {run, [{call, twice, [1]}]},
     {a, function, [{?WORK, f, 1}, false, [global]]},
     {a, info, [{?WORK, f, 1}, traced]},
     {a, function, [{?WORK, f, 1}, false, [local]]},
     {a, info, [{?WORK, f, 1}, traced]}];
global_calls(Config) ->
    same(?FUNCTION_NAME, Config).

functions_of_the_vm(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call, arity]]},
     {a, function, [{erlang, unlink, 1}, true, []]},
     {b, function, [{erlang, unlink, 1}, [{'_', [], [{return_trace}]}], []]},
     {run, [link]}];
functions_of_the_vm(Config) ->
    same(?FUNCTION_NAME, Config).

messages(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [send]]},
     {b, process, [tracee, true, ['receive']]},
     {run, [{send, one}, {send, {two, 2}}, dead_letter]},
     {a, process, [tracee, true, ['receive']]},
     {run, [{send, three}]}];
messages(Config) ->
    same(?FUNCTION_NAME, Config).

patterns_of_messages(script) ->
    [{open, a}, {open, b}, {open, c},
     {a, process, [tracee, true, [send]]},
     {b, process, [tracee, true, [send, 'receive']]},
     {c, process, [tracee, true, [send, 'receive']]},
     {a, send, [[{['_', {x, '$1'}], [], [{message, '$1'}]},
                 {[tracee, '_'], [], []}], []]},
     {b, send, [[{['$1', one], [], [{message, {{to, '$1'}}}]}], []]},
     {b, recv, [[{['_', tracee, '$1'], [{is_tuple, '$1'}],
                  [{message, {element, 1, '$1'}}]}], []]},
     {a, info, [send, match_spec]},
     {c, info, [send, match_spec]},
     {info, send},
     {run, [{send, one}, {send, {x, 1}}, {send, {y, 1}}]},
     {a, send, [false, []]},
     {b, recv, [true, []]},
     {run, [{send, one}]},
     {open, d},
     {d, process, [tracee, true, [send]]},
     {run, [{send, {x, 2}}]},
     {destroy, a}, {destroy, b},
     {info, send},
     {run, [{send, {x, 3}}]}];
patterns_of_messages(Config) ->
    same(?FUNCTION_NAME, Config).

processes(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [procs]]},
     {run, [spawn]},
     {b, process, [tracee, true, [procs]]},
     {run, [{register, inviso_sessions}, link]},
     {a, process, [tracee, false, [procs]]},
     {run, [spawn]},
     {kill, tracee}];
processes(Config) ->
    same(?FUNCTION_NAME, Config).

timestamps(script) ->
    [{open, a}, {open, b}, {open, c}, {open, d},
     {a, process, [tracee, true, [call, timestamp, monotonic_timestamp]]},
     {b, process, [tracee, true, [call, strict_monotonic_timestamp,
                                  monotonic_timestamp]]},
     {c, process, [tracee, true, [call, monotonic_timestamp]]},
     {d, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{message, m},
                                               {return_trace}]}], []]},
     {b, function, [{?WORK, f, 1}, true, []]},
     {c, function, [{?WORK, f, 1}, [{'_', [], [{exception_trace}]}], []]},
     {d, function, [{?WORK, f, 1}, true, []]},
     {run, [{call, f, [1]}]},
     {a, process, [tracee, false, [timestamp]]},
     {b, process, [tracee, false, [strict_monotonic_timestamp]]},
     {c, process, [tracee, false, [monotonic_timestamp]]},
     {run, [{call, f, [1]}]}];
timestamps(Config) ->
    same(?FUNCTION_NAME, Config).

arity(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, arity]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, g, 2}, true, []]},
     {b, function, [{?WORK, g, 2}, [{['$1', '_'], [], [{message, '$1'}]}],
                    []]},
     {run, [{call, g, [1, 2]}]}];
arity(Config) ->
    same(?FUNCTION_NAME, Config).

silent(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, silent]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{return_trace}]}], []]},
     {b, function, [{?WORK, f, 1}, [{'_', [], [{return_trace}]}], []]},
     {run, [{call, f, [1]}]},
     {a, process, [tracee, false, [silent]]},
     {run, [{call, f, [2]}]}];
silent(Config) ->
    same(?FUNCTION_NAME, Config).

children(script) ->
    [{open, a}, {open, b}, {open, c},
     {a, process, [tracee, true, [call, procs, set_on_spawn]]},
     {b, process, [tracee, true, [call]]},
     {c, process, [tracee, true, [call, set_on_first_spawn]]},
     {a, function, [{?WORK, f, 1}, true, []]},
     {b, function, [{?WORK, f, 1}, true, []]},
     {c, function, [{?WORK, f, 1}, [{'_', [], [{message, c}]}], []]},
     {run, [{call, f, [1]}, {spawn_worker, [{call, f, [2]}, spawn]},
            {spawn_worker, [{call, f, [3]}]}]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]},
     {c, info, [tracee, flags]}];
children(Config) ->
    same(?FUNCTION_NAME, Config).

new_processes(script) ->
    [{open, a}, {open, b},
     {a, process, [new, true, [call]]},
     {a, function, [{?WORK, f, 1}, true, []]},
     {b, function, [{?WORK, f, 1}, [{'_', [], [{message, b}]}], []]},
     {a, info, [new, flags]},
     {b, info, [new, flags]},
     {info, new},
     {run, [{call, f, [1]}, {spawn_worker, [{call, f, [2]}]}]},
     {b, process, [new_processes, true, [call, arity]]},
     {run, [{spawn_worker, [{call, f, [3]}]}]},
     {a, process, [new, false, [all]]},
     {run, [{spawn_worker, [{call, f, [4]}]}]}];
new_processes(Config) ->
    same(?FUNCTION_NAME, Config).

garbage_collection(script) ->
    [{open, a},
     {a, process, [tracee, true, [garbage_collection]]},
     {run, [gc]}];
garbage_collection(Config) ->
    same(?FUNCTION_NAME, Config).

what_is_set(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call, procs, timestamp, set_on_spawn]]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]},
     {a, info, [tracee, tracer]},
     {b, info, [tracee, tracer]},
     {a, function, [{?WORK, f, 1}, [], [local]]},
     {b, function, [{?WORK, f, 1}, [{['$1'], [], [{message, '$1'}]}],
                    [local]]},
     {a, info, [{?WORK, f, 1}, all]},
     {b, info, [{?WORK, f, 1}, all]},
     {b, info, [{?WORK, f, 1}, match_spec]},
     %% For a traced function, OTP 27 and 29 give different answers to some questions. So these
     %% questions are about g/2, which is not traced.
     {b, info, [{?WORK, g, 2}, meta]},
     {b, info, [{?WORK, f, 1}, call_count]},
     {b, info, [{?WORK, g, 2}, traced]},
     {b, info, [{?WORK, g, 2}, match_spec]},
     {b, info, [{?WORK, g, 2}, all]},
     {b, info, [{?WORK, none, 2}, traced]},
     {b, info, [{?WORK, none, 2}, all]},
     {b, info, [on_load, traced]},
     {b, info, ['receive', match_spec]},
     {b, info, [new_ports, flags]},
     {info, {?WORK, f, 1}},
     {info, {?WORK, g, 2}},
     {info, {?WORK, none, 2}},
     {info, tracee},
     {info, 'receive'},
     {a, process, [tracee, false, [all]]},
     {a, info, [tracee, flags]},
     {a, info, [tracee, tracer]},
     {destroy, b},
     {b, info, [tracee, flags]},
     {a, info, [{?WORK, f, 1}, all]}];
what_is_set(Config) ->
    same(?FUNCTION_NAME, Config).

arguments_that_are_wrong(script) ->
    [{open, a},
     {a, process, [nobody, true, [call]]},
     {a, process, [tracee, perhaps, [call]]},
     {a, process, [tracee, true, [no_such_flag]]},
     {a, process, [tracee, true, call]},
     {a, function, [{?WORK, '_', 1}, true, []]},
     {a, function, [{?WORK, f}, true, []]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [no_such_action]}], [nonsense]]},
     {a, function, [{?WORK, f, 1}, [{'_', [], [{no_such_action}]}], []]},
     {a, function, [{?WORK, f, 1}, [{'_', [{'+', 1}], []}], []]},
     {a, function, [{?WORK, f, 1}, sometimes, []]},
     {a, function, [{no_such_module, f, 1}, true, []]},
     {a, function, [{?WORK, no_such_function, 1}, true, []]},
     {a, recv, [[{'_', [], [{silent, true}]}], []]},
     {a, send, [true, [local]]},
     {a, recv, [[{'_', [], [{message, {caller}}]}], []]},
     {a, recv, [pause, []]},
     {a, info, [tracee, traced]},
     {a, info, [{?WORK, f, 1}, flags]},
     {a, info, [{?WORK, f, 1}, no_such_item]},
     {a, info, [send, flags]},
     {a, info, [nothing, flags]},
     {kill, tracee},
     {a, process, [tracee, true, [call]]},
     {a, info, [tracee, flags]},
     {a, info, [tracee, tracer]},
     {info, tracee},
     {info, nothing}];
arguments_that_are_wrong(Config) ->
    same(?FUNCTION_NAME, Config).

a_tracer_that_dies(script) ->
    [{open, a}, {open, b},
     {a, process, [tracee, true, [call]]},
     {b, process, [tracee, true, [call]]},
     {a, function, [{?WORK, f, 1}, true, []]},
     {b, function, [{?WORK, f, 1}, true, []]},
     {kill, {tracer, a}},
     {run, [{call, f, [1]}]},
     {a, info, [tracee, flags]},
     {b, info, [tracee, flags]},
     {a, info, [{?WORK, f, 1}, traced]}];
a_tracer_that_dies(Config) ->
    same(?FUNCTION_NAME, Config).

a_process_that_traces_itself(script) ->
    [{open, a},
     {run, [{trace, {session, a}, process, [tracee, true, [send, 'receive']]},
            {send, x},
            {trace, {session, a}, process, [tracee, false, ['receive']]},
            {send, y}]}];
a_process_that_traces_itself(Config) ->
    same(?FUNCTION_NAME, Config).

%% --- other cases ------------------------------------------------------------

%% Runs the example from the beginning of the documentation of `trace'. The original prints its
%% results, and this copy returns them.
example_of_the_documentation(Config) ->
    {Messages, 1, 1, 55, true, Badarg} =
        call(?config(node, Config), ?MODULE, example, []),
    [{trace, _, call, {lists, seq, [1, 10]}}] = Messages,
    %% The first function in the error's stack is the called function of `trace', even if another
    %% module raised the error.
    {badarg, [{trace, function, [_, {lists, seq, 2}, [], []], _} | _]} = Badarg.

example() ->
    ok = inviso_trace:install(),
    ok = inviso_trace:install(),
    Self = self(),
    Tracer = spawn_link(fun F() -> receive M -> Self ! {got, M}, F() end end),
    Session = trace:session_create(my_session, Tracer, []),
    Processes = trace:process(Session, self(), true, [call]),
    Functions = trace:function(Session, {lists, seq, 2}, [], []),
    Sum = lists:sum(lists:seq(1, 10)),
    Message = receive {got, M} -> M after 60000 -> none end,
    Destroyed = trace:session_destroy(Session),
    unlink(Tracer),
    exit(Tracer, kill),
    Error = (catch trace:function(Session, {lists, seq, 2}, [], [])),
    {[Message], Processes, Functions, Sum, Destroyed, element(2, Error)}.

handle_is_garbage_collected(Config) ->
    Node = ?config(node, Config),
    Weak = call(Node, ?MODULE, forgotten, []),
    ok = inviso_sessions_lib:nothing_left(Config),
    ok = wait_until(fun() -> call(Node, ?MODULE, is_gone, [Weak]) end).

%% Only one process has the handle of a session. When this process ends, the session is closed.
forgotten() ->
    Self = self(),
    {_, Ref} = spawn_monitor(
                 fun() ->
                         {_, Weak} = S = inviso_trace:session_create(
                                           forgotten, Self, []),
                         1 = inviso_trace:process(S, Self, true, [call]),
                         1 = inviso_trace:function(S, {?WORK, f, 1}, true,
                                                   [local]),
                         1 = inviso_trace:send(S, false, []),
                         1 = inviso_trace:function(Weak, {?WORK, g, 2}, true,
                                                   []),
                         exit({weak, Weak})
                 end),
    receive {'DOWN', Ref, process, _, {weak, Weak}} -> Weak end.

is_gone(Weak) ->
    try inviso_trace:info(Weak, send, match_spec) of
        _ -> false
    catch
        error:badarg -> true
    end.

%% If each session that traces a function traces all calls of it, the engine gives the VM no match
%% spec for the function. Even so, a session gets only calls of the functions that it traces.
no_match_spec_where_all_want_all(Config) ->
    case has_sessions() of
        true ->
            {skip, "OTP's own sessions"};
        false ->
            _ = [ok = call(?config(node, Config), ?MODULE, all_want_all, [Kind])
                 || Kind <- [global, local]],
            ok
    end.

all_want_all(Kind) ->
    {A, ToA} = wanting(Kind, true, [f, g]),
    [] = match_spec(f),
    ok = calls([{ToA, [f, g]}]),
    {B, ToB} = wanting(Kind, true, [f]),
    [[], []] = [match_spec(F) || F <- [f, g]],
    ok = calls([{ToA, [f, g]}, {ToB, [f]}]),
    {C, ToC} = wanting(Kind, [{['$1'], [{'>', '$1', 1}], []}], [f]),
    [_ | _] = match_spec(f),
    ok = calls([{ToA, [f, g]}, {ToB, [f]}, {ToC, []}]),
    true = inviso_trace:session_destroy(C),
    [] = match_spec(f),
    1 = inviso_trace:function(A, {?WORK, f, 1}, false, [Kind]),
    ok = calls([{ToA, [g]}, {ToB, [f]}, {ToC, []}]),
    true = inviso_trace:session_destroy(B),
    {D, ToD} = wanting(Kind, true, [g]),
    ok = calls([{ToA, [g]}, {ToB, []}, {ToD, [g]}]),
    _ = [true = inviso_trace:session_destroy(S) || S <- [A, D]],
    ok.

wanting(Kind, Spec, Functions) ->
    Tracer = spawn_link(fun() -> receive stop -> ok end end),
    S = inviso_trace:session_create(wanting, Tracer, []),
    1 = inviso_trace:process(S, self(), true, [call]),
    _ = [1 = inviso_trace:function(S, {?WORK, F, '_'}, Spec, [Kind])
         || F <- Functions],
    {S, Tracer}.

match_spec(F) ->
    [MFA] = [{?WORK, Name, A} || {Name, A} <- ?WORK:module_info(exports),
                                 Name =:= F],
    {match_spec, Spec} = erlang:trace_info(MFA, match_spec),
    Spec.

%% Calls each function once, and checks which sessions' tracers get these calls.
calls(Expected) ->
    Before = [told(To) || {To, _} <- Expected],
    0 = ?WORK:f(0),
    {1, 2} = ?WORK:g(1, 2),
    Told = [told(To) -- Had || {{To, _}, Had} <- lists:zip(Expected, Before)],
    case [Fs || {_, Fs} <- Expected] of
        Told -> ok;
        _ -> {told, Told}
    end.

%% Returns the functions in the call messages that the tracer process has received. When a traced
%% call returns, its messages have arrived.
told(Tracer) ->
    {messages, Messages} = process_info(Tracer, messages),
    [F || {trace, _, call, {_, F, _}} <- Messages].

%% The engine does not support some requests. It answers them with the error not_supported.
not_supported_is_said(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, not_supported, [])
    end.

not_supported() ->
    S = inviso_trace:session_create(s, self(), []),
    Other = inviso_trace:session_create(other, self(), []),
    Refused =
        [{function, [{?WORK, f, 1}, [{'_', [], [Action]}], []]}
         || Action <- [{'andalso', true, {silent, true}},
                       {message, {hd, [{enable_trace, call}]}}]],
    _ = [{F, A, {not_supported, _}} = {F, A, reason(F, [S | A])}
         || {F, A} <- Refused],
    badarg = reason(session_create, [s, {no_module, 1}, []]),
    badarg = reason(session_create, [s, {lists, 1}, []]),
    %% The refused request has changed nothing.
    {flags, []} = inviso_trace:info(S, self(), flags),
    {traced, false} = inviso_trace:info(S, {?WORK, f, 1}, traced),
    {match_spec, true} = inviso_trace:info(S, send, match_spec),
    true = inviso_trace:session_destroy(S),
    true = inviso_trace:session_destroy(Other),
    ok.

%% On every release, a match spec may set only labels that the VM can store.
unsafe_labels_are_refused(Config) ->
    ok = call(?config(node, Config), ?MODULE, unsafe_labels, []).

unsafe_labels() ->
    S = inviso_trace:session_create(s, self(), []),
    Specs = [[{'_', [], []},
              {['$1', '_'], [], [{message, {set_seq_token, label, Label}}]}]
             || Label <- ['$1', '$_', {{shop, '$1'}}, {const, {shop, 1}},
                          [shop, '$1'], <<"shop">>, #{shop => 1}, 1 bsl 59]],
    _ = [{unsafe_label, _, _} = reason(F, [S | A])
         || Spec <- Specs,
            {F, A} <- [{function, [{?WORK, g, 2}, Spec, [local]]},
                       {function, [{?WORK, g, 2}, Spec, [meta]]},
                       {function, [{?WORK, g, 2}, Spec, [global]]},
                       {send, [Spec, []]}]],
    {match_spec, true} = inviso_trace:info(S, send, match_spec),
    {traced, false} = inviso_trace:info(S, {?WORK, g, 2}, traced),
    %% The error has the term error_info, with which format_error/2 explains the error.
    try inviso_trace:send(S, hd(Specs), []) of
        N -> exit({answer, N})
    catch
        error:Reason:Stack ->
            [{_, _, _, Info} | _] = Stack,
            #{module := Module} = proplists:get_value(error_info, Info),
            #{general := Said} = Module:format_error(Reason, Stack),
            {match, _} = re:run(Said, "use an atom or an integer")
    end,
    _ = [{answer, 1} = reason(function, [S, {?WORK, g, 2},
                                         [{'_', [], [{set_seq_token, C, V}]}], []])
         || {C, V} <- [{label, shop}, {label, 17}, {label, {const, shop}},
                       {label, (1 bsl 59) - 1}, {serial, {{1, 2}}},
                       {send, true}]],
    true = inviso_trace:session_destroy(S),
    ok.

reason(Function, Args) ->
    try apply(inviso_trace, Function, Args) of
        Answer -> {answer, Answer}
    catch
        error:Reason -> Reason
    end.

%% If the VM refuses a part of a request, the other parts have no effect either.
what_is_refused_leaves_nothing(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, refused, [])
    end.

refused() ->
    ok = too_deep_together(),
    ok = not_put_back(),
    refused_half_way().

%% Two match specs for the same function: the VM accepts each of them alone, but refuses the match
%% spec that combines both.
too_deep_together() ->
    Tracee = spawn_link(fun() ->
                                receive go -> ?WORK:g(1, 2) end,
                                receive stop -> ok end
                        end),
    Deep = as_deep_as_can_be(),
    Sessions = [inviso_trace:session_create(s, self(), [])
                || _ <- lists:seq(1, 2)],
    [A, B] = Sessions,
    1 = inviso_trace:process(A, Tracee, true, [call]),
    1 = inviso_trace:function(A, {?WORK, f, 1}, Deep, [local]),
    %% If the VM refuses a pattern on one of several functions, the engine sets the pattern on none
    %% of them. The earlier pattern on h/1 stays. The engine has stored it, but has not set it in
    %% the VM, because session B traces no process.
    1 = inviso_trace:function(B, {?WORK, h, 1}, true, [local]),
    system_limit = reason(function, [B, {?WORK, '_', '_'},
                                     enabling(Deep), [local]]),
    [{f, 1}] = traced_functions(),
    %% The patterns of a session are set in the VM when a process gets the flag `call'. If the VM
    %% refuses one pattern then, the other patterns are still set.
    1 = inviso_trace:process(A, Tracee, false, [call]),
    1 = inviso_trace:function(B, {?WORK, f, 1}, Deep, [local]),
    1 = inviso_trace:process(B, Tracee, true, [call]),
    1 = inviso_trace:function(A, {?WORK, g, 2}, true, [local]),
    [{f, 1}, {h, 1}] = traced_functions(),
    1 = inviso_trace:process(A, Tracee, true, [call]),
    [{f, 1}, {g, 2}, {h, 1}] = traced_functions(),
    Tracee ! go,
    receive {trace, Tracee, call, {_, g, [1, 2]}} -> ok
    after 10000 -> error(not_told)
    end,
    _ = [true = inviso_trace:session_destroy(S) || S <- Sessions],
    [] = traced_functions(),
    [] = noted(),
    unlink(Tracee),
    exit(Tracee, kill),
    ok.

enabling([{Head, Guards, []}]) ->
    [{Head, Guards, [{enable_trace, call}]}].

traced_functions() ->
    lists:sort([FA || {F, A} = FA <- ?WORK:module_info(functions),
                      erlang:trace_info({?WORK, F, A}, all) =/= {all, false}]).

noted() ->
    [FA || {F, A} = FA <- ?WORK:module_info(functions),
           inviso_engine:is_plain(?WORK, F, A) orelse
               inviso_engine_counted:left({?WORK, F, A}) =/= #{}].

%% Returns a match spec that the VM accepts alone. If it is combined with another match spec, the VM
%% refuses it: the variable is deep in the head, and the combination adds to this depth.
as_deep_as_can_be() ->
    Spec = fun(N) ->
                   [{[nested(300, fun(X) -> {X} end)],
                     [{'=:=', nested(N, fun(X) -> {hd, X} end), a}], []}]
           end,
    Spec(deepest(Spec, 500, 100000) - 100).

deepest(_Spec, Can, Cannot) when Cannot - Can =< 10 ->
    Can;
deepest(Spec, Can, Cannot) ->
    Middle = (Can + Cannot) div 2,
    case inviso_engine_spec:check(Spec(Middle), function) of
        ok -> deepest(Spec, Middle, Cannot);
        {error, system_limit} -> deepest(Spec, Can, Middle)
    end.

nested(0, _) -> '$1';
nested(N, F) -> F(nested(N - 1, F)).

%% The VM refuses a meta pattern, because its tracer module does not exist. The engine sets no other
%% pattern of this request, and earlier patterns stay.
not_put_back() ->
    Gone = {{no_such_tracer, 1}, []},
    Local = #{call => {local, []}},
    F = {?WORK, {f, 1}, #{}, Local#{call_count => true}},
    ok = inviso_engine_breakpoints:exchange([F]),
    {error, _} = inviso_engine_breakpoints:exchange(
                   [{?WORK, {f, 1}, Local#{call_count => true},
                     #{call => {global, []}}},
                    {?WORK, {g, 2}, #{}, Local#{meta => Gone}},
                    {?WORK, {h, 1}, #{}, Local}]),
    [{f, 1}] = traced_functions(),
    {traced, local} = erlang:trace_info({?WORK, f, 1}, traced),
    {call_count, 0} = erlang:trace_info({?WORK, f, 1}, call_count),
    1 = erlang:trace_pattern({?WORK, f, 1}, false, [local, call_count]),
    {error, _} = inviso_engine_breakpoints:exchange_on_load(
                   #{}, Local#{meta => Gone}),
    {all, false} = erlang:trace_info(on_load, all),
    ok.

%% The engine has a table of the functions that it traces without a match spec. If the VM refuses a
%% part of a request, the engine also undoes the request's changes in this table.
refused_half_way() ->
    F0 = inviso_engine_functions:activate(
           0, [call], inviso_engine_functions:new()),
    Meta = {{no_such_tracer, 1}, 0},
    Set = fun(What, Kinds, F) ->
                  inviso_engine_functions:set(0, What, {on, Kinds, true}, Meta,
                                              F)
          end,
    {ok, 1, F} = Set({?WORK, f, 1}, [local], F0),
    {error, _} = Set({?WORK, '_', '_'}, [local, meta, call_count], F),
    [{f, 1}] = traced_functions(),
    [{f, 1}] = noted(),
    _ = inviso_engine_functions:forget(0, F),
    [] = traced_functions(),
    [] = noted(),
    ok.

%% Each error names the called function with its arguments, and explains which
%% argument is wrong.
wrong_arguments_are_explained(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, explained, [])
    end.

explained() ->
    S = inviso_trace:session_create(s, self(), []),
    F = {?WORK, '_', '_'},
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, []),
    Wrong =
        [{process, [S, a, true, []], 2},
         {process, [S, self(), not_boolean, []], 3},
         {process, [S, self(), true, bad_flags], 4},
         {process, [S, self(), true, [bad_flag]], 4},
         {process, [S, all, true, [cpu_timestamp]], 4},
         {process, [S, self(), true, [call | send]], 4},
         {process, [S, self(), true, [call, {tracer, self()}]], 4},
         {port, [S, self(), not_boolean, []], 3},
         {function, [S, a, true, []], 2},
         {function, [S, {'_', f, 1}, true, []], 2},
         {function, [S, F, not_boolean, []], 3},
         {function, [S, F, [{x, y}], []], 3},
         {function, [S, F, true, bad_flags], 4},
         {function, [S, F, true, [bad_flag]], 4},
         {function, [S, F, true, [global, local]], 4},
         {send, [S, a, []], 2},
         {send, [S, true, bad_flags], 3},
         {send, [S, true, [bad_flag]], 3},
         {recv, [S, [{'_', [], [{silent, true}]}], []], 2},
         {recv, [S, true, [bad_flag]], 3},
         {send, [S, restart, []], 2},
         {recv, [S, restart, []], 2},
         {info, [bad_session, self(), flags], 1},
         {info, [make_ref(), self(), flags], 1},
         {info, [S, x, flags], 2},
         {info, [S, self(), bad_item], 3},
         {info, [S, {?WORK, f, 1}, bad_item], 3},
         {info, [S, send, bad_item], 3},
         {session_create, ["bad name", self(), []], 1},
         {session_create, [name, bad_tracer, []], 2},
         {session_create, [name, self(), bad_option], 3},
         {session_create, [name, self(), [bad_option]], 3},
         {session_destroy, [bad_session], 1},
         {session_destroy, [make_ref()], 1},
         {session_info, [{a, b}], 1}],
    Explained = [{G, Args, explanation(G, Args)} || {G, Args, _} <- Wrong],
    [] = [E || {{_, _, P}, {_, _, Got} = E} <- lists:zip(Wrong, Explained),
               Got =/= {badarg, P}],
    {{not_supported, {'andalso', true, {silent, true}}}, general} =
        explanation(function,
                    [S, {?WORK, f, 1},
                     [{'_', [], [{'andalso', true, {silent, true}}]}], []]),
    _ = [[{What, Word, true} = {What, Word, string:find(Text, Word) =/= nomatch}
          || Word <- Words]
         || {What, Words} <- [{{'andalso', true, {silent, true}},
                               ["{'andalso',true,{silent,true}}",
                                "action of its own", "OTP 27"]},
                              {{match_spec_clauses, 441},
                               ["441", "256", "fewer"]},
                              {{shared, self()},
                               [pid_to_list(self()), "tracer module",
                                "OTP 27"]},
                              {{processes, {m, s}}, ["{m,s}", "one by one"]}],
            Text <- [unicode:characters_to_list(
                       inviso_trace_errors:text({not_supported, What}))]],
    true = inviso_trace:session_destroy(S),
    {badarg, 1} = explanation(process, [S, self(), true, [call]]),
    ok.

explanation(Function, Args) ->
    try apply(inviso_trace, Function, Args) of
        Answer -> {answer, Answer}
    catch
        error:Reason:Stack ->
            [{inviso_trace, Function, Args, Info} | _] = Stack,
            #{module := Module} = proplists:get_value(error_info, Info),
            [{Position, Text}] =
                maps:to_list(Module:format_error(Reason, Stack)),
            true = is_list(unicode:characters_to_list(Text)),
            {Reason, Position}
    end.

%% The VM itself, not the engine, calls a tracer module other than inviso's. So no other session can
%% trace the same processes at the same time.
a_tracer_module_of_others(Config) ->
    case has_sessions() orelse built(Config) of
        true -> {skip, "OTP's own sessions"};
        error -> {skip, "no C compiler"};
        {ok, Dir} -> ok = call(?config(node, Config), ?MODULE, foreign, [Dir])
    end.

built(Config) ->
    Data = ?config(data_dir, Config),
    Dir = ?config(priv_dir, Config),
    Include = filename:join([code:root_dir(), "usr", "include"]),
    Output = os:cmd("cc -fPIC -shared -I " ++ Include ++ " -o "
                    ++ filename:join(Dir, "told_tracer.so") ++ " "
                    ++ filename:join(Data, "told_tracer.c")),
    case compile:file(filename:join(Data, "told_tracer"), [{outdir, Dir}]) of
        {ok, _} when Output =:= [] -> {ok, Dir};
        _ -> ct:pal("~ts", [Output]), error
    end.

foreign(Dir) ->
    Tracer = {told_tracer, self()},
    badarg = reason(session_create, [his, Tracer, []]),
    {module, told_tracer} =
        code:load_abs(filename:join(Dir, "told_tracer")),
    ok = told_tracer:load(Dir),
    His = inviso_trace:session_create(his, Tracer, []),
    Other = inviso_trace:session_create(other, self(), []),
    F = {?WORK, f, 1},
    [P, Q] = [spawn_link(fun() -> receive go -> ?WORK:f(1) end,
                                  receive stop -> ok end
                         end) || _ <- [1, 2]],
    {not_supported, {shared, Tracer}} =
        reason(session_create, [again, Tracer, []]),
    1 = inviso_trace:process(His, P, true, [call, silent]),
    1 = inviso_trace:process(His, P, false, [silent]),
    1 = inviso_trace:function(His, F, true, [local]),
    {tracer, Tracer} = inviso_trace:info(His, P, tracer),
    {flags, [call]} = inviso_trace:info(His, P, flags),
    {flags, []} = inviso_trace:info(Other, P, flags),
    _ = [badarg = reason(process, [His, Who, How, [call]])
         || Who <- [[P], [foo], remote_pid(), {P}], How <- [true, false]],
    badarg = reason(port, [His, P, true, [send]]),
    {not_supported, _} = reason(processes, [His, [P], [call]]),
    [{his, _}] = inviso_trace:session_info(P),
    {not_supported, {shared, _}} = reason(process, [Other, P, true, [procs]]),
    0 = inviso_trace:process(His, new, true, [call]),
    {not_supported, {shared, {new_processes, Tracer}}} =
        reason(process, [Other, all, true, [call]]),
    0 = inviso_trace:process(His, new, false, [call]),
    1 = inviso_trace:process(Other, Q, true, [call]),
    {not_supported, {shared, _}} = reason(function, [Other, F, true, [local]]),
    [R ! go || R <- [P, Q]],
    receive {told, call, P} -> ok after 60000 -> error(not_told) end,
    true = inviso_trace:session_destroy(His),
    {flags, []} = erlang:trace_info(P, flags),
    {traced, false} = erlang:trace_info(F, traced),
    1 = inviso_trace:process(Other, P, true, [procs]),
    1 = inviso_trace:function(Other, F, true, [local]),
    true = inviso_trace:session_destroy(Other),
    {messages, []} = process_info(self(), messages),
    _ = [begin unlink(R), exit(R, kill) end || R <- [P, Q]],
    ok.

%% Flags and patterns that other tools have set with erlang:trace/3 do not
%% change.
others_are_respected(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, others, [])
    end.

others() ->
    Self = self(),
    His = spawn_link(fun() -> receive stop -> ok end end),
    1 = erlang:trace(His, true, [call, {tracer, Self}]),
    1 = erlang:trace_pattern({?WORK, f, 1}, true, [local]),
    S = inviso_trace:session_create(s, Self, []),
    {already_traced, His, Self} =
        reason(process, [S, His, true, [procs]]),
    {already_traced, {?WORK, f, 1}} =
        reason(function, [S, {?WORK, f, 1}, true, [local]]),
    {already_traced, {?WORK, f, 1}} =
        reason(function, [S, {?WORK, '_', '_'}, true, []]),
    true = inviso_trace:process(S, all, true, [procs]) < length(processes()),
    [{legacy, default}] = inviso_trace:session_info(His),
    {flags, []} = inviso_trace:info(S, His, flags),
    true = inviso_trace:session_destroy(S),
    {flags, [call]} = erlang:trace_info(His, flags),
    {tracer, Self} = erlang:trace_info(His, tracer),
    {traced, local} = erlang:trace_info({?WORK, f, 1}, traced),
    1 = erlang:trace_pattern({?WORK, f, 1}, false, [local]),
    unlink(His),
    exit(His, kill),
    ok.

%% While another session has a global pattern on a function, a session's counters of this function
%% stop.
counters_give_way_to_global_patterns(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, give_way, [])
    end.

give_way() ->
    S = inviso_trace:session_create(s, self(), []),
    Other = inviso_trace:session_create(other, self(), []),
    MFA = {?WORK, f, 1},
    Counted = fun() -> {call_count, N} = inviso_trace:info(S, MFA, call_count),
                       N
              end,
    1 = inviso_trace:function(S, MFA, true, [call_count]),
    ?WORK:f(1),
    1 = Counted(),
    1 = inviso_trace:function(Other, MFA, true, [global]),
    ?WORK:f(2),
    2 = Counted(),
    Tracee = spawn_link(fun() -> receive X -> ?WORK:f(X) end end),
    1 = inviso_trace:process(Other, Tracee, true, [call]),
    {traced, global} = erlang:trace_info(MFA, traced),
    ?WORK:f(3),
    2 = Counted(),
    true = inviso_trace:session_destroy(Other),
    {traced, false} = erlang:trace_info(MFA, traced),
    ?WORK:f(4),
    3 = Counted(),
    1 = inviso_trace:function(S, MFA, pause, [call_count]),
    ?WORK:f(5),
    3 = Counted(),
    {call_count, false} = erlang:trace_info(MFA, call_count),
    true = inviso_trace:session_destroy(S),
    Tracee ! stop,
    ok.

%% While a function has a global pattern of erlang:trace_pattern/3, a session's counters of the
%% function stop, too. They stop whether the pattern or the counters were set first.
counters_rest_beside_others(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, rest, [])
    end.

rest() ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self()}),
    S = inviso_trace:session_create(s, self(), []),
    [F, G] = [{?WORK, Name, Arity} || {Name, Arity} <- [{f, 1}, {g, 2}]],
    Counted = fun(MFA) ->
                      {call_count, N} = inviso_trace:info(S, MFA, call_count),
                      N
              end,
    1 = inviso_trace:function(S, G, true, [call_count]),
    _ = ?WORK:g(1, 1),
    1 = Counted(G),
    1 = erlang:trace_pattern(F, true, [global]),
    1 = erlang:trace_pattern(G, true, [global]),
    true = inviso_trace:function(S, {?WORK, '_', '_'}, true,
                                 [call_count, call_time]) > 2,
    [{traced, global} = erlang:trace_info(MFA, traced) || MFA <- [F, G]],
    {call_count, 0} = erlang:trace_info({?WORK, h, 1}, call_count),
    _ = ?WORK:f(1),
    [0, 0] = [Counted(MFA) || MFA <- [F, G]],
    {already_traced, F} = reason(function, [S, F, true, []]),
    {already_traced, F} = reason(function, [S, F, true, [local, call_count]]),
    {already_traced, F} = reason(function, [S, F, true, [meta]]),
    {traced, global} = erlang:trace_info(F, traced),
    1 = inviso_trace:function(S, F, restart, [call_count]),
    1 = inviso_trace:function(S, G, false, [call_count, call_time]),
    {call_count, false} = inviso_trace:info(S, G, call_count),
    %% The global patterns are removed. The counters start again with the next request to the
    %% engine.
    2 = lists:sum([erlang:trace_pattern(MFA, false, [global])
                   || MFA <- [F, G]]),
    _ = ?WORK:f(1),
    0 = Counted(F),
    _ = ?WORK:f(1),
    1 = Counted(F),
    1 = erlang:trace_pattern(F, true, [global]),
    1 = inviso_trace:function(S, F, false, [call_time]),
    {traced, global} = erlang:trace_info(F, traced),
    1 = erlang:trace_pattern(F, false, [global]),
    1 = inviso_trace:function(S, F, true, [call_count]),
    _ = ?WORK:f(1),
    1 = Counted(F),
    1 = erlang:trace_pattern(F, true, [global]),
    true = inviso_trace:session_destroy(S),
    {traced, global} = erlang:trace_info(F, traced),
    1 = erlang:trace_pattern(F, false, [global]),
    %% The engine's server lets another process log, so the message comes some time later.
    [_] = [L || "trace sessions: a function that is counted" ++ _ = L
                    <- logged()],
    ok = logger:remove_handler(?MODULE).

logged() ->
    receive {logged, Line} -> [Line | logged()]
    after 1000 -> []
    end.

%% If a match spec names more tracers than fit into the engine's table, the engine sets no pattern.
%% It also removes the tracers of this match spec from the table. So the tracers of another match
%% spec fit.
named_tracers_have_a_limit(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, named_tracers, [])
    end.

named_tracers() ->
    Pids = [spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, 4200)],
    Name = fun(Ps) -> [{'_', [], [{message, {const, [{tracer, P}
                                                     || P <- Ps]}}]}] end,
    ok = inviso_engine:load(),
    {ok, S} = inviso_engine_request:open(s, undefined, []),
    F = {?WORK, f, 1},
    system_limit = reason(function, [S, F, Name(Pids), [local]]),
    {traced, false} = inviso_trace:info(S, F, traced),
    1 = inviso_trace:function(S, F, Name(lists:sublist(Pids, 4000)), [local]),
    system_limit = reason(function, [S, {?WORK, g, 2}, Name(Pids), [local]]),
    1 = inviso_trace:function(S, {?WORK, g, 2}, Name(lists:sublist(Pids, 4000)),
                              [local]),
    true = inviso_trace:session_destroy(S),
    _ = [exit(P, kill) || P <- Pids],
    ok.

%% The engine does not set a session's pattern while another tool has a pattern on the same
%% function. Other requests for this function still succeed.
foreign_patterns_block_no_session(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, block, [])
    end.

block() ->
    [S, Counts, Metas] =
        [inviso_trace:session_create(Name, self(), []) || Name <- [s, c, m]],
    F = {?WORK, f, 1},
    Tracee = spawn_link(fun() -> receive stop -> ok end end),
    1 = inviso_trace:function(S, F, true, [local]),
    1 = erlang:trace_pattern(F, true, [global]),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    {traced, global} = erlang:trace_info(F, traced),
    1 = inviso_trace:function(Counts, F, true, [call_count]),
    1 = inviso_trace:function(Counts, F, false, [call_count]),
    1 = erlang:trace_pattern(F, [{'_', [], [{return_trace}]}], [local]),
    1 = inviso_trace:function(Counts, F, true, [call_count]),
    1 = inviso_trace:function(Metas, F, true, [meta]),
    {meta, {inviso_engine, _}} = erlang:trace_info(F, meta),
    _ = ?WORK:f(1),
    {call_count, 1} = inviso_trace:info(Counts, F, call_count),
    true = inviso_trace:session_destroy(Metas),
    {meta, []} = erlang:trace_info(F, meta),
    1 = inviso_trace:function(Counts, F, false, [call_count]),
    {call_count, false} = erlang:trace_info(F, call_count),
    {match_spec, [{'_', [], [{return_trace}]}]} =
        erlang:trace_info(F, match_spec),
    1 = erlang:trace_pattern(F, false, [local]),
    true = inviso_trace:session_destroy(S),
    true = inviso_trace:session_destroy(Counts),
    Tracee ! stop,
    ok.

%% Each call of erlang:trace_pattern/3 takes long on a busy node. So one call sets a pattern on all
%% arities of a function, and one call clears the patterns of a module. Functions that the session
%% has not selected stay as they are, and so do patterns of other tools.
few_calls_change_many_functions(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, few_calls, [])
    end.

few_calls() ->
    M = inviso_few_calls,
    ok = load_module(M, [{all, 0}, {all, 1}, {all, 2}, {some, 0}, {some, 1}, {one, 0}, {other, 0}],
                     []),
    Tracee = spawn_link(fun() -> receive stop -> ok end end),
    All = [{M, all, 0}, {M, all, 1}, {M, all, 2}],
    Selected = [{M, some, 1}, {M, one, 0} | All],
    Rest = [{M, some, 0}, {M, other, 0}, {M, module_info, 0}],
    Set = fun() ->
                  S = inviso_trace:session_create(s, self(), []),
                  _ = [1 = inviso_trace:function(S, MFA, true, [local]) || MFA <- Selected],
                  1 = inviso_trace:process(S, Tracee, true, [call]),
                  S
          end,
    {S1, 3} = counting(Set),
    [local] = traced(Selected),
    [false] = traced(Rest),
    {true, 1} = counting(fun() -> inviso_trace:session_destroy(S1) end),
    [false] = traced(Selected ++ Rest),

    Another = {M, other, 0},
    1 = erlang:trace_pattern(Another, true, [local]),
    {S2, 3} = counting(Set),
    {true, 3} = counting(fun() -> inviso_trace:session_destroy(S2) end),
    [false] = traced(Selected),
    [local] = traced([Another]),
    1 = erlang:trace_pattern(Another, false, [local]),

    1 = erlang:trace_pattern(Another, true, [call_count]),
    S3 = Set(),
    true = inviso_trace:session_destroy(S3),
    {call_count, 0} = erlang:trace_info(Another, call_count),
    Tracee ! stop,
    _ = code:purge(M),
    true = code:delete(M),
    ok.

%% Makes and loads a module with these functions. Each function returns its name. A function
%% use/0 calls the functions that are not exported, so that the compiler keeps them.
load_module(M, Exported, Others) ->
    Function = fun(F, A, Body) ->
                       {function, 1, F, A,
                        [{clause, 1, lists:duplicate(A, {var, 1, '_'}), [], Body}]}
               end,
    Forms = [{attribute, 1, module, M},
             {attribute, 1, export, [{use, 0} | Exported]},
             Function(use, 0, [{atom, 1, use}
                               | [{call, 1, {atom, 1, F}, lists:duplicate(A, {atom, 1, x})}
                                  || {F, A} <- Others]])
             | [Function(F, A, [{call, 1, {remote, 1, {atom, 1, erlang}, {atom, 1, hd}},
                                 [{cons, 1, {atom, 1, F}, {nil, 1}}]}])
                || {F, A} <- Exported ++ Others]],
    {ok, M, Beam} = compile:forms(Forms),
    {module, M} = code:load_binary(M, "", Beam),
    ok.

%% Returns the result of a fun, and how often it has called erlang:trace_pattern/3.
counting(Fun) ->
    Counted = {erlang, trace_pattern, 3},
    1 = erlang:trace_pattern(Counted, true, [call_count]),
    Result = Fun(),
    {call_count, N} = erlang:trace_info(Counted, call_count),
    1 = erlang:trace_pattern(Counted, false, [call_count]),
    {Result, N}.

traced(MFAs) ->
    lists:usort([How || MFA <- MFAs, {traced, How} <- [erlang:trace_info(MFA, traced)]]).

%% One call of erlang:trace_pattern/3 changes a whole module only if no other function changes.
one_call_for_a_module_changes_no_other_function(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, one_call, [])
    end.

one_call() ->
    M = inviso_one_call,
    ok = load_module(M, [{f, 0}, {g, 0}], [{hidden, 0}]),
    Tracee = spawn_link(fun() -> receive stop -> ok end end),
    Exports = [{M, F, A} || {F, A} <- M:module_info(exports)],
    Hidden = {M, hidden, 0},
    %% Counters replace the global patterns of all exported functions.
    Globals = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:process(Globals, Tracee, true, [call]),
    _ = inviso_trace:function(Globals, {M, '_', '_'}, true, [global]),
    Counts = inviso_trace:session_create(c, self(), []),
    _ = [1 = inviso_trace:function(Counts, MFA, true, [call_count]) || MFA <- Exports],
    true = inviso_trace:session_destroy(Globals),
    [{call_count, 0}] = lists:usort([erlang:trace_info(MFA, call_count)
                                     || MFA <- Exports, MFA =/= {M, module_info, 1}]),
    {call_count, false} = erlang:trace_info(Hidden, call_count),
    true = inviso_trace:session_destroy(Counts),
    %% A function that is not exported has a counter of another session.
    Times = inviso_trace:session_create(t, self(), []),
    1 = inviso_trace:function(Times, Hidden, true, [call_time]),
    S = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    _ = inviso_trace:function(S, {M, '_', '_'}, true, [global]),
    {call_time, []} = erlang:trace_info(Hidden, call_time),
    true = inviso_trace:session_destroy(S),
    true = inviso_trace:session_destroy(Times),
    %% A function has the name '_', which selects all functions as an argument.
    ok = load_module(M, [{'_', 0}, {'_', 1}, {f, 0}], []),
    Any = inviso_trace:session_create(a, self(), []),
    _ = inviso_trace:function(Any, {M, '_', '_'}, true, [local]),
    Theirs = [{'_', [], [{return_trace}]}],
    1 = erlang:trace_pattern({M, f, 0}, Theirs, [local]),
    1 = inviso_trace:process(Any, Tracee, true, [call]),
    {match_spec, Theirs} = erlang:trace_info({M, f, 0}, match_spec),
    true = inviso_trace:session_destroy(Any),
    {match_spec, Theirs} = erlang:trace_info({M, f, 0}, match_spec),
    1 = erlang:trace_pattern({M, f, 0}, false, [local]),
    Tracee ! stop,
    _ = code:purge(M),
    true = code:delete(M),
    ok.

%% A session whose only local pattern is lost gets no event `return_to' for calls that another
%% session traces.
a_lost_pattern_gets_no_returns(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, lost_pattern, [])
    end.

lost_pattern() ->
    {M, F} = {inviso_lost_pattern, {inviso_lost_pattern, f, 0}},
    ok = load_module(M, [{f, 0}], []),
    Reload = fun() -> ok = load_module(M, [{f, 0}, {new, 0}], []), _ = code:purge(M) end,
    Replace = fun() -> 1 = erlang:trace_pattern(F, [{'_', [], [{return_trace}]}], [local]) end,
    [[], []] = [returns_after(Lose, F) || Lose <- [Reload, Replace]],
    1 = erlang:trace_pattern(F, false, [local]),
    _ = code:purge(M),
    true = code:delete(M),
    ok.

returns_after(Lose, F) ->
    Self = self(),
    {Tracee, Ref} = spawn_monitor(fun() ->
                                          receive go -> ok end,
                                          Self ! {returned, ?WORK:f(1)}
                                  end),
    [S, Other] = [inviso_trace:session_create(Name, spawn_tracer(Name, Self), [])
                  || Name <- [s, other]],
    1 = inviso_trace:function(S, F, true, [local]),
    1 = inviso_trace:function(Other, {?WORK, f, 1}, true, [local]),
    [1 = inviso_trace:process(A, Tracee, true, [call]) || A <- [S, Other]],
    Lose(),
    1 = inviso_trace:process(S, Tracee, false, [call]),
    1 = inviso_trace:process(S, Tracee, true, [call, return_to]),
    Tracee ! go,
    receive {returned, _} -> ok end,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    receive {other, {trace, Tracee, call, _}} -> ok end,
    [true = inviso_trace:session_destroy(A) || A <- [S, Other]],
    receive {s, Event} -> [Event]
    after 500 -> []
    end.

spawn_tracer(Name, To) ->
    spawn_link(fun Loop() -> receive Event -> To ! {Name, Event}, Loop() end end).

%% If another tool replaces a session's pattern for calls, the session has lost this pattern. The
%% other tool's pattern stays.
what_others_replace_is_over(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, replaced, [])
    end.

replaced() ->
    S = inviso_trace:session_create(s, self(), []),
    Tracee = spawn_link(fun() -> receive stop -> ok end end),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    F = {?WORK, f, 1},
    1 = inviso_trace:function(S, F, true, [local, call_count]),
    _ = ?WORK:f(1),
    His = [{'_', [], [{return_trace}]}],
    1 = erlang:trace_pattern(F, His, [local]),
    _ = ?WORK:f(1),
    {traced, false} = inviso_trace:info(S, F, traced),
    {call_count, 2} = inviso_trace:info(S, F, call_count),
    G = {?WORK, g, 2},
    1 = inviso_trace:function(S, G, true, [local]),
    1 = inviso_trace:function(S, G, true, [call_count]),
    1 = erlang:trace_pattern(G, true, [global]),
    1 = inviso_trace:function(S, G, restart, [call_count]),
    {traced, global} = erlang:trace_info(G, traced),
    true = inviso_trace:session_destroy(S),
    {traced, global} = erlang:trace_info(G, traced),
    1 = erlang:trace_pattern(G, false, [global]),
    {call_count, false} = erlang:trace_info(F, call_count),
    {match_spec, His} = erlang:trace_info(F, match_spec),
    1 = erlang:trace_pattern(F, false, [local]),
    Tracee ! stop,
    ok.

%% Call times stay when the session's tracer is killed.
times_outlive_the_tracer(Config) ->
    ok = call(?config(node, Config), ?MODULE, outlived, []).

outlived() ->
    Tracer = spawn(fun() -> receive stop -> ok end end),
    Self = self(),
    {Tracee, Ref} = spawn_monitor(fun() ->
                                          receive go -> ok end,
                                          _ = [?WORK:f(N) || N <- [1, 2, 3]],
                                          Self ! called,
                                          receive stop -> ok end
                                  end),
    S = inviso_trace:session_create(s, Tracer, []),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [call_time]),
    Tracee ! go,
    receive called -> ok end,
    exit(Tracer, kill),
    ok = wait_until(fun() ->
                            {flags, []} =:= inviso_trace:info(S, Tracee, flags)
                    end),
    {call_time, [{Tracee, 3, _, _}]} =
        inviso_trace:info(S, {?WORK, f, 1}, call_time),
    Tracee ! stop,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    true = inviso_trace:session_destroy(S),
    ok.

a_message_begins_the_tracing_of_calls(Config) ->
    ok = call(?config(node, Config), ?MODULE, begun, []).

begun() ->
    Tracee = spawn_link(fun() ->
                                receive go -> ok end,
                                0 = ?WORK:f(0),
                                self() ! x,
                                1 = ?WORK:f(1)
                        end),
    S = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [local]),
    1 = inviso_trace:process(S, Tracee, true, [send]),
    1 = inviso_trace:send(S, [{'_', [], [{trace, [], [call]}]}], []),
    Tracee ! go,
    ok = receive {trace, Tracee, send, x, Tracee} -> ok after 60000 -> none end,
    ok = receive
             {trace, Tracee, call, {?WORK, f, [1]}} -> ok
         after 60000 -> none
         end,
    true = inviso_trace:session_destroy(S),
    ok.

%% A tracer that only trace sessions use is closed without a wait for the schedulers. If
%% erlang:trace/3 used the tracer, closing it would make each scheduler run a process first.
a_tracer_of_sessions_alone_goes_at_once(Config) ->
    Log = filename:join(?config(priv_dir, Config), "alone.log"),
    ok = call(?config(node, Config), ?MODULE, alone, [Log]).

alone(Log) ->
    {ok, Tracer} = inviso_tracer:open(Log, #{}),
    Before = inviso_tracer:nif_gone(),
    S = inviso_trace:session_create(s, Tracer, []),
    1 = inviso_trace:process(S, self(), true, [call]),
    0 = inviso_trace:process(S, new, true, [call]),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, []),
    {tracer, Tracer} = inviso_trace:info(S, self(), tracer),
    1 = ?WORK:f(1),
    true = inviso_trace:session_destroy(S),
    {ok, #{recorded := 1}} = inviso_tracer:close(Tracer),
    Before = inviso_tracer:nif_gone(),
    ok.

a_killed_server(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, killed, [])
    end.

killed() ->
    Tracee = spawn_link(fun() -> receive X -> ?WORK:f(X) end end),
    S = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [local]),
    0 = inviso_trace:function(S, on_load, true, [local, meta, call_count]),
    exit(whereis(inviso_engine_server), kill),
    ok = wait_until(fun() ->
                            {traced, false} =:=
                                erlang:trace_info({?WORK, f, 1}, traced)
                                andalso {flags, []} =:=
                                erlang:trace_info(Tracee, flags)
                    end),
    ok = wait_until(fun() -> whereis(inviso_engine_server) =:= undefined end),
    {all, false} = erlang:trace_info(on_load, all),
    %% The engine has a table of functions without a match spec. If the table still had a pattern of
    %% the killed server, the next server would think that another tool had set this pattern.
    false = inviso_engine:is_plain(?WORK, f, 1),
    New = inviso_trace:session_create(s, self(), []),
    badarg = reason(process, [S, Tracee, true, [call]]),
    1 = inviso_trace:function(New, {?WORK, f, 1}, true, []),
    1 = inviso_trace:process(New, Tracee, true, [call]),
    Tracee ! y,
    receive
        {trace, Tracee, call, {_, f, [y]}} -> ok
    after 60000 -> error(none)
    end,
    true = inviso_trace:session_destroy(New),
    ok.

%% The server clears the settings of the last session. If the server is killed
%% meanwhile, the settings are still cleared.
a_server_killed_while_it_cleans_up(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, killed_at_its_end,
                           [])
    end.

killed_at_its_end() ->
    Many = [spawn_link(fun() -> receive X -> X end end)
            || _ <- lists:seq(1, 5000)],
    S = inviso_trace:session_create(s, self(), []),
    _ = [1 = inviso_trace:process(S, P, true, [call]) || P <- Many],
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [local]),
    Server = whereis(inviso_engine_server),
    {Asks, Monitor} = spawn_monitor(inviso_trace, session_destroy, [S]),
    %% The server runs with priority `high'. To kill it in time, this process needs a higher
    %% priority.
    Old = process_flag(priority, max),
    ok = until_not_traced({?WORK, f, 1}),
    exit(Server, kill),
    process_flag(priority, Old),
    receive {'DOWN', Monitor, process, Asks, _} -> ok end,
    ok = wait_until(fun() ->
                            [] =:= [P || P <- Many, {flags, []} =/=
                                        erlang:trace_info(P, flags)]
                    end),
    ok = wait_until(fun() -> whereis(inviso_engine_server) =:= undefined end),
    _ = [P ! stop || P <- Many],
    ok.

until_not_traced(MFA) ->
    case erlang:trace_info(MFA, traced) of
        {traced, false} -> ok;
        %% Waits, so that the server can run even if there is only one scheduler.
        _ -> receive after 1 -> until_not_traced(MFA) end
    end.

%% Another tool traces the end of a call with erlang:trace_pattern/3. No session gets this event.
ends_that_another_tool_traces(Config) ->
    ok = call(?config(node, Config), ?MODULE, foreign_ends, []).

foreign_ends() ->
    Self = self(),
    Tracee = spawn_link(fun() ->
                                receive {go, Fun} -> ?WORK:within(Fun) end,
                                Self ! done,
                                receive stop -> ok end
                        end),
    S = session(Tracee, s),
    MS = [{'_', [], [{return_trace}]}],
    Ours = {?WORK, within, 1},
    His = {?WORK, f, 1},
    1 = inviso_trace:function(S, Ours, MS, [local]),
    1 = erlang:trace_pattern(His, MS, [local]),
    Tracee ! {go, fun() -> [?WORK:f(x)] end},
    receive done -> ok after 60000 -> error(none) end,
    true = inviso_trace:session_destroy(S),
    1 = erlang:trace_pattern(His, false, [local]),
    Tracee ! stop,
    [{trace, Tracee, call, {_, within, _}},
     {trace, Tracee, return_from, Ours, _}] = traced(),
    ok.

traced() ->
    receive
        M when element(1, M) =:= trace -> [M | traced()]
    after 0 -> []
    end.

%% In the engine, each session has a bit, which marks its settings. A session ends after a call that
%% it traces, but before the end of this call. When the call ends, a new session has the bit.
a_bit_that_is_used_again(Config) ->
    ok = call(?config(node, Config), ?MODULE, used_again, []).

used_again() ->
    Self = self(),
    Tracee = spawn_link(fun() ->
                                receive {go, Fun} -> ?WORK:within(Fun) end,
                                ?WORK:f(last),
                                Self ! done
                        end),
    [First, Stays] = [session(Tracee, S) || S <- [first, stays]],
    1 = inviso_trace:function(First, {?WORK, within, 1},
                              [{'_', [], [{return_trace}]}], []),
    Tracee ! {go, fun() ->
                          true = inviso_trace:session_destroy(First),
                          _ = [inviso_trace:session_destroy(
                                 inviso_trace:session_create(s, Self, []))
                               || _ <- lists:seq(1, 30)],
                          Next = session(Tracee, next),
                          1 = inviso_trace:function(Next, {?WORK, f, 1},
                                                    true, []),
                          Self ! {next, Next}
                  end},
    Next = receive {next, N} -> N after 60000 -> error(none) end,
    receive done -> ok after 60000 -> error(none) end,
    {messages, Messages} = process_info(self(), messages),
    [{trace, Tracee, call, {_, within, [_]}},
     {trace, Tracee, call, {_, f, [last]}}] = Messages,
    true = inviso_trace:session_destroy(Next),
    true = inviso_trace:session_destroy(Stays),
    ok.

%% The engine gives a new session the bit of an ended session. The new session gets no call times of
%% processes that had the flag `call' only in the ended session.
processes_of_an_earlier_session(Config) ->
    ok = call(?config(node, Config), ?MODULE, traced_before, []).

traced_before() ->
    Self = self(),
    Calls = fun F() -> receive go -> ?WORK:f(1), Self ! called, F() end end,
    [P, Q] = Tracees = [spawn_link(Calls) || _ <- [p, q]],
    [Before, Stays] = [inviso_trace:session_create(s, Self, []) || _ <- [1, 2]],
    _ = [1 = inviso_trace:process(S, P, true, [call]) || S <- [Before, Stays]],
    true = inviso_trace:session_destroy(Before),
    _ = [inviso_trace:session_destroy(inviso_trace:session_create(s, Self, []))
         || _ <- lists:seq(1, 30)],
    Next = inviso_trace:session_create(next, Self, []),
    1 = inviso_trace:process(Next, Q, true, [call]),
    1 = inviso_trace:function(Next, {?WORK, f, 1}, true, [call_time]),
    _ = [begin
             Tracee ! go,
             receive called -> ok after 10000 -> error(Tracee) end
         end || Tracee <- Tracees],
    {call_time, [{Q, 1, _, _}]} = inviso_trace:info(Next, {?WORK, f, 1},
                                                    call_time),
    _ = [true = inviso_trace:session_destroy(S) || S <- [Next, Stays]],
    _ = [begin unlink(T), exit(T, kill) end || T <- Tracees],
    ok.

session(Tracee, Name) ->
    S = inviso_trace:session_create(Name, self_or(Tracee), []),
    1 = inviso_trace:process(S, Tracee, true, [call]),
    S.

%% Returns the process that runs the test. The caller of this function is either that process or the
%% tracee, which is linked to that process.
self_or(Tracee) ->
    case self() of
        Tracee -> {links, [Pid | _]} = process_info(Tracee, links), Pid;
        Self -> Self
    end.

%% The engine's table of combinations of flags is limited. If a request would exceed the limit, the
%% engine returns an error and logs a warning.
no_room_is_logged(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, no_room, [])
    end.

no_room() ->
    Self = self(),
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => Self}),
    S = inviso_trace:session_create(s, Self, []),
    Pid = spawn(fun() -> receive stop -> ok end end),
    1 = inviso_trace:process(S, Pid, true, [call]),
    Profile = inviso_engine:profile_of(Pid),
    true = lists:any(fun({Bit, N}) ->
                             inviso_engine:edit(Pid, 31, 0, Bit, N) =:= full
                     end, [{Bit, N} || Bit <- [1, 2],
                                       N <- lists:seq(1, 65534)]),
    Full = inviso_engine:profile_of(Pid),
    system_limit = reason(process, [S, Pid, true, [procs, send]]),
    Full = inviso_engine:profile_of(Pid),
    Profile = inviso_engine:edit(Pid, 31, 3, 0, 0),
    ok = receive {logged, "trace sessions: no room" ++ _} -> ok
         after 60000 -> nothing_is_logged
         end,
    {flags, [call]} = inviso_trace:info(S, Pid, flags),
    true = inviso_trace:session_destroy(S),
    ok = logger:remove_handler(?MODULE),
    exit(Pid, kill),
    ok.

%% The callback of the test's log handler. If the engine's server calls it, it never returns. So the
%% test hangs if the server itself logs.
log(#{level := warning, msg := {Format, Args}}, #{config := Pid}) ->
    _ = self() =:= whereis(inviso_engine_server)
        andalso timer:sleep(infinity),
    Pid ! {logged, lists:flatten(io_lib:format(Format, Args))};
log(_, _) ->
    ok.

%% The test gives a list of processes to process/4, which takes only one process. The engine refuses
%% the list with the same error as OTP, and other sessions continue.
a_list_of_processes_is_refused(Config) ->
    ok = call(?config(node, Config), ?MODULE, lists_refused, []).

lists_refused() ->
    Remote = remote_pid(),
    S = inviso_trace:session_create(s, self(), []),
    Other = inviso_trace:session_create(other, self(), []),
    Pid = spawn_link(fun() -> receive stop -> ok end end),
    1 = inviso_trace:process(Other, Pid, true, [procs]),
    _ = [badarg = reason(process, [S, Who, How, [call]])
         || How <- [true, false],
            Who <- [[Pid], [foo], [], [Pid | x], [Remote], Remote, {Pid}, "x"]],
    _ = [badarg = reason(port, [S, Who, true, [send]])
         || Who <- [[hd(erlang:ports())], Pid]],
    _ = [badarg = reason(processes, [S, Who, [call]])
         || Who <- [Pid, [foo], [Pid | x], [Remote], all]],
    {flags, []} = inviso_trace:info(S, Pid, flags),
    {flags, [procs]} = inviso_trace:info(Other, Pid, flags),
    {Dead, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    1 = inviso_trace:processes(S, [Dead, Pid], [call]),
    0 = inviso_trace:processes(S, [], [call]),
    {flags, [call]} = inviso_trace:info(S, Pid, flags),
    _ = [true = inviso_trace:session_destroy(Session) || Session <- [S, Other]],
    Pid ! stop,
    ok.

%% Two requests wait for the server. The first is for many processes, so the server answers the
%% second request first.
others_do_not_wait_for_many_processes(Config) ->
    case has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> ok = call(?config(node, Config), ?MODULE, in_between, [])
    end.

in_between() ->
    Pids = [spawn_link(fun() -> receive stop -> ok end end)
            || _ <- lists:seq(1, 256)],
    {_, Many} = S = inviso_trace:session_create(many, self(), []),
    {_, Weak} = Other = inviso_trace:session_create(other, self(), []),
    Server = whereis(inviso_engine_server),
    true = erlang:suspend_process(Server),
    Long = asked({Many, {processes, Pids, [call], 0}}),
    Short = asked({Weak, destroy}),
    true = erlang:resume_process(Server),
    {Short, {ok, true}} = answer(),
    {Long, {ok, 256}} = answer(),
    256 = length([P || P <- Pids,
                       inviso_trace:info(S, P, flags) =:= {flags, [call]}]),
    false = inviso_trace:session_destroy(Other),
    true = inviso_trace:session_destroy(S),
    _ = [P ! stop || P <- Pids],
    ok.

%% Sends a request in the same way as inviso_engine_request, but does not wait for the answer.
asked(Request) ->
    Ref = monitor(process, inviso_engine_server, [{alias, reply_demonitor}]),
    inviso_engine_server ! {'$inviso_engine', Ref, self(), Request},
    Ref.

answer() ->
    receive
        {'$inviso_engine', Ref, Answer} -> {Ref, Answer};
        {'DOWN', Ref, process, _, Reason} -> {Ref, Reason}
    after 60000 -> none
    end.

remote_pid() ->
    binary_to_term(<<131, 88, 100, 0, 3, "a@b", 99:32, 0:32, 1:32>>).

%% A session sets the flag `send' on new processes, but its match spec for `send' is false, so it
%% gets no event. The engine does not set such a flag in the VM, so other tools can trace the
%% processes. When the session sets the match spec to true, it gets events.
flags_that_no_event_needs(Config) ->
    ok = call(?config(node, Config), ?MODULE, not_needed, []).

not_needed() ->
    Echo = fun F() -> receive {To, M} -> To ! M, F() end end,
    Old = spawn(Echo),
    S = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:send(S, false, []),
    0 = inviso_trace:process(S, new, true, [send]),
    New = spawn(Echo),
    Others = spawn(Echo),
    1 = erlang:trace(Others, true, [procs]),
    1 = erlang:trace(Others, false, [procs]),
    {flags, [send]} = inviso_trace:info(S, New, flags),
    {flags, []} = inviso_trace:info(S, Old, flags),
    1 = inviso_trace:send(S, true, []),
    Newest = spawn(Echo),
    Sent = [begin P ! {self(), hello}, receive hello -> P end end
            || P <- [Old, New, Newest]],
    3 = length(Sent),
    _ = [receive {trace, P, send, hello, _} -> ok after 60000 -> error(P) end
         || P <- [New, Newest]],
    receive {trace, Old, _, _, _} = M -> error(M) after 0 -> ok end,
    %% The session turns the events off again. The processes still have the session's flags.
    1 = inviso_trace:send(S, false, []),
    Last = spawn(Echo),
    [{flags, [send]}] =
        lists:usort([inviso_trace:info(S, P, flags)
                     || P <- [New, Newest, Last]]),
    {flags, []} = inviso_trace:info(S, Old, flags),
    _ = [exit(P, kill) || P <- [Old, New, Others, Newest, Last]],
    true = inviso_trace:session_destroy(S),
    ok.

%% The VM's table of processes can have a live process at the index that a dead process had. The two
%% pids then differ only in their upper bits.
a_dead_process_with_a_used_index(Config) ->
    ok = call(?config(node, Config), ?MODULE, dead_and_alive, []).

dead_and_alive() ->
    Alive = spawn_link(fun() -> receive stop -> ok end end),
    Dead = same_place(Alive),
    false = is_process_alive(Dead),
    S = inviso_trace:session_create(s, self(), []),
    1 = inviso_trace:process(S, Alive, true, [call]),
    1 = inviso_trace:process(S, self(), true, [call, procs, set_on_link]),
    1 = inviso_trace:function(S, {?WORK, f, 1},
                              [{'_', [], [{trace, Dead, [], [send]}]}], []),
    0 = ?WORK:f(0),
    {flags, [call]} = inviso_trace:info(S, Alive, flags),
    process_flag(trap_exit, true),
    true = link(Dead),
    ok = receive {'EXIT', Dead, noproc} -> ok after 60000 -> no_exit end,
    {flags, [call]} = inviso_trace:info(S, Alive, flags),
    badarg = reason(process, [S, Dead, true, [send]]),
    {flags, [call]} = inviso_trace:info(S, Alive, flags),
    true = inviso_trace:session_destroy(S),
    Alive ! stop,
    ok.

%% Returns a pid with the same table index as Pid and other upper bits. The text of a pid has the
%% lower 15 bits before the last dot, and the upper bits after it.
same_place(Pid) ->
    [_, Number, Serial] = [list_to_integer(L)
                           || L <- string:lexemes(pid_to_list(Pid), "<.>")],
    Later = Serial + (erlang:system_info(process_limit) bsr 15),
    list_to_pid(lists:flatten(io_lib:format("<0.~w.~w>", [Number, Later]))).

%% Sessions begin and end while processes make calls and spawn others as fast as possible.
sessions_come_and_go(Config) ->
    ok = call(?config(node, Config), ?MODULE, come_and_go, []).

come_and_go() ->
    process_flag(priority, high),
    Busy = [spawn_link(fun busy/0) || _ <- lists:seq(1, 4)],
    Tracer = spawn_link(fun swallow/0),
    _ = [come(Busy, Tracer, N) || N <- lists:seq(1, 5)],
    _ = [begin unlink(P), exit(P, kill) end || P <- [Tracer | Busy]],
    wait_until(fun() -> not lists:any(fun is_process_alive/1, Busy) end).

come(Busy, Tracer, N) ->
    Sessions = [inviso_trace:session_create(s, Tracer, [])
                || _ <- lists:seq(0, N rem 4)],
    Spec = [{['$1'], [{is_integer, '$1'}], [{message, '$1'},
                                            {exception_trace}]}],
    _ = [begin
             _ = [1 = inviso_trace:process(S, P, true, [call, procs,
                                                        set_on_spawn])
                  || P <- Busy],
             1 = inviso_trace:function(S, {?WORK, fact, 1}, Spec, [local]),
             1 = inviso_trace:function(S, {?WORK, even, 1},
                                       [{'_', [], [{return_trace}]}],
                                       [local])
         end || S <- Sessions],
    _ = [true = inviso_trace:session_destroy(S) || S <- Sessions],
    ok.

busy() ->
    _ = ?WORK:even(20),
    _ = ?WORK:fact(5),
    _ = (catch ?WORK:fact(a)),
    {Pid, Ref} = spawn_monitor(?WORK, fact, [3]),
    receive {'DOWN', Ref, process, Pid, _} -> busy() end.

swallow() ->
    receive _ -> swallow() end.

%% Runs a function on a new node, on which inviso was not used yet.
fresh(Function, Config) ->
    case has_sessions() of
        true ->
            {skip, "OTP's own sessions"};
        false ->
            Node = inviso_test_lib:start_alone(?config(priv_dir, Config)),
            try
                Dir = filename:dirname(code:which(?MODULE)),
                true = call(Node, code, add_patha, [Dir]),
                ok = call(Node, ?MODULE, Function, [])
            after
                inviso_test_lib:stop_node(Node)
            end
    end.

%% Logs a warning, so that the node loads the modules for it now. Otherwise a warning of the engine,
%% which a slow machine can cause, would load them during the test.
has_logged() ->
    logger:warning("~s ~0tP (~b)", ["warm", up, 10, 1]),
    _ = logger_std_h:filesync(default),
    ok.

%% A request for all functions returns their number. If the engine loaded a
%% module during the first request, the next request would return more.
counts_of_everything_from_the_first_use(Config) ->
    fresh(counts, Config).

counts() ->
    has_logged(),
    S = inviso_trace:session_create(s, self(), []),
    All = {'_', '_', '_'},
    Counts = [inviso_trace:function(S, All, How, [call_count])
              || How <- [true, true, pause, restart, false, false]],
    [_] = lists:usort(Counts),
    true = inviso_trace:session_destroy(S),
    ok.

%% Requests of all kinds load no module.
no_code_is_loaded_by_requests(Config) ->
    fresh(requests, Config).

requests() ->
    has_logged(),
    {module, _} = code:ensure_loaded(?WORK),
    Tracer = spawn_link(fun() -> receive stop -> ok end end),
    S = inviso_trace:session_create(s, Tracer, []),
    Loaded = erlang:loaded(),
    MFA = {?WORK, f, 1},
    Specs = [true, false, [{['$1'], [{'>', '$1', 1}], [{return_trace}]}],
             [{'_', [], [{trace, [call], [send]}]}], pause, restart, bad],
    Kinds = [[], [local], [global], [meta], [call_count], [call_time],
             [call_memory], [bad]],
    Infos = [self(), hd(erlang:ports()), new_processes, new_ports, MFA, on_load,
             send, 'receive', bad],
    Items = [flags, tracer, all, traced, match_spec, meta, call_count,
             call_time, bad],
    Requests =
        [{function, [S, Of, Spec, Kind]}
         || Of <- [MFA, {?WORK, '_', '_'}, on_load], Spec <- Specs,
            Kind <- Kinds] ++
        [{process, [S, Who, How, [Flag]]}
         || Who <- [Tracer, new, bad], How <- [true, false],
            Flag <- [call, procs, bad]] ++
        [{port, [S, hd(erlang:ports()), How, [send]]}
         || How <- [true, false]] ++
        [{Event, [S, Spec, []]} || Event <- [send, recv], Spec <- Specs] ++
        [{info, [S, Of, Item]} || Of <- Infos, Item <- Items] ++
        [{session_info, [Of]} || Of <- [all | Infos]] ++
        [{delivered, [S, all]}],
    %% Refused requests load no module either.
    _ = [catch apply(inviso_trace, F, Args) || {F, Args} <- Requests],
    [] = erlang:loaded() -- Loaded,
    true = inviso_trace:session_destroy(S),
    [] = erlang:loaded() -- Loaded,
    ok.
