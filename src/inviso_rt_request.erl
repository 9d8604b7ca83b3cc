%% SPDX-License-Identifier: Apache-2.0
%% @doc What can be asked of a runtime component.
-module(inviso_rt_request).

-export([send/2, improper/1]).

-export_type([request/0]).

-type request() :: {adopt, pid(), term(), any | if_ref}
                 | {init_tracing, term()}
                 | stop_tracing
                 | {change_options, [term()]}
                 | {suspend, term()} | cancel_suspension
                 | clear_patterns | clear_flags
                 | {counters, pos_integer()}
                 | {patterns, global | local, [tuple()], set | clear}
                 | {flags, boolean(), [{term(), [atom()]}]}
                 | {meta, inviso_rt_meta:request()}
                 | {clear, [keep_trace_patterns | keep_log_files]}
                 | {list_logs | delete_log, inviso_rt_logs:which()}
                 | {fetch, pid(), term()}
                 | await_autostart | receiver
                 | flush | get_status | get_tracerdata | state | stop.

%% @doc Sends a request, whose reply `gen_server:receive_response/2' fetches:
%% so a control component asks many nodes at a time.
-spec send(pid(), request()) -> gen_server:request_id().
send(Pid, Request) ->
    gen_server:send_request(Pid, Request).

%% @doc What is no list, or no option, in a request that comes as the user wrote
%% it. When there is none, what should be lists are lists.
-spec improper(term()) -> none | {bad, term()}.
improper({patterns, _, List, _}) -> improper_list(List);
improper({clear, Opts}) ->
    case improper_list(Opts) of
        none -> first_bad([{bad, O} || O <- Opts, not is_clear_option(O)]);
        Bad -> Bad
    end;
improper({flags, _, List}) ->
    case improper_list(List) of
        none -> first_bad([improper_list(Fs) || {_, Fs} <- List]);
        Bad -> Bad
    end;
improper({counters, Max}) when not is_integer(Max); Max < 1 -> {bad, Max};
improper(_) -> none.

%% Misspelt, it would cost the logs.
is_clear_option(Option) ->
    lists:member(Option, [keep_trace_patterns, keep_log_files]).

improper_list(List) when length(List) >= 0 -> none;
improper_list(Other) -> {bad, Other}.

first_bad(Checks) ->
    case [C || {bad, _} = C <- Checks] of
        [] -> none;
        [Bad | _] -> Bad
    end.
