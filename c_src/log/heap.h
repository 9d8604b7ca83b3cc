/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_HEAP_H
#define INV_LOG_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * A binary heap of sources for a merge. The entry with the smallest key is on
 * top; if keys are equal, the entry with the smallest index. The key of the top
 * can be replaced in place, because a merge does this far more often than it
 * pushes or pops entries.
 */
struct inv_merge_heap_entry {
	int64_t key;
	uint32_t index;
};

struct inv_merge_heap {
	struct inv_merge_heap_entry *e;
	uint32_t n;
};

static inline bool inv_merge_heap_before(const struct inv_merge_heap_entry *a,
					 const struct inv_merge_heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->index < b->index;
}

/* Allocates memory for cap entries. Returns false if there is not enough
 * memory. The caller must call inv_merge_heap_release. */
static inline bool inv_merge_heap_init(struct inv_merge_heap *h, uint32_t cap)
{
	h->n = 0;
	h->e = calloc(cap ? cap : 1, sizeof(*h->e));
	return h->e != NULL;
}

static inline void inv_merge_heap_release(struct inv_merge_heap *h)
{
	free(h->e);
	h->e = NULL;
	h->n = 0;
}

/* Adds an entry. The heap must not be full. */
static inline void inv_merge_heap_push(struct inv_merge_heap *h, int64_t key,
				       uint32_t index)
{
	struct inv_merge_heap_entry x = { key, index };
	uint32_t i = h->n++;

	for (; i && inv_merge_heap_before(&x, &h->e[(i - 1) / 2]);
	     i = (i - 1) / 2)
		h->e[i] = h->e[(i - 1) / 2];
	h->e[i] = x;
}

/* Changes the key of the top. The heap must not be empty. */
static inline void inv_merge_heap_replace(struct inv_merge_heap *h, int64_t key)
{
	struct inv_merge_heap_entry x = { key, h->e[0].index };
	uint32_t i = 0;
	uint32_t kid;

	while ((kid = 2 * i + 1) < h->n) {
		if (kid + 1 < h->n &&
		    inv_merge_heap_before(&h->e[kid + 1], &h->e[kid]))
			kid++;
		if (!inv_merge_heap_before(&h->e[kid], &x))
			break;
		h->e[i] = h->e[kid];
		i = kid;
	}
	h->e[i] = x;
}

/* Removes the top. The heap must not be empty. */
static inline void inv_merge_heap_pop(struct inv_merge_heap *h)
{
	struct inv_merge_heap_entry last = h->e[--h->n];

	if (!h->n)
		return;
	h->e[0].index = last.index;
	inv_merge_heap_replace(h, last.key);
}

#endif
