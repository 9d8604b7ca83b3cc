%% SPDX-License-Identifier: Apache-2.0
%% @doc A collector of OpenTelemetry for tests: takes requests over HTTP, decodes
%% them, and answers as the test says.
-module(inviso_otlp_collector).

-export([start/1, start/2, stop/1, url/1, requests/1, spans/1]).

-export_type([answer/0]).

%% How the collector answers a request: with a status, headers and body. `silent': it does not
%% answer, and waits until the client closes the connection. `close': it closes the connection.
-type answer() :: {100..599, [{string(), string()}], iodata()} | silent | close.

%% @doc Starts a collector. It answers the N-th request with the N-th answer, and further requests
%% with success.
-spec start([answer()]) -> map().
start(Answers) ->
    start(Answers, []).

%% @doc Starts a collector. If the list Tls is not empty, the collector uses TLS with these options
%% of the application ssl.
-spec start([answer()], [tuple()]) -> map().
start(Answers, Tls) ->
    Self = self(),
    {Pid, _} = spawn_monitor(
                 fun() ->
                         {Module, Listen} = listen(Tls),
                         {ok, {_, Port}} = sockname(Module, Listen),
                         Keeper = self(),
                         spawn_link(fun() -> accept(Module, Listen, Keeper) end),
                         Self ! {self(), Port},
                         keep(Answers, [])
                 end),
    receive
        {Pid, Port} -> #{pid => Pid, port => Port, scheme => scheme(Tls)};
        {'DOWN', _, process, Pid, Why} -> error({collector, Why})
    end.

scheme([]) -> "http";
scheme(_) -> "https".

-spec stop(map()) -> ok.
stop(#{pid := Pid}) ->
    exit(Pid, kill),
    receive {'DOWN', _, process, Pid, _} -> ok end.

-spec url(map()) -> string().
url(#{port := Port, scheme := Scheme}) ->
    Scheme ++ "://127.0.0.1:" ++ integer_to_list(Port).

%% @doc Returns the requests that the collector has received so far, in their order.
-spec requests(map()) -> [map()].
requests(#{pid := Pid}) ->
    Ref = make_ref(),
    Pid ! {requests, self(), Ref},
    receive {Ref, Requests} -> Requests end.

%% Answers requests, and remembers them.
keep(Answers, Requests) ->
    receive
        {request, From, Request} ->
            {Answer, More} = case Answers of
                                 [A | Rest] -> {A, Rest};
                                 [] -> {{200, [], <<>>}, []}
                             end,
            From ! {answer, Answer},
            keep(More, [Request#{answer => Answer} | Requests]);
        {requests, From, Ref} ->
            From ! {Ref, lists:reverse(Requests)},
            keep(Answers, Requests)
    end.

%%---------------------------------------------------------------------------
%% HTTP

listen([]) ->
    {ok, L} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                 {packet, http_bin}, {reuseaddr, true}]),
    {gen_tcp, L};
listen(Tls) ->
    {ok, _} = application:ensure_all_started(ssl),
    {ok, L} = ssl:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false},
                             {packet, http_bin}, {reuseaddr, true} | Tls]),
    {ssl, L}.

sockname(gen_tcp, L) -> inet:sockname(L);
sockname(ssl, L) -> ssl:sockname(L).

