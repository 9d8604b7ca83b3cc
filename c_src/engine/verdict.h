/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_VERDICT_H
#define INV_ENGINE_VERDICT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/frames.h"
#include "engine/message.h"

/*
 * What the match specs of all sessions made of an event.  They have been
 * compiled into one of the VM's (inviso_engine_spec.erl), whose result is
 *
 *	{Sessions, Valued, Returns, Exceptions, Value..., Test...}
 *
 * masks of the sessions that match, of those of them whose {message, Value} is
 * not `true', one Value for each of these from bit 0 on, and of those that
 * want to hear of the call's end.  Without a result all sessions match, of a
 * call those that want all of the function's (note.h).  A Test is {Slot, Boolean, Value}: a
 * clause of a session from whose clauses the VM has not chosen.  It matches if
 * it is `true', and the first that does counts.
 *
 * Where more is needed there is, instead of Sessions,
 *
 *	{Sessions, Specs, Caller, Actions, Tracer}
 *
 * Specs: of messages, the sessions that have a match spec for them; of calls,
 * those that trace global ones alone.  Caller: {M, F, A} or anything else.
 * Actions: what the match specs do (action.h).  Tracer: its number, of meta
 * traced calls in a session that has none.
 */
struct inv_verdict {
	bool given; /* there is a result */
	uint32_t sessions;
	uint32_t valued;
	uint32_t specs;
	struct inv_call_frame frame;
	ERL_NIF_TERM caller;
	ERL_NIF_TERM actions;	/* 0: none */
	ERL_NIF_TERM value[32]; /* of the sessions in valued */
};

/* Makes the atoms. */
void inv_verdict_init(ErlNifEnv *env);

/* All match, without a result. */
void inv_verdict_none(struct inv_verdict *v);

/* From a callback's options; false: not one of ours. */
bool inv_verdict_read(ErlNifEnv *env, ERL_NIF_TERM opts, struct inv_verdict *v);

/* The sessions that get a message: those that match and do not say `false'. */
uint32_t inv_verdict_told(const struct inv_verdict *v);

/* Sends each session of the mask that matched its message. */
void inv_verdict_send(struct inv_message *m, const struct inv_verdict *v,
		      uint32_t mask);

#endif
