%% SPDX-License-Identifier: Apache-2.0
%% @doc Checks a timeline of `inviso merge --format perfetto' as its reader would read it:
%% everything that has a number is defined before it is used, each end of a slice has a begin on the
%% same track, and each flow has two ends, the first before the second.
-module(inviso_perfetto).

-export([read/1, counts/1]).

-export_type([timeline/0]).

-type event() :: map().
-type timeline() :: #{events := [event()], tracks := map()}.

%% @doc Returns the events with their names, in the order of their times, and the tracks. Fails if
%% the trace is invalid.
-spec read(binary()) -> timeline().
read(Bin) ->
    Top = inviso_proto:fields(Bin),
    [] = [Field || {Field, _} <- Top, Field =/= 1],
    Packets = [inviso_proto:fields(P) || {1, P} <- Top],
    {_, Tracks, Events} =
        lists:foldl(fun packet/2, {none, #{}, []}, Packets),
    [clock(P) || P <- Packets, lists:keymember(6, 1, P)],
    %% keysort/2 is stable, so events at the same time keep their order.
    Sorted = lists:keysort(1, lists:reverse(Events)),
    parents(Tracks),
    %% The trace describes the track of each event, before or after the event.
    [#{} = maps:get(T, Tracks) || {_, #{track := T}} <- Sorted],
    slices(Sorted),
    flows(Sorted),
    #{events => [E#{ts => Ts} || {Ts, E} <- Sorted], tracks => Tracks}.

%% Checks a snapshot of the clocks: both clocks must have the same time in it.
clock(Packet) ->
    Snapshot = inviso_proto:fields(inviso_proto:one(6, Packet)),
    [[{1, 6}, {2, T}], [{1, 1}, {2, T}]] =
        [inviso_proto:fields(C) || C <- inviso_proto:all(1, Snapshot)],
    6 = inviso_proto:one(2, Snapshot).

packet(Packet, {Names0, Tracks, Events}) ->
    1 = inviso_proto:one(10, Packet),
    Flags = inviso_proto:one(13, Packet, 0),
    Names1 = case Flags of
                 1 -> #{};
                 _ -> Names0
             end,
    %% If the packet needs names, the packet that first defines names must come before it.
    true = Flags =/= 2 orelse is_map(Names1),
    Names = interned(inviso_proto:one(12, Packet, <<>>), Names1),
    case {inviso_proto:one(60, Packet, none),
          inviso_proto:one(11, Packet, none)} of
        {none, none} ->
            {Names, Tracks, Events};
        {Track, none} ->
            {Names, track(inviso_proto:fields(Track), Tracks), Events};
        {none, Event} ->
            2 = Flags,
            Ts = inviso_proto:one(8, Packet),
            {Names, Tracks,
             [{Ts, event(inviso_proto:fields(Event), Names)} | Events]}
    end.

%% Adds the names that a packet defines. A number must not be defined twice, unless a packet has
%% reset all names.
interned(Bin, Names) ->
    lists:foldl(
      fun({Kind, Entry}, Acc) ->
              [{1, N}, {2, Text}] = inviso_proto:fields(Entry),
              true = N > 0,
              utf8(Text),
              false = maps:is_key({Kind, N}, Acc),
              Acc#{{Kind, N} => Text}
      end, Names, inviso_proto:fields(Bin)).

utf8(Text) ->
    Text = unicode:characters_to_binary(Text).

track(Fields, Tracks) ->
    Uuid = inviso_proto:one(1, Fields),
    true = Uuid > 0,
    Name = utf8(inviso_proto:one(2, Fields)),
    Counter = lists:keymember(8, 1, Fields),
    Track = #{name => Name, parent => inviso_proto:one(5, Fields, 0),
              counter => Counter},
    case Tracks of
        #{Uuid := #{counter := Was}} when Was =/= Counter ->
            error({track, Uuid});
        _ -> Tracks#{Uuid => Track}
    end.

%% Checks that each track leads, by its parents, to a track without a parent.
parents(Tracks) ->
    [top(Uuid, Tracks, 10) || Uuid <- maps:keys(Tracks)].

top(0, _, _) -> ok;
top(Uuid, Tracks, N) when N > 0 ->
    #{Uuid := #{parent := Parent}} = Tracks,
    top(Parent, Tracks, N - 1).

event(Fields, Names) ->
    Text = fun(Kind, N) -> maps:get({Kind, N}, Names) end,
    Categories = [Text(1, N) || N <- inviso_proto:all(3, Fields)]
        ++ inviso_proto:all(22, Fields),
    Name = case {inviso_proto:one(10, Fields, 0),
                 inviso_proto:one(23, Fields, none)} of
               {0, none} -> none;
               {0, T} -> utf8(T);
               {N, none} -> Text(2, N)
           end,
    Type = lists:nth(inviso_proto:one(9, Fields),
                     ['begin', 'end', instant, counter]),
    Notes = maps:from_list([note(inviso_proto:fields(A), Names)
                            || A <- inviso_proto:all(4, Fields)]),
    #{type => Type, track => inviso_proto:one(11, Fields), name => Name,
      categories => Categories, notes => Notes,
      value => inviso_proto:one(30, Fields, none),
      flows => inviso_proto:all(47, Fields),
      ends => inviso_proto:all(48, Fields),
      correlation => inviso_proto:one(52, Fields, none)}.

note(Fields, Names) ->
    {maps:get({3, inviso_proto:one(1, Fields)}, Names), value(Fields)}.

value(Fields) ->
    case lists:keydelete(1, 1, Fields) of
        [{2, Bool}] -> lists:nth(Bool + 1, [false, true]);
        [{3, N}] -> N;
        [{6, Text}] -> utf8(Text);
        [{12, _} | _] = Array -> [value(inviso_proto:fields(V)) || {12, V} <- Array]
    end.

%% Checks that each end of a slice has a begin on the same track. Slices may stay without an end.
slices(Events) ->
    lists:foldl(
      fun({_, #{type := 'begin', track := T, name := Name}}, Open) ->
              true = is_binary(Name),
              maps:update_with(T, fun(N) -> N + 1 end, 1, Open);
         ({_, #{type := 'end', track := T} = E}, Open) ->
              case Open of
                  #{T := N} when N > 0 -> Open#{T := N - 1};
                  _ -> error({end_without_begin, E})
              end;
         (_, Open) ->
              Open
      end, #{}, Events).

%% Checks that each arrow that ends has begun before, and that no arrow begins again before it ends.
flows(Events) ->
    lists:foldl(
      fun({_, #{flows := Begin, ends := End}}, Open) ->
              Rest = lists:foldl(fun(F, O) -> #{F := true} = O, maps:remove(F, O) end,
                                 Open, End),
              lists:foldl(fun(F, O) -> false = is_map_key(F, O), O#{F => true} end,
                          Rest, Begin)
      end, #{}, Events).

%% @doc Returns how many events of each tag the timeline shows, and under `lost' how many events it
%% shows as lost.
-spec counts(timeline()) -> #{binary() => pos_integer()}.
counts(#{events := Events}) ->
    lists:foldl(
      fun(#{type := 'end', notes := #{<<"end">> := Tag}}, Acc) -> add(Tag, 1, Acc);
         (#{categories := [<<"lost">>], notes := #{<<"lost">> := N}}, Acc) ->
              add(<<"lost">>, N, Acc);
         (#{categories := [Tag]}, Acc) -> add(Tag, 1, Acc);
         (#{categories := []}, Acc) -> Acc
      end, #{}, Events).

%% The log has no events for these two ends of slices.
add(<<"process exited">>, _, Acc) -> Acc;
add(<<"forgotten">>, _, Acc) -> Acc;
add(Tag, N, Acc) ->
    maps:update_with(Tag, fun(M) -> M + N end, N, Acc).
