%% SPDX-License-Identifier: Apache-2.0
%% The guard, the process that keeps inviso's code on a node while clients need it, called as the
%% command calls it: clients attach to a node without inviso, share the node, and leave it as it
%% was.
-module(inviso_guard_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([attaching_and_leaving_leaves_nothing/1,
         what_is_brought_needs_no_more/1,
         for_code_alone_there_is_no_directory/1,
         clients_share_what_is_there/1,
         another_build_is_refused_with_the_owners_names/1,
         installed_code_is_used_and_left_alone/1,
         many_attach_at_the_same_moment/1,
         one_attaches_while_another_leaves/1,
         a_client_whose_node_is_gone_is_dropped/1,
         dead_clients_are_not_connected_to/1,
         staying_processes_have_rows/1,
         a_killed_guard_has_an_heir/1,
         a_killed_heir_has_a_successor/1,
         when_guard_and_heir_are_killed_the_next_cleans_up/1,
         when_the_unloader_is_killed_the_next_cleans_up/1,
         processes_in_our_code_are_not_killed/1,
         the_interface_and_the_command_share_a_node/1,
         a_directory_that_cannot_be_used_is_named/1,
         the_next_directory_is_tried/1,
         a_directory_where_all_can_rename_is_refused/1,
         a_directory_where_a_group_can_rename_is_refused/1,
         a_directory_of_another_user_is_refused/1,
         no_program_starts/1,
         code_that_is_brought_again_stays_for_a_while/1,
         code_that_stays_is_not_used_by_another_build/1,
         code_that_stays_opens_no_tracer/1,
         code_of_a_killed_guard_stays_while_it_runs/1,
         all_code_of_a_killed_guard_is_purged/1,
         an_older_guard_is_refused/1,
         a_module_that_was_brought_has_its_installed_sum/1,
         nonsense_is_answered/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).
-import(inviso_remote_lib, [attach/1, attach/2, ask/2, ask_attach/2, leave/1,
                            start/3, wait_state/2, is_clean/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [attaching_and_leaving_leaves_nothing,
     what_is_brought_needs_no_more,
     for_code_alone_there_is_no_directory,
     clients_share_what_is_there,
     another_build_is_refused_with_the_owners_names,
     installed_code_is_used_and_left_alone,
     many_attach_at_the_same_moment,
     one_attaches_while_another_leaves,
     a_client_whose_node_is_gone_is_dropped,
     dead_clients_are_not_connected_to,
     staying_processes_have_rows,
     a_killed_guard_has_an_heir,
     a_killed_heir_has_a_successor,
     when_guard_and_heir_are_killed_the_next_cleans_up,
     when_the_unloader_is_killed_the_next_cleans_up,
     processes_in_our_code_are_not_killed,
     the_interface_and_the_command_share_a_node,
     a_directory_that_cannot_be_used_is_named,
     the_next_directory_is_tried,
     a_directory_where_all_can_rename_is_refused,
     a_directory_where_a_group_can_rename_is_refused,
     a_directory_of_another_user_is_refused,
     no_program_starts,
     code_that_is_brought_again_stays_for_a_while,
     code_that_stays_is_not_used_by_another_build,
     code_that_stays_opens_no_tracer,
     code_of_a_killed_guard_stays_while_it_runs,
     all_code_of_a_killed_guard_is_purged,
     an_older_guard_is_refused,
     a_module_that_was_brought_has_its_installed_sum,
     nonsense_is_answered].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    Node = inviso_test_lib:start_stock_node(guarded, Dir),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    Before = inviso_test_lib:footprint(Node),
    [{node, Node}, {before, {Before, Node}}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    _ = [os:cmd("umount -l " ++ D)
         || D <- filelib:wildcard(filename:join(?config(dir, Config), "mnt-*"))],
    inviso_test_lib:stop_node(?config(node, Config)).

attaching_and_leaving_leaves_nothing(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    Files = [<<"inviso_tracer.so">>, <<"inviso_spool">>],
    {ok, #{guard := Guard, dir := Dir, files := Files}} = attach(Node),
    Guard = call(Node, erlang, whereis, [inviso_guard]),
    8#700 = mode(Dir),
    8#600 = mode(filename:join(Dir, "inviso_tracer.so")),
    8#700 = mode(filename:join(Dir, "inviso_spool")),
    {ok, [_]} = file:list_dir(Tmp),
    %% Only these modules are pushed, because a large node needs much time to unload a module.
    [inviso_rt, inviso_rt_meta, inviso_tracer] =
        lists:sort([M || {M, "inviso_pushed"} <- call(Node, code, all_loaded, [])]),
    [_ | _] = inviso_test_lib:left_behind(element(1, ?config(before, Config)),
                                          Node),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

mode(Path) ->
    {ok, Info} = file:read_file_info(Path),
    element(8, Info) band 8#777.

%% The code that is pushed to nodes calls only modules of inviso that are pushed
%% too.
what_is_brought_needs_no_more(_Config) ->
    {ok, _, Modules, _} = inviso_bring:payload(),
    Here = [M || {M, _, _} <- Modules],
    [] = [{M, F} || {_, _, Beam} <- Modules, {M, F} <- calls(Beam),
                    not lists:member(M, Here),
                    lists:prefix("inviso", atom_to_list(M)),
                    %% These two modules are called only on nodes on which inviso is installed.
                    not lists:member(M, [inviso_rt_auto, inviso_bring])].

calls(Beam) ->
    {ok, {_, [{imports, Imports}]}} = beam_lib:chunks(Beam, [imports]),
    [{M, F} || {M, F, _} <- Imports].

for_code_alone_there_is_no_directory(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    {ok, #{guard := Guard, dir := none, files := []}} =
        ask_attach(Node, #{want => code}),
    {ok, []} = file:list_dir(Tmp),
    {error, usage, _} = ask(Guard, ready),
    {ok, #{guard := Guard, files := [_, _ | _]}} = attach(Node),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

clients_share_what_is_there(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard, dir := Dir}} = attach(Node, #{owner => <<"first">>}),
    Second = client(),
    {ok, #{guard := Guard, dir := Dir, files := []}} =
        on(Second, fun() -> attach(Node, #{owner => <<"second">>}) end),
    {ok, [<<"first">>, <<"second">>]} = ask(Guard, clients),
    %% If a client leaves a second time, nothing changes.
    {ok, #{files := []}} = attach(Node, #{owner => <<"first">>}),
    {others, [<<"second">>]} = leave(Guard),
    {others, [<<"second">>]} = leave(Guard),
    true = call(Node, erlang, is_process_alive, [Guard]),
    gone = on(Second, fun() -> leave(Guard) end),
    is_clean(?config(before, Config)).

another_build_is_refused_with_the_owners_names(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node, #{owner => <<"eve@x (os pid 7)">>}),
    {error, refused, Text} = ask_attach(Node, #{build => <<"other">>,
                                                client => spawn_link(
                                                            timer, sleep,
                                                            [infinity])}),
    has(Text, "eve@x (os pid 7)"),
    {error, usage, _} = ask_attach(Node, #{protocol => 99}),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    %% When the code on the node is removed, a client of another build (version) of inviso can
    %% attach.
    {ok, #{guard := Next}} = ask_attach(Node, #{build => <<"other">>,
                                                want => code}),
    gone = leave(Next),
    is_clean(?config(before, Config)).

installed_code_is_used_and_left_alone(Config) ->
    Node = inviso_test_lib:start_node(installed, ?config(dir, Config)),
    {module, _} = call(Node, code, ensure_loaded, [inviso_push]),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    {ok, #{guard := Guard, dir := Dir, files := []}} =
        ask_attach(Node, #{want => tracer}),
    true = filelib:is_dir(Dir),
    ok = ask(Guard, ready),
    {error, usage, _} = ask(Guard, {put, <<"inviso_spool">>, <<"x">>}),
    gone = leave(Guard),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Guard]) end),
    false = filelib:is_dir(Dir),
    wait_until(fun() ->
                       call(Node, erlang, whereis, [inviso_loading]) =:=
                           undefined
               end),
    {file, Path} = call(Node, code, is_loaded, [inviso_push]),
    true = filelib:is_regular(Path),
    {error, refused, Text} = ask_attach(Node, #{build => <<"other">>}),
    has(Text, "another version"),
    undefined = call(Node, erlang, whereis, [inviso_guard]),
    inviso_test_lib:stop_node(Node).

many_attach_at_the_same_moment(Config) ->
    Node = ?config(node, Config),
    Clients = [client() || _ <- lists:seq(1, 8)],
    Refs = [on_async(C, fun() -> attach(Node) end) || C <- Clients],
    Guards = [begin {ok, #{guard := G}} = on_result(R), G end || R <- Refs],
    [Guard] = lists:usort(Guards),
    Left = [on_result(R)
            || R <- [on_async(C, fun() -> leave(Guard) end) || C <- Clients]],
    1 = length([gone || gone <- Left]),
    is_clean(?config(before, Config)).

one_attaches_while_another_leaves(Config) ->
    Node = ?config(node, Config),
    [A, B] = [client(), client()],
    Turns = fun Turn(0) -> ok;
                Turn(N) ->
                    {ok, #{guard := G}} = attach(Node),
                    _ = leave(G),
                    timer:sleep(rand:uniform(10)),
                    Turn(N - 1)
            end,
    Refs = [on_async(C, fun() -> Turns(15) end) || C <- [A, B]],
    [ok, ok] = [on_result(R) || R <- Refs],
    is_clean(?config(before, Config)).

a_client_whose_node_is_gone_is_dropped(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Other = inviso_test_lib:start_stock_node(client, ?config(dir, Config)),
    pong = call(Other, net_adm, ping, [Name]),
    {Before, _} = {inviso_test_lib:footprint(Node), Node},
    Client = inviso_test_lib:spawn_call(Other, timer, sleep, [infinity]),
    {ok, #{guard := Guard}} = ask_attach(Node, #{client => Client}),
    {ok, [_]} = ask(Guard, clients),
    %% The guard monitors the connection to the client's node and not the client's process, because
    %% processes of a C node cannot be monitored.
    true = call(Other, erlang, exit, [Client, kill]),
    timer:sleep(100),
    {ok, [_]} = ask(Guard, clients),
    inviso_test_lib:stop_node(Other),
    is_clean({Before, Node}),
    %% If the node of a client has ended before the guard gets the client's
    %% request to attach, the guard drops the client.
    {ok, #{guard := Next}} = ask_attach(Node, #{client => Client}),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Next]) end),
    is_clean({Before, Node}).

%% The guard must neither connect to the node of a client that has ended, nor
%% wait for that node.
dead_clients_are_not_connected_to(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Other = inviso_test_lib:start_stock_node(client, ?config(dir, Config)),
    #{name := OtherName} = Other,
    Waiting = inviso_test_lib:spawn_call(Other, timer, sleep, [infinity]),
    {ok, #{guard := Guard}} = attach(Node),
    pong = call(Other, net_adm, ping, [Name]),
    Guard ! {report, make_ref(), Waiting},
    {ok, [_]} = ask(Guard, clients),
    true = call(Node, erlang, disconnect_node, [OtherName]),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    false = lists:member(OtherName, call(Node, erlang, nodes, [connected])),
    inviso_test_lib:stop_node(Other).

%% The guard's table has a row for each process that called inviso_push:stays/1.
%% The guard removes the row when the process ends, before another process can
%% get the same pid.
staying_processes_have_rows(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Stays = inviso_guard:expressions(
              "ok = inviso_tracer:'inviso_push:stays'(worker), receive after infinity -> ok"
              " end."),
    [A, B] = [inviso_test_lib:spawn_call(Node, erl_eval, exprs, [Stays, []])
              || _ <- [1, 2]],
    Row = fun(P) -> call(Node, ets, member, [inviso_guard, {stays, P}]) end,
    wait_until(fun() -> Row(A) andalso Row(B) end),
    true = call(Node, erlang, exit, [A, kill]),
    wait_until(fun() -> not Row(A) end),
    %% When the guard is killed, its heir (the process that replaces it) gets the rows that are
    %% left.
    Heir = ets(Node, heir),
    true = call(Node, erlang, exit, [Guard, kill]),
    wait_until(fun() -> call(Node, erlang, whereis, [inviso_guard]) =:= Heir
                            orelse not Row(B) end),
    is_clean(?config(before, Config)).

a_killed_guard_has_an_heir(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    true = call(Node, erlang, exit, [Guard, kill]),
    is_clean(?config(before, Config)).

a_killed_heir_has_a_successor(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Heir = ets(Node, heir),
    true = call(Node, erlang, exit, [Heir, kill]),
    wait_until(fun() -> lists:member(ets(Node, heir), [Heir, undefined]) =:=
                            false end),
    true = call(Node, erlang, exit, [Guard, kill]),
    is_clean(?config(before, Config)).

ets(Node, heir) ->
    proplists:get_value(heir, call(Node, ets, info, [inviso_guard])).

when_guard_and_heir_are_killed_the_next_cleans_up(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {monitors, [{process, Heir}]} =
        call(Node, erlang, process_info, [Guard, monitors]),
    {ok, Tokens, _} = erl_scan:string(
                        "erlang:suspend_process(Heir), exit(Guard, kill),"
                        "exit(Heir, kill), R = monitor(process, Heir),"
                        "receive {'DOWN', R, _, _, _} -> ok end."),
    {ok, Kill} = erl_parse:parse_exprs(Tokens),
    {value, ok, _} = call(Node, erl_eval, exprs,
                          [Kill, [{'Guard', Guard}, {'Heir', Heir}]]),
    wait_until(fun() -> call(Node, ets, whereis, [inviso_guard]) =:= undefined
               end),
    true = is_loaded(Node),
    %% The next client may be of any build (version) of inviso.
    {ok, #{guard := Next}} = ask_attach(Node, #{build => <<"other">>}),
    gone = leave(Next),
    wait_until(fun() -> not is_loaded(Node) end).

is_loaded(Node) ->
    call(Node, code, is_loaded, [inviso_tracer]) =/= false.

when_the_unloader_is_killed_the_next_cleans_up(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    ok = call(Node, sys, suspend, [code_server]),
    gone = leave(Guard),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Guard]) end),
    Unloads = call(Node, erlang, whereis, [inviso_loading]),
    true = call(Node, erlang, exit, [Unloads, kill]),
    ok = call(Node, sys, resume, [code_server]),
    true = is_loaded(Node),
    {ok, #{guard := Next}} = attach(Node),
    gone = leave(Next),
    is_clean(?config(before, Config)).

%% If a process that is not inviso's own runs inviso's code, it is not killed, because it may be a
%% user's shell.
processes_in_our_code_are_not_killed(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Other = inviso_test_lib:spawn_call(Node, inviso_tracer, 'inviso_worker:init',
                                        [self(), own]),
    gone = leave(Guard),
    wait_until(fun() -> not is_loaded(Node) end),
    {ok, _, Modules, _} = inviso_bring:payload(),
    {value, {error, again, _}, _} =
        erpc:call(Name, erl_eval, exprs,
                  [inviso_push:loader(),
                   [{'Args', inviso_remote_lib:args(self())},
                    {'Mods', Modules}]]),
    true = call(Node, erlang, is_process_alive, [Other]),
    true = call(Node, erlang, exit, [Other, kill]),
    {ok, #{guard := Next}} = attach(Node),
    gone = leave(Next),
    is_clean(?config(before, Config)).

the_interface_and_the_command_share_a_node(Config) ->
    #{name := Name} = Node = ?config(node, Config),
    Control = inviso_test_lib:start_node(control, ?config(dir, Config)),
    pong = call(Control, net_adm, ping, [Name]),
    Before = inviso_test_lib:footprint(Node),
    {ok, _} = call(Control, inviso, start, []),
    {ok, [{Name, {ok, new}}]} = call(Control, inviso, add_nodes, [[Name], tag]),
    {ok, #{guard := Guard, files := []}} = attach(Node),
    {ok, [{Name, ok}]} = call(Control, inviso, stop_nodes, []),
    true = call(Node, erlang, is_process_alive, [Guard]),
    {ok, [{Name, {ok, new}}]} = call(Control, inviso, add_nodes, [[Name], tag]),
    {others, [Api]} = leave(Guard),
    has(Api, atom_to_list(maps:get(name, Control))),
    {ok, [{Name, ok}]} = call(Control, inviso, stop_nodes, []),
    is_clean({Before, Node}),
    shutdown = call(Control, inviso, stop, []),
    inviso_test_lib:stop_node(Control).

a_directory_that_cannot_be_used_is_named(Config) ->
    Node = ?config(node, Config),
    Absent = filename:join(?config(dir, Config), "absent"),
    {error, failed, Text} = ask_attach(Node, #{dirs => [utf8(Absent)]}),
    has(Text, "--remote-dir"),
    has(Text, Absent),
    is_clean(?config(before, Config)),
    case {mounted(Config, "noexec", "noexec"), mounted(Config, "full", "size=64k")}
    of
        {{ok, NoExec}, {ok, Full}} ->
            no_exec(Config, Node, NoExec),
            full(Config, Node, Full);
        _ ->
            {comment, "not root: no file systems mounted"}
    end.

no_exec(Config, Node, Dir) ->
    {ok, #{guard := Guard, files := Files}} =
        ask_attach(Node, #{dirs => [utf8(Dir)]}),
    put_all(Guard, Files),
    {error, failed, Text} = ask(Guard, ready),
    has(Text, "--remote-dir"),
    has(Text, "noexec"),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    {ok, []} = file:list_dir(Dir).

full(Config, Node, Dir) ->
    {ok, #{guard := Guard}} = ask_attach(Node, #{dirs => [utf8(Dir)]}),
    {ok, _, _, [{Name, Bytes} | _]} = inviso_bring:payload(),
    {error, failed, Text} = ask(Guard, {put, utf8(Name), Bytes}),
    has(Text, "--remote-dir"),
    has(Text, "no space left"),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    {ok, []} = file:list_dir(Dir).

the_next_directory_is_tried(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    Absent = utf8(filename:join(?config(dir, Config), "absent")),
    case mounted(Config, "noexec", "noexec") of
        {ok, NoExec} ->
            Dirs = [Absent, utf8(NoExec), utf8(Tmp)],
            {ok, #{guard := Guard, files := Files}} =
                ask_attach(Node, #{dirs => Dirs}),
            put_all(Guard, Files),
            {ok, [_]} = file:list_dir(NoExec),
            ok = ask(Guard, ready),
            {ok, []} = file:list_dir(NoExec),
            {ok, [_]} = file:list_dir(Tmp),
            ok = ask(Guard, ready),
            gone = leave(Guard),
            is_clean(?config(before, Config));
        error ->
            {skip, "not root: no file systems mounted"}
    end.

%% In a directory where all users can rename files, another user could replace
%% the library before it is loaded.
a_directory_where_all_can_rename_is_refused(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    Open = filename:join(?config(dir, Config), "open"),
    ok = filelib:ensure_dir(filename:join(Open, "x")),
    ok = file:change_mode(Open, 8#777),
    {error, failed, Text} = ask_attach(Node, #{dirs => [utf8(Open)]}),
    has(Text, Open),
    has(Text, "chmod +t"),
    has(Text, "--remote-dir"),
    {ok, []} = file:list_dir(Open),
    is_clean(?config(before, Config)),
    %% With the sticky bit the directory is accepted. The same rule holds for
    %% TMPDIR.
    "" = os:cmd("chmod 1777 " ++ Open),
    {ok, #{guard := Guard, dir := Dir}} =
        attach(Node, #{dirs => [utf8(Open)]}),
    true = lists:prefix(Open, unicode:characters_to_list(Dir)),
    gone = leave(Guard),
    is_clean(?config(before, Config)),
    ok = file:change_mode(Tmp, 8#777),
    {ok, #{guard := Next, dir := Other}} = attach(Node),
    false = lists:prefix(Tmp, unicode:characters_to_list(Other)),
    gone = leave(Next),
    is_clean(?config(before, Config)).

a_directory_where_a_group_can_rename_is_refused(Config) ->
    Node = ?config(node, Config),
    Dir = a_directory(Config, "group"),
    _ = [begin
             "" = os:cmd("chmod " ++ Mode ++ " " ++ Dir),
             Text = refused_dir(Node, Dir),
             has(Text, "chmod g-w"),
             has(Text, "--remote-dir")
         end || Mode <- ["0770", "0775", "2775"]],
    _ = [begin
             "" = os:cmd("chmod " ++ Mode ++ " " ++ Dir),
             accepted_dir(Node, Dir)
         end || Mode <- ["00700", "00755", "01770", "01777"]],
    is_clean(?config(before, Config)).

%% The sticky bit does not prevent the owner of a directory from renaming
%% files.
a_directory_of_another_user_is_refused(Config) ->
    Node = ?config(node, Config),
    Dir = a_directory(Config, "owner"),
    case file:change_owner(Dir, 4711) of
        ok ->
            _ = [begin
                     "" = os:cmd("chmod " ++ Mode ++ " " ++ Dir),
                     Text = refused_dir(Node, Dir),
                     has(Text, "user 4711"),
                     has(Text, "--remote-dir")
                 end || Mode <- ["0700", "0755", "1777"]],
            ok = file:change_owner(Dir, 0),
            accepted_dir(Node, Dir),
            is_clean(?config(before, Config));
        {error, eperm} ->
            {skip, "NO DIRECTORY OF ANOTHER USER: only root can make one"}
    end.

a_directory(Config, Name) ->
    Dir = filename:join(?config(dir, Config), Name),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Dir.

refused_dir(Node, Dir) ->
    {error, failed, Text} = ask_attach(Node, #{dirs => [utf8(Dir)]}),
    has(Text, Dir),
    {ok, []} = file:list_dir(Dir),
    Text.

accepted_dir(Node, Dir) ->
    {ok, #{guard := Guard, dir := Place}} =
        attach(Node, #{dirs => [utf8(Dir)]}),
    true = lists:prefix(Dir, unicode:characters_to_list(Place)),
    gone = leave(Guard).

put_all(Guard, Files) ->
    {ok, _, _, Products} = inviso_bring:payload(),
    _ = [ok = ask(Guard, {put, F, Bytes})
         || F <- Files, {N, Bytes} <- Products, utf8(N) =:= F],
    ok.

mounted(Config, Name, Options) ->
    Dir = filename:join(?config(dir, Config), "mnt-" ++ Name),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    case os:cmd("mount -t tmpfs -o " ++ Options ++ " none " ++ Dir) of
        "" -> {ok, Dir};
        _ -> error
    end.

nonsense_is_answered(Config) ->
    Node = ?config(node, Config),
    _ = [{error, usage, _} = ask_attach(Node, Args)
         || Args <- [#{dirs => x}, #{dirs => [x]}, #{dirs => [<<>> | x]},
                     #{owner => x}, #{want => x}, #{client => x},
                     #{build => x}, #{dirs => [<<255>>]}]],
    is_clean(?config(before, Config)),
    {ok, #{guard := Guard}} = ask_attach(Node, #{}),
    _ = [{error, usage, _} = ask(Guard, R)
         || R <- [x, {put, x, <<>>}, {put, <<"../x">>, <<>>},
                  {put, <<"inviso_tracer.so">>, x}, {leave, x},
                  {join, self(), x}, {put, <<"x">>, <<>>}]],
    {error, failed, NotSent} = ask(Guard, ready),
    has(NotSent, "inviso_tracer.so"),
    Guard ! nonsense,
    Guard ! {'$gen_call', nonsense, nonsense},
    Guard ! {'$gen_call', {x, y}, nonsense},
    Guard ! {'$gen_call', {self(), [alias | x]}, nonsense},
    Guard ! {report, x, y},
    #{build := Build} = inviso_remote_lib:args(self()),
    _ = [{error, usage, _} = ask(Guard, R)
         || P <- [call(Node, erlang, whereis, [init])],
            R <- [{attach, #{build => Build}},
                  {attach, #{build => Build, client => P, owner => <<>>}},
                  {join, P, x}, {join, P, {session, x, y, z}}, {join, P, {rt, x}}]],
    {ok, [_]} = ask(Guard, clients),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

%% erl_child_setup, the process with which the VM starts programs, is stopped. So the spooler cannot
%% start, and the guard reports this error.
no_program_starts(Config) ->
    #{os_pid := OsPid} = Node = ?config(node, Config),
    {ok, #{guard := Guard, files := Files}} = ask_attach(Node, #{}),
    {ok, _, _, Products} = inviso_bring:payload(),
    _ = [ok = ask(Guard, {put, utf8(Name), Bytes})
         || {Name, Bytes} <- Products, lists:member(utf8(Name), Files)],
    Setup = string:trim(os:cmd("pgrep -P " ++ OsPid ++ " erl_child_setup")),
    [_ | _] = Setup,
    _ = os:cmd("kill -STOP " ++ Setup),
    {error, failed, Text} = ask(Guard, ready),
    _ = os:cmd("kill -CONT " ++ Setup),
    has(Text, "does not start"),
    gone = leave(Guard),
    is_clean(?config(before, Config)).

%% --- code that stays ---------------------------------------------------------

%% Code lingers for a moment after a client has left. If the next client attaches in this time, the
%% code is used again, so the loaded library is still in the directory of the earlier client. A busy
%% machine can be too slow for this; then the test tries again for a minute, and is skipped.
code_that_is_brought_again_stays_for_a_while(Config) ->
    #{tmp := Tmp} = Node = ?config(node, Config),
    {ok, #{guard := First, stays := false}} = attach(Node),
    gone = leave(First),
    is_clean(?config(before, Config)),
    Result = reuse({Node, Tmp}, erlang:monotonic_time(millisecond) + 60000),
    is_clean(?config(before, Config)),
    Result.

reuse({Node, Tmp} = Where, Late) ->
    {ok, #{guard := Guard, stays := true}} = attach(Node),
    Left = erlang:monotonic_time(millisecond),
    gone = leave(Guard),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Guard]) end),
    {ok, []} = file:list_dir(Tmp),
    {ok, #{guard := Next, dir := Dir}} = attach(Node),
    Attached = erlang:monotonic_time(millisecond),
    Dir = call(Node, inviso_tracer, dir, []),
    Reused = call(Node, inviso_tracer, library, []) =/= Dir,
    {ok, S, _} = start(Node, Next, #{}),
    #{state := tracing} = wait_state(S, [tracing, failed]),
    ok = inviso_remote_lib:remove(S),
    gone = leave(Next),
    true = Reused orelse Attached - Left >= inviso_linger:ms(true),
    case Reused of
        true -> ok;
        false when Attached < Late -> reuse(Where, Late);
        false -> {skip, "this machine is too slow: no client attached before the code was unloaded"}
    end.

code_that_stays_is_not_used_by_another_build(Config) ->
    Node = ?config(node, Config),
    _ = [begin
             {ok, #{guard := Guard}} = attach(Node),
             gone = leave(Guard)
         end || _ <- [1, 2]],
    {ok, #{guard := Other}} = ask_attach(Node, #{build => <<"other">>}),
    undefined = call(Node, inviso_tracer, library, []),
    gone = leave(Other),
    is_clean(?config(before, Config)).

%% inviso is installed on the node, but the pushed code of an earlier attach is
%% still loaded. A process on the node opens a tracer with this code. The code
%% will soon be unloaded, so opening must fail. If the code was already unloaded
%% before (on a busy machine), the test is repeated.
code_that_stays_opens_no_tracer(Config) ->
    wait_until(fun() -> lingering_opens_no_tracer(Config) end).

lingering_opens_no_tracer(Config) ->
    Node = inviso_test_lib:start_node(installed, ?config(dir, Config)),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    [Early, Late] = [filename:join(maps:get(dir, Node), F)
                     || F <- ["early.log", "late.log"]],
    Unlocked = fun() -> call(Node, erlang, whereis, [inviso_loading])
                            =:= undefined end,
    {ok, #{guard := First, brought := true}} = attach(Node),
    gone = leave(First),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [First]) end),
    wait_until(Unlocked),
    {ok, #{guard := Guard, stays := true}} = attach(Node),
    gone = leave(Guard),
    wait_until(fun() -> not call(Node, erlang, is_process_alive, [Guard]) end),
    Lingers = call(Node, code, is_loaded, [inviso_tracer])
        =:= {file, "inviso_pushed"},
    Opened = call(Node, inviso_tracer, open, [Early, #{}]),
    Is = Lingers andalso not Unlocked(),
    wait_until(Unlocked),
    case Is of
        true ->
            {error, {load, Text}} = Opened,
            has(iolist_to_binary(Text), "try again"),
            false = filelib:is_file(Early),
            {ok, _} = call(Node, inviso_tracer, open, [Late, #{}]);
        false ->
            busy
    end,
    inviso_test_lib:stop_node(Node),
    Is.

%% --- a guard that was killed -------------------------------------------------

code_of_a_killed_guard_stays_while_it_runs(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    Runs = inviso_test_lib:spawn_call(Node, inviso_tracer, 'inviso_worker:init',
                                      [self(), own]),
    kill_guard(Node, Guard),
    {ok, _, Modules, _} = inviso_bring:payload(),
    {error, again, _} = evaluated(Node, Modules),
    true = is_loaded(Node),
    true = call(Node, erlang, is_process_alive, [Runs]),
    true = call(Node, erlang, exit, [Runs, kill]),
    {ok, #{guard := Next}} = attach(Node),
    gone = leave(Next),
    wait_until(fun() -> not is_loaded(Node) end).

%% The killed guard has left a module that the next client does not push. The next client purges it,
%% too.
all_code_of_a_killed_guard_is_purged(Config) ->
    Node = ?config(node, Config),
    {ok, #{guard := Guard}} = attach(Node),
    {file, "inviso_pushed"} = call(Node, code, is_loaded, [inviso_rt]),
    kill_guard(Node, Guard),
    {ok, #{guard := Next}} = evaluated(Node, of_command()),
    false = call(Node, code, is_loaded, [inviso_rt]),
    false = call(Node, erlang, check_old_code, [inviso_rt]),
    gone = leave(Next),
    wait_until(fun() -> not is_loaded(Node) end).

%% Kills the guard together with its heir, the process that would replace it.
kill_guard(Node, Guard) ->
    {monitors, [{process, Heir}]} =
        call(Node, erlang, process_info, [Guard, monitors]),
    Kill = inviso_guard:expressions(
             "erlang:suspend_process(Heir), exit(Guard, kill),"
             "exit(Heir, kill), R = monitor(process, Heir),"
             "receive {'DOWN', R, _, _, _} -> ok end."),
    {value, ok, _} = call(Node, erl_eval, exprs,
                          [Kill, [{'Guard', Guard}, {'Heir', Heir}]]),
    wait_until(fun() -> call(Node, ets, whereis, [inviso_guard]) =:= undefined
               end),
    true = is_loaded(Node).

evaluated(Node, Modules) ->
    {value, Value, _} =
        call(Node, erl_eval, exprs,
             [inviso_push:loader(),
              [{'Args', inviso_remote_lib:args(self())}, {'Mods', Modules}]]),
    Value.

of_command() ->
    {ok, _, Modules, _} = inviso_bring:payload(),
    [Mod || {M, _, _} = Mod <- Modules,
            M =:= inviso_tracer].

%% --- other versions ----------------------------------------------------------

%% The guard on this node has code of another version: its module inviso_tracer lacks the function
%% that a client calls.
an_older_guard_is_refused(Config) ->
    Node = ?config(node, Config),
    {ok, inviso_tracer, Beam} =
        compile:forms([{attribute, 1, module, inviso_tracer}]),
    Guard = inviso_test_lib:spawn_call(
              Node, erl_eval, exprs,
              [inviso_guard:expressions(
                 "ets:new(inviso_guard, [named_table]),"
                 "{module, _} = code:load_binary(inviso_tracer,"
                 "                               \"inviso_pushed\", Beam),"
                 "register(inviso_guard, self()),"
                 "receive after infinity -> ok end."), [{'Beam', Beam}]]),
    wait_until(fun() -> call(Node, erlang, whereis, [inviso_guard]) =:= Guard
               end),
    {error, refused, Text} = ask_attach(Node, #{}),
    has(Text, "another version of inviso").

%% A client pushes some modules, and the node loads another module from its own
%% installation. The next client can attach, because the installed code and the
%% client's code have equal checksums.
a_module_that_was_brought_has_its_installed_sum(Config) ->
    Node = inviso_test_lib:start_node(installed, ?config(dir, Config)),
    2 = erpc:call(maps:get(name, Node), erlang, '+', [1, 1]),
    {ok, #{guard := Guard}} = evaluated(Node, of_command()),
    {module, _} = call(Node, code, ensure_loaded, [inviso_rt]),
    {ok, #{guard := Guard}} = ask_attach(Node, #{}),
    gone = leave(Guard),
    inviso_test_lib:stop_node(Node).

%% --- helpers ----------------------------------------------------------------

%% Starts a process that runs the funs that it receives.
client() ->
    spawn_link(fun F() -> receive {From, Ref, Do} -> From ! {Ref, Do()}, F() end
               end).

on(Client, Do) ->
    on_result(on_async(Client, Do)).

on_async(Client, Do) ->
    Ref = make_ref(),
    Client ! {self(), Ref, Do},
    Ref.

on_result(Ref) ->
    receive {Ref, Result} -> Result end.

has(Text, Part) ->
    case string:find(Text, Part) of
        nomatch -> ct:fail({Part, not_in, Text});
        _ -> ok
    end.

utf8(Path) ->
    unicode:characters_to_binary(Path).
