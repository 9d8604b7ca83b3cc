/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_PRODUCER_H
#define INV_RING_PRODUCER_H

#include <stdint.h>

#include "abi/ring.h"
#include "ring/large.h"

/*
 * The writing half of one ring.  Exactly one thread uses it at a time.  It
 * never waits, allocates, or makes a system call.  The calls for an event:
 *
 *	inv_producer_offer(p);
 *	if (inv_producer_open(p, now)) {
 *		inv_producer_drop(p, INV_LOSS_FULL);
 *		return;
 *	}
 *	... write the event from p->data + p->ev upwards, definitions from
 *	... p->data + p->data_len - p->def downwards; they must not overlap
 *	inv_producer_commit(p, ev, def, now);
 *
 * If event and definitions would overlap, call inv_producer_close(p) and repeat
 * from inv_producer_open. The consumer never sees bytes that were not
 * committed.
 *
 * If they would overlap even in an empty packet (p->n is 0), the event is
 * larger than a packet, and can use a large slot (ring/large.h). The packet
 * then has only this event:
 *
 *	i = inv_producer_claim(p);     -1: all large slots are in use
 *	... write the event to the slot's data
 *	inv_producer_commit_large(p, i, ev, def, now);  or inv_large_abandon
 */
struct inv_producer {
	struct inv_ring_head *ring; /* NULL: the thread has no ring */
	uint8_t *slots;
	uint32_t n_slots;
	uint32_t packet_bytes;
	uint32_t data_len; /* bytes of a packet for events and definitions */
	uint32_t keep;

	/* The open packet. data is NULL if no packet is open. */
	uint8_t *data;
	struct inv_ring_slot *slot;
	uint64_t seq; /* number of the open packet or, if no packet is open, of
			 the last packet */
	uint64_t begin_ns;
	uint64_t last_ns; /* time of the last committed event, or begin_ns if no
			     event is committed */
	uint32_t ev;	  /* how many bytes of events are committed */
	uint32_t def;	  /* how many bytes of definitions are committed */
	uint32_t n;	  /* how many events are committed */

	uint64_t next_event; /* number of this ring's next event */

	void *map;
	uint32_t index; /* number of the ring */
	struct inv_larges large;
};

/* Prepares *p to write the ring with the number `ring' of `map'. This VM must
 * have made the mapping, and must have called inv_layout_publish. */
void inv_producer_init(struct inv_producer *p, void *map, uint32_t ring);

/*
 * inv_producer_open ensures that a packet is open; the next two functions are
 * its slow paths. inv_producer_open_new opens a packet, or returns INV_EFULL if
 * no slot is free. inv_producer_open_aged is for an open packet that is more
 * than a second old: if the ring keeps the oldest events (keep => oldest) and a
 * slot is free, it opens a new packet. In all other cases the old packet stays
 * open. `now' is in monotonic nanoseconds.
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

/* Closes the open packet: the next inv_producer_open opens a new packet. */
static inline void inv_producer_close(struct inv_producer *p)
{
	p->data = 0;
}

/*
 * Commits one more event. After the call the packet's first `ev' bytes are
 * whole events, and its last `def' bytes the definitions of these events.
 */
static inline void inv_producer_commit(struct inv_producer *p, uint32_t ev,
				       uint32_t def, uint64_t now)
{
	p->ev = ev;
	p->def = def;
	p->n++;
	p->next_event++;
	p->last_ns = now;
	atomic_store_explicit(&p->slot->end_ns, now, memory_order_relaxed);
	/* Release: pairs with the consumer's acquire load of `commit'. */
	atomic_store_explicit(&p->slot->commit, INV_COMMIT(ev, def, p->n),
			      memory_order_release);
}

/* Claims a large slot for the open packet, which must be empty. Returns the
 * slot's number, or -1 if all large slots are in use. */
int inv_producer_claim(struct inv_producer *p);

/* Commits the event in large slot `i' as the only event of the open packet, and
 * closes the packet. `ev' and `def' are the numbers of bytes that the event and
 * its definitions take in the slot. */
void inv_producer_commit_large(struct inv_producer *p, uint32_t i, uint32_t ev,
			       uint32_t def, uint64_t now);

/* Like inv_producer_commit, for a note: notes are not counted as events. */
static inline void inv_producer_commit_note(struct inv_producer *p, uint32_t ev,
					    uint32_t def, uint64_t now)
{
	p->ev = ev;
	p->def = def;
	p->last_ns = now;
	atomic_store_explicit(&p->slot->end_ns, now, memory_order_relaxed);
	atomic_store_explicit(&p->slot->commit, INV_COMMIT(ev, def, p->n),
			      memory_order_release);
}

static inline void inv_producer_add(_Atomic uint64_t *counter)
{
	/* Only this thread writes the counter, so no atomic increment is
	 * needed. */
	atomic_store_explicit(
		counter,
		atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* Counts an event as produced. For each event, call it before the functions
 * above. */
static inline void inv_producer_offer(struct inv_producer *p)
{
	inv_producer_add(&p->ring->produced);
}

/* Counts an event as lost for the reason `why'. Call it for each event for
 * which inv_producer_offer was called and that will not be committed. */
static inline void inv_producer_drop(struct inv_producer *p, enum inv_loss why)
{
	inv_producer_add(&p->ring->dropped[why]);
}

#endif
