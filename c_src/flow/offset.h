/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_OFFSET_H
#define INV_FLOW_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The offset between the clocks of two nodes: how far the second node's clock
 * is ahead of the first node's. For each time, an interval that contains the
 * offset is computed from the messages between the two nodes. A message cannot
 * arrive before it was sent. So each message from the first node to the second
 * bounds the offset from above, and each message back bounds it from below.
 *
 * The bound of a message holds at the time of the message. At another time the
 * bound is wider: by the most that the clocks can have drifted apart between
 * the two times (INV_OFFSET_RATE). If two bounds contradict each other
 * nevertheless, a clock was set between them, and the interval begins anew.
 *
 * 	inv_offset_add(&o, at, offset, upper);  for each message
 * 	inv_offset_build(&o);
 * 	inv_offset_at(&o, at, &low, &high);
 */

/* Clocks drift apart by at most 1 ns in this many ns: 500 ppm, the most by
 * which NTP slews a clock. */
#define INV_OFFSET_RATE 2000
/* The value of an upper bound that is not known. The value of a lower bound
 * that is not known is -INV_OFFSET_NONE. */
#define INV_OFFSET_NONE (INT64_C(1) << 62)
/* A bound is ignored if its time is later than INV_OFFSET_TIME_MAX (in the year
 * 2116), or if its offset is larger than INV_OFFSET_MAX (36 years). */
#define INV_OFFSET_TIME_MAX (INT64_C(1) << 62)
#define INV_OFFSET_MAX (INT64_C(1) << 60)
/* At most this many bounds are kept. If there are more, only the tightest of
 * several bounds with close times is kept. */
#define INV_OFFSET_BOUNDS 65536u

struct inv_offset_bound {
	int64_t at;
	int64_t offset;
	bool upper;
};

/* The interval of the offset at the time of a bound. */
struct inv_offset_knot {
	int64_t at;
	int64_t low;
	int64_t high;
	bool anew; /* a clock was set: earlier knots say nothing about the
		    * offset from this knot on */
};

/* A struct of zeros is valid, and has no bounds. */
struct inv_offset {
	uint64_t uppers; /* messages that bound the offset from above */
	uint64_t lowers;
	uint32_t steps; /* how often one of the clocks was set */
	/* private */
	struct inv_offset_bound *bounds;
	uint32_t n_bounds;
	uint32_t cap;
	uint64_t width; /* length of the spans of time, in ns; for each
			 * span only the tightest bounds are kept;
			 * 0: all bounds are kept */
	struct inv_offset_knot *knots;
	uint32_t n;
	uint32_t last; /* index of the knot that was found last */
};

void inv_offset_release(struct inv_offset *o);

/* Adds a bound for the time `at' of the first clock. If `upper' is true, the
 * second clock is then ahead by at most `offset' ns, otherwise by at least
 * `offset' ns. Returns 0 or INV_ENOMEM. */
int inv_offset_add(struct inv_offset *o, int64_t at, int64_t offset,
		   bool upper);

/*
 * Stores in *to the offset in the other direction: how far the first clock is
 * ahead of the second, at times of the second clock. Returns 0 or INV_ENOMEM.
 */
int inv_offset_reverse(struct inv_offset *to, const struct inv_offset *from);

/* Computes the knots. Afterwards no bound can be added. Returns 0 or
 * INV_ENOMEM. */
int inv_offset_build(struct inv_offset *o);

/* Sets *low and *high to the bounds of the offset at the given time. Without a
 * knot, *low is -INV_OFFSET_NONE and *high is INV_OFFSET_NONE: there are no
 * bounds. */
void inv_offset_at(struct inv_offset *o, int64_t at, int64_t *low,
		   int64_t *high);

/* Returns the middle of the interval. If the interval lacks a bound, returns
 * the value in the interval that is closest to 0. */
int64_t inv_offset_middle(int64_t low, int64_t high);

/* Returns true if the clocks agree: at all times, 0 is in the interval of the
 * offset. */
bool inv_offset_agrees(const struct inv_offset *o);

/* Returns the average width of the interval; INV_OFFSET_NONE: it has no upper
 * or no lower bounds. */
int64_t inv_offset_width(const struct inv_offset *o);

#endif
