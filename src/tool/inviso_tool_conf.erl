%% SPDX-License-Identifier: Apache-2.0
%% @doc The options of {@link inviso_tool}. They are arguments of {@link
%% inviso_tool:start/1}, or terms in a file. An argument overrides a term of the
%% file. The name of the file is the first of these that is set: the argument
%% `config_file', the parameter `inviso_tool_config_file' of the application
%% `inviso', the environment variable `inviso_tool_config_file'.
%%
%% ```
%% {nodes, [Node] | local_runtime}   nodes to trace (default: this node)
%% {c_node, Node}                    node of the control component (default: this
%%                                   node)
%% {dir, Dir}                        directory of trace cases and their
%%                                   definitions (default: ".")
%% {tc_def_file, File}               definitions of trace cases, in `dir' or the
%%                                   current directory
%% {initial_tcs, [{Name, Values}]}   trace cases that are activated when a session
%%                                   begins
%% {tdg, {M, F, Args}}               tracerdata generator (see inviso_tool_lib)
%% {optg, {M, F, Args}}              M:F(Node, Args...) -> {ok, Options}: options
%%                                   of inviso:add_nodes/3 for the node
%% {regexp_node, Node}               the node that expands regular expressions for
%%                                   modules in patterns of inviso_tool:inviso/2;
%%                                   if it is down, the first available node
%%                                   (default: each node, for its own modules)
%% {history_dir, Dir}                directory of histories (default: `dir')
%% {keep_nodes, [Node]}              nodes whose runtime components continue when
%%                                   the tool ends
%% {debug, off | Level}
%% '''
%%
%% The definitions of trace cases are terms in a file. A definition lists the
%% variables of the trace case that need a value, except `Nodes':
%%
%% ```
%% {Name, on, [Variable], "File"}.
%% {Name, on_off, [Variable], "File", "FileThatUndoesIt"}.
%% '''
-module(inviso_tool_conf).

-export([read/1]).

-export_type([conf/0, definition/0]).

-type conf() :: #{nodes := [node()], c_node := node(),
                  cases := #{atom() => definition()},
                  initial_tcs := [{atom(), inviso_case:bindings()}],
                  tdg := {module(), atom(), [term()]},
                  optg := {module(), atom(), [term()]},
                  regexp_node := node() | none,
                  history_dir := file:filename(),
                  keep_nodes := [node()],
                  debug := term()}.
-type definition() :: {Variables :: [atom()], On :: file:filename(),
                       Off :: file:filename() | none}.

%% @doc Returns the configuration, with defaults for options that are not given.
-spec read([{atom(), term()}]) -> {ok, conf()} | {error, term()}.
read(Args) ->
    try
        Options = options(Args),
        Dir = filename:absname(maps:get(dir, Options, ".")),
        {ok, #{nodes => nodes_of(maps:get(nodes, Options, local_runtime)),
               c_node => case maps:get(c_node, Options, undefined) of
                             undefined -> node();
                             Node -> Node
                         end,
               cases => cases(maps:get(tc_def_file, Options, none), Dir),
               initial_tcs => maps:get(initial_tcs, Options, []),
               tdg => maps:get(tdg, Options, {inviso_tool_lib, std_tdg, []}),
               optg => maps:get(optg, Options,
                                {inviso_tool, std_options_generator, []}),
               regexp_node => case maps:get(regexp_node, Options, undefined) of
                                  undefined -> none;
                                  At -> At
                              end,
               history_dir => case maps:get(history_dir, Options, undefined) of
                                  undefined -> Dir;
                                  Histories -> filename:absname(Histories)
                              end,
               keep_nodes => maps:get(keep_nodes, Options, []),
               debug => maps:get(debug, Options, off)}}
    catch
        throw:Why -> {error, Why}
    end.

options(Args) when length(Args) >= 0 ->
    File = proplists:get_value(config_file, Args, default_file()),
    Terms = case File of
                false -> [];
                _ -> consult(File)
            end,
    _ = [is_option(O) orelse throw({bad_option, O}) || O <- Args ++ Terms],
    %% If a name is given twice, the first value is used.
    maps:from_list(lists:reverse(Args ++ Terms));
options(Args) ->
    throw({badarg, Args}).

default_file() ->
    case application:get_env(inviso, inviso_tool_config_file) of
        {ok, File} -> File;
        undefined -> os:getenv("inviso_tool_config_file")
    end.

is_option({nodes, local_runtime}) -> true;
is_option({nodes, Nodes}) -> atoms(Nodes);
is_option({keep_nodes, Nodes}) -> atoms(Nodes);
is_option({Where, Node}) when Where =:= c_node; Where =:= regexp_node ->
    is_atom(Node);
is_option({history_dir, undefined}) -> true;
is_option({initial_tcs, Cases}) -> is_list(Cases);
is_option({Generator, {M, F, Args}})
  when Generator =:= tdg; Generator =:= optg ->
    is_atom(M) andalso is_atom(F) andalso is_list(Args);
is_option({Name, File})
  when Name =:= dir; Name =:= tc_def_file; Name =:= config_file;
       Name =:= history_dir ->
    io_lib:char_list(File);
is_option({debug, _}) -> true;
is_option(_) -> false.

atoms(List) when length(List) >= 0 -> lists:all(fun is_atom/1, List);
atoms(_) -> false.

nodes_of(local_runtime) -> [node()];
nodes_of(Nodes) -> Nodes.

cases(none, _Dir) ->
    #{};
cases(File, Dir) ->
    maps:from_list([definition(T, Dir) || T <- consult(found(File, Dir))]).

found(File, Dir) ->
    Here = filename:absname(File),
    InDir = filename:absname(File, Dir),
    case filelib:is_regular(Here) andalso not filelib:is_regular(InDir) of
        true -> Here;
        false -> InDir
    end.

definition({Name, on, Vars, On} = Term, Dir) ->
    definition(Term, Name, Vars, On, none, Dir);
definition({Name, on_off, Vars, On, Off} = Term, Dir) ->
    definition(Term, Name, Vars, On, Off, Dir);
definition(Term, _Dir) ->
    throw({bad_tracecase_definition, Term}).

definition(Term, Name, Vars, On, Off, Dir) ->
    _ = (is_atom(Name) andalso atoms(Vars) andalso io_lib:char_list(On)
         andalso (Off =:= none orelse io_lib:char_list(Off)))
        orelse throw({bad_tracecase_definition, Term}),
    Path = fun(none) -> none;
              (File) -> filename:absname(File, Dir)
           end,
    {Name, {Vars, Path(On), Path(Off)}}.

consult(File) ->
    case file:consult(File) of
        {ok, Terms} -> Terms;
        {error, Why} when is_atom(Why) -> throw({File, Why});
        {error, Why} -> throw({File, lists:flatten(file:format_error(Why))})
    end.
