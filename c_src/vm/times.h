/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_TIMES_H
#define INV_VM_TIMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/buckets.h"
#include "vm/tally.h"

/*
 * Histograms for the keys of a tally (vm/tally.h), in nanoseconds. A cell of the
 * tally has a row here, with the same index; the keys beyond the bound have one
 * row together.
 *
 *	 tally         times
 *	+-----+-+     +--------+-------------+	    +----------------+
 *	| key |n| ─── |sum, ...|block numbers| ───► | 32 buckets     |
 *	+-----+-+     +--------+-------------+	    +----------------+
 *
 * The same rule applies: each thread has a part and is the only writer of it, and
 * a reader adds the parts up without stopping a thread. The count of the tally is
 * that of all calls, timed or not. A block of buckets belongs to a row from the
 * first value on that needs it. If the thread has no block left, the value is
 * one of the others, whose blocks are set aside.
 */
#define INV_TIMES_BLOCKS 8192u
#define INV_TIMES_OTHERS INV_TALLY_CELLS /* the row of the others */

struct inv_times_block {
	_Atomic uint64_t n[INV_BUCKETS];
};

struct inv_times_row {
	_Atomic uint64_t unpaired; /* calls that were not timed */
	_Atomic uint64_t below;	   /* UINT64_MAX - the lowest value */
	_Atomic uint64_t max;
	_Atomic uint64_t sum;
	_Atomic uint16_t block[INV_BUCKETS_BLOCKS]; /* 0: none */
};

struct inv_times_part {
	_Alignas(64) uint32_t used; /* blocks */
	struct inv_times_row *rows;
	struct inv_times_block *blocks;
};

struct inv_times {
	size_t bytes;
	uint32_t n_parts;
	struct inv_times_part parts[];
};

/* Returns NULL if there is no memory. Pages take memory when they are used. */
struct inv_times *inv_times_make(uint32_t n_parts);
void inv_times_free(struct inv_times *t);

/* The size of a part, if all its pages are used. */
size_t inv_times_part_bytes(void);

static inline struct inv_times_row *inv_times_row(
	const struct inv_times_part *p, const struct inv_tally_part *keys,
	const struct inv_tally_cell *c)
{
	return &p->rows[c ? (size_t)(c - keys->cells) : INV_TIMES_OTHERS];
}

/* Adds a value to a row. Returns false if there is no block for it. Only the
 * part's thread may call it; afterwards it counts the call in the tally. */
bool inv_times_add(struct inv_times_part *p, struct inv_times_row *row,
		   uint64_t ns);

/* Counts a call that was not timed in a row; the same. */
void inv_times_unpaired(struct inv_times_row *row);

/* --- reading ----------------------------------------------------------------- */

/* The histogram of a key. */
struct inv_times_sum {
	uint64_t unpaired;
	uint64_t min; /* UINT64_MAX: there are no values */
	uint64_t max;
	uint64_t sum;
	uint64_t n[INV_BUCKETS_BLOCKS][INV_BUCKETS];
};

/* Adds up the parts of a key; that of the others is a key without words. `keys'
 * has at least as many parts. */
void inv_times_read(const struct inv_times *t, const struct inv_tally *keys,
		    const struct inv_tally_key *k, struct inv_times_sum *sum);

#endif
