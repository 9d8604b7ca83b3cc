%% SPDX-License-Identifier: Apache-2.0
%% OTP's own process tracer and inviso's tracer get the same events of a
%% workload, with the same payloads and in the same order for each process: for
%% every documented tag and every option.
%%
%% On all releases each tracer traces a run of its own. Pids and other ids differ
%% between runs, so they are replaced by names before the events are compared. If
%% the VM has sessions, both tracers also trace the same run, and no id is
%% replaced. inviso's events are those that `inviso merge' prints, as JSON and in
%% the classic format. In the groups `delivered_...' they are the messages that a
%% handler gets.
-module(inviso_differential_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, groups/0, init_per_suite/1, end_per_suite/1,
         init_per_group/2, end_per_group/2]).
-export([calls/1, calls_with_arity/1, returns/1, results_of_match_specs/1,
         arguments/1, messages/1, match_specs_of_messages/1, timeouts/1,
         processes/1, inherited_flags/1, names/1,
         scheduled/1, exiting/1, collections/1, minor_collections/1,
         max_heap_size/1, ports/1, linked_ports/1, seq_trace_events/1,
         seq_trace_timestamps/1,
         scheduler_ids/1, timestamps/1, cpu_timestamps/1,
         monotonic_timestamps/1, strict_timestamps/1, every_tag_was_met/1]).

-define(WORK, inviso_trace_work).
-define(ALL_CALLS, {?WORK, '_', '_'}).

all() ->
    [{group, in_two_runs}, {group, delivered_in_two_runs} |
     [{group, G} || G <- [at_once, delivered_at_once],
                    inviso_trace_run:have_sessions()]].

suite() -> [{timetrap, {seconds, 600}}].

groups() ->
    Runs = [calls, calls_with_arity, returns, results_of_match_specs,
            arguments, messages, match_specs_of_messages, timeouts,
            processes, inherited_flags, names, scheduled,
            exiting, ports, linked_ports, scheduler_ids],
    Once = [collections, minor_collections, max_heap_size, seq_trace_events,
            seq_trace_timestamps],
    Times = [timestamps, cpu_timestamps, monotonic_timestamps,
             strict_timestamps],
    TwoRuns = Runs ++ Once ++ Times ++ [every_tag_was_met],
    %% In the groups at_once, inviso's tracer and OTP's process tracer trace the same run. Some
    %% cases cannot do this: two sessions with garbage_collection crash the VM, the VM has only one
    %% system tracer for sequential traces, and CPU time can be traced only for all processes.
    AtOnce = Runs ++ (Times -- [cpu_timestamps]),
    [{in_two_runs, [], TwoRuns}, {delivered_in_two_runs, [], TwoRuns},
     {at_once, [], AtOnce}, {delivered_at_once, [], AtOnce}].

init_per_suite(Config) ->
    {module, _} = code:ensure_loaded(?WORK),
    Self = self(),
    spawn(fun() ->
                  inviso_trace_tags = ets:new(inviso_trace_tags,
                                              [named_table, public]),
                  Self ! made,
                  receive stop -> ok end
          end),
    receive made -> ok end,
    inviso_trace_lib:config(Config, ["inviso", "inviso_spool",
                                     "inviso_tracer.so"]).

end_per_suite(_Config) ->
    ets:info(inviso_trace_tags, owner) ! stop,
    ok.

init_per_group(Group, Config) ->
    [{at_once, lists:member(Group, [at_once, delivered_at_once])},
     {ours, case lists:member(Group, [at_once, in_two_runs]) of
                true -> inviso;
                false -> delivery
            end} | Config].

end_per_group(_, _Config) -> ok.

same(Config, Scenario, Tags) ->
    same(Config, Scenario, Tags, fun(_Tag, Events) -> Events end).

%% Compares the events of both tracers. If the tracers traced different runs, first applies the
%% function Loose to the events of each process. Loose keeps only what is the same in every run.
same(Config, Scenario, Tags, Loose) ->
    Both = {Theirs, _} = runs(Config, Scenario),
    note(Theirs, Tags),
    {A, B} = case proplists:get_value(at_once, Config) of
                 true -> Both;
                 false -> loose(Loose, Both)
             end,
    equal(maps:get(json, A), maps:get(json, B)),
    equal(maps:get(classic, A), maps:get(classic, B)).

runs(Config, Scenario) ->
    case proplists:get_value(at_once, Config) of
        true -> inviso_trace_run:both(ours(Config), Scenario, log(Config));
        false -> {one(process, Scenario, Config),
                  one(ours(Config), Scenario, Config)}
    end.

ours(Config) -> proplists:get_value(ours, Config).

%% Stores the tags that occurred, for the case every_tag_was_met. Fails if one
%% of Tags did not occur.
note(#{json := Groups}, Tags) ->
    Seen = lists:usort([T || Es <- maps:values(Groups), {T, _} <- Es]),
    [ets:insert(inviso_trace_tags, {T}) || T <- Seen],
    [] = [atom_to_binary(T) || T <- Tags] -- Seen.

one(Kind, Scenario, Config) ->
    inviso_trace_run:one(Kind, Scenario, log(Config)).

log(Config) ->
    inviso_trace_lib:name(Config, "x.log").

loose(Loose, {A, B}) ->
    Fun = fun(Kind, Groups) ->
                  maps:map(fun(_, Es) -> Loose(Kind, Es) end, Groups)
          end,
    {maps:map(Fun, A), maps:map(Fun, B)}.

equal(Same, Same) -> ok;
equal(Theirs, Ours) ->
    Who = lists:usort(maps:keys(Theirs) ++ maps:keys(Ours)),
    ct:fail({different,
             [{W, {theirs, A -- B}, {ours, B -- A},
               {all, A, B}}
              || W <- Who,
                 A <- [maps:get(W, Theirs, [])], B <- [maps:get(W, Ours, [])],
                 A =/= B]}).

calls(Config) ->
    same(Config, #{work => calls, flags => [call],
                   patterns => [{?ALL_CALLS, true}]}, [call]).

calls_with_arity(Config) ->
    same(Config, #{work => calls, flags => [call, arity],
                   patterns => [{?ALL_CALLS, true}]}, [call]).

returns(Config) ->
    same(Config, #{work => calls, flags => [call, return_to],
                   patterns => [{?ALL_CALLS,
                                 [{'_', [], [{exception_trace}]}]}]},
         [call, return_to, return_from, exception_from]).

results_of_match_specs(Config) ->
    Specs = [[{'_', [], [{message, {{{caller}, hello, [1.5, "x"]}}}]}],
             [{['$1', '_'], [], [{message, '$1'}]},
              {'_', [], [{message, false}]}],
             [{'_', [], [{message, true}]}]],
    [same(Config, #{work => calls, flags => [call, arity],
                    patterns => [{?ALL_CALLS, S}]}, [call]) || S <- Specs].

arguments(Config) ->
    same(Config, #{work => arguments, flags => [call],
                   patterns => [{{?WORK, child, 1},
                                 [{'_', [], [{return_trace}]}]}]},
         [call, return_from]).

messages(Config) ->
    same(Config, #{work => messages, flags => [send, 'receive']},
         [send, 'receive', send_to_non_existing_process]).

match_specs_of_messages(Config) ->
    same(Config, #{work => messages, flags => [send, 'receive'],
                   patterns =>
                       [{send, [{['$1', '_'], [], [{message, {{to, '$1'}}}]}]},
                        {'receive', [{['$1', '$2', '_'], [],
                                      [{message, {{from, '$2'}}}]}]}]},
         [send, 'receive']).

timeouts(Config) ->
    same(Config, #{work => timeouts, flags => ['receive']}, ['receive']).

processes(Config) ->
    same(Config, #{work => processes, flags => [procs, set_on_spawn]},
         [spawn, spawned, exit, link, unlink, getting_linked,
          getting_unlinked]).

inherited_flags(Config) ->
    [same(Config, #{work => spawn_many, flags => [procs, call, Flag],
                    patterns => [{{?WORK, plain, 1}, true}]}, [spawn])
     || Flag <- [set_on_spawn, set_on_first_spawn, set_on_link]],
    same(Config, #{work => linked, flags => [procs, set_on_link]},
         [spawn, link]).

names(Config) ->
    same(Config, #{work => names, flags => [procs]}, [register, unregister]).

%% The number of `in' and `out' events while the traced process waits for work depends on chance. So
%% these events are left out.
scheduled(Config) ->
    same(Config, #{work => scheduled, flags => [running]}, [in, out],
         fun(_, Events) -> [E || E <- Events, not is_at_rest(E)] end).

