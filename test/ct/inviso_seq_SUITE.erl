%% SPDX-License-Identifier: Apache-2.0
%% Tests what the documentation of seq_trace says, with inviso's tracer as the system tracer. Each
%% function, message and section of the documentation has a case that is named after it.
%% inviso_seq_SUITE_data/document.names lists them. inviso_cnode_SUITE tests what the documentation
%% says about C nodes, and inviso_requests_SUITE tests the causal order of several nodes.
-module(inviso_seq_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, groups/0, init_per_suite/1, end_per_suite/1,
         end_per_testcase/2]).
-export([names_of_the_document/1]).
%% cases for the functions in the documentation of seq_trace
-export([set_token_1/1, set_token_2/1, set_token_2_timestamps/1, get_token_0/1,
         get_token_1/1, print_1/1, print_2/1, reset_trace_0/1,
         reset_trace_0_of_others/1, set_system_tracer_1/1,
         get_system_tracer_0/1]).
%% cases for the messages that the documentation describes
-export([message_send/1, message_receive/1, message_print/1]).
%% cases for the sections of the documentation
-export([trace_messages_sent_to_the_system_tracer/1, sequential_tracing/1,
         trace_token/1, serial/1, serial_beyond_27_bits/1,
         performance_considerations/1, ports/1,
         ports_of_several_requests/1, ports_of_another_process/1,
         ports_that_send_lists/1, ports_and_wrong_data/1, distribution/1,
         example_of_use/1]).
%% Called on other nodes.
-export([remote_request/1, remote_start/1, remote_stop/1]).

-import(inviso_seq_lib, [token/2, run/3, traced/2, entries/1, causes/1, json/1]).

-define(LIB, inviso_trace_lib).
-define(ALL, [send, 'receive', print]).
-define(FLAGS, [send, 'receive', print, timestamp, strict_monotonic_timestamp,
                monotonic_timestamp]).

suite() -> [{timetrap, {seconds, 300}}].

all() ->
    [names_of_the_document, {group, functions}, {group, messages}, {group, sections}].

groups() ->
    [{functions, [],
      [set_token_1, set_token_2, set_token_2_timestamps, get_token_0, get_token_1,
       print_1, print_2, reset_trace_0, reset_trace_0_of_others,
       set_system_tracer_1, get_system_tracer_0]},
     {messages, [], [message_send, message_receive, message_print]},
     {sections, [],
      [trace_messages_sent_to_the_system_tracer, sequential_tracing, trace_token,
       serial, serial_beyond_27_bits, performance_considerations, ports, ports_of_several_requests,
       ports_of_another_process, ports_that_send_lists, ports_and_wrong_data,
       distribution, example_of_use]}].

init_per_suite(Config) ->
    ?LIB:config(Config, ["inviso", "inviso_spool", "inviso_tracer.so"]).

end_per_suite(_Config) -> ok.

end_per_testcase(_Case, _Config) ->
    _ = seq_trace:set_system_tracer(false),
    ok.

%% The file document.names lists the functions, messages and sections of the documentation of
%% seq_trace, each with at least one case. The name of the case begins with the name of the
%% function, message or section. Common Test runs each listed case, and each case of this suite is
%% listed.
names_of_the_document(Config) ->
    {ok, Names} = file:consult(filename:join(?config(data_dir, Config),
                                             "document.names")),
    [{Kind, Name, [_ | _], []} =
         {Kind, Name, Cases,
          [C || C <- Cases, not (is_run(C) andalso is_named(Kind, Name, case_of(C)))]}
     || {Kind, Name, Cases} <- Names],
    Listed = lists:append([Cases || {_, _, Cases} <- Names]),
    [] = Listed -- lists:usort(Listed),
    Here = lists:append([Cases || {_, _, Cases} <- groups()]),
    [] = Here -- Listed,
    %% The file has exactly the functions that seq_trace exports in this release.
    Exports = [atom_to_list(F) ++ "/" ++ integer_to_list(A)
               || {F, A} <- seq_trace:module_info(exports), F =/= module_info],
    {Same, Same} = {lists:sort(Exports),
                    lists:sort([Name || {function, Name, _} <- Names])}.

case_of({_Suite, Case}) -> Case;
case_of(Case) -> Case.

is_run({Suite, Case}) ->
    {module, Suite} = code:ensure_loaded(Suite),
    lists:member(Case, Suite:all()) andalso erlang:function_exported(Suite, Case, 1);
is_run(Case) ->
    [] =/= [G || {G, _, Cases} <- groups(), lists:member({group, G}, all()),
                 lists:member(Case, Cases)]
        andalso erlang:function_exported(?MODULE, Case, 1).

%% Returns true if the case has the right name: print/2 has the case print_2, {print, ...} has
%% message_print, and "Trace Token" has trace_token.
is_named(message, Name, Case) ->
    {match, [Kind]} = re:run(Name, "^{'?([a-z]+)", [{capture, [1], list}]),
    lists:prefix("message_" ++ Kind, atom_to_list(Case));
is_named(_, Name, Case) ->
    Words = re:replace(string:lowercase(Name), "[ /]", "_", [global, {return, list}]),
    lists:prefix(Words, atom_to_list(Case)).

%%---------------------------------------------------------------------------
%% Functions

