/* SPDX-License-Identifier: Apache-2.0 */
#include "log/clock.h"

#include <string.h>

/* Differences wrap: the numbers come from a file. */
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

/* The next anchor that is later than `after`. */
static bool read_anchor(struct inv_clock *c, uint64_t after,
			struct inv_anchor *a)
{
	for (;;) {
		while (inv_entries_anchor(&c->entries, c->entry, a)) {
			c->entry++;
			if (!c->known || a->mono > after)
				return true;
		}
		c->entry = 0;
		c->entries.n = 0;
		if (inv_set_cursor_anchors(&c->cursor, c->set, &c->at))
			return false;
		inv_entries_open(&c->entries, c->unpacker, &c->at);
	}
}

/*
 * The drift between two anchors, or 0 when it is a jump.  2 % are more than
 * Erlang's clock ever corrects; the millisecond is for anchors that were taken
 * one soon after the other.
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

/* Without an anchor: the first event was when the first file was made. */
static void guess(struct inv_clock *c)
{
	const struct inv_log_file *f = c->set->n_files ? c->set->files : NULL;

	memset(&c->now, 0, sizeof(c->now));
	if (f && f->first_ns != UINT64_MAX) {
		c->now.mono = f->first_ns;
		c->now.erl = (int64_t)f->first_ns;
		c->now.real = (int64_t)f->head.created_ns;
		c->now.offset = minus(f->head.created_ns, f->first_ns);
	}
}

void inv_clock_release(struct inv_clock *c)
{
	inv_unpacker_free(c->unpacker);
	c->unpacker = NULL;
}

int inv_clock_init(struct inv_clock *c, const struct inv_log_set *set)
{
	memset(c, 0, sizeof(*c));
	c->set = set;
	c->unpacker = inv_unpacker_new();
	if (!c->unpacker)
		return INV_ENOMEM;
	c->known = read_anchor(c, 0, &c->now);
	if (c->known)
		c->more = read_anchor(c, c->now.mono, &c->next);
	else
		guess(c);
	set_segment(c);
	return 0;
}

void inv_clock_move(struct inv_clock *c, uint64_t mono)
{
	while (c->more && mono >= c->next.mono) {
		c->now = c->next;
		c->more = read_anchor(c, c->now.mono, &c->next);
	}
	set_segment(c);
}
