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
	p->map = map;
	p->index = ring;
	inv_larges_init(&p->large, map, ctl->total_len);
}

/*
 * For keep => oldest: returns true if the slot for packet `seq' is unused, or
 * its packet has been read. The acquire pairs with the consumer's release store
 * of read_seq; after that store the consumer no longer reads the packet.
 */
static int slot_is_free(const struct inv_producer *p, uint64_t seq)
{
	uint64_t read =
		atomic_load_explicit(&p->ring->read_seq, memory_order_acquire);

	return seq - read < p->n_slots;
}

/*
 * For keep => newest: returns the number of the next packet. The producer may
 * overwrite each slot except the one that the consumer holds (`hold').
 *
 * The producer stores next_seq and then loads hold; the consumer stores hold
 * and then loads next_seq. All four accesses are seq_cst, so they have one
 * total order, and at least one of the two sees the other's store.
 *
 * If the consumer holds the slot, the producer skips the number. It stores the
 * next number in next_seq before it loads hold again, because the consumer may
 * now hold the next slot. The loop repeats more than once only if the consumer
 * has gone on to another packet meanwhile, which is rare.
 *
 * The check compares slots, not packet numbers: a consumer that is slow, or
 * dead, may hold a slot while the producer comes to this slot many times.
 */
static uint64_t next_not_held(struct inv_producer *p, uint64_t seq)
{
	for (;; seq++) {
		uint64_t hold;

		atomic_store_explicit(&p->ring->next_seq, seq,
				      memory_order_seq_cst);
		INV_TESTPOINT("ring.announced");
		/* The load is also an acquire, and pairs with the release store
		 * to `hold' in inv_consumer_release. */
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
	/*
	 * The slot still has the number of the old packet. From now on, a
	 * consumer that looks for the old packet finds no events in it.
	 */
	atomic_store_explicit(&slot->commit, 0, memory_order_release);
	INV_TESTPOINT("ring.emptied");
	slot->begin_ns = now;
	slot->first_event = p->next_event;
	atomic_store_explicit(&slot->large, 0, memory_order_relaxed);
	for (i = 0; i < INV_LOSS_COUNT; i++)
		slot->dropped[i] = atomic_load_explicit(&p->ring->dropped[i],
							memory_order_relaxed);
	atomic_store_explicit(&slot->end_ns, now, memory_order_relaxed);
	INV_TESTPOINT("ring.headed");
	atomic_store_explicit(&slot->seq, seq, memory_order_release);
	INV_TESTPOINT("ring.numbered");
	/* Release: pairs with the acquire load in inv_consumer_top, so that the
	 * consumer sees all earlier packets complete. */
	atomic_store_explicit(&p->ring->seq, seq, memory_order_release);
	INV_TESTPOINT("ring.opened");

	p->slot = slot;
	p->data = slot->data;
	p->seq = seq;
	p->begin_ns = p->last_ns = now;
	p->ev = 0;
	p->def = 0;
	p->n = 0;
	return 0;
}

/*
 * From time to time, the consumer takes the committed events of an open packet,
 * each time with all the packet's definitions. The longer a packet stays open,
 * the more often its definitions are written to the log. So a new packet is
 * opened after a second. A flight recorder does not open a new packet early: it
 * is not read while it records, and the new packet would overwrite an old one
 * too early.
 */
int inv_producer_open_aged(struct inv_producer *p, uint64_t now)
{
	if (p->keep == INV_KEEP_OLDEST && p->n > 0 &&
	    slot_is_free(p, p->seq + 1))
		return inv_producer_open_new(p, now);
	return 0;
}

int inv_producer_claim(struct inv_producer *p)
{
	return inv_large_claim(&p->large, p->map, p->index, p->seq);
}

void inv_producer_commit_large(struct inv_producer *p, uint32_t i, uint32_t ev,
			       uint32_t def, uint64_t now)
{
	struct inv_ring_large *large = inv_large_at(&p->large, i);

	large->ev = ev;
	large->def = def;
	inv_large_finish(&p->large, i, p->index, p->seq, now);
	/* The consumer loads `large' after the commit word, so `large' is
	 * stored first. */
	atomic_store_explicit(&p->slot->large, i + 1, memory_order_relaxed);
	INV_TESTPOINT("large.named");
	inv_producer_commit(p, 0, 0, now);
	inv_producer_close(p);
}
