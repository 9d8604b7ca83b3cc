/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_EVENT_H
#define INV_ENGINE_EVENT_H

#include <erl_nif.h>

/*
 * The callbacks of the engine's tracer module, which is the only tracer that
 * the VM knows: they find the sessions that want an event and send each what
 * its tracer would have got if it were alone.
 *
 * For functions and messages, a session's match specs have been compiled into
 * one of the VM's for all sessions (inviso_engine_spec.erl), whose result is
 *
 *	{Sessions, Valued, Returns, Exceptions, Value...}
 *
 * masks of the sessions that match, of those of them whose {message, Value} is
 * not `true', one Value for each of these from bit 0 on, and of those that
 * want to hear of the call's end.  Without a result all sessions match.
 *
 * No lock, no allocation of ours; what is looked at is bounded by the number
 * of sessions.
 */

/* enabled(Tag, State, Tracee) */
ERL_NIF_TERM inv_engine_enabled(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[]);
/* trace(Tag, State, Tracee, Msg, Opts) */
ERL_NIF_TERM inv_engine_trace(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);

/* Makes the atoms. */
void inv_engine_event_init(ErlNifEnv *env);

#endif
