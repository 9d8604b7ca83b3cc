/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_FILL_H
#define INV_PARQUET_FILL_H

#include "parquet/column.h"
#include "table/batch.h"

/*
 * Adds the rows of a batch to the columns of its table, one column after the
 * other. This is faster than adding one row after the other. Each row would
 * touch the memory of all columns; with files of many nodes, this memory is not
 * in the processor's caches.
 *
 * `columns' has a column for each column of the file. Returns 0 or INV_ENOMEM.
 */
int inv_parquet_fill(struct inv_parquet_column *columns,
		     const struct inv_table *table, const struct inv_cast *cast,
		     const struct inv_batch *b);

#endif
