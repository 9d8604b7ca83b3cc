/* SPDX-License-Identifier: Apache-2.0 */

/* Copies clock anchors from the control page to the log. */

#include "spool/spool_int.h"

#include <string.h>

#include "base/clock.h"

/*
 * The keeper takes an anchor each second. To keep the log small, the spooler
 * writes an anchor only in four cases: the differences between the clocks have
 * changed since the last written anchor, the last written anchor is more than
 * QUIET_NS old, events need the newest anchor, or a new file begins.
 */
#define SAME_NS 1000000
#define QUIET_NS 60000000000u

/* Copies anchor i. The keeper may be overwriting it at the same time. */
static void copy(const struct inv_ring_ctl *ctl, uint64_t i,
		 struct inv_anchor *to)
{
	const struct inv_anchor *from = &ctl->anchors[i % INV_N_ANCHORS];

	to->mono = __atomic_load_n(&from->mono, __ATOMIC_RELAXED);
	to->erl = __atomic_load_n(&from->erl, __ATOMIC_RELAXED);
	to->offset = __atomic_load_n(&from->offset, __ATOMIC_RELAXED);
	to->real = __atomic_load_n(&from->real, __ATOMIC_RELAXED);
	to->raw = __atomic_load_n(&from->raw, __ATOMIC_RELAXED);
}

/*
 * Copies the anchors with the numbers from `first' to n - 1, and returns how
 * many it copied. Leaves out anchors that the keeper may have overwritten
 * meanwhile: the keeper overwrites the oldest anchor, and then increments the
 * count.
 */
static unsigned copy_new(const struct inv_ring_ctl *ctl, uint64_t first,
			 uint64_t n, struct inv_anchor *to)
{
	uint64_t i, after;
	unsigned bad = 0;

	for (i = first; i < n; i++)
		copy(ctl, i, &to[i - first]);
	atomic_thread_fence(memory_order_acquire);
	after = atomic_load_explicit(&ctl->n_anchors, memory_order_relaxed);
	if (after >= INV_N_ANCHORS && first <= after - INV_N_ANCHORS)
		bad = (unsigned)(after - INV_N_ANCHORS - first) + 1;
	if (bad >= n - first)
		return 0;
	memmove(to, to + bad, (n - first - bad) * sizeof(*to));
	return (unsigned)(n - first) - bad;
}

static bool is_near(int64_t a, int64_t b)
{
	uint64_t d = a < b ? (uint64_t)b - (uint64_t)a :
			     (uint64_t)a - (uint64_t)b;

	return d < SAME_NS;
}

/* Returns true if b need not be written after a: between a and b, the
 * differences between the clocks have changed by less than 1 ms, and not much
 * time has passed. */
static bool same(const struct inv_anchor *a, const struct inv_anchor *b)
{
	int64_t mono = (int64_t)(b->mono - a->mono);

	return a->mono != 0 && b->mono - a->mono < QUIET_NS &&
	       a->offset == b->offset && is_near(b->erl - a->erl, mono) &&
	       is_near(b->real - a->real, mono);
}

static int put(struct inv_spool *s, struct inv_anchor *all, unsigned n,
	       struct inv_err *err)
{
	struct inv_log_packet p = { .type = INV_LOG_ANCHORS, .n_events = n };
	struct iovec body = { all, n * sizeof(*all) };

	return inv_log_writer_put(&s->log, &p, &body, 1, err);
}

int inv_spool_put_anchors(struct inv_spool *s, bool newest, struct inv_err *err)
{
	struct inv_ring_ctl *ctl = s->mem->ctl;
	struct inv_anchor new[INV_N_ANCHORS], last = s->anchor;
	unsigned i, n, kept = 0;
	uint64_t end, first;
	int r;

	end = atomic_load_explicit(&ctl->n_anchors, memory_order_acquire);
	first = s->at.anchors;
	if (first >= end)
		return 0;
	if (end - first > INV_N_ANCHORS)
		first = end - INV_N_ANCHORS;
	n = copy_new(ctl, first, end, new);
	for (i = 0; i < n; i++) {
		if (new[i].mono == last.mono ||
		    (!(newest && i == n - 1) && same(&last, &new[i])))
			continue;
		last = new[i];
		new[kept++] = last;
	}
	if (kept == 0 && !newest)
		/* The new anchors tell nothing new about the clocks. The next
		 * pass looks at them again. The newest anchor is written as
		 * soon as events need it. */
		return 0;
	if (kept > 0) {
		r = put(s, new, kept, err);
		if (r < 0)
			return r;
	}
	s->anchor = last;
	s->at.anchors = end;
	inv_spool_moved(s, INV_JOURNAL_NO_RING, NULL);
	return 0;
}

int inv_spool_repeat_anchor(struct inv_spool *s, struct inv_err *err)
{
	const struct inv_ring_ctl *ctl = s->mem->ctl;
	struct inv_anchor one[1];
	uint64_t n =
		atomic_load_explicit(&ctl->n_anchors, memory_order_acquire);

	if (n == 0 || copy_new(ctl, n - 1, n, one) == 0)
		return 0;
	s->anchor = one[0];
	return put(s, one, 1, err);
}
