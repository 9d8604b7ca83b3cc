%% SPDX-License-Identifier: Apache-2.0
%% The command as users run it, on nodes without inviso: events on standard
%% output, messages on standard error, and an exit status.
-module(inviso_command_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([calls_with_returns/1, forms_of_calls/1, forms_of_messages/1,
         counters/1, which_processes/1, nothing_matches/1, nothing_happens/1, usage/1, help/1,
         unreachable/1, no_node_answers/1, slow_survey/1, tls_node/1,
         one_of_two/1,
         cookies/1, wrong_cookie/1, foreign_tracer/1, two_operators/1,
         several_nodes_in_order/1, why_several_stop/1, all_nodes/1, stays_hidden/1,
         dry_run/1, directories/1, small_buffer/1, long_terms/1,
         large_terms/1, quiet/1,
         filter_of_exits/1, filter_of_a_recording/1, names_at_once/1,
         status_for_people/1, output_is_lost/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

all() ->
    [calls_with_returns, forms_of_calls, forms_of_messages, counters,
     which_processes, nothing_matches, nothing_happens, usage, help,
     unreachable, no_node_answers, slow_survey, tls_node, one_of_two,
     cookies, wrong_cookie, foreign_tracer, two_operators,
     several_nodes_in_order, why_several_stop, all_nodes, stays_hidden, dry_run, directories,
     small_buffer, long_terms, large_terms, filter_of_exits,
     filter_of_a_recording, names_at_once, quiet,
     status_for_people, output_is_lost].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    case ?LIB:base() of
        {ok, Base} -> [{base, Base} | Config];
        {skip, _} = Skip -> Skip
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

a_node(Config) ->
    a_node(Config, #{}).

a_node(Config, Opts) ->
    Node = ?NODE:start(?config(base, Config),
                       maps:merge(#{uid => ?LIB:some_uid()}, Opts)),
    _ = ?NODE:workload(Node, {worker, 5}),
    Node.

opts(Config, #{cookie := Cookie, uid := Uid}) ->
    #{base => ?config(base, Config), cookie => Cookie, uid => Uid}.

run(Config, Node, [Command | Args]) ->
    ?LIB:run(opts(Config, Node),
             [Command, "-n", maps:get(name, Node) | Args]).

trace(Config, Node, Args) ->
    run(Config, Node, ["trace", "--for", "20s" | Args]).

%% Runs a trace with --json. Returns the events and the summary.
events(Config, Node, Args) ->
    #{status := 0, out := Out, err := Err} =
        trace(Config, Node, ["--json" | Args]),
    {?LIB:json(Out), facts(Err)}.

facts(Err) ->
    [Facts] = [inviso_trace_json:decode(L)
               || <<"{", _/binary>> = L <- ?LIB:lines(Err)],
    Facts.

tags(Events) ->
    lists:usort([T || #{<<"tag">> := T} <- Events]).

says(Text, Words) ->
    case [W || W <- Words, re:run(Text, W, [caseless]) =:= nomatch] of
        [] -> ok;
        Missing -> error({does_not_say, Missing, Text})
    end.

%% Checks that the output contains neither internal terms nor Secrets, such as
%% the cookie.
decent(#{out := Out, err := Err}, Secrets) ->
    [error({says, S, Out, Err})
     || S <- ["badrpc", "badmatch", "function_clause", "undef", "EXIT",
              "#Fun", "Segmentation" | Secrets],
        T <- [Out, Err], binary:match(T, list_to_binary(S)) =/= nomatch].

calls_with_returns(Config) ->
    Node = a_node(Config),
    #{status := 0, out := Out} =
        trace(Config, Node, ["--events", "10", "lists:seq/2"]),
    says(Out, ["call lists:seq\\([0-9]+,[0-9]+\\)",
               "return lists:seq/2 -> .* us\\)", "-- 10 shown"]),
    {Events, #{<<"shown">> := 10, <<"lost">> := 0}} =
        events(Config, Node, ["--events", "10", "lists:seq/2"]),
    10 = length(Events),
    [<<"call">>, <<"return_from">>] = tags(Events).

%% A process without a registered name is shown with its name from its first event on. The command
%% asks the node for the name only after this event, and shows the event when it has the name. The
%% first events of the processes are spread over a second, so that the command has to ask several
%% times.
names_at_once(Config) ->
    Node = a_node(Config),
    ok = ?NODE:eval(Node,
                    "Work = fun(N) -> fun(K) ->"
                    " Ms = case K of 1 -> 20 * N; _ -> 1000 end,"
                    " receive after Ms -> lists:sum([1, 2]) end end end,"
                    " [proc_lib:spawn(lists, foreach,"
                    "                 [Work(N), lists:seq(1, 300)])"
                    "  || N <- lists:seq(1, 50)], ok."),
    all_named(Config, Node, 5).

%% The command waits for a name only a short time. On a busy machine a name may arrive too late;
%% then the test tries again.
all_named(Config, Node, Tries) ->
    {Events, _} = events(Config, Node, ["--events", "100", "lists:sum/1"]),
    100 = length(Events),
    Names = [N || #{<<"process">> := #{<<"name">> := N}} <- Events],
    case lists:usort(Names) of
        [<<"lists:foreach/2">>] -> ok;
        _ when Tries > 1 -> all_named(Config, Node, Tries - 1)
    end.

forms_of_calls(Config) ->
    Node = a_node(Config),
    [form(Config, Node, Form) || Form <- forms()].

%% Returns {Spec, Regex, Tags} for each form of spec. The payload or the return value of every event
%% must match Regex. Tags are the tags of all events.
forms() ->
    Both = [<<"call">>, <<"return_from">>],
    [{"lists:seq", "^{lists,seq,", Both},
     {"lists", "^{lists,", Both},
     {"lists:seq(_, _)", "^{lists,seq,", Both},
     {"lists:seq(X, Y) when Y > X", "^{lists,seq,", Both},
     {"lists:seq(X, Y) when Y =:= X + 3, is_integer(X) -> return",
      "^{lists,seq,", Both},
     {"lists:seq(X, Y) when X rem 2 =:= 0 -> return",
      "^{lists,seq,\\[[0-9]*[02468],", Both},
     {"lists:seq(_, _) -> caller", "^{lists,seq,", [<<"call">>]},
     {"lists:seq/2 -> return;caller", "^{lists,seq,", Both},
     {"lists:seq/2 -> return,caller", "^{lists,seq,", Both},
     {"lists:seq/2 [{['$1','_'],[{'>','$1',3}],[]}]", "^{lists,seq,",
      [<<"call">>]}].

form(Config, Node, {Spec, Payload, Tags}) ->
    {Events, _} = events(Config, Node,
                         ["--procs", "worker", "--events", "4", Spec]),
    {Spec, 4} = {Spec, length(Events)},
    {Spec, Tags} = {Spec, tags(Events)},
    [{match, _} = re:run(P, Payload)
     || #{<<"tag">> := <<"call">>, <<"payload">> := [P]} <- Events],
    [true = is_map_key(<<"result">>, E)
     || string:find(Spec, "caller") =/= nomatch,
        #{<<"tag">> := <<"call">>} = E <- Events].

%% Traces each kind of event of a process that sends, receives, spawns and
%% links.
forms_of_messages(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node,
                  "register(chatty, self()), L = fun L(N) ->"
                  " self() ! {reply, N}, receive {reply, N} -> ok end,"
                  " self() ! N, receive N -> ok end,"
                  " spawn_link(fun() -> ok end),"
                  " timer:sleep(5), L(N + 1) end, L(1)."),
    [message_form(Config, Node, Form)
     || Form <- [{["send"], [<<"send">>], "."},
                 {["send(chatty, {reply, _})"], [<<"send">>], "^{reply,"},
                 {["receive"], [<<"receive">>], "."},
                 {["receive({reply, _})"], [<<"receive">>], "^{reply,"},
                 {["send(_, {Tag, N}) when Tag =:= reply, N > 0"],
                  [<<"send">>], "^{reply,"},
                 {["send", "receive"], [<<"receive">>, <<"send">>], "."}]],
    {Procs, _} = events(Config, Node, ["--procs", "chatty", "--events", "20",
                                       "procs"]),
    [] = [<<"spawn">>, <<"link">>] -- tags(Procs),
    {Running, _} = events(Config, Node, ["--procs", "chatty", "--events",
                                         "20", "running"]),
    [<<"in">>, <<"out">>] = tags(Running).

message_form(Config, Node, {Specs, Tags, Payload}) ->
    {Events, _} = events(Config, Node, ["--procs", "chatty", "--events", "20"
                                       | Specs]),
    {Specs, 20} = {Specs, length(Events)},
    {Specs, Tags} = {Specs, tags(Events)},
    [{match, _} = re:run(P, Payload) || #{<<"payload">> := [P | _]} <- Events].

counters(Config) ->
    Node = a_node(Config),
    [begin
         #{status := 0, out := Out} =
             counted(Config, Node, ["lists:seq/2 -> " ++ Action]),
         says(Out, ["lists:seq/2"])
     end || Action <- ["count", "time"]].

%% Runs a trace with counters, makes one call on the node, and ends the trace.
%% Returns the result of the command.
counted(Config, #{name := Name} = Node, Args) ->
    Opts = opts(Config, Node),
    Cmd = ?LIB:start(Opts, ["trace", "-n", Name, "--for", "200s" | Args],
                     240000),
    ok = ?LIB:until_tracing(Opts, Name, Cmd),
    [1, 2] = ?NODE:call(Node, lists, seq, [1, 2]),
    ok = ?LIB:signal(Cmd, "INT"),
    ?LIB:wait(Cmd, 100000).

which_processes(Config) ->
    Node = a_node(Config),
    Other = ?NODE:workload(Node, {other, 5}),
    #{name := Name} = Node,
    Own = ?NODE:call(Node, erlang, pid_to_list, [Other]),
    Pids = fun(Args) ->
                   {Events, _} = events(Config, Node,
                                        Args ++ ["--events", "100",
                                                 "lists:seq/2"]),
                   [Name] = lists:usort([binary_to_list(N)
                                         || #{<<"node">> := N} <- Events]),
                   lists:usort([P || #{<<"pid">> := P} <- Events])
           end,
    [_, _] = Pids([]),
    [_, _] = Pids(["--procs", "existing"]),
    [One] = Pids(["--procs", "other"]),
    Own = binary_to_list(One),
    [One] = Pids(["--procs", Own]),
    [_, _] = Pids(["--procs", Own, "--procs", "worker"]),
    %% --procs new traces a process that is spawned during the trace.
    Cmd = ?LIB:start(opts(Config, Node),
                     ["trace", "-n", Name, "--procs", "new", "--events", "6",
                      "--for", "60s", "--json", "lists:seq/2"], 90000),
    ?LIB:until(fun() -> traced(Config, Node) end),
    Late = ?NODE:workload(Node, {late, 5}),
    #{status := 0, out := Out} = ?LIB:wait(Cmd, 60000),
    LatePid = list_to_binary(?NODE:call(Node, erlang, pid_to_list, [Late])),
    [LatePid] = lists:usort([P || #{<<"pid">> := P} <- ?LIB:json(Out)]),
    %% A name in --procs that no process has registered is an error.
    #{status := Status, err := Err} =
        trace(Config, Node, ["--procs", "nobody_of_that_name",
                             "lists:seq/2"]),
    5 = Status,
    says(Err, ["nobody_of_that_name"]).

%% Returns true if a session of the command traces on the node.
traced(Config, Node) ->
    #{status := 0, out := Out} = run(Config, Node, ["status", "--json"]),
    [#{<<"sessions">> := Sessions}] = ?LIB:json(Out),
    [S || #{<<"state">> := <<"tracing">>} = S <- Sessions] =/= [].

nothing_matches(Config) ->
    Node = a_node(Config),
    [begin
         #{status := Status, err := Err} = Said = trace(Config, Node, [Spec]),
         {Spec, 5} = {Spec, Status},
         says(Err, Words),
         decent(Said, [])
     end || {Spec, Words} <-
                [{"no_such_module:f/1", ["no_such_module"]},
                 {"lists:sexq/2", ["sexq", "seq"]},
                 {"lists:seq/9", ["seq", "/2", "/3"]},
                 {"Enum.map/2", ["Elixir|Enum"]}]].

%% If a trace ends without an event, the command says so and its status is 5. If the user ended the
%% trace, its status is 0.
nothing_happens(Config) ->
    #{name := Name} = Node = a_node(Config),
    #{status := 5, err := Err} =
        run(Config, Node, ["trace", "--for", "300ms", "lists:zipwith3/4"]),
    says(Err, ["no event in 300 ms"]),
    #{status := 5, err := Filtered} =
        run(Config, Node, ["trace", "--for", "5s", "-q", "--filter",
                           "lists:seq(no, _)", "lists:seq/2"]),
    says(Filtered, ["no event that matches --filter in 5 s"]),
    Opts = opts(Config, Node),
    Cmd = ?LIB:start(Opts, ["trace", "-n", Name, "--for", "200s",
                            "lists:zipwith3/4"], 240000),
    until_armed(Cmd, [Name]),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000).

%% Waits until the command reports that all nodes trace.
until_armed(Cmd, Names) ->
    ?LIB:until(fun() ->
                       Err = ?LIB:err(Cmd),
                       [N || N <- Names,
                             re:run(Err, N ++ ": 1 function") =:= nomatch]
                           =:= []
               end).

usage(Config) ->
    Node = a_node(Config),
    #{name := Name} = Node,
    Run = fun(Args) -> ?LIB:run(opts(Config, Node), Args) end,
    [begin
         #{status := Status, err := Err} = Said = Run(Args),
         {Args, 2} = {Args, Status},
         {Args, true} = {Args, Err =/= <<>>},
         decent(Said, [])
     end || Args <- [[], ["nonsense"], ["trace"], ["trace", "lists"],
                     ["trace", "-n", Name],
                     ["trace", "-n", "all", "lists"],
                     ["trace", "-n", "", "lists"],
                     ["trace", "-n", "a@b@c", "lists"],
                     ["trace", "-n", Name, "--events", "x", "lists"],
                     ["trace", "-n", Name, "--events", "-1", "lists"],
                     ["trace", "-n", Name, "--for", "soon", "lists"],
                     ["trace", "-n", Name, "--nonsense", "lists"],
                     ["trace", "-n", Name, "--remote-dir", "here", "lists"],
                     ["trace", "-n", Name, ""],
                     ["trace", "-n", Name, "lists:seq("],
                     ["trace", "-n", Name, "lists:seq/2 -> fly"],
                     ["trace", "-n", Name, "lists:seq(X) when foo(X)"],
                     ["trace", "-n", Name, "lists:seq/2 [{bad}]"],
                     ["trace", "-n", Name, "receive({a"],
                     ["record", "-n", Name, "--detach", "lists"],
                     ["record", "-n", Name, "--name", "A b", "lists"],
                     ["record", "-n", Name, "--keep", "both", "lists"],
                     ["stop", "-n", Name], ["fetch", "-n", Name],
                     ["status", Name]]].

help(Config) ->
    Opts = #{base => ?config(base, Config)},
    [#{status := 0, err := <<>>} = ?LIB:run(Opts, Args)
     || Args <- [["--help"], ["--version"] |
                 [[C, H] || C <- ["trace", "record", "status", "stop",
                                  "fetch", "merge", "recover"],
                            H <- ["--help", "--usage"]]]].

unreachable(Config) ->
    #{name := Name} = Node = a_node(Config),
    Opts = opts(Config, Node),
    [Short, Host] = string:split(Name, "@"),
    Free = integer_to_list(free_port()),
    [begin
         #{status := Status, err := Err} = Said =
             ?LIB:run(maps:merge(Opts, More),
                      [Command, "-n", To, "--timeout", "5s" | Args], 60000),
         {To, 3} = {To, Status},
         says(Err, Words),
         decent(Said, [maps:get(cookie, Opts)])
     end || {To, More, Words} <-
                [{"x@no-such-host.invalid", #{}, ["no-such-host.invalid"]},
                 {"nosuch", #{}, ["nosuch", Short, "epmd"]},
                 {"nosuch@" ++ Host, #{}, ["nosuch", Short]},
                 {Name, #{env => [{"ERL_EPMD_PORT", Free}]}, ["epmd"]},
                 {"x@127.0.0.1", #{}, ["x"]}],
            {Command, Args} <- [{"trace", ["lists:seq/2"]}, {"status", []},
                                {"stop", ["s"]}]].

free_port() ->
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    gen_tcp:close(L),
    Port.

%% A name is registered with epmd, but no node answers. In one case, no process listens at the port.
%% In other cases, the listener sends nothing, sends invalid data, or closes the connection. In the
%% last case, the node is stopped with SIGSTOP.
no_node_answers(Config) ->
    Node = a_node(Config),
    Opts = opts(Config, Node),
    Silent = listener(fun(S) -> receive after 600000 -> S end end),
    Nonsense = listener(fun(S) -> gen_tcp:send(S, binary:copy(<<"x">>, 9000))
                        end),
    Closing = listener(fun(S) -> gen_tcp:close(S) end),
    [begin
         {Name, Epmd} = registered(Port),
         #{status := 3, err := Err} = Said =
             ?LIB:run(Opts, ["trace", "-n", Name, "--timeout", "2s",
                             "lists:seq/2"]),
         says(Err, [Name]),
         decent(Said, []),
         gen_tcp:close(Epmd)
     end || Port <- [free_port(), Silent, Nonsense, Closing]],
    ok = ?LIB:signal(maps:get(os_pid, Node), "STOP"),
    #{status := 3, err := Err} =
        ?LIB:run(Opts, ["trace", "-n", maps:get(name, Node), "--timeout",
                        "2s", "lists:seq/2"]),
    says(Err, [maps:get(name, Node)]).

%% --timeout also limits the time of the survey.
slow_survey(Config) ->
    Node = a_node(Config),
    ok = ?NODE:call(Node, sys, suspend, [rex]),
    #{status := 3, err := Err} =
        run(Config, Node, ["trace", "--timeout", "1s", "lists:seq/2"]),
    says(Err, ["no answer within 1.0 s"]).

listener(Serve) ->
    {ok, L} = gen_tcp:listen(0, [binary, {active, false}]),
    Owner = spawn_link(fun() -> receive go -> accept(L, Serve) end end),
    ok = gen_tcp:controlling_process(L, Owner),
    Owner ! go,
    {ok, Port} = inet:port(L),
    Port.

accept(L, Serve) ->
    {ok, S} = gen_tcp:accept(L),
    Pid = spawn(fun() -> receive go -> Serve(S), receive after 5000 -> ok end
                         end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    accept(L, Serve).

%% Registers a name for Port with epmd. epmd forgets the name when the returned
%% socket is closed.
registered(Port) ->
    Name = "fake" ++ integer_to_list(Port),
    {ok, S} = gen_tcp:connect("127.0.0.1", 4369, [binary, {active, false}]),
    Bin = list_to_binary(Name),
    Req = <<120, Port:16, 77, 0, 6:16, 5:16, (byte_size(Bin)):16, Bin/binary,
            0:16>>,
    ok = gen_tcp:send(S, <<(byte_size(Req)):16, Req/binary>>),
    {ok, <<_, 0, _/binary>>} = gen_tcp:recv(S, 0, 10000),
    {Name, S}.

tls_node(Config) ->
    case ?LIB:has("openssl") of
        false -> {skip, "NO TLS NODE WAS TRIED: no openssl"};
        true -> tls_node_refused(Config)
    end.

tls_node_refused(Config) ->
    Dir = ?config(base, Config),
    Pem = filename:join(Dir, "tls.pem"),
    _ = os:cmd("cd " ++ Dir ++ " && openssl req -x509 -newkey ec "
               "-pkeyopt ec_paramgen_curve:P-256 -nodes "
               "-subj /CN=x -keyout tls.pem -out cert.pem 2>/dev/null && "
               "cat cert.pem >>tls.pem && chmod 644 tls.pem"),
    Node = a_node(Config, #{args => ["-proto_dist", "inet_tls",
                                     "-ssl_dist_opt", "server_certfile", Pem]}),
    #{status := 3, err := Err} =
        run(Config, Node, ["trace", "--timeout", "60s", "lists:seq/2"]),
    says(Err, ["TLS"]).

%% If one node cannot be traced, the command traces none.
one_of_two(Config) ->
    #{name := Name} = Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    #{status := 3, out := <<>>, err := Err} =
        run(Config, Node, ["trace", "-n", "nosuch", "lists:seq/2"]),
    says(Err, ["nosuch"]),
    [] = inviso_footprint:left(Before, Node, 90000),
    %% `inviso status' still shows the nodes that it can reach.
    #{status := 3, out := Out} =
        run(Config, Node, ["status", "-n", "nosuch"]),
    says(Out, [Name]).

cookies(Config) ->
    #{name := Name, cookie := Cookie, uid := Uid} = Node = a_node(Config),
    None = #{base => ?config(base, Config), uid => Uid},
    Home = filename:join(?config(base, Config), "home"),
    File = filename:join(Home, ".erlang.cookie"),
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, Cookie),
    [ok = file:change_owner(F, Uid) || F <- [Home, File]],
    ok = file:change_mode(File, 8#400),
    Run = fun(Opts, Args) ->
                  Said = ?LIB:run(maps:merge(None, Opts),
                                  ["trace", "-n", Name, "--events", "2" |
                                   Args] ++ ["lists:seq/2"]),
                  decent(Said, [Cookie]),
                  Said
          end,
    #{status := 0} = Run(#{cookie => Cookie}, []),
    #{status := 0} = Run(#{home => Home}, []),
    #{status := 0} = Run(#{}, ["--cookie-file", File]),
    #{status := 0, err := Warned} = Run(#{}, ["-c", Cookie]),
    says(Warned, ["warning.*cookie"]),
    %% -c overrides the environment, and the environment overrides the cookie
    %% file.
    #{status := 0} = Run(#{home => Home, cookie => "wrong"}, ["-c", Cookie]),
    #{status := 4} = Run(#{home => Home, cookie => "wrong"}, []),
    %% A cookie file that other users can read is refused.
    ok = file:change_mode(File, 8#644),
    #{status := Open, err := Why} = Run(#{home => Home}, []),
    true = Open =/= 0,
    says(Why, [".erlang.cookie"]),
    #{status := Nothing, err := What} = Run(#{}, []),
    true = Nothing =/= 0,
    says(What, ["cookie"]),
    #{status := Absent, err := There} = Run(#{}, ["--cookie-file", "/nope"]),
    true = Absent =/= 0,
    says(There, ["/nope"]),
    true = ?NODE:alive(Node).

wrong_cookie(Config) ->
    #{name := Name} = Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    [begin
         #{status := 4, err := Err} = Said =
             ?LIB:run((opts(Config, Node))#{cookie => "wrong"},
                      [Command, "-n", Name | Args]),
         says(Err, ["cookie", Name]),
         decent(Said, ["wrong "])
     end || {Command, Args} <- [{"trace", ["lists:seq/2"]},
                                {"record", ["lists:seq/2"]},
                                {"status", []}, {"stop", ["x"]},
                                {"fetch", ["x"]}]],
    %% Nothing changes on the node, except that its log (`said') gets the usual
    %% line about a wrong cookie.
    [] = ?LIB:until_same(
            fun() ->
                    Now = inviso_footprint:of_node(Node),
                    [L || {What, _, _} = L <-
                              inviso_footprint:differences(Before, Now),
                          What =/= said]
            end, 90000).

sessions(Node) ->
    ?NODE:call(Node, code, which, [trace]) =/= non_existing.

%% While the command traces, a trace of dbg continues unchanged.
foreign_tracer(Config) ->
    Node = a_node(Config),
    _ = ?NODE:eval(Node,
                   "ets:new(seen, [named_table, public,"
                   " {heir, whereis(init), x}]),"
                   "ets:give_away(seen, whereis(init), x),"
                   "ets:insert(seen, {n, 0}),"
                   "dbg:tracer(process, {fun(_, _) ->"
                   "  ets:update_counter(seen, n, 1) end, 0}),"
                   "dbg:p(worker, [call]), dbg:tp(lists, seq, 2, [])."),
    Seen = fun() -> ?NODE:eval(Node, "ets:lookup_element(seen, n, 2).") end,
    ?LIB:until(fun() -> Seen() > 0 end),
    Before = inviso_footprint:of_node(Node),
    #{status := Status, err := Err, out := Out} =
        trace(Config, Node, ["--events", "10", "lists:seq/2"]),
    case sessions(Node) of
        true -> 0 = Status, says(Out, ["lists:seq"]);
        false -> 4 = Status, says(Err, ["dbg|<[0-9.]+>"])
    end,
    [] = inviso_footprint:left(Before, Node, 90000),
    N = Seen(),
    ?LIB:until(fun() -> Seen() > N end),
    #{status := 0, out := Told} = run(Config, Node, ["status"]),
    says(Told, ["dbg|<[0-9.]+>"]),
    [] = inviso_footprint:left(Before, Node, 90000).

two_operators(Config) ->
    #{name := Name} = Node = a_node(Config),
    Start = fun() -> ?LIB:start(opts(Config, Node),
                                ["trace", "-n", Name, "--events", "0",
                                 "--for", "90s", "lists:seq/2"], 120000)
            end,
    First = Start(),
    ?LIB:until(fun() -> ?LIB:out(First) =/= <<>> end),
    Second = Start(),
    ?LIB:until(fun() -> ?LIB:out(Second) =/= <<>> end),
    ok = ?LIB:signal(Second, "INT"),
    #{status := 0} = ?LIB:wait(Second, 100000),
    Size = byte_size(?LIB:out(First)),
    ?LIB:until(fun() -> byte_size(?LIB:out(First)) > Size end),
    ok = ?LIB:signal(First, "INT"),
    #{status := 0} = ?LIB:wait(First, 100000).

several_nodes_in_order(Config) ->
    Cookie = "several" ++ os:getpid(),
    [A | _] = Nodes = [a_node(Config, #{cookie => Cookie})
                       || _ <- [1, 2, 3]],
    Names = [maps:get(name, N) || N <- Nodes],
    Opts = opts(Config, A),
    Cmd = ?LIB:start(Opts, ["trace", "-n", lists:join(",", Names), "--events",
                            "600", "--for", "200s", "--json",
                            "lists:last/1"], 240000),
    [ok = ?LIB:until_tracing(Opts, Name, Cmd) || Name <- Names],
    %% Each call of lists:last/1 makes two events, the call and the return.
    [?NODE:run(N, "[begin lists:last([I]), timer:sleep(5) end"
               " || I <- lists:seq(1, 100)].") || N <- Nodes],
    #{status := 0, out := Out, err := Err} = ?LIB:wait(Cmd, 240000),
    Events = ?LIB:json(Out),
    Times = [T || #{<<"ts">> := T} <- Events],
    600 = length(Times),
    Times = lists:sort(Times),
    [200 = length([x || #{<<"node">> := N} <- Events, N =:= Name])
     || Name <- [list_to_binary(N) || N <- Names]],
    #{<<"shown">> := 600, <<"lost">> := 0} = facts(Err).

%% If a limit or SIGINT ends the sessions on several nodes, the summary gives this reason for each
%% node.
why_several_stop(Config) ->
    Cookie = "why" ++ os:getpid(),
    [A | _] = Nodes = [a_node(Config, #{cookie => Cookie}) || _ <- [1, 2]],
    Names = [maps:get(name, N) || N <- Nodes],
    #{status := 0, out := Out} =
        ?LIB:run(opts(Config, A),
                 ["trace", "-n", lists:join(",", Names), "--events", "6",
                  "--for", "100s", "lists:seq/2"]),
    [says(Out, ["-- " ++ N ++ ": .*; 6 events \\(--events\\)\n"])
     || N <- Names],
    says(Out, ["stopped: 6 events \\(--events\\)\n"]),
    Cmd = ?LIB:start(opts(Config, A),
                     ["record", "-n", lists:join(",", Names), "--for", "200s",
                      "lists:seq/2"], 240000),
    until_armed(Cmd, Names),
    ok = ?LIB:signal(Cmd, "INT"),
    #{out := Recorded} = ?LIB:wait(Cmd, 100000),
    [says(Recorded, [N ++ ": .*; interrupted"]) || N <- Names].

all_nodes(Config) ->
    Cookie = "all" ++ os:getpid(),
    [A, B] = [a_node(Config, #{cookie => Cookie}) || _ <- [1, 2]],
    #{name := NameA} = A,
    #{name := NameB} = B,
    pong = ?NODE:call(A, net_adm, ping, [list_to_atom(NameB)]),
    Cmd = ?LIB:start(opts(Config, A),
                     ["trace", "-n", NameA, "-n", "all", "--events", "0",
                      "--for", "200s", "--json", "lists:seq/2"], 240000),
    ?LIB:until(fun() ->
                       Out = ?LIB:out(Cmd),
                       [] =:= [N || N <- [NameA, NameB],
                                    string:find(Out, N) =:= nomatch]
               end),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000).

%% The command is a hidden node: nodes() of a traced node does not contain it, and the traced nodes
%% stay connected with each other.
stays_hidden(Config) ->
    Cookie = "hidden" ++ os:getpid(),
    [A, B] = [a_node(Config, #{cookie => Cookie}) || _ <- [1, 2]],
    Other = list_to_atom(maps:get(name, B)),
    pong = ?NODE:call(A, net_adm, ping, [Other]),
    Cmd = ?LIB:start(opts(Config, A),
                     ["trace", "-n", maps:get(name, A), "--events", "0",
                      "--for", "60s", "lists:seq/2"], 90000),
    ?LIB:until(fun() -> ?LIB:out(Cmd) =/= <<>> end),
    [Other] = ?NODE:call(A, erlang, nodes, []),
    [_, _] = ?NODE:call(A, erlang, nodes, [connected]),
    [_] = ?NODE:call(B, erlang, nodes, [connected]),
    ok = ?LIB:signal(Cmd, "INT"),
    #{status := 0} = ?LIB:wait(Cmd, 100000),
    %% The node notices the end of the connection some time later.
    ?LIB:until(fun() ->
                       [Other] =:= ?NODE:call(A, erlang, nodes, [connected])
               end).

dry_run(Config) ->
    Node = a_node(Config),
    Before = inviso_footprint:of_node(Node),
    #{status := 0, out := Out} =
        run(Config, Node, ["trace", "--dry-run", "lists:seq/2"]),
    says(Out, ["1 function", "[0-9]+ processes", "[0-9]+ events a second"]),
    [] = inviso_footprint:left(Before, Node, 90000),
    #{status := 5} = run(Config, Node, ["trace", "--dry-run", "nope:f/1"]).

directories(Config) ->
    Node = a_node(Config),
    Base = ?config(base, Config),
    Own = filename:join(maps:get(dir, Node), "own"),
    ok = file:make_dir(Own),
    ok = file:change_owner(Own, maps:get(uid, Node)),
    #{status := 0} =
        trace(Config, Node, ["--remote-dir", Own, "--events", "4",
                             "lists:seq/2"]),
    {ok, []} = file:list_dir(Own),
    [refused_dir(Config, Node, Dir)
     || Dir <- ["/no/such/dir", "/dev/null", "/proc" |
                [Base || ?LIB:is_root()]]],
    case ?LIB:is_root() of
        true -> mounted(Config, Node, Own);
        false -> ct:comment("not root: no file systems were mounted")
    end.

refused_dir(Config, Node, Dir) ->
    Before = inviso_footprint:of_node(Node),
    #{status := Status, err := Err} = Said =
        trace(Config, Node, ["--remote-dir", Dir, "--events", "4",
                             "lists:seq/2"]),
    {Dir, true} = {Dir, lists:member(Status, [1, 4])},
    says(Err, [Dir]),
    decent(Said, []),
    [] = inviso_footprint:left(Before, Node, 90000).

mounted(Config, Node, Dir) ->
    Uid = integer_to_list(maps:get(uid, Node)),
    [begin
         "" = os:cmd("mount -t tmpfs -o uid=" ++ Uid ++ "," ++ Opts ++
                         " tmpfs " ++ Dir),
         try
             Before = inviso_footprint:of_node(Node),
             #{status := 1, err := Err} = Said =
                 trace(Config, Node, ["--remote-dir", Dir, "--events", "4",
                                      "lists:seq/2"]),
             says(Err, [Dir | Words]),
             decent(Said, []),
             [] = inviso_footprint:left(Before, Node, 90000),
             {ok, []} = file:list_dir(Dir)
         after
             os:cmd("umount -l " ++ Dir)
         end
     end || {Opts, Words} <- [{"ro", ["read.only"]}, {"noexec", ["noexec"]},
                              {"size=64k", ["space|full"]}]].

%% With --quiet, the command still prints errors, and the counts for which the user has asked.
quiet(Config) ->
    Node = a_node(Config),
    #{status := 0, out := Counts, err := <<>>} =
        counted(Config, Node, ["-q", "lists:seq/2 -> count"]),
    says(Counts, ["calls", "lists:seq/2"]),
    #{status := 0, err := Facts} =
        counted(Config, Node, ["-q", "--json", "lists:seq/2 :: count"]),
    #{<<"counts">> := [_]} = facts(Facts),
    #{status := 6, err := Err} =
        trace(Config, Node, ["-q", "--rate", "3", "lists:seq/2"]),
    says(Err, ["stopped: more than 3 events a second"]),
    #{status := 0, out := Out, err := <<>>} =
        trace(Config, Node, ["-q", "--events", "2", "lists:seq/2"]),
    [_, _] = ?LIB:lines(Out).

%% Checks the output of `inviso status' without --json.
status_for_people(Config) ->
    Node = a_node(Config),
    #{status := 0} = run(Config, Node,
                         ["record", "--detach", "--for", "250s", "--bytes",
                          "10M", "--name", "night", "lists:seq/2"]),
    #{status := 0, out := Out} = run(Config, Node, ["status"]),
    says(Out, [maps:get(name, Node) ++ ": OTP [0-9]+ .*os pid "
               ++ integer_to_list(maps:get(os_pid, Node)) ++ ", 1 session",
               "night +tracing, detached, since 20[0-9]{2}-[0-9-]+ [0-9:]+",
               "owner .*os pid", "specs +lists:seq/2",
               "limits +[0-9]+ min .*left\\), 10 MiB",
               "so far +[0-9]+ events? recorded, 0 lost",
               "log +/.*/night\\.log"]),
    nomatch = re:run(Out, "attached"),
    #{status := 5, err := Err} = run(Config, Node, ["stop", "day"]),
    says(Err, ["no session day here"]),
    #{status := 0} = run(Config, Node, ["stop", "--remove", "night"]),
    #{status := 0, out := After} = run(Config, Node, ["status"]),
    says(After, ["no sessions"]).

%% If standard output is closed, or a file on a full disk, the command says so.
output_is_lost(Config) ->
    Node = a_node(Config),
    [begin
         Wrap = ["/bin/sh", "-c", "exec \"$@\" " ++ Where, "sh"],
         #{status := 1, err := Err} =
             ?LIB:run((opts(Config, Node))#{wrap => Wrap},
                      [Command, "-n", maps:get(name, Node) | Args]),
         says(Err, ["standard output: "])
     end || Where <- [">/dev/full", ">&-"],
            [Command | Args] <- [["status"],
                                 ["trace", "--events", "1", "lists:seq/2"],
                                 ["trace", "--dry-run", "lists:seq/2"],
                                 ["record", "--for", "200ms", "-o", "o",
                                  "lists:seq/2"]]].

%% If --buffer is too small, the error says which size is needed. With this size the command
%% succeeds.
small_buffer(Config) ->
    Node = a_node(Config),
    #{status := 2, err := Err} =
        trace(Config, Node, ["--buffer", "64k", "lists:seq/2"]),
    says(Err, ["--buffer 64k: too small"]),
    {match, [Least]} = re:run(Err, "need at least ([0-9.]+[kM])",
                              [{capture, all_but_first, list}]),
    #{status := 0} = trace(Config, Node, ["--buffer", Least, "--events", "1",
                                          "lists:seq/2"]).

long_terms(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "register(long, self()), B = binary:copy(<<$x>>, 60000),"
                  " L = fun L() -> lists:last([B]), timer:sleep(5), L() end, L()."),
    %% The buffer has space for only a few of these events, so the status may also say that events
    %% were lost.
    Cut = fun(Size) ->
                  #{status := Status, out := Out} =
                      trace(Config, Node, ["--json", "--procs", "long",
                                           "--events", "1", "--max-term", Size,
                                           "lists:last/1"]),
                  true = lists:member(Status, [0, 7]),
                  [Event] = [E || #{<<"tag">> := _} = E <- ?LIB:json(Out)],
                  maps:get(<<"truncated">>, Event, false)
          end,
    false = Cut("64k"),
    true = Cut("10k").

%% Terms of 1 MiB and binaries of 16 MiB are recorded whole in a live trace. Before the trace, the
%% command says how much memory the slots for large terms need. If --buffer is too small for the
%% slots, the command refuses --buffer, and says which --max-term fits. With --dry-run, the command
%% says the same.
large_terms(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "register(large, self()), B = binary:copy(<<$x>>, 16 bsl 20),"
                  " N = lists:duplicate(340000, 1000),"
                  " L = fun L() -> lists:last([B]), lists:last([N]),"
                  " timer:sleep(300), L() end, L()."),
    Trace = fun(More) ->
                    trace(Config, Node, ["--procs", "large", "--max-term", "16m",
                                         "lists:last/1" | More])
            end,
    %% There are few slots for these events, so the status may also say that events were lost.
    #{status := Status, out := Out, err := Err} = Trace(["--events", "6"]),
    true = lists:member(Status, [0, 7]),
    says(Err, ["of memory: a ring of ", ", and, for terms of up to 16M, "]),
    Calls = [byte_size(L) || L <- binary:split(Out, <<"\n">>, [global]),
                             binary:match(L, <<"lists:last([">>) =/= nomatch],
    [] = [N || N <- Calls, N < 16 bsl 20, N < 5 * 340000],
    true = length(Calls) > 0,
    [begin
         #{status := 2, err := Said} = Trace(["--buffer", "20M" | More]),
         says(Said, ["--buffer 20M: too small", "a --max-term of "])
     end || More <- [[], ["--dry-run"]]],
    #{status := 0, err := Dry} = Trace(["--dry-run"]),
    says(Dry, ["of memory: a ring of "]).

%% A filter can select exits by their reason. A match spec cannot, because the VM has match specs
%% only for calls and messages.
filter_of_exits(Config) ->
    Node = dying_processes(Config),
    {Events, Facts} = events(Config, Node,
                             ["--events", "3", "--filter",
                              "[{[_,exit,{dead,3}],[],[]}]", "procs", "gc"]),
    [[<<"{dead,3}">>], [<<"{dead,3}">>], [<<"{dead,3}">>]] =
        [P || #{<<"tag">> := <<"exit">>, <<"payload">> := P} <- Events],
    #{<<"filtered">> := Filtered, <<"undecided">> := 0, <<"recorded">> := N} =
        Facts,
    true = Filtered > N,
    %% There are events of spawns between the exits. The filter leaves out the spawns.
    #{status := 0, out := Out} =
        trace(Config, Node, ["--events", "4", "--filter",
                             "[{[_,exit,_],[{is_seq_trace}],[]}]", "procs"]),
    says(Out, [" exit {dead,", " left out by the filter",
               " recorded that it could not decide"]).

%% A filter of `inviso record' leaves out the same events as `inviso merge --filter', and `inviso
%% status' shows the filter.
filter_of_a_recording(Config) ->
    Node = dying_processes(Config),
    Filter = "[{[_,exit,{dead,'$1'}],[{'<','$1',2}],[]}]",
    Record = fun(Name, More) ->
                     #{status := 0} =
                         run(Config, Node, ["record", "--for", "250s",
                                            "--detach", "--name", Name | More])
             end,
    Record("some", ["--filter", Filter, "procs"]),
    ?LIB:until(fun() ->
                       #{status := 0, out := Out} =
                           run(Config, Node, ["status"]),
                       re:run(Out, "[1-9][0-9]* events? recorded(?s:.*)"
                              "left out by the filter") =/= nomatch
               end),
    #{status := 0, out := Out} = run(Config, Node, ["status"]),
    says(Out, ["filter +\\[\\{\\[_,exit,\\{dead,", "left out by the filter"]),
    #{status := 0} = run(Config, Node, ["stop", "some"]),
    #{status := 0} = run(Config, Node, ["fetch", "some"]),
    Log = filename:join([?config(base, Config), "*", "cwd", "some", "*.log"]),
    Merged = fun(More) ->
                     [File] = filelib:wildcard(Log),
                     #{status := 0, out := Json} =
                         ?LIB:run(opts(Config, Node),
                                  ["merge", "--format", "json", File | More]),
                     Json
             end,
    All = Merged([]),
    All = Merged(["--filter", Filter]),
    [<<"exit">>] = tags(?LIB:json(All)).

dying_processes(Config) ->
    Node = a_node(Config),
    _ = ?NODE:run(Node, "L = fun L(N) ->"
                  " spawn(fun() -> exit({dead, N rem 4}) end),"
                  " timer:sleep(5), L(N + 1) end, L(0)."),
    Node.
