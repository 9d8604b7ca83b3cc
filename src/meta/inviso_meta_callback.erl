%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls functions of the user for the meta tracer.
-module(inviso_meta_callback).

-export([call/2, is_callback/2]).

-export_type([callback/0]).

-type callback() :: void | {module(), atom()} | fun().

%% @doc Returns true if a term is `void', or can be a callback with this arity.
%% For `{Module, Function}' it does not check that the function exists.
-spec is_callback(term(), arity()) -> boolean().
is_callback(void, _) -> true;
is_callback({M, F}, _) -> is_atom(M) andalso is_atom(F);
is_callback(Fun, Arity) -> is_function(Fun, Arity).

%% @doc Calls a callback, and catches a crash. If the callback has no clause for
%% an event such as `{call, Args, TS}', it is called again with only the middle
%% element of the event. (This is the form in the manual of the original Inviso.)
-spec call({module(), atom()} | fun(), [term()]) ->
          {ok, term()} | {crash, term()}.
call(Fun, Args) ->
    case contained(Fun, Args) of
        {no_clause, Crash} ->
            case Args of
                [Pid, {_, What, _TS}, Publ] ->
                    plain(contained(Fun, [Pid, What, Publ]));
                _ ->
                    Crash
            end;
        Other ->
            Other
    end.

plain({no_clause, Crash}) -> Crash;
plain(Other) -> Other.

contained(Fun, Args) ->
    try
        {ok, invoke(Fun, Args)}
    catch
        error:function_clause:Stack ->
            Crash = {crash, {error, function_clause}},
            case is_own(Fun, Args, Stack) of
                true -> {no_clause, Crash};
                false -> Crash
            end;
        Class:Reason ->
            {crash, {Class, Reason}}
    end.

%% Returns true if the callback itself, and not a function that it calls, has
%% no clause for the arguments.
is_own({M, F}, Args, [{M, F, Args, _} | _]) -> true;
is_own(Fun, Args, [{M, _, Given, _} | _]) when is_function(Fun) ->
    {module, Module} = erlang:fun_info(Fun, module),
    %% In the stack trace, the values that a fun has captured follow its
    %% arguments.
    M =:= Module andalso is_list(Given) andalso lists:prefix(Args, Given);
is_own(_, _, _) -> false.

invoke({M, F}, Args) -> apply(M, F, Args);
invoke(Fun, Args) -> apply(Fun, Args).