is_at_rest({_, [Where]}) -> is_at_rest(Where);
is_at_rest(Text) -> string:find(Text, "{inviso_trace_lib,work,0}") =/= nomatch.

%% An exit repeats some events, a different number of times in each run. So
%% repeated events are compared once.
exiting(Config) ->
    same(Config, #{work => exiting, flags => [exiting, set_on_spawn]},
         [in_exiting, out_exiting, out_exited],
         fun(_, Events) -> lists:usort(Events) end).

collections(Config) ->
    same(Config, #{work => collections, flags => [garbage_collection]},
         [gc_major_start, gc_major_end, gc_minor_start, gc_minor_end]).

minor_collections(Config) ->
    same(Config, #{work => minor,
                   flags => [garbage_collection, set_on_spawn]},
         [gc_minor_start, gc_minor_end], fun without_fragments/2).

max_heap_size(Config) ->
    same(Config, #{work => max_heap,
                   flags => [garbage_collection, set_on_spawn]},
         [gc_max_heap_size], fun without_fragments/2).

%% Replaces the value of mbuf_size, which counts the heap fragments of the tracee. It differs,
%% because the VM puts each message for OTP's process tracer into such a fragment, and sends none
%% for inviso's tracer.
without_fragments(Kind, Events) ->
    Without = fun(X) -> re:replace(X, "{mbuf_size,\\d+}", "{mbuf_size,_}",
                                   [{return, binary}])
              end,
    [case Kind of
         json -> {element(1, E), [Without(X) || X <- element(2, E)]};
         classic -> Without(E)
     end || E <- Events].

