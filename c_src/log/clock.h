/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_CLOCK_H
#define INV_LOG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"

/*
 * Converts the times of a log's events to Erlang's times. The events have times
 * of the machine's monotonic clock. An anchor gives the offsets of Erlang's
 * clocks from this clock at one moment. If two successive anchors have nearly
 * the same offset, the offset between them is interpolated, because Erlang's
 * clock may run up to 1 % faster or slower. Otherwise Erlang's clock has
 * jumped, and the new offset is used from the later anchor on. Before the first
 * and after the last anchor, the offset of the nearest anchor is used.
 *
 * The caller must convert times in ascending order, because only two anchors
 * are in memory at a time.
 */
struct inv_clock {
	/* Sets *anchor to the next anchor. Returns false if there is no next
	 * anchor, or if it has not arrived yet. */
	bool (*next_anchor)(void *arg, struct inv_anchor *anchor);
	void *arg;  /* borrowed */
	bool known; /* `now' is an anchor of the log, not a guess */
	bool more;  /* `next' is an anchor of the log */
	struct inv_anchor now;
	struct inv_anchor next;
	/* The next fields convert times from now.mono (inclusive) to `until'
	 * (exclusive). */
	uint64_t until;
	int64_t erl_off; /* at now.mono: Erlang monotonic time minus mono, ns */
	int64_t sys_off; /* at now.mono: Erlang system time minus mono, in ns */
	double erl_slope; /* by how much erl_off grows in each ns */
	double sys_slope;
};

void inv_clock_init(struct inv_clock *c,
		    bool (*next_anchor)(void *arg, struct inv_anchor *anchor),
		    void *arg);

/* Call it when new anchors have arrived. */
void inv_clock_more(struct inv_clock *c);

/*
 * For a log without anchors: from now on the conversion assumes that the time
 * `mono' of the events' clock is the time `real', in ns since the Unix epoch.
 * The first anchor replaces this assumption.
 */
void inv_clock_guess(struct inv_clock *c, uint64_t mono, uint64_t real);

/* The slow path of inv_clock_at: moves to the anchors around mono. */
void inv_clock_move(struct inv_clock *c, uint64_t mono);

/*
 * Converts the range from from_ns to until_ns of Erlang system time to times of
 * the events' clock. Sets *begin to the first time whose system time is from_ns
 * or later, and *end to 1 ns after the last time whose system time is earlier
 * than until_ns. If the range begins after all times of the events' clock,
 * *begin becomes UINT64_MAX. If it ends before all these times, *end becomes 0.
 * If it ends after all of them, *end becomes UINT64_MAX. Reads all anchors.
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
