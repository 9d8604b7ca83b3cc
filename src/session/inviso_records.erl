%% SPDX-License-Identifier: Apache-2.0
%% @doc Writes definitions of records into a log, so that readers of the log can
%% print the names of fields. The definitions are those in the debug information of
%% modules.
%%
%% A separate process reads the files of the modules, with bounds on time and
%% memory. When a bound is reached, the process leaves out the modules that it has
%% not read.
-module(inviso_records).

-export([read/1, note/2, definitions/1, unread/1]).
-export_type([records/0]).

%% At most this many records of all modules together are written.
-define(MAX_RECORDS, 1000).
-define(MAX_FIELDS, 255).
%% The largest file that is read, in bytes.
-define(MAX_FILE, 1048576).
%% After this time, in ms, the process that reads modules leaves out the rest.
-define(READ_MS, 300).
%% After this time, in ms, the process that reads modules is killed, and no note is
%% written.
-define(KILL_MS, 600).
%% How much memory this process may use, in words.
-define(MAX_HEAP, 8388608).
-define(WRITE_MS, 100).

%% enum inv_note (c_src/abi/event.h).
-define(NOTE_RECORD, 3).

%% The key is a record: its name and the names of its fields. The value is the list of
%% the modules that define the record in this way.
-type found() :: #{{Name :: atom(), [Field :: atom()]} => [module()]}.
%% The records of modules, and how many modules were not read because of a bound.
-opaque records() :: {found(), non_neg_integer()}.

%% @doc Writes the definitions of records into the log of a tracer.
-spec note(pos_integer(), records()) -> ok.
note(_, {Found, _}) when map_size(Found) =:= 0 ->
    ok;
note(Handle, {Found, _}) ->
    inviso_keeper:keep(Handle, notes(Found), ?WRITE_MS).

%% @doc Returns the names of records and of their fields. If modules define a record in
%% different ways, the result contains each of the definitions.
-spec definitions(records()) -> [{atom(), [atom()]}].
definitions({Found, _}) ->
    maps:keys(Found).

%% @doc Returns how many modules were not read because of a bound.
-spec unread(records()) -> non_neg_integer().
unread({_, Unread}) ->
    Unread.

%% @doc Reads the records of these modules. Takes at most 600 ms.
-spec read([module()]) -> records().
read([]) ->
    {#{}, 0};
read(Modules) ->
    Self = self(),
    Until = now_ms() + inviso_deadline:ms(?READ_MS),
    {Pid, Ref} = spawn_opt(fun() -> Self ! {self(), all(Modules, Until)} end,
                           [monitor,
                            {max_heap_size, #{size => ?MAX_HEAP, kill => true,
                                              error_logger => false}}]),
    receive
        {Pid, Found} ->
            demonitor(Ref, [flush]),
            Found;
        {'DOWN', Ref, process, _, _} ->
            {#{}, length(Modules)}
    after inviso_deadline:ms(?KILL_MS) ->
            exit(Pid, kill),
            receive {'DOWN', Ref, process, _, _} -> ok end,
            receive
                {Pid, Found} -> Found
            after 0 -> {#{}, length(Modules)}
            end
    end.

all(Modules, Until) ->
    lists:foldl(fun(M, {Found, Unread}) ->
                        case map_size(Found) < ?MAX_RECORDS
                            andalso now_ms() < Until of
                            true -> {of_module(M, Found), Unread};
                            false -> {Found, Unread + 1}
                        end
                end, {#{}, 0}, Modules).

%% Adds the records of a module. Many modules include the same header file and
%% have the same records.
-spec of_module(module(), found()) -> found().
of_module(M, Found) ->
    try
        lists:foldl(fun(Key, Acc) ->
                            Acc#{Key => [M | maps:get(Key, Acc, [])]}
                    end, Found, in_forms(forms(M)))
    catch
        _:_ -> Found
    end.

in_forms(Forms) ->
    [{Name, Fields}
     || {attribute, _, record, {Name, Defs}} <- Forms,
        Fields <- [[field(D) || D <- Defs]],
        Fields =/= [], length(Fields) =< ?MAX_FIELDS].

field({typed_record_field, Field, _}) -> field(Field);
field({record_field, _, {atom, _, Name}}) -> Name;
field({record_field, _, {atom, _, Name}, _}) -> Name.

%% Returns the abstract code of an Erlang module. Fails for an Elixir module. Records
%% of Elixir modules are not needed: Elixir has structs, which contain the names of
%% their fields.
forms(M) ->
    false = lists:prefix("Elixir.", atom_to_list(M)),
    Path = code:which(M),
    true = is_list(Path),
    true = filelib:file_size(Path) =< ?MAX_FILE,
    {ok, Beam, _} = erl_prim_loader:get_file(Path),
    {ok, {M, [{debug_info, {debug_info_v1, erl_abstract_code, {Forms, _}}}]}} =
        beam_lib:chunks(Beam, [debug_info]),
    true = is_list(Forms),
    Forms.

%% Returns the notes with the definitions of records. If all modules define a record
%% in the same way, the note with its definition contains no module.
-spec notes(found()) -> [inviso_names:note()].
notes(Found) ->
    ByTag = maps:fold(fun({Name, Fields}, Modules, Acc) ->
                              Tag = {Name, length(Fields)},
                              Acc#{Tag => [{Fields, Modules}
                                           | maps:get(Tag, Acc, [])]}
                      end, #{}, Found),
    lists:append([notes(Name, Those) || {{Name, _}, Those} <- maps:to_list(ByTag)]).

notes(Name, [{Fields, _}]) ->
    [{?NOTE_RECORD, [[], Name, Fields]}];
notes(Name, Those) ->
    [{?NOTE_RECORD, [M, Name, Fields]} || {Fields, Modules} <- Those, M <- Modules].

now_ms() ->
    erlang:monotonic_time(millisecond).
