/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_ROW_SET_H
#define INV_TABLE_ROW_SET_H

#include <stddef.h>
#include <stdint.h>

/*
 * A set of rows that are not complete yet. Each row has a key. If several rows
 * have the same key, a search finds the oldest of these rows. A row is a
 * struct, allocated with malloc, whose first member is a struct inv_row. A
 * struct of zeros is an empty set.
 */
struct inv_row {
	uint64_t key;
	size_t size; /* bytes of memory of the row */
	/* private */
	struct inv_row *older, *newer; /* the neighbours in the list of all
					  rows, by age */
	struct inv_row *chain;	       /* the first row of another key in the
					  same slot */
	struct inv_row *next;	       /* the next row of the same key */
	struct inv_row *last;	       /* in the first row of a key: the
					  key's last row */
};

struct inv_row_set {
	size_t size; /* bytes of memory of all rows */
	size_t n;
	struct inv_row *oldest;
	/* private */
	struct inv_row *newest;
	struct inv_row **slots;
	size_t n_slots;
	size_t n_keys;
};

/* Frees the set and all its rows. */
void inv_row_set_release(struct inv_row_set *h);

/* Adds a row, whose key and size are set. Returns 0, and then the set owns the
 * row. Returns INV_ENOMEM, and then the caller still owns the row. */
int inv_row_set_add(struct inv_row_set *h, struct inv_row *row);
/* Returns the oldest row with the key, or NULL. */
struct inv_row *inv_row_set_find(const struct inv_row_set *h, uint64_t key);
/* Removes a row, which must be the oldest row with its key. The caller frees
 * the row. */
void inv_row_set_remove(struct inv_row_set *h, struct inv_row *row);

#endif
