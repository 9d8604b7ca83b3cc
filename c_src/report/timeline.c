/* SPDX-License-Identifier: Apache-2.0 */
#include "report/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The length of a bin at the start, in ns. */
#define BIN_NS 1000
/* The maximum length of a bin: the sum of all bins must fit into 64 bits. */
#define BIN_MAX_NS ((int64_t)1 << 53)
#define SLOTS (2 * INV_TIMELINE_LANES)
#define NO_LANE UINT32_MAX

int inv_timeline_init(struct inv_timeline *t)
{
	t->bin_ns = BIN_NS;
	t->slices.most = INV_TIMELINE_SLICES;
	t->lanes = calloc(INV_TIMELINE_LANES, sizeof(*t->lanes));
	t->slots = calloc(SLOTS, sizeof(*t->slots));
	return t->lanes && t->slots ? 0 : INV_ENOMEM;
}

void inv_timeline_release(struct inv_timeline *t)
{
	inv_top_release(&t->slices);
	free(t->lanes);
	free(t->slots);
	free(t->lane_of);
	memset(t, 0, sizeof(*t));
}

/* --- bins ----------------------------------------------------------------- */

static void halve_all(struct inv_timeline *t)
{
	for (uint32_t i = 0; i < INV_TIMELINE_BINS / 2; i++) {
		const struct inv_bin *a = &t->all[2 * i], *b = a + 1;

		t->all[i] = (struct inv_bin){ a->events + b->events,
					      a->failed + b->failed,
					      a->lost + b->lost };
	}
	memset(t->all + INV_TIMELINE_BINS / 2, 0, sizeof(t->all) / 2);
}

static void halve(uint32_t *bins)
{
	for (uint32_t i = 0; i < INV_TIMELINE_BINS / 2; i++)
		bins[i] = bins[2 * i] + bins[2 * i + 1];
	memset(bins + INV_TIMELINE_BINS / 2, 0,
	       INV_TIMELINE_BINS / 2 * sizeof(*bins));
}

/* Returns the number of the time's bin. Makes the bins longer if the time is
 * after the last bin. */
static uint32_t bin_of(struct inv_timeline *t, int64_t ts_ns)
{
	uint64_t at;

	if (!t->begun)
		t->begin_ns = ts_ns;
	t->begun = true;
	if (ts_ns <= t->begin_ns)
		return 0;
	at = (uint64_t)ts_ns - (uint64_t)t->begin_ns;
	while (at / (uint64_t)t->bin_ns >= INV_TIMELINE_BINS) {
		if (t->bin_ns >= BIN_MAX_NS)
			return INV_TIMELINE_BINS - 1;
		t->bin_ns *= 2;
		halve_all(t);
		for (uint32_t i = 0; i < t->n_lanes; i++)
			halve(t->lanes[i].bins);
	}
	return (uint32_t)(at / (uint64_t)t->bin_ns);
}

struct inv_bin *inv_timeline_bin(struct inv_timeline *t, int64_t ts_ns)
{
	return &t->all[bin_of(t, ts_ns)];
}

/* --- lanes ---------------------------------------------------------------- */

static uint32_t find(struct inv_timeline *t, const struct inv_cast *cast,
		     uint32_t process)
{
	uint64_t hash = inv_row_process_hash(&cast->v[process - 1]);
	uint32_t i = (uint32_t)hash & (SLOTS - 1);

	for (; t->slots[i]; i = (i + 1) & (SLOTS - 1)) {
		const struct inv_timeline_lane *lane =
			&t->lanes[t->slots[i] - 1];

		if (inv_row_process_hash(&cast->v[lane->process - 1]) == hash)
			return t->slots[i];
	}
	if (t->n_lanes == INV_TIMELINE_LANES)
		return NO_LANE;
	t->slots[i] = ++t->n_lanes;
	t->lanes[t->n_lanes - 1].process = process;
	return t->n_lanes;
}

/* Sets *lane to the lane of the process, from 1; 0: it has none. */
static int lane_of(struct inv_timeline *t, const struct inv_cast *cast,
		   uint32_t process, uint32_t *lane)
{
	*lane = 0;
	if (!process)
		return 0;
	if (process > t->n_lane_of) {
		uint32_t n = t->n_lane_of ? t->n_lane_of : 1024;
		uint32_t *v;

		while (n < process)
			n *= 2;
		v = realloc(t->lane_of, (size_t)n * sizeof(*v));
		if (!v)
			return INV_ENOMEM;
		memset(v + t->n_lane_of, 0, (n - t->n_lane_of) * sizeof(*v));
		t->lane_of = v;
		t->n_lane_of = n;
	}
	if (!t->lane_of[process - 1])
		t->lane_of[process - 1] = find(t, cast, process);
	if (t->lane_of[process - 1] != NO_LANE)
		*lane = t->lane_of[process - 1];
	return 0;
}

int inv_timeline_event(struct inv_timeline *t, const struct inv_cast *cast,
		       uint32_t process, int64_t ts_ns)
{
	uint32_t bin = bin_of(t, ts_ns), lane;
	int rc = lane_of(t, cast, process, &lane);

	t->all[bin].events++;
	if (rc || !lane)
		return rc;
	t->lanes[lane - 1].process = process;
	t->lanes[lane - 1].events++;
	t->lanes[lane - 1].bins[bin]++;
	return 0;
}

int inv_timeline_slice(struct inv_timeline *t, const struct inv_cast *cast,
		       uint32_t process, const struct inv_slice *slice)
{
	struct inv_slice *copy;
	uint32_t lane;
	int rc;

	if (!inv_top_admits(&t->slices, slice->top.value))
		return 0;
	rc = lane_of(t, cast, process, &lane);
	if (rc)
		return rc;
	if (!lane) {
		t->unlaned++;
		return 0;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return INV_ENOMEM;
	*copy = *slice;
	copy->lane = lane;
	copy->top.order = t->slices.seen;
	rc = inv_top_add(&t->slices, copy);
	if (rc)
		free(copy);
	return rc;
}
