%% SPDX-License-Identifier: Apache-2.0
%% @doc Parses the text with which a user names the processes or ports to trace.
%%
%% The forms are `all', `new', `existing', `<0.1.2>' (also `#PID<0.1.2>' or
%% `0.1.2'), `#Port<0.5>', a registered name (`code_server', `Foo.Bar', `:foo'), and
%% `{global,Name}'.
-module(inviso_spec_procs).

-export([parse/1]).

-export_type([tracee/0]).

-type tracee() :: all | new | existing | pid() | port().

-define(MAX_BYTES, 1024).

%% @doc Parses a text, and finds the process or port that it names.
-spec parse(binary()) ->
          {ok, tracee()} | {error, usage | nothing, binary()}.
parse(Text) when byte_size(Text) =< ?MAX_BYTES ->
    case unicode:characters_to_list(Text) of
        Chars when is_list(Chars) -> find(string:trim(Chars));
        _ -> {error, usage, <<"a process is not UTF-8">>}
    end;
parse(_) ->
    {error, usage, <<"the name of a process is too long">>}.

find("") -> usage("", "it is empty");
find("all") -> {ok, all};
find("new") -> {ok, new};
find("existing") -> {ok, existing};
find("#PID<" ++ Rest) -> pid("<" ++ Rest);
find("<" ++ _ = Chars) -> pid(Chars);
find("#Port<" ++ _ = Chars) -> port(Chars);
find([D | _] = Chars) when D >= $0, D =< $9 -> pid("<" ++ Chars ++ ">");
find([C | _] = Chars) when C >= $A, C =< $Z ->
    case name("Elixir." ++ Chars, Chars) of
        {ok, _} = Ok -> Ok;
        {error, _, _} -> name(Chars, Chars)
    end;
find(":" ++ Chars) -> name(Chars, Chars);
find("{" ++ _ = Chars) -> elsewhere(Chars);
find("'" ++ _ = Chars) ->
    case erl_scan:string(Chars) of
        {ok, [{atom, _, Name}], _} -> registered_as(Name, Chars);
        _ -> usage(Chars, "a closing quote is missing, or too much follows")
    end;
find(Chars) -> name(Chars, Chars).

pid(Chars) ->
    try list_to_pid(Chars) of
        Pid when node(Pid) =/= node() -> of_another_node(Chars);
        Pid ->
            case is_process_alive(Pid) of
                true -> {ok, Pid};
                false -> nothing("there is no process ~ts (any more)", [Chars])
            end
    catch
        error:badarg ->
            case re:run(Chars, "^<[1-9][0-9]*\\.[0-9]+\\.[0-9]+>$") of
                {match, _} -> of_another_node(Chars);
                nomatch -> no_pid(Chars)
            end
    end.

%% Returns the error for a text that is not a pid. If the text has the form of a
%% pid, its numbers are too large for a pid, so there is no such process.
no_pid(Chars) ->
    case re:run(Chars, "^<0\\.[0-9]+\\.[0-9]+>$") of
        {match, _} -> nothing("there is no process ~ts", [Chars]);
        nomatch -> usage(Chars, "a pid is written <0.1.2>")
    end.

of_another_node(Chars) ->
    Here = case string:split(Chars, ".") of
               [_, Rest] -> "<0." ++ Rest;
               _ -> "<0.1.2>"
           end,
    usage(Chars, "its first number is not 0, so it is how another node prints "
          "it; the node it runs on calls it " ++ Here).

port(Chars) ->
    %% list_to_port/1 accepts the number of a port that does not exist.
    try list_to_port(Chars) of
        Port ->
            case erlang:port_info(Port, name) of
                undefined -> nothing("there is no port ~ts (any more)",
                                     [Chars]);
                _ -> {ok, Port}
            end
    catch
        error:badarg -> usage(Chars, "a port is written #Port<0.5>")
    end.

%% Finds a registered process. Creates no atom if the name is unknown.
name(Chars, Shown) ->
    try list_to_existing_atom(Chars) of
        Name -> registered_as(Name, Shown)
    catch
        error:_ -> not_registered(Chars, Shown)
    end.

registered_as(Name, Shown) ->
    case whereis(Name) of
        undefined -> not_registered(atom_to_list(Name), Shown);
        Tracee -> {ok, Tracee}
    end.

not_registered(Chars, Shown) ->
    Near = inviso_near:names(Chars, [short(atom_to_list(N))
                                     || N <- registered()]),
    nothing("no process is registered as ~ts~ts",
            [Shown, inviso_near:did_you_mean(Near)]).

short("Elixir." ++ Name) -> Name;
short(Name) -> Name.

elsewhere(Chars) ->
    case erl_scan:string(Chars ++ ".") of
        {ok, Tokens, _} ->
            case erl_parse:parse_term(Tokens) of
                {ok, {global, Name}} -> global(Name, Chars);
                _ -> usage(Chars, "the only tuple is {global,Name}")
            end;
        _ ->
            usage(Chars, "the only tuple is {global,Name}")
    end.

global(Name, Chars) ->
    case global:whereis_name(Name) of
        Pid when is_pid(Pid), node(Pid) =:= node() -> {ok, Pid};
        undefined -> nothing("no process is registered as ~ts", [Chars]);
        Pid -> nothing("~ts runs on ~ts and not here", [Chars, node(Pid)])
    end.

usage(Chars, Why) ->
    {error, usage,
     format("`~ts' is not a process: ~ts. Write all, new, existing, <0.1.2>, "
            "#Port<0.5> or a registered name",
            [string:slice(Chars, 0, 60), Why])}.

nothing(Format, Args) ->
    {error, nothing, format(Format, Args)}.

format(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
