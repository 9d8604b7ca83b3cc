%% SPDX-License-Identifier: Apache-2.0
%% The results of `make bench-real': a table for a terminal, and JSON in the
%% form of build/bench.json.
-module(inviso_bench_table).
-export([print/3, json/2]).

-type row() :: {inviso_bench_ways:way(),
                #{rate | share | lowest | highest | recorded | lost | bytes
                  | growth := number()}}.

-define(FORMAT, "~-30s ~10s ~6s ~10s ~5s ~9s ~9s ~9s ~8s~n").

-spec print(number(), [row()], pos_integer()) -> ok.
print(Untraced, Rows, Rounds) ->
    io:format(?FORMAT, ["how rabbit_channel is traced", "messages/s", "share",
                        "of rounds", "bar", "recorded", "lost", "bytes/ev",
                        "growth"]),
    io:format(?FORMAT, ["not traced", whole(Untraced), "100 %" |
                        ["" || _ <- lists:seq(1, 6)]]),
    [io:format(?FORMAT, cells(Way, Row)) || {Way, Row} <- Rows],
    io:format("Medians of ~b rounds. growth: MiB of the broker's resident "
              "memory, at its peak.~n", [Rounds]).

cells(Way, #{rate := Rate, share := Share, lowest := Lowest,
             highest := Highest, recorded := Recorded, lost := Lost,
             bytes := Bytes, growth := Growth}) ->
    [inviso_bench_ways:name(Way), whole(Rate), [percent(Share), " %"],
     [percent(Lowest), "-", percent(Highest)],
     case inviso_bench_ways:bar(Way) of
         none -> "";
         Bar -> [percent(Bar), " %"]
     end,
     whole(Recorded), whole(Lost),
     case Way of
         process -> ""; % it writes no log
         _ -> whole(Bytes)
     end,
     whole(Growth)].

percent(Share) -> whole(Share * 100).

whole(Number) -> integer_to_list(round(Number)).

-spec json(number(), [row()]) -> iodata().
json(Untraced, Rows) ->
    inviso_bench:json(
      [{"rabbit_channel not traced", Untraced, "messages/s", none, none}
       | lists:append([json_rows(Way, Row) || {Way, Row} <- Rows])]).

json_rows(Way, #{rate := Rate, share := Share, growth := Growth} = Row) ->
    Name = "rabbit_channel traced, " ++ inviso_bench_ways:name(Way),
    Bar = inviso_bench_ways:bar(Way),
    [{Name, Rate, "messages/s", "not traced", Share}]
        ++ [{Name ++ ", share", Share, "of not traced", "its bar", Share / Bar}
            || Bar =/= none]
        ++ [{Name ++ ", " ++ What ++ " share", maps:get(Key, Row),
             "of not traced", none, none}
            || {What, Key} <- [{"lowest", lowest}, {"highest", highest}]]
        ++ [{Name ++ ", events " ++ atom_to_list(Key), maps:get(Key, Row),
             "events", none, none} || Key <- [recorded, lost]]
        ++ [{Name ++ ", bytes an event", maps:get(bytes, Row), "bytes", none,
             none} || Way =/= process]
        ++ [{Name ++ ", growth of the broker", Growth, "MiB", none, none}].
