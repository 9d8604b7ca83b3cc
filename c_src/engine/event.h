/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EVENT_H
#define INV_ENGINE_EVENT_H

#include <erl_nif.h>

/*
 * The callbacks of the engine's tracer module, the only tracer that the VM
 * knows. They find the sessions that want an event, and send each session's
 * tracer the message that it would get if there were no other sessions.
 *
 * The callbacks take no lock of the engine and allocate no memory; but when
 * they send a message, the VM does both. Their work is bounded by the number of
 * sessions.
 */

/*
 * The state of the tracer module: 0, or INV_ENGINE_META for meta traced
 * functions.
 */
#define INV_ENGINE_META 1

/* enabled(Tag, State, Tracee) */
ERL_NIF_TERM inv_engine_enabled(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/* trace(Tag, State, Tracee, Msg, Opts) */
ERL_NIF_TERM inv_engine_trace(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);

void inv_engine_event_init(ErlNifEnv *env);

#endif
