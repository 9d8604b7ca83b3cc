/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows of several nodes and hours, and reads the footers of the files.
 * The test test/cli/parquet.sh reads such files with DuckDB. */
#include <ftw.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/remove.h"
#include "log/item.h"
#include "parquet/partitions.h"
#include "sink/sink.h"

#define HOUR ((int64_t)3600 * 1000000000)

/* --- footers -------------------------------------------------------------- */

struct in {
	const uint8_t *p, *end;
};

static uint64_t varint(struct in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(in->p < in->end);
		v |= (uint64_t)(*in->p & 127) << shift;
		if (!(*in->p++ & 128))
			return v;
	}
}

static int64_t number(struct in *in)
{
	uint64_t v = varint(in);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static uint64_t list(struct in *in, unsigned *type)
{
	unsigned head = *in->p++;

	*type = head & 15;
	return head >> 4 == 15 ? varint(in) : head >> 4;
}

/* Skips a value of the compact protocol of Thrift. */
static void pass_over(struct in *in, unsigned type)
{
	unsigned of;
	uint64_t n;

	switch (type) {
	case 1:
	case 2:
		return;
	case 5:
	case 6:
		number(in);
		return;
	case 8:
		n = varint(in);
		assert_true(n <= (uint64_t)(in->end - in->p));
		in->p += n;
		return;
	case 9:
		n = list(in, &of);
		for (uint64_t i = 0; i < n; i++)
			pass_over(in, of);
		return;
	case 12:
		while (*in->p)
			pass_over(in, *in->p++ & 15);
		in->p++;
		return;
	default:
		fail_msg("type %u", type);
	}
}

static struct {
	unsigned files, parts[8];
	int64_t rows, groups;
	char paths[32768];
} found;

static int read_footer(const char *path, const struct stat *st, int kind,
		       struct FTW *at)
{
	unsigned id = 0, of;
	struct in in;
	uint32_t len;
	uint8_t *all;
	FILE *f;

	(void)at;
	if (kind != FTW_F)
		return 0;
	f = fopen(path, "r");
	all = malloc((size_t)st->st_size);
	assert_non_null(f);
	assert_non_null(all);
	assert_int_equal(fread(all, 1, (size_t)st->st_size, f), st->st_size);
	fclose(f);
	assert_memory_equal(all, "PAR1", 4);
	assert_memory_equal(all + st->st_size - 4, "PAR1", 4);
	memcpy(&len, all + st->st_size - 8, sizeof(len));
	in.end = all + st->st_size - 8;
	in.p = in.end - len;
	while (*in.p) {
		unsigned head = *in.p++;

		id += head >> 4;
		if (id == 3) {
			found.rows += number(&in);
		} else if (id == 4) {
			found.groups += (int64_t)list(&in, &of);
			break;
		} else {
			pass_over(&in, head & 15);
		}
	}
	free(all);
	found.files++;
	found.parts[strrchr(path, '-')[1] - '0']++;
	strcat(found.paths, path);
	strcat(found.paths, "\n");
	return 0;
}

static void look(const char *dir)
{
	memset(&found, 0, sizeof(found));
	assert_int_equal(nftw(dir, read_footer, 8, FTW_PHYS), 0);
}

static bool has(const char *path)
{
	return strstr(found.paths, path);
}

/* --- rows ----------------------------------------------------------------- */

struct world {
	char dir[32];
	struct inv_cast cast;
	struct inv_parquet_scratch scratch;
	struct inv_partitions p;
	struct inv_err err;
};

static struct world *start(unsigned by)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/partitions.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(inv_partitions_init(&w->p, w->dir, by, &w->scratch),
			 0);
	return w;
}

static void finish(struct world *w)
{
	assert_int_equal(inv_partitions_finish(&w->p, &w->err), 0);
	inv_partitions_release(&w->p);
	inv_parquet_scratch_release(&w->scratch);
	inv_cast_release(&w->cast);
	look(w->dir);
	inv_remove(w->dir);
	free(w);
}

/* Adds process 7 of the node to the table of processes. Returns its index in
 * the table. */
static uint32_t process(struct world *w, const char *node, size_t len)
{
	struct inv_row_process process = { .number = 7, .kind = INV_TOK_PID };

	process.node = inv_words_add(&w->cast.words, node, len);
	assert_int_not_equal(process.node, 0);
	return inv_cast_add(&w->cast, &process, NULL, 0);
}

