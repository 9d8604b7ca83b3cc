%% SPDX-License-Identifier: Apache-2.0
%%
%% The options of inviso_tracer:open/2: their ranges, their defaults, and the
%% sizes that follow from them.
%%
%%  keep            oldest: a full ring drops new events (default).
%%                  newest: a flight recorder, a full ring gives up its oldest
%%                  packet; it goes to the log at flush/1, close/1 and when
%%                  the node dies.
%%  buffer_bytes    memory of all rings together.  Default: 4 MiB for each
%%                  scheduler and 512 KiB for each dirty one, at most 128 MiB.
%%                  All tracers of a node together: a quarter of the machine's
%%                  memory.
%%  packet_bytes    unit of recording: 4096 .. 524288, a multiple of 4096.
%%                  Default 65536, or less where 4 for each thread would not
%%                  fit into the buffer.
%%  ring            memory (default), or {file, Path}: a file that outlives
%%                  everything, for `inviso recover'.
%%  payload         full (default), or none: who, what and when, without
%%                  messages, arguments and values.  What a match spec
%%                  delivers, exit reasons and labels are recorded.
%%  filter          a match spec, or its text: record only the events that it
%%                  matches (inviso_tracer:filter()).  Default none: all of them.
%%  max_term_bytes  of a term as recorded, 16 .. packet_bytes / 8; longer ones
%%                  are cut and say so.  Default 4096.
%%  max_depth       containers nested in a term, 1 .. 128.  Default 32.
%%  compress        none (default) or zstd: of each packet in the log.
%%  rotate          #{bytes, ms, count}: begin a next file, Path.0, Path.1, …,
%%                  at that size or age; keep at most count of them.
%%                  Default: one file, Path.
%%  limit           #{events, bytes, ms, rate}: record no more than that.  Threads
%%                  take leases of 32 events and 8 KiB out of them: the log may
%%                  have that much less for each scheduler thread, and bytes
%%                  may go over by one event each.
%%                  ms: 1 .. 4294967295, since the tracer was opened.
%%                  rate: events a second, 1 .. 4294967295; so many in any
%%                  second, and at most a lease more for each thread.  Leases
%%                  are of at most 32 events, or a 1024th of the rate if that
%%                  is more; recording goes on when there is room again.
%%                  Default: none.
%%  drain_ms        how often full packets go to the log, 1 .. 10000.
%%                  Default 10.
%%  flush_ms        how often all the rest does, 0 (when asked) .. 3600000.
%%                  Default 1000.
%%  replace         true: a file at Path is removed first.  Default false: it
%%                  is an error.
%%  brought         {Dir, Log}: library and spooler lie in Dir for this purpose
%%                  alone; when the VM dies the spooler removes them, with Log =
%%                  true the log too, and Dir.  Default: none.
%%  owner           the process whose death closes the tracer.  Default: the
%%                  caller.
-module(inviso_opts).

-export([parse/2, filter/1, creation/0, least_buffer/1, longest_term/1,
         usual_term/0]).
-export_type([parsed/0, numbers/0, filter/0]).

-type parsed() :: #{path := binary(), ring_path := binary(), owner := pid(),
                    brought := none | {binary(), boolean()},
                    filter := filter(),
                    numbers := numbers()}.

-type numbers() :: #{atom() => non_neg_integer()}.
%% What inviso_tracer:nif_open/2 takes: the keys are those that
%% c_src/nif/options.c lists, all of them and no others.

-type filter() :: none | binary().
%% Text, or a match spec in the external format, which no text can be.

-define(NO_LIMIT, 16#ffffffffffffffff).
-define(MAX_RATE, 16#ffffffff).
-define(MAX_MS, 16#ffffffff).
-define(MIB, 1048576).
-define(MIN_SLOTS, 4).
-define(LEAST_PACKET, 4096).
-define(TERM, 4096).
-define(MAX_USUAL, 128 * ?MIB).
-define(MAX_PATH, 4096).

%% {error, {bad_option, Name, Value, What}}: What says in words what it takes.
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
    [keep, buffer_bytes, packet_bytes, ring, payload, filter, max_term_bytes,
     max_depth, compress, rotate, limit, drain_ms, flush_ms, replace, brought,
     owner].

unknown(events) -> "goes into limit: limit => #{events => N}";
unknown(rate) -> "goes into limit: limit => #{rate => N}";
unknown(bytes) -> "goes into limit or rotate: limit => #{bytes => N}";
unknown(ms) -> "goes into limit or rotate: limit => #{ms => N}";
unknown(count) -> "goes into rotate: rotate => #{count => N}";
unknown(_Name) -> "is not an option of open/2".

bad(Name, Value, What) ->
    throw({bad_option, Name, Value, What}).

checked(Path, Opts) ->
    Packet = packet_bytes(Opts),
    {NormalSlots, DirtySlots} = slots(Packet, Opts),
    Rotate = rotation(submap(rotate, [bytes, ms, count], Opts)),
    Limit = submap(limit, [events, bytes, ms, rate], Opts),
    Numbers =
        #{keep => choice(keep, [oldest, newest], Opts),
          payload => choice(payload, [full, none], Opts),
          schedulers => erlang:system_info(schedulers),
          normal_slots => NormalSlots,
          dirty_slots => DirtySlots,
          packet_bytes => Packet,
          max_term_bytes => term_bytes(Packet, Opts),
          max_depth => number(max_depth, 1, 128, 32, Opts),
          limit_events =>
              number_in(limit, events, 0, ?NO_LIMIT - 1, ?NO_LIMIT, Limit),
          limit_bytes =>
              number_in(limit, bytes, 0, ?NO_LIMIT - 1, ?NO_LIMIT, Limit),
          limit_ns => limit_ns(Limit),
          limit_rate => number_in(limit, rate, 1, ?MAX_RATE, 0, Limit),
          compress => choice(compress, [none, zstd], Opts),
          level => 0,
          drain_ms => number(drain_ms, 1, 10000, 10, Opts),
          flush_ms => number(flush_ms, 0, 3600000, 1000, Opts),
          rotate_bytes => number_in(rotate, bytes, 1, 1 bsl 50, 0, Rotate),
          rotate_ns =>
              number_in(rotate, ms, 1, 1 bsl 40, 0, Rotate) * 1000000,
          rotate_count => number_in(rotate, count, 1, 1000000, 0, Rotate),
          replace => choice(replace, [false, true], Opts),
          creation => creation()},
    Log = path(path, Path, Path),
    #{path => Log,
      ring_path => ring_path(Log, Opts),
      owner => owner(Opts),
      brought => brought(Opts),
      filter => filter_bytes(Opts),
      numbers => Numbers}.

limit_ns(Limit) ->
    case number_in(limit, ms, 1, ?MAX_MS, none, Limit) of
        none -> ?NO_LIMIT;
        Ms -> Ms * 1000000
    end.

choice(Name, [Default | _] = Values, Opts) ->
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

number(Name, Min, Max, Default, Opts) ->
    case maps:find(Name, Opts) of
        error ->
            Default;
        {ok, N} when is_integer(N), N >= Min, N =< Max ->
            N;
        {ok, Other} ->
            bad(Name, Other, text("takes an integer from ~w to ~w",
                                  [Min, Max]))
    end.

%% Of a map that is an option itself.
number_in(Name, Key, Min, Max, Default, Map) ->
    try number(Key, Min, Max, Default, Map)
    catch
        throw:{bad_option, Key, _, What} ->
            bad(Name, Map, text("~w ~s", [Key, What]))
    end.

text(Format, Args) ->
    lists:flatten(io_lib:format(Format, Args)).

submap(Name, Keys, Opts) ->
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
    case number(packet_bytes, ?LEAST_PACKET, 524288, usual(Opts), Opts) of
        N when N rem 4096 =:= 0 -> N;
        N -> bad(packet_bytes, N, "takes a multiple of 4096")
    end.

%% Where there are many threads for the memory, packets are smaller.
usual(Opts) ->
    Memory = maps:get(buffer_bytes, Opts, ?MAX_USUAL),
    Term = maps:get(max_term_bytes, Opts, 16),
    usual(65536, Memory, Term).

usual(Packet, Memory, Term)
  when is_integer(Memory), is_integer(Term), Packet > ?LEAST_PACKET,
       Packet div 2 >= 8 * Term ->
    case all_threads(Packet) =< Memory of
        true -> Packet;
        false -> usual(Packet div 2, Memory, Term)
    end;
usual(Packet, _, _) ->
    Packet.

%% Packets of a normal scheduler's ring and of a dirty one's.  Dirty ones see
%% few events: theirs are an eighth.
slots(Packet, Opts) ->
    {Normal, Dirty} = threads(),
    Min = all_threads(Packet),
    Default = min(?MAX_USUAL, Normal * 4 * ?MIB + Dirty * ?MIB div 2),
    Bytes = case maps:get(buffer_bytes, Opts, max(Min, Default)) of
                N when is_integer(N), N >= Min, N =< 1 bsl 40 -> N;
                Bad -> bad(buffer_bytes, Bad,
                           text("takes an integer, here from ~w: ~w packets "
                                "of ~w bytes for each of ~w threads",
                                [Min, ?MIN_SLOTS, Packet, Normal + Dirty]))
            end,
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

%% @doc The least buffer_bytes on this node, with these other options.
-spec least_buffer(inviso_tracer:opts()) -> pos_integer().
least_buffer(Opts) ->
    all_threads(packet_bytes(Opts#{buffer_bytes => 0})).

%% @doc What max_term_bytes is, with these options.
-spec longest_term(inviso_tracer:opts()) -> pos_integer().
longest_term(Opts) ->
    term_bytes(packet_bytes(Opts), Opts).

term_bytes(Packet, Opts) ->
    number(max_term_bytes, 16, Packet div 8, min(?TERM, Packet div 8), Opts).

%% @doc What it is where nothing is said and nothing is in the way.
-spec usual_term() -> pos_integer().
usual_term() ->
    ?TERM.

ring_path(Log, Opts) ->
    case maps:get(ring, Opts, memory) of
        memory -> <<>>;
        {file, Path} = File -> not_a_log(Log, File, path(ring, File, Path));
        Other -> bad(ring, Other, "takes memory or {file, Path}")
    end.

%% Path and, of a rotated log, Path.N are the spooler's to make and remove.
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

%% The empty name would be that of the current directory.
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

filter_bytes(Opts) ->
    case filter(maps:get(filter, Opts, none)) of
        {ok, Bytes} -> Bytes;
        {error, Reason} -> throw(Reason)
    end.

%% @doc As the library takes it; whether it can be compiled is seen there.
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

%% @doc Of this node: what its pids are marked with.
-spec creation() -> non_neg_integer().
creation() ->
    %% Only the external format of one of its pids tells.
    Etf = term_to_binary(self()),
    binary:decode_unsigned(binary:part(Etf, byte_size(Etf), -4)).
