%% SPDX-License-Identifier: Apache-2.0
%% @doc Tracerdata: where the events of a node go.
%%
%% ```
%% TracerData = LogTD | [{trace, LogTD} | {ti, TiTD}]
%%                                         with ti alone no process is traced
%% LogTD = {file, Name}
%%       | {file, Name, Options}                 Options of inviso_tracer:open/2
%%       | {file, {Name, wrap, Tail}}            128 KiB a file, 8 files
%%       | {file, {Name, wrap, Tail, Size}}
%%       | {file, {Name, wrap, Tail, Size, Count}}
%%       | {file, {Name, wrap, Tail, {time, Ms}, Count}}
%%       | {Fun, Data}                           inviso_handler
%%       | collector                             inviso_collector
%%       | {relayer, Pid | Node}                 inviso_relay
%%       | {ip, Port}                            inviso_ip
%%       | {ip, {Port, Queue}}                   at most Queue events wait (50)
%%       | {ip, {Address, Port}}                 default: loopback
%%       | {ip, {Address, Port, Queue}}
%% TiTD  = {file, Name} | {relay, Node}        to the meta tracer of that node
%%       | {file, Name, TiSpec} | {relay, Node, TiSpec}
%% TiSpec = {{M, F, Args}, void | {M, F}, void | {M, F}}
%%                                 see {@link inviso_rt_meta}
%% '''
%%
%% The functions of this module read no files, except logs/2 and remove/2.
-module(inviso_tracerdata).

-export([is_tracerdata/1, parse/1, logs/2, remove/2, relayers/2]).

-export_type([plan/0, sink/0, logs/0]).

%% `none': events are dropped, because only trace information is written.
-type sink() :: none
              | {handler, {fun(), term()}}
              | collector
              | {relayer, pid()}
              | {ip, {inet:ip_address() | any | loopback, inet:port_number(),
                      Queue :: pos_integer()}}.
%% A plan has at most one of `trace' (a log) and `sink'.
-type plan() :: #{trace => {file:filename(), map()},
                  sink => sink(),
                  ti => {inviso_ti:destination(),
                           none | inviso_meta_state:spec()}}.

%% The kind of the files, their directory, and their base names.
-type logs() :: [{trace_log | ti_log, file:filename(), [file:filename()]}].

-define(WRAP_BYTES, 128 * 1024).
-define(WRAP_COUNT, 8).
-define(COUNT_MAX, 1000000).
-define(IP_QUEUE, 50).

%% @doc Returns true if a term looks like tracerdata, and false for a list of
%% pairs of a node and its tracerdata. Only the outer form is checked: the node
%% that opens the tracerdata finds other errors.
-spec is_tracerdata(term()) -> boolean().
is_tracerdata({file, _}) -> true;
is_tracerdata({file, _, _}) -> true;
is_tracerdata({ip, _}) -> true;
is_tracerdata({relayer, _}) -> true;
is_tracerdata(collector) -> true;
is_tracerdata({Fun, _Data}) when is_function(Fun) -> true;
is_tracerdata(List) when length(List) > 0 ->
    lists:all(fun({trace, LogTD}) -> is_tracerdata(LogTD);
                 ({ti, _}) -> true;
                 (_) -> false
              end, List);
is_tracerdata(_) -> false.

