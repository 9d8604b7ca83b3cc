%% SPDX-License-Identifier: Apache-2.0
%% @doc Asks ms_oracle (test/tools/ms_oracle.c) and the VM the same.
-module(inviso_match_oracle).

-export([open/1, close/1, ask/2, vm/1, same/2, otp/0]).

%% @doc The program at that path.
-spec open(file:filename()) -> port().
open(Program) ->
    open_port({spawn_executable, Program},
              [{args, [integer_to_list(otp()), atom_to_list(node())]},
               {packet, 4}, binary, exit_status]).

-spec close(port()) -> true.
close(Port) -> port_close(Port).

%% @doc Its answers to {Args, Spec}, in order.
-spec ask(port(), [{[term()], term()}]) -> [term()].
ask(Port, Cases) ->
    [port_command(Port, term_to_binary(C)) || C <- Cases],
    [receive
         {Port, {data, Bin}} -> binary_to_term(Bin);
         {Port, {exit_status, S}} -> exit({oracle_died, S, C})
     after 60000 -> exit({oracle_silent, C})
     end || C <- Cases].

%% @doc What erlang:match_spec_test/3 answers, in the same form.
-spec vm({[term()], term()}) -> term().
vm({Args, Spec}) ->
    case erlang:match_spec_test(Args, Spec, trace) of
        {ok, Result, Flags, []} -> {ok, Result, Flags};
        {error, Texts} -> {error, [T || {error, T} <- Texts]};
        Other -> Other
    end.

%% @doc Whether an answer is the VM's; skip if there is none, for a reason.
-spec same(term(), term()) -> boolean() | skip.
same({cannot, _}, _) -> skip;
same({ok, R, F}, {ok, R1, F1}) ->
    %% Not =:=, to which 0.0 is -0.0, and before which the least small integer,
    %% when the VM has made it by trunc/1, is no integer that there is.
    Bytes = fun(T) -> term_to_binary(T, [deterministic]) end,
    F =:= F1 andalso Bytes(R) =:= Bytes(R1);
same({error, A}, {error, B}) ->
    PlainA = [plain(T) || T <- A],
    PlainB = [plain(T) || T <- B],
    PlainA =:= PlainB orelse lists:usort(PlainA) =:= lists:usort(PlainB);
same(A, B) -> A =:= B.

%% The text of an error up to what is printed otherwise on another node, a map,
%% whose order is the VM's own, or a variable, which it may have renamed. In
%% maps errors are found in the VM's order too, and by some VMs twice.
plain(Text) ->
    lists:takewhile(fun(C) -> not lists:member(C, "<#$") end, Text).

-spec otp() -> pos_integer().
otp() -> list_to_integer(erlang:system_info(otp_release)).
