/* SPDX-License-Identifier: Apache-2.0 */
#include "table/batch.h"

#include <stdlib.h>
#include <string.h>

void inv_batch_release(struct inv_batch *b)
{
	free(b->cells);
	free(b->kinds);
	b->cells = NULL;
	b->kinds = NULL;
	b->n = 0;
	inv_buf_release(&b->texts);
}

void inv_batch_reset(struct inv_batch *b)
{
	b->n = 0;
	if (b->kinds)
		memset(b->kinds, 0, b->width);
	if (b->texts.cap > 2 * INV_BATCH_TEXTS)
		inv_buf_release(&b->texts);
	inv_buf_reset(&b->texts);
}

size_t inv_batch_size(const struct inv_batch *b)
{
	size_t cells = (size_t)INV_BATCH_ROWS * b->width * sizeof(*b->cells);
	size_t kinds = b->width * sizeof(*b->kinds);

	return (b->cells ? cells + kinds : 0) + b->texts.cap;
}

/* Copies a text. Returns 0, INV_ENOMEM or INV_ETOOBIG. */
static int copy_text(struct inv_batch *b, struct inv_batch_cell *to,
		     const struct inv_cell *from)
{
	if (from->text.n > INV_BATCH_TEXT_MAX)
		return INV_ETOOBIG;
	to->off = b->texts.len;
	to->len = (uint32_t)from->text.n;
	inv_buf_put(&b->texts, from->text.p, from->text.n);
	return b->texts.error ? INV_ENOMEM : 0;
}

static int make(struct inv_batch *b, unsigned width)
{
	b->width = width;
	b->kinds = calloc(width, 1);
	b->cells = calloc((size_t)INV_BATCH_ROWS * width, sizeof(*b->cells));
	if (b->kinds && b->cells)
		return 0;
	inv_batch_release(b);
	return INV_ENOMEM;
}

int inv_batch_add(struct inv_batch *b, const struct inv_table *table,
		  const struct inv_cell *cells, struct inv_err *err)
{
	struct inv_batch_cell *to;
	unsigned width;
	uint8_t *kinds;
	int rc = 0;

	if (!b->cells && make(b, table->n))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	width = b->width;
	kinds = b->kinds;
	to = b->cells + (size_t)b->n * width;
	for (unsigned i = 0; !rc && i < width; i++) {
		kinds[i] |= (uint8_t)(1u << cells[i].kind);
		to[i].kind = cells[i].kind;
		if (cells[i].kind == INV_CELL_TEXT)
			rc = copy_text(b, &to[i], &cells[i]);
		else /* this also copies `number', which is in the same union */
			to[i].i = cells[i].i;
	}
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
