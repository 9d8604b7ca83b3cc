%% SPDX-License-Identifier: Apache-2.0
%% @doc Reading a log that grows, and files of a session.
%%
%% What has been recorded is in the log when the spooler was asked to put it
%% there: so the time is taken, then comes a flush, and what is read up to the
%% end of the file then is complete up to that time.
-module(inviso_follow).

-export([read/1, chunk/3]).

-export_type([what/0, watermark/0]).

-type watermark() :: integer() | none | eof.
-type what() :: #{path := file:name_all(),
                  offset := non_neg_integer(),
                  max := pos_integer(),
                  %% a tracer's handle; or that nothing will come any more, or
                  %% that what comes is not known
                  from := pos_integer() | closed | unknown,
                  %% monotonic time, ms, of the log's beginning, and of the
                  %% last flush
                  since := integer(),
                  flushed := integer()}.

%% For how long a request for more waits, and how often there is a flush; of a
%% log that is young the next one comes when it is twice as old.
-define(WAIT_MS, 100).
-define(FLUSH_MS, 50).
-define(FIRST_MS, 8).
%% Of a spooler that does not answer.
-define(PATIENCE_MS, 500).
-define(POLL_MS, 2).

%% @doc What there is from an offset on, after waiting for some for 100 ms; up
%% to what time (ns, Erlang's monotonic time) everything is in it; and when the
%% log was flushed.
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

%% The size first: what comes after the look at it belongs to the next time.
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

%% @doc A part of a file.
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