%% @doc Replaces `{relayer, Node}' by `{relayer, Pid}' in tracerdata, with the
%% pid of the runtime component that `Find' returns for the node.
-spec relayers(term(), fun((node()) -> pid() | none)) ->
          {ok, term()} | {error, {not_an_added_node, node()}}.
relayers({relayer, Node}, Find) when is_atom(Node) ->
    case Find(Node) of
        none -> {error, {not_an_added_node, Node}};
        Pid -> {ok, {relayer, Pid}}
    end;
relayers([{trace, LogTD} | Rest], Find) ->
    case relayers(LogTD, Find) of
        {ok, Known} -> {ok, [{trace, Known} | Rest]};
        {error, _} = E -> E
    end;
relayers([First | Rest], Find) ->
    case relayers(Rest, Find) of
        {ok, Known} -> {ok, [First | Known]};
        {error, _} = E -> E
    end;
relayers(Other, _Find) ->
    {ok, Other}.

%% @doc Converts tracerdata to a plan. The plan contains the options for the
%% tracer, and the file names as they are in the tracerdata.
-spec parse(term()) -> {ok, plan()} | {error, term()}.
parse(LogTD) when is_tuple(LogTD); LogTD =:= collector ->
    parse([{trace, LogTD}]);
parse(List) when length(List) > 0 ->
    try
        Plan = lists:foldl(fun add/2, #{}, List),
        case Plan of
            #{trace := _} -> {ok, Plan};
            #{sink := _} -> {ok, Plan};
            #{ti := _} -> {ok, Plan#{sink => none}};
            #{} -> {error, {bad_tracerdata, List}}
        end
    catch
        throw:Reason -> {error, Reason}
    end;
parse(Other) ->
    {error, {bad_tracerdata, Other}}.

add({trace, LogTD}, Plan) when element(1, LogTD) =:= file ->
    Plan#{trace => log(LogTD)};
add({trace, LogTD}, Plan) ->
    Plan#{sink => sink(LogTD)};
add({ti, TiTD}, Plan) -> Plan#{ti => ti(TiTD)};
add(_, Plan) -> Plan.

log({file, {Name, wrap, Tail}}) ->
    wrap(Name, Tail, ?WRAP_BYTES, ?WRAP_COUNT);
log({file, {Name, wrap, Tail, Size}}) ->
    wrap(Name, Tail, Size, ?WRAP_COUNT);
log({file, {Name, wrap, Tail, Size, Count}}) ->
    wrap(Name, Tail, Size, Count);
log({file, Name}) ->
    {name(Name, {bad_tracerdata, {file, Name}}), #{}};
log({file, Name, Opts}) when is_map(Opts) ->
    {name(Name, {bad_tracerdata, {file, Name, Opts}}), Opts};
log(Other) ->
    throw({bad_tracerdata, Other}).

sink(collector) ->
    collector;
sink({Fun, Data}) when is_function(Fun, 2) ->
    {handler, {Fun, Data}};
sink({relayer, Pid}) when is_pid(Pid) ->
    {relayer, Pid};
sink({ip, Port}) when is_integer(Port) ->
    ip(loopback, Port, ?IP_QUEUE, Port);
sink({ip, {Port, Queue} = Args}) when is_integer(Port) ->
    ip(loopback, Port, Queue, Args);
sink({ip, {Address, Port} = Args}) ->
    ip(Address, Port, ?IP_QUEUE, Args);
sink({ip, {Address, Port, Queue} = Args}) ->
    ip(Address, Port, Queue, Args);
sink(Other) ->
    throw({bad_tracerdata, Other}).

ip(Address, Port, Queue, Args) ->
    case is_integer(Port) andalso Port > 0 andalso Port < 65536
        andalso is_integer(Queue) andalso Queue > 0 andalso Queue < 1 bsl 32
        andalso address(Address)
    of
        {ok, Known} -> {ip, {Known, Port, Queue}};
        _ -> throw({trace_port_args, [ip, Args]})
    end.

address(Name) when Name =:= any; Name =:= loopback -> {ok, Name};
address(Text) when is_list(Text) ->
    io_lib:printable_list(Text) andalso inet:parse_address(Text);
address(Address) ->
    case inet:ntoa(Address) of
        {error, _} = E -> E;
        _ -> {ok, Address}
    end.

%% Returns the name and the options of a log that wraps. In the original Inviso
%% the number of a file is between Name and Tail. Here the tracer appends the
%% number after Name and Tail.
wrap(Name, Tail, {time, Ms}, Count)
  when is_integer(Ms), Ms > 0, Ms < 1 bsl 32,
       is_integer(Count), Count > 0, Count < 1 bsl 32 ->
    {wrap_name(Name, Tail), #{rotate => #{ms => Ms, count => count(Count)}}};
wrap(Name, Tail, Size, Count)
  when is_integer(Size), Size >= 0, Size < 1 bsl 32,
       is_integer(Count), Count > 0, Count < 1 bsl 32 ->
    {wrap_name(Name, Tail),
     #{rotate => #{bytes => max(Size, 1), count => count(Count)}}};
wrap(Name, Tail, Size, Count) ->
    throw({trace_port_args, [file, {Name, wrap, Tail, Size, Count}]}).

count(Count) -> min(Count, ?COUNT_MAX).

wrap_name(Name, Tail) ->
    Bad = {bad_tracerdata, {file, {Name, wrap, Tail}}},
    name(Name, Bad) ++ name(Tail, Bad).

ti({file, Name} = TiTD) -> {{file, name(Name, {bad_ti_td, TiTD})}, none};
ti({relay, Node}) when is_atom(Node) -> {{relay, Node}, none};
ti({Kind, Where, TiSpec} = TiTD) ->
    is_ti_spec(TiSpec) orelse throw({bad_ti_td, TiTD}),
    {Destination, none} = ti({Kind, Where}),
    {Destination, TiSpec};
ti(Other) -> throw({bad_ti_td, Other}).

is_ti_spec({{M, F, Args}, Remove, Clean}) when length(Args) >= 0 ->
    is_atom(M) andalso is_atom(F) andalso is_mf(Remove) andalso is_mf(Clean);
is_ti_spec(_) -> false.

is_mf({M, F}) -> is_atom(M) andalso is_atom(F);
is_mf(void) -> true;
is_mf(_) -> false.

%% Returns a file name as a string. Throws `Bad' if it cannot be converted.
name(Name, Bad) ->
    try unicode:characters_to_list(Name) of
        [_ | _] = String ->
            lists:member(0, String) andalso throw(Bad),
            String;
        _ ->
            throw(Bad)
    catch
        error:badarg -> throw(Bad)
    end.

