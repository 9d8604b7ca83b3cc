%% SPDX-License-Identifier: Apache-2.0
%%
%% The tracer back end: an erl_tracer module whose callbacks are C and record
%% into shared memory, which a spooler process outside the VM drains into a
%% log file.  No message is sent, no process waits, nothing grows.
%%
%%    tracee ──► trace/5 (NIF) ──► ring ──► inviso_spool ──► Path
%%                                  ▲            ▲
%%             owner ◄─monitors─ keeper ──port───┘
%%
%% Example:
%%
%%    {ok, Tracer} = inviso_tracer:open("calls.log", #{}),
%%    {Module, State} = Tracer,
%%    erlang:trace(Pid, true, [call, {tracer, Module, State}]),
%%    ...
%%    {ok, #{recorded := N, dropped := 0}} = inviso_tracer:close(Tracer).
%%
%% This module holds the NIF's stubs and the functions of the API; the keeper
%% is inviso_keeper.  Seeds: erl_tracer behaviour, "Callbacks".
-module(inviso_tracer).

%% erl_tracer.  The optional callbacks must not be exported: in some places
%% the VM asks "enabled?" by calling trace_call/5 with three arguments.
-export([enabled/3, trace/5]).

-export([open/2, info/1, filter/2, flush/1, close/1, load/0, load/1, dir/0]).

%% For inviso_keeper.
-export([nif_open/2, nif_offer/1, nif_give/1, nif_keeper/1, nif_info/1,
         nif_begin/1, nif_spool/1, nif_anchor/1, nif_flush/1, nif_filter/6,
         nif_retire/1, nif_quiet/1, nif_end/2, nif_free/1, nif_gone/0,
         nif_settle/0]).

%% For inviso_place.
-export([nif_hold/1]).

%% For inviso_deliver.
-export([nif_deliver/4, nif_credit/3, nif_counts/1]).

%% Without this the compiler would take a stub's result for granted.
-nifs([enabled/3, trace/5, dir/0,
       nif_open/2, nif_offer/1, nif_give/1, nif_keeper/1, nif_info/1,
       nif_begin/1, nif_spool/1, nif_anchor/1, nif_flush/1, nif_filter/6,
       nif_retire/1, nif_quiet/1, nif_end/2, nif_free/1, nif_gone/0,
       nif_settle/0, nif_hold/1,
       nif_deliver/4, nif_credit/3, nif_counts/1]).

-export_type([tracer/0, opts/0, filter/0, stats/0]).

-type tracer() :: {module(), pos_integer()}.
%% What the VM takes as a tracer module and its state.

-type opts() ::
        #{keep => oldest | newest,
          buffer_bytes => pos_integer(),
          packet_bytes => pos_integer(),
          ring => memory | {file, file:name_all()},
          payload => full | none,
          filter => filter(),
          max_term_bytes => pos_integer(),
          max_depth => pos_integer(),
          compress => none | zstd,
          rotate => #{bytes => pos_integer(), ms => pos_integer(),
                      count => pos_integer()},
          limit => #{events => non_neg_integer(),
                     bytes => non_neg_integer(),
                     ms => pos_integer(),
                     rate => pos_integer()},
          drain_ms => pos_integer(),
          flush_ms => non_neg_integer(),
          replace => boolean(),
          brought => none | {file:name_all(), boolean()},
          owner => pid()}.
%% See inviso_opts for meanings, ranges and defaults.

-type filter() :: none | [tuple()] | unicode:chardata().
%% A match spec, or its text as `inviso merge --filter' takes it.  Its
%% arguments are the elements of the trace tuple, without `trace' and the time.

-type stats() ::
        #{produced := non_neg_integer(),
          recorded := non_neg_integer(),
          dropped := non_neg_integer(),
          lost := #{atom() => pos_integer()},
          filtered := non_neg_integer(),
          undecided := non_neg_integer(),
          limit_reached := boolean(),
          limit := none | events | bytes | ms,
          rate_reached := boolean(),
          ring_bytes := non_neg_integer(),
          log_bytes := non_neg_integer(),
          files := [file:filename_all()],
          spooler := #{state := atom(), os_pid := integer(),
                       starts := non_neg_integer(),
                       error => binary()}}.
