/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/sqlite.h"

#include "sql/database.h"

struct sqlite_sink {
	struct inv_sink sink;
	struct inv_rows rows;
	struct inv_database db;
};

static int sqlite_init(struct inv_sink *s)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;

	inv_sink_for_people(s);
	return inv_rows_init(&x->rows, &x->db.writer, s->cursor, &s->print);
}

static int sqlite_open(struct inv_sink *s, const char *path,
		       struct inv_err *err)
{
	return inv_database_create(&((struct sqlite_sink *)s)->db, path, err);
}

static void check(struct sqlite_sink *x)
{
	if (!x->rows.rc || x->sink.err.code)
		return;
	if (x->db.inserts.err.code)
		x->sink.err = x->db.inserts.err;
	else
		inv_err_set(&x->sink.err, x->rows.rc, "no memory");
}

static int sqlite_event(struct inv_sink *s, const struct inv_item *it)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;
	int rc;

	inv_sink_manner(s, it);
	rc = inv_rows_event(&x->rows, it);
	check(x);
	return rc;
}

static void sqlite_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;

	inv_rows_loss(&x->rows, it);
	check(x);
}

static void sqlite_counts(struct inv_sink *s, const struct inv_tallies *t)
{
	inv_rows_counts(&((struct sqlite_sink *)s)->rows, t);
}

static void sqlite_end(struct inv_sink *s)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;

	inv_rows_end(&x->rows);
	s->incomplete = x->rows.forgotten;
	check(x);
}

static int sqlite_close(struct inv_sink *s, struct inv_err *err)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;
	int rc = inv_database_finish(&x->db, err);

	if (!rc && s->opts.into) {
		*s->opts.into = x->db.db;
		x->db.db = NULL;
	}
	inv_database_close(&x->db);
	return rc;
}

static void sqlite_release(struct inv_sink *s)
{
	struct sqlite_sink *x = (struct sqlite_sink *)s;

	inv_rows_release(&x->rows);
	inv_database_close(&x->db);
}

const struct inv_sink_ops inv_sink_sqlite = {
	.name = "sqlite",
	.help = "an SQLite database, with views that answer questions",
	.size = sizeof(struct sqlite_sink),
	.calls = true,
	.init = sqlite_init,
	.event = sqlite_event,
	.loss = sqlite_loss,
	.end = sqlite_end,
	.counts = sqlite_counts,
	.release = sqlite_release,
	.open = sqlite_open,
	.close = sqlite_close,
};
