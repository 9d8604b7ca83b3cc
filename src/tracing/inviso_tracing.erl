%% SPDX-License-Identifier: Apache-2.0
%% @doc Sets what one process, the owner, traces on this node. An owner is a session
%% of the command, or the runtime component of the Inviso API.
%%
%% ```
%%  new/1 ──► open/2 ──► set/4, flags/5, ...  ──► close/1
%%              ▲    patterns, then processes       │
%%              └── the patterns are set again ◄────┘
%% '''
%%
%% The owner stores the state that these functions take. The only function that
%% another process may call for the owner is {@link close/1}. open/2 opens a scope
%% (a trace session) for the owner's tracer. The patterns are stored in their
%% order ({@link inviso_patterns}). While no scope is open, set/4 tries a pattern
%% and clears it at once, so that mistakes are found early.
%%
%% While the scope is open, the guard's table says what to clear if the owner is
%% killed. A second process, the meta tracer, may trace for the owner in another
%% scope. The table also contains this scope.
%%
%% The owner closes the scope before the tracer. After the scope is closed, the VM
%% makes no more events, and the tracer writes the remaining ones to the log.
-module(inviso_tracing).

-export([new/1, open/2, close/1, refusals/1, is_open/1, is_gone/2, scope/1,
         second/2, forget_second/1, claim/2, release/1, system/1]).
-export([set/4, again/2, state/2, clear_patterns/1, patterns/1, counted/2]).
-export([bound/2, without_ends/2]).
-export([expect_calls/2, flags/5, flag_each/4, clear_flags/1, leave_out/2, own/2]).

-export_type([tracing/0, whom/0]).

-record(tracing, {owner :: pid(),
                  %% the table in which the guard stores what users have set
                  table :: ets:tab() | none,
                  scope = none :: none | inviso_scope:scope(),
                  %% the owner's monitor of the engine
                  engine = none :: none | reference(),
                  second = none :: none | inviso_scope:scope(),
                  %% the owner's tracer, if it is the node's system tracer
                  system = none :: none | inviso_tracer:tracer(),
                 %% the handle of the tracer, if it counts open calls
                 bound = none :: none | pos_integer(),
                 %% true: since the scope was opened, at least one pattern has
                 %% asked for the ends of calls
                 ends = false :: boolean(),
                  %% scopes that could not be closed, the latest first
                  refused = [] :: [{inviso_scope:scope(), Reason :: term()}],
                  patterns = inviso_patterns:new()
                      :: inviso_patterns:patterns()}).

-opaque tracing() :: #tracing{}.
-type whom() :: {processes, all | existing | new | pid()}
              | {ports, new | port()}.

-type worker() :: pid() | atom().
%% An atom in place of a worker's pid means that this worker does not exist.

%% @doc Returns the state in which nothing is traced. The calling process is the
%% owner. `Table' is the table of the node's guard.
-spec new(ets:tab() | none) -> tracing().
new(Table) ->
    #tracing{owner = self(), table = Table}.

