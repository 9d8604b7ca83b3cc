/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_TOP_H
#define INV_REPORT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The entries with the highest values, of any number. An entry is a struct,
 * allocated with malloc, whose first member is a struct inv_top_entry.
 */
struct inv_top_entry {
	int64_t value;
	uint64_t order; /* of equal values, the lowest order is kept */
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

/* Counts the value as seen. Returns true if an entry with the value belongs to
 * the highest ones so far. */
static inline bool inv_top_admits(struct inv_top *t, int64_t value)
{
	t->seen++;
	return t->n < t->most || (t->most && value > t->v[0]->value);
}

/*
 * Adds an entry that was admitted, in place of the lowest one if there are
 * `most' entries. Returns 0, and then owns the entry, or INV_ENOMEM.
 */
int inv_top_add(struct inv_top *t, void *entry);

/* Sorts the entries, the highest value first. Afterwards nothing can be
 * added. */
void inv_top_sort(struct inv_top *t);

#endif
