/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_RESULT_H
#define INV_SQL_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#include <sqlite3.h>

/* How the rows of a query are printed. */
enum inv_result_form {
	INV_RESULT_TABLE, /* for people: columns, one line for each row */
	INV_RESULT_CSV,	  /* RFC 4180, with the names of the columns; NULL is
			     empty */
	INV_RESULT_JSON,  /* an object on each line */
};

/* The width of a table's columns depends on its rows. So up to INV_RESULT_KEPT
 * bytes of rows are kept before the first row is printed. Later rows do not
 * change the widths. */
#define INV_RESULT_KEPT ((size_t)1 << 20)

struct inv_result {
	enum inv_result_form form;
	unsigned width; /* of the table, in columns; 0: no limit */
	struct inv_buf out;
	/* private */
	struct inv_buf cells; /* texts of cells, each with a 0 at its end */
	unsigned *widths;
	bool *numbers; /* the column has only numbers */
	int n;
	bool begun;
};

/* All fields of *r except form and width must be 0. Returns 0 or INV_ENOMEM.
 * Call inv_result_release in both cases. */
int inv_result_begin(struct inv_result *r, sqlite3_stmt *s);
/* Appends the current row to r->out, or keeps the row until the widths are
 * known. */
void inv_result_row(struct inv_result *r, sqlite3_stmt *s);
/* Appends the rows that were kept. */
void inv_result_end(struct inv_result *r);
void inv_result_release(struct inv_result *r);

#endif
