%% SPDX-License-Identifier: Apache-2.0
%% @doc Compares all formats of `inviso merge' for the same logs: they must have the same events and
%% losses. inviso_format_readers reads the formats.
-module(inviso_formats).

-export([all/0, agree/3, read/3, agree/1]).

-define(LIB, inviso_trace_lib).

%% @doc Returns the formats of --help that this machine can write.
-spec all() -> [string()].
all() ->
    {0, Help} = ?LIB:command("inviso", ["merge", "--help"]),
    {match, [List]} = re:run(Help, "--format=FORMAT\\s+(.*?);", [{capture, [1], binary}, dotall]),
    Formats = [binary_to_list(F) || F <- re:split(List, ",\\s*"), is_here(F)],
    true = length(Formats) >= 15,
    Formats.

%% A helper program needs a library, which a chroot of another OTP release may
%% not have.
is_here(Name) when Name =:= <<"sqlite">>; Name =:= <<"parquet">> ->
    {Status, _} = ?LIB:command("inviso", ["sql", "--help"]),
    Status =:= 0;
is_here(_) ->
    true.

%% @doc Writes and reads the logs in each format, and checks the facts (agree/1). Returns the facts
%% in JSON.
-spec agree([tuple()], [file:filename()], [string()]) -> map().
agree(Config, Logs, Options) ->
    agree(read(Config, Logs, Options)).

%% @doc Writes and reads the logs in each format. Returns the facts of each format.
-spec read([tuple()], [file:filename()], [string()]) -> [{string(), map()}].
read(Config, Logs, Options) ->
    [{F, inviso_format_readers:read(F, Config, Logs, Options)} || F <- all()].

%% @doc Checks that each format has the same facts as JSON, and that the command's summary and exit
%% status are the same as for JSON. Returns the facts in JSON.
-spec agree([{string(), map()}]) -> map().
agree(Read) ->
    {value, {_, Json}, Others} =
        lists:keytake("json", 1, [{F, without_texts(Facts)} || {F, Facts} <- Read]),
    #{events := N, lost := Lost, status := Status,
      summary := #{<<"recorded">> := N, <<"lost">> := Lost} = Summary} = Json,
    ct:log("~p", [Summary]),
    true = Status =:= case Lost of
                          0 -> 0;
                          _ -> 7
                      end,
    lists:foldl(fun({Format, Found}, Facts) -> compare(Format, Found, Facts) end, Json, Others),
    Json.

%% A fact that JSON does not have is compared with the first format that has it.
compare(Format, Found, Facts) ->
    [] = [{Format, Key, missing(maps:get(Key, Facts), Value), missing(Value, maps:get(Key, Facts))}
          || {Key, Value} <- maps:to_list(Found), is_map_key(Key, Facts),
             maps:get(Key, Facts) =/= Value],
    maps:merge(Found, Facts).

%% Removes the texts, which may differ: formats print the same term in different ways, and some
%% formats write an event before the name of its process is known.
without_texts(Facts) ->
    maps:without([args, names, nodes], Facts).

%% Returns at most three elements, because Common Test takes minutes to print large terms.
missing(These, Those) when is_list(These) -> lists:sublist(These -- Those, 3);
missing(This, _) -> This.
