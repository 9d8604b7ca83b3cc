/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"

static void assert_text(const struct inv_buf *b, const char *text)
{
	assert_int_equal(b->error, 0);
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->data, text, b->len);
}

static void there_are_commas_only_between_values(void **state)
{
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	(void)state;
	for (int line = 0; line < 2; line++) {
		inv_json_open(&j, NULL, '{');
		inv_json_open(&j, "empty", '[');
		inv_json_close(&j, ']');
		inv_json_open(&j, "list", '[');
		inv_json_open(&j, NULL, '{');
		inv_json_close(&j, '}');
		inv_json_text(&j, NULL, "x");
		inv_json_null(&j, NULL);
		inv_json_bool(&j, NULL, true);
		inv_json_close(&j, ']');
		inv_json_int(&j, "min", INT64_MIN);
		inv_json_uint(&j, "max", UINT64_MAX);
		inv_json_key_text(&j, "a \"key\"");
		inv_json_word(&j, NULL, "word", 2);
		inv_json_close(&j, '}');
		inv_json_line(&j);
	}
#define LINE                                                  \
	"{\"empty\":[],\"list\":[{},\"x\",null,true],"        \
	"\"min\":-9223372036854775808,"                       \
	"\"max\":18446744073709551615,\"a \\\"key\\\"\":\"wo" \
	"\"}\n"
	assert_text(&b, LINE LINE);
	inv_buf_release(&b);
}

/* Characters that are invisible or control a terminal are written as escapes. A
 * JSON parser turns the escapes back into these characters. */
static void hidden_characters_are_escaped(void **state)
{
	static const char text[] = "a\x7f\xc2\x9b\xe2\x80\xae"
				   "b\xd8\x9c\xf3\xa0\x80\xa0\xff\xc3\xa9";
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	(void)state;
	inv_buf_puts(&b, "\xe2\x80\xae");
	inv_json_text(&j, NULL, text);
	assert_text(&b, "\xe2\x80\xae\"a\\u007f\\u009b\\u202e"
			"b\\u061c\\udb40\\udc20\\ufffd\xc3\xa9\"");
	inv_buf_release(&b);
}

static void a_string_may_be_written_in_place(void **state)
{
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };
	size_t begin;

	(void)state;
	inv_json_open(&j, NULL, '[');
	begin = inv_json_begin(&j, NULL);
	inv_buf_printf(&b, "%s/\"%d\"", "dir", 1);
	inv_json_end(&j, begin);
	inv_json_int(&j, NULL, 2);
	inv_json_close(&j, ']');
	assert_text(&b, "[\"dir/\\\"1\\\"\",2]");
	inv_buf_release(&b);
}

/* Returns the code unit of the escape \uXXXX at p. */
static uint32_t unit_at(const uint8_t *p)
{
	char digits[5] = { 0 };

	assert_memory_equal(p, "\\u", 2);
	memcpy(digits, p + 2, 4);
	return (uint32_t)strtoul(digits, NULL, 16);
}

/* Appends to out what a JSON parser reads from the string at p. Returns a
 * pointer to the byte after the string. */
static const uint8_t *parsed(const uint8_t *p, struct inv_buf *out)
{
	uint8_t w[4];
	uint32_t c;

	assert_int_equal(*p++, '"');
	while (*p != '"') {
		assert_true(*p >= 0x20);
		if (*p != '\\') {
			inv_buf_put(out, p++, 1);
			continue;
		}
		if (p[1] != 'u') {
			inv_buf_put(out, p + 1, 1);
			p += 2;
			continue;
		}
		c = unit_at(p);
		p += 6;
		if (c >= 0xd800 && c < 0xdc00) {
			c = 0x10000 + ((c - 0xd800) << 10) +
			    (unit_at(p) - 0xdc00);
			p += 6;
		}
		inv_buf_put(out, w, (size_t)(inv_utf8_put(w, c) - w));
	}
	return p + 1;
}

/* Appends the text; each byte that is not UTF-8 is replaced. */
static void put_expected(struct inv_buf *out, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	unsigned n;

	for (; p < end; p += n) {
		if (inv_utf8_get(p, end, &n) == INV_CHAR_BAD)
			inv_buf_puts(out, "\xef\xbf\xbd");
		else
			inv_buf_put(out, p, n);
	}
}

static void random_bytes_become_strings_of_the_same_text(void **state)
{
	static const char *const pieces[] = {
		"a",	"\"",		"\\",
		"\n",	"\x7f",		"\xc3",
		"\xa9", "\xe2\x80\xae", "\xf3\xa0\x80\xa0",
		"\xff", "\xf0\x9f",	"plain text"
	};
	struct inv_buf in = { 0 }, out = { 0 }, back = { 0 }, want = { 0 };
	struct inv_json j = { .out = &out };

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		int n = rand() % 12;

		inv_buf_reset(&in);
		inv_buf_reset(&back);
		inv_buf_reset(&want);
		/* In every other round the buffer has no memory at first, so it
		 * grows in the middle of a text. */
		if (round % 2)
			inv_buf_release(&out);
		inv_buf_reset(&out);
		while (n-- > 0)
			inv_buf_puts(&in, pieces[rand() % 12]);
		inv_json_bytes(&j, NULL, in.data, in.len);
		j.more = false;
		assert_true(inv_utf8_valid(out.data, out.len));
		inv_buf_put(&out, "", 1);
		assert_ptr_equal(parsed(out.data, &back),
				 out.data + out.len - 1);
		put_expected(&want, in.data, in.len);
		assert_int_equal(back.len, want.len);
		if (want.len)
			assert_memory_equal(back.data, want.data, want.len);
	}
	inv_buf_release(&in);
	inv_buf_release(&out);
	inv_buf_release(&back);
	inv_buf_release(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_commas_only_between_values),
		cmocka_unit_test(hidden_characters_are_escaped),
		cmocka_unit_test(a_string_may_be_written_in_place),
		cmocka_unit_test(random_bytes_become_strings_of_the_same_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
