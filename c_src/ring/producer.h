/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_PRODUCER_H
#define INV_RING_PRODUCER_H

#include <stdint.h>

#include "abi/ring.h"

/*
 * The writing half of one ring.  Exactly one thread uses it at a time; it
 * never waits, allocates, or calls the system.  The order of calls for an
 * event:
 *
 *	inv_producer_offer(p);
 *	if (inv_producer_open(p, now)) {
 *		inv_producer_drop(p, INV_LOSS_FULL);
 *		return;
 *	}
 *	... write the event from p->data + p->ev upwards, definitions from
 *	... p->data + p->data_len - p->def downwards; they must not meet
 *	inv_producer_commit(p, ev, def, now);
 *
 * and, where they would meet, inv_producer_close(p) and again from open.
 * Nothing that was written before a commit is ever seen by the other side.
 */
struct inv_producer {
	struct inv_ring_head *ring; /* NULL: no ring */
	uint8_t *slots;
	uint32_t n_slots;
	uint32_t packet_bytes;
	uint32_t data_len; /* of a packet's events and definitions */
	uint32_t keep;

	/* The open packet; data is NULL when none is. */
	uint8_t *data;
	struct inv_ring_slot *slot;
	uint64_t seq; /* also while none is open: the last one's */
	uint64_t begin_ns;
	uint32_t ev;  /* bytes of events committed */
	uint32_t def; /* bytes of definitions committed */
	uint32_t n;   /* events committed */

	uint64_t next_event; /* number of the next event in this ring */
};

/* map is a published mapping of this process' own making. */
void inv_producer_init(struct inv_producer *p, void *map, uint32_t ring);

/*
 * Sees to it that a packet is open, a new one when the open one has aged (see
 * producer.c).  now: monotonic nanoseconds.  INV_EFULL: no packet is free.
 */
int inv_producer_open_new(struct inv_producer *p, uint64_t now);
int inv_producer_open_aged(struct inv_producer *p, uint64_t now);

#define INV_PACKET_AGE_NS 1000000000u

static inline int inv_producer_open(struct inv_producer *p, uint64_t now)
{
	if (!p->data)
		return inv_producer_open_new(p, now);
	if (now - p->begin_ns > INV_PACKET_AGE_NS)
		return inv_producer_open_aged(p, now);
	return 0;
}

/* Makes the next open take a new packet. */
static inline void inv_producer_close(struct inv_producer *p)
{
	p->data = 0;
}

/*
 * The packet's first ev bytes are whole events now and its last def bytes
 * their definitions; one event more than before.
 */
static inline void inv_producer_commit(struct inv_producer *p, uint32_t ev,
				       uint32_t def, uint64_t now)
{
	p->ev = ev;
	p->def = def;
	p->n++;
	p->next_event++;
	atomic_store_explicit(&p->slot->end_ns, now, memory_order_relaxed);
	/* Pairs with the consumer's acquire load of commit. */
	atomic_store_explicit(&p->slot->commit, INV_COMMIT(ev, def, p->n),
			      memory_order_release);
}

static inline void inv_producer_add(_Atomic uint64_t *counter)
{
	/* One writer: no need for a locked instruction. */
	atomic_store_explicit(
		counter,
		atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* Counts an event before anything else is done with it. */
static inline void inv_producer_offer(struct inv_producer *p)
{
	inv_producer_add(&p->ring->produced);
}

/* Counts an offered event that will not be committed. */
static inline void inv_producer_drop(struct inv_producer *p, enum inv_loss why)
{
	inv_producer_add(&p->ring->dropped[why]);
}

#endif
