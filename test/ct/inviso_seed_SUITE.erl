%% SPDX-License-Identifier: Apache-2.0
%% Tests the code examples and the promises in the documentation of the original
%% Inviso, chapter by chapter. Each case quotes its chapter.
-module(inviso_seed_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).

-export([meta_tracing/1,
         public_loop_data/1,
         trace_information/1,
         autostart_module/1,
         autostart_configuration_file/1,
         autostart_utilities/1,
         dependency/1,
         overload_protection/1,
         trace_cases/1,
         trace_cases_in_an_autostart/1]).

-import(inviso_test_lib, [call/4, wait_until/1]).

suite() -> [{timetrap, {seconds, 600}}].

all() ->
    [meta_tracing,
     public_loop_data,
     trace_information,
     autostart_module,
     autostart_configuration_file,
     autostart_utilities,
     dependency,
     overload_protection,
     trace_cases,
     trace_cases_in_an_autostart].

init_per_testcase(Case, Config) ->
    Dir = filename:join(?config(priv_dir, Config), atom_to_list(Case)),
    N1 = inviso_test_lib:start_node(seed1, Dir),
    N2 = inviso_test_lib:start_node(seed2, Dir),
    ok = inviso_test_lib:connect([N1, N2]),
    [{nodes, [N1, N2]} | Config].

end_per_testcase(_Case, Config) ->
    _ = [inviso_test_lib:stop_node(N) || N <- ?config(nodes, Config)],
    ok.

%% --- meta tracing -----------------------------------------------------------

