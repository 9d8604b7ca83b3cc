/* SPDX-License-Identifier: Apache-2.0 */
#include "term/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(s) s, sizeof(s) - 1

static struct inv_cursor cursor;

struct step {
	unsigned kind;
	unsigned sep;
};

static void check_steps(const struct step *steps, size_t n)
{
	struct inv_token tok;
	size_t i;

	for (i = 0; i < n; i++) {
		assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
		assert_int_equal(tok.kind, steps[i].kind);
		assert_int_equal(tok.sep, steps[i].sep);
	}
	assert_int_equal(inv_cursor_next(&cursor, &tok), INV_END);
	assert_int_equal(inv_cursor_next(&cursor, &tok), INV_END);
}

/* The steps of a cursor through the terms {1,[2|3],#{4 => []},[[]]} and 5. */
static const struct step steps[] = {
	{ INV_TOK_TUPLE, INV_SEP_NONE }, { INV_TOK_INT, INV_SEP_NONE },
	{ INV_TOK_LIST, INV_SEP_COMMA }, { INV_TOK_INT, INV_SEP_NONE },
	{ INV_TOK_INT, INV_SEP_BAR },	 { INV_TOK_END, INV_SEP_NONE },
	{ INV_TOK_MAP, INV_SEP_COMMA },	 { INV_TOK_INT, INV_SEP_NONE },
	{ INV_TOK_NIL, INV_SEP_ARROW },	 { INV_TOK_END, INV_SEP_NONE },
	{ INV_TOK_LIST, INV_SEP_COMMA }, { INV_TOK_NIL, INV_SEP_NONE },
	{ INV_TOK_END, INV_SEP_NONE },	 { INV_TOK_END, INV_SEP_NONE },
	{ INV_TOK_INT, INV_SEP_NONE },
};

static const char packed[] = "\x84\x01\xc6\x02\xc7\x03\xc9\x01\x04\xc0"
			     "\xc6\xc0\xd5\x05";
static const char external[] = "\x83\x68\x04\x61\x01\x6c\0\0\0\x01\x61\x02"
			       "\x61\x03\x74\0\0\0\x01\x61\x04\x6a"
			       "\x6c\0\0\0\x01\x6a\x6a\x61\x05";

static void both_encodings_give_the_same_tokens(void **state)
{
	size_t n = sizeof(steps) / sizeof(steps[0]);

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES(packed));
	check_steps(steps, n);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, BYTES(external));
	check_steps(steps, n);
}

static void an_end_has_the_kind_of_its_container(void **state)
{
	static const unsigned of[] = { INV_TOK_LIST, INV_TOK_MAP, INV_TOK_LIST,
				       INV_TOK_TUPLE };
	struct inv_token tok;
	unsigned i = 0;

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES(packed));
	while (inv_cursor_next(&cursor, &tok) == 0)
		if (tok.kind == INV_TOK_END)
			assert_int_equal(tok.of, of[i++]);
	assert_int_equal(i, 4);
}

static void a_cursor_skips_terms_and_leaves_containers(void **state)
{
	struct inv_token tok;
	int64_t v;
	uint32_t arity;

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES(packed));
	assert_int_equal(inv_cursor_skip(&cursor), 0);
	assert_int_equal(inv_cursor_int(&cursor, &v), 0);
	assert_int_equal(v, 5);
	assert_int_equal(inv_cursor_skip(&cursor), INV_END);

	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES(packed));
	assert_int_equal(inv_cursor_tuple(&cursor, &arity), 0);
	assert_int_equal(arity, 4);
	assert_int_equal(inv_cursor_skip(&cursor), 0);
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_int_equal(inv_cursor_skip_rest(&cursor, &tok), 0);
	assert_int_equal(inv_cursor_depth(&cursor), 1);
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_int_equal(tok.kind, INV_TOK_MAP);
	assert_int_equal(inv_cursor_leave(&cursor, 0), 0);
	assert_int_equal(inv_cursor_int(&cursor, &v), 0);
	assert_int_equal(v, 5);
}

