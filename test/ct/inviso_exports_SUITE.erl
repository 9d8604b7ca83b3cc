%% SPDX-License-Identifier: Apache-2.0
%% @doc Recordings in the formats of other tools: each format contains the same
%% events as JSON, and the tool's own reader accepts the file.
-module(inviso_exports_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([timeline_has_all_events/1, protoc_reads_a_timeline/1,
         timeline_of_slow_calls/1, tracks_of_a_timeline/1,
         arrows_of_a_timeline/1, states_of_a_timeline/1,
         spans_are_the_calls/1, spans_of_requests/1, links_of_spans/1,
         protoc_reads_spans/1, babeltrace_reads_all_events/1,
         all_formats_agree/1, a_full_disk_leaves_no_file/1]).
%% for inviso_report_SUITE
-export([recorded/1, inputs/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_exports_work).
-define(SMALL, #{packet_bytes => 4096, buffer_bytes => 1 bsl 18}).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [timeline_has_all_events, protoc_reads_a_timeline, timeline_of_slow_calls,
     tracks_of_a_timeline, arrows_of_a_timeline, states_of_a_timeline,
     spans_are_the_calls, spans_of_requests, links_of_spans,
     protoc_reads_spans, babeltrace_reads_all_events,
     all_formats_agree, a_full_disk_leaves_no_file].

init_per_suite(Config0) ->
    Needs = ["inviso", "inviso_spool", "inviso_tracer.so"],
    case ?LIB:config(Config0, Needs) of
        {skip, _} = Skip -> Skip;
        Config -> recorded(Config)
    end.

end_per_suite(_Config) ->
    ok.

%% Records three nodes, and makes a damaged copy of the first log.
recorded(Config) ->
    Nodes = [A, B, C] =
        [inviso_test_lib:start_node(N, ?LIB:dir(Config), ?LIB:node_args())
         || N <- [a, b, c]],
    [ok = call(N, inviso_tracer, load, [inviso_test_lib:priv()]) || N <- Nodes],
    ok = inviso_test_lib:connect(Nodes),
    ok = call(C, ?WORK, open, [till, []]),
    ok = call(B, ?WORK, open, [stock, [{till, name(C)}]]),
    ok = call(A, ?WORK, open, [shop, [{stock, name(B)}, {till, name(C)}]]),
    Asks = [{17, [{stock, name(B)}]}, {<<"</script>">>, [{till, name(C)}]},
            {18, [{shop, name(A)}]}],
    Logs = [record(Config, N) || N <- Nodes],
    [ok = call(N, ?WORK, play, [Ask]) || {N, Ask} <- lists:zip(Nodes, Asks)],
    [{ok, #{}} = call(N, ?WORK, stop, []) || N <- Nodes],
    [inviso_test_lib:stop_node(N) || N <- Nodes],
    [{logs, Logs}, {damaged, damaged(Config, hd(Logs))} | Config].

record(Config, Node) ->
    Log = ?LIB:name(Config, "x.log"),
    ok = call(Node, ?WORK, record, [Log, ?SMALL]),
    Log.

damaged(Config, Log) ->
    {ok, Bin} = file:read_file(Log),
    Size = byte_size(Bin),
    Half = Size div 2,
    <<Begin:Half/binary, _:100/binary, End/binary>> = Bin,
    Damaged = ?LIB:name(Config, "damaged.log"),
    ok = file:write_file(Damaged, [Begin, binary:copy(<<255>>, 100), End]),
    Damaged.

call(Node, M, F, A) ->
    inviso_test_lib:call(Node, M, F, A).

name(#{name := Name}) -> Name.

%% Returns {Logs, Options} for each input of the tests. all_formats_agree/1 uses only the inputs
%% without options.
inputs(Config) ->
    [_ | _] = Logs = ?config(logs, Config),
    Root = os:getenv("INVISO_ROOT", "."),
    [_ | _] = Old = filelib:wildcard(filename:join(Root, "test/frozen/*/*.log")),
    Ports = [filename:join([Root, "fuzz/corpus/tracefile", F]) || F <- ["events", "kinds"]],
    [{Logs, []}, {Logs, ["--order", "time"]}, {[hd(Logs)], []},
     {[?config(damaged, Config) | tl(Logs)], []},
     {Logs, ["--tag", "call,return_from,send,seq_trace"]},
     {Logs, ["--mfa", atom_to_list(?WORK) ++ ":inner"]},
     {Old, []}, {Ports, []}].

timeline(Logs, Options) ->
    {_, Bin, _} = ?LIB:merge(Logs, "perfetto", Options),
    inviso_perfetto:read(Bin).

%%---------------------------------------------------------------------------
%% Perfetto

timeline_has_all_events(Config) ->
    [begin
         #{slices := Counts, dropped := Lost} = facts("json", Config, Input),
         ct:log("~p ~p ~p lost", [element(2, Input), Counts, Lost]),
         #{slices := Counts, dropped := Lost} = facts("perfetto", Config, Input)
     end || Input <- inputs(Config)],
    #{tags := #{<<"call">> := _, <<"gc_major_end">> := _, <<"in">> := _, <<"seq_trace">> := _},
      lost := N} = facts("json", Config, {?config(logs, Config), []}),
    true = N > 0.

facts(Format, Config, {Logs, Options}) ->
    inviso_format_readers:read(Format, Config, Logs, Options).

protoc_reads_a_timeline(Config) ->
    with_protoc(fun() -> protoc_reads_a_timeline_(Config) end).

protoc_reads_a_timeline_(Config) ->
    File = ?LIB:name(Config, "x.pftrace"),
    [begin
         {_, Bin, _} = ?LIB:merge(Logs, "perfetto", Options),
         ok = file:write_file(File, Bin),
         Text = inviso_proto:protoc(?config(data_dir, Config), "perfetto.proto",
                                    "Trace", File),
         Packets = [P || {1, P} <- inviso_proto:fields(Bin)],
         {match, All} = re:run(Text, "^packet {$", [global, multiline]),
         true = length(All) =:= length(Packets)
     end || {Logs, Options} <- inputs(Config)].

%% --min-duration selects the ends of slow calls. The timeline shows each of these calls as a slice.
timeline_of_slow_calls(Config) ->
    Logs = ?config(logs, Config),
    Options = ["--min-duration", "1us", "--mfa", atom_to_list(?WORK)],
    #{events := Events} = timeline(Logs, Options),
    {_, Bin, _} = ?LIB:merge(Logs, "json", Options),
    Ends = [inviso_trace_json:decode(L) || L <- ?LIB:split(Bin),
                                           binary:match(L, <<"duration_ns">>) =/= nomatch],
    Slices = [E || #{type := 'begin'} = E <- Events],
    true = length(Slices) >= length(Ends),
    true = length(Slices) > 50.

tracks_of_a_timeline(Config) ->
    #{tracks := Tracks, events := Events} = timeline(?config(logs, Config), []),
    Path = fun Path(0) -> [];
               Path(T) ->
                   #{T := #{name := Name, parent := Parent}} = Tracks,
                   [Name | Path(Parent)]
           end,
    Paths = lists:usort([Path(T) || #{track := T} <- Events]),
    ct:log("~tp", [Paths]),
    Nodes = lists:usort([lists:last(P) || P <- Paths]) -- [<<"requests">>],
    3 = length(Nodes),
    [begin
         Like = fun(R) -> [P || P <- Paths, lists:last(P) =:= N,
                                re:run(lists:join("/", P), R, [unicode]) =/= nomatch]
                end,
         [_ | _] = Like("^scheduler [0-9]+/schedulers/"),
         [_ | _] = Like("^lost events of thread [0-9]+ in log [0-9]+/lost events/"),
         [_ | _] = Like("^'a.*<0[.0-9]+>/processes/"),
         [_ | _] = Like("^state/'a.*<0[.0-9]+>/processes/"),
         [_ | _] = Like("^heap/.*<0[.0-9]+>/processes/"),
         [_ | _] = Like("#Port<0[.0-9]+>/ports/")
     end || N <- Nodes].

%% For each message of a request, the timeline has an arrow from the send event to the receive
%% event, if the message was received.
arrows_of_a_timeline(Config) ->
    Logs = ?config(logs, Config),
    #{events := Events} = timeline(Logs, []),
    {_, Bin, _} = ?LIB:merge(Logs, "json", ["--tag", "seq_trace"]),
    Items = inviso_trace_json:lines(Bin),
    Received = lists:sort([C || #{<<"cause">> := C, <<"payload">> := [<<"{'receive'", _/binary>>]}
                                    <- Items, is_integer(C)]),
    Received = lists:sort([F || #{ends := Ends} <- Events, F <- Ends]),
    true = length(Received) >= 10,
    %% The timeline shows each request, with the name "request N".
    Requests = lists:usort([R || #{<<"request">> := R} <- Items]),
    Requests = lists:usort([R || #{correlation := R} <- Events, is_integer(R)]),
    Named = [Name || #{name := <<"request ", _/binary>> = Name} <- Events],
    true = length(Named) =:= length(Requests).

%% In the timeline, a process is in only one state at a time. Calls have their arguments, results
%% and exceptions.
states_of_a_timeline(Config) ->
    #{events := Events} = timeline([hd(?config(logs, Config))], []),
    States = [N || #{type := 'begin', name := N} <- Events],
    [true = lists:member(N, States) || N <- [<<"running">>, <<"waiting">>, <<"collecting">>]],
    Outer = atom_to_binary(?WORK),
    [#{args := [<<"1">>]} | _] =
        [#{args => A} || #{type := 'begin', name := N, notes := #{<<"args">> := A}} <- Events,
                         N =:= <<Outer/binary, ":outer/1">>],
    [_ | _] = [V || #{type := 'end', notes := #{<<"return">> := V}} <- Events, V =:= <<"{ok,1}">>],
    [_ | _] = [V || #{type := 'end', notes := #{<<"exception">> := V}} <- Events],
    [_ | _] = [V || #{type := counter, value := V} <- Events, V > 0].

%%---------------------------------------------------------------------------
%% OpenTelemetry

%% Returns the spans, each with the name of its node.
spans(Logs, Options) ->
    {_, Bin, _} = ?LIB:merge(Logs, "otlp", Options),
    [Span#{node => value(<<"service.instance.id">>, Resource)}
     || Line <- ?LIB:split(Bin),
        #{<<"resourceSpans">> := All} <- [inviso_trace_json:decode(Line)],
        #{<<"resource">> := Resource, <<"scopeSpans">> := Scopes} <- All,
        #{<<"spans">> := Spans} <- Scopes, Span <- Spans].

value(Key, #{<<"attributes">> := Pairs}) ->
    case [V || #{<<"key">> := K, <<"value">> := V} <- Pairs, K =:= Key] of
        [#{<<"stringValue">> := Text}] -> Text;
        [#{<<"intValue">> := N}] -> binary_to_integer(N);
        [#{<<"boolValue">> := Bool}] -> Bool;
        [] -> none
    end.

%% Each call that ended is a span with the right times, function and process. Its parent is the span
%% of the call around it.
spans_are_the_calls(Config) ->
    [begin
         Spans = spans(Logs, Options),
         {_, Bin, _} = ?LIB:merge(Logs, "json", Options),
         Items = inviso_trace_json:lines(Bin),
         Calls = lists:sort(
                   [{N, P, <<M/binary, ":", F/binary, "/", (integer_to_binary(A))/binary>>,
                     D, E =/= <<"return">>}
                    || #{<<"node">> := N, <<"pid">> := P, <<"end">> := E, <<"self_ns">> := D,
                         <<"module">> := M, <<"function">> := F, <<"arity">> := A} <- Items]),
         Calls = lists:sort(
                   [{Node, value(<<"erlang.pid">>, S), Name, value(<<"erlang.self_ns">>, S),
                     value(<<"exception.message">>, S) =/= none}
                    || #{node := Node, <<"name">> := Name} = S <- Spans,
                       value(<<"code.function.name">>, S) =/= none]),
         Lost = lists:sum([N || #{<<"lost">> := N, <<"reason">> := R} <- Items,
                                R =/= <<"limit">>]),
         Lost = lists:sum([value(<<"inviso.lost">>, S)
                           || #{<<"name">> := <<"lost events">>} = S <- Spans]),
         identified(Spans)
     end || {Logs, Options} <- inputs(Config)],
    Spans = spans(?config(logs, Config), []),
    %% The parent that a span names must exist, and the parent's time must contain the span's time.
    ById = maps:from_list([{{T, I}, S} || #{<<"traceId">> := T, <<"spanId">> := I} = S <- Spans]),
    Inner = [{S, maps:get({T, P}, ById)}
             || #{<<"parentSpanId">> := P, <<"traceId">> := T,
                  <<"name">> := <<"inviso_exports_work:inner/1">>} = S <- Spans],
    true = length(Inner) > 50,
    [true = time(<<"startTimeUnixNano">>, Parent) =< time(<<"startTimeUnixNano">>, S)
         andalso time(<<"endTimeUnixNano">>, Parent) >= time(<<"endTimeUnixNano">>, S)
     || {S, Parent} <- Inner],
    [_ | _] = [S || #{<<"name">> := <<"inviso_exports_work:fails/1">>,
                      <<"status">> := #{<<"code">> := 2, <<"message">> := _}} = S <- Spans].

time(Key, Span) ->
    binary_to_integer(maps:get(Key, Span)).

%% Identifiers are hexadecimal and unique; no span ends before it begins.
identified(Spans) ->
    Ids = [{T, I} || #{<<"traceId">> := T, <<"spanId">> := I} <- Spans],
    true = length(Ids) =:= length(lists:usort(Ids)),
    [{match, _} = re:run([T, I], "^[0-9a-f]{48}$") || {T, I} <- Ids],
    [true = time(<<"startTimeUnixNano">>, S) =< time(<<"endTimeUnixNano">>, S) || S <- Spans].

%% Each request is one trace. In this trace, the chain of parents of each message ends at the
%% beginning of the request.
spans_of_requests(Config) ->
    Logs = ?config(logs, Config),
    Spans = [S || S <- spans(Logs, []), value(<<"inviso.request">>, S) =/= none],
    {_, Bin, _} = ?LIB:merge(Logs, "json", ["--tag", "seq_trace"]),
    Items = inviso_trace_json:lines(Bin),
    Requests = lists:usort([R || #{<<"request">> := R} <- Items]),
    Requests = lists:usort([value(<<"inviso.request">>, S) || S <- Spans]),
    Traces = lists:usort([T || #{<<"traceId">> := T} <- Spans]),
    true = length(Traces) =:= length(Requests),
    Sent = length([I || #{<<"payload">> := [<<"{send", _/binary>>]} = I <- Items]),
    Sent = length([S || #{<<"kind">> := 5} = S <- Spans]),
    Ids = [{T, I} || #{<<"traceId">> := T, <<"spanId">> := I} <- Spans],
    Parents = [{T, P} || #{<<"traceId">> := T, <<"parentSpanId">> := P} <- Spans],
    [] = Parents -- lists:append([Ids || _ <- Parents]),
    true = length(Parents) >= Sent,
    true = Sent > 10.

%% If events of a request happened during a call, the call's span has links to the messages of these
%% events. A message's span has a link to a call that the message's receiver then made.
links_of_spans(Config) ->
    Spans = spans(?config(logs, Config), []),
    ById = maps:from_list([{{T, I}, S} || #{<<"traceId">> := T, <<"spanId">> := I} = S <- Spans]),
    Links = [{S, maps:get({T, I}, ById)}
             || #{<<"links">> := All} = S <- Spans,
                #{<<"traceId">> := T, <<"spanId">> := I} <- All],
    Pairs = [{value(<<"inviso.request">>, From) =/= none, value(<<"inviso.request">>, To)}
             || {From, To} <- Links],
    %% Each link connects a call and a message of a request.
    [true = FromRequest =:= (To =:= none) || {FromRequest, To} <- Pairs],
    Handled = [To || {#{<<"name">> := <<"inviso_exports_work:handled/1">>}, To} <- Links],
    %% handled/1 is called once on each of the 3 nodes. Each call has two links: to the beginning of
    %% the request, and to the answer.
    6 = length(Handled),
    3 = length(lists:usort([value(<<"inviso.request">>, S) || S <- Handled])),
    [<<"inviso_exports_work:outer/1">>] =
        lists:usort([Name || {From, #{<<"name">> := Name}} <- Links,
                             value(<<"inviso.request">>, From) =/= none]),
    [true = time(<<"startTimeUnixNano">>, From) =< time(<<"startTimeUnixNano">>, To)
         andalso time(<<"endTimeUnixNano">>, From) >= time(<<"endTimeUnixNano">>, To)
     || {From, To} <- Links, value(<<"inviso.request">>, From) =/= none].

%% The format otlp-proto contains the same spans as the format otlp.
protoc_reads_spans(Config) ->
    with_protoc(fun() -> protoc_reads_spans_(Config) end).

protoc_reads_spans_(Config) ->
    File = ?LIB:name(Config, "x.otlp"),
    [begin
         {_, Bin, _} = ?LIB:merge(Logs, "otlp-proto", Options),
         ok = file:write_file(File, Bin),
         Text = inviso_proto:protoc(?config(data_dir, Config), "otlp.proto",
                                    "ExportTraceServiceRequest", File),
         Count = fun(R) ->
                         case re:run(Text, R, [global, multiline]) of
                             nomatch -> 0;
                             {match, All} -> length(All)
                         end
                 end,
         Spans = spans(Logs, Options),
         {N, N} = {length(Spans), Count("^    spans {$")},
         {F, F} = {length([S || #{<<"status">> := _} = S <- Spans]), Count("^      status {$")},
         {L, L} = {length([x || #{<<"links">> := All} <- Spans, _ <- All]),
                   Count("^      links {$")},
         {P, P} = {length([S || #{<<"parentSpanId">> := _} = S <- Spans]),
                   Count("^      parent_span_id: ")}
     end || {Logs, Options} <- inputs(Config)].

with_protoc(Fun) ->
    case os:find_executable("protoc") of
        false -> {skip, "no protoc"};
        _ -> Fun()
    end.

%%---------------------------------------------------------------------------
%% The Common Trace Format

%% babeltrace2 reads the same events as JSON has, with the same times and fields. It also reports
%% the same number of lost events.
babeltrace_reads_all_events(Config) ->
    case os:find_executable("babeltrace2") of
        false -> {skip, "no babeltrace2"};
        _ -> babeltrace_reads_all_events_(Config)
    end.

babeltrace_reads_all_events_(Config) ->
    Lost = [begin
                {Events, Lost} = babeltrace(Config, Logs, Options),
                {_, Bin, _} = ?LIB:merge(Logs, "json", Options),
                Items = inviso_trace_json:lines(Bin),
                Expected = lists:sort([expected(I) || #{<<"tag">> := _} = I <- Items]),
                ct:log("~p: ~p events, ~p lost", [Options, length(Events), Lost]),
                {[], []} = {lists:sublist(Expected -- Events, 3),
                            lists:sublist(Events -- Expected, 3)},
                Lost = lists:sum([N || #{<<"lost">> := N, <<"reason">> := R} <- Items,
                                       R =/= <<"limit">>]),
                Lost
            end || {Logs, Options} <- inputs(Config)],
    true = lists:max(Lost) > 0,
    {Events, _} = babeltrace(Config, ?config(logs, Config), []),
    %% Each node has events of the process whose name has characters with a special meaning.
    3 = length(lists:usort([Node || {Node, _, _, _, <<"'a\"", _/binary>>, _, _} <- Events])),
    3 = length(lists:usort([Node || {Node, _, _, _, _, _, _} <- Events])).

%% Returns what the format ctf must contain for an event. The argument is the event as JSON has it.
expected(#{<<"tag">> := Tag, <<"ts">> := Ts, <<"node">> := Node, <<"pid">> := Pid} = Item) ->
    Name = case Item of
               #{<<"process">> := #{<<"name">> := <<_/binary>> = N}} -> N;
               #{} -> <<>>
           end,
    Terms = maps:get(<<"payload">>, Item) ++ [maps:get(K, Item) || K <- [<<"result">>],
                                                                   is_map_key(K, Item)],
    Facts = [maps:get(K, Item, none)
             || K <- facts()],
    {Node, Tag, Ts, Pid, Name, iolist_to_binary(lists:join(", ", Terms)), Facts}.

%% Returns the events that babeltrace2 prints, sorted, and how many it says are
%% lost.
babeltrace(Config, Logs, Options) ->
    Dir = ?LIB:name(Config, "ctf"),
    File = ?LIB:name(Config, "events"),
    {_, _} = ?LIB:command("inviso", ["merge", "-q", "-f", "ctf", "-o", Dir | Options ++ Logs]),
    {Events, Lost} = inviso_ctf:read(Dir, File),
    {lists:sort([printed(E) || E <- Events]), Lost}.

printed(Fields) ->
    #{<<"node">> := Node, <<"pid">> := Pid, <<"name">> := Name, <<"payload">> := Payload,
      <<"earlier_ns">> := Earlier, <<"class">> := Class, <<"time">> := Time} = Fields,
    Terms = [Payload | [V || K <- [<<"extra">>, <<"result">>],
                             V <- [maps:get(K, Fields, <<"-">>)], V =/= <<"-">>]],
    Facts = [case Fields of
                 #{K := V} when V =/= <<"-">>, V =/= -1 -> V;
                 #{} -> none
             end || K <- facts()],
    {Node, without_dash(maps:get(<<"tag">>, Fields, Class)), Time - Earlier,
     without_dash(Pid), without_dash(Name), iolist_to_binary(lists:join(", ", Terms)), Facts}.

facts() ->
    [<<"module">>, <<"function">>, <<"arity">>, <<"duration_ns">>, <<"label">>].

without_dash(<<"-">>) -> <<>>;
without_dash(Text) -> Text.

%%---------------------------------------------------------------------------
%% All formats

%% Writes the same recordings, whole and damaged, in every format that --help lists. For all
%% formats, the command reports the same number of events and the same losses, and the readers find
%% what the command reports.
all_formats_agree(Config) ->
    Lost = [begin
                #{lost := N} = inviso_formats:agree(Config, Logs, []),
                N
            end || {Logs, []} <- inputs(Config)],
    true = lists:max(Lost) > 0.

a_full_disk_leaves_no_file(Config) ->
    %% The log calls.log has so many functions that even a profile exceeds the limit on the size of
    %% files.
    Many = filename:join(os:getenv("INVISO_ROOT", "."), "test/golden/calls.log"),
    Logs = [["'", L, "' "] || L <- [Many | ?config(logs, Config)]],
    Dir = ?LIB:dir(Config),
    [begin
         Out = filename:join(Dir, Format),
         Command = io_lib:format("trap '' XFSZ; ulimit -f 1; exec '~ts' merge -f ~s -o '~ts' ~ts",
                                 [?LIB:product("inviso"), Format, Out, Logs]),
         {Format, {1, Said}} = {Format, ?LIB:command("/bin/sh", ["-c", lists:flatten(Command)])},
         {match, _} = re:run(Said, "File too large"),
         {Format, {ok, []}} = {Format, file:list_dir(Dir)}
     end || Format <- inviso_formats:all()].
