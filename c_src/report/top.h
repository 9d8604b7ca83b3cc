/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_TOP_H
#define INV_REPORT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps the entries with the highest values. An entry is a struct, allocated
 * with malloc, whose first member is a struct inv_top_entry.
 */
struct inv_top_entry {
	int64_t value;
	uint64_t order; /* among entries with equal values, those with lower
			   orders are kept */
};

struct inv_top {
	size_t most;
	struct inv_top_entry **v;
	size_t n;
	uint64_t seen; /* how many values were offered */
	/* private */
	size_t cap;
};

/* Frees all entries. */
void inv_top_release(struct inv_top *t);

/* Counts the value in `seen'. Returns true if an entry with this value would be
 * among the `most' highest entries so far. */
static inline bool inv_top_admits(struct inv_top *t, int64_t value)
{
	t->seen++;
	return t->n < t->most || (t->most && value > t->v[0]->value);
}

/*
 * Adds an entry for which inv_top_admits has returned true. If there are `most'
 * entries, replaces the lowest one. Returns 0 or INV_ENOMEM. After 0, t owns
 * the entry.
 */
int inv_top_add(struct inv_top *t, void *entry);

/* Sorts the entries, the highest value first. Afterwards nothing can be
 * added. */
void inv_top_sort(struct inv_top *t);

#endif
