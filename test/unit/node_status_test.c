/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node_status.h"

#include "node/encode.h"
#include "unit/node_answer.h"

static void put_other(struct inv_ei *e, const char *kind, const char *what,
		      const char *tracer)
{
	inv_ei_map(e, 3);
	inv_ei_atom(e, "kind");
	inv_ei_atom(e, kind);
	inv_ei_atom(e, "what");
	inv_ei_text(e, what);
	inv_ei_atom(e, "tracer");
	inv_ei_text(e, tracer);
}

static void who_else_traces_is_read_whatever_comes_after(void **state)
{
	struct inv_node_status status = { 0 };
	struct inv_ask ask = { 0 };
	struct inv_ei e;

	(void)state;
	inv_ei_init(&e);
	inv_ei_map(&e, 3);
	inv_ei_atom(&e, "others");
	inv_ei_list(&e, 2);
	put_other(&e, "new_ports", "calls", "you");
	put_other(&e, "api", "a\033[2J", "");
	inv_ei_nil(&e);
	inv_ei_atom(&e, "otp");
	inv_ei_tuple(&e, 2);
	inv_ei_text(&e, "25");
	inv_ei_text(&e, "13.1");
	inv_ei_atom(&e, "os_pid");
	inv_ei_i64(&e, 17);
	assert_false(e.failed);
	answer_bytes(&ask, e.x.buff, (size_t)e.x.index);
	inv_ei_release(&e);

	assert_int_equal(inv_node_status_got(&ask, &status, NULL), 0);
	assert_int_equal(status.others.n, 2);
	assert_string_equal(status.others.v[0], "new ports: calls, by you");
	/* Nothing that a terminal would obey. */
	assert_string_equal(status.others.v[1], "api: a?[2J");
	assert_string_equal(status.otp, "25 (erts 13.1)");
	assert_int_equal(status.os_pid, 17);
	inv_node_status_release(&status);
	answer_free(&ask);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_else_traces_is_read_whatever_comes_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
