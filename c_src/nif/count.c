/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/count.h"

#include "ring/producer.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_acquire);
}

static const struct inv_ring_slot *slot_of(const struct inv_producer *p,
					   uint64_t seq)
{
	return (const struct inv_ring_slot *)(p->slots +
					      (seq % p->n_slots) *
						      p->packet_bytes);
}

/*
 * Returns how many events the thread has committed so far, including those in
 * the newest packet.
 */
static uint64_t committed(const struct inv_producer *p)
{
	uint64_t events;
	uint64_t seq;
	int tries = 0;

	do {
		seq = load(&p->ring->seq);
		if (seq == 0)
			return 0;
		events = slot_of(p, seq)->first_event +
			 INV_COMMIT_N(load(&slot_of(p, seq)->commit));
	} while (load(&p->ring->seq) != seq && ++tries < 100);
	return events;
}

/*
 * Returns how many events of a flight recorder were overwritten after the
 * spooler last read the ring. These are the unread events before the oldest
 * packet that still exists.
 */
static uint64_t overwritten(const struct inv_producer *p)
{
	uint64_t next = load(&p->ring->next_seq);
	uint64_t read = load(&p->ring->read_seq);
	uint64_t event = load(&p->ring->read_event);
	uint64_t oldest = next >= p->n_slots ? next - p->n_slots + 1 : 1;
	const struct inv_ring_slot *slot;
	uint64_t first;

	if (p->keep != INV_KEEP_NEWEST || oldest <= read)
		return 0;
	slot = slot_of(p, oldest);
	if (load(&slot->seq) != oldest) /* this packet was skipped */
		slot = slot_of(p, oldest + 1);
	first = slot->first_event;
	return first > event ? first - event : 0;
}

static void read_ring(const struct inv_producer *p, struct inv_counts *c)
{
	uint64_t gone = load(&p->ring->overwritten) + overwritten(p);
	uint64_t unwritten = load(&p->ring->unwritten);
	uint64_t damaged = load(&p->ring->damaged);
	uint64_t lost = gone + unwritten + damaged;
	uint64_t events = committed(p);
	unsigned i;

	c->produced += load(&p->ring->produced);
	c->recorded += events > lost ? events - lost : 0;
	c->dropped[INV_LOSS_OVERWRITTEN] += gone;
	c->dropped[INV_LOSS_UNWRITTEN] += unwritten;
	c->dropped[INV_LOSS_DAMAGED] += damaged;
	for (i = 0; i < INV_LOSS_COUNT; i++)
		c->dropped[i] += load(&p->ring->dropped[i]);
}

void inv_counts_read(struct inv_tracer *t, struct inv_counts *counts)
{
	uint64_t no_ring = load(&t->ctl->no_ring);
	uint32_t i;

	*counts = (struct inv_counts){ 0 };
	counts->produced = no_ring;
	counts->dropped[INV_LOSS_NO_RING] = no_ring;
	for (i = 0; i < t->n_lanes; i++) {
		read_ring(&t->lanes[i].producer, counts);
		counts->filtered += load(&t->lanes[i].filtered);
		counts->undecided += load(&t->lanes[i].undecided);
		counts->redacted += load(&t->lanes[i].redacted);
	}
}
