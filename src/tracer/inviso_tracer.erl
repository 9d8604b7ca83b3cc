%% SPDX-License-Identifier: Apache-2.0
%%
%% A tracer: a module of the behaviour erl_tracer whose callbacks, in C, record
%% events into shared memory. The spooler, a program outside the VM, moves them to a
%% log file. Recording sends no message, blocks no process, and uses a fixed amount
%% of memory.
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
%% This module has the stubs of the NIFs and the functions of the API. Each tracer
%% has a process, its keeper (inviso_keeper). OTP's manual of erl_tracer, section
%% "Callbacks", specifies the callbacks.
-module(inviso_tracer).

%% The callbacks of erl_tracer. The optional callbacks must not be exported. Otherwise
%% the VM, when it asks whether an event is enabled, sometimes calls an optional
%% callback such as trace_call/5 with the three arguments of enabled/3.
-export([enabled/3, trace/5]).

-export([open/2, info/1, filter/2, flush/1, close/1, load/0, load/1, dir/0]).

%% Functions that the engine calls.
-export([library/0]).

%% For inviso_keeper and inviso_names.
-export([nif_open/2, nif_offer/1, nif_give/1, nif_keeper/1, nif_keepers/0,
         nif_info/1, nif_begin/1, nif_spool/1, nif_anchor/1, nif_flush/1,
         nif_note/2, nif_fresh/1, nif_filter/6, nif_retire/1, nif_quiet/1,
         nif_end/2, nif_free/1, nif_gone/0, nif_settle/0]).

%% For the session: requests of sequential traces.
-export([nif_seq/6, nif_starts/1, nif_starts_patterns/2]).

%% For the session: counting.
-export([nif_tally/2, nif_tallied/3, nif_times/3, nif_times_end/2]).

%% For the session: the bound on open calls.
-export([nif_bound/3, nif_ends/4, nif_stopped/1, nif_released/4]).
-export([nif_decide/5, nif_rules/4, nif_sweep/2]).

%% For inviso_place.
-export([nif_dir/1, nif_hold/1]).

%% For inviso_deliver.
-export([nif_deliver/4, nif_credit/3, nif_counts/1]).

