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
%% It is started by the first who attaches. Any number of <em>clients</em> share
%% it, if what they would bring is equal, and any number of <em>users</em>,
%% processes of ours that trace. When the last of both is gone, it undoes
%% everything: patterns that are still set, files, directory, modules (deleted
%% and purged, so that the NIF is unloaded). Where our code is installed it
%% leaves the code.
%%
%% A user that dies, in whatever way, leaves notes in the guard's table of what
%% of it is set in the VM and where its files are; the guard takes that away, at
%% once: nothing is left to the garbage collection of a process that has a copy
%% of the user's state. What is set in the VM is cleared by a process of its own,
%% because the engine may be busy; until it is done the user counts as alive. A
%% guard that is killed is succeeded by its heir, who inherits the table; the
%% users end by themselves then.
%%
%% Three kinds of processes are waited for as users are, though they have not
%% joined: keepers, which have the memory of tracers; the engine, which hears
%% later than the guard that the holder of a session has died; and workers, which
%% have to end something when their user has died. The latter two are killed if
%% they do not get done with it: an engine does not while another process has the
%% handle of a session of its own.
%%
%% The name `inviso_loading' is a lock: who loads our code and attaches holds
%% it, and while the code is taken away a process does that runs none of it,
%% being interpreted. So nobody meets half of our code.
%%
%% A plain process and not a gen_server: it has to know which processes run
%% which code.
-module(inviso_guard).

-export([init/2, tidy/0, expressions/1]).
-export([loop/1, tidy_init/0, heir_init/1, clear_init/1]).

-define(NAME, inviso_guard).
-define(LOCK, inviso_loading).
%% What code:which/1 says of a module that was brought.
-define(MARK, "inviso_pushed").
%% Who can wait for one thing.
-define(MANY, 1000).
%% How soon the lock is tried again.
-define(AGAIN_MS, 20).
%% For who works on when its user is dead: whoever leaves waits for longer.
-define(WORK_MS, 8000).

-record(guard, {build :: binary(),
                pushed :: boolean(),
                %% read while no module has to be loaded for it
                unloader = unloader() :: [erl_parse:abstract_expr()],
                place = none :: none | inviso_place:place(),
                heir = none :: none | {pid(), reference()},
                %% who is attached, and the monitor of a process of Erlang's
                clients = #{} :: #{pid() => {binary(), reference() | node}},
                users = #{} :: #{pid() => {reference(), user()}},
                %% who waits for a user to be gone
                waiting = [] :: [{pid(), {pid(), term()}}],
                %% who waits for a word on how the end went
                report = [] :: [{pid(), reference()}]}).

-type user() :: inviso_push:user() | keeper | engine | worker.

%% @doc The process, which answers who started it when the first client is
%% attached, or is not.
-spec init({pid(), reference()}, map()) -> ok.
init({Starter, Ref}, #{build := Build} = Client) ->
    %% No business of the group leader of whoever started us.
    group_leader(whereis(init), self()),
    Pushed = is_marked(?MODULE),
    Installed = not Pushed andalso inviso_push:build(),
    case Pushed orelse Build =:= Installed of
        true ->
            case begin_guard() of
                true ->
                    G = new_heir(#guard{build = Build, pushed = Pushed}),
                    {Answer, G1} = attach_client(Client, G),
                    Starter ! {Ref, Answer},
                    stay_or_leave(G1);
                false ->
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

%% @doc Has our code taken away if it was brought and there is no guard.
-spec tidy() -> ok.
tidy() ->
    _ = whereis(?NAME) =:= undefined andalso is_marked(?MODULE)
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

%% Where there is a table already, an heir is about to be the guard.
begin_guard() ->
    try
        ?NAME = ets:new(?NAME, [public, named_table]),
        register(?NAME, self())
    catch
        error:badarg -> false
    end.

is_marked(M) ->
    code:is_loaded(M) =:= {file, ?MARK}.

%% @private Fully qualified calls: the code may be loaded again beneath it.
-spec loop(#guard{}) -> ok.
loop(#guard{heir = {Heir, HeirRef}} = G) ->
    receive
        {'$gen_call', From, {leave, Pid}}
          when is_map_key(Pid, G#guard.users), length(G#guard.waiting) < ?MANY ->
            Waiting = [{Pid, From} | G#guard.waiting],
            ?MODULE:loop(G#guard{waiting = Waiting});
        {'$gen_call', From, Request} ->
            {Answer, G1} = answered(Request, G),
            inviso_push:reply(From, Answer),
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

%% Whatever a stranger asks for.
answered(Request, G) ->
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
    {who_is_left(G1), G1};
request({join, Pid, {session, Name, Owner, Since} = User}, G)
  when is_pid(Pid), node(Pid) =:= node(), is_binary(Name), is_binary(Owner),
       is_integer(Since) ->
    join_user(Pid, User, G);
request({join, Pid, {rt, Client} = User}, G)
  when is_pid(Pid), node(Pid) =:= node(), is_pid(Client) ->
    join_user(Pid, User, G);
request(Other, G) ->
    {{error, usage, text("the guard knows no such request: ~0tP",
                         [Other, 20])}, G}.

in_use(Owners) ->
    text("another version of inviso is on this node, used by ~ts; it has to "
         "leave first", [lists:join(", ", Owners)]).

%% Whom it is only the last moment of does not count.
who_is_left(G) ->
    case owners(G) of
        [] -> gone;
        Owners -> {others, Owners}
    end.

%% --- clients ----------------------------------------------------------------

attach_client(#{client := Client, owner := Owner, watch := How} = Args, G) ->
    case with_place(Args, G) of
        {ok, #guard{place = Place, pushed = Pushed} = G1} ->
            {Dir, Files} = case Place of
                               none -> {none, []};
                               _ -> {utf8(inviso_place:dir(Place)),
                                     [F || Pushed,
                                           F <- inviso_place:absent(Place)]}
                           end,
            {{ok, #{guard => self(), dir => Dir, files => Files}},
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
            _ = keepers(),
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
            %% What a killed one has left, another takes away.
            _ = Why =:= normal orelse inviso_otp:engine_gone(),
            G#guard{users = maps:remove(Pid, Users)};
        {#{Pid := {Ref, User}}, _} ->
            clear(Pid, User, G);
        {_, #{Pid := {_, Ref}}} ->
            G#guard{clients = maps:remove(Pid, Clients)};
        _ ->
            %% The number may be another's one day.
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
-spec clear_init(inviso_otp:residue()) -> ok.
clear_init(Residue) ->
    process_flag(sensitive, true),
    group_leader(whereis(init), self()),
    ok = inviso_push:stays(worker),
    inviso_otp:forget(Residue).

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
    _ = [inviso_push:reply(From, who_is_left(G)) || {_, From} <- Now],
    G#guard{waiting = Later}.

%% Files go when nobody writes them any more.
tidy(Pid, keeper, G) ->
    ets:delete(?NAME, {keeper, Pid}),
    _ = [inviso_place:remove_room(Room)
         || {_, Room} <- ets:take(?NAME, {kept, Pid})],
    G;
tidy(Pid, _User, #guard{users = Users} = G) ->
    ets:delete(?NAME, {residue, Pid}),
    ets:delete(?NAME, {user, Pid}),
    case ets:take(?NAME, {room, Pid}) of
        [{_, Room, none}] ->
            %% It may have been killed while its tracer was opened.
            case keepers() -- ets:select(?NAME, [{{{room, '_'}, '_', '$1'},
                                                  [], ['$1']}]) of
                [] -> _ = inviso_place:remove_room(Room);
                Its -> [ets:insert(?NAME, {{kept, P}, Room}) || P <- Its]
            end,
            G;
        [{_, Room, Keeper}] ->
            ets:insert(?NAME, {{kept, Keeper}, Room}),
            Ref = monitor(process, Keeper),
            G#guard{users = Users#{Keeper => {Ref, keeper}}};
        [] ->
            G
    end.

%% Of whomever, as far as they live.
keepers() ->
    [P || {P, _} <- live(keeper)].

live(What) ->
    {Live, Dead} = lists:partition(fun({P, _}) -> is_process_alive(P) end,
                                   ets:select(?NAME, [{{{What, '$1'}, '$2'}, [],
                                                       [{{'$1', '$2'}}]}])),
    _ = [ets:delete(?NAME, {What, P}) || {P, _} <- Dead],
    Live.

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
            _ = [monitor(process, P) || {P, _} <- live(stays)],
            Monitors = maps:from_list([{Pid, {monitor(process, Pid), User}}
                                       || {Pid, User} <- Users]),
            stay_or_leave(new_heir(G#guard{clients = #{}, users = Monitors,
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

%% Who runs code of ours that is about to go, and has still something to do.
awaited(#guard{pushed = Pushed}) ->
    [{P, keeper} || P <- keepers()]
        ++ [{P, engine} || Pushed, P <- inviso_otp:engine()]
        ++ [Stays || Pushed, Stays <- live(stays)].

not_for_ever(Pid) ->
    erlang:send_after(?WORK_MS, self(), {too_late, Pid}).

%% Nobody may have come meanwhile to whom the engine is of use.
is_alone(#guard{clients = Clients, users = Users}) ->
    map_size(Clients) =:= 0
        andalso lists:all(fun({_, User}) -> is_atom(User) end,
                          maps:values(Users)).

%% The holder of the lock outlives this process, and takes the modules away.
%% Only it asks the code server, which may be busy for long.
lock(#guard{unloader = Unloader}) ->
    Holder = spawn(erl_eval, exprs, [Unloader,
                                     [{'Guard', self()}, {'Mark', ?MARK},
                                      {'Now', fun erlang:monotonic_time/1}]]),
    try
        register(?LOCK, Holder)
    catch
        error:badarg ->
            exit(Holder, kill),
            false
    end.

%% Names first, which takes a moment; inviso_push is the one that tells whether
%% anything is here, and inviso_tracer has the library. To purge a module the VM
%% asks every process: where there are many it goes on with pauses when others
%% may come already. Who is in our code is waited for and never killed: it may
%% be no process of ours.
unloader() ->
    expressions(
      "Ref = erlang:monitor(process, Guard),"
      "receive {'DOWN', Ref, _, _, _} -> ok end,"
      "Mods = [M || {M, File} <- code:all_loaded(), File =:= Mark],"
      "{Last, First} = lists:partition(fun(M) -> M =:= inviso_push end, Mods),"
      "{Tracer, Others} = lists:partition(fun(M) -> M =:= inviso_tracer end,"
      "                                   First),"
      "[code:delete(M) || M <- First],"
      "Until = Now(millisecond) + 300,"
      "Rest = lists:dropwhile(fun(M) -> Now(millisecond) < Until"
      "                                 andalso code:soft_purge(M)"
      "                       end, Tracer ++ Others),"
      "[code:delete(M) || M <- Last],"
      "catch erlang:unregister(inviso_loading),"
      "Purge = fun(M) ->"
      "                Before = Now(millisecond),"
      "                Done = code:soft_purge(M),"
      "                receive after Now(millisecond) - Before -> Done end"
      "        end,"
      "Again = fun Again(Ms, N) ->"
      "                case [M || M <- Ms, not Purge(M)] of"
      "                    [_ | _] = Left when N > 0 ->"
      "                        receive after 100 -> Again(Left, N - 1) end;"
      "                    _ ->"
      "                        ok"
      "                end"
      "        end,"
      "Again(Last ++ Rest, 100).").

undo(#guard{heir = {Heir, HeirRef}, place = Place, report = Report}) ->
    ets:delete(?NAME),
    exit(Heir, kill),
    receive {'DOWN', HeirRef, process, Heir, _} -> ok end,
    unregister(?NAME),
    Result = inviso_place:remove(Place),
    _ = [inviso_push:send(Pid, {Ref, Result}) || {Pid, Ref} <- Report],
    ok.

%% @doc Text for erl_eval:exprs/2.
-spec expressions(string()) -> [erl_parse:abstract_expr()].
expressions(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Expressions.

utf8(Path) ->
    unicode:characters_to_binary(Path).

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
