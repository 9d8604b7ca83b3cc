%% SPDX-License-Identifier: Apache-2.0
%% @doc The holder of the lock: the process that removes inviso's code after the
%% guard has ended.
%%
%% ```
%%  guard ----ends----> holder --time over--> code deleted and purged
%%                        ^ `--attach--> next guard, with the code that is loaded
%%                        |
%%                      next client (inviso_push:loader/0)
%% '''
%%
%% erl_eval interprets the holder's code, so the holder does not run any module of
%% inviso. The registered name `inviso_loading' is the lock: the holder keeps this
%% name until it has deleted the code or attached a client.
%%
%% If inviso's code was on the node for the first time, the holder deletes the code at
%% once; but if a client is waiting to attach, the holder attaches this client. If the
%% code was on the node before, it lingers: it stays loaded for ?LINGER_MS, so that
%% several commands in quick succession load it only once. Each loading has a cost: on
%% OTP 25 the VM keeps a description of each loaded function for ever, and on every
%% release the VM checks all processes for each module that is unloaded.
-module(inviso_linger).

-export([ms/1, holder/0]).

-define(LINGER_MS, 3000).

%% @doc Returns how long the code stays loaded after the guard's end, in
%% milliseconds. The argument is true if inviso's code was on the node before.
-spec ms(boolean()) -> non_neg_integer().
ms(true) -> inviso_deadline:ms(?LINGER_MS);
ms(false) -> 0.

%% @doc Returns the code of the holder as text, for erl_eval:exprs/2 with the
%% variables `Guard', `Build', `Linger', `Mark' and `Now'.
%%
%% If a client wants another build, the holder deletes the code at once. The holder
%% deletes all modules before it purges the first one. It deletes inviso_tracer
%% last, because this module has the NIF library, and because clients look for this
%% module to find out whether inviso's code is on the node.
%%
%% To purge a module the VM checks every process. After 300 ms at most the holder
%% releases the lock, and purges the remaining modules with pauses. If a process
%% still runs the code, the holder waits for this process and never kills it, because
%% it may be a user's shell.
-spec holder() -> string().
holder() ->
    "Ref = erlang:monitor(process, Guard),"
    "receive {'DOWN', Ref, _, _, _} -> ok end,"
    "Mods = [M || {M, File} <- code:all_loaded(), File =:= Mark],"
    "Unload = fun() ->"
    "    {Tracer, Others} = lists:partition(fun(M) -> M =:= inviso_tracer end,"
    "                                       Mods),"
    "    [code:delete(M) || M <- Others ++ Tracer],"
    "    Until = Now(millisecond) + 300,"
    "    Rest = lists:dropwhile(fun(M) -> Now(millisecond) < Until"
    "                                     andalso code:soft_purge(M)"
    "                           end, Tracer ++ Others),"
    "    catch erlang:unregister(inviso_loading),"
    "    Purge = fun(M) ->"
    "                    Before = Now(millisecond),"
    "                    Done = code:soft_purge(M),"
    "                    receive after Now(millisecond) - Before -> Done end"
    "            end,"
    "    Again = fun Again(Ms, N) ->"
    "                    case [M || M <- Ms, not Purge(M)] of"
    "                        [_ | _] = Left when N > 0 ->"
    "                            receive after 100 -> Again(Left, N - 1) end;"
    "                        _ ->"
    "                            ok"
    "                    end"
    "            end,"
    "    Again(Rest, 100)"
    " end,"
    "receive"
    "    {attach, From, Tag, Names, #{build := Build} = Args}"
    "      when is_pid(From), is_list(Names) ->"
    "        case Names -- Mods of"
    "            [] ->"
    "                Answer = inviso_tracer:'inviso_push:attach'("
    "                             Args#{repeated => true}),"
    "                catch erlang:unregister(inviso_loading),"
    "                From ! {Tag, Answer};"
    "            _ ->"
    "                Unload()"
    "        end;"
    "    {attach, _, _, _, _} ->"
    "        Unload()"
    " after Linger ->"
    "        Unload()"
    " end.".
