%% SPDX-License-Identifier: Apache-2.0
%% @doc The history of a session of {@link inviso_tool}: its commands and trace
%% cases, in order. The tool repeats the history on nodes that were down, saves
%% it in a file, or turns it into an autostart.
-module(inviso_tool_history).

-export([new/0, add/2, items/1, nothing_done/0, since/2, is_more/2, active/1,
         do/3, save/2, read/1, autostart/1]).
-export([run/2]).

-export_type([history/0, item/0, done/0]).

%% A list of numbered items, the latest first. When a trace case is deactivated,
%% its activation is removed from the history. The deactivation is an item too,
%% because it must be repeated on nodes on which the activation was already
%% repeated.
-opaque history() :: [{pos_integer(), item()}].
-type item() :: {inviso, Function :: atom(), Args :: [term()]}
              | {tc, {Name :: atom(), Id :: term(), on | off | run},
                 File :: file:filename(), inviso_case:bindings()}.
%% A node's position in the history: the number of the last item that was
%% repeated on the node, and the trace cases that are active on the node.
-opaque done() :: {non_neg_integer(), [{atom(), term()}]}.

%% @doc Returns an empty history.
-spec new() -> history().
new() -> [].

%% @doc Adds an item.
-spec add(item(), history()) -> history().
add({tc, {Name, Id, off}, _, _} = Item, History) ->
    [{last(History) + 1, Item}
     | [Other || {_, Done} = Other <- History, not is_on(Name, Id, Done)]];
add(Item, History) ->
    [{last(History) + 1, Item} | History].

is_on(Name, Id, {tc, {N, I, on}, _, _}) -> {N, I} =:= {Name, Id};
is_on(_, _, _) -> false.

last([]) -> 0;
last([{Last, _} | _]) -> Last.

%% @doc Returns the items in order, except the items that deactivate a trace
%% case.
-spec items(history()) -> [item()].
items(History) ->
    lists:reverse([Item || {_, Item} <- History, not is_off(Item)]).

is_off({tc, {_, _, off}, _, _}) -> true;
is_off(_) -> false.

%% @doc Returns the position of a node on which no item was repeated yet.
-spec nothing_done() -> done().
nothing_done() -> {0, []}.

%% @doc Returns the items that must still be repeated on a node with this
%% position, and the node's position afterwards.
-spec since(done(), history()) -> {[item()], done()}.
since({Last, Active}, History) ->
    New = lists:reverse([Item || {N, Item} <- History, N > Last]),
    {Items, Active1} = lists:foldl(fun next/2, {[], Active}, New),
    {lists:reverse(Items), {last(History), Active1}}.

next({tc, {Name, Id, on}, _, _} = Item, {Items, Active}) ->
    {[Item | Items], [{Name, Id} | Active]};
next({tc, {Name, Id, off}, _, _} = Item, {Items, Active}) ->
    case lists:member({Name, Id}, Active) of
        true -> {[Item | Items], lists:delete({Name, Id}, Active)};
        false -> {Items, Active}
    end;
next(Item, {Items, Active}) ->
    {[Item | Items], Active}.

%% @doc Returns true if the history has items after a position.
-spec is_more(done(), history()) -> boolean().
is_more({Last, _}, History) -> last(History) > Last.

%% @doc Returns the active trace cases with their bindings.
-spec active(history()) -> [{{atom(), term()}, inviso_case:bindings()}].
active(History) ->
    [{{Name, Id}, Bindings}
     || {tc, {Name, Id, on}, _, Bindings} <- items(History)].

%% @doc Repeats an item on the nodes `Nodes'. If the item is a trace case, its
%% variable `Nodes' contains these nodes, and the function returns the value of
%% the trace case's last expression.
-spec do(item(), node(), [node()]) ->
          {ok, term()} | {error, {faulty_tracecase, term()} | {badrpc, term()}}.
do({inviso, Function, Args}, Control, Nodes) ->
    {ok, inviso_tool_lib:inviso_cmd(Control, Function, [Nodes | Args])};
do({tc, _, File, Bindings}, Control, Nodes) ->
    case inviso_case:read(File) of
        {ok, Case} -> run(Case, Control, [{'Nodes', Nodes} | Bindings]);
        {error, Why} -> faulty(Why)
    end.

%% Runs a trace case on the node `Control'. If `Control' is another node, a process
%% that is linked to the calling process runs the trace case there. So the trace
%% case ends if the calling process ends.
run(Case, Control, Bindings) when Control =:= node() ->
    run_result(inviso_case:run(Case, Bindings));
run(Case, Control, Bindings) ->
    Trap = process_flag(trap_exit, true),
    {Pid, Ref} = spawn_opt(Control, ?MODULE, run, [Case, Bindings],
                           [link, monitor]),
    receive
        {'DOWN', Ref, process, Pid, Reason} ->
            _ = process_flag(trap_exit, Trap),
            case Reason of
                {ran, Result} -> run_result(Result);
                _ -> {error, {badrpc, Reason}}
            end
    end.

%% @private Runs on the control component's node.
-spec run(inviso_case:trace_case(), inviso_case:bindings()) -> no_return().
run(Case, Bindings) ->
    exit({ran, inviso_case:run(Case, Bindings)}).

run_result({ok, Value, _}) -> {ok, Value};
run_result({error, Why}) -> faulty(Why).

faulty({File, Line, Why}) ->
    {error, {faulty_tracecase, {File, {Line, Why}}}}.

%% @doc Saves a history as text.
-spec save(file:filename(), history()) -> ok | {error, term()}.
save(File, History) ->
    Text = [io_lib:format("~tp.~n", [Item]) || Item <- items(History)],
    file:write_file(File, unicode:characters_to_binary(
                            ["%% coding: utf-8\n" | Text])).

%% @doc Reads a saved history.
-spec read(file:filename()) ->
          {ok, history()} | {error, {read_file | bad_file, term()}}.
read(File) ->
    case file:consult(File) of
        {ok, Items} ->
            case [I || I <- Items, not is_item(I)] of
                [] -> {ok, lists:foldl(fun add/2, new(), Items)};
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

%% @doc Returns the history in the form for {@link inviso_autostart_server}.
-spec autostart(history()) ->
          [{file, {file:filename(), inviso_case:bindings()}}
           | {mfa, {inviso, atom(), [term()]}}].
autostart(History) ->
    [case Item of
         {inviso, F, Args} -> {mfa, {inviso, F, Args}};
         {tc, _, File, Bindings} -> {file, {File, Bindings}}
     end || Item <- items(History)].
