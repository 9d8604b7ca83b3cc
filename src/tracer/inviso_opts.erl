%% SPDX-License-Identifier: Apache-2.0
%%
%% The options of inviso_tracer:open/2, and the sizes that follow from them.
%% Ranges and defaults of numbers, and the words of choices, are in
%% c_src/abi/options.h, from which include/inviso_options.hrl is made.
%%
%%  keep            oldest: a full ring drops new events (default).
%%                  newest: a full ring overwrites its oldest packet (flight
%%                  recorder).  The rings are written to the log at flush/1, at
%%                  close/1 and when the node dies.
%%  buffer_bytes    memory of all rings and large slots together.  The default is
%%                  the sum of 4 MiB for each scheduler, 512 KiB for each dirty
%%                  scheduler, and the size of the large slots, but not more than
%%                  128 MiB.  All tracers of a node together may have a quarter of
%%                  the machine's memory.
%%  packet_bytes    the size of a packet, a multiple of 4096.  The default is
%%                  smaller if 4 packets for each thread would not fit into the
%%                  buffer.
%%  ring            where the rings are: memory (default), or {file, Path}.  The
%%                  file remains if node and spooler are killed together, and
%%                  `inviso recover' writes it to the log.
%%  payload         full (default), or none: record no messages, arguments and
%%                  return values.  Values from match specs, exit reasons and
%%                  labels are always recorded.
%%  filter          a match spec, or its text: record only the events that match
%%                  (inviso_tracer:filter()).  Default none: record all events.
%%  redact          rules that say which values are not recorded: a list of rules, or
%%                  their text.  A mark, which has only the type of the value,
%%                  replaces each such value.  A rule is text,
%%                  which inviso-trace(1) describes, an atom (a key, all, none or
%%                  default), or {record, Name, Fields, Redacted}, where Fields is
%%                  record_info(fields, Name).  Default: [], because the values that
%%                  a tracer module gets are recorded as they are.
%%  max_term_bytes  the largest size of a recorded term; larger terms are cut and
%%                  marked as cut.  If this is more than 1 MiB, the contents of all
%%                  binaries in a term take at most max_term_bytes, and everything
%%                  else takes at most 1 MiB.  If terms may be
%%                  larger than packet_bytes / 8, there are large slots, which
%%                  all threads share, for events that are larger than a packet.
%%  max_depth       how deep lists, tuples and maps may be nested in a term.
%%  compress        how packets in the log are compressed: none (default) or zstd.
%%  rotate          #{bytes, ms, count}: begin another file (Path.0, Path.1, …)
%%                  when the present one has this size or age, and keep at most
%%                  count files.  Default: one file, Path.
%%  limit           #{events, bytes, ms, rate}: the most that is recorded.  Each
%%                  thread takes parts of the limit in advance, as leases of 32
%%                  events and 8 KiB.  So the log may stay below the limit by
%%                  one lease for each thread, and may exceed the limit of
%%                  bytes by one event for each thread.
%%                  ms: the time since the tracer was opened.
%%                  rate: the most events in any second.  Each thread may exceed
%%                  it by one lease: at most 32 events, or a 1024th of the rate
%%                  if that is more.  Events beyond the rate are dropped, and
%%                  recording continues when the rate allows it.
%%                  Default: no limit.
%%  drain_ms        how often full packets are written to the log.
%%  flush_ms        how often partly filled packets are written to the log; 0:
%%                  only at flush/1, at close/1 and when the node dies.
%%  replace         true: remove a file that exists at Path.  false (default): such
%%                  a file is an error.
%%  names           true (default): write names of processes into the log, so that
%%                  readers can show them.  false: write none.
%%  brought         {Dir, Log}: library and spooler were put into Dir only to trace
%%                  this node.  When the VM dies, the spooler removes both files
%%                  and Dir, and with Log = true also the log.  Default: none.
%%  owner           the process whose death closes the tracer.  Default: the
%%                  caller.
-module(inviso_opts).

-export([parse/2, filter/1, creation/0, least_buffer/1, longest_term/1,
         largest_term/1, usual_term/0, memory/1]).
-export_type([parsed/0, numbers/0, filter/0, memory/0]).

-type parsed() :: #{path := binary(), ring_path := binary(), owner := pid(),
                    brought := none | {binary(), boolean()},
                    filter := filter(),
                    redact := binary(),
                    names := boolean(),
                    numbers := numbers()}.

-type numbers() :: #{atom() => non_neg_integer()}.
%% numbers() are the options that inviso_tracer:nif_open/2 takes. The keys are
%% exactly those of c_src/nif/options.c.

-type filter() :: none | binary().
%% A filter() is text, or a match spec in the external term format. Only a match
%% spec begins with the byte 131.

-type memory() :: #{normal := part(), dirty := part(), large := part(),
                    term := pos_integer()}.
-type part() :: {Count :: non_neg_integer(), Bytes :: non_neg_integer()}.
%% memory() lists the parts of a tracer's memory: the rings of normal schedulers,
%% the rings of dirty schedulers, and the large slots. A part() is the number of rings
%% or slots, and the size of one ring or slot. `term' is the value of max_term_bytes.

