/* SPDX-License-Identifier: Apache-2.0 */
#include "match/redact_terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ATOM(n) (char)(INV_T_DICT_SMALL + (n))
#define TUPLE(n) (char)(INV_T_TUPLE_SMALL + (n))

/* The levels of a nested term. Only terms up to a maximum of levels can be
 * copied; 90 is below this maximum. */
#define LEVELS 90u

static struct inv_redact rules;
static struct inv_dict dict;
static struct inv_cursor cursor;
static struct inv_redact_ends ends;
static struct inv_buf term, out;

/* The dictionary has the atoms 0: m, 1: f, 2: x, 3: other. */
static int setup(void **state)
{
	static const char text[] = "m:f(_,-)";
	static const char *const atoms[] = { "m", "f", "x", "other" };

	(void)state;
	inv_dict_clear(&dict, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct inv_dict_entry e = {
			.kind = INV_DEF_ATOM,
			.bytes = (const uint8_t *)atoms[i],
			.len = (uint16_t)strlen(atoms[i]),
		};

		assert_int_equal(inv_dict_set(&dict, i, &e), 0);
	}
	inv_dict_sort(&dict);
	return inv_redact_parse(&rules, text, strlen(text), NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	inv_dict_release(&dict);
	inv_redact_ends_release(&ends);
	inv_buf_release(&term);
	inv_buf_release(&out);
	return 0;
}

static void copy(enum inv_redact_how how)
{
	struct inv_redact_copy x = { .rules = &rules,
				     .dict = &dict,
				     .cursor = &cursor,
				     .ends = &ends,
				     .p = term.data,
				     .end = term.data + term.len,
				     .out = &out };

	inv_buf_reset(&out);
	inv_redact_ends_reset(&ends);
	assert_int_equal(inv_redact_term(&x, how), 0);
	assert_ptr_equal(x.p, x.end);
}

/* Makes a term of LEVELS levels: LEVELS times the bytes of `before', then the
 * atom x, then LEVELS times the bytes of `behind'. */
static void nest(const char *before, size_t n, const char *behind, size_t m)
{
	inv_buf_reset(&term);
	for (unsigned i = 0; i < LEVELS; i++)
		inv_buf_put(&term, before, n);
	inv_buf_putc(&term, ATOM(2));
	for (unsigned i = 0; i < LEVELS; i++)
		inv_buf_put(&term, behind, m);
}

/* Some rules depend on the end of a term. So inv_redact must find this end
 * before it copies the beginning. For this, it reads the bytes only once,
 * however deeply the terms are nested. */
static void nested_terms_are_skipped_once(void **state)
{
	static const struct {
		char before[8];
		size_t n;
		char behind[8];
		size_t m;
	} cases[] = {
		/* {{..., x}, x} */
		{ { TUPLE(2) }, 1, { ATOM(2) }, 1 },
		/* {x, {x, ...}} */
		{ { TUPLE(2), ATOM(2) }, 2, { 0 }, 0 },
		/* {{..., x, x}, x, x} */
		{ { TUPLE(3) }, 1, { ATOM(2), ATOM(2) }, 2 },
		/* {other, f, [{other, f, [...]}]} */
		{ { TUPLE(3), ATOM(3), ATOM(1), (char)INV_T_LIST },
		  4,
		  { (char)INV_T_END },
		  1 },
		/* {other, x, {...}, []} */
		{ { TUPLE(4), ATOM(3), ATOM(2) }, 3, { (char)INV_T_NIL }, 1 },
		/* {x, [{other, f, {...}}]} */
		{ { TUPLE(2), ATOM(2), (char)INV_T_LIST, TUPLE(3), ATOM(3),
		    ATOM(1) },
		  6,
		  { (char)INV_T_END },
		  1 },
		/* #{x => #{...}} */
		{ { (char)INV_T_MAP, 1, ATOM(2) }, 3, { 0 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		nest(cases[i].before, cases[i].n, cases[i].behind, cases[i].m);
		copy(INV_REDACT_BY_RULES);
		if (ends.n_read > 2 * term.len)
			fail_msg("term %zu: %llu bytes were read", i,
				 (unsigned long long)ends.n_read);
		copy(INV_REDACT_SHAPE);
		if (ends.n_read > 2 * term.len)
			fail_msg("shape %zu: %llu bytes were read", i,
				 (unsigned long long)ends.n_read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_terms_are_skipped_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
