#!/usr/bin/env escript
%%% Prepares beams for loading, which finds instructions and formats that this
%%% OTP does not have, and runs nothing of them:
%%%
%%%   escript tools/load-beams.escript DIRECTORY
%%%
%%% A line of TAP for each.

main([Directory]) ->
    Files = lists:sort(filelib:wildcard(filename:join(Directory, "*.beam"))),
    Results = [load(File) || File <- Files],
    %% The VM's own report of why comes late.
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
