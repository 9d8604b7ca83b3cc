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

/* Copies a cell. Returns 0, INV_ENOMEM or INV_ETOOBIG. */
static int copy(struct inv_batch *b, struct inv_batch_cell *to,
		const struct inv_cell *from)
{
	to->kind = from->kind;
	switch (from->kind) {
	case INV_CELL_NULL:
		to->i = 0;
		return 0;
	case INV_CELL_INT:
		to->i = from->i;
		return 0;
	case INV_CELL_TEXT:
		if (from->text.n > INV_BATCH_TEXT_MAX)
			return INV_ETOOBIG;
		to->off = b->texts.len;
		to->len = (uint32_t)from->text.n;
		inv_buf_put(&b->texts, from->text.p, from->text.n);
		return b->texts.error ? INV_ENOMEM : 0;
	default:
		to->number = from->number;
		return 0;
	}
}

int inv_batch_add(struct inv_batch *b, const struct inv_table *table,
		  const struct inv_cell *cells, struct inv_err *err)
{
	struct inv_batch_cell *to;
	int rc = 0;

	if (!b->cells) {
		b->width = table->n;
		b->cells = calloc((size_t)INV_BATCH_ROWS * b->width,
				  sizeof(*b->cells));
	}
	if (!b->cells)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	to = b->cells + (size_t)b->n * b->width;
	for (unsigned i = 0; !rc && i < b->width; i++)
		rc = copy(b, &to[i], &cells[i]);
	if (rc == INV_ETOOBIG)
		return inv_err_set(err, rc,
				   "%s: a text is longer than 1 GB; "
				   "--print-depth shortens terms",
				   table->name);
	if (rc)
		return inv_err_set(err, rc, "no memory");
	b->n++;
	return 0;
}
