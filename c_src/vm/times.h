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
 * Histograms for the keys of a tally (vm/tally.h), of times in nanoseconds or
 * of other numbers. Each cell of the tally has a row here, with the same index.
 * Keys for which the tally has no cell share one row.
 *
 * 	 tally         times
 * 	+-----+-+     +--------+-------------+	    +----------------+
 * 	| key |n| ─── |sum, ...|block numbers| ───► | 32 buckets     |
 * 	+-----+-+     +--------+-------------+	    +----------------+
 *
 * As in the tally, each thread has a part and is the only writer of it, and a
 * reader adds the parts up without stopping a thread. The tally counts all
 * calls, even those whose time is unknown. A row gets a block of buckets when
 * the first value that belongs to this block is added. If the thread has no
 * free block, the value is counted in the shared row, which has reserved
 * blocks.
 */
#define INV_TIMES_BLOCKS 8192u
/* The index of the row that keys without a cell share. */
#define INV_TIMES_OTHERS INV_TALLY_CELLS

struct inv_times_block {
	_Atomic uint64_t n[INV_BUCKETS];
};

struct inv_times_row {
	_Atomic uint64_t unpaired; /* how many calls had no known time */
	_Atomic uint64_t below;	   /* UINT64_MAX minus the lowest value, so
				      that 0 means no value */
	_Atomic uint64_t max;
	_Atomic uint64_t sum; /* at most INT64_MAX */
	/* For block i of the histogram (abi/buckets.h): 1 + its index in the
	 * part's `blocks'; 0: the row does not have this block. */
	_Atomic uint16_t block[INV_BUCKETS_BLOCKS];
};

struct inv_times_part {
	_Alignas(64) uint32_t used; /* how many blocks are used */
	struct inv_times_row *rows;
	struct inv_times_block *blocks;
};

struct inv_times {
	size_t bytes;
	uint32_t n_parts;
	struct inv_times_part parts[];
};

/* Returns NULL if there is no memory. A page takes memory when it is first
 * used. */
struct inv_times *inv_times_make(uint32_t n_parts);
void inv_times_free(struct inv_times *t);

/* Returns the memory that a part takes if all its pages are used. */
size_t inv_times_part_bytes(void);

static inline struct inv_times_row *inv_times_row(
	const struct inv_times_part *p, const struct inv_tally_part *keys,
	const struct inv_tally_cell *c)
{
	return &p->rows[c ? (size_t)(c - keys->cells) : INV_TIMES_OTHERS];
}

/* Adds a value, at most INT64_MAX, to a row. Returns false if there is no block
 * for the value. Only the part's thread may call it; the thread must count the
 * call in the tally afterwards. */
bool inv_times_add(struct inv_times_part *p, struct inv_times_row *row,
		   uint64_t value);

/* Counts a call in the row's `unpaired', because its time is unknown. The
 * caller must count the call in the tally afterwards. */
void inv_times_unpaired(struct inv_times_row *row);

/* --- reading -------------------------------------------------------------- */

/* The histogram of a key. */
struct inv_times_sum {
	uint64_t unpaired;
	uint64_t min; /* UINT64_MAX: there are no values */
	uint64_t max;
	uint64_t sum;
	uint64_t n[INV_BUCKETS_BLOCKS][INV_BUCKETS];
};

/* Adds up the histograms that the parts have for a key. For a key of the kind
 * INV_COUNT_OTHERS, adds up the shared rows. `keys' must have at least as many
 * parts as t. */
void inv_times_read(const struct inv_times *t, const struct inv_tally *keys,
		    const struct inv_tally_key *k, struct inv_times_sum *sum);

#endif
