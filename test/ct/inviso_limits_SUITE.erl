%% SPDX-License-Identifier: Apache-2.0
%% The limits of a session hold from the first flag on, even while arming (setting the patterns and
%% flags) hangs. The tests suspend the engine's server on OTP 25 and 26, and the session itself on
%% later releases.
-module(inviso_limits_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([time_holds_while_arming_hangs/1,
         events_hold_while_arming_hangs/1,
         time_is_up_before_all_is_armed/1,
         time_is_up_before_anything_is_traced/1,
         patterns_take_none_of_the_time/1,
         patterns_may_take_as_long_as_the_time/1,
         all_of_many_processes_are_armed/1,
         a_traced_process_among_many_is_found/1,
         a_plan_is_hardly_seen_by_other_sessions/1,
         slow_requests_are_logged/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, ask/2, start/3, wait_state/2, leave/1]).

%% These test cases call modules of inviso by name. In pushed code these modules
%% do not exist, because all modules are combined into one.
-define(NEED_MODULES, [a_plan_is_hardly_seen_by_other_sessions,
                       slow_requests_are_logged]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [time_holds_while_arming_hangs,
     events_hold_while_arming_hangs,
     time_is_up_before_all_is_armed,
     time_is_up_before_anything_is_traced,
     patterns_take_none_of_the_time,
     patterns_may_take_as_long_as_the_time,
     all_of_many_processes_are_armed,
     a_traced_process_among_many_is_found,
     a_plan_is_hardly_seen_by_other_sessions,
     slow_requests_are_logged].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    Node = case lists:member(Case, ?NEED_MODULES) of
               true -> inviso_test_lib:start_node(limits, Dir);
               false -> inviso_test_lib:start_stock_node(limits, Dir)
           end,
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    ok = evaluated(Node, "register(caller, spawn(fun() ->"
                   " F = fun F(N) -> put(calls, N), lists:seq(1, 2),"
                   " receive after 1 -> F(N + 1) end end, F(0) end)),"
                   "Idle = fun() -> receive stop -> ok end end,"
                   "_ = [spawn(Idle) || _ <- lists:seq(1, N)],"
                   "true = register(last, spawn(Idle)), ok.", [{'N', idle()}]),
    [{node, Node}, {dir, Dir} | Config].

%% Returns a number of processes so large that setting their flags takes several steps of 8 ms.
idle() ->
    case inviso_vm:has_sessions() of
        true -> 80000;
        false -> 20000
    end.

end_per_testcase(_Case, Config) ->
    inviso_test_lib:stop_node(?config(node, Config)).

%% Arming hangs until two seconds after the time limit. All recorded events
%% happened before the limit, and the flags are cleared when the hang ends.
time_holds_while_arming_hangs(Config) ->
    {Node, Guard, S, Hung} = hung(Config, #{ms => 1000}),
    Late = monotonic_ms(Node) + 3000,
    wait_until(fun() -> monotonic_ms(Node) > Late end),
    resume(Node, Hung),
    #{state := stopped, why := time, class := none, text := <<"1 s passed">>,
      ms_left := 0, lost := Lost} = Status = wait_state(S, [failed, stopped]),
    [limit] = maps:keys(Lost),
    short_of_processes(Status),
    Times = times(Config, S, Status),
    %% The bound is 100 ms more than the time limit, because the times have a
    %% small error: they are converted with clock anchors.
    Span = lists:max(Times) - lists:min(Times),
    ct:comment("~b events in ~b ms", [length(Times), Span div 1000000]),
    true = Span < 1100 * 1000000,
    untraced(Node, Guard).

events_hold_while_arming_hangs(Config) ->
    {Node, Guard, S, Hung} = hung(Config, #{ms => 500000, events => 200}),
    Calls = calls(Node),
    wait_until(fun() -> calls(Node) > Calls + 400 end),
    resume(Node, Hung),
    #{state := stopped, why := events, text := Text, notes := Notes,
      recorded := N, lost := Lost} = Status = wait_state(S, [failed, stopped]),
    [limit] = maps:keys(Lost),
    true = N =< 200,
    N = length(times(Config, S, Status)),
    match(Text, "limit 200"),
    [_] = [Note || Note <- Notes,
                   re:run(Note, "before everything was armed: 1 of 1 "
                          "functions, and [0-9]+ of ") =/= nomatch],
    untraced(Node, Guard).

%% Fails unless exactly one note says that a limit was reached before all processes had their flags,
%% and mentions the options --for and --procs.
short_of_processes(#{notes := Notes}) ->
    [_] = [Note || Note <- Notes,
                   re:run(Note, "^a limit was reached before everything was armed: "
                          "1 of 1 functions, and [0-9]+ of [0-9]+ processes\\."
                          " .*--for.*--procs") =/= nomatch].

%% The time limit of 1 ms usually ends before all processes have their flags. On a fast machine all
%% may have them, because the session checks the limit only every 50 ms.
time_is_up_before_all_is_armed(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, S, #{ms_left := Left}} = start(Node, Guard, more(#{ms => 1})),
    true = Left =< 1,
    case wait_state(S, [failed, stopped]) of
        #{state := stopped, why := time, text := <<"1 ms passed">>,
          notes := []} ->
            ok;
        #{state := stopped, why := time, text := <<"1 ms passed">>} = Status ->
            short_of_processes(Status);
        #{state := failed, why := time, text := Text} ->
            match(Text, "^1 ms passed before anything was traced")
    end,
    untraced(Node, Guard).

%% It takes longer than the limit of arming to set patterns in 20 modules.
time_is_up_before_anything_is_traced(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {ok, S, _} = start(Node, Guard, (more(#{ms => 1}))#{specs => specs(), arm_ms => 1}),
    #{state := failed, why := time, class := failed, text := Text, notes := Notes} =
        wait_state(S, [failed, stopped]),
    match(Text, "^1 ms passed before anything was traced: [0-9]+ of [0-9]+ "
          "functions, and no process\\. .*--for.*fewer functions"),
    [] = [Note || Note <- Notes, binary:match(Note, <<"a limit">>) =/= nomatch],
    untraced(Node, Guard).

%% Returns specs of 20 modules. There must be many modules, because all patterns of one module are
%% set at once.
specs() ->
    [<<(atom_to_binary(M))/binary, ":_/_">>
     || M <- [ets, erl_eval, erl_parse, erl_scan, io_lib, io_lib_pretty, maps,
              proplists, gen_server, supervisor, code_server,
              application_controller, logger, string, unicode_util, sets, dict,
              gb_trees, orddict, lists]].

%% Setting the patterns hangs for longer than the time limit. The time begins after that.
patterns_take_none_of_the_time(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {S, Hung} = hung_in_patterns(Node, Guard, #{ms => 2000}, 50),
    Late = monotonic_ms(Node) + 3000,
    wait_until(fun() -> monotonic_ms(Node) > Late end),
    resume(Node, Hung),
    #{state := stopped, why := time, text := <<"2 s passed">>, notes := Notes} =
        wait_state(S, [failed, stopped]),
    [] = [Note || Note <- Notes, binary:match(Note, <<"a limit">>) =/= nomatch],
    untraced(Node, Guard).

patterns_may_take_as_long_as_the_time(_Config) ->
    New = inviso_session_limits:new(#{ms => 5000}),
    [begin
         Limits = inviso_session_limits:begin_arming(ArmMs, New),
         Most = inviso_session_limits:most_ms(Limits),
         5000 = inviso_session_limits:ms_left(Limits)
     end || {ArmMs, Most} <- [{1, 5000}, {60000, 60000}]],
    Begun = inviso_session_limits:begin_time(
              inviso_session_limits:begin_arming(60000, New)),
    5000 = inviso_session_limits:most_ms(Begun),
    true = inviso_session_limits:ms_left(Begun) =< 5000,
    None = inviso_session_limits:begin_arming(60000, inviso_session_limits:new(#{})),
    infinity = inviso_session_limits:ms_left(None).

%% --- many processes ---------------------------------------------------------

%% Processes start and end while the session sets flags. In the end each process that exists has the
%% flags.
all_of_many_processes_are_armed(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Storm = evaluated(Node, "F = fun F() ->"
                      " [spawn(fun() -> ok end) || _ <- lists:seq(1, 10)],"
                      " receive stop -> ok after 1 -> F() end end,"
                      "[spawn(F) || _ <- lists:seq(1, 4)].", []),
    {ok, S, _} = start(Node, Guard, #{name => <<"hung">>, specs => [<<"procs">>],
                                      follow => [spawned]}),
    _ = wait_state(S, [tracing]),
    [true = is_traced(Node, Name) || Name <- [caller, last]],
    true = lists:all(fun(P) -> is_traced_pid(Node, P) end, Storm),
    [P ! stop || P <- Storm],
    #{state := stopped} = ask(S, stop),
    untraced(Node, Guard).

%% On OTP 25 and 26 a process can have only one tracer. If another tool traces
%% one of the processes, the error says which process, and no flag is set.
a_traced_process_among_many_is_found(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Other = inviso_test_lib:spawn_call(Node, timer, sleep, [infinity]),
    1 = evaluated(Node, "erlang:trace(whereis(last), true,"
                  " [call, {tracer, Other}]).", [{'Other', Other}]),
    Whose = pid_text(Node, call(Node, erlang, whereis, [last])),
    By = pid_text(Node, Other),
    %% After a session was refused, its name may stay in use for a moment.
    case {inviso_vm:has_sessions(), start(Node, Guard, more(#{ms => 60000}))} of
        {true, {ok, S, _}} ->
            ok = ask(S, remove);
        {false, {error, refused, Text}} ->
            match(Text, "traced already, by process " ++ By),
            {error, refused, Ports} =
                start(Node, Guard, (more(#{ms => 60000}))
                                   #{name => <<"other">>,
                                     specs => [<<"procs">>]}),
            match(Ports, Whose ++ " \\(last\\) is already traced, by process "
                  ++ By)
    end,
    {flags, [call]} = evaluated(Node, "erlang:trace_info(whereis(last), flags).",
                                []),
    gone = leave(Guard).

%% Before a session sets anything, helper processes check for thousands of processes whether another
%% tool traces them. If another session traces new processes, that session gets events of the
%% helpers. So there must be few helpers.
a_plan_is_hardly_seen_by_other_sessions(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Trace = case inviso_vm:has_sessions() of
                true -> trace;
                false -> inviso_trace
            end,
    Events =
        evaluated(Node, "Keep = fun Keep(L) -> receive"
                  " {tell, To} -> To ! {told, L}; E -> Keep([E | L]) end end,"
                  "Keeper = spawn(fun() -> Keep([]) end),"
                  "S = Trace:session_create(other, Keeper, []),"
                  "_ = Trace:process(S, new, true, [procs, send]),"
                  "spawn(fun() -> ok end),"
                  "{ok, _, _} = inviso_arm:plan(#{specs => [<<\"procs\">>],"
                  "  procs => [<<\"existing\">>], follow => []}),"
                  "Ref = Trace:delivered(S, all),"
                  "receive {trace_delivered, all, Ref} -> ok end,"
                  "true = Trace:session_destroy(S),"
                  "Keeper ! {tell, self()},"
                  "receive {told, L} -> L end.",
                  [{'Trace', Trace}]),
    Born = [P || {trace, P, spawned, _, _} <- Events],
    ct:comment("~b events, ~b births", [length(Events), length(Born)]),
    true = Born =/= [],
    true = length(Born) =< 16,
    true = length(Events) < 64,
    gone = leave(Guard).

%% Returns the pid as the node prints it.
pid_text(Node, Pid) ->
    call(Node, erlang, pid_to_list, [Pid]).

%% If a request keeps the engine's server busy for a long time, a line in the node's log says so,
%% because all sessions on the node wait for this server.
slow_requests_are_logged(Config) ->
    Node = ?config(node, Config),
    case inviso_vm:has_sessions() of
        true -> {skip, "this VM has trace sessions itself"};
        false -> told_of(Node)
    end.

told_of(Node) ->
    {ok, #{guard := Guard}} = attach(Node),
    Log = filename:join(maps:get(dir, Node), "logged"),
    ok = call(Node, logger, add_handler,
              [told, logger_std_h,
               #{config => #{file => Log},
                 formatter => {logger_formatter, #{single_line => true}}}]),
    %% The engine's server runs as long as a session exists.
    Keeper = evaluated(Node, "Me = self(), P = spawn(fun() ->"
                       " S = inviso_trace:session_create(kept, self(), []),"
                       " Me ! kept, receive stop -> S end end),"
                       "receive kept -> P end.", []),
    [] = slow_lines(Log, Node),
    [Line] = told(Log, Node, 20),
    match(Line, "trace sessions: a request took [1-9][0-9]{3,} ms: set "
          "flags of {process,existing}"),
    %% A slow request is not reported if another one was reported shortly before.
    _ = [slow_request(Node) || _ <- [1, 2]],
    [Line] = slow_lines(Log, Node),
    Keeper ! stop,
    gone = leave(Guard).

%% Makes slow requests until the log has a line. If the server completes a request before
%% slow_request/1 suspends the server, the request is not slow, and the log gets no line.
told(Log, Node, Turns) ->
    slow_request(Node),
    case slow_lines(Log, Node) of
        [] when Turns > 1 -> told(Log, Node, Turns - 1);
        Lines -> Lines
    end.

%% Suspends the engine's server while the server sets flags of all processes.
slow_request(Node) ->
    Text =
        "process_flag(priority, max),"
        "Look = fun Look() ->"
        "    Pid = whereis(inviso_engine_server),"
        "    case is_pid(Pid) andalso process_info(Pid, current_function) of"
        "        {current_function, {inviso_engine_flags, _, _}} -> Pid;"
        "        _ -> receive after 0 -> Look() end"
        "    end end,"
        "put(pid, Look()),"
        "erlang:suspend_process(get(pid)),"
        "receive after infinity -> ok end.",
    Hanger = inviso_test_lib:spawn_call(Node, erl_eval, exprs, [parsed(Text), []]),
    Asker = evaluated(Node, "spawn(fun() ->"
                      " S = inviso_trace:session_create(slow, self(), []),"
                      " N = inviso_trace:process(S, existing, true, [procs]),"
                      " put(reached, N),"
                      " true = inviso_trace:session_destroy(S),"
                      " receive stop -> ok end end).", []),
    wait_until(fun() -> dictionary(Node, Hanger, pid) =/= undefined end),
    Late = monotonic_ms(Node) + 1200,
    wait_until(fun() -> monotonic_ms(Node) > Late end),
    resume(Node, Hanger),
    wait_until(fun() -> dictionary(Node, Asker, reached) =/= undefined end),
    Asker ! stop,
    ok.

slow_lines(Log, Node) ->
    ok = call(Node, logger_std_h, filesync, [told]),
    {ok, Text} = file:read_file(Log),
    [L || L <- binary:split(Text, <<"\n">>, [global]),
          binary:match(L, <<"a request took">>) =/= nomatch].

%% --- a session that hangs ---------------------------------------------------

%% Starts a session whose arming is suspended in the middle: the process `caller' already has flags,
%% and the process `last' has none. If the machine pauses meanwhile, all processes may have flags,
%% or arming may have ended before the hanger suspends it. In both cases the function tries again.
hung(Config, Limits) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    hung(Node, Guard, Limits, 20).

hung(Node, Guard, Limits, Turns) ->
    Hanger = hanger(Node),
    {ok, S, _} = start(Node, Guard, more(Limits)),
    wait_until(fun() -> dictionary(Node, Hanger, pid) =/= undefined end),
    case is_pid(dictionary(Node, Hanger, pid)) andalso arming(Node) of
        true ->
            {Node, Guard, S, Hanger};
        false when Turns > 1 ->
            resume(Node, Hanger),
            ok = ask(S, remove),
            %% The next hanger (see hanger/1) suspends the arming process as soon as `caller' has
            %% flags. So the old session's flags must be cleared first.
            wait_until(fun() -> not is_traced(Node, caller) end),
            hung(Node, Guard, Limits, Turns - 1)
    end.

%% Starts a session that traces a process, which calls nothing, and suspends the session while it
%% sets patterns. Tries again if the session has set all patterns before it is suspended.
hung_in_patterns(Node, Guard, Limits, Turns) ->
    {ok, S, _} = start(Node, Guard, (more(Limits))#{specs => [<<"app(stdlib)">>],
                                                    yes => true,
                                                    procs => [<<"last">>]}),
    Hanger = inviso_test_lib:spawn_call(
               Node, erl_eval, exprs,
               [parsed("process_flag(priority, max), erlang:suspend_process(S),"
                       "put(pid, S), receive after infinity -> ok end."), [{'S', S}]]),
    wait_until(fun() -> dictionary(Node, Hanger, pid) =/= undefined end),
    case has_pattern(Node, {unicode, bom_to_encoding, 1}) of
        false ->
            {S, Hanger};
        true when Turns > 1 ->
            resume(Node, Hanger),
            ok = ask(S, remove),
            wait_until(fun() -> not has_pattern(Node, {unicode, bom_to_encoding, 1}) end),
            hung_in_patterns(Node, Guard, Limits, Turns - 1)
    end.

has_pattern(Node, MFA) ->
    case inviso_vm:has_sessions() of
        true -> call(Node, trace, session_info, [MFA]) =/= [];
        false -> call(Node, erlang, trace_info, [MFA, traced]) =/= {traced, false}
    end.

more(Limits) ->
    #{name => <<"hung">>, mode => record, procs => [<<"existing">>],
      limits => Limits}.

%% Starts a process, the hanger, which suspends the arming process as soon as `caller' is traced.
%% Then the hanger's dictionary contains the pid of the arming process, or `ended' if that process
%% has already ended.
hanger(Node) ->
    Text =
        "process_flag(priority, max),"
        "Native = erlang:function_exported(erts_internal,"
        "                                  trace_session_create, 3),"
        "Look = fun Look() ->"
        "    case case Native of"
        "             true -> trace:session_info(whereis(caller));"
        "             false -> element(2, erlang:trace_info(whereis(caller),"
        "                                                   flags))"
        "         end of"
        "        [] -> receive after 0 -> Look() end;"
        "        _ -> ok"
        "    end end,"
        "Look(),"
        "Pid = case Native of"
        "          true ->"
        "              case inviso_tracer:'inviso_session:find'(<<\"hung\">>) of"
        "                  {ok, S} -> S;"
        "                  {error, _, _} -> undefined"
        "              end;"
        "          false -> whereis(inviso_engine_server)"
        "      end,"
        "Me = self(),"
        "Hold = fun Hold() ->"
        "    erlang:suspend_process(Pid),"
        "    Ref = make_ref(),"
        "    spawn(fun() -> Native andalso trace:session_info(Me),"
        "                   Me ! Ref end),"
        "    receive Ref -> ok"
        "    after 1000 ->"
        "            erlang:resume_process(Pid),"
        "            receive Ref -> Hold() end"
        "    end end,"
        "put(pid, try Hold(), Pid catch error:badarg -> ended end),"
        "receive after infinity -> ok end.",
    inviso_test_lib:spawn_call(Node, erl_eval, exprs, [parsed(Text), []]).

%% Kills the hanger. The process that the hanger has suspended then continues.
resume(Node, Hanger) ->
    true = call(Node, erlang, exit, [Hanger, kill]),
    ok.

%% Returns true if `caller' is traced and `last' is not.
arming(Node) ->
    is_traced(Node, caller) andalso not is_traced(Node, last).

is_traced(Node, Name) ->
    is_traced_pid(Node, call(Node, erlang, whereis, [Name])).

is_traced_pid(Node, Pid) ->
    case inviso_vm:has_sessions() of
        true -> call(Node, trace, session_info, [Pid]) =/= [];
        false -> call(Node, erlang, trace_info, [Pid, flags]) =/= {flags, []}
    end.

dictionary(Node, Pid, Key) ->
    {dictionary, D} = call(Node, erlang, process_info, [Pid, dictionary]),
    proplists:get_value(Key, D).

calls(Node) ->
    dictionary(Node, call(Node, erlang, whereis, [caller]), calls).

monotonic_ms(Node) ->
    call(Node, erlang, monotonic_time, [millisecond]).

%% --- afterwards -------------------------------------------------------------

%% Returns the times of the events in a session's log, and checks that the
%% counts add up.
times(Config, S, #{recorded := Recorded, dropped := Dropped,
                   produced := Produced}) ->
    Produced = Recorded + Dropped,
    {ok, [{Name, _}]} = ask(S, files),
    File = filename:join(?config(dir, Config), "fetched.log"),
    ok = file:write_file(File, inviso_remote_lib:read(S, Name)),
    Command = filename:join(inviso_test_lib:priv(), "inviso"),
    Out = os:cmd(Command ++ " merge --format json " ++ File ++ " 2>/dev/null"),
    Events = [E || L <- string:lexemes(Out, "\n"),
                   #{<<"tag">> := _} = E <-
                       [inviso_trace_json:decode(list_to_binary(L))]],
    Recorded = length(Events),
    [T || #{<<"ts">> := T} <- Events].

untraced(Node, Guard) ->
    {ok, S} = inviso_remote_lib:of_ours(maps:get(name, Node), inviso_session, find,
                                        [<<"hung">>]),
    false = is_traced(Node, caller),
    ok = ask(S, remove),
    gone = leave(Guard),
    wait_until(fun() -> not call(Node, erlang, module_loaded, [inviso_tracer])
               end).

evaluated(Node, Text, Bindings) ->
    {value, Value, _} = call(Node, erl_eval, exprs, [parsed(Text), Bindings]),
    Value.

parsed(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Expressions.

match(Text, Pattern) ->
    case re:run(Text, Pattern) of
        nomatch -> ct:fail({Pattern, does_not_match, Text});
        _ -> ok
    end.
