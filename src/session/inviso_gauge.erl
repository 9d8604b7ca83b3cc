%% SPDX-License-Identifier: Apache-2.0
%% @doc A gauge measures a node for `inviso top': it reads the figures of the
%% node, and of the processes with the highest figures ({@link
%% inviso_gauge_scan}). A gauge traces nothing.
%%
%% A gauge belongs to one client. The gauge answers each request at once. Another
%% process, the scanner, asks the node's processes for their figures. A process
%% answers only when it yields, so the scanner may have to wait, but the gauge never
%% does.
%%
%% A gauge ends if its client asks for that or is silent, if the connection to the
%% client's node is lost, or if the guard ends. c_src/abi/control.h, section 7,
%% specifies requests and answers.
-module(inviso_gauge).

-export([start/1, init/2]).

-type failure() :: {error, usage | failed, binary()}.

-define(MAX_TOP, 200).
-define(MIN_MS, 100).
-define(MAX_MS, 60000).
%% A gauge ends if its client has been silent for SILENT * `every_ms' + SILENT_MS
%% ms.
-define(SILENT, 2).
-define(SILENT_MS, 10000).

-record(gauge, {guard :: reference(),
                node :: node(),
                silence :: pos_integer(),
                scanner :: pid(),
                scan = inviso_gauge_scan:nothing() :: inviso_gauge_scan:scan()}).

%% @doc Starts the gauge of a client.
-spec start(map()) -> {ok, pid()} | failure().
start(#{guard := Guard, client := Client, top := Top, every_ms := Ms})
  when is_pid(Guard), is_pid(Client), is_integer(Top), Top >= 1, Top =< ?MAX_TOP,
       is_integer(Ms), Ms >= ?MIN_MS, Ms =< ?MAX_MS ->
    case whereis(inviso_guard) of
        Guard ->
            {ok, spawn_opt(?MODULE, init,
                           [Guard, #{client => Client, top => Top, every_ms => Ms}],
                           [{priority, high}])};
        _ ->
            {error, failed, <<"its guard has ended: attach again">>}
    end;
start(_) ->
    {error, usage, <<"these are no arguments of a gauge">>}.

%% @private
-spec init(pid(), map()) -> ok.
init(Guard, #{client := Client, top := Top, every_ms := Ms}) ->
    %% With this flag, no trace session on this node traces this process.
    process_flag(sensitive, true),
    _ = seq_trace:set_token([]),
    group_leader(whereis(init), self()),
    ok = inviso_push:stays(worker),
    Node = node(Client),
    case Node =:= node() orelse lists:member(Node, nodes(connected)) of
        true -> monitor_node(Node, true);
        false -> self() ! {nodedown, Node}
    end,
    loop(#gauge{guard = monitor(process, Guard), node = Node,
                silence = inviso_deadline:ms(?SILENT_MS) + ?SILENT * Ms,
                scanner = inviso_gauge_scan:start_link(Top, Ms)}).

%% The scanner is linked to this process and ends with it.
loop(#gauge{guard = Guard, node = Node, scanner = Scanner} = G) ->
    receive
        {'$gen_call', From, Request} ->
            %% A message with a token would make this process part of a
            %% sequential trace.
            _ = seq_trace:set_token([]),
            asked(Request, From, G);
        {Scanner, Scan} ->
            loop(G#gauge{scan = Scan});
        {'DOWN', Guard, process, _, _} ->
            ended(G);
        {nodedown, Node} ->
            ended(G);
        _ ->
            loop(G)
    after G#gauge.silence ->
            ended(G)
    end.

asked(measure, From, G) ->
    inviso_message:reply(From, measured(G)),
    loop(G);
asked(stop, From, G) ->
    ok = ended(G),
    inviso_message:reply(From, ok);
asked(_, From, G) ->
    inviso_message:reply(From, {error, usage, <<"unknown request to a gauge">>}),
    loop(G).

%% The scanner is dead when this function returns, so it no longer runs code of
%% inviso.
ended(#gauge{scanner = Scanner}) ->
    Ref = monitor(process, Scanner),
    unlink(Scanner),
    exit(Scanner, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% Returns the figures that the VM can give without asking all schedulers. The other
%% figures come from the scanner, because a scheduler that is busy with a native
%% function answers late. The client computes the rate of reductions from two
%% answers.
measured(#gauge{scan = #{at := At} = Scan}) ->
    {Reductions, _} = statistics(reductions),
    Now = erlang:monotonic_time(),
    #{now => erlang:convert_time_unit(Now, native, nanosecond),
      uptime_ms => ms(Now - erlang:system_info(start_time)),
      schedulers => erlang:system_info(schedulers_online),
      run_queue => statistics(total_run_queue_lengths_all),
      processes => erlang:system_info(process_count),
      process_limit => erlang:system_info(process_limit),
      ports => erlang:system_info(port_count),
      reductions => Reductions,
      scan => (maps:remove(at, Scan))#{age_ms => age_ms(Now, At)}}.

age_ms(_, none) -> none;
age_ms(Now, At) -> ms(Now - At).

ms(Native) -> erlang:convert_time_unit(Native, native, millisecond).
