%% SPDX-License-Identifier: Apache-2.0
%% @doc Which functions the VM counts for sessions.
%%
%% A counter does not tell whose it is, so that is noted in C before the VM is
%% told: for the server that comes after one that was killed. A note holds for
%% the code that it was made of. Code that was loaded later has none of our
%% counters, but those that the VM gives to what it loads.
-module(inviso_engine_counted).

-export([expect/1, met/1, undo/1, set/2, see/1, left/1, is_seen/1]).

-export_type([where/0, expected/0]).

-type where() :: mfa() | on_load.
-type state() :: inviso_engine_breakpoints:state().
-opaque expected() :: [{mfa(), non_neg_integer(), non_neg_integer()}].

%% No function has that arity.
-define(ON_LOAD, {'_', on_load, 256}).
-define(SEEN(M), {M, '_', 256}).

%% @doc The VM is about to be told; whatever becomes of it, it has nothing else
%% than it has had and is to have.
-spec expect([{where(), Old :: state(), New :: state()}]) -> expected().
expect(Changes) ->
    [{Where, bits(New), note(Where, Bits)}
     || {Where, Old, New} <- Changes,
        Bits <- [bits(Old) bor bits(New)], Bits =/= 0].

%% @doc It has all.
-spec met(expected()) -> ok.
met(Expected) ->
    _ = [note(Where, Bits) || {Where, Bits, _} <- Expected],
    ok.

%% @doc It has refused.
-spec undo(expected()) -> ok.
undo(Expected) ->
    _ = [write(Where, Before) || {Where, _, Before} <- Expected],
    ok.

%% @doc It has what is left of that.
-spec set(where(), state()) -> ok.
set(Where, State) ->
    _ = note(Where, bits(State)),
    ok.

%% @doc What the VM gives to modules that it loads, these have not got, or it is
%% noted of each function.
-spec see([module()]) -> ok.
see(Modules) ->
    _ = [note(?SEEN(M), 1) || M <- Modules],
    ok.

%% @doc Whether their code is still the same.
-spec is_seen(module()) -> boolean().
is_seen(M) ->
    noted(?SEEN(M)) =/= 0.

%% @doc What of a state the VM may still have, of whichever server.
-spec left(where()) -> state().
left(Where) ->
    Bits = noted(Where),
    maps:from_list([{Kind, true} || {Kind, Bit} <- kinds(),
                                    Bits band Bit =/= 0]).

kinds() ->
    Kinds = inviso_engine_counters:kinds(),
    lists:zip(Kinds, [1, 2, 4]).

bits(State) ->
    lists:sum([Bit || {Kind, Bit} <- kinds(), is_map_key(Kind, State)]).

note(Where, 0) -> write(Where, 0);
note(Where, Bits) -> write(Where, version(Where) bor Bits).

noted(Where) ->
    {M, F, A} = mfa(Where),
    Note = inviso_engine:counted(M, F, A),
    case Note =/= 0 andalso version(Where) of
        Version when Version =:= Note band bnot 7 -> Note band 7;
        _ -> 0
    end.

%% 30 bits.
version(Where) ->
    {M, _, _} = mfa(Where),
    erlang:phash2(inviso_engine_breakpoints:version(M)) bsl 3.

write(Where, Note) ->
    {M, F, A} = mfa(Where),
    inviso_engine:count(M, F, A, Note).

mfa(on_load) -> ?ON_LOAD;
mfa(MFA) -> MFA.
