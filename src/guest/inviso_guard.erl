%% SPDX-License-Identifier: Apache-2.0
%% @doc The guard keeps inviso's code and files on a node as long as a client or a
%% user needs them.
%%
%% ```
%%  command ---- attach ----.            .---- join ---- inviso_session
%%  command ---- attach ----+--> guard <-+---- join ---- inviso_session
%%  inviso_c --- attach ----'      :     '---- join ---- inviso_rt
%%    clients                      :                       users
%%                               heir
%% '''
%%
%% The first client that attaches starts the guard. Any number of <em>clients</em>
%% can share the guard, if they send the same version of the code. Any number of
%% <em>users</em>, which are the processes of inviso that trace, can join the
%% guard. When no client and no user is left, the guard undoes everything: it
%% clears patterns that are still set, removes files and directory, and starts a
%% process that deletes and purges the modules, which unloads the NIF. If inviso is
%% installed on the node, its modules stay.
%%
%% A user stores in the guard's table what it has set in the VM, and where its
%% files are. When the user dies, for whatever reason, the guard clears these
%% settings and removes the files at once. Without the guard, the user's trace
%% session would stay open as long as another process had a copy of the session's
%% handle.
%%
%% A separate process clears what is set in the VM, because the engine may be
%% busy. Until this process is done, the guard stays, as if the dead user were alive.
%% When a guard is killed, its heir inherits the table and becomes the guard; the
%% users of the killed guard end by themselves.
%%
%% Before the guard removes code, it waits until three kinds of processes, which have
%% not joined, have ended. Keepers: the NIF library lists them ({@link
%% inviso_keeper}). The engine and its heir: they have registered names, and may
%% notice the death of a session's owner later than the guard does. Workers: they
%% finish some work after their user has died, and have called
%% `inviso_push:stays/1'. The guard kills engine and workers that take too long. For
%% example, an engine does not end while another process has the handle of one of the
%% engine's sessions.
%%
%% The registered name `inviso_loading' is a lock. A process has this lock while
%% it loads inviso's code and attaches a client. After the end of the guard, the
%% process that removes the code has the lock ({@link inviso_linger}). So no
%% client finds code that is only partly loaded.
-module(inviso_guard).

-export([init/2, tidy/0, expressions/1]).
-export([loop/1, tidy_init/0, heir_init/1, clear_init/1]).

-define(NAME, inviso_guard).
-define(LOCK, inviso_loading).
%% The result of code:which/1 for a module that a client has sent.
-define(MARK, "inviso_pushed").
%% At most this many callers can wait for the end of a user, and at most this many
%% callers can wait for the guard's report.
-define(MANY, 1000).
%% How long the guard waits before it tries the lock again, in ms.
-define(AGAIN_MS, 20).
%% How long processes may work after their user is dead. A client that leaves
%% waits longer than this for the end of the guard.
-define(WORK_MS, 8000).

-record(guard, {build :: binary(),
                pushed :: boolean(),
                %% how long the code stays loaded after this process has ended
                %% (ms)
                linger = 0 :: non_neg_integer(),
                %% the code of the process that removes the modules; it is parsed in
                %% advance, because parsing it at the end could load modules
                holder = expressions(inviso_linger:holder()) ::
                    [erl_parse:abstract_expr()],
                place = none :: none | inviso_place:place(),
                heir = none :: none | {pid(), reference()},
                %% clients, each with its owner and its monitor. `node' is in
                %% place of the monitor if the guard monitors the connection to
                %% the client's node.
                clients = #{} :: #{pid() => {binary(), reference() | node}},
                users = #{} :: #{pid() => {reference(), user()}},
                %% callers whose request is answered when a user has ended
                waiting = [] :: [{pid(), {pid(), term()}}],
                %% processes that get the result of the guard's work at its end
                report = [] :: [{pid(), reference()}]}).

-type user() :: inviso_push:user() | keeper | engine | worker.

