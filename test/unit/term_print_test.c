/* SPDX-License-Identifier: Apache-2.0 */
#include "term/print.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * The expected texts are what a VM printed. The suite
 * test/ct/inviso_print_SUITE.erl compares many more terms with a live VM. Cut
 * terms are only in this test, because a VM has no such terms.
 */

/* The dictionary: 0 is ok, 1 is 'A b', 2 is é, 3 is <0.10.128>, 4 is
 * #Port<0.300>, 5 is the node b@c with the number 3, and 6 is maybe. */
static const char definitions[] = "\x01\x05"
				  "maybe"
				  "\x04\x05\x03\x02"
				  "b@c"
				  "\x03\x02\xac\x02"
				  "\x02\x03\x0a\x80\x01"
				  "\x01\x02\xc3\xa9"
				  "\x01\x03"
				  "A b"
				  "\x01\x02"
				  "ok";

static struct inv_dict dict;
static struct inv_cursor cursor;
static struct inv_buf out;

struct example {
	const char *bytes;
	size_t len;
	const char *w; /* ~w */
	const char *p; /* ~0p, or NULL if equal to w */
};

#define BYTES(s) s, sizeof(s) - 1

static void check_offsets(const struct example *x, enum inv_enc enc)
{
	size_t i;

	inv_cursor_init(&cursor, enc, &dict, x->bytes, x->len);
	assert_int_equal(inv_cursor_skip(&cursor), 0);
	assert_int_equal(inv_cursor_offset(&cursor), x->len);
	assert_int_equal(inv_cursor_skip(&cursor), INV_END);
	/* If the term ends before one of its bytes, the cursor returns an
	 * error. The memory has exactly this size, so that a sanitizer detects
	 * reads after its end. */
	for (i = 1; i < x->len; i++) {
		char *part = malloc(i);

		memcpy(part, x->bytes, i);
		inv_cursor_init(&cursor, enc, &dict, part, i);
		assert_true(inv_cursor_skip(&cursor) < 0);
		free(part);
	}
}

static void check_print(const struct example *x, enum inv_enc enc,
			const struct inv_print_opts *o, const char *text)
{
	int r;

	inv_buf_reset(&out);
	inv_cursor_init(&cursor, enc, &dict, x->bytes, x->len);
	r = inv_term_print(&cursor, &out, o);
	if (r)
		fail_msg("%s: %d", text, r);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, text);
	assert_int_equal(inv_cursor_offset(&cursor), x->len);
	assert_int_equal(inv_cursor_depth(&cursor), 0);
}

static void check(const struct example *x, size_t n, enum inv_enc enc)
{
	static const struct inv_print_opts w;
	static const struct inv_print_opts p = { .style = INV_PRINT_P };

	for (; n > 0; n--, x++) {
		check_print(x, enc, &w, x->w);
		check_print(x, enc, &p, x->p ? x->p : x->w);
		check_offsets(x, enc);
	}
}

#define CHECK(examples, enc) \
	check(examples, sizeof(examples) / sizeof((examples)[0]), enc)

