%% SPDX-License-Identifier: Apache-2.0
%% @doc How processes come to the guard of a node ({@link inviso_guard}): those
%% that attach, on whose behalf our code is there, and those that trace.
%%
%% Code of ours is loaded by who attaches, with {@link loader/0}; from an Erlang
%% node {@link inviso_bring} does it. Requests and answers are in
%% c_src/abi/control.h, sections 2 and 3.
-module(inviso_push).

%% For who attaches.
-export([attach/1, loader/0, rt_loader/0, modules/0, rt_modules/0,
         engine_modules/0, files/0, build/0, build/2, priv_dir/0]).
%% For users of the guard.
-export([join/3, note/2, room/3, keeps/0, stays/1, session/2, claim/2, find/1,
         users/0, leave/2, report/1, await/3, own/0, owner/1, traced_by/1, reply/2, send/2]).

-export_type([guard/0, user/0]).

-type guard() :: pid().
-type class() :: usage | refused | nothing | failed | again.
-type failure() :: {error, class(), binary()}.
-type user() :: {session, Name :: binary(), Owner :: binary(),
                 Since :: integer()}
              | {rt, Client :: pid()}.

-type phase() :: active | alone | done | leaving.
%% alone: active, and nobody else can be.

-define(NAME, inviso_guard).
-define(PROTOCOL, 1).
-define(TIMEOUT, 30000).

%% --- for who attaches -------------------------------------------------------

%% @doc The modules a node needs that is traced by whoever, this one first. As
%% few as can be: loading and purging them is most of what attaching and leaving
%% take.
-spec modules() -> [module()].
modules() ->
    [inviso_push, inviso_guard, inviso_place, inviso_otp, inviso_opts,
     inviso_keeper, inviso_tracer, inviso_session, inviso_session_map,
     inviso_worker, inviso_follow, inviso_overload, inviso_status, inviso_near,
     inviso_spec, inviso_spec_elixir, inviso_spec_head, inviso_spec_procs,
     inviso_arm, inviso_arm_foreign, inviso_arm_functions, inviso_arm_procs,
     inviso_arm_watch, inviso_expect | engine_modules()].

%% @doc Those of them that make trace sessions where the VM has none: nowhere
%% else are they loaded.
-spec engine_modules() -> [module()].
engine_modules() ->
    [inviso_trace, inviso_trace_errors, inviso_engine, inviso_engine_server,
     inviso_engine_breakpoints, inviso_engine_counted, inviso_engine_counters,
     inviso_engine_entry, inviso_engine_flags, inviso_engine_foreign,
     inviso_engine_functions, inviso_engine_compose, inviso_engine_lost,
     inviso_engine_patterns, inviso_engine_request, inviso_engine_spec,
     inviso_engine_tests, inviso_engine_tracees, inviso_engine_tracer,
     inviso_engine_tracers].

%% @doc Those that a runtime component needs as well.
-spec rt_modules() -> [module()].
rt_modules() ->
    [inviso_rt, inviso_rt_server, inviso_rt_request, inviso_rt_control,
     inviso_rt_meta, inviso_rt_overload, inviso_rt_patterns, inviso_rt_counters,
     inviso_rt_callback, inviso_rt_procs,
     inviso_modules, inviso_tracerdata, inviso_fetch,
     inviso_ti, inviso_meta_spec, inviso_meta_names, inviso_meta_publ,
     inviso_meta_feed, inviso_meta_state, inviso_meta_callback,
     inviso_output, inviso_deliver, inviso_receiver, inviso_handler, inviso_collector, inviso_relay,
     inviso_ip, inviso_rt_logs].

%% @doc What is equal for equal code: of modules as they are loaded, and of
%% files by their names.
-spec build([{module(), term(), binary()}], [{string(), binary()}]) ->
          binary().
build(Modules, Files) ->
    build_of([begin
                  {ok, {M, Md5}} = beam_lib:md5(Beam),
                  {atom_to_list(M), Md5}
              end || {M, _, Beam} <- Modules]
             ++ [{Name, erlang:md5(Bytes)} || {Name, Bytes} <- Files]).

build_of(Sums) ->
    Md5 = erlang:md5([[Name, 0, Sum] || {Name, Sum} <- lists:sort(Sums)]),
    iolist_to_binary([io_lib:format("~2.16.0b", [B])
                      || B <- binary_to_list(Md5)]).