%% A call of connection:assoc_id(Pid, Ref) is meta traced, so the merged log shows the
%% name Ref with Pid. The chapter "Meta tracing" says: "Simple example where the call
%% to the function connection:assoc_id(Pid,Ref) will associated Pid with the id Ref.
%% We will then in a merged log-file see a translation between Pid and Ref."
meta_tracing(Config) ->
    [#{name := Node1} = N1, #{name := Node2} = N2] = ?config(nodes, Config),
    {ok, _} = call(N1, inviso, start, []),
    {ok, _} = call(N1, inviso, add_nodes, [[Node1, Node2], mytag]),
    {ok, _} = call(N1, inviso, init_tracing,
                   [[{trace, {file, "tracefile.log"}},
                     {ti, {file, "trace.ti"}}]]),
    ok = modules([N1, N2],
                   "-module(mytrace). -export([call_assoc_id/3]). "
                   "call_assoc_id(_CallingPid,[Pid,Ref],PublLoopData) -> "
                   "{ok,PublLoopData,term_to_binary({Pid,Ref,alias,now()})}."),
    ok = modules([N1, N2],
                   "-module(connection). -export([assoc_id/2, work/2]). "
                   "assoc_id(Pid,Ref) -> {Pid, Ref}. "
                   "work(Ref, N) -> connection:assoc_id(self(), Ref), "
                   "    timer:sleep(50), "
                   "    [code:which(M) || M <- lists:duplicate(N, nomod)]."),
    %% (node1@hurin)21> inviso:tpm(connection,assoc_id,2,[],
    %%                             {mytrace,call_assoc_id}).
    %% {ok,[{'node1@hurin',{ok,1}}, {'node2@hurin',{ok,1}}]}
    {ok, [{Node1, {ok, 1}}, {Node2, {ok, 1}}]} =
        inviso(N1, "inviso:tpm(connection,assoc_id,2,[],
                               {mytrace,call_assoc_id})."),
    {ok, _} = call(N1, inviso, tpl, [code, which, 1, []]),
    {ok, _} = call(N1, inviso, tf, [new, [call, timestamp]]),
    Ref = call(N2, erlang, make_ref, []),
    Pid = inviso_test_lib:spawn_call(N2, connection, work, [Ref, 3]),
    wait_until(fun() -> not call(N2, erlang, is_process_alive, [Pid]) end),
    {ok, _} = call(N1, inviso, stop_tracing, []),
    {ok, _} = call(N1, inviso, fetch_log, [[Node2], ".", "two_"]),
    {ok, _} = call(N1, inviso_lfm, merge,
                   [[{Node2, [{trace_log, ["two_tracefile.log"]},
                              {ti_log, ["two_trace.ti"]}]}], "out.txt"]),
    Mine = io_lib:format("~w [~s] {trace_ts,~s,call,{code,which,[nomod]},",
                         [Node2, call(N2, erlang, ref_to_list, [Ref]),
                          call(N2, erlang, pid_to_list, [Pid])]),
    {ok, Out} = file:read_file(filename:join(maps:get(dir, N1), "out.txt")),
    3 = length(binary:matches(Out, iolist_to_binary(Mine))),
    {ok, _} = call(N1, inviso, stop_all, []).

%% The user gives the function that makes the state of the meta tracer (the public loop
%% data). Here this state is a tuple of 10 elements.
%% "Simple example where tracing is initiated with a public loop data structure
%% having 10 places for nine (the locally registered names is mandatory) different
%% functions to be meta traced. Note that the BIF list_to_tuple/1 is used as
%% initialization function."
public_loop_data(Config) ->
    [N1, #{name := Node2} = N2] = ?config(nodes, Config),
    {ok, _} = call(N1, inviso, start, []),
    {ok, _} = call(N1, inviso, add_nodes, [[Node2], mytag]),
    %% (node1@hurin)4> inviso:init_tracing([{node2@hurin,[...]}]).
    %% {ok,[{'node2@hurin',{ok,[{trace_log,ok},{ti_log,ok}]}}]}
    {ok, [{Node2, {ok, [{trace_log, ok}, {ti_log, ok}]}}]} =
        inviso(N1, lists:concat(
                     ["inviso:init_tracing( [{'", Node2, "',"
                      "[{trace,{file,\"tracefile_node2.log\"}},"
                      " {ti,{file,\"trace_node2.ti\","
                      "  {{erlang,list_to_tuple,[lists:duplicate(10,[])]},"
                      "   void, {inviso_rt_meta,clean_std_publld}}}}]}])."])),
    Empty = list_to_tuple(lists:duplicate(10, [])),
    State = fun() ->
                    {ok, _, Publ} = call(N2, inviso_rt_meta, get_state,
                                         [inviso_rt_meta]),
                    Publ
            end,
    Empty = State(),
    %% "The first element in that tuple is used by the predefined meta tracing
    %% for capturing locally registered names." And "the default clean-function
    %% considers an entry older than 30 seconds to be abandoned".
    {ok, [{Node2, {{ok, 1}, {ok, 1}}}]} = call(N1, inviso, tpm_localnames, []),
    P = self(),
    ok = call(N1, inviso_rt_meta, metacast_call,
              [[Node2], P, erlang, register, [a_name, P]]),
    wait_until(fun() -> element(1, State()) =/= [] end),
    [{P, {a_name, P}, _}] = element(1, State()),
    {M, S, U} = erlang:timestamp(),
    {[], [{young, {M, S, U}}]} =
        call(N2, inviso_rt_meta, clean_std_publld,
             [{[{P, {a_name, P}, {M, S - 31, U}}], [{young, {M, S, U}}]}]),
    Name = inviso_test_lib:spawn_call(N2, timer, sleep, [infinity]),
    true = call(N2, erlang, register, [named, Name]),
    {ok, _} = call(N1, inviso, stop_tracing, []),
    {ok, Ti} = file:read_file(filename:join(maps:get(dir, N2),
                                            "trace_node2.ti")),
    true = binary:match(Ti, <<"named">>) =/= nomatch,
    {ok, _} = call(N1, inviso, stop_all, []).

%% "The standard inviso log-file reader understands the following trace
%% information file entries: {Pid,Alias,alias,NowStamp}
%% {Pid,Alias,unalias,NowStamp}": "The Pid in an alias entry must always be a
%% proper pid. In an unalias entry it may also be the atom undefined. The latter
%% means that all associations involving Alias shall stop to be valid. The
%% standard inviso log file reader uses the now-stamp to make sure that
%% associations are only used during time periods in the log-file when such are
%% valid."
trace_information(Config) ->
    [#{dir := Dir} | _] = ?config(nodes, Config),
    File = fun(Name) -> filename:join(Dir, Name) end,
    P = self(),
    Q = whereis(kernel_sup),
    At = fun(Sec) -> {1700, Sec, 0} end,
    records(File("a.ti"), [{P, own, alias, At(1)}, {P, both, alias, At(1)},
                           {Q, both, alias, At(1)}, {P, own, unalias, At(3)},
                           {undefined, both, unalias, At(5)}]),
    records(File("a.log"), [{trace_ts, X, call, {m, f, [Sec]}, At(Sec)}
                            || Sec <- [0, 2, 4, 6], X <- [P, Q]]),
    Self = self(),
    Work = fun(_Node, {trace_ts, X, call, {m, f, [Sec]}, _}, Names, Data) ->
                   Self ! {Sec, X, Names},
                   {ok, Data}
           end,
    {ok, 8} = inviso_lfm:merge([{node(), [{trace_log, [File("a.log")]},
                                          {ti_log, [File("a.ti")]}]}],
                               Work, data),
    [{0, P, []}, {0, Q, []}, {2, P, [own, both]}, {2, Q, [both]},
     {4, P, [both]}, {4, Q, [both]}, {6, P, []}, {6, Q, []}] =
        [receive M -> M end || _ <- lists:seq(1, 8)].

records(File, Terms) ->
    ok = file:write_file(File, [begin
                                    B = term_to_binary(T),
                                    [<<0, (byte_size(B)):32>>, B]
                                end || T <- Terms]).

modules(Nodes, Text) ->
    _ = [ok = module(N, Text) || N <- Nodes],
    ok.

%% --- autostart --------------------------------------------------------------

%% "An autostart/1 function must offer the following:
%%     autostart(RuntimeToolsArg) = {MFA,Options,Tag} | any()
%%  [...] If MFA does not properly point out a function possible to call with
%%  spawn(AutoMod,AutoFunc,AutoArg), there will simply be no initialization."
%%
%% "RuntimeToolsArgs is the argument Arg provided to the Runtime_Tools
%%  application". Here the application inviso calls autostart/1, and the argument
%% is [].
autostart_module(Config) ->
    [N = #{name := Node}, _] = ?config(nodes, Config),
    ok = module(N, "-module(my_autostart).\n"
                "-export([autostart/1]).\n"
                "autostart([]) -> {no_initialization, [], my_tag}."),
    ok = call(N, application, load, [inviso]),
    ok = call(N, application, set_env,
              [inviso, inviso_autostart_mod, my_autostart]),
    ok = call(N, application, start, [inviso]),
    {ok, _} = inviso(N, "inviso:start()."),
    {ok, [{Node, {ok, {adopted, new, running, my_tag}}}]} =
        inviso(N, "inviso:add_node(another_tag)."),
    {ok, _} = inviso(N, "inviso:stop_all()."),
    ok = call(N, application, stop, [inviso]),
    %% "If it is not a proper tuple [...] the autostart will terminate."
    ok = module(N, "-module(my_autostart).\n"
                "-export([autostart/1]).\n"
                "autostart([]) -> nothing_proper."),
    ok = call(N, application, start, [inviso]),
    undefined = call(N, erlang, whereis, [inviso_rt]).

%% "Example:
%%     {repeat,1}.
%%     {mfa,{inviso_autostart_server, init, [[{tracerdata,{file,"mylogfile"}},
%%     {cmdfiles,["a_trace_case.txt"]}, {bindings,[{'M',mymod},{'F','_'},
%%     {'Arity','_'}]}, {translations,[]}]]}}.
%%
%%  The example file results in the start of a runtime component given no
%%  specific options. There will only be one autostart since the repeat
%%  parameter is set to 1. [...] There will be no translations done, hence the
%%  trace-case file must be written using inviso_rt function calls directly."
%%
%% "If the parameter is not present, a default file, inviso_autostart.config in
%%  the current working directory, will be consulted."
autostart_configuration_file(Config) ->
    [N = #{name := Node}, _] = ?config(nodes, Config),
    write(N, "inviso_autostart.config",
          "{repeat,1}.\n"
          "{mfa,{inviso_autostart_server, init, [["
          "{tracerdata,{file,\"mylogfile\"}}, "
          "{cmdfiles,[\"a_trace_case.txt\"]}, "
          "{bindings,[{'M',mymod},{'F','_'},{'Arity','_'}]}, "
          "{translations,[]}]]}}.\n"),
    write(N, "a_trace_case.txt",
          "inviso_rt:tpl(M,F,Arity,[]).\n"
          "inviso_rt:tf(all,[call,timestamp]).\n"),
    ok = mymod(N),
    ok = call(N, application, start, [inviso]),
    {hello, 1} = call(N, mymod, hello, [1]),
    {ok, _} = inviso(N, "inviso:start()."),
    {ok, [{Node, {ok, {adopted, tracing, running, default_tag}}}]} =
        inviso(N, "inviso:add_node(mytag)."),
    {ok, _} = inviso(N, "inviso:stop_tracing()."),
    ["{mymod,hello,[1]}", "{mymod,world,[1]}"] = calls(N, "mylogfile"),
    {ok, _} = inviso(N, "inviso:stop_all()."),
    ok = call(N, application, stop, [inviso]),
    ok = call(N, application, start, [inviso]),
    undefined = call(N, erlang, whereis, [inviso_rt]).

%% "To facilitate creating the configuration file described above, there are
%%  functions in a module named inviso_as_lib which can both create new files
%%  according to supplied arguments and update existing configuration files.
%%  The node(s) in question must be running [...]"
autostart_utilities(Config) ->
    [N, #{name := Node2, dir := Dir2}] = ?config(nodes, Config),
    ok = call(N, inviso_as_lib, setup_autostart,
              [Node2, 1, [], {file, "mylogfile"}, ["a_trace_case.txt"],
               [{'M', mymod}, {'F', '_'}, {'Arity', '_'}], []]),
    ok = call(N, inviso_as_lib, set_repeat, [Node2, 2]),
    {ok, [{repeat, 2},
          {mfa, {inviso_autostart_server, init,
                 [[{tracerdata, {file, "mylogfile"}},
                   {cmdfiles, ["a_trace_case.txt"]},
                   {bindings, [{'M', mymod}, {'F', '_'}, {'Arity', '_'}]},
                   {translations, []} | _]]}},
          {options, []}, {tag, _}]} =
        file:consult(filename:join(Dir2, "inviso_autostart.config")).

%% --- dependency -------------------------------------------------------------

%% "The property specifies a dependency in milliseconds. Meaning that if the
%%  property is set to 0 (zero), the runtime component will terminate immediately
%%  if its current control component terminates.
%%  If a control component tries to start a runtime component at an Erlang node
%%  where there already is a runtime component, the control component will adopt
%%  the already existing runtime component if it has no current control
%%  component. Otherwise the control component will experience an error [...]"
dependency(Config) ->
    [N1, N2 = #{name := Node2}] = ?config(nodes, Config),
    Add = fun(N, Time) ->
                  {ok, _} = inviso(N, "inviso:start()."),
                  {ok, [{Node2, Result}]} =
                      call(N, inviso, add_nodes,
                           [[Node2], mytag, [{dependency, Time}]]),
                  Result
          end,
    {ok, new} = Add(N1, 0),
    shutdown = inviso(N1, "inviso:stop()."),
    wait_until(fun() -> call(N2, erlang, whereis, [inviso_rt]) =:= undefined
               end),
    {ok, new} = Add(N1, infinity),
    {error, refused} = Add(N2, 0),
    shutdown = inviso(N1, "inviso:stop()."),
    wait_until(fun() ->
                       {ok, [{Node2, R}]} =
                           call(N2, inviso, add_nodes, [[Node2], newtag]),
                       R =:= {ok, {adopted, new, running, mytag}}
               end).

%% --- overload protection ----------------------------------------------------

%% "Simple example adding a runtime component and making it protect its Erlang
%%  node from overload.
%%     inviso:add_node(my_rt_tag, [{overload,{{my_ovl,check}, 15000,
%%     {my_ovl,start,[my_port_pgm]}, {my_ovl,stop,[my_port_pgm]}}}]).
%%  Immediately when the runtime component is started, it will initiate overload
%%  protection by calling my_ovl:start(my_port_pgm). When tracing (not when in
%%  state idle or new), the runtime component will every 15000 milliseconds call
%%  my_ovl:check/1. Depending on its return value, the runtime component will
%%  either do nothing or suspend tracing. When the runtime component is stopped,
%%  my_ovl:stop(my_port_pgm) will be called."
%%
%% As in the original Inviso, `stop' also gets what `start' returned, and `check' gets
%% the reason for the call: docs/from-the-original.md, "Overload".
overload_protection(Config) ->
    [N = #{name := Node}, _] = ?config(nodes, Config),
    Log = inviso_test_lib:spawn_call(N, timer, sleep, [infinity]),
    true = call(N, erlang, register, [ovl_log, Log]),
    ok = module(N, "-module(my_ovl).\n"
                "-export([start/1, check/1, stop/2]).\n"
                "start(Pgm) -> ovl_log ! {start, Pgm}, {ok, my_data}.\n"
                "check(What) -> ovl_log ! {check, What},\n"
                "               {suspend, too_much_work}.\n"
                "stop(my_data, Pgm) -> ovl_log ! {stop, Pgm}."),
    {ok, _} = inviso(N, "inviso:start()."),
    {ok, [{Node, {ok, new}}]} =
        inviso(N, "inviso:add_node(my_rt_tag, [{overload,{{my_ovl,check}, "
               "15000, {my_ovl,start,[my_port_pgm]}, "
               "{my_ovl,stop,[my_port_pgm]}}}])."),
    Told = fun() ->
                   {messages, Ms} = call(N, erlang, process_info,
                                         [Log, messages]),
                   Ms
           end,
    [{start, my_port_pgm}] = Told(),
    {ok, _} = inviso(N, "inviso:init_tracing({file, \"a.log\"})."),
    Suspended = {ok, [{Node, {ok, {tracing, {suspended, too_much_work}}}}]},
    wait_until(fun() -> inviso(N, "inviso:get_status().") =:= Suspended end),
    [{start, my_port_pgm}, {check, {timeout, my_data}}] = Told(),
    {ok, _} = inviso(N, "inviso:stop_nodes()."),
    [_, _, {stop, my_port_pgm}] = Told().

%% --- trace cases ------------------------------------------------------------

%% "Assume that we have the following trace-case file:
%%     inviso:tpl(Nodes,mymod,'_','_',MS).
%%     inviso:tf(Nodes,all,[call,timestamp])."
%%
%% "Trace cases are expected to be written to be executed directly in an Erlang
%%  shell (by some utility reading a text file on trace case format) calling
%%  inviso functions."
trace_cases(Config) ->
    [N1 = #{name := Node1}, N2 = #{name := Node2}] = ?config(nodes, Config),
    write(N1, "case.txt", seed_case()),
    _ = [ok = mymod(N) || N <- [N1, N2]],
    {ok, _} = inviso(N1, "inviso:start()."),
    {ok, _} = call(N1, inviso, add_nodes, [[Node1, Node2], mytag]),
    {ok, _} = inviso(N1, "inviso:init_tracing({file, \"a.log\"})."),
    {ok, {ok, [{Node1, {ok, [_]}}, {Node2, {ok, [_]}}]}, _} =
        call(N1, inviso_case, run, ["case.txt", [{'Nodes', [Node1, Node2]},
                                                 {'MS', []}], []]),
    _ = [{hello, X} = call(N, mymod, hello, [X]) || {N, X} <- [{N1, a},
                                                               {N2, b}]],
    {ok, _} = inviso(N1, "inviso:stop_tracing()."),
    ["{mymod,hello,[a]}", "{mymod,world,[a]}"] = calls(N1, "a.log"),
    ["{mymod,hello,[b]}", "{mymod,world,[b]}"] = calls(N2, "a.log"),
    {ok, _} = inviso(N1, "inviso:stop_all().").

%% "For this to work in an autostart the following translation is needed:
%%     [{{inviso,tpl,5},{inviso_rt,tpl,{erlang,tl}}},
%%      {{inviso,tf,3},{inviso_rt,tf,{erlang,tl}}}]
%%  Since transforming the arguments from inviso calls to inviso_rt calls is
%%  simply removing the first argument, there is no need to program any function
%%  to do this. The BIF tl/1 can be used directly.
%%  Further there must be a variable binding for MS when executing the trace-case.
%%  It is not necessary to have one for Nodes since that argument is removed from
%%  all function calls by the translation."
trace_cases_in_an_autostart(Config) ->
    [N, _] = ?config(nodes, Config),
    write(N, "case.txt", seed_case()),
    write(N, "inviso_autostart.config",
          "{repeat,1}.\n"
          "{mfa,{inviso_autostart_server, init, [["
          "{tracerdata,{file,\"mylogfile\"}}, {cmdfiles,[\"case.txt\"]}, "
          "{bindings,[{'MS',[]}]}, {translations,"
          "[{{inviso,tpl,5},{inviso_rt,tpl,{erlang,tl}}}, "
          "{{inviso,tf,3},{inviso_rt,tf,{erlang,tl}}}]"
          "}]]}}.\n"),
    ok = mymod(N),
    ok = call(N, application, start, [inviso]),
    {hello, 1} = call(N, mymod, hello, [1]),
    ok = call(N, application, stop, [inviso]),
    ["{mymod,hello,[1]}", "{mymod,world,[1]}"] = calls(N, "mylogfile").

seed_case() ->
    "inviso:tpl(Nodes,mymod,'_','_',MS). inviso:tf(Nodes,all,[call,timestamp]).".

mymod(N) ->
    module(N, "-module(mymod).\n"
           "-export([hello/1]).\n"
           "hello(X) -> world(X), {hello, X}.\n"
           "world(X) -> {world, X}.").

%% --- what the cases share ---------------------------------------------------

%% Evaluates a line of the shell on a node.
inviso(N, Line) ->
    {ok, Tokens, _} = erl_scan:string(Line),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {value, Value, _} = call(N, erl_eval, exprs, [Exprs, []]),
    Value.

%% Compiles a user's module, and loads it on a node.
module(N, Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Module, Beam} = compile:forms([form(F) || F <- forms(Tokens)],
                                       [no_auto_import_warnings]),
    _ = call(N, code, purge, [Module]),
    {module, Module} = call(N, code, load_binary, [Module, "user.erl", Beam]),
    ok.

forms([]) ->
    [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end,
                                           Tokens),
    [Form ++ [Dot] | forms(Rest)].

form(Tokens) ->
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

write(#{dir := Dir}, Name, Text) ->
    ok = file:write_file(filename:join(Dir, Name), Text).

calls(#{dir := Dir}, Name) ->
    Out = filename:join(Dir, "merged.txt"),
    Log = filename:join(Dir, Name),
    {ok, _} = inviso_lfm:merge([{node(), [{trace_log, [Log]}]}], Out),
    {ok, Text} = file:read_file(Out),
    [begin
         {match, [MFA]} = re:run(Line, ",call,(.*),{[0-9]+,[0-9]+,[0-9]+}}",
                                 [{capture, all_but_first, list}]),
         MFA
     end || Line <- string:split(unicode:characters_to_list(Text), "\n", all),
            string:find(Line, ",call,") =/= nomatch].
