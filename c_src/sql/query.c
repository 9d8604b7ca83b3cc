/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sql/database.h"

#define CHUNK ((size_t)64 * 1024)
/* SQLite calls the progress function each time after this many instructions. */
#define STEPS 100000

bool inv_query_is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	if (fread(head, 1, sizeof(head), f) != sizeof(head))
		head[0] = 0;
	fclose(f);
	return !memcmp(head, magic, sizeof(magic));
}

static int number(sqlite3 *db, const char *pragma, int64_t *n)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, pragma, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc == SQLITE_ROW ? 0 : -1;
}

int inv_query_open(sqlite3 **db, const char *path, struct inv_err *err)
{
	int64_t id = 0, version = 0;

	*db = NULL;
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) !=
		    SQLITE_OK ||
	    number(*db, "PRAGMA application_id", &id) ||
	    number(*db, "PRAGMA user_version", &version))
		return inv_err_set(err, INV_EIO, "%s: %s", path,
				   sqlite3_errmsg(*db));
	if (id != INV_DATABASE_ID)
		return inv_err_set(err, INV_EFORMAT,
				   "%s: is a database of another program; "
				   "`inviso merge LOG... --format sqlite -o "
				   "FILE' makes one of logs",
				   path);
	if (version > INV_SCHEMA_VERSION)
		return inv_err_set(err, INV_EVERSION,
				   "%s: has version %" PRId64
				   " of the tables, and this inviso knows only "
				   "%d",
				   path, version, INV_SCHEMA_VERSION);
	return 0;
}

/*
 * Refuses statements that reach other files, or change settings. inv_query_run
 * refuses statements that change the database. This function cannot do that,
 * because it would also refuse functions that only read, such as
 * pragma_table_info: SQLite declares a table for them, and reports this as a
 * change of sqlite_master.
 */
static int authorize(void *arg, int action, const char *a, const char *b,
		     const char *c, const char *d)
{
	(void)arg;
	(void)c;
	(void)d;
	switch (action) {
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return SQLITE_DENY;
	case SQLITE_FUNCTION:
		return strcmp(b, "load_extension") ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		/* Allows pragmas that only read: all pragmas without an
		 * argument, and some with an argument, such as
		 * table_info(calls). Other pragmas with an argument set an
		 * option. */
		return !b || strstr(a, "_info") || strstr(a, "_list") ||
				       strstr(a, "_xinfo") ?
			       SQLITE_OK :
			       SQLITE_DENY;
	default:
		return SQLITE_OK;
	}
}

void inv_query_protect(sqlite3 *db)
{
	sqlite3_exec(db, "PRAGMA query_only = 1; PRAGMA trusted_schema = 0",
		     NULL, NULL, NULL);
	sqlite3_set_authorizer(db, authorize, NULL);
}

/* --- running -------------------------------------------------------------- */

struct run {
	struct inv_query *q;
	int64_t end_ms;
	bool late;
	bool broken; /* the reader has closed the pipe */
};

static int in_time(void *arg)
{
	struct run *run = arg;

	run->late = inv_mono_ms() >= run->end_ms;
	return run->late;
}

static int write_out(struct run *run, struct inv_buf *b, struct inv_err *err)
{
	size_t off = 0;

	if (b->error)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	while (off < b->len && !run->broken) {
		ssize_t n = write(STDOUT_FILENO, b->data + off, b->len - off);

		if (n >= 0)
			off += (size_t)n;
		else if (errno == EPIPE)
			run->broken = true;
		else if (errno != EINTR)
			return inv_err_sys(err, errno, "write the output");
	}
	inv_buf_reset(b);
	return 0;
}

static int fail(struct run *run, sqlite3 *db, int code, struct inv_err *err)
{
	const char *text = sqlite3_errmsg(db);

	if (run->late)
		return inv_err_set(err, INV_ETIME,
				   "the query was ended after %" PRIu32
				   " s; --timeout=SECONDS allows more",
				   run->q->seconds);
	if (!strncmp(text, "no such table", 13))
		return inv_err_set(err, code,
				   "%s; without a query, `inviso sql' lists "
				   "the tables and views",
				   text);
	if (!strncmp(text, "no such column", 14))
		return inv_err_set(
			err, code,
			"%s; inviso-tables(5) lists the columns, and "
			"texts have single quotes: 'text'",
			text);
	if (sqlite3_errcode(db) == SQLITE_AUTH ||
	    sqlite3_errcode(db) == SQLITE_READONLY)
		return inv_err_set(err, INV_EINVAL,
				   "%s: only queries are allowed, which change "
				   "nothing",
				   text);
	return inv_err_set(err, code, "%s", text);
}

static int step_all(struct run *run, sqlite3 *db, sqlite3_stmt *s,
		    struct inv_result *r, struct inv_err *err)
{
	struct inv_query *q = run->q;
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW && !run->broken) {
		if (q->limit && q->rows == q->limit) {
			q->more = true;
			break;
		}
		q->rows++;
		inv_result_row(r, s);
		if (r->out.len > CHUNK && write_out(run, &r->out, err))
			return err->code;
	}
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		return fail(run, db, INV_EINVAL, err);
	inv_result_end(r);
	return write_out(run, &r->out, err);
}

/* Returns true if the text after the query has more than white space, comments
 * and semicolons. */
static bool is_more(sqlite3 *db, const char *rest)
{
	sqlite3_stmt *s = NULL;
	bool more = sqlite3_prepare_v2(db, rest, -1, &s, NULL) != SQLITE_OK ||
		    s;

	sqlite3_finalize(s);
	return more;
}

int inv_query_run(struct inv_query *q, sqlite3 *db, struct inv_err *err)
{
	struct run run = { .q = q };
	struct inv_result r = { .form = q->form, .width = q->width };
	sqlite3_stmt *s = NULL;
	const char *rest = NULL;
	int rc;

	if (q->seconds) {
		run.end_ms = inv_mono_ms() + (int64_t)q->seconds * 1000;
		sqlite3_progress_handler(db, STEPS, in_time, &run);
	}
	if (sqlite3_prepare_v2(db, q->sql, -1, &s, &rest) != SQLITE_OK)
		rc = fail(&run, db, INV_EINVAL, err);
	else if (!s)
		rc = inv_err_set(err, INV_EINVAL, "the query is empty");
	else if (is_more(db, rest))
		rc = inv_err_set(err, INV_EINVAL,
				 "only one query is allowed, but `%s' follows",
				 rest);
	else if (!sqlite3_stmt_readonly(s))
		rc = inv_err_set(err, INV_EINVAL,
				 "only queries are allowed, which change "
				 "nothing");
	else if (inv_result_begin(&r, s))
		rc = inv_err_set(err, INV_ENOMEM, "no memory");
	else
		rc = step_all(&run, db, s, &r, err);
	inv_result_release(&r);
	sqlite3_finalize(s);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	return rc;
}