%% @doc The build of what is installed here.
-spec build() -> binary().
build() ->
    Priv = priv_dir(),
    Files = [{Name, file:read_file(filename:join(Priv, Name))}
             || Name <- files()],
    build_of([{atom_to_list(M), M:module_info(md5)} || M <- modules()]
             ++ [{Name, erlang:md5(Bytes)} || {Name, {ok, Bytes}} <- Files]).

%% @doc The files that may have to be brought.
-spec files() -> [string()].
files() ->
    ["inviso_tracer.so", "inviso_spool", "inviso_engine.so"].

%% @doc Where NIF, spooler and command are. Our own tree has ebin/ and priv/
%% beside each other, whatever its name is.
-spec priv_dir() -> file:filename().
priv_dir() ->
    case code:priv_dir(inviso) of
        {error, bad_name} ->
            Beam = code:which(?MODULE),
            Ebin = filename:dirname(filename:absname(Beam)),
            filename:join(filename:dirname(Ebin), "priv");
        Dir ->
            Dir
    end.

%% @doc What loads our code and attaches, for erl_eval:exprs/2 on the node; of
%% the variables `Mods' and `Args'. Code that is loaded stays as it is if it is
%% in use or installed; what a guard that was killed left, and what is still to
%% be purged of the last time, makes room.
-spec loader() -> [erl_parse:abstract_expr()].
loader() ->
    inviso_guard:expressions(
      lists:flatten(io_lib:format("Engine = ~w,", [engine_modules()])) ++
      "case catch erlang:register(inviso_loading, self()) of"
      "    true ->"
      "        Here = case erlang:function_exported("
      "                      erts_internal, trace_session_create, 3) of"
      "                   true ->"
      "                       [Mod || {M, _, _} = Mod <- Mods,"
      "                               not lists:member(M, Engine)];"
      "                   false ->"
      "                       Mods"
      "               end,"
      "        Loaded = [{M, code:is_loaded(M)} || {M, _, _} <- Here],"
      "        Left = [M || {M, {file, \"inviso_pushed\"}} <- Loaded],"
      "        case ets:whereis(inviso_guard) =:= undefined"
      "            andalso [M || {M, {file, _}} <- Loaded] -- Left of"
      "            [] ->"
      "                [code:delete(M) || M <- Left],"
      "                case [M || {M, _, _} <- Here,"
      "                           not code:soft_purge(M)] of"
      "                    [] ->"
      "                        ok = code:atomic_load(Here),"
      "                        inviso_push:attach(Args);"
      "                    _ ->"
      "                        {error, again, <<>>}"
      "                end;"
      "            _ ->"
      "                inviso_push:attach(Args)"
      "        end;"
      "    _ ->"
      "        {error, again, <<>>}"
      " end.").

%% @doc What loads the modules of a runtime component, for erl_eval:exprs/2 on a
%% node that has a guard; of the variables `Mods' and `Sums' ({M, Md5}). Modules
%% of this very version that the node has loaded itself stay as they are: the
%% application may run there. Only those that are not loaded are brought. Where
%% the guard itself is installed they are loaded from the same place.
-spec rt_loader() -> [erl_parse:abstract_expr()].
rt_loader() ->
    inviso_guard:expressions(
      "case catch erlang:register(inviso_loading, self()) of"
      "    true ->"
      "        Guard = ets:whereis(inviso_guard) =/= undefined,"
      "        Brought = code:is_loaded(inviso_push)"
      "            =:= {file, \"inviso_pushed\"},"
      "        _ = [code:ensure_loaded(M) || not Brought, {M, _} <- Sums],"
      "        Missing = [Mod || {M, _, _} = Mod <- Mods,"
      "                          code:is_loaded(M) =:= false],"
      "        Others = [M || {M, Sum} <- Sums,"
      "                       code:is_loaded(M) =/= false,"
      "                       erlang:get_module_info(M, md5) =/= Sum],"
      "        case {Guard, Others, Missing} of"
      "            {false, _, _} ->"
      "                {error, failed, <<\"the guard is gone\">>};"
      "            {true, [M | _], _} ->"
      "                From = case code:which(M) of"
      "                           \"inviso_pushed\" -> \"another node\";"
      "                           File -> File"
      "                       end,"
      "                {error, refused, unicode:characters_to_binary("
      "                     io_lib:format("
      "                         \"another version of inviso is loaded on this \""
      "                         \"node, ~ts from ~ts: install one version on \""
      "                         \"both nodes\", [M, From]))};"
      "            {true, [], []} ->"
      "                ok;"
      "            {true, [], [{M, _, _} | _]} when not Brought ->"
      "                {error, refused, unicode:characters_to_binary("
      "                     io_lib:format("
      "                         \"inviso is installed on this node without \""
      "                         \"its module ~ts: ~ts\","
      "                         [M, code:which(inviso_push)]))};"
      "            {true, [], _} ->"
      "                case [M || {M, _, _} <- Missing,"
      "                           not code:soft_purge(M)] of"
      "                    [] -> code:atomic_load(Missing);"
      "                    _ -> {error, again, <<>>}"
      "                end"
      "        end;"
      "    _ ->"
      "        {error, again, <<>>}"
      " end.").