%% Without `-nifs' the compiler would assume that each stub only raises an error.
-nifs([enabled/3, trace/5, dir/0, library/0,
       nif_open/2, nif_offer/1, nif_give/1, nif_keeper/1, nif_keepers/0,
       nif_info/1, nif_begin/1, nif_spool/1, nif_anchor/1, nif_flush/1,
       nif_note/2, nif_fresh/1, nif_filter/6, nif_retire/1, nif_quiet/1,
       nif_end/2, nif_free/1, nif_gone/0, nif_settle/0, nif_dir/1, nif_hold/1,
       nif_bound/3, nif_ends/4, nif_stopped/1, nif_released/4,
       nif_decide/5, nif_rules/4, nif_sweep/2,
       nif_seq/6, nif_starts/1, nif_starts_patterns/2, nif_tally/2, nif_tallied/3,
       nif_times/3, nif_times_end/2,
       nif_deliver/4, nif_credit/3, nif_counts/1]).

-export_type([tracer/0, opts/0, filter/0, redact_rule/0, stats/0]).

-type tracer() :: {module(), pos_integer()}.
%% A tracer() is a tracer module and its state, as the VM takes them.

-type opts() ::
        #{keep => oldest | newest,
          buffer_bytes => pos_integer(),
          packet_bytes => pos_integer(),
          ring => memory | {file, file:name_all()},
          payload => full | none,
          filter => filter(),
          redact => unicode:chardata() | [redact_rule()],
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
          names => boolean(),
          brought => none | {file:name_all(), boolean()},
          owner => pid()}.
%% inviso_opts describes the meanings, ranges and defaults of these options.

-type filter() :: none | [tuple()] | unicode:chardata().
%% A filter() is a match spec, or its text in the form that `inviso merge --filter'
%% takes. The match spec is applied to the elements of the trace tuple, without
%% `trace' and the time.

-type redact_rule() ::
        atom() | unicode:chardata()
      | {record, Name :: atom(), Fields :: [atom()], Redacted :: [atom()]}.
%% A redact_rule() says which values are not recorded (inviso_opts).

-type stats() ::
        #{produced := non_neg_integer(),
          recorded := non_neg_integer(),
          dropped := non_neg_integer(),
          lost := #{atom() => pos_integer()},
          filtered := non_neg_integer(),
          undecided := non_neg_integer(),
          redacted := non_neg_integer(),
          left_out := non_neg_integer(),
          decided := none | #{forgotten | unkept | unended | open |
                              without_args => non_neg_integer()},
          limit_reached := boolean(),
          limit := none | events | bytes | ms,
          rate_reached := boolean(),
          ring_bytes := non_neg_integer(),
          log_bytes := non_neg_integer(),
          files := [file:filename_all()],
          spooler := #{state := atom(), os_pid := integer(),
                       starts := non_neg_integer(),
                       error => binary()}}.
%% produced       events of the VM, without those that the filter left out
%% recorded       events that are in the log or will be
%% dropped        all other produced events; lost counts them by reason.
%%                When the tracer is closed, produced = recorded + dropped.
%% filtered       events that the filter left out
%% undecided      produced events of which the filter could not decide whether they
%%                match
%% redacted       values in whose place a mark was recorded
%% left_out       calls and ends of calls that the bound on open calls left out;
%%                they are not in produced (inviso_arm_open_calls)
%% decided        counts of a tracer with rules, which records a call when it ends
%%                (inviso_arm_decide).  The first four count calls that were not
%%                recorded and are not in produced.  forgotten: no rule chose the
%%                call.  unkept: the tracer had no memory for the call, or the VM
%%                does not report its end.  unended: the process died, or
%%                hibernated, before the call ended.  open: the call has not ended
%%                yet.  without_args counts recorded calls for whose arguments the
%%                tracer had no memory
%% limit_reached  true: the limit is reached, and nothing more is recorded
%% rate_reached   true: at least one event was dropped because of limit's rate

%%---------------------------------------------------------------------------
%% API

%% Opens a tracer that records into the log file Path. The calling process is the
%% owner, unless Opts names another process. When the owner dies, the tracer is
%% closed and the log is completed. Errors:
%%   {bad_option, Name, Value, What}  an option and what it takes
%%   {filter, Text}                   what is wrong with the filter, and where
%%   {redact, Text}                   what is wrong with a rule of redaction
%%   {log, Posix, Text}               the log cannot be written, e.g. eexist
%%   {ring, Call, Posix}              no memory, or no file, for the rings
%%   {too_many, 64}                   64 tracers are open already
%%   {load, Text}                     the library or the spooler is not available
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

%% Returns the counts and the state of a tracer.
-spec info(tracer()) -> stats() | {error, closed}.
info({?MODULE, Handle}) ->
    inviso_keeper:info(Handle).

%% Replaces the filter of an open tracer; `none' removes it. Any process may call
%% this. Events that begin after this function has returned are filtered by the new
%% filter.
-spec filter(tracer(), filter()) ->
          ok | {error, closed | {filter, binary()}
                | {bad_option, filter, term(), string()}}.
filter({?MODULE, Handle}, Filter) ->
    case inviso_opts:filter(Filter) of
        {ok, Bytes} -> inviso_keeper:filter(Handle, Bytes);
        {error, _} = Error -> Error
    end.

%% Waits until everything recorded before the call is in the log. A flight recorder
%% (keep => newest) writes what is in its memory.
-spec flush(tracer()) -> ok | {error, closed | term()}.
flush({?MODULE, Handle}) ->
    inviso_keeper:flush(Handle).

%% Stops recording at once, and waits until everything recorded is in the log. If
%% processes still have trace flags with this tracer, the VM clears the flags at the
%% next event of each process.
-spec close(tracer()) -> {ok, stats()} | {error, closed | term()}.
close({?MODULE, Handle}) ->
    inviso_keeper:close(Handle).

%% Dialyzer sees only the stub of dir/0 below, which the loaded library replaces.
-dialyzer({no_match, load/0}).
%% Loads the NIF library from the application's priv directory, unless it is
%% loaded already.  open/2 calls this.
-spec load() -> ok | {error, term()}.
load() ->
    case dir() of
        undefined ->
            try inviso_priv:dir() of
                Dir -> load(Dir)
            catch
                error:_ -> {error, {load, "on a node to which the code was "
                                          "sent, use load(Dir) to say where "
                                          "the library is"}}
            end;
        Dir ->
            %% If the directory does not exist, a client has sent the loaded code
            %% to this node and has left. The code is about to be unloaded.
            case file:read_file_info(Dir, [raw]) of
                {ok, _} -> ok;
                {error, _} ->
                    {error, {load, bytes(
                       ["the directory of the loaded library, ", chars(Dir),
                        ", is removed. If a command has just left this node, "
                        "its code is unloaded in a few seconds: then try "
                        "again"])}}
            end
    end.

