%% SPDX-License-Identifier: Apache-2.0
%% @doc The tracer module behind the trace sessions of OTP 25 and 26.
%%
%% In the VM this module is the tracer of everything that sessions trace. Its
%% callbacks are in C (c_src/engine). For each event they find the sessions that
%% want the event, and pass the event to the tracer of each of these sessions.
%% {@link inviso_engine_server} writes the tables that the callbacks read.
-module(inviso_engine).

%% The callbacks of erl_tracer. A comment in inviso_tracer.erl says why the
%% optional callbacks are not exported.
-export([enabled/3, trace/5]).

-export([load/0, start/0, cleaned/0, handle/1, tracer/2, session/2, edit/5,
         profile_of/1, timed/1, timed/2, masks/1, tracer_of/2, vacate/2,
         know/1, unknown/1, unknown/2, quiet/2, calls/2, changed/1, expected/1,
         missed/1, lost/0, room/3, plain/4, is_plain/3, count/4, counted/3]).

-nifs([enabled/3, trace/5, start/0, cleaned/0, handle/1, tracer/2, session/2,
       edit/5, profile_of/1, timed/1, timed/2, masks/1, tracer_of/2, vacate/2,
       know/1, unknown/1, unknown/2, quiet/2, calls/2, changed/1, expected/1,
       missed/1, lost/0, room/3, plain/4, is_plain/3, count/4, counted/3]).

-export_type([profile/0, slot/0, sessions/0, tracee/0, tracer/0]).

-type profile() :: non_neg_integer().
%% A profile() is the number of a combination of sessions and their flags. Many
%% processes and ports can have the same combination. Profile 0 has no flags.
-type slot() :: 0..31.
%% A slot() is the position of a session's bit in the masks that the callbacks use.
-type sessions() :: non_neg_integer().
%% sessions() is a mask with a bit for each session.
-type tracee() :: pid() | port() | new_processes | new_ports.
-type tracer() :: 0..4095.
%% A tracer() is the number of a tracer. 0 means no tracer, or the session's own
%% tracer.

%% @doc Loads the NIF library, if it is not loaded yet.
-spec load() -> ok | {error, term()}.
load() ->
    case inviso_pushed:is_brought() of
        true -> brought();
        false -> installed()
    end.

%% On a node to which a client has sent inviso's code, the library of
%% inviso_tracer contains the NIFs of this module too (c_src/pushed/library.c).
-dialyzer({no_match, brought/0}).
brought() ->
    case inviso_tracer:library() of
        undefined -> {error, {load, "the library was not brought"}};
        _ -> ok
    end.

installed() ->
    try dir() of
        Dir ->
            Path = unicode:characters_to_list(
                     filename:join(Dir, "inviso_engine"),
                     file:native_name_encoding()),
            Limits = {erlang:system_info(process_limit),
                      erlang:system_info(port_limit)},
            case erlang:load_nif(Path, Limits) of
                ok -> ok;
                {error, {reload, _}} -> ok;
                {error, {_, Text}} -> {error, {load, Text}}
            end
    catch
        error:_ -> {error, {load, "there is no directory priv beside ebin"}}
    end.

%% Dialyzer sees only the stub of inviso_tracer:dir/0, which the loaded library
%% replaces.
-dialyzer({no_match, dir/0}).
%% Returns the directory from which inviso_tracer loaded its library. Returns priv
%% if that library is not loaded, or if the directory has no inviso_engine.so.
dir() ->
    Dir = inviso_tracer:dir(),
    case Dir =/= undefined
         andalso filelib:is_regular(filename:join(Dir, "inviso_engine.so")) of
        true -> unicode:characters_to_list(Dir);
        false -> filename:absname(inviso_priv:dir())
    end.