static void another_term_than_the_one_expected_is_damage(void **state)
{
	struct inv_token tok;
	uint32_t arity;
	int64_t v;

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES("\x81\x01"));
	assert_int_equal(inv_cursor_int(&cursor, &v), INV_EDAMAGED);
	assert_int_equal(inv_cursor_next(&cursor, &tok), INV_EDAMAGED);
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES("\x01"));
	assert_int_equal(inv_cursor_tuple(&cursor, &arity), INV_EDAMAGED);
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, "", 0);
	assert_int_equal(inv_cursor_int(&cursor, &v), INV_ETRUNCATED);
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, BYTES("\x81\x01"));
	assert_int_equal(inv_cursor_tuple(&cursor, &arity), 0);
	assert_int_equal(inv_cursor_end(&cursor), INV_EDAMAGED);
}

static const struct {
	enum inv_enc enc;
	const char *bytes;
	size_t len;
	int code;
} bad[] = {
	{ INV_ENC_PACKED, BYTES("\xd5"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\x81\xd5"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc7\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc6\xc7\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc6\x01\xc7\xd5"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc6\x01\xc7\xc7\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\x40"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc4\xff\xff\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xd7"), INV_EVERSION },
	{ INV_ENC_PACKED, BYTES("\xdf"), INV_EVERSION },
	{ INV_ENC_PACKED, BYTES("\xc2\x02\x01\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc3\x00\x00\x00\x00\x00\x00\xf0\x7f"),
	  INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc5\x80\x80\x80\x80\x10"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc9\x80\x80\x80\x80\x08"), INV_EDAMAGED },
	{ INV_ENC_PACKED,
	  BYTES("\xca\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		"a"),
	  INV_ETRUNCATED },
	{ INV_ENC_PACKED,
	  BYTES("\xc1\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	  INV_EDAMAGED },
	{ INV_ENC_PACKED,
	  BYTES("\xcb\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		"a"),
	  INV_ETRUNCATED },
	{ INV_ENC_PACKED,
	  BYTES("\xcc\x08\x02"
		"ab"),
	  INV_EDAMAGED },
	{ INV_ENC_PACKED,
	  BYTES("\xce\x01"
		"a\x01\x02"),
	  INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xcf\x00\x09"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xd2\x01\x01\x01"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xd2\x81\x01\x01\x01"), INV_EDAMAGED },
	/* Each cut names a kind of container, but is not in a container of this
	 * kind. */
	{ INV_ENC_PACKED, BYTES("\xc8\x01\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\x82\xc8\x03\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\x82\xc8\x07\x00"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc9\x02\xc8\x01\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc9\x02\x01\xc8\x02\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc6\xc8\x01\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xc6\x01\xc7\xc8\x03\x02"), INV_EDAMAGED },
	{ INV_ENC_PACKED, BYTES("\xd4\x00\x02"), INV_EVERSION },
	{ INV_ENC_PACKED, BYTES("\xd4\x63\x02"), INV_EVERSION },

	{ INV_ENC_ETF, BYTES("\x83"), INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x83\x50\0\0\0\1x"), INV_EFORMAT },
	{ INV_ENC_ETF, BYTES("\x79\0\0\0\0\0\0\0\0"), INV_EFORMAT },
	{ INV_ENC_ETF, BYTES("\x52\x01"), INV_EVERSION },
	{ INV_ENC_ETF, BYTES("\x69\xff\xff\xff\xff"), INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x6c\xff\xff\xff\xff"), INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x6c\0\0\0\0\x61\x01"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x74\xff\xff\xff\xff\x61\x01"), INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x6e\x01\x02\x01"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x6f\xff\xff\xff\xff\x01\x01"), INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x4d\0\0\0\x01\x09\x01"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x4d\0\0\0\x01\x00\x01"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x46\x7f\xf0\0\0\0\0\0\0"), INV_EDAMAGED },
	{ INV_ENC_ETF,
	  BYTES("\x63"
		"nan\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\0\0\0\0\0"),
	  INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x76\0\1\xff"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x76\0\3\xe0\x80\x80"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x76\0\3\xed\xa0\x80"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x76\0\4\xf4\x90\x80\x80"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x76\0\2\xe2\x82"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x58\x61\x01\0\0\0\1\0\0\0\1\0\0\0\1"),
	  INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x5a\xff\xff\x77\1a"), INV_EDAMAGED },
	{ INV_ENC_ETF, BYTES("\x70\0\0\0\x04\0\0\0\0\0\0\0\0"),
	  INV_ETRUNCATED },
	{ INV_ENC_ETF, BYTES("\x71\x77\1m\x77\1f\x62\0\0\0\1"), INV_EDAMAGED },
};

static void invalid_bytes_are_refused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct inv_token tok;
		int r;

		inv_cursor_init(&cursor, bad[i].enc, NULL, bad[i].bytes,
				bad[i].len);
		do
			r = inv_cursor_next(&cursor, &tok);
		while (r == 0);
		if (r != bad[i].code)
			fail_msg("%zu: %d instead of %d", i, r, bad[i].code);
		assert_int_equal(inv_cursor_next(&cursor, &tok), r);
	}
}

static void a_fun_cannot_reach_beyond_its_own_size(void **state)
{
	char fun[64] = "\x70\0\0\0\x1e";

	(void)state;
	/* The fun has a size of 30 bytes: 4 + 25 + 1. So there is no space for
	 * the module's name. */
	memcpy(fun + 5 + 25, "\x77\1m\x61\1\x61\1", 7);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, fun, sizeof(fun));
	assert_int_equal(inv_cursor_skip(&cursor), INV_EDAMAGED);
}

static void containers_nest_up_to_the_limit(void **state)
{
	enum {
		MORE = INV_DEPTH_MAX + 1
	};
	static char deep[MORE + 1];

	(void)state;
	memset(deep, '\x81', MORE);
	deep[MORE] = '\x01';
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, deep + 1, MORE);
	assert_int_equal(inv_cursor_skip(&cursor), 0);
	assert_int_equal(inv_cursor_offset(&cursor), MORE);
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, deep, MORE + 1);
	assert_int_equal(inv_cursor_skip(&cursor), INV_EDEPTH);
}

static void integers_are_found_however_they_are_written(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool fits;
		int64_t v;
	} some[] = {
		{ BYTES("\x05"), true, 5 },
		{ BYTES("\xc1\x01"), true, -1 },
		{ BYTES("\xc2\x00\x02\x00\x01"), true, 256 },
		{ BYTES("\xc2\x01\x08\0\0\0\0\0\0\0\x80"), true, INT64_MIN },
		{ BYTES("\xc2\x00\x08\0\0\0\0\0\0\0\x80"), false, 0 },
		{ BYTES("\xc2\x01\x08\x01\0\0\0\0\0\0\x80"), false, 0 },
		{ BYTES("\xc2\x00\x09\x01\0\0\0\0\0\0\0\0"), true, 1 },
		{ BYTES("\xc2\x00\x09\0\0\0\0\0\0\0\0\x01"), false, 0 },
		{ BYTES("\xc0"), false, 0 },
	};
	struct inv_token tok;
	int64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, some[i].bytes,
				some[i].len);
		assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
		assert_int_equal(inv_token_i64(&tok, &v), some[i].fits);
		if (some[i].fits)
			assert_true(v == some[i].v);
	}
}

