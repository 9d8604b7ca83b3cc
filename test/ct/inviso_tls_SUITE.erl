%% SPDX-License-Identifier: Apache-2.0
%% Nodes that use TLS distribution. Each test run makes its own CA.
-module(inviso_tls_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([versions/1, ktls/1, optfile/1, client_certificate/1, wrong_certificates/1,
         plain_or_tls/1, not_nodes/1, record/1, forwarded/1, service/1,
         unusable_files/1, broken_in_a_session/1, node_dies_in_a_session/1,
         key_replaced_in_a_session/1, killed_in_the_handshake/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

all() ->
    [versions, ktls, optfile, client_certificate, wrong_certificates, plain_or_tls,
     not_nodes, record, forwarded, service, unusable_files,
     broken_in_a_session, node_dies_in_a_session, key_replaced_in_a_session,
     killed_in_the_handshake].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case {?LIB:has("openssl"), code:which(inet_tls_dist)} of
        {false, _} -> {skip, "NO TLS NODE WAS TRIED: no openssl"};
        {_, non_existing} -> {skip, "NO TLS NODE WAS TRIED: no erlang-ssl"};
        _ -> with_base(?LIB:base(), Config)
    end.

with_base({ok, Base}, Config) ->
    Certs = filename:join(Base, "certs"),
    ok = file:make_dir(Certs),
    _ = [ca(Certs, Name) || Name <- ["ca", "other"]],
    cert(Certs, "node", "IP:127.0.0.1", "ca", "2"),
    cert(Certs, "client", "DNS:client", "ca", "2"),
    cert(Certs, "elsewhere", "DNS:elsewhere", "ca", "2"),
    cert(Certs, "forged", "IP:127.0.0.1", "other", "2"),
    cert(Certs, "expired", "IP:127.0.0.1", "ca", "0"),
    %% The nodes run as another user, who must be able to read the files.
    _ = os:cmd("chmod 755 " ++ Certs ++ "; chmod 644 " ++ Certs ++ "/*"),
    [{base, Base}, {certs, Certs} | Config];
with_base({skip, _} = Skip, _) ->
    Skip.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

%% --- certificates -----------------------------------------------------------

ca(Dir, Name) ->
    openssl(Dir, "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            " -days 2 -subj /CN=~s -keyout ~s.key -out ~s.pem",
            [Name, Name, Name]).

%% Makes a certificate for a host, valid for some days from now on.
cert(Dir, Name, Host, Ca, Days) ->
    ok = file:write_file(filename:join(Dir, Name ++ ".ext"),
                         "subjectAltName=" ++ Host ++ "\n"),
    openssl(Dir, "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            " -subj /CN=~s -keyout ~s.key -out ~s.csr", [Name, Name, Name]),
    openssl(Dir, "x509 -req -in ~s.csr -CA ~s.pem -CAkey ~s.key"
            " -CAcreateserial -days ~s -extfile ~s.ext -out ~s.pem",
            [Name, Ca, Ca, Days, Name, Name]).

openssl(Dir, Text, Args) ->
    Command = lists:flatten(io_lib:format(Text, Args)),
    case os:cmd("cd " ++ Dir ++ " && openssl " ++ Command ++
                    " >openssl.log 2>&1 && echo done") of
        "done\n" -> ok;
        _ -> error({openssl, Command,
                    file:read_file(filename:join(Dir, "openssl.log"))})
    end.

pem(Config, Name) ->
    filename:join(?config(certs, Config), Name).

%% --- nodes ------------------------------------------------------------------

%% Writes an ssl_dist_optfile and returns its path.
optfile(Config, Server, Client) ->
    Name = "opts" ++ integer_to_list(erlang:unique_integer([positive])),
    Path = pem(Config, Name),
    ok = file:write_file(Path, io_lib:format("%% for TLS distribution~n~p.~n",
                                             [[{server, Server},
                                               {client, Client}]])),
    ok = file:change_mode(Path, 8#644),
    Path.

files(Config, Name) ->
    [{certfile, pem(Config, Name ++ ".pem")},
     {keyfile, pem(Config, Name ++ ".key")},
     {cacertfile, pem(Config, "ca.pem")}].

%% Starts a node with this certificate and further server options.
tls_node(Config, Cert, More) ->
    tls_node(Config, Cert, More, #{}).

tls_node(Config, Cert, More, Opts) ->
    File = optfile(Config, files(Config, Cert) ++ More, []),
    Args = ["-proto_dist", "inet_tls", "-ssl_dist_optfile", File |
            maps:get(args, Opts, [])],
    a_node(Config, Opts#{args => Args}).

a_node(Config, Opts) ->
    Node = ?NODE:start(?config(base, Config),
                       maps:merge(#{uid => ?LIB:some_uid(),
                                    name => "n@127.0.0.1"}, Opts)),
    _ = ?NODE:workload(Node, {worker, 20}),
    Node.

verify() -> [{verify, verify_peer}, {fail_if_no_peer_cert, true}].

%% --- the command ------------------------------------------------------------

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

with_ca(Config) -> ["--tls-ca", pem(Config, "ca.pem")].

with_cert(Config, Name) ->
    ["--tls-cert", pem(Config, Name ++ ".pem"),
     "--tls-key", pem(Config, Name ++ ".key")].

%% Traces the node, and checks that the command leaves nothing on it. The node itself also starts
%% processes: with each connection, it replaces the process that accepts connections, and with the
%% first connection it starts registered processes.
traces(Config, #{name := Name} = Node, Args) ->
    #{status := 0} =
        ?LIB:run(opts(Config, Node), ["status", "-n", Name | Args]),
    %% The code of the earlier command stays loaded for 3 seconds.
    ?LIB:until(fun() -> undefined =:= ?NODE:call(Node, erlang, whereis,
                                                 [inviso_loading]) end),
    Before = inviso_footprint:of_node(Node),
    #{status := 0, out := Out, err := Err} =
        ?LIB:run(opts(Config, Node), ["trace", "-n", Name | Args] ++
                     ["--events", "4", "--json", "lists:seq/2"]),
    4 = length(?LIB:json(Out)),
    clean(Before, Node, 60),
    Err.

clean(Before, Node, Tries) ->
    Left = inviso_footprint:left(Before, Node, 0),
    case is_clean(Left) of
        true -> ok;
        false when Tries =:= 0 -> ct:fail({left, Left});
        false -> timer:sleep(500), clean(Before, Node, Tries - 1)
    end.

is_clean([{processes, Ended, New} | Left]) when length(Ended) >= length(New) ->
    is_clean(Left);
is_clean(Left) ->
    Left =:= [].

fails(Config, #{name := Name} = Node, Status, Args, Words) ->
    #{status := Status, out := <<>>, err := Err} =
        ?LIB:run(opts(Config, Node),
                 ["status", "--timeout", "30s", "-n", Name | Args]),
    says(Err, Words).

says(Err, Words) ->
    _ = [case string:find(Err, Word) of
             nomatch -> ct:fail("~s is not in: ~s", [Word, Err]);
             _ -> ok
         end || Word <- Words],
    ok.

%% --- cases ------------------------------------------------------------------

versions(Config) ->
    [begin
         Node = tls_node(Config, "node", [{versions, [V]}]),
         _ = traces(Config, Node, with_ca(Config)),
         fails(Config, Node, 4, ["-c", "wrong" | with_ca(Config)],
               ["another cookie"])
     end || V <- ['tlsv1.2', 'tlsv1.3']],
    Node = tls_node(Config, "node", [{versions, ['tlsv1.3']}]),
    Only12 = optfile(Config, [], [{versions, ['tlsv1.2']} |
                                  files(Config, "client")]),
    fails(Config, Node, 4, ["--tls-optfile", Only12],
          ["another version of TLS"]).

%% In this case the kernel, not the VM, encrypts and decrypts the node's data (from OTP 26 on).
ktls(Config) ->
    case no_ktls() of
        none ->
            Ktls = [{ktls, true}, {versions, ['tlsv1.3']},
                    {ciphers, ["TLS_AES_256_GCM_SHA384"]}],
            Node = tls_node(Config, "node", Ktls),
            _ = traces(Config, Node, with_ca(Config)),
            ok;
        Why ->
            {skip, "NO KTLS WAS TRIED: " ++ Why}
    end.

%% TCP_ULP is option 31 of level 6, IPPROTO_TCP.
no_ktls() ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
    _ = inet:setopts(S, [{raw, 6, 31, <<"tls">>}]),
    Ulp = inet:getopts(S, [{raw, 6, 31, 16}]),
    _ = [gen_tcp:close(Socket) || Socket <- [S, L]],
    case {erlang:system_info(otp_release) >= "26", Ulp} of
        {false, _} -> "OTP has it from 26 on";
        {true, {ok, [{raw, 6, 31, <<"tls", _/binary>>}]}} -> none;
        {true, _} -> "the kernel has no TLS"
    end.

optfile(Config) ->
    Node = tls_node(Config, "node", verify()),
    File = optfile(Config, [], [{verify, verify_peer},
                                {secure_renegotiate, true} |
                                files(Config, "client")]),
    Quiet = traces(Config, Node, ["--tls-optfile", File]),
    nomatch = string:find(Quiet, "warning"),
    %% OTP 25 does not check certificates by default.
    Unchecked = optfile(Config, [], files(Config, "client")),
    says(traces(Config, Node, ["--tls-optfile", Unchecked]),
         ["warning", "certificates of nodes are not checked",
          "--tls-no-verify"]),
    Said = traces(Config, Node, ["--tls-optfile", Unchecked,
                                 "--tls-no-verify"]),
    nomatch = string:find(Said, "warning"),
    Forged = tls_node(Config, "forged", []),
    fails(Config, Forged, 4, ["--tls-optfile", File], ["no CA in"]),
    Unknown = optfile(Config, [], [{verify_fun, {m, f, []}}]),
    fails(Config, Node, 1, ["--tls-optfile", Unknown],
          [Unknown, "verify_fun is not supported"]).

%% The node also checks the certificate of the command.
client_certificate(Config) ->
    [begin
         Node = tls_node(Config, "node", [{versions, [V]} | verify()]),
         Ca = with_ca(Config),
         _ = traces(Config, Node, with_cert(Config, "client") ++ Ca),
         fails(Config, Node, 4, Ca, ["--tls-cert"]),
         fails(Config, Node, 4, with_cert(Config, "forged") ++ Ca,
               ["the node refuses the certificate of --tls-cert"]),
         fails(Config, Node, 4, with_cert(Config, "expired") ++ Ca,
               ["the node refuses the certificate of --tls-cert"])
     end || V <- ['tlsv1.2', 'tlsv1.3']],
    ok.

wrong_certificates(Config) ->
    Ca = with_ca(Config),
    [begin
         Node = tls_node(Config, Cert, []),
         fails(Config, Node, 4, Args, Words),
         _ = traces(Config, Node, ["--tls-no-verify"])
     end || {Cert, Args, Words} <-
                [{"expired", Ca, ["expired"]},
                 {"elsewhere", Ca, ["another host than '127.0.0.1'"]},
                 {"forged", Ca, ["no CA in " ++ pem(Config, "ca.pem")]},
                 {"node", with_cert(Config, "client"),
                  ["no CA of this machine", "--tls-ca"]}]],
    ok.

%% One command connects to a node with TLS and to one without. If an option does not fit a node, the
%% error names the right option.
plain_or_tls(Config) ->
    #{name := Name} = Tls = tls_node(Config, "node", []),
    #{name := PlainName} = Plain =
        a_node(Config, #{cookie => maps:get(cookie, Tls)}),
    fails(Config, Tls, 3, [], ["speaks TLS", "--tls-optfile"]),
    fails(Config, Plain, 3, with_ca(Config), ["--tls-", "--plain"]),
    #{status := 0, out := Out} =
        ?LIB:run(opts(Config, Tls),
                 ["status", "-n", Name ++ "," ++ PlainName, "--plain",
                  PlainName | with_ca(Config)]),
    [_, _] = ?LIB:lines(Out),
    %% With -n all, the command must first connect to learn the names of the nodes. Only then it
    %% notices that none of them has the name that --plain gives.
    #{status := 2, err := Err} =
        ?LIB:run(opts(Config, Tls),
                 ["status", "-n", Name, "-n", "all", "--plain", "x@127.0.0.1" |
                  with_ca(Config)]),
    says(Err, ["--plain x@127.0.0.1: none of the nodes"]).

%% These programs speak TLS wrongly, or end during the handshake. The command does not wait longer
%% than its time limit, and does not rely on the lengths that the programs send.
not_nodes(Config) ->
    {ok, _} = application:ensure_all_started(ssl),
    Hello = fun(S) -> {ok, _} = gen_tcp:recv(S, 1) end,
    Silent = fun(S) -> Hello(S), receive after infinity -> ok end end,
    Bytes = fun(Text) -> fun(S) -> Hello(S), gen_tcp:send(S, Text),
                                   Silent(S) end end,
    Tls = fun(Text) -> fun(S) -> sends_in_tls(Config, S, Text) end end,
    _ = [not_a_node(Config, Program, Args, Words)
         || {Program, Args, Words} <-
                [{Hello, [], ["closed the connection during the handshake"]},
                 {fun without_tls/1, [], ["closed the connection", "--plain"]},
                 {Silent, ["--timeout", "1s"], ["does not answer in TLS"]},
                 {Bytes("HTTP/1.0 400 Bad Request\r\n\r\n"), [],
                  ["does not speak TLS", "--plain"]},
                 {Bytes(<<22, 3, 3, 0, 4, 2, 255, 255, 255>>), [], ["TLS: "]},
                 {Tls(<<16#ffffffff:32, 1000000:8000>>), [],
                  ["is not an Erlang node"]},
                 {Tls(<<65536:32>>), [], ["is not an Erlang node"]},
                 {Tls(<<65535:32>>), ["--timeout", "1s"],
                  ["does not answer in time"]}]],
    ok.

%% Reads the bytes as a node without TLS would: a length of two bytes, and then as many bytes as the
%% length says. These bytes are no handshake, so such a node would close the connection.
without_tls(S) ->
    {ok, <<Length:16>>} = gen_tcp:recv(S, 2),
    {ok, _} = gen_tcp:recv(S, Length).

sends_in_tls(Config, Socket, Text) ->
    ok = inet:setopts(Socket, [{active, false}]),
    {ok, S} = ssl:handshake(Socket, files(Config, "node")),
    ok = ssl:send(S, Text),
    receive after infinity -> ok end.

%% Runs Program once for each connection. The connection is closed when Program ends.
not_a_node(Config, Program, Args, Words) ->
    {ok, L} = gen_tcp:listen(0, [binary, {active, false},
                                 {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    Pid = spawn(fun() -> serve(L, Program) end),
    Node = #{name => "n@127.0.0.1", cookie => "c", uid => ?LIB:some_uid()},
    try
        fails(Config, Node, 3,
              ["--at", "127.0.0.1:" ++ integer_to_list(Port) |
               with_ca(Config) ++ Args], Words)
    after
        exit(Pid, kill),
        gen_tcp:close(L)
    end.

serve(L, Program) ->
    {ok, S} = gen_tcp:accept(L),
    Pid = spawn_link(fun() -> receive go -> Program(S) end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    serve(L, Program).

%% A recording is fetched through TLS, in large messages. The path of the CA's file has a space, so
%% the printed command must have quotes around the path.
record(Config) ->
    #{name := Name} = Node = tls_node(Config, "node", []),
    Opts = opts(Config, Node),
    {ok, _} = file:copy(pem(Config, "ca.pem"), pem(Config, "the ca.pem")),
    Ca = ["--tls-ca", pem(Config, "the ca.pem")],
    #{status := 0, out := Out} =
        ?LIB:run(Opts, ["record", "-n", Name, "--for", "60s", "--detach",
                        "--name", "far", "send", "receive", "running" | Ca]),
    says(Out, ["next: inviso fetch -n " ++ Name ++ " --tls-ca '" ++
                   pem(Config, "the ca.pem") ++ "' far"]),
    _ = ?NODE:eval(Node, "[self() ! lists:seq(1, 100) || "
                   "_ <- lists:seq(1, 20000)], ok."),
    #{status := 0, out := Fetched} =
        ?LIB:run(Opts, ["fetch", "--stop", "-n", Name, "far", "-o", "o" | Ca]),
    {match, _} = re:run(Fetched, "[0-9]{5,} events recorded, 0 lost").

%% The node has no epmd, and is reached through a forwarded port. This machine does not know the
%% node's host name.
forwarded(Config) ->
    cert(?config(certs, Config), "far", "DNS:no-such-host.invalid", "ca", "2"),
    _ = os:cmd("chmod 644 " ++ pem(Config, "far.*")),
    [Port, Forwarded] = [inviso_forward:free_port() || _ <- [1, 2]],
    Node = tls_node(Config, "far", [],
                    #{name => "n@no-such-host.invalid",
                      args => ["-start_epmd", "false", "-erl_epmd_port",
                               integer_to_list(Port)]}),
    _ = traces(Config, Node, at(Port) ++ with_ca(Config)),
    fails(Config, Node, 3, at(Port), ["speaks TLS"]),
    case inviso_forward:why_not() of
        none ->
            _ = inviso_forward:start(Forwarded, Port),
            _ = traces(Config, Node, at(Forwarded) ++ with_ca(Config)),
            ok;
        Why ->
            {comment, "no forwarded port was tried: " ++ Why}
    end.

%% --- sessions that are disturbed ---------------------------------------------

%% Starts a node that listens at a port that the test chooses.
node_at_port(Config, Cert) ->
    Port = inviso_forward:free_port(),
    {tls_node(Config, Cert, [],
              #{args => ["-start_epmd", "false", "-erl_epmd_port",
                         integer_to_list(Port)]}), Port}.

%% Starts a process that passes bytes on between the command and the node. Returns the process, and
%% the port for the command. After N pieces from the node, the process passes on nothing more from
%% the node, and sends the caller {held, Pid}. When the process gets a message {send, Bytes}, it
%% sends these bytes to the command.
relay(To, N) ->
    Test = self(),
    {ok, L} = gen_tcp:listen(0, [binary, {active, false},
                                 {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    Pid = spawn_link(
            fun() ->
                    receive go -> ok end,
                    {ok, S} = gen_tcp:accept(L),
                    {ok, T} = gen_tcp:connect({127, 0, 0, 1}, To,
                                              [binary, {active, true}]),
                    ok = inet:setopts(S, [{active, true}]),
                    pass(Test, S, T, N)
            end),
    ok = gen_tcp:controlling_process(L, Pid),
    Pid ! go,
    {Pid, Port}.

%% S is the command's socket, and T is the node's socket. The process ends when either of the
%% sockets is closed.
pass(Test, S, T, N) ->
    receive
        {tcp, S, Bytes} ->
            _ = gen_tcp:send(T, Bytes),
            pass(Test, S, T, N);
        {tcp, T, _} when N =:= 0 ->
            Test ! {held, self()},
            pass(Test, S, T, held);
        {tcp, T, _} when N =:= held ->
            pass(Test, S, T, held);
        {tcp, T, Bytes} ->
            _ = gen_tcp:send(S, Bytes),
            pass(Test, S, T, N - 1);
        {send, Bytes} ->
            _ = gen_tcp:send(S, Bytes),
            pass(Test, S, T, N);
        {tcp_closed, _} ->
            ok
    end.

at(Port) -> ["--at", "127.0.0.1:" ++ integer_to_list(Port)].

%% Starts `inviso trace', and waits until it traces.
tracing(Config, #{name := Name} = Node, Args) ->
    Command = ?LIB:start(opts(Config, Node),
                         ["trace", "-n", Name, "--for", "10m", "--events",
                          "1000000", "lists:seq/2" | Args], 120000),
    ?LIB:until(fun() -> ?LIB:lines(?LIB:out(Command)) =/= [] end),
    Command.

%% During a session, the command receives bytes that are not TLS.
broken_in_a_session(Config) ->
    {Node, Port} = node_at_port(Config, "node"),
    {Relay, Listen} = relay(Port, 1000000000),
    Command = tracing(Config, Node, at(Listen) ++ with_ca(Config)),
    Relay ! {send, <<23, 3, 3, 32:16, 0:256>>},
    #{status := 3, err := Err} = ?LIB:wait(Command, 120000),
    says(Err, ["the connection was lost: TLS: "]),
    nomatch = string:find(Err, "Protocol error").

node_dies_in_a_session(Config) ->
    #{name := Name} = Node = tls_node(Config, "node", []),
    Command = tracing(Config, Node, with_ca(Config)),
    ?NODE:stop(Node),
    #{status := 3, err := Err} = ?LIB:wait(Command, 120000),
    %% If the node had not read all requests, the kernel resets the connection. So the error has one
    %% of two texts.
    says(Err, [Name ++ ": the ", "connection"]).

%% A running session does not read the files for TLS again. They are read when a command starts, and
%% when a node accepts a connection.
key_replaced_in_a_session(Config) ->
    [cert(?config(certs, Config), Name, Host, "ca", "2")
     || {Name, Host} <- [{"new", "IP:127.0.0.1"}, {"mine", "DNS:mine"}]],
    Files = [pem(Config, Name ++ Type) || Name <- ["new", "mine"],
                                          Type <- [".pem", ".key"]],
    [ok = file:change_mode(File, 8#644) || File <- Files],
    Node = tls_node(Config, "new", verify()),
    Args = with_ca(Config) ++ with_cert(Config, "mine"),
    Command = tracing(Config, Node, Args),
    Before = length(?LIB:lines(?LIB:out(Command))),
    [ok = file:write_file(File, "no key") || File <- Files],
    fails(Config, Node, 1, Args, ["mine.pem"]),
    ?LIB:until(fun() -> length(?LIB:lines(?LIB:out(Command))) > Before end),
    ?LIB:signal(Command, "INT"),
    #{status := Status} = ?LIB:wait(Command, 120000),
    true = lists:member(Status, [0, 7]).

%% The node has answered, but the command is killed before it gets the answer. This is tested during
%% the TLS handshake, and during the handshake of the node, which follows it.
killed_in_the_handshake(Config) ->
    {#{name := Name} = Node, Port} = node_at_port(Config, "node"),
    _ = traces(Config, Node, at(Port) ++ with_ca(Config)),
    Before = inviso_footprint:of_node(Node),
    [begin
         {Relay, Listen} = relay(Port, N),
         Command = ?LIB:start(opts(Config, Node),
                              ["trace", "-n", Name, "lists:seq/2" |
                               at(Listen) ++ with_ca(Config)], 120000),
         receive {held, Relay} -> ok end,
         ?LIB:signal(Command, "KILL"),
         #{status := _} = ?LIB:wait(Command, 120000)
     end || N <- [0, 1, 2]],
    %% The node's output may differ, because the node logs handshakes that failed.
    ?LIB:until(fun() ->
                       But = Before#{said := ?NODE:said(Node)},
                       is_clean(inviso_footprint:left(But, Node, 0))
               end),
    ok.

%% With --dns, a certificate must be for the host name that the user typed.
service(Config) ->
    cert(?config(certs, Config), "svc", "DNS:localhost", "ca", "2"),
    _ = os:cmd("chmod 644 " ++ pem(Config, "svc.*")),
    [begin
         {#{name := Name} = Node, Port} = node_at_port(Config, Cert),
         Colon = ":" ++ integer_to_list(Port),
         #{status := 0, out := Out} =
             ?LIB:run(opts(Config, Node), ["status", "--dns", Good ++ Colon |
                                           with_ca(Config)]),
         says(Out, [Name]),
         #{status := 4, err := Err} =
             ?LIB:run(opts(Config, Node), ["status", "--dns", Bad ++ Colon |
                                           with_ca(Config)]),
         says(Err, ["another host than '" ++ Bad ++ "'", "--dns"])
     end || {Cert, Good, Bad} <- [{"svc", "localhost", "127.0.0.1"},
                                  {"node", "127.0.0.1", "localhost"}]],
    ok.

unusable_files(Config) ->
    Node = tls_node(Config, "node", []),
    fails(Config, Node, 1, ["--tls-ca", "nosuch"], ["nosuch: No such file"]),
    fails(Config, Node, 1, ["--tls-cert", pem(Config, "ca.key")],
          ["ca.key"]),
    fails(Config, Node, 1,
          ["--tls-cert", pem(Config, "client.pem"),
           "--tls-key", pem(Config, "node.key")], ["node.key"]),
    fails(Config, Node, 1, ["--tls-optfile", "nosuch"], ["nosuch"]).
