%% SPDX-License-Identifier: Apache-2.0
%% Reads the heads of a log's packets, independently of the C reader, as
%% c_src/abi/log.h describes them. It does not verify checksums.
-module(inviso_trace_log).

-export([head/1, packets/1, totals/1]).

-define(SYNC, 16#6b705649).
-define(ENDS, {none, closed, owner, vm, rotated, terminated, recovered,
               flushed}).

-type head() :: #{uuid := binary(), file_no := integer(), keep := integer(),
                  texts := [binary()]}.
-type packet() :: #{type := events | anchors | totals, atom() => term()}.

-spec head(file:name_all()) -> head().
head(File) ->
    {ok, Bin} = file:read_file(File),
    {Head, _Packets} = split(Bin),
    Head.

%% Returns the packets of a log. A packet has its body only if it is not compressed.
-spec packets(file:name_all()) -> [packet()].
packets(File) ->
    {ok, Bin} = file:read_file(File),
    {_Head, Packets} = split(Bin),
    packet_list(Packets).

%% If the log's last packet is a TOTALS packet, returns its sums over all streams: #{why, produced,
%% recorded, dropped => [by reason]}. If the packet is compressed, the result has only `why'. If the
%% last packet is of another type, returns false.
-spec totals(file:name_all()) -> map() | false.
totals(File) ->
    case lists:last([none | packets(File)]) of
        #{type := totals, seq := Why, body := Body} ->
            maps:merge(#{why => element(Why + 1, ?ENDS)}, sum(Body));
        #{type := totals, seq := Why} ->
            #{why => element(Why + 1, ?ENDS)};
        _ ->
            false
    end.

split(<<16#89, "INVLOG\n", Version:32/little, HeadLen:32/little, Uuid:16/binary,
        FileNo:32/little, _Streams:32/little, _Creation:32/little,
        Keep:32/little, _Created:64/little, _/binary>> = Bin)
  when Version =:= 2; Version =:= 3 ->
    <<Head:HeadLen/binary, Packets/binary>> = Bin,
    Strings = binary:part(Head, 56, HeadLen - 56 - 8),
    {#{uuid => Uuid, file_no => FileNo, keep => Keep,
       texts => texts(Strings)}, Packets}.

texts(<<N:16/little, Text:N/binary, Rest/binary>>) -> [Text | texts(Rest)];
texts(_Padding) -> [].

packet_list(<<?SYNC:32/little, Type, Codec, HeadLen:16/little,
              BodyLen:32/little, RawLen:32/little, Stream:32/little,
              N:32/little, Seq:64/little, First:64/little, Begin:64/little,
              End:64/little, EvOff:32/little, DefLen:32/little,
              Dropped:64/binary, _/binary>> = Bin) ->
    <<_:HeadLen/binary, Body:BodyLen/binary, Rest/binary>> = Bin,
    Packet = #{type => element(Type, {events_1, anchors, totals, events}),
               codec => element(Codec + 1, {none, zstd}),
               body_len => BodyLen, raw_len => RawLen, stream => Stream,
               n => N, seq => Seq, first_event => First, begin_ns => Begin,
               end_ns => End, ev_off => EvOff, def_len => DefLen,
               dropped => [D || <<D:64/little>> <= Dropped]},
    [case Codec of
         0 -> Packet#{body => Body};
         _ -> Packet
     end | packet_list(Rest)];
packet_list(<<>>) ->
    [].

sum(Body) ->
    lists:foldl(
      fun({P, R, D}, #{produced := P0, recorded := R0, dropped := D0}) ->
              #{produced => P0 + P, recorded => R0 + R,
                dropped => lists:zipwith(fun erlang:'+'/2, D0, D)}
      end,
      #{produced => 0, recorded => 0, dropped => lists:duplicate(8, 0)},
      [{P, R, [X || <<X:64/little>> <= D]}
       || <<_Stream:32/little, _:32, P:64/little, R:64/little,
            D:64/binary>> <= Body]).
