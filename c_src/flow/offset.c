/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/offset.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void inv_offset_release(struct inv_offset *o)
{
	free(o->bounds);
	free(o->knots);
	memset(o, 0, sizeof(*o));
}

static int by_time(const void *a, const void *b)
{
	const struct inv_offset_bound *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void sort(struct inv_offset *o)
{
	if (o->n_bounds)
		qsort(o->bounds, o->n_bounds, sizeof(*o->bounds), by_time);
}

static bool is_tighter(const struct inv_offset_bound *a,
		       const struct inv_offset_bound *b)
{
	return a->upper ? a->offset < b->offset : a->offset > b->offset;
}

/* Keeps only the tightest bounds of each span of o->width ns, and doubles the
 * width until at most half of INV_OFFSET_BOUNDS are left. */
static void thin_out(struct inv_offset *o)
{
	sort(o);
	while (o->n_bounds > INV_OFFSET_BOUNDS / 2) {
		struct inv_offset_bound *best[2] = { NULL, NULL };
		int64_t end = INT64_MIN;
		uint32_t n = 0;

		o->width = o->width ? 2 * o->width : 1000000;
		for (uint32_t i = 0; i < o->n_bounds; i++) {
			const struct inv_offset_bound b = o->bounds[i];

			/* Times are below INV_OFFSET_TIME_MAX, and the width is
			 * much smaller, so this cannot overflow. */
			if (b.at >= end) {
				end = b.at + (int64_t)o->width;
				best[0] = best[1] = NULL;
			}
			struct inv_offset_bound *tight = best[b.upper];

			if (!tight) {
				best[b.upper] = &o->bounds[n];
				o->bounds[n++] = b;
			} else if (is_tighter(&b, tight)) {
				*tight = b;
			}
		}
		o->n_bounds = n;
		/* The two bounds that remain of a span may not be in the order
		 * of their times, so sort again. */
		sort(o);
	}
}

/* Makes room for a bound. The first array is small, because most pairs of nodes
 * have few messages. */
static int grow(struct inv_offset *o)
{
	uint32_t cap = o->cap ? 2 * o->cap : 16;
	struct inv_offset_bound *v;

	if (o->cap == INV_OFFSET_BOUNDS) {
		thin_out(o);
		return 0;
	}
	v = realloc(o->bounds, cap * sizeof(*v));
	if (!v)
		return INV_ENOMEM;
	o->bounds = v;
	o->cap = cap;
	return 0;
}

int inv_offset_add(struct inv_offset *o, int64_t at, int64_t offset, bool upper)
{
	if (at > INV_OFFSET_TIME_MAX || at < -INV_OFFSET_TIME_MAX ||
	    offset > INV_OFFSET_MAX || offset < -INV_OFFSET_MAX)
		return 0;
	if (o->n_bounds == o->cap && grow(o))
		return INV_ENOMEM;
	o->bounds[o->n_bounds++] =
		(struct inv_offset_bound){ at, offset, upper };
	if (upper)
		o->uppers++;
	else
		o->lowers++;
	return 0;
}

int inv_offset_reverse(struct inv_offset *to, const struct inv_offset *from)
{
	int rc = 0;

	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; !rc && i < from->n_bounds; i++) {
		const struct inv_offset_bound *b = &from->bounds[i];

		rc = inv_offset_add(to, b->at + b->offset, -b->offset,
				    !b->upper);
	}
	to->uppers = from->lowers;
	to->lowers = from->uppers;
	return rc;
}

/* Returns how far the two clocks can drift apart between the times `from' and
 * `to'. `to' must not be earlier than `from'. */
static int64_t drift(int64_t from, int64_t to)
{
	uint64_t passed = (uint64_t)to - (uint64_t)from;

	return (int64_t)((passed + INV_OFFSET_RATE - 1) / INV_OFFSET_RATE);
}

static int64_t relax_low(int64_t low, int64_t by)
{
	return low == -INV_OFFSET_NONE ? low : low - by;
}

static int64_t relax_high(int64_t high, int64_t by)
{
	return high == INV_OFFSET_NONE ? high : high + by;
}

static void tighten(struct inv_offset_knot *k, int64_t low, int64_t high)
{
	if (low > k->low)
		k->low = low;
	if (high < k->high)
		k->high = high;
}