-include("inviso_options.hrl").

-define(NO_LIMIT, 16#ffffffffffffffff).
-define(MIB, 1048576).
-define(MIN_SLOTS, 4).
-define(MAX_USUAL, 128 * ?MIB).
-define(MAX_PATH, 4096).
%% Large slots. MIN_LARGE, MAX_LARGE: the least and the greatest number of slots.
%% USUAL_LARGE: the memory that all slots together take by default, unless MIN_LARGE
%% slots need more. BESIDE_TERM: the bytes that a slot has in addition to the
%% largest term.
-define(MIN_LARGE, 2).
-define(MAX_LARGE, 32).
-define(USUAL_LARGE, 64 * ?MIB).
-define(BESIDE_TERM, 65536 + 64).
%% If max_term_bytes is larger than this and packet_bytes is not given, there are
%% large slots.
-define(MAX_SMALL_TERM, (element(4, ?OPT_PACKET_BYTES) div 8)).

%% Checks the options. In {error, {bad_option, Name, Value, What}}, What is a
%% text that says which values the option takes.
-spec parse(file:name_all(), inviso_tracer:opts()) ->
          {ok, parsed()} | {error, {bad_option, atom(), term(), string()}}.
parse(Path, Opts) when is_map(Opts) ->
    try
        [bad(Name, Value, unknown(Name))
         || {Name, Value} <- maps:to_list(Opts),
            not lists:member(Name, names())],
        {ok, checked(Path, Opts)}
    catch
        throw:{bad_option, _, _, _} = Reason -> {error, Reason}
    end;
parse(_Path, Opts) ->
    {error, {bad_option, opts, Opts, "takes a map"}}.

names() ->
    keys(?OPTS_TRACER) ++ [Key || {Key, _} <- ?CHOICES]
        ++ [ring, filter, redact, rotate, limit, names, brought, owner].

keys(Options) ->
    [Key || {Key, _Least, _Most, _Default} <- Options].

unknown(events) -> "goes into limit: limit => #{events => N}";
unknown(rate) -> "goes into limit: limit => #{rate => N}";
unknown(bytes) -> "goes into limit or rotate: limit => #{bytes => N}";
unknown(ms) -> "goes into limit or rotate: limit => #{ms => N}";
unknown(count) -> "goes into rotate: rotate => #{count => N}";
unknown(_Name) -> "is not an option of open/2".

bad(Name, Value, What) ->
    throw({bad_option, Name, Value, What}).

checked(Path, Opts) ->
    #{packet := Packet, term := Term, slots := {NormalSlots, DirtySlots},
      large := {LargeSlots, LargeBytes}} = sizes(Opts),
    Rotate = rotation(submap(rotate, ?OPTS_ROTATE, Opts)),
    Limit = submap(limit, ?OPTS_LIMIT, Opts),
    Numbers =
        #{keep => choice(?CHOICE_KEEP, Opts),
          payload => choice(?CHOICE_PAYLOAD, Opts),
          schedulers => erlang:system_info(schedulers),
          normal_slots => NormalSlots,
          dirty_slots => DirtySlots,
          packet_bytes => Packet,
          large_slots => LargeSlots,
          large_bytes => LargeBytes,
          max_term_bytes => Term,
          max_depth => number(?OPT_MAX_DEPTH, Opts),
          limit_events =>
              number_in(limit, ?OPT_LIMIT_EVENTS, ?NO_LIMIT, Limit),
          limit_bytes =>
              number_in(limit, ?OPT_LIMIT_BYTES, ?NO_LIMIT, Limit),
          limit_ns => limit_ns(Limit),
          limit_rate => number_in(limit, ?OPT_LIMIT_RATE, 0, Limit),
          compress => choice(?CHOICE_COMPRESS, Opts),
          level => 0,
          drain_ms => number(?OPT_DRAIN_MS, Opts),
          flush_ms => number(?OPT_FLUSH_MS, Opts),
          rotate_bytes => number_in(rotate, ?OPT_ROTATE_BYTES, 0, Rotate),
          rotate_ns =>
              number_in(rotate, ?OPT_ROTATE_MS, 0, Rotate) * 1000000,
          rotate_count => number_in(rotate, ?OPT_ROTATE_COUNT, 0, Rotate),
          replace => choice(?CHOICE_REPLACE, Opts),
          creation => creation()},
    Log = path(path, Path, Path),
    #{path => Log,
      ring_path => ring_path(Log, Opts),
      owner => owner(Opts),
      brought => brought(Opts),
      filter => filter_bytes(Opts),
      redact => redaction(maps:get(redact, Opts, [])),
      names => names(Opts),
      numbers => Numbers}.