/* Writes the row of a call with `len' bytes of arguments. If `process' is 0,
 * the row has no process. If `ts' is 0, it has no time. */
static void call(struct world *w, uint32_t process, int64_t ts, size_t len)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	static uint8_t args[1 << 19];

	cells[INV_CALLS_ID] = (struct inv_cell){ .kind = INV_CELL_INT, .i = 1 };
	if (ts)
		cells[INV_CALLS_TS] =
			(struct inv_cell){ .kind = INV_CELL_INT, .i = ts };
	if (process)
		cells[INV_CALLS_PROCESS] =
			(struct inv_cell){ .kind = INV_CELL_PROCESS,
					   .number = process };
	cells[INV_CALLS_ARGS].kind = INV_CELL_TEXT;
	cells[INV_CALLS_ARGS].text.p = args;
	cells[INV_CALLS_ARGS].text.n = len;
	assert_int_equal(inv_partitions_put(&w->p, &w->cast, INV_TABLE_CALLS,
					    cells, &w->err),
			 0);
}

/* --- cases ---------------------------------------------------------------- */

static void each_node_and_hour_has_a_file(void **state)
{
	static const char *const nodes[] = { "a@h", "b@h", "c@h" };
	struct world *w = start(INV_SINK_BY_NODE | INV_SINK_BY_HOUR);

	(void)state;
	for (int i = 0; i < 3000; i++)
		call(w, process(w, nodes[i % 3], 3), 1 + HOUR * (i / 1000), 10);
	finish(w);
	assert_int_equal(found.files, 9);
	assert_int_equal(found.groups, 9);
	assert_int_equal(found.rows, 3000);
	assert_true(has("/calls/node=b@h/hour=1970-01-01T02/part-0.parquet"));
}

static void one_key_makes_one_level(void **state)
{
	struct world *w = start(INV_SINK_BY_HOUR);

	(void)state;
	call(w, process(w, "a@h", 3), 1, 10);
	call(w, process(w, "b@h", 3), 2, 10);
	call(w, process(w, "b@h", 3), -1, 10);
	finish(w);
	assert_int_equal(found.files, 2);
	assert_true(has("/calls/hour=1970-01-01T00/part-0.parquet"));
	assert_true(has("/calls/hour=1969-12-31T23/part-0.parquet"));
	w = start(INV_SINK_BY_NODE);
	call(w, process(w, "a@h", 3), 1, 10);
	call(w, process(w, "a@h", 3), 5 * HOUR, 10);
	finish(w);
	assert_int_equal(found.files, 1);
	assert_true(has("/calls/node=a@h/part-0.parquet"));
}

/* Writes 100 MB of rows, of which at most 4 MiB may be in memory. The memory in
 * use also includes the memory for encoding a row group, and the bytes that
 * malloc adds. */
static void memory_has_a_bound(void **state)
{
	static const char *const nodes[] = { "a@h", "b@h", "c@h", "d@h" };
	struct world *w = start(INV_SINK_BY_NODE);
	size_t before = mallinfo2().uordblks, most = 0;

	(void)state;
	w->p.memory = (size_t)4 << 20;
	for (int i = 0; i < 40000; i++) {
		struct mallinfo2 now = mallinfo2();

		if (now.uordblks + now.hblkhd > most)
			most = now.uordblks + now.hblkhd;
		call(w, process(w, nodes[i % 4], 3), 1, 2500);
	}
	finish(w);
	assert_true(most < before + ((size_t)64 << 20));
	assert_int_equal(found.files, 4);
	assert_int_equal(found.rows, 40000);
	assert_true(found.groups > 4);
}

/* Rows wait in a batch before they go into the columns of a file. In this test
 * the batches of many files become full at about the same time. The memory in
 * use must not double then. */
