/* SPDX-License-Identifier: Apache-2.0 */
/* inv_simple_print is a quick printer for simple terms. Tests it with random
 * terms in the encoding of logs. It must print the same text as inv_term_print,
 * or nothing. */
#include "term/simple.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/varint.h"

static uint64_t seed;
static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_buf terms, fast, slow;
static struct inv_fields fields;
static const struct inv_print_opts styles[] = {
	{ .style = INV_PRINT_W, .unicode = true },
	{ .style = INV_PRINT_P, .unicode = true },
	{ .style = INV_PRINT_P, .unicode = true, .fields = { &fields, NULL } },
};

static unsigned chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void put(unsigned byte)
{
	inv_buf_putc(&terms, (char)byte);
}

static void put_varint(uint64_t v)
{
	uint8_t b[INV_VARINT_MAX];

	inv_buf_put(&terms, b, (size_t)(inv_varint_put(b, v) - b));
}

/* Appends n bytes. In three of four cases all of them are printable, so that
 * strings and binaries are often simple. */
static void put_bytes(unsigned n)
{
	unsigned odd = chance(4);

	while (n--)
		put(odd ? ' ' + chance(95) : chance(256));
}

static void term(unsigned depth);

static void elements(unsigned n, unsigned depth)
{
	while (n--)
		term(depth);
}

static void list(unsigned depth)
{
	unsigned n = chance(5), ints = chance(3);

	put(INV_T_LIST);
	while (n--) {
		if (ints)
			term(depth);
		else
			put(chance(64));
	}
	switch (chance(12)) {
	case 0:
		put(INV_T_TAIL);
		term(depth);
		break;
	case 1:
		put(INV_T_CUT);
		put(INV_CUT_LIST);
		put_varint(chance(100));
		break;
	default:
		put(INV_T_END);
		break;
	}
}

/* Appends a call. Entry 5 of the dictionary is x:ok/2, and entry 6 is
 * ok:x/0. */
static void apply(unsigned depth)
{
	unsigned entry = 5 + chance(2);

	if (chance(2)) {
		put(INV_T_APPLY_SMALL + entry);
	} else {
		put(INV_T_APPLY);
		put_varint(entry);
	}
	if (entry == 6)
		return;
	if (chance(2)) {
		put(chance(64));
		put(chance(64));
		return;
	}
	term(depth);
	if (chance(8)) {
		term(depth);
		return;
	}
	put(INV_T_CUT);
	put(INV_CUT_LIST);
	put_varint(chance(100));
}

/* Appends a term that can have up to `depth' more levels. */
static void term(unsigned depth)
{
	unsigned n = chance(depth ? 18 : 10);

	switch (n) {
	case 0:
		put(chance(64));
		break;
	case 1:
		put(INV_T_DICT_SMALL + chance(7));
		break;
	case 2:
		put(INV_T_INT);
		put_varint(seed >> chance(64));
		break;
	case 3:
		n = chance(8);
		put(INV_T_BINARY_SMALL + n);
		put_bytes(n);
		break;
	case 4:
		n = chance(8);
		put(INV_T_STRING_SMALL + n);
		put_bytes(n + 1);
		break;
	case 5:
		put(INV_T_NIL);
		break;
	case 6:
		put(chance(2) ? INV_T_BINARY : INV_T_STRING);
		n = chance(40);
		put_varint(n);
		put_bytes(n);
		break;
	case 7:
		put(INV_T_HOLE);
		put(INV_CUT_OTHER);
		put(0);
		break;
	case 8:
		put(INV_T_XPID);
		put_varint(seed >> chance(64));
		put_varint(seed >> chance(64));
		put_varint(chance(3));
		break;
	case 9:
		n = chance(INV_REF_WORDS + 2);
		put(INV_T_REF);
		put_varint(chance(300));
		put_varint(n);
		while (n--)
			put_varint(seed >> chance(64));
		break;
	case 10:
	case 11:
		n = chance(5);
		put(INV_T_TUPLE_SMALL + n);
		elements(n, depth - 1);
		break;
	case 12:
		n = chance(4);
		put(INV_T_MAP);
		put_varint(n);
		elements(2 * n, depth - 1);
		break;
	case 13:
		n = chance(4);
		put(INV_T_TUPLE);
		put_varint(n);
		elements(n, depth - 1);
		break;
	case 14:
		apply(depth - 1);
		break;
	default:
		list(depth - 1);
		break;
	}
}

static void start(void)
{
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, terms.data, terms.len);
}

/* Checks that the text needs no escapes in JSON. */
static void assert_plain(const struct inv_buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		assert_true(text->data[i] >= ' ' && text->data[i] <= '~' &&
			    text->data[i] != '"' && text->data[i] != '\\');
}

/* Prints the term with both printers, and compares. Returns true if the term is
 * simple. */