limit_ns(Limit) ->
    case number_in(limit, ?OPT_LIMIT_MS, none, Limit) of
        none -> ?NO_LIMIT;
        Ms -> Ms * 1000000
    end.

choice({Name, [Default | _] = Values}, Opts) ->
    Value = maps:get(Name, Opts, Default),
    case index(Value, Values, 0) of
        not_found ->
            Words = lists:join(" or ", [io_lib:write(V) || V <- Values]),
            bad(Name, Value, lists:flatten(["takes " | Words]));
        Index ->
            Index
    end.

index(Value, [Value | _], N) -> N;
index(Value, [_ | Rest], N) -> index(Value, Rest, N + 1);
index(_Value, [], _N) -> not_found.

number({_Name, _Least, _Most, Default} = Option, Opts) ->
    number(Option, Default, Opts).

number({Name, Least, Most, _Default}, Default, Opts) ->
    case maps:find(Name, Opts) of
        error ->
            Default;
        {ok, N} when is_integer(N), N >= Least, N =< Most ->
            N;
        {ok, Other} ->
            bad(Name, Other, text("takes an integer from ~w to ~w",
                                  [Least, Most]))
    end.

%% Returns a number from `Map'. `Map' is the value of the option `Name'.
number_in(Name, {Key, _, _, _} = Option, Default, Map) ->
    try number(Option, Default, Map)
    catch
        throw:{bad_option, Key, _, What} ->
            bad(Name, Map, text("~w ~s", [Key, What]))
    end.

text(Format, Args) ->
    lists:flatten(io_lib:format(Format, Args)).

submap(Name, Options, Opts) ->
    Keys = keys(Options),
    case maps:get(Name, Opts, #{}) of
        Map when is_map(Map) ->
            case maps:keys(Map) -- Keys of
                [] -> Map;
                [Key | _] ->
                    bad(Name, Map, text("has no ~w; it takes a map with ~w",
                                        [Key, Keys]))
            end;
        Other ->
            bad(Name, Other, text("takes a map with ~w", [Keys]))
    end.

rotation(Rotate) ->
    case Rotate of
        #{bytes := _} -> Rotate;
        #{ms := _} -> Rotate;
        #{count := _} -> bad(rotate, Rotate, "takes count with bytes or ms");
        _ -> Rotate
    end.

packet_bytes(Opts) ->
    case number(?OPT_PACKET_BYTES, usual(Opts), Opts) of
        N when N rem 4096 =:= 0 -> N;
        N -> bad(packet_bytes, N, "takes a multiple of 4096")
    end.

%% Returns the default packet size. It is smaller if the buffer is small for the
%% number of threads.
usual(Opts) ->
    Memory = maps:get(buffer_bytes, Opts, ?MAX_USUAL),
    Packet = element(4, ?OPT_PACKET_BYTES),
    case maps:get(max_term_bytes, Opts, 16) of
        Term when is_integer(Memory), is_integer(Term),
                  Term > ?MAX_SMALL_TERM ->
            usual(Packet, Memory - ?MIN_LARGE * large_bytes(Term), 16);
        Term ->
            usual(Packet, Memory, Term)
    end.

usual(Packet, Memory, Term)
  when is_integer(Memory), is_integer(Term),
       Packet > element(2, ?OPT_PACKET_BYTES),
       Packet div 2 >= 8 * Term ->
    case all_threads(Packet) =< Memory of
        true -> Packet;
        false -> usual(Packet div 2, Memory, Term)
    end;
usual(Packet, _, _) ->
    Packet.

%% Returns all sizes that follow from the options.
sizes(Opts) ->
    Packet = packet_bytes(Opts),
    Term = term_bytes(Packet, Opts),
    {LargeSlots, LargeBytes} = Large = large(Packet, Term, Opts),
    #{packet => Packet,
      term => Term,
      large => Large,
      slots => slots(Packet, LargeSlots * LargeBytes, Opts)}.

