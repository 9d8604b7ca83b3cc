/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PLAIN_H
#define INV_ENGINE_PLAIN_H

#include <erl_nif.h>
#include <stdint.h>

/*
 * Functions that the VM has a pattern on without a match spec, which would cost
 * a call more than all else: each of the sessions that trace them wants all
 * calls.  The event has no verdict then; whose it is, is written here.
 *
 * Such a pattern does not say that it is ours, as others do: so that it is
 * known here when a server was killed that had set it.  All but
 * inv_plain_sessions is the server's.
 */

/* The mask of those that want a call, {M, F, Args}. */
uint32_t inv_plain_sessions(ErlNifEnv *env, ERL_NIF_TERM call);

/* There are no sessions any more; their patterns may still be there. */
void inv_plain_clear(void);

/* room(M, F, A) -> boolean(): whether it can be plain */
ERL_NIF_TERM inv_plain_room(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* plain(M, F, A, Mask | none) -> what it was: none, where there is no room */
ERL_NIF_TERM inv_plain_note(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* is_plain(M, F, A) -> boolean() */
ERL_NIF_TERM inv_plain_is(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

void inv_plain_init(ErlNifEnv *env);

#endif
