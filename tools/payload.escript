#!/usr/bin/env escript
%%% What the command pushes to nodes, for c_src/node/payload_data.S:
%%%
%%%   escript tools/payload.escript EBIN FILE... DIRECTORY
%%%
%%% EBIN has the beams, FILE... are the NIFs and the spooler. In DIRECTORY:
%%%
%%%   boot_head, boot_tail   arguments of erl_eval:expr/5, in the external
%%%                          format; the term Args goes between the two
%%%   build                  inviso_push:build/2
%%%
%%% What is pushed, and the expressions, come from inviso_push itself.

main([Ebin | Rest]) ->
    {Files, [Out]} = lists:split(length(Rest) - 1, Rest),
    true = code:add_patha(Ebin),
    ok = whole(Ebin),
    Mods = [pushed(Ebin, M) || M <- inviso_push:modules()],
    {Head, Tail} = split(Mods),
    write(Out, "boot_head", Head),
    write(Out, "boot_tail", Tail),
    write(Out, "build", inviso_push:build(Mods, [named(F) || F <- Files])).

%% A module that is forgotten would be missed on a node, and nowhere before.
whole(Ebin) ->
    Engine = [list_to_atom(filename:basename(F, ".beam"))
              || Wildcard <- ["inviso_engine*.beam", "inviso_trace*.beam"],
                 F <- filelib:wildcard(filename:join(Ebin, Wildcard))],
    case Engine -- [inviso_tracerdata | inviso_push:modules()] of
        [] ->
            ok;
        Missing ->
            io:format(standard_error, "inviso_push:engine_modules/0 lacks "
                      "~w~n", [Missing]),
            halt(1)
    end.

%% Stripped beams are compressed, which every release's loader undoes.
pushed(Ebin, Module) ->
    File = filename:join(Ebin, atom_to_list(Module) ++ ".beam"),
    case file:read_file(File) of
        {ok, Whole} ->
            {ok, {Module, Beam}} = beam_lib:strip(Whole),
            {Module, "inviso_pushed", Beam};
        {error, Reason} ->
            io:format(standard_error, "inviso_push:modules/0 names ~w: ~ts~n",
                      [Module, file:format_error(Reason)]),
            halt(1)
    end.

%% expr/5 and not exprs/2: it gives back no bindings, in which all of Mods
%% would be, and it does not make the node load erl_lint.
split(Mods) ->
    Block = {block, 1, inviso_push:loader()},
    Marker = 'here go the args',
    Args = [Block, [{'Args', Marker}, {'Mods', Mods}], none, none, value],
    <<131, Text/binary>> = term_to_binary(Args),
    <<131, Hole/binary>> = term_to_binary(Marker),
    [Head, Tail] = binary:split(Text, Hole, [global]),
    {Head, Tail}.

named(File) ->
    {ok, Bytes} = file:read_file(File),
    {filename:basename(File), Bytes}.

write(Directory, Name, Bytes) ->
    ok = file:write_file(filename:join(Directory, Name), Bytes).
