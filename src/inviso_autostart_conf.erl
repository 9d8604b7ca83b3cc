%% SPDX-License-Identifier: Apache-2.0
%% @doc The file that says what starts with a node: terms, each with a full
%% stop, in any order.
%%
%% ```
%% {repeat, N}.             how many starts of the node it is for; without it,
%%                          for all
%% {mfa, {M, F, Args}}.     what says what to trace, such as
%%                          {inviso_autostart_server, init, [Parameters]}
%% {options, Options}.      as of inviso:add_nodes/3 ([])
%% {tag, Tag}.              of the incarnation (default_tag)
%% '''
%%
%% Where it is says `inviso_autostart_conf', a parameter of the application
%% `inviso' or, in old configurations, of `runtime_tools':
%%
%% ```
%% "File"
%% {M, F}                          M:F(node()) -> "File" | no_autostart
%% {load, Beam | [Beam], {M, F}}   the same, after these files were loaded
%% no_autostart
%% '''
%%
%% Without it, it is `inviso_autostart.config' in the current directory; but
%% then it has to belong to the user who runs the node, or to root, since its
%% contents are called.
%%
%% It is replaced at once and never half written. The number of starts is
%% counted down before anything else is done, and on the disk when {@link
%% count_down/1} returns: a node that dies of what it starts with does not do it
%% again and again.
-module(inviso_autostart_conf).

-export([env/2, file/0, read/1, write/2, replace/2, count_down/1]).

-type file() :: file:filename().
-type failure() :: {error, {File :: file(), Why :: term()}}.

-define(DEFAULT, "inviso_autostart.config").

%% @doc A parameter of the application, or of the one that once had it.
-spec env(atom(), term()) -> term().
env(Name, Default) ->
    case application:get_env(inviso, Name) of
        {ok, Value} -> Value;
        undefined -> application:get_env(runtime_tools, Name, Default)
    end.

%% @doc Which file it is, whether it is there or not.
-spec file() -> {ok, file()} | no_autostart | {error, term()}.
file() ->
    file(env(inviso_autostart_conf, default)).

file(default) ->
    trusted(filename:absname(?DEFAULT));
file(no_autostart) ->
    no_autostart;
file({load, Beams, {M, F}}) ->
    case [Why || Beam <- beams(Beams), {error, Why} <- [load(Beam)]] of
        [] -> file({M, F});
        [Why | _] -> {error, {load, Why}}
    end;
file({M, F}) when is_atom(M), is_atom(F) ->
    case M:F(node()) of
        [C | _] = File when is_integer(C) -> {ok, filename:absname(File)};
        no_autostart -> no_autostart;
        _ -> file(default)
    end;
file([C | _] = File) when is_integer(C) ->
    {ok, filename:absname(File)};
file(Other) ->
    {error, {inviso_autostart_conf, Other}}.

beams([C | _] = Beam) when is_integer(C) -> [Beam];
beams(Beams) -> Beams.

load(Beam) ->
    case code:load_abs(filename:rootname(Beam, ".beam")) of
        {module, _} -> ok;
        {error, Why} -> {error, {Beam, Why}}
    end.

%% Who may write where a node happens to be started must not thereby have code
%% run in it.
trusted(File) ->
    case {file_info(File), file_info("/proc/self")} of
        {{ok, Uid, Mode}, {ok, Own, _}}
          when (Uid =:= Own orelse Uid =:= 0), Mode band 8#002 =:= 0 ->
            {ok, File};
        {{error, enoent}, _} ->
            {ok, File};
        {{error, Why}, _} ->
            {error, {File, Why}};
        _ ->
            {error, {File, owned_or_writable_by_others}}
    end.

file_info(File) ->
    case file:read_file_info(File, [raw]) of
        {ok, Info} ->
            %% uid and mode of #file_info{}
            {ok, element(13, Info), element(8, Info)};
        {error, _} = E ->
            E
    end.

