%% SPDX-License-Identifier: Apache-2.0
%% @doc `inviso export' against a collector.
-module(inviso_export_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([spans_are_those_of_merge/1, environment/1, options_before_environment/1,
         busy_collector/1, asks_for_too_long/1, permanent_failures/1,
         partial_success/1, no_answer/1, closed_connections/1, nothing_listens/1,
         hostile_answers/1, certificates/1, no_spans/1, losses/1, usage/1]).
%% for the recording
-export([work/1]).

-define(LIB, inviso_trace_lib).
-define(COLLECTOR, inviso_otlp_collector).

suite() -> [{timetrap, {minutes, 3}}].

all() ->
    [spans_are_those_of_merge, environment, options_before_environment, busy_collector,
     asks_for_too_long, permanent_failures, partial_success, no_answer,
     closed_connections, nothing_listens, hostile_answers, certificates, no_spans,
     losses, usage].

init_per_suite(Config0) ->
    Needs = ["inviso", "inviso_export", "inviso_spool", "inviso_tracer.so"],
    case ?LIB:config(Config0, Needs) of
        {skip, _} = Skip -> Skip;
        Config -> with_curl(Config, ?LIB:command("inviso_export", ["export", "--help"]))
    end.

%% On a test system with another OTP release (a chroot), libcurl is missing, so the program does not
%% start.
with_curl(Config, {0, _}) -> [{log, recorded(Config)} | Config];
with_curl(_, {127, Said}) -> {skip, binary_to_list(Said)}.

end_per_suite(_Config) ->
    ok.

%% Records so many calls that their spans need several requests.
recorded(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Worker = ?LIB:worker(),
    ?LIB:calls({?MODULE, work, 1}, [{'_', [], [{exception_trace}]}]),
    ?LIB:flags(Worker, Tracer, [call]),
    ?LIB:run(Worker, fun() -> [catch ?MODULE:work(N) || N <- lists:seq(1, 1300)] end),
    ?LIB:untrace(Worker),
    ?LIB:stop(Worker),
    #{recorded := 2600} = ?LIB:close(Tracer),
    Log.

work(N) when N rem 100 =:= 0 -> error({bad, <<"\0\xff\"</script>">>});
work(N) -> {ok, N, <<"κόσμος"/utf8>>}.

%% Runs the command with variables in the environment. Returns its exit status and
%% what it printed.
export(Variables, Args) ->
    Clean = [{V, false} || V0 <- os:getenv(),
                           [V | _] <- [string:split(V0, "=")],
                           lists:prefix("OTEL_", V)],
    Port = open_port({spawn_executable, ?LIB:product("inviso")},
                     [{args, ["export" | [?LIB:text(A) || A <- Args]]}, exit_status, binary,
                      use_stdio, stderr_to_stdout, hide,
                      {env, Clean ++ [{"NO_PROXY", "127.0.0.1"} | Variables]}]),
    output(Port, []).

output(Port, Acc) ->
    receive
        {Port, {data, Data}} -> output(Port, [Acc, Data]);
        {Port, {exit_status, Status}} -> {Status, iolist_to_binary(Acc)}
    end.

says(Said, Text) ->
    case string:find(Said, Text) of
        nomatch -> ct:fail("~ts is not in: ~ts", [Text, Said]);
        _ -> ok
    end.

received(C) ->
    lists:append([?COLLECTOR:spans(B)
                  || #{body := B, answer := {200, _, _}} <- ?COLLECTOR:requests(C)]).

%% Returns the spans that merge -f otlp writes, in the form in which the collector returns spans.
merged(Logs, Options) ->
    {_, Bin, _} = ?LIB:merge(Logs, "otlp", Options),
    [span(S, R) || Line <- ?LIB:split(Bin),
                   #{<<"resourceSpans">> := All} <- [inviso_trace_json:decode(Line)],
                   #{<<"resource">> := R, <<"scopeSpans">> := Scopes} <- All,
                   #{<<"spans">> := Spans} <- Scopes, S <- Spans].

span(#{<<"attributes">> := Pairs} = S, #{<<"attributes">> := Resource}) ->
    Status = maps:get(<<"status">>, S, #{}),
    maps:merge(#{<<"parentSpanId">> => <<>>},
               S#{<<"attributes">> := pairs(Pairs),
                  <<"links">> => [{T, I} || #{<<"traceId">> := T, <<"spanId">> := I}
                                                <- maps:get(<<"links">>, S, [])],
                  <<"status">> => {maps:get(<<"code">>, Status, 0),
                                   maps:get(<<"message">>, Status, <<>>)},
                  resource => pairs(Resource)}).

pairs(Pairs) ->
    [{K, case V of
             #{<<"stringValue">> := Text} -> Text;
             #{<<"intValue">> := N} -> binary_to_integer(N);
             #{<<"boolValue">> := Bool} -> Bool
         end} || #{<<"key">> := K, <<"value">> := V} <- Pairs].

%%---------------------------------------------------------------------------

spans_are_those_of_merge(Config) ->
    Frozen = filename:join([os:getenv("INVISO_ROOT", "."), "test", "frozen"]),
    Log = ?config(log, Config),
    [begin
         C = ?COLLECTOR:start([]),
         {0, Said} = export([], ["--otlp", ?COLLECTOR:url(C) | Options] ++ Logs),
         Spans = received(C),
         Spans = merged(Logs, Options -- ["--compression", "none"]),
         says(Said, [integer_to_list(length(Spans)), " span(s) accepted"]),
         ?COLLECTOR:stop(C)
     end || {Logs, Options} <- [{[Log], []}, {[Log], ["--compression", "none"]},
                                {[Log], ["--failed"]},
                                {[Log], ["--redact", "inviso_export_SUITE:work(-)"]},
                                {filelib:wildcard(Frozen ++ "/2/*.log"), []}]],
    C = ?COLLECTOR:start([]),
    {0, Said} = export([], ["--json", "--otlp", ?COLLECTOR:url(C), Log]),
    #{<<"accepted">> := 1300, <<"rejected">> := 0, <<"requests">> := 3, <<"recorded">> := 2600,
      <<"lost">> := 0, <<"retries">> := 0, <<"url">> := Url} = inviso_trace_json:decode(Said),
    Url = list_to_binary(?COLLECTOR:url(C) ++ "/v1/traces"),
    Requests = ?COLLECTOR:requests(C),
    3 = length(Requests),
    %% All requests use one connection, and are compressed.
    [_] = lists:usort([P || #{connection := P} <- Requests]),
    [{<<"application/x-protobuf">>, 'POST', <<"/v1/traces">>}] =
        lists:usort([{T, M, P} || #{headers := #{<<"content-type">> := T}, method := M,
                                    path := P} <- Requests]),
    [true = Size * 4 < byte_size(Body) || #{size := Size, body := Body} <- Requests],
    [true = byte_size(Body) < 2 bsl 20 || #{body := Body} <- Requests],
    [#{resource := Resource} | _] = received(C),
    Node = atom_to_binary(node()),
    OsPid = list_to_integer(os:getpid()),
    Erts = list_to_binary(erlang:system_info(version)),
    [Name | _] = binary:split(Node, <<"@">>),
    [{<<"service.name">>, Name}, {<<"service.instance.id">>, Node}, {<<"process.pid">>, OsPid},
     {<<"process.runtime.name">>, <<"BEAM">>}, {<<"process.runtime.version">>, Erts},
     {<<"telemetry.sdk.name">>, <<"inviso">>}] =
        [lists:keyfind(K, 1, Resource)
         || K <- [<<"service.name">>, <<"service.instance.id">>, <<"process.pid">>,
                  <<"process.runtime.name">>, <<"process.runtime.version">>,
                  <<"telemetry.sdk.name">>]],
    ?COLLECTOR:stop(C).

%% The command reads the environment variables in the way that the specification of OpenTelemetry's
%% exporters says.
environment(Config) ->
    Log = ?config(log, Config),
    Failed = ["--failed", Log],
    C = ?COLLECTOR:start([]),
    Url = ?COLLECTOR:url(C),
    Base = {"OTEL_EXPORTER_OTLP_ENDPOINT", Url ++ "/base/"},
    {0, _} = export([Base], Failed),
    {0, _} = export([Base, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Url ++ "/own"}], Failed),
    {0, _} = export([{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Url}], Failed),
    [<<"/base/v1/traces">>, <<"/own">>, <<"/">>] =
        [P || #{path := P} <- ?COLLECTOR:requests(C)],
    {0, _} = export([Base,
                     {"OTEL_EXPORTER_OTLP_HEADERS", " authorization=Bearer%20x%2Cy , X-Two=2"},
                     {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
                     {"OTEL_RESOURCE_ATTRIBUTES",
                      "deployment.environment.name=a%20b,service.name=no,host.name=h"},
                     {"OTEL_SERVICE_NAME", "my shop"}], Failed),
    #{headers := #{<<"authorization">> := <<"Bearer x,y">>, <<"x-two">> := <<"2">>} = Headers,
      body := Body} = lists:last(?COLLECTOR:requests(C)),
    false = maps:is_key(<<"content-encoding">>, Headers),
    [#{resource := Resource} | _] = ?COLLECTOR:spans(Body),
    [{<<"service.name">>, <<"my shop">>}] = [P || {<<"service.name">>, _} = P <- Resource],
    [{<<"host.name">>, <<"h">>}] = [P || {<<"host.name">>, _} = P <- Resource],
    true = lists:member({<<"deployment.environment.name">>, <<"a b">>}, Resource),
    %% Invalid values are ignored with a message, which does not show secrets.
    {0, Said} = export([Base, {"OTEL_EXPORTER_OTLP_HEADERS", "secret"},
                        {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
                        {"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd"},
                        {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                        {"OTEL_RESOURCE_ATTRIBUTES", "a=%zz"}], Failed),
    [says(Said, [V, " is ignored"])
     || V <- ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TIMEOUT",
              "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_PROTOCOL",
              "OTEL_RESOURCE_ATTRIBUTES"]],
    nomatch = string:find(Said, "secret"),
    ?COLLECTOR:stop(C).

options_before_environment(Config) ->
    C = ?COLLECTOR:start([]),
    {0, Said} = export([{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"},
                        {"OTEL_EXPORTER_OTLP_HEADERS", "x-one=env,x-two=env"},
                        {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"}],
                       ["--otlp", "http://user:secret@" ++ lists:nthtail(7, ?COLLECTOR:url(C)),
                        "--header", "X-One=option", "--compression", "none", "--failed",
                        ?config(log, Config)]),
    [#{path := <<"/v1/traces">>,
       headers := #{<<"x-one">> := <<"option">>, <<"x-two">> := <<"env">>,
                    <<"authorization">> := <<"Basic ", _/binary>>} = Headers}] =
        ?COLLECTOR:requests(C),
    false = maps:is_key(<<"content-encoding">>, Headers),
    nomatch = string:find(Said, "secret"),
    ?COLLECTOR:stop(C).

%% If the collector is busy, the command repeats the request, but not earlier than the collector
%% asks for.
busy_collector(Config) ->
    Busy = {503, [{"Retry-After", "1"}], <<>>},
    C = ?COLLECTOR:start([Busy, Busy, {200, [], <<>>}, {429, [], <<>>}, {502, [], <<>>}]),
    {0, Said} = export([], ["--json", "--otlp", ?COLLECTOR:url(C), ?config(log, Config)]),
    Requests = [#{body := First, ms := T1}, #{body := First, ms := T2}, #{body := First, ms := T3},
                #{body := Second}, #{body := Second}, #{body := Second}, _] =
        ?COLLECTOR:requests(C),
    true = T2 - T1 >= 1000 andalso T3 - T2 >= 1000,
    7 = length(Requests),
    true = received(C) =:= merged([?config(log, Config)], []),
    says(Said, "the collector answered 503; trying again in 1 s"),
    says(Said, "the collector answered 429; trying again in "),
    #{<<"retries">> := 4, <<"accepted">> := 1300} =
        inviso_trace_json:decode(lists:last(?LIB:split(Said))),
    ?COLLECTOR:stop(C).

asks_for_too_long(Config) ->
    C = ?COLLECTOR:start([{200, [], <<>>}, {503, [{"Retry-After", "3600"}], <<>>}]),
    {3, Said} = export([], ["--otlp", ?COLLECTOR:url(C), ?config(log, Config)]),
    says(Said, "the collector answered 503; 512 span(s) were accepted before"),
    2 = length(?COLLECTOR:requests(C)),
    ?COLLECTOR:stop(C).

%% After these answers, the command does not repeat the request. The body of an answer is a
%% google.rpc.Status, or text.
permanent_failures(Config) ->
    [begin
         C = ?COLLECTOR:start([{Code, Headers, Body}]),
         {Status, Said} = export([], ["--otlp", ?COLLECTOR:url(C), ?config(log, Config)]),
         says(Said, ["the collector answered ", integer_to_list(Code), Text]),
         [_] = ?COLLECTOR:requests(C),
         ?COLLECTOR:stop(C)
     end || {Code, Headers, Body, Status, Text} <-
                [{400, [], <<8, 3, 18, 7, "bad\e[0m">>, 1, ": bad [0m; 0 span(s)"},
                 {404, [{"Content-Type", "text/plain"}], "no such page", 1, ": no such page;"},
                 {401, [], <<>>, 4, "; 0 span(s)"}, {403, [], <<>>, 4, ";"},
                 {500, [], <<>>, 1, ";"}, {302, [{"Location", "/x"}], <<>>, 1, ";"}]].

%% The collector says that it has rejected some of the spans.
partial_success(Config) ->
    Partial = <<10, 13, 8, 5, 18, 9, "too \"old\"">>,
    Json = "{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"old\"}}",
    C = ?COLLECTOR:start([{200, [], Partial},
                          {200, [{"Content-Type", "application/json"}], Json}]),
    {7, Said} = export([], ["--otlp", ?COLLECTOR:url(C), ?config(log, Config)]),
    says(Said, "1288 span(s) accepted, 12 rejected, in 3 request(s)"),
    says(Said, "the collector rejected 12 span(s): "),
    ?COLLECTOR:stop(C),
    %% A message without rejected spans is a warning.
    W = ?COLLECTOR:start([{200, [], <<10, 9, 18, 7, "use tls">>}]),
    {0, Warned} = export([], ["--otlp", ?COLLECTOR:url(W), "--failed", ?config(log, Config)]),
    says(Warned, "inviso export: the collector accepted all spans, and says: use tls"),
    ?COLLECTOR:stop(W).

no_answer(Config) ->
    C = ?COLLECTOR:start([silent]),
    {0, Said} = export([{"OTEL_EXPORTER_OTLP_TIMEOUT", "300"}],
                       ["--otlp", ?COLLECTOR:url(C), "--failed", ?config(log, Config)]),
    says(Said, "trying again in"),
    [#{body := B}, #{body := B}] = ?COLLECTOR:requests(C),
    ?COLLECTOR:stop(C),
    D = ?COLLECTOR:start([silent]),
    {3, _} = export([], ["--timeout", "200ms", "--retry", "0", "--otlp", ?COLLECTOR:url(D),
                         ?config(log, Config)]),
    ?COLLECTOR:stop(D).

closed_connections(Config) ->
    C = ?COLLECTOR:start([close, {200, [], <<>>}, close]),
    {0, _} = export([], ["--otlp", ?COLLECTOR:url(C), ?config(log, Config)]),
    true = received(C) =:= merged([?config(log, Config)], []),
    ?COLLECTOR:stop(C).

nothing_listens(Config) ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    ok = gen_tcp:close(L),
    Url = "http://127.0.0.1:" ++ integer_to_list(Port),
    {3, Said} = export([], ["--otlp", Url, "--retry", "0", ?config(log, Config)]),
    says(Said, "0 span(s) were accepted"),
    nomatch = string:find(Said, "trying again").

%% Bodies that are no valid answers neither crash the command nor make it wait forever.
hostile_answers(Config) ->
    Big = binary:copy(<<"x">>, 1 bsl 20),
    [begin
         C = ?COLLECTOR:start([{200, [], Body}]),
         {0, _} = export([], ["-q", "--otlp", ?COLLECTOR:url(C), "--failed", ?config(log, Config)]),
         ?COLLECTOR:stop(C)
     end || Body <- [<<255>>, <<10, 255, 255, 255, 255, 15, 1>>, <<10, 2, 8>>, Big,
                     <<10, 11, 8, -1:80/signed>>, <<18, 3, 1, 2, 3>>]],
    %% The collector says that it rejected more spans than there were.
    C = ?COLLECTOR:start([{200, [], <<10, 3, 8, 255, 127>>}]),
    {7, Said} = export([], ["-q", "--otlp", ?COLLECTOR:url(C), "--failed", ?config(log, Config)]),
    says(Said, "0 span(s) accepted, 13 rejected"),
    ?COLLECTOR:stop(C).

certificates(Config) ->
    case {os:find_executable("openssl"), code:which(ssl)} of
        {false, _} -> {skip, "no openssl"};
        {_, non_existing} -> {skip, "no erlang-ssl"};
        _ -> certificates_(Config)
    end.

certificates_(Config) ->
    Dir = ?LIB:dir(Config),
    Make = fun(Name, Host) ->
                   Pem = filename:join(Dir, Name ++ ".pem"),
                   Key = filename:join(Dir, Name ++ ".key"),
                   os:cmd("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                          "-days 2 -subj /CN=" ++ Name ++ " -addext subjectAltName=" ++ Host ++
                              " -keyout '" ++ Key ++ "' -out '" ++ Pem ++ "' 2>/dev/null"),
                   {Pem, Key}
           end,
    {Pem, Key} = Make("collector", "IP:127.0.0.1"),
    {Other, OtherKey} = Make("other", "DNS:elsewhere"),
    C = ?COLLECTOR:start([], [{certfile, Pem}, {keyfile, Key}]),
    D = ?COLLECTOR:start([], [{certfile, Other}, {keyfile, OtherKey}]),
    Try = fun(Collector, Variables, Args) ->
                  export(Variables, ["--otlp", ?COLLECTOR:url(Collector), "--failed",
                                     ?config(log, Config) | Args])
          end,
    {4, Said} = Try(C, [], []),
    says(Said, "certificate"),
    {4, _} = Try(C, [], ["--ca", Other]),
    {4, _} = Try(D, [], ["--ca", Other]),
    {1, _} = Try(C, [], ["--ca", Key ++ ".none"]),
    [] = ?COLLECTOR:requests(C),
    [] = ?COLLECTOR:requests(D),
    {0, _} = Try(C, [], ["--ca", Pem]),
    {0, _} = Try(C, [{"OTEL_EXPORTER_OTLP_CERTIFICATE", Pem}], []),
    {0, _} = Try(D, [], ["--insecure"]),
    ?COLLECTOR:stop(C),
    ?COLLECTOR:stop(D),
    [client_certificate(Try, Version, {Pem, Key}, {Other, OtherKey})
     || Version <- ['tlsv1.2', 'tlsv1.3']],
    no_tls(Try, Pem).

%% The collector wants a certificate of its client. If the collector refuses the client, the command
%% fails at once. After failures that may be temporary, the command would by default try again for a
%% minute.
client_certificate(Try, Version, {Pem, Key}, {Other, OtherKey}) ->
    Wants = [{certfile, Pem}, {keyfile, Key}, {verify, verify_peer}, {versions, [Version]},
             {fail_if_no_peer_cert, true}],
    E = ?COLLECTOR:start([], [{cacertfile, Other}, {verify_fun, {fun accept/3, []}} | Wants]),
    {4, None} = Try(E, [], ["--ca", Pem]),
    says(None, "the collector may want a certificate: --cert FILE; 0 span(s)"),
    {0, _} = Try(E, [], ["--ca", Pem, "--cert", Other, "--key", OtherKey]),
    ?COLLECTOR:stop(E),
    F = ?COLLECTOR:start([], [{cacertfile, Pem} | Wants]),
    {4, Refused} = Try(F, [], ["--ca", Pem, "--cert", Other, "--key", OtherKey]),
    says(Refused, "the collector does not accept the certificate of --cert; 0 span(s)"),
    ?COLLECTOR:stop(F).

%% If a connection ends in the TLS handshake, the command tries again, because the collector may be
%% restarting. If the collector answers with plain HTTP, the command does not try again.
no_tls(Try, Pem) ->
    [begin
         {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
         {ok, Port} = inet:port(L),
         Pid = spawn_link(fun() -> answers(L, Answer) end),
         {3, Said} = Try(#{scheme => "https", port => Port}, [], ["--ca", Pem | Options]),
         {Again, Said} = {string:find(Said, "trying again in") =/= nomatch, Said},
         says(Said, Text),
         unlink(Pid),
         exit(Pid, kill),
         ok = gen_tcp:close(L)
     end || {Answer, Options, Again, Text} <-
                [{"", ["--retry", "600ms"], true, "; 0 span(s)"},
                 {"HTTP/1.1 400 Bad Request\r\n\r\n", [], false,
                  "the collector may use http, not https; 0 span(s)"}]].

answers(L, Answer) ->
    {ok, S} = gen_tcp:accept(L),
    {ok, _} = gen_tcp:recv(S, 0),
    ok = gen_tcp:send(S, Answer),
    ok = gen_tcp:close(S),
    answers(L, Answer).

%% Accepts any certificate of the client, because it is self-signed.
accept(_, {extension, _}, State) -> {unknown, State};
accept(_, _, State) -> {valid, State}.

no_spans(Config) ->
    C = ?COLLECTOR:start([]),
    Args = ["--otlp", ?COLLECTOR:url(C), ?config(log, Config)],
    {5, Said} = export([], ["--tag", "call" | Args]),
    says(Said, "there are no spans"),
    says(Said, "record with `-> return'"),
    {5, Open} = export([], ["--otlp", ?COLLECTOR:url(C), calls_and_a_limit(Config)]),
    says(Open, "record with `-> return'"),
    says(Open, "1 event recorded, 0 lost, "),
    {5, None} = export([], ["--mfa", "nothing:here" | Args]),
    says(None, "nothing matched"),
    [] = ?COLLECTOR:requests(C),
    ?COLLECTOR:stop(C).

