/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows with small texts, with large texts and without texts into a
 * database, and reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/database.h"

#define LARGE ((size_t)1 << 20)
#define ROWS 1003u

struct world {
	struct inv_database db;
	struct inv_cast cast;
	struct inv_err err;
	uint8_t text[LARGE];
};

/* How many bytes the text of row i has; -1: it is NULL. */
static int64_t length(unsigned i)
{
	if (i % 3 == 1)
		return -1;
	return i % 101 == 5 ? (int64_t)LARGE : i % 7;
}

static void put(struct world *w, unsigned i)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };

	cells[INV_REQUESTS_REQUEST] =
		(struct inv_cell){ .kind = INV_CELL_INT, .i = i };
	memset(w->text, 'a' + (int)(i % 26), LARGE);
	if (length(i) >= 0) {
		cells[INV_REQUESTS_LABEL].kind = INV_CELL_TEXT;
		cells[INV_REQUESTS_LABEL].text.p = w->text;
		cells[INV_REQUESTS_LABEL].text.n = (size_t)length(i);
	}
	assert_int_equal(w->db.writer.put(&w->db.writer, &w->cast,
					  INV_TABLE_REQUESTS, cells),
			 0);
}

/* Rows are in the order in which they were written. */
static void check(struct world *w)
{
	sqlite3_stmt *s;
	unsigned i = 0;

	assert_int_equal(sqlite3_prepare_v2(w->db.db,
					    "SELECT request, length(label), "
					    "trim(label, char(97 + request % "
					    "26)) FROM requests",
					    -1, &s, NULL),
			 SQLITE_OK);
	for (; sqlite3_step(s) == SQLITE_ROW; i++) {
		assert_int_equal(sqlite3_column_int64(s, 0), i);
		if (length(i) < 0) {
			assert_int_equal(sqlite3_column_type(s, 1),
					 SQLITE_NULL);
			continue;
		}
		assert_int_equal(sqlite3_column_int64(s, 1), length(i));
		assert_int_equal(sqlite3_column_bytes(s, 2), 0);
	}
	sqlite3_finalize(s);
	assert_int_equal(i, ROWS);
}

static void rows_have_their_texts(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct inv_batch *b;

	(void)state;
	assert_non_null(w);
	b = &w->db.inserts.tables[INV_TABLE_REQUESTS].batch;
	assert_int_equal(inv_database_create(&w->db, NULL, &w->err), 0);
	for (unsigned i = 0; i < ROWS; i++) {
		put(w, i);
		/* The batch must not keep large texts in memory. */
		assert_true(inv_batch_size(b) < LARGE / 2);
	}
	assert_int_equal(inv_database_finish(&w->db, &w->err), 0);
	check(w);
	inv_database_close(&w->db);
	inv_cast_release(&w->cast);
	free(w);
}

/* SQLite would store NULL in place of a text that is too long. */
static void a_text_that_is_too_long_is_refused(void **state)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	struct world *w = calloc(1, sizeof(*w));

	(void)state;
	assert_non_null(w);
	assert_int_equal(inv_database_create(&w->db, NULL, &w->err), 0);
	cells[INV_REQUESTS_LABEL].kind = INV_CELL_TEXT;
	cells[INV_REQUESTS_LABEL].text.p = w->text;
	cells[INV_REQUESTS_LABEL].text.n = INV_BATCH_TEXT_MAX + 1;
	assert_int_equal(w->db.writer.put(&w->db.writer, &w->cast,
					  INV_TABLE_REQUESTS, cells),
			 INV_ETOOBIG);
	assert_non_null(strstr(w->db.inserts.err.text, "--print-depth"));
	inv_database_close(&w->db);
	inv_cast_release(&w->cast);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_their_texts),
		cmocka_unit_test(a_text_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests_name("insert", tests, NULL, NULL);
}