%% Returns how many large slots there are, and the size of each.
large(Packet, Term, _Opts) when Term =< Packet div 8 ->
    {0, 0};
large(Packet, Term, Opts) ->
    Bytes = large_bytes(Term),
    Memory = case maps:get(buffer_bytes, Opts, none) of
                 N when is_integer(N) -> min(N div 2, ?USUAL_LARGE);
                 _ -> min(?USUAL_LARGE, ?MAX_USUAL - all_threads(Packet))
             end,
    {max(?MIN_LARGE, min(?MAX_LARGE, Memory div Bytes)), Bytes}.

%% Returns the size of a large slot, which has room for a term of this size.
large_bytes(Term) when Term > ?TERM_MAX -> % Term bytes for binaries, TERM_MAX for the rest
    large_bytes(Term + ?TERM_MAX, ?BESIDE_TERM);
large_bytes(Term) ->
    large_bytes(Term, ?BESIDE_TERM).

large_bytes(Term, Beside) ->
    (Term + Beside + 4095) div 4096 * 4096.

%% Returns two numbers of packets: those in the ring of a normal scheduler, and
%% those in the ring of a dirty scheduler. The second is an eighth of the first,
%% because few events happen on a dirty scheduler.
slots(Packet, Large, Opts) ->
    {Normal, Dirty} = threads(),
    {_, _, Most, _} = ?OPT_BUFFER_BYTES,
    Min = all_threads(Packet) + Large,
    Default = min(?MAX_USUAL,
                  Normal * 4 * ?MIB + Dirty * ?MIB div 2 + Large),
    All = case maps:get(buffer_bytes, Opts, max(Min, Default)) of
                N when is_integer(N), N >= Min, N =< Most -> N;
                Bad -> bad(buffer_bytes, Bad,
                           text("takes an integer, here from ~w: ~w packets "
                                "of ~w bytes for each of ~w threads~s",
                                [Min, ?MIN_SLOTS, Packet, Normal + Dirty,
                                 [text(", and ~w bytes for large terms",
                                       [Large]) || Large > 0]]))
          end,
    Bytes = All - Large,
    DirtySlots = max(?MIN_SLOTS, Bytes div ((8 * Normal + Dirty) * Packet)),
    NormalSlots = (Bytes - DirtySlots * Dirty * Packet) div (Normal * Packet),
    {max(?MIN_SLOTS, NormalSlots), DirtySlots}.

threads() ->
    {erlang:system_info(schedulers),
     erlang:system_info(dirty_cpu_schedulers)
         + erlang:system_info(dirty_io_schedulers)}.

all_threads(Packet) ->
    {Normal, Dirty} = threads(),
    (Normal + Dirty) * ?MIN_SLOTS * Packet.

