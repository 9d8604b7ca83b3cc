%% SPDX-License-Identifier: Apache-2.0
%% @doc Gives ms_oracle (test/tools/ms_oracle.c) and the VM the same cases.
-module(inviso_match_oracle).

-export([open/1, close/1, ask/2, vm/1, same/2, otp/0]).

-spec open(file:filename()) -> port().
open(Program) ->
    open_port({spawn_executable, Program},
              [{args, [integer_to_list(otp()), atom_to_list(node())]},
               {packet, 4}, binary, exit_status]).

-spec close(port()) -> true.
close(Port) -> port_close(Port).

%% @doc Returns the answers of ms_oracle to the cases, in the same order. A case
%% is {Args, Spec}.
-spec ask(port(), [{[term()], term()}]) -> [term()].
ask(Port, Cases) ->
    [port_command(Port, term_to_binary(C)) || C <- Cases],
    [receive
         {Port, {data, Bin}} -> binary_to_term(Bin);
         {Port, {exit_status, S}} -> exit({oracle_died, S, C})
     after 60000 -> exit({oracle_silent, C})
     end || C <- Cases].

%% @doc Returns the result of erlang:match_spec_test/3 in the form in which
%% ms_oracle answers.
-spec vm({[term()], term()}) -> term().
vm({Args, Spec}) ->
    case erlang:match_spec_test(Args, Spec, trace) of
        {ok, Result, Flags, []} -> {ok, Result, Flags};
        {error, Texts} -> {error, [T || {error, T} <- Texts]};
        Other -> Other
    end.

%% @doc Returns true if both answers are equal. If the first answer says that
%% ms_oracle cannot know the result, returns `skip'.
-spec same(term(), term()) -> boolean() | skip.
same({cannot, _}, _) -> skip;
same({ok, R, F}, {ok, R1, F1}) ->
    %% Terms are compared as bytes, because =:= does not distinguish 0.0 and -0.0. Also, if trunc/1
    %% has returned the smallest small integer, =:= wrongly says that this result differs from the
    %% same integer.
    Bytes = fun(T) -> term_to_binary(T, [deterministic]) end,
    F =:= F1 andalso Bytes(R) =:= Bytes(R1);
same({error, A}, {error, B}) ->
    PlainA = [plain(T) || T <- A],
    PlainB = [plain(T) || T <- B],
    PlainA =:= PlainB orelse lists:usort(PlainA) =:= lists:usort(PlainB);
same(A, B) -> A =:= B.

%% Returns the text of an error up to the first part that may differ between the program and the VM.
%% Such a part is a term that another node prints differently, a map (the VM has its own order of
%% keys), or a variable (the VM may have renamed it). The VM also reports the errors inside a map in
%% its own order, and some VMs report them twice.
plain(Text) ->
    lists:takewhile(fun(C) -> not lists:member(C, "<#$") end, Text).

-spec otp() -> pos_integer().
otp() -> list_to_integer(erlang:system_info(otp_release)).
