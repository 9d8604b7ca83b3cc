/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_CONSUMER_H
#define INV_RING_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "ring/large.h"

/*
 * The reading half of one ring.  Only one thread of one program uses it at a
 * time; the lock on the shared memory ensures this (spool/attach.h). The
 * consumer does not trust the producer: it skips invalid packets, and counts
 * their events as damaged.
 *
 *	limit = inv_consumer_top(c);
 *	while (!inv_consumer_next(c, limit, INV_TAKE_OPEN, &f)) {
 *		... write f's events to the log; if that fails, stop
 *		inv_journal_commit(ctl, ...);  (ring/journal.h)
 *		inv_consumer_advance(c, &f.next);
 *	}
 *	inv_consumer_release(c);
 */

/*
 * A position up to which a ring has been read. The counts say what happened to
 * the events before this position: they were overwritten, written to the log
 * (`recorded'), and so on. event = overwritten + recorded + unwritten +
 * damaged, unless another program has corrupted the memory.
 */
struct inv_ring_pos {
	uint64_t seq;	/* number of the packet to read next, from 1 */
	uint64_t off;	/* how many bytes of the packet's events were read
			   already */
	uint64_t event; /* number of the next event to read */
	uint64_t overwritten;
	uint64_t recorded;
	uint64_t unwritten;
	uint64_t damaged;
};

struct inv_consumer {
	struct inv_ring_head *ring;
	uint8_t *slots;
	uint32_t n_slots;
	uint32_t packet_bytes;
	uint32_t data_len;
	uint32_t keep;
	uint32_t index; /* number of the ring */
	struct inv_larges large;
	bool spoiled; /* a damaged packet was skipped, so missing events at this
			 position count as damaged, not as overwritten */
	struct inv_ring_pos pos;
};

/*
 * Complete events of one packet, and the definitions to which these events
 * refer. ev and def point into the ring. They are valid until
 * inv_consumer_advance or inv_consumer_release is called.
 */
struct inv_fragment {
	uint64_t seq;
	uint64_t first_event;
	uint64_t begin_ns; /* monotonic time to which the first event's time
			      is relative */
	uint64_t end_ns;
	uint32_t n_events; /* 0: the records are notes. If ev_len is also 0,
			      there are no records, only a new position */
	uint32_t ev_off;   /* offset of ev from the packet's first event, in
			      bytes */
	const uint8_t *ev; /* the records: events, or notes if n_events is 0 */
	uint32_t ev_len;
	const uint8_t *def;
	uint32_t def_len;
	uint64_t dropped[INV_LOSS_COUNT]; /* losses that the producer counted,
					     by reason */
	struct inv_ring_pos next;	  /* the position after these events */
};

enum inv_take {
	INV_TAKE_OPEN = 1u << 0, /* also take the committed events of a packet
				    to which the producer still appends */
	INV_TAKE_LAST = 1u << 1, /* the producer has ended: do not wait for an
				    invalid open packet to become valid */
};

/*
 * Returns 0, or INV_EDAMAGED if ring i does not lie within the len bytes at
 * map. For these bytes, inv_layout_check() must have returned 0.
 */
int inv_consumer_init(struct inv_consumer *c, void *map, uint64_t len,
		      uint32_t i);

/*
 * Returns the number of the newest packet. A pass over the ring reads only up
 * to this packet, so that the pass ends even if the producer continues.
 */
uint64_t inv_consumer_top(const struct inv_consumer *c);

/*
 * Sets *f to the next events that can be read, in packets up to number `limit'.
 * `take' is a set of flags of enum inv_take. Returns 0, or INV_END if there are
 * no such events.
 *
 * With keep => newest (a flight recorder) the producer does not overwrite the
 * packet of *f until the next call of this function or of inv_consumer_release.
 * If the caller does not call inv_consumer_advance, the next call returns the
 * same events, and possibly more of the packet. With keep => newest, the next
 * call may instead return events of a later packet.
 */
int inv_consumer_next(struct inv_consumer *c, uint64_t limit, unsigned take,
		      struct inv_fragment *f);

/*
 * Sets the position in *c, which is not in shared memory. inv_journal_commit
 * sets the position in the ring, and thereby frees slots for the producer.
 */
static inline void inv_consumer_advance(struct inv_consumer *c,
					const struct inv_ring_pos *next)
{
	if (next->event > c->pos.event)
		c->spoiled = false;
	c->pos = *next;
}

/* Allows the producer to overwrite the packet that inv_consumer_next has
 * returned. */
void inv_consumer_release(struct inv_consumer *c);

/* Returns true if more than half of the ring's packets wait to be read. */
bool inv_consumer_is_behind(const struct inv_consumer *c);

/*
 * Returns true if n events fill exactly the len bytes at ev, and definitions
 * fill exactly the def_len bytes at def. Checks only the lengths of the
 * records, not their contents.
 */
bool inv_fragment_is_sound(const uint8_t *ev, uint32_t len, uint32_t n,
			   const uint8_t *def, uint32_t def_len);

#endif
