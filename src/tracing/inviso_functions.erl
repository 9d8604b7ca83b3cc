%% SPDX-License-Identifier: Apache-2.0
%% @doc Lists the functions of loaded modules.
-module(inviso_functions).

-export([of_module/1, of_pattern/1]).

%% @doc Returns all functions of a module, including those that the compiler has
%% generated. Returns `[]' if the module is not loaded or is being purged.
-spec of_module(module()) -> [{atom(), arity()}].
of_module(M) ->
    try
        lists:usort(M:module_info(functions))
    catch
        error:undef -> []
    end.

%% @doc Returns the loaded functions that a pattern matches. If the pattern
%% names one function, that function is returned even if it is not loaded.
-spec of_pattern({module() | '_', atom(), arity() | '_'}) -> [mfa()].
of_pattern({'_', F, A}) ->
    lists:append([of_pattern({M, F, A}) || {M, _} <- code:all_loaded()]);
of_pattern({_, F, A} = MFA) when F =/= '_', is_integer(A) ->
    [MFA];
of_pattern({M, F, A}) ->
    [{M, F1, A1} || {F1, A1} <- of_module(M),
                    F =:= '_' orelse F =:= F1, A =:= '_' orelse A =:= A1].
