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
 * Returns true if the tracer has no filter, or if its filter wants the event.
 * If the event ends a call, it also returns true if the filter wanted the call
 * (was_wanted), so that calls are recorded with their durations. Counts events
 * that the filter does not want or cannot decide.
 *
 * Only for tracers that record. A callback calls it after inv_thread_enter.
 * `thread' is the calling thread. Another thread may exchange the filter at the
 * same time.
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

/* Returns true if the tracer has no filter, or if the filter wanted the
 * tracee's innermost open call. Call it before inv_bound_count, which removes
 * the call. */
static inline bool inv_was_wanted(struct inv_tracer *t, ERL_NIF_TERM tracee)
{
	return inv_likely(!atomic_load_explicit(&t->filter,
						memory_order_relaxed)) ||
	       inv_bound_wanted(t, tracee);
}

#endif
