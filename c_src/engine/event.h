/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EVENT_H
#define INV_ENGINE_EVENT_H

#include <erl_nif.h>

/*
 * The callbacks of the engine's tracer module, which is the only tracer that
 * the VM knows: they find the sessions that want an event and send each what
 * its tracer would have got if it were alone.
 *
 * No lock, no allocation of ours; what is looked at is bounded by the number
 * of sessions.
 */

/* State: 0, or of functions that are meta traced */
#define INV_ENGINE_META 1

/* enabled(Tag, State, Tracee) */
ERL_NIF_TERM inv_engine_enabled(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/* trace(Tag, State, Tracee, Msg, Opts) */
ERL_NIF_TERM inv_engine_trace(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);

/* Makes the atoms. */
void inv_engine_event_init(ErlNifEnv *env);

#endif