%% @doc Attaches a client: to the guard that is here, or to a new one. The
%% calling process holds the lock. Besides the keys of control.h, `watch' may be
%% `process': the client is a process of an Erlang node, and is monitored.
-spec attach(map()) -> {ok, map()} | failure().
attach(Args) ->
    try checked(Args) of
        Client -> attach_to(whereis(?NAME), Client)
    catch
        throw:Bad ->
            %% The code may have come with this call, and nobody stays.
            ok = inviso_guard:tidy(),
            {error, usage, Bad}
    end.

attach_to(undefined, Client) ->
    Start = {self(), make_ref()},
    {Pid, Monitor} = spawn_monitor(inviso_guard, init, [Start, Client]),
    {_, Ref} = Start,
    receive
        {Ref, Answer} ->
            erlang:demonitor(Monitor, [flush]),
            Answer;
        {'DOWN', Monitor, process, Pid, _} ->
            {error, again, <<>>}
    end;
attach_to(Guard, Client) ->
    try
        gen_server:call(Guard, {attach, Client}, ?TIMEOUT)
    catch
        exit:_ -> {error, again, <<>>}
    end.

checked(#{protocol := ?PROTOCOL, build := Build, client := Client,
          owner := Owner, want := Want, dirs := Dirs} = Args)
  when is_binary(Build), is_pid(Client), is_binary(Owner),
       Want =:= code orelse Want =:= tracer, length(Dirs) >= 0 ->
    #{build => Build, client => Client, owner => Owner, want => Want,
      watch => maps:get(watch, Args, node),
      dirs => [directory(D) || D <- Dirs]};
