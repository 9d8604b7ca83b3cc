/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EDIT_H
#define INV_ENGINE_EDIT_H

#include <erl_nif.h>

/*
 * What the server asks and changes of profiles.  A tracee is a pid, a port, or
 * what new ones have: `new_processes', `new_ports'.
 */

/* edit(Tracee, Slot, Clear, Set, Tracer) -> Profile | full */
ERL_NIF_TERM inv_engine_edit(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/* profile_of(Tracee) -> Profile */
ERL_NIF_TERM inv_engine_profile_of(ErlNifEnv *env, int argc,
				   const ERL_NIF_TERM argv[]);
/* called(Pid) -> Sessions whose flag `call' it has or had | unknown */
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

/* vacate(Slot, From) -> Next, or 0: some places of the table are nobody's in it */
ERL_NIF_TERM inv_engine_vacate(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* know(Tracee) -> ok: gives it a place */
ERL_NIF_TERM inv_engine_know(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);
/* unknown(New, Profile) -> ok, unknown(New) -> Profile: what those have that
 * have no place */
ERL_NIF_TERM inv_engine_unknown(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/* quiet(Send, Receive) -> ok: sessions whose patterns of these are `false' */
ERL_NIF_TERM inv_engine_quiet(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* calls(Local, Callers) -> ok: see inv_sessions_set_calls */
ERL_NIF_TERM inv_engine_calls(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);
/* lost() -> {Count of each enum inv_shortage} */
ERL_NIF_TERM inv_engine_lost(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* Makes the atoms. */
void inv_engine_edit_init(ErlNifEnv *env);

#endif
