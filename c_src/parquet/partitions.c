/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/partitions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

/* Uses the variable `oom' of the function that adds an element to the table. */
#define uthash_nonfatal_oom(obj) (oom = true)
#include "base/utf8.h"
#include "base/uthash.h"
#include "sink/sink.h"

#define HOUR_NS ((int64_t)3600 * 1000000000)
#define UNKNOWN "__HIVE_DEFAULT_PARTITION__"
/* The most bytes of the name of a directory. File systems allow 255. */
#define NAME_LEN 240
#define PARTS_MAX 100000u

struct key {
	uint32_t table;
	uint32_t node; /* number in inv_words; 0: not known, or rows are not
			  divided by node */
	int64_t hour;  /* hours since the epoch */
	int64_t has_hour;
};

struct inv_partition {
	struct key key;
	struct inv_parquet_file file;
	uint64_t used; /* number of the file's last row, counted over the rows
			* of all tables */
	UT_hash_handle hh;
};

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

bool inv_partitions_divide(enum inv_table_id table)
{
	return !strcmp(inv_tables[table].columns[0].name, "id");
}

static void forget(struct inv_partitions *p, struct inv_partition *x)
{
	HASH_DEL(p->all, x);
	inv_parquet_release(&x->file);
	free(x);
}

void inv_partitions_release(struct inv_partitions *p)
{
	while (p->all)
		forget(p, p->all);
	free(p->dir);
	p->dir = NULL;
}

/* --- which partition ------------------------------------------------------ */

/* Returns the partition of a row: the node of the first known process in the
 * row, and the hour of the first known time in the row. */
static struct key key_of(const struct inv_partitions *p,
			 const struct inv_cast *cast, enum inv_table_id table,
			 const struct inv_cell *cells)
{
	const struct inv_key_columns *c = &p->columns[table];
	struct key k;

	memset(&k, 0, sizeof(k)); /* the padding, too, because it is hashed */
	k.table = table;
	for (unsigned i = 0; !k.node && i < c->n_nodes; i++) {
		const struct inv_cell *cell = &cells[c->nodes[i]];

		if (cell->kind == INV_CELL_PROCESS)
			k.node = cast->v[cell->number - 1].node;
		else if (cell->kind == INV_CELL_WORD)
			k.node = cell->number;
	}
	for (unsigned i = 0; !k.has_hour && i < c->n_times; i++) {
		const struct inv_cell *cell = &cells[c->times[i]];

		if (cell->kind == INV_CELL_NULL)
			continue;
		k.has_hour = 1;
		k.hour = cell->i / HOUR_NS - (cell->i % HOUR_NS < 0);
	}
	return k;
}

/* Finds the columns on which the partition of a row depends. */
static void find_columns(struct inv_partitions *p, enum inv_table_id table)
{
	struct inv_key_columns *k = &p->columns[table];

	for (unsigned i = 0; i < inv_tables[table].n; i++) {
		const struct inv_column *c = &inv_tables[table].columns[i];
		bool node = c->kind == INV_COLUMN_PROCESS ||
			    (c->kind == INV_COLUMN_WORD &&
			     !strcmp(c->name, "node"));

		if (node && (p->by & INV_SINK_BY_NODE))
			k->nodes[k->n_nodes++] = (uint8_t)i;
		if (c->kind == INV_COLUMN_TIME && (p->by & INV_SINK_BY_HOUR))
			k->times[k->n_times++] = (uint8_t)i;
	}
}

int inv_partitions_init(struct inv_partitions *p, const char *dir, unsigned by,
			struct inv_parquet_scratch *scratch)
{
	p->memory = INV_PARTITIONS_MEMORY;
	p->files = INV_PARTITIONS_FILES;
	p->by = by;
	p->scratch = scratch;
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++)
		find_columns(p, i);
	p->dir = strdup(dir);
	return p->dir ? 0 : INV_ENOMEM;
}

static uint64_t fnv(const uint8_t *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

static bool is_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || strchr("_.@-", c);
}

static void put_byte(struct inv_buf *b, uint8_t c)
{
	if (c && is_plain(c))
		inv_buf_putc(b, (char)c);
	else
		inv_buf_printf(b, "%%%02X", c);
}

/* Returns true if readers would take the name for NULL, unless the name's first
 * byte is written as %XX. */
static bool is_null(const uint8_t *name, size_t len)
{
	return (len == strlen(UNKNOWN) && !memcmp(name, UNKNOWN, len)) ||
	       (len == 4 && !strncasecmp((const char *)name, "null", 4));
}

/* Writes the name, encoded, as the value in a directory's name. If it is too
 * long, writes its beginning and a hash of the whole name. The cut is never
 * inside a character, because readers decode the name. */
static void put_name(struct inv_buf *b, const uint8_t *name, size_t len)
{
	const uint8_t *p = name, *end = name + len;
	size_t begin = b->len, before;
	unsigned n;

	if (is_null(name, len)) {
		inv_buf_printf(b, "%%%02X", *p);
		p++;
	}
	for (; p < end; p += n) {
		before = b->len;
		inv_utf8_get(p, end, &n);
		for (unsigned i = 0; i < n; i++)
			put_byte(b, p[i]);
		if (b->len - begin > NAME_LEN - 20) {
			b->len = before;
			inv_buf_printf(b, "...%016" PRIx64, fnv(name, len));
			return;
		}
	}
}

