%% SPDX-License-Identifier: Apache-2.0
%% Requests: sequential traces of several nodes, in causal order.
-module(inviso_requests_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([example_of_the_seed/1, random_programs/1, clocks_hours_apart/1,
         lost_events/1, a_node_without_a_log/1, a_filter_names_ancestors/1]).
-export([trees_are_the_truth/1, list_of_requests/1, trees_without_some_events/1,
         trees_of_lossy_logs/1]).

-define(LIB, inviso_trace_lib).
-define(WORK, inviso_requests_work).
-define(WORKERS, 4).
-define(ALL, [send, 'receive', print]).

all() ->
    [example_of_the_seed, random_programs, clocks_hours_apart, lost_events,
     a_node_without_a_log, a_filter_names_ancestors, trees_are_the_truth,
     list_of_requests, trees_without_some_events, trees_of_lossy_logs].

suite() -> [{timetrap, {seconds, 900}}].

init_per_suite(Config0) ->
    case ?LIB:config(Config0, ["inviso", "inviso_spool", "inviso_tracer.so"]) of
        {skip, _} = Skip -> Skip;
        Config -> recorded(Config)
    end.

%% Runs random programs on three nodes, and records their sequential traces. All cases use these
%% logs.
recorded(Config) ->
    inviso_test_lib:seed(?FUNCTION_NAME),
    Nodes = start(Config, [a, b, c]),
    Logs = [record(Config, N) || N <- Nodes],
    Programs = inviso_test_lib:soak(100, 5000),
    Labels = lists:append([two_programs(Nodes, I) || I <- lists:seq(1, Programs)]),
    [{ok, #{dropped := 0}} = call(N, ?WORK, stop, []) || N <- Nodes],
    Truth = lists:append([call(N, ?WORK, truth, []) || N <- Nodes]),
    stop(Nodes),
    Graphs = maps:from_list(Truth),
    %% In funs, because Common Test prints Config for each case, and large terms slowly.
    [{logs, Logs}, {labels, fun() -> Labels end}, {truth, fun() -> Graphs end} | Config].

labels(Config) ->
    (?config(labels, Config))().

truth(Config) ->
    (?config(truth, Config))().

end_per_suite(_Config) -> ok.

%% Runs the example in the documentation of the module seq_trace, section "Example of Use". The
%% token of the example does not have the flag `send'.

example_of_the_seed(Config) ->
    [Node] = start(Config, [a]),
    Log = record(Config, Node),
    call(Node, inviso_requests_seed, run, []),
    {ok, _} = call(Node, ?WORK, stop, []),
    {[A, B, C, D] = Events, Said} = events([Log], []),
    ct:log("~p~n~ts", [Events, Said]),
    [<<"17">>] = lists:usort([L || #{<<"label">> := L} <- Events]),
    #{<<"id">> := 1, <<"cause">> := null, <<"certain">> := true,
      <<"request">> := 1} = A,
    %% The log has no send events. So the cause of a received message is the sender's last event
    %% before it sent the message.
    [{2, 1}, {3, 2}, {4, 3}] =
        [{I, J} || #{<<"id">> := I, <<"cause">> := J} <- [B, C, D]],
    [false, true, false] = [X || #{<<"certain">> := X} <- [B, C, D]],
    [<<"untraced">>, none, <<"untraced">>] =
        [maps:get(<<"orphan">>, E, none) || E <- [B, C, D]],
    stop([Node]).

%% Random programs were run. The causes that merge finds must be the true causes.

random_programs(Config) ->
    Labels = labels(Config),
    {Events, Said} = events(?config(logs, Config), []),
    ct:log("~ts~n~p requests, ~p events", [Said, length(Labels), length(Events)]),
    is_the_truth(Config, Events),
    %% Each program that ran is one request, with one event that has no cause.
    Begins = [R || #{<<"cause">> := null, <<"request">> := R} <- Events],
    {N, N} = {length(Labels), length(Begins)},
    N = length(lists:usort(Begins)).

is_the_truth(Config, Events) ->
    in_order(Events),
    equal(truth(Config), graph(Events)),
    [] = [E || #{<<"orphan">> := _} = E <- Events],
    [] = [E || #{<<"certain">> := false} = E <- Events].

%% The clocks of the logs differ by hours. The order of events must still be right, because it
%% follows from the messages. Merge corrects the clocks, and reports intervals for their
%% differences. Each interval must contain the true difference, and no event may be earlier than its
%% cause.
clocks_hours_apart(Config) ->
    [A, B, C] = ?config(logs, Config),
    {A1, [{_, OfA} | _]} = warped(Config, A, ["3600000000000", "0", "0", "0", "0"]),
    {B1, OfB} = warped(Config, B, ["-7200000000000", "100", "-50", "0", "0"]),
    Logs = [A1, B1, C],
    {Events, _} = events(Logs, []),
    is_the_truth(Config, Events),
    none_is_early(Events),
    #{<<"clocks">> := #{<<"nodes">> := [_, AtB, AtC]} = Clocks} = summary(Logs, []),
    ct:log("~p", [Clocks]),
    [true = is_inside(W, OfA - at(T, OfB)) || #{<<"at">> := T} = W <- windows(AtB)],
    [true = is_inside(W, OfA) || W <- windows(AtC)],
    %% With --order time, no clock is corrected, so some causes are wrong.
    {ByTime, _} = events(Logs, ["--order", "time"]),
    {'EXIT', _} = (catch is_the_truth(Config, ByTime)),
    false = is_map_key(<<"clocks">>, summary(Logs, ["--order", "time"])),
    [] = [E || #{<<"moved_ns">> := _} = E <- ByTime],
    %% If the logs are not changed, the clocks of the nodes agree, because all nodes run on this
    %% machine.
    {Same, _} = events(?config(logs, Config), ["--order", "cause"]),
    [] = [E || #{<<"moved_ns">> := _} = E <- Same].

none_is_early(Events) ->
    Times = maps:from_list([{maps:get(<<"id">>, E), maps:get(<<"ts">>, E)} || E <- Events]),
    [true = maps:get(Cause, Times) =< Ts
     || #{<<"cause">> := Cause, <<"ts">> := Ts} <- Events, Cause =/= null].

windows(#{<<"windows">> := [_ | _] = Windows}) -> Windows.

is_inside(#{<<"low_ns">> := Low, <<"high_ns">> := High, <<"estimate_ns">> := E}, Truth) ->
    Low =< Truth andalso Truth =< High andalso Low =< E andalso E =< High.

%% Computes the offset at time T from the anchors before and after it, as
%% readers do.
at(T, [{T0, D0}, {T1, D1} | _]) when T0 =< T, T < T1 ->
    D0 + (D1 - D0) * (T - T0) div (T1 - T0);
at(T, [{T0, D0} | _]) when T < T0 ->
    D0;
at(_, [{_, D}]) ->
    D;
at(T, [_ | More]) ->
    at(T, More).

summary(Logs, Args) ->
    {_, _, Said} = ?LIB:merge(Logs, "json", ["--summary", "json", "-q" | Args]),
    inviso_trace_json:decode(Said).

%% Some events are lost. A cause that is marked as certain must be the true cause. A cause that is
%% marked as uncertain must at least have happened before the event.
lost_events(Config) ->
    {All, _} = events(?config(logs, Config), []),
    Before = happened_before(All),
    [lost_events(Config, PerMille, Before) || PerMille <- [1, 20, 100, 300]].

lost_events(Config, PerMille, {Parents, _} = Before) ->
    Seed = rand:uniform(1 bsl 30),
    Logs = [warp(Config, L, ["0", "0", "0", integer_to_list(PerMille),
                             integer_to_list(Seed + I)])
            || {I, L} <- lists:zip([1, 2, 3], ?config(logs, Config))],
    {Events, Said} = events(Logs, []),
    ct:log("~p of 1000 lost, seed ~p:~n~ts", [PerMille, Seed, Said]),
    in_order(Events),
    ById = maps:from_list([{maps:get(<<"id">>, E), name(E)} || E <- Events]),
    Causes = [{name(E), maps:get(maps:get(<<"cause">>, E), ById, null), E} || E <- Events],
    [] = [{E, P} || {K, P, #{<<"certain">> := true} = E} <- Causes,
                    P =/= maps:get(K, Parents)],
    [] = [{E, P} || {K, P, #{<<"certain">> := false} = E} <- Causes,
                    P =/= null, not before(P, [K], Before, #{})],
    %% An event that has no cause and does not begin a request is an orphan.
    [] = [E || {_, null, E} <- Causes, not is_map_key(<<"orphan">>, E),
               not maps:get(<<"certain">>, E)],
    true = PerMille < 100
        orelse lists:any(fun(E) -> is_map_key(<<"orphan">>, E) end, Events).

%% Returns two maps. The first has the cause of each event, and the second the event before it in
%% the same process.
happened_before(Events) ->
    ById = maps:from_list([{maps:get(<<"id">>, E), name(E)} || E <- Events]),
    {Before, _} =
        lists:foldl(
          fun(#{<<"process">> := P} = E, {Before, Last}) ->
                  {Before#{name(E) => maps:get(P, Last, null)}, Last#{P => name(E)}}
          end, {#{}, #{}}, Events),
    {maps:from_list([{name(E), maps:get(maps:get(<<"cause">>, E), ById, null)}
                     || E <- Events]), Before}.

before(_, [], _, _) ->
    false;
before(What, [K | More], {Parents, Before} = All, Seen) ->
    Next = [N || N <- [maps:get(K, Parents), maps:get(K, Before)],
                 N =/= null, not is_map_key(N, Seen)],
    lists:member(What, Next)
        orelse before(What, Next ++ More, All,
                      lists:foldl(fun(N, S) -> S#{N => seen} end, Seen, Next)).

%% Returns a key for the event. Two events of a process never have the same time.
name(#{<<"process">> := P, <<"ts">> := Ts, <<"payload">> := Payload}) ->
    {P, Ts, Payload}.

a_node_without_a_log(Config) ->
    [A, B, _] = Logs = ?config(logs, Config),
    {All, _} = events(Logs, []),
    {Parents, _} = Before = happened_before(All),
    {Events, Said} = events([A, B], []),
    {match, _} = re:run(Said, "are orphans: .* \\([0-9]+ untraced\\)"),
    in_order(Events),
    ById = maps:from_list([{maps:get(<<"id">>, E), name(E)} || E <- Events]),
    [Same = Same || #{<<"cause">> := C, <<"certain">> := true} = E <- Events,
                    {Same, Same} <- [{maps:get(C, ById, null), maps:get(name(E), Parents)}]],
    [true = before(maps:get(C, ById), [name(E)], Before, #{})
     || #{<<"cause">> := C, <<"certain">> := false} = E <- Events, C =/= null],
    [<<"untraced">>] = lists:usort([O || #{<<"orphan">> := O} <- Events]).

%% With a filter, a cause is the nearest ancestor that is printed.
a_filter_names_ancestors(Config) ->
    [#{<<"node">> := Node} | _] = element(1, events([hd(?config(logs, Config))], [])),
    {All, _} = events(?config(logs, Config), []),
    ById = maps:from_list([{maps:get(<<"id">>, E), E} || E <- All]),
    {Some, _} = events(?config(logs, Config),
                       ["--filter", "[{['_',seq_trace,{print,'_','_','_','_'}],[],[]}]"]),
    true = length(Some) > 10,
    in_order(Some),
    Ids = maps:from_list([{maps:get(<<"id">>, E), shown} || E <- Some]),
    [C = nearest(maps:get(<<"id">>, E), ById, Ids)
     || #{<<"cause">> := C} = E <- Some, is_binary(Node)].

nearest(Id, ById, Ids) ->
    case ById of
        #{Id := #{<<"cause">> := null}} -> null;
        #{Id := #{<<"cause">> := Cause}} when is_map_key(Cause, Ids) -> Cause;
        #{Id := #{<<"cause">> := Cause}} -> nearest(Cause, ById, Ids)
    end.

%%---------------------------------------------------------------------------
%% Views of requests

%% For each request, the messages and prints (hops) in the tree must be those that the program made,
%% in JSON and in text.
trees_are_the_truth(Config) ->
    Logs = ?config(logs, Config),
    Truth = truth(Config),
    {Events, _} = events(Logs, []),
    [begin
         Hops = hops(Logs, N, []),
         {[], N} = {[{K, T, Found} || {K, Found} <- edges(Hops),
                                      T <- [maps:get(K, Truth)],
                                      T =/= Found, {T, Found} =/= {root, first}], N},
         %% The hops of the request contain all events of the request.
         Ids = [I || H <- Hops, Key <- [<<"send_id">>, <<"receive_id">>], #{Key := I} <- [H]],
         Same = lists:sort(Ids),
         Same = [I || #{<<"id">> := I, <<"request">> := R} <- Events, R =:= N],
         is_the_text_of(Hops, text(Logs, N)),
         is_critical(Hops),
         Mine = [E || #{<<"request">> := R} = E <- Events, R =:= N],
         are_clocks_of(Mine, shiviz(Logs, N))
     end || N <- some_requests(Config)].

shiviz(Logs, N) ->
    {_, Bin, _} = ?LIB:merge(Logs, "shiviz", ["--request", integer_to_list(N)]),
    {match, Found} = re:run(Bin, "\n(?<host>\\S*) (?<clock>{.*})",
                            [global, {capture, [host, clock], binary}]),
    [{Host, inviso_trace_json:decode(Clock)} || [Host, Clock] <- Found].

%% Checks that the vector clocks in Written are right for the events. Both lists have the same
%% order.
are_clocks_of(Events, Written) ->
    true = length(Events) =:= length(Written),
    {_, _} =
        lists:foldl(
          fun({#{<<"id">> := Id, <<"cause">> := Cause} = E, {Host, Clock}}, {Now, Sent}) ->
                  Known = case is_kind(E, "'receive'") of
                              true -> joined(maps:get(Host, Now, #{}), maps:get(Cause, Sent));
                              false -> maps:get(Host, Now, #{})
                          end,
                  Clock = Known#{Host => maps:get(Host, Known, 0) + 1},
                  {Now#{Host => Clock}, Sent#{Id => Clock}}
          end, {#{}, #{}}, lists:zip(Events, Written)),
    %% Each process is one host in ShiViz, and each host is one process.
    Pairs = lists:usort([{maps:remove(<<"name">>, P), H}
                         || {#{<<"process">> := P}, {H, _}} <- lists:zip(Events, Written)]),
    true = length(Pairs) =:= length(lists:usort([P || {P, _} <- Pairs])),
    true = length(Pairs) =:= length(lists:usort([H || {_, H} <- Pairs])).

joined(A, B) ->
    maps:fold(fun(K, V, Sum) -> Sum#{K => max(V, maps:get(K, Sum, 0))} end, A, B).

some_requests(Config) ->
    All = length(labels(Config)),
    lists:usort([rand:uniform(All) || _ <- lists:seq(1, inviso_test_lib:soak(8, 100))]).

hops(Logs, N, Args) ->
    {_, Bin, _} = ?LIB:merge(Logs, "json", ["--request", integer_to_list(N) | Args]),
    Lines = [inviso_trace_json:decode(L)
             || L <- binary:split(Bin, <<"\n">>, [global, trim_all])],
    {Hops, [#{<<"processes">> := P, <<"nodes">> := Nodes, <<"messages">> := M,
              <<"duration_ns">> := D, <<"critical_ns">> := C} = Sum]} =
        lists:split(length(Lines) - 1, Lines),
    Processes = lists:usort([maps:remove(<<"name">>, X)
                             || H <- Hops, K <- [<<"from">>, <<"to">>], #{K := X} <- [H]]),
    P = length(Processes),
    Nodes = length(lists:usort([X || #{<<"node">> := X} <- Processes])),
    M = length([H || #{<<"kind">> := <<"message">>} = H <- Hops]),
    true = D >= C andalso C >= 0,
    false = is_map_key(<<"hop">>, Sum),
    Hops.

%% Returns pairs {Event, Cause} that the hops (messages and prints) of a tree contain.
edges(Hops) ->
    ByNumber = maps:from_list([{maps:get(<<"hop">>, H), H} || H <- Hops]),
    lists:append([edges_of(H, ByNumber) || H <- Hops]).

edges_of(#{<<"signal">> := <<"spawn", _/binary>>}, _) ->
    [];
edges_of(#{<<"kind">> := <<"begin">>}, _) ->
    [];
edges_of(#{<<"kind">> := <<"print">>, <<"after">> := A} = H, By) ->
    [{{print, id_of(H)}, turn(A, By)}];
edges_of(#{<<"after">> := A} = H, By) ->
    [{{send, id_of(H)}, turn(A, By)}]
        ++ [{{'receive', id_of(H)}, {send, id_of(H)}} || is_map_key(<<"receive_id">>, H)].

id_of(#{<<"message">> := Text}) ->
    [Id] = match(Text, "{id,([0-9]+)}"),
    {id, binary_to_integer(Id)}.

%% Returns the cause of the events that follow from hop number A. If the hop is a message of a
%% spawn, it has no id, and the function returns the cause of the spawn.
turn(A, By) ->
    case By of
        #{A := #{<<"kind">> := <<"begin">>}} -> root;
        #{A := #{<<"signal">> := <<"spawn", _/binary>>, <<"after">> := B}} -> turn(B, By);
        #{A := H} -> {'receive', id_of(H)}
    end.

text(Logs, N) ->
    {_, Bin, _} = ?LIB:merge(Logs, "text", ["--request", integer_to_list(N)]),
    Bin.

%% Reads the tree in the text, as the text's header explains it. Each hop must have the same parent
%% as in JSON.
is_the_text_of(Hops, Text) ->
    {match, Lines} =
        re:run(Text, "^ *([0-9]+) ([* ])([? ]).{29}"
               "  ((?:│ |  )*(?:├─|└─)?)(…[0-9]+ )?(.*)$",
               [global, multiline, unicode, {capture, all_but_first, binary}]),
    true = length(Hops) =:= length(Lines),
    By = maps:from_list([{maps:get(<<"hop">>, H), H} || H <- Hops]),
    lists:foldl(
      fun([Number, Star, _, Guides, Deep, Rest], Above) ->
              N = binary_to_integer(Number),
              #{N := #{<<"after">> := After, <<"critical">> := Critical} = H} = By,
              Critical = Star =:= <<"*">>,
              Depth = case Deep of
                          <<>> -> string:length(Guides) div 2;
                          _ -> binary_to_integer(hd(match(Deep, "([0-9]+)")))
                      end,
              {N, After} = {N, says_after(Rest, Depth, Above)},
              [{N, Depth, maps:get(<<"to">>, H, none)} | Above]
      end, [], Lines).

says_after(_, 0, []) ->
    null;
says_after(Rest, Depth, Above) ->
    case re:run(Rest, "^[^{]*\\(after ([0-9]+)\\)", [{capture, all_but_first, binary}]) of
        {match, [N]} ->
            binary_to_integer(N);
        nomatch ->
            {value, {_, _, Process}} = lists:search(fun({_, D, _}) -> D < Depth end, Above),
            {value, {N, _, _}} = lists:search(fun({_, _, P}) -> P =:= Process end, Above),
            N
    end.

%% Checks the critical path: it begins at the root, and each hop follows from the previous hop.
is_critical(Hops) ->
    [#{<<"hop">> := 1, <<"after">> := null} | More] =
        lists:sort(fun(#{<<"at_ns">> := A}, #{<<"at_ns">> := B}) -> A =< B end,
                   [H || #{<<"critical">> := true} = H <- Hops]),
    lists:foldl(fun(#{<<"after">> := A, <<"hop">> := N}, A) -> N end, 1, More).

%% The list of requests must have the right numbers for the events of each request.
list_of_requests(Config) ->
    Logs = ?config(logs, Config),
    {Events, _} = events(Logs, []),
    {_, Bin, _} = ?LIB:merge(Logs, "json", ["--requests"]),
    Rows = [inviso_trace_json:decode(L)
            || L <- binary:split(Bin, <<"\n">>, [global, trim_all])],
    true = length(Rows) =:= length(labels(Config)),
    [begin
         Mine = [E || #{<<"request">> := R} = E <- Events, R =:= N],
         #{<<"label">> := L} = hd(Mine),
         Sent = [E || E <- Mine, is_kind(E, "send")],
         Received = [E || E <- Mine, is_kind(E, "'receive'")],
         {M, Left} = {length(Sent), length(Sent) - length(Received)},
         Times = [T || #{<<"ts">> := T} <- Mine],
         Ts = lists:min(Times),
         D = lists:max(Times) - Ts
     end || #{<<"request">> := N, <<"label">> := L, <<"messages">> := M,
              <<"not_received">> := Left, <<"ts">> := Ts, <<"duration_ns">> := D,
              <<"orphans">> := 0, <<"lost">> := 0} <- lists:sublist(Rows, 30)],
    {_, Text, _} = ?LIB:merge(Logs, "text", ["--requests"]),
    {match, Lines} = re:run(Text, "^ *[0-9]+ 2[0-9-]+ [0-9:.]+ ", [global, multiline]),
    true = length(Lines) =:= length(Rows),
    %% If the memory is small, merge lists requests before it has read the whole log. If such a
    %% request has later events, the output says so.
    {_, Small, _} = ?LIB:merge(Logs, "json", ["--requests", "--request-memory", "64k"]),
    true = length(binary:matches(Small, <<"{\"request\":">>)) =:= length(Rows).

is_kind(#{<<"payload">> := [P]}, Kind) ->
    lists:prefix("{" ++ Kind ++ ",", binary_to_list(P)).

%% Uncertain hops are marked. If a request has more hops than fit into memory, the output says so.
trees_without_some_events(Config) ->
    [A, B, _] = Logs = ?config(logs, Config),
    {Events, _} = events([A, B], []),
    #{<<"request">> := N, <<"id">> := Id} =
        hd([E || #{<<"orphan">> := <<"untraced">>} = E <- Events, is_kind(E, "'receive'")]),
    [#{<<"orphan">> := <<"untraced">>, <<"certain">> := false}] =
        [H || #{<<"receive_id">> := I} = H <- hops([A, B], N, []), I =:= Id],
    {match, _} = re:run(text([A, B], N), "^ *[0-9]+ [* ]\\?.*\\(orphan: untraced\\)",
                        [multiline]),
    {_, _, Said} = ?LIB:merge(Logs, "text", ["--requests"]),
    {match, _} = re:run(Said, "request"),
    {5, _, None} = ?LIB:merge(Logs, "text", ["--request", "99999999"]),
    {match, _} = re:run(None, "there is no request 99999999").

%% If events were lost, a tree shows the remaining events, and marks hops whose
%% cause is unknown.
trees_of_lossy_logs(Config) ->
    Logs = [warp(Config, L, ["0", "0", "0", "150", integer_to_list(rand:uniform(1 bsl 30))])
            || L <- ?config(logs, Config)],
    {Events, _} = events(Logs, []),
    ById = maps:from_list([{maps:get(<<"id">>, E), E} || E <- Events]),
    Largest = lists:sublist(lists:reverse(lists:keysort(1, sizes(Events))), 8),
    [is_said(N, [E || #{<<"request">> := R} = E <- Events, R =:= N], hops(Logs, N, []), ById)
     || {_, N} <- Largest],
    {0, _} = {length([L || L <- Largest, element(1, L) < 2]), Largest},
    %% The formats of diagrams show the whole request, too.
    [{_, <<_, _/binary>>, _} = ?LIB:merge(Logs, Format, [])
     || Format <- ["mermaid", "shiviz", "sequence"]],
    ok.

sizes(Events) ->
    Counts = lists:foldl(fun(#{<<"request">> := R}, M) ->
                                 M#{R => maps:get(R, M, 0) + 1}
                         end, #{}, Events),
    [{Count, R} || {R, Count} <- maps:to_list(Counts)].

is_said(N, Events, Hops, ById) ->
    By = maps:from_list([{maps:get(<<"hop">>, H), H} || H <- Hops]),
    Ids = [I || H <- Hops, Key <- [<<"send_id">>, <<"receive_id">>], #{Key := I} <- [H]],
    {N, Same, Same} = {N, lists:sort(Ids), [I || #{<<"id">> := I} <- Events]},
    [{N, H, true} = {N, H, follows(H, By, ById)} || H <- Hops].

%% Checks the cause of the hop's first event: it must belong to the hop's parent.
follows(#{<<"kind">> := <<"begin">>, <<"after">> := null}, _, _) ->
    true;
follows(#{<<"send_id">> := I, <<"after">> := After} = H, By, ById) ->
    #{I := #{<<"cause">> := Cause}} = ById,
    #{After := Parent} = By,
    #{<<"kind">> := Kind} = Parent,
    received_it(H, I, ById)
        andalso case Cause of
                    null -> Kind =:= <<"begin">>;
                    _ -> is_in_turn(Cause, After, Parent, By)
                end;
follows(#{<<"receive_id">> := I, <<"after">> := After} = H, By, ById) ->
    #{I := #{<<"cause">> := Cause} = E} = ById,
    maps:get(<<"orphan">>, E, none) =:= maps:get(<<"orphan">>, H, none)
        andalso case After of
                    null -> Cause =:= null;
                    _ -> is_in_turn(Cause, After, maps:get(After, By), By)
                end.

received_it(#{<<"receive_id">> := R}, I, ById) ->
    maps:get(<<"cause">>, maps:get(R, ById)) =:= I;
received_it(_, _, _) ->
    true.

%% Checks that the event Cause belongs to the turn that begins with the hop Parent (what the process
%% does until it receives the next message). Cause can be the parent's receive event, or a later
%% event of the same process in this turn. If the parent has no receive event, Cause can be the
%% parent's send event.
is_in_turn(Cause, _, #{<<"receive_id">> := Cause}, _) ->
    true;
is_in_turn(Cause, _, #{<<"send_id">> := Cause} = Parent, _) ->
    not is_map_key(<<"receive_id">>, Parent);
is_in_turn(Cause, After, _, By) ->
    [After] =:= [A || #{<<"send_id">> := I, <<"after">> := A} <- maps:values(By), I =:= Cause].

warp(Config, Log, Args) ->
    element(1, warped(Config, Log, Args)).

%% Returns {Copy, Offsets}. Copy is a copy of the log with another clock. Offsets are pairs: a time,
%% and how many nanoseconds the clock is ahead at this time.
warped(Config, Log, Args) ->
    Out = ?LIB:name(Config, "w.log"),
    Tool = filename:join(filename:dirname(code:which(?MODULE)), "log_warp"),
    {0, Said} = ?LIB:command(Tool, [Log, Out | Args]),
    Numbers = [binary_to_integer(N) || N <- re:split(Said, "\\s+"), N =/= <<>>],
    {Out, pairs(Numbers)}.

pairs([A, B | More]) -> [{A, B} | pairs(More)];
pairs([]) -> [].

%% Runs two random programs at the same time. For some I, their requests have the same label.
%% Returns the labels.
two_programs([First | _] = Nodes, I) ->
    Names = [Name || #{name := Name} <- Nodes],
    [ok = call(N, ?WORK, hire, [?WORKERS]) || N <- Nodes],
    Before = done(Nodes),
    Programs = [case ?WORK:program(10 + rand:uniform(20), Names, ?WORKERS) of
                    [] -> [{print, {id, erlang:unique_integer([positive])}}];
                    P -> [{print, {id, erlang:unique_integer([positive])}} | P]
                end || _ <- [1, 2]],
    %% If two requests with the same label began in the same worker, their events could not be told
    %% apart. So such requests never begin in the same worker here.
    {Starts, Labels} = case I rem 3 of
                           0 -> {[new, new], [I, I]};
                           1 -> {[w1, w2], [{shop, I}, <<"order", I>>]};
                           2 -> {[w1, new], [I, #{I => [I]}]}
                       end,
    [ok = call(N, ?WORK, start, [S, L, ?ALL, P])
     || {N, {S, L}, P} <- lists:zip3([First, lists:last(Nodes)],
                                     lists:zip(Starts, Labels), Programs)],
    Expected = Before + lists:sum([?WORK:actions(P) || P <- Programs]),
    inviso_test_lib:wait_until(fun() -> done(Nodes) =:= Expected end),
    [ok = call(N, ?WORK, settle, [?WORKERS]) || N <- Nodes],
    Labels.

done(Nodes) ->
    lists:sum([case call(N, ets, whereis, [?WORK]) of
                   undefined -> 0;
                   _ -> call(N, ?WORK, done, [])
               end || N <- Nodes]).

%% Checks that a cause is printed before the events that follow from it, and
%% that no id is printed twice.
in_order(Events) ->
    lists:foldl(
      fun(#{<<"id">> := Id, <<"cause">> := Cause} = E, Seen) ->
              Cause =:= null orelse is_map_key(Cause, Seen)
                  orelse error({not_printed_before, E}),
              false = is_map_key(Id, Seen),
              Seen#{Id => E}
      end, #{}, Events).

%% Returns a map from each event, {Kind, Id}, to its cause: {Kind, Id}, root, or orphan. The
%% messages that a spawn sends have no id, and the map leaves them out: an event that follows from
%% such a message gets the cause of the message.
graph(Events) ->
    ById = maps:from_list([{maps:get(<<"id">>, E), E} || E <- Events]),
    maps:from_list([{K, parent(E, ById)} || E <- Events, (K = key(E)) =/= none]).

parent(#{<<"cause">> := null} = E, _) ->
    case E of
        #{<<"orphan">> := _} -> orphan;
        _ -> root
    end;
parent(#{<<"cause">> := Cause}, ById) ->
    #{Cause := E} = ById,
    case key(E) of
        none -> parent(E, ById);
        Key -> Key
    end.

%% The payload of a spawn signal contains the new process's actions, whose ids belong to later
%% events.
key(#{<<"signal">> := <<"spawn", _/binary>>}) ->
    none;
key(#{<<"payload">> := [Payload]}) ->
    [Kind, Id] = match(Payload, "^{'?([a-z]+)'?,.*?{id,([0-9]+)}"),
    {binary_to_atom(Kind), {id, binary_to_integer(Id)}}.

match(Text, Regexp) ->
    {match, Found} = re:run(Text, Regexp, [{capture, all_but_first, binary}]),
    Found.

equal(Truth, Graph) ->
    Begins = maps:from_list([{K, true} || {K, root} <- maps:to_list(Graph)]),
    Wrong = [{K, T, maps:get(K, Graph, missing)}
             || {K, T} <- maps:to_list(Truth),
                not same(T, maps:get(K, Graph, missing), Begins),
                is_map_key(K, Graph) orelse not is_to_the_dead(K, Truth)],
    {[], []} = {Wrong, maps:keys(Graph) -- maps:keys(Truth)}.

%% The VM makes no send event for an answer whose receiver has already ended.
is_to_the_dead({send, Id}, Truth) -> not is_map_key({'receive', Id}, Truth);
is_to_the_dead(_, _) -> false.

%% In a process that has not yet received a message, events follow from the first event of its
%% request.
same(T, T, _) -> true;
same(root, {_, _} = K, Begins) -> is_map_key(K, Begins);
same(_, _, _) -> false.

%%---------------------------------------------------------------------------

start(Config, Names) ->
    Nodes = [inviso_test_lib:start_node(N, ?LIB:dir(Config), ?LIB:node_args())
             || N <- Names],
    [ok = call(N, inviso_tracer, load, [inviso_test_lib:priv()]) || N <- Nodes],
    ok = inviso_test_lib:connect(Nodes),
    Nodes.

stop(Nodes) ->
    [inviso_test_lib:stop_node(N) || N <- Nodes].

record(Config, Node) ->
    Log = ?LIB:name(Config, "x.log"),
    ok = call(Node, ?WORK, record, [Log]),
    Log.

call(Node, M, F, A) ->
    inviso_test_lib:call(Node, M, F, A).

%% Merges the logs. Returns the seq_trace events of the output, and what `inviso merge' wrote to
%% standard error.
events(Logs, Args) ->
    {_, Bin, Said} = ?LIB:merge(Logs, "json", Args),
    Lines = binary:split(Bin, <<"\n">>, [global, trim_all]),
    Items = [inviso_trace_json:decode(L) || L <- Lines],
    {[E || #{<<"tag">> := <<"seq_trace">>} = E <- Items], Said}.
