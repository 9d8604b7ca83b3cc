/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/large.h"

#include <stddef.h>

#include "base/testpoint.h"
#include "ring/layout.h"

void inv_larges_init(struct inv_larges *l, void *map, uint64_t len)
{
	const struct inv_ring_ctl *ctl = map;
	uint32_t n = ctl->n_large;
	uint32_t bytes = ctl->large_bytes;
	uint64_t total = ctl->total_len;
	uint64_t all = inv_layout_large_len(n, bytes);

	*l = (struct inv_larges){ 0 };
	if (all == 0 || total > len || all > total)
		return;
	l->base = (uint8_t *)map + (total - all);
	l->n = n;
	l->bytes = bytes;
	l->data_len = bytes - (uint32_t)sizeof(struct inv_ring_large);
}

static const struct inv_ring_head *ring_of(void *map, uint64_t owner)
{
	const struct inv_ring_ctl *ctl = map;
	uint32_t i = INV_LARGE_RING(owner);

	return i < ctl->n_rings ? inv_layout_ring(map, i) : NULL;
}

/* Returns true if the event of the packet `owner' is not needed any more: the
 * consumer has read the packet, or (with keep => newest) the producer has
 * overwritten the packet. */
static bool is_over(void *map, const struct inv_ring_ctl *ctl, uint64_t owner)
{
	const struct inv_ring_head *ring = ring_of(map, owner);
	uint64_t seq = INV_LARGE_SEQ(owner);

	if (!ring)
		return true;
	/* Acquire: pairs with the consumer's release store of read_seq, after
	 * which the consumer no longer reads the packet. */
	if (atomic_load_explicit(&ring->read_seq, memory_order_acquire) > seq)
		return true;
	return ctl->keep == INV_KEEP_NEWEST &&
	       atomic_load_explicit(&ring->next_seq, memory_order_acquire) >=
		       seq + ring->n_slots;
}

/*
 * Makes `mine' the owner of the slot if the owner is still `was'. With keep =>
 * newest, then checks whether the consumer holds the packet `was'. If so, makes
 * `was' the owner again, and returns false. The consumer stores its hold and
 * then loads the owner. All four accesses are seq_cst, so at least one of the
 * two threads sees the other's store.
 */
static bool take(struct inv_ring_large *s, void *map,
		 const struct inv_ring_ctl *ctl, uint64_t was, uint64_t mine)
{
	const struct inv_ring_head *ring;

	if (!atomic_compare_exchange_strong_explicit(&s->owner, &was, mine,
						     memory_order_seq_cst,
						     memory_order_relaxed))
		return false;
	INV_TESTPOINT("large.claimed");
	if (was == 0 || ctl->keep != INV_KEEP_NEWEST)
		return true;
	ring = ring_of(map, was);
	if (!ring || atomic_load_explicit(&ring->hold, memory_order_seq_cst) !=
			     INV_LARGE_SEQ(was))
		return true;
	atomic_store_explicit(&s->owner, was, memory_order_release);
	return false;
}

/* Among the slots whose events are not older than *ns, finds the one with the
 * oldest event. Returns its number, or -1. Sets *ns to the time after this
 * event, so that the next call finds another slot. */
static int oldest(const struct inv_larges *l, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;
	int found = -1;
	uint32_t i;

	for (i = 0; i < l->n; i++) {
		const struct inv_ring_large *s = inv_large_at(l, i);
		uint64_t at;

		if (atomic_load_explicit(&s->owner, memory_order_relaxed) &
		    INV_LARGE_BUSY)
			continue;
		at = atomic_load_explicit(&s->begin_ns, memory_order_relaxed);
		if (at < *ns || at >= least)
			continue;
		least = at;
		found = (int)i;
	}
	*ns = least + 1;
	return found;
}

int inv_large_claim(const struct inv_larges *l, void *map, uint32_t ring,
		    uint64_t seq)
{
	const struct inv_ring_ctl *ctl = map;
	uint64_t mine = INV_LARGE_BUSY | INV_LARGE_OWNER(ring, seq);
	uint64_t owner;
	uint64_t ns = 0;
	uint32_t i;
	int tries;

	for (i = 0; i < l->n; i++) {
		struct inv_ring_large *s = inv_large_at(l, (ring + i) % l->n);

		owner = atomic_load_explicit(&s->owner, memory_order_acquire);
		if (owner & INV_LARGE_BUSY)
			continue;
		if ((owner == 0 || is_over(map, ctl, owner)) &&
		    take(s, map, ctl, owner, mine))
			return (int)((ring + i) % l->n);
	}
	/* Try three slots, because the consumer may hold the packet of the
	 * first slot, and another thread may take the second slot. */
	for (tries = 0; ctl->keep == INV_KEEP_NEWEST && tries < 3; tries++) {
		int at = oldest(l, &ns);

		if (at < 0)
			return -1;
		owner = atomic_load_explicit(
			&inv_large_at(l, (uint32_t)at)->owner,
			memory_order_acquire);
		if (!(owner & INV_LARGE_BUSY) &&
		    take(inv_large_at(l, (uint32_t)at), map, ctl, owner, mine))
			return at;
	}
	return -1;
}

void inv_large_abandon(const struct inv_larges *l, uint32_t i)
{
	atomic_store_explicit(&inv_large_at(l, i)->owner, 0,
			      memory_order_release);
}

void inv_large_finish(const struct inv_larges *l, uint32_t i, uint32_t ring,
		      uint64_t seq, uint64_t now)
{
	struct inv_ring_large *s = inv_large_at(l, i);

	atomic_store_explicit(&s->begin_ns, now, memory_order_relaxed);
	INV_TESTPOINT("large.written");
	atomic_store_explicit(&s->owner, INV_LARGE_OWNER(ring, seq),
			      memory_order_release);
}
