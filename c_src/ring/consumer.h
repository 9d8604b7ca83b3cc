/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_CONSUMER_H
#define INV_RING_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"

/*
 * The reading half of one ring.  One process at a time (a lock elsewhere sees
 * to that), one thread of it.  It trusts nothing that the producer's side
 * wrote: what makes no sense is stepped over and counted as damaged.
 *
 *	limit = inv_consumer_top(c);
 *	while (!inv_consumer_next(c, limit, INV_TAKE_OPEN, &f)) {
 *		... put f's events into the log; or not, and try again later
 *		inv_journal_commit(ctl, ...);	(ring/journal.h)
 *		inv_consumer_advance(c, &f.next);
 *	}
 *	inv_consumer_release(c);
 */

/*
 * How far a ring has been read, and what became of the events before: always
 * event = overwritten + recorded + unwritten + damaged, unless somebody
 * scribbled on it.
 */
struct inv_ring_pos {
	uint64_t seq;	/* packet to read next, from 1 */
	uint64_t off;	/* bytes of its events that are read */
	uint64_t event; /* number of the next event */
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
	bool spoiled; /* damage was met: the next gap is its doing */
	struct inv_ring_pos pos;
};

/*
 * Whole events of one packet, with all of the packet's definitions that they
 * may use.  ev and def point into the ring: good until advance or release.
 */
struct inv_fragment {
	uint64_t seq;
	uint64_t first_event;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t n_events; /* 0: only the position moves */
	uint32_t ev_off;   /* of ev in the packet */
	const uint8_t *ev;
	uint32_t ev_len;
	const uint8_t *def;
	uint32_t def_len;
	uint64_t dropped[INV_LOSS_COUNT]; /* the producer's reasons */
	struct inv_ring_pos next; /* the position when they are recorded */
};

enum inv_take {
	INV_TAKE_OPEN = 1u << 0, /* also what is committed of an open packet */
	INV_TAKE_LAST = 1u << 1, /* the producer is gone: an open packet that
				    makes no sense will not get better */
};

/* INV_EDAMAGED when ring i of the len bytes at map, which has passed
 * inv_layout_check(), does not lie within them (any more). */
int inv_consumer_init(struct inv_consumer *c, void *map, uint64_t len,
		      uint32_t i);

/* The packet opened last: the limit of a pass that shall end even though the
 * producer goes on. */
uint64_t inv_consumer_top(const struct inv_consumer *c);

/*
 * What lies at the position, up to packet limit: 0, or INV_END.  With keep =>
 * newest the producer leaves the packet alone from then on, until the next
 * call or release.  Without advance the next call yields the same again, or
 * with more events, or, with keep => newest, a later packet.
 */
int inv_consumer_next(struct inv_consumer *c, uint64_t limit, unsigned take,
		      struct inv_fragment *f);

/* Moves the position in this process; the one in the ring, which tells the
 * producer that slots are free, is inv_journal_commit's. */
static inline void inv_consumer_advance(struct inv_consumer *c,
					const struct inv_ring_pos *next)
{
	if (next->event > c->pos.event)
		c->spoiled = false;
	c->pos = *next;
}

/* Holds no packet any more. */
void inv_consumer_release(struct inv_consumer *c);

/* Whether more than half of the ring's packets are waiting. */
bool inv_consumer_is_behind(const struct inv_consumer *c);

/*
 * n events in the len bytes at ev, and definitions in the def_len bytes at
 * def: whether their lengths add up.  Their contents are not looked at.
 */
bool inv_fragment_is_sound(const uint8_t *ev, uint32_t len, uint32_t n,
			   const uint8_t *def, uint32_t def_len);

#endif
