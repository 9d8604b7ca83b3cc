/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_LIMITS_H
#define INV_NIF_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "nif/tracer.h"

/*
 * The limits of a tracer. Each thread takes some events and bytes of a limit in
 * advance, as a lease, so that the threads seldom write the shared counters.
 * When a limit is reached, enabled/3 returns `remove', and later events are
 * counted as lost.
 */

/* Call it when the limit `why' is reached. From then on enabled/3 returns
 * `remove'. */
void inv_limits_spend(struct inv_tracer *t, enum inv_limit why);

/* Takes one event from the thread's leases. Returns false if a limit of the
 * tracer does not allow another event now. */
bool inv_limits_take(struct inv_tracer *t, struct inv_lane *lane, uint64_t now);

/* Counts the bytes of an event against the limit of bytes. */
void inv_limits_bytes(struct inv_tracer *t, struct inv_lane *lane,
		      uint32_t bytes);

/* Counts an event as lost, because it came after a limit was reached. */
void inv_limits_late(struct inv_lane *lane);

/* Returns true if the time limit is reached. */
static inline bool inv_limits_over(struct inv_tracer *t, uint64_t now)
{
	if (inv_likely(now <
		       atomic_load_explicit(&t->until, memory_order_relaxed)))
		return false;
	inv_limits_spend(t, INV_LIMIT_TIME);
	return true;
}

#endif
