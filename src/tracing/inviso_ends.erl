%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds out for which calls a match spec makes the VM report the ends, and
%% changes this. A clause asks for the end of a call by the action
%% `{return_trace}' or `{exception_trace}'.
-module(inviso_ends).

-export([of_spec/1, marked/1, without/1]).

-export_type([ends/0]).

-type ends() :: none | all | marked.
%% `all': the VM reports the end of every call that the match spec reports. `marked':
%% it reports the ends of only some of these calls.

%% @doc Returns whether the VM reports the ends of all, some or no calls with a
%% match spec.
-spec of_spec(inviso_patterns:match_spec()) -> ends().
of_spec(MS) when is_list(MS) ->
    case lists:usort([has_ends(Body) || {_, _, Body} <- MS]) of
        [true] -> all;
        [false, true] -> marked;
        _ -> none
    end;
of_spec(_) ->
    none.

%% @doc If only some clauses of a match spec ask for the end of a call, puts a mark
%% into these clauses. The VM reports the mark with the call. When a call begins, only
%% the mark tells the tracer whether the VM will report the call's end. A clause can
%% also suppress the event of the call and ask for its end. Such a clause always gets
%% a mark, so that the VM reports the call. The tracer removes the mark
%% (c_src/nif/bound.h).
-spec marked(inviso_patterns:match_spec()) -> inviso_patterns:match_spec().
marked(MS) ->
    case of_spec(MS) of
        marked -> [{Head, Guards, mark(Body)} || {Head, Guards, Body} <- MS];
        all -> [{Head, Guards, mark_hidden(Body)} || {Head, Guards, Body} <- MS];
        none -> MS
    end.

mark_hidden(Body) ->
    case may_hide(message(Body)) of
        true -> mark(Body);
        false -> Body
    end.

%% Returns true if a clause needs a mark because the value of the action `message' may
%% be false, which suppresses the event of the call. Other clauses get no mark,
%% because a mark takes time in each call.
may_hide(true) -> false;
may_hide({F}) -> F =:= is_seq_trace;
may_hide(_) -> true.

%% The VM uses the value of the last action `message'.
message(Body) ->
    lists:last([true | [Value || {message, Value} <- Body]]).

mark(Body) ->
    case has_ends(Body) of
        true -> Body ++ [{message, {{'$inviso_ends', message(Body)}}}];
        false -> Body
    end.

%% @doc Removes from a match spec the actions that ask for the ends of calls.
-spec without(inviso_patterns:match_spec()) -> inviso_patterns:match_spec().
without(MS) when is_list(MS) ->
    case [{Head, Guards, [A || A <- Body, not is_end(A)]}
          || {Head, Guards, Body} <- MS] of
        [{'_', [], []}] -> true;
        Without -> Without
    end;
without(MS) ->
    MS.

has_ends(Body) -> lists:any(fun is_end/1, Body).

is_end({return_trace}) -> true;
is_end({exception_trace}) -> true;
is_end(_) -> false.
