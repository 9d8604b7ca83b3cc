/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "parquet/fill.h"
#include "parquet/thrift.h"

static const char magic[4] = "PAR1";

/* --- the schema ----------------------------------------------------------- */

static uint8_t kind_of(const struct inv_column *c, unsigned part)
{
	switch (c->kind) {
	case INV_COLUMN_INT:
		return INV_PARQUET_INT;
	case INV_COLUMN_TIME:
		return INV_PARQUET_TIME;
	case INV_COLUMN_BOOL:
		return INV_PARQUET_BOOL;
	case INV_COLUMN_TEXT:
		return INV_PARQUET_TEXT;
	case INV_COLUMN_PROCESS:
		return part == INV_PART_PID ? INV_PARQUET_PID :
					      INV_PARQUET_WORD;
	case INV_COLUMN_FUNCTION:
		return part == INV_PART_ARITY ? INV_PARQUET_INT :
						INV_PARQUET_WORD;
	default:
		return INV_PARQUET_WORD;
	}
}

static int make_columns(struct inv_parquet_file *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->table->n; i++)
		n += inv_column_parts(&f->table->columns[i]);
	f->columns = calloc(n + 1, sizeof(*f->columns));
	if (!f->columns)
		return INV_ENOMEM;
	for (unsigned i = 0; i < f->table->n; i++) {
		const struct inv_column *c = &f->table->columns[i];

		for (unsigned part = 0; part < inv_column_parts(c); part++) {
			struct inv_parquet_column *x =
				&f->columns[f->n_columns++];

			x->kind = kind_of(c, part);
			inv_column_name(c, part, x->name);
		}
	}
	return 0;
}

/* Parquet's physical types. */
static int type_of(const struct inv_parquet_column *c)
{
	switch (c->kind) {
	case INV_PARQUET_INT:
	case INV_PARQUET_TIME:
		return 2;
	case INV_PARQUET_BOOL:
		return 0;
	default:
		return 6;
	}
}

static void put_type(struct inv_thrift *t, const struct inv_parquet_column *c)
{
	int type = type_of(c);

	inv_thrift_element(t);
	inv_thrift_i32(t, 1, type);
	inv_thrift_i32(t, 3, 1); /* optional */
	inv_thrift_text(t, 4, c->name);
	if (type == 6) {
		inv_thrift_i32(t, 6, 0); /* UTF8 */
		inv_thrift_struct(t, 10);
		inv_thrift_struct(t, 1); /* a string */
		inv_thrift_end(t);
		inv_thrift_end(t);
	} else if (c->kind == INV_PARQUET_TIME) {
		inv_thrift_struct(t, 10);
		inv_thrift_struct(t, 8); /* a timestamp in ns */
		/* Times are in UTC. But they are declared without a zone,
		 * because in DuckDB only such times have ns. */
		inv_thrift_bool(t, 1, false);
		inv_thrift_struct(t, 2);
		inv_thrift_struct(t, 3);
		inv_thrift_end(t);
		inv_thrift_end(t);
		inv_thrift_end(t);
		inv_thrift_end(t);
	}
	inv_thrift_end(t);
}

static void put_chunk(struct inv_thrift *t, const struct inv_parquet_column *c,
		      const struct inv_parquet_chunk *x)
{
	bool words = x->dictionary_off >= 0;

	inv_thrift_element(t);
	inv_thrift_i64(t, 2, words ? x->dictionary_off : x->data_off);
	inv_thrift_struct(t, 3);
	inv_thrift_i32(t, 1, type_of(c));
	inv_thrift_list(t, 2, INV_THRIFT_I32, words ? 3 : 2);
	inv_thrift_list_int(t, INV_PARQUET_RLE);
	if (words)
		inv_thrift_list_int(t, INV_PARQUET_PLAIN);
	inv_thrift_list_int(t, x->encoding);
	inv_thrift_list(t, 3, INV_THRIFT_BINARY, 1);
	inv_thrift_list_text(t, c->name);
	inv_thrift_i32(t, 4, INV_PARQUET_ZSTD);
	inv_thrift_i64(t, 5, x->values);
	inv_thrift_i64(t, 6, x->plain_size);
	inv_thrift_i64(t, 7, x->size);
	inv_thrift_i64(t, 9, x->data_off);
	if (words)
		inv_thrift_i64(t, 11, x->dictionary_off);
	inv_thrift_struct(t, 12);
	inv_thrift_i64(t, 3, x->nulls);
	if (x->bounds) {
		inv_thrift_binary(t, 5, &x->most, sizeof(x->most));
		inv_thrift_binary(t, 6, &x->least, sizeof(x->least));
	}
	inv_thrift_end(t);
	inv_thrift_end(t);
	inv_thrift_end(t);
}