%% @doc The function of the guard process. When the first client has been attached
%% or refused, the guard sends its starter the answer.
-spec init({pid(), reference()}, map()) -> ok.
init({Starter, Ref}, #{build := Build, repeated := Repeated} = Client) ->
    %% The group leader that this process has from its starter may be on another
    %% node.
    group_leader(whereis(init), self()),
    Pushed = inviso_pushed:is_brought(),
    case Pushed orelse is_installed(Build) of
        true ->
            case begin_guard() of
                true ->
                    Linger = inviso_linger:ms(Pushed andalso Repeated),
                    G = new_heir(#guard{build = Build, pushed = Pushed,
                                        linger = Linger}),
                    {Answer, G1} = attach_client(Client, G),
                    Starter ! {Ref, Answer},
                    stay_or_leave(G1);
                false ->
                    Starter ! {Ref, {error, again, <<>>}},
                    ok
            end;
        Why ->
            Starter ! {Ref, {error, refused, Why}},
            ok
    end.

is_installed(Build) ->
    case inviso_push:build() of
        {ok, Build} ->
            true;
        {ok, _} ->
            Dirs = lists:usort([filename:dirname(File)
                                || {_, Ms} <- inviso_pushed:rooms(), M <- Ms,
                                   {file, [_ | _] = File} <- [code:is_loaded(M)]]),
            text("another version of inviso is installed and loaded on this "
                 "node, from ~ts", [lists:join(" and ", Dirs)]);
        {missing, M} when is_atom(M) ->
            text("inviso is installed on this node without its module ~ts: ~ts",
                 [M, code:which(inviso_push)]);
        {missing, File} ->
            text("inviso is installed on this node without the file ~ts: copy "
                 "its directory priv with all that is in it", [File])
    end.

%% @doc If a client has sent inviso's code and no guard is running, starts a
%% process that removes the code. Does not wait for this process.
-spec tidy() -> ok.
tidy() ->
    _ = whereis(?NAME) =:= undefined andalso inviso_pushed:is_brought()
        andalso spawn(?MODULE, tidy_init, []),
    ok.

