%% SPDX-License-Identifier: Apache-2.0
%% @doc Overload protection of a runtime component: the option `overload', and
%% when and how what it names is called.
%%
%% ```
%% overload                                     no protection (default)
%% {overload, Interval}                         the default check
%% {overload, {Check, Interval}}
%% {overload, {Check, Interval, Init, Remove}}
%%     Interval = milliseconds > 0 | infinity   infinity: no periodic checks
%%     Check    = {M, F} | fun/1
%%     Init     = {M, F, Args} | void           when it begins: {ok, Data}
%%     Remove   = {M, F, Args} | void           at the end: M:F(Data, Args...)
%% '''
%%
%% A check is called with `{timeout, Data}' at once when tracing begins and then
%% every Interval, with `{msg, {Message, Data}}' for each message that is not the
%% runtime component's own, both while it traces and runs, and with
%% `{'EXIT', {Pid, Reason, Data}}' for each exit signal at any time. It answers
%% `ok', `ignore', `{new, NewData}' or `{suspend, Reason}'. While it is at work
%% the runtime component does nothing else: it has to be quick, and can ask
%% nothing of it.
%%
%% All three run in a process beside the runtime component, one for all calls
%% ({@link inviso_rt_callback}). A check that crashes, answers something else or
%% takes longer than 5 s is not called again; that is told to the subscribers
%% of the control component, as is an init or remove that crashes or takes as
%% long (`timeout').
%%
%% The default check suspends with reason `rt_max_queue_len' when more than 1000
%% messages wait for the runtime component. One that looks at run queue, memory
%% and message queue (see {@link inviso_overload}) is here ready-made:
%%
%% ```
%% {overload, {{inviso_rt_overload, look}, 100,
%%             {inviso_rt_overload, watch, [#{memory_percent => 90}]}, void}}
%% '''
-module(inviso_rt_overload).

-export([is_option/1, new/1, interval/1, processes/1, check/2, remove/1]).
-export([watch/1, look/1]).

-export_type([overload/0, trigger/0]).

-record(overload, {check = none :: none | default | mf() | fun((term()) -> _),
                   interval = infinity :: timeout(),
                   remove = void :: void | {module(), atom(), [term()]},
                   data = void :: term(),
                   caller = none :: none | inviso_rt_callback:caller()}).

-opaque overload() :: #overload{}.
-type mf() :: {module(), atom()}.
-type trigger() :: timeout | {msg, term()} | {'EXIT', pid() | port(), term()}.
-type failure() :: {overload_init | overload_check | overload_remove, term()}.

-define(QUEUE, 1000).

%% @doc Whether a term is one of the forms above.
-spec is_option(term()) -> boolean().
is_option(overload) -> true;
is_option({overload, {Check, Interval}}) ->
    is_check(Check) andalso is_interval(Interval);
is_option({overload, {Check, Interval, Init, Remove}}) ->
    is_check(Check) andalso is_interval(Interval)
        andalso is_mfa(Init) andalso is_mfa(Remove);
is_option({overload, Interval}) -> is_interval(Interval);
is_option(_) -> false.

is_check({M, F}) -> is_atom(M) andalso is_atom(F);
is_check(Fun) -> is_function(Fun, 1).

is_interval(infinity) -> true;
is_interval(Ms) -> is_integer(Ms) andalso Ms > 0 andalso Ms < 1 bsl 32.

is_mfa(void) -> true;
is_mfa({M, F, Args}) when length(Args) >= 0 -> is_atom(M) andalso is_atom(F);
is_mfa(_) -> false.

