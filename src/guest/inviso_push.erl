%% SPDX-License-Identifier: Apache-2.0
%% @doc Functions with which clients and users call the guard of a node ({@link
%% inviso_guard}). Clients attach to the guard; users join it and trace.
%%
%% A client that attaches loads inviso's code with {@link loader/0}. On an Erlang
%% node, {@link inviso_bring} does this for the client. c_src/abi/control.h,
%% sections 2 and 3, specifies requests and answers.
-module(inviso_push).

%% Functions that the command calls (clients).
-export([attach/1, loader/0, files/0, brought/0, build/0, build/3]).
%% Functions for sessions and other users of the guard.
-export([join/3, note/3, room/2, stays/1, session/2, find/1, users/0,
         leave/2, report/1, await/3, own/0, owner/1, traced_by/1]).

-export_type([guard/0, user/0]).

-type guard() :: pid().
-type class() :: usage | refused | nothing | failed | again.
-type failure() :: {error, class(), binary()}.
-type user() :: {session, Name :: binary(), Owner :: binary(),
                 Since :: integer()}
              | {rt, Client :: pid()}.

-type phase() :: active | done | leaving.

-define(NAME, inviso_guard).
-include("inviso_options.hrl").
-define(TIMEOUT, 30000).

%% --- for clients ------------------------------------------------------------

%% @doc Returns the build: a checksum that is equal for equal code. It covers the
%% original modules, which run where inviso is installed; the combined modules,
%% which clients send to other nodes; and the files with their names.
-spec build([{module(), Md5 :: binary()}], [{module(), Md5 :: binary()}],
            [{string(), binary()}]) -> binary().
build(Modules, Combined, Files) ->
    Sums = [{atom_to_list(M), Md5} || {M, Md5} <- Modules]
        ++ [{"pushed/" ++ atom_to_list(M), Md5} || {M, Md5} <- Combined]
        ++ [{Name, erlang:md5(Bytes)} || {Name, Bytes} <- Files],
    Md5 = erlang:md5([[Name, 0, Sum] || {Name, Sum} <- lists:sort(Sums)]),
    iolist_to_binary([io_lib:format("~2.16.0b", [B])
                      || B <- binary_to_list(Md5)]).

%% @doc Returns the build of the inviso that is installed here, or a module or file
%% that is missing.
-spec build() -> {ok, binary()} | {missing, module() | file:filename()}.
build() ->
    case inviso_pushed:combined() of
        [] -> {missing, inviso_pushed:list()};
        _ -> installed()
    end.

installed() ->
    Priv = inviso_priv:dir(),
    Files = [{Name, file:read_file(filename:join(Priv, Name))}
             || Name <- files()],
    Modules = lists:append([Ms || {_, Ms} <- inviso_pushed:rooms()]),
    %% Modules that are loaded together take half of the CPU time.
    _ = code:ensure_modules_loaded(Modules),
    Sums = [{M, md5(M)} || M <- Modules],
    Combined = [{M, md5_of(filename:join(inviso_pushed:dir(), M), M)}
                || M <- inviso_pushed:combined()],
    case lists:keyfind(none, 2, Sums ++ Combined) of
        {M, none} -> {missing, M};
        false -> {ok, build(Sums, Combined, [{Name, Bytes}
                                             || {Name, {ok, Bytes}} <- Files])}
    end.

%% Returns the checksum of an installed module. If a client has sent the loaded
%% module, it is a combination of many modules, so the checksum is read from the
%% installed file.
md5(M) ->
    case code:is_loaded(M) of
        {file, "inviso_pushed"} ->
            md5_of(code:where_is_file(atom_to_list(M) ++ ".beam"), M);
        _ ->
            try M:module_info(md5)
            catch error:undef -> none
            end
    end.

md5_of(File, M) ->
    case beam_lib:md5(File) of
        {ok, {M, Md5}} -> Md5;
        {error, beam_lib, _} -> none
    end.

