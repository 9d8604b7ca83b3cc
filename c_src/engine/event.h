/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EVENT_H
#define INV_ENGINE_EVENT_H

#include <erl_nif.h>

/*
 * The callbacks of the engine's tracer module. For the VM this module is the
 * only tracer; the tracers of sessions are known only to the engine. The
 * callbacks find the sessions that want an event, and send each session's
 * tracer the message that it would get if there were no other sessions.
 *
 * The callbacks themselves take no lock and allocate no memory; but when they
 * send a message, the VM takes locks and allocates memory. Their work is
 * bounded by the number of sessions.
 */

/*
 * The state that the VM passes to the callbacks: 0, or INV_ENGINE_META for
 * calls of meta traced functions.
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
