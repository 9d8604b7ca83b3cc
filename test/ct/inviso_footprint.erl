%% SPDX-License-Identifier: Apache-2.0
%% @doc The footprint of a node: everything that a tracing tool can leave behind
%% on the node and its machine, as seen from outside.
%%
%% ```
%%  Before = inviso_footprint:of_node(Node),
%%  ... run the command ...
%%  [] = inviso_footprint:left(Before, Node, 10000)
%% '''
%%
%% Atoms are not compared, because a node never removes an atom. Modules of OTP
%% are not compared either, because a node in interactive mode loads a module at
%% the first call; {@link loaded/2} returns these modules.
-module(inviso_footprint).

-export([of_node/1, left/3, differences/2, loaded/2]).

-define(NODE, inviso_stock_node).

-type footprint() :: #{atom() => term()}.

-spec of_node(inviso_stock_node:test_node()) -> footprint().
of_node(Node) ->
    Loaded = ?NODE:call(Node, code, all_loaded, []),
    Mods = [M || {M, _} <- Loaded],
    Root = ?NODE:call(Node, code, root_dir, []),
    maps:merge(
      tracing(Node, Mods),
      #{processes => processes(Node),
        ports => ports(Node),
        registered => sorted(Node, erlang, registered, []),
        ets => tables(Node),
        persistent_terms => sorted_keys(?NODE:call(Node, persistent_term, get,
                                                   [])),
        nodes => sorted(Node, erlang, nodes, [connected]),
        hidden_nodes => sorted(Node, erlang, nodes, [hidden]),
        modules => lists:sort([MF || {_, File} = MF <- Loaded,
                                     not stock(File, Root)]),
        stock_modules => lists:sort([M || {M, File} <- Loaded,
                                          stock(File, Root)]),
        old_code => matching(Node, erlang, check_old_code,
                              ours() ++ Mods, true),
        code_path => ?NODE:call(Node, code, get_path, []),
        cwd => ?NODE:call(Node, file, get_cwd, []),
        env => sorted(Node, os, getenv, []),
        logger => ?NODE:call(Node, logger, get_config, []),
        kernel_env => sorted(Node, application, get_all_env, [kernel]),
        said => said(Node),
        files => files(Node),
        mapped => mapped(Node),
        descriptors => descriptors(Node),
        os_processes => os_processes(Node)}).

%% @doc Compares a node with an earlier footprint, repeatedly for up to Ms
%% milliseconds until there is no difference. Returns the differences.
-spec left(footprint(), inviso_stock_node:test_node(), non_neg_integer()) ->
          [term()].
left(Before, Node, Ms) ->
    inviso_command_lib:until_same(
      fun() ->
              case quick_differences(Before, Node) of
                  [] -> differences(Before, of_node(Node));
                  Some -> Some
              end
      end, Ms).

%% Compares only loaded modules and registered names, which inviso removes last.
%% To compare whole footprints takes a thousand times as long.
quick_differences(Before, Node) ->
    Loaded = [MF || {M, _} = MF <- ?NODE:call(Node, code, all_loaded, []),
                    lists:prefix("inviso_", atom_to_list(M))],
    Registered = sorted(Node, erlang, registered, []),
    [{modules, [], Loaded -- maps:get(modules, Before)}
     || Loaded -- maps:get(modules, Before) =/= []] ++
        [difference(registered, maps:get(registered, Before), Registered)
         || Registered =/= maps:get(registered, Before)].

%% @doc Returns how two footprints differ, as a list of `{What, Gone, New}'.
-spec differences(footprint(), footprint()) -> [{atom(), term(), term()}].
differences(Before, After) ->
    [difference(K, maps:get(K, Before), V)
     || {K, V} <- maps:to_list(After), K =/= stock_modules,
        V =/= maps:get(K, Before)].

difference(K, Old, New) when is_list(Old), is_list(New) ->
    {K, Old -- New, New -- Old};
difference(K, Old, New) ->
    {K, Old, New}.

