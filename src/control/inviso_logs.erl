%% SPDX-License-Identifier: Apache-2.0
%% @doc Handles log files of many nodes, for the control component. Finds out
%% which files a request means, and fetches files in separate processes.
-module(inviso_logs).

-export([specs/2, delete_specs/2, fetch_args/3, fetch/5]).

-export_type([specs/0]).

-type specs() :: [{node(), inviso_rt_logs:which()}].

%% How long to wait for another node to answer whether it has inviso's code.
-define(TIMEOUT, 10000).

%% @doc Returns for each node which logs to list or fetch. The first argument is
%% `all'; a list of nodes, each with or without tracerdata or files; or
%% tracerdata, which names logs on this node.
-spec specs(term(), [node()]) -> {ok, specs()} | {error, {badarg, term()}}.
specs(all, Nodes) ->
    {ok, [{N, current} || N <- Nodes]};
specs(Specs, _Nodes) ->
    case Specs =:= [] orelse inviso_tracerdata:is_tracerdata(Specs) of
        true -> {ok, [{node(), {tracerdata, Specs}}]};
        false -> pairs(Specs)
    end.

pairs(Specs) when length(Specs) >= 0 ->
    Pairs = [pair(S) || S <- Specs],
    case lists:member(bad, Pairs) of
        true -> {error, {badarg, Specs}};
        false -> {ok, Pairs}
    end;
pairs(Specs) ->
    {error, {badarg, Specs}}.

pair(Node) when is_atom(Node) -> {Node, current};
pair({Node, Spec}) when is_atom(Node) -> {Node, which(Spec)};
pair(_) -> bad.

which([{Kind, _, _} | _] = Logs) when Kind =:= trace_log; Kind =:= ti_log ->
    {files, Logs};
which(TracerData) ->
    {tracerdata, TracerData}.

%% @doc Returns for each node which logs to delete. If the first argument is `[What]',
%% and `What' is tracerdata or a list of file names, the logs that `What' names are
%% deleted on all nodes.
-spec delete_specs(term(), [node()]) ->
          {ok, specs()} | {error, {badarg, term()}}.
delete_specs(all, Nodes) ->
    {ok, [{N, current} || N <- Nodes]};
delete_specs({Nodes, Spec}, _) when length(Nodes) >= 0 ->
    case lists:all(fun is_atom/1, Nodes) of
        true -> {ok, [{N, deleted(Spec)} || N <- Nodes]};
        false -> {error, {badarg, Nodes}}
    end;
delete_specs({Bad, _}, _) ->
    {error, {badarg, Bad}};
delete_specs([What], Nodes) ->
    case is_names(What) orelse inviso_tracerdata:is_tracerdata(What) of
        true ->
            {ok, [{N, deleted(What)} || N <- Nodes]};
        false ->
            case pairs(What) of
                {ok, _} -> {ok, [deleted_pair(S) || S <- What]};
                {error, _} = E -> E
            end
    end.

deleted_pair({Node, Spec}) -> {Node, deleted(Spec)};
deleted_pair(Node) -> {Node, current}.

deleted(Spec) ->
    case is_names(Spec) of
        true -> {names, Spec};
        false -> which(Spec)
    end.

%% Returns true for a list of file names: strings or binaries. (A list of nodes
%% contains atoms.)
is_names([_ | _] = Names) when length(Names) > 0 ->
    lists:all(fun(N) -> is_binary(N) orelse is_list(N) end, Names);
is_names(_) ->
    false.

%% @doc Checks the arguments of a fetch (target node, directory and prefix) and
%% returns the prefix as a string.
-spec fetch_args(term(), term(), term()) ->
          {ok, string()} | {error, {badarg, term()}}.
fetch_args(To, Dir, Prefix) ->
    Text = text(Prefix),
    case [X || {false, X} <- [{is_atom(To), To},
                              {inviso_rt_logs:is_name(Dir), Dir},
                              {Text =:= "" orelse
                               inviso_rt_logs:is_name(Text), Prefix}]] of
        [] -> {ok, Text};
        [Bad | _] -> {error, {badarg, Bad}}
    end.

%% Returns the prefix as a string. Unlike a file name, a prefix must
%% not contain atoms.
text(Prefix) ->
    try
        unicode:characters_to_list(Prefix)
    catch
        error:badarg -> bad
    end.

%% @doc Fetches logs, and then answers the request `From'. The control component
%% runs this function in a separate process. On the target node, one process for
%% each source node fetches the files.
-spec fetch({pid(), term()},
            [{node(), pid() | none, inviso_rt_logs:which()}],
            node(), file:name_all(), string()) -> ok.
fetch({Caller, _} = From, Sources, To, Dir, Prefix) ->
    Monitor = monitor(process, Caller),
    Cancel = make_ref(),
    Reply = case is_ready(To) of
                true ->
                    Workers = [worker(S, To, [Dir, Prefix, Cancel])
                               || S <- Sources],
                    {ok, collect(Workers, Monitor, Cancel)};
                {error, _} = E ->
                    E
            end,
    gen_server:reply(From, Reply).

is_ready(To) when To =:= node() ->
    true;
is_ready(To) ->
    try erpc:call(To, code, ensure_loaded, [inviso_rt], ?TIMEOUT) of
        {module, _} -> true;
        {error, _} -> {error, {not_an_added_node, To}}
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}}
    end.

%% Starts the worker that fetches from a node. If that node is also the
%% destination (`To'), only the latest logs (`current') can be fetched. For other
%% logs the result is `{error, own_node}'.
worker({To, _Rt, Which}, To, _Args) when Which =/= current ->
    {To, {error, own_node}};
worker({Node, none, _Which}, _To, _Args) ->
    {Node, {error, not_an_added_node}};
worker({Node, Rt, Which}, To, Args) ->
    {Node, spawn_opt(To, inviso_rt, fetch, [Rt, Which | Args], [monitor])}.

collect([], _Monitor, _Cancel) ->
    [];
collect([{Node, {error, _} = E} | Rest], Monitor, Cancel) ->
    [{Node, E} | collect(Rest, Monitor, Cancel)];
collect([{Node, {_Pid, Ref}} | Rest] = Workers, Monitor, Cancel) ->
    receive
        {'DOWN', Ref, process, _, {fetched, Result}} ->
            [{Node, Result} | collect(Rest, Monitor, Cancel)];
        {'DOWN', Ref, process, _, Reason} ->
            [{Node, {error, {no_response, Reason}}}
             | collect(Rest, Monitor, Cancel)];
        {'DOWN', Monitor, process, _, _} ->
            _ = [Pid ! Cancel || {_, {Pid, _}} <- Workers, is_pid(Pid)],
            collect(Workers, Monitor, Cancel)
    end.
