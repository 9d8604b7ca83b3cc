/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_BATCH_H
#define INV_PARQUET_BATCH_H

#include "parquet/column.h"

/*
 * The last rows of a file. A row that is put into the columns at once touches
 * memory in all of them, and with the files of many nodes this memory is not in
 * the processor's caches. So rows are first collected in one place, and then
 * put into one column after the other. A struct of zeros is empty.
 */
#define INV_BATCH_ROWS 64u

struct inv_batch_cell;

struct inv_batch {
	unsigned n; /* rows; at most INV_BATCH_ROWS */
	/* private */
	struct inv_batch_cell *cells; /* the cells of a row follow each other */
	struct inv_buf texts;
};

/* Frees the memory. The batch is empty afterwards. */
void inv_batch_release(struct inv_batch *b);

/* Adds a row, which is copied. The batch must not be full, and has rows of one
 * table only. Returns 0 or INV_ENOMEM. */
int inv_batch_add(struct inv_batch *b, const struct inv_table *table,
		  const struct inv_cell *cells);

/* Puts the rows into the columns, and makes the batch empty. `columns' are the
 * columns of the table in the file. Returns 0 or INV_ENOMEM. */
int inv_batch_write(struct inv_batch *b, const struct inv_table *table,
		    const struct inv_cast *cast,
		    struct inv_parquet_column *columns);

/* Returns how many bytes of memory the batch takes. */
size_t inv_batch_size(const struct inv_batch *b, const struct inv_table *table);

#endif
