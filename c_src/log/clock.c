/* SPDX-License-Identifier: Apache-2.0 */
#include "log/clock.h"

#include <string.h>

/* Subtracts with wraparound: the numbers come from a file, so they can have any
 * value, and a signed difference could overflow. */
static int64_t minus(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static int64_t erl_offset(const struct inv_anchor *a)
{
	return minus((uint64_t)a->erl, a->mono);
}

static int64_t sys_offset(const struct inv_anchor *a)
{
	return minus((uint64_t)a->erl + (uint64_t)a->offset, a->mono);
}

/* Reads the next anchor that is later than the anchor c->now. */
static bool read_anchor(struct inv_clock *c, struct inv_anchor *a)
{
	while (c->next_anchor(c->arg, a))
		if (!c->known || a->mono > c->now.mono)
			return true;
	return false;
}

/*
 * Returns by how much the offset between the clocks grew per ns, if it changed
 * from `from' to `to' in `passed' ns. Returns 0 if the offset jumped. Erlang's
 * clock runs at most 1 % faster or slower, so a change of more than 2 % of
 * `passed' plus 1 ms counts as a jump. The 1 ms is for anchors that are close
 * to each other: anchors are not exact, and a small error is then more than 2 %
 * of `passed'.
 */
static double slope(uint64_t passed, int64_t from, int64_t to)
{
	double drift = (double)to - (double)from;
	double limit = (double)passed / 50 + 1e6;

	if (!passed || drift > limit || drift < -limit)
		return 0;
	return drift / (double)passed;
}

static void set_segment(struct inv_clock *c)
{
	uint64_t passed = c->more ? c->next.mono - c->now.mono : 0;

	c->until = c->more ? c->next.mono : UINT64_MAX;
	c->erl_off = erl_offset(&c->now);
	c->sys_off = sys_offset(&c->now);
	c->erl_slope = c->sys_slope = 0;
	if (c->more) {
		c->erl_slope = slope(passed, c->erl_off, erl_offset(&c->next));
		c->sys_slope = slope(passed, c->sys_off, sys_offset(&c->next));
	}
}

void inv_clock_init(struct inv_clock *c,
		    bool (*next_anchor)(void *arg, struct inv_anchor *anchor),
		    void *arg)
{
	memset(c, 0, sizeof(*c));
	c->next_anchor = next_anchor;
	c->arg = arg;
	inv_clock_more(c);
}

void inv_clock_more(struct inv_clock *c)
{
	if (!c->known)
		c->known = read_anchor(c, &c->now);
	if (c->known && !c->more)
		c->more = read_anchor(c, &c->next);
	set_segment(c);
}

void inv_clock_guess(struct inv_clock *c, uint64_t mono, uint64_t real)
{
	c->now.mono = mono;
	c->now.erl = (int64_t)mono;
	c->now.real = (int64_t)real;
	c->now.offset = minus(real, mono);
	set_segment(c);
}

void inv_clock_move(struct inv_clock *c, uint64_t mono)
{
	while (c->more && mono >= c->next.mono) {
		c->now = c->next;
		c->more = read_anchor(c, &c->next);
	}
	set_segment(c);
}

/* --- from Erlang's time to the clock of the events ------------------------ */

/* The events' clock never reaches this time, which is 146 years. */
#define MONO_END (UINT64_C(1) << 62)

static int64_t system_at(struct inv_clock *c, uint64_t mono)
{
	int64_t sys, erl;

	inv_clock_at(c, mono, &sys, &erl);
	return sys;
}

/* A range of times of the events' clock in which one conversion is used. In
 * this range, system time grows evenly. (It can also fall evenly, but only
 * between two anchors that are very close.) */
struct segment {
	uint64_t begin;
	uint64_t end; /* the time after the segment's last time */
};

/* Returns the first time of the segment x whose system time is ns or later, or
 * x->end if there is no such time. */
static uint64_t first_at(struct inv_clock *c, const struct segment *x,
			 int64_t ns)
{
	uint64_t begin = x->begin;
	uint64_t end = x->end;

	if (system_at(c, begin) >= ns)
		return begin;
	if (system_at(c, end - 1) < ns)
		return end;
	while (begin < end) {
		uint64_t mid = begin + (end - begin) / 2;

		if (system_at(c, mid) < ns)
			begin = mid + 1;
		else
			end = mid;
	}
	return begin;
}

/* Returns the time after the last time of the segment x whose system time is
 * earlier than ns, or x->begin if there is no such time. */
static uint64_t last_before(struct inv_clock *c, const struct segment *x,
			    int64_t ns)
{
	return system_at(c, x->end - 1) < ns ? x->end : first_at(c, x, ns);
}

static void add_segment(struct inv_clock *c, const struct segment *x,
			int64_t from_ns, int64_t until_ns, uint64_t *begin,
			uint64_t *end)
{
	uint64_t at;

	if (x->begin >= x->end)
		return;
	if (*begin == UINT64_MAX) {
		at = first_at(c, x, from_ns);
		if (at < x->end)
			*begin = at;
	}
	at = last_before(c, x, until_ns);
	if (at > x->begin)
		*end = at == MONO_END ? UINT64_MAX : at;
}

void inv_clock_range(struct inv_clock *c, int64_t from_ns, int64_t until_ns,
		     uint64_t *begin, uint64_t *end)
{
	struct segment x = { .begin = 0 };
	bool more = true;

	*begin = UINT64_MAX;
	*end = 0;
	/* The first segment ends at the first anchor, and uses the offset of
	 * this anchor. */
	x.end = c->now.mono < MONO_END ? c->now.mono : MONO_END;
	add_segment(c, &x, from_ns, until_ns, begin, end);
	while (more) {
		x.begin = x.end;
		x.end = c->until < MONO_END ? c->until : MONO_END;
		add_segment(c, &x, from_ns, until_ns, begin, end);
		more = c->more;
		if (more)
			inv_clock_move(c, c->next.mono);
	}
}
