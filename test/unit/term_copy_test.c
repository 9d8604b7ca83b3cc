/* SPDX-License-Identifier: Apache-2.0 */
#include "term/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "term/print.h"

/* The entries 0 to 6 of the dictionary: a pid, the atom ok, four nodes, and the
 * function ok:ok/1. The VM prints pids of these nodes as <9.1.0>, <5.1.0>,
 * <7.1.0> and <5.1.0>. The newest definition is the first in memory. */
static const uint8_t defs[] = {
	INV_DEF_FUNCTION, 3, 1,	  1,   1,   /* 6 */
	INV_DEF_NODE,	  3, 5,	  2,   'c', /* 5 */
	INV_DEF_NODE,	  3, 7,	  0,   'd', /* 4 */
	INV_DEF_NODE,	  3, 5,	  1,   'b', /* 3 */
	INV_DEF_NODE,	  3, 9,	  0,   'a', /* 2 */
	INV_DEF_ATOM,	  2, 'o', 'k',	    /* 1 */
	INV_DEF_PID,	  2, 88,  0,	    /* 0 */
};

static void parse(struct inv_dict *d)
{
	memset(d, 0, sizeof(*d));
	assert_int_equal(inv_dict_parse(d, defs, sizeof(defs), NULL), 0);
}

static void check_node(const struct inv_dict *d, uint64_t printed, int name)
{
	const struct inv_dict_entry *e = inv_dict_node(d, printed);

	if (!name) {
		assert_null(e);
		return;
	}
	assert_non_null(e);
	assert_int_equal(e->len, 1);
	assert_int_equal(e->bytes[0], name);
}

static void nodes_are_found(void **state)
{
	struct inv_dict d;

	(void)state;
	parse(&d);
	check_node(&d, 9, 'a');
	check_node(&d, 5, 'c'); /* the newest */
	check_node(&d, 7, 'd');
	check_node(&d, 6, 0);
	check_node(&d, 10, 0);
	/* After an error, the dictionary is empty. */
	assert_int_not_equal(inv_dict_parse(&d, defs, 7, NULL), 0);
	check_node(&d, 5, 0);
	inv_dict_release(&d);
}

/* Copies the terms and frees their packet. Then checks that the copy is printed
 * as `expected'. */
static void copy(struct inv_copier *c, struct inv_dict *to,
		 const uint8_t *terms, size_t n, const char *expected)
{
	static struct inv_cursor cursor;
	const struct inv_print_opts w = { .style = INV_PRINT_W };
	struct inv_buf copied = { 0 }, out = { 0 };
	struct inv_dict d = { 0 };
	uint8_t *packet = malloc(sizeof(defs));
	const uint8_t *p;
	size_t len;

	assert_non_null(packet);
	memcpy(packet, defs, sizeof(defs));
	assert_int_equal(inv_dict_parse(&d, packet, sizeof(defs), NULL), 0);
	assert_int_equal(inv_copy_put(c, &copied, &d, terms, n), 0);
	inv_dict_release(&d);
	free(packet);
	assert_int_equal(inv_copy_get(copied.data, to, &p, &len), 0);
	assert_int_equal(len, n);
	inv_cursor_init(&cursor, INV_ENC_PACKED, to, p, len);
	assert_int_equal(inv_term_print(&cursor, &out, &w), 0);
	inv_buf_putc(&out, 0);
	assert_string_equal(out.data, expected);
	inv_buf_release(&copied);
	inv_buf_release(&out);
}

static void copies_have_what_they_use(void **state)
{
	static const uint8_t one[] = { 0x82, INV_T_XPID, 5, 1, 0, 0x41 };
	static const uint8_t two[] = { 0x82, INV_T_XPID, 9, 2, 0, 0x40 };
	static const uint8_t three[] = { 0x82, 0x46, 0xe6, 7 };
	struct inv_copier c = { 0 };
	struct inv_dict to = { 0 };

	(void)state;
	copy(&c, &to, one, sizeof(one), "{<5.1.0>,ok}");
	assert_non_null(inv_dict_node(&to, 5));
	assert_null(inv_dict_node(&to, 9));
	copy(&c, &to, two, sizeof(two), "{<9.2.0>,<0.88.0>}");
	copy(&c, &to, three, sizeof(three), "{{ok,ok,1},{ok,ok,[7]}}");
	/* The dictionary of the second copy has no entries from the first
	 * copy. */
	assert_null(inv_dict_node(&to, 9));
	copy(&c, &to, two, sizeof(two), "{<9.2.0>,<0.88.0>}");
	assert_null(inv_dict_node(&to, 5));
	assert_int_equal(inv_dict_get(&to, 1)->kind, 0);
	inv_copier_release(&c);
	inv_dict_release(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_found),
		cmocka_unit_test(copies_have_what_they_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