%% Loads the NIF library from Dir, unless it is loaded already. Spoolers are started
%% from Dir from now on.
%%
%% If new code of this module is loaded while a tracer is open, the tracer stays open.
%% But until load/1 is called, the VM treats the tracer as dead: it clears the trace
%% flags of each process that runs. Set the flags again after the call.
-spec load(file:name_all()) -> ok | {error, term()}.
load(Relative) ->
    %% The path must be absolute, because the spooler is started in /.
    Dir = filename:absname(Relative),
    Threads = {erlang:system_info(schedulers),
               erlang:system_info(dirty_cpu_schedulers),
               erlang:system_info(dirty_io_schedulers)},
    Limits = {erlang:system_info(process_limit),
              erlang:system_info(port_limit)},
    Path = filename:join(Dir, "inviso_tracer"),
    case erlang:load_nif(chars(Path), {Threads, bytes(Dir), Limits}) of
        ok -> ok;
        {error, {reload, _}} -> nif_dir(bytes(Dir));
        {error, {_, Text}} -> {error, {load, Text}}
    end.

%% Returns the directory of library and spooler, or undefined if the NIF library
%% is not loaded.
-spec dir() -> file:filename_all() | undefined.
dir() ->
    undefined.

%% Returns the directory from which the NIF library was loaded, or undefined if it
%% is not loaded. The directory may have been removed since.
-spec library() -> file:filename_all() | undefined.
library() ->
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
%% The keeper calls these functions. Handle is the state of a tracer. The functions
%% return `closed' if there is no such tracer.

%% nif_open({Path, RingPath, Node, Otp, Erts, Redact}, inviso_opts:numbers()) ->
%%     {ok, Handle, Fd} | {error, {Call, Errno}} | {error, {redact, Text}}.
%% The caller is the keeper: its death closes the tracer.
nif_open(_Texts, _Numbers) -> erlang:nif_error(not_loaded).

%% These functions are for a spooler that cannot open the shared memory through /proc.
%% nif_offer returns the name of a socket from which the spooler gets the memory, or
%% false. nif_give waits half a second for the spooler to connect to this socket, and
%% returns true or false.
nif_offer(_Handle) -> erlang:nif_error(not_loaded).
nif_give(_Handle) -> erlang:nif_error(not_loaded).

%% Returns the keeper of a tracer, or undefined.
nif_keeper(_Handle) -> erlang:nif_error(not_loaded).

%% Returns [{Keeper, Path | none}] for all tracers whose memory is not freed yet.
%% Path is the log's path; none means that the tracer delivers.
nif_keepers() -> erlang:nif_error(not_loaded).

%% Returns {Produced, Recorded, Dropped :: tuple(), RingBytes,
%%          none | events | bytes | ms, RateReached, Filtered, Undecided,
%%          LeftOut, Redacted, Decided}.
%% Decided is none or {Forgotten, Unkept, Unended, Open, WithoutArgs}. The
%% fifth element is the limit that was reached.
nif_info(_Handle) -> erlang:nif_error(not_loaded).

%% Starts the time limit of the tracer. (nif_open does not.) Returns ok.
nif_begin(_Handle) -> erlang:nif_error(not_loaded).

%% Returns {State, OsPid, FlushDone, FirstFile, File, Bytes, Starts, Errno, Text}:
%% what the spooler has written into the control page.
nif_spool(_Handle) -> erlang:nif_error(not_loaded).

%% Takes a clock anchor: reads several clocks at one instant. This also shows the
%% spooler that the keeper is alive.
nif_anchor(_Handle) -> erlang:nif_error(not_loaded).

%% Starts a flush and returns a number. The flush is done when FlushDone of
%% nif_spool has reached this number.
nif_flush(_Handle) -> erlang:nif_error(not_loaded).

%% Writes notes, [{Kind, [Term]}], to the log: see c_src/nif/note.h. Takes at most
%% 256 of them. Returns how many were written, or `closed'.
nif_note(_Handle, _Notes) -> erlang:nif_error(not_loaded).

