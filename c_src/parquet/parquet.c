/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "parquet/partitions.h"

struct parquet_sink {
	struct inv_sink sink;
	struct inv_row_writer writer;
	struct inv_rows rows;
	struct inv_parquet_scratch scratch;
	struct inv_parquet_file files[INV_TABLE_COUNT];
	struct inv_partitions partitions; /* used if opts.partition is set */
};

static bool divided(const struct parquet_sink *x, enum inv_table_id table)
{
	return x->sink.opts.partition && inv_partitions_divide(table);
}

static struct parquet_sink *sink_of(struct inv_row_writer *w)
{
	return (struct parquet_sink *)((char *)w -
				       offsetof(struct parquet_sink, writer));
}

static int put(struct inv_row_writer *w, const struct inv_cast *cast,
	       enum inv_table_id table, const struct inv_cell *cells)
{
	struct parquet_sink *x = sink_of(w);

	if (divided(x, table))
		return inv_partitions_put(&x->partitions, cast, table, cells,
					  &x->sink.err);
	return inv_parquet_put(&x->files[table], cast, cells, &x->sink.err);
}

static int parquet_init(struct inv_sink *s)
{
	struct parquet_sink *x = (struct parquet_sink *)s;

	x->writer.put = put;
	inv_sink_for_people(s);
	return inv_rows_init(&x->rows, &x->writer, s->cursor, &s->print);
}

static int parquet_open(struct inv_sink *s, const char *path,
			struct inv_err *err)
{
	struct parquet_sink *x = (struct parquet_sink *)s;
	int rc = 0;

	if (s->opts.partition &&
	    inv_partitions_init(&x->partitions, path, s->opts.partition,
				&x->scratch))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	for (unsigned i = 0; !rc && i < INV_TABLE_COUNT; i++) {
		char *name;

		if (divided(x, i))
			continue;
		if (asprintf(&name, "%s/%s.parquet", path, inv_tables[i].name) <
		    0)
			return inv_err_set(err, INV_ENOMEM, "no memory");
		rc = inv_parquet_create(&x->files[i], name, &inv_tables[i],
					&x->scratch, err);
		free(name);
	}
	return rc;
}

static void check(struct parquet_sink *x)
{
	if (x->rows.rc && !x->sink.err.code)
		inv_err_set(&x->sink.err, x->rows.rc, "no memory");
}

static int parquet_event(struct inv_sink *s, const struct inv_item *it)
{
	struct parquet_sink *x = (struct parquet_sink *)s;
	int rc;

	inv_sink_manner(s, it);
	rc = inv_rows_event(&x->rows, it);
	check(x);
	return rc;
}

static void parquet_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct parquet_sink *x = (struct parquet_sink *)s;

	inv_rows_loss(&x->rows, it);
	check(x);
}

static void parquet_counts(struct inv_sink *s, const struct inv_tallies *t)
{
	inv_rows_counts(&((struct parquet_sink *)s)->rows, t);
}

static void parquet_end(struct inv_sink *s)
{
	struct parquet_sink *x = (struct parquet_sink *)s;

	inv_rows_end(&x->rows);
	s->incomplete = x->rows.forgotten;
	check(x);
}

static int parquet_close(struct inv_sink *s, struct inv_err *err)
{
	struct parquet_sink *x = (struct parquet_sink *)s;
	int rc = 0;

	for (unsigned i = 0; !rc && i < INV_TABLE_COUNT; i++)
		if (!divided(x, i))
			rc = inv_parquet_finish(&x->files[i], err);
	return rc ? rc : inv_partitions_finish(&x->partitions, err);
}

static void parquet_release(struct inv_sink *s)
{
	struct parquet_sink *x = (struct parquet_sink *)s;

	inv_rows_release(&x->rows);
	for (unsigned i = 0; i < INV_TABLE_COUNT; i++)
		inv_parquet_release(&x->files[i]);
	inv_partitions_release(&x->partitions);
	inv_parquet_scratch_release(&x->scratch);
}

const struct inv_sink_ops inv_sink_parquet = {
	.name = "parquet",
	.help = "a directory of Parquet files, a table in each",
	.size = sizeof(struct parquet_sink),
	.calls = true,
	.init = parquet_init,
	.event = parquet_event,
	.loss = parquet_loss,
	.end = parquet_end,
	.counts = parquet_counts,
	.release = parquet_release,
	.directory = true,
	.open = parquet_open,
	.close = parquet_close,
};
