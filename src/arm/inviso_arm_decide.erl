%% SPDX-License-Identifier: Apache-2.0
%% @doc Makes a tracer decide at the end of a call whether the call is recorded.
%% The rules are the actions `slow' and `failed', and rules of the command for
%% all functions.
%%
%% ```
%%  rules/1 ──► open/3 ──► tell/2 ──► patterns are set
%%  sweep/1, again and again
%% '''
%%
%% Until a call ends, the tracer ({@link inviso_tracer}) stores the call with its
%% arguments in memory of a fixed size. If the node has too little memory for
%% this, all calls are recorded, and the command chooses those that it shows.
-module(inviso_arm_decide).

-export([rules/1, limit/3, open/3, tell/2, sweep/1]).

-export_type([all/0, decide/0, told/0]).

%% The rule that the command has set for all functions: the shortest time of a call
%% that is recorded, and whether only calls that failed are recorded. `ReturnsSpec'
%% is a match spec for return values that count as failures; the functions below do
%% not use it.
-type all() :: {inviso_spec:rule(), ReturnsSpec :: binary() | none}.
%% A module, its functions to which a rule applies (`whole': all functions), and the
%% rule.
-type told() :: {module(), whole | [{atom(), arity()}], inviso_spec:rule()}.
%% The handle of the tracer, the rules in the order of their bits, and the place in
%% the tracer's table of processes at which the next call of sweep/1 begins.
-type decide() :: none | {pos_integer(), [inviso_spec:rule()],
                          non_neg_integer()}.

-define(NO_RULE, {none, false}).
%% The largest number of rules that a tracer can have: it stores a set of rules as
%% a mask of this many bits (c_src/nif/decide.c).
-define(MAX_RULES, 32).
%% The bound on open calls if the user wants no bound. This bound is never reached, so
%% the tracer only counts open calls.
-define(NO_BOUND, 16#ffffffff).
%% How many bytes the open calls and their arguments may take. The kernel allocates a
%% page of this memory only when the page is used.
-define(BYTES, 67108864).

%% @doc Returns the rules of specs, each with the functions to which it applies.
-spec rules([inviso_arm_functions:resolved()]) -> [told()].
rules(Resolved) ->
    [{M, Which, Rule} || {M, Which, #{rule := Rule}} <- Resolved].

%% @doc Returns the bound on open calls for the tracer. If there are rules, the
%% tracer must count open calls, even if the user wants no bound (`Limit' 0).
-spec limit(non_neg_integer(), all(), [told()]) -> non_neg_integer().
limit(Limit, {?NO_RULE, _}, []) -> Limit;
limit(0, _, _) -> ?NO_BOUND;
limit(Limit, _, _) -> Limit.

%% @doc Sets the rules of a tracer. Must be called after the tracer's bound on
%% open calls is set, and before the first pattern. Returns notes for the user.
-spec open(inviso_tracer:tracer(), all(), [told()]) ->
          {[binary()], decide()}.
open(_, {?NO_RULE, _}, []) ->
    {[], none};
open({inviso_tracer, Handle}, {All, _}, Told) ->
    Rules = lists:usort([Rule || {_, _, Rule} <- Told]),
    Processes = erlang:system_info(process_limit),
    case length(Rules) =< ?MAX_RULES andalso
        inviso_tracer:nif_decide(Handle, Processes, ?BYTES, All, Rules) of
        true ->
            Decide = {Handle, Rules, 0},
            ok = tell(Told, Decide),
            {[], Decide};
        false ->
            {[<<"the node records all calls, and the command decides which of "
                "them are slow or failed: the node has no memory for their "
                "arguments, or there are more than 32 different rules">>],
             none};
        closed ->
            {[], none}
    end.

%% @doc Sets the rules of functions in the tracer. Call this before the patterns
%% of the functions are set.
-spec tell([told()], decide()) -> ok.
tell(_, none) ->
    ok;
tell(Told, {Handle, Rules, _}) ->
    _ = [inviso_tracer:nif_rules(Handle, M, functions(M, Which),
                                 bit(Rule, Rules, 1))
         || {M, Which, Rule} <- Told, lists:member(Rule, Rules)],
    ok.

functions(M, whole) -> inviso_functions:of_module(M);
functions(_, FAs) -> FAs.

bit(Rule, [Rule | _], Bit) -> Bit;
bit(Rule, [_ | Rules], Bit) -> bit(Rule, Rules, 2 * Bit).

%% @doc Frees the memory of calls that were open when the calling process died.
%% Each call of this function checks only some of the processes.
-spec sweep(decide()) -> decide().
sweep({Handle, Rules, At}) ->
    case inviso_tracer:nif_sweep(Handle, At) of
        Next when is_integer(Next) -> {Handle, Rules, Next};
        _ -> {Handle, Rules, 0}
    end;
sweep(none) ->
    none.