%% Returns processes that the tracer has recorded for the first time since the
%% last call, at most 256, or `closed'. A process can be returned more than once.
nif_fresh(_Handle) -> erlang:nif_error(not_loaded).

%% Sets the filter Spec, in the form that inviso_opts:filter/1 returns. Node is
%% the name of this node as an atom, Name is this name as text. Returns ok or
%% {error, Text}.
nif_filter(_Handle, _Spec, _Node, _Name, _Creation, _Otp) ->
    erlang:nif_error(not_loaded).

%% The bound on open calls (c_src/nif/bound.h). A traced call is open if the VM has
%% still to report its end.
%%
%% nif_bound(Handle, Limit, Processes) -> true | false | closed. Sets the bound on the
%% open calls of each process. Processes is the VM's limit of processes. false: there
%% is no memory.
nif_bound(_Handle, _Limit, _Processes) -> erlang:nif_error(not_loaded).

%% nif_ends(Handle, Module, [{Function, Arity}], none | all | marked) ->
%%     integer() | closed.
%% Tells the NIF library for which calls of these functions the VM will report the
%% ends. Returns the number of functions for which the table had no room; they
%% have no bound.
nif_ends(_Handle, _Module, _Functions, _Ends) -> erlang:nif_error(not_loaded).

%% Returns [{Module, Function, Arity, Pid, OpenCalls}] or closed. In each element
%% the process Pid has reached the bound, with OpenCalls open calls, and most of
%% them are calls of this function. The caller must change the function's pattern.
nif_stopped(_Handle) -> erlang:nif_error(not_loaded).

%% Tells the NIF library that the function's pattern has been changed, and the VM
%% no longer reports the ends of its calls. Returns ok or closed.
nif_released(_Handle, _Module, _Function, _Arity) ->
    erlang:nif_error(not_loaded).

%% Calls that are recorded when they end (c_src/nif/decide.h).
%%
%% nif_decide(Handle, Processes, Bytes, All, Rules) -> true | false | closed. Sets
%% the rule of all functions, {MinNs | none, Failed}, and at most 32 rules that
%% functions can have. Bytes is the memory for open calls. Must be called after
%% nif_bound, and before a process has the tracer. false: there is no memory.
nif_decide(_Handle, _Processes, _Bytes, _All, _Rules) ->
    erlang:nif_error(not_loaded).

%% nif_rules(Handle, Module, [{Function, Arity}], Bits) -> integer() | closed.
%% Sets which of the rules the functions have: bit 0 is the first rule. Must be
%% called before nif_ends. Returns how many of the functions did not fit into the
%% table.
nif_rules(_Handle, _Module, _Functions, _Bits) -> erlang:nif_error(not_loaded).

%% nif_sweep(Handle, At) -> At2 | done | closed. Frees the memory of the open
%% calls of dead processes. At is first 0, and then At2.
nif_sweep(_Handle, _At) -> erlang:nif_error(not_loaded).

%% Requests of sequential traces (c_src/nif/starts.h).
%%
%% nif_seq(Handle, Label, Requests, OneIn, Node, Processes) -> StartHandle |
%% closed | false. From now on the tracer records only the seq_trace events with
%% this label. Match specs that set the token need StartHandle as the state of
%% their tracer; match specs for calls also ask for the ends of calls. Requests:
%% how many requests may begin; 0: no limit. One request in OneIn is recorded.
%% Node: the name of this node. Processes: how many processes it can have. The
%% result false means that there is no memory for so many processes.
nif_seq(_Handle, _Label, _Requests, _OneIn, _Node, _Processes) ->
    erlang:nif_error(not_loaded).

%% nif_starts_patterns(Handle, Mode) -> ok | closed. Tells the NIF library how the
%% match specs of calls were changed. `none': they no longer ask for the ends of
%% calls. `done': no more requests begin, and the match specs clear the flags of
%% tokens.
nif_starts_patterns(_Handle, _Mode) -> erlang:nif_error(not_loaded).

%% Returns closed, or {Begun, Beyond, Remote, Others, IsUsedUp, IsDeep}. The first four
%% elements are numbers: requests that have begun; requests beyond the limit or left
%% out by sampling; requests that began with a message to another node; events with
%% another label. IsUsedUp is true if no more requests may begin. IsDeep is true if
%% match specs should no longer ask for the ends of calls.
nif_starts(_Handle) -> erlang:nif_error(not_loaded).

%% Counting (c_src/nif/tally.h).
%%
%% nif_tally(Handle, function | process | caller | value | result) -> true | false
%% | closed. From now on the tracer counts events by this key, and records none.
%% Must be called before a process has the tracer. false: there is no memory, or
%% the tracer counts already. `result' counts calls that end and processes that
%% exit.
nif_tally(_Handle, _By) -> erlang:nif_error(not_loaded).

