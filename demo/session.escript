#!/usr/bin/env escript
%% SPDX-License-Identifier: Apache-2.0
%% The session of the Inviso document, on this node and on the node that the
%% argument names. Prints each call as a shell would.

main([Name]) ->
    Node2 = list_to_atom(Name),
    ok = wait_for(Node2, 100),
    Both = [node(), Node2],
    %% Code paths are long, so terms are cut.
    Limits = #{max_term_bytes => 120},
    show(application, start, [runtime_tools]),
    show(inviso, start, []),
    show(inviso, add_nodes, [Both, mytag]),
    show(inviso, init_tracing,
         [[{N, [{trace, {file, "tracefile_" ++ S ++ ".log", Limits}},
                {ti, {file, "trace_" ++ S ++ ".ti"}}]}
           || {N, S} <- lists:zip(Both, ["node1", "node2"])]]),
    show(inviso, tpm_localnames, [Both]),
    show(inviso, tpl, [Both, code, which, '_', [{'_', [], [{return_trace}]}]]),
    show(inviso, tf, [all, [call, timestamp]]),
    show(code, which, [ordset]),
    activity(Node2),
    show(inviso, stop_tracing, []),
    show(inviso, fetch_log, [[Node2], ".", "aprefix_"]),
    show(inviso, list_logs, [[node()]]),
    show(inviso_lfm, merge,
         [[{node(), [{trace_log, ["tracefile_node1.log"]},
                     {ti_log, ["trace_node1.ti"]}]},
           {Node2, [{trace_log, ["aprefix_tracefile_node2.log"]},
                    {ti_log, ["aprefix_trace_node2.ti"]}]}],
          "theoutfile.txt"]),
    %% The logs stay, because the timeline is printed later.
    show(inviso, clear, [Both, [keep_log_files]]),
    show(inviso, stop_nodes, []),
    show(inviso, stop, []).

%% Starts a process with a name on the other node, and makes calls on both
%% nodes.
activity(Node2) ->
    Code = "register(asker, self()),"
        "timer:sleep(20), code:which(lists), code:which(no_such_module),"
        "unregister(asker).",
    {ok, Tokens, _} = erl_scan:string(Code),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {Pid, Ref} = spawn_monitor(Node2, erl_eval, exprs, [Exprs, []]),
    _ = code:which(lists),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end.

wait_for(Node, 0) ->
    io:format(standard_error, "demo: ~s does not answer~n", [Node]),
    halt(1);
wait_for(Node, Left) ->
    case net_adm:ping(Node) of
        pong -> ok;
        pang -> timer:sleep(100), wait_for(Node, Left - 1)
    end.

show(M, F, Args) ->
    Text = [io_lib:format("~0p", [A]) || A <- Args],
    io:format("(~s)> ~s:~s(~ts).~n", [node(), M, F, lists:join(", ", Text)]),
    Result = apply(M, F, Args),
    io:format(format(F), [Result]),
    case has_error(Result) of
        false -> ok;
        true -> halt(1)
    end.

%% Counts are printed with ~w, because ~p would print [53] as "5".
format(F) when F =:= tf; F =:= tpl -> "~w~n";
format(_) -> "~p~n".

has_error(error) -> true;
has_error(T) when is_tuple(T) -> has_error(tuple_to_list(T));
has_error([H | T]) -> has_error(H) orelse has_error(T);
has_error(_) -> false.
