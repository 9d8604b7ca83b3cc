/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/producer.h"

#include "base/err.h"
#include "base/testpoint.h"
#include "ring/layout.h"

void inv_producer_init(struct inv_producer *p, void *map, uint32_t ring)
{
	const struct inv_ring_ctl *ctl = map;

	*p = (struct inv_producer){ 0 };
	p->ring = inv_layout_ring(map, ring);
	p->slots = (uint8_t *)map + p->ring->slots_off;
	p->n_slots = p->ring->n_slots;
	p->packet_bytes = ctl->packet_bytes;
	p->data_len = ctl->packet_bytes - sizeof(struct inv_ring_slot);
	p->keep = ctl->keep;
}

/*
 * keep => oldest: the packet that lay in the slot must have been read.  The
 * acquire pairs with the consumer's release of read_seq: it is done reading.
 */
static int slot_is_free(const struct inv_producer *p, uint64_t seq)
{
	uint64_t read =
		atomic_load_explicit(&p->ring->read_seq, memory_order_acquire);

	return seq - read < p->n_slots;
}

/*
 * keep => newest: every slot may be taken but the one that the consumer holds.
 * We announce the packet and then look at hold; the consumer sets hold and
 * then looks at what is announced.  All four accesses are seq_cst, so they
 * have one order, and at least one of the two sees the other.
 *
 * A number that is skipped is announced as well before hold is looked at
 * again: meanwhile the consumer may have gone on to the slot that is next.  It
 * reads a packet for each turn of this loop, so there is hardly a second one.
 *
 * The slot is what counts and not the packet: a consumer that is slow, or dead,
 * holds it for many rounds.
 */
static uint64_t next_not_held(struct inv_producer *p, uint64_t seq)
{
	for (;; seq++) {
		uint64_t hold;

		atomic_store_explicit(&p->ring->next_seq, seq,
				      memory_order_seq_cst);
		INV_TESTPOINT("ring.announced");
		/* Also acquires: pairs with the consumer's release. */
		hold = atomic_load_explicit(&p->ring->hold,
					    memory_order_seq_cst);
		if (hold == 0 || hold % p->n_slots != seq % p->n_slots)
			return seq;
	}
}

int inv_producer_open_new(struct inv_producer *p, uint64_t now)
{
	struct inv_ring_slot *slot;
	uint64_t seq = p->seq + 1;
	unsigned i;

	if (p->keep == INV_KEEP_NEWEST)
		seq = next_not_held(p, seq);
	else if (!slot_is_free(p, seq))
		return INV_EFULL;

	slot = (struct inv_ring_slot *)(p->slots +
					(seq % p->n_slots) * p->packet_bytes);
	/* Whoever finds the old seq from here on finds no events with it. */
	atomic_store_explicit(&slot->commit, 0, memory_order_release);
	INV_TESTPOINT("ring.emptied");
	slot->begin_ns = now;
	slot->first_event = p->next_event;
	for (i = 0; i < INV_LOSS_COUNT; i++)
		slot->dropped[i] = atomic_load_explicit(&p->ring->dropped[i],
							memory_order_relaxed);
	atomic_store_explicit(&slot->end_ns, now, memory_order_relaxed);
	INV_TESTPOINT("ring.headed");
	atomic_store_explicit(&slot->seq, seq, memory_order_release);
	INV_TESTPOINT("ring.numbered");
	/* Release: the packets before this one are complete. */
	atomic_store_explicit(&p->ring->seq, seq, memory_order_release);
	INV_TESTPOINT("ring.opened");

	p->slot = slot;
	p->data = slot->data;
	p->seq = seq;
	p->begin_ns = now;
	p->ev = 0;
	p->def = 0;
	p->n = 0;
	return 0;
}

/*
 * The consumer takes what is committed of an open packet now and then, with
 * all of its definitions each time.  A new packet a second bounds what that
 * repeats.  A flight recorder is not read along, and its slots are precious.
 */
int inv_producer_open_aged(struct inv_producer *p, uint64_t now)
{
	if (p->keep == INV_KEEP_OLDEST && p->n > 0 &&
	    slot_is_free(p, p->seq + 1))
		return inv_producer_open_new(p, now);
	return 0;
}
