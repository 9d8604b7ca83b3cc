/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_CLOCK_H
#define INV_LOG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"

/*
 * Converts the monotonic clock of a log's events to Erlang's time, using the
 * log's anchors. Between two anchors of nearly the same offset it interpolates,
 * because Erlang's clock may run up to 1 % faster or slower. If the offset
 * jumps between two anchors, the new offset is used from the later anchor on.
 * Before the first and after the last anchor, the offset of the nearest anchor
 * is used.
 *
 * The caller must ask for times in ascending order: anchors are read along with
 * the events, two at a time.
 */
struct inv_clock {
	/* Sets *anchor to the next anchor. Returns false if there is no next
	 * anchor, or not yet. */
	bool (*next_anchor)(void *arg, struct inv_anchor *anchor);
	void *arg;  /* borrowed */
	bool known; /* `now' has an anchor */
	bool more;  /* `next' has an anchor */
	struct inv_anchor now;
	struct inv_anchor next;
	/* How times with mono < until are converted. */
	uint64_t until;
	int64_t erl_off; /* time offset (abi/log.h) at now.mono, in ns */
	int64_t sys_off;
	double erl_slope; /* how much erl_off grows for each ns */
	double sys_slope;
};

void inv_clock_init(struct inv_clock *c,
		    bool (*next_anchor)(void *arg, struct inv_anchor *anchor),
		    void *arg);

/* Call it when new anchors have arrived. */
void inv_clock_more(struct inv_clock *c);

/*
 * For a log without anchors: assumes that `mono' on the events' clock was the
 * moment `real', in ns since the Unix epoch. The first anchor replaces this
 * assumption.
 */
void inv_clock_guess(struct inv_clock *c, uint64_t mono, uint64_t real);

/* The slow path of inv_clock_at: moves to the anchors around mono. */
void inv_clock_move(struct inv_clock *c, uint64_t mono);

/*
 * Converts the range from from_ns to until_ns of Erlang system time to the
 * clock of the events. Sets *begin to the first time that is from_ns or later,
 * and *end to the time after the last time that is earlier than until_ns. If
 * there is no such time, *begin or *end becomes UINT64_MAX. Reads all anchors.
 */
void inv_clock_range(struct inv_clock *c, int64_t from_ns, int64_t until_ns,
		     uint64_t *begin, uint64_t *end);

/* Sets *sys and *erl to Erlang system and monotonic time at mono, in ns. */
static inline void inv_clock_at(struct inv_clock *c, uint64_t mono,
				int64_t *sys, int64_t *erl)
{
	double passed;

	if (mono >= c->until)
		inv_clock_move(c, mono);
	passed = mono > c->now.mono ? (double)(mono - c->now.mono) : 0;
	*sys = (int64_t)(mono + (uint64_t)c->sys_off) +
	       (int64_t)(c->sys_slope * passed);
	*erl = (int64_t)(mono + (uint64_t)c->erl_off) +
	       (int64_t)(c->erl_slope * passed);
}

#endif