static void atoms_are_known_by_their_name(void **state)
{
	struct inv_token tok;

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, BYTES("\x77\4call\x61\1"));
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_true(inv_token_is(&tok, "call"));
	assert_false(inv_token_is(&tok, "cal"));
	assert_false(inv_token_is(&tok, "calls"));
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_false(inv_token_is(&tok, ""));
}

/* The dictionary: 0 is m, 1 is f, 2 is m:f/2, 3 is m:f/0, and 4 is a function
 * whose module and name are not in the dictionary. */
static const uint8_t functions[] = {
	INV_DEF_FUNCTION,
	3,
	7,
	8,
	1,
	INV_DEF_FUNCTION,
	3,
	0,
	1,
	0, /* 3 */
	INV_DEF_FUNCTION,
	3,
	0,
	1,
	2, /* 2 */
	INV_DEF_ATOM,
	1,
	'f',
	INV_DEF_ATOM,
	1,
	'm',
};

/* Writes each token of the terms as a letter for its kind, and its numbers. */
static void tokens(char *w, const char *terms, size_t len)
{
	static const char letter[] = " iBFapPRbsntLM>EFTHC";
	struct inv_dict d = { 0 };
	struct inv_token tok;
	int rc;

	assert_int_equal(inv_dict_parse(&d, functions, sizeof(functions), NULL),
			 0);
	inv_cursor_init(&cursor, INV_ENC_PACKED, &d, terms, len);
	while (!(rc = inv_cursor_next(&cursor, &tok))) {
		if (tok.sep == INV_SEP_COMMA)
			*w++ = ',';
		*w++ = letter[tok.kind];
		if (tok.kind == INV_TOK_ATOM)
			*w++ = (char)tok.bytes[0];
		else if (tok.kind == INV_TOK_INT)
			*w++ = (char)('0' + tok.i);
		else if (tok.kind == INV_TOK_CUT)
			*w++ = (char)('0' + tok.left);
	}
	*w++ = rc == INV_END ? '.' : '!';
	*w = 0;
	inv_dict_release(&d);
}