%% "set_token/1 can be used to temporarily exclude message passing from the trace by
%% setting the trace token to empty".
set_token_1(Config) ->
    P = run(Config, fun() ->
                            token(17, ?ALL),
                            seq_trace:print(before),
                            OldToken = seq_trace:set_token([]),
                            self() ! excluded,
                            seq_trace:print(excluded),
                            receive excluded -> ok end,
                            _ = seq_trace:set_token(OldToken),
                            OldToken = seq_trace:get_token(),
                            seq_trace:print(later)
                    end,
            fun(P) -> [{17, {print, {0, 1}, P, [], before}},
                       {17, {print, {0, 2}, P, [], later}}]
            end),
    true = is_pid(P).

%% "Returns the previous value of the component."
set_token_2(Config) ->
    run(Config, fun() ->
                        0 = seq_trace:set_token(label, 17),
                        {0, 0} = seq_trace:set_token(serial, {3, 9}),
                        _ = [false = seq_trace:set_token(Flag, true)
                             || Flag <- ?ALL],
                        self() ! message,
                        receive message -> ok end,
                        seq_trace:print(note),
                        true = seq_trace:set_token(send, false),
                        self() ! unseen,
                        receive unseen -> ok end,
                        true = seq_trace:set_token('receive', false),
                        self() ! unseen,
                        receive unseen -> ok end,
                        true = seq_trace:set_token(print, false),
                        seq_trace:print(unseen),
                        17 = seq_trace:set_token(label, {other, label}),
                        false = seq_trace:set_token(print, true),
                        seq_trace:print(last)
                end,
        fun(P) -> [{17, {send, {3, 10}, P, P, message}},
                   {17, {'receive', {3, 10}, P, P, message}},
                   {17, {print, {10, 11}, P, [], note}},
                   {17, {'receive', {10, 12}, P, P, unseen}},
                   {{other, label}, {print, {13, 15}, P, [], last}}]
        end).

%% "If multiple timestamp flags are passed, timestamp has precedence over
%% strict_monotonic_timestamp which in turn has precedence over monotonic_timestamp.
%% All timestamp flags are remembered".
set_token_2_timestamps(Config) ->
    {_, Events} =
        traced(Config,
               fun() ->
                       token(17, [print]),
                       seq_trace:print(none),
                       seq_trace:set_token(monotonic_timestamp, true),
                       seq_trace:print(monotonic),
                       seq_trace:set_token(strict_monotonic_timestamp, true),
                       seq_trace:print(strict),
                       seq_trace:set_token(timestamp, true),
                       seq_trace:print(timestamp),
                       seq_trace:set_token(timestamp, false),
                       seq_trace:print(strict),
                       seq_trace:set_token(strict_monotonic_timestamp, false),
                       seq_trace:print(monotonic)
               end),
    Kinds = [none, monotonic, strict, timestamp, strict, monotonic],
    Kinds = [Info || E <- Events, {print, _, _, _, Info} <- [element(3, E)]],
    Kinds = [kind(E) || E <- Events],
    %% All monotonic times come from the same clock, so they are close to each other.
    Mono = [T || {_, _, _, T} <- Events, is_integer(T)]
        ++ [T || {_, _, _, {T, _}} <- Events],
    2 = length(lists:usort([T div 1000000000000000 || T <- Mono])) + 1.

kind({seq_trace, 17, _}) -> none;
kind({seq_trace, 17, _, T}) when is_integer(T) -> monotonic;
kind({seq_trace, 17, _, {T, N}}) when is_integer(T), is_integer(N) -> strict;
kind({seq_trace, 17, _, {M, S, U}})
  when is_integer(M), S < 1000000, U < 1000000 -> timestamp.

%% "If [] is returned, it means that tracing is not active. The value returned can be
%% used as input to the set_token/1 function."
get_token_0(Config) ->
    run(Config, fun() ->
                        [] = seq_trace:get_token(),
                        token(17, ?ALL),
                        Token = seq_trace:get_token(),
                        true = is_tuple(Token),
                        _ = seq_trace:set_token([]),
                        [] = seq_trace:get_token(),
                        _ = seq_trace:set_token(Token),
                        Token = seq_trace:get_token(),
                        seq_trace:print(same)
                end,
        fun(P) -> [{17, {print, {0, 1}, P, [], same}}] end).

%% "Returns the value of the trace token component".
get_token_1(Config) ->
    run(Config, fun() ->
                        _ = [[] = seq_trace:get_token(C) || C <- [label, serial]],
                        _ = [{F, false} = seq_trace:get_token(F) || F <- ?FLAGS],
                        token(17, ?ALL),
                        {label, 17} = seq_trace:get_token(label),
                        {serial, {0, 0}} = seq_trace:get_token(serial),
                        _ = [{F, true} = seq_trace:get_token(F) || F <- ?ALL],
                        _ = [{F, false} = seq_trace:get_token(F)
                             || F <- ?FLAGS -- ?ALL],
                        seq_trace:print(one),
                        {serial, {0, 1}} = seq_trace:get_token(serial)
                end,
        fun(P) -> [{17, {print, {0, 1}, P, [], one}}] end).

