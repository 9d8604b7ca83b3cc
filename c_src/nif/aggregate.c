/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/aggregate.h"

#include "base/likely.h"
#include "nif/delivery.h"
#include "nif/encode.h"
#include "nif/limits.h"
#include "nif/results.h"
#include "nif/tally.h"
#include "nif/thread.h"
#include "nif/times.h"
#include "nif/tracer.h"

static INV_COLD enum inv_outcome come_late(struct inv_lane *lane)
{
	inv_limits_late(lane);
	return INV_TAKEN;
}

/* Handles an event of a tracer that times calls. */
static enum inv_outcome time_call(struct inv_tracer *t,
				  struct inv_thread *thread,
				  struct inv_arrival *a)
{
	uint64_t now = inv_arrival_time(a, thread);

	if (inv_unlikely(inv_limits_over(t, now)))
		return come_late(&t->lanes[thread->index]);
	switch (inv_times_event(t, thread->index, a, now)) {
	case INV_TIMED:
		return INV_TAKEN;
	case INV_TIMED_HELD:
		return INV_HELD;
	case INV_TIMED_OVER:
		return come_late(&t->lanes[thread->index]);
	default:
		return INV_BAD;
	}
}

/* How many events a thread counts before it checks the time limit again. */
#define COUNTS_A_LOOK 256u

/* Handles an event of a tracer that counts. Depending on the tracer, counts
 * calls by how they end, adds the number that the event's match spec reports to
 * a histogram, or only counts the event. */
static enum inv_outcome add(struct inv_tracer *t, struct inv_thread *thread,
			    struct inv_arrival *a)
{
	bool done;

	if (inv_unlikely(t->results))
		return inv_results_event(t, thread->index, a);
	done = inv_unlikely(t->numbers) ?
		       inv_times_number(t, thread->index, a) :
		       inv_tally_event(t, thread->index, a);
	return inv_likely(done) ? INV_TAKEN : INV_BAD;
}

/*
 * Counts an event, and records nothing. A thread reads the clock only once for
 * COUNTS_A_LOOK events, so it may notice the time limit late. Events after it
 * has noticed the limit are counted as lost.
 */
static enum inv_outcome count(struct inv_tracer *t, struct inv_thread *thread,
			      struct inv_arrival *a)
{
	struct inv_lane *lane = &t->lanes[thread->index];
	enum inv_outcome outcome = add(t, thread, a);

	if (inv_unlikely(++lane->events_lease >= COUNTS_A_LOOK)) {
		lane->events_lease = 0;
		(void)inv_limits_over(t, inv_thread_now(thread));
	}
	return outcome;
}

enum inv_outcome inv_aggregate(struct inv_tracer *t, struct inv_thread *thread,
			       struct inv_arrival *a)
{
	if (inv_unlikely(t->delivery != NULL)) {
		inv_delivery_event(t->delivery, thread->index,
				   inv_arrival_whole(a));
		return INV_TAKEN;
	}
	if (inv_unlikely(
		    atomic_load_explicit(&t->spent_by, memory_order_relaxed) !=
		    INV_LIMIT_NONE))
		return come_late(&t->lanes[thread->index]);
	return t->timing && !t->numbers ? time_call(t, thread, a) :
					  count(t, thread, a);
}
