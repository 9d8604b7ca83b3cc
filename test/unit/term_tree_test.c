/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "term/tree_print.h"
#include "term/tree_text.h"

static inv_word words[1 << 16];
static struct inv_heap heap = { .w = words, .cap = 1 << 16 };
static struct inv_cursor cursor;
static struct inv_buf out;

static inv_word parse(const char *text)
{
	struct inv_err err = { 0 };
	inv_word t = 0;

	if (inv_tree_parse(&heap, text, &t, &err))
		fail_msg("%s: %s", text, err.text);
	return t;
}

static const char *text_of(inv_word t)
{
	static const struct inv_print_opts w;

	inv_buf_reset(&out);
	assert_int_equal(inv_tree_print(t, &out, &w), 0);
	inv_buf_putc(&out, '\0');
	return (const char *)out.data;
}

static inv_word read_bytes(enum inv_enc enc, const char *p, size_t len)
{
	inv_word t;

	inv_cursor_init(&cursor, enc, NULL, p, len);
	assert_int_equal(inv_tree_read(&heap, &cursor, &t), 0);
	return t;
}

#define PACKED(s) read_bytes(INV_ENC_PACKED, s, sizeof(s) - 1)

static int cmp(inv_word a, inv_word b, unsigned how)
{
	uint64_t steps = 1000;
	int r = 99;

	assert_int_equal(inv_tree_cmp(a, b, how, &steps, &r), 0);
	return (r > 0) - (r < 0);
}

static void terms_are_read_as_they_are_printed(void **state)
{
	static const char *const same[] = {
		"0",
		"-1",
		"1152921504606846975",
		"-1152921504606846977",
		"9223372036854775807",
		"-9223372036854775808",
		"9223372036854775808",
		"123456789012345678901234567890",
		"1.5",
		"-0.0",
		"1.0e300",
		"5.0e-324",
		"a",
		"'A b'",
		"\xc3\xa9",
		"'\\n'",
		"[]",
		"[a,[b],{c}|d]",
		"{}",
		"{a,{b}}",
		"#{}",
		"#{1 => a,a => #{}}",
		"<<>>",
		"<<1,2,255>>",
		"<<1,5:3>>",
		"<0.1.2>",
		"<7.1.2>",
		"#Port<0.5>",
		"#Ref<0.1.2.3>",
		"fun m:f/2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		heap.used = 0;
		assert_string_equal(text_of(parse(same[i])), same[i]);
	}
}

