%% SPDX-License-Identifier: Apache-2.0
%% Several clients trace on one node, on every release. Each client gets the
%% events that it asked for, whatever the other clients do.
-module(inviso_sharing_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([each_sees_its_own/1, durations_agree/1,
         kinds_of_events_are_each_ones_own/1,
         one_leaves_and_the_other_goes_on/1,
         one_is_killed_and_the_other_goes_on/1,
         all_sessions_are_shown/1,
         other_tools_are_named_and_unchanged/1,
         sessions_that_are_killed_end/1,
         code_goes_after_the_sessions/1,
         code_goes_after_what_killed_sessions_left/1,
         code_goes_though_the_engine_hangs/1,
         all_are_killed_at_once/1,
         a_component_and_a_command/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, leave/1, ask/2, start/3, stop/1,
                            follow/1, wait_state/2, is_clean/1, slow/2,
                            waits_for/3]).

-define(JSON, inviso_trace_json).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [each_sees_its_own, durations_agree,
     kinds_of_events_are_each_ones_own,
     one_leaves_and_the_other_goes_on,
     one_is_killed_and_the_other_goes_on,
     all_sessions_are_shown,
     other_tools_are_named_and_unchanged,
     sessions_that_are_killed_end,
     code_goes_after_the_sessions,
     code_goes_after_what_killed_sessions_left,
     code_goes_though_the_engine_hangs,
     all_are_killed_at_once,
     a_component_and_a_command].

init_per_suite(Config) ->
    case [S || P <- ["inviso", "inviso_tracer.so", "inviso_spool"],
               {skip, S} <- [inviso_test_lib:product(P)]] of
        [] -> start_distribution(Config);
        [Why | _] -> {skip, Why}
    end.

start_distribution(Config) ->
    _ = os:cmd("epmd -daemon"),
    case net_kernel:start([sharing_suite, longnames]) of
        {ok, _} -> [{net, true} | Config];
        {error, _} -> Config
    end.

end_per_suite(Config) ->
    _ = ?config(net, Config) =:= undefined orelse net_kernel:stop(),
    ok.

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    ok = filelib:ensure_path(Dir),
    %% The test cases `code_goes...' wait until requests to a hanging engine time out, so they run
    %% with shorter deadlines.
    Hurry = [inviso_test_lib:hurry(5) || "code_goes" ++ _ <- [atom_to_list(Case)]],
    #{name := Name} = Node = inviso_test_lib:start_stock_node(Case, Dir, Hurry),
    true = erlang:set_cookie(Name, call(Node, erlang, get_cookie, [])),
    pong = net_adm:ping(Name),
    %% The first attach makes the node load modules of OTP, which stay loaded.
    %% So the test attaches and leaves once before the footprint is taken.
    {ok, #{guard := Guard}} = inviso_remote_lib:ask_attach(Node, #{want => code}),
    gone = inviso_remote_lib:leave(Guard),
    inviso_test_lib:wait_until(
      fun() ->
              call(Node, erlang, whereis, [inviso_loading]) =:= undefined
                  andalso not call(Node, erlang, module_loaded, [inviso_tracer])
      end),
    Before = inviso_test_lib:footprint(Node),
    [{node, Node}, {before, {Before, Node}}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    inviso_test_lib:stop_node(?config(node, Config)).

%% --- helpers ----------------------------------------------------------------

attached(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {Node, Guard}.

tracing(Node, Guard, More) ->
    {ok, S, _} = start(Node, Guard, maps:merge(#{mode => record}, More)),
    #{state := tracing} = wait_state(S, [tracing, failed]),
    S.

%% Calls lists:seq(1, N) for each N, all in one process.
seqs(Node, Ns) ->
    _ = call(Node, lists, zipwith, [fun lists:seq/2, [1 || _ <- Ns], Ns]),
    ok.

%% Starts a process that calls lists:seq(1, N) again and again. N runs from 0 to
%% 9, and then starts again at 0.
flood(Node) ->
    Loop = inviso_guard:expressions(
             "(fun L() -> [lists:seq(1, N) || N <- Ns], timer:sleep(1), L()"
             " end)()."),
    call(Node, erlang, spawn,
         [erl_eval, exprs, [Loop, [{'Ns', lists:seq(0, 9)}]]]).

%% Stops a session. Returns its events as {Tag, Payload}, with the results of
%% match specs.
events(Config, S) ->
    [{Tag, Payload ++ [R || {<<"result">>, R} <- maps:to_list(Event)]}
     || #{<<"tag">> := Tag, <<"payload">> := Payload} = Event
            <- objects(Config, S)].

objects(Config, S) ->
    #{state := stopped, dropped := 0} = stop(S),
    {Bytes, _} = follow(S),
    File = filename:join(?config(dir, Config), "followed.log"),
    ok = file:write_file(File, Bytes),
    Command = filename:join(inviso_test_lib:priv(), "inviso"),
    Out = os:cmd(Command ++ " merge --format json " ++ File ++ " 2>/dev/null"),
    [?JSON:decode(unicode:characters_to_binary(Line))
     || Line <- string:lexemes(Out, "\n")].

%% Returns the argument N of each recorded call lists:seq(1, N).
numbers(Events) ->
    [list_to_integer(N)
     || {<<"call">>, [MFA | _]} <- Events,
        {match, [N]} <- [re:run(MFA, "^{lists,seq,\\[1,([0-9]+)\\]}$",
                                [{capture, all_but_first, list}])]].

clean(Config, Guard, Sessions) ->
    _ = [ok = ask(S, remove) || S <- Sessions],
    gone = leave(Guard),
    is_clean(?config(before, Config)).

has_sessions(#{name := Name}) ->
    erpc:call(Name, erlang, function_exported,
              [erts_internal, trace_session_create, 3]).

%% --- two clients -----------------------------------------------------------

%% Two sessions trace the same function and process, with different match specs.
each_sees_its_own(Config) ->
    {Node, Guard} = attached(Config),
    A = tracing(Node, Guard,
                #{specs => [<<"lists:seq(1, X) when X > 5">>]}),
    B = tracing(Node, Guard,
                #{specs => [<<"lists:seq(1, X) when X < 8 -> return;caller">>]}),
    ok = seqs(Node, lists:seq(1, 10)),
    OfA = events(Config, A),
    [6, 7, 8, 9, 10] = numbers(OfA),
    5 = length(OfA),
    OfB = events(Config, B),
    [1, 2, 3, 4, 5, 6, 7] = numbers(OfB),
    7 = length([1 || {<<"return_from">>, _} <- OfB]),
    14 = length(OfB),
    7 = length([1 || {<<"call">>, [_, Caller]} <- OfB,
                     binary:match(Caller, <<"{lists,zipwith,">>)
                         =/= nomatch]),
    clean(Config, Guard, [A, B]).

%% On VMs without trace sessions, inviso reads the clock once per event for all sessions. So two
%% sessions agree on how long each call took.
durations_agree(Config) ->
    case has_sessions(?config(node, Config)) of
        true -> {skip, "the VM calls the tracer of each session by itself"};
        false -> durations_of_two(Config)
    end.

durations_of_two(Config) ->
    {Node, Guard} = attached(Config),
    A = tracing(Node, Guard, #{specs => [<<"lists:seq/2 -> return">>]}),
    B = tracing(Node, Guard,
                #{specs => [<<"lists:seq(1, X) when X > 700 -> return">>]}),
    ok = seqs(Node, lists:seq(701, 900)),
    [OfA, OfB] =
        [[{N, D} || #{<<"duration_ns">> := D, <<"args">> := [<<"1">>, N]}
                        <- objects(Config, S),
                    binary_to_integer(N) > 700]
         || S <- [A, B]],
    200 = length(OfA),
    {[], []} = {OfA -- OfB, OfB -- OfA},
    OfA = OfB,
    clean(Config, Guard, [A, B]).

kinds_of_events_are_each_ones_own(Config) ->
    {Node, Guard} = attached(Config),
    A = tracing(Node, Guard, #{specs => [<<"procs">>]}),
    B = tracing(Node, Guard, #{specs => [<<"lists:seq/2">>]}),
    C = tracing(Node, Guard, #{specs => [<<"send({sharing, _})">>]}),
    ok = seqs(Node, [3]),
    Self = call(Node, erlang, whereis, [init]),
    _ = call(Node, erlang, send, [Self, {sharing, 1}]),
    _ = call(Node, erlang, send, [Self, {other, 1}]),
    OfA = events(Config, A),
    true = lists:member(<<"exit">>, [Tag || {Tag, _} <- OfA]),
    [] = [Tag || {Tag, _} <- OfA, lists:member(Tag, [<<"call">>, <<"send">>])],
    OfB = events(Config, B),
    true = lists:member(3, numbers(OfB)),
    [] = [Tag || {Tag, _} <- OfB, Tag =/= <<"call">>],
    [{<<"send">>, [<<"{sharing,1}">>, _]}] = events(Config, C),
    clean(Config, Guard, [A, B, C]).

%% Five other sessions trace a busy process, one after the other, while the first session also
%% traces it. No event of the first session is missing or recorded twice.
one_leaves_and_the_other_goes_on(Config) ->
    {Node, Guard} = attached(Config),
    Flood = flood(Node),
    Stays = tracing(Node, Guard, #{specs => [<<"lists:seq(1, X) when X > 6">>],
                                   procs => [pid(Node, Flood)]}),
    _ = [begin
             S = tracing(Node, Guard,
                         #{specs => [<<"lists:seq(1, X) when X < 8">>],
                           procs => [pid(Node, Flood)]}),
             timer:sleep(100),
             Ns = numbers(events(Config, S)),
             ok = in_turn(Ns, lists:seq(0, 7)),
             ok = ask(S, remove)
         end || _ <- lists:seq(1, 5)],
    wait_until(fun() -> maps:get(recorded, ask(Stays, status)) > 300 end),
    Ns = numbers(events(Config, Stays)),
    true = length(Ns) > 100,
    ok = in_turn(Ns, [7, 8, 9]),
    true = call(Node, erlang, exit, [Flood, kill]),
    clean(Config, Guard, [Stays]).

pid(Node, Pid) ->
    list_to_binary(call(Node, erlang, pid_to_list, [Pid])).

%% Checks that the numbers repeat the list Turn, in its order. The first number may be any element
%% of the list.
in_turn([], _) ->
    ok;
in_turn([N | _] = Ns, Turn) ->
    {Before, From} = lists:splitwith(fun(X) -> X =/= N end, Turn),
    in_turn(Ns, From ++ Before, From ++ Before).

in_turn([N | Ns], [N | Left], Turn) -> in_turn(Ns, Left, Turn);
in_turn([], _, _) -> ok;
in_turn(Ns, [], Turn) -> in_turn(Ns, Turn, Turn);
in_turn(Ns, Left, _) -> {error, lists:sublist(Ns, 20), Left}.

one_is_killed_and_the_other_goes_on(Config) ->
    {Node, Guard} = attached(Config),
    Flood = flood(Node),
    Stays = tracing(Node, Guard, #{specs => [<<"lists:seq(1, X) when X > 6">>],
                                   procs => [pid(Node, Flood)]}),
    _ = [begin
             S = tracing(Node, Guard,
                         #{specs => [<<"lists:seq">>, <<"send">>,
                                     <<"lists:append">>]}),
             timer:sleep(50),
             true = call(Node, erlang, exit, [S, kill]),
             ok = wait_until(fun() -> only(Node, Flood) end)
         end || _ <- lists:seq(1, 5)],
    wait_until(fun() -> maps:get(recorded, ask(Stays, status)) > 300 end),
    Ns = numbers(events(Config, Stays)),
    true = length(Ns) > 100,
    ok = in_turn(Ns, [7, 8, 9]),
    true = call(Node, erlang, exit, [Flood, kill]),
    clean(Config, Guard, [Stays]).

%% Returns true if no other session is left. On VMs without sessions, returns true if only the first
%% session's flags and patterns are left.
only(#{name := Name} = Node, Flood) ->
    case has_sessions(Node) of
        true ->
            Count = [S || {inviso, _} = S <- call(Node, trace, session_info,
                                                  [all])],
            length(Count) =:= 1;
        false ->
            [P || P <- call(Node, erlang, processes, []), P =/= Flood,
                  {flags, [_ | _]} <- [call(Node, erlang, trace_info,
                                            [P, flags])]] =:= []
                andalso erpc:call(Name, erlang, trace_info,
                                  [{lists, append, 2}, traced])
                =:= {traced, false}
    end.

%% --- other tools, and killed sessions --------------------------------------

all_sessions_are_shown(Config) ->
    {#{name := Name} = Node, Guard} = attached(Config),
    Ss = [tracing(Node, Guard, #{owner => Owner, name => Owner})
          || Owner <- [<<"ann">>, <<"ben">>, <<"cis">>]],
    #{sessions := Sessions, others := []} =
        inviso_remote_lib:of_ours(Name, inviso_status, node, []),
    [{<<"ann">>, <<"ann">>, tracing}, {<<"ben">>, <<"ben">>, tracing},
     {<<"cis">>, <<"cis">>, tracing}] =
        lists:sort([{N, O, State}
                    || #{name := N, owner := O, state := State} <- Sessions]),
    _ = [stop(S) || S <- Ss],
    clean(Config, Guard, Ss).

%% Another tool traces with erlang:trace/3. The status of the node and errors of inviso name this
%% tool, and inviso's sessions do not change the tool's settings.
other_tools_are_named_and_unchanged(Config) ->
    {#{name := Name} = Node, Guard} = attached(Config),
    Victim = call(Node, erlang, spawn, [timer, sleep, [infinity]]),
    Tool = call(Node, erlang, spawn, [timer, sleep, [infinity]]),
    true = call(Node, erlang, register, [a_tool, Tool]),
    1 = call(Node, erlang, trace, [Victim, true, [call, {tracer, Tool}]]),
    1 = call(Node, erlang, trace_pattern, [{lists, append, 2}, true, [local]]),
    Mine = tracing(Node, Guard, #{specs => [<<"procs">>],
                                  procs => [<<"init">>]}),
    #{others := Others} = inviso_remote_lib:of_ours(Name, inviso_status, node, []),
    true = lists:any(fun(#{kind := processes, tracer := T}) ->
                             binary:match(T, <<"a_tool">>) =/= nomatch;
                        (_) ->
                             false
                     end, Others),
    case has_sessions(Node) of
        true ->
            S = tracing(Node, Guard, #{specs => [<<"lists:append/2">>]}),
            _ = stop(S),
            ok = ask(S, remove);
        false ->
            {error, refused, Text} =
                start(Node, Guard, #{specs => [<<"lists:append/2">>]}),
            _ = [{W, true} = {W, binary:match(Text, W) =/= nomatch}
                 || W <- [<<"lists:append/2">>, <<"a_tool">>]],
            {error, refused, _} =
                start(Node, Guard, #{specs => [<<"procs">>],
                                     procs => [pid(Node, Victim)]})
    end,
    {flags, [call]} = call(Node, erlang, trace_info, [Victim, flags]),
    {tracer, Tool} = call(Node, erlang, trace_info, [Victim, tracer]),
    {traced, local} = call(Node, erlang, trace_info, [{lists, append, 2},
                                                      traced]),
    1 = call(Node, erlang, trace_pattern, [{lists, append, 2}, false, [local]]),
    _ = [call(Node, erlang, exit, [P, kill]) || P <- [Victim, Tool]],
    _ = stop(Mine),
    clean(Config, Guard, [Mine]).

%% On VMs without trace sessions, the engine's server is killed. Then all sessions end.
sessions_that_are_killed_end(Config) ->
    {Node, Guard} = attached(Config),
    Ss = [tracing(Node, Guard, #{}), tracing(Node, Guard, #{})],
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            ok;
        Server ->
            true = call(Node, erlang, exit, [Server, kill]),
            _ = [#{why := tracer, text := <<"the trace sessions", _/binary>>} =
                     wait_state(S, [failed]) || S <- Ss],
            {all, false} = call(Node, erlang, trace_info,
                                [{lists, seq, 2}, all])
    end,
    clean(Config, Guard, Ss).

%% A session is killed while no other client uses the code, and the engine is slow. The code stays
%% until the engine has closed the trace session.
code_goes_after_the_sessions(Config) ->
    engine_is_last(Config, fun(_, _) -> ok end).

%% The session is killed, and then the engine. The code stays until the next engine has cleared what
%% the session has left.
code_goes_after_what_killed_sessions_left(Config) ->
    engine_is_last(Config, fun(Node, Engine) ->
                                   true = call(Node, erlang, exit,
                                               [Engine, kill])
                           end).

%% The engine hangs for longer than the deadline of a request, so the engine is killed.
code_goes_though_the_engine_hangs(Config) ->
    engine_is_last(Config, fun(Node, Engine) ->
                                   wait_until(fun() -> not call(
                                       Node, erlang, is_process_alive, [Engine])
                                              end)
                           end).

engine_is_last(Config, Until) ->
    {Node, Guard} = attached(Config),
    S = tracing(Node, Guard, #{}),
    case call(Node, erlang, whereis, [inviso_engine_server]) of
        undefined ->
            true = has_sessions(Node),
            clean(Config, Guard, [S]);
        Engine ->
            Slow = slow(Node, Engine),
            true = call(Node, erlang, exit, [S, kill]),
            gone = leave(Guard),
            ok = waits_for(Node, Guard, Engine),
            _ = Until(Node, Engine),
            true = call(Node, erlang, exit, [Slow, kill]),
            is_clean(?config(before, Config)),
            {all, false} = call(Node, erlang, trace_info,
                                [{lists, seq, 2}, all])
    end.

%% The engine and all sessions are killed at the same time, but not the guard. The guard has a note
%% of the patterns and flags that were set, and clears them.
all_are_killed_at_once(Config) ->
    {Node, Guard} = attached(Config),
    Traced = [{{lists, seq, 2}, traced}, {new_processes, flags},
              {send, match_spec}],
    Set = fun() -> [call(Node, erlang, trace_info, [What, Item])
                    || {What, Item} <- Traced] end,
    None = Set(),
    Ss = [tracing(Node, Guard, #{specs => [Spec]})
          || Spec <- [<<"lists:seq/2">>, <<"send({sharing, _})">>]],
    has_sessions(Node) orelse length(None -- Set()) =:= 3
        orelse ct:fail({not_seen, Set()}),
    Engine = call(Node, erlang, whereis, [inviso_engine_server]),
    Kill = inviso_guard:expressions(
             "process_flag(priority, max),"
             "[exit(P, kill) || P <- Ps, is_pid(P)]."),
    _ = call(Node, erl_eval, exprs, [Kill, [{'Ps', [Engine | Ss]}]]),
    clean(Config, Guard, []),
    None = Set().

%% A runtime component and a session of the command trace on the same node. The runtime component
%% uses the code that the command has pushed.
a_component_and_a_command(Config) ->
    {#{name := Name} = Node, Guard} = attached(Config),
    Log = filename:join(?config(dir, Config), "component.log"),
    {ok, _} = inviso:start(),
    {ok, [{Name, {ok, new}}]} = inviso:add_nodes([Name], sharing, []),
    {ok, [{Name, {ok, [{trace_log, ok}]}}]} =
        inviso:init_tracing([Name], {file, Log}),
    {ok, [{Name, {ok, [1]}}]} =
        inviso:tpl([Name], lists, seq, 2, [{[1, '$1'], [{'>', '$1', 5}], []}]),
    {ok, [{Name, {ok, [_]}}]} = inviso:tf([Name], all, [call]),
    S = tracing(Node, Guard, #{specs => [<<"lists:seq(1, X) when X < 8">>]}),
    ok = seqs(Node, lists:seq(1, 10)),
    [1, 2, 3, 4, 5, 6, 7] = numbers(events(Config, S)),
    ok = seqs(Node, [5, 6]),
    {ok, [{Name, {ok, idle}}]} = inviso:stop_tracing([Name]),
    Command = filename:join(inviso_test_lib:priv(), "inviso"),
    Out = os:cmd(Command ++ " merge " ++ Log ++ " 2>/dev/null"),
    {match, Found} = re:run(Out, "lists:seq\\(1,([0-9]+)\\)",
                            [global, {capture, all_but_first, list}]),
    ["6", "7", "8", "9", "10", "6"] = lists:append(Found),
    {ok, _} = inviso:stop_nodes([Name]),
    _ = inviso:stop(),
    clean(Config, Guard, [S]).
