%% SPDX-License-Identifier: Apache-2.0
%% @doc A Common Test hook for failures that ct:run_test/1 does not count.
%% test/job installs the hook in every run of a suite.
%%
%% If end_per_testcase crashes or hangs, Common Test only warns; the hook makes
%% the case fail. Common Test does not count failures of end_per_group and
%% end_per_suite; the hook counts them, and test/job adds the result of faults/0
%% to the failures.
%%
%% The hook also writes the CPU time of each case, in seconds, to the file that
%% INVISO_CPU_OF_CASES names. It reads the time from the file of a cgroup that
%% INVISO_CPU_STAT names.
-module(inviso_ct_hook).

-export([id/1, init/2, pre_init_per_testcase/4, post_end_per_testcase/5,
         post_end_per_group/5, post_end_per_suite/4]).
-export([fault/1, faults/0]).

-define(COUNTER, {?MODULE, counter}).

id(_Opts) ->
    ?MODULE.

init(_Id, _Opts) ->
    persistent_term:put(?COUNTER, counters:new(1, [])),
    {ok, none}.

%% The hook's state is the CPU time that the tests had used when the case began.
pre_init_per_testcase(_Suite, _Case, Config, _State) ->
    {Config, cpu()}.

post_end_per_testcase(Suite, Case, _Config, Result, State) ->
    write_cpu(Suite, Case, State),
    case Result of
        {failed, {_, end_per_testcase, _}} -> {{fail, Result}, State};
        {skip, _} -> {skipped(Result, comment()), State};
        _ -> {Result, State}
    end.

%% Returns the CPU time that the tests have used so far, in seconds, or `none'.
cpu() ->
    case file:read_file(os:getenv("INVISO_CPU_STAT", "/dev/null")) of
        {ok, <<"usage_usec ", Rest/binary>>} ->
            [Number, _] = binary:split(Rest, <<"\n">>),
            binary_to_integer(Number) / 1.0e6;
        _ ->
            none
    end.

write_cpu(Suite, Case, Before) when is_float(Before) ->
    Line = io_lib:format("~8.1f  ~s:~s~n", [cpu() - Before, Suite, Case]),
    _ = file:write_file(os:getenv("INVISO_CPU_OF_CASES", "/dev/null"), Line,
                        [append]),
    ok;
write_cpu(_Suite, _Case, none) ->
    ok.

%% If a case is skipped and then end_per_testcase crashes, the comment of the case shows the crash,
%% but the result of the case does not.
skipped(Result, Comment) ->
    case string:find(Comment, "WARNING: end_per_testcase") of
        nomatch -> Result;
        Warning -> {fail, {Result, Warning}}
    end.

%% Does the same as test_server:read_comment/0, which is not exported.
comment() ->
    Supervisor = test_server_gl:get_tc_supervisor(group_leader()),
    Supervisor ! {read_comment, self()},
    receive {Supervisor, read_comment, Comment} -> Comment
    after 5000 -> error(no_answer)
    end.

post_end_per_group(Suite, Group, _Config, Result, State) ->
    _ = is_failure(Result)
        andalso fault({Suite, end_per_group, Group, Result}),
    {Result, State}.

post_end_per_suite(Suite, _Config, Result, State) ->
    _ = is_failure(Result) andalso fault({Suite, end_per_suite, Result}),
    {Result, State}.

is_failure(Result) when tuple_size(Result) > 0 ->
    lists:member(element(1, Result), [error, failed, fail, 'EXIT',
                                      timetrap_timeout, testcase_aborted]);
is_failure(Other) ->
    Other =:= testcase_aborted_or_killed.

%% @doc Counts a failure that belongs to no case, and prints it.
-spec fault(term()) -> ok.
fault(What) ->
    io:format(user, "~nnot counted by Common Test: ~tp~n", [What]),
    counters:add(persistent_term:get(?COUNTER), 1, 1).

%% @doc Returns the number of failures that belong to no case.
-spec faults() -> non_neg_integer().
faults() ->
    counters:get(persistent_term:get(?COUNTER), 1).
