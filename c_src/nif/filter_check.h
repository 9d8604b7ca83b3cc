/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_FILTER_CHECK_H
#define INV_NIF_FILTER_CHECK_H

#include <stdbool.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "base/likely.h"
#include "nif/bound.h"
#include "nif/thread.h"
#include "nif/tracer.h"

/*
 * Returns true if the tracer has no filter; if its filter wants the event; or if
 * it wanted the call that the event ends (inv_was_wanted). So a filter of calls
 * leaves out no durations. Counts events that the filter does not want or cannot
 * decide. Callbacks call it, after inv_thread_enter, for a tracer that records.
 * `thread' is the calling thread. The filter may be exchanged during the call.
 */
bool inv_filter_selects(struct inv_tracer *t, struct inv_thread *thread,
			const struct inv_tracer_event *event, enum inv_tag tag,
			enum inv_bound bound, bool was_wanted);

static inline bool inv_is_wanted(struct inv_tracer *t,
				 struct inv_thread *thread,
				 const struct inv_tracer_event *event,
				 enum inv_tag tag, enum inv_bound bound,
				 bool was_wanted)
{
	return inv_likely(!atomic_load_explicit(&t->filter,
						memory_order_relaxed)) ||
	       inv_filter_selects(t, thread, event, tag, bound, was_wanted);
}

/* Call it before inv_bound_count. */
static inline bool inv_was_wanted(struct inv_tracer *t, ERL_NIF_TERM tracee)
{
	return inv_likely(!atomic_load_explicit(&t->filter,
						memory_order_relaxed)) ||
	       inv_bound_wanted(t, tracee);
}

#endif
