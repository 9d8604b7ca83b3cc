%% SPDX-License-Identifier: Apache-2.0
%% @doc The requests to a runtime component.
-module(inviso_rt_request).

-export([send/2, is_option/1, improper/1]).

-export_type([request/0, answer/1, match_spec/0, mod/0, ari/0, pattern/0,
              pattern_opts/0, counts/0, counted/0, flags/0, proc_spec/0,
              callback/0, meta_set/0, names_set/0, names_removed/0]).

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

-type answer(R) :: R | {error, term()}.

%% `restart' sets counters to zero, and `pause' stops them.
-type match_spec() :: boolean() | list() | restart | pause.
%% See {@link inviso_modules}.
-type mod() :: inviso_modules:spec().
-type ari() :: arity() | '_'.
-type pattern() :: {mod(), atom(), ari(), match_spec()}
                 | {mod(), atom(), ari(), match_spec(), pattern_opts()}.
%% The options call_count, call_time and call_memory set counters instead of
%% making events ({@link inviso_counters}). They are allowed only for `tpl', and
%% with a match spec that is not a list of clauses.
-type pattern_opts() :: [only_loaded | no_loadcheck
                         | call_count | call_time | call_memory].
-type counts() :: {ok, [non_neg_integer() | {error, term()}]}.
-type counted() :: {ok, [inviso_counters:counted()]}.
-type flags() :: [atom()].
-type proc_spec() :: all | new | existing | pid() | atom()
                   | {local, atom()} | {global, atom()}.

%% Types of requests for meta tracing ({@link inviso_rt_meta}).
-type callback() :: inviso_meta_callback:callback().
-type meta_set() :: {ok, 0 | 1}.
-type names_set() :: {meta_set() | {error, term()},
                      meta_set() | {error, term()}}.
-type names_removed() :: {ok | {error, bad_mfa}, ok | {error, bad_mfa}}.

%% @doc Sends a request and does not wait for the reply. So a control component
%% can send requests to many nodes at the same time. The caller gets the reply
%% with `gen_server:receive_response/2'.
-spec send(pid(), request()) -> gen_server:request_id().
send(Pid, Request) ->
    gen_server:send_request(Pid, Request).

%% @doc Returns true if a term is an option of add_nodes with a valid value.
-spec is_option(term()) -> boolean().
is_option({dependency, {Value, Node}}) when is_atom(Node) ->
    is_option({dependency, Value});
is_option({dependency, Ms}) ->
    Ms =:= infinity
        orelse is_integer(Ms) andalso Ms >= 0 andalso Ms < 1 bsl 32;
is_option({dir, Dir}) ->
    is_list(Dir);
is_option(Option) ->
    inviso_rt_overload:is_option(Option).

%% @doc Checks the lists and options that the user has written in a request.
%% Returns the first improper list or wrong option, or `none'.
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

%% Unknown options are refused: if a misspelt `keep_log_files' were ignored, the
%% logs would be deleted.
is_clear_option(Option) ->
    lists:member(Option, [keep_trace_patterns, keep_log_files]).

improper_list(List) when length(List) >= 0 -> none;
improper_list(Other) -> {bad, Other}.

first_bad(Checks) ->
    case [C || {bad, _} = C <- Checks] of
        [] -> none;
        [Bad | _] -> Bad
    end.
