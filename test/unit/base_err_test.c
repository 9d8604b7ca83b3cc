/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EURO "\xe2\x82\xac"

static void each_caller_prepends_its_text(void **state)
{
	struct inv_err err = { 0 };

	(void)state;
	assert_int_equal(inv_err_sys(&err, 2, "open %s", "/x"), INV_EIO);
	assert_int_equal(inv_err_ctx(&err, "log %d", 7), INV_EIO);
	assert_string_equal(err.text, "log 7: open /x: No such file or "
				      "directory");
	assert_int_equal(inv_err_set(NULL, INV_EINVAL, "x"), INV_EINVAL);
}

/* The text is longer than the limit, so it is cut. In each round the text is
 * one byte further, so that the cut is at another byte of a character. */
static void a_text_that_is_too_long_ends_with_a_whole_character(void **state)
{
	char text[2 * sizeof(((struct inv_err *)0)->text)] = "";
	struct inv_err err = { 0 };
	size_t room = sizeof(err.text) - 1;

	(void)state;
	for (size_t i = 0; i + 4 < sizeof(text); i += 3)
		memcpy(text + i, EURO, 4);
	for (size_t before = 0; before < 4; before++) {
		inv_err_set(&err, INV_EINVAL, "%.*s%s", (int)before, "abc",
			    text);
		assert_int_equal(strlen(err.text),
				 before + (room - before) / 3 * 3);
		inv_err_set(&err, INV_EINVAL, "%s", text);
		inv_err_ctx(&err, "%.*s", (int)before, "abc");
		assert_int_equal(strlen(err.text),
				 before + 2 + (room - before - 2) / 3 * 3);
	}
	inv_err_set(&err, INV_EINVAL, "%s", EURO);
	assert_string_equal(err.text, EURO);
	inv_err_set(&err, INV_EINVAL, "%s", "");
	assert_string_equal(err.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_caller_prepends_its_text),
		cmocka_unit_test(
			a_text_that_is_too_long_ends_with_a_whole_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
