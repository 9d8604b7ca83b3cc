%% SPDX-License-Identifier: Apache-2.0
%% @doc Calls functions of the user's for the meta tracer.
-module(inviso_meta_callback).

-export([call/2, is_callback/2]).

-export_type([callback/0]).

-type callback() :: void | {module(), atom()} | fun().

%% @doc Whether a term is one, or none, of so many arguments.
-spec is_callback(term(), arity()) -> boolean().
is_callback(void, _) -> true;
is_callback({M, F}, _) -> is_atom(M) andalso is_atom(F);
is_callback(Fun, Arity) -> is_function(Fun, Arity).

%% @doc Calls it; it may crash. One of a meta traced function that has no clause
%% for `{call, Args, TS}' and its kin is called as the original's manual says,
%% with what is in the middle of it.
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

%% And not that of a function that it calls.
is_own({M, F}, Args, [{M, F, Args, _} | _]) -> true;
is_own(Fun, Args, [{M, _, Given, _} | _]) when is_function(Fun) ->
    {module, Module} = erlang:fun_info(Fun, module),
    %% What a fun has in its environment comes after its arguments.
    M =:= Module andalso is_list(Given) andalso lists:prefix(Args, Given);
is_own(_, _, _) -> false.

invoke({M, F}, Args) -> apply(M, F, Args);
invoke(Fun, Args) -> apply(Fun, Args).
