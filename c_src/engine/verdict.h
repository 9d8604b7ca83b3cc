/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_VERDICT_H
#define INV_ENGINE_VERDICT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/frames.h"
#include "engine/message.h"

/*
 * The verdict on an event: the results of all sessions' match specs for it. The
 * engine's server compiles the specs into a single match spec for the VM
 * (inviso_engine_spec.erl). Its result is
 *
 *	{Sessions, Valued, Returns, Exceptions, Value..., Test...}
 *
 * Sessions    the mask of the sessions whose spec matches, and does not have
 *             {message, false}
 * Valued      the mask of those in Sessions that have {message, Value}, where
 *             Value is neither `true' nor `false'
 * Returns     the mask of the sessions that want the end of the call
 * Exceptions  the mask of those in Returns that want exceptions, too
 * Value       one for each bit in Valued, from bit 0 on
 * Test        {Slot, Boolean, Value}, for a clause that a guard could not test:
 *             the session in Slot matches if Boolean is `true'. If several
 *             tests of a session are `true', its value is that of the first
 *
 * If an event has no result of a match spec, all sessions match. But if the
 * event is a call, only the sessions match that want all calls of the function
 * (note.h).
 *
 * If the engine needs more data, the first element is not a mask but
 *
 *	{Sessions, Specs, Caller, Actions, Tracer}
 *
 * Specs       for messages, the mask of the sessions that have a match spec;
 *             for calls, the mask of the sessions with a global pattern, which
 *             get no recursive calls
 * Caller      {M, F, A}, or another term if the caller is unknown
 * Actions     the actions of the match specs (action.h)
 * Tracer      for a meta traced call, the tracer's number, if the session has
 *             no tracer of its own
 */
struct inv_verdict {
	bool given; /* the event has a result of a match spec */
	uint32_t sessions;
	uint32_t valued;
	uint32_t specs;
	struct inv_call_frame frame;
	ERL_NIF_TERM caller;
	ERL_NIF_TERM actions;	/* 0: none */
	ERL_NIF_TERM value[32]; /* by slot, for the sessions in `valued' */
};

void inv_verdict_init(ErlNifEnv *env);

/* Makes the verdict of an event for which the VM reports no result of a match
 * spec, for example because the trace pattern has none: all sessions match. */
void inv_verdict_none(struct inv_verdict *v);

/*
 * Reads the verdict from a callback's options.  Returns false if another tool
 * has set the match spec.
 */
bool inv_verdict_read(ErlNifEnv *env, ERL_NIF_TERM opts, struct inv_verdict *v);

/*
 * Returns the sessions that get a message: those that match and do not have
 * {message, false}.
 */
uint32_t inv_verdict_told(const struct inv_verdict *v);

/* Sends a message to each session of the mask that matches. */
void inv_verdict_send(struct inv_message *m, const struct inv_verdict *v,
		      uint32_t mask);

#endif
