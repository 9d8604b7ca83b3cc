/* SPDX-License-Identifier: Apache-2.0 */
#include "term/dict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t *bytes(const char *s)
{
	return (const uint8_t *)s;
}

static int parse(struct inv_dict *d, const char *s, size_t len)
{
	struct inv_err err;
	int r = inv_dict_parse(d, bytes(s), len, &err);

	assert_true(r == 0 || err.code == r);
	return r;
}

static void definitions_are_numbered_from_the_last_in_memory(void **state)
{
	/* Definitions are in the order from the newest to the oldest. */
	static const char defs[] = "\x04\x05\x03\x02"
				   "b@c"
				   "\x03\x02\xac\x02"
				   "\x02\x03\x0a\x80\x01"
				   "\x01\x02"
				   "\xc3\xa9"
				   "\x01\x02"
				   "ok";
	struct inv_dict d = { 0 };
	const struct inv_dict_entry *e;

	(void)state;
	assert_int_equal(parse(&d, defs, sizeof(defs) - 1), 0);
	assert_int_equal(d.n, 5);
	e = inv_dict_get(&d, 0);
	assert_int_equal(e->kind, INV_DEF_ATOM);
	assert_int_equal(e->len, 2);
	assert_memory_equal(e->bytes, "ok", 2);
	assert_true(e->plain);
	e = inv_dict_get(&d, 1);
	assert_memory_equal(e->bytes, "\xc3\xa9", 2);
	assert_false(e->plain);
	e = inv_dict_get(&d, 2);
	assert_int_equal(e->kind, INV_DEF_PID);
	assert_int_equal(e->number, 10);
	assert_int_equal(e->serial, 128);
	e = inv_dict_get(&d, 3);
	assert_int_equal(e->kind, INV_DEF_PORT);
	assert_int_equal(e->number, 300);
	e = inv_dict_node(&d, 3);
	assert_ptr_equal(e, inv_dict_get(&d, 4));
	assert_int_equal(e->serial, 2);
	assert_memory_equal(e->bytes, "b@c", 3);
	assert_null(inv_dict_node(&d, 10));
	assert_null(inv_dict_get(&d, 5));
	assert_null(inv_dict_get(&d, UINT64_MAX));
	inv_dict_release(&d);
}

static void one_dictionary_serves_packet_after_packet(void **state)
{
	static char many[3000];
	struct inv_dict d = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		memcpy(many + 3 * i, "\x01\x01x", 3);
	assert_int_equal(parse(&d, many, sizeof(many)), 0);
	assert_int_equal(d.n, 1000);
	assert_ptr_equal(inv_dict_get(&d, 0)->bytes, many + 2999);
	assert_ptr_equal(inv_dict_get(&d, 999)->bytes, many + 2);
	assert_int_equal(parse(&d, many, 3), 0);
	assert_int_equal(d.n, 1);
	assert_int_equal(parse(&d, many, 0), 0);
	assert_int_equal(d.n, 0);
	inv_dict_release(&d);
	inv_dict_release(NULL);
}

static void invalid_definitions_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\x01", 1 },	    /* no length */
		{ "\x01\x80", 2 },  /* half a length */
		{ "\x01\x02x", 3 }, /* a length beyond the end */
		{ "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12 },
		{ "\x02\x01\x05", 3 },	       /* a pid without serial */
		{ "\x03\x00", 2 },	       /* a port without number */
		{ "\x04\x01\x05", 3 },	       /* a node without creation */
		{ "\x01\x03\xed\xa0\x80", 5 }, /* a surrogate */
		{ "\x01\x02\xc0\x80", 4 },     /* overlong */
		{ "\x05\x02\x00\x01", 4 },     /* a function without arity */
		{ "\x05\x04\x00\x01\x80\x02", 6 }, /* an arity of 256 */
	};
	struct inv_dict d = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&d, "\x01\x01x", 3), 0);
		assert_int_equal(parse(&d, bad[i].bytes, bad[i].len),
				 INV_EDAMAGED);
		assert_int_equal(d.n, 0);
	}
	inv_dict_release(&d);
}

static void functions_name_their_atoms(void **state)
{
	/* The entries: 0 is m, 1 is f, 2 is m:f/3, 3 is a function whose name
	 * is not an atom but a function, 4 is a function whose atoms are not in
	 * the dictionary, and 5 is m:f/3 again. */
	static const char defs[] = "\x05\x03\x00\x01\x03"
				   "\x05\x03\x63\x64\x03"
				   "\x05\x03\x00\x02\x03"
				   "\x05\x03\x00\x01\x03"
				   "\x01\x01"
				   "f"
				   "\x01\x01"
				   "m";
	struct inv_dict_function f, again;
	struct inv_dict d = { 0 };

	(void)state;
	assert_int_equal(parse(&d, defs, sizeof(defs) - 1), 0);
	assert_true(inv_dict_function(&d, 2, &f));
	assert_ptr_equal(f.module, inv_dict_get(&d, 0));
	assert_ptr_equal(f.function, inv_dict_get(&d, 1));
	assert_int_equal(f.arity, 3);
	assert_true(f.hash == inv_function_hash((const uint8_t *)"m", 1,
						(const uint8_t *)"f", 1, 3));
	assert_true(inv_dict_function(&d, 5, &again));
	assert_true(f.hash == again.hash);
	assert_false(inv_dict_function(&d, 0, &f));
	assert_false(inv_dict_function(&d, 3, &f));
	assert_false(inv_dict_function(&d, 4, &f));
	assert_false(inv_dict_function(&d, 6, &f));
	inv_dict_release(&d);
}

static void unknown_kinds_are_skipped(void **state)
{
	struct inv_dict d = { 0 };

	(void)state;
	assert_int_equal(parse(&d, "\x09\x02zz\x01\x01x", 7), 0);
	assert_int_equal(d.n, 2);
	assert_int_equal(inv_dict_get(&d, 0)->kind, INV_DEF_ATOM);
	assert_int_equal(inv_dict_get(&d, 1)->kind, 9);
	inv_dict_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			definitions_are_numbered_from_the_last_in_memory),
		cmocka_unit_test(one_dictionary_serves_packet_after_packet),
		cmocka_unit_test(invalid_definitions_are_refused),
		cmocka_unit_test(functions_name_their_atoms),
		cmocka_unit_test(unknown_kinds_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
