/* SPDX-License-Identifier: Apache-2.0 */
#include "table/row_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void inv_row_set_release(struct inv_row_set *h)
{
	struct inv_row *row = h->oldest;

	while (row) {
		struct inv_row *newer = row->newer;

		free(row);
		row = newer;
	}
	free(h->slots);
	memset(h, 0, sizeof(*h));
}

static size_t place(const struct inv_row_set *h, uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (key >> 32) & (h->n_slots - 1);
}

static int grow(struct inv_row_set *h)
{
	size_t n = h->n_slots ? h->n_slots * 2 : 256;
	struct inv_row **old = h->slots;
	size_t n_old = h->n_slots;

	h->slots = calloc(n, sizeof(struct inv_row *));
	if (!h->slots) {
		h->slots = old;
		return INV_ENOMEM;
	}
	h->n_slots = n;
	for (size_t i = 0; i < n_old; i++)
		for (struct inv_row *row = old[i], *chain; row; row = chain) {
			size_t at = place(h, row->key);

			chain = row->chain;
			row->chain = h->slots[at];
			h->slots[at] = row;
		}
	free(old);
	return 0;
}

struct inv_row *inv_row_set_find(const struct inv_row_set *h, uint64_t key)
{
	struct inv_row *row = h->n_slots ? h->slots[place(h, key)] : NULL;

	while (row && row->key != key)
		row = row->chain;
	return row;
}

int inv_row_set_add(struct inv_row_set *h, struct inv_row *row)
{
	struct inv_row *first;

	if (h->n_keys >= h->n_slots && grow(h))
		return INV_ENOMEM;
	first = inv_row_set_find(h, row->key);
	row->next = NULL;
	row->chain = NULL;
	row->last = row;
	if (first) {
		first->last->next = row;
		first->last = row;
	} else {
		size_t at = place(h, row->key);

		row->chain = h->slots[at];
		h->slots[at] = row;
		h->n_keys++;
	}
	row->newer = NULL;
	row->older = h->newest;
	if (h->newest)
		h->newest->newer = row;
	else
		h->oldest = row;
	h->newest = row;
	h->size += row->size;
	h->n++;
	return 0;
}

void inv_row_set_remove(struct inv_row_set *h, struct inv_row *row)
{
	struct inv_row **at = &h->slots[place(h, row->key)];

	while (*at != row)
		at = &(*at)->chain;
	if (row->next) {
		row->next->chain = row->chain;
		row->next->last = row->last;
		*at = row->next;
	} else {
		*at = row->chain;
		h->n_keys--;
	}
	if (row->older)
		row->older->newer = row->newer;
	else
		h->oldest = row->newer;
	if (row->newer)
		row->newer->older = row->older;
	else
		h->newest = row->older;
	h->size -= row->size;
	h->n--;
}
