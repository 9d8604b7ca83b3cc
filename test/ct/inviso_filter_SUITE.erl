%% SPDX-License-Identifier: Apache-2.0
%% The filter of a tracer: which events it leaves out, what it counts, and how
%% it is replaced by another filter.
%% The events that the filter records must be those that `inviso merge --filter'
%% selects from a log with all events.
-module(inviso_filter_SUITE).

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1,
         init_per_testcase/2, end_per_testcase/2]).
-export([same_answers_live_and_offline/1, events_of_the_vm_are_left_out/1,
         exchange_is_for_what_comes_after/1, exchange_while_two_flood/1,
         exchange_while_two_are_in_it/1,
         undecided_is_recorded_and_counted/1, long_lists_are_undecided/1,
         deep_constants_are_compared/1,
         bad_filters_say_what_and_where/1, bad_filter_leaves_the_old_one/1,
         closed_tracer_says_so/1, limits_are_of_what_is_recorded/1,
         payload_none_is_filtered_by_all/1, pids_in_text_are_this_nodes/1]).

-define(LIB, inviso_trace_lib).

all() ->
    [same_answers_live_and_offline, events_of_the_vm_are_left_out,
     exchange_is_for_what_comes_after, exchange_while_two_flood,
     exchange_while_two_are_in_it,
     undecided_is_recorded_and_counted, long_lists_are_undecided,
     deep_constants_are_compared,
     bad_filters_say_what_and_where, bad_filter_leaves_the_old_one,
     closed_tracer_says_so, limits_are_of_what_is_recorded,
     payload_none_is_filtered_by_all, pids_in_text_are_this_nodes].

suite() -> [{timetrap, {seconds, 600}}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

init_per_testcase(_Case, Config) ->
    ?LIB:calls({?LIB, probe, '_'}, true),
    Config.

end_per_testcase(_Case, _Config) ->
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    ok.

same_answers_live_and_offline(Config) ->
    Events = by_hand() ++ real_ones(),
    true = length(Events) > 100,
    All = ?LIB:name(Config, "all.log"),
    offered(All, #{}, Events),
    Answers = [compare(Config, All, Filter, Events) || Filter <- filters()],
    %% Most of the filters must match some of the events and leave out others.
    true = length([N || N <- Answers, N > 0, N < length(Events)])
        > length(Answers) div 2.

compare(Config, All, Filter, Events) ->
    Log = ?LIB:name(Config, "live.log"),
    Stats = offered(Log, #{filter => Filter, replace => true}, Events),
    #{undecided := 0, filtered := Left, recorded := N} = Stats,
    {N, _} = {length(Events) - Left, Filter},
    {Status, Bin, _} = ?LIB:merge(All, "json", ["--filter", text(Filter)]),
    Offline = [essence(inviso_trace_json:decode(L)) || L <- lines(Bin)],
    Status = case Offline of
                 [] -> 5;
                 _ -> 0
             end,
    %% `inviso merge --filter' also selects the ends of calls that the filter selects. A tracer that
    %% is not part of a session does not select these ends.
    Live = [essence(I) || I <- ?LIB:events(Log)],
    More = Offline -- Live,
    case lists:all(fun is_end/1, More) andalso Offline -- More of
        Live -> N;
        _ -> error({differ, Filter, Live -- Offline, More})
    end.

