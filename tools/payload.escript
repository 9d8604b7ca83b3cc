#!/usr/bin/env escript
%%% Makes the files that are pushed to nodes.
%%%
%%%   escript tools/payload.escript pushed BEAMS DIRECTORY
%%%
%%% puts the combined modules from BEAMS (tools/combine.escript), and the list of
%%% their parts, into DIRECTORY, from which inviso_bring reads them.
%%%
%%%   escript tools/payload.escript command EBIN PUSHED FILE... DIRECTORY
%%%
%%% makes what the command carries, for c_src/node/payload_data.S. EBIN has the
%%% beams that were combined, PUSHED is the directory above, FILE... are the files
%%% that inviso_push:files/0 names. In DIRECTORY:
%%%
%%%   survey                 arguments of erl_eval:expr/5, in the external
%%%                          format: the command's first questions to a node
%%%   boot_head, boot_tail   arguments of the call that loads the code, in two
%%%                          parts; the term Args goes between them
%%%   build                  the result of inviso_push:build/3
%%%
%%% The expressions that load the code come from inviso_push itself.

%% The modules that `trace', `record' and the other commands need.
-define(COMMAND, [inviso_tracer]).

main(["pushed", Beams, Out]) ->
    {ok, [#{combined := Combined}]} = file:consult(filename:join(Beams, "modules")),
    _ = [file:delete(F) || F <- filelib:wildcard(filename:join(Out, "*"))],
    _ = [write(Out, beam(M), stripped(filename:join(Beams, beam(M))))
         || M <- Combined],
    {ok, _} = file:copy(filename:join(Beams, "modules"),
                        filename:join(Out, "modules"));
main(["command", Ebin, Pushed | Rest]) ->
    {Files, [Out]} = lists:split(length(Rest) - 1, Rest),
    true = code:add_patha(Ebin),
    {ok, [#{rooms := Rooms, combined := Combined}]} =
        file:consult(filename:join(Pushed, "modules")),
    {Head, Tail} = split([{M, "inviso_pushed",
                           bytes(filename:join(Pushed, beam(M)))}
                          || M <- ?COMMAND, lists:member(M, Combined)]),
    write(Out, "survey", survey()),
    write(Out, "boot_head", Head),
    write(Out, "boot_tail", Tail),
    write(Out, "build",
          inviso_push:build([md5(Ebin, M) || {_, Ms} <- Rooms, M <- Ms],
                            [md5(Pushed, M) || M <- Combined],
                            [{filename:basename(F), bytes(F)} || F <- Files])).

md5(Directory, Module) ->
    {ok, {Module, Md5}} = beam_lib:md5(filename:join(Directory, beam(Module))),
    {Module, Md5}.

beam(Module) ->
    atom_to_list(Module) ++ ".beam".

%% Strips a beam, which also compresses it. The loader of every release decompresses
%% it.
stripped(File) ->
    {ok, {_, Beam}} = beam_lib:strip(bytes(File)),
    Beam.

%% Returns the survey (abi/control.h, section 1). It calls only functions of modules
%% that are loaded on every node. Its result is a tuple and not a map, so that even
%% a release without maps answers, with a release number that is refused.
survey() ->
    {ok, Tokens, _} = erl_scan:string(
        "{erlang:system_info(otp_release),"
        " erlang:system_info(version),"
        " erlang:system_info(system_architecture),"
        " erlang:system_info({wordsize, external}),"
        " erlang:element(2, os:type()),"
        " erlang:nodes(connected),"
        " case file:read_file(\"/proc/self/maps\") of"
        "     {ok, Maps} -> binary:match(Maps, <<\"/ld-musl-\">>) =/= nomatch;"
        "     _ -> false"
        " end}."),
    {ok, [Expr]} = erl_parse:parse_exprs(Tokens),
    <<131, Args/binary>> = term_to_binary([Expr, [], none, none, value]),
    Args.

%% Returns the parts of the call before and after the term Args. The node calls
%% erl_eval:expr/5 and not exprs/2, because expr/5 does not return the bindings, which
%% contain all of Mods, and does not make the node load erl_lint.
split(Mods) ->
    Block = {block, 1, inviso_push:loader()},
    Marker = 'here go the args',
    Args = [Block, [{'Args', Marker}, {'Mods', Mods}], none, none, value],
    <<131, Text/binary>> = term_to_binary(Args),
    <<131, Hole/binary>> = term_to_binary(Marker),
    [Head, Tail] = binary:split(Text, Hole, [global]),
    {Head, Tail}.

bytes(File) ->
    {ok, Bytes} = file:read_file(File),
    Bytes.

write(Directory, Name, Bytes) ->
    ok = file:write_file(filename:join(Directory, Name), Bytes).