static void packed_terms_are_printed_as_erlang_prints_them(void **state)
{
	static const struct example examples[] = {
		{ BYTES("\x00"), "0", 0 },
		{ BYTES("\x3f"), "63", 0 },
		{ BYTES("\x40"), "ok", 0 },
		{ BYTES("\x41"), "'A b'", 0 },
		{ BYTES("\x42"), "\xc3\xa9", 0 },
		{ BYTES("\x43"), "<0.10.128>", 0 },
		{ BYTES("\x44"), "#Port<0.300>", 0 },
		{ BYTES("\xc4\x00"), "ok", 0 },
		{ BYTES("\x80"), "{}", 0 },
		{ BYTES("\x82\x40\x01"), "{ok,1}", 0 },
		{ BYTES("\xc5\x02\x40\x81\x01"), "{ok,{1}}", 0 },
		{ BYTES("\x90"), "<<>>", 0 },
		{ BYTES("\x93"
			"abc"),
		  "<<97,98,99>>", "<<\"abc\">>" },
		{ BYTES("\x91\x00"), "<<0>>", 0 },
		{ BYTES("\xb2"
			"abc"),
		  "[97,98,99]", "\"abc\"" },
		{ BYTES("\xb0\x07"), "[7]", 0 },
		{ BYTES("\xc0"), "[]", 0 },
		{ BYTES("\xc1\x7f"), "-64", 0 },
		{ BYTES("\xc1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		  "-9223372036854775808", 0 },
		{ BYTES("\xc2\x01\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
		  "-18446744073709551616", 0 },
		{ BYTES("\xc2\x00\x00"), "0", 0 },
		{ BYTES("\xc3\x00\x00\x00\x00\x00\x00\xf8\x3f"), "1.5", 0 },
		{ BYTES("\xc6\xd5"), "[]", 0 },
		{ BYTES("\xc6\xc0\xd5"), "[[]]", 0 },
		{ BYTES("\xc6\xc0\x40\xd5"), "[[],ok]", 0 },
		{ BYTES("\xc6\x01\x40\xd5"), "[1,ok]", 0 },
		{ BYTES("\xc6\x01\xc7\x02"), "[1|2]", 0 },
		{ BYTES("\xc6\x01\xc7\x81\x02"), "[1|{2}]", 0 },
		{ BYTES("\xc6\xc1\xc2\x01\xc1\xc4\x01\xd5"), "[97,98]",
		  "\"ab\"" },
		{ BYTES("\xc6\xc1\xc2\x01\xc7\xc1\xc4\x01"), "[97|98]", 0 },
		{ BYTES("\xc6\xc1\xc2\x01\xc6\xd5\xd5"), "[97,[]]", 0 },
		{ BYTES("\xc9\x00"), "#{}", 0 },
		{ BYTES("\xc9\x02\x01\x40\x02\xb0"
			"a"),
		  "#{1 => ok,2 => [97]}", "#{1 => ok,2 => \"a\"}" },
		{ BYTES("\xca\x02"
			"\"\\"),
		  "<<34,92>>", "<<\"\\\"\\\\\">>" },
		{ BYTES("\xcb\x0b"
			"a\xa0"),
		  "<<97,5:3>>", 0 },
		{ BYTES("\xcb\x03\xa0"), "<<5:3>>", 0 },
		{ BYTES("\xcb\x00"), "<<>>", 0 },
		{ BYTES("\xcd\x02\x61\xe9"), "[97,233]", "\"a\xc3\xa9\"" },
		{ BYTES("\xcd\x00"), "[]", 0 },
		{ BYTES("\xcf\x00\x03\x01\x02\x03"), "#Ref<0.1.2.3>", 0 },
		{ BYTES("\xcf\x03\x01\x81\x01"), "#Ref<3.129>", 0 },
		{ BYTES("\xd0\x03\x0a\x01"), "<3.10.1>", 0 },
		{ BYTES("\xd1\x03\x0a"), "#Port<3.10>", 0 },
		{ BYTES("\xd2\x40\x41\x02"), "fun ok:'A b'/2", 0 },
		{ BYTES("\xd3\x0c#Fun<m.1.22>"), "#Fun<m.1.22>", 0 },
		{ BYTES("\xd3\x01\xff"), "\xef\xbf\xbd", 0 },
	};

	(void)state;
	CHECK(examples, INV_ENC_PACKED);
}

static void missing_elements_are_shown_in_their_place(void **state)
{
	static const struct example examples[] = {
		/* ends of containers */
		{ BYTES("\xc6\x01\x02\xc8\x03\x0c"), "[1,2,...(12 more)]", 0 },
		{ BYTES("\xc6\x01\xc8\x04\x0c"), "[1,...(>=12 more)]", 0 },
		{ BYTES("\xc6\xc8\x03\x0c"), "[...(12 more)]", 0 },
		{ BYTES("\x83\x01\xc8\x01\x02"), "{1,...(2 more)}", 0 },
		{ BYTES("\xc5\xac\x02\x40\xc8\x01\x00"), "{ok,...(299 more)}",
		  0 },
		{ BYTES("\xc9\x03\x01\x02\xc8\x02\x02"),
		  "#{1 => 2,...(2 more)}", 0 },
		{ BYTES("\xc9\x03\xc8\x02\x03"), "#{...(3 more)}", 0 },
		{ BYTES("\x82\x83\x01\xc8\x01\x02\x05"), "{{1,...(2 more)},5}",
		  0 },
		{ BYTES("\xc6\x83\x01\xc8\x01\x02\xc8\x03\x05"),
		  "[{1,...(2 more)},...(5 more)]", 0 },
		/* strings */
		{ BYTES("\xce\x02"
			"ab\x03\x0c"),
		  "[97,98,...(12 more)]", "\"ab\"...(12 more)" },
		{ BYTES("\xce\x02"
			"ab\x04\x0c"),
		  "[97,98,...(>=12 more)]", "\"ab\"...(>=12 more)" },
		{ BYTES("\xce\x00\x03\x0c"), "[...(12 more)]", 0 },
		{ BYTES("\xc6\xc1\xc2\x01\xc8\x03\x0c"), "[97,...(12 more)]",
		  "\"a\"...(12 more)" },
		/* binaries */
		{ BYTES("\xcc\x80\x01\x02"
			"ab"),
		  "<<97,98,...(14 more bytes)>>",
		  "<<\"ab\"...(14 more bytes)>>" },
		{ BYTES("\xcc\x13\x02"
			"ab"),
		  "<<97,98,...(3 more bits)>>", "<<\"ab\"...(3 more bits)>>" },
		{ BYTES("\xcc\x10\x00"), "<<...(2 more bytes)>>", 0 },
		{ BYTES("\xcc\x10\x02"
			"ab"),
		  "<<97,98>>", "<<\"ab\">>" },
		/* holes */
		{ BYTES("\x83\x01\xd4\x01\x03\x05"), "{1,{...(3 more)},5}", 0 },
		{ BYTES("\x82\xd4\x02\x03\x05"), "{#{...(3 more)},5}", 0 },
		{ BYTES("\xd4\x03\x03"), "[...(3 more)]", 0 },
		{ BYTES("\xd4\x04\x03"), "[...(>=3 more)]", 0 },
		{ BYTES("\xd4\x05\x03"), "<<...(3 more bytes)>>", 0 },
		{ BYTES("\xc6\xd4\x06\xac\x02\x01\xd5"),
		  "[...(integer of >=300 bytes),1]", 0 },
		{ BYTES("\xd4\x06\x00"), "...(integer)", 0 },
		{ BYTES("\xc6\x01\xc7\xd4\x07\x00"), "[1|...]", 0 },
		{ BYTES("\xd4\x08\x00"), "<<...>>", 0 },
		{ BYTES("\xc9\x02\x01\xd4\x07\x00\xc8\x02\x01"),
		  "#{1 => ...,...(1 more)}", 0 },
	};

	(void)state;
	CHECK(examples, INV_ENC_PACKED);
}

static void external_terms_are_printed_as_erlang_prints_them(void **state)
{
	static const struct example examples[] = {
		{ BYTES("\x83\x61\xff"), "255", 0 },
		{ BYTES("\x62\xff\xff\xff\xff"), "-1", 0 },
		{ BYTES("\x64\x00\x02ok"), "ok", 0 },
		{ BYTES("\x73\x01\xe9"), "\xc3\xa9", 0 },
		{ BYTES("\x76\x00\x02\xd0\x80"), "'\\x{400}'", 0 },
		{ BYTES("\x77\x00"), "''", 0 },
		{ BYTES("\x46\x3f\xf8\x00\x00\x00\x00\x00\x00"), "1.5", 0 },
		{ BYTES("\x63"
			"1.50000000000000000000e+00\0\0\0\0\0"),
		  "1.5", 0 },
		{ BYTES("\x63"
			"-1.23000000000000000000e-02\0\0\0\0"),
		  "-0.0123", 0 },
		{ BYTES("\x68\x02\x61\x01\x6a"), "{1,[]}", 0 },
		{ BYTES("\x69\x00\x00\x00\x01\x61\x01"), "{1}", 0 },
		{ BYTES("\x6b\x00\x02"
			"ab"),
		  "[97,98]", "\"ab\"" },
		{ BYTES("\x6b\x00\x00"), "[]", 0 },
		{ BYTES("\x6c\x00\x00\x00\x02\x61\x61\x61\x62\x6a"), "[97,98]",
		  "\"ab\"" },
		{ BYTES("\x6c\x00\x00\x00\x01\x61\x01\x61\x02"), "[1|2]", 0 },
		{ BYTES("\x6c\x00\x00\x00\x01\x6a\x6a"), "[[]]", 0 },
		{ BYTES("\x6d\x00\x00\x00\x02"
			"ab"),
		  "<<97,98>>", "<<\"ab\">>" },
		{ BYTES("\x4d\x00\x00\x00\x02\x03\x61\xa0"), "<<97,5:3>>", 0 },
		{ BYTES("\x6e\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
		  "-18446744073709551616", 0 },
		{ BYTES("\x6f\x00\x00\x00\x01\x00\x05"), "5", 0 },
		{ BYTES("\x74\x00\x00\x00\x01\x61\x01\x6a"), "#{1 => []}", 0 },
		{ BYTES("\x58\x64\x00\x03"
			"a@b\0\0\0\x0a\0\0\0\x07\0\0\0\x01"),
		  "<0.10.7>", 0 },
		{ BYTES("\x67\x64\x00\x03"
			"a@b\0\0\0\x0a\0\0\0\x07\x01"),
		  "<0.10.7>", 0 },
		{ BYTES("\x66\x64\x00\x03"
			"a@b\0\0\0\x0a\x01"),
		  "#Port<0.10>", 0 },
		{ BYTES("\x59\x64\x00\x03"
			"a@b\0\0\0\x0a\0\0\0\x01"),
		  "#Port<0.10>", 0 },
		{ BYTES("\x78\x77\x03"
			"a@b\0\0\0\x01\0\0\0\0\0\0\0\x01"),
		  "#Port<0.4294967296>", 0 },
		{ BYTES("\x65\x64\x00\x03"
			"a@b\0\0\0\x0a\x01"),
		  "#Ref<0.10>", 0 },
		{ BYTES("\x72\x00\x02\x64\x00\x03"
			"a@b\x01\0\0\0\x0a\0\0\0\x0b"),
		  "#Ref<0.11.10>", 0 },
		{ BYTES("\x5a\x00\x03\x77\x03"
			"a@b\0\0\0\x01\0\0\0\x0a\0\0\0\x0b\0\0\0\x0c"),
		  "#Ref<0.12.11.10>", 0 },
		{ BYTES("\x71\x64\x00\x01"
			"m\x73\x01"
			"f\x61\x03"),
		  "fun m:f/3", 0 },
		{ BYTES("\x71\x73\x01\xe9\x73\x01\xc9\x61\x00"),
		  "fun \xc3\xa9:'\xc3\x89'/0", 0 },
		{ BYTES("\x70\0\0\0\x46\x01\xa2\xdd\x31\xb4\x69\x07\xac\x54"
			"\x1c\x46\x1f\x47\xaf\x21\x84\x2a\0\0\0\0\0\0\0\0"
			"\x64\x00\x02t1\x61\x00\x62\x05\x16\xe9\x8d"
			"\x58\x64\x00\x0dnonode@nohost\0\0\0\x09\0\0\0\0"
			"\0\0\0\0"),
		  "#Fun<t1.0.85387661>", 0 },
	};

	(void)state;
	CHECK(examples, INV_ENC_ETF);
}

static void options_have_their_effect(void **state)
{
	static const struct example wide_atom = { BYTES("\x76\0\2\xd0\x80"), 0,
						  0 };
	static const struct example wide_string = {
		BYTES("\x6c\0\0\0\x01\x62\0\0\x04\0\x6a"), 0, 0
	};
	static const struct example wide_binary = {
		BYTES("\x6d\0\0\0\x02\xd0\xa0"), 0, 0
	};
	static const struct example maybe = { BYTES("\x77\5maybe"), 0, 0 };
	struct inv_print_opts o = { .unicode = true };

	(void)state;
	check_print(&wide_atom, INV_ENC_ETF, &o, "'\xd0\x80'");
	check_print(&maybe, INV_ENC_ETF, &o, "maybe");
	o.otp = 27;
	check_print(&maybe, INV_ENC_ETF, &o, "'maybe'");
	o.style = INV_PRINT_P;
	check_print(&wide_string, INV_ENC_ETF, &o, "[1024]");
	check_print(&wide_binary, INV_ENC_ETF, &o, "<<208,160>>");
	o.wide_range = true;
	check_print(&wide_string, INV_ENC_ETF, &o, "\"\xd0\x80\"");
	check_print(&wide_binary, INV_ENC_ETF, &o, "<<\"\xd0\xa0\"/utf8>>");
	o.unicode = false;
	check_print(&wide_string, INV_ENC_ETF, &o, "[1024]");
	check_print(&wide_binary, INV_ENC_ETF, &o, "<<\"\xc3\x90\xc2\xa0\">>");
}

static void dictionary_atoms_depend_on_the_release_too(void **state)
{
	static const struct example maybe = { BYTES("\x46"), 0, 0 };
	struct inv_print_opts o = { 0 };

	(void)state;
	check_print(&maybe, INV_ENC_PACKED, &o, "maybe");
	o.otp = 29;
	check_print(&maybe, INV_ENC_PACKED, &o, "'maybe'");
}

static void a_binary_cut_within_a_character_is_still_text(void **state)
{
	/* The cut binary has 3 of 10 bytes: "a", and two bytes of a
	 * character of three bytes. */
	static const struct example x = { BYTES("\xcc\x50\x03"
						"a\xe2\x82"),
					  0, 0 };
	struct inv_print_opts o = { .style = INV_PRINT_P, .unicode = true };

	(void)state;
	check_print(&x, INV_ENC_PACKED, &o, "<<\"a\"...(9 more bytes)>>");
}

static void terms_within_a_container_are_printed_one_by_one(void **state)
{
	static const char bytes[] = "\x83\x40\xc6\x01\x02\xd5\xc0\x05";
	static const struct inv_print_opts w;
	struct inv_token tok;
	uint32_t arity;

	(void)state;
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, BYTES(bytes));
	assert_int_equal(inv_cursor_tuple(&cursor, &arity), 0);
	assert_int_equal(arity, 3);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	inv_buf_putc(&out, ' ');
	assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
	assert_int_equal(tok.kind, INV_TOK_LIST);
	assert_int_equal(tok.sep, INV_SEP_COMMA);
	assert_int_equal(inv_term_print_token(&cursor, &tok, &out, &w), 0);
	inv_buf_putc(&out, ' ');
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	/* The next token is an END, so there is no term to print. */
	assert_int_equal(inv_term_print(&cursor, &out, &w), INV_END);
	assert_int_equal(inv_cursor_depth(&cursor), 0);
	inv_buf_putc(&out, ' ');
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	assert_int_equal(inv_term_print(&cursor, &out, &w), INV_END);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, "ok [1,2] [] 5");
}

static void damage_is_reported_and_what_came_before_is_kept(void **state)
{
	static const struct inv_print_opts p = { .style = INV_PRINT_P };
	/* This is {ok,[97,X]}, where X is an entry that the dictionary does
	 * not have. */
	static const char bytes[] = "\x82\x40\xc6\xc1\xc2\x01\x7f\xd5";

	(void)state;
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, BYTES(bytes));
	assert_int_equal(inv_term_print(&cursor, &out, &p), INV_EDAMAGED);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, "{ok,[97");
}

