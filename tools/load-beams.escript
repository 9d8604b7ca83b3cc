#!/usr/bin/env escript
%%% Checks that this OTP can load beams. Each beam is prepared for loading, which
%%% fails if the beam has instructions or formats that this OTP does not have. No
%%% code of the beams runs.
%%%
%%%   escript tools/load-beams.escript DIRECTORY
%%%
%%% Prints a line in the format TAP for each beam.

main([Directory]) ->
    Files = lists:sort(filelib:wildcard(filename:join(Directory, "*.beam"))),
    Results = [load(File) || File <- Files],
    %% If loading fails, the VM prints the reason some time later.
    timer:sleep(200),
    halt(case lists:all(fun(Ok) -> Ok end, Results) of true -> 0; false -> 1 end).

load(File) ->
    Module = list_to_atom(filename:basename(File, ".beam")),
    {ok, Beam} = file:read_file(File),
    case erlang:prepare_loading(Module, Beam) of
        {error, Reason} ->
            io:format("not ok ~s on OTP ~s: ~p~n",
                      [Module, erlang:system_info(otp_release), Reason]),
            false;
        _ ->
            io:format("ok ~s~n", [Module]),
            true
    end.
