%% SPDX-License-Identifier: Apache-2.0
%% @doc Process and port flags of a runtime component: who is meant, and which
%% flags there are.
%%
%% ```
%% all | new | existing                 processes; ports too, with a flag that
%%                                      is of ports or is `all'
%% processes | new_processes | existing_processes
%% ports | new_ports | existing_ports
%% pid() | port() | Name | {local, Name} | {global, Name}
%% '''
-module(inviso_rt_procs).

-export([set/5, is_flag/1]).

-type result() :: non_neg_integer() | {error, term()}.

-define(FLAGS, [send, 'receive', call, return_to, procs, garbage_collection,
                running, running_procs, exiting,
                set_on_spawn, set_on_first_spawn, set_on_link,
                set_on_first_link, timestamp, monotonic_timestamp,
                strict_monotonic_timestamp, scheduler_id, arity, silent,
                all]).
-define(PORT_FLAGS, [ports, running_ports]).

%% @doc Sets or clears flags. `Own' are processes that are never traced. The
%% result is how many were reached.
-spec set(boolean(), none | inviso_otp:scope(), [pid()], term(), [term()]) ->
          result().
set(How, Scope, Own, Meant, Flags) ->
    try
        lists:foreach(fun checked/1, Flags),
        Whom = lists:append([whom(W, Flags) || W <- who(Meant)]),
        lists:sum([reached(How, Scope, Own, W, Flags)
                   || W <- Whom, Scope =/= none])
    catch
        throw:Reason -> {error, Reason}
    end.

checked(Flag) ->
    is_flag(Flag) orelse throw({bad_flag, Flag}).

%% @doc Whether a term is a flag that can be set here.
-spec is_flag(term()) -> boolean().
is_flag(Flag) ->
    lists:member(Flag, ?FLAGS) orelse lists:member(Flag, ?PORT_FLAGS).

%% Of ports that exist each is taken by itself: the VM has no call for all of
%% them that would leave others' alone.
whom({procs, Which}, _) -> [{procs, Which}];
whom({ports, all}, Flags) ->
    whom({ports, new}, Flags) ++ whom({ports, existing}, Flags);
whom({ports, new}, _) -> [{ports, new}];
whom({ports, existing}, _) -> [{ports, P} || P <- erlang:ports()];
whom({both, Which}, Flags) ->
    Ports = lists:any(fun(F) -> F =:= all orelse lists:member(F, ?PORT_FLAGS)
                      end, Flags),
    [{procs, Which} | [W || Ports, W <- whom({ports, Which}, Flags)]];
whom({pid, Pid}, _) -> [{procs, Pid}];
whom({port, Port}, _) -> [{ports, Port}].

reached(How, Scope, Own, {procs, Procs}, Flags) ->
    counted(inviso_otp:set_flags(Scope, How, Procs, Flags, Own));
reached(How, Scope, _Own, {ports, Ports}, Flags) ->
    counted(inviso_otp:set_port_flags(Scope, How, Ports, Flags)).

counted({ok, N}) -> N;
counted({error, Reason}) -> throw(Reason).

who(Which) when Which =:= all; Which =:= new; Which =:= existing ->
    [{both, Which}];
who(processes) -> [{procs, all}];
who(new_processes) -> [{procs, new}];
who(existing_processes) -> [{procs, existing}];
who(ports) -> [{ports, all}];
who(new_ports) -> [{ports, new}];
who(existing_ports) -> [{ports, existing}];
who(Pid) when is_pid(Pid) -> [{pid, Pid}];
who(Port) when is_port(Port) -> [{port, Port}];
who(Name) when is_atom(Name) -> named(whereis(Name), Name, Name);
who({local, Name} = Spec) when is_atom(Name) ->
    named(whereis(Name), Name, Spec);
who({global, Name} = Spec) -> named(global:whereis_name(Name), Name, Spec);
who(Other) ->
    throw({bad_process, [{faulty, Other}, Other]}).

named(Pid, _, _) when is_pid(Pid) -> [{pid, Pid}];
named(Port, _, _) when is_port(Port) -> [{port, Port}];
named(undefined, Name, Spec) ->
    throw({bad_process, [{nonexistent_name, Name}, Spec]}).
