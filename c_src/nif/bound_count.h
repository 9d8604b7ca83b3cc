/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_BOUND_COUNT_H
#define INV_NIF_BOUND_COUNT_H

#include "base/likely.h"
#include "nif/bound.h"
#include "nif/called.h"
#include "nif/tracer.h"
#include "vm/open_calls.h"

/*
 * Counting a call, or the end of a call, in the tracer's table of open calls
 * (nif/bound.h). Each event of a call does this, so the code is in a header,
 * where it can be inlined. Callers use only inv_bound_count.
 */

/* Does the work of inv__bound_begin for an event with a value. The value can be
 * a mark. */
enum inv_bound inv__bound_begin_valued(struct inv_tracer *t,
				       struct inv_open_calls *o,
				       uint32_t function,
				       const struct inv_tracer_event **event,
				       struct inv_tracer_event *plain);

/* Counts an event as left out, and returns INV_BOUND_LEAVE_OUT. */
enum inv_bound inv__bound_left_out(struct inv_tracer *t);

/* Counts an open call. */
static inline enum inv_bound inv__bound_add(struct inv_tracer *t,
					    struct inv_open_calls *o,
					    uint32_t function,
					    ERL_NIF_TERM process)
{
	bool reported =
		inv_open_function_reported(inv_open_function_at(o, function));

	if (inv_unlikely(inv_open_calls_begin(o, function, process))) {
		atomic_store(&inv_slot_of(t->handle)->holds, true);
		return INV_BOUND_HOLDS;
	}
	return inv_likely(reported) ? INV_BOUND_BEGINS : INV_BOUND_RECORD;
}

static inline enum inv_bound inv__bound_begin(
	struct inv_tracer *t, struct inv_open_calls *o, uint32_t function,
	const struct inv_tracer_event **event, struct inv_tracer_event *plain)
{
	if (inv_unlikely((*event)->value != 0))
		return inv__bound_begin_valued(t, o, function, event, plain);
	if (inv_open_function_ends(inv_open_function_at(o, function)) !=
	    INV_ENDS_ALL)
		return INV_BOUND_RECORD;
	return inv__bound_add(t, o, function, (*event)->tracee);
}

/*
 * If the event is a call whose end the VM will report, or the end of such a
 * call, counts it in the table of open calls. Call this function in the thread
 * of the traced process. If the event has a mark, it is copied to *plain
 * without the mark, and *event then points to the copy. If the event's function
 * is in the table of open calls, sets *call; otherwise sets call->function to
 * INV_BOUND_UNKNOWN, and returns INV_BOUND_RECORD. For INV_TAG_CALL, *event
 * must have the fields that the VM passes in a map (nif/arrival.h); for other
 * tags these fields are not read.
 */
static inline enum inv_bound inv_bound_count(
	struct inv_tracer *t, enum inv_tag tag,
	const struct inv_tracer_event **event, struct inv_tracer_event *plain,
	struct inv_bound_call *call)
{
	const struct inv_tracer_event *te = *event;
	/* Acquire: pairs with the release in inv_bound_ends(). */
	struct inv_open_calls *o =
		atomic_load_explicit(&t->open_calls, memory_order_acquire);
	struct inv_called called;
	uint32_t function;

	call->function = INV_BOUND_UNKNOWN;
	if ((tag != INV_TAG_CALL && tag != INV_TAG_RETURN_FROM &&
	     tag != INV_TAG_EXCEPTION_FROM) ||
	    !inv_called_read(te->env, te->content, &called, &call->args))
		return INV_BOUND_RECORD;
	function = inv_open_calls_find(o, &called);
	if (inv_unlikely(function == INV_OPEN_CALLS_PLACES))
		return INV_BOUND_RECORD;
	call->function = function;
	call->arity = called.arity;
	if (tag == INV_TAG_CALL)
		return inv__bound_begin(t, o, function, event, plain);
	if (inv_likely(inv_open_calls_end(o, function, te->tracee)))
		return INV_BOUND_ENDS;
	return inv__bound_left_out(t);
}

#endif
