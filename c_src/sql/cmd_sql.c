/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/cmd_sql.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/filter_opts.h"
#include "cli/merge_run.h"
#include "cli/screen.h"
#include "cli/units.h"
#include "sql/query.h"
#include "sql/sqlite.h"
#include "sql/views.h"
#include "table/schema.h"

/* The default limit of rows on a terminal. */
#define TERMINAL_ROWS 1000u

enum {
	OPT_CSV = 256,
	OPT_TABLE,
	OPT_LIMIT,
	OPT_TIMEOUT,
	OPT_UTC,
};

struct sql {
	struct inv_merge_opts merge; /* options for reading the LOGs */
	struct inv_query query;
	bool has_form, has_limit;
	bool is_database; /* the user named one file, which is a database */
	char *view_query; /* memory of query.sql, if the user names a view
			     instead of a query */
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print each row as a JSON object on a line",
	  0 },
	{ "csv", OPT_CSV, NULL, 0,
	  "print CSV with a head; default if the output is not a terminal", 0 },
	{ "table", OPT_TABLE, NULL, 0,
	  "print a table for people; default on a terminal", 0 },
	{ "limit", OPT_LIMIT, "ROWS", 0,
	  "print at most ROWS rows; 0 prints all. The default is 1000 on a "
	  "terminal, otherwise 0",
	  0 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "end the query after SECONDS; the default is no limit", 0 },
	{ "utc", OPT_UTC, NULL, 0, "the times of --from and --to are UTC", 0 },
	{ "quiet", 'q', NULL, 0,
	  "print nothing about damage and progress of reading LOGs", 0 },
	{ 0 },
};

static const char doc[] =
	"Answers questions about recorded events in SQL."
	"\v"
	"LOG is as for inviso merge: a log, or a directory with logs. F.db is a "
	"database that `inviso merge LOG... --format sqlite -o F.db' has made, "
	"for many questions about the same logs; it is only read. QUERY is a "
	"query of SQLite, or the name of a view. Without QUERY the tables, and "
	"the views and what they answer, are listed. inviso-tables(5) describes "
	"the columns.\n"
	"\n"
	"Examples:\n"
	"  inviso sql box/\n"
	"  inviso sql box/ slowest_calls --limit 10\n"
	"  inviso sql box/ 'SELECT mfa, count(*) FROM calls GROUP BY mfa'\n"
	"  inviso merge box/ --format sqlite -o box.db\n"
	"  inviso sql box.db busiest_mailboxes\n"
	"  inviso sql --csv box.db 'SELECT * FROM failures' >failures.csv\n"
	"  inviso sql --json --mfa shop:order a.log time_by_function\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 5 the options select no event, "
	"7 done, but events were lost.";

/* Returns true if the argument is a query and not the name of a file. */
static bool is_query(const char *arg)
{
	static const char *const words[] = { "select", "with", "values",
					     "pragma", "explain" };

	if (!access(arg, F_OK))
		return false;
	arg += strspn(arg, " \t\r\n(");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if (!strncasecmp(arg, words[i], n) &&
		    strchr(" \t\r\n(*'\"", arg[n]))
			return true;
	}
	return false;
}

/* Returns true if the argument is the name of a table or view. */
static bool is_view(const char *arg)
{
	for (const struct inv_view_def *v = inv_view_defs; v->name; v++)
		if (!strcmp(v->name, arg))
			return true;
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++)
		if (!strcmp(inv_tables[i].name, arg))
			return true;
	return false;
}

static void set_form(struct sql *q, enum inv_result_form form)
{
	q->query.form = form;
	q->has_form = true;
}

static void add_arg(struct sql *q, char *arg, const struct argp_state *state)
{
	bool view = access(arg, F_OK) && is_view(arg);

	if (!view && !is_query(arg)) {
		q->merge.files[q->merge.n_files++] = arg;
		return;
	}
	if (q->query.sql)
		argp_error(state, "there are two queries: %s, and %s",
			   q->query.sql, arg);
	if (!view) {
		q->query.sql = arg;
		return;
	}
	if (asprintf(&q->view_query, "SELECT * FROM %s", arg) < 0) {
		q->view_query = NULL;
		argp_failure(state, INV_EXIT_FAILED, 0, "no memory");
	}
	q->query.sql = q->view_query;
}

static void set_number(const struct argp_state *state, const char *option,
		       const char *arg, uint64_t most, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || *n > most)
		argp_error(state, "%s %s: not a number up to %" PRIu64, option,
			   arg, most);
}

