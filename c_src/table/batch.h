/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_BATCH_H
#define INV_TABLE_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "table/rows.h"

/*
 * Copies of the last rows of a table, for a writer that is faster if it gets
 * several rows at a time. A struct of zeros is empty.
 */
#define INV_BATCH_ROWS 64u
/* A batch with this many bytes of texts is full, even if it has few rows,
 * because keeping large texts costs more than a larger batch saves. */
#define INV_BATCH_TEXTS ((size_t)64 << 10)
/* The longest text, in bytes: SQLite's limit. */
#define INV_BATCH_TEXT_MAX ((size_t)1000000000)

struct inv_batch_cell {
	uint8_t kind; /* enum inv_cell_kind */
	uint32_t len; /* bytes of a text */
	union {
		int64_t i; /* INT */
		uint32_t number;
		size_t off; /* TEXT: its offset in the texts of the batch */
	};
};

struct inv_batch {
	unsigned n;	/* rows; at most INV_BATCH_ROWS */
	unsigned width; /* cells of a row */
	/* private */
	struct inv_batch_cell *cells;
	uint8_t *kinds; /* kinds[i]: the bits 1 << kind for all kinds of cells
			   in column i */
	struct inv_buf texts;
};

/* Frees the memory. The batch is empty afterwards. */
void inv_batch_release(struct inv_batch *b);

/* Adds a row. The batch must not be full. All its rows must be of the same
 * table. Returns 0, INV_ENOMEM, or INV_ETOOBIG if a text is longer than
 * INV_BATCH_TEXT_MAX; then the batch does not have the row. */
int inv_batch_add(struct inv_batch *b, const struct inv_table *table,
		  const struct inv_cell *cells, struct inv_err *err);

static inline bool inv_batch_is_full(const struct inv_batch *b)
{
	return b->n == INV_BATCH_ROWS || b->texts.len >= INV_BATCH_TEXTS;
}

/* Makes the batch empty, and keeps its memory, except that of large texts. */
void inv_batch_reset(struct inv_batch *b);

/* Returns a cell of a row. The cell of the next row in the same column is
 * b->width elements further. */
static inline const struct inv_batch_cell *inv_batch_cell(
	const struct inv_batch *b, unsigned row, unsigned column)
{
	return &b->cells[(size_t)row * b->width + column];
}

/* Returns which kinds of cells a column has: 1 << kind for each of them. */
static inline unsigned inv_batch_kinds(const struct inv_batch *b,
				       unsigned column)
{
	return b->kinds[column];
}

/* Returns the text of a cell. The pointer is valid until a row is added. */
static inline const uint8_t *inv_batch_text(const struct inv_batch *b,
					    const struct inv_batch_cell *cell)
{
	/* If all texts are empty, the batch has no memory for texts. */
	return cell->len ? b->texts.data + cell->off : (const uint8_t *)"";
}

/* Returns how many bytes of memory the batch takes. */
size_t inv_batch_size(const struct inv_batch *b);

#endif