static void functions_have_the_tokens_of_their_terms(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *tokens;
	} some[] = {
		{ BYTES("\x42"), "tam,af,i2>." },
		{ BYTES("\xc4\x02\x07"), "tam,af,i2>i7." },
		{ BYTES("\xe2\x05\x06\x07"), "tam,af,Li5,i6>>i7." },
		{ BYTES("\xd6\x02\x05\x06"), "tam,af,Li5,i6>>." },
		{ BYTES("\xe3\x07"), "tam,af,n>i7." },
		{ BYTES("\xe2\x05\xc8\x03\x09\x07"), "tam,af,Li5,C1>>i7." },
		{ BYTES("\xe2\xc8\x03\x09"), "tam,af,LC2>>." },
		{ BYTES("\x82\xe2\x42\xe3\x43"),
		  "ttam,af,Ltam,af,i2>,tam,af,n>>>,tam,af,i0>>." },
		/* the second argument is missing or invalid */
		{ BYTES("\xe2\x05"), "tam,af,Li5!" },
		{ BYTES("\xe2\x05\xd5"), "tam,af,Li5!" },
		{ BYTES("\xe2\x05\xc7\x06"), "tam,af,Li5!" },
		{ BYTES("\xe2\x05\xc8\x04\x09"), "tam,af,Li5!" },
		/* entry 4, whose module and name are not in the dictionary */
		{ BYTES("\xe4"), "!" },
		{ BYTES("\x44"), "!" },
		/* entry 0, which is an atom and no function */
		{ BYTES("\xe0"), "!" },
		/* entry 9, which does not exist */
		{ BYTES("\xe9"), "!" },
		/* fun m:N/1, where N is a function and no atom */
		{ BYTES("\xd2\x40\x42\x01"), "!" },
	};
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		tokens(text, some[i].bytes, some[i].len);
		assert_string_equal(text, some[i].tokens);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_encodings_give_the_same_tokens),
		cmocka_unit_test(an_end_has_the_kind_of_its_container),
		cmocka_unit_test(a_cursor_skips_terms_and_leaves_containers),
		cmocka_unit_test(another_term_than_the_one_expected_is_damage),
		cmocka_unit_test(invalid_bytes_are_refused),
		cmocka_unit_test(a_fun_cannot_reach_beyond_its_own_size),
		cmocka_unit_test(containers_nest_up_to_the_limit),
		cmocka_unit_test(integers_are_found_however_they_are_written),
		cmocka_unit_test(atoms_are_known_by_their_name),
		cmocka_unit_test(functions_have_the_tokens_of_their_terms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
