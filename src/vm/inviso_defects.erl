%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists defects of VMs that crash the VM or mislead the user, and finds
%% combinations of two trace sessions that crash the VM.
-module(inviso_defects).

-export([known/0,
         affected/1,
         gc_elsewhere/2,
         gc_elsewhere/3,
         has_gc_elsewhere/3,
         shared_bif/1]).

%% @doc Returns the known defects. Each element has the defect's name, ranges of
%% erts versions, what inviso does about the defect, and a text. A range begins
%% with the first version that has the defect and ends before the version with the
%% fix; `none' means that no fix is known. `walked': inviso sets flags process by
%% process. `refused': inviso refuses the combination. `told': inviso prints a
%% note.
-spec known() ->
          [{atom(), [{string(), string() | none}], walked | refused | told,
            string()}].
known() ->
    [{trace_all,
      [{"0", "12.3.2.17"}, {"13.0", "13.2.2.8"}, {"14.0", "14.2.4"}],
      walked,
      "erlang:trace(all | existing, ..) beside a dirty scheduler that traces "
      "can crash: done process by process"},
     {gc_two_sessions, [{"15.0", none}], refused,
      "garbage_collection of one process in two sessions: trace_gc() frees "
      "for the first what it sends to the second"},
     {dirty_tracee, [{"0", "13.2"}], told,
      "tracing a process on a dirty scheduler can crash this VM; --procs "
      "reduces the risk"},
     {link_inherits_not, [{"0", "14.0"}], told,
      "link/1 never passes flags on (set_on_link); spawn_link does"},
     {late_receive,
      [{"0", "13.2.2.15"}, {"14.0", "14.2.5.9"}, {"15.0", "15.2.4"}], told,
      "'receive' events come late while the process waits with a time-out or "
      "does not receive at all"},
     {received_queue_len, [{"0", "14.2"}], told,
      "process_info(Pid, message_queue_len) of a process whose 'receive' is "
      "traced can leave its queue in disorder"},
     {bif_two_sessions, [{"15.0", "16.2"}], told,
      "clearing a pattern on a BIF in one session clears it in all"}].

%% @doc Returns true if this VM has the known defect with this name.
-spec affected(atom()) -> boolean().
affected(Name) ->
    {Name, Ranges, _, _} = lists:keyfind(Name, 1, known()),
    Now = version(erlang:system_info(version)),
    lists:any(fun({From, To}) ->
                      Now >= version(From)
                          andalso (To =:= none orelse Now < version(To))
              end, Ranges).

%% Returns the numbers in a version such as "15.2.7" or "17.0-rc1", without parts
%% that are not numbers.
version(String) ->
    [N || Part <- string:lexemes(String, ".-"),
          {N, []} <- [string:to_integer(Part)]].

%% @doc Returns true if at least one session traces this function, the function is a
%% BIF, and this VM has a defect: clearing the pattern of one session on a BIF
%% clears the patterns of all sessions on the BIF.
-spec shared_bif(mfa()) -> boolean().
shared_bif({M, F, A} = MFA) ->
    erlang:is_builtin(M, F, A) andalso affected(bif_two_sessions)
        andalso sessions_of(MFA) =/= [].

%% --- garbage_collection in two sessions --------------------------------------

%% @doc Returns `{true, Process}' if these flags could make two sessions trace the
%% garbage collections of one process, which crashes the VM. This can also happen to
%% a process that no session names, because a new process can inherit flags from its
%% parent, and a process can get flags by a link.
-spec gc_elsewhere([pid() | new], [atom()]) -> false | {true, pid() | new}.
gc_elsewhere(Procs, Flags) ->
    gc_elsewhere(none, Procs, Flags).

%% @doc Same as gc_elsewhere/2, but also considers the flags that the session with
%% the handle `Session' has already set.
-spec gc_elsewhere(none | term(), all | existing | new | pid() | [pid() | new],
                   [atom()]) -> false | {true, pid() | new}.
gc_elsewhere(Session, Procs, Flags) ->
    Concerns = has_gc(Flags) orelse passes_on(Flags),
    case Concerns andalso affected(gc_two_sessions) of
        true -> gc_meets(with_gc(Session, each(Procs), Flags), Session);
        false -> false
    end.

%% @doc Returns true if `Flags' include garbage collections and another session
%% already traces the garbage collections of this process. This check is quick. Call
%% it for each process just before its flags are set, after one call of {@link
%% gc_elsewhere/2} for all processes.
-spec has_gc_elsewhere(term(), pid() | new, [atom()]) -> boolean().
has_gc_elsewhere(Session, Who, Flags) ->
    has_gc(Flags) andalso affected(gc_two_sessions)
        andalso gc_of_others(Session, Who) =/= [].

each(all) -> [new | processes()];
each(existing) -> processes();
each(Procs) when is_list(Procs) -> Procs;
each(Pid) -> [Pid].

%% Returns the processes whose garbage collections the session would trace if it set
%% `Flags'. Each process is returned with all flags that the session would then have
%% on it.
with_gc(none, Procs, Flags) ->
    [{P, Flags} || P <- Procs, has_gc(Flags)];
with_gc(Session, Procs, Flags) ->
    [{P, All} || P <- Procs, All <- [Flags ++ flags_of(Session, P)],
                 has_gc(All)].

gc_meets([], _) ->
    false;
gc_meets(Ours, Session) ->
    Others = [G || P <- [new | processes()], G <- gc_of_others(Session, P)],
    Mine = maps:from_list(Ours),
    Parents = lists:any(fun({_, Flags}) -> passes_on(Flags) end, Ours),
    Linked = lists:any(fun({_, Flags}) -> links(Flags) end, Ours),
    case [P || {P, Flags} <- Others,
               is_map_key(P, Mine)
                   orelse (is_map_key(new, Mine) andalso passes_on(Flags))
                   orelse (Parents andalso P =:= new)
                   orelse Linked orelse links(Flags)] of
        [] -> false;
        [P | _] -> {true, P}
    end.

gc_of_others(Session, P) ->
    [{P, Flags} || S <- sessions_of(P), S =/= Session,
                   Flags <- [flags_of(S, P)], has_gc(Flags)].

has_gc(Flags) ->
    lists:member(garbage_collection, Flags) orelse lists:member(all, Flags).

passes_on(Flags) ->
    links(Flags) orelse lists:member(set_on_spawn, Flags)
        orelse lists:member(set_on_first_spawn, Flags).

links(Flags) ->
    lists:any(fun(F) -> lists:member(F, Flags) end,
              [set_on_link, set_on_first_link, all]).

%% Must be called only on a VM that has sessions. Other VMs do not have these
%% defects.
sessions_of(What) ->
    case trace:session_info(What) of
        Sessions when is_list(Sessions) -> Sessions;
        undefined -> []
    end.

%% Returns the flags that a session has on a process. `trace:info/3' has no handle
%% for the legacy session. An error means that the session or the process has ended,
%% so there are no flags.
flags_of(Session, P) ->
    try case Session of
            {legacy, default} -> erlang:trace_info(P, flags);
            _ -> trace:info(Session, P, flags)
        end of
        {flags, Flags} when is_list(Flags) -> Flags;
        _ -> []
    catch
        error:_ -> []
    end.