static void text_can_be_written_in_other_ways(void **state)
{
	static const struct {
		const char *text;
		const char *same;
	} pairs[] = {
		{ " a . ", "a" },
		{ "% c\n a", "a" },
		{ "16#fF", "255" },
		{ "1_000", "1000" },
		{ "$a", "97" },
		{ "$\\n", "10" },
		{ "-$\\x41", "-65" },
		{ "\"a\" \"b\"", "[97,98]" },
		{ "\"\\x{3b1}\\101\"", "[945,65]" },
		{ "[a,]", NULL },
		{ "1.5E2", "150.0" },
		{ "+3", "3" },
		{ "_", "'_'" },
		{ "<<\"ab\",1:16>>", "<<97,98,0,1>>" },
		{ "<<18446744073709551615:64>>",
		  "<<255,255,255,255,255,255,255,255>>" },
		{ "<<-1:4>>", "<<15:4>>" },
		{ "#{b=>1,a=>2,b=>3}", NULL },
		{ "X", NULL },
		{ "when", NULL },
		{ "1#0", NULL },
		{ "1.0e999", NULL },
		{ "'a", NULL },
		{ "\"a", NULL },
		{ "<0.1>", NULL },
		{ "{a", NULL },
		{ "a b", NULL },
		{ "", NULL },
		{ "#Fun<a.1.2>", NULL },
		{ "<<1/float>>", NULL },
		{ "<<256/8>>", NULL },
		{ "\x80", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct inv_err err = { 0 };
		inv_word t;
		int rc;

		heap.used = 0;
		rc = inv_tree_parse(&heap, pairs[i].text, &t, &err);
		if (pairs[i].same) {
			assert_string_equal(text_of(parse(pairs[i].text)),
					    pairs[i].same);
		} else if (strstr(pairs[i].text, "=>1")) {
			/* Equal keys in a map are no error. The map has the
			 * last value. */
			assert_int_equal(rc, 0);
		} else {
			assert_int_equal(rc, INV_EINVAL);
			assert_int_not_equal(err.text[0], 0);
		}
	}
}

static void terms_are_in_the_order_of_erlang(void **state)
{
	static const char *const rising[] = {
		"-123456789012345678901234567890",
		"-9223372036854775809",
		"-9223372036854775808",
		"-1",
		"0.5",
		"1",
		"9007199254740992.0",
		"9007199254740993",
		"9223372036854775807",
		"9223372036854775808",
		"9223372036854777856.0",
		"1.0e300",
		"''",
		"a",
		"aa",
		"b",
		"#Ref<0.1.2.3>",
		"fun a:a/1",
		"fun a:b/0",
		"#Port<0.1>",
		"#Port<0.2>",
		"<0.2.0>",
		"<0.1.1>",
		"{}",
		"{z}",
		"{a,a}",
		"{a,b}",
		"#{}",
		"#{z => 1}",
		"#{1 => 2,a => 0}",
		"#{a => 1,b => 2}",
		"#{a => 1,b => 3}",
		"[]",
		"[a]",
		"[a,b]",
		"[b|c]",
		"[b]",
		"<<>>",
		"<<1>>",
		"<<1,1:1>>",
		"<<2>>",
	};
	size_t n = sizeof(rising) / sizeof(*rising), i, j;
	inv_word t[64];

	(void)state;
	heap.used = 0;
	for (i = 0; i < n; i++)
		t[i] = parse(rising[i]);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			if (cmp(t[i], t[j], 0) != (i > j) - (i < j))
				fail_msg("%s and %s", rising[i], rising[j]);
}

static void numbers_are_the_same_in_more_than_one_way(void **state)
{
	inv_word one, float_one, zero, minus_zero;

	(void)state;
	heap.used = 0;
	one = parse("{1}");
	float_one = parse("{1.0}");
	zero = parse("[0.0]");
	minus_zero = parse("[-0.0]");
	assert_int_equal(cmp(one, float_one, 0), 0);
	assert_int_equal(cmp(one, float_one, INV_CMP_EXACT), -1);
	assert_int_equal(cmp(zero, minus_zero, INV_CMP_EXACT), 0);
	assert_int_equal(cmp(zero, minus_zero, INV_CMP_EXACT | INV_CMP_ZEROS),
			 1);
	/* The keys of maps are always compared exactly. The last argument of
	 * cmp decides only how values are compared. */
	assert_int_equal(cmp(parse("#{a => 1}"), parse("#{a => 1.0}"), 0), 0);
	assert_int_equal(cmp(parse("#{1 => a}"), parse("#{1.0 => a}"), 0), -1);
}

static void maps_are_found_by_their_keys(void **state)
{
	inv_word map, value, got;
	uint64_t steps = 10000;
	struct inv_buf text = { 0 };

	(void)state;
	heap.used = 0;
	inv_buf_puts(&text, "#{");
	for (int i = 99; i >= 0; i--)
		inv_buf_printf(&text, "%d => {%d}%s", i * 7 % 100, i,
			       i > 0 ? "," : "}");
	inv_buf_putc(&text, '\0');
	map = parse((const char *)text.data);
	inv_buf_release(&text);
	assert_int_equal(inv_box_n(inv_box(map)), 100);
	for (int i = 0; i < 100; i++) {
		value = inv_make_int(&heap, i * 7 % 100);
		assert_int_equal(inv_tree_map_get(inv_box(map), value,
						  INV_CMP_EXACT, &steps, &got),
				 0);
		assert_int_equal(inv_small(inv_box(got)[1]), i);
	}
	value = inv_make_float(&heap, 1.0);
	inv_tree_map_get(inv_box(map), value, INV_CMP_EXACT, &steps, &got);
	assert_int_equal(got, 0);
}

/* If a map has several values for equal keys, the last value is kept, as in
 * Erlang. */
static void the_last_of_equal_keys_is_kept(void **state)
{
	enum {
		KEYS = 37,
		PAIRS = 1000
	};
	struct inv_buf text = { 0 };
	uint64_t steps = 100000;
	inv_word map, got;

	(void)state;
	heap.used = 0;
	assert_int_equal(cmp(parse("#{a => 1, a => 2}"), parse("#{a => 2}"),
			     INV_CMP_EXACT),
			 0);
	assert_int_equal(cmp(parse("#{1 => a, 1.0 => b, 1 => c, 1.0 => d}"),
			     parse("#{1 => c, 1.0 => d}"), INV_CMP_EXACT),
			 0);
	assert_int_equal(cmp(parse("#{#{b => x, b => y} => 1, {[0.0]} => 2,"
				   "  #{b => y} => 3, {[0.0]} => 4}"),
			     parse("#{#{b => y} => 3, {[0.0]} => 4}"),
			     INV_CMP_EXACT),
			 0);
	for (int i = 0; i < PAIRS; i++)
		inv_buf_printf(&text, "%s{%d} => %d", i ? "," : "#{",
			       i * i % KEYS, i);
	inv_buf_puts(&text, "}");
	inv_buf_putc(&text, '\0');
	map = parse((const char *)text.data);
	inv_buf_release(&text);
	for (int i = PAIRS - KEYS; i < PAIRS; i++) {
		inv_word *key = inv_make_tuple(&heap, 1);
		int last = i;

		for (int j = i; j < PAIRS; j++)
			last = j * j % KEYS == i * i % KEYS ? j : last;
		key[1] = inv_make_int(&heap, i * i % KEYS);
		inv_tree_map_get(inv_box(map), (inv_word)(uintptr_t)key,
				 INV_CMP_EXACT, &steps, &got);
		assert_int_equal(inv_small(got), last);
	}
}

static void external_terms_are_unchanged(void **state)
{
	static const char *const texts[] = {
		"[1,-1,255,256,2147483648,9223372036854775808,-1.5,ok|'A']",
		"{<<1,2>>,<<1,5:3>>,[],\"string\",#{a => [b]}}",
		"[fun lists:seq/2,{},#{}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct inv_buf etf = { 0 };
		inv_word t, back;

		heap.used = 0;
		t = parse(texts[i]);
		assert_int_equal(inv_tree_etf(t, "a@b", 0, &etf), 0);
		back = read_bytes(INV_ENC_ETF, (char *)etf.data, etf.len);
		assert_int_equal(cmp(t, back, INV_CMP_EXACT), 0);
		inv_buf_release(&etf);
	}
}

static void missing_terms_are_holes(void **state)
{
	uint64_t steps = 100;
	inv_word t, got;
	int r;

	(void)state;
	heap.used = 0;
	/* The term is {1, ...(2 more)}. */
	t = PACKED("\x83\x01\xc8\x01\x02");
	assert_string_equal(text_of(t), "{1,...,...}");
	/* The term is [1, ...]. */
	t = PACKED("\xc6\x01\xc8\x03\x05");
	assert_string_equal(text_of(t), "[1|...]");
	assert_int_equal(inv_tree_cmp(t, parse("[1,2]"), 0, &steps, &r),
			 INV_EUNKNOWN);
	/* If an earlier element differs, or if the other term is not a list,
	 * the comparison does not need the elements after the cut. */
	assert_int_equal(cmp(t, parse("[2,2]"), 0), -1);
	assert_int_equal(cmp(t, parse("[1|a]"), 0), 1);
	/* The term is #{1 => 2, ...(1 more)}. */
	t = PACKED("\xc9\x02\x01\x02\xc8\x02\x01");
	assert_int_equal(inv_tree_map_get(inv_box(t), parse("1"), INV_CMP_EXACT,
					  &steps, &got),
			 0);
	assert_int_equal(inv_small(got), 2);
	assert_int_equal(inv_tree_map_get(inv_box(t), parse("7"), INV_CMP_EXACT,
					  &steps, &got),
			 INV_EUNKNOWN);
	assert_int_equal(inv_tree_etf(t, "a@b", 0, &out), INV_EUNKNOWN);
}

static void a_full_heap_is_reported(void **state)
{
	struct inv_heap small = heap;
	struct inv_err err;
	inv_word t;
	int rc;

	(void)state;
	for (size_t cap = 0;; cap++) {
		assert_true(cap < 100);
		small.used = 0;
		small.cap = cap;
		rc = inv_tree_parse(&small,
				    "{a,[1.5,\"bc\"],#{d => <<1>>},<0.1.2>,"
				    "99999999999999999999}",
				    &t, &err);
		if (!rc)
			break;
		assert_int_equal(rc, INV_ETOOBIG);
	}
}

static void depth_and_steps_have_an_end(void **state)
{
	char deep[2 * INV_TREE_DEPTH + 10];
	uint64_t steps = 3;
	struct inv_err err;
	inv_word t, u;
	int r;

	(void)state;
	heap.used = 0;
	memset(deep, '{', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(inv_tree_parse(&heap, deep, &t, &err), INV_EDEPTH);
	t = parse("[1,2,3,4,5]");
	u = parse("[1,2,3,4,5]");
	assert_int_equal(inv_tree_cmp(t, u, 0, &steps, &r), INV_ETOOBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_are_read_as_they_are_printed),
		cmocka_unit_test(text_can_be_written_in_other_ways),
		cmocka_unit_test(terms_are_in_the_order_of_erlang),
		cmocka_unit_test(numbers_are_the_same_in_more_than_one_way),
		cmocka_unit_test(maps_are_found_by_their_keys),
		cmocka_unit_test(the_last_of_equal_keys_is_kept),
		cmocka_unit_test(external_terms_are_unchanged),
		cmocka_unit_test(missing_terms_are_holes),
		cmocka_unit_test(a_full_heap_is_reported),
		cmocka_unit_test(depth_and_steps_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
