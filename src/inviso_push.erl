%% SPDX-License-Identifier: Apache-2.0
%% @doc The guard: what is on a traced node of ours, while anybody needs it.
%%
%% ```
%%  command ---- attach ----.            .---- join ---- inviso_session
%%  command ---- attach ----+--> guard <-+---- join ---- inviso_session
%%  inviso_c --- attach ----'      :     '---- join ---- inviso_rt
%%    clients                      :                       users
%%                               heir
%% '''
%%
%% Code of ours is loaded by who attaches ({@link loader/0}, {@link
%% inviso_bring}), and the guard of a node is started by the first of them. Any
%% number of <em>clients</em> share it, if what they would bring is equal, and
%% any number of <em>users</em>, processes of ours that trace. When the last of
%% both is gone, it undoes everything: patterns that are still set, modules
%% (deleted and purged, so that the NIF is unloaded), files, directory, and at
%% last its own module. Where our code is installed it does only the first.
%%
%% A user that dies, in whatever way, leaves notes in the guard's table of what
%% of it is set in the VM and where its files are; the guard takes that away. A
%% guard that is killed is succeeded by its heir, who inherits the table; the
%% users end by themselves then.
%%
%% The name `inviso_loading' is a lock: who loads our code and attaches holds
%% it, and a guard that takes the code away does, through a process that runs
%% no code of ours. So nobody meets half of it.
%%
%% Requests and answers are in c_src/abi/control.h, sections 2 and 3.
-module(inviso_push).

%% For who attaches.
-export([attach/1, loader/0, modules/0, build/0, build/2, priv_dir/0]).
%% For users.
-export([join/3, note/2, room/3, session/2, find/1, sessions/0, leave/2,
         report/1, await/3, own/0, reply/2]).
-export([guard_init/1, guard/1, heir_init/1]).

-export_type([guard/0, user/0]).

-type guard() :: pid().
-type class() :: usage | refused | nothing | failed | again.
-type failure() :: {error, class(), binary()}.
-type user() :: {session, Name :: binary(), Owner :: binary(),
                 Since :: integer()}
              | {rt, Client :: pid()}.

-define(NAME, inviso_guard).
-define(LOCK, inviso_loading).
%% What code:which/1 says of a module that was brought.
-define(MARK, "inviso_pushed").
-define(PROTOCOL, 1).
-define(TIMEOUT, 30000).
%% How soon the lock is tried again.
-define(AGAIN_MS, 20).

-record(guard, {build :: binary(),
                pushed :: boolean(),
                place = none :: none | inviso_place:place(),
                heir = none :: none | {pid(), reference()},
                %% who is attached, and the monitor of a process of Erlang's
                clients = #{} :: #{pid() => {binary(), reference() | node}},
                users = #{} :: #{pid() => {reference(), user() | keeper}},
                %% who waits for a user to be gone
                waiting = [] :: [{pid(), {pid(), term()}}],
                %% who waits for a word on how the end went
                report = [] :: [{pid(), reference()}]}).

%% --- for who attaches -------------------------------------------------------

%% @doc The modules a traced node needs; this one comes first.
-spec modules() -> [module()].
modules() ->
    [inviso_push, inviso_place, inviso_otp, inviso_tracerdata, inviso_opts,
     inviso_keeper, inviso_tracer, inviso_fetch, inviso_rt_meta, inviso_rt,
     inviso_session, inviso_session_map, inviso_worker, inviso_follow,
     inviso_overload, inviso_status, inviso_near, inviso_spec,
     inviso_spec_elixir, inviso_spec_head, inviso_spec_procs, inviso_arm,
     inviso_arm_foreign, inviso_arm_functions, inviso_arm_procs,
     inviso_expect].

%% @doc What is equal for equal code: of modules as they are loaded, and of
%% files by their names, `inviso_tracer.so' and `inviso_spool'.
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
             || Name <- ["inviso_tracer.so", "inviso_spool"]],
    build_of([{atom_to_list(M), M:module_info(md5)} || M <- modules()]
             ++ [{Name, erlang:md5(Bytes)} || {Name, {ok, Bytes}} <- Files]).

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
%% the variables `Mods' and `Args'.
-spec loader() -> [erl_parse:abstract_expr()].
loader() ->
    expressions(
      "case catch erlang:register(inviso_loading, self()) of"
      "    true ->"
      "        case [M || {M, _, _} <- Mods, code:is_loaded(M) =/= false] of"
      "            [] -> ok = code:atomic_load(Mods);"
      "            _ -> ok"
      "        end,"
      "        inviso_push:attach(Args);"
      "    _ ->"
      "        {error, again, <<>>}"
      " end.").

