/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_PARTITIONS_H
#define INV_PARQUET_PARTITIONS_H

#include "parquet/file.h"

/*
 * Writes rows into a tree of directories, as Apache Hive and other programs for
 * large tables read it:
 *
 *	DIR/calls/node=shop@a/hour=2026-11-27T08/part-0.parquet
 *
 * A file has the rows of one node and one hour (UTC). A value that is not known
 * is __HIVE_DEFAULT_PARTITION__. In the name of a node, all bytes but letters,
 * digits and _ . @ - are written as %XX.
 *
 * If the rows that are not written yet take more than `memory' bytes, the files
 * whose rows take the most memory write a row group early. If there are more
 * than `files' files, the file whose last use was longest ago is finished. If
 * more rows for this file follow, they go into part-1.parquet, and so on.
 */
#define INV_PARTITIONS_MEMORY ((size_t)512 << 20)
#define INV_PARTITIONS_FILES 4096u

struct inv_partition;

/* The columns of a table that have a node or a time: indexes in the schema. */
struct inv_key_columns {
	uint8_t n_nodes, n_times;
	uint8_t nodes[INV_TABLE_COLUMNS_MAX], times[INV_TABLE_COLUMNS_MAX];
};

struct inv_partitions {
	size_t memory; /* bytes; tests change both limits */
	unsigned files;
	/* private */
	char *dir;
	unsigned by; /* of enum inv_sink_partition */
	struct inv_parquet_scratch *scratch;
	struct inv_key_columns columns[INV_TABLE_COUNT];
	struct inv_partition *all; /* a hash table */
	uint64_t n_rows;
	size_t size; /* bytes of memory of the rows of all files */
};

/* Returns true for the tables that are divided: those whose rows have an id.
 * Each of the other tables is one file. */
bool inv_partitions_divide(enum inv_table_id table);

/* All fields of *p must be 0. `by' must not be 0. Returns 0 or INV_ENOMEM. Call
 * inv_partitions_release in both cases. */
int inv_partitions_init(struct inv_partitions *p, const char *dir, unsigned by,
			struct inv_parquet_scratch *scratch);
int inv_partitions_put(struct inv_partitions *p, const struct inv_cast *cast,
		       enum inv_table_id table, const struct inv_cell *cells,
		       struct inv_err *err);
/* Completes all files. */
int inv_partitions_finish(struct inv_partitions *p, struct inv_err *err);
void inv_partitions_release(struct inv_partitions *p);

#endif
