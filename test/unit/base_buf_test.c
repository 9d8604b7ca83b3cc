/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/err.h"

static void assert_text(const struct inv_buf *b, const char *text)
{
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->data, text, b->len);
}

static void a_buffer_grows_when_bytes_are_appended(void **state)
{
	struct inv_buf b = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 100000; i++)
		inv_buf_putc(&b, (char)('a' + i % 26));
	assert_int_equal(b.error, 0);
	assert_int_equal(b.len, 100000);
	for (i = 0; i < b.len; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	inv_buf_release(&b);
	assert_null(b.data);
}

static void numbers_are_written_in_decimal(void **state)
{
	static const uint64_t tens[] = {
		0, 9, 10, 99, 100, 12345, UINT64_C(18446744073709551615)
	};
	struct inv_buf b = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tens) / sizeof(tens[0]); i++) {
		inv_buf_u64(&b, tens[i]);
		inv_buf_putc(&b, ' ');
	}
	inv_buf_i64(&b, INT64_MIN);
	inv_buf_putc(&b, ' ');
	inv_buf_i64(&b, INT64_MAX);
	inv_buf_printf(&b, " %d%s", -1, "x");
	assert_text(&b, "0 9 10 99 100 12345 18446744073709551615 "
			"-9223372036854775808 9223372036854775807 -1x");
	inv_buf_release(&b);
}

static void a_failure_is_permanent_and_keeps_the_bytes(void **state)
{
	struct inv_buf b = { 0 };

	(void)state;
	inv_buf_puts(&b, "kept");
	assert_null(inv_buf_reserve(&b, SIZE_MAX - 2));
	assert_int_equal(b.error, INV_ENOMEM);
	inv_buf_puts(&b, "lost");
	inv_buf_putc(&b, 'x');
	inv_buf_u64(&b, 1);
	inv_buf_printf(&b, "%d", 1);
	assert_null(inv_buf_reserve(&b, 0));
	assert_text(&b, "kept");
	inv_buf_reset(&b);
	inv_buf_puts(&b, "again");
	assert_text(&b, "again");
	inv_buf_release(&b);
	inv_buf_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_grows_when_bytes_are_appended),
		cmocka_unit_test(numbers_are_written_in_decimal),
		cmocka_unit_test(a_failure_is_permanent_and_keeps_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
