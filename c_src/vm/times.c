/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/times.h"

#include "vm/pages.h"

#define ROWS (INV_TALLY_CELLS + 1)
#define BLOCKS (INV_TIMES_BLOCKS + INV_BUCKETS_BLOCKS)
#define ROWS_BYTES (ROWS * sizeof(struct inv_times_row))
#define BLOCKS_BYTES (BLOCKS * sizeof(struct inv_times_block))

_Static_assert(BLOCKS < UINT16_MAX, "a row has the numbers of its blocks");
_Static_assert(ROWS_BYTES % _Alignof(struct inv_times_block) == 0,
	       "blocks follow rows");

size_t inv_times_part_bytes(void)
{
	return ROWS_BYTES + BLOCKS_BYTES;
}

struct inv_times *inv_times_make(uint32_t n_parts)
{
	size_t head = sizeof(struct inv_times) +
		      n_parts * sizeof(struct inv_times_part);
	size_t bytes = head + n_parts * inv_times_part_bytes();
	struct inv_times *t = inv_pages_map(bytes);
	uint8_t *p;

	if (!t)
		return NULL;
	p = (uint8_t *)t + head;
	t->bytes = bytes;
	t->n_parts = n_parts;
	for (uint32_t i = 0; i < n_parts; i++) {
		t->parts[i].rows = (struct inv_times_row *)p;
		p += ROWS_BYTES;
		t->parts[i].blocks = (struct inv_times_block *)p;
		p += BLOCKS_BYTES;
	}
	return t;
}

void inv_times_free(struct inv_times *t)
{
	if (t)
		inv_pages_unmap(t, t->bytes);
}

static uint64_t get(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void set(_Atomic uint64_t *n, uint64_t value)
{
	atomic_store_explicit(n, value, memory_order_relaxed);
}

/* Adds two numbers of at most INT64_MAX. If the sum is larger, returns
 * INT64_MAX, because a log has no larger integers. */
static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b > INT64_MAX ? INT64_MAX : a + b;
}

/* Gives the row memory for the block with the number `block' of its histogram.
 * Returns the index in p->blocks plus 1, or 0 if no memory is free. */
static uint16_t claim(struct inv_times_part *p, struct inv_times_row *row,
		      uint32_t block)
{
	uint32_t at;

	if (row == &p->rows[INV_TIMES_OTHERS])
		at = INV_TIMES_BLOCKS + block;
	else if (p->used < INV_TIMES_BLOCKS)
		at = p->used++;
	else
		return 0;
	atomic_store_explicit(&row->block[block], (uint16_t)(at + 1),
			      memory_order_relaxed);
	return (uint16_t)(at + 1);
}

bool inv_times_add(struct inv_times_part *p, struct inv_times_row *row,
		   uint64_t value)
{
	uint32_t bucket;
	uint32_t block = inv_buckets_of(value, &bucket);
	uint16_t at =
		atomic_load_explicit(&row->block[block], memory_order_relaxed);
	_Atomic uint64_t *n;

	if (at == 0)
		at = claim(p, row, block);
	if (at == 0)
		return false;
	n = &p->blocks[at - 1].n[bucket];
	set(n, get(n) + 1);
	set(&row->sum, plus(get(&row->sum), value));
	if (value > get(&row->max))
		set(&row->max, value);
	if (UINT64_MAX - value > get(&row->below))
		set(&row->below, UINT64_MAX - value);
	return true;
}

void inv_times_unpaired(struct inv_times_row *row)
{
	set(&row->unpaired, get(&row->unpaired) + 1);
}

/* --- reading ----------------------------------------------------------------- */

static void add_row(const struct inv_times_part *p,
		    const struct inv_times_row *row, struct inv_times_sum *sum)
{
	uint64_t low = UINT64_MAX - get(&row->below);
	uint64_t max = get(&row->max);

	sum->unpaired += get(&row->unpaired);
	sum->sum = plus(sum->sum, get(&row->sum));
	if (low < sum->min)
		sum->min = low;
	if (max > sum->max)
		sum->max = max;
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++) {
		uint16_t at = atomic_load_explicit(&row->block[b],
						   memory_order_relaxed);

		for (uint32_t i = 0; at && i < INV_BUCKETS; i++)
			sum->n[b][i] += get(&p->blocks[at - 1].n[i]);
	}
}

void inv_times_read(const struct inv_times *t, const struct inv_tally *keys,
		    const struct inv_tally_key *k, struct inv_times_sum *sum)
{
	*sum = (struct inv_times_sum){ .min = UINT64_MAX };
	for (uint32_t i = 0; i < t->n_parts; i++) {
		const struct inv_times_part *p = &t->parts[i];
		const struct inv_tally_cell *c = NULL;

		if (k->kind != INV_COUNT_OTHERS) {
			c = inv_tally_find(&keys->parts[i], k);
			if (!c)
				continue;
		}
		add_row(p, inv_times_row(p, &keys->parts[i], c), sum);
	}
}
