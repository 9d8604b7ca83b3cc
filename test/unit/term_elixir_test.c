/* SPDX-License-Identifier: Apache-2.0 */
/* Prints terms in Elixir's syntax that a VM cannot make: terms that are cut,
 * names as texts, and terms at the bound on nesting.
 * test/ct/inviso_print_SUITE.erl tests the other terms. */
#include "term/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The dictionary: 0 a, 1 __struct__, 2 Elixir.S.T. */
static const char definitions[] = "\x01\x0a"
				  "Elixir.S.T"
				  "\x01\x0a__struct__\x01\x01"
				  "a";
#define ATOM(n) (INV_T_DICT_SMALL + (n))
#define TUPLE(n) (INV_T_TUPLE_SMALL + (n))

static struct inv_dict dict;
static struct inv_cursor cursor;
static struct inv_buf out;

static int begin(void **state)
{
	(void)state;
	return inv_dict_parse(&dict, (const uint8_t *)definitions,
			      sizeof(definitions) - 1, NULL);
}

static int end(void **state)
{
	(void)state;
	inv_dict_release(&dict);
	inv_buf_release(&out);
	return 0;
}

static void assert_prints(const uint8_t *p, size_t len, uint32_t depth,
			  const char *expected)
{
	const struct inv_print_opts o = { .syntax = INV_SYNTAX_ELIXIR,
					  .depth = depth };

	/* If bytes are missing at the end of the term, printing returns an
	 * error. */
	for (size_t n = 1; n < len; n++) {
		inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, p, n);
		inv_buf_reset(&out);
		assert_true(inv_term_print(&cursor, &out, &o) < 0);
	}
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, p, len);
	inv_buf_reset(&out);
	assert_int_equal(inv_term_print(&cursor, &out, &o), 0);
	assert_int_equal(inv_cursor_offset(&cursor), len);
	inv_buf_putc(&out, 0);
	assert_string_equal(out.data, expected);
}

#define PRINTS(depth, expected, ...)                          \
	do {                                                  \
		const uint8_t p[] = { __VA_ARGS__ };          \
		assert_prints(p, sizeof(p), depth, expected); \
	} while (0)

static void cuts(void **state)
{
	(void)state;
	PRINTS(0, "{1, ...(1 more)}", TUPLE(2), 1, INV_T_CUT, INV_CUT_TUPLE, 1);
	PRINTS(0, "~c\"a\"...(3 more)", INV_T_LIST, INV_T_INT, 0xc2, 0x01,
	       INV_T_CUT, INV_CUT_LIST, 3);
	PRINTS(0, "[a: 1, ...(3 more)]", INV_T_LIST, TUPLE(2), ATOM(0), 1,
	       INV_T_CUT, INV_CUT_LIST, 3);
	PRINTS(0, "[{...(2 more)}]", INV_T_LIST, TUPLE(2), INV_T_CUT,
	       INV_CUT_TUPLE, 2, INV_T_END);
	PRINTS(0, "%{a: 1, ...(1 more)}", INV_T_MAP, 2, ATOM(0), 1, INV_T_CUT,
	       INV_CUT_MAP, 1);
	PRINTS(0, "{%{...(2 more)}, [...(>=4 more)]}", TUPLE(2), INV_T_HOLE,
	       INV_CUT_MAP, 2, INV_T_HOLE, INV_CUT_LIST_MIN, 4);
	PRINTS(0, "[1 | 2]", INV_T_LIST, 1, INV_T_TAIL, 2);
}

static void structs(void **state)
{
	(void)state;
	PRINTS(0, "%S.T{a: 1}", INV_T_MAP, 2, ATOM(0), 1, ATOM(1), ATOM(2));
	PRINTS(0, "%S.T{}", INV_T_MAP, 1, ATOM(1), ATOM(2));
	PRINTS(0, "%{__struct__: [1]}", INV_T_MAP, 1, ATOM(1), INV_T_LIST, 1,
	       INV_T_END);
	PRINTS(0, "%S.T{a: %S.T{}}", INV_T_MAP, 2, ATOM(0), INV_T_MAP, 1,
	       ATOM(1), ATOM(2), ATOM(1), ATOM(2));
}

static void deep_terms_are_left_out(void **state)
{
	(void)state;
	PRINTS(1, "{%{...}, %S.T{...}, [...], {...}, [], 1}", TUPLE(6),
	       INV_T_MAP, 1, 1, TUPLE(1), TUPLE(0), INV_T_MAP, 1, ATOM(1),
	       ATOM(2), INV_T_LIST, TUPLE(2), ATOM(0), 1, INV_T_END, TUPLE(1),
	       TUPLE(0), INV_T_NIL, 1);
	PRINTS(2, "{{{...}}, [a: 1]}", TUPLE(2), TUPLE(1), TUPLE(1), TUPLE(1),
	       1, INV_T_LIST, TUPLE(2), ATOM(0), 1, INV_T_END);
}

static void assert_translated(const char *text, const char *expected)
{
	bool done;

	inv_buf_reset(&out);
	done = inv_term_print_translated(text, strlen(text), &out);
	assert_int_equal(done, expected != NULL);
	inv_buf_putc(&out, 0);
	assert_string_equal(out.data, expected ? expected : "");
}

static void names_that_are_texts(void **state)
{
	(void)state;
	assert_translated("cart", ":cart");
	assert_translated("'Elixir.Shop.Cart'", "Shop.Cart");
	assert_translated("'a \\'b\\\\'", ":\"a 'b\\\\\"");
	assert_translated("'Elixir.Shop':init/1", "Shop.init/1");
	assert_translated("m:'-f/1-fun-0-'/2", ":m.\"-f/1-fun-0-\"/2");
	assert_translated("child of 'Elixir.Shop':init/1",
			  "child of Shop.init/1");
	assert_translated("child of ", NULL);
	assert_translated("child of {a,1}", NULL);
	assert_translated("{a,1}", NULL);
	assert_translated("'a\\n'", NULL);
	assert_translated("'a", NULL);
	assert_translated("m:f", NULL);
	assert_translated("m:", NULL);
	assert_translated("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts),
		cmocka_unit_test(structs),
		cmocka_unit_test(deep_terms_are_left_out),
		cmocka_unit_test(names_that_are_texts),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
