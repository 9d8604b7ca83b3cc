%% SPDX-License-Identifier: Apache-2.0
%% @doc Reads a log while it grows, and other files of a session.
%%
%% After a flush the log contains everything that was recorded before the flush.
%% So read/1 first reads the clock, then flushes, and then reads the file to its
%% end. The bytes that it returns contain all events up to the time that the clock
%% showed.
-module(inviso_follow).

-export([read/1, chunk/3]).

-export_type([what/0, watermark/0]).

-type watermark() :: integer() | none | eof.
-type what() :: #{path := file:name_all(),
                  offset := non_neg_integer(),
                  max := pos_integer(),
                  %% the handle of the tracer to flush; closed: the log is
                  %% complete; unknown: do not flush, and return no watermark
                  from := pos_integer() | closed | unknown,
                  %% monotonic time (ms) at which the log was opened, and at
                  %% which it was last flushed
                  since := integer(),
                  flushed := integer()}.

%% WAIT_MS: how long a request waits for bytes. FLUSH_MS, FIRST_MS: the pause
%% between two flushes is the log's age at the last flush, but at least FIRST_MS
%% and at most FLUSH_MS.
-define(WAIT_MS, 100).
-define(FLUSH_MS, 50).
-define(FIRST_MS, 8).
%% How long to wait for a spooler that does not answer.
-define(PATIENCE_MS, 500).
-define(POLL_MS, 2).

%% @doc Returns the bytes of the log after an offset, the time (ns, Erlang's
%% monotonic time) up to which the log is complete, and the time of the last flush
%% (monotonic time, ms). If there are no bytes yet, waits for them, at most 100
%% ms.
-spec read(what()) -> {binary(), watermark(), integer()}.
read(#{from := closed, flushed := Flushed} = What) ->
    {Bytes, AtEnd} = bytes(What),
    case AtEnd of
        true -> {Bytes, eof, Flushed};
        false -> {Bytes, none, Flushed}
    end;
read(#{from := From, flushed := Flushed} = What) ->
    wait(What, From, Flushed, now_ms() + ?WAIT_MS).

wait(What, From, Flushed0, Until) ->
    timer:sleep(max(0, Flushed0 + pause(What, Flushed0) - now_ms())),
    Time = erlang:monotonic_time(nanosecond),
    Complete = flush(From),
    Flushed = now_ms(),
    {Bytes, AtEnd} = bytes(What),
    case Bytes =:= <<>> andalso Flushed < Until of
        true ->
            wait(What, From, Flushed, Until);
        false when Complete, AtEnd ->
            {Bytes, Time, Flushed};
        false ->
            {Bytes, none, Flushed}
    end.

pause(#{since := Since}, Flushed) ->
    min(?FLUSH_MS, max(?FIRST_MS, Flushed - Since)).

flush(unknown) -> false;
flush(Handle) -> inviso_keeper:flush(Handle, ?PATIENCE_MS) =:= ok.

%% Returns the bytes after the offset, and true if they reach the end of the
%% file. The file's size is taken first: bytes that are appended during the read
%% belong to the next request.
bytes(#{path := Path, offset := Offset, max := Max}) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, Fd} ->
            {ok, Size} = file:position(Fd, eof),
            Bytes = case file:pread(Fd, Offset, Max) of
                        {ok, Some} -> Some;
                        _ -> <<>>
                    end,
            _ = file:close(Fd),
            {Bytes, Offset + byte_size(Bytes) >= Size};
        {error, _} ->
            {<<>>, false}
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).

%% @doc Returns at most `Max' bytes of a file, from `Offset' on.
-spec chunk(file:name_all(), non_neg_integer(), pos_integer()) ->
          {ok, binary()} | eof | {error, failed, binary()}.
chunk(Path, Offset, Max) ->
    Result = case file:open(Path, [read, raw, binary]) of
                 {ok, Fd} ->
                     Read = file:pread(Fd, Offset, Max),
                     _ = file:close(Fd),
                     Read;
                 {error, _} = E ->
                     E
             end,
    case Result of
        {error, Why} ->
            {error, failed,
             unicode:characters_to_binary(
               io_lib:format("~ts cannot be read: ~ts",
                             [Path, file:format_error(Why)]))};
        _ ->
            Result
    end.
