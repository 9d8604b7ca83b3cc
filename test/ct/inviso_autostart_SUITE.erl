%% SPDX-License-Identifier: Apache-2.0
%% Tests autostart on nodes that boot with it, and the functions of inviso_rt for
%% the local node. Trace cases that autostart runs call these functions.
-module(inviso_autostart_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("kernel/include/file.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).

-export([a_release_traced_from_its_first_application/1,
         a_release_boots_whatever_is_wrong/1,
         a_node_that_dies_of_it_does_it_once/1,
         nothing_starts_that_is_not_configured/1,
         nothing_stays_of_what_started/1,
         the_file_and_its_name/1,
         repeat_counts_down_before_anything/1,
         what_is_no_configuration/1,
         another_module/1,
         initiator_parameters/1,
         initiator_trouble/1,
         stop_tracing_and_suspend_end_the_initiator/1,
         dependency_with_a_control_component/1,
         dependency_without_a_control_component/1,
         as_lib/1,
         local_api/1,
         local_meta_api/1,
         local_api_errors/1,
         rt_lib/1,
         command/1,
         command_errors/1,
         command_on_a_release/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).

-define(PROBE, inviso_autostart_probe).
-define(FLAGS, [{all, [call, timestamp]}]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [a_release_traced_from_its_first_application,
     a_release_boots_whatever_is_wrong,
     a_node_that_dies_of_it_does_it_once,
     nothing_starts_that_is_not_configured,
     nothing_stays_of_what_started,
     the_file_and_its_name,
     repeat_counts_down_before_anything,
     what_is_no_configuration,
     another_module,
     initiator_parameters,
     initiator_trouble,
     stop_tracing_and_suspend_end_the_initiator,
     dependency_with_a_control_component,
     dependency_without_a_control_component,
     as_lib,
     local_api,
     local_meta_api,
     local_api_errors,
     rt_lib,
     command,
     command_errors,
     command_on_a_release].

init_per_suite(Config) ->
    [{release, make_release(?config(priv_dir, Config))} | Config].

end_per_suite(_) -> ok.

init_per_testcase(Case, Config)
  when Case =:= command; Case =:= command_errors;
       Case =:= command_on_a_release ->
    case inviso_command_lib:base() of
        {ok, Base} -> [{base, Base} | dir(Case, Config)];
        {skip, _} = Skip -> Skip
    end;
init_per_testcase(Case, Config) ->
    dir(Case, Config).

dir(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    [{dir, Dir} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso_command_lib:base_removed(Base) || {base, Base} <- Config],
    ok.

%% --- releases ---------------------------------------------------------------

%% Makes a release whose boot script starts inviso and then another application.
%% The NIF and the spooler are in inviso's directory `priv'.
make_release(Dir) ->
    Lib = filename:join(Dir, "lib"),
    Inviso = filename:join(Lib, "inviso-" ++ version(inviso)),
    copy(inviso_test_lib:ebin(), "*.{beam,app}", filename:join(Inviso, "ebin")),
    copy(inviso_test_lib:priv(), "inviso{_spool,_tracer.so,_engine.so,_pushed.so}",
         filename:join(Inviso, "priv")),
    copy(filename:join(inviso_test_lib:priv(), "pushed"), "*",
         filename:join([Inviso, "priv", "pushed"])),
    Traced = filename:join(Lib, "traced-1/ebin"),
    copy(filename:dirname(code:which(?PROBE)), atom_to_list(?PROBE) ++ ".beam",
         Traced),
    write(filename:join(Traced, "traced.app"),
          [{application, traced,
            [{description, ""}, {vsn, "1"}, {modules, [?PROBE]},
             {registered, []},
             {applications, [kernel, stdlib]}, {mod, {?PROBE, []}}]}]),
    Apps = [{A, version(A)} || A <- [kernel, stdlib, inviso]],
    Rel = filename:join(Dir, "traced"),
    write(Rel ++ ".rel",
          [{release, {"traced", "1"}, {erts, erlang:system_info(version)},
            Apps ++ [{traced, "1"}]}]),
    Path = [filename:join(Inviso, "ebin"), Traced],
    ok = systools:make_script(Rel, [local, {path, Path}, {outdir, Dir},
                                    no_warn_sasl]),
    Rel.

version(App) ->
    _ = application:load(App),
    {ok, Version} = application:get_key(App, vsn),
    Version.

copy(From, Wildcard, To) ->
    ok = filelib:ensure_dir(filename:join(To, "x")),
    _ = [begin
             {ok, _} = file:copy(filename:join(From, F), filename:join(To, F)),
             {ok, Info} = file:read_file_info(filename:join(From, F)),
             ok = file:write_file_info(filename:join(To, F), Info)
         end || F <- filelib:wildcard(Wildcard, From)],
    ok.

write(File, Terms) ->
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, [io_lib:format("~tp.~n", [T]) || T <- Terms]).

%% Boots the release. Env is the environment of the application inviso. The node
%% logs to the file node.log in the directory Name.
boot(Config, Name, Env) ->
    Dir = filename:join(?config(dir, Config), Name),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Log = filename:join(Dir, "node.log"),
    Sys = filename:join(Dir, "sys.config"),
    write(Sys, [[{inviso, Env},
                 {kernel, [{logger_level, notice},
                           {logger, [{handler, default, logger_std_h,
                                      #{config => #{file => Log}}}]}]}]]),
    Args = ["-boot", ?config(release, Config), "-mode", "embedded",
            "-config", filename:rootname(Sys)],
    Node = inviso_test_lib:start_node(Name, Dir, Args),
    Node#{log => Log}.

logged(#{log := Log} = Node) ->
    ok = call(Node, logger_std_h, filesync, [default]),
    {ok, Text} = file:read_file(Log),
    [L || L <- string:split(unicode:characters_to_list(Text), "\n", all),
          string:find(L, "inviso, autostart: ") =/= nomatch].

a_release_traced_from_its_first_application(Config) ->
    Dir = ?config(dir, Config),
    Log = filename:join(Dir, "boot.log"),
    Case = filename:join(Dir, "case.txt"),
    ok = file:write_file(Case, "inviso_rt:tpl(M, F, '_', []).\n"
                         "inviso_rt:tf(all, [call, timestamp]).\n"),
    Conf = filename:join(Dir, "autostart.config"),
    write(Conf, server_conf(1, [{tracerdata, {file, Log}}, {cmdfiles, [Case]},
                                {bindings, [{'M', ?PROBE}, {'F', first}]},
                                {translations, []}])),
    N = boot(Config, "first", [{inviso_autostart_conf, Conf}]),
    [] = logged(N),
    embedded = call(N, code, get_mode, []),
    Priv = call(N, code, priv_dir, [inviso]),
    Priv = unicode:characters_to_list(call(N, inviso_tracer, dir, [])),
    {ok, [{repeat, 0} | _]} = file:consult(Conf),
    %% A control component can adopt (take over) a runtime component even if autostart has started
    %% it.
    {ok, _} = call(N, inviso, start, []),
    #{name := Node} = N,
    {ok, [{Node, {ok, {adopted, tracing, running, default_tag}}}]} =
        call(N, inviso, add_node, [tag]),
    again = call(N, ?PROBE, first, [again]),
    {ok, [{Node, {ok, idle}}]} = call(N, inviso, stop_tracing, []),
    [_, _] = Lines = merged(Config, Log),
    ["booted", "again"] = [argument(L) || L <- Lines],
    {ok, _} = call(N, inviso, stop_all, []),
    ok = call(N, application, stop, [inviso]),
    inviso_test_lib:stop_node(N),
    %% With {repeat, 0} in the file, the next start of the node is not traced.
    N2 = boot(Config, "second", [{inviso_autostart_conf, Conf}]),
    undefined = call(N2, erlang, whereis, [inviso_rt]),
    {ok, [{repeat, 0} | _]} = file:consult(Conf),
    [] = logged(N2),
    inviso_test_lib:stop_node(N2).

%% Each mistake in the configuration makes one line in the log, and the node
%% boots.
a_release_boots_whatever_is_wrong(Config) ->
    Dir = ?config(dir, Config),
    Conf = filename:join(Dir, "autostart.config"),
    Bad = filename:join(Dir, "bad.config"),
    ok = file:write_file(Bad, "{repeat, 3}.\n{mfa, }.\n"),
    Case = filename:join(Dir, "case.txt"),
    ok = file:write_file(Case, "inviso_rt:tpl(M, F, '_', []).\n"),
    Good = {tracerdata, {file, filename:join(Dir, "a.log")}},
    Wrong =
        [{bad_file, Bad, [], "bad.config"},
         {no_log, Conf, [{tracerdata, {file, "/no/such/dir/a.log"}}],
          "/no/such/dir"},
         {no_case, Conf, [Good, {cmdfiles, ["/no/such/case.txt"]}],
          "/no/such/case.txt: no such file"},
         {no_value, Conf, [Good, {cmdfiles, [Case]},
                           {bindings, [{'M', lists}]}],
          "case.txt:1: variable F has no value"}],
    _ = [begin
             File =:= Bad orelse write(File, server_conf(1, Params)),
             N = boot(Config, atom_to_list(Name),
                      [{inviso_autostart_conf, File}]),
             [Line] = logged(N),
             {Name, true} = {Name, string:find(Line, Words) =/= nomatch},
             inviso_test_lib:stop_node(N)
         end || {Name, File, Params, Words} <- Wrong],
    %% inviso_autostart_mod names a module that does not exist, and on the next node a module that
    %% crashes.
    N1 = boot(Config, "nomod", [{inviso_autostart_mod, no_such_module}]),
    [_] = logged(N1),
    inviso_test_lib:stop_node(N1),
    N2 = boot(Config, "crashes", [{inviso_autostart_mod, ?PROBE}]),
    [Crashed] = logged(N2),
    true = string:find(Crashed, "autostart/1") =/= nomatch,
    inviso_test_lib:stop_node(N2),
    %% The boot continues although the function of `mfa' never returns.
    write(Conf, [{mfa, {?PROBE, forever, []}}]),
    N3 = boot(Config, "stays", [{inviso_autostart_conf, Conf},
                                {inviso_autostart_wait, 100}]),
    [Waited] = logged(N3),
    true = string:find(Waited, "not ready after 100 ms") =/= nomatch,
    wait_until(fun() -> is_pid(call(N3, erlang, whereis, [forever])) end),
    inviso_test_lib:stop_node(N3).

%% With {repeat, 1} only the first start is traced, even if tracing kills the
%% node.
a_node_that_dies_of_it_does_it_once(Config) ->
    Conf = filename:join(?config(dir, Config), "autostart.config"),
    write(Conf, [{repeat, 1}, {mfa, {erlang, halt, [abort]}}]),
    process_flag(trap_exit, true),
    died = try
               boot(Config, "dies", [{inviso_autostart_conf, Conf}])
           catch
               _:_ -> died
           end,
    {ok, [{repeat, 0}, {mfa, _}]} = file:consult(Conf),
    N = boot(Config, "lives", [{inviso_autostart_conf, Conf}]),
    undefined = call(N, erlang, whereis, [inviso_rt]),
    inviso_test_lib:stop_node(N).

%% --- the configuration ------------------------------------------------------

nothing_starts_that_is_not_configured(Config) ->
    N = node_of(Config),
    ok = call(N, application, start, [inviso]),
    undefined = call(N, erlang, whereis, [inviso_rt]),
    undefined = call(N, erlang, whereis, [inviso_guard]),
    [] = call(N, supervisor, which_children, [inviso_sup]),
    ok = call(N, application, stop, [inviso]),
    inviso_test_lib:stop_node(N).

%% After the runtime component is killed or the application stops, there are no flags, patterns,
%% sessions or processes of inviso, and the log is complete.
nothing_stays_of_what_started(Config) ->
    N = node_of(Config),
    Conf = filename:join(?config(dir, Config), "c.config"),
    Case = filename:join(?config(dir, Config), "case.txt"),
    ok = file:write_file(Case, "inviso_rt:tpl(code, which, '_', []).\n"
                         "inviso_rt:tf(all, [call]).\n"),
    configure(N, Conf),
    Seen = fun() -> maps:with([registered, ets, new_flags, traced, functions,
                               sessions, os_processes],
                              inviso_test_lib:footprint(N)) end,
    Before = Seen(),
    Ends = [fun() -> true = call(N, erlang, exit,
                                 [call(N, erlang, whereis, [inviso_rt]), kill])
            end,
            fun() -> ok end],
    _ = [begin
             Log = filename:join(?config(dir, Config), Name),
             write(Conf, server_conf(1, [{tracerdata, {file, Log}},
                                         {cmdfiles, [Case]}])),
             ok = call(N, application, start, [inviso]),
             _ = call(N, code, which, [lists]),
             true = Before =/= Seen(),
             End(),
             wait_until(fun() -> call(N, erlang, whereis, [inviso_rt])
                                     =:= undefined orelse Name =:= "stop.log"
                        end),
             ok = call(N, application, stop, [inviso]),
             wait_until(fun() -> Seen() =:= Before end),
             [_ | _] = [L || L <- merged(Config, Log),
                             string:find(L, "code,which") =/= nomatch]
         end || {Name, End} <- lists:zip(["kill.log", "stop.log"], Ends)],
    inviso_test_lib:stop_node(N).

%% Tests all forms of the parameter inviso_autostart_conf, for the applications
%% inviso and runtime_tools, and inviso_autostart:which_config_file/0.
the_file_and_its_name(Config) ->
    N = #{dir := Dir} = node_of(Config),
    Default = filename:join(Dir, "inviso_autostart.config"),
    Which = fun() -> call(N, inviso_autostart, which_config_file, []) end,
    ok = call(N, application, load, [inviso]),
    Default = Which(),
    Forms = [{"x.config", filename:join(Dir, "x.config")},
             {"/x/y.config", "/x/y.config"},
             {no_autostart, no_autostart},
             {{?PROBE, conf}, "/from/mf"},
             {{load, [filename:rootname(code:which(?PROBE)) ++ ".beam"],
               {?PROBE, conf}}, "/from/mf"},
             {{load, filename:rootname(code:which(?PROBE)), {?PROBE, conf}},
              "/from/mf"},
             {17, {error, {inviso_autostart_conf, 17}}}],
    set(N, {?PROBE, conf}, "/from/mf"),
    _ = [begin
             ok = call(N, application, set_env,
                       [App, inviso_autostart_conf, Form]),
             {Form, Is} = {Form, Which()},
             true = call(N, code, soft_purge, [?PROBE]),
             ok = call(N, application, unset_env, [App, inviso_autostart_conf])
         end || App <- [runtime_tools, inviso], {Form, Is} <- Forms],
    {error, {load, {"/no/such", _}}} =
        with_conf(N, {load, ["/no/such"], {?PROBE, conf}}, Which),
    set(N, {?PROBE, conf}, no_autostart),
    no_autostart = with_conf(N, {?PROBE, conf}, Which),
    set(N, {?PROBE, conf}, other),
    Default = with_conf(N, {?PROBE, conf}, Which),
    %% The default file is not used if other users can write it.
    write(Default, [{mfa, {?PROBE, said, [yes]}}]),
    Default = Which(),
    ok = file:change_mode(Default, 8#646),
    {error, {Default, owned_or_writable_by_others}} = Which(),
    true = call(N, inviso_autostart, autostart, [[]]),
    ok = file:change_mode(Default, 8#644),
    ok = call(N, application, start, [inviso]),
    {ok, yes} = call(N, application, get_env, [kernel, {?PROBE, said}]),
    inviso_test_lib:stop_node(N).

%% The counter `repeat' in the file is decremented before the function of `mfa'
%% runs.
repeat_counts_down_before_anything(Config) ->
    N = node_of(Config),
    Conf = filename:join(?config(dir, Config), "c.config"),
    Seen = filename:join(?config(dir, Config), "seen.config"),
    ok = file:write_file(Conf,
                         ["%% with a word on it\n"
                          "{tag, \"h\x{c3}\x{a9}\"}.\n{repeat, 2}.\n",
                          io_lib:format("~p.~n", [{mfa, {file, copy,
                                                         [Conf, Seen]}}])]),
    ok = file:change_mode(Conf, 8#640),
    configure(N, Conf),
    Start = fun() ->
                    ok = call(N, application, start, [inviso]),
                    ok = call(N, application, stop, [inviso])
            end,
    Start(),
    {ok, [{repeat, 1}, {tag, "h\x{e9}"}, {mfa, _}]} = file:consult(Seen),
    {ok, #file_info{mode = Mode}} = file:read_file_info(Conf),
    8#640 = Mode band 8#777,
    Start(),
    {ok, [{repeat, 0} | _]} = file:consult(Seen),
    ok = file:delete(Seen),
    Start(),
    false = filelib:is_file(Seen),
    %% Without the parameter repeat, every start is traced.
    write(Conf, [{mfa, {file, copy, [Conf, Seen]}}]),
    Start(),
    true = filelib:is_file(Seen),
    ok = file:delete(Seen),
    %% If the counter `repeat' cannot be written to the file, nothing starts.
    write(Conf, [{repeat, 5}, {mfa, {file, copy, [Conf, Seen]}}]),
    ok = filelib:ensure_dir(Conf ++ ".new/x"),
    {error, {Conf, eexist}} =
        call(N, inviso_autostart_conf, count_down, [Conf]),
    Start(),
    false = filelib:is_file(Seen),
    ok = file:del_dir(Conf ++ ".new"),
    inviso_test_lib:stop_node(N).

what_is_no_configuration(Config) ->
    N = node_of(Config),
    Conf = filename:join(?config(dir, Config), "c.config"),
    _ = [begin
             ok = file:write_file(Conf, Text),
             {error, {Conf, Why}} = call(N, inviso_autostart_conf, read,
                                         [Conf]),
             configure(N, Conf),
             ok = call(N, application, start, [inviso]),
             undefined = call(N, erlang, whereis, [inviso_rt]),
             ok = call(N, application, stop, [inviso])
         end || {Text, Why} <-
                    [{"{repat, 1}.", {unknown_parameter, {repat, 1}}},
                     {"{repeat, x}.", {unknown_parameter, {repeat, x}}},
                     {"{options, x}.", {unknown_parameter, {options, x}}},
                     {"x.", {unknown_parameter, x}},
                     {"{tag, a}.\n{tag, ", "2: syntax error before: "}]],
    ok = file:delete(Conf),
    {error, {Conf, enoent}} = call(N, inviso_autostart_conf, read, [Conf]),
    true = call(N, inviso_autostart, autostart, [[]]),
    %% A term whose text cannot be read back, such as a pid, is refused.
    {error, {Conf, {not_writable_as_text, _}}} =
        call(N, inviso_autostart_conf, write, [Conf, [{tag, #{a => self()}}]]),
    false = filelib:is_file(Conf),
    inviso_test_lib:stop_node(N).

%% Tests what autostart/1 of the module in inviso_autostart_mod may return:
%% {MFA, Options, Tag}, or any other term.
another_module(Config) ->
    N = node_of(Config),
    ok = call(N, application, load, [inviso]),
    ok = call(N, application, set_env,
              [runtime_tools, inviso_autostart_mod, ?PROBE]),
    Status = fun(Answer) ->
                     set(N, {?PROBE, autostart}, Answer),
                     ok = call(N, application, start, [inviso]),
                     S = call(N, ?PROBE, status, []),
                     ok = call(N, application, stop, [inviso]),
                     wait_until(fun() -> call(N, erlang, whereis,
                                              [inviso_guard]) =:= undefined
                                end),
                     S
             end,
    {new, none} = Status({void, [], tag}),
    {new, none} = Status({{?PROBE, no_such, []}, [], tag}),
    {new, timer} = Status({void, [{dependency, 100000}, nonsense,
                                   {overload, x}], tag}),
    _ = [undefined = Status(A) || A <- [true, x, crash, {void, x, tag}, hang]],
    inviso_test_lib:stop_node(N).

%% --- inviso_autostart_server ------------------------------------------------

%% Tests every form of the parameters of inviso_autostart_server:init/1.
initiator_parameters(Config) ->
    N = node_of(Config),
    Dir = ?config(dir, Config),
    Log = filename:join(Dir, "a.log"),
    File = fun(Name, Text) ->
                   Path = filename:join(Dir, Name),
                   ok = file:write_file(Path, Text),
                   Path
           end,
    One = File("one.txt", "inviso_rt:tpl(M, F, 1, []).\n"),
    Two = File("two.txt", "inviso:tpl(Nodes, lists, F, 2, MS), X = 2.\n"
               "inviso_autostart_probe:said({F, X}).\n"),
    Params = [{tracerdata, {mfa, {?PROBE, tracerdata, [Log]}}},
              {cmdfiles,
               [One,
                [One, {One, [{'F', autostart}]}],
                [[Two]],
                {inviso, tf, [ignored, all, [call, timestamp]]},
                {?PROBE, said, [called]}]},
              {bindings, [{'M', ?PROBE}, {'F', first}]},
              {translations, [{{inviso, tpl, 5}, {inviso_rt, tpl,
                                                  {erlang, tl}}},
                              {{inviso, tf, 3}, {inviso_rt, tf,
                                                 {?PROBE, tail}}}]},
              {debug, off}],
    Conf = filename:join(Dir, "c.config"),
    write(Conf, server_conf(1, Params)),
    configure(N, Conf),
    ok = call(N, application, start, [inviso]),
    {'EXIT', _} = (catch call(N, ?PROBE, autostart, [1])),
    first = call(N, ?PROBE, first, [first]),
    {ok, called} = call(N, application, get_env, [kernel, {?PROBE, said}]),
    stop_app(N),
    ["1", "first"] = [argument(L) || L <- merged(Config, Log)],
    %% Trace cases in a list run one after the other, each with its own
    %% bindings.
    Log2 = filename:join(Dir, "b.log"),
    write(Conf,
          server_conf(1, [{tracerdata, {file, Log2}},
                          {cmdfiles, [[{Two, [{'MS', []}, {'F', seq}]},
                                       {inviso, tf, [x, all, [call]]}]]},
                          {bindings, [{'F', nth}]}
                          | lists:keydelete(tracerdata, 1,
                                            lists:keydelete(
                                              cmdfiles, 1,
                                              lists:keydelete(bindings, 1,
                                                              Params)))])),
    ok = call(N, application, start, [inviso]),
    {ok, {seq, 2}} = call(N, application, get_env, [kernel, {?PROBE, said}]),
    [1, 2] = call(N, lists, seq, [1, 2]),
    stop_app(N),
    [_] = [L || L <- merged(Config, Log2),
                string:find(L, "lists,seq,[1,2]") =/= nomatch],
    %% Without tracerdata no command file is run.
    write(Conf, server_conf(1, [{cmdfiles, [{?PROBE, said, [nothing]}]}])),
    ok = call(N, application, start, [inviso]),
    {ok, {seq, 2}} = call(N, application, get_env, [kernel, {?PROBE, said}]),
    {ok, {new, running}} = rt(N, get_status),
    inviso_test_lib:stop_node(N).

%% If an expression of a command file fails, neither the rest of the file nor
%% the next entry of `cmdfiles' is run. Tracing continues.
initiator_trouble(Config) ->
    N = node_of(Config),
    Dir = ?config(dir, Config),
    Case = filename:join(Dir, "bad.txt"),
    ok = file:write_file(Case, "X = 1.\ninviso_autostart_probe:said(before).\n"
                         "no_such:function(X).\n"
                         "inviso_autostart_probe:said(after_it).\n"),
    Log = filename:join(Dir, "a.log"),
    Params = [{tracerdata, {file, Log}},
              {cmdfiles, [[Case, {?PROBE, said, [later]}]]}],
    {error, {Case, 3, {error, {undef, {no_such, function, 1}}}}} =
        call(N, inviso_case, run, [Case, [], []]),
    Conf = filename:join(Dir, "c.config"),
    write(Conf, server_conf(1, Params)),
    configure(N, Conf),
    ok = call(N, application, start, [inviso]),
    {ok, before} = call(N, application, get_env, [kernel, {?PROBE, said}]),
    {ok, {tracing, running}} = rt(N, get_status),
    stop_app(N),
    inviso_test_lib:stop_node(N).

stop_tracing_and_suspend_end_the_initiator(Config) ->
    N = #{name := Node} = node_of(Config),
    Conf = filename:join(?config(dir, Config), "c.config"),
    Log = filename:join(?config(dir, Config), "a.log"),
    Params = [{tracerdata, {file, Log}},
              {cmdfiles, [{?PROBE, forever, []}]}],
    write(Conf, server_conf(2, Params)),
    configure(N, Conf),
    ok = call(N, application, set_env, [inviso, inviso_autostart_wait, 0]),
    _ = [begin
             ok = call(N, application, start, [inviso]),
             wait_until(fun() -> is_pid(call(N, erlang, whereis, [forever]))
                        end),
             {ok, _} = call(N, inviso, start, []),
             {ok, [{Node, {ok, {adopted, tracing, running, _}}}]} =
                 call(N, inviso, add_node, [tag]),
             {ok, _} = call(N, inviso, F, Args),
             wait_until(fun() -> call(N, erlang, whereis, [forever])
                                     =:= undefined
                        end),
             {ok, _} = call(N, inviso, stop_all, []),
             ok = call(N, application, stop, [inviso])
         end || {F, Args} <- [{stop_tracing, []}, {suspend, [why]}]],
    inviso_test_lib:stop_node(N).

%% --- dependency -------------------------------------------------------------

%% If the option `dependency' names a node, the runtime component connects to
%% the control component on this node.
dependency_with_a_control_component(Config) ->
    C = #{name := CNode} = node_of(Config),
    N = #{name := Node} = node_of(Config),
    ok = inviso_test_lib:connect([C, N]),
    Conf = filename:join(?config(dir, Config), "c.config"),
    configure(N, Conf),
    {ok, Ctrl} = call(C, inviso, start, []),
    Sub = inviso_test_lib:spawn_call(C, timer, sleep, [infinity]),
    ok = call(C, inviso, subscribe, [Sub]),
    _ = [begin
             write(Conf, [{options, [{dependency, {Time, CNode}}]},
                          {tag, {tag, Time}},
                          {mfa, {?PROBE, said, [Time]}}]),
             ok = call(N, application, start, [inviso]),
             wait_until(fun() ->
                                call(C, inviso, get_status, []) =:=
                                    {ok, [{Node, {ok, {new, running}}}]}
                        end),
             wait_until(fun() ->
                                call(N, application, get_env,
                                     [kernel, {?PROBE, said}]) =:= {ok, Time}
                        end),
             {ok, [{Node, ok}]} = call(C, inviso, stop_nodes, []),
             ok = call(N, application, stop, [inviso])
         end || Time <- [0, 100000, infinity]],
    Events = [E || {inviso_event, P, _, E} <-
                       inviso_control_probe:told(C, Sub), P =:= Ctrl],
    Events = lists:append([[{connected, Node, {{tag, T}, {new, running}}},
                            {disconnected, Node, void}]
                           || T <- [0, 100000, infinity]]),
    %% This runtime component has a control component, so no other control component can adopt it.
    %% With the option {dependency, 0} it ends when its control component ends.
    write(Conf, [{options, [{dependency, {0, CNode}}]}]),
    ok = call(N, application, start, [inviso]),
    wait_until(fun() -> {ok, []} =/= call(C, inviso, get_status, []) end),
    {ok, _} = call(N, inviso, start, []),
    {ok, [{Node, {error, refused}}]} = call(N, inviso, add_node, [tag]),
    shutdown = call(C, inviso, stop, []),
    wait_until(fun() -> call(N, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    _ = [inviso_test_lib:stop_node(X) || X <- [C, N]],
    ok.

dependency_without_a_control_component(Config) ->
    N = node_of(Config),
    Conf = filename:join(?config(dir, Config), "c.config"),
    configure(N, Conf),
    Begins = fun(Dependency, Stays) ->
                   write(Conf, [{options, [{dependency, D} || D <- Dependency]},
                                {mfa, {?PROBE, said, [Dependency]}}]),
                   ok = call(N, application, start, [inviso]),
                   {ok, Said} = call(N, application, get_env,
                                     [kernel, {?PROBE, said}]),
                   Is = fun() ->
                                is_pid(call(N, erlang, whereis, [inviso_rt]))
                        end,
                   case Stays of
                       true -> timer:sleep(500), true = Is();
                       false -> wait_until(fun() -> not Is() end)
                   end,
                   ok = call(N, application, stop, [inviso]),
                   Said =:= Dependency
           end,
    set(N, {?PROBE, said}, none),
    %% If `dependency' is 0 and there is no control component, the runtime
    %% component ends before it calls `mfa'.
    false = Begins([0], false),
    false = Begins([{0, 'nowhere@127.0.0.1'}], false),
    true = Begins([2000], false),
    true = Begins([100000], true),
    true = Begins([infinity], true),
    true = Begins([], true),
    true = Begins([{infinity, 'nowhere@127.0.0.1'}], true),
    inviso_test_lib:stop_node(N).

%% --- inviso_as_lib ----------------------------------------------------------

%% Tests setup_autostart/7,8,9, set_repeat/2 and inhibit_autostart/1.
as_lib(Config) ->
    L = node_of(Config),
    N = #{name := Node, dir := Dir} = node_of(Config),
    ok = inviso_test_lib:connect([L, N]),
    Lib = fun(F, Args) -> call(L, inviso_as_lib, F, [Node | Args]) end,
    Conf = filename:join(Dir, "inviso_autostart.config"),
    Ts = [{{inviso, tpl, 5}, {inviso_rt, tpl, {erlang, tl}}}],
    Args = [1, [{dependency, 5}], {file, "a.log"}, ["a.txt"], [{'M', m}], Ts],
    Params = [{tracerdata, {file, "a.log"}}, {cmdfiles, ["a.txt"]},
              {bindings, [{'M', m}]}, {translations, Ts}],
    Is = fun(Repeat, Tag, Debug) ->
                 Repeat ++ [{mfa, {inviso_autostart_server, init,
                                   [Params ++ [{debug, Debug}]]}},
                            {options, [{dependency, 5}]}, {tag, Tag}]
         end,
    {error, {consult, {Conf, enoent}}} = Lib(set_repeat, [1]),
    ok = Lib(setup_autostart, Args),
    {ok, T1} = file:consult(Conf),
    T1 = Is([{repeat, 1}], inviso_std_ref, off),
    ok = Lib(setup_autostart, [always | tl(Args)] ++ [my_tag]),
    {ok, T2} = file:consult(Conf),
    T2 = Is([], my_tag, off),
    ok = Lib(setup_autostart, Args ++ [my_tag, full]),
    {ok, T3} = file:consult(Conf),
    T3 = Is([{repeat, 1}], my_tag, full),
    ok = Lib(set_repeat, [7]),
    {ok, T4} = file:consult(Conf),
    T4 = Is([{repeat, 7}], my_tag, full),
    ok = Lib(inhibit_autostart, []),
    {ok, T5} = file:consult(Conf),
    T5 = Is([{repeat, 0}], my_tag, full),
    Bad = lists:sublist(Args, 5) ++ [[fun lists:sum/1]],
    {error, {write_file, {Conf, {not_writable_as_text, _}}}} =
        Lib(setup_autostart, Bad),
    ok = file:write_file(Conf, "{repeat"),
    {error, {consult, {Conf, _}}} = Lib(set_repeat, [1]),
    configure(N, no_autostart),
    {error, {which_config_file, no_autostart}} = Lib(inhibit_autostart, []),
    configure(N, 17),
    {error, {which_config_file, {inviso_autostart_conf, 17}}} =
        Lib(setup_autostart, Args),
    configure(N, "/no/such/dir/c.config"),
    {error, {write_file, {"/no/such/dir/c.config", enoent}}} =
        Lib(setup_autostart, Args),
    {error, {badrpc, {which_config_file, noconnection}}} =
        call(L, inviso_as_lib, inhibit_autostart, ['nowhere@127.0.0.1']),
    Stock = #{name := StockNode} =
        inviso_test_lib:start_stock_node("stock", Dir),
    ok = inviso_test_lib:connect([L, Stock]),
    {error, {badrpc, {which_config_file, undef}}} =
        call(L, inviso_as_lib, inhibit_autostart, [StockNode]),
    _ = [inviso_test_lib:stop_node(X) || X <- [L, N, Stock]],
    ok.

%% --- the API of one node ----------------------------------------------------

%% Tests of inviso_rt: init_tracing/1; tp/1,4,5 and its synonym tpg; tpl/1,4,5;
%% ctp/1,3 and its synonym ctpg; ctpl/1,3; counters/0,1; tf/1,2; ctf/1,2.
local_api(Config) ->
    N = #{name := Node} = node_of(Config),
    {ok, _} = call(N, inviso, start, []),
    {ok, [{Node, {ok, new}}]} = call(N, inviso, add_node, [tag]),
    {ok, [{trace_log, ok}, {ti_log, ok}]} =
        rt(N, init_tracing, [[{trace, {file, "a.log"}},
                              {ti, {file, "a.ti"}}]]),
    _ = [begin
             {ok, [1]} = rt(N, Set, [lists, seq, 2, []]),
             {ok, [1]} = rt(N, Set, [lists, seq, 2, [], [only_loaded]]),
             {ok, [1, 1]} = rt(N, Set, [[{lists, seq, 2, []},
                                         {"lists", seq, 3, [], []}]]),
             {ok, [1]} = rt(N, Clear, [lists, seq, 2]),
             {ok, [1]} = rt(N, Clear, [[{lists, seq, 3}]])
         end || {Set, Clear} <- [{tp, ctp}, {tpg, ctpg}, {tpl, ctpl}]],
    {ok, [1]} = rt(N, tpl, [lists, seq, 2, true, [call_count]]),
    {ok, Counted} = rt(N, counters, []),
    {ok, Counted1} = rt(N, counters, [1]),
    [true, true] = [length(C) =< 1 || C <- [Counted, Counted1]],
    {ok, [1]} = rt(N, tpl, [lists, seq, 2, false, [call_count]]),
    {ok, [1]} = rt(N, tpl, [?PROBE, first, 1, []]),
    {ok, [A]} = rt(N, tf, [all, [call, timestamp]]),
    {ok, [B, {error, {bad_process, [{nonexistent_name, nobody}, nobody]}}]} =
        rt(N, tf, [[{all, [call]}, {nobody, [call]}]]),
    true = is_integer(A) andalso is_integer(B),
    x = call(N, ?PROBE, first, [x]),
    {ok, [_]} = rt(N, ctf, [all, [timestamp]]),
    {ok, [_, _]} = rt(N, ctf, [[{all, [call]}, {init, [call]}]]),
    y = call(N, ?PROBE, first, [y]),
    {ok, _} = call(N, inviso, stop_tracing, []),
    ["x"] = [argument(L) || L <- merged(Config, filename:join(
                                                  maps:get(dir, N), "a.log"))],
    {ok, _} = call(N, inviso, stop_all, []),
    inviso_test_lib:stop_node(N).

%% Tests of inviso_rt: init_tpm/4,7; tpm/4,5,8; tpm_tracer/4,5,8; tpm_ms/5;
%% tpm_ms_tracer/5; ctpm_ms/4; ctpm/3; local_register/0,
%% remove_local_register/0, global_register/0, remove_global_register/0.
local_meta_api(Config) ->
    N = node_of(Config),
    {ok, _} = call(N, inviso, start, []),
    {ok, _} = call(N, inviso, add_node, [tag]),
    {ok, _} = rt(N, init_tracing, [[{trace, {file, "a.log"}},
                                    {ti, {file, "a.ti"}}]]),
    _ = [begin
             {{ok, 1}, {ok, 1}} = rt(N, Set),
             {ok, ok} = rt(N, Remove)
         end || {Set, Remove} <- [{local_register, remove_local_register},
                                  {global_register, remove_global_register}]],
    First = [?PROBE, first, 1],
    F = {?PROBE, said},
    {error, not_initiated} = rt(N, tpm, First ++ [[]]),
    ok = rt(N, init_tpm, First ++ [F]),
    {error, already_initiated} = rt(N, init_tpm, First ++ [void, F, void, void]),
    _ = [{ok, 1} = rt(N, Tpm, First ++ [[]]) || Tpm <- [tpm, tpm_tracer]],
    _ = [{ok, 1} = rt(N, Tpm, First ++ [name, []])
         || Tpm <- [tpm_ms, tpm_ms_tracer]],
    ok = rt(N, ctpm_ms, First ++ [name]),
    ok = rt(N, ctpm, First),
    {error, bad_mfa} = rt(N, ctpm, First),
    _ = [begin
             {ok, 1} = rt(N, Tpm, First ++ Args),
             ok = rt(N, ctpm, First)
         end || Tpm <- [tpm, tpm_tracer],
                Args <- [[[], F], [[], void, F, void, void]]],
    {error, badarg} = rt(N, tpm, ['_', '_', 1, [], F]),
    {ok, _} = call(N, inviso, stop_all, []),
    inviso_test_lib:stop_node(N).

local_api_errors(Config) ->
    N = #{name := Node} = node_of(Config),
    Calls = [{init_tracing, [{file, "a.log"}]}, {tp, [[]]},
             {tpl, [lists, seq, 2, []]}, {ctp, [lists, seq, 2]},
             {tf, [all, [call]]}, {local_register, []},
             {remove_local_register, []}, {global_register, []},
             {remove_global_register, []}, {init_tpm, [m, f, 1, void]},
             {init_tpm, [m, f, 1, void, void, void, void]},
             {tpm, [m, f, 1, []]}, {tpm_tracer, [m, f, 1, [], void]},
             {tpm_ms, [m, f, 1, n, []]}, {tpm_ms_tracer, [m, f, 1, n, []]},
             {ctpm_ms, [m, f, 1, n]}, {ctpm, [m, f, 1]}],
    _ = [{error, not_started} = rt(N, F, Args)
         || {F, Args} <- [{ctf, [all, [call]]} | Calls]],
    {ok, _} = call(N, inviso, start, []),
    {ok, _} = call(N, inviso, add_node, [tag]),
    {error, no_tracer} = rt(N, tf, [all, [call]]),
    {error, no_metatracer} = rt(N, local_register),
    {error, {badarg, x}} = rt(N, tp, [x]),
    {error, {bad_tracerdata, _}} = rt(N, init_tracing, [x]),
    {ok, [{error, {bad_trace_args, _}}]} = rt(N, tpl, [1, 2, 3, 4]),
    {ok, [{Node, ok}]} = call(N, inviso, suspend, [why]),
    _ = [{error, suspended} = rt(N, F, Args) || {F, Args} <- Calls],
    {ok, [0]} = rt(N, ctf, [[{all, [call]}]]),
    ok = call(N, sys, suspend, [inviso_rt]),
    Self = self(),
    _ = spawn_link(fun() -> Self ! {died, rt(N, ctf, [[]])} end),
    wait_until(fun() ->
                       Pid = call(N, erlang, whereis, [inviso_rt]),
                       {message_queue_len, 0} =/=
                           call(N, erlang, process_info,
                                [Pid, message_queue_len])
               end),
    true = call(N, erlang, exit, [call(N, erlang, whereis, [inviso_rt]), kill]),
    {error, {no_response, killed}} = receive {died, R} -> R end,
    inviso_test_lib:stop_node(N).

%% Tests of inviso_rt_lib: expand_regexp/2,3,4, is_tracerdata/1, transform/2,
%% debug/3.
rt_lib(Config) ->
    N = #{name := Node} = node_of(Config),
    Stock = #{name := StockNode} =
        inviso_test_lib:start_stock_node("lib", ?config(dir, Config)),
    ok = inviso_test_lib:connect([N, Stock]),
    Expand = fun(Args) -> call(N, inviso_rt_lib, expand_regexp, Args) end,
    [lists] = Expand(["list.", [only_loaded]]),
    [] = Expand(["dets_v.", [only_loaded]]),
    [dets_v9] = Expand(["dets_v.", []]),
    [dets_v9] = Expand(["stdlib", "dets_v.", []]),
    [] = Expand(["kernel", "dets_v.", []]),
    {error, {badarg, "("}} = Expand(["(", []]),
    [{Node, [lists]}, {StockNode, badrpc}] =
        Expand([[Node, StockNode], "list.", []]),
    [{Node, [lists]}] = Expand([[Node], "stdlib", "list.", []]),
    [{Node, {error, {badarg, {"(", "x"}}}}] = Expand([[Node], "(", "x", []]),
    true = inviso_rt_lib:is_tracerdata({file, "x"}),
    false = inviso_rt_lib:is_tracerdata([{node(), {file, "x"}}]),
    {ok, Tokens, _} = erl_scan:string("a:b(X, f(Y))."),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    [{call, _, {remote, _, {atom, _, c}, {atom, _, d}},
      [{call, _, {remote, _, {atom, _, g}, {atom, _, h}}, [{var, _, 'Y'}]}]}] =
        inviso_rt_lib:transform(Exprs, [{{a, b, 2}, {c, d, {erlang, tl}}},
                                        {{f, 1}, {g, h, void}}]),
    ok = inviso_rt_lib:debug(off, a, b),
    ok = inviso_rt_lib:debug(full, a, b),
    _ = [inviso_test_lib:stop_node(X) || X <- [N, Stock]],
    ok.

%% --- the command ------------------------------------------------------------

%% Tests `inviso autostart' with show, write and remove.
command(Config) ->
    N = #{dir := Dir} = node_of(Config),
    C = commands(Config, [N]),
    ok = call(N, application, start, [inviso]),
    {0, None, ""} = C(["show"]),
    true = has(None, "no start is traced; "),
    true = has(None, "inviso_autostart.config does not exist"),
    ok = file:write_file(filename:join(?config(dir, Config), "calls.txt"),
                         "%% Some calls.\n"
                         "inviso:tpl([], Module, '_', '_', [{'_', [], []}]).\n"
                         "inviso:tpl(Module, other, 1, [], [only_loaded]).\n"
                         "inviso:tf(NodesOfOurs, all, [call, timestamp]).\n"
                         "inviso:tf(all, Flags), inviso:tpm_localnames(x).\n"),
    {0, Written, ""} = C(["write", "calls.txt", "--log", "start.log",
                          "Module=" ++ atom_to_list(?PROBE), "Flags=[call]"]),
    true = has(Written, "the next start is traced; "),
    true = has(Written, "inviso_rt:tpl(Module, '_', '_', [{'_', [], []}])."),
    true = has(Written, "inviso_rt:tpl(Module, other, 1, [], [only_loaded])."),
    true = has(Written, "inviso_rt:tf(all, [call, timestamp])."),
    true = has(Written, "inviso_rt:tf(all, Flags)."),
    true = has(Written, "inviso_rt:local_register()."),
    {ok, [{repeat, 1}, {mfa, _}]} =
        file:consult(filename:join(Dir, "inviso_autostart.config")),
    ok = call(N, application, stop, [inviso]),
    ok = call(N, application, start, [inviso]),
    x = call(N, ?PROBE, first, [x]),
    ok = call(N, application, stop, [inviso]),
    ["x"] = [argument(L) || L <- merged(Config, filename:join(Dir,
                                                              "start.log"))],
    {0, Done, Note} = C(["show", "--json"]),
    true = has(Done, "\"starts\":0,\"started\":false,\"lines\":[\"{repeat,0}."),
    "" = Note,
    {0, Always, Warned} = C(["write", "calls.txt", "--starts", "always",
                             "Module=lists", "Flags=[call]"]),
    true = has(Always, "each start is traced"),
    true = has(Warned, "the application inviso was not started"),
    {0, _, ""} = C(["remove", "-q"]),
    {ok, Left} = file:list_dir(Dir),
    [] = [F || "inviso_autostart" ++ _ = F <- Left].

command_errors(Config) ->
    N = #{dir := Dir} = node_of(Config),
    C = commands(Config, [N]),
    File = filename:join(?config(dir, Config), "calls.txt"),
    Wrong = fun(Status, Text, Args, Words) ->
                    ok = file:write_file(File, Text),
                    {Status, "", Why} = C(["write", "calls.txt" | Args]),
                    {Words, true} = {Words, has(Why, Words)}
            end,
    Good = "inviso_rt:tpl(M, '_', '_', []).",
    Wrong(2, "a:b(", [], "the trace case:1: the last expression has no"),
    Wrong(2, Good, [], "variable M has no value"),
    Wrong(2, Good, ["M=a b"], "M=a b: no Erlang term"),
    {ok, []} = {ok, filelib:wildcard(filename:join(Dir, "inviso_autostart*"))},
    configure(N, no_autostart),
    Wrong(1, Good, ["M=a"], "configured so that nothing starts"),
    configure(N, "/no/such/dir/a.config"),
    Wrong(1, Good, ["M=a"], "/no/such/dir/inviso_autostart.case: no such file"),
    {0, _, ""} = C(["remove"]),
    Broken = filename:join(Dir, "broken.config"),
    ok = file:write_file(Broken, "{repeat, "),
    configure(N, Broken),
    {1, "", Unreadable} = C(["show"]),
    true = has(Unreadable, "broken.config: 1: syntax error"),
    Stock = inviso_test_lib:start_stock_node("stock", ?config(dir, Config)),
    {1, _, NotThere} = (commands(Config, [Stock]))(["show"]),
    true = has(NotThere, "inviso is not installed on this node"),
    _ = [inviso_test_lib:stop_node(X) || X <- [N, Stock]],
    ok.

%% The release contains the same version of inviso as the command. So the command uses the release's
%% code and does not remove this code. This works even while autostart traces the node.
command_on_a_release(Config) ->
    Conf = filename:join(?config(dir, Config), "c.config"),
    write(Conf, server_conf(1, [{tracerdata, {file, filename:join(
                                                      ?config(dir, Config),
                                                      "a.log")}},
                                {cmdfiles, []}])),
    N = boot(Config, "release", [{inviso_autostart_conf, Conf}]),
    {ok, {tracing, running}} = rt(N, get_status),
    {ok, Tokens, _} = erl_scan:string("F = fun F() -> lists:seq(1, 3), "
                                      "timer:sleep(20), F() end, F()."),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    _ = inviso_test_lib:spawn_call(N, erl_eval, exprs, [Exprs, []]),
    Inviso = commands(Config, [], [N]),
    {0, Status, _} = Inviso(["status"]),
    true = has(Status, "no sessions"),
    {0, Traced, _} = Inviso(["trace", "--events", "1", "lists:seq(_, 3)"]),
    true = has(Traced, "call lists:seq(1,3)"),
    {ok, {tracing, running}} = rt(N, get_status),
    ok = call(N, application, stop, [inviso]),
    %% When the application has stopped, the installed code stays loaded.
    true = call(N, erlang, module_loaded, [inviso_session]),
    inviso_test_lib:stop_node(N).

commands(Config, Nodes) ->
    commands(Config, ["autostart"], Nodes).

commands(Config, Command, Nodes) ->
    Cookie = atom_to_list(erlang:get_cookie()),
    On = lists:append([["-n", atom_to_list(Name)] || #{name := Name} <- Nodes]),
    Opts = #{base => ?config(base, Config), cookie => Cookie, cd => ?config(dir, Config)},
    fun(Args) ->
            #{status := Status, out := Out, err := Err} =
                inviso_command_lib:run(Opts, Command ++ Args ++ On),
            {Status, unicode:characters_to_list(Out),
             unicode:characters_to_list(Err)}
    end.

has(Text, Words) -> string:find(Text, Words) =/= nomatch.

%% --- helpers ----------------------------------------------------------------

server_conf(Repeat, Params) ->
    [{repeat, Repeat}, {mfa, {inviso_autostart_server, init, [Params]}}].

node_of(Config) ->
    N = inviso_test_lib:start_node("auto", ?config(dir, Config)),
    load(N, ?PROBE),
    N.

load(N, Module) ->
    {Module, Bin, File} = code:get_object_code(Module),
    {module, Module} = call(N, code, load_binary, [Module, File, Bin]),
    ok.

configure(N, Conf) ->
    _ = call(N, application, load, [inviso]),
    ok = call(N, application, set_env, [inviso, inviso_autostart_conf, Conf]).

with_conf(N, Conf, Fun) ->
    configure(N, Conf),
    Result = Fun(),
    ok = call(N, application, unset_env, [inviso, inviso_autostart_conf]),
    Result.

set(N, {Module, What}, Value) ->
    ok = call(N, application, set_env, [kernel, {Module, What}, Value]).

rt(N, F) -> rt(N, F, []).

rt(N, get_status, []) -> call(N, gen_server, call, [inviso_rt, get_status]);
rt(N, F, Args) -> call(N, inviso_rt, F, Args).

stop_app(N) ->
    ok = call(N, application, stop, [inviso]).

merged(Config, Log) ->
    Out = filename:join(?config(dir, Config), "merged.txt"),
    {ok, _} = inviso_lfm:merge([{node(), [{trace_log, [Log]}]}], Out),
    {ok, Text} = file:read_file(Out),
    [L || L <- string:split(unicode:characters_to_list(Text), "\n", all),
          string:find(L, ",call,") =/= nomatch].

%% Returns the text of the only argument of a call.
argument(Line) ->
    {match, [Arg]} = re:run(Line, ",\\[([^]]*)\\]}",
                            [{capture, all_but_first, list}]),
    Arg.