static struct inv_offset_knot only(const struct inv_offset_bound *b)
{
	return (struct inv_offset_knot){
		.at = b->at,
		.low = b->upper ? -INV_OFFSET_NONE : b->offset,
		.high = b->upper ? b->offset : INV_OFFSET_NONE,
		.anew = true,
	};
}

int inv_offset_build(struct inv_offset *o)
{
	struct inv_offset_knot *k;

	if (!o->n_bounds)
		return 0;
	sort(o);
	k = o->knots = malloc(o->n_bounds * sizeof(*k));
	if (!k)
		return INV_ENOMEM;
	for (uint32_t i = 0; i < o->n_bounds; i++) {
		int64_t by;

		k[i] = only(&o->bounds[i]);
		if (!i)
			continue;
		by = drift(k[i - 1].at, k[i].at);
		tighten(&k[i], relax_low(k[i - 1].low, by),
			relax_high(k[i - 1].high, by));
		k[i].anew = k[i].low > k[i].high;
		if (k[i].anew) {
			k[i] = only(&o->bounds[i]);
			o->steps++;
		}
	}
	for (uint32_t i = o->n_bounds - 1; i; i--) {
		int64_t by = drift(k[i - 1].at, k[i].at);

		if (!k[i].anew)
			tighten(&k[i - 1], relax_low(k[i].low, by),
				relax_high(k[i].high, by));
	}
	o->n = o->n_bounds;
	free(o->bounds);
	o->bounds = NULL;
	o->n_bounds = o->cap = 0;
	return 0;
}

/* Returns the index of the last knot that is not later than the time, or 0 if
 * all knots are later. */
static uint32_t find(struct inv_offset *o, int64_t at)
{
	uint32_t begin = 0, end = o->n;

	/* Most callers pass times in ascending order: try the knot that was
	 * found last. */
	if (o->knots[o->last].at <= at &&
	    (o->last + 1 == o->n || o->knots[o->last + 1].at > at))
		return o->last;
	while (end - begin > 1) {
		uint32_t mid = begin + (end - begin) / 2;

		if (o->knots[mid].at <= at)
			begin = mid;
		else
			end = mid;
	}
	o->last = begin;
	return begin;
}

void inv_offset_at(struct inv_offset *o, int64_t at, int64_t *low,
		   int64_t *high)
{
	struct inv_offset_knot here = { .low = -INV_OFFSET_NONE,
					.high = INV_OFFSET_NONE };
	const struct inv_offset_knot *k;
	int64_t by;

	if (at > INV_OFFSET_TIME_MAX)
		at = INV_OFFSET_TIME_MAX;
	if (at < -INV_OFFSET_TIME_MAX)
		at = -INV_OFFSET_TIME_MAX;
	if (o->n) {
		k = &o->knots[find(o, at)];
		by = k->at <= at ? drift(k->at, at) : drift(at, k->at);
		tighten(&here, relax_low(k->low, by), relax_high(k->high, by));
		if (k->at <= at && k + 1 < o->knots + o->n && !k[1].anew) {
			by = drift(at, k[1].at);
			tighten(&here, relax_low(k[1].low, by),
				relax_high(k[1].high, by));
		}
	}
	*low = here.low;
	*high = here.high;
}

int64_t inv_offset_middle(int64_t low, int64_t high)
{
	if (low == -INV_OFFSET_NONE && high == INV_OFFSET_NONE)
		return 0;
	if (low == -INV_OFFSET_NONE)
		return high < 0 ? high : 0;
	if (high == INV_OFFSET_NONE)
		return low > 0 ? low : 0;
	return low + (high - low) / 2;
}

bool inv_offset_agrees(const struct inv_offset *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->knots[i].low > 0 || o->knots[i].high < 0)
			return false;
	return true;
}

int64_t inv_offset_width(const struct inv_offset *o)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		const struct inv_offset_knot *k = &o->knots[i];

		if (k->low == -INV_OFFSET_NONE || k->high == INV_OFFSET_NONE)
			continue;
		sum += (double)k->high - (double)k->low;
		n++;
	}
	return n ? (int64_t)(sum / n) : INV_OFFSET_NONE;
}
