/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EDIT_H
#define INV_ENGINE_EDIT_H

#include <erl_nif.h>

/*
 * NIFs for the engine's server: they change and read the profiles of tracees.
 * Tracee is a pid or a port; for future processes or ports it is
 * `new_processes' or `new_ports'.
 */

/* edit(Tracee, Slot, Clear, Set, Tracer) -> Profile | full */
ERL_NIF_TERM inv_engine_edit(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/* profile_of(Tracee) -> Profile */
ERL_NIF_TERM inv_engine_profile_of(ErlNifEnv *env, int argc,
				   const ERL_NIF_TERM argv[]);
/* called(Pid) -> Sessions whose flag `call' the process has or had | unknown */
ERL_NIF_TERM inv_engine_called(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);
/* masks(Profile) -> {Sessions of each flag, and of INV_FLAG_USED_UP} */
ERL_NIF_TERM inv_engine_masks(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* tracer_of(Profile, Slot) -> Number */
ERL_NIF_TERM inv_engine_tracer_of(ErlNifEnv *env, int argc,
				  const ERL_NIF_TERM argv[]);

/* expected(Tracee) -> Sessions: see inv_tracee_expected */
ERL_NIF_TERM inv_engine_expected(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[]);
/* changed(Max) -> [Pid]: see inv_tracees_take_marked */
ERL_NIF_TERM inv_engine_changed(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);

/*
 * vacate(Slot, From) -> Next | 0: removes the slot's session from some entries
 * of the table; 0: the end of the table was reached
 */
ERL_NIF_TERM inv_engine_vacate(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* know(Tracee) -> ok: gives the tracee an entry in the table */
ERL_NIF_TERM inv_engine_know(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/*
 * unknown(New, Profile) -> ok sets the profile of tracees without an entry;
 * unknown(New) -> Profile returns it
 */
ERL_NIF_TERM inv_engine_unknown(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/*
 * quiet(Send, Receive) -> ok: sets the sessions whose patterns for sent and for
 * received messages are `false'
 */
ERL_NIF_TERM inv_engine_quiet(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* calls(Local, Callers) -> ok: see inv_sessions_set_calls */
ERL_NIF_TERM inv_engine_calls(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* lost() -> {Count of each enum inv_shortage, in order} */
ERL_NIF_TERM inv_engine_lost(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

void inv_engine_edit_init(ErlNifEnv *env);

#endif