%% @doc Returns the smallest buffer_bytes that this node allows together with the
%% other options in `Opts'.
-spec least_buffer(inviso_tracer:opts()) -> pos_integer().
least_buffer(Opts) ->
    Small = Opts#{buffer_bytes => 0},
    Packet = packet_bytes(Small),
    {Slots, Bytes} = large(Packet, term_bytes(Packet, Small), Small),
    all_threads(Packet) + Slots * Bytes.

%% @doc Returns the value that max_term_bytes has with the options `Opts'.
-spec longest_term(inviso_tracer:opts()) -> pos_integer().
longest_term(Opts) ->
    term_bytes(packet_bytes(Opts), Opts).

%% @doc Returns the largest max_term_bytes, in whole KiB, that fits into the
%% buffer_bytes in `Opts'. Returns none if this would be 8 KiB or less.
-spec largest_term(inviso_tracer:opts()) -> pos_integer() | none.
largest_term(#{buffer_bytes := Buffer} = Opts) when is_integer(Buffer) ->
    Fits = fun(Kib) ->
                   least_buffer(Opts#{max_term_bytes => Kib * 1024}) =< Buffer
           end,
    {_, _, Most, _} = ?OPT_MAX_TERM_BYTES,
    case largest(Fits, ?MAX_SMALL_TERM div 1024, Most div 1024) of
        Kib when Kib * 1024 > ?MAX_SMALL_TERM -> Kib * 1024;
        _ -> none
    end;
largest_term(_Opts) ->
    none.

%% Returns the largest number from Low to High for which Fits returns true. If
%% Fits returns true for no number, returns Low.
largest(Fits, Low, High) when Low < High ->
    Middle = (Low + High + 1) div 2,
    case Fits(Middle) of
        true -> largest(Fits, Middle, High);
        false -> largest(Fits, Low, Middle - 1)
    end;
largest(_Fits, Low, _High) ->
    Low.

%% @doc Returns the parts of the memory of a tracer with the options `Opts'.
-spec memory(inviso_tracer:opts()) -> memory().
memory(Opts) ->
    #{packet := Packet, term := Term, slots := {NormalSlots, DirtySlots},
      large := Large} = sizes(Opts),
    {Normal, Dirty} = threads(),
    #{normal => {Normal, NormalSlots * Packet},
      dirty => {Dirty, DirtySlots * Packet},
      large => Large,
      term => Term}.

term_bytes(Packet, Opts) ->
    {_, _, _, Default} = ?OPT_MAX_TERM_BYTES,
    number(?OPT_MAX_TERM_BYTES, min(Default, Packet div 8), Opts).

%% @doc Returns the default of max_term_bytes. If the buffer is small for the number
%% of threads, a smaller value is used.
-spec usual_term() -> pos_integer().
usual_term() ->
    element(4, ?OPT_MAX_TERM_BYTES).

ring_path(Log, Opts) ->
    case maps:get(ring, Opts, memory) of
        memory -> <<>>;
        {file, Path} = File -> not_a_log(Log, File, path(ring, File, Path));
        Other -> bad(ring, Other, "takes memory or {file, Path}")
    end.

%% Checks that the ring's file is not one of the log's files. The spooler creates and
%% removes the log's files: Path and, for a rotated log, Path.N.
not_a_log(Log, File, Ring) ->
    Tail = case string:prefix(Ring, Log) of
               nomatch -> "no";
               Rest -> binary_to_list(Rest)
           end,
    case Tail =:= "" orelse
        hd(Tail) =:= $. andalso string:trim(Tail, both, ".0123456789") =:= ""
    of
        true -> bad(ring, File, "takes a file that is not the log's");
        false -> Ring
    end.

path(Name, Value, Path) ->
    try unicode:characters_to_binary(absolute(Path), unicode,
                                     file:native_name_encoding()) of
        Bin when is_binary(Bin), byte_size(Bin) < ?MAX_PATH - 16 ->
            case binary:match(Bin, <<0>>) of
                nomatch -> Bin;
                _ -> bad(Name, Value, "takes a file name without NUL")
            end;
        _ ->
            bad(Name, Value, "takes a file name of at most 4079 bytes")
    catch
        error:_ -> bad(Name, Value, "takes a file name")
    end.

%% Returns the absolute name of a file. An empty name is an error, because it would
%% become the current directory.
absolute(Path) ->
    Name = filename:join([Path]),
    true = string:length(Name) > 0,
    filename:absname(Name).

