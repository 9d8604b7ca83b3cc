/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sql/views.h"

/* A database that is not complete is removed. So SQLite need not synchronize
 * the file, or be able to roll anything back. */
static const char settings[] = "PRAGMA page_size = 8192;"
			       "PRAGMA journal_mode = OFF;"
			       "PRAGMA synchronous = OFF;"
			       "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA cache_size = -65536;"
			       "PRAGMA temp_store = FILE;";

static const char indexes[] =
	"CREATE INDEX _events_by_process ON _events(process);"
	"CREATE INDEX _calls_by_function ON _calls(function, duration_ns);"
	"CREATE INDEX _calls_by_duration ON _calls(duration_ns);"
	"CREATE INDEX _calls_failed ON _calls(id) WHERE failed;"
	"CREATE INDEX _messages_by_wait ON _messages(wait_ns);"
	"CREATE INDEX _process_by_name ON _process(name);"
	"CREATE INDEX _function_by_mfa ON _function(mfa);";

static int failed(struct inv_database *d, struct inv_err *err, const char *what)
{
	int sys = errno;

	/* SQLite's own text is only "disk I/O error". */
	if (sys && (sqlite3_errcode(d->db) & 0xff) == SQLITE_IOERR)
		return inv_err_sys(err, sys, "%s", what);
	return inv_err_set(err, INV_EIO, "%s: %s", what, sqlite3_errmsg(d->db));
}

static int run(struct inv_database *d, const char *sql, const char *what,
	       struct inv_err *err)
{
	errno = 0;
	if (sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return failed(d, err, what);
}

/* --- tables and views ----------------------------------------------------- */

static void create_table(struct inv_buf *b, const struct inv_table *t)
{
	inv_buf_printf(b, "CREATE TABLE _%s(", t->name);
	for (unsigned i = 0; i < t->n; i++) {
		const struct inv_column *c = &t->columns[i];
		bool text = c->kind == INV_COLUMN_TEXT ||
			    c->kind == INV_COLUMN_WORD;

		if (c->kind == INV_COLUMN_PROCESS)
			inv_buf_printf(b, "%s%sprocess INTEGER", i ? "," : "",
				       c->name);
		else
			inv_buf_printf(b, "%s%s %s%s", i ? "," : "", c->name,
				       text ? "TEXT" : "INTEGER",
				       strcmp(c->name, "id") ? "" :
							       " PRIMARY KEY");
	}
	inv_buf_puts(b, ");");
}

/* The arguments of a call are stored in its row of _calls only, because each event
 * `call' has such a row. */
static bool is_shared(const struct inv_table *t, unsigned column)
{
	return t == &inv_tables[INV_TABLE_EVENTS] &&
	       column == INV_EVENTS_PAYLOAD;
}

static void create_view(struct inv_buf *b, const struct inv_table *t)
{
	char name[INV_COLUMN_NAME_MAX];

	inv_buf_printf(b, "CREATE VIEW %s AS SELECT ", t->name);
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned part = 0; part < inv_column_parts(&t->columns[i]);
		     part++) {
			const struct inv_column *c = &t->columns[i];

			inv_column_name(c, part, name);
			inv_buf_puts(b, i || part ? ", " : "");
			if (c->kind == INV_COLUMN_PROCESS)
				inv_buf_printf(b, "w%u.%s AS %s", i,
					       name + strlen(c->name), name);
			else if (is_shared(t, i))
				inv_buf_puts(b, "coalesce(t.payload, c.args) "
						"AS payload");
			else if (c->kind == INV_COLUMN_FUNCTION)
				inv_buf_printf(b, "f.%s", name);
			else
				inv_buf_printf(b, "t.%s", name);
		}
	inv_buf_printf(b, " FROM _%s t", t->name);
	if (t == &inv_tables[INV_TABLE_EVENTS])
		inv_buf_puts(b, " LEFT JOIN _calls c ON c.id = t.id");
	for (unsigned i = 0; i < t->n; i++) {
		const struct inv_column *c = &t->columns[i];

		if (c->kind == INV_COLUMN_PROCESS)
			inv_buf_printf(b,
				       " LEFT JOIN _process w%u ON w%u.id = "
				       "t.%sprocess",
				       i, i, c->name);
		else if (c->kind == INV_COLUMN_FUNCTION)
			inv_buf_puts(b, " LEFT JOIN _function f ON f.id = "
					"t.function");
	}
	inv_buf_puts(b, ";");
}

