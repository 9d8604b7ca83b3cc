%% SPDX-License-Identifier: Apache-2.0
%% @doc Functions that {@link inviso_tool} and its users share: the standard
%% tracerdata generator, and calls of the API on the control component's node.
%%
%% A <em>tracerdata generator</em> is a function that returns the tracerdata of
%% a node. Its arguments are the node, the date and time (UTC) of the session,
%% the arguments of start_session, and then the arguments in the option `tdg'.
-module(inviso_tool_lib).

-export([std_tdg/2, mk_tdg_args/2, mk_complete_tdg_args/2,
         get_datetime_from_tdg_args/1, inviso_cmd/3, debug/3]).
-export([expand_pattern/2]).

-type args() :: [term(), ...].

%% How long to wait for an answer, in ms: longer than the functions of the API
%% wait (60 s).
-define(TIMEOUT, 65000).

%% @doc Returns tracerdata with a log and a ti file (trace information file). The
%% names of both files contain the node and the time.
-spec std_tdg(node(), calendar:datetime()) -> [{trace | ti, {file, string()}}].
std_tdg(Node, {{Y, Mo, D}, {H, Mi, S}}) ->
    Name = lists:flatten(io_lib:format("~ts_~b-~b-~b_~b-~b-~b",
                                       [Node, Y, Mo, D, H, Mi, S])),
    [{trace, {file, Name ++ ".log"}}, {ti, {file, Name ++ ".ti"}}].

%% @doc Returns the generator arguments that are the same for all nodes.
-spec mk_tdg_args(calendar:datetime(), [term()]) -> args().
mk_tdg_args(DateTime, More) ->
    [DateTime | More].

%% @doc Returns all generator arguments for one node.
-spec mk_complete_tdg_args(node(), args()) -> args().
mk_complete_tdg_args(Node, Args) ->
    [Node | Args].

%% @doc Returns the time in the generator arguments.
-spec get_datetime_from_tdg_args(args()) -> calendar:datetime().
get_datetime_from_tdg_args([DateTime | _]) ->
    DateTime.

%% @doc Calls `inviso:Function' on the control component's node.
-spec inviso_cmd(node(), atom(), [term()]) ->
          term() | {error, {badrpc, term()}}.
inviso_cmd(Node, Function, Args) ->
    try
        erpc:call(Node, inviso, Function, Args, ?TIMEOUT)
    catch
        error:{erpc, Why} -> {error, {badrpc, Why}};
        error:{exception, Why, _} -> {error, {badrpc, Why}};
        exit:{exception, Why} -> {error, {badrpc, Why}}
    end.

%% @doc Prints `What' and `Description' (see {@link inviso_rt_lib:debug/3}).
-spec debug(term(), term(), term()) -> ok.
debug(Level, What, Description) ->
    inviso_rt_lib:debug(Level, What, Description).

%% @doc Replaces a pattern whose module is a regular expression by a pattern for
%% each matching module of a node. If the expression is a plain word, it matches
%% each name that contains the word; `"*"' matches every name. A pattern with an
%% invalid expression is returned unchanged, so that the traced nodes report the
%% error.
-spec expand_pattern(node(), term()) -> [term()] | badrpc.
expand_pattern(Node, Pattern)
  when is_tuple(Pattern), tuple_size(Pattern) > 0,
       not is_atom(element(1, Pattern)) ->
    Answer = case element(1, Pattern) of
                 {Dir, Mod} ->
                     inviso_rt_lib:expand_regexp([Node], regexp(Dir),
                                                 regexp(Mod), []);
                 Mod ->
                     inviso_rt_lib:expand_regexp([Node], regexp(Mod), [])
             end,
    case Answer of
        [{Node, badrpc}] -> badrpc;
        [{Node, {error, _}}] -> [Pattern];
        [{Node, Mods}] -> [setelement(1, Pattern, M) || M <- Mods]
    end;
expand_pattern(_Node, Pattern) ->
    [Pattern].

regexp("*") ->
    ".*";
regexp(Text) ->
    case inviso_modules:is_string(Text)
        andalso re:run(Text, "^[0-9a-zA-Z_/]*$", [{capture, none}]) of
        match -> ".*" ++ Text ++ ".*";
        _ -> Text
    end.
