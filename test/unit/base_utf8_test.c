/* SPDX-License-Identifier: Apache-2.0 */
/* inv_utf8_valid tests 8 bytes at a time, and inv_utf8_get reads one character
 * at a time. Both must find the same invalid characters, at whatever place in
 * the 8 bytes they are. */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LEN 40

static bool valid(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	unsigned n;

	for (; p < end; p += n)
		if (inv_utf8_get(p, end, &n) == INV_CHAR_BAD)
			return false;
	return true;
}

static void a_character_is_found_anywhere(void **state)
{
	static const char *const parts[] = {
		"\x7f",		"\x80",	    "\xc3\xa5",		"\xc3",
		"\xe2\x82\xac", "\xe2\x82", "\xf0\x9f\x98\x80", "\xf0\x9f\x98",
		"\xed\xa0\x80", "\xff",
	};
	unsigned bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i]);

		for (size_t at = 0; at + n <= LEN; at++) {
			uint8_t text[LEN];

			memset(text, 'a', sizeof(text));
			memcpy(text + at, parts[i], n);
			for (size_t from = 0; from < 9; from++)
				for (size_t to = LEN - 9; to <= LEN; to++) {
					bool is = valid(text + from, to - from);

					bad += !is;
					assert_true(inv_utf8_valid(text + from,
								   to - from) ==
						    is);
				}
		}
	}
	assert_true(bad > 1000);
}

static void nothing_is_valid(void **state)
{
	(void)state;
	assert_true(inv_utf8_valid(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_character_is_found_anywhere),
		cmocka_unit_test(nothing_is_valid),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