static int create_all(struct inv_database *d, struct inv_err *err)
{
	struct inv_buf b = { 0 };
	int rc;

	inv_buf_printf(&b,
		       "PRAGMA application_id = %d; PRAGMA user_version = "
		       "%d; BEGIN;",
		       INV_DATABASE_ID, INV_SCHEMA_VERSION);
	inv_buf_puts(&b,
		     "CREATE TABLE _process(id INTEGER PRIMARY KEY, node TEXT, "
		     "pid TEXT, name TEXT);"
		     "CREATE TABLE _function(id INTEGER PRIMARY KEY, "
		     "module TEXT, function TEXT, arity INTEGER, "
		     "mfa TEXT);"
		     "CREATE TABLE questions(view TEXT, answers TEXT);");
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++) {
		create_table(&b, &inv_tables[i]);
		create_view(&b, &inv_tables[i]);
	}
	inv_buf_putc(&b, 0);
	rc = b.error ? inv_err_set(err, INV_ENOMEM, "no memory") :
		       run(d, (const char *)b.data, "create the tables", err);
	inv_buf_release(&b);
	return rc;
}

static int create_questions(struct inv_database *d, struct inv_err *err)
{
	int rc = 0;

	for (const struct inv_view_def *v = inv_view_defs; !rc && v->name;
	     v++) {
		char *sql = sqlite3_mprintf(
			"CREATE VIEW %s AS %s;"
			"INSERT INTO questions VALUES(%Q, %Q);",
			v->name, v->select, v->name, v->answers);

		rc = sql ? run(d, sql, v->name, err) :
			   inv_err_set(err, INV_ENOMEM, "no memory");
		sqlite3_free(sql);
	}
	return rc;
}

/* --- rows ----------------------------------------------------------------- */

static int prepare(struct inv_database *d, const char *table, unsigned n,
		   sqlite3_stmt **stmt, struct inv_err *err)
{
	char sql[160];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(",
				     table);

	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s",
				       i ? ",?" : "?");
	snprintf(sql + at, sizeof(sql) - at, ")");
	if (sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt,
			       NULL) == SQLITE_OK)
		return 0;
	return failed(d, err, sql);
}

static int prepare_all(struct inv_database *d, struct inv_err *err)
{
	int rc = prepare(d, "_process", 4, &d->insert_process, err);

	if (!rc)
		rc = prepare(d, "_function", 5, &d->insert_function, err);
	for (unsigned i = 0; !rc && i < INV_TABLE_COUNT; i++) {
		char name[INV_COLUMN_NAME_MAX];

		snprintf(name, sizeof(name), "_%s", inv_tables[i].name);
		rc = prepare(d, name, inv_tables[i].n, &d->insert[i], err);
	}
	return rc;
}

/* Binds a text. Bytes that are not UTF-8, which damaged logs can have, become
 * U+FFFD. */