%% @doc Returns true if the NIF library's table has space for a note of plain/4
%% about this function.
-spec room(module(), atom(), arity()) -> boolean().
room(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Notes the sessions that trace all calls of a function, without a match spec.
%% `none' removes the note about the function. Returns the previous note.
-spec plain(module(), atom(), arity(), sessions() | none) -> sessions() | none.
plain(_M, _F, _A, _Sessions) -> erlang:nif_error(not_loaded).

%% @doc Returns true if plain/4 has a note about this function, made by this server
%% or an earlier one.
-spec is_plain(module(), atom(), arity()) -> boolean().
is_plain(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Notes which counters sessions have set on a function, in the form of {@link
%% inviso_engine_counted}. 0 removes the note. Returns the previous note.
-spec count(module(), atom(), arity() | 256, Counters) -> Counters
              when Counters :: non_neg_integer().
count(_M, _F, _A, _Counters) -> erlang:nif_error(not_loaded).

%% @doc Returns the note of count/4 about a function, made by this server or an
%% earlier one. 0 means that there is none.
-spec counted(module(), atom(), arity() | 256) -> non_neg_integer().
counted(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Callback of erl_tracer.
-spec enabled(atom(), term(), term()) -> trace | discard | remove.
enabled(_Tag, _State, _Tracee) -> erlang:nif_error(not_loaded).

%% @doc Callback of erl_tracer.
-spec trace(atom(), term(), term(), term(), map()) -> term().
trace(_Tag, _State, _Tracee, _Msg, _Opts) -> erlang:nif_error(not_loaded).

%% @doc Clears the NIF library's tables and makes the caller the server. The
%% caller must keep the reference: without it the NIF library would not notice the
%% caller's death. After the caller's death the NIF library ignores all events.
%% The boolean is true if the VM may still have flags and patterns of an earlier
%% server.
-spec start() -> {reference(), boolean()}.
start() -> erlang:nif_error(not_loaded).

%% @doc Tells the NIF library that the VM has no flags and patterns of sessions at
%% present. This holds until the next session is opened. Also clears the NIF
%% library's notes about functions.
-spec cleaned() -> ok.
cleaned() -> erlang:nif_error(not_loaded).

%% @doc Returns a new reference for the handle of the session with this number. When
%% the last copy of the reference has been garbage collected, the server gets
%% `{'$inviso_engine', gone, Number}'.
-spec handle(non_neg_integer()) -> reference().
handle(_Number) -> erlang:nif_error(not_loaded).

%% @doc Gives a number to a tracer, or frees the number (`none'). If the tracer is one
%% of {@link inviso_tracer}, the argument is a tuple: the file name of the library of
%% inviso_tracer, and the tracer's handle. When such a tracer takes no more events,
%% the server gets `{'$inviso_engine', lost, Number}'.
-spec tracer(tracer(), pid() | port() | {binary(), pos_integer()} | none) ->
          ok.
tracer(_Number, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Opens a session in a slot and returns the session's number. With `none' in
%% place of a tracer it closes the slot's session and returns `ok'.
-spec session(slot(), tracer() | none) -> pos_integer() | ok.
session(_Slot, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Clears the flags `Clear' and then sets the flags `Set' of a session on a
%% tracee. Flags are bits, in the order of enum inv_flag. If `Set' is not 0,
%% `Tracer' gets the session's events of this tracee from then on. Returns the
%% tracee's new profile. `full' means that there is no room for another profile, and
%% that nothing has changed.
-spec edit(tracee(), slot(), non_neg_integer(), non_neg_integer(),
           tracer()) -> profile() | full.
edit(_Tracee, _Slot, _Clear, _Set, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Removes what the slot's last session has left in one part of the table of
%% tracees. The part begins at index `From', counted from 0. Returns the index of
%% the next part, or 0 after the last part.
-spec vacate(slot(), non_neg_integer()) -> non_neg_integer().
vacate(_Slot, _From) -> erlang:nif_error(not_loaded).

%% @doc Adds a process or port to the table of tracees, unless the table has it
%% already. The callbacks treat processes and ports that are not in the table as new.
-spec know(pid() | port()) -> ok.
know(_Tracee) -> erlang:nif_error(not_loaded).

%% @doc Sets the profile of processes or ports that are not in the table of tracees.
-spec unknown(new_processes | new_ports, profile()) -> ok.
unknown(_New, _Profile) -> erlang:nif_error(not_loaded).

%% @doc Returns the profile of processes or ports that are not in the table of
%% tracees.
-spec unknown(new_processes | new_ports) -> profile().
unknown(_New) -> erlang:nif_error(not_loaded).

%% @doc Returns the profile of a process or port, or of new processes or ports.
-spec profile_of(tracee()) -> profile().
profile_of(_Tracee) -> erlang:nif_error(not_loaded).

%% @doc Returns two masks: the sessions to which the process's times of calls are
%% attributed, and the sessions whose flag `call' the process has. `unknown' means
%% that the table of tracees has no row for the process: it never had a flag of a
%% session, or it is dead and its row was given to another process.
-spec timed(pid()) -> {Timed :: sessions(), Calls :: sessions()} | unknown.
timed(_Pid) -> erlang:nif_error(not_loaded).

%% @doc Sets the sessions to which the process's times of calls are attributed.
-spec timed(pid(), sessions()) -> ok.
timed(_Pid, _Timed) -> erlang:nif_error(not_loaded).

%% @doc Returns the contents of a profile: for each flag, the mask of the sessions
%% that have set the flag.
-spec masks(profile()) -> tuple().
masks(_Profile) -> erlang:nif_error(not_loaded).

%% @doc Returns the tracer that a session has on tracees with this profile.
-spec tracer_of(profile(), slot()) -> tracer().
tracer_of(_Profile, _Slot) -> erlang:nif_error(not_loaded).

%% @doc Sets the mask of the sessions that trace local calls, and whether the results
%% of match specs on functions contain the caller.
-spec calls(sessions(), boolean()) -> ok.
calls(_Local, _Callers) -> erlang:nif_error(not_loaded).

%% @doc Returns at most `Max' processes whose flags in the VM may differ from what
%% their profile needs. A process whose profile has changed several times is
%% returned once.
%%
%% As soon as there is such a process, the server gets `{'$inviso_engine',
%% changed, Pid}'. The server gets no other such message until changed/1 has
%% returned fewer processes than `Max'.
-spec changed(pos_integer()) -> [pid()].
changed(_Max) -> erlang:nif_error(not_loaded).

%% @doc Returns the sessions whose flags a process may get when its parent links to
%% it: the parent has flags of these sessions, and the flags are inherited by links.
%% A process that may get flags in this way has flags in the VM before the link.
-spec expected(pid()) -> sessions().
expected(_Pid) -> erlang:nif_error(not_loaded).

%% @doc Sets two masks: the sessions whose pattern for sent messages is `false',
%% and the sessions whose pattern for received messages is `false'.
-spec quiet(sessions(), sessions()) -> ok.
quiet(_Send, _Receive) -> erlang:nif_error(not_loaded).

%% @doc Returns true if a call was meta traced for this tracer after the tracer's
%% death.
-spec missed(tracer()) -> boolean().
missed(_Number) -> erlang:nif_error(not_loaded).

%% @doc Returns four counts since the server was started: flags that a process did
%% not get; calls whose ends are not reported; processes that got no entry in the
%% table of tracees, because another thread was changing the entry; and counters
%% that could not be noted.
-spec lost() -> {non_neg_integer(), non_neg_integer(), non_neg_integer(),
                 non_neg_integer()}.
lost() -> erlang:nif_error(not_loaded).
