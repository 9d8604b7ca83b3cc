%% SPDX-License-Identifier: Apache-2.0
%% @doc Requests of sequential traces, in a session.
%%
%% The session's tracer is the system tracer of the node from the session's start to
%% its end. The session's specs begin requests: their match specs set the token of
%% the calling or sending process, with a label of the session's own. No request can
%% begin before the client has said that the sessions of all its nodes have started
%% (`begin' in c_src/abi/control.h), so that no node misses the first messages.
-module(inviso_session_seq).

-export([is_label/1, plans/2, open/3, look/2, check/2, is_over/1, status/1, close/2]).

-export_type([asked/0, seq/0]).

-type asked() :: #{label := 0..16#7ffffff, variable => binary() | none,
                   requests => non_neg_integer(), one_in => pos_integer(),
                   calls => [binary()], reset => boolean()}.
%% label     the label of all tokens that this session sets
%% variable  a variable of the specs, or several with commas between them; the values
%%           name a request and are recorded with its first event
%% requests  how many requests may begin on this node; 0: no limit
%% one_in    N: only one of N events that could begin a request begins a request
%% calls     specs of calls that are recorded in processes that hold a token
%% reset     true: at the end, remove the tokens of all processes of the node

-record(seq, {asked :: asked(),
              counts = {0, 0, 0, 0, false, false} :: tuple(),
              over = false :: boolean(), % true: no further requests begin
              %% true: the patterns make the VM report the ends of calls
              ends = true :: boolean(),
              held = unknown :: unknown | non_neg_integer()}).

-opaque seq() :: #seq{}.

%% How long the search for tokens at the end may take.
-define(SEARCH_MS, 2000).

%% @doc Returns true for a label that a session may use. The largest label is chosen
%% for C nodes, which can send only integers of 28 bits, including the sign.
-spec is_label(term()) -> boolean().
is_label(L) -> is_integer(L) andalso L >= 0 andalso L =< 16#7ffffff.

%% @doc Returns the arguments of inviso_arm:plan/1 for the events that begin
%% requests, and for the calls that are recorded within requests, if there are
%% any.
-spec plans(map(), asked() | off) -> {map(), none | map()}.
plans(Plan, off) ->
    {Plan, none};
plans(Plan, Asked) ->
    Start = #{label => maps:get(label, Asked),
              variable => maps:get(variable, Asked, none)},
    {Plan#{start => Start},
     case maps:get(calls, Asked, []) of
         [] -> none;
         Calls -> Plan#{specs => Calls, start => calls,
                        procs => [<<"all">>], follow => []}
     end}.

%% @doc Makes the session's tracer the system tracer, and returns the tracer that
%% begins requests. Throws `{error, Class, Text}'.
-spec open(asked(), inviso_tracer:tracer(), inviso_tracing:tracing()) ->
          {inviso_tracer:tracer(), seq(), inviso_tracing:tracing()}.
open(#{label := Label} = Asked, {Module, Handle} = Tracer, T) ->
    case inviso_tracer:nif_seq(Handle, Label, maps:get(requests, Asked, 0),
                               maps:get(one_in, Asked, 1), node(),
                               erlang:system_info(process_limit)) of
        Start when is_integer(Start) ->
            case inviso_tracing:claim(Tracer, T) of
                {ok, Claimed} ->
                    {{Module, Start}, #seq{asked = Asked}, Claimed};
                {error, {system_tracer, Other}} ->
                    throw({error, refused, taken(Other)});
                {error, closed} ->
                    closed()
            end;
        false ->
            throw({error, refused, <<"no memory for the processes that begin "
                                     "requests">>});
        closed ->
            closed()
    end.

-spec closed() -> no_return().
closed() ->
    throw({error, failed, <<"the tracer was closed">>}).

taken({inviso_tracer, _}) ->
    <<"this node has a system tracer for sequential traces already: another "
      "session of inviso, see `inviso status'; a node has only one">>;
taken(Other) ->
    text("this node has a system tracer for sequential traces already, ~ts; a "
         "node has only one. seq_trace:set_system_tracer(false) removes it",
         [inviso_arm_foreign:owner(Other)]).

%% @doc Reads the counts of requests. When no more requests may begin, changes the
%% patterns that begin requests. If a process still has a token from a request that
%% it began, the new match specs clear the flags of this token. If calls of a process
%% do not end, as in a loop of tail calls, changes the patterns so that the VM no
%% longer reports the ends of calls.
-spec look(seq() | none, inviso_tracing:tracing()) ->
          {seq() | none, inviso_tracing:tracing()}.
look(#seq{over = false} = Q0, T) ->
    case counted(Q0, T) of
        #seq{counts = {_, _, _, _, true, _}} = Q ->
            {Q#seq{over = true}, over(Q, T)};
        #seq{counts = {_, _, _, _, _, true}, ends = true} = Q ->
            Without = changed(fun(_, MS) -> inviso_ends:without(MS) end, T),
            ok = patterns(none, T),
            {Q#seq{ends = false}, Without};
        Q ->
            {Q, T}
    end;
look(Q, T) ->
    {counted(Q, T), T}.

over(#seq{ends = true}, T) ->
    ok = patterns(done, T),
    changed(fun(local, MS) -> inviso_arm_starts:over(MS);
               (_, _) -> false
            end, T);
over(#seq{ends = false}, T) ->
    inviso_tracing:clear_patterns(T).

%% Sets a pattern again if `Change' returns another match spec for it. If the engine
%% does not answer, the old patterns stay. Even with the old patterns, the tracer
%% begins no more requests than allowed.
changed(Change, T0) ->
    lists:foldl(fun({Kind, What, MS}, T) ->
                        case Change(Kind, MS) of
                            MS -> T;
                            New ->
                                {_, Set} = inviso_tracing:set(Kind, What, New, T),
                                Set
                        end
                end, T0, inviso_tracing:patterns(T0)).

patterns(Mode, T) ->
    case inviso_tracing:system(T) of
        {inviso_tracer, Handle} ->
            _ = inviso_tracer:nif_starts_patterns(Handle, Mode),
            ok;
        none ->
            ok
    end.

counted(none, _) ->
    none;
counted(Q, T) ->
    case inviso_tracing:system(T) of
        {inviso_tracer, Handle} ->
            case inviso_tracer:nif_starts(Handle) of
                closed -> Q;
                Counts -> Q#seq{counts = Counts}
            end;
        none ->
            Q
    end.

%% @doc Returns why the session has to end, or `none'. It has to end if another
%% tracer has become the system tracer, because then its own tracer gets no more
%% events of requests.
%%
%% OTP's specs do not say that a system tracer can be a module.
-dialyzer({no_match, check/2}).
-spec check(seq() | none, inviso_tracing:tracing()) ->
          none | {over, tracer, binary()}.
check(none, _) ->
    none;
check(_, T) ->
    Ours = inviso_tracing:system(T),
    case seq_trace:get_system_tracer() of
        Ours ->
            none;
        false ->
            {over, tracer, <<"another tool has removed this session's system "
                             "tracer, to which sequential traces are reported">>};
        Other ->
            {over, tracer, text("another tool has replaced this session's system "
                                "tracer by ~ts, to which sequential traces are "
                                "now reported", [inviso_arm_foreign:owner(Other)])}
    end.

%% @doc Returns true if no more requests can begin.
-spec is_over(seq() | none) -> boolean().
is_over(none) -> false;
is_over(#seq{over = Over}) -> Over.

%% @doc Returns the part of the session's status that is about requests.
-spec status(seq() | none) -> #{seq => map()}.
status(none) ->
    #{};
status(#seq{asked = Asked, counts = Counts} = Q) ->
    {Begun, Beyond, Remote, Others, _, _} = Counts,
    #{seq => maps:merge(
               #{label => maps:get(label, Asked), begun => Begun,
                 beyond => Beyond, remote => Remote, others => Others},
               maps:from_list([{held, N} || N <- [Q#seq.held], is_integer(N)]))}.

%% @doc Ends the requests. The scope of the session is closed already, so no
%% more tokens are set. Counts the processes that still hold a token.
-spec close(seq() | none, inviso_tracing:tracing()) ->
          {seq() | none, inviso_tracing:tracing()}.
close(none, T) ->
    {none, T};
close(#seq{asked = #{label := Label} = Asked} = Q0, T) ->
    Q = counted(Q0, T),
    Released = inviso_tracing:release(T),
    _ = maps:get(reset, Asked, false) andalso seq_trace:reset_trace(),
    {Q#seq{held = held(Label)}, Released}.

%% Returns how many processes hold a token with the label, or `unknown' if
%% counting takes too long. A separate process counts, because it can be killed.
held(Label) ->
    {Pid, Ref} = spawn_monitor(fun() ->
                                       exit({held, search(processes(), Label, 0)})
                               end),
    receive
        {'DOWN', Ref, process, Pid, {held, N}} -> N;
        {'DOWN', Ref, process, Pid, _} -> unknown
    after ?SEARCH_MS ->
            exit(Pid, kill),
            receive {'DOWN', Ref, process, Pid, _} -> unknown end
    end.

search([], _, N) ->
    N;
search([P | Rest], Label, N) ->
    case process_info(P, sequential_trace_token) of
        {_, {_, Label, _, _, _}} -> search(Rest, Label, N + 1);
        _ -> search(Rest, Label, N)
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
