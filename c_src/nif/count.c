/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/count.h"

#include "ring/layout.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_acquire);
}

static struct inv_ring_slot *slot_of(struct inv_ring_ctl *ctl,
				     const struct inv_ring_head *ring,
				     uint64_t seq)
{
	return (struct inv_ring_slot *)((uint8_t *)ctl + ring->slots_off +
					(seq % ring->n_slots) *
						ctl->packet_bytes);
}

/* Events committed so far: up to the newest packet's last one. */
static uint64_t committed(struct inv_ring_ctl *ctl, struct inv_ring_head *ring)
{
	uint64_t events;
	uint64_t seq;

	do {
		seq = load(&ring->seq);
		if (seq == 0)
			return 0;
		events = slot_of(ctl, ring, seq)->first_event +
			 INV_COMMIT_N(load(&slot_of(ctl, ring, seq)->commit));
	} while (load(&ring->seq) != seq);
	return events;
}

/*
 * A flight recorder's events that gave way since it was last read: those
 * before the oldest packet that is still there.
 */
static uint64_t overwritten(struct inv_ring_ctl *ctl,
			    struct inv_ring_head *ring)
{
	uint64_t next = load(&ring->next_seq);
	uint64_t read = load(&ring->read_seq);
	uint64_t event = load(&ring->read_event);
	uint64_t oldest = next >= ring->n_slots ? next - ring->n_slots + 1 : 1;
	const struct inv_ring_slot *slot;
	uint64_t first;

	if (ctl->keep != INV_KEEP_NEWEST || oldest <= read)
		return 0;
	slot = slot_of(ctl, ring, oldest);
	if (load(&slot->seq) != oldest) /* its number was skipped */
		slot = slot_of(ctl, ring, oldest + 1);
	first = slot->first_event;
	return first > event ? first - event : 0;
}

static void read_ring(struct inv_ring_ctl *ctl, struct inv_ring_head *ring,
		      struct inv_counts *c)
{
	uint64_t gone = load(&ring->overwritten) + overwritten(ctl, ring);
	uint64_t unwritten = load(&ring->unwritten);
	uint64_t damaged = load(&ring->damaged);
	uint64_t lost = gone + unwritten + damaged;
	uint64_t events = committed(ctl, ring);
	unsigned i;

	c->produced += load(&ring->produced);
	c->recorded += events > lost ? events - lost : 0;
	c->dropped[INV_LOSS_OVERWRITTEN] += gone;
	c->dropped[INV_LOSS_UNWRITTEN] += unwritten;
	c->dropped[INV_LOSS_DAMAGED] += damaged;
	for (i = 0; i < INV_LOSS_COUNT; i++)
		c->dropped[i] += load(&ring->dropped[i]);
}

void inv_counts_read(struct inv_ring_ctl *ctl, struct inv_counts *counts)
{
	uint64_t no_ring = load(&ctl->no_ring);
	uint32_t i;

	*counts = (struct inv_counts){ 0 };
	counts->produced = no_ring;
	counts->dropped[INV_LOSS_NO_RING] = no_ring;
	for (i = 0; i < ctl->n_rings; i++)
		read_ring(ctl, inv_layout_ring(ctl, i), counts);
}
