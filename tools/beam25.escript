#!/usr/bin/env escript
%%% Makes beams that OTP 28 or later compiled load on OTP 25:
%%%
%%%   escript tools/beam25.escript FILE.beam...
%%%
%%% The compiler's options already avoid newer instructions (tools/erlc25). This
%%% program makes two more changes: it compresses the literals, and it writes the
%%% number of OTP 25's last instruction into the header. If the code uses a newer
%%% instruction, it prints the instruction, does not change the file, and fails at
%%% the end.

%% The number of the last instruction of OTP 25, badrecord/1.
-define(LAST_OPCODE, 180).
%% Instructions that OTP 26 and later have added, by name, because beam_disasm
%% returns no numbers.
-define(NEWER, [update_record, bs_match, executable_line, debug_line, bif3]).

main(Files) ->
    Converted = [convert(File) || File <- Files],
    halt(case lists:all(fun(Is) -> Is end, Converted) of true -> 0; false -> 1 end).

convert(File) ->
    case newer_instructions(File) of
        [] ->
            {ok, _Module, Chunks} = beam_lib:all_chunks(File),
            {ok, Beam} = beam_lib:build_module([chunk(C) || C <- Chunks]),
            ok = file:write_file(File, Beam),
            true;
        Found ->
            io:format(standard_error,
                      "~ts: will not load on OTP 25, which has no such "
                      "instructions: ~w~n(bs_match: patterns on binaries; "
                      "use binary:part/2, binary:decode_unsigned/1, ...)~n",
                      [File, Found]),
            false
    end.

newer_instructions(File) ->
    {beam_file, _, _, _, _, Functions} = beam_disasm:file(File),
    lists:usort([{Name, {Function, Arity}} ||
                    {function, Function, Arity, _, Code} <- Functions,
                    Name <- [name(I) || I <- Code],
                    lists:member(Name, ?NEWER)]).

name(Instruction) when is_tuple(Instruction) -> element(1, Instruction);
name(Instruction) -> Instruction.

chunk({"LitT", <<0:32, Plain/binary>>}) ->
    {"LitT", <<(byte_size(Plain)):32, (zlib:compress(Plain))/binary>>};
chunk({"Code", <<Head:8/binary, Last:32, Rest/binary>>})
  when Last > ?LAST_OPCODE ->
    {"Code", <<Head/binary, ?LAST_OPCODE:32, Rest/binary>>};
chunk(Chunk) ->
    Chunk.