static void check(struct sql *q, const struct argp_state *state)
{
	struct inv_merge_opts *m = &q->merge;

	if (!m->n_files)
		argp_error(state, q->query.sql ?
					  "no LOG and no database is named" :
					  "no LOG and no database is named; "
					  "try `inviso sql --help'");
	inv_merge_opts_end(m, state);
	for (int i = 0; m->n_files > 1 && i < m->n_files; i++)
		if (inv_query_is_database(m->files[i]))
			argp_error(state,
				   "%s: is a database, which is asked alone",
				   m->files[i]);
	q->is_database = m->n_files == 1 && inv_query_is_database(m->files[0]);
	if (q->is_database && (m->wanted.filter.active || m->wanted.spec ||
			       m->wanted.has_from || m->wanted.has_until))
		argp_error(state, "options that select events are for LOGs; in "
				  "a query, use WHERE");
	if (q->is_database && m->wanted.records.first)
		argp_error(state, "--records is for LOGs; a database has the "
				  "terms as `inviso merge --records' printed "
				  "them");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct sql *q = state->input;
	uint64_t n;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &q->merge.wanted;
		return 0;
	case 'j':
		set_form(q, INV_RESULT_JSON);
		return 0;
	case OPT_CSV:
		set_form(q, INV_RESULT_CSV);
		return 0;
	case OPT_TABLE:
		set_form(q, INV_RESULT_TABLE);
		return 0;
	case OPT_LIMIT:
		set_number(state, "--limit", arg, UINT64_MAX, &q->query.limit);
		q->has_limit = true;
		return 0;
	case OPT_TIMEOUT:
		set_number(state, "--timeout", arg, 1000000, &n);
		q->query.seconds = (uint32_t)n;
		return 0;
	case OPT_UTC:
		q->merge.sink.utc = 1;
		return 0;
	case 'q':
		q->merge.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		add_arg(q, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(q, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_filter_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "F.db|LOG... [QUERY]",
	.doc = doc,
	.children = children,
};

/* --- the work ------------------------------------------------------------- */

/* If the user gives no query, this query runs. It lists the tables with their
 * numbers of rows, and the views. */
static const char overview[] =
	"SELECT view AS \"table or view\", answers FROM ("
	"SELECT 1 AS part, 0 AS i, 'events' AS view, (SELECT count(*) FROM "
	"_events) || ' events' AS answers "
	"UNION ALL SELECT 1, 1, 'calls', (SELECT count(*) FROM _calls) || "
	"' calls' "
	"UNION ALL SELECT 1, 2, 'messages', (SELECT count(*) FROM _messages) "
	"|| ' messages' "
	"UNION ALL SELECT 1, 3, 'processes', (SELECT count(*) FROM "
	"_processes) || ' processes and ports' "
	"UNION ALL SELECT 1, 4, 'collections', (SELECT count(*) FROM "
	"_collections) || ' garbage collections' "
	"UNION ALL SELECT 1, 5, 'losses', (SELECT coalesce(sum(n), 0) FROM "
	"_losses) || ' lost events' "
	"UNION ALL SELECT 1, 6, 'nodes', (SELECT count(*) FROM _nodes) || "
	"' nodes' "
	"UNION ALL SELECT 1, 7, 'requests', (SELECT count(*) FROM _requests) "
	"|| ' requests of sequential traces' "
	"UNION ALL SELECT 1, 8, 'counts', (SELECT count(*) FROM _counts) || "
	"' counts of inviso count' "
	"UNION ALL SELECT 1, 9, 'histograms', (SELECT coalesce(sum(n), 0) FROM "
	"_histograms) || ' times in histograms' "
	"UNION ALL SELECT 2, rowid, view, answers FROM questions) "
	"ORDER BY part, i";

static int ask(struct sql *q, sqlite3 *db, const char *name)
{
	struct inv_err err = { 0 };
	bool listing = !q->query.sql;
	int rc;

	inv_query_protect(db);
	if (listing)
		q->query.sql = overview;
	rc = inv_query_run(&q->query, db, &err);
	if (rc) {
		fprintf(stderr, "inviso sql: %s\n", err.text);
		return INV_EXIT_FAILED;
	}
	if (q->query.more)
		fprintf(stderr,
			"inviso sql: only the first %" PRIu64
			" row(s) are printed; --limit 0 prints all\n",
			q->query.rows);
	if (listing && q->query.form == INV_RESULT_TABLE)
		printf("\nask: inviso sql %s slowest_calls, or a query: "
		       "'SELECT ...'\n",
		       name);
	return INV_EXIT_DONE;
}

static int ask_logs(struct sql *q)
{
	void *db = NULL;
	int status, asked;

	q->merge.sink.into = &db;
	status = inv_merge_run(&q->merge);
	q->merge.sink.into = NULL;
	if (!db)
		return status ? status : INV_EXIT_FAILED;
	if (status && status != INV_EXIT_LOST && status != INV_EXIT_NOTHING) {
		sqlite3_close(db);
		return status;
	}
	asked = status == INV_EXIT_NOTHING ? INV_EXIT_DONE :
					     ask(q, db, q->merge.files[0]);
	sqlite3_close(db);
	return asked ? asked : status;
}

static int ask_database(struct sql *q)
{
	struct inv_err err = { 0 };
	sqlite3 *db;
	int status;

	if (inv_query_open(&db, q->merge.files[0], &err)) {
		fprintf(stderr, "inviso sql: %s\n", err.text);
		status = INV_EXIT_FAILED;
	} else {
		status = ask(q, db, q->merge.files[0]);
	}
	sqlite3_close(db);
	return status;
}

static void choose_form(struct sql *q)
{
	bool terminal = isatty(STDOUT_FILENO);

	if (!q->has_form)
		q->query.form = terminal ? INV_RESULT_TABLE : INV_RESULT_CSV;
	if (!q->has_limit && terminal)
		q->query.limit = TERMINAL_ROWS;
	if (terminal && q->query.form == INV_RESULT_TABLE)
		q->query.width = inv_screen_width();
}

static int exec_sql(int argc, char **argv)
{
	struct sql q = { 0 };
	int status = inv_merge_opts_init(&q.merge, "inviso sql", argc);

	q.merge.format = &inv_sink_sqlite;
	q.merge.sink.records = true;
	if (!status && argp_parse(&argp, argc, argv, 0, NULL, &q))
		status = INV_EXIT_USAGE;
	if (!status) {
		choose_form(&q);
		status = q.is_database ? ask_database(&q) : ask_logs(&q);
	}
	inv_merge_opts_release(&q.merge);
	free(q.view_query);
	return status;
}

const struct inv_cmd inv_cmd_sql = {
	.name = "sql",
	.summary = INV_CMD_SQL_SUMMARY,
	.exec = exec_sql,
};