%% @doc Returns the files that the build covers.
-spec files() -> [string()].
files() ->
    ["inviso_tracer.so", "inviso_engine.so", "inviso_pushed.so", "inviso_spool"].

%% @doc Returns the files that clients send to a node: for each the name on the
%% node, and the installed file.
-spec brought() -> [{string(), string()}].
brought() ->
    [{"inviso_tracer.so", "inviso_pushed.so"}, {"inviso_spool", "inviso_spool"}].

%% @doc Returns the expressions that load inviso's code and attach a client, for
%% erl_eval:exprs/2 on the node, with the variables `Mods' and `Args'.
%%
%% If inviso is installed and one of its modules is loaded, the expressions load
%% nothing. If another client has sent some of `Mods', the expressions load only the
%% remaining modules. Code that lingers after a guard's end ({@link inviso_linger}) is
%% used, and not loaded again. Code that a killed guard has left is deleted as soon as
%% all processes that were started in this code have ended. Old code that is not
%% purged yet is purged.
%%
%% A node never removes an atom. So if the node has a certain atom that occurs only in
%% inviso's code, the code was on the node before.
-spec loader() -> [erl_parse:abstract_expr()].
loader() ->
    inviso_guard:expressions(
      "Names = [M || {M, _, _} <- Mods],"
      "case catch erlang:register(inviso_loading, self()) of"
      "    true ->"
      "        Brought = [M || {M, \"inviso_pushed\"} <- code:all_loaded()],"
      "        Purged = fun(Ms) ->"
      "                         [] =:= [M || M <- Ms, not code:soft_purge(M)]"
      "                 end,"
      "        Mine = [inviso_push | Names] -- Brought,"
      "        Installed = lists:any(fun(M) -> code:is_loaded(M) =/= false end,"
      "                              Mine),"
      "        case {ets:whereis(inviso_guard) =/= undefined,"
      "              lists:member(inviso_tracer, Brought), Installed} of"
      "            {true, true, _} ->"
      "                Missing = [Mod || {M, _, _} = Mod <- Mods,"
      "                                  code:is_loaded(M) =:= false],"
      "                Other = [M || M <- Names -- Brought,"
      "                              code:is_loaded(M) =/= false],"
      "                case {erlang:function_exported("
      "                          inviso_tracer, 'inviso_push:attach', 1),"
      "                      Other =:= [] orelse"
      "                          (catch inviso_push:build())"
      "                              =:= {ok, maps:get(build, Args, none)}} of"
      "                    {false, _} ->"
      "                        {error, refused,"
      "                         <<\"another version of inviso is on this node, \""
      "                           \"and must leave first\">>};"
      "                    {true, true} ->"
      "                        case Purged([M || {M, _, _} <- Missing])"
      "                            andalso"
      "                            inviso_tracer:'inviso_push:attach'(Args) of"
      "                            {ok, _} = Ok ->"
      "                                ok = code:atomic_load(Missing),"
      "                                Ok;"
      "                            false -> {error, again, <<>>};"
      "                            Error -> Error"
      "                        end;"
      "                    {true, false} ->"
      "                        {error, refused, unicode:characters_to_binary("
      "                             io_lib:format("
      "                                 \"another version of inviso is loaded \""
      "                                 \"on this node, ~ts from ~ts: install \""
      "                                 \"one version on both nodes\","
      "                                 [hd(Other), code:which(hd(Other))]))}"
      "                end;"
      "            {false, _, false} ->"
      "                Repeated = is_atom((catch list_to_existing_atom("
      "                                              \"inviso_guard:loop\"))),"
      "                Runs = fun(P) ->"
      "                           Calls = [proc_lib:translate_initial_call(P)"
      "                                    | [C || {_, C} <-"
      "                                               [erlang:process_info("
      "                                                    P, initial_call)]]],"
      "                           [] =/= [M || {M, _, _} <- Calls,"
      "                                        lists:member(M, Brought)]"
      "                       end,"
      "                Left = Brought =:= []"
      "                    orelse not lists:any(Runs, erlang:processes()),"
      "                [code:delete(M) || M <- Brought, Left],"
      "                case Left andalso Purged(Brought ++ (Names -- Brought)) of"
      "                    true ->"
      "                        ok = code:atomic_load(Mods),"
      "                        inviso_tracer:'inviso_push:attach'("
      "                            Args#{repeated => Repeated});"
      "                    false ->"
      "                        {error, again, <<>>}"
      "                end;"
      "            _ ->"
      "                case code:ensure_loaded(inviso_push) of"
      "                    {module, _} ->"
      "                        inviso_push:attach(Args);"
      "                    _ ->"
      "                        {error, refused,"
      "                         <<\"inviso is installed on this node without \""
      "                           \"its module inviso_push\">>}"
      "                end"
      "        end;"
      "    _ ->" ++ asked_holder() ++
      " end.").

%% Returns the expressions that ask the holder of the lock to attach the client. The
%% holder is asked only if no guard is running and code that a client has sent is
%% still loaded. Otherwise the client has to try again.
asked_holder() ->
    "        case ets:whereis(inviso_guard) =:= undefined"
    "            andalso code:is_loaded(inviso_tracer) of"
    "            {file, \"inviso_pushed\"} ->"
    "                Ref = erlang:monitor(process, inviso_loading),"
    "                catch inviso_loading !"
    "                    {attach, self(), Ref, Names, Args},"
    "                receive"
    "                    {Ref, Answer} ->"
    "                        erlang:demonitor(Ref, [flush]),"
    "                        Answer;"
    "                    {'DOWN', Ref, _, _, _} ->"
    "                        {error, again, <<>>}"
    "                after 200 ->"
    "                    erlang:demonitor(Ref, [flush]),"
    "                    {error, again, <<>>}"
    "                end;"
    "            _ ->"
    "                {error, again, <<>>}"
    "        end".

%% @doc Attaches a client to the guard of this node. If there is no guard, starts
%% one. The calling process must have the lock. `Args' has the keys that control.h
%% lists, and optionally `watch': the value `process' means that the client is a
%% process of an Erlang node, which can be monitored.
-spec attach(map()) -> {ok, map()} | failure().
attach(Args) ->
    try checked(Args) of
        Client -> attach_to(whereis(?NAME), Client)
    catch
        throw:Bad ->
            %% The code may have been loaded only for this call. Then no client
            %% needs it now.
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

