%% SPDX-License-Identifier: Apache-2.0
%% @doc Sets and clears the trace flags of processes and ports for a runtime
%% component. A request names the processes and ports in one of these forms:
%%
%% ```
%% all | new | existing                 processes; ports too, if one of the
%%                                      flags is a port flag or `all'
%% processes | new_processes | existing_processes
%% ports | new_ports | existing_ports
%% pid() | port() | Name | {local, Name} | {global, Name}
%% '''
-module(inviso_rt_procs).

-export([set/5]).

-type result() :: non_neg_integer() | {error, term()}.

-define(FLAGS, [send, 'receive', call, return_to, procs, garbage_collection,
                running, running_procs, exiting,
                set_on_spawn, set_on_first_spawn, set_on_link,
                set_on_first_link, timestamp, monotonic_timestamp,
                strict_monotonic_timestamp, scheduler_id, arity, silent,
                all]).
-define(PORT_FLAGS, [ports, running_ports]).

%% @doc Sets or clears flags, except on the runtime component's workers.
%% Returns the number of processes and ports whose flags were set or cleared.
-spec set(boolean(), term(), [term()], [pid()], inviso_tracing:tracing()) ->
          result().
set(How, Meant, Flags, Workers, T) ->
    try
        _ = [throw({bad_flag, F})
             || F <- Flags, not lists:member(F, ?FLAGS ++ ?PORT_FLAGS)],
        lists:sum([counted(inviso_tracing:flags(How, W, Flags, Workers, T))
                   || W <- whom(Meant, Flags), inviso_tracing:is_open(T)])
    catch
        throw:Reason -> {error, Reason}
    end.

counted({ok, N}) -> N;
counted({error, Reason}) -> throw(Reason).

whom(Which, Flags) when Which =:= all; Which =:= new; Which =:= existing ->
    Ports = lists:any(fun(F) -> F =:= all orelse lists:member(F, ?PORT_FLAGS)
                      end, Flags),
    [{processes, Which} | [W || Ports, W <- ports(Which)]];
whom(processes, _) -> [{processes, all}];
whom(new_processes, _) -> [{processes, new}];
whom(existing_processes, _) -> [{processes, existing}];
whom(ports, _) -> ports(all);
whom(new_ports, _) -> ports(new);
whom(existing_ports, _) -> ports(existing);
whom(Pid, _) when is_pid(Pid) -> [{processes, Pid}];
whom(Port, _) when is_port(Port) -> [{ports, Port}];
whom(Name, _) when is_atom(Name) -> named(whereis(Name), Name, Name);
whom({local, Name} = Spec, _) when is_atom(Name) ->
    named(whereis(Name), Name, Spec);
whom({global, Name} = Spec, _) -> named(global:whereis_name(Name), Name, Spec);
whom(Other, _) -> throw({bad_process, [{faulty, Other}, Other]}).

%% Lists the existing ports one by one, because the VM's call for all ports
%% would also change ports that other tracers trace.
ports(all) -> ports(new) ++ ports(existing);
ports(new) -> [{ports, new}];
ports(existing) -> [{ports, P} || P <- erlang:ports()].

named(Pid, _, _) when is_pid(Pid) -> [{processes, Pid}];
named(Port, _, _) when is_port(Port) -> [{ports, Port}];
named(undefined, Name, Spec) ->
    throw({bad_process, [{nonexistent_name, Name}, Spec]}).
