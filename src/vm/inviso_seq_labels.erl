%% SPDX-License-Identifier: Apache-2.0
%% @doc Finds match specs that set a label of sequential tracing that could crash
%% the VM.
%%
%% If the action `{set_seq_token, label, X}' of a match spec sets a label that
%% needs memory, the VM stores a pointer to the term and does not copy the term
%% (OTP 25 to 29). If the label is a tuple that the match spec builds, the VM
%% crashes or hangs; if it is a constant, the pointer is wrong as soon as the
%% pattern is cleared. So only atoms and small integers are accepted. A variable
%% is refused too, because its value is not known before a call.
-module(inviso_seq_labels).

-export([check/1, is_safe/1]).

-export_type([unsafe/0]).

%% The label as it is in the match spec, and why it is not safe.
-type unsafe() :: {unsafe_label, term(), binary()}.

%% @doc Returns an error if a match spec sets a label that is not safe. Accepts a
%% term that is not a match spec, because the VM refuses it.
-spec check(term()) -> ok | {error, unsafe()}.
check(MS) ->
    case unsafe(bodies(MS)) of
        [] -> ok;
        [Label | _] -> {error, {unsafe_label, Label, text(Label)}}
    end.

%% @doc Returns true if a match spec can safely set this label.
-spec is_safe(term()) -> boolean().
is_safe(Label) when is_atom(Label) -> true;
is_safe(Label) -> is_integer(Label) andalso erts_debug:flat_size(Label) =:= 0.

bodies([{_, _, Body} | MS]) -> [Body | bodies(MS)];
bodies([_ | MS]) -> bodies(MS);
bodies(_) -> [].

%% Returns the labels that are not safe. An action can be anywhere in a body.
unsafe([H | T]) -> unsafe(H) ++ unsafe(T);
unsafe({const, _}) -> [];
unsafe({set_seq_token, Component, Label}) ->
    [Label || may_be_label(Component), not is_safe_expression(Label)]
        ++ unsafe(Component) ++ unsafe(Label);
unsafe(T) when is_tuple(T) -> unsafe(tuple_to_list(T));
unsafe(M) when is_map(M) -> unsafe(maps:to_list(M));
unsafe(_) -> [].

%% Returns true if the first argument of set_seq_token may be `label'. This
%% argument can be an expression.
may_be_label({const, Component}) -> Component =:= label;
may_be_label(Component) when is_atom(Component) ->
    Component =:= label orelse is_variable(Component);
may_be_label(Component) -> is_tuple(Component).

is_safe_expression({const, Label}) -> is_safe(Label);
is_safe_expression(Label) -> is_safe(Label) andalso not is_variable(Label).

is_variable(Label) ->
    is_atom(Label) andalso hd(atom_to_list(Label) ++ " ") =:= $$.

text(Label) ->
    unicode:characters_to_binary(
      io_lib:format("the label ~0tP in a match spec can crash this VM: use an atom or "
                    "an integer of less than 60 bits, and take the value from the "
                    "recorded event; seq_trace:set_token/2 accepts any label",
                    [Label, 20])).