is_end(#{<<"tag">> := Tag}) ->
    lists:member(Tag, [<<"return_from">>, <<"exception_from">>]).

%% Passes the events to trace/5 of the tracer, as the VM does. Returns the
%% tracer's counts.
offered(Log, Opts, Events) ->
    {M, S} = Tracer = ?LIB:open(Log, Opts),
    [ok = M:trace(Tag, S, Who, Term, More) || {Tag, Who, Term, More} <- Events],
    ?LIB:close(Tracer).

text(Spec) when is_tuple(hd(Spec)) -> io_lib:format("~0p", [Spec]);
text(Text) -> Text.

lines(Bin) ->
    binary:split(Bin, <<"\n">>, [global, trim_all]).

essence(Item) ->
    maps:with([<<"pid">>, <<"tag">>, <<"payload">>, <<"label">>, <<"result">>],
              Item).

filters() ->
    ["lists:seq(_, N) when N > 9",
     "inviso_trace_lib:probe(N) when N rem 3 == 0; N < 3",
     "inviso_trace_lib:probe/2", "inviso_trace_lib", "no:such/1",
     "inviso_*:pr*/1", "*_lib:p*be(_, {A, A})", "inviso_*:*x*", "li*",
     "*:*e*(N) when N > 4", "lists:s*/2",
     "inviso_trace_lib:probe(_, #{k := V, l := [_ | T]}) when V >= 1.5,"
     " length(T) < 2",
     "inviso_trace_lib:probe(_, {A, A})",
     "inviso_trace_lib:probe(_, T) when {a, 1} == T; T == #{}; T == [x, 1.0]",
     "inviso_trace_lib:probe(_, B) when is_binary(B),"
     " binary_part(B, 0, 2) == <<\"he\">>",
     "[{[_,send,'_',_],[],[]}]",
     "[{[_,send,stop,_],[],[]},{[_,exit,'_'],[],[]}]",
     "[{[_,'receive','$1'],[{is_tuple,'$1'}],[]}]",
     "[{['$1',spawn,'_',{inviso_trace_lib,'_','_'}],[],[]},"
     "{[_,spawned,'$1','_'],[{is_pid,'$1'}],[]}]",
     "[{[_,link,'_'],[],[]},{[_,getting_linked,'_'],[],[]}]",
     "[{[_,register,'$1'],[{'=/=','$1',other}],[]}]",
     "[{[_,in,{'_','$1','_'}],[{'==','$1',work}],[]}]",
     "[{[_,gc_minor_start|'_'],[],[]},{[_,gc_major_end,'_'],[],[]}]",
     "[{[_,gc_minor_end,'$1'],[{is_list,'$1'}],[]}]",
     "[{[_,return_from,{lists,'_','_'},'$1'],[{'>',{length,'$1'},9}],[]}]",
     "[{[_,exception_from,'_',{error,'$1'}],[],[]}]",
     "[{[_,call,{'_',probe,['$1'|'_']}],[],[{message,{'>','$1',5}}]}]",
     "[{[_,call,'_',{result,'$1'}],[{'<','$1',6}],[]}]",
     "[{'_',[{'==',{self},{self}}],[]}]",
     "[{'$1',[{'==',{hd,{tl,'$1'}},call}],[{message,{'=/=','$_',[]}}]}]",
     "[{[_,call,{'_','$1',['$2']}],"
     "[{'==',{{'$1','$2'}},{{probe,{const,4}}}}],[]}]",
     "[{[_,call,{'_','$1',['$2']}],"
     "[{'==',#{'$1' => '$2'},{const,#{probe => 4}}}],[]}]",
     "[{[_,call,{'_','$1',['$2'|'$3']}],[{'==',['$2'|'$3'],[7]}],[]}]",
     "[{[_,call,{'_','_',['$1']}],"
     "[{'>',{'*','$1',2},{const,1180591620717411303424}}],[]}]",
     "[{[_,call,{'_',probe,['$1'|'_']}],[{'==',{'/','$1',4},1.5}],[]}]",
     "[{['$1',seq_trace,{send,'_','_','_','_'}],[{'<','$1',20}],[]}]",
     "[{[_,seq_trace,'_'],[],[{message,{'==',{self},17}}]}]",
     "[{[_,strange_tag,'_'],[],[]}]",
     "[{[_,open,'_','$1'],[{is_atom,'$1'}],[]},{[_,closed,'_'],[],[]}]",
     "[{['$1'|'_'],[{is_port,'$1'}],[]}]",
     [{['_', call, {'_', '_', ['$1']}], [{'>', '$1', 5}], []}],
     [{'_', [], [{message, false}]}],
     [{{'_', call, '_'}, [], []}],
     [{['_', send, self(), '_'], [], []},
      {['$1', send, '_', '_'], [{'==', '$1', self()}], []}],
     [{['_', call, {'_', probe, ['_', '$1']}],
       [{'orelse', {is_function, '$1'}, {is_reference, '$1'}}], []}]].

%% Returns events that the filters distinguish by their arguments, and events with rare tags.
by_hand() ->
    Self = self(),
    Port = hd(erlang:ports()),
    [{call, Self, {?LIB, probe, [N]}, #{}} || N <- lists:seq(0, 12)]
        ++ [{call, Self, {?LIB, probe, [1, A]}, #{}}
            || A <- [#{k => 1.5, l => [1, 2]}, #{k => 1, l => [1]},
                     #{k => 2, l => [1, 2, 3, 4]}, {a, a}, {a, b}, {a, 1},
                     {a, 1.0}, #{}, [x, 1], <<"hello">>, <<"h">>, <<5:3>>,
                     1 bsl 70, 1.5, make_ref(), fun lists:seq/2, Self, Port]]
        ++ [{call, Self, {?LIB, probe, [N]},
             #{match_spec_result => {result, N}}}
            || N <- [5, 6, 7]]
        ++ [{seq_trace, L, {T, {0, 1}, Self, Self, x}, #{}}
            || L <- [17, 42], T <- [send, 'receive', print]]
        ++ [{strange_tag, Self, x, #{}},
            {send, Port, {Self, done}, #{extra => Self}},
            {open, Port, Self, #{extra => spawn}}, {closed, Port, normal, #{}},
            {register, Self, other, #{}}, {gc_minor_start, Self, [], #{}},
            {in, Port, command, #{}}, {exit, Self, {a, "b"}, #{}}].

%% Returns the VM's events for a process that performs actions of each kind.
real_ones() ->
    ?LIB:calls({lists, seq, 2}, [{'_', [], [{exception_trace}]}]),
    Worker = ?LIB:worker(),
    Flags = [call, return_to, send, 'receive', procs, ports, running,
             garbage_collection, set_on_spawn],
    1 = erlang:trace(Worker, true, Flags),
    ok = ?LIB:run(Worker, fun bit_of_everything/0),
    ?LIB:stop(Worker),
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    lists:map(fun event/1, messages()).

bit_of_everything() ->
    ?LIB:flood(1, 20),
    [lists:seq(1, N) || N <- [1, 9, 10, 12]],
    _ = catch lists:seq(1, a),
    self() ! stop,
    receive stop -> ok end,
    register(inviso_filter_worker, self()),
    Child = spawn_link(?LIB, flood, [1, 3]),
    Mon = monitor(process, Child),
    receive {'DOWN', Mon, process, Child, _} -> ok end,
    garbage_collect(),
    Port = open_port({spawn, "true"}, [exit_status]),
    receive {Port, {exit_status, _}} -> ok end,
    unregister(inviso_filter_worker),
    ok.

messages() ->
    receive Message when element(1, Message) =:= trace -> [Message | messages()]
    after 0 -> []
    end.

event({trace, Who, Tag, Term}) -> {Tag, Who, Term, #{}};
event({trace, Who, Tag, Term, Extra}) -> {Tag, Who, Term, #{extra => Extra}}.

events_of_the_vm_are_left_out(Config) ->
    Kept = [{"[{[_,exit,_],[],[]}]", <<"exit">>},
            {"[{[_,gc_major_start,_],[],[]}]", <<"gc_major_start">>},
            {"[{[_,in,'_'],[],[]}]", <<"in">>},
            {"[{[_,send,stop,_],[],[]}]", <<"send">>},
            {"lists:seq(_, N) when N > 10", <<"call">>}],
    ?LIB:calls({lists, seq, 2}, [{'_', [], [{return_trace}]}]),
    [left_out(Config, Filter, Tag) || {Filter, Tag} <- Kept].

left_out(Config, Filter, Tag) ->
    Log = ?LIB:name(Config, "kept.log"),
    Tracer = ?LIB:open(Log, #{filter => Filter, replace => true}),
    Worker = ?LIB:worker(),
    1 = ?LIB:flags(Worker, Tracer, [call, send, 'receive', procs, running,
                                    garbage_collection]),
    ok = ?LIB:run(Worker, fun bit_of_everything/0),
    ?LIB:stop(Worker),
    #{undecided := 0, filtered := Left} = Stats = ?LIB:close(Tracer),
    Events = ?LIB:events(Log),
    ?LIB:accounted(Stats, Events),
    {[Tag], true, Filter} = {lists:usort([T || #{<<"tag">> := T} <- Events]),
                             Left > length(Events), Filter}.

exchange_is_for_what_comes_after(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    Worker = ?LIB:worker(),
    1 = ?LIB:flags(Worker, Tracer, [call]),
    Flood = fun(I) ->
                    ok = ?LIB:run(Worker, fun() -> ?LIB:flood(I, I + 9) end)
            end,
    Flood(10),
    ok = inviso_tracer:filter(Tracer, "inviso_trace_lib:probe(N)"
                              " when N rem 5 == 0"),
    Flood(20),
    ok = inviso_tracer:filter(Tracer, <<"no:such/1">>),
    Flood(30),
    ok = inviso_tracer:filter(Tracer,
                              [{['_', call, {'_', '_', [43]}], [], []}]),
    Flood(40),
    ok = inviso_tracer:filter(Tracer, none),
    Flood(50),
    #{filtered := 27, undecided := 0} = inviso_tracer:info(Tracer),
    #{filtered := 27, produced := 23} = Stats = ?LIB:close(Tracer),
    Events = ?LIB:events(Log),
    ?LIB:accounted(Stats, Events, 23),
    Wanted = lists:seq(10, 19) ++ [20, 25, 43] ++ lists:seq(50, 59),
    Wanted = ?LIB:numbers(Events).

exchange_while_two_flood(Config) ->
    flooded(Config, inviso_test_lib:soak(20, 200), fun fast/1, fun(N) -> ?LIB:flood(N, N + 99) end).

%% This filter is so slow that a thread is nearly always evaluating the old filter when the filter
%% is replaced.
exchange_while_two_are_in_it(Config) ->
    List = lists:seq(1, 2000),
    flooded(Config, inviso_test_lib:soak(6, 24), fun slow/1,
            fun(N) -> [?LIB:probe(I, List) || I <- lists:seq(N, N + 99)] end).

%% Two processes call Flood repeatedly while the filter is replaced at least
%% Times times.
flooded(Config, Times, Filter, Flood) ->
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{filter => Filter(0)}),
    Self = self(),
    Pids = [spawn(fun() ->
                          receive go -> ok end,
                          Self ! {made, self(), flood(Flood, 0)}
                  end) || _ <- [1, 2]],
    [1 = ?LIB:flags(P, Tracer, [call]) || P <- Pids],
    [P ! go || P <- Pids],
    exchanges(Tracer, Times, Filter, 0),
    [P ! stop || P <- Pids],
    Made = lists:sum([receive {made, P, N} -> N end || P <- Pids]),
    #{filtered := Left, produced := Offered, undecided := 0} = Stats =
        ?LIB:close(Tracer),
    {true, true} = {Left > 0, Offered > 0},
    Made = Left + Offered,
    ?LIB:accounted(Stats, ?LIB:items(Log)).

flood(Flood, Made) ->
    receive stop -> Made
    after 0 -> Flood(Made + 1), flood(Flood, Made + 100)
    end.

%% Replaces the filter again and again: at least Times times, and until the tracer has both recorded
%% and left out events.
exchanges(Tracer, Times, Filter, N) ->
    ok = inviso_tracer:filter(Tracer, Filter(N)),
    case inviso_tracer:info(Tracer) of
        #{filtered := Left, produced := Offered}
          when Left > 0, Offered > 0, N >= Times -> ok;
        _ -> exchanges(Tracer, Times, Filter, N + 1)
    end.

fast(N) when N rem 3 =:= 0 ->
    none;
fast(N) when N rem 3 =:= 1 ->
    ["inviso_trace_lib:probe(N) when N rem 7 == ", integer_to_list(N rem 7)];
fast(N) ->
    [{'_', [{'==', {const, {N}}, {{N}}}], [{message, false}]}].

slow(N) ->
    [{['_', call, {'_', '_', ['$1', '$2']}],
      [{'>', {length, '$2'}, I} || I <- [1, 2, 3, 4]]
      ++ [{'==', {{N, '$1'}}, {{{element, 1, {const, {N, "a term"}}}, '$1'}}},
          {'==', {'rem', '$1', 3}, N rem 3}], []}].

%% The tracer cannot evaluate the filter for some of these events: the NIF interface does not give
%% access to the bits of a bitstring, and the NIF does not calculate with more than 64 bits. So the
%% tracer records these events, and counts them as undecided.
undecided_is_recorded_and_counted(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Filter = [{['_', call, {'_', '_', ['_', '$1']}],
               [{'==', {bit_size, '$1'}, 16}], []},
              {['_', call, {'_', '_', ['$1']}],
               [{'>', {'*', '$1', 1 bsl 40}, 0}], []},
              {['_', send, '_', '_'], [{is_seq_trace}], []}],
    Events = [{call, self(), {?LIB, probe, A}, #{}}
              || A <- [[1, <<"ab">>], [1, <<1:3>>], [1, <<"a">>], [1 bsl 40],
                       [-5], [1]]] ++ [{send, self(), x, #{extra => self()}}],
    #{undecided := 3, filtered := 2, recorded := 5} = Stats =
        offered(Log, #{filter => Filter}, Events),
    ?LIB:accounted(Stats, ?LIB:events(Log), 5).

long_lists_are_undecided(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Filter = "inviso_trace_lib:probe(_, L) when length(L) < 5",
    Events = [{call, self(), {?LIB, probe, [1, lists:seq(1, N)]}, #{}}
              || N <- [4, 5, 9000, 20000]],
    #{undecided := 1, filtered := 2, recorded := 2} =
        offered(Log, #{filter => Filter}, Events).

%% Comparing deep terms must not overflow the small stacks of schedulers.
deep_constants_are_compared(Config) ->
    Deep = [fun(X) -> {X} end, fun(X) -> [X] end, fun(X) -> #{X => 1} end],
    _ = [begin
             Log = ?LIB:name(Config, "x.log"),
             Term = lists:foldl(fun(_, T) -> Of(T) end, x, lists:seq(1, 980)),
             Filter = [{['_', call, {'_', '_', ['$1']}],
                        [{'=:=', '$1', {const, Term}}], []}],
             Events = [{call, self(), {?LIB, probe, [A]}, #{}}
                       || A <- [x, 1]],
             #{filtered := 2} = offered(Log, #{filter => Filter}, Events)
         end || Of <- Deep],
    ok.

bad_filters_say_what_and_where(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    [{Bad, true} = {Bad, says(Words, inviso_tracer:open(Log, #{filter => Bad}))}
     || {Bad, Words} <- [{"lists:seq(_, N) when N >", "character 25"},
                         {"[{a}]", "arity 3"}, {[{a}], "arity 3"},
                         {"lists:seq(" ++ [0] ++ ")", "NUL"},
                         {lists:duplicate(70000, $a), "65536 bytes"},
                         {[{'_', [{no_such, 1}], []}], "no_such"}]],
    [{error, {bad_option, filter, Bad, _}} =
         inviso_tracer:open(Log, #{filter => Bad})
     || Bad <- [[], "", <<>>, all, 42, {a}, [a | b], <<255>>]],
    %% If the filter is refused, there is no log.
    {error, enoent} = file:read_file_info(Log).

says(Words, {error, {filter, Text}}) ->
    is_list(string:find(unicode:characters_to_list(Text), Words));
says(_, Other) ->
    Other.

bad_filter_leaves_the_old_one(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    {M, S} = Tracer = ?LIB:open(Log, #{filter => "no:such/1"}),
    {error, {filter, _}} = inviso_tracer:filter(Tracer, "no such"),
    {error, {bad_option, filter, 17, _}} = inviso_tracer:filter(Tracer, 17),
    ok = M:trace(call, S, self(), {?LIB, probe, [1]}, #{}),
    #{filtered := 1, recorded := 0} = ?LIB:close(Tracer).

closed_tracer_says_so(Config) ->
    {M, S} = Tracer = ?LIB:open(?LIB:name(Config, "x.log"),
                                #{filter => "no:such/1"}),
    ?LIB:close(Tracer),
    {error, closed} = inviso_tracer:filter(Tracer, none),
    {error, closed} = inviso_tracer:filter({M, S + 64}, "a:b/1").

limits_are_of_what_is_recorded(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Filter = "inviso_trace_lib:probe(N) when N > 990",
    Tracer = ?LIB:open(Log, #{filter => Filter,
                              limit => #{events => 50}}),
    Worker = ?LIB:worker(),
    1 = ?LIB:flags(Worker, Tracer, [call]),
    ok = ?LIB:run(Worker, fun() -> ?LIB:flood(1, 1000) end),
    #{filtered := 990, recorded := 10, limit_reached := false} =
        ?LIB:close(Tracer).

payload_none_is_filtered_by_all(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Events = [{call, self(), {?LIB, probe, [N]}, #{}} || N <- [1, 2, 3]]
        ++ [{return_from, self(), {?LIB, probe, 1}, #{extra => E}}
            || E <- [ok, not_ok]],
    Filter = [{['_', call, {'_', '_', [2]}], [], []},
              {['_', return_from, '_', ok], [], []}],
    #{filtered := 3, undecided := 0} =
        offered(Log, #{filter => Filter, payload => none}, Events),
    [#{<<"payload">> := [<<"{inviso_trace_lib,probe,1}">>]},
     #{<<"tag">> := <<"return_from">>}] = ?LIB:events(Log).

pids_in_text_are_this_nodes(Config) ->
    Log = ?LIB:name(Config, "x.log"),
    Filter = io_lib:format("[{[~w,call,'_'],[],[]}]", [self()]),
    Other = ?LIB:worker(),
    #{filtered := 1, recorded := 1} =
        offered(Log, #{filter => Filter},
                [{call, P, {?LIB, probe, [1]}, #{}} || P <- [Other, self()]]).
