/* SPDX-License-Identifier: Apache-2.0 */
#include "table/batch.h"

#include <stdlib.h>

void inv_batch_release(struct inv_batch *b)
{
	free(b->cells);
	b->cells = NULL;
	b->n = 0;
	inv_buf_release(&b->texts);
}

void inv_batch_reset(struct inv_batch *b)
{
	b->n = 0;
	if (b->texts.cap > 2 * INV_BATCH_TEXTS)
		inv_buf_release(&b->texts);
	inv_buf_reset(&b->texts);
}

size_t inv_batch_size(const struct inv_batch *b)
{
	size_t row = b->width * sizeof(*b->cells);

	return (b->cells ? INV_BATCH_ROWS * row : 0) + b->texts.cap;
}

static void copy(struct inv_batch *b, struct inv_batch_cell *to,
		 const struct inv_cell *from)
{
	to->kind = from->kind;
	switch (from->kind) {
	case INV_CELL_NULL:
		to->i = 0;
		return;
	case INV_CELL_INT:
		to->i = from->i;
		return;
	case INV_CELL_TEXT:
		to->off = b->texts.len;
		to->len = (uint32_t)from->text.n;
		inv_buf_put(&b->texts, from->text.p, from->text.n);
		return;
	default:
		to->number = from->number;
	}
}

int inv_batch_add(struct inv_batch *b, const struct inv_table *table,
		  const struct inv_cell *cells)
{
	struct inv_batch_cell *to;

	if (!b->cells) {
		b->width = table->n;
		b->cells = calloc((size_t)INV_BATCH_ROWS * b->width,
				  sizeof(*b->cells));
	}
	if (!b->cells)
		return INV_ENOMEM;
	to = b->cells + (size_t)b->n * b->width;
	for (unsigned i = 0; i < b->width; i++)
		copy(b, &to[i], &cells[i]);
	if (b->texts.error)
		return INV_ENOMEM;
	b->n++;
	return 0;
}
