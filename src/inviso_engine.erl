%% SPDX-License-Identifier: Apache-2.0
%% @doc The tracer module behind the trace sessions of OTP 25 and 26.
%%
%% To the VM it is the one tracer of all that sessions trace; its callbacks, in
%% C, find the sessions that want an event and send each its own message:
%% c_src/engine. What they know is written by {@link inviso_engine_server}, the
%% only caller of the other functions.
-module(inviso_engine).

%% erl_tracer. As in inviso_tracer, no optional callback may be exported.
-export([enabled/3, trace/5]).

-export([load/0, start/0, cleaned/0, handle/1, tracer/2, session/2, edit/5,
         profile_of/1, called/1, masks/1, tracer_of/2, vacate/2, know/1,
         unknown/1, unknown/2, quiet/2, calls/2, changed/1, expected/1,
         missed/1, lost/0, room/3, plain/4, is_plain/3, count/4, counted/3]).

-nifs([enabled/3, trace/5, start/0, cleaned/0, handle/1, tracer/2, session/2,
       edit/5, profile_of/1, called/1, masks/1, tracer_of/2, vacate/2, know/1,
       unknown/1, unknown/2, quiet/2, calls/2, changed/1, expected/1, missed/1,
       lost/0, room/3, plain/4, is_plain/3, count/4, counted/3]).

-export_type([profile/0, slot/0, sessions/0, tracee/0, tracer/0]).

-type profile() :: non_neg_integer().
%% A combination of sessions and flags that processes have; 0: none.
-type slot() :: 0..31.
%% A session's bit in the masks that the callbacks work with.
-type sessions() :: non_neg_integer().
%% Such a mask.
-type tracee() :: pid() | port() | new_processes | new_ports.
-type tracer() :: 0..4095.
%% A tracer's number; 0: none, or the session's own.

%% @doc Loads the library, if it is not loaded yet.
-spec load() -> ok | {error, term()}.
load() ->
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

%% What inviso_tracer:dir/0 says in the source it says only until its library is
%% loaded.
-dialyzer({no_match, dir/0}).
%% Where the tracer's is, if that has been brought from somewhere.
dir() ->
    case inviso_tracer:dir() of
        undefined -> filename:absname(inviso_push:priv_dir());
        Dir -> unicode:characters_to_list(Dir)
    end.

