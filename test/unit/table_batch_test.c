/* SPDX-License-Identifier: Apache-2.0 */
/* A batch contains copies of its rows and of their texts. It can be used
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "table/batch.h"

#define TABLE INV_TABLE_LOSSES

static struct inv_err err;

static void put_text(struct inv_cell *cell, const char *text)
{
	cell->kind = INV_CELL_TEXT;
	cell->text.p = (const uint8_t *)text;
	cell->text.n = strlen(text);
}

/* Adds rows with the numbers first, first + 1, ... The text of a row is its
 * number. The text's memory is overwritten for the next row. */
static void add(struct inv_batch *b, unsigned first, unsigned n)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	char text[32];

	for (unsigned i = 0; i < n; i++) {
		cells[INV_LOSSES_ID] = (struct inv_cell){
			.kind = INV_CELL_INT,
			.i = -(int64_t)(first + i),
		};
		cells[INV_LOSSES_NODE] = (struct inv_cell){
			.kind = INV_CELL_WORD,
			.number = first + i,
		};
		snprintf(text, sizeof(text), "%u", first + i);
		put_text(&cells[INV_LOSSES_REASON], text);
		assert_int_equal(
			inv_batch_add(b, &inv_tables[TABLE], cells, &err), 0);
	}
}

static void check(const struct inv_batch *b, unsigned row, unsigned number)
{
	const struct inv_batch_cell *c = inv_batch_cell(b, row, 0);
	char text[32];
	int n = snprintf(text, sizeof(text), "%u", number);

	assert_int_equal(c[INV_LOSSES_ID].kind, INV_CELL_INT);
	assert_int_equal(c[INV_LOSSES_ID].i, -(int64_t)number);
	assert_int_equal(c[INV_LOSSES_TS].kind, INV_CELL_NULL);
	assert_int_equal(c[INV_LOSSES_NODE].kind, INV_CELL_WORD);
	assert_int_equal(c[INV_LOSSES_NODE].number, number);
	assert_int_equal(c[INV_LOSSES_REASON].kind, INV_CELL_TEXT);
	assert_int_equal(c[INV_LOSSES_REASON].len, n);
	assert_memory_equal(inv_batch_text(b, &c[INV_LOSSES_REASON]), text,
			    (size_t)n);
}

static void rows_are_copied(void **state)
{
	struct inv_batch b = { 0 };

	(void)state;
	add(&b, 1, INV_BATCH_ROWS);
	assert_int_equal(b.n, INV_BATCH_ROWS);
	for (unsigned i = 0; i < INV_BATCH_ROWS; i++)
		check(&b, i, 1 + i);
	/* The next row's cell of the same column is b.width cells later. */
	assert_ptr_equal(inv_batch_cell(&b, 0, 2) + b.width,
			 inv_batch_cell(&b, 1, 2));
	assert_int_equal(inv_batch_kinds(&b, INV_LOSSES_ID),
			 1u << INV_CELL_INT);
	assert_int_equal(inv_batch_kinds(&b, INV_LOSSES_TS),
			 1u << INV_CELL_NULL);
	inv_batch_reset(&b);
	assert_int_equal(b.n, 0);
	assert_int_equal(inv_batch_kinds(&b, INV_LOSSES_ID), 0);
	add(&b, 1000, 3);
	for (unsigned i = 0; i < 3; i++)
		check(&b, i, 1000 + i);
	/* Each byte that malloc was asked for counts: cells, kinds and
	 * texts. */
	assert_int_equal(inv_batch_size(&b),
			 b.width * (INV_BATCH_ROWS * sizeof(*b.cells) + 1) +
				 b.texts.cap);
	inv_batch_release(&b);
	assert_int_equal(inv_batch_size(&b), 0);
	add(&b, 7, 1);
	check(&b, 0, 7);
	inv_batch_release(&b);
}

static void texts_can_be_empty(void **state)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	struct inv_batch b = { 0 };

	(void)state;
	cells[INV_LOSSES_REASON].kind = INV_CELL_TEXT; /* no pointer */
	assert_int_equal(inv_batch_add(&b, &inv_tables[TABLE], cells, &err), 0);
	assert_int_equal(inv_batch_cell(&b, 0, INV_LOSSES_REASON)->len, 0);
	assert_non_null(
		inv_batch_text(&b, inv_batch_cell(&b, 0, INV_LOSSES_REASON)));
	inv_batch_release(&b);
}

/* A row that does not fit is not in the batch, so no reader gets it. */
static void a_row_that_does_not_fit_is_not_there(void **state)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	struct inv_batch b = { 0 };

	(void)state;
	add(&b, 1, 2);
	cells[INV_LOSSES_REASON].kind = INV_CELL_TEXT;
	cells[INV_LOSSES_REASON].text.p = (const uint8_t *)"";
	cells[INV_LOSSES_REASON].text.n = INV_BATCH_TEXT_MAX + 1;
	assert_int_equal(inv_batch_add(&b, &inv_tables[TABLE], cells, &err),
			 INV_ETOOBIG);
	assert_non_null(strstr(err.text, "losses: a text is longer than 1 GB"));
	err = (struct inv_err){ 0 };
	assert_int_equal(b.n, 2);
	check(&b, 1, 2);
	inv_batch_release(&b);
}

static void large_texts_fill_it(void **state)
{
	struct inv_cell cells[INV_TABLE_COLUMNS_MAX] = { 0 };
	static uint8_t text[3 * INV_BATCH_TEXTS];
	struct inv_batch b = { 0 };
	size_t empty;

	(void)state;
	add(&b, 1, 2);
	empty = inv_batch_size(&b);
	assert_false(inv_batch_is_full(&b));
	cells[INV_LOSSES_REASON].kind = INV_CELL_TEXT;
	cells[INV_LOSSES_REASON].text.p = text;
	cells[INV_LOSSES_REASON].text.n = sizeof(text);
	assert_int_equal(inv_batch_add(&b, &inv_tables[TABLE], cells, &err), 0);
	assert_true(inv_batch_is_full(&b));
	inv_batch_reset(&b);
	assert_true(inv_batch_size(&b) <= empty);
	add(&b, 5, INV_BATCH_ROWS);
	assert_true(inv_batch_is_full(&b));
	inv_batch_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_copied),
		cmocka_unit_test(texts_can_be_empty),
		cmocka_unit_test(a_row_that_does_not_fit_is_not_there),
		cmocka_unit_test(large_texts_fill_it),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
