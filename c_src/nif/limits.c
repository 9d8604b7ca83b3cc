/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/limits.h"

#include "nif/encode.h"
#include "nif/retire.h"

/*
 * A lease is the thread's part of the limit. If an event has more bytes than
 * remain in the lease, the other bytes of the event are subtracted from the
 * part of the limit that no thread has leased. So all bytes of the event are
 * counted.
 */
void inv_limits_bytes(struct inv_tracer *t, struct inv_lane *lane,
		      uint32_t bytes)
{
	if (bytes <= lane->bytes_lease) {
		lane->bytes_lease -= bytes;
		return;
	}
	if (atomic_load_explicit(&t->bytes_left, memory_order_relaxed) !=
	    INT64_MAX)
		atomic_fetch_sub_explicit(&t->bytes_left,
					  bytes - lane->bytes_lease,
					  memory_order_relaxed);
	lane->bytes_lease = 0;
}

static uint32_t lease(_Atomic int64_t *left, uint32_t want)
{
	int64_t was = atomic_load_explicit(left, memory_order_relaxed);

	/* INT64_MAX: there is no limit. */
	if (was == INT64_MAX)
		return want;
	was = atomic_fetch_sub_explicit(left, want, memory_order_relaxed);
	if (was >= (int64_t)want)
		return want;
	atomic_fetch_add_explicit(left, was > 0 ? want - was : want,
				  memory_order_relaxed);
	return was > 0 ? (uint32_t)was : 0;
}

/*
 * Several threads may call this function at the same time. It stores the reason
 * (spent_by) before the state INV_USE_SPENT, so that a thread that sees this
 * state also sees the reason.
 */
void inv_limits_spend(struct inv_tracer *t, enum inv_limit why)
{
	struct inv_slot *slot = inv_slot_of(t->handle);
	uint8_t use = atomic_load_explicit(&slot->use, memory_order_relaxed);
	uint8_t none = INV_LIMIT_NONE;

	atomic_compare_exchange_strong(&t->spent_by, &none, (uint8_t)why);

	while (use != INV_USE_SPENT) {
		inv_retire_add(slot);
		if (atomic_compare_exchange_weak(&slot->use, &use,
						 INV_USE_SPENT))
			return;
	}
}

bool inv_limits_take(struct inv_tracer *t, struct inv_lane *lane, uint64_t now)
{
	if (inv_limits_over(t, now))
		return false;
	if (lane->bytes_lease == 0)
		lane->bytes_lease = lease(&t->bytes_left, INV_LEASE_BYTES);
	if (lane->events_lease == 0)
		lane->events_lease = lease(&t->events_left, INV_LEASE_EVENTS);
	if (lane->bytes_lease == 0 || lane->events_lease == 0) {
		inv_limits_spend(t, lane->events_lease == 0 ? INV_LIMIT_EVENTS :
							      INV_LIMIT_BYTES);
		return false;
	}
	if (t->rate) {
		if (lane->rate_lease == 0)
			lane->rate_lease = inv_rate_lease(t->rate, now);
		if (lane->rate_lease == 0)
			return false;
		lane->rate_lease--;
	}
	lane->events_lease--;
	return true;
}

INV_COLD void inv_limits_late(struct inv_lane *lane)
{
	inv_producer_offer(&lane->producer);
	inv_producer_drop(&lane->producer, INV_LOSS_LIMIT);
}