%% "if the calling process currently is executing within a sequential trace and the
%% print flag of the trace token is set". The VM increases the serial also without
%% the flag.
print_1(Config) ->
    run(Config, fun() ->
                        seq_trace:print("no token"),
                        token(17, [send]),
                        seq_trace:print("no flag"),
                        seq_trace:set_token(print, true),
                        seq_trace:print("text"),
                        seq_trace:print(#{a => [<<1>>, 2.5, self()]})
                end,
        fun(P) -> [{17, {print, {0, 2}, P, [], "text"}},
                   {17, {print, {0, 3}, P, [], #{a => [<<1>>, 2.5, P]}}}]
        end).

%% "TraceInfo is output only if Label is equal to the label component of the trace
%% token."
print_2(Config) ->
    run(Config, fun() ->
                        token(17, [print]),
                        seq_trace:print(18, other),
                        seq_trace:print(17, same),
                        seq_trace:set_token(label, {a, "label"}),
                        seq_trace:print(17, other),
                        seq_trace:print({a, "label"}, same)
                end,
        fun(P) -> [{17, {print, {0, 1}, P, [], same}},
                   {{a, "label"}, {print, {0, 2}, P, [], same}}]
        end).

%% "Sets the trace token to empty for all processes on the local node. The process
%% internal counters used to create the serial of the trace token is set to 0. The
%% trace token is set to empty for all messages in message queues."
reset_trace_0(Config) ->
    run(Config, fun() ->
                        token(17, ?ALL),
                        seq_trace:print(before),
                        self() ! queued,
                        true = seq_trace:reset_trace(),
                        [] = seq_trace:get_token(),
                        receive queued -> ok end,
                        [] = seq_trace:get_token(),
                        seq_trace:print(nothing),
                        token(18, ?ALL),
                        seq_trace:print(again)
                end,
        fun(P) -> [{17, {print, {0, 1}, P, [], before}},
                   {17, {send, {0, 2}, P, P, queued}},
                   {18, {print, {0, 1}, P, [], again}}]
        end).

%% The same test as in reset_trace_0, but for another process, and for the messages in its queue.
reset_trace_0_of_others(Config) ->
    Work = fun(Self) ->
                   receive first -> ok end,
                   {label, 17} = seq_trace:get_token(label),
                   _ = [seq_trace:print(N) || N <- [1, 2]],
                   Self ! ready,
                   until_reset(),
                   receive queued -> ok end,
                   [] = seq_trace:get_token(),
                   token(18, [print]),
                   seq_trace:print(again)
           end,
    {Q, Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       {Q, Ref} = spawn_monitor(fun() -> Work(Self) end),
                       token(17, [print]),
                       Q ! first,
                       receive ready -> ok end,
                       Q ! queued,
                       true = seq_trace:reset_trace(),
                       receive {'DOWN', Ref, _, _, normal} -> Q end
               end),
    [{17, {print, {1, 2}, Q, [], 1}}, {17, {print, {1, 3}, Q, [], 2}},
     {18, {print, {0, 1}, Q, [], again}}] = [{L, I} || {seq_trace, L, I} <- Events].

%% Waits for the reset without receiving a message, because a received message would change the
%% token.
until_reset() ->
    case seq_trace:get_token() of
        [] -> ok;
        _ -> timer:sleep(1), until_reset()
    end.

%% "The system tracer can be either a process, port or tracer module. Returns the previous value".
%% "Failure: {badarg, Info}} if Pid is not an existing local pid." (In fact the error is badarg.)
set_system_tracer_1(Config) ->
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    Process = spawn(fun() -> receive stop -> ok end end),
    Port = open_port({spawn, "cat"}, []),
    false = seq_trace:set_system_tracer(Tracer),
    Tracer = seq_trace:set_system_tracer(Process),
    Process = seq_trace:set_system_tracer(Port),
    Port = seq_trace:set_system_tracer(Tracer),
    {Dead, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    {'EXIT', {badarg, _}} = (catch seq_trace:set_system_tracer(Dead)),
    Tracer = seq_trace:get_system_tracer(),
    Process ! stop,
    port_close(Port),
    #{recorded := 0} = ?LIB:close(Tracer),
    %% After the tracer is closed it cannot be set again.
    {'EXIT', _} = (catch seq_trace:set_system_tracer(Tracer)),
    ok.

%% "Returns the pid, port identifier or tracer module of the current system tracer or
%% false if no system tracer is activated." After a tracer was closed, the function returns false.
get_system_tracer_0(Config) ->
    false = seq_trace:get_system_tracer(),
    Tracer = ?LIB:open(?LIB:name(Config, "x.log"), #{}),
    false = seq_trace:set_system_tracer(Tracer),
    Tracer = seq_trace:get_system_tracer(),
    _ = ?LIB:close(Tracer),
    inviso_test_lib:wait_until(
      fun() -> seq_trace:get_system_tracer() =:= false end).

%%---------------------------------------------------------------------------
%% Messages. The token has only the flag of the message that the case tests.

%% "{send, Serial, From, To, Message}"
message_send(Config) -> message(Config, send).

%% "{'receive', Serial, From, To, Message}"
message_receive(Config) -> message(Config, 'receive').

%% "{print, Serial, From, _, Info}"
message_print(Config) -> message(Config, print).

message(Config, Flag) ->
    {{P, Q}, Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       Q = spawn(fun() ->
                                         receive M -> seq_trace:print({seen, M}) end,
                                         Self ! [M]
                                 end),
                       token(17, [Flag]),
                       Q ! #{text => "a"},
                       receive [#{text := "a"}] -> {Self, Q} end
               end),
    There = {{0, 1}, P, Q, #{text => "a"}},
    Back = {{1, 3}, Q, P, [#{text => "a"}]},
    Expected = case Flag of
                   print -> [{print, {1, 2}, Q, [], {seen, #{text => "a"}}}];
                   _ -> [{Flag, Serial, From, To, M} || {Serial, From, To, M} <- [There, Back]]
               end,
    Expected = [Info || {seq_trace, 17, Info} <- Events].

%%---------------------------------------------------------------------------
%% Sections

%% "{seq_trace, Label, SeqTraceInfo, TimeStamp} or {seq_trace, Label, SeqTraceInfo}",
%% with {send, Serial, From, To, Message}, {'receive', Serial, From, To, Message} and
%% {print, Serial, From, _, Info}.
trace_messages_sent_to_the_system_tracer(Config) ->
    {{P, Q}, Events} =
        traced(Config,
               fun() ->
                       Q = spawn(fun() -> receive {From, M} -> From ! {got, M} end end),
                       token(17, ?ALL),
                       seq_trace:print({note, 1}),
                       Q ! {self(), "hello"},
                       receive {got, "hello"} -> ok end,
                       seq_trace:set_token(timestamp, true),
                       seq_trace:print({note, 2}),
                       self() ! last,
                       receive last -> ok end,
                       {self(), Q}
               end),
    {Without, With} = lists:split(5, Events),
    [{seq_trace, 17, {print, {0, 1}, P, [], {note, 1}}},
     {seq_trace, 17, {send, {0, 2}, P, Q, {P, "hello"}}},
     {seq_trace, 17, {'receive', {0, 2}, P, Q, {P, "hello"}}},
     {seq_trace, 17, {send, {2, 3}, Q, P, {got, "hello"}}},
     {seq_trace, 17, {'receive', {2, 3}, Q, P, {got, "hello"}}}] = Without,
    [{seq_trace, 17, {print, {3, 4}, P, [], {note, 2}}, {M, S, U}},
     {seq_trace, 17, {send, {3, 5}, P, P, last}, {_, _, _}},
     {seq_trace, 17, {'receive', {3, 5}, P, P, last}, {_, _, _}}] = With,
    true = is_integer(M) andalso is_integer(S) andalso is_integer(U).

%% "The trace token is passed invisibly with each message." "The trace token of a
%% process is set each time the process matches a message in a receive statement,
%% according to the trace token carried by the received message, empty or not."
sequential_tracing(Config) ->
    {[P, Q, R, Plain], Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       R = spawn(fun() -> relay(Self) end),
                       Q = spawn(fun() -> relay(R) end),
                       Plain = spawn(fun() -> relay(Self) end),
                       Plain ! untraced,
                       token(17, ?ALL),
                       Q ! traced,
                       receive traced -> ok end,
                       {label, 17} = seq_trace:get_token(label),
                       receive untraced -> ok end,
                       [] = seq_trace:get_token(),
                       [Self, Q, R, Plain]
               end),
    [] = [E || E <- Events, lists:member(Plain, tuple_to_list(element(3, E)))],
    [{send, {0, 1}, P, Q, traced}, {'receive', {0, 1}, P, Q, traced},
     {send, {1, 2}, Q, R, traced}, {'receive', {1, 2}, Q, R, traced},
     {send, {2, 3}, R, P, traced}, {'receive', {2, 3}, R, P, traced}] =
        [Info || {seq_trace, 17, Info} <- Events].

relay(To) ->
    receive M -> To ! M end.

%% "Initially, the token is empty." "The current token of a process is set: explicitly
%% by the process itself; when a message is received. In particular, if the token of a
%% received message is empty, the current token of the process is set to empty." "Both
%% the label and the flags are set in both alternatives above."
trace_token(Config) ->
    {_, Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       Q = spawn(fun() ->
                                         Tokens = [begin
                                                       receive {N, _} -> ok end,
                                                       {seq_trace:get_token(label),
                                                        seq_trace:get_token(print)}
                                                   end || N <- [1, 2, 3]],
                                         seq_trace:set_token([]),
                                         Self ! {tokens, Tokens}
                                 end),
                       [] = seq_trace:get_token(),
                       token(17, [print]),
                       Q ! {1, a},
                       token(18, ['receive']),
                       Q ! {2, b},
                       seq_trace:set_token([]),
                       Q ! {3, c},
                       receive
                           {tokens, Tokens} ->
                               [{{label, 17}, {print, true}},
                                {{label, 18}, {print, false}}, {[], {print, false}}] = Tokens
                       end
               end),
    [{seq_trace, 18, {'receive', {0, 2}, _, _, {2, b}}}] = Events.

%% "The algorithm for updating Serial". Runs random programs of four processes, and compares their
%% serials with the two counters of each process that the documentation describes.
serial(Config) ->
    ok = inviso_test_lib:seed(?FUNCTION_NAME),
    Names = [a, b, c, d],
    Script = [{a, print, 0} | script(200, Names, [])],
    {Pids, Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       Pids = maps:from_list(
                                [{N, spawn(fun() -> player(N, Script, Self) end)}
                                 || N <- Names]),
                       _ = [P ! {pids, Pids} || P <- maps:values(Pids)],
                       _ = [receive {P, done} -> ok end || P <- maps:values(Pids)],
                       Pids
               end),
    Expected = model(Script, maps:from_list([{N, {0, 0, none}} || N <- Names]), #{}),
    ct:log("~p", [Script]),
    _ = [begin
             Want = [named(E, Pids) || {N, E} <- Expected, N =:= Name],
             Got = [Info || {seq_trace, 17, Info} <- Events, owner(Info) =:= P],
             {Name, Want} = {Name, Got}
         end || {Name, P} <- maps:to_list(Pids)],
    true = length(Expected) > 100.

%% "The counter can reach its limit (27 bits)." Today the VM's limit is higher: inviso records
%% serials of more than 27 bits, and derives the order of events from them.
serial_beyond_27_bits(Config) ->
    Max = 1 bsl 27 - 1,
    run(Config, fun() ->
                        token(17, ?ALL),
                        _ = seq_trace:set_token(serial, {Max - 1, Max - 1}),
                        seq_trace:print(last),
                        self() ! message,
                        receive message -> ok end,
                        seq_trace:print(beyond)
                end,
        fun(P) -> [{17, {print, {Max - 1, Max}, P, [], last}},
                   {17, {send, {Max - 1, Max + 1}, P, P, message}},
                   {17, {'receive', {Max - 1, Max + 1}, P, P, message}},
                   {17, {print, {Max + 1, Max + 2}, P, [], beyond}}]
        end),
    %% The first event has serial Max and follows from an event with serial Max - 1, which is not in
    %% the log. So its cause is not certain.
    [{null, false}, {1, false}, {2, true}, {3, true}] =
        [{C, Certain} || #{<<"cause">> := C, <<"certain">> := Certain} <- causes(Config)].

%% Returns random actions of all processes, in one possible order: a message is sent before it is
%% received. Each process begins with a token.
script(0, _, Queued) ->
    [{To, recv, Id} || {To, Id} <- Queued];
script(N, Names, Queued) ->
    P = lists:nth(rand:uniform(length(Names)), Names),
    case {rand:uniform(5), Queued} of
        {1, _} ->
            [{P, print, N} | script(N - 1, Names, Queued)];
        {K, [{To, Id} | More]} when K < 4 ->
            [{To, recv, Id} | script(N - 1, Names, More)];
        _ ->
            To = lists:nth(rand:uniform(length(Names)), Names),
            [{P, {send, To}, N} | script(N - 1, Names, Queued ++ [{To, N}])]
    end.

player(Name, Script, Starter) ->
    receive {pids, Pids} -> ok end,
    token(17, ?ALL),
    _ = [case What of
             print -> seq_trace:print(Id);
             recv -> receive {message, Id} -> ok end;
             {send, To} -> maps:get(To, Pids) ! {message, Id}
         end || {N, What, Id} <- Script, N =:= Name],
    seq_trace:set_token([]),
    Starter ! {self(), done}.

%% Returns the events that the actions make by the algorithm in the documentation. The state of a
%% process is {prev_cnt, curr_cnt, _}.
model([], _, _) ->
    [];
model([{P, recv, Id} | Script], State, Sent) ->
    #{P := {_, Curr, _}} = State,
    #{Id := {TPrev, TCurr, From}} = Sent,
    New = {TCurr, max(Curr, TCurr), none},
    [{P, {'receive', {TPrev, TCurr}, From, P, {message, Id}}}
     | model(Script, State#{P := New}, Sent)];
model([{P, What, Id} | Script], State, Sent) ->
    #{P := {Prev, Curr0, _}} = State,
    Curr = Curr0 + 1,
    Event = case What of
                print -> {print, {Prev, Curr}, P, [], Id};
                {send, To} -> {send, {Prev, Curr}, P, To, {message, Id}}
            end,
    [{P, Event} | model(Script, State#{P := {Prev, Curr, none}},
                        Sent#{Id => {Prev, Curr, P}})].

named({Kind, Serial, From, To, M}, Pids) ->
    {Kind, Serial, maps:get(From, Pids), maps:get(To, Pids, To), M}.

owner({'receive', _, _, To, _}) -> To;
owner({_, _, From, _, _}) -> From.

%% "When tracing is activated, there is an extra cost for each traced message, but all
%% other messages are unaffected." The costs are measured by `make bench'.
performance_considerations(Config) ->
    {_, Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       Echo = spawn(fun() -> echo(1000) end),
                       Holder = spawn(fun() ->
                                              token(17, ?ALL),
                                              seq_trace:print(held),
                                              Self ! {held, seq_trace:set_token([])},
                                              receive stop -> ok end
                                      end),
                       receive {held, _} -> ok end,
                       _ = [begin
                                Echo ! {self(), N},
                                receive {Echo, N} -> ok end
                            end || N <- lists:seq(1, 1000)],
                       Holder ! stop
               end),
    [{seq_trace, 17, {print, {0, 1}, _, [], held}}] = Events.

echo(0) -> ok;
echo(N) -> receive {From, M} -> From ! {self(), M} end, echo(N - 1).

%% "Sequential tracing is not performed across ports." "The port controlling processes
%% have to check the appropriate sequential trace settings and include trace
%% information in the message data sent to their respective ports. Similarly, for
%% messages received from a port, a port controller has to retrieve trace-specific
%% information, and set appropriate sequential trace flags".
ports(Config) ->
    {[Client, Server, Port], Events} =
        traced(Config,
               fun() ->
                       Server = controller(self()),
                       receive {Server, Port} -> ok end,
                       token(17, ?ALL),
                       Server ! {self(), <<"question">>},
                       Data = receive {Server, D} -> D end,
                       <<"question">> = Data,
                       {label, 17} = seq_trace:get_token(label),
                       [self(), Server, Port]
               end),
    [{send, {0, 1}, Client, Server, _}, {'receive', {0, 1}, Client, Server, _},
     {send, {1, ToPort}, Server, Port, {Server, {command, _}}},
     {send, {1, Answer}, Server, Client, {Server, <<"question">>}},
     {'receive', {1, Answer}, Server, Client, {Server, <<"question">>}}] =
        [Info || {seq_trace, 17, Info} <- Events],
    true = ToPort < Answer,
    %% Both messages of the server follow from the message that it received.
    [{null, true}, {1, true}, {2, true}, {2, true}, {4, true}] =
        [{C, Certain} || #{<<"cause">> := C, <<"certain">> := Certain} <- causes(Config)].

%% Starts a process that controls a port. The port's program sends back what it gets.
controller(Client) ->
    spawn(fun() ->
                  Port = open_port({spawn, "cat"}, [{packet, 4}, binary]),
                  Client ! {self(), Port},
                  control(Port, [])
          end).

control(Port, Clients) ->
    receive
        {Port, {data, Data}} ->
            [Client | More] = Clients,
            Client ! {self(), inviso_seq:from_port(Data)},
            control(Port, More);
        {Client, Data} ->
            Port ! {self(), {command, inviso_seq:to_port(Data)}},
            control(Port, Clients ++ [Client])
    end.

%% The controller sends several requests to the port before the first answer comes. Each answer has
%% the label of its request, and its cause is the message with this request. No serial is used
%% twice.
ports_of_several_requests(Config) ->
    Labels = [{order, 1}, none, "two", {order, 3}, {order, 1}],
    {Server, Events} =
        traced(Config,
               fun() ->
                       Server = controller(self()),
                       receive {Server, _} -> ok end,
                       Clients = [spawn_monitor(fun() -> client(Server, L) end)
                                  || L <- Labels],
                       _ = [receive {'DOWN', Ref, _, _, normal} -> ok end
                            || {_, Ref} <- Clients],
                       Server
               end),
    Sent = [{Cur, Label} || {seq_trace, Label, {send, {_, Cur}, From, _, _}} <- Events,
                            From =:= Server],
    8 = length(Sent),
    8 = length(lists:usort([Cur || {Cur, _} <- Sent])),
    %% The controller sends each answer to the client that sent the request.
    Questions = [{Label, Cur, Client}
                 || {seq_trace, Label, {'receive', {_, Cur}, Client, P, _}} <- Events,
                    P =:= Server],
    Answers = [{Label, Prev, Client}
               || {seq_trace, Label, {send, {Prev, _}, P, Client, _}} <- Events,
                  P =:= Server, is_pid(Client)],
    4 = length(Answers),
    Same = lists:sort(Questions),
    Same = lists:sort(Answers).

client(Server, Label) ->
    _ = Label =:= none orelse token(Label, ?ALL),
    Server ! {self(), term_to_binary(Label)},
    receive
        {Server, Answer} ->
            Label = binary_to_term(Answer),
            case {Label, seq_trace:get_token(label)} of
                {none, []} -> ok;
                {Label, {label, Label}} -> ok
            end
    end.

%% The process that gets the port's answer is not the process that sent the data.
ports_of_another_process(Config) ->
    {[P, Q], Events} =
        traced(Config,
               fun() ->
                       Self = self(),
                       token(17, ?ALL),
                       seq_trace:print(asked),
                       Data = iolist_to_binary(inviso_seq:to_port("data")),
                       _ = seq_trace:set_token([]),
                       Q = spawn(fun() ->
                                         <<"data">> = inviso_seq:from_port(Data),
                                         seq_trace:print(answered),
                                         seq_trace:set_token([]),
                                         Self ! done
                                 end),
                       receive done -> ok end,
                       [Self, Q]
               end),
    [{print, {0, 1}, P, [], asked}, {print, {Prev, Cur}, Q, [], answered}] =
        [Info || {seq_trace, 17, Info} <- Events],
    true = Prev > 0 andalso Prev < Cur,
    %% A message from a port makes no event. So the answer begins a request of its own, whose cause
    %% is marked as not certain.
    [#{<<"request">> := 1, <<"certain">> := true},
     #{<<"request">> := 2, <<"cause">> := null, <<"certain">> := false}] =
        causes(Config).

ports_that_send_lists(Config) ->
    run(Config, fun() ->
                        token(17, ?ALL),
                        Port = open_port({spawn, "cat"}, [{packet, 2}]),
                        true = port_command(Port, inviso_seq:to_port("data")),
                        _ = seq_trace:set_token([]),
                        receive
                            {Port, {data, Data}} ->
                                "data" = inviso_seq:from_port(Data)
                        end,
                        {label, 17} = seq_trace:get_token(label),
                        _ = [{F, true} = seq_trace:get_token(F) || F <- ?ALL],
                        %% If the data have no token, from_port/1 sets the process's token to empty.
                        [0, 0, 0, 0, $x] = inviso_seq:from_port("\0\0\0\0\0\0\0\0x"),
                        [] = seq_trace:get_token(),
                        <<0:32>> = iolist_to_binary(inviso_seq:to_port([]))
                end,
        fun(_) -> [] end).

ports_and_wrong_data(Config) ->
    run(Config, fun() ->
                        token(17, ?ALL),
                        Pid = self(),
                        Wrong = [<<>>, <<0>>, <<1:32>>, <<9:32, "too short">>, atom,
                                 [a], [1 | 2], "\x{3b1}",
                                 info({Pid, {64, l, {0, 1}}}),
                                 info({Pid, {-1, l, {0, 1}}}),
                                 info({Pid, {1, l, {0, 1 bsl 64}}}),
                                 info({Pid, {1, l, {-1, 1}}}), info({Pid, none}),
                                 info(none), info({a, {1, l, {0, 1}}}),
                                 %% The data name an atom that the node does not know.
                                 <<12:32, 131, 100, 0, 8, "no_such_">>],
                        _ = [{W, badarg, true} = {W, R, is_explained(R, S)}
                             || W <- Wrong, {R, S} <- [from_port(W)]],
                        {label, 17} = seq_trace:get_token(label)
                end,
        fun(_) -> [] end).

info(Term) ->
    Bin = term_to_binary(Term),
    <<(byte_size(Bin)):32, Bin/binary, "data">>.

from_port(Data) ->
    try inviso_seq:from_port(Data) of
        Value -> {returned, Value}
    catch
        error:Reason:Stack -> {Reason, Stack}
    end.

is_explained(Reason, [{inviso_seq, from_port, [_], Info} | _] = Stack) ->
    #{module := M} = proplists:get_value(error_info, Info),
    #{1 := Text} = M:format_error(Reason, Stack),
    string:find(Text, "to_port/1") =/= nomatch.

%% "Sequential tracing between nodes is performed transparently." "To get the whole
%% picture, the output from the system tracer on each involved node must be merged
%% (offline)."
distribution(Config) ->
    Nodes = [A, #{name := NameB} = B] =
        [inviso_test_lib:start_node(N, ?LIB:dir(Config), ?LIB:node_args())
         || N <- [seqa, seqb]],
    Call = fun(N, F, X) -> inviso_test_lib:call(N, ?MODULE, F, [X]) end,
    ok = inviso_test_lib:connect(Nodes),
    _ = [ok = inviso_test_lib:call(N, inviso_tracer, load, [inviso_test_lib:priv()])
         || N <- Nodes],
    Logs = [Call(N, remote_start, ?LIB:name(Config, "x.log")) || N <- Nodes],
    answered = Call(A, remote_request, NameB),
    _ = [#{dropped := 0} = Call(N, remote_stop, L) || {N, L} <- lists:zip(Nodes, Logs)],
    _ = [inviso_test_lib:stop_node(N) || N <- [A, B]],
    Events = json(Logs),
    [<<"{shop,[1]}">>] = lists:usort([L || #{<<"label">> := L} <- Events]),
    Found = [{I, Cause, kind_of(E)} || #{<<"id">> := I, <<"cause">> := Cause} = E <- Events],
    [{1, null, <<"send">>}, {2, 1, <<"receive">>}, {3, 2, <<"print">>},
     {4, 2, <<"send">>}, {5, 4, <<"receive">>}] = Found,
    [true] = lists:usort([C || #{<<"certain">> := C} <- Events]),
    [_, _] = lists:usort([N || #{<<"node">> := N} <- Events]).

kind_of(#{<<"payload">> := [Payload]}) ->
    {match, [Kind]} = re:run(Payload, "^{'?([a-z]+)", [{capture, [1], binary}]),
    Kind.

%% Opens the log in a process that closes the log when it gets a `stop' message.
remote_start(Log) ->
    Self = self(),
    spawn(fun() ->
                  {ok, Tracer} = inviso_tracer:open(Log, #{}),
                  ok = inviso_seq:start(Tracer),
                  true = register(seq_server, spawn(fun() -> seq_server() end)),
                  Self ! started,
                  receive
                      {stop, From} ->
                          ok = inviso_seq:stop(Tracer),
                          From ! inviso_tracer:close(Tracer)
                  end
          end),
    receive started -> ok end,
    Log.

remote_stop(_) ->
    {_, Handle} = seq_trace:get_system_tracer(),
    Keeper = inviso_tracer:nif_keeper(Handle),
    true = is_pid(Keeper),
    [Owner] = [P || P <- processes(), {monitored_by, By} <- [process_info(P, monitored_by)],
                    lists:member(Keeper, By), P =/= Keeper,
                    {links, []} =:= process_info(P, links)],
    Owner ! {stop, self()},
    receive {ok, Stats} -> Stats end.

remote_request(Node) ->
    Self = self(),
    spawn(fun() ->
                  inviso_seq:label({shop, [1]},
                                   fun() ->
                                           {seq_server, Node} ! {self(), question},
                                           receive answer -> ok end
                                   end),
                  Self ! answered
          end),
    receive answered -> answered end.

seq_server() ->
    receive
        {From, question} ->
            seq_trace:print("at work"),
            From ! answer
    end.

%% Runs the example of the documentation twice: with the system tracer of the example, and with
%% inviso's tracer. The printed text must be the same.
example_of_use(Config) ->
    Source = filename:join(?config(data_dir, Config), "seqex.erl"),
    {ok, seqex, Beam} = compile:file(Source, [binary]),
    {module, seqex} = code:load_binary(seqex, Source, Beam),
    Document = ["17:<0.30.0> Info {0,1} WITH",
                "\"**** Trace Started ****\"",
                "17:<0.31.0> Received {0,2} FROM <0.30.0> WITH",
                "{<0.30.0>,the_message}",
                "17:<0.31.0> Info {2,3} WITH",
                "\"We are here now\"",
                "17:<0.30.0> Received {2,4} FROM <0.31.0> WITH",
                "{ack,{received,the_message}}"],
    %% test/0 starts the system tracer of the documentation.
    {Theirs, _} = printed(fun() -> seqex:test(), whereis(call_server) end, 8, Document),
    Theirs = Document,
    %% From here on the test does what test/0 does, but starts inviso's tracer instead.
    Log = ?LIB:name(Config, "x.log"),
    Tracer = ?LIB:open(Log, #{}),
    ok = inviso_seq:start(Tracer),
    P = spawn(seqex, loop, [port]),
    S = spawn(seqex, loop, []),
    true = register(call_server, S),
    P ! {port, message},
    inviso_test_lib:wait_until(
      fun() -> maps:get(produced, inviso_tracer:info(Tracer)) =:= 4 end),
    ok = inviso_seq:stop(Tracer),
    #{recorded := 4, dropped := 0} = ?LIB:close(Tracer),
    exit(P, kill),
    exit(S, kill),
    Print = fun() ->
                    _ = [seqex:print_trace(Label, Info, false)
                         || {seq_trace, Label, Info} <- entries(Log)],
                    S
            end,
    {Ours, _} = printed(Print, 8, Document),
    Ours = Document,
    %% The text format of `inviso merge' shows the same four events, with different words.
    Lines = [as_in_the_document(L, P, S) || L <- text(Log)],
    ["seq_trace 17 print {0,1} <0.30.0> to [] \"**** Trace Started ****\"",
     "seq_trace 17 'receive' {0,2} <0.30.0> to <0.31.0> {<0.30.0>,the_message}",
     "seq_trace 17 print {2,3} <0.31.0> to [] \"We are here now\"",
     "seq_trace 17 'receive' {2,4} <0.31.0> to <0.30.0> {ack,{received,the_message}}"] =
        Lines.

%% Runs Fun, which returns the pid of call_server. Collects the output of Fun and of the processes
%% that Fun starts. Returns the lines of the output in a form that can be compared with the
%% documentation, and the output itself.
printed(Fun, N, Document) ->
    Self = self(),
    Leader = spawn_link(fun() -> collect([], N, Self) end),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       group_leader(Leader, self()),
                                       exit({returned, Fun()})
                               end),
    Server = receive {'DOWN', Ref, process, Pid, {returned, S}} -> S end,
    Text = receive {Leader, Chars} -> Chars end,
    %% The first line begins with the pid of the client.
    {match, [Client]} = re:run(Text, "^17:(<[0-9.]+>)", [{capture, [1], list}]),
    Lines = [as_in_the_document(L, Client, Server)
             || L <- string:lexemes(Text, "\n")],
    _ = seq_trace:set_system_tracer(false),
    _ = [exit(Q, kill) || Q <- [Server, list_to_pid(Client)], is_process_alive(Q)],
    inviso_test_lib:wait_until(fun() -> whereis(call_server) =:= undefined end),
    ct:log("~ts", [Text]),
    N = length(Document),
    {Lines, Text}.

%% An I/O server that handles only output.
collect(Text, N, To) ->
    case length(string:lexemes(lists:flatten(Text), "\n")) of
        N when hd(Text) =/= [] ->
            To ! {self(), lists:flatten(Text)},
            collect_on();
        _ ->
            receive
                {io_request, From, As, {put_chars, unicode, M, F, A}} ->
                    From ! {io_reply, As, ok},
                    collect(Text ++ [apply(M, F, A)], N, To);
                {io_request, From, As, {put_chars, unicode, Chars}} ->
                    From ! {io_reply, As, ok},
                    collect(Text ++ [unicode:characters_to_list(Chars)], N, To)
            end
    end.

collect_on() ->
    receive
        {io_request, From, As, _} -> From ! {io_reply, As, ok}, collect_on()
    end.

as_in_the_document(Line, Client, Server) ->
    [ClientText, ServerText] = [case P of
                                    _ when is_pid(P) -> pid_to_list(P);
                                    _ -> P
                                end || P <- [Client, Server]],
    lists:foldl(fun({From, To}, L) ->
                        lists:flatten(string:replace(L, From, To, all))
                end, Line, [{ClientText, "<0.30.0>"}, {ServerText, "<0.31.0>"}]).

%% Returns the lines of the default format, without times and node.
text(Log) ->
    [begin
         {match, [Rest]} = re:run(L, "(seq_trace .*)$", [{capture, [1], list}]),
         Rest
     end || L <- ?LIB:lines(Log, "text"), re:run(L, "seq_trace ") =/= nomatch].
