/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/database.h"

#include <errno.h>
#include <string.h>

#include "sql/failure.h"
#include "sql/views.h"

/* An incomplete database is removed. So SQLite need not synchronize the file,
 * and need not be able to roll back. */
static const char settings[] = "PRAGMA page_size = 8192;"
			       "PRAGMA journal_mode = OFF;"
			       "PRAGMA synchronous = OFF;"
			       "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA cache_size = -65536;"
			       "PRAGMA temp_store = FILE;";

static const char indexes[] =
	"CREATE INDEX _events_by_process ON _events(process);"
	"CREATE INDEX _calls_by_function ON _calls(function);"
	"CREATE INDEX _calls_by_duration ON _calls(duration_ns);"
	"CREATE INDEX _calls_failed ON _calls(id) WHERE failed;"
	"CREATE INDEX _messages_by_wait ON _messages(wait_ns);"
	"CREATE INDEX _process_by_name ON _process(name);"
	"CREATE INDEX _function_by_mfa ON _function(mfa);";

static int run(struct inv_database *d, const char *sql, const char *what,
	       struct inv_err *err)
{
	errno = 0;
	if (sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return inv_sql_failed(d->db, err, what);
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

/* Returns true if another table has the column's values for some rows: each
 * event `call' has a row in _calls, and only that row has the arguments of the
 * call. */
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

static int put(struct inv_row_writer *w, const struct inv_cast *cast,
	       enum inv_table_id table, const struct inv_cell *cells)
{
	return inv_inserts_put(&((struct inv_database *)w)->inserts, cast,
			       table, cells);
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
		return inv_sql_failed(d->db, err,
				      path ? path : "temporary database");
	rc = run(d, settings, "prepare the database", err);
	if (!rc)
		rc = create_all(d, err);
	if (!rc)
		rc = inv_inserts_prepare(&d->inserts, d->db, err);
	return rc;
}

int inv_database_finish(struct inv_database *d, struct inv_err *err)
{
	int rc = inv_inserts_finish(&d->inserts, err);

	inv_inserts_release(&d->inserts);
	if (!rc)
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
	inv_inserts_release(&d->inserts);
	sqlite3_close(d->db);
	d->db = NULL;
}