accept(gen_tcp, L, Keeper) ->
    {ok, S} = gen_tcp:accept(L),
    Pid = spawn(fun() -> receive go -> serve(gen_tcp, S, Keeper) end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    accept(gen_tcp, L, Keeper);
accept(ssl, L, Keeper) ->
    {ok, T} = ssl:transport_accept(L),
    Pid = spawn(fun() -> receive go -> handshake(T, Keeper) end end),
    ok = ssl:controlling_process(T, Pid),
    Pid ! go,
    accept(ssl, L, Keeper).

handshake(T, Keeper) ->
    case ssl:handshake(T, 10000) of
        {ok, S} -> serve(ssl, S, Keeper);
        {error, _} -> ok
    end.

setopts(gen_tcp, S, Opts) -> inet:setopts(S, Opts);
setopts(ssl, S, Opts) -> ssl:setopts(S, Opts).

%% Serves the requests of a connection.
serve(M, S, Keeper) ->
    ok = setopts(M, S, [{packet, http_bin}]),
    case M:recv(S, 0) of
        {ok, {http_request, Method, {abs_path, Path}, _}} ->
            Headers = headers(M, S, #{}),
            Len = binary_to_integer(maps:get(<<"content-length">>, Headers)),
            ok = setopts(M, S, [{packet, raw}]),
            {ok, Body} = M:recv(S, Len),
            Request = #{method => Method, path => Path, headers => Headers, size => Len,
                        body => unpacked(Headers, Body), connection => self(),
                        ms => erlang:monotonic_time(millisecond)},
            Keeper ! {request, self(), Request},
            receive {answer, Answer} -> answer(M, S, Keeper, Answer) end;
        {error, _} ->
            ok
    end.

headers(M, S, Headers) ->
    case M:recv(S, 0) of
        {ok, {http_header, _, Name, _, Value}} ->
            headers(M, S, Headers#{string:lowercase(to_binary(Name)) => Value});
        {ok, http_eoh} ->
            Headers
    end.

to_binary(A) when is_atom(A) -> atom_to_binary(A);
to_binary(B) -> B.

unpacked(#{<<"content-encoding">> := <<"gzip">>}, Body) -> zlib:gunzip(Body);
unpacked(_, Body) -> Body.

answer(M, S, _, close) ->
    M:close(S);
answer(M, S, _, silent) ->
    M:recv(S, 0);
answer(M, S, Keeper, {Status, Headers, Body}) ->
    Type = case lists:keymember("Content-Type", 1, Headers) of
               true -> [];
               false -> "Content-Type: application/x-protobuf\r\n"
           end,
    ok = M:send(S, ["HTTP/1.1 ", integer_to_list(Status), " Reason\r\n", Type,
                    [[K, ": ", V, "\r\n"] || {K, V} <- Headers], "Content-Length: ",
                    integer_to_list(iolist_size(Body)), "\r\n\r\n", Body]),
    serve(M, S, Keeper).

%%---------------------------------------------------------------------------
%% Spans

%% @doc Decodes the body of a request, an ExportTraceServiceRequest. Returns each span as a map with
%% the keys of OTLP's JSON, and with the attributes of the span's resource.
-spec spans(binary()) -> [map()].
spans(Body) ->
    [span(S, attributes(1, inviso_proto:fields(inviso_proto:one(1, Resource))))
     || {1, R} <- inviso_proto:fields(Body),
        Resource <- [inviso_proto:fields(R)],
        Scope <- inviso_proto:all(2, Resource),
        S <- inviso_proto:all(2, inviso_proto:fields(Scope))].

span(Bin, Resource) ->
    F = inviso_proto:fields(Bin),
    Status = inviso_proto:fields(inviso_proto:one(15, F, <<>>)),
    #{<<"traceId">> => hex(inviso_proto:one(1, F)),
      <<"spanId">> => hex(inviso_proto:one(2, F)),
      <<"parentSpanId">> => hex(inviso_proto:one(4, F, <<>>)),
      <<"name">> => inviso_proto:one(5, F),
      <<"kind">> => inviso_proto:one(6, F),
      <<"startTimeUnixNano">> => integer_to_binary(inviso_proto:one(7, F)),
      <<"endTimeUnixNano">> => integer_to_binary(inviso_proto:one(8, F)),
      <<"attributes">> => attributes(9, F),
      <<"links">> => [{hex(inviso_proto:one(1, L)), hex(inviso_proto:one(2, L))}
                      || B <- inviso_proto:all(13, F), L <- [inviso_proto:fields(B)]],
      <<"status">> => {inviso_proto:one(3, Status, 0), inviso_proto:one(2, Status, <<>>)},
      resource => Resource}.

attributes(Field, F) ->
    [{inviso_proto:one(1, P), value(inviso_proto:fields(inviso_proto:one(2, P)))}
     || B <- inviso_proto:all(Field, F), P <- [inviso_proto:fields(B)]].

value([{1, Text}]) -> Text;
value([{2, N}]) -> N =:= 1;
value([{3, N}]) when N >= 1 bsl 63 -> N - (1 bsl 64);
value([{3, N}]) -> N.

hex(Bin) ->
    << <<(hd(integer_to_list(N, 16)) bor 16#20)>> || <<N:4>> <= Bin >>.
