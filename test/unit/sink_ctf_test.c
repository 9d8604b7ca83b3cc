/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of the Common Trace Format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "sink/ctf_stream.h"

static void becomes(const char *text, size_t len, size_t most, const char *want)
{
	struct inv_buf b = { 0 };

	inv_ctf_text(&b, text, len, most);
	assert_int_equal(b.error, 0);
	assert_int_equal(b.len, strlen(want) + 1);
	assert_string_equal((const char *)b.data, want);
	inv_buf_release(&b);
}

static void control_characters_are_escaped(void **state)
{
	(void)state;
	becomes("a\0b", 3, 100, "a\\x{0}b");
	becomes("\n\x1b[31m\x7f", 7, 100, "\\x{a}\\x{1b}[31m\\x{7f}");
	becomes("\xc2\x9b", 2, 100, "\\x{9b}");
	becomes("\xe2\x80\xae", 3, 100, "\\x{202e}");
	becomes("caf\xc3\xa9", 5, 100, "caf\xc3\xa9");
	becomes("\xff!", 2, 100, "\xef\xbf\xbd!");
	becomes("", 0, 100, "-");
}

static void long_strings_are_cut(void **state)
{
	(void)state;
	becomes("abcdef", 6, 6, "abcdef");
	becomes("abcdefg", 7, 6, "abcdef\xe2\x80\xa6");
	/* A text is not cut within a character. */
	becomes("abcde\xc3\xa9g", 8, 6, "abcde\xc3\xa9\xe2\x80\xa6");
}

/* The text is cut to about `most' bytes. The buffer grows while the text is
 * written, and a sanitizer would detect writes after its end. */
static void bounds(void **state)
{
	static const char tag[] = "\xf3\xa0\x80\x81"; /* U+E0001 */
	struct inv_buf b = { 0 };
	char *text = malloc(4000);

	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < 1000; i++)
		memcpy(text + (size_t)i * 4, tag, 4);
	for (size_t most = 1; most < 200; most++) {
		inv_buf_release(&b);
		inv_ctf_text(&b, text, 4000, most);
		assert_true(b.len >= most && b.len <= most + 16);
		assert_true(inv_utf8_valid(b.data, b.len - 1));
	}
	inv_buf_release(&b);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_are_escaped),
		cmocka_unit_test(long_strings_are_cut),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
