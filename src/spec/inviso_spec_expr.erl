%% SPDX-License-Identifier: Apache-2.0
%% @doc Parses expressions over the arguments of an event. The values of such an
%% expression are keys of counts, or numbers for a histogram.
%%
%% ```
%%  A2                    the second argument
%%  map_get(type, A1)     a value in a map
%%  byte_size(A2) div 1024
%%  {element(1, A1), length(A2)}
%% '''
%% The user writes an expression like a guard of Erlang. For a call, `A1' is the
%% first argument, `A2' the second. For `send', `A1' is the receiver and `A2' the
%% message. For `receive', `A1' is the node, `A2' the sender and `A3' the message.
%% The parsed expression becomes part of a match spec, so the VM computes it for
%% each event.
-module(inviso_spec_expr).

-export([parse/1]).

-define(MAX_BYTES, 1024).
-define(MAX_ARGUMENT, 255).
-define(EXAMPLES, "For example: A1, or map_get(type, A1)").

%% @doc Parses an expression. The text of an error says what was expected.
-spec parse(binary()) -> {ok, term()} | {error, binary()}.
parse(Text) when byte_size(Text) > ?MAX_BYTES ->
    {error, format("an expression has at most ~b bytes", [?MAX_BYTES])};
parse(Text) ->
    try
        Chars = case unicode:characters_to_list(Text) of
                    Cs when is_list(Cs) -> Cs;
                    _ -> fail("it is not UTF-8", [])
                end,
        {ok, accepted(expr(parsed(scanned(Chars))))}
    catch
        throw:{expr, Why} ->
            {error, format("`~ts': ~ts. " ?EXAMPLES, [Text, Why])}
    end.

scanned(Chars) ->
    case erl_scan:string(Chars ++ " .") of
        {ok, Tokens, _} -> Tokens;
        {error, {_, Module, Why}, _} -> fail("~ts", [Module:format_error(Why)])
    end.

parsed(Tokens) ->
    case erl_parse:parse_exprs(Tokens) of
        {ok, [Expr]} -> Expr;
        {ok, _} -> fail("one expression is expected", []);
        {error, {_, Module, Why}} -> fail("~ts", [Module:format_error(Why)])
    end.

%% Converts the abstract form to an expression of match specs.
expr({var, _, Name}) ->
    argument(atom_to_list(Name));
expr({Kind, _, Value}) when Kind =:= atom; Kind =:= integer; Kind =:= float;
                            Kind =:= char; Kind =:= string ->
    {const, Value};
expr({nil, _}) ->
    [];
expr({cons, _, Head, Tail}) ->
    [expr(Head) | expr(Tail)];
expr({tuple, _, Elements}) ->
    {list_to_tuple([expr(E) || E <- Elements])};
expr({bin, _, _} = Bin) ->
    {const, literal(Bin)};
expr({op, _, Op, Arg}) ->
    {Op, expr(Arg)};
expr({op, _, Op, Left, Right}) ->
    {Op, expr(Left), expr(Right)};
expr({call, _, {atom, _, Name}, Args}) ->
    list_to_tuple([Name | [expr(A) || A <- Args]]);
expr({call, _, {remote, _, {atom, _, erlang}, {atom, _, Name}}, Args}) ->
    list_to_tuple([Name | [expr(A) || A <- Args]]);
expr(_) ->
    fail("only arguments A1, A2, ..., constants, tuples, lists, operators and "
         "functions of guards are possible", []).

literal(Bin) ->
    try
        erl_parse:normalise(Bin)
    catch
        error:_ -> fail("a binary must be a constant", [])
    end.

%% Returns the expression for an argument, by its place in '$_'. In every match
%% spec '$_' is the list of all arguments.
argument([$A | Digits] = Name) ->
    try list_to_integer(Digits) of
        N when N >= 1, N =< ?MAX_ARGUMENT -> {hd, rest(N - 1)};
        _ -> no_argument(Name)
    catch
        error:badarg -> no_argument(Name)
    end;
argument(Name) ->
    no_argument(Name).

rest(0) -> '$_';
rest(N) -> {tl, rest(N - 1)}.

-spec no_argument(string()) -> no_return().
no_argument(Name) ->
    fail("~ts is no argument: A1 is the first, A2 the second", [Name]).

%% Checks an expression by using it as a guard, because guards allow no actions of
%% match specs, such as {set_seq_token, ...}.
accepted(Expr) ->
    case erlang:match_spec_test([], [{'_', [Expr], []}], trace) of
        {ok, _, _, _} ->
            Expr;
        {error, Errors} ->
            Why = hd([E || {error, E} <- Errors] ++ ["it is no guard"]),
            fail("~ts", [string:trim(Why, trailing, ".")])
    end.

-spec fail(string(), [term()]) -> no_return().
fail(Format, Args) ->
    throw({expr, io_lib:format(Format, Args)}).

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
