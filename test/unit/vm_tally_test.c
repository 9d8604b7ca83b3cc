/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/tally.h"

#define PARTS 3u

static struct inv_tally *t;

/* Returns the key of a function m:N/2, with words of the form that the VM uses
 * for atoms. */
static struct inv_tally_key key(uint64_t number)
{
	return (struct inv_tally_key){ 7 << 6 | 11, number << 6 | 11,
				       INV_COUNT_FUNCTION | 2 << 8 };
}

static void add(uint32_t part, uint64_t number, uint64_t times)
{
	struct inv_tally_part *p = &t->parts[part];
	struct inv_tally_key k = key(number);

	for (; times > 0; times--) {
		struct inv_tally_cell *c = inv_tally_find(p, &k);

		inv_tally_add(p, c ? c : inv_tally_claim(p, &k));
	}
}

struct rows {
	uint64_t n; /* how many keys were read */
	uint64_t sum;
	uint64_t others, total;
	uint64_t last; /* count of the last key */
	uint64_t end;  /* kind of the last row that was read */
};

/* Reads all rows, in pieces of at most `piece' cells. */
static struct rows rows(bool all, uint32_t piece)
{
	struct rows r = { 0 };
	struct inv_tally_row row;
	uint64_t at = 0;

	while (at != UINT64_MAX) {
		uint32_t cells = piece;

		while (inv_tally_next(t, &at, all, &cells, &row)) {
			r.end = row.key.kind;
			if (row.key.kind == INV_COUNT_TOTAL) {
				r.total = row.n;
			} else if (row.key.kind == INV_COUNT_OTHERS) {
				r.others = row.n;
			} else {
				r.n++;
				r.sum += row.n;
				r.last = row.n;
			}
		}
		assert_true(at == UINT64_MAX || cells == 0);
	}
	return r;
}

static int set_up(void **state)
{
	(void)state;
	t = inv_tally_make(PARTS, INV_COUNT_FUNCTION);
	return t ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	inv_tally_free(t);
	return 0;
}

static void adds_up_the_threads(void **state)
{
	struct rows r;

	(void)state;
	add(0, 1, 10);
	add(1, 1, 5);
	add(2, 2, 7);
	add(1, 3, 1);
	r = rows(false, 1000);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.sum, 23);
	assert_int_equal(r.total, 23);
	assert_int_equal(r.others, 0);
}

static void returns_what_has_changed(void **state)
{
	struct rows r;

	(void)state;
	add(0, 1, 10);
	add(2, 2, 7);
	(void)rows(false, 1000);
	r = rows(false, 1000);
	assert_int_equal(r.n, 0);
	/* Each reading ends with the row of the total, even if no count has
	 * changed. */
	assert_int_equal(r.total, 17);
	assert_int_equal(r.end, INV_COUNT_TOTAL);
	add(1, 1, 2);
	r = rows(false, 1000);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.last, 12);
	assert_int_equal(r.total, 19);
	r = rows(true, 1000);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.sum, 19);
	assert_int_equal(r.end, INV_COUNT_TOTAL);
}

/* Thread 2 counts the key first. Later thread 0 also counts the key, and the
 * row has the sum of both threads. */
static void a_key_of_an_earlier_thread(void **state)
{
	struct rows r;

	(void)state;
	add(2, 9, 4);
	(void)rows(false, 1000);
	add(0, 9, 1);
	r = rows(false, 1000);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.last, 5);
}

/* Two keys are different if they differ in a word, in the kind or in the arity.
 * They are different even if they have the same hash. */
static void keys_differ(void **state)
{
	struct inv_tally_part *p = &t->parts[0];
	struct inv_tally_key k[3];
	uint64_t i, j;

	(void)state;
	for (i = 1; i <= 1300; i++) {
		k[0] = k[1] = k[2] = key(0);
		k[0].word += i;
		k[1].name += i;
		k[2].kind += i << 8;
		for (j = 0; j < 3; j++) {
			assert_null(inv_tally_find(p, &k[j]));
			inv_tally_add(p, inv_tally_claim(p, &k[j]));
		}
	}
	assert_int_equal(rows(true, 1000).n, 3900);
}

static void beyond_the_bound(void **state)
{
	uint64_t more = INV_TALLY_KEYS + 100;
	struct rows r;

	(void)state;
	for (uint64_t i = 0; i < more; i++)
		add(1, i, 2);
	add(0, 5, 1);
	r = rows(true, 777);
	assert_int_equal(r.n + r.others / 2, more);
	assert_true(r.n <= INV_TALLY_KEYS && r.n > INV_TALLY_KEYS - 10);
	assert_true(r.others >= 200);
	assert_int_equal(r.sum + r.others, 2 * more + 1);
	assert_int_equal(r.total, 2 * more + 1);
	/* No cell is free. A key that has a cell already is still counted in
	 * this cell. */
	add(1, 0, 1);
	assert_int_equal(rows(false, 777).n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(adds_up_the_threads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(returns_what_has_changed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_key_of_an_earlier_thread,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(beyond_the_bound, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