%% @doc The protection that options ask for, the first of them that does;
%% `none' when none does. Calls the initiation.
-spec new([term()]) -> none | {overload(), [failure()]}.
new(Options) ->
    case [O || O <- Options,
               O =:= overload orelse is_tuple(O) andalso
                   element(1, O) =:= overload, is_option(O)] of
        [overload | _] -> {#overload{}, []};
        [{overload, Value} | _] -> begun(Value);
        [] -> none
    end.

begun({Check, Interval}) ->
    begun({Check, Interval, void, void});
begun({Check, Interval, Init, Remove}) ->
    Caller = inviso_rt_callback:start_link(),
    {Data, Failures} = init(Init, Caller),
    {#overload{check = Check, interval = Interval, remove = Remove,
               data = Data, caller = inviso_rt_callback:again(Caller)},
     Failures};
begun(Interval) ->
    {#overload{check = default, interval = Interval}, []}.

init(void, _Caller) ->
    {void, []};
init({M, F, Args}, Caller) ->
    case inviso_rt_callback:call(Caller, fun() -> apply(M, F, Args) end) of
        {ok, {ok, Data}} -> {Data, []};
        {ok, Other} -> {void, [{overload_init, {bad_return, Other}}]};
        {crash, Why} -> {void, [{overload_init, Why}]}
    end.

%% @doc How often to check.
-spec interval(overload()) -> timeout() | none.
interval(#overload{check = none}) -> none;
interval(#overload{interval = Interval}) -> Interval.

%% @doc Processes that must not be traced.
-spec processes(overload()) -> [pid()].
processes(#overload{caller = none}) -> [];
processes(#overload{caller = Caller}) -> [Caller].

%% @doc A check.
-spec check(trigger(), overload()) ->
          {ok, overload()} | {suspend, term(), overload()}
        | {failed, failure(), overload()}.
check(_Trigger, #overload{check = none} = O) ->
    {ok, O};
check(timeout, #overload{check = default} = O) ->
    case process_info(self(), message_queue_len) of
        {_, N} when N > ?QUEUE -> {suspend, rt_max_queue_len, O};
        _ -> {ok, O}
    end;
check(_Trigger, #overload{check = default} = O) ->
    {ok, O};
check(Trigger, #overload{check = Check, data = Data} = O) ->
    Arg = argument(Trigger, Data),
    Call = fun() ->
                   case Check of
                       {M, F} -> M:F(Arg);
                       _ -> Check(Arg)
                   end
           end,
    case checked(Check, Call, O) of
        {ok, ok} -> {ok, O};
        {ok, ignore} -> {ok, O};
        {ok, {new, New}} -> {ok, O#overload{data = New}};
        {ok, {suspend, Reason}} -> {suspend, Reason, O};
        {ok, Other} -> failed({bad_return, Other}, O);
        {crash, Why} -> failed(Why, O)
    end.

%% The ready-made one looks at this process' messages, and returns.
checked({?MODULE, look}, Call, _O) -> inviso_rt_callback:contained(Call);
checked(_, Call, #overload{caller = Caller}) ->
    inviso_rt_callback:call(Caller, Call).

argument(timeout, Data) -> {timeout, Data};
argument({msg, Message}, Data) -> {msg, {Message, Data}};
argument({'EXIT', Pid, Reason}, Data) -> {'EXIT', {Pid, Reason, Data}}.

failed(Why, O) ->
    {failed, {overload_check, Why}, O#overload{check = none}}.

%% @doc Ends a protection.
-spec remove(overload()) -> [failure()].
remove(#overload{caller = none}) ->
    [];
remove(#overload{remove = Remove, data = Data, caller = Last}) ->
    Caller = inviso_rt_callback:again(Last),
    Failures = removed(Remove, Data, Caller),
    ok = inviso_rt_callback:stop(Caller),
    Failures.

removed(void, _Data, _Caller) ->
    [];
removed({M, F, Args}, Data, Caller) ->
    Call = fun() -> apply(M, F, [Data | Args]) end,
    case inviso_rt_callback:call(Caller, Call) of
        {ok, _} -> [];
        {crash, Why} -> [{overload_remove, Why}]
    end.

%% --- ready-made ---------------------------------------------------------------

%% @doc An Init for {@link look/1}; which limits: `inviso_overload:new/1'.
-spec watch(inviso_overload:protect()) -> {ok, inviso_overload:overload()}.
watch(Protect) ->
    {ok, inviso_overload:new(Protect)}.

%% @doc A Check of run queue, memory and message queue, to be called every 50 to
%% 200 ms: it suspends with `{run_queue | memory | queue, Text}'.
-spec look(term()) -> ignore | {new, term()} | {suspend, term()}.
look({timeout, Overload}) ->
    case inviso_overload:check(Overload) of
        {ok, New} -> {new, New};
        {over, Why, Text} -> {suspend, {Why, Text}}
    end;
look(_) ->
    ignore.
