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
 *	{Sessions, Valued, Returns, Exceptions, Value...}
 *
 * masks of the sessions that match, of those of them whose {message, Value} is
 * not `true', one Value for each of these from bit 0 on, and of those that
 * want to hear of the call's end.  Without a result all sessions match.
 */
struct inv_verdict {
	uint32_t sessions;
	uint32_t valued;
	struct inv_frame frame;
	const ERL_NIF_TERM *values;
	int values_len;
};

/* Makes the atoms. */
void inv_verdict_init(ErlNifEnv *env);

/* From a callback's options; false: not one of ours. */
bool inv_verdict_read(ErlNifEnv *env, ERL_NIF_TERM opts, struct inv_verdict *v);

/* Sends each session of the mask that matched its message; uses up `v`. */
void inv_verdict_send(const struct inv_message *m, struct inv_verdict *v,
		      uint32_t mask);

#endif
