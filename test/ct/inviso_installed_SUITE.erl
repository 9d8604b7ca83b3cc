%% SPDX-License-Identifier: Apache-2.0
%% A node with inviso installed, which has loaded none, some or all of its
%% modules, is added like any other node. Another version of inviso is refused.
-module(inviso_installed_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([the_application_runs/1,
         one_module_is_loaded/1,
         all_modules_are_loaded/1,
         another_version_is_loaded/1,
         another_version_is_installed/1,
         a_module_is_missing/1,
         the_combined_modules_are_missing/1,
         an_embedded_release/1,
         an_embedded_node_with_one_module/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).

suite() -> [{timetrap, {seconds, 300}}].

all() ->
    [the_application_runs,
     one_module_is_loaded,
     all_modules_are_loaded,
     another_version_is_loaded,
     another_version_is_installed,
     a_module_is_missing,
     the_combined_modules_are_missing,
     an_embedded_release,
     an_embedded_node_with_one_module].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    Control = inviso_test_lib:start_node(control, Dir),
    {ok, _} = call(Control, inviso, start, []),
    [{control, Control}, {dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    inviso_test_lib:stop_node(?config(control, Config)).

%% --- cases ------------------------------------------------------------------

%% The application inviso is started, as for autostart, but its configuration names nothing to
%% trace.
the_application_runs(Config) ->
    N = started(["-pa", inviso_test_lib:ebin()], Config),
    ok = call(N, application, start, [inviso]),
    true = is_installed(N, inviso_rt_server),
    false = call(N, code, is_loaded, [inviso_rt_meta]),
    traced(N, Config),
    %% When the application stops, the modules that it loaded stay loaded.
    true = is_installed(N, inviso_rt_server),
    ok = call(N, application, stop, [inviso]),
    ok = call(N, application, start, [inviso]),
    traced(N, Config),
    inviso_test_lib:stop_node(N).

%% Traces a node on which one module of inviso is loaded: inviso_rt, a module of the runtime
%% component. Then loads another module, inviso_opts, which each guard needs, and traces again.
one_module_is_loaded(Config) ->
    N = started(["-pa", inviso_test_lib:ebin()], Config),
    {module, _} = call(N, code, ensure_loaded, [inviso_rt]),
    traced(N, Config),
    true = is_installed(N, inviso_rt),
    {module, _} = call(N, code, ensure_loaded, [inviso_opts]),
    traced(N, Config),
    true = is_installed(N, inviso_opts),
    inviso_test_lib:stop_node(N).

all_modules_are_loaded(Config) ->
    N = started(["-pa", inviso_test_lib:ebin()], Config),
    Modules = modules(),
    ok = call(N, code, ensure_modules_loaded, [Modules]),
    traced(N, Config),
    [] = [M || M <- Modules, not is_installed(N, M)],
    inviso_test_lib:stop_node(N).

%% One module of another version of inviso is loaded on the node: inviso_rt, a module of the runtime
%% component.
another_version_is_loaded(Config) ->
    Other = other_version(inviso_rt, Config),
    N = started(["-pa", inviso_test_lib:ebin(), "-pa", filename:dirname(Other)],
                Config),
    {module, _} = call(N, code, ensure_loaded, [inviso_rt]),
    refused(N, ["another version", filename:dirname(Other), "install"], Config),
    %% No module was pushed to the node.
    [] = [M || {M, "inviso_pushed"} <- call(N, code, all_loaded, [])],
    inviso_test_lib:stop_node(N).

%% All modules of inviso are installed on the node, but one module of the runtime component is of
%% another version. The control component refuses the node.
another_version_is_installed(Config) ->
    Other = other_version(inviso_rt_meta, Config),
    N = started(["-pa", inviso_test_lib:ebin(), "-pa", filename:dirname(Other)],
                Config),
    {module, _} = call(N, code, ensure_loaded, [inviso_push]),
    refused(N, ["another version", filename:dirname(Other), "install"], Config),
    true = is_installed(N, inviso_push),
    inviso_test_lib:stop_node(N).

a_module_is_missing(Config) ->
    Ebin = filename:join(?config(dir, Config), "half"),
    ok = filelib:ensure_dir(filename:join(Ebin, "x")),
    _ = [{ok, _} = file:copy(File, filename:join(Ebin, filename:basename(File)))
         || File <- filelib:wildcard(filename:join(inviso_test_lib:ebin(), "*")),
            filename:basename(File) =/= "inviso_rt_meta.beam"],
    ok = file:make_symlink(inviso_test_lib:priv(),
                           filename:join(?config(dir, Config), "priv")),
    N = started(["-pa", Ebin], Config),
    {module, _} = call(N, code, ensure_loaded, [inviso_push]),
    refused(N, ["inviso_rt_meta", Ebin], Config),
    inviso_test_lib:stop_node(N).

%% This installation of inviso lacks the directory priv/pushed.
the_combined_modules_are_missing(Config) ->
    Top = filename:join(?config(dir, Config), "whole"),
    [Ebin, Priv] = [filename:join(Top, D) || D <- ["ebin", "priv"]],
    ok = filelib:ensure_dir(filename:join(Priv, "x")),
    ok = file:make_symlink(inviso_test_lib:ebin(), Ebin),
    {ok, Files} = file:list_dir(inviso_test_lib:priv()),
    _ = [ok = file:make_symlink(filename:join(inviso_test_lib:priv(), F),
                                filename:join(Priv, F))
         || F <- Files, F =/= "pushed"],
    N = started(["-pa", Ebin], Config),
    {module, _} = call(N, code, ensure_loaded, [inviso_push]),
    refused(N, ["without the file", filename:join([Priv, "pushed", "modules"]),
                "copy its directory priv"], Config),
    inviso_test_lib:stop_node(N).

%% All modules are loaded when the node boots, and none later.
an_embedded_release(Config) ->
    Dir = ?config(dir, Config),
    _ = application:load(inviso),
    Apps = [begin
                {ok, Version} = application:get_key(A, vsn),
                {A, Version}
            end || A <- [kernel, stdlib, inviso]],
    Rel = filename:join(Dir, "small"),
    ok = file:write_file(Rel ++ ".rel",
                         io_lib:format("~tp.~n",
                                       [{release, {"small", "1"},
                                         {erts, erlang:system_info(version)},
                                         Apps}])),
    ok = systools:make_script(Rel, [local, {path, [inviso_test_lib:ebin()]},
                                    {outdir, Dir}, no_warn_sasl]),
    N = started(["-mode", "embedded", "-boot", Rel], Config),
    true = is_installed(N, inviso_rt_meta),
    traced(N, Config),
    true = is_installed(N, inviso_rt_meta),
    inviso_test_lib:stop_node(N).

%% A node in embedded mode loads a module only on explicit request.
an_embedded_node_with_one_module(Config) ->
    N = started(["-mode", "embedded", "-pa", inviso_test_lib:ebin()], Config),
    false = call(N, code, is_loaded, [inviso_push]),
    traced(N, Config),
    {module, _} = call(N, code, load_file, [inviso_rt_server]),
    traced(N, Config),
    true = is_installed(N, inviso_rt_server),
    inviso_test_lib:stop_node(N).

%% --- helpers ----------------------------------------------------------------

started(Args, Config) ->
    N = inviso_test_lib:start_node(installed, ?config(dir, Config), Args),
    ok = inviso_test_lib:connect([?config(control, Config), N]),
    N.

%% Adds a node, traces a call there, and checks that no pushed code stays.
traced(#{name := Name} = N, Config) ->
    Control = ?config(control, Config),
    Inviso = fun(F, Args) -> call(Control, inviso, F, Args) end,
    {ok, [{Name, {ok, new}}]} = Inviso(add_nodes, [[Name], tag]),
    {ok, [{Name, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        Inviso(init_tracing, [[{trace, {file, "a.log"}}, {ti, {file, "a.ti"}}]]),
    {ok, [{Name, {ok, [2]}}]} = Inviso(tpl, [lists, seq, '_', []]),
    {ok, [{Name, {ok, [_]}}]} = Inviso(tf, [all, [call]]),
    [1, 2] = call(N, lists, seq, [1, 2]),
    {ok, [{Name, {ok, idle}}]} = Inviso(stop_tracing, []),
    {ok, [{Name, {ok, {new, running}}}]} = Inviso(clear, []),
    {ok, [{Name, ok}]} = Inviso(stop_nodes, []),
    wait_until(fun() ->
                       [] =:= [M || {M, "inviso_pushed"} <-
                                        call(N, code, all_loaded, [])]
               end).

refused(#{name := Name}, Parts, Config) ->
    {ok, [{Name, {error, {refused, Text}}}]} =
        call(?config(control, Config), inviso, add_nodes, [[Name], tag]),
    [] = [P || P <- Parts, string:find(Text, P) =:= nomatch],
    ok.

is_installed(N, M) ->
    case call(N, code, is_loaded, [M]) of
        {file, File} -> filelib:is_regular(File);
        false -> false
    end.

modules() ->
    lists:append([Ms || {_, Ms} <- inviso_pushed:rooms()]).

%% Compiles a module with one more function. Returns the path of the beam.
other_version(Module, Config) ->
    {ok, {_, [{abstract_code, {_, Forms}}]}} =
        beam_lib:chunks(code:which(Module), [abstract_code]),
    [{function, _, F, A, Clauses} | _] =
        [Form || {function, _, _, _, _} = Form <- Forms],
    More = {function, erl_anno:new(0), other_version, A, Clauses},
    Export = {attribute, erl_anno:new(0), export, [{other_version, A}, {F, A}]},
    {Before, After} = lists:splitwith(fun({function, _, _, _, _}) -> false;
                                         (_) -> true
                                      end, Forms),
    {ok, Module, Beam} =
        compile:forms([Form || Form <- Before ++ [Export, More] ++ After,
                               element(1, Form) =/= eof], []),
    File = filename:join([?config(dir, Config), "other",
                          atom_to_list(Module) ++ ".beam"]),
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, Beam),
    File.
