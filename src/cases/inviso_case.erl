%% SPDX-License-Identifier: Apache-2.0
%% @doc Trace cases: files with calls that set patterns and flags. The variables
%% in a trace case get their values when it is run.
%%
%% ```
%% %% What a module of the shop does.
%% inviso:tpl(Nodes, Module, '_', '_', [{'_', [], [{return_trace}]}]).
%% inviso:tf(Nodes, all, [call, timestamp]).
%% '''
%%
%% A file contains expressions as in the shell, each with a full stop at its end.
%% If an expression binds a variable, the variable keeps its value in all later
%% expressions. Before the trace case runs, calls can be <em>translated</em> into
%% calls of other functions, so that a file can be used with several APIs:
%%
%% ```
%% {{M1, F1, Arity}, {M2, F2, Args}}      calls M1:F1/Arity
%% {{F1, Arity}, {M2, F2, Args}}          calls F1/Arity without a module
%%     Args = {TM, TF}                    TM:TF(Arguments) returns the new
%%                                        arguments, all in abstract form
%%          | any other term              the arguments stay as they are
%% '''
%%
%% A call is translated only if its module and function are atoms. Calls within
%% the new arguments are translated too. If a translation removes a variable, the
%% variable needs no value.
%%
%% The whole file is read and checked before any expression runs, so a file with
%% a mistake changes nothing. Errors contain file and line. The first expression
%% that fails ends the run.
-module(inviso_case).

-export([read/1, read/2, parse/3, of_call/2, run/2, run/3, variables/1,
         comment/1, text/1, transform/2, format_error/1]).

-export_type([trace_case/0, translation/0, bindings/0, failure/0]).

-record(trace_case, {file :: file:filename(),
                     comment :: string(),
                     exprs :: [erl_parse:abstract_expr()]}).

-opaque trace_case() :: #trace_case{}.
-type translation() :: {{module(), atom(), arity()} | {atom(), arity()},
                        {module(), atom(), {module(), atom()} | term()}}.
-type bindings() :: [{atom(), term()}].
-type failure() :: {error, {File :: file:filename(),
                            Line :: non_neg_integer(),
                            Why :: term()}}.

%% @equiv read(File, [])
-spec read(file:filename()) -> {ok, trace_case()} | failure().
read(File) ->
    read(File, []).

%% @doc Reads a file and translates its calls.
-spec read(file:filename(), [translation()]) -> {ok, trace_case()} | failure().
read(File, Translations) ->
    case file:read_file(File) of
        {ok, Bytes} -> parse(File, Bytes, Translations);
        {error, Why} -> {error, {File, 0, {file, Why}}}
    end.

%% @doc Like {@link read/2}, for the contents of a file in UTF-8 or Latin-1.
%% `File' is used in errors.
-spec parse(file:filename(), binary(), [translation()]) ->
          {ok, trace_case()} | failure().
parse(File, Bytes, Translations) ->
    try
        Text = case unicode:characters_to_list(Bytes) of
                   Chars when is_list(Chars) -> Chars;
                   _ -> binary_to_list(Bytes)
               end,
        Exprs = parse(tokens(Text)),
        {ok, #trace_case{file = File,
                         comment = first_comment(Text),
                         exprs = transform(Exprs, Translations)}}
    catch
        throw:{Line, Why} -> {error, {File, Line, Why}}
    end.

tokens(Text) ->
    case erl_scan:string(Text) of
        {ok, Tokens, _} -> Tokens;
        {error, {Line, M, Why}, _} -> throw({Line, {syntax, M, Why}})
    end.

%% @doc Returns a trace case that has only the given call.
-spec of_call({module(), atom(), [term()]}, [translation()]) -> trace_case().
of_call({M, F, Args}, Translations) ->
    L = erl_anno:new(0),
    Call = {call, L, {remote, L, {atom, L, M}, {atom, L, F}},
            [erl_parse:abstract(A) || A <- Args]},
    #trace_case{file = lists:concat([M, ":", F, "/", length(Args)]),
                comment = "", exprs = transform([Call], Translations)}.

%% Parses the forms one by one, so that an error has the line of the form that
%% contains it.
parse([]) ->
    [];
parse(Tokens) ->
    case lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens) of
        {Form, [Dot | Rest]} ->
            case erl_parse:parse_exprs(Form ++ [Dot]) of
                {ok, Exprs} -> Exprs ++ parse(Rest);
                {error, {Line, M, Why}} -> throw({Line, {syntax, M, Why}})
            end;
        {Form, []} ->
            throw({erl_scan:line(lists:last(Form)), no_full_stop})
    end.

first_comment(Text) ->
    case string:trim(hd(string:split(Text, "\n")), both) of
        "%" ++ Comment -> string:trim(Comment, both, "% \t");
        _ -> ""
    end.

%% @doc Returns the comment in the file's first line, or an empty string.
-spec comment(trace_case()) -> string().
comment(#trace_case{comment = Comment}) ->
    Comment.

%% @doc Returns the trace case as the text of a file, with its calls translated.
-spec text(trace_case()) -> string().
text(#trace_case{comment = Comment, exprs = Exprs}) ->
    lists:flatten([["%% ", Comment, "\n"] || Comment =/= ""]
                  ++ [[erl_pp:expr(Expr), ".\n"] || Expr <- Exprs]).

%% @doc Returns the variables to which the trace case itself gives no value,
%% sorted.
-spec variables(trace_case()) -> [atom()].
variables(#trace_case{exprs = Exprs}) ->
    lists:usort([Name || {_, {unbound, Name}} <- complaints(Exprs, [])]).

%% @equiv run(Case, Bindings)
-spec run(trace_case(), bindings()) ->
          {ok, Value :: term(), bindings()} | failure().
run(#trace_case{file = File, exprs = Exprs}, Bindings) ->
    case complaints(Exprs, [Name || {Name, _} <- Bindings]) of
        [] ->
            evaluate(File, Exprs, ok, erl_eval_bindings(Bindings));
        [{Line, Why} | _] ->
            {error, {File, Line, Why}}
    end.

%% @doc Reads a file, translates its calls, and runs it with the given values of
%% variables. Returns the value of the last expression.
-spec run(file:filename(), bindings(), [translation()]) ->
          {ok, Value :: term(), bindings()} | failure().
run(File, Bindings, Translations) ->
    case read(File, Translations) of
        {ok, Case} -> run(Case, Bindings);
        {error, _} = E -> E
    end.

erl_eval_bindings(Bindings) ->
    lists:foldl(fun({Name, Value}, Bs) ->
                        erl_eval:add_binding(Name, Value, Bs)
                end, erl_eval:new_bindings(), Bindings).

%% Returns the errors that do not depend on the values of variables, such as
%% unbound variables and calls of functions that do not exist in the shell.
complaints(Exprs, Names) ->
    Bindings = [{Name, bound} || Name <- Names],
    Complaints = case erl_lint:exprs(Exprs, Bindings) of
                     {ok, _} -> [];
                     {error, Errors, _} -> [complaint(E) || {_, Es} <- Errors,
                                                            E <- Es]
                 end,
    lists:sort(Complaints ++ local_calls(Exprs)).

local_calls({call, At, {atom, _, F}, Args}) ->
    Arity = length(Args),
    [{erl_anno:line(At), {local, {F, Arity}}}
     || not erl_internal:bif(F, Arity)] ++ local_calls(Args);
local_calls(Form) when is_tuple(Form) ->
    local_calls(tuple_to_list(Form));
local_calls([Form | Rest]) ->
    local_calls(Form) ++ local_calls(Rest);
local_calls(_) ->
    [].

complaint({Line, erl_lint, {unbound_var, Name}}) -> {Line, {unbound, Name}};
complaint({Line, erl_lint, {unbound_var, Name, _}}) -> {Line, {unbound, Name}};
complaint({Line, M, Why}) -> {Line, {syntax, M, Why}}.

evaluate(_File, [], Value, Bindings) ->
    {ok, Value, lists:sort(erl_eval:bindings(Bindings))};
evaluate(File, [Expr | Rest], _, Bindings) ->
    try erl_eval:expr(Expr, Bindings) of
        {value, Value, Next} -> evaluate(File, Rest, Value, Next)
    catch
        Class:Reason:Stack ->
            Line = erl_anno:line(element(2, Expr)),
            {error, {File, Line, {Class, why(Reason, Stack)}}}
    end.

why(undef, [{M, F, Args, _} | _]) when is_list(Args) ->
    {undef, {M, F, length(Args)}};
why(Reason, _) ->
    Reason.

%% @doc Returns the expressions with their calls translated.
-spec transform([erl_parse:abstract_expr()], [translation()]) ->
          [erl_parse:abstract_expr()].
transform(Exprs, Translations) ->
    walk(Exprs, maps:from_list(lists:reverse(Translations))).

walk({call, At, Name, Args} = Call, Ts) ->
    case translated(Name, Args, Ts) of
        {NewName, NewArgs} -> {call, At, NewName, walk(NewArgs, Ts)};
        none -> walk_elements(Call, Ts)
    end;
walk(Form, Ts) ->
    walk_elements(Form, Ts).

walk_elements(Form, Ts) when is_tuple(Form) ->
    list_to_tuple(walk_elements(tuple_to_list(Form), Ts));
walk_elements([Form | Rest], Ts) ->
    [walk(Form, Ts) | walk_elements(Rest, Ts)];
walk_elements(Other, _Ts) ->
    Other.

translated({remote, At, {atom, _, M}, {atom, _, F}}, Args, Ts) ->
    new(At, maps:find({M, F, length(Args)}, Ts), Args);
translated({atom, At, F}, Args, Ts) ->
    new(At, maps:find({F, length(Args)}, Ts), Args);
translated(_, _, _) ->
    none.

new(At, {ok, {M, F, ArgMF}}, Args) ->
    case new_args(ArgMF, Args) of
        New when length(New) >= 0 ->
            {{remote, At, {atom, At, M}, {atom, At, F}}, New};
        _ ->
            none
    end;
new(_, _, _) ->
    none.

new_args({M, F}, Args) when is_atom(M), is_atom(F) ->
    try
        M:F(Args)
    catch
        _:_ -> none
    end;
new_args(_, Args) ->
    Args.

%% @doc Returns the text of an error.
-spec format_error({file:filename(), non_neg_integer(), term()}) -> string().
format_error({File, 0, Why}) ->
    lists:flatten(io_lib:format("~ts: ~ts", [File, words(Why)]));
format_error({File, Line, Why}) ->
    lists:flatten(io_lib:format("~ts:~b: ~ts", [File, Line, words(Why)])).

words({file, Posix}) -> file:format_error(Posix);
words({syntax, M, Why}) -> M:format_error(Why);
words(no_full_stop) -> "the last expression has no full stop";
words({unbound, Name}) ->
    io_lib:format("variable ~ts has no value", [Name]);
words({local, {F, A}}) ->
    io_lib:format("there is no function ~tp/~b here; name its module", [F, A]);
words({error, {undef, {M, F, A}}}) ->
    io_lib:format("there is no function ~tp:~tp/~b", [M, F, A]);
words({Class, Reason}) -> io_lib:format("~ts: ~0tp", [Class, Reason]).
