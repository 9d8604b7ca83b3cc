/* SPDX-License-Identifier: Apache-2.0 */
#include "cnode/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "term/print.h"

static struct inv_pack pack;
static struct inv_cursor cursor;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(inv_pack_init(&pack, "c@h", 7), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inv_pack_release(&pack);
	return 0;
}

static char *text(enum inv_enc enc, const struct inv_dict *dict, const void *p,
		  size_t len)
{
	static const struct inv_print_opts w = { .unicode = true };
	struct inv_buf out = { 0 };

	inv_cursor_init(&cursor, enc, dict, p, len);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	assert_int_equal(inv_cursor_offset(&cursor), len);
	inv_buf_putc(&out, '\0');
	return (char *)out.data;
}

/* Returns the text of the terms that were packed (encoded as in a log) since
 * inv_pack_clear. */
static char *packed(void)
{
	struct inv_dict dict = { 0 };
	struct inv_buf defs = { 0 };
	char *s;

	assert_int_equal(pack.terms.error, 0);
	inv_pack_put_defs(&pack, &defs);
	assert_int_equal(defs.len, pack.def_len);
	assert_int_equal(inv_dict_parse(&dict, defs.data, defs.len, NULL), 0);
	assert_int_equal(dict.n, pack.n_defs);
	s = text(INV_ENC_PACKED, &dict, pack.terms.data, pack.terms.len);
	inv_dict_release(&dict);
	inv_buf_release(&defs);
	return s;
}

static void check(const ei_x_buff *x, const char *expected)
{
	char *s;

	inv_pack_clear(&pack);
	pack.cut = false;
	inv_pack_etf(&pack, x->buff, (size_t)x->index);
	s = packed();
	assert_string_equal(s, expected);
	free(s);
}

/* --- random terms --------------------------------------------------------- */

static void put_leaf(ei_x_buff *x)
{
	static const char bytes[40] = "0123456789abcdefghijklmnopqrstuvwxyz";
	static const char *const atoms[] = {
		"",  "ok", "Some Atom", "a@b",
		"x", "y",  "z",		"long_name_of_an_atom"
	};
	static const long ints[] = { 0,	  63, 64,	255,
				     256, -1, 1L << 40, -(1L << 62) };
	int n = rand() % 40;

	switch (rand() % 6) {
	case 0:
		ei_x_encode_long(x, ints[rand() % 8]);
		return;
	case 1:
		ei_x_encode_atom(x, atoms[rand() % 8]);
		return;
	case 2:
		ei_x_encode_binary(x, bytes, n);
		return;
	case 3:
		ei_x_encode_string_len(x, bytes, n);
		return;
	case 4:
		ei_x_encode_double(x, (double)rand() / 7);
		return;
	default:
		ei_x_encode_bitstring(x, bytes, 0, (size_t)n * 7);
		return;
	}
}

static void put_random(ei_x_buff *x, int size)
{
	int i, n = 1 + rand() % 4;

	if (size < 1) {
		put_leaf(x);
		return;
	}
	switch (rand() % 4) {
	case 0:
		ei_x_encode_tuple_header(x, n);
		break;
	case 1:
	case 2:
		ei_x_encode_list_header(x, n);
		for (i = 0; i < n; i++)
			put_random(x, (size - n) / n);
		if (rand() % 4)
			ei_x_encode_empty_list(x);
		else
			ei_x_encode_atom(x, "tail"); /* an improper list */
		return;
	default:
		ei_x_encode_map_header(x, n);
		for (i = 0; i < n; i++) {
			ei_x_encode_long(x, i); /* keys must differ */
			put_random(x, (size - n) / n);
		}
		return;
	}
	for (i = 0; i < n; i++)
		put_random(x, (size - n) / n);
}

/* A random term in the external format, and the same term in the encoding of
 * logs, are printed as the same text. */
static void random_terms(void **state)
{
	unsigned seed = (unsigned)getpid();
	const char *fixed = getenv("INVISO_SEED");

	(void)state;
	if (fixed)
		seed = (unsigned)strtoul(fixed, NULL, 10);
	printf("INVISO_SEED=%u\n", seed);
	srand(seed);
	for (int i = 0; i < 3000; i++) {
		ei_x_buff x;
		char *s;

		ei_x_new_with_version(&x);
		put_random(&x, rand() % 30);
		s = text(INV_ENC_ETF, NULL, x.buff, (size_t)x.index);
		check(&x, s);
		assert_false(pack.cut);
		free(s);
		ei_x_free(&x);
	}
}

/* --- single terms --------------------------------------------------------- */

static void put_pid(ei_x_buff *x, const char *node, unsigned num,
		    unsigned creation)
{
	erlang_pid pid = { .num = num, .serial = 1, .creation = creation };

	snprintf(pid.node, sizeof(pid.node), "%s", node);
	ei_x_encode_pid(x, &pid);
}

/* If a node was given a number in one packet, it has the same number in later
 * packets. */
