%% SPDX-License-Identifier: Apache-2.0
%% @doc Notes which counters the VM has on functions because sessions have set
%% counters on these functions.
%%
%% The VM does not show which tool has set a counter. So the NIF library notes
%% each counter of a session before the VM sets it. If the server is killed, the
%% next server reads the notes. A note is valid only for the code for which it was
%% made. If the module is loaded again, the new code has only the counters that
%% sessions have set for on_load.
-module(inviso_engine_counted).

-export([during/2, set/2, see/1, left/1, is_seen/1]).

-export_type([where/0]).

-type where() :: mfa() | on_load.
-type state() :: inviso_engine_breakpoints:state().

%% Keys of notes that are not about one function. No function has the arity 256.
-define(ON_LOAD, {'_', on_load, 256}).
-define(SEEN(M), {M, '_', 256}).

%% @doc Calls `Change', which changes counters in the VM. Meanwhile the notes
%% contain the old and the new counters, so that each counter in the VM is noted. If
%% the VM refuses the change, the notes become what they were before.
-spec during([{where(), Old :: state(), New :: state()}],
             fun(() -> ok | {error, term()})) -> ok | {error, term()}.
during(Changes, Change) ->
    Noted = [{Where, bits(New), note(Where, Bits)}
             || {Where, Old, New} <- Changes,
                Bits <- [bits(Old) bor bits(New)], Bits =/= 0],
    Result = Change(),
    _ = [case Result of
             ok -> note(Where, Bits);
             {error, _} -> write(Where, Before)
         end || {Where, Bits, Before} <- Noted],
    Result.

%% @doc Replaces the note about a function. `State' contains the counters that the
%% VM has now.
-spec set(where(), state()) -> ok.
set(Where, State) ->
    _ = note(Where, bits(State)),
    ok.

%% @doc Notes that the server has seen the code of these modules, and has noted the
%% counters that their functions have got from on_load.
-spec see([module()]) -> ok.
see(Modules) ->
    _ = [note(?SEEN(M), 1) || M <- Modules],
    ok.

%% @doc Returns true if see/1 was called for a module, and the module was not loaded
%% with other code since.
-spec is_seen(module()) -> boolean().
is_seen(M) ->
    noted(?SEEN(M)) =/= 0.

%% @doc Returns the noted counters, which the VM may still have. This server or an
%% earlier server has set these counters.
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

%% Returns a hash of the module's code, shifted left by the three bits of the
%% counters.
version(Where) ->
    {M, _, _} = mfa(Where),
    erlang:phash2(inviso_engine_breakpoints:version(M)) bsl 3.

write(Where, Note) ->
    {M, F, A} = mfa(Where),
    inviso_engine:count(M, F, A, Note).

mfa(on_load) -> ?ON_LOAD;
mfa(MFA) -> MFA.