%% @doc Opens a scope whose events go to a tracer, and sets the stored patterns.
%% If the tracer is a module, this module must be loaded already. `system_limit'
%% means that the VM can have no more trace sessions.
-spec open(inviso_scope:tracer(), tracing()) ->
          {ok, tracing()} | {error, system_limit | term()}.
open(Tracer, #tracing{scope = none} = T) ->
    try inviso_scope:open(inviso, Tracer) of
        Scope ->
            Opened = again_closed(
                       noted(T#tracing{scope = Scope,
                                       engine = inviso_scope:watch(Scope)})),
            _ = [again(P, Opened) || P <- patterns(Opened)],
            {ok, Opened}
    catch
        error:Reason -> {error, Reason}
    end.

%% Closes the scopes that could not be closed before because the engine did not
%% answer. The engine has just opened a scope, so it probably answers now. After the
%% first request without an answer, no other request is made.
again_closed(#tracing{refused = []} = T) ->
    T;
again_closed(#tracing{refused = Refused} = T) ->
    noted(T#tracing{refused = lists:dropwhile(
                                fun({Scope, _}) ->
                                        inviso_scope:close(Scope) =:= ok
                                end, Refused)}).

%% @doc Closes the scope, so that it traces nothing. The patterns stay stored. If the
%% engine does not close the scope, {@link refusals/1} returns the reason. In this
%% case the patterns and flags of the scope stay until the owner opens another scope
%% or dies.
-spec close(tracing()) -> tracing().
close(#tracing{scope = none} = T) ->
    T;
close(#tracing{scope = Scope, engine = Engine, owner = Owner} = T) ->
    Refused = [{Scope, Reason} || {error, Reason} <- [inviso_scope:close(Scope)]],
    _ = Engine =:= none orelse Owner =/= self()
        orelse demonitor(Engine, [flush]),
    noted(T#tracing{scope = none, engine = none,
                    refused = Refused ++ T#tracing.refused}).

%% @doc Returns the reasons why scopes could not be closed, the latest first.
-spec refusals(tracing()) -> [term()].
refusals(#tracing{refused = Refused}) -> [Reason || {_, Reason} <- Refused].

-spec is_open(tracing()) -> boolean().
is_open(#tracing{scope = Scope}) -> Scope =/= none.

%% @doc Returns true if a message to the owner means that the engine was killed. The
%% scope has ended too in this case, and the owner should call {@link close/1}.
-spec is_gone(term(), tracing()) -> boolean().
is_gone({'DOWN', Ref, process, _, _}, #tracing{engine = Ref}) -> true;
is_gone(_, _) -> false.

%% @doc Returns the scope, for reading flags and counters.
-spec scope(tracing()) -> none | inviso_scope:scope().
scope(#tracing{scope = Scope}) -> Scope.

%% @doc Stores the scope that a second process has opened for the owner. `none'
%% means that the second process has closed its scope.
-spec second(none | inviso_scope:scope(), tracing()) -> tracing().
second(Scope, T) ->
    noted(T#tracing{second = Scope}).

%% @doc Clears what the second process has set in its scope. Must be called after
%% the second process was killed.
-spec forget_second(tracing()) -> tracing().
forget_second(#tracing{second = Scope} = T) ->
    ok = inviso_scope:forget(inviso_scope:residue([Scope], none)),
    second(none, T).

%% @doc Makes a tracer the system tracer of this node, for sequential traces. Must
%% be called before the first token is set.
-spec claim(inviso_tracer:tracer(), tracing()) ->
          {ok, tracing()} | {error, {system_tracer, term()} | closed}.
claim(Tracer, T) ->
    Noted = noted(T#tracing{system = Tracer}),
    case inviso_seq:start(Tracer) of
        ok -> {ok, Noted};
        {error, _} = E -> _ = noted(T), E
    end.

%% @doc Returns the tracer that the owner has made the system tracer.
-spec system(tracing()) -> inviso_tracer:tracer() | none.
system(#tracing{system = Tracer}) -> Tracer.

%% @doc Removes the system tracer, if it is still the owner's. Must be called
%% after the scope is closed, when no more tokens are set.
-spec release(tracing()) -> tracing().
release(#tracing{system = none} = T) ->
    T;
release(#tracing{system = Tracer} = T) ->
    _ = inviso_seq:stop(Tracer),
    noted(T#tracing{system = none}).

noted(#tracing{table = Table, owner = Owner} = T) ->
    Refused = [Scope || {Scope, _} <- T#tracing.refused],
    Residue = inviso_scope:residue([T#tracing.scope, T#tracing.second | Refused],
                                   T#tracing.system),
    ok = inviso_push:note(Table, Owner, Residue),
    T.

%% --- patterns ---------------------------------------------------------------

%% @doc Sets a pattern. The match spec `false' clears what other patterns have set.
%% Returns the number of functions that the pattern matches. Errors: those of {@link
%% inviso_patterns:check/4}; those of the VM, for example `badarg'; `no_tracer' for
%% the match specs `restart' and `pause' while no scope is open, because there are no
%% counters then.
-spec set(inviso_patterns:kind(), inviso_patterns:what(),
          inviso_patterns:match_spec(), tracing()) ->
          {{ok, non_neg_integer()} | {error, term()}, tracing()}.
set(Kind, What, MS, #tracing{patterns = Ps} = T) ->
    case set_free(Kind, What, MS, T) of
        {ok, _} = Ok ->
            Ends = T#tracing.ends orelse inviso_ends:of_spec(MS) =/= none,
            {Ok, T#tracing{patterns = inviso_patterns:put(Kind, What, MS, Ps),
                           ends = Ends}};
        {error, _} = E ->
            {E, T}
    end.

set_free(_, _, MS, #tracing{scope = none})
  when MS =:= restart; MS =:= pause ->
    {error, no_tracer};
set_free(Kind, What, MS, #tracing{patterns = Ps} = T) ->
    case {inviso_patterns:check(Kind, What, MS, Ps), T} of
        {ok, #tracing{scope = none}} ->
            inviso_scope:count_pattern(Kind, What, MS);
        {ok, _} ->
            again({Kind, What, MS}, T);
        {{error, _} = E, _} ->
            E
    end.

%% @doc Sets a pattern in the scope, without storing it.
-spec again(inviso_scope:pattern(), tracing()) ->
          {ok, non_neg_integer()} | {error, term()}.
again({Kind, What, MS} = Pattern, #tracing{scope = Scope, bound = Bound} = T)
  when Bound =/= none, Kind =:= local orelse Kind =:= global ->
    ok = tell_ends(Pattern, T),
    inviso_scope:set_pattern(Scope, Kind, What, inviso_ends:marked(MS));
again({Kind, What, MS}, #tracing{scope = Scope}) ->
    inviso_scope:set_pattern(Scope, Kind, What, MS).

%% Before the pattern is set, tells the tracer for which calls the VM will report the
%% ends. In the log, the mark of a call says that the VM will report the call's end.
%% If the tracer's table has no room for a function, there is no bound for the open
%% calls of this function, and the marks of its calls may be wrong. In this case a
%% note in the log says that marks have no meaning from now on.
tell_ends({_, What, MS}, #tracing{bound = Handle, ends = Known}) ->
    case inviso_ends:of_spec(MS) of
        none when not Known ->
            ok;
        Ends ->
            Modules = lists:foldl(fun({M, F, A}, Acc) ->
                                          Acc#{M => [{F, A} | maps:get(M, Acc, [])]}
                                  end, #{}, inviso_functions:of_pattern(What)),
            Left = [N || {M, FAs} <- maps:to_list(Modules),
                         N <- [inviso_tracer:nif_ends(Handle, M, FAs, Ends)],
                         is_integer(N), N > 0],
            Left =:= [] orelse note_ends(Handle, false),
            ok
    end.

%% Writes a note of the kind INV_NOTE_ENDS (c_src/abi/event.h).
note_ends(Handle, Known) ->
    Notes = [{2, [Known]}],
    _ = inviso_tracer:nif_note(Handle, Notes),
    inviso_keeper:remember(Handle, Notes).

%% @doc Stores that the tracer with this handle counts open calls. From now on this
%% module tells the tracer about each pattern before it sets the pattern. In the
%% log, calls have a mark if the VM will report their ends.
-spec bound(pos_integer(), tracing()) -> tracing().
bound(Handle, T) ->
    _ = note_ends(Handle, true),
    T#tracing{bound = Handle}.

%% @doc Sets the pattern of a function again, without asking for the ends of its
%% calls.
-spec without_ends(mfa(), tracing()) ->
          {{ok, non_neg_integer()} | {error, term()}, tracing()}.
without_ends(MFA, #tracing{patterns = Ps} = T) ->
    case inviso_patterns:of_function(MFA, Ps) of
        none -> {{ok, 0}, T};
        {Kind, MS} -> set(Kind, MFA, inviso_ends:without(MS), T)
    end.

%% @doc Returns whether the VM still has a pattern: see {@link
%% inviso_scope:pattern_state/2}.
-spec state(inviso_scope:pattern(), tracing()) ->
          set | gone | changed | unknown.
state(Pattern, #tracing{scope = Scope}) ->
    inviso_scope:pattern_state(Scope, Pattern).

%% @doc Clears all patterns, beginning with the last one, and removes them from the
%% state.
-spec clear_patterns(tracing()) -> tracing().
clear_patterns(#tracing{scope = Scope} = T) ->
    _ = [again({Kind, What, false}, T)
         || Scope =/= none, {Kind, What, _} <- lists:reverse(patterns(T))],
    T#tracing{patterns = inviso_patterns:new()}.

%% @doc Returns the patterns in the order in which they were set.
-spec patterns(tracing()) -> [inviso_scope:pattern()].
patterns(#tracing{patterns = Ps}) ->
    inviso_patterns:in_order(Ps).

%% @doc Returns the kinds of counters that are set on functions: see {@link
%% inviso_patterns:counted/2}.
-spec counted(inviso_patterns:what(), tracing()) -> [inviso_scope:counter()].
counted(What, #tracing{patterns = Ps}) ->
    inviso_patterns:counted(What, Ps).

%% --- flags --------------------------------------------------------------------

%% @doc Sets or clears flags. Returns the number of processes or ports that were
%% changed. The owner, its guard and its workers are never traced.
-spec flags(boolean(), whom(), [atom()], [worker()], tracing()) ->
          {ok, non_neg_integer()} | {error, term()}.
flags(How, {ports, Ports}, Flags, _, #tracing{scope = Scope}) ->
    inviso_scope:set_port_flags(Scope, How, Ports, Flags);
flags(How, {processes, Which}, Flags, Workers, #tracing{scope = Scope} = T) ->
    inviso_scope:set_flags(Scope, How, Which, Flags, own(Workers, T)).

%% @doc Sets flags of all new processes, or of each process of a list. The caller
%% must have called `inviso_defects:gc_elsewhere/2' for the processes of the list.
%% Dead processes are left out.
-spec flag_each(new | [pid()], [atom()], [worker()], tracing()) ->
          ok | {error, term()}.
flag_each(new, Flags, Workers, #tracing{scope = Scope} = T) ->
    case inviso_scope:set_flags(Scope, new, Flags, own(Workers, T)) of
        {ok, _} -> ok;
        {error, _} = E -> E
    end;
flag_each(Pids, Flags, Workers, #tracing{scope = Scope} = T) ->
    inviso_scope:set_flags_each(Scope, Pids, Flags, own(Workers, T)).

%% @doc Says that the flag `call' will soon be set ({@link inviso_scope:expect_calls/2}).
-spec expect_calls(first | {'after', module()}, tracing()) ->
          {ok, done | {'after', module()}} | {error, term()}.
expect_calls(After, #tracing{scope = Scope}) ->
    inviso_scope:expect_calls(Scope, After).

%% @doc Clears all flags of a new process that the owner has spawned, because the new
%% process may have inherited flags.
-spec leave_out(pid(), tracing()) -> ok.
leave_out(_, #tracing{scope = none}) ->
    ok;
leave_out(Pid, #tracing{scope = Scope}) ->
    _ = inviso_scope:set_flags(Scope, false, Pid, [all], []),
    ok.

%% @doc Returns the processes that are never traced.
-spec own([worker()], tracing()) -> [pid()].
own(Workers, #tracing{owner = Owner}) ->
    [Owner | [W || W <- Workers, is_pid(W)]] ++ inviso_push:own().

%% @doc Clears all flags that the scope has set on processes and ports.
-spec clear_flags(tracing()) -> ok.
clear_flags(#tracing{scope = none}) -> ok;
clear_flags(#tracing{scope = Scope}) -> inviso_scope:clear_flags(Scope).