static void batches_have_a_bound(void **state)
{
	struct world *w = start(INV_SINK_BY_NODE);
	size_t before = mallinfo2().uordblks, most = 0;
	char node[8];

	(void)state;
	w->p.memory = (size_t)64 << 20;
	for (int i = 0; i < 250 * (int)INV_BATCH_ROWS; i++) {
		struct mallinfo2 now;

		snprintf(node, sizeof(node), "%d@h", i % 250);
		call(w, process(w, node, strlen(node)), 1, 4000);
		now = mallinfo2();
		if (now.uordblks + now.hblkhd > most)
			most = now.uordblks + now.hblkhd;
	}
	/* The files are completed one after the other. Each file is freed
	 * before the next is completed. So the rows that still wait in batches
	 * do not need memory in all files at once. */
	assert_int_equal(inv_partitions_finish(&w->p, &w->err), 0);
	assert_true(mallinfo2().uordblks < before + ((size_t)16 << 20));
	finish(w);
	assert_true(most < before + ((size_t)72 << 20));
	assert_int_equal(found.rows, 250 * (int)INV_BATCH_ROWS);
}

/* A large text is in memory once. It is in the batch or in the column, but not
 * in both. */
static void large_texts_are_in_memory_once(void **state)
{
	struct world *w = start(INV_SINK_BY_NODE);
	size_t before = mallinfo2().uordblks;
	struct mallinfo2 now;

	(void)state;
	for (unsigned i = 0; i < INV_BATCH_ROWS; i++)
		call(w, process(w, "a@h", 3), 1, 1 << 19);
	now = mallinfo2();
	assert_true(now.uordblks + now.hblkhd < before + ((size_t)80 << 20));
	finish(w);
	assert_int_equal(found.groups, 1);
	assert_int_equal(found.rows, INV_BATCH_ROWS);
}

/* Files with few rows take little memory, so many of them can be open at once.
 * No file must write its rows early, which would make a small row group. */
static void few_rows_take_little_memory(void **state)
{
	struct world *w = start(INV_SINK_BY_NODE);
	char node[8];

	(void)state;
	w->p.memory = (size_t)16 << 20;
	for (int i = 0; i < 200 * 200; i++) {
		snprintf(node, sizeof(node), "%d@h", i % 200);
		call(w, process(w, node, strlen(node)), 1, 10);
	}
	finish(w);
	assert_int_equal(found.rows, 200 * 200);
	assert_int_equal(found.groups, 200);
}

/* At most two files may be open. If a third node needs a file, an older file is
 * finished early. Later rows of the older file's node go into a second file. */
static void files_have_a_bound(void **state)
{
	static const char *const nodes[] = { "a@h", "b@h", "c@h" };
	struct world *w = start(INV_SINK_BY_NODE);

	(void)state;
	w->p.files = 2;
	for (int i = 0; i < 6; i++)
		call(w, process(w, nodes[i % 3], 3), 1, 10);
	finish(w);
	assert_int_equal(found.files, 6);
	assert_int_equal(found.rows, 6);
	assert_int_equal(found.parts[0], 3);
	assert_int_equal(found.parts[1], 3);
}

static void any_name_is_a_directory(void **state)
{
	struct world *w = start(INV_SINK_BY_NODE | INV_SINK_BY_HOUR);
	char longest[1020];

	(void)state;
	memset(longest, 0xff, sizeof(longest));
	call(w, process(w, "../../x", 7), 1, 10);
	call(w, process(w, "a\0b=%\n", 6), 1, 10);
	call(w, process(w, longest, sizeof(longest)), 1, 10);
	longest[0] = 'a';
	call(w, process(w, longest, sizeof(longest)), 1, 10);
	call(w, 0, 0, 10);
	finish(w);
	assert_int_equal(found.files, 5);
	assert_int_equal(found.rows, 5);
	assert_true(has("/calls/node=..%2F..%2Fx/hour=1970"));
	assert_true(has("/calls/node=a%00b%3D%25%0A/hour=1970"));
	assert_true(has("/calls/node=__HIVE_DEFAULT_PARTITION__/"
			"hour=__HIVE_DEFAULT_PARTITION__/part-0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_and_hour_has_a_file),
		cmocka_unit_test(one_key_makes_one_level),
		cmocka_unit_test(memory_has_a_bound),
		cmocka_unit_test(batches_have_a_bound),
		cmocka_unit_test(large_texts_are_in_memory_once),
		cmocka_unit_test(few_rows_take_little_memory),
		cmocka_unit_test(files_have_a_bound),
		cmocka_unit_test(any_name_is_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
