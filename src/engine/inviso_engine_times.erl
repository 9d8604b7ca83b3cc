%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds out to which sessions the times of a process's calls belong.
%%
%% The VM's counters call_time and call_memory of a function have one row for each
%% process, and count while at least one session has the flag `call' on the process.
%% A session's counter contains only the calls that the process makes while this session
%% has the flag. So the NIF library stores, for each process, the sessions to which a
%% row's growth is attributed. When the sessions that have the flag change, the
%% server reads the VM's counters ({@link inviso_engine_functions:attribute/2}), and
%% then stores the new sessions.
%%
%% While no session has the flag on a process, the VM does not count the process's
%% calls. So the server reads the counters only when a session sets the flag again,
%% and if this is the session that had the flag before, the server does not read them
%% at all.
-module(inviso_engine_times).

-export([is_attributed/2, changes/1, of_sessions/2, done/1]).

-export_type([change/0, moved/0]).

-type slot() :: inviso_engine:slot().
-type change() :: {pid(), From :: inviso_engine:sessions(),
                   To :: inviso_engine:sessions()}.
-type moved() :: #{pid() => Was :: boolean()}.
%% A moved() contains the processes whose times are attributed to a session from now on
%% (`Was' is false), or were attributed to the session until now (`Was' is true).

%% @doc Returns true if the times of a process's calls are attributed to a session.
%% Also returns true if the process is dead and the NIF library has no entry for it.
-spec is_attributed(slot(), pid()) -> boolean().
is_attributed(Slot, Pid) ->
    case inviso_engine:timed(Pid) of
        unknown -> not is_process_alive(Pid);
        {Timed, _} -> has(Slot, Timed)
    end.

%% @doc Returns those of the processes for which the VM counts, and whose times must
%% be attributed to other sessions than before.
-spec changes([pid()]) -> [change()].
changes(Pids) ->
    [{Pid, Timed, Calls} || Pid <- Pids,
                            {Timed, Calls} <- [inviso_engine:timed(Pid)],
                            Calls =/= 0, Timed =/= Calls].

%% @doc Returns, for each of these sessions, the changes that concern it. Sessions
%% without such a change are left out.
-spec of_sessions([slot()], [change()]) -> #{slot() => moved()}.
of_sessions(Slots, Changes) ->
    maps:from_list([{Slot, Moved} || Slot <- Slots,
                                     Moved <- [of_session(Slot, Changes)],
                                     map_size(Moved) > 0]).

of_session(Slot, Changes) ->
    maps:from_list([{Pid, has(Slot, From)} || {Pid, From, To} <- Changes,
                                              has(Slot, From) =/= has(Slot, To)]).

%% @doc Notes that changes are done. If a callback has changed the flags of a process
%% meanwhile, the next call of changes/1 returns this process again.
-spec done([change()]) -> ok.
done(Changes) ->
    lists:foreach(fun({Pid, _, To}) -> inviso_engine:timed(Pid, To) end,
                  Changes).

has(Slot, Sessions) ->
    Sessions band (1 bsl Slot) =/= 0.
