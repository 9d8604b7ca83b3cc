/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/when.h"

#define S INT64_C(1000000000)
/* 2026-11-21 10:37:44 UTC */
#define THEN (INT64_C(1795257464) * S)

static void is(const char *text, int64_t day_ns, int64_t expected)
{
	struct inv_when w;

	assert_int_equal(inv_when_parse(&w, text, NULL), 0);
	assert_int_equal(inv_when_ns(&w, true, day_ns, 0), expected);
}

static void refused(const char *text)
{
	struct inv_err err = { 0 };
	struct inv_when w;

	assert_int_equal(inv_when_parse(&w, text, &err), INV_EINVAL);
	assert_non_null(strstr(err.text, "2026-11-21T10:37:44.5"));
}

static void times_of_all_forms_are_understood(void **state)
{
	(void)state;
	is("2026-11-21T10:37:44Z", 0, THEN);
	is("2026-11-21 10:37:44", 0, THEN);
	is("2026-11-21T10:37", 0, THEN - 44 * S);
	is("2026-11-21", 0, THEN - (10 * 3600 + 37 * 60 + 44) * S);
	is("2026-11-21T10:37:44.000000001Z", 0, THEN + 1);
	is("2026-11-21T12:37:44.5+02:00", 0, THEN + S / 2);
	is("2026-11-21T09:07:44-0130", 0, THEN);
	is("1795257464", 0, THEN);
	is("1795257464.25", 0, THEN + S / 4);
	is("0", 0, 0);
	is("10:37:44", THEN + 5 * 3600 * S, THEN);
	is("10:37:44.5", THEN - 10 * 3600 * S, THEN + S / 2);
	/* In a time zone that is two hours ahead, this time is on the next
	 * day. */
	is("00:30:00+02:00", THEN + 12 * 3600 * S,
	   THEN + (11 * 3600 + 52 * 60 + 16) * S);
}

static void a_time_of_the_next_day_is_later(void **state)
{
	struct inv_when w;

	(void)state;
	assert_int_equal(inv_when_parse(&w, "10:37:44", NULL), 0);
	assert_true(inv_when_needs_day(&w));
	assert_int_equal(inv_when_ns(&w, true, THEN, 1), THEN + 24 * 3600 * S);
}

static void local_times_are_of_the_zone(void **state)
{
	struct inv_when w;

	(void)state;
	assert_int_equal(setenv("TZ", "TST-3", 1), 0); /* UTC+3 */
	tzset();
	assert_int_equal(inv_when_parse(&w, "2026-11-21T13:37:44", NULL), 0);
	assert_int_equal(inv_when_ns(&w, false, 0, 0), THEN);
	assert_int_equal(inv_when_ns(&w, true, 0, 0), THEN + 3 * 3600 * S);
	/* 23:30 UTC is on the next day in this time zone. */
	assert_int_equal(inv_when_parse(&w, "13:37:44", NULL), 0);
	assert_int_equal(inv_when_ns(&w, false, THEN - 12 * 3600 * S, 0), THEN);
}

static void texts_that_are_no_time_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"now",
		"10:60:00",
		"24:00:00",
		"10:37:44.",
		"1:00:00",
		"2026-13-01",
		"2026-02-31",
		"2026-11-21T",
		"2026-1-1",
		"12345678901",
		"10:37:44 pm",
		"10:37:44+1:00",
		"2026-11-21X",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		refused(texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_all_forms_are_understood),
		cmocka_unit_test(a_time_of_the_next_day_is_later),
		cmocka_unit_test(local_times_are_of_the_zone),
		cmocka_unit_test(texts_that_are_no_time_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