expressions(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Expressions.

%% @doc Attaches a client: to the guard that is here, or to a new one. The
%% calling process holds the lock. Besides the keys of control.h, `watch' may be
%% `process': the client is a process of an Erlang node, and is monitored.
-spec attach(map()) -> {ok, map()} | failure().
attach(Args) ->
    try checked(Args) of
        Client -> attach_to(whereis(?NAME), Client)
    catch
        throw:Bad -> {error, usage, Bad}
    end.

attach_to(undefined, Client) ->
    Start = {self(), make_ref()},
    {Pid, Monitor} = spawn_monitor(?MODULE, guard_init, [{Start, Client}]),
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

%% @doc What of the calling user's is set in the VM at this moment, should it be
%% killed.
-spec note(ets:tab(), inviso_otp:residue()) -> ok.
note(Table, Residue) ->
    true = ets:insert(Table, {{residue, self()}, Residue}),
    ok.

%% @doc Which files the calling user has, and the keeper of the tracer that
%% writes them: they are removed when both are gone.
-spec room(ets:tab(), file:filename(), pid() | none) -> ok.
room(Table, Room, Keeper) ->
    true = ets:insert(Table, {{room, self()}, Room, Keeper}),
    ok.

%% @doc Whether the calling user, a session, traces or is done.
-spec session(ets:tab(), active | done) -> ok.
session(Table, Phase) ->
    true = ets:update_element(Table, {user, self()}, {3, Phase}),
    ok.

%% @doc The session of a name.
-spec find(binary()) -> {ok, pid()} | error.
find(Name) ->
    case [Pid || {Pid, {session, N, _, _}, _} <- sessions(), N =:= Name] of
        [Pid] -> {ok, Pid};
        [] -> error
    end.

%% @doc The users of the guard of this node.
-spec sessions() -> [{pid(), user(), active | done}].
sessions() ->
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

%% @doc Answers a request. A connection whose buffer is full must not suspend
%% who has a node to look after: then a process that runs none of our code waits
%% in its stead.
-spec reply({pid(), term()}, term()) -> ok.
reply({Pid, [alias | Alias] = Tag}, Answer) when is_pid(Pid) ->
    send(Alias, {Tag, Answer});
reply({Pid, Tag}, Answer) when is_pid(Pid) ->
    send(Pid, {Tag, Answer});
reply(_, _) ->
    ok.

send(To, Message) ->
    case erlang:send(To, Message, [nosuspend, noconnect]) of
        nosuspend ->
            _ = spawn(erlang, send, [To, Message, [noconnect]]),
            ok;
        _ ->
            ok
    end.

%% --- the guard --------------------------------------------------------------

%% @private
-spec guard_init({{pid(), reference()}, map()}) -> ok.
guard_init({{Starter, Ref}, #{build := Build} = Client}) ->
    %% No business of the group leader of whoever started us.
    group_leader(whereis(init), self()),
    Pushed = is_marked(?MODULE),
    Installed = not Pushed andalso build(),
    case Pushed orelse Build =:= Installed of
        true ->
            try
                ?NAME = ets:new(?NAME, [public, named_table]),
                register(?NAME, self())
            of
                true ->
                    G = new_heir(#guard{build = Build, pushed = Pushed}),
                    {Answer, G1} = attach_client(Client, G),
                    Starter ! {Ref, Answer},
                    leave_or_guard(G1)
            catch
                error:badarg ->
                    %% There is an heir who is about to be the guard.
                    Starter ! {Ref, {error, again, <<>>}},
                    ok
            end;
        false ->
            Starter ! {Ref, {error, refused,
                             text("another version of inviso is installed and "
                                  "loaded on this node, from ~ts",
                                  [code:which(?MODULE)])}},
            ok
    end.

is_marked(M) ->
    code:is_loaded(M) =:= {file, ?MARK}.

%% @private Fully qualified calls: the code may be loaded again beneath it.
-spec guard(#guard{}) -> ok.
guard(#guard{heir = {Heir, HeirRef}} = G) ->
    receive
        {'$gen_call', From, {leave, Pid}}
          when is_map_key(Pid, G#guard.users) ->
            Waiting = [{Pid, From} | G#guard.waiting],
            ?MODULE:guard(G#guard{waiting = Waiting});
        {'$gen_call', From, Request} ->
            {Answer, G1} = request(Request, G),
            reply(From, Answer),
            leave_or_guard(G1);
        {report, Ref, Pid} ->
            ?MODULE:guard(G#guard{report = [{Pid, Ref} | G#guard.report]});
        {'DOWN', HeirRef, process, Heir, _} ->
            ?MODULE:guard(new_heir(G));
        {'DOWN', Ref, process, Pid, _} ->
            leave_or_guard(down(Pid, Ref, G));
        {nodedown, Node} ->
            leave_or_guard(node_down(Node, G));
        leave_again ->
            leave_or_guard(G);
        _ ->
            ?MODULE:guard(G)
    end.

request({attach, #{build := Build} = Client}, #guard{build = Build} = G) ->
    attach_client(Client, G);
request({attach, _}, G) ->
    {{error, refused,
      text("another version of inviso is on this node, used by ~ts; it has to "
           "leave first", [lists:join(", ", owners(G))])}, G};
request({put, Name, Bytes}, #guard{place = Place, pushed = true} = G)
  when Place =/= none, is_binary(Name), is_binary(Bytes) ->
    {inviso_place:put(Place, Name, Bytes), G};
request({put, _, _}, G) ->
    {{error, usage, <<"this node asks for no files">>}, G};
request(ready, G) ->
    ready(G);
request({leave, Pid}, G) when is_pid(Pid) ->
    G1 = drop(Pid, G),
    {who_is_left(G1), G1};
request({join, Pid, User}, G) when is_pid(Pid), node(Pid) =:= node() ->
    join_user(Pid, User, G);
request(Other, G) ->
    {{error, usage, text("the guard knows no such request: ~0tP",
                         [Other, 20])}, G}.

who_is_left(G) ->
    case is_needed(G) of
        true -> {others, owners(G)};
        false -> gone
    end.

%% --- clients ----------------------------------------------------------------

attach_client(#{client := Client, owner := Owner} = Args, G) ->
    case with_place(Args, G) of
        {ok, #guard{place = Place, pushed = Pushed} = G1} ->
            {Dir, Files} = case Place of
                               none -> {none, []};
                               _ -> {utf8(inviso_place:dir(Place)),
                                     [F || Pushed,
                                           F <- inviso_place:absent(Place)]}
                           end,
            {{ok, #{guard => self(), dir => Dir, files => Files}},
             watched(Client, Owner, maps:get(watch, Args), G1)};
        {error, Text} ->
            {{error, failed, Text}, G}
    end.

with_place(#{want := tracer, dirs := Dirs}, #guard{place = none} = G) ->
    case inviso_place:new(Dirs) of
        {ok, Place} -> {ok, kept(G#guard{place = Place})};
        {error, _} = E -> E
    end;
with_place(_, G) ->
    {ok, G}.

%% A C node has no processes that could be monitored: its connection counts.
watched(Client, Owner, How, G0) ->
    G = drop(Client, G0),
    Watch = case How =:= process orelse node(Client) =:= node() of
                true ->
                    monitor(process, Client);
                false ->
                    _ = watches(node(Client), G)
                        orelse watch_node(node(Client)),
                    node
            end,
    G#guard{clients = (G#guard.clients)#{Client => {Owner, Watch}}}.

%% Not to be connected to by us.
watch_node(Node) ->
    case lists:member(Node, nodes(connected)) of
        true -> monitor_node(Node, true);
        false -> self() ! {nodedown, Node}
    end.

watches(Node, #guard{clients = Clients}) ->
    lists:any(fun({Pid, {_, Watch}}) ->
                      Watch =:= node andalso node(Pid) =:= Node
              end, maps:to_list(Clients)).

drop(Client, #guard{clients = Clients} = G) ->
    case maps:take(Client, Clients) of
        {{_, node}, Rest} ->
            G1 = G#guard{clients = Rest},
            _ = watches(node(Client), G1)
                orelse monitor_node(node(Client), false),
            G1;
        {{_, Ref}, Rest} ->
            erlang:demonitor(Ref, [flush]),
            G#guard{clients = Rest};
        error ->
            G
    end.

node_down(Node, #guard{clients = Clients} = G) ->
    Left = maps:filter(fun(Pid, {_, Watch}) ->
                               Watch =/= node orelse node(Pid) =/= Node
                       end, Clients),
    G#guard{clients = Left}.

owners(#guard{clients = Clients, users = Users}) ->
    lists:usort([Owner || {Owner, _} <- maps:values(Clients)]
                ++ [owner(User) || {_, User} <- maps:values(Users),
                                   User =/= keeper]).

owner({session, Name, Owner, _}) ->
    <<Owner/binary, " (session ", Name/binary, ")">>;
owner({rt, Client}) ->
    text("the Inviso API of ~ts", [node(Client)]).

ready(#guard{pushed = false} = G) ->
    case inviso_tracer:load() of
        ok -> {ok, G};
        {error, {load, Text}} -> {{error, failed, text("~ts", [Text])}, G}
    end;
ready(#guard{place = none} = G) ->
    {{error, usage, <<"no place for the tracer was asked for">>}, G};
ready(#guard{place = Place} = G) ->
    case inviso_place:ready(Place) of
        {ok, Ready} -> {ok, kept(G#guard{place = Ready})};
        {error, Text} -> {{error, failed, Text}, G}
    end.

%% --- users ------------------------------------------------------------------

join_user(Pid, User, #guard{users = Users} = G) ->
    case in_the_way(User, maps:is_key(Pid, Users)) of
        false ->
            Ref = monitor(process, Pid),
            ets:insert(?NAME, {{user, Pid}, User, active}),
            G1 = G#guard{users = Users#{Pid => {Ref, User}}},
            {{ok, ?NAME, G1#guard.place}, instead(User, G1)};
        Text ->
            {{error, refused, Text}, G}
    end.

instead({rt, Client}, G) -> drop(Client, G);
instead({session, _, _, _}, G) -> G.

in_the_way(_, true) ->
    <<"this process is here already">>;
in_the_way({session, Name, _, _}, false) ->
    Others = [{S, Phase} || {_, {session, _, _, _} = S, Phase} <- sessions()],
    Same = [S || {{session, N, _, _} = S, _} <- Others, N =:= Name],
    Active = [S || {S, active} <- Others, not inviso_otp:has_sessions()],
    case {Same, Active} of
        {[S | _], _} ->
            text("there is a session ~ts already: ~ts", [Name, traced_by(S)]);
        {[], [S | _]} ->
            traced_by(S);
        {[], []} ->
            false
    end;
in_the_way(_, false) ->
    false.

traced_by({session, Name, Owner, Since}) ->
    text("traced by ~ts since ~ts, session ~ts",
         [Owner, calendar:system_time_to_rfc3339(Since), Name]).

down(Pid, Ref, #guard{users = Users, clients = Clients} = G) ->
    case {Users, Clients} of
        {#{Pid := {Ref, User}}, _} ->
            told(Pid, tidy(Pid, User,
                           G#guard{users = maps:remove(Pid, Users)}));
        {_, #{Pid := {_, Ref}}} ->
            G#guard{clients = maps:remove(Pid, Clients)};
        _ ->
            G
    end.

told(Pid, #guard{waiting = Waiting} = G) ->
    {Now, Later} = lists:partition(fun({P, _}) -> P =:= Pid end, Waiting),
    _ = [reply(From, who_is_left(G)) || {_, From} <- Now],
    G#guard{waiting = Later}.

%% Files go when nobody writes them any more.
tidy(Pid, keeper, G) ->
    _ = [inviso_place:remove_room(Room)
         || {_, Room} <- ets:take(?NAME, {kept, Pid})],
    G;
tidy(Pid, _User, #guard{users = Users} = G) ->
    _ = [inviso_otp:forget(Residue)
         || {_, Residue} <- ets:take(?NAME, {residue, Pid})],
    ets:delete(?NAME, {user, Pid}),
    case ets:take(?NAME, {room, Pid}) of
        [{_, Room, none}] ->
            _ = inviso_place:remove_room(Room),
            G;
        [{_, Room, Keeper}] ->
            ets:insert(?NAME, {{kept, Keeper}, Room}),
            Ref = monitor(process, Keeper),
            G#guard{users = Users#{Keeper => {Ref, keeper}}};
        [] ->
            G
    end.

%% --- the heir ---------------------------------------------------------------

new_heir(G) ->
    Heir = spawn_monitor(?MODULE, heir_init, [self()]),
    {Pid, _} = Heir,
    true = ets:setopts(?NAME, {heir, Pid, none}),
    ets:insert(?NAME, {own, [self(), Pid]}),
    kept(G#guard{heir = Heir}).

%% What an heir has to know.
kept(G) ->
    ets:insert(?NAME, {guard, G}),
    G.

%% @private
-spec heir_init(pid()) -> ok.
heir_init(Guard) ->
    group_leader(whereis(init), self()),
    Ref = monitor(process, Guard),
    receive
        {'ETS-TRANSFER', Table, Guard, none} ->
            inherit(Table);
        {'DOWN', Ref, process, Guard, _} ->
            %% The table comes before this word, if it comes.
            receive {'ETS-TRANSFER', Table, Guard, none} -> inherit(Table)
            after 0 -> ok
            end
    end.

%% Clients would not know the new guard.
inherit(Table) ->
    try register(?NAME, self()) of
        true ->
            [{_, G}] = ets:lookup(Table, guard),
            Users = [{Pid, User} || {{user, Pid}, User, _} <- ets:tab2list(Table)]
                ++ [{Pid, keeper} || {{kept, Pid}, _} <- ets:tab2list(Table)],
            Monitors = maps:from_list([{Pid, {monitor(process, Pid), User}}
                                       || {Pid, User} <- Users]),
            leave_or_guard(new_heir(G#guard{clients = #{}, users = Monitors,
                                            waiting = [], report = []}))
    catch
        error:badarg ->
            %% Somebody starts a guard, and finds that there is a table.
            timer:sleep(?AGAIN_MS),
            inherit(Table)
    end.

%% --- the end ----------------------------------------------------------------

is_needed(#guard{clients = Clients, users = Users}) ->
    maps:size(Clients) > 0 orelse maps:size(Users) > 0.

leave_or_guard(G) ->
    case is_needed(G) of
        true ->
            ?MODULE:guard(G);
        false ->
            case lock() of
                true -> undo(G);
                false -> erlang:send_after(?AGAIN_MS, self(), leave_again),
                         ?MODULE:guard(G)
            end
    end.

%% The holder of the lock outlives this process and takes its module away.
lock() ->
    Unload = "Ref = erlang:monitor(process, Guard),"
        "receive {'DOWN', Ref, _, _, _} -> ok end,"
        "[begin code:purge(M), code:delete(M), code:purge(M) end || M <- Mods].",
    Mods = [M || M <- [?MODULE], is_marked(M)],
    Bindings = [{'Guard', self()}, {'Mods', Mods}],
    Holder = spawn(erl_eval, exprs, [expressions(Unload), Bindings]),
    try
        register(?LOCK, Holder)
    catch
        error:badarg ->
            exit(Holder, kill),
            false
    end.

undo(#guard{heir = {Heir, HeirRef}, place = Place, report = Report}) ->
    ets:delete(?NAME),
    exit(Heir, kill),
    receive {'DOWN', HeirRef, process, Heir, _} -> ok end,
    unregister(?NAME),
    Result = inviso_place:remove(Place),
    _ = [Pid ! {Ref, Result} || {Pid, Ref} <- Report],
    Pushed = [M || {M, ?MARK} <- code:all_loaded(), M =/= ?MODULE],
    lists:foreach(fun unload/1, Pushed).

unload(M) ->
    _ = code:purge(M),
    _ = code:delete(M),
    code:purge(M).

utf8(Path) ->
    unicode:characters_to_binary(Path).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