%% @doc Returns the modules of OTP that a node has loaded since the footprint
%% was taken.
-spec loaded(footprint(), inviso_stock_node:test_node()) -> [module()].
loaded(#{stock_modules := Old}, Node) ->
    #{stock_modules := New} = of_node(Node),
    New -- Old.

%% Returns the text of the node's log without the engine's warnings that a
%% request took long. Such warnings are normal on a busy machine.
said(Node) ->
    re:replace(?NODE:said(Node), "=WARNING REPORT====[^\n]*\ntrace sessions: a "
               "request took.*?(\n(?==)|\\z)", "", [global, dotall, {return, binary}]).

%% --- tracing ----------------------------------------------------------------

tracing(Node, Mods) ->
    Pids = ?NODE:call(Node, erlang, processes, []),
    Ports = ?NODE:call(Node, erlang, ports, []),
    Special = [new_processes, new_ports],
    Tracees = [{T, W} || T <- Special ++ Pids ++ Ports, W <- [flags, tracer]],
    {Who, What} = lists:unzip(Tracees),
    #{traced => [{A, R} || {A, {_, V} = R} <-
                               lists:zip(Tracees, ?NODE:zip(
                                           Node, erlang, trace_info, Who, What)),
                           V =/= []],
      patterns => patterns(Node, Mods),
      messages => ?NODE:many(Node, erlang, trace_info,
                             [[W, I] || W <- [send, 'receive'],
                                        I <- [match_spec]] ++
                                 [[on_load, all]]),
      sessions => sessions(Node),
      system_tracer => ?NODE:call(Node, seq_trace, get_system_tracer, []),
      system_profile => ?NODE:call(Node, erlang, system_profile, []),
      system_monitor => ?NODE:call(Node, erlang, system_monitor, [])}.

%% Reads both lists of a module, because its list `exports' includes stubs of
%% functions written in C, and its list `functions' does not.
patterns(Node, Mods) ->
    Kinds = [[M, W] || M <- Mods, W <- [functions, exports]],
    All = lists:usort(
            [{M, F, A}
             || {[M, _], Fs} <- lists:zip(Kinds, ?NODE:many(
                                  Node, erlang, get_module_info, Kinds)),
                is_list(Fs), {F, A} <- Fs]),
    Set = ?NODE:zip(Node, erlang, trace_info, All, [all || _ <- All]),
    [P || {_, {all, Info}} = P <- lists:zip(All, Set), Info =/= false].

sessions(Node) ->
    case ?NODE:call(Node, erlang, function_exported, [trace, session_info, 1])
        orelse ?NODE:call(Node, code, which, [trace]) =/= non_existing
    of
        true -> ?NODE:call(Node, trace, session_info, [all]);
        false -> none
    end.

%% --- the rest of the node ---------------------------------------------------

processes(Node) ->
    Pids = ?NODE:call(Node, erlang, processes, []),
    Items = [initial_call, registered_name],
    lists:sort([{P, I} || {P, I} <- lists:zip(Pids, ?NODE:zip(
                                      Node, erlang, process_info,
                                      Pids, [Items || _ <- Pids])),
                          is_list(I)]).

ports(Node) ->
    Ports = ?NODE:call(Node, erlang, ports, []),
    lists:sort(lists:zip(Ports, ?NODE:many(Node, erlang, port_info,
                                           [[P, name] || P <- Ports]))).

tables(Node) ->
    Tables = ?NODE:call(Node, ets, all, []),
    lists:sort(lists:zip(Tables, ?NODE:many(Node, ets, info,
                                            [[T, name] || T <- Tables]))).

sorted(Node, M, F, Args) ->
    lists:sort(?NODE:call(Node, M, F, Args)).

sorted_keys(Pairs) ->
    lists:sort([K || {K, _} <- Pairs]).

matching(Node, M, F, Items, Value) ->
    [I || {I, V} <- lists:zip(Items, ?NODE:many(Node, M, F,
                                                [[I] || I <- Items])),
          V =:= Value].

%% Returns the names of inviso's modules. A deleted module is no longer in the
%% list of loaded modules, so it must be looked up by name.
ours() ->
    Beams = filelib:wildcard("inviso*.beam",
                             filename:dirname(code:which(inviso))),
    [inviso_x | [list_to_atom(filename:rootname(B)) || B <- Beams]].

