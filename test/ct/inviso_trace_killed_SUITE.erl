%% SPDX-License-Identifier: Apache-2.0
%% Trace sessions whose server is killed, on OTP 25 and 26: the next server
%% clears the counters that sessions have left, and no others.
-module(inviso_trace_killed_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([counters_of_all_sessions/1,
         a_server_killed_while_it_arms/1,
         counters_of_code_that_has_gone/1,
         counters_of_code_that_comes/1,
         counters_that_have_gone_before/1,
         code_that_comes_before_a_session_is_forgotten/1,
         code_that_comes_while_a_session_ends/1,
         no_room_for_notes/1]).

%% Functions that run on the node.
-export([all_sessions/0, while_it_arms/0, code_has_gone/0, code_comes/0,
         gone_before/0, forgotten/0, comes_at_the_end/0, no_room/0, log/2]).

-import(inviso_test_lib, [call/4, wait_until/1]).

-define(WORK, inviso_sessions_work).
-define(LATE, inviso_sessions_late).
-define(MADE, inviso_sessions_made).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [counters_of_all_sessions,
     a_server_killed_while_it_arms,
     counters_of_code_that_has_gone,
     counters_of_code_that_comes,
     counters_that_have_gone_before,
     code_that_comes_before_a_session_is_forgotten,
     code_that_comes_while_a_session_ends,
     no_room_for_notes].

init_per_suite(Config) ->
    case inviso_sessions_lib:has_sessions() of
        true -> {skip, "OTP's own sessions"};
        false -> inviso_sessions_lib:start(Config)
    end.

end_per_suite(Config) ->
    inviso_sessions_lib:stop(Config).

init_per_testcase(_Case, Config) ->
    Config.

end_per_testcase(_Case, Config) ->
    inviso_sessions_lib:nothing_left(Config).

%% The server is killed when two sessions have counters of all kinds, on single functions and on
%% whole modules. All these counters are cleared. Another tool's counters stay, even on the same
%% function.
counters_of_all_sessions(Config) ->
    ok = call(?config(node, Config), ?MODULE, all_sessions, []).

all_sessions() ->
    make(1),
    1 = erlang:trace_pattern({?MADE, f, 0}, true, [call_count]),
    1 = erlang:trace_pattern({?WORK, g, 2}, true, [call_time]),
    [A, B] = sessions(2),
    {error, _} = refused(A, {?MADE, '_', '_'}, [call_count]),
    1 = inviso_trace:function(A, {?WORK, g, 2}, true, [call_count]),
    1 = inviso_trace:function(A, {?WORK, f, 1}, true, [local | kinds()]),
    1 = inviso_trace:function(B, {?WORK, f, 1}, true, [call_count]),
    _ = [true = 0 < inviso_trace:function(S, {M, '_', '_'}, true, kinds())
         || {S, M} <- [{A, lists}, {B, lists}, {B, maps}]],
    1 = inviso_trace:function(A, {lists, reverse, 1}, pause, [call_count]),
    1 = inviso_trace:function(B, {lists, member, 2}, restart, [call_count]),
    1 = inviso_trace:function(B, {lists, member, 2}, false, [call_time]),
    true = length(counted()) > 100,
    His = [{{?MADE, f, 0}, call_count}, {{?WORK, g, 2}, call_time}],
    ok = killed([A, B], His),
    clear(His).

refused(S, What, Kinds) ->
    try {ok, inviso_trace:function(S, What, true, Kinds)}
    catch error:Reason -> {error, Reason}
    end.

%% The server is killed when it has set some of the requested counters.
a_server_killed_while_it_arms(Config) ->
    ok = call(?config(node, Config), ?MODULE, while_it_arms, []).

while_it_arms() ->
    make(1),
    1 = erlang:trace_pattern({?MADE, f, 0}, true, [call_time]),
    [S] = sessions(1),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [call_count]),
    {_, Monitor} = spawn_monitor(
                     fun() -> refused(S, {'_', '_', '_'}, [call_count]) end),
    %% The server runs with priority `high'. To kill it in time, this process needs a higher
    %% priority.
    Old = process_flag(priority, max),
    ok = until_counted(),
    exit(whereis(inviso_engine_server), kill),
    process_flag(priority, Old),
    receive {'DOWN', Monitor, process, _, _} -> ok end,
    His = [{{?MADE, f, 0}, call_time}],
    ok = cleaned([S], His),
    His = counted(erlang:loaded()),
    clear(His).

until_counted() ->
    Modules = erlang:loaded(),
    case [M || M <- Modules, M =/= ?WORK, is_set({M, module_info, 0},
                                                 call_count)] of
        [] -> receive after 1 -> until_counted() end;
        _ -> ok
    end.

%% A module with counters is loaded again. The server is killed before it notices the new module.
counters_of_code_that_has_gone(Config) ->
    ok = call(?config(node, Config), ?MODULE, code_has_gone, []).

code_has_gone() ->
    make(1),
    [S] = sessions(1),
    3 = inviso_trace:function(S, {?MADE, '_', '_'}, true, [call_count]),
    1 = inviso_trace:function(S, {?WORK, f, 1}, true, [call_count]),
    make(2),
    1 = erlang:trace_pattern({?MADE, f, 0}, true, [call_count]),
    ok = killed([S], [{{?MADE, f, 0}, call_count}]),
    clear([{{?MADE, f, 0}, call_count}]).

%% Two modules are loaded. The server notices the first module, and is killed before it notices the
%% second.
counters_of_code_that_comes(Config) ->
    ok = call(?config(node, Config), ?MODULE, code_comes, []).

code_comes() ->
    make(1),
    true = code:delete(?LATE) orelse not erlang:module_loaded(?LATE),
    _ = code:purge(?LATE),
    Before = {?WORK, f, 1},
    1 = erlang:trace_pattern(Before, true, [call_count]),
    [S] = sessions(1),
    0 = inviso_trace:function(S, on_load, true, [call_count]),
    {module, ?LATE} = code:load_file(?LATE),
    {call_count, 0} = inviso_trace:info(S, {?LATE, g, 1}, call_count),
    Since = {?LATE, f, 1},
    1 = inviso_trace:function(S, Since, false, [call_count]),
    1 = erlang:trace_pattern(Since, true, [call_count]),
    make(2),
    true = is_set({?MADE, f, 0}, call_count),
    His = [{Before, call_count}, {Since, call_count}],
    ok = killed([S], His),
    {all, false} = erlang:trace_info(on_load, all),
    clear(His).

%% The engine has a note of each counter that a session has set. When the counter is cleared, the
%% engine removes the note, even if other sessions still exist.
counters_that_have_gone_before(Config) ->
    ok = call(?config(node, Config), ?MODULE, gone_before, []).

gone_before() ->
    [A, B, Stays] = sessions(3),
    1 = inviso_trace:function(Stays, {?WORK, f, 1}, true, [call_count]),
    F = {lists, reverse, 1},
    Cleared = [begin
                   1 = inviso_trace:function(A, F, true, kinds()),
                   true = noted(F) =:= kinds(),
                   _ = Clear(),
                   noted(F)
               end
               || Clear <-
                      [fun() -> inviso_trace:function(A, F, false, kinds()) end,
                       fun() -> inviso_trace:function(A, F, pause, kinds()) end,
                       fun() -> inviso_trace:function(A, F, true, []) end,
                       fun() ->
                               1 = erlang:trace_pattern(F, true, [global]),
                               _ = inviso_trace:info(A, F, all),
                               1 = erlang:trace_pattern(F, false, [global])
                       end]],
    [[], [], [], []] = Cleared,
    0 = inviso_trace:function(B, on_load, true, [call_count]),
    [call_count] = noted(on_load),
    0 = inviso_trace:function(B, on_load, false, [call_count]),
    [] = noted(on_load),
    _ = inviso_trace:function(B, {maps, '_', '_'}, true, [call_count]),
    [call_count] = noted({maps, get, 2}),
    true = inviso_trace:session_destroy(B),
    [] = noted({maps, get, 2}),
    1 = erlang:trace_pattern(F, true, [call_count]),
    ok = killed([A, Stays], [{F, call_count}]),
    [] = noted({?WORK, f, 1}),
    clear([{F, call_count}]).

noted(Where) ->
    lists:sort(maps:keys(inviso_engine_counted:left(Where))).

%% A module is loaded, and its functions get counters of a session. The session ends before the
%% server notices that the module was loaded. The counters must be cleared. The server is not killed
%% in this case.
code_that_comes_before_a_session_is_forgotten(Config) ->
    ok = call(?config(node, Config), ?MODULE, forgotten, []).

forgotten() ->
    Self = self(),
    {_, Ref} = spawn_monitor(fun() -> has_on_load(Self) end),
    receive {'DOWN', Ref, process, _, done} -> ok end,
    ok = wait_until(fun() -> whereis(inviso_engine_server) =:= undefined end),
    [] = counted(),
    ok.

%% Creates a session, and exits. No other process has the session's handle, so the exit closes the
%% session.
has_on_load(Tracer) ->
    S = inviso_trace:session_create(s, Tracer, []),
    put(session, S),
    0 = inviso_trace:function(S, on_load, true, [call_count]),
    make(4),
    {call_count, 0} = erlang:trace_info({?MADE, f, 0}, call_count),
    exit(done).

%% Modules are loaded while a session ends. Some come after the server has looked for loaded
%% modules, and before it clears counters in the VM. No counter may stay.
code_that_comes_while_a_session_ends(Config) ->
    ok = call(?config(node, Config), ?MODULE, comes_at_the_end, []).

comes_at_the_end() ->
    Codes = [{M, code(M, N)}
             || N <- lists:seq(1, 200),
                M <- [list_to_atom("inviso_made_" ++ integer_to_list(N))]],
    Modules = [M || {M, _} <- Codes],
    Self = self(),
    _ = [begin
             [S] = sessions(1),
             0 = inviso_trace:function(S, on_load, true, [call_count]),
             Loader = spawn_link(fun() -> come(Codes, Self) end),
             receive {Loader, half} -> true = inviso_trace:session_destroy(S) end,
             receive {Loader, all} -> ok end,
             [] = counted(Modules),
             _ = [{code:delete(M), code:purge(M)} || M <- Modules]
         end || _ <- lists:seq(1, 10)],
    ok.

come(Codes, To) ->
    {First, Rest} = lists:split(100, Codes),
    come(First),
    To ! {self(), half},
    come(Rest),
    To ! {self(), all}.

come(Codes) ->
    _ = [{module, M} = erlang:load_module(M, Code) || {M, Code} <- Codes],
    ok.

%% If the engine's table has no room for the note of a counter, the engine logs a warning.
no_room_for_notes(Config) ->
    ok = call(?config(node, Config), ?MODULE, no_room, []).

no_room() ->
    ok = logger:add_handler(?MODULE, ?MODULE,
                            #{config => #{to => self()}, level => warning}),
    [S] = sessions(1),
    _ = [inviso_engine:room(?MADE, list_to_atom("f" ++ integer_to_list(N)), 0)
         || N <- lists:seq(1, 70000)],
    %% The table of notes is full, so the engine has no room for a note of this function.
    make(inviso_sessions_new, 1),
    1 = inviso_trace:function(S, {inviso_sessions_new, f, 0}, true,
                              [call_count]),
    ok = receive
             {log, "no room to note more counted functions" ++ _} -> ok
         after 60000 -> not_told
         end,
    ok = logger:remove_handler(?MODULE),
    true = inviso_trace:session_destroy(S),
    ok.

%% A callback of logger: sends the texts of the engine to the test.
log(#{msg := {"trace sessions: ~ts", [Text]}}, #{config := #{to := To}}) ->
    To ! {log, Text};
log(_, _) ->
    ok.

%%---------------------------------------------------------------------------

sessions(N) ->
    [inviso_trace:session_create(s, self(), []) || _ <- lists:seq(1, N)].

kinds() ->
    [K || K <- inviso_engine_counters:kinds(),
          inviso_engine_counters:exists(K)].

%% Returns the counters in the modules of this test only, because the node can load other modules at
%% any time.
counted() ->
    counted([?WORK, ?LATE, ?MADE, lists, maps]).

counted(Modules) ->
    lists:sort([{{M, F, A}, K} || M <- Modules, {F, A} <- functions(M),
                                  K <- kinds(), is_set({M, F, A}, K)]).

functions(M) ->
    try erlang:get_module_info(M, functions)
    catch error:badarg -> []
    end.

is_set(MFA, Kind) ->
    {Kind, Value} = erlang:trace_info(MFA, Kind),
    Value =/= false andalso Value =/= undefined.

killed(Sessions, His) ->
    exit(whereis(inviso_engine_server), kill),
    cleaned(Sessions, His).

%% Waits until all counters of sessions are cleared and the engine's server has ended. Then checks
%% that the other tool's counters, His, are still there.
cleaned(Sessions, His) ->
    Expected = lists:sort(His),
    _ = (catch wait_until(fun() -> counted() -- Expected =:= [] end)),
    ok = wait_until(fun() -> whereis(inviso_engine_server) =:= undefined end),
    %% These calls use the handles, so the handles are not garbage collected before this place.
    _ = [{'EXIT', {badarg, _}} = (catch inviso_trace:send(S, true, []))
         || S <- Sessions],
    case counted() of
        Expected -> ok;
        Left -> {error, {left, lists:sublist(Left -- Expected, 20),
                         {taken, Expected -- Left}}}
    end.

clear(His) ->
    _ = [1 = erlang:trace_pattern(MFA, false, [K]) || {MFA, K} <- His],
    ok.

%% Loads a module whose function f/0 returns N.
make(N) ->
    make(?MADE, N).

make(M, N) ->
    _ = code:purge(M),
    {module, M} = code:load_binary(M, "made", code(M, N)),
    ok.

code(M, N) ->
    Forms = [{attribute, 1, module, M},
             {attribute, 1, export, [{f, 0}]},
             {function, 1, f, 0, [{clause, 1, [], [], [{integer, 1, N}]}]}],
    {ok, M, Code} = compile:forms(Forms),
    Code.
