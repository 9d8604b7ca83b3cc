/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_MESSAGE_H
#define INV_ENGINE_MESSAGE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/flag.h"
#include "engine/profile.h"

/*
 * An event, and the message of each session that wants it: the trace messages
 * that the documentation of the module trace lists.
 */
struct inv_message {
	ErlNifEnv *env;
	const struct inv_engine_tag *tag;
	const struct inv_profile *profile;
	const struct inv_profile *before; /* any action */
	ERL_NIF_TERM opts;		  /* what the VM tells beside it */
	ERL_NIF_TERM tracee;
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;	/* 0: none */
	ERL_NIF_TERM scheduler; /* 0: no session wants its number */
	bool meta;		/* flags of processes are no matter of it */
	uint32_t tracer;	/* then: of a session that has none */
	uint32_t birth;		/* younger sessions are none of its masks */
	ERL_NIF_TERM bare;	/* the message without flags; 0: not made yet */
};

void inv_messages_init(ErlNifEnv *env);

/* Whether the session has set the flag for who it is about. */
static inline bool inv_message_has(const struct inv_message *m,
				   enum inv_flag flag, uint32_t slot)
{
	if (m->meta)
		return flag == INV_FLAG_TIMESTAMP;
	return m->profile->sessions[flag] >> slot & 1;
}

/* As the session wants it: with the flag arity, a call without arguments. */
ERL_NIF_TERM inv_message_content(const struct inv_message *m, uint32_t slot);

/*
 * Sends it to the tracer of the session in that slot, unless that is the traced
 * process itself; `value` is what a match spec's {message, Value} made of it,
 * 0: nothing.
 */
void inv_message_send(struct inv_message *m, uint32_t slot, ERL_NIF_TERM value);

#endif
