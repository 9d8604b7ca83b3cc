%% SPDX-License-Identifier: Apache-2.0
%% Runs a workload of inviso_trace_work under OTP's own process tracer, under
%% inviso's tracer, or under both at once in two sessions. Returns the events of
%% each tracer in the same form, so that they can be compared. inviso's tracer
%% writes a log or delivers events.
-module(inviso_trace_run).

-export([one/3, both/3, have_sessions/0]).
-export([collect/1, forward/2]).

%% `flags' are set on the process that runs the workload. `ports' are flags for the ports that this
%% process opens. `patterns' is a list of {send | 'receive' | MFA, MatchSpec}.
-type scenario() ::
        #{work := atom() | {atom(), atom()}, flags := [atom()],
          ports => [atom()], patterns => [{term(), term()}],
          seq => boolean(), who => all}.

%% The events of each tracee, in order, in two forms: `json' has {Tag, Elements} with printed
%% elements, and `classic' has the printed tuples. Process ids are replaced by names for the roles
%% that the workload gives to its processes.
-type seen() :: #{json := #{binary() => [{binary(), [binary()]}]},
                  classic := #{binary() => [binary()]}}.

-define(LIB, inviso_trace_lib).

have_sessions() ->
    code:ensure_loaded(trace) =:= {module, trace}.

%% Runs the workload with one tracer. This works on every release.
-spec one(process | inviso | delivery, scenario(), file:filename()) -> seen().
one(Kind, Scenario, Log) ->
    T = start(Kind, Log),
    W = worker(),
    set(legacy, T, W, Scenario),
    Names = work(W, Scenario, fun() -> clear(T, Scenario) end),
    unset(Scenario),
    seen(T, Names, fun normal/2).

%% Runs the workload once, traced by two trace sessions. Both sessions see the same ids, so no id
%% needs to be replaced.
-spec both(inviso | delivery, scenario(), file:filename()) ->
          {seen(), seen()}.
both(Kind, Scenario, Log) ->
    Tracers = [start(K, Log) || K <- [process, Kind]],
    Sessions = [session(T) || T <- Tracers],
    W = worker(),
    [set({session, S}, T, W, Scenario)
     || {S, T} <- lists:zip(Sessions, Tracers)],
    Names = work(W, Scenario, fun() -> ok end),
    [begin
         Ref = apply(trace, delivered, [S, all]),
         receive {trace_delivered, all, Ref} -> ok end,
         true = apply(trace, session_destroy, [S])
     end || S <- Sessions],
    [Theirs, Ours] = [seen(T, Names, fun(Text, _) -> Text end)
                      || T <- Tracers],
    {Theirs, Ours}.

session({process, Pid}) -> apply(trace, session_create, [theirs, Pid, []]);
session(T) -> apply(trace, session_create, [ours, tracer(T), []]).

start(process, _Log) -> {process, spawn_link(?MODULE, collect, [[]])};
%% Names are not recorded. To learn a process's name, the keeper would ask this process, which would
%% run once more for the answer. A trace with the flag `running' would show that.
start(inviso, Log) -> {inviso, ?LIB:open(Log, #{names => false}), Log};
start(delivery, Log) ->
    {process, Pid} = start(process, Log),
    {ok, Delivery} = inviso_deliver:start(inviso_handler,
                                          {fun ?MODULE:forward/2, Pid},
                                          default),
    {delivery, Delivery, Pid}.

forward(Event, Pid) ->
    Pid ! Event,
    Pid.

collect(Acc) ->
    receive
        {give, From} -> From ! {self(), lists:reverse(Acc)};
        Event -> collect([Event | Acc])
    end.

%%---------------------------------------------------------------------------
%% Setting up

worker() ->
    inviso_trace_roles = ets:new(inviso_trace_roles, [named_table, public]),
    Peer = spawn(inviso_trace_work, echo, []),
    register(inviso_trace_peer, Peer),
    W = ?LIB:worker(),
    inviso_trace_work:role(me, self()),
    inviso_trace_work:role(peer, Peer),
    inviso_trace_work:role(worker, W),
    W.

set(How, T, W, Scenario) ->
    flags(How, T, maps:get(who, Scenario, W), maps:get(flags, Scenario)),
    new_ports(How, T, Scenario, true),
    [pattern(How, P, MS) || {P, MS} <- maps:get(patterns, Scenario, [])],
    [false = seq_trace:set_system_tracer(tracer(T))
     || maps:get(seq, Scenario, false)].

flags(_How, _T, _W, []) -> ok;
flags(legacy, T, W, Flags) -> true = ?LIB:flags(W, tracer(T), Flags) > 0;
flags({session, S}, _T, W, Flags) ->
    1 = apply(trace, process, [S, W, true, Flags]).

tracer({process, Pid}) -> Pid;
tracer({inviso, Tracer, _Log}) -> Tracer;
tracer({delivery, Delivery, _}) -> inviso_deliver:tracer(Delivery).

clear(T, Scenario) ->
    new_ports(legacy, T, Scenario, false),
    [erlang:trace(all, false, [all]) || is_map_key(who, Scenario)].

new_ports(How, T, #{ports := Flags}, On) -> new_ports1(How, T, Flags, On);
new_ports(_How, _T, _Scenario, _On) -> ok.

new_ports1(legacy, T, Flags, On) ->
    ?LIB:flags(new_ports, tracer(T), Flags, On);
new_ports1({session, S}, _T, Flags, On) ->
    apply(trace, port, [S, new, On, Flags]).

pattern(legacy, P, MS) when is_atom(P) ->
    erlang:trace_pattern(P, MS, []);
pattern(legacy, Mfa, MS) ->
    true = erlang:trace_pattern(Mfa, MS, [local]) > 0;
pattern({session, S}, send, MS) -> apply(trace, send, [S, MS, []]);
pattern({session, S}, 'receive', MS) -> apply(trace, recv, [S, MS, []]);
pattern({session, S}, Mfa, MS) ->
    true = apply(trace, function, [S, Mfa, MS, [local]]) > 0.

work(W, #{work := Work}, After) ->
    Peer = whereis(inviso_trace_peer),
    Roles = case Work of
                {_, Flag} -> #{peer => Peer, flag => Flag};
                _ -> #{peer => Peer}
            end,
    Name = case Work of {N, _} -> N; N -> N end,
    ok = ?LIB:run(W, fun() -> inviso_trace_work:Name(Roles) end),
    After(),
    ?LIB:stop(W),
    exit(Peer, kill),
    ?LIB:until(fun() -> whereis(inviso_trace_peer) =:= undefined end),
    Names = maps:from_list([{?LIB:w(Id), name(Role)}
                            || {Id, Role} <- ets:tab2list(inviso_trace_roles)]),
    ets:delete(inviso_trace_roles),
    Names.

name(Role) -> <<"<", (?LIB:w(Role))/binary, ">">>.

unset(Scenario) ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    [case P of
         _ when is_atom(P) -> erlang:trace_pattern(P, true, []);
         _ -> erlang:trace_pattern(P, false, [local])
     end || {P, _} <- maps:get(patterns, Scenario, [])],
    [seq_trace:set_system_tracer(false) || maps:get(seq, Scenario, false)].

%%---------------------------------------------------------------------------
%% The events of a tracer

seen({process, Pid}, Names, Normal) ->
    Pid ! {give, self()},
    Events = receive {Pid, Es} -> Es end,
    #{json => grouped([tuple(E) || E <- Events], Names, Normal),
      classic => grouped([{tracee(E), ?LIB:w(E)} || E <- Events], Names,
                         Normal)};
seen({inviso, Tracer, Log}, Names, Normal) ->
    Stats = ?LIB:close(Tracer),
    Items = ?LIB:events(Log),
    ?LIB:accounted(Stats, Items),
    Lines = ?LIB:lines(Log, "classic"),
    #{json => grouped([json(I) || I <- Items], Names, Normal),
      classic => grouped([{P, classic(L)}
                          || {#{<<"pid">> := P}, L} <- lists:zip(Items,
                                                                 Lines)],
                         Names, Normal)};
seen({delivery, Delivery, Pid}, Names, Normal) ->
    {ok, #{produced := N, delivered := N, dropped := 0, waiting := 0}} =
        inviso_deliver:close(Delivery),
    seen({process, Pid}, Names, Normal).

tracee({seq_trace, _, Info, _Time}) -> tracee({seq_trace, label, Info});
tracee({seq_trace, _, {'receive', _, _, To, _}}) -> ?LIB:w(To);
tracee({seq_trace, _, Info}) -> ?LIB:w(element(3, Info));
tracee(E) -> ?LIB:w(element(2, E)).

tuple({seq_trace, Label, Info, _Time}) -> tuple({seq_trace, Label, Info});
tuple({seq_trace, Label, Info} = E) ->
    {tracee(E), {<<"seq_trace">>, [?LIB:w(Label), ?LIB:w(Info)]}};
tuple(E) ->
    [Kind, _, Tag | Elements] = tuple_to_list(E),
    Untimed = case Kind of
                  trace -> Elements;
                  trace_ts -> lists:droplast(Elements)
              end,
    {tracee(E), {atom_to_binary(Tag), [?LIB:w(X) || X <- Untimed]}}.

json(#{<<"pid">> := P, <<"tag">> := Tag, <<"payload">> := Payload,
       <<"node">> := Node} = I) ->
    Node = atom_to_binary(node()),
    false = is_map_key(<<"truncated">>, I),
    More = [case K of
                <<"scheduler">> -> integer_to_binary(V);
                _ -> V
            end || K <- [<<"result">>, <<"scheduler">>],
                   {ok, V} <- [maps:find(K, I)]],
    Label = [L || {ok, L} <- [maps:find(<<"label">>, I)]],
    {P, {Tag, Label ++ Payload ++ More}}.

%% Returns the term of a line of the classic format: Node PidMappings Term.
classic(Line) ->
    Head = <<(?LIB:w(node()))/binary, " [] ">>,
    Size = byte_size(Head),
    <<Head:Size/binary, Term/binary>> = Line,
    Term.

grouped(Events, Names, Normal) ->
    lists:foldr(fun({P, E}, Acc) ->
                        Who = Normal(P, Names),
                        Acc#{Who => [event(E, Names, Normal)
                                     | maps:get(Who, Acc, [])]}
                end, #{}, Events).

event({Tag, Elements}, Names, Normal) ->
    {Tag, [Normal(X, Names) || X <- Elements]};
event(Text, Names, Normal) ->
    Normal(Text, Names).

%% Replaces ids by their roles. All ids without a role are replaced by the same
%% text.
normal(Text, Names) ->
    iolist_to_binary(
      [case maps:find(Part, Names) of
           {ok, Name} -> Name;
           error ->
               case Part of
                   <<"<", C, _/binary>> when C >= $0, C =< $9 -> <<"<pid>">>;
                   <<"#Port<", _/binary>> -> <<"<port>">>;
                   <<"#Ref<", _/binary>> -> <<"<ref>">>;
                   _ -> Part
               end
       end || Part <- re:split(Text, "(<\\d+\\.\\d+\\.\\d+>|"
                                     "#Port<\\d+\\.\\d+>|#Ref<[\\d.]+>)",
                               [{return, binary}])]).
