/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_QUERY_H
#define INV_SQL_QUERY_H

#include <stdint.h>

#include "base/err.h"
#include "sql/result.h"

#include <sqlite3.h>

/* Opens an existing database read-only, and checks that inviso has written
 * it. */
int inv_query_open(sqlite3 **db, const char *path, struct inv_err *err);

/* Returns true if the file begins like an SQLite database. */
bool inv_query_is_database(const char *path);

/* After this call, the database accepts only queries. */
void inv_query_protect(sqlite3 *db);

struct inv_query {
	const char *sql;
	uint64_t limit;	  /* print at most this many rows; 0: all */
	uint32_t seconds; /* how long the query may take; 0: no limit */
	enum inv_result_form form;
	unsigned width; /* of a table, in columns; 0: no limit */
	/* results */
	uint64_t rows; /* how many rows were printed */
	bool more;     /* there are more rows than the limit */
};

/* Runs a query and prints its rows on standard output. Returns 0 or an error;
 * INV_EINVAL if the query is not valid or not allowed. */
int inv_query_run(struct inv_query *q, sqlite3 *db, struct inv_err *err);

#endif
