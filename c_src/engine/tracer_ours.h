/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACER_OURS_H
#define INV_ENGINE_TRACER_OURS_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"
#include "engine/message.h"

/*
 * A session's tracer that is of the module inviso_tracer: a function call in
 * the traced process's thread writes the event into the tracer's ring, without
 * a message.
 *
 * The library is the one that the module inviso_tracer has loaded. It stays
 * mapped while the engine's library is loaded, even if the module is purged.
 * Purging the module closes the tracers; inv_ours_take() then returns
 * INV_TRACER_GONE.
 */
struct inv_ours {
	inv_tracer_call *call; /* NULL: this is not one of inviso's tracers */
	inv_tracer_holds *holds;
	uint64_t handle;
};

/*
 * Opens the tracer `handle' of the library in the file `path'.  Returns 0, or
 * -1 if the library is not loaded or is of another version.
 */
int inv_ours_open(struct inv_ours *o, const char *path, uint64_t handle);

/* Releases the libraries.  No callback may be running. */
void inv_ours_end(void);

void inv_ours_init(ErlNifEnv *env);

/*
 * Writes the event to the tracer. The session's flags determine the form, as in
 * inv_message_send.
 */
enum inv_tracer_took inv_ours_take(const struct inv_ours *o,
				   struct inv_message *m, uint32_t slot,
				   ERL_NIF_TERM value);

#endif
