%% SPDX-License-Identifier: Apache-2.0
%% @doc The reader of logs and trace port files for {@link inviso_lfm}. It is
%% also an example of the protocol for readers that users write.
-module(inviso_lfm_tpfreader).

-export([init/2, handle_logfile_sort_wrapset/1]).

%% @doc Reads the logs of one node for a merger, until they end.
-spec init(pid(), inviso_lfm:log_files() | [inviso_lfm:log_files()]) -> ok.
init(Merger, Logs) ->
    %% The name of this node is only a placeholder: the merger knows the node of
    %% this reader.
    case inviso_lfm_command:arguments([{node(), Logs}]) of
        {ok, []} ->
            ok;
        {ok, Arguments} ->
            case inviso_lfm_command:open(Arguments) of
                {ok, Stream} -> serve(Merger, monitor(process, Merger), Stream);
                {error, Reason} -> fail(Merger, Reason)
            end;
        {error, Reason} ->
            fail(Merger, Reason)
    end.

serve(Merger, Monitor, Stream) ->
    receive
        {get_next_entry, Merger} ->
            case inviso_lfm_command:next(Stream) of
                {ok, {_Node, Time, Mappings, Entry}, Stream1} ->
                    Merger ! {next_entry, self(), Mappings, Time, Entry},
                    serve(Merger, Monitor, Stream1);
                done ->
                    ok;
                {error, Reason} ->
                    Merger ! {next_entry, self(), {error, Reason}},
                    ok
            end;
        {stop, Merger} ->
            inviso_lfm_command:close(Stream);
        {'DOWN', Monitor, process, _, _} ->
            inviso_lfm_command:close(Stream)
    end.

fail(Merger, Reason) ->
    receive
        {get_next_entry, Merger} ->
            Merger ! {next_entry, self(), {error, {merge, 1, Reason}}},
            ok;
        {stop, Merger} ->
            ok
    end.

%% @doc Returns the files of a wrap set, from the oldest to the newest. The names
%% differ in a number, which counts up and then begins again at 0. One number is
%% always missing. The oldest file is the one whose number follows the missing
%% number.
-spec handle_logfile_sort_wrapset([file:filename()]) -> [file:filename()].
handle_logfile_sort_wrapset([_, _ | _] = Files) ->
    Prefix = common(Files),
    Rests = [lists:nthtail(Prefix, F) || F <- Files],
    Suffix = common([lists:reverse(R) || R <- Rests]),
    case numbers(Files, Prefix, Suffix, Suffix) of
        none ->
            Files;
        Numbers ->
            [F || {_, F} <- oldest_first(lists:sort(lists:zip(Numbers,
                                                              Files)))]
    end;
handle_logfile_sort_wrapset(Files) ->
    Files.

%% Returns the length of the common prefix of all lists.
common([First | Rest]) ->
    lists:foldl(fun(L, N) -> min(N, common(First, L, 0)) end, length(First),
                Rest).

common([C | As], [C | Bs], N) -> common(As, Bs, N + 1);
common(_, _, N) -> N.

%% Returns the numbers between the prefix and the suffix. If the text between
%% them is not a number, tries a shorter prefix or suffix: the end of the prefix
%% or the beginning of the suffix may consist of digits of the number.
numbers(_Files, Prefix, _Suffix, _Longest) when Prefix < 0 ->
    none;
numbers(Files, Prefix, Suffix, Longest) when Suffix < 0 ->
    numbers(Files, Prefix - 1, Longest, Longest);
numbers(Files, Prefix, Suffix, Longest) ->
    Numbers = [number(lists:sublist(F, Prefix + 1,
                                    length(F) - Prefix - Suffix))
               || F <- Files],
    case lists:member(none, Numbers) of
        true -> numbers(Files, Prefix, Suffix - 1, Longest);
        false -> Numbers
    end.

%% Converts the digits of a file's number, which has no leading zeros.
number([$0]) -> 0;
number([C | _] = Digits) when C > $0, C =< $9 ->
    case lists:all(fun(D) -> D >= $0 andalso D =< $9 end, Digits) of
        true -> list_to_integer(Digits);
        false -> none
    end;
number(_) -> none.

oldest_first(Sorted) ->
    {Newest, Oldest} = before_gap(Sorted, 0, []),
    Oldest ++ Newest.

before_gap([{N, _} = F | Rest], N, Acc) -> before_gap(Rest, N + 1, [F | Acc]);
before_gap(Rest, _, Acc) -> {lists:reverse(Acc), Rest}.