%% @doc Whether there is room to note a function in.
-spec room(module(), atom(), arity()) -> boolean().
room(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Notes that a function has a pattern without a match spec, which is these
%% sessions', or none any more. What was noted before.
-spec plain(module(), atom(), arity(), sessions() | none) -> sessions() | none.
plain(_M, _F, _A, _Sessions) -> erlang:nif_error(not_loaded).

%% @doc Whether it was noted, by whichever server.
-spec is_plain(module(), atom(), arity()) -> boolean().
is_plain(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Notes of its counters what {@link inviso_engine_counted} makes of them,
%% 0: it has none. What was noted before.
-spec count(module(), atom(), arity() | 256, Counters) -> Counters
              when Counters :: non_neg_integer().
count(_M, _F, _A, _Counters) -> erlang:nif_error(not_loaded).

%% @doc What was noted, by whichever server.
-spec counted(module(), atom(), arity() | 256) -> non_neg_integer().
counted(_M, _F, _A) -> erlang:nif_error(not_loaded).

%% @doc Callback of erl_tracer.
-spec enabled(atom(), term(), term()) -> trace | discard | remove.
enabled(_Tag, _State, _Tracee) -> erlang:nif_error(not_loaded).

%% @doc Callback of erl_tracer.
-spec trace(atom(), term(), term(), term(), map()) -> term().
trace(_Tag, _State, _Tracee, _Msg, _Opts) -> erlang:nif_error(not_loaded).

%% @doc Begins anew; the caller is the server. Whoever has the reference sees to
%% it that no session is served any more once the server is dead. And whether
%% there may be flags and patterns of a server before in the VM.
-spec start() -> {reference(), boolean()}.
start() -> erlang:nif_error(not_loaded).

%% @doc There are none, until the next session is opened, and no notes of them.
-spec cleaned() -> ok.
cleaned() -> erlang:nif_error(not_loaded).

%% @doc Something that the server is told of (`{'$inviso_engine', gone,
%% Number}') when nobody has it any more.
-spec handle(non_neg_integer()) -> reference().
handle(_Number) -> erlang:nif_error(not_loaded).

%% @doc Gives a tracer a number, or ends that. One of {@link inviso_tracer} is
%% the file of its library and its handle; when it takes no more events, the
%% server gets `{'$inviso_engine', lost, Number}'.
-spec tracer(tracer(), pid() | port() | {binary(), pos_integer()} | none) ->
          ok.
tracer(_Number, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Opens a session in a slot, which gives its number, or closes it.
-spec session(slot(), tracer() | none) -> pos_integer() | ok.
session(_Slot, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Clears, then sets flags of a session. Flags are bits, in the order of
%% enum inv_flag. Where any are set, it has that tracer from then on. The profile
%% that it makes, or `full': there is no room for another, and nothing has
%% changed.
-spec edit(tracee(), slot(), non_neg_integer(), non_neg_integer(),
           tracer()) -> profile() | full.
edit(_Tracee, _Slot, _Clear, _Set, _Tracer) -> erlang:nif_error(not_loaded).

%% @doc Forgets what of a slot's last session is left in some places of the
%% table, from that one on, of which 0 is the first. The next, or 0.
-spec vacate(slot(), non_neg_integer()) -> non_neg_integer().
vacate(_Slot, _From) -> erlang:nif_error(not_loaded).

%% @doc Gives a process or port a place in the table, if it has none: it was
%% there before what is unknown now.
-spec know(pid() | port()) -> ok.
know(_Tracee) -> erlang:nif_error(not_loaded).

%% @doc The profile of those that have no place.
-spec unknown(new_processes | new_ports, profile()) -> ok.
unknown(_New, _Profile) -> erlang:nif_error(not_loaded).

%% @doc What it is.
-spec unknown(new_processes | new_ports) -> profile().
unknown(_New) -> erlang:nif_error(not_loaded).

%% @doc The profile of a process, a port, or of those that will be.
-spec profile_of(tracee()) -> profile().
profile_of(_Tracee) -> erlang:nif_error(not_loaded).

%% @doc The sessions whose flag `call' a process has or had; `unknown' of one that
%% never had any, or that died and whose place another has taken over.
-spec called(pid()) -> sessions() | unknown.
called(_Pid) -> erlang:nif_error(not_loaded).

%% @doc What a profile is: by flag, the sessions that have set it.
-spec masks(profile()) -> tuple().
masks(_Profile) -> erlang:nif_error(not_loaded).

%% @doc The tracer that a session has in a profile.
-spec tracer_of(profile(), slot()) -> tracer().
tracer_of(_Profile, _Slot) -> erlang:nif_error(not_loaded).

%% @doc Of what is set on functions: which sessions trace local calls, and
%% whether the match specs tell who called.
-spec calls(sessions(), boolean()) -> ok.
calls(_Local, _Callers) -> erlang:nif_error(not_loaded).

%% @doc Processes whose flags in the VM may not be what their profile needs,
%% that many at most: each is named once for all that has changed since it was
%% named last. When there is the first, the server gets `{'$inviso_engine',
%% changed, Pid}'; then none until it has been told of less than it asked for.
-spec changed(pos_integer()) -> [pid()].
changed(_Max) -> erlang:nif_error(not_loaded).

%% @doc The sessions that may get interested in a process, which has flags in
%% the VM for that: its parent passes flags on by links.
-spec expected(pid()) -> sessions().
expected(_Pid) -> erlang:nif_error(not_loaded).

%% @doc The sessions whose pattern of sent, of received messages is `false'.
-spec quiet(sessions(), sessions()) -> ok.
quiet(_Send, _Receive) -> erlang:nif_error(not_loaded).

%% @doc Whether a call was meta traced for a tracer when it was dead.
-spec missed(tracer()) -> boolean().
missed(_Number) -> erlang:nif_error(not_loaded).

%% @doc What there was no room for, since the server was started: flags that a
%% process should have got, calls whose ends are for nobody, places that two
%% threads wanted at once, notes of counters.
-spec lost() -> {non_neg_integer(), non_neg_integer(), non_neg_integer(),
                 non_neg_integer()}.
lost() -> erlang:nif_error(not_loaded).
