%% SPDX-License-Identifier: Apache-2.0
%% @doc A reader for each format of `inviso merge'. If this machine has the usual program for a
%% format, this program reads the file. A reader returns those of the following facts that its
%% format contains:
%%
%% summary, status   the command's summary and exit status
%% events            number of events
%% lost              number of lost events, without the events after a limit
%% dropped           number of lost events, with the events after a limit
%% tags              number of events of each tag
%% slices            like tags, but includes calls of which only the end is recorded
%% calls             number of all calls
%% call_events       number of calls whose beginning is recorded
%% ended, self_ns    number of ended calls, and the sum of their own times
%% ns                like self_ns, but without calls whose time is uncertain
%% functions         {M, F, A} of all calls
%% called            {M, F} of the calls whose beginning is recorded
%% called_or_ended   {M, F} of all calls
%% ended_functions   {M, F, A} of ended calls
%% timed             {M, F, A} of the calls that ns includes and that took time
%% requests          number of requests of sequential traces
%% args              a function that returns the arguments of calls, as text
%% names, nodes      names of calling processes, and their nodes
-module(inviso_format_readers).

-export([read/4, duckdb/1]).

-define(LIB, inviso_trace_lib).

%% @doc Writes the logs in a format, and reads the file.
-spec read(string(), [tuple()], [file:filename()], [string()]) -> map().
read(Format, Config, Logs, Options) ->
    Out = ?LIB:name(Config, "x." ++ Format),
    More = [O || "text" <- [Format], O <- ["--syntax", "erlang"]],
    {Status, Said} = ?LIB:command("inviso", ["merge", "--summary", "json", "-f", Format, "-o", Out]
                                  ++ More ++ Options ++ [?LIB:text(L) || L <- Logs]),
    Facts = case lists:member(Format, ["ctf", "parquet", "sqlite", "pprof"]) of
                true -> of_file(Format, Out);
                false -> of_text(Format, Out, content(Out))
            end,
    [Summary] = [inviso_trace_json:decode(L) || <<"{", _/binary>> = L <- ?LIB:split(Said)],
    sampled(Facts#{summary => maps:with([<<"recorded">>, <<"lost">>, <<"reasons">>,
                                         <<"after_limit">>], Summary),
                   status => without_requests(Format, Status)},
            binary:match(Said, <<" of stacks are not shown">>)).

%% If there is no request, formats of requests select nothing, and the command's status is 5. In
%% this case, returns 0, the status of other formats.
without_requests(Format, 5) when Format =:= "mermaid"; Format =:= "shiviz";
                                 Format =:= "sequence" -> 0;
without_requests(_, Status) -> Status.

%% Removes the times if the format does not show samples of stacks, because their time is missing.
sampled(Facts, nomatch) -> Facts;
sampled(Facts, _) -> maps:without([ns, timed], Facts).

content(File) ->
    {ok, Bin} = file:read_file(File),
    Bin.

data(Name) ->
    Dir = filename:dirname(filename:absname(code:which(?MODULE))),
    filename:join([Dir, "inviso_exports_SUITE_data", Name]).

%% Runs Python without the modules that the machine's packages load at each start of Python.
python(Args) ->
    run("python3", ["-IS", data("read.py") | Args]).

%% Runs a program, if this machine has it.
run(Name, Args) ->
    case os:find_executable(Name) of
        false -> skip("no " ++ Name);
        Program ->
            {0, Said} = ?LIB:command(Program, Args),
            Said
    end.

skip(Why) ->
    ct:log("not read: ~s", [Why]),
    {skip, Why}.

%%---------------------------------------------------------------------------
%% Formats of events

of_text("json", File, Bin) ->
    json(items(File, Bin));
of_text("text", _, Bin) ->
    Line = "^[0-9-]+ [0-9:.]+ (?:'(?:[^'\\\\]|\\\\.)*'|\\S+) \\S+ "
        "(?:'(?:[^'\\\\]|\\\\.)*' |\\S+ )?call (.*)$",
    Calls = [C || L <- ?LIB:split(Bin),
                  {match, [C]} <- [re:run(L, Line, [{capture, [1], binary}, unicode])]],
    #{calls => length(Calls),
      called_or_ended => lists:usort([function(scan(C)) || C <- Calls]),
      args => fun() -> [arguments(C) || C <- Calls] end};
of_text("classic", _, Bin) ->
    Lines = [classic(scan(L)) || L <- ?LIB:split(Bin)],
    Called = [{M, F} || {call, M, F} <- Lines],
    Drops = [N || {drop, N} <- Lines],
    #{events => length(Lines) - length(Drops), dropped => lists:sum(Drops),
      call_events => length(Called), called => lists:usort(Called)};
of_text("etf", _, Bin) ->
    Terms = [Term || {_, _, _, Term, _} <- records(Bin)],
    Calls = [{M, F, A} || Term <- Terms, tag(Term) =:= call, {M, F, A} <- [element(4, Term)]],
    #{tags => count([atom_to_binary(tag(T)) || T <- Terms, tag(T) =/= drop]),
      dropped => lists:sum([N || {drop, N} <- Terms]),
      call_events => length(Calls),
      called => lists:usort([{M, F} || {M, F, _} <- Calls]),
      args => fun() -> [printed(A) || {_, _, A} <- Calls, is_list(A)] end};

%%---------------------------------------------------------------------------
%% Formats of requests

of_text("mermaid", _, Bin) ->
    [<<"sequenceDiagram">> | Lines] = ?LIB:split(Bin),
    Safe = "([^;#:<>\"%{}|\\\\'\\x00-\\x1f]|#[0-9]+;)*",
    Known = "^(  participant P[0-9]+ as " ++ Safe ++ "|  P[0-9]+(->>|-\\)|--\\)|-x)P[0-9]+: "
        ++ Safe ++ "|  Note over P[0-9]+: " ++ Safe ++ ")$",
    [] = [L || L <- Lines, re:run(L, Known, [unicode]) =:= nomatch],
    #{requests => length([L || L <- Lines,
                               re:run(L, "^  Note over P[0-9]+: request [0-9]+ ") =/= nomatch])};
of_text("shiviz", _, Bin) ->
    [Documented, <<"^=== (?<trace>.*) ===$">> | Lines] =
        binary:split(Bin, <<"\n">>, [global, trim]),
    Events = [L || L <- Lines, re:run(L, "^=== .* ===$", [unicode]) =:= nomatch],
    [true = is_map_key(Host, inviso_trace_json:decode(Clock))
     || Pair <- pairs(Events),
        {match, [Host, Clock]} <- [re:run(Pair, Documented,
                                          [unicode, {capture, [host, clock], binary}])]],
    #{requests => length(Lines) - length(Events)};
of_text("sequence", _, Bin) ->
    #{<<"requests">> := Requests, <<"left_out">> := 0} = page_data(Bin),
    #{requests => length(Requests)};

%%---------------------------------------------------------------------------
%% Timelines and spans

of_text("perfetto", File, Bin) ->
    protoc("perfetto.proto", "Trace", File),
    #{events := Events} = Timeline = inviso_perfetto:read(Bin),
    Counts = inviso_perfetto:counts(Timeline),
    %% If the end of a call is not traced, the timeline shows the call as an instant.
    Calls = [E || #{categories := [<<"call">>]} = E <- Events],
    #{slices => maps:remove(<<"lost">>, Counts), dropped => maps:get(<<"lost">>, Counts, 0),
      calls => length(Calls),
      functions => lists:usort([mfa(Name) || #{name := Name} <- Calls]),
      args => fun() -> [list(A) || #{notes := #{<<"args">> := A}} <- Calls] end,
      requests => length([N || #{name := <<"request ", _/binary>> = N} <- Events])};
of_text("otlp", File, Bin) ->
    spans([maps:merge(attributes(R), attributes(S))
           || #{<<"resourceSpans">> := All} <- items(File, Bin),
              #{<<"resource">> := R, <<"scopeSpans">> := Scopes} <- All,
              #{<<"spans">> := Of} <- Scopes, S <- Of]);
of_text("otlp-proto", File, Bin) ->
    protoc("otlp.proto", "ExportTraceServiceRequest", File),
    spans([maps:merge(pairs(1, R), pairs(9, S))
           || {1, Of} <- inviso_proto:fields(Bin), Fields <- [inviso_proto:fields(Of)],
              R <- [inviso_proto:one(1, Fields)], {2, Scopes} <- Fields,
              {2, S} <- inviso_proto:fields(Scopes)]);

%%---------------------------------------------------------------------------
%% Profiles

of_text("folded", _, Bin) ->
    %% The name of a function contains no semicolon. The time is after the last space of the line.
    timed([begin
               {match, [Path, N]} = re:run(L, "^(.*) ([0-9]+)$",
                                           [{capture, all_but_first, binary}]),
               {lists:last(binary:split(Path, <<";">>, [global])), binary_to_integer(N)}
           end || L <- ?LIB:split(Bin)]);
of_text("speedscope", File, Bin) ->
    speedscope_schema(File),
    #{<<"shared">> := #{<<"frames">> := Frames}, <<"profiles">> := [#{} = Time | _]} =
        hd(items(File, Bin)),
    Names = list_to_tuple([N || #{<<"name">> := N} <- Frames]),
    #{<<"samples">> := Samples, <<"weights">> := Weights} = Time,
    timed([{element(lists:last(S) + 1, Names), W} || {S, W} <- lists:zip(Samples, Weights)]);
of_text("callgrind", File, Bin) ->
    #{ns := Ns} = Facts = timed(callgrind(?LIB:split(Bin), none, #{})),
    annotated(run("callgrind_annotate", [File]), Ns),
    Facts;
of_text("svg", File, _) ->
    case python(["svg", File]) of
        {skip, _} -> #{};
        Said ->
            #{<<"ns">> := Ns, <<"names">> := [_ | _]} = inviso_trace_json:decode(Said),
            #{ns => Ns}
    end.

of_file("pprof", File) ->
    Profile = inviso_proto:fields(zlib:gunzip(content(File))),
    Texts = list_to_tuple(inviso_proto:all(6, Profile)),
    Of = fun(Key) -> [inviso_proto:fields(M) || M <- inviso_proto:all(Key, Profile)] end,
    Names = maps:from_list([{inviso_proto:one(1, F), element(inviso_proto:one(2, F) + 1, Texts)}
                            || F <- Of(5)]),
    Places = maps:from_list([{inviso_proto:one(1, L),
                              maps:get(inviso_proto:one(1, inviso_proto:fields(
                                                             inviso_proto:one(4, L))), Names)}
                             || L <- Of(4)]),
    timed([{maps:get(hd(varints(inviso_proto:one(1, S))), Places),
            lists:last(varints(inviso_proto:one(2, S)))} || S <- Of(2)]);

%%---------------------------------------------------------------------------
%% Tables, and the Common Trace Format

of_file("sqlite", File) ->
    Query = "SELECT json_object('events', (SELECT count(*) FROM events), "
        "'lost', (SELECT coalesce(sum(n), 0) FROM losses WHERE reason <> 'limit'), "
        "'requests', (SELECT count(*) FROM requests), "
        "'calls', (SELECT count(*) FROM calls), "
        "'ended', (SELECT count(duration_ns) FROM calls), "
        "'self_ns', (SELECT coalesce(sum(self_ns), 0) FROM calls)) UNION ALL "
        "SELECT json_array(module, function, arity, args, name, node) FROM calls",
    table(python(["sqlite", File, Query]));
of_file("parquet", Dir) ->
    From = fun(Table) -> [" FROM '", Dir, "/", Table, ".parquet'"] end,
    table(duckdb(["SELECT to_json({'events': (SELECT count(*)", From("events"), "), "
                  "'lost': (SELECT coalesce(sum(n), 0)::BIGINT", From("losses"),
                  " WHERE reason <> 'limit'), "
                  "'requests': (SELECT count(*)", From("requests"), "), "
                  "'calls': (SELECT count(*)", From("calls"), "), "
                  "'ended': (SELECT count(duration_ns)", From("calls"), "), "
                  "'self_ns': (SELECT coalesce(sum(self_ns), 0)::BIGINT", From("calls"), ")}) "
                  "UNION ALL "
                  "SELECT json_array(module, function, arity, args, name, node)", From("calls")]));
of_file("ctf", Dir) ->
    case inviso_ctf:read(Dir, Dir ++ ".events") of
        {skip, _} -> #{};
        {Events, Lost} ->
            Calls = [E || #{<<"class">> := <<"call">>} = E <- Events],
            #{events => length(Events), lost => Lost, call_events => length(Calls),
              called => lists:usort([pair_of(scan(P)) || #{<<"payload">> := P} <- Calls]),
              names => names([N || #{<<"name">> := N} <- Calls, N =/= <<"-">>]),
              nodes => lists:usort([N || #{<<"node">> := N} <- Calls]),
              args => fun() -> [P || #{<<"payload">> := P} <- Calls] end}
    end.

%%---------------------------------------------------------------------------
%% JSON

%% Returns the JSON objects in a file. Checks that Python reads the same objects.
items(File, Bin) ->
    Items = inviso_trace_json:lines(Bin),
    case python(["json", File]) of
        {skip, _} -> Items;
        Ascii -> true = Items =:= inviso_trace_json:lines(Ascii), Items
    end.

json(Items) ->
    Events = [I || #{<<"tag">> := _} = I <- Items],
    Tags = count([T || #{<<"tag">> := T} <- Events]),
    Began = [I || #{<<"tag">> := <<"call">>, <<"module">> := _} = I <- Events],
    Ended = [I || #{<<"end">> := _, <<"self_ns">> := _} = I <- Events],
    Calls = Began ++ decided(Events),
    %% Profiles leave out a call whose time is uncertain because events were lost.
    Sure = [I || I <- Ended, maps:get(<<"certain">>, I, true)],
    #{events => length(Events),
      tags => Tags,
      slices => case length(Calls) of
                    0 -> Tags;
                    N -> Tags#{<<"call">> => N}
                end,
      lost => lists:sum([N || #{<<"lost">> := N, <<"reason">> := R} <- Items, R =/= <<"limit">>]),
      dropped => lists:sum([N || #{<<"lost">> := N} <- Items]),
      calls => length(Calls),
      call_events => length(Began),
      ended => length(Ended),
      self_ns => self_ns(Ended), ns => self_ns(Sure),
      functions => lists:usort([mfa_of(I) || I <- Calls]),
      called => lists:usort([{M, F} || {M, F, _} <- [mfa_of(I) || I <- Began]]),
      called_or_ended => lists:usort([{M, F} || {M, F, _} <- [mfa_of(I) || I <- Calls]]),
      ended_functions => lists:usort([mfa_of(I) || I <- Ended]),
      timed => lists:usort([mfa_of(I) || #{<<"self_ns">> := T} = I <- Sure, T > 0]),
      requests => length(lists:usort([R || #{<<"request">> := R} <- Events])),
      args => fun() -> [list(A) || #{<<"args">> := A} <- Calls] end,
      names => names([N || #{<<"process">> := #{<<"name">> := N}} <- Calls, N =/= null]),
      nodes => lists:usort([N || #{<<"node">> := N} <- Calls])}.

self_ns(Calls) -> lists:sum([N || #{<<"self_ns">> := N} <- Calls]).

%% Returns the ends of calls whose beginning is not recorded.
decided(Events) ->
    Began = sets:from_list([{of_call(I), T} || #{<<"tag">> := <<"call">>, <<"time">> := T} = I
                                                   <- Events, is_map_key(<<"module">>, I)]),
    [I || #{<<"end">> := _, <<"start">> := T} = I <- Events,
          not sets:is_element({of_call(I), T}, Began)].

of_call(#{<<"node">> := Node, <<"pid">> := Pid} = Item) -> {Node, Pid, mfa_of(Item)}.

mfa_of(#{<<"module">> := M, <<"function">> := F, <<"arity">> := A}) ->
    {binary_to_atom(M), binary_to_atom(F), A}.

%%---------------------------------------------------------------------------

count(Keys) ->
    lists:foldl(fun(K, Acc) -> maps:update_with(K, fun(N) -> N + 1 end, 1, Acc) end, #{}, Keys).

list(Texts) ->
    iolist_to_binary(["[", lists:join(",", Texts), "]"]).

names(Texts) ->
    lists:usort([case scan(T) of
                     [{atom, _, Name}] -> Name;
                     _ -> T
                 end || T <- Texts]).

%% Reads a printed text with Erlang's own scanner.
scan(Text) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Text)),
    Tokens.

%% Reads a function in Erlang's syntax, or in Elixir's syntax without quotes. Returns other frames
%% as text.
mfa(Text) ->
    case erl_scan:string(unicode:characters_to_list(Text)) of
        {ok, [{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {integer, _, A}], _} -> {M, F, A};
        _ -> elixir(Text, re:run(Text, "^([A-Z][A-Za-z0-9_.]*)[.]([a-z0-9_?!]+)/([0-9]+)$",
                                 [{capture, all_but_first, binary}]))
    end.

elixir(Text, nomatch) -> Text;
elixir(_, {match, [M, F, A]}) ->
    {binary_to_atom(<<"Elixir.", M/binary>>), binary_to_atom(F), binary_to_integer(A)}.

%% Returns the function of a printed call.
function([{atom, _, M}, {':', _}, {atom, _, F}, {'(', _} | _]) -> {M, F}.

%% Returns the function in the tokens of {M,F,...}.
pair_of([{'{', _}, {atom, _, M}, {',', _}, {atom, _, F} | _]) -> {M, F}.

%% Returns the event in a line of the classic format. A line has the form: Node [Names] Term.
classic([{atom, _, _}, {'[', _} | Rest]) ->
    case after_list(Rest, 1) of
        [{'{', _}, {atom, _, drop}, {',', _}, {integer, _, N} | _] -> {drop, N};
        [{'{', _}, {atom, _, Trace}, {',', _} | Term] when Trace =:= trace; Trace =:= trace_ts ->
            traced(lists:dropwhile(fun(T) -> element(1, T) =/= ',' end, Term));
        _ -> other
    end.

after_list(Tokens, 0) -> Tokens;
after_list([{']', _} | Rest], N) -> after_list(Rest, N - 1);
after_list([{'[', _} | Rest], N) -> after_list(Rest, N + 1);
after_list([_ | Rest], N) -> after_list(Rest, N).

traced([_, {atom, _, call}, {',', _}, {'{', _}, {atom, _, M}, {',', _}, {atom, _, F} | _]) ->
    {call, M, F};
traced(_) ->
    other.

printed(Term) -> unicode:characters_to_binary(io_lib:format("~w", [Term])).

%% Returns the arguments in the text of a call.
arguments(Call) ->
    Text = unicode:characters_to_list(Call),
    {ok, [_, _, _, {'(', {1, Column}} | _], _} = erl_scan:string(Text, {1, 1}),
    unicode:characters_to_binary(["[", lists:droplast(lists:nthtail(Column, Text)), "]"]).

records(<<Len:32, Record:Len/binary, Rest/binary>>) ->
    [binary_to_term(Record) | records(Rest)];
records(<<>>) ->
    [].

%% Returns the tag of a term; '' if the term is no trace message.
tag({drop, _}) -> drop;
tag(Term) when element(1, Term) =:= seq_trace -> seq_trace;
tag(Term) when element(1, Term) =:= trace; element(1, Term) =:= trace_ts -> element(3, Term);
tag(_) -> ''.

pairs([A, B | Rest]) -> [[A, "\n", B] | pairs(Rest)];
pairs([]) -> [].

page_data(Page) ->
    {match, [Json]} = re:run(Page, "<script id='data' type='application/json'>\n(.*?)</script>",
                             [{capture, all_but_first, binary}, dotall]),
    inviso_trace_json:decode(Json).

protoc(Proto, Message, File) ->
    case os:find_executable("protoc") of
        false -> ok;
        _ ->
            Path = data(Proto),
            inviso_proto:protoc(filename:dirname(Path), Proto, Message, File)
    end.

%% Returns the facts that the spans contain. All is a list with a map for each span, which contains
%% the attributes of the span and of its resource.
spans(All) ->
    Calls = [S || #{<<"code.function.name">> := _} = S <- All],
    #{ended => length(Calls), self_ns => lists:sum([N || #{<<"erlang.self_ns">> := N} <- Calls]),
      lost => lists:sum([N || #{<<"inviso.lost">> := N} <- All]),
      requests => length(lists:usort([R || #{<<"inviso.request">> := R} <- All])),
      ended_functions => lists:usort([mfa(F) || #{<<"code.function.name">> := F} <- Calls]),
      names => names([N || #{<<"erlang.process.name">> := N} <- Calls]),
      nodes => lists:usort([N || #{<<"service.instance.id">> := N} <- Calls]),
      args => fun() -> [A || #{<<"erlang.args">> := A} <- Calls] end}.

attributes(#{<<"attributes">> := Pairs}) ->
    maps:from_list([{Key, case Value of
                              #{<<"stringValue">> := Text} -> Text;
                              #{<<"intValue">> := N} -> binary_to_integer(N);
                              #{<<"boolValue">> := Bool} -> Bool
                          end} || #{<<"key">> := Key, <<"value">> := Value} <- Pairs]).

%% Returns the attributes in a field of a message.
pairs(Field, Message) ->
    maps:from_list([pair(inviso_proto:fields(A))
                    || A <- inviso_proto:all(Field, inviso_proto:fields(Message))]).

pair([{1, Key}, {2, Value}]) ->
    case inviso_proto:fields(Value) of
        [{_, V}] -> {Key, V};
        _ -> {Key, none}
    end.

timed(Leaves) ->
    #{ns => lists:sum([N || {_, N} <- Leaves]),
      timed => lists:usort([mfa(Name) || {Name, N} <- Leaves, N > 0])}.

varints(<<>>) -> [];
varints(Bin) ->
    {N, Rest} = varint(Bin, 0, 0),
    [N | varints(Rest)].

varint(<<1:1, B:7, Rest/binary>>, Shift, N) -> varint(Rest, Shift + 7, N bor (B bsl Shift));
varint(<<0:1, B:7, Rest/binary>>, Shift, N) -> {N bor (B bsl Shift), Rest}.

%% The line after the name of a function contains the function's own cost. Each name is written only
%% once, with a number; later lines contain only the number.
callgrind([<<"fn=", Name/binary>>, Costs | Rest], _, Names0) ->
    {Number, Names} = numbered(Name, Names0),
    [<<"0">>, Ns, _] = binary:split(Costs, <<" ">>, [global]),
    [{maps:get(Number, Names), binary_to_integer(Ns)} | callgrind(Rest, Number, Names)];
callgrind([<<"cfn=", Name/binary>> | Rest], Of, Names) ->
    callgrind(Rest, Of, element(2, numbered(Name, Names)));
callgrind([_ | Rest], Of, Names) ->
    callgrind(Rest, Of, Names);
callgrind([], _, _) ->
    [].

numbered(Name, Names) ->
    case binary:split(Name, <<" ">>) of
        [Number] -> {Number, Names};
        [Number, Text] -> {Number, Names#{Number => Text}}
    end.

annotated({skip, _}, _) -> ok;
annotated(_, 0) -> ok;
annotated(Said, Ns) ->
    {match, [Text]} = re:run(Said, "^ *([0-9,]+) *\\([0-9. ]*%\\) .* PROGRAM TOTALS",
                             [multiline, {capture, [1], list}]),
    Ns = list_to_integer([C || C <- Text, C =/= $,]).

%% Checks the file with speedscope's own schema.
speedscope_schema(File) ->
    Npm = npm(),
    case filelib:is_dir(filename:join(Npm, "node_modules/speedscope")) of
        true -> run("node", [data("speedscope.cjs"), Npm, File]);
        false -> skip("npm has not installed speedscope")
    end.

npm() ->
    filename:join([os:getenv("INVISO_ROOT", "."), "build", "npm"]).

%% @doc Returns what DuckDB answers, if npm has installed it.
-spec duckdb(iodata()) -> binary() | {skip, string()}.
duckdb(Query) ->
    case filelib:is_dir(filename:join(npm(), "node_modules/@duckdb")) of
        true ->
            Script = filename:join(os:getenv("INVISO_ROOT", "."), "test/cli/parquet.js"),
            run("node", [Script, npm(), "--query", lists:flatten(Query)]);
        false -> skip("npm has not installed @duckdb/node-api")
    end.

%% Returns the facts in the text Said, which contains an object with counts, and an array for each
%% call.
table({skip, _}) -> #{};
table(Said) ->
    {[Counts], Calls} = lists:partition(fun is_map/1, [inviso_trace_json:decode(L)
                                                       || L <- ?LIB:split(Said)]),
    maps:merge(
      maps:from_list([{binary_to_atom(K), V} || {K, V} <- maps:to_list(Counts)]),
      #{functions => lists:usort([{binary_to_atom(M), binary_to_atom(F), A}
                                  || [M, F, A, _, _, _] <- Calls, M =/= null]),
        args => fun() -> [A || [_, _, _, A, _, _] <- Calls, A =/= null] end,
        names => names([N || [_, _, _, _, N, _] <- Calls, N =/= null]),
        nodes => lists:usort([N || [_, _, _, _, _, N] <- Calls])}).
