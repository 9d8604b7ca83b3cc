/* SPDX-License-Identifier: Apache-2.0 */
#include "log/clock.h"

#include <string.h>

/* Subtracts with wraparound: the numbers come from a file, so they may be
 * anything. */
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

/* Reads the next anchor that is later than `now'. */
static bool read_anchor(struct inv_clock *c, struct inv_anchor *a)
{
	while (c->next_anchor(c->arg, a))
		if (!c->known || a->mono > c->now.mono)
			return true;
	return false;
}

/*
 * Returns how much the offset drifted in each ns between `from' and `to', or 0
 * if the offset jumped. Erlang's clock runs at most 1 % faster or slower. A
 * drift of more than 2 % plus a millisecond counts as a jump; the millisecond
 * is for anchors that are close to each other.
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
