%% SPDX-License-Identifier: Apache-2.0
%% @doc Makes random scripts for {@link inviso_sessions_play}: sessions, flags,
%% patterns, match specs, work, and queries. A seed gives the same script on
%% each release.
%%
%% The scripts leave out:
%%
%%   - events that depend on chance: `running', `garbage_collection'
%%   - the item `meta', for which OTP 27 and 29 give different answers
%%   - what the engine does differently on OTP 25 and 26: a global pattern beside
%%     another session's local pattern; `return_to' after exceptions, and from
%%     recursion through functions that are not traced; `call_time' while match
%%     specs change the flag `call'
-module(inviso_sessions_gen).

-export([script/1]).

-define(WORK, inviso_sessions_work).

%% @doc Returns the script for a seed.
-spec script(integer()) -> [tuple()].
script(Seed) ->
    _ = rand:seed(exsss, Seed),
    Sessions = lists:sublist([a, b, c, d], one([1, 2, 2, 2, 3, 3, 4])),
    Scope = one([local, local, global]),
    put(return_to, one([true, false])),
    put(new, one([true, false])),
    timed([{process, other}]
          ++ [{open, S} || S <- Sessions]
          ++ [{S, process, [tracee, true, [call | flags()]]} || S <- Sessions]
          ++ [{S, function, function(Scope)} || S <- Sessions]
          ++ [step(Sessions, Scope) || _ <- lists:seq(1, 3 + rand:uniform(15))]
          ++ [{run, work(Sessions, 2)}
              | [{S, info, [tracee, flags]} || S <- Sessions]]).