%% @private
-spec tidy_init() -> ok.
tidy_init() ->
    group_leader(whereis(init), self()),
    case begin_guard() of
        true -> stay_or_leave(new_heir(#guard{build = <<>>, pushed = true}));
        false -> ok
    end.

%% Creates the table and registers the guard. Returns false if the table exists
%% already, because another guard is running or an heir is about to become the
%% guard.
begin_guard() ->
    try
        ?NAME = ets:new(?NAME, [public, named_table]),
        register(?NAME, self())
    catch
        error:badarg -> false
    end.

%% @private The main loop. Its calls are fully qualified, because the code may be
%% loaded again while this process runs.
-spec loop(#guard{}) -> ok.
loop(#guard{heir = {Heir, HeirRef}} = G) ->
    receive
        {'$gen_call', From, {leave, Pid}}
          when is_map_key(Pid, G#guard.users), length(G#guard.waiting) < ?MANY ->
            Waiting = [{Pid, From} | G#guard.waiting],
            ?MODULE:loop(G#guard{waiting = Waiting});
        {'$gen_call', From, Request} ->
            {Answer, G1} = answered(Request, G),
            inviso_message:reply(From, Answer),
            stay_or_leave(G1);
        {report, Ref, Pid} when is_pid(Pid), length(G#guard.report) < ?MANY ->
            ?MODULE:loop(G#guard{report = [{Pid, Ref} | G#guard.report]});
        {'DOWN', HeirRef, process, Heir, _} ->
            ?MODULE:loop(new_heir(G));
        {'DOWN', Ref, process, Pid, Why} ->
            stay_or_leave(down(Pid, Ref, Why, G));
        {{cleared, Pid}, Ref, process, _, Why} ->
            stay_or_leave(cleared(Pid, Ref, Why, G));
        {nodedown, Node} ->
            stay_or_leave(node_down(Node, G));
        leave_again ->
            stay_or_leave(G);
        {stays, Pid} when is_pid(Pid) ->
            _ = ets:member(?NAME, {stays, Pid}) andalso monitor(process, Pid),
            ?MODULE:loop(G);
        {too_late, Pid} when is_map_key(Pid, G#guard.users) ->
            _ = case is_alone(G) of
                    true -> exit(Pid, kill);
                    false -> not_for_ever(Pid)
                end,
            ?MODULE:loop(G);
        _ ->
            ?MODULE:loop(G)
    end.

%% Handles a request. A request can be any term. If handling it causes an error,
%% the caller gets the error as answer.
answered(Request, G) ->
    %% A message with a token would make this process part of a sequential trace.
    _ = seq_trace:set_token([]),
    try
        request(Request, G)
    catch
        error:Reason ->
            {{error, usage, text("~0tP", [Reason, 20])}, G}
    end.

request({attach, #{build := Build} = Client}, #guard{build = Build} = G) ->
    attach_client(Client, G);
request({attach, _}, G) ->
    case owners(G) of
        [] -> {{error, again, <<>>}, G};
        Owners -> {{error, refused, in_use(Owners)}, G}
    end;
request({put, Name, Bytes}, #guard{place = Place, pushed = true} = G)
  when Place =/= none, is_binary(Name), is_binary(Bytes) ->
    {inviso_place:put(Place, Name, Bytes), G};
request({put, _, _}, G) ->
    {{error, usage, <<"this node asks for no files">>}, G};
request(clients, #guard{clients = Clients} = G) ->
    {{ok, lists:usort([Owner || {Owner, _} <- maps:values(Clients)])}, G};
request(ready, G) ->
    ready(G);
request({leave, Pid}, G) when is_pid(Pid) ->
    G1 = drop(Pid, G),
    {remaining(G1), G1};
request({join, Pid, {session, Name, Owner, Since} = User}, G)
  when is_pid(Pid), node(Pid) =:= node(), is_binary(Name), is_binary(Owner),
       is_integer(Since) ->
    join_user(Pid, User, G);
request({join, Pid, {rt, Client} = User}, G)
  when is_pid(Pid), node(Pid) =:= node(), is_pid(Client) ->
    join_user(Pid, User, G);
request(Other, G) ->
    {{error, usage, text("unknown request to the guard: ~0tP",
                         [Other, 20])}, G}.

in_use(Owners) ->
    text("another version of inviso is on this node, used by ~ts, which must "
         "leave first", [lists:join(", ", Owners)]).

%% Returns `{others, Owners}' with the owners of the clients and users that the guard
%% still has, or `gone' if it has none. A user that is about to end does not count.
remaining(G) ->
    case owners(G) of
        [] -> gone;
        Owners -> {others, Owners}
    end.

%% --- clients ----------------------------------------------------------------

attach_client(#{client := Client, owner := Owner, watch := How} = Args, G) ->
    case with_place(Args, G) of
        {ok, #guard{place = Place, pushed = Pushed, linger = Linger} = G1} ->
            {Dir, Files} = case Place of
                               none -> {none, []};
                               _ -> {utf8(inviso_place:dir(Place)),
                                     [F || Pushed,
                                           F <- inviso_place:absent(Place)]}
                           end,
            {{ok, #{guard => self(), dir => Dir, files => Files,
                    brought => Pushed, stays => Linger > 0}},
             watched(Client, Owner, How, G1)};
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

%% Monitors a client. The processes of a C node cannot be monitored, so for such a
%% client the guard monitors the connection to the node.
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

%% Monitors a node if it is connected, and otherwise treats it as down. Without
%% the check, monitor_node/2 would connect to the node.
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
                ++ [inviso_push:owner(User)
                    || {Pid, User, Phase} <- inviso_push:users(),
                       Phase =/= leaving, is_map_key(Pid, Users),
                       is_process_alive(Pid)]).

ready(#guard{pushed = false, place = Place} = G) ->
    case inviso_tracer:load() of
        ok when Place =:= none ->
            {ok, G};
        ok ->
            {ok, kept(G#guard{place = inviso_place:installed(Place)})};
        {error, {load, Text}} ->
            {{error, failed, text("~ts", [Text])}, G}
    end;
ready(#guard{place = none} = G) ->
    {{error, usage, <<"the client did not ask for the tracer">>}, G};
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
    <<"this process is already attached">>;
in_the_way({session, Name, _, _}, false) ->
    case [S || {_, {session, N, _, _} = S, _} <- inviso_push:users(),
               N =:= Name] of
        [S | _] ->
            text("there is a session ~ts already: ~ts",
                 [Name, inviso_push:traced_by(S)]);
        [] ->
            false
    end;
in_the_way(_, false) ->
    false.

down(Pid, Ref, Why, #guard{users = Users, clients = Clients} = G) ->
    case {Users, Clients} of
        {#{Pid := {Ref, engine}}, _} ->
            %% If the engine was killed, a new engine clears the flags and patterns that
            %% the killed engine has left.
            _ = Why =:= normal orelse inviso_scope:engine_gone(),
            G#guard{users = maps:remove(Pid, Users)};
        {#{Pid := {Ref, User}}, _} ->
            clear(Pid, User, G);
        {_, #{Pid := {_, Ref}}} ->
            G#guard{clients = maps:remove(Pid, Clients)};
        _ ->
            %% The entry is deleted, because the pid may be used again for another
            %% process.
            ets:delete(?NAME, {stays, Pid}),
            G
    end.

clear(Pid, User, #guard{users = Users} = G) ->
    case ets:lookup(?NAME, {residue, Pid}) of
        [{_, Residue}] ->
            Tag = {tag, {cleared, Pid}},
            {_, Ref} = spawn_opt(?MODULE, clear_init, [Residue],
                                 [{monitor, [Tag]}]),
            G#guard{users = Users#{Pid := {Ref, User}}};
        [] ->
            gone(Pid, User, G)
    end.

%% @private
-spec clear_init(inviso_scope:residue()) -> ok.
clear_init(Residue) ->
    process_flag(sensitive, true),
    group_leader(whereis(init), self()),
    ok = inviso_push:stays(worker),
    inviso_scope:forget(Residue).

cleared(Pid, Ref, Why, #guard{users = Users} = G) ->
    case Users of
        #{Pid := {Ref, User}} when Why =:= killed -> clear(Pid, User, G);
        #{Pid := {Ref, User}} -> gone(Pid, User, G);
        _ -> G
    end.

gone(Pid, User, #guard{users = Users} = G) ->
    told(Pid, tidy(Pid, User, G#guard{users = maps:remove(Pid, Users)})).

told(Pid, #guard{waiting = Waiting} = G) ->
    {Now, Later} = lists:partition(fun({P, _}) -> P =:= Pid end, Waiting),
    _ = [inviso_message:reply(From, remaining(G)) || {_, From} <- Now],
    G#guard{waiting = Later}.

%% Removes the files of a user that has ended. If a keeper still writes to the
%% files, they are removed when the keeper has ended.
tidy(Keeper, keeper, G) ->
    _ = [inviso_place:remove_room(Room)
         || {_, Room} <- ets:take(?NAME, {kept, Keeper})],
    G;
tidy(Pid, _User, #guard{users = Users} = G) ->
    ets:delete(?NAME, {residue, Pid}),
    ets:delete(?NAME, {user, Pid}),
    Kept = [{Keeper, Room} || {_, Room} <- ets:take(?NAME, {room, Pid}),
                              Keeper <- writers_or_remove(Room)],
    ets:insert(?NAME, [{{kept, Keeper}, Room} || {Keeper, Room} <- Kept]),
    Keepers = maps:from_list([{Keeper, {monitor(process, Keeper), keeper}}
                              || {Keeper, _} <- Kept]),
    G#guard{users = maps:merge(Users, Keepers)}.

%% Returns the keepers that write logs into a room. If there is no such keeper,
%% removes the room.
writers_or_remove(Room) ->
    Dir = unicode:characters_to_binary(filename:absname(Room), unicode,
                                       file:native_name_encoding()),
    case [Keeper || {Keeper, Log} <- inviso_keeper:all(), is_binary(Log),
                    filename:dirname(Log) =:= Dir] of
        [] -> _ = inviso_place:remove_room(Room), [];
        Keepers -> Keepers
    end.

%% Returns the live processes that have called inviso_push:stays/1, with their kind.
stays() ->
    {Live, Dead} = lists:partition(fun({P, _}) -> is_process_alive(P) end,
                                   ets:select(?NAME, [{{{stays, '$1'}, '$2'}, [],
                                                       [{{'$1', '$2'}}]}])),
    _ = [ets:delete(?NAME, {stays, P}) || {P, _} <- Dead],
    Live.

%% --- the heir ---------------------------------------------------------------

new_heir(G) ->
    Heir = spawn_monitor(?MODULE, heir_init, [self()]),
    {Pid, _} = Heir,
    true = ets:setopts(?NAME, {heir, Pid, none}),
    ets:insert(?NAME, {own, [self(), Pid]}),
    kept(G#guard{heir = Heir}).

%% Stores the state in the table, where an heir finds it.
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
            %% If the heir inherits the table, the message 'ETS-TRANSFER' arrives
            %% before 'DOWN'.
            receive {'ETS-TRANSFER', Table, Guard, none} -> inherit(Table)
            after 0 -> ok
            end
    end.

%% Makes the heir the guard. The heir drops the old guard's clients, because they
%% do not know the new guard.
inherit(Table) ->
    try register(?NAME, self()) of
        true ->
            [{_, G}] = ets:lookup(Table, guard),
            Users = [{Pid, User} || {{user, Pid}, User, _} <- ets:tab2list(Table)]
                ++ [{Pid, keeper} || {{kept, Pid}, _} <- ets:tab2list(Table)],
            _ = [monitor(process, P) || {P, _} <- stays()],
            Monitors = maps:from_list([{Pid, {monitor(process, Pid), User}}
                                       || {Pid, User} <- Users]),
            stay_or_leave(new_heir(G#guard{clients = #{}, users = Monitors,
                                            waiting = [], report = []}))
    catch
        error:badarg ->
            %% Another process has registered as guard. That process will end as
            %% soon as it finds that the table exists.
            timer:sleep(?AGAIN_MS),
            inherit(Table)
    end.

%% --- the end ----------------------------------------------------------------

is_needed(#guard{clients = Clients, users = Users}) ->
    maps:size(Clients) > 0 orelse maps:size(Users) > 0.

stay_or_leave(G) ->
    case is_needed(G) orelse awaited(G) of
        true ->
            ?MODULE:loop(G);
        [_ | _] = Awaited ->
            Users = [{P, {monitor(process, P), What}} || {P, What} <- Awaited],
            _ = [not_for_ever(P) || {P, What} <- Awaited, What =/= keeper],
            ?MODULE:loop(G#guard{users = maps:from_list(Users)});
        [] ->
            case lock(G) of
                true -> undo(G);
                false -> erlang:send_after(?AGAIN_MS, self(), leave_again),
                         ?MODULE:loop(G)
            end
    end.

%% Returns the processes that still run code that is about to be removed, each
%% with its kind.
awaited(#guard{pushed = false}) ->
    [];
awaited(#guard{pushed = true}) ->
    [{P, keeper} || {P, _} <- inviso_keeper:all()]
        ++ [{P, engine} || P <- inviso_scope:engine_processes()]
        ++ stays().

not_for_ever(Pid) ->
    erlang:send_after(inviso_deadline:ms(?WORK_MS), self(), {too_late, Pid}).

%% Returns true if there is no client and no user that traces, so that no process
%% needs the engine. A user whose description is an atom (keeper, engine, worker) does
%% not trace.
is_alone(#guard{clients = Clients, users = Users}) ->
    map_size(Clients) =:= 0
        andalso lists:all(fun({_, User}) -> is_atom(User) end,
                          maps:values(Users)).

%% Starts the process that holds the lock, outlives the guard and removes the
%% modules. The guard itself never calls the code server, which may be busy for a
%% long time.
lock(#guard{holder = Text, build = Build, linger = Linger}) ->
    Holder = spawn(erl_eval, exprs, [Text,
                                     [{'Guard', self()}, {'Build', Build},
                                      {'Linger', Linger}, {'Mark', ?MARK},
                                      {'Now', fun erlang:monotonic_time/1}]]),
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
    _ = [inviso_message:send(Pid, {Ref, Result}) || {Pid, Ref} <- Report],
    ok.

%% @doc Parses text for erl_eval:exprs/2.
-spec expressions(string()) -> [erl_parse:abstract_expr()].
expressions(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Expressions.

utf8(Path) ->
    unicode:characters_to_binary(Path).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