static void print_float(double f, const char *text)
{
	inv_buf_reset(&out);
	inv_term_print_float(f, &out);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, text);
}

static void floats_have_the_shortest_digits(void **state)
{
	(void)state;
	print_float(0.0, "0.0");
	print_float(-0.0, "-0.0");
	print_float(1.0, "1.0");
	print_float(0.1, "0.1");
	print_float(0.1 + 0.2, "0.30000000000000004");
	print_float(100.0, "100.0");
	print_float(1000.0, "1.0e3");
	print_float(0.001, "0.001");
	print_float(0.0001, "0.0001");
	print_float(0.00012, "1.2e-4");
	print_float(1.0e-5, "1.0e-5");
	print_float(123456789.0, "123456789.0");
	print_float(1.0e15, "1.0e15");
	print_float(9007199254740991.0, "9007199254740991.0");
	print_float(9007199254740992.0, "9.007199254740992e15");
	print_float(1.0e22, "1.0e22");
	print_float(1.0e23, "1.0e23");
	print_float(-1.7976931348623157e308, "-1.7976931348623157e308");
	print_float(5.0e-324, "5.0e-324");
	print_float(2.2250738585072014e-308, "2.2250738585072014e-308");
	print_float(ldexp(1.0, -44), "5.684341886080802e-14");
	print_float(9.5367431640625e-7, "9.5367431640625e-7");
}