stock(preloaded, _Root) -> true;
stock(File, Root) -> is_list(File) andalso lists:prefix(Root, File).

%% --- the machine ------------------------------------------------------------

%% Returns the files in the node's directories. If no other node has the same
%% user, also returns that user's files in the directories that all users share.
files(#{dir := Dir, uid := Uid} = _Node) ->
    Shared = case Uid >= 300000 of
                 true ->
                     [File || Place <- ["/tmp", "/var/tmp", "/dev/shm", "/run"],
                              File <- owned(Place, Uid),
                              not lists:prefix(Dir, File),
                              string:find(File, "/ict.") =:= nomatch];
                 false -> []
             end,
    lists:sort([File || File <- all_of(Dir)] ++ Shared).

all_of(Dir) ->
    string:lexemes(os:cmd("find " ++ Dir ++ " -printf '%y %m %p\\n'"), "\n").

owned(Place, Uid) ->
    Find = io_lib:format("find ~s -xdev -maxdepth 2 -uid ~b 2>/dev/null",
                         [Place, Uid]),
    string:lexemes(os:cmd(lists:flatten(Find)), "\n").

%% Returns the names of mapped libraries and of shared memory.
mapped(#{os_pid := OsPid}) ->
    Lines = lines(proc(OsPid, "maps")),
    lists:usort([Name || Line <- Lines,
                         [_, _, _, _, _ | Name] <- [string:lexemes(Line, " ")],
                         Name =/= [], hd(hd(Name)) =/= $[]).

%% Returns what the open descriptors refer to. The numbers of descriptors,
%% sockets and pipes are left out.
descriptors(#{os_pid := OsPid}) ->
    Dir = "/proc/" ++ integer_to_list(OsPid) ++ "/fd",
    {ok, Names} = file:list_dir(Dir),
    lists:sort([no_number(To)
                || N <- Names,
                   {ok, To} <- [file:read_link_all(filename:join(Dir, N))]]).

no_number(To) ->
    hd(string:split(To, ":[")).

%% Returns the programs that the node started. If no other node has the same
%% user, also returns that user's processes.
os_processes(#{os_pid := OsPid, uid := Uid}) ->
    Facts = [T || "/proc/" ++ N <- filelib:wildcard("/proc/[0-9]*"),
                  {_, _, _, _} = T <- [status(list_to_integer(N))]],
    Below = below([OsPid], Facts),
    lists:sort([{P, Name}
                || {P, _, User, Name} <- Facts,
                   lists:member(P, Below) orelse
                       (Uid >= 300000 andalso User =:= Uid andalso
                        Name =/= "inviso")]).

status(P) ->
    Lines = lines(proc(P, "status")),
    Field = fun(F) ->
                    [V] = [hd(string:lexemes(L, "\t "))
                           || Line <- Lines,
                              L <- [string:prefix(Line, F ++ ":")],
                              is_list(L)],
                    V
            end,
    %% Processes that have ended do not count. epmd, and the program with which
    %% the VM looks up names, do not count either: the VM starts and ends them
    %% at any time.
    try {Field("State"), Field("Name")} of
        {[S | _], Name} when S =:= $Z; S =:= $X;
                             Name =:= "epmd"; Name =:= "inet_gethost" -> gone;
        {_, Name} -> {P, list_to_integer(Field("PPid")),
                      list_to_integer(Field("Uid")), Name}
    catch error:_ -> gone
    end.

below(Known, Facts) ->
    case [P || {P, Parent, _, _} <- Facts, lists:member(Parent, Known),
               not lists:member(P, Known)] of
        [] -> Known;
        More -> below(Known ++ More, Facts)
    end.

proc(OsPid, File) ->
    Path = filename:join(["/proc", integer_to_list(OsPid), File]),
    case file:read_file(Path) of
        {ok, Bin} -> binary_to_list(Bin);
        {error, _} -> ""
    end.

lines(Text) ->
    string:lexemes(Text, "\n").
