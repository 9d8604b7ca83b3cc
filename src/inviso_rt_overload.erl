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
%% A check is called, in the runtime component's process, with
%% `{timeout, Data}' at once when tracing begins and then every Interval, with
%% `{msg, {Message, Data}}' for each message that is not the runtime
%% component's own, both while it traces and runs, and with
%% `{'EXIT', {Pid, Reason, Data}}' for each exit signal at any time. It answers
%% `ok', `ignore', `{new, NewData}' or `{suspend, Reason}'. While it is at work
%% the runtime component does nothing else: it has to be quick.
%%
%% A check that crashes, or answers something else, is not called again; that
%% is told to the subscribers of the control component, as is an init or remove
%% that crashes.
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

-export([is_option/1, new/1, interval/1, check/2, remove/1]).
-export([watch/1, look/1]).

-export_type([overload/0, trigger/0]).

-record(overload, {check = none :: none | default | mf() | fun((term()) -> _),
                   interval = infinity :: timeout(),
                   remove = void :: void | {module(), atom(), [term()]},
                   data = void :: term()}).

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
    {#overload{check = Check, interval = Interval}, []};
begun({Check, Interval, Init, Remove}) ->
    {Data, Failures} = init(Init),
    {#overload{check = Check, interval = Interval, remove = Remove,
               data = Data}, Failures};
begun(Interval) ->
    {#overload{check = default, interval = Interval}, []}.

init(void) ->
    {void, []};
init({M, F, Args}) ->
    case contained(fun() -> apply(M, F, Args) end) of
        {ok, {ok, Data}} -> {Data, []};
        {ok, Other} -> {void, [{overload_init, {bad_return, Other}}]};
        {crash, Why} -> {void, [{overload_init, Why}]}
    end.

%% @doc How often to check.
-spec interval(overload()) -> timeout() | none.
interval(#overload{check = none}) -> none;
interval(#overload{interval = Interval}) -> Interval.

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
    case contained(Call) of
        {ok, ok} -> {ok, O};
        {ok, ignore} -> {ok, O};
        {ok, {new, New}} -> {ok, O#overload{data = New}};
        {ok, {suspend, Reason}} -> {suspend, Reason, O};
        {ok, Other} -> failed({bad_return, Other}, O);
        {crash, Why} -> failed(Why, O)
    end.

argument(timeout, Data) -> {timeout, Data};
argument({msg, Message}, Data) -> {msg, {Message, Data}};
argument({'EXIT', Pid, Reason}, Data) -> {'EXIT', {Pid, Reason, Data}}.

failed(Why, O) ->
    {failed, {overload_check, Why}, O#overload{check = none}}.

%% @doc Ends a protection.
-spec remove(overload()) -> [failure()].
remove(#overload{remove = void}) ->
    [];
remove(#overload{remove = {M, F, Args}, data = Data}) ->
    case contained(fun() -> apply(M, F, [Data | Args]) end) of
        {ok, _} -> [];
        {crash, Why} -> [{overload_remove, Why}]
    end.

contained(F) ->
    try
        {ok, F()}
    catch
        Class:Reason -> {crash, {Class, Reason}}
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