checked(#{protocol := ?CONTROL_PROTOCOL, build := Build, client := Client,
          owner := Owner, want := Want, dirs := Dirs} = Args)
  when is_binary(Build), is_pid(Client), is_binary(Owner),
       Want =:= code orelse Want =:= tracer, length(Dirs) >= 0 ->
    #{build => Build, client => Client, owner => Owner, want => Want,
      watch => maps:get(watch, Args, node),
      repeated => maps:get(repeated, Args, false) =:= true,
      dirs => [directory(D) || D <- Dirs]};
checked(#{protocol := P}) when P =/= ?CONTROL_PROTOCOL ->
    throw(text("this node has inviso of protocol ~0tp, the command of ~0tp",
               [?CONTROL_PROTOCOL, P]));
checked(Args) ->
    throw(text("these are no arguments of attach: ~0tP", [Args, 20])).

directory(D) ->
    case is_binary(D)
        andalso unicode:characters_to_list(D, file:native_name_encoding()) of
        [_ | _] = Dir -> Dir;
        _ -> throw(text("this is no directory: ~0tp", [D]))
    end.

%% Calls the guard. Returns an error if the guard has ended or does not answer.
call(Guard, Request) ->
    try
        gen_server:call(Guard, Request, ?TIMEOUT)
    catch
        exit:{Why, _} ->
            {error, failed, text("the guard does not answer: ~0tp", [Why])}
    end.

%% --- for users --------------------------------------------------------------

%% @doc Makes a process a user: the guard stays until this process dies. If the
%% user is a runtime component, the client that has started it on this node is
%% detached.
-spec join(guard(), pid(), user()) ->
          {ok, ets:tab(), none | inviso_place:place()} | failure().
join(Guard, Pid, User) ->
    call(Guard, {join, Pid, User}).

%% @doc Stores in the guard's table what a user has set in the VM at this moment.
%% If the user is killed, the guard clears these settings. If guard and heir are both
%% dead, there is no table and nothing is stored. But in this case the user ends soon,
%% and clears its settings itself.
-spec note(ets:tab() | none, pid(), inviso_scope:residue()) -> ok.
note(Table, User, Residue) ->
    try
        true = ets:insert(Table, {{residue, User}, Residue}),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Stores in the guard's table the directory of the calling user's files. The
%% guard removes this directory after the user, and all keepers that write logs
%% into it, have ended.
-spec room(ets:tab(), file:filename()) -> ok.
room(Table, Room) ->
    true = ets:insert(Table, {{room, self()}, Room}),
    ok.

%% @doc Call this in a process that works for a user of the guard. If the user ends
%% earlier than this process, the guard waits for the process before it removes
%% inviso's code. If the process takes too long, the guard kills it.
-spec stays(worker) -> ok.
stays(Kind) ->
    try
        true = ets:insert(?NAME, {{stays, self()}, Kind}),
        ?NAME ! {stays, self()},
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Stores in the guard's table whether the calling session is tracing, has
%% finished, or is about to end.
-spec session(ets:tab(), phase()) -> ok.
session(Table, Phase) ->
    true = ets:update_element(Table, {user, self()}, {3, Phase}),
    ok.

%% @doc Finds a session by its name.
-spec find(binary() | term()) -> {ok, pid()} | error.
find(Name) ->
    case [Pid || {Pid, {session, N, _, _}, _} <- users(), N =:= Name] of
        [Pid] -> {ok, Pid};
        [] -> error
    end.

%% @doc Returns the users of the guard on this node.
-spec users() -> [{pid(), user(), phase()}].
users() ->
    try ets:match_object(?NAME, {{user, '_'}, '_', '_'}) of
        Rows -> [{Pid, User, Phase} || {{user, Pid}, User, Phase} <- Rows]
    catch
        error:badarg -> []
    end.

%% @doc Detaches a client. If the process is a user, waits until the user has ended.
-spec leave(guard(), pid()) -> gone | {others, [binary()]} | failure().
leave(Guard, Client) ->
    call(Guard, {leave, Client}).

%% @doc Asks the guard for a report: when the guard ends, it removes its files, and
%% then tells the caller whether this has succeeded.
-spec report(guard()) -> reference().
report(Guard) ->
    Ref = make_ref(),
    Guard ! {report, Ref, self()},
    Ref.

%% @doc Waits until a guard has undone everything and has ended.
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

%% @doc Returns the guard and its heir, which must never be traced.
-spec own() -> [pid()].
own() ->
    try
        [Pid || {own, Pids} <- ets:lookup(?NAME, own), Pid <- Pids]
    catch
        error:badarg -> []
    end.

%% @doc Describes a user in words.
-spec owner(user()) -> binary().
owner({session, Name, Owner, _}) ->
    text("~ts (session ~ts)", [Owner, Name]);
owner({rt, Client}) ->
    text("the Inviso API of ~ts", [node(Client)]).

%% @doc Describes a session in words: its owner, its start time and its name.
-spec traced_by(user()) -> binary().
traced_by({session, Name, Owner, Since}) ->
    text("traced by ~ts since ~ts, session ~ts",
         [Owner, calendar:system_time_to_rfc3339(
                   Since, [{time_designator, $\s}]), Name]).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
