#!/usr/bin/env escript
%%% Checks the requests that `inviso seq' has recorded on a cluster, for
%%% tools/matrix-mixed.sh. Each request is a checkout of test/ct/inviso_seq_work.erl,
%%% which passes three nodes.
%%%
%%%   check-requests.escript BEAMS events FILE N NODE NODE NODE
%%%       FILE, JSON of `inviso merge', has N checkouts that begin on the first node
%%%   check-requests.escript BEAMS clocks FILE NODE=AHEAD...
%%%       the true offsets are in the intervals of FILE, a summary of `inviso merge';
%%%       the clock of NODE is AHEAD ns ahead
%%%
%%% BEAMS has inviso_trace_json.beam. Exit status: 0 all is right; otherwise an
%%% error says what is not.

main([Beams, What, File | Args]) ->
    true = code:add_patha(Beams),
    {ok, Text} = file:read_file(File),
    Lines = binary:split(Text, <<"\n">>, [global, trim_all]),
    check(What, [inviso_trace_json:decode(L) || L <- Lines], Args).

check("events", Events, [N | Names]) ->
    Nodes = [list_to_binary(Name) || Name <- Names],
    Requests = lists:usort([R || #{<<"request">> := R} <- Events]),
    {requests, true, Requests} =
        {requests, length(Requests) =:= list_to_integer(N), Requests},
    [is_checkout([E || #{<<"request">> := R} = E <- Events, R =:= Request], Nodes)
     || Request <- Requests];
check("clocks", [#{<<"clocks">> := #{<<"nodes">> := Nodes}}], Args) ->
    Ahead = maps:from_list([ahead(string:split(Arg, "=")) || Arg <- Args]),
    {nodes, true, Nodes} = {nodes, length(Nodes) =:= map_size(Ahead), Nodes},
    %% One node's clock is the reference; the clocks of all other nodes are compared with it.
    {[_], [_ | _]} = lists:partition(fun(#{<<"reference">> := R}) -> R =:= null end, Nodes),
    [has_truth(maps:get(Ref, Ahead) - maps:get(Node, Ahead), Of)
     || #{<<"node">> := Node, <<"reference">> := Ref} = Of <- Nodes, Ref =/= null].

ahead([Node, Ns]) -> {list_to_binary(Node), list_to_integer(Ns)}.

%% The true difference must be in the interval of each window. A window is a second of the
%% recording, and there is at least one.
has_truth(Truth, #{<<"windows">> := [_ | _] = Windows} = Of) ->
    [{true, _, _} = {is_integer(Low) andalso is_integer(High)
                     andalso Low =< Truth andalso Truth =< High, Truth, Of}
     || #{<<"low_ns">> := Low, <<"high_ns">> := High} <- Windows].

%% A checkout has nine events. They are in causal order, each has the right event as its
%% cause, and none is earlier than its cause.
is_checkout(Events, [Web, Shop, Stock]) ->
    Expected = [{Web, "send"}, {Shop, "receive"}, {Shop, "send"}, {Stock, "receive"},
                {Stock, "print"}, {Stock, "send"}, {Shop, "receive"}, {Shop, "send"},
                {Web, "receive"}],
    {events, Expected, _} = {events, [{maps:get(<<"node">>, E), what(E)} || E <- Events],
                             Expected},
    [#{<<"id">> := First} | _] = Events,
    Numbers = maps:from_list(lists:zip([I || #{<<"id">> := I} <- Events], lists:seq(1, 9))),
    Causes = [null, 1, 2, 3, 4, 4, 6, 7, 8],
    {causes, Causes} = {causes, [maps:get(C, Numbers, null) || #{<<"cause">> := C} <- Events]},
    {certain, []} = {certain, [E || #{<<"certain">> := false} = E <- Events]},
    Times = maps:from_list([{I, T} || #{<<"id">> := I, <<"ts">> := T} <- Events]),
    {early, []} = {early, [E || #{<<"id">> := I, <<"cause">> := C, <<"ts">> := T} = E
                                    <- Events, I =/= First, T < maps:get(C, Times)]}.

%% Returns the kind of a seq_trace event: send, receive or print. No other event, such as
%% the call that begins a request, has the number of a request.
what(#{<<"tag">> := <<"seq_trace">>, <<"payload">> := [Info | _]}) ->
    {match, [What]} = re:run(Info, "^{'?([a-z]+)", [{capture, [1], list}]),
    What.
