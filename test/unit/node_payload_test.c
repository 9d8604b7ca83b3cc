/* SPDX-License-Identifier: Apache-2.0 */
#include "node/payload.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "term/cursor.h"

static struct inv_cursor cursor;

static struct inv_buf file(const char *dir, const char *name)
{
	struct inv_buf b = { 0 };
	char path[4096];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("no %s", path);
	while ((c = getc(f)) != EOF)
		inv_buf_putc(&b, (char)c);
	assert_int_equal(fclose(f), 0);
	return b;
}

static void the_files_are_those_that_were_built(void **state)
{
	static const char *const names[][2] = {
		{ INV_PAYLOAD_NIF, "inviso_pushed.so" },
		{ INV_PAYLOAD_SPOOL, "inviso_spool" },
	};
	const char *priv = getenv("INVISO_PRIV");

	(void)state;
	if (!priv)
		skip();
	for (size_t i = 0; i < 2; i++) {
		struct inv_blob carried = inv_payload_file(names[i][0]);
		struct inv_buf built = file(priv, names[i][1]);

		assert_int_equal(carried.len, built.len);
		assert_memory_equal(carried.data, built.data, built.len);
		inv_buf_release(&built);
	}
	assert_null(inv_payload_file("passwd").data);
}

static void the_files_are_for_the_machine_of_the_command(void **state)
{
	struct inv_buf self = file("/proc/self", "exe");
	const Elf64_Ehdr *head = (const void *)self.data;

	(void)state;
	assert_int_equal(inv_payload_machine(), head->e_machine);
	assert_int_equal(inv_payload_bits(), 8 * sizeof(void *));
	inv_buf_release(&self);
}

static void the_build_has_a_name_of_hexadecimal_digits(void **state)
{
	(void)state;
	assert_int_equal(strlen(inv_payload_build()), 32);
	assert_int_equal(strspn(inv_payload_build(), "0123456789abcdef"), 32);
}

/* Returns how often the atom occurs in the term. Fails if the bytes are not
 * exactly one term. */
static unsigned count_atom(const struct inv_buf *b, const char *name)
{
	struct inv_token tok;
	unsigned n = 0;
	int r;

	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, b->data, b->len);
	while ((r = inv_cursor_next(&cursor, &tok)) == 0) {
		n += tok.kind == INV_TOK_ATOM && inv_token_is(&tok, name);
		if (inv_cursor_depth(&cursor) == 0)
			assert_int_equal(inv_cursor_offset(&cursor), b->len);
	}
	assert_int_equal(r, INV_END);
	return n;
}

static void the_expressions_are_one_term_with_place_for_another(void **state)
{
	static const char args[] = "w\x0a"
				   "these_args"; /* small atom */
	struct inv_blob head = inv_payload_boot_head();
	struct inv_blob tail = inv_payload_boot_tail();
	struct inv_buf b = { 0 };

	(void)state;
	inv_buf_put(&b, head.data, head.len);
	inv_buf_put(&b, args, sizeof(args) - 1);
	inv_buf_put(&b, tail.data, tail.len);
	assert_int_equal(count_atom(&b, "these_args"), 1);
	assert_true(count_atom(&b, "atomic_load") > 0);
	/* The term contains the module inviso_tracer, and no other module of
	 * inviso. */
	assert_true(count_atom(&b, "inviso_tracer") > 0);
	assert_int_equal(count_atom(&b, "inviso_engine"), 0);
	assert_int_equal(count_atom(&b, "inviso_session"), 0);
	/* The module inviso_rt is only for the Inviso API, and is not
	 * pushed. */
	assert_int_equal(count_atom(&b, "inviso_rt"), 0);
	inv_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_files_are_those_that_were_built),
		cmocka_unit_test(the_files_are_for_the_machine_of_the_command),
		cmocka_unit_test(the_build_has_a_name_of_hexadecimal_digits),
		cmocka_unit_test(
			the_expressions_are_one_term_with_place_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