brought(Opts) ->
    case maps:get(brought, Opts, none) of
        none -> none;
        {Dir, Log} = B when is_boolean(Log) -> {path(brought, B, Dir), Log};
        Other -> bad(brought, Other, "takes none or {Dir, boolean()}")
    end.

names(Opts) ->
    case maps:get(names, Opts, true) of
        Names when is_boolean(Names) -> Names;
        Other -> bad(names, Other, "takes true or false")
    end.

%% Returns the rules as one text, which the NIF library checks.
redaction(Rule) when is_atom(Rule); is_binary(Rule) ->
    redaction([Rule]);
redaction([C | _] = Text) when is_integer(C) ->
    redaction([Text]);
redaction(Rules) ->
    try [bytes(rule(R)) || R <- Rules] of
        Texts -> redaction_text(Rules, lists:join(",", Texts))
    catch
        error:_ -> bad_rules(Rules)
    end.

%% The bound on the text is INV_REDACT_RULES (c_src/match/redact.h).
redaction_text(Rules, Text) ->
    case unicode:characters_to_binary(Text) of
        Bin when is_binary(Bin), byte_size(Bin) < 524288 -> Bin;
        _ -> bad(redact, Rules, "takes rules of at most 524287 bytes")
    end.

-spec bad_rules(term()) -> no_return().
bad_rules(Rules) ->
    bad(redact, Rules, "takes a list of rules: texts, atoms, or "
        "{record, Name, Fields, Redacted}").

bytes(Chars) ->
    Bytes = unicode:characters_to_binary(Chars),
    true = is_binary(Bytes),
    Bytes.

rule(Atom) when Atom =:= all; Atom =:= none; Atom =:= default ->
    atom_to_list(Atom);
rule(Key) when is_atom(Key) ->
    ["'", atom_to_list(Key), "'"];
rule({record, Name, Fields, Redacted}) when is_atom(Name) ->
    Arity = integer_to_list(length(Fields) + 1),
    [_ | _] = Numbers = [position(F, Fields, 2) || F <- Redacted],
    %% The last rule redacts the record with any other number of fields: the node
    %% may have another version of the record.
    [["#'", atom_to_list(Name), "'/", Arity, ".", integer_to_list(N), ","]
     || N <- Numbers]
        ++ ["#'", atom_to_list(Name), "'/2-16777215"];
rule(Text) when is_binary(Text) ->
    Text;
rule([C | _] = Text) when is_integer(C) ->
    Text.

position(Field, [Field | _], N) -> N;
position(Field, [_ | Fields], N) -> position(Field, Fields, N + 1).

filter_bytes(Opts) ->
    case filter(maps:get(filter, Opts, none)) of
        {ok, Bytes} -> Bytes;
        {error, Reason} -> throw(Reason)
    end.

%% @doc Returns the filter in the form that the NIF library takes. The NIF library
%% checks whether the filter can be compiled.
-spec filter(term()) ->
          {ok, filter()} | {error, {bad_option, filter, term(), string()}}.
filter(none) ->
    {ok, none};
filter([Clause | _] = Spec) when is_tuple(Clause) ->
    {ok, term_to_binary(Spec)};
filter(Text) when is_binary(Text); is_list(Text) ->
    try unicode:characters_to_binary(Text) of
        Bytes when is_binary(Bytes), byte_size(Bytes) > 0 -> {ok, Bytes};
        _ -> bad_filter(Text)
    catch
        error:badarg -> bad_filter(Text)
    end;
filter(Other) ->
    bad_filter(Other).

bad_filter(Filter) ->
    {error, {bad_option, filter, Filter,
             "takes none, a match spec, or text such as "
             "\"lists:seq(_, N) when N > 9\""}}.

owner(Opts) ->
    case maps:get(owner, Opts, self()) of
        Pid when is_pid(Pid), node(Pid) =:= node() -> Pid;
        Other -> bad(owner, Other, "takes a process of this node")
    end.

%% @doc Returns the creation of this node, which is a part of the node's pids.
-spec creation() -> non_neg_integer().
creation() ->
    %% The VM shows the creation only in the external format of a local pid.
    Etf = term_to_binary(self()),
    binary:decode_unsigned(binary:part(Etf, byte_size(Etf), -4)).
