%% SPDX-License-Identifier: Apache-2.0
%% @doc Common code of the suites of trace sessions: they play scripts (see
%% {@link inviso_sessions_play}) whose outcome on every release must be that of
%% OTP 27.
%%
%% In such a suite `Suite:Case(script)' returns the script of the case `Case'.
%% The outcomes on OTP 27 are in SUITE_data/otp27.terms, which record/1 writes
%% (tools/record-sessions.sh).
-module(inviso_sessions_lib).

-include_lib("common_test/include/ct.hrl").

-export([start/1, stop/1, nothing_left/1, left/0, same/3, record/1,
         has_sessions/0]).

-import(inviso_test_lib, [call/4, wait_until/1]).

-define(WORK, inviso_sessions_work).
-define(LATE, inviso_sessions_late).

%% @doc Starts a node for the suite, and adds it to the configuration.
-spec start([tuple()]) -> [tuple()].
start(Config) ->
    Dir = filename:dirname(code:which(?MODULE)),
    Node = inviso_test_lib:start_alone(?config(priv_dir, Config)),
    unlink(maps:get(peer, Node)),
    true = call(Node, code, add_patha, [Dir]),
    {module, _} = call(Node, code, ensure_loaded, [?WORK]),
    [{node, Node} | Config].

-spec stop([tuple()]) -> ok.
stop(Config) ->
    inviso_test_lib:stop_node(?config(node, Config)).

%% @doc Fails the test case if flags, patterns or processes of a session are
%% left at the end of the case.
-spec nothing_left([tuple()]) -> ok | {fail, {left, [term()]}}.
nothing_left(Config) ->
    Left = fun() -> call(?config(node, Config), ?MODULE, left, []) end,
    try
        wait_until(fun() -> Left() =:= [] end)
    catch
        error:timeout -> {fail, {left, Left()}}
    end.

-spec left() -> [term()].
left() ->
    [T || T <- processes() ++ erlang:ports() ++ [new_processes, new_ports],
          {flags, [_ | _]} <- [erlang:trace_info(T, flags)]]
        ++ [{M, F, A} || M <- [?WORK, ?LATE], erlang:module_loaded(M),
                         {F, A} <- M:module_info(functions),
                         erlang:trace_info({M, F, A}, all) =/= {all, false}]
        ++ [E || E <- [send, 'receive'],
                 erlang:trace_info(E, match_spec) =/= {match_spec, true}]
        ++ [on_load || erlang:trace_info(on_load, all) =/= {all, false}]
        ++ [server || whereis(inviso_engine_server) =/= undefined].

%% @doc Plays the script of a case, and compares the outcome. An error
%% `not_supported' does not fail the case.
-spec same(module(), atom(), [tuple()]) -> ok | {skip, term()}.
same(Suite, Case, Config) ->
    Node = ?config(node, Config),
    File = filename:join(?config(data_dir, Config), "otp27.terms"),
    {ok, All} = file:consult(File),
    {Case, Expected} = lists:keyfind(Case, 1, All),
    Played = call(Node, inviso_sessions_play, play, [Suite:Case(script)]),
    case Played of
        Expected ->
            ok;
        {Answers, _} ->
            ct:pal("OTP 27:~n~p~nhere:~n~p", [Expected, Played]),
            case [What || {error, {not_supported, What}}
                              <- lists:flatten(Answers)] of
                [What | _] -> {skip, {not_supported, What}};
                [] -> ct:fail(differs)
            end
    end.

%% @doc Plays the scripts of the suite on this VM, which must have trace sessions itself. Writes the
%% outcomes to a file.
-spec record(module()) -> ok.
record(Suite) ->
    true = has_sessions(),
    Text = [io_lib:format("~p.~n", [{Case, inviso_sessions_play:play(
                                             Suite:Case(script))}])
            || {_, Cases} <- Suite:groups(), Case <- Cases],
    ok = file:write_file(atom_to_list(Suite) ++ ".terms", Text).

-spec has_sessions() -> boolean().
has_sessions() ->
    erlang:function_exported(erts_internal, trace_session_create, 3).
