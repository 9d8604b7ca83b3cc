/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/times.h"

#define PARTS 3u

static struct inv_tally *keys;
static struct inv_times *t;
static struct inv_times_sum sum;

static struct inv_tally_key key(uint64_t number)
{
	return (struct inv_tally_key){ 7 << 6 | 11, number << 6 | 11,
				       INV_COUNT_FUNCTION | 2 << 8 };
}

/* Adds a value as a thread does at the end of a call. */
static void add(uint32_t part, uint64_t number, uint64_t ns)
{
	struct inv_tally_part *p = &keys->parts[part];
	struct inv_times_part *q = &t->parts[part];
	struct inv_tally_key k = key(number);
	struct inv_tally_cell *c = inv_tally_find(p, &k);

	if (!c)
		c = inv_tally_claim(p, &k);
	if (!inv_times_add(q, inv_times_row(q, p, c), ns)) {
		c = NULL;
		assert_true(inv_times_add(q, inv_times_row(q, p, c), ns));
	}
	inv_tally_add(p, c);
}

static uint64_t count(const struct inv_times_sum *s)
{
	uint64_t n = 0;

	for (unsigned b = 0; b < INV_BUCKETS_BLOCKS; b++)
		for (unsigned i = 0; i < INV_BUCKETS; i++)
			n += s->n[b][i];
	return n;
}

static void read_key(uint64_t number)
{
	struct inv_tally_key k = key(number);

	inv_times_read(t, keys, &k, &sum);
}

static int set_up(void **state)
{
	(void)state;
	keys = inv_tally_make(PARTS, INV_COUNT_FUNCTION);
	t = inv_times_make(PARTS);
	return keys && t ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	inv_times_free(t);
	inv_tally_free(keys);
	return 0;
}

/* Each value is in the bucket that inv_buckets_of returns. The middle of the
 * bucket differs from the value by at most 1.6 %. */
static void buckets(void **state)
{
	uint64_t width, low, v;
	uint32_t block, bucket;

	(void)state;
	for (unsigned shift = 0; shift < 64; shift++) {
		for (unsigned more = 0; more < 100; more++) {
			v = (UINT64_C(1) << shift) +
			    ((UINT64_C(1) << shift) / 100) * more;
			block = inv_buckets_of(v, &bucket);
			assert_in_range(block, 0, INV_BUCKETS_BLOCKS - 1);
			assert_in_range(bucket, 0, INV_BUCKETS - 1);
			low = inv_buckets_low(block, bucket, &width);
			assert_true(v >= low && v - low < width);
			assert_true(width / 2 <= v / 64);
		}
	}
	assert_int_equal(inv_buckets_of(0, &bucket), 0);
	assert_int_equal(bucket, 0);
	assert_int_equal(inv_buckets_of(UINT64_MAX, &bucket),
			 INV_BUCKETS_BLOCKS - 1);
	assert_int_equal(bucket, INV_BUCKETS - 1);
}

static void adds_up_the_threads(void **state)
{
	uint32_t bucket;
	uint32_t block = inv_buckets_of(1000, &bucket);

	(void)state;
	add(0, 1, 1000);
	add(1, 1, 1000);
	add(2, 1, 70000);
	add(2, 2, 5);
	add(1, 1, 0);
	read_key(1);
	assert_int_equal(count(&sum), 4);
	assert_int_equal(sum.n[block][bucket], 2);
	assert_int_equal(sum.n[0][0], 1);
	assert_int_equal(sum.min, 0);
	assert_int_equal(sum.max, 70000);
	assert_int_equal(sum.sum, 72000);
	read_key(2);
	assert_int_equal(count(&sum), 1);
	assert_int_equal(sum.min, 5);
	assert_int_equal(sum.max, 5);
	read_key(3);
	assert_int_equal(count(&sum), 0);
	assert_true(sum.min == UINT64_MAX);
}

static void calls_without_a_time(void **state)
{
	struct inv_tally_part *p = &keys->parts[1];
	struct inv_times_part *q = &t->parts[1];
	struct inv_tally_key k = key(4);
	struct inv_tally_cell *c = inv_tally_claim(p, &k);

	(void)state;
	inv_times_unpaired(inv_times_row(q, p, c));
	inv_tally_add(p, c);
	add(0, 4, 9);
	read_key(4);
	assert_int_equal(sum.unpaired, 1);
	assert_int_equal(count(&sum), 1);
}

/* If no block is free for a value, or if the key has no cell, the value goes
 * into the row of the kind INV_COUNT_OTHERS. No value is lost. */
static void beyond_the_bound(void **state)
{
	const struct inv_tally_key others = { .kind = INV_COUNT_OTHERS };
	uint64_t all = 0, n = INV_TIMES_BLOCKS / 2 + 10, v;

	(void)state;
	/* Each key needs three blocks. */
	for (uint64_t i = 0; i < n; i++)
		for (unsigned j = 0; j < 3; j++)
			add(0, i, UINT64_C(100) << 3 * j);
	inv_times_read(t, keys, &others, &sum);
	v = count(&sum);
	assert_true(v >= 3 * n - INV_TIMES_BLOCKS);
	assert_int_equal(sum.unpaired, 0);
	for (uint64_t i = 0; i < n; i++) {
		read_key(i);
		all += count(&sum);
	}
	assert_int_equal(all + v, 3 * n);
	assert_int_equal(all, INV_TIMES_BLOCKS);
	/* A second thread has its own blocks, so its value is still added to
	 * key 0. */
	add(1, 0, UINT64_C(1) << 50);
	read_key(0);
	assert_true(sum.max == UINT64_C(1) << 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(buckets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(adds_up_the_threads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(calls_without_a_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(beyond_the_bound, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
