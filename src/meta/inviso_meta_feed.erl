%% SPDX-License-Identifier: Apache-2.0
%% @doc A feed: the tracer whose events are the messages to the meta tracer. It
%% sends only as many messages as its credit allows (c_src/nif/delivery.h). When
%% the credit is used up, the traced process drops and counts further calls. So
%% the size of the mailbox is bounded, and no traced process waits.
%%
%% The process that opens a feed is its receiver and gets messages `{inviso_event,
%% Bytes, Dropped, Message}'. When the receiver has handled a message, it returns
%% the credit with {@link taken/2}. When the receiver dies, the tracer is closed,
%% and afterwards the VM removes the patterns of the tracer.
-module(inviso_meta_feed).

-export([open/0, tracer/1, taken/2, counts/1, close/1]).

-export_type([feed/0, counts/0]).

-opaque feed() :: pos_integer().
%% `lost' contains the dropped calls by reason: see {@link inviso_deliver}.
-type counts() :: #{produced := non_neg_integer(),
                    dropped := non_neg_integer(),
                    lost := #{atom() => pos_integer()}}.

%% The credit: how many messages and bytes may wait in the mailbox.
-define(EVENTS, 10000).
-define(BYTES, 16 * 1024 * 1024).
-define(EVENT_BYTES, 1024 * 1024).

%% @doc Opens a feed for the calling process.
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

%% @doc Returns the tracer for setting patterns.
-spec tracer(feed()) -> inviso_scope:tracer().
tracer(Feed) -> {inviso_tracer, Feed}.

%% @doc Gives the credit of one message back to the tracer. `Bytes' is the second
%% element of the message.
-spec taken(feed(), non_neg_integer()) -> ok.
taken(Feed, Bytes) ->
    _ = inviso_tracer:nif_credit(Feed, 1, Bytes),
    ok.

%% @doc Returns the counts of calls so far.
-spec counts(feed()) -> counts().
counts(Feed) ->
    {Produced, {Full, TooBig, Gone, NoThread}} = inviso_tracer:nif_counts(Feed),
    Lost = [{full, Full}, {too_big, TooBig}, {gone, Gone},
            {no_thread, NoThread}],
    #{produced => Produced,
      dropped => Full + TooBig + Gone + NoThread,
      lost => maps:from_list([L || {_, N} = L <- Lost, N > 0])}.

%% @doc Closes the feed. Must be called after the last pattern with this tracer
%% was cleared.
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
