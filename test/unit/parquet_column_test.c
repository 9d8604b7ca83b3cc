/* SPDX-License-Identifier: Apache-2.0 */
/* A test adds values to a column, one or several at a time. For NULLs there is
 * a separate function. How the values were added must not change the bytes that
 * the column writes. */
#include "parquet/column.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#define ROWS 1000u
#define WORDS 5u

static int64_t values[ROWS];
static uint32_t levels[ROWS], numbers[ROWS];
static struct inv_cast cast;

/* Chooses the values. NULLs and equal values come in runs. */
static void choose(unsigned seed)
{
	srand(seed);
	for (unsigned i = 0; i < ROWS;) {
		unsigned run = 1 + (unsigned)rand() % 100;
		uint32_t number = (uint32_t)rand() % (WORDS + 1);

		for (; run && i < ROWS; run--, i++) {
			if (seed % 3 == 0) /* no runs */
				number = (uint32_t)rand() % (WORDS + 1);
			if (seed % 3 == 1 && !number) /* no NULL */
				number = 1;
			numbers[i] = number;
			levels[i] = number != 0;
			values[i] = number ? rand() - RAND_MAX / 2 : 0;
		}
	}
}

static unsigned count(unsigned i, unsigned n)
{
	unsigned set = 0;

	for (unsigned k = i; k < i + n; k++)
		set += levels[k];
	return set;
}

/* Adds rows i to i + n - 1. If `apart' is true, uses the functions for special
 * cases: all rows are NULL, or no row is NULL. */
static void add(struct inv_parquet_column *c, unsigned i, unsigned n,
		bool apart)
{
	unsigned set = count(i, n);
	int rc;

	if (apart && !set)
		rc = inv_parquet_column_nulls(c, n);
	else if (c->kind == INV_PARQUET_WORD)
		rc = inv_parquet_column_numbers(c, &cast, numbers + i, n);
	else if (apart && set == n)
		rc = inv_parquet_column_ints(c, values + i, NULL, n);
	else
		rc = inv_parquet_column_ints(c, values + i, levels + i, n);
	assert_int_equal(rc, 0);
}

/* Adds all rows, at most `most' at a time, and writes the column. */
static void write_column(uint8_t kind, unsigned most, bool apart,
			 struct inv_buf *out, struct inv_parquet_chunk *chunk)
{
	struct inv_parquet_column c = { .kind = kind };
	struct inv_buf spare = { 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	for (unsigned i = 0, n; i < ROWS; i += n) {
		n = 1 + (unsigned)rand() % most;
		if (n > ROWS - i)
			n = ROWS - i;
		add(&c, i, n, apart);
	}
	assert_int_equal(
		inv_parquet_column_write(&c, out, 0, &spare, zstd, chunk), 0);
	ZSTD_freeCCtx(zstd);
	inv_buf_release(&spare);
	inv_parquet_column_release(&c);
}

static void all_at_a_time_or_one(void **state)
{
	static const uint8_t kinds[] = { INV_PARQUET_INT, INV_PARQUET_BOOL,
					 INV_PARQUET_WORD };
	static const char *const words[WORDS] = { "a", "b", "c", "d", "e" };

	(void)state;
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(inv_words_add(&cast.words, words[i], 1),
				 i + 1);
	for (unsigned seed = 1; seed <= 30; seed++)
		for (size_t k = 0; k < sizeof(kinds); k++) {
			struct inv_parquet_chunk one, many;
			struct inv_buf a = { 0 }, b = { 0 };

			choose(seed);
			write_column(kinds[k], 1, false, &a, &one);
			write_column(kinds[k], 64, true, &b, &many);
			assert_int_equal(a.len, b.len);
			assert_memory_equal(a.data, b.data, a.len);
			assert_int_equal(one.values, ROWS);
			assert_int_equal(one.nulls, ROWS - count(0, ROWS));
			assert_int_equal(many.nulls, one.nulls);
			assert_int_equal(many.bounds, one.bounds);
			assert_true(many.least == one.least &&
				    many.most == one.most);
			inv_buf_release(&a);
			inv_buf_release(&b);
		}
	inv_cast_release(&cast);
}

/* The bounds of a column are its smallest and its largest value. This is also
 * true if all values are above or below 0. */
static void bounds_are_of_the_values(void **state)
{
	static const int64_t ends[][2] = {
		{ 5, 9 }, { -9, -5 }, { INT64_MIN, INT64_MAX }, { 0, 0 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct inv_parquet_column c = { .kind = INV_PARQUET_INT };
		int64_t v[] = { ends[i][1], 0, ends[i][0] };
		uint32_t set[] = { 1, 0, 1 };

		assert_int_equal(inv_parquet_column_nulls(&c, 3), 0);
		assert_int_equal(inv_parquet_column_ints(&c, v, set, 3), 0);
		assert_true(c.least == ends[i][0] && c.most == ends[i][1]);
		inv_parquet_column_release(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_at_a_time_or_one),
		cmocka_unit_test(bounds_are_of_the_values),
	};

	return cmocka_run_group_tests_name("column", tests, NULL, NULL);
}
