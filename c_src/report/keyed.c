/* SPDX-License-Identifier: Apache-2.0 */
#include "report/keyed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/err.h"

void inv_keyed_init(struct inv_keyed *t, size_t most)
{
	t->most = most;
}

static void release_row(struct inv_keyed_row *row)
{
	if (row->times)
		inv_histogram_release(row->times);
	free(row->times);
	free(row->text);
}

void inv_keyed_release(struct inv_keyed *t)
{
	for (size_t i = 0; i < t->n; i++)
		release_row(&t->rows[i]);
	release_row(&t->others);
	free(t->rows);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static uint32_t *slot_of(const struct inv_keyed *t, const uint64_t *key)
{
	size_t i = XXH3_64bits(key, INV_KEYED_PARTS * sizeof(*key));

	for (i &= t->n_slots - 1;; i = (i + 1) & (t->n_slots - 1)) {
		uint32_t *slot = &t->slots[i];

		if (!*slot || !memcmp(t->rows[*slot - 1].key, key,
				      INV_KEYED_PARTS * sizeof(*key)))
			return slot;
	}
}

static bool fill_slots(struct inv_keyed *t, size_t n_slots)
{
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
	for (size_t i = 0; i < t->n; i++)
		*slot_of(t, t->rows[i].key) = (uint32_t)i + 1;
	return true;
}

static bool grow(struct inv_keyed *t)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	struct inv_keyed_row *rows = realloc(t->rows, cap * sizeof(*rows));

	if (!rows)
		return false;
	t->rows = rows;
	t->cap = cap;
	return fill_slots(t, cap * 2);
}

/* --- the bound ------------------------------------------------------------ */

static int add_row(struct inv_keyed_row *to, struct inv_keyed_row *row)
{
	for (unsigned i = 0; i < INV_KEYED_MAX; i++)
		to->v[i] += row->v[i];
	if (row->v[INV_KEYED_MAX] > to->v[INV_KEYED_MAX])
		to->v[INV_KEYED_MAX] = row->v[INV_KEYED_MAX];
	if (!row->times)
		return 0;
	if (to->times)
		return inv_histogram_add(to->times, row->times);
	to->times = row->times;
	row->times = NULL;
	return 0;
}

static int by_first(const void *a, const void *b)
{
	const struct inv_keyed_row *x = a, *y = b;

	return (x->v[0] < y->v[0]) - (x->v[0] > y->v[0]);
}

static bool prune(struct inv_keyed *t)
{
	size_t keep = t->n / 2;

	qsort(t->rows, t->n, sizeof(*t->rows), by_first);
	for (size_t i = keep; i < t->n; i++) {
		if (add_row(&t->others, &t->rows[i]))
			return false;
		release_row(&t->rows[i]);
		t->rows[i] = (struct inv_keyed_row){ 0 };
		t->pruned++;
	}
	t->n = keep;
	return fill_slots(t, t->n_slots);
}

/* -------------------------------------------------------------------------- */

struct inv_keyed_row *inv_keyed_get(struct inv_keyed *t,
				    const uint64_t key[INV_KEYED_PARTS])
{
	struct inv_keyed_row *row;
	uint32_t *slot;

	if (t->n == t->cap && t->n < t->most && !grow(t))
		return NULL;
	slot = slot_of(t, key);
	if (*slot)
		return &t->rows[*slot - 1];
	if (t->n >= t->most) {
		if (!prune(t))
			return NULL;
		slot = slot_of(t, key);
	}
	row = &t->rows[t->n++];
	*row = (struct inv_keyed_row){ 0 };
	memcpy(row->key, key, sizeof(row->key));
	*slot = (uint32_t)t->n;
	return row;
}

int inv_keyed_time(struct inv_keyed_row *row, uint64_t ns)
{
	if (!row->times)
		row->times = calloc(1, sizeof(*row->times));
	return row->times ? inv_histogram_insert(row->times, ns) : INV_ENOMEM;
}

/* --- order ---------------------------------------------------------------- */

struct order {
	unsigned by, then;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct inv_keyed_row *x = a, *y = b;
	const struct order *o = arg;
	int first = (x->v[o->by] < y->v[o->by]) - (x->v[o->by] > y->v[o->by]);

	if (first)
		return first;
	first = (x->v[o->then] < y->v[o->then]) -
		(x->v[o->then] > y->v[o->then]);
	return first ? first : memcmp(x->key, y->key, sizeof(x->key));
}

void inv_keyed_sort(struct inv_keyed *t, unsigned by, unsigned then)
{
	struct order o = { by, then };

	if (t->n)
		qsort_r(t->rows, t->n, sizeof(*t->rows), compare, &o);
}
