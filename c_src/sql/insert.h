/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_INSERT_H
#define INV_SQL_INSERT_H

#include <sqlite3.h>

#include "base/err.h"
#include "table/batch.h"

/*
 * Inserts rows into the tables of sql/database.h with prepared statements.
 *
 * One statement inserts INV_INSERT_ROWS rows, because much of the time of an
 * INSERT is spent once for each statement. So the last rows of each table are
 * in memory until inv_inserts_finish.
 */
#define INV_INSERT_ROWS 8u

struct inv_table_insert {
	sqlite3_stmt *many; /* inserts INV_INSERT_ROWS rows */
	sqlite3_stmt *one;  /* inserts one row */
	/* bound[i]: bits for the parameters of row i of `many' that are not
	 * NULL. The last entry is for the row of `one'. */
	uint32_t bound[INV_INSERT_ROWS + 1];
	struct inv_batch batch;
};

struct inv_inserts {
	struct inv_err err; /* why a row could not be written */
	/* private */
	sqlite3 *db;
	const struct inv_cast *cast;
	struct inv_table_insert tables[INV_TABLE_COUNT];
	sqlite3_stmt *process, *function;
	uint32_t n_processes; /* how many processes were written */
	uint32_t n_functions;
	uint32_t call; /* number of the word "call"; 0: not seen yet */
	struct inv_buf text;
};

/* All fields of *s must be 0. The tables exist. db is borrowed. Returns 0 or a
 * negative code. Call inv_inserts_release also after a failure. */
int inv_inserts_prepare(struct inv_inserts *s, sqlite3 *db,
			struct inv_err *err);

/* Inserts a row. `cast' is borrowed until inv_inserts_finish. Returns 0, or a
 * negative code with the reason in s->err. */
int inv_inserts_put(struct inv_inserts *s, const struct inv_cast *cast,
		    enum inv_table_id table, const struct inv_cell *cells);

/* Writes the rows that are still in memory. */
int inv_inserts_finish(struct inv_inserts *s, struct inv_err *err);
void inv_inserts_release(struct inv_inserts *s);

#endif
