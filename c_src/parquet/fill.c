/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/fill.h"

/* The cells of a column. */
struct cells {
	const struct inv_batch_cell *first;
	unsigned n;	 /* rows */
	unsigned stride; /* cells from one row to the next */
	bool nulls;	 /* at least one cell is NULL */
};

static int put_ints(struct inv_parquet_column *c, struct cells x)
{
	int64_t v[INV_BATCH_ROWS];
	uint32_t levels[INV_BATCH_ROWS];

	for (unsigned i = 0; i < x.n; i++, x.first += x.stride) {
		v[i] = x.first->i;
		levels[i] = x.first->kind != INV_CELL_NULL;
	}
	return inv_parquet_column_ints(c, v, x.nulls ? levels : NULL, x.n);
}

static int put_texts(struct inv_parquet_column *c, struct cells x,
		     const struct inv_batch *b)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < x.n; i++, x.first += x.stride)
		if (x.first->kind == INV_CELL_NULL)
			rc = inv_parquet_column_nulls(c, 1);
		else
			rc = inv_parquet_column_text(
				c, inv_batch_text(b, x.first), x.first->len);
	return rc;
}

static void get_numbers(uint32_t *numbers, struct cells x)
{
	for (unsigned i = 0; i < x.n; i++, x.first += x.stride)
		numbers[i] = x.first->kind == INV_CELL_NULL ? 0 :
							      x.first->number;
}

static int put_words(struct inv_parquet_column *c, const struct inv_cast *cast,
		     struct cells x)
{
	uint32_t numbers[INV_BATCH_ROWS];

	get_numbers(numbers, x);
	return inv_parquet_column_numbers(c, cast, numbers, x.n);
}

static int put_processes(struct inv_parquet_column *c,
			 const struct inv_cast *cast, struct cells x)
{
	uint32_t numbers[INV_BATCH_ROWS], nodes[INV_BATCH_ROWS];
	uint32_t pids[INV_BATCH_ROWS], names[INV_BATCH_ROWS];

	get_numbers(numbers, x);
	for (unsigned i = 0; i < x.n; i++) {
		const struct inv_row_process *p =
			numbers[i] ? &cast->v[numbers[i] - 1] : NULL;

		nodes[i] = p ? p->node : 0;
		pids[i] = p && p->kind != INV_TOK_ATOM ? numbers[i] : 0;
		names[i] = p ? p->name : 0;
	}
	return inv_parquet_column_numbers(c + INV_PART_NODE, cast, nodes,
					  x.n) ||
	       inv_parquet_column_numbers(c + INV_PART_PID, cast, pids, x.n) ||
	       inv_parquet_column_numbers(c + INV_PART_NAME, cast, names, x.n);
}

static int put_functions(struct inv_parquet_column *c,
			 const struct inv_cast *cast, struct cells x)
{
	uint32_t levels[INV_BATCH_ROWS], modules[INV_BATCH_ROWS];
	uint32_t functions[INV_BATCH_ROWS], mfas[INV_BATCH_ROWS];
	int64_t arities[INV_BATCH_ROWS];

	get_numbers(levels, x);
	for (unsigned i = 0; i < x.n; i++) {
		const struct inv_row_function *f =
			levels[i] ? &cast->functions[levels[i] - 1] : NULL;

		levels[i] = f != NULL;
		modules[i] = f ? f->module : 0;
		functions[i] = f ? f->function : 0;
		arities[i] = f ? f->arity : 0;
		mfas[i] = f ? f->mfa : 0;
	}
	c += INV_PART_MODULE;
	if (inv_parquet_column_numbers(c, cast, modules, x.n))
		return INV_ENOMEM;
	c += INV_PART_FUNCTION - INV_PART_MODULE;
	if (inv_parquet_column_numbers(c, cast, functions, x.n))
		return INV_ENOMEM;
	c += INV_PART_ARITY - INV_PART_FUNCTION;
	if (inv_parquet_column_ints(c, arities, levels, x.n))
		return INV_ENOMEM;
	c += INV_PART_MFA - INV_PART_ARITY;
	return inv_parquet_column_numbers(c, cast, mfas, x.n);
}

static int put_nulls(struct inv_parquet_column *columns, unsigned parts,
		     unsigned n)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < parts; i++)
		rc = inv_parquet_column_nulls(&columns[i], n);
	return rc;
}

static int put_cells(const struct inv_batch *b, const struct inv_column *column,
		     const struct inv_cast *cast, struct inv_parquet_column *c,
		     struct cells x)
{
	switch (column->kind) {
	case INV_COLUMN_INT:
	case INV_COLUMN_TIME:
	case INV_COLUMN_BOOL:
		return put_ints(c, x);
	case INV_COLUMN_TEXT:
		return put_texts(c, x, b);
	case INV_COLUMN_PROCESS:
		return put_processes(c, cast, x);
	case INV_COLUMN_FUNCTION:
		return put_functions(c, cast, x);
	default:
		return put_words(c, cast, x);
	}
}

int inv_parquet_fill(struct inv_parquet_column *columns,
		     const struct inv_table *table, const struct inv_cast *cast,
		     const struct inv_batch *b)
{
	struct cells x = { .n = b->n, .stride = table->n };
	int rc = 0;

	for (unsigned i = 0; !rc && i < table->n; i++) {
		unsigned kinds = inv_batch_kinds(b, i);
		unsigned parts = inv_column_parts(&table->columns[i]);

		x.first = inv_batch_cell(b, 0, i);
		x.nulls = kinds & 1u << INV_CELL_NULL;
		if (kinds == 1u << INV_CELL_NULL)
			rc = put_nulls(columns, parts, b->n);
		else
			rc = put_cells(b, &table->columns[i], cast, columns, x);
		columns += parts;
	}
	return rc ? INV_ENOMEM : 0;
}
