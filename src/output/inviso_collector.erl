%% SPDX-License-Identifier: Apache-2.0
%% @doc The handler for the tracerdata `collector': prints each event as a line
%% on the node's `user'. Timestamps are left out.
%%
%% ```
%% (<0.92.0>) call m:f(3)
%% (<0.92.0>) returned from m:f/1 -> 7
%% (<0.92.0>) <0.5.0> ! hello
%% *** Dropped 17 messages.
%% '''
-module(inviso_collector).

-export([print/2, line/1]).

%% @doc Prints an event to a device.
-spec print(inviso_receiver:event(), io:device()) -> io:device().
print(Event, Device) ->
    case line(Event) of
        "" -> Device;
        Line -> ok = io:put_chars(Device, [Line, $\n]), Device
    end.

%% @doc Returns an event as text.
-spec line(inviso_receiver:event()) -> unicode:chardata().
line({drop, N}) ->
    text("*** Dropped ~w messages.", [N]);
line({seq_trace, Label, Info}) ->
    text("SeqTrace [~tp]: ~ts", [Label, seq(Info)]);
line({seq_trace, Label, Info, TS}) ->
    text("SeqTrace ~tp [~tp]: ~ts", [TS, Label, seq(Info)]);
line(Event) when element(1, Event) =:= trace_ts ->
    [_, Who, Tag | Rest] = tuple_to_list(Event),
    traced(Who, Tag, lists:droplast(Rest));
line(Event) when element(1, Event) =:= trace ->
    [_, Who, Tag | Rest] = tuple_to_list(Event),
    traced(Who, Tag, Rest);
line(Event) ->
    text("~tp", [Event]).

%% Formats a trace message. Leaves out the replies that dbg sends to its
%% callers.
traced(_Who, 'receive', [{dbg, ok} | _]) ->
    "";
traced(Who, Tag, Rest) ->
    text("(~tp) ~ts", [Who, what(Tag, Rest)]).

what('receive', [Message | _]) ->
    text("<< ~tp", [Message]);
what(send, [Message, To | _]) ->
    text("~tp ! ~tp", [To, Message]);
what(call, [MFA]) ->
    text("call ~ts", [call(MFA)]);
what(call, [MFA, Message | _]) ->
    text("call ~ts (~tp)", [call(MFA), Message]);
what(return_to, [{M, F, A} | _]) ->
    text("returning to ~ts", [call({M, F, A})]);
what(return_from, [MFA, Value | _]) ->
    text("returned from ~ts -> ~tp", [call(MFA), Value]);
what(spawn, [Pid, MFA | _]) ->
    text("spawn ~tp as ~ts", [Pid, call(MFA)]);
what(Tag, Rest) ->
    lists:join($\s, [text("~tp", [T]) || T <- [Tag | Rest]]).

call({M, F, Arity}) when is_integer(Arity) ->
    text("~tw:~tw/~w", [M, F, Arity]);
call({M, F, Args}) when length(Args) >= 0 ->
    text("~tw:~tw(~ts)", [M, F, lists:join($,, [text("~tp", [A])
                                                || A <- Args])]);
call(Other) ->
    text("~tp", [Other]).

seq({send, Serial, From, To, Message}) ->
    text("(~tp) ~tp ! ~tp [Serial: ~tp]", [From, To, Message, Serial]);
seq({'receive', Serial, From, To, Message}) ->
    text("(~tp) << ~tp [Serial: ~tp, From: ~tp]", [To, Message, Serial, From]);
seq({print, Serial, From, _, Info}) ->
    text("-> ~tp [Serial: ~tp, From: ~tp]", [Info, Serial, From]);
seq(Other) ->
    text("~tp", [Other]).

text(Format, Args) ->
    io_lib:format(Format, Args).
