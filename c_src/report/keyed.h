/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_KEYED_H
#define INV_REPORT_KEYED_H

#include <stddef.h>
#include <stdint.h>

#include "flow/histogram.h"

/*
 * Rows that are found by a key, and whose values are added up: functions, kinds
 * of processes, mailboxes. Memory is bounded: if a new key comes when there are
 * `most' rows, the half of them with the lowest v[0] is added to `others'. If
 * the key of such a row occurs again, it gets a new row.
 */
#define INV_KEYED_PARTS 4
#define INV_KEYED_VALUES 9
/* The value with this index is a maximum. All other values are sums. */
#define INV_KEYED_MAX (INV_KEYED_VALUES - 1)

struct inv_keyed_row {
	uint64_t key[INV_KEYED_PARTS];
	uint64_t v[INV_KEYED_VALUES];
	struct inv_histogram *times; /* NULL: none */
	char *text;		     /* NULL: none */
};

struct inv_keyed {
	size_t most;
	struct inv_keyed_row *rows;
	size_t n;
	struct inv_keyed_row others;
	uint64_t pruned; /* how many rows became part of `others' */
	/* private */
	size_t cap;
	uint32_t *slots;
	size_t n_slots;
};

/* The table must be all zero. `most' is at least 2. */
void inv_keyed_init(struct inv_keyed *t, size_t most);
void inv_keyed_release(struct inv_keyed *t);

/* Returns the row of the key, which may be new, or NULL if memory is
 * exhausted. The pointer is valid until the next call. */
struct inv_keyed_row *inv_keyed_get(struct inv_keyed *t,
				    const uint64_t key[INV_KEYED_PARTS]);

/* Adds a time to the histogram of the row. Returns 0 or INV_ENOMEM. */
int inv_keyed_time(struct inv_keyed_row *row, uint64_t ns);

/* Sorts the rows by the value with the index `by', the highest first. Rows in
 * which this value is equal are sorted by the value with the index `then'.
 * Afterwards inv_keyed_get must not be called. */
void inv_keyed_sort(struct inv_keyed *t, unsigned by, unsigned then);

#endif