checked(#{protocol := P}) when P =/= ?PROTOCOL ->
    throw(text("this node has inviso of protocol ~0tp, the command of ~0tp",
               [?PROTOCOL, P]));
checked(Args) ->
    throw(text("these are no arguments of attach: ~0tP", [Args, 20])).

directory(D) ->
    case is_binary(D)
        andalso unicode:characters_to_list(D, file:native_name_encoding()) of
        [_ | _] = Dir -> Dir;
        _ -> throw(text("this is no directory: ~0tp", [D]))
    end.

%% A guard that does not answer, or is gone.
call(Guard, Request) ->
    try
        gen_server:call(Guard, Request, ?TIMEOUT)
    catch
        exit:{Why, _} ->
            {error, failed, text("the guard does not answer: ~0tp", [Why])}
    end.

%% --- for users --------------------------------------------------------------

%% @doc From now on a process keeps the guard, until it dies. Of a runtime
%% component, the client who brought it does not any more.
-spec join(guard(), pid(), user()) ->
          {ok, ets:tab(), none | inviso_place:place()} | failure().
join(Guard, Pid, User) ->
    call(Guard, {join, Pid, User}).

%% @doc What the calling user has set in the VM at this moment. If it is killed,
%% the guard clears that. Without a guard and its heir there is no table; the user
%% is about to end then, and clears by itself.
-spec note(ets:tab(), inviso_otp:residue()) -> ok.
note(Table, Residue) ->
    try
        true = ets:insert(Table, {{residue, self()}, Residue}),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Which files the calling user has, and the keeper of the tracer that
%% writes them: they are removed when both are gone.
-spec room(ets:tab(), file:filename(), pid() | none) -> ok.
room(Table, Room, Keeper) ->
    true = ets:insert(Table, {{room, self()}, Room, Keeper}),
    ok.

%% @doc The calling process keeps a tracer: where there is a guard, our code
%% stays until it has ended, whoever it was started by.
-spec keeps() -> ok.
keeps() ->
    try
        true = ets:insert(?NAME, {{keeper, self()}, true}),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Nor does code that was brought go before the calling process has ended,
%% who outlives the user that it works for. After some time it is killed.
-spec stays(engine | worker) -> ok.
stays(Kind) ->
    try
        true = ets:insert(?NAME, {{stays, self()}, Kind}),
        ?NAME ! {stays, self()},
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Whether the calling user, a session, traces, is done, or is going.
-spec session(ets:tab(), phase()) -> ok.
session(Table, Phase) ->
    true = ets:update_element(Table, {user, self()}, {3, Phase}),
    ok.

%% @doc Whether the calling user, a session, can trace in this way beside the
%% others. Who says first what he needs, and looks then, is in nobody's way
%% unknown to both.
-spec claim(ets:tab(), inviso_otp:way()) -> ok | {error, binary()}.
claim(Table, shared) ->
    beside(Table, active, [alone]);
claim(Table, alone) ->
    beside(Table, alone, [active, alone]).

beside(Table, Phase, InTheWay) ->
    ok = session(Table, Phase),
    case [S || {Pid, {session, _, _, _} = S, P} <- users(), Pid =/= self(),
               lists:member(P, InTheWay)] of
        [S | _] when Phase =:= alone ->
            {error, text("~ts; on OTP ~ts what is asked for can not be traced "
                         "beside others",
                         [traced_by(S), erlang:system_info(otp_release)])};
        [S | _] ->
            {error, text("~ts; on OTP ~ts what that traces can not be traced "
                         "beside others",
                         [traced_by(S), erlang:system_info(otp_release)])};
        [] ->
            ok
    end.

%% @doc The session of a name.
-spec find(binary() | term()) -> {ok, pid()} | error.
find(Name) ->
    case [Pid || {Pid, {session, N, _, _}, _} <- users(), N =:= Name] of
        [Pid] -> {ok, Pid};
        [] -> error
    end.

%% @doc The users of the guard of this node.
-spec users() -> [{pid(), user(), phase()}].
users() ->
    try ets:match_object(?NAME, {{user, '_'}, '_', '_'}) of
        Rows -> [{Pid, User, Phase} || {{user, Pid}, User, Phase} <- Rows]
    catch
        error:badarg -> []
    end.

%% @doc Detaches a client. Of a user it waits until that is gone.
-spec leave(guard(), pid()) -> gone | {others, [binary()]} | failure().
leave(Guard, Client) ->
    call(Guard, {leave, Client}).

%% @doc Asks a guard for a word, to the caller, on how its work at the end went.
-spec report(guard()) -> reference().
report(Guard) ->
    Ref = make_ref(),
    Guard ! {report, Ref, self()},
    Ref.

%% @doc Waits until a guard has undone everything and is gone.
-spec await(guard(), reference(), timeout()) -> ok | {error, term()}.
await(Guard, Report, Timeout) ->
    Monitor = monitor(process, Guard),
    receive
        {'DOWN', Monitor, process, Guard, _} ->
            receive {Report, Result} -> Result after 0 -> ok end
    after Timeout ->
            erlang:demonitor(Monitor, [flush]),
            {error, {not_removed, Guard}}
    end.

%% @doc The processes that are never to be traced.
-spec own() -> [pid()].
own() ->
    try
        [Pid || {own, Pids} <- ets:lookup(?NAME, own), Pid <- Pids]
    catch
        error:badarg -> []
    end.

%% @doc A user, in words.
-spec owner(user()) -> binary().
owner({session, Name, Owner, _}) ->
    text("~ts (session ~ts)", [Owner, Name]);
owner({rt, Client}) ->
    text("the Inviso API of ~ts", [node(Client)]).

%% @doc Who traces with a session, in words.
-spec traced_by(user()) -> binary().
traced_by({session, Name, Owner, Since}) ->
    text("traced by ~ts since ~ts, session ~ts",
         [Owner, calendar:system_time_to_rfc3339(
                   Since, [{time_designator, $\s}]), Name]).

%% @doc Answers a request, as {@link send/2} does.
-spec reply({pid(), term()}, term()) -> ok.
reply({Pid, [alias | Alias] = Tag}, Answer)
  when is_pid(Pid), is_reference(Alias) ->
    send(Alias, {Tag, Answer});
reply({Pid, Tag}, Answer) when is_pid(Pid) ->
    send(Pid, {Tag, Answer});
reply(_, _) ->
    ok.

%% @doc Sends a message. A connection whose buffer is full must not suspend who
%% has a node to look after: then a process that runs none of our code waits in
%% its stead.
-spec send(pid() | reference(), term()) -> ok.
send(To, Message) ->
    case erlang:send(To, Message, [nosuspend, noconnect]) of
        nosuspend ->
            _ = spawn(erlang, send, [To, Message, [noconnect]]),
            ok;
        _ ->
            ok
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
