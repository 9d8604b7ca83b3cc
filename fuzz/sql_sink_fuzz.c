/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one input as a SQLite database, or as Parquet files.
 *
 *	byte 0    bit 0: the checksums of the log are corrected first
 *	          bit 1: Parquet, not SQLite
 *	          bit 2: Parquet has separate files for each node
 *	          bit 3: each ended call is shown as a whole
 *	          bit 4: Parquet has separate files for each hour
 *	the rest  the file
 *
 * The target checks that the database is not corrupt, that it has a row for
 * each recorded event, that its losses are those of the summary, and that its
 * views can be read. Parquet files must begin and end as the format says.
 */
#include <ftw.h>
#include <sqlite3.h>

#include "parquet/parquet.h"
#include "sink_run.h"
#include "sql/sqlite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned files;

static int check_file(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	uint8_t head[4], tail[8];
	uint32_t footer;
	FILE *f;

	(void)at;
	if (type != FTW_F)
		return 0;
	f = fopen(path, "rb");
	CHECK(f && st->st_size > 12);
	CHECK(fread(head, 1, 4, f) == 4 && !memcmp(head, "PAR1", 4));
	CHECK(!fseek(f, -8, SEEK_END) && fread(tail, 1, 8, f) == 8);
	CHECK(!memcmp(tail + 4, "PAR1", 4));
	memcpy(&footer, tail, sizeof(footer));
	CHECK(footer && footer <= (uint64_t)st->st_size - 12);
	fclose(f);
	files++;
	return 0;
}

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int64_t n;

	CHECK(!sqlite3_prepare_v2(db, sql, -1, &s, NULL));
	CHECK(sqlite3_step(s) == SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

/* Reads all rows of a view, which may contain sums. In a hostile log, numbers
 * can be so large that SQLite cannot add them. Then SQLite returns an error,
 * which is accepted. */
static int read_view(void *db, int n, char **values, char **names)
{
	(void)n;
	(void)names;
	CHECK(!sqlite3_exec(db, values[0], NULL, NULL, NULL) ||
	      !strcmp(sqlite3_errmsg(db), "integer overflow"));
	return 0;
}

static void look(struct written *w, void *arg)
{
	sqlite3 *db = *(void **)arg;
	uint64_t lost = 0;

	files = 0;
	if (w->format == &inv_sink_parquet) {
		CHECK(!nftw(w->dir, check_file, 8, FTW_PHYS));
		CHECK(files);
		return;
	}
	for (unsigned i = 0; i < INV_LOST_COUNT; i++)
		lost += w->sum.lost[i];
	CHECK(number(db, "SELECT count(*) FROM events") ==
	      (int64_t)w->sum.recorded);
	/* In a hostile log, the number of lost events can be too large for
	 * SQLite to add up. */
	if (lost <= INT32_MAX)
		CHECK(number(db, "SELECT coalesce(sum(n), 0) FROM losses") ==
		      (int64_t)lost);
	CHECK(number(db, "SELECT count(*) FROM pragma_integrity_check "
			 "WHERE integrity_check = 'ok'") == 1);
	CHECK(!sqlite3_exec(db,
			    "SELECT 'SELECT * FROM \"' || name || '\"' "
			    "FROM sqlite_schema WHERE type = 'view'",
			    read_view, db, NULL));
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *db = NULL;
	struct inv_sink_opts opts = { .records = true };
	const struct inv_sink_ops *format = &inv_sink_sqlite;

	/* Checks that no other format is written by a helper program. */
	for (unsigned i = 0; inv_sinks[i]; i++)
		CHECK(!inv_sinks[i]->program ||
		      !strcmp(inv_sinks[i]->name, "parquet") ||
		      !strcmp(inv_sinks[i]->name, "sqlite"));
	if (size < 2)
		return 0;
	if (data[0] & 2) {
		format = &inv_sink_parquet;
		opts.partition = (data[0] & 4 ? INV_SINK_BY_NODE : 0) |
				 (data[0] & 16 ? INV_SINK_BY_HOUR : 0);
	} else {
		opts.into = &db;
	}
	run_sink(format, &opts, data, size, look, &db);
	return 0;
}
