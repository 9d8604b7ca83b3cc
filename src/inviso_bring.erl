%% SPDX-License-Identifier: Apache-2.0
%% @doc Bringing our code to a node from another Erlang node, as the command
%% does it from C.
%%
%% ```
%%  control node                           traced node
%%  ------------                           -----------
%%  bring/3 -- loader, modules, attach --> guard   (inviso_push)
%%          -- put: NIF, spooler --------> its directory
%%          -- ready --------------------> NIF loaded
%% '''
-module(inviso_bring).

-export([bring/3, payload/0]).

-define(TIMEOUT, 30000).
%% Somebody else comes or goes at the same moment.
-define(AGAIN_MS, 15000).

%% @doc Sees to it that a node has our code, and attaches `Owner' to the guard
%% there.
%%
%% `Opts': `{dir, Directory}', where on the node to make the private directory
%% (default: TMPDIR of the node, then /tmp, then /var/tmp).
-spec bring(node(), pid(), [term()]) ->
          {ok, inviso_push:guard()} | {error, term()}.
bring(Node, Owner, Opts) ->
    try
        to(Node, Owner, Opts)
    catch
        error:{erpc, noconnection} -> {error, nodedown};
        error:{erpc, Reason} -> {error, {badrpc, Reason}};
        error:{exception, Reason, _} -> {error, {badrpc, Reason}};
        exit:{exception, Reason} -> {error, {badrpc, Reason}};
        exit:{Reason, {gen_server, call, _}} -> {error, {badrpc, Reason}}
    end.

to(Node, Owner, _Opts) when Node =:= node() ->
    Args = args(inviso_push:build(), Owner, code, []),
    case attach(Node, [], Args, deadline()) of
        {ok, #{guard := Guard}} -> {ok, Guard};
        {error, _} = E -> E
    end;
to(Node, Owner, Opts) ->
    case payload() of
        {ok, Modules, Files} ->
            Dirs = [utf8(Dir) || {dir, Dir} <- Opts],
            Build = inviso_push:build(Modules, Files),
            Args = args(Build, Owner, tracer, Dirs),
            case attach(Node, Modules, Args, deadline()) of
                {ok, #{guard := Guard, files := Missing}} ->
                    runtime(Node, Guard, Owner,
                            placed(Guard, Owner,
                                   [{utf8(N), Bin}
                                    || {N, Bin} <- Files,
                                       lists:member(utf8(N), Missing)]));
                {error, _} = E ->
                    E
            end;
        {error, _} = E ->
            E
    end.

args(Build, Owner, Want, Dirs) ->
    #{protocol => 1, build => Build, client => Owner, want => Want,
      dirs => Dirs, watch => process,
      owner => utf8(io_lib:format("the Inviso API of ~ts", [node(Owner)]))}.

deadline() ->
    erlang:monotonic_time(millisecond) + ?AGAIN_MS.

attach(Node, Modules, Args, Deadline) ->
    evaluated(Node, inviso_push:loader(),
              [{'Args', Args}, {'Mods', Modules}], Deadline).

evaluated(Node, Expressions, Bindings, Deadline) ->
    case erpc:call(Node, erl_eval, exprs, [Expressions, Bindings], ?TIMEOUT) of
        {value, {error, again, _}, _} ->
            case erlang:monotonic_time(millisecond) < Deadline of
                true ->
                    timer:sleep(20),
                    evaluated(Node, Expressions, Bindings, Deadline);
                false ->
                    {error, busy}
            end;
        {value, {error, Class, Text}, _} ->
            {error, {Class, unicode:characters_to_list(Text)}};
        {value, Value, _} ->
            Value
    end.

%% What the runtime component needs besides.
runtime(Node, Guard, Owner, {ok, Guard} = Ok) ->
    {Modules, []} = beams(inviso_push:rt_modules()),
    Sums = [begin
                {ok, {M, Md5}} = beam_lib:md5(Bin),
                {M, Md5}
            end || {M, _, Bin} <- Modules],
    case evaluated(Node, inviso_push:rt_loader(),
                   [{'Mods', Modules}, {'Sums', Sums}], deadline()) of
        ok ->
            Ok;
        {error, _} = E ->
            _ = inviso_push:leave(Guard, Owner),
            E
    end;
runtime(_, _, _, {error, _} = E) ->
    E.

placed(Guard, Owner, []) ->
    case gen_server:call(Guard, ready, ?TIMEOUT) of
        ok -> {ok, Guard};
        {error, Class, Text} -> left(Guard, Owner, Class, Text)
    end;
placed(Guard, Owner, [{Name, Bytes} | Rest]) ->
    case gen_server:call(Guard, {put, Name, Bytes}, ?TIMEOUT) of
        ok -> placed(Guard, Owner, Rest);
        {error, Class, Text} -> left(Guard, Owner, Class, Text)
    end.

left(Guard, Owner, Class, Text) ->
    _ = inviso_push:leave(Guard, Owner),
    {error, {Class, unicode:characters_to_list(Text)}}.

%% @doc What is brought to every node: modules, as code:atomic_load/1 takes them,
%% and files.
-spec payload() -> {ok, [{module(), string(), binary()}], [{string(), binary()}]}
              | {error, {incomplete_installation, [term()]}}.
payload() ->
    {Modules, NoCode} = beams(inviso_push:modules()),
    {_, NoRuntime} = beams(inviso_push:rt_modules()),
    Priv = inviso_push:priv_dir(),
    Files = [{Name, file:read_file(filename:join(Priv, Name))}
             || Name <- inviso_push:files()],
    NoFile = [{filename:join(Priv, N), R} || {N, {error, R}} <- Files],
    case NoCode ++ NoRuntime ++ NoFile of
        [] ->
            {ok, Modules, [{N, Bin} || {N, {ok, Bin}} <- Files]};
        Missing ->
            {error, {incomplete_installation, Missing}}
    end.

beams(Modules) ->
    Found = [{M, code:get_object_code(M)} || M <- Modules],
    {[{M, "inviso_pushed", Bin} || {M, {M, Bin, _}} <- Found],
     [M || {M, error} <- Found]}.

utf8(Text) ->
    unicode:characters_to_binary(Text).
