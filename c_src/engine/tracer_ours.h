/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACER_OURS_H
#define INV_ENGINE_TRACER_OURS_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"
#include "engine/message.h"

/*
 * A session's tracer that is a tracer of the module inviso_tracer. In the
 * thread of the traced process, the engine calls a function of that module's
 * library. This function writes the event into the tracer's ring; no message is
 * sent.
 *
 * The library is the one that the module inviso_tracer has loaded. It stays
 * mapped while the engine's library is loaded, even if inviso_tracer is purged.
 * Purging inviso_tracer closes its tracers; inv_ours_take() then returns
 * INV_TRACER_GONE.
 */
struct inv_ours {
	inv_tracer_call *call; /* NULL: not a tracer of inviso_tracer */
	inv_tracer_holds *holds;
	uint64_t handle;
};

/*
 * Sets *o to the tracer `handle' of the library that was loaded from the file
 * `path'.  Returns 0, or -1 if the library is not loaded or is of another
 * version.
 */
int inv_ours_open(struct inv_ours *o, const char *path, uint64_t handle);

/* Releases the libraries.  No callback may be running. */
void inv_ours_end(void);

void inv_ours_init(ErlNifEnv *env);

/*
 * Passes the event to the tracer. The event's form depends on the flags of the
 * session in `slot', as in inv_message_send.
 */
enum inv_tracer_took inv_ours_take(const struct inv_ours *o,
				   struct inv_message *m, uint32_t slot,
				   ERL_NIF_TERM value);

#endif
