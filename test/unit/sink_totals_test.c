/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct inv_node nodes[] = {
	{ .name = (char[]){ "a@h" }, .number = 0 },
	{ .name = (char[]){ "b@h" }, .number = 1 },
	{ .name = (char[]){ "c@h" }, .number = 2 },
};

static void add(struct inv_totals *t, unsigned node, unsigned tag, unsigned n)
{
	struct inv_item it = { .kind = INV_ITEM_EVENT, .node = &nodes[node] };

	it.ev.tag = (uint8_t)tag;
	while (n--)
		assert_int_equal(inv_totals_add(t, &it), 0);
}

static void lose(struct inv_totals *t, unsigned node, uint64_t n)
{
	struct inv_item it = { .kind = INV_ITEM_LOSS, .node = &nodes[node] };

	it.lost.n = n;
	assert_int_equal(inv_totals_add(t, &it), 0);
}

static void each_node_has_its_tags_the_most_first(void **state)
{
	struct inv_totals t = { 0 };
	struct inv_buf b = { 0 };

	(void)state;
	inv_totals_text(&t, &b);
	assert_int_equal(b.len, 0);
	add(&t, 2, INV_TAG_SEND, 1);
	add(&t, 0, INV_TAG_RETURN_FROM, 2);
	add(&t, 0, INV_TAG_CALL, 3);
	add(&t, 0, INV_TAG_OTHER, 1);
	add(&t, 0, 0, 1);
	lose(&t, 0, 5);
	lose(&t, 0, 2);
	inv_totals_text(&t, &b);
	inv_buf_putc(&b, 0);
	assert_string_equal((const char *)b.data,
			    "-- a@h: 7 events, 7 lost: 3 call, 2 return_from, "
			    "2 other\n"
			    "-- c@h: 1 event, 0 lost: 1 send\n");
	inv_buf_release(&b);
	inv_totals_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_has_its_tags_the_most_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
