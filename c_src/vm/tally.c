/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/tally.h"

#include "vm/pages.h"

#define CELLS_BYTES (INV_TALLY_CELLS * sizeof(struct inv_tally_cell))
#define TOLD_BYTES (INV_TALLY_CELLS * sizeof(uint64_t))

struct inv_tally *inv_tally_make(uint32_t n_parts, uint32_t by)
{
	size_t head = sizeof(struct inv_tally) +
		      n_parts * sizeof(struct inv_tally_part);
	size_t bytes = head + n_parts * (CELLS_BYTES + TOLD_BYTES);
	struct inv_tally *t = inv_pages_map(bytes);
	uint8_t *p;

	if (!t)
		return NULL;
	p = (uint8_t *)t + head;
	t->bytes = bytes;
	t->n_parts = n_parts;
	t->by = by;
	for (uint32_t i = 0; i < n_parts; i++) {
		t->parts[i].cells = (struct inv_tally_cell *)p;
		p += CELLS_BYTES;
		t->parts[i].told = (uint64_t *)p;
		p += TOLD_BYTES;
	}
	return t;
}

void inv_tally_free(struct inv_tally *t)
{
	if (t)
		inv_pages_unmap(t, t->bytes);
}

struct inv_tally_cell *inv_tally_claim(struct inv_tally_part *p,
				       const struct inv_tally_key *k)
{
	uint32_t at = inv_tally_hash(k);

	if (p->used == INV_TALLY_KEYS)
		return NULL;
	for (uint32_t i = 0; i < INV_TALLY_PROBES; i++) {
		struct inv_tally_cell *c =
			&p->cells[(at + i) % INV_TALLY_CELLS];

		if (atomic_load_explicit(&c->n, memory_order_relaxed) > 0)
			continue;
		c->key = *k;
		p->used++;
		return c;
	}
	return NULL;
}

/* --- reading ----------------------------------------------------------------- */

static uint64_t load(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_acquire);
}

/* Adds up a key's cells in all parts. Returns 0 if a part before `part' has the
 * key: the reader has then returned the key's sum already. */
static uint64_t sum(const struct inv_tally *t, uint32_t part,
		    const struct inv_tally_key *k)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_parts; i++) {
		const struct inv_tally_cell *c =
			inv_tally_find(&t->parts[i], k);

		if (c && i < part)
			return 0;
		if (c)
			n += load(&c->n);
	}
	return n;
}

static bool read_cell(struct inv_tally *t, uint64_t at, bool all,
		      struct inv_tally_row *row)
{
	uint32_t part = (uint32_t)(at / INV_TALLY_CELLS);
	uint32_t i = (uint32_t)(at % INV_TALLY_CELLS);
	const struct inv_tally_cell *c = &t->parts[part].cells[i];
	uint64_t *told = &t->parts[part].told[i];
	uint64_t n;

	if (load(&c->n) == 0)
		return false;
	n = sum(t, part, &c->key);
	if (n == 0 || (!all && n == *told))
		return false;
	*told = n;
	*row = (struct inv_tally_row){ .key = c->key, .n = n };
	return true;
}

static bool read_sum(struct inv_tally *t, enum inv_count_of kind, bool all,
		     struct inv_tally_row *row)
{
	bool total = kind == INV_COUNT_TOTAL;
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_parts; i++)
		n += load(total ? &t->parts[i].total : &t->parts[i].others);
	if (!all && !total && n == t->told_others)
		return false;
	if (!total)
		t->told_others = n;
	*row = (struct inv_tally_row){ .key = { .kind = kind }, .n = n };
	return true;
}

bool inv_tally_next(struct inv_tally *t, uint64_t *at, bool all,
		    uint32_t *cells, struct inv_tally_row *row)
{
	uint64_t end = (uint64_t)t->n_parts * INV_TALLY_CELLS;

	for (; *cells > 0 && *at < end + 2; --*cells) {
		uint64_t here = *at;

		/* Skip the part of a thread that has counted nothing. */
		if (here < end && here % INV_TALLY_CELLS == 0 &&
		    load(&t->parts[here / INV_TALLY_CELLS].total) == 0) {
			*at += INV_TALLY_CELLS;
			continue;
		}
		++*at;
		if (here < end ? read_cell(t, here, all, row) :
				 read_sum(t,
					  here == end ? INV_COUNT_OTHERS :
							INV_COUNT_TOTAL,
					  all, row))
			return true;
	}
	if (*at >= end + 2)
		*at = UINT64_MAX;
	return false;
}
