%% SPDX-License-Identifier: Apache-2.0
%% @doc Reports what this VM can do, and which of its processes carry messages
%% between nodes or belong to the VM itself.
%%
%% Capabilities are tested at run time, because the same beam files run on OTP 25
%% to 29.
-module(inviso_vm).

-export([has_sessions/0,
         has_stack/0,
         has_counter/1,
         has_process_info/1,
         infrastructure/0,
         system_processes/0]).

%% @doc Returns true if this VM has trace sessions. The check must be quick, because
%% it is made for each process and function. So it looks at `erts_internal', which
%% is always loaded, and not at `trace'.
-spec has_sessions() -> boolean().
has_sessions() ->
    erlang:function_exported(erts_internal, trace_session_create, 3).

%% @doc Returns true if a match spec can return the upper part of the stack
%% (`current_stacktrace'). Older VMs have only `process_dump', whose size has no
%% limit.
-spec has_stack() -> boolean().
has_stack() ->
    Ms = [{'_', [], [{message, {current_stacktrace}}]}],
    case erlang:match_spec_test([], Ms, trace) of
        {ok, _, _, _} -> true;
        {error, _} -> false
    end.

%% @doc Returns true if the VM has this kind of counter. OTP 25 has no
%% `call_memory'.
-spec has_counter(call_count | call_time | call_memory) -> boolean().
has_counter(Kind) ->
    %% No function has this name, so the call changes nothing. It fails if the
    %% VM does not have the counter.
    try erlang:trace_pattern({none, none, 0}, false, [Kind]) of
        _ -> true
    catch
        error:_ -> false
    end.

%% @doc Returns true if `process_info/2' knows this item. OTP 27 has `label', and
%% 26.2 has `{dictionary, Key}'.
-spec has_process_info(term()) -> boolean().
has_process_info(Item) ->
    try process_info(self(), [Item]) of
        _ -> true
    catch
        error:badarg -> false
    end.

%% @doc Returns the processes that carry messages between nodes. If a session
%% traced their messages while another node reads the session's log, each event
%% would cause more messages.
-spec infrastructure() -> [pid()].
infrastructure() ->
    Named = [P || Name <- [net_kernel, net_sup, auth, erl_epmd, rex,
                           ssl_dist_sup, ssl_dist_admin_sup,
                           ssl_dist_connection_sup,
                           global_name_server, global_group],
                  P <- [whereis(Name)], is_pid(P)],
    Controllers = [C || {_, C} <- erlang:system_info(dist_ctrl), is_pid(C)],
    %% net_kernel is linked to the ticker and the acceptors. The controller of a
    %% connection is linked to the connection's reader. Linked supervisors are
    %% included too, but they send no messages.
    Linked = [P || C <- [whereis(net_kernel) | Controllers], is_pid(C),
                   {links, Ls} <- [process_info(C, links)],
                   P <- Ls, is_pid(P), node(P) =:= node()],
    lists:usort(Named ++ Controllers ++ Linked).

%% @doc Returns the processes that are part of the VM and handle signals on behalf
%% of other processes. The VM starts them before all others, so only the first 32
%% pids are tried.
-spec system_processes() -> [pid()].
system_processes() ->
    [P || N <- lists:seq(0, 31),
          P <- [list_to_pid("<0." ++ integer_to_list(N) ++ ".0>")],
          {initial_call, {M, _, _}} <- [process_info(P, initial_call)],
          lists:member(M, [erts_code_purger, erts_literal_area_collector,
                           erts_dirty_process_signal_handler,
                           erts_trace_cleaner])].