%% @doc Returns the files that tracerdata names and that exist on this node.
%% Relative names are relative to `Cwd'. If `Cwd' is `current', the directories
%% in the result are as in the tracerdata.
-spec logs(term(), current | file:filename()) ->
          {ok, logs() | no_log} | {error, term()}.
logs(TracerData, Cwd) ->
    case parse(TracerData) of
        {ok, Plan} ->
            Logs = [{trace_log, filename:dirname(Name),
                     trace_files(Name, Opts)}
                    || #{trace := {Name0, Opts}} <- [Plan],
                       Name <- [opened_in(Cwd, Name0)]]
                ++ [{ti_log, filename:dirname(Ti), existing(Ti)}
                    || #{ti := {{file, Ti0}, _}} <- [Plan],
                       Ti <- [opened_in(Cwd, Ti0)]],
            {ok, case Logs of [] -> no_log; _ -> Logs end};
        {error, _} = E ->
            E
    end.

opened_in(current, Name) ->
    Name;
opened_in(Cwd, Name) ->
    case file:get_cwd() of
        {ok, Cwd} -> Name;
        _ -> filename:absname(Name, Cwd)
    end.

trace_files(Name, #{rotate := _}) ->
    Base = filename:basename(Name),
    case file:list_dir(filename:dirname(Name)) of
        {ok, Files} -> lists:sort([F || F <- Files, is_part(Base, F)]);
        {error, _} -> []
    end;
trace_files(Name, _) ->
    existing(Name).

is_part(Base, File) ->
    case string:prefix(File, Base) of
        nomatch -> false;
        "" -> true;
        [$. | [_ | _] = Number] -> lists:all(fun is_digit/1, Number);
        _ -> false
    end.

is_digit(C) -> C >= $0 andalso C =< $9.

existing(Name) ->
    case filelib:is_regular(Name) of
        true -> [filename:basename(Name)];
        false -> []
    end.

%% @doc Deletes the files that {@link logs/2} finds.
-spec remove(term(), current | file:filename()) -> ok.
remove(TracerData, Cwd) ->
    case logs(TracerData, Cwd) of
        {ok, Logs} when is_list(Logs) ->
            _ = [file:delete(filename:join(Dir, F))
                 || {_, Dir, Files} <- Logs, F <- Files],
            ok;
        _ ->
            ok
    end.
