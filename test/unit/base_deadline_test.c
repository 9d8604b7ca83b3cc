/* SPDX-License-Identifier: Apache-2.0 */
#include "base/deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t with(const char *text)
{
	if (text)
		assert_int_equal(setenv("INVISO_TEST_DEADLINES", text, 1), 0);
	else
		assert_int_equal(unsetenv("INVISO_TEST_DEADLINES"), 0);
	return inv_deadline(6000);
}

static void a_test_can_shorten_deadlines(void **state)
{
	(void)state;
	assert_int_equal(with("only in tests: 1/1"), 6000);
	assert_int_equal(with("only in tests: 1/5"), 1200);
	assert_int_equal(with("only in tests: 1/10"), 600);
}

static void other_values_do_not_shorten_deadlines(void **state)
{
	static const char *const other[] = {
		NULL,
		"",
		"5",
		"1/5",
		"only in tests: 1/",
		"only in tests: 1/0",
		"only in tests: 1/11",
		"only in tests: 1/-5",
		"only in tests: 1/5 ",
		"Only in tests: 1/5",
		"only in tests: 1/99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		assert_int_equal(with(other[i]), 6000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_test_can_shorten_deadlines),
		cmocka_unit_test(other_values_do_not_shorten_deadlines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