%% produced: the events that the VM offered, without those that the filter left
%% out, which are filtered; recorded: those in the log or on their way to it;
%% dropped: all others, by reason in lost.  Of a closed tracer produced =
%% recorded + dropped.  undecided: what the filter let pass because it could not
%% tell.  limit_reached: nothing more is recorded, because of limit;
%% rate_reached: some events were dropped because of limit.rate.

%%---------------------------------------------------------------------------
%% API

%% Opens a tracer that records into the log file Path.  The calling process is
%% its owner (unless Opts names another): when it dies, the tracer is closed
%% and its log complete.  Fails with {error, Reason}:
%%   {bad_option, Name, Value, What}  an option and what it takes
%%   {filter, Text}                   what is wrong with the filter, and where
%%   {log, Posix, Text}               the log cannot be written, e.g. eexist
%%   {ring, Call, Posix}              no memory, or no file, for the rings
%%   {too_many, 64}                   that many tracers are open
%%   {load, Text}                     the library or the spooler is not there
-spec open(file:name_all(), opts()) -> {ok, tracer()} | {error, term()}.
open(Path, Opts) ->
    case inviso_opts:parse(Path, Opts) of
        {ok, Parsed} ->
            case load() of
                ok -> inviso_keeper:start(Parsed);
                {error, _} = Error -> Error
            end;
        {error, _} = Error ->
            Error
    end.

%% What a tracer has done so far.
-spec info(tracer()) -> stats() | {error, closed}.
info({?MODULE, Handle}) ->
    inviso_keeper:info(Handle).

%% Exchanges the filter of a tracer that is open; none takes it away.  Whoever
%% calls it: events that begin after it has returned go by the new one.
-spec filter(tracer(), filter()) ->
          ok | {error, closed | {filter, binary()}
                | {bad_option, filter, term(), string()}}.
filter({?MODULE, Handle}, Filter) ->
    case inviso_opts:filter(Filter) of
        {ok, Bytes} -> inviso_keeper:filter(Handle, Bytes);
        {error, _} = Error -> Error
    end.

%% Returns when everything recorded before the call is in the log.  Of a
%% flight recorder (keep => newest) it is the way to get what it holds.
-spec flush(tracer()) -> ok | {error, closed | term()}.
flush({?MODULE, Handle}) ->
    inviso_keeper:flush(Handle).

%% Stops recording at once, and returns when all of it is in the log.  The VM
%% takes the flags of processes that still have the tracer off by and by.
-spec close(tracer()) -> {ok, stats()} | {error, closed | term()}.
close({?MODULE, Handle}) ->
    inviso_keeper:close(Handle).

%% What dir/0 is here it is only until the library is loaded.
-dialyzer({no_match, load/0}).
%% Loads the library, if it is not loaded yet, from the application's priv
%% directory.  open/2 does it too.
-spec load() -> ok | {error, term()}.
load() ->
    case dir() of
        undefined ->
            try inviso_push:priv_dir() of
                Dir -> load(Dir)
            catch
                error:_ -> {error, {load, "code that was sent to a node has "
                                    "to be told where the library is"}}
            end;
        _ -> ok
    end.

%% Loads the library, and later the spooler, from Dir.
-spec load(file:name_all()) -> ok | {error, term()}.
load(Relative) ->
    Dir = filename:absname(Relative), % the spooler is started from /
    Threads = {erlang:system_info(schedulers),
               erlang:system_info(dirty_cpu_schedulers),
               erlang:system_info(dirty_io_schedulers)},
    Path = filename:join(Dir, "inviso_tracer"),
    case erlang:load_nif(chars(Path), {Threads, bytes(Dir)}) of
        ok -> ok;
        {error, {reload, _}} -> ok;
        {error, {_, Text}} -> {error, {load, Text}}
    end.

%% Where the library was loaded from; undefined if it is not.
-spec dir() -> file:filename_all() | undefined.
dir() ->
    undefined.

chars(Path) ->
    unicode:characters_to_list(Path, file:native_name_encoding()).

