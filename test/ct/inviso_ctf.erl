%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads a directory of `inviso merge --format ctf' with babeltrace2.
-module(inviso_ctf).

-export([read/2]).

-export_type([event/0]).

-type event() :: #{binary() => binary() | integer()}.

%% @doc Returns the events, and the number of lost events that babeltrace2 reports. The map of an
%% event contains its fields, its class and its time. The text that babeltrace2 prints is written to
%% File.
-spec read(file:filename(), file:filename()) -> {[event()], non_neg_integer()} | {skip, string()}.
read(Dir, File) ->
    case os:find_executable("babeltrace2") of
        false -> {skip, "no babeltrace2"};
        Program -> read(Program, Dir, File)
    end.

read(Program, Dir, File) ->
    {0, Said} = inviso_trace_lib:command(Program, ["--clock-seconds", "-w", File, Dir]),
    {ok, Text} = file:read_file(File),
    Lost = case re:run(Said, "discarded ([0-9]+) event", [global, {capture, [1], binary}]) of
               {match, All} -> lists:sum([binary_to_integer(N) || [N] <- All]);
               nomatch -> 0
           end,
    {[event(L) || L <- inviso_trace_lib:split(Text)], Lost}.

event(Line) ->
    {match, [Seconds, Ns, Class, Rest]} =
        re:run(Line, "^\\[([0-9]+)[.]([0-9]{9})\\] \\([^)]*\\) ([a-z_]+): (.*)$",
               [{capture, all_but_first, binary}]),
    {match, Pairs} = re:run(Rest, "([a-z_]+) = (?:\"((?:[^\"\\\\]|\\\\.)*)\"|(-?[0-9]+))",
                            [global, {capture, all_but_first, binary}]),
    Fields = maps:from_list([case Pair of
                                 [K, V] -> {K, re:replace(V, "\\\\(.)", "\\1",
                                                          [global, {return, binary}])};
                                 [K, <<>>, N] -> {K, binary_to_integer(N)}
                             end || Pair <- Pairs]),
    Fields#{<<"class">> => Class,
            <<"time">> => binary_to_integer(Seconds) * 1000000000 + binary_to_integer(Ns)}.
