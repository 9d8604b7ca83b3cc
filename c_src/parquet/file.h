/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_FILE_H
#define INV_PARQUET_FILE_H

#include "base/err.h"
#include "parquet/column.h"

/*
 * Writes one table of table/schema.h as a Parquet file. The rows of a row
 * group are in memory until the group is written. The file is valid only after
 * inv_parquet_finish.
 */
#define INV_PARQUET_GROUP_ROWS 122880u
#define INV_PARQUET_GROUP_BYTES ((size_t)64 << 20)

struct inv_parquet_file {
	/* private */
	const struct inv_table *table;
	int fd;
	int64_t off; /* bytes that were written to the file */
	struct inv_parquet_column *columns;
	unsigned n_columns;
	size_t rows, bytes; /* rows, and bytes of their values, in the
			       current row group */
	int64_t all_rows;
	struct inv_parquet_chunk *chunks; /* the chunks of all row groups,
					     one for each column of each
					     group */
	int64_t *group_rows;
	size_t n_groups, cap_groups;
	struct inv_buf out, spare;
	void *zstd;
	char *path; /* path of the file, for messages */
};

/*
 * f must be all zero. Creates the file, with mode 0600. Call
 * inv_parquet_release also after a failure.
 */
int inv_parquet_create(struct inv_parquet_file *f, const char *path,
		       const struct inv_table *table, struct inv_err *err);
int inv_parquet_put(struct inv_parquet_file *f, const struct inv_cast *cast,
		    const struct inv_cell *cells, struct inv_err *err);
int inv_parquet_finish(struct inv_parquet_file *f, struct inv_err *err);
void inv_parquet_release(struct inv_parquet_file *f);

#endif