static void put_hour(struct inv_buf *b, const struct key *k)
{
	time_t s = (time_t)(k->hour * 3600);
	struct tm tm;

	if (k->has_hour && gmtime_r(&s, &tm))
		inv_buf_printf(b, "%04d-%02d-%02dT%02d", tm.tm_year + 1900,
			       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour);
	else
		inv_buf_puts(b, UNKNOWN);
}

/* --- directories and files ------------------------------------------------ */

/* Makes the directory whose path is in b. */
static int make_dir(struct inv_buf *b, struct inv_err *err)
{
	inv_buf_putc(b, 0);
	if (b->error)
		return no_memory(err);
	if (mkdir((const char *)b->data, 0700) && errno != EEXIST)
		return inv_err_sys(err, errno, "create %s", (char *)b->data);
	b->len--;
	return 0;
}

/* Writes the path of the partition's directory, and makes the directory. */
static int make_dirs(const struct inv_partitions *p, const struct key *k,
		     const struct inv_cast *cast, struct inv_buf *b,
		     struct inv_err *err)
{
	const uint8_t *name;
	size_t len;

	inv_buf_printf(b, "%s/%s", p->dir, inv_tables[k->table].name);
	if (make_dir(b, err))
		return err->code;
	if (p->by & INV_SINK_BY_NODE) {
		inv_buf_puts(b, "/node=");
		if (k->node) {
			name = inv_words_text(&cast->words, k->node, &len);
			put_name(b, name, len);
		} else {
			inv_buf_puts(b, UNKNOWN);
		}
		if (make_dir(b, err))
			return err->code;
	}
	if (p->by & INV_SINK_BY_HOUR) {
		inv_buf_puts(b, "/hour=");
		put_hour(b, k);
		if (make_dir(b, err))
			return err->code;
	}
	return 0;
}

/* Creates the partition's next file. */
static int create(struct inv_partitions *p, struct inv_partition *x,
		  const struct inv_cast *cast, struct inv_err *err)
{
	struct inv_buf b = { 0 };
	int rc = make_dirs(p, &x->key, cast, &b, err);
	size_t len = b.len;
	struct stat st;

	for (unsigned part = 0; !rc; part++) {
		b.len = len;
		inv_buf_printf(&b, "/part-%u.parquet", part);
		inv_buf_putc(&b, 0);
		if (b.error)
			rc = no_memory(err);
		else if (part == PARTS_MAX || stat((char *)b.data, &st))
			break;
	}
	if (!rc)
		rc = inv_parquet_create(&x->file, (char *)b.data,
					&inv_tables[x->key.table], p->scratch,
					err);
	inv_buf_release(&b);
	return rc;
}

/* Finishes the file whose last use was longest ago. */
static int finish_oldest(struct inv_partitions *p, struct inv_err *err)
{
	struct inv_partition *oldest = p->all, *x, *next;
	int rc;

	HASH_ITER (hh, p->all, x, next)
		if (x->used < oldest->used)
			oldest = x;
	p->size -= inv_parquet_memory(&oldest->file);
	rc = inv_parquet_finish(&oldest->file, err);
	forget(p, oldest);
	return rc;
}

static struct inv_partition *add(struct inv_partitions *p, const struct key *k,
				 const struct inv_cast *cast,
				 struct inv_err *err)
{
	struct inv_partition *x;
	bool oom = false;

	if (HASH_COUNT(p->all) >= p->files && finish_oldest(p, err))
		return NULL;
	x = calloc(1, sizeof(*x));
	if (!x) {
		no_memory(err);
		return NULL;
	}
	x->key = *k;
	if (create(p, x, cast, err)) {
		inv_parquet_release(&x->file);
		free(x);
		return NULL;
	}
	HASH_ADD(hh, p->all, key, sizeof(x->key), x);
	if (!oom)
		return x;
	inv_parquet_release(&x->file);
	free(x);
	no_memory(err);
	return NULL;
}

/* --- rows ----------------------------------------------------------------- */

/* While the rows of all files together take more memory than the limit, writes
 * the rows of the file whose rows take the most memory. */
static int stay_small(struct inv_partitions *p, struct inv_err *err)
{
	struct inv_partition *x, *next, *largest;

	while (p->size > p->memory) {
		largest = p->all;
		HASH_ITER (hh, p->all, x, next)
			if (inv_parquet_memory(&x->file) >
			    inv_parquet_memory(&largest->file))
				largest = x;
		p->size -= inv_parquet_memory(&largest->file);
		if (inv_parquet_rest(&largest->file, err))
			return err->code;
	}
	return 0;
}

int inv_partitions_put(struct inv_partitions *p, const struct inv_cast *cast,
		       enum inv_table_id table, const struct inv_cell *cells,
		       struct inv_err *err)
{
	struct key k = key_of(p, cast, table, cells);
	struct inv_partition *x;
	size_t before;
	int rc;

	HASH_FIND(hh, p->all, &k, sizeof(k), x);
	if (!x)
		x = add(p, &k, cast, err);
	if (!x)
		return err->code;
	x->used = ++p->n_rows;
	before = inv_parquet_memory(&x->file);
	rc = inv_parquet_put(&x->file, cast, cells, err);
	p->size += inv_parquet_memory(&x->file) - before;
	return rc ? rc : stay_small(p, err);
}

int inv_partitions_finish(struct inv_partitions *p, struct inv_err *err)
{
	struct inv_partition *x, *next;
	int rc = 0;

	HASH_ITER (hh, p->all, x, next) {
		rc = inv_parquet_finish(&x->file, err);
		if (rc)
			break;
		forget(p, x);
	}
	return rc;
}
