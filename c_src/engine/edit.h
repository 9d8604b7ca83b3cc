/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EDIT_H
#define INV_ENGINE_EDIT_H

#include <erl_nif.h>

/*
 * NIFs for the engine's server: they change and read the profiles of tracees.
 * Tracee is a pid or a port; for future processes or ports it is
 * `new_processes' or `new_ports'.
 */

/* edit(Tracee, Slot, Clear, Set, Tracer) -> Profile | full: changes the flags
 * of the session in Slot on the tracee (struct inv_edit), and returns the
 * number of the new profile */
ERL_NIF_TERM inv_engine_edit(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/* profile_of(Tracee) -> number of the tracee's profile */
ERL_NIF_TERM inv_engine_profile_of(ErlNifEnv *env, int argc,
				   const ERL_NIF_TERM argv[]);
/*
 * timed(Pid) -> {Timed, Calls} | unknown: two masks. Timed: the sessions to
 * which the process's times of calls are attributed. Calls: the sessions that
 * have the flag `call' on the process. The result is unknown if the process has
 * no entry.
 *
 * timed(Pid, Timed) -> ok: sets the first mask
 */
ERL_NIF_TERM inv_engine_timed(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* masks(Profile) -> {Sessions, ...}: for each flag, and for INV_FLAG_USED_UP,
 * the mask of the sessions that have it in the profile */
ERL_NIF_TERM inv_engine_masks(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* tracer_of(Profile, Slot) -> number of the tracer that the session has in the
 * profile, or 0 */
ERL_NIF_TERM inv_engine_tracer_of(ErlNifEnv *env, int argc,
				  const ERL_NIF_TERM argv[]);

/* expected(Tracee) -> mask of the sessions whose flags the process may get by a
 * link (inv_tracee_expected) */
ERL_NIF_TERM inv_engine_expected(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[]);
/* changed(Max) -> [Pid]: at most Max processes whose flags in the VM may have
 * to be changed; removes their marks (inv_tracees_take_marked) */
ERL_NIF_TERM inv_engine_changed(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);

/*
 * vacate(Slot, From) -> Next | 0: removes the slot's session from a number of
 * entries of the table of tracees, from index From on. Call it again with Next;
 * 0 means that the end of the table was reached
 */
ERL_NIF_TERM inv_engine_vacate(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* know(Tracee) -> ok: gives the tracee an entry in the table of tracees, if it
 * has none */
ERL_NIF_TERM inv_engine_know(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/*
 * unknown(New, Profile) -> ok: sets the profile of processes without an entry
 * (New is new_processes) or of ports without an entry (New is new_ports)
 *
 * unknown(New) -> Profile: returns this profile
 */
ERL_NIF_TERM inv_engine_unknown(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/*
 * quiet(Send, Receive) -> ok: sets two masks: the sessions that want no sent
 * messages, and those that want no received messages, because their pattern for
 * these events is `false'
 */
ERL_NIF_TERM inv_engine_quiet(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* calls(Local, Callers) -> ok: sets the mask of the sessions that trace local
 * calls, and whether match specs report the caller (engine/session.h) */
ERL_NIF_TERM inv_engine_calls(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* lost() -> tuple that says how often each shortage of enum inv_shortage has
 * happened, in the order of the enum */
ERL_NIF_TERM inv_engine_lost(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

void inv_engine_edit_init(ErlNifEnv *env);

#endif
