%% SPDX-License-Identifier: Apache-2.0
%% @doc Sends inviso's code from one Erlang node to another. (The command does the
%% same from C.)
%%
%% ```
%%  control node                           traced node
%%  ------------                           -----------
%%  bring/3 -- loader, modules, attach --> guard   (inviso_push)
%%          -- put: NIF, spooler --------> the place
%%          -- ready --------------------> NIF loaded
%% '''
-module(inviso_bring).

-export([bring/3, payload/0]).

-define(TIMEOUT, 30000).
-include("inviso_options.hrl").

%% @doc Sends inviso's code to a node, unless inviso is installed there, and
%% attaches `Owner' as a client to the guard of the node.
%%
%% `Opts' may contain `{dir, Directory}': a directory on the node, in which the
%% private directory is made. The default is the node's TMPDIR, then /tmp, then
%% /var/tmp.
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
    case inviso_push:build() of
        {ok, Build} ->
            Args = args(Build, Owner, code, []),
            case attach(Node, [], Args, deadline()) of
                {ok, #{guard := Guard}} -> {ok, Guard};
                {error, _} = E -> E
            end;
        {missing, M} ->
            {error, {incomplete_installation, [M]}}
    end;
to(Node, Owner, Opts) ->
    case payload() of
        {ok, Build, Modules, Files} ->
            Dirs = [utf8(Dir) || {dir, Dir} <- Opts],
            Args = args(Build, Owner, tracer, Dirs),
            case attach(Node, Modules, Args, deadline()) of
                {ok, #{guard := Guard, files := Missing}} ->
                    placed(Guard, Owner, [{utf8(N), Bin}
                                          || {N, Bin} <- Files,
                                             lists:member(utf8(N), Missing)]);
                {error, _} = E ->
                    E
            end;
        {error, _} = E ->
            E
    end.

args(Build, Owner, Want, Dirs) ->
    #{protocol => ?CONTROL_PROTOCOL, build => Build, client => Owner, want => Want,
      dirs => Dirs, watch => process,
      owner => utf8(io_lib:format("the Inviso API of ~ts", [node(Owner)]))}.

deadline() ->
    erlang:monotonic_time(millisecond) + ?CONTROL_AGAIN_MS.

attach(Node, Modules, Args, Deadline) ->
    evaluated(Node, inviso_push:loader(),
              [{'Args', Args}, {'Mods', Modules}], Deadline).

evaluated(Node, Expressions, Bindings, Deadline) ->
    case erpc:call(Node, erl_eval, exprs, [Expressions, Bindings], ?TIMEOUT) of
        {value, {error, again, _}, _} ->
            case erlang:monotonic_time(millisecond) < Deadline of
                true ->
                    timer:sleep(?CONTROL_PAUSE_MS),
                    evaluated(Node, Expressions, Bindings, Deadline);
                false ->
                    {error, busy}
            end;
        {value, {error, Class, Text}, _} ->
            {error, {Class, unicode:characters_to_list(Text)}};
        {value, Value, _} ->
            Value
    end.

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

%% @doc Returns what is sent to nodes: the build (a checksum of the code), the
%% modules in the form that code:atomic_load/1 takes, and the files.
-spec payload() -> {ok, binary(), [{module(), string(), binary()}],
                    [{string(), binary()}]}
              | {error, {incomplete_installation, [term()]}}.
payload() ->
    Combined = inviso_pushed:combined(),
    {Beams, NoBeam} = read(inviso_pushed:dir(),
                           [atom_to_list(M) ++ ".beam" || M <- Combined]),
    {Names, Sources} = lists:unzip(inviso_push:brought()),
    {Files, NoFile} = read(inviso_priv:dir(), Sources),
    case {inviso_push:build(), NoBeam ++ NoFile} of
        {{ok, Build}, []} ->
            {ok, Build, [{M, "inviso_pushed", Bin}
                         || {M, {_, Bin}} <- lists:zip(Combined, Beams)],
             [{N, Bin} || {N, {_, Bin}} <- lists:zip(Names, Files)]};
        {{missing, M}, Missing} ->
            {error, {incomplete_installation, [M | Missing]}};
        {_, Missing} ->
            {error, {incomplete_installation, Missing}}
    end.

read(Dir, Names) ->
    Read = [{N, file:read_file(filename:join(Dir, N))} || N <- Names],
    {[{N, Bin} || {N, {ok, Bin}} <- Read],
     [{filename:join(Dir, N), Why} || {N, {error, Why}} <- Read]}.

utf8(Text) ->
    unicode:characters_to_binary(Text).
