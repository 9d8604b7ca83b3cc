/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes answers of gauges, the processes that measure nodes for `inviso top':
 * valid answers, and others, because a node can send anything. */
#include "node_answer.h"

#include <stdint.h>

#include "node/gauge.h"
#include "node/session.h"

static struct inv_ask ask;
static struct inv_gauged now;
static struct inv_err err;

static int tear_down(void **state)
{
	(void)state;
	inv_gauged_release(&now);
	answer_free(&ask);
	return 0;
}

static void put_text(ei_x_buff *x, const char *key, const char *text)
{
	ei_x_encode_atom(x, key);
	ei_x_encode_binary(x, text, (int)strlen(text));
}

static void put_number(ei_x_buff *x, const char *key, long v)
{
	ei_x_encode_atom(x, key);
	ei_x_encode_long(x, v);
}

static void put_row(ei_x_buff *x, const char *pid, const char *name,
		    const char *current, long mailbox)
{
	ei_x_encode_map_header(x, 9);
	put_text(x, "pid", pid);
	put_text(x, "name", name);
	put_text(x, "current", current);
	ei_x_encode_atom(x, "kind");
	ei_x_encode_atom(x, "registered");
	ei_x_encode_atom(x, "status");
	ei_x_encode_atom(x, "waiting");
	put_number(x, "mailbox", mailbox);
	ei_x_encode_atom(x, "memory");
	ei_x_encode_atom(x, "none");
	put_number(x, "speed", 77);
	put_number(x, "reductions", 12345);
}

static void put_figures(ei_x_buff *x, size_t rows)
{
	ei_x_new(x);
	ei_x_encode_map_header(x, 4);
	put_number(x, "now", 5000);
	put_number(x, "run_queue", 3);
	put_number(x, "of_a_newer_node", 9);
	ei_x_encode_atom(x, "scan");
	ei_x_encode_map_header(x, 3);
	put_number(x, "looked", 7);
	ei_x_encode_atom(x, "memory");
	ei_x_encode_map_header(x, 2);
	put_number(x, "total", 1000);
	put_number(x, "system", 100);
	ei_x_encode_atom(x, "rows");
	if (rows)
		ei_x_encode_list_header(x, (long)rows);
	for (size_t i = 0; i < rows; i++)
		put_row(x, "<0.9.0>", "till\x1b[31m",
			"inviso_tracer:'inviso_guard:loop'/1", 5);
	ei_x_encode_empty_list(x);
}

static void figures(void **state)
{
	ei_x_buff x;

	(void)state;
	put_figures(&x, 2);
	answer_x(&ask, &x);
	assert_int_equal(inv_gauge_got(&ask, &now, &err), 0);
	assert_int_equal(now.now_ns, 5000);
	assert_int_equal(now.run_queue, 3);
	assert_int_equal(now.looked, 7);
	assert_int_equal(now.total, 1000);
	assert_int_equal(now.binary, -1);
	assert_int_equal(now.age_ms, -1);
	assert_int_equal(now.n_rows, 2);
	assert_string_equal(now.rows[1].pid, "<0.9.0>");
	assert_string_equal(now.rows[1].name, "till?[31m");
	assert_string_equal(now.rows[1].current, "inviso_guard:loop/1");
	assert_string_equal(now.rows[1].kind, "registered");
	assert_int_equal(now.rows[1].mailbox, 5);
	assert_int_equal(now.rows[1].memory, -1);
	assert_int_equal(now.rows[1].speed, 77);
}

static void no_rows(void **state)
{
	ei_x_buff x;

	(void)state;
	put_figures(&x, 0);
	answer_x(&ask, &x);
	assert_int_equal(inv_gauge_got(&ask, &now, &err), 0);
	assert_int_equal(now.n_rows, 0);
}

static void too_many_rows(void **state)
{
	ei_x_buff x;

	(void)state;
	put_figures(&x, 601);
	answer_x(&ask, &x);
	assert_int_equal(inv_gauge_got(&ask, &now, &err), INV_EDAMAGED);
}

static void errors(void **state)
{
	(void)state;
	answer(&ask, "{error,usage,no}");
	assert_int_equal(inv_gauge_got(&ask, &now, &err), INV_EINVAL);
	assert_string_equal(err.text, "no");
	answer_free(&ask);
	answer(&ask, "hello");
	assert_int_equal(inv_gauge_got(&ask, &now, &err), INV_EDAMAGED);
}

/* Decodes all truncations, and the term with each of its bytes changed.
 * Decoding may fail, but must not crash. */
static void no_answer_hurts(void **state)
{
	struct inv_ask one;
	char bytes[2048];
	ei_x_buff x;
	size_t len;

	(void)state;
	put_figures(&x, 2);
	len = (size_t)x.index;
	assert_true(len < sizeof(bytes));
	for (size_t i = 0; i < len; i++)
		for (unsigned flip = 0; flip < 256; flip += 3) {
			memcpy(bytes, x.buff, len);
			bytes[i] = (char)(bytes[i] ^ (char)flip);
			answer_bytes(&one, bytes, flip ? len : i);
			(void)inv_gauge_got(&one, &now, &err);
			inv_gauged_release(&now);
			answer_free(&one);
		}
	ei_x_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(figures, tear_down),
		cmocka_unit_test_teardown(no_rows, tear_down),
		cmocka_unit_test_teardown(too_many_rows, tear_down),
		cmocka_unit_test_teardown(errors, tear_down),
		cmocka_unit_test(no_answer_hurts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