static void put_groups(struct inv_parquet_file *f, struct inv_thrift *t)
{
	inv_thrift_list(t, 4, INV_THRIFT_STRUCT, (uint32_t)f->n_groups);
	for (size_t g = 0; g < f->n_groups; g++) {
		int64_t bytes = 0;

		inv_thrift_element(t);
		inv_thrift_list(t, 1, INV_THRIFT_STRUCT, f->n_columns);
		for (unsigned i = 0; i < f->n_columns; i++) {
			const struct inv_parquet_chunk *x =
				&f->chunks[g * f->n_columns + i];

			put_chunk(t, &f->columns[i], x);
			bytes += x->plain_size;
		}
		inv_thrift_i64(t, 2, bytes);
		inv_thrift_i64(t, 3, f->group_rows[g]);
		inv_thrift_end(t);
	}
}

static void put_footer(struct inv_parquet_file *f)
{
	struct inv_buf *out = &f->scratch->out;
	struct inv_thrift t = { .out = out };
	size_t begin = out->len;
	char version[16];
	uint32_t n;

	inv_thrift_i32(&t, 1, 2);
	inv_thrift_list(&t, 2, INV_THRIFT_STRUCT, f->n_columns + 1);
	inv_thrift_element(&t);
	inv_thrift_text(&t, 4, f->table->name);
	inv_thrift_i32(&t, 5, (int32_t)f->n_columns);
	inv_thrift_end(&t);
	for (unsigned i = 0; i < f->n_columns; i++)
		put_type(&t, &f->columns[i]);
	inv_thrift_i64(&t, 3, f->all_rows);
	put_groups(f, &t);
	inv_thrift_list(&t, 5, INV_THRIFT_STRUCT, 1);
	inv_thrift_element(&t);
	snprintf(version, sizeof(version), "%d", INV_SCHEMA_VERSION);
	inv_thrift_text(&t, 1, "inviso.tables");
	inv_thrift_text(&t, 2, version);
	inv_thrift_end(&t);
	inv_thrift_text(&t, 6, "inviso");
	inv_thrift_end(&t);
	n = (uint32_t)(out->len - begin);
	inv_buf_put(out, &n, sizeof(n));
	inv_buf_put(out, magic, sizeof(magic));
}

/* --- writing -------------------------------------------------------------- */

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

static int open_again(struct inv_parquet_file *f, struct inv_err *err)
{
	if (f->fd >= 0)
		return 0;
	f->fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	return f->fd < 0 ? inv_err_sys(err, errno, "open %s", f->path) : 0;
}

static int write_out(struct inv_parquet_file *f, struct inv_err *err)
{
	struct inv_buf *out = &f->scratch->out;
	size_t off = 0;

	if (out->error)
		return no_memory(err);
	if (open_again(f, err))
		return err->code;
	while (off < out->len) {
		ssize_t n = write(f->fd, out->data + off, out->len - off);

		if (n >= 0)
			off += (size_t)n;
		else if (errno != EINTR)
			return inv_err_sys(err, errno, "write %s", f->path);
	}
	f->off += (int64_t)out->len;
	inv_buf_reset(out);
	return 0;
}

static int close_file(struct inv_parquet_file *f, struct inv_err *err)
{
	int fd = f->fd;

	f->fd = -1;
	if (fd >= 0 && close(fd))
		return inv_err_sys(err, errno, "close %s", f->path);
	return 0;
}

static int make_scratch(struct inv_parquet_scratch *s)
{
	if (!s->zstd)
		s->zstd = ZSTD_createCCtx();
	return s->zstd ? 0 : INV_ENOMEM;
}

void inv_parquet_scratch_release(struct inv_parquet_scratch *s)
{
	inv_buf_release(&s->out);
	inv_buf_release(&s->spare);
	ZSTD_freeCCtx(s->zstd);
	s->zstd = NULL;
}

