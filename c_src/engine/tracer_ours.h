/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACER_OURS_H
#define INV_ENGINE_TRACER_OURS_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"
#include "engine/message.h"

/*
 * A session's tracer that is inviso_tracer's: an event goes into its rings in
 * the traced thread itself, by a call and not by a message.
 *
 * The library is the one that the module was loaded with.  It stays mapped
 * while ours is loaded, even when the module has been purged meanwhile; its
 * tracers are closed then, which the call tells.
 */
struct inv_ours {
	inv_tracer_call *call; /* NULL: no such tracer */
	uint64_t handle;
};

/*
 * Of the library in that file, which must be loaded.  0, or -1: it is not, or
 * is of another version.
 */
int inv_ours_open(struct inv_ours *o, const char *path, uint64_t handle);

/* Gives the libraries back: no callback runs any more. */
void inv_ours_end(void);

/* Makes the atoms. */
void inv_ours_init(ErlNifEnv *env);

/*
 * Hands the tracer what it would have got if it were alone: inv_message_send
 * does for a process.  False: it takes no more events.
 */
bool inv_ours_take(const struct inv_ours *o, const struct inv_message *m,
		   uint32_t slot, ERL_NIF_TERM value);

#endif
