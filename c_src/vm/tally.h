/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_TALLY_H
#define INV_VM_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"

/*
 * How often each key occurred: a table of counts in the VM's memory.
 *
 * 	 part of thread 0        part of thread 1
 * 	+-----+-----+-   -+     +-----+-----+-   -+
 * 	|key n|key n| ... |     |key n|key n| ... |	inv_tally_add: a thread
 * 	+-----+-----+-   -+     +-----+-----+-   -+
 * 	    └──────── added up ─────┘			inv_tally_next: a reader
 *
 * Each thread has a part, and is the only writer of its cells. So counting an
 * event needs neither a lock nor a locked instruction. A reader adds up the
 * cells of a key while the threads go on counting. Each sum was right at a
 * moment during the reading; different sums can be from different moments.
 * Counts never decrease, and keys are never removed.
 *
 * The size is fixed when the table is made. A part has at most INV_TALLY_KEYS
 * keys; events with further keys are counted together, in `others'.
 */
#define INV_TALLY_KEYS 4096u
#define INV_TALLY_CELLS (2 * INV_TALLY_KEYS)
#define INV_TALLY_PROBES 64u

/*
 * A key under which events are counted. `word' and `name' are terms of the VM
 * that are immediates: atoms, and processes and ports of this node. The key of
 * a function has its module in `word' and its name in `name'; keys of other
 * kinds have only `word'.
 */
struct inv_tally_key {
	uint64_t word;
	uint64_t name;
	uint64_t kind; /* enum inv_count_of, plus a function's arity << 8; not
			* 0 */
};

struct inv_tally_cell {
	_Atomic uint64_t n; /* 0: the cell is free */
	struct inv_tally_key key;
};

/* One thread's part. Only this thread writes it. */
struct inv_tally_part {
	_Alignas(64) _Atomic uint64_t total;
	_Atomic uint64_t others;
	uint32_t used; /* how many cells are used */
	struct inv_tally_cell *cells;
	uint64_t *told; /* used only by the reader: for each cell, the sum that
			 * the reader last returned */
};

struct inv_tally {
	size_t bytes;
	uint32_t n_parts;
	uint32_t by; /* what the caller counts by: enum inv_count_of */
	uint64_t told_others;
	struct inv_tally_part parts[];
};

/* Returns NULL if there is no memory. A page takes memory when it is first
 * used. */
struct inv_tally *inv_tally_make(uint32_t n_parts, uint32_t by);
void inv_tally_free(struct inv_tally *t);

static inline uint32_t inv_tally_hash(const struct inv_tally_key *k)
{
	uint64_t h = k->word * UINT64_C(0x9e3779b97f4a7c15) +
		     k->name * UINT64_C(0xd6e8feb86659fd93) + k->kind;

	h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32) % INV_TALLY_CELLS;
}

static inline void inv_tally_increase(_Atomic uint64_t *n)
{
	/* Release: a reader that sees the count also sees the key. Pairs with
	 * the acquire in inv_tally_find and inv_tally_next. */
	atomic_store_explicit(n,
			      atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_release);
}

/*
 * inv_tally_find returns the key's cell in the part, or NULL if there is none.
 * inv_tally_claim makes a cell for the key, or returns NULL if the part is
 * full. Readers see the new cell only after its first count. Only the part's
 * thread may call inv_tally_claim.
 */
static inline struct inv_tally_cell *inv_tally_find(
	const struct inv_tally_part *p, const struct inv_tally_key *k)
{
	uint32_t at = inv_tally_hash(k);
	uint32_t i;

	for (i = 0; i < INV_TALLY_PROBES; i++) {
		struct inv_tally_cell *c =
			&p->cells[(at + i) % INV_TALLY_CELLS];

		/* Acquire: for a reader; pairs with inv_tally_increase. */
		if (atomic_load_explicit(&c->n, memory_order_acquire) == 0)
			return NULL;
		if (c->key.word == k->word && c->key.name == k->name &&
		    c->key.kind == k->kind)
			return c;
	}
	return NULL;
}

struct inv_tally_cell *inv_tally_claim(struct inv_tally_part *p,
				       const struct inv_tally_key *k);

/* Counts an event in the cell c, or in the part's `others' if c is NULL. */
static inline void inv_tally_add(struct inv_tally_part *p,
				 struct inv_tally_cell *c)
{
	inv_tally_increase(&p->total);
	inv_tally_increase(c ? &c->n : &p->others);
}

/* --- reading: one reader at a time ---------------------------------------- */

struct inv_tally_row {
	struct inv_tally_key key; /* in the rows of `others' and of `total',
				   * `word' and `name' are 0 */
	uint64_t n;
};

/*
 * Finds the next row from *at on; *at is 0 at the first call. If `all' is true,
 * each key has a row. Otherwise a key has a row only if its sum has changed
 * since the sum was last returned. The row of `others' follows, under the same
 * condition. The last row is always that of `total'.
 *
 * Looks at no more than *cells cells. Decreases *cells by 1 for each cell that
 * gives no row, and for each part whose thread has counted nothing. Returns
 * false if there is no further row (then *at is UINT64_MAX), or if *cells is 0.
 */
bool inv_tally_next(struct inv_tally *t, uint64_t *at, bool all,
		    uint32_t *cells, struct inv_tally_row *row);

#endif
