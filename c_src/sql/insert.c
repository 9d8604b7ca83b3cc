/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/insert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "sql/failure.h"

/* --- statements ----------------------------------------------------------- */

/* Prepares a statement that inserts rows into a table with n columns. */
static int prepare(struct inv_inserts *s, const char *table, unsigned n,
		   unsigned rows, sqlite3_stmt **stmt, struct inv_err *err)
{
	struct inv_buf sql = { 0 };
	int rc;

	inv_buf_printf(&sql, "INSERT INTO %s VALUES", table);
	for (unsigned row = 0; row < rows; row++) {
		inv_buf_puts(&sql, row ? ",(" : "(");
		for (unsigned i = 0; i < n; i++)
			inv_buf_puts(&sql, i ? ",?" : "?");
		inv_buf_putc(&sql, ')');
	}
	inv_buf_putc(&sql, 0);
	if (sql.error)
		rc = inv_err_set(err, INV_ENOMEM, "no memory");
	else if (sqlite3_prepare_v3(s->db, (const char *)sql.data, -1,
				    SQLITE_PREPARE_PERSISTENT, stmt,
				    NULL) == SQLITE_OK)
		rc = 0;
	else
		rc = inv_sql_failed(s->db, err, table);
	inv_buf_release(&sql);
	return rc;
}

int inv_inserts_prepare(struct inv_inserts *s, sqlite3 *db, struct inv_err *err)
{
	int rc;

	s->db = db;
	rc = prepare(s, "_process", 4, 1, &s->process, err);
	if (!rc)
		rc = prepare(s, "_function", 5, 1, &s->function, err);
	for (unsigned i = 0; !rc && i < INV_TABLE_COUNT; i++) {
		struct inv_table_insert *t = &s->tables[i];
		unsigned n = inv_tables[i].n;
		char name[INV_COLUMN_NAME_MAX];

		snprintf(name, sizeof(name), "_%s", inv_tables[i].name);
		rc = prepare(s, name, n, 1, &t->one, err);
		if (!rc)
			rc = prepare(s, name, n, INV_INSERT_ROWS, &t->many,
				     err);
	}
	return rc;
}

void inv_inserts_release(struct inv_inserts *s)
{
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++) {
		sqlite3_finalize(s->tables[i].one);
		sqlite3_finalize(s->tables[i].many);
		s->tables[i].one = s->tables[i].many = NULL;
		inv_batch_release(&s->tables[i].batch);
	}
	sqlite3_finalize(s->process);
	sqlite3_finalize(s->function);
	s->process = s->function = NULL;
	inv_buf_release(&s->text);
}

/* Binds a text. Bytes that are not UTF-8, which damaged logs can have, become
 * U+FFFD. */