int inv_parquet_create(struct inv_parquet_file *f, const char *path,
		       const struct inv_table *table,
		       struct inv_parquet_scratch *scratch, struct inv_err *err)
{
	f->fd = -1;
	f->table = table;
	f->scratch = scratch;
	f->path = strdup(path);
	if (!f->path || make_scratch(scratch) || make_columns(f))
		return no_memory(err);
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return inv_err_sys(err, errno, "create %s", path);
	inv_buf_reset(&scratch->out);
	inv_buf_put(&scratch->out, magic, sizeof(magic));
	return write_out(f, err) ? err->code : close_file(f, err);
}

void inv_parquet_release(struct inv_parquet_file *f)
{
	inv_batch_release(&f->batch);
	for (unsigned i = 0; i < f->n_columns; i++)
		inv_parquet_column_release(&f->columns[i]);
	free(f->columns);
	free(f->chunks);
	free(f->group_rows);
	free(f->path);
	if (f->table && f->fd >= 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
}

static int add_group(struct inv_parquet_file *f)
{
	size_t cap = f->cap_groups ? f->cap_groups * 2 : 16;
	struct inv_parquet_chunk *chunks;
	int64_t *rows;

	if (f->n_groups == f->cap_groups) {
		chunks = realloc(f->chunks,
				 cap * f->n_columns * sizeof(*chunks));
		if (!chunks)
			return INV_ENOMEM;
		f->chunks = chunks;
		rows = realloc(f->group_rows, cap * sizeof(*rows));
		if (!rows)
			return INV_ENOMEM;
		f->group_rows = rows;
		f->cap_groups = cap;
	}
	f->group_rows[f->n_groups++] = (int64_t)f->rows;
	return 0;
}

static int write_batch(struct inv_parquet_file *f)
{
	int rc = 0;

	if (f->batch.n)
		rc = inv_parquet_fill(f->columns, f->table, f->cast, &f->batch);
	inv_batch_reset(&f->batch);
	f->columns_size = 0;
	for (unsigned i = 0; i < f->n_columns; i++)
		f->columns_size += inv_parquet_column_size(&f->columns[i]);
	return rc;
}

static int write_group(struct inv_parquet_file *f, struct inv_err *err)
{
	if (!f->rows)
		return 0;
	if (write_batch(f) || add_group(f))
		return no_memory(err);
	for (unsigned i = 0; i < f->n_columns; i++) {
		struct inv_parquet_chunk *x =
			&f->chunks[(f->n_groups - 1) * f->n_columns + i];

		if (inv_parquet_column_write(&f->columns[i], &f->scratch->out,
					     f->off, &f->scratch->spare,
					     f->scratch->zstd, x))
			return no_memory(err);
		if (write_out(f, err))
			return err->code;
	}
	f->all_rows += (int64_t)f->rows;
	f->rows = 0;
	f->bytes = 0;
	return close_file(f, err);
}

/* --- rows ----------------------------------------------------------------- */

int inv_parquet_put(struct inv_parquet_file *f, const struct inv_cast *cast,
		    const struct inv_cell *cells, struct inv_err *err)
{
	size_t before = f->batch.texts.len;

	f->cast = cast;
	if (inv_batch_add(&f->batch, f->table, cells, err))
		return err->code;
	f->bytes += f->batch.texts.len - before;
	if (++f->rows == INV_PARQUET_GROUP_ROWS ||
	    f->bytes >= INV_PARQUET_GROUP_BYTES)
		return write_group(f, err);
	if (inv_batch_is_full(&f->batch) && write_batch(f))
		return no_memory(err);
	return 0;
}

size_t inv_parquet_memory(const struct inv_parquet_file *f)
{
	return f->columns_size + inv_batch_size(&f->batch);
}

int inv_parquet_rest(struct inv_parquet_file *f, struct inv_err *err)
{
	int rc = write_group(f, err);

	inv_batch_release(&f->batch);
	for (unsigned i = 0; i < f->n_columns; i++)
		inv_parquet_column_release(&f->columns[i]);
	f->columns_size = 0;
	return rc;
}

int inv_parquet_finish(struct inv_parquet_file *f, struct inv_err *err)
{
	int rc = write_group(f, err);

	if (rc)
		return rc;
	put_footer(f);
	rc = write_out(f, err);
	return rc ? rc : close_file(f, err);
}