%% Replaces `call_time' by `call_count' if a match spec of the script may change the
%% flag `call'. The engine's server learns of such a change a little later, and until
%% then the process's calls count as before.
timed(Script) ->
    Specs = [Spec || {_, F, Args} <- Script, lists:member(F, [function, send, recv]),
                     Spec <- Args, is_list(Spec)],
    case [A || Spec <- Specs, {_, _, Body} <- Spec, A <- Body, is_tuple(A),
               lists:member(element(1, A), [enable_trace, disable_trace, trace]),
               lists:member(call, lists:flatten(tuple_to_list(A)))] of
        [] -> Script;
        _ -> [untimed(Step) || Step <- Script]
    end.

untimed({S, function, [Mfa, Spec, Kinds]}) ->
    {S, function, [Mfa, Spec, [case K of
                                   call_time -> call_count;
                                   _ -> K
                               end || K <- Kinds]]};
untimed(Step) ->
    Step.

step(Sessions, Scope) ->
    S = one(Sessions),
    case rand:uniform(32) of
        N when N =< 9 -> {run, work(Sessions, 2)};
        N when N =< 11 -> {run, other, work(Sessions, 2)};
        N when N =< 16 -> {S, process, process()};
        N when N =< 23 -> {S, function, function(Scope)};
        N when N =< 25 -> {S, send, [message_spec(send), []]};
        26 -> {S, recv, [message_spec('receive'), []]};
        N when N =< 29 -> {S, info, info()};
        30 -> {info, one([new, all, send, 'receive', mfa()])};
        31 -> one([{kill, other}, {S, info, info()}, {destroy, S}]);
        32 -> one([{destroy, S}, {run, work(Sessions, 2)}])
    end.

%%---------------------------------------------------------------------------
%% Tracees, flags and patterns

process() ->
    Who = one([tracee, tracee, tracee, other, other
               | [N || get(new), N <- [new, new_processes]]]),
    case rand:uniform(3) of
        1 -> [Who, false, one([[all], flags(), flags()])];
        2 -> [Who, true, flags()];
        3 -> [one([Who, Who, Who, all, existing]), false, flags()]
    end.

flags() ->
    lists:usort([flag() || _ <- lists:seq(1, rand:uniform(3))]).

flag() ->
    case rand:uniform(22) of
        N when N =< 4 -> call;
        N when N =< 6 -> case get(return_to) of
                             true -> return_to;
                             false -> call
                         end;
        N when N =< 8 -> send;
        N when N =< 10 -> 'receive';
        N when N =< 12 -> procs;
        N when N =< 14 -> set_on_spawn;
        15 -> set_on_first_spawn;
        N when N =< 17 -> one([set_on_link, set_on_first_link]);
        N when N =< 19 -> arity;
        20 -> silent;
        21 -> one([timestamp, monotonic_timestamp,
                   strict_monotonic_timestamp]);
        22 -> call
    end.

function(global) ->
    Mfa = {_, _, Arity} = one([mfa(), mfa(), mfa(), wild()]),
    [Mfa, spec(Arity), one([[], [global]])];
function(local) ->
    Mfa = {_, _, Arity} = one([mfa(), mfa(), mfa(), wild()]),
    case rand:uniform(10) of
        N when N =< 5 -> [Mfa, spec(Arity), [local]];
        N when N =< 7 -> [Mfa, spec(Arity), [meta]];
        N when N =< 9 -> [Mfa, one([true, true, false, restart, pause]),
                          one([[call_count], [call_count], [call_time]])];
        10 ->
            [Mfa, one([true, false]),
             one([[local, call_count], [local, meta], [local, call_time],
                  [meta, call_count]])]
    end.

mfa() ->
    {F, A} = one([{f, 1}, {f, 1}, {f, 1}, {g, 2}, {g, 2}, {h, 1}, {local, 1},
                  {fact, 1}, {fail, 1}, {tail, 1}, {twice, 1}, {even, 1},
                  {odd, 1}, {outer, 1}, {inner, 1}, {leaf, 1}]),
    {?WORK, F, A}.

wild() ->
    one([{?WORK, '_', '_'}, {?WORK, f, '_'}, {?WORK, g, '_'}]).

info() ->
    one([[one([tracee, other, new]), one([flags, tracer])],
         [mfa(), one([traced, match_spec, meta_match_spec, call_count,
                      call_time, all])],
         [one([send, 'receive']), match_spec]]).

%%---------------------------------------------------------------------------
%% Work

work(Sessions, Depth) ->
    [task(Sessions, Depth) || _ <- lists:seq(1, rand:uniform(4))].

task(Sessions, Depth) ->
    case rand:uniform(26) of
        N when N =< 14 -> call();
        N when N =< 17 -> {send, value()};
        18 -> one([spawn, {spawn, f, [1]}]);
        N when N =< 20, Depth > 0 -> {spawn_worker, work(Sessions, Depth - 1)};
        21 when Depth > 0 -> {spawn_link, work(Sessions, Depth - 1)};
        22 -> {register, inviso_sessions};
        23 -> one([link, dead_letter]);
        25 when Depth =:= 2 ->
            S = one(Sessions),
            {trace, {session, S}, process,
             [tracee, one([true, false]), flags()]};
        _ -> call()
    end.

call() ->
    N = rand:uniform(4) - 1,
    {F, Args} = one(calls(get(return_to), N)),
    {call, F, Args}.

calls(false, N) ->
    [{fail, [value()]}, {even, [N]}, {odd, [N]},
     {outer, [chain() ++ [fail]]} | calls(true, N)];
calls(true, N) ->
    [{f, [value()]}, {f, [value()]}, {f, [value()]},
     {g, [value(), value()]}, {g, [value(), value()]}, {h, [N]},
     {fact, [N]}, {tail, [N]}, {twice, [value()]},
     {outer, [chain() ++ [return]]}, {outer, [chain() ++ [return]]}].

chain() ->
    How = [body, tail, caught, external],
    [one(How), one(How)].

value() ->
    one([0, 1, 2, 3, x, y, 2.5, "", [1], {x, 1}, <<"b">>, #{x => 1}, true,
         false]).

%%---------------------------------------------------------------------------
%% Match specs

spec('_') ->
    spec(1);
spec(Arity) ->
    case rand:uniform(10) of
        N when N =< 4 -> true;
        5 -> false;
        _ -> clauses(call, Arity)
    end.

message_spec(Kind) ->
    case rand:uniform(4) of
        1 -> one([true, false]);
        _ -> clauses(Kind, case Kind of send -> 2; 'receive' -> 3 end)
    end.

clauses(Kind, Arity) ->
    [clause(Kind, Arity) || _ <- lists:seq(1, one([1, 1, 1, 2, 3]))].

clause(Kind, Arity) ->
    Head = head(Kind, Arity),
    Bound = ['$_', '$$' | bound(Head)],
    {Head,
     [guard(Bound) || _ <- lists:seq(1, one([0, 0, 1, 1, 2]))],
     certain([action(Kind, Bound) || _ <- lists:seq(1, one([0, 1, 1, 2, 3]))])}.

%% Removes actions that set a flag after disable_trace. OTP 27 frees a process's tracer when its
%% last flag is cleared. If the same body then sets a flag again, the event's message has flags from
%% freed memory.
certain([{disable_trace, _} = A | Actions]) ->
    [A | [B || B <- Actions, not is_on(B)]];
certain([{disable_trace, _, _} = A | Actions]) ->
    [A | [B || B <- Actions, not is_on(B)]];
certain([A | Actions]) ->
    [A | certain(Actions)];
certain([]) ->
    [].

is_on(Action) ->
    is_tuple(Action)
        andalso lists:member(element(1, Action), [enable_trace, trace]).

head(call, Arity) ->
    case rand:uniform(4) of
        1 -> one(['_', '_', '_', '$1']);
        _ -> [element() || _ <- lists:seq(1, Arity)]
    end;
head(send, _) ->
    one(['_', ['_', element()], ['$3', element()]]);
head('receive', _) ->
    one(['_', ['_', '_', element()], ['_', '$3', element()]]).

element() ->
    one(['$1', '$1', '$1', '$2', '_', '_', 1, x, {x, '$2'}, ['$1' | '_']]).

bound(V) when V =:= '$1'; V =:= '$2'; V =:= '$3' -> [V];
bound([H | T]) -> bound(H) ++ bound(T);
bound(T) when is_tuple(T) -> bound(tuple_to_list(T));
bound(_) -> [].

guard(Bound) ->
    case rand:uniform(8) of
        1 -> {one(['andalso', 'orelse', 'and']), test(Bound), test(Bound)};
        2 -> {'not', test(Bound)};
        _ -> test(Bound)
    end.

test(Bound) ->
    V = one(Bound),
    one([{is_integer, V}, {is_atom, V}, {'>', V, 1}, {'=:=', V, x},
         {'==', {'+', V, 1}, 2}, {is_atom, {hd, V}}, {'/=', {element, 1, V}, x},
         true, {'=:=', V, {const, "x"}}]).

action(call, Bound) ->
    case rand:uniform(20) of
        N when N =< 6 -> {message, said(call, Bound)};
        N when N =< 10 -> {return_trace};
        N when N =< 13 -> {exception_trace};
        14 -> {silent, one([true, false, false])};
        15 -> {enable_trace, low_flag()};
        16 -> {disable_trace, low_flag()};
        17 -> {trace, [low_flag()], [low_flag()]};
        18 -> {one([enable_trace, disable_trace]), {self}, low_flag()};
        19 -> one(Bound);
        20 -> {trace, {self}, [], [low_flag()]}
    end;
action(send, Bound) ->
    case rand:uniform(10) of
        N when N =< 7 -> {message, said(send, Bound)};
        8 -> {silent, one([true, false, false])};
        9 -> {enable_trace, low_flag()};
        10 -> {trace, [low_flag()], [low_flag()]}
    end;
action('receive', Bound) ->
    {message, said('receive', Bound)}.

said(call, Bound) ->
    one([{caller}, said(send, Bound)]);
said(_, Bound) ->
    one([one(Bound), one(Bound), true, false, {self},
         {{one(Bound), {const, {x}}}}, [one(Bound)], {hd, one(Bound)}]).

low_flag() ->
    one([call, send, 'receive', procs, arity, silent, set_on_spawn]).

one(List) ->
    lists:nth(rand:uniform(length(List)), List).
