/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node_status.h"

#include "node/encode.h"
#include "unit/node_answer.h"

static void put_other(struct inv_buf *e, const char *kind, const char *what,
		      const char *tracer)
{
	inv_etf_map(e, 3);
	inv_put_atom(e, "kind");
	inv_put_atom(e, kind);
	inv_put_atom(e, "what");
	inv_put_text(e, what);
	inv_put_atom(e, "tracer");
	inv_put_text(e, tracer);
}

static void other_tracers_are_read(void **state)
{
	struct inv_node_status status = { 0 };
	struct inv_ask ask = { 0 };
	struct inv_buf e = { 0 };

	(void)state;
	inv_etf_map(&e, 3);
	inv_put_atom(&e, "others");
	inv_etf_list(&e, 2);
	put_other(&e, "new_ports", "calls", "you");
	put_other(&e, "api", "a\033[2J", "");
	inv_etf_nil(&e);
	inv_put_atom(&e, "otp");
	inv_etf_tuple(&e, 2);
	inv_put_text(&e, "25");
	inv_put_text(&e, "13.1");
	inv_put_atom(&e, "os_pid");
	inv_etf_int(&e, 17);
	assert_int_equal(e.error, 0);
	answer_bytes(&ask, e.data, e.len);
	inv_buf_release(&e);

	assert_int_equal(inv_node_status_got(&ask, &status, NULL), 0);
	assert_int_equal(status.others.n, 2);
	assert_string_equal(status.others.v[0], "new ports: calls, by you");
	/* Characters that a terminal interprets are replaced. */
	assert_string_equal(status.others.v[1], "api: a?[2J");
	assert_string_equal(status.otp, "25 (erts 13.1)");
	assert_int_equal(status.os_pid, 17);
	inv_node_status_release(&status);
	answer_free(&ask);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_tracers_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
