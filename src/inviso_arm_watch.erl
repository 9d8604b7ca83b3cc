%% SPDX-License-Identifier: Apache-2.0
%% @doc Whether patterns that were set are set still.
%%
%% A module that is loaded anew has none. Where the VM has one pattern for a
%% function, somebody else may take ours away, or set another. What is gone is
%% set again where nobody else's is; what happened is told.
-module(inviso_arm_watch).

-export([look/4]).

%% Of a look.
-define(MAX_PATTERNS, 200).

%% @doc Looks at some of the patterns, those `Next' names, or from the first on
%% if there are none; `Set' has all, the last first. The rest is to be looked at
%% the next time.
-spec look([inviso_otp:pattern()], [inviso_otp:pattern()],
           inviso_otp:scope(), non_neg_integer()) ->
          {[binary()], [inviso_otp:pattern()]}.
look([], [], _Scope, _Ms) ->
    {[], []};
look([], Set, Scope, Ms) ->
    look(lists:reverse(Set), Set, Scope, Ms);
look(Next, Set, Scope, Ms) ->
    {Some, Rest} = lists:split(min(?MAX_PATTERNS, length(Next)), Next),
    Found = [{inviso_otp:pattern_state(Scope, P), P} || P <- Some],
    Gone = lists:usort([M || {gone, {_, {M, _, _}, _}} <- Found]),
    {[again(M, Set, Scope, Ms) || M <- Gone]
     ++ lists:usort([changed(P) || {changed, P} <- Found]), Rest}.

%% All of a module: in the order that they were set in, later ones replace
%% what earlier ones set.
again(M, Set, Scope, Ms) ->
    Patterns = [P || {_, {M0, _, _}, _} = P <- lists:reverse(Set), M0 =:= M],
    case again(Patterns, Scope, []) of
        ok ->
            format("the trace patterns of ~tw were gone, since it was loaded "
                   "anew or somebody cleared them, and are set again: what was "
                   "called before that, for up to ~b ms, is missing", [M, Ms]);
        {error, nothing} ->
            format("the functions of ~tw that are traced are gone: another "
                   "version of it was loaded, or none is", [M]);
        {error, _} ->
            format("the trace patterns of ~tw are gone, since it was loaded "
                   "anew or somebody cleared them, and somebody else has set "
                   "others: nothing more of it is recorded", [M])
    end.

again([], _Scope, []) ->
    {error, nothing};
again([], _Scope, _Ours) ->
    ok;
again([{Kind, MFA, MS} = P | Rest], Scope, Ours) ->
    case inviso_otp:set_pattern(Scope, Kind, MFA, MS, Ours) of
        {ok, 0} -> again(Rest, Scope, Ours);
        {ok, _} -> again(Rest, Scope, [P | Ours]);
        {error, _} = E -> E
    end.

changed({event, Event, _}) ->
    format("which messages ~ts traces was changed by somebody else: what is "
           "recorded is what they want", [Event]);
changed({_, {M, F, A}, _}) ->
    format("the trace pattern of ~ts was changed by somebody else: what is "
           "recorded of it is what they want", [inviso_spec:format_mfa(M, F, A)]).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
