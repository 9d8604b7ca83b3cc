%% SPDX-License-Identifier: Apache-2.0
%% @doc What was done in a session of {@link inviso_tool}, in order: to be done
%% again on nodes that come back, kept in a file, or made an autostart of.
-module(inviso_tool_history).

-export([new/0, add/2, since/2, size/1, active/1, do/3, save/2, read/1,
         autostart/1]).

-export_type([history/0, item/0]).

-opaque history() :: [item()]. % the last first
-type item() :: {inviso, Function :: atom(), Args :: [term()]}
              | {tc, {Name :: atom(), Id :: term(), on | off | run},
                 File :: file:filename(), inviso_case:bindings()}.

%% @doc Nothing done.
-spec new() -> history().
new() -> [].

%% @doc One more.
-spec add(item(), history()) -> history().
add(Item, History) -> [Item | History].

%% @doc All but the first N, in order.
-spec since(non_neg_integer(), history()) -> [item()].
since(N, History) -> lists:nthtail(N, lists:reverse(History)).

%% @doc How many there are.
-spec size(history()) -> non_neg_integer().
size(History) -> length(History).

%% @doc The trace cases that were activated and not deactivated since.
-spec active(history()) -> [{{atom(), term()}, inviso_case:bindings()}].
active(History) ->
    maps:to_list(lists:foldr(fun active/2, #{}, History)).

active({tc, {Name, Id, on}, _, Bindings}, Active) ->
    Active#{{Name, Id} => Bindings};
active({tc, {Name, Id, off}, _, _}, Active) ->
    maps:remove({Name, Id}, Active);
active(_, Active) ->
    Active.

%% @doc Does one, on some nodes, of which the variable `Nodes' of trace cases is
%% the list. Of a trace case the value of its last expression.
-spec do(item(), node(), [node()]) ->
          {ok, term()} | {error, {faulty_tracecase, term()} | {badrpc, term()}}.
do({inviso, Function, Args}, Control, Nodes) ->
    {ok, inviso_tool_lib:inviso_cmd(Control, Function, [Nodes | Args])};
do({tc, _, File, Bindings}, Control, Nodes) ->
    case inviso_case:read(File) of
        {ok, Case} -> run(Case, Control, [{'Nodes', Nodes} | Bindings]);
        {error, Why} -> faulty(Why)
    end.

run(Case, Control, Bindings) ->
    try erpc:call(Control, inviso_case, run, [Case, Bindings]) of
        {ok, Value, _} -> {ok, Value};
        {error, Why} -> faulty(Why)
    catch
        error:{erpc, Why} -> {error, {badrpc, Why}}
    end.

faulty({File, Line, Why}) ->
    {error, {faulty_tracecase, {File, {Line, Why}}}}.

%% @doc Writes it, as text.
-spec save(file:filename(), history()) -> ok | {error, term()}.
save(File, History) ->
    Text = [io_lib:format("~tp.~n", [Item]) || Item <- lists:reverse(History)],
    file:write_file(File, unicode:characters_to_binary(
                            ["%% coding: utf-8\n" | Text])).

%% @doc Reads what was written.
-spec read(file:filename()) ->
          {ok, history()} | {error, {read_file | bad_file, term()}}.
read(File) ->
    case file:consult(File) of
        {ok, Items} ->
            case [I || I <- Items, not is_item(I)] of
                [] -> {ok, lists:reverse(Items)};
                [I | _] -> {error, {bad_file, I}}
            end;
        {error, Why} when is_atom(Why) ->
            {error, {read_file, Why}};
        {error, Why} ->
            {error, {bad_file, lists:flatten(file:format_error(Why))}}
    end.

is_item({inviso, Function, Args}) ->
    is_atom(Function) andalso is_list(Args);
is_item({tc, {Name, _, How}, File, Bindings}) ->
    is_atom(Name) andalso lists:member(How, [on, off, run])
        andalso io_lib:char_list(File) andalso is_list(Bindings);
is_item(_) ->
    false.

%% @doc The same for {@link inviso_autostart_server}.
-spec autostart(history()) ->
          [{file, {file:filename(), inviso_case:bindings()}}
           | {mfa, {inviso, atom(), [term()]}}].
autostart(History) ->
    [case Item of
         {inviso, F, Args} -> {mfa, {inviso, F, Args}};
         {tc, _, File, Bindings} -> {file, {File, Bindings}}
     end || Item <- lists:reverse(History)].
