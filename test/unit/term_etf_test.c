/* SPDX-License-Identifier: Apache-2.0 */
#include "term/etf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(s) s, sizeof(s) - 1
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static struct inv_cursor cursor;
static const struct inv_etf_home home = { "a@h", 7 };

struct pair {
	const char *in;
	size_t in_len;
	const char *out; /* NULL: equal to `in' */
	size_t out_len;
};

static void check(enum inv_enc enc, const struct inv_dict *dict,
		  const struct pair *p)
{
	const char *expected = p->out ? p->out : p->in;
	size_t len = p->out ? p->out_len : p->in_len;
	struct inv_buf out = { 0 };

	inv_cursor_init(&cursor, enc, dict, p->in, p->in_len);
	assert_int_equal(inv_term_etf(&cursor, &home, &out), 0);
	assert_int_equal(inv_cursor_depth(&cursor), 0);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, expected, len);
	inv_buf_release(&out);
}

/* These terms are in the external format already. So the bytes that are written
 * are equal to the bytes that were read. */
static const struct pair same[] = {
	{ BYTES("\x61\xff"), 0, 0 },
	{ BYTES("\x62\x00\x00\x01\x00"), 0, 0 },
	{ BYTES("\x62\xff\xff\xff\xff"), 0, 0 },
	{ BYTES("\x6e\x04\x01\x01\x00\x00\x80"), 0, 0 },
	{ BYTES("\x6e\x09\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09"), 0, 0 },
	{ BYTES("\x46\x3f\xf8\0\0\0\0\0\0"), 0, 0 },
	{ BYTES("\x77\x01m"), 0, 0 },
	{ BYTES("\x6a"), 0, 0 },
	{ BYTES("\x6b\x00\x02hi"), 0, 0 },
	{ BYTES("\x6d\0\0\0\x02hi"), 0, 0 },
	{ BYTES("\x4d\0\0\0\x01\x03\xa0"), 0, 0 },
	{ BYTES("\x68\x02\x61\x01\x68\x00"), 0, 0 },
	{ BYTES("\x6c\0\0\0\x02\x77\x01x\x68\x01\x6a\x6a"), 0, 0 },
	{ BYTES("\x6c\0\0\0\x01\x61\x01\x77\x01x"), 0, 0 },
	{ BYTES("\x74\0\0\0\x01\x77\x01k\x74\0\0\0\0"), 0, 0 },
	{ BYTES("\x71\x77\x01m\x77\x01g\x61\x02"), 0, 0 },
};

static void external_terms_are_unchanged(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(same); i++)
		check(INV_ENC_ETF, NULL, &same[i]);
}

/* The size of a tuple of 300 elements needs four bytes. */
static void a_large_tuple_has_its_size(void **state)
{
	char bytes[5 + 300] = "\x69\0\0\x01\x2c";
	const struct pair p = { bytes, sizeof(bytes), 0, 0 };

	(void)state;
	memset(bytes + 5, 0x6a, 300);
	check(INV_ENC_ETF, NULL, &p);
}

#define HOLE "\x77\x03..."
static const struct pair cuts[] = {
	/* Four terms: the list [1|CUT], the tuple {1,CUT of 2 elements}, a map
	 * whose second value is cut, and a list of bytes that is cut. */
	{ BYTES("\xc6\x01\xc8\x03\x05"),
	  BYTES("\x6c\0\0\0\x02\x61\x01" HOLE "\x6a") },
	{ BYTES("\x83\x01\xc8\x01\x02"), BYTES("\x68\x02\x61\x01" HOLE) },
	{ BYTES("\xc9\x02\x01\x02\xc8\x02\x01"),
	  BYTES("\x74\0\0\0\x02\x61\x01\x61\x02" HOLE HOLE) },
	{ BYTES("\xce\x01"
		"a\x04\x07"),
	  BYTES("\x6c\0\0\0\x02\x61"
		"a" HOLE "\x6a") },
	/* Three terms: a term of which nothing was recorded, a cut binary, and
	 * a cut text that the VM has printed. */
	{ BYTES("\xd4\x07\x00"), BYTES(HOLE) },
	{ BYTES("\xcc\x50\x02hi"), BYTES("\x6d\0\0\0\x02hi") },
	{ BYTES("\xd3\x05#Fun<"), BYTES("\x6d\0\0\0\x05#Fun<") },
};

static void cut_terms_are_three_dots(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cuts); i++)
		check(INV_ENC_PACKED, NULL, &cuts[i]);
}

/*
 * A pid of the recording node, a pid of another node, a port, and a reference.
 * The packet has the name of the other node. The external format has the
 * numbers of a reference in the opposite order.
 */
static const struct pair ids[] = {
	{ BYTES("\x40"), BYTES("\x58\x77\x03"
			       "a@h"
			       "\0\0\0\x58\0\0\0\x01\0\0\0\x07") },
	{ BYTES("\xd0\x0a\x05\x00"), BYTES("\x58\x77\x03"
					   "b@h"
					   "\0\0\0\x05\0\0\0\0\0\0\0\x09") },
	{ BYTES("\xcf\x00\x02\x01\x02"),
	  BYTES("\x5a\x00\x02\x77\x03"
		"a@h"
		"\0\0\0\x07\0\0\0\x02\0\0\0\x01") },
	{ BYTES("\xd1\x00\x05"), BYTES("\x78\x77\x03"
				       "a@h"
				       "\0\0\0\0\0\0\0\x05\0\0\0\x07") },
};

/* The definitions, the newest first: node 10 is b@h with creation 9, and entry
 * 0 is the pid <0.88.1>. */
static const uint8_t definitions[] = { INV_DEF_NODE, 5, 10, 9, 'b', '@', 'h',
				       INV_DEF_PID,  2, 88, 1 };

static void identifiers_have_their_node(void **state)
{
	struct inv_dict dict = { 0 };
	struct inv_err err = { 0 };

	(void)state;
	assert_int_equal(inv_dict_parse(&dict, definitions, sizeof(definitions),
					&err),
			 0);
	for (size_t i = 0; i < LENGTH(ids); i++)
		check(INV_ENC_PACKED, &dict, &ids[i]);
	inv_dict_release(&dict);
}

static void damage_is_an_error(void **state)
{
	struct inv_buf out = { 0 };

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, BYTES("\x68\x02\x61\x01"));
	assert_int_equal(inv_term_etf(&cursor, &home, &out), INV_ETRUNCATED);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, "", 0);
	assert_int_equal(inv_term_etf(&cursor, &home, &out), INV_END);
	inv_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(external_terms_are_unchanged),
		cmocka_unit_test(a_large_tuple_has_its_size),
		cmocka_unit_test(cut_terms_are_three_dots),
		cmocka_unit_test(identifiers_have_their_node),
		cmocka_unit_test(damage_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
