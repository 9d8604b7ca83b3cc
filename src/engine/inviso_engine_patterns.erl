%% SPDX-License-Identifier: Apache-2.0
%% @doc Stores the patterns that sessions have set for messages, and sets them in
%% the VM.
%%
%% The VM of OTP 25 and 26 has one pattern for sent and one for received messages.
%% Each is composed of the patterns of all sessions ({@link inviso_engine_spec}). A
%% session that has set no pattern gets all messages.
-module(inviso_engine_patterns).

-export([new/0, clean/0, set_message/5, forget_message/3, messages/3]).

-export_type([messages/0, match_spec/0]).

-type match_spec() :: inviso_engine_spec:match_spec().
-opaque messages() :: #{send | 'receive' =>
                            [{inviso_engine:slot(), match_spec() | false}]}.
-type reason() :: badarg | system_limit | {not_supported, term()} |
                  {already_traced, term()}.

-spec new() -> messages().
new() ->
    #{}.

%% The type spec of erlang:trace_pattern/3 does not include `send' and `receive'.
-dialyzer({no_fail_call, clean/0}).
%% @doc Clears all patterns for messages that sessions of this or an earlier server
%% have set.
-spec clean() -> ok.
clean() ->
    _ = [erlang:trace_pattern(Event, true, [])
         || Event <- [send, 'receive'],
            inviso_engine_spec:is_ours(erlang:trace_info(Event, match_spec))],
    ok.

%% @doc Sets a session's pattern. `Slots' are the slots of all sessions.
-spec set_message(send | 'receive', inviso_engine:slot(),
                  match_spec() | false, [inviso_engine:slot()], messages()) ->
          {ok, messages()} | {error, reason()}.
set_message(Event, Slot, MS, Slots, Messages) ->
    Old = maps:get(Event, Messages, []),
    New = case MS of
              true -> lists:keydelete(Slot, 1, Old);
              _ -> lists:keystore(Slot, 1, Old, {Slot, MS})
          end,
    case {Old, erlang:trace_info(Event, match_spec)} of
        {[], {match_spec, M}} when M =/= true ->
            {error, {already_traced, Event}};
        _ ->
            case message_in_vm(Event, New, Slots) of
                ok -> {ok, Messages#{Event => New}};
                {error, _} = E -> E
            end
    end.

%% @doc Clears a session's patterns. `Slots' are the slots of all other sessions.
-spec forget_message(inviso_engine:slot(), [inviso_engine:slot()],
                     messages()) -> messages().
forget_message(Slot, Slots, Messages) ->
    maps:map(fun(_, []) ->
                     [];
                (Event, Old) ->
                     New = lists:keydelete(Slot, 1, Old),
                     _ = message_in_vm(Event, New, Slots),
                     New
             end, Messages).

%% @doc Returns the pattern that a session has set. With `renew' it composes the
%% VM's pattern again for the sessions in `Slots'.
-spec messages(send | 'receive', inviso_engine:slot() | renew,
               messages() | {messages(), [inviso_engine:slot()]}) ->
          match_spec() | false | ok.
messages(Event, renew, {Messages, Slots}) ->
    case maps:get(Event, Messages, []) of
        [] -> ok;
        Set -> _ = message_in_vm(Event, Set, Slots), ok
    end;
messages(Event, Slot, Messages) ->
    proplists:get_value(Slot, maps:get(Event, Messages, []), true).

%% Sets the VM's pattern. If every session wants all messages or none, the VM needs
%% no match spec, because the callbacks know which sessions want none.
message_in_vm(Event, Set, Slots) ->
    case lists:all(fun({_, MS}) -> is_boolean(MS) end, Set) of
        true ->
            _ = erlang:trace_pattern(Event, true, []),
            ok;
        false ->
            spec_in_vm(Event, [{S, MS}
                               || S <- Slots,
                                  MS <- [proplists:get_value(S, Set, true)],
                                  MS =/= false])
    end.

spec_in_vm(Event, All) ->
    case inviso_engine_spec:compose(All) of
        {ok, MS} ->
            try erlang:trace_pattern(Event, MS, []) of
                _ -> ok
            catch
                error:Reason -> {error, Reason}
            end;
        {error, _} = E ->
            E
    end.
