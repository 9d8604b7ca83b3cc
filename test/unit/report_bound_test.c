/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parts of a report that have a bound: the rows that are added up,
 * the list of the highest values, and the bins of the timeline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/keyed.h"
#include "report/timeline.h"
#include "report/top.h"
#include "term/cursor.h"

#define MOST 64u

static struct inv_keyed_row *get(struct inv_keyed *t, uint64_t key)
{
	const uint64_t k[INV_KEYED_PARTS] = { key, key ^ 7, 0, 1 };
	struct inv_keyed_row *row = inv_keyed_get(t, k);

	assert_non_null(row);
	return row;
}

/* Each key K is added K times. Only the rows with the largest counts remain,
 * but the sum of all counts stays right. */
static void rows_are_added_up(void **state)
{
	struct inv_keyed t = { 0 };
	uint64_t sum = 0, times = 0, n = 0;

	(void)state;
	inv_keyed_init(&t, MOST);
	for (uint64_t key = 1; key <= 500; key++)
		for (uint64_t i = 0; i < key; i++, n++) {
			struct inv_keyed_row *row = get(&t, key);

			row->v[0]++;
			row->v[INV_KEYED_MAX] = key;
			assert_int_equal(inv_keyed_time(row, key), 0);
			assert_true(t.n <= MOST);
		}
	for (size_t i = 0; i < t.n; i++) {
		sum += t.rows[i].v[0];
		times += t.rows[i].times->n;
	}
	assert_true(t.pruned > 0);
	assert_int_equal(sum + t.others.v[0], n);
	assert_int_equal(times + t.others.times->n, n);
	assert_true(t.others.v[INV_KEYED_MAX] < 500);
	inv_keyed_sort(&t, 0, 0);
	for (uint64_t i = 0; i < 30; i++) {
		assert_int_equal(t.rows[i].key[0], 500 - i);
		assert_int_equal(t.rows[i].v[0], 500 - i);
	}
	inv_keyed_release(&t);
}

static void highest_values_are_kept(void **state)
{
	struct inv_top t = { .most = 10 };

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		struct inv_top_entry *e;

		/* The values are 0 to 499, each of them twice, in a mixed
		 * order. */
		if (!inv_top_admits(&t, i * 7919 % 500))
			continue;
		e = malloc(sizeof(*e));
		assert_non_null(e);
		*e = (struct inv_top_entry){ i * 7919 % 500, (uint64_t)i };
		assert_int_equal(inv_top_add(&t, e), 0);
	}
	inv_top_sort(&t);
	assert_int_equal(t.seen, 1000);
	assert_int_equal(t.n, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(t.v[i]->value, 499 - i / 2);
	inv_top_release(&t);
}

/* The number of bins is fixed. Each event is counted in a bin, even if the
 * recorded time is long. */
static void bins_become_longer(void **state)
{
	static struct inv_timeline t;
	struct inv_row_process process[5000];
	const struct inv_cast cast = { .v = process, .n = 5000 };
	uint64_t all = 0, of_lanes = 0;

	(void)state;
	memset(process, 0, sizeof(process));
	for (uint32_t i = 0; i < 5000; i++)
		process[i] = (struct inv_row_process){ .number = i,
						       .kind = INV_TOK_PID };
	assert_int_equal(inv_timeline_init(&t), 0);
	for (int64_t i = 0; i < 10000; i++) {
		const struct inv_slice s = { .top = { .value = i },
					     .begin_ns = i };
		uint32_t w = (uint32_t)(i % 5000) + 1;

		assert_int_equal(
			inv_timeline_event(&t, &cast, w, 1000 + i * i * i), 0);
		assert_int_equal(inv_timeline_slice(&t, &cast, w, &s), 0);
	}
	/* a time before the first event, and a time as late as possible */
	assert_int_equal(inv_timeline_event(&t, &cast, 0, INT64_MIN), 0);
	assert_int_equal(inv_timeline_event(&t, &cast, 0, INT64_MAX), 0);
	for (uint32_t i = 0; i < INV_TIMELINE_BINS; i++) {
		all += t.all[i].events;
		for (uint32_t k = 0; k < t.n_lanes; k++)
			of_lanes += t.lanes[k].bins[i];
	}
	assert_int_equal(all, 10002);
	assert_int_equal(t.n_lanes, INV_TIMELINE_LANES);
	assert_int_equal(of_lanes, 2 * INV_TIMELINE_LANES);
	assert_int_equal(t.slices.n + t.unlaned, 10000);
	assert_int_equal(t.unlaned, 2 * (5000 - INV_TIMELINE_LANES));
	inv_timeline_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_added_up),
		cmocka_unit_test(highest_values_are_kept),
		cmocka_unit_test(bins_become_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