static void big_integers_are_exact(void **state)
{
	static uint8_t bytes[6 + INV_BIG_PRINT_MAX] = { 0x6f };
	static const struct inv_print_opts w;
	size_t n = INV_BIG_PRINT_MAX;

	(void)state;
	/* The value is 256^16384 - 1. */
	memset(bytes + 6, 0xff, n);
	bytes[3] = (uint8_t)(n >> 8);
	bytes[4] = (uint8_t)n;
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, bytes, 6 + n);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	assert_int_equal(out.len, 39457);
	assert_memory_equal(out.data, "4014", 4);
	assert_memory_equal(out.data + out.len - 2, "95", 2);
}

static void an_integer_beyond_the_limit_is_not_printed(void **state)
{
	static uint8_t bytes[6 + INV_BIG_PRINT_MAX + 1] = { 0x6f };
	static const struct inv_print_opts w;
	size_t n = INV_BIG_PRINT_MAX + 1;

	(void)state;
	memset(bytes + 6, 0xff, n);
	bytes[3] = (uint8_t)(n >> 8);
	bytes[4] = (uint8_t)n;
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, bytes, 6 + n);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, "...(integer of >=16385 bytes)");
}

/* Writes #{Last => v, ..., 1 => v} to w, where v is an external term.
 * Returns its length. */
