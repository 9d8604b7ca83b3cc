%% SPDX-License-Identifier: Apache-2.0
%% @doc The configuration file of an autostart. It has these terms, in any
%% order, each with a full stop:
%%
%% ```
%% {repeat, N}.             trace the next N starts of the node (default: every
%%                          start)
%% {mfa, {M, F, Args}}.     the function that starts tracing, such as
%%                          {inviso_autostart_server, init, [Parameters]}
%% {options, Options}.      options of inviso:add_nodes/3 (default: [])
%% {tag, Tag}.              the runtime component's tag (default: default_tag)
%% '''
%%
%% The parameter `inviso_autostart_conf' of the application `inviso' sets the
%% file's location (in old configurations, the same parameter of `runtime_tools'):
%%
%% ```
%% "File"
%% {M, F}                          M:F(node()) -> "File" | no_autostart
%% {load, Beam | [Beam], {M, F}}   the same, after these files were loaded
%% no_autostart
%% '''
%%
%% Without the parameter, the file is `inviso_autostart.config' in the current
%% directory. In this case the file must belong to root or to the user of the
%% node, because the node calls the functions that the file names.
%%
%% A new file replaces the old one atomically. Before the autostart begins, {@link
%% count_down/1} decrements `repeat' and waits until the new value is on disk. So
%% even if the autostart crashes the node, the node does not crash at every start.
-module(inviso_autostart_conf).

-export([file/0, read/1, write/2, replace/2, count_down/1]).

-type file() :: file:filename().
-type failure() :: {error, {File :: file(), Why :: term()}}.

-define(DEFAULT, "inviso_autostart.config").

%% @doc Returns the location of the configuration file. The file need not exist.
-spec file() -> {ok, file()} | no_autostart | {error, term()}.
file() ->
    file(inviso_rt_auto:env(inviso_autostart_conf, default)).

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

%% Returns the file if it belongs to root or to the node's user, and other users
%% cannot write it. Otherwise a user who can only write to the directory in which
%% the node is started could run code in the node.
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
            %% the owner and the mode, from #file_info{}
            {ok, element(13, Info), element(8, Info)};
        {error, _} = E ->
            E
    end.

%% @doc Returns the terms in a configuration file.
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

%% @doc Replaces a configuration file with a file that contains the given terms.
-spec write(file(), [{atom(), term()}]) -> ok | failure().
write(File, Terms) ->
    Text = unicode:characters_to_binary(
             ["%% coding: utf-8\n"
              | [io_lib:format("~tp.~n", [T]) || T <- Terms]]),
    case is_text(Terms) of
        true -> replace(File, Text);
        false -> {error, {File, {not_writable_as_text, Terms}}}
    end.

%% @doc Replaces the contents of a file atomically. When this function returns,
%% the new contents are on disk.
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

%% Returns true if a term can be read back from text. Funs, pids and similar
%% terms cannot be read back.
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

%% Writes the new file with the mode of the old file.
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

%% Writes a directory to disk (fsync). Errors are ignored, because some file
%% systems do not support this.
sync_dir(Dir) ->
    case file:open(Dir, [read, raw, directory]) of
        {ok, Fd} ->
            _ = file:sync(Fd),
            _ = file:close(Fd),
            ok;
        {error, _} ->
            ok
    end.

%% @doc Decrements the number of starts in the file. If the number was 0, returns
%% `done': tracing must not start. Otherwise returns the contents of the file.
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
