%% SPDX-License-Identifier: Apache-2.0
%% @doc Runs inviso's match specs on the VM's own terms, with the NIF in
%% test/nif/inviso_match_vm.c.
-module(inviso_match_vm).

-export([load/0, ask/1, test/4]).

-spec load() -> ok | {error, term()}.
load() ->
    Dir = filename:dirname(code:which(?MODULE)),
    erlang:load_nif(filename:join(Dir, ?MODULE_STRING), 0).

%% @doc Runs the spec of a case in the NIF. Returns {ok, Result, Flags}, error, or {cannot, Code}.
-spec ask({[term()], term()}) -> term().
ask({Args, Spec}) ->
    test(inviso_match_oracle:otp(), node(), term_to_binary(Spec), Args).

-spec test(pos_integer(), node(), binary(), [term()]) -> term().
test(_Otp, _Node, _Spec, _Args) ->
    erlang:nif_error(not_loaded).
