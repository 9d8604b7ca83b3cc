/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_VERDICT_H
#define INV_NIF_VERDICT_H

#include <stdbool.h>

#include "abi/event.h"
#include "nif/arrival.h"

/*
 * Handles an event of a tracer with rules that pick calls when they end
 * (nif/decide.h). The event is a call, the end of a call, or an exit.
 */
struct inv_thread;
struct inv_tracer;

/* Returns true if inv_verdict handles events with this tag. */
static inline bool inv_verdict_on(enum inv_tag tag)
{
	return tag == INV_TAG_CALL || tag == INV_TAG_RETURN_FROM ||
	       tag == INV_TAG_EXCEPTION_FROM || tag == INV_TAG_EXIT;
}

/* Call it only if the tracer has a table of open calls (t->open_calls). */
enum inv_outcome inv_verdict(struct inv_tracer *t, struct inv_thread *thread,
			     struct inv_arrival *a, enum inv_tag tag);

#endif