ports(Config) ->
    same(Config, #{work => ports, flags => [send, 'receive', procs],
                   ports => [ports, send, 'receive', running_ports]},
         [open, closed, link, unlink, getting_linked, getting_unlinked,
          register, unregister, send, 'receive'],
         fun without_turns/2).

linked_ports(Config) ->
    same(Config, #{work => linked_ports, flags => [procs],
                   ports => [ports, running_ports]}, [open, closed],
         fun without_turns/2).

%% Removes what differs between runs: the `in' and `out' events of a port, and
%% the message with which a busy port answers its owner's call.
without_turns(json, Events) ->
    [E || {Tag, Elements} = E <- Events, Tag =/= <<"in">>, Tag =/= <<"out">>,
          not is_answer(Tag, Elements)];
without_turns(classic, Events) ->
    [E || E <- Events,
          re:run(E, "^{trace,[^,]*,(in|out|'receive',{<ref>),") =:= nomatch].

is_answer(<<"receive">>, [<<"{<ref>,", _/binary>>]) -> true;
is_answer(_, _) -> false.

seq_trace_events(Config) ->
    same(Config, #{work => sequence, flags => [], seq => true}, [seq_trace]).

seq_trace_timestamps(Config) ->
    [timed(Config, Flag, #{work => {sequence, Flag}, flags => [], seq => true})
     || Flag <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]].

%% Both tracers must give a scheduler id, but the id differs between runs.
scheduler_ids(Config) ->
    Scenario = #{work => calls,
                 flags => [call, send, 'receive', procs, scheduler_id],
                 patterns => [{?ALL_CALLS,
                               [{'_', [], [{return_trace}]}]}]},
    Max = integer_to_list(erlang:system_info(schedulers)),
    same(Config, Scenario, [call, return_from, 'receive'],
         fun(json, Events) ->
                 [{T, [Id || Id <- [lists:last(Es)], Id >= <<"1">>,
                             Id =< list_to_binary(Max), length(Es) > 1] =/= [],
                   lists:droplast(Es)} || {T, Es} <- Events];
            (classic, Events) ->
                 [re:replace(E, ",[1-" ++ Max ++ "]}$", ",id}",
                             [{return, binary}]) || E <- Events]
         end).

timestamps(Config) -> timed(Config, timestamp).
monotonic_timestamps(Config) -> timed(Config, monotonic_timestamp).
strict_timestamps(Config) -> timed(Config, strict_monotonic_timestamp).

timed(Config, Flag) ->
    timed(Config, Flag, timed_scenario(Flag)).

timed_scenario(Flag) ->
    #{work => calls, flags => [call, 'receive', procs, Flag],
      patterns => [{?ALL_CALLS, [{'_', [], [{return_trace}]}]}]}.

timed(Config, Flag, Scenario) ->
    Before = time_of(Flag),
    {Theirs, Ours} = runs(Config, Scenario),
    After = time_of(Flag),
    timed(Flag, Theirs, Ours, Before, After),
    case proplists:get_value(at_once, Config) of
        true -> close_by(Theirs, Ours);
        false -> ok
    end.