%% Records calls with a limit of one event. The calls after the limit do not count as lost, and are
%% no spans.
calls_and_a_limit(Config) ->
    Log = ?LIB:name(Config, "limit.log"),
    Tracer = ?LIB:open(Log, #{limit => #{events => 1}}),
    Worker = ?LIB:worker(),
    ?LIB:calls({?MODULE, work, 1}, []),
    ?LIB:flags(Worker, Tracer, [call]),
    ?LIB:run(Worker, fun() -> [?MODULE:work(N) || N <- [1, 2, 3]] end),
    ?LIB:untrace(Worker),
    ?LIB:stop(Worker),
    _ = ?LIB:close(Tracer),
    Log.

%% Lost events are also sent as spans, and the exit status says that events were lost.
losses(Config) ->
    {ok, Bin} = file:read_file(?config(log, Config)),
    Half = byte_size(Bin) div 2,
    <<Begin:Half/binary, _/binary>> = Bin,
    Log = ?LIB:name(Config, "cut.log"),
    ok = file:write_file(Log, Begin),
    C = ?COLLECTOR:start([]),
    {7, _} = export([], ["--otlp", ?COLLECTOR:url(C), Log]),
    Spans = received(C),
    Spans = merged([Log], []),
    [_ | _] = [S || #{<<"name">> := <<"lost events">>} = S <- Spans],
    ?COLLECTOR:stop(C).

usage(Config) ->
    Log = ?config(log, Config),
    [begin
         {2, Said} = export([], Args),
         says(Said, Text)
     end || {Args, Text} <-
                [{[Log], "no collector is named"},
                 {["--otlp", "http://127.0.0.1:1"], "no LOG is named"},
                 {["--otlp", "127.0.0.1:4318", Log], "must be like http://localhost:4318"},
                 {["--otlp", "file:///etc/passwd", Log], "must be like"},
                 {["--otlp", "http://127.0.0.1:1", "--header", "x", Log], "KEY=VALUE"},
                 {["--otlp", "http://127.0.0.1:1", "--header", "x=a\r\ny: b", Log], "KEY=VALUE"},
                 {["--otlp", "http://127.0.0.1:1", "--compression", "zstd", Log], "gzip or none"},
                 {["--otlp", "http://127.0.0.1:1", "--timeout", "0", Log], "--timeout"},
                 {["--otlp", "http://127.0.0.1:1", "--redact", "(", Log], "--redact"}]],
    {1, Said} = export([], ["--otlp", "http://127.0.0.1:1", "nowhere.log"]),
    says(Said, "nowhere.log"),
    {0, Help} = export([], ["--help"]),
    says(Help, "Examples:").
