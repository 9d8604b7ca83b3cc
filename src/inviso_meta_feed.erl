%% SPDX-License-Identifier: Apache-2.0
%% @doc What brings trace messages to the meta tracer: a tracer that delivers
%% within a credit (c_src/nif/delivery.h). A flood of calls is dropped and
%% counted where it is made; no mailbox grows, and the traced processes are not
%% kept waiting.
%%
%% The process that opens it is the one it delivers to. Each message is
%% `{inviso_event, Bytes, Dropped, Message}', which is to be given back by
%% {@link taken/2}. When that process dies the tracer is closed, and the VM takes
%% the patterns that have it off by and by.
-module(inviso_meta_feed).

-export([open/0, tracer/1, taken/2, counts/1, close/1]).

-export_type([feed/0, counts/0]).

-opaque feed() :: pos_integer().
%% By reason: see {@link inviso_deliver}.
-type counts() :: #{produced := non_neg_integer(),
                    dropped := non_neg_integer(),
                    lost := #{atom() => pos_integer()}}.

%% What may wait in the mailbox.
-define(EVENTS, 10000).
-define(BYTES, 16 * 1024 * 1024).
-define(EVENT_BYTES, 1024 * 1024).

%% @doc Opens one for the calling process.
-spec open() -> {ok, feed()} | {error, term()}.
open() ->
    case inviso_tracer:load() of
        ok ->
            case inviso_tracer:nif_deliver(self(), ?EVENTS, ?BYTES,
                                           ?EVENT_BYTES) of
                {ok, _} = Ok -> Ok;
                {error, Errno} -> {error, {tracer, Errno}}
            end;
        {error, _} = E ->
            E
    end.

%% @doc The tracer, for patterns.
-spec tracer(feed()) -> inviso_otp:tracer().
tracer(Feed) -> {inviso_tracer, Feed}.

%% @doc One message of so many bytes is done with.
-spec taken(feed(), non_neg_integer()) -> ok.
taken(Feed, Bytes) ->
    _ = inviso_tracer:nif_credit(Feed, 1, Bytes),
    ok.

%% @doc What became of the calls so far.
-spec counts(feed()) -> counts().
counts(Feed) ->
    {Produced, {Full, TooBig, Gone, NoThread}} = inviso_tracer:nif_counts(Feed),
    Lost = [{full, Full}, {too_big, TooBig}, {gone, Gone},
            {no_thread, NoThread}],
    #{produced => Produced,
      dropped => Full + TooBig + Gone + NoThread,
      lost => maps:from_list([L || {_, N} = L <- Lost, N > 0])}.

%% @doc Closes it, when no pattern has it any more.
-spec close(feed()) -> ok.
close(Feed) ->
    _ = inviso_tracer:nif_retire(Feed),
    ok = await_quiet(Feed),
    inviso_keeper:free(Feed).

await_quiet(Feed) ->
    case inviso_tracer:nif_quiet(Feed) of
        false -> timer:sleep(1), await_quiet(Feed);
        _ -> ok
    end.