%% @doc What is in it.
-spec read(file()) -> {ok, [{atom(), term()}]} | failure().
read(File) ->
    case file:consult(File) of
        {ok, Terms} ->
            case [T || T <- Terms, not is_parameter(T)] of
                [] -> {ok, Terms};
                [T | _] -> {error, {File, {unknown_parameter, T}}}
            end;
        {error, Why} when is_atom(Why) ->
            {error, {File, Why}};
        {error, Why} ->
            {error, {File, lists:flatten(file:format_error(Why))}}
    end.

is_parameter({repeat, N}) -> is_integer(N) andalso N >= 0;
is_parameter({mfa, _}) -> true;
is_parameter({options, Options}) -> is_list(Options);
is_parameter({tag, _}) -> true;
is_parameter(_) -> false.

%% @doc Makes it anew.
-spec write(file(), [{atom(), term()}]) -> ok | failure().
write(File, Terms) ->
    Text = unicode:characters_to_binary(
             ["%% coding: utf-8\n"
              | [io_lib:format("~tp.~n", [T]) || T <- Terms]]),
    case is_text(Terms) of
        true -> replace(File, Text);
        false -> {error, {File, {not_writable_as_text, Terms}}}
    end.

%% @doc Puts a text in the place of a file, at once and for good.
-spec replace(file(), binary()) -> ok | failure().
replace(File, Text) ->
    New = File ++ ".new",
    _ = file:delete(New),
    case first_error([fun() -> write_new(New, File, Text) end,
                      fun() -> file:rename(New, File) end,
                      fun() -> sync_dir(filename:dirname(File)) end]) of
        ok ->
            ok;
        {error, Why} ->
            _ = file:delete(New),
            {error, {File, Why}}
    end.

%% Funs, pids and the like cannot be read again.
is_text(Term) when is_list(Term) -> is_text_list(Term);
is_text(Term) when is_tuple(Term) -> is_text_list(tuple_to_list(Term));
is_text(Term) when is_map(Term) -> is_text_list(maps:to_list(Term));
is_text(Term) ->
    not (is_function(Term) orelse is_pid(Term) orelse is_port(Term)
         orelse is_reference(Term)).

is_text_list([First | Rest]) -> is_text(First) andalso is_text_list(Rest);
is_text_list([]) -> true;
is_text_list(Tail) -> is_text(Tail).

first_error([]) ->
    ok;
first_error([F | Rest]) ->
    case F() of
        ok -> first_error(Rest);
        {error, _} = E -> E
    end.

%% It has the mode that it had.
write_new(New, Old, Text) ->
    case file:open(New, [write, exclusive, raw, binary]) of
        {ok, Fd} ->
            Mode = case file_info(Old) of
                       {ok, _, M} -> M band 8#777;
                       {error, _} -> 8#600
                   end,
            Result = first_error([fun() -> file:change_mode(New, Mode) end,
                                  fun() -> file:write(Fd, Text) end,
                                  fun() -> file:sync(Fd) end]),
            _ = file:close(Fd),
            Result;
        {error, _} = E ->
            E
    end.

%% Not every file system can do it.
sync_dir(Dir) ->
    case file:open(Dir, [read, raw, directory]) of
        {ok, Fd} ->
            _ = file:sync(Fd),
            _ = file:close(Fd),
            ok;
        {error, _} ->
            ok
    end.

%% @doc Counts a start. What is in the file if there is something to start.
-spec count_down(file()) -> {ok, [{atom(), term()}]} | done | failure().
count_down(File) ->
    case read(File) of
        {ok, Terms} ->
            case lists:keytake(repeat, 1, Terms) of
                {value, {repeat, 0}, _} ->
                    done;
                {value, {repeat, N}, Rest} ->
                    case write(File, [{repeat, N - 1} | Rest]) of
                        ok -> {ok, Rest};
                        {error, _} = E -> E
                    end;
                false ->
                    {ok, Terms}
            end;
        {error, _} = E ->
            E
    end.
