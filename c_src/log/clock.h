/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_CLOCK_H
#define INV_LOG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/log.h"

/*
 * From the monotonic clock of a log's events to Erlang's time, by the log's
 * anchors.  Between two anchors of nearly the same offset it is interpolated
 * (Erlang's clock may run up to 1 % faster or slower); a jump happens at the
 * later anchor; outside of all anchors the offset of the nearest one holds.
 *
 * Times have to be asked for in ascending order: the anchors are read along
 * with the events, two at a time.
 */
struct inv_clock {
	/* The next anchor; false: there is none, or none yet. */
	bool (*next_anchor)(void *arg, struct inv_anchor *anchor);
	void *arg;  /* borrowed */
	bool known; /* there is an anchor */
	bool more;  /* next is valid */
	struct inv_anchor now;
	struct inv_anchor next;
	/* how to get from mono to the others while mono < until */
	uint64_t until;
	int64_t erl_off; /* at now.mono */
	int64_t sys_off;
	double erl_slope; /* ns of drift a ns */
	double sys_slope;
};

void inv_clock_init(struct inv_clock *c,
		    bool (*next_anchor)(void *arg, struct inv_anchor *anchor),
		    void *arg);

/* Anchors came that were not there before. */
void inv_clock_more(struct inv_clock *c);

/* As long as nothing is known: mono was at real, ns since the Unix epoch. */
void inv_clock_guess(struct inv_clock *c, uint64_t mono, uint64_t real);

/* The slow half of inv_clock_at. */
void inv_clock_move(struct inv_clock *c, uint64_t mono);

/* Erlang system and monotonic time, in ns, at mono. */
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
