/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow/histogram.h"
#include "sink/draw.h"
#include "sink/duration.h"
#include "sink/number.h"

static struct inv_histogram h;

static int tear_down(void **state)
{
	(void)state;
	inv_histogram_release(&h);
	return 0;
}

/* Counts a value in its bucket, as a node does. */
static void put(struct inv_histogram *out, uint64_t v)
{
	uint64_t block[INV_BUCKETS] = { 0 };
	uint32_t bucket;
	uint32_t b = inv_buckets_of(v, &bucket);

	for (uint32_t i = 0; i < INV_BUCKETS; i++)
		block[i] = inv_histogram_at(out, b, i);
	block[bucket]++;
	if (!out->n || v < out->min)
		out->min = v;
	if (v > out->max)
		out->max = v;
	out->sum += v;
	assert_int_equal(inv_histogram_set(out, b, block, INV_BUCKETS), 0);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#define VALUES 20000u

/* The values range from 1 to 2^40. Compares each quantile of the histogram with
 * the quantile of the sorted values. */
static void quantiles(void **state)
{
	static uint64_t v[VALUES];
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (uint32_t i = 0; i < VALUES; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		v[i] = (seed & ((UINT64_C(1) << 40) - 1)) >> (seed >> 58) % 40;
		put(&h, v[i]);
	}
	qsort(v, VALUES, sizeof(*v), compare);
	assert_int_equal(h.n, VALUES);
	for (unsigned part = 0; part <= 1000; part++) {
		uint32_t rank = (VALUES * part + 999) / 1000;
		uint64_t is = v[rank ? rank - 1 : 0];
		uint64_t got = inv_histogram_quantile(&h, part);
		uint64_t off = got > is ? got - is : is - got;

		assert_true(off * 64 <= is);
	}
}

static void few_values(void **state)
{
	(void)state;
	assert_int_equal(inv_histogram_quantile(&h, 500), 0);
	put(&h, 1000003);
	for (unsigned part = 0; part <= 1000; part += 250)
		assert_int_equal(inv_histogram_quantile(&h, part), 1000003);
	put(&h, 5);
	assert_int_equal(inv_histogram_quantile(&h, 500), 5);
	assert_int_equal(inv_histogram_quantile(&h, 501), 1000003);
	put(&h, UINT64_MAX);
	assert_true(inv_histogram_quantile(&h, 1000) >=
		    UINT64_MAX - UINT64_MAX / 64);
}

static void adding(void **state)
{
	struct inv_histogram other = { 0 };

	(void)state;
	assert_int_equal(inv_histogram_add(&h, &other), 0);
	assert_int_equal(h.n, 0);
	put(&h, 100);
	put(&h, 7);
	other.unpaired = 3;
	/* `other' has only calls without a time. So the lowest time of `h' does
	 * not change. */
	assert_int_equal(inv_histogram_add(&h, &other), 0);
	assert_int_equal(h.min, 7);
	assert_int_equal(h.unpaired, 3);
	put(&other, 100);
	put(&other, 5000);
	assert_int_equal(inv_histogram_add(&h, &other), 0);
	assert_int_equal(h.n, 4);
	assert_int_equal(h.unpaired, 6);
	assert_int_equal(h.sum, 5207);
	assert_int_equal(h.min, 7);
	assert_int_equal(h.max, 5000);
	assert_int_equal(inv_histogram_at(&h, 2, 18), 2);
	inv_histogram_release(&other);
}

/* The notes with the blocks of a histogram may come in any order, and a damaged
 * log may contain any numbers. */
static void blocks(void **state)
{
	uint64_t v[INV_BUCKETS + 1] = { 4, 2 };

	(void)state;
	assert_int_equal(inv_histogram_set(&h, 3, v, 2), 0);
	v[0] = 1;
	v[2] = 9;
	assert_int_equal(inv_histogram_set(&h, 3, v, 3), 0);
	assert_int_equal(h.n, 15);
	assert_int_equal(inv_histogram_at(&h, 3, 0), 4);
	assert_true(inv_histogram_set(&h, INV_BUCKETS_BLOCKS, v, 1) < 0);
	assert_true(inv_histogram_set(&h, UINT64_MAX, v, 1) < 0);
	assert_true(inv_histogram_set(&h, 3, v, INV_BUCKETS + 1) < 0);
	assert_int_equal(h.n, 15);
}

/* --- drawing ----------------------------------------------------------------- */

/* Draws the histogram, checks the form of its lines, and returns their
 * number. */
static unsigned drawn(void)
{
	struct inv_buf b = { 0 };
	unsigned lines = 0;
	uint64_t all = 0;
	char *save = NULL;

	inv_draw_histogram(&h, inv_duration_short, &b);
	inv_buf_putc(&b, 0);
	assert_int_equal(b.error, 0);
	for (char *l = strtok_r((char *)b.data, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save)) {
		uint64_t n;

		lines++;
		if (!strcmp(l, "        ..."))
			continue;
		assert_in_range(strlen(l), 40, 80);
		n = strtoull(l + 22, NULL, 10);
		assert_true((n > 0) == (strchr(l, '#') != NULL));
		all += n;
	}
	assert_int_equal(all, h.n);
	inv_buf_release(&b);
	return lines;
}

static void drawing(void **state)
{
	(void)state;
	assert_int_equal(drawn(), 0);
	put(&h, 0);
	assert_int_equal(drawn(), 1);
	/* The value of 2^53 ns (104 days) has a line. Before this line there is
	 * a line for the gap. */
	put(&h, UINT64_C(1) << 53);
	assert_int_equal(drawn(), 3);
	for (unsigned i = 0; i < 53; i++)
		for (unsigned n = 0; n < i; n++)
			put(&h, (UINT64_C(1) << i) + i);
	assert_in_range(drawn(), 12, 24);
}

/* All values are within a factor of two. They are still drawn in several
 * lines. */
static void narrow(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		put(&h, 1000000 + 10000 * i);
	assert_in_range(drawn(), 8, 24);
}

static void short_times(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 us" },
		{ 1004, "1.00 us" },
		{ 1005, "1.01 us" },
		{ 9994, "9.99 us" },
		{ 9995, "10.0 us" },
		{ 99949, "99.9 us" },
		{ 99950, "100 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" },
		{ 12345678, "12.3 ms" },
		{ 59999999999, "60.0 s" },
		{ 1234567890123, "1235 s" },
		{ UINT64_MAX, "18446744074 s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct inv_buf b = { 0 };

		inv_duration_short(cases[i].ns, &b);
		inv_buf_putc(&b, 0);
		assert_string_equal((const char *)b.data, cases[i].text);
		inv_buf_release(&b);
	}
}

static void short_numbers(void **state)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 9999999, "9999999" },
		{ 10000000, "10.0M" },
		{ 12345678, "12.3M" },
		{ 123456789, "123M" },
		{ 999999999, "999M" },
		{ 1020000000, "1.02G" },
		{ INT64_MAX, "9.22E" },
		{ UINT64_MAX, "18.4E" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct inv_buf b = { 0 };

		inv_number_short(cases[i].n, &b);
		inv_buf_putc(&b, 0);
		assert_string_equal((const char *)b.data, cases[i].text);
		inv_buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(quantiles, tear_down),
		cmocka_unit_test_teardown(few_values, tear_down),
		cmocka_unit_test_teardown(adding, tear_down),
		cmocka_unit_test_teardown(blocks, tear_down),
		cmocka_unit_test_teardown(drawing, tear_down),
		cmocka_unit_test_teardown(narrow, tear_down),
		cmocka_unit_test(short_times),
		cmocka_unit_test(short_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
