/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NOTED_H
#define INV_ENGINE_NOTED_H

#include <erl_nif.h>
#include <stdint.h>

/* What the server tells, and is told, of notes (note.h). */

/* The mask of those that want a call, {M, F, Args}, of a plain function. */
uint32_t inv_noted_sessions(ErlNifEnv *env, ERL_NIF_TERM call);

/* room(M, F, A) -> boolean(): whether it can be plain */
ERL_NIF_TERM inv_noted_room(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* plain(M, F, A, Mask | none) -> what it was: none, where there is no room */
ERL_NIF_TERM inv_noted_plain(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* is_plain(M, F, A) -> boolean() */
ERL_NIF_TERM inv_noted_is_plain(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);

/* count(M, F, A, Counters) -> what it was: 0, where there is no room */
ERL_NIF_TERM inv_noted_count(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* counted(M, F, A) -> Counters, 0: none */
ERL_NIF_TERM inv_noted_counted(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

void inv_noted_init(ErlNifEnv *env);

#endif
