/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_DATABASE_H
#define INV_SQL_DATABASE_H

#include "sql/insert.h"

/*
 * Writes the tables of table/schema.h into a new SQLite database.
 *
 * Rows refer to processes and functions by numbers, so that each text is stored
 * once. For example, the table _events has only the numbers. The table _process
 * has the processes, and the table _function has the functions. Users see the
 * view `events', which has the columns of the schema. Names that begin with an
 * underscore can change without a new version of the schema.
 *
 * 	inv_database_create(&db, path, &err);
 * 	... inv_rows_event(&rows, item) with db.writer ...
 * 	inv_database_finish(&db, &err);
 * 	inv_database_close(&db);
 */
#define INV_DATABASE_ID 0x696e7669 /* "invi", PRAGMA application_id */

struct inv_database {
	struct inv_row_writer writer;
	sqlite3 *db; /* the caller may take it, and set it to NULL */
	/* private */
	struct inv_inserts inserts;
};

/*
 * All fields of *d must be 0. `path' is an empty file. If `path' is NULL, the
 * database is in memory or, if it is large, in a file without a name; in both
 * cases it is gone when it is closed. Call inv_database_close also after a
 * failure.
 */
int inv_database_create(struct inv_database *d, const char *path,
			struct inv_err *err);
/* Makes the indexes and the views of the tables. */
int inv_database_finish(struct inv_database *d, struct inv_err *err);
void inv_database_close(struct inv_database *d);

#endif
