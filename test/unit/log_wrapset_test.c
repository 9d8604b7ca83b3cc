/* SPDX-License-Identifier: Apache-2.0 */
#include "log/wrapset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MAX 16

/* Checks the order in which the files were written. `order' has the indexes of
 * `names' as digits. */
static void assert_order(const char *const *names, const char *order)
{
	struct inv_wrap_name w[MAX] = { 0 };
	uint32_t index[MAX];
	char got[256] = "";
	uint32_t n = 0;

	for (; names[n]; n++) {
		assert_true(inv_wrap_name_parse(&w[n], names[n]));
		index[n] = n;
	}
	inv_wrap_sort(w, index, n);
	for (uint32_t i = 0; i < n; i++) {
		strncat(got, w[index[i]].name + w[index[i]].digits,
			w[index[i]].n_digits);
		strncat(got, " ", 2);
	}
	assert_string_equal(got, order);
}

static void a_set_is_ordered_from_its_gap_on(void **state)
{
	(void)state;
	assert_order((const char *const[]){ "w0.log", "w2.log", "w3.log", 0 },
		     "2 3 0 ");
	assert_order((const char *const[]){ "w3.log", "w0.log", "w1.log", 0 },
		     "3 0 1 ");
}

static void a_set_without_a_gap_is_ordered_by_number(void **state)
{
	(void)state;
	assert_order((const char *const[]){ "w2", "w0", "w1", 0 }, "0 1 2 ");
	assert_order((const char *const[]){ "w7", "w5", "w6", 0 }, "5 6 7 ");
}

/* Some digits of the number may be the same in all names. The original Inviso
 * crashed when it sorted such names. */
static void digits_shared_by_all_names_belong_to_the_number(void **state)
{
	(void)state;
	assert_order((const char *const[]){ "w11.log", "w1.log", 0 }, "1 11 ");
	assert_order((const char *const[]){ "w10.log", "w0.log", 0 }, "10 0 ");
	assert_order((const char *const[]){ "w9", "w10", "w8", "w0", "w1", 0 },
		     "8 9 10 0 1 ");
}

static void the_number_is_in_the_last_part_of_the_path(void **state)
{
	struct inv_wrap_name a, b;

	(void)state;
	assert_true(inv_wrap_name_parse(&a, "dir9/n2-w10.log"));
	assert_int_equal(a.number, 10);
	assert_true(inv_wrap_name_parse(&b, "dir9/n2-w7.log"));
	assert_true(inv_wrap_name_alike(&a, &b));
	assert_true(inv_wrap_name_parse(&b, "dir8/n2-w7.log"));
	assert_false(inv_wrap_name_alike(&a, &b));
	assert_true(inv_wrap_name_parse(&b, "dir9/n2-w7.txt"));
	assert_false(inv_wrap_name_alike(&a, &b));
	assert_false(inv_wrap_name_parse(&b, "dir9/file.log"));
	assert_false(inv_wrap_name_parse(&b, "w99999999999999999999999"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_is_ordered_from_its_gap_on),
		cmocka_unit_test(a_set_without_a_gap_is_ordered_by_number),
		cmocka_unit_test(
			digits_shared_by_all_names_belong_to_the_number),
		cmocka_unit_test(the_number_is_in_the_last_part_of_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