static void identifiers(void **state)
{
	erlang_ref ref = { .len = 3, .n = { 1, 2, 3 }, .creation = 7 };
	erlang_port port = { .id = 5, .creation = 7 };
	ei_x_buff x;

	(void)state;
	ei_x_new_with_version(&x);
	ei_x_encode_tuple_header(&x, 6);
	put_pid(&x, "c@h", 4, 7);
	put_pid(&x, "a@h", 4, 7);
	put_pid(&x, "b@h", 4, 7);
	put_pid(&x, "c@h", 4, 6); /* an earlier node with the same name */
	strcpy(ref.node, "b@h");
	ei_x_encode_ref(&x, &ref);
	strcpy(port.node, "c@h");
	ei_x_encode_port(&x, &port);
	check(&x, "{<0.4.1>,<1.4.1>,<2.4.1>,<3.4.1>,#Ref<2.3.2.1>,#Port<0.5>}");
	ei_x_free(&x);
	ei_x_new(&x);
	put_pid(&x, "b@h", 9, 7);
	check(&x, "<2.9.1>");
	ei_x_free(&x);
}

/* Each of many nodes has its own number. */
static void many_nodes(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 3000; i++) {
		char expected[32];
		ei_x_buff x;

		ei_x_new(&x);
		put_pid(&x, "a@h", 1, i);
		snprintf(expected, sizeof(expected), "<%u.1.1>", i);
		check(&x, expected);
		ei_x_free(&x);
	}
}

static void funs_are_printed_as_by_the_vm(void **state)
{
	static const char export[] = "\x83q\x77\x01m\x77\x01"
				     "fa\x02";
	ei_x_buff x = { .buff = (char *)(uintptr_t) export,
			.index = sizeof(export) - 1 };

	(void)state;
	check(&x, "fun m:f/2");
}

/* --- limits --------------------------------------------------------------- */

static void check_cut(ei_x_buff *x, const char *part)
{
	char *s;

	inv_pack_clear(&pack);
	pack.cut = false;
	inv_pack_etf(&pack, x->buff, (size_t)x->index);
	assert_true(pack.cut);
	assert_in_range(pack.terms.len + pack.def_len, 1,
			INV_PACK_BYTES + 2048);
	s = packed();
	if (!strstr(s, part))
		fail_msg("no %s in ...%s", part,
			 s + strlen(s) - (strlen(s) > 60 ? 60 : strlen(s)));
	free(s);
	ei_x_free(x);
}

static void large_terms_are_cut(void **state)
{
	static char bytes[100000];
	ei_x_buff x;
	int i;

	(void)state;
	ei_x_new_with_version(&x);
	ei_x_encode_binary(&x, bytes, sizeof(bytes));
	check_cut(&x, "...(95904 more bytes)>>");

	ei_x_new_with_version(&x);
	memset(bytes, 1, sizeof(bytes));
	ei_x_encode_string_len(&x, bytes, 60000);
	check_cut(&x, "...(55904 more)");

	ei_x_new_with_version(&x);
	ei_x_encode_list_header(&x, 50000);
	for (i = 0; i < 50000; i++)
		ei_x_encode_long(&x, 1000);
	ei_x_encode_empty_list(&x);
	check_cut(&x, " more)]");

	ei_x_new_with_version(&x);
	ei_x_encode_tuple_header(&x, 2);
	ei_x_encode_list_header(&x, 50000);
	for (i = 0; i < 50000; i++)
		ei_x_encode_long(&x, 1000);
	ei_x_encode_atom(&x, "tail");
	ei_x_encode_atom(&x, "last");
	check_cut(&x, "more)],...(1 more)}");

	ei_x_new_with_version(&x);
	ei_x_encode_map_header(&x, 10000);
	for (i = 0; i < 10000; i++) {
		ei_x_encode_long(&x, i);
		ei_x_encode_long(&x, i);
	}
	check_cut(&x, " more)}");

	ei_x_new_with_version(&x);
	ei_x_encode_tuple_header(&x, 5000);
	for (i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a%d", i);
		ei_x_encode_atom(&x, name);
	}
	check_cut(&x, " more)}");
}

static void deep_terms_are_cut(void **state)
{
	ei_x_buff x;

	(void)state;
	ei_x_new_with_version(&x);
	for (int i = 0; i < 40; i++)
		ei_x_encode_tuple_header(&x, 1);
	ei_x_encode_atom(&x, "inside");
	check_cut(&x, "{{...(1 more)}}");
	/* The term is nested more deeply than a cursor can read, so no part of
	 * it is recorded. */
	ei_x_new_with_version(&x);
	for (int i = 0; i < 20000; i++)
		ei_x_encode_tuple_header(&x, 1);
	ei_x_encode_atom(&x, "inside");
	check_cut(&x, "...");
}

static void invalid_terms(void **state)
{
	static const char *const invalid[] = { "", "\x83", "\x83h\x02", "\x83z",
					       "\x83m\xff\xff\xff\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++) {
		char *s;

		inv_pack_clear(&pack);
		inv_pack_tuple(&pack, 2);
		inv_pack_int(&pack, 1);
		inv_pack_etf(&pack, invalid[i], strlen(invalid[i]));
		s = packed();
		assert_string_equal(s, "{1,...}");
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_terms, setup, teardown),
		cmocka_unit_test_setup_teardown(identifiers, setup, teardown),
		cmocka_unit_test_setup_teardown(many_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(funs_are_printed_as_by_the_vm,
						setup, teardown),
		cmocka_unit_test_setup_teardown(large_terms_are_cut, setup,
						teardown),
		cmocka_unit_test_setup_teardown(deep_terms_are_cut, setup,
						teardown),
		cmocka_unit_test_setup_teardown(invalid_terms, setup, teardown),
	};

	return cmocka_run_group_tests_name("cnode_pack", tests, NULL, NULL);
}
