/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_MESSAGE_H
#define INV_ENGINE_MESSAGE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/flag.h"
#include "engine/profile.h"

/*
 * An event, with the data for the messages to the sessions' tracers. OTP's
 * documentation of the module trace describes these messages.
 */
struct inv_message {
	ErlNifEnv *env;
	const struct inv_engine_tag *tag;
	const struct inv_profile *profile;
	/* The profile that the tracee had before the actions of match specs
	 * were run. */
	const struct inv_profile *before;
	ERL_NIF_TERM opts; /* the VM's options for the event */
	ERL_NIF_TERM tracee;
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;	/* 0: none */
	ERL_NIF_TERM scheduler; /* 0: no session wants the scheduler's number */
	bool meta; /* the call is meta traced; flags of processes do not apply */
	uint32_t tracer;   /* for a meta traced call: the tracer's number, if
			      the session has no tracer of its own */
	uint32_t birth;	   /* the number of the youngest session (session.h) */
	ERL_NIF_TERM bare; /* the message for sessions whose flags do not change
			      its form; 0: not made yet */
	uint64_t time;	   /* the event's time, for tracers of inviso_tracer;
			  0: not read yet (abi/tracer_call.h) */
};

void inv_messages_init(ErlNifEnv *env);

/* Returns true if the session in `slot' has set the flag on the tracee. Flags
 * do not apply to a meta traced call: the result is then true only for
 * INV_FLAG_TIMESTAMP. */
static inline bool inv_message_has(const struct inv_message *m,
				   enum inv_flag flag, uint32_t slot)
{
	if (m->meta)
		return flag == INV_FLAG_TIMESTAMP;
	return m->profile->sessions[flag] >> slot & 1;
}

/*
 * Returns m->content in the form that the session in `slot' wants: if the
 * session has set the flag `arity', the number of arguments replaces the
 * arguments of a call.
 */
ERL_NIF_TERM inv_message_content(const struct inv_message *m, uint32_t slot);

/*
 * Sends the message to the tracer of the session in `slot', unless that tracer
 * is the traced process itself.  `value' is the Value of {message, Value} in
 * the session's match spec; 0: no value.
 */
void inv_message_send(struct inv_message *m, uint32_t slot, ERL_NIF_TERM value);

#endif