static void bind_text(struct inv_inserts *s, sqlite3_stmt *stmt, int i,
		      const uint8_t *p, size_t n)
{
	if (inv_utf8_valid(p, n)) {
		/* The pointer of an empty text may be NULL. */
		sqlite3_bind_text64(stmt, i, n ? (const char *)p : "", n,
				    SQLITE_STATIC, SQLITE_UTF8);
		return;
	}
	inv_buf_reset(&s->text);
	inv_utf8_repair(p, n, &s->text);
	if (s->text.error)
		inv_err_set(&s->err, INV_ENOMEM, "no memory");
	sqlite3_bind_text64(stmt, i, (const char *)s->text.data, s->text.len,
			    SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void bind_word(struct inv_inserts *s, sqlite3_stmt *stmt, int i,
		      const struct inv_words *words, uint32_t word)
{
	size_t n;
	const uint8_t *p;

	if (!word) {
		sqlite3_bind_null(stmt, i);
		return;
	}
	p = inv_words_text(words, word, &n);
	bind_text(s, stmt, i, p, n);
}

static int step(struct inv_inserts *s, sqlite3_stmt *stmt)
{
	int rc;

	if (s->err.code) /* a parameter could not be bound */
		return s->err.code;
	errno = 0;
	rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? 0 : inv_sql_failed(s->db, &s->err, "write");
}

/* --- processes and functions ---------------------------------------------- */

/* Writes the processes and functions that are new. */
static int put_cast(struct inv_inserts *s, const struct inv_cast *cast)
{
	int rc = 0;

	for (; !rc && s->n_processes < cast->n; s->n_processes++) {
		const struct inv_row_process *w = &cast->v[s->n_processes];
		struct inv_buf pid = { 0 };

		inv_row_process_pid(w, &pid);
		sqlite3_bind_int64(s->process, 1, s->n_processes + 1);
		bind_word(s, s->process, 2, &cast->words, w->node);
		if (pid.len)
			bind_text(s, s->process, 3, pid.data, pid.len);
		else
			sqlite3_bind_null(s->process, 3);
		bind_word(s, s->process, 4, &cast->words, w->name);
		rc = step(s, s->process);
		inv_buf_release(&pid);
	}
	for (; !rc && s->n_functions < cast->n_functions; s->n_functions++) {
		const struct inv_row_function *w =
			&cast->functions[s->n_functions];

		sqlite3_bind_int64(s->function, 1, s->n_functions + 1);
		bind_word(s, s->function, 2, &cast->words, w->module);
		bind_word(s, s->function, 3, &cast->words, w->function);
		sqlite3_bind_int64(s->function, 4, w->arity);
		bind_word(s, s->function, 5, &cast->words, w->mfa);
		rc = step(s, s->function);
	}
	return rc;
}

/* --- rows ----------------------------------------------------------------- */

static bool is_call(struct inv_inserts *s, const struct inv_batch_cell *tag)
{
	const uint8_t *text;
	size_t n;

	if (tag->kind != INV_CELL_WORD)
		return false;
	if (s->call)
		return tag->number == s->call;
	text = inv_words_text(&s->cast->words, tag->number, &n);
	if (n != 4 || memcmp(text, "call", 4) != 0)
		return false;
	s->call = tag->number;
	return true;
}

static void bind_cell(struct inv_inserts *s, sqlite3_stmt *stmt, int at,
		      const struct inv_batch *b, const struct inv_batch_cell *c)
{
	switch (c->kind) {
	case INV_CELL_INT:
		sqlite3_bind_int64(stmt, at, c->i);
		return;
	case INV_CELL_WORD:
		bind_word(s, stmt, at, &s->cast->words, c->number);
		return;
	case INV_CELL_TEXT:
		bind_text(s, stmt, at, inv_batch_text(b, c), c->len);
		return;
	default:
		sqlite3_bind_int64(stmt, at, c->number);
	}
}

/* Binds a row of the batch to the parameters from `at' on. Bit i of *bound is
 * set if the parameter at + i is not NULL. */
static void bind_row(struct inv_inserts *s, enum inv_table_id table,
		     unsigned row, sqlite3_stmt *stmt, int at, uint32_t *bound)
{
	const struct inv_batch *b = &s->tables[table].batch;
	const struct inv_batch_cell *cells = inv_batch_cell(b, row, 0);
	/* The table of calls has the arguments, so the row of the event has no
	 * arguments. */
	bool call = table == INV_TABLE_EVENTS &&
		    is_call(s, &cells[INV_EVENTS_TAG]);

	for (unsigned i = 0; i < b->width; i++) {
		uint32_t bit = 1u << i;

		if (cells[i].kind != INV_CELL_NULL &&
		    !(call && i == INV_EVENTS_PAYLOAD)) {
			bind_cell(s, stmt, at + (int)i, b, &cells[i]);
			*bound |= bit;
		} else if (*bound & bit) {
			/* Binds NULL only if the parameter still has a value
			 * from an earlier row. Most cells are NULL in all rows,
			 * so most parameters are NULL already. */
			sqlite3_bind_null(stmt, at + (int)i);
			*bound &= ~bit;
		}
	}
}

static int write_many(struct inv_inserts *s, enum inv_table_id table)
{
	struct inv_table_insert *t = &s->tables[table];
	int rc;

	for (unsigned row = 0; row < INV_INSERT_ROWS; row++)
		bind_row(s, table, row, t->many,
			 (int)(row * t->batch.width) + 1, &t->bound[row]);
	rc = step(s, t->many);
	inv_batch_reset(&t->batch);
	return rc;
}

/* Writes the rows of a batch that has fewer than INV_INSERT_ROWS rows. */
static int write_few(struct inv_inserts *s, enum inv_table_id table)
{
	struct inv_table_insert *t = &s->tables[table];
	int rc = 0;

	for (unsigned row = 0; !rc && row < t->batch.n; row++) {
		bind_row(s, table, row, t->one, 1, &t->bound[INV_INSERT_ROWS]);
		rc = step(s, t->one);
	}
	inv_batch_reset(&t->batch);
	return rc;
}

int inv_inserts_put(struct inv_inserts *s, const struct inv_cast *cast,
		    enum inv_table_id table, const struct inv_cell *cells)
{
	struct inv_batch *b = &s->tables[table].batch;

	s->cast = cast;
	if (put_cast(s, cast))
		return s->err.code;
	if (inv_batch_add(b, &inv_tables[table], cells, &s->err))
		return s->err.code;
	if (b->n == INV_INSERT_ROWS)
		return write_many(s, table);
	return inv_batch_is_full(b) ? write_few(s, table) : 0;
}

int inv_inserts_finish(struct inv_inserts *s, struct inv_err *err)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < INV_TABLE_COUNT; i++)
		rc = write_few(s, i);
	if (rc)
		*err = s->err;
	return rc;
}