static bool compare(const struct inv_print_opts *o)
{
	struct inv_token tok;
	size_t end;
	int rc;

	start();
	inv_buf_reset(&slow);
	rc = inv_cursor_next(&cursor, &tok);
	if (!rc)
		rc = inv_term_print_token(&cursor, &tok, &slow, o);
	end = inv_cursor_offset(&cursor);
	start();
	inv_buf_reset(&fast);
	if (!inv_simple_print(&cursor, &fast, o)) {
		assert_int_equal(fast.len, 0);
		assert_int_equal(inv_cursor_offset(&cursor), 0);
		return false;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(inv_cursor_offset(&cursor), end);
	assert_int_equal(fast.len, slow.len);
	assert_memory_equal(fast.data, slow.data, slow.len);
	if (o == &styles[0])
		assert_plain(&fast);
	return true;
}

static void setup_dict(void)
{
	static const uint8_t defs[] = {
		INV_DEF_FUNCTION,
		3,
		1,
		2,
		0,
		INV_DEF_FUNCTION,
		3,
		2,
		1,
		2,
		INV_DEF_PORT,
		1,
		5,
		INV_DEF_PID,
		3,
		0xd8,
		0x04,
		0,
		INV_DEF_ATOM,
		1,
		'x',
		INV_DEF_ATOM,
		2,
		'o',
		'k',
		INV_DEF_ATOM,
		3,
		'A',
		'b',
		'c',
	};

	assert_int_equal(inv_dict_parse(&dict, defs, sizeof(defs), NULL), 0);
}

static void random_terms_are_printed_alike(void **state)
{
	const char *given = getenv("INVISO_SEED"); /* NOLINT: one thread */
	unsigned simple = 0;

	(void)state;
	seed = given ? strtoull(given, NULL, 10) : 1;
	print_message("seed %llu\n", (unsigned long long)seed);
	setup_dict();
	inv_fields_add(&fields, NULL, 0, (const uint8_t *)"ok", 2, 1,
		       (const uint8_t *)"\x02id", 3);
	inv_fields_add(&fields, NULL, 0, (const uint8_t *)"Abc", 3, 2,
		       (const uint8_t *)"\x01x\x01Y", 4);
	for (int i = 0; i < 100000; i++) {
		inv_buf_reset(&terms);
		term(4);
		for (int s = 0; s < 2; s++)
			simple += compare(&styles[s]);
		compare(&styles[2]);
	}
	inv_fields_release(&fields);
	assert_true(simple > 50000 && simple < 190000);
}

/* Prints the elements of a tuple. If `simply' is true, uses inv_simple_print
 * for each element that is simple. Returns the result of the cursor. */
static int print_elements(struct inv_buf *out, bool simply)
{
	struct inv_token tok;
	int rc;

	start();
	rc = inv_cursor_next(&cursor, &tok);
	while (!rc && inv_cursor_depth(&cursor)) {
		inv_buf_putc(out, ' ');
		if (simply && inv_simple_print(&cursor, out, &styles[0]))
			continue;
		rc = inv_cursor_next(&cursor, &tok);
		if (!rc && tok.kind != INV_TOK_END)
			rc = inv_term_print_token(&cursor, &tok, out,
						  &styles[0]);
	}
	return rc;
}

/* The cursor is inside a tuple, between two elements. Even then, both printers
 * print the same text. */
static void elements_are_printed_alike(void **state)
{
	int rc;

	(void)state;
	seed = 2;
	setup_dict();
	for (int i = 0; i < 20000; i++) {
		unsigned n = chance(6);

		inv_buf_reset(&terms);
		put(INV_T_TUPLE_SMALL + n);
		elements(n, 2);
		inv_buf_reset(&slow);
		inv_buf_reset(&fast);
		rc = print_elements(&slow, false);
		assert_int_equal(print_elements(&fast, true), rc);
		assert_int_equal(fast.len, slow.len);
		assert_memory_equal(fast.data, slow.data, slow.len);
	}
}

/* inv_simple_print also prints atoms that may need quotes around them, but not
 * atoms in which a character needs an escape. */
static void quoted_atoms(void **state)
{
	static const uint8_t defs[] = {
		INV_DEF_ATOM, 1, '\'', INV_DEF_ATOM, 3,	 'a', '@', 'H',
		INV_DEF_ATOM, 3, 'e',  'n',	     'd'
	};

	(void)state;
	assert_int_equal(inv_dict_parse(&dict, defs, sizeof(defs), NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		inv_buf_reset(&terms);
		put(INV_T_DICT_SMALL + i);
		assert_int_equal(compare(&styles[0]), i < 2);
	}
}

/* Tries every byte at every place of a binary and of a string. A text that
 * needs no escapes is simple. */
static void each_byte_is_printed_alike(void **state)
{
	uint8_t text[20];

	(void)state;
	setup_dict();
	for (unsigned i = 0; i < sizeof(text) * 256 * 2; i++) {
		unsigned byte = i / 2 % 256;
		bool plain = byte >= ' ' && byte <= '~' && byte != '"' &&
			     byte != '\\';

		memset(text, i & 2 ? 'a' : ' ', sizeof(text));
		text[i / 512] = (uint8_t)byte;
		inv_buf_reset(&terms);
		put(i & 1 ? INV_T_BINARY : INV_T_STRING);
		put_varint(sizeof(text));
		inv_buf_put(&terms, text, sizeof(text));
		assert_true(compare(&styles[0]));
		assert_int_equal(compare(&styles[1]), plain);
	}
}

static void cut_bytes_are_not_simple(void **state)
{
	(void)state;
	seed = 7;
	setup_dict();
	for (int i = 0; i < 20000; i++) {
		inv_buf_reset(&terms);
		term(4);
		terms.len -= 1 + chance((unsigned)terms.len);
		compare(&styles[i % 2]);
		if (terms.len)
			terms.data[chance((unsigned)terms.len)] =
				(uint8_t)chance(256);
		compare(&styles[i % 2]);
	}
}

static void deep_terms_are_not_simple(void **state)
{
	(void)state;
	setup_dict();
	for (unsigned depth = 1; depth < 40; depth++) {
		inv_buf_reset(&terms);
		for (unsigned i = 0; i < depth; i++)
			put(INV_T_TUPLE_SMALL + 1);
		put(1);
		assert_int_equal(compare(&styles[0]), depth <= 16);
	}
}

static void elements_have_their_ends(void **state)
{
	size_t ends[2];
	uint32_t n;

	(void)state;
	setup_dict();
	inv_buf_reset(&terms);
	inv_buf_put(&terms, "\xc6\x07\x82\x01\x42\x08\xd5", 7);
	start();
	inv_buf_reset(&fast);
	inv_buf_puts(&fast, "m:f(");
	assert_true(inv_simple_print_elements(&cursor, &fast, &styles[1], ends,
					      2, &n));
	assert_int_equal(n, 3);
	assert_int_equal(fast.len, strlen("m:f(7,{1,x},8"));
	assert_memory_equal(fast.data, "m:f(7,{1,x},8", fast.len);
	assert_int_equal(ends[0], 5);
	assert_int_equal(ends[1], 11);
	assert_true(inv_simple_count(terms.data, terms.data + terms.len, &n));
	assert_int_equal(n, 3);
	assert_false(
		inv_simple_count(terms.data, terms.data + terms.len - 1, &n));
}

/* In the encoding of logs, the code APPLY stands for {Module, Function,
 * Arguments}. Tests inv_simple_print_elements with these arguments. */
static void arguments_have_their_ends(void **state)
{
	struct inv_dict_function f;
	struct inv_token tok;
	bool with_args;
	size_t ends[2];
	uint32_t n;

	(void)state;
	setup_dict();
	inv_buf_reset(&terms);
	inv_buf_put(&terms, "\xe5\x07\x42\x09", 4);
	for (int i = 0; i < 2; i++) {
		start();
		assert_true(inv_cursor_function(&cursor, &f, &with_args));
		assert_true(with_args && f.arity == 2);
		inv_buf_reset(&fast);
		assert_true(inv_simple_print_elements(&cursor, &fast,
						      &styles[1], ends, 2, &n));
		assert_int_equal(n, 2);
		assert_memory_equal(fast.data, "7,x", 3);
		assert_int_equal(fast.len, 3);
		assert_int_equal(ends[0], 1);
		assert_int_equal(ends[1], 3);
		assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
		assert_int_equal(tok.i, 9);
	}
	/* If the arguments are not simple, the function returns false, and the
	 * caller reads them with inv_cursor_next. */
	terms.data[2] = INV_T_HOLE;
	inv_buf_put(&terms, "\x00", 1);
	start();
	assert_true(inv_cursor_function(&cursor, &f, &with_args));
	assert_false(inv_simple_print_elements(&cursor, &fast, &styles[1], ends,
					       2, &n));
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_int_equal(tok.kind, INV_TOK_LIST);
}

static int release(void **state)
{
	(void)state;
	inv_buf_release(&terms);
	inv_buf_release(&fast);
	inv_buf_release(&slow);
	inv_dict_release(&dict);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_terms_are_printed_alike),
		cmocka_unit_test(elements_are_printed_alike),
		cmocka_unit_test(quoted_atoms),
		cmocka_unit_test(each_byte_is_printed_alike),
		cmocka_unit_test(cut_bytes_are_not_simple),
		cmocka_unit_test(deep_terms_are_not_simple),
		cmocka_unit_test(elements_have_their_ends),
		cmocka_unit_test(arguments_have_their_ends),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
