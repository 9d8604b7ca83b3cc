/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NOTED_H
#define INV_ENGINE_NOTED_H

#include <erl_nif.h>
#include <stdint.h>

/* NIFs with which the engine's server reads and writes notes (note.h). */

/*
 * Returns the mask of the sessions that want the call {M, F, Args}, or 0 if the
 * function is not plain.
 */
uint32_t inv_noted_sessions(ErlNifEnv *env, ERL_NIF_TERM call);

/*
 * room(M, F, A) -> boolean(): makes a note for the function, if it has none;
 * false if there is no room
 */
ERL_NIF_TERM inv_noted_room(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/*
 * plain(M, F, A, Mask | none) -> Mask | none: notes that the function is plain
 * and which sessions want its calls (none: it is not plain); returns the
 * previous value, or none if the function has no note
 */
ERL_NIF_TERM inv_noted_plain(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* is_plain(M, F, A) -> boolean() */
ERL_NIF_TERM inv_noted_is_plain(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);

/* count(M, F, A, Counters) -> Counters: notes the function's call counters, and
 * returns the previous value, or 0 if there is no room for a note */
ERL_NIF_TERM inv_noted_count(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* counted(M, F, A) -> Counters, or 0 if the function has none */
ERL_NIF_TERM inv_noted_counted(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

void inv_noted_init(ErlNifEnv *env);

#endif