static size_t put_map(uint8_t *w, unsigned last, const char *v, size_t len)
{
	const uint8_t *begin = w;

	memcpy(w, "\x74\0\0\0", 4);
	w[4] = (uint8_t)last;
	for (w += 5; last > 0; last--) {
		*w++ = 0x61;
		*w++ = (uint8_t)last;
		memcpy(w, v, len);
		w += len;
	}
	return (size_t)(w - begin);
}

static void large_maps_are_printed_in_reverse(void **state)
{
	static const struct inv_print_opts w;
	uint8_t inner[256], outer[33 * 256];
	size_t len = put_map(inner, 33, "\x6a", 1);
	unsigned i;

	(void)state;
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, inner, len);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	assert_memory_equal(out.data, "#{1 => [],2 => [],3", 19);
	assert_memory_equal(out.data + out.len - 10, ",33 => []}", 10);

	len = put_map(outer, 33, (const char *)inner, len);
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, outer, len);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	inv_buf_putc(&out, '\0');
	for (i = 1; i < 33; i++) {
		char text[32];

		snprintf(text, sizeof(text), "},%u => #{1 => []", i + 1);
		assert_non_null(strstr((char *)out.data, text));
	}
	/* A map with at most 32 keys is printed with its keys in the order in
	 * which they are encoded. */
	len = put_map(inner, 32, "\x6a", 1);
	inv_buf_reset(&out);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, inner, len);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	assert_memory_equal(out.data, "#{32 => [],31", 13);
}

static int setup(void **state)
{
	(void)state;
	return inv_dict_parse(&dict, (const uint8_t *)definitions,
			      sizeof(definitions) - 1, NULL);
}

static int teardown(void **state)
{
	(void)state;
	inv_dict_release(&dict);
	inv_buf_release(&out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			packed_terms_are_printed_as_erlang_prints_them),
		cmocka_unit_test(missing_elements_are_shown_in_their_place),
		cmocka_unit_test(
			external_terms_are_printed_as_erlang_prints_them),
		cmocka_unit_test(options_have_their_effect),
		cmocka_unit_test(dictionary_atoms_depend_on_the_release_too),
		cmocka_unit_test(a_binary_cut_within_a_character_is_still_text),
		cmocka_unit_test(
			terms_within_a_container_are_printed_one_by_one),
		cmocka_unit_test(
			damage_is_reported_and_what_came_before_is_kept),
		cmocka_unit_test(floats_have_the_shortest_digits),
		cmocka_unit_test(large_maps_are_printed_in_reverse),
		cmocka_unit_test(big_integers_are_exact),
		cmocka_unit_test(an_integer_beyond_the_limit_is_not_printed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
