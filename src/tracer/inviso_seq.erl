%% SPDX-License-Identifier: Apache-2.0
%%
%% Sequential tracing (OTP's module seq_trace) with a tracer of inviso_tracer. The
%% tracer's log gets the events of all processes on this node that hold a trace
%% token, and `inviso merge' puts the logs of several nodes into causal order.
%%
%% Example:
%%
%%    {ok, Tracer} = inviso_tracer:open("requests.log", #{}),
%%    ok = inviso_seq:start(Tracer),
%%    inviso_seq:label({order, 17}, fun() -> shop:checkout(17) end),
%%    ok = inviso_seq:stop(Tracer),
%%    {ok, _} = inviso_tracer:close(Tracer).
%%
%% A process has two counters for the serials of its messages: the last serial
%% that it has sent or received, and the serial of the last message that it has
%% received. seq_trace:set_token/1 sets both counters to the values in the token.
%% If the process has sent messages since it had this token, the value for the first
%% counter is too low: the process would use the serials of these messages a second
%% time, and a reader could not tell which message caused which. So restore/1 and
%% from_port/1 never decrease the first counter.
-module(inviso_seq).

-export([start/1, stop/1, label/1, label/2, restore/1, to_port/1, from_port/1]).
-export([format_error/2]).

-export_type([saved/0]).

-opaque saved() :: none | {flags(), Label :: term(), serial()}.
%% A saved() is a trace token.

-type other() :: pid() | port() | {module(), term()}.
%% An other() is a system tracer that some other process has set.

-type flags() :: 0..63.

-type serial() :: {Received :: non_neg_integer(), Last :: non_neg_integer()}.
%% A serial() is the state of the two counters.

%% The serials in a token are below this number.
-define(LAST_MAX, 1 bsl 58).

%%---------------------------------------------------------------------------
%% The system tracer

%% OTP's specs do not say that a system tracer can be a module.
-dialyzer({no_match, [start/1, claim/1, stop/1]}).

%% Makes an open tracer the system tracer of this node. If the node has another
%% system tracer, that tracer stays, and the error shows it.
-spec start(inviso_tracer:tracer()) ->
          ok | {error, {system_tracer, other()} | closed}.
start({inviso_tracer, Handle} = Tracer) when is_integer(Handle) ->
    case seq_trace:get_system_tracer() of
        false -> claim(Tracer);
        Tracer -> ok;
        Other -> {error, {system_tracer, Other}}
    end.

claim(Tracer) ->
    try seq_trace:set_system_tracer(Tracer) of
        Before when Before =:= false; Before =:= Tracer -> ok;
        Other -> put_back(Other)
    catch
        error:_ -> {error, closed}
    end.

%% Sets the system tracer `Other' again. Another process set `Other' at the same time
%% as this process set its own tracer, and this process replaced `Other'. If `Other'
%% has ended, the present system tracer stays.
put_back(Other) ->
    try
        _ = seq_trace:set_system_tracer(Other),
        {error, {system_tracer, Other}}
    catch
        error:_ -> ok
    end.

%% Undoes start/1: the tracer is no longer the system tracer. The tracer stays
%% open, and processes keep their tokens. If the node has another system tracer
%% now, that tracer stays.
-spec stop(inviso_tracer:tracer()) ->
          ok | {error, {system_tracer, other()}}.
stop({inviso_tracer, Handle} = Tracer) when is_integer(Handle) ->
    case seq_trace:get_system_tracer() of
        Tracer ->
            case seq_trace:set_system_tracer(false) of
                Before when Before =:= false; Before =:= Tracer -> ok;
                Other -> put_back(Other)
            end;
        false ->
            ok;
        Other ->
            {error, {system_tracer, Other}}
    end.

%%---------------------------------------------------------------------------
%% Tokens

%% Begins a request in the calling process: sets a token with this label and with
%% the flags `send', 'receive' and `print'. Returns the token that the process
%% had, for restore/1. The label can be any term. If C nodes take part, it must be
%% an integer of 28 bits.
-spec label(term()) -> saved().
label(Label) ->
    Saved = save(),
    _ = seq_trace:set_token([]),
    _ = seq_trace:set_token(label, Label),
    _ = [seq_trace:set_token(Flag, true) || Flag <- [send, 'receive', print]],
    Saved.

%% Calls `Fun' with a new token, and then restores the calling process's old
%% token. Returns the value of the function.
-spec label(term(), fun(() -> Value)) -> Value.
label(Label, Fun) ->
    Saved = label(Label),
    try
        Fun()
    after
        restore(Saved)
    end.

%% Gives the calling process a token that label/1 has returned.
-spec restore(saved()) -> ok.
restore(none) ->
    _ = seq_trace:set_token([]),
    ok;
restore({Flags, Label, {Received, Last}}) ->
    {_, Now} = counters(),
    set(Flags, Label, {Received, max(Last, Now)}).

%%---------------------------------------------------------------------------
%% Ports
%%
%% A message to or from a port has no token. So the process that controls the port
%% puts the token in front of the data: first the length of the token's
%% information (4 bytes, big endian), then the information. The program behind the
%% port copies both to the front of its answer. If there is no token, the length
%% is 0.

%% Returns data for a port, with the token of the calling process in front.
-spec to_port(iodata()) -> iodata().
to_port(Data) ->
    case save() of
        none ->
            [<<0:32>>, Data];
        Saved ->
            Info = term_to_binary({self(), Saved}),
            [<<(byte_size(Info)):32>>, Info, Data]
    end.

%% Takes the token from data that a port has sent, and gives it to the calling
%% process. If the data contains no token, the calling process loses its token; a
%% message without a token has the same effect. Returns the data behind the token.
-spec from_port(binary()) -> binary();
               ([byte()]) -> [byte()].
from_port(Data) ->
    case split(Data) of
        {none, Rest} ->
            ok = restore(none),
            Rest;
        {Info, Rest} ->
            case token(Info) of
                {ok, Saved} ->
                    ok = restore(Saved),
                    Rest;
                error ->
                    erlang:error(badarg, [Data],
                                 [{error_info, #{module => ?MODULE}}])
            end
    end.

%% Returns the information about the token and the data behind it. If the data
%% are too short, the information is not a token.
split(Data) when is_list(Data) ->
    try split(list_to_binary(Data)) of
        {Info, Rest} -> {Info, binary_to_list(Rest)}
    catch
        error:badarg -> {wrong, Data}
    end;
split(Data) when byte_size(Data) >= 4 ->
    {Length, More} = split_binary(Data, 4),
    case binary:decode_unsigned(Length) of
        0 -> {none, More};
        Size when Size =< byte_size(More) -> split_binary(More, Size);
        _ -> {wrong, Data}
    end;
split(Data) ->
    {wrong, Data}.

token(Info) ->
    try binary_to_term(Info, [safe]) of
        {Pid, {Flags, _, {Received, Last}} = Saved}
          when is_pid(Pid), is_integer(Flags), Flags >= 0, Flags < 64,
               is_integer(Received), Received >= 0, Received < ?LAST_MAX,
               is_integer(Last), Last >= 0, Last < ?LAST_MAX ->
            {ok, taken(Pid, Saved)};
        _ ->
            error
    catch
        error:badarg -> error
    end.

%% Returns the token for the events after the port's answer. If the process that gets
%% the answer has also sent the question to the port, these events have the same cause
%% as the question. If another process gets the answer, the question is the cause of
%% these events.
taken(Pid, Saved) when Pid =:= self() -> Saved;
taken(_, {Flags, Label, {_, Last}}) -> {Flags, Label, {Last, Last}}.

%% Explains the errors of from_port/1 (erl_error).
-spec format_error(term(), erlang:stacktrace()) -> #{pos_integer() => string()}.
format_error(badarg, [{?MODULE, _, [_], _} | _]) ->
    #{1 => "does not begin with what to_port/1 put in front of the data: the "
      "program behind the port must copy it into its answer"};
format_error(_, _) ->
    #{}.

%%---------------------------------------------------------------------------

%% Returns the token of the calling process. The process keeps the token.
save() ->
    case seq_trace:get_token() of
        [] ->
            none;
        {Flags, Label, _, _, _} ->
            Serial = counters(),
            ok = set(Flags, Label, Serial),
            {Flags, Label, Serial}
    end.

set(Flags, Label, {Received, Last}) ->
    _ = seq_trace:set_token({Flags, Label, Last, self(), Received}),
    ok.

%% Returns the counters of the calling process, and removes its token. The token
%% of a process does not contain the counters, but the token of a message does. So
%% the process sends itself a message. The message's token has no flags, so the
%% message makes no event, and its serial can be used again.
counters() ->
    _ = seq_trace:set_token([]),
    _ = seq_trace:set_token(label, 0),
    Ref = make_ref(),
    self() ! Ref,
    receive Ref -> ok end,
    {_, _, Next, _, Received} = seq_trace:get_token(),
    %% The message has changed both counters.
    Serial = {Received, Next - 1},
    _ = seq_trace:set_token(serial, Serial),
    _ = seq_trace:set_token([]),
    Serial.
