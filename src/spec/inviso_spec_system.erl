%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads specs of events that the system monitor of a node reports.
%%
%% ```
%%  long_gc             garbage collections that take 50 ms or longer
%%  long_gc(200ms)      that take 200 ms or longer
%%  long_schedule(5ms)  processes and ports that run this long without a pause
%%  large_heap(100mb)   processes whose heap gets this large
%%  busy_port           processes that are suspended because a port is busy
%%  busy_dist_port      processes that are suspended because a connection to another
%%                      node is busy
%%  long_message_queue(5000)   processes with this many messages, from OTP 27 on
%% '''
-module(inviso_spec_system).

-export([read/1, names/0]).

-export_type([event/0, at/0]).

-type event() :: long_gc | long_schedule | large_heap | busy_port | busy_dist_port
               | long_message_queue.
%% The smallest value that is reported: milliseconds, bytes, or messages.
-type at() :: pos_integer() | none.

%% This and larger values are refused, because the VM takes only small integers.
-define(MAX, (1 bsl 50)).

%% @doc Returns the event and its threshold. If the text has no threshold, returns
%% the default. Returns `none' if the text is a spec of another kind.
-spec read(string()) ->
          none | {ok, event(), at()} | {error, Position :: pos_integer(), iolist()}.
read(Chars) ->
    Names = lists:join("|", [atom_to_list(N) || {N, _, _} <- events()]),
    case re:run(Chars, ["^(", Names, ")\\s*(?:\\.?$|([^\\s:/.*].*)$)"],
                [unicode, dotall, {capture, all_but_first, list}]) of
        nomatch -> none;
        {match, [Name]} -> event(Name, "", Chars);
        {match, [Name, Rest]} -> event(Name, Rest, Chars)
    end.

%% @doc Returns the names of the events.
-spec names() -> [event()].
names() -> [N || {N, _, _} <- events()].

events() ->
    [{long_gc, time, 50},
     {long_schedule, time, 50},
     {large_heap, bytes, 64 bsl 20},
     {busy_port, none, none},
     {busy_dist_port, none, none},
     {long_message_queue, messages, 10000}].

event(Name, Rest, Chars) ->
    Event = list_to_existing_atom(Name),
    {_, Unit, Default} = lists:keyfind(Event, 1, events()),
    case threshold(Unit, Rest) of
        default -> {ok, Event, Default};
        At when is_integer(At), At > 0, At < ?MAX -> {ok, Event, At};
        Wrong -> {error, length(Chars) - length(Rest) + 1, wrong(Wrong, Event, Unit)}
    end.

threshold(_, "") ->
    default;
threshold(none, "(" ++ _) ->
    unexpected;
threshold(Unit, Rest) ->
    Re = "^\\(\\s*([0-9]+(?:\\.[0-9]+)?)\\s*([A-Za-z]*)\\s*\\)\\s*$",
    case re:run(Rest, Re, [{capture, all_but_first, list}]) of
        nomatch ->
            case Rest of
                "(" ++ _ -> number;
                "->" ++ _ -> action;
                "::" ++ _ -> action;
                _ -> unexpected
            end;
        {match, [Number]} ->
            value(Unit, Number, "");
        {match, [Number, Word]} ->
            value(Unit, Number, string:lowercase(Word))
    end.

%% A time must have a unit, because the meaning of a number alone is unclear: other
%% options of the command take seconds, and the VM takes milliseconds.
value(Unit, Number, Word) ->
    case lists:keyfind(Word, 1, units(Unit)) of
        {_, Factor} ->
            N = case string:to_float(Number) of
                    {error, no_float} -> list_to_integer(Number);
                    {Float, _} -> Float
                end,
            min(?MAX, trunc(N * Factor));
        false ->
            number
    end.

units(time) -> [{"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}];
units(bytes) -> [{"", 1}, {"b", 1}, {"k", 1 bsl 10}, {"kb", 1 bsl 10},
                 {"kib", 1 bsl 10}, {"m", 1 bsl 20}, {"mb", 1 bsl 20},
                 {"mib", 1 bsl 20}, {"g", 1 bsl 30}, {"gb", 1 bsl 30},
                 {"gib", 1 bsl 30}];
units(messages) -> [{"", 1}, {"k", 1000}].

wrong(action, Event, _) ->
    io_lib:format("actions are of function calls; ~w has none", [Event]);
wrong(unexpected, Event, none) ->
    io_lib:format("~w has no threshold, and nothing can follow it", [Event]);
wrong(unexpected, Event, Unit) ->
    io_lib:format("only a threshold can follow ~w: ~ts", [Event, example(Event, Unit)]);
wrong(_, Event, time) ->
    io_lib:format("a time is expected, at least 1 ms: ~ts", [example(Event, time)]);
wrong(_, Event, Unit) ->
    io_lib:format("a number above 0 is expected: ~ts", [example(Event, Unit)]).

example(Event, time) -> io_lib:format("~w(100ms), ~w(2s)", [Event, Event]);
example(Event, bytes) -> io_lib:format("~w(500k), ~w(10mb), ~w(1g)",
                                       [Event, Event, Event]);
example(Event, messages) -> io_lib:format("~w(5000)", [Event]).
