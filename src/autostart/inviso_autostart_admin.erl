%% SPDX-License-Identifier: Apache-2.0
%% @doc Handles the requests of the command `inviso autostart' on a node on which
%% inviso is installed. Reads, writes and deletes the node's autostart file
%% ({@link inviso_autostart_conf}), and a trace case in the same directory.
%%
%% The user's trace case may call functions of {@link inviso} or of {@link
%% inviso_rt}. Before the trace case is written, {@link translations/0} replace
%% the calls of {@link inviso} by calls of {@link inviso_rt}.
%%
%% c_src/node/autostart.h specifies the answers.
-module(inviso_autostart_admin).

-export([show/0, write/4, remove/0, translations/0]).
-export([one_node/1, no_arguments/1]).

-type answer() :: {ok, File :: binary(), Starts :: non_neg_integer() | always,
                   Lines :: [binary()], Started :: boolean()}
                | {error, usage | failed, binary()}.

-define(CASE, "inviso_autostart.case").

%% @doc Returns the autostart file, and how many more starts are traced (0 if
%% there is no file).
-spec show() -> answer().
show() ->
    with_file(fun show/1).

show(File) ->
    case inviso_autostart_conf:read(File) of
        {ok, Terms} ->
            Text = [io_lib:format("~tp.~n", [T]) || T <- Terms],
            answer(File, proplists:get_value(repeat, Terms, always),
                   [Text | case_text(File)]);
        {error, {File, enoent}} ->
            answer(File, 0, "");
        {error, Why} ->
            failed(Why)
    end.

case_text(File) ->
    case file:read_file(case_file(File)) of
        {ok, Text} -> ["%% ", case_file(File), "\n", Text];
        {error, _} -> []
    end.

case_file(File) ->
    filename:join(filename:dirname(File), ?CASE).

%% Returns an answer. Its last element is true if the application inviso runs on
%% this node. If so, it probably also starts when the node restarts.
answer(File, Starts, Text) ->
    Started = lists:keymember(inviso, 1, application:which_applications()),
    Lines = string:split(utf8(Text), "\n", all),
    {ok, utf8(File), Starts, [L || L <- Lines, L =/= <<>>], Started}.

%% @doc Makes the node run a trace case at its next starts. The values of
%% variables are Erlang terms as text.
-spec write(binary(), [{binary(), binary()}], non_neg_integer() | always,
            binary()) -> answer().
write(Text, Values, Starts, Log) ->
    try
        Case = trace_case(Text),
        Bindings = [{binary_to_atom(Name), term(Name, Value)}
                    || {Name, Value} <- Values],
        Missing = inviso_case:variables(Case) -- [N || {N, _} <- Bindings],
        _ = Missing =:= []
            orelse throw({usage, io_lib:format("variable ~ts has no value",
                                               [hd(Missing)])}),
        with_file(fun(File) -> write(File, Case, Bindings, Starts, Log) end)
    catch
        throw:{Class, Why} -> {error, Class, utf8(Why)}
    end.

trace_case(Text) ->
    case inviso_case:parse("the trace case", Text, translations()) of
        {ok, Case} -> Case;
        {error, Why} -> throw({usage, inviso_case:format_error(Why)})
    end.

term(Name, Value) ->
    Chars = unicode:characters_to_list(Value),
    try
        {ok, Tokens, _} = erl_scan:string(Chars ++ "."),
        {ok, Term} = erl_parse:parse_term(Tokens),
        Term
    catch
        error:_ -> throw({usage, io_lib:format("~ts=~ts: no Erlang term",
                                               [Name, Value])})
    end.

write(File, Case, Bindings, Starts, Log) ->
    Params = [{tracerdata, {file, unicode:characters_to_list(Log)}},
              {cmdfiles, [case_file(File)]},
              {bindings, Bindings}, {translations, []}],
    Terms = [{repeat, Starts} || Starts =/= always]
        ++ [{mfa, {inviso_autostart_server, init, [Params]}}],
    %% The trace case is written first, and then the file that makes the node
    %% run the trace case.
    case inviso_autostart_conf:replace(case_file(File),
                                       utf8(inviso_case:text(Case))) of
        ok ->
            case inviso_autostart_conf:write(File, Terms) of
                ok -> show(File);
                {error, Why} -> failed(Why)
            end;
        {error, Why} ->
            failed(Why)
    end.

%% @doc Cancels the autostart of this node.
-spec remove() -> answer().
remove() ->
    with_file(fun remove/1).

remove(File) ->
    case [Why || F <- [File, case_file(File)],
                 {error, Why} <- [file:delete(F)], Why =/= enoent] of
        [] -> show(File);
        [Why | _] -> failed({File, Why})
    end.

with_file(Fun) ->
    case inviso_autostart_conf:file() of
        {ok, File} ->
            Fun(File);
        no_autostart ->
            {error, failed, <<"the node is configured so that nothing starts "
                              "(inviso_autostart_conf)">>};
        {error, Why} ->
            failed(Why)
    end.

failed({File, Why}) when is_atom(Why) ->
    {error, failed, utf8(io_lib:format("~ts: ~ts",
                                       [File, file:format_error(Why)]))};
failed({[C | _] = File, Why}) when is_integer(C), is_list(Why) ->
    {error, failed, utf8(io_lib:format("~ts: ~ts", [File, Why]))};
failed(Why) ->
    {error, failed, utf8(io_lib:format("~0tp", [Why]))}.

utf8(Text) ->
    unicode:characters_to_binary(Text).

%% @doc Returns translations of calls of `inviso' into calls of `inviso_rt', whose
%% functions have no argument for nodes. For some functions the number of
%% arguments does not show whether the first argument is a list of nodes. The
%% first argument of such a function is removed if it is written as a list, or is a
%% variable whose name begins with `Node'.
-spec translations() -> [inviso_case:translation()].
translations() ->
    Own = [FA || {F, _} = FA <- inviso_rt:module_info(exports),
                 F =/= module_info],
    [{{inviso, F, A}, {inviso_rt, F, Args}}
     || {F, A} <- inviso:module_info(exports),
        Args <- arguments(lists:member({F, A - 1}, Own),
                          lists:member({F, A}, Own))]
        ++ [{{inviso, F, A}, {inviso_rt, To, {?MODULE, no_arguments}}}
            || {F, To} <- [{tpm_localnames, local_register},
                           {ctpm_localnames, remove_local_register},
                           {tpm_globalnames, global_register},
                           {ctpm_globalnames, remove_global_register}],
               A <- [0, 1]].

arguments(true, true) -> [{?MODULE, one_node}];
arguments(true, false) -> [{erlang, tl}];
arguments(false, true) -> [as_they_are];
arguments(false, false) -> [].

%% @private Removes the list of nodes from the arguments of a call.
-spec one_node([erl_parse:abstract_expr()]) -> [erl_parse:abstract_expr()].
one_node([{cons, _, _, _} | Args]) -> Args;
one_node([{nil, _} | Args]) -> Args;
one_node([{var, _, Name} | Args] = All) ->
    case lists:prefix("Node", atom_to_list(Name)) of
        true -> Args;
        false -> All
    end;
one_node(All) -> All.

%% @private
-spec no_arguments([erl_parse:abstract_expr()]) -> [].
no_arguments(_) -> [].