bytes(Path) when is_binary(Path) -> Path;
bytes(Path) ->
    unicode:characters_to_binary(Path, unicode, file:native_name_encoding()).

%%---------------------------------------------------------------------------
%% erl_tracer

enabled(_Tag, _State, _Tracee) ->
    erlang:nif_error(not_loaded).

trace(_Tag, _State, _Tracee, _Term, _Opts) ->
    erlang:nif_error(not_loaded).

%%---------------------------------------------------------------------------
%% The keeper's requests.  Handle is a tracer's state; `closed' when there is
%% no such tracer.

%% nif_open({Path, RingPath, Node, Otp, Erts}, inviso_opts:numbers()) ->
%%     {ok, Handle, Fd} | {error, {Call, Errno}}.  The caller is the keeper:
%% its death closes the tracer.
nif_open(_Texts, _Numbers) -> erlang:nif_error(not_loaded).

%% Where the spooler cannot open the memory through /proc: the name of a socket
%% that it gets it from -> binary() | false; and waiting half a second for it
%% -> boolean()
nif_offer(_Handle) -> erlang:nif_error(not_loaded).
nif_give(_Handle) -> erlang:nif_error(not_loaded).

%% -> pid() | undefined
nif_keeper(_Handle) -> erlang:nif_error(not_loaded).

%% -> {Produced, Recorded, Dropped :: tuple(), RingBytes,
%%     none | events | bytes | ms, RateReached, Filtered, Undecided}
nif_info(_Handle) -> erlang:nif_error(not_loaded).

%% The limit of time counts from now on, and no longer from open -> ok
nif_begin(_Handle) -> erlang:nif_error(not_loaded).

%% -> {State, OsPid, FlushDone, FirstFile, File, Bytes, Starts, Errno, Text}
nif_spool(_Handle) -> erlang:nif_error(not_loaded).

%% Takes a clock anchor, which is the keeper's sign of life too.
nif_anchor(_Handle) -> erlang:nif_error(not_loaded).

%% -> the number that FlushDone will reach
nif_flush(_Handle) -> erlang:nif_error(not_loaded).

%% Spec, as inviso_opts:filter/1 makes it, for the terms of this node, whose
%% name is an atom and text -> ok | {error, Text}
nif_filter(_Handle, _Spec, _Node, _Name, _Creation, _Otp) ->
    erlang:nif_error(not_loaded).

%% No event is recorded any more; quiet when no thread is recording one.
nif_retire(_Handle) -> erlang:nif_error(not_loaded).
nif_quiet(_Handle) -> erlang:nif_error(not_loaded).

%% Tells the spooler: closed | owner_died
nif_end(_Handle, _Why) -> erlang:nif_error(not_loaded).

%% Gives the memory back -> true | false (not retired or not quiet)
nif_free(_Handle) -> erlang:nif_error(not_loaded).

%% How many tracers are gone of those that schedulers have to know; and that the
%% one which runs the calling process does, see c_src/nif/gone.h.
nif_gone() -> erlang:nif_error(not_loaded).
nif_settle() -> erlang:nif_error(not_loaded).

%% Locks a file until the VM ends, or gives the lock up if the path is empty,
%% see c_src/nif/hold.h -> boolean()
nif_hold(_Path) -> erlang:nif_error(not_loaded).

%%---------------------------------------------------------------------------
%% Tracers that deliver, see c_src/nif/delivery.h; keeper, retire, quiet and
%% free are of these too.

%% nif_deliver(Receiver, Events, Bytes, MaxCopy) -> {ok, Handle} |
%% {error, Errno}.  To a process that has that credit.  MaxCopy: bytes of an
%% event but for its binaries.  The caller is the keeper: its death closes the
%% tracer.
nif_deliver(_Receiver, _Events, _Bytes, _MaxCopy) ->
    erlang:nif_error(not_loaded).

%% The receiver has done with so many events, of so many bytes -> ok | closed
nif_credit(_Handle, _Events, _Bytes) -> erlang:nif_error(not_loaded).

%% -> {Produced, {Full, TooBig, Gone, NoThread}} | closed
nif_counts(_Handle) -> erlang:nif_error(not_loaded).
