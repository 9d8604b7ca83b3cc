%% SPDX-License-Identifier: Apache-2.0
%% @doc Callbacks for the suites of the API. They report their calls to the
%% process `probe', and return what the test has stored.
-module(inviso_control_probe).

-export([load/1, told/1, told/2, forget/1, answer/2]).
-export([begin_load/1, check/1, end_load/2]).
-export([meta_init/4, meta_call/3, meta_return/3, meta_remove/4, meta_clean/1,
         publ_init/1, publ_remove/1]).
-export([traced/1, other/2, traced_local/1, busy/0]).

%% @doc Loads this module on a node, and starts the process `probe' there.
load(Node) ->
    {Mod, Bin, File} = code:get_object_code(?MODULE),
    {module, Mod} = inviso_test_lib:call(Node, code, load_binary,
                                         [Mod, File, Bin]),
    Pid = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    true = inviso_test_lib:call(Node, erlang, register, [probe, Pid]),
    Pid.

%% @doc Returns the calls that were reported to `probe' on a node.
told(Node) ->
    told(Node, inviso_test_lib:call(Node, erlang, whereis, [probe])).

%% @doc Returns the messages of a process that does not read its mailbox.
told(Node, Pid) ->
    {messages, All} = inviso_test_lib:call(Node, erlang, process_info,
                                           [Pid, messages]),
    All.

%% @doc Replaces `probe' by a new process without reported calls.
forget(Node) ->
    Old = inviso_test_lib:call(Node, erlang, whereis, [probe]),
    true = inviso_test_lib:call(Node, erlang, unregister, [probe]),
    true = inviso_test_lib:call(Node, erlang, exit, [Old, kill]),
    Pid = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    true = inviso_test_lib:call(Node, erlang, register, [probe, Pid]),
    ok.

%% @doc Stores the value that a callback will return. With the answer `crash' or
%% `hang' the callback crashes or hangs.
answer(Node, {Function, Answer}) ->
    inviso_test_lib:call(Node, persistent_term, put,
                         [{?MODULE, Function}, Answer]).

said(Function, What, Default) ->
    catch probe ! {Function, What},
    case persistent_term:get({?MODULE, Function}, Default) of
        crash -> error(told_to_crash);
        hang -> timer:sleep(infinity);
        Answer -> Answer
    end.

begin_load(Arg) -> said(begin_load, Arg, {ok, {data, Arg}}).

check(Arg) -> said(check, Arg, ok).

end_load(Data, Arg) -> said(end_load, {Data, Arg}, ok).

%% --- callbacks of meta tracing -----------------------------------------------

publ_init(Arg) -> said(publ_init, Arg, [Arg]).

publ_remove(Publ) -> said(publ_remove, Publ, ok).

meta_init(M, F, A, Publ) -> said(meta_init, {M, F, A}, {ok, Publ, void}).

meta_call(Pid, {call, Args, TS}, Publ) ->
    Alias = {Pid, {alias, Args}, alias, TS},
    said(meta_call, {Pid, Args, TS, Publ},
         {ok, Publ, term_to_binary(Alias)}).

meta_return(Pid, {How, Value, TS}, Publ) ->
    Alias = {Pid, {How, Value}, alias, TS},
    said(meta_return, {Pid, How, Value, Publ},
         {ok, Publ, [term_to_binary(Alias), term_to_binary(Alias)]}).

meta_remove(M, F, A, Publ) -> said(meta_remove, {M, F, A, Publ}, {ok, Publ}).

meta_clean(Publ) -> said(meta_clean, Publ, Publ).

%% --- functions to trace ------------------------------------------------------

traced(X) -> traced_local(X).

traced_local(crash) -> error(crash);
traced_local(X) -> {traced, X}.

other(X, Y) -> {other, X, Y}.

busy() -> busy().