%% CPU time can be traced only for all processes. So both runs use a node that does nothing else.
cpu_timestamps(Config) ->
    Scenario = maps:merge(timed_scenario(cpu_timestamp),
                          #{flags => [call, timestamp, cpu_timestamp],
                            who => all}),
    Peer = inviso_trace_lib:node_start(#{}),
    [Theirs, Ours] = [inviso_trace_lib:call(Peer, inviso_trace_run, one,
                                            [Kind, Scenario, log(Config)])
                      || Kind <- [process, inviso]],
    {Runtime, _} = inviso_trace_lib:call(Peer, erlang, statistics,
                                       [runtime]),
    inviso_trace_lib:node_stop(Peer),
    timed(cpu_timestamp, Theirs, Ours, 0, (Runtime + 1000) * 1000000).

%% Checks that both tracers have the same events, with times of the right form,
%% in order, and within the time of the run.
timed(Flag, #{json := Json, classic := A}, #{json := Json, classic := B},
      Before, After) ->
    Bodies = fun(_, Es) -> [element(1, untimed(E)) || E <- Es] end,
    equal(maps:map(Bodies, A), maps:map(Bodies, B)),
    [begin
         Times = [ns(Flag, element(2, untimed(E))) || E <- Es],
         {Times, Times} = {Times, lists:sort(Times)},
         {_, true} = {{Before, hd(Times)}, Before - 2000000 =< hd(Times)},
         {_, true} = {{lists:last(Times), After},
                      lists:last(Times) =< After + 2000000},
         strict(Flag, Es)
     end || Es <- maps:values(A) ++ maps:values(B)],
    ok;
timed(_Flag, #{json := A}, #{json := B}, _, _) ->
    equal(A, B).

strict(strict_monotonic_timestamp, Es) ->
    Unique = [U || E <- Es, {_, {_, U}} <- [untimed(E)]],
    Unique = lists:usort(Unique);
strict(_, _) ->
    ok.

%% Checks that the times of each event differ by less than 20 ms. Each tracer
%% reads the clock at its own moment.
close_by(#{classic := A}, #{classic := B}) ->
    [{_, true} = {{X, Y}, abs(any_ns(X) - any_ns(Y)) < 20000000}
     || {Who, Es} <- maps:to_list(A),
        {X, Y} <- lists:zip(Es, maps:get(Who, B))].

any_ns(Event) ->
    case untimed(Event) of
        {_, {_, _, _} = T} -> ns(timestamp, T);
        {_, {T, _}} -> T;
        {_, T} -> T
    end.

%% Splits a printed tuple. Returns the text before the last element, and the
%% last element as a term.
untimed(Event) ->
    {match, [Body, Time]} =
        re:run(Event, "^(.*),({\\d+,\\d+,\\d+}|{-?\\d+,-?\\d+}|-?\\d+)}$",
               [{capture, all_but_first, binary}, dotall]),
    {ok, Tokens, _} = erl_scan:string(binary_to_list(Time) ++ "."),
    {ok, Term} = erl_parse:parse_term(Tokens),
    {Body, Term}.

ns(timestamp, {M, S, U}) when S < 1000000, U < 1000000 ->
    ((M * 1000000 + S) * 1000000 + U) * 1000;
ns(cpu_timestamp, {M, S, U}) -> ns(timestamp, {M, S, U});
ns(monotonic_timestamp, T) when is_integer(T) -> T;
ns(strict_monotonic_timestamp, {T, U}) when is_integer(T), is_integer(U) -> T.

time_of(timestamp) -> erlang:system_time(nanosecond);
time_of(_) -> erlang:monotonic_time(nanosecond).

%%---------------------------------------------------------------------------
%% The cases before this one have compared every tag of the manual, and no other tag.

every_tag_was_met(_Config) ->
    Tags = [send, send_to_non_existing_process, 'receive', call, return_to,
            return_from, exception_from, spawn, spawned, exit, link, unlink,
            getting_linked, getting_unlinked, register, unregister, in, out,
            in_exiting, out_exiting, out_exited, gc_minor_start, gc_minor_end,
            gc_major_start, gc_major_end, gc_max_heap_size, open, closed,
            seq_trace],
    Seen = [T || {T} <- ets:tab2list(inviso_trace_tags)],
    Wanted = lists:sort([atom_to_binary(T) || T <- Tags]),
    Wanted = lists:sort(Seen).