%% nif_tallied(Handle, At, All) -> {Notes, Next} | closed. At is first 0; Next is the
%% At of the next call, or `done'. Returns the counts that have changed since
%% the last calls, or all counts, as at most 256 notes for nif_note/2. The last
%% note before `done' is the total, even if it has not changed.
nif_tallied(_Handle, _At, _All) -> erlang:nif_error(not_loaded).

%% Timing calls (c_src/nif/times.h).
%%
%% nif_times(Handle, function | process, Of) -> true | false | closed. Does the
%% same as nif_tally; besides, the tracer adds values to a histogram for each key.
%% If Of is an integer, the values are the times of calls, and Of is the number of
%% processes that this node can have, at least 1. If Of is `value', the values are
%% integers that the match spec of an event reports, in a tuple.
nif_times(_Handle, _By, _Of) -> erlang:nif_error(not_loaded).

%% nif_times_end(Handle, At) -> At2 | busy | done | closed. Ends the timing, and counts
%% open calls as unpaired. At is first 0, and then At2. busy: a thread is still in a
%% callback; call nif_times_end again later with the same At.
nif_times_end(_Handle, _At) -> erlang:nif_error(not_loaded).

%% nif_retire stops recording. Afterwards nif_quiet returns false as long as a
%% thread is still recording an event.
nif_retire(_Handle) -> erlang:nif_error(not_loaded).
nif_quiet(_Handle) -> erlang:nif_error(not_loaded).

%% Tells the spooler why the tracer ends: closed or owner_died.
nif_end(_Handle, _Why) -> erlang:nif_error(not_loaded).

%% Frees the tracer's memory. Returns false if the tracer is not retired, or a
%% thread still uses it, and true otherwise.
nif_free(_Handle) -> erlang:nif_error(not_loaded).

%% nif_gone returns how many tracers were retired, that is, closed or at their
%% limit. nif_settle settles the scheduler that runs the calling process: from now
%% on the VM can remove these tracers there (c_src/nif/retire.h).
nif_gone() -> erlang:nif_error(not_loaded).
nif_settle() -> erlang:nif_error(not_loaded).

%% Makes dir/0 return Dir from now on. Returns ok.
nif_dir(_Dir) -> erlang:nif_error(not_loaded).

%% Locks a file until the VM ends, to show spoolers that this VM is alive. An
%% empty path unlocks the file. Returns false if the file cannot be locked
%% (c_src/nif/hold.h).
nif_hold(_Path) -> erlang:nif_error(not_loaded).

%%---------------------------------------------------------------------------
%% Tracers that deliver (c_src/nif/delivery.h). nif_keeper, nif_retire, nif_quiet
%% and nif_free work for these tracers too.

%% nif_deliver(Receiver, Events, Bytes, MaxCopy) -> {ok, Handle} | {error, Errno}.
%% Delivers to the process Receiver, whose credit is Events and Bytes. MaxCopy is
%% the most bytes of an event, without its binaries. The caller is the keeper: its
%% death closes the tracer.
nif_deliver(_Receiver, _Events, _Bytes, _MaxCopy) ->
    erlang:nif_error(not_loaded).

%% Increases the credit, after the receiver has handled this many events and bytes.
%% Returns ok or closed.
nif_credit(_Handle, _Events, _Bytes) -> erlang:nif_error(not_loaded).

%% Returns {Produced, {Full, TooBig, Gone, NoThread}} or closed. The inner tuple
%% counts the dropped events by reason.
nif_counts(_Handle) -> erlang:nif_error(not_loaded).
