/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PLAIN_H
#define INV_ENGINE_PLAIN_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Functions that the VM has a pattern on without a match spec, which would cost
 * a call more than all else: all calls are wanted, and by one session alone, the
 * plain one.  There is one of these at most, so that an event without a verdict
 * is its.
 *
 * Such a pattern does not say that it is ours, as others do: so that it is
 * known here when a server was killed that had set it.  All but
 * inv_plain_session is the server's.
 */

/* Its mask; 0: there is none. */
uint32_t inv_plain_session(void);

/* plain(Slot | none) -> ok */
ERL_NIF_TERM inv_plain_choose(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);

/* plain(M, F, A, boolean()) -> boolean(): notes it; false: there is no room */
ERL_NIF_TERM inv_plain_note(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* is_plain(M, F, A) -> boolean() */
ERL_NIF_TERM inv_plain_is(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

void inv_plain_init(ErlNifEnv *env);

#endif
