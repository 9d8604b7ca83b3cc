/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_FILE_H
#define INV_PARQUET_FILE_H

#include "base/err.h"
#include "parquet/column.h"
#include "table/batch.h"

/*
 * Writes one table of table/schema.h as a Parquet file. The rows of a row
 * group are in memory until the group is written. The file is valid only after
 * inv_parquet_finish.
 */
#define INV_PARQUET_GROUP_ROWS 122880u
#define INV_PARQUET_GROUP_BYTES ((size_t)64 << 20)

/* Memory for writing a row group. All files may share one such struct. A struct
 * of zeros is empty. */
struct inv_parquet_scratch {
	struct inv_buf out, spare;
	void *zstd; /* a ZSTD_CCtx */
};

struct inv_parquet_file {
	/* private */
	const struct inv_table *table;
	struct inv_parquet_scratch *scratch;
	int fd; /* -1 except while a row group is written, because a program
		   cannot have all files open at once */
	int64_t off; /* bytes that were written to the file */
	struct inv_parquet_column *columns;
	unsigned n_columns;
	size_t columns_size; /* bytes of memory of all columns */
	size_t rows, bytes;  /* rows, and bytes of their texts, in the current
			       row group */
	struct inv_batch batch; /* rows that are not in the columns yet */
	const struct inv_cast *cast;
	int64_t all_rows;
	struct inv_parquet_chunk *chunks; /* the chunks of all row groups,
					     one for each column of each
					     group */
	int64_t *group_rows;
	size_t n_groups, cap_groups;
	char *path;
};

void inv_parquet_scratch_release(struct inv_parquet_scratch *s);

/*
 * f must be all zero. Creates the file, with mode 0600. The table and scratch
 * are borrowed. Call inv_parquet_release also after a failure.
 */
int inv_parquet_create(struct inv_parquet_file *f, const char *path,
		       const struct inv_table *table,
		       struct inv_parquet_scratch *scratch,
		       struct inv_err *err);
/* Adds a row. `cast' is borrowed until the row is written. */
int inv_parquet_put(struct inv_parquet_file *f, const struct inv_cast *cast,
		    const struct inv_cell *cells, struct inv_err *err);
/* Returns how many bytes of memory are taken by rows that are not written
 * yet. */
size_t inv_parquet_memory(const struct inv_parquet_file *f);
/* Writes the row group and frees its memory. More rows can follow. */
int inv_parquet_rest(struct inv_parquet_file *f, struct inv_err *err);
int inv_parquet_finish(struct inv_parquet_file *f, struct inv_err *err);
void inv_parquet_release(struct inv_parquet_file *f);

#endif
