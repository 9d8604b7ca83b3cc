%% SPDX-License-Identifier: Apache-2.0
%% @doc Overload protection of a runtime component: the option `overload' names
%% functions, and this module calls them.
%%
%% ```
%% overload                                     no protection (default)
%% {overload, Interval}                         the default check
%% {overload, {Check, Interval}}
%% {overload, {Check, Interval, Init, Remove}}
%%     Interval = milliseconds > 0 | infinity   infinity: no periodic checks
%%     Check    = {M, F} | fun/1
%%     Init     = {M, F, Args} | void           at the beginning: returns {ok, Data}
%%     Remove   = {M, F, Args} | void           at the end: M:F(Data, Args...)
%% '''
%%
%% A check is called with
%%   `{timeout, Data}'                when tracing begins, then every Interval
%%   `{msg, {Message, Data}}'         for each message that the runtime component
%%                                    does not know
%%   `{'EXIT', {Pid, Reason, Data}}'  for each exit signal, at any time
%% `timeout' and `msg' occur only while the state of the runtime component is
%% `tracing' and its status `running'.
%%
%% The check returns `ok', `ignore', `{new, NewData}' or `{suspend, Reason}'.
%% The runtime component waits for the check. So a check must be quick, and must
%% not send requests to the runtime component.
%%
%% One process beside the runtime component ({@link inviso_worker}) calls all
%% three functions. A check that crashes, returns something else or takes longer
%% than 5 s (`timeout') is not called again. The subscribers of the control
%% component then get an event, as they do when Init or Remove crashes or takes
%% longer than 5 s.
%%
%% The default check suspends with reason `rt_max_queue_len' when more than 1000
%% messages wait for the runtime component. This module also has a check of run
%% queue, memory and message queue ({@link inviso_overload}):
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
                   caller = none :: none | pid()}).

-opaque overload() :: #overload{}.
-type mf() :: {module(), atom()}.
-type trigger() :: timeout | {msg, term()} | {'EXIT', pid() | port(), term()}.
-type failure() :: {overload_init | overload_check | overload_remove, term()}.

-define(QUEUE, 1000).

%% @doc Returns true if a term is a valid option `overload', in one of the forms
%% that the module's description lists.
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

%% @doc Starts the overload protection that the first valid option `overload'
%% describes, and calls the option's function Init. Returns `none' if there is no
%% such option.
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
    Caller = inviso_worker:start_link(user, normal),
    {Data, Failures} = case called(Init, [], Caller) of
                           none -> {void, []};
                           {ok, {ok, Value}} -> {Value, []};
                           {ok, Other} -> {void, [{bad_return, Other}]};
                           {failed, Why} -> {void, [Why]}
                       end,
    {#overload{check = Check, interval = Interval, remove = Remove,
               data = Data, caller = inviso_worker:again(Caller)},
     [{overload_init, Why} || Why <- Failures]};
begun(Interval) ->
    {#overload{check = default, interval = Interval}, []}.

called(void, _, _) ->
    none;
called({M, F, Args}, First, Caller) ->
    Call = fun() ->
                   case {M, F, First ++ Args} of
                       {?MODULE, watch, [Protect]} -> watch(Protect);
                       {_, _, All} -> apply(M, F, All)
                   end
           end,
    answer(inviso_worker:call(Caller, Call)).

answer({ok, _} = Ok) -> Ok;
answer({crashed, {Class, Reason, _Stack}}) -> {failed, {Class, Reason}};
answer({crashed, Why}) -> {failed, Why}.

%% @doc Returns the interval of the checks.
-spec interval(overload()) -> timeout() | none.
interval(#overload{check = none}) -> none;
interval(#overload{interval = Interval}) -> Interval.

%% @doc Returns the processes that must not be traced.
-spec processes(overload()) -> [pid()].
processes(#overload{caller = none}) -> [];
processes(#overload{caller = Caller}) -> [Caller].

%% @doc Runs a check.
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
                       {?MODULE, look} -> look(Arg);
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
        {failed, Why} -> failed(Why, O)
    end.

%% Calls a check. The check {@link look/1} reads the length of this process's
%% message queue, so it must run in this process. Other checks run in the worker.
checked({?MODULE, look}, Call, _O) -> answer(inviso_worker:contained(Call));
checked(_, Call, #overload{caller = Caller}) ->
    answer(inviso_worker:call(Caller, Call)).

argument(timeout, Data) -> {timeout, Data};
argument({msg, Message}, Data) -> {msg, {Message, Data}};
argument({'EXIT', Pid, Reason}, Data) -> {'EXIT', {Pid, Reason, Data}}.

failed(Why, O) ->
    {failed, {overload_check, Why}, O#overload{check = none}}.

%% @doc Ends the protection.
-spec remove(overload()) -> [failure()].
remove(#overload{caller = none}) ->
    [];
remove(#overload{remove = Remove, data = Data, caller = Last}) ->
    Caller = inviso_worker:again(Last),
    Answer = called(Remove, [Data], Caller),
    ok = inviso_worker:stop(Caller),
    [{overload_remove, Why} || {failed, Why} <- [Answer]].

%% --- a ready-made check ------------------------------------------------------

%% @doc The function Init for the check {@link look/1}. `inviso_overload:new/1'
%% describes the limits.
-spec watch(inviso_overload:protect()) -> {ok, inviso_overload:overload()}.
watch(Protect) ->
    {ok, inviso_overload:new(Protect)}.

%% @doc A check of run queue, memory and message queue. It must be called every 50
%% to 200 ms. If it suspends, the reason is `{run_queue | memory | queue, Text}'.
-spec look(term()) -> ignore | {new, term()} | {suspend, term()}.
look({timeout, Overload}) ->
    case inviso_overload:check(Overload) of
        {ok, New} -> {new, New};
        {over, Why, Text} -> {suspend, {Why, Text}}
    end;
look(_) ->
    ignore.
