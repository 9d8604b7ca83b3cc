/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/units.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/err.h"

struct number {
	const char *text;
	uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *),
		  const struct number *cases)
{
	for (; cases->text; cases++) {
		uint64_t v = 0;

		if (parse(cases->text, &v))
			fail_msg("%s is refused", cases->text);
		if (v != cases->value)
			fail_msg("%s is %llu", cases->text,
				 (unsigned long long)v);
	}
}

static void times_have_units(void **state)
{
	static const struct number cases[] = {
		{ "0", 0 },	    { "15", 15000 },	 { "500ms", 500 },
		{ "15s", 15000 },   { "1.5s", 1500 },	 { "2m", 120000 },
		{ "2min", 120000 }, { "1.5h", 5400000 }, { "1d", 86400000 },
		{ "0.25", 250 },    { NULL, 0 },
	};

	(void)state;
	check(inv_units_ms, cases);
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct number cases[] = {
		{ "0", 0 },	      { "4096", 4096 },
		{ "64k", 65536 },     { "64KiB", 65536 },
		{ "1.5M", 1572864 },  { "2mb", 2097152 },
		{ "1G", 1073741824 }, { "2.5gib", 2684354560 },
		{ NULL, 0 },
	};

	(void)state;
	check(inv_units_bytes, cases);
}

static void counts_are_powers_of_1000(void **state)
{
	static const struct number cases[] = {
		{ "0", 0 },	  { "100", 100 },    { "10k", 10000 },
		{ "1.5k", 1500 }, { "2M", 2000000 }, { NULL, 0 },
	};

	(void)state;
	check(inv_units_count, cases);
}

static void texts_that_are_no_number_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"s",
		"-1",
		"1x",
		"1 s",
		"1s2",
		"1.",
		".5",
		"1..5",
		"0x10",
		"+1",
		"ms",
		"99999999999999999999",
		NULL,
	};
	uint64_t v;

	(void)state;
	for (unsigned i = 0; bad[i]; i++) {
		assert_int_equal(inv_units_ms(bad[i], &v), INV_EINVAL);
		assert_int_equal(inv_units_bytes(bad[i], &v), INV_EINVAL);
		assert_int_equal(inv_units_count(bad[i], &v), INV_EINVAL);
	}
	assert_int_equal(inv_units_bytes("1152921504606846976G", &v),
			 INV_EINVAL);
}

static void numbers_are_printed_with_few_digits(void **state)
{
	static const struct number times[] = {
		{ "0 ms", 0 },
		{ "999 ms", 999 },
		{ "1 s", 1000 },
		{ "1.5 s", 1500 },
		{ "15 s", 15000 },
		{ "15 s", 14900 },
		{ "119 s", 119000 },
		{ "2 min", 120000 },
		{ "2 min 5 s", 125000 },
		{ "1 h", 3600000 },
		{ "25 h 1 min", 90060000 },
		{ NULL, 0 },
	};
	static const struct number sizes[] = {
		{ "0 B", 0 },
		{ "1023 B", 1023 },
		{ "1 KiB", 1024 },
		{ "1.5 KiB", 1536 },
		{ "256 MiB", 268435456 },
		{ "3 GiB", 3221225472 },
		{ NULL, 0 },
	};
	struct inv_buf b = { 0 };

	(void)state;
	for (unsigned i = 0; times[i].text; i++) {
		inv_buf_reset(&b);
		inv_units_put_ms(&b, times[i].value);
		inv_buf_put(&b, "", 1);
		assert_string_equal((char *)b.data, times[i].text);
	}
	for (unsigned i = 0; sizes[i].text; i++) {
		inv_buf_reset(&b);
		inv_units_put_bytes(&b, sizes[i].value);
		inv_buf_put(&b, "", 1);
		assert_string_equal((char *)b.data, sizes[i].text);
	}
	inv_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(counts_are_powers_of_1000),
		cmocka_unit_test(texts_that_are_no_number_are_refused),
		cmocka_unit_test(numbers_are_printed_with_few_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