static void bind_text(struct inv_database *d, sqlite3_stmt *s, int i,
		      const uint8_t *p, size_t n)
{
	if (inv_utf8_valid(p, n)) {
		/* The pointer of an empty text may be NULL. */
		sqlite3_bind_text64(s, i, n ? (const char *)p : "", n,
				    SQLITE_STATIC, SQLITE_UTF8);
		return;
	}
	inv_buf_reset(&d->text);
	inv_utf8_repair(p, n, &d->text);
	sqlite3_bind_text64(s, i, (const char *)d->text.data, d->text.len,
			    SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void bind_word(struct inv_database *d, sqlite3_stmt *s, int i,
		      const struct inv_words *words, uint32_t word)
{
	size_t n;
	const uint8_t *p;

	if (!word) {
		sqlite3_bind_null(s, i);
		return;
	}
	p = inv_words_text(words, word, &n);
	bind_text(d, s, i, p, n);
}

static int step(struct inv_database *d, sqlite3_stmt *s)
{
	int rc;

	errno = 0;
	rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : failed(d, &d->err, "write");
}

/* Writes the processes and functions that are new. */
static int put_cast(struct inv_database *d, const struct inv_cast *cast)
{
	int rc = 0;

	for (; !rc && d->n_processes < cast->n; d->n_processes++) {
		const struct inv_row_process *w = &cast->v[d->n_processes];
		struct inv_buf pid = { 0 };

		inv_row_process_pid(w, &pid);
		sqlite3_bind_int64(d->insert_process, 1, d->n_processes + 1);
		bind_word(d, d->insert_process, 2, &cast->words, w->node);
		if (pid.len)
			bind_text(d, d->insert_process, 3, pid.data, pid.len);
		else
			sqlite3_bind_null(d->insert_process, 3);
		bind_word(d, d->insert_process, 4, &cast->words, w->name);
		rc = step(d, d->insert_process);
		inv_buf_release(&pid);
	}
	for (; !rc && d->n_functions < cast->n_functions; d->n_functions++) {
		const struct inv_row_function *w =
			&cast->functions[d->n_functions];

		sqlite3_bind_int64(d->insert_function, 1, d->n_functions + 1);
		bind_word(d, d->insert_function, 2, &cast->words, w->module);
		bind_word(d, d->insert_function, 3, &cast->words, w->function);
		sqlite3_bind_int64(d->insert_function, 4, w->arity);
		bind_word(d, d->insert_function, 5, &cast->words, w->mfa);
		rc = step(d, d->insert_function);
	}
	return rc;
}

static bool is_call(struct inv_database *d, const struct inv_cast *cast,
		    const struct inv_cell *cells)
{
	uint32_t tag = cells[INV_EVENTS_TAG].kind == INV_CELL_WORD ?
			       cells[INV_EVENTS_TAG].number :
			       0;
	const uint8_t *text;
	size_t n;

	if (!tag || d->call)
		return tag && tag == d->call;
	text = inv_words_text(&cast->words, tag, &n);
	if (n != 4 || memcmp(text, "call", 4) != 0)
		return false;
	d->call = tag;
	return true;
}

static int put(struct inv_row_writer *w, const struct inv_cast *cast,
	       enum inv_table_id table, const struct inv_cell *cells)
{
	struct inv_database *d = (struct inv_database *)w;
	sqlite3_stmt *s = d->insert[table];
	bool shared;

	if (put_cast(d, cast))
		return d->err.code;
	shared = table == INV_TABLE_EVENTS && is_call(d, cast, cells);
	for (unsigned i = 0; i < inv_tables[table].n; i++) {
		const struct inv_cell *c = &cells[i];
		int at = (int)i + 1;

		switch (shared && i == INV_EVENTS_PAYLOAD ? INV_CELL_NULL :
							    c->kind) {
		case INV_CELL_NULL:
			/* Most cells are NULL in all rows. */
			if (d->bound[table] & 1u << i)
				sqlite3_bind_null(s, at);
			d->bound[table] &= ~(1u << i);
			continue;
		case INV_CELL_INT:
			sqlite3_bind_int64(s, at, c->i);
			break;
		case INV_CELL_WORD:
			bind_word(d, s, at, &cast->words, c->number);
			break;
		case INV_CELL_TEXT:
			bind_text(d, s, at, c->text.p, c->text.n);
			break;
		default:
			sqlite3_bind_int64(s, at, c->number);
			break;
		}
		d->bound[table] |= 1u << i;
	}
	return step(d, s);
}

/* --- the database --------------------------------------------------------- */

int inv_database_create(struct inv_database *d, const char *path,
			struct inv_err *err)
{
	int rc;

	d->writer.put = put;
	if (sqlite3_open_v2(path ? path : "", &d->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return failed(d, err, path ? path : "temporary database");
	rc = run(d, settings, "prepare the database", err);
	if (!rc)
		rc = create_all(d, err);
	if (!rc)
		rc = prepare_all(d, err);
	return rc;
}

static void finalize(struct inv_database *d)
{
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++) {
		sqlite3_finalize(d->insert[i]);
		d->insert[i] = NULL;
	}
	sqlite3_finalize(d->insert_process);
	sqlite3_finalize(d->insert_function);
	d->insert_process = d->insert_function = NULL;
}

int inv_database_finish(struct inv_database *d, struct inv_err *err)
{
	int rc;

	finalize(d);
	rc = run(d, indexes, "write the indexes", err);
	if (!rc)
		rc = create_questions(d, err);
	/* The planner needs the statistics to begin a join with the right
	 * table. */
	if (!rc)
		rc = run(d, "PRAGMA analysis_limit = 1000; ANALYZE; COMMIT;",
			 "write the database", err);
	return rc;
}

void inv_database_close(struct inv_database *d)
{
	finalize(d);
	sqlite3_close(d->db);
	d->db = NULL;
	inv_buf_release(&d->text);
}
